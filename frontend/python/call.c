/* SPDX-License-Identifier: MIT */
/* call.c: defines functions and classes, binds arguments to parameters, and calls functions.
 *
 * One function, `bind`, binds the arguments of both Python functions and builtins. It works on a signature:
 * the name, role and default of each parameter. The signature of a Python function is made from its syntax
 * tree, and the signature of a builtin from its parameter list. */
#include "frontend/python/python.h"

#include <string.h>

enum { CALL_DEPTH = 8 }; /* a call adds this number to e->depth */

struct parameter {
    const char *name; /* interned */
    enum ast_role role;
    bool is_optional;
    /* The default value. NULL if the parameter is not optional, and for an optional parameter `x=` of a
     * builtin. */
    struct obj *value;
};

struct signature {
    const char *name; /* the function's name, for messages */
    int n;
    struct parameter *at;
    struct note note; /* shows where the function is defined */
};

/* -- binding -- */

static int count_positional(const struct signature *sig)
{
    int n = 0;
    for (int i = 0; i < sig->n; i++)
        n += sig->at[i].role == ROLE_positional || sig->at[i].role == ROLE_plain;
    return n;
}

static struct loc argument_loc(const struct args *args, int i)
{
    return args->locs && args->locs[i].line ? args->locs[i] : args->loc;
}

/* Raises a TypeError that says "takes 1 positional argument", or "takes from 1 to 2 positional arguments". */
static _Noreturn void too_many_arguments(struct eval *e, const struct signature *sig, const struct args *args,
                                         int most)
{
    int least = most;
    for (int p = 0; p < sig->n; p++)
        least -=
            sig->at[p].is_optional && (sig->at[p].role == ROLE_positional || sig->at[p].role == ROLE_plain);
    struct text takes;
    text_init(&takes, e->arena);
    if (least < most)
        text_printf(&takes, "from %d to ", least);
    text_printf(&takes, "%d positional argument%s", most, most == 1 ? "" : "s");
    eval_raise_noted(e, argument_loc(args, most), "TypeError", sig->note, ERR_too_many_arguments, sig->name,
                     takes.s, args->n, args->n == 1 ? "was" : "were");
}

static void bind_positional(struct eval *e, const struct signature *sig, const struct args *args,
                            struct obj **out)
{
    int i = 0, most = count_positional(sig);
    bool has_rest = false;
    for (int p = 0; p < sig->n; p++) {
        enum ast_role role = sig->at[p].role;
        if ((role == ROLE_positional || role == ROLE_plain) && i < args->n)
            out[p] = args->at[i++];
        if (role == ROLE_args) {
            out[p] = args->n > most ? obj_tuple(e, args->n - most, args->at + most) : obj_tuple(e, 0, NULL);
            has_rest = true;
        }
    }
    if (args->n > most && !has_rest)
        too_many_arguments(e, sig, args, most);
}

/* Raises a TypeError for an unexpected keyword argument, and suggests the most similar parameter. */
static _Noreturn void unexpected_keyword(struct eval *e, const struct signature *sig, const char *name,
                                         struct loc at)
{
    struct scope *names = scope_new(e, NULL);
    for (int p = 0; p < sig->n; p++)
        scope_set(names, sig->at[p].name, obj_none);
    const char *nearest = nearest_attribute(names, name);
    if (nearest && scope_get(names, nearest))
        eval_raise_noted(e, at, "TypeError", (struct note){.error = ERR_did_you_mean, .name = nearest},
                         ERR_unexpected_keyword, sig->name, name);
    eval_raise_noted(e, at, "TypeError", sig->note, ERR_unexpected_keyword, sig->name, name);
}

