#include "memory.h"

enum { RESERVE = 256 * 1024 };

static size_t base, limit;
static bool is_open;

void memory_init(JSRuntime *runtime) {
  JSMemoryUsage usage;
  JS_ComputeMemoryUsage(runtime, &usage);
  base = (size_t)usage.malloc_size;
}

void memory_set_limit(JSRuntime *runtime, size_t bytes) {
  limit = base + bytes;
  JS_SetMemoryLimit(runtime, limit);
}

/* Called by the engine (an edit of it) when an allocation has failed, before it makes the error. */
void guest_memory_low(JSRuntime *runtime) {
  if (is_open || !limit)
    return;
  is_open = true;
  JS_SetMemoryLimit(runtime, limit + RESERVE);
}

static int compiling; /* compilations that are under way, one in the other */

/* Called by the engine (edits of it), as the next one is. */
void guest_compiling(int change) {
  compiling += change;
}

void *guest_allocation_failed(void) {
  if (!compiling)
    return NULL;
  mailbox.error_kind = GUEST_ERROR_MEMORY; /* the host takes the trap for what it is */
  __builtin_trap();
}

void memory_close_reserve(JSRuntime *runtime) {
  if (!is_open)
    return;
  is_open = false;
  JS_SetMemoryLimit(runtime, limit);
}
