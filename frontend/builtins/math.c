/* SPDX-License-Identifier: MIT */
/* math.c: implements builtins for elementwise mathematics, selection, minimum and maximum.
 *
 *     tl.exp(x)          exp, of f32 and f64 only
 *     tl.maximum(a, b)   converts numbers to tensors, bf16 to f32, and both operands to one type; then max
 *     tl.where(c, x, y)  x and y get a common type (promote.c), c is broadcast with them, then select */
#include "frontend/builtins/handlers.h"

#include <string.h>

static bool is_single_or_double(const struct lang_type *t)
{
    return is_dtype(t, DT_f32) || is_dtype(t, DT_f64);
}

/* Reports that x does not have the type `wanted`, and returns obj_error. */
static struct obj *wrong_type(struct eval *e, const struct args *call, const char *wanted,
                              const struct obj *x, struct loc at)
{
    diag_error(e->diag, trace_loc(e, at), ERR_math_type, call->callee->name, wanted, type_text(e, x));
    if (x->kind == OBJ_tensor && (is_float_type(scalar_of(x)) || is_int_type(scalar_of(x))))
        diag_hint(e->diag, ERR_hint_math_cast);
    return obj_error;
}

/* Converts argument i to a tensor, and checks that the tensor's type is f32 or f64. Returns NULL after an
 * error, which it reports. */
static struct obj *arg_float(struct eval *e, struct obj **args, const struct args *call, int i,
                             const char *name)
{
    struct obj *x = arg_tensor(e, args[i], call, i, name);
    if (x && is_single_or_double(scalar_of(x)))
        return x;
    if (x)
        wrong_type(e, call, "float32 or float64", x, arg_loc(call, i, name));
    return NULL;
}

static struct obj *unary(struct eval *e, enum opcode code, struct obj *x, struct loc at)
{
    return tensor_like(e, x, build_unary(trace_builder(e, at), code, x->tensor.value), scalar_of(x));
}

static enum opcode opcode_of(const char *name)
{
    return op_by_name(name, strlen(name));
}

struct obj *builtin_float_unary(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_float(e, args, call, 0, "x");
    if (!x)
        return obj_error;
    const char *name = call->callee->data;
    if (is_dtype(scalar_of(x), DT_f64) && strstr("sin cos erf", name)) {
        struct text function;
        text_init(&function, e->arena);
        text_printf(&function, "%s_f64", name);
        return trace_call_prelude(e, function.s, 1, &x, call->loc);
    }
    struct obj *r = unary(e, opcode_of(name), x, call->loc);
    if (r->tensor.value->def->code == OP_sqrt && is_dtype(scalar_of(x), DT_f64))
        op_set_int(r->tensor.value->def, ATTR_round, ROUND_rn);
    return r;
}

struct obj *builtin_sqrt_rn(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_float(e, args, call, 0, "x");
    if (!x)
        return obj_error;
    struct obj *r = unary(e, OP_sqrt, x, call->loc);
    op_set_int(r->tensor.value->def, ATTR_round, ROUND_rn);
    return r;
}

/* Returns the absolute value of an 8-bit float, NaN included, by clearing the sign bit. */
static struct obj *abs_fp8(struct eval *e, const struct obj *x, struct loc at)
{
    enum { NO_SIGN = 0x7f };
    struct builder *b = trace_builder(e, at);
    const struct type *elem = type_elem(x->tensor.value->type), *i8 = type_scalar(e->trace->module, DT_i8);
    struct value *v = build_cast(b, OP_bitcast, x->tensor.value, i8);
    v = build_binary(b, OP_and, v, build_const_int(b, v->type, NO_SIGN));
    return tensor_new(e, build_cast(b, OP_bitcast, v, elem), scalar_of(x), rank_of(x), shape_of(x));
}

struct obj *builtin_abs(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x");
    if (!x)
        return obj_error;
    if (is_ptr_type(scalar_of(x)))
        return wrong_type(e, call, "a number", x, call->loc);
    if (is_fp8_type(scalar_of(x)))
        return abs_fp8(e, x, call->loc);
    bool is_unsigned = is_int_type(scalar_of(x)) && scalar_of(x)->is_unsigned;
    return is_unsigned ? x : unary(e, OP_abs, x, call->loc);
}

