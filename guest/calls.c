#include "calls.h"
#include <string.h>
#include "codec.h"
#include "errors.h"
#include "hints.h"
#include "outbox.h"
#include "site.h"

/* Calls by ticket: tickets count up from 1; calls[0] has ticket `first`, and all before it are settled. */
typedef struct call {
  JSValue resolve, reject; /* undefined once settled */
  JSSite site;             /* where the program made it */
} call;

static call *calls;
static uint32_t first = 1, count, capacity, pending;

/* Namespace objects, to be frozen when they are full. */
static JSValue *namespaces;
static uint32_t namespace_count;

uint32_t calls_pending(void) {
  return pending;
}

static bool make_room(JSContext *ctx) {
  uint32_t settled = 0;
  if (count < capacity)
    return true;
  while (settled < count && JS_IsUndefined(calls[settled].resolve))
    settled++;
  memmove(calls, calls + settled, (count - settled) * sizeof *calls);
  first += settled;
  count -= settled;
  if (count < capacity)
    return true;
  uint32_t larger = capacity ? capacity * 2 : 16;
  call *grown = js_realloc(ctx, calls, larger * sizeof *calls);
  if (!grown)
    return false;
  calls = grown;
  capacity = larger;
  return true;
}

/* A promise that is rejected with the pending exception: functions that give a promise never throw. */
static JSValue rejected(JSContext *ctx, JSValue promise, call *c) {
  JSValue reason = JS_GetException(ctx);
  JSValue result = JS_Call(ctx, c->reject, JS_UNDEFINED, 1, (JSValueConst *)&reason);
  JS_FreeValue(ctx, reason);
  JS_FreeValue(ctx, c->resolve);
  JS_FreeValue(ctx, c->reject);
  if (!JS_IsException(result)) {
    JS_FreeValue(ctx, result);
    return promise;
  }
  JS_FreeValue(ctx, promise);
  return JS_EXCEPTION;
}

static JSValue js_host_function(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int index) {
  (void)self;
  JSValue settlers[2];
  JSValue promise = JS_NewPromiseCapability(ctx, settlers);
  if (JS_IsException(promise))
    return promise;
  call c = { .resolve = settlers[0], .reject = settlers[1] };
  bytes arguments = { .limit = mailbox.value_limit };
  bool ok = make_room(ctx) && codec_encode_arguments(ctx, &arguments, argc, argv) &&
            make_room(ctx) && /* a getter may have made calls too */
            outbox_add(ctx, GUEST_RECORD_CALL, first + count, (uint32_t)index, &arguments);
  bytes_free(ctx, &arguments);
  if (!ok)
    return rejected(ctx, promise, &c);
  c.site = JS_GetSite(ctx);
  calls[count++] = c;
  pending++;
  return promise;
}

void calls_settle(JSContext *ctx, uint32_t ticket, guest_outcome outcome, const uint8_t *input, size_t size) {
  if (ticket < first || ticket - first >= count || JS_IsUndefined(calls[ticket - first].resolve))
    return;
  call c = calls[ticket - first];
  calls[ticket - first] = (call){ .resolve = JS_UNDEFINED, .reject = JS_UNDEFINED };
  pending--;
  JSValue value = codec_decode(ctx, input, size);
  if (outcome == GUEST_RAISED && !JS_IsException(value))
    errors_set_call(ctx, value, ticket, JS_GetSiteStack(ctx, &c.site));
  bool failed = JS_IsException(value);
  if (failed)
    value = JS_GetException(ctx);
  JSValue result =
      JS_Call(ctx, failed || outcome == GUEST_RAISED ? c.reject : c.resolve, JS_UNDEFINED, 1, (JSValueConst *)&value);
  if (JS_IsException(result))
    JS_FreeValue(ctx, JS_GetException(ctx));
  JS_FreeValue(ctx, result);
  JS_FreeValue(ctx, value);
  JS_FreeValue(ctx, c.resolve);
  JS_FreeValue(ctx, c.reject);
  JS_FreeValue(ctx, c.site.function);
}

/* ---- namespaces */

static JSValue new_namespace(JSContext *ctx) {
  JSValue *grown = js_realloc(ctx, namespaces, (namespace_count + 1) * sizeof *grown);
  if (!grown)
    return JS_EXCEPTION;
  namespaces = grown;
  JSValue object = JS_NewObject(ctx);
  if (!JS_IsException(object))
    namespaces[namespace_count++] = JS_DupValue(ctx, object);
  return object;
}

bool calls_is_namespace(JSValueConst value) {
  for (uint32_t i = 0; i < namespace_count; i++)
    if (JS_IsObject(value) && JS_VALUE_GET_PTR(namespaces[i]) == JS_VALUE_GET_PTR(value))
      return true;
  return false;
}

/* On the global object a binding stays configurable: `const weather = await weather()` is a program that models write. */
static bool define(JSContext *ctx, JSValueConst holder, JSAtom name, JSValue value) {
  return !JS_IsException(value) &&
         JS_DefinePropertyValue(ctx, holder, name, value, JS_PROP_ENUMERABLE | JS_PROP_CONFIGURABLE) >= 0;
}

/* The namespace `name` in `holder` (consumed), made if it is not there. A built-in of that name is replaced. */
static JSValue enter(JSContext *ctx, JSValue holder, JSAtom name) {
  JSValue inner = JS_GetProperty(ctx, holder, name);
  if (!JS_IsException(inner) && !calls_is_namespace(inner)) {
    JS_FreeValue(ctx, inner);
    inner = new_namespace(ctx);
    if (!JS_IsException(inner) && !define(ctx, holder, name, JS_DupValue(ctx, inner))) {
      JS_FreeValue(ctx, inner);
      inner = JS_EXCEPTION;
    }
  }
  JS_FreeValue(ctx, holder);
  return inner;
}

static JSValue new_function(JSContext *ctx, text name, uint32_t index) {
  char terminated[256];
  size_t size = name.size < sizeof terminated - 1 ? name.size : sizeof terminated - 1;
  memcpy(terminated, name.data, size);
  terminated[size] = 0;
  JSValue function = JS_NewCFunctionMagic(ctx, js_host_function, terminated, 0, JS_CFUNC_generic_magic, (int)index);
  if (!JS_IsException(function) && JS_FreezeObject(ctx, function) < 0) {
    JS_FreeValue(ctx, function);
    return JS_EXCEPTION;
  }
  return function;
}

bool calls_define(JSContext *ctx, text name, uint32_t index) {
  const char *dot;
  if (!hint_add_function(ctx, name.data, name.size))
    return false;
  JSValue holder = JS_GetGlobalObject(ctx);
  while (!JS_IsException(holder) && (dot = memchr(name.data, '.', name.size))) {
    size_t size = (size_t)(dot - name.data);
    JSAtom part = JS_NewAtomLen(ctx, name.data, size);
    holder = enter(ctx, holder, part);
    JS_FreeAtom(ctx, part);
    name = (text){ dot + 1, name.size - size - 1 };
  }
  if (JS_IsException(holder))
    return false;
  JSAtom last = JS_NewAtomLen(ctx, name.data, name.size);
  bool ok = define(ctx, holder, last, new_function(ctx, name, index));
  JS_FreeAtom(ctx, last);
  JS_FreeValue(ctx, holder);
  return ok;
}

bool calls_freeze(JSContext *ctx) {
  for (uint32_t i = 0; i < namespace_count; i++)
    if (JS_FreezeObject(ctx, namespaces[i]) < 0)
      return false;
  return true;
}
