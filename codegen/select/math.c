/* SPDX-License-Identifier: MIT */
/* math.c: selects elementary functions, one element at a time.
 *
 * Functions that the language defines as hardware approximations become one or two instructions. The code for
 * the other functions reduces the argument to a small interval, on which a polynomial approximates the
 * function (the polynomial interpolates at Chebyshev points). The largest errors over all floats, in ULPs:
 *
 *     log 0.9    log2 1.6    sin, cos 1.5    erf 1.1        remainder: exact
 *     exp, exp2, log, log2 of f64: at most 1 ULP from the C library's results, on the operands in the tests */
#include "codegen/select/select.h"

#include "ir/families.h"

#include <math.h>

static struct opnd f32(float x)
{
    return opnd_int(CLASS_f32, (int64_t)double_to_bits(DT_f32, (double)x));
}

static struct opnd b32(int64_t x)
{
    return opnd_int(CLASS_b32, x);
}

static struct opnd times(struct select *s, struct opnd x, struct opnd y)
{
    return emit2(s, form1(INSN_mul, PT_f32, MOD_rn), x, y);
}

static struct opnd fused(struct select *s, struct opnd x, struct opnd y, struct opnd z)
{
    return emit3(s, form1(INSN_fma, PT_f32, MOD_rn), x, y, z);
}

/* Computes c[0] + c[1] x + ... + c[n-1] x^(n-1). */
static struct opnd polynomial(struct select *s, int n, const float *c, struct opnd x)
{
    struct opnd sum = f32(c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = fused(s, sum, x, f32(c[i]));
    return sum;
}

static struct opnd select_f32(struct select *s, struct opnd c, struct opnd x, struct opnd y)
{
    return emit3(s, form0(INSN_selp, PT_f32), x, y, c);
}

/* -- exponentials -- */

double const_f32(const struct value *v)
{
    uint64_t bits = 0;
    bool is_const = elem_dtype(v->type) == DT_f32 && value_const_bits(v, &bits);
    return is_const ? bits_to_double(DT_f32, bits) : (double)NAN;
}

/* If o computes factor * v + c, v + c, v - c or c - v, where factor and c are constants, returns c, and sets
 * *factor (to 1 if o has no factor). Otherwise returns NaN. */
static double added_to(const struct op *o, const struct value *v, double *factor)
{
    bool is_second = op_opnd(o, 0) != v;
    *factor = o->code == OP_fma ? const_f32(op_opnd(o, !is_second)) : 1;
    switch (o->code) {
    case OP_add:
    case OP_sub: return const_f32(op_opnd(o, !is_second));
    case OP_fma: return const_f32(op_opnd(o, 2));
    default: return (double)NAN;
    }
}

/* Returns whether every use of v adds v to a constant so large that the sum does not depend on v if |v| is at
 * most `tiny`. Up to `steps` negations and multiplications by constants may be between v and the addition. */
static bool is_lost(const struct value *v, double tiny, int steps)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        double factor, sum = fabs(added_to(o, v, &factor)); /* NaN compares false */
        if (sum * 0x1p-26 >= fabs(factor) * tiny)
            continue;
        if (o->code == OP_mul)
            factor = const_f32(op_opnd(o, op_opnd(o, 0) == v));
        if ((o->code != OP_mul && o->code != OP_neg) || !steps ||
            !is_lost(op_result(o), fabs(factor) * tiny, steps - 1))
            return false;
    }
    return true;
}

bool is_lost_where_tiny(const struct value *v)
{
    return is_lost(v, 0x1p-126, 2);
}

static struct opnd exp_f32(struct select *s, const struct op *o, struct opnd x)
{
    static const float log2_e = 0x1.715476p+0f;
    enum mod ftz = is_lost_where_tiny(op_result(o)) ? MOD_ftz : MOD_none;
    return emit1(s, form2(INSN_ex2, PT_f32, MOD_approx, ftz), times(s, x, f32(log2_e)));
}

/* -- logarithms: x = 2^e m with m from 2/3 to 4/3, f = m - 1; log(1 + f) = f - f^2/2 + f^3 P(f) -- */

/* Returns whether v is known to be a positive normal number, positive infinity or NaN in all elements. The
 * function recognizes constants of at least 2^-126, the maximum of a recognized value and any value, the sum
 * of two recognized values, and the sum of a recognized value and the result of exp or exp2. `steps` bounds
 * the depth of the search. */
