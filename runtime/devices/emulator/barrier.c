/* SPDX-License-Identifier: MIT */
/* barrier.c: executes waits at barriers, and reports deadlocks (PTX ISA, "Parallel Synchronization and Communication
 * Instructions: bar, barrier", "bar.warp.sync", "barrier.cluster").
 *
 * A barrier of a CTA counts the threads that arrive and wait (bar.sync) and the threads that only arrive (bar.arrive).
 * The arrival of the last thread releases all waiting threads. The accesses that the arrived threads made before their
 * arrival are then visible to the released threads. */
#include "runtime/devices/emulator/machine.h"

#include <stdio.h>
#include <string.h>

static void let_go(struct emu_warp *w, int waits, const uint32_t *seen)
{
    bool any = false;
    for (int k = 0; k < w->nwaiting; k++)
        if (w->waiting[k].waits == waits) {
            w->waiting[k].waits = WAIT_nothing;
            any = true;
        }
    if (any && seen)
        emu_see(w, seen);
}

/* -- bar.sync, bar.arrive -- */

static void come(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    struct emu_cta *c = w->cta;
    int lane = emu_first_lane(on), all = c->nwarps * LANES;
    uint64_t number = emu_lane(w, &in->opnds[0], lane),
             n = in->nopnds > 1 ? emu_lane(w, &in->opnds[1], lane) : 0;
    emu_need_defined(w, in, &in->opnds[0], 32, on, "the number of the barrier");
    if (number >= BARRIERS)
        emu_fail(w, in, lane, ERR_emulator_barrier, "there is no barrier %d", (int)number);
    int threads = in->nopnds > 1 ? (int)n : all;
    if (threads <= 0 || threads > all || threads % LANES != 0)
        emu_fail(w, in, lane, ERR_emulator_barrier, "a barrier for %d of %d threads", threads, all);
    struct emu_barrier *b = &c->barriers[number];
    if (b->expected && b->expected != threads)
        emu_fail(w, in, lane, ERR_emulator_barrier,
                 "a barrier for %d threads, at which others arrived as for %d", threads, b->expected);
    b->expected = threads;
    b->arrived += __builtin_popcount(on);
    if (b->arrived > threads)
        emu_fail(w, in, lane, ERR_emulator_barrier, "%d threads arrive at a barrier for %d", b->arrived,
                 threads);
    emu_publish(w, b->seen);
    emu_park(w, w->pc + 1, on, in->code == INSN_bar_arrive ? WAIT_nothing : (int)number);
    c->cluster->may_release |= b->arrived == threads;
}

static void open_barrier(struct emu_cta *c, int number)
{
    struct emu_barrier *b = &c->barriers[number];
    for (int i = 0; i < c->nwarps; i++)
        let_go(&c->warps[i], number, b->seen);
    b->arrived = b->expected = 0;
    memset(b->seen, 0, (size_t)c->cluster->nactors * sizeof *b->seen);
}

/* -- bar.warp.sync -- */

static uint32_t lanes_waiting(const struct emu_warp *w, int waits)
{
    uint32_t lanes = 0;
    for (int k = 0; k < w->nwaiting; k++)
        lanes |= w->waiting[k].waits == waits ? w->waiting[k].mask : 0;
    return lanes;
}

static void meet(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t mask = (uint32_t)emu_lane(w, &in->opnds[0], emu_first_lane(on));
    if (on & ~mask)
        emu_fail(w, in, emu_first_lane(on & ~mask), ERR_emulator_warp, "lane %d is not in the mask 0x%08x",
                 emu_first_lane(on & ~mask), mask);
    emu_park(w, w->pc + 1, on, WAIT_lanes);
    if (!(mask & ~w->exited & ~lanes_waiting(w, WAIT_lanes)))
        let_go(w, WAIT_lanes, NULL);
}

/* -- barrier.cluster -- */

/* Executes barrier.cluster.arrive. An arrival publishes the warp's accesses (order.c): they become ordered
 * before the accesses of warps that wait. A relaxed arrival publishes only the accesses before the warp's
 * last fence. */
static void come_to_cluster(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    struct emu_cluster *c = w->cta->cluster;
    uint32_t again = (w->cluster_arrived | w->cluster_passed) & on;
    if (again)
        emu_fail(w, in, emu_first_lane(again), ERR_emulator_barrier, "a second arrival without a wait");
    w->cluster_arrived |= on;
    if (emu_has_mod(in, MOD_relaxed))
        emu_join(c, c->coming, w->released);
    else
        emu_publish(w, c->coming);
    c->may_release = true;
    emu_park(w, w->pc + 1, on, WAIT_nothing);
}

