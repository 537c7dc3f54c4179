/* SPDX-License-Identifier: MIT */
/* merge_values.c: merges the values of names after a run-time `if`, and traces a `return` inside an `if`.
 *
 *     if c:                       %x.1 = if %c {        a name that a branch changes becomes a result;
 *         x = x + 1                 %x.2 = add ...      both branches must give it one type
 *                                   yield %x.2
 *                                 } else { yield %x }
 *
 * In a kernel, a `return` in a branch becomes the op `return` at the end of the region. In an inlined function, that op
 * would end the kernel, so the tracer instead appends the code after the `if` to the branch that did not return. This
 * branch stays open (a `struct pending`) until the function ends. Then both branches yield the function's result:
 *
 *     if c: return a              %r = if %c { yield %a } else { ...rest...; yield %b }
 *     ...rest...
 *     return b
 *
 * If such an `if` is inside another `if`, a branch of the outer `if` may return on some paths only. The outer
 * `if` then yields a flag (whether the function has returned) and the returned value. The code after the
 * outer `if` is executed only if the flag is false. */
#include "frontend/trace/trace.h"

struct pending {
    struct pending *outer;
    struct value *cond;
    struct block *parent;    /* the block to which the `if` will be appended */
    struct block *blocks[2]; /* the branches of the `if`, which no op contains yet */
    int open;                /* the index of the branch into which the code after the `if` is traced */
    struct obj *returned;    /* the other branch's return value */
    struct snapshot before;
    struct loc loc;
};

/* -- snapshots of a scope; its entries are never removed, so the index of an entry identifies a name -- */

struct snapshot snapshot_take(struct eval *e, const struct scope *s)
{
    struct snapshot snap = {.n = s->names.n, .values = NEW_ARRAY(e->arena, s->names.n, struct obj *)};
    for (int i = 0; i < snap.n; i++)
        snap.values[i] = s->names.entries[i].value;
    return snap;
}

void snapshot_restore(struct scope *s, const struct snapshot *snap)
{
    for (int i = 0; i < s->names.n; i++)
        s->names.entries[i].value = i < snap->n ? snap->values[i] : NULL;
}

struct obj *snapshot_get(const struct snapshot *snap, int i)
{
    return i < snap->n ? snap->values[i] : NULL;
}

/* -- objects as IR values -- */

void flatten(struct eval *e, const struct obj *x, struct value_list *out)
{
    if (x->kind == OBJ_tensor)
        VEC_PUSH(e->arena, out, x->tensor.value);
    else if (x->kind == OBJ_tuple)
        for (int i = 0; i < x->seq.n; i++)
            flatten(e, x->seq.at[i], out);
}

struct obj *unflatten(struct eval *e, struct obj *like, struct value *const *values, int *at)
{
    if (like->kind == OBJ_tensor) {
        struct obj *x = obj_tensor(e, values[(*at)++], like->tensor.type);
        x->tensor.is_named = true;
        return x;
    }
    if (like->kind != OBJ_tuple)
        return like;
    struct obj **items = NEW_ARRAY(e->arena, like->seq.n, struct obj *);
    for (int i = 0; i < like->seq.n; i++)
        items[i] = unflatten(e, like->seq.at[i], values, at);
    return obj_tuple_like(e, like, items);
}

static bool compare_types(struct eval *e, const struct obj *a, const struct obj *b, bool exactly)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == OBJ_tensor)
        return lang_equal(a->tensor.type, b->tensor.type);
    if (a->kind != OBJ_tuple)
        return obj_equal(e, a, b);
    bool same = a->seq.n == b->seq.n && a->class_of == b->class_of;
    if (same && !exactly && is_box(a))
        return box_agrees(e, a, b);
    for (int i = 0; same && i < a->seq.n; i++)
        same = compare_types(e, a->seq.at[i], b->seq.at[i], exactly);
    return same;
}

bool same_type(struct eval *e, const struct obj *a, const struct obj *b)
{
    return compare_types(e, a, b, true);
}

bool types_agree(struct eval *e, const struct obj *a, const struct obj *b)
{
    return compare_types(e, a, b, false);
}

