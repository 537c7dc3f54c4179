/* SPDX-License-Identifier: MIT */
/* region.c: traces functions into regions on scalars: the combine functions of reductions and scans, and the function
 * of tl.map_elementwise.
 *
 * A region must not have effects, and an assertion is an effect. region_lift_assertions therefore replaces the
 * assertions in a region by an additional value: the number of the assertion that failed, or 0. The op combines these
 * values by a maximum, and an assertion after the op checks the result:
 *
 *     reduce %x (%a, %b) {               %r, %failed = reduce %x, %zero (%a, %m, %b, %n) {
 *       assert %a_small "too large"        %code = select %a_small, 0, 1
 *       yield %sum                  =>     %worst = maxs (maxs %m, %n), %code
 *     }                                    yield %sum, %worst
 *                                        }
 *                                        assert (%failed != 1) "too large"
 *
 * The code of a scan also combines values that do not contribute to its result. If an assertion fails only
 * for such values, the failure is not reported. */
#include "frontend/trace/trace.h"

#include <string.h>

/* -- assertions as values -- */

typedef VEC(const struct op *) assertions;

/* Returns the first op in the block, or in a region of its ops, for which `holds` returns true; NULL if there is none. */
static const struct op *find(const struct block *b, bool (*holds)(const struct op *o))
{
    for (const struct op *o = b->first; o; o = o->next) {
        const struct op *found = holds(o) ? o : NULL;
        for (int i = 0; i < o->nregions && !found; i++)
            found = find(o->regions[i], holds);
        if (found)
            return found;
    }
    return NULL;
}

static bool is_assertion(const struct op *o)
{
    return o->code == OP_assert;
}

/* Returns whether a region of o contains an assertion. */
static bool has_assertion(const struct op *o)
{
    bool found = false;
    for (int i = 0; i < o->nregions; i++)
        found |= find(o->regions[i], is_assertion) != NULL;
    return found;
}

static struct value *code_of_block(struct eval *e, struct block *b, assertions *all);

/* Erases the assertion o, and adds it to `all`. Returns an IR value: the assertion's number (1 for the first) if the
 * assertion fails, else 0. */
static struct value *code_of_assertion(struct eval *e, struct op *o, assertions *all)
{
    VEC_PUSH(e->arena, all, o);
    struct builder b = build_before(o);
    struct value *none = build_const_i32(&b, 0), *code = build_const_i32(&b, all->n);
    code = build_select(&b, op_opnd(o, 0), none, code);
    if (op_opnd(o, 1))
        code = build_select(&b, op_opnd(o, 1), code, none);
    op_erase(o);
    return code;
}

/* Appends x to the operands of o, which ends a region. */
static void append_operand(struct eval *e, struct op *o, struct value *x)
{
    int n = o->nopnds;
    struct value **opnds = NEW_ARRAY(e->arena, n + 1, struct value *);
    for (int i = 0; i < n; i++)
        opnds[i] = op_opnd(o, i);
    opnds[n] = x;
    op_set_opnds(o, n + 1, opnds);
}

/* Replaces o, an `if`, by an `if` with an additional result, and returns this result. Assertions are numbered
 * from 1. The result is the highest number among the assertions that fail in the executed branch, or 0 if none
 * fails. */
static struct value *code_of_branches(struct eval *e, struct op *o, assertions *all)
{
    int n = o->nresults;
    const struct type **types = NEW_ARRAY(e->arena, n + 1, const struct type *);
    for (int i = 0; i < n; i++)
        types[i] = o->results[i].type;
    types[n] = type_scalar(e->trace->module, DT_i32);
    struct builder b = build_before(o);
    struct op *with = build_if(&b, op_opnd(o, 0), n + 1, types);
    for (int k = 0; k < 2; k++) {
        struct value *code = code_of_block(e, o->regions[k], all);
        struct builder end = build_before(o->regions[k]->last);
        code = code ? code : build_const_i32(&end, 0);
        append_operand(e, o->regions[k]->last, code);
        struct block *empty = with->regions[k];
        op_set_region(with, k, o->regions[k]);
        op_set_region(o, k, empty);
    }
    for (int i = 0; i < n; i++) {
        value_take_name(&with->results[i], &o->results[i]);
        value_replace(&o->results[i], &with->results[i]);
    }
    op_erase(o);
    return &with->results[n];
}

