/* SPDX-License-Identifier: MIT */
/* plan_rings.c: plans the rings of buffers that a producer warp will fill.
 *
 *     for ... {                                       batch: %a, %b, for the dot %d
 *       %a = tensor_load; %s = to_shared %a           ring: 49152 bytes a stage
 *       %b = tensor_load; %t = to_shared %b      =>         as many stages as the loop asks for, or as fit
 *       %d = mma_start %s, %t, ...
 *     }
 *
 * A batch is the set of tiles that the ops of one IR block (a loop's body, say) load for one dot. The copies of a batch fill one stage of a
 * ring. A vector from which the block computes an operand of a dot belongs to the batch of the dot's other
 * operand.
 *
 * A ring has as many stages as the innermost loops around its batches request, or as many as fit into shared
 * memory. If all batches of a ring are outside of loops, the ring has one stage. If only inner loops read the
 * tiles, as attention's loop over K and V reads the tile of Q, the ring has at most
 * warp_specialize_outer_stages stages. With two stages, the copy of the next tile overlaps these loops.
 *
 * Two batches share a ring if two conditions hold. The block of neither batch contains the block of the other
 * batch. Corresponding tiles have equal ranks and element types (one batch may have vectors in addition). For
 * example, the two loops of causal attention, with and without a mask, share rings. If one loop has smaller
 * tiles, these tiles use the start of each buffer.
 *
 * The plan also says which dots stay in flight, and which batches have a reader that loads a tile from the
 * ring into registers. The plan changes no op. */
#include "opt/pipeline/plan_rings.h"

#include "ir/target/fragments.h"
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/simplify/simplify.h"
#include "opt/pipeline/producer_slice.h"

bool op_is_before(const struct op *a, const struct op *b)
{
    while (a && a != b)
        a = a->next;
    return a == b;
}

/* Returns the first dot that reads the buffer of t. If no dot reads the tile from a buffer, each reader loads
 * the tile into registers, and the function returns the first reader. */
static const struct op *dot_for(const struct take *t)
{
    struct op *first = NULL;
    for (const struct use *u = t->put ? op_result(t->put)->uses : NULL; u; u = u->next)
        if (starts_dot(u->user) && (!first || op_is_before(u->user, first)))
            first = u->user;
    return t->put ? first : t->first;
}

bool op_passes_tile(const struct op *o)
{
    return o->code == OP_trans || o->code == OP_convert;
}

bool op_leads_to_dot(const struct op *o)
{
    return op_has(o, ELEMENTWISE) || o->code == OP_convert || o->code == OP_broadcast ||
           o->code == OP_expand_dims || o->code == OP_reshape;
}

/* Sets *last to the last dot of block b whose operand a or b is computed from v in block b. Leaves *last as
 * it is if there is no such dot. Returns false if v, or a value computed from v, has a user outside the
 * block, or a user that is neither a dot nor an op that leads to one (op_leads_to_dot, trans, to_shared). */
static bool find_dot_from(const struct value *v, const struct block *b, int depth, const struct op **last)
{
    if (depth > value_params(v)->pipeline_loops_depth)
        return false;
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        if (o->block != b)
            return false;
        if (op_has(o, MULTIPLIES)) {
            if (u == &o->opnds[DOT_acc])
                continue;
            *last = *last && op_is_before(o, *last) ? *last : o;
        } else if (!(op_leads_to_dot(o) || o->code == OP_trans || o->code == OP_to_shared) ||
                   !find_dot_from(op_result(o), b, depth + 1, last)) {
            return false;
        }
    }
    return true;
}

const struct op *dot_computed_from(const struct value *v)
{
    const struct op *last = NULL;
    return find_dot_from(v, v->def->block, 0, &last) ? last : NULL;
}

/* Sets t->first to the first op in the block of t->load that reads v, or contains in its regions an op that
 * reads v. A transposition or conversion does not count; its users count instead. */
