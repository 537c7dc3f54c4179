/* SPDX-License-Identifier: MIT */
/* torch_view.c: implements views, casts, copies and attributes of the tensors of host programs. */
#include "runtime/host/torch.h"

#include <string.h>

/* -- views, casts, attributes -- */

struct obj *torch_cast(struct eval *e, const struct tensor *t, enum torch_dtype dtype, bool copy,
                       struct loc at)
{
    if (t->dtype == dtype && !copy)
        return torch_wrap(e, t);
    struct tensor out = torch_make(e, dtype, t->rank, t->shape, at);
    out.on_gpu = t->on_gpu;
    const char *from = torch_host(e, t, false, at);
    char *to = torch_host(e, &out, true, at);
    int64_t n = tensor_elems(t);
    if (t->dtype == dtype && tensor_is_contiguous(t)) {
        memcpy(to, from, (size_t)n * (size_t)tensor_elem_bytes(t));
        return torch_wrap(e, &out);
    }
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, at);
        tensor_set(to, &out, i, tensor_get(from, t, i));
    }
    return torch_wrap(e, &out);
}

static struct obj *run_to(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    struct obj *list = args[1];
    enum torch_dtype dtype = torch_dtype_arg(e, args[2], t.dtype, call->loc);
    bool was_on_gpu = t.on_gpu;
    if (args[3] != obj_none)
        t.on_gpu = !torch_is_cpu(e, args[3]);
    for (int i = 0; i < list->seq.n; i++)
        if (!torch_as_dtype(list->seq.at[i], &dtype))
            t.on_gpu = !torch_is_cpu(e, list->seq.at[i]);
    bool copy = t.on_gpu != was_on_gpu || obj_truth(e, args[5], call->loc);
    return copy || dtype != t.dtype ? torch_cast(e, &t, dtype, copy, call->loc) : args[0];
}

/* Implements the methods `.float()`, `.half()` and so on. The member `data` of the method's builtin is the
 * dtype's row in torch_dtypes. */
static struct obj *run_cast(struct eval *e, struct obj **args, const struct args *call)
{
    const struct torch_dtype_info *d = call->callee->data;
    struct tensor t = torch_self(e, args, call);
    enum torch_dtype dtype = (enum torch_dtype)(d - torch_dtypes);
    return dtype == t.dtype ? args[0] : torch_cast(e, &t, dtype, false, call->loc);
}

static struct obj *run_clone(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return torch_cast(e, &t, t.dtype, true, call->loc);
}

static struct obj *run_contiguous(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return tensor_is_contiguous(&t) ? args[0] : torch_cast(e, &t, t.dtype, true, call->loc);
}

static struct obj *run_is_contiguous(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return obj_bool(tensor_is_contiguous(&t));
}

static struct obj *run_on_device(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    bool was_on_gpu = t.on_gpu;
    t.on_gpu = strstr(call->callee->name, "cuda") != NULL;
    return t.on_gpu == was_on_gpu ? args[0] : torch_cast(e, &t, t.dtype, true, call->loc);
}

static struct obj *run_requires_grad(struct eval *e, struct obj **args, const struct args *call)
{
    torch_tensor_class.setattr(e, args[0], "requires_grad", args[1], call->loc);
    return args[0];
}

/* Implements `detach()`: returns a view of the same elements, without the data that gradients need. */
static struct obj *run_same(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return torch_wrap(e, &t);
}

int torch_dim_arg(struct eval *e, struct obj *x, int rank, struct loc at)
{
    int64_t d = torch_int_arg(e, x, "dim", at);
    if (d < -rank || d >= rank)
        eval_raise(e, at, "IndexError", ERR_torch_dim, rank, d);
    return (int)(d < 0 ? d + rank : d);
}

struct obj *torch_size(struct eval *e, const struct tensor *t)
{
    struct obj *x = torch_ints(e, t->rank, t->shape);
    x->is_size = true;
    return x;
}

struct obj *torch_ints(struct eval *e, int n, const int64_t *x)
{
    struct obj *items[TENSOR_RANK_MAX];
    for (int i = 0; i < n; i++)
        items[i] = obj_int(e, x[i]);
    return obj_tuple(e, n, items);
}

static struct obj *run_stride(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return args[1] == obj_none ? torch_ints(e, t.rank, t.stride)
                               : obj_int(e, t.stride[torch_dim_arg(e, args[1], t.rank, call->loc)]);
}

static struct obj *run_size(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return args[1] == obj_none ? torch_size(e, &t)
                               : obj_int(e, t.shape[torch_dim_arg(e, args[1], t.rank, call->loc)]);
}

