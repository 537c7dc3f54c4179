/* SPDX-License-Identifier: MIT */
/* pipeline_loops.c: turns a loop whose dots read global memory into a pipeline of asynchronous copies to shared
 * memory. plan_copies.c decides which loads become copies; this file rewrites the loop.
 *
 *     for %k = %lo to %hi step 64 carry(%p.1 = %p, ...)        %ring = shared_alloc : shared<..., stages=3>
 *       %x = load %p.1                                         async_copy %ring[0], %p, (%lo < %hi)     \ stages - 1
 *       %a = convert %x                                 =>     async_commit                             | times, at
 *       %d = dot %a, ...                                       async_copy %ring[1], %p + 64, ...        / p, p + 64
 *       %p.2 = addptr %p.1, 64                                 async_commit
 *       yield %p.2, ...                                        for ... carry(..., %q.1 = %p + 128, %stage = 0)
 *                                                                async_wait pending=1
 *                                                                async_copy %ring[%stage - 1], %q.1, (is there one?)
 *                                                                async_commit
 *                                                                %a = shared_load %ring[%stage]
 *                                                                %d = dot %a, ...
 *                                                                %q.2 = addptr %q.1, 64
 *                                                                yield ..., %q.2, (%stage + 1) mod 3
 *                                                              async_wait
 *
 * The pass clones the ops that compute addresses and masks, to compute them stages - 1 iterations ahead. If there is
 * a transposition between a load and a dot, the pass transposes the load's addresses instead of the tile. Masks
 * disable copies past the last iteration. Let n be the distance from the counter to the loop's end, which is positive
 * inside the loop. The i-th iteration after the current iteration exists if n > i * |step|, compared as unsigned
 * numbers.
 *
 * One barrier per iteration is enough; insert_barriers.c puts the barrier after the wait. This barrier makes
 * the copies of all threads visible to all threads. It also ensures that all threads have read the previous
 * iteration's stage before the next copies overwrite that stage. The loop carries the number of the stage; a
 * comparison and a select set the number to 0 after the last stage. The pass dce later removes the carried
 * values that only the load used.
 *
 * If the loop is known to run at most as many iterations as stages were requested, all copies are before the
 * loop.
 *
 * If the plan splits a dot into steps, each step is a dot with the extent of one instruction along K. Operands of the
 * next step are loaded from shared memory while the current step multiplies. The wait for the next iteration's copies
 * is before the last step. The last step's instructions depend neither on this wait nor on the barrier
 * after it. So the scheduler of code generation can start these instructions first, and they hide the
 * latency of the barrier. In the sketch, %a.0 and %a.1 are the parts of %a for the first and the second
 * step, %next is the number of the next stage, and %a.next is the first step's part of the next iteration's %a.
 *
 *     for ... carry(..., %a.0, %b.0)
 *       %a.1 = shared_load %ring[%stage] at=[0,16] ...
 *       async_copy %ring[%stage - 1], ...
 *       %d.0 = dot %a.0, %b.0, %acc
 *       async_wait pending=1
 *       %a.next = shared_load %ring[%next] at=[0,0] ...
 *       %d.1 = dot %a.1, %b.1, %d.0
 *       yield ..., %a.next, ...
 *
 * If the plan leaves a dot in flight while the next dot starts, the copies follow the wait for the previous
 * dot:
 *
 *     for ...
 *       async_wait pending=1
 *       %d = mma_start %ring[%stage], ..., %acc
 *       %done = mma_wait %d pending=1                the previous iteration's dot has read its stage
 *       barrier                                      for all warpgroups
 *       async_copy %ring[%stage - 1], ...
 *       yield ..., %done, ...
 *
 * If a producer warp copies one operand of this dot, the dot also waits for the producer's mbarrier. The wait
 * for the previous dot is then followed by the release of the producer's stage that the previous dot has
 * read. */
