/* tma.c: loads of tiles become copies by tensor maps.
 *
 *     %p = addptr %As, %offsets                      map #m0 = f16 base=[%A] extents=[%M, %K] strides=[%sm 2 *, 2] box=[128 64]
 *     for %k ... carry(%q = %p) {
 *       %m = (128 pid + i0 < M) & (64 %k + i1 < K)
 *       %a = load %q, %m               =>              %a = tensor_load %start0, %start1 map=0
 *
 * The map's dimensions stand in the order of memory: attribute `order` says which of the tile's they are, where that is
 * another order. What only the launch knows (are strides multiples of 16 bytes?) the launcher finds when it makes the map, or
 * by a guard; it then takes the kernel without maps.
 *
 * Legal where the address is a box of an array (access.c), elements off the mask are 0 or NaN, and nothing that the kernel
 * wrote before may lie there. Rows that a program wraps (% M) are read as 0: allowed where they stay rows up to stores whose
 * masks leave them out.
 * Needs: traced ops. Leaves: the addresses' ops, for dce. */
#include "opt/affine.h"
#include "opt/passes.h"

#include <math.h>

struct raising {
    struct func *f;
    struct affine_table *t;
};

/* -- does it pay? -- */

/* Only operands of warpgroup dots in loops so far: they are read from shared memory anyway. */
static bool feeds_dots(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        bool is_operand = o->code == OP_dot && u != &o->opnds[2] && dot_is_wgmma(o);
        if (!is_operand && !(o->code == OP_trans && feeds_dots(op_result(o))))
            return false;
    }
    return v->uses != NULL;
}

static const char *no_profit(const struct op *o)
{
    if (!o->block->parent || o->block->parent->code != OP_for)
        return "it is in no loop";
    return feeds_dots(op_result(o)) ? NULL : "it is not only an operand of warpgroup dots";
}

/* -- earlier stores -- */

struct writes {
    struct affine_table *t;
    const struct op *load;
    int base;
    bool passed, found; /* the load; a write that may come before it */
};

static bool share_a_loop(const struct op *a, const struct op *b)
{
    for (const struct op *o = a->block->parent; o; o = o->block->parent)
        if ((o->code == OP_for || o->code == OP_while) && op_is_inside(b, o))
            return true;
    return false;
}

static void visit_write(struct op *o, void *ctx)
{
    struct writes *w = ctx;
    w->passed = w->passed || o == w->load;
    if (op_has(o, WRITES) && (!w->passed || share_a_loop(o, w->load)))
        w->found = true;
}

/* Another parameter may well point to the same array. */
static bool may_be_written(struct func *f, const struct op *load)
{
    struct writes w = {.load = load};
    func_walk(f, visit_write, &w);
    return w.found;
}

/* -- wrapped rows -- */

struct spread {
    struct affine_table *t;
    const struct poly *f; /* rows for which f < 0 fails are not as the program has them */
    struct map seen;      /* value to a bit per dimension */
};

static bool stays_apart(struct spread *x, const struct value *v, int dim);

static bool stays_apart_in_dot(struct spread *x, const struct op *o, int i, int dim)
{
    int rank = op_result(o)->type->rank, summed = i == 0 ? rank - 1 : i == 1 ? rank - 2 : -1;
    return dim != summed && stays_apart(x, op_result(o), dim);
}

static bool stays_apart_in_yield(struct spread *x, const struct op *o, int i, int dim)
{
    const struct op *by = o->block->parent;
    if (by && by->code == OP_for && !stays_apart(x, by->regions[0]->args.at[i + 1], dim))
        return false;
    return by && (by->code == OP_for || by->code == OP_if) && stays_apart(x, &by->results[i], dim);
}

static bool stays_apart_in(struct spread *x, const struct op *o, int i, int dim)
{
    if (op_has(o, ELEMENTWISE))
        return stays_apart(x, op_result(o), dim);
    const struct attr *order = op_attr(o, ATTR_order);
    int axis = (int)op_int(o, ATTR_axis), to = dim;
    switch (o->code) {
    case OP_dot: return stays_apart_in_dot(x, o, i, dim);
    case OP_yield: return stays_apart_in_yield(x, o, i, dim);
    case OP_for:
        return i >= 3 && stays_apart(x, o->regions[0]->args.at[i - 2], dim) &&
               stays_apart(x, &o->results[i - 3], dim);
    case OP_trans:
        for (to = 0; order->list[to] != dim;)
            to++;
        return stays_apart(x, op_result(o), to);
    case OP_expand_dims: return stays_apart(x, op_result(o), dim + (dim >= axis));
    case OP_broadcast: return stays_apart(x, op_result(o), dim);
    case OP_reduce:
        for (int k = 0; k < o->nresults && dim != axis; k++)
            if (!stays_apart(x, &o->results[k], dim - (dim > axis)))
                return false;
        return dim != axis;
    case OP_store: return mask_implies(x->t, op_opnd(o, 2), dim, x->f);
    default: return false;
    }
}

