/* exec.c: warps, their control flow, barriers, and the CTAs of a grid on all cores.
 *
 * A warp runs one group of lanes at a time: the one whose next instruction comes first in the text. So lanes that took
 * different ways meet again where the ways do, as the compiler's order of blocks has it:
 *
 *     @%p1 bra L3   =>   { pc L3, lanes of %p1 }   { pc here + 1, the others }: these first; at L3 they join
 *
 * Warps of a CTA take turns: each runs to a barrier, to its end, or for a while. Where none can go on, that is a deadlock, and
 * is reported. A CTA that goes on for long may wait for another one, so others get turns between its own; of several that fail the lowest is reported, so every run tells the same.
 * (PTX ISA, "Control Flow Instructions", "bar.sync", "Special Registers".) */
#include "runtime/emulator/machine.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { JUMPS_A_TURN = 1024, ROUNDS_A_TURN = 256, RESIDENT_MOST = 512, WORKERS_MOST = 256, ALIGN = 64 };

/* Shared by the workers of one launch. */
struct grid {
    const struct emu_code *code;
    struct emu_launch *launch;
    atomic_llong next; /* CTA to be taken next */
    long long total;
    atomic_llong failed;  /* the lowest that has failed */
    pthread_mutex_t lock; /* of the report */
};

/* -- reports -- */

static const char *trimmed(const char *text)
{
    while (*text == ' ')
        text++;
    return text;
}

void emu_fail(struct emu_warp *w, const struct emu_insn *in, int lane, enum error e, const char *format, ...)
{
    struct emu_cta *c = w->cta;
    char what[160];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    c->report = (struct emu_report){.error = e,
                                    .loc = in->loc,
                                    .ptx_line = in->line,
                                    .pid = {c->pid[0], c->pid[1], c->pid[2]},
                                    .thread = w->index * LANES + lane};
    snprintf(c->report.what, sizeof c->report.what,
             "program (%d, %d, %d), thread %d: %s, at line %d of the PTX: `%s`", c->pid[0], c->pid[1],
             c->pid[2], c->report.thread, what, in->line, trimmed(in->text));
    longjmp(c->fail, 1);
}

/* -- groups of lanes -- */

static void park(struct emu_warp *w, int pc, uint32_t mask, int barrier)
{
    for (int i = 0; i < w->nwaiting; i++)
        if (w->waiting[i].pc == pc && w->waiting[i].barrier == barrier) {
            w->waiting[i].mask |= mask;
            return;
        }
    w->waiting[w->nwaiting++] = (struct emu_group){pc, mask, barrier};
}

/* Runs the first group in the text's order that can; false: all wait or are done. */
static bool resume(struct emu_warp *w)
{
    int first = -1;
    for (int i = 0; i < w->nwaiting; i++)
        if (w->waiting[i].barrier < 0 && (first < 0 || w->waiting[i].pc < w->waiting[first].pc))
            first = i;
    if (first < 0)
        return false;
    w->pc = w->waiting[first].pc;
    w->mask = w->waiting[first].mask;
    w->waiting[first] = w->waiting[--w->nwaiting];
    return true;
}

static void reconverge(struct emu_warp *w)
{
    park(w, w->pc, w->mask, -1);
    resume(w);
}

/* -- control -- */

static void branch(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t off = w->mask & ~on;
    if (!on) {
        w->pc++;
    } else if (!off) {
        w->pc = in->target;
    } else {
        park(w, in->target, on, -1);
        park(w, w->pc + 1, off, -1);
        resume(w);
    }
}

/* The lanes `on` stop here: for good, or at a barrier. The others go on. */
static void leave(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t off = w->mask & ~on;
    int pc = w->pc;
    if (in->code == INSN_ret)
        w->exited |= on;
    else if (on)
        park(w, pc + 1, on, (int)emu_lane(w, &in->opnds[0], emu_first_lane(on)));
    if (off)
        park(w, pc + 1, off, -1);
    w->mask = 0;
    resume(w);
}

static uint32_t guarded(struct emu_warp *w, const struct emu_insn *in)
{
    if (in->guard < 0)
        return w->mask;
    const struct emu_register *r = &w->cta->code->regs.at[in->guard];
    struct emu_opnd guard = {.reg = in->guard, .cls = CLASS_pred, .at = r->at};
    uint32_t mask;
    emu_need_defined(w, in, &guard, 1, w->mask, "the condition");
    memcpy(&mask, w->values + r->at, sizeof mask);
    return w->mask & (in->guard_not ? ~mask : mask);
}

/* One turn; false: its time was up. */
static bool run_warp(struct emu_warp *w)
{
    const struct emu_insn *insns = w->cta->code->insns.at;
    for (int jumps = 0; w->mask && jumps < JUMPS_A_TURN;) {
        if (w->nwaiting && insns[w->pc].joins)
            reconverge(w);
        const struct emu_insn *in = &insns[w->pc];
        uint32_t on = guarded(w, in);
        if (in->run) {
            if (on)
                in->run(w, in, on);
            w->pc++;
            continue;
        }
        switch (in->code) {
        case INSN_bra:
            branch(w, in, on);
            jumps++;
            break;
        case INSN_trap:
            if (on)
                emu_fail(w, in, emu_first_lane(on), ERR_emulator_trap, "the kernel stops itself");
            w->pc++;
            break;
        default: leave(w, in, on);
        }
    }
    if (!w->mask)
        return true;
    park(w, w->pc, w->mask, -1);
    w->mask = 0;
    return false;
}