static bool is_normal(const struct value *v, int steps)
{
    const struct op *o = v->def;
    if (const_f32(v) >= 0x1p-126)
        return true;
    if (!o || (o->code != OP_max && o->code != OP_add) || !steps)
        return false;
    for (int i = 0; i < 2; i++) {
        const struct op *other = op_opnd(o, !i)->def;
        bool is_power = other && (other->code == OP_exp || other->code == OP_exp2);
        if (is_normal(op_opnd(o, i), steps - 1) &&
            (o->code == OP_max || is_power || is_normal(op_opnd(o, !i), steps - 1)))
            return true;
    }
    return false;
}

static struct opnd log_f32(struct select *s, const struct op *o, struct opnd x, bool to_base_2)
{
    static const float p[] = {0x1.555556p-2f,  -0x1.ffffb6p-3f, 0x1.999954p-3f,
                              -0x1.557832p-3f, 0x1.24b28cp-3f,  -0x1.f75896p-4f,
                              0x1.bf1afp-4f,   -0x1.fcd036p-4f, 0x1.d01a22p-4f};
    static const float ln_2 = 0x1.62e43p-1f, log2_e = 0x1.715476p+0f;
    enum { TWO_THIRDS = 0x3f2aaaab, MANTISSA = 23, LAST_FINITE = 0x7f7fffff, INFINITE, NORMAL_STEPS = 4 };
    const bool is_ordinary = is_normal(op_opnd(o, 0), NORMAL_STEPS);
    struct opnd y = x, shift = f32(0);
    if (!is_ordinary) {
        struct opnd tiny = emit2(s, form1(INSN_setp, PT_f32, MOD_lt), x, f32(0x1p-126f));
        y = select_f32(s, tiny, times(s, x, f32(0x1p23f)), x);
        shift = select_f32(s, tiny, f32(-23), f32(0));
    }
    struct opnd bits = emit_bits(s, CLASS_b32, y);
    struct opnd exponent = emit2(s, form0(INSN_sub, PT_s32), bits, b32(TWO_THIRDS));
    exponent = emit2(s, form0(INSN_and, PT_b32), exponent, b32(-(INT64_C(1) << MANTISSA)));
    struct opnd m = emit_bits(s, CLASS_f32, emit2(s, form0(INSN_sub, PT_s32), bits, exponent));
    struct opnd e = emit1(s, form_cvt(PT_f32, PT_s32, MOD_rn), exponent); /* the exponent times 2^23 */
    e = is_ordinary ? times(s, e, f32(0x1p-23f)) : fused(s, e, f32(0x1p-23f), shift);
    struct opnd f = emit2(s, form1(INSN_add, PT_f32, MOD_rn), m, f32(-1));
    struct opnd sum = fused(s, polynomial(s, 9, p, f), f, f32(-0.5f));
    sum = fused(s, sum, times(s, f, f), f);
    sum = to_base_2 ? fused(s, sum, f32(log2_e), e) : fused(s, e, f32(ln_2), sum);
    if (is_ordinary) /* the logarithm of infinity or NaN is x itself */
        return select_f32(s, emit2(s, form1(INSN_setp, PT_u32, MOD_lt), bits, b32(INFINITE)), sum, x);
    struct opnd from_one = emit2(s, form0(INSN_sub, PT_s32), emit_bits(s, CLASS_b32, x), b32(1));
    struct opnd ordinary = emit2(s, form1(INSN_setp, PT_u32, MOD_lt), from_one, b32(LAST_FINITE));
    return select_f32(s, ordinary, sum,
                      /* lg2.approx returns the right result for 0, infinity, negative numbers and NaN */
                      emit1(s, form1(INSN_lg2, PT_f32, MOD_approx), x));
}

/* -- sine and cosine: x = q pi/2 + r with |r| at most pi/4 -- */

struct quarter {
    struct opnd q, r;
};

