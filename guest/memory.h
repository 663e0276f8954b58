/* memory.h: the program's memory limit, and a reserve with which the engine can say that it is reached.
 *
 * At the limit an allocation fails, and the engine needs memory to make an error of that. So the first failure opens the
 * reserve; it is closed again before the next job.
 *
 * The engine's compiler does not survive a failed allocation: half-made bytecode would run. So there the run ends, for
 * the host with MB_LIMIT_MEMORY, and nothing in the program can catch that. */
#ifndef MODEBOX_MEMORY_H
#define MODEBOX_MEMORY_H
#include "guest.h"

/* What the engine holds now is not counted against the program. Once per runtime, when its globals are made. */
void memory_init(JSRuntime *runtime);
void memory_set_limit(JSRuntime *runtime, size_t bytes);
void memory_close_reserve(JSRuntime *runtime);

#endif
