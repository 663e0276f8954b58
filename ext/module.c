/* module.c: the module modebox._core, its state and its plain functions. */
#include "ext.h"

/* ---- UNDEFINED */

static PyObject *undefined_repr(PyObject *self) {
  (void)self;
  return PyUnicode_FromString("UNDEFINED");
}

static int undefined_bool(PyObject *self) {
  (void)self;
  return 0;
}

/* Pickled and copied by name: there is only one. */
static PyObject *undefined_reduce(PyObject *self, PyObject *unused) {
  (void)unused;
  return undefined_repr(self);
}

static PyMethodDef undefined_methods[] = {
  { "__reduce__", undefined_reduce, METH_NOARGS, NULL },
  { NULL, NULL, 0, NULL },
};

static PyType_Slot undefined_slots[] = {
  { Py_tp_doc, (void *)PyDoc_STR("The type of UNDEFINED.") },
  { Py_tp_repr, (void *)undefined_repr },
  { Py_nb_bool, (void *)undefined_bool },
  { Py_tp_methods, undefined_methods },
  { 0, NULL },
};

static PyType_Spec undefined_spec = {
  .name = "modebox.UndefinedType",
  .basicsize = sizeof(PyObject),
  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
  .slots = undefined_slots,
};

/* ---- engine */

void ext_set_error(mb_err err) {
  if (err == MB_ERR_NO_MEMORY)
    PyErr_NoMemory();
  else if (err == MB_ERR_SYSTEM)
    PyErr_SetFromErrno(PyExc_OSError);
  else if (err == MB_ERR_TOO_LARGE)
    PyErr_SetString(PyExc_OverflowError, "larger than the sandbox has room for");
  else
    PyErr_SetString(PyExc_RuntimeError, "the run does not allow this now");
}

/* The GIL, where there is one, is kept: an image takes a few milliseconds, once. */
mb_engine *ext_engine(ext_state *state) {
  mb_err err = MB_OK;
  pthread_mutex_lock(&state->lock);
  if (!state->engine)
    err = mb_engine_new(&state->engine, NULL);
  mb_engine *engine = state->engine;
  pthread_mutex_unlock(&state->lock);
  if (err)
    ext_set_error(err);
  return engine;
}

/* ---- values */

static PyObject *module_encode(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  if (count != 2)
    return PyErr_Format(PyExc_TypeError, "encode(value, limit)");
  size_t limit = PyLong_AsSize_t(arguments[1]);
  if (PyErr_Occurred())
    return NULL;
  mb_writer writer;
  mb_writer_init(&writer, limit);
  PyObject *bytes = NULL;
  if (ext_encode(PyModule_GetState(module), &writer, arguments[0], "value")) {
    mb_view view = mb_writer_view(&writer);
    bytes = PyBytes_FromStringAndSize((const char *)view.data, (Py_ssize_t)view.size);
  }
  mb_writer_free(&writer);
  return bytes;
}

static PyObject *module_decode(PyObject *module, PyObject *const *arguments, Py_ssize_t count) {
  char *data;
  Py_ssize_t size;
  if (count < 1 || count > 2)
    return PyErr_Format(PyExc_TypeError, "decode(data, limit)");
  size_t limit = count == 2 ? PyLong_AsSize_t(arguments[1]) : SIZE_MAX;
  if (PyErr_Occurred() || PyBytes_AsStringAndSize(arguments[0], &data, &size) < 0)
    return NULL;
  return ext_decode(PyModule_GetState(module), (mb_view){ (const uint8_t *)data, (size_t)size }, limit);
}

static PyObject *module_set_values(PyObject *module, PyObject *values) {
  static const char *const names[EXT_VALUES] = {
    [EXT_VALUES_PLAIN] = "plain",     [EXT_VALUES_JS_MAP] = "JsMap",  [EXT_VALUES_JS_ENTRIES] = "JsEntries",
    [EXT_VALUES_JS_SET] = "JsSet",    [EXT_VALUES_MAP] = "map",       [EXT_VALUES_SET] = "set",
    [EXT_VALUES_DATE] = "date",       [EXT_VALUES_REGEXP] = "regexp", [EXT_VALUES_ERROR] = "error",
    [EXT_VALUES_NUMBERS] = "numbers",
  };
  ext_state *state = PyModule_GetState(module);
  for (int i = 0; i < EXT_VALUES; i++) {
    PyObject *value = PyMapping_GetItemString(values, names[i]);
    if (!value)
      return NULL;
    PyObject *before = state->values[i];
    state->values[i] = value;
    Py_XDECREF(before);
  }
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
  { "start", (PyCFunction)(void (*)(void))ext_start, METH_FASTCALL, NULL },
  { "encode", (PyCFunction)(void (*)(void))module_encode, METH_FASTCALL, NULL },
  { "decode", (PyCFunction)(void (*)(void))module_decode, METH_FASTCALL, NULL },
  { "set_values", module_set_values, METH_O, NULL },
  { "runs_under_way", ext_runs_under_way, METH_NOARGS, NULL },
  { "stop_workers", ext_stop_workers, METH_NOARGS, NULL },
  { NULL, NULL, 0, NULL },
};

/* ---- module */

