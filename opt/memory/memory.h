/* SPDX-License-Identifier: MIT */
/* memory.h: the passes of this folder choose how accesses reach memory: tensor maps for global memory, offsets and
 * barriers in shared memory, hints to caches. In reading order: tma_alignment.c, tma_shift.c, raise_tma_load.c,
 * raise_tma_store.c, lower_tma_store.c; invariant_loads.c, load_ahead.c, hoist_loads.c, whole_tiles.c,
 * eviction_hints.c, l2_prefetch.c; shared_pressure.c, allocate_shared.c, insert_barriers.c. Below are the functions
 * that several of these files, or passes of other folders, call. */
#ifndef NESO_OPT_MEMORY_MEMORY_H
#define NESO_OPT_MEMORY_MEMORY_H

#include "ir/ir.h"

/* -- allocate_shared.c -- */
/* Returns the shared_alloc of buf, which is a buffer or one stage of a buffer (shared_stage). If `stage` is
 * not NULL, sets *stage to the value that is the stage's number, or to NULL if buf is a whole buffer. */
struct op *buffer_alloc(const struct value *buf, struct value **stage);
int64_t buffer_bytes(const struct type *t); /* the size of a buffer of type t, with all its stages */

/* -- insert_barriers.c -- */
/* Returns the first op (an access or a loop) before which a barrier is missing; NULL if none is missing.
 * Buffers must have offsets. */
const struct op *barrier_missing(struct func *f);

/* -- shared_pressure.c -- */
/* Returns the bytes of the buffer that o makes (shared_alloc, to_shared), or that o needs while it runs (a
 * convert through shared memory); 0 for other ops. */
int64_t shared_bytes_of(const struct op *o);
/* Returns the largest number of bytes of shared memory that are live at once in a block. bytes_of must return
 * the size of the buffer for an op that makes a buffer, and for any other op the bytes that it needs while it
 * runs. */
int64_t shared_pressure(const struct block *b, int64_t (*bytes_of)(const struct op *o, void *ctx), void *ctx);

/* -- lower_tma_store.c -- */
/* Sets the box and the swizzle of o's tensor map so that its copies fill or read a buffer of type *buf. The
 * buffer's dimensions are the innermost dimensions of the map. Among these, counted from the outermost, the
 * i-th is dimension order[i] of the buffer. Makes the box so small that a tile takes at least `parts` boxes.
 * If other ops still need the map's old box, gives o a map of its own. */
void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts);

#endif
