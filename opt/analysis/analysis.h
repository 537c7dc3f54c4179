/* analysis.h: the analyses, which answer questions about the IR and change nothing. In reading order:
 *
 *     value_range.c       the least and largest number that a value can be (value_range.h)
 *     axis_info.c         divisibility, contiguity and constancy of each value, per dimension
 *     depends.c           which program ids, memory or loops a scalar depends on
 *     slice.c             the dot from which a tile is computed
 *     affine.c            addresses and conditions as polynomials of indices and scalars (affine.h)
 *     access_pattern.c    the box of an array that an access touches (affine.h)
 *     alias.c             whether the kernel may write what a load reads */
#ifndef NESO_OPT_ANALYSIS_ANALYSIS_H
#define NESO_OPT_ANALYSIS_ANALYSIS_H

#include "ir/ir.h"

/* -- axis_info.c: divisibility, contiguity and constancy along each dimension -- */

/* Exponents of powers of two, one for each dimension. A scalar has one dimension of size 1. */
struct axis {
    uint8_t log_divisible
        [RANK_MAX]; /* the first element of each contiguous run is a multiple of this (a pointer: in bytes) */
    uint8_t
        log_contiguous[RANK_MAX]; /* length of aligned runs of consecutive values (of pointers: to consecutive elements) */
    uint8_t log_constant[RANK_MAX]; /* length of aligned runs of equal values */
    uint8_t
        log_adjacent[RANK_MAX]; /* as log_contiguous, if no index overflows; only for decisions that affect speed alone */
    bool nonnegative;           /* no element of the integer or tile of integers is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* The number of elements along dimension `dim` that one access may cover, judged by the addresses of a load, store or
 * atomic: they are consecutive and aligned, and have 16 bytes at most. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* The number of neighbours along `dim` that share one mask value; without a mask, all neighbours share one. */
int axis_mask(const struct axis_table *t, const struct op *access, int dim);

/* -- alias.c -- */
/* Does every program that executes o return afterwards without coming to the load? */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- slice.c -- */
/* The dot from which pure ops compute v; NULL: none. The search follows the first operand first. through_loops: the
 * search also enters loops by their results; otherwise values of loops count as unrelated, because a value that one
 * iteration hands to the next is no operand of the same dot. `accepts`, if not NULL, selects the dots to find;
 * another dot ends the search along that operand. */
const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot));

/* -- depends.c: what a scalar depends on besides parameters and the size of the grid -- */
enum {
    DEPENDS_ON_axis_0 = 1, /* program_id of axis 0 */
    DEPENDS_ON_other_axes = 2,
    DEPENDS_ON_more = 4 /* memory, a value that a loop carries, or more ops than the search visits */
};
/* through_loops: the search follows loop-carried values, instead of answering DEPENDS_ON_more for them. Passes that
 * compute the scalar for another program (l2_prefetch) cannot copy a loop, so they do not ask through loops; nor does
 * persistent_grid, for which a loop bound that another loop computes counts as different in each program.
 * cluster_multicast asks through loops, because it leaves the loops as they are. */
int value_depends_on(const struct value *v, bool through_loops);

#endif
