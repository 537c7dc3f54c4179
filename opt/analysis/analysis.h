/* SPDX-License-Identifier: MIT */
/* analysis.h: declares the analyses, which answer questions about the IR and do not change the IR. In reading
 * order:
 *
 *     value_range.c       the minimum and maximum of a value (value_range.h)
 *     axis_info.c         divisibility, contiguity and constancy of each value, per dimension
 *     depends.c           whether a scalar depends on program ids, on loops or on memory
 *     slice.c             the dot that a tile is computed from
 *     affine.c            addresses and conditions as polynomials of indices and scalars (affine.h)
 *     access_pattern.c    the box of an array that a load or store accesses (affine.h)
 *     alias.c             whether the kernel may write memory that a load reads
 *     completion.c        how threads learn that an asynchronous op is complete, and for what a wait op waits
 *     maximum_weights.c   whether an online softmax may use other numbers in place of the maxima of its rows
 *     proof.c             the elements that an access can reach, and whether programs share elements (proof.h) */
#ifndef NESO_OPT_ANALYSIS_ANALYSIS_H
#define NESO_OPT_ANALYSIS_ANALYSIS_H

#include "ir/ir.h"

/* -- axis_info.c: divisibility, contiguity and constancy along each dimension -- */

/* What axis_info.c knows about a value, as exponents of powers of two for each dimension. A scalar counts as
 * a tile with one dimension of size 1. A run is a sequence of elements along the dimension. It is aligned if
 * the index of its first element is a multiple of the run's length. */
struct axis {
    /* log2 of a number that divides the first element of each run of 2^log_contiguous elements (for pointers:
     * the address in bytes) */
    uint8_t log_divisible[RANK_MAX];
    /* log2 of the length of aligned runs of consecutive values (for pointers: of addresses of consecutive
     * elements in memory) */
    uint8_t log_contiguous[RANK_MAX];
    uint8_t log_constant[RANK_MAX]; /* log2 of the length of aligned runs of equal values */
    /* like log_contiguous, under the assumption that no index overflows; for decisions that do not affect
     * correctness */
    uint8_t log_adjacent[RANK_MAX];
    bool nonnegative; /* the elements are integers, and none of them is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* allocates the table in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* Returns the largest vector width, in elements along dimension `dim`, that the addresses of a load, store or
 * atomic allow. The elements of a vector are consecutive in memory, the vector is aligned to its size, and it
 * has at most 16 bytes. A hint of the user on the pointers (tl.multiple_of) can widen a vector only up to the
 * length of the mask's runs (axis_mask). Triton has the same limit, so a program that works with Triton in
 * spite of a false hint works here too. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* Returns the length in elements of the aligned runs along `dim` in which all elements have the same mask
 * value. For an access without a mask, the result is at least the size of the dimension. */
int axis_mask(const struct axis_table *t, const struct op *access, int dim);

/* -- completion.c -- */
/* The ways in which threads learn that an op is complete. Each row: word, meaning. */
#define COMPLETIONS(X) \
    X(order, "in program order") \
    X(phase, "by a phase of an mbarrier") \
    X(copies, "by a group of copies") \
    X(dots, "by a group of dots") \
    X(bulk, "by a group of bulk stores")

enum completion {
#define X(word, meaning) COMPLETION_##word,
    COMPLETIONS(X)
#undef X
};
enum { COMPLETION_count = COMPLETION_bulk + 1 };
enum completion op_completion(const struct op *o);
/* Returns the completion of the ops for which o waits; COMPLETION_order if o does not wait. */
enum completion op_awaits(const struct op *o);
/* Returns whether o starts a dot that runs while the threads continue. */
static inline bool starts_dot(const struct op *o)
{
    return op_completion(o) == COMPLETION_dots;
}

/* -- alias.c -- */
/* Returns whether a program that executes o never executes the load after it, because the program returns
 * first. */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- slice.c -- */
/* Returns a dot (of an asynchronous dot: its mma_wait) such that pure ops compute v from the dot's result.
 * Returns NULL if the search finds no such dot within dot_chain_ops ops. The search goes depth first from v
 * to operands, the first operand first, and from the result of an `if` into both arms. If through_loops, it
 * goes from a loop's result into the loop, and from a carried value to the value that the previous iteration
 * yields; otherwise it ends at these values. It never goes from a dot to the dot's operands. If `accepts` is
 * not NULL, returns only a dot for which `accepts` returns true. */
const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot));

/* -- memory/hoist_loads.c -- */
/* Returns whether o can move to just before `before`: each of its operands is defined before `before`, or is
 * computed by pure ops that can move along. Does not consider memory: the caller checks the stores between
 * `before` and o. */
bool op_can_move(const struct op *o, const struct op *before);
/* Moves o, and the pure ops that compute its operands, to just before `before`. op_can_move must be true. */
void op_move_with_operands(struct op *o, struct op *before);

/* -- depends.c: on what a scalar depends apart from parameters and the size of the grid -- */
enum {
    DEPENDS_ON_axis_0 = 1, /* program_id of axis 0 */
    DEPENDS_ON_other_axes = 2,
    DEPENDS_ON_more = 4 /* on an op or carried value that the search does not follow, for example a load */
};
/* Returns a mask of the DEPENDS_ON bits; 0 if the scalar v depends only on parameters and the size of the
 * grid. If through_loops, the search follows counters and carried values of `for` loops; otherwise a counter
 * or carried value gives DEPENDS_ON_more. l2_prefetch passes false, because it copies the ops that compute
 * the scalar, and cannot copy a loop. persistent_grid passes false too: if a loop computes the bound of
 * another loop, the pass assumes that the bound differs between programs. cluster_multicast and proof.c pass
 * true, because they copy no loop. */
int value_depends_on(const struct value *v, bool through_loops);
/* Returns whether the difference `to` - `from` is known to be a constant, modulo 2^n for integers of n bits.
 * If so, sets *distance to the constant. */
bool value_distance(const struct value *from, const struct value *to, int64_t *distance);

/* -- maximum_weights.c -- */
struct maximum {
    struct op *max;           /* the op OP_max that computes the maximum at the end of an iteration */
    struct value *old, *data; /* its operands: the maximum at the start of the iteration, and the other one */
};
/* Returns whether the loop's carried value number `at` (from 0) is a running maximum: each iteration yields
 * the maximum of the carried value and of another value. If so, fills *m. */
bool find_maximum(const struct op *loop, int at, struct maximum *m);
/* Returns whether the loop's carried value number `at` is a free running maximum. Free means: in exact arithmetic,
 * the kernel would compute the same results if any finite number replaced the maximum in each row and
 * iteration. Stores what it finds about each value in the value's field `scratch`. If it returns true, the
 * three functions below can be called until the pass ends or maximum_is_free is called again. */
bool maximum_is_free(struct op *loop, int at);
/* Returns whether v is proportional to an exponential that shrinks as the maximum of the same iteration
 * grows. For example, v may be exp(s - maximum), where s are the elements of a row. */
bool falls_with_maximum(const struct value *v);
/* Returns whether v is proportional to an exponential of the difference between the maxima at the start and
 * at the end of the iteration. A loop rescales its sums by such a factor. */
bool is_scaled_by_ratio(const struct value *v);
bool has_weight(const struct value *v); /* whether v depends on the number that replaces the maximum */

#endif
