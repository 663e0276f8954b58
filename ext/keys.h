/* keys.h: the keys that an encoder has written, with their indexes in the key table of a value.
 *
 * They are known by equality, not by identity: the bytes, and with them the fuel that reading them costs, must not
 * depend on which strings happen to be one object. */
#ifndef MODEBOX_EXT_KEYS_H
#define MODEBOX_EXT_KEYS_H
#include "ext.h"

typedef struct ext_key {
  PyObject *text; /* owned, an exact str; NULL: a free slot */
  Py_hash_t hash;
  uint32_t index;
} ext_key;

typedef struct ext_keys {
  ext_key *slots, few[32]; /* open addressing; slot_count is a power of two, or 0 before the first key */
  size_t slot_count, count;
} ext_keys;

void ext_keys_init(ext_keys *keys);
void ext_keys_free(ext_keys *keys);
/* Gives the index of a key that was added; false: it was not. */
bool ext_keys_find(const ext_keys *keys, PyObject *text, uint32_t *index);
/* Adds a key that was not found. false: MemoryError is set. */
MB_CHECKED bool ext_keys_add(ext_keys *keys, PyObject *text, uint32_t index);

#endif
