/* SPDX-License-Identifier: MIT */
/* generate.c: generates a program from a seed: sizes, parameters, statements. */
#include "tests/random/generate.h"

#include <stdio.h>
#include <string.h>

const struct elem_info elem_info[EL_count] = {
#define E(word, kind, bits, precision, most, least, name, sign, torch)                                       \
    {kind, bits, precision, most, least, name, sign, torch},
    ELEMENTS(E)
#undef E
};

const char *const node_words[NODE_count] = {
#define N(word, text) #word,
    NODES(N)
#undef N
};

const char *const node_texts[NODE_count] = {
#define N(word, text) text,
    NODES(N)
#undef N
};

/* -- random choices -- */

static uint64_t bits_next(struct gen *g)
{
    g->state += 0x9E3779B97F4A7C15u;
    uint64_t x = g->state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

int below(struct gen *g, int n)
{
    return (int)(bits_next(g) % (uint64_t)n);
}

bool chance(struct gen *g, int of_100)
{
    return below(g, 100) < of_100;
}

/* -- shapes and types -- */

int64_t shape_size(const struct program *p, const struct shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= size_of(p, s->dim[i]);
    return n;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof a->dim[0]) == 0;
}

int shape_log(const struct gen *g, const struct shape *s)
{
    int log = 0;
    for (int64_t n = shape_size(g->p, s); n > 1; n /= 2)
        log++;
    return log;
}

dims shape_symbols(const struct shape *s)
{
    dims d = 0;
    for (int i = 0; i < s->rank; i++)
        d |= s->dim[i];
    return d;
}

bool shape_is_plain(const struct shape *s)
{
    dims d = 0;
    for (int i = 0; i < s->rank; i++) {
        if (d & s->dim[i])
            return false;
        d |= s->dim[i];
    }
    return true;
}

struct shape shape_any(struct gen *g)
{
    return g->shapes[below(g, g->nshapes)];
}

struct range range_full(enum elem e)
{
    const struct elem_info *i = &elem_info[e];
    if (i->class == FLOAT)
        return (struct range){i->most > 30 ? 30 : i->most - 3, ANY_LEAST};
    if (i->class == SMALL)
        return (struct range){i->most - 2, ANY_LEAST};
    return (struct range){64, 0};
}

struct vtype vtype_of(enum elem e, struct shape s)
{
    return (struct vtype){KIND_value, e, s, range_full(e)};
}

struct vtype vtype_ranged(enum elem e, struct shape s, int most, int least)
{
    return (struct vtype){KIND_value, e, s, {most, least}};
}

bool is_limited(const struct vtype *t)
{
    const struct elem_info *i = &elem_info[t->elem];
    return (i->class & INTS) && t->range.most < i->bits - (i->class == SIGNED);
}

bool range_within(enum elem e, struct range inner, struct range outer)
{
    struct vtype t = {KIND_value, e, {0}, outer};
    if (elem_info[e].class == BOOL)
        return true;
    if (elem_info[e].class & INTS)
        return !is_limited(&t) || inner.most <= outer.most;
    return inner.most <= outer.most && inner.least >= outer.least;
}

enum elem elem_any(struct gen *g, int classes)
{
    static const int weight[EL_count] = {
        [EL_i1] = 2,   [EL_i8] = 3,  [EL_i16] = 2, [EL_i32] = 8,  [EL_i64] = 3,
        [EL_u8] = 2,   [EL_u16] = 1, [EL_u32] = 2, [EL_u64] = 1,  [EL_f16] = 5,
        [EL_bf16] = 3, [EL_f32] = 8, [EL_f64] = 2, [EL_f8e4] = 1, [EL_f8e5] = 2};
    int total = 0;
    for (int e = 0; e < EL_count; e++)
        total += (int)elem_info[e].class & classes ? weight[e] : 0;
    int left = below(g, total);
    for (int e = 0; e < EL_count; e++)
        if ((int)elem_info[e].class & classes && (left -= weight[e]) < 0)
            return (enum elem)e;
    return EL_i32;
}

/* -- names -- */

int symbol_new(struct gen *g, int log, int least)
{
    g->p->log_size[g->p->nsymbols] = log;
    g->p->log_least[g->p->nsymbols] = least;
    return g->p->nsymbols++;
}

