/* SPDX-License-Identifier: MIT */
/* plain.c: generates kernels with a single task, like most kernels of users. There are three kinds. Products of two
 * matrices compute one tile in each program. Kernels over rows read each row in blocks. They compute a few numbers
 * from the row, such as its maximum, and read the row once for each number; then they read the row once more to write
 * results. Index kernels compute the coordinates of elements from their linear indices. Passes that transform whole
 * kernels apply to these kernels, but rarely to the kernels of generate.c, which mix all statements. */
#include "tests/random/generate.h"

/* -- tiles of a matrix -- */

static struct node *axis_of_grid(struct gen *g, enum node_kind kind, int axis)
{
    struct node *n = node_new(g, kind, vtype_ranged(EL_i32, (struct shape){0}, 6, 0));
    n->axis = axis;
    return n;
}

struct node *tile_row(struct gen *g)
{
    if (g->p->grid_form == GRID_tiles) {
        struct node *row = axis_of_grid(g, NODE_pid_at, 1);
        if (g->p->layers == 1)
            return row;
        struct node *rows = axis_of_grid(g, NODE_programs_at, 1);
        return i32_binary(g, NODE_add, i32_binary(g, NODE_mul, axis_of_grid(g, NODE_pid_at, 2), rows), row);
    }
    if (g->columns < 2)
        return node_pid(g);
    return i32_binary(g, NODE_div, node_pid(g), extent_node(g, (struct extent){0, 0, g->columns}));
}

struct node *tile_column(struct gen *g)
{
    if (g->p->grid_form == GRID_tiles)
        return axis_of_grid(g, NODE_pid_at, 0);
    if (g->columns < 2)
        return node_int(g, vtype_ranged(EL_i32, (struct shape){0}, 1, 0), 0);
    return i32_binary(g, NODE_rem, node_pid(g), extent_node(g, (struct extent){0, 0, g->columns}));
}

/* A matrix that consists of the tiles of all programs. Each row is followed by padding. The masks of stores may
 * exclude the last rows and columns. */
struct matrix {
    struct region *region;
    struct shape tile;
    struct extent rows, columns, pitch;
};

static struct node *first_of(struct gen *g, const struct matrix *m, int axis)
{
    struct node *n = axis ? tile_column(g) : tile_row(g);
    return i32_binary(g, NODE_mul, n, node_extent(g, m->tile.dim[axis], 1, 0));
}

static struct node *indices(struct gen *g, const struct matrix *m, int axis)
{
    struct node *n = node_arange(g, &m->tile, axis);
    return axis && g->columns < 2 ? n : i32_binary(g, NODE_add, first_of(g, m, axis), n);
}

static struct node *is_below(struct gen *g, struct node *x, struct extent bound)
{
    struct node *n = node_binary(g, NODE_compare, vtype_of(EL_i1, x->type.shape), x, extent_node(g, bound));
    n->word = "<";
    return n;
}

static struct node *place_node(struct gen *g, struct region *r)
{
    struct vtype t = vtype_of(r->buffer->elem, (struct shape){0});
    t.kind = KIND_pointer;
    struct node *n = node_new(g, NODE_place, t);
    n->region = r;
    return n;
}

static struct node *address(struct gen *g, struct node *base, struct node *index)
{
    struct vtype t = base->type;
    t.shape = index->type.shape;
    return node_binary(g, NODE_address, t, base, index);
}

static void store_by_pointers(struct gen *g, const struct matrix *m, struct stmt *s)
{
    struct node *rows = indices(g, m, 0), *columns = indices(g, m, 1);
    rows = i32_binary(g, NODE_mul, rows, extent_node(g, m->pitch));
    s->e[3] = address(g, place_node(g, m->region), i32_binary(g, NODE_add, rows, columns));
    if (!chance(g, 60))
        return;
    struct node *below_rows = is_below(g, indices(g, m, 0), m->rows),
                *below_columns = is_below(g, indices(g, m, 1), m->columns);
    s->e[1] = node_binary(g, NODE_and, vtype_of(EL_i1, m->tile), below_rows, below_columns);
}

