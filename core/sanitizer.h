/* sanitizer.h: tells AddressSanitizer and ThreadSanitizer about stack switches; nothing in a build without them.
 *
 * Each switch is announced on the stack that is left and confirmed on the stack that is entered. A fault handler
 * announces for the stack that it abandons; ThreadSanitizer must not hear of it inside a handler, so the scheduler's
 * side makes up for it. */
#ifndef MB_SANITIZER_H
#define MB_SANITIZER_H
#include "fiber.h"

typedef struct mb_sanitizer {
  const void *scheduler_bottom; /* of the stack that entered the fiber */
  size_t scheduler_size;
  void *scheduler;
  bool late;
} mb_sanitizer;

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static inline void mb_sanitizer_arm(mb_fiber *fiber) {
  __asan_unpoison_memory_region(fiber->low, (size_t)(fiber->high - fiber->low));
}
static inline void mb_sanitizer_disarm(mb_fiber *fiber) {
  mb_sanitizer_arm(fiber);
}
static inline void *mb_sanitizer_enter(mb_sanitizer *s, mb_fiber *fiber) {
  void *fake_stack;
  (void)s;
  __sanitizer_start_switch_fiber(&fake_stack, fiber->low, (size_t)(fiber->high - fiber->low));
  return fake_stack;
}
static inline void mb_sanitizer_entered(mb_sanitizer *s, void *fake_stack) {
  __sanitizer_finish_switch_fiber(fake_stack, &s->scheduler_bottom, &s->scheduler_size);
}
static inline void *mb_sanitizer_leave(mb_sanitizer *s) {
  void *fake_stack;
  __sanitizer_start_switch_fiber(&fake_stack, s->scheduler_bottom, s->scheduler_size);
  return fake_stack;
}
static inline void mb_sanitizer_abandon(mb_sanitizer *s) {
  __sanitizer_start_switch_fiber(NULL, s->scheduler_bottom, s->scheduler_size);
}
static inline void mb_sanitizer_abandon_in_handler(mb_sanitizer *s) {
  mb_sanitizer_abandon(s);
}
static inline void mb_sanitizer_back(mb_sanitizer *s, void *fake_stack) {
  (void)s;
  __sanitizer_finish_switch_fiber(fake_stack, NULL, NULL);
}

#elif defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>

static inline void mb_sanitizer_arm(mb_fiber *fiber) {
  fiber->sanitizer = __tsan_create_fiber(0);
}
static inline void mb_sanitizer_disarm(mb_fiber *fiber) {
  if (fiber->sanitizer)
    __tsan_destroy_fiber(fiber->sanitizer);
  fiber->sanitizer = NULL;
}
static inline void *mb_sanitizer_enter(mb_sanitizer *s, mb_fiber *fiber) {
  s->scheduler = __tsan_get_current_fiber();
  __tsan_switch_to_fiber(fiber->sanitizer, 0);
  return NULL;
}
static inline void mb_sanitizer_entered(mb_sanitizer *s, void *fake_stack) {
  (void)s, (void)fake_stack;
}
static inline void *mb_sanitizer_leave(mb_sanitizer *s) {
  __tsan_switch_to_fiber(s->scheduler, 0);
  return NULL;
}
static inline void mb_sanitizer_abandon(mb_sanitizer *s) {
  __tsan_switch_to_fiber(s->scheduler, 0);
}
static inline void mb_sanitizer_abandon_in_handler(mb_sanitizer *s) {
  s->late = true;
}
static inline void mb_sanitizer_back(mb_sanitizer *s, void *fake_stack) {
  (void)fake_stack;
  if (s->late)
    __tsan_switch_to_fiber(s->scheduler, 0);
  s->late = false;
}

#else

static inline void mb_sanitizer_arm(mb_fiber *fiber) {
  (void)fiber;
}
static inline void mb_sanitizer_disarm(mb_fiber *fiber) {
  (void)fiber;
}
static inline void *mb_sanitizer_enter(mb_sanitizer *s, mb_fiber *fiber) {
  (void)s, (void)fiber;
  return NULL;
}
static inline void mb_sanitizer_entered(mb_sanitizer *s, void *fake_stack) {
  (void)s, (void)fake_stack;
}
static inline void *mb_sanitizer_leave(mb_sanitizer *s) {
  (void)s;
  return NULL;
}
static inline void mb_sanitizer_abandon(mb_sanitizer *s) {
  (void)s;
}
static inline void mb_sanitizer_abandon_in_handler(mb_sanitizer *s) {
  (void)s;
}
static inline void mb_sanitizer_back(mb_sanitizer *s, void *fake_stack) {
  (void)s, (void)fake_stack;
}

#endif
#endif