static void bind_keywords(struct eval *e, const struct signature *sig, const struct args *args,
                          struct obj **out)
{
    int rest = -1;
    for (int p = 0; p < sig->n; p++)
        if (sig->at[p].role == ROLE_kwargs)
            out[rest = p] = obj_dict(e);
    for (int i = 0; i < args->nkw; i++) {
        int p = 0;
        while (p < sig->n && (sig->at[p].name != args->kw[i] ||
                              (sig->at[p].role != ROLE_plain && sig->at[p].role != ROLE_keyword)))
            p++;
        struct loc at = argument_loc(args, args->n + i);
        if (p < sig->n && out[p])
            eval_raise_noted(e, at, "TypeError", sig->note, ERR_argument_twice, sig->name, args->kw[i]);
        if (p < sig->n)
            out[p] = args->kw_at[i];
        else if (rest >= 0)
            dict_set(e, out[rest]->dict, obj_cstr(e, args->kw[i]), args->kw_at[i]);
        else
            unexpected_keyword(e, sig, args->kw[i], at);
    }
}

static bool is_missing(const struct signature *sig, struct obj *const *out, int p, bool is_positional)
{
    bool takes_position = sig->at[p].role == ROLE_positional || sig->at[p].role == ROLE_plain;
    return !out[p] && !sig->at[p].is_optional && takes_position == is_positional;
}

/* Raises a TypeError that lists the missing positional arguments ('a', 'b', and 'c'). If no positional
 * argument is missing, lists the missing keyword-only arguments instead. */
static _Noreturn void missing_arguments(struct eval *e, const struct signature *sig, struct obj *const *out,
                                        struct loc at)
{
    struct text names;
    text_init(&names, e->arena);
    int missing = 0, seen = 0;
    bool only_keywords = true;
    for (int p = 0; p < sig->n; p++)
        if (is_missing(sig, out, p, true)) {
            only_keywords = false;
            missing++;
        }
    for (int p = 0; only_keywords && p < sig->n; p++)
        missing += is_missing(sig, out, p, false);
    for (int p = 0; p < sig->n; p++) {
        if (!is_missing(sig, out, p, !only_keywords))
            continue;
        seen++;
        bool is_last = seen == missing && missing > 1;
        text_str(&names, seen == 1 ? "" : is_last ? (missing > 2 ? ", and " : " and ") : ", ");
        text_printf(&names, "'%s'", sig->at[p].name);
    }
    const char *kind = only_keywords ? "keyword-only" : "positional";
    if (missing == 1)
        eval_raise_noted(e, at, "TypeError", sig->note, ERR_missing_argument, sig->name, kind, names.s);
    eval_raise_noted(e, at, "TypeError", sig->note, ERR_missing_arguments, sig->name, missing, kind, names.s);
}

/* Binds arguments to parameters: sets out[p], which must be NULL before, for each parameter p. Raises
 * TypeError if the arguments do not match the parameters. */
static void bind(struct eval *e, const struct signature *sig, const struct args *args, struct obj **out)
{
    bind_positional(e, sig, args, out);
    bind_keywords(e, sig, args, out);
    bool is_complete = true;
    for (int p = 0; p < sig->n; p++) {
        is_complete &= out[p] || sig->at[p].is_optional;
        if (!out[p])
            out[p] = sig->at[p].value;
    }
    if (!is_complete) {
        for (int p = 0; p < sig->n; p++)
            if (sig->at[p].is_optional)
                out[p] = obj_none;
        missing_arguments(e, sig, out, args->loc);
    }
}

/* -- signatures -- */

static const struct ast_list *params_of(const struct ast *def)
{
    return def->kind == AST_lambda ? &def->lambda.params : &def->def.params;
}

static struct signature function_signature(struct eval *e, const struct function *f)
{
    const struct ast_list *params = params_of(f->def);
    struct signature sig = {
        .name = f->qualified, .n = params->n, .at = NEW_ARRAY(e->arena, params->n + 1, struct parameter)};
    for (int i = 0; i < params->n; i++) {
        const struct ast *p = params->at[i];
        bool is_rest = p->param.role == ROLE_args || p->param.role == ROLE_kwargs;
        sig.at[i] =
            (struct parameter){p->param.name, p->param.role, is_rest || f->defaults[i], f->defaults[i]};
    }
    sig.note = (struct note){f->def->loc, ERR_defined_here, f->name};
    return sig;
}

