/* SPDX-License-Identifier: MIT */
/* fold.c: folds constants, applies algebraic identities, and rewrites equal computations to one canonical form.
 *
 *     %c = const value=512 : i32
 *     %x = mul %pid, %c : i32                    %x = shl %pid, %nine : i32
 *     %s = splat %x : tile<512xi32>              %y = add %x, %n : i32
 *     %t = splat %n : tile<512xi32>       =>     %z = splat %y : tile<512xi32>
 *     %y = add %s, %t : tile<512xi32>
 *     %z = add %y, %zero : tile<512xi32>
 *
 *   - scalar_eval, which the interpreter uses too, computes ops on constants. Functions of libm are not folded:
 *     their last bit may differ between machines, and the same input must give the same PTX on every machine.
 *   - An identity applies to floats only if it is exact for every operand (x + -0.0, but not x + 0.0; x * 1, but not
 *     x * 0).
 *   - Multiplications, divisions and remainders of integers by powers of two become shifts and masks;
 *     divisions of floats by powers of two become multiplications.
 *   - A remainder of a sum ignores a summand that is a multiple of the divisor, if no summand is negative.
 *   - A constant operand of a commutative op moves to the right, (x op c) op d becomes x op (c op d), and x - c
 *     becomes x + -c.
 *   - A subtraction that involves a product becomes an addition, so that fma can compute it.
 *   - An elementwise op of splats becomes the splat of a scalar op. (x xor c) xor d becomes x xor (c xor d)
 *     if c and d are splats, or broadcasts of smaller tiles. In kernels with fp_reassoc, (x * c) * d of
 *     floats becomes x * (c * d) under the same condition.
 *   - A comparison that the operands' bounds decide (value_range.h) becomes a constant. A mask that is true
 *     for all elements disappears, and so does a store whose mask is false for all elements.
 *   - `and` of two comparisons of an integer with constants becomes false if one comparison rules out the
 *     other. If one comparison implies the other, the `and` becomes the comparison that implies the other.
 *     Nested selects by the same condition become one select.
 *   - A comparison of sign-extended elements with a scalar becomes a comparison of the narrow elements, if the narrow
 *     elements are not negative.
 *   - An `if` with a constant condition becomes the region that it selects, a `for` without iterations
 *     becomes its initial values, and a `for` of one iteration becomes its body. A sum over x + 0 becomes the
 *     sum over x, plus 0.
 *
 * One walk in program order visits operands before their uses, and also visits the ops that a rule builds. The walk
 * terminates, because each rule decreases a tuple of counts in lexicographic order. The counts are: ops in regions
 * that never run; elements computed by ops whose operands are all splats or constants; mul, div and rem ops; sub ops
 * and neg of constants; elements computed by elementwise ops; length of def-use chains. Operands are swapped
 * only to move a constant to the right, so the operands of an op are swapped only once. Leaves: constants and
 * ops without use, for dce. */
#include "opt/analysis/value_range.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

#include <math.h>

/* -- values -- */

static int width_of(const struct value *v)
{
    return type_elem_bits(v->type);
}

static uint64_t low_bits(uint64_t x, int width)
{
    return width == 64 ? x : x & ((UINT64_C(1) << width) - 1);
}

/* If v is a constant, sets *bits to its bits, truncated to the width of its type, and returns true; else
 * returns false. */
static bool const_bits(const struct value *v, uint64_t *bits)
{
    if (!v || !value_const_bits(v, bits))
        return false;
    *bits = low_bits(*bits, width_of(v));
    return true;
}

static bool is_const(const struct value *v, uint64_t wanted)
{
    uint64_t bits;
    return const_bits(v, &bits) && bits == low_bits(wanted, width_of(v));
}

static bool const_power_of_two(const struct value *v, int *log2)
{
    uint64_t bits;
    if (!const_bits(v, &bits) || bits == 0 || (bits & (bits - 1)) != 0)
        return false;
    *log2 = __builtin_ctzll(bits);
    return true;
}

static enum dtype dtype_of(const struct value *v)
{
    const struct type *t = type_elem(v->type);
    return t->kind == TY_ptr ? DT_i64 : t->dtype;
}

/* Returns the op that defines v if the op has opcode `code`; else NULL. */
static struct op *def_if(const struct value *v, enum opcode code)
{
    return v->def && v->def->code == code ? v->def : NULL;
}

/* -- constants -- */

/* Returns whether the folded result of o could differ between machines, or from the GPU's result, because libm
 * computes the op or the GPU approximates it. */
static bool depends_on_machine(const struct op *o)
{
    if (o->code == OP_sqrt)
        return op_int(o, ATTR_round) == ROUND_none && dtype_of(op_result(o)) != DT_f64;
    return op_info[o->code].family == FAMILY_math && o->code != OP_floor && o->code != OP_ceil &&
           o->code != OP_rint;
}

/* Replaces a NaN that an op computes by the canonical NaN, because the sign of other NaNs depends on the machine. Ops
 * that only move bits or change the sign (neg, abs, select, bitcast) keep the bits of a NaN. */
static uint64_t canonical_nan(const struct op *o, uint64_t bits)
{
    enum dtype t = dtype_of(op_result(o));
    bool moves = o->code == OP_neg || o->code == OP_abs || o->code == OP_select || o->code == OP_bitcast;
    if (dtype_info[t].kind != DTYPE_float || moves || !isnan(bits_to_double(t, bits)))
        return bits;
    return double_to_bits(t, (double)NAN);
}

