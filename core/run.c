/* run.c: the state machine of one run (modebox.h). */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "engine.h"
#include "outbox.h"
#include "record.h"

enum {
  QUANTUM = 2048, /* ticks between two looks at clock and limits; they lie at its multiples */
  TICK_NS = 10,   /* the program's clock creeps by this much a tick, so that waiting for it ends */
  LEAST_MEMORY = 1 << 20,
  GREATEST_MEMORY = INT32_MAX, /* what a 32-bit address reaches, with room for the image */
  MOST_FUNCTIONS = INT16_MAX,  /* what the engine's functions have room for */
  SPARE_PAGES = 8,             /* wasm pages beyond the memory limit: for what the allocator cannot use */
};

struct mb_run {
  mb_engine *engine;
  mb_instance *instance; /* NULL once the run has ended */
  mb_limits limits;
  uint32_t function_count;

  /* the state machine: a call into the guest is prepared, then entered; else the run waits or has ended */
  enum { PREPARED, ENTERED, AT_REST } phase;
  mb_status status; /* at rest: the last one */
  mb_limit limit;
  mb_trap trap;
  guest_error_kind error_kind;
  _Atomic bool aborted;

  /* the prepared call into the guest; its input is written when the guest has room for it */
  mb_entry entry;
  uint32_t arguments[3];
  uint8_t *input; /* owned; NULL: written already */
  size_t input_size;

  /* time */
  int64_t ticks_at_grant; /* ticks at the end of what is granted: granted fuel is counted down from it */
  int64_t checked_at,
      longest_unchecked; /* ticks when limits were looked at last; the longest way from one look to the next */
  int64_t deadline;      /* mb_os_now() */
  int64_t guest_ns;
  int64_t clock_base; /* the program's clock, less its creep */

  mb_calls calls;
  mb_log_record logs;
  uint32_t host_calls;
  size_t outbox_read;
  uint32_t peak_pages;
  uint8_t *result;
  size_t result_size;
};

/* ---- ticks and the program's clock */

static int64_t ticks(const mb_run *run) {
  return run->ticks_at_grant - run->instance->guest.fuel;
}

/* Grants the ticks up to the next multiple of the quantum, or to the fuel limit. A charge may have gone past several. */
static void grant(mb_run *run, int64_t now) {
  run->checked_at = now;
  int64_t end = now - now % QUANTUM + QUANTUM;
  run->ticks_at_grant = end < run->limits.fuel ? end : run->limits.fuel;
  run->instance->guest.fuel = run->ticks_at_grant - now;
}

static void note_unchecked(mb_run *run) {
  int64_t unchecked = ticks(run) - run->checked_at;
  if (unchecked > run->longest_unchecked)
    run->longest_unchecked = unchecked;
}

static guest_mailbox *mailbox_of(const mb_run *run) {
  return (guest_mailbox *)(run->instance->memory.base + mb_engine_base(run->engine)->mailbox);
}

static int64_t program_clock(const mb_run *run) {
  return run->clock_base + ticks(run) * TICK_NS;
}

/* ---- the end of a run */

static void release_instance(mb_run *run, bool intact) {
  note_unchecked(run);
  run->peak_pages = run->instance->peak_pages;
  run->ticks_at_grant = ticks(run);
  mb_engine_give(run->engine, run->instance, intact);
  run->instance = NULL;
}

static mb_trap add_log(mb_run *run, const mb_record *record) {
  if (record->a >= GUEST_LOG_LEVELS)
    return MB_TRAP_CORRUPT;
  return mb_logs_add(&run->logs, (guest_log_level)record->a, record->bytes) ? MB_TRAP_HOST_MEMORY : MB_TRAP_NONE;
}

/* Of a run that ends inside the guest: what it said until then. Calls that it made do not start any more. */
static void read_last_logs(mb_run *run) {
  mb_record record;
  while (mb_outbox_read(run->instance, mb_engine_base(run->engine)->mailbox, &run->outbox_read, &record) ==
         MB_OUTBOX_RECORD)
    if (record.type == GUEST_RECORD_LOG && add_log(run, &record))
      return;
}

