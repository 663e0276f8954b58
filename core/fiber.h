/* fiber.h: native stacks that guest code runs on, left and entered by switching the stack pointer.
 *
 * Only generated code, memmove, libm's leaf functions and the few functions that switch away run on a fiber: nothing there
 * takes a lock, allocates, or reads thread-local state across a switch, since it may go on on another thread. A fiber can
 * therefore be abandoned at any point. */
#ifndef MB_FIBER_H
#define MB_FIBER_H
#include "modebox.h"

typedef struct mb_fiber {
  struct mb_fiber *next;       /* in the pool */
  uint8_t *guard, *low, *high; /* the guard lies in [guard, low), the stack in [low, high) */
  void *sanitizer;             /* what ThreadSanitizer calls it */
  void *stack_pointer;         /* while it is left */
} mb_fiber;

/* A fiber from the pool, or a new one; NULL: no memory. */
mb_fiber *mb_fiber_take(void);
/* Its contents are forgotten. */
void mb_fiber_give(mb_fiber *fiber);
/* The next switch to it calls mb_fiber_main(value) at the top of an empty stack. */
void mb_fiber_arm(mb_fiber *fiber);

/* Is there room for what is not generated code, above the guard? Called on the fiber. */
static inline bool mb_fiber_has_room(const mb_fiber *fiber) {
  enum { ROOM = 64 * 1024 };
  return (uint8_t *)__builtin_frame_address(0) - fiber->low > ROOM;
}

/* switch.S: leaves this stack for another one, and returns what whoever switches back gives. Callee-saved registers and the
 * floating-point control words stay with the stack. */
void *mb_switch(void **save, void *to, void *value);
/* Its second half: where the fault handler sends a thread, with the stack pointer and the value in their registers. */
extern const char mb_switch_restore[];
/* The first frame of a fiber: calls mb_fiber_main with the value of the switch. */
extern const char mb_fiber_entry[];
/* Defined by whoever uses fibers (instance.c). Must not return. */
void mb_fiber_main(void *value);

#endif
