/* SPDX-License-Identifier: MIT */
/* raise_tma_load.c: turns loads of tiles into copies by tensor maps.
 *
 *     %p = addptr %As, %offsets                      map #m0 = f16 base=[%A] extents=[%M, %K] strides=[%sm 2 *, 2]
 *                                                              box=[128 64]
 *     for %k ... carry(%q = %p) {
 *       %m = (128 pid + i0 < M) & (64 %k + i1 < K)
 *       %a = load %q, %m               =>              %a = tensor_load %start0, %start1 map=0
 *
 * The dimensions of a tensor map are in the order of memory; if the tile's order differs, a `trans` follows
 * the tensor_load. Some conditions are known only at launch, for example that the strides are multiples of 16
 * bytes. The launcher checks such a condition when it makes the map, or a guard checks the condition. If a
 * condition is false, the launch uses the fallback kernel, which has no maps.
 *
 * The rewrite is legal if four conditions hold. The load is not volatile. The load's address describes a box of an
 * array (access_pattern.c). Masked elements are 0 or, for floats of 16 bits and more, NaN. The kernel has not written
 * to the array before the load. If a store before the load, or in a loop that contains both, writes through another
 * parameter, a guard checks that the two arrays do not overlap. Any other write before the load or in such a loop
 * excludes the rewrite. If the program wraps row indices (% M), the map loads 0 for the wrapped rows. The
 * rewrite is then legal only if no op combines different rows, and if the masks of all stores exclude the
 * wrapped rows. If the first row of a box, or the end of the rows, is a value from memory, the pass adds a
 * constant to the coordinates of the rows (tma_shift.c).
 *
 * The load of a matrix becomes a copy if a dot reads the matrix, or if the loop computes an operand of a dot
 * from it. The load of a vector (a tile of one dimension) becomes a copy if the loop computes one operand of
 * a dot from the vector, and if the load of the dot's other operand becomes a copy. Needs: traced ops.
 * Leaves: the ops that computed addresses, for dce. */
#include "ir/target/engine.h"
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/plan_copies.h"

#include <math.h>
#include <string.h>

struct candidate {
    struct op *load;
    struct access a;
    int dims[MAP_RANK_MAX];             /* the dimensions of the access in the map's order, outermost first */
    struct value *starts[MAP_RANK_MAX]; /* the coordinates of the copy, in the map's order */
    int nstarts;
    struct tensor_map map;
    struct guards guards;
    const char *why; /* the reason why the load stays a load; NULL: the load becomes a copy */
    /* If this is the load of a vector that shall be copied together with a tile, into the same stages of
     * shared memory: the load of that tile. Otherwise NULL. */
    const struct op *beside;
};

struct raising {
    struct func *f;
    struct affine_table *t;
    const struct axis_table *axes; /* NULL until the first use */
    VEC(struct candidate *) loads;
};

/* -- whether the rewrite is faster -- */

/* Returns whether o is an op of block b, or is inside a `for` loop of b, at any depth of `for` loops. */
static bool stands_in(const struct op *o, const struct block *b)
{
    while (o->block != b && o->block->parent && o->block->parent->code == OP_for)
        o = o->block->parent;
    return o->block == b;
}

/* Returns whether a dot of block b reads v, or a transposition of v, through shared memory. An asynchronous
 * dot may also be in a loop of the block. Other ops of the block may read v too (they will load it from
 * shared memory into registers). Returns false if any other op outside the block reads v. */
static bool is_operand(const struct value *v, const struct block *b)
{
    bool any = false;
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        const bool is_dot = o->code == OP_dot && u != &o->opnds[2] && dot_is_staged(o);
        if (is_dot && dot_is_async(o) ? !stands_in(o, b) : o->block != b)
            return false;
        any |= is_dot || (o->code == OP_trans && is_operand(op_result(o), b));
    }
    return any;
}

static bool is_read_in(const struct value *v, const struct op *loop)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (op_is_inside(u->user, loop) ||
            (u->user->code == OP_trans && is_read_in(op_result(u->user), loop)))
            return true;
    return false;
}

/* Returns whether the tile of the load is read by all loops of the load's block, or by none of them. A buffer that a
 * producer warp fills by tensor maps occupies shared memory during the whole kernel. A buffer that the
 * threads fill occupies shared memory only while loops read the buffer, so buffers of different loops can
 * share memory. */
static bool has_same_readers(const struct op *load)
{
    bool seen[2] = {false, false};
    for (const struct op *o = load->block->first; o; o = o->next)
        if (o->code == OP_for)
            seen[is_read_in(op_result(load), o)] = true;
    return !(seen[0] && seen[1]);
}

