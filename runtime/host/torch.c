/* SPDX-License-Identifier: MIT */
/* torch.c: implements a part of the module torch for host programs: enough to create inputs, to compute reference
 * results in double precision, and to compare results. This file implements objects, constructors, classes and
 * modules; torch_math.c implements arithmetic, and torch_view.c implements views and casts. Every function and method
 * is a row of a table. If a program uses a function that neso lacks, the error suggests running the file under
 * Python. */
#include "frontend/python/python.h"
#include "runtime/runtime.h"
#include "runtime/host/torch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- objects -- */

struct tensor *torch_tensor(const struct obj *x)
{
    return x->kind == OBJ_native && x->native.class == &torch_tensor_class ? x->native.data : NULL;
}

struct obj *torch_wrap(struct eval *e, const struct tensor *t)
{
    struct tensor *kept = NEW(e->arena, struct tensor);
    *kept = *t;
    kept->attributes = NULL;
    return obj_native(e, &torch_tensor_class, kept);
}

void torch_spend(struct eval *e, int64_t elems, struct loc at)
{
    struct budget *b = host_pool(e)->budget;
    enum error passed = budget_spend(b, elems / STEP_ELEMS);
    char limit[32];
    if (passed == ERR_count)
        return;
    budget_text(b, passed, limit, sizeof limit);
    if (budget_ends(passed))
        diag_fatal(e->diag, eval_place(e, at), passed, limit);
    eval_raise(e, eval_place(e, at), "RuntimeError", passed, limit);
}

void torch_fail(struct eval *e, struct loc at)
{
    torch_spend(e, 0, at);
    if (host_pool(e)->failed)
        host_raise_fault(e, at);
    char limit[80] = "";
    const struct program *p = e->host->ctx;
    if (host_pool(e)->budget->is_full && p->context->whole_limit)
        snprintf(limit, sizeof limit, ": the program's memory limit is %.1f MiB",
                 (double)p->context->whole_limit / (1 << 20));
    eval_raise(e, at, "RuntimeError", ERR_torch_memory, limit);
}

struct tensor torch_make(struct eval *e, enum torch_dtype dtype, int rank, const int64_t *shape,
                         struct loc at)
{
    struct tensor t = {.rank = rank};
    for (int d = 0; d < rank; d++)
        t.shape[d] = shape[d];
    for (int d = 0; d < rank; d++)
        if (shape[d] < 0)
            eval_raise(e, at, "RuntimeError", ERR_torch_negative, torch_shape_text(e, &t));
    if (!tensor_init(host_pool(e), &t, dtype, rank, shape))
        torch_fail(e, at);
    return t;
}

char *torch_host(struct eval *e, const struct tensor *t, bool write, struct loc at)
{
    char *p = tensor_host(host_pool(e), t, write);
    if (t->storage->is_released)
        eval_raise(e, at, "RuntimeError", ERR_torch_released);
    if (!p)
        torch_fail(e, at);
    return p;
}

struct obj *torch_dtype_obj(struct eval *e, enum torch_dtype d)
{
    return obj_native(e, &torch_dtype_class, (void *)(uintptr_t)&torch_dtypes[d]);
}

bool torch_as_dtype(const struct obj *x, enum torch_dtype *out)
{
    if (x->kind != OBJ_native || x->native.class != &torch_dtype_class)
        return false;
    *out = (enum torch_dtype)((const struct torch_dtype_info *)x->native.data - torch_dtypes);
    return true;
}

bool torch_number(const struct obj *x, struct number *out)
{
    if (x->kind == OBJ_float)
        *out = (struct number){.is_float = true, .f = x->f};
    else if (x->kind == OBJ_int)
        *out = (struct number){.i = (int64_t)x->i, .f = (double)x->i};
    else if (x->kind == OBJ_bool)
        *out = (struct number){.i = x->b};
    else
        return false;
    return true;
}

struct obj *torch_number_obj(struct eval *e, struct number x, enum torch_dtype d)
{
    if (x.is_float)
        return obj_float(e, x.f);
    return d == TORCH_bool_ ? obj_bool(x.i != 0) : obj_int(e, x.i);
}

/* Returns the tensor x. If x is a number, returns a 0-d tensor of type float64, int64 or bool with its value. */
struct tensor torch_operand(struct eval *e, struct obj *x, struct loc at)
{
    struct tensor *t = torch_tensor(x);
    struct number n;
    if (t)
        return *t;
    if (!torch_number(x, &n))
        eval_raise(e, at, "TypeError", ERR_torch_operand, obj_type_name(x));
    struct tensor scalar = torch_make(e,
                                      n.is_float            ? TORCH_float64
                                      : x->kind == OBJ_bool ? TORCH_bool_
                                                            : TORCH_int64,
                                      0, NULL, at);
    tensor_set(torch_host(e, &scalar, true, at), &scalar, 0, n);
    return scalar;
}

struct tensor torch_self(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor *t = torch_tensor(args[0]);
    if (!t)
        eval_raise(e, call->loc, "TypeError", ERR_torch_operand, obj_type_name(args[0]));
    return *t;
}

