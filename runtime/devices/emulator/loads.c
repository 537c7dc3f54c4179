/* SPDX-License-Identifier: MIT */
/* loads.c: finds bulk copies that overwrite shared memory before the data of a load have arrived in
 * registers.
 *
 *     ld.shared.f32 %f1, [s];
 *     bar.sync 0;                         the barrier does not wait for %f1
 *     mbarrier.arrive [empty];            another warp waits for it, and copies to s by cp.async.bulk: a race
 *     st.shared.f32 [t], %f1;             needs %f1, but comes after the arrival
 *
 * A load is asynchronous in the hardware: its warp waits for the data only where an instruction needs them. A
 * barrier or an arrival at an mbarrier orders the load before later accesses by threads, but a bulk copy is
 * not an access by a thread (an H200 shows this race). The assembler may move arithmetic across a barrier,
 * but not memory accesses. Therefore, the data of a load have certainly arrived in two cases: at a memory
 * fence or proxy fence, and at an instruction that uses the data, or a value computed from them, and that is
 * not pure arithmetic. The emulator reports a bulk copy that overwrites the bytes before the data have
 * arrived. When they have arrived, it records the load's read of the memory a second time. It does so only
 * for loads of bytes that a bulk copy has written. */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

size_t emu_loads_bytes(void)
{
    return LOADS_MOST * sizeof(struct emu_load);
}

void emu_loads_arrive(struct emu_warp *w, uint32_t loads)
{
    loads &= w->loading;
    if (!loads)
        return;
    for (uint32_t m = loads; m; m &= m - 1) {
        const struct emu_load *l = &w->loads[emu_first_lane(m)];
        for (int i = 0; i < l->nranges; i++)
            emu_shared_read_again(w, l->ranges[i].at, l->ranges[i].bytes, l->in->line);
    }
    for (int r = 0; r < w->cta->code->regs.n; r++)
        w->carried[r] &= ~loads;
    w->loading &= ~loads;
}

void emu_loads_watch(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    w->load_now = -1;
    if (!w->loading)
        return;
    const bool adds = emu_wgmma_adds(in); /* a wgmma that adds also reads the old values of its results */
    uint32_t from = in->guard >= 0 ? w->carried[in->guard] : 0;
    for (int k = adds ? 0 : in->ndefs; on && k < in->nopnds; k++)
        from |= in->opnds[k].reg >= 0 ? w->carried[in->opnds[k].reg] : 0;
    if (from && !(insn_info[in->code].traits & PURE)) {
        emu_loads_arrive(w, from);
        from = 0;
    }
    for (int k = 0; k < in->ndefs; k++)
        if (in->opnds[k].reg >= 0)
            w->carried[in->opnds[k].reg] = from | (in->guard >= 0 ? w->carried[in->opnds[k].reg] : 0);
}

/* Returns the entry of w->loads for the warp's current instruction. If the instruction has no entry yet, uses
 * a free entry. If no entry is free, uses entry 0, and the data of the load that entry 0 describes count as
 * arrived. */
static struct emu_load *current(struct emu_warp *w, const struct emu_insn *in)
{
    if (w->load_now < 0) {
        w->load_now = ~w->loading ? emu_first_lane(~w->loading) : 0;
        const uint32_t bit = UINT32_C(1) << w->load_now;
        emu_loads_arrive(w, bit);
        w->loading |= bit;
        w->loads[w->load_now].in = in;
        w->loads[w->load_now].nranges = 0;
        for (int k = 0; k < in->ndefs; k++)
            w->carried[in->opnds[k].reg] |= bit;
    }
    return &w->loads[w->load_now];
}

void emu_loads_note(struct emu_warp *w, const struct emu_insn *in, int at, int bytes)
{
    struct emu_load *l = current(w, in);
    struct emu_range *last = l->nranges ? &l->ranges[l->nranges - 1] : NULL;
    if (last && last->at + last->bytes == at)
        last->bytes += bytes;
    else if (l->nranges < RANGES_MOST)
        l->ranges[l->nranges++] = (struct emu_range){at, bytes};
}

void emu_loads_check(struct emu_warp *w, const struct emu_insn *in, int lane, const struct emu_cta *c, int at,
                     int bytes)
{
    for (int i = 0; i < c->nwarps; i++)
        for (uint32_t m = c->warps[i].loading; m; m &= m - 1) {
            const struct emu_load *l = &c->warps[i].loads[emu_first_lane(m)];
            for (int k = 0; k < l->nranges; k++)
                if (l->ranges[k].at < at + bytes && at < l->ranges[k].at + l->ranges[k].bytes)
                    emu_fail(w, in, lane, ERR_emulator_race,
                             "byte %d is written, which the load of warp %d at line %d may still read: "
                             "nothing before this copy needs its data",
                             l->ranges[k].at, i, l->in->line);
        }
}
