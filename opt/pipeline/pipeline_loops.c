/* SPDX-License-Identifier: MIT */
/* pipeline_loops.c: turns a loop whose dots read global memory into a pipeline of asynchronous copies to shared
 * memory.
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
 * A load of a `for` with dots and a constant step becomes an asynchronous copy if all of these hold: only dots use
 * its tile, directly or through `convert`, `to_shared` and elementwise ops of one operand, or shared memory has space
 * for the ring of a tile with other uses; the load is not volatile, and its elements are no pointers; masked elements
 * are 0; the loop writes no memory, or invariant_loads.c has marked the load; one copy has at least 4 bytes; if a
 * producer warp serves the loop and an asynchronous dot reads the tile from shared memory, nothing else reads it; and
 * pure ops, or loads that rotate_loads.c has moved, compute the load's addresses and mask from the loop's counter and
 * carried values. The pass clones these pure ops, to compute addresses and masks stages - 1 iterations ahead. If a
 * transposition stands between the load and the dot, the pass transposes the load's addresses instead of the tile.
 * Masks disable copies past the last iteration. Let n be the distance from the counter to the loop's end, which is
 * positive inside the loop: the i-th iteration after the current one exists if n > i * |step|, compared as unsigned
 * numbers.
 *
 * The pass splits a dot into steps if it copies nothing but the two operands of this dot, if only conversions load
 * them into registers, as MMA fragments of elements with 16 bits or more, and if the dot takes several MMA
 * instructions along K. Each step is a dot with the extent of one instruction along K. Operands of the next step are
 * then loaded from shared memory while the current step multiplies. The wait for the next iteration's copies stands
 * in front of the last step. This step's MMA instructions do not depend on the wait or on the barrier after it (see
 * below), so the scheduler can start them first, and they hide the latency of the barrier. In the sketch, %a.0 is the
 * first step's part of %a, %stage the number of the current stage, %n the number of the next stage, and %n.0 the
 * first step's part of the next iteration's %a.
 *
 *     for ... carry(..., %a.0, %b.0)
 *       %a.1 = shared_load %ring[%stage] at=[0,16] ...
 *       async_copy %ring[%stage - 1], ...
 *       %d.0 = dot %a.0, %b.0, %acc
 *       async_wait pending=1
 *       %n.0 = shared_load %ring[%n] at=[0,0] ...
 *       %d.1 = dot %a.1, %b.1, %d.0
 *       yield ..., %n.0, ...
 *
 * If the loop's only dot is asynchronous and reads both operands from rings, and the loop only carries its large
 * accumulator, the dot stays in flight while the next one starts. The copies then stand after the wait for the
 * previous dot:
 *
 *     for ...
 *       async_wait pending=1
 *       %d = mma_start %ring[%stage], ..., %acc
 *       %done = mma_wait %d pending=1                the previous iteration's dot has read its stage
 *       barrier                                      for all warpgroups
 *       async_copy %ring[%stage - 1], ...
 *       yield ..., %done, ...
 *
 * The same holds where a producer warp copies the other operand of the dot, because only this tile's addresses come
 * from memory (rows that a table names). The producer's mbarrier then is a second condition for the dot, and the
 * release of the previous dot's stage of the producer's ring stands behind the wait too.
 *
 * Otherwise one barrier per iteration is enough; insert_barriers.c puts it behind the wait. This barrier makes the
 * copies of all threads visible to all threads. It also ensures that all threads have read the previous iteration's
 * stage before the next copies overwrite it. The loop carries the number of the stage; a comparison and a select wrap
 * it to 0. The pass dce later removes the carried values that only the load used. */
#include "ir/target/fragments.h"
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/rotate_loads.h"
#include "opt/simplify/simplify.h"

#include <stdlib.h>

struct staged {
    struct op *load;
    int vec;
    const struct type *ring_type;
    struct value *ring;
};

struct stager {
    struct func *func;
    struct module *module;
    const struct axis_table *axes;
};

/* One loop's pipeline. */
struct pipeline {
    struct stager *s;
    struct op *loop;
    struct block *body;
    int nstages;
    int64_t step;
    VEC(struct staged) loads;
    /* the ops of the body that compute the addresses and masks of copies, and the carried arguments that these use */
    struct map slice;
    VEC(struct value *) ahead; /* the carried arguments in the slice, in order */
    bool writes;      /* the loop writes memory, so only loads that invariant_loads marked are copied ahead */
    bool fenced;      /* ops of the asynchronous proxy (dots) read the ring */
    bool loads_ahead; /* the slice contains loads (rotate_loads.c) */
    /* the mask of the loads in the slice (i1): does the iteration that uses their values exist? */
    struct value *live;
    bool has_producer;         /* a producer warp copies operands of the loop's dots */
    bool only_producer;        /* it copies all of them */
    struct op *dot;            /* the dot that is split into steps; NULL: none */
    struct staged *operand[2]; /* the loads of its operands */
    int step_k;                /* the extent of one step along K */
};

