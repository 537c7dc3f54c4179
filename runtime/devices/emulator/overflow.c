/* SPDX-License-Identifier: MIT */
/* overflow.c: reports accesses to addresses that are wrong because 32-bit arithmetic overflowed.
 *
 *     mul.lo.s32 %r3, %r1, 40000;      overflows: no error yet, because a later sum may be in range again
 *     mul.wide.s32 %rd2, %r3, 4;       widens the wrong number, so the result is certainly wrong
 *     @%p1 ld.global.b32 %r4, [%rd2];  an error if a lane with %p1 has a wrong address
 *
 * The loader marks the instructions whose results are used to compute a global address (emu_insn.follows).
 * From each address, it searches backwards through sums, products, shifts, signed widening and copies. It
 * stops at other instructions, so hash functions, which overflow on purpose, cause no errors. At run time,
 * the emulator also computes the exact result of a marked instruction in each lane in which its 32-bit
 * arithmetic overflows. */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

/* What an instruction computes, if an address is computed from its result. */
enum kind {
    MAKES_other,  /* any other result; the search for instructions stops there */
    MAKES_narrow, /* 32-bit arithmetic; if it overflows, the emulator keeps the exact result */
    MAKES_wide    /* signed widening or 64-bit arithmetic: the result is wrong if an operand has overflowed */
};

static enum kind kind_of(const struct emu_insn *in)
{
    const enum ptype_kind kind = ptype_info[in->type].kind;
    const int bits = ptype_info[in->type].bits;
    bool is_signed = kind == KIND_signed || kind == KIND_bits;
    switch (insn_info[in->code].overflow) {
    case OVERFLOW_copies: is_signed |= kind == KIND_unsigned; break;
    case OVERFLOW_computes: is_signed |= kind == KIND_unsigned && bits == 64; break;
    case OVERFLOW_shifts: break;
    case OVERFLOW_widens: return in->type == PT_s32 ? MAKES_wide : MAKES_other;
    case OVERFLOW_converts: return in->type == PT_s64 && in->from == PT_s32 ? MAKES_wide : MAKES_other;
    case OVERFLOW_none: return MAKES_other;
    }
    return !is_signed ? MAKES_other : bits == 32 ? MAKES_narrow : bits == 64 ? MAKES_wide : MAKES_other;
}

/* -- at load time -- */

/* Returns the index of the operand that is a global address; -1 if there is none. */
static int address_of(const struct emu_insn *in)
{
    bool is_access =
        in->code == INSN_ld || in->code == INSN_st || in->code == INSN_atom || in->code == INSN_red;
    int i = in->code == INSN_cp_async ? 1 : is_access ? in->address : -1;
    return i >= 0 && in->opnds[i].cls == CLASS_b64 ? i : -1;
}

static bool mark(bool *followed, const struct emu_opnd *o)
{
    if (o->reg < SPECIAL_count || followed[o->reg])
        return false;
    return followed[o->reg] = true;
}

static bool mark_sources(bool *followed, const struct emu_insn *in)
{
    int address = address_of(in);
    bool any = address >= 0 && mark(followed, &in->opnds[address]);
    if (in->ndefs != 1 || !followed[in->opnds[0].reg] || kind_of(in) == MAKES_other)
        return any;
    for (int k = 1; k < in->nopnds; k++)
        any |= in->opnds[k].cls != CLASS_pred && mark(followed, &in->opnds[k]);
    return any;
}

void emu_find_addresses(struct arena *a, struct emu_code *code)
{
    bool *followed = NEW_ARRAY(a, code->regs.n, bool), any = true;
    while (any) {
        any = false;
        for (int i = code->insns.n - 1; i >= 0; i--)
            any |= mark_sources(followed, &code->insns.at[i]);
    }
    for (int i = 0; i < code->insns.n; i++) {
        struct emu_insn *in = &code->insns.at[i];
        for (int k = 0; k < in->ndefs; k++)
            in->follows |= followed[in->opnds[k].reg];
        code->follows |= in->follows && kind_of(in) == MAKES_narrow;
    }
    for (int i = 0; i < code->insns.n && !code->follows; i++)
        code->insns.at[i].follows = false;
}

/* -- at run time -- */

static const int64_t FAR = INT64_C(1) << 61; /* exact results are clamped to FAR; no address is so large */

static int64_t times(int64_t x, int64_t y)
{
    int64_t r;
    return __builtin_mul_overflow(x, y, &r) ? FAR : r;
}

static uint32_t wrapped(const struct emu_warp *w, const struct emu_opnd *o)
{
    return o->reg < 0 ? 0 : w->wrapped[o->reg];
}

