/* SPDX-License-Identifier: MIT */
/* assign_layouts.c: chooses the layout of every tile, starting from memory accesses and dots.
 *
 *     %o = range start=0 end=512 : tile<512xi32>          layout #l0 = reg[1 2] lane[4 8 16 32 64] warp[128 256]
 *     %p = addptr %s, %o : tile<512xptr<f32>>      =>     %o = range start=0 end=512 : tile<512xi32,#l0>
 *     %x = load %p : tile<512xf32>                        %p = addptr %s, %o : tile<512xptr<f32>,#l0>
 *                                                         %x = load %p : tile<512xf32,#l0>
 *
 * A *cheap* tile is computed from ranges and scalars without memory accesses. A cheap tile gets the layout that its
 * user needs. If its users need several layouts, the tile is rematerialized for each layout. All other tiles belong
 * to equivalence classes; the tiles of a class share a layout. The operands and results of an elementwise op are in
 * one class. The argument or result of a loop or branch is in one class with the values that it receives
 * (initial and yielded values). A loaded or stored tile also joins the class of the values with which the
 * kernel combines it, unless the accesses of that class are contiguous along another dimension in memory. In
 * this case the load or store gets a separate layout, and the pass converts the tile.
 *
 * Classes of dots and scans first get the layout that the dot or scan requires. Then the pass assigns layouts to
 * the other classes in the order of their tile sizes, largest first. If a class has accesses, its layout
 * coalesces these accesses, with the widest vectors that alignment allows. A reduction or shape op links the
 * class of its operand to the class of its result. When one of the two classes has a layout, the other class
 * gets the layout with which the op moves no data, unless the accesses of the other class would coalesce too
 * badly in that layout. If a user needs a value in a layout other than the layout of the value's class, the
 * pass inserts a `convert`. */
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/pipeline/pipeline.h"
#include "opt/passes.h"

enum { SEGMENT_BYTES = 128, VECTOR_BYTES = 16 };

/* A class of values that share a layout (union-find). If the class has joined another class, `joined` is that
 * class, and the other fields are not used any more. */
struct class
{
    struct class *joined;
    const struct type *type; /* the type of one of the class's values; the pass uses only its shape */
    const char *name;        /* the name of the first value, for explanations */
    const struct layout *layout;
    const struct layout *anchor; /* the layout that a dot or scan requires, or NULL */
    int fast_dim;     /* the dimension along which the class's accesses are contiguous in memory; -1: none */
    int pack;         /* the number of elements that inline assembly gets at a time; see keeps_packs */
    uint32_t reduced; /* the mask of the dimensions along which reductions reduce tiles of the class */
    int nvalues;
    const struct op *access; /* a load or store of one of the class's values; NULL: there is none */
    /* the op that determined the layout: an access, dot or scan, or the op that links the class to the class
     * from which it took its layout; NULL: none */
    const struct op *reason;
};

/* An entry of the list of the copies of a tile; each copy has another layout. */
struct copy {
    const struct layout *layout;
    struct value *value;
    struct copy *next;
};

/* The pass's data about one tile. */
struct note {
    struct class *class; /* the tile's class; NULL: the tile is cheap */
    struct copy *copies; /* the tile in other layouts (for a cheap tile: in all its layouts) */
};

/* An op whose tile operands must have one common layout, the layout of `class`. For a load or atomic, this is
 * the class of the result. For a store, reduction, histogram or assertion, whose results do not determine the
 * layout, it is a class of the op's own, which its operands may join. */
struct site {
    struct op *op;
    struct class *class;
    bool is_access;
    int order[RANK_MAX]; /* for an access: the dimensions, the most contiguous first */
    int vector;          /* for an access: the largest vector width that its addresses allow */
};

/* A shape op or reduction that links two classes. */
struct link {
    struct op *op;
    struct class *from, *to; /* the classes of an operand and of the result */
};

struct assign {
    struct func *func;
    struct module *m;
    struct arena *arena;
    struct axis_table *axes;
    VEC(struct class *) classes;
    VEC(struct site *) sites;
    VEC(struct link) links;
    VEC(struct op *) stores; /* stores in loops and branches, which become sites last (opt_assign_layouts) */
    struct map site_of;      /* maps an op to its site */
    bool rows_first;         /* warps divide the rows of accumulators before the columns */
    struct pair_reductions pairs;
};

/* -- classes -- */

/* Returns the class that c has joined, directly or indirectly; c itself if it has joined none. Compresses the
 * path, because a class may have thousands of tiles. */
static struct class *find(struct class *c)
{
    for (struct class *next; (next = c->joined); c = next)
        c->joined = next->joined ? next->joined : next;
    return c;
}

static struct class *add_class(struct assign *a, const struct type *t, const char *name)
{
    struct class *c = NEW(a->arena, struct class);
    *c = (struct class){.type = t, .name = name, .fast_dim = -1, .pack = 1, .nvalues = 1};
    VEC_PUSH(a->arena, &a->classes, c);
    return c;
}