/* Evaluates the text of a default in a builtin's parameter list. The text has n bytes. Returns NULL if n is 0. */
static struct obj *literal(struct eval *e, const char *s, size_t n)
{
    double x;
    if (n == 0)
        return NULL;
    if (*s == '\'' || *s == '"')
        return obj_str_of(e, arena_strndup(e->arena, s + 1, n - 2), n - 2);
    if (n == 4 && memcmp(s, "None", 4) == 0)
        return obj_none;
    if (n == 4 && memcmp(s, "True", 4) == 0)
        return obj_true;
    if (n == 5 && memcmp(s, "False", 5) == 0)
        return obj_false;
    text_read_double(s, &x);
    bool is_float = memchr(s, '.', n) || memchr(s, 'e', n) || memchr(s, 'n', n);
    return is_float ? obj_float(e, x) : obj_int(e, (wide)x);
}

/* Returns the length of a default's text, which ends at the first comma outside quotes. */
static size_t default_length(const char *s)
{
    if (*s == '\'' || *s == '"')
        return (size_t)(strchr(s + 1, *s) + 1 - s);
    return strcspn(s, ",");
}

/* Parses one parameter of a builtin's parameter list, and adds it to sig. Returns a pointer to the next
 * parameter. A parameter without stars gets the role *role. If the parsed parameter is `*` or `*args`, sets
 * *role to ROLE_keyword for the following parameters. A `/` makes all parameters before it
 * positional-only. */
static const char *parse_parameter(struct eval *e, const char *s, struct signature *sig, enum ast_role *role)
{
    struct parameter p = {.role = *role};
    for (; *s == '*'; s++)
        p.role = p.role == ROLE_args ? ROLE_kwargs : ROLE_args;
    size_t n = strcspn(s, ",=");
    p.name = intern(e->strings, s, n);
    s += n;
    p.is_optional = *s == '=' || p.role == ROLE_args || p.role == ROLE_kwargs;
    if (*s == '=') {
        n = default_length(++s);
        p.value = literal(e, s, n);
        s += n;
    }
    if (p.role == ROLE_args)
        *role = ROLE_keyword;
    if (strcmp(p.name, "/") == 0) {
        for (int i = 0; i < sig->n; i++)
            sig->at[i].role = ROLE_positional;
    } else if (*p.name) {
        sig->at[sig->n++] = p;
    }
    return s + strspn(s, ", ");
}

static const struct signature *builtin_signature(struct eval *e, const struct builtin *b)
{
    void **known = map_at_ptr(&e->signatures, b);
    if (*known)
        return *known;
    struct signature *sig = NEW(e->arena, struct signature);
    sig->name = b->name;
    int most = 1;
    for (const char *s = b->params; *s; s++)
        most += *s == ',';
    sig->at = NEW_ARRAY(e->arena, most, struct parameter);
    enum ast_role role = ROLE_plain;
    for (const char *s = b->params; *s;)
        s = parse_parameter(e, s, sig, &role);
    *known = sig;
    return sig;
}

void eval_bind(struct eval *e, struct function *f, const struct args *args, struct scope *into)
{
    struct signature sig = function_signature(e, f);
    struct obj **bound = NEW_ARRAY(e->arena, sig.n + 1, struct obj *);
    bind(e, &sig, args, bound);
    for (int i = 0; i < sig.n; i++)
        if (sig.at[i].name)
            scope_set(into, sig.at[i].name, bound[i]);
}

/* -- calls -- */

