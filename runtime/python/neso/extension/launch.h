/* SPDX-License-Identifier: MIT */
/* launch.h: the plan that converts the arguments of Python to values for neso_launch, which both kinds of launches use.
 *
 * The extension is built against Python's stable ABI (3.9): one file serves every Python from then on. It is not linked with
 * libneso: whoever makes a plan passes the address of neso_launch. */
#ifndef NESO_PYTHON_LAUNCH_H
#define NESO_PYTHON_LAUNCH_H

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "runtime/neso.h"

enum { VALUES_MOST = 128 };

/* One value of a launch: the argument (in a Dispatch: the place, see key.h) that it comes from, and what becomes of it: 'P' an address, 'i' an integer of at most
 * 8 bytes, 'f' a float, 'd' a double, 'h' a float16, 'b' a bfloat16, '1' the number 1 of no argument. */
struct plan_entry {
    uint8_t argument;
    char kind;
};

/* How one compiled kernel is launched. The Python objects that keep the kernel alive belong to whoever holds the plan. */
struct plan {
    neso_status (*launch)(neso_kernel *, const uint32_t *, void *, const void *const *, neso_error *);
    neso_kernel *kernel;
    int count;
    struct plan_entry entries[VALUES_MOST];
};

/* From (address of neso_launch, address of the kernel, bytes of argument and kind in turn). False: an exception is set. */
int plan_read(struct plan *p, PyObject *launch, PyObject *kernel, PyObject *entries);
/* Converts a Python object to a value of the given kind. False: an exception is set. */
int plan_value(char kind, PyObject *x, uint64_t *value);
/* values[i] is the plan's entry i. False: an exception is set, made by `fail(status, message)`. */
int plan_launch(const struct plan *p, const uint32_t grid[3], void *stream, const uint64_t *values,
                PyObject *fail);
/* Converts Python's number for a CUstream. */
int stream_of(PyObject *x, void **stream);
/* Reads an extent of a grid. False: it is not a number from 0 to 2^32 - 1, and an exception is set. */
int extent_of(PyObject *x, uint32_t *extent);

PyObject *launcher_type(void);
PyObject *dispatch_type(void);
extern PyObject *word_data_ptr; /* "data_ptr", made when the module is loaded */

#endif
