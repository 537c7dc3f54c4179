/* SPDX-License-Identifier: MIT */
/* value_range.h: the minimum and maximum of a value's elements. */
#ifndef NESO_OPT_VALUE_RANGE_H
#define NESO_OPT_VALUE_RANGE_H

#include "ir/ir.h"

struct bounds {
    int64_t lo, hi; /* both inclusive */
};

/* The bounds of an integer, or of the elements of a tile of integers, read as signed. An unknown value has the
 * bounds of its type. */
struct bounds bounds_of(const struct value *v);
/* Is the result of o at least 0, read as signed? x[i]: is operand i at least 0? in_address: the result is part of an
 * address; then the function assumes that a product does not overflow (the program would access memory outside of
 * its arrays) and that a divisor is positive (it is a size). Otherwise a product may overflow, and only a constant
 * divisor can be known to be positive. */
bool op_is_nonnegative(const struct op *o, const bool *x, bool in_address);

#endif
