/* memory.h: what the passes of this folder share: tensor maps, shared memory and its barriers, hints to the
 * caches. */
#ifndef NESO_OPT_MEMORY_MEMORY_H
#define NESO_OPT_MEMORY_MEMORY_H

#include "ir/ir.h"

/* -- allocate_shared.c -- */
/* The shared_alloc behind a buffer or a stage of one; `slot` (may be NULL): the stage's number, NULL for the whole. */
struct op *buffer_alloc(const struct value *buf, struct value **slot);
int64_t buffer_bytes(const struct type *t); /* of all stages */

/* -- insert_barriers.c -- */
/* The first access, or loop, that lacks a barrier in front of it; NULL: none does. Buffers have their offsets. */
const struct op *barrier_missing(struct func *f);

/* -- shared_pressure.c -- */
/* The most bytes that live at once in a block: bytes_of says how many the op's result takes (an op without a buffer as its result
 * takes them for itself), 0: none. */
int64_t shared_pressure(const struct block *b, int64_t (*bytes_of)(const struct op *o, void *ctx), void *ctx);

/* -- lower_tma_store.c -- */
/* Gives the map of o the box that goes with a buffer whose dimension order[i] is the map's i-th, in `parts` boxes or more. */
void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts);

#endif