static struct obj *widen_here(struct eval *e, struct obj *x, struct obj *with, struct loc at)
{
    if (x->kind != OBJ_tuple || !types_agree(e, x, with) || same_type(e, x, with))
        return x;
    if (is_box(x))
        return box_widen(e, x, with, at);
    struct obj **items = NEW_ARRAY(e->arena, x->seq.n, struct obj *);
    for (int i = 0; i < x->seq.n; i++)
        items[i] = widen_here(e, x->seq.at[i], with->seq.at[i], at);
    return obj_tuple_like(e, x, items);
}

struct obj *widen_indices(struct eval *e, struct obj *x, struct obj *with, struct block *b, struct loc at)
{
    struct block *here = e->trace->block;
    e->trace->block = b;
    x = widen_here(e, x, with, at);
    e->trace->block = here;
    return x;
}

/* x[0] and x[1] are the values of two branches. If types_agree(x[0], x[1]), converts both to one type. */
static void widen_both(struct eval *e, struct obj **x, struct block *const *blocks, struct loc at)
{
    struct obj *first = x[0];
    x[0] = widen_indices(e, x[0], x[1], blocks[0], at);
    x[1] = widen_indices(e, x[1], first, blocks[1], at);
}

const char *type_text(struct eval *e, const struct obj *x)
{
    struct text out;
    text_init(&out, e->arena);
    if (x->kind == OBJ_tensor) {
        lang_print(x->tensor.type, &out);
    } else if (x->kind == OBJ_tuple) {
        for (int i = 0; i < x->seq.n; i++)
            text_printf(&out, "%s%s%s", i ? ", " : obj_type_name(x), i ? "" : "(",
                        type_text(e, x->seq.at[i]));
        text_str(&out, x->seq.n ? ")" : "tuple()");
    } else if (x->kind == OBJ_none) {
        text_str(&out, "None");
    } else if (is_number(x)) {
        struct obj copy = *x;
        obj_print(e, &copy, &out, true);
    } else {
        text_str(&out, obj_type_name(x));
    }
    return out.s;
}

/* -- building the op -- */

/* Builds an `if` with the two blocks as its branches. Ends branch i by a yield of values[i], unless the
 * branch already ends in a `return`. */
static struct op *finish_if(struct eval *e, struct value *cond, struct block *const *blocks,
                            const struct value_list *values, struct loc at)
{
    int n = values[0].n > values[1].n ? values[0].n : values[1].n;
    const struct value_list *full = &values[values[1].n == n];
    const struct type **types = NEW_ARRAY(e->arena, n, const struct type *);
    for (int i = 0; i < n; i++)
        types[i] = full->at[i]->type;
    struct op *o = build_if(trace_builder(e, at), cond, n, types);
    for (int i = 0; i < 2; i++) {
        if (!block_terminator(blocks[i])) {
            struct builder b = build_at_end(blocks[i], trace_loc(e, at));
            build_yield(&b, values[i].n, values[i].at);
        }
        op_set_region(o, i, blocks[i]);
    }
    return o;
}

static struct value *bool_value(struct eval *e, bool x, struct loc at)
{
    return build_const_int(trace_builder(e, at), type_scalar(e->trace->module, DT_i1), x);
}

/* Returns zeros of x's type. A path that has no value for x, but must yield one, yields these zeros. */
static struct obj *placeholder(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind == OBJ_tensor)
        return obj_tensor(e, zero_value(e, x->tensor.type, at), x->tensor.type);
    if (x->kind != OBJ_tuple)
        return x;
    struct obj **items = NEW_ARRAY(e->arena, x->seq.n, struct obj *);
    for (int i = 0; i < x->seq.n; i++)
        items[i] = placeholder(e, x->seq.at[i], at);
    return obj_tuple_like(e, x, items);
}

/* -- returned values -- */

/* Converts x to a tensor. Appends the ops to block b. */
static struct obj *as_result(struct eval *e, struct obj *x, struct block *b, struct loc at)
{
    struct block *here = e->trace->block;
    e->trace->block = b;
    x = to_tensor(e, x, at);
    e->trace->block = here;
    return x;
}

/* x[0] and x[1] are the values that two branches return. Converts both to one type. If a branch does not
 * return, or returns without a value, its x[i] is None; a placeholder replaces None. Returns false after an
 * error, which it reports. */