int64_t torch_int_arg(struct eval *e, struct obj *x, const char *what, struct loc at)
{
    int64_t i;
    if (!obj_as_int(x, &i))
        eval_raise(e, at, "TypeError", ERR_torch_int, what, obj_type_name(x));
    return i;
}

/* Reads sizes from `(2, 3)`, `[2, 3]` or `2, 3`, and returns the rank. */
int torch_shape_arg(struct eval *e, struct obj *x, int64_t *shape, struct loc at)
{
    if (x->kind == OBJ_int) {
        shape[0] = torch_int_arg(e, x, "size", at);
        return 1;
    }
    if ((x->kind == OBJ_tuple || x->kind == OBJ_list) && x->seq.n == 1 && x->seq.at[0]->kind != OBJ_int)
        return torch_shape_arg(e, x->seq.at[0], shape, at);
    if ((x->kind != OBJ_tuple && x->kind != OBJ_list) || x->seq.n > TENSOR_RANK_MAX)
        eval_raise(e, at, "TypeError", ERR_torch_int, "size", obj_type_name(x));
    for (int d = 0; d < x->seq.n; d++)
        shape[d] = torch_int_arg(e, x->seq.at[d], "size", at);
    return x->seq.n;
}

enum torch_dtype torch_dtype_arg(struct eval *e, struct obj *x, enum torch_dtype dflt, struct loc at)
{
    enum torch_dtype d = dflt;
    if (x == obj_none)
        return dflt;
    if (x->kind == OBJ_builtin || x->kind == OBJ_class) {
        const char *name = x->kind == OBJ_builtin ? x->builtin->name : x->class.name;
        return strcmp(name, "float") == 0  ? TORCH_float32
               : strcmp(name, "bool") == 0 ? TORCH_bool_
                                           : TORCH_int64;
    }
    if (!torch_as_dtype(x, &d))
        eval_raise(e, at, "TypeError", ERR_torch_dtype, obj_type_name(x));
    return d;
}

bool torch_is_cpu(struct eval *e, struct obj *device)
{
    struct text t;
    text_init(&t, e->arena);
    obj_print(e, device, &t, false);
    return strncmp(t.s, "cpu", 3) == 0;
}

static struct obj *placed(struct eval *e, struct tensor *t, struct obj *device)
{
    t->on_gpu = device != obj_none && !torch_is_cpu(e, device);
    return torch_wrap(e, t);
}

/* -- creating tensors -- */

/* Returns an element of a new tensor: the number x, or a random number from the pool's generator. */
typedef struct number fill_function(struct tensor_pool *p, const struct number *x);

static struct number fill_value(struct tensor_pool *p, const struct number *x)
{
    (void)p;
    return x[0];
}

static struct number fill_uniform(struct tensor_pool *p, const struct number *x)
{
    (void)x;
    return (struct number){.is_float = true, .f = pool_uniform(p)};
}

static struct number fill_normal(struct tensor_pool *p, const struct number *x)
{
    return (struct number){.is_float = true,
                           .f = (x[0].is_float ? x[0].f : (double)x[0].i) +
                                (x[1].is_float ? x[1].f : (double)x[1].i) * pool_normal(p)};
}

static struct number fill_integer(struct tensor_pool *p, const struct number *x)
{
    uint64_t span = (uint64_t)(x[1].i - x[0].i);
    return (struct number){.i = x[0].i + (int64_t)(span ? pool_random(p) % span : 0)};
}

static void fill_tensor(struct eval *e, const struct tensor *t, fill_function *f, const struct number *x,
                        struct loc at)
{
    char *host = torch_host(e, t, true, at);
    int64_t n = tensor_elems(t);
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, at);
        tensor_set(host, t, i, f(host_pool(e), x));
    }
}

/* -- random number generators; each has its own state -- */