/* Returns whether a copy by a tensor map may be faster than the load: a dot reads the loaded tile through
 * shared memory in any case, and has_same_readers holds. */
static bool may_pay(const struct op *load)
{
    return is_operand(op_result(load), load->block) && has_same_readers(load);
}

/* Returns whether threads should load, into registers, the tiles from which the loop computes operands. This
 * holds for short loops (loop_is_short). A loop that writes memory is excluded, because the loads of an
 * iteration cannot start before the stores of the previous iteration. */
static bool loads_into_registers(const struct op *loop)
{
    return loop_is_short(loop) && !op_may_write(loop);
}

/* Returns whether the load's loop computes an operand of an asynchronous dot from the loaded tile, and a copy by a
 * tensor map can be faster than a load. If threads copied such tiles ahead, the fence between the store of the operand
 * and the dot would wait for these copies. The fence does not wait for copies by tensor maps. */
static bool gives_computed_operand(const struct op *load)
{
    const struct op *loop = load->block->parent;
    const bool is_in_loop = loop && loop->code == OP_for && op_result(load)->type->rank == 2;
    const struct op *dot = is_in_loop ? dot_computed_from(op_result(load)) : NULL;
    return dot && dot_is_async(dot) && (!loads_into_registers(loop) || tile_goes_to_dots(load));
}

/* Returns whether the stages of a ring of such tiles start at addresses to which a tensor map can copy. */
static bool fills_stages(const struct type *t)
{
    return type_elems(t) * type_elem_bytes(t) % STAGE_ALIGN == 0;
}

/* If `load` loads a vector, the loop computes an operand of an asynchronous dot from the vector, and the load
 * of the dot's other operand may become a copy, returns the load of the other operand. Otherwise returns
 * NULL. The copies of the vector and of the other operand can then share a stage. This saves time: the warps
 * that run the dots (the consumers) need neither copy the vector nor wait for each other. */
static const struct op *load_beside(const struct op *load)
{
    const struct type *t = op_result(load)->type;
    const bool fits = t->rank == 1 && fills_stages(t);
    const struct op *dot = fits ? dot_computed_from(op_result(load)) : NULL;
    for (int i = DOT_a; dot && i <= DOT_b; i++) {
        const struct op *o = op_opnd(dot, i)->def;
        while (o && o->code == OP_trans)
            o = op_opnd(o, 0)->def;
        if (o && o->code == OP_load && o->block == load->block && dot_is_async(dot) && may_pay(o))
            return o;
    }
    return NULL;
}

/* Dimension `dim` of v is contiguous in memory, and therefore also in the copied tile. Returns whether all
 * dots that read v can read a tile that is contiguous along `dim`. If an element has either_major_bytes bytes
 * (2), dots can read any tile. Otherwise the tile must be contiguous along K, the dimension along which the
 * dot sums. */
static bool major_fits(const struct value *v, int dim)
{
    const struct target *t = v->block->func->target;
    const struct mma_engine *e = target_engine(t, true), *reads = e ? e : target_engine(t, false);
    bool fits = true;
    for (const struct use *u = v->uses; u && fits; u = u->next) {
        const struct op *o = u->user;
        if (o->code == OP_trans) {
            const struct attr *order = op_attr(o, ATTR_order);
            for (int i = 0; i < order->n; i++)
                fits = fits && (order->list[i] != dim || major_fits(op_result(o), i));
        } else if (o->code == OP_dot && type_elem_bytes(v->type) != reads->either_major_bytes) {
            fits = dim == (u == &o->opnds[0]);
        }
    }
    return fits;
}

/* -- wrapped rows -- */

struct spread {
    struct affine_table *t;
    const struct poly *f; /* a row is wrapped if f >= 0 */
    struct map seen;      /* maps a value to the bit mask of its dimensions that have been visited */
};

/* Returns whether wrapped rows, which dimension `dim` of v numbers, cannot change what the kernel stores: no
 * op that uses v, directly or indirectly, combines elements of different rows, and the masks of all stores
 * exclude the wrapped rows. */
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

static bool modulo_rows_are_masked(struct raising *r, const struct op *load, const struct access *a)
{
    for (int d = 0; d < a->tile_rank; d++)
        for (int i = 0; i < a->dims[d].nbounds; i++) {
            int to[RANK_MAX] = {0};
            struct poly f;
            struct spread x = {.t = r->t, .f = &f};
            map_init(&x.seen, r->f->module->scratch);
            if (a->dims[d].bounds[i].is_modulo &&
                (!poly_rename(r->t, &f, &a->dims[d].bounds[i].f, to) || !stays_apart(&x, op_result(load), d)))
                return false;
        }
    return true;
}

