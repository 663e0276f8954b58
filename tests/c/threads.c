/* threads.c: runs on many threads, beside other signal handlers, over forks: guest faults stay outcomes, and other faults
 * stay their owners'.
 *
 * A function __wrap_NAME stands in for the core's NAME, which is then __real_NAME (CMakeLists.txt). */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "../../core/engine.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true, ROUNDS = 6 };
#else
enum { SANITIZED = false, ROUNDS = 40 };
#endif

/* ---- runs of all kinds; a thread knows the instance that it took last */

static _Thread_local mb_instance *taken;

mb_err __real_mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages);
mb_err __wrap_mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages);
mb_err __wrap_mb_engine_take(mb_engine *engine, mb_instance **out, uint32_t pages) {
  mb_err err = __real_mb_engine_take(engine, out, pages);
  taken = err ? NULL : *out;
  return err;
}

static const char SOUND[] =
    "let s = 0; for (let i = 0; i < 2000; i++) s += i % 7; [s, [3, 1, 2].sort().join('')].join()";
static const char DEEP[] =
    "let caught = 0; function f() { return f() + 1 } "
    "for (let i = 0; i < 10; i++) try { f() } catch (e) { caught += e instanceof RangeError } caught";
static const char ENDLESS[] = "while (true);";

static bool is_sound(mb_engine *engine) {
  mb_program program = program_of(SOUND);
  mb_run *run = new_run(engine, &program);
  bool ok = mb_run_step(run, 0) == MB_DONE && result_has(run, "5995,123");
  mb_run_free(run);
  return ok;
}

static bool deep_is_caught(mb_engine *engine) {
  mb_program program = program_of(DEEP);
  mb_run *run = new_run(engine, &program);
  bool ok = mb_run_step(run, 0) == MB_DONE && result_is(run, (uint8_t[]){ VALUE_INT, 20 }, 2);
  mb_run_free(run);
  return ok;
}

/* Its pointers lead outside: the next slice ends with a fault. */
static void spoil(mb_engine *engine) {
  size_t after_stack = mb_engine_base(engine)->stack_pointer;
  memset(taken->memory.base + after_stack, 0xff, taken->guest.w2c_memory.size - after_stack);
}

static bool ends_out_of_bounds(mb_run *run) {
  return mb_run_step(run, 0) == MB_TRAP && mb_run_trap(run) == MB_TRAP_OUT_OF_BOUNDS;
}

static bool fault_is_an_outcome(mb_engine *engine) {
  mb_program program = program_of("const o = {}; for (let i = 0; ; i++) o['k' + i] = { i }");
  mb_run *run = new_run(engine, &program);
  bool ok = mb_run_step(run, 1) == MB_YIELDED;
  spoil(engine);
  ok = ends_out_of_bounds(run) && ok;
  mb_run_free(run);
  return ok;
}

static bool ends_at(mb_engine *engine, mb_limits limits, mb_limit limit) {
  mb_program program = program_of(ENDLESS);
  program.limits = limits;
  mb_run *run = new_run(engine, &program);
  while (mb_run_step(run, 100000) == MB_YIELDED)
    ;
  bool ok = mb_run_limit(run) == limit;
  mb_run_free(run);
  return ok;
}

/* ---- threads, and one that aborts what they put out for it */

enum { THREADS = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static mb_run *abortable[THREADS];
static volatile bool stopping;

static void put_out(unsigned thread, mb_run *run) {
  pthread_mutex_lock(&lock);
  abortable[thread] = run;
  pthread_mutex_unlock(&lock);
}

static bool is_stopping(void) {
  pthread_mutex_lock(&lock);
  bool now = stopping;
  pthread_mutex_unlock(&lock);
  return now;
}

static void *abort_all(void *unused) {
  while (!is_stopping()) {
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; i < THREADS; i++)
      if (abortable[i])
        mb_run_abort(abortable[i]);
    pthread_mutex_unlock(&lock);
    usleep(200);
  }
  return unused;
}

static bool is_aborted(mb_engine *engine, unsigned thread) {
  mb_program program = program_of(ENDLESS);
  mb_run *run = new_run(engine, &program);
  put_out(thread, run);
  bool ok = mb_run_step(run, 0) == MB_LIMIT && mb_run_limit(run) == MB_LIMIT_ABORTED;
  put_out(thread, NULL);
  mb_run_free(run);
  return ok;
}

typedef struct task {
  mb_engine *engine;
  unsigned thread, failed;
} task;

