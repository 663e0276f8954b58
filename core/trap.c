#define _GNU_SOURCE
#include "trap.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>
#include "lock.h"

#define NOINLINE __attribute__((noinline))

/* ---- this thread's scope */

static _Thread_local mb_trap_scope *volatile current;

NOINLINE mb_trap_scope *mb_trap_current(void) {
  return current;
}

NOINLINE void mb_trap_enter(mb_trap_scope *scope) {
  current = scope;
}

NOINLINE void mb_trap_leave(void) {
  current = NULL;
}

/* ---- the handlers that were there before us */

static struct sigaction previous_segv, previous_bus;

/* Where a previous handler was called from: it may restore us and raise the signal anew, as CPython's faulthandler
 * does. A handler that leaves by siglongjmp leaves this behind. */
static _Thread_local const uint8_t *volatile chaining_frame;

/* Ends as if nobody handled the signal: a fault comes again by itself, a sent signal is sent again. */
static void take_default(int signal_number, const siginfo_t *info) {
  signal(signal_number, SIG_DFL);
  if (info->si_code <= 0)
    raise(signal_number);
}

static uint8_t *stack_pointer(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uint8_t *)context->uc_mcontext.gregs[REG_RSP];
#else
  return (uint8_t *)context->uc_mcontext.sp;
#endif
}

static bool is_on(const stack_t *stack, const uint8_t *address) {
  const uint8_t *base = stack->ss_sp;
  return !(stack->ss_flags & SS_DISABLE) && address >= base && address < base + stack->ss_size;
}

/* Was the signal raised by the previous handler, further down the same stack? A frame that a siglongjmp left behind lies
 * on another stack, or higher up. */
static bool is_nested(const uint8_t *sp) {
  enum { DEEPEST = 1 << 20 };
  if (!chaining_frame || sp >= chaining_frame || chaining_frame - sp >= DEEPEST)
    return false;
  stack_t alternate;
  return sigaltstack(NULL, &alternate) || is_on(&alternate, sp) == is_on(&alternate, chaining_frame);
}

static void chain(int signal_number, siginfo_t *info, void *context) {
  const struct sigaction *previous = signal_number == SIGBUS ? &previous_bus : &previous_segv;
  bool simple = !(previous->sa_flags & SA_SIGINFO);
  if (is_nested(stack_pointer(context)) || (simple && previous->sa_handler == SIG_DFL)) {
    take_default(signal_number, info);
    return;
  }
  if (simple && previous->sa_handler == SIG_IGN) {
    if (info->si_code > 0) /* a fault cannot be ignored */
      signal(signal_number, SIG_DFL);
    return;
  }
  sigset_t before, during = previous->sa_mask;
  if (!(previous->sa_flags & SA_NODEFER))
    sigaddset(&during, signal_number);
  pthread_sigmask(SIG_BLOCK, &during, &before);
  chaining_frame = __builtin_frame_address(0);
  if (simple)
    previous->sa_handler(signal_number);
  else
    previous->sa_sigaction(signal_number, info, context);
  chaining_frame = NULL;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- faults of ours */

/* On return from the handler the thread goes on in the second half of mb_switch, on its scheduler's stack. */
static void go_to_scheduler(ucontext_t *context, const mb_trap_scope *scope, mb_trap trap) {
#if defined(__x86_64__)
  enum { DIRECTION_FLAG = 0x400 };
  context->uc_mcontext.gregs[REG_RSP] = (greg_t)scope->scheduler_stack;
  context->uc_mcontext.gregs[REG_RIP] = (greg_t)mb_switch_restore;
  context->uc_mcontext.gregs[REG_RDX] = (greg_t)trap;
  context->uc_mcontext.gregs[REG_EFL] &= ~DIRECTION_FLAG;
#else
  context->uc_mcontext.sp = (uint64_t)scope->scheduler_stack;
  context->uc_mcontext.pc = (uint64_t)mb_switch_restore;
  context->uc_mcontext.regs[2] = trap;
#endif
}

static mb_trap classify(const mb_trap_scope *scope, const siginfo_t *info, const uint8_t *sp) {
  enum { NEAR = 64 * 1024 };
  const mb_fiber *fiber = scope->fiber;
  const uint8_t *address = info->si_addr;
  if (sp < fiber->guard || sp > fiber->high)
    return MB_TRAP_NONE;
  if (address >= fiber->guard && address < fiber->low)
    return MB_TRAP_STACK;
  if (mb_memory_holds(scope->memory, address))
    return MB_TRAP_OUT_OF_BOUNDS;
  /* the kernel found no room on the stack for another signal's frame */
  if (info->si_code == SI_KERNEL && sp < fiber->low + NEAR)
    return MB_TRAP_STACK;
  return MB_TRAP_NONE;
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  int saved = errno;
  mb_trap_scope *scope = mb_trap_current();
  mb_trap trap = scope && info->si_code > 0 ? classify(scope, info, stack_pointer(context)) : MB_TRAP_NONE;
  if (trap) {
    mb_sanitizer_abandon_in_handler(&scope->sanitizer);
    go_to_scheduler(context, scope, trap);
  } else {
    chain(signal_number, info, context);
  }
  errno = saved;
}

/* ---- installing */

static bool is_ours(const struct sigaction *action) {
  return action->sa_flags & SA_SIGINFO && action->sa_sigaction == on_fault;
}

/* false: the signal is ours already. */
static bool install(int signal_number, struct sigaction *previous) {
  struct sigaction now;
  if (sigaction(signal_number, NULL, &now) || is_ours(&now))
    return false;
  mb_lock();
  if (!sigaction(signal_number, NULL, &now) && !is_ours(&now)) {
    *previous = now;
    struct sigaction ours = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    sigemptyset(&ours.sa_mask);
    sigaction(signal_number, &ours, NULL);
  }
  mb_unlock();
  return true;
}

/* Who takes one of the two takes both: where SIGSEGV is ours there is nothing to do. */
void mb_trap_install(void) {
  if (install(SIGSEGV, &previous_segv))
    install(SIGBUS, &previous_bus);
}

/* ---- alternate signal stacks: a fault on a full stack cannot be handled there */

static pthread_key_t alternate_key;
static pthread_once_t alternate_once = PTHREAD_ONCE_INIT;
static _Thread_local bool thread_ready;

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static size_t least_size(void) {
  enum { OURS = 8 * 1024, OLD_KERNELS = 2 * 1024 };
  size_t frame = getauxval(AT_MINSIGSTKSZ);
  return (frame ? frame : OLD_KERNELS) + OURS;
}

static size_t alternate_size(void) {
  enum { FOR_OTHERS = 64 * 1024 }; /* previous handlers run here too */
  return (least_size() + FOR_OTHERS + MB_OS_PAGE - 1) & ~(size_t)(MB_OS_PAGE - 1);
}

static void free_alternate(void *stack) {
  stack_t now;
  if (!sigaltstack(NULL, &now) && now.ss_sp == stack)
    sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
  munmap(stack, alternate_size());
}

static void make_key(void) {
  pthread_key_create(&alternate_key, free_alternate);
}

bool mb_trap_thread_ready(void) {
  if (thread_ready)
    return true;
  pthread_once(&alternate_once, make_key);
  stack_t now;
  sigaltstack(NULL, &now);
  if (now.ss_flags & SS_DISABLE || now.ss_size < least_size()) {
    size_t size = alternate_size();
    void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
      return false;
    sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = size }, NULL);
    pthread_setspecific(alternate_key, stack);
  }
  (void)mb_trap_current(); /* thread-local storage is allocated here, not on a fiber */
  thread_ready = true;
  return true;
}
