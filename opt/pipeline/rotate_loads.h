/* SPDX-License-Identifier: MIT */
/* rotate_loads.h: loads what an iteration reads in the iteration before. */
#ifndef NESO_OPT_PIPELINE_ROTATE_LOADS_H
#define NESO_OPT_PIPELINE_ROTATE_LOADS_H

#include "ir/ir.h"

/* Returns the loop, which counts by `step` (0: it is no constant, and positive), or the loop that replaces it.
 * `writes`: the loop writes memory, so only loads marked as invariant may move. `any_tile`: tiles of any size move, not
 * only scalars and small indices. */
struct op *rotate_loads(struct op *loop, int64_t step, bool writes, bool any_tile);
/* Is the load's address known an iteration ahead? */
bool can_rotate_load(const struct op *load);
/* The mask of a load with addresses like *ptr: `mask` (may be NULL) if `live` is true, and false for all elements
 * otherwise. */
struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr);

#endif
