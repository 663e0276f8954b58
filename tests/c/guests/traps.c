/* traps.c: a guest that does what a guest must not do: the source of its program is the name of the fault.
 * Sent through the same pipeline as the product's guest, and linked with the same core (../traps.c). */
#include <stdbool.h>
#include <stddef.h>
#include "abi.h"

#define EXPORT(name) __attribute__((export_name(#name)))

static guest_mailbox mailbox;
static _Alignas(8) uint8_t input[GUEST_INPUT_SIZE], outbox[64], large[65536];
static volatile uint32_t zero, sink;

static uint32_t two(uint32_t a) {
  return a + 2;
}

static uint32_t at(uint32_t address) {
  return *(volatile uint32_t *)(uintptr_t)address;
}

static void nothing(void) {}

/* Called by their address: a table with two types in it. */
static uint32_t (*volatile function)(uint32_t) = two;
static uint32_t (*volatile reader)(uint32_t) = at;
static void (*volatile procedure)(void) = nothing;

static bool is(const char *program, const char *name) {
  while (*name && *program == *name)
    program++, name++;
  return !*name && !*program;
}

static uint32_t recurse(volatile uint32_t *n) {
  ++*n;
  return recurse(n) + *n;
}

static uint32_t shallow(volatile uint32_t *n) {
  if (!*n)
    return 0;
  --*n;
  return shallow(n) + *n;
}

static void put_record(uint32_t type, uint32_t a, uint32_t b, uint32_t size) {
  *(guest_record *)outbox = (guest_record){ type, a, b, size };
  mailbox.outbox = (guest_address)outbox;
  mailbox.outbox_size = sizeof(guest_record);
}

/* What faults, or takes more than its share. */
static uint32_t fault(const char *program) {
  volatile uint32_t *far = (volatile uint32_t *)(uintptr_t)(0xfffffff0u + zero);
  uint8_t *end = (uint8_t *)(uintptr_t)(__builtin_wasm_memory_size(0) * 65536u);
  if (is(program, "read far"))
    return *far;
  if (is(program, "read far by a pointer"))
    return reader(0xfffffff0u);
  if (is(program, "read the end"))
    return end[zero];
  if (is(program, "write the end"))
    return end[zero] = 1;
  if (is(program, "copy over the end"))
    __builtin_memmove(end - 8, input, 4096 + zero);
  if (is(program, "fill over the end"))
    __builtin_memset(end - 8, 1, 4096 + zero);
  if (is(program, "call a bad index"))
    return ((uint32_t (*)(uint32_t))(uintptr_t)(100000 + zero))(1);
  if (is(program, "call null"))
    return ((uint32_t (*)(uint32_t))(uintptr_t)zero)(1);
  if (is(program, "call the wrong type"))
    return ((uint32_t (*)(uint32_t))(uintptr_t)procedure)(1);
  if (is(program, "divide by zero"))
    return 1000 / zero;
  if (is(program, "unreachable"))
    __builtin_trap();
  if (is(program, "recurse"))
    return recurse(&(volatile uint32_t){ 0 });
  if (is(program, "loop"))
    for (;;)
      zero = 0;
  if (is(program, "grow"))
    do
      sink = __builtin_wasm_memory_grow(0, 65537) + 1;
    while (!sink && __builtin_wasm_memory_grow(0, 16) != (size_t)-1);
  if (is(program, "fill often"))
    for (int i = 0; i < 1000; i++)
      __builtin_memset(large, i, sizeof large - zero), sink = large[zero];
  if (is(program, "come back"))
    for (int i = 0; i < 100000; i++)
      sink = shallow(&(volatile uint32_t){ 3 });
  return GUEST_DONE;
}

static guest_address end_of_memory(void) {
  return (guest_address)__builtin_wasm_memory_size(0) * 65536u;
}

/* The last record of memory, and an outbox of `size` bytes that begins `before` the end. */
static void put_at_end(guest_record record, uint32_t before, uint32_t size) {
  *(guest_record *)(uintptr_t)(end_of_memory() - sizeof record) = record;
  mailbox.outbox = end_of_memory() - before;
  mailbox.outbox_size = size;
}

