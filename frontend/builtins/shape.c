/* SPDX-License-Identifier: MIT */
/* shape.c: implements builtins that create tiles and change their shape: tl.arange, tl.full, tl.reshape, tl.trans,
 * tl.join, x[:, None].
 *
 *     tl.arange(0, 4)       %range = range start=0 end=4 : tile<4xi32>
 *     x[:, None]            %expand_dims = expand_dims %x axis=1 : tile<4x1xi32>
 *     tl.cat(x, y)          join, trans, reshape */
#include "frontend/builtins/handlers.h"
#include "frontend/python/python.h"

#include <limits.h>
#include <string.h>

/* -- creation -- */

struct obj *builtin_program_index(struct eval *e, struct obj **args, const struct args *call)
{
    struct loc at = arg_loc(call, 0, "axis");
    int64_t axis;
    if (!arg_int(e, args[0], "the axis", at, &axis))
        return obj_error;
    if (axis < 0 || axis > 2) {
        diag_error(e->diag, trace_loc(e, at), ERR_program_axis, call->callee->name, axis);
        return obj_error;
    }
    bool is_id = strcmp(call->callee->data, "program_id") == 0;
    struct builder *b = trace_builder(e, call->loc);
    struct value *v = is_id ? build_program_id(b, (int)axis) : build_num_programs(b, (int)axis);
    return obj_tensor(e, v, lang_number(e, DT_i32, false));
}

static int64_t power_above(int64_t n)
{
    int64_t p = 1;
    while (p < n)
        p *= 2;
    return p;
}

static bool check_range(struct eval *e, int64_t start, int64_t end, struct loc at)
{
    bool overflows = start < INT64_MIN / 2 || end > INT64_MAX / 2;
    int64_t n = overflows ? 0 : end - start;
    if (overflows) {
        diag_error(e->diag, at, ERR_arange_wide);
    } else if (n <= 0) {
        diag_error(e->diag, at, ERR_arange_empty, end, start);
    } else if (n & (n - 1)) {
        diag_error(e->diag, at, ERR_arange_power, n);
        diag_hint(e->diag, ERR_hint_arange, power_above(n));
    } else if (n > TENSOR_ELEMS_MOST) {
        diag_error(e->diag, at, ERR_shape_numel, n);
    } else if (start < INT32_MIN || end - 1 > INT32_MAX) {
        diag_error(e->diag, at, ERR_arange_wide);
    } else {
        return true;
    }
    return false;
}

/* Implements arange. arange(n), a form of Triton 1.0, means arange(0, n). */
struct obj *builtin_arange(struct eval *e, struct obj **args, const struct args *call)
{
    bool has_start = args[1]->kind != OBJ_none;
    int64_t start = 0, end;
    if (has_start && !arg_int(e, args[0], "the start of tl.arange", arg_loc(call, 0, "start"), &start))
        return obj_error;
    if (!arg_int(e, args[has_start], "the end of tl.arange",
                 arg_loc(call, has_start, has_start ? "end" : "start"), &end))
        return obj_error;
    if (!check_range(e, start, end, trace_loc(e, call->loc)))
        return obj_error;
    int n = (int)(end - start);
    struct value *v = build_range(trace_builder(e, call->loc), (int)start, (int)end);
    return tensor_new(e, v, lang_number(e, DT_i32, false), 1, &n);
}

/* Returns a block of type t whose elements all have the value of the number x. Reports an error, and returns
 * obj_error, if t is not a type of numbers, if t is an integer type and x is a float other than 0, or if t is
 * unsigned and x is negative. */
static struct obj *full_number(struct eval *e, struct obj *x, const struct lang_type *t, int rank,
                               const int *shape, struct loc at)
{
    bool bad = t->kind != LT_number || (x->kind == OBJ_float && x->f != 0 && is_int_type(t)) ||
               (x->kind == OBJ_int && x->i < 0 && is_int_type(t) && t->is_unsigned);
    if (bad) {
        diag_error(e->diag, trace_loc(e, at), ERR_full_value, type_text(e, x), lang_text(e, t));
        return obj_error;
    }
    return tensor_new(e, number_value(e, x, t, rank, shape, false, at), t, rank, shape);
}