static mb_status end(mb_run *run, mb_status status) {
  bool intact = run->phase != ENTERED && status != MB_TRAP;
  if (!intact)
    read_last_logs(run);
  release_instance(run, intact);
  run->phase = AT_REST;
  return run->status = status;
}

static mb_status end_at_limit(mb_run *run, mb_limit limit) {
  run->limit = limit;
  return end(run, MB_LIMIT);
}

static mb_status end_with_trap(mb_run *run, mb_trap trap) {
  run->trap = trap;
  return end(run, MB_TRAP);
}

static mb_status end_with_result(mb_run *run, mb_status status, uint64_t limit) {
  mb_view result;
  if (!mb_outbox_result(run->instance, mb_engine_base(run->engine)->mailbox, &result) || result.size > limit)
    return end_with_trap(run, MB_TRAP_CORRUPT);
  run->result = malloc(result.size + 1);
  if (!run->result)
    return end_with_trap(run, MB_TRAP_HOST_MEMORY);
  memcpy(run->result, result.data, result.size);
  run->result_size = result.size;
  return end(run, status);
}

/* ---- what the guest left */

/* MB_YIELDED: go on; else the run has ended. */
static mb_status record_call(mb_run *run, const mb_record *record) {
  if (record->b >= run->function_count || record->bytes.size > run->limits.value_bytes)
    return end_with_trap(run, MB_TRAP_CORRUPT);
  if (run->host_calls == run->limits.host_calls)
    return end_at_limit(run, MB_LIMIT_HOST_CALLS);
  if (run->calls.pending_bytes + record->bytes.size > run->limits.memory_bytes)
    return end_at_limit(run, MB_LIMIT_MEMORY);
  run->host_calls++;
  return mb_calls_add(&run->calls, record->a, record->b, record->bytes) ? end_with_trap(run, MB_TRAP_HOST_MEMORY)
                                                                        : MB_YIELDED;
}

static mb_status record_log(mb_run *run, const mb_record *record) {
  mb_trap trap = add_log(run, record);
  return trap ? end_with_trap(run, trap) : MB_YIELDED;
}

static mb_status read_outbox(mb_run *run) {
  mb_status status = MB_YIELDED;
  mb_record record;
  while (status == MB_YIELDED)
    switch (mb_outbox_read(run->instance, mb_engine_base(run->engine)->mailbox, &run->outbox_read, &record)) {
    case MB_OUTBOX_RECORD:
      status = record.type == GUEST_RECORD_CALL ? record_call(run, &record) : record_log(run, &record);
      break;
    case MB_OUTBOX_END:
      return MB_YIELDED;
    case MB_OUTBOX_CORRUPT:
      return end_with_trap(run, MB_TRAP_CORRUPT);
    }
  return status;
}

/* While it waits, linear memory and a stack pointer that is back where it was are the guest's whole state. */
static bool is_at_rest(const mb_run *run) {
  const w2c_guest *guest = &run->instance->guest;
  return !guest->depth && guest->w2c_0x5F_stack_pointer == mb_engine_base(run->engine)->stack_pointer;
}

static mb_status wait(mb_run *run) {
  if (!is_at_rest(run))
    return end_with_trap(run, MB_TRAP_CORRUPT);
  if (!run->calls.pending)
    return end(run, MB_DEADLOCK);
  return run->status = MB_WAITING;
}

