/* SPDX-License-Identifier: MIT */
/* expr.c: evaluates expressions of host code and kernels, with one switch over the kinds of syntax nodes.
 *
 * In a kernel (e->trace is set), trace_name looks up names, list displays become tuples, and trace.c traces
 * run-time conditions. eval_binary, eval_unary and eval_compare (operator.c) pass operators on tensors to
 * tensor_binary, tensor_unary and tensor_compare (promote.c). */
#include "frontend/python/python.h"

#include <string.h>

enum { YIELDS_MOST = 1000000 };

/* -- names -- */

/* Searches a scope and its parents for the name with the least edit distance from `name`. If the distance is less than
 * *best, sets *nearest to the found name and *best to the distance. Does the same if the distance equals *best and
 * *nearest is still NULL. */
static void look_near(const struct scope *s, const char *name, int *best, const char **nearest)
{
    for (; s; s = s->parent)
        for (int i = 0; i < s->names.n; i++) {
            const char *other = s->names.entries[i].key;
            int d =
                s->names.entries[i].value && other != name ? text_distance(name, other, *best) : *best + 1;
            if (d < *best || (d == *best && !*nearest)) {
                *best = d;
                *nearest = other;
            }
        }
}

const char *nearest_attribute(const struct scope *s, const char *name)
{
    const char *nearest = NULL;
    int best = strlen(name) < 4 ? 1 : 2;
    look_near(s, name, &best, &nearest);
    return nearest;
}

const char *nearest_name(struct eval *e, const struct scope *s, const char *name)
{
    const char *nearest = NULL;
    int best = strlen(name) < 4 ? 1 : 2;
    look_near(s, name, &best, &nearest);
    look_near(e->builtins->module.scope, name, &best, &nearest);
    return nearest;
}

/* Returns the value of a name that programs for Triton 1.0 use without an import; NULL for other names. */
static struct obj *triton_1_0_name(struct eval *e, const char *name)
{
    static const char *const names[] = {"jit", "autotune", "heuristics"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) {
            struct obj *triton = builtins_module(e, "triton");
            return triton ? find_attribute(e, triton, name, (struct loc){0}) : NULL;
        }
    return NULL;
}

struct obj *lookup_name(struct eval *e, struct scope *s, const char *name, struct loc at)
{
    struct obj *x = scope_find(s, name);
    if (!x)
        x = scope_get(e->builtins->module.scope, name);
    if (!x)
        x = triton_1_0_name(e, name);
    if (!x)
        eval_raise_noted(e, at, "NameError",
                         (struct note){.error = ERR_did_you_mean, .name = nearest_name(e, s, name)}, ERR_name,
                         name);
    return x;
}

/* -- displays -- */

/* Evaluates the items, expands starred items, and returns a list of the values. */
static struct obj *collect(struct eval *e, struct scope *s, const struct ast_list *items)
{
    struct obj *out = obj_list(e, 0, NULL);
    for (int i = 0; i < items->n; i++) {
        const struct ast *item = items->at[i];
        if (item->kind != AST_starred) {
            struct obj *x = eval_expr(e, s, item);
            VEC_PUSH(e->arena, &out->seq, x);
            continue;
        }
        struct iter it = iter_of(e, eval_expr(e, s, item->starred.value), item->loc);
        for (struct obj *x; (x = iter_next(e, &it));)
            VEC_PUSH(e->arena, &out->seq, x);
    }
    return out;
}

static void add_to_set(struct eval *e, struct obj *set, struct obj *x, struct loc at)
{
    if (!obj_is_hashable(e, x))
        eval_raise(e, at, "TypeError", ERR_unhashable, obj_type_name(x));
    dict_set(e, set->dict, x, obj_none);
}

static struct obj *set_display(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *items = collect(e, s, &x->set.items), *out = obj_set(e);
    for (int i = 0; i < items->seq.n; i++)
        add_to_set(e, out, items->seq.at[i], x->loc);
    return out;
}

