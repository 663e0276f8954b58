#include "shared.h"
#include <stdlib.h>

enum { FIRST_CAPACITY = 16 };

/* Slots are twice as many as containers at most. */
static size_t *slot_of(const ext_shared *shared, PyObject *object) {
  size_t mask = shared->capacity * 2 - 1, at = ((uintptr_t)object >> 4) * UINT64_C(0x9E3779B97F4A7C15);
  for (at ^= at >> 32; shared->slots[at & mask]; at++)
    if (shared->containers[shared->slots[at & mask] - 1].object == object)
      break;
  return &shared->slots[at & mask];
}

ext_container *ext_shared_find(const ext_shared *shared, PyObject *object) {
  size_t found = shared->count ? *slot_of(shared, object) : 0;
  return found ? &shared->containers[found - 1] : NULL;
}

static bool grow(ext_shared *shared) {
  size_t capacity = shared->capacity ? shared->capacity * 2 : FIRST_CAPACITY;
  ext_container *containers = realloc(shared->containers, capacity * sizeof *containers);
  if (containers)
    shared->containers = containers;
  size_t *slots = containers ? calloc(capacity * 2, sizeof *slots) : NULL;
  if (!slots) {
    PyErr_NoMemory();
    return false;
  }
  free(shared->slots);
  shared->slots = slots;
  shared->capacity = capacity;
  for (size_t i = 0; i < shared->count; i++)
    *slot_of(shared, shared->containers[i].object) = i + 1;
  return true;
}

size_t ext_shared_add(ext_shared *shared, PyObject *object, size_t start) {
  if (shared->count == shared->capacity && !grow(shared))
    return SIZE_MAX;
  size_t index = shared->count;
  *slot_of(shared, object) = ++shared->count;
  Py_INCREF(object);
  shared->containers[index] = (ext_container){ .object = object, .start = start, .is_open = true };
  return index;
}

bool ext_shared_refer(ext_shared *shared, ext_container *container, size_t at) {
  if (shared->reference_count == shared->reference_capacity) {
    size_t capacity = shared->reference_capacity ? shared->reference_capacity * 2 : FIRST_CAPACITY;
    ext_reference *references = realloc(shared->references, capacity * sizeof *references);
    if (!references) {
      PyErr_NoMemory();
      return false;
    }
    shared->references = references;
    shared->reference_capacity = capacity;
  }
  container->comes_again = true;
  shared->references[shared->reference_count++] =
      (ext_reference){ .at = at, .container = (size_t)(container - shared->containers) };
  return true;
}

/* Copies what lies before `end`. */
static void copy_up_to(mb_writer *to, const mb_writer *from, size_t *done, size_t end) {
  mb_write_raw(to, (mb_view){ from->data + *done, end - *done });
  *done = end;
}

/* Both kinds in the order of their places; a reference comes before a container that begins at the same one. */
static void put_in(ext_shared *shared, const mb_writer *from, mb_writer *to) {
  size_t done = 0, next = 0;
  uint64_t number = 0;
  for (size_t i = 0; i <= shared->count; i++) {
    size_t start = i < shared->count ? shared->containers[i].start : from->size;
    for (; next < shared->reference_count && shared->references[next].at <= start; next++) {
      copy_up_to(to, from, &done, shared->references[next].at);
      mb_write_tag(to, VALUE_REFERENCE);
      mb_write_varint(to, shared->containers[shared->references[next].container].start); /* its number, by now */
    }
    if (i == shared->count || !shared->containers[i].comes_again)
      continue;
    copy_up_to(to, from, &done, start);
    mb_write_tag(to, VALUE_SHARED);
    shared->containers[i].start = number++;
  }
  copy_up_to(to, from, &done, from->size);
}

void ext_shared_finish(ext_shared *shared, mb_writer *writer) {
  if (!shared->reference_count)
    return;
  mb_writer whole;
  mb_writer_init(&whole, writer->limit);
  put_in(shared, writer, &whole);
  mb_writer_free(writer);
  *writer = whole;
}

void ext_shared_free(ext_shared *shared) {
  for (size_t i = 0; i < shared->count; i++)
    Py_DECREF(shared->containers[i].object);
  free(shared->containers);
  free(shared->slots);
  free(shared->references);
}