static struct value *compute(struct builder *b, const struct op *o)
{
    uint64_t x[3], r = 0;
    const void *opnds[3] = {&x[0], &x[1], &x[2]};
    if (!op_has(o, PURE | ELEMENTWISE) || depends_on_machine(o) || type_is_ptr(op_result(o)->type))
        return NULL;
    for (int i = 0; i < o->nopnds; i++)
        if (!const_bits(op_opnd(o, i), &x[i]))
            return NULL;
    enum dtype type = dtype_of(op_opnd(o, o->code == OP_select ? 1 : 0));
    if (!scalar_eval(&op_info[o->code], o->code, type, dtype_of(op_result(o)), o->attrs, o->nattrs, 1, &r,
                     opnds))
        return NULL;
    return build_const_bits(b, op_result(o)->type, canonical_nan(o, r));
}

/* -- identities: tables -- */

enum constant { ZERO, ONE, ONES, SMALLEST, LARGEST, PLUS_ZERO, MINUS_ZERO, ONE_POINT_ZERO };
enum gives { GIVES_x, GIVES_y, GIVES_zero };

/* Identities of x op y with a constant y. The first five members of enum constant are integers, the others floats. */
static const struct identity {
    enum opcode code;
    enum constant y;
    enum gives gives;
} identities[] = {
    {OP_add, ZERO, GIVES_x},
    {OP_sub, ZERO, GIVES_x},
    {OP_mul, ZERO, GIVES_y},
    {OP_mul, ONE, GIVES_x},
    {OP_divs, ONE, GIVES_x},
    {OP_divu, ONE, GIVES_x},
    {OP_rems, ONE, GIVES_zero},
    {OP_remu, ONE, GIVES_zero},
    {OP_rems, ONES, GIVES_zero},
    {OP_mulhu, ZERO, GIVES_y},
    {OP_mulhu, ONE, GIVES_zero},
    {OP_and, ZERO, GIVES_y},
    {OP_and, ONES, GIVES_x},
    {OP_or, ZERO, GIVES_x},
    {OP_or, ONES, GIVES_y},
    {OP_xor, ZERO, GIVES_x},
    {OP_shl, ZERO, GIVES_x},
    {OP_shrs, ZERO, GIVES_x},
    {OP_shru, ZERO, GIVES_x},
    {OP_minu, ZERO, GIVES_y},
    {OP_minu, ONES, GIVES_x},
    {OP_maxu, ZERO, GIVES_x},
    {OP_maxu, ONES, GIVES_y},
    {OP_mins, SMALLEST, GIVES_y},
    {OP_mins, LARGEST, GIVES_x},
    {OP_maxs, SMALLEST, GIVES_x},
    {OP_maxs, LARGEST, GIVES_y},
    {OP_addptr, ZERO, GIVES_x},
    {OP_add, MINUS_ZERO, GIVES_x},
    {OP_sub, PLUS_ZERO, GIVES_x},
    {OP_mul, ONE_POINT_ZERO, GIVES_x},
    {OP_fdiv, ONE_POINT_ZERO, GIVES_x},
};

/* Identities of x op x. GIVES_zero applies to integers only. */
static const struct {
    enum opcode code;
    enum gives gives;
} same_identities[] = {
    {OP_sub, GIVES_zero}, {OP_xor, GIVES_zero}, {OP_and, GIVES_x},  {OP_or, GIVES_x},  {OP_mins, GIVES_x},
    {OP_maxs, GIVES_x},   {OP_minu, GIVES_x},   {OP_maxu, GIVES_x}, {OP_min, GIVES_x}, {OP_max, GIVES_x},
};

static bool is_constant(const struct value *v, enum constant c)
{
    uint64_t top = UINT64_C(1) << (width_of(v) - 1);
    if ((c >= PLUS_ZERO) != type_is_float(v->type))
        return false;
    switch (c) {
    case ZERO:
    case PLUS_ZERO: return is_const(v, 0);
    case ONE: return is_const(v, 1);
    case ONES: return is_const(v, UINT64_MAX);
    case SMALLEST:
    case MINUS_ZERO: return is_const(v, top);
    case LARGEST: return is_const(v, top - 1);
    case ONE_POINT_ZERO: return is_const(v, double_to_bits(dtype_of(v), 1.0));
    }
    return false;
}

static struct value *give(struct builder *b, const struct op *o, enum gives gives)
{
    return gives == GIVES_x   ? op_opnd(o, 0)
           : gives == GIVES_y ? op_opnd(o, 1)
                              : build_const_bits(b, op_result(o)->type, 0);
}

static struct value *apply_identity(struct builder *b, const struct op *o)
{
    bool flushes = o->code == OP_fdiv && round_flushes((enum rounding)op_int(o, ATTR_round));
    if (o->nopnds != 2 || flushes)
        return NULL;
    for (size_t i = 0; i < sizeof identities / sizeof identities[0]; i++)
        if (identities[i].code == o->code && is_constant(op_opnd(o, 1), identities[i].y))
            return give(b, o, identities[i].gives);
    if (op_opnd(o, 0) != op_opnd(o, 1))
        return NULL;
    for (size_t i = 0; i < sizeof same_identities / sizeof same_identities[0]; i++)
        if (same_identities[i].code == o->code &&
            (same_identities[i].gives == GIVES_x || type_is_int(op_result(o)->type)))
            return give(b, o, same_identities[i].gives);
    return NULL;
}

/* -- order of operands -- */

static enum pred swapped(enum pred p)
{
    static const enum pred turned[PRED_count] = {
        [PRED_eq] = PRED_eq,   [PRED_ne] = PRED_ne,   [PRED_slt] = PRED_sgt, [PRED_sle] = PRED_sge,
        [PRED_sgt] = PRED_slt, [PRED_sge] = PRED_sle, [PRED_ult] = PRED_ugt, [PRED_ule] = PRED_uge,
        [PRED_ugt] = PRED_ult, [PRED_uge] = PRED_ule, [PRED_lt] = PRED_gt,   [PRED_le] = PRED_ge,
        [PRED_gt] = PRED_lt,   [PRED_ge] = PRED_le};
    return turned[p];
}