static struct quarter reduce_near(struct select *s, struct opnd x)
{
    static const float two_over_pi = 0x1.45f306p-1f,
                       pi_2[] = {0x1.921fb6p+0f, -0x1.777a5cp-25f, -0x1.ee59dap-50f};
    struct quarter t = {.q = emit1(s, form_cvt(PT_s32, PT_f32, MOD_rni), times(s, x, f32(two_over_pi))),
                        .r = x};
    struct opnd k = emit1(s, form_cvt(PT_f32, PT_s32, MOD_rn), t.q);
    for (int i = 0; i < 3; i++)
        t.r = fused(s, k, f32(-pi_2[i]), t.r);
    return t;
}

/* Selects the 32-bit word number first + i of the binary expansion of 2/pi; word 0 is the most significant. i
 * is a register with a value from 0 to 4. */
static struct opnd word_of_two_over_pi(struct select *s, struct opnd i, int first)
{
    static const uint32_t words[] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1,
                                     0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab};
    struct opnd w = b32(words[first]);
    for (int k = 1; k <= 4; k++) {
        struct opnd from = emit2(s, form1(INSN_setp, PT_s32, MOD_ge), i, b32(k));
        w = emit3(s, form0(INSN_selp, PT_b32), b32(words[first + k]), w, from);
    }
    return w;
}

static struct opnd shift_left(struct select *s, struct opnd high, struct opnd low, struct opnd n)
{
    return emit3(s, form0(INSN_shf_l, PT_b32), low, high, n);
}

static struct opnd high_word(struct select *s, struct opnd x)
{
    x = emit2(s, form0(INSN_shr, PT_u64), x, b32(32));
    return emit1(s, form_cvt(PT_u32, PT_u64, MOD_none), x);
}

/* Reduces a large x = m 2^e, where m is the mantissa as an integer. Selects the 96 bits of 2/pi whose product
 * with m gives the lowest two integer bits and the fraction of x / (pi/2). */
static struct quarter reduce_far(struct select *s, struct opnd x)
{
    struct opnd bits = emit_bits(s, CLASS_b32, x),
                n = emit2(s, form0(INSN_and, PT_b32), bits, b32(0x7fffffff));
    struct opnd m = emit2(s, form0(INSN_and, PT_b32), bits, b32(0x7fffff));
    m = emit2(s, form0(INSN_or, PT_b32), m, b32(0x800000));
    struct opnd at = emit2(s, form0(INSN_shr, PT_u32), n, b32(23));
    /* the position of the first of these 96 bits in the expansion */
    at = emit2(s, form0(INSN_add, PT_s32), at, b32(30 - 150));
    struct opnd i = emit2(s, form0(INSN_shr, PT_u32), at, b32(5)),
                shift = emit2(s, form0(INSN_and, PT_b32), at, b32(31));
    struct opnd w[4];
    for (int k = 0; k < 4; k++)
        w[k] = word_of_two_over_pi(s, i, k);
    struct opnd low = emit2(s, form0(INSN_mul_wide, PT_u32), m, shift_left(s, w[2], w[3], shift));
    struct opnd carry = emit2(s, form0(INSN_shr, PT_u64), low, b32(32));
    struct opnd middle = emit3(s, form0(INSN_mad_wide, PT_u32), m, shift_left(s, w[1], w[2], shift), carry);
    struct opnd above = high_word(s, middle);
    struct opnd high = emit3(s, form0(INSN_mad_lo, PT_u32), m, shift_left(s, w[0], w[1], shift), above);
    struct opnd turn[] = {mir_reg(s->m, CLASS_b64), emit1(s, form_cvt(PT_u32, PT_u64, MOD_none), middle),
                          high};
    emit_insn(s, form0(INSN_pack, PT_b64), 1, 3, turn)->nvec = 2;
    struct opnd rounded = emit2(s, form0(INSN_add, PT_s64), turn[0], opnd_int(CLASS_b64, INT64_C(1) << 61));
    struct opnd q =
        emit1(s, form_cvt(PT_u32, PT_u64, MOD_none), emit2(s, form0(INSN_shr, PT_u64), rounded, b32(62)));
    struct opnd rest = emit2(s, form0(INSN_shl, PT_b64), turn[0], b32(2));
    struct opnd scale =
        opnd_int(CLASS_f64, (int64_t)double_to_bits(DT_f64, 0x1.921fb54442d18p-64)); /* pi/2 * 2^-64 */
    rest = emit2(s, form1(INSN_mul, PT_f64, MOD_rn), emit1(s, form_cvt(PT_f64, PT_s64, MOD_rn), rest), scale);
    struct opnd r = emit1(s, form_cvt(PT_f32, PT_f64, MOD_rn), rest);
    struct opnd negative = emit2(s, form1(INSN_setp, PT_s32, MOD_lt), bits, b32(0));
    struct quarter t;
    t.q = emit3(s, form0(INSN_selp, PT_b32), emit1(s, form0(INSN_neg, PT_s32), q), q, negative);
    t.r = select_f32(s, negative, emit1(s, form0(INSN_neg, PT_f32), r), r);
    struct opnd infinite =
        emit2(s, form1(INSN_setp, PT_u32, MOD_ge), n, b32(0x7f800000)); /* infinite, or NaN */
    t.r = select_f32(s, infinite, emit_bits(s, CLASS_f32, b32(0x7fffffff)), t.r);
    return t;
}

