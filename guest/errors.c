#include "errors.h"
#include <string.h>
#include "codec.h"
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

void errors_set_call(JSContext *ctx, JSValueConst error, uint32_t ticket, JSValue stack) {
  JS_SetErrorOrigin(error, ticket + FIRST_TICKET);
  if (JS_IsException(stack) ||
      JS_DefinePropertyValueStr(ctx, error, "stack", stack, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE) < 0)
    JS_FreeValue(ctx, JS_GetException(ctx)); /* it goes without */
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

/* Takes the value. */
static bool set_field(JSContext *ctx, JSValueConst fields, const char *name, JSValue value) {
  return !JS_IsException(value) && JS_DefinePropertyValueStr(ctx, fields, name, value, JS_PROP_C_W_E) >= 0;
}

/* The program's frames of the error's stack, and where the innermost one is. */
static JSValue program_stack(JSContext *ctx, JSValueConst error, frame *first) {
  JSValue stack = string_property(ctx, error, "stack");
  bytes frames = { .limit = 64 * 1024 };
  size_t size = 0;
  *first = (frame){ 0 };
  const char *utf8 = JS_IsString(stack) ? JS_ToCStringLen(ctx, &size, stack) : NULL;
  if (utf8)
    filter_stack(ctx, &frames, (text){ utf8, size }, first);
  JS_FreeCString(ctx, utf8);
  JS_FreeValue(ctx, stack);
  JSValue filtered = JS_NewStringLen(ctx, (const char *)frames.data, frames.size);
  bytes_free(ctx, &frames);
  return filtered;
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

/* What every error has; message is consumed. */
static bool set_plain_fields(JSContext *ctx, JSValueConst fields, JSValueConst error, JSValue message, frame *first) {
  JSValue name = string_property(ctx, error, "name"), code = string_property(ctx, error, "code");
  if (JS_IsUndefined(name))
    name = JS_NewString(ctx, "Error");
  bool ok = set_field(ctx, fields, "name", name);
  ok = set_field(ctx, fields, "message", message) && ok;
  ok = ok && set_field(ctx, fields, "stack", program_stack(ctx, error, first));
  if (ok && JS_IsString(code))
    return set_field(ctx, fields, "code", code);
  JS_FreeValue(ctx, code);
  return ok;
}

static const char *const OWN_FIELDS[] = { "cause", "errors" };
static const char *const PLAIN_FIELDS[] = { "name", "message", "stack", "code", "cause", "errors" };

/* The value of an own property, getters swallowed; JS_UNINITIALIZED: there is none. */
static JSValue own_property(JSContext *ctx, JSValueConst object, JSAtom name) {
  int found = JS_GetOwnProperty(ctx, NULL, object, name);
  JSValue value = found > 0 ? JS_GetProperty(ctx, object, name) : JS_UNINITIALIZED;
  if (found < 0 || JS_IsException(value)) {
    JS_FreeValue(ctx, JS_GetException(ctx));
    return JS_UNINITIALIZED;
  }
  return value;
}

static JSValue own_field(JSContext *ctx, JSValueConst object, const char *name) {
  JSAtom atom = JS_NewAtom(ctx, name);
  JSValue value = atom == JS_ATOM_NULL ? JS_UNINITIALIZED : own_property(ctx, object, atom);
  JS_FreeAtom(ctx, atom);
  return value;
}

static bool set_own_fields(JSContext *ctx, JSValueConst fields, JSValueConst error) {
  bool ok = true;
  for (unsigned i = 0; ok && i < sizeof OWN_FIELDS / sizeof *OWN_FIELDS; i++) {
    JSValue value = own_field(ctx, error, OWN_FIELDS[i]);
    ok = JS_IsUninitialized(value) || set_field(ctx, fields, OWN_FIELDS[i], value);
  }
  return ok;
}

static bool is_plain_field(JSContext *ctx, JSAtom name) {
  const char *text = JS_AtomToCString(ctx, name);
  bool found = !text;
  for (unsigned i = 0; !found && i < sizeof PLAIN_FIELDS / sizeof *PLAIN_FIELDS; i++)
    found = !strcmp(text, PLAIN_FIELDS[i]);
  JS_FreeCString(ctx, text);
  return found;
}

/* "properties": what else the program put on its error. */
static bool set_properties(JSContext *ctx, JSValueConst fields, JSValueConst error) {
  JSPropertyEnum *names;
  uint32_t count, set = 0;
  if (JS_GetOwnPropertyNames(ctx, &names, &count, error, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
    return false;
  JSValue properties = JS_NewObjectProto(ctx, JS_NULL);
  bool ok = !JS_IsException(properties);
  for (uint32_t i = 0; ok && i < count; i++) {
    if (is_plain_field(ctx, names[i].atom))
      continue;
    JSValue value = own_property(ctx, error, names[i].atom);
    if (JS_IsUninitialized(value))
      continue;
    set++;
    ok = JS_DefinePropertyValue(ctx, properties, names[i].atom, value, JS_PROP_C_W_E) >= 0;
  }
  JS_FreePropertyEnum(ctx, names, count);
  if (ok && set)
    return set_field(ctx, fields, "properties", properties);
  JS_FreeValue(ctx, properties);
  return ok;
}

JSValue errors_fields(JSContext *ctx, JSValueConst error) {
  JSValue fields = JS_NewObjectProto(ctx, JS_NULL), message = string_property(ctx, error, "message");
  if (JS_IsUndefined(message))
    message = JS_NewString(ctx, "");
  frame first;
  bool ok = !JS_IsException(fields) && set_plain_fields(ctx, fields, error, message, &first);
  if (ok && set_own_fields(ctx, fields, error) && set_properties(ctx, fields, error))
    return fields;
  JS_FreeValue(ctx, fields);
  return JS_EXCEPTION;
}

/* ---- what was thrown */

static bool set_place(JSContext *ctx, JSValueConst fields, frame at, uint32_t ticket) {
  return (!at.line || (set_field(ctx, fields, "line", JS_NewInt64(ctx, at.line)) &&
                       set_field(ctx, fields, "column", JS_NewInt64(ctx, at.column)))) &&
         (!ticket || set_field(ctx, fields, "call", JS_NewInt64(ctx, ticket)));
}

/* With `details`, all that errors_fields gives of an Error. */
static JSValue thrown_fields(JSContext *ctx, JSValueConst thrown, bool details) {
  JSValue fields = JS_NewObjectProto(ctx, JS_NULL), message = JS_UNDEFINED;
  if (JS_IsObject(thrown))
    message = string_property(ctx, thrown, "message");
  if (JS_IsUndefined(message))
    message = thrown_text(ctx, thrown);
  frame first = { 0 };
  bool ok = !JS_IsException(fields) && set_plain_fields(ctx, fields, thrown, message, &first) &&
            set_place(ctx, fields, first, host_ticket(thrown));
  if (ok && details && JS_IsError(thrown))
    ok = set_own_fields(ctx, fields, thrown) && set_properties(ctx, fields, thrown);
  if (ok)
    return fields;
  JS_FreeValue(ctx, fields);
  return JS_EXCEPTION;
}

static bool encode_thrown(JSContext *ctx, bytes *out, JSValueConst thrown, bool details) {
  JSValue fields = thrown_fields(ctx, thrown, details);
  size_t start = out->size;
  bool ok = !JS_IsException(fields) && codec_encode_error(ctx, out, fields);
  JS_FreeValue(ctx, fields);
  if (ok)
    return true;
  JS_FreeValue(ctx, JS_GetException(ctx));
  out->size = start;
  return false;
}

/* A cause may hold what cannot cross, or be too large: then the error goes without. */
bool errors_encode(JSContext *ctx, bytes *out, JSValueConst thrown) {
  return encode_thrown(ctx, out, thrown, true) || encode_thrown(ctx, out, thrown, false);
}

/* ---- from the host */

typedef JSValue new_error(JSContext *ctx, const char *format, ...);

/* An Error of the class that has this name; else a plain one. */
static JSValue new_error_named(JSContext *ctx, JSValueConst name) {
  static const struct {
    const char *name;
    new_error *make;
  } classes[] = {
    { "TypeError", JS_NewTypeError },         { "RangeError", JS_NewRangeError },
    { "SyntaxError", JS_NewSyntaxError },     { "ReferenceError", JS_NewReferenceError },
    { "InternalError", JS_NewInternalError },
  };
  const char *text = JS_IsString(name) ? JS_ToCString(ctx, name) : NULL;
  new_error *make = JS_NewPlainError;
  for (unsigned i = 0; text && i < sizeof classes / sizeof *classes; i++)
    if (!strcmp(text, classes[i].name))
      make = classes[i].make;
  JS_FreeCString(ctx, text);
  return make(ctx, "%s", "");
}

/* Defines what `from` has of its own under the name; enumerable only as a property that the program put there. */
static bool copy_property(JSContext *ctx, JSValueConst error, JSValueConst from, JSAtom name, int enumerable) {
  JSValue value = own_property(ctx, from, name);
  return JS_IsUninitialized(value) ||
         JS_DefinePropertyValue(ctx, error, name, value, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE | enumerable) >= 0;
}

static bool copy_fields(JSContext *ctx, JSValueConst error, JSValueConst fields) {
  bool ok = true;
  for (unsigned i = 0; ok && i < sizeof PLAIN_FIELDS / sizeof *PLAIN_FIELDS; i++) {
    JSAtom name = JS_NewAtom(ctx, PLAIN_FIELDS[i]);
    ok = name != JS_ATOM_NULL && copy_property(ctx, error, fields, name, 0);
    JS_FreeAtom(ctx, name);
  }
  return ok;
}

static bool copy_properties(JSContext *ctx, JSValueConst error, JSValueConst properties) {
  JSPropertyEnum *names;
  uint32_t count;
  if (!JS_IsObject(properties))
    return true;
  if (JS_GetOwnPropertyNames(ctx, &names, &count, properties, JS_GPN_STRING_MASK | JS_GPN_ENUM_ONLY))
    return false;
  bool ok = true;
  for (uint32_t i = 0; ok && i < count; i++)
    ok = copy_property(ctx, error, properties, names[i].atom, JS_PROP_ENUMERABLE);
  JS_FreePropertyEnum(ctx, names, count);
  return ok;
}

JSValue errors_from_fields(JSContext *ctx, JSValue fields) {
  JSValue name = own_field(ctx, fields, "name"), properties = own_field(ctx, fields, "properties");
  JSValue error = new_error_named(ctx, name);
  bool ok = !JS_IsException(error) && copy_fields(ctx, error, fields) && copy_properties(ctx, error, properties);
  JS_FreeValue(ctx, properties);
  JS_FreeValue(ctx, name);
  JS_FreeValue(ctx, fields);
  if (ok)
    return error;
  JS_FreeValue(ctx, error);
  return JS_EXCEPTION;
}

/* ---- as text */

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