static struct obj *run_body(struct eval *e, struct function *f, struct scope *s)
{
    struct obj *result = obj_none;
    if (f->def->kind == AST_lambda)
        return eval_expr(e, s, f->def->lambda.body);
    if (!f->is_generator) {
        eval_block(e, s, &f->def->def.body, &result);
        return result;
    }
    struct obj *outer = e->yields;
    struct obj *values = e->yields = obj_list(e, 0, NULL);
    eval_block(e, s, &f->def->def.body, &result);
    e->yields = outer;
    return obj_iterator(e, values, f->def->loc);
}

static struct obj *call_function(struct eval *e, struct function *f, const struct args *args)
{
    eval_deeper(e, CALL_DEPTH, args->loc);
    struct call_record *record = NEW(e->arena, struct call_record);
    *record = (struct call_record){args->loc, f->name, e->calls};
    struct scope *s = scope_new(e, f->closure);
    eval_bind(e, f, args, s);
    e->calls = record;
    struct obj *result = run_body(e, f, s);
    e->calls = record->outer;
    e->depth -= CALL_DEPTH;
    return result;
}

/* Calls a @triton.constexpr_function: plain Python that runs on constants while a kernel is traced. */
static struct obj *call_at_compile_time(struct eval *e, struct obj *callee, const struct args *args)
{
    for (int i = 0; i < args->n + args->nkw; i++) {
        struct obj *x = i < args->n ? args->at[i] : args->kw_at[i - args->n];
        if (!obj_is_const(e, x))
            eval_raise(e, argument_loc(args, i), "CompilationError", ERR_constexpr_argument,
                       callee->function->name);
    }
    struct trace *trace = e->trace;
    e->trace = NULL;
    struct obj *result = call_function(e, callee->function, args);
    e->trace = trace;
    return result;
}

static bool has_error(const struct args *args)
{
    for (int i = 0; i < args->n; i++)
        if (args->at[i]->kind == OBJ_error)
            return true;
    for (int i = 0; i < args->nkw; i++)
        if (args->kw_at[i]->kind == OBJ_error)
            return true;
    return false;
}

static struct obj *call_builtin(struct eval *e, const struct builtin *b, const struct args *args)
{
    const struct signature *sig = builtin_signature(e, b);
    struct obj **bound = NEW_ARRAY(e->arena, sig->n + 1, struct obj *);
    bind(e, sig, args, bound);
    struct args call = *args;
    call.callee = b;
    return b->run(e, bound, &call);
}

static struct obj *call_method(struct eval *e, struct obj *method, const struct args *args)
{
    struct args with_self = *args;
    with_self.n = args->n + 1;
    with_self.at = NEW_ARRAY(e->arena, with_self.n, struct obj *);
    struct loc *locs = NEW_ARRAY(e->arena, with_self.n + args->nkw, struct loc);
    with_self.at[0] = method->method.self;
    locs[0] = args->loc;
    for (int i = 0; i < args->n; i++)
        with_self.at[i + 1] = args->at[i];
    for (int i = 0; i < args->n + args->nkw && args->locs; i++)
        locs[i + 1] = args->locs[i];
    with_self.locs = locs;
    return eval_call(e, method->method.func, &with_self);
}

static struct obj *call_instance(struct eval *e, struct obj *x, const struct args *args)
{
    struct obj *own = class_find(x->instance.class, intern_str(e->strings, "__call__"));
    if (!own)
        eval_raise(e, args->loc, "TypeError", ERR_not_callable, obj_type_name(x));
    return eval_call(e, class_bind(e, own, x, x->instance.class, args->loc), args);
}

static struct obj *call_plain(struct eval *e, struct obj *callee, const struct args *args)
{
    if (!e->trace)
        return call_function(e, callee->function, args);
    if (!callee->is_constexpr)
        eval_raise_noted(e, args->loc, "CompilationError",
                         (struct note){callee->function->def->loc, ERR_defined_here, callee->function->name},
                         ERR_plain_function, callee->function->name);
    return call_at_compile_time(e, callee, args);
}