static bool unify(struct eval *e, struct obj **x, struct block *const *blocks, struct loc at)
{
    if (is_error(x[0]) || is_error(x[1]))
        return false;
    if (!trace_is_tensor(x[0]) && !trace_is_tensor(x[1]) && obj_equal(e, x[0], x[1]))
        return true;
    for (int i = 0; i < 2; i++)
        x[i] = as_result(e, x[i], blocks[i], at);
    if (is_error(x[0]) || is_error(x[1]))
        return false;
    for (int i = 0; i < 2; i++) {
        if (x[i]->kind != OBJ_none)
            continue;
        struct block *here = e->trace->block;
        e->trace->block = blocks[i];
        x[i] = placeholder(e, x[!i], at);
        e->trace->block = here;
    }
    widen_both(e, x, blocks, at);
    if (same_type(e, x[0], x[1]))
        return true;
    diag_error(e->diag, trace_loc(e, at), ERR_return_types, type_text(e, x[0]), type_text(e, x[1]));
    return false;
}

/* Builds an `if` whose branches both return from an inlined function. The `if` yields the returned value, x[0] or
 * x[1]. */
static struct obj *return_both(struct eval *e, struct value *cond, struct block *const *blocks,
                               struct obj **x, struct loc at)
{
    struct value_list values[2] = {{0}};
    if (!unify(e, x, blocks, at))
        return obj_error;
    for (int i = 0; i < 2; i++)
        flatten(e, x[i], &values[i]);
    struct op *o = finish_if(e, cond, blocks, values, at);
    struct value **results = NEW_ARRAY(e->arena, o->nresults, struct value *);
    for (int i = 0; i < o->nresults; i++)
        results[i] = &o->results[i];
    int first = 0;
    struct obj *r = unflatten(e, x[0], results, &first);
    if (r->kind == OBJ_tensor)
        r->tensor.is_named = false;
    return r;
}

struct obj *merge_returns(struct eval *e, struct obj *result)
{
    for (struct pending *p; (p = e->trace->pending);) {
        struct obj *x[2];
        x[p->open] = result;
        x[!p->open] = p->returned;
        e->trace->block = p->parent;
        e->trace->pending = p->outer;
        result = return_both(e, p->cond, p->blocks, x, p->loc);
    }
    return result;
}

/* -- branches -- */

struct branch {
    struct block *block;
    const struct ast_list *body;
    struct snapshot after;
    bool goes_on;         /* at least one path does not return */
    struct obj *returned; /* the value returned on the paths that return; NULL if no path returns */
    /* an i1 that is true on the paths that return; NULL if all paths return or no path does */
    struct value *flag;
};

static bool in_kernel(const struct eval *e)
{
    return !e->trace->frame->outer;
}

static const struct ast *find_return(const struct ast *n)
{
    if (n->kind == AST_return || n->kind == AST_def || n->kind == AST_lambda)
        return n->kind == AST_return ? n : NULL;
    const struct ast *found = NULL;
    struct ast_cursor at = {0};
    for (struct ast *c; !found && (c = ast_child(n, &at));)
        found = find_return(c);
    return found;
}

static bool assigns(const struct ast *target, const char *name)
{
    if (target->kind == AST_tuple || target->kind == AST_list)
        for (int i = 0; i < target->tuple.items.n; i++)
            if (assigns(target->tuple.items.at[i], name))
                return true;
    return target->kind == AST_name && target->name.id == name;
}

static const struct ast *find_assignment(const struct ast *n, const char *name)
{
    const struct ast *target = n->kind == AST_augmented                       ? n->augmented.target
                               : n->kind == AST_annotated                     ? n->annotated.target
                               : n->kind == AST_walrus                        ? n->walrus.target
                               : n->kind == AST_assign && n->assign.targets.n ? n->assign.targets.at[0]
                                                                              : NULL;
    const struct ast *found = target && assigns(target, name) ? n : NULL;
    struct ast_cursor at = {0};
    for (struct ast *c; (c = ast_child(n, &at));) {
        const struct ast *later = find_assignment(c, name);
        found = later ? later : found;
    }
    return found;
}

struct loc place_of_assignment(const struct ast_list *body, const char *name, struct loc otherwise)
{
    for (int i = body->n - 1; i >= 0; i--) {
        const struct ast *found = find_assignment(body->at[i], name);
        if (found)
            return found->loc;
    }
    return otherwise;
}

