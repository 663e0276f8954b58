/* trap.h: faults of guest code become outcomes. One handler for SIGSEGV and SIGBUS, that acts only on an address of ours, met on a
 * stack of ours, by a thread that runs a guest; everything else goes to the handler that was there before. */
#ifndef MB_TRAP_H
#define MB_TRAP_H
#include "fiber.h"
#include "memory.h"
#include "sanitizer.h"

/* What a thread that runs a guest needs to be saved from its faults. */
typedef struct mb_trap_scope {
  const mb_fiber *fiber;
  const mb_memory *memory;
  void *scheduler_stack; /* where mb_switch saved the stack that entered the fiber */
  void *owner;           /* of whoever opened the scope */
  mb_sanitizer sanitizer;
} mb_trap_scope;

/* Puts the handler on top, if another one took the signals meanwhile. Before each call into a guest: a host function may
 * have brought one. Any thread. */
void mb_trap_install(void);
/* Gives this thread an alternate signal stack that is large enough. false: no memory. */
MB_CHECKED bool mb_trap_thread_ready(void);

/* Between these two the thread runs the fiber. A fault comes back as mb_switch's value: MB_TRAP_..., as a pointer. */
void mb_trap_enter(mb_trap_scope *scope);
void mb_trap_leave(void);
/* The scope of this thread, read anew; NULL outside. For code on the fiber. */
mb_trap_scope *mb_trap_current(void);

#endif
