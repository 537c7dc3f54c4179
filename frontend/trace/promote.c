/* SPDX-License-Identifier: MIT */
/* promote.c: traces operators on tensors. Finds the operands' common type and shape, and the op that computes
 * the operator.
 *
 *     i32[] + i32[512]      splat, add : i32[512]        both are broadcast to one shape
 *     f16[512] * 0.5        const 0.5 : f16[512], mul    rule 1: a number gets the tensor's type
 *     f16 + f32             fext, add : f32              rule 2: with a float, the wider float wins
 *     i8 + u8               add : u8                     rule 3: the wider integer wins; at equal width, the unsigned
 *     p + u8[64]            zext : i64[64], addptr       offsets are signed in the IR */
#include "frontend/builtins/handlers.h"

/* -- the common type -- */

/* Returns the rank of the kind of t: 0 for bool, 1 for int, 2 for float. */
static int kind_rank(const struct lang_type *t)
{
    return is_dtype(t, DT_i1) ? 0 : is_int_type(t) ? 1 : 2;
}

static int number_rank(const struct obj *x)
{
    return x->kind == OBJ_bool ? 0 : x->kind == OBJ_int ? 1 : 2;
}

static bool is_half(const struct lang_type *t)
{
    return is_dtype(t, DT_f16) || is_dtype(t, DT_bf16);
}

static wide least_of(const struct lang_type *t)
{
    return t->is_unsigned ? 0 : -((wide)1 << (bits_of(t) - 1));
}

static wide most_of(const struct lang_type *t)
{
    return ((wide)1 << (bits_of(t) - !t->is_unsigned)) - 1;
}

/* Returns the common type of a number and a tensor with elements of type t. The caller has checked that the
 * number_rank of the number is at most the kind_rank of t. Rule 1: the common type is t. Exception: it is f32
 * if the operator is a division and t is f16 or bf16. If t is an integer type that cannot represent the
 * number, reports an error and returns NULL. */
static const struct lang_type *common_type_with_number(struct eval *e, const struct obj *number,
                                                       const struct lang_type *t, bool is_division,
                                                       struct loc at)
{
    if (is_half(t) && is_division)
        return lang_number(e, DT_f32, false);
    if (!is_int_type(t) || number->kind != OBJ_int || (number->i >= least_of(t) && number->i <= most_of(t)))
        return t;
    bool negative = t->is_unsigned && number->i < 0;
    diag_error(e->diag, trace_loc(e, at), negative ? ERR_negative_number : ERR_number_range,
               type_text(e, number), lang_text(e, t));
    diag_hint(e->diag, ERR_hint_cast_first);
    return NULL;
}

/* Returns the common type of two integer types. Rule 3: the wider type wins; if both have the same width, the unsigned
 * type wins. */
static const struct lang_type *common_int_type(const struct lang_type *a, const struct lang_type *b)
{
    if (a->is_unsigned == b->is_unsigned)
        return bits_of(a) >= bits_of(b) ? a : b;
    const struct lang_type *u = a->is_unsigned ? a : b, *s = a->is_unsigned ? b : a;
    return bits_of(u) >= bits_of(s) ? u : s;
}

/* Returns the common type of types a and b. At least one of them is a float type. Rule 2: if a or b is f64,
 * the result is f64; else if a or b is f32, f32; else if a or b is f16, f16. Otherwise, the result is bf16
 * for two bf16, f32 for a bf16 and another type, the operands' type for two equal fp8 types, and f16 for two
 * different fp8 types. Exception: for a division of f16 or bf16, the result is f32 instead of f16 or bf16.
 * Returns NULL for an fp8 type and an integer type. */
static const struct lang_type *common_float_type(struct eval *e, const struct lang_type *a,
                                                 const struct lang_type *b, bool is_division)
{
    enum dtype d = DT_f16;
    if (is_dtype(a, DT_f64) || is_dtype(b, DT_f64))
        d = DT_f64;
    else if (is_dtype(a, DT_f32) || is_dtype(b, DT_f32))
        d = DT_f32;
    else if (is_dtype(a, DT_f16) || is_dtype(b, DT_f16))
        d = is_division ? DT_f32 : DT_f16;
    else if (is_dtype(a, DT_bf16) && is_dtype(b, DT_bf16))
        d = is_division ? DT_f32 : DT_bf16;
    else if (is_dtype(a, DT_bf16) || is_dtype(b, DT_bf16))
        d = DT_f32;
    else if (is_int_type(a) || is_int_type(b))
        return NULL; /* an fp8 type and an integer type have no common type */
    else if (a->dtype == b->dtype)
        d = a->dtype;
    return lang_number(e, d, false);
}