static void unite(struct class *a, struct class *b)
{
    a = find(a);
    b = find(b);
    if (a == b)
        return;
    b->joined = a;
    a->nvalues += b->nvalues;
    a->reduced |= b->reduced;
    a->pack = a->pack > b->pack ? a->pack : b->pack;
    a->access = a->access ? a->access : b->access;
    if (!a->anchor) {
        a->anchor = b->anchor;
        a->reason = b->reason;
    }
    a->fast_dim = a->fast_dim < 0 ? b->fast_dim : a->fast_dim;
}

/* Joins two classes, unless their accesses are contiguous along different dimensions, or one class has contiguous
 * accesses and a dot or scan requires the layout of the other class. */
static void join(struct class *a, struct class *b)
{
    a = find(a);
    b = find(b);
    if ((a->anchor && b->fast_dim >= 0) || (b->anchor && a->fast_dim >= 0))
        return;
    if (a->fast_dim < 0 || b->fast_dim < 0 || a->fast_dim == b->fast_dim)
        unite(a, b);
}

/* Returns the class of v; NULL for a scalar or a cheap tile. */
static struct class *class_of(const struct value *v)
{
    const struct note *n = v ? v->scratch : NULL;
    return n && n->class ? find(n->class) : NULL;
}

static bool is_cheap(const struct value *v)
{
    const struct note *n = v->scratch;
    return n && !n->class;
}

static void add_note(struct assign *a, struct value *v, bool cheap)
{
    if (!type_is_tile(v->type))
        return;
    struct note *n = NEW(a->arena, struct note);
    n->class = cheap ? NULL : add_class(a, v->type, v->name);
    v->scratch = n;
}

/* -- which tiles are cheap -- */

/* Returns whether the layout of o's result determines the layouts of its operands (layout_before). */
static bool maps_elements(const struct op *o)
{
    return op_has(o, ELEMENTWISE) || is_shape_change(o) || o->code == OP_hint || o->code == OP_asm ||
           o->code == OP_map;
}

static bool can_recompute(const struct op *o)
{
    if (!op_has(o, PURE) || o->nregions || o->nresults != 1 || o->code == OP_join || op_int(o, ATTR_pack) > 1)
        return false;
    if (op_has(o, COSTLY) && !type_is_int(op_result(o)->type))
        return false;
    for (int i = 0; i < o->nopnds; i++)
        if (type_is_tile(op_opnd(o, i)->type) && !(maps_elements(o) && is_cheap(op_opnd(o, i))))
            return false;
    return true;
}

/* -- collecting classes, sites and links -- */

/* Joins the classes of x and y, which must have one layout, for example because y is the result of a loop
 * that receives x. Unlike `join`, does so even if the accesses of the classes are contiguous along different
 * dimensions. */
static void unite_values(struct value *x, struct value *y)
{
    if (class_of(x) && class_of(y))
        unite(class_of(x), class_of(y));
}

static void unite_results(struct op *o)
{
    for (int i = 1; i < o->nresults; i++)
        unite_values(&o->results[0], &o->results[i]);
}

static struct site *add_site(struct assign *a, struct op *o, struct class *c)
{
    struct site *s = NEW(a->arena, struct site);
    *s = (struct site){.op = o, .class = c};
    VEC_PUSH(a->arena, &a->sites, s);
    *map_at_ptr(&a->site_of, o) = s;
    return s;
}

/* Joins the classes of o's tile operands with class c. Skips loaded tiles that o can probably load from
 * shared memory in any layout (readers_choose_layout). */
static void join_operands(struct op *o, struct class *c)
{
    for (int i = 0; i < o->nopnds; i++)
        if (class_of(op_opnd(o, i)) && !readers_choose_layout(op_opnd(o, i)->def))
            join(find(c), class_of(op_opnd(o, i)));
}

static void add_access(struct assign *a, struct op *o)
{
    const struct value *ptr = op_opnd(o, 0);
    if (!type_is_tile(ptr->type))
        return;
    struct class *c = o->nresults ? class_of(op_result(o)) : add_class(a, ptr->type, op_opnd(o, 1)->name);
    struct site *s = add_site(a, o, c);
    s->is_access = true;
    find(c)->access = o;
    order_in_memory(a->axes, ptr, a->m->params->depends_ops, s->order);
    s->vector = axis_access(a->axes, o, s->order[0]);
    if (axis_of(a->axes, ptr)->log_adjacent[s->order[0]] > 0)
        find(c)->fast_dim = s->order[0];
    join_operands(o, c);
}

/* Sets `order` for a tile in row-major order: the last dimension first. */
static void order_by_rows(const struct type *t, int *order)
{
    for (int d = 0; d < t->rank; d++)
        order[d] = t->rank - 1 - d;
}

/* Returns whether an elementwise op reads v or a transposition of v. */
static bool is_read_by_arithmetic(const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next)
        if (op_has(u->user, ELEMENTWISE) ||
            (u->user->code == OP_trans && is_read_by_arithmetic(op_result(u->user))))
            return true;
    return false;
}

/* Makes o, a tensor_load, a site whose access is contiguous along the last dimension, with vectors of 16
 * bytes, if elementwise ops read the tile. The reason: the tile will be in shared memory, and the threads
 * load it from there like a tile from global memory. (If an elementwise op combines the tile with a dot's
 * result, it needs the tile in the dot's layout instead.) */
