/* SPDX-License-Identifier: MIT */
/* warp_specialize.c: moves the copies of operands of dots to a producer warp, which runs ahead of the consumer warps
 * and fills a ring of buffers in shared memory.
 *
 *     for ... {                                  %buf, %full, %empty = shared_alloc
 *       %a = tensor_load %x, %k map=0            warps { ready
 *       %s = to_shared %a                =>        for ... carry(%stage = 0, %phase = 0) {   the consumers
 *       %d = mma_start %s, ...                       mbar_wait %full[%stage], %phase
 *       %w = mma_wait %d                             %d = mma_start %buf[%stage], ...
 *       yield %w                                     %w = mma_wait %d
 *     }                                              mbar_arrive %empty[%stage]
 *                                                    yield %w, next stage, its phase
 *                                                  }
 *                                                } { mbar_init; ready
 *                                                  for ... carry(%stage = 0, %phase = 1) {   the producer: one thread
 *                                                    mbar_wait %empty[%stage], %phase
 *                                                    mbar_expect %full[%stage] bytes=...
 *                                                    tensor_copy %buf[%stage] %full[%stage], %x, %k map=0
 *                                                    yield next stage, its phase
 *                                                  }
 *                                                }
 *
 * plan_rings.c decides which tiles go through which ring, how many stages a ring has, and which dot stays in flight.
 * A batch is the set of tiles that the producer copies into one stage together. %stage is the number of the
 * current stage. %phase is the parity of the mbarrier's phase for which the role waits; it changes when
 * %stage becomes 0 again. Both roles use the ring's stages in the same order. All loops around a batch carry
 * the stage and the phase of the batch's ring. So the ring continues where it stopped when an inner loop
 * starts again, and when the next loop starts. At a new mbarrier, a wait for parity 1 returns at once, so the
 * producer finds all stages empty at first. The producer initializes the mbarriers itself and does not wait
 * for the consumers. The producer's first copies therefore start 600 cycles earlier than after a barrier of
 * all threads; a matrix product of size 1024 takes 16,000 cycles in all.
 *
 * A dot stays in flight while the next dot starts if three conditions hold: The loop does nothing with the
 * dot's accumulator but carry it. The ring has several stages. No reader loads a tile of the batch into
 * registers. The wait for the dot then leaves one dot pending. The consumers release the stage of the
 * previous iteration after this wait, and a wait for the last dot follows the loop. If the loop stores an
 * operand of the dot to a buffer, the wait for the previous dot is before this store instead.
 *
 * producer_slice.c finds the scalars that the producer must compute itself. The producer can follow only `for` loops,
 * not `while` loops; raise_tma_load.c checks this before it makes a tensor_load. */
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/plan_rings.h"
#include "opt/pipeline/producer_slice.h"
#include "opt/simplify/simplify.h"

#include "ir/target/fragments.h"
#include "ir/target/target.h"

#include <string.h>

struct specialize {
    struct func *func;
    struct arena *arena;
    struct ring_plan plan;
    struct map copy; /* maps values of the program to the producer's copies of these values */
    /* the last load that must precede the op `ready`, with which the consumers wait for the producer
     * (last_load); NULL: there is no such load, and both roles execute `ready` when they start */
    const struct op *begins;
    bool is_ready; /* while the producer is built: `ready` has already been built on this path */
};

struct op *func_roles(const struct func *f)
{
    struct op *o = f->body->first;
    while (o && o->code != OP_warps)
        o = o->next;
    return o;
}

int consumer_regs(const struct func *f)
{
    const struct op *roles = func_roles(f);
    const struct attr *given = roles ? op_attr(roles, ATTR_regs) : NULL;
    return given ? given->list[0] : target_regs(f->target, 2 * 32 * (f->num_warps + f->extra_warps));
}

/* -- the buffers -- */

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

