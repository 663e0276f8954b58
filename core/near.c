#include "near.h"

static _Atomic unsigned threads;
static _Thread_local unsigned number; /* of this thread, from 1; 0: it has none yet */

static _Atomic(void *) *place_of_this_thread(mb_near *near) {
  if (!number)
    number = 1 + atomic_fetch_add(&threads, 1) % MB_NEAR_PLACES;
  return &near->places[number - 1];
}

void *mb_near_take(mb_near *near) {
  return atomic_exchange(place_of_this_thread(near), NULL);
}

bool mb_near_put(mb_near *near, void *what) {
  void *nothing = NULL;
  return atomic_compare_exchange_strong(place_of_this_thread(near), &nothing, what);
}

void *mb_near_take_any(mb_near *near) {
  void *what = NULL;
  for (unsigned i = 0; i < MB_NEAR_PLACES && !what; i++)
    what = atomic_exchange(&near->places[i], NULL);
  return what;
}
