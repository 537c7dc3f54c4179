/* SPDX-License-Identifier: MIT */
/* rotate_loads.c: moves loads of a loop one iteration ahead, so that each iteration loads the values that the
 * next iteration uses.
 *
 *     for %k = %lo to %hi step %s {                  %first = load %p + %lo, %lo < %hi
 *       %g = load %p + %k                            for %k = %lo to %hi step %s carry(%g = %first) {
 *       ... %g ...                             =>      %next = load %p + (%k + %s), (is there such an iteration?)
 *     }                                                ... %g ...
 *                                                      yield %next
 *                                                    }
 *
 * Three passes use this rewrite. load_ahead.c moves loads of any tile. pipeline_loops.c copies large tiles to
 * shared memory instead, and moves only loads of scalars, and loads of tiles of indices that take few
 * registers of a thread. In a loop whose dots read only tiles that a producer warp copies, pipeline_loops.c
 * also moves loads of vectors that take few registers, for example scales of rows. A copy of such a vector to
 * shared memory would need a barrier of all consumers in each iteration. alternate_dots.c moves the loads of
 * such vectors by another iteration. The address of a copy may depend on a moved value, for example on the
 * number of a page or of an expert. In this case pipeline_loops.c loads the value one iteration before it
 * starts the copy.
 *
 * In the figure, the moved load (%next) is at the start of the body, where load_ahead.c puts it. The other
 * two passes put the load after all ops that read %g. ptxas can then give %next and %g the same registers,
 * and needs no copy.
 *
 * A load can move if the load is not volatile, and pure ops compute its address, mask and default from the loop's
 * counter and carried values. At least one of these three operands must be computed in the loop. If the loop
 * writes memory, only loads that are marked as invariant can move. */
#include "opt/pipeline/rotate_loads.h"

#include "opt/passes.h"
#include "opt/pipeline/plan_rings.h"
#include "opt/simplify/simplify.h"

#include <stdlib.h>

enum { LOADS_MOST = 32, ITERATIONS_MOST = 2 /* between a load that has moved and its users */ };

struct rotation {
    struct module *m;
    struct op *loop;
    struct block *body;
    int64_t step; /* 0: the step is not a constant, but is positive */
    enum rotates which;
    struct op *loads[LOADS_MOST];
    int n;
};

/* Returns whether pure ops can compute v from values that are known when an iteration starts. If `next` is
 * true, returns whether they can compute, in this iteration, the value that v has in the next iteration. */
static bool is_known(const struct rotation *r, const struct value *v, bool next, int depth)
{
    if (!v || value_is_outside(v, r->loop))
        return true;
    const struct op *o = v->def;
    if (!o)
        return !next || v->index == 0 || is_known(r, op_opnd(r->body->last, v->index - 1), false, depth);
    if (o->block != r->body || !op_has(o, PURE) || o->nregions || depth == r->m->params->rotate_loads_depth)
        return false;
    for (int i = 0; i < o->nopnds; i++)
        if (!is_known(r, op_opnd(o, i), next, depth + 1))
            return false;
    return true;
}

/* Returns whether the address of a load depends on v, through at most `depth` ops. */
static bool says_where(const struct value *v, int64_t depth)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if ((u->user->code == OP_load && u == &u->user->opnds[0]) ||
            (depth > 0 && op_has(u->user, PURE) && u->user->nresults == 1 &&
             says_where(op_result(u->user), depth - 1)))
            return true;
    return false;
}

bool fits_ahead(const struct module *m, const struct layout *l)
{
    return l->nbits[IN_reg] <= log2_floor(m->params->rotate_loads_regs_most);
}

/* v is the result of a load. Returns whether the load may move, given the type of v and r->which. Tiles of
 * indices are tiles of integers on which the address of another load depends. */
static bool is_small(const struct rotation *r, const struct value *v)
{
    const struct type *t = v->type;
    if (r->which == ROTATES_tiles || !type_is_tile(t))
        return true;
    return t->layout && fits_ahead(r->m, t->layout) &&
           ((r->which == ROTATES_vectors && t->rank == 1) ||
            (type_is_int(t) && says_where(v, r->m->params->rotate_loads_depth)));
}