struct var *var_new(struct gen *g, struct vtype t, bool mutable)
{
    struct var *v = NEW(g->arena, struct var);
    snprintf(v->name, sizeof v->name, "v%d", g->p->nvars++);
    v->type = t;
    v->mutable = mutable;
    if (g->nscope < SCOPE)
        g->scope[g->nscope++] = v;
    return v;
}

struct scalar *scalar_new(struct gen *g, struct extent value)
{
    struct program *p = g->p;
    for (int i = 0; i < p->nscalars; i++)
        if (memcmp(&p->scalars[i]->value, &value, sizeof value) == 0)
            return p->scalars[i];
    if (p->nscalars == SCALARS)
        return NULL;
    struct scalar *s = NEW(g->arena, struct scalar);
    snprintf(s->name, sizeof s->name, "n%d", p->nscalars);
    s->value = value;
    return p->scalars[p->nscalars++] = s;
}

struct stmt *stmt_new(struct gen *g, enum stmt_kind kind)
{
    struct stmt *s = NEW(g->arena, struct stmt);
    s->kind = kind;
    return s;
}

static void append(struct stmt ***at, struct stmt *s)
{
    if (!s)
        return;
    **at = s;
    *at = &s->next;
}

/* -- statements -- */

static struct vtype type_any(struct gen *g)
{
    struct shape s = chance(g, 20) ? (struct shape){0} : shape_any(g);
    return vtype_of(elem_any(g, INTS | FLOAT | (chance(g, 25) ? BOOL | SMALL : 0)), s);
}

static void add_assign(struct gen *g, struct stmt ***at, int depth)
{
    struct var *again[SCOPE];
    int n = 0;
    for (int i = 0; i < g->nscope; i++)
        if (g->scope[i]->mutable && g->scope[i]->type.kind == KIND_value)
            again[n++] = g->scope[i];
    struct stmt *s = stmt_new(g, STMT_assign);
    if (n && chance(g, 55)) {
        s->var = again[below(g, n)];
        s->e[0] = value(g, s->var->type, depth);
    } else if (chance(g, 8)) {
        static const enum elem elems[] = {EL_i32, EL_i32, EL_u32, EL_i64, EL_u64,
                                          EL_f32, EL_f64, EL_f16, EL_bf16};
        struct vtype t = vtype_of(elems[below(g, 9)], chance(g, 30) ? (struct shape){0} : shape_any(g));
        if ((s->e[0] = fetch_node(g, t, depth - 1)) == NULL)
            return;
        s->var = var_new(g, t, false);
    } else {
        struct vtype t = type_any(g);
        bool mutable = chance(g, 60);
        if (is_float(t.elem) && chance(g, 60)) { /* choose values whose sums are exact */
            int bits = elem_info[t.elem].precision < 12 ? elem_info[t.elem].precision : 12;
            t.range.least = -bits / 2;
            t.range.most = t.range.least + bits;
        }
        s->e[0] = value(g, t, depth);
        s->var = var_new(g, t, mutable);
    }
    append(at, s);
}

static void add_store(struct gen *g, struct stmt ***at, int depth)
{
    struct vtype t = type_any(g);
    struct node *v = value(g, t, depth);
    struct stmt *s = NULL;
    if ((is_int(t.elem) || is_float(t.elem)) && chance(g, 20))
        s = region_statement(g, v, chance(g, 60));
    if (s) {
        append(at, s);
        return;
    }
    append(at, store_statement(g, v, chance(g, 30) ? mask_for(g, &t.shape, depth - 1) : NULL));
}

static struct var *load_back(struct gen *g, struct stmt ***at, const struct stmt *stored)
{
    struct vtype t = vtype_of(stored->buffer->elem, stored->region->shape);
    struct node *n = node_new(g, NODE_reload, t);
    struct stmt *s = stmt_new(g, STMT_assign);
    n->region = stored->region;
    s->e[0] = n;
    s->var = var_new(g, t, true);
    append(at, s);
    return s->var;
}

/* Adds a load from a region, a store to the region, and another load from the region, sometimes in a loop. */
static void add_exchange(struct gen *g, struct stmt ***at, int depth)
{
    struct vtype t = vtype_of(elem_any(g, INTS | FLOAT), chance(g, 30) ? (struct shape){0} : shape_any(g));
    struct stmt *first = region_statement(g, value(g, t, depth), chance(g, 50));
    if (!first)
        return;
    append(at, first);
    struct var *before = load_back(g, at, first);
    append(at, region_statement(g, value(g, t, depth), true));
    struct var *after = load_back(g, at, first);
    append(at, store_statement(g, node_var(g, before), NULL));
    append(at, store_statement(g, node_var(g, after), NULL));
}

