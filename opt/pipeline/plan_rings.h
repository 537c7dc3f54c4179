/* SPDX-License-Identifier: MIT */
/* plan_rings.h: declares the plan of the rings that a producer warp will fill (warp_specialize.c). A ring is
 * a set of buffers in shared memory, each with the same number of stages. The plan says which tiles go
 * through which ring, and how many stages each ring has. */
#ifndef NESO_OPT_PIPELINE_PLAN_RINGS_H
#define NESO_OPT_PIPELINE_PLAN_RINGS_H

#include "ir/ir.h"
#include "ir/support/map.h"

/* A tile that goes through a ring. The first to_shared of the tile, or of a transposition of the tile, determines the
 * layout of the buffer. If there is no to_shared, the buffer has the layout of a TMA box (layout_panels). The
 * last dimension of the buffer is the dimension that is contiguous in global memory. So tiles with the same
 * arrangement in memory have buffers of one type, and their batches can share a ring. A reader reads the
 * buffer through a view with the order of dimensions that the reader needs, or loads the tile into
 * registers. */
struct take {
    /* the tensor_load of the tile, and the first to_shared; put is NULL if no asynchronous dot reads the tile
     * from a buffer */
    struct op *load, *put;
    const struct type *type; /* the type of the buffer, with one stage */
    struct op *first; /* the first op of the block that reads the tile; transpositions and conversions do not count */
    struct value *buf;   /* the buffer, once warp_specialize.c has built it */
    int dim[RANK_MAX];   /* dimension i of the buffer is dimension dim[i] of the tile */
    int order[RANK_MAX]; /* dimension i of the tile is dimension order[i] of the buffer */
};

/* The tiles that one block loads for one dot. The producer copies them together into one stage of a ring. */
struct batch {
    struct block *block; /* the block that contains the loads */
    VEC(struct take) takes;
    int bytes;   /* the bytes of all takes */
    int ring;    /* the index of the batch's ring in ring_plan.rings */
    int ncopied; /* while the producer is built: the number of takes whose copies are built */
    struct op *first;    /* the first reader of a tile of the batch */
    /* Some reader loads a tile into registers. A vector does not count if the block computes an operand of the
     * batch's dot from it: each warp has read such a vector before its part of the dot starts. */
    bool into_registers;
    /* the wait for the block's only dot, if this dot stays in flight until the dot of the next iteration has started;
     * NULL otherwise */
    struct op *wait;
    VEC(struct value *) views; /* the views of the current stage through which the block reads the tiles */
};

struct ring {
    int first; /* the index of the first batch that uses the ring */
    /* Take k of each batch of the ring uses buffer k. Of all these takes, largest.at[k] is the one with the
     * most bytes; buffer k has its type. */
    VEC(struct take *) largest;
    int stages, bytes; /* the number of stages; the bytes that one stage takes in all buffers together */
    /* mbarriers, one for each stage: `full` completes when the stage is copied, `empty` when it is
     * released */
    struct value *full, *empty;
    /* If true, each warp releases stages itself. If false, one warp releases a stage for its whole warpgroup,
     * after a dot of the warpgroup. A dot inside an inner loop is not sufficient: the loop may run no
     * iteration, and then the other warps may not have waited for the stage yet. */
    bool by_warps;
    struct value *stage, *phase; /* while a role is built: the number of the current stage and its phase */
};

struct ring_plan {
    struct func *func;
    struct arena *arena;
    VEC(struct batch) batches;
    VEC(struct ring) rings;
    struct map needed; /* the scalars that the producer must compute (producer_slice.h) */
    bool adds_vectors; /* all tiles but vectors are in batches, and the vectors are being added */
};

/* Plans the rings of f. If the plan has no batches, the function needs no producer. The plan lives in the
 * scratch arena. */
void plan_rings(struct ring_plan *p, struct func *f);
/* Returns the type of a view of one stage of t's buffer. Dimension d of the view is dimension by[d] of the
 * tile. Sets order[d] to the dimension of the buffer that is dimension d of the view. */
const struct type *take_view(struct module *m, const struct take *t, const int *by, int *order);
/* Returns whether a precedes b in the same block, or is the same op as b. */
bool op_is_before(const struct op *a, const struct op *b);
/* Returns whether o only transposes a tile, or moves it to other registers. If a reader loads the tile from
 * shared memory, it does not need such an op. */
bool op_passes_tile(const struct op *o);
/* Returns whether o is an op through which a dot's operand may be computed from a loaded tile: an elementwise
 * op, a conversion, a broadcast, an expand_dims or a reshape. */
bool op_leads_to_dot(const struct op *o);

#endif
