/* decode.c: value bytes, which the host wrote, to JavaScript values. */
#include <string.h>
#include "bigint.h"
#include "clone.h"
#include "codec.h"
#include "errors.h"

typedef struct decoder {
  JSContext *ctx;
  cursor from;
  JSAtom *keys;
  uint32_t key_count, key_capacity;
  /* containers that come again, by number, held: a part of the value may be let go (an error's fields, the value of an
   * entry whose key comes twice); JS_UNDEFINED until they are whole */
  JSValue *shared;
  uint32_t shared_count, shared_capacity;
} decoder;

static JSValue decode(decoder *d, unsigned depth);

static JSValue malformed(decoder *d) {
  return JS_ThrowSyntaxError(d->ctx, "these bytes are no value");
}

/* Borrowed from the table. JS_ATOM_NULL: an exception is pending. */
static JSAtom decode_key(decoder *d) {
  uint64_t head;
  if (!cursor_varint(&d->from, &head)) {
    malformed(d);
    return JS_ATOM_NULL;
  }
  if (head & 1) {
    if (head >> 1 < d->key_count)
      return d->keys[head >> 1];
    malformed(d);
    return JS_ATOM_NULL;
  }
  if (head >> 1 > (size_t)(d->from.end - d->from.next)) {
    malformed(d);
    return JS_ATOM_NULL;
  }
  if (d->key_count == d->key_capacity) {
    uint32_t capacity = d->key_capacity ? d->key_capacity * 2 : 32;
    JSAtom *keys = js_realloc(d->ctx, d->keys, capacity * sizeof *keys);
    if (!keys)
      return JS_ATOM_NULL;
    d->keys = keys;
    d->key_capacity = capacity;
  }
  JSAtom atom = JS_NewAtomLen(d->ctx, (const char *)d->from.next, (size_t)(head >> 1));
  if (atom != JS_ATOM_NULL)
    d->keys[d->key_count++] = atom;
  d->from.next += head >> 1;
  return atom;
}

