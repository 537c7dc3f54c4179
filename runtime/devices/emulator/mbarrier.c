/* SPDX-License-Identifier: MIT */
/* mbarrier.c: executes mbarriers and fences (PTX ISA, "Parallel Synchronization and Communication Instructions:
 * mbarrier", "membar, fence").
 *
 *     an mbarrier with count 2          pending arrivals     pending bytes
 *     phase 0 begins                           2                   0
 *     mbarrier.arrive                          1                   0
 *     mbarrier.arrive.expect_tx 64             0                  64
 *     a copy of 64 bytes completes             0                   0      phase 0 is complete
 *     phase 1 begins                           2                   0
 *
 * A phase has the parity of its number. A wait for parity q ends when the parity of the current phase is not
 * q, because the last phase with parity q is then complete. The waiting warp then sees all accesses that the
 * arriving warps had made or seen, and the copies whose bytes the mbarrier has counted. Whenever a phase
 * completes, the emulator checks all blocked waits again. */
#include "runtime/devices/emulator/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MBARRIER_BYTES = 8, COUNT_MOST = (1 << 20) - 1 };

/* -- objects -- */

static struct emu_mbarrier *find(struct emu_cta *c, int at)
{
    for (int i = 0; i < c->nmbarriers; i++)
        if (c->mbarriers[i].at == at)
            return &c->mbarriers[i];
    return NULL;
}

static uint64_t address_of(struct emu_warp *w, const struct emu_insn *in, int lane)
{
    const struct emu_opnd *o = &in->opnds[in->address];
    emu_need_defined(w, in, o, class_info[o->cls].bits, UINT32_C(1) << lane, "the address");
    uint64_t address = emu_lane(w, o, lane) + (uint64_t)o->offset;
    return o->cls == CLASS_b32 ? (uint32_t)address : address;
}

static bool has_ended(const struct emu_cta *c)
{
    for (int i = 0; i < c->nwarps; i++)
        if (c->warps[i].exited != ALL_LANES)
            return false;
    return true;
}

struct emu_mbarrier *emu_mbarrier_at(struct emu_warp *w, const struct emu_insn *in, int lane,
                                     uint64_t address, bool remote, struct emu_cta **cta)
{
    int at = emu_shared_range(w, in, lane, address, MBARRIER_BYTES, MBARRIER_BYTES, cta);
    struct emu_mbarrier *m = find(*cta, at);
    if (!m || !m->live)
        emu_fail(w, in, lane, ERR_emulator_barrier, "no mbarrier was initialized at byte %d of shared memory",
                 at);
    if (*cta != w->cta && has_ended(*cta))
        emu_fail(w, in, lane, ERR_emulator_barrier, "the CTA of rank %d has ended", (*cta)->rank);
    emu_shared_need_seen(w, in, lane, *cta, at);
    if ((remote || *cta != w->cta) && !m->fenced)
        emu_fail(w, in, lane, ERR_emulator_race,
                 "the mbarrier at byte %d was initialized without a following fence.mbarrier_init", at);
    return m;
}

void emu_run_mbarrier_init(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    struct emu_cta *c = w->cta;
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        unsigned char *p = emu_shared_at(w, in, lane, address_of(w, in, lane), MBARRIER_BYTES);
        int at = (int)(p - c->shared);
        uint64_t count = emu_lane(w, &in->opnds[1], lane);
        struct emu_mbarrier *m = find(c, at);
        if (m && m->live)
            emu_fail(w, in, lane, ERR_emulator_barrier, "the mbarrier at byte %d is initialized again", at);
        if (count < 1 || count > COUNT_MOST)
            emu_fail(w, in, lane, ERR_emulator_barrier, "an mbarrier for %" PRIu64 " arrivals", count);
        if (!m && c->nmbarriers == MBARRIERS_MOST)
            emu_fail(w, in, lane, ERR_emulator_barrier, "more than %d mbarriers", MBARRIERS_MOST);
        emu_shared_write(w, in, lane, p, MBARRIER_BYTES, ~count, 0);
        m = m ? m : &c->mbarriers[c->nmbarriers++];
        *m = (struct emu_mbarrier){.at = at,
                                   .live = true,
                                   .count = (int)count,
                                   .pending = (int)count,
                                   .coming = m->coming,
                                   .done = m->done,
                                   .asked = m->asked,
                                   .maker = w};
        memset(m->asked, 0, (size_t)c->nwarps * sizeof *m->asked);
        memset(m->coming, 0, (size_t)c->cluster->nactors * sizeof *m->coming);
        memset(m->done, 0, (size_t)c->cluster->nactors * sizeof *m->done);
    }
}

