/* assign.c: give every tile a layout, from the memory accesses outwards.
 *
 *     %r = range start=0 end=512              #l = reg[1 2] lane[4 8 16 32 64] warp[128 256]
 *     %q = addptr %p, %r                =>    %r = range start=0 end=512 : tile<512xi32,#l>
 *     %x = load %q                            %q = addptr %p, %r : tile<512xptr<f32>,#l>
 *                                             %x = load %q : tile<512xf32,#l>
 *
 * A memory access is laid out so that neighbours in memory are neighbours in a thread, then in a warp. Its value is
 * anchored there, and so is what is computed from anchored values: elementwise ops stay where their operand is, a
 * reduction leaves a slice of its operand's layout, a loop carries a value in one layout. What is computed from nothing
 * anchored (ranges, constants, splats, broadcasts, and arithmetic on them) floats: it is computed in every layout in
 * which it is needed. An anchored value that is needed elsewhere is converted, right behind its definition.
 *
 * First all layouts of anchored values are decided, then the ops are rewritten in order. Needs: traced. Leaves: layouts
 * everywhere, no replicated registers, converts where layouts meet.
 */
#include "opt/passes.h"

enum { DEFAULT_WIDTH = 4, USES_MOST = 200 };

/* How accesses of one shape along one dimension are laid out: with the widest vectors that one of them can use. */
struct access {
    const struct type *shape;
    int dim, width;
};

struct assign {
    struct func *f;
    struct module *m;
    struct arena *arena;
    struct axis_table *axes;
    VEC(struct access) accesses;
    int ndecided; /* carried values decided so far: what was found out earlier, in a cycle, may have changed */
};

enum state { STATE_none, STATE_busy, STATE_cyclic, STATE_done };

/* A value laid out as something else than its own layout. */
struct copy {
    const struct layout *layout;
    struct value *value;
    struct copy *next;
};

/* What the pass knows of a value, in its `scratch`. */
struct note {
    enum state state;
    int ndecided;                /* cyclic: when it was found out */
    const struct layout *anchor; /* NULL: it floats */
    struct copy *copies;
    struct value *origin;        /* of a copy: what it copies */
};

static struct note *note_of(struct assign *a, struct value *v)
{
    if (!v->scratch)
        v->scratch = NEW(a->arena, struct note);
    return v->scratch;
}

/* -- layouts of memory accesses -- */

static const struct layout *blocked(struct assign *a, const struct type *t, int dim, int width)
{
    int per_thread[RANK_MAX], order[RANK_MAX], n = 0;
    int64_t share = type_elems(t) / ((int64_t)a->f->num_warps << LANE_BITS);
    while (width > 1 && (width > share || width > t->shape[dim]))
        width /= 2;
    order[n++] = dim;
    for (int d = t->rank - 1; d >= 0; d--) {
        per_thread[d] = d == dim ? width : 1;
        if (d != dim)
            order[n++] = d;
    }
    struct layout l;
    layout_blocked(&l, t->rank, t->shape, per_thread, order, a->f->num_warps);
    return layout_intern(a->m, &l);
}

static const struct type *accessed_type(const struct op *o)
{
    return op_opnd(o, 0)->type;
}

static struct access *find_access(struct assign *a, const struct type *t, int dim)
{
    for (int i = 0; i < a->accesses.n; i++)
        if (type_same_shape(a->accesses.at[i].shape, t) && (dim < 0 || a->accesses.at[i].dim == dim))
            return &a->accesses.at[i];
    return NULL;
}

/* The dimension along which most neighbours are neighbours in memory; the last of equals. */
static int fastest_dim(struct assign *a, const struct op *o)
{
    const struct axis *x = axis_of(a->axes, op_opnd(o, 0));
    int best = accessed_type(o)->rank - 1;
    for (int d = best - 1; d >= 0; d--)
        if (x->log_adjacent[d] > x->log_adjacent[best])
            best = d;
    return best;
}

/* Do neighbouring elements lie apart in memory, so that no layout is better than another? */
static bool is_scattered(struct assign *a, const struct op *o)
{
    return axis_of(a->axes, op_opnd(o, 0))->log_adjacent[fastest_dim(a, o)] == 0;
}