static bool run_one(const task *t, unsigned kind) {
  mb_limits fuel = generous_limits(), timeout = fuel, cpu = fuel;
  fuel.fuel = 50000;
  timeout.timeout_ns = cpu.cpu_ns = 1000000;
  switch (kind % 7) {
  case 0:
    return ends_at(t->engine, fuel, MB_LIMIT_FUEL);
  case 1:
    return ends_at(t->engine, timeout, MB_LIMIT_TIMEOUT);
  case 2:
    return ends_at(t->engine, cpu, MB_LIMIT_CPU);
  case 3:
    return is_aborted(t->engine, t->thread);
  case 4:
    return fault_is_an_outcome(t->engine);
  case 5:
    return deep_is_caught(t->engine);
  default:
    return is_sound(t->engine);
  }
}

static void *work(void *argument) {
  task *t = argument;
  for (unsigned i = 0; i < ROUNDS; i++)
    if (!run_one(t, i + t->thread))
      t->failed++;
  return NULL;
}

static void stop_threads(void) {
  pthread_mutex_lock(&lock);
  stopping = true;
  pthread_mutex_unlock(&lock);
}

static void many_threads(mb_engine *engine) {
  pthread_t threads[THREADS], aborter;
  task tasks[THREADS];
  stopping = false;
  pthread_create(&aborter, NULL, abort_all, NULL);
  for (unsigned i = 0; i < THREADS; i++) {
    tasks[i] = (task){ .engine = engine, .thread = i };
    pthread_create(&threads[i], NULL, work, &tasks[i]);
  }
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    CHECK(!tasks[i].failed);
  }
  stop_threads();
  pthread_join(aborter, NULL);
  CHECK(is_sound(engine));
}

/* ---- forks */

/* In a child process with an alarm; true: the scenario was. */
static bool in_a_child(bool (*scenario)(mb_engine *engine, mb_run *run), mb_engine *engine, mb_run *run) {
  pid_t child = fork();
  if (!child) {
    alarm(20);
    _exit(!scenario(engine, run));
  }
  int status;
  waitpid(child, &status, 0);
  return status == 0;
}

static bool all_kinds_run(mb_engine *engine, mb_run *unused) {
  (void)unused;
  return is_sound(engine) && fault_is_an_outcome(engine) && is_sound(engine);
}

static void *run_until_stopped(void *engine) {
  mb_program program = program_of("1");
  while (!is_stopping()) {
    mb_run *run = new_run(engine, &program);
    (void)!mb_run_step(run, 0);
    mb_run_free(run);
  }
  return NULL;
}

/* The child's copies of the core's locks may be held by threads that it does not have. */
static void forks_beside_runs(mb_engine *engine) {
  enum { BESIDE = 3, FORKS = 40 };
  pthread_t threads[BESIDE];
  stopping = false;
  for (unsigned i = 0; i < BESIDE; i++)
    pthread_create(&threads[i], NULL, run_until_stopped, engine);
  for (int i = 0; i < FORKS; i++)
    CHECK(in_a_child(all_kinds_run, engine, NULL));
  stop_threads();
  for (unsigned i = 0; i < BESIDE; i++)
    pthread_join(threads[i], NULL);
}

static bool is_finished(mb_engine *engine, mb_run *run) {
  bool ok = mb_run_step(run, 0) == MB_DONE && mb_run_result(run).size == 6;
  mb_run_free(run);
  return ok && is_sound(engine);
}

static bool is_freed(mb_engine *engine, mb_run *run) {
  mb_run_free(run);
  return is_sound(engine);
}

static void suspended_run_survives_forks(mb_engine *engine) {
  mb_program program = program_of("let s = 0; for (let i = 0; i < 50000; i++) s += i; s");
  mb_run *run = new_run(engine, &program);
  for (int i = 0; i < 5; i++)
    CHECK(mb_run_step(run, 1) == MB_YIELDED);
  CHECK(in_a_child(is_finished, engine, run));
  CHECK(in_a_child(is_freed, engine, run));
  CHECK(is_finished(engine, run));
}

/* ---- another's signals on a fiber: a handler without SA_ONSTACK takes its frame from the guest's stack */

static volatile sig_atomic_t signals;

static void count_signal(int number) {
  (void)number;
  signals++;
}

static void *signal_often(void *target) {
  while (!is_stopping()) {
    pthread_kill(*(pthread_t *)target, SIGUSR1);
    usleep(100);
  }
  return NULL;
}

static void signals_during_recursion(mb_engine *engine) {
  struct sigaction before, ours = { .sa_handler = count_signal, .sa_flags = SA_RESTART };
  sigaction(SIGUSR1, &ours, &before);
  pthread_t self = pthread_self(), other;
  stopping = false;
  signals = 0;
  pthread_create(&other, NULL, signal_often, &self);
  for (int i = 0; i < (SANITIZED ? 3 : 20); i++) {
    CHECK(deep_is_caught(engine));
    CHECK(fault_is_an_outcome(engine));
  }
  stop_threads();
  pthread_join(other, NULL);
  CHECK(signals > 10);
  sigaction(SIGUSR1, &before, NULL);
}

