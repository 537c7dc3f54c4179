/* SPDX-License-Identifier: MIT */
/* cast.c: converts numbers to tensors, and casts tensors to other types.
 *
 *     c = 0.5            const value=0.5 : f32         a number decays to its default type (decayed_type)
 *     x.to(tl.int8)      ftos : i16, trunc : i8        a cast is one IR op, or a few */
#include "frontend/trace/trace.h"

#include <math.h>
#include <float.h>

/* -- queries -- */

bool is_error(const struct obj *x)
{
    return x->kind == OBJ_error;
}

bool is_number(const struct obj *x)
{
    return x->kind == OBJ_bool || x->kind == OBJ_int || x->kind == OBJ_float;
}

const struct lang_type *scalar_of(const struct obj *x)
{
    return lang_scalar(x->tensor.type);
}

int rank_of(const struct obj *x)
{
    return x->kind == OBJ_tensor && x->tensor.type->kind == LT_block ? x->tensor.type->rank : 0;
}

const int *shape_of(const struct obj *x)
{
    return x->tensor.type->shape;
}

bool is_int_type(const struct lang_type *t)
{
    return t->kind == LT_number && dtype_info[t->dtype].kind == DTYPE_int;
}

bool is_float_type(const struct lang_type *t)
{
    return t->kind == LT_number && dtype_info[t->dtype].kind == DTYPE_float;
}

bool is_dtype(const struct lang_type *t, enum dtype d)
{
    return t->kind == LT_number && t->dtype == d;
}

bool is_fp8_type(const struct lang_type *t)
{
    return is_dtype(t, DT_f8e4) || is_dtype(t, DT_f8e5);
}

bool is_ptr_type(const struct lang_type *t)
{
    return t->kind == LT_ptr;
}

int bits_of(const struct lang_type *t)
{
    return t->kind == LT_number ? dtype_info[t->dtype].bits : 64;
}

/* -- creating tensors -- */

static struct builder *at_here(struct eval *e, struct loc at)
{
    return trace_builder(e, at);
}

struct obj *tensor_new(struct eval *e, struct value *v, const struct lang_type *scalar, int rank,
                       const int *shape)
{
    return obj_tensor(e, v, lang_block(e, scalar, rank, shape));
}

struct obj *tensor_like(struct eval *e, const struct obj *x, struct value *v, const struct lang_type *scalar)
{
    return tensor_new(e, v, scalar, rank_of(x), shape_of(x));
}

static const struct type *ir_type(struct eval *e, const struct lang_type *scalar, int rank, const int *shape)
{
    return lang_ir(e->trace->module, lang_block(e, scalar, rank, shape));
}

/* -- numbers -- */

static wide number_int(const struct obj *x)
{
    return x->kind == OBJ_bool ? x->b : x->kind == OBJ_int ? x->i : (wide)x->f;
}

static double number_float(const struct obj *x)
{
    return x->kind == OBJ_float ? x->f : (double)number_int(x);
}

/* Returns whether a Python float of value x decays to f32, and not to f64: x is 0, not finite, or in the range of
 * normal f32 numbers. */
static bool fits_float(double x)
{
    return x == 0 || !isfinite(x) || (fabs(x) >= (double)FLT_MIN && fabs(x) <= (double)FLT_MAX);
}

const struct lang_type *decayed_type(struct eval *e, const struct obj *x)
{
    if (x->kind == OBJ_bool)
        return lang_number(e, DT_i1, true);
    if (x->kind == OBJ_float)
        return lang_number(e, fits_float(x->f) ? DT_f32 : DT_f64, false);
    if (x->i >= INT32_MIN && x->i <= INT32_MAX)
        return lang_number(e, DT_i32, false);
    if (x->i >= 0 && x->i <= UINT32_MAX)
        return lang_number(e, DT_i32, true);
    if (x->i >= INT64_MIN && x->i <= INT64_MAX)
        return lang_number(e, DT_i64, false);
    return x->i >= 0 && x->i <= UINT64_MAX ? lang_number(e, DT_i64, true) : NULL;
}

/* Returns the number x as a double. Rounds it to f32 if t is not f64. Also rounds it to f32 if `decay` is set and x is
 * a float that decays to f32. */
static double rounded(const struct obj *x, const struct lang_type *t, bool decay)
{
    double f = number_float(x);
    bool via_float = t->dtype != DT_f64 || (decay && x->kind == OBJ_float && fits_float(f));
    return via_float ? bits_to_double(DT_f32, double_to_bits(DT_f32, f)) : f;
}

struct value *number_value(struct eval *e, const struct obj *x, const struct lang_type *t, int rank,
                           const int *shape, bool decay, struct loc at)
{
    const struct type *ir = ir_type(e, t, rank, shape);
    if (is_float_type(t))
        return build_const_float(at_here(e, at), ir, rounded(x, t, decay));
    if (is_dtype(t, DT_i1))
        return build_const_int(at_here(e, at), ir, x->kind == OBJ_float ? x->f != 0 : number_int(x) != 0);
    return build_const_int(at_here(e, at), ir, (int64_t)(uint64_t)(uwide)number_int(x));
}

