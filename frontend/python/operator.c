/* SPDX-License-Identifier: MIT */
/* operator.c: evaluates operators on concrete values as Python does, with three exceptions: ints have 128
 * bits, there are no complex numbers, and the last bit of the float `a / b` may differ from Python's if a or
 * b is an int above 2^53 in magnitude.
 *
 * The evaluation depends on the kinds of the operands, which are checked in this order. If an operand is an
 * obj_error, the result is obj_error. If an operand is a tensor, promote.c traces the operator, except `is`,
 * which compares identity. Next come numbers, and a str to the left of `%`. Then come native objects and
 * instances of user classes, whose methods are called. Last come other strs, sequences, dicts and sets. */
#include "frontend/python/python.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SEQUENCE_MOST = 1 << 26 }; /* the maximum number of items or bytes of a result x * n */

/* -- integers -- */

struct obj *int_checked(struct eval *e, bool overflow, wide i, struct loc at)
{
    if (overflow)
        eval_raise(e, at, "OverflowError", ERR_int_overflow);
    return obj_int(e, i);
}

struct obj *int_from_double(struct eval *e, double f, struct loc at)
{
    if (isnan(f))
        eval_raise(e, at, "ValueError", ERR_float_to_int, "NaN");
    if (isinf(f))
        eval_raise(e, at, "OverflowError", ERR_float_to_int, "infinity");
    if (fabs(f) >= 0x1p127)
        eval_raise(e, at, "OverflowError", ERR_int_overflow);
    return obj_int(e, (wide)f);
}

static wide floor_div(wide a, wide b)
{
    wide q = a / b;
    return q * b != a && (a < 0) != (b < 0) ? q - 1 : q;
}

static struct obj *int_pow(struct eval *e, wide base, wide power, struct loc at)
{
    wide result = 1;
    bool overflow = false;
    for (; power > 0 && !overflow; power >>= 1) {
        if (power & 1)
            overflow = __builtin_mul_overflow(result, base, &result);
        if (power > 1 && __builtin_mul_overflow(base, base, &base))
            overflow = true;
    }
    return int_checked(e, overflow, result, at);
}

static struct obj *int_shift(struct eval *e, enum oper op, wide a, wide count, struct loc at)
{
    if (count < 0)
        eval_raise(e, at, "ValueError", ERR_negative_shift);
    if (op == OPER_shr)
        return obj_int(e, count > 126 ? (a < 0 ? -1 : 0) : a >> (int)count);
    if (a == 0)
        return obj_int(e, 0);
    wide result = count > 126 ? 0 : (wide)((uwide)a << (int)count);
    return int_checked(e, count > 126 || result >> (int)count != a, result, at);
}

/* Returns the float a / b. If neither a nor b exceeds 2^53 in magnitude, the float is correctly rounded, as
 * in Python. Otherwise, a, b and the quotient are rounded to long double, and then the quotient to double. */
static struct obj *int_true_div(struct eval *e, wide a, wide b)
{
    const wide exact = (wide)1 << DBL_MANT_DIG;
    if (-exact <= a && a <= exact && -exact <= b && b <= exact)
        return obj_float(e, (double)a / (double)b);
    return obj_float(e, (double)((long double)a / (long double)b));
}

static struct obj *float_pow(struct eval *e, double a, double b, struct loc at)
{
    if (a == 0 && b < 0)
        eval_raise(e, at, "ZeroDivisionError", ERR_zero_power);
    if (a < 0 && isfinite(a) && isfinite(b) && b != floor(b))
        eval_raise(e, at, "ValueError", ERR_complex);
    double result = pow(a, b);
    if (isinf(result) && isfinite(a) && isfinite(b))
        eval_raise(e, at, "OverflowError", ERR_float_overflow);
    return obj_float(e, result);
}

