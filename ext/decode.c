/* decode.c: value bytes -> Python objects. The bytes are hostile: depth is counted here, all else in core/value.c. */
#include "ext.h"
#include <stdlib.h>

typedef struct decoder {
  ext_state *state;
  mb_reader reader;
  /* the key table: owned strings, by index */
  PyObject **keys;
  size_t key_count, key_capacity;
} decoder;

static PyObject *decode(decoder *d, unsigned depth);

static PyObject *malformed(decoder *d) {
  PyErr_SetString(d->state->malformed, "malformed value bytes");
  return NULL;
}

static PyObject *decode_text(decoder *d, mb_view utf8) {
  PyObject *text = ext_text(utf8);
  if (!text && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
    return malformed(d);
  return text;
}

static PyObject *decode_bigint(decoder *d, mb_view bytes) {
  PyObject *arguments = Py_BuildValue("(y#s)", (const char *)bytes.data, (Py_ssize_t)bytes.size, "little");
  PyObject *value = arguments ? PyObject_Call(d->state->int_from_bytes, arguments, d->state->is_signed) : NULL;
  Py_XDECREF(arguments);
  return value;
}

static PyObject *decode_array(decoder *d, uint32_t count, unsigned depth) {
  if (depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  PyObject *list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    PyObject *value = decode(d, depth + 1);
    if (value)
      (void)ext_list_set(list, i, value);
    else
      Py_CLEAR(list);
  }
  return list;
}

static bool remember_key(decoder *d, PyObject *key) {
  if (d->key_count == d->key_capacity) {
    size_t capacity = d->key_capacity ? d->key_capacity * 2 : 32;
    PyObject **keys = realloc(d->keys, capacity * sizeof *keys);
    if (!keys) {
      PyErr_NoMemory();
      return false;
    }
    d->keys = keys;
    d->key_capacity = capacity;
  }
  d->keys[d->key_count++] = key;
  return true;
}

/* Borrowed from the key table. */
static PyObject *decode_key(decoder *d) {
  mb_key key;
  if (!mb_read_key(&d->reader, &key))
    return malformed(d);
  if (!key.fresh)
    return d->keys[key.index];
  PyObject *text = decode_text(d, key.text);
  if (text && !remember_key(d, text))
    Py_CLEAR(text);
  return text;
}

static bool decode_member(decoder *d, PyObject *dict, unsigned depth) {
  PyObject *key = decode_key(d);
  PyObject *value = key ? decode(d, depth) : NULL;
  if (!value)
    return false;
  int failed = PyDict_SetItem(dict, key, value);
  Py_DECREF(value);
  return !failed;
}

static PyObject *decode_object(decoder *d, uint32_t count, unsigned depth) {
  if (depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  PyObject *dict = PyDict_New();
  for (uint32_t i = 0; dict && i < count; i++)
    if (!decode_member(d, dict, depth + 1))
      Py_CLEAR(dict);
  return dict;
}

/* depth: containers around the value. */
static PyObject *decode(decoder *d, unsigned depth) {
  mb_item item;
  if (!mb_read_item(&d->reader, &item))
    return malformed(d);
  switch (item.tag) {
  case VALUE_UNDEFINED:
  case VALUE_NULL:
    Py_INCREF(Py_None);
    return Py_None;
  case VALUE_FALSE:
  case VALUE_TRUE:
    return PyBool_FromLong(item.tag == VALUE_TRUE);
  case VALUE_INT:
    return PyLong_FromLongLong(item.as.integer);
  case VALUE_FLOAT:
    return PyFloat_FromDouble(item.as.number);
  case VALUE_BIGINT:
    return decode_bigint(d, item.as.bytes);
  case VALUE_STRING:
    return decode_text(d, item.as.bytes);
  case VALUE_BYTES:
    return PyBytes_FromStringAndSize((const char *)item.as.bytes.data, (Py_ssize_t)item.as.bytes.size);
  case VALUE_ARRAY:
    return decode_array(d, item.as.count, depth);
  case VALUE_OBJECT:
    return decode_object(d, item.as.count, depth);
  default:
    return malformed(d);
  }
}

/* Takes `value` when it is all there was. */
static PyObject *finish(decoder *d, PyObject *value) {
  for (size_t i = 0; i < d->key_count; i++)
    Py_DECREF(d->keys[i]);
  free(d->keys);
  if (value && !mb_reader_at_end(&d->reader)) {
    Py_DECREF(value);
    return malformed(d);
  }
  return value;
}

PyObject *ext_decode(ext_state *state, mb_view bytes) {
  decoder d = { .state = state, .reader = mb_reader_of(bytes) };
  return finish(&d, decode(&d, 0));
}

PyObject *ext_decode_error(ext_state *state, mb_view bytes) {
  decoder d = { .state = state, .reader = mb_reader_of(bytes) };
  mb_item error, object;
  if (!mb_read_item(&d.reader, &error) || error.tag != VALUE_ERROR || !mb_read_item(&d.reader, &object) ||
      object.tag != VALUE_OBJECT)
    return malformed(&d);
  return finish(&d, decode_object(&d, object.as.count, 1));
}
