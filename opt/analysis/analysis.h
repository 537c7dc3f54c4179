/* SPDX-License-Identifier: MIT */
/* analysis.h: declares the analyses, which answer questions about the IR and do not change the IR. In reading
 * order:
 *
 *     value_range.c       the minimum and maximum of a value (value_range.h)
 *     axis_info.c         divisibility, contiguity and constancy of each value, per dimension
 *     depends.c           which program ids, memory or loops a scalar depends on
 *     slice.c             the dot from whose result a tile is computed
 *     affine.c            addresses and conditions as polynomials of indices and scalars (affine.h)
 *     access_pattern.c    the box of an array that a load or store accesses (affine.h)
 *     alias.c             whether the kernel may write memory that a load reads
 *     completion.c        how threads learn that an asynchronous op is complete, and which ops a wait waits for
 *     maximum_weights.c   whether a loop may compute with a number other than the maximum of its rows
 *     proof.c             the elements that an access can reach, and whether programs share elements (proof.h) */
#ifndef NESO_OPT_ANALYSIS_ANALYSIS_H
#define NESO_OPT_ANALYSIS_ANALYSIS_H

#include "ir/ir.h"

/* -- axis_info.c: divisibility, contiguity and constancy along each dimension -- */

/* The facts of axis_info.c about a value: exponents of powers of two for each dimension. A scalar counts as a tile
 * with one dimension of size 1. */
struct axis {
    /* log2 of a divisor of the first element of each contiguous run (of pointers: of a divisor of the address) */
    uint8_t log_divisible[RANK_MAX];
    /* log2 of the length of aligned runs of consecutive values (of pointers: to consecutive elements) */
    uint8_t log_contiguous[RANK_MAX];
    uint8_t log_constant[RANK_MAX]; /* log2 of the length of aligned runs of equal values */
    /* as log_contiguous, but assumes that no index overflows; only for decisions that do not affect correctness */
    uint8_t log_adjacent[RANK_MAX];
    bool nonnegative; /* no element of the integer or tile of integers is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* allocates the table in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* Returns the largest vector width along dimension `dim` that the addresses of a load, store or atomic allow: the
 * elements of a vector are consecutive and aligned, and have at most 16 bytes. If the elements may have different
 * mask values, a promise about the access's own pointers (tl.multiple_of) allows no vector wider than the mask's
 * runs. Triton has the same limit, so a program with a false promise that works with Triton works here too. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* Returns the length of the aligned runs along `dim` in which all elements have the same mask value. Without a
 * mask, the result is at least the size of the dimension. */
int axis_mask(const struct axis_table *t, const struct op *access, int dim);

/* -- completion.c -- */
/* How threads learn that an op is complete: word, meaning. */
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
/* Returns the kind of completion that o waits for; COMPLETION_order if o does not wait. */
enum completion op_awaits(const struct op *o);
/* Returns whether o starts a dot that runs while the threads continue. */
static inline bool starts_dot(const struct op *o)
{
    return op_completion(o) == COMPLETION_dots;
}

/* -- alias.c -- */
/* Returns whether every program that executes o returns afterwards without executing the load. */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- slice.c -- */
/* Returns the dot from whose result pure ops compute v, or NULL. Searches depth first, the first operand first, and in
 * both arms of an `if`. If through_loops, the search continues from a loop's result into the loop, and from a carried
 * value to the value that the previous iteration yields; otherwise the search ends at these values. If `accepts` is not
 * NULL, returns only a dot for which `accepts` returns true; the search does not continue through other dots. */
const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot));

/* -- memory/hoist_loads.c -- */
/* Returns whether o can move to just before `before`, together with the pure ops that compute its operands. */
bool op_can_move(const struct op *o, const struct op *before);
void op_move_with_operands(struct op *o, struct op *before);

/* -- depends.c: what a scalar depends on in addition to parameters and the size of the grid -- */
enum {
    DEPENDS_ON_axis_0 = 1, /* program_id of axis 0 */
    DEPENDS_ON_other_axes = 2,
    DEPENDS_ON_more = 4 /* memory, a loop-carried value, or more ops than the search visits */
};
/* If through_loops, the search follows loop-carried values; otherwise the result for such a value is DEPENDS_ON_more.
 * l2_prefetch passes false, because it computes the scalar for another program and cannot copy a loop.
 * persistent_grid passes false too: if a loop computes the bound of another loop, the pass assumes that the bound
 * differs between programs. cluster_multicast passes true, because it does not copy loops. */
int value_depends_on(const struct value *v, bool through_loops);
/* Returns whether `to` - `from` is a constant, even if the two integers wrap. If so, sets *distance to the
 * constant. */
bool value_distance(const struct value *from, const struct value *to, int64_t *distance);

/* -- maximum_weights.c -- */
struct maximum {
    struct op *max;            /* computes the maximum at the end of an iteration */
    struct value *old, *data; /* operands of max: the carried maximum at the start of the iteration, and new data */
};
/* Returns whether the loop's carried value number `at` is a running maximum: each iteration yields the maximum of
 * this value and of other data. */
bool find_maximum(const struct op *loop, int at, struct maximum *m);
/* Returns whether the loop's carried value number `at` is a free running maximum. Free means: in exact arithmetic,
 * the kernel would compute the same results if any finite number replaced the maximum in each row and iteration. If
 * so, the functions below can be called until the pass ends or maximum_is_free is called again. */
bool maximum_is_free(struct op *loop, int at);
/* Returns whether v shrinks exponentially as the maximum of the same iteration grows. For example, v may be an
 * exponential of a row's elements. */
bool falls_with_maximum(const struct value *v);
/* Returns whether v is an exponential of the old maximum minus the new maximum. A loop rescales its sums by such a
 * factor. */
bool is_scaled_by_ratio(const struct value *v);
bool has_weight(const struct value *v); /* whether v depends on the number that replaces the maximum */

#endif