static void put_constant_right(struct op *o)
{
    uint64_t bits;
    if (!(op_has(o, COMMUTES) || o->code == OP_cmp) || !const_bits(op_opnd(o, 0), &bits) ||
        const_bits(op_opnd(o, 1), &bits))
        return;
    struct value *x = op_opnd(o, 0);
    op_set_opnd(o, 0, op_opnd(o, 1));
    op_set_opnd(o, 1, x);
    if (o->code == OP_cmp)
        op_set_int(o, ATTR_pred, swapped((enum pred)op_int(o, ATTR_pred)));
}

/* -- integers -- */

static bool is_associative(enum opcode code)
{
    return code == OP_add || code == OP_mul || code == OP_and || code == OP_or || code == OP_xor;
}

/* Rewrites (x op c) op d as x op (c op d). Rewrites (x shift c) shift d as x shift (c + d), unless c + d
 * reaches the width of x. */
static struct value *join_constants(struct builder *b, const struct op *o)
{
    uint64_t c, d;
    struct op *inner = o->nopnds == 2 ? def_if(op_opnd(o, 0), o->code) : NULL;
    if (!inner || !type_is_int(op_result(o)->type) || !const_bits(op_opnd(inner, 1), &c) ||
        !const_bits(op_opnd(o, 1), &d))
        return NULL;
    uint64_t width = (uint64_t)width_of(op_opnd(o, 0));
    bool shifts = (o->code == OP_shl || o->code == OP_shru) && c < width && d < width && c + d < width;
    if (!shifts && !is_associative(o->code))
        return NULL;
    struct value *joined = build_binary(b, shifts ? OP_add : o->code, op_opnd(inner, 1), op_opnd(o, 1));
    return build_binary(b, o->code, op_opnd(inner, 0), joined);
}

/* Strength reduction: builds a cheaper op that computes `x op c`, and returns its result; returns NULL if
 * there is no cheaper op. */
static struct value *strength(struct builder *b, const struct op *o)
{
    int log2 = 0;
    uint64_t bits;
    if (o->nopnds != 2 || !type_is_int(op_result(o)->type) || !const_bits(op_opnd(o, 1), &bits))
        return NULL;
    struct value *x = op_opnd(o, 0), *y = op_opnd(o, 1);
    bool power = const_power_of_two(y, &log2);
    switch (o->code) {
    case OP_sub: return build_binary(b, OP_add, x, build_const_bits(b, y->type, 0 - bits));
    case OP_mul: return power ? build_binary(b, OP_shl, x, build_const_int(b, y->type, log2)) : NULL;
    case OP_divu: return power ? build_binary(b, OP_shru, x, build_const_int(b, y->type, log2)) : NULL;
    case OP_remu: return power ? build_binary(b, OP_and, x, build_const_bits(b, y->type, bits - 1)) : NULL;
    case OP_divs: return is_constant(y, ONES) ? build_unary(b, OP_neg, x) : NULL;
    case OP_shl:
    case OP_shru: return bits >= (uint64_t)width_of(x) ? build_const_int(b, x->type, 0) : NULL;
    default: return NULL;
    }
}

/* Rewrites (x + y) % c as y % c if c divides x, x and y are at least 0, and the sum does not wrap. */
static struct value *periodic(struct builder *b, const struct op *o)
{
    int64_t c;
    const struct op *sum = o->code == OP_rems ? def_if(op_opnd(o, 0), OP_add) : NULL;
    if (!sum || !value_const_int(op_opnd(o, 1), &c) || c < 2 || bounds_of(op_opnd(o, 0)).lo < 0)
        return NULL;
    for (int i = 0; i < 2; i++) {
        struct value *x = op_opnd(sum, i), *y = op_opnd(sum, !i);
        if (value_is_multiple(x, c) && bounds_of(x).lo >= 0 && bounds_of(y).lo >= 0)
            return build_binary(b, OP_rems, y, op_opnd(o, 1));
    }
    return NULL;
}

/* Rewrites x / c as x * (1 / c) if c is a power of two: 1 / c is then exact, so the results are equal bit for bit. */
static struct value *reciprocal(struct builder *b, const struct op *o)
{
    uint64_t bits;
    int exponent;
    if (o->code != OP_fdiv || op_int(o, ATTR_round) > ROUND_rn || !const_bits(op_opnd(o, 1), &bits))
        return NULL;
    enum dtype t = dtype_of(op_result(o));
    double c = bits_to_double(t, bits);
    if (!isfinite(c) || fabs(frexp(c, &exponent)) != 0.5 ||
        bits_to_double(t, double_to_bits(t, 1 / c)) != 1 / c)
        return NULL;
    return build_binary(b, OP_mul, op_opnd(o, 0), build_const_float(b, op_opnd(o, 1)->type, 1 / c));
}

/* Rewrites 0 - x as -x (integers only), and -(-x) as x. Rewrites -x as x if x has the type i1, because -1 is
 * 1 in one bit. */
static struct value *negation(struct builder *b, const struct op *o)
{
    if (o->code == OP_neg && dtype_of(op_result(o)) == DT_i1)
        return op_opnd(o, 0);
    if (o->code == OP_sub && type_is_int(op_result(o)->type) && is_constant(op_opnd(o, 0), ZERO))
        return build_unary(b, OP_neg, op_opnd(o, 1));
    struct op *inner = o->code == OP_neg ? def_if(op_opnd(o, 0), OP_neg) : NULL;
    return inner ? op_opnd(inner, 0) : NULL;
}

/* Builds -x. If a splat, broadcast or expand_dims defines x, negates the operand of this op, which is often
 * smaller. */
