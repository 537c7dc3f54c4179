/* SPDX-License-Identifier: MIT */
/* torch_math.c: implements arithmetic on the tensors of host programs: elementwise functions with broadcasting,
 * reductions, softmax, comparisons of whole tensors. Each result is computed in double precision (integers in 64
 * bits) and rounded once. */
#include "runtime/host/torch.h"

#include <math.h>
#include <string.h>

/* -- elementwise -- */

enum result { RESULT_same, RESULT_float, RESULT_bool };

struct elementwise {
    const char *name;
    int n;
    enum result result;
    double (*on_floats)(double x, double y);
    /* the function for integers; NULL: integer operands are converted to floats */
    int64_t (*on_ints)(int64_t x, int64_t y);
};

#define UNARY(name, expression)                                                                              \
    static double f_##name(double x, double y)                                                               \
    {                                                                                                        \
        (void)y;                                                                                             \
        return expression;                                                                                   \
    }
#define BINARY(name, expression)                                                                             \
    static double f_##name(double x, double y)                                                               \
    {                                                                                                        \
        return expression;                                                                                   \
    }
#define INTEGER(name, expression)                                                                            \
    static int64_t i_##name(int64_t x, int64_t y)                                                            \
    {                                                                                                        \
        (void)y;                                                                                             \
        return expression;                                                                                   \
    }
static double floored_rem(double x, double y)
{
    double r = fmod(x, y);
    return r != 0 && (r < 0) != (y < 0) ? r + y : r;
}
/* One row for each function. */
// clang-format off
BINARY(add, x + y)
BINARY(sub, x - y)
BINARY(mul, x * y)
BINARY(div, x / y)
BINARY(pow, pow(x, y))
BINARY(floordiv, floor(x / y))
BINARY(rem, floored_rem(x, y))
BINARY(maximum, isnan(x) || x > y ? x : y)
BINARY(minimum, isnan(x) || x < y ? x : y)
BINARY(lt, x < y)
BINARY(le, x <= y)
BINARY(gt, x > y)
BINARY(ge, x >= y)
BINARY(eq, x == y)
BINARY(ne, x != y)
UNARY(neg, -x)
UNARY(abs, fabs(x))
UNARY(exp, exp(x))
UNARY(exp2, exp2(x))
UNARY(log, log(x))
UNARY(log2, log2(x))
UNARY(sin, sin(x))
UNARY(cos, cos(x))
UNARY(tanh, tanh(x))
UNARY(sqrt, sqrt(x))
UNARY(rsqrt, 1 / sqrt(x))
UNARY(erf, erf(x))
UNARY(floor, floor(x))
UNARY(ceil, ceil(x))
UNARY(round, nearbyint(x))
UNARY(sigmoid, 1 / (1 + exp(-x)))
UNARY(relu, x > 0 || isnan(x) ? x : 0)
UNARY(isnan, isnan(x))
UNARY(isinf, isinf(x))
UNARY(isfinite, isfinite(x))
UNARY(logical_not, x == 0)
INTEGER(add, (int64_t)((uint64_t)x + (uint64_t)y))
INTEGER(sub, (int64_t)((uint64_t)x - (uint64_t)y))
INTEGER(mul, (int64_t)((uint64_t)x * (uint64_t)y))
INTEGER(neg, (int64_t)(0 - (uint64_t)x))
INTEGER(abs, x < 0 ? (int64_t)(0 - (uint64_t)x) : x)
INTEGER(floordiv, y == 0 || y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y - (x % y != 0 && (x < 0) != (y < 0)))
INTEGER(rem, y == 0 || y == -1 ? 0 : x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0))
INTEGER(maximum, x > y ? x : y)
INTEGER(minimum, x < y ? x : y)
INTEGER(lt, x < y)
INTEGER(le, x <= y)
INTEGER(gt, x > y)
INTEGER(ge, x >= y)
INTEGER(eq, x == y)
INTEGER(ne, x != y)
INTEGER(and, x & y)
INTEGER(or, x | y)
INTEGER(xor, x ^ y)
INTEGER(not, ~x)
INTEGER(shl, y >= 0 && y < 64 ? (int64_t)((uint64_t)x << y) : 0)
INTEGER(shr, x >> (y >= 0 && y < 64 ? y : 63))
// clang-format on
#undef UNARY
#undef BINARY
#undef INTEGER