/* Reduces x. Threads with a large argument branch to reduce_far, which takes three times as long as
 * reduce_near; few arguments are large. */
static struct quarter reduce_quarter(struct select *s, struct opnd x)
{
    struct quarter near = reduce_near(s, x);
    struct quarter t = {mir_reg(s->m, CLASS_b32), mir_reg(s->m, CLASS_f32)};
    emit_mov(s, t.q, near.q);
    emit_mov(s, t.r, near.r);
    struct opnd is_near =
        emit2(s, form1(INSN_setp, PT_f32, MOD_lt), emit1(s, form0(INSN_abs, PT_f32), x), f32(0x1p16f));
    struct insn *skip = emit_jump(s, is_near, false);
    struct mblock *before = s->b;
    s->b = mir_block(s->m, before->index, before->depth);
    struct quarter far = reduce_far(s, x);
    emit_mov(s, t.q, far.q);
    emit_mov(s, t.r, far.r);
    s->b = mir_block(s->m, before->index, before->depth);
    jump_to(skip, s->b);
    return t;
}

static struct opnd sin_f32(struct select *s, struct opnd x, bool cosine)
{
    static const float sines[] = {-0x1.555556p-3f, 0x1.11110ep-7f, -0x1.a013a4p-13f, 0x1.6dbcfcp-19f};
    static const float cosines[] = {-0.5f, 0x1.555556p-5f, -0x1.6c16cp-10f, 0x1.a015c2p-16f,
                                    -0x1.25239ap-22f};
    struct quarter t = reduce_quarter(s, x);
    struct opnd z = times(s, t.r, t.r);
    struct opnd sine = fused(s, times(s, polynomial(s, 4, sines, z), z), t.r, t.r);
    struct opnd cosine_of_r = fused(s, polynomial(s, 5, cosines, z), z, f32(1));
    struct opnd q = cosine ? emit2(s, form0(INSN_add, PT_s32), t.q, b32(1)) : t.q;
    struct opnd odd =
        emit2(s, form1(INSN_setp, PT_s32, MOD_ne), emit2(s, form0(INSN_and, PT_b32), q, b32(1)), b32(0));
    struct opnd lower =
        emit2(s, form1(INSN_setp, PT_s32, MOD_ne), emit2(s, form0(INSN_and, PT_b32), q, b32(2)), b32(0));
    struct opnd v = select_f32(s, odd, cosine_of_r, sine);
    v = select_f32(s, lower, emit1(s, form0(INSN_neg, PT_f32), v), v);
    return cosine ? v
                  /* for x = 0 or -0 (both compare equal to 0), the sine is x itself */
                  : select_f32(s, emit2(s, form1(INSN_setp, PT_f32, MOD_eq), x, f32(0)), x, v);
}

/* -- error function: x + x P(x^2) for |x| < 1; otherwise 1 - 2^Q(min(|x|, 4)) -- */