/* Moves region k of the loop o to `with`, which carries one value more: the highest number among the assertions
 * that have failed, or 0. */
static void move_region(struct eval *e, struct op *o, struct op *with, int k, assertions *all)
{
    struct block *from = o->regions[k], *to = with->regions[k];
    for (int i = 0; i < from->args.n; i++)
        value_replace(from->args.at[i], block_add_arg(to, from->args.at[i]->type, from->args.at[i]->name));
    struct value *worst = block_add_arg(to, type_scalar(e->trace->module, DT_i32), "failed");
    while (from->first)
        op_move_to_end(from->first, to);
    struct value *code = code_of_block(e, to, all);
    struct builder end = build_before(to->last);
    append_operand(e, to->last, code ? build_binary(&end, OP_maxs, worst, code) : worst);
}

/* Replaces o, a loop, by a loop with an additional carried value, and returns its last value: the highest number among
 * the assertions that fail in any iteration, or 0 if none fails. */
static struct value *code_of_loop(struct eval *e, struct op *o, assertions *all)
{
    int n = o->nresults;
    struct builder b = build_before(o);
    struct value **opnds = NEW_ARRAY(e->arena, o->nopnds + 1, struct value *);
    const struct type **types = NEW_ARRAY(e->arena, n + 1, const struct type *);
    for (int i = 0; i < o->nopnds; i++)
        opnds[i] = op_opnd(o, i);
    opnds[o->nopnds] = build_const_i32(&b, 0);
    for (int i = 0; i < n; i++)
        types[i] = o->results[i].type;
    types[n] = opnds[o->nopnds]->type;
    struct op *with = build_op(&b, o->code, o->nopnds + 1, opnds, n + 1, types, o->nregions);
    with->nattrs = o->nattrs;
    with->attrs = o->attrs;
    for (int k = 0; k < o->nregions; k++)
        move_region(e, o, with, k, all);
    for (int i = 0; i < n; i++) {
        value_take_name(&with->results[i], &o->results[i]);
        value_replace(&o->results[i], &with->results[i]);
    }
    op_erase(o);
    return &with->results[n];
}

/* Erases the assertions in block b. Returns an IR value: the highest number among the assertions that fail,
 * or 0 if none fails. Returns NULL if the block has no assertions. */
static struct value *code_of_block(struct eval *e, struct block *b, assertions *all)
{
    struct value *worst = NULL;
    for (struct op *next, *o = b->first; o; o = next) {
        struct value *code = NULL;
        next = o->next;
        if (o->code == OP_assert)
            code = code_of_assertion(e, o, all);
        else if (o->nregions && has_assertion(o))
            code = o->code == OP_if ? code_of_branches(e, o, all) : code_of_loop(e, o, all);
        if (!code)
            continue;
        struct builder after = build_before(next);
        worst = worst ? build_binary(&after, OP_maxs, worst, code) : code;
    }
    return worst;
}

/* Replaces the reduction or scan o by an op that has one more operand, x, one more result, and one more pair
 * of region arguments. Erases o and returns the new op. The results of o must have no uses yet. */
static struct op *with_operand(struct eval *e, struct op *o, struct value *x, struct loc at)
{
    int n = o->nopnds + 1;
    struct value **opnds = NEW_ARRAY(e->arena, n, struct value *);
    const struct type **types = NEW_ARRAY(e->arena, n, const struct type *);
    const struct type *elem = type_elem(x->type);
    for (int i = 0; i < n; i++)
        opnds[i] = i < n - 1 ? op_opnd(o, i) : x;
    for (int i = 0; i < n; i++)
        types[i] =
            i < n - 1 ? o->results[i].type : type_with_elem(e->trace->module, o->results[0].type, elem);
    struct op *with = build_op(trace_builder(e, at), o->code, n, opnds, n, types, 1);
    for (int i = 0; i < 2 * n; i++) {
        bool is_new = i % n == n - 1;
        struct value *old = is_new ? NULL : o->regions[0]->args.at[i - i / n];
        struct value *arg = block_add_arg(with->regions[0], is_new ? elem : old->type, i < n ? "a" : "b");
        if (old)
            value_replace(old, arg);
    }
    while (o->regions[0]->first)
        op_move_to_end(o->regions[0]->first, with->regions[0]);
    op_set_int(with, ATTR_axis, op_int(o, ATTR_axis));
    op_erase(o);
    return with;
}

