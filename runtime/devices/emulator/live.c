/* SPDX-License-Identifier: MIT */
/* live.c: computes the number of live registers of a thread at each instruction of the PTX.
 *
 *     mul.f32 %f3, %f1, %f2;      live after: all registers that are read later, for example %f3;
 *                                 live before: these registers except %f3, plus %f1 and %f2
 *
 * A backward dataflow analysis computes the live registers. A write by an instruction with a guard may leave
 * the old value, so it does not end a live range. A 64-bit register counts as two registers, and a predicate
 * counts as none.
 *
 * Values that are computed only from parameters, constants and the indices of the CTA are equal in all lanes.
 * An assembler keeps such values in uniform registers, or rematerializes them. The argument `surely` requests
 * a lower bound, in which such values do not count. */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

struct live {
    const struct emu_code *code;
    int nwords;     /* the number of words in a set */
    uint64_t *sets; /* live registers before each instruction */
    uint64_t *now;  /* live registers before the current instruction */
    bool *varies;   /* varies[r]: the value of r may differ between lanes. If `varies` is not NULL, only such
                     * registers count */
};

static uint64_t *set_of(const struct live *l, int i)
{
    return l->sets + (size_t)i * (size_t)l->nwords;
}

static void add(uint64_t *to, const uint64_t *from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] |= from[i];
}

static bool goes_on(const struct emu_insn *in)
{
    return in->guard >= 0 || (in->code != INSN_bra && in->code != INSN_ret);
}

/* Adds a register to the set l->now, or removes it. Ignores special registers and constants (reg is -1). */
static void set(const struct live *l, int reg, bool is_live)
{
    if (reg < SPECIAL_count)
        return;
    uint64_t bit = UINT64_C(1) << reg % 64;
    if (is_live)
        l->now[reg / 64] |= bit;
    else
        l->now[reg / 64] &= ~bit;
}

/* Sets l->now to the registers that are live before instruction i. */
static void step(const struct live *l, int i)
{
    const struct emu_insn *in = &l->code->insns.at[i];
    memset(l->now, 0, (size_t)l->nwords * sizeof *l->now);
    if (goes_on(in) && i + 1 < l->code->insns.n)
        add(l->now, set_of(l, i + 1), l->nwords);
    if (in->code == INSN_bra)
        add(l->now, set_of(l, in->target), l->nwords);
    bool adds = emu_wgmma_adds(in); /* a wgmma that adds also reads the old values of its results */
    for (int k = 0; k < in->ndefs && in->guard < 0 && !adds; k++)
        set(l, in->opnds[k].reg, false);
    for (int k = adds ? 0 : in->ndefs; k < in->nopnds; k++)
        set(l, in->opnds[k].reg, true);
    set(l, in->guard, true);
}

static int weight(const struct live *l, const uint64_t *set)
{
    int n = 0;
    for (int w = 0; w < l->nwords; w++)
        for (uint64_t m = set[w]; m; m &= m - 1) {
            int reg = 64 * w + __builtin_ctzll(m);
            n += !l->varies || l->varies[reg] ? class_info[l->code->regs.at[reg].cls].regs : 0;
        }
    return n;
}

/* Returns whether the results of `in` may differ between lanes. */
static bool reads_varying(const struct emu_insn *in, const bool *varies)
{
    bool any = in->guard >= 0 && varies[in->guard];
    for (int k = in->ndefs; k < in->nopnds; k++)
        any |= in->opnds[k].reg >= 0 && varies[in->opnds[k].reg];
    return any || !(insn_info[in->code].traits & PURE) || insn_info[in->code].traits & WARP;
}

static bool *find_varying(struct arena *a, const struct emu_code *code)
{
    bool *varies = NEW_ARRAY(a, code->regs.n, bool);
    varies[SPECIAL_tid] = varies[SPECIAL_laneid] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < code->insns.n; i++) {
            const struct emu_insn *in = &code->insns.at[i];
            for (int k = 0; k < in->ndefs && reads_varying(in, varies); k++) {
                changed |= !varies[in->opnds[k].reg];
                varies[in->opnds[k].reg] = true;
            }
        }
    }
    return varies;
}

uint16_t *emu_live_registers(struct arena *a, const struct emu_code *code, bool surely)
{
    struct live l = {.code = code, .nwords = code->regs.n / 64 + 1};
    uint16_t *live = NEW_ARRAY(a, code->insns.n, uint16_t);
    l.sets = NEW_ARRAY(a, code->insns.n * l.nwords, uint64_t);
    l.varies = surely ? find_varying(a, code) : NULL;
    l.now = NEW_ARRAY(a, l.nwords, uint64_t);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = code->insns.n - 1; i >= 0; i--) {
            step(&l, i);
            changed |= memcmp(l.now, set_of(&l, i), (size_t)l.nwords * sizeof *l.now) != 0;
            memcpy(set_of(&l, i), l.now, (size_t)l.nwords * sizeof *l.now);
        }
    }
    for (int i = 0; i < code->insns.n; i++)
        live[i] = (uint16_t)weight(&l, set_of(&l, i));
    return live;
}
