/* run.c: modebox._core.Run, one mb_run seen from Python. Its methods convert and step; what to do next is decided in
 * the package. A run is used by one thread at a time (`busy`); only abort and end may come from another. */
#include "gil.h"
#include "run.h"
#include <structmember.h>
#include <time.h>

/* Beside a busy Python thread a released GIL comes back after milliseconds: what is short keeps it. */
static const int64_t GIL_SLICE_NS = 50 * 1000;
static const size_t GIL_VALUE_SIZE = 64 * 1024;

int64_t ext_monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static ext_state *state_of(ext_run *self) {
  return PyType_GetModuleState(Py_TYPE(self));
}

bool ext_run_enter(ext_run *self) {
  if (!atomic_exchange(&self->busy, true))
    return true;
  PyErr_SetString(state_of(self)->busy, "another thread uses the run");
  return false;
}

void ext_run_leave(ext_run *self) {
  atomic_store(&self->busy, false);
}

bool ext_read_i64(PyObject *object, int64_t *out) {
  *out = PyLong_AsLongLong(object);
  return *out != -1 || !PyErr_Occurred();
}

/* ---- logs */

/* The guest is hostile: what is not UTF-8 is shown as well as can be. */
static PyObject *log_text(mb_view message) {
  PyObject *text = ext_text(message);
  if (text || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
    return text;
  PyErr_Clear();
  return PyUnicode_DecodeUTF8((const char *)message.data, (Py_ssize_t)message.size, "replace");
}

static bool append_log(ext_run *self, mb_log entry) {
  if (!self->logs && !(self->logs = PyList_New(0)))
    return false;
  PyObject *text = log_text(entry.message);
  PyObject *pair = text ? Py_BuildValue("(iN)", (int)entry.level, text) : NULL;
  bool ok = pair && PyList_Append(self->logs, pair) == 0;
  Py_XDECREF(pair);
  return ok;
}

bool ext_run_collect_logs(ext_run *self) {
  mb_log entry;
  while (mb_run_next_log(self->run, &entry))
    if (!append_log(self, entry))
      return false;
  return true;
}

/* ---- stepping */

/* Ends what enter() began. */
static PyObject *after_step(ext_run *self) {
  bool ok = ext_run_collect_logs(self);
  ext_run_leave(self);
  return ok ? PyLong_FromLong(self->status) : NULL;
}

static void step_without_gil(ext_run *self, int64_t slice_ns) {
  PyThreadState *thread = ext_gil_release();
  self->status = mb_run_step(self->run, slice_ns);
  ext_gil_take(thread);
}

static PyObject *run_step(PyObject *object, PyObject *slice) {
  ext_run *self = (ext_run *)object;
  int64_t slice_ns;
  if (!ext_read_i64(slice, &slice_ns) || !ext_run_enter(self))
    return NULL;
  step_without_gil(self, slice_ns);
  return after_step(self);
}

static int64_t clock_now(const ext_run *self) {
  return self->holds_clock ? self->clock_ns : self->clock_ns + (ext_monotonic_ns() - self->started_ns);
}

static PyObject *run_hold_clock(PyObject *self, PyObject *unused) {
  (void)unused;
  ((ext_run *)self)->holds_clock = true;
  Py_RETURN_NONE;
}

static mb_err settle_with_gil(ext_run *self, uint64_t call, guest_outcome outcome, mb_view value, int64_t slice_ns) {
  mb_err err = mb_run_settle(self->run, call, outcome, value, clock_now(self));
  if (err)
    return err;
  bool is_short = slice_ns > 0 && slice_ns <= GIL_SLICE_NS;
  self->status = mb_run_step(self->run, is_short ? slice_ns : GIL_SLICE_NS);
  if (self->status == MB_YIELDED && !is_short)
    step_without_gil(self, slice_ns > 0 ? slice_ns - GIL_SLICE_NS : slice_ns);
  return MB_OK;
}

static mb_err settle_without_gil(ext_run *self, uint64_t call, guest_outcome outcome, mb_view value, int64_t slice_ns) {
  mb_err err;
  PyThreadState *thread = ext_gil_release();
  err = mb_run_settle(self->run, call, outcome, value, clock_now(self));
  if (!err)
    self->status = mb_run_step(self->run, slice_ns);
  ext_gil_take(thread);
  return err;
}

static bool encode_outcome(ext_run *self, mb_writer *writer, guest_outcome outcome, PyObject *value) {
  if (outcome == GUEST_RETURNED)
    return ext_encode(state_of(self), writer, value, "result");
  return ext_encode_error(state_of(self), writer, value);
}

static bool settle_and_step(ext_run *self, uint64_t call, guest_outcome outcome, PyObject *value, int64_t slice_ns) {
  mb_writer writer;
  mb_writer_init(&writer, self->value_limit);
  bool ok = encode_outcome(self, &writer, outcome, value);
  if (ok) {
    mb_view bytes = mb_writer_view(&writer);
    bool is_small = bytes.size <= GIL_VALUE_SIZE;
    mb_err err = (is_small ? settle_with_gil : settle_without_gil)(self, call, outcome, bytes, slice_ns);
    if (err)
      ext_set_error(err);
    ok = !err;
  }
  mb_writer_free(&writer);
  return ok;
}

static PyObject *settle(ext_run *self, PyObject *const *arguments, Py_ssize_t count, guest_outcome outcome) {
  int64_t call, slice_ns;
  if (count != 3)
    return PyErr_Format(PyExc_TypeError, "expected call_id, value, slice_ns");
  if (!ext_read_i64(arguments[0], &call) || !ext_read_i64(arguments[2], &slice_ns) || !ext_run_enter(self))
    return NULL;
  if (settle_and_step(self, (uint64_t)call, outcome, arguments[1], slice_ns))
    return after_step(self);
  ext_run_leave(self);
  return NULL;
}

static PyObject *run_settle(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  return settle((ext_run *)self, arguments, count, GUEST_RETURNED);
}

static PyObject *run_settle_error(PyObject *self, PyObject *const *arguments, Py_ssize_t count) {
  if (count == 3 && !PyDict_CheckExact(arguments[1]))
    return PyErr_Format(PyExc_TypeError, "the fields of an error must be a dict");
  return settle((ext_run *)self, arguments, count, GUEST_RAISED);
}

static PyObject *run_abort(PyObject *object, PyObject *unused) {
  (void)unused;
  mb_run_abort(((ext_run *)object)->run);
  Py_RETURN_NONE;
}

static PyObject *run_end(PyObject *object, PyObject *unused) {
  ext_run *self = (ext_run *)object;
  (void)unused;
  mb_run_abort(self->run);
  PyObject *withdrawn = ext_run_withdraw(object, NULL);
  if (!withdrawn)
    return NULL;
  Py_DECREF(withdrawn);
  if (!atomic_exchange(&self->busy, true)) {
    step_without_gil(self, 1);
    ext_run_leave(self);
  }
  Py_RETURN_NONE;
}

/* ---- reading */

/* Takes the references; all but NULL. */
static PyObject *triple(PyObject *a, PyObject *b, PyObject *c) {
  PyObject *tuple = a && b && c ? PyTuple_New(3) : NULL;
  if (!tuple) {
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(c);
    return NULL;
  }
  (void)PyTuple_SetItem(tuple, 0, a);
  (void)PyTuple_SetItem(tuple, 1, b);
  (void)PyTuple_SetItem(tuple, 2, c);
  return tuple;
}

static PyObject *decode_arguments(ext_run *self, mb_view bytes) {
  PyObject *list = ext_decode(state_of(self), bytes, self->value_limit);
  if (!list || PyList_CheckExact(list))
    return list;
  Py_DECREF(list);
  PyErr_SetString(state_of(self)->malformed, "malformed arguments");
  return NULL;
}

static PyObject *run_next_call(PyObject *object, PyObject *unused) {
  ext_run *self = (ext_run *)object;
  (void)unused;
  mb_call call;
  if (!ext_run_enter(self))
    return NULL;
  PyObject *result = NULL;
  if (!mb_run_next_call(self->run, &call)) {
    Py_INCREF(Py_None);
    result = Py_None;
  } else {
    PyObject *list = decode_arguments(self, call.arguments);
    if (list)
      result = triple(PyLong_FromUnsignedLongLong(call.id), PyLong_FromUnsignedLong(call.function), list);
  }
  ext_run_leave(self);
  return result;
}

static PyObject *run_take_logs(PyObject *object, PyObject *unused) {
  ext_run *self = (ext_run *)object;
  (void)unused;
  if (!ext_run_enter(self))
    return NULL;
  PyObject *logs = self->logs;
  self->logs = NULL;
  ext_run_leave(self);
  return logs ? logs : PyList_New(0);
}

static PyObject *read_result(ext_run *self, PyObject *(*decode)(ext_state *, mb_view, size_t), size_t room) {
  if (!ext_run_enter(self))
    return NULL;
  PyObject *result = decode(state_of(self), mb_run_result(self->run), self->value_limit + room);
  ext_run_leave(self);
  return result;
}

static PyObject *run_value(PyObject *self, PyObject *unused) {
  (void)unused;
  return read_result((ext_run *)self, ext_decode, 0);
}

static PyObject *run_error(PyObject *self, PyObject *unused) {
  (void)unused;
  return read_result((ext_run *)self, ext_decode_error, GUEST_ERROR_ROOM);
}

static PyObject *run_outcome(PyObject *object, PyObject *unused) {
  ext_run *self = (ext_run *)object;
  (void)unused;
  if (!ext_run_enter(self))
    return NULL;
  int error_kind = mb_run_error_kind(self->run), limit = mb_run_limit(self->run), trap = mb_run_trap(self->run);
  ext_run_leave(self);
  return Py_BuildValue("(iii)", error_kind, limit, trap);
}

static PyObject *run_stats(PyObject *object, PyObject *unused) {
  ext_run *self = (ext_run *)object;
  (void)unused;
  if (!ext_run_enter(self))
    return NULL;
  mb_stats stats = mb_run_stats(self->run);
  ext_run_leave(self);
  return Py_BuildValue("(LLLKIIKL)", (long long)self->instantiate_ns, (long long)stats.guest_ns,
                       (long long)stats.fuel_used, (unsigned long long)stats.memory_bytes, stats.host_calls,
                       stats.logs_dropped, (unsigned long long)stats.log_bytes_dropped,
                       (long long)stats.longest_unchecked);
}

/* ---- the type */

static void run_dealloc(PyObject *object) {
  ext_run *self = (ext_run *)object;
  PyTypeObject *type = Py_TYPE(object);
  ext_run_withdraw_last(self);
  if (self->run)
    mb_run_free(self->run);
  Py_XDECREF(self->logs);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyMethodDef run_methods[] = {
  { "step", run_step, METH_O, NULL },
  { "next_call", run_next_call, METH_NOARGS, NULL },
  { "settle", (PyCFunction)(void (*)(void))run_settle, METH_FASTCALL, NULL },
  { "settle_error", (PyCFunction)(void (*)(void))run_settle_error, METH_FASTCALL, NULL },
  { "hold_clock", run_hold_clock, METH_NOARGS, NULL },
  { "take_logs", run_take_logs, METH_NOARGS, NULL },
  { "value", run_value, METH_NOARGS, NULL },
  { "error", run_error, METH_NOARGS, NULL },
  { "outcome", run_outcome, METH_NOARGS, NULL },
  { "stats", run_stats, METH_NOARGS, NULL },
  { "abort", run_abort, METH_NOARGS, NULL },
  { "end", run_end, METH_NOARGS, NULL },
  { "submit", ext_run_submit, METH_O, NULL },
  { "withdraw", ext_run_withdraw, METH_NOARGS, NULL },
  { NULL, NULL, 0, NULL },
};

static PyMemberDef run_members[] = {
  { "status", T_INT, offsetof(ext_run, status), READONLY, NULL },
  { NULL, 0, 0, 0, NULL },
};

static PyType_Slot run_slots[] = {
  { Py_tp_doc, (void *)PyDoc_STR("One run of a program; made by start().") },
  { Py_tp_dealloc, (void *)run_dealloc },
  { Py_tp_methods, run_methods },
  { Py_tp_members, run_members },
  { 0, NULL },
};

PyType_Spec ext_run_spec = {
  .name = "modebox._core.Run",
  .basicsize = sizeof(ext_run),
  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .slots = run_slots,
};
