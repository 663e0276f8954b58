#include "bigint.h"
#include <string.h>

static struct {
  JSValue constructor, to_string, as_int_n, as_uint_n;
} intrinsics;

static JSValue method_of(JSContext *ctx, JSValueConst object, const char *holder, const char *name) {
  JSValue from = holder ? JS_GetPropertyStr(ctx, object, holder) : JS_DupValue(ctx, object);
  JSValue method = JS_GetPropertyStr(ctx, from, name);
  JS_FreeValue(ctx, from);
  return method;
}

void bigint_init(JSContext *ctx) {
  JSValue global = JS_GetGlobalObject(ctx);
  intrinsics.constructor = JS_GetPropertyStr(ctx, global, "BigInt");
  intrinsics.to_string = method_of(ctx, intrinsics.constructor, "prototype", "toString");
  intrinsics.as_int_n = method_of(ctx, intrinsics.constructor, NULL, "asIntN");
  intrinsics.as_uint_n = method_of(ctx, intrinsics.constructor, NULL, "asUintN");
  JS_FreeValue(ctx, global);
}

static JSValue to_hex(JSContext *ctx, JSValueConst bigint) {
  JSValueConst radix = JS_NewInt32(ctx, 16);
  return JS_Call(ctx, intrinsics.to_string, bigint, 1, &radix);
}

static unsigned hex_digit(char c) {
  return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static bool encode_hex(JSContext *ctx, bytes *out, const char *hex, size_t digits, size_t size) {
  if (!bytes_append_byte(ctx, out, VALUE_BIGINT) || !bytes_append_varint(ctx, out, size))
    return false;
  uint8_t *to = bytes_reserve(ctx, out, size);
  if (!to)
    return false;
  for (size_t i = 0; i < size; i++) {
    unsigned low = 2 * i < digits ? hex_digit(hex[digits - 1 - 2 * i]) : 0;
    unsigned high = 2 * i + 1 < digits ? hex_digit(hex[digits - 2 - 2 * i]) : 0;
    to[i] = (uint8_t)(high << 4 | low);
  }
  out->size += size;
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

bool bigint_encode(JSContext *ctx, bytes *out, JSValueConst value) {
  JSValue text = to_hex(ctx, value), wrapped = JS_UNDEFINED;
  size_t digits;
  const char *hex = JS_IsException(text) ? NULL : JS_ToCStringLen(ctx, &digits, text);
  bool ok = false;
  if (hex && hex[0] != '-') {
    size_t bits = bit_length(hex, digits);
    ok = encode_hex(ctx, out, hex, digits, bits ? bits / 8 + 1 : 0);
  } else if (hex) { /* -2^(n-1) is the one value that fits in n bits though its magnitude has n */
    size_t bits = bit_length(hex + 1, digits - 1);
    size_t size = (is_power_of_two(hex + 1, digits - 1) ? bits - 1 : bits) / 8 + 1;
    JSValueConst arguments[] = { JS_NewInt64(ctx, (int64_t)size * 8), value };
    wrapped = JS_Call(ctx, intrinsics.as_uint_n, JS_UNDEFINED, 2, arguments);
    JSValue unsigned_text = JS_IsException(wrapped) ? JS_EXCEPTION : to_hex(ctx, wrapped);
    JS_FreeCString(ctx, hex);
    hex = JS_IsException(unsigned_text) ? NULL : JS_ToCStringLen(ctx, &digits, unsigned_text);
    ok = hex && encode_hex(ctx, out, hex, digits, size);
    JS_FreeValue(ctx, unsigned_text);
  }
  JS_FreeCString(ctx, hex);
  JS_FreeValue(ctx, wrapped);
  JS_FreeValue(ctx, text);
  return ok;
}

/* Two's complement, little-endian -> BigInt.asIntN(bits, BigInt("0x...")). */
JSValue bigint_decode(JSContext *ctx, text digits) {
  static const char hex[] = "0123456789abcdef";
  char *literal = js_malloc(ctx, 3 + digits.size * 2), *p = literal;
  if (!literal)
    return JS_EXCEPTION;
  *p++ = '0', *p++ = 'x', *p = '0';
  for (size_t i = digits.size; i--;) {
    *p++ = hex[(uint8_t)digits.data[i] >> 4];
    *p++ = hex[(uint8_t)digits.data[i] & 15];
  }
  JSValue string = JS_NewStringLen(ctx, literal, digits.size ? (size_t)(p - literal) : 3);
  js_free(ctx, literal);
  if (JS_IsException(string))
    return string;
  JSValue magnitude = JS_Call(ctx, intrinsics.constructor, JS_UNDEFINED, 1, (JSValueConst *)&string);
  JS_FreeValue(ctx, string);
  if (JS_IsException(magnitude))
    return magnitude;
  JSValueConst arguments[] = { JS_NewInt64(ctx, (int64_t)digits.size * 8), magnitude };
  JSValue value = JS_Call(ctx, intrinsics.as_int_n, JS_UNDEFINED, 2, arguments);
  JS_FreeValue(ctx, magnitude);
  return value;
}