/* -- division and fused operations -- */

/* Converts two arguments to tensors of one shape, and checks that both have the same float type, which must
 * not be fp8. Returns false after an error, which it reports. */
static bool float_pair(struct eval *e, struct obj **args, const struct args *call, struct obj **x,
                       struct obj **y)
{
    *x = arg_tensor(e, args[0], call, 0, "x");
    *y = arg_tensor(e, args[1], call, 1, "y");
    if (!*x || !*y)
        return false;
    const struct lang_type *a = scalar_of(*x), *b = scalar_of(*y);
    if (!is_float_type(a) || !is_float_type(b) || is_fp8_type(a))
        return wrong_type(e, call, "floats", is_float_type(a) && !is_fp8_type(a) ? *y : *x, call->loc), false;
    if (!lang_equal(a, b)) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_dtypes_differ, call->callee->name, lang_text(e, a),
                   lang_text(e, b));
        return false;
    }
    tensor_broadcast(e, x, y, call->loc);
    return !is_error(*x);
}

/* Divides x by y. If `exact` is true, rounds f32 quotients to nearest. Divides f16 and bf16 operands in f32,
 * and casts the quotient back. */
static struct obj *divide(struct eval *e, struct obj *x, struct obj *y, bool exact, struct loc at)
{
    const struct lang_type *t = scalar_of(x);
    if (!is_single_or_double(t)) {
        const struct lang_type *f32 = lang_number(e, DT_f32, false);
        struct obj *by = tensor_cast(e, y, f32, ROUND_none, false, at);
        struct obj *r = divide(e, tensor_cast(e, x, f32, ROUND_none, false, at), by, exact, at);
        return tensor_cast(e, r, t, ROUND_none, false, at);
    }
    struct value *v = build_binary(trace_builder(e, at), OP_fdiv, x->tensor.value, y->tensor.value);
    if (exact || is_dtype(t, DT_f64))
        op_set_int(v->def, ATTR_round, ROUND_rn);
    return tensor_like(e, x, v, t);
}

struct obj *builtin_fdiv(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x, *y;
    bool exact;
    if (!arg_bool(e, args[2], "ieee_rounding", arg_loc(call, 2, "ieee_rounding"), &exact) ||
        !float_pair(e, args, call, &x, &y))
        return obj_error;
    return divide(e, x, y, exact, call->loc);
}

struct obj *builtin_fdiv_fast(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x, *y;
    return float_pair(e, args, call, &x, &y) ? divide(e, x, y, false, call->loc) : obj_error;
}

struct obj *builtin_div_rn(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x, *y;
    return float_pair(e, args, call, &x, &y) ? divide(e, x, y, true, call->loc) : obj_error;
}

struct obj *builtin_float_binary(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x, *y;
    if (!arg_float(e, args, call, 0, "x") || !arg_float(e, args, call, 1, "y") ||
        !float_pair(e, args, call, &x, &y))
        return obj_error;
    struct value *v = build_binary(trace_builder(e, call->loc), opcode_of(call->callee->data),
                                   x->tensor.value, y->tensor.value);
    return tensor_like(e, x, v, scalar_of(x));
}

/* Converts three operands to one type and shape. Operands may be integers. Returns false after an error,
 * which it reports. */
static bool promote_three(struct eval *e, struct obj **x, struct loc at)
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 3; i++) {
            struct obj **a = &x[i], **b = &x[(i + 1) % 3];
            tensor_promote(e, a, b, false, at);
            if (is_error(*a))
                return false;
        }
    return true;
}

struct obj *builtin_fma(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const names[] = {"x", "y", "z"};
    struct obj *x[3];
    for (int i = 0; i < 3; i++)
        if (!(x[i] = arg_tensor(e, args[i], call, i, names[i])))
            return obj_error;
    if (!promote_three(e, x, call->loc))
        return obj_error;
    const struct lang_type *t = scalar_of(x[0]);
    if (is_float_type(t) && !is_fp8_type(t))
        return tensor_like(e, x[0],
                           build_fma(trace_builder(e, call->loc), x[0]->tensor.value, x[1]->tensor.value,
                                     x[2]->tensor.value),
                           t);
    return tensor_binary(e, OPER_add, tensor_binary(e, OPER_mul, x[0], x[1], call->loc), x[2], call->loc);
}

