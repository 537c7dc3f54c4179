/* SPDX-License-Identifier: MIT */
/* block.c: implements block pointers, tensor descriptors, and accesses through them. A box is a block pointer or a
 * tensor descriptor.
 *
 *     p = tl.make_block_ptr(A, (M, K), (sm, 1), (m, 0), (64, 32), (1, 0))
 *                                            the tuple (A, (M, K), (sm, 1), (64, 32), (m, 0))
 *     tl.load(p, boundary_check=(0,))        the pointers A + m sm + 0 + i0 sm + i1, the mask 0 <= m + i0 < M
 *     d.load([m, k])                         similar, for a descriptor d; the mask checks every dimension
 *
 * A box is a tuple whose member class_of (value.h) is set, so loops, branches and calls carry it like any
 * other tuple. For an access through a box, this file computes a tile of pointers and a mask, and traces an
 * ordinary load, store or atomic. Later passes convert such accesses to TMA copies. The address terms that do
 * not depend on the box's offsets are computed separately, so that licm can hoist them out of loops. */
#include "frontend/builtins/handlers.h"
#include "frontend/python/python.h"

#include <math.h>
#include <string.h>

/* The items of a box. BOX_last holds a block pointer's offsets, or a descriptor's padding. */
enum { BOX_base, BOX_shape, BOX_strides, BOX_block, BOX_last, BOX_count };

static const struct obj block_pointer_class = {.kind = OBJ_class, .class.name = "block_pointer"};
static const struct obj descriptor_class = {.kind = OBJ_class, .class.name = "tensor_descriptor"};

bool is_block_pointer(const struct obj *x)
{
    return x->kind == OBJ_tuple && x->class_of == &block_pointer_class;
}

bool is_box(const struct obj *x)
{
    return is_block_pointer(x) || (x->kind == OBJ_tuple && x->class_of == &descriptor_class);
}

static int box_rank(const struct obj *box)
{
    return box->seq.at[BOX_block]->seq.n;
}

/* Returns the element type of the array that the box accesses. */
static const struct lang_type *elem_of(const struct obj *box)
{
    return scalar_of(box->seq.at[BOX_base])->elem;
}

/* -- arguments -- */

static struct obj *cast_index(struct eval *e, struct obj *x, enum dtype d, struct loc at)
{
    return tensor_cast(e, x, lang_number(e, d, false), ROUND_none, false, at);
}

/* Converts a scalar x to a signed integer of 32 or 64 bits. Returns a Python int unchanged. Returns NULL after an
 * error, which it reports. `what` is the name of x in messages. */
static struct obj *as_index(struct eval *e, struct obj *x, const char *what, struct loc at)
{
    bool is_number = x->kind == OBJ_int || x->kind == OBJ_bool;
    bool is_scalar = x->kind == OBJ_tensor && rank_of(x) == 0 && is_int_type(scalar_of(x));
    if (is_number)
        return x->kind == OBJ_int ? x : obj_int(e, x->b);
    if (!is_scalar) {
        if (!is_error(x))
            diag_error(e->diag, trace_loc(e, at), ERR_box_item, what, type_text(e, x));
        return NULL;
    }
    int bits = bits_of(scalar_of(x));
    if (scalar_of(x)->is_unsigned && bits >= 32)
        return cast_index(e, x, DT_i64, at);
    return bits < 32 ? cast_index(e, x, DT_i32, at) : x;
}

/* Converts x to a tuple of n indices; if n < 0, x may have any number of indices. Returns NULL after an error, which it
 * reports. */
static struct obj *arg_indices(struct eval *e, struct obj *x, int n, const char *what, struct loc at)
{
    struct obj *out = obj_tuple(e, 0, NULL), *const *items = &x;
    int found = 1;
    if (x->kind == OBJ_tuple || x->kind == OBJ_list) {
        items = x->seq.at;
        found = x->seq.n;
    }
    if (n >= 0 && found != n && !is_error(x)) {
        diag_error(e->diag, trace_loc(e, at), ERR_box_items, n, what, found);
        return NULL;
    }
    for (int i = 0; i < found; i++) {
        struct obj *index = as_index(e, items[i], what, at);
        if (!index)
            return NULL;
        VEC_PUSH(e->arena, &out->seq, index);
    }
    return out;
}

