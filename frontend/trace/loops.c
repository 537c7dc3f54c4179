/* SPDX-License-Identifier: MIT */
/* loops.c: traces run-time loops, and finds the variables that they carry from one iteration to the next.
 *
 *     for k in range(0, K, BLOCK):        %acc.2 = for %k = %c0 to %K step %BLOCK carry(%acc.1 = %acc) {
 *         acc += tl.load(p + k)             %load = ...
 *                                           %acc.3 = add %acc.1, %load
 *                                           yield %acc.3
 *                                         }
 *
 * The loop carries the names that are bound to tensors before the loop and that its body assigns. The tracer binds
 * these names to block arguments, traces the body, and then removes the arguments that the body did not change. If the
 * body assigns to a name whose value before the loop is a constant but not a constexpr, the tracer converts the
 * constant to a tensor and traces the body a second time. */
#include "frontend/python/python.h"
#include "frontend/trace/trace.h"

/* -- the names that a body assigns -- */

struct names {
    VEC(const char *) list;
};

static bool has_name(const struct names *n, const char *name)
{
    for (int i = 0; i < n->list.n; i++)
        if (n->list.at[i] == name)
            return true;
    return false;
}

static void add_target(struct eval *e, const struct ast *target, struct names *out)
{
    if (target->kind == AST_name && !has_name(out, target->name.id))
        VEC_PUSH(e->arena, &out->list, target->name.id);
    if (target->kind == AST_tuple || target->kind == AST_list)
        for (int i = 0; i < target->tuple.items.n; i++)
            add_target(e, target->tuple.items.at[i], out);
}

/* Adds the names that node n and the nodes in it assign. */
static void collect(struct eval *e, const struct ast *n, struct names *out)
{
    if (n->kind == AST_assign)
        for (int i = 0; i < n->assign.targets.n; i++)
            add_target(e, n->assign.targets.at[i], out);
    else if (n->kind == AST_augmented)
        add_target(e, n->augmented.target, out);
    else if (n->kind == AST_annotated && n->annotated.value)
        add_target(e, n->annotated.target, out);
    else if (n->kind == AST_walrus)
        add_target(e, n->walrus.target, out);
    else if (n->kind == AST_def || n->kind == AST_lambda || n->kind == AST_class)
        return;
    struct ast_cursor at = {0};
    for (struct ast *c; (c = ast_child(n, &at));)
        collect(e, c, out);
}

/* -- one loop -- */

struct carried {
    int index;        /* the index of the name in the scope */
    struct obj *init; /* the object before the loop */
    int first, n;     /* the name's values in l->init and l->next: n values from index `first` on */
};

struct loop {
    struct scope *s;
    const struct ast *stmt;
    const struct ast_list *body;
    const char *target; /* the variable of a `for`; NULL for a `while` */
    struct snapshot before;
    /* assigned: the names that the body assigns. forced: the names that need another type before the loop */
    struct names assigned, forced;
    /* like.at[i] has the type that forced.at[i] needs; NULL: the value of this name before the loop is a
     * constant, which becomes a tensor */
    VEC(struct obj *) like;
    VEC(struct carried) carried;
    struct value_list init, next; /* values before the loop, and after an iteration */
    VEC(struct obj *) after;      /* objects after an iteration, in the order of `carried` */
};

/* Returns whether a loop can carry x: whether x is a tensor, or a tuple that contains a tensor. */
static bool can_carry(const struct obj *x)
{
    if (x->kind == OBJ_tensor)
        return true;
    bool any = false;
    if (x->kind == OBJ_tuple)
        for (int i = 0; i < x->seq.n; i++)
            any |= can_carry(x->seq.at[i]);
    return any;
}

/* Sets l->carried to the names that the loop carries, and l->init to the IR values of these names before the
 * loop. */
static void choose(struct eval *e, struct loop *l)
{
    l->carried.n = l->init.n = 0;
    for (int i = 0; i < l->s->names.n; i++) {
        const char *name = l->s->names.entries[i].key;
        struct obj *x = l->s->names.entries[i].value;
        if (!x || name == l->target || !has_name(&l->assigned, name))
            continue;
        for (int k = 0; k < l->forced.list.n; k++)
            if (l->forced.list.at[k] == name)
                x = l->like.at[k] ? widen_indices(e, x, l->like.at[k], e->trace->block, l->stmt->loc)
                                  : to_tensor(e, x, l->stmt->loc);
        if (!can_carry(x))
            continue;
        struct carried c = {.index = i, .init = x, .first = l->init.n};
        flatten(e, x, &l->init);
        c.n = l->init.n - c.first;
        VEC_PUSH(e->arena, &l->carried, c);
    }
}

