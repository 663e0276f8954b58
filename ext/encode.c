/* encode.c: Python objects -> value bytes. The objects are the caller's and may run code of their own when they are
 * read (mappings), so containers are copied before their members are looked at. */
#include "ext.h"
#include "keys.h"
#include <stdlib.h>
#include <string.h>

static const int64_t INT_LIMIT = (INT64_C(1) << 53) - 1;

/* Where the encoder is: containers from the innermost outwards. */
typedef struct place {
  const struct place *outer;
  PyObject *container;
  PyObject *key;    /* of the member being written ... */
  Py_ssize_t index; /* ... or its index, where key is NULL */
  unsigned depth;   /* 1: the outermost */
} place;

typedef struct encoder {
  ext_state *state;
  mb_writer *writer;
  const char *root;
  ext_keys keys;
  PyObject **items; /* the members of all containers being written, owned */
  size_t item_count, item_capacity;
} encoder;

static bool encode(encoder *e, PyObject *object, const place *at);

/* ---- refusals */

/* The name of the object's type, after its article: "a set", "an array". */
static PyObject *describe_type(PyObject *object) {
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
  if (!name)
    return NULL;
  Py_UCS4 first = PyUnicode_Check(name) && PyUnicode_GetLength(name) > 0 ? PyUnicode_ReadChar(name, 0) : 'x';
  PyObject *text = PyUnicode_FromFormat("%s %.80U", first < 128 && strchr("aeiouAEIOU", (int)first) ? "an" : "a", name);
  Py_DECREF(name);
  return text;
}

/* "result.items[3]" */
static PyObject *path_of(const encoder *e, const place *at) {
  if (!at)
    return PyUnicode_FromString(e->root);
  PyObject *outer = path_of(e, at->outer), *path = NULL;
  if (!outer)
    return NULL;
  if (!at->key)
    path = PyUnicode_FromFormat("%U[%zd]", outer, at->index);
  else if (PyUnicode_IsIdentifier(at->key))
    path = PyUnicode_FromFormat("%U.%.80U", outer, at->key);
  else
    path = PyUnicode_FromFormat("%U[%.80R]", outer, at->key);
  Py_DECREF(outer);
  return path;
}

/* Raises `refused`: the path, then what is wrong there. `detail` is taken; it replaces %U in what. */
static bool refuse(const encoder *e, const place *at, const char *what, PyObject *detail) {
  PyObject *path = detail ? path_of(e, at) : NULL;
  PyObject *rest = path ? PyUnicode_FromFormat(what, detail) : NULL;
  if (rest)
    PyErr_Format(e->state->refused, "%U %U", path, rest);
  Py_XDECREF(rest);
  Py_XDECREF(path);
  Py_XDECREF(detail);
  return false;
}

static bool refuse_type(const encoder *e, const place *at, PyObject *object) {
  return refuse(e, at, "is %U, which cannot cross the sandbox boundary", describe_type(object));
}

static bool refuse_size(const encoder *e) {
  return refuse(e, NULL, "is larger than the %U bytes that max_value_bytes allows",
                PyUnicode_FromFormat("%zu", e->writer->limit));
}

/* ---- single values */

/* At most `left` bytes may follow: what is surely longer is refused before it is copied. */
static bool fits(const encoder *e, Py_ssize_t size) {
  return (size_t)size <= e->writer->limit - e->writer->size || refuse_size(e);
}

static bool encode_text(encoder *e, PyObject *text) {
  mb_view view;
  PyObject *owner;
  if (!fits(e, PyUnicode_GetLength(text)))
    return false;
  bool ok = ext_view_text(text, &view, &owner);
  if (ok)
    mb_write_bytes(e->writer, VALUE_STRING, view);
  Py_XDECREF(owner);
  return ok;
}

static Py_ssize_t bit_length(encoder *e, PyObject *value) {
  PyObject *bits = PyObject_CallFunctionObjArgs(e->state->int_bit_length, value, NULL);
  Py_ssize_t result = bits ? PyLong_AsSsize_t(bits) : -1;
  Py_XDECREF(bits);
  return result;
}

static PyObject *to_bytes(encoder *e, PyObject *value, Py_ssize_t size) {
  PyObject *arguments = Py_BuildValue("(Ons)", value, size, "little");
  PyObject *bytes = arguments ? PyObject_Call(e->state->int_to_bytes, arguments, e->state->is_signed) : NULL;
  Py_XDECREF(arguments);
  return bytes;
}

