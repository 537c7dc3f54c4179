/* SPDX-License-Identifier: MIT */
/* warp.c: reads and writes registers of a warp, and executes instructions that access only registers and parameters:
 * computations (by the functions of arith.c, float.c and convert.c), moves between a vector of registers and one
 * register, loads of parameters, shuffles, reductions and votes across lanes, and conversions of addresses.
 *
 * A computation writes the results of all 32 lanes to w->scratch. Then only the results of the active lanes
 * are copied to the result register. */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

uint64_t emu_lane(const struct emu_warp *w, const struct emu_opnd *o, int lane)
{
    const void *p = emu_read(w, o);
    switch (o->cls) {
    case CLASS_pred: return *(const uint32_t *)p >> lane & 1;
    case CLASS_b16: return ((const uint16_t *)p)[lane];
    case CLASS_b32:
    case CLASS_f32: return ((const uint32_t *)p)[lane];
    default: return ((const uint64_t *)p)[lane];
    }
}

static void set_defined(struct emu_warp *w, const struct emu_opnd *o, int lane, uint64_t undefined)
{
    if (undefined) {
        w->defined[o->reg] &= ~(UINT32_C(1) << lane);
        w->undefined[o->reg][lane] = undefined;
    } else {
        w->defined[o->reg] |= UINT32_C(1) << lane;
    }
}

void emu_set_lane(struct emu_warp *w, const struct emu_opnd *o, int lane, uint64_t bits, uint64_t undefined)
{
    void *p = w->values + o->at;
    uint32_t one = UINT32_C(1) << lane, *mask = p;
    switch (o->cls) {
    case CLASS_pred: *mask = (*mask & ~one) | (bits & 1 ? one : 0); break;
    case CLASS_b16: ((uint16_t *)p)[lane] = (uint16_t)bits; break;
    case CLASS_b32:
    case CLASS_f32: ((uint32_t *)p)[lane] = (uint32_t)bits; break;
    default: ((uint64_t *)p)[lane] = bits;
    }
    set_defined(w, o, lane, undefined);
}

#define MERGE(bits)                                                                                          \
    do {                                                                                                     \
        uint##bits##_t *to = (void *)p;                                                                      \
        const uint##bits##_t *from = values;                                                                 \
        for (int i = 0; i < LANES; i++)                                                                      \
            to[i] = on >> i & 1 ? from[i] : to[i];                                                           \
    } while (0)

void emu_commit(struct emu_warp *w, const struct emu_opnd *o, uint32_t on, const void *values)
{
    char *p = w->values + o->at;
    if (o->cls == CLASS_pred) {
        uint32_t old, next;
        memcpy(&old, p, sizeof old);
        memcpy(&next, values, sizeof next);
        old = (old & ~on) | (next & on);
        memcpy(p, &old, sizeof old);
    } else if (on == ALL_LANES) {
        memcpy(p, values, (size_t)(LANES * emu_class_bytes(o->cls)));
    } else {
        switch (emu_class_bytes(o->cls)) {
        case 2: MERGE(16); break;
        case 4: MERGE(32); break;
        default: MERGE(64);
        }
    }
}

/* -- computing -- */

/* Records which bits of the result are defined. `defined` is the mask of the lanes in which all operands are
 * defined. For each other lane, computes the undefined bits of the result. */
static void define_result(struct emu_warp *w, const struct emu_insn *in, uint32_t on, uint32_t defined)
{
    const struct emu_opnd *d = &in->opnds[0];
    uint64_t undefined[LANES];
    uint32_t partly = on & ~defined;
    for (uint32_t m = partly; m; m &= m - 1)
        undefined[emu_first_lane(m)] = emu_undefined_result(w, in, emu_first_lane(m));
    w->defined[d->reg] |= on & defined;
    for (uint32_t m = partly; m; m &= m - 1)
        set_defined(w, d, emu_first_lane(m), undefined[emu_first_lane(m)]);
}

static uint32_t sources_defined(const struct emu_warp *w, const struct emu_insn *in)
{
    uint32_t defined = ALL_LANES;
    for (int i = in->ndefs; i < in->nopnds; i++)
        defined &= emu_defined(w, &in->opnds[i]);
    return defined;
}

