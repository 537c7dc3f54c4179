/* SPDX-License-Identifier: MIT */
/* analysis.h: the analyses, which answer questions about the IR and change nothing. In reading order:
 *
 *     value_range.c       the minimum and maximum of a value (value_range.h)
 *     axis_info.c         divisibility, contiguity and constancy of each value, per dimension
 *     depends.c           which program ids, memory or loops a scalar depends on
 *     slice.c             the dot on which a tile depends
 *     affine.c            addresses and conditions as polynomials of indices and scalars (affine.h)
 *     access_pattern.c    the box of an array that a load or store accesses (affine.h)
 *     alias.c             whether the kernel may write memory that a load reads
 *     completion.c        how threads learn that an op is complete, and which ops a wait waits for
 *     maximum_weights.c   whether a loop may compute with another number than the maximum of its rows
 *     proof.c             which elements an access reaches in every launch, and whether programs can meet (proof.h) */
#ifndef NESO_OPT_ANALYSIS_ANALYSIS_H
#define NESO_OPT_ANALYSIS_ANALYSIS_H

#include "ir/ir.h"

/* -- axis_info.c: divisibility, contiguity and constancy along each dimension -- */

/* What axis_info.c knows about a value: exponents of powers of two for each dimension. A scalar has one dimension of
 * size 1. */
struct axis {
    /* a divisor of the first element of each contiguous run (of pointers: a divisor of the address) */
    uint8_t log_divisible[RANK_MAX];
    /* length of aligned runs of consecutive values (of pointers: to consecutive elements) */
    uint8_t log_contiguous[RANK_MAX];
    uint8_t log_constant[RANK_MAX]; /* length of aligned runs of equal values */
    /* log_contiguous under the assumption that no index overflows; only for decisions that do not affect correctness */
    uint8_t log_adjacent[RANK_MAX];
    bool nonnegative; /* no element of the integer or tile of integers is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* allocates the table in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* The largest vector width along dimension `dim` that the addresses of a load, store or atomic allow: the elements
 * of a vector are consecutive and aligned, and have at most 16 bytes. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* The length of the aligned runs along `dim` in which all elements have the same mask value; without a mask, at
 * least the whole dimension. */
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
/* The kind of completion that o waits for; COMPLETION_order: o is not a wait. */
enum completion op_awaits(const struct op *o);
/* Does o start a dot that runs while the threads go on? */
static inline bool starts_dot(const struct op *o)
{
    return op_completion(o) == COMPLETION_dots;
}

/* -- alias.c -- */
/* Does every program that executes o return afterwards without executing the load? */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- slice.c -- */
/* The dot from whose result pure ops compute v; NULL: there is none. A depth-first search, which visits the first
 * operand first. through_loops: the search continues from a loop's result into the loop, and from a value that the
 * loop carries to the iteration before; otherwise it ends there. `accepts`, if not NULL, selects the dots to find;
 * the search does not continue beyond other dots. */
const struct op *dot_behind(const struct value *v, bool through_loops, bool (*accepts)(const struct op *dot));

/* -- memory/hoist_loads.c -- */
/* Can o move in front of `before`, together with the pure ops that compute its operands? */
bool op_can_move(const struct op *o, const struct op *before);
void op_move_with_operands(struct op *o, struct op *before);

/* -- depends.c: on what a scalar depends in addition to parameters and the size of the grid -- */
enum {
    DEPENDS_ON_axis_0 = 1, /* program_id of axis 0 */
    DEPENDS_ON_other_axes = 2,
    DEPENDS_ON_more = 4 /* memory, a loop-carried value, or more ops than the search visits */
};
/* through_loops: the search follows loop-carried values; otherwise it returns DEPENDS_ON_more for them. l2_prefetch
 * computes the scalar for another program and cannot copy a loop, so it passes false. persistent_grid passes false,
 * because it assumes that a loop bound which another loop computes differs between programs. cluster_multicast
 * passes true, because it does not copy loops. */
int value_depends_on(const struct value *v, bool through_loops);

/* -- maximum_weights.c -- */
struct maximum {
    struct op *max;            /* computes the maximum at the end of an iteration */
    struct value *old, *data;  /* its operands: the maximum at the start, which the loop carries, and other data */
};
/* Is the loop's carried value `at` a maximum of itself and other data? */
bool find_maximum(const struct op *loop, int at, struct maximum *m);
/* Does the kernel compute the same, in exact arithmetic, whatever finite number the loop takes for this maximum in each
 * row and iteration? If so, the weights of values are known until the pass ends, or until the next call. */
bool maximum_is_free(struct op *loop, int at);
/* Is v divided by a power of the number by which the maximum of the same iteration is larger? Exponentials are. */
bool falls_with_maximum(const struct value *v);
/* Is v multiplied by a power of the difference of both maxima? */
bool is_scaled_by_ratio(const struct value *v);
bool has_weight(const struct value *v); /* does v depend on the numbers taken for the maxima? */

#endif
