#include "bytes.h"
#include <string.h>

uint8_t *bytes_reserve(JSContext *ctx, bytes *b, size_t size) {
  if (size > b->limit - b->size) {
    JS_ThrowTypeError(ctx, "%s is larger than the %zu bytes that max_value_bytes allows", b->name ? b->name : "a text",
                      b->limit);
    return NULL;
  }
  if (size > b->capacity - b->size) {
    size_t capacity = b->capacity ? b->capacity * 2 : 256;
    if (capacity < b->size + size)
      capacity = b->size + size;
    uint8_t *data = js_realloc(ctx, b->data, capacity);
    if (!data)
      return NULL;
    b->data = data;
    b->capacity = capacity;
  }
  return b->data + b->size;
}

bool bytes_append(JSContext *ctx, bytes *b, const void *data, size_t size) {
  if (!size)
    return true;
  uint8_t *out = bytes_reserve(ctx, b, size);
  if (!out)
    return false;
  memcpy(out, data, size);
  b->size += size;
  return true;
}

bool bytes_append_byte(JSContext *ctx, bytes *b, uint8_t byte) {
  return bytes_append(ctx, b, &byte, 1);
}

bool bytes_append_varint(JSContext *ctx, bytes *b, uint64_t value) {
  uint8_t digits[10];
  size_t size = 0;
  for (; value >= 0x80; value >>= 7)
    digits[size++] = (uint8_t)(value | 0x80);
  digits[size++] = (uint8_t)value;
  return bytes_append(ctx, b, digits, size);
}

bool bytes_append_text(JSContext *ctx, bytes *b, const char *text) {
  return bytes_append(ctx, b, text, strlen(text));
}

bool bytes_append_string(JSContext *ctx, bytes *b, JSValueConst value) {
  size_t size;
  const char *utf8 = JS_ToCStringLen(ctx, &size, value);
  if (!utf8)
    return false;
  bool ok = bytes_append(ctx, b, utf8, size);
  JS_FreeCString(ctx, utf8);
  return ok;
}

void bytes_free(JSContext *ctx, bytes *b) {
  js_free(ctx, b->data);
  *b = (bytes){ .limit = b->limit };
}

bool cursor_varint(cursor *c, uint64_t *out) {
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && c->next < c->end; shift += 7) {
    uint8_t byte = *c->next++;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) {
      *out = value;
      return true;
    }
  }
  return false;
}

bool cursor_text(cursor *c, text *out) {
  uint64_t size;
  if (!cursor_varint(c, &size) || size > (size_t)(c->end - c->next))
    return false;
  *out = (text){ (const char *)c->next, (size_t)size };
  c->next += size;
  return true;
}
