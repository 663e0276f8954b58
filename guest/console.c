#include "console.h"
#include "errors.h"
#include "inspect.h"
#include "outbox.h"

static JSValue js_console_log(JSContext *ctx, JSValueConst self, int argc, JSValueConst *argv, int level) {
  (void)self;
  bytes line = { .limit = INT32_MAX };
  bool ok = true;
  for (int i = 0; ok && i < argc; i++)
    ok = (!i || bytes_append_byte(ctx, &line, ' ')) && inspect_argument(ctx, &line, argv[i]);
  ok = ok && outbox_add(ctx, GUEST_RECORD_LOG, (uint32_t)level, 0, &line);
  bytes_free(ctx, &line);
  return ok ? JS_UNDEFINED : JS_EXCEPTION;
}

/* A warning that there is no memory for is lost, nothing else. */
static void add_warning(JSContext *ctx, bytes *line, bool ok) {
  if (!ok || !outbox_add(ctx, GUEST_RECORD_LOG, GUEST_LOG_WARN, 0, line))
    JS_FreeValue(ctx, JS_GetException(ctx));
  bytes_free(ctx, line);
}

void console_warn(JSContext *ctx, const char *message) {
  bytes line = { .limit = 64 * 1024 };
  add_warning(ctx, &line, bytes_append_text(ctx, &line, message));
}

void console_warn_of(JSContext *ctx, const char *prefix, JSValueConst thrown) {
  bytes line = { .limit = 64 * 1024 };
  add_warning(ctx, &line, bytes_append_text(ctx, &line, prefix) && errors_describe(ctx, &line, thrown));
}

void console_install(JSContext *ctx) {
  static const struct {
    const char *name;
    guest_log_level level;
  } methods[] = {
    { "log", GUEST_LOG_LOG },   { "debug", GUEST_LOG_DEBUG }, { "info", GUEST_LOG_INFO },
    { "warn", GUEST_LOG_WARN }, { "error", GUEST_LOG_ERROR },
  };
  JSValue global = JS_GetGlobalObject(ctx), console = JS_NewObject(ctx);
  for (unsigned i = 0; i < sizeof methods / sizeof *methods; i++)
    JS_DefinePropertyValueStr(
        ctx, console, methods[i].name,
        JS_NewCFunctionMagic(ctx, js_console_log, methods[i].name, 0, JS_CFUNC_generic_magic, (int)methods[i].level),
        JS_PROP_C_W_E);
  JS_DefinePropertyValueStr(ctx, global, "console", console, JS_PROP_WRITABLE | JS_PROP_CONFIGURABLE);
  JS_FreeValue(ctx, global);
}