static void build_rings(struct specialize *w, struct builder *b)
{
    for (int i = 0; i < w->plan.rings.n; i++) {
        struct ring *r = &w->plan.rings.at[i];
        for (int k = 0; k < r->largest.n; k++) {
            struct take *x = r->largest.at[k];
            const struct type *t = x->type;
            t = type_shared(w->func->module, type_elem(t), t->rank, t->shape, t->layout, r->stages);
            b->loc = x->load->loc;
            x->buf = build_buffer(b, t, op_result(x->load)->name);
        }
        r->full = build_buffer(b, barrier_type(w->func->module, r->stages), "full");
        r->empty = build_buffer(b, barrier_type(w->func->module, r->stages), "empty");
    }
    for (int i = 0; i < w->plan.batches.n; i++)
        for (int k = 0; k < w->plan.batches.at[i].takes.n; k++) {
            struct take *t = &w->plan.batches.at[i].takes.at[k];
            t->buf = w->plan.rings.at[w->plan.batches.at[i].ring].largest.at[k]->buf;
            tensor_fit_map(t->load, t->type, t->order, 1);
        }
}

static void build_init(struct builder *b, struct value *bar, int arrivals)
{
    op_set_int(build_op(b, OP_mbar_init, 1, &bar, 0, NULL, 0), ATTR_arrivals, arrivals);
}

/* -- pieces of both roles -- */

static struct value *build_stage(struct builder *b, struct value *buf, struct value *stage)
{
    return build_binary(b, OP_shared_stage, buf, stage);
}

/* Returns whether the buffer of t has stages of exactly the type of t. */
static bool is_whole_stage(const struct take *t)
{
    const struct type *buf = t->buf->type;
    return type_elem(buf) == type_elem(t->type) && type_same_shape(buf, t->type) &&
           buf->layout == t->type->layout;
}

/* Builds the view of a stage of t's buffer, with the type of t. The stage may be larger than the view,
 * because larger tiles use it too. */
static struct value *build_take(struct builder *b, const struct take *t, struct value *stage)
{
    return op_result(build_op(b, OP_shared_stage, 2, (struct value *[]){t->buf, stage}, 1, &t->type, 0));
}

static void build_wait(struct builder *b, struct value *bar, const struct ring *r)
{
    struct value *x[] = {build_stage(b, bar, r->stage), r->phase};
    build_op(b, OP_mbar_wait, 2, x, 0, NULL, 0);
}

void ring_advance(struct builder *b, int stages, struct value **stage, struct value **phase)
{
    struct value *next = build_binary(b, OP_add, *stage, build_const_i32(b, 1));
    struct value *is_last = build_cmp(b, PRED_eq, next, build_const_i32(b, stages));
    *stage = build_select(b, is_last, build_const_i32(b, 0), next);
    *phase = build_binary(b, OP_xor, *phase,
                          build_cast(b, OP_zext, is_last, type_scalar(b->func->module, DT_i32)));
}

static void advance(struct builder *b, struct ring *r)
{
    ring_advance(b, r->stages, &r->stage, &r->phase);
    value_rename(r->stage, "stage");
    value_rename(r->phase, "phase");
}

/* Returns whether one of the ring's batches is inside the loop. */
static bool is_around(const struct specialize *w, const struct op *loop, int ring)
{
    for (int i = 0; i < w->plan.batches.n; i++)
        if (w->plan.batches.at[i].ring == ring &&
            block_is_inside(w->plan.batches.at[i].block, loop->regions[0]))
            return true;
    return false;
}

/* Returns the last load in the function's outermost block whose value the producer needs, or NULL. The program may
 * write the loaded memory later, so both roles execute `ready` only after this load. */
static const struct op *last_load(struct specialize *w)
{
    const struct op *last = NULL;
    for (const struct op *o = w->func->body->first; o; o = o->next)
        if (o->code == OP_load && slice_has(&w->plan.needed, op_result(o)))
            last = o;
    return last;
}

static void build_ready(struct builder *b)
{
    build_op(b, OP_ready, 0, NULL, 0, NULL, 0);
}

static void begin_role(struct specialize *w, struct builder *b, int phase)
{
    if (!w->begins)
        build_ready(b);
    for (int i = 0; i < w->plan.rings.n; i++) {
        w->plan.rings.at[i].stage = build_const_i32(b, 0);
        w->plan.rings.at[i].phase = build_const_i32(b, phase);
    }
}

/* A loop carries two values for each ring that is used inside the loop: the number and the phase of the ring's current
 * stage. inside[i] tells whether ring i is used inside the loop. append() writes the current numbers and
 * phases to x[n], x[n + 1], ... and returns the new n; x holds the values that enter or leave the loop.
 * accept() takes the current numbers and phases from x[0], x[1], ...; here x holds arguments or results of
 * the loop. */
