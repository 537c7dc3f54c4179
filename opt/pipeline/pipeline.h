/* SPDX-License-Identifier: MIT */
/* pipeline.h: the passes of this folder overlap copies, dots and stores of different iterations and programs. In
 * reading order: plan_copies.c, pipeline_loops.c and rotate_loads.c (copies by cp.async), plan_rings.c,
 * warp_specialize.c and producer_slice.c (copies by a producer warp), overlap_dots.c, alternate_dots.c,
 * overlap_epilogue.c, schedule_dots.c and carry_dots.c; then loop_schedule.c, which describes the loops that these
 * passes leave, and explain_schedule.c, which prints the description. Below are the functions that several of these
 * files, or passes of other folders, call. */
#ifndef NESO_OPT_PIPELINE_PIPELINE_H
#define NESO_OPT_PIPELINE_PIPELINE_H

#include "ir/ir.h"

/* -- warp_specialize.c, producer_slice.c -- */
struct op *func_roles(const struct func *f); /* returns the function's op `warps`, or NULL */
/* Returns the number of registers that a thread of the consumers may use. This is the limit of its role. If the role
 * has no limit, it is the number with which two CTAs fit on an SM. */
int consumer_regs(const struct func *f);
bool is_over_programs(const struct op *o); /* whether o is the loop over the programs of a CTA (persistent_grid.c) */
/* Returns whether a producer warp could compute these coordinates and copy the tile of `load`. Only such a load may
 * become a tensor_load. */
bool producer_can_copy(const struct op *load, struct value *const *coords, int ncoords);
enum { STAGE_ALIGN = 128 }; /* a tensor map copies to a multiple of this number of bytes in shared memory */
/* Returns the last dot of v's block whose operand a or b is computed from v by elementwise ops, shape ops and
 * conversions of this block. Returns NULL if v has other users too, or if there is no such dot. Accumulators
 * that are computed from v do not count as other users. */
const struct op *dot_computed_from(const struct value *v);

/* -- plan_copies.c -- */
/* Returns whether the loop is known to run so few iterations that it should load into registers the tiles that only
 * arithmetic reads. Copies ahead to shared memory gain nothing there: the loads can be in flight together too, they
 * need no shared memory, and they hit in L1 if other CTAs of the SM read the same lines. */
bool loop_is_short(const struct op *loop);
/* Returns whether an elementwise op combines v, or a value that elementwise ops and transpositions compute from v, with
 * a dot's result. */
bool meets_dot(const struct value *v);
/* Returns whether pipeline_loops will probably copy the tile of load o to shared memory. Each reader can then load
 * the tile in a layout of its own. Such loads are, in a loop with a dot, the loads of vectors, and the loads of tiles
 * that elementwise ops combine with the result of a dot. */
bool readers_choose_layout(const struct op *o);
/* Returns whether both hold: o loads a vector that pipeline_loops will probably copy to shared memory, and with layout
 * l, several threads would copy the same elements of this vector. Then l is a bad layout for o. Another layout costs
 * nothing, because the readers can load the vector from shared memory in any layout. */
bool repeats_staged_vector(const struct op *o, const struct layout *l);

/* -- warp_specialize.c -- */
/* Advances *stage to the next stage of the ring. Stage 0 follows the last stage; *phase then changes its parity. */
void ring_advance(struct builder *b, int stages, struct value **stage, struct value **phase);
/* Makes each warp arrive at this mbarrier to release a stage, instead of one warp for its whole warpgroup. */
void release_by_warps(const struct func *f, const struct value *bar);
/* Returns the wait for the only dot of a loop's body if this dot could stay in flight while the dot of the next
 * iteration starts. The dot can stay in flight only if the body has no ops with regions, and if the loop does
 * nothing with the accumulator but carry it. Otherwise returns NULL. */
struct op *wait_of_carried_dot(const struct block *body);

/* -- carry_dots.c -- */
/* Builds the wait for the dot in flight whose result is `sum`. If `a` is a tile in registers, the dot's operand a, the
 * wait also keeps these registers: the tile is its second operand and its second result. Otherwise `a` is a buffer or
 * NULL. */
struct op *build_dot_wait(struct builder *b, struct value *sum, struct value *a);
/* Builds, behind the loop, the wait for the dot that is in flight as the loop's result i. For `a` see
 * build_dot_wait. */
struct op *await_behind(struct op *loop, int i, struct value *a);
/* Replaces the wait by a wait that also keeps `a` (see build_dot_wait). Returns the new wait. */
struct op *keep_operand(struct op *wait, struct value *a);
/* Returns the wait for the dot if the loop around the dot does nothing with the dot's accumulator but carry it.
 * Otherwise returns NULL. */
struct op *wait_if_carried(const struct op *dot);

/* -- overlap_dots.c -- */
void hoist_constants(struct op *loop); /* moves the constants of the loop's body in front of the loop */
/* Builds an `if` with results like those of the loop. */
struct op *build_if_like(struct builder *b, const struct op *loop, struct value *when);
/* Builds, in front of the loop, an `if` whose condition is that the loop runs. The else-region yields the initial
 * values of the loop. */
struct op *build_either(struct op *loop);

#endif
