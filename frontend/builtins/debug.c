/* SPDX-License-Identifier: MIT */
/* debug.c: implements builtins for ranges of loops, optimization hints, prints, assertions and inline assembly. */
#include "frontend/builtins/handlers.h"

#include <stdlib.h>
#include <string.h>

/* -- ranges -- */

/* Sets the bounds of *r from the first three arguments of a range, and returns an object that holds a copy of *r for
 * trace_for. */
static struct obj *range_object(struct eval *e, struct obj **args, const struct args *call,
                                struct loop_range *r)
{
    struct obj *a = args[0], *b = args[1], *c = args[2];
    bool one = b->kind == OBJ_none;
    r->lo_at = arg_loc(call, 0, "arg1");
    r->hi_at = one ? r->lo_at : arg_loc(call, 1, "arg2");
    r->step_at = arg_loc(call, 2, "step");
    r->lo = one ? obj_int(e, 0) : a;
    r->hi = one ? a : b;
    r->step = c->kind == OBJ_none ? obj_int(e, 1) : c;
    return loop_range_new(e, r);
}

/* Implements Python's `range` in kernels. As in Triton, ignores keyword arguments: range(a, b, step=2) steps
 * by 1. */
struct obj *builtin_bare_range(struct eval *e, struct obj **args, const struct args *call)
{
    struct loop_range r = {0};
    return range_object(e, args, call, &r);
}

struct obj *builtin_static_range(struct eval *e, struct obj **args, const struct args *call)
{
    struct loop_range r = {.is_static = true};
    return range_object(e, args, call, &r);
}

/* Sets *out to the number x, argument i of the call. If x is None or a number outside of 0 to 1024, sets *out
 * to 0, as if the call did not pass the option. Returns false after an error, which it reports. */
static bool arg_count(struct eval *e, struct obj *x, const char *name, const struct args *call, int i,
                      int *out)
{
    int64_t n = 0;
    if (x->kind != OBJ_none && !arg_int(e, x, name, arg_loc(call, i, name), &n))
        return false;
    *out = n < 0 || n > 1024 ? 0 : (int)n;
    return true;
}

struct obj *builtin_tl_range(struct eval *e, struct obj **args, const struct args *call)
{
    struct loop_range r = {0};
    if (!arg_count(e, args[3], "num_stages", call, 3, &r.stages) ||
        !arg_count(e, args[4], "loop_unroll_factor", call, 4, &r.unroll))
        return obj_error;
    return range_object(e, args, call, &r);
}

/* -- builtins without effect -- */

struct obj *builtin_same(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e;
    (void)call;
    return args[0];
}

struct obj *builtin_nothing(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e;
    (void)args;
    (void)call;
    return obj_none;
}

/* -- promises -- */

struct obj *builtin_hint(struct eval *e, struct obj **args, const struct args *call)
{
    static const enum attr_key keys[] = {ATTR_divisible, ATTR_contiguous, ATTR_constant};
    struct obj *x = arg_tensor(e, args[0], call, 0, "input"), **items = &args[1];
    struct loc at = arg_loc(call, 1, "values");
    int n = 1, list[RANK_MAX];
    if (!x)
        return obj_error;
    if (args[1]->kind == OBJ_tuple || args[1]->kind == OBJ_list)
        arg_items(args[1], &n, &items);
    int wanted = rank_of(x) ? rank_of(x) : 1;
    if (n != wanted) {
        diag_error(e->diag, trace_loc(e, at), ERR_hint_length, call->callee->name, wanted, n);
        return obj_error;
    }
    for (int i = 0; i < n; i++) {
        int64_t v;
        if (!arg_int(e, items[i], "the promise", at, &v))
            return obj_error;
        if (v < 1 || v > INT32_MAX) {
            diag_error(e->diag, trace_loc(e, at), ERR_hint_value, call->callee->name);
            return obj_error;
        }
        list[i] = (int)v;
    }
    struct value *v = x->tensor.value;
    struct op *o = build_op(trace_builder(e, call->loc), OP_hint, 1, &v, 1, &v->type, 0);
    for (int i = 0; i < 3; i++)
        if (strcmp(attr_info[keys[i]].word, call->callee->data) == 0)
            op_set_list(o, keys[i], n, list);
    return tensor_like(e, x, op_result(o), scalar_of(x));
}