/* Implements umulhi: interprets two integers of 32 or 64 bits as unsigned, and returns the high half of their
 * product. */
struct obj *builtin_umulhi(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x"), *y = arg_tensor(e, args[1], call, 1, "y");
    if (!x || !y)
        return obj_error;
    tensor_promote(e, &x, &y, false, call->loc);
    if (is_error(x))
        return x;
    const struct lang_type *t = scalar_of(x);
    if (!is_int_type(t) || bits_of(t) < 32)
        return wrong_type(e, call, "integers of 32 or 64 bits", x, call->loc);
    return tensor_like(
        e, x, build_binary(trace_builder(e, call->loc), OP_mulhu, x->tensor.value, y->tensor.value), t);
}

/* -- minimum and maximum -- */

static struct obj *without_bf16(struct eval *e, struct obj *x, struct loc at)
{
    return is_dtype(scalar_of(x), DT_bf16)
               ? tensor_cast(e, x, lang_number(e, DT_f32, false), ROUND_none, false, at)
               : x;
}

static struct value *extremum_value(struct eval *e, bool is_max, const struct lang_type *t, struct value *x,
                                    struct value *y, bool propagate, struct loc at)
{
    enum opcode code = is_max ? OP_max : OP_min;
    if (is_dtype(t, DT_i1))
        code = is_max ? OP_or : OP_and;
    else if (is_int_type(t))
        code = t->is_unsigned ? (is_max ? OP_maxu : OP_minu) : is_max ? OP_maxs : OP_mins;
    struct value *v = build_binary(trace_builder(e, at), code, x, y);
    if (is_float_type(t))
        op_set_int(v->def, ATTR_nan, propagate);
    return v;
}

static struct obj *extremum(struct eval *e, bool is_max, struct obj *x, struct obj *y, bool propagate,
                            const struct args *call)
{
    x = without_bf16(e, x, call->loc);
    y = without_bf16(e, y, call->loc);
    tensor_promote(e, &x, &y, false, call->loc);
    if (is_error(x))
        return x;
    const struct lang_type *t = scalar_of(x);
    if (is_fp8_type(t))
        return wrong_type(e, call, "a number", x, call->loc);
    return tensor_like(
        e, x, extremum_value(e, is_max, t, x->tensor.value, y->tensor.value, propagate, call->loc), t);
}

static bool is_max_row(const struct args *call)
{
    return strcmp(call->callee->data, "max") == 0;
}

struct obj *builtin_extremum(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x"), *y = arg_tensor(e, args[1], call, 1, "y");
    bool propagate;
    if (!x || !y || !arg_nan(e, args[2], arg_loc(call, 2, "propagate_nan"), &propagate))
        return obj_error;
    return extremum(e, is_max_row(call), x, y, propagate, call);
}

struct obj *builtin_clamp(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const names[] = {"x", "min", "max"};
    struct obj *x[3];
    bool propagate;
    for (int i = 0; i < 3; i++) {
        if (!(x[i] = arg_tensor(e, args[i], call, i, names[i])))
            return obj_error;
        x[i] = without_bf16(e, x[i], call->loc);
    }
    if (!arg_nan(e, args[3], arg_loc(call, 3, "propagate_nan"), &propagate) ||
        !promote_three(e, x, call->loc))
        return obj_error;
    if (!is_float_type(scalar_of(x[0])))
        return wrong_type(e, call, "floats", x[0], call->loc);
    struct obj *low = extremum(e, true, x[0], x[1], propagate, call);
    return is_error(low) ? low : extremum(e, false, low, x[2], propagate, call);
}