static void read_exact(const struct emu_warp *w, const struct emu_opnd *o, int64_t *x)
{
    const int32_t *values = emu_read(w, o);
    for (int i = 0; i < LANES; i++)
        x[i] = values[i];
    for (uint32_t m = wrapped(w, o); m; m &= m - 1)
        x[emu_first_lane(m)] = w->exact[o->reg][emu_first_lane(m)];
}

static int64_t exact(const struct emu_insn *in, int64_t x, int64_t y, int64_t z)
{
    switch (in->code) {
    case INSN_add: return x + y;
    case INSN_sub: return x - y;
    case INSN_neg: return -x;
    case INSN_mul_lo: return times(x, y);
    case INSN_mad_lo: return times(x, y) + z;
    case INSN_shl: return x == 0 ? 0 : y < 0 || y > 60 ? FAR : times(x, INT64_C(1) << y);
    default: return x; /* mov and selp copy a number */
    }
}

#define FITS(EXPR)                                                                                           \
    for (int i = 0; i < LANES; i++) {                                                                        \
        int64_t e = (EXPR);                                                                                  \
        bad |= e ^ (int32_t)e;                                                                               \
    }                                                                                                        \
    return bad == 0

/* Fast path, for operands that have not overflowed: returns whether the results of all lanes fit into 32
 * bits. */
static bool fits(const struct emu_insn *in, const int32_t *x, const int32_t *y, const int32_t *z)
{
    int64_t bad = 0;
    switch (in->code) {
    case INSN_add: FITS((int64_t)x[i] + y[i]);
    case INSN_sub: FITS((int64_t)x[i] - y[i]);
    case INSN_mul_lo: FITS((int64_t)x[i] * y[i]);
    case INSN_mad_lo: FITS((int64_t)x[i] * y[i] + z[i]);
    case INSN_shl: FITS(y[i] < 0 || y[i] > 31 ? FAR * (x[i] != 0) : x[i] * (INT64_C(1) << y[i]));
    default: return in->code == INSN_mov || in->code == INSN_selp;
    }
}

static uint32_t follow_narrow(struct emu_warp *w, const struct emu_insn *in)
{
    int64_t x[3][LANES] = {{0}}, e[LANES], *kept = w->exact[in->opnds[0].reg];
    uint32_t selected = 0, mask = 0;
    for (int k = 1; k < in->nopnds; k++)
        if (in->opnds[k].cls == CLASS_pred)
            memcpy(&selected, emu_read(w, &in->opnds[k]), sizeof selected);
        else
            read_exact(w, &in->opnds[k], x[k - 1]);
    for (int i = 0; i < LANES; i++) {
        bool second = in->code == INSN_selp && !(selected >> i & 1);
        e[i] = exact(in, second ? x[1][i] : x[0][i], x[1][i], x[2][i]);
        mask |= (uint32_t)(e[i] != (int32_t)e[i]) << i;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
        int i = emu_first_lane(m);
        kept[i] = e[i] > FAR ? FAR : e[i] < -FAR ? -FAR : e[i];
    }
    return mask;
}

static uint32_t follow_wide(const struct emu_warp *w, const struct emu_insn *in)
{
    uint32_t selected, mask = 0;
    if (in->code == INSN_selp) {
        memcpy(&selected, emu_read(w, &in->opnds[3]), sizeof selected);
        return (wrapped(w, &in->opnds[1]) & selected) | (wrapped(w, &in->opnds[2]) & ~selected);
    }
    for (int k = 1; k < in->nopnds; k++)
        mask |= wrapped(w, &in->opnds[k]);
    return mask;
}

void emu_follow(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    enum kind kind = kind_of(in);
    uint32_t mask = kind == MAKES_other ? 0 : follow_wide(w, in);
    if (kind == MAKES_narrow) {
        const struct emu_opnd *o = in->opnds;
        const void *x = emu_read(w, &o[1]), *y = emu_read(w, &o[in->nopnds > 2 ? 2 : 1]),
                   *z = emu_read(w, &o[in->nopnds > 3 ? 3 : 1]);
        mask = !mask && fits(in, x, y, z) ? 0 : follow_narrow(w, in);
    }
    if (mask & on && kind == MAKES_narrow)
        w->wrapping = in;
    for (int k = 0; k < in->ndefs; k++) {
        uint32_t *d = &w->wrapped[in->opnds[k].reg];
        *d = (*d & ~on) | (mask & on);
    }
}

void emu_need_fit(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on)
{
    uint32_t bad = on & wrapped(w, o);
    if (bad && o->cls == CLASS_b64)
        emu_fail(w, in, emu_first_lane(bad), ERR_address_overflow,
                 "the address is computed from line %d of the PTX, which overflows 32 bits",
                 w->wrapping->line);
}
