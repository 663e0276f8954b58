/* run.h: modebox._core.Run, for run.c and start.c. */
#ifndef MODEBOX_EXT_RUN_H
#define MODEBOX_EXT_RUN_H
#include "ext.h"
#include <stdatomic.h>

typedef struct ext_run {
  PyObject_HEAD
  mb_run *run;      /* set as long as the object can be reached */
  mb_status status; /* of the last step */
  atomic_bool busy;
  size_t value_limit;
  int64_t clock_ns, started_ns; /* what the program's clock showed, and the monotonic clock at that moment */
  bool holds_clock;             /* host calls take no time on the program's clock */
  int64_t instantiate_ns;
  PyObject *logs; /* entries not yet taken; may be NULL */
  mb_job job;
  PyObject *completions; /* set while the run is with the workers */
} ext_run;

/* A run is used by one thread at a time. false: `busy` is raised. */
MB_CHECKED bool ext_run_enter(ext_run *self);
void ext_run_leave(ext_run *self);

/* workers.c */
PyObject *ext_run_submit(PyObject *self, PyObject *completions);
PyObject *ext_run_withdraw(PyObject *self, PyObject *unused);
void ext_run_withdraw_last(ext_run *self);

int64_t ext_monotonic_ns(void);
/* false: an exception is set. */
MB_CHECKED bool ext_read_i64(PyObject *object, int64_t *out);
/* Moves the core's log entries to `logs`; after each step. false: an exception is set. */
MB_CHECKED bool ext_run_collect_logs(ext_run *self);

#endif