/* Returns a reduction of a whole tile, so that warps exchange data through shared memory. */
static struct node *number_of_tile(struct gen *g)
{
    static const enum node_kind kinds[] = {NODE_max, NODE_min, NODE_sum};
    struct vtype tile = vtype_of(elem_any(g, INTS), shape_any(g)),
                 one = vtype_of(tile.elem, (struct shape){0});
    struct node *n = node_unary(g, kinds[below(g, 3)], one, value(g, tile, 2));
    n->axis = -9;
    return n;
}

static struct node *condition_of_tile(struct gen *g)
{
    struct node *n = number_of_tile(g);
    struct vtype one = n->type;
    n = node_binary(g, NODE_compare, vtype_of(EL_i1, one.shape), n, leaf(g, one));
    n->word = chance(g, 50) ? "<" : "!=";
    return n;
}

/* Returns a small scalar integer that differs between programs or iterations. The integer is so small that two such
 * integers are often equal. */
static struct node *small_scalar(struct gen *g, struct vtype t)
{
    int what = below(g, 4);
    if (what == 0 && !g->in_function)
        return node_fit(g, node_pid(g), t);
    if (what == 1 && g->round)
        return node_fit(g, g->round, t);
    return value(g, t, 2);
}

/* Returns a comparison (== or !=) of small integers. The integers are equal in some programs and iterations. */
static struct node *condition_of_equality(struct gen *g)
{
    struct vtype t = vtype_ranged(elem_any(g, INTS), (struct shape){0}, 1 + below(g, 3), 0),
                 truth = vtype_of(EL_i1, t.shape);
    struct node *x = small_scalar(g, t),
                *y = chance(g, 60) ? node_int(g, t, below(g, 1 << t.range.most)) : small_scalar(g, t);
    struct node *n = node_binary(g, NODE_compare, truth, x, y);
    n->word = chance(g, 60) ? "==" : "!=";
    return chance(g, 50) ? node_unary(g, chance(g, 60) ? NODE_contrary : NODE_not, truth, n) : n;
}

static struct node *condition(struct gen *g, int depth)
{
    if (chance(g, 20))
        return condition_of_tile(g);
    if (chance(g, 35))
        return condition_of_equality(g);
    return value(g, vtype_of(EL_i1, (struct shape){0}), depth > 2 ? 3 : 2);
}

static void block(struct gen *g, struct stmt **at, int n, int depth)
{
    int scope = g->nscope;
    statements(g, &at, n, depth - 1);
    g->nscope = scope;
}

static void add_if(struct gen *g, struct stmt ***at, int depth)
{
    struct stmt *s = stmt_new(g, STMT_if);
    s->e[0] = condition(g, depth);
    block(g, &s->body, 1 + below(g, 2), depth);
    if (chance(g, 40))
        block(g, &s->alternative, 1 + below(g, 2), depth);
    append(at, s);
}

static void add_return(struct gen *g, struct stmt ***at, int depth)
{
    struct stmt *s = stmt_new(g, STMT_if), **end = &s->body;
    int scope = g->nscope;
    s->e[0] = condition(g, depth);
    if (chance(g, 30))
        add_store(g, &end, 2);
    g->nscope = scope;
    append(&end, stmt_new(g, STMT_return));
    append(at, s);
}

static struct node *small_int(struct gen *g, int x)
{
    struct node *n = node_int(g, vtype_ranged(EL_i32, (struct shape){0}, 3, 0), x);
    if (!chance(g, 60))
        return n;
    n = node_extent(g, 0, 0, x);
    n->scalar = scalar_new(g, n->extent);
    return n;
}

/* Adds a store of the loop counter to an address that does not depend on the counter. So the counter's register is
 * needed until this store. */
static void store_counter(struct gen *g, struct stmt **list, struct var *counter)
{
    struct node *round = g->round;
    g->round = NULL;
    while (*list)
        list = &(*list)->next;
    append(&list, store_statement(g, node_var(g, counter), NULL));
    g->round = round;
}