static void store_by_box(struct gen *g, const struct matrix *m, struct stmt *s, bool by_descriptor)
{
    struct vtype t = vtype_of(m->region->buffer->elem, m->tile);
    t.kind = by_descriptor ? KIND_descriptor : KIND_block;
    struct node *box = node_new(g, by_descriptor ? NODE_make_descriptor : NODE_make_block_ptr, t);
    box->region = m->region;
    box->rows[0] = m->rows;
    box->rows[1] = m->columns;
    box->strides[0] = m->pitch;
    box->strides[1] = (struct extent){0, 1, 0};
    box->perm[0] = 1;
    s->e[3] = box;
    struct node **start = box->arg;
    if (by_descriptor) {
        s->e[3] = node_new(g, NODE_load_descriptor, vtype_of(t.elem, m->tile));
        start = s->e[3]->arg;
        *start++ = box;
    }
    start[0] = first_of(g, m, 0);
    start[1] = first_of(g, m, 1);
    s->e[3]->nargs = by_descriptor ? 3 : 2;
}

struct stmt *tile_statement(struct gen *g, struct node *v)
{
    struct matrix m = {.tile = v->type.shape};
    dims all = shape_symbols(&m.tile);
    enum elem e = v->type.elem;
    int rows = (g->p->grid + g->columns - 1) / g->columns, way = below(g, 10), pad = 0;
    if (chance(g, 30))
        pad = way < 6 && chance(g, 50) ? 3 : 16;
    m.rows = (struct extent){m.tile.dim[0], rows, chance(g, 60) ? 0 : -below(g, 16)};
    m.columns = (struct extent){m.tile.dim[1], g->columns, chance(g, 60) ? 0 : -below(g, 16)};
    m.pitch = (struct extent){m.tile.dim[1], g->columns, pad};
    if ((m.region = region_new(g, e, &m.tile)) == NULL)
        return NULL;
    int64_t gap = size_of(g->p, m.tile.dim[0]) * rows * pad;
    int side = m.tile.dim[0] == m.tile.dim[1] ? (int)size_of(g->p, all) : 1;
    m.region->whole = (struct extent){all, rows * g->columns * side, (int)gap};
    struct stmt *s = stmt_new(g, STMT_store);
    s->form = STORE_at;
    s->buffer = m.region->buffer;
    s->rounds = 1;
    s->e[0] = v;
    bool can_box = elem_info[e].class != BOOL && size_of(g->p, m.tile.dim[1]) * elem_bytes(e) >= 16;
    if (way < 6 || !can_box)
        store_by_pointers(g, &m, s);
    else
        store_by_box(g, &m, s, way < 8);
    return s;
}

/* Makes a grid with three axes, whose program ids are the tile's column, row and layer, as in many kernels. */
static void tile_the_grid(struct gen *g)
{
    struct program *p = g->p;
    int rows = 2 + below(g, g->is_large ? 1 : 4);
    p->grid_form = GRID_tiles;
    p->columns = g->columns = 2 + below(g, 3);
    p->layers = chance(g, 30) ? 2 : 1;
    p->grid = p->columns * p->layers * rows;
}

void plain_product(struct gen *g, struct stmt ***at)
{
    struct program *p = g->p;
    g->columns = 1 + below(g, 4);
    g->is_large = chance(g, 55);
    p->warps = chance(g, 60) ? 4 : 8;
    p->stages = 1 + below(g, 4);
    /* with these warps and this grid, one CTA fills an SM and runs several programs */
    if (g->is_large) {
        p->warps = 8;
        p->stages = 3 + below(g, 2);
        p->grid = 3 + below(g, 8);
    } else {
        p->grid = 1 + below(g, 18);
    }
    if (chance(g, 45))
        tile_the_grid(g);
    (chance(g, 12) ? attention_loop : product_loop)(g, at);
    g->columns = 0;
}

/* -- rows in blocks -- */

struct rows {
    struct shape tile, row; /* the shape of a block of rows, and the shape of one number for each row */
    int axis;               /* the last axis, along which the columns are */
    struct extent length, pitch;
    int trips;
    bool in_loop;
    struct buffer *in;
    enum elem elem; /* the element type of computations */
    struct var *found[4];
    bool is_extreme[4]; /* whether the number is a maximum or minimum, not a sum */
    int nfound;
};

static void assign(struct gen *g, struct stmt ***at, struct var *v, struct node *n)
{
    struct stmt *s = stmt_new(g, STMT_assign);
    s->var = v;
    s->e[0] = n;
    **at = s;
    *at = &s->next;
}

/* Returns the column indices of the block's elements. */
static struct node *columns_of(struct gen *g, const struct rows *r, struct node *from)
{
    struct node *n = node_arange(g, &r->tile, r->axis);
    return from ? i32_binary(g, NODE_add, from, n) : n;
}

/* Returns the addresses of the block's elements: adds the offsets of the rows and of the columns to `base`, in random
 * order. */