static int append(struct specialize *w, const bool *inside, struct value **x, int n)
{
    for (int i = 0; i < w->plan.rings.n; i++)
        if (inside[i]) {
            x[n++] = w->plan.rings.at[i].stage;
            x[n++] = w->plan.rings.at[i].phase;
        }
    return n;
}

static void accept(struct specialize *w, const bool *inside, struct value *const *x)
{
    for (int i = 0, n = 0; i < w->plan.rings.n; i++)
        if (inside[i]) {
            value_rename(w->plan.rings.at[i].stage = x[n++], "stage");
            value_rename(w->plan.rings.at[i].phase = x[n++], "phase");
        }
}

static int find_inside(struct specialize *w, const struct op *loop, bool *inside)
{
    int n = 0;
    for (int i = 0; i < w->plan.rings.n; i++)
        n += inside[i] = is_around(w, loop, i);
    return n;
}

/* Builds an empty loop with the attributes of `old`. The loop carries nkept values, which start as `init`, and the
 * number and phase of each ring that `inside` marks. In the loop's body, the loop's arguments are the current
 * numbers and phases. */
static struct op *build_loop(struct specialize *w, struct builder *b, const struct op *old,
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

/* Ends the body with a yield of the `kept` values and of the current numbers and phases. After the loop, the
 * loop's results are the current numbers and phases. */
static void yield_rings(struct specialize *w, struct block *body, int nkept, struct value *const *kept,
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

/* -- the consumers -- */

/* Returns whether `inner` is the op o, or an op in a region of o. */
static bool is_or_contains(const struct op *o, const struct op *inner)
{
    return inner == o || op_is_inside(inner, o);
}

/* Returns the last op in the block of the batch that reads a view of the batch, waits for a dot that reads
 * such a view, or contains such a reader or wait in its regions. */
static struct op *last_user(struct specialize *w, const struct batch *g)
{
    struct op *last = NULL;
    for (struct op *o = g->block->first; o; o = o->next)
        for (int i = 0; i < g->views.n; i++)
            for (const struct use *u = g->views.at[i]->uses; u; u = u->next) {
                bool is_dot = starts_dot(u->user);
                if (!is_dot && is_or_contains(o, u->user))
                    last = o;
                for (const struct use *d = is_dot ? op_result(u->user)->uses : NULL; d; d = d->next)
                    if (d->user->code == OP_mma_wait && is_or_contains(o, d->user))
                        last = o;
            }
    if (!last)
        diag_bug(w->func->module->diag, g->takes.at[0].load->loc, "a ring without a reader");
    return last;
}

/* Returns the last wait in o's block for a dot that the loop o leaves in flight; returns o if there is no such
 * wait. */
static struct op *wait_behind(struct op *o)
{
    struct op *last = o;
    for (int i = 0; i < o->nresults; i++)
        for (const struct use *u = o->results[i].uses; u; u = u->next)
            if (u->user->code == OP_mma_wait && u->user->block == o->block && op_is_before(last, u->user))
                last = u->user;
    return last;
}

/* Builds the release of a stage. If `on` is not NULL, the release has an effect only if `on` is true. */
static struct op *release(struct builder *b, struct ring *r, struct value *stage, struct value *on)
{
    struct value *x[] = {build_stage(b, r->empty, stage), on};
    struct op *arrive = build_op(b, OP_mbar_arrive, on ? 2 : 1, x, 0, NULL, 0);
    op_set_int(arrive, ATTR_group, WARPGROUP_WARPS);
    return arrive;
}

static struct value *stage_before(struct builder *b, const struct ring *r, struct value *stage)
{
    struct value *is_last = build_cmp(b, PRED_eq, stage, build_const_i32(b, 0));
    struct value *less = build_binary(b, OP_sub, stage, build_const_i32(b, 1));
    return build_select(b, is_last, build_const_i32(b, r->stages - 1), less);
}

struct op *wait_of_carried_dot(const struct block *body)
{
    struct op *dot = NULL, *end = block_terminator(body);
    int ndots = 0;
    for (struct op *o = body->first; o; o = o->next) {
        ndots += starts_dot(o) || o->nregions > 0;
        dot = starts_dot(o) ? o : dot;
    }
    if (ndots != 1 || !dot || !end)
        return NULL;
    return wait_if_carried(dot);
}

/* Leaves the dot of each iteration in flight while the next iteration's dot starts. The stage of a dot is
 * released one iteration later, after the wait for this dot. If the loop computes an operand of the dot,
 * this operand has only one buffer. The wait for the previous dot is then before the store to this
 * buffer, and the ops before the wait run during the previous dot. */
static void leave_one_in_flight(struct batch *g, struct ring *r)
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
    release(&b, r, stage_before(&b, r, r->stage), again);
    b = build_before(end);
    advance(&b, r);
}

/* Returns whether the ring is used again after the loop, by a later batch or in the next iteration of an
 * outer loop. */
static bool goes_on(const struct specialize *w, const struct batch *g, const struct op *loop)
{
    const struct batch *last = g;
    for (const struct batch *x = w->plan.batches.at; x < w->plan.batches.at + w->plan.batches.n; x++)
        last = x->ring == g->ring ? x : last;
    return last != g || loop->block->parent->code == OP_for;
}

/* Builds, after the loop, the wait for the last dot, and the release of the stage of this dot. The release
 * has the condition that the loop has run at least one iteration. */
static void end_last_dot(const struct specialize *w, const struct batch *g, struct ring *r, struct op *loop)
{
    struct op *wait = g->wait;
    const struct op *dot = op_opnd(wait, 0)->def;
    const struct value *acc = dot ? op_opnd(dot, 2) : op_opnd(wait, 0);
    struct builder b = build_after(await_behind(loop, acc->index - 1, NULL));
    struct value *runs = loop_runs(&b, loop);
    struct op *arrive = release(&b, r, stage_before(&b, r, r->stage), runs);
    if (!goes_on(w, g, loop))
        op_set_int(arrive, ATTR_last, 1);
}

void release_by_warps(const struct func *f, const struct value *bar)
{
    for (const struct use *u = bar->uses; u; u = u->next) {
        if (u->user->code == OP_shared_stage)
            release_by_warps(f, op_result(u->user));
        else if (u->user->code == OP_mbar_arrive)
            op_set_int(u->user, ATTR_group, 1);
        else if (u->user->code == OP_mbar_init)
            op_set_int(u->user, ATTR_arrivals, f->num_warps);
    }
}

/* -- readers of a stage -- */

/* Builds, after *at, a view of the current stage of t's buffer, and sets *at to the op that makes the view.
 * Dimension d of the view is dimension by[d] of the tile. */
static struct value *view_stage(struct specialize *w, struct batch *g, const struct take *t, struct op **at,
                                const int *by)
{
    struct builder b = build_after(*at);
    struct value *x[] = {t->buf, w->plan.rings.at[g->ring].stage};
    int order[RANK_MAX];
    const struct type *type = take_view(w->func->module, t, by, order);
    bool moves = false;
    for (int d = 0; d < type->rank; d++)
        moves = moves || order[d] != d;
    struct op *o = *at = build_op(&b, OP_shared_stage, 2, x, 1, &type, 0);
    if (moves && is_whole_stage(t))
        op_set_list(o, ATTR_order, type->rank, order);
    VEC_PUSH(w->arena, &g->views, op_result(o));
    return op_result(o);
}

/* Makes the readers of v read the current stage. v is the loaded tile of t or a transposition of this tile:
 * dimension d of v is dimension by[d] of the tile. Builds, after *at, a view of the stage, and one load from
 * the view for all readers that need the tile in registers. Sets *at to the last op built there. The load of
 * a large vector is built before its first reader instead. */
static void read_stage(struct specialize *w, struct batch *g, struct take *t, struct op **at, struct value *v,
                       const int *by)
{
    const struct params *params = w->func->module->params;
    struct value *view = NULL, *tile = NULL;
    while (v->uses) {
        struct op *o = v->uses->user;
        int opnd = (int)(v->uses - o->opnds);
        if (op_passes_tile(o)) {
            const struct attr *next = op_attr(o, ATTR_order);
            int all[RANK_MAX] = {0};
            for (int d = 0; d < v->type->rank; d++)
                all[d] = by[next ? next->list[d] : d];
            read_stage(w, g, t, at, op_result(o), all);
            op_erase(o);
            continue;
        }
        view = view ? view : view_stage(w, g, t, at, by);
        if (o->code == OP_to_shared && op_result(o)->type == view->type) {
            value_replace(op_result(o), view);
            op_erase(o);
            continue;
        }
        if (!tile) {
            const bool is_late =
                v->type->rank == 1 && tile_nregs(v->type) > params->warp_specialize_vector_regs;
            struct builder here = is_late ? build_before(t->first) : build_after(*at);
            tile = buffer_load(&here, view, v->type);
            *at = is_late ? *at : tile->def;
        }
        op_set_opnd(o, opnd, tile);
    }
}

/* -- releases of stages that are read into registers -- */

/* Returns whether v is computed from the tile by ops in the block of the tile. */
static bool comes_from(const struct value *v, const struct value *tile, int depth)
{
    const struct op *o = v ? v->def : NULL;
    bool comes = v == tile;
    for (int i = 0; o && !comes && o->block == tile->block && i < o->nopnds; i++)
        comes =
            depth < value_params(tile)->pipeline_loops_depth && comes_from(op_opnd(o, i), tile, depth + 1);
    return comes;
}

/* Returns the first dot after `load` that reads from shared memory an operand computed from the loaded tile;
 * NULL: there is none. */
static struct op *dot_of_stored(const struct op *load)
{
    for (struct op *o = load->next; o; o = o->next)
        for (int i = DOT_a; starts_dot(o) && i <= DOT_b; i++) {
            const struct op *put = op_opnd(o, i)->def;
            if (put && put->code == OP_to_shared && put->block == load->block &&
                comes_from(op_opnd(put, 0), op_result(load), 0))
                return o;
        }
    return NULL;
}

/* Returns the dot after which all loads from the stage have written their registers, or NULL if there is no
 * such dot. After this dot the stage can be released. A barrier alone is not sufficient: it orders accesses
 * of threads, but it does not wait until loads have written their registers. So the producer's copy, which is
 * no access of a thread, could overwrite a stage from which a slow warp still loads: in a state-space scan
 * with tiles of 64x32, 0.02 percent of the elements were wrong. But if a thread has stored an operand that it
 * computes from a loaded tile, the load has written its registers, and a barrier orders this store before the
 * dot that reads the operand. */
static struct op *dot_behind_loads(const struct batch *g)
{
    struct op *last = NULL;
    for (int i = 0; i < g->views.n; i++)
        for (const struct use *u = g->views.at[i]->uses; u; u = u->next) {
            struct op *dot = u->user->code == OP_shared_load ? dot_of_stored(u->user) : NULL;
            if (!dot || dot->block != g->block)
                return NULL;
            last = last && op_is_before(dot, last) ? last : dot;
        }
    return last;
}

/* Builds ops after which the loads of all threads of a warpgroup have written their registers, so that one
 * thread may release the stage. */
static void await_loads(struct builder *b)
{
    op_set_int(build_op(b, OP_fence_async, 0, NULL, 0, NULL, 0), ATTR_read, 1);
    op_set_int(build_op(b, OP_barrier, 0, NULL, 0, NULL, 0), ATTR_group, WARPGROUP_WARPS);
}

/* Builds the wait for a full stage before the first reader of the stage, and the release of the stage after
 * the last reader. If a dot stays in flight, the release comes one iteration later (leave_one_in_flight). */
static void use_ring(struct specialize *w, struct batch *g)
{
    struct ring *r = &w->plan.rings.at[g->ring];
    static const int same[RANK_MAX] = {0, 1, 2, 3, 4};
    struct builder b = build_before(g->first);
    build_wait(&b, r->full, r);
    struct op *at = g->first->prev;
    for (int i = 0; i < g->takes.n; i++)
        read_stage(w, g, &g->takes.at[i], &at, op_result(g->takes.at[i].load), same);
    for (int i = 0; i < g->takes.n; i++)
        op_erase(g->takes.at[i].load);
    if (g->wait) {
        leave_one_in_flight(g, r);
        return;
    }
    struct op *last = last_user(w, g);
    r->by_warps |= last->nregions > 0;
    struct op *dot = g->into_registers ? dot_behind_loads(g) : NULL;
    b = build_after(dot ? dot : wait_behind(last));
    if (g->into_registers && !dot)
        await_loads(&b);
    release(&b, r, r->stage, NULL);
    struct op *end = block_terminator(g->block);
    b = end ? build_before(end) : build_at_end(g->block, b.loc);
    advance(&b, r);
}

static void use_in_block(struct specialize *w, struct block *block);

/* If the loop uses rings, replaces it by a loop that also carries the stage numbers and phases of these
 * rings, and makes the ops in the loop use the rings. */
static void use_in_loop(struct specialize *w, struct op *old)
{
    bool *inside = NEW_ARRAY(w->arena, w->plan.rings.n, bool);
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
    for (int i = 0; i < w->plan.batches.n; i++)
        if (w->plan.batches.at[i].block == from)
            w->plan.batches.at[i].block = body;
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
    for (int i = 0; i < w->plan.batches.n; i++) {
        struct batch *g = &w->plan.batches.at[i];
        if (g->first == old)
            g->first = loop;
        if (g->block == body && g->wait)
            end_last_dot(w, g, &w->plan.rings.at[g->ring], loop);
    }
}

static void use_in_block(struct specialize *w, struct block *block)
{
    for (struct op *next, *o = block->first; o; o = next) {
        next = o->next;
        if (o->code == OP_for)
            use_in_loop(w, o);
    }
    for (int i = 0; i < w->plan.batches.n; i++)
        if (w->plan.batches.at[i].block == block)
            use_ring(w, &w->plan.batches.at[i]);
}

/* -- the producer -- */

static struct value *copy_of(struct specialize *w, struct value *v)
{
    void **at = map_get_ptr(&w->copy, v);
    return at && *at ? *at : v;
}

/* Builds the copy of t's tile into the current stage of the ring. Before the first copy into a stage,
 * builds a wait until the stage is empty, and announces the bytes of all copies into the stage. After the
 * last copy, advances to the next stage. */
static void copy_take(struct specialize *w, struct builder *b, struct batch *g, const struct take *t)
{
    struct ring *r = &w->plan.rings.at[g->ring];
    if (g->ncopied++ == 0) {
        build_wait(b, r->empty, r);
        struct value *bar = build_stage(b, r->full, r->stage);
        op_set_int(build_op(b, OP_mbar_expect, 1, &bar, 0, NULL, 0), ATTR_bytes, g->bytes);
    }
    struct value *x[2 + RANK_MAX] = {build_take(b, t, r->stage), build_stage(b, r->full, r->stage)};
    for (int i = 0; i < t->load->nopnds; i++)
        x[2 + i] = copy_of(w, op_opnd(t->load, i));
    struct op *copy = build_op(b, OP_tensor_copy, 2 + t->load->nopnds, x, 0, NULL, 0);
    op_set_int(copy, ATTR_map, op_int(t->load, ATTR_map));
    for (int d = 0, rank = t->type->rank; d < rank; d++)
        if (t->order[d] != d)
            op_set_list(copy, ATTR_order, rank, t->order);
    if (g->ncopied < g->takes.n)
        return;
    g->ncopied = 0;
    advance(b, r);
}

static void produce_block(struct specialize *w, struct builder *b, struct block *from);

/* Builds, in the producer's role, a copy of the loop `old`, if rings are used inside the loop or if the
 * producer needs values that the loop carries. */
static void produce_loop(struct specialize *w, struct builder *b, struct op *old)
{
    bool *inside = NEW_ARRAY(w->arena, w->plan.rings.n, bool);
    int ninside = find_inside(w, old, inside), nkept = 0, *kept = NEW_ARRAY(w->arena, old->nresults + 1, int);
    struct block *from = old->regions[0];
    for (int i = 0; i < old->nresults; i++)
        if (slice_has(&w->plan.needed, from->args.at[1 + i]) || slice_has(&w->plan.needed, &old->results[i]))
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
    produce_block(w, &inner, from);
    for (int i = 0; i < nkept; i++)
        x[i] = copy_of(w, op_opnd(block_terminator(from), kept[i]));
    yield_rings(w, body, nkept, x, inside, loop, block_terminator(from)->loc);
}

static const struct take *take_of(struct specialize *w, const struct op *load, struct batch **batch)
{
    for (int i = 0; i < w->plan.batches.n; i++)
        for (int k = 0; k < w->plan.batches.at[i].takes.n; k++)
            if (w->plan.batches.at[i].takes.at[k].load == load) {
                *batch = &w->plan.batches.at[i];
                return &w->plan.batches.at[i].takes.at[k];
            }
    return NULL;
}

/* Builds, in the producer's role, a copy of an `if` that contains a return. */
static void produce_exit(struct specialize *w, struct builder *b, struct op *old)
{
    struct op *either = build_if(b, copy_of(w, op_opnd(old, 0)), 0, NULL);
    const bool was_ready = w->is_ready;
    for (int i = 0; i < 2; i++) {
        const struct op *end = block_terminator(old->regions[i]);
        struct builder in = build_at_end(either->regions[i], end->loc);
        if (end->code == OP_return && !was_ready)
            build_ready(&in);
        w->is_ready |= end->code == OP_return;
        produce_block(w, &in, old->regions[i]);
        build_op(&in, end->code, 0, NULL, 0, NULL, 0);
        w->is_ready = was_ready;
    }
}

static void produce_block(struct specialize *w, struct builder *b, struct block *from)
{
    for (struct op *o = from->first; o; o = o->next) {
        struct batch *g;
        const struct take *t = o->code == OP_tensor_load ? take_of(w, o, &g) : NULL;
        bool needed = false;
        for (int i = 0; i < o->nresults; i++)
            needed |= slice_has(&w->plan.needed, &o->results[i]);
        b->loc = o->loc;
        if (t)
            copy_take(w, b, g, t);
        else if (o->code == OP_for)
            produce_loop(w, b, o);
        else if (is_exit(o))
            produce_exit(w, b, o);
        else if (needed)
            op_clone(b, o, &w->copy);
        if (o == w->begins) {
            build_ready(b);
            w->is_ready = true;
        }
    }
}

/* -- the pass -- */

/* Builds `ready` at the start of each region that ends in an early return and belongs to an op of b before
 * `end`. */
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
    const int consumers = f->num_warps, ctas = cost_ctas_of_roles(f);
    /* setmaxnreg changes the registers of a whole warpgroup, so a role that uses it has four warps */
    const int producers = ctas ? WARPGROUP_WARPS : 1;
    struct op *o = build_op(b, OP_warps, 0, NULL, 0, NULL, 2);
    op_set_list(o, ATTR_warps, 2, (int[]){consumers, producers});
    if (ctas) {
        int roles[2];
        cost_role_regs(f, ctas, roles);
        op_set_list(o, ATTR_regs, 2, roles);
    }
    f->extra_warps = producers;
    if (producers == 1 && !f->persistent)
        opt_explain(f, &(struct explanation){.what = DECISION_one_warp});
    return o;
}

