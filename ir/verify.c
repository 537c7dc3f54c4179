/* SPDX-License-Identifier: MIT */
/* verify.c: checks that a function is valid IR for its degree of detail. opt's driver calls func_verify before code
 * generation, and in debug builds after each pass.
 *
 * The verifier checks first the header and the launch plan, then the links between ops, blocks and regions, and
 * then each op: its operands (their definitions must dominate the op), results, attributes, types (by the
 * op's rule), and regions with their terminators. Each degree of detail has further conditions:
 *
 *     traced      no tile has a layout; no op of the families layout and async, except tensor_load and tensor_store
 *     laid_out    every tile has a layout of its shape for the function's lanes and warps
 *     scheduled   as laid_out; no convert that needs shared memory, no tensor_load, tensor_store or to_shared
 *
 * The verifier stops at the first error, and reports it with the op. */

#include "ir/ir.h"

#include <limits.h>
#include <string.h>

enum { NESTING_MOST = 120, WARPS_MOST = 32, CTAS_MOST = 16 };

struct verifier {
    const struct func *f;
    struct module *m;
    struct map order; /* maps each op of the function to its number, from 1, in order of the text */
    struct map names;
    struct map types;    /* types that were already checked */
    const struct op *at; /* the op that is being checked */
    const char *wrong;
};

PRINTF_LIKE(2, 3) static bool fail(struct verifier *v, const char *format, ...)
{
    struct text t;
    text_init(&t, v->m->arena);
    va_list args;
    va_start(args, format);
    text_vprintf(&t, format, args);
    va_end(args);
    v->wrong = t.s;
    return false;
}

static const char *type_text(struct verifier *v, const struct type *t)
{
    struct text out;
    text_init(&out, v->m->arena);
    if (t)
        type_print(t, &out, NULL);
    else
        text_str(&out, "nothing");
    return out.s;
}

/* -- types -- */

static bool check_layout(struct verifier *v, const struct type *t)
{
    const struct layout *l = t->layout;
    bool fits = l->rank == t->rank;
    for (int i = 0; fits && i < t->rank; i++)
        fits = t->shape[i] == 1 << l->dim_bits[i];
    if (!fits || !layout_is_surjective(l))
        return fail(v, "the layout of %s does not cover its shape", type_text(v, t));
    int lanes = l->nbits[IN_lane], warps = l->nbits[IN_warp], ctas = l->nbits[IN_cta],
        offset = l->nbits[IN_offset];
    if (t->kind == TY_shared && (lanes || warps || ctas || l->nbits[IN_reg]))
        return fail(v, "%s is not laid out by offsets", type_text(v, t));
    if (t->kind == TY_shared)
        return true;
    if (offset || lanes != LANE_BITS || warps != log2_floor(v->f->num_warps))
        return fail(v, "%s is not laid out over 32 lanes and %d warps", type_text(v, t), v->f->num_warps);
    if (ctas && ctas != log2_floor(v->f->num_ctas))
        return fail(v, "%s is not laid out over %d CTAs", type_text(v, t), v->f->num_ctas);
    return true;
}

static bool check_shape(struct verifier *v, const struct type *t)
{
    int64_t elems = 1;
    for (int i = 0; i < t->rank; i++) {
        if (!is_power_of_two(t->shape[i]) || t->shape[i] > (1 << COORD_BITS_MAX) / elems)
            return fail(v, "sizes of %s are not powers of two, or too large", type_text(v, t));
        elems *= t->shape[i];
    }
    return true;
}

static bool check_type(struct verifier *v, const struct type *t)
{
    if (!t)
        return fail(v, "a value has no type");
    void **seen = map_at_ptr(&v->types, t);
    if (*seen)
        return true;
    *seen = v;
    if (t->kind != TY_tile && t->kind != TY_shared)
        return true;
    if (!check_shape(v, t))
        return false;
    bool is_traced = v->f->degree == DEGREE_traced;
    if (t->kind == TY_shared ? !t->layout : is_traced == (t->layout != NULL))
        return fail(v, "%s in a function that is %s", type_text(v, t), is_traced ? "traced" : "laid out");
    return !t->layout || check_layout(v, t);
}

