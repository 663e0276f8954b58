/* encode.c: Python objects -> value bytes. The objects are the caller's and may run code of their own when they are
 * read (mappings), so containers are copied before their members are looked at. */
#include "ext.h"
#include "keys.h"
#include "shared.h"
#include <stdlib.h>
#include <string.h>

static const int64_t INT_LIMIT = (INT64_C(1) << 53) - 1;

/* Where the encoder is: containers from the innermost outwards. */
typedef struct place {
  const struct place *outer;
  enum { AT_INDEX, AT_KEY, AT_MAP_KEY, AT_MAP_VALUE, AT_MEMBER } step;
  PyObject *key;  /* AT_KEY: a str */
  size_t index;   /* else */
  unsigned depth; /* 1: the outermost */
} place;

typedef struct encoder {
  ext_state *state;
  mb_writer *writer;
  const char *root;
  ext_keys keys;
  ext_shared shared;
  size_t extra;     /* by which the value is larger where every reference is written out */
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

static PyObject *key_step(PyObject *outer, PyObject *key) {
  return PyUnicode_FromFormat(PyUnicode_IsIdentifier(key) ? "%U.%.80U" : "%U[%.80R]", outer, key);
}

static PyObject *index_step(PyObject *outer, const place *at) {
  static const char *const formats[] = {
    [AT_INDEX] = "%U[%zu]",
    [AT_MAP_KEY] = "%U.entries()[%zu][0]",
    [AT_MAP_VALUE] = "%U.entries()[%zu][1]",
    [AT_MEMBER] = "%U.values()[%zu]",
  };
  return PyUnicode_FromFormat(formats[at->step], outer, at->index);
}

/* "result.items[3]" */
static PyObject *path_of(const encoder *e, const place *at) {
  if (!at)
    return PyUnicode_FromString(e->root);
  PyObject *outer = path_of(e, at->outer);
  if (!outer)
    return NULL;
  PyObject *path = at->step == AT_KEY ? key_step(outer, at->key) : index_step(outer, at);
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

/* ---- memory views */

static PyObject *attribute(PyObject *object, const char *name) {
  return PyObject_GetAttrString(object, name);
}

static Py_ssize_t size_attribute(PyObject *object, const char *name) {
  PyObject *value = attribute(object, name);
  Py_ssize_t size = value ? PyLong_AsSsize_t(value) : -1;
  Py_XDECREF(value);
  return size;
}

/* The numbers that items of a struct format are, of this many bytes; -1: none that JavaScript has. */
static int kind_of(const char *format, Py_ssize_t width) {
  static const struct {
    char formats[8];
    int kinds[9]; /* by width */
  } kinds[] = {
    { "bhilqn", { [1] = VALUE_INT8, [2] = VALUE_INT16, [4] = VALUE_INT32, [8] = VALUE_INT64 } },
    { "HILQN", { [2] = VALUE_UINT16, [4] = VALUE_UINT32, [8] = VALUE_UINT64 } },
    { "efd", { [2] = VALUE_FLOAT16, [4] = VALUE_FLOAT32, [8] = VALUE_FLOAT64 } },
  };
  if (*format == '@' || *format == '=' || *format == '<')
    format++;
  for (unsigned i = 0; *format && !format[1] && i < sizeof kinds / sizeof *kinds; i++)
    if (strchr(kinds[i].formats, *format))
      return width > 0 && width <= 8 ? kinds[i].kinds[width] : -1;
  return -1;
}

static bool is_byte_format(const char *format) {
  return !strcmp(format, "B") || !strcmp(format, "c") || !strcmp(format, "<B");
}

static bool write_view(encoder *e, PyObject *view, int kind) {
  PyObject *bytes = PyObject_CallMethod(view, "tobytes", NULL);
  char *data;
  Py_ssize_t size;
  bool ok = bytes && PyBytes_AsStringAndSize(bytes, &data, &size) == 0;
  if (ok && kind < 0)
    write_bytes(e, data, size);
  else if (ok)
    mb_write_numbers(e->writer, (value_numbers)kind, (mb_view){ (const uint8_t *)data, (size_t)size });
  Py_XDECREF(bytes);
  return ok;
}

static bool encode_numbers(encoder *e, PyObject *view, const char *format, const place *at) {
  Py_ssize_t dimensions = size_attribute(view, "ndim"), width = size_attribute(view, "itemsize");
  if (dimensions < 0 || width < 0)
    return false;
  int kind = kind_of(format, width);
  if (kind < 0)
    return refuse(e, at, "is a buffer of format %U; only numbers in this machine's order cross the sandbox boundary",
                  PyUnicode_FromString(format));
  if (dimensions != 1)
    return refuse(e, at, "is a buffer of %U dimensions; one crosses the sandbox boundary: make lists of it (.tolist())",
                  PyUnicode_FromFormat("%zd", dimensions));
  return write_view(e, view, kind);
}

/* Through its attributes: the limited API has no buffers before 3.11. */
static bool encode_memoryview(encoder *e, PyObject *view, const place *at) {
  PyObject *format = attribute(view, "format");
  const char *text = format ? PyUnicode_AsUTF8AndSize(format, NULL) : NULL;
  Py_ssize_t size = text ? size_attribute(view, "nbytes") : -1;
  bool ok = size >= 0 && fits(e, size) &&
            (is_byte_format(text) ? write_view(e, view, -1) : encode_numbers(e, view, text, at));
  Py_XDECREF(format);
  return ok;
}

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

static bool encode_key(encoder *e, PyObject *key) {
  if (PyUnicode_CheckExact(key))
    return encode_exact_key(e, key);
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

/* Of a tuple or a list. */
static bool push_pair(encoder *e, PyObject *pair) {
  size_t base = e->item_count;
  bool ok = PyTuple_Check(pair) ? push_tuple(e, pair) : PyList_Check(pair) && push_list(e, pair);
  if (ok && e->item_count == base + 2)
    return true;
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_TypeError, "the entries of a mapping must be pairs");
  return false;
}

static bool push_pairs(encoder *e, PyObject *pairs) {
  bool ok = fits(e, PyList_Size(pairs));
  for (Py_ssize_t i = 0; ok && i < PyList_Size(pairs); i++)
    ok = push_pair(e, ext_list_item(pairs, i));
  return ok;
}

static bool push_iterable(encoder *e, PyObject *iterable) {
  PyObject *list = PySequence_List(iterable);
  bool ok = list && push_list(e, list);
  Py_XDECREF(list);
  return ok;
}

/* Its length is known before anything is made of it. */
static bool push_range(encoder *e, PyObject *range) {
  Py_ssize_t size = PyObject_Size(range);
  if (size < 0 && PyErr_ExceptionMatches(PyExc_OverflowError)) {
    PyErr_Clear();
    return refuse_size(e);
  }
  return size >= 0 && fits(e, size) && push_iterable(e, range);
}

/* Runs the mapping's own code. */
static bool push_mapping(encoder *e, PyObject *mapping) {
  PyObject *pairs = PyMapping_Items(mapping);
  bool ok = pairs && push_pairs(e, pairs);
  Py_XDECREF(pairs);
  return ok;
}

/* ---- containers, from their members: items from base on */

typedef bool write_members(encoder *e, size_t base, place at);

static bool write_array(encoder *e, size_t base, place at) {
  size_t count = e->item_count - base;
  mb_write_head(e->writer, VALUE_ARRAY, (uint32_t)count);
  bool ok = true;
  for (at.index = 0; ok && at.index < count; at.index++)
    ok = encode(e, e->items[base + at.index], &at);
  return ok;
}

static bool write_set(encoder *e, size_t base, place at) {
  size_t count = e->item_count - base;
  mb_write_head(e->writer, VALUE_SET, (uint32_t)count);
  at.step = AT_MEMBER;
  bool ok = true;
  for (at.index = 0; ok && at.index < count; at.index++)
    ok = encode(e, e->items[base + at.index], &at);
  return ok;
}

static bool write_map(encoder *e, size_t base, place at) {
  size_t count = (e->item_count - base) / 2;
  mb_write_head(e->writer, VALUE_MAP, (uint32_t)count);
  bool ok = true;
  for (at.index = 0; ok && at.index < count; at.index++) {
    at.step = AT_MAP_KEY;
    ok = encode(e, e->items[base + 2 * at.index], &at);
    at.step = AT_MAP_VALUE;
    ok = ok && encode(e, e->items[base + 2 * at.index + 1], &at);
  }
  return ok;
}

static bool all_keys_are_text(const encoder *e, size_t base) {
  for (size_t i = base; i < e->item_count; i += 2)
    if (!PyUnicode_Check(e->items[i]))
      return false;
  return true;
}

/* An object; a Map where a key is no str. */
static bool write_object(encoder *e, size_t base, place at) {
  if (!all_keys_are_text(e, base))
    return write_map(e, base, at);
  size_t end = e->item_count;
  mb_write_head(e->writer, VALUE_OBJECT, (uint32_t)((end - base) / 2));
  at.step = AT_KEY;
  bool ok = true;
  for (size_t i = base; ok && i < end; i += 2) {
    at.key = e->items[i];
    ok = encode_key(e, at.key) && encode(e, e->items[i + 1], &at);
  }
  return ok;
}

static bool write_error(encoder *e, size_t base, place at) {
  mb_write_tag(e->writer, VALUE_ERROR);
  return write_object(e, base, at);
}

/* A container by its kind: how its members are read, and how they are written. */
typedef struct container_kind {
  bool (*push)(encoder *e, PyObject *members);
  write_members *write;
} container_kind;

static const container_kind LIST = { push_list, write_array }, TUPLE = { push_tuple, write_array },
                            DICT = { push_dict, write_object }, MAPPING = { push_mapping, write_object },
                            JS_MAP = { push_dict, write_map }, ENTRIES = { push_pairs, write_map },
                            MEMBERS = { push_list, write_set }, RANGE = { push_range, write_array },
                            SET = { push_iterable, write_set }, ERROR = { push_dict, write_error };

/* `members` stands for the object, and mostly is it. */
static bool encode_members(encoder *e, PyObject *members, const place *outer, container_kind kind) {
  size_t base = e->item_count;
  place at = { .outer = outer, .depth = outer ? outer->depth + 1 : 1 };
  if (at.depth > GUEST_VALUE_DEPTH)
    return refuse(e, NULL, "is nested more than %U deep", PyUnicode_FromFormat("%d", GUEST_VALUE_DEPTH));
  bool ok = kind.push(e, members) && kind.write(e, base, at);
  drop_items(e, base);
  return ok;
}

/* What only the items and one container hold cannot come again. */
static bool may_come_again(PyObject *object, const place *at) {
#ifdef Py_GIL_DISABLED
  (void)object, (void)at;
  return true;
#else
  enum { ITEMS_AND_ONE = 2 };
  return !at || Py_REFCNT(object) > ITEMS_AND_ONE;
#endif
}

static bool encode_reference(encoder *e, ext_container *found, const place *at) {
  if (found->is_open)
    return refuse(e, at, "is %U, which cannot cross the sandbox boundary", PyUnicode_FromString("circular"));
  e->extra += found->size;
  if (e->extra > e->writer->limit - e->writer->size)
    return refuse_size(e);
  return ext_shared_refer(&e->shared, found, e->writer->size);
}

static bool encode_container(encoder *e, PyObject *object, PyObject *members, const place *at, container_kind kind) {
  if (!may_come_again(object, at))
    return encode_members(e, members, at, kind);
  ext_container *found = ext_shared_find(&e->shared, object);
  if (found)
    return encode_reference(e, found, at);
  size_t index = ext_shared_add(&e->shared, object, e->writer->size);
  if (index == SIZE_MAX)
    return false;
  size_t start = e->writer->size + e->extra;
  if (!encode_members(e, members, at, kind))
    return false;
  e->shared.containers[index].size = e->writer->size + e->extra - start;
  e->shared.containers[index].is_open = false;
  return true;
}

/* ---- what the package makes plain */

static bool encode_regexp(encoder *e, PyObject *parts) {
  mb_view views[2];
  PyObject *owners[2] = { NULL, NULL };
  bool ok = true;
  for (int i = 0; ok && i < 2; i++)
    ok = ext_view_text(PyTuple_GetItem(parts, i), &views[i], &owners[i]);
  if (ok)
    mb_write_regexp(e->writer, views[0], views[1]);
  Py_XDECREF(owners[0]);
  Py_XDECREF(owners[1]);
  return ok;
}

static bool refuse_plain(encoder *e, PyObject *object, PyObject *advice, const place *at) {
  if (advice == Py_None)
    return refuse_type(e, at, object);
  Py_INCREF(advice);
  return refuse(e, at, "%U", advice);
}

static bool encode_plain(encoder *e, PyObject *object, long kind, PyObject *plain, const place *at) {
  switch (kind) {
  case EXT_PLAIN_VALUE:
    return encode(e, plain, at);
  case EXT_PLAIN_OBJECT:
    return encode_container(e, object, plain, at, DICT);
  case EXT_PLAIN_ARRAY:
    return encode_container(e, object, plain, at, LIST);
  case EXT_PLAIN_MAP:
    return encode_container(e, object, plain, at, ENTRIES);
  case EXT_PLAIN_SET:
    return encode_container(e, object, plain, at, MEMBERS);
  case EXT_PLAIN_DATE:
    mb_write_date(e->writer, PyFloat_AsDouble(plain));
    return true;
  case EXT_PLAIN_REGEXP:
    return encode_regexp(e, plain);
  case EXT_PLAIN_ERROR:
    return encode_container(e, object, plain, at, ERROR);
  case EXT_PLAIN_NUMBERS:
    return encode_memoryview(e, plain, at);
  default:
    return refuse_plain(e, object, plain, at);
  }
}

/* Runs code of the package, and of the object's class, which may give such an object again and again. */
static bool encode_other(encoder *e, PyObject *object, const place *at) {
  if (Py_EnterRecursiveCall(" while a value is converted"))
    return false;
  PyObject *pair = PyObject_CallFunctionObjArgs(e->state->values[EXT_VALUES_PLAIN], object, NULL);
  bool ok = pair && encode_plain(e, object, PyLong_AsLong(PyTuple_GetItem(pair, 0)), PyTuple_GetItem(pair, 1), at);
  Py_XDECREF(pair);
  Py_LeaveRecursiveCall();
  return ok;
}

/* ---- any value */

static bool is_a(const encoder *e, PyObject *object, ext_values type) {
  return PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)e->state->values[type]);
}

