/* SPDX-License-Identifier: MIT */
/* key.c: converts arguments to the words of a key and to values. The value of a float is not used (-),
 * because dispatch.c converts floats:
 *
 *     (x, 100), 2.5 ─► words: tuple 2, tensor aligned float32, int32, float    values: address of x, 100, -    */
#include "runtime/python/neso/extension/key.h"

#include <string.h>

/* A key consists of pairs of words. The first word of a pair is a kind: */
enum word_kind {
    WORD_int = 1,
    WORD_object,
    WORD_float,
    WORD_bool,
    WORD_number,
    WORD_tuple,
    WORD_constants,
    WORD_descriptor,
    WORD_double,
    WORD_tensor /* WORD_tensor + 1: an aligned tensor */
};

enum { RANK_MOST = 5, DEPTH_MOST = 16, DEVICE_TYPE_CUDA = 1 /* c10::DeviceType::CUDA */ };

static PyObject *word_dtype, *word_is_cuda, *word_base, *word_shape, *word_strides, *word_block,
    *word_padding;

int key_ready(void)
{
    word_dtype = PyUnicode_InternFromString("dtype");
    word_is_cuda = PyUnicode_InternFromString("is_cuda");
    word_base = PyUnicode_InternFromString("base");
    word_shape = PyUnicode_InternFromString("shape");
    word_strides = PyUnicode_InternFromString("strides");
    word_block = PyUnicode_InternFromString("block_shape");
    word_padding = PyUnicode_InternFromString("padding");
    return word_dtype && word_is_cuda && word_base && word_shape && word_strides && word_block &&
           word_padding;
}

void key_begin(struct key *k, PyObject *const *tensor_types, int ntypes, const struct torch_calls *torch)
{
    k->tensor_types = tensor_types;
    k->ntypes = ntypes;
    k->torch = torch;
    k->is_full = k->nwords = k->nkept = k->nplaces = 0;
}

static void word(struct key *k, uint64_t kind, uint64_t value)
{
    if (k->nwords + 2 > WORDS_MOST) {
        k->is_full = 1;
        return;
    }
    k->words[k->nwords++] = kind;
    k->words[k->nwords++] = value;
}

static void keep(struct key *k, PyObject *x)
{
    if (k->nkept < KEPT_MOST)
        k->kept[k->nkept++] = x;
    else
        k->is_full = 1;
}

static void object_word(struct key *k, uint64_t kind, PyObject *x)
{
    word(k, kind, (uint64_t)(uintptr_t)x);
    keep(k, x);
}

static void place(struct key *k, PyObject *x, uint64_t value)
{
    if (k->nplaces == PLACES_MOST) {
        k->is_full = 1;
        return;
    }
    k->places[k->nplaces] = x;
    k->values[k->nplaces++] = value;
}

void key_number(struct key *k, uint64_t x)
{
    word(k, WORD_int, x);
}

/* -- constants -- */

static void constant(struct key *k, PyObject *x, int depth)
{
    if (PyLong_CheckExact(x)) {
        int overflow = 0;
        long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
        word(k, WORD_int, (uint64_t)value);
        k->is_full |= overflow;
    } else if (PyFloat_CheckExact(x)) {
        double number = PyFloat_AsDouble(x);
        uint64_t bits;
        memcpy(&bits, &number, sizeof bits);
        word(k, WORD_double, bits);
    } else if (PyTuple_CheckExact(x) && depth < DEPTH_MOST) {
        Py_ssize_t n = PyTuple_Size(x);
        word(k, WORD_constants, (uint64_t)n);
        for (Py_ssize_t i = 0; i < n; i++)
            constant(k, PyTuple_GetItem(x, i), depth + 1);
    } else {
        object_word(k, WORD_object, x);
    }
}

void key_constant(struct key *k, PyObject *x)
{
    constant(k, x, 0);
}

/* -- arguments -- */

static int add_int(struct key *k, PyObject *x, uint8_t flags)
{
    int overflow = 0;
    long long value = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (overflow)
        return 0;
    uint64_t class = value >= INT32_MIN && value <= INT32_MAX ? 1 : 2;
    if (!(flags & NO_SPECIALIZE))
        class |= (value == 1 ? 4u : 0u) | (!(flags & NO_ALIGN) && value % 16 == 0 ? 8u : 0u);
    word(k, WORD_number, class);
    place(k, x, (uint64_t)value);
    return 1;
}

/* Returns the index of x's type in k->tensor_types; -1 if x is not an array of a known type. */
static int tensor_type(const struct key *k, PyObject *x)
{
    for (int i = 0; i < k->ntypes; i++)
        if (k->tensor_types[i] == (PyObject *)Py_TYPE(x))
            return i;
    return -1;
}

static uint64_t tensor_word(uint64_t address, uint8_t flags)
{
    return WORD_tensor + (!(flags & (NO_SPECIALIZE | NO_ALIGN)) && address % 16 == 0 ? 1u : 0u);
}

/* Adds a tensor of PyTorch on a GPU. */
static int add_torch_tensor(struct key *k, PyObject *x, uint8_t flags)
{
    void *tensor = (char *)x + k->torch->offset, *address;
    int32_t dtype, type;
    if (k->torch->device_type(tensor, &type) != 0 || type != DEVICE_TYPE_CUDA ||
        k->torch->dtype(tensor, &dtype) != 0 || k->torch->data_ptr(tensor, &address) != 0)
        return 0;
    word(k, tensor_word((uint64_t)(uintptr_t)address, flags), (uint64_t)dtype);
    place(k, x, (uint64_t)(uintptr_t)address);
    return 1;
}

