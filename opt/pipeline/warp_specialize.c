/* warp_specialize.c: give the copies that feed a loop's dots to a warp of their own, which runs ahead.
 *
 *     for ... {                                  %bar, %buf = ...
 *       %a = tensor_load %x, %k map=0            warps { ready
 *       %s = to_shared %a                =>        for ... carry(%slot = 0, %phase = 0) {       the program's own warps
 *       %d = wgmma %s, ...                           mbar_wait %full[%slot], %phase
 *       %w = dot_wait %d                             %d = wgmma %buf[%slot], ...
 *       yield %w                                     %w = dot_wait %d
 *     }                                              mbar_arrive %empty[%slot]
 *                                                    yield %w, next slot, its phase
 *                                                  }
 *                                                } { mbar_init; ready
 *                                                  for ... carry(%slot = 0, %phase = 1) {       one thread more
 *                                                    mbar_wait %empty[%slot], %phase
 *                                                    mbar_expect %full[%slot] bytes=...
 *                                                    tensor_copy %buf[%slot] %full[%slot], %x, %k map=0
 *                                                    yield next slot, its phase
 *                                                  }
 *                                                }
 *
 * A batch: what is loaded in one block for one dot. It has a ring, whose stages are those of the innermost loop
 * around it; outside of loops it has one. Batches of loops that follow each other share a ring where their buffers
 * are alike (the two loops of causal attention, with and without a mask): both roles fill and empty its slots in the
 * program's order. Slot and phase live through all loops around, so a ring goes on where it was when an inner loop
 * begins again, or when the next loop begins. A phase has two parities: a fresh barrier lets who waits for parity 1
 * pass, which is how the feeder's first round finds all slots empty. The feeder makes the barriers itself and
 * waits for nobody: the first copies are on their way 600 cycles sooner than behind a barrier of all threads,
 * of the 16,000 that a product of 1024 takes.
 *
 * Where a loop does nothing with the dot's sum but carry it, one dot stays under way while the
 * next begins: the wait leaves one pending, the slot given back is the one before, and behind the
 * loop comes a wait for all.
 *
 * The feeder is the backward slice of coordinates, of the loops around them, and of the conditions of early
 * returns: scalars only. A scalar that comes from memory it loads itself, where nothing that the kernel writes can come in
 * between (can_load_twice): before the first dot the program's own warps write nothing until the feeder has said that
 * it is ready, and that it says behind the last such load; in a loop of dots they wait for what is fed behind the load. A
 * loop that is no `for` has no feeder; the pass that makes tensor_load asks first.
 */
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"

#include "ir/target/target.h"
#include "ir/target/wgmma.h"

#include <string.h>

/* One tile on its way: tensor_load, perhaps trans, to_shared. */
struct take {
    struct op *load, *trans, *put;
    struct value *buf;
    int order[RANK_MAX]; /* with trans: the buffer's dimension that is the loaded tile's i-th */
};

struct batch {
    struct block *block; /* where its takes stand */
    VEC(struct take) takes;
    int ring;        /* its number; batches that share one have as many takes, of the same types */
    int fed;         /* takes: while the feeder is written, of this round */
    struct op *wait; /* of the dot that stays under way around the loop */
};

struct ring {
    int first;         /* batch: the others have its buffers */
    int stages, bytes; /* bytes: of a stage */
    struct value *full, *empty;
    struct value *slot, *phase; /* while a role is written: now */
};

struct feed {
    struct func *func;
    struct arena *arena;
    VEC(struct batch) batches;
    VEC(struct ring) rings;
    struct map needed;       /* values of the feeder's slice */
    struct map copy;         /* of the program's values to the feeder's */
    const struct op *begins; /* the op behind which both roles are ready; NULL: at once */
    bool is_ready;           /* while the feeder is written */
};

struct op *func_roles(const struct func *f)
{
    struct op *o = f->body->first;
    while (o && o->code != OP_warps)
        o = o->next;
    return o;
}

bool is_over_programs(const struct op *o)
{
    const struct value *lo = o->code == OP_for ? op_opnd(o, 0) : NULL;
    return lo && lo->def && lo->def->code == OP_cta_id;
}

/* -- what can be fed -- */

/* Do all loops around o count, up to the function's body? */
static bool stands_in_loops(const struct op *o)
{
    for (const struct op *p = o->block->parent; p; p = p->block->parent)
        if (p->code != OP_for)
            return false;
    return true;
}

static bool is_noted(struct map *m, const void *key)
{
    void **at = map_get_ptr(m, key);
    return at && *at;
}

/* -- scalars from memory -- */

struct look {
    const struct op *load;
    bool passed;  /* the load */
    bool written; /* memory, before it, or around a loop with it */
    bool dot;     /* one stands before it */
};

static bool is_around_both(const struct op *a, const struct op *b)
{
    for (const struct op *o = a->block->parent; o && o->code != OP_warps; o = o->block->parent)
        if (o->code != OP_if && !is_over_programs(o) && op_is_inside(b, o))
            return true;
    return false;
}