/* Converts x to a tuple of n indices, as arg_indices does, but converts ints to tensors too, so that loops
 * can carry the offsets. Returns NULL or obj_error after an error, which it reports. */
static struct obj *arg_offsets(struct eval *e, struct obj *x, int n, struct loc at)
{
    struct obj *out = arg_indices(e, x, n, "offsets", at);
    return out ? to_tensor(e, out, at) : NULL;
}

static bool is_permutation(struct obj *x, int n)
{
    unsigned seen = 0;
    int64_t i;
    bool is_list = x->kind == OBJ_tuple || x->kind == OBJ_list;
    for (int k = 0; is_list && k < x->seq.n; k++)
        if (obj_as_int(x->seq.at[k], &i) && i >= 0 && i < n)
            seen |= 1u << i;
    return is_list && x->seq.n == n && seen == (1u << n) - 1;
}

static bool arg_base(struct eval *e, struct obj *x, const struct args *call)
{
    bool fits = x->kind == OBJ_tensor && rank_of(x) == 0 && is_ptr_type(scalar_of(x));
    if (!fits && !is_error(x))
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "base")), ERR_box_base, call->callee->name,
                   type_text(e, x));
    return fits;
}

/* Converts x, the argument padding_option, to the value that loads give for elements outside the array: 0 or NaN.
 * Returns NULL after an error, which it reports. */
static struct obj *arg_padding(struct eval *e, struct obj *x, const struct lang_type *elem, struct loc at)
{
    static const char *const words[] = {"", "zero", "nan", NULL};
    int word;
    if (!arg_word(e, x, words, "", ERR_padding_word, at, &word))
        return NULL;
    if (word < 2)
        return obj_int(e, 0);
    if (is_float_type(elem))
        return obj_float(e, NAN);
    diag_error(e->diag, trace_loc(e, at), ERR_padding_type, lang_text(e, elem));
    return NULL;
}

/* -- creating boxes -- */

static struct obj *box_new(struct eval *e, const struct obj *class, struct obj *const *fields)
{
    struct obj *box = obj_tuple(e, BOX_count, fields);
    box->class_of = class;
    return box;
}

struct obj *descriptor_new(struct eval *e, struct obj *const *fields)
{
    return box_new(e, &descriptor_class, fields);
}

/* Sets the fields that block pointers and descriptors have in common. at[0] to at[2] are the arguments base,
 * shape and strides of the call. `block` is the argument block_shape, which is argument number block_at.
 * Returns false after an error, which it reports. */
static bool arg_array(struct eval *e, struct obj *const *at, struct obj *block, const struct args *call,
                      int block_at, struct obj **fields)
{
    int shape[RANK_MAX];
    int rank =
        arg_base(e, at[0], call) ? arg_shape(e, block, arg_loc(call, block_at, "block_shape"), shape) : -1;
    if (rank == 0)
        diag_error(e->diag, trace_loc(e, arg_loc(call, block_at, "block_shape")), ERR_box_rank);
    if (rank <= 0)
        return false;
    fields[BOX_base] = at[0];
    fields[BOX_shape] = arg_indices(e, at[1], rank, "sizes in shape", arg_loc(call, 1, "shape"));
    fields[BOX_strides] = arg_indices(e, at[2], rank, "strides", arg_loc(call, 2, "strides"));
    fields[BOX_block] = obj_tuple(e, 0, NULL);
    for (int d = 0; d < rank; d++)
        VEC_PUSH(e->arena, &fields[BOX_block]->seq, obj_int(e, shape[d]));
    return fields[BOX_shape] && fields[BOX_strides];
}

