/* run.c: the state machine of one run. */
#include "check.h"

static const uint8_t INT_2[] = { VALUE_INT, 4 };

static void value(mb_engine *engine) {
  mb_program program = program_of("1 + 1");
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  CHECK(result_is(run, INT_2, sizeof INT_2));
  CHECK(mb_run_step(run, 0) == MB_DONE);
  CHECK(mb_run_stats(run).fuel_used > 0);
  mb_run_free(run);
}

static void thrown(mb_engine *engine) {
  mb_program program = program_of("1;\nnull.x");
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_THREW);
  CHECK(mb_run_error_kind(run) == GUEST_ERROR_UNCAUGHT);
  CHECK(result_has(run, "TypeError"));
  CHECK(result_has(run, "agent.ts:2:"));
  mb_run_free(run);
  program = program_of("1 +");
  run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_THREW);
  CHECK(mb_run_error_kind(run) == GUEST_ERROR_SYNTAX);
  mb_run_free(run);
}

static void host_calls(mb_engine *engine) {
  mb_program program = program_of("const a = bank.get(1, 'x', undefined), b = add(2); (await a) + (await b)");
  mb_view names[] = { view_of("add"), view_of("bank.get") };
  program.functions = names;
  program.function_count = 2;
  mb_run *run = new_run(engine, &program);
  mb_call first, second, none;
  CHECK(mb_run_step(run, 0) == MB_WAITING);
  CHECK(mb_run_step(run, 0) == MB_WAITING);
  CHECK(mb_run_next_call(run, &first) && first.id == 1 && first.function == 1);
  static const uint8_t ARGUMENTS[] = { VALUE_ARRAY, 2, VALUE_INT, 2, VALUE_STRING, 1, 'x' };
  CHECK(first.arguments.size == sizeof ARGUMENTS && !memcmp(first.arguments.data, ARGUMENTS, sizeof ARGUMENTS));
  CHECK(mb_run_next_call(run, &second) && second.id == 2 && second.function == 0);
  CHECK(!mb_run_next_call(run, &none));
  mb_view one = { (const uint8_t[]){ VALUE_INT, 2 }, 2 };
  CHECK(mb_run_settle(run, 3, GUEST_RETURNED, one, 0) == MB_ERR_MISUSE);
  CHECK(mb_run_settle(run, 2, GUEST_RETURNED, one, 0) == MB_OK);
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, one, 0) == MB_ERR_MISUSE); /* one between two steps */
  CHECK(mb_run_step(run, 0) == MB_WAITING);
  CHECK(mb_run_settle(run, 2, GUEST_RETURNED, one, 0) == MB_ERR_MISUSE); /* settled already */
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, one, 0) == MB_OK);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  CHECK(result_is(run, INT_2, sizeof INT_2));
  CHECK(mb_run_stats(run).host_calls == 2);
  mb_run_free(run);
}

static void large_values(mb_engine *engine) {
  mb_program program = program_of("(await f()).length");
  mb_view name = view_of("f");
  program.functions = &name;
  program.function_count = 1;
  mb_run *run = new_run(engine, &program);
  mb_call call;
  CHECK(mb_run_step(run, 0) == MB_WAITING);
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, (mb_view){ 0 }, 0) == MB_ERR_MISUSE); /* not handed out yet */
  CHECK(mb_run_next_call(run, &call) && call.id == 1);
  mb_writer writer;
  mb_writer_init(&writer, 2 << 20);
  char *text = calloc(1, 1 << 20);
  memset(text, 'a', 1 << 20);
  mb_write_bytes(&writer, VALUE_STRING, (mb_view){ (uint8_t *)text, 1 << 20 });
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, mb_writer_view(&writer), 0) == MB_OK);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  CHECK(result_is(run, (uint8_t[]){ VALUE_INT, 0x80, 0x80, 0x80, 1 }, 5));
  mb_run_free(run);
  mb_writer_free(&writer);
  free(text);
}

