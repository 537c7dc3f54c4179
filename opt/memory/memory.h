/* SPDX-License-Identifier: MIT */
/* memory.h: the passes of this folder choose how accesses reach memory: tensor maps for global memory, offsets and
 * barriers in shared memory, hints to caches. In reading order: tma_alignment.c, tma_shift.c, raise_tma_load.c,
 * raise_tma_store.c, lower_tma_store.c; invariant_loads.c, load_ahead.c, eviction_hints.c, l2_prefetch.c;
 * shared_pressure.c, allocate_shared.c, insert_barriers.c. Below are the functions that several of these files, or
 * passes of other folders, call. */
#ifndef NESO_OPT_MEMORY_MEMORY_H
#define NESO_OPT_MEMORY_MEMORY_H

#include "ir/ir.h"

/* -- allocate_shared.c -- */
/* The shared_alloc of a buffer or of one stage of a buffer. If `stage` is not NULL, sets *stage to the number of the
 * stage, or to NULL if buf is a whole buffer. */
struct op *buffer_alloc(const struct value *buf, struct value **stage);
int64_t buffer_bytes(const struct type *t); /* of all stages */

/* -- insert_barriers.c -- */
/* The first access or loop that lacks a barrier in front of it; NULL: none. Buffers must have offsets. */
const struct op *barrier_missing(struct func *f);

/* -- shared_pressure.c -- */
/* The bytes of the buffer that o makes, or of the buffer in shared memory that o needs while it runs. */
int64_t shared_bytes_of(const struct op *o);
/* The largest number of bytes of shared memory that are live at once in a block. For an op that makes a buffer,
 * bytes_of returns the buffer's size; for any other op, it returns the bytes that the op occupies while it runs. */
int64_t shared_pressure(const struct block *b, int64_t (*bytes_of)(const struct op *o, void *ctx), void *ctx);

/* -- lower_tma_store.c -- */
/* Sets the box of o's tensor map so that copies fill or read a buffer of type *buf. Dimension order[i] of the buffer
 * is dimension i of the map, where i counts the map's innermost dimensions. Cuts the box so that a tile takes at least
 * `parts` boxes. */
void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts);

#endif
