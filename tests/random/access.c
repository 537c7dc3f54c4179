/* SPDX-License-Identifier: MIT */
/* access.c: generates memory accesses: loads through pointers, block pointers and descriptors, masks, stores,
 * atomics. */
#include "tests/random/generate.h"

#include <stdio.h>

enum { LOG_COUNT = 10, LOG_COUNT_MOST = 15 };

/* -- buffers -- */

struct buffer *buffer_new(struct gen *g, enum role role, enum elem e, int log_count)
{
    struct program *p = g->p;
    if (p->nbuffers == BUFFERS)
        return NULL;
    struct buffer *b = NEW(g->arena, struct buffer);
    static const char *const names[] = {"in", "out", "at"};
    b->role = role;
    b->elem = e;
    b->log_count = log_count;
    snprintf(b->name, sizeof b->name, "%s%d", names[role], p->nbuffers);
    p->buffers[p->nbuffers++] = b;
    if (e == EL_f8e4)
        p->has_small4 = true;
    return b;
}

/* Chooses the formula that computes the contents of an input buffer. The computed numbers cover the buffer's range. */
static void fill_formula(struct gen *g, struct buffer *b)
{
    const struct elem_info *e = &elem_info[b->elem];
    b->a = 1 + below(g, 65520);
    b->b = below(g, 65520);
    b->c = 1 + 2 * below(g, 30000);
    if (e->class == BOOL) {
        b->modulus = 2;
        b->minus = 0;
        return;
    }
    if (e->class & INTS) {
        bool limited = b->range.most < e->bits - (e->class == SIGNED);
        int bits = limited ? b->range.most : e->bits < 56 ? e->bits : 56;
        if (!limited && chance(g, 60) && bits > 5)
            bits = 5;
        b->modulus = (int64_t)1 << bits;
        b->minus = !limited && e->class == SIGNED ? b->modulus / 2 : 0;
        if (bits > 20)
            b->c = b->c * 16777259 + 2;
        return;
    }
    int bits = b->range.most - b->range.least;
    bits = bits > e->precision ? e->precision : bits;
    b->scale = b->range.least == ANY_LEAST ? b->range.most - e->precision : b->range.least;
    b->modulus = ((int64_t)2 << bits) + 1;
    b->minus = (int64_t)1 << bits;
    if (bits > 20)
        b->c = b->c * 1048583 + 2;
}

struct buffer *input_for(struct gen *g, enum elem e, struct range r)
{
    for (int i = 0; i < g->p->nbuffers; i++) {
        struct buffer *b = g->p->buffers[i];
        if (b->role == ROLE_input && b->elem == e && range_within(e, b->range, r) && chance(g, 75))
            return b;
    }
    int inputs = 0;
    for (int i = 0; i < g->p->nbuffers; i++)
        inputs += g->p->buffers[i]->role == ROLE_input;
    if (inputs >= 8)
        return NULL;
    const struct elem_info *info = &elem_info[e];
    struct buffer *b = buffer_new(g, ROLE_input, e, LOG_COUNT);
    if (!b)
        return NULL;
    b->range = r;
    /* choose small numbers, so that more expressions can use the input */
    if ((info->class & (FLOAT | SMALL)) && r.least != ANY_LEAST) {
        int bits = info->precision < 3 ? info->precision : 3;
        if (r.most - r.least > bits && chance(g, 70)) {
            b->range.least = r.least < -2 && r.most > bits - 2 ? -2 : r.least;
            b->range.most = b->range.least + bits;
        }
        if (b->range.most - b->range.least > info->precision)
            b->range.most = b->range.least + info->precision;
        if (b->range.least < info->least)
            b->range.least = info->least;
    }
    fill_formula(g, b);
    /* misalign buffers of large products rarely, because tensor maps need aligned buffers */
    if (chance(g, g->is_large ? 4 : 12))
        b->skew = 1 + below(g, 3);
    return b;
}

struct node *buffer_node(struct gen *g, struct buffer *b)
{
    struct vtype t = vtype_of(b->elem, (struct shape){0});
    t.kind = KIND_pointer;
    t.range = b->range;
    struct node *n = node_new(g, NODE_buffer, t);
    n->buffer = b;
    return n;
}

void buffer_needs(struct gen *g, struct buffer *b, int64_t count)
{
    (void)g;
    while ((int64_t)1 << b->log_count < count)
        b->log_count++;
}

/* -- indices -- */

