/* SPDX-License-Identifier: MIT */
/* plan_copies.c: plans which loads of a loop become asynchronous copies (cp.async) into rings of buffers.
 *
 *     for %k = %lo to %hi step 64 carry(%p.1 = %p, ...)        loads: %x, 16 bytes at once, ring of 3 x 128x64xf16
 *       %x = load %p.1                                         slice: addptr %p.1, 64; ahead: %p.1
 *       %a = convert %x                                 =>     dot: split into steps of 16 along K
 *       %d = dot %a, ...
 *       %p.2 = addptr %p.1, 64
 *       yield %p.2, ...
 *
 * A load becomes a copy if all of these conditions hold:
 * - The loop is a `for` with dots and a constant step.
 * - Only dots use the tile, directly or through `convert`, `to_shared` and elementwise ops of one operand; or
 *   shared memory has space for the tile's ring.
 * - The load is not volatile, its elements are not pointers, and elements whose mask is false are 0.
 * - The loop writes no memory, or invariant_loads.c has marked the load.
 * - A thread can copy at least 4 bytes with one instruction.
 * - If a producer warp copies tiles for the loop and a dot reads the tile from a buffer, nothing else reads
 *   the tile.
 * - Threads should not load the tile into registers instead. They should if the loop is short (loop_is_short)
 *   and only arithmetic reads the tile (is_for_registers).
 * - The addresses and the mask can be computed several iterations ahead: pure ops, and loads that rotate_loads.c has
 *   moved, compute them from the loop's counter and carried values. All these ops together are called the slice.
 *
 * A dot is split into steps, each of which takes one instruction along K, if these conditions hold:
 * - The loop copies nothing but the dot's two operands.
 * - Only conversions read the two tiles, and convert them to fragments of elements with 16 bits or more.
 * - The dot takes several instructions along K.
 *
 * A dot stays in flight while the next iteration's dot starts if these conditions hold:
 * - The dot is asynchronous, and reads both operands from rings or from buffers outside the loop.
 * - The dot's accumulator is large, and the loop only carries this accumulator.
 *
 * A dot also stays in flight if a producer warp copies one operand and threads copy the other operand.
 * (Threads copy an operand if its addresses come from memory, for example from a table of row numbers.) In
 * such a loop, warp_specialize.c has put the wait for the previous dot before the dot, because the loop
 * stores one operand to a buffer. If this buffer becomes a view of a ring, the plan moves the wait to after
 * the dot. */
#include "ir/target/fragments.h"
#include "ir/target/target.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/plan_copies.h"
#include "opt/pipeline/plan_rings.h"
#include "opt/pipeline/rotate_loads.h"
#include "opt/simplify/simplify.h"

#include <stdlib.h>

/* -- which loads -- */

/* The ops that may be between a load and a dot's operand. BY_CASTS: layout conversions and elementwise ops with one
 * operand. BY_ARITHMETIC: the ops for which op_leads_to_dot is true. OTHERS: all ops; then the tile need not
 * reach a dot, because the latency of any load delays each iteration. */
enum way { BY_CASTS, BY_ARITHMETIC, OTHERS, WAYS };

static bool passes_on(const struct op *o, enum way way)
{
    return way == BY_ARITHMETIC ? op_leads_to_dot(o)
                                : o->code == OP_convert || (op_has(o, ELEMENTWISE) && o->nopnds == 1);
}

/* Returns whether all uses of v lead to dots, directly or through ops that `way` permits. */
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

/* Returns whether all users of the load compute operands of dots, through ops that `way` permits. With
 * OTHERS, returns true for any tile that has a use, unless the loop yields the tile. Sets *target to the value whose type decides the layout of the ring. This is the buffer that an
 * asynchronous dot reads, if there is one. Otherwise it is the converted tile if all users are conversions,
 * or else the loaded tile. */
