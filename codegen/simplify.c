/* SPDX-License-Identifier: MIT */
/* simplify.c: simplifies single instructions by constant folding, identities and reassociation of constants.
 *
 *     (x + 1) + y          =>     (x + y) + 1
 *     (x + 1) * 4          =>     x * 4 + 4
 *     wide((x + 1) * 4)    =>     wide(x * 4) + 4    where x + 1 cannot overflow
 *
 * After reassociation, all elements of a tile share x + y, and the constants end up in addresses. The sum x +
 * c cannot overflow if x is 0 in all bits in which the constant c is 1. The peephole knows which bits of each
 * register may be 1. An index is often the sum of a value that depends only on the thread, and of a constant
 * that differs from register to register. Sizes of tiles are powers of two, so the value and the constant
 * have no bits in common, and the sum does not overflow. */
#include "codegen/peephole.h"

#include <string.h>

static struct opnd imm_like(struct opnd x, int64_t i)
{
    return opnd_int(x.cls, i);
}

bool insn_is_integer(const struct insn *in)
{
    enum reg_class cls = ptype_info[in->form.type].cls;
    switch (in->form.type) {
    case PT_f16:
    case PT_bf16:
    case PT_f16x2:
    case PT_bf16x2: return false;
    default: return cls != CLASS_pred && cls != CLASS_f32 && cls != CLASS_f64;
    }
}

static uint64_t low_mask(int bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* Sign-extends the low `bits` bits of an integer. */
static int64_t sign_extend(uint64_t x, int bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((x & low_mask(bits)) ^ sign) - sign);
}

static bool is_stable(const struct peep *p, struct opnd x)
{
    return !is_reg(x) || p->regs.at[x.n].stable;
}

/* -- bits that may be 1 -- */

static uint64_t bits_of(const struct peep *p, struct opnd x)
{
    if (is_imm(x))
        return (uint64_t)x.i & low_mask(class_info[x.cls].bits);
    if (is_reg(x))
        return p->regs.at[x.n].bits;
    if (x.kind == OPND_special && x.n == SPECIAL_tid)
        return 2 * (UINT64_C(1) << (31 - __builtin_clz((unsigned)p->m->nthreads - 1))) - 1;
    return UINT64_MAX;
}

static uint64_t param_bits(const struct peep *p, int index)
{
    if (index >= p->m->func->params.n)
        return UINT64_MAX;
    uint64_t divisible = (uint64_t)p->m->func->params.at[index].divisible;
    uint64_t low = divisible & (0 - divisible);
    return low ? ~(low - 1) : UINT64_MAX;
}

/* Returns a mask of the lowest bit that is set in `bits` and of all higher bits. */
static uint64_t from_lowest(uint64_t bits)
{
    return bits ? ~((bits & (0 - bits)) - 1) : 0;
}

uint64_t peep_result_bits(const struct peep *p, const struct insn *in)
{
    const struct opnd *x = in->opnds;
    switch (in->form.code) {
    case INSN_mov: return bits_of(p, x[1]);
    case INSN_ld_param: return param_bits(p, x[1].n);
    case INSN_and: return bits_of(p, x[1]) & bits_of(p, x[2]);
    case INSN_or:
    case INSN_xor: return bits_of(p, x[1]) | bits_of(p, x[2]);
    case INSN_selp: return bits_of(p, x[1]) | bits_of(p, x[2]);
    case INSN_shl: return is_imm(x[2]) && x[2].i < 64 ? bits_of(p, x[1]) << x[2].i : UINT64_MAX;
    case INSN_shr:
        if (is_imm(x[2]) && x[2].i < 64 && !(bits_of(p, x[1]) >> (insn_bits(in) - 1) & 1))
            return bits_of(p, x[1]) >> x[2].i;
        return UINT64_MAX;
    case INSN_add: {
        uint64_t a = bits_of(p, x[1]), b = bits_of(p, x[2]);
        return a & b ? from_lowest(a | b) : a | b;
    }
    case INSN_mul_lo: {
        uint64_t a = from_lowest(bits_of(p, x[1])), b = from_lowest(bits_of(p, x[2]));
        return a && b ? from_lowest((a & (0 - a)) * (b & (0 - b))) : 0;
    }
    default: return UINT64_MAX;
    }
}

uint64_t peep_step_bits(const struct insn *in)
{
    const struct opnd *x = in->opnds;
    if (in->form.code == INSN_mov && is_imm(x[1]))
        return (uint64_t)x[1].i & low_mask(class_info[x[1].cls].bits);
    if (in->form.code == INSN_add && insn_is_integer(in) && is_imm(x[2]) && opnd_same(x[0], x[1]))
        return from_lowest((uint64_t)x[2].i);
    return UINT64_MAX;
}

/* -- simplification: `becomes`, cancel_xor and the functions named simplify_* return true if the instruction
 * is no longer needed; the functions that only rewrite an instruction return whether they have rewritten it
 * -- */

/* Replaces the result by x in all later instructions. If x is a constant, keeps the instruction as a move of
 * x, for the operands that must be registers. Does nothing if the result may not be replaced. */
static bool becomes(struct peep *p, struct insn *in, struct opnd x)
{
    struct reg_info *d = &p->regs.at[in->opnds[0].n];
    if (d->ndefs != 1 || in->guard >= 0 || x.cls != in->opnds[0].cls)
        return false;
    if (is_reg(x) ? !p->regs.at[x.n].stable : !is_imm(x))
        return false;
    d->alias = x;
    if (is_imm(x)) {
        in->form = form_mov(x.cls);
        in->nopnds = 2;
        in->opnds[1] = x;
    }
    return is_reg(x);
}

