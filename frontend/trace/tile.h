/* SPDX-License-Identifier: MIT */
/* tile.h: represents values of a running kernel as host objects: the arguments of plain Python functions that a kernel
 * calls, and the variables in a debugger's expressions. A scalar of the kernel is a tile of rank 0. */
#ifndef NESO_FRONTEND_TILE_H
#define NESO_FRONTEND_TILE_H

#include "frontend/frontend.h"
#include "frontend/trace/lang.h"

struct tile {
    const struct lang_type *scalar;
    int rank;
    int shape[RANK_MAX];
    const char *data; /* the elements in row-major order, as in memory: an i1 takes one byte */
};

/* Creates a tile with a copy of the data. */
struct obj *obj_tile_new(struct eval *e, const struct lang_type *scalar, int rank, const int *shape,
                         const void *data);
const struct tile *obj_tile(const struct obj *x); /* NULL if x is not a tile */
int64_t tile_elems(const struct tile *t);
uint64_t tile_bits(const struct tile *t, int64_t i); /* the bits of element i, zero-extended */
struct obj *tile_item(struct eval *e, const struct tile *t, int64_t i); /* element i as a bool, int or float */
extern const struct native_class tile_class;

/* -- numpy.c -- */
/* Prints a tile as numpy prints an array: "[0 1 2]", or if `repr` is true, "array([0, 1, 2], dtype=int32)". */
void numpy_print(struct arena *a, const struct tile *t, struct text *out, bool repr);

#endif