static bool can_rotate(const struct rotation *r, const struct op *o, bool writes)
{
    if (o->code != OP_load || op_int(o, ATTR_volatile) || (writes && !op_int(o, ATTR_invariant)) ||
        !is_small(r, op_result(o)) || !op_result(o)->uses)
        return false;
    bool varies = false;
    for (int i = 0; i < o->nopnds; i++) {
        if (!is_known(r, op_opnd(o, i), true, 0))
            return false;
        varies |= op_opnd(o, i) && !value_is_outside(op_opnd(o, i), r->loop);
    }
    return varies;
}

/* -- the rewrite -- */

struct value *load_mask(struct builder *b, struct value *mask, struct value *live, const struct type *ptr)
{
    const struct type *bools = type_with_elem(b->func->module, ptr, type_scalar(b->func->module, DT_i1));
    if (type_is_tile(ptr))
        live = op_result(build_op(b, OP_splat, 1, &live, 1, &bools, 0));
    return mask ? build_binary(b, OP_and, mask, live) : live;
}

/* Builds ops that compute v with the arguments of the loop's body replaced by their values in `map`. If an
 * argument has no value in `map`, the argument is replaced by the value that the iteration yields for it;
 * this value is computed from the arguments' values in `now`. If `now` is NULL, an argument without a value
 * stays as it is. */
static struct value *compute(const struct rotation *r, struct builder *b, struct map *map, struct map *now,
                             struct value *v)
{
    if (!v || value_mapped(map, v) != v || value_is_outside(v, r->loop))
        return value_mapped(map, v);
    if (!v->def) {
        struct value *next = now ? compute(r, b, now, NULL, op_opnd(r->body->last, v->index - 1)) : v;
        *map_at_ptr(map, v) = next;
        return next;
    }
    for (int i = 0; i < v->def->nopnds; i++)
        compute(r, b, map, now, op_opnd(v->def, i));
    op_clone(b, v->def, map);
    return value_mapped(map, v);
}

static struct value *load_masked(const struct rotation *r, struct builder *b, struct map *map,
                                 struct map *now, const struct op *o, struct value *live)
{
    b->loc = o->loc;
    struct value *ptr = compute(r, b, map, now, op_opnd(o, 0)),
                 *mask = compute(r, b, map, now, op_opnd(o, 1)),
                 *other = compute(r, b, map, now, op_opnd(o, 2));
    struct value *x[] = {ptr, load_mask(b, mask, live, ptr->type), other};
    struct op *load = build_op(b, OP_load, 3, x, 1, &op_result(o)->type, 0);
    for (int i = 0; i < o->nattrs; i++)
        if (o->attrs[i].key != ATTR_vec)
            op_set_int(load, o->attrs[i].key, o->attrs[i].i);
    return op_result(load);
}

/* Builds, before the loop, the loads for the first iteration. Sets `first` to the loaded values. */
static void load_first(const struct rotation *r, struct value **first)
{
    struct builder b = build_before(r->loop);
    struct value *lo = op_opnd(r->loop, 0), *hi = op_opnd(r->loop, 1);
    struct value *live = build_cmp(&b, PRED_slt, r->step >= 0 ? lo : hi, r->step >= 0 ? hi : lo);
    struct map map;
    map_init(&map, r->m->scratch);
    *map_at_ptr(&map, r->body->args.at[0]) = lo;
    for (int i = 1; i < r->body->args.n; i++)
        *map_at_ptr(&map, r->body->args.at[i]) = op_opnd(r->loop, i + 2);
    for (int i = 0; i < r->n; i++)
        first[i] = load_masked(r, &b, &map, NULL, r->loads[i], live);
}

/* Builds, at the start of an iteration, the loads for the next iteration. Sets `next` to the loaded
 * values. */