static void add_copied(struct assign *a, struct op *o)
{
    const struct type *t = op_result(o)->type;
    if (t->rank == 1 || !is_read_by_arithmetic(op_result(o)) || meets_dot(op_result(o)))
        return;
    struct class *c = class_of(op_result(o));
    struct site *s = add_site(a, o, c);
    s->is_access = true;
    order_by_rows(t, s->order);
    s->vector = VECTOR_BYTES / type_elem_bytes(t);
    find(c)->access = o;
    find(c)->fast_dim = s->order[0];
}

static void add_reduce(struct assign *a, struct op *o)
{
    struct class *c = add_class(a, op_opnd(o, 0)->type, op_opnd(o, 0)->name);
    add_site(a, o, c);
    c->reduced = 1u << op_int(o, ATTR_axis);
    join_operands(o, c);
    unite_results(o);
    if (class_of(op_result(o)))
        VEC_PUSH(a->arena, &a->links, ((struct link){o, c, class_of(op_result(o))}));
}

/* Joins the classes of all results and operands of inline assembly, because they must have one layout. */
static void add_asm(struct op *o)
{
    const struct value *first = o->nresults ? op_result(o) : op_opnd(o, 0);
    unite_results(o);
    struct class *c = class_of(first);
    int pack = (int)op_int(o, ATTR_pack);
    if (!c)
        return;
    c->pack = pack > c->pack ? pack : c->pack;
    join_operands(o, c);
}

/* Joins the classes of the dot's result and accumulator. The dot determines the layout of this class; the
 * layout in turn determines the layouts of operands a and b. */
static void add_dot(struct assign *a, struct op *o)
{
    struct class *c = find(class_of(op_result(o)));
    c->anchor = dot_acc_layout(o, a->rows_first);
    c->reason = o;
    if (class_of(op_opnd(o, 2)))
        join(c, class_of(op_opnd(o, 2)));
}

/* Joins the classes of the scan's operands and results. The joined class gets the layout that the scan
 * requires. */
static void add_scan(struct op *o)
{
    unite_results(o);
    struct class *c = class_of(op_result(o));
    c->anchor = scan_layout(o);
    c->reason = o;
    join_operands(o, c);
}

/* Links the classes of the operands of a shape op to the class of its result. Joins the classes of both
 * results of a split, because each thread holds corresponding elements of both results. */
static void add_shape_change(struct assign *a, struct op *o)
{
    struct class *to = class_of(&o->results[0]);
    unite_results(o);
    for (int i = 0; i < o->nopnds && to; i++)
        if (class_of(op_opnd(o, i)))
            VEC_PUSH(a->arena, &a->links, ((struct link){o, class_of(op_opnd(o, i)), to}));
}

/* `by` is a terminator or a loop. values[i] is the region argument or result that receives operand first + i
 * of `by`. Joins the classes of values[i] and of this operand, for i from 0 to n - 1. */
static void carry(const struct op *by, int first, struct value *const *values, int n)
{
    for (int i = 0; i < n && by->code != OP_return; i++)
        unite_values(values[i], op_opnd(by, first + i));
}

static void carry_all(struct assign *a, struct op *o)
{
    struct value **results = NEW_ARRAY(a->arena, o->nresults, struct value *);
    for (int i = 0; i < o->nresults; i++)
        results[i] = &o->results[i];
    struct block *first = o->nregions ? o->regions[0] : NULL,
                 *second = o->nregions > 1 ? o->regions[1] : NULL;
    if (o->code == OP_for) {
        carry(first->last, 0, results, o->nresults);
        carry(o, 3, results, o->nresults);
        for (int i = 0; i < o->nresults; i++)
            unite_values(results[i], first->args.at[i + 1]);
    } else if (o->code == OP_while) {
        carry(first->last, 1, results, o->nresults);
        carry(first->last, 1, second->args.at, second->args.n);
        carry(o, 0, first->args.at, first->args.n);
        carry(second->last, 0, first->args.at, first->args.n);
    } else if (o->code == OP_if) {
        carry(first->last, 0, results, o->nresults);
        carry(second->last, 0, results, o->nresults);
    }
}

static bool has_tiles(const struct op *o)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i) && type_is_tile(op_opnd(o, i)->type))
            return true;
    return o->nresults > 0 && type_is_tile(o->results[0].type);
}

static void gather_block(struct assign *a, struct block *b);

static void gather_op(struct assign *a, struct op *o)
{
    bool cheap = can_recompute(o);
    for (int i = 0; i < o->nresults; i++)
        add_note(a, &o->results[i], cheap);
    bool is_control = op_info[o->code].family == FAMILY_control;
    for (int i = 0; i < o->nregions && is_control; i++)
        gather_block(a, o->regions[i]);
    if (is_control)
        carry_all(a, o);
    if (cheap || !has_tiles(o))
        return;
    if (o->code == OP_store && o->block->parent)
        VEC_PUSH(a->arena, &a->stores, o);
    else if (o->code == OP_tensor_load)
        add_copied(a, o);
    else if (op_info[o->code].family == FAMILY_memory)
        add_access(a, o);
    else if (o->code == OP_reduce)
        add_reduce(a, o);
    else if (o->code == OP_dot)
        add_dot(a, o);
    else if (o->code == OP_scan)
        add_scan(o);
    else if (o->code == OP_gather)
        join(class_of(op_result(o)),
             class_of(op_opnd(o, 1)) ? class_of(op_opnd(o, 1)) : class_of(op_result(o)));
    else if (o->code == OP_histogram || o->code == OP_assert)
        join_operands(o, add_site(a, o, add_class(a, op_opnd(o, 0)->type, op_opnd(o, 0)->name))->class);
    else if (op_has(o, ELEMENTWISE) || o->code == OP_hint)
        join_operands(o, class_of(op_result(o)));
    else if (o->code == OP_asm || o->code == OP_asm_effect || o->code == OP_map)
        add_asm(o);
    else if (is_shape_change(o))
        add_shape_change(a, o);
}