static void merge_dict(struct eval *e, struct obj *into, struct obj *from, struct loc at)
{
    if (from->kind != OBJ_dict)
        eval_raise(e, at, "TypeError", ERR_not_mapping, obj_type_name(from));
    dict_add_all(e, into->dict, from->dict);
}

static void add_pair(struct eval *e, struct scope *s, struct obj *dict, const struct ast *pair)
{
    if (!pair->pair.key) {
        merge_dict(e, dict, eval_expr(e, s, pair->pair.value), pair->loc);
        return;
    }
    struct obj *key = eval_expr(e, s, pair->pair.key);
    eval_setitem(e, dict, key, eval_expr(e, s, pair->pair.value), pair->loc);
}

static struct obj *dict_display(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *out = obj_dict(e);
    for (int i = 0; i < x->dict.items.n; i++)
        add_pair(e, s, out, x->dict.items.at[i]);
    return out;
}

/* -- comprehensions -- */

/* Executes the `for` and `if` clauses of comprehension x, beginning with clause number `clause`, and adds the elements
 * to `out`. `first` is the object over which the first clause iterates. */
static void comprehend(struct eval *e, struct scope *s, const struct ast *x, int clause, struct obj *first,
                       struct obj *out)
{
    if (clause == x->comprehension.clauses.n) {
        const struct ast *element = x->comprehension.element;
        if (x->comprehension.form == FORM_dict) {
            add_pair(e, s, out, element);
        } else if (x->comprehension.form == FORM_set) {
            add_to_set(e, out, eval_expr(e, s, element), element->loc);
        } else {
            struct obj *item = eval_expr(e, s, element);
            VEC_PUSH(e->arena, &out->seq, item);
        }
        return;
    }
    const struct ast *c = x->comprehension.clauses.at[clause];
    struct iter it = iter_of(e, clause == 0 ? first : eval_expr(e, s, c->clause.iter), c->clause.iter->loc);
    for (struct obj *item; (item = iter_next(e, &it));) {
        eval_assign(e, s, c->clause.target, item);
        bool passes = true;
        for (int i = 0; i < c->clause.tests.n && passes; i++)
            passes = obj_truth(e, eval_expr(e, s, c->clause.tests.at[i]), c->clause.tests.at[i]->loc);
        if (passes)
            comprehend(e, s, x, clause + 1, NULL, out);
    }
}

/* Evaluates a comprehension. Computes all values of a generator expression at once, and returns an iterator
 * over them. */
static struct obj *comprehension(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *first = eval_expr(e, s, x->comprehension.clauses.at[0]->clause.iter);
    if (e->trace)
        return kernel_comprehension(e, s, x, first);
    struct scope *inner = scope_new(e, s);
    inner->is_comprehension = true;
    enum ast_form form = x->comprehension.form;
    struct obj *out = form == FORM_dict ? obj_dict(e) : form == FORM_set ? obj_set(e) : obj_list(e, 0, NULL);
    comprehend(e, inner, x, 0, first, out);
    return form == FORM_generator ? obj_iterator(e, out, x->loc) : out;
}

/* -- text -- */

static bool put_field(struct eval *e, struct scope *s, const struct ast *field, struct text *out);

/* Appends the parts of an f-string. Returns false if a value in the f-string is an obj_error. */
static bool put_parts(struct eval *e, struct scope *s, const struct ast *x, struct text *out)
{
    for (int i = 0; i < x->fstring.parts.n; i++) {
        const struct ast *part = x->fstring.parts.at[i];
        if (part->kind == AST_str)
            text_bytes(out, part->str.value.s, (size_t)part->str.value.len);
        else if (!put_field(e, s, part, out))
            return false;
    }
    return true;
}

static bool put_field(struct eval *e, struct scope *s, const struct ast *field, struct text *out)
{
    struct obj *x = eval_expr(e, s, field->field.value);
    if (x->kind == OBJ_error)
        return false;
    if (field->field.conversion)
        x = obj_to_str(e, x, field->field.conversion != 's');
    struct text spec;
    text_init(&spec, e->arena);
    if (field->field.spec && !put_parts(e, s, field->field.spec, &spec))
        return false;
    format_value(e, x, spec.s, spec.len, field->loc, out);
    return true;
}