/* -- barriers -- */

/* Threads of the CTA that wait at a barrier. */
static int arrived(const struct emu_cta *c, int barrier)
{
    int n = 0;
    for (int i = 0; i < c->nwarps; i++)
        for (int k = 0; k < c->warps[i].nwaiting; k++)
            if (c->warps[i].waiting[k].barrier == barrier)
                n += __builtin_popcount(c->warps[i].waiting[k].mask);
    return n;
}

static void release(struct emu_cta *c, int barrier)
{
    for (int i = 0; i < c->nwarps; i++)
        for (int k = 0; k < c->warps[i].nwaiting; k++)
            if (c->warps[i].waiting[k].barrier == barrier)
                c->warps[i].waiting[k].barrier = -1;
    c->epoch++;
}

/* Opens every barrier that all threads have come to. */
static bool release_complete(struct emu_cta *c)
{
    bool any = false;
    for (int i = 0; i < c->nwarps; i++)
        for (int k = 0; k < c->warps[i].nwaiting; k++) {
            int barrier = c->warps[i].waiting[k].barrier;
            if (barrier >= 0 && arrived(c, barrier) == c->nwarps * LANES) {
                release(c, barrier);
                any = true;
            }
        }
    return any;
}

static _Noreturn void deadlock(struct emu_cta *c)
{
    int warp = 0;
    while (!c->warps[warp].nwaiting)
        warp++;
    struct emu_warp *w = &c->warps[warp];
    const struct emu_group *g = &w->waiting[0];
    int ended = 0;
    for (int i = 0; i < c->nwarps; i++)
        ended += __builtin_popcount(c->warps[i].exited);
    emu_fail(w, &c->code->insns.at[g->pc - 1], emu_first_lane(g->mask), ERR_emulator_barrier,
             "%d of %d threads wait at barrier %d, %d have ended", arrived(c, g->barrier), c->nwarps * LANES,
             g->barrier, ended);
}

/* -- a CTA -- */

/* False: a warp needs more time; other CTAs, which it may be waiting for, should have some. */
static bool run_warps(struct emu_cta *c)
{
    for (int rounds = 0;; rounds++) {
        bool running = false, waiting = false, tired = false;
        for (int i = 0; i < c->nwarps; i++) {
            if (resume(&c->warps[i])) {
                tired |= !run_warp(&c->warps[i]);
                running = true;
            }
            waiting |= c->warps[i].nwaiting > 0;
        }
        if (!waiting)
            return true;
        if (!release_complete(c) && !running)
            deadlock(c);
        if (tired || rounds == ROUNDS_A_TURN)
            return false;
    }
}

static void set_special(struct emu_warp *w, enum special which, uint32_t first, uint32_t step)
{
    uint32_t *p = (void *)(w->values + w->cta->code->regs.at[which].at);
    for (int i = 0; i < LANES; i++)
        p[i] = first + (uint32_t)i * step;
    w->defined[which] = ALL_LANES;
}

static void begin_warp(struct emu_warp *w)
{
    const struct emu_cta *c = w->cta;
    size_t nregs = (size_t)c->code->regs.n;
    memset(w->defined, 0, nregs * sizeof *w->defined);
    memset(w->undefined, 0xff, nregs * sizeof *w->undefined);
    set_special(w, SPECIAL_tid, (uint32_t)(w->index * LANES), 1);
    for (int d = 0; d < 3; d++) {
        set_special(w, (enum special)(SPECIAL_ctaid_x + d), (uint32_t)c->pid[d], 0);
        set_special(w, (enum special)(SPECIAL_nctaid_x + d), (uint32_t)c->launch->grid[d], 0);
    }
    w->exited = w->mask = 0;
    w->waiting[0] = (struct emu_group){0, ALL_LANES, -1};
    w->nwaiting = 1;
}

static void begin_cta(struct emu_cta *c, long long number)
{
    enum { EPOCHS_MOST = 1 << 30 };
    const int *grid = c->launch->grid;
    if (c->epoch > EPOCHS_MOST) {
        memset(c->shadow, 0, (size_t)c->shared_bytes * sizeof *c->shadow);
        c->epoch = 0;
    }
    c->pid[0] = (int)(number % grid[0]);
    c->pid[1] = (int)(number / grid[0] % grid[1]);
    c->pid[2] = (int)(number / grid[0] / grid[1]);
    c->first_epoch = ++c->epoch;
    for (int i = 0; i < c->nwarps; i++)
        begin_warp(&c->warps[i]);
}

/* -- workers -- */