static bool stays_apart(struct spread *x, const struct value *v, int dim)
{
    void **seen = map_at_ptr(&x->seen, v);
    uintptr_t bits = (uintptr_t)*seen;
    if (bits >> dim & 1)
        return true;
    *seen = (void *)(bits | (uintptr_t)1 << dim);
    for (const struct use *u = v->uses; u; u = u->next)
        if (!stays_apart_in(x, u->user, (int)(u - u->user->opnds), dim))
            return false;
    return true;
}

static bool wraps_are_masked(struct raising *r, const struct op *load, const struct access *a)
{
    for (int d = 0; d < a->tile_rank; d++)
        for (int i = 0; i < a->dims[d].nbounds; i++) {
            int to[RANK_MAX] = {0};
            struct poly f;
            struct spread x = {.t = r->t, .f = &f};
            map_init(&x.seen, r->f->module->scratch);
            if (a->dims[d].bounds[i].is_wrap &&
                (!poly_rename(r->t, &f, &a->dims[d].bounds[i].f, to) || !stays_apart(&x, op_result(load), d)))
                return false;
        }
    return true;
}

/* -- the map -- */

/* What elements off the mask are: 0, or NaN. */
static bool fill_of(const struct value *other, bool *nan)
{
    uint64_t bits;
    *nan = false;
    if (!other)
        return true;
    if (!value_const_bits(other, &bits))
        return false;
    *nan = type_is_float(other->type) && isnan(bits_to_double(type_elem(other->type)->dtype, bits));
    return *nan || bits == 0;
}

static bool extent_expr(struct raising *r, const struct access_dim *d, struct expr *out)
{
    const int64_t largest = INT64_C(1) << 32;
    struct poly none = {0}, extent;
    for (int i = 0; i < d->nbounds; i++) {
        if (!poly_add(r->t, &extent, &none, &d->bounds[i].more, -1) || !poly_expr(r->t, &extent, out))
            return false;
        if (i)
            expr_push(r->f->module->arena, out, EXPR_min, 0);
    }
    if (!d->nbounds)
        expr_push(r->f->module->arena, out, EXPR_const, largest);
    return true;
}

static bool base_expr(struct raising *r, const struct access *a, struct expr *out)
{
    expr_push(r->f->module->arena, out, EXPR_param, a->base);
    if (!a->offset.n)
        return true;
    bool good = poly_expr(r->t, &a->offset, out);
    expr_push(r->f->module->arena, out, EXPR_add, 0);
    return good;
}

/* The access's dimensions from the outermost: others, the tile's, the contiguous one. */
static void order_dims(const struct access *a, int *dims)
{
    int n = 0;
    for (int d = a->tile_rank; d < a->ndims; d++)
        dims[n++] = d;
    for (int d = 0; d < a->tile_rank; d++)
        if (d != a->contiguous)
            dims[n++] = d;
    dims[n] = a->contiguous;
}

static const char *make_map(struct raising *r, const struct access *a, const struct type *tile,
                            const int *dims, struct tensor_map *m)
{
    struct text why;
    text_init(&why, r->f->module->scratch);
    m->dtype = (int)type_elem(tile)->dtype;
    m->rank = a->ndims;
    if (!base_expr(r, a, &m->base))
        return "the launcher cannot compute the base";
    for (int i = 0; i < m->rank; i++) {
        const struct access_dim *d = &a->dims[dims[i]];
        int64_t bytes;
        bool is_inner = i == m->rank - 1;
        if (!is_inner && poly_const(&d->stride, &bytes) && bytes % MAP_ALIGN != 0) {
            text_printf(&why, "the stride of dimension %d is no multiple of 16 bytes", dims[i]);
            return why.s;
        }
        if (!poly_expr(r->t, &d->stride, &m->strides[i]) || !extent_expr(r, d, &m->extents[i])) {
            text_printf(&why, "the launcher cannot compute dimension %d", dims[i]);
            return why.s;
        }
        m->box[i] = d->tile_dim < 0 ? 1 : tile->shape[d->tile_dim];
    }
    return m->box[m->rank - 1] * type_elem_bytes(tile) < MAP_ALIGN ? "fewer than 16 bytes lie side by side"
                                                                   : NULL;
}