void report_return_in_loop(struct eval *e, const struct ast *stmt)
{
    const struct ast *r = find_return(stmt);
    diag_error(e->diag, trace_loc(e, r ? r->loc : stmt->loc), ERR_return_in_loop);
    diag_hint(e->diag, ERR_hint_return_in_loop);
}

/* x[0] and x[1] are the values of a name after the two branches, and `old` is its value before the `if`; a
 * value is NULL if the name does not exist there. Converts x[0] and x[1] to one type, and returns an object
 * of this type. Returns NULL if the name does not exist after the `if`. Returns `old` unchanged if it is
 * neither a number, a tensor nor a tuple. Returns obj_error after an error, which it reports. */
static struct obj *merge_name(struct eval *e, const char *name, struct obj *old, struct obj **x,
                              const struct branch *br, struct loc at)
{
    struct loc places[2];
    for (int i = 0; i < 2; i++)
        places[i] = br[i].body ? place_of_assignment(br[i].body, name, at) : at;
    if ((x[0] && is_error(x[0])) || (x[1] && is_error(x[1])))
        return obj_error;
    struct block *blocks[2] = {br[0].block, br[1].block};
    if (x[0] && x[1])
        widen_both(e, x, blocks, at);
    if (!old) {
        if (!x[0] || !x[1]) {
            trace_lose(e, name, at, false);
            return NULL;
        }
        if (!trace_is_tensor(x[0]) && !trace_is_tensor(x[1]))
            return x[0]->kind == OBJ_none && x[1]->kind == OBJ_none ? x[0] : NULL;
        if (same_type(e, x[0], x[1]))
            return x[0];
        diag_error(e->diag, trace_loc(e, places[1]), ERR_branch_types, name, type_text(e, x[0]),
                   type_text(e, x[1]));
        diag_note(e->diag, trace_loc(e, places[0]), ERR_note_type_here, name, type_text(e, x[0]));
        return obj_error;
    }
    if (!is_number(old) && !trace_is_tensor(old) && old->kind != OBJ_tuple)
        return old;
    struct obj *was = old;
    if (is_number(old) && !old->is_constexpr) {
        was = as_result(e, old, br[0].block, at);
        for (int i = 0; i < 2; i++)
            x[i] = as_result(e, x[i], br[i].block, at);
    }
    for (int i = 0; i < 2; i++)
        if (!types_agree(e, was, x[i])) {
            diag_error(e->diag, trace_loc(e, places[i]), ERR_if_type, name, type_text(e, old),
                       i ? "else" : "then", type_text(e, x[i]));
            return obj_error;
        }
    return x[0];
}

/* If all paths of branch i return, the branch has no value for a name after the `if`. In an inlined function,
 * the branch must still yield a value. So this function sets x[i] to a placeholder with the type of x[!i],
 * the name's value in the other branch. */
static void add_placeholder(struct eval *e, const struct branch *br, struct obj **x, struct loc at)
{
    for (int i = 0; i < 2; i++) {
        if (br[i].goes_on || !x[!i] || in_kernel(e))
            continue;
        struct block *here = e->trace->block;
        e->trace->block = br[i].block;
        x[i] = placeholder(e, x[!i], at);
        e->trace->block = here;
    }
}

/* The names that get a value from the `if`. index[k] is the index of name k in the scope's map; like[k] is an
 * object of the value's type. */
struct merged {
    VEC(int) index;
    VEC(struct obj *) like;
};

/* Merges the values of all names of scope s after the branches br[0] and br[1]. Appends to *out the names
 * that get a value from the `if`. For each branch k, appends to values[k] the values that the branch must
 * yield for these names. */
static void merge_names(struct eval *e, struct scope *s, const struct snapshot *before,
                        const struct branch *br, struct value_list *values, struct merged *out, struct loc at)
{
    for (int i = 0; i < s->names.n; i++) {
        struct obj *old = snapshot_get(before, i), *x[2];
        for (int k = 0; k < 2; k++)
            x[k] = snapshot_get(&br[br[k].goes_on ? k : !k].after, i);
        struct obj *now = x[0];
        if (x[0] != x[1] || x[0] != old) {
            now = merge_name(e, s->names.entries[i].key, old, x, br, at);
            if (now && trace_is_tensor(now)) {
                add_placeholder(e, br, x, at);
                for (int k = 0; k < 2; k++)
                    if (br[k].goes_on || !in_kernel(e))
                        flatten(e, x[k], &values[k]);
                VEC_PUSH(e->arena, &out->index, i);
                VEC_PUSH(e->arena, &out->like, now);
            }
        }
        s->names.entries[i].value = now;
    }
}

