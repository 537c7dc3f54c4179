/* SPDX-License-Identifier: MIT */
/* reduce.c: implements builtins for reductions, scans, sorting and histograms.
 *
 *     tl.sum(x, 0)      %sum = reduce %x axis=0 : f32 (%a: f32, %b: f32) {
 *                         %add = add %a, %b : f32
 *                         yield %add
 *                       }
 *
 * A reduction or scan has a region that combines two scalars. For tl.sum, tl.max and similar builtins, the combine
 * functions are written in Triton's language (prelude.py). */
#include "frontend/builtins/handlers.h"

#include <string.h>

/* -- any number of operands, any combine function -- */

enum { OPERANDS_MOST = 16 };

struct operands {
    int n;
    struct obj *x[OPERANDS_MOST];
    bool is_tuple; /* the call passes a tuple or list, so the result is a tuple */
};

/* Checks the operands of a reduction or scan: x is a block, or a tuple of blocks of one shape. Returns false after an
 * error, which it reports. */
static bool arg_operands(struct eval *e, struct obj *x, const struct args *call, struct operands *out)
{
    struct obj *one[1] = {x}, **items = one;
    out->n = 1;
    out->is_tuple = x->kind == OBJ_tuple || x->kind == OBJ_list;
    if (out->is_tuple) {
        out->n = x->seq.n;
        items = x->seq.at;
    }
    if (out->n < 1 || out->n > OPERANDS_MOST) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "input")), ERR_reduce_count, call->callee->name,
                   OPERANDS_MOST, out->n);
        return false;
    }
    for (int i = 0; i < out->n; i++) {
        if (!(out->x[i] = arg_block(e, items[i], call, 0, "input")))
            return false;
        if (i && (rank_of(out->x[i]) != rank_of(out->x[0]) ||
                  memcmp(shape_of(out->x[i]), shape_of(out->x[0]),
                         (size_t)rank_of(out->x[0]) * sizeof(int)) != 0)) {
            diag_error(e->diag, trace_loc(e, call->loc), ERR_reduce_shapes, type_text(e, out->x[0]),
                       type_text(e, out->x[i]));
            return false;
        }
    }
    return true;
}

static bool check_function(struct eval *e, const struct obj *f, struct loc at)
{
    if (f->kind == OBJ_jit)
        return true;
    if (!is_error(f))
        diag_error(e->diag, trace_loc(e, at), ERR_reduce_function, type_text(e, f));
    return false;
}

/* Builds a reduction or scan whose region combines scalars by the function f; returns NULL after an error,
 * which it reports. */
static struct op *combine(struct eval *e, enum opcode code, const struct operands *in, int axis,
                          struct obj *f, struct loc at)
{
    struct value *values[OPERANDS_MOST];
    const struct lang_type *types[OPERANDS_MOST];
    const struct type *results[OPERANDS_MOST];
    for (int i = 0; i < in->n; i++) {
        values[i] = in->x[i]->tensor.value;
        types[i] = scalar_of(in->x[i]);
        results[i] = values[i]->type;
    }
    struct op *o;
    if (code == OP_reduce) {
        o = build_reduce(trace_builder(e, at), in->n, values, axis);
    } else {
        o = build_op(trace_builder(e, at), code, in->n, values, in->n, results, 1);
        op_set_int(o, ATTR_axis, axis);
        for (int i = 0; i < 2 * in->n; i++)
            block_add_arg(o->regions[0], type_elem(results[i % in->n]), i < in->n ? "a" : "b");
    }
    return trace_region(e, f, o->regions[0], in->n, types, at) ? region_lift_assertions(e, o, at) : NULL;
}

static struct obj *results_of(struct eval *e, const struct operands *in, struct obj *const *results)
{
    return in->is_tuple ? obj_tuple(e, in->n, results) : results[0];
}

/* Reduces along one axis. If `keep` is true, the result has this axis with size 1; otherwise, the result does
 * not have the axis. */
static struct obj *reduce_axis(struct eval *e, const struct operands *in, int axis, struct obj *f, bool keep,
                               struct loc at)
{
    struct op *o = combine(e, OP_reduce, in, axis, f, at);
    if (!o)
        return obj_error;
    int shape[RANK_MAX], n = 0;
    for (int i = 0; i < rank_of(in->x[0]); i++)
        if (i != axis)
            shape[n++] = shape_of(in->x[0])[i];
    struct obj *results[OPERANDS_MOST];
    for (int i = 0; i < in->n; i++) {
        results[i] = tensor_new(e, &o->results[i], scalar_of(in->x[i]), n, shape);
        if (keep)
            results[i] = expand_at(e, results[i], axis, at);
    }
    return results_of(e, in, results);
}

/* Reduces over all elements: reshapes each operand to one dimension, and reduces along this dimension. If
 * `keep` is true, the result has as many dimensions as the operands, all of size 1. */