static void note_access(struct op *o, void *ctx)
{
    struct assign *a = ctx;
    if ((o->code != OP_load && o->code != OP_store) || !type_is_tile(accessed_type(o)) || is_scattered(a, o))
        return;
    int dim = fastest_dim(a, o), width = axis_access(a->axes, o, dim);
    struct access *known = find_access(a, accessed_type(o), dim);
    if (known)
        known->width = width > known->width ? width : known->width;
    else
        VEC_PUSH(a->arena, &a->accesses, (struct access){accessed_type(o), dim, width});
}

/* Where a value of this shape lives that nothing else places. */
static const struct layout *home(struct assign *a, const struct type *t)
{
    const struct access *like = find_access(a, t, -1);
    return like ? blocked(a, t, like->dim, like->width) : blocked(a, t, t->rank - 1, DEFAULT_WIDTH);
}

/* -- layouts through changes of shape -- */

static const struct layout *sliced(struct assign *a, const struct layout *l, int dim)
{
    struct layout out;
    layout_slice(&out, l, dim, true, NULL);
    return layout_intern(a->m, &out);
}

static const struct layout *reshaped(struct assign *a, const struct layout *l, const struct type *t)
{
    struct layout out;
    layout_reshape(&out, l, t->rank, t->shape);
    return layout_intern(a->m, &out);
}

static const struct layout *transposed(struct assign *a, const struct layout *l, const struct attr *order, bool back)
{
    int inverse[RANK_MAX];
    for (int i = 0; i < order->n; i++)
        inverse[order->list[i]] = i;
    struct layout out;
    layout_trans(&out, l, back ? inverse : order->list);
    return layout_intern(a->m, &out);
}