static bool is_load(const struct value *v)
{
    return v->def && v->def->code == OP_load;
}

static void gather_block(struct assign *a, struct block *b)
{
    const struct op *loop = b->parent && b->parent->code == OP_for ? b->parent : NULL;
    for (int i = 0; i < b->args.n; i++)
        add_note(a, b->args.at[i], false);
    /* If load_ahead.c has moved a load to the preceding iteration, the loop carries the loaded tile. The
     * users of the carried tile must join the class of the load, as the users of other loaded tiles do. */
    for (int i = 1; loop && i < b->args.n; i++)
        if (is_load(op_opnd(loop, i + 2)) && is_load(op_opnd(b->last, i - 1)))
            unite_values(b->args.at[i], op_opnd(loop, i + 2));
    for (struct op *o = b->first; o; o = o->next)
        gather_op(a, o);
}

/* If a dot or scan requires a layout (anchor) for the operand of a transposition, makes the transposed layout
 * the anchor of the result's class. Does the same from the result to the operand. The transposition then
 * moves no data. Skips classes with contiguous accesses. */
static void anchor_transposed(struct assign *a)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < a->links.n; i++) {
            const struct link *k = &a->links.at[i];
            struct class *from = find(k->from), *to = find(k->to);
            if (k->op->code != OP_trans || !from->anchor == !to->anchor || from->fast_dim >= 0 ||
                to->fast_dim >= 0)
                continue;
            struct class *other = from->anchor ? to : from;
            other->anchor =
                from->anchor ? layout_after(k->op, from->anchor) : layout_before(k->op, to->anchor);
            other->reason = from->anchor ? from->reason : to->reason;
            changed = true;
        }
    }
}

/* -- choosing layouts -- */

static const struct layout *blocked(struct assign *a, const struct class *c, const int *order, int n)
{
    struct layout l;
    int vector = blocked_layout(&l, c->type, order, n, a->func->num_warps, c->reduced);
    keep_pairs_in_warps(&l, &a->pairs, vector);
    return layout_intern(a->m, &l);
}

static const struct layout *layout_by_rows(struct assign *a, const struct class *c)
{
    int order[RANK_MAX] = {0};
    order_by_rows(c->type, order);
    return blocked(a, c, order, c->pack);
}

static const struct layout *plain_layout(struct assign *a, const struct type *t)
{
    return layout_by_rows(a, &(struct class){.type = t, .pack = 1});
}

static int accessed_bytes(const struct op *access)
{
    return access->code == OP_tensor_load ? type_elem_bytes(op_result(access)->type)
                                          : type_elem_bytes(type_elem(op_opnd(access, 0)->type)->elem);
}

/* Returns the access of class c that determines the order in which c's layout distributes the dimensions: the
 * first access that is contiguous along fast_dim; if there is none, the first access. Returns NULL if the
 * class has no access. */
static struct site *leader_of(const struct assign *a, struct class *c)
{
    struct site *any = NULL;
    for (int i = 0; i < a->sites.n; i++) {
        struct site *s = a->sites.at[i];
        if (!s->is_access || find(s->class) != c)
            continue;
        if (c->fast_dim < 0 || s->order[0] == c->fast_dim)
            return s;
        any = any ? any : s;
    }
    return any;
}

/* Returns how many consecutive elements each thread should hold along fast_dim: the width of the widest
 * vector that the alignment of some access of class c allows, within two limits. Together, the elements take at
 * most assign_layouts_run_bytes in the widest type that an op `load` reads, and at most 16 bytes in the widest
 * type of the other accesses. So if a
 * kernel loads a wide type and stores a narrow type, each thread stores one whole vector, but loads the
 * elements with two instructions. The second load hits in L1, because the first load has fetched whole
 * sectors. Two stores, in contrast, would write each sector in two halves. */
static int vector_of(const struct assign *a, struct class *c, int fast_dim)
{
    int widest = 1, most = 1 << COORD_BITS_MAX;
    for (int i = 0; i < a->sites.n; i++) {
        const struct site *s = a->sites.at[i];
        if (!s->is_access || find(s->class) != c || s->order[0] != fast_dim || s->vector == 1)
            continue;
        const int bytes = s->op->code == OP_load ? a->m->params->assign_layouts_run_bytes : VECTOR_BYTES,
                  own = bytes / accessed_bytes(s->op);
        widest = s->vector > widest ? s->vector : widest;
        most = own < most ? own : most;
    }
    return widest < most ? widest : most;
}

