/* ext.h: what the files of modebox._core share. No policy lives here: the package decides, this converts and steps. */
#ifndef MODEBOX_EXT_H
#define MODEBOX_EXT_H
#include "python.h"
#include <pthread.h>
#include "../core/modebox.h"

/* What the package gives to the module (src/modebox/_values.py): functions and types. */
typedef enum ext_values {
  EXT_VALUES_PLAIN,
  EXT_VALUES_JS_MAP,
  EXT_VALUES_JS_ENTRIES,
  EXT_VALUES_JS_SET,
  EXT_VALUES_MAP,
  EXT_VALUES_SET,
  EXT_VALUES_DATE,
  EXT_VALUES_REGEXP,
  EXT_VALUES_ERROR,
  EXT_VALUES_NUMBERS,
  EXT_VALUES
} ext_values;

/* What `plain` says a value crosses as. */
typedef enum ext_plain {
  EXT_PLAIN_VALUE,
  EXT_PLAIN_OBJECT,
  EXT_PLAIN_ARRAY,
  EXT_PLAIN_MAP,
  EXT_PLAIN_SET,
  EXT_PLAIN_DATE,
  EXT_PLAIN_REGEXP,
  EXT_PLAIN_ERROR,
  EXT_PLAIN_NUMBERS,
} ext_plain;

/* Of the module. */
typedef struct ext_state {
  pthread_mutex_t lock; /* of `engine` being made */
  mb_engine *engine;    /* made with the first run */
  PyTypeObject *run_type, *completions_type;
  PyObject *undefined;                  /* the one object of its type */
  PyObject *refused, *malformed, *busy; /* exception types */
  PyObject *mapping_type;               /* collections.abc.Mapping */
  PyObject *int_bit_length, *int_to_bytes, *int_from_bytes;
  PyObject *is_signed; /* keyword arguments of the latter two */
  PyObject *values[EXT_VALUES];
} ext_state;

/* module.c: the engine; NULL with an exception set. */
mb_engine *ext_engine(ext_state *state);
/* Sets the exception that `err` stands for. */
void ext_set_error(mb_err err);

/* encode.c: appends `object` as value bytes.
 *   root     what the object is called in messages
 *   errors   false, with an exception set: `refused` names the path and what is wrong there; any exception that the
 *            object's own code raised; MemoryError */
MB_CHECKED bool ext_encode(ext_state *state, mb_writer *writer, PyObject *object, const char *root);
/* Appends an error value with these fields, an exact dict. */
MB_CHECKED bool ext_encode_error(ext_state *state, mb_writer *writer, PyObject *fields);

/* decode.c: one value, hostile bytes; `malformed` is raised for what value.md does not allow, and for one that is larger than
 * limit bytes where every reference is written out. */
PyObject *ext_decode(ext_state *state, mb_view bytes, size_t limit);
/* The fields of an error value, as a dict. */
PyObject *ext_decode_error(ext_state *state, mb_view bytes, size_t limit);

/* text.c: a str as UTF-8 with lone surrogates kept. The view is valid while both `text` and *owner live; *owner is a
 * new reference or NULL. */
MB_CHECKED bool ext_view_text(PyObject *text, mb_view *view, PyObject **owner);
/* UTF-8 in which lone surrogates are three bytes. NULL with a UnicodeDecodeError set: it is something else. */
PyObject *ext_text(mb_view utf8);

/* run.c */
extern PyType_Spec ext_run_spec;

/* workers.c */
extern PyType_Spec ext_completions_spec;
PyObject *ext_runs_under_way(PyObject *module, PyObject *unused);
PyObject *ext_stop_workers(PyObject *module, PyObject *unused);

/* start.c: source, filename, functions, mode, clock_ns, seed, limits, slice_ns; see _core.pyi */
PyObject *ext_start(PyObject *module, PyObject *const *arguments, Py_ssize_t count);

#endif
