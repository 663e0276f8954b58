/* shared.h: the containers of a value that may come again in it, by identity. */
#ifndef MODEBOX_SHARED_H
#define MODEBOX_SHARED_H
#include <stdbool.h>
#include <stdint.h>
#include "guest.h"

enum { SHARED_NONE = UINT32_MAX };

typedef struct shared_container {
  JSValue object; /* held: another one would have its address */
  size_t size;    /* in bytes, with every reference in it written out; once it is closed */
  uint32_t number;
  bool is_open; /* its members are being written */
} shared_container;

/* All zero: empty. The first few are looked for one by one, and cost no allocation. */
typedef struct shared {
  shared_container few[8];
  shared_container *containers; /* by number, once they are more */
  uint32_t *slots;              /* open addressing: number + 1; 0: free; size a power of two */
  uint32_t count, capacity;
} shared;

/* NULL: it is not there. Valid until the next shared_add. */
const shared_container *shared_find(const shared *s, JSValueConst object);
/* Gives the number, and opens it. SHARED_NONE: an exception is pending. */
uint32_t shared_add(JSContext *ctx, shared *s, JSValueConst object);
void shared_close(shared *s, uint32_t number, size_t size);
void shared_free(JSContext *ctx, shared *s);

#endif
