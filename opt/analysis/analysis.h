/* analysis.h: questions about the IR, one file each; an analysis changes nothing.
 *
 *     affine.c            addresses and conditions as sums of coefficients times variables (affine.h)
 *     access_pattern.c    which tile of which tensor an access touches (affine.h)
 *     axis_info.c         divisibility, contiguity and constancy of each value, per dimension
 *     value_range.c       between which numbers a value lies (value_range.h)
 *     depends.c           what a scalar depends on besides parameters and the size of the grid
 *     slice.c             from which dot a tile follows
 *     alias.c             may two accesses touch the same memory? */
#ifndef NESO_OPT_ANALYSIS_ANALYSIS_H
#define NESO_OPT_ANALYSIS_ANALYSIS_H

#include "ir/ir.h"

/* -- axis_info.c: what is known of each value's elements, per dimension (the smaller cousin of affine.c) -- */

/* All are powers of two, and here their exponents. A scalar has one dimension of size 1. */
struct axis {
    uint8_t log_divisible
        [RANK_MAX]; /* the first element of each contiguous run is a multiple (pointers: in bytes) */
    uint8_t
        log_contiguous[RANK_MAX]; /* aligned runs of consecutive values (pointers: of consecutive elements) */
    uint8_t log_constant[RANK_MAX]; /* aligned runs of equal values */
    uint8_t
        log_adjacent[RANK_MAX]; /* as log_contiguous, unless an index overflows: for choices of speed only */
    bool nonnegative;           /* integers: no element is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* How many elements along dimension `dim` the addresses of a load, store or atomic allow to access at once: consecutive,
 * aligned, 16 bytes at most. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* How many neighbours along `dim` share one mask value; without a mask all do. */
int axis_mask(const struct axis_table *t, const struct op *access, int dim);

/* -- alias.c -- */
/* Does the program return behind what stands where o does, and never come to the load? */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- slice.c -- */
/* The dot from which v follows by pure ops that stay near it; NULL: none. through_loops: also what a loop leaves; without it
 * values of loops count as unrelated, since what one iteration leaves the next is no operand of the same dot. `accepts`, if
 * not NULL, says which dots are meant; others end the search on their side. */
const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot));

/* -- depends.c: what a scalar depends on besides parameters and the grid's size -- */
enum {
    DEPENDS_ON_axis_0 = 1, /* the program's number along axis 0 */
    DEPENDS_ON_other_axes = 2,
    DEPENDS_ON_more = 4 /* memory, what a loop carries; or there is too much to look at */
};
/* through_loops: what a loop carries is followed, rather than DEPENDS_ON_more. Passes that compute the scalar anew for another
 * program (l2_prefetch) cannot do that with a loop, and those that ask how long a loop is (persistent_grid) take a bound that
 * another loop computes for one that differs; cluster_multicast, whose loops are there anyway, asks through them. */
int value_depends_on(const struct value *v, bool through_loops);

#endif