/* -- the map -- */

/* Returns whether a tensor map can fill masked elements with the value `other` (NULL: 0). This holds if
 * `other` is 0 or, for floats of 16 bits and more, NaN. Sets *nan to whether `other` is NaN. */
static bool fill_of(const struct value *other, bool *nan)
{
    uint64_t bits;
    *nan = false;
    if (!other)
        return true;
    if (!value_const_bits(other, &bits))
        return false;
    *nan = type_is_float(other->type) && type_elem_bytes(other->type) > 1 &&
           isnan(bits_to_double(type_elem(other->type)->dtype, bits));
    return *nan || bits == 0;
}

void map_order(const struct access *a, int *dims)
{
    int n = 0;
    for (int d = a->tile_rank; d < a->ndims; d++)
        dims[n++] = d;
    for (int d = 0; d < a->tile_rank; d++)
        if (d != a->contiguous)
            dims[n++] = d;
    dims[n] = a->contiguous;
}

const char *map_of(struct affine_table *t, const struct access *a, const struct type *tile, const int *dims,
                   struct tensor_map *m)
{
    struct text why;
    text_init(&why, t->f->module->scratch);
    m->dtype = (int)type_elem(tile)->dtype;
    if (!base_expr(t, a, &m->base))
        return "the launcher cannot compute the base";
    m->rank = 0;
    if (is_shifted(a)) {
        if (!undoing_stride_expr(t, a, &m->strides[0]))
            return "the launcher cannot compute a stride";
        expr_push(t->f->module->arena, &m->extents[0], EXPR_const, INT64_C(1) << 31);
        m->box[m->rank++] = 1;
    }
    for (int k = 0; k < a->ndims; k++) {
        const struct access_dim *d = &a->dims[dims[k]];
        int64_t bytes;
        bool is_inner = k == a->ndims - 1;
        int i = m->rank++;
        if (!is_inner && poly_const(&d->stride, &bytes) && bytes % MAP_ALIGN != 0) {
            text_printf(&why, "the stride of dimension %d is no multiple of 16 bytes", dims[k]);
            return why.s;
        }
        if (!poly_expr(t, &d->stride, &m->strides[i]) ||
            !(d->shift ? shifted_extent_expr : extent_expr)(t, d, &m->extents[i])) {
            text_printf(&why, "the launcher cannot compute dimension %d", dims[k]);
            return why.s;
        }
        m->box[i] = d->tile_dim < 0 ? 1 : tile->shape[d->tile_dim];
    }
    return m->box[m->rank - 1] * type_elem_bytes(tile) < MAP_ALIGN ? "fewer than 16 bytes are contiguous"
                                                                   : NULL;
}

int map_add(struct func *f, const struct tensor_map *m)
{
    int i = 0;
    while (i < f->maps.n && !tensor_map_equal(&f->maps.at[i], m))
        i++;
    if (i == f->maps.n)
        VEC_PUSH(f->module->arena, &f->maps, *m);
    return i;
}

/* -- the decision -- */

/* Returns NULL if the load should become a copy by a tensor map, and otherwise the reason why not. Fills
 * *c. */
static const char *why_not(struct raising *r, struct candidate *c)
{
    struct op *o = c->load;
    c->beside = load_beside(o);
    const char *why = c->beside || may_pay(o) || gives_computed_operand(o)
                          ? box_of(r->t, o, &c->a)
                          : "no dot of its block, or of all its loops, reads it from shared memory";
    why = why ? why : shift_starts(r->t, &c->a, &c->guards);
    if (why)
        return why;
    if (!major_fits(op_result(o), c->a.contiguous))
        return "the dot sums along a dimension that is not contiguous, which its type does not allow";
    if (!fills_stages(op_result(o)->type))
        return "its tiles have fewer than 128 bytes";
    if (op_int(o, ATTR_volatile))
        return "it is volatile";
    if (!fill_of(op_opnd(o, 2), &c->map.nan))
        return "masked elements are neither 0 nor a NaN that maps support";
    if (may_be_written(r->t, NULL, o, is_shifted(&c->a) ? NULL : &c->a, &c->guards))
        return "the kernel may write to the array before it";
    if (!modulo_rows_are_masked(r, o, &c->a))
        return "rows beyond the bound are wrapped, and may reach results that no mask leaves out";
    map_order(&c->a, c->dims);
    why = map_of(r->t, &c->a, op_result(o)->type, c->dims, &c->map);
    if (why || !guards_of(r->t, &c->a, &c->guards))
        return why ? why : "the launcher cannot compute a guard";
    /* A vector must not be the reason why a launch uses the fallback kernel, so no guard checks its
     * alignment. */
    if (c->beside && !is_known_aligned(r->t, &c->a, type_elem_bytes(op_result(o)->type)))
        return "it is a vector, and in some launches it may start at no multiple of 16 bytes";
    if (!guard_aligned(r->t, &c->a.dims[c->a.contiguous].start, type_elem_bytes(op_result(o)->type),
                       &c->guards))
        return "rows of its tiles may begin at no multiple of 16 bytes";
    struct builder b = build_before(o);
    c->nstarts = build_coordinates(r->t, &b, &c->a, c->dims, c->starts);
    return producer_can_copy(o, c->starts, c->nstarts)
               ? NULL
               : "its coordinates, or a return before it, depend on memory that may change";
}