static void look_at(struct op *o, void *ctx)
{
    struct look *l = ctx;
    l->passed |= o == l->load;
    if (l->passed && !is_around_both(o, l->load))
        return;
    l->dot |= o->code == OP_dot || o->code == OP_wgmma;
    l->written |= op_has(o, WRITES) && !is_on_way_out(o, l->load);
}

static bool has_dot_behind(const struct op *o)
{
    for (; o; o = o->next)
        if (o->code == OP_dot || o->code == OP_wgmma)
            return true;
    return false;
}

/* Do both roles see the same where each loads this scalar? */
static bool can_load_twice(const struct op *o)
{
    struct look l = {.load = o};
    if (o->code != OP_load || op_int(o, ATTR_volatile))
        return false;
    const struct op *loop = o->block->parent;
    bool is_in_loop = loop && loop->code == OP_for && !is_over_programs(loop);
    func_walk(o->block->func, look_at, &l);
    return !l.written && (is_in_loop ? has_dot_behind(o) : !l.dot && (!loop || loop->code != OP_if));
}

/* -- the feeder's slice -- */

static bool need(struct map *m, const struct value *v);

static bool need_carried(struct map *m, const struct op *loop, int i)
{
    const struct block *body = loop->regions[0];
    return need(m, body->args.at[1 + i]) && need(m, op_opnd(loop, 3 + i)) &&
           need(m, op_opnd(block_terminator(body), i));
}

static bool need_bounds(struct map *m, const struct op *loop)
{
    return need(m, op_opnd(loop, 0)) && need(m, op_opnd(loop, 1)) && need(m, op_opnd(loop, 2));
}

/* Notes v and all that it comes from. False: there is a tile, memory that may change, or a loop without count behind
 * it. */
static bool need(struct map *m, const struct value *v)
{
    if (is_noted(m, v))
        return true;
    if (v->type->kind == TY_tile || v->type->kind == TY_shared)
        return false;
    *map_at_ptr(m, v) = (void *)1;
    const struct op *o = v->def;
    if (!o) {
        const struct op *loop = v->block->parent;
        return !loop || (loop->code == OP_for && need_bounds(m, loop) &&
                         (v->index == 0 || need_carried(m, loop, v->index - 1)));
    }
    if (o->code == OP_for)
        return need_bounds(m, o) && need_carried(m, o, v->index);
    if ((!op_has(o, PURE) && !can_load_twice(o)) || o->nregions)
        return false;
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && !need(m, op_opnd(o, i)))
            return false;
    return true;
}

static void note_return(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_return;
}

/* A program that returns early does so in both roles. */
static bool is_exit(const struct op *o)
{
    bool found = false;
    for (int i = 0; i < o->nregions; i++)
        block_walk(o->regions[i], note_return, &found);
    return found;
}

/* The conditions of early returns. */
static bool need_exits(struct map *m, const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (!is_exit(o))
            continue;
        if (o->code != OP_if || !need(m, op_opnd(o, 0)) || !need_exits(m, o->regions[0]) ||
            !need_exits(m, o->regions[1]))
            return false;
    }
    return true;
}

static bool need_place(struct map *m, const struct op *load)
{
    for (int i = 0; i < load->nopnds; i++)
        if (!need(m, op_opnd(load, i)))
            return false;
    for (const struct op *p = load->block->parent; p; p = p->block->parent)
        if (!need_bounds(m, p))
            return false;
    return true;
}

bool warps_can_feed(const struct op *load, struct value *const *coords, int ncoords)
{
    const struct func *f = load->block->func;
    struct map needed;
    map_init(&needed, f->module->scratch);
    if (f->num_warps % WGMMA_WARPS != 0 ||
        f->num_warps > f->module->params->warp_specialize_consumer_warps_most || !stands_in_loops(load))
        return false;
    for (int i = 0; i < ncoords; i++)
        if (!need(&needed, coords[i]))
            return false;
    for (const struct op *p = load->block->parent; p; p = p->block->parent)
        if (!need_bounds(&needed, p))
            return false;
    return need_exits(&needed, f->body);
}

/* -- the rings -- */

/* The dot, in its block, for which a buffer is filled. */
static struct op *dot_for(const struct op *put)
{
    struct op *first = NULL;
    for (const struct use *u = op_result(put)->uses; u; u = u->next)
        if (u->user->code == OP_wgmma)
            first = u->user;
    return first;
}

static void note_take(struct op *o, void *ctx)
{
    struct feed *w = ctx;
    if (o->code != OP_to_shared)
        return;
    struct op *load = op_opnd(o, 0)->def, *trans = NULL;
    if (load && load->code == OP_trans) {
        trans = load;
        load = op_opnd(load, 0)->def;
    }
    if (!load || load->code != OP_tensor_load)
        return;
    if (load->block != o->block || value_nuses(op_result(load)) != 1 || !stands_in_loops(load) ||
        !need_place(&w->needed, load))
        diag_bug(w->func->module->diag, load->loc, "nobody can feed %%%s", op_result(load)->name);
    const struct op *dot = dot_for(o);
    struct batch *g = NULL;
    for (int i = 0; i < w->batches.n; i++)
        if (w->batches.at[i].block == o->block && dot_for(w->batches.at[i].takes.at[0].put) == dot)
            g = &w->batches.at[i];
    if (!g) {
        VEC_PUSH(w->arena, &w->batches, ((struct batch){.block = o->block}));
        g = &w->batches.at[w->batches.n - 1];
    }
    VEC_PUSH(w->arena, &g->takes, ((struct take){.load = load, .trans = trans, .put = o}));
}