/* One byte too many: -2^(8n - 1) has 8n bits and fits in n bytes. */
static bool is_padded(const uint8_t *data, Py_ssize_t size) {
  return size > 1 && data[size - 1] == 0xff && data[size - 2] & 0x80;
}

static bool encode_bigint(encoder *e, PyObject *value) {
  Py_ssize_t bits = bit_length(e, value), size;
  if (bits < 0 || !fits(e, bits / 8 + 1))
    return false;
  PyObject *bytes = to_bytes(e, value, bits / 8 + 1);
  char *data;
  bool ok = bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0;
  if (ok) {
    mb_view view = { (const uint8_t *)data, (size_t)size };
    view.size -= is_padded(view.data, size);
    mb_write_bytes(e->writer, VALUE_BIGINT, view);
  }
  Py_XDECREF(bytes);
  return ok;
}

static bool encode_int(encoder *e, PyObject *value) {
  int overflow;
  long long small = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (!overflow && small >= -INT_LIMIT && small <= INT_LIMIT) {
    if (small == -1 && PyErr_Occurred())
      return false;
    mb_write_int(e->writer, small);
    return true;
  }
  return encode_bigint(e, value);
}

static bool encode_float(encoder *e, PyObject *object) {
  double value = ext_float_value(object);
  bool whole = value >= (double)-INT_LIMIT && value <= (double)INT_LIMIT && value == (double)(int64_t)value;
  bool minus_zero = whole && value == 0 && 1 / value < 0;
  if (whole && !minus_zero)
    mb_write_int(e->writer, (int64_t)value);
  else
    mb_write_float(e->writer, value);
  return true;
}

static bool write_bytes(encoder *e, const char *data, Py_ssize_t size) {
  mb_write_bytes(e->writer, VALUE_BYTES, (mb_view){ (const uint8_t *)data, (size_t)size });
  return true;
}

static bool encode_bytes(encoder *e, PyObject *object) {
  char *data;
  Py_ssize_t size;
  return PyBytes_AsStringAndSize(object, &data, &size) == 0 && write_bytes(e, data, size);
}

static bool refuse_format(encoder *e, const place *at, PyObject *format) {
  return refuse(e, at, "is a memoryview of format %U; only bytes (B, c) cross the sandbox boundary", format);
}

static bool is_byte_format(const char *format) {
  return !format || !strcmp(format, "B") || !strcmp(format, "c");
}

#ifdef Py_LIMITED_API
/* The limited API has no buffers before 3.11: one copy more. */
static bool encode_memoryview(encoder *e, PyObject *view, const place *at) {
  PyObject *format = PyObject_GetAttrString(view, "format");
  const char *text = format ? PyUnicode_AsUTF8AndSize(format, NULL) : NULL;
  if (!text || !is_byte_format(text)) {
    if (text)
      return refuse_format(e, at, format);
    Py_XDECREF(format);
    return false;
  }
  Py_DECREF(format);
  PyObject *bytes = PyObject_CallMethod(view, "tobytes", NULL);
  bool ok = bytes && encode_bytes(e, bytes);
  Py_XDECREF(bytes);
  return ok;
}
#else
static bool encode_scattered(encoder *e, Py_buffer *buffer) {
  char *data = malloc((size_t)buffer->len);
  bool ok = data && PyBuffer_ToContiguous(data, buffer, buffer->len, 'C') == 0;
  if (ok)
    write_bytes(e, data, buffer->len);
  else if (!data)
    PyErr_NoMemory();
  free(data);
  return ok;
}

static bool encode_memoryview(encoder *e, PyObject *view, const place *at) {
  Py_buffer buffer;
  if (PyObject_GetBuffer(view, &buffer, PyBUF_FULL_RO) < 0)
    return false;
  bool ok;
  if (!is_byte_format(buffer.format))
    ok = refuse_format(e, at, PyUnicode_FromString(buffer.format));
  else if (PyBuffer_IsContiguous(&buffer, 'C'))
    ok = write_bytes(e, buffer.buf, buffer.len);
  else
    ok = fits(e, buffer.len) && encode_scattered(e, &buffer);
  PyBuffer_Release(&buffer);
  return ok;
}
#endif

/* ---- keys */

static bool encode_exact_key(encoder *e, PyObject *text) {
  uint32_t index;
  if (ext_keys_find(&e->keys, text, &index)) {
    mb_write_key_index(e->writer, index);
    return true;
  }
  mb_view view;
  PyObject *owner;
  bool ok = ext_view_text(text, &view, &owner) && ext_keys_add(&e->keys, text, mb_write_key(e->writer, view));
  Py_XDECREF(owner);
  return ok;
}