/* Returns one of x + y, x | y and x ^ y. For x and y of at least 0, none of these exceeds x + y. */
static struct node *add_index(struct gen *g, struct node *x, struct node *y)
{
    if (!x || !y)
        return x ? x : y;
    struct vtype t = vtype_of(EL_i32, x->type.shape);
    const struct shape *s = &y->type.shape;
    if (s->rank > t.shape.rank)
        t.shape = *s;
    else if (s->rank == t.shape.rank)
        for (int i = 0; i < s->rank; i++)
            t.shape.dim[i] |= s->dim[i];
    return node_binary(g, chance(g, 80) ? NODE_add : chance(g, 70) ? NODE_or : NODE_xor, t, x, y);
}

/* Applies an op to index x, as users do with row indices: a remainder, division, minimum, bitwise and, or shift. Both
 * x and the result are below 2^log. */
static struct node *index_turned(struct gen *g, struct node *x, int log)
{
    static const enum node_kind kinds[] = {NODE_rem, NODE_div, NODE_minimum, NODE_and, NODE_shr};
    enum node_kind kind = kinds[below(g, 5)];
    struct vtype t = vtype_ranged(EL_i32, x->type.shape, log, 0);
    int64_t number = chance(g, 70) ? 1 << below(g, 6) : 1 + below(g, 40);
    if (kind == NODE_and)
        number = chance(g, 50) ? number - 1 : -number;
    else if (kind == NODE_shr)
        number = below(g, 4);
    struct node *by = node_int(g, vtype_of(EL_i32, (struct shape){0}), number);
    if (number > 0 && chance(g, 25) && !g->in_function) {
        by = node_extent(g, 0, 0, (int)number);
        by->scalar = scalar_new(g, by->extent);
    }
    return node_binary(g, kind, t, x, by);
}

/* Returns an index for an axis of shape s; mostly a plain range. */
static struct node *index_along(struct gen *g, const struct shape *s, int axis)
{
    struct node *n = node_arange(g, s, axis);
    return chance(g, 88) ? n : index_turned(g, n, n->type.range.most);
}