static const struct elementwise elementwise[] = {
    {"add", 2, RESULT_same, f_add, i_add},
    {"sub", 2, RESULT_same, f_sub, i_sub},
    {"mul", 2, RESULT_same, f_mul, i_mul},
    {"div", 2, RESULT_float, f_div, NULL},
    {"pow", 2, RESULT_same, f_pow, NULL},
    {"floor_divide", 2, RESULT_same, f_floordiv, i_floordiv},
    {"remainder", 2, RESULT_same, f_rem, i_rem},
    {"maximum", 2, RESULT_same, f_maximum, i_maximum},
    {"minimum", 2, RESULT_same, f_minimum, i_minimum},
    {"lt", 2, RESULT_bool, f_lt, i_lt},
    {"le", 2, RESULT_bool, f_le, i_le},
    {"gt", 2, RESULT_bool, f_gt, i_gt},
    {"ge", 2, RESULT_bool, f_ge, i_ge},
    {"eq", 2, RESULT_bool, f_eq, i_eq},
    {"ne", 2, RESULT_bool, f_ne, i_ne},
    {"bitwise_and", 2, RESULT_same, NULL, i_and},
    {"bitwise_or", 2, RESULT_same, NULL, i_or},
    {"bitwise_xor", 2, RESULT_same, NULL, i_xor},
    {"bitwise_not", 1, RESULT_same, NULL, i_not},
    {"bitwise_left_shift", 2, RESULT_same, NULL, i_shl},
    {"bitwise_right_shift", 2, RESULT_same, NULL, i_shr},
    {"neg", 1, RESULT_same, f_neg, i_neg},
    {"abs", 1, RESULT_same, f_abs, i_abs},
    {"exp", 1, RESULT_float, f_exp, NULL},
    {"exp2", 1, RESULT_float, f_exp2, NULL},
    {"log", 1, RESULT_float, f_log, NULL},
    {"log2", 1, RESULT_float, f_log2, NULL},
    {"sin", 1, RESULT_float, f_sin, NULL},
    {"cos", 1, RESULT_float, f_cos, NULL},
    {"tanh", 1, RESULT_float, f_tanh, NULL},
    {"sqrt", 1, RESULT_float, f_sqrt, NULL},
    {"rsqrt", 1, RESULT_float, f_rsqrt, NULL},
    {"erf", 1, RESULT_float, f_erf, NULL},
    {"floor", 1, RESULT_same, f_floor, NULL},
    {"ceil", 1, RESULT_same, f_ceil, NULL},
    {"round", 1, RESULT_same, f_round, NULL},
    {"sigmoid", 1, RESULT_float, f_sigmoid, NULL},
    {"relu", 1, RESULT_same, f_relu, NULL},
    {"isnan", 1, RESULT_bool, f_isnan, NULL},
    {"isinf", 1, RESULT_bool, f_isinf, NULL},
    {"isfinite", 1, RESULT_bool, f_isfinite, NULL},
    {"logical_not", 1, RESULT_bool, f_logical_not, NULL},
};

const struct elementwise *torch_elementwise(const char *name)
{
    for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
        if (strcmp(elementwise[i].name, name) == 0)
            return &elementwise[i];
    return NULL;
}

struct element_op {
    const struct elementwise *f;
    bool as_ints;
};

static struct number run_element(const struct number *x, void *ctx)
{
    const struct element_op *o = ctx;
    if (o->as_ints)
        return (struct number){.i = o->f->on_ints(x[0].i, o->f->n > 1 ? x[1].i : 0)};
    double a = x[0].is_float ? x[0].f : (double)x[0].i, b = 0;
    if (o->f->n > 1)
        b = x[1].is_float ? x[1].f : (double)x[1].i;
    double r = o->f->on_floats(a, b);
    return o->f->result == RESULT_bool ? (struct number){.i = r != 0}
                                       : (struct number){.is_float = true, .f = r};
}

static enum torch_dtype operand_dtype(const struct tensor *a, const struct obj *a_obj, const struct tensor *b,
                                      const struct obj *b_obj)
{
    if (!torch_tensor(b_obj))
        return torch_promote_number(a, b_obj->kind == OBJ_float);
    if (!torch_tensor(a_obj))
        return torch_promote_number(b, a_obj->kind == OBJ_float);
    return torch_promote(a, b);
}