static bool is_pointer(const struct obj *x)
{
    return x->kind == OBJ_tensor && is_ptr_type(scalar_of(x));
}

static const struct lang_type *bad_operands(struct eval *e, const struct obj *a, const struct obj *b,
                                            struct loc at)
{
    diag_error(e->diag, trace_loc(e, at), ERR_operands, type_text(e, a), type_text(e, b));
    if (is_pointer(a) || is_pointer(b))
        diag_hint(e->diag, ERR_hint_offset);
    return NULL;
}

const struct lang_type *common_type(struct eval *e, const struct obj *a, const struct obj *b,
                                    bool is_division, bool decay, struct loc at)
{
    const struct lang_type *ta = is_number(a) ? decayed_type(e, a) : scalar_of(a);
    const struct lang_type *tb = is_number(b) ? decayed_type(e, b) : scalar_of(b);
    if (!decay && is_number(a) != is_number(b)) {
        const struct obj *x = is_number(a) ? a : b;
        const struct lang_type *t = is_number(a) ? tb : ta;
        if (t->kind == LT_number && number_rank(x) <= kind_rank(t))
            return common_type_with_number(e, x, t, is_division, at);
    }
    if (!ta || !tb) {
        diag_error(e->diag, trace_loc(e, at), ERR_int_too_wide, type_text(e, ta ? b : a));
        return NULL;
    }
    if (ta->kind != LT_number || tb->kind != LT_number)
        return bad_operands(e, a, b, at);
    if (!is_int_type(ta) || !is_int_type(tb)) {
        const struct lang_type *t = common_float_type(e, ta, tb, is_division);
        return t ? t : bad_operands(e, a, b, at);
    }
    if (is_division && ta->is_unsigned != tb->is_unsigned) {
        diag_error(e->diag, trace_loc(e, at), ERR_signedness, lang_text(e, ta), lang_text(e, tb));
        diag_hint(e->diag, ERR_hint_same_sign);
        return NULL;
    }
    return common_int_type(ta, tb);
}

/* -- the common shape -- */

/* Returns a block whose elements are all the scalar x. */
static struct obj *splat(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at)
{
    struct value *v = x->tensor.value;
    uint64_t bits;
    const struct lang_type *t = scalar_of(x);
    if (v->def && v->def->code == OP_const && value_const_bits(v, &bits))
        v = build_const_bits(trace_builder(e, at), lang_ir(e->trace->module, lang_block(e, t, rank, shape)),
                             bits);
    else
        v = build_splat(trace_builder(e, at), v, rank, shape);
    return tensor_new(e, v, t, rank, shape);
}

static struct obj *stretch(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at)
{
    if (rank == 0)
        return x;
    if (rank_of(x) == 0)
        return splat(e, x, rank, shape, at);
    struct value *v = x->tensor.value;
    for (int r = rank_of(x); r < rank; r++)
        v = build_expand_dims(trace_builder(e, at), v, 0);
    bool grows = false;
    for (int i = 0; i < rank; i++)
        grows |= v->type->shape[i] != shape[i];
    if (grows)
        v = build_broadcast(trace_builder(e, at), v, rank, shape);
    return v == x->tensor.value ? x : tensor_new(e, v, scalar_of(x), rank, shape);
}

struct obj *tensor_to_block(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at)
{
    return stretch(e, x, rank, shape, at);
}

/* Adds a note with x's shape at the location of the op that computes the operand x, unless this location
 * equals `at`. Returns whether it added the note. */
static bool note_shape(struct eval *e, const struct obj *x, struct loc at)
{
    const struct op *def = x->tensor.value->def;
    bool is_elsewhere = def && def->loc.line && (def->loc.line != at.line || def->loc.col != at.col);
    if (is_elsewhere)
        diag_note(e->diag, def->loc, ERR_note_shape_here, shape_text(e, rank_of(x), shape_of(x)));
    return is_elsewhere;
}

/* Sets `shape` to the common shape of a and b. Returns the rank of this shape; -1 after an error, which it
 * reports. */
