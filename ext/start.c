/* start.c: modebox._core.start, which makes a Run and steps it once. */
#include "gil.h"
#include "run.h"
#include <stdlib.h>

typedef struct start_arguments {
  mb_program program;
  PyObject *source_owner, *filename_owner;
  mb_view *functions, few[16];
  int64_t slice_ns;
} start_arguments;

static bool read_functions(start_arguments *a, PyObject *names) {
  Py_ssize_t count = PyTuple_Size(names);
  if (count < 0)
    return false;
  a->functions =
      (size_t)count <= sizeof a->few / sizeof *a->few ? a->few : malloc((size_t)count * sizeof *a->functions);
  if (!a->functions) {
    PyErr_NoMemory();
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    Py_ssize_t size;
    const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), &size);
    if (!name)
      return false;
    a->functions[i] = (mb_view){ (const uint8_t *)name, (size_t)size };
  }
  a->program.functions = a->functions;
  a->program.function_count = (uint32_t)count;
  return true;
}

static bool read_limits(mb_limits *limits, PyObject *tuple) {
  int64_t v[7];
  if (PyTuple_Size(tuple) != 7) {
    PyErr_SetString(PyExc_TypeError, "expected seven limits");
    return false;
  }
  for (int i = 0; i < 7; i++)
    if (!ext_read_i64(PyTuple_GetItem(tuple, i), &v[i]))
      return false;
  for (int i = 3; i < 7; i++)
    if (v[i] < 0 || v[i] > UINT32_MAX)
      v[i] = UINT32_MAX;
  *limits = (mb_limits){ .fuel = v[0],
                         .timeout_ns = v[1],
                         .cpu_ns = v[2],
                         .memory_bytes = (uint32_t)v[3],
                         .value_bytes = (uint32_t)v[4],
                         .log_bytes = (uint32_t)v[5],
                         .host_calls = (uint32_t)v[6] };
  return true;
}

static bool read_seed(mb_program *program, PyObject *seed) {
  char *data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(seed, &data, &size) < 0)
    return false;
  if (size != GUEST_SEED_SIZE) {
    PyErr_SetString(PyExc_ValueError, "a seed has 32 bytes");
    return false;
  }
  for (int i = 0; i < GUEST_SEED_SIZE; i++)
    program->seed[i] = (uint8_t)data[i];
  return true;
}

/* source, filename, functions, mode, clock_ns, seed, limits, slice_ns */
static bool read_arguments(start_arguments *a, PyObject *const *arguments) {
  int64_t mode;
  if (!ext_view_text(arguments[0], &a->program.source, &a->source_owner) ||
      !ext_view_text(arguments[1], &a->program.filename, &a->filename_owner) || !read_functions(a, arguments[2]) ||
      !ext_read_i64(arguments[3], &mode) || !ext_read_i64(arguments[4], &a->program.clock_ns) ||
      !read_seed(&a->program, arguments[5]) || !read_limits(&a->program.limits, arguments[6]))
    return false;
  a->program.mode = (guest_mode)mode;
  return ext_read_i64(arguments[7], &a->slice_ns);
}

static void free_arguments(start_arguments *a) {
  Py_XDECREF(a->source_owner);
  Py_XDECREF(a->filename_owner);
  if (a->functions != a->few)
    free(a->functions);
}

/* Made, run for its first slice, and where that was enough ended and copied out, in one section without the GIL. */
static mb_err begin(ext_run *self, mb_engine *engine, const start_arguments *a) {
  mb_err err;
  self->value_limit = a->program.limits.value_bytes;
  self->clock_ns = a->program.clock_ns;
  PyThreadState *thread = ext_gil_release();
  self->started_ns = ext_monotonic_ns();
  err = mb_run_new(&self->run, engine, &a->program);
  self->instantiate_ns = ext_monotonic_ns() - self->started_ns;
  if (!err)
    self->status = mb_run_step(self->run, a->slice_ns);
  ext_gil_take(thread);
  return err;
}

static PyObject *start_run(ext_state *state, const start_arguments *a) {
  mb_engine *engine = ext_engine(state);
  ext_run *self = engine ? (ext_run *)PyType_GenericAlloc(state->run_type, 0) : NULL;
  if (!self)
    return NULL;
  mb_err err = begin(self, engine, a);
  if (err)
    ext_set_error(err);
  if (err || !ext_run_collect_logs(self))
    Py_CLEAR(self);
  return (PyObject *)self;
}

PyObject *ext_start(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 8)
    return PyErr_Format(PyExc_TypeError, "expected eight arguments");
  start_arguments a = { .slice_ns = 0 };
  a.functions = a.few;
  PyObject *run = read_arguments(&a, arguments) ? start_run(PyModule_GetState(module), &a) : NULL;
  free_arguments(&a);
  return run;
}
