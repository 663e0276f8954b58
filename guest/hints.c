#include "hints.h"
#include <stdio.h>
#include <string.h>
#include "bytes.h"

enum { SHOWN = 12, OFFERED = 2000 }; /* host functions that are listed, and compared with a name */

/* Dotted names, each with its zero, in the order of definition. */
static bytes functions = { .limit = INT32_MAX };
static uint32_t function_count;

bool hint_add_function(JSContext *ctx, const char *name, size_t size) {
  if (!bytes_append(ctx, &functions, name, size) || !bytes_append_byte(ctx, &functions, 0))
    return false;
  function_count++;
  return true;
}

void hint_add(char *text, const char *more) {
  size_t size = strlen(text), added = strlen(more);
  if (size + added < HINT_SIZE)
    memcpy(text + size, more, added + 1);
}

/* The first `size` bytes, and no half character. */
static void add_part(char *text, const char *more, size_t size) {
  char part[128];
  if (size > sizeof part - 1)
    size = sizeof part - 1;
  bool whole = strlen(more) <= size;
  size = whole ? strlen(more) : size;
  while (!whole && size && ((uint8_t)more[size] & 0xC0) == 0x80)
    size--;
  memcpy(part, more, size);
  part[size] = 0;
  hint_add(text, part);
  if (!whole)
    hint_add(text, "…");
}

static void add_instead(char *text) {
  if (!function_count) {
    hint_add(text, "; call a host function instead (none is available)");
    return;
  }
  hint_add(text, "; call a host function instead (available: ");
  const char *name = (const char *)functions.data;
  for (uint32_t i = 0; i < function_count && i < SHOWN; i++, name += strlen(name) + 1) {
    hint_add(text, i ? ", " : "");
    add_part(text, name, 48);
  }
  hint_add(text, function_count > SHOWN ? ", …)" : ")");
}

/* ---- names */

static void offer_function(nearest *n, const char *name) {
  const char *dot = strchr(name, '.');
  char top[NEAREST_SIZE];
  if (!dot) {
    nearest_offer(n, name, name);
    return;
  }
  if ((size_t)(dot - name) < sizeof top) {
    memcpy(top, name, (size_t)(dot - name));
    top[dot - name] = 0;
    nearest_offer(n, top, top);
  }
  nearest_offer(n, strrchr(name, '.') + 1, name);
}

void hint_offer_functions(nearest *n) {
  const char *name = (const char *)functions.data;
  for (uint32_t i = 0; i < function_count && i < OFFERED; i++, name += strlen(name) + 1)
    offer_function(n, name);
}

void hint_meant(char *text, const char *name, const char *problem, const char *path, const nearest *n) {
  *text = 0;
  hint_add(text, name);
  hint_add(text, " ");
  hint_add(text, problem);
  if (!n->best[0])
    return;
  hint_add(text, "; did you mean ");
  hint_add(text, path);
  hint_add(text, *path ? "." : "");
  hint_add(text, n->best);
  hint_add(text, "?");
}

/* ---- what is absent */

static const char NETWORK[] = "this sandbox has no network", STORAGE[] = "this sandbox has no storage",
                  FILES[] = "this sandbox has no files", MODULES[] = "this sandbox has no modules",
                  BROWSER[] = "this is no browser",
                  TIMERS[] = "this sandbox has no timers; await a host function that waits instead",
                  RESULT[] = "there is nothing to export to; let the program end with its value, or return it",
                  THREADS[] = "this sandbox has one thread; use async functions and Promise.all";

/* Globals that programs expect from elsewhere. Only a name that nothing defines is looked up here. */
static const struct {
  const char *name, *reason;
  bool instead; /* a host function may do it */
} absent[] = {
  { "fetch", NETWORK, true },
  { "XMLHttpRequest", NETWORK, true },
  { "WebSocket", NETWORK, true },
  { "EventSource", NETWORK, true },
  { "axios", NETWORK, true },
  { "localStorage", STORAGE, true },
  { "sessionStorage", STORAGE, true },
  { "indexedDB", STORAGE, true },
  { "require", MODULES, true },
  { "module", RESULT, false },
  { "exports", RESULT, false },
  { "__dirname", FILES, true },
  { "__filename", FILES, true },
  { "process", "this sandbox has no process and no environment", true },
  { "Deno", "this is not Deno", true },
  { "Bun", "this is not Bun", true },
  { "Buffer", "use Uint8Array with toHex, toBase64, fromHex and fromBase64", false },
  { "global", "use globalThis", false },
  { "window", BROWSER, true },
  { "self", "use globalThis", false },
  { "document", BROWSER, true },
  { "navigator", BROWSER, true },
  { "location", BROWSER, true },
  { "alert", "use console.log, or end with the value", false },
  { "setTimeout", TIMERS, false },
  { "setInterval", TIMERS, false },
  { "setImmediate", TIMERS, false },
  { "clearTimeout", TIMERS, false },
  { "clearInterval", TIMERS, false },
  { "clearImmediate", TIMERS, false },
  { "requestAnimationFrame", TIMERS, false },
  { "Worker", THREADS, false },
  { "SharedArrayBuffer", THREADS, false },
  { "Atomics", THREADS, false },
  { "WebAssembly", "this sandbox runs JavaScript only", false },
  { "print", "use console.log", false },
  { "None", "use null", false },
  { "True", "use true", false },
  { "False", "use false", false },
};

bool hint_absent(char *text, const char *name) {
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
    if (strcmp(absent[i].name, name) != 0)
      continue;
    *text = 0;
    hint_add(text, name);
    hint_add(text, " is not defined: ");
    hint_add(text, absent[i].reason);
    if (absent[i].instead)
      add_instead(text);
    return true;
  }
  return false;
}

void hint_import(char *text, const char *module) {
  *text = 0;
  hint_add(text, "import of '");
  add_part(text, module, 100);
  hint_add(text, "' is not possible here: ");
  hint_add(text, MODULES);
  add_instead(text);
}
