/* Runs programs in bare quickjs-ng: no sandbox, no limits, no Python. The floor that the bench compares with.
 *
 *   native_runner SOURCE    evaluates SOURCE and prints its value
 *   native_runner           for each "LENGTH\n" and LENGTH bytes of source on stdin, prints "NANOSECONDS VALUE\n";
 *                           the time covers a runtime and a context of its own, from creation to release
 *
 * A program may await; it may call f(x), a host function whose promise the host resolves with x when the program waits.
 * A program that throws ends the process with status 1. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "quickjs.h"

#define MAX_WAITING 4096

typedef struct {
  JSValue resolve;
  JSValue value;
} host_call;

typedef struct {
  host_call calls[MAX_WAITING];
  size_t count;
} host;

static host the_host;

static void fail(JSContext *context) {
  JSValue error = JS_GetException(context);
  const char *text = JS_ToCString(context, error);
  fprintf(stderr, "%s\n", text ? text : "exception");
  exit(1);
}

static JSValue host_f(JSContext *context, JSValueConst this_value, int count, JSValueConst *arguments) {
  JSValue functions[2];
  JSValue promise = JS_NewPromiseCapability(context, functions);
  (void)this_value;
  if (count < 1 || the_host.count == MAX_WAITING || JS_IsException(promise))
    return JS_ThrowTypeError(context, "f");
  the_host.calls[the_host.count].resolve = functions[0];
  the_host.calls[the_host.count].value = JS_DupValue(context, arguments[0]);
  the_host.count++;
  JS_FreeValue(context, functions[1]);
  return promise;
}

static void host_settle(JSContext *context) {
  size_t count = the_host.count;
  the_host.count = 0;
  for (size_t i = 0; i < count; i++) {
    host_call call = the_host.calls[i];
    JSValue result = JS_Call(context, call.resolve, JS_UNDEFINED, 1, &call.value);
    if (JS_IsException(result))
      fail(context);
    JS_FreeValue(context, result);
    JS_FreeValue(context, call.resolve);
    JS_FreeValue(context, call.value);
  }
}

static void run_jobs(JSContext *context) {
  JSContext *failed;
  int status;
  do {
    while ((status = JS_ExecutePendingJob(JS_GetRuntime(context), &failed)) > 0)
      continue;
    if (status < 0)
      fail(failed);
    if (the_host.count == 0)
      return;
    host_settle(context);
  } while (1);
}

static JSValue completion_value(JSContext *context, JSValue promise) {
  if (JS_IsException(promise))
    fail(context);
  run_jobs(context);
  if (JS_PromiseState(context, promise) == JS_PROMISE_REJECTED) {
    JS_Throw(context, JS_PromiseResult(context, promise));
    fail(context);
  }
  JSValue result = JS_PromiseResult(context, promise);
  JSValue value = JS_GetPropertyStr(context, result, "value");
  JS_FreeValue(context, result);
  JS_FreeValue(context, promise);
  return value;
}

static char *evaluate(const char *source, size_t length) {
  JSRuntime *runtime = JS_NewRuntime();
  JSContext *context = JS_NewContext(runtime);
  JSValue global = JS_GetGlobalObject(context);
  JS_SetPropertyStr(context, global, "f", JS_NewCFunction(context, host_f, "f", 1));
  JS_FreeValue(context, global);
  JSValue promise = JS_Eval(context, source, length, "program.js", JS_EVAL_TYPE_GLOBAL | JS_EVAL_FLAG_ASYNC);
  JSValue value = completion_value(context, promise);
  const char *text = JS_ToCString(context, value);
  if (text == NULL)
    fail(context);
  char *copy = strdup(text);
  JS_FreeCString(context, text);
  JS_FreeValue(context, value);
  JS_FreeContext(context);
  JS_FreeRuntime(runtime);
  return copy;
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void serve(void) {
  size_t length;
  while (scanf("%zu%*1[\n]", &length) == 1) {
    char *source = malloc(length + 1);
    if (fread(source, 1, length, stdin) != length)
      exit(1);
    source[length] = 0;
    int64_t start = now();
    char *value = evaluate(source, length);
    printf("%lld %s\n", (long long)(now() - start), value);
    fflush(stdout);
    free(value);
    free(source);
  }
}

int main(int count, char **arguments) {
  if (count == 2) {
    size_t length = strlen(arguments[1]);
    puts(evaluate(arguments[1], length));
  } else {
    serve();
  }
  return 0;
}