struct obj *builtin_debug_barrier(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    build_op(trace_builder(e, call->loc), OP_barrier, 0, NULL, 0, NULL, 0);
    return obj_none;
}

/* -- at compile time -- */

struct obj *builtin_static_print(struct eval *e, struct obj **args, const struct args *call)
{
    const char *separator, *end;
    struct text out;
    if (!arg_string(e, args[1], "sep", call->loc, &separator) ||
        !arg_string(e, args[2], "end", call->loc, &end))
        return obj_error;
    if (args[2]->kind == OBJ_none)
        end = "\n";
    text_init(&out, e->arena);
    for (int i = 0; i < args[0]->seq.n; i++) {
        if (i)
            text_str(&out, separator);
        obj_print(e, args[0]->seq.at[i], &out, false);
    }
    text_str(&out, end);
    eval_write(e, out.s, out.len);
    return obj_none;
}

struct obj *builtin_static_assert(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *c = args[0];
    struct text message;
    if (c->kind == OBJ_tensor && c->tensor.constant)
        c = c->tensor.constant;
    if (c->kind != OBJ_bool) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "cond")), ERR_static_assert_kind, type_text(e, c));
        return obj_error;
    }
    text_init(&message, e->arena);
    obj_print(e, args[1], &message, false);
    if (!c->b)
        diag_error(e->diag, trace_loc(e, call->loc), ERR_static_assert, message.len ? ": " : "",
                   message.len ? message.s : "");
    return obj_none;
}

/* -- at run time -- */

/* Converts the argument `prefix` to the text that is printed before a value. For example, the prefixes "x",
 * "x " and "x:" all give " x: ". Returns the prefix unchanged if there are no values to print. */
static const char *printed_prefix(struct eval *e, const char *s, bool has_operands)
{
    struct text t;
    text_init(&t, e->arena);
    if (!has_operands)
        return s;
    size_t n = strlen(s);
    bool has_colon = n >= 2 && strcmp(s + n - 2, ": ") == 0;
    if (!has_colon && n && (s[n - 1] == ' ' || s[n - 1] == ':'))
        n--;
    text_bytes(&t, s, n);
    if (!has_colon)
        text_str(&t, ": ");
    if (t.len <= 2 || t.s[0] == ' ')
        return t.s;
    struct text spaced;
    text_init(&spaced, e->arena);
    text_printf(&spaced, " %s", t.s);
    return spaced.s;
}

static bool is_ascii(const struct obj *x)
{
    for (size_t i = 0; i < x->str.n; i++)
        if ((unsigned char)x->str.s[i] >= 0x80 || x->str.s[i] == '\0')
            return false;
    return true;
}

/* Converts x to an operand of the op print. IR types have no signedness, so this function converts unsigned
 * values to a wider signed type, unless they are printed in hexadecimal. Unsigned values of 64 bits cannot be
 * widened. Instead, the caller sets bit i of the op's attribute `unsigned` if operand i is such a value. */
static struct obj *printable(struct eval *e, struct obj *x, bool hex, struct loc at)
{
    const struct lang_type *t = scalar_of(x);
    if (hex || !is_int_type(t) || !t->is_unsigned || bits_of(t) == 64)
        return x;
    return tensor_cast(e, x, lang_number(e, bits_of(t) < 32 ? DT_i32 : DT_i64, false), ROUND_none, false, at);
}

