/* owned.c: whatever stands in linear memory and mailbox, a run has an outcome, and the host's own record stays right.
 *
 *     test_owned [SEED]
 *
 * Before each slice the guest's memory may be overwritten: bytes, words, pages, its stack, mailbox and outbox, as a guest
 * could that an attacker owns. An instance that is used again is compared with the image, byte by byte.
 *
 * A function __wrap_NAME stands in for the core's NAME, which is then __real_NAME (CMakeLists.txt). */
#define _GNU_SOURCE
#include "check.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "../../core/engine.h"

enum {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  RUNS = 200,
#else
  RUNS = 1500,
#endif
  FUEL = 300000,
  HOST_CALLS = 20,
  FUNCTIONS = 3,
  LARGEST_VALUE = 1 << 16,
  LOG_BYTES = 1 << 13,
  MEMORY_BYTES = 4 << 20, /* more than all calls together can hold */
  QUANTUM = 2048,
};

static const char *const programs[] = {
  "const a = await f(1, 'one'); const b = await g(a, [2]); console.log(a, b); h(3); [a, b, await f('x'.repeat(300))]",
  "const all = []; for (let i = 0; i < 9; i++) all.push(f(i, 'y'.repeat(i * 99))); (await Promise.all(all)).length",
  "const kept = []; for (let i = 0; i < 30; i++) { kept.push(new Uint8Array(40000).fill(i)); console.warn('kept', i) } "
  "kept.length = 1; await g(kept[0].length)",
  "const m = new Map(); for (let i = 0; i < 3000; i++) m.set('k' + i, { i }); const s = JSON.stringify([...m.keys()]); "
  "console.log(s.length); s.split(',').sort().map((x) => x.replace(/\\d/g, '#')).join('').length",
  "function f2(n) { return n ? f2(n - 1) + 1 : 0 } let n = 0; for (let i = 0; i < 60; i++) n += f2(200); h(n); throw { "
  "n }",
};

/* ---- random numbers */

static uint64_t state;

static uint32_t pick(uint32_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)((state >> 16) % below);
}

/* ---- the instance of the run under way, and how it comes and goes */

static mb_instance *owned;
static bool lacked_memory; /* the last one: for input, or it said so */
static int pipe_end;

/* The kernel says so without a fault. */
static bool can_access(const uint8_t *address) {
  return write(pipe_end, address, 1) == 1 || errno != EFAULT;
}

static bool all_zero(const uint8_t *bytes, size_t size) {
  return !size || (!bytes[0] && !memcmp(bytes, bytes + 1, size - 1));
}

mb_err __real_mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages);
mb_err __wrap_mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages);
mb_err __wrap_mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages) {
  mb_err err = __real_mb_engine_take(engine, out, pages);
  if (err)
    return err;
  owned = *out;
  mb_view image = mb_engine_image(engine);
  CHECK(owned->memory.committed == image.size && owned->guest.w2c_memory.size == image.size);
  CHECK(!memcmp(owned->memory.base, image.data, image.size));
  CHECK(!can_access(owned->memory.base + image.size));
  CHECK(!owned->fiber && !owned->guest.depth);
  return MB_OK;
}

void __real_mb_engine_give(mb_engine *engine, mb_instance *instance, bool intact);
void __wrap_mb_engine_give(mb_engine *engine, mb_instance *instance, bool intact);
void __wrap_mb_engine_give(mb_engine *engine, mb_instance *instance, bool intact) {
  CHECK(instance == owned);
  const guest_mailbox *box = (const guest_mailbox *)(instance->memory.base + mb_engine_base(engine)->mailbox);
  lacked_memory = instance->entry == MB_ENTRY_INPUT || box->error_kind == GUEST_ERROR_MEMORY;
  owned = NULL;
  __real_mb_engine_give(engine, instance, intact);
}

/* What the guest gets by memory.grow is empty. */
bool __real_mb_memory_commit(mb_memory *memory, size_t size);
bool __wrap_mb_memory_commit(mb_memory *memory, size_t size);
bool __wrap_mb_memory_commit(mb_memory *memory, size_t size) {
  size_t before = memory->committed;
  bool ok = __real_mb_memory_commit(memory, size);
  if (ok)
    CHECK(all_zero(memory->base + before, memory->committed - before));
  return ok;
}

/* ---- overwriting */

static uint32_t memory_size(void) {
  return (uint32_t)owned->guest.w2c_memory.size;
}