/* Implements tl.full, or tl.zeros if `value` is NULL. */
static struct obj *full(struct eval *e, struct obj *shape_arg, struct obj *value, struct obj *dtype,
                        const struct args *call)
{
    int shape[RANK_MAX], rank = arg_shape(e, shape_arg, arg_loc(call, 0, "shape"), shape);
    const struct lang_type *t = rank < 0 ? NULL : arg_dtype(e, dtype, arg_loc(call, value ? 2 : 1, "dtype"));
    if (!t)
        return obj_error;
    t = lang_scalar(t);
    if (!value)
        return tensor_new(e, zero_value(e, lang_block(e, t, rank, shape), call->loc), t, rank, shape);
    if (is_number(value))
        return full_number(e, value, t, rank, shape, arg_loc(call, 1, "value"));
    struct obj *x = arg_tensor(e, value, call, 1, "value");
    if (x && rank_of(x)) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 1, "value")), ERR_full_block);
        return obj_error;
    }
    x = x ? tensor_cast(e, x, t, ROUND_none, false, call->loc) : obj_error;
    return is_error(x) ? x : tensor_to_block(e, x, rank, shape, call->loc);
}

struct obj *builtin_full(struct eval *e, struct obj **args, const struct args *call)
{
    return full(e, args[0], args[1], args[2], call);
}

struct obj *builtin_zeros(struct eval *e, struct obj **args, const struct args *call)
{
    return full(e, args[0], NULL, args[1], call);
}

struct obj *builtin_zeros_like(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "input");
    return x ? tensor_like(e, x, zero_value(e, x->tensor.type, call->loc), scalar_of(x)) : obj_error;
}

struct obj *builtin_to_tensor(struct eval *e, struct obj **args, const struct args *call)
{
    return to_tensor(e, args[0], call->loc);
}

struct obj *builtin_cast(struct eval *e, struct obj **args, const struct args *call)
{
    static const char *const rounds[] = {"", "rtne", "rtz", NULL};
    static const enum rounding meaning[] = {ROUND_none, ROUND_rn, ROUND_rz};
    const struct lang_type *t = arg_dtype(e, args[1], arg_loc(call, 1, "dtype"));
    int round;
    bool bitcast;
    if (!t ||
        !arg_word(e, args[2], rounds, "", ERR_round_word, arg_loc(call, 2, "fp_downcast_rounding"), &round) ||
        !arg_bool(e, args[3], "bitcast", arg_loc(call, 3, "bitcast"), &bitcast))
        return obj_error;
    if (args[0]->kind != OBJ_tensor && !is_number(args[0]))
        return arg_tensor(e, args[0], call, 0, "input"), obj_error;
    return tensor_cast(e, args[0], t, meaning[round], bitcast, call->loc);
}

/* -- reshaping -- */

struct obj *reshape_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at)
{
    bool same = rank == rank_of(x);
    for (int i = 0; same && i < rank; i++)
        same = shape[i] == shape_of(x)[i];
    if (same)
        return x;
    if (rank_of(x) == 0)
        return tensor_to_block(e, x, rank, shape, at);
    return tensor_new(e, build_reshape(trace_builder(e, at), x->tensor.value, rank, shape), scalar_of(x),
                      rank, shape);
}

struct obj *builtin_reshape(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "input");
    int shape[RANK_MAX], rank = x ? arg_shape(e, args[1], arg_loc(call, 1, "shape"), shape) : -1;
    if (rank < 0)
        return obj_error;
    int64_t from = numel(rank_of(x), shape_of(x)), to = numel(rank, shape);
    if (from != to) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_reshape_numel, (int)from, shape_text(e, rank, shape),
                   (int)to);
        return obj_error;
    }
    return reshape_to(e, x, rank, shape, call->loc);
}

struct obj *builtin_ravel(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x");
    int n = x ? (int)numel(rank_of(x), shape_of(x)) : 0;
    return x ? reshape_to(e, x, 1, &n, call->loc) : obj_error;
}

