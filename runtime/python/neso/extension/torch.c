/* SPDX-License-Identifier: MIT */
/* torch.c: reads the addresses of PyTorch's C functions from a tuple. neso/torch_calls.py finds and tests
 * these functions. */
#include "runtime/python/neso/extension/launch.h"

enum { ENTRIES = 6 };

int torch_read(struct torch_calls *t, PyObject *entries)
{
    void *to[ENTRIES - 1] = {&t->data_ptr, &t->dtype, &t->device_type, &t->device, &t->stream};
    if (!PyTuple_Check(entries) || PyTuple_Size(entries) != ENTRIES) {
        PyErr_Format(PyExc_ValueError, "expected an offset and %d addresses", ENTRIES - 1);
        return 0;
    }
    t->offset = (int)PyLong_AsLong(PyTuple_GetItem(entries, 0));
    for (int i = 0; i < ENTRIES - 1; i++)
        if (!read_address(PyTuple_GetItem(entries, i + 1), to[i]))
            return 0;
    return !PyErr_Occurred();
}