/* Implements min(a, b, ...) and max(a, b, ...) in kernels. If no argument is a tensor, calls Python's functions. */
struct obj *builtin_bare_extremum(struct eval *e, struct obj **args, const struct args *call)
{
    bool propagate;
    struct obj *items = args[0];
    if (!trace_is_tensor(items)) {
        const char *name = intern_str(e->strings, call->callee->data);
        struct args plain = *call;
        plain.nkw = 0;
        return eval_call(e, scope_get(e->builtins->module.scope, name), &plain);
    }
    if (!arg_nan(e, args[1], call->loc, &propagate))
        return obj_error;
    if (items->seq.n == 1) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_extremum_of_one, (const char *)call->callee->data);
        diag_hint(e->diag, ERR_hint_extremum, (const char *)call->callee->data);
        return obj_error;
    }
    struct obj *x = arg_tensor(e, items->seq.at[0], call, 0, "a");
    for (int i = 1; x && i < items->seq.n; i++) {
        struct obj *y = arg_tensor(e, items->seq.at[i], call, i, "b");
        x = y ? extremum(e, is_max_row(call), x, y, propagate, call) : NULL;
        if (x && is_error(x))
            return x;
    }
    return x ? x : obj_error;
}

/* -- operators by name -- */

struct obj *builtin_operator(struct eval *e, struct obj **args, const struct args *call)
{
    static const char signs[] = "+-*";
    static const enum oper ops[] = {OPER_add, OPER_sub, OPER_mul};
    const char *sign = call->callee->data;
    return eval_binary(e, ops[strchr(signs, *sign) - signs], args[0], args[1], call->loc);
}

struct obj *builtin_logical(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *i1 = lang_number(e, DT_i1, true);
    struct obj *x = arg_tensor(e, args[0], call, 0, "x"), *y = arg_tensor(e, args[1], call, 1, "y");
    bool is_or = strcmp(call->callee->data, "or") == 0;
    if (!x || !y)
        return obj_error;
    x = tensor_cast(e, x, i1, ROUND_none, false, call->loc);
    y = tensor_cast(e, y, i1, ROUND_none, false, call->loc);
    return tensor_binary(e, is_or ? OPER_bitor : OPER_bitand, x, y, call->loc);
}

/* Implements tl.cdiv: computes (x + (div - 1)) // div. */
struct obj *builtin_cdiv(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *one = obj_int(e, 1);
    struct obj *less = eval_binary(e, OPER_sub, args[1], one, call->loc);
    return eval_binary(e, OPER_floordiv, eval_binary(e, OPER_add, args[0], less, call->loc), args[1],
                       call->loc);
}

/* Implements libdevice functions such as float_as_int: bitcasts x to the type whose name is in the column
 * `data` of the row. */
struct obj *builtin_bits_as(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x");
    const char *name = call->callee->data;
    return x ? tensor_cast(e, x, lang_parse(e, name, strlen(name)), ROUND_none, true, call->loc) : obj_error;
}

/* Calls the prelude's function whose name is in the column `data` of the row. The first argument must be f32
 * or f64. */
struct obj *builtin_prelude_of_float(struct eval *e, struct obj **args, const struct args *call)
{
    args[0] = arg_float(e, args, call, 0, "x");
    return args[0] ? builtin_prelude(e, args, call) : obj_error;
}

enum { PARAMS_MOST = 4 };

static int count_params(const struct args *call)
{
    int n = 1;
    for (const char *s = call->callee->params; *s; s++)
        n += *s == ',';
    return n;
}

/* Calls the prelude's function whose name is in the column `data` of the row. All operands must have one
 * type, f32 or f64, but operands after the first may also be integers. */
struct obj *builtin_float_prelude(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const names[] = {"x", "y", "z", "w"};
    struct obj *x[PARAMS_MOST] = {arg_float(e, args, call, 0, "x")};
    int n = count_params(call);
    if (!x[0])
        return obj_error;
    for (int i = 1; i < n; i++) {
        if (!(x[i] = arg_tensor(e, args[i], call, i, names[i])))
            return obj_error;
        if (!is_int_type(scalar_of(x[i])) && !lang_equal(scalar_of(x[0]), scalar_of(x[i])))
            return wrong_type(e, call, lang_text(e, scalar_of(x[0])), x[i], arg_loc(call, i, names[i]));
        tensor_broadcast(e, &x[0], &x[i], call->loc);
        if (is_error(x[0]))
            return x[0];
    }
    return trace_call_prelude(e, call->callee->data, n, x, call->loc);
}

/* Implements jn(n, x) and yn(n, x) by functions of the prelude: n, the order of the Bessel function, is an i32, and x
 * is an f32 or f64. */