#include "ir/target/fragments.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/plan_copies.h"
#include "opt/pipeline/plan_rings.h"
#include "opt/pipeline/rotate_loads.h"
#include "opt/simplify/simplify.h"

#include <stdlib.h>

/* -- the copies of one iteration -- */

static struct value *number(struct builder *b, const struct type *t, int64_t i)
{
    return build_const_int(b, t, i);
}

static struct value *stage_of(struct builder *b, struct value *ring, struct value *stage)
{
    return op_result(
        build_op(b, OP_shared_stage, 2, (struct value *[]){ring, stage}, 1,
                 (const struct type *[]){type_shared(b->func->module, type_elem(ring->type), ring->type->rank,
                                                     ring->type->shape, ring->type->layout, 1)},
                 0));
}

/* Builds the condition that the i-th iteration after the iteration with counter k exists. If `inside` is
 * true, the iteration with counter k is known to exist; then the function returns NULL for i = 0. */
static struct value *exists(struct copy_plan *p, struct builder *b, struct value *k, int i, bool inside)
{
    struct value *hi = op_opnd(p->loop, 1), *from = p->step > 0 ? k : hi, *to = p->step > 0 ? hi : k;
    struct value *any = inside ? NULL : build_cmp(b, PRED_slt, from, to);
    if (i == 0)
        return any;
    struct value *left = build_binary(b, OP_sub, to, from);
    struct value *more = build_cmp(b, PRED_ugt, left, number(b, k->type, i * llabs(p->step)));
    return any ? build_binary(b, OP_and, any, more) : more;
}

/* Returns the value that v has in the iteration that `map` describes. If `map` does not contain this value, builds the
 * ops that compute it. */
static struct value *compute(struct copy_plan *p, struct builder *b, struct map *map, struct value *v)
{
    if (!v || value_mapped(map, v) != v || value_is_outside(v, p->loop))
        return value_mapped(map, v);
    for (int i = 0; i < v->def->nopnds; i++)
        compute(p, b, map, op_opnd(v->def, i));
    struct op *o = op_clone(b, v->def, map);
    if (o->code == OP_load) {
        struct builder before = build_before(o);
        op_set_opnd(o, 1, load_mask(&before, op_opnd(o, 1), p->live, op_opnd(o, 0)->type));
    }
    return value_mapped(map, v);
}

/* Builds the copy of the tile at address `ptr` to stage number `stage` of its ring. */
static void build_copy(struct builder *b, const struct staged *x, struct value *stage, struct value *ptr,
                       struct value *mask)
{
    struct op *copy =
        build_op(b, OP_async_copy, 3, (struct value *[]){stage_of(b, x->ring, stage), ptr, mask}, 0, NULL, 0);
    op_set_int(copy, ATTR_vec, x->vec);
}

/* Builds the copies of the iteration whose counter and carried values `map` holds, and commits them as one
 * group. Omits late tiles (staged.is_late). The copies fill stage number `stage`. They copy nothing if `live`
 * is false. */
static void copy_stage(struct copy_plan *p, struct builder *b, struct map *map, struct value *live,
                       struct value *stage)
{
    struct loc loc = b->loc;
    for (int i = 0; i < p->loads.n; i++) {
        struct staged *x = &p->loads.at[i];
        if (x->is_late)
            continue;
        b->loc = x->load->loc;
        struct value *ptr = compute(p, b, map, op_opnd(x->load, 0)),
                     *mask = compute(p, b, map, op_opnd(x->load, 1));
        build_copy(b, x, stage, ptr, load_mask(b, mask, live, ptr->type));
    }
    b->loc = loc;
    build_op(b, OP_async_commit, 0, NULL, 0, NULL, 0);
}

/* Advances the carried values by one iteration: now[i] becomes the value that the body yields for it. The ops
 * that compute the new values are after the copies, so that an old value and its new value are not live at
 * the same time. */