static struct obj *int_binary(struct eval *e, enum oper op, wide a, wide b, struct loc at)
{
    wide r = 0;
    bool overflow;
    bool is_division = op == OPER_div || op == OPER_floordiv || op == OPER_mod;
    if (is_division && b == 0)
        eval_raise(e, at, "ZeroDivisionError", op == OPER_div ? ERR_division : ERR_int_division);
    switch (op) {
    case OPER_add: overflow = __builtin_add_overflow(a, b, &r); return int_checked(e, overflow, r, at);
    case OPER_sub: overflow = __builtin_sub_overflow(a, b, &r); return int_checked(e, overflow, r, at);
    case OPER_mul: overflow = __builtin_mul_overflow(a, b, &r); return int_checked(e, overflow, r, at);
    case OPER_div: return int_true_div(e, a, b);
    case OPER_floordiv: return b == -1 ? int_binary(e, OPER_sub, 0, a, at) : obj_int(e, floor_div(a, b));
    case OPER_mod: return obj_int(e, b == -1 ? 0 : a - floor_div(a, b) * b);
    case OPER_pow: return b < 0 ? float_pow(e, (double)a, (double)b, at) : int_pow(e, a, b, at);
    case OPER_bitand: return obj_int(e, a & b);
    case OPER_bitor: return obj_int(e, a | b);
    case OPER_xor: return obj_int(e, a ^ b);
    case OPER_shl:
    case OPER_shr: return int_shift(e, op, a, b, at);
    default: return NULL;
    }
}

/* -- floats -- */

/* Computes a // b and a % b. The remainder has the sign of b. The quotient is the exact floor of a / b. It is computed
 * from the remainder, because the floor of the rounded a / b may differ. */
static void float_divmod(double a, double b, double *quotient, double *remainder)
{
    double r = fmod(a, b), q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) {
        r += b;
        q -= 1;
    } else if (r == 0) {
        r = copysign(0, b);
    }
    *remainder = r;
    if (q == 0) {
        *quotient = copysign(0, a / b);
        return;
    }
    *quotient = floor(q);
    if (q - *quotient > 0.5)
        *quotient += 1;
}

static struct obj *float_binary(struct eval *e, enum oper op, double a, double b, struct loc at)
{
    bool is_division = op == OPER_div || op == OPER_floordiv || op == OPER_mod;
    if (is_division && b == 0)
        eval_raise(e, at, "ZeroDivisionError",
                   op == OPER_div   ? ERR_float_division
                   : op == OPER_mod ? ERR_float_modulo
                                    : ERR_float_floor_division);
    double quotient = 0, remainder = 0;
    if (op == OPER_floordiv || op == OPER_mod)
        float_divmod(a, b, &quotient, &remainder);
    switch (op) {
    case OPER_add: return obj_float(e, a + b);
    case OPER_sub: return obj_float(e, a - b);
    case OPER_mul: return obj_float(e, a * b);
    case OPER_div: return obj_float(e, a / b);
    case OPER_floordiv: return obj_float(e, quotient);
    case OPER_mod: return obj_float(e, remainder);
    case OPER_pow: return float_pow(e, a, b, at);
    default: return NULL;
    }
}

static struct obj *number_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (a->kind == OBJ_float || b->kind == OBJ_float)
        return float_binary(e, op, obj_double(a), obj_double(b), at);
    if (a->kind == OBJ_bool && b->kind == OBJ_bool) {
        switch (op) {
        case OPER_bitand: return obj_bool(a->b & b->b);
        case OPER_bitor: return obj_bool(a->b | b->b);
        case OPER_xor: return obj_bool(a->b ^ b->b);
        default: break;
        }
    }
    return int_binary(e, op, obj_wide(a), obj_wide(b), at);
}

/* -- text and sequences -- */

static bool is_sequence(const struct obj *x)
{
    return x->kind == OBJ_str || x->kind == OBJ_list || x->kind == OBJ_tuple;
}

static struct obj *concatenate(struct eval *e, struct obj *a, struct obj *b, struct loc at)
{
    if (a->kind != b->kind)
        eval_raise(e, at, "TypeError", ERR_concatenate, obj_type_name(a), obj_type_name(b), obj_type_name(a));
    if (a->kind == OBJ_str) {
        char *s = NEW_ARRAY(e->arena, a->str.n + b->str.n + 1, char);
        memcpy(s, a->str.s, a->str.n);
        memcpy(s + a->str.n, b->str.s, b->str.n);
        return obj_str_of(e, s, a->str.n + b->str.n);
    }
    struct obj *x = obj_new(e, a->kind);
    for (int i = 0; i < a->seq.n; i++)
        VEC_PUSH(e->arena, &x->seq, a->seq.at[i]);
    for (int i = 0; i < b->seq.n; i++)
        VEC_PUSH(e->arena, &x->seq, b->seq.at[i]);
    return x;
}