static JSValue decode_object(decoder *d, unsigned depth) {
  uint64_t count;
  if (!cursor_varint(&d->from, &count) || depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  JSValue object = JS_NewObject(d->ctx);
  if (JS_IsException(object))
    return object;
  for (; count; count--) {
    JSAtom key = decode_key(d);
    JSValue value = key == JS_ATOM_NULL ? JS_EXCEPTION : decode(d, depth + 1);
    if (JS_IsException(value) || JS_DefinePropertyValue(d->ctx, object, key, value, JS_PROP_C_W_E) < 0) {
      JS_FreeValue(d->ctx, object);
      return JS_EXCEPTION;
    }
  }
  return object;
}

/* Fills `count` values, each from what follows; on failure none. */
static bool decode_values(decoder *d, JSValue *values, int count, unsigned depth) {
  int filled = 0;
  while (filled < count && !JS_IsException(values[filled] = decode(d, depth)))
    filled++;
  if (filled == count)
    return true;
  while (filled)
    JS_FreeValue(d->ctx, values[--filled]);
  return false;
}

static JSValue decode_array(decoder *d, unsigned depth) {
  uint64_t count;
  if (!cursor_varint(&d->from, &count) || count > (size_t)(d->from.end - d->from.next) || depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  if (!count)
    return JS_NewArray(d->ctx);
  JSValue *values = js_malloc(d->ctx, (size_t)count * sizeof *values);
  if (!values)
    return JS_EXCEPTION;
  JSValue array = JS_EXCEPTION;
  if (decode_values(d, values, (int)count, depth + 1))
    array = JS_NewArrayFrom(d->ctx, (int)count, values); /* takes the values, whatever comes of it */
  js_free(d->ctx, values);
  return array;
}

static bool decode_record(decoder *d, JSValueConst object, bool is_set, unsigned depth) {
  JSValue record[2] = { JS_UNDEFINED, JS_UNDEFINED };
  return decode_values(d, record, is_set ? 1 : 2, depth) && !JS_AddRecord(d->ctx, object, record[0], record[1]);
}

static JSValue decode_records(decoder *d, bool is_set, unsigned depth) {
  uint64_t count;
  if (!cursor_varint(&d->from, &count) || depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  JSValue object = JS_NewMap(d->ctx, is_set);
  for (; count && !JS_IsException(object); count--)
    if (!decode_record(d, object, is_set, depth + 1)) {
      JS_FreeValue(d->ctx, object);
      object = JS_EXCEPTION;
    }
  return object;
}

static JSValue decode_error(decoder *d, unsigned depth) {
  if (d->from.next == d->from.end || *d->from.next++ != VALUE_OBJECT)
    return malformed(d);
  JSValue fields = decode_object(d, depth);
  return JS_IsException(fields) ? fields : errors_from_fields(d->ctx, fields);
}

/* ---- containers that come again */

static bool reserve_shared(decoder *d) {
  if (d->shared_count < d->shared_capacity)
    return true;
  uint32_t capacity = d->shared_capacity ? d->shared_capacity * 2 : 16;
  JSValue *shared = js_realloc(d->ctx, d->shared, capacity * sizeof *shared);
  if (!shared)
    return false;
  d->shared = shared;
  d->shared_capacity = capacity;
  return true;
}

static JSValue decode_shared(decoder *d, unsigned depth) {
  if (!reserve_shared(d))
    return JS_EXCEPTION;
  uint32_t number = d->shared_count++;
  d->shared[number] = JS_UNDEFINED;
  JSValue value = decode(d, depth);
  if (!JS_IsException(value))
    d->shared[number] = JS_DupValue(d->ctx, value);
  return value;
}

static JSValue decode_reference(decoder *d) {
  uint64_t number;
  if (!cursor_varint(&d->from, &number) || number >= d->shared_count || !JS_IsObject(d->shared[number]))
    return malformed(d);
  return JS_DupValue(d->ctx, d->shared[number]);
}

/* ---- other values */

static JSValue decode_numbers(decoder *d) {
  static const uint8_t types[] = {
    [VALUE_INT8] = JS_TYPED_ARRAY_INT8,         [VALUE_INT16] = JS_TYPED_ARRAY_INT16,
    [VALUE_UINT16] = JS_TYPED_ARRAY_UINT16,     [VALUE_INT32] = JS_TYPED_ARRAY_INT32,
    [VALUE_UINT32] = JS_TYPED_ARRAY_UINT32,     [VALUE_INT64] = JS_TYPED_ARRAY_BIG_INT64,
    [VALUE_UINT64] = JS_TYPED_ARRAY_BIG_UINT64, [VALUE_FLOAT16] = JS_TYPED_ARRAY_FLOAT16,
    [VALUE_FLOAT32] = JS_TYPED_ARRAY_FLOAT32,   [VALUE_FLOAT64] = JS_TYPED_ARRAY_FLOAT64,
  };
  if (d->from.next == d->from.end || *d->from.next >= sizeof types)
    return malformed(d);
  JSTypedArrayEnum type = (JSTypedArrayEnum)types[*d->from.next++];
  text bytes;
  if (!cursor_text(&d->from, &bytes))
    return malformed(d);
  JSValue buffer = JS_NewArrayBufferCopy(d->ctx, (const uint8_t *)bytes.data, bytes.size);
  if (JS_IsException(buffer))
    return buffer;
  JSValue array = JS_NewTypedArray(d->ctx, 1, (JSValueConst *)&buffer, type);
  JS_FreeValue(d->ctx, buffer);
  return array;
}

static JSValue decode_regexp(decoder *d) {
  text flags, source;
  if (!cursor_text(&d->from, &flags) || d->from.next == d->from.end || *d->from.next++ != VALUE_STRING ||
      !cursor_text(&d->from, &source))
    return malformed(d);
  JSValue parts[] = { JS_NewStringLen(d->ctx, source.data, source.size),
                      JS_NewStringLen(d->ctx, flags.data, flags.size) };
  JSValue regexp = JS_EXCEPTION;
  if (!JS_IsException(parts[0]) && !JS_IsException(parts[1]))
    regexp = JS_NewRegExp(d->ctx, parts[0], parts[1]);
  JS_FreeValue(d->ctx, parts[0]);
  JS_FreeValue(d->ctx, parts[1]);
  return regexp;
}

static JSValue decode_sized(decoder *d, uint8_t tag) {
  text bytes;
  if (!cursor_text(&d->from, &bytes))
    return malformed(d);
  if (tag == VALUE_STRING)
    return JS_NewStringLen(d->ctx, bytes.data, bytes.size);
  if (tag == VALUE_BIGINT)
    return bigint_decode(d->ctx, bytes);
  return JS_NewUint8ArrayCopy(d->ctx, (const uint8_t *)bytes.data, bytes.size);
}

static JSValue decode_int(decoder *d) {
  uint64_t zigzag;
  if (!cursor_varint(&d->from, &zigzag))
    return malformed(d);
  return JS_NewInt64(d->ctx, (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1));
}

static JSValue decode_eight(decoder *d, uint8_t tag) {
  if (d->from.end - d->from.next < 8)
    return malformed(d);
  double value;
  memcpy(&value, d->from.next, sizeof value);
  d->from.next += sizeof value;
  return tag == VALUE_DATE ? JS_NewDate(d->ctx, value) : JS_NewFloat64(d->ctx, value);
}

static JSValue decode(decoder *d, unsigned depth) {
  if (d->from.next == d->from.end)
    return malformed(d);
  uint8_t tag = *d->from.next++;
  switch (tag) {
  case VALUE_UNDEFINED:
    return JS_UNDEFINED;
  case VALUE_NULL:
    return JS_NULL;
  case VALUE_FALSE:
  case VALUE_TRUE:
    return JS_NewBool(d->ctx, tag == VALUE_TRUE);
  case VALUE_INT:
    return decode_int(d);
  case VALUE_FLOAT:
  case VALUE_DATE:
    return decode_eight(d, tag);
  case VALUE_BIGINT:
  case VALUE_STRING:
  case VALUE_BYTES:
    return decode_sized(d, tag);
  case VALUE_ERROR:
    return decode_error(d, depth);
  case VALUE_ARRAY:
    return decode_array(d, depth);
  case VALUE_OBJECT:
    return decode_object(d, depth);
  case VALUE_MAP:
  case VALUE_SET:
    return decode_records(d, tag == VALUE_SET, depth);
  case VALUE_REGEXP:
    return decode_regexp(d);
  case VALUE_NUMBERS:
    return decode_numbers(d);
  case VALUE_SHARED:
    return decode_shared(d, depth);
  case VALUE_REFERENCE:
    return decode_reference(d);
  default:
    return malformed(d);
  }
}

JSValue codec_decode(JSContext *ctx, const uint8_t *data, size_t size) {
  decoder d = { .ctx = ctx, .from = { data, data + size } };
  JSValue value = decode(&d, 0);
  for (uint32_t i = 0; i < d.key_count; i++)
    JS_FreeAtom(ctx, d.keys[i]);
  js_free(ctx, d.keys);
  for (uint32_t i = 0; i < d.shared_count; i++)
    JS_FreeValue(ctx, d.shared[i]);
  js_free(ctx, d.shared);
  return value;
}