/* Can batch k go through the ring of batch i, which stands before it? Not where one holds its slot while the other
 * asks for one. */
static bool can_share(const struct feed *w, int i, int k)
{
    const struct batch *a = &w->batches.at[i], *b = &w->batches.at[k];
    if (a->takes.n != b->takes.n || block_is_inside(a->block, b->block) ||
        block_is_inside(b->block, a->block))
        return false;
    for (int j = 0; j < a->takes.n; j++)
        if (op_result(a->takes.at[j].put)->type != op_result(b->takes.at[j].put)->type)
            return false;
    return true;
}

/* Does all that goes through the ring leave room for batch k? */
static bool ring_takes(const struct feed *w, int ring, int k)
{
    for (int i = 0; i < k; i++)
        if (w->batches.at[i].ring == ring && !can_share(w, i, k))
            return false;
    return true;
}

static void choose_rings(struct feed *w)
{
    for (int k = 0; k < w->batches.n; k++) {
        struct batch *g = &w->batches.at[k];
        g->ring = 0;
        while (g->ring < w->rings.n && !ring_takes(w, g->ring, k))
            g->ring++;
        if (g->ring < w->rings.n)
            continue;
        struct ring r = {.first = k};
        for (int i = 0; i < g->takes.n; i++)
            r.bytes += (int)buffer_bytes(op_result(g->takes.at[i].put)->type);
        VEC_PUSH(w->arena, &w->rings, r);
    }
}

static bool take_is_known(const struct feed *w, const struct op *put)
{
    for (int i = 0; i < w->batches.n; i++)
        for (int k = 0; k < w->batches.at[i].takes.n; k++)
            if (w->batches.at[i].takes.at[k].put == put)
                return true;
    return false;
}

static int stages_asked(const struct feed *w, const struct batch *g)
{
    const struct op *loop = g->block->parent;
    int n = loop ? opt_stages(w->func, loop) : 1;
    return n < 1 ? 1 : n;
}

static bool enters_a_loop(const struct op *o)
{
    for (const struct use *u = op_result(o)->uses; u; u = u->next)
        if (u->user->block != o->block)
            return true;
    return false;
}

static int64_t other_bytes_of(const struct feed *w, const struct op *o)
{
    const struct op *loop = o->block->parent;
    if (o->code == OP_shared_alloc)
        return op_result(o)->uses->user->block != o->block ? buffer_bytes(op_result(o)->type) : 0;
    if (o->code == OP_to_shared && !op_opnd(o, 1) && !take_is_known(w, o))
        return loop || enters_a_loop(o) ? buffer_bytes(op_result(o)->type) : 0;
    return loop && convert_is_shared(o) ? type_elems(op_result(o)->type) * type_elem_bytes(op_result(o)->type)
                                        : 0;
}

/* What else needs shared memory while rings live: all of it if a loop goes on to the next tile; else what
 * comes behind the rings may lie where they were, and so may loops that follow each other share. */
static int64_t other_bytes(const struct feed *w, const struct block *b)
{
    int64_t own = 0, most = 0;
    for (const struct op *o = b->first; o; o = o->next) {
        own += other_bytes_of(w, o);
        for (int i = 0; i < o->nregions; i++) {
            int64_t inner = other_bytes(w, o->regions[i]);
            most = inner > most ? inner : most;
        }
    }
    return own + most;
}

/* As many stages as asked for, or as there is room for. */
static void choose_stages(struct feed *w)
{
    const int64_t room = w->func->target->smem_bytes -
                         w->func->module->params->warp_specialize_reserve_bytes -
                         other_bytes(w, w->func->body);
    int64_t total = 0;
    for (int i = 0; i < w->rings.n; i++) {
        struct ring *r = &w->rings.at[i];
        for (int k = 0; k < w->batches.n; k++) {
            int n = w->batches.at[k].ring == i ? stages_asked(w, &w->batches.at[k]) : 1;
            r->stages = n > r->stages ? n : r->stages;
        }
        total += r->stages * r->bytes;
    }
    for (bool shrunk = true; shrunk && total > room;) {
        shrunk = false;
        for (int i = 0; i < w->rings.n && total > room; i++)
            if (w->rings.at[i].stages > 1) {
                w->rings.at[i].stages--;
                total -= w->rings.at[i].bytes;
                shrunk = true;
            }
    }
    for (int k = 0; k < w->batches.n; k++) {
        const struct batch *g = &w->batches.at[k];
        const struct ring *r = &w->rings.at[g->ring];
        opt_explain(w->func, g->takes.at[0].load,
                    r->first == k ? "a ring of %d stages, %d bytes each, fed by a warp of its own"
                                  : "a ring of %d stages, %d bytes each, that of an earlier loop",
                    r->stages, r->bytes);
        if (stages_asked(w, g) > r->stages)
            opt_explain(w->func, g->takes.at[0].load, "shared memory has no room for %d stages",
                        stages_asked(w, g));
    }
}