/* -- which loads -- */

/* The ops that may stand between a load and a dot's operand. BY_CASTS: layout conversions and elementwise ops with one
 * operand. BY_ARITHMETIC: also elementwise ops with several operands, broadcast, expand_dims and reshape. OTHERS: any
 * ops, and the tile need not reach a dot, because the latency of a load delays each iteration even without a dot. */
enum way { BY_CASTS, BY_ARITHMETIC, OTHERS, WAYS };

static bool passes_on(const struct op *o, enum way way)
{
    return o->code == OP_convert || (op_has(o, ELEMENTWISE) && o->nopnds == 1) ||
           (way == BY_ARITHMETIC && (op_has(o, ELEMENTWISE) || o->code == OP_broadcast ||
                                     o->code == OP_expand_dims || o->code == OP_reshape));
}

/* Do all uses of v lead to dots, directly or through ops that `way` permits? */
static bool ends_in_dots(const struct value *v, const struct block *b, enum way way, int depth)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        const struct op *o = u->user;
        bool passes = depth < value_params(v)->pipeline_loops_depth && passes_on(o, way);
        if (o->block != b || (o->code != OP_dot && o->code != OP_to_shared &&
                              !(passes && ends_in_dots(op_result(o), b, way, depth + 1))))
            return false;
    }
    return v->uses != NULL;
}

/* Do the load's users compute operands of dots, through ops that `way` permits? With OTHERS, every use counts except
 * one by the loop's yield. Sets *target to the value whose type decides how the ring is laid out: the buffer that an
 * asynchronous dot reads, if there is one; otherwise the converted tile, if all users are conversions; otherwise the
 * loaded tile. */
static bool goes_to_dots(const struct op *load, enum way way, const struct value **target)
{
    const struct value *x = op_result(load), *buffer = NULL, *fragment = NULL;
    bool all_direct = true, all_convert = x->type->rank > 1; /* vectors have no conflicts */
    for (const struct use *u = x->uses; u; u = u->next) {
        const struct op *o = u->user;
        bool is_shared = o->code == OP_to_shared, is_direct = o->block == load->block;
        all_convert &= is_direct && o->code == OP_convert;
        is_direct &= o->code == OP_convert || is_shared;
        for (const struct use *v = op_result(o)->uses; v && is_direct && !is_shared; v = v->next)
            is_direct = v->user->code == OP_dot;
        all_direct &= is_direct;
        if (is_shared)
            buffer = op_result(o);
        else if (!fragment)
            fragment = op_result(o);
    }
    *target = buffer ? buffer : all_direct || all_convert ? fragment : x;
    if (way == OTHERS)
        return *target != NULL && x->uses->user != load->block->last;
    return all_direct ? *target != NULL : ends_in_dots(x, load->block, way, 0);
}

/* The number of elements that a thread can copy with one cp.async: they must be in consecutive registers of the
 * load's layout, and consecutive in both global and shared memory. */
static int copy_width(const struct axis_table *axes, const struct op *load, const struct layout *ring)
{
    const struct layout *l = op_result(load)->type->layout;
    int best = 1, reg_of[LAYOUT_BITS_MAX];
    for (int d = l->rank - 1; d >= 0; d--) {
        int width = layout_vector(l, d, axis_access(axes, load, d)), mask = axis_mask(axes, load, d);
        width = width < mask ? width : mask;
        best = width > best ? width : best;
    }
    best = layout_shared_vector(ring, l, best, reg_of);
    while (best > 1 && reg_of[best / 2] != best / 2)
        best /= 2;
    return best;
}

static bool is_zero(const struct value *v)
{
    uint64_t bits;
    return !v || (value_const_bits(v, &bits) && bits == 0);
}

static bool is_known(const struct pipeline *p, const struct op *load)
{
    for (int i = 0; i < p->loads.n; i++)
        if (p->loads.at[i].load == load)
            return true;
    return false;
}

/* Do only dots of warpgroups read the tile, from shared memory? Threads copy it beside a producer, which copies the
 * other operand of the dot. */
