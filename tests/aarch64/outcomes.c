/* outcomes.c: what must be the same on every platform and in both builds of the guest: the engine's image, and of each
 * program the status, the fuel, and a hash of everything that it shows.
 *
 *     outcomes < PROGRAMS
 *
 * The programs are read from standard input, each closed by a zero byte. They have one host function, echo, which gives
 * back its arguments. tools/test_aarch64.py compares the lines of two builds. */
#define _GNU_SOURCE
#include <inttypes.h>
#include "../c/check.h"

enum { FUEL = 2000000 };

static uint64_t hash(uint64_t before, mb_view bytes) {
  for (size_t i = 0; i < bytes.size; i++)
    before = (before ^ bytes.data[i]) * 1099511628211u;
  return before;
}

static uint64_t hash_logs(uint64_t before, mb_run *run) {
  mb_log entry;
  while (mb_run_next_log(run, &entry))
    before = hash(before, entry.message);
  return before;
}

static uint64_t answer(uint64_t before, mb_run *run) {
  mb_call call;
  if (!mb_run_next_call(run, &call))
    abort();
  before = hash(before, call.arguments);
  if (mb_run_settle(run, call.id, GUEST_RETURNED, call.arguments, 0))
    abort();
  return before;
}

static void print_outcome(mb_engine *engine, const char *source) {
  mb_program program = program_of(source);
  mb_view name = view_of("echo");
  program.functions = &name;
  program.function_count = 1;
  program.limits.fuel = FUEL;
  mb_run *run = new_run(engine, &program);
  uint64_t seen = 14695981039346656037u;
  mb_status status;
  while ((status = mb_run_step(run, 0)) == MB_WAITING)
    seen = answer(hash_logs(seen, run), run);
  seen = hash(hash_logs(seen, run), mb_run_result(run));
  printf("status %d limit %d trap %d fuel %" PRId64 " seen %016" PRIx64 "\n", status, mb_run_limit(run),
         mb_run_trap(run), mb_run_stats(run).fuel_used, seen);
  mb_run_free(run);
}

static void print_engine(mb_engine *engine) {
  mb_view image = mb_engine_image(engine);
  printf("engine %s image %zu bytes %016" PRIx64 "\n", mb_engine_id(), image.size, hash(0, image));
}

/* The next program; NULL: there is none. The caller frees it. */
static char *read_program(void) {
  char *text = NULL;
  size_t room = 0;
  if (getdelim(&text, &room, 0, stdin) > 0)
    return text;
  free(text);
  return NULL;
}

int main(void) {
  mb_engine *engine = new_engine(MB_MEMORY_ANY);
  print_engine(engine);
  for (char *source; (source = read_program());) {
    print_outcome(engine, source);
    free(source);
  }
  mb_engine_free(engine);
  return 0;
}
