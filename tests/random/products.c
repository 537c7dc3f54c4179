/* SPDX-License-Identifier: MIT */
/* products.c: generates dots in expressions, and loops of dots like the loops that users write. Operands are loaded by
 * computed pointers, advancing pointers, block pointers or descriptors; some are transposed, masked or computed. A
 * loop may have several dots, chained or independent, and a computation on the result (an epilogue). */
#include "tests/random/generate.h"

struct product_kind {
    enum elem in, other, out;
    const char *words[4]; /* alternatives, one of which is chosen */
    int least_k;
};

static const struct product_kind kinds[] = {
    {EL_f16, EL_f16, EL_f32, {"", "", "", ""}, 4},
    {EL_bf16, EL_bf16, EL_f32, {"", "", "", ""}, 4},
    {EL_f16, EL_f16, EL_f32, {"", "", "", ""}, 4},
    {EL_f32, EL_f32, EL_f32, {"", ", input_precision='ieee'", ", input_precision='tf32x3'", ""}, 4},
    {EL_i8, EL_i8, EL_i32, {", out_dtype=tl.int32", ", out_dtype=tl.int32", "", ""}, 5},
    {EL_f8e5, EL_f8e5, EL_f32, {"", "", "", ""}, 5},
    {EL_f8e4, EL_f8e4, EL_f32, {"", "", "", ""}, 5},
    {EL_f8e4, EL_f8e5, EL_f32, {"", "", "", ""}, 5},
    {EL_f16,
     EL_f16,
     EL_f16,
     {", out_dtype=tl.float16", ", out_dtype=tl.float16", ", out_dtype=tl.float16", ", out_dtype=tl.float16"},
     4},
    {EL_f64, EL_f64, EL_f64, {"", "", "", ""}, 4},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Returns a type for operands whose values have so few bits that sums of 2^10 products are exact, even where the
 * hardware sums fp8 products in 14 bits. */
static struct vtype operand_type(const struct product_kind *k, enum elem e, struct shape s)
{
    if (e == EL_i8)
        return vtype_of(EL_i8, s);
    if (k->out == EL_f16)
        return vtype_ranged(e, s, 0, 0);
    if (elem_info[e].class == SMALL)
        return vtype_ranged(e, s, 1, -1);
    return vtype_ranged(e, s, 1, -2);
}

static struct range product_range(const struct product_kind *k, int log_k)
{
    if (k->out == EL_i32)
        return range_full(EL_i32);
    struct vtype t = operand_type(k, k->in, (struct shape){0});
    return (struct range){2 * t.range.most + log_k, 2 * t.range.least};
}

static bool sums_in_14_bits(const struct product_kind *k)
{
    return elem_info[k->in].class == SMALL;
}

static void note_kind(struct gen *g, const struct product_kind *k)
{
    g->p->has_dot = true;
    g->p->has_small4 |= k->in == EL_f8e4 || k->other == EL_f8e4;
    /* If a pass made the operand of a following addition the dot's accumulator, this sum would also have to be exact
     * in 14 bits. So fusion is turned off. */
    g->p->no_fusion |= sums_in_14_bits(k);
}

static const struct product_kind *kind_any(struct gen *g)
{
    const struct product_kind *k = &kinds[below(g, chance(g, 50) ? 3 : KINDS)];
    note_kind(g, k);
    return k;
}

static struct shape matrix(int rows, int columns)
{
    return (struct shape){2, {(dims)1 << rows, (dims)1 << columns}};
}

/* -- dots in expressions -- */

static int symbol_of_at_least(struct gen *g, int log, dims but)
{
    for (int tries = 0; tries < 8; tries++) {
        int i = FIRST_SYMBOL + below(g, g->p->nsymbols - FIRST_SYMBOL);
        if (g->p->log_size[i] >= log && g->p->log_size[i] <= 6 && !(but >> i & 1) &&
            g->p->log_least[i] >= log)
            return i;
    }
    return g->p->nsymbols < SYMBOLS ? symbol_new(g, log + below(g, 2), log) : -1;
}

static struct node *make_dot(struct gen *g, const struct vtype *t, int depth)
{
    const struct product_kind *k = NULL;
    const struct shape *s = &t->shape;
    for (int tries = 0; tries < 6 && !k; tries++) {
        k = &kinds[below(g, KINDS)];
        k = k->out == t->elem ? k : NULL;
    }
    if (!k || g->ndots >= 3 || is_limited(t) || s->rank > 3 || g->in_function)
        return NULL;
    for (int i = s->rank - 2; i < s->rank; i++)
        if (size_of(g->p, s->dim[i]) < 16)
            return NULL;
    int sum = symbol_of_at_least(g, k->least_k, shape_symbols(s));
    if (sum < 0 || shape_log(g, s) > 12)
        return NULL;
    struct range r = product_range(k, g->p->log_size[sum]);
    if (is_float(t->elem)) {
        if (r.most > t->range.most - 1 || r.least < t->range.least)
            return NULL;
    }
    g->ndots++;
    note_kind(g, k);
    struct shape a = *s, b = *s;
    a.dim[s->rank - 1] = (dims)1 << sum;
    b.dim[s->rank - 2] = (dims)1 << sum;
    if (shape_log(g, &a) > 12 || shape_log(g, &b) > 12)
        return NULL;
    struct node *n = node_new(g, NODE_dot, *t);
    n->word = k->words[below(g, 4)];
    n->nargs = 2;
    n->arg[0] = value(g, operand_type(k, k->in, a), depth - 1);
    n->arg[1] = value(g, operand_type(k, k->other, b), depth - 1);
    if (!sums_in_14_bits(k) && chance(g, 30)) {
        struct vtype acc = *t;
        if (is_float(t->elem)) { /* make the operands so small that the sum is exact */
            acc.range.least = r.least;
            acc.range.most = r.least + elem_info[t->elem].precision - 2;
            acc.range.most = acc.range.most > t->range.most - 1 ? t->range.most - 1 : acc.range.most;
        }
        n->kind = NODE_dot_acc;
        n->nargs = 3;
        n->arg[2] = value(g, acc, depth - 1);
    }
    return n;
}

const struct choice product_choices[] = {
    {INTS | FLOAT, 2, 7, make_dot},
    {0, 0, 0, NULL},
};

/* -- loops -- */

enum way { BY_INDEX, BY_POINTER, BY_BLOCK, BY_BLOCK_AT, BY_DESCRIPTOR };

struct loop {
    const struct product_kind *kind;
    int m, n, k, trips, rest; /* symbols of the sizes; the sum is over k * trips - rest elements */
    struct var *counter;
    bool counts_steps;   /* the loop counter counts iterations, not elements */
    struct node *length; /* the number of elements of the sum */
};

struct operand {
    enum elem elem, loaded; /* element types of the dot's operand and of the memory */
    struct vtype type;      /* the type of the dot's operand */
    struct shape tile;      /* the shape of the loaded tile */
    int sum; /* the axis of the tile over which the dot sums; the loop advances along this axis */
    bool turned, masked,
        /* `turned`: the tile is transposed after the load; `moves`: along the axis other than `sum`, the tile starts
         * at an offset that depends on the program */
        moves;
    bool first; /* whether it is operand a of the dot */
    /* for pointers: the indices along the other axis are taken modulo this number; 0: no modulus */
    int wrap;
    int inner; /* the contiguous axis */
    enum way way;
    struct buffer *buffer;
    struct var *var; /* the pointer, block pointer or descriptor */
    struct extent lead;
};

static struct vtype i32_scalar(int bits)
{
    return vtype_ranged(EL_i32, (struct shape){0}, bits, 0);
}

struct node *extent_node(struct gen *g, struct extent e)
{
    struct node *n = node_extent(g, e.of, e.times, e.plus);
    if (chance(g, 40))
        n->scalar = scalar_new(g, e);
    return n;
}

struct node *i32_binary(struct gen *g, enum node_kind kind, struct node *x, struct node *y)
{
    struct shape s = x->type.shape.rank >= y->type.shape.rank ? x->type.shape : y->type.shape;
    for (int i = 0; i < s.rank && x->type.shape.rank == y->type.shape.rank; i++)
        s.dim[i] = x->type.shape.dim[i] | y->type.shape.dim[i];
    return node_binary(g, kind, vtype_of(EL_i32, s), x, y);
}

/* Returns how many elements of the sum precede the current iteration. */
static struct node *position(struct gen *g, const struct loop *l)
{
    struct node *n = node_var(g, l->counter);
    return l->counts_steps ? i32_binary(g, NODE_mul, n, node_extent(g, (dims)1 << l->k, 1, 0)) : n;
}

static struct node *start_of(struct gen *g, const struct operand *o)
{
    if (!o->moves)
        return NULL;
    struct node *at = !g->columns ? node_pid(g) : o->first ? tile_row(g) : tile_column(g);
    return i32_binary(g, NODE_mul, at, node_extent(g, o->tile.dim[1 - o->sum], 1, 0));
}

/* Returns the indices along an axis of the operand's tile, which begin at `start`, or at 0 if `start` is NULL. */
static struct node *along(struct gen *g, const struct operand *o, int axis, struct node *start)
{
    struct node *n = node_arange(g, &o->tile, axis);
    return start ? i32_binary(g, NODE_add, start, n) : n;
}

/* Returns row indices modulo the number of rows. Users often write this modulus instead of a mask. */
static struct node *wrapped(struct gen *g, const struct operand *o, struct node *rows)
{
    if (!o->wrap)
        return rows;
    struct node *n = i32_binary(g, NODE_rem, rows, extent_node(g, (struct extent){0, 0, o->wrap}));
    /* this range is larger than the range of the rows, so that shrink.c does not replace the remainder by the rows */
    n->type.range = (struct range){10, 0};
    return n;
}

static struct node *offsets(struct gen *g, const struct operand *o, struct node *at)
{
    struct node *sum = along(g, o, o->sum, at);
    struct node *other = wrapped(g, o, along(g, o, 1 - o->sum, start_of(g, o)));
    struct node **outer = o->inner == o->sum ? &other : &sum;
    struct node *lead = node_extent(g, o->lead.of, o->lead.times, o->lead.plus);
    if (chance(g, 40))
        lead->scalar = scalar_new(g, o->lead);
    *outer = i32_binary(g, NODE_mul, *outer, lead);
    return chance(g, 50) ? i32_binary(g, NODE_add, sum, other) : i32_binary(g, NODE_add, other, sum);
}

static struct node *pointer(struct gen *g, const struct operand *o, struct node *at)
{
    struct node *base = buffer_node(g, o->buffer), *index = offsets(g, o, at);
    struct vtype t = base->type;
    t.shape = o->tile;
    return node_binary(g, NODE_address, t, base, index);
}

static void rows_and_strides(struct gen *g, struct node *n, const struct loop *l, const struct operand *o)
{
    int other = 1 - o->sum;
    (void)g;
    n->buffer = o->buffer;
    n->rows[o->sum] = (struct extent){(dims)1 << l->k, l->trips, -l->rest};
    n->rows[other] = (struct extent){o->tile.dim[other], o->moves ? g->p->grid : 1, 0};
    n->strides[o->inner] = (struct extent){0, 1, 0};
    n->strides[1 - o->inner] = o->lead;
    n->perm[0] = o->inner;
    n->perm[1] = 1 - o->inner;
}

static struct node *box(struct gen *g, const struct loop *l, const struct operand *o, struct node *at)
{
    struct vtype t = vtype_of(o->loaded, o->tile);
    t.kind = o->way == BY_DESCRIPTOR ? KIND_descriptor : KIND_block;
    struct node *n = node_new(g, o->way == BY_DESCRIPTOR ? NODE_make_descriptor : NODE_make_block_ptr, t);
    rows_and_strides(g, n, l, o);
    if (o->way == BY_DESCRIPTOR)
        return n;
    struct node *start = start_of(g, o);
    n->nargs = 2;
    n->arg[o->sum] = at ? at : node_int(g, i32_scalar(1), 0);
    n->arg[1 - o->sum] = start ? start : node_int(g, i32_scalar(1), 0);
    return n;
}

static void assign(struct gen *g, struct stmt ***at, struct var *v, struct node *n)
{
    struct stmt *s = stmt_new(g, STMT_assign);
    s->var = v;
    s->e[0] = n;
    **at = s;
    *at = &s->next;
}

static void choose_operand(struct gen *g, struct operand *o, const struct loop *l, bool first)
{
    int other = first ? l->m : l->n;
    o->elem = first ? l->kind->in : l->kind->other;
    o->turned = chance(g, 25);
    o->sum = first != o->turned;
    o->tile.rank = 2;
    o->tile.dim[o->sum] = (dims)1 << l->k;
    o->tile.dim[1 - o->sum] = (dims)1 << other;
    o->inner = chance(g, 70);
    o->masked = chance(g, 40);
    o->moves = chance(g, g->columns ? 90 : 40);
    o->first = first;
    o->way = (enum way)(chance(g, 55) ? below(g, 2) : below(g, 5));
    if (chance(g, g->columns ? 12 : 20)) {
        int rows = (int)size_of(g->p, (dims)1 << other) * (o->moves ? g->p->grid : 1);
        o->wrap = chance(g, 50) ? rows : 1 + below(g, rows);
        o->wrap = chance(g, 50) && o->wrap > 16 ? o->wrap & -16 : o->wrap;
    }
    struct shape s = first ? matrix(l->m, l->k) : matrix(l->k, l->n);
    o->type = operand_type(l->kind, o->elem, s);
    o->loaded = o->elem;
    if (chance(g, 12) && elem_info[o->elem].class == FLOAT)
        o->loaded = elem_any(g, FLOAT);
    o->lead = o->inner == o->sum ? (struct extent){(dims)1 << l->k, l->trips, 0}
                                 : (struct extent){(dims)1 << other, o->moves ? g->p->grid : 1, 0};
    if (o->way == BY_DESCRIPTOR) {
        o->inner = 1;
        o->lead = o->sum == 1 ? (struct extent){(dims)1 << l->k, l->trips, 0}
                              : (struct extent){(dims)1 << other, o->moves ? g->p->grid : 1, 0};
        if (size_of(g->p, o->tile.dim[1]) * elem_bytes(o->loaded) < 16)
            o->way = BY_BLOCK;
    } else if (chance(g, 20)) {
        o->lead.plus += chance(g, 60) ? 8 : 3;
    }
}

static bool open_operand(struct gen *g, struct operand *o, const struct loop *l, bool first,
                         struct stmt ***at)
{
    choose_operand(g, o, l, first);
    struct range r = operand_type(l->kind, o->elem, o->tile).range;
    if (is_int(o->loaded))
        r = range_full(o->loaded);
    o->buffer = input_for(g, o->loaded, r);
    if (!o->buffer || (o->way == BY_DESCRIPTOR && o->buffer->skew))
        o->buffer = NULL;
    if (!o->buffer)
        return false;
    int outer = o->inner == o->sum ? 1 - o->sum : o->sum;
    int64_t rows = size_of(g->p, o->tile.dim[outer]) * (outer == o->sum ? l->trips + 1
                                                        : o->moves      ? g->p->grid
                                                                        : 1);
    int64_t count = rows * extent_of(g->p, &o->lead);
    if (count > (g->columns ? 1 << 19 : 1 << 17))
        return false;
    buffer_needs(g, o->buffer, count);
    if (o->way == BY_INDEX || o->way == BY_BLOCK_AT)
        return true;
    struct node *n = o->way == BY_POINTER ? pointer(g, o, NULL) : box(g, l, o, NULL);
    o->var = var_new(g, n->type, o->way != BY_DESCRIPTOR);
    assign(g, at, o->var, n);
    return true;
}

static struct node *operand_mask(struct gen *g, const struct loop *l, const struct operand *o)
{
    struct node *at = along(g, o, o->sum, position(g, l));
    struct node *on = node_binary(g, NODE_compare, vtype_of(EL_i1, at->type.shape), at, l->length);
    on->word = "<";
    if (chance(g, 40)) {
        int other = 1 - o->sum, n = (int)size_of(g->p, o->tile.dim[other]);
        struct node *limit = extent_node(g, (struct extent){0, 0, n - below(g, n / 2 + 1)});
        struct node *more = node_arange(g, &o->tile, other);
        more = node_binary(g, NODE_compare, vtype_of(EL_i1, more->type.shape), more, limit);
        more->word = "<";
        on = node_binary(g, NODE_and, vtype_of(EL_i1, o->tile), on, more);
    }
    return on;
}

static struct node *operand_load(struct gen *g, const struct loop *l, const struct operand *o)
{
    struct vtype t = vtype_of(o->loaded, o->tile);
    t.range = o->buffer->range;
    struct node *n;
    if (o->way == BY_DESCRIPTOR) {
        struct node *start = start_of(g, o);
        n = node_new(g, NODE_load_descriptor, t);
        n->nargs = 3;
        n->arg[0] = node_var(g, o->var);
        n->arg[1 + o->sum] = position(g, l);
        n->arg[2 - o->sum] = start ? start : node_int(g, i32_scalar(1), 0);
        return n;
    }
    if (o->way == BY_BLOCK || o->way == BY_BLOCK_AT)
        return node_unary(g, NODE_load_block, t,
                          o->way == BY_BLOCK ? node_var(g, o->var) : box(g, l, o, position(g, l)));
    n = node_new(g, NODE_load, t);
    n->nargs = 3;
    n->arg[0] = o->way == BY_POINTER ? node_var(g, o->var) : pointer(g, o, position(g, l));
    if (o->masked) {
        struct vtype zero = t;
        zero.shape = (struct shape){0};
        n->arg[1] = operand_mask(g, l, o);
        n->arg[2] = node_zero(g, zero);
    }
    return n;
}

/* Returns the value that the dot uses for an operand in this iteration. */
static struct node *operand_value(struct gen *g, const struct loop *l, const struct operand *o,
                                  struct stmt ***at)
{
    struct node *n = operand_load(g, l, o);
    struct vtype t = n->type;
    if (chance(g, 50)) { /* assign the value to a variable, which later expressions can use */
        struct var *v = var_new(g, t, false);
        assign(g, at, v, n);
        n = node_var(g, v);
    }
    if (o->loaded != o->elem) {
        t = operand_type(l->kind, o->elem, o->tile);
        n = node_cast(g, n, t);
    }
    if (o->turned) {
        t.shape = o->type.shape;
        n = node_unary(g, NODE_trans, t, n);
        n->perm[0] = 1;
    }
    if (!chance(g, 20))
        return n;
    if (elem_info[o->elem].class != SMALL && chance(g, 40))
        return node_unary(g, NODE_neg, n->type, n);
    struct node *w = node_new(g, NODE_where, n->type);
    w->nargs = 3;
    w->arg[0] = value_broadcast(g, vtype_of(EL_i1, n->type.shape), 2);
    w->arg[1] = n;
    w->arg[2] = value(g, o->type, 1);
    return w;
}

static void advance(struct gen *g, const struct loop *l, const struct operand *o, struct stmt ***at)
{
    struct node *v = o->var ? node_var(g, o->var) : NULL, *n;
    struct extent step = {(dims)1 << l->k, 1, 0};
    if (o->way == BY_POINTER) {
        struct node *by = node_extent(g, step.of, 1, 0);
        if (o->inner != o->sum)
            by = i32_binary(g, NODE_mul, by, extent_node(g, o->lead));
        assign(g, at, o->var, node_binary(g, NODE_address, v->type, v, by));
    } else if (o->way == BY_BLOCK) {
        n = node_unary(g, NODE_advance, v->type, v);
        n->nargs = 3;
        n->arg[1 + o->sum] = node_extent(g, step.of, 1, 0);
        n->arg[2 - o->sum] = node_int(g, i32_scalar(1), 0);
        assign(g, at, o->var, n);
    }
}

static struct node *dot_node(struct gen *g, const struct loop *l, struct node *a, struct node *b,
                             struct node *acc)
{
    struct shape s = matrix(l->m, l->n);
    struct vtype t = vtype_of(l->kind->out, s);
    t.range = product_range(l->kind, g->p->log_size[l->k]);
    struct node *n = node_binary(g, NODE_dot, t, a, b);
    n->word = l->kind->words[below(g, 4)];
    if (!acc)
        return n;
    if (chance(g, 40) && l->kind->out != EL_f16)
        return chance(g, 50) ? node_binary(g, NODE_add, acc->type, acc, n)
                             : node_binary(g, NODE_add, acc->type, n, acc);
    n->kind = NODE_dot_acc;
    n->type = acc->type;
    n->nargs = 3;
    n->arg[2] = acc;
    return n;
}

/* Builds the loop, with its counter and its number of iterations. */
static struct stmt *open_loop(struct gen *g, struct loop *l)
{
    struct extent length = {(dims)1 << l->k, l->trips, -l->rest};
    struct stmt *s = stmt_new(g, STMT_for);
    l->length = extent_node(g, length);
    l->counts_steps = chance(g, 30);
    l->counter = var_new(g, i32_scalar(10), false);
    s->var = l->counter;
    s->form = chance(g, 20);
    s->stages = s->form ? below(g, 5) : 0;
    s->unroll = s->form && chance(g, 30) ? 1 + below(g, 3) : 0;
    s->e[0] = node_int(g, i32_scalar(1), 0);
    s->e[1] = l->counts_steps ? extent_node(g, (struct extent){0, 0, l->trips}) : l->length;
    s->e[2] = l->counts_steps ? NULL : node_extent(g, (dims)1 << l->k, 1, 0);
    if (chance(g, 8)) { /* load the number of iterations from memory */
        struct buffer *b = input_for(g, EL_i32, (struct range){2, 0});
        if (b && l->counts_steps) {
            struct vtype t = i32_scalar(2);
            struct node *load = node_new(g, NODE_load, t);
            load->nargs = 3;
            load->arg[0] = buffer_node(g, b);
            s->e[1] = node_binary(g, NODE_minimum, t, load, s->e[1]);
        }
    }
    return s;
}

static void early_return(struct gen *g, struct stmt ***at)
{
    struct stmt *s = stmt_new(g, STMT_if), *end = stmt_new(g, STMT_return);
    s->e[0] = value(g, vtype_of(EL_i1, (struct shape){0}), 2);
    s->body = end;
    **at = s;
    *at = &s->next;
}

/* Appends a store of acc, or of an expression of acc. */
static void epilogue(struct gen *g, struct var *acc, struct stmt ***at)
{
    struct node *v = node_var(g, acc);
    struct vtype t = acc->type;
    int what = below(g, 10);
    if (what < 3 && is_float(t.elem)) {
        static const enum elem narrow[] = {EL_f16, EL_bf16, EL_f32, EL_f8e5};
        enum elem e = narrow[below(g, t.elem == EL_f64 ? 3 : 4)];
        t = vtype_of(e, t.shape);
        if (e != acc->type.elem)
            v = node_cast(g, v, t);
    } else if (what < 6) {
        t.range = range_full(t.elem);
        v = value(g, t, 3);
    }
    struct stmt *s = g->columns && chance(g, 90)
                         ? tile_statement(g, v)
                         : store_statement(g, v, chance(g, 40) ? mask_for(g, &v->type.shape, 2) : NULL);
    if (s) {
        **at = s;
        *at = &s->next;
    }
}

/* Appends an `if` that changes some elements of v, and has no other effect. */
static void branch(struct gen *g, struct var *v, struct stmt ***at)
{
    struct stmt *s = stmt_new(g, STMT_if), **body = &s->body;
    struct node *n = node_new(g, NODE_where, v->type);
    s->e[0] = value(g, vtype_of(EL_i1, (struct shape){0}), 2);
    n->nargs = 3;
    n->arg[0] = value_broadcast(g, vtype_of(EL_i1, v->type.shape), 2);
    n->arg[1] = node_var(g, v);
    n->arg[2] = value(g, v->type, 1);
    assign(g, &body, v, n);
    **at = s;
    *at = &s->next;
}

/* Generates the second dot of a chain. Its operands are the scaled-down result of the first dot and a tile from
 * memory. */
static void chained(struct gen *g, const struct loop *l, struct node *first, struct var *acc,
                    struct stmt ***at)
{
    struct shape s = matrix(l->m, l->n), b = matrix(l->n, l->m);
    b.dim[1] = acc->type.shape.dim[1];
    enum elem e = l->kind->in;
    struct var *v = var_new(g, first->type, false);
    assign(g, at, v, first);
    if (chance(g, 20))
        branch(g, v, at);
    struct node *p = node_fit(g, node_var(g, v), operand_type(l->kind, e, s));
    struct vtype other = operand_type(l->kind, e, b);
    struct node *n = node_new(g, NODE_dot_acc, acc->type);
    n->word = l->kind->words[0];
    n->nargs = 3;
    n->arg[0] = p;
    n->arg[1] = value(g, other, 1);
    n->arg[2] = node_var(g, acc);
    assign(g, at, acc, n);
}

/* x becomes an operand of a dot; `other` is an operand of another dot. Replaces some elements of x by elements of
 * `other`. */
static struct node *with_other(struct gen *g, struct node *x, struct node *other)
{
    if (elem_info[x->type.elem].class == SMALL || !chance(g, 30))
        return x;
    struct node *n = node_new(g, NODE_where, x->type);
    n->nargs = 3;
    n->arg[0] = value_broadcast(g, vtype_of(EL_i1, x->type.shape), 2);
    n->arg[1] = x;
    n->arg[2] = other;
    return n;
}

static void body_of(struct gen *g, const struct loop *l, struct operand *o, struct var **acc, int ndots,
                    bool chain, struct stmt ***at)
{
    struct node *a = operand_value(g, l, &o[0], at), *b = operand_value(g, l, &o[1], at);
    if (chance(g, 12))
        statements(g, at, 1, 2);
    if (chain) {
        chained(g, l, dot_node(g, l, a, b, NULL), acc[0], at);
    } else {
        assign(g, at, acc[0], dot_node(g, l, a, b, node_var(g, acc[0])));
        if (chance(g, 8))
            branch(g, acc[0], at);
        if (ndots > 1) {
            struct node *c = with_other(g, operand_value(g, l, &o[2], at), b);
            if (chance(g, 20))
                a = with_other(g, operand_value(g, l, &o[0], at), a);
            assign(g, at, acc[1], dot_node(g, l, a, c, node_var(g, acc[1])));
        }
    }
    if (chance(g, 15))
        statements(g, at, 1, 2);
    for (int i = 0; i < 2 + (ndots > 1); i++)
        advance(g, l, &o[i], at);
}

static bool choose_loop(struct gen *g, struct loop *l)
{
    if (g->p->nsymbols + 4 > SYMBOLS)
        return false;
    l->kind = kind_any(g);
    l->m = symbol_new(g, 4 + below(g, 3), 4);
    l->n = symbol_new(g, 4 + below(g, 3), 4);
    l->k = symbol_new(g, l->kind->least_k + below(g, 2), l->kind->least_k);
    if (l->kind->out != EL_f64 && !(l->kind->in == EL_f32) && chance(g, 25)) {
        g->p->log_size[l->m] = 6 + below(g, 2);
        g->p->log_size[l->n] = 5 + below(g, 3);
        g->p->log_size[l->k] = 5 + below(g, 2);
    }
    /* make tiles so large that a CTA fills an SM */
    if (g->columns && elem_info[l->kind->in].bits <= 16 && chance(g, 70)) {
        g->p->log_size[l->m] = 6 + below(g, 2);
        g->p->log_size[l->n] = 6 + below(g, chance(g, 50) ? 2 : 3);
        g->p->log_size[l->k] = 5 + below(g, 2);
    }
    if (g->is_large && elem_info[l->kind->in].bits <= 16) {
        g->p->log_size[l->m] = 7;
        g->p->log_size[l->n] = 7 + chance(g, 60);
        g->p->log_size[l->k] = 6 + (elem_info[l->kind->in].bits == 8);
    }
    l->trips = 1 + below(g, g->is_large ? 3 : chance(g, 60) ? 4 : 6);
    l->rest = chance(g, 50) ? 0 : below(g, 1 << l->kind->least_k);
    return true;
}

void product_loop(struct gen *g, struct stmt ***at)
{
    struct loop l;
    struct operand o[3] = {{.sum = 0}};
    struct var *acc[2];
    int scope = g->nscope;
    if (!choose_loop(g, &l))
        return;
    int ndots = 1 + chance(g, 15);
    bool chain =
        ndots == 1 && chance(g, 15) && l.kind->out != EL_f16 && g->p->log_size[l.n] >= l.kind->least_k;
    if (g->depth_of_loops == 0 && chance(g, 12))
        early_return(g, at);
    for (int i = 0; i < 1 + ndots; i++)
        if (!open_operand(g, &o[i], &l, i == 0, at)) {
            g->nscope = scope;
            return;
        }
    for (int i = 0; i < ndots; i++) {
        struct shape s = matrix(l.m, chain ? l.m : l.n);
        struct vtype t = vtype_of(l.kind->out, s);
        t.range = product_range(
            l.kind, g->p->log_size[chain && g->p->log_size[l.n] > g->p->log_size[l.k] ? l.n : l.k]);
        if (is_float(t.elem))
            t.range.most += 4;
        struct vtype begin = t;
        begin.range.most -= is_float(t.elem);
        acc[i] = var_new(g, t, true);
        g->nscope--; /* remove the variable from the scope, because it has no value yet */
        assign(g, at, acc[i],
               sums_in_14_bits(l.kind) || chance(g, 75) ? node_zero(g, t) : value(g, begin, 2));
        g->scope[g->nscope++] = acc[i];
    }
    int inside = g->nscope;
    struct stmt *s = open_loop(g, &l), **end = &s->body;
    struct node *round = g->round;
    g->round = node_var(g, l.counter);
    g->depth_of_loops++;
    for (int i = 0; i < ndots; i++)
        acc[i]->mutable = false;
    body_of(g, &l, o, acc, ndots, chain, &end);
    g->depth_of_loops--;
    g->round = round;
    g->nscope = inside;
    **at = s;
    *at = &s->next;
    for (int i = 0; i < ndots; i++)
        epilogue(g, acc[i], at);
}

/* -- attention -- */

struct attention {
    const struct product_kind *kind;
    /* the shapes of Q, of K and V, of the scores, and of a vector with one number for each row */
    struct shape md, nd, mn, m;
    int trips;
    struct var *q, *max, *sum, *acc, *counter;
    struct buffer *in[3];
};

static struct node *row(struct gen *g, struct node *x, const struct shape *whole)
{
    struct vtype t = x->type;
    t.shape = *whole;
    t.shape.dim[1] = 0;
    struct node *n = node_unary(g, NODE_expand_dims, t, x);
    n->axis = 1;
    return n;
}

static struct node *f32_node(struct gen *g, enum node_kind kind, struct shape s, struct node *x,
                             struct node *y)
{
    return node_binary(g, kind, vtype_ranged(EL_f32, s, 20, -12), x, y);
}

/* Returns a load of rows, from row `start` on, of a matrix with d columns; transposes them if `turned` is true. */
static struct node *rows_of(struct gen *g, struct buffer *b, const struct shape *s, struct node *start,
                            bool turned)
{
    struct shape tile = *s;
    if (turned) {
        tile.dim[0] = s->dim[1];
        tile.dim[1] = s->dim[0];
    }
    struct node *rows = node_arange(g, &tile, turned), *base = buffer_node(g, b);
    rows = start ? i32_binary(g, NODE_add, start, rows) : rows;
    rows = i32_binary(g, NODE_mul, rows, node_extent(g, s->dim[1], 1, 0));
    struct node *at = i32_binary(g, NODE_add, rows, node_arange(g, &tile, !turned));
    struct vtype t = base->type;
    t.shape = tile;
    struct node *n = node_new(g, NODE_load, vtype_of(b->elem, tile));
    n->type.range = b->range;
    n->nargs = 3;
    n->arg[0] = node_binary(g, NODE_address, t, base, at);
    return n;
}

static struct node *chosen(struct gen *g, struct shape s, struct node *x, struct node *y, double yes,
                           double no)
{
    struct vtype t = vtype_ranged(EL_f32, s, 0, -1);
    struct node *c = node_binary(g, NODE_compare, vtype_of(EL_i1, s), x, y), *n = node_new(g, NODE_where, t);
    c->word = ">";
    n->nargs = 3;
    n->arg[0] = c;
    n->arg[1] = node_float(g, t, yes);
    n->arg[2] = node_float(g, t, no);
    return n;
}

static struct var *named(struct gen *g, struct stmt ***at, struct node *n)
{
    struct var *v = var_new(g, n->type, false);
    assign(g, at, v, n);
    return v;
}

/* Masks the scores of keys that come after the query of their row. */
static struct node *causal(struct gen *g, const struct attention *a, struct node *scores)
{
    struct node *rows = node_arange(g, &a->mn, 0), *columns = node_arange(g, &a->mn, 1),
                *n = node_new(g, NODE_where, scores->type);
    columns = i32_binary(g, NODE_add, node_var(g, a->counter), columns);
    struct node *c = node_binary(g, NODE_compare, vtype_of(EL_i1, a->mn), rows, columns);
    c->word = ">=";
    n->nargs = 3;
    n->arg[0] = c;
    n->arg[1] = scores;
    n->arg[2] = node_float(g, scores->type, -64);
    return n;
}

static struct node *scores_of(struct gen *g, const struct attention *a)
{
    bool turned = chance(g, 50);
    struct node *k = rows_of(g, a->in[1], &a->nd, node_var(g, a->counter), !turned);
    if (turned) {
        struct vtype t = k->type;
        t.shape.dim[0] = a->nd.dim[1];
        t.shape.dim[1] = a->nd.dim[0];
        k = node_unary(g, NODE_trans, t, k);
    }
    struct node *n = node_binary(g, NODE_dot, vtype_ranged(EL_f32, a->mn, 12, -4), node_var(g, a->q), k);
    n->word = a->kind->words[0];
    return chance(g, 40) ? causal(g, a, n) : n;
}

static void attention_body(struct gen *g, struct attention *a, struct stmt ***at)
{
    struct var *qk = named(g, at, scores_of(g, a));
    struct node *most = node_unary(g, NODE_max, vtype_ranged(EL_f32, a->m, 12, -4), node_var(g, qk));
    most->axis = 1;
    struct var *now = named(g, at, f32_node(g, NODE_maximum, a->m, node_var(g, a->max), most));
    struct node *two = node_float(g, vtype_of(EL_f32, a->mn), 2);
    struct node *close = f32_node(g, NODE_add, a->mn, node_var(g, qk), two);
    struct var *p = named(g, at, chosen(g, a->mn, close, row(g, node_var(g, now), &a->mn), 1, 0.5));
    struct var *scale = named(g, at, chosen(g, a->m, node_var(g, now), node_var(g, a->max), 0.5, 1));
    struct node *total = node_unary(g, NODE_sum, vtype_ranged(EL_f32, a->m, 10, -1), node_var(g, p));
    struct node *scaled = f32_node(g, NODE_mul, a->m, node_var(g, a->sum), node_var(g, scale));
    total->axis = 1;
    assign(g, at, a->sum, f32_node(g, NODE_add, a->m, scaled, total));
    if (chance(g, 50))
        assign(g, at, a->acc,
               f32_node(g, NODE_mul, a->md, node_var(g, a->acc), row(g, node_var(g, scale), &a->md)));
    struct node *n = node_new(g, NODE_dot_acc, a->acc->type);
    n->word = a->kind->words[0];
    n->nargs = 3;
    n->arg[0] = node_cast(g, node_var(g, p), vtype_ranged(a->kind->in, a->mn, 0, -1));
    n->arg[1] = rows_of(g, a->in[2], &a->nd, node_var(g, a->counter), false);
    n->arg[2] = node_var(g, a->acc);
    assign(g, at, a->acc, n);
    assign(g, at, a->max, node_var(g, now));
}

static bool choose_attention(struct gen *g, struct attention *a)
{
    if (g->p->nsymbols + 3 > SYMBOLS)
        return false;
    a->kind = &kinds[below(g, 3)];
    int m = symbol_new(g, chance(g, 70) ? 6 + chance(g, 30) : 4, 4), n = symbol_new(g, 4 + below(g, 3), 4),
        d = symbol_new(g, 4 + below(g, 3), 4);
    a->md = matrix(m, d);
    a->nd = matrix(n, d);
    a->mn = matrix(m, n);
    a->m = (struct shape){1, {(dims)1 << m}};
    a->trips = 1 + below(g, 5);
    for (int i = 0; i < 3; i++) {
        a->in[i] = input_for(g, a->kind->in, operand_type(a->kind, a->kind->in, a->md).range);
        if (!a->in[i])
            return false;
        int64_t rows = i ? a->trips * size_of(g->p, a->nd.dim[0]) : g->p->grid * size_of(g->p, a->md.dim[0]);
        buffer_needs(g, a->in[i], rows * size_of(g->p, a->nd.dim[1]));
    }
    g->p->has_dot = true;
    return true;
}

/* Generates a loop like the loop of attention. It computes the running maximum of each row's scores, rescales sums
 * when the maximum grows, and has two chained dots. The loop uses powers of two instead of exponentials, so that all
 * results are exact. */
void attention_loop(struct gen *g, struct stmt ***at)
{
    struct attention a;
    if (!choose_attention(g, &a))
        return;
    struct vtype numbers = vtype_ranged(EL_f32, a.m, 20, -12), whole = vtype_ranged(EL_f32, a.md, 20, -12);
    int scope = g->nscope;
    struct node *pid = node_pid(g);
    struct node *start = i32_binary(g, NODE_mul, pid, node_extent(g, a.md.dim[0], 1, 0));
    a.q = named(g, at, rows_of(g, a.in[0], &a.md, chance(g, 50) ? start : NULL, false));
    struct var **names[] = {&a.max, &a.sum, &a.acc};
    for (int i = 0; i < 3; i++)
        *names[i] = named(g, at, node_float(g, i < 2 ? numbers : whole, i ? 0 : -1024));
    struct stmt *s = stmt_new(g, STMT_for), **end = &s->body;
    s->var = a.counter = var_new(g, i32_scalar(10), false);
    s->e[0] = node_int(g, i32_scalar(1), 0);
    s->e[1] = extent_node(g, (struct extent){a.nd.dim[0], a.trips, 0});
    s->e[2] = node_extent(g, a.nd.dim[0], 1, 0);
    s->form = chance(g, 20) ? FORM_tl_range : FORM_range;
    s->stages = s->form ? below(g, 5) : 0;
    s->unroll = s->form && chance(g, 30) ? 1 + below(g, 3) : 0;
    attention_body(g, &a, &end);
    **at = s;
    *at = &s->next;
    for (int i = 0; i < 3; i++) {
        struct stmt *out = store_statement(g, node_var(g, *names[i]), NULL);
        if (out) {
            **at = out;
            *at = &out->next;
        }
    }
    g->nscope = scope;
}
