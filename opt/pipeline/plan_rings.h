/* SPDX-License-Identifier: MIT */
/* plan_rings.h: declares the rings of buffers that a producer warp will fill (warp_specialize.c): which tiles go
 * through which ring, and how many stages each ring has. */
#ifndef NESO_OPT_PIPELINE_PLAN_RINGS_H
#define NESO_OPT_PIPELINE_PLAN_RINGS_H

#include "ir/ir.h"
#include "ir/support/map.h"

/* A tile that goes through a ring. The first to_shared of the tile, or of a transposition of the tile, determines the
 * layout of the buffer; if there is none, the layout is that of a TMA box (layout_panels). The last dimension of the
 * buffer is the dimension that is contiguous in global memory. So tiles with the same arrangement in memory have
 * buffers of one type, and their batches can share a ring. Each reader sees the buffer with the order of dimensions
 * that the reader needs, or loads the tile into registers. */
struct take {
    struct op *load, *put; /* put: NULL if no asynchronous dot reads the tile from a buffer */
    const struct type *type; /* the type of the buffer, with one stage */
    struct op *first; /* the first op of the block that reads the tile; transpositions and conversions do not count */
    struct value *buf;
    int dim[RANK_MAX];   /* buffer dimension i is the tile's dimension dim[i] */
    int order[RANK_MAX]; /* dimension i of the loaded tile is the buffer's dimension order[i] */
};

struct batch {
    struct block *block; /* the block of its takes */
    VEC(struct take) takes;
    int bytes;   /* the bytes of its takes */
    int ring;    /* the number of its ring; takes of batches that share a ring have the same elements */
    int ncopied; /* while the producer is built: the number of takes whose copies are built */
    struct op *first;    /* the first reader of its tiles */
    /* Some reader loads a tile into registers. A vector does not count if the block computes an operand of the
     * batch's dot from it: each warp has read such a vector before its part of the dot starts. */
    bool into_registers;
    /* the wait for the block's only dot, if this dot stays in flight until the dot of the next iteration has started;
     * NULL otherwise */
    struct op *wait;
    VEC(struct value *) views; /* the views of the stages in this iteration */
};

struct ring {
    int first; /* the first batch */
    /* for each buffer, the take with the most bytes: the buffer has the type of this take, and holds the smaller
     * takes too */
    VEC(struct take *) largest;
    int stages, bytes; /* the number of stages; the bytes of one stage */
    struct value *full, *empty;
    /* Each warp releases stages itself. If false, one warp releases them for its warpgroup, after a dot of that
     * warpgroup. A dot in a loop is not sufficient: the loop may run no iteration, and then the other warps may not
     * have waited for the stage. */
    bool by_warps;
    struct value *stage, *phase; /* while a role is built: the number of the current stage and its phase */
};

struct ring_plan {
    struct func *func;
    struct arena *arena;
    VEC(struct batch) batches;
    VEC(struct ring) rings;
    struct map needed; /* the values of the producer's slice */
    bool adds_vectors; /* the tiles are in batches */
};

/* Plans the rings of f. If the plan has no batches, the function needs no producer. */
void plan_rings(struct ring_plan *p, struct func *f);
/* Returns the type of a view of one stage of t's buffer, in which dimension d is dimension by[d] of the tile. Sets
 * `order`: dimension d of the view is dimension order[d] of the buffer. */
const struct type *take_view(struct module *m, const struct take *t, const int *by, int *order);
/* Returns whether a precedes b in the same block, or is the same op as b. */
bool op_is_before(const struct op *a, const struct op *b);
/* Returns whether o only transposes a tile, or moves it to other registers. A reader that loads the tile from
 * shared memory does not need such an op. */
bool op_passes_tile(const struct op *o);
/* Returns whether a dot's operand may be computed from a loaded tile through ops like o: elementwise ops, some shape
 * ops, conversions. */
bool op_leads_to_dot(const struct op *o);

#endif
