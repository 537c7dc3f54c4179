/* SPDX-License-Identifier: MIT */
/* run.c: distributes the programs of a grid over threads, and lets programs wait for each other.
 *
 *     programs 0, 1, 2, ...   one at a time, in order, checked for races, until CHECKED_WORK ┐ a worker: a thread
 *     the others              on all cores, unchecked                                          ┘ with a frame
 *
 * If a kernel prints or calls the host, its programs run one after the other, in the order of Triton's
 * interpreter, where the last axis of the grid varies fastest. In other kernels, and if only a sample of the
 * programs runs, the first axis varies fastest.
 *
 * A worker runs only while it has a token. There is one token while races are checked, and if programs run
 * one after the other. Otherwise, there is one token for each core. If a program spins in a loop that reads
 * memory, its worker passes the token to a new worker, which starts the next program. If all programs have
 * started, the worker passes the token to the worker that has waited longest for one. If all workers spin and
 * memory does not change, a deadlock is reported. */
#include "runtime/devices/interpreter/interpreter.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    PROGRAMS_AT_ONCE = 8,
    THREADS_MOST = 1024,
    STACK_BYTES = 1 << 20,
    HOST_STACK_BYTES = 8 << 20, /* host_calls run the evaluator of Python on this stack */
    /* the check for races ends when CHECKED_WORK elements have been computed, which takes about a tenth of a
     * second */
    CHECKED_WORK = 32 << 20,
    /* A worker counts its waits (calls of interpreter_wait) since memory last changed. If the loop's carried
     * values have not changed since the previous wait, the wait counts as QUIET_ROUND waits. At PATIENCE
     * waits, the worker is considered deadlocked. When all workers are considered deadlocked, they all begin
     * to count anew. When this has happened CONFIRMATIONS times without a change of memory, a deadlock is
     * reported. */
    PATIENCE = 100000,
    QUIET_ROUND = 5000,
    CONFIRMATIONS = 3,
    POLITE_ROUNDS =
        32, /* if there are several tokens, a worker passes on its token only at every POLITE_ROUNDS-th
             * wait */
};

struct worker {
    struct frame frame;
    struct worker *next;         /* the next in the list of all workers */
    struct worker *next_waiting; /* the next in the list of workers that wait for a token */
    pthread_cond_t token;
    bool has_token;
    const struct step *spins_at; /* the loop of the worker's last wait; NULL: it has not waited */
    unsigned rounds;
    long long generation; /* the following fields are valid only while interp_shared.generation has this
                           * value */
    int patience_used;    /* the number of waits, counted as explained at PATIENCE */
    bool in_vain;         /* the worker is considered deadlocked */
};

struct interp_shared {
    const struct code *code;
    struct interp_launch *launch;
    const struct cpu_buffer **homes;
    long long next, total; /* next: the number of the next program to start */
    atomic_llong failed;   /* the lowest number of a failed program, LLONG_MAX if none has failed, or -1 if a
                            * limit was exceeded; programs with higher numbers can stop */
    pthread_mutex_t lock;  /* protects `next`, all fields below, the report and the output */
    int tokens;            /* the number of workers that may run at once */
    struct race *race;     /* the race detector; NULL: the check for races has ended */
    long long work;        /* the number of elements computed during the check for races */
    struct worker *workers, *first_waiting, *last_waiting;
    int nworkers, nthreads;
    pthread_t threads[THREADS_MOST];
    long long generation; /* increases when memory changes, and when all workers begin to count waits anew */
    /* nin_vain: the number of workers that are considered deadlocked; confirmations: how often all workers
     * were, since memory last changed */
    int nin_vain, confirmations;
};

bool interpreter_is_over(const struct frame *f)
{
    return atomic_load_explicit(&f->shared->failed, memory_order_relaxed) < f->program;
}

/* -- reports -- */

