/* decode.c: value bytes -> Python objects. The bytes are hostile: depth is counted here, all else in core/value.c. */
#include "ext.h"
#include <stdlib.h>

typedef struct decoder {
  ext_state *state;
  mb_reader reader;
  /* the key table: owned strings, by index */
  PyObject **keys;
  size_t key_count, key_capacity;
  /* containers that come again, by number: owned, NULL until they are whole; and their sizes, every reference written out */
  struct container {
    PyObject *object;
    size_t size;
  } *shared;
  uint32_t shared_count, shared_capacity;
  const uint8_t *start;
  size_t extra, limit; /* by which the value is larger where every reference is written out; what it may be then */
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

/* ---- containers beyond lists and dicts */

static PyObject *call(decoder *d, ext_values function, PyObject *argument) {
  PyObject *made = argument ? PyObject_CallFunctionObjArgs(d->state->values[function], argument, NULL) : NULL;
  Py_XDECREF(argument);
  return made;
}

static PyObject *decode_pair(decoder *d, unsigned depth) {
  PyObject *key = decode(d, depth), *value = key ? decode(d, depth) : NULL;
  PyObject *pair = value ? PyTuple_Pack(2, key, value) : NULL;
  Py_XDECREF(key);
  Py_XDECREF(value);
  return pair;
}

static PyObject *decode_pairs(decoder *d, uint32_t count, unsigned depth) {
  if (depth >= GUEST_VALUE_DEPTH)
    return malformed(d);
  PyObject *list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    PyObject *pair = decode_pair(d, depth + 1);
    if (pair)
      (void)ext_list_set(list, i, pair);
    else
      Py_CLEAR(list);
  }
  return list;
}

/* The object that follows an error's tag, as a dict. */
static PyObject *decode_fields(decoder *d, unsigned depth) {
  mb_item object;
  if (!mb_read_item(&d->reader, &object) || object.tag != VALUE_OBJECT)
    return malformed(d);
  return decode_object(d, object.as.count, depth);
}

static bool reserve_shared(decoder *d) {
  if (d->shared_count < d->shared_capacity)
    return true;
  uint32_t capacity = d->shared_capacity ? d->shared_capacity * 2 : 16;
  struct container *shared = realloc(d->shared, capacity * sizeof *shared);
  if (!shared) {
    PyErr_NoMemory();
    return false;
  }
  d->shared = shared;
  d->shared_capacity = capacity;
  return true;
}

static size_t written_out(const decoder *d) {
  return (size_t)(d->reader.next - d->start) + d->extra;
}

static bool is_container(value_tag tag) {
  return tag == VALUE_ARRAY || tag == VALUE_OBJECT || tag == VALUE_MAP || tag == VALUE_SET || tag == VALUE_ERROR;
}

static PyObject *decode_shared(decoder *d, unsigned depth) {
  if (mb_reader_at_end(&d->reader) || !is_container((value_tag)*d->reader.next))
    return malformed(d);
  if (!reserve_shared(d))
    return NULL;
  uint32_t number = d->shared_count++;
  d->shared[number] = (struct container){ NULL, 0 };
  size_t start = written_out(d);
  PyObject *value = decode(d, depth);
  if (value) {
    Py_INCREF(value);
    d->shared[number] = (struct container){ value, written_out(d) - start };
  }
  return value;
}

static PyObject *decode_reference(decoder *d, uint32_t number) {
  if (number >= d->shared_count || !d->shared[number].object)
    return malformed(d);
  d->extra += d->shared[number].size;
  if (written_out(d) > d->limit)
    return malformed(d);
  Py_INCREF(d->shared[number].object);
  return d->shared[number].object;
}

/* ---- other values */

static PyObject *decode_regexp(decoder *d, mb_view source, mb_view flags) {
  PyObject *texts[] = { decode_text(d, source), NULL }, *made = NULL;
  if (texts[0])
    texts[1] = decode_text(d, flags);
  if (texts[1])
    made = PyObject_CallFunctionObjArgs(d->state->values[EXT_VALUES_REGEXP], texts[0], texts[1], NULL);
  Py_XDECREF(texts[0]);
  Py_XDECREF(texts[1]);
  return made;
}

