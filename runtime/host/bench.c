/* SPDX-License-Identifier: MIT */
/* bench.c: times calls as triton.testing.do_bench does. A benchmark makes many calls. Before each call, it
 * clears the L2 cache. It records an event of the device before and after each call; the time between the two
 * events is the call's time. On the CPU, an event is a reading of the clock, and no cache is cleared.
 *
 *     estimate ─► warm up (─► until two series agree) ─► clear, record, call, record, clear, record, ...
 *
 * The callback neso_run_options.measured receives the times of the calls that the program times, and, with
 * NESO_TIMING_LAUNCHES, the times of the launches that the program does not time. */
#include "runtime/host/torch.h"
#include "runtime/runtime.h"

#include <math.h>
#include <string.h>

enum { CACHE_BYTES = 256 << 20 };

/* -- measuring -- */

/* The number of calls, each between two events, that the host starts before it waits for the device. */
enum { BATCH = 256 };

struct clock {
    struct clock *outer; /* the enclosing benchmark, or NULL */
    struct program *p;
    struct eval *e;
    struct loc at;
    void *start[BATCH], *end[BATCH];
    /* address of a buffer that is at least as large as any GPU's L2 cache; 0 if there is no such buffer */
    uint64_t cache;
};

static void check(struct clock *c, bool ok)
{
    if (!ok)
        program_raise(c->e, c->at, &c->p->fault);
}

/* Opens a benchmark, which stays open until clock_close is called or the program ends. */
static struct clock *clock_open(struct program *p, struct eval *e, struct loc at)
{
    const struct device_class *d = p->device->class;
    struct clock *c = NEW(e->arena, struct clock);
    *c = (struct clock){.outer = p->clock, .p = p, .e = e, .at = at};
    p->clock = c;
    if (d == &device_cuda)
        check(c, d->alloc(p->device, CACHE_BYTES, &c->cache, &p->fault));
    return c;
}

static void clock_close(struct clock *c)
{
    const struct device_class *d = c->p->device->class;
    struct fault ignored;
    for (int i = 0; i < BATCH; i++) {
        if (c->start[i])
            d->event_free(c->p->device, c->start[i]);
        if (c->end[i])
            d->event_free(c->p->device, c->end[i]);
    }
    if (c->cache)
        d->release(c->p->device, c->cache, &ignored);
    c->p->clock = c->outer;
}

void bench_close(struct program *p)
{
    while (p->clock)
        clock_close(p->clock);
}

static void clear_cache(struct clock *c)
{
    if (c->cache)
        check(c, c->p->device->class->fill(c->p->device, c->cache, 0, CACHE_BYTES, NULL, &c->p->fault));
}

static void record(struct clock *c, void **event)
{
    const struct device_class *d = c->p->device->class;
    if (!*event)
        check(c, d->event_new(c->p->device, event, &c->p->fault));
    check(c, d->event_record(c->p->device, *event, NULL, &c->p->fault));
}

static double elapsed_ms(struct clock *c, int i)
{
    double seconds;
    const struct device_class *d = c->p->device->class;
    check(c, d->event_seconds(c->p->device, c->start[i], c->end[i], &seconds, &c->p->fault));
    return seconds * 1e3;
}

/* Makes one call, and then frees the tensors that it created. */
static void call_once(const struct bench *b, struct eval *e, struct loc at)
{
    struct tensor_pool *pool = host_pool(e);
    const struct storage *mark = pool->storages;
    eval_step(e, at);
    b->call(e, b->ctx);
    pool_release(pool, mark);
}

static double estimate_ms(struct clock *c, const struct bench *b)
{
    record(c, &c->start[0]);
    for (int i = 0; i < 5; i++) {
        clear_cache(c);
        call_once(b, c->e, c->at);
    }
    record(c, &c->end[0]);
    return elapsed_ms(c, 0) / 5;
}

static int repeats(double ms, double estimate)
{
    double n = estimate > 0 ? ms / estimate : 1000;
    return n < 1 ? 1 : n > 1e6 ? 1000000 : (int)n;
}

static void time_batch(struct clock *c, const struct bench *b, double *times_ms, int n)
{
    for (int i = 0; i < n; i++) {
        clear_cache(c);
        record(c, &c->start[i]);
        call_once(b, c->e, c->at);
        record(c, &c->end[i]);
    }
    for (int i = 0; i < n; i++)
        times_ms[i] = elapsed_ms(c, i);
}