static struct opnd erf_f32(struct select *s, struct opnd x)
{
    static const float p[] = {0x1.06eba8p-3f, -0x1.812746p-2f,  0x1.ce2f08p-4f,  -0x1.b829c8p-6f,
                              0x1.562a6p-8f,  -0x1.bccf66p-11f, 0x1.d88750p-14f, -0x1.445f48p-17f};
    static const float q[] = {0x1.3ae804p-11f, -0x1.a19798p+0f, -0x1.d20f48p-1f, -0x1.4820a6p-3f,
                              0x1.4046fcp-5f,  -0x1.dee208p-8f, 0x1.036114p-10f, -0x1.78f942p-14f,
                              0x1.4198fcp-18f, -0x1.d5d90cp-24f};
    struct opnd a = emit1(s, form0(INSN_abs, PT_f32), x);
    struct opnd near = fused(s, x, polynomial(s, 8, p, times(s, x, x)), x);
    struct opnd clamped = emit2(s, form0(INSN_min, PT_f32), a, f32(4));
    struct opnd rest = emit1(s, form2(INSN_ex2, PT_f32, MOD_approx, MOD_ftz), polynomial(s, 10, q, clamped));
    struct opnd far = emit_bits(s, CLASS_b32, emit2(s, form1(INSN_sub, PT_f32, MOD_rn), f32(1), rest));
    struct opnd sign =
        emit2(s, form0(INSN_and, PT_b32), emit_bits(s, CLASS_b32, x), b32(-(INT64_C(1) << 31)));
    far = emit_bits(s, CLASS_f32, emit2(s, form0(INSN_or, PT_b32), far, sign));
    return select_f32(s, emit2(s, form1(INSN_setp, PT_f32, MOD_ge), a, f32(1)), far, near);
}

/* -- f64. e^x and 2^x are computed from Taylor's series of e^r for |r| up to ln 2 / 2. The first omitted term
 * is 4e-18 times the sum. log(1 + f) is computed as f - s (f - R), with s = f / (2 + f) and R = s^2 (2/3 +
 * s^2 (2/5 + ...)), for f from -0.3 to 0.42 -- */

static const double ln_2_high = 0x1.62e42fe000000p-1, ln_2_low = 0x1.f473de6af278fp-30,
                    log2_of_e = 0x1.71547652b82fep+0;

static struct opnd f64(double x)
{
    return opnd_int(CLASS_f64, (int64_t)double_to_bits(DT_f64, x));
}

static struct opnd fused_f64(struct select *s, struct opnd x, struct opnd y, struct opnd z)
{
    return emit3(s, form1(INSN_fma, PT_f64, MOD_rn), x, y, z);
}

static struct opnd times_f64(struct select *s, struct opnd x, struct opnd y)
{
    return emit2(s, form1(INSN_mul, PT_f64, MOD_rn), x, y);
}

static struct opnd polynomial_f64(struct select *s, int n, const double *c, struct opnd x)
{
    struct opnd sum = f64(c[n - 1]);
    for (int i = n - 2; i >= 0; i--)
        sum = fused_f64(s, sum, x, f64(c[i]));
    return sum;
}

/* Returns 2^n as an f64; n is a 32-bit integer, for which 2^n is a normal number. */
static struct opnd power_of_2(struct select *s, struct opnd n)
{
    enum { BIAS = 1023, MANTISSA = 52 };
    n = emit1(s, form_cvt(PT_s64, PT_s32, MOD_none), emit2(s, form0(INSN_add, PT_s32), n, b32(BIAS)));
    return emit_bits(s, CLASS_f64, emit2(s, form0(INSN_shl, PT_b64), n, b32(MANTISSA)));
}

/* Computes e^x, or 2^x if of_2 is set. If |x| exceeds 760 (for 2^x: 1100), the result is 0 or infinity, which
 * the last instructions select. Multiplies e^r by 2^n in two steps, each with half of the exponent n, so that
 * a subnormal result is rounded only once. */