/* -- values -- */

static bool check_value(struct verifier *v, const struct value *x, const struct block *b,
                        const struct op *def, int index)
{
    if (!x->name || !x->name[0])
        return fail(v, "a value has no name");
    void **seen = map_at(&v->names, x->name, strlen(x->name));
    if (*seen)
        return fail(v, "two values are called %%%s", x->name);
    *seen = v;
    if (x->block != b || x->def != def || x->index != index)
        return fail(v, "%%%s has a wrong back link", x->name);
    for (const struct use *u = x->uses; u; u = u->next)
        if (u->value != x || *u->prev != u || !map_get_ptr(&v->order, u->user))
            return fail(v, "the uses of %%%s are broken", x->name);
    return check_type(v, x->type);
}

static uintptr_t order_of(const struct verifier *v, const struct op *o)
{
    void **place = map_get_ptr(&v->order, o);
    return place ? (uintptr_t)*place : 0;
}

/* Like value_dominates, but faster: compares the numbers of ops instead of walking through the block. */
static bool is_defined_before(const struct verifier *v, const struct value *x, const struct op *o)
{
    while (o && o->block != x->block)
        o = o->block->parent;
    if (!o)
        return false;
    return !x->def || (order_of(v, x->def) && order_of(v, x->def) < order_of(v, o));
}

static bool check_operands(struct verifier *v, const struct op *o)
{
    const struct op_info *info = &op_info[o->code];
    int least, most;
    arity_of(info->operands, &least, &most);
    if (o->nopnds < least || o->nopnds > most)
        return fail(v, "%s takes '%s', found %d operands", info->name, info->operands, o->nopnds);
    for (int i = 0; i < o->nopnds; i++) {
        const struct use *u = &o->opnds[i];
        if (!u->value && (i < least || most == INT_MAX))
            return fail(v, "operand %d of %s is missing", i, info->name);
        if (!u->value)
            continue;
        if (u->user != o || *u->prev != u)
            return fail(v, "the use of %%%s in %s is broken", u->value->name, info->name);
        if (!is_defined_before(v, u->value, o))
            return fail(v, "%%%s is not defined here", u->value->name);
    }
    return true;
}

static bool check_results(struct verifier *v, const struct op *o)
{
    int least, most;
    arity_of(op_info[o->code].results, &least, &most);
    if (o->nresults < least || o->nresults > most)
        return fail(v, "%s gives '%s', found %d results", op_info[o->code].name, op_info[o->code].results,
                    o->nresults);
    for (int i = 0; i < o->nresults; i++)
        if (!check_value(v, &o->results[i], o->block, o, i))
            return false;
    return true;
}

/* -- attributes and types -- */

static int count_words(enum attr_kind kind)
{
    int n = 0;
    for (const char *const *words = attr_words(kind); words && words[n];)
        n++;
    return n;
}

static bool check_attrs(struct verifier *v, const struct op *o)
{
    for (int i = 0; i < o->nattrs; i++) {
        const struct attr *a = &o->attrs[i];
        const char *word = a->key < ATTR_count ? attr_info[a->key].word : "?";
        if (a->key >= ATTR_count || !(op_info[o->code].attrs >> a->key & 1))
            return fail(v, "%s has no attribute %s", op_info[o->code].name, word);
        if (i && o->attrs[i - 1].key >= a->key)
            return fail(v, "attributes are out of order at %s", word);
        enum attr_kind kind = attr_info[a->key].kind;
        if (attr_words(kind) && (a->i < 0 || a->i >= count_words(kind)))
            return fail(v, "%s has no word with number %d", word, (int)a->i);
        if (kind == ATTRK_list && (a->n < 1 || !a->list))
            return fail(v, "%s is an empty list", word);
        if (!attr_words(kind) && kind == ATTRK_int && a->i == attr_info[a->key].dflt)
            return fail(v, "%s is present with its default value", word);
    }
    return true;
}

