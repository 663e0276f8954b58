#include "program.h"
#include <stdio.h>
#include <string.h>
#include "calls.h"
#include "codec.h"
#include "console.h"
#include "errors.h"
#include "memory.h"
#include "source.h"

/* The promise of the program's value, in up to two steps: a script's promise gives { value }, whose value may be a promise. */
static struct {
  JSValue promise;
  enum { AT_SCRIPT, AT_VALUE } step;
  guest_error_kind compile_error; /* GUEST_ERROR_SYNTAX: it never started */
} program;

/* What the parser found out about a program as models write it. */
static struct {
  bool calls_value; /* the last statement is a function that nobody else mentions: it is left to be called */
  bool has_export, calls_export; /* the script's value is { value, default }; default is left to be called */
  char uncalled[64]; /* the program does nothing but declare this function, and others; empty: it does more */
} shape;

/* Edits of the engine: a flag of JS_Eval2, and whether a value is a function of the program that can be called as it is. */
enum { JS_EVAL_FLAG_PROGRAM = 1 << 8 };
bool JS_IsPlainClosure(JSContext *ctx, JSValueConst value);

static bytes result = { .limit = INT32_MAX };

/* ---- rejections that nobody handles */

/* In the order in which they were rejected; handled ones are emptied. They are mostly handled in that order too (Promise.all and
 * its kin), so the search for one goes on where the last one was found. */
typedef struct rejection {
  JSValue promise, reason;
} rejection;

static rejection *rejections;
static uint32_t rejection_count, rejection_capacity, rejection_hint;

static bool same_promise(JSValueConst a, JSValueConst b) {
  return JS_IsObject(a) && JS_IsObject(b) && JS_VALUE_GET_PTR(a) == JS_VALUE_GET_PTR(b);
}

static void empty_rejection(JSContext *ctx, rejection *r) {
  JS_FreeValue(ctx, r->promise);
  JS_FreeValue(ctx, r->reason);
  *r = (rejection){ JS_UNDEFINED, JS_UNDEFINED };
}

static void forget_rejection(JSContext *ctx, JSValueConst promise) {
  for (uint32_t n = 0; n < rejection_count; n++) {
    if (++rejection_hint >= rejection_count)
      rejection_hint = 0;
    if (same_promise(rejections[rejection_hint].promise, promise)) {
      empty_rejection(ctx, &rejections[rejection_hint]);
      return;
    }
  }
}

static void remember_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason) {
  if (rejection_count == rejection_capacity) {
    uint32_t capacity = rejection_capacity ? rejection_capacity * 2 : 8;
    rejection *grown = js_realloc(ctx, rejections, capacity * sizeof *grown);
    if (!grown) { /* a warning is lost, nothing else */
      JS_FreeValue(ctx, JS_GetException(ctx));
      return;
    }
    rejections = grown;
    rejection_capacity = capacity;
  }
  rejections[rejection_count++] = (rejection){ JS_DupValue(ctx, promise), JS_DupValue(ctx, reason) };
}

static void track_rejection(JSContext *ctx, JSValueConst promise, JSValueConst reason, bool handled, void *opaque) {
  (void)opaque;
  if (handled)
    forget_rejection(ctx, promise);
  else
    remember_rejection(ctx, promise, reason);
}

static void warn_of_rejections(JSContext *ctx) {
  for (uint32_t i = 0; i < rejection_count; i++) {
    rejection *r = &rejections[i];
    if (JS_IsObject(r->promise) && !same_promise(r->promise, program.promise))
      console_warn_of(ctx, "Unhandled promise rejection: ", r->reason);
    empty_rejection(ctx, r);
  }
  rejection_count = 0;
}

void program_init(JSContext *ctx) {
  JS_SetHostPromiseRejectionTracker(JS_GetRuntime(ctx), track_rejection, NULL);
  program.promise = JS_UNDEFINED;
}

/* ---- compiling */

/* Called by the engine (an edit of it) when it has parsed a script with JS_EVAL_FLAG_PROGRAM. */
void guest_program_parsed(bool calls_value, bool has_export, bool calls_export, const char *uncalled) {
  shape.calls_value = calls_value;
  shape.has_export = has_export;
  shape.calls_export = calls_export;
  snprintf(shape.uncalled, sizeof shape.uncalled, "%s", uncalled);
}

static JSValue compile(JSContext *ctx, text source, const char *filename, int flags, int first_line) {
  JSEvalOptions options = {
    .version = JS_EVAL_OPTIONS_VERSION,
    .eval_flags = JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_COMPILE_ONLY | flags,
    .filename = filename,
    .line_num = first_line,
  };
  return JS_Eval2(ctx, source.data, source.size, &options);
}

static int flags_of(guest_mode mode) {
  return mode == GUEST_MODE_AUTO ? JS_EVAL_FLAG_PROGRAM : 0;
}

static JSValue compile_script(JSContext *ctx, text source, const char *filename, guest_mode mode) {
  return compile(ctx, source, filename, JS_EVAL_FLAG_ASYNC | flags_of(mode), 1);
}

