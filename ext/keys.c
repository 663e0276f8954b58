/* keys.c: a hash table of strings, which remember their own hash. */
#include "keys.h"
#include <stdlib.h>
#include <string.h>

void ext_keys_init(ext_keys *keys) {
  keys->slots = keys->few;
  keys->slot_count = keys->count = 0;
}

void ext_keys_free(ext_keys *keys) {
  for (size_t i = 0; i < keys->slot_count; i++)
    Py_XDECREF(keys->slots[i].text);
  if (keys->slots != keys->few)
    free(keys->slots);
}

static bool is_key(const ext_key *slot, PyObject *text, Py_hash_t hash) {
  return slot->text == text || (slot->hash == hash && PyUnicode_Compare(slot->text, text) == 0);
}

/* Where the key is, or belongs. */
static ext_key *slot_of(ext_key *slots, size_t slot_count, PyObject *text, Py_hash_t hash) {
  size_t i = (size_t)hash & (slot_count - 1);
  while (slots[i].text && !is_key(&slots[i], text, hash))
    i = (i + 1) & (slot_count - 1);
  return &slots[i];
}

bool ext_keys_find(const ext_keys *keys, PyObject *text, uint32_t *index) {
  if (!keys->slot_count)
    return false;
  const ext_key *slot = slot_of(keys->slots, keys->slot_count, text, PyObject_Hash(text));
  *index = slot->index;
  return slot->text != NULL;
}

static void begin(ext_keys *keys) {
  memset(keys->few, 0, sizeof keys->few);
  keys->slot_count = sizeof keys->few / sizeof *keys->few;
}

static bool grow(ext_keys *keys) {
  size_t slot_count = keys->slot_count * 4;
  ext_key *slots = calloc(slot_count, sizeof *slots);
  if (!slots) {
    PyErr_NoMemory();
    return false;
  }
  for (size_t i = 0; i < keys->slot_count; i++)
    if (keys->slots[i].text)
      *slot_of(slots, slot_count, keys->slots[i].text, keys->slots[i].hash) = keys->slots[i];
  if (keys->slots != keys->few)
    free(keys->slots);
  keys->slots = slots;
  keys->slot_count = slot_count;
  return true;
}

bool ext_keys_add(ext_keys *keys, PyObject *text, uint32_t index) {
  if (!keys->slot_count)
    begin(keys);
  else if (keys->count * 2 >= keys->slot_count && !grow(keys))
    return false;
  Py_hash_t hash = PyObject_Hash(text);
  Py_INCREF(text);
  *slot_of(keys->slots, keys->slot_count, text, hash) = (ext_key){ text, hash, index };
  keys->count++;
  return true;
}
