/* value_range.h: between which numbers do the elements of a value lie? */
#ifndef NESO_OPT_VALUE_RANGE_H
#define NESO_OPT_VALUE_RANGE_H

#include "ir/ir.h"

struct bounds {
    int64_t lo, hi; /* both inclusive */
};

/* The bounds of an integer, or of the elements of a tile of integers, read as signed. A value of which nothing is
 * known has the bounds of its type. */
struct bounds bounds_of(const struct value *v);
/* Is the result of o at least 0, read as signed, if x[i] says whether operand i is? in_address: the result is part of
 * an address. There a product counts as one that does not overflow (the program would access memory that it does not
 * have), and a divisor counts as positive, since it is a size. Elsewhere a product may overflow, and only a constant
 * divisor is known to be positive. */
bool op_is_nonnegative(const struct op *o, const bool *x, bool in_address);

#endif
