/* SPDX-License-Identifier: MIT */
/* producer_slice.h: declares the slice: the set of scalars that the producer warp (warp_specialize.c) must
 * compute itself. */
#ifndef NESO_OPT_PIPELINE_PRODUCER_SLICE_H
#define NESO_OPT_PIPELINE_PRODUCER_SLICE_H

#include "ir/ir.h"
#include "ir/support/map.h"

/* Returns whether all ops that contain o, up to the body of the function, are counted loops (`for`). */
bool stands_in_loops(const struct op *o);
/* Returns whether o contains a return. Both roles must execute such an op. */
bool is_exit(const struct op *o);
bool slice_has(struct map *slice, const void *value);
/* The next two functions add values to the slice, together with all values on which these values depend. They
 * return false if the producer must not compute one of these values (need, in producer_slice.c). Examples of
 * values that it must not compute are a tile, the result of an atomic or of an `if`, and a value loaded from
 * memory that may change. */
/* Adds the coordinates of a tensor_load, and the bounds of the loops around it. */
bool slice_add_place(struct map *slice, const struct op *load);
/* Adds the conditions of early returns in b. Returns false also if an op other than `if` contains a return. */
bool slice_add_exits(struct map *slice, const struct block *b);

#endif