static struct opnd exp_f64(struct select *s, struct opnd x, bool of_2)
{
    static const double taylor[] = {0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000000p-1,
                                    0x1.5555555555555p-3,  0x1.5555555555555p-5,  0x1.1111111111111p-7,
                                    0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13, 0x1.a01a01a01a01ap-16,
                                    0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22, 0x1.ae64567f544e4p-26,
                                    0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33};
    enum { MOST = 1100, MOST_OF_E = 760 };
    double most = of_2 ? MOST : MOST_OF_E;
    struct opnd near = of_2 ? x : times_f64(s, x, f64(log2_of_e));
    struct opnd n = emit1(s, form_cvt(PT_s32, PT_f64, MOD_rni), near);
    n = emit2(s, form0(INSN_max, PT_s32), emit2(s, form0(INSN_min, PT_s32), n, b32(MOST)), b32(-MOST));
    struct opnd k = emit1(s, form_cvt(PT_f64, PT_s32, MOD_rn), n), r;
    if (of_2) {
        r = times_f64(s, emit2(s, form1(INSN_sub, PT_f64, MOD_rn), x, k), f64(0x1.62e42fefa39efp-1));
    } else {
        r = fused_f64(s, k, f64(-ln_2_high), x);
        r = fused_f64(s, k, f64(-ln_2_low), r);
    }
    struct opnd y = polynomial_f64(s, 14, taylor, r), half = emit2(s, form0(INSN_shr, PT_s32), n, b32(1));
    y = times_f64(s, y, power_of_2(s, half));
    y = times_f64(s, y, power_of_2(s, emit2(s, form0(INSN_sub, PT_s32), n, half)));
    struct opnd low = emit2(s, form1(INSN_setp, PT_f64, MOD_lt), x, f64(-most)),
                high = emit2(s, form1(INSN_setp, PT_f64, MOD_gt), x, f64(most));
    y = emit3(s, form0(INSN_selp, PT_f64), f64(0), y, low);
    return emit3(s, form0(INSN_selp, PT_f64), f64((double)INFINITY), y, high);
}

static struct opnd log_f64(struct select *s, struct opnd x, bool to_base_2)
{
    static const double series[] = {0x1.5555555555555p-1, 0x1.999999999999ap-2, 0x1.2492492492492p-2,
                                    0x1.c71c71c71c71cp-3, 0x1.745d1745d1746p-3, 0x1.3b13b13b13b14p-3,
                                    0x1.1111111111111p-3, 0x1.e1e1e1e1e1e1ep-4, 0x1.af286bca1af28p-4,
                                    0x1.8618618618618p-4};
    enum { MANTISSA = 52 };
    const int64_t sqrt_half = 0x3fe6a09e667f3bcd, infinity = 0x7ff0000000000000;
    struct opnd tiny = emit2(s, form1(INSN_setp, PT_f64, MOD_lt), x, f64(0x1p-1022));
    struct opnd y = emit3(s, form0(INSN_selp, PT_f64), times_f64(s, x, f64(0x1p54)), x, tiny);
    struct opnd bits = emit_bits(s, CLASS_b64, y);
    struct opnd e = emit2(s, form0(INSN_sub, PT_s64), bits, opnd_int(CLASS_b64, sqrt_half));
    e = emit2(s, form0(INSN_shr, PT_s64), e, b32(MANTISSA));
    struct opnd scale = emit2(s, form0(INSN_shl, PT_b64), e, b32(MANTISSA));
    struct opnd m = emit_bits(s, CLASS_f64, emit2(s, form0(INSN_sub, PT_s64), bits, scale));
    struct opnd n = emit1(s, form_cvt(PT_f64, PT_s64, MOD_rn), e);
    n = emit2(s, form1(INSN_add, PT_f64, MOD_rn), n,
              emit3(s, form0(INSN_selp, PT_f64), f64(-54), f64(0), tiny));
    struct opnd f = emit2(s, form1(INSN_add, PT_f64, MOD_rn), m, f64(-1));
    struct opnd q =
        emit2(s, form1(INSN_div, PT_f64, MOD_rn), f, emit2(s, form1(INSN_add, PT_f64, MOD_rn), f, f64(2)));
    struct opnd z = times_f64(s, q, q), rest = times_f64(s, z, polynomial_f64(s, 10, series, z));
    /* f - log(1 + f) */
    rest = times_f64(s, q, emit2(s, form1(INSN_sub, PT_f64, MOD_rn), f, rest));
    struct opnd sum;
    if (to_base_2) {
        sum = emit2(s, form1(INSN_sub, PT_f64, MOD_rn), f, rest);
        sum = fused_f64(s, sum, f64(log2_of_e), n);
    } else {
        rest = fused_f64(s, n, f64(-ln_2_low), rest);
        sum = emit2(s, form1(INSN_sub, PT_f64, MOD_rn), f, rest);
        sum = fused_f64(s, n, f64(ln_2_high), sum);
    }
    struct opnd special = emit_bits(s, CLASS_b64, x); /* if x is infinity or NaN, the result is x */
    special = emit2(s, form1(INSN_setp, PT_s64, MOD_ge), special, opnd_int(CLASS_b64, infinity));
    sum = emit3(s, form0(INSN_selp, PT_f64), x, sum, special);
    struct opnd zero = emit2(s, form1(INSN_setp, PT_f64, MOD_eq), x, f64(0)),
                wrong = emit2(s, form1(INSN_setp, PT_f64, MOD_lt), x, f64(0));
    sum = emit3(s, form0(INSN_selp, PT_f64), f64(-(double)INFINITY), sum, zero);
    struct opnd is_nan = emit2(s, form1(INSN_setp, PT_f64, MOD_nan), x, x);
    sum = emit3(s, form0(INSN_selp, PT_f64), x, sum, is_nan);
    return emit3(s, form0(INSN_selp, PT_f64), f64((double)NAN), sum, wrong);
}