/* Binds the names of j to their values after the `if`. These values are the results of op o from index
 * `first` on. */
static void bind_results(struct eval *e, struct scope *s, const struct merged *j, struct op *o, int first)
{
    struct value **results = NEW_ARRAY(e->arena, o->nresults, struct value *);
    for (int i = 0; i < o->nresults; i++)
        results[i] = &o->results[i];
    for (int k = 0; k < j->index.n; k++) {
        struct map_entry *entry = &s->names.entries[j->index.at[k]];
        int start = first;
        entry->value = unflatten(e, j->like.at[k], results, &first);
        for (; start < first; start++)
            value_rename(results[start], entry->key);
    }
}

/* -- branches in which only some paths return -- */

/* Leaves an `if` open: the code after the `if` is traced into branch number `open`. */
static void push_pending(struct eval *e, struct scope *s, struct value *cond, struct block *const *blocks,
                         int open, struct obj *returned, struct loc at)
{
    struct pending *p = NEW(e->arena, struct pending);
    *p = (struct pending){e->trace->pending,   cond, e->trace->block, {blocks[0], blocks[1]}, open, returned,
                          snapshot_take(e, s), at};
    e->trace->pending = p;
    e->trace->block = blocks[open];
}

/* Builds an `if` in which some paths return and others do not. The `if` yields the flag, the returned value,
 * and the values of names. Sets *returned to the returned value after the `if`. */
static struct op *flagged_if(struct eval *e, struct scope *s, struct value *cond,
                             const struct snapshot *before, struct branch *br, struct obj **returned,
                             struct loc at)
{
    struct block *blocks[2] = {br[0].block, br[1].block}, *here = e->trace->block;
    struct value_list values[2] = {{0}};
    struct obj *x[2];
    for (int i = 0; i < 2; i++) {
        e->trace->block = blocks[i];
        x[i] = br[i].returned ? br[i].returned : obj_none;
        struct value *flag = br[i].flag ? br[i].flag : bool_value(e, !br[i].goes_on, at);
        VEC_PUSH(e->arena, &values[i], flag);
    }
    e->trace->block = here;
    if (!unify(e, x, blocks, at))
        x[0] = x[1] = obj_none;
    for (int i = 0; i < 2; i++)
        flatten(e, x[i], &values[i]);
    int nreturned = values[0].n - 1;
    struct merged j = {0};
    merge_names(e, s, before, br, values, &j, at);
    struct op *o = finish_if(e, cond, blocks, values, at);
    struct value **results = NEW_ARRAY(e->arena, o->nresults, struct value *);
    for (int i = 0; i < o->nresults; i++)
        results[i] = &o->results[i];
    int first = 1;
    *returned = unflatten(e, x[0], results, &first);
    bind_results(e, s, &j, o, 1 + nreturned);
    return o;
}

/* Closes each `if` that is open in a branch. The caller has traced the branch to its end, and some paths in
 * it do not return. Each closed `if` yields a flag. Sets out->flag and out->returned to results of the
 * outermost closed `if`. */
static void close_pending(struct eval *e, struct scope *s, struct branch *out)
{
    for (struct pending *p; (p = e->trace->pending);) {
        struct branch br[2] = {{0}};
        for (int i = 0; i < 2; i++)
            br[i] =
                (struct branch){.block = p->blocks[i], .after = snapshot_take(e, s), .goes_on = i == p->open};
        br[p->open].flag = out->flag;
        br[p->open].returned = out->returned;
        br[!p->open].returned = p->returned;
        e->trace->block = p->parent;
        e->trace->pending = p->outer;
        struct op *o = flagged_if(e, s, p->cond, &p->before, br, &out->returned, p->loc);
        out->flag = op_result(o);
    }
}