static bool simplify_mov(struct peep *p, struct insn *in)
{
    struct opnd x = in->opnds[1];
    return becomes(p, in, is_imm(x) ? opnd_as((enum reg_class)in->opnds[0].cls, x) : x);
}

static void rewrite(struct insn *in, enum insn_code code, int nopnds, struct opnd a, struct opnd b)
{
    in->form.code = (uint8_t)code;
    in->nopnds = (uint8_t)nopnds;
    in->opnds[1] = a;
    in->opnds[2] = b;
}

/* If x is z + c with a constant c, rewrites x + y as (z + y) + c, so that the constant comes last. */
static bool move_constant_out(struct peep *p, struct insn *in, struct opnd x, struct opnd y)
{
    const struct insn *inner = peep_def(p, x, INSN_add);
    if (!inner || !is_imm(inner->opnds[2]))
        return false;
    struct opnd c = inner->opnds[2];
    if (is_imm(y)) {
        in->opnds[1] = inner->opnds[1];
        in->opnds[2] = imm_like(y, sign_extend((uint64_t)c.i + (uint64_t)y.i, insn_bits(in)));
        return true;
    }
    in->opnds[1] = peep_make(p, in->form, 2, (struct opnd[]){inner->opnds[1], y});
    in->opnds[2] = c;
    return true;
}

static bool simplify_add(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (!insn_is_integer(in))
        return false;
    if (is_imm(x[1]) && is_imm(x[2]))
        return becomes(p, in,
                       imm_like(x[1], sign_extend((uint64_t)x[1].i + (uint64_t)x[2].i, insn_bits(in))));
    if (p->regs.at[x[0].n].ndefs == 1)
        while (move_constant_out(p, in, x[1], x[2]) || (is_reg(x[2]) && move_constant_out(p, in, x[2], x[1])))
            ;
    return opnd_is_imm(x[2], 0) && becomes(p, in, x[1]);
}

static bool simplify_sub(struct peep *p, struct insn *in)
{
    if (!insn_is_integer(in) || !is_imm(in->opnds[2]))
        return false;
    struct opnd negated = imm_like(in->opnds[2], sign_extend(0 - (uint64_t)in->opnds[2].i, insn_bits(in)));
    rewrite(in, INSN_add, 3, in->opnds[1], negated);
    return simplify_add(p, in);
}

/* Rewrites (x + c) * k as x * k + c * k. `factor` is k; the instruction is a multiplication or a left
 * shift. */
static bool distribute(struct peep *p, struct insn *in, uint64_t factor)
{
    const struct insn *inner = peep_def(p, in->opnds[1], INSN_add);
    if (!inner || !is_imm(inner->opnds[2]) || p->regs.at[in->opnds[0].n].ndefs != 1)
        return false;
    struct opnd c = inner->opnds[2];
    struct opnd product = peep_make(p, in->form, 2, (struct opnd[]){inner->opnds[1], in->opnds[2]});
    int bits = insn_bits(in);
    in->form.type = (uint8_t)(bits == 16 ? PT_s16 : bits == 32 ? PT_s32 : PT_s64);
    rewrite(in, INSN_add, 3, product, imm_like(c, sign_extend((uint64_t)c.i * factor, bits)));
    return true;
}

static bool simplify_shl(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (!is_imm(x[2]) || x[2].i >= insn_bits(in))
        return false;
    if (x[2].i == 0)
        return becomes(p, in, x[1]);
    if (is_imm(x[1]))
        return becomes(p, in, imm_like(x[1], sign_extend((uint64_t)x[1].i << x[2].i, insn_bits(in))));
    return distribute(p, in, UINT64_C(1) << x[2].i) && simplify_add(p, in);
}

static bool simplify_shr(struct peep *p, struct insn *in)
{
    const struct opnd *x = in->opnds;
    const int bits = insn_bits(in);
    if (!is_imm(x[2]) || x[2].i >= bits)
        return false;
    if (x[2].i == 0)
        return becomes(p, in, x[1]);
    const uint64_t value = (uint64_t)x[1].i & low_mask(bits);
    if (!is_imm(x[1]) || value >> (bits - 1)) /* the sign of a negative number depends on the type */
        return false;
    return becomes(p, in, imm_like(x[1], (int64_t)(value >> x[2].i)));
}

/* If x is a 32-bit sum y + c that cannot overflow, because y is 0 in all bits in which the constant c is 1,
 * returns the addition. Otherwise, returns NULL. */
static const struct insn *exact_add(const struct peep *p, struct opnd x)
{
    const struct insn *add = peep_def(p, x, INSN_add);
    if (!add || !is_imm(add->opnds[2]) || ptype_info[add->form.type].bits != 32)
        return NULL;
    int64_t c = add->opnds[2].i;
    return c > 0 && c <= INT32_MAX && !(bits_of(p, add->opnds[1]) & (uint64_t)c) ? add : NULL;
}

/* Rewrites wide(x + c) * factor as wide(x) * factor + c * factor. The instruction is a mul.wide, whose second
 * operand is rest[0], or a cvt without more operands, whose factor is 1. */
static bool widen_apart(struct peep *p, struct insn *in, int64_t factor, const struct opnd *rest, int nrest)
{
    const struct insn *add = exact_add(p, in->opnds[1]);
    if (!add || p->regs.at[in->opnds[0].n].ndefs != 1)
        return false;
    struct opnd x[2] = {add->opnds[1]};
    for (int i = 0; i < nrest; i++)
        x[1 + i] = rest[i];
    struct opnd wide = peep_make(p, in->form, 1 + nrest, x), *opnds = NEW_ARRAY(p->m->arena, 3, struct opnd);
    opnds[0] = in->opnds[0];
    in->opnds = opnds;
    in->form = form_of(INSN_add, PT_s64);
    rewrite(in, INSN_add, 3, wide, opnd_int(CLASS_b64, add->opnds[2].i * factor));
    return true;
}

