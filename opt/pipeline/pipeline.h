/* pipeline.h: what the passes of this folder share: they let copies, tensor cores and stores of different iterations
 * overlap. */
#ifndef NESO_OPT_PIPELINE_PIPELINE_H
#define NESO_OPT_PIPELINE_PIPELINE_H

#include "ir/ir.h"

/* -- warp_specialize.c, producer_slice.c -- */
struct op *func_roles(const struct func *f); /* its `warps`, NULL: none */
bool is_over_programs(const struct op *o); /* the loop over programs, where a CTA runs several (persistent_grid.c)? */
/* Could a warp of its own load a tile where `load` stands, at these coordinates? Loads that are to become tensor_load must
 * be such. */
bool warps_can_feed(const struct op *load, struct value *const *coords, int ncoords);

/* -- pipeline_loops.c -- */
/* Is the op a load that copies would bring to shared memory ahead of time, from where its readers take the tile in their own layout: of
 * a vector, or of what is added to a dot's result and the like? */
bool readers_choose_layout(const struct op *o);
/* Is the op a load of a vector for which copies would run ahead, and would threads, with this layout, copy elements that others
 * copy, too? From shared memory its readers take the vector in any layout. */
bool repeats_staged_vector(const struct op *o, const struct layout *l);

/* -- warp_specialize.c -- */
/* To a ring's next slot; behind the last comes the first, in the other phase. */
void ring_advance(struct builder *b, int stages, struct value **slot, struct value **phase);

#endif
