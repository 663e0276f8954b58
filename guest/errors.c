#include "errors.h"
#include <string.h>
#include "inspect.h"

static text program_filename;

/* An edit of the engine: a number in each Error that programs neither see nor copy, 0 in those that they make. Ours: */
uint32_t JS_GetErrorOrigin(JSValueConst error);
void JS_SetErrorOrigin(JSValueConst error, uint32_t origin);

enum {
  FIRST_TICKET = 16, /* below: a guest_error_kind; from here on: a host call's ticket, and this */
};

/* Thrown where there is no memory left to make an error. */
static JSValue out_of_memory;

void errors_init(JSContext *ctx) {
  out_of_memory = JS_NewInternalError(ctx, "out of memory");
  JS_SetErrorOrigin(out_of_memory, GUEST_ERROR_MEMORY);
}

/* Called by the engine (an edit of it) right after it threw, or tried to. */
void guest_error_made(JSContext *ctx, int kind) {
  JSValue error = JS_GetException(ctx);
  if (kind == GUEST_ERROR_MEMORY && !JS_IsError(error) && JS_IsError(out_of_memory)) {
    JS_FreeValue(ctx, error);
    error = JS_DupValue(ctx, out_of_memory);
  }
  JS_SetErrorOrigin(error, (uint32_t)kind);
  JS_Throw(ctx, error);
}

bool errors_set_filename(JSContext *ctx, text filename) {
  program_filename = (text){ js_strndup(ctx, filename.data, filename.size), filename.size };
  return program_filename.data;
}

guest_error_kind errors_kind(JSValueConst thrown) {
  uint32_t origin = JS_GetErrorOrigin(thrown);
  return origin < FIRST_TICKET ? (guest_error_kind)origin : GUEST_ERROR_UNCAUGHT;
}

static uint32_t host_ticket(JSValueConst thrown) {
  uint32_t origin = JS_GetErrorOrigin(thrown);
  return origin >= FIRST_TICKET ? origin - FIRST_TICKET : 0;
}