static void advance(struct copy_plan *p, struct builder *b, struct map *map, struct value **now)
{
    for (int i = 0; i < p->ahead.n; i++)
        now[i] = compute(p, b, map, op_opnd(p->body->last, p->ahead.at[i]->index - 1));
}

static void start_map(struct copy_plan *p, struct map *map, struct value *k, struct value *const *now)
{
    map_init(map, p->module->scratch);
    *map_at_ptr(map, p->body->args.at[0]) = k;
    for (int i = 0; i < p->ahead.n; i++)
        *map_at_ptr(map, p->ahead.at[i]) = now[i];
}

/* Builds, before the loop, the rings, and the copies of the first p->nahead iterations. Sets `now` to
 * the carried values after these iterations, in the order of p->ahead. */
static void build_prologue(struct copy_plan *p, struct value **now)
{
    struct builder b = build_before(p->loop);
    const struct type *i32 = type_scalar(p->module, DT_i32);
    for (int i = 0; i < p->loads.n; i++) {
        struct staged *x = &p->loads.at[i];
        b.loc = x->load->loc;
        x->ring = op_result(build_op(&b, OP_shared_alloc, 0, NULL, 1, &x->ring_type, 0));
    }
    b.loc = p->loop->loc;
    for (int i = 0; i < p->ahead.n; i++)
        now[i] = op_opnd(p->loop, p->ahead.at[i]->index + 2);
    struct value *lo = op_opnd(p->loop, 0);
    for (int i = 0; i < p->nahead; i++) {
        struct value *k = i ? build_binary(&b, OP_add, lo, number(&b, lo->type, i * p->step)) : lo;
        struct map map;
        start_map(p, &map, k, now);
        struct value *stage = number(&b, i32, i);
        copy_stage(p, &b, &map, exists(p, &b, lo, i, false), stage);
        p->live = p->loads_ahead ? exists(p, &b, lo, i + 1, false) : NULL;
        advance(p, &b, &map, now);
    }
}

/* Builds x == edge ? other : x + by. */
static struct value *step_cyclic(struct builder *b, struct value *x, int edge, int other, int by)
{
    struct value *at_edge = build_cmp(b, PRED_eq, x, number(b, x->type, edge));
    struct value *next = build_binary(b, OP_add, x, number(b, x->type, by));
    return build_select(b, at_edge, number(b, x->type, other), next);
}

/* Builds, in the loop, the copies for the iteration that is p->nahead iterations ahead. These copies fill the
 * stage that the previous iteration has read. `stage` is the number of the stage that this iteration
 * reads. */
static void copy_ahead(struct copy_plan *p, struct builder *b, struct value *stage, struct value **now)
{
    int n = p->nahead;
    if (n == p->nstages) { /* all copies are before the loop; the waits count this empty group instead */
        build_op(b, OP_async_commit, 0, NULL, 0, NULL, 0);
        return;
    }
    struct value *k = p->body->args.at[0], *freed = step_cyclic(b, stage, 0, n, -1);
    struct map map;
    start_map(p, &map, build_binary(b, OP_add, k, number(b, k->type, n * p->step)), now);
    copy_stage(p, b, &map, exists(p, b, k, n, true), freed);
    p->live = p->loads_ahead ? exists(p, b, k, n + 1, true) : NULL;
    advance(p, b, &map, now);
}

/* Builds a wait for all groups of copies except the `pending` newest groups, and a fence if asynchronous dots read
 * the copied tiles. */
static void await_copies(struct builder *b, int pending, bool fenced)
{
    struct op *wait = build_op(b, OP_async_wait, 0, NULL, 0, NULL, 0);
    if (pending)
        op_set_int(wait, ATTR_pending, pending);
    if (fenced)
        build_op(b, OP_fence_async, 0, NULL, 0, NULL, 0);
}

static void build_wait(struct copy_plan *p, struct builder *b, int pending)
{
    await_copies(b, pending, p->fenced);
}

/* -- loads and dots as a whole -- */

