/* SPDX-License-Identifier: MIT */
/* torch_pick.c: implements indexing by tensors, and concatenation: x[mask], x[:, indices], x[mask] = 0, cat, stack.
 *
 * One of the indices may be a tensor of integers, or of bools (a mask). First, the other indices select a
 * view. In this view, the dimension that the tensor indexes is still complete (a mask may index several
 * dimensions). Then each integer, or each true element of the mask, selects a smaller view inside this view,
 * and the smaller views are copied one by one. */
#include "runtime/host/torch.h"

#include <string.h>

/* The selection of x[..., tensor, ...]: n views inside `view`. In the result, the dimensions of `shape` replace the
 * `dims` dimensions of `view` that begin at `dim`. */
struct picked {
    struct tensor view;
    int dim, dims;
    int64_t n, *offsets; /* the offset of each of the n views from the start of `view`, in elements */
    struct tensor shape; /* only the rank and shape of this tensor are used */
};

static const struct tensor *tensor_among(struct obj *index, int *at)
{
    const struct tensor *found = torch_tensor(index);
    *at = 0;
    for (int i = 0; index->kind == OBJ_tuple && i < index->seq.n && !found; i++) {
        found = torch_tensor(index->seq.at[i]);
        *at = i;
    }
    return found;
}

bool torch_picks(struct obj *index)
{
    int at;
    return tensor_among(index, &at) != NULL;
}

/* Returns the index with n full slices (`:`) in place of the tensor, which is its item number `at`. */
static struct obj *without_tensor(struct eval *e, struct obj *index, int at, int n)
{
    struct obj *items = obj_list(e, 0, NULL), *all = NEW(e->arena, struct obj);
    *all = (struct obj){.kind = OBJ_slice, .slice = {obj_none, obj_none, obj_none}};
    int count = index->kind == OBJ_tuple ? index->seq.n : 1;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < (i == at ? n : 1); k++)
            VEC_PUSH(e->arena, &items->seq, i == at ? all : index->seq.at[i]);
    return obj_tuple(e, items->seq.n, items->seq.at);
}

/* Item number `at` of the index is a tensor, which indexes `dims` consecutive dimensions of the view that the
 * other items select from t. Returns the number of the first of these dimensions. */
static int dim_of(const struct tensor *t, struct obj *index, int at, int dims)
{
    int dim = 0, used = dims;
    for (int i = 0; index->kind == OBJ_tuple && i < index->seq.n; i++)
        used += i != at && index->seq.at[i] != obj_none && index->seq.at[i] != obj_ellipsis;
    for (int i = 0; i < at; i++) {
        const struct obj *x = index->seq.at[i];
        dim += x == obj_ellipsis ? t->rank - used : x == obj_none || x->kind == OBJ_slice;
    }
    return dim;
}

static int64_t offset_at(const struct picked *p, int64_t linear)
{
    int64_t offset = 0;
    for (int d = p->dim + p->dims - 1; d >= p->dim; d--) {
        offset += linear % p->view.shape[d] * p->view.stride[d];
        linear /= p->view.shape[d];
    }
    return offset;
}

static void places_of_mask(struct eval *e, struct picked *p, const struct tensor *mask, struct loc at)
{
    const char *host = torch_host(e, mask, false, at);
    int64_t n = tensor_elems(mask);
    for (int d = 0; d < mask->rank; d++)
        if (p->dim + d >= p->view.rank || p->view.shape[p->dim + d] != mask->shape[d])
            eval_raise(e, at, "IndexError", ERR_torch_mask, torch_shape_text(e, mask),
                       torch_shape_text(e, &p->view));
    p->offsets = NEW_ARRAY(e->arena, n + 1, int64_t);
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, at);
        if (tensor_get(host, mask, i).i)
            p->offsets[p->n++] = offset_at(p, i);
    }
    p->shape.rank = 1;
    p->shape.shape[0] = p->n;
}