struct obj *builtin_order_prelude(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x[2] = {arg_tensor(e, args[0], call, 0, "n"), arg_float(e, args, call, 1, "x")};
    if (!x[0] || !x[1])
        return obj_error;
    if (!is_dtype(scalar_of(x[0]), DT_i32))
        return wrong_type(e, call, "int32", x[0], arg_loc(call, 0, "n"));
    tensor_broadcast(e, &x[0], &x[1], call->loc);
    return is_error(x[0]) ? x[0] : trace_call_prelude(e, call->callee->data, 2, x, call->loc);
}

/* Calls the prelude's function whose name is in the column `data` of the row. The operands must be integers
 * of 32 or 64 bits. */
struct obj *builtin_int_prelude(struct eval *e, struct obj **args, const struct args *call)
{
    int n = count_params(call);
    for (int i = 0; i < n; i++) {
        if (!(args[i] = arg_tensor(e, args[i], call, i, "x")))
            return obj_error;
        if (!is_int_type(scalar_of(args[i])) || bits_of(scalar_of(args[i])) < 32)
            return wrong_type(e, call, "integers of 32 or 64 bits", args[i], call->loc);
    }
    return trace_call_prelude(e, call->callee->data, n, args, call->loc);
}

static enum rounding rounding_of(char letter)
{
    return letter == 'z' ? ROUND_rz : letter == 'd' ? ROUND_rd : letter == 'u' ? ROUND_ru : ROUND_rn;
}

/* Returns the rounding mode of a libdevice function on f32 for the letter n, z, d or u (see
 * builtin_round_toward). The mode flushes subnormals to 0, because Triton links libdevice with the option
 * that flushes subnormals. */
static enum rounding flushing_of(char letter)
{
    return letter == 'z'   ? ROUND_rz_ftz
           : letter == 'd' ? ROUND_rd_ftz
           : letter == 'u' ? ROUND_ru_ftz
                           : ROUND_rn_ftz;
}

/* Builds an f64 operation that rounds to nearest. Unlike the products and sums of the operators * and +, the
 * products and sums that this function builds are never contracted to an fma. */
static struct obj *round_to_nearest_f64(struct eval *e, enum opcode code, int n, struct value **opnds,
                                        struct obj **x, struct loc at)
{
    switch (code) {
    case OP_fadd: return trace_call_prelude(e, "libdevice_add_rn", n, x, at);
    case OP_fsub: return trace_call_prelude(e, "libdevice_sub_rn", n, x, at);
    case OP_fmul: return trace_call_prelude(e, "libdevice_mul_rn", n, x, at);
    case OP_ffma: code = OP_fma; break;
    default: break;
    }
    struct op *o = build_op(trace_builder(e, at), code, n, opnds, 1, &opnds[0]->type, 0);
    if (code != OP_fma)
        op_set_int(o, ATTR_round, ROUND_rn);
    return tensor_like(e, x[0], op_result(o), scalar_of(x[0]));
}

/* Implements libdevice functions such as add_rz. The column `data` of the row is a letter for the rounding
 * (n: to nearest, z: toward zero, d: down, u: up), followed by the name of the op. If the op is fdiv and the
 * call has one argument, computes 1 / x. */
struct obj *builtin_round_toward(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const names[] = {"x", "y", "z"};
    const char *how = call->callee->data;
    enum opcode code = opcode_of(how + 1);
    struct obj *x[PARAMS_MOST] = {arg_float(e, args, call, 0, "x")};
    struct value *opnds[PARAMS_MOST];
    int n = count_params(call);
    if (!x[0])
        return obj_error;
    for (int i = 1; i < n; i++) {
        if (!(x[i] = arg_tensor(e, args[i], call, i, names[i])))
            return obj_error;
        if (!lang_equal(scalar_of(x[0]), scalar_of(x[i])))
            return wrong_type(e, call, lang_text(e, scalar_of(x[0])), x[i], arg_loc(call, i, names[i]));
    }
    /* broadcasts x[0] with each other operand in two rounds: x[0] gets the common shape in the first round, and all
     * other operands get this shape in the second round */
    for (int i = 1; i < 2 * n && n > 1; i++)
        tensor_broadcast(e, &x[0], &x[i % n ? i % n : 1], call->loc);
    if (is_error(x[0]))
        return x[0];
    bool is_inverse = code == OP_fdiv && n == 1;
    if (is_inverse)
        opnds[0] = build_const_float(trace_builder(e, call->loc), x[0]->tensor.value->type, 1);
    for (int i = 0; i < n; i++)
        opnds[i + is_inverse] = x[i]->tensor.value;
    bool is_f32 = is_dtype(scalar_of(x[0]), DT_f32);
    if (*how == 'n' && !is_f32)
        return round_to_nearest_f64(e, code, n + is_inverse, opnds, x, call->loc);
    struct op *o = build_op(trace_builder(e, call->loc), code, n + is_inverse, opnds, 1, &opnds[0]->type, 0);
    op_set_int(o, ATTR_round, is_f32 ? flushing_of(*how) : rounding_of(*how));
    return tensor_like(e, x[0], op_result(o), scalar_of(x[0]));
}