struct obj *builtin_device_print(struct eval *e, struct obj **args, const struct args *call)
{
    bool hex;
    struct value_list values = {0};
    int64_t are_unsigned = 0;
    if (args[0]->kind != OBJ_str || !is_ascii(args[0])) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "prefix")), ERR_print_prefix);
        return obj_error;
    }
    if (!arg_bool(e, args[2], "hex", arg_loc(call, 2, "hex"), &hex))
        return obj_error;
    for (int i = 0; i < args[1]->seq.n; i++) {
        struct obj *x = arg_tensor(e, args[1]->seq.at[i], call, i + 1, "args");
        if (!x)
            return obj_error;
        const struct lang_type *t = scalar_of(x);
        if (is_int_type(t) && t->is_unsigned && bits_of(t) == 64 && i < 63)
            are_unsigned |= (int64_t)1 << i;
        VEC_PUSH(e->arena, &values, printable(e, x, hex, call->loc)->tensor.value);
    }
    const char *prefix = printed_prefix(e, args[0]->str.s, values.n > 0);
    struct op *o = build_op(trace_builder(e, call->loc), OP_print, values.n, values.at, 0, NULL, 0);
    op_set_str(o, ATTR_text, prefix, (int)strlen(prefix));
    op_set_int(o, ATTR_hex, hex);
    op_set_int(o, ATTR_unsigned, are_unsigned);
    return obj_none;
}

/* Implements tl.device_assert. Always checks the arguments, but builds the op `assert` only in debug mode. */
struct obj *builtin_device_assert(struct eval *e, struct obj **args, const struct args *call)
{
    const struct lang_type *i1 = lang_number(e, DT_i1, true);
    struct obj *c = arg_tensor(e, args[0], call, 0, "cond"), *mask = NULL;
    const char *message;
    if (!c || !arg_string(e, args[1], "msg", arg_loc(call, 1, "msg"), &message))
        return obj_error;
    c = tensor_cast(e, c, i1, ROUND_none, false, call->loc);
    if (args[2]->kind != OBJ_none) {
        mask = arg_tensor(e, args[2], call, 2, "mask");
        mask = mask ? tensor_cast(e, mask, i1, ROUND_none, false, call->loc) : obj_error;
        tensor_broadcast(e, &c, &mask, call->loc);
    }
    if (is_error(c) || !e->trace->spec->debug)
        return is_error(c) ? c : obj_none;
    struct value *opnds[] = {c->tensor.value, mask ? mask->tensor.value : NULL};
    struct op *o = build_op(trace_builder(e, call->loc), OP_assert, mask ? 2 : 1, opnds, 0, NULL, 0);
    op_set_str(o, ATTR_text, message, (int)strlen(message));
    return obj_none;
}

/* -- inline assembly -- */

/* Skips n constraints of inline assembly and the blanks around them. Returns a pointer to the next
 * constraint. Returns NULL if a skipped constraint is wrong: if it does not fit a register of `bits` bits, if
 * a result's constraint does not begin with `=`, or if an operand's constraint begins with `=`. */
static const char *skip_constraints(const char *s, int n, bool is_result, int bits)
{
    for (; n > 0 && s; n--) {
        s += strspn(s, " ");
        if (is_result != (*s == '='))
            return NULL;
        s += strspn(s, "=&");
        int has = *s == 'h' ? 16 : *s == 'r' || *s == 'f' ? 32 : *s == 'l' || *s == 'd' ? 64 : 0;
        bool fits = has == bits || (bits < 32 && has && has <= 32 && has >= bits && *s != 'f');
        s += 1 + (*s ? strspn(s + 1, " ") : 0);
        if (!fits || (*s && *s != ','))
            return NULL;
        s += *s == ',';
    }
    return s;
}

/* Checks that the constraints fit the results and operands of op o. Returns false after an error, which it reports. */
static bool check_constraints(struct eval *e, const struct op *o, const char *text, struct loc at)
{
    const char *s = text, *good = text;
    int pack = (int)op_int(o, ATTR_pack);
    for (int i = 0; i < o->nresults + o->nopnds && s; i++) {
        bool is_result = i < o->nresults;
        const struct type *t = is_result ? o->results[i].type : op_opnd(o, i - o->nresults)->type;
        int bits = type_elem_bits(t), per = asm_elems_per_register(bits, pack);
        good = s;
        s = skip_constraints(s, pack / per, is_result, per * bits);
    }
    s = s ? s + strspn(s, " ") : NULL;
    if (s && (!*s || strncmp(s, "~{", 2) == 0))
        return true;
    diag_error(e->diag, trace_loc(e, at), ERR_asm_constraints, s ? s : good, o->nresults, o->nopnds);
    return false;
}