static void places_of_indices(struct eval *e, struct picked *p, const struct tensor *index, struct loc at)
{
    const char *host = torch_host(e, index, false, at);
    if (p->dim >= p->view.rank)
        eval_raise(e, at, "IndexError", ERR_torch_dim, p->view.rank, (int64_t)p->dim);
    int64_t size = p->view.shape[p->dim];
    p->n = tensor_elems(index);
    p->offsets = NEW_ARRAY(e->arena, p->n + 1, int64_t);
    for (int64_t i = 0; i < p->n; i++) {
        torch_tick(e, i, at);
        int64_t k = tensor_get(host, index, i).i;
        if (k < -size || k >= size)
            eval_raise(e, at, "IndexError", ERR_torch_index, k, p->dim, size);
        p->offsets[i] = (k < 0 ? k + size : k) * p->view.stride[p->dim];
    }
    p->shape = *index;
}

static struct picked pick(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    int place;
    const struct tensor *chooser = tensor_among(index, &place);
    struct picked p = {.dims = chooser->dtype == TORCH_bool_ ? chooser->rank : 1};
    if (torch_is_float(chooser->dtype))
        eval_raise(e, at, "IndexError", ERR_torch_int, "an index", torch_dtypes[chooser->dtype].name);
    p.dim = dim_of(torch_tensor(self), index, place, p.dims);
    struct obj *others = without_tensor(e, index, place, p.dims);
    if (torch_picks(others))
        eval_raise(e, at, "IndexError", ERR_torch_one_tensor);
    p.view = torch_index(e, self, others, at);
    if (chooser->dtype == TORCH_bool_)
        places_of_mask(e, &p, chooser, at);
    else
        places_of_indices(e, &p, chooser, at);
    return p;
}

/* Returns a view of t that begins `offset` elements later, and lacks the `dims` dimensions from dimension
 * `dim` on. */
static struct tensor part(const struct tensor *t, int dim, int dims, int64_t offset)
{
    struct tensor out = *t;
    out.offset += offset;
    out.rank = t->rank - dims;
    for (int d = dim; d < out.rank; d++) {
        out.shape[d] = t->shape[d + dims];
        out.stride[d] = t->stride[d + dims];
    }
    return out;
}

static int64_t place_in(const struct tensor *t, int dim, int dims, int64_t linear)
{
    int64_t offset = 0;
    for (int d = dim + dims - 1; d >= dim; d--) {
        offset += linear % t->shape[d] * t->stride[d];
        linear /= t->shape[d];
    }
    return offset;
}

/* Returns a tensor with the shape of the whole selection. */
static struct tensor shape_of(struct eval *e, const struct picked *p, struct loc at)
{
    struct tensor s = {0};
    if (p->view.rank - p->dims + p->shape.rank > TENSOR_RANK_MAX)
        eval_raise(e, at, "IndexError", ERR_torch_dim, TENSOR_RANK_MAX, (int64_t)TENSOR_RANK_MAX);
    for (int d = 0; d < p->dim; d++)
        s.shape[s.rank++] = p->view.shape[d];
    for (int d = 0; d < p->shape.rank; d++)
        s.shape[s.rank++] = p->shape.shape[d];
    for (int d = p->dim + p->dims; d < p->view.rank; d++)
        s.shape[s.rank++] = p->view.shape[d];
    return s;
}

static void copy(struct eval *e, struct tensor *to, const struct tensor *from, struct loc at)
{
    if (!tensor_map(host_pool(e), to, 1, &from, torch_same_element, NULL))
        torch_fail(e, at);
}

struct obj *torch_pick(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    struct picked p = pick(e, self, index, at);
    struct tensor shape = shape_of(e, &p, at);
    struct tensor out = torch_make(e, p.view.dtype, shape.rank, shape.shape, at);
    out.on_gpu = p.view.on_gpu;
    for (int64_t i = 0; i < p.n; i++) {
        struct tensor from = part(&p.view, p.dim, p.dims, p.offsets[i]);
        struct tensor to = part(&out, p.dim, p.shape.rank, place_in(&out, p.dim, p.shape.rank, i));
        copy(e, &to, &from, at);
    }
    return torch_wrap(e, &out);
}

