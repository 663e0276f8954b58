/* near.h: a place for each of a few threads, where it finds again what it put there last: that is still in the caches of
 * its processor, and no lock is needed for it. */
#ifndef MB_NEAR_H
#define MB_NEAR_H
#include <stdatomic.h>
#include "modebox.h"

enum { MB_NEAR_PLACES = 8 };

/* All zero: empty. */
typedef struct mb_near {
  _Atomic(void *) places[MB_NEAR_PLACES];
} mb_near;

/* What is in this thread's place; NULL: nothing. */
void *mb_near_take(mb_near *near);
/* false: the place is taken. */
MB_CHECKED bool mb_near_put(mb_near *near, void *what);
/* What is in any place; NULL: nothing in any. */
void *mb_near_take_any(mb_near *near);

#endif
