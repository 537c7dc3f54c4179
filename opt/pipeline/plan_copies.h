/* SPDX-License-Identifier: MIT */
/* plan_copies.h: declares the plan of a loop whose threads copy tiles to shared memory some iterations ahead,
 * by cp.async. The plan says which loads become copies, which ops compute the addresses of the copies, and
 * which dot is split or stays in flight. plan_copies.c makes the plan and changes no op. pipeline_loops.c
 * rewrites the loop as the plan says. */
#ifndef NESO_OPT_PIPELINE_PLAN_COPIES_H
#define NESO_OPT_PIPELINE_PLAN_COPIES_H

#include "ir/ir.h"
#include "ir/support/map.h"
#include "opt/analysis/analysis.h"

/* A load whose tile is copied ahead into a ring of buffers. */
struct staged {
    struct op *load;
    int vec;                      /* the number of elements that a thread copies with one instruction */
    const struct type *ring_type; /* the type of the ring, with all its stages */
    bool is_late;       /* each iteration copies the tile that it reads itself, to a ring of one stage */
    struct value *ring; /* NULL until the rewrite has built the ring */
};

struct copy_plan {
    struct func *func;
    struct module *module;
    const struct axis_table *axes;
    struct op *loop;
    struct block *body;
    int nstages;  /* the number of stages of each ring, except the rings of late tiles */
    /* the number of iterations whose copies are before the loop: nstages - 1; or nstages if the loop is known
     * to run exactly nstages iterations */
    int nahead;
    int64_t step; /* the loop's step, a constant */
    VEC(struct staged) loads;
    struct op
        *late_read; /* the first op that reads a late tile, or NULL; the only user of its result is a dot */
    struct value *only_stage; /* while the loop is rewritten: the stage number of late tiles, constant 0 */
    /* the ops of the body that compute the addresses and masks of copies, and the carried arguments that they use */
    struct map slice;
    VEC(struct value *) ahead; /* the carried arguments in the slice, in order */
    bool loads_ahead;          /* the slice contains loads (rotate_loads.c) */
    /* while the loop is rewritten: a scalar i1, the mask of the loads in the slice. It is true if the
     * iteration that uses the loaded values exists */
    struct value *live;
    bool writes; /* the loop writes memory: only loads that invariant_loads.c has marked are copied ahead */
    bool fenced; /* asynchronous dots read a ring, so a fence must follow each wait for copies */
    bool has_producer;  /* a producer warp copies operands of the loop's dots */
    bool only_producer; /* a producer warp copies all operands of the loop's dots */
    /* dot: the dot that is split into steps along K, or NULL; operand: the loads of its operands; step_k: the
     * extent of a step along K, in elements */
    struct op *dot;
    struct staged *operand[2];
    int step_k;
    /* in_flight: the dot that stays in flight while the next iteration's dot starts; wait: the wait that
     * leaves this dot pending; behind: the op after which the copies for later iterations are built. All
     * three are NULL if no dot stays in flight. */
    struct op *in_flight, *wait, *behind;
};

/* Returns whether copies may be built into the loop o: it has a constant step, dots and at least two stages,
 * and no asynchronous copies yet. Sets the fields of p that describe the loop. */
bool loop_may_copy(struct copy_plan *p, struct op *o);
/* Chooses the loads to copy, and sets the fields of the plan that follow from this choice. If p->loads is
 * empty afterwards, the caller leaves the loop as it is. */
void plan_copies(struct copy_plan *p);
/* Returns whether all uses of o's tile lead to dots, directly or through conversions and elementwise ops of one
 * operand. */
bool tile_goes_to_dots(const struct op *o);

#endif
