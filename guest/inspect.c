#include "inspect.h"
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 4, MAX_MEMBERS = 100, MAX_NESTED_STRING = 10000 };

/* The containers around a value, innermost first. */
typedef struct ancestor {
  const struct ancestor *outer;
  JSValueConst object;
  unsigned depth;
} ancestor;

static bool inspect(JSContext *ctx, bytes *out, JSValueConst value, const ancestor *outer);

static bool put(JSContext *ctx, bytes *out, const char *text) {
  return bytes_append_text(ctx, out, text);
}

static bool put_class_name(JSContext *ctx, bytes *out, JSValueConst object) {
  JSAtom atom = JS_GetClassName(JS_GetRuntime(ctx), JS_GetClassID(object));
  const char *name = JS_AtomToCString(ctx, atom);
  bool ok = name && put(ctx, out, name);
  JS_FreeCString(ctx, name);
  JS_FreeAtom(ctx, atom);
  return ok;
}

static bool put_quoted(JSContext *ctx, bytes *out, JSValueConst string) {
  size_t size;
  const char *utf8 = JS_ToCStringLen(ctx, &size, string);
  if (!utf8)
    return false;
  size_t shown = size < MAX_NESTED_STRING ? size : MAX_NESTED_STRING;
  while (shown < size && ((uint8_t)utf8[shown] & 0xc0) == 0x80) /* not inside a character */
    shown++;
  char quote = !memchr(utf8, '\'', shown) ? '\'' : !memchr(utf8, '"', shown) ? '"' : '\'';
  bool ok = bytes_append_byte(ctx, out, (uint8_t)quote);
  for (size_t i = 0; ok && i < shown; i++) {
    char c = utf8[i];
    if (c == '\n')
      ok = put(ctx, out, "\\n");
    else if (c == quote || c == '\\')
      ok = bytes_append_byte(ctx, out, '\\') && bytes_append_byte(ctx, out, (uint8_t)c);
    else
      ok = bytes_append_byte(ctx, out, (uint8_t)c);
  }
  ok = ok && bytes_append_byte(ctx, out, (uint8_t)quote) && (shown == size || put(ctx, out, "..."));
  JS_FreeCString(ctx, utf8);
  return ok;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c & 0x80;
}

bool inspect_is_identifier(const char *name) {
  if (!is_letter(*name))
    return false;
  while (is_letter(*name) || (*name >= '0' && *name <= '9'))
    name++;
  return !*name;
}

static bool put_key(JSContext *ctx, bytes *out, JSAtom atom) {
  const char *name = JS_AtomToCString(ctx, atom);
  if (!name)
    return false;
  bool ok;
  if (inspect_is_identifier(name)) {
    ok = put(ctx, out, name);
  } else {
    JSValue string = JS_AtomToString(ctx, atom);
    ok = put_quoted(ctx, out, string);
    JS_FreeValue(ctx, string);
  }
  JS_FreeCString(ctx, name);
  return ok && put(ctx, out, ": ");
}

/* The property itself: getters are named, not run. */
static bool put_property(JSContext *ctx, bytes *out, JSValueConst object, JSAtom atom, const ancestor *self) {
  JSPropertyDescriptor property;
  int found = JS_GetOwnProperty(ctx, &property, object, atom);
  if (found <= 0)
    return !found && put(ctx, out, "undefined");
  bool ok;
  if (property.flags & JS_PROP_GETSET)
    ok = put(ctx, out,
             JS_IsUndefined(property.setter)   ? "[Getter]"
             : JS_IsUndefined(property.getter) ? "[Setter]"
                                               : "[Getter/Setter]");
  else
    ok = inspect(ctx, out, property.value, self);
  JS_FreeValue(ctx, property.value);
  JS_FreeValue(ctx, property.getter);
  JS_FreeValue(ctx, property.setter);
  return ok;
}

static bool put_more(JSContext *ctx, bytes *out, int64_t more) {
  char text[48];
  snprintf(text, sizeof text, ", ... %lld more item%s", (long long)more, more == 1 ? "" : "s");
  return more <= 0 || put(ctx, out, text);
}

static bool put_array(JSContext *ctx, bytes *out, JSValueConst array, const ancestor *self) {
  int64_t length;
  if (JS_GetLength(ctx, array, &length))
    return false;
  if (!length)
    return put(ctx, out, "[]");
  bool ok = put(ctx, out, "[ ");
  for (uint32_t i = 0; ok && i < length && i < MAX_MEMBERS; i++) {
    JSAtom atom = JS_NewAtomUInt32(ctx, i);
    ok = (!i || put(ctx, out, ", ")) && put_property(ctx, out, array, atom, self);
    JS_FreeAtom(ctx, atom);
  }
  return ok && put_more(ctx, out, length - MAX_MEMBERS) && put(ctx, out, " ]");
}