/* l's elements twice, the two in neighbouring registers. */
static const struct layout *joined(struct assign *a, const struct layout *l, const struct type *t)
{
    struct layout out;
    layout_init(&out, t->rank, t->shape);
    layout_add(&out, IN_reg, 1);
    for (enum in kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            layout_add(&out, kind, layout_basis(l, kind, i) << 1);
    out.flip = l->flip << 1;
    return layout_intern(a->m, &out);
}

static const struct layout *squashed(struct assign *a, const struct layout *l, const struct type *from, const struct type *to)
{
    struct layout out = *l, next;
    for (int d = 0; d < from->rank; d++)
        if (from->shape[d] != to->shape[d]) {
            layout_squash(&next, &out, d);
            out = next;
        }
    layout_drop_free_regs(&next, &out, NULL);
    return layout_intern(a->m, &next);
}

/* -- decisions -- */

static const struct layout *anchor_of(struct assign *a, struct value *v);

static const struct layout *anchor_or_home(struct assign *a, struct value *v)
{
    const struct layout *l = anchor_of(a, v);
    return l ? l : home(a, v->type);
}

static const struct layout *first_anchor(struct assign *a, const struct op *o)
{
    const struct layout *l = NULL;
    for (int i = 0; i < o->nopnds && !l; i++)
        if (op_opnd(o, i))
            l = anchor_of(a, op_opnd(o, i));
    return l;
}

/* A tile of no more elements than threads is stored from where it is: a conversion would cost more than it saves. */
static bool is_small_store(struct assign *a, const struct op *o)
{
    return o->code == OP_store && type_elems(accessed_type(o)) <= (int64_t)a->f->num_warps << LANE_BITS;
}

/* The layout in which an access to memory is done. */
static const struct layout *memory_layout(struct assign *a, const struct op *o)
{
    const struct type *t = accessed_type(o);
    bool is_atomic = o->code == OP_atomic_rmw || o->code == OP_atomic_cas;
    if (is_small_store(a, o) && first_anchor(a, o))
        return first_anchor(a, o);
    if (is_atomic || is_scattered(a, o)) {
        const struct layout *l = first_anchor(a, o);
        return l ? l : home(a, t);
    }
    int dim = fastest_dim(a, o);
    return blocked(a, t, dim, find_access(a, t, dim)->width);
}

/* The layout of the first memory access or anchored value that v meets; *budget bounds the search. */
static const struct layout *met_by(struct assign *a, struct value *v, int *budget)
{
    const struct layout *l = NULL;
    for (const struct use *u = v->uses; u && !l && --*budget >= 0; u = u->next) {
        struct op *o = u->user;
        if (o->code == OP_load || o->code == OP_store)
            l = memory_layout(a, o);
        else if (op_has(o, ELEMENTWISE) && !(l = first_anchor(a, o)))
            l = met_by(a, op_result(o), budget);
    }
    return l;
}

/* The k-th value that a loop carries, or that an if gives: the places where it is set, and those where it is read. */
struct carried {
    int nset, nread;
    struct value *set[2], *read[2];
};

static struct value *yielded(const struct block *b, int k)
{
    const struct op *end = block_terminator(b);
    return end->code == OP_yield || end->code == OP_condition ? op_opnd(end, k + (end->code == OP_condition)) : NULL;
}

static void add_set(struct carried *c, struct value *v)
{
    if (v)
        c->set[c->nset++] = v;
}

/* Of a while, what its condition hands on is another value than what it carries. */
static struct carried carried_at(const struct op *o, int k, bool handed_on)
{
    struct carried c = {0};
    if (o->code == OP_if) {
        add_set(&c, yielded(o->regions[0], k));
        add_set(&c, yielded(o->regions[1], k));
        c.read[c.nread++] = &o->results[k];
    } else if (o->code == OP_for) {
        add_set(&c, op_opnd(o, 3 + k));
        add_set(&c, yielded(o->regions[0], k));
        c.read[c.nread++] = o->regions[0]->args.at[1 + k];
        c.read[c.nread++] = &o->results[k];
    } else if (handed_on) {
        add_set(&c, yielded(o->regions[0], k));
        c.read[c.nread++] = o->regions[1]->args.at[k];
        c.read[c.nread++] = &o->results[k];
    } else {
        add_set(&c, op_opnd(o, k));
        add_set(&c, yielded(o->regions[1], k));
        c.read[c.nread++] = o->regions[0]->args.at[k];
    }
    return c;
}

static const struct layout *decide_carried(struct assign *a, const struct carried *c)
{
    const struct layout *l = NULL;
    for (int i = 0; i < c->nread; i++)
        note_of(a, c->read[i])->state = STATE_busy;
    for (int i = 0; i < c->nset && !l; i++)
        l = anchor_of(a, c->set[i]);
    int budget = USES_MOST;
    for (int i = 0; i < c->nread && !l; i++)
        l = met_by(a, c->read[i], &budget);
    if (!l)
        l = home(a, c->read[0]->type);
    for (int i = 0; i < c->nread; i++)
        *note_of(a, c->read[i]) = (struct note){.state = STATE_done, .anchor = l};
    a->ndecided++;
    return l;
}

static const struct layout *decide_arg(struct assign *a, struct value *v)
{
    const struct op *o = v->block->parent;
    bool is_for = o->code == OP_for;
    struct carried c = carried_at(o, v->index - is_for, v->block != o->regions[0]);
    return decide_carried(a, &c);
}

static const struct layout *through_shape(struct assign *a, const struct op *o, const struct type *t)
{
    struct value *x = op_opnd(o, 0);
    const struct layout *l = o->code == OP_join ? first_anchor(a, o) : anchor_of(a, x);
    if (!l)
        return NULL;
    switch (o->code) {
    case OP_reshape: return reshaped(a, l, t);
    case OP_trans:   return transposed(a, l, op_attr(o, ATTR_order), false);
    case OP_join:    return joined(a, l, t);
    default:         return l;
    }
}

static const struct layout *decide(struct assign *a, struct value *v)
{
    struct op *o = v->def;
    if (!o)
        return decide_arg(a, v);
    struct carried c;
    switch (o->code) {
    case OP_const:
    case OP_range:
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims: return NULL;
    case OP_reshape:
    case OP_trans:
    case OP_join:
    case OP_hint:        return through_shape(a, o, v->type);
    case OP_load:
    case OP_atomic_rmw:
    case OP_atomic_cas:  return memory_layout(a, o);
    case OP_reduce:      return sliced(a, anchor_or_home(a, op_opnd(o, 0)), (int)op_int(o, ATTR_axis));
    case OP_split:       return sliced(a, anchor_or_home(a, op_opnd(o, 0)), v->type->rank);
    case OP_scan:        return anchor_or_home(a, op_opnd(o, 0));
    case OP_gather:      return anchor_or_home(a, op_opnd(o, 1));
    case OP_dot:         return anchor_or_home(a, op_opnd(o, 2));
    case OP_for:
    case OP_while:
    case OP_if:
        c = carried_at(o, v->index, true);
        return decide_carried(a, &c);
    default: return op_has(o, ELEMENTWISE) ? first_anchor(a, o) : home(a, v->type);
    }
}

static const struct layout *anchor_of(struct assign *a, struct value *v)
{
    if (!type_is_tile(v->type))
        return NULL;
    struct note *n = note_of(a, v);
    if (n->state == STATE_done)
        return n->anchor;
    if (n->state == STATE_busy || (n->state == STATE_cyclic && n->ndecided == a->ndecided))
        return NULL;
    n->state = STATE_busy;
    n->anchor = decide(a, v);
    n->state = n->anchor ? STATE_done : STATE_cyclic;
    n->ndecided = a->ndecided;
    return n->anchor;
}

static void decide_results(struct op *o, void *ctx)
{
    for (int i = 0; i < o->nresults; i++)
        anchor_of(ctx, &o->results[i]);
    for (int r = 0; r < o->nregions; r++)
        for (int i = 0; i < o->regions[r]->args.n; i++)
            anchor_of(ctx, o->regions[r]->args.at[i]);
}

/* -- values in the layouts in which they are needed -- */

static struct value *in_layout(struct assign *a, struct value *v, const struct layout *l);

/* What operand i of o must be laid out as when the results are laid out as l. */
static const struct layout *opnd_layout(struct assign *a, const struct op *o, const struct layout *l, int i)
{
    const struct type *from = op_opnd(o, i)->type, *to = op_result(o)->type;
    switch (o->code) {
    case OP_broadcast: return squashed(a, l, from, to);
    case OP_expand_dims:
    case OP_reshape:   return reshaped(a, l, from);
    case OP_trans:     return transposed(a, l, op_attr(o, ATTR_order), true);
    case OP_join:      return sliced(a, l, from->rank);
    default:           return l;
    }
}

static void lay_out_opnd(struct assign *a, struct op *o, int i, const struct layout *l)
{
    struct value *v = op_opnd(o, i);
    if (v && type_is_tile(v->type))
        op_set_opnd(o, i, in_layout(a, v, l));
}

static void lay_out(struct assign *a, struct op *o, const struct layout *l)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && type_is_tile(op_opnd(o, i)->type))
            lay_out_opnd(a, o, i, opnd_layout(a, o, l, i));
    for (int i = 0; i < o->nresults; i++)
        value_set_type(&o->results[i], type_with_layout(a->m, o->results[i].type, l));
}

