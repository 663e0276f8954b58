/* lock.h: the one lock of what the process shares: pools, the signal handler's table. It is held for a few instructions at a
 * time, and by whoever forks, so that the child finds everything whole. */
#ifndef MB_LOCK_H
#define MB_LOCK_H
#include <stdbool.h>

void mb_lock(void);
void mb_unlock(void);
/* Before the lock is first used; again does nothing. Any thread. false: no memory, forks would not be safe. */
bool mb_lock_init(void);

#endif
