/* text.c: Python strings as UTF-8 and back. Any str has a form: a surrogate without its partner is three bytes. */
#include "ext.h"

/* Two code points that are halves of one character become that character; lone ones stay. */
static PyObject *join_surrogates(PyObject *text) {
  PyObject *units = PyUnicode_AsEncodedString(text, "utf-16-le", "surrogatepass");
  if (!units)
    return NULL;
  PyObject *joined = PyUnicode_FromEncodedObject(units, "utf-16-le", "surrogatepass");
  Py_DECREF(units);
  return joined;
}

static PyObject *encode_surrogates(PyObject *text) {
  PyObject *joined = join_surrogates(text);
  if (!joined)
    return NULL;
  PyObject *bytes = PyUnicode_AsEncodedString(joined, "utf-8", "surrogatepass");
  Py_DECREF(joined);
  return bytes;
}

bool ext_view_text(PyObject *text, mb_view *view, PyObject **owner) {
  Py_ssize_t size;
  *owner = NULL;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &size);
  if (!utf8) {
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
      return false;
    PyErr_Clear();
    *owner = encode_surrogates(text);
    char *data;
    if (!*owner || PyBytes_AsStringAndSize(*owner, &data, &size) < 0)
      return false;
    utf8 = data;
  }
  *view = (mb_view){ (const uint8_t *)utf8, (size_t)size };
  return true;
}

PyObject *ext_text(mb_view utf8) {
  const char *data = utf8.size ? (const char *)utf8.data : "";
  PyObject *text = PyUnicode_DecodeUTF8(data, (Py_ssize_t)utf8.size, NULL);
  if (text || !PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
    return text;
  PyErr_Clear();
  return PyUnicode_DecodeUTF8(data, (Py_ssize_t)utf8.size, "surrogatepass");
}
