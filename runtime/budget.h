/* budget.h: what one call of the library may take: memory, time and steps. Any thread that works for the call
 * asks here; nothing here unwinds. */
#ifndef NESO_RUNTIME_BUDGET_H
#define NESO_RUNTIME_BUDGET_H

#include "ir/support/arena.h"
#include "ir/support/diag.h"

#include <stdatomic.h>

struct budget {
    struct memory mem; /* what `below` gives, counted */
    const struct memory *below;
    atomic_size_t used_bytes;
    size_t limit_bytes;  /* 0: none; changed only by the thread of the call */
    atomic_bool is_full; /* the limit has refused something */
    double deadline;     /* in seconds_now's time; 0: none */
    int64_t time_ms;     /* what the deadline was set by */
    atomic_llong steps;  /* taken so far */
    int64_t step_limit;  /* 0: none */
};

/* Elements that an operation on a tile or a tensor computes, for one step; and how many it may compute before
 * it asks: less than a millisecond's work. */
enum { STEP_ELEMS = 1024, ELEMS_UNASKED = 1 << 16 };

double seconds_now(void); /* monotonic */

/* Without limits. `below` outlives it. */
void budget_init(struct budget *b, const struct memory *below);
/* A call begins; 0: no such limit. */
void budget_begin(struct budget *b, int64_t time_ms, int64_t step_limit);
static inline bool budget_is_limited(const struct budget *b)
{
    return b && (b->deadline != 0 || b->step_limit != 0);
}
/* Counts steps: the limit that is now passed, ERR_time_limit or ERR_steps; ERR_count: none. */
enum error budget_spend(struct budget *b, int64_t steps);
/* The passed limit as its message names it: "500 ms", "1000 steps". */
void budget_text(const struct budget *b, enum error passed, char *out, size_t room);

#endif