/* IEEE 754 binary16 as binary32. */
static uint32_t float_bits(uint32_t half) {
  uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
  if (exponent == 31)
    return sign | 0x7f800000 | fraction << 13;
  if (exponent)
    return sign | (exponent + 112) << 23 | fraction << 13;
  if (!fraction)
    return sign;
  unsigned shift = (unsigned)__builtin_clz(fraction) - 21; /* below the smallest normal one */
  return sign | (113 - shift) << 23 | (fraction << shift & 1023) << 13;
}

/* array.array has no half floats. */
static PyObject *widen(mb_view halves) {
  PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)halves.size * 2);
  if (!bytes)
    return NULL;
  uint32_t *floats = (uint32_t *)PyBytes_AsString(bytes);
  for (size_t i = 0; i < halves.size / 2; i++)
    floats[i] = float_bits(halves.data[2 * i] | (uint32_t)halves.data[2 * i + 1] << 8);
  return bytes;
}

static PyObject *decode_numbers(decoder *d, value_numbers kind, mb_view view) {
  PyObject *bytes =
      kind == VALUE_FLOAT16 ? widen(view) : PyBytes_FromStringAndSize((const char *)view.data, (Py_ssize_t)view.size);
  if (!bytes)
    return NULL;
  PyObject *made = PyObject_CallFunction(d->state->values[EXT_VALUES_NUMBERS], "iN",
                                         (int)(kind == VALUE_FLOAT16 ? VALUE_FLOAT32 : kind), bytes);
  return made;
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
  case VALUE_MAP:
    return call(d, EXT_VALUES_MAP, decode_pairs(d, item.as.count, depth));
  case VALUE_SET:
    return call(d, EXT_VALUES_SET, decode_array(d, item.as.count, depth));
  case VALUE_ERROR:
    return call(d, EXT_VALUES_ERROR, decode_fields(d, depth));
  case VALUE_DATE:
    return call(d, EXT_VALUES_DATE, PyFloat_FromDouble(item.as.number));
  case VALUE_REGEXP:
    return decode_regexp(d, item.as.regexp.source, item.as.regexp.flags);
  case VALUE_NUMBERS:
    return decode_numbers(d, item.as.numbers.kind, item.as.numbers.bytes);
  case VALUE_SHARED:
    return decode_shared(d, depth);
  case VALUE_REFERENCE:
    return decode_reference(d, item.as.number_of_container);
  default:
    return malformed(d);
  }
}

static decoder decoder_of(ext_state *state, mb_view bytes, size_t limit) {
  return (decoder){ .state = state, .reader = mb_reader_of(bytes), .start = bytes.data, .limit = limit };
}

/* Takes `value` when it is all there was. */
static PyObject *finish(decoder *d, PyObject *value) {
  for (size_t i = 0; i < d->key_count; i++)
    Py_DECREF(d->keys[i]);
  free(d->keys);
  for (uint32_t i = 0; i < d->shared_count; i++)
    Py_XDECREF(d->shared[i].object);
  free(d->shared);
  if (value && !mb_reader_at_end(&d->reader)) {
    Py_DECREF(value);
    return malformed(d);
  }
  return value;
}

PyObject *ext_decode(ext_state *state, mb_view bytes, size_t limit) {
  decoder d = decoder_of(state, bytes, limit);
  return finish(&d, decode(&d, 0));
}

PyObject *ext_decode_error(ext_state *state, mb_view bytes, size_t limit) {
  decoder d = decoder_of(state, bytes, limit);
  mb_item error;
  if (!mb_read_item(&d.reader, &error) || error.tag != VALUE_ERROR)
    return finish(&d, malformed(&d));
  return finish(&d, decode_fields(&d, 0));
}