static void open_cluster(struct emu_cluster *c)
{
    uint32_t *coming = c->coming;
    for (int i = 0; i < c->nctas * c->ctas->nwarps; i++) {
        const struct emu_warp *w = &c->ctas[i / c->ctas->nwarps].warps[i % c->ctas->nwarps];
        if ((w->cluster_arrived | w->exited) != ALL_LANES)
            return;
    }
    for (int i = 0; i < c->nctas * c->ctas->nwarps; i++) {
        struct emu_warp *w = &c->ctas[i / c->ctas->nwarps].warps[i % c->ctas->nwarps];
        w->cluster_passed |= w->cluster_arrived & ~lanes_waiting(w, WAIT_cluster);
        w->cluster_arrived = 0;
        let_go(w, WAIT_cluster, coming);
    }
    c->coming = c->done;
    c->done = coming;
    memset(c->coming, 0, (size_t)c->nactors * sizeof *c->coming);
}

/* Executes barrier.cluster.wait. A lane continues at once if the phase in which it arrived is already
 * complete. */
static void wait_for_cluster(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t waits = on & w->cluster_arrived, absent = on & ~waits & ~w->cluster_passed;
    if (absent)
        emu_fail(w, in, emu_first_lane(absent), ERR_emulator_barrier, "a wait without an arrival");
    w->cluster_passed &= ~on;
    if (on & ~waits) {
        emu_see(w, w->cta->cluster->done);
        emu_park(w, w->pc + 1, on & ~waits, WAIT_nothing);
    }
    if (waits)
        emu_park(w, w->pc + 1, waits, WAIT_cluster);
}

/* -- waiting for the phase of an mbarrier, and for the warps of a warpgroup -- */

static void tally_wait(struct emu_warp *w, uint32_t ready)
{
    struct emu_tally *t = &w->cta->cluster->tallies[w->pc];
    t->executed += ready != 0;
    t->lanes += (uint64_t)__builtin_popcount(ready);
}

/* Executes mbarrier.try_wait. On hardware, the instruction waits for the phase, and returns false after a
 * time limit. In the emulator, if the phase is not complete, the instruction waits with probability 1/2, and
 * returns false at once with probability 1/2. While costs are counted (counts.c), the instruction never
 * returns false, so that counts do not depend on the length of a wait. */
static void wait_for_phase(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    bool counts = w->cta->cluster->tallies;
    uint32_t over = emu_mbarrier_ready(w, in, on),
             ready = !counts && emu_random(w->cta->cluster, 2) ? on : over;
    if (counts)
        tally_wait(w, ready);
    for (uint32_t m = ready; m; m &= m - 1)
        emu_set_lane(w, &in->opnds[0], emu_first_lane(m), over >> emu_first_lane(m) & 1, 0);
    if (ready)
        emu_park(w, w->pc + 1, ready, WAIT_nothing);
    if (on & ~ready)
        emu_park(w, w->pc, on & ~ready, WAIT_mbarrier);
}

enum { WARPGROUP = 4 };

/* Releases the warps of a warpgroup that wait for a group of wgmmas, when all four warps have committed the
 * group. When the wait of warp w ends, w sees the accesses that each of the four warps made before its commit
 * of the group. Kernels rely on this order if a single thread arrives at an mbarrier on behalf of the
 * warpgroup. w sees neither the accesses that another warp made after its own commit, nor asynchronous copies
 * for which only another warp has waited. */
static void open_warpgroup(struct emu_cta *c, int first)
{
    for (int i = first; i < first + WARPGROUP; i++) {
        struct emu_warp *w = &c->warps[i];
        int awaited = w->mma_awaited;
        bool is_done = lanes_waiting(w, WAIT_warpgroup) == ALL_LANES;
        for (int k = first; k < first + WARPGROUP; k++)
            is_done &= c->warps[k].mma_groups >= awaited;
        if (!is_done)
            continue;
        for (int k = first; awaited && k < first + WARPGROUP; k++)
            emu_see_until(w, c->warps[k].actor, c->warps[k].mma_times[(awaited - 1) % GROUPS_KNOWN]);
        let_go(w, WAIT_warpgroup, NULL);
    }
}

void emu_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    switch (in->code) {
    case INSN_bar_warp: meet(w, in, on); break;
    case INSN_cluster_arrive: come_to_cluster(w, in, on); break;
    case INSN_cluster_wait: wait_for_cluster(w, in, on); break;
    case INSN_mbarrier_try_wait: wait_for_phase(w, in, on); break;
    case INSN_wgmma_wait:
        emu_wgmma_wait(w, in, on);
        w->cta->cluster->may_release = true;
        emu_park(w, w->pc + 1, on, WAIT_warpgroup);
        break;
    case INSN_setmaxnreg_inc:
    case INSN_setmaxnreg_dec:
        if (emu_set_registers(w, in, on))
            emu_park(w, w->pc + 1, on, WAIT_nothing);
        else
            emu_park(w, w->pc, on, WAIT_registers);
        break;
    default: come(w, in, on);
    }
}