static struct obj *run_count(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    bool elems = strstr(call->callee->name, "numel") != NULL,
         rank = strstr(call->callee->name, "dim") != NULL;
    return obj_int(e, elems ? tensor_elems(&t) : rank ? t.rank : tensor_elem_bytes(&t));
}

static struct obj *run_data_ptr(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return obj_int(e, (wide)tensor_device(host_pool(e), &t, true));
}

struct obj *torch_run_item(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    if (tensor_elems(&t) != 1)
        eval_raise(e, call->loc, "RuntimeError", ERR_torch_item, tensor_elems(&t));
    return torch_number_obj(e, tensor_get(torch_host(e, &t, false, call->loc), &t, 0), t.dtype);
}

static struct obj *list_of(struct eval *e, const char *host, const struct tensor *t, int dim, int64_t first,
                           struct loc at)
{
    torch_tick(e, first, at);
    if (dim == t->rank)
        return torch_number_obj(e, tensor_get(host, t, first), t->dtype);
    int64_t inner = 1;
    for (int d = dim + 1; d < t->rank; d++)
        inner *= t->shape[d];
    struct obj **items = NEW_ARRAY(e->arena, t->shape[dim], struct obj *);
    for (int64_t i = 0; i < t->shape[dim]; i++)
        items[i] = list_of(e, host, t, dim + 1, first + i * inner, at);
    return obj_list(e, (int)t->shape[dim], items);
}

static struct obj *run_tolist(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return list_of(e, torch_host(e, &t, false, call->loc), &t, 0, 0, call->loc);
}

static struct obj *reshape(struct eval *e, struct tensor *t, struct obj *size, struct loc at)
{
    int64_t shape[TENSOR_RANK_MAX], known = 1, elems;
    int rank = torch_shape_arg(e, size, shape, at), open = -1;
    bool fits = true;
    for (int d = 0; d < rank; d++)
        if (shape[d] == -1)
            open = d;
        else
            fits &= !__builtin_mul_overflow(known, shape[d], &known);
    if (open >= 0)
        shape[open] = fits && known ? tensor_elems(t) / known : 0;
    fits &= !__builtin_mul_overflow(known, open >= 0 ? shape[open] : 1, &elems);
    if (!fits || elems != tensor_elems(t))
        eval_raise(e, at, "RuntimeError", ERR_torch_reshape, torch_shape_text(e, t), tensor_elems(t));
    if (!tensor_is_contiguous(t))
        *t = *torch_tensor(torch_cast(e, t, t->dtype, true, at));
    t->rank = rank;
    int64_t n = 1;
    for (int d = rank - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->stride[d] = n;
        n *= shape[d];
    }
    return torch_wrap(e, t);
}

static struct obj *run_reshape(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    return reshape(e, &t, args[1], call->loc);
}

static struct obj *run_flatten(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    int rank = t.rank ? t.rank : 1, first = torch_dim_arg(e, args[1], rank, call->loc),
        last = torch_dim_arg(e, args[2], rank, call->loc), n = 0;
    int64_t shape[TENSOR_RANK_MAX];
    for (int d = 0; d < rank; d++)
        if (d <= first || d > last)
            shape[n++] = d == first ? -1 : t.shape[d];
    return reshape(e, &t, torch_ints(e, n, shape), call->loc);
}

/* Implements `t.view(torch.int32)`: returns a view of the same bytes with another dtype. */
static struct obj *viewed_as(struct eval *e, struct tensor t, enum torch_dtype dtype, struct loc at)
{
    int64_t old = tensor_elem_bytes(&t);
    t.dtype = dtype;
    int64_t new = tensor_elem_bytes(&t);
    if (old != new && (t.rank == 0 || !tensor_is_contiguous(&t) || t.shape[t.rank - 1] * old % new != 0))
        eval_raise(e, at, "RuntimeError", ERR_torch_reshape, torch_shape_text(e, &t), tensor_elems(&t));
    t.offset = t.offset * old / new;
    for (int d = 0; d < t.rank - 1; d++)
        t.stride[d] = t.stride[d] * old / new;
    if (t.rank)
        t.shape[t.rank - 1] = t.shape[t.rank - 1] * old / new;
    return torch_wrap(e, &t);
}

static struct obj *run_view(struct eval *e, struct obj **args, const struct args *call)
{
    enum torch_dtype dtype;
    if (torch_as_dtype(args[1]->seq.n == 1 ? args[1]->seq.at[0] : args[2], &dtype))
        return viewed_as(e, torch_self(e, args, call), dtype, call->loc);
    return run_reshape(e, args, call);
}

