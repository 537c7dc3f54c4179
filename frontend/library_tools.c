/* library_tools.c: functools and itertools. What combines items does so at once, where Python would wait to be asked; only
 * endless iterators (count, repeat) are made item by item. */
#include "frontend/python.h"

#include <string.h>

/* -- functools -- */

/* A function with arguments in advance. */
struct partial {
    struct obj *func, *args, *keywords;
};

static struct obj *call_partial(struct eval *e, struct obj *self, const struct args *args)
{
    struct partial *p = self->native.data;
    struct obj *all = obj_list(e, p->args->seq.n, p->args->seq.at), *keywords = obj_dict(e);
    dict_update(e, keywords, p->keywords, args->loc);
    for (int i = 0; i < args->n; i++)
        VEC_PUSH(e->arena, &all->seq, args->at[i]);
    for (int i = 0; i < args->nkw; i++)
        dict_set(e, keywords->dict, obj_cstr(e, args->kw[i]), args->kw_at[i]);
    return call_spread(e, p->func, all, keywords, args->loc);
}

static struct obj *partial_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    struct partial *p = self->native.data;
    if (strcmp(name, "func") == 0)
        return p->func;
    return strcmp(name, "args") == 0       ? obj_tuple(e, p->args->seq.n, p->args->seq.at)
           : strcmp(name, "keywords") == 0 ? p->keywords
                                           : NULL;
}

static const struct native_class native_partial = {
    .name = "functools.partial", .call = call_partial, .getattr = partial_getattr};

static struct obj *partial(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct partial *p = NEW(e->arena, struct partial);
    *p = (struct partial){args[0], args[1], args[2]};
    return obj_native(e, &native_partial, p);
}

static struct obj *reduce(struct eval *e, struct obj **args, const struct args *call)
{
    struct iter it = iter_of(e, args[1], call->loc);
    struct obj *total = args[2] ? args[2] : iter_next(e, &it);
    if (!total)
        eval_raise(e, call->loc, "TypeError", ERR_reduce_empty);
    for (struct obj *item; (item = iter_next(e, &it));)
        total = call_with(e, args[0], 2, (struct obj *[]){total, item}, call->loc);
    return total;
}

/* Decorators that change nothing here: bare, or called with options first. */
static struct obj *decorated(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    return args[0];
}

static const struct builtin identity_row = {"decorator", "function, /", decorated, NULL};

static struct obj *decorator(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    bool is_bare = args[0]->seq.n == 1 &&
                   (args[0]->seq.at[0]->kind == OBJ_function || args[0]->seq.at[0]->kind == OBJ_class);
    return is_bare && args[1]->dict->nlive == 0 ? args[0]->seq.at[0] : obj_builtin(e, &identity_row);
}

/* wraps(f)(g) is g. */
static struct obj *decorator_maker(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    return obj_builtin(e, &identity_row);
}

static struct obj *call_compare(struct eval *e, void *compare, struct obj *a, struct obj *b, struct loc at)
{
    return call_with(e, compare, 2, (struct obj *[]){a, b}, at);
}

/* cmp_to_key(f): a class whose instances compare by f. */
static struct obj *key_compare(struct eval *e, enum oper op, struct obj *self, struct obj *other,
                               bool reflected, struct loc at)
{
    struct obj **a = self->native.data, **b = other->native.data;
    struct obj *order =
        reflected ? call_compare(e, a[0], b[1], a[1], at) : call_compare(e, a[0], a[1], b[1], at);
    return eval_compare(e, op, order, obj_int(e, 0), at);
}

static const struct native_class native_key = {.name = "functools.KeyWrapper", .compare = key_compare};

static struct obj *make_key(struct eval *e, struct obj *self, const struct args *args)
{
    struct obj **pair = NEW_ARRAY(e->arena, 2, struct obj *);
    pair[0] = self->native.data;
    pair[1] = args->at[0];
    return obj_native(e, &native_key, pair);
}

static const struct native_class native_key_maker = {.name = "functools.cmp_to_key", .call = make_key};

static struct obj *cmp_to_key(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_native(e, &native_key_maker, args[0]);
}