/* Makes dots read the operand v directly from the ring, if the ring, or a transposed view of the ring, has
 * the layout that the dot needs. v is the loaded tile or a transposition of this tile: dimension d of v is
 * dimension order[d] of the loaded tile. */
static void share_ring(struct staged *x, struct value *stage, struct value *v, const int *order)
{
    for (struct use *u = v->uses, *next; u; u = next) {
        struct op *o = u->user;
        next = u->next;
        if (o->code == OP_trans || o->code == OP_convert) {
            const struct attr *by = op_attr(o, ATTR_order);
            int all[RANK_MAX] = {0};
            for (int d = 0; d < v->type->rank; d++)
                all[d] = order[by ? by->list[d] : d];
            share_ring(x, stage, op_result(o), all);
            if (!op_result(o)->uses)
                op_erase(o);
        }
        struct layout l;
        layout_trans(&l, x->ring->type->layout, order);
        if (o->code != OP_to_shared || !layout_equal(op_result(o)->type->layout, &l))
            continue;
        struct builder b = build_before(o);
        struct op *view = stage_of(&b, x->ring, stage)->def;
        value_set_type(op_result(view), op_result(o)->type);
        for (int d = 0; d < v->type->rank; d++)
            if (order[d] != d)
                op_set_list(view, ATTR_order, v->type->rank, order);
        value_replace(op_result(o), op_result(view));
        op_erase(o);
    }
}

/* Replaces uses of the load by loads from the ring. Each conversion becomes a load in the conversion's layout. All
 * other users share one load in the tile's own layout. */
static void read_ring(struct staged *x, struct value *stage)
{
    static const int same[RANK_MAX] = {0, 1, 2, 3, 4};
    struct value *r = op_result(x->load);
    share_ring(x, stage, r, same);
    while (r->uses) {
        struct op *o = r->uses->user;
        struct builder b = build_before(o);
        if (o->code != OP_convert) {
            b = build_before(x->load);
            value_replace(r, buffer_load(&b, stage_of(&b, x->ring, stage), r->type));
            break;
        }
        value_replace(op_result(o), buffer_load(&b, stage_of(&b, x->ring, stage), op_result(o)->type));
        op_erase(o);
    }
}

/* Moves the wait for the previous dot to after the loop's dot. The release that follows the wait moves too:
 * it releases the stage of the producer's ring that the previous dot has read. */
static void move_wait(struct copy_plan *p)
{
    struct value *sum = op_opnd(p->wait, 0);
    struct op *dot = p->in_flight, *place = dot->next, *stop = p->behind->next;
    op_set_opnd(dot, DOT_acc, sum);
    for (struct op *o = p->wait, *next; o != stop; o = next) {
        next = o->next;
        op_move_before(o, place);
    }
    op_set_opnd(p->wait, 0, op_result(dot));
    op_set_opnd(p->body->last, sum->index - 1, op_result(p->wait));
}

/* Builds, after the loop, the wait for the last dot. */
static void await_last_dot(struct copy_plan *p)
{
    const struct op *end = p->body->last;
    for (int i = 0; i < end->nopnds; i++)
        if (op_opnd(end, i) == op_result(p->wait))
            await_behind(p->loop, i, NULL);
}

/* Leaves the loop's dot in flight while the next dot starts. The copies for later iterations fill the stage
 * that the previous dot has read. So these copies follow the wait for the previous dot, and a barrier,
 * because all warpgroups read the stage. */
static void leave_one_in_flight(struct copy_plan *p, struct value *stage, struct value **now)
{
    op_set_int(p->wait, ATTR_pending, 1);
    struct builder b = build_after(p->behind);
    build_op(&b, OP_barrier, 0, NULL, 0, NULL, 0);
    copy_ahead(p, &b, stage, now);
    if (!p->has_producer) /* otherwise warp_specialize.c has built the wait for the last dot */
        await_last_dot(p);
}