static const struct layout *widened(struct assign *a, const struct op *o, const struct layout *l)
{
    struct layout out;
    layout_widen(&out, op_opnd(o, 0)->type, op_result(o)->type, l);
    return layout_intern(a->m, &out);
}

static const struct layout *own_layout(struct assign *a, struct class *c, const struct op **reason);

/* Returns whether, in layout l, the elements that inline assembly gets at a time (c->pack) are consecutive
 * along the last dimension. Assembly text that combines these elements, for example to unpack 4-bit numbers,
 * relies on this order. */
static bool keeps_packs(const struct class *c, const struct layout *l)
{
    int last = c->type->rank - 1, most = 1 << l->nbits[IN_reg], pack = c->pack < most ? c->pack : most;
    return layout_vector(l, last, pack) >= (pack < c->type->shape[last] ? pack : c->type->shape[last]);
}

/* Returns the layout that a class without accesses inherits: if shape ops compute tiles of the class from
 * tiles that are loaded with vectors, the layout of the largest such tile, transformed by the shape ops.
 * Returns NULL if there is no such tile, or if tiles of the class are reduced. Sets *reason to the access
 * that determined the layout. `depth` is the number of shape ops that the recursion has passed. */
static const struct layout *inherited(struct assign *a, struct class *c, int depth, const struct op **reason)
{
    const struct layout *best = NULL;
    int64_t size = 0;
    const int most = a->m->params->assign_layouts_inherit_depth;
    for (int i = 0; i < a->links.n && depth < most && !c->reduced; i++) {
        const struct link *k = &a->links.at[i];
        struct class *from = find(k->from);
        const struct site *s = leader_of(a, from);
        const struct op *why = NULL;
        if (find(k->to) != c || from == c || type_elems(from->type) <= size || k->op->code == OP_reduce)
            continue;
        const struct layout *l = s && s->vector > 1 ? own_layout(a, from, &why)
                                 : s                ? NULL
                                                    : inherited(a, from, depth + 1, &why);
        l = !l ? NULL : k->op->code == OP_broadcast ? widened(a, k->op, l) : layout_after(k->op, l);
        if (!l)
            continue;
        best = l;
        *reason = why;
        size = type_elems(from->type);
    }
    return best;
}

/* Returns the best layout for the accesses of class c. If c has no accesses, returns the inherited layout, or
 * else a layout in row-major order. Sets *reason to the access that determined the layout, or to NULL. */
static const struct layout *own_layout(struct assign *a, struct class *c, const struct op **reason)
{
    struct site *s = leader_of(a, c);
    *reason = s ? s->op : NULL;
    if (s)
        return blocked(a, c, s->order, vector_of(a, c, s->order[0]));
    const struct layout *l = inherited(a, c, 0, reason);
    if (l && keeps_packs(c, l))
        return l;
    return layout_by_rows(a, c);
}

/* Returns whether the accesses of class c coalesce in layout l as well as in the best layout of c
 * (own_layout). Runs of consecutive elements of SEGMENT_BYTES or more count as equally good. If no access of
 * c is contiguous, returns true unless the layout is bad for the access by the rule of
 * repeats_staged_vector. */
static bool serves_accesses(struct assign *a, struct class *c, const struct layout *l)
{
    if (c->fast_dim < 0)
        return !c->access || !repeats_staged_vector(c->access, l);
    const struct op *reason;
    const struct layout *own = own_layout(a, c, &reason);
    if (!reason || l == own)
        return true;
    int enough = SEGMENT_BYTES / accessed_bytes(reason), run = layout_run_of_warp(own, c->fast_dim);
    int most = vector_of(a, c, c->fast_dim);
    return layout_vector(l, c->fast_dim, most) >= layout_vector(own, c->fast_dim, most) &&
           layout_run_of_warp(l, c->fast_dim) >= (run < enough ? run : enough);
}

/* Returns how many load or store instructions a thread executes for one access of class c if c has layout
 * l. */
static int instructions_in(struct assign *a, struct class *c, const struct layout *l)
{
    int regs = 1 << (l->nbits[IN_reg] - __builtin_popcount(layout_free_bits(l, IN_reg)));
    return regs / layout_vector(l, c->fast_dim, vector_of(a, c, c->fast_dim));
}

/* Returns whether the only use of o's result is as the initial value of a loop's carried value, so that o, a
 * load, runs once, before the loop. */
static bool is_before_loop(const struct op *o)
{
    const struct use *u = o->nresults ? op_result(o)->uses : NULL;
    return u && !u->next && u->user->code == OP_for;
}

/* Returns whether the best layout of class c (own_layout) costs less than layout l. With l, the accesses may
 * need more instructions. With the best layout, the tiles of c need conversions from and to l. */
static bool scatters_accesses(struct assign *a, struct class *c, const struct layout *l)
{
    const struct params *p = a->m->params;
    int accesses = 0, conversions = 0;
    if (c->fast_dim < 0)
        return false;
    for (int i = 0; i < a->sites.n; i++)
        accesses += a->sites.at[i]->is_access && find(a->sites.at[i]->class) == c &&
                    !is_before_loop(a->sites.at[i]->op);
    for (int i = 0; i < a->links.n; i++)
        conversions += find(a->links.at[i].to) == c || find(a->links.at[i].from) == c;
    const struct op *reason;
    int more = instructions_in(a, c, l) - instructions_in(a, c, own_layout(a, c, &reason));
    return accesses * more * p->assign_layouts_access_slots >
           conversions * p->lower_layout_conversion_shared_slots;
}