static int common_shape(struct eval *e, const struct obj *a, const struct obj *b, int *shape, struct loc at)
{
    int ra = rank_of(a), rb = rank_of(b), rank = ra > rb ? ra : rb;
    for (int i = 0; i < rank; i++) {
        int x = i < rank - ra ? 1 : shape_of(a)[i - (rank - ra)];
        int y = i < rank - rb ? 1 : shape_of(b)[i - (rank - rb)];
        if (x != y && x != 1 && y != 1 && ra && rb) {
            diag_error(e->diag, trace_loc(e, at), ERR_shape_broadcast, i, x, y);
            bool is_told = note_shape(e, a, at);
            is_told &= note_shape(e, b, at);
            if (!is_told)
                diag_note(e->diag, trace_loc(e, at), ERR_note_shapes, shape_text(e, ra, shape_of(a)),
                          shape_text(e, rb, shape_of(b)));
            return -1;
        }
        shape[i] = x > y ? x : y;
    }
    return check_numel(e, rank, shape, at) ? rank : -1;
}

struct obj *tensor_broadcast_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at)
{
    if (is_error(x))
        return x;
    int r = rank_of(x);
    bool fits = r == 0 || r == rank;
    for (int i = 0; fits && i < r; i++)
        fits = shape_of(x)[i] == 1 || shape_of(x)[i] == shape[i];
    if (fits)
        return stretch(e, x, rank, shape, at);
    diag_error(e->diag, trace_loc(e, at), r == rank ? ERR_broadcast_to : ERR_broadcast_rank,
               shape_text(e, r, shape_of(x)), shape_text(e, rank, shape));
    return obj_error;
}

void tensor_broadcast(struct eval *e, struct obj **a, struct obj **b, struct loc at)
{
    int shape[RANK_MAX], rank = is_error(*a) || is_error(*b) ? -1 : common_shape(e, *a, *b, shape, at);
    *a = rank < 0 ? obj_error : stretch(e, *a, rank, shape, at);
    *b = rank < 0 ? obj_error : stretch(e, *b, rank, shape, at);
}

/* -- common type and shape -- */

/* Converts both operands to type t and one shape. A number becomes a constant of the other operand's shape;
 * no scalar constant and splat are built for it. Returns false after an error, which it reports. */
static bool convert_pair(struct eval *e, struct obj **a, struct obj **b, const struct lang_type *t,
                         bool decay, struct loc at)
{
    struct obj **pair[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        struct obj *x = *pair[i], *other = *pair[!i];
        int rank = is_number(other) ? 0 : rank_of(other);
        const int *shape = rank ? shape_of(other) : NULL;
        if (is_number(x))
            *pair[i] = tensor_new(e, number_value(e, x, t, rank, shape, decay, at), t, rank, shape);
        else
            *pair[i] = tensor_cast(e, x, t, ROUND_none, false, at);
    }
    tensor_broadcast(e, a, b, at);
    return !is_error(*a);
}

void tensor_promote(struct eval *e, struct obj **a, struct obj **b, bool is_division, struct loc at)
{
    const struct lang_type *t =
        is_error(*a) || is_error(*b) ? NULL : common_type(e, *a, *b, is_division, false, at);
    if (!t || !convert_pair(e, a, b, t, false, at))
        *a = *b = obj_error;
}

/* -- arithmetic -- */

/* clang-format off */
/* operator   signed       unsigned     int1         float; OP_count: the operator is an error */
static const struct {
    enum opcode on_signed, on_unsigned, on_bool, on_float;
} arithmetic[OPER_count] = {
    [OPER_add]      = {OP_add,   OP_add,  OP_xor,  OP_add},
    [OPER_sub]      = {OP_sub,   OP_sub,  OP_xor,  OP_sub},
    [OPER_mul]      = {OP_mul,   OP_mul,  OP_and,  OP_mul},
    [OPER_floordiv] = {OP_divs,  OP_divu, OP_divu, OP_count},
    [OPER_mod]      = {OP_rems,  OP_remu, OP_remu, OP_frem},
    [OPER_bitand]   = {OP_and,   OP_and,  OP_and,  OP_count},
    [OPER_bitor]    = {OP_or,    OP_or,   OP_or,   OP_count},
    [OPER_xor]      = {OP_xor,   OP_xor,  OP_xor,  OP_count},
    [OPER_shl]      = {OP_shl,   OP_shl,  OP_shl,  OP_count},
    [OPER_shr]      = {OP_shrs,  OP_shru, OP_shru, OP_count},
};
/* clang-format on */

