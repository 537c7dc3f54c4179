/* SPDX-License-Identifier: MIT */
/* launcher.c: implements CompiledKernel.run, which launches a compiled kernel with arguments from Python:
 *
 *     run(grid_0, grid_1, grid_2, stream, function, metadata, launch metadata, enter hook, exit hook, *arguments) */
#include "runtime/python/neso/extension/launch.h"

#include <stddef.h>

#include <structmember.h>

enum { BEFORE_ARGUMENTS = 9, TYPES_MOST = 2, ARGUMENTS_MOST = BEFORE_ARGUMENTS + VALUES_MOST };

struct launcher {
    PyObject_HEAD struct plan plan;
    PyObject *fail, *keep;
    struct torch_calls torch;
    PyObject *types[TYPES_MOST]; /* PyTorch's types of tensors; their number is torch.ntypes */
    vector_call call;
};

static PyObject *launcher_vector(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names);

static int launcher_init(PyObject *self, PyObject *args, PyObject *kwargs)
{
    struct launcher *l = (struct launcher *)self;
    PyObject *launch, *kernel, *entries, *fail, *keep, *calls = NULL, *types = NULL;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "OOOOO|O!O!", &launch, &kernel, &entries, &fail, &keep, &PyTuple_Type, &calls,
                          &PyTuple_Type, &types) ||
        !plan_read(&l->plan, launch, kernel, entries) || (types && !torch_read(&l->torch, calls)))
        return -1;
    for (int i = 0; types && i < TYPES_MOST && i < PyTuple_Size(types); i++) {
        l->types[l->torch.ntypes++] = PyTuple_GetItem(types, i);
        Py_INCREF(PyTuple_GetItem(types, i));
    }
    l->call = launcher_vector;
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
    for (int i = 0; i < l->torch.ntypes; i++)
        Py_DECREF(l->types[i]);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

/* Calls a hook with `metadata`, unless the hook is None or a chain without hooks. On a failure, returns 0
 * with an exception set. */
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

static int value_of(const struct launcher *l, char kind, PyObject *x, uint64_t *value)
{
    void *address;
    for (int i = 0; i < l->torch.ntypes && kind == 'P'; i++)
        if ((PyObject *)Py_TYPE(x) == l->types[i] &&
            l->torch.data_ptr((char *)x + l->torch.offset, &address) == 0) {
            *value = (uint64_t)(uintptr_t)address;
            return 1;
        }
    return plan_value(kind, x, value);
}

/* Converts the arguments of a call, which has n arguments including the first BEFORE_ARGUMENTS, to the values
 * of the plan. On a failure, returns 0 with an exception set. */
static int read_values(const struct launcher *l, PyObject *const *args, Py_ssize_t n, uint64_t *values)
{
    for (int i = 0; i < l->plan.count; i++) {
        const struct plan_entry *e = &l->plan.entries[i];
        Py_ssize_t at = BEFORE_ARGUMENTS + e->argument;
        if (e->kind != '1' && at >= n) {
            PyErr_Format(PyExc_IndexError, "the kernel has more arguments than the %zd of this call",
                         n - BEFORE_ARGUMENTS);
            return 0;
        }
        if (!value_of(l, e->kind, e->kind == '1' ? Py_None : args[at], &values[i]))
            return 0;
    }
    return 1;
}

static PyObject *launcher_vector(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    struct launcher *l = (struct launcher *)self;
    Py_ssize_t n = (Py_ssize_t)(nargsf & ~FLAG_OF_VECTORCALL);
    uint64_t values[VALUES_MOST];
    uint32_t grid[3];
    void *stream;
    if (n < BEFORE_ARGUMENTS || (names && PyTuple_Size(names))) {
        PyErr_Format(
            PyExc_TypeError,
            "expected grid, stream, function, metadata, hooks, then the kernel's arguments; found %zd "
            "values",
            n);
        return NULL;
    }
    for (int i = 0; i < 3; i++)
        if (!extent_of(args[i], &grid[i]))
            return NULL;
    if (!stream_of(args[3], &stream) || !read_values(l, args, n, values) || !call_hook(args[7], args[6]) ||
        !plan_launch(&l->plan, grid, stream, values, l->fail) || !call_hook(args[8], args[6]))
        return NULL;
    Py_INCREF(Py_None);
    return Py_None;
}

static PyObject *launcher_call(PyObject *self, PyObject *args, PyObject *kwargs)
{
    PyObject *items[ARGUMENTS_MOST];
    Py_ssize_t n = PyTuple_Size(args);
    if (n > ARGUMENTS_MOST || (kwargs && PyDict_Size(kwargs))) {
        PyErr_Format(PyExc_TypeError, "expected at most %d values and no keywords, found %zd", ARGUMENTS_MOST,
                     n);
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        items[i] = PyTuple_GetItem(args, i);
    return launcher_vector(self, items, (size_t)n, NULL);
}

PyObject *launcher_type(void)
{
    static PyMemberDef members[] = {
        {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct launcher, call), READONLY, NULL},
        {NULL, 0, 0, 0, NULL}};
    static PyType_Slot slots[] = {
        {Py_tp_new, (void *)PyType_GenericNew},
        {Py_tp_init, (void *)launcher_init},
        {Py_tp_dealloc, (void *)launcher_free},
        {Py_tp_call, (void *)launcher_call},
        {Py_tp_members, members},
        {0, NULL},
    };
    static PyType_Spec spec = {"neso._launch.Launcher", sizeof(struct launcher), 0,
                               (unsigned)Py_TPFLAGS_DEFAULT | HAVE_VECTORCALL, slots};
    return PyType_FromSpec(&spec);
}