static void explain_access(struct raising *r, const struct op *o)
{
    struct access a;
    struct text t;
    text_init(&t, r->f->module->scratch);
    struct guards g = {0};
    const char *why = o->code == OP_load ? box_of(r->t, o, &a) : access_of(r->t, o, &a);
    if (!why && o->code == OP_load)
        why = shift_starts(r->t, &a, &g);
    if (why)
        text_str(&t, why);
    else
        access_print(r->t, &a, &t);
    opt_explain(r->f, &(struct explanation){DECISION_access, .at = o, .words = {op_info[o->code].name, t.s}});
}

static void visit(struct op *o, void *ctx)
{
    struct raising *r = ctx;
    bool is_access = (o->code == OP_load || o->code == OP_store) && type_is_tile(op_opnd(o, 0)->type);
    if (is_access && opt_explains(r->f))
        explain_access(r, o);
    if (!is_access || o->code != OP_load)
        return;
    struct candidate *c = NEW(r->f->module->scratch, struct candidate);
    c->load = o;
    c->why = why_not(r, c);
    VEC_PUSH(r->f->module->scratch, &r->loads, c);
}

/* Returns whether a dot is the only reader of the load, directly or through transpositions. */
static bool is_only_operand(const struct op *load)
{
    const struct value *v = op_result(load);
    while (value_nuses(v) == 1 && v->uses->user->code == OP_trans)
        v = op_result(v->uses->user);
    return value_nuses(v) == 1 && may_pay(load);
}

/* Returns whether threads will copy the tile to shared memory, in vectors of at least raise_tma_load_copied_bytes
 * bytes, several iterations before the dot that reads it (pipeline_loops.c). The dot must add to a carried sum. */
static bool threads_copy(struct raising *r, const struct op *load)
{
    const struct op *dot = op_result(load)->uses->user;
    if (dot->code != OP_dot || op_opnd(dot, 2)->def)
        return false;
    r->axes = r->axes ? r->axes : axis_analyse(r->f);
    for (int d = 0; d < op_result(load)->type->rank; d++) {
        int width = axis_access(r->axes, load, d), mask = axis_mask(r->axes, load, d);
        int bytes = (width < mask ? width : mask) * type_elem_bytes(op_result(load)->type);
        if (bytes >= r->f->module->params->raise_tma_load_copied_bytes && major_fits(op_result(load), d))
            return true;
    }
    return false;
}

/* Either a producer warp copies the tiles of a loop, or the loop's threads load them. So if the load of a
 * tile that only a dot reads stays a load, all loads of the load's block stay loads. Exception: if the
 * threads will copy that tile to shared memory (threads_copy), the other loads may become copies by tensor
 * maps. */
static void keep_together(struct raising *r)
{
    for (int i = 0; i < r->loads.n; i++)
        for (int k = 0; k < r->loads.n; k++) {
            struct candidate *c = r->loads.at[i];
            const struct candidate *other = r->loads.at[k];
            if (!c->why && other->why && other->load->block == c->load->block &&
                is_only_operand(other->load) && !threads_copy(r, other->load))
                c->why = "another load for the loop's dots stays a load";
        }
}

/* Keeps the load of a vector if the load of the tile beside the vector stays a load. */
static void keep_vectors_beside_tiles(struct raising *r)
{
    for (int i = 0; i < r->loads.n; i++)
        for (int k = 0; k < r->loads.n; k++)
            if (r->loads.at[i]->beside == r->loads.at[k]->load && r->loads.at[k]->why)
                r->loads.at[i]->why = "the tile beside it stays a load";
}

/* If threads should load tiles of the loop into registers (loads_into_registers), a tile from which the loop
 * computes an operand becomes a copy only if a producer warp copies other tiles of this loop anyway. The
 * registers of an additional warp could reduce the number of CTAs on an SM. */