static enum opcode opcode_for(enum oper op, const struct lang_type *t, bool is_unsigned)
{
    if (is_float_type(t))
        return arithmetic[op].on_float;
    if (is_dtype(t, DT_i1))
        return arithmetic[op].on_bool;
    return is_unsigned ? arithmetic[op].on_unsigned : arithmetic[op].on_signed;
}

static bool is_operand(const struct obj *x)
{
    return is_number(x) || x->kind == OBJ_tensor;
}

static struct obj *unexpected(struct eval *e, enum oper op, const struct lang_type *t, struct loc at)
{
    diag_error(e->diag, trace_loc(e, at), ERR_operator_type, oper_info[op].spelling, lang_text(e, t));
    if (op == OPER_floordiv)
        diag_hint(e->diag, ERR_hint_floor);
    return obj_error;
}

/* Returns the offset x as a signed integer, because the IR expects signed offsets: zero-extends an unsigned
 * offset to 64 bits. If `negate` is true, returns -x in 64 bits. Returns NULL if x is not an integer;
 * obj_error after an error, which it reports. */
static struct obj *offset_of(struct eval *e, struct obj *x, bool negate, struct loc at)
{
    x = to_tensor(e, x, at);
    if (is_error(x))
        return x;
    if (!is_int_type(scalar_of(x)))
        return NULL;
    if (scalar_of(x)->is_unsigned)
        x = tensor_cast(e, x, lang_number(e, DT_i64, false), ROUND_none, false, at);
    if (!negate)
        return x;
    if (bits_of(scalar_of(x)) < 64)
        x = tensor_cast(e, x, lang_number(e, DT_i64, false), ROUND_none, false, at);
    return tensor_like(e, x, build_unary(trace_builder(e, at), OP_neg, x->tensor.value), scalar_of(x));
}

static struct obj *pointer_arithmetic(struct eval *e, enum oper op, struct obj *a, struct obj *b,
                                      struct loc at)
{
    bool valid =
        op == OPER_add ? is_pointer(a) != is_pointer(b) : op == OPER_sub && is_pointer(a) && !is_pointer(b);
    struct obj *p = is_pointer(a) ? a : b;
    struct obj *i = valid ? offset_of(e, p == a ? b : a, op == OPER_sub, at) : NULL;
    if (!i) {
        bad_operands(e, a, b, at);
        return obj_error;
    }
    tensor_broadcast(e, &p, &i, at);
    if (is_error(p))
        return p;
    return tensor_like(e, p, build_addptr(trace_builder(e, at), p->tensor.value, i->tensor.value),
                       scalar_of(p));
}

static struct obj *divide(struct eval *e, struct obj *a, struct obj *b, const struct lang_type *t,
                          struct loc at)
{
    if (is_int_type(t)) {
        a = is_number(a) ? a : tensor_cast(e, a, t, ROUND_none, false, at);
        b = is_number(b) ? b : tensor_cast(e, b, t, ROUND_none, false, at);
        t = lang_number(e, DT_f32, false);
    }
    if (!convert_pair(e, &a, &b, t, false, at))
        return obj_error;
    struct value *v = build_binary(trace_builder(e, at), OP_fdiv, a->tensor.value, b->tensor.value);
    if (!is_dtype(t, DT_f32))
        op_set_int(v->def, ATTR_round, ROUND_rn);
    return tensor_like(e, a, v, t);
}

/* Returns the int constant of an operand; NULL if the operand is not a constant or not an int. */
static struct obj *constant_of(struct obj *x)
{
    x = x->kind == OBJ_tensor ? x->tensor.constant : x;
    return x && x->kind == OBJ_int ? x : NULL;
}

/* Computes an operator on two int constants, so that the result is a known constant too. As in Triton 1.0, a
 * program can thus use the result of operators on constants where Triton's language requires a constant, even
 * if no constexpr is involved. Returns NULL if the operator must be traced: if an operand is not an int
 * constant, if the result does not fit type t, for shifts, and for quotients and remainders with a negative
 * dividend or a divisor below 1. */