static void find_first(struct take *t, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        struct op *o = op_ancestor_in(u->user, t->load->block);
        if (op_passes_tile(u->user)) {
            find_first(t, op_result(u->user));
            continue;
        }
        if (!t->first || op_is_before(o, t->first))
            t->first = o;
    }
}

/* Returns the tensor_load whose tile `put` stores into a buffer, or NULL. Sets by[d] to the dimension of the tile that
 * is dimension d of the buffer. */
static struct op *loaded_by(const struct op *put, int *by)
{
    struct op *o = op_opnd(put, 0)->def;
    for (int d = 0; d < RANK_MAX; d++)
        by[d] = d;
    for (; o && op_passes_tile(o); o = op_opnd(o, 0)->def)
        for (int d = 0; o->code == OP_trans && d < op_result(o)->type->rank; d++)
            by[d] = op_attr(o, ATTR_order)->list[by[d]];
    return o && o->code == OP_tensor_load ? o : NULL;
}

/* Returns whether an op stores the tile, or a transposition of it, to a buffer. */
static bool goes_to_buffer(const struct value *v)
{
    bool goes = false;
    for (const struct use *u = v->uses; u && !goes; u = u->next)
        goes =
            u->user->code == OP_to_shared || (op_passes_tile(u->user) && goes_to_buffer(op_result(u->user)));
    return goes;
}

static bool is_vector(const struct op *load)
{
    return op_result(load)->type->rank == 1;
}

/* Sets the type of t's buffer. The dimension that is contiguous in memory is the last dimension of the
 * buffer. Also exchanges t->dim[0] and t->dim[1] if the buffer is transposed for this. */
static void choose_type(struct ring_plan *p, struct take *t)
{
    enum { ROWS, COLUMNS };
    struct module *m = p->func->module;
    if (!t->put) {
        const struct type *tile = op_result(t->load)->type;
        struct layout l;
        if (is_vector(t->load))
            layout_in_order(&l, 1, tile->shape);
        else
            layout_panels(&l, tile->shape, type_elem_bytes(tile), COLUMNS);
        t->type = type_shared(m, type_elem(tile), tile->rank, tile->shape, layout_intern(m, &l), 1);
        return;
    }
    const struct type *own = t->type = op_result(t->put)->type;
    int index[RANK_MAX], shape[] = {own->shape[COLUMNS], own->shape[ROWS]}, first = t->dim[ROWS];
    layout_split_coord(own->layout, layout_basis(own->layout, IN_offset, 0), index);
    if (own->rank != 2 || !index[ROWS])
        return;
    struct layout l;
    layout_trans(&l, own->layout, (int[]){COLUMNS, ROWS});
    t->type = type_shared(m, type_elem(own), 2, shape, layout_intern(m, &l), 1);
    t->dim[ROWS] = t->dim[COLUMNS];
    t->dim[COLUMNS] = first;
}

const struct type *take_view(struct module *m, const struct take *t, const int *by, int *order)
{
    int shape[RANK_MAX];
    for (int d = 0; d < t->type->rank; d++) {
        order[d] = t->order[by[d]];
        shape[d] = t->type->shape[order[d]];
    }
    struct layout l;
    layout_trans(&l, t->type->layout, order);
    return type_shared(m, type_elem(t->type), t->type->rank, shape, layout_intern(m, &l), 1);
}

/* Returns the batch that contains the load's tile, or NULL. */
static struct batch *batch_with(const struct ring_plan *p, const struct op *load)
{
    for (int i = 0; i < p->batches.n; i++)
        for (int k = 0; k < p->batches.at[i].takes.n; k++)
            if (p->batches.at[i].takes.at[k].load == load)
                return &p->batches.at[i];
    return NULL;
}

/* If the block computes an operand of a dot from the vector t, returns the batch that contains the tile of
 * another operand of this dot. Returns NULL if there is no such dot or no such batch. */