static void print_shape(struct text *t, const struct tensor *x)
{
    text_char(t, '[');
    for (int d = 0; d < x->rank; d++)
        text_printf(t, d ? ", %lld" : "%lld", (long long)x->shape[d]);
    text_char(t, ']');
}

const char *torch_shape_text(struct eval *e, const struct tensor *x)
{
    struct text t;
    text_init(&t, e->arena);
    print_shape(&t, x);
    return t.s;
}

/* If the operands are contiguous float32 tensors or numbers, as in most reference results, computes an elementwise
 * function in a simple loop that does not test the type of each element. Returns false for other operands. */
static bool apply_in_a_row(struct eval *e, const struct elementwise *f, const struct tensor *out,
                           const struct tensor *a, const struct tensor *b, struct loc at)
{
    const struct tensor *operands[2] = {a, b};
    const char *from[2] = {0};
    int64_t step[2] = {0};
    double number[2] = {0};
    if (out->dtype != TORCH_float32 || !f->on_floats)
        return false;
    for (int k = 0; k < f->n; k++) {
        const struct tensor *t = operands[k];
        bool is_row = t->dtype == TORCH_float32 && t->rank == out->rank && tensor_is_contiguous(t) &&
                      memcmp(t->shape, out->shape, (size_t)t->rank * sizeof *t->shape) == 0;
        if (!is_row && t->rank > 0)
            return false;
        step[k] = is_row;
        from[k] = torch_host(e, t, false, at);
        if (!is_row) {
            struct number x = tensor_get(from[k], t, 0);
            number[k] = x.is_float ? x.f : (double)x.i;
        }
    }
    float *to = (float *)(void *)torch_host(e, out, true, at);
    int64_t n = tensor_elems(out);
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, at);
        double x = step[0] ? (double)((const float *)(const void *)from[0])[i] : number[0];
        double y = step[1] ? (double)((const float *)(const void *)from[1])[i] : number[1];
        to[i] = (float)f->on_floats(x, y);
    }
    return true;
}

/* Returns a tensor without data that has the shape to which a and b are broadcast. */
static struct tensor common_shape(struct eval *e, const struct tensor *a, const struct tensor *b,
                                  struct loc at)
{
    struct tensor shape = {0};
    if (!tensor_broadcast_shape(a, b, &shape.rank, shape.shape))
        eval_raise(e, at, "RuntimeError", ERR_torch_broadcast, torch_shape_text(e, a),
                   torch_shape_text(e, b));
    return shape;
}

struct obj *torch_apply(struct eval *e, const struct elementwise *f, struct obj *x, struct obj *y,
                        struct loc at)
{
    struct tensor a = torch_operand(e, x, at), b = f->n > 1 ? torch_operand(e, y, at) : a;
    enum torch_dtype common = f->n > 1 ? operand_dtype(&a, x, &b, y) : a.dtype;
    struct tensor shape = common_shape(e, &a, &b, at);
    struct element_op o = {f, f->on_ints && !torch_is_float(common)};
    if (!o.as_ints && !f->on_floats)
        eval_raise(e, at, "RuntimeError", ERR_torch_no_floats, f->name, torch_dtypes[common].name);
    enum torch_dtype result = f->result == RESULT_bool                               ? TORCH_bool_
                              : f->result == RESULT_float && !torch_is_float(common) ? TORCH_float32
                                                                                     : common;
    struct tensor out = torch_make(e, result, shape.rank, shape.shape, at);
    out.on_gpu = (torch_tensor(x) && a.on_gpu) || (f->n > 1 && torch_tensor(y) && b.on_gpu);
    const struct tensor *operands[2] = {&a, &b};
    if (!apply_in_a_row(e, f, &out, &a, &b, at) &&
        !tensor_map(host_pool(e), &out, f->n, operands, run_element, &o))
        torch_fail(e, at);
    return torch_wrap(e, &out);
}

static struct obj *run_elementwise(struct eval *e, struct obj **args, const struct args *call)
{
    const struct elementwise *f =
        call->callee->data ? call->callee->data : torch_elementwise(strrchr(call->callee->name, '.') + 1);
    return torch_apply(e, f, args[0], f->n > 1 ? args[1] : NULL, call->loc);
}

static struct number choose(const struct number *x, void *ctx)
{
    (void)ctx;
    return x[0].i ? x[1] : x[2];
}

