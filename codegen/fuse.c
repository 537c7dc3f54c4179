/* SPDX-License-Identifier: MIT */
/* fuse.c: fuses two or three instructions of a block into fewer instructions, if no other instruction uses
 * the results that disappear.
 *
 *     mul t, a, b; add d, t, c         =>     mad d, a, b, c         for floats: fma; t may also be a shift
 *     setp q, x, y; and d, q, s        =>     setp.and d, x, y, s
 *     fma t, a, b, 0.5; max u, t, 0; min d, u, 1  =>  fma.sat d, a, b, 0.5
 *     setp q, x < y; not d, q          =>     setp d, x >= y         for integers
 *     setp q, x >= 0; setp s, x < c; and d, q, s  =>  setp d, x < c  64 bits; the new comparison is unsigned
 *     ld x; add t, x, y; selp d, t, x, p  =>  ld d; @p add d, d, y
 *
 * A product and a sum of floats become an fma only if the kernel's option fp_fusion permits the contraction,
 * and the kernel is not deterministic. Unsigned divisions by powers of two become shifts. Multiplications of
 * integers by powers of two become shifts too, if they are not fused. */
#include "codegen/peephole.h"

#include <string.h>

/* Returns the instruction that defines x, if x is a register with exactly `nuses` uses and a single,
 * unguarded definition, which is in block b; else NULL. */
static struct insn *def_for(const struct peep *p, const struct mblock *b, struct opnd x, int nuses)
{
    const struct reg_info *r = is_reg(x) ? &p->regs.at[x.n] : NULL;
    return r && r->nuses == nuses && r->block == b->index ? r->def : NULL;
}

/* Returns the instruction that defines x, if its code is `code`, x has one use, and the definition is in block b;
 * else NULL. */
static struct insn *only_for(const struct peep *p, const struct mblock *b, struct opnd x, enum insn_code code)
{
    struct insn *in = def_for(p, b, x, 1);
    return in && in->form.code == code ? in : NULL;
}

static void become3(struct peep *p, struct insn *in, struct form form, struct opnd a, struct opnd b,
                    struct opnd c)
{
    struct opnd *x = NEW_ARRAY(p->m->arena, 4, struct opnd);
    x[0] = in->opnds[0];
    x[1] = a;
    x[2] = b;
    x[3] = c;
    in->form = form;
    in->opnds = x;
    in->nopnds = 4;
}

static void drop_use(struct peep *p, struct opnd x)
{
    if (is_reg(x))
        p->regs.at[x.n].nuses--;
}

/* `in` adds `product` and z. If `product` is x * y, and `in` is its only use, changes `in` into one
 * instruction that computes x * y + z, and returns true. `in` is then a new use of x and y. The dead
 * multiplication also counts as a use of x and y until peephole.c removes it. */
static bool fuse_product(struct peep *p, const struct mblock *b, struct insn *in, struct opnd product,
                         struct opnd z)
{
    struct form form = in->form;
    struct insn *mul;
    struct opnd factor = {.kind = OPND_none};
    if (insn_is_integer(in)) {
        if ((mul = only_for(p, b, product, INSN_mul_lo))) {
            form.code = INSN_mad_lo;
        } else if (insn_bits(in) == 32 && (mul = only_for(p, b, product, INSN_shl)) &&
                   is_imm(mul->opnds[2])) {
            form.code = INSN_mad_lo;
            factor = opnd_int(CLASS_b32, INT64_C(1) << mul->opnds[2].i);
        } else if (insn_bits(in) == 64 && (mul = only_for(p, b, product, INSN_mul_wide))) {
            form = mul->form;
            form.code = INSN_mad_wide;
        } else {
            return false;
        }
    } else {
        mul = p->m->func->fp_fusion && !p->m->func->deterministic ? only_for(p, b, product, INSN_mul) : NULL;
        bool nearest = (form.mods[0] == MOD_none || form.mods[0] == MOD_rn) &&
                       !form.mods[1]; /* no .ftz, which only libdevice uses */
        if (!mul || !nearest || mul->form.type != form.type ||
            memcmp(mul->form.mods, form.mods, sizeof form.mods))
            return false;
        form.code = INSN_fma;
    }
    if (mul->guard >= 0 || (is_imm(factor) && factor.i > INT32_MAX))
        return false;
    drop_use(p, product);
    become3(p, in, form, mul->opnds[1], is_imm(factor) ? factor : mul->opnds[2], z);
    for (int i = 1; i <= 2; i++)
        if (is_reg(mul->opnds[i]))
            p->regs.at[mul->opnds[i].n].nuses++;
    return true;
}

static bool fuse_add(struct peep *p, const struct mblock *b, struct insn *in)
{
    return in->guard < 0 && (fuse_product(p, b, in, in->opnds[1], in->opnds[2]) ||
                             fuse_product(p, b, in, in->opnds[2], in->opnds[1]));
}