static struct batch *batch_beside(struct ring_plan *p, const struct take *t)
{
    const struct op *dot = dot_computed_from(op_result(t->load));
    for (int i = DOT_a; dot && i <= DOT_b; i++) {
        const struct op *put = op_opnd(dot, i)->def;
        int by[RANK_MAX];
        const struct op *load = put && put->code == OP_to_shared ? loaded_by(put, by) : NULL;
        struct batch *g = load ? batch_with(p, load) : NULL;
        if (g)
            return g;
    }
    return NULL;
}

/* Returns the batch of block b whose tiles are for the same dot as the tile t, or NULL. */
static struct batch *batch_of(struct ring_plan *p, const struct take *t, const struct block *b)
{
    for (int i = 0; i < p->batches.n; i++)
        if (p->batches.at[i].block == b && dot_for(&p->batches.at[i].takes.at[0]) == dot_for(t))
            return &p->batches.at[i];
    return NULL;
}

/* Adds a tile to a batch. If o is a to_shared, adds the loaded tile that o stores into a buffer. If o is a
 * tensor_load, adds the tile of o, provided that no op stores this tile into a buffer. A first walk over the
 * function adds all tiles except vectors. A second walk adds the vectors, many of which belong to batches of
 * the first walk. */
static void note_take(struct op *o, void *ctx)
{
    struct ring_plan *p = ctx;
    struct take t = {.put = o->code == OP_to_shared ? o : NULL, .dim = {0, 1}};
    if (t.put)
        t.load = loaded_by(o, t.dim);
    else if (o->code == OP_tensor_load && !goes_to_buffer(op_result(o)))
        t.load = o;
    if (!t.load || batch_with(p, t.load) || is_vector(t.load) != p->adds_vectors)
        return;
    if (t.load->block != o->block || !stands_in_loops(t.load) || !slice_add_place(&p->needed, t.load))
        diag_bug(p->func->module->diag, t.load->loc, "no producer can copy %%%s", op_result(t.load)->name);
    find_first(&t, op_result(t.load));
    choose_type(p, &t);
    for (int d = 0; d < t.type->rank; d++)
        t.order[t.dim[d]] = d;
    struct batch *g = p->adds_vectors ? batch_beside(p, &t) : batch_of(p, &t, o->block);
    if (!g) {
        VEC_PUSH(p->arena, &p->batches, ((struct batch){.block = o->block}));
        g = &p->batches.at[p->batches.n - 1];
    }
    VEC_PUSH(p->arena, &g->takes, t);
    g->bytes += (int)buffer_bytes(t.type);
}

/* Returns whether batch k can use the ring of batch i, which precedes batch k in the plan. A buffer may hold
 * tiles of different sizes, but they must have the same rank and element type. One batch may have vectors in
 * addition. The block of neither batch may contain the block of the other batch: one batch would hold a stage
 * while the other batch waits for a stage, which is a deadlock. */
static bool can_share(const struct ring_plan *p, int i, int k)
{
    const struct batch *a = &p->batches.at[i], *b = &p->batches.at[k];
    if (block_is_inside(a->block, b->block) || block_is_inside(b->block, a->block))
        return false;
    for (int j = 0; j < a->takes.n || j < b->takes.n; j++) {
        const struct type *x = j < a->takes.n ? a->takes.at[j].type : NULL,
                          *y = j < b->takes.n ? b->takes.at[j].type : NULL;
        if (x && y ? x->rank != y->rank || type_elem(x) != type_elem(y) : (x ? x : y)->rank > 1)
            return false;
    }
    return true;
}

/* Returns whether batch k can share ring number `ring` with all earlier batches that use this ring. */
static bool ring_takes(const struct ring_plan *p, int ring, int k)
{
    for (int i = 0; i < k; i++)
        if (p->batches.at[i].ring == ring && !can_share(p, i, k))
            return false;
    return true;
}