/* Repeats the call until the median times of two consecutive series of calls differ by at most 1 %, or STRETCHES
 * series have run. */
static void settle(struct clock *c, const struct bench *b, double estimate)
{
    enum { STRETCH = 32, STRETCHES = 20 };
    double times[STRETCH], before = 0, median;
    int n = repeats(100, estimate);
    n = n < 3 ? 3 : n < STRETCH ? n : STRETCH;
    for (int i = 0; i < STRETCHES; i++, before = median) {
        time_batch(c, b, times, n);
        bench_sort(times, n);
        median = bench_quantile(times, n, 0.5);
        if (fabs(median - before) <= 0.01 * median)
            return;
    }
}

static int measure(struct clock *c, const struct bench *b, double **times_ms)
{
    enum { ENOUGH = 60 }; /* this number of calls suffices for a comparison */
    struct eval *e = c->e;
    c->p->notes = b->notes;
    /* The first call compiles the kernels, and may create objects that later calls use, so its tensors are not
     * freed. */
    b->call(e, b->ctx);
    c->p->notes = NULL;
    host_synchronize(e, c->at);
    double estimate = b->once ? 0 : estimate_ms(c, b);
    int nwarmup = b->once ? 0 : repeats(b->warmup_ms, estimate);
    int n = b->once ? 1 : repeats(b->rep_ms, estimate);
    n = b->settles && n < ENOUGH ? ENOUGH : n;
    for (int i = 0; i < nwarmup; i++)
        call_once(b, e, c->at);
    if (b->settles)
        settle(c, b, estimate);
    *times_ms = NEW_ARRAY(e->arena, n, double);
    for (int first = 0; first < n; first += BATCH)
        time_batch(c, b, *times_ms + first, n - first < BATCH ? n - first : BATCH);
    return n;
}

int bench_run(struct program *p, struct eval *e, const struct bench *b, struct loc at, double **times_ms)
{
    struct clock *outer = p->clock;
    uint64_t launches = p->launches, writes = host_pool(e)->writes, products = p->products;
    bool was_timing = p->is_timing, was_dry = p->is_dry;
    struct bench_notes *notes = p->notes;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) != 0) {
        while (p->clock != outer)
            clock_close(p->clock);
        p->is_timing = was_timing;
        p->is_dry = was_dry;
        p->notes = notes;
        eval_throw(e, &h.raised);
    }
    p->is_timing = true;
    p->is_dry |= b->dry;
    struct clock *c = clock_open(p, e, at);
    int n = measure(c, b, times_ms);
    handler_pop(e, &h);
    clock_close(c);
    p->is_timing = was_timing;
    p->is_dry = was_dry;
    p->notes = notes;
    p->oracle = p->launches != launches          ? NULL
                : host_pool(e)->writes != writes ? "CPU oracle"
                : p->products != products        ? "cuBLAS"
                                                 : NULL;
    return n;
}

/* -- quantiles of times -- */

void bench_sort(double *times, int n)
{
    for (int gap = n / 2; gap > 0; gap /= 2) /* Shell's sort (1959) */
        for (int i = gap; i < n; i++) {
            double x = times[i];
            int k = i;
            for (; k >= gap && times[k - gap] > x; k -= gap)
                times[k] = times[k - gap];
            times[k] = x;
        }
}

double bench_quantile(const double *sorted, int n, double q)
{
    double point = q * (n - 1), below = floor(point), part = point - below;
    int i = (int)below, k = (int)ceil(point);
    return (1 - part) * sorted[i < 0    ? 0
                               : i >= n ? n - 1
                                        : i] +
           part * sorted[k < 0    ? 0
                         : k >= n ? n - 1
                                  : k];
}

/* -- measurements for the caller -- */

void bench_note(struct bench_notes *notes, struct neso_kernel *k)
{
    bool is_known = notes->n == (int)(sizeof notes->at / sizeof *notes->at);
    for (int i = 0; i < notes->n; i++)
        is_known |= notes->at[i] == k;
    if (!is_known)
        notes->at[notes->n++] = k;
}

