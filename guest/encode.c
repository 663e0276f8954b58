/* encode.c: JavaScript values to value bytes. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "bigint.h"
#include "clone.h"
#include "codec.h"
#include "errors.h"
#include "inspect.h"
#include "shared.h"

static const int64_t INT_LIMIT = ((int64_t)1 << 53) - 1;

/* Where the encoder is: containers from the innermost outwards. */
typedef struct place {
  const struct place *outer;
  JSValueConst container;
  enum { AT_INDEX, AT_KEY, AT_MAP_KEY, AT_MAP_VALUE, AT_MEMBER } step;
  JSAtom key;     /* AT_KEY */
  uint32_t index; /* else */
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
  JSValueConst whole; /* the value itself: it can come again only inside itself */
  shared shared;
  size_t extra; /* by which the value is larger where every reference is written out */
} encoder;

static bool encode(encoder *e, JSValueConst value, const place *at);
static bool encode_object(encoder *e, JSValueConst object, place at);

static bool append_quoted(encoder *e, bytes *path, const char *key) {
  bool ok = bytes_append_text(e->ctx, path, "[\"");
  for (; ok && *key; key++)
    ok = (*key != '"' && *key != '\\' ? true : bytes_append_byte(e->ctx, path, '\\')) &&
         bytes_append_byte(e->ctx, path, (uint8_t)*key);
  return ok && bytes_append_text(e->ctx, path, "\"]");
}

