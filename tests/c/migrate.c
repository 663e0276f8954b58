/* migrate.c: runs that go on on another thread after every slice end as they do on one thread, whatever the threads do with
 * their floating-point control words. */
#include "check.h"
#include <pthread.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum {
  THREADS = 4,
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  COPIES = 1,
#else
  COPIES = 5,
#endif
};

static const char *const programs[] = {
  /* results in every rounding mode and around zero: what a fast-math thread would change */
  "let s = 0, t = 1, u = 0; for (let i = 1; i < 20000; i++) { s += Math.sin(i) / 3; t = t * 1.0000001 + 1e-17; "
  "u += i * 5e-324 + 1e-310 / i } [s, t, u, (0.1).toFixed(20), 5e-324 / 2, 1 / 3, Math.exp(-745), 0.1 + 0.2]",
  "const a = Array.from({ length: 8000 }, (_, i) => (i * 7919) % 8009); a.sort((x, y) => x - y); a.sort(); "
  "[a[0], a[4000], a.join().length]",
  "let s = ''; for (let i = 0; i < 4000; i++) s += JSON.stringify({ i, text: 'x'.repeat(i % 50) }); "
  "[s.length, (s.match(/x{3,7}/g) || []).length, s.replace(/(\\d+)/g, (m) => m + m).length, s.split('{').length]",
  "let n = 1n; for (let i = 1n; i < 1200n; i++) n *= i; n.toString().slice(0, 40)",
  "const kept = []; for (let i = 0; i < 400; i++) kept.push(new Uint8Array(20000).fill(i)); "
  "kept.reduce((sum, part) => sum + part[19999] * part.length, 0)",
  "let depth = 0; function f() { depth++; return f() + 1 } const seen = []; "
  "for (let i = 0; i < 4; i++) { depth = 0; try { f() } catch (e) { seen.push(depth, e.message) } } seen",
  "const m = new Map(); let state = 1; for (let i = 0; i < 60000; i++) { state = (state * 48271) % 2147483647; "
  "m.set(state % 5000, i) } [m.size, [...m.values()].reduce((a, b) => a + b), Math.random(), Date.now() > 0]",
  "const got = []; for (let i = 0; i < 12; i++) { console.log('round', i, 'y'.repeat(9000)); "
  "const a = echo(i, 'z'.repeat(40000)), b = echo({ i, list: Array(500).fill(i) }); "
  "got.push((await a)[1].length, (await b)[0].list.length) } got",
  "function* walk(n) { if (n) { yield n; yield* walk(n - 1); yield* walk(n - 1) } } let s = 0; "
  "for (const n of walk(12)) s += n; s",
  "const o = {}; for (let i = 0; i < 5000; i++) o['key' + i] = i; let s = 0; for (const k in o) s += o[k]; "
  "throw new Error('ends badly ' + s)",
};

enum { PROGRAMS = sizeof programs / sizeof *programs, RUNS = PROGRAMS * COPIES };

/* ---- one run and all that can be seen of it */

typedef struct outcome {
  mb_status status;
  int64_t fuel;
  uint64_t seen; /* hash of result, calls, and log */
} outcome;

typedef struct traveller {
  mb_run *run;
  const char *program;
  uint64_t seen;
  unsigned moves;
  struct traveller *next;
} traveller;

static uint64_t hash(uint64_t before, mb_view bytes) {
  for (size_t i = 0; i < bytes.size; i++)
    before = (before ^ bytes.data[i]) * 1099511628211u;
  return before;
}

static traveller start(mb_engine *engine, const char *source) {
  mb_program program = program_of(source);
  mb_view name = view_of("echo");
  program.functions = &name;
  program.function_count = 1;
  return (traveller){ .run = new_run(engine, &program), .program = source, .seen = 14695981039346656037u };
}

static void read_logs(traveller *t) {
  mb_log entry;
  while (mb_run_next_log(t->run, &entry))
    t->seen = hash(t->seen, entry.message);
}

/* Answers the next call with its arguments. */
static void answer(traveller *t) {
  mb_call call;
  if (!mb_run_next_call(t->run, &call)) {
    CHECK(!"a call is pending");
    return;
  }
  t->seen = hash(t->seen, call.arguments);
  int64_t clock_ns = 1700000000000000000 + (int64_t)call.id * 1000000000;
  CHECK(mb_run_settle(t->run, call.id, GUEST_RETURNED, call.arguments, clock_ns) == MB_OK);
}

/* One slice; false: the run has ended. */
static bool step(traveller *t, int64_t slice_ns) {
  mb_status status = mb_run_step(t->run, slice_ns);
  read_logs(t);
  if (status == MB_WAITING)
    answer(t);
  return status == MB_WAITING || status == MB_YIELDED;
}

static outcome end(traveller *t) {
  t->seen = hash(t->seen, mb_run_result(t->run));
  outcome o = { mb_run_step(t->run, 0), mb_run_stats(t->run).fuel_used, t->seen };
  mb_run_free(t->run);
  return o;
}

static outcome run_straight(mb_engine *engine, const char *program) {
  traveller t = start(engine, program);
  while (step(&t, 0))
    ;
  return end(&t);
}