struct obj *torch_transpose(struct eval *e, const struct tensor *t, int a, int b)
{
    struct tensor out = *t;
    out.shape[a] = t->shape[b];
    out.shape[b] = t->shape[a];
    out.stride[a] = t->stride[b];
    out.stride[b] = t->stride[a];
    return torch_wrap(e, &out);
}

static struct obj *run_transpose(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    int a = torch_dim_arg(e, args[1], t.rank, call->loc), b = torch_dim_arg(e, args[2], t.rank, call->loc);
    return torch_transpose(e, &t, a, b);
}

struct obj *torch_run_t(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call), out = t;
    for (int d = 0; d < t.rank; d++) {
        out.shape[d] = t.shape[t.rank - 1 - d];
        out.stride[d] = t.stride[t.rank - 1 - d];
    }
    return torch_wrap(e, &out);
}

static struct obj *run_permute(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call), out = t;
    int64_t order[TENSOR_RANK_MAX];
    if (torch_shape_arg(e, args[1], order, call->loc) != t.rank)
        eval_raise(e, call->loc, "RuntimeError", ERR_torch_dim, t.rank, (int64_t)args[1]->seq.n);
    for (int d = 0; d < t.rank; d++) {
        int from = torch_dim_arg(e, obj_int(e, order[d]), t.rank, call->loc);
        out.shape[d] = t.shape[from];
        out.stride[d] = t.stride[from];
    }
    return torch_wrap(e, &out);
}

static struct obj *run_expand(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    int64_t shape[TENSOR_RANK_MAX];
    int rank = torch_shape_arg(e, args[1], shape, call->loc);
    for (int d = 0; d < rank; d++)
        if (shape[d] == -1 && d - (rank - t.rank) >= 0)
            shape[d] = t.shape[d - (rank - t.rank)];
    t = tensor_expanded(&t, rank, shape);
    return torch_wrap(e, &t);
}

static struct obj *run_squeeze(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call), out = t;
    bool add = strstr(call->callee->name, "unsqueeze") != NULL;
    bool all = args[1] == obj_none; /* without an argument, remove all dimensions of size 1 */
    int at = all ? 0 : torch_dim_arg(e, args[1], t.rank + add, call->loc);
    out.rank = 0;
    for (int d = 0; d < t.rank + add; d++) {
        if (!add && (all || d == at) && t.shape[d] == 1)
            continue;
        out.shape[out.rank] = add && d == at ? 1 : t.shape[add && d > at ? d - 1 : d];
        out.stride[out.rank++] = add && d == at ? 0 : t.stride[add && d > at ? d - 1 : d];
    }
    return torch_wrap(e, &out);
}

/* Copies an element, for the in-place methods `t.fill_(x)`, `t.zero_()` and `t.copy_(u)`. */
struct number torch_same_element(const struct number *x, void *ctx)
{
    (void)ctx;
    return x[0];
}

void torch_assign(struct eval *e, struct tensor *to, struct obj *value, struct loc at)
{
    struct tensor from = torch_operand(e, value, at);
    if (!tensor_map(host_pool(e), to, 1, (const struct tensor *const[]){&from}, torch_same_element, NULL))
        torch_fail(e, at);
}

static struct obj *run_assign(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    torch_assign(e, &t, strstr(call->callee->name, "zero_") ? obj_int(e, 0) : args[1], call->loc);
    return args[0];
}

static bool given(const struct obj *x)
{
    return x && x != obj_none;
}

/* Applies one item of an index (`i`, `a:b` or `None`) to dimension *d of t: adds the resulting dimension, if
 * there is one, to the view *out. Unless the item is `None`, increments *d. */
static void index_one(struct eval *e, const struct tensor *t, struct tensor *out, int *d, struct obj *x,
                      struct loc at)
{
    if (x == obj_none) {
        out->shape[out->rank] = 1;
        out->stride[out->rank++] = 0;
        return;
    }
    if (*d >= t->rank)
        eval_raise(e, at, "IndexError", ERR_torch_dim, t->rank, (int64_t)*d);
    int64_t n = t->shape[*d], i;
    if (x->kind == OBJ_slice) {
        int64_t start = 0, stop = n, step = 1;
        if (given(x->slice.step))
            step = torch_int_arg(e, x->slice.step, "step", at);
        if (given(x->slice.start))
            start = torch_int_arg(e, x->slice.start, "start", at);
        if (given(x->slice.stop))
            stop = torch_int_arg(e, x->slice.stop, "stop", at);
        start = start < 0 ? (start + n < 0 ? 0 : start + n) : start > n ? n : start;
        stop = stop < 0 ? stop + n : stop > n ? n : stop;
        if (step < 1)
            eval_raise(e, at, "ValueError", ERR_torch_int, "a positive step", "a negative one");
        step = step <= n ? step : n > 0 ? n : 1; /* a larger step would select the same single element */
        out->offset += start * t->stride[*d];
        out->shape[out->rank] = stop > start ? (stop - start + step - 1) / step : 0;
        out->stride[out->rank++] = t->stride[*d] * step;
    } else if (obj_as_int(x, &i)) {
        if (i < -n || i >= n)
            eval_raise(e, at, "IndexError", ERR_torch_index, i, *d, n);
        out->offset += (i < 0 ? i + n : i) * t->stride[*d];
    } else {
        eval_raise(e, at, "TypeError", ERR_torch_int, "an index", obj_type_name(x));
    }
    ++*d;
}