static bool note_failure(struct frame *f, struct loc loc, enum error e)
{
    if (f->program >= atomic_load(&f->shared->failed))
        return false;
    atomic_store(&f->shared->failed, f->program);
    f->launch->report =
        (struct interp_report){.error = e, .loc = loc, .pid = {f->pid[0], f->pid[1], f->pid[2]}};
    return true;
}

static _Noreturn void fail(struct frame *f, struct loc loc, enum error e, const char *format, va_list args)
{
    pthread_mutex_lock(&f->shared->lock);
    if (note_failure(f, loc, e))
        vsnprintf(f->launch->report.what, sizeof f->launch->report.what, format, args);
    pthread_mutex_unlock(&f->shared->lock);
    longjmp(*f->fail, 1);
}

void interpreter_fail(struct frame *f, const struct step *s, enum error e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(f, s->op->loc, e, format, args);
}

void interpreter_fail_at(struct frame *f, struct loc loc, enum error e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(f, loc, e, format, args);
}

void interpreter_write(struct frame *f, const char *s, size_t n)
{
    pthread_mutex_lock(&f->shared->lock);
    if (f->launch->write)
        f->launch->write(f->launch->write_ctx, s, n);
    pthread_mutex_unlock(&f->shared->lock);
}

static void no_memory(struct interp_shared *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->failed, -1);
    s->launch->report = (struct interp_report){.error = ERR_out_of_memory};
    pthread_mutex_unlock(&s->lock);
}

bool interpreter_ask(struct frame *f)
{
    struct budget *b = f->launch->budget;
    f->spent = b ? budget_spend(b, (ELEMS_UNASKED - f->unasked) / STEP_ELEMS) : ERR_count;
    f->unasked = f->spent != ERR_count ? -1 : budget_is_limited(b) ? ELEMS_UNASKED : INT64_MAX;
    return f->spent == ERR_count;
}

/* Reports the exceeded limit. Sets `failed` to -1, which is less than every program number. Therefore, all
 * programs stop, and no program can replace the report. */
void interpreter_stop(struct frame *f, const struct step *s)
{
    struct interp_report *r = &f->launch->report;
    pthread_mutex_lock(&f->shared->lock);
    if (atomic_exchange(&f->shared->failed, -1) != -1) {
        *r = (struct interp_report){.error = f->spent, .loc = s->op->loc};
        budget_text(f->launch->budget, f->spent, r->what, sizeof r->what);
    }
    pthread_mutex_unlock(&f->shared->lock);
    longjmp(*f->fail, 1);
}

/* -- scratch memory -- */

struct held {
    struct held *outer;
    size_t bytes;
    max_align_t contents[];
};

void *interpreter_hold(struct frame *f, const struct step *s, size_t bytes)
{
    const struct memory *m = f->launch->mem;
    struct held *h = m->alloc(m->ctx, sizeof *h + bytes);
    if (!h)
        interpreter_fail(f, s, ERR_out_of_memory, "%zu", bytes);
    *h = (struct held){f->held, sizeof *h + bytes};
    f->held = h;
    return h->contents;
}

void interpreter_drop(struct frame *f)
{
    const struct memory *m = f->launch->mem;
    struct held *h = f->held;
    f->held = h->outer;
    m->free(m->ctx, h, h->bytes);
}

/* -- workers; callers of the functions up to memory_changed hold the lock -- */

static void *work(void *shared);

/* Starts a worker, which runs without waiting for a token. Returns false if no thread can be started. */
static bool start_worker(struct interp_shared *s)
{
    pthread_attr_t attr;
    if (s->nthreads == THREADS_MOST || pthread_attr_init(&attr) != 0)
        return false;
    pthread_attr_setstacksize(&attr, s->code->in_order ? HOST_STACK_BYTES : STACK_BYTES);
    bool started = pthread_create(&s->threads[s->nthreads], &attr, work, s) == 0;
    pthread_attr_destroy(&attr);
    s->nthreads += started;
    s->nworkers += started;
    return started;
}

static int core_count(const struct interp_launch *l)
{
    long n = l->trace ? 1 : l->num_threads ? l->num_threads : sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > THREADS_MOST ? THREADS_MOST : (int)n;
}