static void set_seed(uint64_t state[2], uint64_t x)
{
    for (int i = 0; i < 2; i++) { /* splitmix64 expands the seed */
        uint64_t z = (x += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        state[i] = z ^ (z >> 31);
    }
}

static struct obj *generator_seed(struct eval *e, struct obj **args, const struct args *call)
{
    set_seed(args[0]->native.data, (uint64_t)torch_int_arg(e, args[1], "seed", call->loc));
    return args[0];
}

static const struct builtin generator_methods[] = {
    {"Generator.manual_seed", "self, seed", generator_seed, NULL}};

static struct obj *generator_get(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    return strcmp(name, "manual_seed") == 0 ? obj_method(e, self, obj_builtin(e, generator_methods)) : NULL;
}

static const struct native_class generator_class = {.name = "torch.Generator", .getattr = generator_get};

static struct obj *run_generator(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    uint64_t *state = NEW_ARRAY(e->arena, 2, uint64_t);
    set_seed(state, 67280421310721); /* torch's default seed */
    return obj_native(e, &generator_class, state);
}

/* Fills a tensor with elements that f returns. Random numbers come from `generator`; if `generator` is None, they come
 * from the program's default generator. */
static void fill_from(struct eval *e, const struct tensor *t, fill_function *f, const struct number *x,
                      struct obj *generator, struct loc at)
{
    struct tensor_pool *p = host_pool(e);
    uint64_t own[2] = {p->seed[0], p->seed[1]};
    bool given = generator->kind == OBJ_native && generator->native.class == &generator_class;
    if (given)
        memcpy(p->seed, generator->native.data, sizeof own);
    fill_tensor(e, t, f, x, at);
    if (given) {
        memcpy(generator->native.data, p->seed, sizeof own);
        memcpy(p->seed, own, sizeof own);
    }
}

static struct obj *learning(struct eval *e, struct obj *x, struct obj *requires_grad, struct loc at)
{
    if (obj_truth(e, requires_grad, at))
        torch_tensor_class.setattr(e, x, "requires_grad", obj_true, at);
    return x;
}

/* A constructor torch.empty, zeros, ones, rand or randn, with the arguments size..., dtype, device. */
struct constructor {
    fill_function *fill;
    struct number x[2];
};

static struct obj *construct(struct eval *e, struct obj **args, const struct args *call)
{
    const struct constructor *c = call->callee->data;
    int64_t shape[TENSOR_RANK_MAX];
    int rank = torch_shape_arg(e, args[5] == obj_none ? args[0] : args[5], shape, call->loc);
    struct tensor t =
        torch_make(e, torch_dtype_arg(e, args[1], TORCH_float32, call->loc), rank, shape, call->loc);
    t.storage->is_undefined = !c->fill;
    if (c->fill && (c->fill != fill_value || c->x[0].f != 0))
        fill_from(e, &t, c->fill, c->x, args[4], call->loc);
    return learning(e, placed(e, &t, args[2]), args[3], call->loc);
}

static struct obj *construct_like(struct eval *e, struct obj **args, const struct args *call)
{
    const struct constructor *c = call->callee->data;
    struct tensor like = torch_self(e, args, call);
    struct tensor t =
        torch_make(e, torch_dtype_arg(e, args[1], like.dtype, call->loc), like.rank, like.shape, call->loc);
    t.on_gpu = args[2] == obj_none ? like.on_gpu : !torch_is_cpu(e, args[2]);
    t.storage->is_undefined = !c->fill;
    if (c->fill && (c->fill != fill_value || c->x[0].f != 0))
        fill_tensor(e, &t, c->fill, c->x, call->loc);
    return learning(e, torch_wrap(e, &t), args[3], call->loc);
}

static struct number number_arg(struct eval *e, struct obj *x, struct loc at)
{
    struct number n;
    if (!torch_number(x, &n))
        eval_raise(e, at, "TypeError", ERR_torch_operand, obj_type_name(x));
    return n;
}

static struct obj *run_full(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t shape[TENSOR_RANK_MAX];
    int rank = torch_shape_arg(e, args[0], shape, call->loc);
    struct number x = number_arg(e, args[1], call->loc);
    enum torch_dtype dflt = x.is_float                  ? TORCH_float32
                            : args[1]->kind == OBJ_bool ? TORCH_bool_
                                                        : TORCH_int64;
    struct tensor t = torch_make(e, torch_dtype_arg(e, args[2], dflt, call->loc), rank, shape, call->loc);
    fill_tensor(e, &t, fill_value, &x, call->loc);
    return placed(e, &t, args[3]);
}

static struct obj *run_full_like(struct eval *e, struct obj **args, const struct args *call)
{
    struct tensor like = torch_self(e, args, call);
    struct number x = number_arg(e, args[1], call->loc);
    struct tensor t =
        torch_make(e, torch_dtype_arg(e, args[2], like.dtype, call->loc), like.rank, like.shape, call->loc);
    t.on_gpu = like.on_gpu;
    fill_tensor(e, &t, fill_value, &x, call->loc);
    return torch_wrap(e, &t);
}

static struct obj *run_normal(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t shape[TENSOR_RANK_MAX];
    struct number x[2];
    if (!torch_number(args[0], &x[0]) || !torch_number(args[1], &x[1]))
        eval_raise(e, call->loc, "TypeError", ERR_torch_operand, "mean and std");
    int rank = torch_shape_arg(e, args[2], shape, call->loc);
    struct tensor t =
        torch_make(e, torch_dtype_arg(e, args[3], TORCH_float32, call->loc), rank, shape, call->loc);
    fill_from(e, &t, fill_normal, x, args[5], call->loc);
    return placed(e, &t, args[4]);
}

static struct obj *run_randint(struct eval *e, struct obj **args, const struct args *call)
{
    bool from_zero = args[2] == obj_none || args[1]->kind != OBJ_int;
    struct number x[2] = {{.i = from_zero ? 0 : torch_int_arg(e, args[0], "low", call->loc)},
                          {.i = torch_int_arg(e, args[from_zero ? 0 : 1], "high", call->loc)}};
    int64_t shape[TENSOR_RANK_MAX];
    int rank = torch_shape_arg(e, args[from_zero && args[2] == obj_none ? 1 : 2], shape, call->loc);
    struct tensor t =
        torch_make(e, torch_dtype_arg(e, args[3], TORCH_int64, call->loc), rank, shape, call->loc);
    fill_from(e, &t, fill_integer, x, args[5], call->loc);
    return placed(e, &t, args[4]);
}

static struct obj *run_arange(struct eval *e, struct obj **args, const struct args *call)
{
    struct number start = {.i = 0}, end, step = {.i = 1, .f = 1};
    bool two = args[1] != obj_none;
    if (!torch_number(args[two ? 1 : 0], &end) || (two && !torch_number(args[0], &start)) ||
        (args[2] != obj_none && !torch_number(args[2], &step)))
        eval_raise(e, call->loc, "TypeError", ERR_torch_operand, "arange bounds");
    bool is_float = start.is_float || end.is_float || step.is_float;
    double lo = start.is_float ? start.f : (double)start.i, hi = end.is_float ? end.f : (double)end.i;
    double by = step.is_float ? step.f : (double)step.i;
    double count = by != 0 && (hi - lo) / by > 0 ? ceil((hi - lo) / by) : 0;
    int64_t n = count < (double)(INT64_C(1) << 62) ? (int64_t)count : INT64_C(1) << 62;
    struct tensor t = torch_make(
        e, torch_dtype_arg(e, args[3], is_float ? TORCH_float32 : TORCH_int64, call->loc), 1, &n, call->loc);
    char *host = torch_host(e, &t, true, call->loc);
    for (int64_t i = 0; i < n; i++) {
        torch_tick(e, i, call->loc);
        tensor_set(host, &t, i,
                   is_float ? (struct number){.is_float = true, .f = lo + (double)i * by}
                            : (struct number){.i = start.i + i * step.i});
    }
    return placed(e, &t, args[4]);
}

/* Returns the rank of the tensor that the nested lists x describe, and sets its shape. Sets *is_float if an
 * element is a float, and clears *is_bool if an element is not a bool. `depth` is the nesting depth of x. */
static int list_shape(struct eval *e, struct obj *x, int64_t *shape, bool *is_float, bool *is_bool, int depth,
                      struct loc at)
{
    if (x->kind != OBJ_list && x->kind != OBJ_tuple) {
        *is_float |= x->kind == OBJ_float;
        *is_bool &= x->kind == OBJ_bool;
        return depth;
    }
    if (depth == TENSOR_RANK_MAX || (shape[depth] >= 0 && shape[depth] != x->seq.n))
        eval_raise(e, at, "ValueError", ERR_torch_ragged);
    shape[depth] = x->seq.n;
    int rank = depth + 1;
    for (int i = 0; i < x->seq.n; i++)
        rank = list_shape(e, x->seq.at[i], shape, is_float, is_bool, depth + 1, at);
    return rank;
}

static void list_fill(struct eval *e, struct obj *x, char *host, const struct tensor *t, int64_t *next,
                      struct loc at)
{
    struct number n;
    if (x->kind == OBJ_list || x->kind == OBJ_tuple) {
        for (int i = 0; i < x->seq.n; i++)
            list_fill(e, x->seq.at[i], host, t, next, at);
        return;
    }
    if (!torch_number(x, &n))
        eval_raise(e, at, "TypeError", ERR_torch_operand, obj_type_name(x));
    tensor_set(host, t, (*next)++, n);
}

static struct obj *run_tensor(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t shape[TENSOR_RANK_MAX], next = 0;
    memset(shape, -1, sizeof shape);
    bool is_float = false, is_bool = true;
    int rank = list_shape(e, args[0], shape, &is_float, &is_bool, 0, call->loc);
    bool is_empty = rank > 0 && shape[rank - 1] == 0;
    enum torch_dtype dflt = is_float || is_empty ? TORCH_float32 : is_bool ? TORCH_bool_ : TORCH_int64;
    struct tensor t = torch_make(e, torch_dtype_arg(e, args[1], dflt, call->loc), rank, shape, call->loc);
    list_fill(e, args[0], torch_host(e, &t, true, call->loc), &t, &next, call->loc);
    return learning(e, placed(e, &t, args[2]), args[3], call->loc);
}

/* -- other functions -- */

static struct obj *run_size(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *list = iter_collect(e, args[0], call->loc), *size = obj_tuple(e, list->seq.n, list->seq.at);
    size->is_size = true;
    return size;
}

static struct obj *run_manual_seed(struct eval *e, struct obj **args, const struct args *call)
{
    set_seed(host_pool(e)->seed, (uint64_t)torch_int_arg(e, args[0], "seed", call->loc));
    return obj_none;
}

static struct obj *run_nothing(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e;
    (void)args;
    (void)call;
    return obj_none;
}

static struct obj *run_synchronize(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    host_synchronize(e, call->loc);
    return obj_none;
}

static struct obj *run_is_available(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e;
    (void)args;
    (void)call;
    return obj_true; /* cuda.is_available() is true, because device='cuda' works on every device of neso */
}

/* -- torch.device -- */

static struct obj *device_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    const char *text = self->native.data, *colon = strchr(text, ':');
    (void)at;
    if (strcmp(name, "type") == 0)
        return obj_str(e, text, strcspn(text, ":"));
    if (strcmp(name, "index") == 0)
        return colon ? obj_int(e, colon[1] - '0') : obj_none;
    return NULL;
}