static struct obj *fstring(struct eval *e, struct scope *s, const struct ast *x)
{
    struct text out;
    if (e->trace)
        return trace_fstring(e, s, x);
    text_init(&out, e->arena);
    return put_parts(e, s, x, &out) ? obj_text(e, &out) : obj_error;
}

/* -- operators -- */

static struct obj *boolean(struct eval *e, struct scope *s, const struct ast *x)
{
    if (e->trace)
        return trace_bool_op(e, s, x);
    struct obj *value = obj_none;
    for (int i = 0; i < x->boolean.operands.n; i++) {
        value = eval_expr(e, s, x->boolean.operands.at[i]);
        bool is_last = i + 1 == x->boolean.operands.n;
        if (!is_last && obj_truth(e, value, x->boolean.operands.at[i]->loc) == (x->boolean.op == OPER_or))
            return value;
    }
    return value;
}

/* Evaluates a chain of comparisons, such as a < b < c. Stops at the first comparison that is false. Evaluates each
 * operand at most once. */
static struct obj *compare(struct eval *e, struct scope *s, const struct ast *x)
{
    if (e->trace && x->compare.links.n > 1)
        eval_raise(e, x->loc, "CompilationError", ERR_multiple_comparison);
    struct obj *left = eval_expr(e, s, x->compare.left), *value = NULL;
    for (int i = 0; i < x->compare.links.n; i++) {
        const struct ast *link = x->compare.links.at[i];
        struct obj *right = eval_expr(e, s, link->link.right);
        value = eval_compare(e, link->link.op, left, right, link->link.op_loc);
        if (i + 1 < x->compare.links.n && !obj_truth(e, value, link->loc))
            return value;
        left = right;
    }
    return value;
}

static struct obj *conditional(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *test = trace_truth(e, eval_expr(e, s, x->conditional.test), x->conditional.test->loc);
    if (test->kind == OBJ_error)
        return obj_error;
    if (test->kind == OBJ_tensor)
        return trace_if_expr(e, s, x, test);
    return eval_expr(
        e, s, obj_truth(e, test, x->conditional.test->loc) ? x->conditional.then : x->conditional.orelse);
}

static struct obj *walrus(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *value = eval_expr(e, s, x->walrus.value);
    if (e->trace) {
        trace_assign(e, s, x->walrus.target, value, false);
        return trace_name(e, s, x->walrus.target);
    }
    while (s->is_comprehension)
        s = s->parent;
    eval_assign(e, s, x->walrus.target, value);
    return value;
}

static struct obj *slice(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *out = obj_new(e, OBJ_slice);
    out->slice.start = x->slice.lower ? eval_expr(e, s, x->slice.lower) : obj_none;
    out->slice.stop = x->slice.upper ? eval_expr(e, s, x->slice.upper) : obj_none;
    out->slice.step = x->slice.step ? eval_expr(e, s, x->slice.step) : obj_none;
    return out;
}

/* Appends a yielded value to the list of all yielded values. The list is needed because a call of a generator
 * function runs the function to its end before the caller gets the first value (struct function). */
static void push_yield(struct eval *e, struct obj *yields, struct obj *value, struct loc at)
{
    if (yields->seq.n == YIELDS_MOST)
        eval_raise(e, at, "RuntimeError", ERR_yields, YIELDS_MOST);
    VEC_PUSH(e->arena, &yields->seq, value);
}

static struct obj *yield(struct eval *e, struct scope *s, const struct ast *x)
{
    if (!e->yields)
        eval_raise(e, x->loc, "SyntaxError", ERR_yield_outside);
    struct obj *yields = e->yields;
    struct obj *value = x->yield.value ? eval_expr(e, s, x->yield.value) : obj_none;
    if (!x->yield.is_from) {
        push_yield(e, yields, value, x->loc);
        return obj_none;
    }
    struct iter it = iter_of(e, value, x->loc);
    for (struct obj *item; (item = iter_next(e, &it));)
        push_yield(e, yields, item, x->loc);
    return obj_none;
}

