/* SPDX-License-Identifier: MIT */
/* budget.c: counts memory, time and steps of one call (see budget.h). */
#include "runtime/budget.h"

#include <stdio.h>
#include <time.h>

static double seconds_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double seconds_now(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

static double now(const struct budget *b)
{
    return seconds_of(b->one_thread ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC);
}

static void *allocate(void *ctx, size_t bytes)
{
    struct budget *b = ctx;
    size_t before = atomic_fetch_add(&b->used_bytes, bytes), limit = b->limit_bytes;
    bool fits = limit == 0 || (bytes <= limit && before <= limit - bytes);
    void *p = fits ? b->below->alloc(b->below->ctx, bytes) : NULL;
    if (!fits)
        atomic_store(&b->is_full, true);
    if (!p)
        atomic_fetch_sub(&b->used_bytes, bytes);
    return p;
}

static void release(void *ctx, void *p, size_t bytes)
{
    struct budget *b = ctx;
    atomic_fetch_sub(&b->used_bytes, bytes);
    b->below->free(b->below->ctx, p, bytes);
}

void budget_init(struct budget *b, const struct memory *below)
{
    b->mem = (struct memory){allocate, release, b};
    b->below = below;
    atomic_init(&b->used_bytes, 0);
    atomic_init(&b->is_full, false);
    atomic_init(&b->steps, 0);
    b->limit_bytes = 0;
    b->deadline = 0;
    b->one_thread = false;
    b->time_ms = b->step_limit = 0;
    b->cancelled = NULL;
}

void budget_begin(struct budget *b, int64_t time_ms, int64_t step_limit)
{
    b->deadline = time_ms > 0 ? now(b) + (double)time_ms * 1e-3 : 0;
    b->time_ms = time_ms;
    b->step_limit = step_limit;
    atomic_store(&b->steps, 0);
    atomic_store(&b->is_full, false);
}

enum error budget_spend(struct budget *b, int64_t steps)
{
    if (!budget_is_limited(b))
        return ERR_count;
    if (b->step_limit && atomic_fetch_add(&b->steps, steps) + steps > b->step_limit)
        return ERR_steps;
    if (b->cancelled && b->cancelled(b->user))
        return ERR_cancelled;
    return b->deadline != 0 && now(b) > b->deadline ? ERR_time_limit : ERR_count;
}

void budget_text(const struct budget *b, enum error passed, char *out, size_t room)
{
    if (passed == ERR_steps)
        snprintf(out, room, "%lld steps", (long long)b->step_limit);
    else
        snprintf(out, room, "%lld ms", (long long)b->time_ms);
}
