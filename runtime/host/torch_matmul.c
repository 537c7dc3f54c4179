/* SPDX-License-Identifier: MIT */
/* torch_matmul.c: implements torch.matmul and similar functions. The CPU computes products in double precision. But if
 * the device has a library (cuBLAS), the library computes the products that the program times, and the products that
 * would take too long on the CPU.
 *
 *     [k] @ [k, n]            computes [1, k] @ [k, n], and removes the first dimension of the result
 *     [b, m, k] @ [k, n]      multiplies each of the b matrices by the second operand */
#include "runtime/runtime.h"
#include "runtime/host/torch.h"

#include <limits.h>
#include <string.h>

/* If a product is not timed and has fewer than cpu_work multiply-adds, the CPU computes it even if there is a
 * library, because the CPU needs no noticeable time for it. */
static const int64_t cpu_work = (int64_t)1 << 28;

/* -- products that a library computes -- */

/* Returns whether the library can read the tensor: its rows or its columns must be contiguous, and the distance
 * between consecutive matrices of a batch must be constant. If so, describes the tensor in *f. */
static bool is_regular(const struct tensor *t, struct factor *f)
{
    int r = t->rank;
    int64_t rows = t->shape[r - 2], columns = t->shape[r - 1], down = t->stride[r - 2],
            right = t->stride[r - 1];
    bool is_plain = right == 1 || columns == 1;
    f->is_transposed = !(is_plain && (down >= columns || rows == 1));
    if (f->is_transposed && !((down == 1 || rows == 1) && (right >= rows || columns == 1)))
        return false;
    int64_t least = f->is_transposed ? rows : columns, lead = f->is_transposed ? right : down;
    lead = lead < least ? least : lead;
    f->batch = r > 2 ? t->stride[r - 3] : 0;
    for (int d = 0; d + 3 < r; d++)
        if (t->shape[d] != 1 && t->stride[d] != t->stride[d + 1] * t->shape[d + 1])
            return false;
    f->lead = (int)lead;
    return lead <= INT_MAX && rows <= INT_MAX && columns <= INT_MAX;
}

/* Sets `prefixes` to folders in which the library may be installed: those of the active Python environments
 * and of the CUDA toolkit. NULL ends the list. */
static void find_prefixes(struct eval *e, const char *prefixes[4])
{
    static const char *const variables[] = {"VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME"};
    int n = 0;
    for (size_t i = 0; e->host->getenv && i < sizeof variables / sizeof *variables; i++) {
        prefixes[n] = e->host->getenv(e->host->ctx, variables[i]);
        n += prefixes[n] != NULL;
    }
    prefixes[n] = NULL;
}

/* Returns whether the program has set torch.backends.cuda.matmul.allow_tf32 to True, so that the library may round
 * float32 to tf32. */
static bool may_round(struct eval *e)
{
    static const char name[] = "torch.backends.cuda.matmul";
    void **module = map_get(&e->modules, name, sizeof name - 1);
    struct obj *x =
        module ? scope_get(((struct obj *)*module)->module.scope, intern_str(e->strings, "allow_tf32"))
               : NULL;
    return x && x->kind == OBJ_bool && x->b;
}

/* Computes a product by the library. Returns false if there is no library, if the library cannot compute this
 * product, or if the CPU should compute it. */
static bool multiply_there(struct eval *e, const struct tensor *out, const struct tensor *a,
                           const struct tensor *b, struct loc at)
{
    struct program *p = e->host->ctx;
    struct tensor_pool *pool = host_pool(e);
    const char *prefixes[4];
    int r = out->rank;
    int64_t m = out->shape[r - 2], n = out->shape[r - 1], k = a->shape[r - 1], elems = tensor_elems(out);
    struct product x = {.dtype = torch_dtypes[a->dtype].dtype, .m = (int)m, .n = (int)n, .k = (int)k};
    if (!p->device->class->multiply || !a->on_gpu || !b->on_gpu || !is_regular(a, &x.a) ||
        !is_regular(b, &x.b) || !tensor_is_contiguous(out) || elems == 0 || k == 0 ||
        elems / (m * n) > INT_MAX)
        return false;
    if (!p->is_timing && (double)elems * (double)k < (double)cpu_work)
        return false;
    find_prefixes(e, prefixes);
    x.count = (int)(elems / (m * n));
    x.prefixes = prefixes;
    x.may_round = may_round(e);
    x.a.address = tensor_device(pool, a, false);
    x.b.address = tensor_device(pool, b, false);
    x.out = tensor_device(pool, out, true);
    if (!x.a.address || !x.b.address || !x.out)
        torch_fail(e, at);
    bool done = p->device->class->multiply(p->device, &x, &p->fault);
    if (!done && p->fault.status != NESO_OK)
        program_raise(e, at, &p->fault);
    p->products += done;
    return done;
}

/* -- torch's rules -- */

/* Replaces a and b by views in which their batch dimensions are broadcast to common batch dimensions. Sets
 * the rank and shape of the product. Returns false if the shapes or dtypes of a and b do not match. */