struct obj *builtin_item(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x");
    if (!x)
        return obj_error;
    if (numel(rank_of(x), shape_of(x)) == 1)
        return reshape_to(e, x, 0, NULL, call->loc);
    diag_error(e->diag, trace_loc(e, call->loc), ERR_not_one_element, shape_text(e, rank_of(x), shape_of(x)));
    return obj_error;
}

struct obj *expand_at(struct eval *e, struct obj *x, int axis, struct loc at)
{
    int shape[RANK_MAX], rank = rank_of(x);
    if (rank == RANK_MAX) {
        diag_error(e->diag, trace_loc(e, at), ERR_rank_limit, RANK_MAX);
        return obj_error;
    }
    for (int i = 0; i <= rank; i++)
        shape[i] = i == axis ? 1 : shape_of(x)[i - (i > axis)];
    if (rank == 0)
        return tensor_to_block(e, x, 1, shape, at);
    return tensor_new(e, build_expand_dims(trace_builder(e, at), x->tensor.value, axis), scalar_of(x),
                      rank + 1, shape);
}

/* Implements expand_dims. Each axis is the index that a new dimension has in the result. */
struct obj *builtin_expand_dims(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "input"), **items = &args[1];
    struct loc at = arg_loc(call, 1, "axis");
    int n = 1, axis;
    bool wanted[RANK_MAX] = {false};
    if (!x)
        return obj_error;
    if (args[1]->kind == OBJ_tuple || args[1]->kind == OBJ_list)
        arg_items(args[1], &n, &items);
    int rank = rank_of(x) + n;
    if (rank > RANK_MAX) {
        diag_error(e->diag, trace_loc(e, at), ERR_rank_limit, RANK_MAX);
        return obj_error;
    }
    for (int i = 0; i < n; i++) {
        if (!arg_axis(e, items[i], rank, at, &axis))
            return obj_error;
        if (wanted[axis]) {
            diag_error(e->diag, trace_loc(e, at), ERR_axis_twice, (int64_t)axis);
            return obj_error;
        }
        wanted[axis] = true;
    }
    for (int i = 0; i < rank; i++)
        if (wanted[i])
            x = expand_at(e, x, i, call->loc);
    return x;
}

struct obj *builtin_squeeze(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "x");
    struct loc at = arg_loc(call, 1, "dim");
    int dim, shape[RANK_MAX], n = 0;
    if (!x || !arg_axis(e, args[1], rank_of(x), at, &dim))
        return obj_error;
    if (shape_of(x)[dim] != 1) {
        diag_error(e->diag, trace_loc(e, at), ERR_squeeze_dim, (int64_t)dim, shape_of(x)[dim]);
        return obj_error;
    }
    for (int i = 0; i < rank_of(x); i++)
        if (i != dim)
            shape[n++] = shape_of(x)[i];
    return reshape_to(e, x, n, shape, call->loc);
}

/* -- broadcasting -- */

struct obj *builtin_broadcast(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *a = arg_tensor(e, args[0], call, 0, "input"), *b = arg_tensor(e, args[1], call, 1, "other");
    if (!a || !b)
        return obj_error;
    tensor_broadcast(e, &a, &b, call->loc);
    return is_error(a) ? obj_error : obj_tuple(e, 2, (struct obj *[]){a, b});
}

struct obj *builtin_broadcast_to(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "input");
    int shape[RANK_MAX], rank = x ? arg_shape(e, args[1], arg_loc(call, 1, "shape"), shape) : -1;
    return rank < 0 ? obj_error : tensor_broadcast_to(e, x, rank, shape, call->loc);
}

/* -- permutations -- */

static struct obj *permute(struct eval *e, struct obj *x, const int *order, struct loc at)
{
    int shape[RANK_MAX], rank = rank_of(x);
    bool identity = true;
    for (int i = 0; i < rank; i++) {
        shape[i] = shape_of(x)[order[i]];
        identity = identity && order[i] == i;
    }
    return identity ? x
                    : tensor_new(e, build_trans(trace_builder(e, at), x->tensor.value, order), scalar_of(x),
                                 rank, shape);
}