/* Traces `body`, one branch of the `if` statement stmt, into a new block. */
static struct branch trace_branch(struct eval *e, struct scope *s, const struct ast *stmt,
                                  const struct ast_list *body)
{
    struct trace *outer = e->trace, inner = *outer;
    inner.block = block_new(outer->func, NULL);
    inner.pending = NULL;
    struct branch br = {.block = inner.block, .body = body, .goes_on = true};
    struct obj *result = obj_none;
    e->trace = &inner;
    enum flow flow = eval_block(e, s, body, &result);
    if (flow == FLOW_return && inner.in_loop) {
        report_return_in_loop(e, stmt);
        flow = FLOW_next;
    }
    if (flow == FLOW_return && in_kernel(e)) {
        build_return(trace_builder(e, stmt->loc));
        br.goes_on = false;
    } else if (flow == FLOW_return) {
        br.returned = merge_returns(e, result);
        br.goes_on = false;
    } else {
        close_pending(e, s, &br);
    }
    br.after = snapshot_take(e, s);
    e->trace = outer;
    return br;
}

enum flow merge_if(struct eval *e, struct scope *s, const struct ast *stmt, struct value *cond,
                   struct obj **result)
{
    struct snapshot before = snapshot_take(e, s);
    struct branch br[2];
    for (int i = 0; i < 2; i++) {
        br[i] = trace_branch(e, s, stmt, i ? &stmt->if_.orelse : &stmt->if_.body);
        snapshot_restore(s, &before);
    }
    struct block *blocks[2] = {br[0].block, br[1].block};
    struct loc at = stmt->loc;
    struct obj *returned[2] = {br[0].returned, br[1].returned};
    if (!br[0].goes_on && !br[1].goes_on) {
        if (in_kernel(e))
            finish_if(e, cond, blocks, (struct value_list[2]){{0}}, at);
        else
            *result = return_both(e, cond, blocks, returned, at);
        return FLOW_return;
    }
    if (br[0].flag || br[1].flag) {
        struct obj *value;
        struct op *o = flagged_if(e, s, cond, &before, br, &value, at);
        blocks[0] = block_new(e->trace->func, NULL);
        blocks[1] = block_new(e->trace->func, NULL);
        push_pending(e, s, op_result(o), blocks, 1, value, at);
    } else if (!in_kernel(e) && (returned[0] || returned[1])) {
        int open = br[1].goes_on;
        push_pending(e, s, cond, blocks, open, returned[!open], at);
        snapshot_restore(s, &br[open].after);
    } else {
        struct value_list values[2] = {{0}};
        struct merged j = {0};
        merge_names(e, s, &before, br, values, &j, at);
        bind_results(e, s, &j, finish_if(e, cond, blocks, values, at), 0);
    }
    return FLOW_next;
}

/* -- a if c else b -- */

static bool only_constants(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next)
        if (o->code != OP_const)
            return false;
    return true;
}

static struct value *select_value(struct eval *e, struct value *c, struct value *x, struct value *y,
                                  struct loc at)
{
    if (type_is_tile(x->type))
        c = build_splat(trace_builder(e, at), c, x->type->rank, x->type->shape);
    return build_select(trace_builder(e, at), c, x, y);
}

struct obj *merge_values(struct eval *e, struct value *cond, struct block *const *blocks,
                         struct obj *const *x, struct loc at)
{
    struct value_list values[2] = {{0}}, results = {0};
    for (int i = 0; i < 2; i++)
        flatten(e, x[i], &values[i]);
    if (only_constants(blocks[0]) && only_constants(blocks[1])) {
        for (int i = 0; i < 2; i++)
            while (blocks[i]->first)
                op_move_to_end(blocks[i]->first, e->trace->block);
        for (int k = 0; k < values[0].n; k++)
            VEC_PUSH(e->arena, &results, select_value(e, cond, values[0].at[k], values[1].at[k], at));
    } else {
        struct op *o = finish_if(e, cond, blocks, values, at);
        for (int k = 0; k < o->nresults; k++)
            VEC_PUSH(e->arena, &results, &o->results[k]);
    }
    int first = 0;
    struct obj *r = unflatten(e, x[0], results.at, &first);
    if (r->kind == OBJ_tensor)
        r->tensor.is_named = false;
    return r;
}