static bool encode_key(encoder *e, PyObject *key, const place *at) {
  if (PyUnicode_CheckExact(key))
    return encode_exact_key(e, key);
  if (!PyUnicode_Check(key))
    return refuse(e, at, "has a key that is %U; keys must be str", describe_type(key));
  PyObject *text = PyUnicode_FromObject(key); /* a subclass may hash and compare as it likes */
  bool ok = text && encode_exact_key(e, text);
  Py_XDECREF(text);
  return ok;
}

/* ---- containers */

static bool reserve_items(encoder *e, size_t more) {
  size_t need = e->item_count + more;
  if (need <= e->item_capacity)
    return true;
  size_t capacity = e->item_capacity * 2 > need ? e->item_capacity * 2 : need + 64;
  PyObject **items = realloc(e->items, capacity * sizeof *items);
  if (!items) {
    PyErr_NoMemory();
    return false;
  }
  e->items = items;
  e->item_capacity = capacity;
  return true;
}

static void push_item(encoder *e, PyObject *item) {
  Py_INCREF(item);
  e->items[e->item_count++] = item;
}

static void drop_items(encoder *e, size_t base) {
  while (e->item_count > base)
    Py_DECREF(e->items[--e->item_count]);
}

static bool push_list(encoder *e, PyObject *list) {
  bool ok;
  EXT_BEGIN_HOLD(list)
  Py_ssize_t size = ext_list_size(list);
  ok = fits(e, size) && reserve_items(e, (size_t)size);
  for (Py_ssize_t i = 0; ok && i < size; i++)
    push_item(e, ext_list_item(list, i));
  EXT_END_HOLD()
  return ok;
}

static bool push_tuple(encoder *e, PyObject *tuple) {
  Py_ssize_t size = ext_tuple_size(tuple);
  if (!fits(e, size) || !reserve_items(e, (size_t)size))
    return false;
  for (Py_ssize_t i = 0; i < size; i++)
    push_item(e, ext_tuple_item(tuple, i));
  return true;
}

static bool push_dict(encoder *e, PyObject *dict) {
  bool ok;
  EXT_BEGIN_HOLD(dict)
  Py_ssize_t size = PyDict_Size(dict), position = 0;
  PyObject *key, *value;
  ok = fits(e, size) && reserve_items(e, (size_t)size * 2);
  while (ok && PyDict_Next(dict, &position, &key, &value)) {
    push_item(e, key);
    push_item(e, value);
  }
  EXT_END_HOLD()
  return ok;
}

static bool push_pair(encoder *e, PyObject *pair) {
  if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
    PyErr_SetString(PyExc_TypeError, "items() of a mapping must give pairs");
    return false;
  }
  return push_tuple(e, pair);
}

/* Runs the mapping's own code. */
static bool push_mapping(encoder *e, PyObject *mapping) {
  PyObject *pairs = PyMapping_Items(mapping);
  if (!pairs)
    return false;
  bool ok = fits(e, PyList_Size(pairs));
  for (Py_ssize_t i = 0; ok && i < PyList_Size(pairs); i++)
    ok = push_pair(e, ext_list_item(pairs, i));
  Py_DECREF(pairs);
  return ok;
}

static bool is_inside_itself(PyObject *object, const place *at) {
  for (; at; at = at->outer)
    if (at->container == object)
      return true;
  return false;
}

static bool check_container(encoder *e, PyObject *object, const place *at) {
  if (is_inside_itself(object, at))
    return refuse(e, at, "is %U, which cannot cross the sandbox boundary", PyUnicode_FromString("circular"));
  if (at && at->depth >= GUEST_VALUE_DEPTH)
    return refuse(e, NULL, "is nested more than %U deep", PyUnicode_FromFormat("%d", GUEST_VALUE_DEPTH));
  return true;
}

static place enter(PyObject *container, const place *outer) {
  return (place){ .outer = outer, .container = container, .depth = outer ? outer->depth + 1 : 1 };
}

static bool encode_sequence(encoder *e, PyObject *object, const place *outer, bool (*push)(encoder *, PyObject *)) {
  size_t base = e->item_count;
  if (!check_container(e, object, outer) || !push(e, object))
    return false;
  size_t count = e->item_count - base;
  place at = enter(object, outer);
  mb_write_head(e->writer, VALUE_ARRAY, (uint32_t)count);
  bool ok = true;
  for (size_t i = 0; ok && i < count; i++) {
    at.index = (Py_ssize_t)i;
    ok = encode(e, e->items[base + i], &at);
  }
  drop_items(e, base);
  return ok;
}