/* setp q, x, y; not r, q => setp r, x, y with the inverse comparison. Only for integers: if an operand is
 * NaN, a comparison of floats and the inverse comparison are both false. */
static void fuse_not(struct peep *p, const struct mblock *b, struct insn *in)
{
    static const uint8_t contrary[MOD_count] = {[MOD_eq] = MOD_ne, [MOD_ne] = MOD_eq, [MOD_lt] = MOD_ge,
                                                [MOD_ge] = MOD_lt, [MOD_gt] = MOD_le, [MOD_le] = MOD_gt};
    const struct insn *setp = in->guard < 0 ? only_for(p, b, in->opnds[1], INSN_setp) : NULL;
    if (!setp || !insn_is_integer(setp))
        return;
    struct opnd *x = NEW_ARRAY(p->m->arena, 3, struct opnd);
    memcpy(x, setp->opnds, 3 * sizeof *x);
    x[0] = in->opnds[0];
    drop_use(p, in->opnds[1]);
    in->form = setp->form;
    in->form.mods[0] = contrary[setp->form.mods[0]];
    in->opnds = x;
    in->nopnds = 3;
    for (int i = 1; i <= 2; i++)
        if (is_reg(x[i]))
            p->regs.at[x[i].n].nuses++;
}

/* setp q, x, y; and r, q, s  =>  setp.and r, x, y, s */
static bool fuse_setp(struct peep *p, const struct mblock *b, struct insn *in, struct opnd q, struct opnd s)
{
    const struct insn *setp = only_for(p, b, q, INSN_setp);
    if (!setp || !is_reg(s))
        return false;
    struct form form = setp->form;
    form.code = INSN_setp_and;
    form.mods[1] = MOD_and;
    drop_use(p, q);
    become3(p, in, form, setp->opnds[1], setp->opnds[2], s);
    for (int i = 1; i <= 2; i++)
        if (is_reg(setp->opnds[i]))
            p->regs.at[setp->opnds[i].n].nuses++;
    return true;
}

/* setp q, x >= 0; setp s, x < c; and r, q, s => setp r, x < c, where c is a positive constant and the new
 * comparison is unsigned. Only for 64-bit integers, for which each comparison takes two machine
 * instructions. */
static bool fuse_bounds(struct peep *p, const struct mblock *b, struct insn *in)
{
    const struct insn *low = only_for(p, b, in->opnds[1], INSN_setp),
                      *high = only_for(p, b, in->opnds[2], INSN_setp);
    if (low && low->form.mods[0] == MOD_lt) {
        const struct insn *other = low;
        low = high;
        high = other;
    }
    if (!low || !high || low->form.mods[0] != MOD_ge || high->form.mods[0] != MOD_lt ||
        low->form.type != high->form.type || low->form.type != PT_s64 ||
        !opnd_same(low->opnds[1], high->opnds[1]) || !is_reg(low->opnds[1]) ||
        !opnd_is_imm(low->opnds[2], 0) || !is_imm(high->opnds[2]) || high->opnds[2].i <= 0)
        return false;
    drop_use(p, in->opnds[1]);
    drop_use(p, in->opnds[2]);
    in->form = high->form;
    in->form.type = PT_u64;
    in->opnds[1] = high->opnds[1];
    in->opnds[2] = high->opnds[2];
    p->regs.at[in->opnds[1].n].nuses++;
    return true;
}

static void fuse_and(struct peep *p, const struct mblock *b, struct insn *in)
{
    if (in->form.type != PT_pred || in->guard >= 0 || fuse_bounds(p, b, in))
        return;
    if (!fuse_setp(p, b, in, in->opnds[1], in->opnds[2]))
        fuse_setp(p, b, in, in->opnds[2], in->opnds[1]);
}

/* Returns whether the instruction has two operands, of which only the first is x, and may move down to the
 * use of its result. */
static bool computes_from(const struct peep *p, const struct insn *in, struct opnd x)
{
    return in->guard < 0 && in->ndefs == 1 && in->nopnds == 3 && insn_has(in, PURE) && !insn_has(in, WARP) &&
           opnd_same(in->opnds[1], x) && !opnd_same(in->opnds[2], x) &&
           (!is_reg(in->opnds[2]) || p->regs.at[in->opnds[2].n].stable);
}

/* If `in` is a selp d, f(x, y), x, p, and nothing else uses f(x, y) and x, the instruction that defines x
 * writes d instead, and the selp becomes the guarded instruction @p d = f(d, y). */
