/* check.h: what the C tests share. A test is a program: exit code 0, or the failed checks on stderr. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../core/modebox.h"

/* 1: every engine is of the bounds build; the other is not linked, or cannot run there (tools/test_aarch64.py). */
#ifndef BOUNDS_ONLY
#define BOUNDS_ONLY 0
#endif

static int checks_failed, checks_passed;

#define CHECK(condition) check(condition, #condition, __FILE__, __LINE__)

static inline void check(bool ok, const char *text, const char *file, int line) {
  checks_passed += ok;
  checks_failed += !ok;
  if (!ok)
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, text);
}

/* Prints the plain closing line and gives main's return value. */
static inline int checks_done(void) {
  printf("%d passed, %d failed\n", checks_passed, checks_failed);
  return checks_failed != 0;
}

static inline mb_view view_of(const char *text) {
  return (mb_view){ (const uint8_t *)text, strlen(text) };
}

static inline mb_limits generous_limits(void) {
  return (mb_limits){
    .fuel = MB_NO_LIMIT,
    .timeout_ns = MB_NO_LIMIT,
    .cpu_ns = MB_NO_LIMIT,
    .memory_bytes = 64 << 20,
    .value_bytes = 16 << 20,
    .log_bytes = 1 << 20,
    .host_calls = 1000,
  };
}

static inline mb_program program_of(const char *source) {
  return (mb_program){ .source = view_of(source),
                       .filename = view_of("agent.ts"),
                       .clock_ns = 1700000000000000000,
                       .seed = { 1, 2, 3 },
                       .limits = generous_limits() };
}

static inline mb_engine *new_engine(mb_memory_kind kind) {
  mb_engine *engine;
  mb_engine_config config = { .memory = BOUNDS_ONLY ? MB_MEMORY_BOUNDS : kind };
  mb_err err = mb_engine_new(&engine, &config);
  if (err) {
    fprintf(stderr, "mb_engine_new: error %d\n", err);
    exit(1);
  }
  return engine;
}

static inline mb_run *new_run(mb_engine *engine, const mb_program *program) {
  mb_run *run;
  mb_err err = mb_run_new(&run, engine, program);
  if (err) {
    fprintf(stderr, "mb_run_new: error %d\n", err);
    exit(1);
  }
  return run;
}

static inline bool result_is(const mb_run *run, const void *bytes, size_t size) {
  mb_view result = mb_run_result(run);
  return result.size == size && !memcmp(result.data, bytes, size);
}

/* Does the result hold this text? */
static inline bool result_has(const mb_run *run, const char *text) {
  mb_view result = mb_run_result(run);
  for (size_t i = 0; i + strlen(text) <= result.size; i++)
    if (!memcmp(result.data + i, text, strlen(text)))
      return true;
  return false;
}

/* Runs `test` on both builds of the guest. */
static inline void on_both_builds(void (*test)(mb_engine *engine)) {
  static const mb_memory_kind kinds[] = { MB_MEMORY_GUARD, MB_MEMORY_BOUNDS };
  for (unsigned i = BOUNDS_ONLY; i < 2; i++) {
    mb_engine *engine = new_engine(kinds[i]);
    test(engine);
    mb_engine_free(engine);
  }
}

#endif
