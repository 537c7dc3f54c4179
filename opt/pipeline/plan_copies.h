/* SPDX-License-Identifier: MIT */
/* plan_copies.h: declares the plan of a loop whose threads copy tiles ahead by cp.async: which loads become
 * copies, where the loop computes their addresses, and which dots are split or stay in flight. plan_copies.c
 * makes the plan and changes no op. pipeline_loops.c rewrites the loop as the plan says. */
#ifndef NESO_OPT_PIPELINE_PLAN_COPIES_H
#define NESO_OPT_PIPELINE_PLAN_COPIES_H

#include "ir/ir.h"
#include "ir/support/map.h"
#include "opt/analysis/analysis.h"

/* A load whose tile is copied ahead into a ring of buffers. */
struct staged {
    struct op *load;
    int vec;                      /* the number of elements that a thread copies with one instruction */
    const struct type *ring_type; /* the type of the ring's buffers */
    bool is_late;       /* the tile is copied into one buffer, in the iteration that reads the tile */
    struct value *ring; /* the ring, once the rewrite has built it */
};

struct copy_plan {
    struct func *func;
    struct module *module;
    const struct axis_table *axes;
    struct op *loop;
    struct block *body;
    int nstages;  /* the number of buffers of each ring */
    /* the number of iterations whose copies are in front of the loop: nstages - 1, or nstages if these are all
     * iterations */
    int nahead;
    int64_t step; /* the loop's step, a constant */
    VEC(struct staged) loads;
    struct op
        *late_read; /* the first op that reads a tile copied late, or NULL; only a dot reads its result */
    struct value *only_stage; /* while the loop is rewritten: the number of the only buffer of such a tile */
    /* the ops of the body that compute the addresses and masks of copies, and the carried arguments that they use */
    struct map slice;
    VEC(struct value *) ahead; /* the carried arguments in the slice, in order */
    bool loads_ahead;          /* the slice contains loads (rotate_loads.c) */
    /* while the loop is rewritten: the mask of the loads in the slice (i1), which is true if the iteration that
     * uses the loaded values exists */
    struct value *live;
    bool writes; /* the loop writes memory: only loads that invariant_loads.c has marked are copied ahead */
    bool fenced; /* asynchronous dots read a ring, so a fence must follow each wait for copies */
    bool has_producer;  /* a producer warp copies operands of the loop's dots */
    bool only_producer; /* a producer warp copies all operands of the loop's dots */
    /* a dot that is split into steps along K, or NULL; the loads of its operands; the extent of a step along K */
    struct op *dot;
    struct staged *operand[2];
    int step_k;
    /* If a dot stays in flight while the next iteration's dot starts: this dot, the wait that leaves it pending,
     * and the op behind which the next copies start. Otherwise all three are NULL. */
    struct op *in_flight, *wait, *behind;
};

/* Returns whether o is a loop with a constant step and with dots, into which copies may be built. Fills the fields
 * that describe the loop as it is. */
bool loop_may_copy(struct copy_plan *p, struct op *o);
/* Chooses the loads to copy, and sets the fields of the plan that follow from this choice. Without such loads, the loop
 * stays as it is. */
void plan_copies(struct copy_plan *p);
/* Returns whether all uses of o's tile lead to dots, directly or through conversions and elementwise ops of one
 * operand. */
bool tile_goes_to_dots(const struct op *o);

#endif