static struct value *build_negative(struct builder *b, struct value *x)
{
    uint64_t bits;
    struct op *o = x->def;
    if (!o || const_bits(x, &bits) ||
        (o->code != OP_splat && o->code != OP_broadcast && o->code != OP_expand_dims))
        return build_unary(b, OP_neg, x);
    struct value *inner = build_negative(b, op_opnd(o, 0));
    struct op *copy = build_op(b, o->code, 1, &inner, 1, &x->type, 0);
    for (int i = 0; i < o->nattrs; i++)
        op_set_int(copy, o->attrs[i].key, o->attrs[i].i);
    return op_result(copy);
}

static bool is_made_larger(const struct value *x)
{
    return def_if(x, OP_splat) || def_if(x, OP_broadcast);
}

/* Rewrites x * y - z as x * y + -z, and z - x * y as -x * y + z, so that the sums can become fma. */
static struct value *difference_of_product(struct builder *b, const struct op *o)
{
    if (o->code != OP_sub || dtype_of(op_result(o)) != DT_f32 || !b->func->fp_fusion)
        return NULL;
    for (int i = 0; i < 2; i++) {
        struct value *product = op_opnd(o, i), *z = op_opnd(o, 1 - i);
        if (!def_if(product, OP_mul) || value_nuses(product) != 1)
            continue;
        if (i == 0)
            return build_binary(b, OP_add, product, build_negative(b, z));
        struct value *x = op_opnd(product->def, 0), *y = op_opnd(product->def, 1);
        bool swaps = is_made_larger(y) && !is_made_larger(x);
        struct value *minus = build_negative(b, swaps ? y : x);
        return build_binary(b, OP_add, build_binary(b, OP_mul, minus, swaps ? x : y), z);
    }
    return NULL;
}

/* -- comparisons and selects -- */

static struct value *negated(struct builder *b, struct value *c)
{
    return build_binary(b, OP_xor, c, build_const_int(b, c->type, 1));
}

/* Decides a comparison by the operands' bounds: 1 if it is always true, 0 if it is never true, -1 if unknown. */
static int order_of(enum pred p, struct bounds x, struct bounds y)
{
    bool nonnegative = x.lo >= 0 && y.lo >= 0;
    switch (p) {
    case PRED_ult: return nonnegative ? order_of(PRED_slt, x, y) : -1;
    case PRED_ule: return nonnegative ? order_of(PRED_sle, x, y) : -1;
    case PRED_slt: return x.hi < y.lo ? 1 : x.lo >= y.hi ? 0 : -1;
    case PRED_sle: return x.hi <= y.lo ? 1 : x.lo > y.hi ? 0 : -1;
    case PRED_sgt: return order_of(PRED_slt, y, x);
    case PRED_sge: return order_of(PRED_sle, y, x);
    case PRED_ugt: return order_of(PRED_ult, y, x);
    case PRED_uge: return order_of(PRED_ule, y, x);
    case PRED_eq: return x.hi < y.lo || y.hi < x.lo ? 0 : -1;
    case PRED_ne: return x.hi < y.lo || y.hi < x.lo ? 1 : -1;
    default: return -1;
    }
}

/* Folds a comparison of x with itself, an unsigned comparison of x with 0, or a comparison that the bounds of the
 * operands decide. Returns NULL if the result is unknown. */
static struct value *known_comparison(struct builder *b, const struct op *o)
{
    struct value *x = op_opnd(o, 0), *y = op_opnd(o, 1);
    enum pred p = (enum pred)op_int(o, ATTR_pred);
    const struct type *t = op_result(o)->type;
    if (x == y) {
        bool holds = p == PRED_eq || p == PRED_sle || p == PRED_sge || p == PRED_ule || p == PRED_uge;
        return build_const_int(b, t, holds);
    }
    if (is_const(y, 0) && (p == PRED_ult || p == PRED_uge))
        return build_const_int(b, t, p == PRED_uge);
    int holds = order_of(p, bounds_of(x), bounds_of(y));
    return holds < 0 ? NULL : build_const_int(b, t, holds);
}

/* Rewrites a comparison (eq or ne) of sign-extended, nonnegative elements with the splat of a scalar as a comparison
 * of the narrow elements. A scalar that is negative, or greater than the elements' upper bound, equals no
 * element. So it is replaced by the upper bound + 1, which equals no element either. */
static struct value *narrow_comparison(struct builder *b, const struct op *o)
{
    const struct op *widened = def_if(op_opnd(o, 0), OP_sext), *splat = def_if(op_opnd(o, 1), OP_splat);
    struct bounds of = bounds_of(op_opnd(o, 0));
    if (!widened || !splat || of.lo < 0)
        return NULL;
    struct value *x = op_opnd(widened, 0), *number = op_opnd(splat, 0);
    number = build_binary(b, OP_minu, number, build_const_int(b, number->type, of.hi + 1));
    number = build_cast(b, OP_trunc, number, type_elem(x->type));
    return build_cmp(b, (enum pred)op_int(o, ATTR_pred), x,
                     build_splat(b, number, x->type->rank, x->type->shape));
}

static bool fits_in_32_bits(const struct value *v)
{
    const struct bounds of = bounds_of(v);
    return of.lo >= INT32_MIN && of.hi <= INT32_MAX;
}

/* Rewrites a comparison of 64 bits as a comparison of 32 bits, if the bounds of both operands fit in 32 bits. */
static struct value *halved_comparison(struct builder *b, const struct op *o)
{
    enum { HALF = 32 };
    struct value *x[2] = {op_opnd(o, 0), op_opnd(o, 1)};
    const struct type *half = type_scalar(o->block->func->module, DT_i32);
    if (!type_is_int(x[0]->type) || type_elem_bits(x[0]->type) != 2 * HALF)
        return NULL;
    if (!fits_in_32_bits(x[0]) || !fits_in_32_bits(x[1]))
        return NULL;
    for (int i = 0; i < 2; i++)
        x[i] = build_cast(b, OP_trunc, x[i], half);
    return build_cmp(b, (enum pred)op_int(o, ATTR_pred), x[0], x[1]);
}