static bool is_beside_producers(const struct op *load)
{
    for (const struct use *u = op_result(load)->uses; u; u = u->next)
        if (u->user->code != OP_to_shared)
            return false;
    return true;
}

/* Can the load become an asynchronous copy? If so, fills x. */
static bool is_copy(struct pipeline *p, struct op *load, enum way way, struct staged *x)
{
    enum { LEAST_BYTES = 4 };
    const struct value *target;
    struct value *r = op_result(load);
    if (load->code != OP_load || op_int(load, ATTR_volatile) || !type_is_tile(r->type) ||
        type_is_ptr(r->type) || !is_zero(op_opnd(load, 2)) || !goes_to_dots(load, way, &target) ||
        is_known(p, load) ||
        (p->has_producer && target->type->kind == TY_shared && !is_beside_producers(load)) ||
        (p->writes && !op_int(load, ATTR_invariant)))
        return false;
    const struct layout *ring = target->type->layout;
    int bytes = type_elem_bytes(r->type);
    if (target->type->kind != TY_shared) {
        struct layout chosen;
        buffer_layout(&chosen, r, target, bytes);
        ring = layout_intern(p->s->module, &chosen);
    }
    int vec = copy_width(p->s->axes, load, ring);
    if (vec * bytes < LEAST_BYTES) {
        opt_explain(p->s->func, (struct explanation){DECISION_too_few_bytes, .at = load, .values = {r},
                                                     .numbers = {vec * bytes}});
        return false;
    }
    p->fenced |= target->type->kind == TY_shared;
    const struct type *t =
        type_shared(p->s->module, type_elem(r->type), r->type->rank, r->type->shape, ring, p->nstages);
    *x = (struct staged){.load = load, .vec = vec, .ring_type = t};
    return true;
}

/* -- questions of assign_layouts -- */

static void look_for_dot(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_dot;
}

static bool is_in_loop_of_dots(const struct op *load)
{
    const struct func *f = load->block->func;
    const struct op *loop = load->block->parent;
    bool has_dot = false;
    if (!loop || loop->code != OP_for || !f->target || !target_has(f->target, HAS_cp_async) ||
        opt_stages(f, loop) < 2)
        return false;
    block_walk(loop->regions[0], look_for_dot, &has_dot);
    return has_dot;
}

static bool comes_of_dot(const struct value *v, int depth)
{
    const struct op *o = v->def;
    const int64_t depth_most = v->block->func->module->params->pipeline_loops_meet_depth;
    bool comes = o && o->code == OP_dot;
    for (int i = 0; o && (op_has(o, ELEMENTWISE) || o->code == OP_trans) && depth < depth_most &&
                    i < o->nopnds && !comes;
         i++)
        comes = comes_of_dot(op_opnd(o, i), depth + 1);
    return comes;
}

static bool meets_dot(const struct value *v, int depth)
{
    const int64_t depth_most = v->block->func->module->params->pipeline_loops_meet_depth;
    for (const struct use *u = v->uses; u && depth < depth_most; u = u->next) {
        const struct op *o = u->user;
        if (!op_has(o, ELEMENTWISE) && o->code != OP_trans)
            continue;
        for (int i = 0; i < o->nopnds; i++)
            if (op_opnd(o, i) != v && comes_of_dot(op_opnd(o, i), 0))
                return true;
        if (meets_dot(op_result(o), depth + 1))
            return true;
    }
    return false;
}

bool readers_choose_layout(const struct op *o)
{
    return o && o->code == OP_load && type_is_tile(op_result(o)->type) &&
           (op_result(o)->type->rank == 1 || meets_dot(op_result(o), 0)) && is_in_loop_of_dots(o);
}

/* Will a producer (warp_specialize.c) copy both operands of each dot in the load's loop? */
static bool is_in_producers_loop(const struct op *load)
{
    bool copies = false;
    for (const struct op *o = load->block->first; o; o = o->next)
        for (int i = DOT_a; o->code == OP_dot && i <= DOT_b; i++) {
            const struct op *from = op_opnd(o, i)->def;
            while (from && from->code == OP_trans)
                from = op_opnd(from, 0)->def;
            if (!from || from->code != OP_tensor_load)
                return false;
            copies = true;
        }
    return copies;
}