static void read_rings(struct copy_plan *p, struct value *stage)
{
    for (int i = 0; i < p->loads.n; i++)
        read_ring(&p->loads.at[i], p->loads.at[i].is_late ? p->only_stage : stage);
}

/* Returns a builder near the start of the body, where the copies are built. Moves the ops that compute the
 * addresses and masks of late tiles to before this place. Moves each read of a late tile to directly before
 * the dot that uses the tile. */
static struct builder start_of_body(struct copy_plan *p)
{
    struct builder b = build_before(p->body->first);
    b.loc = p->loop->loc;
    if (!p->late_read)
        return b;
    p->only_stage = number(&b, type_scalar(p->module, DT_i32), 0);
    for (int i = 0; i < p->loads.n; i++) {
        struct op *load = p->loads.at[i].load, *read = op_result(load)->uses->user;
        if (!p->loads.at[i].is_late)
            continue;
        op_move_before(read, op_result(read)->uses->user);
        for (int k = 0; k < 2; k++) /* the address and the mask */
            if (op_opnd(load, k) && !value_dominates(op_opnd(load, k), p->only_stage->def))
                op_move_with_operands(op_opnd(load, k)->def, p->only_stage->def);
    }
    b = build_after(p->only_stage->def);
    b.loc = p->loop->loc;
    return b;
}

/* Builds the copies of the late tiles, which this iteration itself reads, as one group. */
static void copy_late(struct copy_plan *p, struct builder *b)
{
    for (int i = 0; i < p->loads.n; i++) {
        struct staged *x = &p->loads.at[i];
        if (x->is_late)
            build_copy(b, x, p->only_stage, op_opnd(x->load, 0), op_opnd(x->load, 1));
    }
    if (p->late_read)
        build_op(b, OP_async_commit, 0, NULL, 0, NULL, 0);
}

/* Builds, before the first read of a late tile, the wait for all copies except the copies for later
 * iterations. */
static void await_late(struct copy_plan *p)
{
    bool fenced = false;
    for (int i = 0; i < p->loads.n; i++)
        fenced |= p->loads.at[i].is_late && op_result(p->loads.at[i].load)->uses->user->code == OP_to_shared;
    struct builder b = build_before(p->late_read);
    await_copies(&b, 1, fenced);
}

/* If the loop computes an operand of an asynchronous dot and stores it to a buffer, moves the copies for
 * later iterations (the ops from `first` to `last`) to after this store. The fence after the store waits for
 * all copies in flight, so copies that start before the fence would lengthen each iteration. If copies run
 * only one iteration ahead, they stay before the store: after the store, they would have less time than most
 * copies take. Does nothing if some tiles are late. */
static void copy_behind_store(struct copy_plan *p, struct op *first, const struct op *last)
{
    struct op *store = p->body->last;
    while (store && store->code != OP_to_shared)
        store = store->prev;
    if (!store || p->late_read || p->nahead < 2)
        return;
    struct op *place = store->next;
    for (struct op *next, *o = first, *end = last->next; o != end; o = next) {
        next = o->next;
        op_move_before(o, place);
    }
}

static void rewrite_whole(struct copy_plan *p, struct value *stage, struct value **now)
{
    struct builder b = start_of_body(p);
    if (p->behind && p->has_producer)
        move_wait(p);
    build_wait(p, &b, p->nahead - 1);
    copy_late(p, &b);
    if (p->behind) {
        read_rings(p, stage);
        leave_one_in_flight(p, stage, now);
    } else {
        const struct op *before = b.before->prev;
        copy_ahead(p, &b, stage, now);
        const struct op *last = b.before->prev;
        if (p->late_read)
            await_late(p);
        read_rings(p, stage);
        copy_behind_store(p, before->next, last);
    }
    for (int i = 0; i < p->loads.n; i++)
        op_erase(p->loads.at[i].load);
    b = build_before(p->body->last);
    now[p->ahead.n] = step_cyclic(&b, stage, p->nstages - 1, 0, 1);
}

