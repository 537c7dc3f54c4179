/* order.c: what is known to be over, and to whom (PTX ISA, "Memory Consistency Model: Causality order").
 *
 *     warp 0: st.shared; arrive ──► barrier ──► warp 1: wait; ld.shared        ordered: warp 1 has seen warp 0's store
 *     warp 2:                                           ld.shared              not: warp 2 never came to the barrier
 *
 * Time is one number for a cluster. Each warp knows, of every actor, until when that one's doings are
 * over for it: `seen`. A warp that arrives somewhere leaves what it has seen, and the time; one that
 * waits there takes it over. An access at a time that the next one has not seen is a race, in whatever
 * order the emulator ran them.
 *
 * Actors are the warps and what works for them on its own: a warp has not seen the end of its own
 * copies before it waits. */
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
