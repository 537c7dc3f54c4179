/* SPDX-License-Identifier: MIT */
/* pipeline.h: the passes of this folder overlap copies, dots and stores of different iterations and programs.
 * The files in reading order: plan_copies.c, pipeline_loops.c and rotate_loads.c (copies by cp.async),
 * plan_rings.c, warp_specialize.c and producer_slice.c (copies by a producer warp), overlap_dots.c,
 * alternate_dots.c, overlap_epilogue.c, schedule_dots.c and carry_dots.c; then loop_schedule.c, which
 * describes the finished loops, and explain_schedule.c, which prints the description. Below are the functions
 * that several of these files, or passes of other folders, call.
 *
 * Terms of this folder: A ring is a buffer in shared memory with several stages, or several such buffers with
 * equally many stages. Each stage holds the tiles of one iteration, and the loop uses the stages in turn. A
 * producer is a warp that copies tiles into rings; the consumers are the warps that compute with these tiles.
 * To release a stage means to arrive at the mbarrier at which the producer waits before it overwrites the
 * stage. A dot is in flight between its start (mma_start) and the wait for it (mma_wait). In names, `behind`
 * means: later in program order. */
#ifndef NESO_OPT_PIPELINE_PIPELINE_H
#define NESO_OPT_PIPELINE_PIPELINE_H

#include "ir/ir.h"

/* -- warp_specialize.c, producer_slice.c -- */
struct op *func_roles(const struct func *f); /* returns the function's op `warps`, or NULL */
/* Returns the number of registers that a consumer thread may use: the limit that setmaxnreg sets for the
 * consumers. If there is no such limit, returns the number of registers with which two CTAs fit on an SM. */
int consumer_regs(const struct func *f);
bool is_over_programs(const struct op *o); /* whether o is the loop over the programs of a CTA (persistent_grid.c) */
/* Returns whether a producer warp could copy the tile of `load`: it must be able to compute the `ncoords`
 * coordinates of the tile in the tensor map, and to follow the loops around the load and the early returns of
 * the program. Returns false also if the kernel has more warps than may be consumers, or if its warps do not
 * form whole warpgroups. Only a load for which this function returns true may become a tensor_load. */
bool producer_can_copy(const struct op *load, struct value *const *coords, int ncoords);
/* A tensor map copies to an address in shared memory that is a multiple of this number of bytes. */
enum { STAGE_ALIGN = 128 };
/* Returns the last dot of v's block whose operand a or b is computed from v by elementwise ops, shape ops and
 * conversions of this block. Returns NULL if there is no such dot. Returns NULL also if v, or a value that
 * these ops compute from v, has a user that is neither such an op nor a dot of this block. Dots that use such
 * a value as accumulator are ignored. */
const struct op *dot_computed_from(const struct value *v);

/* -- plan_copies.c -- */
/* Returns whether the loop is known to run at most pipeline_loops_short_trips iterations. Such a loop should
 * load into registers the tiles that only arithmetic reads. Copies to shared memory would gain nothing,
 * because the loads of all iterations can be in flight together anyway. The loads need no shared memory, and
 * they hit in L1 if other CTAs of the SM read the same lines. */
bool loop_is_short(const struct op *loop);
/* Returns whether an elementwise op combines v with the result of a dot. Elementwise ops and transpositions
 * may be between v and this op, and between the dot and this op. */
bool meets_dot(const struct value *v);
/* Returns whether pipeline_loops will probably copy the tile of load o to shared memory, so that each reader
 * can load the tile in a layout of its own. This holds for two kinds of loads in a loop with a dot: loads of
 * vectors, and loads of tiles that an elementwise op combines with the result of a dot (meets_dot). */
bool readers_choose_layout(const struct op *o);
/* Returns whether l is a bad layout for o. This is so if o loads a vector that pipeline_loops will probably
 * copy to shared memory, and if several threads would copy the same elements of this vector with layout l.
 * Another layout costs nothing, because the readers can load the vector from shared memory in any layout. */
bool repeats_staged_vector(const struct op *o, const struct layout *l);

/* -- warp_specialize.c -- */
/* Builds ops that advance *stage to the number of the ring's next stage. Stage 0 follows the last stage;
 * *phase, which is 0 or 1, changes when the stage becomes 0. */
void ring_advance(struct builder *b, int stages, struct value **stage, struct value **phase);
/* Makes every warp arrive at the mbarrier `bar` itself to release a stage. Before this call, one warp arrived
 * for its whole warpgroup. */
void release_by_warps(const struct func *f, const struct value *bar);
/* Returns the wait for the only dot of a loop's body if this dot could stay in flight while the dot of the next
 * iteration starts. The dot can stay in flight only if the body has no ops with regions, and if the loop does
 * nothing with the accumulator but carry it. Otherwise returns NULL. */
struct op *wait_of_carried_dot(const struct block *body);

/* -- carry_dots.c -- */
/* Builds the wait for the dot in flight whose result is `sum`. `a` is the dot's operand a or NULL. If `a` is
 * a tile in registers, `a` becomes the second operand of the wait, and the wait has a second result, so that
 * the registers keep their values until the dot has ended. */
struct op *build_dot_wait(struct builder *b, struct value *sum, struct value *a);
/* Result i of the loop is the result of a dot in flight. Builds the wait for this dot after the loop, and
 * makes all users of the loop's result use the wait's result. For `a` see build_dot_wait. */
struct op *await_behind(struct op *loop, int i, struct value *a);
/* Replaces the wait by a wait that also keeps the registers of `a` (see build_dot_wait). Returns the new
 * wait. */
struct op *keep_operand(struct op *wait, struct value *a);
/* Returns the wait for the dot if the loop around the dot does nothing with the dot's accumulator but carry it.
 * Otherwise returns NULL. */
struct op *wait_if_carried(const struct op *dot);

/* -- overlap_dots.c -- */
void hoist_constants(struct op *loop); /* moves the constants of the loop's body to before the loop */
/* Builds an `if` with condition `when`, whose results have the types of the loop's results. Both regions are
 * empty. */
struct op *build_if_like(struct builder *b, const struct op *loop, struct value *when);
/* Builds, before the loop, an `if` whose condition is that the loop runs at least one iteration. The
 * first region is empty. The else-region yields the initial values of the loop. */
struct op *build_either(struct op *loop);

#endif