static void shuffle(struct gen *g, int *order, int n)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int i = n - 1; i > 0 && chance(g, 30); i--) {
        int k = below(g, i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
}

/* Returns the start of a tile: an offset that depends on the program, a constant offset, or the sum of both; NULL
 * means 0. */
static struct node *index_start(struct gen *g, const struct shape *s, int64_t *bound)
{
    struct extent whole = {shape_symbols(s), 1, 0};
    int64_t span = extent_of(g->p, &whole);
    struct node *start = NULL;
    if (chance(g, 25) && shape_is_plain(s) && span <= 1 << 11) {
        struct node *pid = node_pid(g);
        if (chance(g, 15))
            pid = index_turned(g, pid, pid->type.range.most);
        struct vtype i32 = vtype_of(EL_i32, (struct shape){0});
        start = node_binary(g, NODE_mul, i32, pid, node_extent(g, whole.of, 1, 0));
        *bound += g->p->grid * span;
    }
    if (chance(g, 15)) {
        int offset = 1 + below(g, 40);
        *bound += offset;
        struct node *at = node_extent(g, 0, 0, offset);
        start = chance(g, 50) ? add_index(g, start, at) : add_index(g, at, start);
    }
    return start;
}

/* Returns the sum of strides times indices, for a random order of dimensions, sometimes with padding or an offset.
 * Sets *bound to a number that is larger than each element of the sum. */
static struct node *index_linear(struct gen *g, const struct shape *s, int64_t *bound)
{
    int order[RANK_LIMIT], pad = 0;
    struct node *sum = NULL;
    struct extent stride = {0, 1, 0};
    shuffle(g, order, s->rank);
    *bound = 1;
    for (int i = s->rank - 1; i >= 0; i--) {
        int axis = order[i];
        int64_t step = extent_of(g->p, &stride);
        struct shape one = {.rank = 1, .dim = {s->dim[axis]}};
        if (s->dim[axis] && !(i < s->rank - 1 && chance(g, 8))) {
            struct node *index = index_along(g, s, axis);
            *bound += (shape_size(g->p, &one) - 1) * step;
            if (stride.of || stride.plus) {
                struct node *by = node_extent(g, stride.of, 1, stride.plus);
                if (chance(g, 25) && !g->in_function)
                    by->scalar = scalar_new(g, stride);
                index = node_binary(g, NODE_mul, vtype_of(EL_i32, index->type.shape), index, by);
            }
            sum = add_index(g, sum, index);
        }
        if (i == s->rank - 1 && s->rank > 1 && chance(g, 12))
            pad = chance(g, 50) ? 8 : 1 + below(g, 4);
        stride.of |= s->dim[axis];
        stride.plus += pad;
        pad = 0;
    }
    if (*bound > 1 << 13 && stride.plus > 0)
        return NULL;
    struct node *start = index_start(g, s, bound);
    return chance(g, 50) ? add_index(g, start, sum) : add_index(g, sum, start);
}

static struct node *index_any(struct gen *g, const struct shape *s, struct buffer *b, int depth)
{
    static const enum elem kinds[] = {EL_i32, EL_i32, EL_i32, EL_i64, EL_u32};
    struct vtype t = vtype_of(kinds[below(g, 5)], *s);
    struct node *mask = node_int(g, t, ((int64_t)1 << b->log_count) - 1);
    return node_binary(g, NODE_and, vtype_ranged(t.elem, *s, b->log_count, 0), value(g, t, depth), mask);
}

static struct node *address(struct gen *g, struct buffer *b, struct node *index)
{
    struct node *base = buffer_node(g, b);
    if (!index)
        return base;
    struct vtype t = base->type;
    t.shape = index->type.shape;
    return node_binary(g, NODE_address, t, base, index);
}

/* -- masks -- */

/* Returns a mask that compares the indices along one or more axes with bounds, in one of the forms that users
 * write. */
static struct node *mask_bounds(struct gen *g, const struct shape *s)
{
    struct node *all = NULL;
    for (int i = 0; i < s->rank; i++) {
        if (!s->dim[i] || (all && chance(g, 50)))
            continue;
        struct node *index = index_along(g, s, i), *bound;
        int64_t n = size_of(g->p, s->dim[i]);
        int limit = below(g, (int)n + 2);
        bound = node_extent(g, 0, 0, limit);
        if (chance(g, 60))
            bound->scalar = scalar_new(g, bound->extent);
        struct vtype t = vtype_of(EL_i1, index->type.shape);
        struct node *on = node_binary(g, NODE_compare, t, index, bound);
        on->word = chance(g, 85) ? "<" : ">=";
        if (!all) {
            all = on;
            continue;
        }
        for (int k = 0; k < s->rank; k++)
            t.shape.dim[k] |= all->type.shape.dim[k];
        all = node_binary(g, NODE_and, t, all, on);
    }
    return all;
}

struct node *mask_for(struct gen *g, const struct shape *s, int depth)
{
    if (s->rank > 0 && chance(g, 60)) {
        struct node *n = mask_bounds(g, s);
        if (n)
            return n;
    }
    return value(g, vtype_of(EL_i1, *s), depth);
}

/* -- loads -- */

static void choose_cache(struct gen *g, struct node *n)
{
    static const char *const words[] = {", cache_modifier='.cg'", ", cache_modifier='.ca'",
                                        ", eviction_policy='evict_first'", ", eviction_policy='evict_last'"};
    if (chance(g, 10))
        n->word = words[below(g, 4)];
}

static struct node *make_load(struct gen *g, const struct vtype *t, int depth)
{
    struct buffer *b = input_for(g, t->elem, t->range);
    if (!b)
        return NULL;
    struct node *index = NULL, *n = node_new(g, NODE_load, *t);
    int64_t bound = 0;
    if (depth > 1 && chance(g, 20))
        index = index_any(g, &t->shape, b, depth - 1);
    else {
        index = index_linear(g, &t->shape, &bound);
        if (bound > (int64_t)1 << LOG_COUNT_MOST)
            return NULL;
        buffer_needs(g, b, bound);
    }
    n->nargs = 3;
    n->arg[0] = address(g, b, index);
    n->type.shape = n->arg[0]->type.shape;
    choose_cache(g, n);
    if (chance(g, depth > 0 ? 30 : 8)) {
        bool grows = n->type.shape.rank == t->shape.rank || n->type.shape.rank == 0;
        if (n->type.shape.rank > 0 && grows)
            /* the mask may have a larger shape than the address; the result has the mask's shape */
            n->type.shape = t->shape;
        n->arg[1] = mask_for(g, &n->type.shape, depth - 1);
        struct vtype other = n->type;
        n->arg[2] = chance(g, 70) ? node_zero(g, other) : leaf(g, other);
        if (n->arg[2]->kind == NODE_number)
            n->arg[2]->type.shape = (struct shape){0};
        if (!shape_equal(&n->arg[1]->type.shape, &n->type.shape) && n->type.shape.rank > 0) {
            struct vtype whole = vtype_of(EL_i1, n->type.shape);
            n->arg[1] = node_unary(g, NODE_broadcast_to, whole, n->arg[1]);
        }
    }
    if (shape_equal(&n->type.shape, &t->shape))
        return n;
    struct vtype whole = n->type;
    whole.shape = t->shape;
    return node_unary(g, NODE_broadcast_to, whole, n);
}

/* Generates a load through a block pointer or descriptor. The loaded block may be partly outside of the matrix. */
static struct node *make_block_load(struct gen *g, const struct vtype *t, int depth)
{
    (void)depth;
    const struct shape *s = &t->shape;
    struct buffer *b = input_for(g, t->elem, t->range);
    if (!b || s->rank > 3 || !shape_is_plain(s) || is_limited(t))
        return NULL;
    struct vtype box = vtype_of(t->elem, *s);
    box.kind = KIND_block;
    box.range = b->range;
    struct node *n = node_new(g, NODE_make_block_ptr, box);
    struct extent stride = {0, 1, 0};
    n->buffer = b;
    n->nargs = s->rank;
    shuffle(g, n->perm, s->rank);
    int64_t bound = 1;
    /* `order` lists the dimensions; the dimension with the smallest stride comes first */
    for (int i = 0; i < s->rank; i++) {
        int axis = s->rank - 1 - n->perm[i];
        n->perm[i] = axis;
        n->strides[axis] = stride;
        n->rows[axis] = (struct extent){s->dim[axis], 1, below(g, 7) - 2};
        if (extent_of(g->p, &n->rows[axis]) < 1)
            n->rows[axis].plus = 0;
        bound += extent_of(g->p, &n->rows[axis]) * extent_of(g->p, &stride);
        stride.of |= s->dim[axis];
        stride.plus = stride.plus + 8;
        struct vtype i32 = vtype_ranged(EL_i32, (struct shape){0}, 3, 0);
        n->arg[axis] = chance(g, 50) ? node_int(g, i32, below(g, 5) - 1) : node_pid(g);
    }
    if (bound > (int64_t)1 << LOG_COUNT_MOST)
        return NULL;
    buffer_needs(g, b, bound);
    struct node *load = node_unary(g, NODE_load_block, *t, n);
    choose_cache(g, load);
    return load;
}

/* Generates a load of data that the program has stored. The shape of the load may differ from the shape of the store,
 * so that threads load elements that other threads stored. */
static struct node *make_reload(struct gen *g, const struct vtype *t, int depth)
{
    (void)depth;
    for (int i = 0; i < g->nregions; i++) {
        struct region *r = g->regions[i];
        bool same = shape_equal(&r->shape, &t->shape);
        bool reshaped = shape_is_plain(&r->shape) && shape_is_plain(&t->shape) &&
                        shape_symbols(&r->shape) == shape_symbols(&t->shape);
        if (r->buffer->elem != t->elem || !(same || reshaped) ||
            !range_within(t->elem, range_full(t->elem), t->range))
            continue;
        struct node *n = node_new(g, NODE_reload, *t);
        n->region = r;
        return n;
    }
    return NULL;
}

const struct choice access_choices[] = {
    {INTS | FLOAT | BOOL | SMALL, 0, 24, make_load},
    {INTS | FLOAT, 1, 5, make_block_load},
    {INTS | FLOAT, 0, 12, make_reload},
    {0, 0, 0, NULL},
};

/* -- stores -- */

static struct buffer *output_for(struct gen *g, enum elem e)
{
    for (int i = 0; i < g->p->nbuffers; i++)
        if (g->p->buffers[i]->role == ROLE_output && g->p->buffers[i]->elem == e)
            return g->p->buffers[i];
    return buffer_new(g, ROLE_output, e, 0);
}

struct stmt *store_statement(struct gen *g, struct node *v, struct node *mask)
{
    struct buffer *b = output_for(g, v->type.elem);
    if (!b)
        return NULL;
    struct stmt *s = stmt_new(g, STMT_store);
    s->buffer = b;
    s->e[0] = v;
    s->e[1] = mask;
    s->e[2] = g->round;
    s->rounds = g->round ? 8 : 1;
    shuffle(g, s->perm, v->type.shape.rank);
    s->form = chance(g, 8) ? STORE_block : chance(g, 6) ? STORE_descriptor : STORE_pointers;
    if (is_int(b->elem) || is_float(b->elem))
        s->stages = chance(g, 40) ? 1 + below(g, 3) : 0;
    else
        s->form = STORE_pointers;
    return s;
}

struct region *region_new(struct gen *g, enum elem e, const struct shape *s)
{
    struct buffer *b = output_for(g, e);
    if (!b)
        return NULL;
    struct region *r = NEW(g->arena, struct region);
    r->buffer = b;
    r->shape = *s;
    return r;
}

struct stmt *region_statement(struct gen *g, struct node *v, bool again)
{
    struct region *r = NULL;
    for (int i = 0; i < g->nregions && again; i++)
        if (g->regions[i]->buffer->elem == v->type.elem && shape_equal(&g->regions[i]->shape, &v->type.shape))
            r = g->regions[i];
    if (!r && g->nregions < (int)(sizeof g->regions / sizeof *g->regions) &&
        (r = region_new(g, v->type.elem, &v->type.shape)) != NULL)
        g->regions[g->nregions++] = r;
    if (!r)
        return NULL;
    struct stmt *s = stmt_new(g, STMT_store);
    s->buffer = r->buffer;
    s->region = r;
    s->e[0] = v;
    s->e[1] = chance(g, 20) ? mask_for(g, &v->type.shape, 2) : NULL;
    s->rounds = 1;
    for (int i = 0; i < RANK_LIMIT; i++)
        s->perm[i] = i;
    return s;
}

/* -- atomics -- */

/* Generates an atomic on elements that no other op accesses. So the old values that the atomic returns are known, and
 * the test checks them. They are right only if each atomic is executed exactly once, at its place in the program. */
struct node *fetch_node(struct gen *g, struct vtype t, int depth)
{
    static const char *const ints[] = {"add", "max", "min", "and", "or", "xor", "xchg", "add"},
                             *const floats[] = {"add", "xchg"};
    struct region *r = region_new(g, t.elem, &t.shape);
    if (!r)
        return NULL;
    t.range = range_full(t.elem);
    struct vtype x = t;
    if (is_float(t.elem))
        x.range = (struct range){2, -1};
    bool only_add = t.elem == EL_f16 || t.elem == EL_bf16;
    struct node *n = node_unary(g, NODE_fetch, t, value(g, x, depth));
    n->word = is_int(t.elem) ? ints[below(g, 8)] : floats[only_add ? 0 : below(g, 2)];
    n->region = r;
    if (is_int(t.elem) && chance(g, 20)) {
        n->kind = NODE_fetch_cas;
        n->nargs = 2;
        n->arg[0] = node_binary(g, NODE_or, t, value(g, t, 1), node_int(g, t, 3));
        n->arg[1] = value(g, t, depth);
    }
    return n;
}

/* Generates an atomic on a few elements that all programs share. With the chosen function, the final contents do not
 * depend on the order of programs. The old values that the atomic returns do depend on this order, so they are not
 * used. */
struct stmt *atomic_statement(struct gen *g, int depth)
{
    static const char *const words[] = {"add", "max", "min", "and", "or", "xor", "add", "add"};
    static const enum elem elems[] = {EL_i32, EL_u32, EL_i64, EL_f32, EL_u64, EL_i32, EL_i32};
    enum elem e = elems[below(g, 7)];
    const char *word = words[below(g, 8)];
    if (e == EL_f32 && word[0] != 'm')
        word = "add";
    struct buffer *b = NULL;
    for (int i = 0; i < g->p->nbuffers; i++)
        if (g->p->buffers[i]->role == ROLE_atomic && g->p->buffers[i]->elem == e &&
            g->p->buffers[i]->word == word)
            b = g->p->buffers[i];
    if (!b && (b = buffer_new(g, ROLE_atomic, e, 5 + below(g, 4))) != NULL) {
        b->word = word;
        b->a = b->c = 1;
        b->modulus = 8;
    }
    if (!b)
        return NULL;
    struct shape s = chance(g, 40) ? (struct shape){0} : shape_any(g);
    struct vtype t = vtype_of(e, s);
    if (e == EL_f32)
        t.range = (struct range){2, -2};
    struct stmt *out = stmt_new(g, STMT_atomic);
    struct node *n = node_new(g, NODE_atomic, t);
    n->word = word;
    n->nargs = 3;
    n->arg[0] = address(g, b, index_any(g, &s, b, depth));
    n->arg[1] = value(g, t, depth);
    n->arg[2] = chance(g, 40) ? mask_for(g, &s, depth - 1) : NULL;
    out->e[0] = n;
    return out;
}