static bool check_rule(struct verifier *v, const struct op *o)
{
    struct arena_mark mark = arena_mark(v->m->scratch);
    const struct type **types = NEW_ARRAY(v->m->scratch, o->nresults, const struct type *);
    const char *error = op_info[o->code].rule(v->m, o, types);
    bool ok = !error || fail(v, "%s", error);
    for (int i = 0; i < o->nresults && ok; i++)
        if (types[i] && types[i] != o->results[i].type)
            ok = fail(v, "%%%s is %s, and should be %s", o->results[i].name, type_text(v, o->results[i].type),
                      type_text(v, types[i]));
    arena_reset(v->m->scratch, mark);
    return ok;
}

/* Checks that the op may occur in a function of this degree. */
static bool check_degree(struct verifier *v, const struct op *o)
{
    bool is_tensor = o->code == OP_tensor_load || o->code == OP_tensor_store;
    bool is_async = op_info[o->code].family == FAMILY_async && !is_tensor;
    if (v->f->degree == DEGREE_traced && (is_async || op_info[o->code].family == FAMILY_layout))
        return fail(v, "%s in a function that is traced", op_info[o->code].name);
    if (v->f->degree == DEGREE_scheduled && (is_tensor || o->code == OP_to_shared))
        return fail(v, "%s in a function that is scheduled", op_info[o->code].name);
    if (v->f->degree != DEGREE_scheduled || o->code != OP_convert)
        return true;
    if (layout_conversion(op_opnd(o, 0)->type->layout, op_result(o)->type->layout, op_params(o)) ==
        CONVERSION_shared)
        return fail(v, "a convert through shared memory in a function that is scheduled");
    return true;
}

/* Checks an op that names a tensor map: the map must exist, and the op must have a coordinate for each
 * dimension of the map. */
static bool check_map(struct verifier *v, const struct op *o)
{
    if (!(op_info[o->code].attrs >> ATTR_map & 1))
        return true;
    int64_t map = op_int(o, ATTR_map);
    if (map < 0 || map >= v->f->maps.n)
        return fail(v, "there is no map #m%d", (int)map);
    int least, most, rank = v->f->maps.at[map].rank;
    arity_of(op_info[o->code].operands, &least, &most);
    if (o->nopnds - least != rank)
        return fail(v, "%d coordinates for map #m%d, which has %d", o->nopnds - least, (int)map, rank);
    return true;
}

/* o is an op `ready`, with which the consumers wait until the producer has initialized the barriers. Returns
 * whether o is at a place where its role (a region of op `warps`) executes o exactly once: in the outermost
 * block of the role, or in a branch of an `if` that ends in return. */
static bool is_in_role(const struct op *o)
{
    const struct op *p = o->block->parent;
    while (p && p->code == OP_if)
        p = p->block->parent;
    return p && p->code == OP_warps &&
           (o->block->parent == p || block_terminator(o->block)->code == OP_return);
}

/* If o is a `ready`, checks its place. If o is a `warps`, checks its two roles: the first must have num_warps
 * warps, the second extra_warps. */
static bool check_roles(struct verifier *v, const struct op *o)
{
    if (o->code == OP_ready && !is_in_role(o))
        return fail(v, "ready is outside of every role");
    if (o->code != OP_warps)
        return true;
    const struct attr *a = op_attr(o, ATTR_warps);
    if (!a || a->n != 2 || a->list[0] != v->f->num_warps || a->list[1] != v->f->extra_warps)
        return fail(v, "the roles' warps differ from the kernel's %d and %d", v->f->num_warps,
                    v->f->extra_warps);
    return true;
}