void emu_run_compute(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const void *a = emu_read(w, &in->opnds[1]);
    const void *b = in->nopnds > 2 ? emu_read(w, &in->opnds[2]) : a,
               *c = in->nopnds > 3 ? emu_read(w, &in->opnds[3]) : a;
    in->compute(w->scratch, a, b, c, in);
    if (in->code == INSN_setp_and) {
        uint32_t mask, also;
        memcpy(&mask, w->scratch, sizeof mask);
        memcpy(&also, c, sizeof also);
        mask &= also;
        memcpy(w->scratch, &mask, sizeof mask);
    }
    /* define_result reads the operands, so it precedes emu_commit, which may overwrite an operand */
    define_result(w, in, on, sources_defined(w, in));
    emu_commit(w, &in->opnds[0], on, w->scratch);
}

/* -- the timer; moves between a vector of registers and one register, whose lowest bits correspond to the
 * vector's first register (PTX ISA, "mov") -- */

void emu_run_timer(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    for (; on; on &= on - 1)
        emu_set_lane(w, &in->opnds[0], emu_first_lane(on), (uint64_t)cpu_nanoseconds(), 0);
}

void emu_run_pack(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    int bits = class_info[in->opnds[0].cls].bits / in->nvec;
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        uint64_t all = 0, undefined = 0;
        for (int i = 0; i < in->nvec; i++) {
            all |= emu_lane(w, &in->opnds[1 + i], lane) << i * bits;
            undefined |= emu_undefined_opnd(w, &in->opnds[1 + i], lane) << i * bits;
        }
        emu_set_lane(w, &in->opnds[0], lane, all, undefined);
    }
}

void emu_run_unpack(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_opnd *from = &in->opnds[in->nvec];
    int bits = class_info[from->cls].bits / in->nvec;
    uint64_t mask = ~UINT64_C(0) >> (64 - bits);
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        uint64_t all = emu_lane(w, from, lane), undefined = emu_undefined_opnd(w, from, lane);
        for (int i = 0; i < in->nvec; i++)
            emu_set_lane(w, &in->opnds[i], lane, all >> i * bits & mask, undefined >> i * bits & mask);
    }
}

/* -- values that are equal in all lanes -- */

static void set_all(struct emu_warp *w, const struct emu_opnd *d, uint32_t on, uint64_t bits)
{
    uint64_t word = d->cls == CLASS_pred ? (bits & 1 ? ALL_LANES : 0) : bits;
    for (int i = 0; i < LANES; i++)
        memcpy((char *)w->scratch + i * emu_class_bytes(d->cls), &word, sizeof word);
    emu_commit(w, d, on, w->scratch);
    w->defined[d->reg] |= on;
}

void emu_run_param(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    int unused = 64 - ptype_info[in->type].bits;
    uint64_t x = w->cta->launch->args[in->target] << unused;
    bool is_signed = in->type == PT_s8 || in->type == PT_s16 || in->type == PT_s32;
    set_all(w, &in->opnds[0], on, is_signed ? (uint64_t)((int64_t)x >> unused) : x >> unused);
}

/* Executes createpolicy. The result is 0, because cache policies have no effect in the emulator. */
void emu_run_policy(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    set_all(w, &in->opnds[0], on, 0);
}

/* -- instructions across lanes -- */

/* Ends the launch with an error unless the lanes in the mask `members` execute the instruction, and no
 * others. Otherwise, the behaviour of the instruction is undefined (PTX ISA, "shfl.sync"). */
static void need_members(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *members,
                         uint32_t on)
{
    uint32_t mask = (uint32_t)emu_lane(w, members, emu_first_lane(on)), missing = mask & ~on,
             extra = on & ~mask;
    if (missing)
        emu_fail(w, in, emu_first_lane(missing), ERR_emulator_warp,
                 "lane %d is in the mask 0x%08x but does not execute it", emu_first_lane(missing), mask);
    if (extra)
        emu_fail(w, in, emu_first_lane(extra), ERR_emulator_warp, "lane %d is not in the mask 0x%08x",
                 emu_first_lane(extra), mask);
}

/* Returns the lane from which `lane` reads, by the pseudocode of section "shfl.sync" of the PTX ISA. Bits 0 to 4 of c
 * are the clamp value, and bits 8 to 12 are the segment mask. */
static int source_lane(const struct emu_insn *in, int lane, uint32_t b, uint32_t c)
{
    int segment = (int)(c >> 8 & 31), clamp = (int)(c & 31), at = (int)(b & 31);
    int most = (lane & segment) | (clamp & ~segment);
    int from = in->mods[0] == MOD_bfly ? lane ^ at : (lane & segment) | (at & ~segment);
    return from <= most ? from : lane;
}