/* Adds an argument to block b for each value in l->init, and binds the carried names to these arguments. */
static void enter(struct eval *e, struct loop *l, struct block *b)
{
    struct value **args = NEW_ARRAY(e->arena, l->init.n, struct value *);
    for (int k = 0; k < l->carried.n; k++) {
        const struct carried *c = &l->carried.at[k];
        struct map_entry *entry = &l->s->names.entries[c->index];
        for (int i = c->first; i < c->first + c->n; i++)
            args[i] = block_add_arg(b, l->init.at[i]->type, entry->key);
        int at = c->first;
        entry->value = unflatten(e, c->init, args, &at);
    }
}

static void report_type(struct eval *e, const struct loop *l, const char *name, const struct obj *was,
                        const struct obj *is)
{
    diag_error(e->diag, trace_loc(e, place_of_assignment(l->body, name, l->stmt->loc)), ERR_loop_type, name,
               type_text(e, was), type_text(e, is));
    diag_hint(e->diag, ERR_hint_loop_type);
}

/* Records that the name needs another type before the loop when the body is traced again: the type of `like`,
 * or, if `like` is NULL, any tensor type instead of the constant that the name has now. */
static void force(struct eval *e, struct loop *l, const char *name, struct obj *like)
{
    VEC_PUSH(e->arena, &l->forced.list, name);
    VEC_PUSH(e->arena, &l->like, like);
}

/* `old` and `now` are the objects of a carried name before and after an iteration. Returns `now`, converted
 * to the type of `old`. If the type of `old` must change instead, sets *again, because the body must be
 * traced again, and returns `old`. Returns obj_error after an error, which it reports. */
static struct obj *settle(struct eval *e, struct loop *l, const char *name, struct obj *old, struct obj *now,
                          const struct carried *c, struct block *b, bool *again)
{
    if (is_error(now) || same_type(e, old, now))
        return now;
    struct obj *met = widen_indices(e, now, old, b, l->stmt->loc);
    if (same_type(e, old, met))
        return met;
    if (types_agree(e, old, met)) {
        force(e, l, name, met);
        *again = true;
        return old;
    }
    report_type(e, l, name, c->init, now);
    return obj_error;
}

/* Handles a name that the body changed although the loop does not carry the name. `old` and `now` are its
 * objects before and after an iteration. If the body assigns to the name and `old` is a number but not a
 * constexpr, records that the number becomes a tensor, and returns true: the body must be traced again. In
 * all other cases, returns false, and reports an error if the body assigns to the name. The variable of a
 * `for` and values after errors are ignored. */
static bool changed_constant(struct eval *e, struct loop *l, const char *name, struct obj *old,
                             struct obj *now)
{
    if (is_error(now) || is_error(old) || name == l->target)
        return false;
    if (is_number(old) && !old->is_constexpr && has_name(&l->assigned, name)) {
        force(e, l, name, NULL);
        return true;
    }
    if (has_name(&l->assigned, name))
        report_type(e, l, name, old, now);
    return false;
}

/* Compares the values of all names after an iteration with `inside`, the values before the iteration.
 * Converts the value of each carried name to the type that the name had before the iteration, and reports an
 * error if that is impossible. Sets l->next and l->after. Returns true if the body must be traced again. */
static bool leave(struct eval *e, struct loop *l, struct block *b, const struct snapshot *inside)
{
    bool again = false;
    l->next.n = l->after.n = 0;
    int k = 0;
    for (int i = 0; i < l->s->names.n; i++) {
        struct map_entry *entry = &l->s->names.entries[i];
        struct obj *old = snapshot_get(inside, i), *now = entry->value;
        if (k < l->carried.n && l->carried.at[k].index == i) {
            now = settle(e, l, entry->key, old, now, &l->carried.at[k], b, &again);
            flatten(e, is_error(now) ? old : now, &l->next);
            VEC_PUSH(e->arena, &l->after, now);
            k++;
        } else if (old && now != old) {
            again |= changed_constant(e, l, entry->key, old, now);
        } else if (!old && now) {
            trace_lose(e, entry->key, l->stmt->loc, true);
        }
    }
    return again;
}

static void erase_block(struct block *b)
{
    while (b->last)
        op_erase(b->last);
}

static void run_body(struct eval *e, struct loop *l, struct block *b)
{
    struct trace *outer = e->trace, inner = *outer;
    struct obj *result = obj_none;
    inner.block = b;
    inner.in_loop = true;
    inner.pending = NULL;
    e->trace = &inner;
    if (eval_block(e, l->s, l->body, &result) == FLOW_return)
        report_return_in_loop(e, l->stmt);
    e->trace = outer;
}