/* A number that something breaks at. */
static uint32_t edge(uint32_t mailbox) {
  const uint32_t edges[] = { 0,
                             1,
                             16,
                             65535,
                             0x7fffffff,
                             0x80000000u,
                             0xfffffff0u,
                             0xffffffffu,
                             memory_size(),
                             memory_size() - 1,
                             memory_size() - 16,
                             memory_size() + 1,
                             mailbox,
                             pick(memory_size()),
                             pick(64),
                             pick(UINT32_MAX) };
  return edges[pick(sizeof edges / sizeof *edges)];
}

/* Mostly in what the guest uses: the top of the stack, its data, its heap. */
static uint32_t pick_address(const mb_image *image) {
  enum { STACK_USED = 16 << 10 };
  uint32_t low = pick(4) ? image->stack_pointer - STACK_USED : 0;
  return low + pick(memory_size() - low);
}

static void put_word(uint32_t at, uint32_t word) {
  memcpy(owned->memory.base + at, &word, sizeof word);
}

static void write_bytes(const mb_image *image) {
  for (uint32_t n = 1 + pick(64); n; n--)
    owned->memory.base[pick_address(image)] ^= (uint8_t)(1 << pick(8));
}

static void write_words(const mb_image *image) {
  for (uint32_t n = 1 + pick(64); n; n--)
    put_word(pick_address(image) & ~3u, edge(image->mailbox));
}

static void write_pages(const mb_image *image) {
  for (uint32_t n = 1 + pick(4); n; n--) {
    uint8_t *page = owned->memory.base + pick_address(image) / MB_OS_PAGE * MB_OS_PAGE;
    if (pick(2))
      memset(page, (int)pick(256), MB_OS_PAGE);
    else
      memmove(page, owned->memory.base + pick(memory_size() - MB_OS_PAGE), MB_OS_PAGE);
  }
}

/* Words that may be indices into the function table. */
static void write_functions(const mb_image *image) {
  for (uint32_t n = 1 + pick(64); n; n--) {
    uint32_t at = pick_address(image) & ~3u, word = 0;
    for (; at < memory_size() && (word < 16 || word >= MB_GUEST_TABLE_SIZE); at += 4)
      memcpy(&word, owned->memory.base + at, sizeof word);
    put_word(at - 4, pick(MB_GUEST_TABLE_SIZE + 4));
  }
}

/* The part of the shadow stack that is in use lies below its top. */
static void write_stack(uint32_t top, uint32_t mailbox) {
  for (uint32_t n = 1 + pick(32); n; n--)
    put_word(top - 4 - pick(1024) * 4, edge(mailbox));
}

/* Any of the fields that the guest writes, and now and then one of the host's. */
static void write_mailbox(uint32_t mailbox) {
  uint32_t first = pick(8) ? offsetof(guest_mailbox, error_kind) : 0, words = sizeof(guest_mailbox) / 4 - first / 4;
  for (uint32_t n = 1 + pick(3); n; n--)
    put_word(mailbox + first + pick(words) * 4, edge(mailbox));
}

/* Records that are right, or nearly so. */
static void write_outbox(uint32_t mailbox) {
  guest_mailbox *box = (guest_mailbox *)(owned->memory.base + mailbox);
  uint32_t at = pick(memory_size() / 2) & ~3u, end = at;
  for (uint32_t n = 1 + pick(6); n; n--) {
    guest_record record = { pick(16) ? 1 + pick(2) : edge(mailbox), pick(6), pick(FUNCTIONS + !pick(8)), pick(200) };
    if (!pick(16))
      record.size = pick(2) ? edge(mailbox) : LARGEST_VALUE + pick(8);
    memcpy(owned->memory.base + end, &record, sizeof record);
    end += (uint32_t)sizeof record + ((record.size & 0x1ffff) + 3) / 4 * 4;
  }
  box->outbox = at;
  box->outbox_size = end - at + (pick(8) ? 0 : pick(8));
}

static void overwrite(const mb_image *image) {
  switch (pick(8)) {
  case 0:
    write_bytes(image);
    break;
  case 1:
    write_words(image);
    break;
  case 2:
    write_pages(image);
    break;
  case 3:
    write_stack(image->stack_pointer, image->mailbox);
    break;
  case 4:
    write_mailbox(image->mailbox);
    break;
  case 5:
    write_outbox(image->mailbox);
    break;
  case 6:
    write_functions(image);
    break;
  default: /* everything after the stack */
    memset(owned->memory.base + image->stack_pointer, (int)pick(256), memory_size() - image->stack_pointer);
  }
}

/* ---- what the host knows */

typedef struct known_call {
  mb_view arguments;
  uint8_t *copy;
  bool settled;
} known_call;

static struct {
  known_call calls[HOST_CALLS];
  uint32_t count;
  uint64_t log_bytes;
  bool aborted;
} known;

