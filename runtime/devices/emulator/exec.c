/* SPDX-License-Identifier: MIT */
/* exec.c: executes warps with divergent control flow, and distributes the CTAs of a grid over all cores.
 *
 * A warp runs one group of lanes at a time: the group whose next instruction comes first in the PTX text. The
 * compiler places the block at which two paths meet after the blocks of both paths. Therefore, diverged lanes
 * reconverge where their paths meet:
 *
 *     @%p1 bra L3   =>   {lanes of %p1, pc L3} and {other lanes, next pc}; the other lanes run first
 *
 * The warps of a cluster take turns: each warp runs until it must wait, exits, or has used its time slice. If no warp
 * can continue, the emulator performs an asynchronous operation; if none is pending, it reports a deadlock. A
 * cluster that runs for a long time may wait for another cluster, so the clusters of a worker (a thread of
 * the emulator) also take turns. If several clusters fail, the emulator reports the error of the cluster with
 * the lowest number, so that every run reports the same error. (PTX ISA, "Control Flow Instructions",
 * "Cluster of Cooperative Thread Arrays", "Special Registers".) */
#include "runtime/devices/emulator/machine.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { JUMPS_A_TURN = 1024, ROUNDS_A_TURN = 256, RESIDENT_MOST = 512, WORKERS_MOST = 256, ALIGN = 64 };
enum { RESIDENT_BYTES_MOST = 1 << 29 };

/* The state that the workers of one launch share. A worker is a thread that runs clusters. */
struct grid {
    const struct emu_code *code;
    struct emu_launch *launch;
    atomic_llong next;       /* the next cluster to start */
    long long total, sample; /* the number of clusters in the grid, and the number of clusters to run */
    /* the lowest number of a cluster that has failed; LLONG_MAX: none has failed; -1: a limit or lack of
     * memory ended the launch */
    atomic_llong failed;
    pthread_mutex_t lock; /* protects the report and the launch's tallies */
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
    int packs = c->launch->packs, first = packs ? 0 : w->index * LANES,
        x = packs ? c->pid[0] * packs + w->index : c->pid[0], y = c->pid[1];
    if (c->launch->turned) { /* computes the program of the CTA in the same way as opt/grid/turn_grid.c */
        long long width = (long long)c->launch->grid[0] * (packs ? packs : 1), height = c->launch->grid[1],
                  k = y * width + x;
        x = (int)(k / height);
        y = (int)(k % height);
    }
    struct emu_report *r = &c->cluster->report;
    *r = (struct emu_report){
        .error = e, .loc = in->loc, .ptx_line = in->line, .pid = {x, y, c->pid[2]}, .thread = first + lane};
    snprintf(r->what, sizeof r->what, "program (%d, %d, %d), thread %d: %s, at line %d of the PTX: `%s`",
             r->pid[0], r->pid[1], r->pid[2], r->thread, what, in->line, trimmed(in->text));
    longjmp(c->cluster->fail, 1);
}

/* -- groups of lanes -- */

void emu_park(struct emu_warp *w, int pc, uint32_t mask, int waits)
{
    for (int i = 0; i < w->nwaiting; i++)
        if (w->waiting[i].pc == pc && w->waiting[i].waits == waits) {
            w->waiting[i].mask |= mask;
            return;
        }
    w->waiting[w->nwaiting++] = (struct emu_group){pc, mask, waits};
}

/* Selects the group of lanes to run next: the group with the lowest pc among those that do not wait. Returns false if
 * all lanes wait or have exited. */
static bool resume(struct emu_warp *w)
{
    int first = -1;
    for (int i = 0; i < w->nwaiting; i++)
        if (w->waiting[i].waits == WAIT_nothing && (first < 0 || w->waiting[i].pc < w->waiting[first].pc))
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
    emu_park(w, w->pc, w->mask, WAIT_nothing);
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
        emu_park(w, in->target, on, WAIT_nothing);
        emu_park(w, w->pc + 1, off, WAIT_nothing);
        resume(w);
    }
}