static void fuse_selp(struct peep *p, const struct mblock *b, struct insn *in)
{
    struct opnd *x = in->opnds;
    const struct insn *other = def_for(p, b, x[1], 1), *origin = def_for(p, b, x[2], 2);
    if (in->guard >= 0 || !is_reg(x[3]) || p->regs.at[x[0].n].ndefs != 1 || !other || !origin ||
        !computes_from(p, other, x[2]))
        return;
    for (int i = 0; i < origin->ndefs; i++)
        if (opnd_same(origin->opnds[i], x[2]))
            origin->opnds[i] = x[0];
    in->form = other->form;
    in->guard = x[3].n;
    in->opnds = NEW_ARRAY(p->m->arena, 3, struct opnd);
    in->opnds[0] = in->opnds[1] = x[0];
    in->opnds[2] = other->opnds[2];
    in->nopnds = 3;
    drop_use(p, x[1]);
    if (is_reg(other->opnds[2]))
        p->regs.at[other->opnds[2].n].nuses++;
    p->regs.at[x[0].n].nuses++;
    p->regs.at[x[0].n].ndefs = 2;
    p->regs.at[x[0].n].def = NULL;
}

/* Computes min(max(x, 0), 1) by .sat, if x is the f32 result of an add or fma whose last operand is a
 * constant. .sat turns NaN into +0, as max(NaN, 0) does. .sat and max may differ for x = -0, so x must never
 * be -0. A sum with a nonzero constant is never -0. An fma gives -0 only if its exact result is negative and
 * at least as near to 0 as to -2^-149, the negative f32 next to 0. Such a result is impossible if the
 * absolute value of the constant is at least 2^-100. */
static void fuse_clamp(struct peep *p, const struct mblock *b, struct insn *in)
{
    enum { ONE = 0x3f800000, LEAST_FOR_FMA = 0x0d800000 /* 2^-100 */ };
    if (in->form.type != PT_f32 || in->form.mods[0] || in->guard >= 0 || !opnd_is_imm(in->opnds[2], ONE))
        return;
    const struct insn *max = only_for(p, b, in->opnds[1], INSN_max);
    if (!max || max->form.type != PT_f32 || max->form.mods[0] || max->guard >= 0 ||
        !opnd_is_imm(max->opnds[2], 0))
        return;
    struct insn *sum = def_for(p, b, max->opnds[1], 1);
    if (!sum || (sum->form.code != INSN_fma && sum->form.code != INSN_add) || sum->form.type != PT_f32 ||
        sum->guard >= 0 || sum->form.mods[0] != MOD_rn || sum->form.mods[1])
        return;
    struct opnd last = sum->opnds[sum->nopnds - 1];
    if (!is_imm(last) || (last.i & INT32_MAX) < (sum->form.code == INSN_fma ? LEAST_FOR_FMA : 1))
        return;
    struct opnd *x = NEW_ARRAY(p->m->arena, sum->nopnds, struct opnd);
    memcpy(x, sum->opnds, (size_t)sum->nopnds * sizeof *x);
    x[0] = in->opnds[0];
    drop_use(p, in->opnds[1]);
    in->form = sum->form;
    in->form.mods[1] = MOD_sat;
    in->opnds = x;
    in->nopnds = sum->nopnds;
    for (int i = 1; i < in->nopnds; i++)
        if (is_reg(x[i]))
            p->regs.at[x[i].n].nuses++;
}

static int log2_exact(int64_t x)
{
    return is_power_of_two(x) ? log2_floor(x) : -1;
}

/* `in` is a multiplication that was not fused, or a division. If its second operand is a power of two, turns
 * the multiplication, or the division if it is unsigned, into a shift. */
static void cheapen(struct insn *in)
{
    struct opnd *y = &in->opnds[2];
    int log = is_imm(*y) ? log2_exact(y->i) : -1;
    bool is_unsigned = in->form.type == PT_u16 || in->form.type == PT_u32 || in->form.type == PT_u64;
    enum ptype bits = insn_bits(in) == 16 ? PT_b16 : insn_bits(in) == 32 ? PT_b32 : PT_b64;
    if (log < 0)
        return;
    if (in->form.code == INSN_mul_lo) {
        in->form = form_of(INSN_shl, bits);
        *y = opnd_int(CLASS_b32, log);
    } else if (in->form.code == INSN_div && is_unsigned) {
        in->form.code = INSN_shr;
        *y = opnd_int(CLASS_b32, log);
    }
}

/* Walks backwards, so that an addition is fused with its product before the product becomes a shift. */
void peep_fuse_block(struct peep *p, const struct mblock *b)
{
    for (int i = b->insns.n - 1; i >= 0; i--) {
        struct insn *in = b->insns.at[i];
        switch (in->form.code) {
        case INSN_add: fuse_add(p, b, in); break;
        case INSN_and: fuse_and(p, b, in); break;
        case INSN_not: fuse_not(p, b, in); break;
        case INSN_min: fuse_clamp(p, b, in); break;
        case INSN_selp: fuse_selp(p, b, in); break;
        case INSN_mul_lo:
        case INSN_div: cheapen(in); break;
        default: break;
        }
    }
}