static bool encode_object(encoder *e, PyObject *object, const place *outer, bool (*push)(encoder *, PyObject *)) {
  size_t base = e->item_count;
  if (!check_container(e, object, outer))
    return false;
  bool ok = push(e, object);
  size_t end = e->item_count;
  place at = enter(object, outer);
  mb_write_head(e->writer, VALUE_OBJECT, (uint32_t)((end - base) / 2));
  for (size_t i = base; ok && i < end; i += 2) {
    at.key = e->items[i];
    ok = encode_key(e, at.key, outer) && encode(e, e->items[i + 1], &at);
  }
  drop_items(e, base);
  return ok;
}

/* ---- any value */

static bool encode_subclass(encoder *e, PyObject *object, const place *at) {
  if (PyLong_Check(object))
    return encode_int(e, object);
  if (PyFloat_Check(object))
    return encode_float(e, object);
  if (PyUnicode_Check(object))
    return encode_text(e, object);
  if (PyBytes_Check(object))
    return encode_bytes(e, object);
  if (PyByteArray_Check(object))
    return write_bytes(e, PyByteArray_AsString(object), PyByteArray_Size(object));
  if (PyList_Check(object))
    return encode_sequence(e, object, at, push_list);
  if (PyTuple_Check(object))
    return encode_sequence(e, object, at, push_tuple);
  int is_mapping = PyDict_Check(object) ? 1 : PyObject_IsInstance(object, e->state->mapping_type);
  if (is_mapping < 0)
    return false;
  return is_mapping ? encode_object(e, object, at, push_mapping) : refuse_type(e, at, object);
}

static bool encode_constant(encoder *e, PyObject *object, const place *at) {
  if (object == Py_None)
    mb_write_tag(e->writer, VALUE_NULL);
  else if (object == Py_True)
    mb_write_tag(e->writer, VALUE_TRUE);
  else if (object == Py_False)
    mb_write_tag(e->writer, VALUE_FALSE);
  else if (object == e->state->undefined)
    mb_write_tag(e->writer, VALUE_UNDEFINED);
  else
    return encode_subclass(e, object, at);
  return true;
}

/* at: the containers around the object. */
static bool encode_any(encoder *e, PyObject *object, const place *at) {
  PyTypeObject *type = Py_TYPE(object);
  if (type == &PyUnicode_Type)
    return encode_text(e, object);
  if (type == &PyLong_Type)
    return encode_int(e, object);
  if (type == &PyFloat_Type)
    return encode_float(e, object);
  if (type == &PyDict_Type)
    return encode_object(e, object, at, push_dict);
  if (type == &PyList_Type)
    return encode_sequence(e, object, at, push_list);
  if (type == &PyTuple_Type)
    return encode_sequence(e, object, at, push_tuple);
  if (type == &PyBytes_Type)
    return encode_bytes(e, object);
  if (type == &PyMemoryView_Type)
    return encode_memoryview(e, object, at);
  return encode_constant(e, object, at);
}

/* A writer that has failed ends the walk: what is left may be large. */
static bool check_writer(encoder *e) {
  if (e->writer->err == MB_ERR_TOO_LARGE)
    return refuse_size(e);
  if (e->writer->err)
    ext_set_error(e->writer->err);
  return !e->writer->err;
}

static bool encode(encoder *e, PyObject *object, const place *at) {
  return encode_any(e, object, at) && check_writer(e);
}

static void begin(encoder *e, ext_state *state, mb_writer *writer, const char *root) {
  e->state = state;
  e->writer = writer;
  e->root = root;
  ext_keys_init(&e->keys);
  e->items = NULL;
  e->item_count = e->item_capacity = 0;
}

static void end(encoder *e) {
  ext_keys_free(&e->keys);
  drop_items(e, 0);
  free(e->items);
}

bool ext_encode(ext_state *state, mb_writer *writer, PyObject *object, const char *root) {
  encoder e;
  begin(&e, state, writer, root);
  bool ok = encode(&e, object, NULL);
  end(&e);
  return ok;
}

bool ext_encode_error(ext_state *state, mb_writer *writer, PyObject *fields) {
  encoder e;
  begin(&e, state, writer, "the error");
  place error = { .key = NULL, .depth = 1 };
  mb_write_tag(writer, VALUE_ERROR);
  bool ok = encode_object(&e, fields, &error, push_dict) && check_writer(&e);
  end(&e);
  return ok;
}