static const struct type *barrier_type(struct module *m, int stages)
{
    int one[] = {1};
    struct layout l;
    layout_init(&l, 1, one);
    return type_shared(m, type_scalar(m, DT_i64), 1, one, layout_intern(m, &l), stages);
}

static struct value *build_buffer(struct builder *b, const struct type *t, const char *name)
{
    struct value *v = op_result(build_op(b, OP_shared_alloc, 0, NULL, 1, &t, 0));
    value_rename(v, name);
    return v;
}

/* How the map of a take goes with its buffer. */
static void fit_take(struct take *take)
{
    const struct type *t = take->buf->type;
    const struct attr *by = take->trans ? op_attr(take->trans, ATTR_order) : NULL;
    for (int d = 0; d < t->rank; d++) /* dimension d of the buffer is the tile's by[d] */
        take->order[by ? by->list[d] : d] = d;
    tensor_fit_map(take->load, t, take->order, 1);
}

static void build_rings(struct feed *w, struct builder *b)
{
    for (int i = 0; i < w->rings.n; i++) {
        struct ring *r = &w->rings.at[i];
        const struct batch *g = &w->batches.at[r->first];
        for (int k = 0; k < g->takes.n; k++) {
            const struct type *t = op_result(g->takes.at[k].put)->type;
            t = type_shared(w->func->module, type_elem(t), t->rank, t->shape, t->layout, r->stages);
            b->loc = g->takes.at[k].load->loc;
            g->takes.at[k].buf = build_buffer(b, t, op_result(g->takes.at[k].load)->name);
        }
        r->full = build_buffer(b, barrier_type(w->func->module, r->stages), "full");
        r->empty = build_buffer(b, barrier_type(w->func->module, r->stages), "empty");
    }
    for (int i = 0; i < w->batches.n; i++)
        for (int k = 0; k < w->batches.at[i].takes.n; k++) {
            struct take *t = &w->batches.at[i].takes.at[k];
            t->buf = w->batches.at[w->rings.at[w->batches.at[i].ring].first].takes.at[k].buf;
            fit_take(t);
        }
}

static void build_init(struct builder *b, struct value *bar, int arrivals)
{
    op_set_int(build_op(b, OP_mbar_init, 1, &bar, 0, NULL, 0), ATTR_arrivals, arrivals);
}

/* -- pieces of both roles -- */

static struct value *build_slot(struct builder *b, struct value *buf, struct value *slot)
{
    return build_binary(b, OP_shared_slot, buf, slot);
}

static void build_wait(struct builder *b, struct value *bar, const struct ring *r)
{
    struct value *x[] = {build_slot(b, bar, r->slot), r->phase};
    build_op(b, OP_mbar_wait, 2, x, 0, NULL, 0);
}

void ring_advance(struct builder *b, int stages, struct value **slot, struct value **phase)
{
    struct value *next = build_binary(b, OP_add, *slot, build_const_i32(b, 1));
    struct value *wraps = build_cmp(b, PRED_eq, next, build_const_i32(b, stages));
    *slot = build_select(b, wraps, build_const_i32(b, 0), next);
    *phase =
        build_binary(b, OP_xor, *phase, build_cast(b, OP_zext, wraps, type_scalar(b->func->module, DT_i32)));
}

static void advance(struct builder *b, struct ring *r)
{
    ring_advance(b, r->stages, &r->slot, &r->phase);
    value_rename(r->slot, "slot");
    value_rename(r->phase, "phase");
}

/* Does one of the ring's batches stand in the loop? */
static bool is_around(const struct feed *w, const struct op *loop, int ring)
{
    for (int i = 0; i < w->batches.n; i++)
        if (w->batches.at[i].ring == ring && block_is_inside(w->batches.at[i].block, loop->regions[0]))
            return true;
    return false;
}

/* The last op of the program's outermost block that both roles do before they are ready: a load, from memory that the
 * program may write afterwards. */
static const struct op *last_load(struct feed *w)
{
    const struct op *last = NULL;
    for (const struct op *o = w->func->body->first; o; o = o->next)
        if (o->code == OP_load && is_noted(&w->needed, op_result(o)))
            last = o;
    return last;
}

static void build_ready(struct builder *b)
{
    build_op(b, OP_ready, 0, NULL, 0, NULL, 0);
}

static void begin_role(struct feed *w, struct builder *b, int phase)
{
    if (!w->begins)
        build_ready(b);
    for (int i = 0; i < w->rings.n; i++) {
        w->rings.at[i].slot = build_const_i32(b, 0);
        w->rings.at[i].phase = build_const_i32(b, phase);
    }
}