/* Adds a loop's body: statements, and often stores of the counter before and after them. */
static void loop_body(struct gen *g, struct stmt *s, int n, int depth)
{
    struct node *round = g->round;
    g->round = node_var(g, s->var);
    g->depth_of_loops++;
    struct stmt **at = &s->body;
    if (chance(g, 25))
        store_counter(g, at, s->var);
    while (*at)
        at = &(*at)->next;
    block(g, at, n, depth);
    if (chance(g, 35))
        store_counter(g, &s->body, s->var);
    g->depth_of_loops--;
    g->round = round;
}

static void add_for(struct gen *g, struct stmt ***at, int depth)
{
    struct stmt *s = stmt_new(g, STMT_for);
    int trips = below(g, 5), from = chance(g, 60) ? 0 : below(g, 5),
        step = chance(g, 70) ? 1 : 1 + below(g, 3);
    s->e[0] = small_int(g, from);
    s->e[1] = small_int(g, from + trips * step);
    s->e[2] =
        step == 1 && chance(g, 80) ? NULL : node_int(g, vtype_ranged(EL_i32, (struct shape){0}, 3, 0), step);
    if (chance(g, 15)) { /* make the step negative */
        struct node *swap = s->e[0];
        s->e[0] = s->e[1];
        s->e[1] = swap;
        s->e[2] = node_int(g, vtype_of(EL_i32, (struct shape){0}), -step);
    } else if (chance(g, 25)) { /* load the number of iterations from memory */
        struct vtype t = vtype_ranged(EL_i32, (struct shape){0}, 2, 0);
        s->e[1] = value(g, t, 2);
    }
    s->form = chance(g, 20) ? FORM_tl_range : FORM_range;
    s->stages = s->form ? below(g, 4) : 0;
    s->unroll = s->form && chance(g, 50) ? 1 + below(g, 4) : 0;
    if (s->e[0]->kind == NODE_number && s->e[1]->kind == NODE_number && chance(g, 40)) {
        s->form = FORM_static;
        s->stages = 0;
    }
    int scope = g->nscope;
    s->var = var_new(g, vtype_ranged(EL_i32, (struct shape){0}, 5, 0), false);
    loop_body(g, s, 1 + below(g, 3), depth);
    g->nscope = scope;
    append(at, s);
}

/* Adds while counter < n [and condition]: ...; counter += 1 */
static void add_while(struct gen *g, struct stmt ***at, int depth)
{
    struct vtype t = vtype_ranged(EL_i32, (struct shape){0}, 4, 0);
    struct stmt *begin = stmt_new(g, STMT_assign), *s = stmt_new(g, STMT_while),
                *step = stmt_new(g, STMT_assign);
    begin->var = s->var = step->var = var_new(g, t, false);
    begin->e[0] = node_zero(g, t);
    append(at, begin);
    struct vtype truth = vtype_of(EL_i1, (struct shape){0});
    struct node *c = node_binary(g, NODE_compare, truth, node_var(g, s->var), small_int(g, below(g, 5)));
    c->word = "<";
    if (chance(g, 40))
        c = node_binary(g, NODE_and, truth, c, chance(g, 50) ? condition_of_tile(g) : condition(g, 2));
    s->e[0] = c;
    loop_body(g, s, 1 + below(g, 2), depth);
    struct stmt **end = &s->body;
    while (*end)
        end = &(*end)->next;
    step->e[0] = node_binary(g, NODE_add, t, node_var(g, s->var), node_int(g, t, 1));
    append(&end, step);
    append(at, s);
    if (chance(g, 40)) /* then another exchange through shared memory follows the exchange in the condition */
        append(at, store_statement(g, number_of_tile(g), NULL));
}

void statements(struct gen *g, struct stmt ***at, int n, int depth)
{
    for (int i = 0; i < n; i++) {
        int what = below(g, 100);
        g->nodes = 0;
        g->ndots = 0;
        if (depth <= 0)
            what = what % 60;
        if (what < 26)
            add_assign(g, at, 2 + below(g, 3));
        else if (what < 50)
            add_store(g, at, 2 + below(g, 3));
        else if (what < 57)
            append(at, atomic_statement(g, 2));
        else if (what < 60)
            add_exchange(g, at, 2);
        else if (what < 68)
            add_if(g, at, depth);
        else if (what < 80)
            add_for(g, at, depth);
        else if (what < 85)
            add_while(g, at, depth);
        else if (what < 90 && g->depth_of_loops == 0 && depth == 3)
            add_return(g, at, depth);
        else if (what < 97 && g->depth_of_loops < 2)
            (chance(g, 15) ? attention_loop : product_loop)(g, at);
        else
            add_assign(g, at, 4);
    }
}

