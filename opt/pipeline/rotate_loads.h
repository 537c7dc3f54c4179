/* SPDX-License-Identifier: MIT */
/* rotate_loads.h: moves loads of a loop one iteration ahead, so that each iteration loads the values that the
 * next iteration uses. */
#ifndef NESO_OPT_PIPELINE_ROTATE_LOADS_H
#define NESO_OPT_PIPELINE_ROTATE_LOADS_H

#include "ir/ir.h"

/* Which loads move. ROTATES_indices: loads of scalars, and loads of tiles of indices that take few registers.
 * (An index is an integer from which the address of another load is computed.) ROTATES_vectors: also loads of
 * all one-dimensional tiles that take few registers. ROTATES_tiles: loads of scalars and of all tiles. */
enum rotates { ROTATES_indices, ROTATES_vectors, ROTATES_tiles };

/* Moves loads of the loop one iteration ahead. Returns the loop that replaces `loop`, or `loop` itself if no
 * load moves. `step` is the loop's step, or 0 if the step is positive, but not a constant. If `writes` is
 * true, the loop may write memory, and only loads with the attribute `invariant` move (invariant_loads.c). */
struct op *rotate_loads(struct op *loop, int64_t step, bool writes, enum rotates which);
/* Returns whether a tile of this layout takes so few registers of a thread that it may be loaded an iteration
 * ahead. */
bool fits_ahead(const struct module *m, const struct layout *l);
/* Returns whether rotate_loads could move this load, with ROTATES_tiles, if the loop around the load wrote no
 * memory. */
bool can_rotate_load(const struct op *load);
/* If only later iterations of the `for` around the load use the load's result, returns the carried argument
 * that is this result in those iterations. (Once an iteration has read the argument, the load can write the
 * argument's registers.) Returns NULL if the load's own iteration uses the result, or if the load is in no
 * `for`. */
const struct value *value_replaced_by(const struct op *load);
/* Returns whether o only changes the shape of its operand, so that its result needs no registers of its
 * own. */
bool passes_registers(const struct op *o);
/* Builds and returns the mask of a load whose addresses have type *ptr. If the scalar `live` is true, the
 * built mask equals `mask`; otherwise the built mask is false for all elements. If `mask` is NULL, it counts
 * as all true. */
struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr);

#endif