/* Simplifies a comparison of integers: folds the comparison to a constant if possible, or narrows it. Replaces a
 * comparison of an i1, or of a widened i1, with 0 by the i1 or the negated i1. */
static struct value *comparison(struct builder *b, const struct op *o)
{
    if (o->code != OP_cmp || type_is_float(op_opnd(o, 0)->type))
        return NULL;
    struct value *known = known_comparison(b, o);
    enum pred p = (enum pred)op_int(o, ATTR_pred);
    if (known)
        return known;
    struct value *halved = halved_comparison(b, o);
    if (halved || (p != PRED_eq && p != PRED_ne))
        return halved;
    if (!is_const(op_opnd(o, 1), 0))
        return narrow_comparison(b, o);
    struct value *x = op_opnd(o, 0);
    if (def_if(x, OP_zext) || def_if(x, OP_sext))
        x = op_opnd(x->def, 0);
    if (dtype_of(x) != DT_i1 || type_is_ptr(x->type))
        return NULL;
    return p == PRED_ne ? x : negated(b, x);
}

/* If v compares an integer with a constant, returns the integer, and sets *r to the bounds of the integers
 * for which the comparison is true; else returns NULL. */
static struct value *bounded_by(const struct value *v, struct bounds *r)
{
    const struct op *o = def_if(v, OP_cmp);
    uint64_t bits;
    if (!o || !type_is_int(op_opnd(o, 0)->type) || !const_bits(op_opnd(o, 1), &bits))
        return NULL;
    int shift = 64 - width_of(op_opnd(o, 1));
    int64_t c = (int64_t)(bits << shift) >> shift, least = INT64_MIN >> shift, most = INT64_MAX >> shift;
    enum pred p = (enum pred)op_int(o, ATTR_pred);
    *r = (struct bounds){p == PRED_sge || p == PRED_eq ? c : least, p == PRED_sle || p == PRED_eq ? c : most};
    if (p == PRED_slt && c > least)
        r->hi = c - 1;
    else if (p == PRED_sgt && c < most)
        r->lo = c + 1;
    else if (p != PRED_sge && p != PRED_sle && p != PRED_eq)
        return NULL;
    return op_opnd(o, 0);
}

/* Folds `and` of two comparisons of an integer with constants, if one comparison implies or rules out the other. */
static struct value *conjunction(struct builder *b, const struct op *o)
{
    struct bounds x, y;
    if (o->code != OP_and)
        return NULL;
    struct value *v = bounded_by(op_opnd(o, 0), &x);
    if (!v || v != bounded_by(op_opnd(o, 1), &y))
        return NULL;
    if (x.hi < y.lo || y.hi < x.lo)
        return build_const_int(b, op_result(o)->type, 0);
    return x.lo >= y.lo && x.hi <= y.hi ? op_opnd(o, 0) : y.lo >= x.lo && y.hi <= x.hi ? op_opnd(o, 1) : NULL;
}

static struct value *choice(struct builder *b, const struct op *o)
{
    uint64_t bits;
    if (o->code != OP_select)
        return NULL;
    struct value *c = op_opnd(o, 0), *x = op_opnd(o, 1), *y = op_opnd(o, 2);
    if (x == y)
        return x;
    if (const_bits(c, &bits))
        return bits ? x : y;
    /* a select by c in the last operand, y, stays: codegen turns `select c, y + x, y` into an addition under
     * a predicate, and rewriting y would prevent this */
    if (def_if(x, OP_select) && op_opnd(x->def, 0) == c)
        return build_select(b, c, op_opnd(x->def, 1), y);
    if (x->type != c->type)
        return NULL;
    if (is_const(x, 1) && is_const(y, 0))
        return c;
    return is_const(x, 0) && is_const(y, 1) ? negated(b, c) : NULL;
}

/* Returns whether x is zero at all elements where c is false, because a load under mask c returned zeros there. */
static bool is_zero_without(const struct value *x, const struct value *c)
{
    const struct op *load = x->def && x->def->code == OP_fext ? op_opnd(x->def, 0)->def : x->def;
    return load && load->code == OP_load && load->nopnds > 1 && op_opnd(load, 1) == c &&
           type_is_float(x->type) && (load->nopnds < 3 || !op_opnd(load, 2) || is_const(op_opnd(load, 2), 0));
}

/* Rewrites `select c, x - y, 0` as `select c, x - y, x`, if x is 0 at all elements where c is false, because
 * codegen then needs no selp (codegen/fuse.c). */
static struct value *keep_zero(struct builder *b, const struct op *o)
{
    if (o->code != OP_select || !is_const(op_opnd(o, 2), 0))
        return NULL;
    struct value *difference = op_opnd(o, 1);
    if (!difference->def || difference->def->code != OP_sub ||
        !is_zero_without(op_opnd(difference->def, 0), op_opnd(o, 0)))
        return NULL;
    return build_select(b, op_opnd(o, 0), difference, op_opnd(difference->def, 0));
}

/* -- casts -- */

/* Converts x to elements of type elem: extends x with the op `code` (sext or zext), truncates x, or returns x
 * if the widths are equal. */
static struct value *resize(struct builder *b, enum opcode code, struct value *x, const struct type *elem)
{
    int from = width_of(x), to = type_elem_bits(elem);
    return from == to ? x : build_cast(b, from < to ? code : OP_trunc, x, elem);
}