static bool simplify_wide(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (in->form.type != PT_s32 || !is_imm(x[2]))
        return false;
    if (is_imm(x[1]))
        return becomes(p, in, opnd_int(CLASS_b64, x[1].i * x[2].i));
    return widen_apart(p, in, x[2].i, &x[2], 1) && simplify_add(p, in);
}

/* Returns whether x is the sign extension of a 32-bit value. If so, sets *narrow to this value, a register or a
 * constant. */
static bool sign_extended(const struct peep *p, struct opnd x, struct opnd *narrow)
{
    const struct insn *cvt = peep_def(p, x, INSN_cvt);
    if (is_imm(x)) {
        *narrow = opnd_int(CLASS_b32, x.i);
        return x.i == (int32_t)x.i;
    }
    if (!cvt || cvt->form.type != PT_s64 || cvt->form.from != PT_s32)
        return false;
    *narrow = cvt->opnds[1];
    return is_stable(p, *narrow);
}

/* cvt.s64.s32 x, a; cvt.s64.s32 y, b; mul.lo.s64 p, x, y    =>    mul.wide.s32 p, a, b */
static bool multiply_wide(struct peep *p, struct insn *in)
{
    struct opnd a, b;
    if (insn_bits(in) != 64 || is_imm(in->opnds[1]) || !sign_extended(p, in->opnds[1], &a) ||
        !sign_extended(p, in->opnds[2], &b))
        return false;
    in->form = form_of(INSN_mul_wide, PT_s32);
    rewrite(in, INSN_mul_wide, 3, a, b);
    return true;
}

static bool simplify_mul(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (multiply_wide(p, in))
        return simplify_wide(p, in);
    if (!is_imm(x[2]))
        return false;
    if (is_imm(x[1]))
        return becomes(p, in,
                       imm_like(x[1], sign_extend((uint64_t)x[1].i * (uint64_t)x[2].i, insn_bits(in))));
    if (x[2].i == 1)
        return becomes(p, in, x[1]);
    if (x[2].i == 0)
        return becomes(p, in, x[2]);
    return distribute(p, in, (uint64_t)x[2].i) && simplify_add(p, in);
}

/* If a first cvt rounds a float to the nearest integral float (.rni), and `in` converts this float to an
 * integer (.rzi), changes `in`: it reads the operand of the first cvt, and rounds by .rni itself. */
static void round_once(const struct peep *p, struct insn *in)
{
    const struct insn *before = in->form.mods[0] == MOD_rzi ? peep_def(p, in->opnds[1], INSN_cvt) : NULL;
    if (!before || before->form.from != before->form.type || before->form.type != in->form.from ||
        !is_stable(p, before->opnds[1]))
        return;
    if (before->form.mods[0] !=
        MOD_rni) /* results of .rmi and .rpi depend on whether the first cvt flushes subnormal numbers */
        return;
    in->form.mods[0] = MOD_rni;
    in->opnds[1] = before->opnds[1];
}

/* unpack {a, b}, x; cvt.f32.bf16 y, b    =>    and.b32 y, x, 0xffff0000
 *
 * A bf16 is the upper half of the f32 of the same value. (For the unpack and the cvt, ptxas would generate
 * two shifts: one of b to the lower half, and one back.) */
static bool widen_upper_half(struct peep *p, struct insn *in)
{
    const int64_t upper_half = -65536;
    const struct insn *unpack = peep_def(p, in->opnds[1], INSN_unpack);
    if (in->form.type != PT_f32 || in->form.from != PT_bf16 || !unpack || unpack->form.type != PT_b32 ||
        !opnd_same(unpack->opnds[1], in->opnds[1]) || !is_stable(p, unpack->opnds[2]))
        return false;
    struct opnd *x = NEW_ARRAY(p->m->arena, 3, struct opnd);
    x[0] = in->opnds[0];
    in->form = form_of(INSN_and, PT_b32);
    in->opnds = x;
    rewrite(in, INSN_and, 3, unpack->opnds[2], opnd_int(CLASS_b32, upper_half));
    return true;
}

static struct opnd low_half(struct peep *p, struct opnd x)
{
    struct form narrow = form_of(INSN_cvt, PT_u16);
    narrow.from = PT_u32;
    return peep_make(p, narrow, 1, &x);
}

static struct opnd shift_right(struct peep *p, struct opnd x, int by)
{
    return by ? peep_make(p, form_of(INSN_shr, PT_u32), 2, (struct opnd[]){x, opnd_int(CLASS_b32, by)}) : x;
}

/* Returns x | more as a register of 16 bits. x is a 32-bit register whose value needs at most 10 bits. If x
 * is a bit field of a word w, the code changes as follows:
 *
 *     shr a, w, 20; and x, a, 15    =>    shr.u32 a, w, 4; and b, a, 0x000f000f; or c, b, {more, more}; shr h, c, 16
 *
 * The new shr, `and` and `or` also extract the field of w that lies 16 bits above or below x. If the kernel
 * converts that field too, CSE merges the shr, `and` and `or` of both fields. If two results are packed into
 * a word, pack_high_halves removes the last shr. */
