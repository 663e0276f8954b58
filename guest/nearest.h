/* nearest.h: which of many names was meant. */
#ifndef MODEBOX_NEAREST_H
#define MODEBOX_NEAREST_H
#include <stddef.h>
#include <stdint.h>

enum { NEAREST_SIZE = 60, NEAREST_BEST_SIZE = 128 };

/* A name without what is often written otherwise: capitals and underscores. */
typedef struct folded {
  uint8_t size, characters[NEAREST_SIZE];
} folded;

typedef struct nearest {
  folded wanted;
  int limit;                    /* a name at this distance is taken; -1: none is */
  char best[NEAREST_BEST_SIZE]; /* empty: none yet */
} nearest;

/* Looks for `wanted`. Names of NEAREST_SIZE bytes and more are like no other. */
void nearest_init(nearest *n, const char *wanted);
/* Offers a name, which is shown as `shown` (shorter than NEAREST_BEST_SIZE, or it is ignored). Of names as near as each other the
 * first is taken. What is no identifier is ignored. */
void nearest_offer(nearest *n, const char *name, const char *shown);

#endif