static struct obj *device_compare(struct eval *e, enum oper op, struct obj *self, struct obj *other,
                                  bool reflected, struct loc at)
{
    (void)e, (void)reflected, (void)at;
    bool is_device = other->kind == OBJ_native && other->native.class == self->native.class;
    const char *text = is_device ? other->native.data : other->kind == OBJ_str ? other->str.s : "";
    bool same = strcmp(self->native.data, text) == 0;
    return op == OPER_eq ? obj_bool(same) : op == OPER_ne ? obj_bool(!same) : NULL;
}

static void device_str(struct eval *e, struct obj *self, struct text *out, bool repr)
{
    const char *text = self->native.data, *colon = strchr(text, ':');
    (void)e;
    if (!repr)
        text_str(out, text);
    else if (colon)
        text_printf(out, "device(type='%.*s', index=%s)", (int)(colon - text), text, colon + 1);
    else
        text_printf(out, "device(type='%s')", text);
}

static const struct native_class torch_device_class = {
    .name = "torch.device", .getattr = device_getattr, .compare = device_compare, .str = device_str};

static struct obj *device_obj(struct eval *e, const char *name)
{
    return obj_native(e, &torch_device_class, arena_strndup(e->arena, name, strlen(name)));
}

static struct obj *run_device(struct eval *e, struct obj **args, const struct args *call)
{
    struct text name;
    text_init(&name, e->arena);
    obj_print(e, args[0], &name, false);
    if (args[1] != obj_none)
        text_printf(&name, ":%d", (int)torch_int_arg(e, args[1], "index", call->loc));
    return device_obj(e, name.s);
}