static struct obj *repeat(struct eval *e, struct obj *a, struct obj *count, struct loc at)
{
    if (!obj_is_integer(count))
        eval_raise(e, at, "TypeError", ERR_repeat, obj_type_name(count));
    wide n = a->kind == OBJ_str ? (wide)a->str.n : a->seq.n;
    wide times = n == 0 || obj_wide(count) < 0 ? 0 : obj_wide(count);
    if (n && times > SEQUENCE_MOST / n)
        eval_raise(e, at, "MemoryError", ERR_too_large);
    if (a->kind == OBJ_str) {
        struct text t;
        text_init(&t, e->arena);
        for (wide i = 0; i < times; i++)
            text_bytes(&t, a->str.s, a->str.n);
        return obj_text(e, &t);
    }
    struct obj *x = obj_new(e, a->kind);
    for (wide i = 0; i < n * times; i++)
        VEC_PUSH(e->arena, &x->seq, a->seq.at[i % n]);
    return x;
}

static struct obj *sequence_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (op == OPER_mod && a->kind == OBJ_str)
        return format_percent(e, a, b, at);
    if (op == OPER_add && is_sequence(a))
        return concatenate(e, a, b, at);
    if (op == OPER_mul && is_sequence(a))
        return repeat(e, a, b, at);
    if (op == OPER_mul && is_sequence(b))
        return repeat(e, b, a, at);
    return NULL;
}

/* -- dicts and sets -- */

/* Adds items of `from` to `into`: if `has` is true, the items that are in `other`; if `has` is false, the items that
 * are not in `other`. */
static void add_where(struct eval *e, struct dict *into, const struct dict *from, const struct dict *other,
                      bool has)
{
    for (int i = 0; i < from->entries.n; i++) {
        struct dict_entry at = from->entries.at[i];
        if (at.key && (dict_get(e, other, at.key) != NULL) == has)
            dict_set(e, into, at.key, at.value);
    }
}

static struct obj *dict_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b)
{
    if (a->kind != b->kind || (a->kind == OBJ_dict && op != OPER_bitor))
        return NULL;
    struct obj *x = a->kind == OBJ_dict ? obj_dict(e) : obj_set(e);
    switch (op) {
    case OPER_bitor:
        dict_add_all(e, x->dict, a->dict);
        dict_add_all(e, x->dict, b->dict);
        return x;
    case OPER_bitand: add_where(e, x->dict, a->dict, b->dict, true); return x;
    case OPER_sub: add_where(e, x->dict, a->dict, b->dict, false); return x;
    case OPER_xor:
        add_where(e, x->dict, a->dict, b->dict, false);
        add_where(e, x->dict, b->dict, a->dict, false);
        return x;
    default: return NULL;
    }
}

/* -- which operand's class handles the operator -- */

/* clang-format off */
/*    operator   method  reflected  in place */
#define BINARY_METHODS(X) \
    X(add,      "__add__",      "__radd__",      "__iadd__") \
    X(sub,      "__sub__",      "__rsub__",      "__isub__") \
    X(mul,      "__mul__",      "__rmul__",      "__imul__") \
    X(matmul,   "__matmul__",   "__rmatmul__",   "__imatmul__") \
    X(div,      "__truediv__",  "__rtruediv__",  "__itruediv__") \
    X(floordiv, "__floordiv__", "__rfloordiv__", "__ifloordiv__") \
    X(mod,      "__mod__",      "__rmod__",      "__imod__") \
    X(pow,      "__pow__",      "__rpow__",      "__ipow__") \
    X(bitand,   "__and__",      "__rand__",      "__iand__") \
    X(bitor,    "__or__",       "__ror__",       "__ior__") \
    X(xor,      "__xor__",      "__rxor__",      "__ixor__") \
    X(shl,      "__lshift__",   "__rlshift__",   "__ilshift__") \
    X(shr,      "__rshift__",   "__rrshift__",   "__irshift__") \
    X(eq,       "__eq__",       "__eq__",        NULL) \
    X(ne,       "__ne__",       "__ne__",        NULL) \
    X(lt,       "__lt__",       "__gt__",        NULL) \
    X(le,       "__le__",       "__ge__",        NULL) \
    X(gt,       "__gt__",       "__lt__",        NULL) \
    X(ge,       "__ge__",       "__le__",        NULL) \
    X(neg,      "__neg__",      NULL,            NULL) \
    X(plus,     "__pos__",      NULL,            NULL) \
    X(invert,   "__invert__",   NULL,            NULL)
