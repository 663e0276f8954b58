/* gil.h: the GIL around the core's work on a run.
 *
 * A thread that has to wait for the GIL sleeps, and is woken tens of microseconds after it is free: more than a short run
 * takes. So a thread that comes back from the core watches for a moment whether the thread that has the GIL is about to
 * go into the core itself, as it is where several threads run short programs. */
#ifndef MODEBOX_EXT_GIL_H
#define MODEBOX_EXT_GIL_H
#include "ext.h"

PyThreadState *ext_gil_release(void);
void ext_gil_take(PyThreadState *thread);

#endif