struct op *region_lift_assertions(struct eval *e, struct op *o, struct loc at)
{
    if (!has_assertion(o))
        return o;
    assertions all = {0};
    const struct type *x = op_opnd(o, 0)->type, *i32 = type_scalar(e->trace->module, DT_i32);
    struct value *zero = build_const_bits(trace_builder(e, at), type_with_elem(e->trace->module, x, i32), 0);
    o = with_operand(e, o, zero, at);
    struct block *region = o->regions[0];
    int n = o->nopnds;
    struct value *code = code_of_block(e, region, &all);
    struct builder end = build_before(region->last);
    struct value *before = build_binary(&end, OP_maxs, region->args.at[n - 1], region->args.at[2 * n - 1]);
    append_operand(e, region->last, build_binary(&end, OP_maxs, before, code));
    struct value *failed = &o->results[n - 1];
    for (int i = 0; i < all.n; i++) {
        struct builder b = build_at_end(e->trace->block, all.at[i]->loc);
        const struct attr *text = op_attr(all.at[i], ATTR_text);
        struct value *number = build_const_int(&b, failed->type, i + 1),
                     *holds = build_cmp(&b, PRED_ne, failed, number);
        struct op *check = build_op(&b, OP_assert, 1, &holds, 0, NULL, 0);
        op_set_str(check, ATTR_text, text->s, (int)strlen(text->s));
    }
    return o;
}

/* -- tracing -- */

static bool has_other_effect(const struct op *o)
{
    return op_info[o->code].family != FAMILY_control && !is_assertion(o) && !is_pure(o);
}

static bool makes_tile(const struct op *o)
{
    for (int i = 0; i < o->nresults; i++)
        if (o->results[i].type->kind == TY_tile)
            return true;
    return false;
}

/* Calls fn on the region's arguments, and returns the result. Argument i has the type types[i % n]. */
static struct obj *run(struct eval *e, struct obj *fn, struct block *b, int n,
                       const struct lang_type *const *types, struct loc at)
{
    int nargs = b->args.n;
    struct obj **items = NEW_ARRAY(e->arena, nargs, struct obj *);
    struct loc *locs = NEW_ARRAY(e->arena, nargs, struct loc);
    for (int i = 0; i < nargs; i++) {
        items[i] = obj_tensor(e, b->args.at[i], types[i % n]);
        items[i]->tensor.is_named = true;
        locs[i] = at;
    }
    struct args args = {.n = nargs, .at = items, .locs = locs, .loc = at};
    return eval_call(e, fn, &args);
}

/* Returns a copy of the current tracing state in which new ops are appended to the region b. */
static struct trace into_region(const struct eval *e, struct block *b)
{
    struct trace inner = *e->trace;
    inner.block = b;
    inner.in_region = true;
    return inner;
}

/* Ends the region by a yield of the n values. If the region has an effect other than an assertion, or makes a tile,
 * reports an error and returns false. */
static bool end_region(struct eval *e, struct block *b, int n, struct value *const *values, struct loc at)
{
    struct builder end = build_at_end(b, trace_loc(e, at));
    build_yield(&end, n, values);
    const struct op *effect = find(b, has_other_effect), *tile = find(b, makes_tile);
    if (effect)
        diag_error(e->diag, trace_loc(e, at), ERR_combine_effects, op_info[effect->code].name);
    else if (tile)
        diag_error(e->diag, tile->loc, ERR_combine_tiles, op_info[tile->code].name);
    return !effect && !tile;
}

/* Converts r, the result of a combine function, to n IR values of the given types. Returns false after an error, which
 * it reports. */
static bool region_values(struct eval *e, struct obj *r, int n, const struct lang_type *const *types,
                          struct value **out, struct loc at)
{
    if (is_error(r))
        return false;
    struct obj *one[1] = {r};
    struct obj *const *items = r->kind == OBJ_tuple ? r->seq.at : one;
    bool ok = (r->kind == OBJ_tuple ? r->seq.n : 1) == n;
    for (int i = 0; ok && i < n; i++) {
        struct obj *x = to_tensor(e, items[i], at);
        if (is_error(x))
            return false;
        ok = x->kind == OBJ_tensor && lang_equal(x->tensor.type, types[i]);
        out[i] = ok ? x->tensor.value : NULL;
    }
    if (!ok)
        diag_error(e->diag, trace_loc(e, at), ERR_combine_types, type_text(e, r));
    return ok;
}