static bool goes_to_dots(const struct op *load, enum way way, const struct value **target)
{
    const struct value *x = op_result(load), *buffer = NULL, *fragment = NULL;
    bool is_yielded = false, all_direct = true,
         all_convert = x->type->rank > 1; /* reads of vectors cause no bank conflicts */
    for (const struct use *u = x->uses; u; u = u->next) {
        const struct op *o = u->user;
        is_yielded |= o == load->block->last;
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
        return *target != NULL && !is_yielded;
    return all_direct ? *target != NULL : ends_in_dots(x, load->block, way, 0);
}

bool tile_goes_to_dots(const struct op *o)
{
    const struct value *target;
    return goes_to_dots(o, BY_CASTS, &target);
}

/* Returns the number of elements that a thread can copy with one cp.async. The layout of the load must assign
 * these elements to consecutive registers, and the elements must be consecutive both in global and in shared
 * memory. */
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

/* Returns whether the plan has already chosen this load. */
static bool is_known(const struct copy_plan *p, const struct op *load)
{
    for (int i = 0; i < p->loads.n; i++)
        if (p->loads.at[i].load == load)
            return true;
    return false;
}

/* Returns whether only asynchronous dots read the tile. Threads may then copy the tile although a producer warp
 * copies the other operand of the dot. */
static bool is_beside_producers(const struct op *load)
{
    for (const struct use *u = op_result(load)->uses; u; u = u->next)
        if (u->user->code != OP_to_shared)
            return false;
    return true;
}

/* Returns whether threads should load the tile into registers: only arithmetic reads it, and the loop is short
 * (loop_is_short) and writes no memory. */
static bool is_for_registers(const struct copy_plan *p, const struct op *load)
{
    const struct value *target;
    return loop_is_short(p->loop) && !p->writes && goes_to_dots(load, BY_ARITHMETIC, &target) &&
           target->type->kind != TY_shared;
}

/* Returns whether the load can become an asynchronous copy. If so, fills x. */
static bool is_copy(struct copy_plan *p, struct op *load, enum way way, struct staged *x)
{
    enum { LEAST_BYTES = 4 };
    const struct value *target;
    struct value *r = op_result(load);
    if (load->code != OP_load || op_int(load, ATTR_volatile) || !type_is_tile(r->type) ||
        type_is_ptr(r->type) || !is_zero(op_opnd(load, 2)) || !goes_to_dots(load, way, &target) ||
        is_known(p, load) || (way != BY_CASTS && is_for_registers(p, load)) ||
        (p->has_producer && target->type->kind == TY_shared && !is_beside_producers(load)) ||
        (p->writes && !op_int(load, ATTR_invariant)))
        return false;
    const struct layout *ring = target->type->layout;
    int bytes = type_elem_bytes(r->type);
    if (target->type->kind != TY_shared) {
        struct layout chosen;
        buffer_layout(&chosen, r, target, bytes);
        ring = layout_intern(p->module, &chosen);
    }
    int vec = copy_width(p->axes, load, ring);
    if (vec * bytes < LEAST_BYTES) {
        opt_explain(p->func, &(struct explanation){DECISION_too_few_bytes, .at = load, .values = {r},
                                                   .numbers = {vec * bytes}});
        return false;
    }
    p->fenced |= target->type->kind == TY_shared;
    const struct type *t =
        type_shared(p->module, type_elem(r->type), r->type->rank, r->type->shape, ring, p->nstages);
    *x = (struct staged){.load = load, .vec = vec, .ring_type = t};
    return true;
}

bool loop_is_short(const struct op *loop)
{
    int64_t trips;
    return loop_trips(loop, &trips) && trips <= loop->block->func->module->params->pipeline_loops_short_trips;
}

/* -- functions that assign_layouts calls -- */

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

/* Returns whether v is the result of a dot, or elementwise ops and transpositions compute v from such a
 * result. A dot of an earlier iteration does not count. */
static bool comes_of_dot(const struct value *v, int depth)
{
    const struct op *o = v->def;
    const int64_t depth_most = v->block->func->module->params->pipeline_loops_meet_depth;
    bool comes = o && (o->code == OP_dot || o->code == OP_mma_wait);
    for (int i = 0; o && (op_has(o, ELEMENTWISE) || o->code == OP_trans) && depth < depth_most &&
                    i < o->nopnds && !comes;
         i++)
        comes = comes_of_dot(op_opnd(o, i), depth + 1);
    return comes;
}

static bool meets_dot_in(const struct value *v, int depth)
{
    const int64_t depth_most = v->block->func->module->params->pipeline_loops_meet_depth;
    for (const struct use *u = v->uses; u && depth < depth_most; u = u->next) {
        const struct op *o = u->user;
        if (!op_has(o, ELEMENTWISE) && o->code != OP_trans)
            continue;
        for (int i = 0; i < o->nopnds; i++)
            if (op_opnd(o, i) != v && comes_of_dot(op_opnd(o, i), 0))
                return true;
        if (meets_dot_in(op_result(o), depth + 1))
            return true;
    }
    return false;
}

bool meets_dot(const struct value *v)
{
    return meets_dot_in(v, 0);
}

bool readers_choose_layout(const struct op *o)
{
    return o && o->code == OP_load && type_is_tile(op_result(o)->type) &&
           (op_result(o)->type->rank == 1 || meets_dot(op_result(o))) && is_in_loop_of_dots(o);
}

/* Returns whether a producer warp (warp_specialize.c) will copy both operands of each dot in the load's loop. */
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

/* Returns whether o is a load that only the loop's yield uses. rotate_loads.c has then moved the load one iteration
 * ahead. */
static bool is_rotated(const struct copy_plan *p, const struct op *o)
{
    const struct value *r = o->code == OP_load ? op_result(o) : NULL;
    return r && r->uses && value_nuses(r) == 1 && r->uses->user == p->body->last;
}

/* Adds to the slice all ops and carried arguments of the loop from which v is computed. Returns false if v
 * cannot be computed several iterations ahead. */
static bool add_to_slice(struct copy_plan *p, struct value *v)
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
    VEC_PUSH(p->module->scratch, &p->ahead, v);
    return add_to_slice(p, op_opnd(p->body->last, v->index - 1));
}