struct obj *builtin_make_block_ptr(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *fields[BOX_count];
    if (!arg_array(e, args, args[4], call, 4, fields))
        return obj_error;
    int rank = fields[BOX_block]->seq.n;
    fields[BOX_last] = arg_offsets(e, args[3], rank, arg_loc(call, 3, "offsets"));
    if (!fields[BOX_last] || is_error(fields[BOX_last]))
        return obj_error;
    if (is_permutation(args[5], rank))
        return box_new(e, &block_pointer_class, fields);
    diag_error(e->diag, trace_loc(e, arg_loc(call, 5, "order")), ERR_box_order, rank - 1);
    return obj_error;
}

struct obj *builtin_make_tensor_descriptor(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *fields[BOX_count];
    int64_t stride;
    if (!arg_array(e, args, args[3], call, 3, fields))
        return obj_error;
    struct obj *last = fields[BOX_strides]->seq.at[fields[BOX_strides]->seq.n - 1];
    if (!obj_as_int(last, &stride) || stride != 1) {
        diag_error(e->diag, trace_loc(e, arg_loc(call, 2, "strides")), ERR_descriptor_stride,
                   type_text(e, last));
        return obj_error;
    }
    fields[BOX_last] = arg_padding(e, args[4], scalar_of(args[0])->elem, arg_loc(call, 4, "padding_option"));
    return fields[BOX_last] ? descriptor_new(e, fields) : obj_error;
}

struct obj *builtin_advance(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *p = args[0], *fields[BOX_count];
    if (!is_block_pointer(p)) {
        if (!is_error(p))
            diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "base")), ERR_box_kind, call->callee->name,
                       "block pointer", type_text(e, p));
        return obj_error;
    }
    struct obj *by = arg_indices(e, args[1], box_rank(p), "offsets", arg_loc(call, 1, "offsets"));
    if (!by)
        return obj_error;
    memcpy(fields, p->seq.at, sizeof fields);
    fields[BOX_last] = obj_tuple(e, 0, NULL);
    for (int d = 0; d < box_rank(p); d++) {
        int64_t n;
        struct obj *sum = p->seq.at[BOX_last]->seq.at[d];
        /* An offset that advances by 0 keeps its IR value, so that loops need not carry it. */
        if (!obj_as_int(by->seq.at[d], &n) || n != 0)
            sum = tensor_binary(e, OPER_add, sum, by->seq.at[d], call->loc);
        if (is_error(sum))
            return sum;
        VEC_PUSH(e->arena, &fields[BOX_last]->seq, sum);
    }
    return box_new(e, &block_pointer_class, fields);
}

/* -- types of boxes, to merge the boxes of two branches or iterations -- */

static bool is_index_field(const struct obj *box, int field)
{
    return field == BOX_shape || field == BOX_strides || (field == BOX_last && is_block_pointer(box));
}

bool box_agrees(struct eval *e, const struct obj *x, const struct obj *with)
{
    for (int i = 0; i < BOX_count; i++)
        if (!is_index_field(x, i) && !same_type(e, x->seq.at[i], with->seq.at[i]))
            return false;
    return true;
}

struct obj *box_widen(struct eval *e, struct obj *x, const struct obj *with, struct loc at)
{
    struct obj *fields[BOX_count];
    for (int i = 0; i < BOX_count; i++) {
        struct obj *field = fields[i] = x->seq.at[i], *other = with->seq.at[i];
        if (!is_index_field(x, i))
            continue;
        fields[i] = obj_tuple(e, field->seq.n, field->seq.at);
        for (int d = 0; d < field->seq.n; d++)
            if (!same_type(e, field->seq.at[d], other->seq.at[d]))
                fields[i]->seq.at[d] = cast_index(e, field->seq.at[d], DT_i64, at);
    }
    return box_new(e, x->class_of, fields);
}

/* -- addresses and masks -- */

/* Returns whether the product of n and the stride is a constant that fits in 32 bits. */
static bool fits_32_bits(const struct obj *stride, int64_t n)
{
    int64_t by, product;
    return obj_as_int(stride, &by) && !__builtin_mul_overflow(by, n, &product) && product == (int32_t)product;
}