/* -- dots in steps -- */

/* Returns the type that operand `role` (DOT_a or DOT_b) has in one step. */
static const struct type *step_type(struct copy_plan *p, int role)
{
    const struct type *t = op_opnd(p->dot, role)->type;
    int k = role == DOT_a ? 1 : 0, shape[2] = {t->shape[0], t->shape[1]}, index[2], zero[2] = {0};
    shape[k] = p->step_k;
    struct layout part, l;
    layout_init(&part, 2, shape);
    for (int kind = 0; kind < IN_offset; kind++)
        for (int i = 0; i < t->layout->nbits[kind]; i++) {
            layout_split_coord(t->layout, layout_basis(t->layout, (enum in)kind, i), index);
            if (index[k] < p->step_k)
                layout_add(&part, (enum in)kind, (uint32_t)(index[0] << part.dim_bits[1] | index[1]));
        }
    layout_part(&l, &part, shape, zero);
    return type_tile(p->module, type_elem(t), 2, shape, layout_intern(p->module, &l));
}

/* Builds the load of operand `role` of step i from a stage of its ring. */
static struct value *load_step(struct copy_plan *p, struct builder *b, struct value *stage, int role, int i)
{
    enum { VECTOR_BYTES = 16 };
    const struct type *t = step_type(p, role), *buf = stage->type;
    int at[2] = {0};
    at[role == DOT_a ? 1 : 0] = i * p->step_k;
    struct layout part;
    layout_part(&part, t->layout, buf->shape, at);
    struct op *load = build_op(b, OP_shared_load, 1, &stage, 1, &t, 0);
    op_set_list(load, ATTR_at, 2, at);
    op_set_int(load, ATTR_vec,
               layout_shared_vector(buf->layout, &part, VECTOR_BYTES / type_elem_bytes(t), NULL));
    return op_result(load);
}

static void load_operands(struct copy_plan *p, struct builder *b, struct value *stage, int i,
                          struct value *parts[2])
{
    for (int role = DOT_a; role <= DOT_b; role++)
        parts[role] = load_step(p, b, stage_of(b, p->operand[role]->ring, stage), role, i);
}

static struct value *build_step(struct copy_plan *p, struct builder *b, struct value *const parts[2],
                                struct value *acc)
{
    struct op *o =
        build_op(b, OP_dot, 3, (struct value *[]){parts[DOT_a], parts[DOT_b], acc}, 1, &acc->type, 0);
    for (int i = 0; i < p->dot->nattrs; i++)
        op_set_int(o, p->dot->attrs[i].key, p->dot->attrs[i].i);
    return op_result(o);
}

/* Replaces the dot by its steps. On entry, `parts` holds the operands of this iteration's first step; on
 * return, the operands of the next iteration's first step. */
static void rewrite_steps(struct copy_plan *p, struct value *stage, struct value **now, struct value **parts)
{
    struct builder b = build_before(p->dot);
    struct value *acc = op_opnd(p->dot, DOT_acc), *next[2];
    int nsteps = op_opnd(p->dot, DOT_a)->type->shape[1] / p->step_k;
    for (int i = 0; i < nsteps; i++) {
        if (i + 1 < nsteps) {
            load_operands(p, &b, stage, i + 1, next);
            if (i == 0)
                copy_ahead(p, &b, stage, now);
        } else {
            build_wait(p, &b, p->nahead - 1);
            now[p->ahead.n] = step_cyclic(&b, stage, p->nstages - 1, 0, 1);
            load_operands(p, &b, now[p->ahead.n], 0, next);
        }
        acc = build_step(p, &b, parts, acc);
        parts[DOT_a] = next[DOT_a];
        parts[DOT_b] = next[DOT_b];
    }
    value_replace(op_result(p->dot), acc);
    value_take_name(acc, op_result(p->dot));
    struct op *converts[2] = {op_opnd(p->dot, DOT_a)->def, op_opnd(p->dot, DOT_b)->def};
    op_erase(p->dot);
    for (int i = 0; i < 2; i++)
        op_erase(converts[i]);
    for (int i = 0; i < 2; i++)
        op_erase(p->loads.at[i].load); /* in the order of p->loads, which may begin with operand a or b */
}