/* Returns whether the low bits of the op's result depend only on the low bits of its operands. */
static bool keeps_low_bits(enum opcode code)
{
    return code == OP_add || code == OP_sub || code == OP_mul || code == OP_shl;
}

/* Returns whether v is computed from constants and extensions only by + - * << and splats, in at most `depth`
 * steps. */
static bool is_widened(const struct value *v, int depth)
{
    const struct op *o = v->def;
    uint64_t bits;
    if (const_bits(v, &bits) || (o && (o->code == OP_sext || o->code == OP_zext)))
        return true;
    if (!o || depth == 0 || (o->code != OP_splat && !keeps_low_bits(o->code)))
        return false;
    return is_widened(op_opnd(o, 0), depth - 1) &&
           (o->code == OP_splat || is_widened(op_opnd(o, 1), depth - 1));
}

/* Rewrites trunc(x + y) as trunc(x) + trunc(y), and likewise for - * and <<, if x and y are computed from extensions.
 * The bounds of x, y and x + y must fit in 32 bits, because other passes assume that signed integers do not
 * overflow. */
static struct value *narrow_arithmetic(struct builder *b, const struct op *o)
{
    enum { DEPTH = 8, BITS = 32 };
    const struct value *wide = op_opnd(o, 0);
    const struct type *elem = type_elem(op_result(o)->type);
    const struct op *inner = wide->def;
    if (!inner || !keeps_low_bits(inner->code) || type_elem_bits(elem) != BITS || !fits_in_32_bits(wide) ||
        !fits_in_32_bits(op_opnd(inner, 0)) || !fits_in_32_bits(op_opnd(inner, 1)) ||
        !is_widened(wide, DEPTH))
        return NULL;
    struct value *x = build_cast(b, OP_trunc, op_opnd(inner, 0), elem),
                 *y = build_cast(b, OP_trunc, op_opnd(inner, 1), elem);
    return build_binary(b, inner->code, x, y);
}

static struct value *cast(struct builder *b, const struct op *o)
{
    struct op *inner = op_info[o->code].family == FAMILY_cast ? op_opnd(o, 0)->def : NULL;
    const struct type *elem = type_elem(op_result(o)->type);
    struct value *narrow = o->code == OP_trunc ? narrow_arithmetic(b, o) : NULL;
    if (narrow)
        return narrow;
    if (o->code == OP_bitcast && op_opnd(o, 0)->type == op_result(o)->type)
        return op_opnd(o, 0);
    if (!inner || op_info[inner->code].family != FAMILY_cast)
        return NULL;
    struct value *x = op_opnd(inner, 0);
    bool same = inner->code == o->code;
    switch (o->code) {
    case OP_zext:
    case OP_fext: return same ? build_cast(b, o->code, x, elem) : NULL;
    case OP_sext: return same || inner->code == OP_zext ? build_cast(b, inner->code, x, elem) : NULL;
    case OP_trunc:
        return same || inner->code == OP_zext || inner->code == OP_sext ? resize(b, inner->code, x, elem)
                                                                        : NULL;
    case OP_bitcast: return same ? build_cast(b, OP_bitcast, x, elem) : NULL;
    /* A truncation of an extension gives the original value, except that an infinity of an 8-bit float
     * becomes finite. */
    case OP_ftrunc:
        return inner->code == OP_fext && x->type == op_result(o)->type && width_of(x) > 8 ? x : NULL;
    default: return NULL;
    }
}

/* -- shapes and splats -- */

static bool is_shape_change(enum opcode code)
{
    return code == OP_broadcast || code == OP_expand_dims || code == OP_reshape || code == OP_trans;
}

/* Returns the splat from which v is computed by shape ops only, or NULL. */
static struct op *splat_of(const struct value *v)
{
    struct op *o = v->def;
    while (o && is_shape_change(o->code))
        o = op_opnd(o, 0)->def;
    return o && o->code == OP_splat ? o : NULL;
}

static bool is_uniform(const struct value *v)
{
    uint64_t bits;
    return !type_is_tile(v->type) || splat_of(v) || const_bits(v, &bits);
}

/* Returns the scalar to which all elements of the uniform value v are equal. */
static struct value *scalar_of(struct builder *b, struct value *v)
{
    uint64_t bits;
    if (!type_is_tile(v->type))
        return v;
    struct op *splat = splat_of(v);
    if (splat)
        return op_opnd(splat, 0);
    const_bits(v, &bits);
    return build_const_bits(b, type_elem(v->type), bits);
}

static struct value *splat_to(struct builder *b, struct value *x, const struct type *t)
{
    if (!type_is_tile(t))
        return x;
    return op_result(build_op(b, OP_splat, 1, &x, 1, &t, 0));
}

static struct value *broadcast_to(struct builder *b, struct value *x, const struct type *t)
{
    return x->type == t            ? x
           : type_is_tile(x->type) ? build_broadcast(b, x, t->rank, t->shape)
                                   : splat_to(b, x, t);
}

/* Removes an identity trans, and rewrites a trans of a trans as one trans. */
static struct value *trans_of_trans(struct builder *b, const struct op *o)
{
    struct value *x = op_opnd(o, 0);
    const struct op *inner = def_if(x, OP_trans);
    const int *order = op_attr(o, ATTR_order)->list;
    int both[RANK_MAX];
    bool moves = false;
    for (int i = 0; i < x->type->rank; i++) {
        both[i] = inner ? op_attr(inner, ATTR_order)->list[order[i]] : order[i];
        moves = moves || both[i] != i;
    }
    x = inner ? op_opnd(inner, 0) : x;
    return !moves ? x : inner ? build_trans(b, x, both) : NULL;
}

/* Folds splats of constants, shape ops of uniform tiles, shape ops that change nothing, and sequences of two
 * shape ops. */