/* Returns x * stride. `most` is the greatest possible value of x. If the stride is a constant and most * stride fits in
 * 32 bits, the product has as many bits as x; otherwise it has 64 bits. */
static struct obj *distance(struct eval *e, struct obj *x, struct obj *stride, int64_t most, struct loc at)
{
    int64_t by;
    if (!fits_32_bits(stride, most))
        x = cast_index(e, x, DT_i64, at);
    return obj_as_int(stride, &by) && by == 1 ? x : tensor_binary(e, OPER_mul, x, stride, at);
}

/* Reshapes a 1-D tensor to `rank` dimensions: dimension d has the tensor's size, and all other dimensions have size
 * 1. */
static struct obj *lay_along(struct eval *e, struct obj *x, int d, int rank, struct loc at)
{
    for (int i = 0; i < rank; i++)
        if (i != d)
            x = expand_at(e, x, i, at);
    return x;
}

static struct obj *is_inside(struct eval *e, struct obj *index, struct obj *size, struct loc at)
{
    struct obj *low = tensor_compare(e, OPER_ge, index, obj_int(e, 0), at);
    return tensor_binary(e, OPER_bitand, low, tensor_compare(e, OPER_lt, index, size, at), at);
}

/* Sets *ptrs to the pointers to the elements of the box's block at the given offsets. Sets *mask to a mask
 * that is true for elements whose indices are inside the array in all dimensions of the bit set `checked`; if
 * `checked` is empty, sets *mask to NULL. The offset of a dimension is the block's first index in this
 * dimension, or a 1-D tensor of all indices of the block in this dimension. */
static void find_box(struct eval *e, const struct obj *box, struct obj *const *offsets, unsigned checked,
                     struct loc at, struct obj **ptrs, struct obj **mask)
{
    int rank = box_rank(box);
    struct obj *const *strides = box->seq.at[BOX_strides]->seq.at, *p = box->seq.at[BOX_base];
    *mask = NULL;
    for (int d = 0; d < rank; d++)
        if (rank_of(offsets[d]) == 0)
            p = tensor_binary(e, OPER_add, p, distance(e, offsets[d], strides[d], INT32_MAX, at), at);
    for (int d = 0; d < rank; d++) {
        struct obj *index = offsets[d], *i = index;
        int64_t n = INT32_MAX;
        if (rank_of(index) == 0) {
            obj_as_int(box->seq.at[BOX_block]->seq.at[d], &n);
            int shape = (int)n;
            i = tensor_new(e, build_range(trace_builder(e, at), 0, shape), lang_number(e, DT_i32, false), 1,
                           &shape);
            index = tensor_binary(e, OPER_add, offsets[d], i, at);
        }
        p = tensor_binary(e, OPER_add, p, lay_along(e, distance(e, i, strides[d], n, at), d, rank, at), at);
        if (!(checked >> d & 1))
            continue;
        struct obj *inside = is_inside(e, index, box->seq.at[BOX_shape]->seq.at[d], at);
        inside = lay_along(e, inside, d, rank, at);
        *mask = *mask ? tensor_binary(e, OPER_bitand, *mask, inside, at) : inside;
    }
    *ptrs = p;
}

/* -- block pointers -- */

/* Sets *checked to the bit set of the dimensions in boundary_check. Returns false after an error, which it reports. */
static bool arg_boundary(struct eval *e, struct obj *x, int rank, struct loc at, unsigned *checked)
{
    struct obj *const *dims = &x;
    int n = x->kind != OBJ_none;
    int64_t d;
    *checked = 0;
    if (x->kind == OBJ_tuple || x->kind == OBJ_list) {
        dims = x->seq.at;
        n = x->seq.n;
    }
    for (int i = 0; i < n; i++) {
        if (!arg_int(e, dims[i], "boundary_check", at, &d))
            return false;
        if (d < 0 || d >= rank || (*checked >> d & 1)) {
            diag_error(e->diag, trace_loc(e, at), ERR_boundary_dim, d, rank - 1);
            return false;
        }
        *checked |= 1u << d;
    }
    return true;
}