/* Moves all ops of the program, except the final return, to the first role. */
static void fill_consumer_role(struct specialize *w, struct op *roles, struct op *first)
{
    struct block *consumers = roles->regions[0];
    for (struct op *next, *o = first; o->code != OP_return; o = next) {
        next = o->next;
        op_move_to_end(o, consumers);
    }
    for (int i = 0; i < w->plan.batches.n; i++)
        if (w->plan.batches.at[i].block == w->func->body)
            w->plan.batches.at[i].block = consumers;
}

void opt_warp_specialize(struct func *f)
{
    struct specialize w = {.func = f, .arena = f->module->scratch};
    map_init(&w.copy, w.arena);
    plan_rings(&w.plan, f);
    if (!w.plan.batches.n)
        return;
    w.begins = last_load(&w);
    w.is_ready = !w.begins;
    struct op *first = f->body->first;
    struct builder b = build_before(first);
    build_rings(&w, &b);
    struct op *roles = build_warps(f, &b);
    fill_consumer_role(&w, roles, first);

    struct builder producer = build_at_end(roles->regions[1], f->loc);
    for (int i = 0; i < w.plan.rings.n; i++) {
        build_init(&producer, w.plan.rings.at[i].full, 1);
        build_init(&producer, w.plan.rings.at[i].empty, f->num_warps / WARPGROUP_WARPS);
    }
    begin_role(&w, &producer, 1);
    produce_block(&w, &producer, roles->regions[0]);
    build_yield(&producer, 0, NULL);

    struct builder consumers = build_before(roles->regions[0]->first);
    begin_role(&w, &consumers, 0);
    if (w.begins) {
        make_ready_to_return(roles->regions[0], w.begins);
        consumers = build_before(w.begins->next);
        build_ready(&consumers);
    }
    use_in_block(&w, roles->regions[0]);
    for (int i = 0; i < w.plan.rings.n; i++)
        if (w.plan.rings.at[i].by_warps)
            release_by_warps(f, w.plan.rings.at[i].empty);
    consumers = build_at_end(roles->regions[0], f->loc);
    build_yield(&consumers, 0, NULL);
}