/* Adds x if it is an array on a GPU, of a type in k->tensor_types. Otherwise returns 0. */
static int add_tensor(struct key *k, PyObject *x, uint8_t flags)
{
    uint64_t address;
    int type = tensor_type(k, x);
    if (type < 0 || type < k->torch->ntypes)
        return type >= 0 && add_torch_tensor(k, x, flags);
    PyObject *on_gpu = PyObject_GetAttr(x, word_is_cuda);
    Py_XDECREF(on_gpu);
    PyObject *dtype = on_gpu == Py_True ? PyObject_GetAttr(x, word_dtype) : NULL;
    if (!dtype || !plan_value('P', x, &address)) {
        Py_XDECREF(dtype);
        return 0;
    }
    object_word(k, tensor_word(address, flags), dtype);
    place(k, x, address);
    Py_DECREF(dtype); /* the tensor owns the dtype; an entry of the table will own it too */
    return 1;
}

/* Reads the integers of a list or tuple, the attribute `name` of x, and returns their number. Returns -1 if
 * the attribute is not a list or tuple of 1 to RANK_MOST integers. */
static int read_numbers(PyObject *x, PyObject *name, long long numbers[RANK_MOST])
{
    PyObject *list = PyObject_GetAttr(x, name);
    int n = -1;
    if (list && (PyList_Check(list) || PyTuple_Check(list))) {
        Py_ssize_t size = PySequence_Size(list);
        n = size >= 1 && size <= RANK_MOST ? (int)size : -1;
        for (int i = 0; i < n; i++) {
            PyObject *item = PyList_Check(list) ? PyList_GetItem(list, i) : PyTuple_GetItem(list, i);
            int overflow = 1;
            numbers[i] = item && PyLong_Check(item) ? PyLong_AsLongLongAndOverflow(item, &overflow) : 0;
            if (overflow)
                n = -1;
        }
    }
    Py_XDECREF(list);
    return n;
}

/* Adds a tensor descriptor that the host made. Its words are the array's type, the block's extents and the
 * padding. Its values are the array's address, its sizes, and its strides except the last. */
static int add_descriptor(struct key *k, PyObject *x)
{
    long long shape[RANK_MOST], strides[RANK_MOST], block[RANK_MOST];
    PyObject *base = PyObject_GetAttr(x, word_base);
    PyObject *padding = base ? PyObject_GetAttr(x, word_padding) : NULL;
    int rank = padding && PyUnicode_Check(padding) ? read_numbers(x, word_shape, shape) : -1;
    int good = rank > 0 && read_numbers(x, word_strides, strides) == rank &&
               read_numbers(x, word_block, block) == rank;
    if (good) {
        int is_nan = PyUnicode_CompareWithASCIIString(padding, "nan") == 0;
        word(k, WORD_descriptor, (uint64_t)(2 * rank + is_nan));
        good = add_tensor(k, base, 0); /* the descriptor owns the array until the call ends */
    }
    for (int i = 0; good && i < rank; i++) {
        word(k, WORD_int, (uint64_t)block[i]);
        place(k, NULL, (uint64_t)shape[i]);
    }
    for (int i = 0; good && i < rank - 1; i++)
        place(k, NULL, (uint64_t)strides[i]);
    Py_XDECREF(base);
    Py_XDECREF(padding);
    return good;
}

static int add(struct key *k, PyObject *x, uint8_t flags, int depth);

static int add_tuple(struct key *k, PyObject *x, int depth)
{
    Py_ssize_t n = PyTuple_Size(x);
    word(k, WORD_tuple, (uint64_t)n);
    if (!PyTuple_CheckExact(x))
        object_word(k, WORD_object, (PyObject *)Py_TYPE(x));
    for (Py_ssize_t i = 0; i < n; i++)
        if (!add(k, PyTuple_GetItem(x, i), 0, depth + 1))
            return 0;
    return 1;
}

static int add(struct key *k, PyObject *x, uint8_t flags, int depth)
{
    if (depth > DEPTH_MOST)
        return 0;
    if (PyLong_CheckExact(x))
        return add_int(k, x, flags);
    if (PyFloat_CheckExact(x)) {
        word(k, WORD_float, 0);
        place(k, x, 0);
        return 1;
    }
    if (PyBool_Check(x)) {
        word(k, WORD_bool, 0);
        place(k, x, x == Py_True);
        return 1;
    }
    if (x == Py_None) {
        object_word(k, WORD_object, x);
        place(k, x, 0);
        return 1;
    }
    if (PyTuple_Check(x))
        return add_tuple(k, x, depth);
    return tensor_type(k, x) >= 0 ? add_tensor(k, x, flags)
                                  : PyObject_HasAttr(x, word_block) && add_descriptor(k, x);
}

int key_argument(struct key *k, PyObject *x, uint8_t flags)
{
    if (flags & IS_CONSTEXPR) {
        key_constant(k, x);
        place(k, x, 0);
        return 1;
    }
    if (flags & IS_TUNED) {
        if (!PyLong_CheckExact(x) && !PyFloat_CheckExact(x) && !PyBool_Check(x) && x != Py_None)
            return 0;
        key_constant(k, x);
    }
    return add(k, x, flags, 0);
}