bool block_pointer_access(struct eval *e, struct obj *box, struct obj *boundary, struct obj *padding,
                          const struct args *call, int i, struct obj **ptrs, struct obj **mask,
                          struct obj **other)
{
    unsigned checked;
    struct obj *pad = arg_padding(e, padding, elem_of(box), arg_loc(call, i + 1, "padding_option"));
    if (!pad || !arg_boundary(e, boundary, box_rank(box), arg_loc(call, i, "boundary_check"), &checked))
        return false;
    find_box(e, box, box->seq.at[BOX_last]->seq.at, checked, call->loc, ptrs, mask);
    *other = *mask ? pad : obj_none;
    *mask = *mask ? *mask : obj_none;
    return !is_error(*ptrs) && !is_error(*mask);
}

/* -- descriptors -- */

static struct obj *arg_descriptor(struct eval *e, struct obj *x, const struct args *call)
{
    if (x->kind == OBJ_tuple && x->class_of == &descriptor_class)
        return x;
    if (!is_error(x))
        diag_error(e->diag, trace_loc(e, arg_loc(call, 0, "desc")), ERR_box_kind, call->callee->name,
                   "tensor descriptor", type_text(e, x));
    return NULL;
}

/* Computes the pointers and the mask for the block of descriptor x at the given offsets. `offsets` is argument i of the
 * call. Returns false after an error, which it reports. */
static bool find_block(struct eval *e, struct obj *x, struct obj *offsets, const struct args *call, int i,
                       struct obj **ptrs, struct obj **mask)
{
    struct obj *desc = arg_descriptor(e, x, call);
    struct loc at = arg_loc(call, i, "offsets");
    struct obj *list = desc ? arg_offsets(e, offsets, box_rank(desc), at) : NULL;
    if (!list || is_error(list))
        return false;
    for (int d = 0; d < list->seq.n; d++)
        if (bits_of(scalar_of(list->seq.at[d])) > 32) {
            diag_error(e->diag, trace_loc(e, at), ERR_descriptor_offset);
            return false;
        }
    find_box(e, desc, list->seq.at, ~0u, call->loc, ptrs, mask);
    return !is_error(*ptrs) && !is_error(*mask);
}

static struct obj *load_from(struct eval *e, struct obj *desc, struct obj *ptrs, struct obj *mask,
                             const struct args *call)
{
    struct obj *none = obj_none, *word = obj_cstr(e, "");
    struct obj *args[] = {ptrs, mask, desc->seq.at[BOX_last], none, word, word, word, none};
    return builtin_load(e, args, call);
}

struct obj *builtin_descriptor_load(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *ptrs, *mask;
    return find_block(e, args[0], args[1], call, 1, &ptrs, &mask) ? load_from(e, args[0], ptrs, mask, call)
                                                                  : obj_error;
}

/* Casts x, argument i of the call, to the pointee's type. x is the value to store, and must have the shape of
 * ptrs. Returns NULL after an error, which it reports. */
static struct obj *arg_block_value(struct eval *e, struct obj *x, const struct obj *ptrs,
                                   const struct args *call, int i)
{
    struct loc at = arg_loc(call, i, "value");
    if (!(x = arg_tensor(e, x, call, i, "value")))
        return NULL;
    bool same = rank_of(x) == rank_of(ptrs) &&
                memcmp(shape_of(x), shape_of(ptrs), (size_t)rank_of(x) * sizeof(int)) == 0;
    if (!same) {
        diag_error(e->diag, trace_loc(e, at), ERR_descriptor_value, shape_text(e, rank_of(x), shape_of(x)),
                   shape_text(e, rank_of(ptrs), shape_of(ptrs)));
        return NULL;
    }
    x = tensor_cast(e, x, scalar_of(ptrs)->elem, ROUND_none, false, at);
    return is_error(x) ? NULL : x;
}