/* Implements libdevice functions such as float2int_rz. The column `data` of the row is a letter for the rounding (n,
 * z, d or u, as in builtin_round_toward), followed by the name of the result's type. */
struct obj *builtin_convert_rounded(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x");
    const char *how = call->callee->data;
    if (!x)
        return obj_error;
    const struct lang_type *to = lang_parse(e, how + 1, strlen(how + 1));
    if (is_float_type(scalar_of(x)) && is_int_type(to) && *how != 'z') {
        if (!arg_float(e, args, call, 0, "x"))
            return obj_error;
        x = unary(e, *how == 'n' ? OP_rint : *how == 'd' ? OP_floor : OP_ceil, x, call->loc);
    }
    struct obj *r = tensor_cast(e, x, to, ROUND_none, false, call->loc);
    if (is_error(r) || !is_float_type(to) || r->tensor.value == x->tensor.value)
        return r;
    bool flushes = is_dtype(scalar_of(x), DT_f64) && is_dtype(to, DT_f32);
    if (flushes || *how != 'n')
        op_set_int(r->tensor.value->def, ATTR_round, flushes ? flushing_of(*how) : rounding_of(*how));
    return r;
}

/* -- selection -- */

static bool all_pointers(const struct obj *x, const struct obj *y)
{
    return x->kind == OBJ_tensor && y->kind == OBJ_tensor && is_ptr_type(scalar_of(x)) &&
           lang_equal(scalar_of(x), scalar_of(y));
}

/* Converts x and y to one type. If one operand is a number and the other a tensor, the number gets the
 * tensor's type. Exception: a float with a tensor of integers, and an int or float with a tensor of bools,
 * get their common type (promote.c). Returns false after an error, which it reports. */
static bool promote_sides(struct eval *e, struct obj **x, struct obj **y, struct loc at)
{
    if (all_pointers(*x, *y)) {
        tensor_broadcast(e, x, y, at);
    } else if (is_number(*x) && is_number(*y)) {
        *x = to_tensor(e, *x, at);
        *y = to_tensor(e, *y, at);
        tensor_promote(e, x, y, false, at);
    } else {
        tensor_promote(e, x, y, false, at);
    }
    return !is_error(*x);
}

static bool is_where_operand(struct eval *e, struct obj *x, const struct args *call, int i, const char *name)
{
    return is_number(x) || arg_tensor(e, x, call, i, name);
}

struct obj *builtin_where(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *c = arg_tensor(e, args[0], call, 0, "condition"), *x = args[1], *y = args[2];
    if (!c || !is_where_operand(e, x, call, 1, "x") || !is_where_operand(e, y, call, 2, "y"))
        return obj_error;
    c = tensor_cast(e, c, lang_number(e, DT_i1, true), ROUND_none, false, arg_loc(call, 0, "condition"));
    if (is_error(c) || !promote_sides(e, &x, &y, call->loc))
        return obj_error;
    tensor_broadcast(e, &x, &y, call->loc);
    tensor_broadcast(e, &c, &x, call->loc);
    tensor_broadcast(e, &x, &y, call->loc);
    if (is_error(x) || is_error(c))
        return obj_error;
    struct value *v =
        build_select(trace_builder(e, call->loc), c->tensor.value, x->tensor.value, y->tensor.value);
    return tensor_like(e, x, v, scalar_of(x));
}