/* At stagger_wait, a warpgroup waits for the stagger_arrive of the previous warpgroup. Returns whether o may
 * be between a warpgroup's own stagger_wait and stagger_arrive, because o never waits for another warpgroup.
 * An mbar_wait is allowed, because it waits only for a copy by the producer warp. For this copy, the producer
 * never waits for a buffer stage that another warpgroup releases only after that warpgroup's stagger_wait:
 * overlap_dots delays a release only if the buffer has a spare stage. */
static bool synchronizes_nothing(const struct op *o)
{
    return is_pure(o) || o->code == OP_mma_start || o->code == OP_mma_wait || o->code == OP_mbar_arrive ||
           o->code == OP_mbar_wait;
}

/* Returns whether o is in the first role (the consumers), or in a function without roles. */
static bool is_fed_here(const struct op *o)
{
    const struct op *p = o->block->parent;
    while (p && p->code != OP_warps)
        p = p->block->parent;
    return !p || block_is_inside(o->block, p->regions[0]);
}

/* Checks that no other synchronization lies between stagger_wait and stagger_arrive. Another synchronization
 * could deadlock: this warpgroup would wait for the next warpgroup, which waits at its stagger_wait for this
 * warpgroup's stagger_arrive. Also checks that stagger_arrive and stagger_end follow stagger_wait in the same
 * block, that the ops are not in the producer role, and the number of warpgroups. */
static bool check_stagger(struct verifier *v, const struct op *o)
{
    if (o->code != OP_stagger_wait && o->code != OP_stagger_arrive && o->code != OP_stagger_end)
        return true;
    int groups = v->f->num_warps / WARPGROUP_WARPS;
    if (groups < 2 || groups > STAGGER_GROUPS_MOST)
        return fail(v, "%s for %d warpgroups, expected 2 to %d", op_info[o->code].name, groups,
                    STAGGER_GROUPS_MOST);
    if (!is_fed_here(o))
        return fail(v, "%s in the producer role, which has no warpgroups", op_info[o->code].name);
    if (o->code != OP_stagger_wait)
        return true;
    const struct op *next = o->next;
    while (next && synchronizes_nothing(next))
        next = next->next;
    if (!next || next->code != OP_stagger_arrive)
        return fail(v, "%s is between stagger_wait and stagger_arrive",
                    next ? op_info[next->code].name : "the end of the block");
    while (next && next->code != OP_stagger_end)
        next = next->next;
    return next ? true : fail(v, "no stagger_end follows stagger_arrive");
}

/* -- regions -- */

/* A list of n types: depending on `what`, the types of o's operands from operand `first` on, the types of o's
 * results, or the element types of o's operands or results. */
struct type_list {
    const struct op *o;
    enum { OF_operands, OF_results, OF_elements, OF_result_elements } what;
    int first, n;
};

static const struct type *type_at(const struct type_list *list, int i)
{
    if (list->what == OF_results)
        return list->o->results[i].type;
    if (list->what == OF_result_elements)
        return type_elem(list->o->results[i].type);
    /* The region of a reduction has two lists of arguments, a1..an and b1..bn; the region of a map has one list.
     * Argument i has the element type of operand i mod n. */
    if (list->what == OF_elements)
        return type_elem(op_opnd(list->o, i % list->o->nopnds)->type);
    return op_opnd(list->o, list->first + i)->type;
}

/* Sets *args to the types of the arguments of region i of o (except a loop's counter), and *yields to the types of
 * the values that the region's terminator yields. */
static void region_form(const struct op *o, int i, struct type_list *args, struct type_list *yields)
{
    struct type_list results = {o, OF_results, 0, o->nresults};
    switch (o->code) {
    case OP_for: *args = *yields = (struct type_list){o, OF_operands, 3, o->nopnds - 3}; break;
    case OP_while:
        *args = *yields = (struct type_list){o, OF_operands, 0, o->nopnds};
        *(i == 0 ? yields : args) = results;
        break;
    case OP_if:
        *args = (struct type_list){o, OF_results, 0, 0};
        *yields = results;
        break;
    case OP_map:
        *args = (struct type_list){o, OF_elements, 0, o->nopnds};
        *yields = (struct type_list){o, OF_result_elements, 0, o->nresults};
        break;
    default:
        *args = (struct type_list){o, OF_elements, 0, 2 * o->nopnds};
        *yields = (struct type_list){o, OF_elements, 0, o->nopnds};
        break;
    }
}

