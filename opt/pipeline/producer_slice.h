/* SPDX-License-Identifier: MIT */
/* producer_slice.h: the scalars that the producer warp (warp_specialize.c) computes, as a set of values. */
#ifndef NESO_OPT_PIPELINE_PRODUCER_SLICE_H
#define NESO_OPT_PIPELINE_PRODUCER_SLICE_H

#include "ir/ir.h"
#include "ir/support/map.h"

/* Are all loops around o, up to the function's body, counted loops (`for`)? */
bool stands_in_loops(const struct op *o);
/* May the program return inside of o? Then it returns in both roles. */
bool is_exit(const struct op *o);
bool slice_has(struct map *slice, const void *value);
/* Each adds values with all their operands to the slice. Returns false if one of them depends on a tile, on memory
 * that may change, or on a loop other than `for`. */
bool slice_add_place(struct map *slice, const struct op *load);      /* the coordinates and the loops of a load */
bool slice_add_exits(struct map *slice, const struct block *b);      /* the conditions of early returns */

#endif