static void logs(mb_engine *engine) {
  mb_program program = program_of("console.log('a', 1); console.error('b'.repeat(100)); console.info('c')");
  program.limits.log_bytes = 50;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_log entry;
  CHECK(mb_run_next_log(run, &entry) && entry.level == GUEST_LOG_LOG && entry.message.size == 3);
  CHECK(!mb_run_next_log(run, &entry));
  CHECK(mb_run_stats(run).logs_dropped == 2 && mb_run_stats(run).log_bytes_dropped == 101);
  mb_run_free(run);
}

/* With a host function f that never settles, and g that settles at once. */
static mb_run *run_to_the_end(mb_engine *engine, mb_program program, int64_t slice) {
  mb_view names[] = { view_of("f"), view_of("g") };
  program.functions = names;
  program.function_count = 2;
  mb_run *run = new_run(engine, &program);
  for (;;) {
    mb_status status = mb_run_step(run, slice);
    mb_call call = { 0 };
    while (status == MB_WAITING && call.function != 1)
      if (!mb_run_next_call(run, &call))
        return run;
    if (status == MB_WAITING)
      CHECK(!mb_run_settle(run, call.id, GUEST_RETURNED, (mb_view){ (const uint8_t[]){ VALUE_NULL }, 1 }, 0));
    else if (status != MB_YIELDED)
      return run;
  }
}

static mb_limit limit_of(mb_engine *engine, mb_program program) {
  mb_run *run = run_to_the_end(engine, program, 100000);
  mb_limit limit = mb_run_limit(run);
  mb_run_free(run);
  return limit;
}

static void limits(mb_engine *engine) {
  mb_program loop = program_of("try { while (true); } finally { f() }");
  mb_program fuel = loop, timeout = loop, cpu = loop, calls = program_of("for (let i = 0; i < 11; i++) f(i)");
  fuel.limits.fuel = 1000000;
  timeout.limits.timeout_ns = 5000000;
  cpu.limits.cpu_ns = 5000000;
  calls.limits.host_calls = 10;
  CHECK(limit_of(engine, fuel) == MB_LIMIT_FUEL);
  CHECK(limit_of(engine, timeout) == MB_LIMIT_TIMEOUT);
  CHECK(limit_of(engine, cpu) == MB_LIMIT_CPU);
  CHECK(limit_of(engine, calls) == MB_LIMIT_HOST_CALLS);
  calls.limits.host_calls = 11;
  CHECK(limit_of(engine, calls) == MB_LIMIT_NONE);
  mb_program pending = program_of("while (true) { f('x'.repeat(1e5)); await g() }");
  pending.limits.memory_bytes = 4 << 20;
  CHECK(limit_of(engine, pending) == MB_LIMIT_MEMORY);
}

static int64_t fuel_of(mb_engine *engine, mb_program program, int64_t slice) {
  mb_run *run = run_to_the_end(engine, program, slice);
  int64_t used = mb_run_stats(run).fuel_used;
  mb_run_free(run);
  return used;
}

static void fuel_is_exact(mb_engine *engine) {
  mb_program program = program_of("let s = ''; for (let i = 0; i < 20000; i++) s += i; s.length");
  int64_t used = fuel_of(engine, program, 0);
  CHECK(fuel_of(engine, program, 1000) == used); /* slices do not show */
  program.limits.fuel = used;
  CHECK(limit_of(engine, program) == MB_LIMIT_NONE);
  program.limits.fuel = used - 1;
  CHECK(limit_of(engine, program) == MB_LIMIT_FUEL);
  CHECK(fuel_of(engine, program, 0) == used - 1);
}

static void aborted(mb_engine *engine) {
  mb_program program = program_of("while (true);");
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 100000) == MB_YIELDED);
  mb_run_abort(run);
  CHECK(mb_run_step(run, 0) == MB_LIMIT && mb_run_limit(run) == MB_LIMIT_ABORTED);
  mb_run_free(run);
}

static void deadlock(mb_engine *engine) {
  mb_program program = program_of("await new Promise(() => {})");
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DEADLOCK);
  mb_run_free(run);
}

static void clock_creeps(mb_engine *engine) {
  mb_program program = program_of("const end = Date.now() + 50; while (Date.now() < end); true");
  program.limits.fuel = 50000000;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_run_free(run);
}