static void read_calls(mb_run *run) {
  mb_call call;
  while (mb_run_next_call(run, &call)) {
    CHECK(call.id == known.count + 1 && call.function < FUNCTIONS && call.arguments.size <= LARGEST_VALUE);
    if (known.count == HOST_CALLS)
      abort();
    uint8_t *copy = malloc(call.arguments.size + 1);
    if (!copy)
      abort();
    memcpy(copy, call.arguments.data, call.arguments.size);
    known.calls[known.count++] = (known_call){ .arguments = call.arguments, .copy = copy };
  }
}

static void read_logs(mb_run *run) {
  mb_log entry;
  while (mb_run_next_log(run, &entry)) {
    CHECK((uint32_t)entry.level < GUEST_LOG_LEVELS);
    known.log_bytes += entry.message.size;
  }
  CHECK(known.log_bytes <= LOG_BYTES);
}

static void calls_are_as_they_were(void) {
  for (uint32_t i = 0; i < known.count; i++) {
    const known_call *call = &known.calls[i];
    if (!call->settled)
      CHECK(!memcmp(call->arguments.data, call->copy, call->arguments.size));
  }
}

static void forget(void) {
  for (uint32_t i = 0; i < known.count; i++)
    free(known.calls[i].copy);
  memset(&known, 0, sizeof known);
}

static void limit_is_the_hosts(const mb_run *run) {
  switch (mb_run_limit(run)) {
  case MB_LIMIT_FUEL:
    CHECK(mb_run_stats(run).fuel_used == FUEL);
    break;
  case MB_LIMIT_HOST_CALLS:
    CHECK(mb_run_stats(run).host_calls == HOST_CALLS);
    break;
  case MB_LIMIT_ABORTED:
    CHECK(known.aborted);
    break;
  case MB_LIMIT_MEMORY:
    CHECK(lacked_memory);
    break;
  default:
    CHECK(!"a limit that was not set");
  }
}

static void stats_are_within_limits(const mb_run *run) {
  mb_stats stats = mb_run_stats(run);
  CHECK(stats.fuel_used >= 0 && stats.fuel_used <= FUEL && stats.host_calls <= HOST_CALLS);
  CHECK(stats.memory_bytes <= MEMORY_BYTES + (1 << 20));
  CHECK(stats.longest_unchecked <= QUANTUM + (UINT32_MAX >> 6));
}

enum { OUTCOMES = 16 }; /* statuses; from 8 on, traps */
static unsigned outcomes[OUTCOMES];

static void outcome_is_in_range(const mb_run *run, mb_status status) {
  switch (status) {
  case MB_DONE:
    CHECK(mb_run_result(run).size <= LARGEST_VALUE);
    break;
  case MB_THREW:
    CHECK((uint32_t)mb_run_error_kind(run) < GUEST_ERROR_KINDS);
    CHECK(mb_run_result(run).size <= LARGEST_VALUE + GUEST_ERROR_ROOM);
    break;
  case MB_LIMIT:
    limit_is_the_hosts(run);
    break;
  case MB_TRAP:
    CHECK(mb_run_trap(run) > MB_TRAP_NONE && mb_run_trap(run) < MB_TRAP_HOST_MEMORY);
    outcomes[8 + mb_run_trap(run)]++;
    break;
  default:
    CHECK(status == MB_DEADLOCK);
  }
  CHECK((status == MB_LIMIT) == (mb_run_limit(run) != MB_LIMIT_NONE));
  CHECK((status == MB_TRAP) == (mb_run_trap(run) != MB_TRAP_NONE));
  outcomes[status]++;
}

/* ---- runs */

static mb_run *start(mb_engine *engine, const char *source) {
  static mb_view names[FUNCTIONS];
  names[0] = view_of("f"), names[1] = view_of("g"), names[2] = view_of("h");
  mb_program program = program_of(source);
  program.functions = names;
  program.function_count = FUNCTIONS;
  program.limits = (mb_limits){
    .fuel = FUEL,
    .timeout_ns = MB_NO_LIMIT,
    .cpu_ns = MB_NO_LIMIT,
    .memory_bytes = MEMORY_BYTES,
    .value_bytes = LARGEST_VALUE,
    .log_bytes = LOG_BYTES,
    .host_calls = HOST_CALLS,
  };
  return new_run(engine, &program);
}