static struct obj *permute_args(struct eval *e, struct obj *x, struct obj *dims, const struct args *call)
{
    struct obj **items;
    struct loc at = arg_loc(call, 1, "dims");
    int n, order[RANK_MAX], rank = rank_of(x);
    bool seen[RANK_MAX] = {false};
    arg_items(dims, &n, &items);
    bool ok = n == rank;
    for (int i = 0; ok && i < n; i++) {
        if (!arg_axis(e, items[i], rank, at, &order[i]))
            return obj_error;
        ok = !seen[order[i]];
        seen[order[i]] = true;
    }
    if (ok)
        return permute(e, x, order, call->loc);
    diag_error(e->diag, trace_loc(e, at), ERR_not_permutation, rank - 1);
    return obj_error;
}

static struct obj *swap_last(struct eval *e, struct obj *x, struct loc at)
{
    int order[RANK_MAX], rank = rank_of(x);
    if (rank < 2) {
        diag_error(e->diag, trace_loc(e, at), ERR_trans_rank, rank);
        return obj_error;
    }
    for (int i = 0; i < rank; i++)
        order[i] = i;
    order[rank - 2] = rank - 1;
    order[rank - 1] = rank - 2;
    return permute(e, x, order, at);
}

struct obj *builtin_permute(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "input");
    return x ? permute_args(e, x, args[1], call) : obj_error;
}

struct obj *builtin_trans(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_tensor(e, args[0], call, 0, "input");
    if (!x)
        return obj_error;
    return args[1]->seq.n ? permute_args(e, x, args[1], call) : swap_last(e, x, call->loc);
}

/* -- join and split -- */

/* Converts the arguments a and b to tensors of one shape. Both must have the same type. Returns false after an error,
 * which it reports. */
static bool join_pair(struct eval *e, struct obj **args, const struct args *call, struct obj **a,
                      struct obj **b)
{
    *a = arg_tensor(e, args[0], call, 0, "a");
    *b = arg_tensor(e, args[1], call, 1, "b");
    if (!*a || !*b)
        return false;
    if (!lang_equal(scalar_of(*a), scalar_of(*b))) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_dtypes_differ, call->callee->name,
                   lang_text(e, scalar_of(*a)), lang_text(e, scalar_of(*b)));
        return false;
    }
    tensor_broadcast(e, a, b, call->loc);
    return !is_error(*a);
}

/* Returns a tensor r with r[..., 0] = a and r[..., 1] = b. If a and b are scalars, first converts them to blocks of one
 * element. */
static struct obj *join(struct eval *e, struct obj *a, struct obj *b, struct loc at)
{
    int shape[RANK_MAX] = {1}, rank = rank_of(a);
    bool scalars = rank == 0;
    if (scalars) {
        rank = 1;
        a = tensor_to_block(e, a, 1, shape, at);
        b = tensor_to_block(e, b, 1, shape, at);
    }
    if (rank < RANK_MAX) {
        memcpy(shape, shape_of(a), (size_t)rank * sizeof *shape);
        shape[rank] = 2;
    }
    if (!check_numel(e, rank + 1, shape, at))
        return obj_error;
    struct value *v = build_binary(trace_builder(e, at), OP_join, a->tensor.value, b->tensor.value);
    struct obj *x = tensor_new(e, v, scalar_of(a), rank + 1, shape);
    return scalars ? reshape_to(e, x, 1, shape + 1, at) : x;
}

struct obj *builtin_join(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *a, *b;
    return join_pair(e, args, call, &a, &b) ? join(e, a, b, call->loc) : obj_error;
}

struct obj *builtin_interleave(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *a, *b;
    if (!join_pair(e, args, call, &a, &b))
        return obj_error;
    struct obj *x = join(e, a, b, call->loc);
    if (is_error(x))
        return x;
    int shape[RANK_MAX], rank = rank_of(x) - 1;
    if (rank == 0)
        return x;
    memcpy(shape, shape_of(x), (size_t)rank * sizeof *shape);
    shape[rank - 1] *= 2;
    return reshape_to(e, x, rank, shape, call->loc);
}