/* Sets the layout of class `to` to l if the accesses and the inline assembly (keeps_packs) of `to` permit l,
 * and returns whether they do. If the tiles of `to` are smaller than the tiles of `from`, l must not scatter
 * the accesses (scatters_accesses). Otherwise the accesses must coalesce in l as well as in the best layout
 * of `to` (serves_accesses). */
static bool follow(struct assign *a, struct class *to, const struct class *from, const struct layout *l,
                   const struct op *reason)
{
    bool is_smaller = type_elems(to->type) < type_elems(from->type);
    if (!l || !keeps_packs(to, l) || (is_smaller ? scatters_accesses(a, to, l) : !serves_accesses(a, to, l)))
        return false;
    to->layout = l;
    to->reason = reason;
    return true;
}

/* Propagates layouts along links from classes that have a layout to classes that have none, until a fixpoint. */
static void spread(struct assign *a)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < a->links.n; i++) {
            struct link *k = &a->links.at[i];
            struct class *from = find(k->from), *to = find(k->to);
            if (from->layout && !to->layout)
                changed |= follow(a, to, from, layout_after(k->op, from->layout), k->op);
            else if (to->layout && !from->layout && k->op->code != OP_reduce)
                changed |= follow(a, from, to, layout_before(k->op, to->layout), k->op);
        }
    }
}

/* Returns the class with the largest tile among the classes without a layout; NULL if all classes have a
 * layout. If several tiles are largest, prefers a class with accesses, because its accesses might not
 * coalesce in a layout that it gets from another class. */
static struct class *largest_undecided(const struct assign *a)
{
    struct class *best = NULL;
    for (int i = 0; i < a->classes.n; i++) {
        struct class *c = a->classes.at[i];
        if (c->joined || c->layout)
            continue;
        int64_t size = type_elems(c->type), most = best ? type_elems(best->type) : 0;
        if (size > most || (size == most && c->access && !best->access))
            best = c;
    }
    return best;
}

static void explain(struct assign *a, const struct class *c)
{
    if (!opt_explains(a->func))
        return;
    struct text t;
    text_init(&t, a->arena);
    layout_print(c->layout, &t);
    const enum decision why = c->reason ? DECISION_layout_for_op : DECISION_layout_by_shape;
    const char *rest = c->nvalues > 1 ? " and what shares its layout" : "";
    const char *op = c->reason ? op_info[c->reason->code].name : "";
    opt_explain(a->func, &(struct explanation){why, .at = c->reason, .words = {c->name, rest, t.s, op}});
}

static void decide(struct assign *a)
{
    for (int i = 0; i < a->classes.n; i++)
        if (!a->classes.at[i]->joined)
            a->classes.at[i]->layout = a->classes.at[i]->anchor;
    spread(a);
    for (struct class *c; (c = largest_undecided(a));) {
        c->layout = own_layout(a, c, &c->reason);
        spread(a);
    }
    for (int i = 0; i < a->classes.n; i++)
        if (!a->classes.at[i]->joined)
            explain(a, a->classes.at[i]);
}

/* -- rewriting -- */

static struct value *copy_in(const struct note *n, const struct layout *l)
{
    for (struct copy *c = n->copies; c; c = c->next)
        if (c->layout == l)
            return c->value;
    return NULL;
}

static void add_copy(struct assign *a, struct note *n, const struct layout *l, struct value *v)
{
    struct copy *c = NEW(a->arena, struct copy);
    *c = (struct copy){l, v, n->copies};
    n->copies = c;
}

/* Returns the op of v's block that contains `user`, or `user` itself if it is in this block. */
static struct op *user_in_block(const struct value *v, struct op *user)
{
    while (user->block != v->block)
        user = user->block->parent;
    return user;
}

static struct value *converted(struct assign *a, struct value *v, const struct layout *l, struct op *user)
{
    static const char *const how[] = {"free", "within each thread", "within each warp",
                                      "through shared memory"};
    struct value *found = copy_in(v->scratch, l);
    if (found)
        return found;
    struct builder b = build_before(user_in_block(v, user));
    found = build_convert(&b, v, l);
    value_rename(found, v->name);
    add_copy(a, v->scratch, l, found);
    const char *const words[] = {op_info[user->code].name,
                                 how[layout_conversion(v->type->layout, l, value_params(v))]};
    opt_explain(a->func, &(struct explanation){DECISION_converted, user, {v}, .words = {words[0], words[1]}});
    return found;
}

static struct value *demand(struct assign *a, struct value *v, const struct layout *l, struct op *user);

static void demand_operands(struct assign *a, struct op *o, const struct layout *l)
{
    for (int i = 0; i < o->nopnds; i++)
        if (op_opnd(o, i))
            op_set_opnd(o, i, demand(a, op_opnd(o, i), l, o));
}

/* Returns the cheap tile v in layout l. The first requested layout becomes the layout of v itself. For each
 * other layout, the function copies the op that computes v. */