static struct node *addresses(struct gen *g, const struct rows *r, struct node *base, struct node *from)
{
    struct node *row = node_pid(g);
    if (r->axis)
        row = i32_binary(g, NODE_add, i32_binary(g, NODE_mul, row, node_extent(g, r->tile.dim[0], 1, 0)),
                         node_arange(g, &r->tile, 0));
    row = i32_binary(g, NODE_mul, row, extent_node(g, r->pitch));
    struct node *columns = columns_of(g, r, from);
    if (r->axis || chance(g, 40))
        return address(g, base, i32_binary(g, NODE_add, row, columns));
    base = address(g, base, row);
    if (from && chance(g, 50)) {
        base = address(g, base, from);
        columns = columns_of(g, r, NULL);
    }
    return address(g, base, columns);
}

static struct node *mask_of(struct gen *g, const struct rows *r, struct node *from)
{
    struct node *n = is_below(g, columns_of(g, r, from), r->length);
    return r->axis ? node_unary(g, NODE_broadcast_to, vtype_of(EL_i1, r->tile), n) : n;
}

/* Loads the block and converts it to the type of computations. */
static struct var *load_block(struct gen *g, const struct rows *r, struct node *from, struct stmt ***at)
{
    struct vtype t = vtype_of(r->in->elem, r->tile), number = t;
    t.range = number.range = r->in->range;
    number.shape = (struct shape){0};
    struct node *n = node_new(g, NODE_load, t);
    n->nargs = 3;
    n->arg[0] = addresses(g, r, buffer_node(g, r->in), from);
    n->arg[1] = mask_of(g, r, from);
    n->arg[2] = node_zero(g, number);
    t.elem = r->elem;
    struct var *v = var_new(g, t, false);
    assign(g, at, v, r->in->elem == r->elem ? n : node_cast(g, n, t));
    return v;
}

/* Broadcasts computed number i, of which there is one for each row, to the elements of the rows. */
static struct node *spread(struct gen *g, const struct rows *r, int i)
{
    struct node *n = node_var(g, r->found[i]);
    struct vtype t = n->type;
    if (!r->axis)
        return n;
    t.shape.rank = 2;
    n = node_unary(g, NODE_expand_dims, t, n);
    n->axis = 1;
    return n;
}

/* Returns an expression of the elements v and of the numbers that were computed from the rows. The absolute value of
 * the expression is at most twice that of v. */
static struct node *of_element(struct gen *g, const struct rows *r, struct var *v)
{
    struct node *x = node_var(g, v);
    int what = below(g, 4), i = r->nfound ? below(g, r->nfound) : 0;
    struct vtype t = x->type;
    t.range.most++;
    if (r->nfound && r->is_extreme[i] && what < 2)
        return node_binary(g, NODE_sub, t, x, spread(g, r, i));
    if (r->nfound && what < 3) {
        struct node *n = node_new(g, NODE_where, x->type),
                    *c = node_binary(g, NODE_compare, vtype_of(EL_i1, r->tile), x, spread(g, r, i));
        c->word = chance(g, 50) ? "<" : "==";
        n->nargs = 3;
        n->arg[0] = c;
        n->arg[1] = chance(g, 50) ? node_unary(g, NODE_neg, x->type, node_var(g, v)) : node_zero(g, x->type);
        n->arg[2] = node_var(g, v);
        return n;
    }
    return what == 3 ? node_unary(g, NODE_neg, x->type, x) : x;
}

static struct node *over_row(struct gen *g, const struct rows *r, enum node_kind kind, struct node *x,
                             struct range range)
{
    struct vtype t = x->type;
    t.shape = r->row;
    t.range = range;
    struct node *n = node_unary(g, kind, t, x);
    n->axis = r->axis;
    return n;
}

/* Opens the loop `for from in range(0, length, BLOCK)`; if r->in_loop is false, there is only one block, and no
 * loop. */
static struct stmt **open_blocks(struct gen *g, const struct rows *r, struct node **from, struct stmt ***at)
{
    *from = NULL;
    if (!r->in_loop)
        return *at;
    struct stmt *s = stmt_new(g, STMT_for);
    struct vtype i32 = vtype_ranged(EL_i32, (struct shape){0}, 12, 0);
    s->e[0] = node_int(g, i32, 0);
    s->e[1] = extent_node(g, r->length);
    s->e[2] = node_extent(g, r->tile.dim[r->axis], 1, 0);
    s->var = var_new(g, i32, false);
    *from = node_var(g, s->var);
    **at = s;
    *at = &s->next;
    return &s->body;
}