/* clang-format on */

static const struct {
    const char *method, *reflected, *inplace;
} methods[OPER_count] = {
#define X(op, method, reflected, inplace) [OPER_##op] = {method, reflected, inplace},
    BINARY_METHODS(X)
#undef X
};

/* Calls the operator's method of a's user class. If there is no such method, or if the method returns NotImplemented,
 * calls the reflected method of b's user class. Returns NULL if neither method handles the operator. */
static struct obj *instance_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    struct obj *r = NULL;
    if (a->kind == OBJ_instance && methods[op].method)
        r = instance_special(e, a, methods[op].method, 1, &b, at);
    if ((!r || r == obj_not_implemented) && b->kind == OBJ_instance && methods[op].reflected)
        r = instance_special(e, b, methods[op].reflected, 1, &a, at);
    return r == obj_not_implemented ? NULL : r;
}

/* Evaluates an operator on native objects: calls the function `compare` (if `compares`) or `binary` of the left
 * operand's class. If this function does not handle the operator, calls the same function of the right operand's
 * class. Returns NULL if neither class handles the operator. */
static struct obj *call_native_operator(struct eval *e, enum oper op, bool compares, struct obj *a,
                                        struct obj *b, struct loc at)
{
    struct obj *r = NULL;
    for (int i = 0; i < 2 && !r; i++) {
        struct obj *self = i ? b : a;
        const struct native_class *class = self->kind == OBJ_native ? self->native.class : NULL;
        native_operator *run = !class ? NULL : compares ? class->compare : class->binary;
        r = run ? run(e, op, self, i ? a : b, i, at) : NULL;
    }
    return r;
}

static struct obj *concrete_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (obj_is_number(a) && obj_is_number(b))
        return number_binary(e, op, a, b, at);
    if (a->kind == OBJ_str && op == OPER_mod)
        return format_percent(e, a, b, at);
    struct obj *r = NULL;
    if (a->kind == OBJ_native || b->kind == OBJ_native)
        r = call_native_operator(e, op, false, a, b, at);
    if (!r && (a->kind == OBJ_instance || b->kind == OBJ_instance))
        r = instance_binary(e, op, a, b, at);
    if (!r && (is_sequence(a) || is_sequence(b)))
        r = sequence_binary(e, op, a, b, at);
    if (!r && (a->kind == OBJ_dict || a->kind == OBJ_set))
        r = dict_binary(e, op, a, b);
    return r;
}

struct obj *eval_binary(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (a->kind == OBJ_error || b->kind == OBJ_error)
        return obj_error;
    if (a->kind == OBJ_tensor || b->kind == OBJ_tensor)
        return tensor_binary(e, op, a, b, at);
    struct obj *r = concrete_binary(e, op, a, b, at);
    if (!r)
        eval_raise(e, at, "TypeError", ERR_operand_types, oper_info[op].spelling, obj_type_name(a),
                   obj_type_name(b));
    return r;
}

/* If a is a list, dict or set that `a op= b` changes in place, changes a and returns true. Otherwise, returns
 * false. */