/* guest_start or guest_settle came back. */
static mb_status take_outcome(mb_run *run) {
  run->phase = AT_REST;
  mb_status status = read_outbox(run);
  if (status != MB_YIELDED)
    return status;
  uint32_t kind;
  switch (run->instance->result) {
  case GUEST_WAITING:
    return wait(run);
  case GUEST_DONE:
    return end_with_result(run, MB_DONE, run->limits.value_bytes);
  case GUEST_THREW:
    kind = mb_outbox_mailbox(run->instance, mb_engine_base(run->engine)->mailbox).error_kind;
    if (kind >= GUEST_ERROR_KINDS)
      return end_with_trap(run, MB_TRAP_CORRUPT);
    run->error_kind = (guest_error_kind)kind;
    return end_with_result(run, MB_THREW, (uint64_t)run->limits.value_bytes + GUEST_ERROR_ROOM);
  default:
    return end_with_trap(run, MB_TRAP_CORRUPT);
  }
}

/* ---- calls into the guest */

/* Room for the input and a zero after it. */
static bool has_room(const mb_run *run) {
  guest_mailbox box = mb_outbox_mailbox(run->instance, mb_engine_base(run->engine)->mailbox);
  return run->input_size < box.input_size && mb_instance_bytes(run->instance, box.input, run->input_size + 1);
}

static void write_input(mb_run *run, mb_view bytes) {
  guest_mailbox box = mb_outbox_mailbox(run->instance, mb_engine_base(run->engine)->mailbox);
  uint8_t *input = mb_instance_bytes(run->instance, box.input, bytes.size + 1);
  memcpy(input, bytes.data, bytes.size);
  input[bytes.size] = 0;
}

/* Prepares a call whose input may have to wait until the guest has made room. */
static mb_err prepare(mb_run *run, mb_entry entry, uint32_t a, uint32_t b, mb_view input) {
  run->input_size = input.size;
  if (has_room(run)) {
    write_input(run, input);
  } else {
    run->input = malloc(input.size + 1);
    if (!run->input)
      return MB_ERR_NO_MEMORY;
    memcpy(run->input, input.data, input.size);
  }
  run->entry = entry;
  run->arguments[0] = a;
  run->arguments[1] = b;
  run->phase = PREPARED;
  return MB_OK;
}

static mb_err enter_prepared(mb_run *run) {
  mb_trap_install();
  mb_err err;
  uint32_t size = (uint32_t)run->input_size;
  if (run->input)
    err = mb_instance_call(run->instance, MB_ENTRY_INPUT, size + 1, 0, 0);
  else if (run->entry == MB_ENTRY_START)
    err = mb_instance_call(run->instance, MB_ENTRY_START, size, 0, 0);
  else
    err = mb_instance_call(run->instance, run->entry, run->arguments[0], run->arguments[1], size);
  if (err)
    return err;
  if (!run->input) { /* the guest empties the outbox at its next step, which may lie beyond a tick */
    mailbox_of(run)->outbox_size = 0;
    run->outbox_read = 0;
  }
  run->phase = ENTERED;
  return MB_OK;
}

/* guest_input came back: false: it had no memory. */
static bool input_made(mb_run *run) {
  run->phase = PREPARED;
  if (!has_room(run))
    return false;
  write_input(run, (mb_view){ run->input, run->input_size });
  free(run->input);
  run->input = NULL;
  return true;
}

/* ---- stepping */

/* What ends a run whether it computes or waits. */
static mb_limit outer_limit(const mb_run *run, int64_t now) {
  if (atomic_load_explicit(&run->aborted, memory_order_relaxed))
    return MB_LIMIT_ABORTED;
  return now >= run->deadline ? MB_LIMIT_TIMEOUT : MB_LIMIT_NONE;
}

/* At a tick; MB_YIELDED and !*yield: go on in the guest. */
static mb_status check_limits(mb_run *run, int64_t entered, int64_t slice_end, bool *yield) {
  int64_t used = ticks(run), now = mb_os_now();
  note_unchecked(run);
  if (used > run->limits.fuel)
    return end_at_limit(run, MB_LIMIT_FUEL);
  mb_limit limit = outer_limit(run, now);
  if (limit)
    return end_at_limit(run, limit);
  if (run->guest_ns + (now - entered) >= run->limits.cpu_ns)
    return end_at_limit(run, MB_LIMIT_CPU);
  grant(run, used);
  mailbox_of(run)->clock_ns = (uint64_t)program_clock(run);
  *yield = now >= slice_end;
  return MB_YIELDED;
}