static struct opnd half_with(struct peep *p, struct opnd x, int64_t more)
{
    enum { HALF = 16 };
    const struct insn *masked = peep_def(p, x, INSN_and);
    int64_t mask = masked && is_imm(masked->opnds[2]) ? masked->opnds[2].i : 0, shift = 0;
    struct opnd word = mask > 0 ? masked->opnds[1] : x;
    const struct insn *shr = mask > 0 ? peep_def(p, word, INSN_shr) : NULL;
    if (shr && is_imm(shr->opnds[2])) {
        shift = shr->opnds[2].i;
        word = shr->opnds[1];
    }
    const int by = (int)(shift % HALF);
    if (mask <= 0 || shift >= 2 * HALF || mask << by > UINT16_MAX || !is_stable(p, word)) {
        word = x;
        mask = shift = 0;
    } else {
        struct opnd both[2] = {shift_right(p, word, by), opnd_int(CLASS_b32, mask | mask << HALF)};
        word = peep_make(p, form_of(INSN_and, PT_b32), 2, both);
    }
    word = peep_make(p, form_of(INSN_or, PT_b32), 2,
                     (struct opnd[]){word, opnd_int(CLASS_b32, mask ? more | more << HALF : more)});
    return low_half(p, shift < HALF ? word : shift_right(p, word, HALF));
}

/* cvt.rn.f16.s32 h, (x + c)    =>    or.b32 y, x, 0x6400; cvt.u16.u32 z, y; sub.rn.f16 h, z, 1024 - c
 *
 * The rewrite requires that x needs at most 10 bits, and that c is a constant from -1024 to 1024 (0 if there
 * is no addition). The f16 with the bits 0x6400 + x has the value 1024 + x. The constant 1024 - c and the
 * result of the sub are exact in f16. For bf16, x may need at most 7 bits: the bf16 with the bits 0x4300 + x
 * has the value 128 + x. The rewrite pays because conversions of integers have a quarter of the rate of other
 * instructions, and cannot convert two elements at once. */
static bool convert_few_bits(struct peep *p, struct insn *in)
{
    const bool is_bf16 = in->form.type == PT_bf16 && target_has(p->m->func->target, HAS_bf16_arith);
    const struct insn *first = is_bf16 ? peep_def(p, in->opnds[1], INSN_cvt) : in;
    const int64_t one = is_bf16 ? 128 : 1024;
    int64_t c = 0;
    if (!first || (!is_bf16 && in->form.type != PT_f16) || (is_bf16 && first->form.type != PT_f32) ||
        first->form.from != PT_s32 || !is_reg(first->opnds[1]) || !is_stable(p, first->opnds[1]))
        return false;
    struct opnd x = first->opnds[1];
    const struct insn *add = peep_def(p, x, INSN_add);
    if (bits_of(p, x) >= (uint64_t)one && add && is_imm(add->opnds[2]) && is_stable(p, add->opnds[1])) {
        x = add->opnds[1];
        c = add->opnds[2].i;
    }
    if (bits_of(p, x) >= (uint64_t)one || c < -one || c > one)
        return false;
    const enum dtype dt = is_bf16 ? DT_bf16 : DT_f16;
    struct form sub = form_of(INSN_sub, (enum ptype)in->form.type);
    sub.mods[0] = MOD_rn;
    struct opnd less = opnd_int(CLASS_b32, (int64_t)double_to_bits(dt, (double)(one - c))),
                y = half_with(p, x, (int64_t)double_to_bits(dt, (double)one)),
                *opnds = NEW_ARRAY(p->m->arena, 3, struct opnd);
    opnds[0] = in->opnds[0];
    in->opnds = opnds;
    in->form = sub;
    less = low_half(p, less);
    rewrite(in, INSN_sub, 3, y, less);
    return true;
}

static bool simplify_cvt(struct peep *p, struct insn *in)
{
    if (widen_upper_half(p, in) || convert_few_bits(p, in))
        return false;
    round_once(p, in);
    if (in->form.type != PT_s64 || in->form.from != PT_s32)
        return false;
    if (is_imm(in->opnds[1]))
        return becomes(p, in, opnd_int(CLASS_b64, (int32_t)in->opnds[1].i));
    return widen_apart(p, in, 1, NULL, 0) && simplify_add(p, in);
}

/* If x is a sum y + c with a constant c, and the sum cannot overflow (exact_add), returns y and sets *c to
 * this constant. Otherwise, returns x and sets *c to 0. */
static struct opnd split_exact(const struct peep *p, struct opnd x, int64_t *c)
{
    const struct insn *add = exact_add(p, x);
    *c = add ? add->opnds[2].i : 0;
    return add ? add->opnds[1] : x;
}

/* Returns whether predicate a implies predicate b. For example, x + 3 < n implies x + 1 < n. Such predicates
 * are the masks of neighbouring elements. */
static bool implies(const struct peep *p, struct opnd a, struct opnd b)
{
    const struct insn *m = peep_def(p, a, INSN_setp), *n = peep_def(p, b, INSN_setp);
    if (!m || !n || memcmp(&m->form, &n->form, sizeof m->form) || !opnd_same(m->opnds[2], n->opnds[2]) ||
        m->form.type != PT_s32)
        return false;
    int64_t c, d;
    if (!opnd_same(split_exact(p, m->opnds[1], &c), split_exact(p, n->opnds[1], &d)))
        return false;
    switch (m->form.mods[0]) {
    case MOD_lt:
    case MOD_le: return c >= d;
    case MOD_gt:
    case MOD_ge: return c <= d;
    default: return false;
    }
}