int bench_told(struct program *p, struct eval *e, struct bench *b, struct loc at, double **times_ms)
{
    struct bench_notes notes = {.n = 0};
    const struct diag *d = e->diag;
    neso_timing timing = p->options.timing;
    b->once = timing == NESO_TIMING_COMPILE || timing == NESO_TIMING_ONCE;
    b->dry = timing == NESO_TIMING_COMPILE;
    b->settles = timing >= NESO_TIMING_STABLE;
    b->notes = p->options.measured ? &notes : NULL;
    int n = bench_run(p, e, b, at, times_ms);
    neso_measurement m = {sizeof m,  p->line,  d->sources.at[at.file]->name,
                          at.line,   notes.at, (size_t)notes.n,
                          *times_ms, (size_t)n};
    if (notes.n > 0)
        p->options.measured(p->options.user, &m);
    return n;
}

/* An argument of a launch. If it is a tensor: its address, and the address of a copy of its contents before
 * the timing. If it is not, `bytes` is 0. */
struct backup {
    uint64_t at, copy; /* device addresses */
    size_t bytes;
};

struct timed_launch {
    struct timed_launch *next;
    struct neso_kernel *kernel;
    uint32_t grid[3];
    struct loc at;
};

struct relaunch {
    struct program *p;
    struct neso_kernel *kernel;
    const struct launch *launch;
    struct loc at;
};

static void relaunch(struct eval *e, void *ctx)
{
    const struct relaunch *r = ctx;
    if (r->p->notes)
        bench_note(r->p->notes, r->kernel);
    r->p->launches++;
    if (!kernel_launch(r->kernel, r->launch, &r->p->fault))
        program_raise(e, r->at, &r->p->fault);
}

/* Allocates the backups and copies the tensors to them, or, if `back` is true, copies the backups to the
 * tensors. Returns false if there is no memory, or if the device fails. */
static bool copy_tensors(struct program *p, struct backup *backups, int n, bool back)
{
    struct device *d = p->device;
    bool good = true;
    for (int i = 0; i < n && good; i++) {
        struct backup *b = &backups[i];
        if (b->bytes == 0)
            continue;
        if (back)
            good = d->class->copy(d, b->at, b->copy, b->bytes, NULL, &p->fault);
        else
            good = d->class->alloc(d, b->bytes, &b->copy, &p->fault) &&
                   d->class->copy(d, b->copy, b->at, b->bytes, NULL, &p->fault);
    }
    return good;
}

static void release_copies(struct program *p, const struct backup *backups, int n)
{
    struct fault ignored;
    for (int i = 0; i < n; i++)
        if (backups[i].copy)
            p->device->class->release(p->device, backups[i].copy, &ignored);
}

/* Returns whether a launch of the same kernel from the same source line with the same grid was timed before. If not,
 * records this launch as timed. */
static bool was_timed(struct program *p, struct eval *e, struct neso_kernel *k, const uint32_t grid[3],
                      struct loc at)
{
    for (const struct timed_launch *t = p->timed; t; t = t->next)
        if (t->kernel == k && t->at.line == at.line && t->at.file == at.file &&
            memcmp(t->grid, grid, sizeof t->grid) == 0)
            return true;
    struct timed_launch *t = NEW(e->arena, struct timed_launch);
    *t = (struct timed_launch){p->timed, k, {grid[0], grid[1], grid[2]}, at};
    p->timed = t;
    return false;
}

static bool time_launch(struct program *p, struct eval *e, struct backup *backups, struct relaunch *r)
{
    int n = r->launch->nargs;
    struct bench b = {.warmup_ms = 25, .rep_ms = 100, .call = relaunch, .ctx = r};
    double *times;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) != 0) {
        release_copies(p, backups, n);
        eval_throw(e, &h.raised);
    }
    bool good = copy_tensors(p, backups, n, false);
    if (good)
        bench_told(p, e, &b, r->at, &times);
    good = good && copy_tensors(p, backups, n, true);
    handler_pop(e, &h);
    release_copies(p, backups, n);
    return good;
}

void bench_launch(struct program *p, struct eval *e, struct neso_kernel *k, const struct launch *l,
                  struct loc at)
{
    if (was_timed(p, e, k, l->grid, at))
        return;
    struct relaunch r = {p, k, l, at};
    struct backup *backups = NEW_ARRAY(e->arena, l->nargs + 1, struct backup);
    for (int i = 0; i < l->nargs; i++)
        if (l->tensors[i].dtype)
            backups[i] = (struct backup){l->args[i], 0, tensor_span(&l->tensors[i])};
    if (!time_launch(p, e, backups, &r))
        program_raise(e, at, &p->fault);
}