/* Rings live in a loop as two values more: `append` adds those that go in or out; `accept` takes what
 * came. */
static int append(struct feed *w, const bool *inside, struct value **x, int n)
{
    for (int i = 0; i < w->rings.n; i++)
        if (inside[i]) {
            x[n++] = w->rings.at[i].slot;
            x[n++] = w->rings.at[i].phase;
        }
    return n;
}

static void accept(struct feed *w, const bool *inside, struct value *const *x)
{
    for (int i = 0, n = 0; i < w->rings.n; i++)
        if (inside[i]) {
            value_rename(w->rings.at[i].slot = x[n++], "slot");
            value_rename(w->rings.at[i].phase = x[n++], "phase");
        }
}

static int find_inside(struct feed *w, const struct op *loop, bool *inside)
{
    int n = 0;
    for (int i = 0; i < w->rings.n; i++)
        n += inside[i] = is_around(w, loop, i);
    return n;
}

/* A loop like `old` around what `w` has in it: a new one with nkept of the values that old carries (those
 * whose number stands in kept), and the rings. Its body is empty. */
static struct op *build_loop(struct feed *w, struct builder *b, const struct op *old,
                             struct value *const bounds[3], int nkept, struct value *const *init,
                             const bool *inside, int ninside)
{
    struct value **x = NEW_ARRAY(w->arena, nkept + 2 * ninside + 1, struct value *);
    if (nkept)
        memcpy(x, init, (size_t)nkept * sizeof *x);
    int n = append(w, inside, x, nkept);
    struct op *loop = build_for(b, bounds[0], bounds[1], bounds[2], n, x);
    for (enum attr_key key = 0; key < ATTR_count; key++)
        if (op_attr(old, key))
            op_set_int(loop, key, op_int(old, key));
    accept(w, inside, loop->regions[0]->args.at + 1 + nkept);
    return loop;
}

static void yield_rings(struct feed *w, struct block *body, int nkept, struct value *const *kept,
                        const bool *inside, struct op *loop, struct loc loc)
{
    struct value **x = NEW_ARRAY(w->arena, loop->nresults + 1, struct value *);
    if (nkept)
        memcpy(x, kept, (size_t)nkept * sizeof *x);
    int n = append(w, inside, x, nkept);
    struct builder b = build_at_end(body, loc);
    build_yield(&b, n, x);
    for (int i = nkept; i < loop->nresults; i++)
        x[i] = &loop->results[i];
    accept(w, inside, x + nkept);
}

/* -- the program's own warps -- */

/* The last op in the ring's block that needs what the buffers hold: a dot's wait, or a load. */
static struct op *last_user(struct feed *w, const struct batch *g, struct value *const *views)
{
    struct op *last = NULL;
    for (struct op *o = g->block->first; o; o = o->next)
        for (int i = 0; i < g->takes.n; i++)
            for (const struct use *u = views[i]->uses; u; u = u->next) {
                bool is_dot = u->user->code == OP_wgmma;
                if (!is_dot && u->user == o)
                    last = o;
                for (const struct use *d = is_dot ? op_result(u->user)->uses : NULL; d; d = d->next)
                    if (d->user->code == OP_dot_wait && d->user == o)
                        last = o;
            }
    if (!last)
        diag_bug(w->func->module->diag, g->takes.at[0].load->loc, "a ring that nobody empties");
    return last;
}

static struct op *give_back(struct builder *b, struct ring *r, struct value *slot, struct value *on)
{
    struct value *x[] = {build_slot(b, r->empty, slot), on};
    struct op *arrive = build_op(b, OP_mbar_arrive, on ? 2 : 1, x, 0, NULL, 0);
    op_set_int(arrive, ATTR_group, WGMMA_WARPS);
    return arrive;
}

static struct value *slot_before(struct builder *b, const struct ring *r, struct value *slot)
{
    struct value *wraps = build_cmp(b, PRED_eq, slot, build_const_i32(b, 0));
    struct value *less = build_binary(b, OP_sub, slot, build_const_i32(b, 1));
    return build_select(b, wraps, build_const_i32(b, r->stages - 1), less);
}

/* The wait of the block's only dot, if its sum does nothing in the loop but to go around. */
static struct op *wait_that_goes_around(const struct batch *g, const struct ring *r)
{
    struct op *dot = NULL, *end = block_terminator(g->block);
    int ndots = 0;
    for (struct op *o = g->block->first; o; o = o->next) {
        ndots += o->code == OP_wgmma || o->nregions > 0;
        dot = o->code == OP_wgmma ? o : dot;
    }
    if (ndots != 1 || !dot || !end || r->stages < 2)
        return NULL;
    const struct value *acc = op_opnd(dot, 2), *sum = op_result(dot);
    struct op *wait = value_nuses(sum) == 1 ? sum->uses->user : NULL;
    if (!wait || wait->code != OP_dot_wait || wait->nopnds != 1 || wait->block != g->block)
        return NULL;
    const struct value *done = op_result(wait);
    bool around = !acc->def && acc->block == g->block && acc->index > 0 && value_nuses(acc) == 1 &&
                  value_nuses(done) == 1 && done->uses->user == end && op_opnd(end, acc->index - 1) == done;
    return around ? wait : NULL;
}

