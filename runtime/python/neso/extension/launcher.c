/* SPDX-License-Identifier: MIT */
/* launcher.c: implements CompiledKernel.run, which launches a compiled kernel with arguments from Python:
 *
 *     run(grid_0, grid_1, grid_2, stream, function, metadata, launch metadata, enter hook, exit hook, *arguments) */
#include "runtime/python/neso/extension/launch.h"

enum { BEFORE_ARGUMENTS = 9 };

struct launcher {
    PyObject_HEAD struct plan plan;
    PyObject *fail, *keep;
};

static int launcher_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct launcher *l = (struct launcher *)self;
    PyObject *launch, *kernel, *entries, *fail, *keep;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOOO", &launch, &kernel, &entries, &fail, &keep) ||
        !plan_read(&l->plan, launch, kernel, entries))
        return -1;
    Py_INCREF(fail);
    Py_INCREF(keep);
    l->fail = fail;
    l->keep = keep;
    return 0;
}

static void launcher_free(PyObject *self)
{
    struct launcher *l = (struct launcher *)self;
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(l->fail);
    Py_XDECREF(l->keep);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Calls a hook with `metadata`, unless the hook is None or a chain without hooks. */
static int call_hook(PyObject *hook, PyObject *metadata)
{
    if (hook == Py_None)
        return 1;
    PyObject *calls = PyObject_GetAttrString(hook, "calls");
    int is_empty = calls && PyList_Check(calls) && PyList_Size(calls) == 0;
    if (!calls)
        PyErr_Clear();
    Py_XDECREF(calls);
    if (is_empty)
        return 1;
    PyObject *result = PyObject_CallFunctionObjArgs(hook, metadata, NULL);
    Py_XDECREF(result);
    return result != NULL;
}

static PyObject *launcher_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct launcher *l = (struct launcher *)self;
    Py_ssize_t n = PyTuple_Size(args);
    uint64_t values[VALUES_MOST];
    uint32_t grid[3];
    void *stream;
    if (n < BEFORE_ARGUMENTS || (kwargs && PyDict_Size(kwargs))) {
        PyErr_Format(
            PyExc_TypeError,
            "expected grid, stream, function, metadata, hooks, then the kernel's arguments; found %zd "
            "values",
            n);
        return NULL;
    }
    for (int i = 0; i < 3; i++)
        if (!extent_of(PyTuple_GetItem(args, i), &grid[i]))
            return NULL;
    if (!stream_of(PyTuple_GetItem(args, 3), &stream))
        return NULL;
    for (int i = 0; i < l->plan.count; i++) {
        const struct plan_entry *e = &l->plan.entries[i];
        PyObject *x = e->kind == '1' ? Py_None : PyTuple_GetItem(args, BEFORE_ARGUMENTS + e->argument);
        if (!x || !plan_value(e->kind, x, &values[i]))
            return NULL;
    }
    PyObject *metadata = PyTuple_GetItem(args, 6);
    if (!call_hook(PyTuple_GetItem(args, 7), metadata) ||
        !plan_launch(&l->plan, grid, stream, values, l->fail) ||
        !call_hook(PyTuple_GetItem(args, 8), metadata))
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

PyObject *launcher_type(void)
{
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)PyType_GenericNew},
        {Py_tp_init, (void *)launcher_init},
        {Py_tp_dealloc, (void *)launcher_free},
        {Py_tp_call, (void *)launcher_call},
        {0, NULL},
    };
    static PyType_Spec spec = {"neso._launch.Launcher", sizeof(struct launcher), 0, Py_TPFLAGS_DEFAULT,
                               slots};
    return PyType_FromSpec(&spec);
}
