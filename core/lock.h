/* lock.h: the one lock of what the process shares: pools, the signal handler's table. It is held for a few instructions at a
 * time, and by whoever forks, so that the child finds everything whole. */
#ifndef MB_LOCK_H
#define MB_LOCK_H

void mb_lock(void);
void mb_unlock(void);
/* Once per process, before the lock is first used. Any thread. */
void mb_lock_init(void);

#endif