struct value *zero_value(struct eval *e, const struct lang_type *t, struct loc at)
{
    const struct lang_type *s = lang_scalar(t);
    int rank = t->kind == LT_block ? t->rank : 0;
    if (!is_ptr_type(s))
        return build_const_bits(at_here(e, at), ir_type(e, s, rank, t->shape), 0);
    struct value *zero =
        build_const_bits(at_here(e, at), ir_type(e, lang_number(e, DT_i64, false), rank, t->shape), 0);
    return build_cast(at_here(e, at), OP_bitcast, zero, lang_ir(e->trace->module, s));
}

struct obj *constant_tensor(struct eval *e, struct obj *number, const struct lang_type *t, struct loc at)
{
    struct obj *x = obj_tensor(e, number_value(e, number, t, 0, NULL, true, at), t);
    x->tensor.constant = number;
    return x;
}

static struct obj *sequence_to_tensors(struct eval *e, struct obj *x, struct loc at)
{
    struct obj **items = NEW_ARRAY(e->arena, x->seq.n, struct obj *);
    for (int i = 0; i < x->seq.n; i++) {
        items[i] = to_tensor(e, x->seq.at[i], at);
        if (is_error(items[i]))
            return items[i];
    }
    return obj_tuple_like(e, x, items);
}

struct obj *to_tensor(struct eval *e, struct obj *x, struct loc at)
{
    switch (x->kind) {
    case OBJ_error:
    case OBJ_tensor:
    case OBJ_none:
    case OBJ_type: return x;
    case OBJ_tuple:
    case OBJ_list: return is_box(x) ? x : sequence_to_tensors(e, x, at);
    case OBJ_bool:
    case OBJ_int:
    case OBJ_float: {
        const struct lang_type *t = decayed_type(e, x);
        if (t)
            return constant_tensor(e, x, t, at);
        diag_error(e->diag, trace_loc(e, at), ERR_int_too_wide, type_text(e, x));
        return obj_error;
    }
    default:
        diag_error(e->diag, trace_loc(e, at), ERR_no_tensor, obj_type_name(x));
        diag_hint(e->diag, ERR_hint_annotate_constexpr);
        return obj_error;
    }
}

/* -- casts: one function for each pair of kinds of scalar types -- */

static struct value *cast_op(struct eval *e, enum opcode code, struct value *v, const struct lang_type *to,
                             struct loc at)
{
    return build_cast(at_here(e, at), code, v, lang_ir(e->trace->module, to));
}

static const struct lang_type *number(struct eval *e, enum dtype d)
{
    return lang_number(e, d, false);
}

static struct value *int_to_int(struct eval *e, struct value *v, const struct lang_type *from,
                                const struct lang_type *to, struct loc at)
{
    if (bits_of(to) == bits_of(from))
        return v;
    if (bits_of(to) < bits_of(from))
        return cast_op(e, OP_trunc, v, to, at);
    return cast_op(e, from->is_unsigned ? OP_zext : OP_sext, v, to, at);
}

static struct value *to_bool(struct eval *e, struct value *v, const struct lang_type *from, struct loc at)
{
    if (is_ptr_type(from))
        v = cast_op(e, OP_bitcast, v, number(e, DT_i64), at);
    struct value *zero = build_const_bits(at_here(e, at), v->type, 0);
    return build_cmp(at_here(e, at), PRED_ne, v, zero);
}

/* Casts a float to an integer. A cast to 8 bits first casts to 16 bits with saturation, and then truncates. */
static struct value *float_to_int(struct eval *e, struct value *v, const struct lang_type *from,
                                  const struct lang_type *to, struct loc at)
{
    if (is_dtype(from, DT_f16) || is_dtype(from, DT_bf16))
        v = cast_op(e, OP_fext, v, number(e, DT_f32), at);
    enum opcode code = to->is_unsigned ? OP_ftou : OP_ftos;
    if (bits_of(to) != 8)
        return cast_op(e, code, v, to, at);
    return cast_op(e, OP_trunc, cast_op(e, code, v, lang_number(e, DT_i16, to->is_unsigned), at), to, at);
}

static struct value *narrow(struct eval *e, struct value *v, const struct lang_type *to, enum rounding round,
                            struct loc at)
{
    v = cast_op(e, OP_ftrunc, v, to, at);
    if (round == ROUND_rz)
        op_set_int(v->def, ATTR_round, round);
    return v;
}

/* Casts a float to a float. A cast from or to f32, from fp8 to a 16-bit float, or from f16 to fp8 is a single op.
 * Casts between two fp8 types go through f16; all other casts go through f32. */
static struct value *float_to_float(struct eval *e, struct value *v, const struct lang_type *from,
                                    const struct lang_type *to, enum rounding round, struct loc at)
{
    if (is_fp8_type(from) && is_fp8_type(to)) {
        v = cast_op(e, OP_fext, v, number(e, DT_f16), at);
        from = number(e, DT_f16);
    } else if (!is_dtype(from, DT_f32) && !is_dtype(to, DT_f32) &&
               !(is_fp8_type(from) && bits_of(to) == 16) && !(is_fp8_type(to) && is_dtype(from, DT_f16))) {
        v = bits_of(from) < 32 ? cast_op(e, OP_fext, v, number(e, DT_f32), at)
                               : narrow(e, v, number(e, DT_f32), round, at);
        from = number(e, DT_f32);
    }
    return bits_of(to) > bits_of(from) ? cast_op(e, OP_fext, v, to, at) : narrow(e, v, to, round, at);
}