/* -- tables -- */

static const struct constructor zeros = {fill_value, {{.is_float = true, .f = 0}}}, empty = {NULL, {{0}}},
                                ones = {fill_value, {{.is_float = true, .f = 1}}},
                                uniform = {fill_uniform, {{0}}},
                                normal = {fill_normal,
                                          {{.is_float = true, .f = 0}, {.is_float = true, .f = 1}}};

#define MAKING                                                                                               \
    "*size, dtype=None, device=None, requires_grad=False, generator=None, size=None, pin_memory=False"
#define LIKE "input, dtype=None, device=None, requires_grad=False"
static const struct builtin functions[] = {
    {"torch.empty", MAKING, construct, &empty},
    {"torch.zeros", MAKING, construct, &zeros},
    {"torch.ones", MAKING, construct, &ones},
    {"torch.rand", MAKING, construct, &uniform},
    {"torch.randn", MAKING, construct, &normal},
    {"torch.empty_like", LIKE, construct_like, &empty},
    {"torch.zeros_like", LIKE, construct_like, &zeros},
    {"torch.ones_like", LIKE, construct_like, &ones},
    {"torch.rand_like", LIKE, construct_like, &uniform},
    {"torch.randn_like", LIKE, construct_like, &normal},
    {"torch.full", "size, fill_value, dtype=None, device=None", run_full, NULL},
    {"torch.full_like", "input, fill_value, dtype=None, device=None", run_full_like, NULL},
    {"torch.normal", "mean, std, size, dtype=None, device=None, generator=None", run_normal, NULL},
    {"torch.randint", "low, high=None, size=None, dtype=None, device=None, generator=None", run_randint,
     NULL},
    {"torch.arange", "start, end=None, step=None, dtype=None, device=None", run_arange, NULL},
    {"torch.tensor", "data, dtype=None, device=None, requires_grad=False", run_tensor, NULL},
    {"torch.manual_seed", "seed", run_manual_seed, NULL},
    {"torch.Size", "sizes=()", run_size, NULL},
    {"torch.Generator", "device=None", run_generator, NULL},
    {"torch.device", "type, index=None", run_device, NULL},
    {"torch.cuda.synchronize", "device=None", run_synchronize, NULL},
    {"torch.cuda.empty_cache", "", run_nothing, NULL},
    {"torch.cuda.manual_seed", "seed", run_manual_seed, NULL},
    {"torch.cuda.manual_seed_all", "seed", run_manual_seed, NULL},
    {"torch.cuda.is_available", "", run_is_available, NULL},
    {0},
};
#undef MAKING
#undef LIKE

static const struct builtin *find_builtin(const struct builtin *table, const char *prefix, const char *name)
{
    size_t length = strlen(prefix);
    for (; table->name; table++)
        if (strncmp(table->name, prefix, length) == 0 && table->name[length] == '.' &&
            strcmp(table->name + length + 1, name) == 0)
            return table;
    return NULL;
}

/* -- the classes -- */

/* Returns the value of an attribute that programs may set on tensors, such as .grad: the value that this
 * program has set, or else the default. Returns NULL if there is neither. */
static struct obj *noted_attribute(struct eval *e, const struct tensor *t, const char *name)
{
    static const struct {
        const char *name;
        struct obj *const *value;
    } dflt[] = {
        {"grad", &obj_none}, {"requires_grad", &obj_false}, {"_node", &obj_none}, {"grad_fn", &obj_none}};
    struct obj *found =
        t->attributes ? dict_get(e, ((struct obj *)t->attributes)->dict, obj_cstr(e, name)) : NULL;
    for (size_t i = 0; !found && i < sizeof dflt / sizeof *dflt; i++)
        if (strcmp(dflt[i].name, name) == 0)
            found = *dflt[i].value;
    return found;
}