bool repeats_staged_vector(const struct op *o, const struct layout *l)
{
    enum { WARP = 32 };
    if (o->code != OP_load || op_result(o)->type->rank != 1 || !is_in_loop_of_dots(o))
        return false;
    if (is_in_producers_loop(o) && fits_ahead(o->block->func->module, l))
        return false;
    int64_t copied = (int64_t)o->block->func->num_warps * WARP << l->nbits[IN_reg];
    return l->nbits[IN_reg] > 0 && copied > type_elems(op_result(o)->type);
}

/* -- the slice that computes addresses -- */

/* Is o a load whose only use is the loop's yield? rotate_loads.c has then moved it one iteration ahead. */
static bool is_rotated(const struct pipeline *p, const struct op *o)
{
    const struct value *r = o->code == OP_load ? op_result(o) : NULL;
    return r && r->uses && value_nuses(r) == 1 && r->uses->user == p->body->last;
}

/* Adds to the slice the op that computes v, and all that this op uses inside the loop. Returns false if v cannot be
 * computed ahead. */
static bool add_to_slice(struct pipeline *p, struct value *v)
{
    if (!v || value_is_outside(v, p->loop))
        return true;
    if (v->def) {
        struct op *o = v->def;
        if (o->block != p->body || !(op_has(o, PURE) || is_rotated(p, o)) || o->nregions)
            return false;
        p->loads_ahead |= o->code == OP_load;
        void **at = map_at_ptr(&p->slice, o);
        if (*at)
            return true;
        *at = o;
        for (int i = 0; i < o->nopnds; i++)
            if (!add_to_slice(p, op_opnd(o, i)))
                return false;
        return true;
    }
    if (v->index == 0)
        return true;
    void **at = map_at_ptr(&p->slice, v);
    if (*at)
        return true;
    *at = v;
    VEC_PUSH(p->s->module->scratch, &p->ahead, v);
    return add_to_slice(p, op_opnd(p->body->last, v->index - 1));
}

/* Finds the slice of all loads. If the address or the mask of a load cannot be computed ahead, drops this load and
 * starts over. */
static void find_slice(struct pipeline *p)
{
    for (int i = 0; i < p->loads.n; i++) {
        struct op *load = p->loads.at[i].load;
        if (i == 0) {
            p->loads_ahead = false;
            map_init(&p->slice, p->s->module->scratch);
            p->ahead.n = 0;
        }
        if (add_to_slice(p, op_opnd(load, 0)) && add_to_slice(p, op_opnd(load, 1)))
            continue;
        opt_explain(p->s->func,
                    (struct explanation){DECISION_unknown_ahead, .at = load, .values = {op_result(load)}});
        for (int k = i + 1; k < p->loads.n; k++)
            p->loads.at[k - 1] = p->loads.at[k];
        p->loads.n--;
        i = -1;
    }
}

/* Does o start or await a dot, or use an mbarrier? Such ops must keep their program order, but write no memory that
 * loads read. */
static bool is_in_order(const struct op *o)
{
    return starts_dot(o) || o->code == OP_mma_wait || o->code == OP_mbar_wait || o->code == OP_mbar_arrive;
}

static void look_at_copies(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_async_copy;
}

/* Does the dot read operand i from a stage of a ring? */
static bool is_stage(const struct op *dot, int i)
{
    const struct op *from = op_opnd(dot, i)->def;
    return from && from->code == OP_shared_stage;
}

/* Finds out what the body contains. Returns false if the loop has no dot, or if the loop, or a loop inside it,
 * already has asynchronous copies: the waits that the pass builds would count the groups of those copies too. */
static bool look_at_body(struct pipeline *p)
{
    bool has_dot = false, has_copies = false, computes_operands = false;
    block_walk(p->body, look_at_copies, &has_copies);
    for (const struct op *o = p->body->first; o; o = o->next) {
        p->has_producer |= o->code == OP_mbar_wait;
        p->writes |= op_may_write(o) && !is_in_order(o);
        has_dot |= op_has(o, MULTIPLIES);
        computes_operands |=
            o->code == OP_dot || (starts_dot(o) && !(is_stage(o, DOT_a) && is_stage(o, DOT_b)));
    }
    p->only_producer = p->has_producer && !computes_operands;
    return has_dot && !has_copies;
}

/* -- steps of a dot -- */

static struct op *only_user(const struct value *v)
{
    return v->uses && !v->uses->next ? v->uses->user : NULL;
}