struct tensor torch_index(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    const struct tensor *t = torch_tensor(self);
    struct tensor out = *t;
    struct obj *one[1] = {index}, **items = index->kind == OBJ_tuple ? index->seq.at : one;
    int n = index->kind == OBJ_tuple ? index->seq.n : 1, used = 0, d = 0;
    out.rank = 0;
    for (int i = 0; i < n; i++)
        used += items[i] != obj_none && items[i] != obj_ellipsis;
    for (int i = 0; i < n && out.rank < TENSOR_RANK_MAX; i++) {
        int skip = items[i] == obj_ellipsis ? t->rank - used : 0;
        for (int k = 0; k < skip; k++, d++) {
            out.shape[out.rank] = t->shape[d];
            out.stride[out.rank++] = t->stride[d];
        }
        if (items[i] != obj_ellipsis)
            index_one(e, t, &out, &d, items[i], at);
    }
    for (; d < t->rank && out.rank < TENSOR_RANK_MAX; d++) {
        out.shape[out.rank] = t->shape[d];
        out.stride[out.rank++] = t->stride[d];
    }
    return out;
}

const struct builtin torch_view_methods[] = {
    {"Tensor.to", "self, *args, dtype=None, device=None, non_blocking=False, copy=False", run_to, NULL},
    {"Tensor.float", "self", run_cast, &torch_dtypes[TORCH_float32]},
    {"Tensor.double", "self", run_cast, &torch_dtypes[TORCH_float64]},
    {"Tensor.half", "self", run_cast, &torch_dtypes[TORCH_float16]},
    {"Tensor.bfloat16", "self", run_cast, &torch_dtypes[TORCH_bfloat16]},
    {"Tensor.int", "self", run_cast, &torch_dtypes[TORCH_int32]},
    {"Tensor.long", "self", run_cast, &torch_dtypes[TORCH_int64]},
    {"Tensor.bool", "self", run_cast, &torch_dtypes[TORCH_bool_]},
    {"Tensor.cpu", "self", run_on_device, NULL},
    {"Tensor.cuda", "self", run_on_device, NULL},
    {"Tensor.detach", "self", run_same, NULL},
    {"Tensor.requires_grad_", "self, requires_grad=True", run_requires_grad, NULL},
    {"Tensor.clone", "self", run_clone, NULL},
    {"Tensor.contiguous", "self", run_contiguous, NULL},
    {"Tensor.is_contiguous", "self", run_is_contiguous, NULL},
    {"Tensor.stride", "self, dim=None", run_stride, NULL},
    {"Tensor.size", "self, dim=None", run_size, NULL},
    {"Tensor.numel", "self", run_count, NULL},
    {"Tensor.nelement", "self", run_count, NULL},
    {"Tensor.dim", "self", run_count, NULL},
    {"Tensor.element_size", "self", run_count, NULL},
    {"Tensor.data_ptr", "self", run_data_ptr, NULL},
    {"Tensor.item", "self", torch_run_item, NULL},
    {"Tensor.tolist", "self", run_tolist, NULL},
    {"Tensor.view", "self, *shape, dtype=None", run_view, NULL},
    {"Tensor.reshape", "self, *shape", run_reshape, NULL},
    {"Tensor.flatten", "self, start_dim=0, end_dim=-1", run_flatten, NULL},
    {"Tensor.transpose", "self, dim0, dim1", run_transpose, NULL},
    {"Tensor.t", "self", torch_run_t, NULL},
    {"Tensor.permute", "self, *dims", run_permute, NULL},
    {"Tensor.expand", "self, *size", run_expand, NULL},
    {"Tensor.squeeze", "self, dim=None", run_squeeze, NULL},
    {"Tensor.unsqueeze", "self, dim", run_squeeze, NULL},
    {"Tensor.fill_", "self, value", run_assign, NULL},
    {"Tensor.copy_", "self, src", run_assign, NULL},
    {"Tensor.zero_", "self", run_assign, NULL},
    {0},
};
