/* SPDX-License-Identifier: MIT */
/* key.h: converts the arguments of one call to a key (the properties on which Triton specializes) and to values.
 *
 * The arguments of a call consist of scalars, called places: a place is a parameter, an element of a tuple,
 * or a descriptor's base, one of its sizes, or one of its strides except the last. Places are numbered in
 * this order. neso/launches.py numbers them in the same way. */
#ifndef NESO_PYTHON_KEY_H
#define NESO_PYTHON_KEY_H

#include "runtime/python/neso/extension/launch.h"

enum {
    PARAMS_MOST = 64,
    OPTIONS_MOST = 8,
    PLACES_MOST = 192,
    WORDS_MOST = 640,
    KEPT_MOST = 256,
    TENSOR_TYPES_MOST = 8
};

enum param_flags {
    IS_CONSTEXPR = 1,
    NO_SPECIALIZE = 2,
    NO_ALIGN = 4,
    IS_TUNED = 8 /* an autotuner chooses a configuration by the argument's value */
};

/* The arguments as Python passes them; all references are borrowed. */
struct given {
    PyObject *const *positional;
    Py_ssize_t npositional;
    int nnamed;
    PyObject *keywords; /* the tuple that contains `names`; NULL: a dictionary contains them */
    PyObject *names[PARAMS_MOST + OPTIONS_MOST];
    PyObject *named[PARAMS_MOST + OPTIONS_MOST];
};

struct key {
    PyObject *const *tensor_types; /* types of arrays; the attribute is_cuda of an array on a GPU is True */
    int ntypes;
    const struct torch_calls *torch;
    int is_full; /* the arguments did not fit into the arrays */
    int nwords, nkept, nplaces;
    uint64_t words[WORDS_MOST];
    PyObject *kept[KEPT_MOST];     /* borrowed: the objects whose addresses are in the words */
    uint64_t values[PLACES_MOST];  /* for each place, its number or address */
    PyObject *places[PLACES_MOST]; /* borrowed: for each place, its object; NULL: `values` suffices */
};

void key_begin(struct key *k, PyObject *const *tensor_types, int ntypes, const struct torch_calls *torch);
void key_number(struct key *k, uint64_t x);
/* Adds a constant: a number by its value, a tuple by its elements, another object by its address. */
void key_constant(struct key *k, PyObject *x);
/* Adds the argument x of a parameter with these flags (enum param_flags). Returns 0 if only Python can
 * specialize x; an exception may then be set. */
int key_argument(struct key *k, PyObject *x, uint8_t flags);
/* Makes the Python strings that name attributes. Returns 0 if there is no memory. */
int key_ready(void);

#endif