/* One dot stays under way while the next begins: what gives back a slot waits for the dot before. An
 * operand that was computed in the loop has one buffer: then all but writing it goes on meanwhile, and there
 * the dot before is waited for. */
static void leave_one_under_way(struct batch *g, struct ring *r)
{
    struct op *loop = g->block->parent, *end = block_terminator(g->block), *wait = g->wait, *put = NULL;
    struct value *sum = op_opnd(wait, 0);
    for (int i = 0; i < 2; i++) {
        const struct value *x = op_opnd(sum->def, i);
        bool is_here = x->def && x->def->code == OP_to_shared && x->def->block == g->block;
        put = is_here ? x->def : put;
    }
    if (put) {
        value_replace(op_result(wait), sum);
        op_set_opnd(wait, 0, op_opnd(sum->def, 2));
        op_set_opnd(sum->def, 2, op_result(wait));
        op_move_before(wait, put);
    } else {
        op_set_int(wait, ATTR_pending, 1);
    }
    struct builder b = build_after(wait);
    struct value *again = build_cmp(&b, PRED_ne, g->block->args.at[0], op_opnd(loop, 0));
    give_back(&b, r, slot_before(&b, r, r->slot), again);
    b = build_before(end);
    advance(&b, r);
}

/* Does another batch, or another round, ask for a slot behind the loop? */
static bool goes_on(const struct feed *w, const struct batch *g, const struct op *loop)
{
    const struct batch *last = g;
    for (const struct batch *x = w->batches.at; x < w->batches.at + w->batches.n; x++)
        last = x->ring == g->ring ? x : last;
    return last != g || loop->block->parent->code == OP_for;
}

/* Behind the loop: the last dot ends, and gives its slot back if there was one. */
static void end_last_dot(const struct feed *w, const struct batch *g, struct ring *r, struct op *loop)
{
    struct op *wait = g->wait;
    const struct op *dot = op_opnd(wait, 0)->def;
    struct value *sum = &loop->results[(dot ? op_opnd(dot, 2) : op_opnd(wait, 0))->index - 1];
    struct builder b = build_after(loop);
    struct op *done = build_op(&b, OP_dot_wait, 1, &sum, 1, &sum->type, 0);
    value_replace(sum, op_result(done));
    op_set_opnd(done, 0, sum);
    int64_t step;
    bool down = value_const_int(op_opnd(loop, 2), &step) && step < 0;
    struct value *any = build_cmp(&b, down ? PRED_sgt : PRED_slt, op_opnd(loop, 0), op_opnd(loop, 1));
    struct op *arrive = give_back(&b, r, slot_before(&b, r, r->slot), any);
    if (!goes_on(w, g, loop))
        op_set_int(arrive, ATTR_last, 1);
}

/* Waits in front of the first use, gives the slot back behind the last. */
static void use_ring(struct feed *w, struct batch *g)
{
    struct ring *r = &w->rings.at[g->ring];
    struct value **views = NEW_ARRAY(w->arena, g->takes.n, struct value *);
    struct builder b = build_before(g->takes.at[0].put);
    build_wait(&b, r->full, r);
    for (int i = 0; i < g->takes.n; i++) {
        struct take *t = &g->takes.at[i];
        b = build_before(g->takes.at[0].put);
        views[i] = build_slot(&b, t->buf, r->slot);
        value_replace(op_result(t->put), views[i]);
    }
    for (int i = 0; i < g->takes.n; i++) {
        struct take *t = &g->takes.at[i];
        op_erase(t->put);
        if (t->trans)
            op_erase(t->trans);
        op_erase(t->load);
    }
    g->wait = wait_that_goes_around(g, r);
    if (g->wait) {
        leave_one_under_way(g, r);
        return;
    }
    b = build_after(last_user(w, g, views));
    give_back(&b, r, r->slot, NULL);
    struct op *end = block_terminator(g->block);
    b = end ? build_before(end) : build_at_end(g->block, b.loc);
    advance(&b, r);
}

static void use_in_block(struct feed *w, struct block *block);