static struct obj *reduce_all(struct eval *e, const struct operands *in, struct obj *f, bool keep,
                              struct loc at)
{
    struct operands flat = *in;
    int rank = rank_of(in->x[0]), n = (int)numel(rank, shape_of(in->x[0])), ones[RANK_MAX];
    for (int i = 0; i < in->n; i++)
        flat.x[i] = reshape_to(e, in->x[i], 1, &n, at);
    struct obj *r = reduce_axis(e, &flat, 0, f, false, at);
    if (!keep || is_error(r))
        return r;
    for (int i = 0; i < rank; i++)
        ones[i] = 1;
    struct obj *results[OPERANDS_MOST];
    for (int i = 0; i < in->n; i++)
        results[i] = tensor_to_block(e, in->is_tuple ? r->seq.at[i] : r, rank, ones, at);
    return results_of(e, in, results);
}

static struct obj *reduce(struct eval *e, const struct operands *in, struct obj *axis, struct obj *f,
                          struct obj *keep_dims, const struct args *call)
{
    bool keep;
    int i;
    if (!arg_bool(e, keep_dims, "keep_dims", call->loc, &keep))
        return obj_error;
    if (axis->kind == OBJ_none)
        return reduce_all(e, in, f, keep, call->loc);
    if (!arg_axis(e, axis, rank_of(in->x[0]), arg_loc(call, 1, "axis"), &i))
        return obj_error;
    return reduce_axis(e, in, i, f, keep, call->loc);
}

static bool take_operands(struct eval *e, struct obj **args, const struct args *call, struct operands *in)
{
    return check_function(e, args[2], arg_loc(call, 2, "combine_fn")) && arg_operands(e, args[0], call, in);
}

struct obj *builtin_reduce(struct eval *e, struct obj **args, const struct args *call)
{
    struct operands in;
    if (!take_operands(e, args, call, &in))
        return obj_error;
    return reduce(e, &in, args[1], args[2], args[3], call);
}

/* -- sum, max, min -- */

/* Converts integers of less than 32 bits to int32, or, if they are unsigned and keep_sign is true, to
 * uint32. */
static struct obj *widen_ints(struct eval *e, struct obj *x, bool keep_sign, struct loc at)
{
    const struct lang_type *t = scalar_of(x);
    if (!is_int_type(t) || bits_of(t) >= 32)
        return x;
    return tensor_cast(e, x, lang_number(e, DT_i32, keep_sign && t->is_unsigned), ROUND_none, false, at);
}

/* Casts bf16 to f32; if f16_too is true, also casts f16 to f32. */
static struct obj *to_float(struct eval *e, struct obj *x, bool f16_too, struct loc at)
{
    const struct lang_type *t = scalar_of(x);
    if (!is_dtype(t, DT_bf16) && !(f16_too && is_dtype(t, DT_f16)))
        return x;
    return tensor_cast(e, x, lang_number(e, DT_f32, false), ROUND_none, false, at);
}

/* Converts the operand to a block of numbers; returns NULL after an error, which it reports. Pointers and fp8 are
 * errors. */
static struct obj *arg_numbers(struct eval *e, struct obj *x, const struct args *call)
{
    x = arg_block(e, x, call, 0, "input");
    if (!x || (scalar_of(x)->kind == LT_number && !is_fp8_type(scalar_of(x))))
        return x;
    diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "input")), ERR_math_type, call->callee->name, "numbers",
               type_text(e, x));
    return NULL;
}

/* Casts x to `dtype`, argument number dtype_at of the call. If `dtype` is None, widens small integers to 32
 * bits. Returns NULL after an error, which it reports. */
static struct obj *summand(struct eval *e, struct obj *x, struct obj *dtype, const struct args *call,
                           int dtype_at)
{
    if (!(x = arg_numbers(e, x, call)))
        return NULL;
    if (dtype->kind == OBJ_none)
        return widen_ints(e, x, true, call->loc);
    const struct lang_type *t = arg_dtype(e, dtype, arg_loc(call, dtype_at, "dtype"));
    x = t ? tensor_cast(e, x, t, ROUND_none, false, call->loc) : obj_error;
    return is_error(x) ? NULL : x;
}

struct obj *builtin_sum(struct eval *e, struct obj **args, const struct args *call)
{
    struct operands in = {.n = 1};
    if (!(in.x[0] = summand(e, args[0], args[3], call, 3)))
        return obj_error;
    return reduce(e, &in, args[1], prelude_function(e, "_sum_combine"), args[2], call);
}