/* -- calls -- */

static void push_argument(struct eval *e, struct obj *list, loc_list *locs, struct obj *x, struct loc at)
{
    VEC_PUSH(e->arena, &list->seq, x);
    VEC_PUSH(e->arena, locs, at);
}

static void push_keyword(struct eval *e, struct args *args, loc_list *locs, const char *name, struct obj *x,
                         struct loc at)
{
    for (int i = 0; i < args->nkw; i++)
        if (args->kw[i] == name)
            eval_raise(e, at, "TypeError", ERR_keyword_twice, name);
    if ((args->nkw & 7) == 0) {
        args->kw = arena_grow(e->arena, args->kw, (size_t)args->nkw, (size_t)args->nkw + 8, sizeof *args->kw);
        args->kw_at =
            arena_grow(e->arena, args->kw_at, (size_t)args->nkw, (size_t)args->nkw + 8, sizeof *args->kw_at);
    }
    args->kw[args->nkw] = name;
    args->kw_at[args->nkw++] = x;
    VEC_PUSH(e->arena, locs, at);
}

/* Adds the items of a **dict argument as keyword arguments. */
static void push_keywords(struct eval *e, struct args *args, loc_list *locs, struct obj *dict, struct loc at)
{
    if (dict->kind != OBJ_dict)
        eval_raise(e, at, "TypeError", ERR_not_mapping, obj_type_name(dict));
    for (int i = 0; i < dict->dict->entries.n; i++) {
        struct dict_entry entry = dict->dict->entries.at[i];
        if (!entry.key)
            continue;
        if (entry.key->kind != OBJ_str)
            eval_raise(e, at, "TypeError", ERR_keyword_type);
        push_keyword(e, args, locs, intern(e->strings, entry.key->str.s, entry.key->str.n), entry.value, at);
    }
}

void eval_arguments(struct eval *e, struct scope *s, const struct ast_list *items, struct args *out)
{
    struct obj *list = obj_list(e, 0, NULL);
    loc_list locs = {0}, keyword_locs = {0};
    for (int i = 0; i < items->n; i++) {
        const struct ast *x = items->at[i];
        if (x->kind == AST_starred) {
            struct iter it = iter_of(e, eval_expr(e, s, x->starred.value), x->loc);
            for (struct obj *item; (item = iter_next(e, &it));)
                push_argument(e, list, &locs, item, x->loc);
        } else if (x->kind == AST_keyword && x->keyword.name) {
            push_keyword(e, out, &keyword_locs, x->keyword.name, eval_expr(e, s, x->keyword.value),
                         x->keyword.value->loc);
        } else if (x->kind == AST_keyword && e->trace) {
            eval_raise(e, x->loc, "CompilationError", ERR_double_star);
        } else if (x->kind == AST_keyword) {
            push_keywords(e, out, &keyword_locs, eval_expr(e, s, x->keyword.value), x->loc);
        } else {
            push_argument(e, list, &locs, eval_expr(e, s, x), x->loc);
        }
    }
    for (int i = 0; i < keyword_locs.n; i++)
        VEC_PUSH(e->arena, &locs, keyword_locs.at[i]);
    out->n = list->seq.n;
    out->at = list->seq.at;
    out->locs = locs.at;
}

/* Evaluates super() without arguments as super(class, self): `class` is the class that contains the enclosing method,
 * and `self` is the method's first argument. */
static struct obj *bare_super(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *class = scope_find(s, intern_str(e->strings, "__class__"));
    while (s->is_comprehension)
        s = s->parent;
    if (!class || class->kind != OBJ_class || s->names.n == 0)
        eval_raise(e, x->loc, "RuntimeError", ERR_super);
    return super_new(e, class, s->names.entries[0].value);
}

static struct obj *call(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *callee = eval_expr(e, s, x->call.func);
    bool is_super = callee->kind == OBJ_builtin && strcmp(callee->builtin->name, "super") == 0;
    if (is_super && x->call.args.n == 0)
        return bare_super(e, s, x);
    struct args args = {.loc = x->loc};
    eval_arguments(e, s, &x->call.args, &args);
    return eval_call(e, callee, &args);
}

