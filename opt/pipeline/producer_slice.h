/* producer_slice.h: the scalars that the warp that copies tiles (warp_specialize.c) needs, as a set of values. */
#ifndef NESO_OPT_PIPELINE_PRODUCER_SLICE_H
#define NESO_OPT_PIPELINE_PRODUCER_SLICE_H

#include "ir/ir.h"
#include "ir/support/map.h"

/* Do all loops around o count, up to the function's body? */
bool stands_in_loops(const struct op *o);
/* May the program return inside of o? It then does so in both roles. */
bool is_exit(const struct op *o);
bool slice_has(struct map *slice, const void *value);
/* False: a tile, memory that may change, or a loop without count stands behind what is to be added. */
bool slice_add_place(struct map *slice, const struct op *load);      /* where a load reads, and its loops */
bool slice_add_exits(struct map *slice, const struct block *b);      /* the conditions of early returns */

#endif