static PyObject *member_of(const char *module_name, const char *name) {
  PyObject *module = PyImport_ImportModule(module_name);
  PyObject *member = module ? PyObject_GetAttrString(module, name) : NULL;
  Py_XDECREF(module);
  return member;
}

static int add_type(PyObject *module, PyTypeObject **out, PyType_Spec *spec, const char *name) {
  *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
  return *out ? PyModule_AddObjectRef(module, name, (PyObject *)*out) : -1;
}

static int add_exception(PyObject *module, PyObject **out, const char *full_name, const char *name, PyObject *base) {
  *out = PyErr_NewException(full_name, base, NULL);
  return *out ? PyModule_AddObjectRef(module, name, *out) : -1;
}

static int add_types(PyObject *module, ext_state *state) {
  PyTypeObject *undefined_type;
  if (add_type(module, &state->run_type, &ext_run_spec, "Run") < 0 ||
      add_type(module, &state->completions_type, &ext_completions_spec, "Completions") < 0 ||
      add_type(module, &undefined_type, &undefined_spec, "UndefinedType") < 0)
    return -1;
  state->undefined = PyType_GenericAlloc(undefined_type, 0);
  Py_DECREF(undefined_type);
  if (!state->undefined || PyModule_AddObjectRef(module, "UNDEFINED", state->undefined) < 0)
    return -1;
  if (add_exception(module, &state->refused, "modebox._core.RefusedError", "RefusedError", PyExc_TypeError) < 0)
    return -1;
  if (add_exception(module, &state->malformed, "modebox._core.MalformedError", "MalformedError", PyExc_ValueError) < 0)
    return -1;
  return add_exception(module, &state->busy, "modebox._core.BusyError", "BusyError", PyExc_RuntimeError);
}

static int find_members(ext_state *state) {
  state->mapping_type = member_of("_collections_abc", "Mapping");
  state->int_bit_length = PyObject_GetAttrString((PyObject *)&PyLong_Type, "bit_length");
  state->int_to_bytes = PyObject_GetAttrString((PyObject *)&PyLong_Type, "to_bytes");
  state->int_from_bytes = PyObject_GetAttrString((PyObject *)&PyLong_Type, "from_bytes");
  state->is_signed = Py_BuildValue("{s:O}", "signed", Py_True);
  bool found = state->mapping_type && state->int_bit_length && state->int_to_bytes && state->int_from_bytes;
  return found && state->is_signed ? 0 : -1;
}

static int module_exec(PyObject *module) {
  ext_state *state = PyModule_GetState(module);
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
    PyErr_SetString(PyExc_ImportError, "modebox works in the main interpreter only, not in subinterpreters");
    return -1;
  }
  pthread_mutex_init(&state->lock, NULL);
  return add_types(module, state) < 0 ? -1 : find_members(state);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg) {
  ext_state *state = PyModule_GetState(module);
  Py_VISIT(state->run_type);
  Py_VISIT(state->completions_type);
  Py_VISIT(state->undefined);
  Py_VISIT(state->refused);
  Py_VISIT(state->malformed);
  Py_VISIT(state->busy);
  Py_VISIT(state->mapping_type);
  Py_VISIT(state->int_bit_length);
  Py_VISIT(state->int_to_bytes);
  Py_VISIT(state->int_from_bytes);
  Py_VISIT(state->is_signed);
  for (int i = 0; i < EXT_VALUES; i++)
    Py_VISIT(state->values[i]);
  return 0;
}

static int module_clear(PyObject *module) {
  ext_state *state = PyModule_GetState(module);
  Py_CLEAR(state->run_type);
  Py_CLEAR(state->completions_type);
  Py_CLEAR(state->undefined);
  Py_CLEAR(state->refused);
  Py_CLEAR(state->malformed);
  Py_CLEAR(state->busy);
  Py_CLEAR(state->mapping_type);
  Py_CLEAR(state->int_bit_length);
  Py_CLEAR(state->int_to_bytes);
  Py_CLEAR(state->int_from_bytes);
  Py_CLEAR(state->is_signed);
  for (int i = 0; i < EXT_VALUES; i++)
    Py_CLEAR(state->values[i]);
  return 0;
}

/* Runs hold their type, which holds the module: none is left. */
static void module_free(void *module) {
  ext_state *state = PyModule_GetState(module);
  module_clear(module);
  if (state->engine)
    mb_engine_free(state->engine);
}

static PyModuleDef_Slot slots[] = {
  { Py_mod_exec, (void *)module_exec },
#ifdef Py_GIL_DISABLED
  { Py_mod_gil, Py_MOD_GIL_NOT_USED },
#endif
  { 0, NULL },
};

static PyModuleDef definition = {
  PyModuleDef_HEAD_INIT,
  .m_name = "modebox._core",
  .m_doc = PyDoc_STR("Runs and values of the sandbox, for the package alone."),
  .m_size = sizeof(ext_state),
  .m_methods = methods,
  .m_slots = slots,
  .m_traverse = module_traverse,
  .m_clear = module_clear,
  .m_free = module_free,
};

PyMODINIT_FUNC PyInit__core(void);

PyMODINIT_FUNC PyInit__core(void) {
  return PyModuleDef_Init(&definition);
}
