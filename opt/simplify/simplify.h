/* SPDX-License-Identifier: MIT */
/* simplify.h: the passes of this folder remove ops or replace ops by cheaper ops. They do not change results,
 * except the rounding in kernels with `deterministic` or `fp_reassoc`. Reading order: fold.c (constants and
 * identities), cse.c, licm.c, dce.c, sink.c; unroll.c, single_trip_loops.c and dedup_loads.c, which rewrite
 * loops and loads of traced functions; fix_order.c (deterministic kernels); keep_maximum.c (kernels with
 * fp_reassoc) and skip_rescaling.c, for online softmax; cheap_division.c, which runs late; remat.c, which
 * runs on scheduled functions. In the head of a pass, `Needs` says what must hold before the pass, and
 * `Leaves` says what the pass leaves for later passes. This header declares the functions that other files
 * call too. */
#ifndef NESO_OPT_SIMPLIFY_SIMPLIFY_H
#define NESO_OPT_SIMPLIFY_SIMPLIFY_H

#include "ir/ir.h"

/* -- cse.c -- */
/* Returns whether two ops have equal attributes, apart from eviction priorities. */
bool attrs_equal(const struct op *a, const struct op *b);

/* -- dce.c -- */
bool op_is_dead(const struct op *o); /* whether o has neither a use nor a side effect */
/* Builds a new `for` before `old` and moves the body of `old` into it; the caller erases `old`. The new loop carries
 * the values of `old` for which `keep` is true (NULL: all), and nmore further values, whose initial values are
 * `more`. The uses of old's counter, and of its kept results and carried values, move to the new loop. The
 * caller then appends to the body's yield the next values of the further values (loop_yield). */
struct op *loop_carry(struct op *old, const bool *keep, int nmore, struct value *const *more);
/* Appends the nmore values `more` to the values that the loop's body yields. */
void loop_yield(struct op *loop, int nmore, struct value *const *more);
/* Builds, at b, an i1 that is 1 if the loop runs at least one iteration. */
struct value *loop_runs(struct builder *b, const struct op *loop);

/* -- fix_order.c -- */
/* Returns whether the kernel is deterministic, and o is a reduce or scan whose result may depend on the
 * layout of its operands. */
bool op_has_free_order(const struct op *o);

/* -- keep_maximum.c -- */
bool needs_other_warps(const struct op *o); /* whether o may move data between warps */

/* -- single_trip_loops.c -- */
void loop_inline(struct op *loop); /* replaces a loop by the body of its first iteration */

/* -- skip_rescaling.c -- */
bool is_cheap_shape(const struct op *o); /* whether o only repeats elements or adds a dimension */
/* Follows v's definition through all ops for which is_cheap_shape is true, and returns the value at which
 * they start; returns v itself if no such op defines v. */
const struct value *behind_shapes(const struct value *v);
/* Operand `side` of the product `mul` is 1 if `keep` (an i1) is 1. Replaces `mul` by a branch: if `keep` is
 * 1, the branch yields the other operand; else it computes and yields the product. */
void skip_product(struct op *mul, int side, struct value *keep);

/* -- unroll.c -- */
/* Computes the number of iterations of a `for`. Returns false if the bounds or the step are not constant. */
bool loop_trips(const struct op *loop, int64_t *trips);
/* Builds a new loop before `loop`, and returns the new loop. An iteration of the new loop runs `factor` iterations of
 * `loop`. Then `loop` runs the remaining iterations, or is erased if constant bounds show that none remain. If
 * constant bounds show that `loop` runs fewer than `factor` iterations, builds nothing and returns `loop`.
 * Removes the attribute `unroll` of `loop` in any case. */
struct op *loop_unroll(struct op *loop, int64_t factor);

#endif