/* -- phases -- */

/* Called when a phase completes. Checks that each warp that has waited for the previous phase did so before
 * an arrival of this phase (in the order of order.c). Without this order, the wait could also begin after
 * this phase has completed. The parity would then have its old value again, so the wait would not end. */
static void check_asked(struct emu_cta *c, const struct emu_mbarrier *m)
{
    for (int i = 0; i < c->nwarps; i++) {
        const struct emu_ask *a = &m->asked[i];
        if (a->in && a->phase == m->phase - 1 && a->time > m->coming[c->warps[i].actor])
            emu_fail(&c->warps[i], a->in, 0, ERR_emulator_barrier,
                     "the wait for a phase of the mbarrier at byte %d may come too late: the next phase "
                     "ends without "
                     "knowing that warp %d has checked",
                     m->at, i);
    }
}

static void settle(struct emu_cta *c, struct emu_mbarrier *m)
{
    if (m->pending || m->bytes)
        return;
    check_asked(c, m);
    uint32_t *coming = m->coming;
    int actor = emu_actor(c, ACTOR_mbarrier, (int)(m - c->mbarriers));
    if (m->landed > coming[actor])
        coming[actor] = m->landed;
    m->coming = m->done;
    m->done = coming;
    memset(m->coming, 0, (size_t)c->cluster->nactors * sizeof *m->coming);
    m->phase++;
    m->pending = m->count;
    m->expects = NULL;
    c->cluster->may_release = true;
}

static struct emu_cta *cta_of(struct emu_cluster *c, const struct emu_mbarrier *m)
{
    int i = 0;
    while (m < c->ctas[i].mbarriers || m >= c->ctas[i].mbarriers + MBARRIERS_MOST)
        i++;
    return &c->ctas[i];
}

void emu_mbarrier_land(const struct emu_op *copy)
{
    struct emu_mbarrier *m = copy->bulk.mbarrier;
    m->bytes -= copy->bulk.bytes;
    m->landed = copy->time > m->landed ? copy->time : m->landed;
    m->copy = (struct emu_event){m->landed, copy->w, copy->in};
    settle(copy->bulk.cta, m);
}

static void take_arrivals(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m,
                          int n)
{
    if (n < 1 || n > m->pending)
        emu_fail(w, in, lane, ERR_emulator_barrier, "%d arrivals at an mbarrier that waits for %d", n,
                 m->pending);
    m->pending -= n;
}

static void arrive(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m, int n)
{
    struct emu_cta *c = cta_of(w->cta->cluster, m);
    take_arrivals(w, in, lane, m, n);
    emu_publish(w, m->coming);
    if (c != w->cta)
        c->arrivals[w->actor] = (struct emu_event){m->coming[w->actor], w, in};
    settle(c, m);
}

void emu_mbarrier_arrive_for(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m,
                             int n, int actor, uint32_t time)
{
    take_arrivals(w, in, lane, m, n);
    m->coming[actor] = time > m->coming[actor] ? time : m->coming[actor];
    settle(cta_of(w->cta->cluster, m), m);
}

struct emu_mbarrier *emu_mbarrier_of(struct emu_warp *w, const struct emu_insn *in, int lane)
{
    struct emu_cta *c;
    return emu_mbarrier_at(w, in, lane, address_of(w, in, lane), false, &c);
}

static void expect(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_mbarrier *m,
                   uint64_t bytes)
{
    if (bytes > COUNT_MOST)
        emu_fail(w, in, lane, ERR_emulator_barrier, "an mbarrier counts %d bytes at most", COUNT_MOST);
    m->bytes += (int64_t)bytes;
    m->expects = in;
    m->expecter = w;
}