static struct obj *split(struct eval *e, struct obj *x, struct loc at)
{
    int rank = rank_of(x) - 1;
    struct value *v = x->tensor.value;
    const struct type *t = type_with_shape(e->trace->module, v->type, rank, v->type->shape);
    struct op *o = build_op(trace_builder(e, at), OP_split, 1, &v, 2, (const struct type *[]){t, t}, 0);
    struct obj *halves[2];
    for (int i = 0; i < 2; i++)
        halves[i] = tensor_new(e, &o->results[i], scalar_of(x), rank, shape_of(x));
    return obj_tuple(e, 2, halves);
}

struct obj *builtin_split(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_block(e, args[0], call, 0, "a");
    if (x && shape_of(x)[rank_of(x) - 1] == 2)
        return split(e, x, call->loc);
    if (x)
        diag_error(e->diag, trace_loc(e, call->loc), ERR_split_last, shape_text(e, rank_of(x), shape_of(x)));
    return obj_error;
}

/* -- tl.map_elementwise -- */

/* Reshapes x. If `apart` is true, splits the last dimension, of size n, into two dimensions of sizes n/2 and
 * 2. Otherwise, merges the last two dimensions, of sizes n/2 and 2, into one. */
static struct obj *with_pairs(struct eval *e, struct obj *x, bool apart, struct loc at)
{
    int shape[RANK_MAX + 1], rank = rank_of(x) - !apart;
    memcpy(shape, shape_of(x), (size_t)rank * sizeof *shape);
    shape[rank - 1] = apart ? shape[rank - 1] / 2 : shape[rank - 1] * 2;
    shape[rank] = 2;
    return reshape_to(e, x, rank + apart, shape, at);
}

/* Splits x into n tensors: for each i < n, sets out[step * i] to a tensor of the elements i, n + i, 2n + i,
 * ... of each row of x. */
static void unpack(struct eval *e, struct obj *x, int n, struct obj **out, int step, struct loc at)
{
    if (n == 1) {
        *out = x;
        return;
    }
    struct obj *pair = split(e, with_pairs(e, x, true, at), at);
    unpack(e, pair->seq.at[0], n / 2, out, 2 * step, at);
    unpack(e, pair->seq.at[1], n / 2, out + step, 2 * step, at);
}

/* The inverse of unpack: returns a tensor in which the elements of the n tensors x[0], x[step], x[2 * step],
 * ... are interleaved along the last dimension. */
static struct obj *repack(struct eval *e, struct obj *const *x, int n, int step, struct loc at)
{
    if (n == 1)
        return *x;
    struct obj *a = repack(e, x, n / 2, 2 * step, at), *b = repack(e, x + step, n / 2, 2 * step, at);
    return with_pairs(e, join(e, a, b, at), false, at);
}

/* Broadcasts the operands to one shape. Then splits each operand into `pack` tensors, because each call of
 * the mapped function gets `pack` elements of each operand. Returns all these tensors, in the order of the
 * operands; NULL after an error, which it reports. */
static struct obj **mapped_operands(struct eval *e, struct obj *list, int64_t pack, const struct args *call)
{
    int n = list->seq.n;
    struct obj **x = NEW_ARRAY(e->arena, n, struct obj *);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            if (!pass && !(x[i] = arg_tensor(e, list->seq.at[i], call, i + 1, "args")))
                return NULL;
            if (i || pass)
                tensor_broadcast(e, &x[0], &x[i], call->loc);
            if (is_error(x[i]))
                return NULL;
        }
    int last = rank_of(x[0]) ? shape_of(x[0])[rank_of(x[0]) - 1] : 1;
    if (pack < 1 || last % pack) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, call->n, "pack")), ERR_map_pack, (int)pack, last);
        return NULL;
    }
    struct obj **out = NEW_ARRAY(e->arena, n * (int)pack, struct obj *);
    for (int i = 0; i < n; i++)
        unpack(e, x[i], (int)pack, out + i * (int)pack, 1, call->loc);
    return out;
}