static void close_blocks(const struct rows *r, struct stmt **end, struct stmt ***at)
{
    if (!r->in_loop)
        *at = end;
}

/* Computes another number of each row: its maximum, minimum or sum, accumulated element by element or block by
 * block. */
static void find(struct gen *g, struct rows *r, struct stmt ***at)
{
    static const enum node_kind reductions[] = {NODE_sum, NODE_max, NODE_min},
                                steps[] = {NODE_add, NODE_maximum, NODE_minimum};
    int what = below(g, 3);
    bool by_elements = chance(g, 50);
    struct vtype t = vtype_of(r->elem, by_elements ? r->tile : r->row);
    if (is_float(r->elem)) /* the sum must stay exact, and a row has up to 2^15 elements */
        t.range = (struct range){r->in->range.most + (what ? 1 : 16), r->in->range.least};
    struct var *sum = var_new(g, t, false);
    assign(g, at, sum, node_zero(g, t));
    int scope = g->nscope;
    struct node *from;
    struct stmt **end = open_blocks(g, r, &from, at);
    struct var *x = load_block(g, r, from, &end);
    struct node *n = of_element(g, r, x);
    if (!by_elements)
        n = over_row(g, r, reductions[what], n, t.range);
    assign(g, &end, sum, node_binary(g, steps[what], t, node_var(g, sum), n));
    g->nscope = scope;
    close_blocks(r, end, at);
    if (by_elements) {
        n = over_row(g, r, reductions[what], node_var(g, sum), t.range);
        sum = var_new(g, n->type, false);
        assign(g, at, sum, n);
    }
    r->is_extreme[r->nfound] = what > 0;
    r->found[r->nfound++] = sum;
}

static void write_rows(struct gen *g, const struct rows *r, struct region *to, struct stmt ***at)
{
    struct node *from;
    int scope = g->nscope;
    struct stmt **end = open_blocks(g, r, &from, at), *s = stmt_new(g, STMT_store);
    struct node *n = of_element(g, r, load_block(g, r, from, &end));
    if (chance(g, 30)) {
        struct vtype t = n->type;
        if (is_float(t.elem))
            t.range.most++;
        n = node_binary(g, NODE_add, t, n, value(g, n->type, 2));
    }
    if (to->buffer->elem != n->type.elem)
        n = node_cast(g, n, vtype_of(to->buffer->elem, n->type.shape));
    s->form = STORE_at;
    s->buffer = to->buffer;
    s->rounds = 1;
    s->e[0] = n;
    s->e[1] = mask_of(g, r, from);
    s->e[3] = addresses(g, r, place_node(g, to), from);
    *end = s;
    end = &s->next;
    g->nscope = scope;
    close_blocks(r, end, at);
}

static bool choose_rows(struct gen *g, struct rows *r)
{
    static const enum elem kinds[] = {EL_f32, EL_f16, EL_bf16, EL_f32, EL_i32, EL_f64, EL_i8};
    enum elem e = kinds[below(g, 7)];
    int log_rows = chance(g, 30) ? 1 + below(g, 3) : 0, log = 4 + below(g, 6 - log_rows);
    /* make blocks large, so that each thread holds many elements of the row */
    if (!log_rows && chance(g, 25))
        log = 10 + below(g, 4);
    dims block = (dims)1 << symbol_new(g, log, 0);
    if (log_rows) {
        r->tile.dim[r->tile.rank++] = (dims)1 << symbol_new(g, log_rows, 0);
        r->row = r->tile;
    }
    r->axis = r->tile.rank;
    r->tile.dim[r->tile.rank++] = block;
    r->in_loop = chance(g, 70);
    r->trips = r->in_loop && chance(g, 60) ? 1 + below(g, 4) : 1;
    r->length = (struct extent){block, r->trips, chance(g, 40) ? 0 : -below(g, 1 << log)};
    r->pitch = (struct extent){block, r->trips, chance(g, 70) ? 0 : 8};
    if (log > 9 && g->p->grid > 12)
        g->p->grid = 1 + below(g, 12);
    if (log > 9)
        g->p->warps = 1 << below(g, 4);
    r->elem = is_float(e) && elem_info[e].bits < 32 ? EL_f32 : e == EL_i8 ? EL_i32 : e;
    r->in = input_for(g, e, is_float(e) ? (struct range){2, -1} : range_full(e));
    if (!r->in)
        return false;
    int64_t rows = (int64_t)g->p->grid << log_rows;
    if (rows * extent_of(g->p, &r->pitch) > 1 << 18)
        return false;
    buffer_needs(g, r->in, rows * extent_of(g->p, &r->pitch));
    return true;
}