static struct value *recomputed(struct assign *a, struct value *v, const struct layout *l)
{
    struct note *n = v->scratch;
    struct value *found = copy_in(n, l);
    if (found)
        return found;
    struct op *o = v->def;
    if (n->copies) {
        struct map same;
        map_init(&same, a->arena);
        struct builder b = build_before(o);
        o = op_clone(&b, o, &same);
        op_result(o)->scratch = n;
        opt_explain(a->func, &(struct explanation){DECISION_computed_in_layout, .at = o, .values = {v}});
    }
    value_set_type(op_result(o), type_with_layout(a->m, v->type, l));
    add_copy(a, n, l, op_result(o));
    demand_operands(a, o, layout_before(o, l));
    return op_result(o);
}

/* Returns v in layout l for `user`: v itself, a rematerialized copy, or a conversion. */
static struct value *demand(struct assign *a, struct value *v, const struct layout *l, struct op *user)
{
    if (!v || !type_is_tile(v->type) || !v->scratch)
        return v;
    if (is_cheap(v))
        return recomputed(a, v, l);
    return v->type->layout == l ? v : converted(a, v, l, user);
}

static void set_layout(struct assign *a, struct value *v)
{
    if (class_of(v))
        value_set_type(v, type_with_layout(a->m, v->type, class_of(v)->layout));
}

/* `by` is a terminator or a loop. values[i] is the region argument or result that receives operand first + i
 * of `by`. Converts this operand to the layout of values[i], for i from 0 to n - 1. */
static void demand_as(struct assign *a, struct op *by, int first, struct value *const *values, int n)
{
    for (int i = 0; i < n && by->code != OP_return; i++)
        if (class_of(values[i]))
            op_set_opnd(by, first + i, demand(a, op_opnd(by, first + i), class_of(values[i])->layout, by));
}

/* Changes the layout of an op's result r to l, and builds at b a conversion of r to layout `wished`, which
 * r's users then use. */
static void convert_result(struct assign *a, struct builder *b, struct value *r, const struct layout *l,
                           const struct layout *wished)
{
    value_set_type(r, type_with_layout(a->m, r->type, l));
    if (l == wished)
        return;
    struct value *x = build_convert(b, r, wished);
    x->scratch = r->scratch;
    value_replace(r, x);
    op_set_opnd(x->def, 0, r);
}

/* Returns operand i of dot o in the place from which the dot's engine reads it: in registers, in the layout
 * that the engine requires, or in a buffer in shared memory (to_shared). `acc` is the layout of the
 * accumulator. */
static struct value *dot_operand(struct assign *a, struct op *o, int i, const struct layout *acc)
{
    struct value *v = op_opnd(o, i);
    struct class *c = class_of(v);
    const struct layout *own = c ? c->layout : plain_layout(a, v->type);
    const struct type *buffer = dot_operand_buffer(o, i, own);
    if (!buffer)
        return demand(a, v, dot_operand_layout(o, i, acc, a->rows_first), o);
    v = demand(a, v, own, o);
    struct builder b = build_before(user_in_block(v, o));
    return op_result(build_op(&b, OP_to_shared, 1, &v, 1, &buffer, 0));
}

/* Replaces the dot by an mma_start, which starts the dot asynchronously, and an mma_wait for the dot's result. */
static struct op *start_and_wait(struct op *o)
{
    struct value *r = op_result(o), *x[3];
    for (int i = 0; i < 3; i++)
        x[i] = op_opnd(o, i);
    struct builder b = build_before(o);
    struct value *under_way = op_result(build_op(&b, OP_mma_start, 3, x, 1, &x[2]->type, 0));
    struct op *wait = build_op(&b, OP_mma_wait, 1, &under_way, 1, &x[2]->type, 0);
    op_result(wait)->scratch = r->scratch;
    value_replace(r, op_result(wait));
    op_erase(o);
    value_take_name(op_result(wait), r);
    return wait;
}

/* Gives the dot's operands the layouts or buffers that the dot's engine requires. If the accumulator's class
 * has another layout than the engine requires, converts the accumulator before and after the dot. */
static void rewrite_dot(struct assign *a, struct op *o)
{
    const struct layout *wished = class_of(op_result(o))->layout, *l = dot_acc_layout(o, a->rows_first);
    for (int i = 0; i < 2; i++)
        op_set_opnd(o, i, dot_operand(a, o, i, l));
    op_set_opnd(o, 2, demand(a, op_opnd(o, 2), l, o));
    if (op_opnd(o, 1)->type->kind == TY_shared)
        o = start_and_wait(o);
    struct builder b = build_after(o);
    convert_result(a, &b, op_result(o), l, wished);
}

/* Converts the operands of a reduction to layout l. Gives the results the layout that follows from l, and
 * builds conversions of the results to the layout of their class. */
static void rewrite_reduce(struct assign *a, struct op *o, const struct layout *l)
{
    demand_operands(a, o, l);
    if (!type_is_tile(op_result(o)->type))
        return;
    const struct layout *natural = layout_after(o, l), *wished = class_of(op_result(o))->layout;
    struct builder b = build_after(o);
    for (int i = 0; i < o->nresults; i++)
        convert_result(a, &b, &o->results[i], natural, wished);
}

