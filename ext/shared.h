/* shared.h: containers that come again in a value. Which ones do is known at its end only, so that the bytes depend on nothing
 * but the value: then VALUE_SHARED and VALUE_REFERENCE are put in. */
#ifndef MODEBOX_EXT_SHARED_H
#define MODEBOX_EXT_SHARED_H
#include "ext.h"

typedef struct ext_container {
  PyObject *object; /* owned: another one would have its address */
  size_t start;     /* where its bytes begin */
  size_t size;      /* with every reference in it written out; once it is closed */
  bool is_open, comes_again;
} ext_container;

typedef struct ext_reference {
  size_t at, container; /* it belongs before the byte at `at` */
} ext_reference;

/* All zero: empty. */
typedef struct ext_shared {
  ext_container *containers; /* in the order of their bytes */
  size_t *slots;             /* open addressing: index + 1; 0: free; size a power of two */
  size_t count, capacity;
  ext_reference *references;
  size_t reference_count, reference_capacity;
} ext_shared;

/* NULL: it is not there. Valid until the next ext_shared_add. */
ext_container *ext_shared_find(const ext_shared *shared, PyObject *object);
/* Gives its index, and opens it. SIZE_MAX, with an exception set: no memory. */
size_t ext_shared_add(ext_shared *shared, PyObject *object, size_t start);
MB_CHECKED bool ext_shared_refer(ext_shared *shared, ext_container *container, size_t at);
/* Puts in what is missing. Sets the writer's `err`. */
void ext_shared_finish(ext_shared *shared, mb_writer *writer);
void ext_shared_free(ext_shared *shared);

#endif
