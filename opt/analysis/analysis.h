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
 *     completion.c        how threads learn that an asynchronous op is complete, and which ops a wait waits for
 *     maximum_weights.c   whether an online softmax may use other numbers in place of the maxima of its rows
 *     proof.c             the elements that an access can reach, and whether programs share elements (proof.h) */
#ifndef NESO_OPT_ANALYSIS_ANALYSIS_H
#define NESO_OPT_ANALYSIS_ANALYSIS_H

#include "ir/ir.h"

/* -- axis_info.c: divisibility, contiguity and constancy along each dimension -- */

/* The facts of axis_info.c about a value: exponents of powers of two for each dimension. A scalar counts as a tile
 * with one dimension of size 1. A run is aligned if its first index is a multiple of the run's length. */
struct axis {
    /* log2 of a number that divides the first element of each run of log_contiguous (for a pointer: its
     * address) */
    uint8_t log_divisible[RANK_MAX];
    /* log2 of the length of aligned runs of consecutive values (for pointers: of consecutive elements in
     * memory) */
    uint8_t log_contiguous[RANK_MAX];
    uint8_t log_constant[RANK_MAX]; /* log2 of the length of aligned runs of equal values */
    /* like log_contiguous, but assumes that no index overflows; for decisions that do not affect
     * correctness */
    uint8_t log_adjacent[RANK_MAX];
    bool nonnegative; /* the elements are integers, and none of them is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* allocates the table in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* Returns the largest vector width, in elements along dimension `dim`, that the addresses of a load, store or
 * atomic allow. The elements of a vector are consecutive and aligned, and have at most 16 bytes. A hint of
 * the user on the pointers (tl.multiple_of) can widen a vector only up to the length of the mask's runs
 * (axis_mask). Triton has the same limit, so a program that works with Triton in spite of a false hint works
 * here too. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* Returns the length of the aligned runs along `dim` in which all elements have the same mask value. Without a
 * mask, the result is at least the size of the dimension. */
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
/* Returns whether no program executes the load after o, because each program that executes o returns
 * first. */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- slice.c -- */
/* Returns a dot (of an asynchronous dot: its mma_wait) such that pure ops compute v from the dot's result.
 * Returns NULL if there is no such dot, or if the search would visit more than dot_chain_ops ops. Searches
 * depth first, the first operand first, and in both arms of an `if`. If through_loops, the search continues
 * from a loop's result into the loop, and from a carried value to the value that the previous iteration
 * yields; otherwise the search ends at these values. If `accepts` is not NULL, returns only a dot for which
 * `accepts` returns true. The search never continues from a dot to its operands. */
const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot));

/* -- memory/hoist_loads.c -- */
/* Returns whether o's operands are available at `before`, or can be: then o can move to just before `before`,
 * together with the pure ops that compute its operands. Does not consider memory: the caller checks the
 * stores in between. */
bool op_can_move(const struct op *o, const struct op *before);
/* Moves o, and the pure ops that compute its operands, to just before `before`. op_can_move must be true. */
void op_move_with_operands(struct op *o, struct op *before);

/* -- depends.c: what a scalar depends on in addition to parameters and the size of the grid -- */
enum {
    DEPENDS_ON_axis_0 = 1, /* program_id of axis 0 */
    DEPENDS_ON_other_axes = 2,
    DEPENDS_ON_more = 4 /* on an op or carried value that the search does not follow, for example a load */
};
/* Returns the set of the bits above; 0 if v depends on parameters and the size of the grid only. If
 * through_loops, the search follows counters and carried values of `for` loops; otherwise the result for them
 * is DEPENDS_ON_more. l2_prefetch passes false, because it copies the ops that compute the scalar, and cannot
 * copy a loop. persistent_grid passes false too: if a loop computes the bound of another loop, the pass
 * assumes that the bound differs between programs. cluster_multicast and proof.c pass true, because they copy
 * no loop. */
int value_depends_on(const struct value *v, bool through_loops);
/* Returns whether `to` - `from` is a constant, if integers wrap on overflow. If so, sets *distance to the
 * constant. */
bool value_distance(const struct value *from, const struct value *to, int64_t *distance);

/* -- maximum_weights.c -- */
struct maximum {
    struct op *max;            /* the op `max` that computes the maximum at the end of an iteration */
    struct value *old, *data; /* its operands: the carried maximum at the iteration's start, and new data */
};
/* Returns whether the loop's carried value number `at` (from 0) is a running maximum: each iteration yields
 * the maximum of this value and of other data. If so, fills *m. */
bool find_maximum(const struct op *loop, int at, struct maximum *m);
/* Returns whether the loop's carried value number `at` is a free running maximum. Free means: in exact arithmetic,
 * the kernel would compute the same results if any finite number replaced the maximum in each row and
 * iteration. Keeps its results in the `scratch` of the values. If it returns true, the functions below can be
 * called until the pass ends or maximum_is_free is called again. */
bool maximum_is_free(struct op *loop, int at);
/* Returns whether v shrinks exponentially as the maximum of the same iteration grows. For example, v may be
 * exp(s - maximum), where s are the elements of a row. */
bool falls_with_maximum(const struct value *v);
/* Returns whether v is proportional to an exponential of the difference between the old and the new maximum.
 * A loop rescales its sums by such a factor. */
bool is_scaled_by_ratio(const struct value *v);
bool has_weight(const struct value *v); /* whether v depends on the number that replaces the maximum */

#endif
