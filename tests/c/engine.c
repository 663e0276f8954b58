/* engine.c: the base image is the same everywhere; address space decides which build of the guest is used. */
#define _GNU_SOURCE
#include "check.h"
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void images_are_equal(void) {
  mb_engine *guard = new_engine(MB_MEMORY_GUARD), *bounds = new_engine(MB_MEMORY_BOUNDS);
  mb_view a = mb_engine_image(guard), b = mb_engine_image(bounds);
  CHECK(a.size == b.size && a.size > 0 && !memcmp(a.data, b.data, a.size));
  mb_engine_free(guard);
  mb_engine_free(bounds);
}

static bool runs(mb_engine *engine) {
  mb_program program = program_of("[1, 2, 3].map(x => x * 2).join('')");
  mb_run *run;
  if (mb_run_new(&run, engine, &program))
    return false;
  bool ok = mb_run_step(run, 0) == MB_DONE && result_has(run, "246");
  mb_run_free(run);
  return ok;
}

/* In a child with this much address space: 0 when a program ran. */
static int run_in_little_space(size_t bytes) {
  pid_t child = fork();
  if (!child) {
    setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, bytes });
    mb_engine *engine;
    bool ok = !mb_engine_new(&engine, NULL);
    for (int i = 0; ok && i < 10; i++)
      ok = runs(engine);
    _exit(!ok);
  }
  int status;
  waitpid(child, &status, 0);
  return status;
}

/* The sanitizers need terabytes of address space for themselves. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif

static void little_address_space_is_enough(void) {
  if (SANITIZED)
    return;
  CHECK(run_in_little_space((size_t)2 << 30) == 0);
  CHECK(run_in_little_space((size_t)600 << 20) == 0);
}

static void a_forked_child_runs(void) {
  mb_engine *engine = new_engine(MB_MEMORY_ANY);
  CHECK(runs(engine));
  pid_t child = fork();
  if (!child)
    _exit(!(runs(engine) && runs(engine)));
  int status;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(runs(engine));
  mb_engine_free(engine);
}

static void id_is_a_hash(void) {
  CHECK(strlen(mb_engine_id()) == 64 && strspn(mb_engine_id(), "0123456789abcdef") == 64);
}

int main(void) {
  images_are_equal();
  little_address_space_is_enough();
  a_forked_child_runs();
  id_is_a_hash();
  return checks_done();
}