static bool change_container(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (a->kind == OBJ_list && op == OPER_add) {
        struct obj *items = iter_collect(e, b, at);
        for (int i = 0; i < items->seq.n; i++)
            VEC_PUSH(e->arena, &a->seq, items->seq.at[i]);
        return true;
    }
    if (a->kind == OBJ_list && op == OPER_mul && obj_is_integer(b)) {
        a->seq = repeat(e, a, b, at)->seq;
        return true;
    }
    if (a->kind != b->kind || (a->kind != OBJ_dict && a->kind != OBJ_set) || a->is_frozen)
        return false;
    if (op == OPER_bitor) {
        dict_add_all(e, a->dict, b->dict);
        return true;
    }
    const struct obj *x = dict_binary(e, op, a, b);
    if (x)
        *a->dict = *x->dict;
    return x != NULL;
}

struct obj *eval_inplace(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    const char *name = methods[op].inplace ? intern_str(e->strings, methods[op].inplace) : NULL;
    if (change_container(e, op, a, b, at))
        return a;
    struct obj *r = NULL;
    if (a->kind == OBJ_instance && name)
        r = instance_special(e, a, name, 1, &b, at);
    if (a->kind == OBJ_native && name && a->native.class->getattr) {
        struct obj *method = a->native.class->getattr(e, a, name, at);
        r = method ? call_with(e, method, 1, &b, at) : NULL;
    }
    return r && r != obj_not_implemented ? r : eval_binary(e, op, a, b, at);
}

struct obj *eval_unary(struct eval *e, enum oper op, struct obj *a, struct loc at)
{
    if (a->kind == OBJ_error)
        return obj_error;
    if (a->kind == OBJ_tensor)
        return tensor_unary(e, op, a, at);
    if (op == OPER_not)
        return obj_bool(!obj_truth(e, a, at));
    struct obj *r = NULL;
    if (a->kind == OBJ_native && a->native.class->unary)
        r = a->native.class->unary(e, op, a, at);
    else if (a->kind == OBJ_instance)
        r = instance_special(e, a, methods[op].method, 0, NULL, at);
    else if (a->kind == OBJ_float && op != OPER_invert)
        r = op == OPER_neg ? obj_float(e, -a->f) : a;
    else if (obj_is_integer(a))
        r = op == OPER_neg ? int_binary(e, OPER_sub, 0, obj_wide(a), at)
                           : obj_int(e, op == OPER_plus ? obj_wide(a) : ~obj_wide(a));
    if (!r)
        eval_raise(e, at, "TypeError", ERR_operand_type, oper_info[op].spelling, obj_type_name(a));
    return r;
}

/* -- comparisons -- */

static int compare_bytes(const struct obj *a, const struct obj *b)
{
    size_t n = a->str.n < b->str.n ? a->str.n : b->str.n;
    int order = memcmp(a->str.s, b->str.s, n);
    return order ? order : a->str.n < b->str.n ? -1 : a->str.n > b->str.n;
}

/* Returns whether comparison `op` is true for operands with the order `order`: -1, 0 and 1 mean that the left operand
 * is less, equal or greater; 2 means that the operands are unordered. */
static bool order_holds(enum oper op, int order)
{
    if (order == 2)
        return false;
    return op == OPER_lt ? order < 0 : op == OPER_le ? order <= 0 : op == OPER_gt ? order > 0 : order >= 0;
}

/* Compares two sequences by their items at the first index at which the items differ. If there is no such
 * index, compares the lengths. */
static struct obj *sequence_order(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    for (int i = 0; i < a->seq.n && i < b->seq.n; i++)
        if (!obj_same(a->seq.at[i], b->seq.at[i]) && !obj_equal(e, a->seq.at[i], b->seq.at[i]))
            return eval_compare(e, op, a->seq.at[i], b->seq.at[i], at);
    return obj_bool(order_holds(op, (a->seq.n > b->seq.n) - (a->seq.n < b->seq.n)));
}

static bool is_subset(struct eval *e, const struct obj *a, const struct obj *b)
{
    for (int i = 0; i < a->dict->entries.n; i++)
        if (a->dict->entries.at[i].key && !dict_get(e, b->dict, a->dict->entries.at[i].key))
            return false;
    return true;
}

static struct obj *set_order(struct eval *e, enum oper op, struct obj *a, struct obj *b)
{
    bool is_strict = op == OPER_lt || op == OPER_gt, is_reversed = op == OPER_gt || op == OPER_ge;
    bool is_proper = !is_strict || a->dict->nlive != b->dict->nlive;
    return obj_bool(is_proper && (is_reversed ? is_subset(e, b, a) : is_subset(e, a, b)));
}

