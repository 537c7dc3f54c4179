/* skew.c: the second warpgroup begins a round after the first.
 *
 *                                                      if it is the second, wait for %lead
 *                                                      if it is the first, and there is no second round, arrive
 *     for %t = cta_id to %n step cta_count {           for %t = cta_id to %n step cta_count {
 *                                                        %when = %t == cta_id, and it is the first ? %lo + step : %hi
 *       %r = for %k = %lo to %hi ... {             =>      %r = for %k = %lo to %hi ... {
 *         %d = wgmma ...                                     %d = wgmma ...
 *         %w = dot_wait %d pending=1                         %w = dot_wait %d pending=1
 *         ...                                                mbar_arrive %lead, %k == %when
 *
 * Warpgroups that begin at once end at once: tensor cores then have nothing to do while both round and store their tiles.
 * If one is a round ahead, the other multiplies meanwhile. The distance stays from tile to tile, as they share a ring.
 *
 * When the first waits in its second round for all dots but the newest, its first round is over: there it arrives, once.
 * Both rounds' slots of the ring must be there, which the feeder fills without anybody's leave. In the body nobody may wait for the
 * other warpgroup, or neither would go on. A CTA with one tile has nothing to gain.
 */
#include "opt/passes.h"

#include "ir/wgmma.h"

enum { GROUP = WGMMA_WARPS, GROUPS = 2, ROUNDS = 1 }; /* rounds that the first is ahead */

struct skew {
    struct op *tiles, *loop; /* over programs; over K */
    int ndots, slots;        /* slots: of the ring that the dot reads */
    bool meets;              /* warpgroups wait for each other somewhere in the role */
};

static bool is_of_groups(const struct value *buf)
{
    return buf && op_attr(buffer_alloc(buf, NULL), ATTR_group);
}

/* Is there, or will there be, a barrier of all warps at o? */
static bool meets(const struct op *o)
{
    switch (o->code) {
    case OP_barrier: return op_int(o, ATTR_group) != GROUP;
    case OP_to_shared: return !is_of_groups(op_opnd(o, 1));
    case OP_shared_store:
    case OP_shared_load: return !is_of_groups(op_opnd(o, 0));
    case OP_convert: return convert_is_shared(o);
    case OP_gather:
    case OP_histogram:
    case OP_shared_gather:
    case OP_shared_count:
    case OP_async_copy: return true;
    case OP_tensor_put:
    case OP_bulk_wait: return !op_attr(o, ATTR_group);
    default: return op_has(o, READS | WRITES) && op_info[o->code].family == FAMILY_memory;
    }
}

static void look_at(struct op *o, void *ctx)
{
    struct skew *s = ctx;
    s->meets |= meets(o);
    if (o->code == OP_wgmma) {
        s->ndots++;
        s->slots = op_result(buffer_alloc(op_opnd(o, 1), NULL))->type->nstages;
    }
    const struct op *loop = o->block->parent;
    if (o->code == OP_dot_wait && op_int(o, ATTR_pending) == 1 && loop->code == OP_for)
        s->loop = o->block->parent;
}

static bool find(struct skew *s, struct op *roles)
{
    for (struct op *o = roles->regions[0]->first; o; o = o->next)
        if (is_over_programs(o))
            s->tiles = o;
    block_walk(roles->regions[0], look_at, s);
    return s->tiles && s->loop && s->loop->block->parent == s->tiles && s->ndots == 1 && s->slots > ROUNDS &&
           !s->meets;
}

/* A barrier for one arrival, made where the others are. */
static struct value *build_lead(struct func *f)
{
    struct op *init = f->body->first;
    while (init->code != OP_mbar_init)
        init = init->next;
    struct builder b = build_before(init);
    int one[] = {1};
    struct layout l;
    layout_init(&l, 1, one);
    const struct type *t =
        type_shared(f->module, type_scalar(f->module, DT_i64), 1, one, layout_intern(f->module, &l), 1);
    struct value *lead = op_result(build_op(&b, OP_shared_alloc, 0, NULL, 1, &t, 0));
    value_rename(lead, "lead");
    op_set_int(build_op(&b, OP_mbar_init, 1, &lead, 0, NULL, 0), ATTR_arrivals, 1);
    return lead;
}