static bool simplify_not(struct peep *p, struct insn *in)
{
    const struct insn *inner = peep_def(p, in->opnds[1], INSN_not);
    if (is_imm(in->opnds[1]) && in->opnds[1].cls == CLASS_pred)
        return becomes(p, in, opnd_int(CLASS_pred, !in->opnds[1].i));
    return inner && becomes(p, in, inner->opnds[1]);
}

/* Simplifies x ^ (x ^ z) and x ^ (z ^ x) to z. */
static bool cancel_xor(struct peep *p, struct insn *in, struct opnd x, struct opnd y)
{
    const struct insn *inner = peep_def(p, y, INSN_xor);
    for (int i = 1; inner && i <= 2 && is_stable(p, x); i++)
        if (opnd_same(inner->opnds[i], x))
            return becomes(p, in, inner->opnds[3 - i]);
    return false;
}

/* The instruction is x & mask. If mask is 2^k - 1 and x is a sum of a register and a multiple of 2^k, drops
 * the multiple: (y + 512) & 63 becomes y & 63. Returns whether it dropped an addend. */
static bool drop_multiple(struct peep *p, struct insn *in, uint64_t mask)
{
    const struct insn *add = mask & (mask + 1) ? NULL : peep_def(p, in->opnds[1], INSN_add);
    for (int i = 1; add && i <= 2; i++)
        if (!(bits_of(p, add->opnds[i]) & mask) && is_reg(add->opnds[3 - i])) {
            in->opnds[1] = add->opnds[3 - i];
            return true;
        }
    return false;
}

static bool simplify_logic(struct peep *p, struct insn *in)
{
    struct opnd x = in->opnds[1], y = in->opnds[2];
    int code = in->form.code;
    if (code == INSN_xor && (cancel_xor(p, in, x, y) || cancel_xor(p, in, y, x)))
        return true;
    if (opnd_same(x, y) && is_reg(x))
        return becomes(p, in, code == INSN_xor ? imm_like(x, 0) : x);
    if (x.cls == CLASS_pred && code != INSN_xor && implies(p, x, y))
        return becomes(p, in, code == INSN_and ? x : y);
    if (x.cls == CLASS_pred && code != INSN_xor && implies(p, y, x))
        return becomes(p, in, code == INSN_and ? y : x);
    if (!is_imm(y))
        return false;
    uint64_t all = low_mask(class_info[y.cls].bits), b = (uint64_t)y.i & all;
    if (is_imm(x)) {
        uint64_t a = (uint64_t)x.i & all;
        uint64_t r = code == INSN_and ? a & b : code == INSN_or ? a | b : a ^ b;
        return becomes(
            p, in, imm_like(x, y.cls == CLASS_pred ? (int64_t)r : sign_extend(r, class_info[y.cls].bits)));
    }
    if (y.cls == CLASS_pred && b && code == INSN_xor) {
        in->form.code = INSN_not;
        in->nopnds = 2;
        return simplify_not(p, in);
    }
    if (b == 0)
        return becomes(p, in, code == INSN_and ? y : x);
    if (b == all && code != INSN_xor)
        return becomes(p, in, code == INSN_and ? x : y);
    while (code == INSN_and && insn_is_integer(in) && drop_multiple(p, in, b))
        x = in->opnds[1];
    if (code != INSN_and || !insn_is_integer(in))
        return false;
    const struct insn *add = b & (b + 1) ? NULL : peep_def(p, x, INSN_add);
    if (add && is_imm(add->opnds[2]) && !(bits_of(p, add->opnds[1]) & b))
        return becomes(p, in, imm_like(y, (int64_t)((uint64_t)add->opnds[2].i & b)));
    if (!(bits_of(p, x) & b))
        return becomes(p, in, imm_like(y, 0));
    return !(bits_of(p, x) & ~b) && becomes(p, in, x);
}

/* Rewrites a selection of integers such as x < y ? x : y as min or max. The GPU has no min and max of 64-bit
 * integers. So all selections between the same two 64-bit registers get the same comparison x < y, where x is
 * the register with the lower number, and CSE merges the comparisons. */
static void choose_by_order(struct peep *p, struct insn *in)
{
    const struct opnd *x = in->opnds;
    const struct insn *not = peep_def(p, x[3], INSN_not),
                      *setp = peep_def(p, not ? not ->opnds[1] : x[3], INSN_setp);
    if (!setp || !insn_is_integer(setp) || !is_stable(p, x[1]) || !is_stable(p, x[2]))
        return;
    enum mod mod = setp->form.mods[0];
    bool less = mod == MOD_lt || mod == MOD_le, greater = mod == MOD_gt || mod == MOD_ge;
    bool same = opnd_same(x[1], setp->opnds[1]) && opnd_same(x[2], setp->opnds[2]);
    bool swapped = opnd_same(x[1], setp->opnds[2]) && opnd_same(x[2], setp->opnds[1]);
    if (!(less || greater) || !(same || swapped))
        return;
    bool is_min = less ^ swapped ^ (not != NULL);
    if (insn_bits(setp) <= 32) {
        in->form = form_of(is_min ? INSN_min : INSN_max, setp->form.type);
        in->nopnds = 3;
        return;
    }
    if (!is_reg(x[1]) || !is_reg(x[2]))
        return;
    bool in_order = x[1].n < x[2].n;
    struct opnd first = x[in_order ? 1 : 2], second = x[in_order ? 2 : 1];
    struct form form = setp->form;
    form.mods[0] = MOD_lt;
    in->opnds[3] = peep_make(p, form, 2, (struct opnd[]){first, second});
    in->opnds[1] = is_min ? first : second;
    in->opnds[2] = is_min ? second : first;
}