/* -- release -- */

/* Releases lanes that wait at bar.warp.sync if all other lanes of the warp have exited. */
static void let_go_last_lanes(struct emu_warp *w)
{
    uint32_t waiting = lanes_waiting(w, WAIT_lanes);
    if (waiting && (waiting | w->exited) == ALL_LANES)
        let_go(w, WAIT_lanes, NULL);
}

bool emu_release(struct emu_cluster *c)
{
    bool any = false, has_news = c->may_release;
    c->may_release = false;
    if (c->coming)
        open_cluster(c);
    for (int i = 0; i < c->nctas; i++) {
        struct emu_cta *cta = &c->ctas[i];
        for (int k = 0; k < BARRIERS; k++)
            if (cta->barriers[k].expected && cta->barriers[k].arrived == cta->barriers[k].expected)
                open_barrier(cta, k);
        for (int k = 0; c->code->has_wgmma && k + WARPGROUP <= cta->nwarps; k += WARPGROUP)
            open_warpgroup(cta, k);
        for (int k = 0; k < cta->nwarps; k++) {
            if (has_news) { /* the warps then check again whether their mbarriers and registers are ready */
                let_go(&cta->warps[k], WAIT_mbarrier, NULL);
                let_go(&cta->warps[k], WAIT_registers, NULL);
            }
            let_go_last_lanes(&cta->warps[k]);
            for (int g = 0; g < cta->warps[k].nwaiting; g++)
                any |= cta->warps[k].waiting[g].waits == WAIT_nothing;
        }
    }
    return any;
}

/* -- deadlocks -- */

static int threads_ended(const struct emu_cta *c)
{
    int n = 0;
    for (int i = 0; i < c->nwarps; i++)
        n += __builtin_popcount(c->warps[i].exited);
    return n;
}

static void say_wait(struct emu_warp *w, const struct emu_group *g, char *text, size_t bytes)
{
    const struct emu_cta *c = w->cta;
    switch (g->waits) {
    case WAIT_lanes: snprintf(text, bytes, "lanes wait for others of their warp"); break;
    case WAIT_warpgroup: snprintf(text, bytes, "a warp waits for the others of its warpgroup"); break;
    case WAIT_cluster: snprintf(text, bytes, "threads wait for others of their cluster"); break;
    case WAIT_mbarrier: emu_mbarrier_say(w, g, text, bytes); break;
    case WAIT_registers:
        snprintf(text, bytes, "more registers than the %d for each thread that other warps have released",
                 c->spare_registers);
        break;
    default:
        snprintf(text, bytes, "%d of %d threads wait at barrier %d, %d have ended",
                 c->barriers[g->waits].arrived, c->barriers[g->waits].expected, g->waits, threads_ended(c));
    }
}

/* Reports a deadlock, and names one of the waits. Prefers a wait for other warps or for copies. Waits for
 * lanes of the same warp, or for warps of the same warpgroup, are usually only consequences of such a
 * wait. */
void emu_deadlock(struct emu_cluster *c)
{
    static const struct emu_group nobody = {.pc = 1, .waits = WAIT_lanes};
    struct emu_warp *first = c->ctas->warps;
    const struct emu_group *g = &nobody;
    char what[160];
    for (int i = 0; i < c->nctas * c->ctas->nwarps; i++) {
        struct emu_warp *w = &c->ctas[i / c->ctas->nwarps].warps[i % c->ctas->nwarps];
        for (int k = 0; k < w->nwaiting; k++) {
            if (w->waiting[k].waits == WAIT_mbarrier)
                emu_mbarrier_say(w, &w->waiting[k], what, sizeof what);
            bool tells_more = w->waiting[k].waits != WAIT_lanes && w->waiting[k].waits != WAIT_warpgroup;
            if (g == &nobody || ((g->waits == WAIT_lanes || g->waits == WAIT_warpgroup) && tells_more)) {
                first = w;
                g = &w->waiting[k];
            }
        }
    }
    say_wait(first, g, what, sizeof what);
    emu_fail(first, &c->code->insns.at[g->waits >= WAIT_mbarrier ? g->pc : g->pc - 1],
             emu_first_lane(g->mask), ERR_emulator_barrier, "%s", what);
}