/* Returns a tensor of x's shape. Each element of this tensor is its own index along the axis. */
static struct obj *indices(struct eval *e, const struct obj *x, int axis, struct loc at)
{
    int n = shape_of(x)[axis], rank = rank_of(x);
    struct value *v = build_range(trace_builder(e, at), 0, n);
    struct obj *i = tensor_new(e, v, lang_number(e, DT_i32, false), 1, &n);
    for (int k = 0; k < rank; k++)
        if (k != axis)
            i = expand_at(e, i, k < axis ? 0 : rank_of(i), at);
    return tensor_to_block(e, i, rank, shape_of(x), at);
}

static const char *const index_functions[2][2] = {
    {"_argmin_combine_fast", "_argmin_combine_left"},
    {"_argmax_combine_fast", "_argmax_combine_left"},
};

/* Returns the tuple (values, indices) of the largest or smallest elements along an axis. If several elements have the
 * largest (smallest) value, returns the least of their indices if `left` is true, and any of their indices
 * otherwise. */
static struct obj *with_indices(struct eval *e, struct obj *x, struct obj *axis, struct obj *left,
                                struct obj *keep, bool is_max, const struct args *call)
{
    struct operands in = {.n = 2, .is_tuple = true};
    int i;
    bool break_left;
    if (axis->kind == OBJ_none) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_reduce_axis, call->callee->name);
        return obj_error;
    }
    if (!arg_bool(e, left, "tie_break_left", call->loc, &break_left) ||
        !arg_axis(e, axis, rank_of(x), arg_loc(call, 1, "axis"), &i))
        return obj_error;
    in.x[0] = to_float(e, x, false, call->loc);
    in.x[1] = indices(e, x, i, call->loc);
    return reduce(e, &in, axis, prelude_function(e, index_functions[is_max][break_left]), keep, call);
}

static bool is_max_row(const struct args *call)
{
    return strcmp(call->callee->data, "max") == 0;
}

struct obj *builtin_max_min(struct eval *e, struct obj **args, const struct args *call)
{
    struct operands in = {.n = 1};
    bool with;
    struct obj *x = arg_numbers(e, args[0], call);
    if (!x || !arg_bool(e, args[2], "return_indices", arg_loc(call, 2, "return_indices"), &with))
        return obj_error;
    if (with)
        return with_indices(e, x, args[1], args[3], args[4], is_max_row(call), call);
    in.x[0] = widen_ints(e, to_float(e, x, true, call->loc), false, call->loc);
    return reduce(e, &in, args[1], prelude_function(e, is_max_row(call) ? "_max_combine" : "_min_combine"),
                  args[4], call);
}

struct obj *builtin_arg_max_min(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_numbers(e, args[0], call);
    struct obj *pair = x ? with_indices(e, x, args[1], args[2], args[3], is_max_row(call), call) : obj_error;
    return is_error(pair) ? pair : pair->seq.at[1];
}

struct obj *builtin_int_reduction(struct eval *e, struct obj **args, const struct args *call)
{
    struct operands in = {.n = 1};
    if (!(in.x[0] = arg_numbers(e, args[0], call)))
        return obj_error;
    if (!is_int_type(scalar_of(in.x[0]))) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "input")), ERR_reduce_ints, call->callee->name,
                   type_text(e, in.x[0]));
        return obj_error;
    }
    return reduce(e, &in, args[1], prelude_function(e, call->callee->data), args[2], call);
}

/* -- scans -- */

static struct obj *scan(struct eval *e, const struct operands *in, struct obj *axis, struct obj *f,
                        struct obj *reverse, const struct args *call)
{
    bool from_end;
    int i;
    if (axis->kind == OBJ_none) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_reduce_axis, call->callee->name);
        return obj_error;
    }
    if (!arg_bool(e, reverse, "reverse", call->loc, &from_end) ||
        !arg_axis(e, axis, rank_of(in->x[0]), arg_loc(call, 1, "axis"), &i))
        return obj_error;
    struct op *o = combine(e, OP_scan, in, i, f, call->loc);
    if (!o)
        return obj_error;
    op_set_int(o, ATTR_reverse, from_end);
    struct obj *results[OPERANDS_MOST];
    for (int k = 0; k < in->n; k++)
        results[k] = tensor_like(e, in->x[k], &o->results[k], scalar_of(in->x[k]));
    return results_of(e, in, results);
}

struct obj *builtin_associative_scan(struct eval *e, struct obj **args, const struct args *call)
{
    struct operands in;
    if (!take_operands(e, args, call, &in))
        return obj_error;
    return scan(e, &in, args[1], args[2], args[3], call);
}

/* Implements cumsum and cumprod. cumsum converts its operand to `dtype`, or widens small integers as tl.sum
 * does; cumprod does not widen integers. Both convert bf16 to f32, unless the call passes `dtype`. */