static struct obj *run_where(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor c = torch_operand(e, args[0], call->loc), a = torch_operand(e, args[1], call->loc),
                  b = torch_operand(e, args[2], call->loc);
    struct tensor both = {0}, all = {0};
    if (!tensor_broadcast_shape(&a, &b, &both.rank, both.shape) ||
        !tensor_broadcast_shape(&c, &both, &all.rank, all.shape))
        eval_raise(e, call->loc, "RuntimeError", ERR_torch_broadcast, torch_shape_text(e, &c),
                   torch_shape_text(e, &a));
    enum torch_dtype result = operand_dtype(&a, args[1], &b, args[2]);
    if (!torch_tensor(args[1]) && !torch_tensor(args[2]) && torch_is_float(result))
        result = TORCH_float32; /* torch's default type, to which numbers of Python are converted */
    struct tensor out = torch_make(e, result, all.rank, all.shape, call->loc);
    out.on_gpu = c.on_gpu || a.on_gpu || b.on_gpu;
    if (!tensor_map(host_pool(e), &out, 3, (const struct tensor *const[]){&c, &a, &b}, choose, NULL))
        torch_fail(e, call->loc);
    return torch_wrap(e, &out);
}

/* -- reductions: over one dimension, or over all -- */

struct reduction {
    const char *name;
    double (*combine)(double acc, double x);
    double start;
    /* `mean`: divide by the number of elements; `index`: also return the index of the result */
    bool mean, index;
    bool to_bool;
};

static double r_sum(double acc, double x)
{
    return acc + x;
}
static double r_max(double acc, double x)
{
    return isnan(acc) || isnan(x) ? NAN : x > acc ? x : acc;
}
static double r_min(double acc, double x)
{
    return isnan(acc) || isnan(x) ? NAN : x < acc ? x : acc;
}
static double r_all(double acc, double x)
{
    return acc != 0 && x != 0;
}
static double r_any(double acc, double x)
{
    return acc != 0 || x != 0;
}

static const struct reduction reductions[] = {
    {"sum", r_sum, 0, false, false, false},
    {"mean", r_sum, 0, true, false, false},
    {"max", r_max, -INFINITY, false, false, false},
    {"min", r_min, INFINITY, false, false, false},
    {"amax", r_max, -INFINITY, false, false, false},
    {"amin", r_min, INFINITY, false, false, false},
    {"argmax", r_max, -INFINITY, false, true, false},
    {"argmin", r_min, INFINITY, false, true, false},
    {"all", r_all, 1, false, false, true},
    {"any", r_any, 0, false, false, true},
};

/* Reduces the n elements of t whose indices in row-major order are first, first + step, first + 2 * step and
 * so on. Sets *index to the position (0 to n - 1) of the last element that changed the result. For max and
 * min, the element at this position is the result. */
static double reduce_run(struct eval *e, const struct reduction *r, const char *host, const struct tensor *t,
                         int64_t first, int64_t step, int64_t n, int64_t *index, struct loc at)
{
    double acc = r->start;
    *index = 0;
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, at);
        struct number x = tensor_get(host, t, first + i * step);
        double next = r->combine(acc, x.is_float ? x.f : (double)x.i);
        if (next != acc && !isnan(acc))
            *index = i;
        acc = next;
    }
    return r->mean ? acc / (double)n : acc;
}