static struct obj *order(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (obj_is_number(a) && obj_is_number(b))
        return obj_bool(order_holds(op, number_compare(a, b)));
    if (a->kind == OBJ_str && b->kind == OBJ_str)
        return obj_bool(order_holds(op, compare_bytes(a, b)));
    if (a->kind == b->kind && (a->kind == OBJ_list || a->kind == OBJ_tuple))
        return sequence_order(e, op, a, b, at);
    if (a->kind == OBJ_set && b->kind == OBJ_set)
        return set_order(e, op, a, b);
    struct obj *tuple_a = instance_as_tuple(e, a), *tuple_b = instance_as_tuple(e, b);
    if (tuple_a != a || tuple_b != b)
        return order(e, op, tuple_a, tuple_b, at);
    eval_raise(e, at, "TypeError", ERR_not_ordered, oper_info[op].spelling, obj_type_name(a),
               obj_type_name(b));
}

bool is_contained(struct eval *e, struct obj *x, struct obj *in, struct loc at)
{
    if (in->kind == OBJ_str) {
        if (x->kind != OBJ_str)
            eval_raise(e, at, "TypeError", ERR_in_str, obj_type_name(x));
        return str_find(e, in->str.s, 0, (int64_t)in->str.n, x, false) >= 0;
    }
    if (in->kind == OBJ_dict || in->kind == OBJ_set) {
        if (!obj_is_hashable(e, x))
            eval_raise(e, at, "TypeError", ERR_unhashable, obj_type_name(x));
        return dict_get(e, in->dict, x) != NULL;
    }
    if (in->kind == OBJ_range && obj_is_number(x))
        return range_find(in, x) >= 0;
    bool may_answer = in->kind == OBJ_instance || in->kind == OBJ_native;
    struct obj *own = may_answer ? find_attribute(e, in, intern_str(e->strings, "__contains__"), at) : NULL;
    if (own)
        return obj_truth(e, call_with(e, own, 1, &x, at), at);
    struct iter it = iter_of(e, in, at);
    for (struct obj *item; (item = iter_next(e, &it));)
        if (obj_same(item, x) || obj_truth(e, eval_compare(e, OPER_eq, item, x, at), at))
            return true;
    return false;
}

bool is_less(struct eval *e, struct obj *a, struct obj *b, struct loc at)
{
    return obj_truth(e, eval_compare(e, OPER_lt, a, b, at), at);
}

/* Compares native objects or instances by their methods. Returns NULL if no method handles the operator. If
 * this operator is `!=`, the caller then negates the result of obj_equal, which calls __eq__. */
static struct obj *compare_by_method(struct eval *e, enum oper op, struct obj *a, struct obj *b,
                                     struct loc at)
{
    struct obj *r = NULL;
    if (a->kind == OBJ_native || b->kind == OBJ_native)
        r = call_native_operator(e, op, true, a, b, at);
    if (!r && (a->kind == OBJ_instance || b->kind == OBJ_instance))
        r = instance_binary(e, op, a, b, at);
    return r;
}

struct obj *eval_compare(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at)
{
    if (a->kind == OBJ_error || b->kind == OBJ_error)
        return obj_error;
    if (op == OPER_is || op == OPER_is_not)
        return obj_bool((obj_same(a, b) || (a->kind == OBJ_int && b->kind == OBJ_int && a->i == b->i)) ==
                        (op == OPER_is));
    if (op == OPER_in || op == OPER_not_in) {
        if (a->kind == OBJ_tensor || b->kind == OBJ_tensor)
            return tensor_compare(e, op, a, b, at);
        return obj_bool(is_contained(e, a, b, at) == (op == OPER_in));
    }
    if (a->kind == OBJ_tensor || b->kind == OBJ_tensor)
        return tensor_compare(e, op, a, b, at);
    struct obj *r = compare_by_method(e, op, a, b, at);
    if (r)
        return r;
    if (op == OPER_eq || op == OPER_ne)
        return obj_bool(obj_equal(e, a, b) == (op == OPER_eq));
    return order(e, op, a, b, at);
}
