/* workers.c: modebox._core.Completions, and handing runs to the core's workers. While a run is with them it is busy;
 * they know nothing of Python: the event loop watches the file and takes what is through. */
#include "run.h"

typedef struct ext_completions {
  PyObject_HEAD
  mb_completions *completions;
} ext_completions;

/* The run is the caller's again. A job that was withdrawn before its slice has the status from before. */
static bool take_back(ext_run *run) {
  Py_CLEAR(run->completions);
  run->status = run->job.status;
  bool ok = ext_run_collect_logs(run);
  ext_run_leave(run);
  return ok;
}

PyObject *ext_run_submit(PyObject *object, PyObject *argument) {
  ext_run *run = (ext_run *)object;
  ext_state *state = PyType_GetModuleState(Py_TYPE(object));
  if (!PyObject_TypeCheck(argument, state->completions_type))
    return PyErr_Format(PyExc_TypeError, "expected Completions");
  if (!ext_run_enter(run))
    return NULL;
  ext_completions *completions = (ext_completions *)argument;
  run->job = (mb_job){ .run = run->run, .completions = completions->completions, .owner = run, .status = run->status };
  mb_err err = mb_job_submit(&run->job);
  if (err) {
    ext_run_leave(run);
    ext_set_error(err);
    return NULL;
  }
  run->completions = Py_NewRef(argument);
  Py_RETURN_NONE;
}

PyObject *ext_run_withdraw(PyObject *object, PyObject *unused) {
  ext_run *run = (ext_run *)object;
  (void)unused;
  if (!run->completions)
    Py_RETURN_NONE;
  Py_BEGIN_ALLOW_THREADS
  mb_job_withdraw(&run->job);
  Py_END_ALLOW_THREADS
  if (run->completions && !take_back(run)) /* else it was taken meanwhile */
    return NULL;
  Py_RETURN_NONE;
}

/* Nobody holds the run any more: it ends within a few ticks. The lock stays held, so that nobody can take it now. */
void ext_run_withdraw_last(ext_run *run) {
  if (!run->completions)
    return;
  mb_run_abort(run->run);
  mb_job_withdraw(&run->job);
  Py_CLEAR(run->completions);
}

/* ---- Completions */

static PyObject *completions_take(PyObject *object, PyObject *unused) {
  (void)unused;
  PyObject *runs = PyList_New(0);
  mb_job *job;
  while (runs && (job = mb_job_take(((ext_completions *)object)->completions))) {
    PyObject *run = Py_NewRef((PyObject *)job->owner);
    if (!take_back((ext_run *)run) || PyList_Append(runs, run) < 0)
      Py_CLEAR(runs);
    Py_DECREF(run);
  }
  return runs;
}

static PyObject *completions_fileno(PyObject *object, PyObject *unused) {
  (void)unused;
  return PyLong_FromLong(mb_completions_file(((ext_completions *)object)->completions));
}

static PyObject *completions_new(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  if (PyTuple_Size(arguments) || keywords)
    return PyErr_Format(PyExc_TypeError, "Completions takes no arguments");
  mb_completions *completions;
  mb_err err = mb_completions_new(&completions);
  if (err) {
    ext_set_error(err);
    return NULL;
  }
  ext_completions *self = (ext_completions *)PyType_GenericAlloc(type, 0);
  if (self)
    self->completions = completions;
  else
    mb_completions_free(completions);
  return (PyObject *)self;
}

/* Runs hold it while they are with the workers: none is. */
static void completions_dealloc(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  mb_completions_free(((ext_completions *)object)->completions);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef completions_methods[] = {
  { "take", completions_take, METH_NOARGS, NULL },
  { "fileno", completions_fileno, METH_NOARGS, NULL },
  { NULL, NULL, 0, NULL },
};

static PyType_Slot completions_slots[] = {
  { Py_tp_doc, (void *)PyDoc_STR("Where runs arrive that the workers are through with.") },
  { Py_tp_new, (void *)completions_new },
  { Py_tp_dealloc, (void *)completions_dealloc },
  { Py_tp_methods, completions_methods },
  { 0, NULL },
};

PyType_Spec ext_completions_spec = {
  .name = "modebox._core.Completions",
  .basicsize = sizeof(ext_completions),
  .flags = Py_TPFLAGS_DEFAULT,
  .slots = completions_slots,
};

/* ---- the module's functions */

PyObject *ext_runs_under_way(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  return PyLong_FromUnsignedLong(mb_jobs_under_way());
}

PyObject *ext_stop_workers(PyObject *module, PyObject *unused) {
  (void)module, (void)unused;
  Py_BEGIN_ALLOW_THREADS
  mb_workers_stop();
  Py_END_ALLOW_THREADS
  Py_RETURN_NONE;
}