static struct builder build_behind(struct value *v)
{
    if (v->def)
        return build_after(v->def);
    struct builder b = build_at_end(v->block, v->block->parent->loc);
    b.before = v->block->first;
    return b;
}

/* The op that computes v once more; v itself if that is not laid out yet. */
static struct value *computed_in(struct assign *a, struct value *v, const struct layout *l)
{
    struct op *o = v->def;
    if (v->type->layout) {
        struct builder b = build_after(o);
        struct map same;
        map_init(&same, a->arena);
        o = op_clone(&b, o, &same);
    }
    lay_out(a, o, l);
    return op_result(o);
}

static struct value *in_layout(struct assign *a, struct value *v, const struct layout *l)
{
    struct note *n = note_of(a, v);
    if (n->origin)
        n = note_of(a, v = n->origin);
    if (v->type->layout == l)
        return v;
    for (struct copy *c = n->copies; c; c = c->next)
        if (c->layout == l)
            return c->value;
    struct value *made;
    if (n->anchor) {
        struct builder b = build_behind(v);
        made = build_convert(&b, v, l);
    } else {
        made = computed_in(a, v, l);
    }
    if (made == v)
        return v;
    note_of(a, made)->origin = v;
    struct copy *c = NEW(a->arena, struct copy);
    *c = (struct copy){l, made, n->copies};
    n->copies = c;
    return made;
}

/* -- the rewrite -- */