static void use_in_loop(struct feed *w, struct op *old)
{
    bool *inside = NEW_ARRAY(w->arena, w->rings.n, bool);
    int ninside = find_inside(w, old, inside), nkept = old->nresults;
    if (!ninside)
        return;
    struct value **init = NEW_ARRAY(w->arena, nkept + 1, struct value *);
    for (int i = 0; i < nkept; i++)
        init[i] = op_opnd(old, 3 + i);
    struct builder b = build_before(old);
    struct value *bounds[] = {op_opnd(old, 0), op_opnd(old, 1), op_opnd(old, 2)};
    struct op *loop = build_loop(w, &b, old, bounds, nkept, init, inside, ninside);
    struct block *from = old->regions[0], *body = loop->regions[0];
    for (int i = 0; i <= nkept; i++) {
        value_replace(from->args.at[i], body->args.at[i]);
        value_take_name(body->args.at[i], from->args.at[i]);
    }
    while (from->first)
        op_move_to_end(from->first, body);
    for (int i = 0; i < w->batches.n; i++)
        if (w->batches.at[i].block == from)
            w->batches.at[i].block = body;
    use_in_block(w, body);
    struct op *end = block_terminator(body);
    struct value **kept = NEW_ARRAY(w->arena, nkept + 1, struct value *);
    for (int i = 0; i < nkept; i++)
        kept[i] = op_opnd(end, i);
    struct loc loc = end->loc;
    op_erase(end);
    yield_rings(w, body, nkept, kept, inside, loop, loc);
    for (int i = 0; i < nkept; i++) {
        value_replace(&old->results[i], &loop->results[i]);
        value_take_name(&loop->results[i], &old->results[i]);
    }
    op_erase(old);
    for (int i = 0; i < w->batches.n; i++)
        if (w->batches.at[i].block == body && w->batches.at[i].wait)
            end_last_dot(w, &w->batches.at[i], &w->rings.at[w->batches.at[i].ring], loop);
}

static void use_in_block(struct feed *w, struct block *block)
{
    for (struct op *next, *o = block->first; o; o = next) {
        next = o->next;
        if (o->code == OP_for)
            use_in_loop(w, o);
    }
    for (int i = 0; i < w->batches.n; i++)
        if (w->batches.at[i].block == block)
            use_ring(w, &w->batches.at[i]);
}

/* -- the feeder -- */

static struct value *copy_of(struct feed *w, struct value *v)
{
    void **at = map_get_ptr(&w->copy, v);
    return at && *at ? *at : v;
}

/* The first load of a ring waits for an empty slot and says how much will come. */
static void feed_load(struct feed *w, struct builder *b, struct batch *g, const struct take *t)
{
    struct ring *r = &w->rings.at[g->ring];
    if (g->fed++ == 0) {
        build_wait(b, r->empty, r);
        struct value *bar = build_slot(b, r->full, r->slot);
        op_set_int(build_op(b, OP_mbar_expect, 1, &bar, 0, NULL, 0), ATTR_bytes, r->bytes);
    }
    struct value *x[2 + RANK_MAX] = {build_slot(b, t->buf, r->slot), build_slot(b, r->full, r->slot)};
    for (int i = 0; i < t->load->nopnds; i++)
        x[2 + i] = copy_of(w, op_opnd(t->load, i));
    struct op *copy = build_op(b, OP_tensor_copy, 2 + t->load->nopnds, x, 0, NULL, 0);
    op_set_int(copy, ATTR_map, op_int(t->load, ATTR_map));
    if (t->trans)
        op_set_list(copy, ATTR_order, op_result(t->trans)->type->rank, t->order);
    if (g->fed < g->takes.n)
        return;
    g->fed = 0;
    advance(b, r);
}

static void feed_block(struct feed *w, struct builder *b, struct block *from);

static void feed_loop(struct feed *w, struct builder *b, struct op *old)
{
    bool *inside = NEW_ARRAY(w->arena, w->rings.n, bool);
    int ninside = find_inside(w, old, inside), nkept = 0, *kept = NEW_ARRAY(w->arena, old->nresults + 1, int);
    struct block *from = old->regions[0];
    for (int i = 0; i < old->nresults; i++)
        if (is_noted(&w->needed, from->args.at[1 + i]) || is_noted(&w->needed, &old->results[i]))
            kept[nkept++] = i;
    if (!ninside && !nkept)
        return;
    struct value **x = NEW_ARRAY(w->arena, nkept + 1, struct value *);
    struct value *bounds[3];
    for (int i = 0; i < 3; i++)
        bounds[i] = copy_of(w, op_opnd(old, i));
    for (int i = 0; i < nkept; i++)
        x[i] = copy_of(w, op_opnd(old, 3 + kept[i]));
    struct op *loop = build_loop(w, b, old, bounds, nkept, x, inside, ninside);
    struct block *body = loop->regions[0];
    *map_at_ptr(&w->copy, from->args.at[0]) = body->args.at[0];
    for (int i = 0; i < nkept; i++) {
        *map_at_ptr(&w->copy, from->args.at[1 + kept[i]]) = body->args.at[1 + i];
        *map_at_ptr(&w->copy, &old->results[kept[i]]) = &loop->results[i];
    }
    struct builder inner = build_at_end(body, b->loc);
    feed_block(w, &inner, from);
    for (int i = 0; i < nkept; i++)
        x[i] = copy_of(w, op_opnd(block_terminator(from), kept[i]));
    yield_rings(w, body, nkept, x, inside, loop, block_terminator(from)->loc);
}

