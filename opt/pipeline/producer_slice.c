/* SPDX-License-Identifier: MIT */
/* producer_slice.c: finds the scalars that the producer warp must compute itself.
 *
 * These scalars are called the slice. The slice consists of the coordinates of copies, the bounds of the loops around
 * the copies, the conditions of early returns, and all values from which these scalars are computed.
 *
 * If a scalar is loaded from memory, both the consumers and the producer execute the load. Both must load the
 * same value (can_load_twice). So two conditions must hold:
 * - No op of the same program writes memory before the load. No loop contains both the load and an op
 *   that writes memory, except the loop over programs. A write does not count if the program always returns
 *   after the write, because then the program does not reach the load.
 * - The consumers execute the writes that follow the load only once the producer has executed the load. For a
 *   load before the first dot, the op `ready` ensures this: the producer executes `ready` after the last such
 *   load, and the consumers write nothing until then. For a load in a loop of dots, it holds because the
 *   consumers wait for tiles that the producer copies after the load. */
#include "ir/target/target.h"
#include "opt/analysis/analysis.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/producer_slice.h"

bool is_over_programs(const struct op *o)
{
    const struct value *lo = o->code == OP_for ? op_opnd(o, 0) : NULL;
    const struct op *from = lo ? lo->def : NULL;
    from = from && from->code == OP_add ? op_opnd(from, 0)->def : from;
    return from && from->code == OP_cta_id;
}

bool stands_in_loops(const struct op *o)
{
    for (const struct op *p = o->block->parent; p; p = p->block->parent)
        if (p->code != OP_for)
            return false;
    return true;
}

bool slice_has(struct map *m, const void *key)
{
    void **at = map_get_ptr(m, key);
    return at && *at;
}

/* -- scalars from memory -- */

struct look {
    const struct op *load;
    bool passed; /* the walk has visited the load */
    /* written: an op before the load, or an op in a loop that also contains the load, writes memory or may
     * acquire (op_may_acquire). dot: such an op is a dot. The loop over programs does not count. */
    bool written;
    bool dot;
};

/* Returns whether a loop contains both a and b. The loop over programs does not count. */
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
    l->dot |= op_has(o, MULTIPLIES);
    l->written |= (op_has(o, WRITES) || op_may_acquire(o)) && !is_on_way_out(o, l->load);
}

static bool has_dot_behind(const struct op *o)
{
    for (; o; o = o->next)
        if (op_has(o, MULTIPLIES))
            return true;
    return false;
}

/* Returns whether o is a load that gives the consumers and the producer the same value if both execute it. */
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

/* -- the slice -- */

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

/* Adds to the slice v and all values on which v depends. Returns false if one of these values is a tile or a
 * buffer. Returns false also if one of these values is computed by an op with regions other than `for`, or by
 * an op that is neither pure nor a load for which can_load_twice is true. */
static bool need(struct map *m, const struct value *v)
{
    if (slice_has(m, v))
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

bool is_exit(const struct op *o)
{
    bool found = false;
    for (int i = 0; i < o->nregions; i++)
        block_walk(o->regions[i], note_return, &found);
    return found;
}

bool slice_add_exits(struct map *m, const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (!is_exit(o))
            continue;
        if (o->code != OP_if || !need(m, op_opnd(o, 0)) || !slice_add_exits(m, o->regions[0]) ||
            !slice_add_exits(m, o->regions[1]))
            return false;
    }
    return true;
}

/* Adds to the slice the coordinates `coords` of the copy that will replace o, and the bounds of the loops
 * around o. */
static bool add_place(struct map *m, const struct op *o, struct value *const *coords, int ncoords)
{
    for (int i = 0; i < ncoords; i++)
        if (!need(m, coords[i]))
            return false;
    for (const struct op *p = o->block->parent; p; p = p->block->parent)
        if (!need_bounds(m, p))
            return false;
    return true;
}

bool slice_add_place(struct map *m, const struct op *load)
{
    struct value *coords[RANK_MAX];
    for (int i = 0; i < load->nopnds; i++)
        coords[i] = op_opnd(load, i);
    return add_place(m, load, coords, load->nopnds);
}

bool producer_can_copy(const struct op *load, struct value *const *coords, int ncoords)
{
    const struct func *f = load->block->func;
    struct map needed;
    map_init(&needed, f->module->scratch);
    if (f->num_warps % WARPGROUP_WARPS != 0 ||
        f->num_warps > f->module->params->warp_specialize_consumer_warps_most || !stands_in_loops(load))
        return false;
    return add_place(&needed, load, coords, ncoords) && slice_add_exits(&needed, f->body);
}