/* Makes the buffers of the ring large enough for the tiles of the batch. */
static void add_to_ring(struct ring_plan *p, struct ring *r, const struct batch *g)
{
    for (int i = 0; i < g->takes.n; i++) {
        struct take *t = &g->takes.at[i];
        if (i == r->largest.n)
            VEC_PUSH(p->arena, &r->largest, t);
        else if (buffer_bytes(t->type) > buffer_bytes(r->largest.at[i]->type))
            r->largest.at[i] = t;
    }
    r->bytes = 0;
    for (int i = 0; i < r->largest.n; i++)
        r->bytes += (int)buffer_bytes(r->largest.at[i]->type);
}

static void choose_rings(struct ring_plan *p)
{
    for (int k = 0; k < p->batches.n; k++) {
        struct batch *g = &p->batches.at[k];
        g->ring = 0;
        while (g->ring < p->rings.n && !ring_takes(p, g->ring, k))
            g->ring++;
        if (g->ring == p->rings.n)
            VEC_PUSH(p->arena, &p->rings, ((struct ring){.first = k}));
        add_to_ring(p, &p->rings.at[g->ring], g);
    }
}

/* Returns the number of stages that the loop around the batch asks for; 1 if no loop contains the batch. If
 * the loop is in no other loop, the number is at most the number of iterations: further stages would stay
 * empty. If only inner loops read the tiles, the number is at most warp_specialize_outer_stages. */
static int stages_asked(const struct ring_plan *p, const struct batch *g)
{
    const struct params *params = p->func->module->params;
    const struct op *loop = g->block->parent, *dot = dot_for(&g->takes.at[0]);
    int64_t trips;
    int n = loop ? opt_stages(p->func, loop) : 1;
    if (loop && !loop->block->parent && loop_trips(loop, &trips) && trips < n)
        n = (int)trips;
    if (dot && dot->block != g->block && n > params->warp_specialize_outer_stages)
        n = params->warp_specialize_outer_stages;
    return n < 1 ? 1 : n;
}

static bool enters_a_loop(const struct op *o)
{
    for (const struct use *u = op_result(o)->uses; u; u = u->next)
        if (u->user->block != o->block)
            return true;
    return false;
}

/* Returns the bytes of the ring that pipeline_loops.c will build for the tile of `load`, which a loop loads
 * in addition to the operands of its dots. Returns 0 for tiles of pointers, and for tiles of more than
 * warp_specialize_vector_bytes bytes. */
static int64_t vector_bytes(const struct ring_plan *p, const struct op *load)
{
    const struct type *t = op_result(load)->type;
    int64_t bytes = type_is_ptr(t) ? 0 : type_elems(t) * type_elem_bytes(t);
    return bytes <= p->func->module->params->warp_specialize_vector_bytes
               ? bytes * opt_stages(p->func, load->block->parent)
               : 0;
}

/* Returns the bytes of shared memory that o needs while the rings are live. A buffer inside a loop, or used by a
 * loop, is live together with the rings, because the next iteration of the loop uses the rings again. Other buffers
 * count as 0, because they can occupy the memory of the rings after the last use of the rings. */
static int64_t other_bytes_of(const struct op *o, void *ctx)
{
    const struct ring_plan *p = ctx;
    const struct op *loop = o->block->parent;
    int by[RANK_MAX];
    if (o->code == OP_load && loop && loop->code == OP_for && type_is_tile(op_result(o)->type))
        return vector_bytes(p, o);
    if (o->code == OP_to_shared && batch_with(p, loaded_by(o, by)))
        return 0;
    const bool lives_on = o->code == OP_shared_alloc ? op_result(o)->uses->user->block != o->block
                                                     : loop || (o->code == OP_to_shared && enters_a_loop(o));
    return lives_on ? shared_bytes_of(o) : 0;
}

/* Sets each ring's number of stages to the number that the loops request. If the rings do not fit into shared
 * memory, takes one stage away from each ring in turn until they fit, but leaves each ring at least one
 * stage. */
