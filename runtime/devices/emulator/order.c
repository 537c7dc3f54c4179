/* SPDX-License-Identifier: MIT */
/* order.c: tracks the happens-before order of accesses with vector clocks (PTX ISA, "Memory Consistency
 * Model: Causality order").
 *
 *     warp 0: st.shared; arrive ──► barrier ──► warp 1: wait; ld.shared        ordered: sees warp 0's store
 *     warp 2:                                           ld.shared              not ordered: warp 2 did not wait
 *
 * A cluster has one logical clock, whose time increases at events such as arrivals. Each warp has a vector
 * clock, `seen`, that contains, for every actor, the time up to which the actor's accesses are ordered before
 * the warp's next access. A warp that arrives at a barrier publishes its vector clock and the current time:
 * it merges them into the barrier's vector clock. A warp that waits at the barrier merges the barrier's
 * vector clock into its own. Two conflicting accesses race if neither is ordered before the other. The order
 * in which the emulator happens to execute them does not matter.
 *
 * An actor is a source of accesses: a warp, the cp.asyncs of a warp, the bulk stores of a warp, the wgmmas of
 * a warpgroup, or the bulk loads that an mbarrier counts. A warp's copies and wgmmas are separate actors,
 * because their accesses are ordered before the warp's next access only after the warp has waited for
 * them. */
#include "runtime/devices/emulator/machine.h"

enum { WARPGROUPS_MOST = WARPS_MOST / 4 };

int emu_actors(const struct emu_code *code)
{
    int nwarps = code->num_threads / LANES;
    return code->is_async ? nwarps * ACTOR_warpgroup + WARPGROUPS_MOST + MBARRIERS_MOST : nwarps;
}

int emu_actor(const struct emu_cta *c, enum emu_actor kind, int index)
{
    int first = (kind <= ACTOR_warpgroup ? (int)kind : (int)ACTOR_warpgroup) * c->nwarps;
    return c->rank * emu_actors(c->code) + first + (kind == ACTOR_mbarrier ? WARPGROUPS_MOST : 0) + index;
}

void emu_join(const struct emu_cluster *c, uint32_t *seen, const uint32_t *other)
{
    for (int i = 0; i < c->nactors; i++)
        seen[i] = other[i] > seen[i] ? other[i] : seen[i];
}

void emu_publish(struct emu_warp *w, uint32_t *seen)
{
    struct emu_cluster *c = w->cta->cluster;
    emu_join(c, seen, w->seen);
    seen[w->actor] = c->time++;
}

void emu_see(struct emu_warp *w, const uint32_t *seen)
{
    emu_join(w->cta->cluster, w->seen, seen);
}

void emu_see_until(struct emu_warp *w, int actor, uint32_t time)
{
    if (time > w->seen[actor])
        w->seen[actor] = time;
}