static bool encode_list_subclass(encoder *e, PyObject *object, const place *at) {
  if (is_a(e, object, EXT_VALUES_JS_ENTRIES))
    return encode_container(e, object, object, at, ENTRIES);
  return encode_container(e, object, object, at, is_a(e, object, EXT_VALUES_JS_SET) ? MEMBERS : LIST);
}

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
    return encode_list_subclass(e, object, at);
  if (PyTuple_Check(object))
    return encode_container(e, object, object, at, TUPLE);
  if (is_a(e, object, EXT_VALUES_JS_MAP))
    return encode_container(e, object, object, at, JS_MAP);
  int is_mapping = PyDict_Check(object) ? 1 : PyObject_IsInstance(object, e->state->mapping_type);
  if (is_mapping < 0)
    return false;
  return is_mapping ? encode_container(e, object, object, at, MAPPING) : encode_other(e, object, at);
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
    return encode_container(e, object, object, at, DICT);
  if (type == &PyList_Type)
    return encode_container(e, object, object, at, LIST);
  if (type == &PyTuple_Type)
    return encode_container(e, object, object, at, TUPLE);
  if (type == &PyBytes_Type)
    return encode_bytes(e, object);
  if (type == &PySet_Type || type == &PyFrozenSet_Type)
    return encode_container(e, object, object, at, SET);
  if (type == &PyMemoryView_Type)
    return encode_memoryview(e, object, at);
  if (type == &PyRange_Type)
    return encode_container(e, object, object, at, RANGE);
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
  e->shared = (ext_shared){ 0 };
  e->extra = 0;
  e->items = NULL;
  e->item_count = e->item_capacity = 0;
}

static bool end(encoder *e, bool ok) {
  if (ok)
    ext_shared_finish(&e->shared, e->writer);
  ok = ok && check_writer(e);
  ext_shared_free(&e->shared);
  ext_keys_free(&e->keys);
  drop_items(e, 0);
  free(e->items);
  return ok;
}

bool ext_encode(ext_state *state, mb_writer *writer, PyObject *object, const char *root) {
  encoder e;
  begin(&e, state, writer, root);
  return end(&e, encode(&e, object, NULL));
}

bool ext_encode_error(ext_state *state, mb_writer *writer, PyObject *fields) {
  encoder e;
  begin(&e, state, writer, "the error");
  return end(&e, encode_members(&e, fields, NULL, ERROR));
}
