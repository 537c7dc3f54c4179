/* value_range.h: between which numbers do a value's elements lie? */
#ifndef NESO_OPT_VALUE_RANGE_H
#define NESO_OPT_VALUE_RANGE_H

#include "ir/ir.h"

struct bounds {
    int64_t lo, hi; /* both may occur */
};

/* Of an integer or a tile of them, signed; where nothing is known, what its type holds. */
struct bounds bounds_of(const struct value *v);
/* Is an op's result at least 0, read as signed, where x[i] says that of operand i? in_address: what is computed goes into an
 * address, in which products do not wrap (the program would access memory that it does not have) and divisors are sizes;
 * elsewhere a product may wrap, and a divisor counts only as a constant. */
bool op_is_nonnegative(const struct op *o, const bool *x, bool in_address);

#endif