static const struct take *take_of(struct feed *w, const struct op *load, struct batch **batch)
{
    for (int i = 0; i < w->batches.n; i++)
        for (int k = 0; k < w->batches.at[i].takes.n; k++)
            if (w->batches.at[i].takes.at[k].load == load) {
                *batch = &w->batches.at[i];
                return &w->batches.at[i].takes.at[k];
            }
    return NULL;
}

/* An early return, and what leads to it. */
static void feed_exit(struct feed *w, struct builder *b, struct op *old)
{
    struct op *either = build_if(b, copy_of(w, op_opnd(old, 0)), 0, NULL);
    const bool was_ready = w->is_ready;
    for (int i = 0; i < 2; i++) {
        const struct op *end = block_terminator(old->regions[i]);
        struct builder in = build_at_end(either->regions[i], end->loc);
        if (end->code == OP_return && !was_ready)
            build_ready(&in);
        w->is_ready |= end->code == OP_return;
        feed_block(w, &in, old->regions[i]);
        build_op(&in, end->code, 0, NULL, 0, NULL, 0);
        w->is_ready = was_ready;
    }
}

static void feed_block(struct feed *w, struct builder *b, struct block *from)
{
    for (struct op *o = from->first; o; o = o->next) {
        struct batch *g;
        const struct take *t = o->code == OP_tensor_load ? take_of(w, o, &g) : NULL;
        bool needed = false;
        for (int i = 0; i < o->nresults; i++)
            needed |= is_noted(&w->needed, &o->results[i]);
        b->loc = o->loc;
        if (t)
            feed_load(w, b, g, t);
        else if (o->code == OP_for)
            feed_loop(w, b, o);
        else if (is_exit(o))
            feed_exit(w, b, o);
        else if (needed)
            op_clone(b, o, &w->copy);
        if (o == w->begins) {
            build_ready(b);
            w->is_ready = true;
        }
    }
}

/* -- the pass -- */

/* Where block b, and what leads out of it, returns, the roles are ready before. */
static void make_ready_to_return(struct block *b, const struct op *end)
{
    for (struct op *o = b->first; o != end; o = o->next)
        for (int i = 0; is_exit(o) && i < o->nregions; i++)
            if (block_terminator(o->regions[i])->code == OP_return) {
                struct builder first = build_before(o->regions[i]->first);
                build_ready(&first);
            } else
                make_ready_to_return(o->regions[i], NULL);
}

static struct op *build_warps(struct func *f, struct builder *b)
{
    const int own = f->num_warps, groups = own / WGMMA_WARPS;
    const bool alone =
        groups > 1 && !cost_two_ctas_fit(f); /* then the roles share out all registers of an SM */
    const int other = alone ? WGMMA_WARPS : 1;
    struct op *o = build_op(b, OP_warps, 0, NULL, 0, NULL, 2);
    op_set_list(o, ATTR_warps, 2, (int[]){own, other});
    if (alone) {
        int roles[2];
        cost_role_regs(f, groups, roles);
        op_set_list(o, ATTR_regs, 2, roles);
    }
    f->extra_warps = other;
    return o;
}

/* All of the program but its end becomes the first role. */
static void fill_own_role(struct feed *w, struct op *roles, struct op *first)
{
    struct block *own = roles->regions[0];
    for (struct op *next, *o = first; o->code != OP_return; o = next) {
        next = o->next;
        op_move_to_end(o, own);
    }
    for (int i = 0; i < w->batches.n; i++)
        if (w->batches.at[i].block == w->func->body)
            w->batches.at[i].block = own;
}

void opt_warp_specialize(struct func *f)
{
    struct feed w = {.func = f, .arena = f->module->scratch};
    map_init(&w.needed, w.arena);
    map_init(&w.copy, w.arena);
    func_walk(f, note_take, &w);
    if (!w.batches.n)
        return;
    if (!need_exits(&w.needed, f->body))
        diag_bug(f->module->diag, f->loc, "nobody can feed a program that returns so");
    choose_rings(&w);
    choose_stages(&w);
    w.begins = last_load(&w);
    w.is_ready = !w.begins;
    struct op *first = f->body->first;
    struct builder b = build_before(first);
    build_rings(&w, &b);
    struct op *roles = build_warps(f, &b);
    fill_own_role(&w, roles, first);

    struct builder feeder = build_at_end(roles->regions[1], f->loc);
    for (int i = 0; i < w.rings.n; i++) {
        build_init(&feeder, w.rings.at[i].full, 1);
        build_init(&feeder, w.rings.at[i].empty, f->num_warps / WGMMA_WARPS);
    }
    begin_role(&w, &feeder, 1);
    feed_block(&w, &feeder, roles->regions[0]);
    build_yield(&feeder, 0, NULL);

    struct builder own = build_before(roles->regions[0]->first);
    begin_role(&w, &own, 0);
    if (w.begins) {
        make_ready_to_return(roles->regions[0], w.begins);
        own = build_before(w.begins->next);
        build_ready(&own);
    }
    use_in_block(&w, roles->regions[0]);
    own = build_at_end(roles->regions[0], f->loc);
    build_yield(&own, 0, NULL);
}
