/* SPDX-License-Identifier: MIT */
/* rotate_loads.h: moves loads of a loop to the iteration before the one that uses them. */
#ifndef NESO_OPT_PIPELINE_ROTATE_LOADS_H
#define NESO_OPT_PIPELINE_ROTATE_LOADS_H

#include "ir/ir.h"

/* Which loads move: those of scalars and of tiles of indices in few registers; also those of all one-dimensional tiles
 * in few registers; or those of all tiles. */
enum rotates { ROTATES_indices, ROTATES_vectors, ROTATES_tiles };

/* Moves loads of the loop one iteration ahead. Returns the loop, or the loop that replaces it. `step`: the loop's
 * step; 0: the step is not a constant, but is positive. `writes`: only loads marked as invariant may move, because the
 * loop may write memory. */
struct op *rotate_loads(struct op *loop, int64_t step, bool writes, enum rotates which);
/* Does a thread hold a tile of this layout in so few registers that it may be loaded an iteration ahead? */
bool fits_ahead(const struct module *m, const struct layout *l);
/* Could rotate_loads, with ROTATES_tiles, move this load if the loop around it wrote no memory? */
bool can_rotate_load(const struct op *load);
/* Builds the mask of a load whose addresses have type *ptr: `mask` if the scalar `live` is true, and false for all
 * elements otherwise. `mask` may be NULL. */
struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr);

#endif