static void memory(mb_engine *engine) {
  mb_program program = program_of(
      "const a = []; try { while (true) a.push(new Array(1000).fill(0)) } catch (e) { a.length = 0; e.message }");
  program.limits.memory_bytes = 8 << 20;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE && result_has(run, "out of memory"));
  CHECK(mb_run_stats(run).memory_bytes <= (8 << 20) + (1 << 20));
  mb_run_free(run);
  program = program_of("const a = []; while (true) a.push(new Array(1000).fill(0))");
  program.limits.memory_bytes = 8 << 20;
  run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_THREW && mb_run_error_kind(run) == GUEST_ERROR_MEMORY);
  mb_run_free(run);
}

static void recursion(mb_engine *engine) {
  mb_program program =
      program_of("let n = 0; function f() { n++; f() } try { f() } catch (e) { e instanceof RangeError && n > 5000 }");
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE && result_is(run, (uint8_t[]){ VALUE_TRUE }, 1));
  mb_run_free(run);
  program = program_of("function f() { f() } f()");
  run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_THREW && mb_run_error_kind(run) == GUEST_ERROR_STACK);
  mb_run_free(run);
  program = program_of("throw new RangeError('Maximum call stack size exceeded')");
  run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_THREW && mb_run_error_kind(run) == GUEST_ERROR_UNCAUGHT);
  mb_run_free(run);
}

static void pooled_instances_are_fresh(mb_engine *engine) {
  mb_program program = program_of("globalThis.leak = (globalThis.leak || 0) + 1; Array(1e5).fill('secret'); leak");
  for (int i = 0; i < 5; i++) {
    mb_run *run = new_run(engine, &program);
    CHECK(mb_run_step(run, 0) == MB_DONE && result_is(run, (uint8_t[]){ VALUE_INT, 2 }, 2));
    mb_run_free(run);
  }
}

/* Where addresses are checked, address space is reserved by the limit: a small instance is not used for a large run. */
static void large_memory_after_small(mb_engine *engine) {
  mb_program program = program_of("new Uint8Array(70e6).length");
  program.limits.memory_bytes = 200 << 20;
  mb_run *run = new_run(engine, &program);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_run_free(run);
}

static void settle_checks_its_arguments(mb_engine *engine) {
  mb_program program = program_of("await f()");
  static const uint8_t large[65] = { VALUE_BYTES, 63 };
  mb_view name = view_of("f"), null = { (const uint8_t[]){ VALUE_NULL }, 1 };
  program.functions = &name;
  program.function_count = 1;
  program.limits.value_bytes = 64;
  mb_run *run = new_run(engine, &program);
  mb_call call;
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, null, 0) == MB_ERR_MISUSE); /* not waiting */
  CHECK(mb_run_step(run, 0) == MB_WAITING);
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, null, 0) == MB_ERR_MISUSE); /* not handed out */
  CHECK(mb_run_next_call(run, &call) && call.id == 1);
  CHECK(mb_run_settle(run, 0, GUEST_RETURNED, null, 0) == MB_ERR_MISUSE);
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, (mb_view){ large, sizeof large }, 0) == MB_ERR_TOO_LARGE);
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, null, 0) == MB_OK);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  mb_run_free(run);
}

static void misuse(mb_engine *engine) {
  mb_program program = program_of("1");
  mb_run *run;
  program.limits.memory_bytes = 1000;
  CHECK(mb_run_new(&run, engine, &program) == MB_ERR_MISUSE);
  program = program_of("1");
  program.limits.fuel = -1;
  CHECK(mb_run_new(&run, engine, &program) == MB_ERR_MISUSE);
}

static void all(mb_engine *engine) {
  value(engine);
  thrown(engine);
  host_calls(engine);
  large_values(engine);
  logs(engine);
  limits(engine);
  fuel_is_exact(engine);
  aborted(engine);
  deadlock(engine);
  clock_creeps(engine);
  memory(engine);
  recursion(engine);
  pooled_instances_are_fresh(engine);
  large_memory_after_small(engine);
  settle_checks_its_arguments(engine);
  misuse(engine);
}

int main(void) {
  on_both_builds(all);
  return checks_done();
}