static void lay_out_opnds_alike(struct assign *a, struct op *o, const struct layout *l)
{
    for (int i = 0; i < o->nopnds; i++)
        lay_out_opnd(a, o, i, l);
}

static void lay_out_each_opnd(struct assign *a, struct op *o)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && type_is_tile(op_opnd(o, i)->type))
            lay_out_opnd(a, o, i, anchor_or_home(a, op_opnd(o, i)));
}

static void set_anchor(struct assign *a, struct value *v)
{
    if (type_is_tile(v->type))
        value_set_type(v, type_with_layout(a->m, v->type, note_of(a, v)->anchor));
}

static void rewrite_block(struct assign *a, struct block *b);

/* The values that region's terminator hands on, from operand `first` on, to those that read them. */
static void hand_on(struct assign *a, struct op *o, struct op *end, int first, bool handed_on)
{
    for (int k = 0; k + first < end->nopnds; k++)
        if (type_is_tile(op_opnd(end, k + first)->type)) {
            struct carried c = carried_at(o, k, handed_on);
            lay_out_opnd(a, end, k + first, note_of(a, c.read[0])->anchor);
        }
}

static void rewrite_control(struct assign *a, struct op *o)
{
    int first = o->code == OP_for ? 3 : 0;
    for (int k = 0; o->code != OP_if && k + first < o->nopnds; k++) {
        struct carried c = carried_at(o, k, false);
        lay_out_opnd(a, o, k + first, note_of(a, c.read[0])->anchor);
    }
    for (int i = 0; i < o->nresults; i++)
        set_anchor(a, &o->results[i]);
    for (int r = 0; r < o->nregions; r++) {
        struct block *b = o->regions[r];
        for (int i = 0; i < b->args.n; i++)
            set_anchor(a, b->args.at[i]);
        rewrite_block(a, b);
        struct op *end = block_terminator(b);
        if (end->code == OP_yield)
            hand_on(a, o, end, 0, false);
        else if (end->code == OP_condition)
            hand_on(a, o, end, 1, true);
    }
}

static bool has_tile_result(const struct op *o)
{
    return o->nresults > 0 && type_is_tile(op_result(o)->type);
}

static void rewrite(struct assign *a, struct op *o)
{
    switch (o->code) {
    case OP_for:
    case OP_while:
    case OP_if: rewrite_control(a, o); return;
    case OP_yield:
    case OP_condition: return;
    case OP_store:
    case OP_atomic_rmw:
    case OP_atomic_cas:
        if (type_is_tile(accessed_type(o)))
            lay_out_opnds_alike(a, o, memory_layout(a, o));
        break;
    case OP_reduce:
    case OP_scan:
    case OP_histogram:
    case OP_assert:
        if (type_is_tile(op_opnd(o, 0)->type))
            lay_out_opnds_alike(a, o, anchor_or_home(a, op_opnd(o, 0)));
        break;
    case OP_split:
    case OP_gather:
    case OP_dot:
    case OP_print: lay_out_each_opnd(a, o); break;
    default:
        if (!has_tile_result(o))
            lay_out_each_opnd(a, o);
        else if (note_of(a, op_result(o))->anchor)
            lay_out(a, o, note_of(a, op_result(o))->anchor);
        return;
    }
    for (int i = 0; i < o->nresults; i++)
        set_anchor(a, &o->results[i]);
}

static void rewrite_block(struct assign *a, struct block *b)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        rewrite(a, o);
    }
}

/* Floating ops that nothing needed. */
static void drop_unneeded(struct block *b)
{
    for (struct op *prev, *o = b->last; o; o = prev) {
        prev = o->prev;
        for (int i = 0; i < o->nregions; i++)
            drop_unneeded(o->regions[i]);
        if (has_tile_result(o) && !op_result(o)->type->layout)
            op_erase(o);
    }
}

void opt_assign(struct func *f)
{
    struct assign a = {.f = f, .m = f->module, .arena = f->module->scratch};
    a.axes = axis_analyse(f);
    func_walk(f, note_access, &a);
    func_walk(f, decide_results, &a);
    func_walk(f, decide_results, &a); /* what floated for as long as a loop around it was undecided */
    rewrite_block(&a, f->body);
    drop_unneeded(f->body);
}