/* Finds the one dot that reads both loads, if it can be split into steps. */
static void find_steps(struct pipeline *p)
{
    if (p->loads.n != 2)
        return;
    struct op *dot[2];
    for (int i = 0; i < 2; i++) {
        struct op *convert = only_user(op_result(p->loads.at[i].load));
        dot[i] = convert && convert->code == OP_convert ? only_user(op_result(convert)) : NULL;
        if (!dot[i] || dot[i]->code != OP_dot || dot[i] != dot[0] || dot[i]->block != p->body ||
            op_opnd(dot[i], DOT_acc) == op_result(convert))
            return;
        p->operand[op_opnd(dot[i], DOT_b) == op_result(convert)] = &p->loads.at[i];
    }
    const struct type *a = op_opnd(dot[0], DOT_a)->type;
    const struct fragment *g = fragment_for(dot[0]);
    if (!p->operand[DOT_a] || !p->operand[DOT_b] || !g || a->rank != 2 || type_elem_bits(a) < 16 ||
        a->shape[1] < 2 * g->k || !fragment_matches(g, DOT_a, a->layout) ||
        !fragment_matches(g, DOT_b, op_opnd(dot[0], DOT_b)->type->layout))
        return;
    p->dot = dot[0];
    p->step_k = g->k;
}

/* The type of operand `role` of one step. */
static const struct type *step_type(struct pipeline *p, int role)
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
    return type_tile(p->s->module, type_elem(t), 2, shape, layout_intern(p->s->module, &l));
}

/* Loads operand `role` of step i from one stage. */
static struct value *load_step(struct pipeline *p, struct builder *b, struct value *stage, int role, int i)
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

/* -- the plan -- */

struct bytes {
    const struct pipeline *p;
    const struct staged *more; /* a load to copy in addition to p->loads */
};

/* Does o read the result of a load that is copied ahead? Such an op will read the ring, and needs no buffer of its
 * own. */
static bool reads_ring(const struct bytes *x, const struct op *o)
{
    const struct op *load = op_opnd(o, 0) ? op_opnd(o, 0)->def : NULL;
    return load && (load == x->more->load || is_known(x->p, load));
}

static int64_t bytes_of(const struct op *o, void *ctx)
{
    return reads_ring(ctx, o) ? 0 : shared_bytes_of(o);
}

/* Does the ring of x fit into shared memory, together with all other buffers? The limit is normally a CTA's share when
 * two CTAs run on an SM. If the other buffers alone exceed this share, or if a producer warp copies operands of dots,
 * the limit is most of the shared memory. If the ring is small, the limit is all but what barriers need. */
static bool has_room(const struct pipeline *p, const struct staged *x)
{
    const struct func *f = p->s->func;
    struct bytes bytes = {.p = p, .more = x};
    int64_t others = shared_pressure(f->body, bytes_of, &bytes), own = buffer_bytes(x->ring_type);
    for (int i = 0; i < p->loads.n; i++)
        others += buffer_bytes(p->loads.at[i].ring_type);
    const bool is_small = own <= p->s->module->params->pipeline_loops_small_bytes;
    const bool one_cta = p->has_producer || others > cost_shared_bytes(f, SHARE_of_two_ctas);
    return others + own <= cost_shared_bytes(f, is_small  ? SHARE_all
                                                : one_cta ? SHARE_most
                                                          : SHARE_of_two_ctas);
}

/* Chooses the loads to copy. Returns false if the loop cannot be pipelined or no load qualifies. */
static bool plan(struct pipeline *p)
{
    p->nstages = opt_stages(p->s->func, p->loop);
    if (p->nstages < 2 || !target_has(p->s->func->target, HAS_cp_async) ||
        !value_const_int(op_opnd(p->loop, 2), &p->step) || p->step == 0 ||
        llabs(p->step) > INT32_MAX / p->nstages || !look_at_body(p))
        return false;
    p->loop = rotate_loads(p->loop, p->step, p->writes, p->only_producer ? ROTATES_vectors : ROTATES_indices);
    p->body = p->loop->regions[0];
    for (enum way way = BY_CASTS; way < WAYS; way++)
        for (struct op *o = p->body->first; o; o = o->next) {
            struct staged x;
            if (is_copy(p, o, way, &x) && (way == BY_CASTS || has_room(p, &x)))
                VEC_PUSH(p->s->module->scratch, &p->loads, x);
        }
    find_slice(p);
    find_steps(p);
    return p->loads.n > 0;
}

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

/* Builds the condition that the i-th iteration after the one with counter k exists. `inside`: k is the counter of
 * an iteration that exists. */