/* A slice ends in between, and the host has read the first record by then. */
static void shrink_outbox(void) {
  put_record(GUEST_RECORD_LOG, 0, 0, 0);
  ((guest_record *)outbox)[1] = (guest_record){ GUEST_RECORD_LOG, 0, 0, 0x7ffffff0u };
  for (int i = 0; i < 100000; i++)
    __asm__ volatile("" ::: "memory");
  mailbox.outbox_size = 0;
}

/* What breaks the protocol. */
static uint32_t lie(const char *program) {
  enum { HEAD = sizeof(guest_record) };
  if (is(program, "bad status"))
    return 77;
  if (is(program, "bad error kind")) {
    mailbox.error_kind = GUEST_ERROR_KINDS;
    return GUEST_THREW;
  }
  if (is(program, "result outside"))
    mailbox.result = 0xfffffff0u, mailbox.result_size = 0x20;
  if (is(program, "result over the end"))
    mailbox.result = end_of_memory() - 8, mailbox.result_size = 16;
  if (is(program, "result too long"))
    mailbox.result = 0, mailbox.result_size = 0xffffffffu;
  if (is(program, "result too large"))
    mailbox.result = 0, mailbox.result_size = 1001;
  if (is(program, "outbox outside"))
    mailbox.outbox = 0xfffffffcu, mailbox.outbox_size = 64;
  if (is(program, "outbox over the end"))
    put_at_end((guest_record){ GUEST_RECORD_LOG, 0, 0, 0 }, HEAD, 2 * HEAD);
  if (is(program, "outbox shrinks"))
    shrink_outbox();
  if (is(program, "head too short"))
    put_at_end((guest_record){ GUEST_RECORD_LOG, 0, 0, 0 }, HEAD - 1, HEAD - 1);
  if (is(program, "record over the end"))
    put_at_end((guest_record){ GUEST_RECORD_LOG, 0, 0, 100 }, HEAD, HEAD);
  if (is(program, "record too long"))
    put_record(GUEST_RECORD_LOG, 0, 0, 0xffffffffu);
  if (is(program, "record type"))
    put_record(9, 0, 0, 0);
  if (is(program, "log level"))
    put_record(GUEST_RECORD_LOG, GUEST_LOG_LEVELS, 0, 0);
  if (is(program, "call index"))
    put_record(GUEST_RECORD_CALL, 1, 1000, 0);
  if (is(program, "call")) {
    put_record(GUEST_RECORD_CALL, 1, 0, 0);
    return GUEST_WAITING;
  }
  return GUEST_DONE;
}

EXPORT(guest_init) void guest_init(void) {
  mailbox.input = (guest_address)input;
  mailbox.input_size = sizeof input;
  mailbox.outbox = (guest_address)outbox;
}

EXPORT(guest_mailbox) guest_address guest_mailbox_address(void) {
  return (guest_address)&mailbox;
}

EXPORT(guest_input) guest_address guest_input(uint32_t size) {
  return size ? mailbox.input : 0;
}

/* The program: a file name of one letter, functions with such names, a source of less than 128 bytes. */
EXPORT(guest_start) uint32_t guest_start(uint32_t size) {
  const char *program = (const char *)input + 4 + 2 * input[2];
  static const uint8_t result[] = { VALUE_NULL };
  mailbox.result = (guest_address)result;
  mailbox.result_size = size ? sizeof result : 0;
  sink = fault(program);
  return lie(program);
}

EXPORT(guest_settle) uint32_t guest_settle(uint32_t ticket, uint32_t outcome, uint32_t size) {
  sink = function(ticket + outcome + size); /* the outbox stays as it is */
  return GUEST_DONE;
}

__attribute__((noinline, export_name("guest_depth"))) uint32_t guest_depth(void) {
  __asm__ volatile("");
  return 0;
}