void emu_run_mbarrier_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        struct emu_mbarrier *m = emu_mbarrier_of(w, in, lane);
        uint64_t n = in->nopnds > 1 ? emu_lane(w, &in->opnds[1], lane) : 1;
        if (in->nopnds > 1)
            emu_need_defined(w, in, &in->opnds[1], 32, UINT32_C(1) << lane, "the count");
        if (in->code != INSN_mbarrier_arrive)
            expect(w, in, lane, m, n);
        arrive(w, in, lane, m, in->code == INSN_mbarrier_arrive ? (int)n : 1);
    }
}

/* -- waits -- */

uint32_t emu_mbarrier_ready(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_opnd *parity = &in->opnds[2];
    uint32_t ready = 0;
    emu_need_defined(w, in, parity, 32, on, "the parity");
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        struct emu_mbarrier *m = emu_mbarrier_of(w, in, lane);
        uint64_t q = emu_lane(w, parity, lane);
        if (q > 1)
            emu_fail(w, in, lane, ERR_emulator_barrier, "the parity of a phase is 0 or 1, not %" PRIu64, q);
        if ((m->phase & 1) == q)
            continue;
        emu_see(w, m->done);
        if (in->code !=
            INSN_mbarrier_test_wait) /* test_wait does not block, so it is not recorded as a wait */
            m->asked[w->index] = (struct emu_ask){m->phase - 1, w->cta->cluster->time, in};
        ready |= UINT32_C(1) << lane;
    }
    return ready;
}

void emu_run_mbarrier_test(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t ready = emu_mbarrier_ready(w, in, on);
    for (; on; on &= on - 1)
        emu_set_lane(w, &in->opnds[0], emu_first_lane(on), ready >> emu_first_lane(on) & 1, 0);
}

void emu_mbarrier_say(struct emu_warp *w, const struct emu_group *g, char *text, size_t bytes)
{
    const struct emu_insn *in = &w->cta->code->insns.at[g->pc];
    int lane = emu_first_lane(g->mask);
    const struct emu_mbarrier *m = emu_mbarrier_of(w, in, lane);
    if (!m->pending && m->bytes && m->expects)
        emu_fail(m->expecter, m->expects, 0, ERR_emulator_barrier,
                 m->bytes > 0 ? "of the bytes that the mbarrier at byte %d waits for %" PRId64 " never come"
                              : "the mbarrier at byte %d gets %" PRId64 " bytes more than it waits for",
                 m->at, m->bytes > 0 ? m->bytes : -m->bytes);
    snprintf(text, bytes,
             "the wait for parity %d of the mbarrier at byte %d never ends: %d of %d arrivals are missing",
             (int)emu_lane(w, &in->opnds[2], lane), m->at, m->pending, m->count);
}

/* -- fences -- */

/* Executes fences. A proxy fence takes effect when every lane that has written shared memory has executed a proxy
 * fence. As soon as one lane executes a proxy fence or fence.mbarrier_init, the mbarriers that the warp has
 * initialized are visible to copies and other CTAs. A proxy fence has no release semantics: on an H200, a
 * warp made remote arrivals, then a proxy fence, then a relaxed arrival at the cluster's barrier, and another
 * CTA saw the relaxed arrival before the remote arrivals. */
void emu_run_fence(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    struct emu_cta *c = w->cta;
    if (in->code == INSN_fence) {
        emu_acquire(w);
        emu_release_accesses(w);
    }
    if (w->loads && in->code != INSN_fence_init)
        emu_loads_arrive(w, w->loading);
    if (in->code == INSN_fence_async) {
        w->unfenced &= ~on;
        if (!w->unfenced && c->code->is_async)
            emu_see_until(w, emu_actor(c, ACTOR_fenced, w->index), c->cluster->time++);
    }
    if (in->code == INSN_fence_async || in->code == INSN_fence_init)
        for (int i = 0; i < c->nmbarriers; i++)
            c->mbarriers[i].fenced |= c->mbarriers[i].maker == w;
    if (w->released && in->code != INSN_fence_async)
        emu_publish(w, w->released);
}
