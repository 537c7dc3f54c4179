/* SPDX-License-Identifier: MIT */
/* async.c: executes cp.async, and keeps the list of pending asynchronous operations (PTX ISA, "Data Movement
 * and Conversion Instructions: Asynchronous copy").
 *
 *     cp.async [s], [g], 16;      from here on, any access to the bytes at s is a race
 *     cp.async.commit_group;
 *     cp.async.wait_group 0;      from here on, this warp sees the bytes, and after a barrier other warps do
 *     cp.async.mbarrier.arrive.noinc [b];      each lane arrives at b after the warp's earlier copies
 *
 * The emulator performs asynchronous operations in a pseudorandom order, which depends on the launch's seed.
 * An operation is performed at a random time after its issue, but at the latest when the warp that issued it
 * waits for it, or when no warp can continue. A copy reads its source when it is performed, not when its
 * instruction is issued. */
#include "runtime/devices/emulator/machine.h"

#include <inttypes.h>
#include <string.h>

enum { OPS_MOST = 256 };

size_t emu_async_bytes(const struct emu_code *code)
{
    return code->is_async ? OPS_MOST * sizeof(struct emu_op) : 0;
}

uint32_t emu_random(struct emu_cluster *c, uint32_t below)
{
    c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((c->random >> 33) % below);
}

/* -- pending work -- */

void emu_finish_op(struct emu_cluster *c, int number)
{
    struct emu_op op = c->ops[number];
    c->ops[number] = c->ops[--c->nops];
    op.finish(&op);
}

bool emu_async_step(struct emu_cluster *c)
{
    if (!c->nops)
        return false;
    emu_finish_op(c, (int)emu_random(c, (uint32_t)c->nops));
    return true;
}

struct emu_op *emu_begin_op(struct emu_warp *w, const struct emu_insn *in, int lane)
{
    struct emu_cluster *c = w->cta->cluster;
    if (c->nops == OPS_MOST)
        emu_async_step(c);
    struct emu_op *op = &c->ops[c->nops++];
    op->w = w;
    op->in = in;
    op->lane = lane;
    op->time = c->time;
    op->number = c->issued++;
    op->ncopies = 0;
    return op;
}

/* -- cp.async and its groups -- */

bool emu_decode_cp_async(struct emu_insn *in)
{
    int hint = emu_has_mod(in, MOD_l2_hint), bytes = in->opnds[2].reg < 0 ? (int)in->opnds[2].offset : 0;
    bool cg = emu_has_mod(in, MOD_cg);
    in->run = emu_run_cp_async;
    return in->has_address && in->address == 0 && in->nopnds >= 3 + hint && in->nopnds <= 4 + hint &&
           (bytes == 16 || ((bytes == 4 || bytes == 8) && !cg)) && (cg || emu_has_mod(in, MOD_ca)) &&
           emu_has_mod(in, MOD_shared) && emu_has_mod(in, MOD_global);
}

static void copy(struct emu_op *op)
{
    for (int i = 0; i < op->ncopies; i++) {
        struct emu_copy *x = &op->copies[i];
        if (x->taken) /* if no byte is read, x->from may be invalid */
            memcpy(x->to, x->from, x->taken);
        memset(x->to + x->taken, 0, (size_t)(x->bytes - x->taken));
    }
}

/* Sets taken[lane] to the number of bytes that the copy of each lane reads. The rest of the bytes that the
 * copy writes are zeros. */
static void sizes(struct emu_warp *w, const struct emu_insn *in, uint32_t on, uint8_t *taken)
{
    int bytes = (int)in->opnds[2].offset;
    bool has_size = in->nopnds > 3 + emu_has_mod(in, MOD_l2_hint);
    memset(taken, bytes, LANES);
    if (!has_size)
        return;
    emu_need_defined(w, in, &in->opnds[3], 32, on, "the size");
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        uint32_t size = (uint32_t)emu_lane(w, &in->opnds[3], lane);
        if (size > (uint32_t)bytes)
            emu_fail(w, in, lane, ERR_out_of_bounds, "%" PRIu32 " of %d bytes are to be copied", size, bytes);
        taken[lane] = (uint8_t)size;
    }
}

/* Checks the source addresses. A copy reads only `taken` bytes, but its source address must be a multiple of
 * the full size of the copy. */