/* Sets kept[i] to whether an iteration changes carried value i. If kept[i] is false, removes the block
 * argument of this value from the body b, and from the block of the `while` condition, if there is one. In b,
 * the arguments of carried values begin at index `first`. Returns the values that the body yields for the
 * remaining arguments. */
static struct value_list drop_unchanged(struct eval *e, struct loop *l, struct block *b,
                                        struct block *condition, int first, bool *kept)
{
    struct value_list yields = {0};
    for (int i = l->init.n - 1; i >= 0; i--) {
        struct value *arg = b->args.at[first + i];
        kept[i] = l->next.at[i] != arg;
        if (kept[i])
            continue;
        value_replace(arg, l->init.at[i]);
        for (int k = 0; k < l->next.n; k++)
            if (l->next.at[k] == arg)
                l->next.at[k] = l->init.at[i];
        block_drop_arg(b, first + i);
        if (!condition)
            continue;
        value_replace(condition->args.at[i], l->init.at[i]);
        block_drop_arg(condition, i);
    }
    for (int i = 0; i < l->init.n; i++)
        if (kept[i])
            VEC_PUSH(e->arena, &yields, l->next.at[i]);
    return yields;
}

/* Builds the loop op. Its operands are the nfixed values `fixed`, and then the initial values of the kept carried
 * values. */
static struct op *make_loop(struct eval *e, struct loop *l, enum opcode code, int nfixed,
                            struct value *const *fixed, const bool *kept, int nregions)
{
    struct value_list opnds = {0};
    const struct type **types = NEW_ARRAY(e->arena, l->init.n, const struct type *);
    for (int i = 0; i < nfixed; i++)
        VEC_PUSH(e->arena, &opnds, fixed[i]);
    int n = 0;
    for (int i = 0; i < l->init.n; i++)
        if (kept[i]) {
            VEC_PUSH(e->arena, &opnds, l->init.at[i]);
            types[n++] = l->init.at[i]->type;
        }
    return build_op(trace_builder(e, l->stmt->loc), code, opnds.n, opnds.at, n, types, nregions);
}

/* Binds the names after the loop: carried names to the loop's results, and all other names to their objects before the
 * loop. */
static void bind(struct eval *e, struct loop *l, struct op *o, const bool *kept)
{
    snapshot_restore(l->s, &l->before);
    struct value **values = NEW_ARRAY(e->arena, l->init.n, struct value *);
    int n = 0;
    for (int k = 0; k < l->carried.n; k++) {
        const struct carried *c = &l->carried.at[k];
        struct map_entry *entry = &l->s->names.entries[c->index];
        bool any = false;
        for (int i = c->first; i < c->first + c->n; i++) {
            any |= kept[i];
            values[i] = l->init.at[i];
            if (!kept[i])
                continue;
            values[i] = &o->results[n++];
            value_rename(values[i], entry->key);
        }
        int at = c->first;
        if (is_error(l->after.at[k]))
            entry->value = obj_error;
        else if (any)
            entry->value = unflatten(e, c->init, values, &at);
    }
}

enum flow trace_give_up(struct eval *e, struct scope *s, const struct ast *stmt)
{
    bind_targets(e, s, stmt, obj_error);
    return FLOW_next;
}

static void loop_init(struct eval *e, struct loop *l, struct scope *s, const struct ast *stmt,
                      const struct ast_list *body)
{
    *l = (struct loop){.s = s, .stmt = stmt, .body = body, .before = snapshot_take(e, s)};
    for (int i = 0; i < body->n; i++)
        collect(e, body->at[i], &l->assigned);
}

/* Discards a trace of the body and the diagnostics of this trace, before the body is traced again. */
static void start_over(struct eval *e, struct loop *l, struct block *b, int nerrors, int ndiagnostics)
{
    erase_block(b);
    e->diag->nerrors = nerrors;
    e->diag->list.n = ndiagnostics;
    snapshot_restore(l->s, &l->before);
}

/* -- for -- */

struct bounds {
    struct obj *lo, *hi, *step;
    const struct lang_type *type;
};

static bool check_bound(struct eval *e, struct obj **x, const char *which, struct loc at)
{
    *x = to_tensor(e, *x, at);
    if (is_error(*x))
        return false;
    if ((*x)->kind == OBJ_tensor && rank_of(*x) == 0 && is_int_type(scalar_of(*x)))
        return true;
    diag_error(e->diag, trace_loc(e, at), ERR_loop_bound, which, type_text(e, *x));
    return false;
}

