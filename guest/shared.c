#include "shared.h"
#include <string.h>

enum { FEW = sizeof((shared *)0)->few / sizeof(shared_container) };

static bool is_same(const shared_container *container, JSValueConst object) {
  return JS_VALUE_GET_PTR(container->object) == JS_VALUE_GET_PTR(object);
}

static shared_container *container_of(shared *s, uint32_t number) {
  return s->containers ? &s->containers[number] : &s->few[number];
}

/* Slots are twice as many as containers at most. */
static uint32_t *slot_of(const shared *s, JSValueConst object) {
  uint32_t mask = s->capacity * 2 - 1, at = (uint32_t)((uintptr_t)JS_VALUE_GET_PTR(object) >> 3) * 0x9E3779B1u;
  for (at ^= at >> 15; s->slots[at & mask]; at++)
    if (is_same(&s->containers[s->slots[at & mask] - 1], object))
      break;
  return &s->slots[at & mask];
}

const shared_container *shared_find(const shared *s, JSValueConst object) {
  if (s->containers) {
    uint32_t found = *slot_of(s, object);
    return found ? &s->containers[found - 1] : NULL;
  }
  for (uint32_t i = 0; i < s->count; i++)
    if (is_same(&s->few[i], object))
      return &s->few[i];
  return NULL;
}

static bool grow(JSContext *ctx, shared *s) {
  uint32_t capacity = s->capacity ? s->capacity * 2 : 2 * FEW;
  shared_container *containers = js_realloc(ctx, s->containers, capacity * sizeof *containers);
  if (!containers)
    return false;
  if (!s->containers)
    memcpy(containers, s->few, sizeof s->few);
  s->containers = containers;
  uint32_t *slots = js_mallocz(ctx, capacity * 2 * sizeof *slots);
  if (!slots)
    return false;
  js_free(ctx, s->slots);
  s->slots = slots;
  s->capacity = capacity;
  for (uint32_t i = 0; i < s->count; i++)
    *slot_of(s, s->containers[i].object) = i + 1;
  return true;
}

uint32_t shared_add(JSContext *ctx, shared *s, JSValueConst object) {
  if (s->count >= FEW && s->count >= s->capacity && !grow(ctx, s))
    return SHARED_NONE;
  uint32_t number = s->count++;
  if (s->containers)
    *slot_of(s, object) = number + 1;
  *container_of(s, number) =
      (shared_container){ .object = JS_DupValue(ctx, object), .number = number, .is_open = true };
  return number;
}

void shared_close(shared *s, uint32_t number, size_t size) {
  shared_container *container = container_of(s, number);
  container->size = size;
  container->is_open = false;
}

void shared_free(JSContext *ctx, shared *s) {
  for (uint32_t i = 0; i < s->count; i++)
    JS_FreeValue(ctx, container_of(s, i)->object);
  js_free(ctx, s->containers);
  js_free(ctx, s->slots);
}