/* selp d, x, y, q ^ (x < y)    =>    selp d, y, x, q ^ (y < x)        where register y has the lower number
 * selp d, x, y, (z == 0) ^ ..  =>    selp d, y, x, (z != 0) ^ ..      where z is 0 or 1
 *
 * A sort exchanges two integers if they are in the wrong order; z says which order is wrong. An exchange
 * consists of two selections. Whether equal integers are exchanged does not matter. So the conditions of both
 * selections can be built from the same comparisons (lt of x and y, ne of z and 0), and CSE merges these
 * comparisons. */
static void choose_by_turned_order(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    const struct insn * xor = peep_def(p, x[3], INSN_xor), *order = NULL, *turn = NULL;
    for (int i = 1; xor &&i <= 2 && !order; i++) {
        order = peep_def(p, xor->opnds[i], INSN_setp);
        turn = peep_def(p, xor->opnds[3 - i], INSN_setp);
        if (order && !(opnd_same(order->opnds[1], x[1]) && opnd_same(order->opnds[2], x[2])) &&
            !(opnd_same(order->opnds[1], x[2]) && opnd_same(order->opnds[2], x[1])))
            order = NULL;
    }
    if (!order || !turn || !insn_is_integer(order) || !insn_is_integer(turn) || !is_reg(x[1]) ||
        !is_reg(x[2]) || !is_stable(p, x[1]) || !is_stable(p, x[2]) || !is_imm(turn->opnds[1]) ||
        bits_of(p, turn->opnds[1]) > 1 || bits_of(p, turn->opnds[2]) > 1 || !is_stable(p, turn->opnds[2]))
        return;
    enum mod mod = order->form.mods[0], same = turn->form.mods[0];
    bool less = mod == MOD_lt, reversed = order->opnds[1].n > order->opnds[2].n;
    if ((!less && mod != MOD_gt) || (same != MOD_eq && same != MOD_ne))
        return;
    bool flips = (less == reversed) ^ (same == MOD_eq) ^ (turn->opnds[1].i != 0);
    struct form form[] = {order->form, turn->form};
    form[0].mods[0] = MOD_lt;
    form[1].mods[0] = MOD_ne;
    struct opnd low = order->opnds[reversed ? 2 : 1], high = order->opnds[reversed ? 1 : 2], y = x[1],
                parts[] = {
                    peep_make(p, form[1], 2, (struct opnd[]){imm_like(turn->opnds[1], 0), turn->opnds[2]}),
                    peep_make(p, form[0], 2, (struct opnd[]){low, high})};
    x[3] = peep_make(p, xor->form, 2, parts);
    if (flips) {
        x[1] = x[2];
        x[2] = y;
    }
}

static bool simplify_selp(struct peep *p, struct insn *in)
{
    const struct opnd *x = in->opnds;
    if (opnd_same(x[1], x[2]))
        return becomes(p, in, x[1]);
    if (is_imm(x[3]))
        return becomes(p, in, x[3].i ? x[1] : x[2]);
    choose_by_order(p, in);
    if (in->form.code == INSN_selp)
        choose_by_turned_order(p, in);
    return false;
}

static bool compare(enum mod mod, bool with_sign, int64_t x, int64_t y)
{
    int order = with_sign ? (x > y) - (x < y) : ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    switch (mod) {
    case MOD_eq: return order == 0;
    case MOD_ne: return order != 0;
    case MOD_lt: return order < 0;
    case MOD_le: return order <= 0;
    case MOD_gt: return order > 0;
    default: return order >= 0;
    }
}

static bool simplify_setp(struct peep *p, struct insn *in)
{
    const struct opnd *x = in->opnds;
    if (!insn_is_integer(in) || !is_imm(x[1]) || !is_imm(x[2]))
        return false;
    enum ptype t = in->form.type;
    bool with_sign = t == PT_s16 || t == PT_s32 || t == PT_s64;
    uint64_t mask = with_sign ? UINT64_MAX : low_mask(insn_bits(in));
    bool r = compare(in->form.mods[0], with_sign, (int64_t)((uint64_t)x[1].i & mask),
                     (int64_t)((uint64_t)x[2].i & mask));
    return becomes(p, in, opnd_int(CLASS_pred, r));
}

/* -- pairs of 16-bit floats -- */

static enum ptype pair_of(enum ptype t)
{
    return t == PT_f16 ? PT_f16x2 : t == PT_bf16 ? PT_bf16x2 : PT_none;
}

static const struct insn *any_def(const struct peep *p, struct opnd x)
{
    return is_reg(x) ? p->regs.at[x.n].def : NULL;
}

/* Returns whether both instructions have the same form, which has 16-bit floats as results, and PTX has a
 * packed version of this form (f16x2, bf16x2). */
static bool pairs_up(const struct insn *a, const struct insn *b)
{
    if (!a || !b || a->ndefs != 1 || memcmp(&a->form, &b->form, sizeof a->form))
        return false;
    switch (a->form.code) {
    case INSN_add:
    case INSN_sub:
    case INSN_mul:
    case INSN_fma:
    case INSN_min:
    case INSN_max: return pair_of(a->form.type) != PT_none;
    case INSN_cvt: return pair_of(a->form.type) != PT_none && a->form.from == PT_f32;
    default: return false;
    }
}

static bool are_used_once(const struct peep *p, struct opnd x, struct opnd y)
{
    return p->regs.at[x.n].nuses <= 1 && p->regs.at[y.n].nuses <= 1;
}

