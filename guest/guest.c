/* guest.c: the exports, and the globals of a fresh realm. */
#include "guest.h"
#include <stdlib.h>
#include "bigint.h"
#include "calls.h"
#include "console.h"
#include "errors.h"
#include "heap.h"
#include "memory.h"
#include "outbox.h"
#include "program.h"
#include "random.h"

#ifdef __wasm__
#define EXPORT(name) __attribute__((export_name(#name)))
#else
#define EXPORT(name)
#endif

/* Of the 2 MB that the linker gives to the stack, which lies at the low end of memory: what is left of it serves the
 * functions between two checks. */
enum { STACK_SIZE = 1536 * 1024 };

JSRuntime *guest_runtime;
JSContext *guest_context;
guest_mailbox mailbox;

static void remove_global(JSContext *ctx, JSValueConst global, const char *name) {
  JSAtom atom = JS_NewAtom(ctx, name);
  JS_DeleteProperty(ctx, global, atom, 0);
  JS_FreeAtom(ctx, atom);
}

/* Threads that share memory do not exist here. */
static void remove_globals(JSContext *ctx) {
  static const char *const names[] = { "SharedArrayBuffer", "Atomics", "WebAssembly" };
  JSValue global = JS_GetGlobalObject(ctx);
  for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
    remove_global(ctx, global, names[i]);
  JS_FreeValue(ctx, global);
}

static void set_input(uint8_t *buffer, size_t size) {
  mailbox.input = (guest_address)buffer;
  mailbox.input_size = size;
}

EXPORT(guest_init) void guest_init(void) {
  guest_runtime = JS_NewRuntime();
  JS_SetMaxStackSize(guest_runtime, STACK_SIZE);
  guest_context = JS_NewContext(guest_runtime);
  errors_init(guest_context);
  bigint_init(guest_context);
  random_install(guest_context);
  console_install(guest_context);
  remove_globals(guest_context);
  program_init(guest_context);
  set_input(malloc(GUEST_INPUT_SIZE), GUEST_INPUT_SIZE);
  outbox_clear(guest_context);
  memory_init(guest_runtime);
  heap_close_image();
}

EXPORT(guest_mailbox) guest_address guest_mailbox_address(void) {
  return (guest_address)&mailbox;
}

EXPORT(guest_input) guest_address guest_input(uint32_t size) {
  if (size > mailbox.input_size) {
    free((void *)mailbox.input);
    uint8_t *buffer = malloc(size);
    set_input(buffer, buffer ? size : 0);
  }
  return mailbox.input;
}

/* Reads the program in the input buffer, and starts it. */
static bool start(JSContext *ctx, cursor program) {
  text filename, source, name;
  uint64_t functions;
  if (!cursor_text(&program, &filename) || !cursor_varint(&program, &functions))
    return false;
  for (uint32_t i = 0; i < functions; i++)
    if (!cursor_text(&program, &name) || !calls_define(ctx, name, i))
      return false;
  if (!calls_freeze(ctx) || !cursor_text(&program, &source))
    return false;
  if (!errors_set_filename(ctx, filename))
    return false;
  program_start(ctx, source, filename, (guest_mode)mailbox.mode);
  return true;
}

/* Gives a large input buffer back; there is always room for a small one. */
static void release_input(void) {
  if (mailbox.input_size <= GUEST_INPUT_SIZE)
    return;
  free((void *)mailbox.input);
  uint8_t *buffer = malloc(GUEST_INPUT_SIZE);
  set_input(buffer, buffer ? GUEST_INPUT_SIZE : 0);
}

EXPORT(guest_start) uint32_t guest_start(uint32_t size) {
  const uint8_t *input = (const uint8_t *)mailbox.input;
  random_seed(mailbox.seed);
  memory_set_limit(guest_runtime, mailbox.memory_limit);
  bool started = start(guest_context, (cursor){ input, input + size });
  release_input();
  if (started)
    return program_advance(guest_context);
  mailbox.error_kind = GUEST_ERROR_MEMORY; /* the host writes no bad program: memory is what was missing */
  mailbox.result_size = 0;
  return GUEST_THREW;
}

EXPORT(guest_settle) uint32_t guest_settle(uint32_t ticket, uint32_t outcome, uint32_t size) {
  outbox_clear(guest_context);
  calls_settle(guest_context, ticket, (guest_outcome)outcome, (const uint8_t *)mailbox.input, size);
  release_input();
  return program_advance(guest_context);
}