/* ---- floating-point control words */

#if defined(__x86_64__)
enum { DEFAULT = 0x1f80, FLUSH = 0x9fc0, TOWARD_ZERO = 0x7f80, UPWARD = 0x5f80, EXCEPTION_FLAGS = 0x3f };

static void set_control(uint32_t control) {
  _mm_setcsr(control);
}

static uint32_t get_control(void) {
  return _mm_getcsr() & ~(uint32_t)EXCEPTION_FLAGS;
}
#else
enum { DEFAULT = 0, FLUSH = 1 << 24, TOWARD_ZERO = 3 << 22, UPWARD = 1 << 22 };

static void set_control(uint32_t control) {
  __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)control));
}

static uint32_t get_control(void) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return (uint32_t)control;
}
#endif

static const uint32_t controls[THREADS] = { DEFAULT, FLUSH, TOWARD_ZERO, UPWARD };

/* ---- threads that hand the runs on */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t arrival[THREADS];
static traveller *arrived[THREADS], **arrived_end[THREADS];
static unsigned under_way;

static void hand_to(unsigned thread, traveller *t) {
  t->next = NULL;
  *arrived_end[thread] = t;
  arrived_end[thread] = &t->next;
  pthread_cond_signal(&arrival[thread]);
}

/* Waits; NULL: all runs have ended. */
static traveller *take(unsigned thread) {
  pthread_mutex_lock(&lock);
  while (!arrived[thread] && under_way)
    pthread_cond_wait(&arrival[thread], &lock);
  traveller *t = arrived[thread];
  if (t) {
    arrived[thread] = t->next;
    if (!t->next)
      arrived_end[thread] = &arrived[thread];
  }
  pthread_mutex_unlock(&lock);
  return t;
}

static void pass_on(unsigned thread, traveller *t, bool ended) {
  pthread_mutex_lock(&lock);
  if (!ended)
    hand_to((thread + 1 + t->moves++ % (THREADS - 1)) % THREADS, t);
  else if (!--under_way)
    for (unsigned i = 0; i < THREADS; i++)
      pthread_cond_signal(&arrival[i]);
  pthread_mutex_unlock(&lock);
}

/* Gives how many control words were not as they were. */
static void *work(void *number) {
  unsigned thread = (unsigned)(uintptr_t)number;
  uintptr_t changed = 0;
  set_control(controls[thread]);
  for (traveller *t; (t = take(thread));) {
    bool ended = !step(t, 1);
    changed += get_control() != controls[thread];
    pass_on(thread, t, ended);
  }
  set_control(DEFAULT);
  return (void *)changed;
}

static void run_threads(void) {
  pthread_t threads[THREADS];
  for (unsigned i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i);
  for (unsigned i = 0; i < THREADS; i++) {
    void *changed;
    pthread_join(threads[i], &changed);
    CHECK(!changed);
  }
}

static void migrate(mb_engine *engine) {
  outcome straight[PROGRAMS];
  traveller *travellers = calloc(RUNS, sizeof *travellers);
  for (unsigned i = 0; i < THREADS; i++) {
    pthread_cond_init(&arrival[i], NULL);
    arrived_end[i] = &arrived[i];
  }
  for (unsigned i = 0; i < PROGRAMS; i++)
    straight[i] = run_straight(engine, programs[i]);
  for (unsigned i = 0; i < RUNS; i++) {
    travellers[i] = start(engine, programs[i % PROGRAMS]);
    hand_to(i % THREADS, &travellers[i]);
  }
  under_way = RUNS;
  run_threads();
  unsigned long moves = 0;
  for (unsigned i = 0; i < RUNS; i++) {
    moves += travellers[i].moves;
    outcome o = end(&travellers[i]), expected = straight[i % PROGRAMS];
    if (o.status != expected.status || o.fuel != expected.fuel || o.seen != expected.seen)
      fprintf(stderr, "%.60s...: status %d, fuel %lld, not %d, %lld\n", travellers[i].program, o.status,
              (long long)o.fuel, expected.status, (long long)expected.fuel);
    CHECK(o.status == expected.status && o.fuel == expected.fuel && o.seen == expected.seen);
  }
  printf("%lu moves of %d runs\n", moves, RUNS);
  free(travellers);
}

/* Whatever the thread's own control words are. */
static void numbers_are_ieee_754(mb_engine *engine) {
  for (unsigned i = 0; i < THREADS; i++) {
    mb_program program =
        program_of("5e-324 * 3 > 0 && 1e-310 / 2 > 0 && 0.1 + 0.2 === 0.30000000000000004 && 1 / 3 + 2 / 3 === 1");
    set_control(controls[i]);
    mb_run *run = new_run(engine, &program);
    mb_status status = mb_run_step(run, 0);
    set_control(DEFAULT);
    CHECK(status == MB_DONE && result_is(run, (const uint8_t[]){ VALUE_TRUE }, 1));
    mb_run_free(run);
  }
}

static void all(mb_engine *engine) {
  numbers_are_ieee_754(engine);
  migrate(engine);
}

int main(void) {
  on_both_builds(all);
  return checks_done();
}
