/* SPDX-License-Identifier: MIT */
/* plan_rings.h: the rings of buffers that a producer warp will fill (warp_specialize.c): which tiles go through which
 * ring, and how many stages each ring has. */
#ifndef NESO_OPT_PIPELINE_PLAN_RINGS_H
#define NESO_OPT_PIPELINE_PLAN_RINGS_H

#include "ir/ir.h"
#include "ir/support/map.h"

/* A tile that goes through a ring. The first to_shared of the tile, or of a transposition of it, determines the
 * buffer's layout, which always has the contiguous dimension last. So tiles that have the same arrangement in
 * memory have buffers of one type, and their batches can share a ring. Each reader sees the buffer in the order of
 * dimensions that it needs, or loads it into registers. */
struct take {
    struct op *load, *put; /* put: NULL if no asynchronous dot reads the tile from a buffer */
    const struct type *type; /* the buffer's, with one stage */
    struct op *first;        /* the first reader in the block, other than transpositions and conversions */
    struct value *buf;
    int dim[RANK_MAX];   /* buffer dimension i is the tile's dimension dim[i] */
    int order[RANK_MAX]; /* dimension i of the loaded tile is the buffer's dimension order[i] */
    bool into_registers; /* some reader loads it into registers */
};

struct batch {
    struct block *block; /* the block of its takes */
    VEC(struct take) takes;
    int ring;    /* the number of its ring; batches that share a ring have takes of equal number and types */
    int ncopied; /* while the producer is built: the number of takes whose copies are built */
    struct op *wait; /* the wait for the dot that stays in flight from one iteration to the next, or NULL */
    VEC(struct value *) views; /* the views of the stages in this iteration */
};

struct ring {
    int first;         /* the first batch, whose buffers the others use */
    int stages, bytes; /* the number of stages; the bytes of one stage */
    struct value *full, *empty;
    struct value *stage, *phase; /* while a role is built: the number of the current stage and its phase */
};

struct ring_plan {
    struct func *func;
    struct arena *arena;
    VEC(struct batch) batches;
    VEC(struct ring) rings;
    struct map needed; /* the values of the producer's slice */
};

/* Plans the rings of f. Without batches, no producer is needed. */
void plan_rings(struct ring_plan *p, struct func *f);
/* Is a, an op of the same block as b, in front of b, or is it b? */
bool op_is_before(const struct op *a, const struct op *b);
/* Does o only transpose a tile, or move it to other registers? A reader that takes the tile from shared memory
 * needs no such op. */
bool op_passes_tile(const struct op *o);

#endif
