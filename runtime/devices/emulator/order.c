/* order.c: which accesses are ordered before which (PTX ISA, "Memory Consistency Model: Causality order").
 *
 *     warp 0: st.shared; arrive ──► barrier ──► warp 1: wait; ld.shared        ordered: warp 0's store is visible
 *     warp 2:                                           ld.shared              not ordered: warp 2 was not at the barrier
 *
 * Time is one counter for a cluster. Each warp has a vector clock, `seen`: for every actor the time up to
 * which its accesses are ordered before the warp's next access. A warp that arrives at a barrier publishes
 * its vector and the time; a warp that waits there merges them into its own. Two accesses of which neither is
 * ordered before the other are a race, whatever the emulator's order was.
 *
 * Actors are the warps and their asynchronous units: a warp's own copies are ordered before it only after it
 * has waited for them. */
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
