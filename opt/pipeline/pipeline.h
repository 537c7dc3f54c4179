/* SPDX-License-Identifier: MIT */
/* pipeline.h: the passes of this folder overlap copies, dots and stores of different iterations and programs. In
 * reading order: pipeline_loops.c with rotate_loads.c (copies by cp.async), warp_specialize.c with producer_slice.c
 * (copies by a producer warp), overlap_dots.c, overlap_epilogue.c, schedule_dots.c. Below are the functions that they
 * share. */
#ifndef NESO_OPT_PIPELINE_PIPELINE_H
#define NESO_OPT_PIPELINE_PIPELINE_H

#include "ir/ir.h"

/* -- warp_specialize.c, producer_slice.c -- */
struct op *func_roles(const struct func *f); /* the function's op `warps`; NULL: none */
bool is_over_programs(const struct op *o); /* is o the loop over the programs of a CTA (persistent_grid.c)? */
/* Could a producer warp load the tile that `load` loads, at these coordinates? A load may become a tensor_load only
 * then. */
bool producer_can_copy(const struct op *load, struct value *const *coords, int ncoords);

/* -- pipeline_loops.c -- */
/* Is the op a load that pipeline_loops copies to shared memory ahead of time, so that its readers can take the tile
 * in their own layout? This holds for vectors, and for tiles that elementwise ops combine with a dot's result. */
bool readers_choose_layout(const struct op *o);
/* Is the op a load of a vector that is copied ahead, and would several threads with this layout copy the same
 * elements? Readers can take the vector from shared memory in any layout. */
bool repeats_staged_vector(const struct op *o, const struct layout *l);

/* -- warp_specialize.c -- */
/* Advances to a ring's next stage. After the last stage comes the first one again, with the other phase. */
void ring_advance(struct builder *b, int stages, struct value **stage, struct value **phase);

#endif