/* The body of an async arrow function. Two lines are put before it, -1 and 0 (which the engine does not take as the first), so
 * that positions stay those of the source. */
static JSValue compile_function(JSContext *ctx, text source, const char *filename, guest_mode mode) {
  bytes wrapped = { .limit = INT32_MAX };
  JSValue code = JS_EXCEPTION;
  if (bytes_append_text(ctx, &wrapped, "\n(async () => {\n") && bytes_append(ctx, &wrapped, source.data, source.size) &&
      bytes_append_text(ctx, &wrapped, "\n})()") && bytes_append_byte(ctx, &wrapped, 0))
    code = compile(ctx, (text){ (const char *)wrapped.data, wrapped.size - 1 }, filename, flags_of(mode), -1);
  bytes_free(ctx, &wrapped);
  return code;
}

/* Did the script fail to compile because of a `return` at its top level? */
static bool is_return_outside_function(JSContext *ctx, JSValueConst error) {
  JSValue message = JS_GetPropertyStr(ctx, error, "message");
  const char *utf8 = JS_ToCString(ctx, message);
  bool yes = utf8 && !strcmp(utf8, "return not in a function");
  JS_FreeCString(ctx, utf8);
  JS_FreeValue(ctx, message);
  return yes;
}

/* A syntax error in a source with Markdown in it: says what to give instead. */
static void explain_markdown(JSContext *ctx, JSValueConst error) {
  if (!JS_IsError(error) || errors_kind(error) != GUEST_ERROR_UNCAUGHT)
    return;
  JSValue message = JS_GetPropertyStr(ctx, error, "message");
  bytes longer = { .limit = INT32_MAX };
  if (bytes_append_string(ctx, &longer, message) &&
      bytes_append_text(ctx, &longer, " (there is Markdown in the source: give only the program)"))
    JS_DefinePropertyValueStr(ctx, error, "message", JS_NewStringLen(ctx, (const char *)longer.data, longer.size),
                              JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  bytes_free(ctx, &longer);
  JS_FreeValue(ctx, message);
}

static JSValue compile_auto(JSContext *ctx, text source, const char *filename) {
  JSValue code = compile_script(ctx, source, filename, GUEST_MODE_AUTO);
  if (!JS_IsException(code))
    return code;
  JSValue error = JS_GetException(ctx);
  if (is_return_outside_function(ctx, error)) {
    JS_FreeValue(ctx, error);
    program.step = AT_VALUE;
    code = compile_function(ctx, source, filename, GUEST_MODE_AUTO);
    if (!JS_IsException(code))
      return code;
    error = JS_GetException(ctx);
  }
  if (source_has_fence(source))
    explain_markdown(ctx, error);
  return JS_Throw(ctx, error);
}

/* Sets program.step. Exception: the source does not compile. */
static JSValue compile_program(JSContext *ctx, text source, const char *filename, guest_mode mode) {
  program.step = mode == GUEST_MODE_FUNCTION ? AT_VALUE : AT_SCRIPT;
  switch (mode) {
  case GUEST_MODE_SCRIPT:
    return compile_script(ctx, source, filename, mode);
  case GUEST_MODE_FUNCTION:
    return compile_function(ctx, source, filename, mode);
  default:
    return compile_auto(ctx, source, filename);
  }
}

/* A promise that is settled already, with a value (consumed), or with the pending exception. */
static JSValue settled_promise(JSContext *ctx, JSValue value) {
  bool failed = JS_IsException(value);
  if (failed)
    value = JS_GetException(ctx);
  JSValue settlers[2];
  JSValue promise = JS_NewPromiseCapability(ctx, settlers);
  if (!JS_IsException(promise)) {
    JS_FreeValue(ctx, JS_Call(ctx, settlers[failed], JS_UNDEFINED, 1, (JSValueConst *)&value));
    JS_FreeValue(ctx, settlers[0]);
    JS_FreeValue(ctx, settlers[1]);
  }
  JS_FreeValue(ctx, value);
  return promise;
}

void program_start(JSContext *ctx, text source, text filename, guest_mode mode) {
  char *name = js_strndup(ctx, filename.data, filename.size);
  if (mode == GUEST_MODE_AUTO)
    source_remove_fence((char *)source.data, source.size);
  JSValue code = name ? compile_program(ctx, source, name, mode) : JS_EXCEPTION;
  js_free(ctx, name);
  program.compile_error = JS_IsException(code) ? GUEST_ERROR_SYNTAX : GUEST_ERROR_UNCAUGHT;
  JSValue promise = JS_IsException(code) ? JS_EXCEPTION : JS_EvalFunction(ctx, code);
  program.promise = JS_IsException(promise) ? settled_promise(ctx, promise) : promise;
}

/* ---- ending */

static void publish_result(void) {
  mailbox.result = (guest_address)result.data;
  mailbox.result_size = result.size;
}

static bool encode_error(JSContext *ctx, JSValueConst thrown) {
  size_t limit = (size_t)mailbox.value_limit + GUEST_ERROR_ROOM;
  result.limit = limit < INT32_MAX && limit > GUEST_ERROR_ROOM ? limit : INT32_MAX;
  result.size = 0;
  return errors_encode(ctx, &result, thrown);
}

static guest_status fail(JSContext *ctx, guest_error_kind kind, JSValue thrown) {
  guest_error_kind made = errors_kind(thrown);
  mailbox.error_kind = made == GUEST_ERROR_UNCAUGHT ? kind : made;
  if (!encode_error(ctx, thrown)) {
    JSValue reason = JS_GetException(ctx); /* there is no memory, or the error is too large: say so */
    if (!encode_error(ctx, reason)) {
      JS_FreeValue(ctx, JS_GetException(ctx));
      mailbox.error_kind = GUEST_ERROR_MEMORY;
      result.size = 0;
    }
    JS_FreeValue(ctx, reason);
  }
  JS_FreeValue(ctx, thrown);
  publish_result();
  return GUEST_THREW;
}

static guest_status finish(JSContext *ctx, JSValue value) {
  result.size = 0;
  result.limit = mailbox.value_limit;
  bool ok = codec_encode(ctx, &result, value, "result");
  JS_FreeValue(ctx, value);
  if (!ok)
    return fail(ctx, GUEST_ERROR_UNSERIALIZABLE, JS_GetException(ctx));
  publish_result();
  return GUEST_DONE;
}

static JSValue take_property(JSContext *ctx, JSValue object, const char *name) {
  JSValue value = JS_GetPropertyStr(ctx, object, name);
  JS_FreeValue(ctx, object);
  return value;
}

/* Of { value, default }: the default, but for a function that the program mentions elsewhere and may have called itself. */
static JSValue choose_value(JSContext *ctx, JSValue both) {
  JSValue exported = JS_GetPropertyStr(ctx, both, "default");
  if (JS_IsPlainClosure(ctx, exported) && !shape.calls_export) {
    JS_FreeValue(ctx, exported);
    return take_property(ctx, both, "value");
  }
  JS_FreeValue(ctx, both);
  shape.calls_value = shape.calls_export;
  return exported;
}

/* A function that the program left to be called: what it gives. Any other value as it is. */
static JSValue call_if_left(JSContext *ctx, JSValue value) {
  if (!shape.calls_value || !JS_IsPlainClosure(ctx, value))
    return value;
  JSValue given = JS_Call(ctx, value, JS_UNDEFINED, 0, NULL);
  JS_FreeValue(ctx, value);
  return given;
}

static void warn_of_uncalled(JSContext *ctx) {
  char message[256];
  if (!shape.uncalled[0])
    return;
  snprintf(message, sizeof message, "the program declares %s and calls nothing: end it with %s()", shape.uncalled,
           shape.uncalled);
  console_warn(ctx, message);
}

/* From the script's { value } to the promise of that value. */
static void await_value(JSContext *ctx) {
  JSValue value = take_property(ctx, JS_PromiseResult(ctx, program.promise), "value");
  JS_FreeValue(ctx, program.promise);
  if (shape.has_export)
    value = choose_value(ctx, value);
  program.promise = settled_promise(ctx, call_if_left(ctx, value));
  program.step = AT_VALUE;
  warn_of_uncalled(ctx);
}

/* What a queueMicrotask callback threw: nobody else hears of it. */
static void warn_of_job(JSContext *ctx) {
  JSValue thrown = JS_GetException(ctx);
  console_warn_of(ctx, "Uncaught in a microtask: ", thrown);
  JS_FreeValue(ctx, thrown);
}

static void drain(JSContext *ctx) {
  JSContext *job;
  int ran;
  while ((ran = JS_ExecutePendingJob(JS_GetRuntime(ctx), &job))) {
    if (ran < 0)
      warn_of_job(job);
    memory_close_reserve(JS_GetRuntime(ctx));
  }
}

guest_status program_advance(JSContext *ctx) {
  drain(ctx);
  if (JS_PromiseState(ctx, program.promise) == JS_PROMISE_FULFILLED && program.step == AT_SCRIPT) {
    await_value(ctx);
    drain(ctx);
  }
  warn_of_rejections(ctx);
  switch (JS_PromiseState(ctx, program.promise)) {
  case JS_PROMISE_REJECTED:
    return fail(ctx, program.compile_error, JS_PromiseResult(ctx, program.promise));
  case JS_PROMISE_FULFILLED:
    return calls_pending() ? GUEST_WAITING : finish(ctx, JS_PromiseResult(ctx, program.promise));
  case JS_PROMISE_PENDING:
    return GUEST_WAITING;
  default: /* there was no memory for a promise */
    JS_ThrowOutOfMemory(ctx);
    return fail(ctx, GUEST_ERROR_MEMORY, JS_GetException(ctx));
  }
}