static void rewrite_scan(struct assign *a, struct op *o)
{
    const struct layout *l = scan_layout(o), *wished = class_of(op_result(o))->layout;
    demand_operands(a, o, l);
    struct builder b = build_after(o);
    for (int i = 0; i < o->nresults; i++)
        convert_result(a, &b, &o->results[i], l, wished);
}

/* Converts only the indices of a gather. The tile from which the gather reads stays in its own layout,
 * because the gather will read it from shared memory. */
static void rewrite_gather(struct assign *a, struct op *o)
{
    struct value *x = op_opnd(o, 0);
    op_set_opnd(o, 0, demand(a, x, class_of(x) ? class_of(x)->layout : plain_layout(a, x->type), o));
    op_set_opnd(o, 1, demand(a, op_opnd(o, 1), class_of(op_result(o))->layout, o));
}

/* Converts the operand of a split to the layout that the results need. If the results are scalars, every
 * thread must hold both elements of the operand in registers: layout_before derives such a layout from the
 * layout that plain_layout returns for a scalar. */
static void rewrite_split(struct assign *a, struct op *o)
{
    const struct value *half = &o->results[0];
    const struct layout *l = class_of(half) ? class_of(half)->layout : plain_layout(a, half->type);
    demand_operands(a, o, layout_before(o, l));
}

static void rewrite_block(struct assign *a, struct block *b);

static void rewrite_control(struct assign *a, struct op *o)
{
    struct block *first = o->nregions ? o->regions[0] : NULL,
                 *second = o->nregions > 1 ? o->regions[1] : NULL;
    if (o->code == OP_for)
        demand_as(a, o, 3, &first->args.at[1], o->nresults);
    else if (o->code == OP_while)
        demand_as(a, o, 0, first->args.at, first->args.n);
    for (int i = 0; i < o->nregions; i++)
        rewrite_block(a, o->regions[i]);
    struct value **results = NEW_ARRAY(a->arena, o->nresults, struct value *);
    for (int i = 0; i < o->nresults; i++)
        results[i] = &o->results[i];
    if (o->code == OP_while) {
        demand_as(a, first->last, 1, results, o->nresults);
        demand_as(a, second->last, 0, first->args.at, first->args.n);
        return;
    }
    for (int i = 0; i < o->nregions; i++)
        demand_as(a, o->regions[i]->last, 0, results, o->nresults);
}

static void rewrite_op(struct assign *a, struct op *o)
{
    if (o->nresults && is_cheap(op_result(o)))
        return;
    for (int i = 0; i < o->nresults; i++)
        set_layout(a, &o->results[i]);
    void **site = map_get_ptr(&a->site_of, o);
    const struct layout *l = site ? find(((struct site *)*site)->class)->layout : NULL;
    if (o->code == OP_reduce)
        rewrite_reduce(a, o, l);
    else if (o->code == OP_dot)
        rewrite_dot(a, o);
    else if (o->code == OP_scan)
        rewrite_scan(a, o);
    else if (o->code == OP_gather)
        rewrite_gather(a, o);
    else if (o->code == OP_split)
        rewrite_split(a, o);
    else if (op_info[o->code].family == FAMILY_control)
        rewrite_control(a, o);
    else if (site)
        demand_operands(a, o, l);
    else if (o->code == OP_print || o->code == OP_host_call)
        for (int i = 0; i < o->nopnds; i++) {
            struct value *v = op_opnd(o, i);
            struct class *c = class_of(v);
            op_set_opnd(o, i, demand(a, v, c ? c->layout : plain_layout(a, v->type), o));
        }
    else if (o->nresults && class_of(op_result(o)))
        demand_operands(a, o, layout_before(o, class_of(op_result(o))->layout));
}

static void rewrite_block(struct assign *a, struct block *b)
{
    for (int i = 0; i < b->args.n; i++)
        set_layout(a, b->args.at[i]);
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        rewrite_op(a, o);
    }
}

/* Gives a layout to a cheap tile for which no user has requested a layout. */
static void lay_out_rest(struct op *o, void *ctx)
{
    struct assign *a = ctx;
    if (o->nresults && is_cheap(op_result(o)) && !op_result(o)->type->layout)
        recomputed(a, op_result(o), plain_layout(a, op_result(o)->type));
}

void opt_assign_layouts(struct func *f)
{
    struct assign a = {.func = f, .m = f->module, .arena = f->module->scratch};
    map_init(&a.site_of, a.arena);
    a.axes = axis_analyse(f);
    a.rows_first = dots_are_chained(f);
    count_pair_reductions(&a.pairs, f);
    gather_block(&a, f->body);
    anchor_transposed(&a);
    /* A store of a dot's result keeps a separate layout, because `join` does not join a class that has an
     * anchor with a class of contiguous accesses. A stored tile that a loop carries may be a dot's result,
     * but its class has the dot's anchor only after gather_block has visited the whole loop. So the stores in
     * loops and branches become sites last. */
    for (int i = 0; i < a.stores.n; i++)
        add_access(&a, a.stores.at[i]);
    if (a.m->diag->nerrors)
        return;
    decide(&a);
    rewrite_block(&a, f->body);
    func_walk(f, lay_out_rest, &a);
}
