/* rotate_loads.h: loads of scalars move to the iteration before. */
#ifndef NESO_OPT_PIPELINE_ROTATE_LOADS_H
#define NESO_OPT_PIPELINE_ROTATE_LOADS_H

#include "ir/ir.h"

/* The loop, which counts by `step`, or the one that takes its place. `writes`: it writes memory, so that only loads that
 * invariant_loads.c marked may move. */
struct op *rotate_loads(struct op *loop, int64_t step, bool writes);
/* The mask of a load whose addresses are *ptr's: `mask` (may be NULL) where `live` holds, and nothing elsewhere. */
struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr);

#endif
