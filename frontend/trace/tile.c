/* SPDX-License-Identifier: MIT */
/* tile.c: represents values of a running kernel as host objects. The objects print like numpy arrays, and support
 * indexing, elementwise operators and comparisons. The elements follow Python's rules for numbers.
 *
 *     offs       [0 1 2 3]          offs * 2 > 3   [False False  True  True]          offs[1]   1 */
#include "frontend/trace/tile.h"
#include "frontend/python/python.h"

#include <string.h>

/* -- creation and queries -- */

int64_t tile_elems(const struct tile *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

static int elem_bytes(const struct lang_type *t)
{
    return t->kind == LT_ptr ? 8 : dtype_info[t->dtype].bytes;
}

struct obj *obj_tile_new(struct eval *e, const struct lang_type *scalar, int rank, const int *shape,
                         const void *data)
{
    struct tile *t = NEW(e->arena, struct tile);
    *t = (struct tile){.scalar = scalar, .rank = rank};
    for (int d = 0; d < rank; d++)
        t->shape[d] = shape[d];
    size_t bytes = (size_t)tile_elems(t) * (size_t)elem_bytes(scalar);
    char *copy = arena_alloc(e->arena, bytes);
    memcpy(copy, data, bytes);
    t->data = copy;
    return obj_native(e, &tile_class, t);
}

const struct tile *obj_tile(const struct obj *x)
{
    return x->kind == OBJ_native && x->native.class == &tile_class ? x->native.data : NULL;
}

uint64_t tile_bits(const struct tile *t, int64_t i)
{
    uint64_t bits = 0;
    int bytes = elem_bytes(t->scalar);
    memcpy(&bits, t->data + i * bytes, (size_t)bytes);
    return bits;
}

struct obj *tile_item(struct eval *e, const struct tile *t, int64_t i)
{
    uint64_t bits = tile_bits(t, i);
    if (t->scalar->kind == LT_ptr)
        return obj_int(e, (wide)bits);
    enum dtype d = t->scalar->dtype;
    int unused = 64 - dtype_info[d].bits;
    if (d == DT_i1)
        return obj_bool(bits != 0);
    if (dtype_info[d].kind == DTYPE_float)
        return obj_float(e, bits_to_double(d, bits));
    return obj_int(e, t->scalar->is_unsigned ? (wide)bits : (wide)((int64_t)(bits << unused) >> unused));
}

/* -- operators, element by element -- */

static bool is_float(const struct lang_type *t)
{
    return dtype_info[t->dtype].kind == DTYPE_float;
}

/* Returns the element type of an operand. Returns NULL for a Python number; the common type of the operands
 * is then the other operand's element type. */
static const struct lang_type *type_of(const struct obj *x)
{
    const struct tile *t = obj_tile(x);
    return t ? t->scalar : NULL;
}

static const struct lang_type *wider(const struct lang_type *a, const struct lang_type *b)
{
    if (!a || !b)
        return a ? a : b;
    if (is_float(a) != is_float(b))
        return is_float(a) ? a : b;
    return dtype_info[b->dtype].bits > dtype_info[a->dtype].bits ? b : a;
}

/* Returns the element type of an operator's result. t is the common type of the operands, and `sample` is one element
 * of the result. */
static const struct lang_type *result_type(struct eval *e, const struct lang_type *t,
                                           const struct obj *sample)
{
    if (sample->kind == OBJ_bool)
        return lang_number(e, DT_i1, true);
    if (sample->kind == OBJ_float)
        return is_float(t) ? t : lang_number(e, DT_f64, false);
    return t->dtype == DT_i1 || is_float(t) ? lang_number(e, DT_i64, false) : t;
}

static void put(const struct lang_type *type, char *data, int64_t i, const struct obj *x)
{
    uint64_t bits = is_float(type) ? double_to_bits(type->dtype, obj_double(x)) : (uint64_t)obj_wide(x);
    int bytes = elem_bytes(type);
    memcpy(data + i * bytes, &bits, (size_t)bytes);
}

/* Two operands and the shape to which they are broadcast. */
struct pair {
    struct obj *x[2];
    int rank, shape[RANK_MAX];
};

static int dim_of(const struct tile *t, int rank, int d)
{
    int own = d - (rank - t->rank);
    return own < 0 ? 1 : t->shape[own];
}

static bool find_shape(struct pair *p)
{
    const struct tile *t[2] = {obj_tile(p->x[0]), obj_tile(p->x[1])};
    for (int k = 0; k < 2; k++)
        p->rank = t[k] && t[k]->rank > p->rank ? t[k]->rank : p->rank;
    for (int d = 0; d < p->rank; d++) {
        p->shape[d] = 1;
        for (int k = 0; k < 2; k++) {
            int n = t[k] ? dim_of(t[k], p->rank, d) : 1;
            if (n != 1 && p->shape[d] != 1 && n != p->shape[d])
                return false;
            p->shape[d] = n != 1 ? n : p->shape[d];
        }
    }
    return true;
}

/* Returns the element of operand k from which element i of the result is computed. */
static struct obj *element(struct eval *e, const struct pair *p, int k, int64_t i)
{
    const struct tile *t = obj_tile(p->x[k]);
    if (!t)
        return p->x[k];
    int64_t at = 0, step = 1;
    for (int d = p->rank - 1; d >= 0; d--) {
        int n = dim_of(t, p->rank, d);
        at += n == 1 ? 0 : i % p->shape[d] * step;
        step *= n;
        i /= p->shape[d];
    }
    return tile_item(e, t, at);
}

typedef struct obj *operate(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);

/* Applies f to each pair of elements of p, and returns a tile of the results. p->x[1] is NULL for a unary operator. */
static struct obj *map(struct eval *e, enum oper op, struct pair *p, operate *f, struct loc at)
{
    struct tile out = {.rank = p->rank};
    memcpy(out.shape, p->shape, sizeof p->shape);
    int64_t n = tile_elems(&out);
    char *data = arena_alloc(e->arena, (size_t)n * 8);
    for (int64_t i = 0; i < n; i++) {
        struct obj *x = f(e, op, element(e, p, 0, i), p->x[1] ? element(e, p, 1, i) : NULL, at);
        if (i == 0)
            out.scalar = result_type(e, wider(type_of(p->x[0]), p->x[1] ? type_of(p->x[1]) : NULL), x);
        put(out.scalar, data, i, x);
    }
    return obj_tile_new(e, out.scalar, out.rank, out.shape, data);
}

static struct obj *pairwise(struct eval *e, enum oper op, struct obj *self, struct obj *other, bool reflected,
                            operate *f, struct loc at)
{
    struct pair p = {.x = {reflected ? other : self, reflected ? self : other}};
    bool fits = obj_tile(other) || obj_is_number(other);
    if (!fits || !find_shape(&p) || obj_tile(self)->scalar->kind == LT_ptr)
        return NULL;
    return map(e, op, &p, f, at);
}

static struct obj *binary(struct eval *e, enum oper op, struct obj *self, struct obj *other, bool reflected,
                          struct loc at)
{
    return pairwise(e, op, self, other, reflected, eval_binary, at);
}

static struct obj *compare(struct eval *e, enum oper op, struct obj *self, struct obj *other, bool reflected,
                           struct loc at)
{
    return pairwise(e, op, self, other, reflected, eval_compare, at);
}

static struct obj *apply_unary(struct eval *e, enum oper op, struct obj *a, struct obj *unused, struct loc at)
{
    (void)unused;
    bool flips = op == OPER_invert && a->kind == OBJ_bool;
    return flips ? obj_bool(!a->b) : eval_unary(e, op, a, at);
}

static struct obj *unary(struct eval *e, enum oper op, struct obj *self, struct loc at)
{
    const struct tile *t = obj_tile(self);
    struct pair p = {.x = {self}, .rank = t->rank};
    memcpy(p.shape, t->shape, sizeof p.shape);
    return t->scalar->kind == LT_ptr ? NULL : map(e, op, &p, apply_unary, at);
}

/* -- indexing -- */

/* The items of one dimension that an index selects. */
struct taken {
    int64_t start, step, n;
    bool keeps; /* the result has the dimension: the index was a slice */
};

static struct taken take(struct eval *e, struct obj *index, int n, struct loc at)
{
    int64_t i = 0;
    const struct tile *t = obj_tile(index);
    if (index->kind == OBJ_slice) {
        struct slice_range r = slice_resolve(e, index, n, at);
        return (struct taken){r.start, r.step, r.n, true};
    }
    if (t && tile_elems(t) == 1)
        index = tile_item(e, t, 0);
    if (!obj_as_int(index, &i))
        eval_raise(e, at, "TypeError", ERR_index_type, "tensor", obj_type_name(index));
    if (i < -n || i >= n)
        eval_raise(e, at, "IndexError", ERR_index_range, "tensor");
    return (struct taken){i < 0 ? i + n : i, 0, 1, false};
}

/* Evaluates tile[index]. If the tile is a scalar, indexes it like an array of one element, as Triton's interpreter
 * does. */
static struct obj *getitem(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    const struct tile *t = obj_tile(self);
    struct obj *one[] = {index}, *const *items = index->kind == OBJ_tuple ? index->seq.at : one;
    int n = index->kind == OBJ_tuple ? index->seq.n : 1, rank = t->rank ? t->rank : 1, kept = 0;
    struct taken taken[RANK_MAX];
    int shape[RANK_MAX] = {0};
    if (n > rank)
        eval_raise(e, at, "IndexError", ERR_index_range, "tensor");
    for (int d = 0; d < rank; d++) {
        int all = t->rank ? t->shape[d] : 1;
        taken[d] = d < n ? take(e, items[d], all, at) : (struct taken){0, 1, all, true};
        if (taken[d].keeps)
            shape[kept++] = (int)taken[d].n;
    }
    struct tile out = {.scalar = t->scalar, .rank = kept};
    memcpy(out.shape, shape, sizeof shape);
    int bytes = elem_bytes(t->scalar);
    char *data = arena_alloc(e->arena, (size_t)tile_elems(&out) * (size_t)bytes + 1);
    for (int64_t i = 0; i < tile_elems(&out); i++) {
        int64_t left = i, from = 0, step = 1;
        for (int d = rank - 1; d >= 0; d--) {
            from += (taken[d].start + left % taken[d].n * taken[d].step) * step;
            left /= taken[d].n;
            step *= t->rank ? t->shape[d] : 1;
        }
        memcpy(data + i * bytes, t->data + from * bytes, (size_t)bytes);
    }
    out.data = data;
    return kept ? obj_tile_new(e, out.scalar, kept, shape, data) : tile_item(e, &out, 0);
}

static int64_t length(struct eval *e, struct obj *self, struct loc at)
{
    const struct tile *t = obj_tile(self);
    (void)e;
    (void)at;
    return t->rank ? t->shape[0] : 1;
}

static struct obj *iterate(struct eval *e, struct obj *self, int64_t i, struct loc at)
{
    return i < length(e, self, at) ? getitem(e, self, obj_int(e, i), at) : NULL;
}

static bool truth(struct eval *e, struct obj *self, struct loc at)
{
    const struct tile *t = obj_tile(self);
    return tile_elems(t) != 1 || obj_truth(e, tile_item(e, t, 0), at);
}

/* -- attributes -- */

static struct obj *item(struct eval *e, struct obj **args, const struct args *call)
{
    const struct tile *t = obj_tile(args[0]);
    if (tile_elems(t) != 1)
        eval_raise(e, call->loc, "ValueError", ERR_tile_item, (int)tile_elems(t));
    return tile_item(e, t, 0);
}

/* Implements the methods min, max, sum, any and all. The builtin's `data` is "<", ">" or "+": the method returns the
 * least element, the greatest element or the sum. If "?" follows the character, the method returns instead whether
 * this element or sum is not 0. */
static struct obj *fold(struct eval *e, struct obj **args, const struct args *call)
{
    const struct tile *t = obj_tile(args[0]);
    const char *how = call->callee->data;
    struct obj *all = tile_item(e, t, 0);
    for (int64_t i = 1; i < tile_elems(t); i++) {
        struct obj *x = tile_item(e, t, i);
        if (*how == '+')
            all = eval_binary(e, OPER_add, all, x, call->loc);
        else if (is_less(e, *how == '<' ? x : all, *how == '<' ? all : x, call->loc))
            all = x;
    }
    bool is_truth = how[1] != '\0';
    return is_truth ? obj_bool(obj_truth(e, all, call->loc)) : all;
}

static const struct builtin methods[] = {
    {"tensor.item", "self", item, NULL}, {"tensor.min", "self", fold, "<"},
    {"tensor.max", "self", fold, ">"},   {"tensor.sum", "self", fold, "+"},
    {"tensor.all", "self", fold, "<?"},  {"tensor.any", "self", fold, ">?"},
};

static struct obj *getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    const struct tile *t = obj_tile(self);
    (void)at;
    if (strcmp(name, "shape") == 0) {
        struct obj *shape = obj_tuple(e, 0, NULL);
        for (int d = 0; d < t->rank; d++)
            VEC_PUSH(e->arena, &shape->seq, obj_int(e, t->shape[d]));
        return shape;
    }
    if (strcmp(name, "dtype") == 0)
        return obj_type(e, t->scalar);
    for (size_t i = 0; i < sizeof methods / sizeof *methods && t->scalar->kind == LT_number; i++)
        if (strcmp(builtin_short_name(&methods[i]), name) == 0)
            return obj_method(e, self, obj_builtin(e, &methods[i]));
    return NULL;
}

/* Prints a tile. If the elements are pointers, prints only the type, because addresses differ from run to run. */
static void show(struct eval *e, struct obj *self, struct text *out, bool repr)
{
    const struct tile *t = obj_tile(self);
    if (t->scalar->kind == LT_ptr)
        lang_print(lang_block(e, t->scalar, t->rank, t->shape), out);
    else
        numpy_print(e->arena, t, out, repr);
}

const struct native_class tile_class = {.name = "tensor",
                                        .getattr = getattr,
                                        .getitem = getitem,
                                        .binary = binary,
                                        .unary = unary,
                                        .compare = compare,
                                        .str = show,
                                        .iter = iterate,
                                        .len = length,
                                        .truth = truth};