static struct obj *fold(struct eval *e, enum oper op, struct obj *a, struct obj *b, const struct lang_type *t,
                        struct loc at)
{
    struct obj *x = constant_of(a), *y = constant_of(b);
    if (!x || !y || !is_int_type(t))
        return NULL;
    bool divides = op == OPER_floordiv || op == OPER_mod;
    if (op == OPER_shl || op == OPER_shr || (divides && (x->i < 0 || y->i <= 0)))
        return NULL;
    struct obj *r = eval_binary(e, op, x, y, at);
    if (r->kind != OBJ_int || r->i < least_of(t) || r->i > most_of(t))
        return NULL;
    return constant_tensor(e, r, t, at);
}

/* With DEBUG_all, traces an assertion that + - * on integers of less than 64 bits does not overflow: computes
 * the operator in 64 bits, and checks that type t can represent the result. */
static void assert_no_overflow(struct eval *e, enum oper op, const struct obj *a, const struct obj *b,
                               const struct lang_type *t, struct loc at)
{
    bool checked = op == OPER_add || op == OPER_sub || op == OPER_mul;
    if (e->trace->spec->debug != DEBUG_all || !checked || !is_int_type(t) || bits_of(t) == 64 ||
        e->trace->place.line)
        return;
    struct builder *build = trace_builder(e, at);
    const struct type *i64 = lang_ir(build->func->module, lang_number(e, DT_i64, false));
    enum opcode widen = t->is_unsigned ? OP_zext : OP_sext;
    struct value *x = build_cast(build, widen, a->tensor.value, i64),
                 *y = build_cast(build, widen, b->tensor.value, i64);
    struct value *r = build_binary(build, arithmetic[op].on_signed, x, y);
    struct value *low = build_cmp(build, PRED_sge, r, build_const_int(build, r->type, (int64_t)least_of(t)));
    struct value *high = build_cmp(build, PRED_sle, r, build_const_int(build, r->type, (int64_t)most_of(t)));
    struct value *ok = build_binary(build, OP_and, low, high);
    struct op *o = build_op(build, OP_assert, 1, &ok, 0, NULL, 0);
    struct text message;
    text_init(&message, e->arena);
    text_printf(&message, "%s overflow detected for operation %s", lang_text(e, t), oper_info[op].name);
    op_set_str(o, ATTR_text, message.s, (int)message.len);
}

static struct obj *arithmetic_op(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    bool is_division = op == OPER_div || op == OPER_floordiv || op == OPER_mod;
    /* The signedness of the left operand determines whether a right shift is arithmetic. If the left operand is a
     * number, the signedness of the right operand determines this. */
    const struct obj *left = is_number(a) ? b : a;
    const struct lang_type *t = common_type(e, a, b, is_division, false, at);
    if (!t)
        return obj_error;
    if (is_fp8_type(t))
        return unexpected(e, op, t, at);
    if (op == OPER_div)
        return divide(e, a, b, t, at);
    enum opcode code = opcode_for(op, t, op == OPER_shr ? scalar_of(left)->is_unsigned : t->is_unsigned);
    if (code == OP_count)
        return unexpected(e, op, t, at);
    struct obj *folded = fold(e, op, a, b, t, at);
    if (folded)
        return folded;
    if (!convert_pair(e, &a, &b, t, false, at))
        return obj_error;
    assert_no_overflow(e, op, a, b, t, at);
    return tensor_like(e, a, build_binary(trace_builder(e, at), code, a->tensor.value, b->tensor.value), t);
}

struct obj *tensor_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (is_error(a) || is_error(b))
        return obj_error;
    if (op == OPER_pow || op == OPER_matmul) {
        diag_error(e->diag, trace_loc(e, at), ERR_no_operator, oper_info[op].spelling);
        diag_hint(e->diag, op == OPER_pow ? ERR_hint_pow : ERR_hint_dot);
        return obj_error;
    }
    if (!is_operand(a) || !is_operand(b)) {
        bad_operands(e, a, b, at);
        return obj_error;
    }
    if (is_pointer(a) || is_pointer(b))
        return pointer_arithmetic(e, op, a, b, at);
    return arithmetic_op(e, op, a, b, at);
}

/* -- one operand -- */