/* -- the rewrite -- */

/* Rewrites the loop. The new loop also carries the values from which it computes the addresses of copies, the number
 * of the stage, and, if the dot is split, the operands of the first step. */
static void rewrite(struct copy_plan *p)
{
    struct module *m = p->module;
    int nahead = p->ahead.n, nold = p->loop->nresults, nmore = nahead + 1 + (p->dot ? 2 : 0);
    struct value **now = NEW_ARRAY(m->arena, nmore, struct value *);
    build_prologue(p, now);
    struct builder b = build_before(p->loop);
    now[nahead] = number(&b, type_scalar(m, DT_i32), 0);
    if (p->dot) {
        build_wait(p, &b, p->nahead - 1);
        load_operands(p, &b, now[nahead], 0, &now[nahead + 1]);
    }
    struct op *loop = loop_carry(p->loop, NULL, nmore, now);
    op_erase(p->loop);
    p->loop = loop;
    p->body = loop->regions[0];
    for (int i = 0; i < nahead; i++)
        p->ahead.at[i] = p->body->args.at[p->ahead.at[i]->index];
    for (int i = 0; i < nmore; i++)
        now[i] = p->body->args.at[1 + nold + i];
    struct value *stage = now[nahead];
    value_rename(stage, "stage");
    if (p->dot)
        rewrite_steps(p, stage, now, &now[nahead + 1]);
    else
        rewrite_whole(p, stage, now);

    loop_yield(loop, nmore, now);
    b = build_after(p->loop);
    build_op(&b, OP_async_wait, 0, NULL, 0, NULL, 0);
}

static void explain(const struct copy_plan *p)
{
    for (int i = 0; i < p->loads.n; i++) {
        const struct staged *x = &p->loads.at[i];
        opt_explain(p->func,
                    &(struct explanation){
                        DECISION_pipelined, .at = x->load, .values = {op_result(x->load)},
                        .numbers = {x->is_late ? 1 : p->nstages, x->vec * type_elem_bytes(x->ring_type)}});
    }
}

static void visit(struct op *o, void *axes)
{
    struct func *f = o->block->func;
    struct copy_plan p = {.func = f, .module = f->module, .axes = axes};
    if (o->code != OP_for || !loop_may_copy(&p, o))
        return;
    p.loop = rotate_loads(o, p.step, p.writes, p.only_producer ? ROTATES_vectors : ROTATES_indices);
    p.body = p.loop->regions[0];
    plan_copies(&p);
    explain(&p);
    if (p.loads.n)
        rewrite(&p);
}

/* If the transposition o is the only user of a loaded tile, and only dots use its result, transposes the
 * load's addresses and mask instead of the tile. */
static void transpose_load(struct op *o, void *ctx)
{
    (void)ctx;
    struct op *load = o->code == OP_trans ? op_opnd(o, 0)->def : NULL;
    if (!load || load->code != OP_load || load->block != o->block || value_nuses(op_result(load)) != 1 ||
        op_int(load, ATTR_volatile) || !tile_goes_to_dots(o))
        return;
    struct builder b = build_before(load);
    const int *order = op_attr(o, ATTR_order)->list;
    for (int i = 0; i < load->nopnds; i++)
        if (op_opnd(load, i))
            op_set_opnd(load, i, build_trans(&b, op_opnd(load, i), order));
    value_set_type(op_result(load), op_result(o)->type);
    value_replace(op_result(o), op_result(load));
    op_erase(o);
}

void opt_pipeline_loops(struct func *f)
{
    func_walk(f, transpose_load, NULL);
    block_walk_up(f->body, visit, axis_analyse(f));
}