static struct value *exists(struct pipeline *p, struct builder *b, struct value *k, int i, bool inside)
{
    struct value *hi = op_opnd(p->loop, 1), *from = p->step > 0 ? k : hi, *to = p->step > 0 ? hi : k;
    struct value *any = inside ? NULL : build_cmp(b, PRED_slt, from, to);
    if (i == 0)
        return any;
    struct value *left = build_binary(b, OP_sub, to, from);
    struct value *more = build_cmp(b, PRED_ugt, left, number(b, k->type, i * llabs(p->step)));
    return any ? build_binary(b, OP_and, any, more) : more;
}

/* Returns the value of v in the iteration that `map` describes. If `map` does not contain this value, builds the ops
 * that compute it. */
static struct value *compute(struct pipeline *p, struct builder *b, struct map *map, struct value *v)
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

/* Builds the copies of the iteration whose counter and carried values `map` holds, and commits them as one group. */
static void copy_stage(struct pipeline *p, struct builder *b, struct map *map, struct value *live,
                       struct value *stage)
{
    struct loc loc = b->loc;
    for (int i = 0; i < p->loads.n; i++) {
        struct staged *x = &p->loads.at[i];
        b->loc = x->load->loc;
        struct value *ptr = compute(p, b, map, op_opnd(x->load, 0)),
                     *mask = compute(p, b, map, op_opnd(x->load, 1));
        mask = load_mask(b, mask, live, ptr->type);
        struct op *copy = build_op(b, OP_async_copy, 3,
                                   (struct value *[]){stage_of(b, x->ring, stage), ptr, mask}, 0, NULL, 0);
        op_set_int(copy, ATTR_vec, x->vec);
    }
    b->loc = loc;
    build_op(b, OP_async_commit, 0, NULL, 0, NULL, 0);
}

/* Advances the carried values by one iteration: now[i] becomes the value that the body yields. The ops for this
 * stand after the copies, so that an old value and its new one are not live at the same time. */
static void advance(struct pipeline *p, struct builder *b, struct map *map, struct value **now)
{
    for (int i = 0; i < p->ahead.n; i++)
        now[i] = compute(p, b, map, op_opnd(p->body->last, p->ahead.at[i]->index - 1));
}

static void start_map(struct pipeline *p, struct map *map, struct value *k, struct value *const *now)
{
    map_init(map, p->s->module->scratch);
    *map_at_ptr(map, p->body->args.at[0]) = k;
    for (int i = 0; i < p->ahead.n; i++)
        *map_at_ptr(map, p->ahead.at[i]) = now[i];
}

/* Builds, in front of the loop, the rings and the copies of the first stages - 1 iterations. Sets `now` to the
 * carried values after these iterations. */