/* Handles an instruction at which the lanes `on` exit or may have to wait. The other lanes continue. */
static void stop(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t off = w->mask & ~on;
    if (in->code == INSN_ret)
        w->exited |= on;
    else if (on)
        emu_arrive(w, in, on);
    if (off)
        emu_park(w, w->pc + 1, off, WAIT_nothing);
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

/* Counts the instruction. A wait for an mbarrier may execute its instruction repeatedly. Therefore, barrier.c
 * counts such a wait once, at its end, and this function does not. */
static void tally(struct emu_warp *w, uint32_t on)
{
    struct emu_tally *t = &w->cta->cluster->tallies[w->pc];
    if (w->cta->code->insns.at[w->pc].code == INSN_mbarrier_try_wait)
        return;
    t->executed++;
    t->lanes += (uint64_t)__builtin_popcount(on);
}

static bool is_limit(enum error e)
{
    return budget_ends(e) || e == ERR_steps;
}

/* Ends the launch if its budget is exhausted. Called about once in INSNS_UNASKED instructions of the cluster,
 * which take some milliseconds at most. */
static void ask(struct emu_warp *w, const struct emu_insn *in)
{
    enum { INSNS_UNASKED = 16 };
    struct emu_cluster *c = w->cta->cluster;
    struct budget *b = c->launch->budget;
    enum error passed = b ? budget_spend(b, INSNS_UNASKED) : ERR_count;
    c->unasked = INSNS_UNASKED;
    if (passed == ERR_count)
        return;
    c->report = (struct emu_report){.error = passed, .loc = in->loc, .ptx_line = in->line};
    budget_text(b, passed, c->report.what, sizeof c->report.what);
    longjmp(c->fail, 1);
}

/* Performs the checks and counts that only some launches need. If a warp has released registers by
 * setmaxnreg, w->budget is the number of registers that it has kept per thread. At most 5/4 of this number
 * may be live; if more were live, ptxas would spill registers. The factor exceeds 1 because ptxas may order
 * instructions so that fewer registers are live than in the PTX. A warp that has acquired registers is not
 * checked: in the PTX, more registers may be live than a thread can have. */
static void watch(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    enum { SPARED = 4 }; /* up to budget / SPARED additional registers may be live */
    if (--w->cta->cluster->unasked < 0)
        ask(w, in);
    int live = w->budget ? w->cta->code->live[w->pc] : 0;
    if (live > w->budget + w->budget / SPARED && w->budget < emu_first_registers(w->cta->code))
        emu_fail(w, in, emu_first_lane(w->mask), ERR_emulator_ptx,
                 "%d registers are live, and the warp keeps %d since its setmaxnreg", live, w->budget);
    if (w->fresh && on)
        emu_wgmma_watch(w, in);
    if (w->loads)
        emu_loads_watch(w, in, on);
    if (w->cta->cluster->tallies)
        tally(w, on);
}

/* Runs the warp for a time slice of JUMPS_A_TURN branches. Returns false if the warp has used the whole time
 * slice. */
static bool run_warp(struct emu_warp *w)
{
    const struct emu_code *code = w->cta->code;
    const struct emu_insn *insns = code->insns.at;
    const struct emu_cluster *c = w->cta->cluster;
    bool watched = w->fresh || w->loads || code->live || c->tallies || budget_is_limited(c->launch->budget);
    for (int jumps = 0; w->mask && jumps < JUMPS_A_TURN;) {
        if (w->nwaiting && insns[w->pc].joins)
            reconverge(w);
        const struct emu_insn *in = &insns[w->pc];
        uint32_t on = guarded(w, in);
        if (watched)
            watch(w, in, on);
        if (in->follows)
            emu_follow(w, in, on);
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
        default: stop(w, in, on);
        }
    }
    if (!w->mask)
        return true;
    emu_park(w, w->pc, w->mask, WAIT_nothing);
    w->mask = 0;
    return false;
}

/* -- clusters -- */

/* Runs each warp that can continue for one time slice. Sets *waiting if a warp still has lanes that have not
 * exited, and *tired if a warp has used its whole time slice. Returns false if no warp could continue. */
static bool run_round(struct emu_cluster *c, bool *waiting, bool *tired)
{
    bool running = false;
    for (int i = 0; i < c->nctas * c->ctas->nwarps; i++) {
        struct emu_warp *w = &c->ctas[i / c->ctas->nwarps].warps[i % c->ctas->nwarps];
        if (resume(w)) {
            *tired |= !run_warp(w);
            running = true;
        }
        *waiting |= w->nwaiting > 0;
    }
    return running;
}

/* Runs the warps until the cluster ends, and then returns true. Returns false if the cluster's turn ends before the
 * cluster does. Turns are limited because a warp may wait for other clusters, which run between the turns. */