static struct value *cast_number(struct eval *e, struct value *v, const struct lang_type *from,
                                 const struct lang_type *to, enum rounding round, struct loc at)
{
    if (is_int_type(from) && is_int_type(to))
        return int_to_int(e, v, from, to, at);
    if (is_int_type(from))
        return cast_op(e, from->is_unsigned ? OP_utof : OP_stof, v, to, at);
    if (is_int_type(to))
        return float_to_int(e, v, from, to, at);
    return float_to_float(e, v, from, to, round, at);
}

/* -- which casts are allowed -- */

const char *lang_text(struct eval *e, const struct lang_type *t)
{
    struct text out;
    text_init(&out, e->arena);
    lang_print(t, &out);
    return out.s;
}

static bool can_cast(const struct lang_type *from, const struct lang_type *to)
{
    if (is_ptr_type(from) || is_ptr_type(to)) {
        const struct lang_type *other = is_ptr_type(from) ? to : from;
        return is_ptr_type(other) || is_dtype(other, DT_i64) || (is_dtype(other, DT_i1) && is_ptr_type(from));
    }
    if (from->kind != LT_number || to->kind != LT_number)
        return false;
    if (is_fp8_type(from))
        return is_float_type(to) && !is_dtype(to, DT_f64);
    return !is_fp8_type(to) || (is_float_type(from) && !is_dtype(from, DT_f64));
}

static bool is_downcast(const struct lang_type *from, const struct lang_type *to)
{
    return is_float_type(from) && is_float_type(to) && bits_of(from) > bits_of(to);
}

static bool check_cast(struct eval *e, const struct lang_type *from, const struct lang_type *to,
                       enum rounding round, struct loc at)
{
    if (!can_cast(from, to)) {
        diag_error(e->diag, at, ERR_no_cast, lang_text(e, from), lang_text(e, to));
        if (is_fp8_type(from) || is_fp8_type(to))
            diag_hint(e->diag, ERR_hint_through_float);
        return false;
    }
    if (round != ROUND_none && !is_downcast(from, to)) {
        diag_error(e->diag, at, ERR_not_downcast, lang_text(e, from), lang_text(e, to));
        return false;
    }
    return true;
}

static struct obj *bitcast(struct eval *e, struct obj *x, const struct lang_type *to, struct loc at)
{
    const struct lang_type *from = scalar_of(x);
    if (bits_of(from) != bits_of(to)) {
        diag_error(e->diag, trace_loc(e, at), ERR_bitcast_width, lang_text(e, from), bits_of(from),
                   lang_text(e, to), bits_of(to));
        return obj_error;
    }
    struct value *v = x->tensor.value;
    if (from->dtype != to->dtype)
        v = cast_op(e, OP_bitcast, v, to, at);
    return tensor_like(e, x, v, to);
}

/* Returns whether the direct conversion of the number x to a constant of type t is known to give the same result as a
 * cast from x's decayed_type to t. */
static bool is_exact(const struct obj *x, const struct lang_type *t)
{
    if (is_float_type(t))
        return x->kind == OBJ_float || (number_int(x) >= -(1 << 24) && number_int(x) <= 1 << 24);
    if (!is_int_type(t) || is_dtype(t, DT_i1) || x->kind == OBJ_float)
        return false;
    wide most = ((wide)1 << (bits_of(t) - !t->is_unsigned)) - 1, i = number_int(x);
    return i <= most && i >= (t->is_unsigned ? 0 : -most - 1);
}

struct obj *tensor_cast(struct eval *e, struct obj *x, const struct lang_type *to, enum rounding round,
                        bool is_bitcast, struct loc at)
{
    to = lang_scalar(to);
    if (is_number(x) && round == ROUND_none && !is_bitcast && is_exact(x, to))
        return constant_tensor(e, x, to, at);
    if (!is_error(x))
        x = to_tensor(e, x, at);
    if (is_error(x))
        return x;
    const struct lang_type *from = scalar_of(x);
    if (lang_equal(from, to))
        return x;
    if (is_bitcast && !is_ptr_type(from) && !is_ptr_type(to))
        return bitcast(e, x, to, at);
    if (!check_cast(e, from, to, round, trace_loc(e, at)))
        return obj_error;
    struct value *v = x->tensor.value;
    if (is_dtype(to, DT_i1))
        v = to_bool(e, v, from, at);
    else if (is_ptr_type(from) || is_ptr_type(to))
        v = cast_op(e, OP_bitcast, v, to, at);
    else
        v = cast_number(e, v, from, to, round, at);
    struct obj *out = tensor_like(e, x, v, to);
    out->tensor.is_named = x->tensor.is_named && v == x->tensor.value;
    return out;
}
