/* SPDX-License-Identifier: MIT */
/* dce.c: erases ops that have neither a use nor a side effect.
 *
 *     %a = add %x, %y            %v = load %p
 *     %v = load %p        =>     store %q, %v
 *     store %q, %v
 *
 * The pass also removes a value that a `for` carries if no op uses the value after the loop, and if each
 * iteration uses it only to compute the value for the next iteration. Needs: valid SSA. Leaves: no dead ops,
 * except ops that compute unused values that a `while` carries. */
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

bool op_is_dead(const struct op *o)
{
    for (int i = 0; i < o->nresults; i++)
        if (has_uses(&o->results[i]))
            return false;
    return !op_has(o, TERMINATOR) && is_removable(o);
}

/* -- carried values -- */

static void replace(struct value *old, struct value *with)
{
    value_replace(old, with);
    value_take_name(with, old);
}

struct op *loop_carry(struct op *old, const bool *keep, int nmore, struct value *const *more)
{
    struct block *from = old->regions[0];
    struct op *yield = from->last;
    struct value **init = NEW_ARRAY(from->func->module->arena, old->nresults + nmore, struct value *);
    int n = 0, kept = 0;
    for (int i = 0; i < old->nresults; i++)
        if (!keep || keep[i])
            init[n++] = op_opnd(old, i + 3);
    for (int i = 0; i < nmore; i++)
        init[n++] = more[i];
    struct builder b = build_before(old);
    struct op *loop = build_for(&b, op_opnd(old, 0), op_opnd(old, 1), op_opnd(old, 2), n, init);
    for (int i = 0; i < old->nattrs; i++)
        op_set_int(loop, old->attrs[i].key, old->attrs[i].i);
    struct block *to = loop->regions[0];
    while (from->first)
        op_move_to_end(from->first, to);
    replace(from->args.at[0], to->args.at[0]);
    for (int i = 0; i < old->nresults; i++) {
        if (keep && !keep[i])
            continue;
        replace(&old->results[i], &loop->results[kept++]);
        replace(from->args.at[i + 1], to->args.at[kept]);
    }
    kept = 0; /* from here on, counts the yielded values that stay */
    for (int i = 0; i < old->nresults; i++)
        if (!keep || keep[i])
            init[kept++] = op_opnd(yield, i);
    op_set_opnds(yield, kept, init);
    return loop;
}

struct value *loop_runs(struct builder *b, const struct op *loop)
{
    int64_t by;
    bool down = value_const_int(op_opnd(loop, 2), &by) && by < 0;
    return build_cmp(b, down ? PRED_sgt : PRED_slt, op_opnd(loop, 0), op_opnd(loop, 1));
}

void loop_yield(struct op *loop, int nmore, struct value *const *more)
{
    struct op *yield = loop->regions[0]->last;
    int n = yield->nopnds;
    struct value **x = NEW_ARRAY(yield->block->func->module->arena, n + nmore, struct value *);
    for (int i = 0; i < n + nmore; i++)
        x[i] = i < n ? op_opnd(yield, i) : more[i - n];
    op_set_opnds(yield, n + nmore, x);
}

struct marker {
    struct op *loop;
    struct map marked;
    bool *keep;
};

static void mark_op(struct marker *m, struct op *o);

static void mark(struct marker *m, struct value *v)
{
    struct block *body = m->loop->regions[0];
    if (!v || v->block != body)
        return;
    if (v->def)
        mark_op(m, v->def);
    else if (v->index > 0 && !m->keep[v->index - 1]) {
        m->keep[v->index - 1] = true;
        mark(m, op_opnd(body->last, v->index - 1));
    }
}

/* Marks o, and all ops of the loop's body from whose results o is computed; if o has regions, also the ops
 * from whose results the ops in the regions are computed. */
static void mark_op(struct marker *m, struct op *o)
{
    void **at = map_at_ptr(&m->marked, o);
    if (*at)
        return;
    *at = o;
    for (int i = 0; i < o->nopnds; i++)
        mark(m, op_opnd(o, i));
    for (int i = 0; i < o->nregions; i++)
        for (struct op *inner = o->regions[i]->first; inner; inner = inner->next)
            mark_op(m, inner);
}

/* Removes the loop-carried values that are needed only to compute their own next values. Returns the loop that
 * replaces `loop`, or `loop` itself. The ops that computed the removed values stay in the body, but their
 * results have no uses any more. */
static struct op *drop_carried(struct op *loop)
{
    struct arena *scratch = loop->block->func->module->scratch;
    struct marker m = {.loop = loop, .keep = NEW_ARRAY(scratch, loop->nresults + 1, bool)};
    int unused = 0, kept = 0;
    for (int i = 0; i < loop->nresults; i++)
        unused += !has_uses(&loop->results[i]);
    if (!unused)
        return loop;
    map_init(&m.marked, scratch);
    for (int i = 0; i < loop->nresults; i++)
        if (has_uses(&loop->results[i]))
            mark(&m, loop->regions[0]->args.at[i + 1]);
    for (struct op *o = loop->regions[0]->first; o->next; o = o->next)
        if (!is_removable(o))
            mark_op(&m, o);
    for (int i = 0; i < loop->nresults; i++)
        kept += m.keep[i];
    if (kept == loop->nresults)
        return loop;
    struct op *rest = loop_carry(loop, m.keep, 0, NULL);
    op_erase(loop);
    return rest;
}

/* -- the pass -- */

/* Walks backwards, so that dead users of an op are erased before the op is checked. */
static void sweep(struct block *b)
{
    for (struct op *prev, *o = b->last; o; o = prev) {
        prev = o->prev;
        if (o->code == OP_for)
            o = drop_carried(o);
        for (int i = 0; i < o->nregions; i++)
            sweep(o->regions[i]);
        if (op_is_dead(o))
            op_erase(o);
    }
}

void opt_dce(struct func *f)
{
    sweep(f->body);
}