void plain_rows(struct gen *g, struct stmt ***at)
{
    struct rows r = {.axis = 0};
    enum elem e;
    if (!choose_rows(g, &r))
        return;
    for (int n = below(g, 4); n > 0; n--)
        find(g, &r, at);
    e = is_float(r.elem) && r.elem != EL_f64 && chance(g, 40) ? EL_f16 : r.elem;
    struct region *to = region_new(g, e, &r.tile);
    if (to) {
        int rows = g->p->grid * (int)size_of(g->p, r.axis ? r.tile.dim[0] : 0);
        to->whole = (struct extent){shape_symbols(&r.tile), g->p->grid * r.trips, rows * r.pitch.plus};
        write_rows(g, &r, to, at);
    }
    for (int i = 0; i < r.nfound; i++) {
        struct stmt *s = store_statement(g, node_var(g, r.found[i]), NULL);
        if (!s)
            continue;
        **at = s;
        *at = &s->next;
    }
}

/* -- coordinates -- */

/* Returns a divisor for linear indices: a constant, a parameter, or a tile that counts up along an axis. */
static struct node *divisor(struct gen *g, struct vtype t)
{
    static const int numbers[] = {2, 3, 4, 7, 8, 16, 32, 100};
    int x = numbers[below(g, 8)];
    if (chance(g, 35))
        return counting_divisor(g, t);
    struct node *n = chance(g, 40) ? extent_node(g, (struct extent){0, 0, x}) : NULL;
    return n ? node_fit(g, n, t) : node_int(g, t, x);
}

/* Computes coordinates of elements from their linear indices i, as i % w and i // w % h, and compares the coordinates
 * with each other or with a number. */
void plain_indices(struct gen *g, struct stmt ***at)
{
    static const enum elem elems[] = {EL_u32, EL_i32, EL_u64, EL_i64, EL_u16, EL_u32};
    struct shape s = {.rank = 2};
    s.dim[0] = (dims)1 << symbol_new(g, 3 + below(g, 5), 0);
    s.dim[1] = (dims)1 << symbol_new(g, below(g, 4), 0);
    struct vtype t = vtype_of(elems[below(g, 6)], s);
    struct node *number = i32_binary(g, NODE_mul, node_arange(g, &s, 0), node_extent(g, s.dim[1], 1, 0));
    number = i32_binary(g, NODE_add, number, node_arange(g, &s, 1));
    number = i32_binary(g, NODE_add, number,
                        i32_binary(g, NODE_mul, node_pid(g), node_extent(g, s.dim[0] | s.dim[1], 1, 0)));
    if (elem_info[t.elem].class == SIGNED &&
        chance(g, 60)) /* make some indices negative, as indices before the edge of an image are */
        number = i32_binary(g, NODE_sub, number, extent_node(g, (struct extent){0, 0, 1 + below(g, 40)}));
    struct var *i = var_new(g, t, false), *of[3];
    assign(g, at, i, node_fit(g, number, t));
    struct node *rest = node_var(g, i);
    for (int k = 0; k < 3; k++) {
        of[k] = var_new(g, t, false);
        assign(g, at, of[k], k < 2 ? node_binary(g, NODE_rem, t, rest, divisor(g, t)) : rest);
        rest = node_binary(g, NODE_div, t, rest, divisor(g, t));
    }
    for (int k = 1 + below(g, 3); k > 0; k--) {
        struct node *x = node_var(g, of[below(g, 3)]),
                    *y = chance(g, 50) ? node_var(g, of[below(g, 3)]) : node_int(g, t, below(g, 8)),
                    *c = node_binary(g, NODE_compare, vtype_of(EL_i1, s), x, y),
                    *n = node_new(g, NODE_where, t);
        c->word = chance(g, 60) ? "==" : chance(g, 50) ? "!=" : "<";
        c = chance(g, 40) ? node_unary(g, NODE_not, c->type, c) : c;
        n->nargs = 3;
        n->arg[0] = c;
        n->arg[1] =
            node_binary(g, chance(g, 50) ? NODE_add : NODE_mul, t, node_var(g, of[0]), node_var(g, of[1]));
        n->arg[2] = chance(g, 60) ? node_var(g, of[2]) : value(g, t, 2);
        struct stmt *store = store_statement(g, n, chance(g, 30) ? c : NULL);
        if (store) {
            **at = store;
            *at = &store->next;
        }
    }
}
