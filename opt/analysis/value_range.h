/* SPDX-License-Identifier: MIT */
/* value_range.h: declares the analysis that computes the minimum and maximum of a value's elements. */
#ifndef NESO_OPT_VALUE_RANGE_H
#define NESO_OPT_VALUE_RANGE_H

#include "ir/ir.h"

struct bounds {
    int64_t lo, hi; /* both inclusive */
};

/* Returns the bounds of an integer, or of the elements of a tile of integers, read as signed. If nothing is known
 * about the value, the bounds are those of its type. */
struct bounds bounds_of(const struct value *v);
/* Returns whether every element of v is a multiple of `of`, if no op that computes v overflows. */
bool value_is_multiple(const struct value *v, int64_t of);
/* Returns whether the result of o is known to be at least 0, read as signed. x[i] says whether operand i is
 * known to be at least 0. If in_address is true, the result is part of an address. The function then assumes
 * that products do not overflow, because the program would otherwise access memory outside of its arrays. It
 * also assumes that divisors of signed divisions are positive, because they are sizes. If in_address is
 * false, a product may overflow, and only a constant divisor can be known to be positive. */
bool op_is_nonnegative(const struct op *o, const bool *x, bool in_address);

#endif
