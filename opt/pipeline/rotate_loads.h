/* SPDX-License-Identifier: MIT */
/* rotate_loads.h: loads the scalars of an iteration in the iteration before. */
#ifndef NESO_OPT_PIPELINE_ROTATE_LOADS_H
#define NESO_OPT_PIPELINE_ROTATE_LOADS_H

#include "ir/ir.h"

/* Returns the loop, which counts by `step`, or the loop that replaces it. `writes`: the loop writes memory, so only
 * loads that invariant_loads.c marked may move. */
struct op *rotate_loads(struct op *loop, int64_t step, bool writes);
/* The mask of a load with addresses like *ptr: `mask` (may be NULL) if `live` is true, and false for all elements
 * otherwise. */
struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr);

#endif