static bool check_args(struct verifier *v, const struct block *b, const struct op *o,
                       const struct type_list *types)
{
    int first = o->code == OP_for;
    if (b->args.n != first + types->n)
        return fail(v, "the region of %s has %d arguments, expected %d", op_info[o->code].name, b->args.n,
                    first + types->n);
    for (int i = 0; i < b->args.n; i++) {
        const struct type *t = i < first ? op_opnd(o, 0)->type : type_at(types, i - first);
        if (b->args.at[i]->type != t)
            return fail(v, "%%%s is %s, expected %s", b->args.at[i]->name, type_text(v, b->args.at[i]->type),
                        type_text(v, t));
    }
    return true;
}

static bool is_in_loop(const struct op *o)
{
    for (; o; o = o->block->parent)
        if (o->code != OP_if && o->code != OP_warps)
            return true;
    return false;
}

static bool check_terminator(struct verifier *v, const struct block *b, int region,
                             const struct type_list *yields)
{
    const struct op *o = b->parent, *end = block_terminator(b);
    v->at = end ? end : o;
    if (!end)
        return fail(v, "a block of %s has no terminator", op_info[o->code].name);
    if (end->code == OP_return && o->code == OP_if && !is_in_loop(o))
        return true;
    bool is_condition = o->code == OP_while && region == 0;
    if (end->code != (is_condition ? OP_condition : OP_yield))
        return fail(v, "a region of %s ends in %s", op_info[o->code].name, op_info[end->code].name);
    int first = is_condition ? 1 : 0;
    if (end->nopnds - first != yields->n)
        return fail(v, "%s yields %d values, expected %d", op_info[end->code].name, end->nopnds - first,
                    yields->n);
    for (int i = 0; i < yields->n; i++) {
        const struct value *x = op_opnd(end, first + i);
        if (x->type != type_at(yields, i))
            return fail(v, "%%%s is %s, expected %s", x->name, type_text(v, x->type),
                        type_text(v, type_at(yields, i)));
    }
    return true;
}

static bool check_block(struct verifier *v, const struct block *b);

static bool check_regions(struct verifier *v, const struct op *o)
{
    for (int i = 0; i < o->nregions; i++) {
        struct type_list args, yields;
        region_form(o, i, &args, &yields);
        v->at = o;
        if (!check_args(v, o->regions[i], o, &args) || !check_block(v, o->regions[i]) ||
            !check_terminator(v, o->regions[i], i, &yields))
            return false;
    }
    return true;
}

/* -- blocks -- */

static bool check_op(struct verifier *v, const struct op *o)
{
    v->at = o;
    if (op_has(o, TERMINATOR) && o->next)
        return fail(v, "%s is not at the end of its block", op_info[o->code].name);
    return check_operands(v, o) && check_results(v, o) && check_attrs(v, o) && check_rule(v, o) &&
           check_degree(v, o) && check_map(v, o) && check_roles(v, o) && check_stagger(v, o) &&
           check_regions(v, o);
}

static bool check_block(struct verifier *v, const struct block *b)
{
    v->at = b->parent;
    for (int i = 0; i < b->args.n; i++)
        if (!check_value(v, b->args.at[i], b, NULL, i))
            return false;
    for (const struct op *o = b->first; o; o = o->next)
        if (!check_op(v, o))
            return false;
    return true;
}