/* Returns whether packed instructions can compute low and high as the two halves of one register. They can in
 * three cases: low and high are the same register; they are the halves of an unpacked register; or two
 * instructions of equal form compute them from pairs of operands for which this function returns true. Any
 * other pair of registers needs a new pack instruction. *packs is the number of new packs that are still
 * allowed; the function subtracts the packs that it needs. simplify_pack allows one new pack, because the
 * rewrite removes the pack of the result. If the results of two instructions have other uses, the two
 * instructions stay, so the function then allows no new pack of their operands. */
static bool is_pair(const struct peep *p, struct opnd low, struct opnd high, int depth, int *packs)
{
    int none = 0;
    const struct insn *a = any_def(p, low), *b = any_def(p, high);
    if (is_reg(low) && opnd_same(low, high))
        return true;
    if (a && a == b && a->form.code == INSN_unpack && a->form.type == PT_b32)
        return opnd_same(a->opnds[0], low) && opnd_same(a->opnds[1], high);
    if (depth < p->m->func->module->params->peephole_pair_depth && pairs_up(a, b)) {
        bool are_pairs = true;
        int *left = are_used_once(p, low, high) ? packs : &none, before = *left;
        for (int i = 1; i < a->nopnds && a->form.code != INSN_cvt && are_pairs; i++)
            are_pairs = is_pair(p, a->opnds[i], b->opnds[i], depth + 1, left);
        if (are_pairs)
            return true;
        *left = before;
    }
    return depth > 0 && is_reg(low) && is_reg(high) && (*packs)-- > 0;
}

/* unpack {a, b}, w; shr.u16 c, a, 8; cvt.rn.f16.s8 d, a; cvt.rn.f16.s8 e, c; pack z, {d, e}
 *
 *      =>    xor.b32 x, w, 0x80808080; prmt y, x, 0x64646464, 0x4140; sub.rn.f16x2 z, y, {1152, 1152}
 *
 * The f16 whose high byte is 0x64 and whose low byte is b has the value 1024 + b (see convert_few_bits). If
 * the bytes are signed, the xor first adds 128 to each byte, and the sub subtracts 1024 + 128. If the bytes
 * are unsigned, there is no xor, and the sub subtracts 1024. */
static bool convert_bytes(struct peep *p, struct insn *in)
{
    enum {
        LOW_BYTES = 0x4140,
        HIGH_BYTES = 0x4342,
        BYTES_OF_1024 = 0x64646464,
        F16_1024 = 0x6400,
        F16_1152 = 0x6480
    };
    const int64_t signs = -0x7f7f7f80;
    const struct insn *a = any_def(p, in->opnds[1]), *b = any_def(p, in->opnds[2]);
    if (!a || !b || a->form.code != INSN_cvt || a->form.type != PT_f16 ||
        memcmp(&a->form, &b->form, sizeof a->form) || (a->form.from != PT_s8 && a->form.from != PT_u8))
        return false;
    const struct insn *second = peep_def(p, b->opnds[1], INSN_shr),
                      *unpack = peep_def(p, a->opnds[1], INSN_unpack);
    if (!second || !unpack || second->form.type != PT_u16 || !is_imm(second->opnds[2]) ||
        second->opnds[2].i != 8 || !opnd_same(second->opnds[1], a->opnds[1]) || unpack->form.type != PT_b32 ||
        !is_stable(p, unpack->opnds[2]))
        return false;
    const bool is_signed = a->form.from == PT_s8, is_high = opnd_same(unpack->opnds[1], a->opnds[1]);
    struct form narrow = form_of(INSN_cvt, PT_u16), sub = form_of(INSN_sub, PT_f16x2);
    narrow.from = PT_u32;
    sub.mods[0] = MOD_rn;
    struct opnd x[3] = {unpack->opnds[2], opnd_int(CLASS_b32, signs)}, less[2],
                *opnds = NEW_ARRAY(p->m->arena, 3, struct opnd);
    x[0] = is_signed ? peep_make(p, form_of(INSN_xor, PT_b32), 2, x) : x[0];
    x[1] = opnd_int(CLASS_b32, BYTES_OF_1024);
    x[2] = opnd_int(CLASS_b32, is_high ? HIGH_BYTES : LOW_BYTES);
    less[0] = opnd_int(CLASS_b32, is_signed ? F16_1152 : F16_1024);
    less[0] = less[1] = peep_make(p, narrow, 1, less);
    opnds[0] = in->opnds[0];
    in->opnds = opnds;
    in->form = sub;
    in->nvec = 0;
    less[0] = peep_make(p, form_of(INSN_pack, PT_b32), 2, less);
    x[0] = peep_make(p, form_of(INSN_prmt, PT_b32), 3, x);
    rewrite(in, INSN_sub, 3, x[0], less[0]);
    return true;
}

/* shr a, x, 16; cvt.u16.u32 c, a; shr b, y, 16; cvt.u16.u32 d, b; pack z, {c, d}
 *
 *      =>    prmt z, x, y, 0x7632 */
static bool pack_high_halves(const struct peep *p, struct insn *in)
{
    enum { HALF = 16, HIGH_HALVES = 0x7632 };
    struct opnd *x = NEW_ARRAY(p->m->arena, 4, struct opnd);
    for (int i = 1; i <= 2; i++) {
        const struct insn *narrow = peep_def(p, in->opnds[i], INSN_cvt);
        const struct insn *shr =
            narrow && narrow->form.from == PT_u32 ? peep_def(p, narrow->opnds[1], INSN_shr) : NULL;
        if (!shr || !is_imm(shr->opnds[2]) || shr->opnds[2].i != HALF || !is_stable(p, shr->opnds[1]))
            return false;
        x[i] = shr->opnds[1];
    }
    x[0] = in->opnds[0];
    x[3] = opnd_int(CLASS_b32, HIGH_HALVES);
    in->form = form_of(INSN_prmt, PT_b32);
    in->opnds = x;
    in->nopnds = 4;
    in->nvec = 0;
    return true;
}

