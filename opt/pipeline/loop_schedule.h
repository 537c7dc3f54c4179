/* SPDX-License-Identifier: MIT */
/* loop_schedule.h: declares the schedule of a loop with asynchronous work. For each op, the schedule says
 * which role (the consumers or the producer) executes the op, which units of an SM the op occupies and for
 * how long, and how threads learn that the op is complete. The schedule also lists the buffers that the loop
 * fills and reads, and the cycles of an iteration at which the units are busy. explain_schedule.c prints the
 * schedule. */
#ifndef NESO_OPT_PIPELINE_LOOP_SCHEDULE_H
#define NESO_OPT_PIPELINE_LOOP_SCHEDULE_H

#include "ir/ir.h"
#include "ir/support/vec.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"

enum role { ROLE_consumer, ROLE_producer };

/* A result that an op reads. Op number `op` of loop_schedule.ops has computed the result, `back` iterations
 * earlier. Both ops belong to the same role. */
struct dependence {
    int op, back;
};

struct scheduled_op {
    struct op *op;
    enum role role;
    enum completion completion;
    int barrier; /* the mbarrier at which the op waits or arrives, as an index of loop_schedule.buffers, or -1 */
    int cycles[UNIT_count];
    VEC(struct dependence) needs;
};

/* A buffer in shared memory, or an mbarrier, that the loop uses. */
struct scheduled_buffer {
    const struct op *alloc;
    int stages; /* each stage holds the tile of one iteration */
    int64_t stage_bytes;
    int fill; /* the index in loop_schedule.ops of the first op that fills a stage, or -1 if there is none */
    int reads; /* the index in loop_schedule.ops of the first op that reads the buffer, or -1 */
    int arrivals; /* of an mbarrier: the number of arrivals that the loop makes in one phase */
    int frees; /* of an mbarrier: 1: consumers arrive when a stage is empty; 0: copies arrive when a stage is full */
    int64_t ahead_cycles; /* cycles from the start of `fill` to the first read of its tile; 0: no estimate */
};

/* A time from cycle `from` to cycle `to` in which an actor keeps a unit busy, or waits. */
struct schedule_span {
    int actor; /* the number of a group of four consumer warps; loop_schedule.groups: the producer */
    enum unit unit; /* UNIT_count: the actor waits */
    /* If the actor waits: the op for which it waits, or the wait itself if that op is unknown. Otherwise: the
     * op that keeps the unit busy. A span of issue slots may cover several ops in a row; `op` is then the
     * longest of them. */
    const struct op *op;
    int nops;            /* the number of ops in a row */
    int stage; /* of a copy: the number of iterations between the copy and the read of the tile */
    int64_t from, to;
};

struct loop_schedule {
    struct func *func;
    const struct op *loop, *producer; /* producer: the loop of the producer that fills the buffers, or NULL */
    int groups; /* groups of four consumer warps */
    VEC(struct scheduled_op) ops; /* in program order, the consumers' ops before the producer's ops */
    int nconsumer; /* the number of the consumers' ops */
    VEC(struct scheduled_buffer) buffers;
    /* An estimate of one iteration, at a time when the pipeline is full, if no other CTA is on the SM. The
     * iteration begins at cycle `begin` and takes `cycles` cycles. If `cycles` is 0, there is no estimate.
     * `spans` also contains the spans of earlier and later iterations. */
    int64_t begin, cycles;
    VEC(struct schedule_span) spans;
};

/* Calls `use` for each innermost loop of f that has dots, asynchronous copies, or loads whose values only
 * later iterations use. The function f must be scheduled. The schedule is valid only during the call. */
void loop_schedules(struct func *f, void (*use)(const struct loop_schedule *s));
/* Returns the number of cycles in which all groups and the producer together occupy the unit in one iteration. */
int schedule_busy(const struct loop_schedule *s, enum unit unit);

/* -- explain_schedule.c -- */
void opt_explain_schedule(struct func *f);

#endif