static struct obj *store_to(struct eval *e, struct obj *ptrs, struct obj *mask, struct obj *value,
                            const struct args *call)
{
    struct obj *none = obj_none, *word = obj_cstr(e, "");
    struct obj *args[] = {ptrs, value, mask, none, word, word};
    return value ? builtin_store(e, args, call) : obj_error;
}

struct obj *builtin_descriptor_store(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *ptrs, *mask;
    if (!find_block(e, args[0], args[1], call, 1, &ptrs, &mask))
        return obj_error;
    return store_to(e, ptrs, mask, arg_block_value(e, args[2], ptrs, call, 2), call);
}

struct obj *builtin_descriptor_atomic(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *ptrs, *mask;
    if (!find_block(e, args[0], args[1], call, 1, &ptrs, &mask))
        return obj_error;
    struct obj *value = arg_block_value(e, args[2], ptrs, call, 2);
    struct obj *rest[] = {ptrs, value, mask, obj_cstr(e, "relaxed"), obj_none};
    return value && !is_error(atomic_update(e, rest, call, true)) ? obj_none : obj_error;
}

/* Computes the pointers and the mask for some rows of the matrix that the descriptor x accesses, from column
 * y on. `rows`, argument i of the call, contains the indices of the rows. Returns false after an error, which
 * it reports. */
static bool find_rows(struct eval *e, struct obj *x, struct obj *rows, struct obj *y, const struct args *call,
                      int i, struct obj **ptrs, struct obj **mask)
{
    struct obj *desc = arg_descriptor(e, x, call);
    int64_t n;
    if (!desc || !(rows = arg_block(e, rows, call, i, "x_offsets")))
        return false;
    bool fits = box_rank(desc) == 2 && obj_as_int(desc->seq.at[BOX_block]->seq.at[0], &n) && n == 1 &&
                rank_of(rows) == 1 && is_int_type(scalar_of(rows)) && bits_of(scalar_of(rows)) <= 32;
    if (!fits) {
        diag_error(e->diag, trace_loc(e, call->loc), ERR_descriptor_rows, call->callee->name);
        return false;
    }
    struct obj *column = as_index(e, y, "the offset of columns", arg_loc(call, i + 1, "y_offset"));
    if (!column)
        return false;
    struct obj *offsets[] = {cast_index(e, rows, DT_i32, call->loc), to_tensor(e, column, call->loc)};
    find_box(e, desc, offsets, ~0u, call->loc, ptrs, mask);
    return !is_error(*ptrs) && !is_error(*mask);
}

struct obj *builtin_descriptor_gather(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *ptrs, *mask;
    return find_rows(e, args[0], args[1], args[2], call, 1, &ptrs, &mask)
               ? load_from(e, args[0], ptrs, mask, call)
               : obj_error;
}

struct obj *builtin_descriptor_scatter(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *ptrs, *mask;
    if (!find_rows(e, args[0], args[2], args[3], call, 2, &ptrs, &mask))
        return obj_error;
    return store_to(e, ptrs, mask, arg_block_value(e, args[1], ptrs, call, 1), call);
}

/* -- arguments of launches -- */

/* Converts a list or tuple x to a tuple. If is_const is true, marks the items of the tuple as constexprs.
 * Returns any other x unchanged. */
static struct obj *tuple_of(struct eval *e, struct obj *x, bool is_const)
{
    if (x->kind != OBJ_tuple && x->kind != OBJ_list)
        return x;
    struct obj *out = obj_tuple(e, x->seq.n, x->seq.at);
    for (int i = 0; is_const && i < x->seq.n; i++)
        out->seq.at[i] = obj_constexpr(e, x->seq.at[i]);
    return out;
}

static const char *const host_names[BOX_count] = {"base", "shape", "strides", "block_shape", "padding"};

const char *argument_part_name(struct eval *e, const struct obj *parts, int i)
{
    bool is_tuple;
    if (is_box(parts))
        return host_names[i];
    struct obj *names = parts->class_of ? class_fields(e, parts->class_of, &is_tuple) : NULL;
    return names ? names->seq.at[i]->str.s : NULL;
}