/* Returns the scope of the names that modules.py adds to the module torch and, as methods, to tensors. */
struct scope *torch_more(struct eval *e)
{
    return find_module(e, "torch.more", (struct loc){0})->module.scope;
}

static struct obj *find_method_of(struct eval *e, struct obj *self, const char *name)
{
    const struct builtin *b = find_builtin(torch_view_methods, "Tensor", name);
    if (!b)
        b = find_builtin(torch_math_methods, "Tensor", name);
    if (!b)
        b = find_builtin(torch_matmul_functions, "Tensor", name);
    if (!b)
        b = torch_operation(e, "Tensor", name);
    if (b)
        return obj_method(e, self, obj_builtin(e, b));
    struct obj *more = *name == '_' ? NULL : scope_get(torch_more(e), intern_str(e->strings, name));
    return more && more->kind == OBJ_function ? obj_method(e, self, more) : NULL;
}

/* Implements in-place methods: x.add_(y) computes x.add(y) and writes the result into x. */
static struct obj *run_inplace(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *method = find_method_of(e, args[0], call->callee->data);
    struct obj *found = call_spread(e, method, args[1], args[2], call->loc);
    torch_assign(e, torch_tensor(args[0]), found, call->loc);
    return args[0];
}

/* Returns an in-place method such as "add_" or "__iadd__" (which `x += y` calls); NULL if there is none. */
static struct obj *inplace_method(struct eval *e, struct obj *self, const char *name)
{
    static const char *const operators[][2] = {
        {"truediv", "div"},   {"floordiv", "floor_divide"}, {"mod", "remainder"}, {"and", "bitwise_and"},
        {"or", "bitwise_or"}, {"xor", "bitwise_xor"},       {"matmul", ""}};
    size_t n = strlen(name);
    const char *base = NULL;
    if (n > 5 && strncmp(name, "__i", 3) == 0 && strcmp(name + n - 2, "__") == 0) {
        base = intern(e->strings, name + 3, n - 5);
        for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
            base = strcmp(base, operators[i][0]) == 0 ? operators[i][1] : base;
    } else if (n > 1 && name[0] != '_' && name[n - 1] == '_' &&
               !find_builtin(torch_view_methods, "Tensor", name)) {
        base = intern(e->strings, name, n - 1);
    }
    if (!base || !find_method_of(e, self, base))
        return NULL;
    struct builtin *b = NEW(e->arena, struct builtin);
    *b = (struct builtin){name, "self, *args, **kwargs", run_inplace, base};
    return obj_method(e, self, obj_builtin(e, b));
}

static struct obj *class_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    const struct tensor *t = torch_tensor(self);
    (void)at;
    if (strcmp(name, "shape") == 0)
        return torch_size(e, t);
    if (strcmp(name, "dtype") == 0)
        return torch_dtype_obj(e, t->dtype);
    if (strcmp(name, "device") == 0)
        return device_obj(e, t->on_gpu ? "cuda:0" : "cpu");
    if (strcmp(name, "ndim") == 0)
        return obj_int(e, t->rank);
    if (strcmp(name, "is_cuda") == 0)
        return obj_bool(t->on_gpu);
    if (strcmp(name, "data") == 0)
        return self;
    if (strcmp(name, "T") == 0)
        return torch_run_t(e, &self, &(struct args){.loc = at});
    if (strcmp(name, "mT") == 0)
        return torch_transpose(e, t, t->rank - 2, t->rank - 1);
    struct obj *noted = noted_attribute(e, t, name);
    if (noted)
        return noted;
    struct obj *inplace = inplace_method(e, self, name);
    if (inplace)
        return inplace;
    return find_method_of(e, self, name);
}

/* If a timed call sets a tensor as an attribute, such as a gradient, keeps this tensor until another tensor replaces
 * it. All other tensors that the call creates are freed when the call ends. */
static void keep_in_benchmark(struct eval *e, const struct obj *old, const struct obj *value)
{
    const struct tensor *before = old ? torch_tensor(old) : NULL, *after = torch_tensor(value);
    if (!((struct program *)e->host->ctx)->is_timing)
        return;
    if (after)
        after->storage->is_kept = true;
    if (before && before->storage->is_kept && !before->storage->is_released &&
        (!after || after->storage != before->storage))
        storage_release(host_pool(e), before->storage);
}

static bool class_setattr(struct eval *e, struct obj *self, const char *name, struct obj *value,
                          struct loc at)
{
    struct tensor *t = torch_tensor(self);
    if (strcmp(name, "data") == 0) {
        torch_assign(e, t, value, at);
        return true;
    }
    if (!t->attributes)
        t->attributes = obj_dict(e);
    keep_in_benchmark(e, noted_attribute(e, t, name), value);
    dict_set(e, ((struct obj *)t->attributes)->dict, obj_cstr(e, name), value);
    return true;
}