/* Converts the bounds of a range to scalars of one type. Returns false after an error, which it reports. */
static bool find_bounds(struct eval *e, const struct loop_range *r, struct bounds *b, struct loc at)
{
    *b = (struct bounds){r->lo, r->hi, r->step, NULL};
    if (!check_bound(e, &b->lo, "start", r->lo_at) || !check_bound(e, &b->hi, "end", r->hi_at) ||
        !check_bound(e, &b->step, "step", r->step_at))
        return false;
    struct obj *constant = b->step->tensor.constant;
    if (constant && constant->kind == OBJ_int && constant->i == 0) {
        diag_error(e->diag, trace_loc(e, r->step_at), ERR_loop_step);
        return false;
    }
    b->type = common_type(e, b->lo, b->hi, false, true, at);
    const struct lang_type *t =
        b->type ? common_type(e, tensor_like(e, b->lo, NULL, b->type), b->step, false, true, at) : NULL;
    if (!t)
        return false;
    b->type = t;
    if (constant && !lang_equal(scalar_of(b->step), t))
        b->step = constant_tensor(e, constant, t, at);
    b->lo = tensor_cast(e, b->lo, t, ROUND_none, false, at);
    b->hi = tensor_cast(e, b->hi, t, ROUND_none, false, at);
    b->step = tensor_cast(e, b->step, t, ROUND_none, false, at);
    return true;
}

/* Traces the body of a `for`, again and again until no name needs another type. Returns the body's block. */
static struct block *trace_for_body(struct eval *e, struct loop *l, const struct bounds *bounds,
                                    const char *target)
{
    int nerrors = e->diag->nerrors, ndiagnostics = e->diag->list.n;
    for (;;) {
        choose(e, l);
        struct block *b = block_new(e->trace->func, NULL);
        struct value *i = block_add_arg(b, bounds->lo->tensor.value->type, target);
        enter(e, l, b);
        struct obj *x = obj_tensor(e, i, bounds->type);
        x->tensor.is_named = x->tensor.is_index = true;
        scope_set(l->s, target, x);
        struct snapshot inside = snapshot_take(e, l->s);
        run_body(e, l, b);
        if (!leave(e, l, b, &inside))
            return b;
        start_over(e, l, b, nerrors, ndiagnostics);
    }
}

static void dynamic_for(struct eval *e, struct scope *s, const struct ast *stmt, const struct loop_range *r)
{
    const char *target = stmt->for_.target->name.id;
    struct bounds bounds;
    struct loop l;
    loop_init(e, &l, s, stmt, &stmt->for_.body);
    l.target = target;
    if (!find_bounds(e, r, &bounds, stmt->for_.iter->loc)) {
        trace_give_up(e, s, stmt);
        return;
    }
    struct block *b = trace_for_body(e, &l, &bounds, target);
    bool *kept = NEW_ARRAY(e->arena, l.init.n, bool);
    struct value_list yields = drop_unchanged(e, &l, b, NULL, 1, kept);
    struct builder end = build_at_end(b, trace_loc(e, stmt->loc));
    build_yield(&end, yields.n, yields.at);
    struct value *fixed[] = {bounds.lo->tensor.value, bounds.hi->tensor.value, bounds.step->tensor.value};
    struct op *o = make_loop(e, &l, OP_for, 3, fixed, kept, 1);
    op_set_region(o, 0, b);
    op_set_int(o, ATTR_stages, r->stages);
    op_set_int(o, ATTR_unroll, r->unroll);
    bind(e, &l, o, kept);
    if (!scope_get(s, target))
        scope_set(s, target, bounds.lo);
}

static enum flow static_for(struct eval *e, struct scope *s, const struct ast *stmt,
                            const struct loop_range *r, struct obj **result)
{
    int64_t lo, hi, step;
    if (!obj_as_int(r->lo, &lo) || !obj_as_int(r->hi, &hi) || !obj_as_int(r->step, &step) || step == 0) {
        diag_error(e->diag, trace_loc(e, stmt->for_.iter->loc), ERR_static_range);
        diag_hint(e->diag, ERR_hint_static_range);
        return trace_give_up(e, s, stmt);
    }
    for (int64_t i = lo; step > 0 ? i < hi : i > hi; i += step) {
        scope_set(s, stmt->for_.target->name.id, obj_constexpr(e, obj_int(e, i)));
        if (eval_block(e, s, &stmt->for_.body, result) == FLOW_return)
            return FLOW_return;
        if (e->diag->nerrors >= DIAG_ERRORS_MOST)
            break;
    }
    return FLOW_next;
}

static const struct native_class range_class;

struct obj *loop_range_new(struct eval *e, const struct loop_range *r)
{
    struct loop_range *copy = NEW(e->arena, struct loop_range);
    *copy = *r;
    return obj_native(e, &range_class, copy);
}

