/* bytes.h: a growing byte buffer, and a cursor over bytes that the host wrote. */
#ifndef MODEBOX_BYTES_H
#define MODEBOX_BYTES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "guest.h"

/* Grown with the engine's allocator, so that it counts in the memory limit. */
typedef struct bytes {
  uint8_t *data;
  size_t size, capacity;
  size_t limit;     /* never larger than this ... */
  const char *name; /* ... and what it is, where it is a value; may be NULL */
} bytes;

/* Room for `size` more, not yet counted in bytes.size. NULL: an exception is pending (out of memory, or TypeError: over the limit). */
uint8_t *bytes_reserve(JSContext *ctx, bytes *b, size_t size);
bool bytes_append(JSContext *ctx, bytes *b, const void *data, size_t size);
bool bytes_append_byte(JSContext *ctx, bytes *b, uint8_t byte);
bool bytes_append_varint(JSContext *ctx, bytes *b, uint64_t value);
bool bytes_append_text(JSContext *ctx, bytes *b, const char *text); /* terminated, without the zero */
/* A JavaScript string's UTF-8; any other value as String(value). */
bool bytes_append_string(JSContext *ctx, bytes *b, JSValueConst value);
void bytes_free(JSContext *ctx, bytes *b);

typedef struct cursor {
  const uint8_t *next, *end;
} cursor;

/* false: the bytes end too early, or the number is no varint. */
bool cursor_varint(cursor *c, uint64_t *out);
bool cursor_text(cursor *c, text *out); /* varint size, bytes */

#endif