JSValue errors_from_host(JSContext *ctx, JSValue fields, uint32_t ticket) {
  static const char *const names[] = { "name", "message", "code" };
  JSValue error = JS_NewError(ctx);
  JS_SetErrorOrigin(error, ticket + FIRST_TICKET);
  for (unsigned i = 0; !JS_IsException(error) && i < sizeof names / sizeof *names; i++) {
    JSValue field = JS_GetPropertyStr(ctx, fields, names[i]);
    if (!JS_IsUndefined(field))
      JS_DefinePropertyValueStr(ctx, error, names[i], field, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  }
  JS_FreeValue(ctx, fields);
  return error;
}

/* ---- stacks */

/* "    at name (file:line:column)" */
typedef struct frame {
  text name, place;
  uint32_t line, column;
} frame;

static bool starts_with(text t, text prefix) {
  return t.size >= prefix.size && !memcmp(t.data, prefix.data, prefix.size);
}

static bool take_number(text *t, uint32_t *out) {
  size_t i = 0;
  uint32_t n = 0;
  for (; i < t->size && i < 9 && t->data[i] >= '0' && t->data[i] <= '9'; i++)
    n = n * 10 + (uint32_t)(t->data[i] - '0');
  t->data += i;
  t->size -= i;
  *out = n;
  return i > 0;
}

/* A frame of the program, from one line of a stack; false: any other line. */
static bool parse_frame(text line, frame *out) {
  static const text prefix = { "    at ", 7 };
  if (!starts_with(line, prefix))
    return false;
  line.data += prefix.size;
  line.size -= prefix.size;
  *out = (frame){ .place = line };
  if (line.size && line.data[line.size - 1] == ')') {
    const char *open = NULL;
    for (size_t i = 0; i + 1 < line.size; i++)
      if (line.data[i] == ' ' && line.data[i + 1] == '(')
        open = line.data + i;
    if (!open)
      return false;
    out->name = (text){ line.data, (size_t)(open - line.data) };
    out->place = (text){ open + 2, (size_t)(line.data + line.size - 1 - (open + 2)) };
  }
  if (!starts_with(out->place, program_filename))
    return false;
  text rest = { out->place.data + program_filename.size, out->place.size - program_filename.size };
  if (!rest.size || *rest.data++ != ':')
    return false;
  rest.size--;
  if (!take_number(&rest, &out->line) || !rest.size || *rest.data++ != ':')
    return false;
  rest.size--;
  return take_number(&rest, &out->column) && !rest.size && out->line;
}

/* The program's frames of `stack`; *first is the innermost one, with line 0 where there is none. */
static bool filter_stack(JSContext *ctx, bytes *out, text stack, frame *first) {
  static const text top_level = { "<eval>", 6 };
  bool ok = true;
  *first = (frame){ 0 };
  while (stack.size && ok) {
    const char *newline = memchr(stack.data, '\n', stack.size);
    text line = { stack.data, newline ? (size_t)(newline - stack.data) : stack.size };
    size_t taken = newline ? line.size + 1 : line.size;
    stack = (text){ stack.data + taken, stack.size - taken };
    frame f;
    if (!parse_frame(line, &f))
      continue;
    if (!first->line)
      *first = f;
    bool named = f.name.size && !(f.name.size == top_level.size && starts_with(f.name, top_level));
    ok = (!out->size || bytes_append_text(ctx, out, "\n")) && bytes_append_text(ctx, out, "    at ");
    if (ok && named)
      ok = bytes_append(ctx, out, f.name.data, f.name.size) && bytes_append_text(ctx, out, " (");
    ok = ok && bytes_append(ctx, out, f.place.data, f.place.size) && (!named || bytes_append_text(ctx, out, ")"));
  }
  return ok;
}

/* ---- error values */

/* A property as a string; undefined where reading it throws, or it is no string. */
static JSValue string_property(JSContext *ctx, JSValueConst object, const char *name) {
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  if (JS_IsException(value))
    JS_FreeValue(ctx, JS_GetException(ctx));
  else if (JS_IsString(value))
    return value;
  else
    JS_FreeValue(ctx, value);
  return JS_UNDEFINED;
}

static bool encode_key(JSContext *ctx, bytes *out, const char *key) {
  return bytes_append_varint(ctx, out, (uint64_t)strlen(key) << 1) && bytes_append_text(ctx, out, key);
}

static bool encode_text(JSContext *ctx, bytes *out, const char *key, text value) {
  return encode_key(ctx, out, key) && bytes_append_byte(ctx, out, VALUE_STRING) &&
         bytes_append_varint(ctx, out, value.size) && bytes_append(ctx, out, value.data, value.size);
}

static bool encode_string(JSContext *ctx, bytes *out, const char *key, JSValueConst string) {
  size_t size;
  const char *utf8 = JS_ToCStringLen(ctx, &size, string);
  bool ok = utf8 && encode_text(ctx, out, key, (text){ utf8, size });
  JS_FreeCString(ctx, utf8);
  return ok;
}

static bool encode_number(JSContext *ctx, bytes *out, const char *key, uint32_t value) {
  return encode_key(ctx, out, key) && bytes_append_byte(ctx, out, VALUE_INT) &&
         bytes_append_varint(ctx, out, (uint64_t)value << 1);
}

static bool encode_fields(JSContext *ctx, bytes *out, JSValueConst name, JSValueConst message, JSValueConst code,
                          text stack, frame at, uint32_t ticket) {
  bool has_code = JS_IsString(code), has_name = JS_IsString(name);
  uint8_t head[] = { VALUE_ERROR, VALUE_OBJECT, (uint8_t)(3 + has_code + (at.line ? 2 : 0) + (ticket ? 1 : 0)) };
  return bytes_append(ctx, out, head, sizeof head) &&
         (has_name ? encode_string(ctx, out, "name", name) : encode_text(ctx, out, "name", (text){ "Error", 5 })) &&
         encode_string(ctx, out, "message", message) && encode_text(ctx, out, "stack", stack) &&
         (!has_code || encode_string(ctx, out, "code", code)) &&
         (!at.line || (encode_number(ctx, out, "line", at.line) && encode_number(ctx, out, "column", at.column))) &&
         (!ticket || encode_number(ctx, out, "call", ticket));
}

/* What was thrown and has no message of its own, as text. */
static JSValue thrown_text(JSContext *ctx, JSValueConst thrown) {
  bytes buffer = { .limit = 64 * 1024 };
  JSValue string = JS_UNDEFINED;
  if (inspect_argument(ctx, &buffer, thrown))
    string = JS_NewStringLen(ctx, (const char *)buffer.data, buffer.size);
  bytes_free(ctx, &buffer);
  if (JS_IsUndefined(string) || JS_IsException(string)) {
    JS_FreeValue(ctx, JS_GetException(ctx));
    string = JS_NewString(ctx, "a value that cannot be shown");
  }
  return string;
}

bool errors_encode(JSContext *ctx, bytes *out, JSValueConst thrown) {
  JSValue name = JS_UNDEFINED, message = JS_UNDEFINED, code = JS_UNDEFINED, stack = JS_UNDEFINED;
  if (JS_IsObject(thrown)) {
    name = string_property(ctx, thrown, "name");
    message = string_property(ctx, thrown, "message");
    code = string_property(ctx, thrown, "code");
    stack = string_property(ctx, thrown, "stack");
  }
  if (JS_IsUndefined(message))
    message = thrown_text(ctx, thrown);
  bytes frames = { .limit = 64 * 1024 };
  frame first = { 0 };
  size_t size = 0;
  const char *utf8 = JS_IsString(stack) ? JS_ToCStringLen(ctx, &size, stack) : NULL;
  if (utf8)
    filter_stack(ctx, &frames, (text){ utf8, size }, &first);
  bool ok = encode_fields(ctx, out, name, message, code, (text){ (const char *)frames.data, frames.size }, first,
                          host_ticket(thrown));
  JS_FreeCString(ctx, utf8);
  bytes_free(ctx, &frames);
  JS_FreeValue(ctx, stack);
  JS_FreeValue(ctx, code);
  JS_FreeValue(ctx, message);
  JS_FreeValue(ctx, name);
  return ok;
}

bool errors_describe(JSContext *ctx, bytes *out, JSValueConst thrown) {
  if (!JS_IsError(thrown))
    return inspect_argument(ctx, out, thrown);
  JSValue name = string_property(ctx, thrown, "name"), message = string_property(ctx, thrown, "message");
  bool ok = JS_IsString(name) ? bytes_append_string(ctx, out, name) : bytes_append_text(ctx, out, "Error");
  if (ok && JS_IsString(message))
    ok = bytes_append_text(ctx, out, ": ") && bytes_append_string(ctx, out, message);
  JS_FreeValue(ctx, message);
  JS_FreeValue(ctx, name);
  return ok;
}
