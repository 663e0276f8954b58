/* python.h: Python's header, with the limited API (MODEBOX_LIMITED_API) or without, and what differs. */
#ifndef MODEBOX_EXT_PYTHON_H
#define MODEBOX_EXT_PYTHON_H
#define PY_SSIZE_T_CLEAN
#ifdef MODEBOX_LIMITED_API
#define Py_LIMITED_API 0x030a0000
#endif
#include <Python.h>

/* Items are borrowed. The index is in range: callers took the size in the same breath. */
#ifdef Py_LIMITED_API
#define ext_list_size PyList_Size
#define ext_list_item PyList_GetItem
#define ext_list_set PyList_SetItem
#define ext_tuple_size PyTuple_Size
#define ext_tuple_item PyTuple_GetItem
#define ext_float_value PyFloat_AsDouble
#else
#define ext_list_size PyList_GET_SIZE
#define ext_list_item PyList_GET_ITEM
#define ext_list_set PyList_SET_ITEM
#define ext_tuple_size PyTuple_GET_SIZE
#define ext_tuple_item PyTuple_GET_ITEM
#define ext_float_value PyFloat_AS_DOUBLE
#endif

/* Holds off other threads that would change a list or dict; with a GIL there is nothing to do. */
#ifdef Py_GIL_DISABLED
#define EXT_BEGIN_HOLD(object) Py_BEGIN_CRITICAL_SECTION(object)
#define EXT_END_HOLD() Py_END_CRITICAL_SECTION()
#else
#define EXT_BEGIN_HOLD(object) {
#define EXT_END_HOLD() }
#endif

#endif
