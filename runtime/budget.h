/* SPDX-License-Identifier: MIT */
/* budget.h: the limits of memory, time and steps of one library call. All threads that work for the call
 * check these limits. No function of budget.c calls longjmp: a function that fails returns its failure. */
#ifndef NESO_RUNTIME_BUDGET_H
#define NESO_RUNTIME_BUDGET_H

#include "ir/support/arena.h"
#include "ir/support/diag.h"

#include <stdatomic.h>

struct budget {
    struct memory mem; /* allocates from `below`, and counts the bytes */
    const struct memory *below;
    atomic_size_t used_bytes;
    size_t limit_bytes;  /* 0: no limit; only the call's own thread changes it */
    atomic_bool is_full; /* the limit has made an allocation fail */
    double deadline;     /* the time at which the call must end; 0: no deadline */
    /* true: only one thread works for the call, and the time limit is for the processor time of this thread,
     * so that other processes do not affect it; false: the limit is for elapsed time */
    bool one_thread;
    int64_t time_ms;     /* the time limit from which the deadline was computed */
    atomic_llong steps;  /* steps counted so far */
    int64_t step_limit;  /* 0: no limit */
    int (*cancelled)(void *user); /* returns whether the user cancels the call; NULL: the user cannot cancel it */
    void *user;
};

/* An operation on a tile or tensor counts one step for each STEP_ELEMS elements that it computes. The
 * operation calls budget_spend at least once for every ELEMS_UNASKED elements, because computing
 * ELEMS_UNASKED elements takes less than a millisecond. */
enum { STEP_ELEMS = 1024, ELEMS_UNASKED = 1 << 16 };

double seconds_now(void); /* returns the time of a monotonic clock in seconds */

/* Initializes a budget without limits. `below` must outlive the budget. */
void budget_init(struct budget *b, const struct memory *below);
/* Begins a call with the given limits (0: no limit). */
void budget_begin(struct budget *b, int64_t time_ms, int64_t step_limit);
static inline bool budget_is_limited(const struct budget *b)
{
    return b && (b->deadline != 0 || b->step_limit != 0 || b->cancelled);
}
/* Counts steps. Returns ERR_time_limit or ERR_steps if the limit of time or steps is exceeded, ERR_cancelled if the
 * user cancelled the call, and ERR_count if the call may continue. */
enum error budget_spend(struct budget *b, int64_t steps);
/* Returns whether `passed`, a result of budget_spend, is an error that ends the call: a program cannot
 * catch it. */
static inline bool budget_ends(enum error passed)
{
    return passed == ERR_time_limit || passed == ERR_cancelled;
}
/* Prints the exceeded limit for a message: "500 ms", "1000 steps". `passed` is the result of budget_spend. */
void budget_text(const struct budget *b, enum error passed, char *out, size_t room);

#endif