static struct obj *reduce(struct eval *e, const struct reduction *r, const struct tensor *t, struct obj *dim,
                          bool keepdim, enum torch_dtype dtype, bool pair, struct loc at)
{
    int64_t axis = dim == obj_none ? -1 : torch_int_arg(e, dim, "dim", at), shape[TENSOR_RANK_MAX], outer = 1,
            inner = 1, n = 1;
    if (axis < 0 && dim != obj_none)
        axis += t->rank;
    if (dim != obj_none && (axis < 0 || axis >= t->rank))
        eval_raise(e, at, "IndexError", ERR_torch_dim, t->rank, torch_int_arg(e, dim, "dim", at));
    int rank = 0;
    for (int d = 0; d < t->rank; d++) {
        bool reduced = axis < 0 || d == axis;
        *(reduced ? &n : d < axis ? &outer : &inner) *= t->shape[d];
        if (!reduced || keepdim)
            shape[rank++] = reduced ? 1 : t->shape[d];
    }
    struct tensor out = torch_make(e, r->index ? TORCH_int64 : dtype, rank, shape, at), where = out;
    out.on_gpu = where.on_gpu = t->on_gpu;
    if (pair) {
        where = torch_make(e, TORCH_int64, rank, shape, at);
        where.on_gpu = t->on_gpu;
    }
    const char *host = torch_host(e, t, false, at);
    char *to = torch_host(e, &out, true, at), *to_index = torch_host(e, &where, true, at);
    for (int64_t i = 0; i < outer * inner; i++) {
        int64_t index;
        torch_spend(e, n, at);
        double x =
            reduce_run(e, r, host, t, i / inner * n * inner + i % inner, axis < 0 ? 1 : inner, n, &index, at);
        bool whole = !torch_is_float(out.dtype);
        tensor_set(to, &out, i,
                   r->index ? (struct number){.i = index}
                   : whole  ? (struct number){.i = (int64_t)x}
                            : (struct number){.is_float = true, .f = x});
        if (pair)
            tensor_set(to_index, &where, i, (struct number){.i = index});
    }
    if (!pair)
        return torch_wrap(e, &out);
    struct obj *both = obj_tuple(e, 2, (struct obj *[]){torch_wrap(e, &out), torch_wrap(e, &where)});
    both->class_of = scope_get(torch_more(e), intern_str(e->strings, "Sorted"));
    return both;
}

/* Reduces several dimensions one after the other, and rounds only after the last dimension. */
static struct obj *reduce_along(struct eval *e, const struct reduction *r, struct obj *x,
                                const struct obj *dims, bool keepdim, enum torch_dtype dtype, struct loc at)
{
    bool gone[TENSOR_RANK_MAX] = {false};
    for (int i = 0; i < dims->seq.n; i++) {
        int d = torch_dim_arg(e, dims->seq.at[i], torch_tensor(x)->rank, at);
        gone[d] = !keepdim;
        bool last = i == dims->seq.n - 1;
        x = reduce(e, r, torch_tensor(x), obj_int(e, d), true,
                   !last && torch_is_float(dtype) ? TORCH_float64 : dtype, false, at);
    }
    struct tensor out = *torch_tensor(x);
    out.rank = 0;
    for (int d = 0; d < torch_tensor(x)->rank; d++)
        if (!gone[d]) {
            out.shape[out.rank] = out.shape[d];
            out.stride[out.rank++] = out.stride[d];
        }
    return torch_wrap(e, &out);
}

static struct obj *run_reduction(struct eval *e, struct obj **args, const struct args *call)
{
    const char *name = strrchr(call->callee->name, '.') + 1;
    const struct reduction *r = reductions;
    while (strcmp(r->name, name) != 0)
        r++;
    struct tensor t = torch_self(e, args, call);
    bool is_max = strcmp(name, "max") == 0 || strcmp(name, "min") == 0;
    if (is_max && torch_tensor(args[1]))
        return torch_apply(e, torch_elementwise(strcmp(name, "max") == 0 ? "maximum" : "minimum"), args[0],
                           args[1], call->loc);
    enum torch_dtype dtype = r->to_bool ? TORCH_bool_
                             : r->mean  ? (torch_is_float(t.dtype) ? t.dtype : TORCH_float32)
                             : r->combine == r_sum && !torch_is_float(t.dtype) ? TORCH_int64
                                                                               : t.dtype;
    struct obj *dim = args[1] == obj_none ? args[4] : args[1];
    bool keepdim = obj_truth(e, args[2], call->loc);
    dtype = torch_dtype_arg(e, args[3], dtype, call->loc);
    if (dim->kind == OBJ_tuple || dim->kind == OBJ_list)
        return reduce_along(e, r, args[0], dim, keepdim, dtype, call->loc);
    return reduce(e, r, &t, dim, keepdim, dtype, is_max && dim != obj_none, call->loc);
}