/* A guest that runs out of memory where it cannot throw says so in its mailbox, and stops. */
static mb_status end_in_guest(mb_run *run, mb_trap trap) {
  guest_mailbox box = mb_outbox_mailbox(run->instance, mb_engine_base(run->engine)->mailbox);
  if (trap == MB_TRAP_UNREACHABLE && box.error_kind == GUEST_ERROR_MEMORY)
    return end_at_limit(run, MB_LIMIT_MEMORY);
  return end_with_trap(run, trap);
}

static mb_status step(mb_run *run, int64_t entered, int64_t slice_end) {
  for (;;) {
    if (run->phase == PREPARED && enter_prepared(run))
      return end_with_trap(run, MB_TRAP_HOST_MEMORY);
    int event = mb_instance_resume(run->instance);
    if (event == MB_EVENT_TICK) {
      bool yield = false;
      mb_status status = check_limits(run, entered, slice_end, &yield);
      if (status == MB_YIELDED && yield)
        status = read_outbox(run);
      if (status != MB_YIELDED || yield)
        return run->status = status;
    } else if (event != MB_EVENT_RETURNED) {
      return end_in_guest(run, (mb_trap)event);
    } else if (!run->input) {
      return take_outcome(run);
    } else if (!input_made(run)) {
      return end_at_limit(run, MB_LIMIT_MEMORY);
    }
  }
}

/* No call into the guest is prepared: the last status, unless the run has waited too long. */
static mb_status step_at_rest(mb_run *run) {
  mb_limit limit = run->status == MB_WAITING ? outer_limit(run, mb_os_now()) : MB_LIMIT_NONE;
  return limit ? end_at_limit(run, limit) : run->status;
}

mb_status mb_run_step(mb_run *run, int64_t slice_ns) {
  if (run->phase == AT_REST)
    return step_at_rest(run);
  if (!mb_trap_thread_ready())
    return end_with_trap(run, MB_TRAP_HOST_MEMORY);
  mb_logs_compact(&run->logs);
  int64_t entered = mb_os_now();
  mb_status status = step(run, entered, slice_ns > 0 ? entered + slice_ns : INT64_MAX);
  run->guest_ns += mb_os_now() - entered;
  return status;
}

/* ---- from the embedder */

static void write_text(mb_writer *writer, mb_view text) {
  mb_write_varint(writer, text.size);
  mb_write_raw(writer, text);
}

/* docs/spec/guest-abi.md: the program. */
static mb_err encode_program(mb_writer *writer, const mb_program *program) {
  mb_writer_init(writer, INT32_MAX);
  write_text(writer, program->filename);
  mb_write_varint(writer, program->function_count);
  for (uint32_t i = 0; i < program->function_count; i++)
    write_text(writer, program->functions[i]);
  write_text(writer, program->source);
  return writer->err;
}

static uint32_t pages_for(uint32_t memory_bytes) {
  return memory_bytes / MB_WASM_PAGE + 1 + SPARE_PAGES;
}

static bool limits_are_valid(const mb_limits *limits) {
  return limits->fuel >= 0 && limits->timeout_ns >= 0 && limits->cpu_ns >= 0 && limits->memory_bytes >= LEAST_MEMORY &&
         limits->memory_bytes <= GREATEST_MEMORY;
}

static int64_t deadline_after(int64_t timeout_ns) {
  int64_t now = mb_os_now();
  return timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
}

static void fill_mailbox(mb_run *run, const mb_program *program) {
  guest_mailbox *box = mailbox_of(run);
  box->clock_ns = (uint64_t)program->clock_ns;
  memcpy(box->seed, program->seed, sizeof box->seed);
  box->memory_limit = program->limits.memory_bytes;
  box->value_limit = program->limits.value_bytes;
  box->mode = program->mode;
}