struct obj *tensor_unary(struct eval *e, enum oper op, struct obj *a, struct loc at)
{
    if (is_error(a))
        return a;
    a = to_tensor(e, a, at);
    if (is_error(a))
        return a;
    const struct lang_type *t = a->kind == OBJ_tensor ? scalar_of(a) : NULL;
    bool ok = t && t->kind == LT_number && !is_fp8_type(t);
    ok = ok &&
         (op == OPER_neg || (op == OPER_invert && is_int_type(t)) || (op == OPER_not && is_dtype(t, DT_i1)));
    if (!ok) {
        diag_error(e->diag, trace_loc(e, at), ERR_operator_type, oper_info[op].spelling, type_text(e, a));
        if (op == OPER_not)
            diag_hint(e->diag, ERR_hint_compare_zero);
        return obj_error;
    }
    struct value *v = a->tensor.value;
    if (op == OPER_neg) {
        struct obj *c = constant_of(a);
        if (c && c->i > INT32_MIN && !t->is_unsigned)
            return constant_tensor(e, obj_int(e, -c->i), t, at);
        return is_dtype(t, DT_i1) ? a : tensor_like(e, a, build_unary(trace_builder(e, at), OP_neg, v), t);
    }
    struct value *ones = build_const_int(trace_builder(e, at), v->type, is_dtype(t, DT_i1) ? 1 : -1);
    return tensor_like(e, a, build_binary(trace_builder(e, at), OP_xor, v, ones), t);
}

/* -- comparisons -- */

/* clang-format off */
static const struct {
    enum pred on_signed, on_unsigned, on_float;
} comparisons[OPER_count] = {
    [OPER_eq] = {PRED_eq,  PRED_eq,  PRED_eq},
    [OPER_ne] = {PRED_ne,  PRED_ne,  PRED_ne},
    [OPER_lt] = {PRED_slt, PRED_ult, PRED_lt},
    [OPER_le] = {PRED_sle, PRED_ule, PRED_le},
    [OPER_gt] = {PRED_sgt, PRED_ugt, PRED_gt},
    [OPER_ge] = {PRED_sge, PRED_uge, PRED_ge},
};
/* clang-format on */

struct obj *tensor_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (is_error(a) || is_error(b))
        return obj_error;
    if (op == OPER_in || op == OPER_not_in) {
        diag_error(e->diag, trace_loc(e, at), ERR_no_operator, oper_info[op].spelling);
        return obj_error;
    }
    if (!is_operand(a) || !is_operand(b)) {
        bad_operands(e, a, b, at);
        return obj_error;
    }
    const struct lang_type *t = common_type(e, a, b, false, true, at);
    if (!t)
        return obj_error;
    if (is_fp8_type(t))
        return unexpected(e, op, t, at);
    if (!convert_pair(e, &a, &b, t, true, at))
        return obj_error;
    enum pred p = is_float_type(t) ? comparisons[op].on_float
                  : t->is_unsigned ? comparisons[op].on_unsigned
                                   : comparisons[op].on_signed;
    struct value *v = build_cmp(trace_builder(e, at), p, a->tensor.value, b->tensor.value);
    return tensor_like(e, a, v, lang_number(e, DT_i1, true));
}

/* -- conditions -- */

struct value *tensor_condition(struct eval *e, struct obj *x, struct loc at)
{
    x = to_tensor(e, x, at);
    if (is_error(x))
        return NULL;
    if (x->kind != OBJ_tensor) {
        diag_error(e->diag, trace_loc(e, at), ERR_condition_kind, obj_type_name(x));
        return NULL;
    }
    if (rank_of(x)) {
        int64_t n = 1;
        for (int i = 0; i < rank_of(x); i++)
            n *= shape_of(x)[i];
        if (n > 1) {
            diag_error(e->diag, trace_loc(e, at), ERR_condition_block,
                       shape_text(e, rank_of(x), shape_of(x)));
            diag_hint(e->diag, ERR_hint_reduce_condition);
            return NULL;
        }
        if (!diag_has_warned(e->diag, trace_loc(e, at), ERR_condition_unsplat))
            diag_warn(e->diag, trace_loc(e, at), ERR_condition_unsplat);
        x = tensor_new(e, build_reshape(trace_builder(e, at), x->tensor.value, 0, NULL), scalar_of(x), 0,
                       NULL);
    }
    x = tensor_cast(e, x, lang_number(e, DT_i1, true), ROUND_none, false, at);
    return is_error(x) ? NULL : x->tensor.value;
}