static bool put_object(JSContext *ctx, bytes *out, JSValueConst object, const ancestor *self) {
  JSPropertyEnum *names;
  uint32_t count;
  if (JS_GetOwnPropertyNames(ctx, &names, &count, object, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
    return false;
  bool ok = put(ctx, out, count ? "{ " : "{}");
  for (uint32_t i = 0; ok && i < count && i < MAX_MEMBERS; i++)
    ok = (!i || put(ctx, out, ", ")) && put_key(ctx, out, names[i].atom) &&
         put_property(ctx, out, object, names[i].atom, self);
  ok = ok && put_more(ctx, out, (int64_t)count - MAX_MEMBERS) && (!count || put(ctx, out, " }"));
  JS_FreePropertyEnum(ctx, names, count);
  return ok;
}

/* The name of a function, from its own data property. */
static bool put_function(JSContext *ctx, bytes *out, JSValueConst function) {
  JSPropertyDescriptor name;
  JSAtom atom = JS_NewAtom(ctx, "name");
  int found = JS_GetOwnProperty(ctx, &name, function, atom);
  JS_FreeAtom(ctx, atom);
  if (found < 0)
    return false;
  size_t size = 0;
  const char *utf8 = found && JS_IsString(name.value) ? JS_ToCStringLen(ctx, &size, name.value) : NULL;
  bool ok = size ? put(ctx, out, "[Function: ") && bytes_append(ctx, out, utf8, size) && put(ctx, out, "]")
                 : put(ctx, out, "[Function (anonymous)]");
  JS_FreeCString(ctx, utf8);
  if (found) {
    JS_FreeValue(ctx, name.value);
    JS_FreeValue(ctx, name.getter);
    JS_FreeValue(ctx, name.setter);
  }
  return ok;
}

static bool put_error(JSContext *ctx, bytes *out, JSValueConst error) {
  static const char *const names[] = { "name", "message" };
  bool ok = put(ctx, out, "[");
  for (unsigned i = 0; ok && i < 2; i++) {
    JSValue text = JS_GetPropertyStr(ctx, error, names[i]);
    if (JS_IsException(text))
      return false;
    if (JS_IsString(text))
      ok = (!i || put(ctx, out, ": ")) && bytes_append_string(ctx, out, text);
    JS_FreeValue(ctx, text);
  }
  return ok && put(ctx, out, "]");
}

static bool put_container(JSContext *ctx, bytes *out, JSValueConst object, const ancestor *outer) {
  for (const ancestor *a = outer; a; a = a->outer)
    if (JS_VALUE_GET_PTR(a->object) == JS_VALUE_GET_PTR(object))
      return put(ctx, out, "[Circular]");
  ancestor self = { .outer = outer, .object = object, .depth = outer ? outer->depth + 1 : 0 };
  bool array = JS_IsArray(object);
  if (self.depth > MAX_DEPTH)
    return put(ctx, out, array ? "[Array]" : "[Object]");
  return array ? put_array(ctx, out, object, &self) : put_object(ctx, out, object, &self);
}

static bool inspect_object(JSContext *ctx, bytes *out, JSValueConst object, const ancestor *outer) {
  static JSClassID plain;
  if (!plain) {
    JSValue object_of_plain_class = JS_NewObject(ctx);
    plain = JS_GetClassID(object_of_plain_class);
    JS_FreeValue(ctx, object_of_plain_class);
  }
  if (JS_IsArray(object) || JS_GetClassID(object) == plain)
    return put_container(ctx, out, object, outer);
  if (JS_IsFunction(ctx, object))
    return put_function(ctx, out, object);
  if (JS_IsError(object))
    return put_error(ctx, out, object);
  return put(ctx, out, "[") && put_class_name(ctx, out, object) && put(ctx, out, "]");
}

static bool is_negative_zero(JSValueConst value) {
  return JS_VALUE_GET_NORM_TAG(value) == JS_TAG_FLOAT64 && JS_VALUE_GET_FLOAT64(value) == 0 &&
         __builtin_signbit(JS_VALUE_GET_FLOAT64(value));
}

static bool put_symbol(JSContext *ctx, bytes *out, JSValueConst symbol) {
  JSAtom atom = JS_ValueToAtom(ctx, symbol);
  const char *name = JS_AtomToCString(ctx, atom);
  bool ok = name && put(ctx, out, "Symbol(") && put(ctx, out, name) && put(ctx, out, ")");
  JS_FreeCString(ctx, name);
  JS_FreeAtom(ctx, atom);
  return ok;
}

static bool inspect(JSContext *ctx, bytes *out, JSValueConst value, const ancestor *outer) {
  if (JS_IsObject(value))
    return inspect_object(ctx, out, value, outer);
  if (JS_IsString(value))
    return put_quoted(ctx, out, value);
  if (JS_IsSymbol(value))
    return put_symbol(ctx, out, value);
  if (is_negative_zero(value))
    return put(ctx, out, "-0");
  return bytes_append_string(ctx, out, value) && (!JS_IsBigInt(value) || put(ctx, out, "n"));
}

bool inspect_argument(JSContext *ctx, bytes *out, JSValueConst value) {
  return JS_IsString(value) ? bytes_append_string(ctx, out, value) : inspect(ctx, out, value, NULL);
}