/* -- the ops -- */

static struct opnd math_f32(struct select *s, const struct op *o, struct opnd x)
{
    bool exact = op_int(o, ATTR_round) != ROUND_none;
    switch ((enum math_op)o->code) {
    case MATH_OP_exp: return exp_f32(s, o, x);
    case MATH_OP_exp2: return emit1(s, form2(INSN_ex2, PT_f32, MOD_approx, MOD_ftz), x);
    case MATH_OP_log: return log_f32(s, o, x, false);
    case MATH_OP_log2: return log_f32(s, o, x, true);
    case MATH_OP_sin: return sin_f32(s, x, false);
    case MATH_OP_cos: return sin_f32(s, x, true);
    case MATH_OP_erf: return erf_f32(s, x);
    case MATH_OP_sqrt:
        if (exact)
            return emit1(s, form2(INSN_sqrt, PT_f32, rounding_mod(o), flush_mod(o)), x);
        return emit1(s, form2(INSN_sqrt, PT_f32, MOD_approx, MOD_ftz), x);
    case MATH_OP_rsqrt: return emit1(s, form2(INSN_rsqrt, PT_f32, MOD_approx, MOD_ftz), x);
    case MATH_OP_floor: return emit1(s, form_cvt2(PT_f32, PT_f32, MOD_rmi, MOD_ftz), x);
    case MATH_OP_ceil: return emit1(s, form_cvt2(PT_f32, PT_f32, MOD_rpi, MOD_ftz), x);
    case MATH_OP_rint: return emit1(s, form_cvt2(PT_f32, PT_f32, MOD_rni, MOD_ftz), x);
    }
    diag_bug(s->diag, o->loc, "no instructions for '%s'", op_info[o->code].name);
}

static struct opnd math_f64(struct select *s, const struct op *o, struct opnd x)
{
    struct opnd one = f64(1);
    switch ((enum math_op)o->code) {
    case MATH_OP_exp: return exp_f64(s, x, false);
    case MATH_OP_exp2: return exp_f64(s, x, true);
    case MATH_OP_log: return log_f64(s, x, false);
    case MATH_OP_log2: return log_f64(s, x, true);
    case MATH_OP_sqrt: return emit1(s, form1(INSN_sqrt, PT_f64, rounding_mod(o)), x);
    case MATH_OP_rsqrt:
        return emit2(s, form1(INSN_div, PT_f64, MOD_rn), one, emit1(s, form1(INSN_sqrt, PT_f64, MOD_rn), x));
    case MATH_OP_floor: return emit1(s, form_cvt(PT_f64, PT_f64, MOD_rmi), x);
    case MATH_OP_ceil: return emit1(s, form_cvt(PT_f64, PT_f64, MOD_rpi), x);
    case MATH_OP_rint: return emit1(s, form_cvt(PT_f64, PT_f64, MOD_rni), x);
    case MATH_OP_sin:
    case MATH_OP_cos:
    case MATH_OP_erf: select_unsupported(s, "this function of float64");
    }
    diag_bug(s->diag, o->loc, "no instructions for '%s'", op_info[o->code].name);
}

struct opnd select_math(struct select *s, const struct op *o, const struct opnd *x)
{
    enum dtype dt = elem_dtype(op_result(o)->type);
    if (dt == DT_f64)
        return math_f64(s, o, x[0]);
    return narrow_from_f32(s, dt, math_f32(s, o, widen_to_f32(s, dt, x[0])), ROUND_rn);
}

/* -- remainder -- */