static struct obj *run_softmax(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor t = torch_self(e, args, call);
    struct obj *dim = args[1] == obj_none ? args[3] : args[1];
    int64_t axis = torch_int_arg(e, dim == obj_none ? obj_int(e, -1) : dim, "dim", call->loc), inner = 1;
    axis += axis < 0 ? t.rank : 0;
    if (axis < 0 || axis >= t.rank)
        eval_raise(e, call->loc, "IndexError", ERR_torch_dim, t.rank, axis);
    for (int d = (int)axis + 1; d < t.rank; d++)
        inner *= t.shape[d];
    int64_t n = t.shape[axis], runs = n ? tensor_elems(&t) / n : 0;
    struct tensor out =
        torch_make(e, torch_dtype_arg(e, args[2], t.dtype, call->loc), t.rank, t.shape, call->loc);
    out.on_gpu = t.on_gpu;
    const char *from = torch_host(e, &t, false, call->loc);
    char *to = torch_host(e, &out, true, call->loc);
    for (int64_t i = 0; i < runs; i++) {
        int64_t first = i / inner * n * inner + i % inner;
        double most = -INFINITY, sum = 0;
        torch_spend(e, n, call->loc);
        for (int64_t k = 0; k < n; k++)
            most = fmax(most, tensor_get(from, &t, first + k * inner).f);
        for (int64_t k = 0; k < n; k++)
            sum += exp(tensor_get(from, &t, first + k * inner).f - most);
        for (int64_t k = 0; k < n; k++)
            tensor_set(to, &out, first + k * inner,
                       (struct number){.is_float = true,
                                       .f = exp(tensor_get(from, &t, first + k * inner).f - most) / sum});
    }
    return torch_wrap(e, &out);
}

/* -- comparisons of whole tensors -- */

struct closeness {
    double rtol, atol;
    bool equal_nan;
    int64_t wrong;
    double worst; /* largest absolute difference */
};

static bool is_close(struct closeness *c, double x, double y)
{
    if (x == y || (c->equal_nan && isnan(x) && isnan(y)))
        return true;
    double difference = fabs(x - y);
    if (difference > c->worst || isnan(difference))
        c->worst = difference;
    return isfinite(x) && isfinite(y) && difference <= c->atol + c->rtol * fabs(y);
}

static struct number count_far(const struct number *x, void *ctx)
{
    struct closeness *c = ctx;
    bool close =
        is_close(c, x[0].is_float ? x[0].f : (double)x[0].i, x[1].is_float ? x[1].f : (double)x[1].i);
    c->wrong += !close;
    return (struct number){.i = close};
}

static void compare(struct eval *e, struct obj *x, struct obj *y, struct closeness *c, struct loc at)
{
    struct tensor a = torch_operand(e, x, at), b = torch_operand(e, y, at),
                  shape = common_shape(e, &a, &b, at);
    struct tensor out = torch_make(e, TORCH_bool_, shape.rank, shape.shape, at);
    if (!tensor_map(host_pool(e), &out, 2, (const struct tensor *const[]){&a, &b}, count_far, c))
        torch_fail(e, at);
}

static double float_arg(struct eval *e, struct obj *x, double dflt, struct loc at)
{
    struct number n;
    if (x == obj_none)
        return dflt;
    if (!torch_number(x, &n))
        eval_raise(e, at, "TypeError", ERR_torch_operand, obj_type_name(x));
    return n.is_float ? n.f : (double)n.i;
}

static struct obj *run_allclose(struct eval *e, struct obj **args, const struct args *call)
{
    struct closeness c = {.rtol = float_arg(e, args[2], 1e-5, call->loc),
                          .atol = float_arg(e, args[3], 1e-8, call->loc),
                          .equal_nan = obj_truth(e, args[4], call->loc)};
    compare(e, args[0], args[1], &c, call->loc);
    return obj_bool(c.wrong == 0);
}

static struct obj *run_equal(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor a = torch_self(e, args, call), b = torch_operand(e, args[1], call->loc);
    if (a.rank != b.rank || memcmp(a.shape, b.shape, (size_t)a.rank * sizeof *a.shape) != 0)
        return obj_false;
    struct closeness c = {0};
    compare(e, args[0], args[1], &c, call->loc);
    return obj_bool(c.wrong == 0);
}

/* Sets *rtol and *atol to the default tolerances of torch.testing for a dtype. */
static void default_tolerance(enum torch_dtype d, double *rtol, double *atol)
{
    *rtol = d == TORCH_float16    ? 1e-3
            : d == TORCH_bfloat16 ? 1.6e-2
            : d == TORCH_float32  ? 1.3e-6
            : d == TORCH_float64  ? 1e-7
                                  : 0;
    *atol = d == TORCH_float16 || d == TORCH_bfloat16 || d == TORCH_float32 ? 1e-5
            : d == TORCH_float64                                            ? 1e-7
                                                                            : 0;
}