static bool append_step(encoder *e, bytes *path, const place *at) {
  static const char *const formats[] = {
    [AT_INDEX] = "[%u]",
    [AT_MAP_KEY] = ".entries()[%u][0]",
    [AT_MAP_VALUE] = ".entries()[%u][1]",
    [AT_MEMBER] = ".values()[%u]",
  };
  if (at->step != AT_KEY) {
    char index[32];
    snprintf(index, sizeof index, formats[at->step], at->index);
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
  JSAtom atom = JS_GetClassName(JS_GetRuntime(e->ctx), JS_GetClassID(object));
  const char *name = JS_AtomToCString(e->ctx, atom);
  refuse_class(e, at, name ? name : "host object");
  JS_FreeCString(e->ctx, name);
  JS_FreeAtom(e->ctx, atom);
  return false;
}

static bool encode_eight(encoder *e, value_tag tag, double value) {
  uint64_t bits = UINT64_C(0x7ff8000000000000);
  if (value == value)
    memcpy(&bits, &value, sizeof bits);
  uint8_t out[9] = { (uint8_t)tag };
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
  return whole ? encode_int(e, (int64_t)value) : encode_eight(e, VALUE_FLOAT, value);
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

static bool encode_head(encoder *e, value_tag tag, uint64_t count) {
  if (count > e->out->limit) /* each member takes a byte at least */
    return bytes_reserve(e->ctx, e->out, SIZE_MAX);
  return bytes_append_byte(e->ctx, e->out, (uint8_t)tag) && bytes_append_varint(e->ctx, e->out, count);
}

static bool encode_array(encoder *e, JSValueConst array, place at) {
  int64_t length;
  if (JS_GetLength(e->ctx, array, &length))
    return false;
  bool ok = encode_head(e, VALUE_ARRAY, (uint64_t)length);
  for (at.index = 0; ok && at.index < length; at.index++) {
    JSValue member = JS_GetOwnElement(e->ctx, array, at.index);
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
  at.step = AT_KEY;
  bool ok = encode_head(e, VALUE_OBJECT, count);
  for (uint32_t i = 0; ok && i < count; i++) {
    at.key = names[i].atom;
    JSValue member = JS_GetProperty(e->ctx, object, at.key);
    ok = !JS_IsException(member) && encode_key(e, at.key) && encode(e, member, &at);
    JS_FreeValue(e->ctx, member);
  }
  JS_FreePropertyEnum(e->ctx, names, count);
  return ok;
}

/* Of a Map or Set as it is now: getters of its members may change it. */
static bool encode_records(encoder *e, JSValueConst object, place at, bool is_set) {
  int count;
  JSValue *records = JS_GetRecords(e->ctx, object, &count);
  bool ok = count >= 0 && encode_head(e, is_set ? VALUE_SET : VALUE_MAP, (uint64_t)count);
  for (int i = 0; ok && i < count; i++) {
    at.index = (uint32_t)i;
    at.step = is_set ? AT_MEMBER : AT_MAP_KEY;
    ok = encode(e, records[2 * i], &at);
    at.step = AT_MAP_VALUE;
    ok = ok && (is_set || encode(e, records[2 * i + 1], &at));
  }
  if (records)
    JS_FreeRecords(e->ctx, records, count);
  return ok;
}

static bool encode_error(encoder *e, JSValueConst error, place at) {
  JSValue fields = errors_fields(e->ctx, error);
  bool ok = !JS_IsException(fields) && bytes_append_byte(e->ctx, e->out, VALUE_ERROR) && encode_object(e, fields, at);
  JS_FreeValue(e->ctx, fields);
  return ok;
}

static bool encode_members(encoder *e, JSValueConst object, const place *outer, JSCloneClass class) {
  place at = { .outer = outer, .container = object, .depth = outer ? outer->depth + 1 : 1 };
  if (at.depth > GUEST_VALUE_DEPTH)
    return refuse(e, outer, "is nested more than 256 deep");
  switch (class) {
  case JS_CLONE_OBJECT:
    return encode_object(e, object, at);
  case JS_CLONE_ERROR:
    return encode_error(e, object, at);
  case JS_CLONE_MAP:
  case JS_CLONE_SET:
    return encode_records(e, object, at, class == JS_CLONE_SET);
  default:
    return encode_array(e, object, at);
  }
}

/* The limit holds for the value with every reference written out. */
static bool check_size(encoder *e) {
  return e->extra <= e->out->limit - e->out->size || bytes_reserve(e->ctx, e->out, SIZE_MAX);
}

static bool refuse_circle(encoder *e, const place *at) {
  return refuse(e, at, "is circular, which cannot cross the sandbox boundary");
}

static bool encode_reference(encoder *e, const shared_container *found, const place *at) {
  if (found->is_open)
    return refuse_circle(e, at);
  size_t before = e->out->size;
  if (!bytes_append_byte(e->ctx, e->out, VALUE_REFERENCE) || !bytes_append_varint(e->ctx, e->out, found->number))
    return false;
  e->extra += found->size - (e->out->size - before);
  return check_size(e);
}

/* What only the encoder and one other hold cannot come again. */
static bool may_come_again(JSValueConst object, const place *at) {
  bool is_argument = at && JS_IsNull(at->container);
  return JS_GetRefCount(object) > (is_argument ? 1 : 2);
}

static bool is_whole(const encoder *e, JSValueConst object) {
  return JS_IsObject(e->whole) && JS_VALUE_GET_PTR(e->whole) == JS_VALUE_GET_PTR(object);
}

static bool encode_container(encoder *e, JSValueConst object, const place *at, JSCloneClass class) {
  if (at && is_whole(e, object))
    return refuse_circle(e, at);
  if (!at || !may_come_again(object, at))
    return encode_members(e, object, at, class);
  const shared_container *found = shared_find(&e->shared, object);
  if (found)
    return encode_reference(e, found, at);
  uint32_t number = shared_add(e->ctx, &e->shared, object);
  if (number == SHARED_NONE || !bytes_append_byte(e->ctx, e->out, VALUE_SHARED))
    return false;
  size_t start = e->out->size + e->extra;
  if (!encode_members(e, object, at, class))
    return false;
  shared_close(&e->shared, number, e->out->size + e->extra - start);
  return true;
}

/* ---- other objects */

/* false: the view is refused. */
static bool view_bytes(encoder *e, JSValueConst view, const place *at, text *out) {
  const uint8_t *data;
  if (!JS_GetViewBytes(view, &data, &out->size))
    return refuse(e, at, "is detached from its buffer, or reaches beyond it");
  out->data = (const char *)data;
  return true;
}

static bool encode_view(encoder *e, JSValueConst view, const place *at) {
  text bytes;
  return view_bytes(e, view, at, &bytes) && encode_sized(e, VALUE_BYTES, bytes.data, bytes.size);
}

static bool encode_numbers(encoder *e, JSValueConst array, const place *at) {
  static const uint8_t kinds[] = {
    [JS_TYPED_ARRAY_INT8] = VALUE_INT8,         [JS_TYPED_ARRAY_INT16] = VALUE_INT16,
    [JS_TYPED_ARRAY_UINT16] = VALUE_UINT16,     [JS_TYPED_ARRAY_INT32] = VALUE_INT32,
    [JS_TYPED_ARRAY_UINT32] = VALUE_UINT32,     [JS_TYPED_ARRAY_BIG_INT64] = VALUE_INT64,
    [JS_TYPED_ARRAY_BIG_UINT64] = VALUE_UINT64, [JS_TYPED_ARRAY_FLOAT16] = VALUE_FLOAT16,
    [JS_TYPED_ARRAY_FLOAT32] = VALUE_FLOAT32,   [JS_TYPED_ARRAY_FLOAT64] = VALUE_FLOAT64,
  };
  text bytes;
  return view_bytes(e, array, at, &bytes) && bytes_append_byte(e->ctx, e->out, VALUE_NUMBERS) &&
         encode_sized(e, (value_tag)kinds[JS_GetTypedArrayType(array)], bytes.data, bytes.size);
}

static bool encode_date(encoder *e, JSValueConst date) {
  double ms = NAN;
  JSValue value = JS_GetBoxedValue(date);
  if (JS_ToFloat64(e->ctx, &ms, value))
    return false;
  return encode_eight(e, VALUE_DATE, ms);
}

static bool encode_regexp(encoder *e, JSValueConst regexp) {
  char flags[9];
  JS_GetRegExpFlags(regexp, flags);
  JSValue source = JS_GetRegExpSource(regexp);
  bool ok = bytes_append_byte(e->ctx, e->out, VALUE_REGEXP) && bytes_append_varint(e->ctx, e->out, strlen(flags)) &&
            bytes_append_text(e->ctx, e->out, flags) && encode_string(e, source);
  JS_FreeValue(e->ctx, source);
  return ok;
}

static bool encode_boxed(encoder *e, JSValueConst object, const place *at) {
  JSValue value = JS_GetBoxedValue(object);
  bool ok = encode(e, value, at);
  JS_FreeValue(e->ctx, value);
  return ok;
}

static bool encode_instance(encoder *e, JSValueConst object, const place *at) {
  JSCloneClass class = JS_GetCloneClass(e->ctx, object);
  switch (class) {
  case JS_CLONE_OBJECT:
  case JS_CLONE_ARRAY:
  case JS_CLONE_ERROR:
  case JS_CLONE_MAP:
  case JS_CLONE_SET:
    return encode_container(e, object, at, class);
  case JS_CLONE_BOXED:
    return encode_boxed(e, object, at);
  case JS_CLONE_DATE:
    return encode_date(e, object);
  case JS_CLONE_REGEXP:
    return encode_regexp(e, object);
  case JS_CLONE_BYTES:
    return encode_view(e, object, at);
  case JS_CLONE_NUMBERS:
    return encode_numbers(e, object, at);
  case JS_CLONE_FUNCTION:
    return refuse(e, at, "is a function, which cannot cross the sandbox boundary");
  case JS_CLONE_PROMISE:
    return refuse(e, at, "is a promise, which cannot cross the sandbox boundary; is an await missing?");
  case JS_CLONE_ITERATOR:
    return refuse(e, at, "is an iterator, which cannot cross the sandbox boundary; spread it: [...x]");
  case JS_CLONE_ASYNC_ITERATOR:
    return refuse(e, at, "is an async iterator, which cannot cross the sandbox boundary; collect it: for await (...)");
  case JS_CLONE_PROXY:
    return refuse_class(e, at, "Proxy");
  case JS_CLONE_OTHER:
    return refuse_object(e, at, object);
  }
  return false;
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
    return bigint_encode(e->ctx, e->out, value);
  case JS_TAG_SYMBOL:
    return refuse(e, at, "is a symbol, which cannot cross the sandbox boundary");
  default:
    return encode_instance(e, value, at);
  }
}

/* ---- whole values */

static void encoder_init(encoder *e, JSContext *ctx, bytes *out, const char *root) {
  out->name = root;
  *e = (encoder){ .ctx = ctx, .out = out, .root = root, .whole = JS_UNDEFINED };
  e->slots = e->few;
  e->slot_count = sizeof e->few / sizeof *e->few;
}

static void encoder_free(encoder *e) {
  for (uint32_t i = 0; e->key_count && i < e->slot_count; i++)
    JS_FreeAtom(e->ctx, e->slots[i].atom);
  if (e->slots != e->few)
    js_free(e->ctx, e->slots);
  shared_free(e->ctx, &e->shared);
}

bool codec_encode(JSContext *ctx, bytes *out, JSValueConst value, const char *root) {
  encoder e;
  encoder_init(&e, ctx, out, root);
  e.whole = value;
  bool ok = encode(&e, value, NULL);
  encoder_free(&e);
  return ok;
}

bool codec_encode_error(JSContext *ctx, bytes *out, JSValueConst fields) {
  encoder e;
  encoder_init(&e, ctx, out, "error");
  place at = { .container = fields, .depth = 1 };
  bool ok = bytes_append_byte(ctx, out, VALUE_ERROR) && encode_object(&e, fields, at);
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