static struct value *shape(struct builder *b, const struct op *o)
{
    uint64_t bits;
    if (o->code != OP_splat && !is_shape_change(o->code))
        return NULL;
    struct value *x = op_opnd(o, 0);
    const struct type *t = op_result(o)->type;
    if (const_bits(x, &bits))
        return build_const_bits(b, t, bits);
    if (o->code == OP_splat)
        return NULL;
    if (x->type == t && o->code != OP_trans)
        return x;
    if (!type_is_tile(x->type))
        return splat_to(b, x, t);
    if (type_is_tile(x->type) && splat_of(x))
        return splat_to(b, op_opnd(splat_of(x), 0), t);
    if (o->code == OP_trans)
        return trans_of_trans(b, o);
    if (o->code == OP_expand_dims && def_if(x, OP_broadcast))
        return broadcast_to(b, build_expand_dims(b, op_opnd(x->def, 0), (int)op_int(o, ATTR_axis)), t);
    struct op *inner = o->code == OP_reshape || o->code == OP_broadcast ? def_if(x, o->code) : NULL;
    if (!inner)
        return NULL;
    struct value *first = op_opnd(inner, 0);
    return first->type == t ? first : op_result(build_op(b, o->code, 1, &first, 1, &t, 0));
}

/* If v is a splat or a broadcast, returns the scalar or tile whose elements it repeats; else NULL. */
static struct value *repeated(const struct value *v)
{
    struct op *o = v->def;
    return o && (o->code == OP_splat || o->code == OP_broadcast) ? op_opnd(o, 0) : NULL;
}

static bool can_broadcast(const struct type *from, const struct type *to)
{
    for (int d = 0; type_is_tile(from) && d < to->rank; d++)
        if (from->shape[d] != 1 && from->shape[d] != to->shape[d])
            return false;
    return type_is_tile(to) || !type_is_tile(from);
}

/* Rewrites (x op y) op z as x op (y op z), where y and z are splats or broadcasts of smaller values. One of y
 * and z must be broadcastable to the shape of the other, which then is the shape of y op z. The op is xor or
 * a product of floats. Rewriting a product changes its rounding, so it needs fp_reassoc. */
static struct value *join_repeated(struct builder *b, const struct op *o)
{
    bool scales = o->code == OP_mul && b->func->fp_reassoc && !type_is_int(op_result(o)->type);
    if (o->code != OP_xor && !scales)
        return NULL;
    for (int i = 0; i < 4; i++) {
        const struct op *inner = def_if(op_opnd(o, i / 2), o->code);
        struct value *z = repeated(op_opnd(o, 1 - i / 2)),
                     *y = inner ? repeated(op_opnd(inner, i % 2)) : NULL;
        if (!y || !z || value_nuses(op_result(inner)) != 1)
            continue;
        const struct type *t = can_broadcast(z->type, y->type) ? y->type : z->type;
        if (!can_broadcast(y->type, t))
            continue;
        y = broadcast_to(b, y, t);
        z = broadcast_to(b, z, t);
        struct value *joined = build_binary(b, o->code, y, z);
        return build_binary(b, o->code, op_opnd(inner, 1 - i % 2),
                            broadcast_to(b, joined, op_result(o)->type));
    }
    return NULL;
}

/* Rewrites an elementwise op on uniform tiles as the splat of a scalar op. */
static struct value *sink_splats(struct builder *b, const struct op *o)
{
    const struct type *t = op_result(o)->type, *elem = type_elem(t);
    if (!op_has(o, PURE | ELEMENTWISE) || !type_is_tile(t))
        return NULL;
    for (int i = 0; i < o->nopnds; i++)
        if (!is_uniform(op_opnd(o, i)))
            return NULL;
    struct value *x[3];
    for (int i = 0; i < o->nopnds; i++)
        x[i] = scalar_of(b, op_opnd(o, i));
    struct op *scalar = build_op(b, o->code, o->nopnds, x, 1, &elem, 0);
    for (int i = 0; i < o->nattrs; i++)
        op_set_int(scalar, o->attrs[i].key, o->attrs[i].i);
    return splat_to(b, op_result(scalar), t);
}

/* -- control -- */

/* Replaces an `if` with a constant condition by the ops of the selected region. If that region ends in a return, the
 * ops after the `if` are unreachable. */
static bool inline_if(struct op *o)
{
    uint64_t bits;
    if (o->code != OP_if || !const_bits(op_opnd(o, 0), &bits))
        return false;
    struct block *taken = o->regions[bits ? 0 : 1];
    struct op *end = block_terminator(taken);
    bool returns = end->code == OP_return;
    for (int i = 0; i < o->nresults && !returns; i++)
        value_replace(&o->results[i], op_opnd(end, i));
    if (!returns)
        op_erase(end);
    while (taken->first)
        op_move_before(taken->first, o);
    while (returns && o->block->last != o)
        op_erase(o->block->last);
    op_erase(o);
    return true;
}

static void find_dot(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_dot;
}

/* Drops a loop that runs no iteration, and replaces a loop that runs one iteration by its body. Keeps a loop
 * of one iteration if it has dots and writes no memory, because other passes overlap the loads of such a loop
 * with the work of another program. */
static bool settle_loop(struct op *o)
{
    int64_t lo, hi, step;
    bool has_dot = false;
    if (o->code != OP_for || !value_const_int(op_opnd(o, 0), &lo) || !value_const_int(op_opnd(o, 1), &hi) ||
        !value_const_int(op_opnd(o, 2), &step))
        return false;
    if (step < 0 ? lo > hi : lo < hi) {
        block_walk(o->regions[0], find_dot, &has_dot);
        if (step <= 0 || lo < hi - step || lo > INT32_MAX || hi > INT32_MAX || step > INT32_MAX || lo < 0 ||
            (has_dot && !op_may_write(o)))
            return false;
        loop_inline(o);
        return true;
    }
    for (int i = 0; i < o->nresults; i++)
        value_replace(&o->results[i], op_opnd(o, 3 + i));
    op_erase(o);
    return true;
}

