#define _GNU_SOURCE
#include "fiber.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "lock.h"
#include "near.h"
#include "os.h"
#include "sanitizer.h"

enum {
  STACK_SIZE = 64 << 20, /* address space; the hard depth times the largest frame fits with room to spare */
  GUARD_SIZE = 64 << 10,
  KEPT_SIZE = 64 << 10, /* of a pooled stack's memory */
};

static mb_near near; /* idle fibers, one for each of a few threads; the others: */
static mb_fiber *pool;

static mb_fiber *fiber_new(void) {
  mb_fiber *fiber = calloc(1, sizeof *fiber);
  uint8_t *base = fiber ? mb_os_reserve(GUARD_SIZE + STACK_SIZE) : NULL;
  if (!base || !mb_os_commit(base + GUARD_SIZE, STACK_SIZE)) {
    if (base)
      mb_os_release(base, GUARD_SIZE + STACK_SIZE);
    free(fiber);
    return NULL;
  }
  madvise(base + GUARD_SIZE, STACK_SIZE, MADV_NOHUGEPAGE); /* else the first touch takes 2 MB */
  fiber->guard = base;
  fiber->low = base + GUARD_SIZE;
  fiber->high = fiber->low + STACK_SIZE;
  return fiber;
}

static mb_fiber *take_pooled(void) {
  mb_lock();
  mb_fiber *fiber = pool;
  if (fiber)
    pool = fiber->next;
  mb_unlock();
  return fiber;
}

mb_fiber *mb_fiber_take(void) {
  mb_fiber *fiber = mb_near_take(&near);
  if (!fiber)
    fiber = take_pooled();
  return fiber ? fiber : fiber_new();
}

/* Was the page below the part that is kept ever written? Then the stack went deep. */
static bool went_deep(const mb_fiber *fiber) {
  const uint64_t *page = (const uint64_t *)(fiber->high - KEPT_SIZE - MB_OS_PAGE);
  uint64_t any = 0;
  for (size_t i = 0; i < MB_OS_PAGE / sizeof *page; i++)
    any |= page[i];
  return any;
}

void mb_fiber_give(mb_fiber *fiber) {
  mb_sanitizer_disarm(fiber);
  if (went_deep(fiber))
    (void)!mb_os_discard(fiber->low, STACK_SIZE - KEPT_SIZE); /* a stack needs no clean memory */
  if (mb_near_put(&near, fiber))
    return;
  mb_lock();
  fiber->next = pool;
  pool = fiber;
  mb_unlock();
}

/* What mb_switch finds when it comes here for the first time: see switch.S for the order. */
void mb_fiber_arm(mb_fiber *fiber) {
  mb_sanitizer_arm(fiber);
#if defined(__x86_64__)
  enum { WORDS = 10 }; /* control words, six registers, return address, two of padding */
  static const uint64_t control_words = 0x1f80 | UINT64_C(0x37f)
                                                     << 32; /* MXCSR, x87 control word: as at program start */
  uint64_t *frame = (uint64_t *)fiber->high - WORDS;
  memset(frame, 0, WORDS * sizeof *frame);
  frame[0] = control_words;
  frame[7] = (uint64_t)mb_fiber_entry;
#elif defined(__aarch64__)
  enum { WORDS = 22 }; /* x19-x30, d8-d15, FPCR, one of padding */
  uint64_t *frame = (uint64_t *)fiber->high - WORDS;
  memset(frame, 0, WORDS * sizeof *frame);
  frame[11] = (uint64_t)mb_fiber_entry;
#else
#error "no stack switch for this processor"
#endif
  fiber->stack_pointer = frame;
}
