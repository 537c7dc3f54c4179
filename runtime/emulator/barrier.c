/* barrier.c: what warps wait for, and what is said where nobody can go on (PTX ISA, "Parallel Synchronization and Communication
 * Instructions: bar, barrier", "bar.warp.sync").
 *
 * A barrier of a CTA counts threads: those that wait (bar.sync) and those that only come by (bar.arrive). The last one lets all go
 * on, and those that waited have seen what everybody did before. */
#include "runtime/emulator/machine.h"

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
                 "a barrier for %d threads, to which others came as one for %d", threads, b->expected);
    b->expected = threads;
    b->arrived += __builtin_popcount(on);
    if (b->arrived > threads)
        emu_fail(w, in, lane, ERR_emulator_barrier, "%d threads come to a barrier for %d", b->arrived,
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
        emu_fail(w, in, emu_first_lane(on & ~mask), ERR_emulator_warp,
                 "lane %d is not named by the mask 0x%08x", emu_first_lane(on & ~mask), mask);
    emu_park(w, w->pc + 1, on, WAIT_lanes);
    if (!(mask & ~w->exited & ~lanes_waiting(w, WAIT_lanes)))
        let_go(w, WAIT_lanes, NULL);
}

void emu_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    switch (in->code) {
    case INSN_bar_warp: meet(w, in, on); break;
    default: come(w, in, on);
    }
}

/* -- letting go -- */

/* Lanes may have ended since others began to wait for them. */
static void let_go_last_lanes(struct emu_warp *w)
{
    uint32_t waiting = lanes_waiting(w, WAIT_lanes);
    if (waiting && (waiting | w->exited) == ALL_LANES)
        let_go(w, WAIT_lanes, NULL);
}

bool emu_release(struct emu_cluster *c)
{
    bool any = false;
    c->may_release = false;
    for (int i = 0; i < c->nctas; i++) {
        struct emu_cta *cta = &c->ctas[i];
        for (int k = 0; k < BARRIERS; k++)
            if (cta->barriers[k].expected && cta->barriers[k].arrived == cta->barriers[k].expected)
                open_barrier(cta, k);
        for (int k = 0; k < cta->nwarps; k++) {
            let_go_last_lanes(&cta->warps[k]);
            for (int g = 0; g < cta->warps[k].nwaiting; g++)
                any |= cta->warps[k].waiting[g].waits == WAIT_nothing;
        }
    }
    return any;
}

/* -- nobody can go on -- */

static int threads_ended(const struct emu_cta *c)
{
    int n = 0;
    for (int i = 0; i < c->nwarps; i++)
        n += __builtin_popcount(c->warps[i].exited);
    return n;
}

static void say_wait(const struct emu_warp *w, const struct emu_group *g, char *text, size_t bytes)
{
    const struct emu_cta *c = w->cta;
    if (g->waits < BARRIERS)
        snprintf(text, bytes, "%d of %d threads wait at barrier %d, %d have ended",
                 c->barriers[g->waits].arrived, c->barriers[g->waits].expected, g->waits, threads_ended(c));
    else
        snprintf(text, bytes, "lanes wait for others of their warp");
}

void emu_deadlock(struct emu_cluster *c)
{
    int i = 0;
    while (!c->ctas[i / c->ctas->nwarps].warps[i % c->ctas->nwarps].nwaiting)
        i++;
    struct emu_warp *w = &c->ctas[i / c->ctas->nwarps].warps[i % c->ctas->nwarps];
    const struct emu_group *g = &w->waiting[0];
    char what[120];
    say_wait(w, g, what, sizeof what);
    emu_fail(w, &c->code->insns.at[g->pc - 1], emu_first_lane(g->mask), ERR_emulator_barrier, "%s", what);
}