static struct obj *class_operator(struct eval *e, enum oper op, struct obj *self, struct obj *other,
                                  bool reflected, struct loc at)
{
    static const char *const names[OPER_count] = {[OPER_add] = "add",
                                                  [OPER_sub] = "sub",
                                                  [OPER_mul] = "mul",
                                                  [OPER_div] = "div",
                                                  [OPER_floordiv] = "floor_divide",
                                                  [OPER_mod] = "remainder",
                                                  [OPER_pow] = "pow",
                                                  [OPER_bitand] = "bitwise_and",
                                                  [OPER_bitor] = "bitwise_or",
                                                  [OPER_xor] = "bitwise_xor",
                                                  [OPER_shl] = "bitwise_left_shift",
                                                  [OPER_shr] = "bitwise_right_shift",
                                                  [OPER_lt] = "lt",
                                                  [OPER_le] = "le",
                                                  [OPER_gt] = "gt",
                                                  [OPER_ge] = "ge",
                                                  [OPER_eq] = "eq",
                                                  [OPER_ne] = "ne"};
    struct number n;
    if (!torch_tensor(other) && !torch_number(other, &n))
        return NULL;
    struct obj *x = reflected ? other : self, *y = reflected ? self : other;
    if (op == OPER_matmul)
        return torch_matmul(e, x, y, at);
    return names[op] ? torch_apply(e, torch_elementwise(names[op]), x, y, at) : NULL;
}

static struct obj *class_unary(struct eval *e, enum oper op, struct obj *self, struct loc at)
{
    if (op == OPER_plus)
        return self;
    return torch_apply(e,
                       torch_elementwise(op == OPER_neg                             ? "neg"
                                         : torch_tensor(self)->dtype == TORCH_bool_ ? "logical_not"
                                                                                    : "bitwise_not"),
                       self, NULL, at);
}

/* Converts lists in an index to tensors: x[[2, 0], 1] is x[torch.tensor([2, 0]), 1]. */
static struct obj *listed(struct eval *e, struct obj *index, struct loc at)
{
    if (index->kind == OBJ_list)
        return run_tensor(e, (struct obj *[]){index, obj_none, obj_none, obj_false},
                          &(struct args){.loc = at});
    if (index->kind != OBJ_tuple)
        return index;
    struct obj *out = obj_tuple(e, index->seq.n, index->seq.at);
    for (int i = 0; i < index->seq.n; i++)
        out->seq.at[i] = listed(e, index->seq.at[i], at);
    return out;
}

static struct obj *class_getitem(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    index = listed(e, index, at);
    if (torch_picks(index))
        return torch_pick(e, self, index, at);
    struct tensor view = torch_index(e, self, index, at);
    return torch_wrap(e, &view);
}

static void class_setitem(struct eval *e, struct obj *self, struct obj *index, struct obj *value,
                          struct loc at)
{
    index = listed(e, index, at);
    if (torch_picks(index)) {
        torch_put(e, self, index, value, at);
        return;
    }
    struct tensor t = torch_index(e, self, index, at);
    torch_assign(e, &t, value, at);
}

static const char *grad_note(struct eval *e, struct obj *self)
{
    struct tensor *t = torch_tensor(self);
    if (!t->attributes || noted_attribute(e, t, "requires_grad") != obj_true)
        return NULL;
    struct obj *node = noted_attribute(e, t, "_node");
    if (node->kind != OBJ_tuple)
        return "requires_grad=True";
    struct text name;
    text_init(&name, e->arena);
    text_printf(&name, "grad_fn=<%sBackward>", node->seq.at[0]->class.name);
    return name.s;
}

static void class_str(struct eval *e, struct obj *self, struct text *out, bool repr)
{
    (void)repr;
    if (!tensor_print(host_pool(e), torch_tensor(self), grad_note(e, self), out))
        torch_fail(e, (struct loc){0});
}

static int64_t class_len(struct eval *e, struct obj *self, struct loc at)
{
    (void)e;
    (void)at;
    return torch_tensor(self)->rank ? torch_tensor(self)->shape[0] : -1;
}

static struct obj *class_iter(struct eval *e, struct obj *self, int64_t i, struct loc at)
{
    return i < class_len(e, self, at) ? class_getitem(e, self, obj_int(e, i), at) : NULL;
}

static bool class_truth(struct eval *e, struct obj *self, struct loc at)
{
    return obj_truth(e, torch_run_item(e, &self, &(struct args){.loc = at}), at);
}

const struct native_class torch_tensor_class = {
    .name = "torch.Tensor",
    .getattr = class_getattr,
    .setattr = class_setattr,
    .getitem = class_getitem,
    .setitem = class_setitem,
    .binary = class_operator,
    .compare = class_operator,
    .unary = class_unary,
    .str = class_str,
    .iter = class_iter,
    .len = class_len,
    .truth = class_truth,
};

static struct obj *dtype_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    const struct torch_dtype_info *d = self->native.data;
    (void)at;
    if (strcmp(name, "itemsize") == 0)
        return obj_int(e, dtype_info[d->dtype].bytes);
    if (strcmp(name, "is_floating_point") == 0)
        return obj_bool(dtype_info[d->dtype].kind == DTYPE_float);
    return NULL;
}

static struct obj *dtype_compare(struct eval *e, enum oper op, struct obj *self, struct obj *other,
                                 bool reflected, struct loc at)
{
    (void)e;
    (void)reflected;
    (void)at;
    bool same = other->kind == OBJ_native && other->native.data == self->native.data;
    return op == OPER_eq ? obj_bool(same) : op == OPER_ne ? obj_bool(!same) : NULL;
}