/* unpack {a, b}, x; unpack {c, d}, y         (the unpacks and additions stay if they have other uses)
 *      add.f16 e, a, c; add.f16 f, b, d     =>    add.f16x2 z, x, y
 *      pack z, {e, f} */
static bool simplify_pack(struct peep *p, struct insn *in)
{
    enum { OPNDS_MOST = 3 };
    struct opnd low = in->opnds[1], high = in->opnds[2];
    int packs = 1;
    if (in->form.type == PT_b32 && in->nvec == 2 && (convert_bytes(p, in) || pack_high_halves(p, in)))
        return false;
    if (in->form.type != PT_b32 || p->regs.at[in->opnds[0].n].ndefs != 1 || !is_pair(p, low, high, 0, &packs))
        return false;
    const struct insn *a = any_def(p, low), *b = any_def(p, high);
    if (opnd_same(low, high))
        return false;
    if (a && a == b && a->form.code == INSN_unpack)
        return becomes(p, in, a->opnds[2]);
    struct opnd *x = NEW_ARRAY(p->m->arena, 1 + OPNDS_MOST, struct opnd);
    struct form form = a->form;
    form.type = (uint8_t)pair_of(form.type);
    x[0] = in->opnds[0];
    if (form.code == INSN_cvt) {
        form.code = INSN_cvt2;
        x[1] = b->opnds[1];
        x[2] = a->opnds[1];
    }
    for (int i = 1; i < a->nopnds && form.code != INSN_cvt2; i++)
        x[i] = peep_make(p, form_of(INSN_pack, PT_b32), 2, (struct opnd[]){a->opnds[i], b->opnds[i]});
    in->nopnds = (uint8_t)(form.code == INSN_cvt2 ? 3 : a->nopnds);
    in->form = form;
    in->nvec = 0;
    in->opnds = x;
    return false;
}

/* If x is the result of a cvt that converts a pair of f32 to fp8, and the upper f32 is the constant 0,
 * returns this cvt. Otherwise, returns NULL. */
static const struct insn *one_fp8(const struct peep *p, struct opnd x)
{
    const struct insn *cvt = any_def(p, x);
    bool is_one = cvt && cvt->form.code == INSN_cvt2 && ptype_info[cvt->form.type].bits == 16 &&
                  cvt->guard < 0 && is_imm(cvt->opnds[1]) && cvt->opnds[1].i == 0 &&
                  is_stable(p, cvt->opnds[2]);
    return is_one ? cvt : NULL;
}

/* cvt.e4m3x2 a, 0, x; cvt.e4m3x2 b, 0, y; cvt.e4m3x2 c, 0, v; cvt.e4m3x2 d, 0, w;
 *      pack t, {a, b}; pack u, {c, d}; prmt z, t, u, 0x6420
 *
 *      =>    cvt.e4m3x2 e, y, x; cvt.e4m3x2 f, w, v; pack z, {e, f} */
static void simplify_prmt(struct peep *p, struct insn *in)
{
    enum { BYTES_0_2_OF_BOTH = 0x6420 };
    const struct insn *packs[2] = {any_def(p, in->opnds[1]), any_def(p, in->opnds[2])}, *cvts[4];
    if (!is_imm(in->opnds[3]) || in->opnds[3].i != BYTES_0_2_OF_BOTH)
        return;
    for (int i = 0; i < 4; i++) {
        const struct insn *pack = packs[i / 2];
        bool is_pack = pack && pack->form.code == INSN_pack && pack->form.type == PT_b32 && pack->nvec == 2;
        cvts[i] = is_pack ? one_fp8(p, pack->opnds[1 + i % 2]) : NULL;
        if (!cvts[i] || memcmp(&cvts[i]->form, &cvts[0]->form, sizeof cvts[0]->form))
            return;
    }
    struct opnd *x = NEW_ARRAY(p->m->arena, 3, struct opnd);
    x[0] = in->opnds[0];
    for (int i = 0; i < 2; i++)
        x[1 + i] =
            peep_make(p, cvts[0]->form, 2, (struct opnd[]){cvts[2 * i + 1]->opnds[2], cvts[2 * i]->opnds[2]});
    in->form = form_of(INSN_pack, PT_b32);
    in->opnds = x;
    in->nopnds = 3;
    in->nvec = 2;
}

bool peep_simplify(struct peep *p, struct insn *in)
{
    if (in->guard >= 0)
        return false;
    switch (in->form.code) {
    case INSN_mov: return simplify_mov(p, in);
    case INSN_add: return simplify_add(p, in);
    case INSN_sub: return simplify_sub(p, in);
    case INSN_mul_lo: return simplify_mul(p, in);
    case INSN_mul_wide: return simplify_wide(p, in);
    case INSN_shl: return simplify_shl(p, in);
    case INSN_shr: return simplify_shr(p, in);
    case INSN_cvt: return simplify_cvt(p, in);
    case INSN_and:
    case INSN_or:
    case INSN_xor: return simplify_logic(p, in);
    case INSN_not: return simplify_not(p, in);
    case INSN_selp: return simplify_selp(p, in);
    case INSN_setp: return simplify_setp(p, in);
    case INSN_pack: return simplify_pack(p, in);
    case INSN_prmt: simplify_prmt(p, in); return false;
    default: return false;
    }
}