static void build_prologue(struct pipeline *p, struct value **now)
{
    struct builder b = build_before(p->loop);
    const struct type *i32 = type_scalar(p->s->module, DT_i32);
    for (int i = 0; i < p->loads.n; i++) {
        struct staged *x = &p->loads.at[i];
        b.loc = x->load->loc;
        x->ring = op_result(build_op(&b, OP_shared_alloc, 0, NULL, 1, &x->ring_type, 0));
    }
    b.loc = p->loop->loc;
    for (int i = 0; i < p->ahead.n; i++)
        now[i] = op_opnd(p->loop, p->ahead.at[i]->index + 2);
    struct value *lo = op_opnd(p->loop, 0);
    for (int i = 0; i < p->nstages - 1; i++) {
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

/* Builds, in the loop, the copies for the iteration that is `stages - 1` iterations ahead. They fill the stage that
 * the previous iteration has read. */
static void copy_ahead(struct pipeline *p, struct builder *b, struct value *stage, struct value **now)
{
    int n = p->nstages - 1;
    struct value *k = p->body->args.at[0], *freed = step_cyclic(b, stage, 0, n, -1);
    struct map map;
    start_map(p, &map, build_binary(b, OP_add, k, number(b, k->type, n * p->step)), now);
    copy_stage(p, b, &map, exists(p, b, k, n, true), freed);
    p->live = p->loads_ahead ? exists(p, b, k, n + 1, true) : NULL;
    advance(p, b, &map, now);
}

/* Builds a wait for all groups of copies except the `pending` newest ones. */
static void build_wait(struct pipeline *p, struct builder *b, int pending)
{
    struct op *wait = build_op(b, OP_async_wait, 0, NULL, 0, NULL, 0);
    if (pending)
        op_set_int(wait, ATTR_pending, pending);
    if (p->fenced)
        build_op(b, OP_fence_async, 0, NULL, 0, NULL, 0);
}

/* -- loads and dots as a whole -- */

/* Makes the dot read its operand directly from the ring, if the ring, or a transposed view of it, has the layout that
 * the dot needs. v is the loaded tile or a transposition of it: dimension d of v is dimension order[d] of the loaded
 * tile. */
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

/* Will share_ring replace the buffer x by a view of a ring? */
static bool becomes_view(const struct pipeline *p, const struct value *x)
{
    int order[RANK_MAX] = {0, 1, 2, 3, 4};
    if (!x->def || x->def->code != OP_to_shared || x->def->block != p->body)
        return false;
    const struct value *v = op_opnd(x->def, 0);
    for (; v->def && (v->def->code == OP_trans || v->def->code == OP_convert); v = op_opnd(v->def, 0)) {
        const struct attr *by = op_attr(v->def, ATTR_order);
        for (int d = 0; by && d < v->type->rank; d++)
            order[d] = (int)by->list[order[d]];
    }
    for (int i = 0; i < p->loads.n; i++) {
        struct layout l;
        if (v != op_result(p->loads.at[i].load))
            continue;
        layout_trans(&l, p->loads.at[i].ring->type->layout, order);
        return layout_equal(x->type->layout, &l);
    }
    return false;
}

/* Replaces uses of the load by loads from the ring: each conversion becomes a load in the conversion's layout; all
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

/* Does the dot read both operands from rings or from buffers outside the loop? */
static bool reads_rings(const struct pipeline *p, const struct op *dot)
{
    for (int i = DOT_a; i <= DOT_b; i++) {
        const struct value *x = op_opnd(dot, i);
        if (x->type->kind != TY_shared ||
            !(value_is_outside(x, p->loop) || is_stage(dot, i) || becomes_view(p, x)))
            return false;
    }
    return true;
}

/* The wait for the loop's dot, if the dot can stay in flight while the next one starts, and gains by it: the loop
 * only carries its accumulator, which is large, and the dot reads both operands from rings or from buffers outside
 * the loop. Otherwise NULL. */
static struct op *wait_in_flight(const struct pipeline *p)
{
    struct op *wait = wait_of_carried_dot(p->body);
    if (!wait || p->has_producer || op_int(wait, ATTR_pending) ||
        tile_nregs(op_result(wait)->type) < p->s->module->params->pipeline_loops_in_flight_regs)
        return NULL;
    return reads_rings(p, op_opnd(wait, 0)->def) ? wait : NULL;
}

/* warp_specialize.c lets a dot start only behind the wait for the previous one, if the loop stores one of its operands
 * to a buffer. If this buffer becomes a view of a ring, moves the wait, and the release of the previous dot's stage
 * behind it, behind the dot. Returns the last op moved, or NULL. */
static struct op *wait_behind(const struct pipeline *p, struct op **wait)
{
    struct op *dot = NULL, *end = p->body->last, *last;
    for (struct op *o = p->body->first; o; o = o->next)
        dot = o->code == OP_mma_start ? o : dot;
    *wait = dot ? op_opnd(dot, DOT_acc)->def : NULL;
    if (!*wait || (*wait)->code != OP_mma_wait || (*wait)->block != p->body || op_opnd(*wait, 0)->def ||
        !reads_rings(p, dot))
        return NULL;
    for (last = *wait; last->code != OP_mbar_arrive;)
        last = last->next;
    struct value *sum = op_opnd(*wait, 0);
    struct op *place = dot->next, *stop = last->next;
    op_set_opnd(dot, DOT_acc, sum);
    for (struct op *o = *wait, *next; o != stop; o = next) {
        next = o->next;
        op_move_before(o, place);
    }
    op_set_opnd(*wait, 0, op_result(dot));
    op_set_opnd(end, sum->index - 1, op_result(*wait));
    return last;
}

/* Leaves the loop's dot in flight while the next one starts. The copies ahead fill the stage of the previous dot, so
 * they stand behind the wait for that dot, and behind a barrier, because all warpgroups read the stage. */
static void leave_one_in_flight(struct pipeline *p, struct op *wait, struct op *behind, struct value *stage,
                                struct value **now)
{
    op_set_int(wait, ATTR_pending, 1);
    struct builder b = build_after(behind);
    build_op(&b, OP_barrier, 0, NULL, 0, NULL, 0);
    copy_ahead(p, &b, stage, now);
    if (p->has_producer) /* warp_specialize.c has built the wait behind the loop */
        return;
    b = build_after(p->loop);
    const struct op *end = p->body->last;
    for (int i = 0; i < end->nopnds; i++) {
        if (op_opnd(end, i) != op_result(wait))
            continue;
        struct value *sum = &p->loop->results[i];
        struct op *done = build_op(&b, OP_mma_wait, 1, &sum, 1, &sum->type, 0);
        value_replace(sum, op_result(done));
        op_set_opnd(done, 0, sum);
    }
}

static void read_rings(struct pipeline *p, struct value *stage)
{
    for (int i = 0; i < p->loads.n; i++)
        read_ring(&p->loads.at[i], stage);
}

static void rewrite_whole(struct pipeline *p, struct value *stage, struct value **now)
{
    struct builder b = build_before(p->body->first);
    struct op *wait = wait_in_flight(p), *behind = p->has_producer ? wait_behind(p, &wait) : wait;
    b.loc = p->loop->loc;
    build_wait(p, &b, p->nstages - 2);
    if (behind) {
        read_rings(p, stage);
        leave_one_in_flight(p, wait, behind, stage, now);
    } else {
        copy_ahead(p, &b, stage, now);
        read_rings(p, stage);
    }
    for (int i = 0; i < p->loads.n; i++)
        op_erase(p->loads.at[i].load);
    b = build_before(p->body->last);
    now[p->ahead.n] = step_cyclic(&b, stage, p->nstages - 1, 0, 1);
}

/* -- dots in steps -- */

static void load_operands(struct pipeline *p, struct builder *b, struct value *stage, int i,
                          struct value *parts[2])
{
    for (int role = DOT_a; role <= DOT_b; role++)
        parts[role] = load_step(p, b, stage_of(b, p->operand[role]->ring, stage), role, i);
}

static struct value *build_step(struct pipeline *p, struct builder *b, struct value *const parts[2],
                                struct value *acc)
{
    struct op *o =
        build_op(b, OP_dot, 3, (struct value *[]){parts[DOT_a], parts[DOT_b], acc}, 1, &acc->type, 0);
    for (int i = 0; i < p->dot->nattrs; i++)
        op_set_int(o, p->dot->attrs[i].key, p->dot->attrs[i].i);
    return op_result(o);
}

/* Replaces the dot by its steps. On entry, `parts` holds the first step's operands of this iteration; on return, the
 * first step's operands of the next iteration. */
static void rewrite_steps(struct pipeline *p, struct value *stage, struct value **now, struct value **parts)
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
            build_wait(p, &b, p->nstages - 2);
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
        op_erase(p->loads.at[i].load); /* in the order of p->loads, where either operand may be the first */
}

/* -- the rewrite -- */

/* Rewrites the loop. The new loop also carries the values from which it computes the addresses of copies, the number
 * of the stage, and, if the dot is split, the operands of the first step. */
static void rewrite(struct pipeline *p)
{
    struct module *m = p->s->module;
    int nahead = p->ahead.n, nold = p->loop->nresults, nmore = nahead + 1 + (p->dot ? 2 : 0);
    struct value **now = NEW_ARRAY(m->arena, nmore, struct value *);
    build_prologue(p, now);
    struct builder b = build_before(p->loop);
    now[nahead] = number(&b, type_scalar(m, DT_i32), 0);
    if (p->dot) {
        build_wait(p, &b, p->nstages - 2);
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

static void visit(struct stager *s, struct block *b)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->nregions; i++)
            visit(s, o->regions[i]);
        if (o->code != OP_for)
            continue;
        struct pipeline p = {.s = s, .loop = o, .body = o->regions[0]};
        if (!plan(&p))
            continue;
        for (int i = 0; i < p.loads.n; i++)
            opt_explain(
                s->func,
                (struct explanation){
                    DECISION_pipelined, .at = p.loads.at[i].load, .values = {op_result(p.loads.at[i].load)},
                    .numbers = {p.nstages, p.loads.at[i].vec * type_elem_bytes(p.loads.at[i].ring_type)}});
        rewrite(&p);
    }
}

/* If the only use of a loaded tile is a transposition whose result goes to dots, transposes the load's addresses
 * and mask instead of the tile. */
static void transpose_load(struct op *o, void *ctx)
{
    (void)ctx;
    struct op *load = o->code == OP_trans ? op_opnd(o, 0)->def : NULL;
    const struct value *target;
    if (!load || load->code != OP_load || load->block != o->block || only_user(op_result(load)) != o ||
        op_int(load, ATTR_volatile) || !goes_to_dots(o, BY_CASTS, &target))
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
    struct stager s = {.func = f, .module = f->module, .axes = axis_analyse(f)};
    visit(&s, f->body);
}
