/* memory.h: the program's memory limit, and a reserve with which the engine can say that it is reached.
 *
 * At the limit an allocation fails, and the engine needs memory to make an error of that. So the first failure opens the
 * reserve; it is closed again before the next job. */
#ifndef MODEBOX_MEMORY_H
#define MODEBOX_MEMORY_H
#include "guest.h"

/* What the engine holds now is not counted against the program. Once per runtime, when its globals are made. */
void memory_init(JSRuntime *runtime);
void memory_set_limit(JSRuntime *runtime, size_t bytes);
void memory_close_reserve(JSRuntime *runtime);

#endif
