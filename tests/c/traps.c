/* traps.c: what a broken guest does (guests/traps.c) is an outcome in both builds, and the next run is right. */
#include "check.h"

static const struct {
  const char *program;
  mb_trap trap;
} rows[] = {
  { "read far", MB_TRAP_OUT_OF_BOUNDS },
  { "read far by a pointer", MB_TRAP_OUT_OF_BOUNDS },
  { "read the end", MB_TRAP_OUT_OF_BOUNDS },
  { "write the end", MB_TRAP_OUT_OF_BOUNDS },
  { "copy over the end", MB_TRAP_OUT_OF_BOUNDS },
  { "fill over the end", MB_TRAP_OUT_OF_BOUNDS },
  { "call a bad index", MB_TRAP_CALL },
  { "call null", MB_TRAP_CALL },
  { "call the wrong type", MB_TRAP_CALL },
  { "divide by zero", MB_TRAP_ARITHMETIC },
  { "unreachable", MB_TRAP_UNREACHABLE },
  { "recurse", MB_TRAP_STACK },
  { "bad status", MB_TRAP_CORRUPT },
  { "bad error kind", MB_TRAP_CORRUPT },
  { "result outside", MB_TRAP_CORRUPT },
  { "result over the end", MB_TRAP_CORRUPT },
  { "result too large", MB_TRAP_CORRUPT },
  { "result too long", MB_TRAP_CORRUPT },
  { "outbox outside", MB_TRAP_CORRUPT },
  { "outbox over the end", MB_TRAP_CORRUPT },
  { "outbox shrinks", MB_TRAP_CORRUPT },
  { "head too short", MB_TRAP_CORRUPT },
  { "record too long", MB_TRAP_CORRUPT },
  { "record over the end", MB_TRAP_CORRUPT },
  { "record type", MB_TRAP_CORRUPT },
  { "log level", MB_TRAP_CORRUPT },
  { "call index", MB_TRAP_CORRUPT },
};

static mb_run *run_of(mb_engine *engine, const char *source, int64_t fuel) {
  mb_program program = program_of(source);
  program.filename = view_of("f");
  program.limits.fuel = fuel;
  program.limits.value_bytes = 1000;
  return new_run(engine, &program);
}

static mb_status step_to_end(mb_run *run) {
  mb_status status;
  do
    status = mb_run_step(run, 1);
  while (status == MB_YIELDED);
  return status;
}

static void sound_program_is_done(mb_engine *engine) {
  mb_run *run = run_of(engine, "fine", MB_NO_LIMIT);
  CHECK(mb_run_step(run, 0) == MB_DONE && mb_run_result(run).size == 1);
  mb_run_free(run);
}

static void each_row_is_an_outcome(mb_engine *engine) {
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
    mb_run *run = run_of(engine, rows[i].program, MB_NO_LIMIT);
    mb_status status = step_to_end(run);
    if (status != MB_TRAP || mb_run_trap(run) != rows[i].trap)
      fprintf(stderr, "%s: status %d, trap %d\n", rows[i].program, status, mb_run_trap(run));
    CHECK(status == MB_TRAP && mb_run_trap(run) == rows[i].trap);
    mb_run_free(run);
    sound_program_is_done(engine);
  }
}

static void loop_ends_at_its_fuel(mb_engine *engine) {
  mb_run *run = run_of(engine, "loop", 100000);
  CHECK(mb_run_step(run, 0) == MB_LIMIT && mb_run_limit(run) == MB_LIMIT_FUEL && mb_run_stats(run).fuel_used == 100000);
  mb_run_free(run);
}

/* The depth counter ends it, long before the native stack does. */
static void depth_is_counted(mb_engine *engine) {
  mb_run *run = run_of(engine, "recurse", MB_NO_LIMIT);
  CHECK(mb_run_step(run, 0) == MB_TRAP);
  CHECK(mb_run_stats(run).fuel_used > 60000 && mb_run_stats(run).fuel_used < 70000);
  mb_run_free(run);
  run = run_of(engine, "come back", MB_NO_LIMIT);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_run_free(run);
}

/* 64 bytes a tick. */
static void bulk_operations_are_charged(mb_engine *engine) {
  mb_run *run = run_of(engine, "fill often", MB_NO_LIMIT);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_stats stats = mb_run_stats(run);
  CHECK(stats.fuel_used > 1000 * 1024 && stats.longest_unchecked < 8192);
  mb_run_free(run);
}

static void growth_ends_at_its_limit(mb_engine *engine) {
  mb_program program = program_of("grow");
  program.filename = view_of("f");
  program.limits.memory_bytes = 2 << 20;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  uint64_t bytes = mb_run_stats(run).memory_bytes;
  CHECK(bytes >= 2 << 20 && bytes < 4 << 20);
  mb_run_free(run);
}

/* Though the guest leaves it in the outbox. */
static void call_is_read_once(mb_engine *engine) {
  mb_program program = program_of("call");
  mb_view name = view_of("g"), null = { (const uint8_t[]){ VALUE_NULL }, 1 };
  program.filename = view_of("f");
  program.functions = &name;
  program.function_count = 1;
  mb_run *run = new_run(engine, &program);
  mb_call call;
  CHECK(mb_run_step(run, 0) == MB_WAITING && mb_run_next_call(run, &call) && !mb_run_next_call(run, &call));
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, null, 0) == MB_OK);
  CHECK(mb_run_step(run, 0) == MB_DONE && mb_run_stats(run).host_calls == 1);
  mb_run_free(run);
}

static void traps_do_not_pile_up(mb_engine *engine) {
  for (int i = 0; i < 2000; i++) {
    mb_run *run = run_of(engine, i % 2 ? "write the end" : "recurse", MB_NO_LIMIT);
    if (mb_run_step(run, 0) != MB_TRAP)
      CHECK(!"a trap");
    mb_run_free(run);
  }
  sound_program_is_done(engine);
}

static void all(mb_engine *engine) {
  sound_program_is_done(engine);
  each_row_is_an_outcome(engine);
  loop_ends_at_its_fuel(engine);
  depth_is_counted(engine);
  bulk_operations_are_charged(engine);
  growth_ends_at_its_limit(engine);
  call_is_read_once(engine);
  traps_do_not_pile_up(engine);
}

int main(void) {
  on_both_builds(all);
  return checks_done();
}