/* Returns a tuple with the fields of x, a TensorDescriptor (prelude.py) that the host created. */
static struct obj *descriptor_parts(struct eval *e, struct obj *x)
{
    struct obj *fields[BOX_count];
    for (int i = 0; i < BOX_count; i++) {
        struct obj *field = scope_get(x->instance.scope, intern_str(e->strings, host_names[i]));
        fields[i] = field ? tuple_of(e, field, i == BOX_block) : obj_none;
    }
    bool is_nan = fields[BOX_last]->kind == OBJ_str && strcmp(fields[BOX_last]->str.s, "nan") == 0;
    fields[BOX_last] = obj_constexpr(e, is_nan ? obj_float(e, NAN) : obj_int(e, 0));
    return descriptor_new(e, fields);
}

struct obj *argument_parts(struct eval *e, struct obj *x)
{
    if (x->kind == OBJ_tuple)
        return x;
    if (x->kind != OBJ_instance)
        return NULL;
    if (class_find(x->instance.class, intern_str(e->strings, "_is_tensor_descriptor")))
        return descriptor_parts(e, x);
    struct obj *items = instance_as_tuple(e, x);
    if (items == x)
        return NULL;
    items->class_of = x->instance.class;
    return items;
}

bool check_descriptor(struct eval *e, const struct obj *x, struct loc at)
{
    struct obj *const *fields = x->seq.at, *last;
    int64_t stride;
    int shape[RANK_MAX];
    bool has_lists = true;
    for (int i = BOX_shape; i <= BOX_block; i++)
        has_lists = has_lists && fields[i]->kind == OBJ_tuple && fields[i]->seq.n == fields[BOX_block]->seq.n;
    bool is_pointer = fields[BOX_base]->kind == OBJ_tensor && is_ptr_type(scalar_of(fields[BOX_base]));
    if (!has_lists || !is_pointer || fields[BOX_block]->seq.n == 0) {
        diag_error(e->diag, at, ERR_descriptor_host);
        return false;
    }
    if (arg_shape(e, fields[BOX_block], at, shape) < 0)
        return false;
    last = fields[BOX_strides]->seq.at[fields[BOX_strides]->seq.n - 1];
    if (!obj_as_int(last, &stride) || stride != 1) {
        diag_error(e->diag, at, ERR_descriptor_stride, type_text(e, last));
        return false;
    }
    if (fields[BOX_last]->kind == OBJ_float && !is_float_type(elem_of(x))) {
        diag_error(e->diag, at, ERR_padding_type, lang_text(e, elem_of(x)));
        return false;
    }
    return true;
}

/* -- attributes -- */

struct obj *box_getattr(struct eval *e, struct obj *x, const char *name)
{
    static const char *const fields[] = {"base", "shape", "strides", "block_shape"};
    static const char *const methods[] = {"load", "store", "advance"};
    bool is_pointer = is_block_pointer(x);
    const struct lang_type *elem = elem_of(x);
    for (int i = 0; i < BOX_last; i++)
        if (strcmp(name, fields[i]) == 0)
            return x->seq.at[i];
    for (int i = 0; is_pointer && i < 3; i++)
        if (strcmp(name, methods[i]) == 0)
            return obj_method(e, x, find_language(e, name));
    if (strcmp(name, "dtype") == 0)
        return obj_type(e, is_pointer ? scalar_of(x->seq.at[BOX_base]) : elem);
    if (strcmp(name, is_pointer ? "type" : "block_type") == 0) {
        int shape[RANK_MAX], rank = arg_shape(e, x->seq.at[BOX_block], (struct loc){0}, shape);
        const struct lang_type *block = lang_block(e, elem, rank, shape);
        return obj_type(e, is_pointer ? lang_ptr(e, block, false) : block);
    }
    return is_pointer ? NULL : descriptor_method(e, x, name);
}