/* Ends the check for races, so that several workers may run at once, and starts workers on the other cores. */
static void open_up(struct interp_shared *s)
{
    s->race = NULL;
    s->tokens = s->code->in_order ? 1 : core_count(s->launch);
    int useful = s->total - s->next < s->tokens ? (int)(s->total - s->next) : s->tokens;
    for (int i = 1; i < useful && start_worker(s); i++)
        continue;
}

static bool pass_token(struct interp_shared *s)
{
    struct worker *w = s->first_waiting;
    if (!w)
        return false;
    s->first_waiting = w->next_waiting;
    w->has_token = true;
    pthread_cond_signal(&w->token);
    return true;
}

static void await_token(struct interp_shared *s, struct worker *w)
{
    w->has_token = false;
    w->next_waiting = NULL;
    if (s->first_waiting)
        s->last_waiting->next_waiting = w;
    else
        s->first_waiting = w;
    s->last_waiting = w;
    while (!w->has_token)
        pthread_cond_wait(&w->token, &s->lock);
}

static void memory_changed(struct interp_shared *s)
{
    s->generation++;
    s->nin_vain = s->confirmations = 0;
}

/* Returns the number, in the grid, of the i-th of the n programs to run. If all programs run, the result is
 * i; otherwise, the n programs are evenly spaced in the grid. */
static long long spread(const struct interp_launch *l, long long i, long long n)
{
    long long total = (long long)l->grid[0] * l->grid[1] * l->grid[2];
    return n == total ? i : i * (total / n) + i * (total % n) / n;
}

/* Assigns the next programs to a worker: of the programs to run, those with indices *first to *end - 1 (the
 * argument i of `spread`). Returns false if no program is left, or if every program that is left has a higher
 * number than a failed program. */
static bool take(struct interp_shared *s, struct frame *f, long long *first, long long *end)
{
    pthread_mutex_lock(&s->lock);
    if (f->race) /* the worker has finished a checked program */
        s->work += f->work;
    f->work = 0;
    memory_changed(s);
    if (s->race && s->work > CHECKED_WORK && !s->launch->races_all)
        open_up(s);
    bool one = s->race || s->code->waits || s->code->in_order;
    *first = s->next;
    *end = s->total - s->next < PROGRAMS_AT_ONCE || one ? s->next + 1 : s->next + PROGRAMS_AT_ONCE;
    bool any = s->next < s->total && spread(s->launch, s->next, s->total) <= atomic_load(&s->failed);
    if (any)
        s->next = *end;
    pthread_mutex_unlock(&s->lock);
    return any;
}

void interpreter_pid(const struct frame *f, long long i, int *pid)
{
    const int *grid = f->launch->grid;
    int fastest = f->code->in_order && !f->launch->sample ? 2 : 0, slowest = 2 - fastest;
    pid[fastest] = (int)(i % grid[fastest]);
    pid[1] = (int)(i / grid[fastest] % grid[1]);
    pid[slowest] = (int)(i / grid[fastest] / grid[1]);
}

static void run_program(struct frame *f, struct interp_shared *s, long long number)
{
    long long i = spread(s->launch, number, s->total);
    f->program = i;
    if (interpreter_is_over(f))
        return;
    interpreter_pid(f, i, f->pid);
    if (f->launch->only)
        memcpy(f->pid, f->launch->only, sizeof f->pid);
    f->returned = false;
    f->site = NULL;
    f->wrapped = f->wrapped_once;
    if (f->shadows)
        f->launch->trace->ordered = f->launch->trace->nstores;
    f->race = s->race && race_program(s->race, &f->party, (uint32_t)i) ? s->race : NULL;
    interpreter_block(f, s->code);
}