/* -- functions -- */

static void add_function(struct gen *g)
{
    struct function *f = NEW(g->arena, struct function);
    snprintf(f->name, sizeof f->name, "g%d", g->p->nfunctions);
    f->nparams = 1 + below(g, 2);
    f->type = vtype_of(elem_any(g, INTS | FLOAT), chance(g, 40) ? (struct shape){0} : shape_any(g));
    g->in_function = true;
    for (int i = 0; i < f->nparams; i++) {
        struct vtype t = chance(g, 50) ? f->type : type_any(g);
        t.range = range_full(t.elem);
        f->params[i] = var_new(g, t, false);
    }
    struct stmt **at = &f->body;
    struct vtype part = f->type;
    if (is_float(part.elem))
        part.range.most--;
    if (chance(g, 50)) { /* give the result a name, or return early */
        struct stmt *s = stmt_new(g, STMT_assign);
        s->e[0] = value(g, part, 2);
        s->var = var_new(g, part, false);
        append(&at, s);
    }
    if (chance(g, 40)) {
        struct stmt *s = stmt_new(g, STMT_if), *end = stmt_new(g, STMT_return);
        s->e[0] = value(g, vtype_of(EL_i1, (struct shape){0}), 2);
        end->e[0] = value(g, part, 1);
        if (end->e[0]->kind != NODE_number) {
            s->body = end;
            append(&at, s);
        }
    }
    f->result = value(g, part, 2);
    g->nscope = 0;
    g->in_function = false;
    g->p->functions[g->p->nfunctions++] = f;
}

/* -- programs -- */

static void choose_shapes(struct gen *g)
{
    static const int logs[] = {0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8};
    struct program *p = g->p;
    p->log_size[TWO] = p->log_size[OTHER_TWO] = p->log_least[TWO] = p->log_least[OTHER_TWO] = 1;
    p->nsymbols = FIRST_SYMBOL;
    int n = 3 + below(g, 4);
    for (int i = 0; i < n; i++)
        symbol_new(g, logs[below(g, 12)], 0);
    if (chance(g, 30)) {
        symbol_new(g, 4, 4);
        symbol_new(g, 4 + below(g, 2), 4);
        symbol_new(g, 5, 5);
    }
    while (g->nshapes < 3 + n % 3) {
        struct shape s = {.rank = 1 + below(g, 3)};
        for (int i = 0; i < s.rank; i++) {
            s.dim[i] = (dims)1 << (FIRST_SYMBOL + below(g, p->nsymbols - FIRST_SYMBOL));
            if (chance(g, 6))
                s.dim[i] = 0;
            else if (chance(g, 5))
                s.dim[i] |= (dims)1 << TWO;
        }
        if (chance(g, 8))
            s.dim[s.rank - 1] = (dims)1 << TWO;
        if (shape_is_plain(&s) && shape_log(g, &s) <= g->tile_log)
            g->shapes[g->nshapes++] = s;
    }
}

static bool has_effect(const struct stmt *s)
{
    for (; s; s = s->next)
        if (s->kind == STMT_store || s->kind == STMT_atomic || has_effect(s->body) ||
            has_effect(s->alternative))
            return true;
    return false;
}

/* The limit of the number of multiply-adds and elements that all programs together compute, so that a run takes only a
 * few seconds. This limit prevents large grids of programs with large products. */
static const int64_t WORK_MOST = (int64_t)1 << 27;

static int64_t expression_work(const struct program *p, const struct node *n)
{
    if (!n)
        return 0;
    int64_t work = shape_size(p, &n->type.shape);
    if ((n->kind == NODE_dot || n->kind == NODE_dot_acc) && n->arg[0]->type.shape.rank > 0) {
        const struct shape *a = &n->arg[0]->type.shape;
        work *= size_of(p, a->dim[a->rank - 1]);
    }
    for (int i = 0; i < n->nargs; i++)
        work += expression_work(p, n->arg[i]);
    return work;
}