static bool is_asm_type(struct eval *e, const struct lang_type *t, struct loc at)
{
    if (!is_dtype(t, DT_i1))
        return true;
    diag_error(e->diag, trace_loc(e, at), ERR_asm_type, lang_text(e, t));
    return false;
}

enum { ASM_RESULTS = 8, ASM_OPNDS = 16 };

/* If *x is a list or tuple, sets *items to its items; otherwise, *x itself is the only item. Returns the
 * number of items. */
static int items_of(struct obj **x, struct obj ***items)
{
    int n = 1;
    *items = x;
    if ((*x)->kind == OBJ_tuple || (*x)->kind == OBJ_list)
        arg_items(*x, &n, items);
    return n;
}

/* Converts the items of the argument `args`, which are the assembly's inputs, to operands of one shape, and stores the
 * operands in x. Returns the number of operands; -1 after an error, which it reports. */
static int asm_operands(struct eval *e, struct obj **items, const struct args *call, struct obj **x)
{
    struct loc at = arg_loc(call, 2, "args");
    struct obj **given;
    int n = items_of(items, &given);
    if (n > ASM_OPNDS)
        return diag_error(e->diag, trace_loc(e, at), ERR_asm_many), -1;
    for (int i = 0; i < n; i++) {
        if (!(x[i] = arg_tensor(e, given[i], call, 2, "args")) || !is_asm_type(e, scalar_of(x[i]), at))
            return -1;
    }
    for (int i = 0; i < 2 * n - 1; i++) {
        struct obj **a = &x[i % n], **b = &x[(i + 1) % n];
        tensor_broadcast(e, a, b, at);
        if (is_error(*a) || is_error(*b))
            return -1;
    }
    return n;
}

/* The parts of a call of inline_asm_elementwise that inline_constants rewrites. */
struct assembly {
    const char *text, *constraints;
    int pack, nresults, nopnds;
    const struct type *const *results;
    struct obj **given, **x; /* the operands as the program wrote them, and as tensors */
};

/* Returns the number of constraints of a result or operand of type t: one for each of its registers. */
static int constraints_of(const struct type *t, int pack)
{
    return pack / asm_elems_per_register(type_elem_bits(t), pack);
}

/* Writes to a->text the text without the operands that are constants: $k becomes constants[k], or, if that is NULL, the
 * number of the operand among those that stay. */
static void renumber(struct eval *e, struct assembly *a, const char *const *constants, int n)
{
    struct text out;
    text_init(&out, e->arena);
    for (const char *s = a->text; *s;) {
        size_t digits = *s == '$' ? strspn(s + 1, "0123456789") : 0;
        long k = digits ? strtol(s + 1, NULL, 10) : n;
        size_t size = digits ? digits + 1 : *s == '$' && s[1] == '$' ? 2 : 1;
        if (k < n && constants[k]) {
            text_printf(&out, "%s", constants[k]);
        } else if (k < n) {
            long gone = 0;
            for (long i = 0; i < k; i++)
                gone += constants[i] != NULL;
            text_printf(&out, "$%ld", k - gone);
        } else {
            text_bytes(&out, s, size);
        }
        s += size;
    }
    a->text = out.s ? out.s : "";
}

/* Writes the constants whose constraint is `n` or `i` into the text, as LLVM does, and drops these operands and their
 * constraints. Returns false after an error, which it reports. */