static void load_params(struct frame *f, const struct code *c)
{
    for (int i = 0; i < c->nargs; i++) {
        bool is_tile = type_is_tile(f->launch->func->body->args.at[i]->type);
        const void *from = is_tile ? (const void *)(uintptr_t)f->launch->args[i] : &f->launch->args[i];
        memcpy(f->mem + c->args[i], from, c->arg_bytes[i]);
    }
    for (int i = 0; i < c->nhoisted; i++) {
        c->hoisted[i].run(f, &c->hoisted[i]);
        if (f->shadows)
            shadow_step(f, &c->hoisted[i]);
    }
    f->wrapped_once = f->wrapped;
}

static void run_programs(struct frame *f, struct interp_shared *s)
{
    long long first, end;
    load_params(f, s->code);
    while (take(s, f, &first, &end))
        for (long long i = first; i < end; i++)
            run_program(f, s, i);
}

static void enter(struct interp_shared *s, struct worker *w)
{
    pthread_mutex_lock(&s->lock);
    pthread_cond_init(&w->token, NULL);
    w->next = s->workers;
    s->workers = w;
    pthread_mutex_unlock(&s->lock);
}

static void leave(struct interp_shared *s, struct worker *w)
{
    pthread_mutex_lock(&s->lock);
    struct worker **at = &s->workers;
    while (*at != w)
        at = &(*at)->next;
    *at = w->next;
    s->nworkers--;
    memory_changed(s);
    pass_token(s);
    pthread_mutex_unlock(&s->lock);
    pthread_cond_destroy(&w->token);
}

static void *work(void *shared)
{
    struct interp_shared *s = shared;
    const struct memory *m = s->launch->mem;
    size_t bytes = s->code->frame_bytes + FRAME_ALIGN;
    char *block = m->alloc(m->ctx, bytes);
    jmp_buf fail_here;
    struct worker w = {
        .frame = {.code = s->code, .launch = s->launch, .shared = s, .homes = s->homes, .fail = &fail_here}};
    w.frame.worker = &w;
    w.frame.unasked = ELEMS_UNASKED;
    size_t shadow_bytes = s->launch->trace ? (s->code->nshadows + 1) * sizeof(struct shadow) : 0;
    if (shadow_bytes)
        w.frame.shadows = m->alloc(m->ctx, shadow_bytes);
    enter(s, &w);
    if (block && (w.frame.shadows || !shadow_bytes)) {
        w.frame.mem = block + (FRAME_ALIGN - (uintptr_t)block % FRAME_ALIGN) % FRAME_ALIGN;
        if (setjmp(fail_here) == 0)
            run_programs(&w.frame, s);
        while (w.frame.held)
            interpreter_drop(&w.frame);
    } else {
        no_memory(s);
    }
    if (block)
        m->free(m->ctx, block, bytes);
    if (w.frame.shadows)
        m->free(m->ctx, w.frame.shadows, shadow_bytes);
    leave(s, &w);
    return NULL;
}

/* -- programs that wait for each other -- */

/* Reports a deadlock: every worker spins, but memory does not change. The report names the spinning program
 * with the lowest number. */
static void report_deadlock(struct interp_shared *s)
{
    struct worker *lowest = s->workers;
    for (struct worker *w = s->workers; w; w = w->next)
        if (w->frame.program < lowest->frame.program)
            lowest = w;
    if (!lowest->spins_at || !note_failure(&lowest->frame, lowest->spins_at->op->loc, ERR_deadlock))
        return;
    size_t room = sizeof s->launch->report.what;
    int others = s->nworkers - 1;
    if (others)
        snprintf(s->launch->report.what, room,
                 "it and %d more program%s wait in loops, and nothing changes what they read", others,
                 others > 1 ? "s" : "");
    else
        snprintf(s->launch->report.what, room, "its loop waits for what no other program will change");
}

/* Counts a wait of the spinning worker w. `counts` is true if w's loop has changed its carried values since
 * the previous wait. Returns true if a deadlock must be reported. */
