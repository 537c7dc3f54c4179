/* SPDX-License-Identifier: MIT */
/* loop_schedule.h: the schedule of a loop with asynchronous work, as one object. It says which role executes each op,
 * which units of an SM the op occupies and for how long, how its end is seen, which buffers the loop fills and reads,
 * and what happens when in one iteration. explain_schedule.c prints it. */
#ifndef NESO_OPT_PIPELINE_LOOP_SCHEDULE_H
#define NESO_OPT_PIPELINE_LOOP_SCHEDULE_H

#include "ir/ir.h"
#include "ir/support/vec.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"

enum role { ROLE_consumer, ROLE_producer };

/* An op of the same role whose result an op reads: `op` indexes loop_schedule.ops, and the result is that of `back`
 * iterations before. */
struct dependence {
    int op, back;
};

struct scheduled_op {
    struct op *op;
    enum role role;
    enum completion completion;
    int barrier; /* the mbarrier that the op awaits or completes, as an index of loop_schedule.buffers; -1: none */
    int cycles[UNIT_count];
    VEC(struct dependence) needs;
};

/* A buffer in shared memory, or an mbarrier, that the loop uses. */
struct scheduled_buffer {
    const struct op *alloc;
    int stages; /* the number of slots: tiles of so many iterations can be in the buffer at once */
    int64_t stage_bytes;
    int fill; /* the op that fills a stage, as an index of loop_schedule.ops; -1: the loop does not fill it */
    int reads; /* the first op that reads it; -1: none */
    int arrivals; /* of an mbarrier: the arrivals that the loop makes in one phase */
    int frees; /* of an mbarrier: 1 if consumers arrive, so that a stage is empty; 0: copies arrive, so it is full */
    int64_t ahead_cycles; /* from the start of `fill` to the first read of the same tile; 0: no estimate */
};

/* What keeps a role busy, or lets it wait, for some cycles. */
struct schedule_span {
    int actor; /* a group of four consumer warps; behind the last group: the producer */
    enum unit unit; /* UNIT_count: the actor waits */
    /* of several ops in a row: the one that takes most cycles; of a wait: the awaited op, or the wait */
    const struct op *op;
    int nops;
    int stage; /* of a copy: the iterations between the one in which it runs and the one that reads the tile */
    int64_t from, to;
};

struct loop_schedule {
    struct func *func;
    const struct op *loop, *producer; /* producer: the loop of the producer that fills the same buffers, or NULL */
    int groups; /* groups of four consumer warps */
    VEC(struct scheduled_op) ops; /* in program order; the consumers' before the producer's */
    int nconsumer; /* the ops of consumers */
    VEC(struct scheduled_buffer) buffers;
    /* What one iteration does, once the pipeline is full, if the loop's CTA has the SM for itself. The iteration begins
     * at cycle `begin` and takes `cycles`; 0: no estimate. Spans of the iterations before and behind it follow, too. */
    int64_t begin, cycles;
    VEC(struct schedule_span) spans;
};

/* Calls `use` for each innermost loop of f that has dots, asynchronous copies, or loads ahead. f is scheduled. */
void loop_schedules(struct func *f, void (*use)(const struct loop_schedule *s));
/* The cycles of one iteration in which some group keeps the unit busy. */
int schedule_busy(const struct loop_schedule *s, enum unit unit);

/* -- explain_schedule.c -- */
void opt_explain_schedule(struct func *f);

#endif
