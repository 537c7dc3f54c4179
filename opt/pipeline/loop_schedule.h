/* SPDX-License-Identifier: MIT */
/* loop_schedule.h: the schedule of a loop with asynchronous work, as one object. It says which role executes each op,
 * which units of an SM the op occupies and for how long, how threads learn that the op is complete, which buffers the
 * loop fills and reads, and at which cycles of an iteration the units are busy. explain_schedule.c prints it. */
#ifndef NESO_OPT_PIPELINE_LOOP_SCHEDULE_H
#define NESO_OPT_PIPELINE_LOOP_SCHEDULE_H

#include "ir/ir.h"
#include "ir/support/vec.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"

enum role { ROLE_consumer, ROLE_producer };

/* A result that an op reads. Op number `op` of loop_schedule.ops, which has the same role, computed it `back`
 * iterations earlier. */
struct dependence {
    int op, back;
};

struct scheduled_op {
    struct op *op;
    enum role role;
    enum completion completion;
    int barrier; /* the mbarrier at which the op waits or arrives, as an index of loop_schedule.buffers; -1: none */
    int cycles[UNIT_count];
    VEC(struct dependence) needs;
};

/* A buffer in shared memory, or an mbarrier, that the loop uses. */
struct scheduled_buffer {
    const struct op *alloc;
    int stages; /* the number of slots: the buffer can hold the tiles of this many iterations */
    int64_t stage_bytes;
    int fill; /* the op that fills a stage, as an index of loop_schedule.ops; -1: the loop does not fill it */
    int reads; /* the first op that reads it; -1: none */
    int arrivals; /* of an mbarrier: the arrivals that the loop makes in one phase */
    int frees; /* of an mbarrier: 1: consumers arrive, when a stage is empty; 0: copies arrive, when it is full */
    int64_t ahead_cycles; /* from the start of `fill` to the first read of the same tile; 0: no estimate */
};

/* Cycles `from` to `to`, in which an actor keeps a unit busy, or waits. */
struct schedule_span {
    int actor; /* the number of a group of four consumer warps; the number after these: the producer */
    enum unit unit; /* UNIT_count: the actor waits */
    const struct op *op; /* of several ops in a row: the longest one; of a wait: the awaited op, or the wait */
    int nops;            /* the number of ops in a row */
    int stage; /* of a copy: how many iterations earlier it runs than the one that reads the tile */
    int64_t from, to;
};

struct loop_schedule {
    struct func *func;
    const struct op *loop, *producer; /* producer: the producer's loop that fills the buffers, or NULL */
    int groups; /* groups of four consumer warps */
    VEC(struct scheduled_op) ops; /* in program order; the consumers' before the producer's */
    int nconsumer; /* the number of the consumers' ops */
    VEC(struct scheduled_buffer) buffers;
    /* An estimate of one iteration when the pipeline is full and the CTA is alone on its SM. The iteration begins at
     * cycle `begin` and takes `cycles`; 0: no estimate. `spans` has those of the iterations before and after it,
     * too. */
    int64_t begin, cycles;
    VEC(struct schedule_span) spans;
};

/* Calls `use` for each innermost loop of f that has dots, asynchronous copies, or loads ahead. f is scheduled. */
void loop_schedules(struct func *f, void (*use)(const struct loop_schedule *s));
/* The cycles for which all groups and the producer together occupy the unit in one iteration. */
int schedule_busy(const struct loop_schedule *s, enum unit unit);

/* -- explain_schedule.c -- */
void opt_explain_schedule(struct func *f);

#endif