static void check_sources(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *from,
                          const uint8_t *taken)
{
    const struct emu_launch *l = w->cta->launch;
    int bytes = (int)in->opnds[2].offset;
    uint32_t whole = 0;
    for (uint32_t m = on; m; m &= m - 1) {
        int lane = emu_first_lane(m);
        bool is_part = taken[lane] < bytes && from[lane] % (uint64_t)bytes == 0 &&
                       (!taken[lane] || cpu_is_inside(cpu_buffer_at(l->buffers, l->nbuffers, from[lane]),
                                                      from[lane], taken[lane]));
        whole |= is_part ? 0 : m & -m;
        if (is_part && taken[lane] && w->cta->cluster->tallies)
            emu_count_row(w, in, from[lane], taken[lane]);
    }
    if (whole)
        emu_check_global(w, in, whole, from, bytes);
    for (; on && w->cta->launch->race; on &= on - 1)
        if (taken[emu_first_lane(on)])
            emu_global_read(w, in, emu_first_lane(on), from[emu_first_lane(on)], taken[emu_first_lane(on)]);
}

void emu_run_cp_async(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint64_t from[LANES], to[LANES];
    uint8_t taken[LANES];
    int bytes = (int)in->opnds[2].offset, actor = emu_actor(w->cta, ACTOR_copies, w->index);
    emu_addresses(w, in, &in->opnds[0], on, to);
    emu_addresses(w, in, &in->opnds[1], on, from);
    sizes(w, in, on, taken);
    check_sources(w, in, on, from, taken);
    struct emu_op *op = emu_begin_op(w, in, emu_first_lane(on));
    op->finish = copy;
    w->unfenced |= on;
    op->group = w->copy_groups;
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        unsigned char *p = emu_shared_at(w, in, lane, to[lane], bytes);
        emu_shared_claim(w, in, lane, w->cta, (int)(p - w->cta->shared), bytes, actor);
        const unsigned char *bad = taken[lane] ? emu_global_undefined(w, from[lane], taken[lane]) : NULL;
        for (int i = 0; bad && i < taken[lane]; i++)
            w->cta->shadow[p - w->cta->shared + i].undefined = bad[i];
        op->copies[op->ncopies++] =
            (struct emu_copy){p, (const unsigned char *)(uintptr_t)from[lane], (uint8_t)bytes, taken[lane]};
    }
}

/* Ends the launch with an error unless all lanes that have not exited execute the instruction. PTX does not
 * require this, but the emulator counts groups of copies per warp, not per lane. */
static void need_all(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint32_t missing = ~on & ~w->exited;
    if (missing)
        emu_fail(w, in, emu_first_lane(missing), ERR_emulator_warp,
                 "lane %d does not execute it, and the emulator counts groups of copies for a whole warp",
                 emu_first_lane(missing));
}

void emu_run_cp_commit(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    need_all(w, in, on);
    w->copy_times[w->copy_groups++ % GROUPS_KNOWN] = w->cta->cluster->time++;
}

/* Executes cp.async.wait_group: completes all groups of the warp's copies except the last `running`
 * groups. */
void emu_run_cp_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    struct emu_cluster *c = w->cta->cluster;
    need_all(w, in, on);
    int running = (int)in->opnds[0].offset, done = w->copy_groups - running;
    for (int i = c->nops - 1; i >= 0; i--)
        if (c->ops[i].finish == copy && c->ops[i].w == w && c->ops[i].group < done)
            emu_finish_op(c, i);
    if (done > 0 && running < GROUPS_KNOWN)
        emu_see_until(w, emu_actor(w->cta, ACTOR_copies, w->index), w->copy_times[(done - 1) % GROUPS_KNOWN]);
}

/* -- arrivals at an mbarrier when copies are complete -- */

/* Completes all earlier cp.async copies of the warp, and then performs the arrivals of the lanes. */
static void arrive(struct emu_op *op)
{
    struct emu_cluster *c = op->w->cta->cluster;
    for (int i = c->nops - 1; i >= 0; i--)
        if (c->ops[i].finish == copy && c->ops[i].w == op->w && c->ops[i].number < op->number)
            emu_finish_op(c, i);
    emu_mbarrier_arrive_for(op->w, op->in, op->lane, op->arrives, op->ncopies,
                            emu_actor(op->w->cta, ACTOR_copies, op->w->index), op->time);
}

void emu_run_cp_arrive(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    while (on) {
        struct emu_mbarrier *m = emu_mbarrier_of(w, in, emu_first_lane(on));
        struct emu_op *op = emu_begin_op(w, in, emu_first_lane(on));
        op->finish = arrive;
        op->arrives = m;
        for (uint32_t rest = on; rest; rest &= rest - 1)
            if (emu_mbarrier_of(w, in, emu_first_lane(rest)) == m) {
                op->ncopies++;
                on &= ~(rest & -rest);
            }
    }
    w->cta->cluster->time++;
}