/* Finds the slice of all loads. If the address or the mask of a load cannot be computed ahead, drops this load from
 * the plan and starts over. */
static void find_slice(struct copy_plan *p)
{
    for (int i = 0; i < p->loads.n; i++) {
        struct op *load = p->loads.at[i].load;
        if (i == 0) {
            p->loads_ahead = false;
            map_init(&p->slice, p->module->scratch);
            p->ahead.n = 0;
        }
        if (add_to_slice(p, op_opnd(load, 0)) && add_to_slice(p, op_opnd(load, 1)))
            continue;
        opt_explain(p->func,
                    &(struct explanation){DECISION_unknown_ahead, .at = load, .values = {op_result(load)}});
        for (int k = i + 1; k < p->loads.n; k++)
            p->loads.at[k - 1] = p->loads.at[k];
        p->loads.n--;
        i = -1;
    }
}

/* -- what the loop contains -- */

/* Returns whether o starts or awaits a dot, waits or arrives at an mbarrier, or synchronizes a group of warps
 * that have read a ring. Such ops must keep their program order, but they write no memory that loads read. */
static bool is_in_order(const struct op *o)
{
    return starts_dot(o) || o->code == OP_mma_wait || o->code == OP_mbar_wait || o->code == OP_mbar_arrive ||
           (o->code == OP_barrier && op_int(o, ATTR_group)) ||
           (o->code == OP_fence_async && op_int(o, ATTR_read));
}

static void look_at_copies(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_async_copy;
}

/* Returns whether the dot reads operand i from a stage of a ring that a producer warp fills. */
static bool is_stage(const struct op *dot, int i)
{
    const struct op *from = op_opnd(dot, i)->def;
    return from && from->code == OP_shared_stage;
}

/* Sets the fields of p that describe the ops of the body. Returns false if the loop has no dot. Returns false also if
 * the loop, or a loop inside it, already has asynchronous copies: the waits that the rewrite builds would
 * also count the groups of these copies. */
static bool look_at_body(struct copy_plan *p)
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

bool loop_may_copy(struct copy_plan *p, struct op *o)
{
    p->loop = o;
    p->body = o->regions[0];
    const int most = opt_stages(p->func, o);
    int64_t trips;
    p->nahead = most - 1;
    p->nstages = most;
    if (loop_trips(o, &trips) && trips > 0 && trips <= most)
        p->nstages = p->nahead = (int)trips;
    return most >= 2 && target_has(p->func->target, HAS_cp_async) &&
           value_const_int(op_opnd(o, 2), &p->step) && p->step != 0 &&
           llabs(p->step) <= INT32_MAX / p->nstages && look_at_body(p);
}

/* -- dots -- */

static struct op *only_user(const struct value *v)
{
    return v->uses && !v->uses->next ? v->uses->user : NULL;
}