static void keep_short_loops(struct raising *r)
{
    for (int i = 0; i < r->loads.n; i++) {
        struct candidate *c = r->loads.at[i];
        const struct op *loop = c->load->block->parent;
        bool has_producer = c->why || may_pay(c->load) || c->beside || !loads_into_registers(loop);
        for (int k = 0; k < r->loads.n && !has_producer; k++) {
            const struct candidate *other = r->loads.at[k];
            has_producer = !other->why && other->load->block == c->load->block && may_pay(other->load);
        }
        if (!has_producer)
            c->why = "no producer warp copies other tiles of its short loop";
    }
}

/* If dots are not asynchronous, a warp leaves the tensor cores idle while it waits for a stage of a buffer
 * and loads fragments from it. Another CTA of the SM, or another warpgroup, can use the tensor cores during
 * this time. If a CTA has only one warpgroup, and its buffers take more than half of the SM's shared memory,
 * neither exists. Then all loads stay loads: the threads copy the tiles themselves, and load the fragments
 * of the next step along K while the current step multiplies (pipeline_loops.c). */
static void keep_two_ctas(struct raising *r)
{
    const struct func *f = r->f;
    int64_t bytes = 0;
    for (int i = 0; i < r->loads.n; i++) {
        const struct op *load = r->loads.at[i]->load, *loop = load->block->parent;
        const struct type *t = op_result(load)->type;
        if (!r->loads.at[i]->why)
            bytes += type_elems(t) * type_elem_bytes(t) * (loop ? opt_stages(f, loop) : 1);
    }
    if (target_engine(f->target, true) || f->num_warps > WARPGROUP_WARPS ||
        target_ctas(f->target, 0, 0, bytes) >= 2)
        return;
    for (int i = 0; i < r->loads.n; i++)
        if (!r->loads.at[i]->why)
            r->loads.at[i]->why = "its ring leaves room for one CTA of 4 warps";
}

/* -- the rewrite -- */

/* Makes each user of v, or of a transposition of v, read the copied tile through at most one transposition.
 * Dimension d of v is dimension order[d] of the tile. */
static void read_tile(struct value *v, struct value *tile, const int *order)
{
    struct value *moved = NULL;
    bool moves = false;
    for (int d = 0; d < v->type->rank; d++)
        moves = moves || order[d] != d;
    while (v->uses) {
        struct op *o = v->uses->user;
        if (o->code != OP_trans) {
            struct builder b = build_after(tile->def);
            moved = moved ? moved : moves ? build_trans(&b, tile, order) : tile;
            op_set_opnd(o, (int)(v->uses - o->opnds), moved);
            continue;
        }
        const int *next = op_attr(o, ATTR_order)->list;
        int all[RANK_MAX] = {0};
        for (int d = 0; d < v->type->rank; d++)
            all[d] = order[next[d]];
        read_tile(op_result(o), tile, all);
        op_erase(o);
    }
}

static void rewrite(struct raising *r, struct candidate *c)
{
    struct op *load = c->load;
    struct builder b = build_before(load);
    const struct type *tile = op_result(load)->type, *t;
    int nouter = c->a.ndims - c->a.tile_rank, shape[RANK_MAX], back[RANK_MAX] = {0};
    for (int i = 0; i < tile->rank; i++) {
        shape[i] = tile->shape[c->dims[nouter + i]];
        back[c->dims[nouter + i]] = i;
    }
    t = type_with_shape(r->f->module, tile, tile->rank, shape);
    struct op *o = build_op(&b, OP_tensor_load, c->nstarts, c->starts, 1, &t, 0);
    op_set_int(o, ATTR_map, map_add(r->f, &c->map));
    read_tile(op_result(load), op_result(o), back);
    struct value *v = op_result(o);
    if (value_nuses(v) == 1 && v->uses->user->code == OP_trans)
        v = op_result(v->uses->user);
    value_take_name(v, op_result(load));
    op_erase(load);
}

void opt_raise_tma_load(struct func *f)
{
    struct raising r = {.f = f, .t = affine_new(f)};
    if (!f->target || !target_has(f->target, HAS_tma))
        return;
    func_walk(f, visit, &r);
    keep_together(&r);
    keep_short_loops(&r);
    keep_two_ctas(&r);
    keep_vectors_beside_tiles(&r);
    for (int i = 0; i < r.loads.n; i++) {
        struct candidate *c = r.loads.at[i];
        opt_explain(f, &(struct explanation){c->why ? DECISION_stays_a_load : DECISION_load_by_map,
                                             .at = c->load, .words = {c->why}});
        if (c->why)
            continue;
        guards_add(f, &c->guards);
        rewrite(&r, c);
    }
}