static bool inline_constants(struct eval *e, struct assembly *a, struct loc at)
{
    enum { MOST = 16 * (ASM_RESULTS + ASM_OPNDS) };
    const char *constants[MOST] = {NULL}, *s = a->constraints;
    struct text kept;
    int n = 0, nkept = 0;
    bool any = false;
    text_init(&kept, e->arena);
    for (int i = 0; i < a->nresults + a->nopnds; i++) {
        const int k = i - a->nresults;
        const struct type *t = k < 0 ? a->results[i] : a->x[k]->tensor.value->type;
        bool is_constant = false;
        for (int left = constraints_of(t, a->pack); left > 0; left--, n++) {
            size_t size = strcspn(s, ",");
            const char letter = s[strspn(s, " ")];
            is_constant = k >= 0 && (letter == 'n' || letter == 'i');
            int64_t number;
            if (is_constant && !obj_as_int(a->given[k], &number)) {
                diag_error(e->diag, trace_loc(e, at), ERR_asm_immediate, letter, type_text(e, a->given[k]));
                return false;
            }
            if (is_constant) {
                struct text digits;
                text_init(&digits, e->arena);
                text_printf(&digits, "%lld", (long long)number);
                constants[n] = digits.s;
            } else {
                text_bytes(&kept, ",", kept.len > 0);
                text_bytes(&kept, s, size);
            }
            s += size + (s[size] == ',');
        }
        any |= is_constant;
        if (k >= 0 && !is_constant)
            a->x[nkept++] = a->x[k];
    }
    if (!any)
        return true;
    if (*s)
        text_printf(&kept, "%s%s", kept.len ? "," : "", s);
    a->nopnds = nkept;
    a->constraints = kept.s ? kept.s : "";
    renumber(e, a, constants, n);
    return true;
}

struct obj *builtin_inline_asm(struct eval *e, struct obj **args, const struct args *call)
{
    const char *text, *constraints;
    struct loc at = arg_loc(call, 3, "dtype");
    struct obj *x[ASM_OPNDS], *out[ASM_RESULTS], **dtypes;
    struct value *values[ASM_OPNDS];
    const struct lang_type *scalars[ASM_RESULTS];
    const struct type *types[ASM_RESULTS];
    int64_t pack;
    bool is_pure;
    if (!arg_string(e, args[0], "asm", arg_loc(call, 0, "asm"), &text) ||
        !arg_string(e, args[1], "constraints", arg_loc(call, 1, "constraints"), &constraints) ||
        !arg_bool(e, args[4], "is_pure", arg_loc(call, 4, "is_pure"), &is_pure) ||
        !arg_int(e, args[5], "pack", arg_loc(call, 5, "pack"), &pack))
        return obj_error;
    if (pack < 1 || pack > 16 || (pack & (pack - 1))) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 5, "pack")), ERR_asm_pack, pack);
        return obj_error;
    }
    int nout = items_of(&args[3], &dtypes), n = asm_operands(e, &args[2], call, x);
    bool is_many = nout < 1 || nout > ASM_RESULTS;
    if (n >= 0 && is_many)
        diag_error(e->diag, trace_loc(e, at), ERR_asm_many);
    if (n < 0 || is_many)
        return obj_error;
    int rank = n ? rank_of(x[0]) : 0;
    for (int i = 0; i < nout; i++) {
        if (!(scalars[i] = arg_dtype(e, dtypes[i], at)) || !is_asm_type(e, scalars[i], at))
            return obj_error;
        types[i] = lang_ir(e->trace->module, lang_block(e, scalars[i], rank, n ? shape_of(x[0]) : NULL));
    }
    const int *shape = n ? shape_of(x[0]) : NULL;
    struct assembly a = {text, constraints, (int)pack, nout, n, types, NULL, x};
    items_of(&args[2], &a.given);
    if (!inline_constants(e, &a, arg_loc(call, 1, "constraints")))
        return obj_error;
    for (int i = 0; i < a.nopnds; i++)
        values[i] = x[i]->tensor.value;
    struct op *o = build_op(trace_builder(e, call->loc), is_pure ? OP_asm : OP_asm_effect, a.nopnds, values,
                            nout, types, 0);
    op_set_str(o, ATTR_text, a.text, (int)strlen(a.text));
    op_set_str(o, ATTR_constraints, a.constraints, (int)strlen(a.constraints));
    op_set_int(o, ATTR_pack, pack);
    if (!check_constraints(e, o, a.constraints, arg_loc(call, 1, "constraints")))
        return obj_error;
    for (int i = 0; i < nout; i++)
        out[i] = tensor_new(e, &o->results[i], scalars[i], rank, shape);
    bool is_tuple = args[3]->kind == OBJ_tuple || args[3]->kind == OBJ_list;
    return is_tuple ? obj_tuple(e, nout, out) : out[0];
}
