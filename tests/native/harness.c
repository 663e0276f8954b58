/* harness.c: the guest's own sources compiled natively, as an oracle for the translated guest.
 *
 * Reads programs from stdin, one JSON object a line: {"source": string, "filename": string, "mode": number}. Answers each with a line
 * {"status": "done" | "threw" | "waiting" | "crashed", "kind": number, "value": base64 of the value bytes}. Each program runs in a
 * fork of a fresh guest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "guest.h"

void guest_init(void);
guest_address guest_input(uint32_t size);
uint32_t guest_start(uint32_t size);

static size_t put_varint(uint8_t *out, uint64_t value) {
  size_t n = 0;
  for (; value >= 0x80; value >>= 7)
    out[n++] = (uint8_t)(value | 0x80);
  out[n++] = (uint8_t)value;
  return n;
}

/* The program as docs/spec/guest-abi.md lays it out, without host functions. */
static uint32_t write_program(text source, text filename) {
  uint8_t *start = (uint8_t *)guest_input((uint32_t)(source.size + filename.size + 32)), *p = start;
  p += put_varint(p, filename.size);
  memcpy(p, filename.data, filename.size);
  p += filename.size;
  p += put_varint(p, 0);
  p += put_varint(p, source.size);
  memcpy(p, source.data, source.size);
  p += source.size;
  *p = 0;
  return (uint32_t)(p - start);
}

static void print_base64(const uint8_t *data, size_t size) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (size_t i = 0; i < size; i += 3) {
    uint32_t n = data[i] << 16 | (i + 1 < size ? data[i + 1] : 0) << 8 | (i + 2 < size ? data[i + 2] : 0);
    putchar(digits[n >> 18]);
    putchar(digits[n >> 12 & 63]);
    putchar(i + 1 < size ? digits[n >> 6 & 63] : '=');
    putchar(i + 2 < size ? digits[n & 63] : '=');
  }
}

static void run(text source, text filename, uint32_t mode) {
  static const char *const names[] = { [GUEST_WAITING] = "waiting", [GUEST_DONE] = "done", [GUEST_THREW] = "threw" };
  mailbox.clock_ns = 1700000000000000000;
  memset(mailbox.seed, 7, sizeof mailbox.seed);
  mailbox.memory_limit = 64 << 20;
  mailbox.value_limit = 16 << 20;
  mailbox.mode = mode;
  uint32_t status = guest_start(write_program(source, filename));
  printf("{\"status\": \"%s\", \"kind\": %u, \"value\": \"", names[status],
         status == GUEST_THREW ? mailbox.error_kind : 0);
  if (status != GUEST_WAITING)
    print_base64((const uint8_t *)mailbox.result, mailbox.result_size);
  printf("\"}\n");
  fflush(stdout);
}

static text text_property(JSContext *ctx, JSValue object, const char *name) {
  text t;
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  t.data = JS_ToCStringLen(ctx, &t.size, value);
  return t; /* lives as long as the process: one program each */
}

/* In the fork: the line is parsed by a runtime of its own, so that the guest stays fresh. */
static void serve(const char *line, size_t size) {
  JSContext *ctx = JS_NewContext(JS_NewRuntime());
  JSValue request = JS_ParseJSON(ctx, line, size, "<stdin>");
  int32_t mode = 0;
  JS_ToInt32(ctx, &mode, JS_GetPropertyStr(ctx, request, "mode"));
  run(text_property(ctx, request, "source"), text_property(ctx, request, "filename"), (uint32_t)mode);
}

int main(void) {
  char *line = NULL;
  size_t capacity = 0;
  ssize_t size;
  guest_init();
  while ((size = getline(&line, &capacity, stdin)) > 0) {
    fflush(stdout);
    pid_t child = fork();
    if (!child) {
      serve(line, (size_t)size);
      _exit(0);
    }
    int status;
    if (waitpid(child, &status, 0) < 0 || status)
      puts("{\"status\": \"crashed\"}");
    fflush(stdout);
  }
  return 0;
}