/* clang-format off */
static const struct builtin functools_rows[] = {
    {"functools.partial",    "func, /, *args, **keywords", partial, NULL},
    {"functools.reduce",     "function, iterable, initial=, /", reduce, NULL},
    {"functools.lru_cache",  "*args, **options", decorator, NULL},
    {"functools.cache",      "*args, **options", decorator, NULL},
    {"functools.cached_property", "fget, /",     decorated, NULL},
    {"functools.total_ordering", "cls, /",       decorated, NULL},
    {"functools.wraps",      "wrapped, *rest, **options", decorator_maker, NULL},
    {"functools.cmp_to_key", "compare, /",       cmp_to_key, NULL},
};
/* clang-format on */

/* -- itertools -- */

static struct obj *chain_items(struct eval *e, struct obj *iterables, struct loc at)
{
    struct obj *out = obj_list(e, 0, NULL);
    struct iter outer = iter_of(e, iterables, at);
    for (struct obj *items; (items = iter_next(e, &outer));) {
        struct iter it = iter_of(e, items, at);
        for (struct obj *item; (item = iter_next(e, &it));)
            VEC_PUSH(e->arena, &out->seq, item);
    }
    return obj_iterator(e, out, at);
}

static struct obj *chain(struct eval *e, struct obj **args, const struct args *call)
{
    return chain_items(e, args[0], call->loc);
}

/* Every choice of one item from each pool, the last pool turning fastest. */
static void choose_each(struct eval *e, struct obj *pools, int depth, struct obj **chosen, struct obj *out,
                        struct loc at)
{
    eval_step(e, at);
    if (depth == pools->seq.n) {
        struct obj *row = obj_tuple(e, depth, chosen);
        VEC_PUSH(e->arena, &out->seq, row);
        return;
    }
    for (int i = 0; i < pools->seq.at[depth]->seq.n; i++) {
        chosen[depth] = pools->seq.at[depth]->seq.at[i];
        choose_each(e, pools, depth + 1, chosen, out, at);
    }
}

static struct obj *product(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t repeat = arg_index(e, args[1], call->loc);
    struct obj *pools = obj_list(e, 0, NULL), *out = obj_list(e, 0, NULL);
    for (int64_t r = 0; r < repeat; r++)
        for (int i = 0; i < args[0]->seq.n; i++) {
            struct obj *pool = iter_collect(e, args[0]->seq.at[i], call->loc);
            VEC_PUSH(e->arena, &pools->seq, pool);
        }
    choose_each(e, pools, 0, NEW_ARRAY(e->arena, pools->seq.n + 1, struct obj *), out, call->loc);
    return obj_iterator(e, out, call->loc);
}

/* Selections of r items: `ordered` ones are permutations, others combinations. */
struct selection {
    struct obj *pool, *out;
    int r;
    bool ordered;
    int *chosen;
};

static void select_next(struct eval *e, struct selection *s, int depth, struct loc at)
{
    eval_step(e, at);
    if (depth == s->r) {
        struct obj *row = obj_tuple(e, 0, NULL);
        for (int i = 0; i < depth; i++)
            VEC_PUSH(e->arena, &row->seq, s->pool->seq.at[s->chosen[i]]);
        VEC_PUSH(e->arena, &s->out->seq, row);
        return;
    }
    for (int i = depth && !s->ordered ? s->chosen[depth - 1] + 1 : 0; i < s->pool->seq.n; i++) {
        bool is_used = false;
        for (int k = 0; k < depth; k++)
            is_used |= s->chosen[k] == i;
        s->chosen[depth] = i;
        if (!is_used)
            select_next(e, s, depth + 1, at);
    }
}

/* permutations ("p"), combinations. */
static struct obj *selections(struct eval *e, struct obj **args, const struct args *call)
{
    struct selection s = {.pool = iter_collect(e, args[0], call->loc), .out = obj_list(e, 0, NULL)};
    s.ordered = *(const char *)call->callee->data == 'p';
    int64_t r = args[1] && args[1]->kind != OBJ_none ? arg_index(e, args[1], call->loc) : s.pool->seq.n;
    s.r = r > s.pool->seq.n ? s.pool->seq.n + 1 : (int)r;
    s.chosen = NEW_ARRAY(e->arena, s.r + 1, int);
    if (s.r <= s.pool->seq.n)
        select_next(e, &s, 0, call->loc);
    return obj_iterator(e, s.out, call->loc);
}

