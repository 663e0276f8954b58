/* Prints, as JSON, the microseconds of a run that ends well, of one that reads outside its memory, and of one that recurses past
 * its stack: medians of many, in turns. All are programs of tests/c/guests/traps.c and do next to nothing else. A trap
 * costs the instance, so what the run after it takes longer, to make a new one, counts with the trap. */
#define _GNU_SOURCE
#include <time.h>
#include "../tests/c/check.h"

#define RUNS 501

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static double timed_run(mb_engine *engine, const char *source, mb_status expected) {
  mb_program program = program_of(source);
  program.filename = view_of("f");
  double start = now_us();
  mb_run *run = new_run(engine, &program);
  mb_status status = mb_run_step(run, 0);
  mb_run_free(run);
  double elapsed = now_us() - start;
  if (status != expected)
    exit(1);
  return elapsed;
}

static int ascending(const void *a, const void *b) {
  double left = *(const double *)a, right = *(const double *)b;
  return (left > right) - (left < right);
}

static double median(double *times) {
  qsort(times, RUNS, sizeof *times, ascending);
  return times[RUNS / 2];
}

/* A trapped run, with the one after it, less what that takes in an instance that is there. */
static double timed_trap(mb_engine *engine, const char *source, double sound) {
  double trapped = timed_run(engine, source, MB_TRAP);
  return trapped + timed_run(engine, "fine", MB_DONE) - sound;
}

int main(void) {
  static double sound[RUNS], outside[RUNS], recursion[RUNS];
  mb_engine *engine = new_engine(MB_MEMORY_GUARD);
  for (int i = 0; i < RUNS; i++) {
    sound[i] = timed_run(engine, "fine", MB_DONE);
    outside[i] = timed_trap(engine, "read far", sound[i]);
    recursion[i] = timed_trap(engine, "recurse", sound[i]);
  }
  printf("[%.2f, %.2f, %.2f]\n", median(sound), median(outside), median(recursion));
  return 0;
}