/* ---- another's SIGSEGV handler, each in a process of its own */

enum { FOREIGN_HANDLED = 42 };

static volatile sig_atomic_t is_real; /* the fault is the test's own */

static void exit_from_handler(int number, siginfo_t *info, void *context) {
  (void)number, (void)context;
  _exit(info->si_code > 0 && is_real ? FOREIGN_HANDLED : 1);
}

static void exit_from_simple_handler(int number) {
  (void)number;
  _exit(is_real ? FOREIGN_HANDLED : 1);
}

static void handle_with(void (*simple)(int), void (*full)(int, siginfo_t *, void *)) {
  struct sigaction action = { .sa_flags = full ? SA_SIGINFO : 0 };
  if (full)
    action.sa_sigaction = full;
  else
    action.sa_handler = simple;
  sigaction(SIGSEGV, &action, NULL);
}

static void real_fault(void) {
  volatile uint8_t *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  is_real = true;
  *page = 1;
}

static void require(bool ok) {
  if (!ok)
    _exit(2);
}

static void handler_before_the_engine(void) {
  handle_with(NULL, exit_from_handler);
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  require(fault_is_an_outcome(engine) && is_sound(engine));
  real_fault();
}

static void handler_after_the_engine(void) {
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  require(fault_is_an_outcome(engine));
  handle_with(exit_from_simple_handler, NULL);
  require(fault_is_an_outcome(engine) && is_sound(engine));
  real_fault();
}

static void handlers_before_and_after(void) {
  handle_with(SIG_IGN, NULL);
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  handle_with(NULL, exit_from_handler);
  require(fault_is_an_outcome(engine));
  handle_with(NULL, exit_from_handler);
  real_fault();
}

/* As a host function may do. */
static void handler_during_a_run(void) {
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  mb_program program = program_of("await f(); const o = {}; for (let i = 0; ; i++) o['k' + i] = { i }");
  mb_view name = view_of("f"), null = { (const uint8_t[]){ VALUE_NULL }, 1 };
  program.functions = &name;
  program.function_count = 1;
  mb_run *run = new_run(engine, &program);
  mb_call call;
  require(mb_run_step(run, 0) == MB_WAITING && mb_run_next_call(run, &call));
  handle_with(NULL, exit_from_handler);
  require(mb_run_settle(run, call.id, GUEST_RETURNED, null, 0) == MB_OK && mb_run_step(run, 1) == MB_YIELDED);
  spoil(engine);
  require(ends_out_of_bounds(run));
  real_fault();
}

static void no_handler(void) {
  handle_with(SIG_DFL, NULL);
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  require(fault_is_an_outcome(engine));
  real_fault();
}

static void ignored(void) {
  handle_with(SIG_IGN, NULL);
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  require(fault_is_an_outcome(engine));
  raise(SIGSEGV);
  real_fault();
}

/* Some libraries look whether memory is there by falling over it. */
static sigjmp_buf landing;

static void jump_from_handler(int number) {
  (void)number;
  if (!is_real)
    _exit(1);
  is_real = false;
  siglongjmp(landing, 1);
}

static void handler_that_jumps(void) {
  uint8_t near[64 << 10]; /* handlers run above what they interrupt, where a nested one would run below it */
  require(!sigaltstack(&(stack_t){ .ss_sp = near, .ss_size = sizeof near }, NULL));
  handle_with(jump_from_handler, NULL);
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  for (volatile int i = 0; i < 3; i++) {
    if (!sigsetjmp(landing, 1)) {
      real_fault();
      _exit(3);
    }
    require(fault_is_an_outcome(engine) && is_sound(engine));
  }
  _exit(FOREIGN_HANDLED);
}

static int status_of(void (*scenario)(void)) {
  pid_t child = fork();
  if (!child) {
    alarm(20);
    scenario();
    _exit(4);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void foreign_fault_handlers(void) {
  CHECK(status_of(handler_before_the_engine) == FOREIGN_HANDLED);
  CHECK(status_of(handler_after_the_engine) == FOREIGN_HANDLED);
  CHECK(status_of(handlers_before_and_after) == FOREIGN_HANDLED);
  CHECK(status_of(handler_during_a_run) == FOREIGN_HANDLED);
  CHECK(status_of(no_handler) == -SIGSEGV);
  CHECK(status_of(ignored) == -SIGSEGV);
  CHECK(status_of(handler_that_jumps) == FOREIGN_HANDLED);
}

static void all(mb_engine *engine) {
  many_threads(engine);
  if (!SANITIZED) /* their own locks do not survive it */
    forks_beside_runs(engine);
  suspended_run_survives_forks(engine);
  signals_during_recursion(engine);
}

int main(void) {
  foreign_fault_handlers(); /* first: before there is an engine */
  on_both_builds(all);
  return checks_done();
}