static mb_err prepare_program(mb_run *run, const mb_program *program) {
  mb_writer writer;
  mb_err err = encode_program(&writer, program);
  if (!err) {
    fill_mailbox(run, program);
    err = prepare(run, MB_ENTRY_START, 0, 0, mb_writer_view(&writer));
  }
  mb_writer_free(&writer);
  return err;
}

mb_err mb_run_new(mb_run **out, mb_engine *engine, const mb_program *program) {
  if (!limits_are_valid(&program->limits) || program->clock_ns < 0 || program->function_count > MOST_FUNCTIONS)
    return MB_ERR_MISUSE;
  mb_run *run = calloc(1, sizeof *run);
  if (!run)
    return MB_ERR_NO_MEMORY;
  run->engine = engine;
  run->limits = program->limits;
  run->function_count = program->function_count;
  run->deadline = deadline_after(program->limits.timeout_ns);
  run->clock_base = program->clock_ns;
  run->logs.limit = program->limits.log_bytes;
  mb_calls_init(&run->calls);
  mb_err err = mb_engine_take(engine, &run->instance, pages_for(program->limits.memory_bytes));
  if (!err) {
    grant(run, 0);
    err = prepare_program(run, program);
  }
  if (err) {
    mb_run_free(run);
    return err;
  }
  *out = run;
  return MB_OK;
}

void mb_run_free(mb_run *run) {
  if (run->instance)
    release_instance(run, run->phase != ENTERED);
  mb_calls_free(&run->calls);
  mb_logs_free(&run->logs);
  free(run->input);
  free(run->result);
  free(run);
}

bool mb_run_next_call(mb_run *run, mb_call *out) {
  return mb_calls_next(&run->calls, out);
}

bool mb_run_next_log(mb_run *run, mb_log *out) {
  return mb_logs_next(&run->logs, out);
}

mb_err mb_run_settle(mb_run *run, uint64_t call_id, guest_outcome outcome, mb_view value, int64_t clock_ns) {
  if (run->phase != AT_REST || run->status != MB_WAITING)
    return MB_ERR_MISUSE;
  if (value.size > run->limits.value_bytes)
    return MB_ERR_TOO_LARGE;
  mb_pending_call *call = mb_calls_find(&run->calls, call_id);
  if (!call)
    return MB_ERR_MISUSE;
  mb_err err = prepare(run, MB_ENTRY_SETTLE, call->ticket, outcome, value);
  if (err)
    return err;
  mb_calls_settle(&run->calls, call);
  int64_t shown = program_clock(run);
  if (clock_ns > shown)
    run->clock_base += clock_ns - shown;
  mailbox_of(run)->clock_ns = (uint64_t)program_clock(run);
  return MB_OK;
}

void mb_run_abort(mb_run *run) {
  atomic_store_explicit(&run->aborted, true, memory_order_relaxed);
}

mb_view mb_run_result(const mb_run *run) {
  return (mb_view){ run->result, run->result_size };
}

guest_error_kind mb_run_error_kind(const mb_run *run) {
  return run->error_kind;
}

mb_limit mb_run_limit(const mb_run *run) {
  return run->limit;
}

mb_trap mb_run_trap(const mb_run *run) {
  return run->trap;
}

static uint32_t peak_pages(const mb_run *run) {
  return run->instance ? run->instance->peak_pages : run->peak_pages;
}

mb_stats mb_run_stats(const mb_run *run) {
  int64_t used = run->instance ? ticks(run) : run->ticks_at_grant;
  return (mb_stats){
    .fuel_used = used < run->limits.fuel ? used : run->limits.fuel,
    .guest_ns = run->guest_ns,
    .memory_bytes = (uint64_t)peak_pages(run) * MB_WASM_PAGE - mb_engine_base(run->engine)->pages.size,
    .longest_unchecked = run->longest_unchecked,
    .host_calls = run->host_calls,
    .logs_dropped = run->logs.dropped,
    .log_bytes_dropped = run->logs.bytes_dropped,
  };
}