bool trace_region(struct eval *e, struct obj *combine, struct block *b, int n,
                  const struct lang_type *const *types, struct loc at)
{
    struct trace *outer = e->trace, inner = into_region(e, b);
    struct value **values = NEW_ARRAY(e->arena, n, struct value *);
    e->trace = &inner;
    struct obj *r = run(e, combine, b, n, types, at);
    bool ok = region_values(e, r, n, types, values, at) && end_region(e, b, n, values, at);
    e->trace = outer;
    return ok;
}

/* -- tl.map_elementwise -- */

/* Returns a tuple of the scalars in r, the result of the mapped function; NULL after an error, which it reports. */
static struct obj *mapped_values(struct eval *e, struct obj *r, struct loc at)
{
    struct obj *list = r->kind == OBJ_tuple ? obj_tuple(e, r->seq.n, r->seq.at) : obj_tuple(e, 1, &r);
    if (is_error(r))
        return NULL;
    for (int i = 0; i < list->seq.n; i++) {
        struct obj *x = list->seq.at[i] = to_tensor(e, list->seq.at[i], at);
        if (is_error(x))
            return NULL;
        if (x->kind != OBJ_tensor || rank_of(x) > 0) {
            diag_error(e->diag, trace_loc(e, at), ERR_map_result, type_text(e, x));
            return NULL;
        }
    }
    if (list->seq.n == 0)
        diag_error(e->diag, trace_loc(e, at), ERR_map_result, "nothing");
    return list->seq.n ? list : NULL;
}

/* Handles tl.map_elementwise on scalars: calls the function. */
static struct obj *mapped_scalars(struct eval *e, struct obj *fn, struct obj *const *x, int n, struct loc at)
{
    struct loc *locs = NEW_ARRAY(e->arena, n, struct loc);
    for (int i = 0; i < n; i++)
        locs[i] = at;
    struct args args = {.n = n, .at = obj_tuple(e, n, x)->seq.at, .locs = locs, .loc = at};
    struct obj *list = mapped_values(e, eval_call(e, fn, &args), at);
    return list ? list : obj_error;
}

/* Builds the op `map` around its complete region. `list` contains the region's results. */
static struct op *map_op(struct eval *e, struct obj *const *x, int n, struct block *region,
                         const struct obj *list, struct loc at)
{
    struct value **opnds = NEW_ARRAY(e->arena, n, struct value *);
    const struct type **types = NEW_ARRAY(e->arena, list->seq.n, const struct type *);
    for (int i = 0; i < n; i++)
        opnds[i] = x[i]->tensor.value;
    for (int i = 0; i < list->seq.n; i++)
        types[i] = type_with_elem(e->trace->module, opnds[0]->type, list->seq.at[i]->tensor.value->type);
    struct op *o = build_op(trace_builder(e, at), OP_map, n, opnds, list->seq.n, types, 1);
    op_set_region(o, 0, region);
    return o;
}

struct obj *trace_map(struct eval *e, struct obj *fn, struct obj *const *x, int n, struct loc at)
{
    if (rank_of(x[0]) == 0)
        return mapped_scalars(e, fn, x, n, at);
    struct block *region = block_new(e->trace->func, NULL);
    const struct lang_type **types = NEW_ARRAY(e->arena, n, const struct lang_type *);
    for (int i = 0; i < n; i++) {
        types[i] = scalar_of(x[i]);
        block_add_arg(region, type_elem(x[i]->tensor.value->type), "x");
    }
    struct trace *outer = e->trace, inner = into_region(e, region);
    e->trace = &inner;
    struct obj *list = mapped_values(e, run(e, fn, region, n, types, at), at);
    struct value **values = NEW_ARRAY(e->arena, list ? list->seq.n : 0, struct value *);
    for (int i = 0; list && i < list->seq.n; i++)
        values[i] = list->seq.at[i]->tensor.value;
    bool ok = list && end_region(e, region, list->seq.n, values, at);
    e->trace = outer;
    if (!ok)
        return obj_error;
    struct op *o = map_op(e, x, n, region, list, at);
    for (int i = 0; i < list->seq.n; i++)
        list->seq.at[i] = tensor_like(e, x[0], &o->results[i], scalar_of(list->seq.at[i]));
    return list;
}
