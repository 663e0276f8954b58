#include "lock.h"
#include <pthread.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void mb_lock(void) {
  pthread_mutex_lock(&lock);
}

void mb_unlock(void) {
  pthread_mutex_unlock(&lock);
}

static bool forks_are_watched;

static void watch_forks(void) {
  forks_are_watched = !pthread_atfork(mb_lock, mb_unlock, mb_unlock);
}

bool mb_lock_init(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  return forks_are_watched;
}