static void load_next(const struct rotation *r, struct value **next)
{
    struct builder b = build_before(r->body->first);
    struct value *k = r->body->args.at[0], *hi = op_opnd(r->loop, 1);
    struct map now, map;
    map_init(&now, r->m->scratch);
    map_init(&map, r->m->scratch);
    b.loc = r->loop->loc;
    struct value *left = build_binary(&b, OP_sub, r->step >= 0 ? hi : k, r->step >= 0 ? k : hi),
                 *size = r->step ? build_const_int(&b, k->type, llabs(r->step)) : op_opnd(r->loop, 2),
                 *live = build_cmp(&b, PRED_ugt, left, size);
    *map_at_ptr(&map, k) =
        build_binary(&b, OP_add, k, r->step ? build_const_int(&b, k->type, r->step) : op_opnd(r->loop, 2));
    for (int i = 0; i < r->n; i++)
        next[i] = load_masked(r, &b, &map, &now, r->loads[i], live);
}

const struct value *value_replaced_by(const struct op *load)
{
    const struct value *v = op_result(load);
    const struct op *yield = load->block->last;
    int iterations = 0;
    if (!load->block->parent || load->block->parent->code != OP_for)
        return NULL;
    for (; value_nuses(v) == 1 && v->uses->user == yield && iterations < ITERATIONS_MOST; iterations++)
        v = load->block->args.at[1 + (int)(v->uses - yield->opnds)];
    return iterations > 0 ? v : NULL;
}

bool passes_registers(const struct op *o)
{
    return o->code == OP_splat || op_has(o, FREE);
}

/* Returns the last op of the body that computes with v, or NULL. An op that only changes the shape of v does
 * not count; its users count instead. */
static struct op *last_reader(const struct block *body, const struct value *v)
{
    struct op *last = NULL;
    for (const struct use *u = v->uses; u; u = u->next) {
        struct op *o = op_ancestor_in(u->user, body);
        if (o == body->last)
            continue;
        if (passes_registers(o))
            o = last_reader(body, op_result(o));
        last = !last || (o && op_is_before(last, o)) ? o : last;
    }
    return last;
}

/* The load replaces a carried value (value_replaced_by). Moves the load to after all ops that compute with
 * this value, so that the load can write the value's registers. A load before these ops would write other
 * registers. ptxas would then copy the result to the registers of the carried value in the same iteration,
 * and the copy would wait for the load. */
static void delay(struct op *load)
{
    const struct value *old = value_replaced_by(load);
    struct op *reader = old ? last_reader(load->block, old) : NULL;
    if (reader && op_is_before(load, reader))
        op_move_before(load, reader->next);
}

bool can_rotate_load(const struct op *load)
{
    struct op *loop = load->block->parent;
    struct rotation r = {
        .m = loop->block->func->module, .loop = loop, .body = loop->regions[0], .which = ROTATES_tiles};
    return can_rotate(&r, load, false);
}

struct op *rotate_loads(struct op *loop, int64_t step, bool writes, enum rotates which)
{
    struct rotation r = {
        .m = loop->block->func->module, .loop = loop, .body = loop->regions[0], .step = step, .which = which};
    for (struct op *o = r.body->first; o && r.n < LOADS_MOST; o = o->next)
        if (can_rotate(&r, o, writes))
            r.loads[r.n++] = o;
    if (!r.n)
        return loop;
    struct value *values[LOADS_MOST];
    load_first(&r, values);
    const int nold = loop->nresults;
    r.loop = loop_carry(loop, NULL, r.n, values);
    op_erase(loop);
    r.body = r.loop->regions[0];
    load_next(&r, values);
    for (int i = 0; i < r.n; i++) {
        struct value *carried = r.body->args.at[1 + nold + i], *old = op_result(r.loads[i]);
        opt_explain(r.loop->block->func,
                    &(struct explanation){DECISION_loaded_ahead, .at = r.loads[i], .values = {old}});
        value_replace(old, carried);
        value_take_name(carried, old);
        op_erase(r.loads[i]);
    }
    loop_yield(r.loop, r.n, values);
    for (int i = 0; i < r.n && which != ROTATES_tiles; i++)
        delay(values[i]->def);
    return r.loop;
}