static bool run_warps(struct emu_cluster *c)
{
    enum { ASYNC_IS_RARE = 4 };
    for (int rounds = 0;; rounds++) {
        bool waiting = false, tired = false, running = run_round(c, &waiting, &tired);
        if (!waiting) {
            emu_check_end(c);
            return true;
        }
        if ((!running || c->may_release) && !emu_release(c) && !running && !emu_async_step(c))
            emu_deadlock(c);
        if (c->nops && !emu_random(c, ASYNC_IS_RARE))
            emu_async_step(c);
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
    enum { SMS = 132 }; /* the number of SMs of an H200 */
    const struct emu_cta *c = w->cta;
    const struct emu_cluster *cl = c->cluster;
    const int *grid = c->launch->grid, *cluster = c->launch->cluster;
    size_t nregs = (size_t)c->code->regs.n;
    memset(w->defined, 0, nregs * sizeof *w->defined);
    memset(w->undefined, 0xff, nregs * sizeof *w->undefined);
    if (c->code->follows)
        memset(w->wrapped, 0, nregs * sizeof *w->wrapped);
    memset(w->local_undefined, 0xff, (size_t)(LANES * c->code->local_bytes));
    set_special(w, SPECIAL_tid, (uint32_t)(w->index * LANES), 1);
    set_special(w, SPECIAL_tid_y, 0, 0);
    set_special(w, SPECIAL_laneid, 0, 1);
    set_special(w, SPECIAL_ntid, (uint32_t)(c->nwarps * LANES), 0);
    for (int d = 0; d < 3; d++) {
        set_special(w, (enum special)(SPECIAL_ctaid_x + d), (uint32_t)c->pid[d], 0);
        set_special(w, (enum special)(SPECIAL_nctaid_x + d), (uint32_t)grid[d], 0);
    }
    set_special(w, SPECIAL_cluster_ctarank, (uint32_t)c->rank, 0);
    set_special(w, SPECIAL_cluster_nctarank, (uint32_t)cl->nctas, 0);
    set_special(w, SPECIAL_clusterid_x, (uint32_t)(c->pid[0] / cluster[0]), 0);
    set_special(w, SPECIAL_nclusterid_x, (uint32_t)(grid[0] / cluster[0]), 0);
    set_special(w, SPECIAL_smid, (uint32_t)c->pid[0] % SMS, 0);
    for (int i = 0; i < c->code->symbols.n; i++)
        set_special(w, (enum special)c->code->symbols.at[i].reg,
                    (uint32_t)(c->rank << RANK_SHIFT | c->code->symbols.at[i].address), 0);
    for (int i = 0; i < cl->nactors; i++)
        w->seen[i] = cl->began - 1;
    w->budget = 0;
    w->exited = w->mask = w->unfenced = w->cluster_arrived = w->cluster_passed = w->stored = 0;
    w->copy_groups = w->store_groups = w->mma_groups = w->mma_awaited = 0;
    if (c->code->is_async) {
        memset(w->released, 0, (size_t)cl->nactors * sizeof *w->released);
        memset(w->carried, 0, nregs * sizeof *w->carried);
    }
    w->loading = 0;
    if (c->code->has_wgmma) {
        memset(w->flying, 0, nregs * sizeof *w->flying);
        memset(w->fresh, true, nregs);
    }
    w->waiting[0] = (struct emu_group){0, ALL_LANES, WAIT_nothing};
    w->nwaiting = 1;
    emu_begin_party(w);
}

static void begin_cta(struct emu_cta *c, long long number)
{
    const int *grid = c->launch->grid, *cluster = c->launch->cluster;
    int first[3] = {(int)(number % (grid[0] / cluster[0])),
                    (int)(number / (grid[0] / cluster[0]) % (grid[1] / cluster[1])),
                    (int)(number / (grid[0] / cluster[0]) / (grid[1] / cluster[1]))};
    int within[3] = {c->rank % cluster[0], c->rank / cluster[0] % cluster[1],
                     c->rank / cluster[0] / cluster[1]};
    for (int d = 0; d < 3; d++)
        c->pid[d] = first[d] * cluster[d] + within[d];
    if (c->arrivals)
        memset(c->arrivals, 0, (size_t)c->cluster->nactors * sizeof *c->arrivals);
    for (int i = 0; i < BARRIERS; i++) {
        c->barriers[i].arrived = c->barriers[i].expected = 0;
        memset(c->barriers[i].seen, 0, (size_t)c->cluster->nactors * sizeof *c->barriers[i].seen);
    }
    c->nmbarriers = c->spare_registers = 0;
    for (int i = 0; i < c->nwarps; i++)
        begin_warp(&c->warps[i]);
}

static void begin_cluster(struct emu_cluster *c, long long number)
{
    enum { TIMES_MOST = 1 << 30 };
    if (c->time > TIMES_MOST) {
        for (int i = 0; i < c->nctas; i++)
            memset(c->ctas[i].shadow, 0, (size_t)c->ctas[i].shared_bytes * sizeof *c->ctas[i].shadow);
        c->time = 0;
    }
    c->began = ++c->time;
    c->random = (uint64_t)number ^ c->launch->seed;
    c->nops = 0;
    c->issued = 0;
    c->may_release = false;
    if (c->coming)
        memset(c->coming, 0, (size_t)c->nactors * sizeof *c->coming);
    for (int i = 0; i < c->nctas; i++)
        begin_cta(&c->ctas[i], number);
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

/* Allocates `bytes` bytes at offset *used of the block, and increases *used by their number, rounded up to a
 * multiple of ALIGN. If block is NULL, only increases *used, and returns NULL. */
static void *piece(char *block, size_t *used, size_t bytes)
{
    void *p = block ? block + *used : NULL;
    *used += aligned(bytes);
    return p;
}

static void lay_out_cta(struct emu_cta *c, char *block, size_t *used)
{
    size_t nregs = (size_t)c->code->regs.n, seen_bytes = (size_t)c->cluster->nactors * sizeof(uint32_t);
    c->warps = piece(block, used, (size_t)c->nwarps * sizeof *c->warps);
    c->shared = piece(block, used, (size_t)c->shared_bytes);
    c->shadow = piece(block, used, (size_t)c->shared_bytes * sizeof *c->shadow);
    if (c->code->is_async)
        c->arrivals = piece(block, used, (size_t)c->cluster->nactors * sizeof *c->arrivals);
    for (int i = 0; i < BARRIERS; i++)
        c->barriers[i].seen = piece(block, used, seen_bytes);
    for (int i = 0; c->code->is_async && i < MBARRIERS_MOST; i++) {
        if (i == 0)
            c->mbarriers = piece(block, used, MBARRIERS_MOST * sizeof *c->mbarriers);
        uint32_t *coming = piece(block, used, seen_bytes), *done = piece(block, used, seen_bytes);
        struct emu_ask *asked = piece(block, used, (size_t)c->nwarps * sizeof *asked);
        if (block)
            c->mbarriers[i] = (struct emu_mbarrier){.coming = coming, .done = done, .asked = asked};
    }
    for (int i = 0; i < c->nwarps; i++) {
        struct emu_warp w = {.cta = c, .index = i, .actor = emu_actor(c, ACTOR_warp, i)};
        w.values = piece(block, used, c->code->values_bytes);
        w.defined = piece(block, used, nregs * sizeof *w.defined);
        w.undefined = piece(block, used, nregs * sizeof *w.undefined);
        w.seen = piece(block, used, seen_bytes);
        w.local = piece(block, used, (size_t)(LANES * c->code->local_bytes));
        w.local_undefined = piece(block, used, (size_t)(LANES * c->code->local_bytes));
        if (c->code->is_async) {
            w.released = piece(block, used, seen_bytes);
            w.loads = piece(block, used, emu_loads_bytes());
            w.carried = piece(block, used, nregs * sizeof *w.carried);
        }
        if (c->code->follows) {
            w.wrapped = piece(block, used, nregs * sizeof *w.wrapped);
            w.exact = piece(block, used, nregs * sizeof *w.exact);
        }
        if (c->code->has_wgmma) {
            w.flying = piece(block, used, nregs * sizeof *w.flying);
            w.fresh = piece(block, used, nregs * sizeof *w.fresh);
        }
        if (block)
            c->warps[i] = w;
    }
}

/* Allocates the arrays of a cluster from the block, and returns their total size. If block is NULL, only
 * returns the size. */
static size_t lay_out(struct emu_cluster *c, char *block)
{
    size_t used = 0;
    c->ctas = piece(block, &used, (size_t)c->nctas * sizeof *c->ctas);
    c->ops = piece(block, &used, emu_async_bytes(c->code));
    if (c->code->is_async) {
        c->coming = piece(block, &used, (size_t)c->nactors * sizeof *c->coming);
        c->done = piece(block, &used, (size_t)c->nactors * sizeof *c->done);
    }
    for (int i = 0; i < c->nctas; i++) {
        struct emu_cta cta = {.code = c->code,
                              .launch = c->launch,
                              .cluster = c,
                              .rank = i,
                              .nwarps = c->launch->packs ? c->launch->packs : c->code->num_threads / LANES,
                              .shared_bytes = c->code->static_shared_bytes + c->launch->shared_bytes};
        struct emu_cta *to = block ? &c->ctas[i] : &cta;
        *to = cta;
        lay_out_cta(to, block, &used);
    }
    return used;
}

/* Memory for one cluster. A worker runs one cluster after the other in this memory. */
struct resident {
    struct emu_cluster cluster;
    long long number; /* the cluster's number in the grid; -1: no cluster runs */
    char *block;
    size_t bytes;
};

static struct resident *resident_new(const struct grid *g, struct emu_tally *tallies)
{
    const struct memory *m = g->launch->mem;
    const int *cluster = g->launch->cluster;
    struct resident *r = m->alloc(m->ctx, sizeof *r);
    if (!r)
        return NULL;
    *r = (struct resident){.number = -1};
    struct emu_cluster *c = &r->cluster;
    c->code = g->code;
    c->launch = g->launch;
    c->tallies = tallies;
    c->nctas = cluster[0] * cluster[1] * cluster[2];
    c->nactors = c->nctas * emu_actors(g->code);
    r->bytes = lay_out(c, NULL) + ALIGN;
    r->block = m->alloc(m->ctx, r->bytes);
    if (!r->block) {
        m->free(m->ctx, r, sizeof *r);
        return NULL;
    }
    memset(r->block, 0, r->bytes);
    lay_out(c, r->block + (ALIGN - (uintptr_t)r->block % ALIGN) % ALIGN);
    return r;
}

static void resident_free(const struct grid *g, struct resident *r)
{
    const struct memory *m = g->launch->mem;
    m->free(m->ctx, r->block, r->bytes);
    m->free(m->ctx, r, sizeof *r);
}

/* Returns the number, in the grid, of the i-th cluster to run. If all clusters run, the result is i;
 * otherwise, the clusters that run are evenly spaced in the grid. */
static long long spread(const struct grid *g, long long i)
{
    long long step = g->total / g->sample, rest = g->total % g->sample;
    return i * step + i * rest / g->sample;
}

/* If r has no cluster, begins the grid's next cluster in r. Returns false if no cluster is left, or if the
 * cluster in r need not run because a cluster with a lower number has failed. */
static bool has_cluster(struct grid *g, struct resident *r)
{
    if (r->number < 0) {
        long long i = atomic_load(&g->failed) < 0 ? g->sample : atomic_fetch_add(&g->next, 1);
        r->number = i < g->sample ? spread(g, i) : g->total;
        if (r->number < g->total)
            begin_cluster(&r->cluster, r->number);
    }
    if (r->number < g->total && atomic_load(&g->failed) > r->number)
        return true;
    r->number = -1;
    return false;
}

/* Runs the cluster for a turn; returns false if the turn ended before the cluster did. */
static bool run_cluster(struct grid *g, struct resident *r)
{
    const struct emu_report *report = &r->cluster.report;
    if (setjmp(r->cluster.fail) != 0)
        keep_report(g, is_limit(report->error) ? -1 : r->number, report);
    else if (!run_warps(&r->cluster))
        return false;
    r->number = -1;
    return true;
}

/* Returns the number of clusters among which a worker should alternate from now on. n is the number until
 * now: 0 at the start of the worker. Later calls are made if a cluster has not ended after its turn, because
 * it may wait for a cluster that has not started. The result is 1 at the start, and then 2 n. If more than 2
 * clusters would need more than RESIDENT_BYTES_MOST bytes of memory, the result is smaller, but not less than
 * n. */
static int wanted_residents(struct resident *const *residents, int n)
{
    int most = n ? (int)(RESIDENT_BYTES_MOST / residents[0]->bytes) : 1;
    return n == 0 || 2 * n <= 2 ? n + 1 : 2 * n < most ? 2 * n : most > n ? most : n;
}

static size_t tallies_bytes(const struct grid *g)
{
    return (size_t)g->code->insns.n * sizeof(struct emu_tally);
}

/* Allocates a tally for each instruction, for one worker. Returns NULL if the launch is not counted, or if there is no
 * memory. */
static struct emu_tally *tallies_new(const struct grid *g)
{
    const struct memory *m = g->launch->mem;
    struct emu_tally *t = g->launch->tallies ? m->alloc(m->ctx, tallies_bytes(g)) : NULL;
    if (t)
        memset(t, 0, tallies_bytes(g));
    return t;
}

static void tallies_add(struct grid *g, struct emu_tally *t)
{
    const struct memory *m = g->launch->mem;
    const uint64_t *from = (const uint64_t *)t;
    uint64_t *to = (uint64_t *)g->launch->tallies;
    pthread_mutex_lock(&g->lock);
    for (size_t i = 0; i < tallies_bytes(g) / sizeof *to; i++)
        to[i] += from[i];
    pthread_mutex_unlock(&g->lock);
    m->free(m->ctx, t, tallies_bytes(g));
}

/* The main function of a worker, which runs one cluster after the other. If a cluster has not ended after its
 * turn, it may wait for another cluster, so the worker then alternates between several clusters. */
static void *work(void *ctx)
{
    struct grid *g = ctx;
    struct emu_tally *tallies = tallies_new(g);
    struct resident *residents[RESIDENT_MOST];
    int n = 0;
    bool any = tallies || !g->launch->tallies, tired = true;
    while (any) {
        int wanted = tired ? wanted_residents(residents, n) : n;
        while (n < wanted && n < RESIDENT_MOST && (residents[n] = resident_new(g, tallies)))
            n++;
        any = tired = false;
        for (int i = n - 1; i >= 0; i--)
            while (has_cluster(g, residents[i])) {
                any = true;
                if (!run_cluster(g, residents[i])) {
                    tired = true;
                    break;
                }
            }
    }
    if (n == 0)
        keep_report(g, -1, &(struct emu_report){.error = ERR_out_of_memory});
    for (int i = 0; i < n; i++)
        resident_free(g, residents[i]);
    if (tallies)
        tallies_add(g, tallies);
    return NULL;
}

static int worker_count(const struct grid *g)
{
    long n = g->launch->num_workers ? g->launch->num_workers : sysconf(_SC_NPROCESSORS_ONLN);
    if (g->launch->tallies && g->code->has_atomics)
        n = 1; /* the CTAs run in a fixed order if there is only one worker */
    n = n > WORKERS_MOST ? WORKERS_MOST : n;
    n = n > g->sample ? (long)g->sample : n;
    return n < 1 ? 1 : (int)n;
}

static bool refuse_grid(struct emu_launch *l)
{
    l->report.error = ERR_emulator_ptx;
    snprintf(l->report.what, sizeof l->report.what, "a grid of %d x %d x %d in clusters of %d x %d x %d",
             l->grid[0], l->grid[1], l->grid[2], l->cluster[0], l->cluster[1], l->cluster[2]);
    return false;
}

static int width_of_cluster(const struct emu_code *code, bool pairs)
{
    return pairs && code->cluster[0] == 1 ? 2 : code->cluster[0];
}

int emulator_cluster_ctas(const struct emu_code *code, bool pairs)
{
    return width_of_cluster(code, pairs) * code->cluster[1] * code->cluster[2];
}

bool emulator_run(const struct emu_code *code, struct emu_launch *l)
{
    pthread_t threads[WORKERS_MOST];
    struct grid g = {.code = code, .launch = l, .total = 1};
    l->report = (struct emu_report){.error = ERR_count};
    for (int d = 0; d < 3; d++) {
        l->cluster[d] = d == 0 ? width_of_cluster(code, l->pairs) : code->cluster[d];
        g.total *= l->grid[d] / l->cluster[d];
        if (l->grid[d] % l->cluster[d] != 0)
            return refuse_grid(l);
    }
    const int per_cluster = emulator_cluster_ctas(code, l->pairs);
    g.sample = (l->sample + per_cluster - 1) / per_cluster;
    if (!l->sample || g.sample > g.total)
        g.sample = g.total;
    atomic_init(&g.failed, LLONG_MAX);
    pthread_mutex_init(&g.lock, NULL);
    bool watched = l->race && g.sample > 1 && race_begin(l->race, emu_granule(code));
    l->race = watched ? l->race : NULL;
    int n = watched ? 1 : worker_count(&g), started = 0;
    /* The calling thread is a worker too, so the launch runs even if no thread can be started. */
    while (started < n - 1 && pthread_create(&threads[started], NULL, work, &g) == 0)
        started++;
    work(&g);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    if (watched)
        race_end(l->race);
    pthread_mutex_destroy(&g.lock);
    return l->report.error == ERR_count;
}
