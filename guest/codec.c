#include "codec.h"
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "inspect.h"

static const int64_t INT_LIMIT = ((int64_t)1 << 53) - 1;

static struct {
  JSClassID plain_object;
  JSValue bigint, to_string, as_int_n, as_uint_n;
} intrinsics;

static JSValue method_of(JSContext *ctx, JSValueConst object, const char *holder, const char *name) {
  JSValue from = holder ? JS_GetPropertyStr(ctx, object, holder) : JS_DupValue(ctx, object);
  JSValue method = JS_GetPropertyStr(ctx, from, name);
  JS_FreeValue(ctx, from);
  return method;
}

void codec_init(JSContext *ctx) {
  JSValue global = JS_GetGlobalObject(ctx), plain = JS_NewObject(ctx);
  intrinsics.plain_object = JS_GetClassID(plain);
  intrinsics.bigint = JS_GetPropertyStr(ctx, global, "BigInt");
  intrinsics.to_string = method_of(ctx, intrinsics.bigint, "prototype", "toString");
  intrinsics.as_int_n = method_of(ctx, intrinsics.bigint, NULL, "asIntN");
  intrinsics.as_uint_n = method_of(ctx, intrinsics.bigint, NULL, "asUintN");
  JS_FreeValue(ctx, plain);
  JS_FreeValue(ctx, global);
}

/* ---- encoding */

/* Where the encoder is: containers from the innermost outwards. */
typedef struct place {
  const struct place *outer;
  JSValueConst container;
  JSAtom key;     /* of an object's member ... */
  uint32_t index; /* ... or an array's, when key is JS_ATOM_NULL */
  unsigned depth;
} place;

typedef struct encoder {
  JSContext *ctx;
  bytes *out;
  const char *root;
  /* keys that were written: open addressing, size a power of two; slot.atom 0 is free */
  struct slot {
    JSAtom atom;
    uint32_t index;
  } *slots, few[64];
  uint32_t slot_count, key_count;
} encoder;

static bool encode(encoder *e, JSValueConst value, const place *at);

static bool append_quoted(encoder *e, bytes *path, const char *key) {
  bool ok = bytes_append_text(e->ctx, path, "[\"");
  for (; ok && *key; key++)
    ok = (*key != '"' && *key != '\\' ? true : bytes_append_byte(e->ctx, path, '\\')) &&
         bytes_append_byte(e->ctx, path, (uint8_t)*key);
  return ok && bytes_append_text(e->ctx, path, "\"]");
}

static bool append_step(encoder *e, bytes *path, const place *at) {
  if (at->key == JS_ATOM_NULL) {
    char index[16];
    snprintf(index, sizeof index, "[%u]", at->index);
    return bytes_append_text(e->ctx, path, index);
  }
  const char *key = JS_AtomToCString(e->ctx, at->key);
  bool ok = key;
  if (ok && inspect_is_identifier(key))
    ok = bytes_append_byte(e->ctx, path, '.') && bytes_append_text(e->ctx, path, key);
  else if (ok)
    ok = append_quoted(e, path, key);
  JS_FreeCString(e->ctx, key);
  return ok;
}

/* "result.items[3].f", from the outside in; of a long path the middle is left out. */
static bool append_path(encoder *e, bytes *path, const place *at, unsigned length) {
  enum { SHOWN = 8 }; /* steps at either end */
  if (!at)
    return bytes_append_text(e->ctx, path, e->root);
  if (!append_path(e, path, at->outer, length))
    return false;
  if (at->depth <= SHOWN || at->depth + SHOWN > length)
    return append_step(e, path, at);
  return at->depth > SHOWN + 1 || bytes_append_text(e->ctx, path, "...");
}