/* -- the switch over the kinds of nodes -- */

static struct obj *integer(struct eval *e, const struct ast *x)
{
    struct ast_int i = x->integer.value;
    return int_checked(e, i.high >> 63, (wide)((uwide)i.high << 64 | i.low), x->loc);
}

static struct obj *sequence(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *items = collect(e, s, x->kind == AST_tuple ? &x->tuple.items : &x->list.items);
    if (x->kind == AST_tuple || e->trace)
        items->kind = OBJ_tuple;
    items->was_list = x->kind == AST_list;
    return items;
}

static struct obj *evaluate(struct eval *e, struct scope *s, const struct ast *x);

/* Evaluates an attribute. An attribute of an unknown value is an unknown value, whose name in messages is the
 * whole path, such as torch.float32. In a kernel, eval_expr would already report the first part of the path
 * (torch), so this function calls `evaluate` for the parts of a path. */
static struct obj *attribute(struct eval *e, struct scope *s, const struct ast *x)
{
    const struct ast *of = x->attribute.value;
    bool is_path = of->kind == AST_name || of->kind == AST_attribute;
    struct obj *value = is_path ? evaluate(e, s, of) : eval_expr(e, s, of);
    return eval_getattr(e, value, x->attribute.name, x->attribute.name_loc);
}

static struct obj *evaluate(struct eval *e, struct scope *s, const struct ast *x)
{
    switch (x->kind) {
    case AST_name: return e->trace ? trace_name(e, s, x) : lookup_name(e, s, x->name.id, x->loc);
    case AST_none: return obj_none;
    case AST_true: return obj_true;
    case AST_false: return obj_false;
    case AST_ellipsis: return obj_ellipsis;
    case AST_int: return integer(e, x);
    case AST_float: return obj_float(e, x->real.value);
    case AST_str: return obj_str_of(e, x->str.value.s, (size_t)x->str.value.len);
    case AST_bytes: return obj_str_of(e, x->bytes.value.s, (size_t)x->bytes.value.len);
    case AST_tuple:
    case AST_list: return sequence(e, s, x);
    case AST_conditional: return conditional(e, s, x);
    case AST_boolean: return boolean(e, s, x);
    case AST_compare: return compare(e, s, x);
    case AST_unary: {
        struct obj *operand = eval_expr(e, s, x->unary.operand);
        return eval_unary(e, x->unary.op, trace_truth(e, operand, x->loc), x->loc);
    }
    case AST_walrus: return walrus(e, s, x);
    case AST_call: return call(e, s, x);
    case AST_fstring: return fstring(e, s, x);
    case AST_slice: return slice(e, s, x);
    case AST_comprehension: return comprehension(e, s, x);
    case AST_binary: {
        struct obj *left = eval_expr(e, s, x->binary.left);
        return eval_binary(e, x->binary.op, left, eval_expr(e, s, x->binary.right), x->binary.op_loc);
    }
    case AST_attribute: return attribute(e, s, x);
    case AST_subscript: {
        struct obj *of = eval_expr(e, s, x->subscript.value);
        return eval_getitem(e, of, eval_expr(e, s, x->subscript.index), x->loc);
    }
    case AST_lambda: return make_function(e, s, x);
    case AST_set: return set_display(e, s, x);
    case AST_dict: return dict_display(e, s, x);
    case AST_yield: return yield(e, s, x);
    default: eval_raise(e, x->loc, "SyntaxError", ERR_unsupported_node, ast_kind_name(x->kind));
    }
}

struct obj *eval_expr(struct eval *e, struct scope *s, const struct ast *x)
{
    eval_deeper(e, 1, x->loc);
    if (e->trace)
        kernel_check_expr(e, x);
    struct obj *value = evaluate(e, s, x);
    if (e->trace && obj_is_unknown(value))
        eval_raise(e, x->loc, "CompilationError", ERR_unknown_value, (const char *)value->native.data);
    e->depth--;
    return value;
}
