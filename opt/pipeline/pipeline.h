/* SPDX-License-Identifier: MIT */
/* pipeline.h: the passes of this folder overlap copies, dots and stores of different iterations and programs. In
 * reading order: pipeline_loops.c with rotate_loads.c (copies by cp.async), warp_specialize.c with producer_slice.c
 * (copies by a producer warp), overlap_dots.c, alternate_dots.c, overlap_epilogue.c, schedule_dots.c; then
 * loop_schedule.c, which describes the loops that these passes leave, and explain_schedule.c, which prints the
 * description. Below are the functions that several of these files, or passes of other folders, call. */
#ifndef NESO_OPT_PIPELINE_PIPELINE_H
#define NESO_OPT_PIPELINE_PIPELINE_H

#include "ir/ir.h"

/* -- warp_specialize.c, producer_slice.c -- */
struct op *func_roles(const struct func *f); /* the function's op `warps`; NULL: none */
bool is_over_programs(const struct op *o); /* is o the loop over the programs of a CTA (persistent_grid.c)? */
/* Could a producer warp compute these coordinates and copy the tile of `load`? Only such a load may become a
 * tensor_load. */
bool producer_can_copy(const struct op *load, struct value *const *coords, int ncoords);

/* -- pipeline_loops.c -- */
/* Is o a load whose tile pipeline_loops will probably copy to shared memory, from which each reader can load it in
 * its own layout? In a loop with a dot, these are the loads of vectors, and of tiles that elementwise ops combine
 * with a dot's result. */
bool readers_choose_layout(const struct op *o);
/* Is o the load of a vector that pipeline_loops will probably copy to shared memory, and would several threads copy
 * the same elements if the vector had layout l? The load needs no such layout, because the vector's readers can load
 * it from shared memory in any layout. */
bool repeats_staged_vector(const struct op *o, const struct layout *l);

/* -- warp_specialize.c -- */
/* Advances *stage to the ring's next stage. After the last stage, stage 0 follows, and *phase changes its parity. */
void ring_advance(struct builder *b, int stages, struct value **stage, struct value **phase);
/* The wait for the only dot of a loop's body, if the body has no ops with regions and does nothing with the dot's
 * accumulator but carry it, so that the dot could stay in flight while the next iteration's dot starts. Otherwise
 * NULL. */
struct op *wait_of_carried_dot(const struct block *body);

/* -- overlap_dots.c -- */
void hoist_constants(struct op *loop); /* moves the constants of the loop's body in front of the loop */
/* Builds an `if` with results like those of the loop. */
struct op *build_if_like(struct builder *b, const struct op *loop, struct value *when);
/* Builds, in front of the loop, an `if` whose else-region yields the loop's initial values; its condition is that the
 * loop runs. */
struct op *build_either(struct op *loop);

#endif
