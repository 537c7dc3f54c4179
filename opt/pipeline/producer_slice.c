/* producer_slice.c: what a warp that feeds others computes for itself.
 *
 * The feeder is the backward slice of coordinates, of the loops around them, and of the conditions of early
 * returns: scalars only. A scalar that comes from memory it loads itself, where nothing that the kernel writes can come in
 * between (can_load_twice): before the first dot the program's own warps write nothing until the feeder has said that
 * it is ready, and that it says behind the last such load; in a loop of dots they wait for what is fed behind the load.
 */
#include "opt/analysis/analysis.h"
#include "opt/pipeline/pipeline.h"
#include "opt/pipeline/producer_slice.h"

#include "ir/target/wgmma.h"

bool is_over_programs(const struct op *o)
{
    const struct value *lo = o->code == OP_for ? op_opnd(o, 0) : NULL;
    return lo && lo->def && lo->def->code == OP_cta_id;
}

/* -- what can be fed -- */

/* Do all loops around o count, up to the function's body? */
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

/* A program that returns early does so in both roles. */
bool is_exit(const struct op *o)
{
    bool found = false;
    for (int i = 0; i < o->nregions; i++)
        block_walk(o->regions[i], note_return, &found);
    return found;
}

/* The conditions of early returns. */
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

bool slice_add_place(struct map *m, const struct op *load)
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
    return slice_add_exits(&needed, f->body);
}