struct obj *builtin_map_elementwise(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t pack;
    int n = args[1]->seq.n;
    if (!arg_int(e, args[2], "pack", arg_loc(call, call->n, "pack"), &pack))
        return obj_error;
    if (args[0]->kind != OBJ_jit || n == 0) {
        struct loc at = trace_loc(e, arg_loc(call, 0, "scalar_fn"));
        if (!is_error(args[0]))
            diag_error(e->diag, at, ERR_map_function, type_text(e, args[0]), n);
        return obj_error;
    }
    struct obj **x = mapped_operands(e, args[1], pack, call);
    struct obj *r = x ? trace_map(e, args[0], x, n * (int)pack, call->loc) : obj_error;
    if (is_error(r))
        return r;
    if (r->seq.n % pack) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_map_result, type_text(e, r));
        return obj_error;
    }
    struct obj *out = obj_tuple(e, 0, NULL);
    for (int i = 0; i < r->seq.n; i += (int)pack) {
        struct obj *whole = repack(e, r->seq.at + i, (int)pack, 1, call->loc);
        VEC_PUSH(e->arena, &out->seq, whole);
    }
    return out->seq.n == 1 ? out->seq.at[0] : out;
}

/* Implements cat. Joins the two operands in a new last dimension of size 2, moves this dimension to just before `dim`,
 * and merges it with `dim`. */
struct obj *builtin_cat(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *a = arg_block(e, args[0], call, 0, "input"), *b = arg_block(e, args[1], call, 1, "other");
    int dim, order[RANK_MAX], shape[RANK_MAX], n = 0;
    if (!a || !b || !arg_axis(e, args[3], rank_of(a), arg_loc(call, 3, "dim"), &dim))
        return obj_error;
    int rank = rank_of(a);
    bool same = rank == rank_of(b) && memcmp(shape_of(a), shape_of(b), (size_t)rank * sizeof(int)) == 0;
    if (!same || !lang_equal(scalar_of(a), scalar_of(b))) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_cat_shapes, type_text(e, a), type_text(e, b),
                   (int64_t)dim);
        return obj_error;
    }
    struct obj *x = join(e, a, b, call->loc);
    if (is_error(x))
        return x;
    for (int i = 0; i < rank; i++) {
        if (i == dim)
            order[n++] = rank;
        order[n++] = i;
        shape[i] = shape_of(a)[i] * (i == dim ? 2 : 1);
    }
    return reshape_to(e, permute(e, x, order, call->loc), rank, shape, call->loc);
}

/* Implements flip: builds a gather whose indices along `dim` (None: the last dimension) run in reverse
 * order. */
struct obj *builtin_flip(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_block(e, args[0], call, 0, "x");
    int dim = x ? rank_of(x) - 1 : 0;
    if (!x || (args[1]->kind != OBJ_none && !arg_axis(e, args[1], rank_of(x), arg_loc(call, 1, "dim"), &dim)))
        return obj_error;
    const struct lang_type *i32 = lang_number(e, DT_i32, false);
    int rank = rank_of(x), n = shape_of(x)[dim];
    struct builder *b = trace_builder(e, call->loc);
    struct value *index = build_range(b, 0, n), *last = build_const_int(b, index->type, n - 1);
    struct obj *i = tensor_new(e, build_binary(b, OP_sub, last, index), i32, 1, &n);
    for (int k = 0; k < rank; k++)
        if (k != dim)
            i = expand_at(e, i, k < dim ? 0 : rank_of(i), call->loc);
    i = tensor_to_block(e, i, rank, shape_of(x), call->loc);
    struct value *opnds[] = {x->tensor.value, i->tensor.value};
    struct op *o = build_op(trace_builder(e, call->loc), OP_gather, 2, opnds, 1, &opnds[0]->type, 0);
    op_set_int(o, ATTR_axis, dim);
    return tensor_like(e, x, op_result(o), scalar_of(x));
}

