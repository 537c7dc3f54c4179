/* SPDX-License-Identifier: MIT */
/* rotate_loads.h: moves loads of a loop to the iteration before the iteration that uses the loaded values. */
#ifndef NESO_OPT_PIPELINE_ROTATE_LOADS_H
#define NESO_OPT_PIPELINE_ROTATE_LOADS_H

#include "ir/ir.h"

/* Which loads move. ROTATES_indices: loads of scalars, and of tiles of indices that take few registers.
 * ROTATES_vectors: also loads of all one-dimensional tiles that take few registers. ROTATES_tiles: loads of all
 * tiles. */
enum rotates { ROTATES_indices, ROTATES_vectors, ROTATES_tiles };

/* Moves loads of the loop one iteration ahead. Returns the loop, or the loop that replaces it. `step` is the loop's
 * step, or 0 if the step is positive, but not a constant. If `writes` is true, the loop may write memory, and only
 * loads that are marked as invariant move. */
struct op *rotate_loads(struct op *loop, int64_t step, bool writes, enum rotates which);
/* Returns whether a tile of this layout takes so few registers of a thread that it may be loaded an iteration
 * ahead. */
bool fits_ahead(const struct module *m, const struct layout *l);
/* Returns whether rotate_loads could move this load, with ROTATES_tiles, if the loop around the load wrote no
 * memory. */
bool can_rotate_load(const struct op *load);
/* If only later iterations of the `for` around the load use its result, returns the carried value that the result
 * replaces. The load can write the registers of this value once the iteration has read the value. Otherwise returns
 * NULL. */
const struct value *value_replaced_by(const struct op *load);
/* Returns whether o only changes the shape of values, so that its result needs no registers of its own. */
bool passes_registers(const struct op *o);
/* Builds the mask of a load whose addresses have type *ptr. If the scalar `live` is true, the built mask equals
 * `mask`; otherwise the built mask is false for all elements. `mask` may be NULL. */
struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr);

#endif