struct obj *builtin_cumulative(struct eval *e, struct obj **args, const struct args *call)
{
    struct operands in = {.n = 1};
    bool is_sum = strcmp(call->callee->data, "_sum_combine") == 0;
    struct obj *x = is_sum ? summand(e, args[0], args[3], call, 3) : arg_numbers(e, args[0], call);
    if (!x)
        return obj_error;
    in.x[0] = is_sum && args[3]->kind != OBJ_none ? x : to_float(e, x, false, call->loc);
    return scan(e, &in, args[1], prelude_function(e, call->callee->data), args[2], call);
}

/* -- sorting -- */

/* Checks that the first argument is a block of numbers other than fp8, and that the dimension to sort,
 * argument number `at` (`dim`), is the last dimension or None. Returns the block; NULL after an error, which
 * it reports. */
static struct obj *arg_sorted(struct eval *e, struct obj **args, const struct args *call, int at)
{
    struct obj *x = arg_block(e, args[0], call, 0, "x");
    if (!x)
        return NULL;
    const struct lang_type *t = scalar_of(x);
    int last = rank_of(x) - 1, dim = last;
    if (is_ptr_type(t) || is_fp8_type(t)) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "x")), ERR_sort_type, call->callee->name,
                   type_text(e, x));
        return NULL;
    }
    struct loc loc = arg_loc(call, at, "dim");
    if (args[at]->kind != OBJ_none && !arg_axis(e, args[at], rank_of(x), loc, &dim))
        return NULL;
    if (dim != last) {
        diag_error(e->diag, trace_loc(e, loc), ERR_sort_axis, call->callee->name, last);
        return NULL;
    }
    return x;
}

/* Calls `function`, a function of the prelude that sorts each row of x and returns the first k elements of
 * each row. `down` is the argument `descending`, which is argument number `at` of the call. */
static struct obj *sorted(struct eval *e, const char *function, struct obj *x, int64_t k, struct obj *down,
                          const struct args *call, int at)
{
    bool descending;
    if (!arg_bool(e, down, "descending", arg_loc(call, at, "descending"), &descending))
        return obj_error;
    int n = shape_of(x)[rank_of(x) - 1];
    struct obj *items[] = {x, obj_int(e, log2_floor(n)), obj_int(e, log2_floor(k)), obj_bool(descending)};
    return trace_call_prelude(e, function, 4, items, call->loc);
}

struct obj *builtin_sort(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_sorted(e, args, call, 1);
    return x ? sorted(e, call->callee->data, x, shape_of(x)[rank_of(x) - 1], args[2], call, 2) : obj_error;
}

/* Implements topk. If k is less than the length of a row, converts results of less than 32 bits to 32 bits,
 * as tl.max does. */
struct obj *builtin_topk(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_sorted(e, args, call, 2);
    int64_t k;
    if (!x || !arg_int(e, args[1], "k", arg_loc(call, 1, "k"), &k))
        return obj_error;
    int n = shape_of(x)[rank_of(x) - 1];
    if (k < 1 || k > n || (k & (k - 1))) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 1, "k")), ERR_topk_k, n, k);
        return obj_error;
    }
    struct obj *best = sorted(e, "sort", x, k, args[3], call, 3);
    if (k == n || is_error(best))
        return best;
    return widen_ints(e, to_float(e, best, true, call->loc), false, call->loc);
}

/* -- histogram -- */

struct obj *builtin_histogram(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_block(e, args[0], call, 0, "input"), *mask = NULL;
    struct loc bins_at = arg_loc(call, 1, "num_bins");
    int bins[RANK_MAX], rank = x ? arg_shape(e, args[1], bins_at, bins) : -1;
    if (rank >= 0 && rank != 1)
        diag_error(e->diag, trace_loc(e, bins_at), ERR_wants_int, "num_bins", type_text(e, args[1]));
    if (rank != 1)
        return obj_error;
    if (rank_of(x) != 1 || !is_int_type(scalar_of(x))) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "input")), ERR_histogram_input, type_text(e, x));
        return obj_error;
    }
    if (args[2]->kind != OBJ_none) {
        mask = arg_tensor(e, args[2], call, 2, "mask");
        mask = mask ? tensor_cast(e, mask, lang_number(e, DT_i1, true), ROUND_none, false, call->loc)
                    : obj_error;
        mask = is_error(mask) ? mask : tensor_broadcast_to(e, mask, 1, shape_of(x), call->loc);
        if (is_error(mask))
            return mask;
    }
    struct value *opnds[] = {x->tensor.value, mask ? mask->tensor.value : NULL};
    const struct lang_type *i32 = lang_number(e, DT_i32, false);
    const struct type *t = lang_ir(e->trace->module, lang_block(e, i32, 1, bins));
    struct op *o = build_op(trace_builder(e, call->loc), OP_histogram, mask ? 2 : 1, opnds, 1, &t, 0);
    op_set_int(o, ATTR_bins, bins[0]);
    return tensor_new(e, op_result(o), i32, 1, bins);
}