struct obj *eval_call(struct eval *e, struct obj *callee, const struct args *args)
{
    if (callee->kind == OBJ_error || (e->trace && has_error(args)))
        return obj_error;
    struct obj *traced = trace_call_host(e, callee, args);
    if (traced)
        return traced;
    switch (callee->kind) {
    case OBJ_function: return call_plain(e, callee, args);
    case OBJ_builtin: return call_builtin(e, callee->builtin, args);
    case OBJ_method: return call_method(e, callee, args);
    case OBJ_class: return class_call(e, callee, args);
    case OBJ_instance: return call_instance(e, callee, args);
    case OBJ_jit:
        if (e->trace)
            return trace_call_jit(e, callee, args);
        eval_raise(e, args->loc, "RuntimeError", ERR_jit_called, callee->jit->fn.name, callee->jit->fn.name);
    case OBJ_native:
        if (callee->native.class->call)
            return callee->native.class->call(e, callee, args);
        break;
    case OBJ_type: eval_raise(e, args->loc, "TypeError", ERR_type_called);
    default: break;
    }
    eval_raise(e, args->loc, "TypeError", ERR_not_callable, obj_type_name(callee));
}

struct obj *call_with(struct eval *e, struct obj *callee, int n, struct obj *const *args, struct loc at)
{
    struct args call = {.n = n, .at = NEW_ARRAY(e->arena, n + 1, struct obj *), .loc = at};
    struct loc *locs = NEW_ARRAY(e->arena, n + 1, struct loc);
    for (int i = 0; i < n; i++) {
        call.at[i] = args[i];
        locs[i] = at;
    }
    call.locs = locs;
    return eval_call(e, callee, &call);
}

struct obj *call_spread(struct eval *e, struct obj *callee, struct obj *list, struct obj *keywords,
                        struct loc at)
{
    int nkw = keywords->dict->nlive;
    struct args call = {.n = list->seq.n, .at = list->seq.at, .loc = at};
    call.kw = NEW_ARRAY(e->arena, nkw + 1, const char *);
    call.kw_at = NEW_ARRAY(e->arena, nkw + 1, struct obj *);
    call.locs = NEW_ARRAY(e->arena, call.n + nkw + 1, struct loc);
    struct obj *items = dict_items(e, keywords->dict);
    for (call.nkw = 0; call.nkw < nkw; call.nkw++) {
        struct obj *key = items->seq.at[call.nkw]->seq.at[0];
        if (key->kind != OBJ_str)
            eval_raise(e, at, "TypeError", ERR_keyword_type);
        call.kw[call.nkw] = intern(e->strings, key->str.s, key->str.n);
        call.kw_at[call.nkw] = items->seq.at[call.nkw]->seq.at[1];
    }
    return eval_call(e, callee, &call);
}

struct obj *eval_call1(struct eval *e, struct obj *callee, struct obj *arg, struct loc at)
{
    return call_with(e, callee, 1, &arg, at);
}

const char *builtin_short_name(const struct builtin *b)
{
    const char *dot = strrchr(b->name, '.');
    return dot ? dot + 1 : b->name;
}

/* -- definitions -- */

static bool has_yield(const struct ast *x)
{
    if (x->kind == AST_yield)
        return true;
    if (x->kind == AST_def || x->kind == AST_lambda || x->kind == AST_class)
        return false;
    struct ast_cursor at = {0};
    for (const struct ast *c; (c = ast_child(x, &at));)
        if (has_yield(c))
            return true;
    return false;
}

/* Evaluates a default value. If the evaluation raises an exception in a file that is loaded only for its
 * kernels, returns an unknown value (import.c), so that the function is still defined. */
static struct obj *default_value(struct eval *e, struct scope *s, const struct ast *param)
{
    if (!e->definitions_only)
        return eval_expr(e, s, param->param.value);
    struct obj *volatile value = obj_unknown(e, param->param.name);
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        value = eval_expr(e, s, param->param.value);
        handler_pop(e, &h);
    }
    return value;
}

