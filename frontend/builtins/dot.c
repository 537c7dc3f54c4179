/* SPDX-License-Identifier: MIT */
/* dot.c: implements tl.dot. Checks the operands' types, and chooses the type in which the dot accumulates.
 *
 *     tl.dot(a, b)          %dot = dot %a, %b, %zero precision=tf32
 *     tl.dot(a, b, acc)     %dot = dot %a, %b, %acc
 *
 * If the program requests f16 results, the accumulator is an f16 tile. Later passes may accumulate in f32 and convert
 * the final result to f16. */
#include "frontend/builtins/handlers.h"

#include <string.h>

struct dot {
    struct obj *a, *b;
    const struct lang_type *out; /* the result's element type */
    int rank, shape[RANK_MAX];   /* the result's rank and shape */
    int precision, limit;        /* the op's attributes, from input_precision and max_num_imprecise_acc */
};

static const char *text_of(struct eval *e, const struct obj *x)
{
    return shape_text(e, rank_of(x), shape_of(x));
}

static bool fail(struct eval *e, const struct args *call, enum error error, const struct obj *a,
                 const struct obj *b)
{
    diag_error(e->diag, trace_loc(e, call->loc), error, text_of(e, a), text_of(e, b));
    return false;
}

static bool check_shapes(struct eval *e, struct dot *d, const struct args *call)
{
    int rank = rank_of(d->a);
    const int *a = shape_of(d->a), *b = shape_of(d->b);
    if (rank != rank_of(d->b) || rank < 2)
        return fail(e, call, ERR_dot_rank, d->a, d->b);
    if (memcmp(a, b, (size_t)(rank - 2) * sizeof *a) != 0)
        return fail(e, call, ERR_dot_batch, d->a, d->b);
    if (a[rank - 1] != b[rank - 2])
        return fail(e, call, ERR_dot_inner, d->a, d->b);
    d->rank = rank;
    memcpy(d->shape, a, (size_t)rank * sizeof *a);
    d->shape[rank - 1] = b[rank - 1];
    return check_numel(e, rank, d->shape, call->loc);
}

static bool check_types(struct eval *e, const struct dot *d, const struct args *call)
{
    const struct lang_type *a = scalar_of(d->a), *b = scalar_of(d->b);
    struct loc at = trace_loc(e, call->loc);
    if (!lang_equal(a, b) && !(is_fp8_type(a) && is_fp8_type(b))) {
        diag_error(e->diag, at, ERR_dot_types, lang_text(e, a), lang_text(e, b));
        diag_hint(e->diag, ERR_hint_dot_types);
        return false;
    }
    if (is_float_type(a) || (is_dtype(a, DT_i8) && !a->is_unsigned))
        return true;
    diag_error(e->diag, at, is_dtype(a, DT_i8) ? ERR_dot_uint8 : ERR_dot_type, lang_text(e, a));
    return false;
}

/* Returns whether a dot of operands of type t may accumulate in type `out`. */
static bool can_give(const struct lang_type *t, const struct lang_type *out)
{
    if (is_int_type(t))
        return is_dtype(out, DT_i32) && !out->is_unsigned;
    if (is_dtype(t, DT_f64))
        return is_dtype(out, DT_f64);
    return is_dtype(out, DT_f32) || (is_dtype(out, DT_f16) && (is_dtype(t, DT_f16) || is_fp8_type(t)));
}

/* Finds the result's type. For operands of f16 and fp8, this is out_dtype if the call passes it, else the
 * type of `acc` if the dot may accumulate in this type, else f32. For all other operands, the result's type
 * depends only on the operands' type. Returns false after an error, which it reports. */
static bool find_out_type(struct eval *e, struct dot *d, struct obj *asked, const struct obj *acc,
                          const struct args *call)
{
    const struct lang_type *t = scalar_of(d->a), *out = NULL;
    if (asked->kind != OBJ_none && !(out = arg_dtype(e, asked, arg_loc(call, 6, "out_dtype"))))
        return false;
    bool is_free = is_dtype(t, DT_f16) || is_fp8_type(t);
    if (out && is_dtype(out, DT_bf16)) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 6, "out_dtype")), ERR_dot_out_type, lang_text(e, t),
                   lang_text(e, out));
        return false;
    }
    if (!is_free)
        out = lang_number(e, is_int_type(t) ? DT_i32 : is_dtype(t, DT_f64) ? DT_f64 : DT_f32, false);
    else if (!out)
        out = acc && can_give(t, scalar_of(acc)) ? scalar_of(acc) : lang_number(e, DT_f32, false);
    if (!can_give(t, out)) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_dot_out_type, lang_text(e, t), lang_text(e, out));
        return false;
    }
    d->out = out;
    return true;
}