void emu_run_shfl(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_opnd *a = &in->opnds[1], *b = &in->opnds[2], *c = &in->opnds[3];
    uint64_t x[LANES] = {0}, undefined[LANES] = {0};
    if (!on)
        return;
    need_members(w, in, &in->opnds[4], on);
    emu_need_defined(w, in, b, 32, on, "the lane to read");
    for (uint32_t m = on; m; m &= m - 1) {
        int lane = emu_first_lane(m),
            from = source_lane(in, lane, (uint32_t)emu_lane(w, b, lane), (uint32_t)emu_lane(w, c, lane));
        if (!(on >> from & 1))
            emu_fail(w, in, lane, ERR_emulator_warp, "it reads lane %d, which does not execute it", from);
        x[lane] = emu_lane(w, a, from);
        undefined[lane] = emu_undefined_opnd(w, a, from);
    }
    for (; on; on &= on - 1)
        emu_set_lane(w, &in->opnds[0], emu_first_lane(on), x[emu_first_lane(on)],
                     undefined[emu_first_lane(on)]);
}

static uint32_t combine(const struct emu_insn *in, uint32_t x, uint32_t y)
{
    bool less = in->type == PT_s32 ? (int32_t)x < (int32_t)y : x < y;
    switch (in->mods[0]) {
    case MOD_add: return x + y;
    case MOD_min: return less ? x : y;
    case MOD_max: return less ? y : x;
    case MOD_and: return x & y;
    case MOD_or: return x | y;
    default: return x ^ y;
    }
}

void emu_run_redux(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_opnd *a = &in->opnds[1];
    if (!on)
        return;
    need_members(w, in, &in->opnds[2], on);
    int first = emu_first_lane(on);
    uint32_t r = (uint32_t)emu_lane(w, a, first);
    uint64_t undefined = emu_undefined_opnd(w, a, first) ? ~UINT64_C(0) : 0;
    for (uint32_t m = on & (on - 1); m; m &= m - 1) {
        r = combine(in, r, (uint32_t)emu_lane(w, a, emu_first_lane(m)));
        undefined |= emu_undefined_opnd(w, a, emu_first_lane(m)) ? ~UINT64_C(0) : 0;
    }
    for (; on; on &= on - 1)
        emu_set_lane(w, &in->opnds[0], emu_first_lane(on), r, undefined);
}

/* -- vote, activemask, elect.sync (PTX ISA, the sections of these names) -- */

void emu_run_vote(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct emu_opnd *a = &in->opnds[1];
    uint32_t yes = 0;
    need_members(w, in, &in->opnds[2], on);
    emu_need_defined(w, in, a, 1, on, "the predicate of the vote");
    for (uint32_t m = on; m; m &= m - 1)
        yes |= emu_lane(w, a, emu_first_lane(m)) & 1 ? m & -m : 0;
    uint64_t r = yes;
    switch (in->mods[0]) {
    case MOD_any: r = yes != 0; break;
    case MOD_all: r = yes == on; break;
    case MOD_uni: r = yes == 0 || yes == on; break;
    default: break;
    }
    set_all(w, &in->opnds[0], on, r);
}

void emu_run_activemask(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    set_all(w, &in->opnds[0], on, on);
}

/* Executes elect.sync. The PTX ISA does not specify which lane is elected; the emulator elects the first lane. */
void emu_run_elect(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    need_members(w, in, &in->opnds[1], on);
    set_all(w, &in->opnds[0], on, 0);
    set_all(w, &in->opnds[0], on & -on, 1);
}

/* -- addresses (PTX ISA, "cvta", "mapa"): a global address is its own generic address -- */

static void to_generic(void *restrict d, const void *a, const void *b, const void *c,
                       const struct emu_insn *in)
{
    const uint64_t *x = a;
    uint64_t *r = d, base = emu_has_mod(in, MOD_shared)  ? SHARED_WINDOW
                            : emu_has_mod(in, MOD_local) ? LOCAL_WINDOW
                                                         : 0;
    (void)b, (void)c;
    for (int i = 0; i < LANES; i++)
        r[i] = emu_has_mod(in, MOD_to) ? x[i] - base : x[i] + base;
}

static void in_cta(void *restrict d, const void *a, const void *b, const void *c, const struct emu_insn *in)
{
    const uint32_t *x = a, *rank = b;
    uint32_t *r = d;
    (void)c, (void)in;
    for (int i = 0; i < LANES; i++)
        r[i] = (x[i] & ((UINT32_C(1) << RANK_SHIFT) - 1)) | rank[i] << RANK_SHIFT;
}

emu_compute *emu_address_compute(const struct emu_insn *in)
{
    bool is_wide = in->type == PT_u64 && in->nopnds == 2;
    return in->code == INSN_cvta ? (is_wide ? to_generic : NULL) : in->type == PT_u32 ? in_cta : NULL;
}