struct obj *make_function(struct eval *e, struct scope *s, const struct ast *def)
{
    struct function *f = NEW(e->arena, struct function);
    const struct ast_list *params = params_of(def);
    void **source = map_get_ptr(&e->sources, s->globals);
    f->name = def->kind == AST_lambda ? "<lambda>" : def->def.name;
    f->qualified = f->name;
    f->def = def;
    f->closure = s;
    f->src = source ? *source : NULL;
    f->defaults = NEW_ARRAY(e->arena, params->n + 1, struct obj *);
    for (int i = 0; i < params->n; i++)
        if (params->at[i]->param.value)
            f->defaults[i] = default_value(e, s, params->at[i]);
    for (int i = 0; def->kind == AST_def && i < def->def.body.n && !f->is_generator; i++)
        f->is_generator = has_yield(def->def.body.at[i]);
    while (f->closure->is_class)
        f->closure = f->closure->parent;
    struct obj *x = obj_new(e, OBJ_function);
    x->function = f;
    return x;
}

/* Applies a decorator to x, a function or a class. If the decorator's result is an unknown value (import.c), because
 * only a host could compute it, returns x itself. */
static struct obj *decorate(struct eval *e, struct scope *s, const struct ast *decorator, struct obj *x)
{
    struct obj *made = eval_call1(e, eval_expr(e, s, decorator), x, decorator->loc);
    return obj_is_unknown(made) ? x : made;
}

/* Applies a decorator as `decorate` does, but also returns x itself if the decorator raises an exception. */
static struct obj *decorate_leniently(struct eval *e, struct scope *s, const struct ast *decorator,
                                      struct obj *x)
{
    struct obj *volatile made = x;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        made = decorate(e, s, decorator, x);
        handler_pop(e, &h);
    }
    return made;
}

struct obj *apply_decorators(struct eval *e, struct scope *s, const struct ast_list *decorators,
                             struct obj *x)
{
    for (int i = decorators->n - 1; i >= 0; i--)
        x = (e->definitions_only ? decorate_leniently : decorate)(e, s, decorators->at[i], x);
    return x;
}

/* Returns the first base of the class statement x that is an OBJ_class: a class of the program, an exception class or a
 * name of typing. Returns NULL if there is none. Other bases (object, classes of host modules) have no attributes that
 * the new class could inherit. */
static struct obj *base_class(struct eval *e, struct scope *s, const struct ast *x)
{
    struct args args = {.loc = x->loc};
    eval_arguments(e, s, &x->klass.args, &args);
    for (int i = 0; i < args.n; i++)
        if (args.at[i]->kind == OBJ_class)
            return args.at[i];
    return NULL;
}

static void qualify_methods(struct eval *e, struct obj *class)
{
    const struct map *names = &class->class.scope->names;
    for (int i = 0; i < names->n; i++) {
        struct obj *x = names->entries[i].value;
        if (!x || x->kind != OBJ_function)
            continue;
        struct text t;
        text_init(&t, e->arena);
        text_printf(&t, "%s.%s", class->class.name, x->function->name);
        x->function->qualified = t.s;
    }
}

struct obj *make_class(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *class = obj_class(e, x->klass.name, base_class(e, s, x));
    struct scope *cell = scope_new(e, s); /* contains __class__, which super() in the methods reads */
    struct scope *body = scope_new(e, cell);
    body->is_class = true;
    struct obj *result;
    eval_block(e, body, &x->klass.body, &result);
    scope_set(cell, intern_str(e->strings, "__class__"), class);
    class->class.scope = body;
    qualify_methods(e, class);
    struct obj *base = class->class.base;
    if (base && base->class.is_tuple) {
        struct obj *fields = scope_get(body, intern_str(e->strings, "__annotations__"));
        struct obj *names = fields ? iter_collect(e, fields, x->loc) : obj_list(e, 0, NULL);
        names->kind = OBJ_tuple;
        class_set_fields(e, class, names, true);
    }
    return class;
}