void torch_put(struct eval *e, struct obj *self, struct obj *index, struct obj *value, struct loc at)
{
    struct picked p = pick(e, self, index, at);
    struct tensor shape = shape_of(e, &p, at), all = torch_operand(e, value, at), both = {0};
    if (!tensor_broadcast_shape(&all, &shape, &both.rank, both.shape) || both.rank != shape.rank ||
        memcmp(both.shape, shape.shape, (size_t)shape.rank * sizeof *shape.shape) != 0)
        eval_raise(e, at, "RuntimeError", ERR_torch_broadcast, torch_shape_text(e, &all),
                   torch_shape_text(e, &shape));
    all = tensor_expanded(&all, shape.rank, shape.shape);
    for (int64_t i = 0; i < p.n; i++) {
        struct tensor to = part(&p.view, p.dim, p.dims, p.offsets[i]);
        struct tensor from = part(&all, p.dim, p.shape.rank, place_in(&all, p.dim, p.shape.rank, i));
        copy(e, &to, &from, at);
    }
}

/* -- cat, stack -- */

static struct tensor item_of(struct eval *e, struct obj *list, int i, bool stacked, int dim, struct loc at)
{
    struct tensor *t = torch_tensor(list->seq.at[i]);
    if (!t)
        eval_raise(e, at, "TypeError", ERR_torch_operand, obj_type_name(list->seq.at[i]));
    struct tensor out = *t;
    if (!stacked)
        return out;
    if (out.rank == TENSOR_RANK_MAX)
        eval_raise(e, at, "RuntimeError", ERR_torch_dim, TENSOR_RANK_MAX, (int64_t)TENSOR_RANK_MAX);
    for (int d = out.rank++; d > dim; d--) {
        out.shape[d] = out.shape[d - 1];
        out.stride[d] = out.stride[d - 1];
    }
    out.shape[dim] = 1;
    out.stride[dim] = 0;
    return out;
}

static struct obj *run_join(struct eval *e, struct obj **args, const struct args *call)
{
    bool stacked = strstr(call->callee->name, "stack") != NULL;
    struct obj *list = args[0];
    if ((list->kind != OBJ_list && list->kind != OBJ_tuple) || list->seq.n == 0 ||
        !torch_tensor(list->seq.at[0]))
        eval_raise(e, call->loc, "TypeError", ERR_torch_operand, obj_type_name(list));
    int dim = torch_dim_arg(e, args[2] == obj_none ? args[1] : args[2],
                            torch_tensor(list->seq.at[0])->rank + stacked, call->loc);
    struct tensor first = item_of(e, list, 0, stacked, dim, call->loc), whole = first;
    whole.shape[dim] = 0;
    for (int i = 0; i < list->seq.n; i++) {
        struct tensor t = item_of(e, list, i, stacked, dim, call->loc);
        whole.dtype = torch_promote(&whole, &t);
        bool fits = t.rank == first.rank;
        for (int d = 0; d < t.rank && fits; d++)
            fits = d == dim || t.shape[d] == first.shape[d];
        if (!fits)
            eval_raise(e, call->loc, "RuntimeError", ERR_torch_shapes_differ, torch_shape_text(e, &first),
                       torch_shape_text(e, &t));
        whole.shape[dim] += t.shape[dim];
    }
    struct tensor out = torch_make(e, whole.dtype, whole.rank, whole.shape, call->loc);
    out.on_gpu = first.on_gpu;
    int64_t start = 0;
    for (int i = 0; i < list->seq.n; i++) {
        struct tensor t = item_of(e, list, i, stacked, dim, call->loc), to = out;
        to.offset += start * out.stride[dim];
        to.shape[dim] = t.shape[dim];
        start += t.shape[dim];
        copy(e, &to, &t, call->loc);
    }
    return torch_wrap(e, &out);
}

const struct builtin torch_pick_functions[] = {
    {"torch.cat", "tensors, dim=0, axis=None", run_join, NULL},
    {"torch.concat", "tensors, dim=0, axis=None", run_join, NULL},
    {"torch.stack", "tensors, dim=0, axis=None", run_join, NULL},
    {0},
};