/* -- reductions -- */

static bool is_sum(const struct op *o)
{
    const struct op *add = o->code == OP_reduce && o->nopnds == 1 ? o->regions[0]->first : NULL;
    return add && add->code == OP_add && add->next == o->regions[0]->last &&
           type_is_float(op_result(add)->type) && !op_opnd(add, 0)->def && !op_opnd(add, 1)->def &&
           op_opnd(add, 0) != op_opnd(add, 1) && op_opnd(add->next, 0) == op_result(add);
}

/* Rewrites sum(x + 0) as sum(x) + 0. The results are equal even if all elements of x are -0: sum(x) is -0
 * then, and -0 + 0 is +0, as is a sum of +0s. */
static bool take_zero_out(struct op *o)
{
    const struct op *add = is_sum(o) ? op_opnd(o, 0)->def : NULL;
    if (!add || add->code != OP_add || !is_constant(op_opnd(add, 1), PLUS_ZERO))
        return false;
    struct value *r = op_result(o);
    struct builder b = build_after(o);
    struct value *zero = build_const_bits(&b, r->type, 0), *sum = build_binary(&b, OP_add, r, zero);
    value_replace(r, sum);
    op_set_opnd(sum->def, 0, r);
    op_set_opnd(o, 0, op_opnd(add, 0));
    return true;
}

/* If c has equal values along `axis`, builds c without this dimension, in the shape of t, and returns it;
 * else returns NULL. */
static struct value *without_axis(struct builder *b, const struct value *c, int axis, const struct type *t)
{
    const struct op *o = c->def;
    if (o && o->code == OP_splat)
        return type_is_tile(t) ? build_splat(b, op_opnd(o, 0), t->rank, t->shape) : op_opnd(o, 0);
    if (!o || o->code != OP_broadcast || !type_is_tile(t))
        return NULL;
    struct value *x = op_opnd(o, 0);
    for (int d = 0; d < c->type->rank; d++)
        if (x->type->shape[d] != (d == axis ? 1 : c->type->shape[d]))
            return NULL;
    return build_reshape(b, x, t->rank, t->shape);
}

/* Rewrites sum(select c, x, 0) as select c, sum(x), 0, if c has equal values along the reduced axis. Then one
 * select suffices for all elements along the axis, and if x is a product, fma can compute the sum. */
static bool take_choice_out(struct op *o)
{
    const struct op *choice = is_sum(o) ? op_opnd(o, 0)->def : NULL;
    if (!choice || choice->code != OP_select || !is_constant(op_opnd(choice, 2), PLUS_ZERO))
        return false;
    struct value *r = op_result(o);
    struct builder b = build_after(o);
    struct value *c = without_axis(&b, op_opnd(choice, 0), (int)op_int(o, ATTR_axis), r->type);
    if (!c)
        return false;
    struct value *out = build_select(&b, c, r, build_const_bits(&b, r->type, 0));
    value_replace(r, out);
    op_set_opnd(out->def, 1, r);
    op_set_opnd(o, 0, op_opnd(choice, 1));
    return true;
}

/* -- the walk over the ops -- */

static struct value *simpler(struct op *o)
{
    static struct value *(*const rules[])(struct builder * b, const struct op *o) = {
        compute,    apply_identity,        negation,      join_constants, strength, periodic,
        reciprocal, difference_of_product, comparison,    conjunction,    choice,   cast,
        shape,      sink_splats,           join_repeated, keep_zero};
    struct builder b = build_before(o);
    struct value *v = NULL;
    for (size_t i = 0; !v && i < sizeof rules / sizeof rules[0]; i++)
        v = rules[i](&b, o);
    return v;
}

/* -- masks -- */

/* Removes a mask that is always true, and a store whose mask is always false. */
static bool settle_mask(struct op *o)
{
    uint64_t on;
    int at = o->code == OP_load ? 1 : o->code == OP_store || o->code == OP_atomic_rmw ? 2 : 0;
    if (!at || at >= o->nopnds || !const_bits(op_opnd(o, at), &on) || (!on && o->code != OP_store))
        return false;
    if (!on) {
        op_erase(o);
        return true;
    }
    struct value *rest[2] = {op_opnd(o, 0), op_opnd(o, 1)};
    op_set_opnds(o, at, rest);
    return true;
}

/* Applies the rules to o. Returns whether a rule has replaced or changed o. A new value that replaces o's result
 * takes over the result's name. */
static bool rewrite(struct op *o)
{
    if (inline_if(o) || settle_loop(o) || take_zero_out(o) || take_choice_out(o) || settle_mask(o))
        return true;
    put_constant_right(o);
    if (o->nresults != 1 || o->nregions || !op_has(o, PURE) || !has_uses(op_result(o)))
        return false;
    struct op *before = o->prev;
    struct value *v = simpler(o);
    if (!v)
        return false;
    bool is_new = v->def && v->def->next == o && v->def != before;
    value_replace(op_result(o), v);
    op_erase(o);
    if (is_new)
        value_take_name(v, op_result(o));
    return true;
}

static void fold(struct block *b)
{
    for (struct op *o = b->first; o;) {
        struct op *before = o->prev;
        if (rewrite(o)) {
            o = before ? before->next : b->first;
            continue;
        }
        for (int i = 0; i < o->nregions; i++)
            fold(o->regions[i]);
        o = o->next;
    }
}

void opt_fold(struct func *f)
{
    fold(f->body);
}
