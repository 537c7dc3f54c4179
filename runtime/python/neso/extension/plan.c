/* SPDX-License-Identifier: MIT */
/* plan.c: converts Python arguments to values, and calls neso_launch. */
#include "runtime/python/neso/extension/launch.h"

#include <math.h>
#include <string.h>

PyObject *word_data_ptr;

int read_address(PyObject *x, void *to)
{
    void *address = PyLong_AsVoidPtr(x);
    if (!address && PyErr_Occurred())
        return 0;
    /* POSIX guarantees that function pointers and object pointers have the same representation */
    memcpy(to, &address, sizeof address);
    return 1;
}

int plan_read(struct plan *p, PyObject *launch, PyObject *kernel, PyObject *entries)
{
    char *bytes;
    Py_ssize_t n;
    if (!read_address(launch, &p->launch) || !read_address(kernel, &p->kernel) ||
        PyBytes_AsStringAndSize(entries, &bytes, &n) < 0)
        return 0;
    if (n / 2 > VALUES_MOST) {
        PyErr_Format(PyExc_ValueError, "a launch has %zd values, and at most %d are passed here", n / 2,
                     VALUES_MOST);
        return 0;
    }
    p->count = (int)(n / 2);
    for (int i = 0; i < p->count; i++)
        p->entries[i] = (struct plan_entry){(uint8_t)bytes[2 * i], bytes[2 * i + 1]};
    return 1;
}

static uint64_t bits_of(char kind, double x)
{
    uint64_t value = 0;
    float single = (float)x;
    if (kind == 'f')
        memcpy(&value, &single, sizeof single);
    else
        memcpy(&value, &x, sizeof x);
    return value;
}

/* Rounds x to a float format of 16 bits (to nearest, ties to even), and sets *value to the bits of the
 * result. The format has `digits` fraction bits, and `least` is the exponent of its smallest normal number:
 * 10 and -14 for float16, 7 and -126 for bfloat16. Returns 0 if x is too large. */
static int short_bits(double x, int digits, int least, uint64_t *value)
{
    uint64_t sign = signbit(x) ? 0x8000 : 0, infinity = (uint64_t)0x7FFF >> digits << digits;
    *value = isnan(x) ? infinity | 1u << (digits - 1) : sign | infinity;
    if (isnan(x) || isinf(x))
        return 1;
    int exponent = x == 0 ? least : ilogb(x);
    exponent = exponent < least ? least : exponent;
    double rounded =
        nearbyint(ldexp(fabs(x), digits - exponent)); /* the leading 1 adds 1 to the exponent's field */
    uint64_t bits = ((uint64_t)(exponent - least) << digits) + (uint64_t)rounded;
    *value = sign | bits;
    return bits < infinity;
}

static int short_float(char kind, double x, uint64_t *value)
{
    float single = (float)x; /* like PyTorch, rounds to float before it rounds to bfloat16 */
    if (kind == 'h' ? short_bits(x, 10, -14, value)
                    : (isinf(x) || !isinf(single)) && short_bits(single, 7, -126, value))
        return 1;
    PyErr_Format(PyExc_OverflowError, "a number is too large for %s", kind == 'h' ? "float16" : "bfloat16");
    return 0;
}

static int integer(PyObject *x, uint64_t *value)
{
    *value = PyLong_AsUnsignedLongLongMask(x);
    return *value != (uint64_t)-1 || !PyErr_Occurred();
}

/* Called after x.data_ptr() has raised an exception. If this is an AttributeError, returns the address of x,
 * for which neso/launches.py tries other interfaces of arrays. Otherwise, or on a failure, returns NULL with
 * an exception set. */
static PyObject *address_by_python(PyObject *x)
{
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return NULL;
    PyErr_Clear();
    PyObject *module = PyImport_ImportModule("neso.launches");
    PyObject *found = module ? PyObject_CallMethod(module, "address_of", "O", x) : NULL;
    Py_XDECREF(module);
    return found;
}

/* Sets *value to the address of the array x. A number x is itself an address, and None means 0. */
static int address(PyObject *x, uint64_t *value)
{
    *value = 0;
    if (x == Py_None)
        return 1;
    if (PyLong_Check(x))
        return integer(x, value);
    PyObject *found = PyObject_CallMethodObjArgs(x, word_data_ptr, NULL);
    if (!found)
        found = address_by_python(x);
    if (!found)
        return 0;
    int good = integer(found, value);
    Py_DECREF(found);
    return good;
}

int plan_value(char kind, PyObject *x, uint64_t *value)
{
    *value = 1;
    if (kind == '1')
        return 1;
    if (kind == 'P')
        return address(x, value);
    if (kind == 'i') {
        if (PyLong_Check(x))
            return integer(x, value);
        PyObject *index = PyNumber_Index(x);
        int good = index && integer(index, value);
        Py_XDECREF(index);
        return good;
    }
    double number = PyFloat_AsDouble(x);
    if (number == -1.0 && PyErr_Occurred())
        return 0;
    if (kind == 'h' || kind == 'b')
        return short_float(kind, number, value);
    *value = bits_of(kind, number);
    return 1;
}

int plan_launch(const struct plan *p, const uint32_t grid[3], void *stream, const uint64_t *values,
                PyObject *fail)
{
    const void *args[VALUES_MOST];
    neso_error error; /* not zeroed: neso_launch writes to it only if it fails */
    neso_status status;
    error.size = sizeof error;
    error.message[0] = 0;
    for (int i = 0; i < p->count; i++)
        args[i] = &values[i];
    Py_BEGIN_ALLOW_THREADS status = p->launch(p->kernel, grid, stream, args, &error);
    Py_END_ALLOW_THREADS if (status == NESO_OK) return 1;
    PyObject *result = PyObject_CallFunction(fail, "is", (int)status, error.message);
    Py_XDECREF(result);
    return 0;
}

int stream_of(PyObject *x, void **stream)
{
    *stream = x == Py_None ? NULL : PyLong_AsVoidPtr(x);
    return *stream || !PyErr_Occurred();
}

int extent_of(PyObject *x, uint32_t *extent)
{
    PyObject *index = PyLong_Check(x) ? x : PyNumber_Index(x);
    if (!index)
        return 0;
    unsigned long long n = PyLong_AsUnsignedLongLong(index);
    if (index != x)
        Py_DECREF(index);
    if (n == (unsigned long long)-1 && PyErr_Occurred())
        return 0;
    if (n > UINT32_MAX) {
        PyErr_Format(PyExc_ValueError, "a grid has %llu programs along an axis, and 4294967295 is the most",
                     n);
        return 0;
    }
    *extent = (uint32_t)n;
    return 1;
}