static bool is_in_vain(struct interp_shared *s, struct worker *w, bool counts)
{
    if (w->frame.wrote)
        memory_changed(s);
    w->frame.wrote = false;
    if (w->generation != s->generation) {
        w->generation = s->generation;
        w->patience_used = 0;
        w->in_vain = false;
    }
    w->patience_used += counts ? 1 : QUIET_ROUND;
    if (!w->in_vain && w->patience_used >= PATIENCE) {
        w->in_vain = true;
        s->nin_vain++;
    }
    if (s->nin_vain < s->nworkers || (s->next < s->total && s->nthreads < THREADS_MOST))
        return false;
    s->generation++;
    s->nin_vain = 0;
    return ++s->confirmations == CONFIRMATIONS;
}

bool interpreter_wait(struct frame *f, const struct step *at, bool counts)
{
    struct interp_shared *s = f->shared;
    struct worker *w = f->worker;
    pthread_mutex_lock(&s->lock);
    w->spins_at = at;
    if (is_in_vain(s, w, counts))
        report_deadlock(s);
    bool passed = false, polite = s->tokens > 1 && ++w->rounds % POLITE_ROUNDS;
    if (!polite && atomic_load(&s->failed) == LLONG_MAX &&
        ((s->next < s->total && start_worker(s)) || pass_token(s)))
        await_token(s, w), passed = true;
    if (!s->race)
        f->race = NULL;
    bool over = atomic_load(&s->failed) != LLONG_MAX;
    pthread_mutex_unlock(&s->lock);
    if (over)
        longjmp(*f->fail, 1);
    if (!passed)
        sched_yield();
    return !passed;
}

/* -- a launch -- */

/* Sets s->homes to the buffers into which the parameters point. Returns false if there is no memory. */
static bool find_homes(struct interp_shared *s)
{
    const struct interp_launch *l = s->launch;
    const struct block *b = l->func->body;
    s->homes = l->mem->alloc(l->mem->ctx, (size_t)(b->args.n + 1) * sizeof *s->homes);
    for (int i = 0; s->homes && i < b->args.n; i++) {
        const struct cpu_buffer *home =
            type_is_ptr(b->args.at[i]->type) ? cpu_buffer_at(l->buffers, l->nbuffers, l->args[i]) : NULL;
        s->homes[i] = home && l->args[i] - home->base <= home->bytes ? home : NULL;
    }
    return s->homes != NULL;
}

/* Waits until all threads have ended, also those that are started during the call. */
static void join_all(struct interp_shared *s)
{
    for (int i = 0;; i++) {
        pthread_mutex_lock(&s->lock);
        bool any = i < s->nthreads;
        pthread_mutex_unlock(&s->lock);
        if (!any)
            return;
        pthread_join(s->threads[i], NULL);
    }
}

static void run_all(struct interp_shared *s)
{
    struct race *race = s->launch->race;
    bool watched = race && s->total > 1 && race_begin(race, s->code->granule);
    pthread_mutex_lock(&s->lock);
    s->nworkers = 1;
    s->tokens = 1;
    s->race = race;
    if (!watched)
        open_up(s);
    pthread_mutex_unlock(&s->lock);
    work(s);
    join_all(s);
    if (watched)
        race_end(race);
}

bool interpreter_run(const struct code *c, struct interp_launch *l)
{
    struct interp_shared s = {
        .code = c, .launch = l, .total = (long long)l->grid[0] * l->grid[1] * l->grid[2]};
    l->report = (struct interp_report){.error = ERR_count};
    atomic_init(&s.failed, LLONG_MAX);
    if (l->sample && l->sample < s.total)
        s.total = l->sample;
    if (l->only)
        s.total = 1;
    if (s.total == 0)
        return true;
    pthread_mutex_init(&s.lock, NULL);
    if (find_homes(&s))
        run_all(&s);
    else
        no_memory(&s);
    pthread_mutex_destroy(&s.lock);
    if (s.homes)
        l->mem->free(l->mem->ctx, s.homes, (size_t)(l->func->body->args.n + 1) * sizeof *s.homes);
    return l->report.error == ERR_count;
}