/* Appends the line of torch's message about the largest difference of one kind (absolute or relative). `at`
 * is the index in row-major order of the element with this difference; `allowed` is the tolerance (NULL: not
 * shown). */
static void say_difference(struct eval *e, const char *kind, struct number most, const struct tensor *t,
                           int64_t at, const double *allowed, struct text *out)
{
    int64_t index[TENSOR_RANK_MAX];
    for (int d = t->rank - 1; d >= 0; d--) {
        index[d] = at % t->shape[d];
        at /= t->shape[d];
    }
    text_printf(out, t->rank ? "\nGreatest %s difference: " : "\n%s difference: ", kind);
    obj_print(e, torch_number_obj(e, most, TORCH_int64), out, true);
    if (t->rank) {
        text_str(out, " at index ");
        obj_print(e, torch_ints(e, t->rank, index), out, true);
    }
    if (allowed) {
        text_str(out, " (up to ");
        obj_print(e, *allowed == 0 ? obj_int(e, 0) : obj_float(e, *allowed), out, true);
        text_str(out, " allowed)");
    }
}

/* Returns the text of torch's message about tensors that are not close. Differences in it are rounded to the
 * tensors' type. */
static const char *mismatch_text(struct eval *e, const struct tensor *a, const struct tensor *b,
                                 const struct closeness *c, struct loc at)
{
    struct number most[2] = {{.f = -1}, {.f = -1}};
    int64_t where[2] = {0, 0}, n = tensor_elems(a);
    enum torch_dtype dtype = torch_promote(a, b);
    enum dtype round = torch_is_float(dtype) ? torch_dtypes[dtype].dtype : DT_f32;
    const char *x = torch_host(e, a, false, at), *y = torch_host(e, b, false, at);
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, at);
        struct number u = tensor_get(x, a, i), v = tensor_get(y, b, i);
        double p = u.is_float ? u.f : (double)u.i, q = v.is_float ? v.f : (double)v.i;
        double off = p == q ? 0 : bits_to_double(round, double_to_bits(round, fabs(p - q)));
        struct closeness one = *c;
        if (is_close(&one, p, q))
            off = 0;
        double found[2] = {off, off == 0 ? 0 : bits_to_double(round, double_to_bits(round, off / fabs(q)))};
        for (int k = 0; k < 2; k++)
            if (found[k] > most[k].f || (isnan(found[k]) && !isnan(most[k].f))) {
                most[k] = (struct number){.is_float = k == 1 || torch_is_float(dtype),
                                          .f = found[k],
                                          .i = off < 0x1p63 ? (int64_t)off : INT64_MAX};
                where[k] = i;
            }
    }
    bool exact = c->rtol == 0 && c->atol == 0;
    struct text out;
    text_init(&out, e->arena);
    text_printf(&out, "%s are not %s!\n\n", a->rank ? "Tensor-likes" : "Scalars", exact ? "equal" : "close");
    if (a->rank) {
        text_printf(&out, "Mismatched elements: %lld / %lld (%.1f%%)", (long long)c->wrong, (long long)n,
                    100.0 * (double)c->wrong / (double)n);
    } else {
        text_str(&out, "Expected ");
        obj_print(e, torch_number_obj(e, tensor_get(y, b, 0), dtype), &out, true);
        text_str(&out, " but got ");
        obj_print(e, torch_number_obj(e, tensor_get(x, a, 0), dtype), &out, true);
        text_char(&out, '.');
    }
    say_difference(e, a->rank ? "absolute" : "Absolute", most[0], a, where[0], exact ? NULL : &c->atol, &out);
    say_difference(e, a->rank ? "relative" : "Relative", most[1], a, where[1], exact ? NULL : &c->rtol, &out);
    return out.s;
}

/* Returns the text of the message about the first attribute in which two tensors differ; NULL if all attributes are
 * equal. */
static const char *attribute_text(struct eval *e, struct obj *a, struct obj *b, bool check_device,
                                  bool check_dtype)
{
    const char *const names[] = {"shape", check_device ? "device" : NULL, check_dtype ? "dtype" : NULL};
    for (int i = 0; i < 3; i++) {
        if (!names[i])
            continue;
        struct text x, y, out;
        text_init(&x, e->arena);
        text_init(&y, e->arena);
        text_init(&out, e->arena);
        obj_print(e, eval_getattr(e, a, names[i], (struct loc){0}), &x, false);
        obj_print(e, eval_getattr(e, b, names[i], (struct loc){0}), &y, false);
        if (strcmp(x.s, y.s) == 0)
            continue;
        text_printf(&out, "The values for attribute '%s' do not match: %s != %s.", names[i], x.s, y.s);
        return out.s;
    }
    return NULL;
}

