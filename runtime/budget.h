/* budget.h: the limits of memory, time and steps of one library call. Any thread that works for the call asks
 * here; no function here unwinds. */
#ifndef NESO_RUNTIME_BUDGET_H
#define NESO_RUNTIME_BUDGET_H

#include "ir/support/arena.h"
#include "ir/support/diag.h"

#include <stdatomic.h>

struct budget {
    struct memory mem; /* counts the memory that `below` returns */
    const struct memory *below;
    atomic_size_t used_bytes;
    size_t limit_bytes;  /* 0: none; only the call's own thread changes it */
    atomic_bool is_full; /* the limit has refused an allocation */
    double deadline;     /* in the time of seconds_now; 0: none */
    int64_t time_ms;     /* the time limit that set the deadline */
    atomic_llong steps;  /* steps so far */
    int64_t step_limit;  /* 0: none */
};

/* STEP_ELEMS: elements computed by an operation on a tile or tensor that count as one step. ELEMS_UNASKED:
 * elements that it may compute before it asks the budget: less than a millisecond's work. */
enum { STEP_ELEMS = 1024, ELEMS_UNASKED = 1 << 16 };

double seconds_now(void); /* from a monotonic clock */

/* A budget without limits. `below` must outlive it. */
void budget_init(struct budget *b, const struct memory *below);
/* Begins a call; 0: no such limit. */
void budget_begin(struct budget *b, int64_t time_ms, int64_t step_limit);
static inline bool budget_is_limited(const struct budget *b)
{
    return b && (b->deadline != 0 || b->step_limit != 0);
}
/* Counts steps. Returns the exceeded limit, ERR_time_limit or ERR_steps; ERR_count: none. */
enum error budget_spend(struct budget *b, int64_t steps);
/* The exceeded limit for a message: "500 ms", "1000 steps". */
void budget_text(const struct budget *b, enum error passed, char *out, size_t room);

#endif