/* If the plan copies two tiles, and one dot reads both and can be split into steps, sets p->dot, p->operand
 * and p->step_k. */
static void find_steps(struct copy_plan *p)
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

/* x is the buffer from which a dot reads an operand. Returns whether the rewrite will replace x by a view of
 * a ring. The ops between the load and the to_shared of x may transpose the tile; the view then transposes
 * the ring in the same way. The view must have the layout of x. */
static bool becomes_view(const struct copy_plan *p, const struct value *x)
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
        layout_trans(&l, p->loads.at[i].ring_type->layout, order);
        return layout_equal(x->type->layout, &l);
    }
    return false;
}

/* Returns whether the dot reads both operands from rings or from buffers outside the loop. */
static bool reads_rings(const struct copy_plan *p, const struct op *dot)
{
    for (int i = DOT_a; i <= DOT_b; i++) {
        const struct value *x = op_opnd(dot, i);
        if (x->type->kind != TY_shared ||
            !(value_is_outside(x, p->loop) || is_stage(dot, i) || becomes_view(p, x)))
            return false;
    }
    return true;
}

/* Sets p->in_flight to the loop's dot if the dot can stay in flight while the next dot starts, and if this is
 * faster. The loop must only carry the dot's accumulator, which must be large. The dot must read both
 * operands from rings or from buffers outside the loop. */
static void find_carried_dot(struct copy_plan *p)
{
    struct op *wait = wait_of_carried_dot(p->body);
    if (!wait || op_int(wait, ATTR_pending) ||
        tile_nregs(op_result(wait)->type) < p->module->params->pipeline_loops_in_flight_regs ||
        !reads_rings(p, op_opnd(wait, 0)->def))
        return;
    p->in_flight = op_opnd(wait, 0)->def;
    p->wait = p->behind = wait;
}

/* warp_specialize.c may have built, before the loop's dot, the wait for the previous dot and, after
 * this wait, the release of the previous dot's stage. Sets p->wait and p->behind to the wait and the release
 * if both can move to after the dot. */
static void find_wait_to_move(struct copy_plan *p)
{
    struct op *dot = NULL;
    for (struct op *o = p->body->first; o; o = o->next)
        dot = o->code == OP_mma_start ? o : dot;
    struct op *wait = dot ? op_opnd(dot, DOT_acc)->def : NULL, *last = wait;
    if (!wait || wait->code != OP_mma_wait || wait->block != p->body || op_opnd(wait, 0)->def ||
        !reads_rings(p, dot))
        return;
    while (last && last->code != OP_mbar_arrive)
        last = last->next;
    if (!last)
        return;
    p->in_flight = dot;
    p->wait = wait;
    p->behind = last;
}

/* -- room in shared memory -- */

struct bytes {
    const struct copy_plan *p;
    const struct staged *more; /* a load to copy in addition to p->loads */
};

/* Returns whether o reads the result of a load that becomes a copy. Then o will read the ring, and needs no
 * buffer of its own. */
static bool reads_ring(const struct bytes *x, const struct op *o)
{
    const struct op *load = op_opnd(o, 0) ? op_opnd(o, 0)->def : NULL;
    return load && (load == x->more->load || is_known(x->p, load));
}

static int64_t bytes_of(const struct op *o, void *ctx)
{
    return reads_ring(ctx, o) ? 0 : shared_bytes_of(o);
}

/* Returns whether the ring of x fits into shared memory, together with all other buffers. If the ring is
 * small, all shared memory except a reserve for barriers may be used. Otherwise, if the other buffers alone
 * leave room for only one CTA on an SM, or if a producer warp copies operands of dots, most of the shared
 * memory may be used. Otherwise two CTAs must fit. */
static bool has_room(const struct copy_plan *p, const struct staged *x)
{
    const struct func *f = p->func;
    struct bytes bytes = {.p = p, .more = x};
    int64_t others = shared_pressure(f->body, bytes_of, &bytes), own = buffer_bytes(x->ring_type);
    for (int i = 0; i < p->loads.n; i++)
        others += buffer_bytes(p->loads.at[i].ring_type);
    const bool is_small = own <= p->module->params->pipeline_loops_small_bytes;
    const bool one_cta = p->has_producer || others > cost_shared_bytes(f, SHARE_of_two_ctas);
    return others + own <= cost_shared_bytes(f, is_small  ? SHARE_all
                                                : one_cta ? SHARE_most
                                                          : SHARE_of_two_ctas);
}