/* Raises an AssertionError with the text. If the program gives its own message, `msg`, raises the error with this
 * message, which may be a function of the text. */
_Noreturn static void refuse_close(struct eval *e, const char *text, struct obj *msg, struct loc at)
{
    struct text own;
    text_init(&own, e->arena);
    if (msg != obj_none)
        obj_print(e, msg->kind == OBJ_str ? msg : eval_call1(e, msg, obj_cstr(e, text), at), &own, false);
    eval_raise(e, at, "AssertionError", ERR_torch_not_close, msg == obj_none ? text : own.s);
}

static struct obj *run_assert_close(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor a = torch_operand(e, args[0], call->loc), b = torch_operand(e, args[1], call->loc);
    struct closeness c = {.equal_nan = obj_truth(e, args[4], call->loc)};
    double other[2];
    bool check_dtype = obj_truth(e, args[6], call->loc);
    default_tolerance(a.dtype, &c.rtol, &c.atol);
    default_tolerance(b.dtype, &other[0], &other[1]);
    c.rtol = float_arg(e, args[2], fmax(c.rtol, other[0]), call->loc);
    c.atol = float_arg(e, args[3], fmax(c.atol, other[1]), call->loc);
    const char *differs =
        torch_tensor(args[0]) && torch_tensor(args[1])
            ? attribute_text(e, args[0], args[1], obj_truth(e, args[5], call->loc), check_dtype)
            : NULL;
    if (differs)
        refuse_close(e, differs, args[7], call->loc);
    compare(e, args[0], args[1], &c, call->loc);
    if (c.wrong && !e->host->assertions_hold)
        refuse_close(e, mismatch_text(e, &a, &b, &c, call->loc), args[7], call->loc);
    return obj_none;
}

/* -- tables -- */

/* Makes a builtin for an operation of the tables. Its name is PREFIX.NAME, for example "Tensor.exp". Returns
 * NULL if there is no such operation. */
const struct builtin *torch_operation(struct eval *e, const char *prefix, const char *name)
{
    const struct elementwise *f = torch_elementwise(name);
    const char *params = f ? (f->n == 1 ? "input" : "input, other") : NULL;
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions && !params; i++)
        if (strcmp(reductions[i].name, name) == 0)
            params = "input, dim=None, keepdim=False, dtype=None, axis=None";
    if (!params)
        return NULL;
    struct text full;
    text_init(&full, e->arena);
    text_printf(&full, "%s.%s", prefix, name);
    struct builtin *b = NEW(e->arena, struct builtin);
    *b = (struct builtin){full.s, params, f ? run_elementwise : run_reduction, f};
    return b;
}

/* Returns the name of operation number i; NULL at the end. */
const char *torch_operation_name(int i)
{
    size_t k = (size_t)i, n = sizeof elementwise / sizeof *elementwise;
    return k < n                                            ? elementwise[k].name
           : k - n < sizeof reductions / sizeof *reductions ? reductions[k - n].name
                                                            : NULL;
}

const struct builtin torch_math_functions[] = {
    {"torch.where", "condition, input, other", run_where, NULL},
    {"torch.softmax", "input, dim=None, dtype=None, axis=None", run_softmax, NULL},
    {"torch.allclose", "input, other, rtol=None, atol=None, equal_nan=False", run_allclose, NULL},
    {"torch.equal", "input, other", run_equal, NULL},
    {"torch.testing.assert_close",
     "actual, expected, rtol=None, atol=None, equal_nan=False, check_device=True, check_dtype=True, msg=None",
     run_assert_close, NULL},
    {"torch.nn.functional.softmax", "input, dim=None, dtype=None, axis=None", run_softmax, NULL},
    {0},
};

const struct builtin torch_math_methods[] = {
    {"Tensor.softmax", "self, dim=None, dtype=None, axis=None", run_softmax, NULL},
    {"Tensor.allclose", "self, other, rtol=None, atol=None, equal_nan=False", run_allclose, NULL},
    {"Tensor.equal", "self, other", run_equal, NULL},
    {0},
};