/* Any of the pending calls, with a value that may be larger than the guest's buffer. */
static void settle_one(mb_run *run) {
  static uint8_t value[LARGEST_VALUE + 1];
  uint32_t at = pick(known.count);
  while (known.calls[at].settled)
    at = (at + 1) % known.count;
  known_call *call = &known.calls[at];
  mb_view answer = pick(4) ? call->arguments : (mb_view){ value, pick(sizeof value) };
  guest_outcome outcome = pick(4) ? GUEST_RETURNED : GUEST_RAISED;
  CHECK(mb_run_settle(run, at + 1, outcome, answer, 0) == MB_OK);
  CHECK(mb_run_settle(run, at + 1, outcome, answer, 0) == MB_ERR_MISUSE);
  call->settled = true;
}

/* false: the run is to be freed as it is. */
static bool interfere(mb_run *run, const mb_image *image) {
  if (!pick(3))
    overwrite(image);
  if (!pick(200)) {
    mb_run_abort(run);
    known.aborted = true;
  }
  return pick(200);
}

static void run_owned(mb_engine *engine) {
  const mb_image *image = mb_engine_base(engine);
  mb_run *run = start(engine, programs[pick(sizeof programs / sizeof *programs)]);
  uint32_t sound = pick(40); /* slices before the first attack */
  mb_status status = MB_YIELDED;
  while (status == MB_YIELDED || status == MB_WAITING) {
    if (sound)
      sound--;
    else if (!interfere(run, image))
      break;
    status = mb_run_step(run, pick(20) ? 1 : 0);
    read_calls(run);
    read_logs(run);
    calls_are_as_they_were();
    CHECK(!known.aborted || status != MB_YIELDED);
    if (status == MB_WAITING)
      settle_one(run);
  }
  if (status == MB_YIELDED || status == MB_WAITING)
    outcomes[status]++; /* freed on its way */
  else
    outcome_is_in_range(run, status);
  stats_are_within_limits(run);
  mb_run_free(run);
  CHECK(!owned);
  forget();
}

static void sound_run_is_right(mb_engine *engine) {
  mb_run *run = start(
      engine,
      "globalThis.leak = globalThis.leak || 0; const a = await f(41); [leak, a[0] + 1, [3, 1, 2].sort().join('')]");
  CHECK(mb_run_step(run, 0) == MB_WAITING);
  mb_call call;
  CHECK(mb_run_next_call(run, &call) && call.id == 1 && call.function == 0);
  CHECK(mb_run_settle(run, 1, GUEST_RETURNED, call.arguments, 0) == MB_OK);
  CHECK(mb_run_step(run, 0) == MB_DONE);
  static const uint8_t expected[] = { VALUE_ARRAY, 3, VALUE_INT, 0, VALUE_INT, 84, VALUE_STRING, 3, '1', '2', '3' };
  CHECK(result_is(run, expected, sizeof expected));
  mb_run_free(run);
}

static void all(mb_engine *engine) {
  for (int i = 0; i < RUNS; i++) {
    int failed = checks_failed;
    run_owned(engine);
    if (i % 8 == 0)
      sound_run_is_right(engine);
    if (checks_failed != failed) {
      fprintf(stderr, "in run %d\n", i);
      return;
    }
  }
}

static void print_outcomes(void) {
  printf("done %u, threw %u, limit %u, deadlock %u, freed %u; traps: bounds %u, stack %u, call %u, arithmetic %u, "
         "unreachable %u, corrupt %u\n",
         outcomes[MB_DONE], outcomes[MB_THREW], outcomes[MB_LIMIT], outcomes[MB_DEADLOCK],
         outcomes[MB_WAITING] + outcomes[MB_YIELDED], outcomes[8 + MB_TRAP_OUT_OF_BOUNDS], outcomes[8 + MB_TRAP_STACK],
         outcomes[8 + MB_TRAP_CALL], outcomes[8 + MB_TRAP_ARITHMETIC], outcomes[8 + MB_TRAP_UNREACHABLE],
         outcomes[8 + MB_TRAP_CORRUPT]);
}

int main(int argc, char **argv) {
  state = argc > 1 ? strtoull(argv[1], NULL, 0) : 88172645463325252u;
  printf("seed %llu\n", (unsigned long long)state);
  fflush(stdout);
  int ends[2];
  if (!state || pipe2(ends, O_NONBLOCK))
    return 1;
  pipe_end = ends[1];
  on_both_builds(all);
  print_outcomes();
  CHECK(outcomes[MB_DONE] && outcomes[MB_THREW] && outcomes[MB_LIMIT] && outcomes[MB_WAITING] + outcomes[MB_YIELDED]);
  CHECK(outcomes[8 + MB_TRAP_OUT_OF_BOUNDS] && outcomes[8 + MB_TRAP_CORRUPT]);
  CHECK(outcomes[8 + MB_TRAP_CALL] || RUNS < 1000); /* one run in three hundred ends with it */
  return checks_done();
}