struct obj *builtin_gather(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *src = arg_block(e, args[0], call, 0, "src"), *i = arg_block(e, args[1], call, 1, "index");
    int axis;
    if (!src || !i || !arg_axis(e, args[2], rank_of(src), arg_loc(call, 2, "axis"), &axis))
        return obj_error;
    if (!is_int_type(scalar_of(i)) || is_dtype(scalar_of(i), DT_i1)) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 1, "index")), ERR_gather_index_type, type_text(e, i));
        return obj_error;
    }
    bool fits = rank_of(i) == rank_of(src);
    for (int k = 0; fits && k < rank_of(i); k++)
        fits = k == axis || shape_of(i)[k] == shape_of(src)[k];
    if (!fits) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_gather_shapes,
                   shape_text(e, rank_of(i), shape_of(i)), shape_text(e, rank_of(src), shape_of(src)),
                   (int64_t)axis);
        return obj_error;
    }
    struct value *opnds[] = {src->tensor.value, i->tensor.value};
    const struct type *t = type_with_elem(e->trace->module, opnds[1]->type, type_elem(opnds[0]->type));
    struct op *o = build_op(trace_builder(e, call->loc), OP_gather, 2, opnds, 1, &t, 0);
    op_set_int(o, ATTR_axis, axis);
    return tensor_like(e, i, op_result(o), scalar_of(src));
}

/* -- x[...] and x.name -- */

static bool is_full_slice(const struct obj *x)
{
    return x->kind == OBJ_slice && (!x->slice.start || x->slice.start->kind == OBJ_none) &&
           (!x->slice.stop || x->slice.stop->kind == OBJ_none) &&
           (!x->slice.step || x->slice.step->kind == OBJ_none);
}

/* Returns a 1-D tensor of n i32 indices: start, start + step, ... */
static struct value *indices(struct builder *b, int64_t start, int64_t step, int n)
{
    struct value *i = build_range(b, 0, n);
    i = build_binary(b, OP_mul, i, build_const_int(b, i->type, step));
    return build_binary(b, OP_add, i, build_const_int(b, i->type, start));
}

/* Returns the elements of x that `index` selects along dimension `dim`. The index is an int, an integer tensor or a
 * slice. The result still has the dimension. */
static struct obj *take(struct eval *e, struct obj *x, int dim, struct obj *index, struct loc at)
{
    const struct lang_type *i32 = lang_number(e, DT_i32, false);
    int shape[RANK_MAX], rank = rank_of(x), n = shape_of(x)[dim], count = 1;
    int64_t k = 0;
    struct builder *b = trace_builder(e, at);
    struct obj *i;
    memcpy(shape, shape_of(x), sizeof(int) * (size_t)rank);
    if (index->kind == OBJ_slice) {
        struct slice_range r = slice_resolve(e, index, n, at);
        count = (int)r.n;
        if (count == 0 || (count & (count - 1)) != 0)
            eval_raise(e, at, "IndexError", ERR_slice_size, count);
        i = tensor_new(e, indices(b, r.start, r.step, count), i32, 1, &count);
    } else if (index->kind == OBJ_tensor) {
        i = tensor_to_block(e, tensor_cast(e, index, i32, ROUND_none, false, at), 1, &count, at);
    } else {
        if (!obj_as_int(index, &k) || k < -n || k >= n)
            eval_raise(e, at, "IndexError", ERR_index_range, "tensor");
        i = tensor_new(e, indices(b, k < 0 ? k + n : k, 1, 1), i32, 1, &count);
    }
    for (int d = 0; d < rank; d++)
        if (d != dim)
            i = expand_at(e, i, d < dim ? 0 : rank_of(i), at);
    shape[dim] = count;
    i = tensor_to_block(e, i, rank, shape, at);
    struct value *opnds[] = {x->tensor.value, i->tensor.value};
    const struct type *t = type_with_elem(e->trace->module, opnds[1]->type, type_elem(opnds[0]->type));
    struct op *o = build_op(trace_builder(e, at), OP_gather, 2, opnds, 1, &t, 0);
    op_set_int(o, ATTR_axis, dim);
    return tensor_like(e, i, op_result(o), scalar_of(x));
}