static void keep_report(struct grid *g, long long number, const struct emu_report *r)
{
    pthread_mutex_lock(&g->lock);
    if (number < atomic_load(&g->failed)) {
        atomic_store(&g->failed, number);
        g->launch->report = *r;
    }
    pthread_mutex_unlock(&g->lock);
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Takes a piece from the worker's block; with block NULL it only counts. */
static void *piece(char *block, size_t *used, size_t bytes)
{
    void *p = block ? block + *used : NULL;
    *used += aligned(bytes);
    return p;
}

static size_t lay_out(struct emu_cta *c, char *block)
{
    size_t used = 0, nregs = (size_t)c->code->regs.n;
    struct emu_warp *warps = piece(block, &used, (size_t)c->nwarps * sizeof *warps);
    c->warps = warps;
    c->shared = piece(block, &used, (size_t)c->shared_bytes);
    c->shadow = piece(block, &used, (size_t)c->shared_bytes * sizeof *c->shadow);
    for (int i = 0; i < c->nwarps; i++) {
        struct emu_warp w = {.cta = c, .index = i};
        w.values = piece(block, &used, c->code->values_bytes);
        w.defined = piece(block, &used, nregs * sizeof *w.defined);
        w.undefined = piece(block, &used, nregs * sizeof *w.undefined);
        if (block)
            warps[i] = w;
    }
    return used;
}

/* A CTA under way, or room for one. */
struct resident {
    struct emu_cta cta;
    long long number; /* in the grid; -1: none */
    char *block;
    size_t bytes;
};

static struct resident *resident_new(const struct grid *g)
{
    const struct memory *m = g->launch->mem;
    struct resident *r = m->alloc(m->ctx, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct resident){.number = -1};
    r->cta.code = g->code;
    r->cta.launch = g->launch;
    r->cta.nwarps = g->code->num_threads / LANES;
    r->cta.shared_bytes = g->code->static_shared_bytes + g->launch->shared_bytes;
    r->bytes = lay_out(&r->cta, NULL) + ALIGN;
    r->block = m->alloc(m->ctx, r->bytes);
    if (!r->block) {
        m->free(m->ctx, r, sizeof *r);
        return NULL;
    }
    memset(r->block, 0, r->bytes);
    lay_out(&r->cta, r->block + (ALIGN - (uintptr_t)r->block % ALIGN) % ALIGN);
    return r;
}

static void resident_free(const struct grid *g, struct resident *r)
{
    const struct memory *m = g->launch->mem;
    m->free(m->ctx, r->block, r->bytes);
    m->free(m->ctx, r, sizeof *r);
}

/* Has a CTA to run: its own, or the grid's next. */
static bool has_cta(struct grid *g, struct resident *r)
{
    if (r->number < 0) {
        r->number = atomic_fetch_add(&g->next, 1);
        if (r->number < g->total)
            begin_cta(&r->cta, r->number);
    }
    if (r->number < g->total && atomic_load(&g->failed) > r->number)
        return true;
    r->number = -1;
    return false;
}

/* False: it needs more time. */
static bool run_cta(struct grid *g, struct resident *r)
{
    if (setjmp(r->cta.fail) != 0)
        keep_report(g, r->number, &r->cta.report);
    else if (!run_warps(&r->cta))
        return false;
    r->number = -1;
    return true;
}

/* One CTA after the other; where one needs more time, as one does that waits for others, those have their turns first. */
static void *work(void *ctx)
{
    struct grid *g = ctx;
    struct resident *residents[RESIDENT_MOST];
    int n = 0;
    bool any = true, tired = true;
    while (any) {
        int wanted = !tired ? n : n == 0 ? 1 : 2 * n;
        while (n < wanted && n < RESIDENT_MOST && (residents[n] = resident_new(g)))
            n++;
        any = tired = false;
        for (int i = n - 1; i >= 0; i--)
            while (has_cta(g, residents[i])) {
                any = true;
                if (!run_cta(g, residents[i])) {
                    tired = true;
                    break;
                }
            }
    }
    if (n == 0)
        keep_report(g, -1, &(struct emu_report){.error = ERR_out_of_memory});
    for (int i = 0; i < n; i++)
        resident_free(g, residents[i]);
    return NULL;
}

static int worker_count(const struct grid *g)
{
    long n = g->launch->num_workers ? g->launch->num_workers : sysconf(_SC_NPROCESSORS_ONLN);
    n = n > WORKERS_MOST ? WORKERS_MOST : n;
    n = n > g->total ? (long)g->total : n;
    return n < 1 ? 1 : (int)n;
}

bool emulator_run(const struct emu_code *code, struct emu_launch *l)
{
    pthread_t threads[WORKERS_MOST];
    struct grid g = {.code = code, .launch = l, .total = (long long)l->grid[0] * l->grid[1] * l->grid[2]};
    l->report = (struct emu_report){.error = ERR_count};
    atomic_init(&g.failed, LLONG_MAX);
    pthread_mutex_init(&g.lock, NULL);
    int n = worker_count(&g), started = 0;
    /* The caller works too; where no thread can be started it does everything. */
    while (started < n - 1 && pthread_create(&threads[started], NULL, work, &g) == 0)
        started++;
    work(&g);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&g.lock);
    return l->report.error == ERR_count;
}