/* The constants of a float type for the computation of the remainder of r = |x| and d = |y|. A step replaces
 * r by r - trunc(r / d) d. The new r is exact because the division rounds toward zero. The quotient has only
 * the leading bits of r / d, so the step is repeated while r >= d. While r is so large that r / d could
 * overflow, the step uses d times a power of two instead of d. */
struct remainder {
    enum ptype type;
    enum reg_class cls;
    int64_t far, infinity, nan; /* the bits of the power of two, of infinity and of NaN */
};

static const struct remainder remainder_f32 = {PT_f32, CLASS_f32, 0x7e800000, 0x7f800000,
                                               0x7fc00000}; /* far is 2^126 */
static const struct remainder remainder_f64 = {PT_f64, CLASS_f64, 0x7fd0000000000000, 0x7ff0000000000000,
                                               0x7ff8000000000000};

static struct opnd remainder_step(struct select *s, const struct remainder *t, struct opnd r, struct opnd d)
{
    struct opnd quotient = emit2(s, form1(INSN_div, t->type, MOD_rz), r, d);
    quotient = emit1(s, form_cvt(t->type, t->type, MOD_rzi), quotient);
    return emit3(s, form1(INSN_fma, t->type, MOD_rn), emit1(s, form0(INSN_neg, t->type), quotient), d, r);
}

bool math_jumps(const struct op *o)
{
    return o->code == OP_sin || o->code == OP_cos || o->code == OP_frem;
}

static struct opnd remainder_of(struct select *s, const struct remainder *t, struct opnd x, struct opnd y)
{
    struct opnd start = emit1(s, form0(INSN_abs, t->type), x), d = emit1(s, form0(INSN_abs, t->type), y);
    struct opnd far = emit2(s, form1(INSN_mul, t->type, MOD_rn), d, opnd_int(t->cls, t->far));
    struct opnd farther = emit2(s, form1(INSN_mul, t->type, MOD_rn), far, opnd_int(t->cls, t->far));
    struct opnd finite = emit2(s, form1(INSN_setp, t->type, MOD_lt), start, opnd_int(t->cls, t->infinity));
    struct opnd divides = emit2(s, form1(INSN_setp, t->type, MOD_gt), d, opnd_int(t->cls, 0));
    struct opnd legal = pred_and(s, finite, divides), r = mir_reg(s->m, t->cls);
    emit_mov(s, r, start);
    struct mblock *before = s->b, *head = s->b = mir_block(s->m, before->index, before->depth + 1);
    struct opnd more = pred_and(s, emit2(s, form1(INSN_setp, t->type, MOD_ge), r, d), legal);
    struct insn *leave = emit_jump(s, more, true);
    s->b = mir_block(s->m, head->index, head->depth);
    struct opnd by =
        emit3(s, form0(INSN_selp, t->type), far, d, emit2(s, form1(INSN_setp, t->type, MOD_ge), r, far));
    by = emit3(s, form0(INSN_selp, t->type), farther, by,
               emit2(s, form1(INSN_setp, t->type, MOD_ge), r, farther));
    emit_mov(s, r, remainder_step(s, t, r, by));
    jump_to(emit_jump(s, (struct opnd){.kind = OPND_none}, false), head);
    s->b = mir_block(s->m, head->index, before->depth);
    jump_to(leave, s->b);
    struct opnd minus = emit1(s, form0(INSN_neg, t->type), r);
    enum ptype bits = t->cls == CLASS_f64 ? PT_b64 : PT_b32;
    struct opnd sign = emit_bits(s, ptype_info[bits].cls, x);
    struct opnd negative =
        emit2(s, form1(INSN_setp, bits == PT_b64 ? PT_s64 : PT_s32, MOD_lt), sign, opnd_int(sign.cls, 0));
    struct opnd result = emit3(s, form0(INSN_selp, t->type), minus, r, negative);
    return emit3(s, form0(INSN_selp, t->type), result, opnd_int(t->cls, t->nan), legal);
}

struct opnd select_frem(struct select *s, enum dtype dt, const struct opnd *x)
{
    if (dt == DT_f64)
        return remainder_of(s, &remainder_f64, x[0], x[1]);
    struct opnd by = widen_to_f32(s, dt, x[1]);
    struct opnd r = remainder_of(s, &remainder_f32, in_reg(s, widen_to_f32(s, dt, x[0])), by);
    return narrow_from_f32(s, dt, r, ROUND_rn);
}