static void dtype_str(struct eval *e, struct obj *self, struct text *out, bool repr)
{
    const struct torch_dtype_info *d = self->native.data;
    (void)e;
    (void)repr;
    text_printf(out, "torch.%.*s", (int)strcspn(d->name, "_") < 5 ? 4 : (int)strlen(d->name), d->name);
}

const struct native_class torch_dtype_class = {
    .name = "torch.dtype", .getattr = dtype_getattr, .compare = dtype_compare, .str = dtype_str};

/* -- the modules -- */

static const char *const module_names[] = {"torch",
                                           "torch.cuda",
                                           "torch.testing",
                                           "torch.nn",
                                           "torch.nn.functional",
                                           "torch.autograd",
                                           "torch.backends",
                                           "torch.backends.cuda",
                                           "torch.backends.cuda.matmul",
                                           "torch.backends.cudnn"};

static void add_dtypes(struct eval *e, struct scope *s)
{
    static const struct {
        const char *name;
        enum torch_dtype dtype;
    } aliases[] = {{"bool", TORCH_bool_},     {"half", TORCH_float16}, {"float", TORCH_float32},
                   {"double", TORCH_float64}, {"int", TORCH_int32},    {"long", TORCH_int64},
                   {"short", TORCH_int16}};
    for (int d = 1; d < TORCH_count; d++)
        scope_set(s, intern_str(e->strings, torch_dtypes[d].name), torch_dtype_obj(e, (enum torch_dtype)d));
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        scope_set(s, intern_str(e->strings, aliases[i].name), torch_dtype_obj(e, aliases[i].dtype));
}

static void add_functions(struct eval *e, struct scope *s, const struct builtin *table, const char *module)
{
    size_t length = strlen(module);
    for (; table->name; table++)
        if (strncmp(table->name, module, length) == 0 && table->name[length] == '.' &&
            !strchr(table->name + length + 1, '.'))
            scope_set(s, intern_str(e->strings, table->name + length + 1), obj_builtin(e, table));
}

static void add_more(struct scope *s, const struct scope *more)
{
    const struct map *names = &more->names;
    for (int i = 0; i < names->n; i++) {
        struct obj *x = names->entries[i].value;
        if (x && (x->kind == OBJ_function || x->kind == OBJ_class) &&
            *(const char *)names->entries[i].key != '_')
            scope_set(s, names->entries[i].key, x);
    }
}

struct obj *torch_module(struct eval *e, const char *dotted_name, struct loc at)
{
    size_t known = sizeof module_names / sizeof *module_names, i = 0;
    while (i < known && strcmp(module_names[i], dotted_name) != 0)
        i++;
    if (i == known)
        return NULL;
    struct obj *m = obj_module(e, module_names[i]);
    struct scope *s = m->module.scope;
    add_functions(e, s, functions, dotted_name);
    add_functions(e, s, torch_math_functions, dotted_name);
    add_functions(e, s, torch_matmul_functions, dotted_name);
    add_functions(e, s, torch_device_functions, dotted_name);
    add_functions(e, s, torch_pick_functions, dotted_name);
    size_t length = strlen(dotted_name);
    for (size_t k = 0; k < known; k++)
        if (strncmp(module_names[k], dotted_name, length) == 0 && module_names[k][length] == '.' &&
            !strchr(module_names[k] + length + 1, '.'))
            scope_set(s, intern_str(e->strings, module_names[k] + length + 1),
                      find_module(e, module_names[k], at));
    if (i == 0 || strcmp(dotted_name, "torch.nn.functional") == 0) {
        const char *name;
        for (int k = 0; (name = torch_operation_name(k)); k++)
            scope_set(s, intern_str(e->strings, name), obj_builtin(e, torch_operation(e, dotted_name, name)));
    }
    if (i == 0 || strcmp(dotted_name, "torch.nn.functional") == 0)
        add_more(s, torch_more(e));
    struct obj *written = eval_section(e, modules_py, dotted_name, dotted_name);
    if (written)
        add_more(s, written->module.scope);
    if (i == 0) {
        add_dtypes(e, s);
        scope_set(s, intern_str(e->strings, "inf"), obj_float(e, INFINITY));
        scope_set(s, intern_str(e->strings, "nan"), obj_float(e, NAN));
        scope_set(torch_more(e), intern_str(e->strings, "torch"), m);
        scope_set(written->module.scope, intern_str(e->strings, "torch"), m);
        scope_set(s, intern_str(e->strings, "__version__"), obj_cstr(e, "2.9.0"));
        scope_set(s, intern_str(e->strings, "pi"), obj_float(e, 3.14159265358979323846));
        struct obj any[] = {{.kind = OBJ_native, .native.class = &torch_tensor_class},
                            {.kind = OBJ_native, .native.class = &torch_dtype_class}};
        scope_set(s, intern_str(e->strings, "Tensor"), builtin_type_of(e, &any[0]));
        scope_set(s, intern_str(e->strings, "dtype"), builtin_type_of(e, &any[1]));
    }
    return m;
}
