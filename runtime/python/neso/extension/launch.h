/* SPDX-License-Identifier: MIT */
/* launch.h: declares the plan by which both kinds of launches (dispatch.c and launcher.c) convert Python
 * arguments to values for neso_launch.
 *
 * The extension is built against Python's stable ABI of 3.9, so that one file serves Python 3.9 and all later
 * versions. The extension is not linked with libneso: Python code passes the address of neso_launch when it
 * makes a plan. */
#ifndef NESO_PYTHON_LAUNCH_H
#define NESO_PYTHON_LAUNCH_H

#define Py_LIMITED_API 0x03090000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "runtime/neso.h"

enum { VALUES_MOST = 128 };

/* Python's headers declare the vector call protocol for the stable ABI only from 3.12 on, but the protocol's ABI has
 * been the same since 3.9. */
typedef PyObject *(*vector_call)(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names);
enum { HAVE_VECTORCALL = 1 << 11 };
#define FLAG_OF_VECTORCALL ((size_t)1 << (8 * sizeof(size_t) - 1))

/* One value of a launch. `argument` is the number of the argument from which the value comes (in a Dispatch,
 * the number of the place: see key.h). `kind` is the kind of the value: 'P' an address, 'i' an integer of at
 * most 8 bytes, 'f' a float, 'd' a double, 'h' a float16, 'b' a bfloat16. Kind '1' is the number 1, which
 * comes from no argument. */
struct plan_entry {
    uint8_t argument;
    char kind;
};

/* Describes how to launch one compiled kernel. The owner of the plan also owns the Python objects that keep
 * the kernel alive. */
struct plan {
    neso_status (*launch)(neso_kernel *, const uint32_t *, void *, const void *const *, neso_error *);
    neso_kernel *kernel;
    int count;
    struct plan_entry entries[VALUES_MOST];
};

/* Sets the pointer at `to` to the address of a function or object, which the Python int x contains. On a
 * failure, returns 0 with an exception set. */
int read_address(PyObject *x, void *to);
/* Makes a plan from the address of neso_launch, the address of the kernel, and a bytes object with two bytes
 * for each value: `argument` and `kind` of struct plan_entry. On a failure, returns 0 with an exception
 * set. */
int plan_read(struct plan *p, PyObject *launch, PyObject *kernel, PyObject *entries);
/* Converts a Python object to a value of the kind `kind` (struct plan_entry). On a failure, returns 0 with
 * an exception set. */
int plan_value(char kind, PyObject *x, uint64_t *value);
/* Launches the kernel with values[i] for entry i of the plan. On a failure, returns 0 with an exception set:
 * the Python function fail(status, message) raises it. */
int plan_launch(const struct plan *p, const uint32_t grid[3], void *stream, const uint64_t *values,
                PyObject *fail);
/* Converts a Python int, or None for the default stream, to a CUstream. On a failure, returns 0 with an
 * exception set. */
int stream_of(PyObject *x, void **stream);
/* Reads an extent of a grid. If x is not a number from 0 to 2^32 - 1, returns 0 with an exception set. */
int extent_of(PyObject *x, uint32_t *extent);

/* C functions of PyTorch's stable ABI (aoti_torch_*), which read tensors without Python calls. Each function
 * returns 0 on success. `offset` is the byte offset of an at::Tensor in its Python object. These functions
 * read arrays of the first `ntypes` known types (struct key). `device` or `stream` is NULL if only a Python
 * function can return the current device or stream. */
struct torch_calls {
    int offset, ntypes;
    int32_t (*data_ptr)(void *tensor, void **address);
    int32_t (*dtype)(void *tensor, int32_t *dtype);
    int32_t (*device_type)(void *tensor, int32_t *type);
    int32_t (*device)(int32_t *index);
    int32_t (*stream)(int32_t device, void **stream);
};

/* Sets t from a tuple: the offset, then the functions' addresses (0 for a missing `device` or `stream`). On a
 * failure, returns 0 with an exception set. */
int torch_read(struct torch_calls *t, PyObject *entries);

PyObject *launcher_type(void);
PyObject *dispatch_type(void);
/* If `run` is the function JITFunction.run for which the Dispatch was created, returns kernel[grid].
 * Otherwise, returns NULL without an exception. */
PyObject *dispatch_index(PyObject *dispatch, PyObject *run, PyObject *grid);
/* The base classes of JITFunction and ConstexprFunction (bases.c). */
PyObject *indexed_type(void);
PyObject *folded_type(void);
extern PyObject *word_data_ptr; /* "data_ptr", made when the module is loaded */

#endif