static bool match(struct tensor *a, struct tensor *b, int *rank, int64_t *shape)
{
    if (a->rank < 2 || b->rank < 2 || a->dtype != b->dtype || a->shape[a->rank - 1] != b->shape[b->rank - 2])
        return false;
    int64_t last[2][2] = {{a->shape[a->rank - 2], a->shape[a->rank - 1]},
                          {b->shape[b->rank - 2], b->shape[b->rank - 1]}};
    struct tensor heads[2] = {*a, *b};
    heads[0].rank -= 2;
    heads[1].rank -= 2;
    if (!tensor_broadcast_shape(&heads[0], &heads[1], rank, shape))
        return false;
    *rank += 2;
    for (int i = 0; i < 2; i++) {
        memcpy(shape + *rank - 2, last[i], sizeof last[i]);
        struct tensor *t = i == 0 ? a : b, view = tensor_expanded(t, *rank, shape);
        memcpy(view.stride + *rank - 2, t->stride + t->rank - 2, 2 * sizeof *t->stride);
        *t = view;
    }
    shape[*rank - 2] = last[0][0];
    shape[*rank - 1] = last[1][1];
    return true;
}

/* Turns a vector into a matrix with one row (`dim` = 0) or one column (`dim` = 1). Does not change other
 * tensors. */
static void make_matrix(struct tensor *t, int dim)
{
    if (t->rank != 1)
        return;
    t->rank = 2;
    t->shape[1 - dim] = t->shape[0];
    t->stride[1 - dim] = t->stride[0];
    t->shape[dim] = t->stride[dim] = 1;
}

static void drop_dim(struct tensor *t, int dim)
{
    for (int d = dim; d + 1 < t->rank; d++) {
        t->shape[d] = t->shape[d + 1];
        t->stride[d] = t->stride[d + 1];
    }
    t->rank--;
}

/* Returns whether a product of this type and shape can be written directly into `to`, the tensor of the argument
 * out=. */
static bool takes_whole(struct obj *to, enum torch_dtype dtype, int rank, const int64_t *shape)
{
    const struct tensor *t = torch_tensor(to);
    return t && t->dtype == dtype && t->rank == rank && tensor_is_contiguous(t) &&
           memcmp(t->shape, shape, (size_t)rank * sizeof *shape) == 0;
}

static struct obj *multiply(struct eval *e, struct obj **args, struct obj *to, struct loc at)
{
    struct tensor given[2] = {torch_operand(e, args[0], at), torch_operand(e, args[1], at)};
    struct tensor a = given[0], b = given[1], out;
    int64_t shape[TENSOR_RANK_MAX];
    int rank;
    make_matrix(&a, 0);
    make_matrix(&b, 1);
    if (!match(&a, &b, &rank, shape))
        eval_raise(e, at, "RuntimeError", ERR_torch_matmul, torch_shape_text(e, &given[0]),
                   torch_dtypes[a.dtype].name, torch_shape_text(e, &given[1]), torch_dtypes[b.dtype].name);
    bool is_whole = takes_whole(to, a.dtype, rank, shape);
    out = is_whole ? *torch_tensor(to) : torch_make(e, a.dtype, rank, shape, at);
    if (!is_whole) {
        out.on_gpu = a.on_gpu;
        /* the product writes every element, so the tensor need not be filled with zeros */
        out.storage->is_undefined = true;
    }
    if (!multiply_there(e, &out, &a, &b, at) && !tensor_matmul(host_pool(e), &out, &a, &b))
        torch_fail(e, at);
    if (given[1].rank == 1)
        drop_dim(&out, rank - 1);
    if (given[0].rank == 1)
        drop_dim(&out, out.rank - (given[1].rank == 1 ? 1 : 2));
    if (is_whole || to == obj_none)
        return is_whole ? to : torch_wrap(e, &out);
    struct tensor target = torch_operand(e, to, at);
    torch_assign(e, &target, torch_wrap(e, &out), at);
    return to;
}

struct obj *torch_matmul(struct eval *e, struct obj *a, struct obj *b, struct loc at)
{
    return multiply(e, (struct obj *[]){a, b}, obj_none, at);
}

static struct obj *run_matmul(struct eval *e, struct obj **args, const struct args *call)
{
    return multiply(e, args, args[2], call->loc);
}

const struct builtin torch_matmul_functions[] = {
    {"torch.matmul", "input, other, *, out=None", run_matmul, NULL},
    {"torch.mm", "input, mat2, *, out=None", run_matmul, NULL},
    {"torch.bmm", "input, mat2, *, out=None", run_matmul, NULL},
    {"Tensor.matmul", "self, other, *, out=None", run_matmul, NULL},
    {"Tensor.mm", "self, mat2, *, out=None", run_matmul, NULL},
    {"Tensor.bmm", "self, mat2, *, out=None", run_matmul, NULL},
    {0},
};