/* count: an endless iterator over two ints. */
static struct obj *next_count(struct eval *e, void *state, struct loc at)
{
    struct obj **pair = state, *now = pair[0];
    pair[0] = eval_binary(e, OPER_add, now, pair[1], at);
    return now;
}

static struct obj *count(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct obj **pair = NEW_ARRAY(e->arena, 2, struct obj *);
    pair[0] = args[0];
    pair[1] = args[1];
    return obj_iterator_from(e, next_count, pair);
}

static struct obj *repeat(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t n = args[1] ? arg_index(e, args[1], call->loc) : 0;
    struct obj **pair = NEW_ARRAY(e->arena, 2, struct obj *);
    pair[0] = args[0];
    if (!args[1])
        return obj_iterator_from(e, next_count, (pair[1] = obj_int(e, 0), pair));
    struct obj *out = obj_list(e, 0, NULL);
    for (int64_t i = 0; i < n; i++)
        VEC_PUSH(e->arena, &out->seq, args[0]);
    return obj_iterator(e, out, call->loc);
}

static struct obj *islice(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *slice = obj_new(e, OBJ_slice), *out = obj_list(e, 0, NULL);
    slice->slice.start = args[2] ? args[1] : obj_none;
    slice->slice.stop = args[2] ? args[2] : args[1];
    slice->slice.step = args[3] ? args[3] : obj_none;
    struct slice_range r = slice_resolve(e, slice, INT32_MAX, call->loc);
    struct iter it = iter_of(e, args[0], call->loc);
    for (int64_t i = 0; i < r.start + r.n * r.step; i++) {
        struct obj *item = iter_next(e, &it);
        if (!item)
            break;
        if (i >= r.start && (i - r.start) % r.step == 0)
            VEC_PUSH(e->arena, &out->seq, item);
    }
    return obj_iterator(e, out, call->loc);
}

static struct obj *accumulate(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = obj_list(e, 0, NULL), *total = NULL;
    struct iter it = iter_of(e, args[0], call->loc);
    for (struct obj *item; (item = iter_next(e, &it));) {
        if (!total)
            total = item;
        else if (args[1]->kind == OBJ_none)
            total = eval_binary(e, OPER_add, total, item, call->loc);
        else
            total = call_with(e, args[1], 2, (struct obj *[]){total, item}, call->loc);
        VEC_PUSH(e->arena, &out->seq, total);
    }
    return obj_iterator(e, out, call->loc);
}

static struct obj *zip_longest(struct eval *e, struct obj **args, const struct args *call)
{
    int n = args[0]->seq.n, live = n;
    struct iter *at = NEW_ARRAY(e->arena, n + 1, struct iter);
    bool *ended = NEW_ARRAY(e->arena, n + 1, bool);
    for (int i = 0; i < n; i++)
        at[i] = iter_of(e, args[0]->seq.at[i], call->loc);
    struct obj *out = obj_list(e, 0, NULL);
    for (;;) {
        struct obj *row = obj_tuple(e, 0, NULL);
        for (int i = 0; i < n; i++) {
            struct obj *item = ended[i] ? NULL : iter_next(e, &at[i]);
            live -= !item && !ended[i];
            ended[i] |= !item;
            VEC_PUSH(e->arena, &row->seq, item ? item : args[1]);
        }
        if (live == 0)
            return obj_iterator(e, out, call->loc);
        VEC_PUSH(e->arena, &out->seq, row);
    }
}

/* clang-format off */
static const struct builtin itertools_rows[] = {
    {"itertools.chain",        "*iterables",             chain,      NULL},
    {"itertools.product",      "*iterables, repeat=1",   product,    NULL},
    {"itertools.permutations", "iterable, r=None",       selections, "p"},
    {"itertools.combinations", "iterable, r",            selections, "c"},
    {"itertools.count",        "start=0, step=1",        count,      NULL},
    {"itertools.repeat",       "object, times=",         repeat,     NULL},
    {"itertools.islice",       "iterable, start, stop=, step=, /", islice, NULL},
    {"itertools.accumulate",   "iterable, func=None",    accumulate, NULL},
    {"itertools.zip_longest",  "*iterables, fillvalue=None", zip_longest, NULL},
};
/* clang-format on */

const struct builtin_table functools_table = {functools_rows, sizeof functools_rows / sizeof *functools_rows};
const struct builtin_table itertools_table = {itertools_rows, sizeof itertools_rows / sizeof *itertools_rows};
