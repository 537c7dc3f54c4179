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
/* Returns the shared_alloc of buf, a buffer or one stage of a buffer. If `stage` is not NULL, sets *stage to the
 * number of the stage, or to NULL if buf is a whole buffer. */
struct op *buffer_alloc(const struct value *buf, struct value **stage);
int64_t buffer_bytes(const struct type *t); /* of all stages */

/* -- insert_barriers.c -- */
/* Returns the first access or loop before which a barrier is missing, or NULL. Buffers must have offsets. */
const struct op *barrier_missing(struct func *f);

/* -- shared_pressure.c -- */
/* Returns the size of the buffer that o makes, or of the shared memory that o needs only while it runs. */
int64_t shared_bytes_of(const struct op *o);
/* Returns the largest number of bytes of shared memory that are live at once in a block. For an op that makes a
 * buffer, bytes_of must return the buffer's size. For any other op, bytes_of must return the bytes that the op
 * needs only while the op runs. */
int64_t shared_pressure(const struct block *b, int64_t (*bytes_of)(const struct op *o, void *ctx), void *ctx);

/* -- lower_tma_store.c -- */
/* Sets the box of o's tensor map so that copies fill or read a buffer of type *buf. The buffer's dimensions are the
 * innermost dimensions of the map: dimension order[i] of the buffer is the i-th innermost dimension. Makes the box so small
 * that a tile takes at least `parts` boxes. */
void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts);

#endif