static const char *lower_case(struct eval *e, const char *s)
{
    char *copy = arena_strndup(e->arena, s, strlen(s));
    for (char *c = copy; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    return copy;
}

/* Finds the precision in which f32 inputs are multiplied. If the call passes allow_tf32, the precision is
 * tf32 for True, and ieee for False or None. Otherwise, the precision is the argument input_precision, or
 * tf32 if this argument is None. For inputs of other types, the precision has no effect, and is always tf32.
 * Returns false after an error, which it reports. */
static bool find_precision(struct eval *e, struct dot *d, struct obj *precision, struct obj *allow_tf32,
                           const struct args *call)
{
    struct loc at = arg_loc(call, 3, "input_precision");
    bool allowed;
    if (precision->kind != OBJ_none && allow_tf32) {
        diag_error(e->diag, trace_loc(e, at), ERR_dot_both);
        return false;
    }
    if (allow_tf32) {
        if (!arg_bool(e, allow_tf32, "allow_tf32", arg_loc(call, 4, "allow_tf32"), &allowed))
            return false;
        d->precision = allowed ? PREC_tf32 : PREC_ieee;
    } else {
        if (precision->kind == OBJ_str)
            precision = obj_cstr(e, lower_case(e, precision->str.s));
        if (!arg_word(e, precision, attr_words(ATTRK_prec), "", ERR_precision_word, at, &d->precision))
            return false;
    }
    if (!is_dtype(scalar_of(d->a), DT_f32))
        d->precision = PREC_tf32;
    return true;
}

static bool find_limit(struct eval *e, struct dot *d, struct obj *limit, const struct args *call)
{
    int64_t n = 0;
    struct loc at = arg_loc(call, 5, "max_num_imprecise_acc");
    int k = shape_of(d->a)[d->rank - 1];
    if (limit->kind == OBJ_none || !is_fp8_type(scalar_of(d->a)))
        return true;
    if (!arg_int(e, limit, "max_num_imprecise_acc", at, &n))
        return false;
    if (n > k || n < 0) {
        diag_error(e->diag, trace_loc(e, at), ERR_dot_imprecise, n, k);
        return false;
    }
    d->limit = (int)n;
    return true;
}

/* Checks and returns the accumulator acc; returns zeros if acc is NULL. Returns NULL after an error, which it
 * reports. */
static struct obj *find_acc(struct eval *e, const struct dot *d, struct obj *acc, const struct args *call)
{
    const struct lang_type *t = lang_block(e, d->out, d->rank, d->shape);
    struct loc at = trace_loc(e, arg_loc(call, 2, "acc"));
    if (!acc)
        return obj_tensor(e, zero_value(e, t, call->loc), t);
    if (rank_of(acc) != d->rank || memcmp(shape_of(acc), d->shape, (size_t)d->rank * sizeof(int)) != 0) {
        diag_error(e->diag, at, ERR_dot_acc_shape, text_of(e, acc), shape_text(e, d->rank, d->shape));
        return NULL;
    }
    if (lang_equal(scalar_of(acc), d->out))
        return acc;
    diag_error(e->diag, at, ERR_dot_acc_type, lang_text(e, scalar_of(acc)), lang_text(e, d->out));
    diag_hint(e->diag, ERR_hint_dot_acc);
    return NULL;
}

/* Returns x with all dimensions before the last two joined into one dimension, because the operands of the op dot have
 * at most three dimensions. Returns x unchanged if it has two or three dimensions. */
static struct value *joined(struct builder *b, struct value *x)
{
    const int *from = x->type->shape;
    int last = x->type->rank - 1, shape[] = {1, from[last - 1], from[last]};
    for (int d = 0; d < last - 1; d++)
        shape[0] *= from[d];
    return last < 3 ? x : build_reshape(b, x, 3, shape);
}

struct obj *builtin_dot(struct eval *e, struct obj **args, const struct args *call)
{
    struct dot d = {.a = arg_block(e, args[0], call, 0, "input"),
                    .b = arg_block(e, args[1], call, 1, "other")};
    struct obj *acc = args[2]->kind == OBJ_none ? NULL : arg_tensor(e, args[2], call, 2, "acc");
    if (!d.a || !d.b || (!acc && args[2]->kind != OBJ_none) || !check_types(e, &d, call) ||
        !check_shapes(e, &d, call) || !find_out_type(e, &d, args[6], acc, call) ||
        !find_precision(e, &d, args[3], args[4], call) || !find_limit(e, &d, args[5], call) ||
        !(acc = find_acc(e, &d, acc, call)))
        return obj_error;
    struct builder *b = trace_builder(e, call->loc);
    struct value *opnds[] = {d.a->tensor.value, d.b->tensor.value, acc->tensor.value};
    for (int i = 0; i < 3; i++)
        opnds[i] = joined(b, opnds[i]);
    struct op *o = build_op(b, OP_dot, 3, opnds, 1, &opnds[2]->type, 0);
    op_set_int(o, ATTR_precision, d.precision);
    op_set_int(o, ATTR_limit, d.limit);
    struct value *result = op_result(o);
    return tensor_new(e, d.rank > 3 ? build_reshape(b, result, d.rank, d.shape) : result, d.out, d.rank,
                      d.shape);
}
