#include "gil.h"
#include <stdatomic.h>
#include "run.h"

static const int64_t WATCHED_NS = 15 * 1000;

/* Did a thread take the GIL here, and not release it here since? A guess: it may have released it elsewhere. */
static atomic_bool is_held;

PyThreadState *ext_gil_release(void) {
  PyThreadState *thread = PyEval_SaveThread();
  atomic_store_explicit(&is_held, false, memory_order_relaxed);
  return thread;
}

void ext_gil_take(PyThreadState *thread) {
  if (atomic_load_explicit(&is_held, memory_order_relaxed)) {
    int64_t end = ext_monotonic_ns() + WATCHED_NS;
    while (atomic_load_explicit(&is_held, memory_order_relaxed) && ext_monotonic_ns() < end)
      ;
  }
  PyEval_RestoreThread(thread);
  atomic_store_explicit(&is_held, true, memory_order_relaxed);
}