static int add_map(struct func *f, const struct tensor_map *m)
{
    int i = 0;
    while (i < f->maps.n && !tensor_map_equal(&f->maps.at[i], m))
        i++;
    if (i == f->maps.n)
        VEC_PUSH(f->module->arena, &f->maps, *m);
    return i;
}

static bool guard_exprs(struct raising *r, const struct access *a, struct expr *out)
{
    for (int i = 0; i < a->nguards; i++)
        if (!poly_expr(r->t, &a->guards[i], &out[i]))
            return false;
    return true;
}

static void add_guards(struct func *f, int n, const struct expr *guards)
{
    for (int i = 0; i < n; i++) {
        int k = 0;
        while (k < f->guards.n && !expr_equal(&f->guards.at[k], &guards[i]))
            k++;
        if (k == f->guards.n)
            VEC_PUSH(f->module->arena, &f->guards, guards[i]);
    }
}

/* -- the rewrite -- */

static void rewrite(struct raising *r, struct op *load, const struct access *a, const int *dims, int map)
{
    struct builder b = build_before(load);
    struct value *starts[MAP_RANK_MAX];
    int order[MAP_RANK_MAX], nouter = a->ndims - a->tile_rank;
    bool permuted = false;
    for (int i = 0; i < a->ndims; i++)
        starts[i] = poly_build(r->t, &b, &a->dims[dims[i]].start);
    for (int i = 0; i < a->tile_rank; i++) {
        order[i] = dims[nouter + i];
        permuted = permuted || order[i] != i;
    }
    struct op *o = build_op(&b, OP_tensor_load, a->ndims, starts, 1, &op_result(load)->type, 0);
    op_set_int(o, ATTR_map, map);
    if (permuted)
        op_set_list(o, ATTR_order, a->tile_rank, order);
    value_replace(op_result(load), op_result(o));
    value_take_name(op_result(o), op_result(load));
    op_erase(load);
}

/* NULL: done. */
static const char *raise_load(struct raising *r, struct op *o)
{
    struct access a;
    struct tensor_map m = {0};
    struct expr guards[GUARDS_MOST] = {0};
    const struct type *tile = op_result(o)->type;
    int dims[MAP_RANK_MAX];
    const char *why = no_profit(o);
    why = why ? why : access_of(r->t, o, &a);
    if (why)
        return why;
    if (op_int(o, ATTR_volatile))
        return "it is volatile";
    if (!fill_of(op_opnd(o, 2), &m.nan))
        return "elements off the mask are neither 0 nor NaN";
    if (may_be_written(r->f, o))
        return "the kernel writes before it";
    if (!wraps_are_masked(r, o, &a))
        return "rows beyond the bound are wrapped, and may reach more than masked stores";
    order_dims(&a, dims);
    why = make_map(r, &a, tile, dims, &m);
    if (why || !guard_exprs(r, &a, guards))
        return why ? why : "the launcher cannot compute a guard";
    add_guards(r->f, a.nguards, guards);
    rewrite(r, o, &a, dims, add_map(r->f, &m));
    return NULL;
}

static void explain_access(struct raising *r, const struct op *o)
{
    struct access a;
    struct text t;
    text_init(&t, r->f->module->scratch);
    const char *why = access_of(r->t, o, &a);
    if (why)
        text_str(&t, why);
    else
        access_print(r->t, &a, &t);
    opt_explain(r->f, o, "%s: %s", op_info[o->code].name, t.s);
}

static void visit(struct op *o, void *ctx)
{
    struct raising *r = ctx;
    bool is_access = (o->code == OP_load || o->code == OP_store) && type_is_tile(op_opnd(o, 0)->type);
    if (is_access && opt_explains(r->f))
        explain_access(r, o);
    if (!is_access || o->code != OP_load)
        return;
    struct op at = *o;
    const char *why = raise_load(r, o);
    opt_explain(r->f, &at, "%s%s", why ? "stays a load: " : "a copy by a tensor map", why ? why : "");
}

void opt_tma(struct func *f)
{
    struct raising r = {.f = f, .t = affine_new(f)};
    if (f->target && target_has(f->target, HAS_tma))
        func_walk(f, visit, &r);
}