static struct obj *range_item(struct eval *e, struct obj *self, int64_t i, struct loc at)
{
    const struct loop_range *r = self->native.data;
    int64_t lo, hi, step;
    (void)at;
    if (!obj_as_int(r->lo, &lo) || !obj_as_int(r->hi, &hi) || !obj_as_int(r->step, &step) || step == 0)
        return NULL;
    int64_t x = lo + i * step;
    return (step > 0 ? x < hi : x > hi) ? obj_int(e, x) : NULL;
}

static const struct native_class range_class = {.name = "range", .iter = range_item};

enum flow trace_for(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result)
{
    if (stmt->for_.orelse.n || stmt->for_.target->kind != AST_name) {
        diag_error(e->diag, trace_loc(e, stmt->loc), stmt->for_.orelse.n ? ERR_loop_else : ERR_loop_target);
        return trace_give_up(e, s, stmt);
    }
    struct obj *it = eval_expr(e, s, stmt->for_.iter);
    if (is_error(it))
        return trace_give_up(e, s, stmt);
    if (it->kind != OBJ_native || it->native.class != &range_class) {
        diag_error(e->diag, trace_loc(e, stmt->for_.iter->loc), ERR_loop_iterator, obj_type_name(it));
        diag_hint(e->diag, ERR_hint_loop_iterator);
        return trace_give_up(e, s, stmt);
    }
    const struct loop_range *r = it->native.data;
    if (r->is_static)
        return static_for(e, s, stmt, r, result);
    dynamic_for(e, s, stmt, r);
    return FLOW_next;
}

/* -- while -- */

/* Traces the condition of a `while` into a separate block, whose terminator passes the block's arguments to the body.
 * Returns false after an error, which it reports. */
static bool trace_condition(struct eval *e, struct loop *l, struct block *b)
{
    struct trace *outer = e->trace, inner = *outer;
    inner.block = b;
    inner.in_loop = true;
    inner.pending = NULL;
    e->trace = &inner;
    struct obj *x = eval_expr(e, l->s, l->stmt->while_.test);
    struct value *c = is_error(x) ? NULL : tensor_condition(e, x, l->stmt->while_.test->loc);
    if (c) {
        struct builder end = build_at_end(inner.block, trace_loc(e, l->stmt->while_.test->loc));
        build_condition(&end, c, b->args.n, b->args.at);
    }
    e->trace = outer;
    return c;
}

static bool trace_while_blocks(struct eval *e, struct loop *l, struct block **condition, struct block **body)
{
    int nerrors = e->diag->nerrors, ndiagnostics = e->diag->list.n;
    for (;;) {
        choose(e, l);
        struct block *c = block_new(e->trace->func, NULL), *b = block_new(e->trace->func, NULL);
        enter(e, l, c);
        bool ok = trace_condition(e, l, c);
        enter(e, l, b);
        struct snapshot inside = snapshot_take(e, l->s);
        run_body(e, l, b);
        bool again = leave(e, l, b, &inside);
        *condition = c;
        *body = b;
        if (!again)
            return ok;
        erase_block(c);
        start_over(e, l, b, nerrors, ndiagnostics);
    }
}

enum flow trace_while(struct eval *e, struct scope *s, const struct ast *stmt, struct obj **result)
{
    (void)result;
    if (stmt->while_.orelse.n) {
        diag_error(e->diag, trace_loc(e, stmt->loc), ERR_loop_else);
        return trace_give_up(e, s, stmt);
    }
    struct loop l;
    struct block *condition, *body;
    loop_init(e, &l, s, stmt, &stmt->while_.body);
    if (!trace_while_blocks(e, &l, &condition, &body)) {
        snapshot_restore(s, &l.before);
        return trace_give_up(e, s, stmt);
    }
    bool *kept = NEW_ARRAY(e->arena, l.init.n, bool);
    struct value_list yields = drop_unchanged(e, &l, body, condition, 0, kept);
    struct builder end = build_at_end(body, trace_loc(e, stmt->loc));
    build_yield(&end, yields.n, yields.at);
    struct op *test = block_terminator(condition);
    struct value *c = op_opnd(test, 0);
    struct loc at = test->loc;
    op_erase(test);
    end = build_at_end(condition, at);
    build_condition(&end, c, condition->args.n, condition->args.at);
    struct op *o = make_loop(e, &l, OP_while, 0, NULL, kept, 2);
    op_set_region(o, 0, condition);
    op_set_region(o, 1, body);
    bind(e, &l, o, kept);
    return FLOW_next;
}