/* Numbers the ops, and checks the links between ops, blocks and regions, on which all other checks rely. */
static bool number_ops(struct verifier *v, const struct block *b, const struct op *parent, int depth)
{
    v->at = parent;
    if (b->func != v->f || b->parent != parent)
        return fail(v, "a block has a wrong back link");
    if (depth > NESTING_MOST)
        return fail(v, "regions nested more than %d deep", NESTING_MOST);
    const struct op *last = NULL;
    for (const struct op *o = b->first; o; last = o, o = o->next) {
        v->at = o;
        if (o->block != b || o->prev != last || (unsigned)o->code >= OP_count ||
            o->nregions != op_info[o->code].nregions)
            return fail(v, "an op has a wrong back link");
        void **number = map_at_ptr(&v->order, o);
        *number = (void *)(uintptr_t)v->order.n;
        for (int i = 0; i < o->nregions; i++)
            if (!number_ops(v, o->regions[i], o, depth + 1))
                return false;
    }
    return b->last == last || fail(v, "a block has a wrong last op");
}

static bool check_header(struct verifier *v)
{
    const struct func *f = v->f;
    if (!is_power_of_two(f->num_warps) || f->num_warps > WARPS_MOST)
        return fail(v, "%d warps", f->num_warps);
    if (!is_power_of_two(f->num_ctas) || f->num_ctas > CTAS_MOST)
        return fail(v, "%d CTAs", f->num_ctas);
    if (f->extra_warps < 0 || f->extra_warps > WARPS_MOST)
        return fail(v, "%d extra warps", f->extra_warps);
    if (f->params.n != f->body->args.n)
        return fail(v, "%d parameters, %d arguments", f->params.n, f->body->args.n);
    for (int i = 0; i < f->params.n; i++)
        if (f->body->args.at[i]->type->rank)
            return fail(v, "parameter %s is a tile", f->params.at[i].name);
    return true;
}

/* Returns whether the evaluation of the postfix expression e leaves exactly one value. */
static bool is_whole(const struct expr *e)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        n += e->at[i].code <= EXPR_grid ? 1 : -1;
        if (n < 1)
            return false;
    }
    return n == 1;
}

static bool check_plan(struct verifier *v)
{
    const struct func *f = v->f;
    if (f->maps.n > MAPS_MOST)
        return fail(v, "%d tensor maps, of %d that a launch can make", f->maps.n, MAPS_MOST);
    for (int i = 0; i < f->guards.n; i++)
        if (!is_whole(&f->guards.at[i]))
            return fail(v, "guard %d is not an expression", i);
    for (int i = 0; i < f->maps.n; i++) {
        const struct tensor_map *m = &f->maps.at[i];
        if (m->swizzle != 0 && m->swizzle != 32 && m->swizzle != 64 && m->swizzle != 128)
            return fail(v, "map #m%d is swizzled by %d bytes", i, m->swizzle);
        bool whole = is_whole(&m->base);
        for (int d = 0; d < m->rank; d++) {
            whole = whole && is_whole(&m->extents[d]) && is_whole(&m->strides[d]);
            if (m->box[d] < 1)
                return fail(v, "map #m%d has a box of %d", i, m->box[d]);
        }
        if (!whole)
            return fail(v, "map #m%d lacks an expression", i);
    }
    return true;
}

static bool check_body_end(struct verifier *v)
{
    const struct op *end = block_terminator(v->f->body);
    v->at = v->f->body->last;
    return (end && end->code == OP_return) || fail(v, "the kernel does not end in return");
}

const char *func_verify(const struct func *f, const struct op **at)
{
    struct module *m = f->module;
    struct arena_mark mark = arena_mark(m->scratch);
    struct verifier v = {.f = f, .m = m};
    map_init(&v.order, m->scratch);
    map_init(&v.names, m->scratch);
    map_init(&v.types, m->scratch);
    bool ok = check_header(&v) && check_plan(&v) && number_ops(&v, f->body, NULL, 0) &&
              check_block(&v, f->body) && check_body_end(&v);
    arena_reset(m->scratch, mark);
    *at = ok ? NULL : v.at;
    return ok ? NULL : v.wrong;
}
