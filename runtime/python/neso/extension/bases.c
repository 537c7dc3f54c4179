/* SPDX-License-Identifier: MIT */
/* bases.c: defines, in C, the base classes of two classes of triton.runtime.jit. The base classes speed up the calls
 * that a launch makes:
 *
 *     kernel[grid]          Indexed, the base of JITFunction: calls no Python function if the kernel has a
 *                           Dispatch
 *     triton.cdiv(n, 128)   Folded, the base of ConstexprFunction: if all arguments are plain numbers and
 *                           strings, calls `fn` directly, without Python code of neso */
#include "runtime/python/neso/extension/launch.h"

static PyObject *word_dispatch, *word_run, *word_at, *word_fn, *word_call;

static PyObject *indexed_at(PyObject *self, PyObject *grid)
{
    PyObject *dispatch = PyObject_GetAttr(self, word_dispatch), *result = NULL;
    PyObject *run = dispatch ? PyObject_GetAttr((PyObject *)Py_TYPE(self), word_run) : NULL;
    if (run)
        result = dispatch_index(dispatch, run, grid);
    if (run && !result && !PyErr_Occurred())
        result = PyObject_CallMethodObjArgs(self, word_at, grid, NULL);
    Py_XDECREF(run);
    Py_XDECREF(dispatch);
    return result;
}

static int is_plain(PyObject *x)
{
    return PyLong_CheckExact(x) || PyFloat_CheckExact(x) || PyBool_Check(x) || PyUnicode_CheckExact(x);
}

static PyObject *folded_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t i = 0, n = PyTuple_Size(args);
    while (i < n && is_plain(PyTuple_GetItem(args, i)))
        i++;
    int all_plain = i == n && (!kwargs || PyDict_Size(kwargs) == 0);
    PyObject *fn = PyObject_GetAttr(self, all_plain ? word_fn : word_call);
    PyObject *result = fn ? PyObject_Call(fn, args, kwargs) : NULL;
    Py_XDECREF(fn);
    return result;
}

PyObject *indexed_type(void)
{
    static PyType_Slot slots[] = {{Py_mp_subscript, (void *)indexed_at}, {0, NULL}};
    static PyType_Spec spec = {"neso._launch.Indexed", sizeof(PyObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    word_dispatch = PyUnicode_InternFromString("_dispatch");
    word_run = PyUnicode_InternFromString("run");
    word_at = PyUnicode_InternFromString("_at");
    return word_dispatch && word_run && word_at ? PyType_FromSpec(&spec) : NULL;
}

PyObject *folded_type(void)
{
    static PyType_Slot slots[] = {{Py_tp_call, (void *)folded_call}, {0, NULL}};
    static PyType_Spec spec = {"neso._launch.Folded", sizeof(PyObject), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    word_fn = PyUnicode_InternFromString("fn");
    word_call = PyUnicode_InternFromString("_call");
    return word_fn && word_call ? PyType_FromSpec(&spec) : NULL;
}