static bool is_item(const struct obj *x)
{
    int64_t i;
    bool is_scalar = x->kind == OBJ_tensor && rank_of(x) == 0 && is_int_type(scalar_of(x));
    return x->kind == OBJ_slice || obj_as_int(x, &i) || is_scalar;
}

/* Evaluates x[...] in an expression of the debugger. As in NumPy, integers and slices select elements, and
 * None inserts a dimension. Returns NULL if the index has other items, or more integers and slices than x has
 * dimensions. */
static struct obj *select_items(struct eval *e, struct obj *x, int n, struct obj **items, struct loc at)
{
    int shape[RANK_MAX], kept = 0, dim = 0;
    bool drops[RANK_MAX] = {false};
    for (int i = 0; i < n; i++) {
        bool is_new = items[i]->kind == OBJ_none;
        if (!is_new && (!is_item(items[i]) || dim == rank_of(x)))
            return NULL;
        if (is_new)
            x = expand_at(e, x, dim, at);
        else if (!is_full_slice(items[i]))
            x = take(e, x, dim, items[i], at);
        if (is_error(x))
            return x;
        drops[dim++] = !is_new && items[i]->kind != OBJ_slice;
    }
    for (int d = 0; d < rank_of(x); d++)
        if (!drops[d])
            shape[kept++] = shape_of(x)[d];
    return reshape_to(e, x, kept, shape, at);
}

/* Evaluates x[...]. Each item of the index must be `:`, which keeps a dimension, or None, which inserts a dimension of
 * size 1. In expressions of the debugger, select_items allows more items. */
struct obj *tensor_getitem(struct eval *e, struct obj *x, struct obj *index, struct loc at)
{
    struct obj *one[1] = {index}, **items = one, *selected;
    int n = 1;
    if (is_error(x) || is_error(index))
        return obj_error;
    if (index->kind == OBJ_tuple) {
        items = index->seq.at;
        n = index->seq.n;
    }
    if (e->trace->is_shown && (selected = select_items(e, x, n, items, at)))
        return selected;
    for (int i = 0; i < n && !is_error(x); i++) {
        if (items[i]->kind == OBJ_none) {
            x = expand_at(e, x, i < rank_of(x) ? i : rank_of(x), at);
        } else if (!is_full_slice(items[i])) {
            if (!is_error(items[i])) {
                diag_error(e->diag, trace_loc(e, at), ERR_index_kind, type_text(e, items[i]));
                diag_hint(e->diag, ERR_hint_index);
            }
            return obj_error;
        }
    }
    return x;
}

static struct obj *shape_object(struct eval *e, const struct obj *x)
{
    struct obj *items[RANK_MAX];
    for (int i = 0; i < rank_of(x); i++)
        items[i] = obj_int(e, shape_of(x)[i]);
    return obj_tuple(e, rank_of(x), items);
}

/* Returns an attribute of a tensor; NULL if there is no such attribute. x may also be a constant that is not
 * a constexpr, such as an argument of value 1. The dtype of such a constant is the dtype that to_tensor would
 * give it. */
struct obj *tensor_getattr(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    struct obj *method = tensor_method(e, x, name);
    if (method)
        return method;
    if (x->kind != OBJ_tensor)
        return strcmp(name, "dtype") == 0 && decayed_type(e, x) ? obj_type(e, decayed_type(e, x)) : NULL;
    if (strcmp(name, "shape") == 0)
        return shape_object(e, x);
    if (strcmp(name, "dtype") == 0)
        return obj_type(e, scalar_of(x));
    if (strcmp(name, "type") == 0)
        return obj_type(e, x->tensor.type);
    if (strcmp(name, "numel") == 0)
        return obj_int(e, numel(rank_of(x), shape_of(x)));
    if (strcmp(name, "T") == 0)
        return swap_last(e, x, at);
    return x->tensor.constant && strcmp(name, "value") == 0 ? x->tensor.constant : NULL;
}