static void build_arrive(struct builder *b, struct value *lead, struct value *on)
{
    op_set_int(build_op(b, OP_mbar_arrive, 2, (struct value *[]){lead, on}, 0, NULL, 0), ATTR_group, GROUP);
}

/* The second warpgroup waits, if it has more than one tile. The first must not even look: by then it may have arrived. */
static struct value *build_wait(struct builder *b, const struct skew *s, struct value *lead)
{
    struct value *own = build_i32(b, OP_warp_group);
    op_set_int(own->def, ATTR_group, GROUP);
    struct value *zero = build_const_i32(b, 0), *is_second = build_cmp(b, PRED_ne, own, zero);
    struct value *next = build_binary(b, OP_add, op_opnd(s->tiles, 0), op_opnd(s->tiles, 2));
    struct value *more = build_cmp(b, PRED_slt, next, op_opnd(s->tiles, 1));
    struct op *perhaps = build_if(b, build_binary(b, OP_and, is_second, more), 0, NULL);
    struct builder in = build_at_end(perhaps->regions[0], b->loc);
    build_op(&in, OP_mbar_wait, 2, (struct value *[]){lead, zero}, 0, NULL, 0);
    build_yield(&in, 0, NULL);
    in = build_at_end(perhaps->regions[1], b->loc);
    build_yield(&in, 0, NULL);
    return build_cmp(b, PRED_eq, own, zero);
}

/* What the loop counts in round i, from 0. */
static struct value *build_round(struct builder *b, const struct skew *s, int i)
{
    struct value *at = op_opnd(s->loop, 0);
    for (int k = 0; k < i; k++)
        at = build_binary(b, OP_add, at, op_opnd(s->loop, 2));
    return at;
}

/* Does K go through the same rounds in all tiles? */
static bool is_same_in_all(const struct skew *s)
{
    for (int i = 0; i < 3; i++)
        if (!value_is_outside(op_opnd(s->loop, i), s->tiles))
            return false;
    return true;
}

static void skew(struct func *f, const struct skew *s)
{
    struct value *lo = op_opnd(s->loop, 0), *hi = op_opnd(s->loop, 1), *step = op_opnd(s->loop, 2);
    struct value *lead = build_lead(f);
    struct builder b = build_before(s->tiles);
    struct value *first = build_wait(&b, s, lead);
    int64_t by;
    bool down = value_const_int(step, &by) && by < 0;

    b = build_before(s->loop);
    struct value *begins = build_cmp(&b, PRED_eq, s->tiles->regions[0]->args.at[0], op_opnd(s->tiles, 0));
    struct value *leads = build_binary(&b, OP_and, first, begins);
    struct value *when = build_select(&b, leads, build_round(&b, s, ROUNDS), hi);

    struct op *wait = s->loop->regions[0]->first;
    while (wait->code != OP_dot_wait)
        wait = wait->next;
    b = build_after(wait);
    build_arrive(&b, lead, build_cmp(&b, PRED_eq, s->loop->regions[0]->args.at[0], when));

    b = build_before(is_same_in_all(s) ? s->tiles : s->loop);
    struct value *brief = build_cmp(&b, down ? PRED_sle : PRED_sge, lo, hi);
    for (int i = 1; i <= ROUNDS; i++) {
        struct value *over = build_cmp(&b, down ? PRED_sle : PRED_sge, build_round(&b, s, i), hi);
        brief = build_binary(&b, OP_or, brief, over);
    }
    build_arrive(&b, lead, build_binary(&b, OP_and, is_same_in_all(s) ? first : leads, brief));
    opt_explain(f, s->loop, "the second warpgroup begins a round after the first");
}

void opt_skew(struct func *f)
{
    struct skew s = {0};
    struct op *roles = func_roles(f);
    if (roles && f->persistent && f->num_warps == GROUPS * GROUP && find(&s, roles))
        skew(f, &s);
}