/* Returns the value of n, the bound of a loop, or `guess` if n is computed at run time. */
static int64_t bound_value(const struct program *p, const struct node *n, int64_t guess)
{
    if (n->kind == NODE_number)
        return n->bits;
    if (n->kind == NODE_scalar)
        return extent_of(p, &n->scalar->value);
    return n->kind == NODE_extent ? extent_of(p, &n->extent) : guess;
}

static int64_t iterations(const struct program *p, const struct stmt *s)
{
    enum { GUESS = 4 };
    if (s->kind != STMT_for)
        return s->kind == STMT_while ? GUESS : 1;
    int64_t from = bound_value(p, s->e[0], 0), to = bound_value(p, s->e[1], GUESS);
    int64_t step = s->e[2] ? bound_value(p, s->e[2], 1) : 1;
    int64_t n = step ? (to - from) / step + 1 : 1;
    return n < 1 ? 1 : n;
}

/* Estimates how many multiply-adds and elements one program of the grid computes. */
static int64_t statements_work(const struct program *p, const struct stmt *s)
{
    int64_t work = 0;
    for (; s; s = s->next) {
        int64_t once = statements_work(p, s->body) + statements_work(p, s->alternative);
        for (int i = 0; i < 4; i++)
            once += expression_work(p, s->e[i]);
        work += once * iterations(p, s);
    }
    return work;
}

/* Chooses the grid. The grid usually has few programs. If tiles are small, it sometimes has more programs than a GPU
 * or the emulator runs at the same time. */
static void choose_grid(struct gen *g, bool is_small)
{
    int what = is_small ? 0 : below(g, 100);
    g->tile_log = chance(g, 20) ? 12 : 10;
    if (what < 62)
        g->p->grid = 1 + below(g, 3);
    else if (what < 90)
        g->p->grid = 4 + below(g, 8);
    else if (what < 98)
        g->p->grid = chance(g, 50) ? 32 << below(g, 2) : 12 + below(g, 30);
    else
        g->p->grid = 133 + below(g, 30);
    if (chance(g, 25))
        g->p->grid_form = chance(g, 40) ? GRID_y : GRID_xy;
    if (g->p->grid > 11)
        g->tile_log = g->p->grid > 64 ? 6 : 8;
}

static struct program *generate(struct arena *a, uint64_t seed, bool small_grid, const bool *avoid)
{
    static const int warps[] = {1, 1, 2, 4, 4, 4, 4, 8, 8, 16};
    struct program *p = NEW(a, struct program);
    struct gen g = {
        .p = p, .arena = a, .state = seed * 0xD1342543DE82EF95u + 12345, .nodes_most = 24, .avoid = avoid};
    p->arena = a;
    p->seed = seed;
    p->warps = warps[below(&g, 10)];
    p->stages = 1 + below(&g, 4);
    p->no_fusion = chance(&g, 15);
    choose_grid(&g, small_grid);
    choose_shapes(&g);
    int n = 2 + below(&g, 7);
    while (p->nfunctions < 2 && chance(&g, 20))
        add_function(&g);
    struct stmt **at = &p->body;
    if (chance(&g, 20)) {
        struct scalar *f = scalar_new(&g, (struct extent){0, -1, -1 - below(&g, 99)});
        f->is_float = true;
        f->number = (below(&g, 64) - 32) * 0.25;
    }
    int plan = below(&g, 100);
    if (plan < 29) {
        (plan < 13 ? plain_product : plan < 22 ? plain_rows : plain_indices)(&g, &at);
        n = chance(&g, 15);
    } else if (chance(&g, 25)) {
        (chance(&g, 15) ? attention_loop : product_loop)(&g, &at);
    }
    statements(&g, &at, n, 3);
    g.round = NULL;
    /* store the values of variables, because only stored values are compared between devices */
    for (int i = 0; i < g.nscope && i < 6; i++)
        if (g.scope[i]->type.kind == KIND_value && g.scope[i]->mutable)
            append(&at, store_statement(&g, node_var(&g, g.scope[i]), NULL));
    if (!has_effect(p->body))
        add_store(&g, &at, 3);
    return p;
}

struct program *program_generate(struct arena *a, uint64_t seed, const bool *avoid)
{
    struct program *p = generate(a, seed, false, avoid);
    bool is_long = statements_work(p, p->body) * p->grid > WORK_MOST;
    return is_long ? generate(a, seed, true, avoid) : p;
}