/* -- two CTAs -- */

static const struct type *ring_of(struct copy_plan *p, const struct staged *x, int nstages)
{
    const struct type *t = x->ring_type;
    return type_shared(p->module, type_elem(t), t->rank, t->shape, t->layout, nstages);
}

/* Returns the conversion or to_shared through which a dot reads the tile, if the dot's other operand is
 * computed from another dot of the iteration. Otherwise returns NULL. */
static struct op *late_read(const struct op *load)
{
    struct op *read = only_user(op_result(load));
    if (!read || (read->code != OP_convert && read->code != OP_to_shared))
        return NULL;
    const struct op *dot = only_user(op_result(read));
    if (!dot || dot->code != OP_dot || dot->block != load->block || read->block != load->block)
        return NULL;
    const struct value *other = op_opnd(dot, op_opnd(dot, DOT_a) == op_result(read) ? DOT_b : DOT_a);
    while (other->def && (other->def->code == OP_convert || other->def->code == OP_to_shared))
        other = op_opnd(other->def, 0);
    return comes_of_dot(other, 0) ? read : NULL;
}

/* Returns the bytes of all rings and of the other buffers if the rings of late tiles have `late` stages, and
 * all other rings have `early` stages. */
static int64_t bytes_with(struct copy_plan *p, int early, int late)
{
    struct bytes bytes = {.p = p, .more = &p->loads.at[0]};
    int64_t sum = shared_pressure(p->func->body, bytes_of, &bytes);
    for (int i = 0; i < p->loads.n; i++)
        sum += buffer_bytes(ring_of(p, &p->loads.at[i], p->loads.at[i].is_late ? late : early));
    return sum;
}

/* If only one CTA of at most four warps fits on an SM with the rings as planned, tries to make room for two
 * CTAs. Two CTAs are faster, because a single CTA leaves memory idle while it starts and ends. Tiles that a
 * dot reads together with a value computed from another dot (late_read) then become late: the copy of such a
 * tile runs during the other dot and the arithmetic on its result, and its ring has one stage. All other
 * rings get two stages. Changes nothing if two CTAs do not fit even so. Does not try if a producer warp
 * copies operands, if a dot is split or stays in flight, or if the CTA has more than four warps. */
static void make_room_for_two(struct copy_plan *p)
{
    enum { EARLY = 2, LATE = 1 };
    const int64_t most = cost_shared_bytes(p->func, SHARE_of_two_ctas);
    if (p->has_producer || p->dot || p->in_flight || !p->loads.n || cost_groups(p->func) > 1 ||
        bytes_with(p, p->nstages, p->nstages) <= most)
        return;
    for (int i = 0; i < p->loads.n; i++) {
        struct op *read = late_read(p->loads.at[i].load);
        p->loads.at[i].is_late = read != NULL;
        if (read &&
            (!p->late_read || op_is_before(op_result(read)->uses->user, op_result(p->late_read)->uses->user)))
            p->late_read = read;
    }
    const bool fit = p->late_read && bytes_with(p, EARLY, LATE) <= most;
    for (int i = 0; i < p->loads.n; i++) {
        struct staged *x = &p->loads.at[i];
        x->is_late &= fit;
        x->ring_type = fit ? ring_of(p, x, x->is_late ? LATE : EARLY) : x->ring_type;
    }
    p->late_read = fit ? p->late_read : NULL;
    p->nstages = fit ? EARLY : p->nstages;
    p->nahead = fit ? EARLY - 1 : p->nahead;
}

/* -- the plan -- */

void plan_copies(struct copy_plan *p)
{
    for (enum way way = BY_CASTS; way < WAYS; way++)
        for (struct op *o = p->body->first; o; o = o->next) {
            struct staged x;
            if (is_copy(p, o, way, &x) && (way == BY_CASTS || has_room(p, &x)))
                VEC_PUSH(p->module->scratch, &p->loads, x);
        }
    find_slice(p);
    find_steps(p);
    if (p->has_producer)
        find_wait_to_move(p);
    else
        find_carried_dot(p);
    make_room_for_two(p);
}