static void choose_stages(struct ring_plan *p)
{
    const int64_t room =
        cost_shared_bytes(p->func, SHARE_all) - shared_pressure(p->func->body, other_bytes_of, p);
    int64_t total = 0;
    for (int i = 0; i < p->rings.n; i++) {
        struct ring *r = &p->rings.at[i];
        for (int k = 0; k < p->batches.n; k++) {
            int n = p->batches.at[k].ring == i ? stages_asked(p, &p->batches.at[k]) : 1;
            r->stages = n > r->stages ? n : r->stages;
        }
        total += r->stages * r->bytes;
    }
    for (bool shrunk = true; shrunk && total > room;) {
        shrunk = false;
        for (int i = 0; i < p->rings.n && total > room; i++)
            if (p->rings.at[i].stages > 1) {
                p->rings.at[i].stages--;
                total -= p->rings.at[i].bytes;
                shrunk = true;
            }
    }
    for (int k = 0; k < p->batches.n; k++) {
        const struct batch *g = &p->batches.at[k];
        const struct ring *r = &p->rings.at[g->ring];
        const enum decision which = r->first == k ? DECISION_ring : DECISION_ring_shared;
        opt_explain(p->func, &(struct explanation){which, .at = g->takes.at[0].load,
                                                   .numbers = {r->stages, r->bytes}});
        if (stages_asked(p, g) > r->stages)
            opt_explain(p->func, &(struct explanation){DECISION_ring_short, .at = g->takes.at[0].load,
                                                       .numbers = {stages_asked(p, g)}});
    }
}

/* -- the readers of a batch -- */

/* Returns whether a reader of v will load the tile from the stage into registers. Every reader will, except a
 * to_shared whose buffer has the type of a view of the stage. Dimension d of v is dimension by[d] of the
 * tile. */
static bool goes_into_registers(const struct ring_plan *p, const struct take *t, const struct value *v,
                                const int *by)
{
    bool goes = false;
    for (const struct use *u = v->uses; u && !goes; u = u->next) {
        const struct op *o = u->user;
        const struct attr *next = op_attr(o, ATTR_order);
        int all[RANK_MAX] = {0};
        for (int d = 0; d < v->type->rank; d++)
            all[d] = by[op_passes_tile(o) && next ? next->list[d] : d];
        goes = op_passes_tile(o)
                   ? goes_into_registers(p, t, op_result(o), all)
                   : o->code != OP_to_shared || op_result(o)->type != take_view(p->func->module, t, by, all);
    }
    return goes;
}

/* Sets the fields `first`, `into_registers` and `wait` of the batch. A dot stays in flight if the loop only
 * carries its accumulator, if the ring has several stages, and if no reader loads a tile of the batch into
 * registers. */
static void look_at_readers(struct ring_plan *p, struct batch *g)
{
    static const int same[RANK_MAX] = {0, 1, 2, 3, 4};
    for (int i = 0; i < g->takes.n; i++) {
        const struct take *t = &g->takes.at[i];
        g->first = g->first && op_is_before(g->first, t->first) ? g->first : t->first;
        g->into_registers |= goes_into_registers(p, t, op_result(t->load), same) &&
                             !(is_vector(t->load) && batch_beside(p, t) == g);
    }
    if (!g->into_registers && p->rings.at[g->ring].stages >= 2)
        g->wait = wait_of_carried_dot(g->block);
}

void plan_rings(struct ring_plan *p, struct func *f)
{
    *p = (struct ring_plan){.func = f, .arena = f->module->scratch};
    map_init(&p->needed, p->arena);
    func_walk(f, note_take, p);
    p->adds_vectors = true;
    func_walk(f, note_take, p);
    if (!p->batches.n)
        return;
    if (!slice_add_exits(&p->needed, f->body))
        diag_bug(f->module->diag, f->loc, "no producer can follow this early return");
    choose_rings(p);
    choose_stages(p);
    for (int k = 0; k < p->batches.n; k++)
        look_at_readers(p, &p->batches.at[k]);
}
