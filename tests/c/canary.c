/* canary.c: what one run wrote is never in the memory that another one gets, however the first one ended. */
#define _GNU_SOURCE
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>
#include "../../core/engine.h"

enum { GROWTH = 24 << 20, HELD = 3 };

/* Writes its secret to the stack, to objects, to more memory than the image has, to the log and to a host call. */
static const char SECRET[] = "canary-5b1f0c";
static const char WRITES[] = "const secret = 'canary-5b1f0c';\n"
                             "const down = n => n ? down(n - 1) + secret[0] : secret;\n"
                             "globalThis.kept = [down(2000), secret.repeat(1000), { [secret]: secret }];\n"
                             "for (let i = 0; i < 3000; i++) kept.push(secret + i);\n"
                             "const bytes = new Uint8Array(16e6);\n"
                             "for (let i = 0; i < 1000; i++)\n"
                             "  for (let j = 0; j < secret.length; j++) bytes[i * 16000 + j] = secret.charCodeAt(j);\n"
                             "console.log(secret);\n";

static mb_engine *engine;
static mb_instance *taken;

mb_err __real_mb_engine_take(mb_engine *from, mb_instance **out, uint32_t pages);
mb_err __wrap_mb_engine_take(mb_engine *from, mb_instance **out, uint32_t pages);
mb_err __wrap_mb_engine_take(mb_engine *from, mb_instance **out, uint32_t pages) {
  mb_err err = __real_mb_engine_take(from, out, pages);
  taken = err ? NULL : *out;
  return err;
}

/* ---- looking */

static bool is_zero(const uint8_t *bytes, size_t size) {
  return !bytes[0] && !memcmp(bytes, bytes + 1, size - 1);
}

/* An instance as a run gets it: the image, and zeros as far as it can grow. */
static bool is_clean(mb_instance *instance) {
  mb_view image = mb_engine_image(engine);
  return !memcmp(instance->memory.base, image.data, image.size) &&
         mb_memory_commit(&instance->memory, image.size + GROWTH) &&
         is_zero(instance->memory.base + image.size, GROWTH);
}

/* Several are held at once: those that were used before, and new ones. */
static bool all_are_clean(void) {
  mb_instance *held[HELD];
  bool clean = true;
  for (int i = 0; i < HELD; i++) {
    if (mb_engine_take(engine, &held[i], 1024))
      return false;
    clean &= is_clean(held[i]);
  }
  for (int i = 0; i < HELD; i++)
    mb_engine_give(engine, held[i], true);
  return clean;
}

/* ---- runs that end in different ways; each has written the secret by then */

static mb_program writing(char *room, const char *last, mb_view *function) {
  sprintf(room, "%s%s", WRITES, last);
  mb_program program = program_of(room);
  *function = view_of("f");
  program.functions = function;
  program.function_count = 1;
  return program;
}

static bool holds_the_secret(const mb_instance *instance) {
  return memmem(instance->memory.base, instance->guest.w2c_memory.size, SECRET, sizeof SECRET - 1);
}

/* Up to its first wait, or its end. */
static mb_run *run_until(const char *last, mb_status status, int64_t fuel) {
  char room[sizeof WRITES + 200];
  mb_view function;
  mb_program program = writing(room, last, &function);
  program.limits.fuel = fuel;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == status);
  if (status == MB_WAITING)
    CHECK(holds_the_secret(taken));
  return run;
}

static mb_run *waiting(void) {
  mb_run *run = run_until("await f(secret)", MB_WAITING, MB_NO_LIMIT);
  mb_call call;
  CHECK(mb_run_next_call(run, &call));
  return run;
}

static void settle(mb_run *run) {
  static const uint8_t undefined = VALUE_UNDEFINED;
  CHECK(!mb_run_settle(run, 1, GUEST_RETURNED, (mb_view){ &undefined, 1 }, 0));
}

static void done(void) {
  mb_run *run = waiting();
  settle(run);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_run_free(run);
}

static void thrown(void) {
  mb_run_free(run_until("throw secret", MB_THREW, MB_NO_LIMIT));
}

static void freed_while_it_waits(void) {
  mb_run_free(waiting());
}

static void deadlocked(void) {
  mb_run_free(run_until("await new Promise(() => {})", MB_DEADLOCK, MB_NO_LIMIT));
}

static void out_of_fuel(void) {
  mb_run_free(run_until("for (;;);", MB_LIMIT, 10 * 1000 * 1000));
}

static void aborted_while_it_waits(void) {
  mb_run *run = waiting();
  mb_run_abort(run);
  CHECK(mb_run_step(run, 0) == MB_LIMIT && mb_run_limit(run) == MB_LIMIT_ABORTED);
  mb_run_free(run);
}

static void left_in_the_middle_of_a_slice(void) {
  char room[sizeof WRITES + 200];
  mb_view function;
  mb_program program = writing(room, "for (;;);", &function);
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 30 * 1000 * 1000) == MB_YIELDED);
  mb_run_free(run);
}

static void timed_out(void) {
  char room[sizeof WRITES + 200];
  mb_view function;
  mb_program program = writing(room, "for (;;);", &function);
  program.limits.timeout_ns = 50 * 1000 * 1000;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_LIMIT && mb_run_limit(run) == MB_LIMIT_TIMEOUT);
  mb_run_free(run);
}

static void trapped(void) {
  mb_run *run = waiting();
  const mb_image *image = mb_engine_base(engine);
  size_t after = image->mailbox + sizeof(guest_mailbox);
  memset(taken->memory.base + after, 0x7f, image->pages.size - after);
  settle(run);
  CHECK(mb_run_step(run, 0) == MB_TRAP);
  mb_run_free(run);
}

/* Its stack is so deep that a page of it is written which no other run writes. */
static void deep(void) {
  mb_run_free(run_until("const fall = () => fall(); try { fall() } catch {} throw secret", MB_THREW, MB_NO_LIMIT));
}

/* A child has the parent's pool, and a run of the parent in it. */
static void forked(void) {
  mb_run *run = waiting();
  pid_t child = fork();
  if (!child) {
    alarm(60);
    bool clean = all_are_clean();
    done();
    mb_run_free(run);
    _exit(!(clean && all_are_clean() && !checks_failed));
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && !status);
  settle(run);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_run_free(run);
}

/* ---- */

static void nothing_is_left(void (*ends)(void)) {
  for (int i = 0; i < 3; i++) {
    ends();
    CHECK(all_are_clean());
  }
}

static void with_memory(mb_memory_kind kind) {
  engine = new_engine(kind);
  nothing_is_left(done);
  nothing_is_left(thrown);
  nothing_is_left(freed_while_it_waits);
  nothing_is_left(deadlocked);
  nothing_is_left(out_of_fuel);
  nothing_is_left(aborted_while_it_waits);
  nothing_is_left(left_in_the_middle_of_a_slice);
  nothing_is_left(timed_out);
  nothing_is_left(trapped);
  nothing_is_left(deep);
  nothing_is_left(forked);
  mb_engine_free(engine);
}

int main(void) {
  with_memory(MB_MEMORY_GUARD);
  with_memory(MB_MEMORY_BOUNDS);
  return checks_done();
}