/* Throws a TypeError: the path, then what is wrong there. Made by hand, for the engine cuts messages at 255 bytes. */
static bool refuse(encoder *e, const place *at, const char *what) {
  JSContext *ctx = e->ctx;
  bytes message = { .limit = 64 * 1024 };
  bool ok = append_path(e, &message, at, at ? at->depth : 0) && bytes_append_byte(ctx, &message, ' ') &&
            bytes_append_text(ctx, &message, what);
  if (ok) {
    JSValue error = JS_NewTypeError(ctx, "%s", "");
    JS_DefinePropertyValueStr(ctx, error, "message", JS_NewStringLen(ctx, (const char *)message.data, message.size),
                              JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
    JS_Throw(ctx, error);
  }
  bytes_free(ctx, &message);
  return false;
}

static bool refuse_class(encoder *e, const place *at, const char *class_name) {
  char what[128];
  snprintf(what, sizeof what, "is %s %.40s, which cannot cross the sandbox boundary",
           strchr("AEIOU", class_name[0]) ? "an" : "a", class_name);
  return refuse(e, at, what);
}

static bool refuse_object(encoder *e, const place *at, JSValueConst object) {
  if (JS_IsFunction(e->ctx, object))
    return refuse(e, at, "is a function, which cannot cross the sandbox boundary");
  if (JS_IsPromise(object))
    return refuse(e, at, "is a promise, which cannot cross the sandbox boundary; is an await missing?");
  if (JS_IsProxy(object))
    return refuse_class(e, at, "Proxy");
  JSAtom atom = JS_GetClassName(JS_GetRuntime(e->ctx), JS_GetClassID(object));
  const char *name = JS_AtomToCString(e->ctx, atom);
  refuse_class(e, at, name ? name : "host object");
  JS_FreeCString(e->ctx, name);
  JS_FreeAtom(e->ctx, atom);
  return false;
}

static bool encode_float(encoder *e, double value) {
  uint64_t bits = UINT64_C(0x7ff8000000000000);
  if (value == value)
    memcpy(&bits, &value, sizeof bits);
  uint8_t out[9] = { VALUE_FLOAT };
  for (unsigned i = 0; i < 8; i++)
    out[1 + i] = (uint8_t)(bits >> (8 * i));
  return bytes_append(e->ctx, e->out, out, sizeof out);
}

static bool encode_int(encoder *e, int64_t value) {
  return bytes_append_byte(e->ctx, e->out, VALUE_INT) &&
         bytes_append_varint(e->ctx, e->out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static bool encode_number(encoder *e, double value) {
  bool whole = fabs(value) <= (double)INT_LIMIT && value == trunc(value) && !(value == 0 && signbit(value));
  return whole ? encode_int(e, (int64_t)value) : encode_float(e, value);
}

static bool encode_sized(encoder *e, value_tag tag, const void *data, size_t size) {
  return bytes_append_byte(e->ctx, e->out, (uint8_t)tag) && bytes_append_varint(e->ctx, e->out, size) &&
         bytes_append(e->ctx, e->out, data, size);
}

static bool encode_string(encoder *e, JSValueConst string) {
  size_t size;
  const char *utf8 = JS_ToCStringLen(e->ctx, &size, string);
  bool ok = utf8 && encode_sized(e, VALUE_STRING, utf8, size);
  JS_FreeCString(e->ctx, utf8);
  return ok;
}

/* ---- BigInt: through hexadecimal digits, which take linear time */

static JSValue to_hex(JSContext *ctx, JSValueConst bigint) {
  JSValueConst radix = JS_NewInt32(ctx, 16);
  return JS_Call(ctx, intrinsics.to_string, bigint, 1, &radix);
}

static unsigned hex_digit(char c) {
  return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static bool encode_hex(encoder *e, const char *hex, size_t digits, size_t size) {
  if (!bytes_append_byte(e->ctx, e->out, VALUE_BIGINT) || !bytes_append_varint(e->ctx, e->out, size))
    return false;
  uint8_t *out = bytes_reserve(e->ctx, e->out, size);
  if (!out)
    return false;
  for (size_t i = 0; i < size; i++) {
    unsigned low = 2 * i < digits ? hex_digit(hex[digits - 1 - 2 * i]) : 0;
    unsigned high = 2 * i + 1 < digits ? hex_digit(hex[digits - 2 - 2 * i]) : 0;
    out[i] = (uint8_t)(high << 4 | low);
  }
  e->out->size += size;
  return true;
}

/* The bits of |value|, from its hexadecimal digits. */
static size_t bit_length(const char *hex, size_t digits) {
  unsigned top = hex_digit(hex[0]);
  return top ? digits * 4 - (size_t)(__builtin_clz(top) - 28) : 0;
}

static bool is_power_of_two(const char *hex, size_t digits) {
  unsigned top = hex_digit(hex[0]);
  if (top & (top - 1))
    return false;
  for (size_t i = 1; i < digits; i++)
    if (hex[i] != '0')
      return false;
  return true;
}

static bool encode_bigint(encoder *e, JSValueConst value) {
  JSContext *ctx = e->ctx;
  JSValue text = to_hex(ctx, value), wrapped = JS_UNDEFINED;
  size_t digits;
  const char *hex = JS_IsException(text) ? NULL : JS_ToCStringLen(ctx, &digits, text);
  bool ok = false;
  if (hex && hex[0] != '-') {
    size_t bits = bit_length(hex, digits);
    ok = encode_hex(e, hex, digits, bits ? bits / 8 + 1 : 0);
  } else if (hex) { /* -2^(n-1) is the one value that fits in n bits though its magnitude has n */
    size_t bits = bit_length(hex + 1, digits - 1);
    size_t size = (is_power_of_two(hex + 1, digits - 1) ? bits - 1 : bits) / 8 + 1;
    JSValueConst arguments[] = { JS_NewInt64(ctx, (int64_t)size * 8), value };
    wrapped = JS_Call(ctx, intrinsics.as_uint_n, JS_UNDEFINED, 2, arguments);
    JSValue unsigned_text = JS_IsException(wrapped) ? JS_EXCEPTION : to_hex(ctx, wrapped);
    JS_FreeCString(ctx, hex);
    hex = JS_IsException(unsigned_text) ? NULL : JS_ToCStringLen(ctx, &digits, unsigned_text);
    ok = hex && encode_hex(e, hex, digits, size);
    JS_FreeValue(ctx, unsigned_text);
  }
  JS_FreeCString(ctx, hex);
  JS_FreeValue(ctx, wrapped);
  JS_FreeValue(ctx, text);
  return ok;
}

/* ---- containers */

static bool grow_slots(encoder *e) {
  uint32_t count = e->slot_count * 2;
  struct slot *slots = js_mallocz(e->ctx, count * sizeof *slots);
  if (!slots)
    return false;
  for (uint32_t i = 0; i < e->slot_count; i++) {
    if (!e->slots[i].atom)
      continue;
    uint32_t at = e->slots[i].atom * 0x9E3779B1u;
    while (slots[at & (count - 1)].atom)
      at++;
    slots[at & (count - 1)] = e->slots[i];
  }
  if (e->slots != e->few)
    js_free(e->ctx, e->slots);
  e->slots = slots;
  e->slot_count = count;
  return true;
}

/* The atoms in the table are held by it: an atom whose number is used again would name another key. */
static bool encode_key(encoder *e, JSAtom atom) {
  uint32_t at = atom * 0x9E3779B1u;
  for (;; at++) {
    struct slot *slot = &e->slots[at & (e->slot_count - 1)];
    if (slot->atom == atom)
      return bytes_append_varint(e->ctx, e->out, (uint64_t)slot->index << 1 | 1);
    if (slot->atom)
      continue;
    *slot = (struct slot){ JS_DupAtom(e->ctx, atom), e->key_count++ };
    break;
  }
  size_t size;
  const char *utf8 = JS_AtomToCStringLen(e->ctx, &size, atom);
  bool ok =
      utf8 && bytes_append_varint(e->ctx, e->out, (uint64_t)size << 1) && bytes_append(e->ctx, e->out, utf8, size);
  JS_FreeCString(e->ctx, utf8);
  return ok && (e->key_count <= e->slot_count / 2 || grow_slots(e));
}

static bool encode_array(encoder *e, JSValueConst array, place at) {
  int64_t length;
  if (JS_GetLength(e->ctx, array, &length))
    return false;
  if ((uint64_t)length > e->out->limit) /* each member takes a byte at least */
    return bytes_reserve(e->ctx, e->out, SIZE_MAX);
  bool ok = bytes_append_byte(e->ctx, e->out, VALUE_ARRAY) && bytes_append_varint(e->ctx, e->out, (uint64_t)length);
  for (at.index = 0; ok && at.index < length; at.index++) {
    JSValue member = JS_GetPropertyUint32(e->ctx, array, at.index);
    ok = !JS_IsException(member) && encode(e, member, &at);
    JS_FreeValue(e->ctx, member);
  }
  return ok;
}

static bool encode_object(encoder *e, JSValueConst object, place at) {
  JSPropertyEnum *names;
  uint32_t count;
  if (JS_GetOwnPropertyNames(e->ctx, &names, &count, object, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
    return false;
  bool ok = bytes_append_byte(e->ctx, e->out, VALUE_OBJECT) && bytes_append_varint(e->ctx, e->out, count);
  for (uint32_t i = 0; ok && i < count; i++) {
    at.key = names[i].atom;
    JSValue member = JS_GetProperty(e->ctx, object, at.key);
    ok = !JS_IsException(member) && encode_key(e, at.key) && encode(e, member, &at);
    JS_FreeValue(e->ctx, member);
  }
  JS_FreePropertyEnum(e->ctx, names, count);
  return ok;
}

static bool is_circular(JSValueConst object, const place *outer) {
  for (const place *p = outer; p; p = p->outer)
    if (JS_VALUE_GET_PTR(p->container) == JS_VALUE_GET_PTR(object))
      return true;
  return false;
}

static bool encode_container(encoder *e, JSValueConst object, const place *outer) {
  place at = { .outer = outer, .container = object, .depth = outer ? outer->depth + 1 : 1 };
  if (at.depth > GUEST_VALUE_DEPTH) /* a cycle always gets here: only now is it looked for */
    return refuse(e, outer,
                  is_circular(object, outer) ? "is circular, and only trees cross the sandbox boundary"
                                             : "is nested too deeply: at most 256 levels cross the sandbox boundary");
  return JS_IsArray(object) ? encode_array(e, object, at) : encode_object(e, object, at);
}

static bool encode_uint8_array(encoder *e, JSValueConst array) {
  size_t size;
  uint8_t *data = JS_GetUint8Array(e->ctx, &size, array);
  if (data)
    return encode_sized(e, VALUE_BYTES, data, size);
  if (JS_HasException(e->ctx))
    return false;
  return encode_sized(e, VALUE_BYTES, NULL, 0);
}

static bool encode(encoder *e, JSValueConst value, const place *at) {
  switch (JS_VALUE_GET_NORM_TAG(value)) {
  case JS_TAG_UNDEFINED:
    return bytes_append_byte(e->ctx, e->out, VALUE_UNDEFINED);
  case JS_TAG_NULL:
    return bytes_append_byte(e->ctx, e->out, VALUE_NULL);
  case JS_TAG_BOOL:
    return bytes_append_byte(e->ctx, e->out, JS_VALUE_GET_BOOL(value) ? VALUE_TRUE : VALUE_FALSE);
  case JS_TAG_INT:
    return encode_int(e, JS_VALUE_GET_INT(value));
  case JS_TAG_FLOAT64:
    return encode_number(e, JS_VALUE_GET_FLOAT64(value));
  case JS_TAG_STRING:
  case JS_TAG_STRING_ROPE:
    return encode_string(e, value);
  case JS_TAG_SHORT_BIG_INT:
  case JS_TAG_BIG_INT:
    return encode_bigint(e, value);
  case JS_TAG_SYMBOL:
    return refuse(e, at, "is a symbol, which cannot cross the sandbox boundary");
  default:
    break;
  }
  if (JS_IsArray(value) || JS_GetClassID(value) == intrinsics.plain_object)
    return encode_container(e, value, at);
  if (JS_GetTypedArrayType(value) == JS_TYPED_ARRAY_UINT8)
    return encode_uint8_array(e, value);
  return refuse_object(e, at, value);
}

static void encoder_init(encoder *e, JSContext *ctx, bytes *out, const char *root) {
  *e = (encoder){ .ctx = ctx, .out = out, .root = root };
  e->slots = e->few;
  e->slot_count = sizeof e->few / sizeof *e->few;
}

static void encoder_free(encoder *e) {
  for (uint32_t i = 0; e->key_count && i < e->slot_count; i++)
    JS_FreeAtom(e->ctx, e->slots[i].atom);
  if (e->slots != e->few)
    js_free(e->ctx, e->slots);
}

bool codec_encode(JSContext *ctx, bytes *out, JSValueConst value, const char *root) {
  encoder e;
  encoder_init(&e, ctx, out, root);
  bool ok = encode(&e, value, NULL);
  encoder_free(&e);
  return ok;
}

bool codec_encode_arguments(JSContext *ctx, bytes *out, int argc, JSValueConst *argv) {
  while (argc && JS_IsUndefined(argv[argc - 1]))
    argc--;
  encoder e;
  encoder_init(&e, ctx, out, "args");
  bool ok = bytes_append_byte(ctx, out, VALUE_ARRAY) && bytes_append_varint(ctx, out, (uint64_t)argc);
  place at = { .container = JS_NULL, .depth = 1 };
  for (; ok && at.index < (uint32_t)argc; at.index++)
    ok = encode(&e, argv[at.index], &at);
  encoder_free(&e);
  return ok;
}

/* ---- decoding */

typedef struct decoder {
  JSContext *ctx;
  cursor from;
  JSAtom *keys;
  uint32_t key_count, key_capacity;
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

static JSValue decode_array(decoder *d, unsigned depth) {
  uint64_t count;
  if (!cursor_varint(&d->from, &count) || count > (size_t)(d->from.end - d->from.next) || depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  if (!count)
    return JS_NewArray(d->ctx);
  JSValue *values = js_malloc(d->ctx, (size_t)count * sizeof *values);
  if (!values)
    return JS_EXCEPTION;
  int filled = 0;
  while (filled < (int)count && !JS_IsException(values[filled] = decode(d, depth + 1)))
    filled++;
  JSValue array = JS_EXCEPTION;
  if (filled == (int)count)
    array = JS_NewArrayFrom(d->ctx, filled, values); /* takes the values, whatever comes of it */
  else
    while (filled)
      JS_FreeValue(d->ctx, values[--filled]);
  js_free(d->ctx, values);
  return array;
}

/* Two's complement, little-endian -> BigInt.asIntN(bits, BigInt("0x...")). */
static JSValue decode_bigint(decoder *d, text digits) {
  static const char hex[] = "0123456789abcdef";
  char *literal = js_malloc(d->ctx, 3 + digits.size * 2), *p = literal;
  if (!literal)
    return JS_EXCEPTION;
  *p++ = '0', *p++ = 'x', *p = '0';
  for (size_t i = digits.size; i--;) {
    *p++ = hex[(uint8_t)digits.data[i] >> 4];
    *p++ = hex[(uint8_t)digits.data[i] & 15];
  }
  JSValue string = JS_NewStringLen(d->ctx, literal, digits.size ? (size_t)(p - literal) : 3);
  js_free(d->ctx, literal);
  if (JS_IsException(string))
    return string;
  JSValue magnitude = JS_Call(d->ctx, intrinsics.bigint, JS_UNDEFINED, 1, (JSValueConst *)&string);
  JS_FreeValue(d->ctx, string);
  if (JS_IsException(magnitude))
    return magnitude;
  JSValueConst arguments[] = { JS_NewInt64(d->ctx, (int64_t)digits.size * 8), magnitude };
  JSValue value = JS_Call(d->ctx, intrinsics.as_int_n, JS_UNDEFINED, 2, arguments);
  JS_FreeValue(d->ctx, magnitude);
  return value;
}

static JSValue decode_sized(decoder *d, uint8_t tag) {
  text bytes;
  if (!cursor_text(&d->from, &bytes))
    return malformed(d);
  if (tag == VALUE_STRING)
    return JS_NewStringLen(d->ctx, bytes.data, bytes.size);
  if (tag == VALUE_BIGINT)
    return decode_bigint(d, bytes);
  return JS_NewUint8ArrayCopy(d->ctx, (const uint8_t *)bytes.data, bytes.size);
}

static JSValue decode_int(decoder *d) {
  uint64_t zigzag;
  if (!cursor_varint(&d->from, &zigzag))
    return malformed(d);
  return JS_NewInt64(d->ctx, (int64_t)(zigzag >> 1) ^ -(int64_t)(zigzag & 1));
}

static JSValue decode_float(decoder *d) {
  if (d->from.end - d->from.next < 8)
    return malformed(d);
  double value;
  memcpy(&value, d->from.next, sizeof value);
  d->from.next += sizeof value;
  return JS_NewFloat64(d->ctx, value);
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
    return decode_float(d);
  case VALUE_BIGINT:
  case VALUE_STRING:
  case VALUE_BYTES:
    return decode_sized(d, tag);
  case VALUE_ERROR: /* its object follows */
    if (d->from.next == d->from.end || *d->from.next++ != VALUE_OBJECT)
      return malformed(d);
    return decode_object(d, depth);
  case VALUE_ARRAY:
    return decode_array(d, depth);
  case VALUE_OBJECT:
    return decode_object(d, depth);
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
  return value;
}
