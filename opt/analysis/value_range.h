/* value_range.h: between which numbers do a value's elements lie? */
#ifndef NESO_OPT_BOUNDS_H
#define NESO_OPT_BOUNDS_H

#include "ir/ir.h"

struct bounds {
    int64_t lo, hi; /* both may occur */
};

/* Of an integer or a tile of them, signed; where nothing is known, what its type holds. */
struct bounds bounds_of(const struct value *v);

#endif
