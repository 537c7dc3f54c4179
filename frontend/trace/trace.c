/* SPDX-License-Identifier: MIT */
/* trace.c: traces names, assignments and calls, where kernels differ from plain Python.
 *
 *     @triton.jit                              kernel @add(%x: ptr<f32> {divisible=16}, %n: i32) ... {
 *     def add(x, n, BLOCK: tl.constexpr):        %pid = program_id axis=0 : i32
 *         pid = tl.program_id(0)       =>        ...
 *         ...                                    return
 *                                              }
 *
 * For an operation on a tensor, the evaluator appends ops to e->trace->block. Calls of jit functions are inlined. The
 * spec determines which of the kernel's parameters are constants; all other parameters become parameters of the IR
 * function. */
#include "frontend/python/python.h"
#include "frontend/trace/trace.h"

#include <string.h>

#define PRELUDE_NAME "<prelude>"

/* -- source locations -- */

struct loc trace_loc(const struct eval *e, struct loc at)
{
    if (e->trace && e->trace->place.line)
        return e->trace->place;
    if (!at.call)
        at.call = e->call;
    return at;
}

struct builder *trace_builder(struct eval *e, struct loc at)
{
    e->trace->builder = build_at_end(e->trace->block, trace_loc(e, at));
    return &e->trace->builder;
}

bool trace_is_tensor(const struct obj *x)
{
    if (x->kind == OBJ_tuple)
        for (int i = 0; i < x->seq.n; i++)
            if (trace_is_tensor(x->seq.at[i]))
                return true;
    return x->kind == OBJ_tensor;
}

/* -- names -- */

void trace_lose(struct eval *e, const char *name, struct loc at, bool in_loop)
{
    struct lost *l = NEW(e->arena, struct lost);
    *l = (struct lost){trace_loc(e, at), in_loop};
    *map_at_ptr(e->trace->lost, name) = l;
}

/* Names the IR values in x after a variable, unless they already have a name from the user's source. */
static void give_name(struct obj *x, const char *name)
{
    if (x->kind == OBJ_tuple)
        for (int i = 0; i < x->seq.n; i++)
            give_name(x->seq.at[i], name);
    if (x->kind != OBJ_tensor || x->tensor.is_named)
        return;
    value_rename(x->tensor.value, name);
    x->tensor.is_named = true;
}

/* Returns whether a file imports triton.language. A file without this import is assumed to be written for Triton 1.0,
 * in which kernels use the names of triton.language without a module prefix, and may use global variables. */
static bool imports_language(const struct scope *globals)
{
    for (int i = 0; i < globals->names.n; i++) {
        const struct obj *x = globals->names.entries[i].value;
        if (x && x->kind == OBJ_module && strcmp(x->module.name, "triton.language") == 0)
            return true;
    }
    return false;
}

/* Returns whether kernels can use the builtin of Python with this name. */
static bool is_usable(const struct eval *e, const char *name)
{
    static const char *const names[] = {"len",   "int",  "float",      "bool",    "str",     "list",
                                        "tuple", "type", "isinstance", "getattr", "hasattr", "breakpoint"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return e->trace->spec->interpreter;
}

/* Returns the value of a name that the program does not define: a name of triton.language or a builtin of
 * Python. Returns NULL if there is no such name, or if kernels cannot use it. */
static struct obj *library_name(struct eval *e, struct scope *s, const char *name)
{
    bool is_python = e->trace->spec->interpreter && strcmp(name, "print") == 0;
    struct obj *x = is_python ? NULL : find_bare(e, name);
    if (x)
        return x;
    x = is_usable(e, name) ? scope_get(e->builtins->module.scope, name) : NULL;
    if (x || (s->globals && imports_language(s->globals)))
        return x;
    return find_language(e, name);
}

/* Adds a note to the error "name is not defined", if it finds one of the following: the branch or loop at
 * whose end the name ceased to exist, the name in triton.language, or a similar name. */
static void explain_missing(struct eval *e, struct scope *s, const char *name)
{
    void **lost = map_get_ptr(e->trace->lost, name);
    const char *near = strlen(name) > 2 ? nearest_name(e, s, name) : NULL;
    if (lost) {
        const struct lost *l = *lost;
        diag_note(e->diag, l->at, l->in_loop ? ERR_note_lost_in_loop : ERR_note_lost_in_branch, name);
    } else if (find_language(e, name)) {
        diag_hint(e->diag, ERR_hint_language_name, name);
    } else if (near) {
        diag_hint(e->diag, ERR_did_you_mean, near);
    }
}

/* Returns whether the name is bound in a local scope of the function being traced. The scopes of enclosing functions
 * and of the file are not local. */
static bool is_local(const struct eval *e, const struct scope *s, const char *name)
{
    for (const struct scope *closure = e->trace->frame->fn->closure; s && s != closure; s = s->parent)
        if (scope_get(s, name))
            return true;
    return false;
}

/* Returns whether x, the value of a global variable, is plain data: a number, text, container, range or slice
 * that is not a constexpr. Kernels must not use such a variable, because a compiled kernel would keep the
 * value even if the program later assigns another value to the variable. */
static bool is_plain_data(const struct obj *x)
{
    return !x->is_constexpr && x->kind != OBJ_none && x->kind != OBJ_ellipsis && x->kind < OBJ_function;
}

/* Returns whether x, the value of a global variable, is plain data (is_plain_data), an instance, or a native object
 * such as a torch.Tensor of the host program. */
static bool is_data(const struct obj *x)
{
    return is_plain_data(x) || x->kind == OBJ_instance || x->kind == OBJ_native;
}

/* Returns whether the code being traced may use global variables that are not constexprs. */
static bool may_use_globals(const struct eval *e, const struct scope *s)
{
    const char *value = e->host && e->host->getenv
                            ? e->host->getenv(e->host->ctx, "TRITON_ALLOW_NON_CONSTEXPR_GLOBALS")
                            : NULL;
    return e->trace->spec->interpreter || e->trace->place.line || (value && strcmp(value, "1") == 0) ||
           !(s->globals && imports_language(s->globals));
}

struct obj *trace_name(struct eval *e, struct scope *s, const struct ast *name)
{
    const char *id = name->name.id;
    struct obj *x = scope_find(s, id);
    if (x && is_data(x) && !is_local(e, s, id) && map_get_ptr(e->trace->lost, id))
        x = NULL; /* a local name hides the global variable even after the local name ceased to exist */
    if (x && is_plain_data(x) && !is_local(e, s, id) && !may_use_globals(e, s)) {
        diag_error(e->diag, trace_loc(e, name->loc), ERR_global, id);
        diag_hint(e->diag, ERR_hint_global, id);
        return obj_error;
    }
    if (!x)
        x = library_name(e, s, id);
    if (x)
        return x;
    diag_error(e->diag, trace_loc(e, name->loc), ERR_name, id);
    explain_missing(e, s, id);
    return obj_error;
}

/* -- assignment -- */

/* Returns the name under which a scope records a declaration `x: tl.constexpr` without a value. The name contains a
 * space, so it equals no name of a program. */
static const char *declared_name(struct eval *e, const char *name)
{
    struct text t;
    text_init(&t, e->arena);
    text_printf(&t, "constexpr %s", name);
    return intern(e->strings, t.s, t.len);
}

struct obj *trace_constexpr(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind == OBJ_tensor && x->tensor.constant)
        x = x->tensor.constant;
    if (is_error(x))
        return x;
    if (!trace_is_tensor(x))
        return obj_constexpr(e, x);
    diag_error(e->diag, trace_loc(e, at), ERR_constexpr_of_tensor, type_text(e, x));
    return obj_error;
}

static bool is_known(const struct obj *x)
{
    return !trace_is_tensor(x) || (x->kind == OBJ_tensor && x->tensor.constant);
}

static void assign_name(struct eval *e, struct scope *s, const struct ast *target, struct obj *value,
                        bool is_constexpr)
{
    const char *name = target->name.id;
    if (!value) {
        scope_set(s, declared_name(e, name), obj_true);
        return;
    }
    struct obj *old = scope_get(s, name);
    if (is_constexpr && old && !is_error(old)) {
        diag_error(e->diag, trace_loc(e, target->loc), ERR_constexpr_again, name);
        diag_hint(e->diag, ERR_hint_new_name);
        return;
    }
    bool is_wanted = is_constexpr || (!is_error(value) && scope_get(s, declared_name(e, name)));
    if (is_wanted && is_known(value)) { /* as in Triton, a value known only at run time is no error here */
        scope_set(s, name, trace_constexpr(e, value, target->loc));
        return;
    }
    if (!is_error(value) && !trace_is_host_object(value)) {
        value = to_tensor(e, value, target->loc);
        give_name(value, name);
    }
    scope_set(s, name, value);
}

static void assign_items(struct eval *e, struct scope *s, const struct ast *target, struct obj *value,
                         bool is_constexpr)
{
    int n = target->tuple.items.n;
    bool is_sequence = value->kind == OBJ_tuple || value->kind == OBJ_list;
    if (!is_sequence || value->seq.n < n) {
        if (!is_sequence && !is_error(value))
            diag_error(e->diag, trace_loc(e, target->loc), ERR_unpack_kind, type_text(e, value));
        else if (is_sequence)
            diag_error(e->diag, trace_loc(e, target->loc), ERR_unpack_count, n, value->seq.n);
        for (int i = 0; i < n; i++)
            trace_assign(e, s, target->tuple.items.at[i], obj_error, false);
        return;
    }
    for (int i = 0; i < n; i++)
        trace_assign(e, s, target->tuple.items.at[i], value->seq.at[i], is_constexpr);
}

void trace_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value,
                  bool is_constexpr)
{
    switch (target->kind) {
    case AST_name: assign_name(e, s, target, value, is_constexpr); return;
    case AST_tuple:
    case AST_list: assign_items(e, s, target, value, is_constexpr); return;
    case AST_subscript:
        diag_error(e->diag, trace_loc(e, target->loc), ERR_assign_item);
        diag_hint(e->diag, ERR_hint_assign_item);
        return;
    case AST_attribute:
        diag_error(e->diag, trace_loc(e, target->loc), ERR_assign_attribute, target->attribute.name);
        return;
    default: diag_error(e->diag, trace_loc(e, target->loc), ERR_kernel_target);
    }
}

/* -- branches and conditions -- */

enum flow trace_if(struct eval *e, struct scope *s, const struct ast *stmt, struct obj *cond,
                   struct obj **result)
{
    struct value *c = tensor_condition(e, cond, stmt->if_.test->loc);
    return c ? merge_if(e, s, stmt, c, result) : trace_give_up(e, s, stmt);
}

/* Evaluates x, one of the two sides of a conditional expression, and converts its value to a tensor. Appends
 * the ops to block b. */
static struct obj *side(struct eval *e, struct scope *s, const struct ast *x, struct block *b)
{
    struct trace *outer = e->trace, inner = *outer;
    inner.block = b;
    e->trace = &inner;
    struct obj *value = eval_expr(e, s, x);
    if (!is_error(value))
        value = to_tensor(e, value, x->loc);
    e->trace = outer;
    return value;
}

struct obj *trace_if_expr(struct eval *e, struct scope *s, const struct ast *x, struct obj *cond)
{
    struct value *c = tensor_condition(e, cond, x->conditional.test->loc);
    if (!c)
        return obj_error;
    struct block *blocks[2] = {block_new(e->trace->func, NULL), block_new(e->trace->func, NULL)};
    struct obj *values[2] = {side(e, s, x->conditional.then, blocks[0]),
                             side(e, s, x->conditional.orelse, blocks[1])};
    if (is_error(values[0]) || is_error(values[1]))
        return obj_error;
    struct obj *first = values[0];
    values[0] = widen_indices(e, values[0], values[1], blocks[0], x->loc);
    values[1] = widen_indices(e, values[1], first, blocks[1], x->loc);
    if (!same_type(e, values[0], values[1])) {
        diag_error(e->diag, trace_loc(e, x->loc), ERR_ternary_types, type_text(e, values[0]),
                   type_text(e, values[1]));
        return obj_error;
    }
    return merge_values(e, c, blocks, values, x->loc);
}

struct obj *trace_bool_op(struct eval *e, struct scope *s, const struct ast *x)
{
    bool is_or = x->boolean.op == OPER_or;
    struct obj *all = NULL, *last = obj_none;
    for (int i = 0; i < x->boolean.operands.n; i++) {
        const struct ast *operand = x->boolean.operands.at[i];
        struct obj *v = trace_truth(e, eval_expr(e, s, operand), operand->loc);
        if (is_error(v))
            return v;
        if (v->kind != OBJ_tensor) {
            last = v;
            if (obj_truth(e, v, operand->loc) == is_or)
                return v;
            continue;
        }
        if (!is_dtype(scalar_of(v), DT_i1)) {
            diag_error(e->diag, trace_loc(e, operand->loc), ERR_not_boolean,
                       oper_info[x->boolean.op].spelling, type_text(e, v));
            diag_hint(e->diag, ERR_hint_compare_zero);
            return obj_error;
        }
        all = all ? tensor_binary(e, is_or ? OPER_bitor : OPER_bitand, all, v, x->loc) : v;
    }
    return all ? all : last;
}

/* -- calls -- */

static bool same_arguments(struct eval *e, const struct scope *a, const struct scope *b)
{
    for (int i = 0; i < b->names.n; i++) {
        struct obj *x = scope_get(a, b->names.entries[i].key), *y = b->names.entries[i].value;
        if (!x || !y || !same_type(e, x, y))
            return false;
    }
    return true;
}

/* Returns whether a call of this function with arguments of the same types and equal constants is already being
 * inlined. */
static bool is_recursive(struct eval *e, const struct function *fn, const struct scope *args)
{
    for (const struct trace_frame *f = e->trace->frame; f; f = f->outer)
        if (f->fn->def == fn->def && f->args && same_arguments(e, f->args, args))
            return true;
    return false;
}

/* If the argument of a constexpr parameter is a tensor with a known constant, replaces the tensor in s by this
 * constant. Returns a copy of s, in which the arguments stay even if the body assigns other values to the
 * parameters. */
static struct scope *settle_arguments(struct eval *e, const struct function *fn, struct scope *s)
{
    const struct ast_list *params = &fn->def->def.params;
    for (int i = 0; i < params->n; i++) {
        const struct ast *p = params->at[i];
        struct obj *x = scope_get(s, p->param.name);
        if (x && x->kind == OBJ_tensor && x->tensor.constant && is_constexpr_annotation(p->param.annotation))
            scope_set(s, p->param.name, obj_constexpr(e, x->tensor.constant));
    }
    struct scope *copy = scope_new(e, NULL);
    for (int i = 0; i < s->names.n; i++)
        if (s->names.entries[i].value)
            scope_set(copy, s->names.entries[i].key, s->names.entries[i].value);
    return copy;
}

static struct obj *inline_call(struct eval *e, const struct function *fn, struct scope *s,
                               const struct trace_frame *frame, struct loc at)
{
    struct trace *outer = e->trace, inner = *outer;
    uint16_t call = e->call;
    struct obj *result = obj_none;
    inner.frame = frame;
    inner.in_loop = false;
    inner.pending = NULL;
    if (strcmp(fn->src->name, PRELUDE_NAME) == 0)
        inner.place = trace_loc(e, at);
    else if (!inner.place.line)
        e->call = diag_push_call(e->diag, trace_loc(e, at), fn->name);
    e->trace = &inner;
    eval_block(e, s, &fn->def->def.body, &result);
    result = merge_returns(e, result);
    outer->block = inner.block;
    e->trace = outer;
    e->call = call;
    return result;
}

struct obj *trace_inline(struct eval *e, struct function *fn, const struct args *args)
{
    for (int i = 0; i < args->n + args->nkw; i++)
        if (is_error(i < args->n ? args->at[i] : args->kw_at[i - args->n]))
            return obj_error;
    struct scope *s = scope_new(e, fn->closure);
    eval_bind(e, fn, args, s);
    struct trace_frame frame = {
        .outer = e->trace->frame, .fn = fn, .args = settle_arguments(e, fn, s), .caller = e->trace->scope};
    if (is_recursive(e, fn, frame.args)) {
        diag_error(e->diag, trace_loc(e, args->loc), ERR_recursion, fn->name);
        return obj_error;
    }
    return inline_call(e, fn, s, &frame, args->loc);
}

struct obj *trace_call_jit(struct eval *e, struct obj *callee, const struct args *args)
{
    return trace_inline(e, &callee->jit->fn, args);
}

/* -- the prelude: prelude.py and libdevice.py; a section is parsed when a kernel first uses one of its functions -- */

/* Executes a section of the prelude as the module `name`. The section has `len` bytes of text. Does not append ops to
 * the kernel being traced. */
static struct obj *run_section(struct eval *e, const char *text, size_t len, const char *name)
{
    struct trace *trace = e->trace;
    uint16_t call = e->call;
    e->trace = NULL;
    e->call = 0;
    struct obj *m = eval_file(e, diag_add_source(e->diag, PRELUDE_NAME, text, len), name, NULL);
    e->trace = trace;
    e->call = call;
    if (!m)
        diag_bug(e->diag, (struct loc){0}, "the prelude does not parse");
    return m;
}

static bool section_has(const struct section *at, const char *words)
{
    const char *found = strstr(at->s, words);
    return found && found < at->s + at->len;
}

/* Returns the module of the section that defines a function or class. */
static struct obj *section_of(struct eval *e, const char *name)
{
    static const char *const texts[] = {prelude_py, libdevice_py};
    struct text def, class, module;
    text_init(&def, e->arena);
    text_init(&class, e->arena);
    text_init(&module, e->arena);
    text_printf(&def, "\ndef %s(", name);
    text_printf(&class, "\nclass %s:", name);
    for (int i = 0; i < (int)(sizeof texts / sizeof *texts); i++)
        for (struct section at = {0}; section_next(texts[i], &at);) {
            if (!section_has(&at, def.s) && !section_has(&at, class.s))
                continue;
            text_printf(&module, "neso.prelude.%d.%d", i, (int)(at.s - texts[i]));
            void **found = map_get(&e->modules, module.s, module.len);
            return found ? *found : run_section(e, at.s, at.len, intern_str(e->strings, module.s));
        }
    diag_bug(e->diag, (struct loc){0}, "no %s in the prelude", name);
}

struct obj *prelude_function(struct eval *e, const char *name)
{
    struct text key;
    text_init(&key, e->arena);
    text_printf(&key, "neso.prelude %s", name);
    void **found = map_get(&e->modules, key.s, key.len);
    struct obj *m = found ? *found : section_of(e, name);
    if (!found)
        *map_at(&e->modules, key.s, key.len) = m;
    return scope_get(m->module.scope, intern_str(e->strings, name));
}

struct obj *trace_call_prelude(struct eval *e, const char *name, int n, struct obj *const *items,
                               struct loc at)
{
    struct loc *locs = NEW_ARRAY(e->arena, n, struct loc);
    struct obj **copy = NEW_ARRAY(e->arena, n, struct obj *);
    for (int i = 0; i < n; i++) {
        locs[i] = at;
        copy[i] = items[i];
    }
    struct args args = {.n = n, .at = copy, .locs = locs, .loc = at};
    return eval_call(e, prelude_function(e, name), &args);
}

/* -- kernels -- */

/* Returns the value of a parameter **META: a dict of the keyword arguments that match no other parameter. */
static struct obj *meta_dict(struct eval *e, const struct spec *spec)
{
    struct obj *d = obj_dict(e);
    for (int i = 0; i < spec->nmeta; i++)
        dict_set(e, d->dict, obj_cstr(e, spec->meta_names[i]), obj_constexpr(e, spec->meta_values[i]));
    return d;
}

/* Returns the value of parameter p: a constant, or a new argument of the IR function. An int argument of value 1
 * becomes a constant, but not a constexpr, because the kernel may use it like an i32 (x.to, x.dtype). */
static struct obj *bind_leaf(struct eval *e, struct func *f, const struct ast *p, const struct spec_arg *a)
{
    if (a->equals_one)
        return obj_int(e, 1);
    if (a->is_const)
        return obj_constexpr(e, a->value);
    bool is_ptr = a->type->kind == LT_ptr;
    struct param param = {.name = a->name,
                          .divisible = a->divisible,
                          .is_const = is_ptr && a->type->is_const,
                          .is_unsigned = !is_ptr && a->type->is_unsigned && a->type->dtype != DT_i1,
                          .loc = p->loc};
    struct obj *x = obj_tensor(e, func_add_param(f, lang_ir(f->module, a->type), param), a->type);
    x->tensor.is_named = true;
    return x;
}

/* Returns the value of parameter p. The parameter consumes one or more arguments of the spec, from index *n on.
 * Advances *n past these arguments. If the parameter is a tuple, `parts` has the structure of the tuple. The IR
 * arguments of a tuple x are named x_0, x_1, ..., or x_FIELD for a tuple with named fields. Exception: the base
 * pointer of a descriptor x is named x. Reports an error and returns NULL if there are too few arguments, or if the
 * arguments for a descriptor do not form a descriptor. */
static struct obj *bind_param(struct eval *e, struct func *f, const struct ast *p, struct spec *spec,
                              const struct obj *parts, const char *name, int *n)
{
    if (!parts || parts->kind != OBJ_tuple) {
        if (*n >= spec->nargs) {
            diag_error(e->diag, p->loc, ERR_param_missing, p->param.name);
            return NULL;
        }
        struct spec_arg *a = &spec->args[(*n)++];
        a->name = name;
        return bind_leaf(e, f, p, a);
    }
    struct obj **items = NEW_ARRAY(e->arena, parts->seq.n, struct obj *);
    for (int i = 0; i < parts->seq.n; i++) {
        struct text t;
        const char *part = argument_part_name(e, parts, i);
        text_init(&t, e->arena);
        text_str(&t, name);
        if (part && !(i == 0 && is_box(parts)))
            text_printf(&t, "_%s", part);
        else if (!part)
            text_printf(&t, "_%d", i);
        items[i] = bind_param(e, f, p, spec, parts->seq.at[i], intern(e->strings, t.s, t.len), n);
        if (!items[i])
            return NULL;
    }
    struct obj *x = obj_tuple_like(e, parts, items);
    return is_box(x) && !check_descriptor(e, x, p->loc) ? NULL : x;
}

static bool bind_params(struct eval *e, struct func *f, const struct function *fn, struct spec *spec,
                        struct scope *s)
{
    const struct ast_list *params = &fn->def->def.params;
    int n = 0;
    for (int i = 0; i < params->n; i++) {
        const struct ast *p = params->at[i];
        if (p->param.role == ROLE_kwargs) {
            scope_set(s, p->param.name, meta_dict(e, spec));
            continue;
        }
        struct obj *x = bind_param(e, f, p, spec, spec->parts ? spec->parts[i] : NULL, p->param.name, &n);
        if (!x)
            return false;
        scope_set(s, p->param.name, x);
    }
    return true;
}

/* Adds an IR function for the kernel fn to module m, and copies the options of the spec to the function. */
static struct func *func_for(struct module *m, const struct function *fn, const struct spec *spec)
{
    struct func *f = func_new(m, fn->name);
    f->num_warps = spec->num_warps ? spec->num_warps : f->num_warps;
    f->num_stages = spec->num_stages ? spec->num_stages : f->num_stages;
    f->num_ctas = spec->num_ctas ? spec->num_ctas : f->num_ctas;
    f->maxnreg = spec->maxnreg;
    f->fp_fusion = spec->fp_fusion;
    f->deterministic = spec->deterministic;
    f->fp_reassoc = spec->fp_reassoc;
    f->target = spec->target;
    f->loc = fn->def->def.name_loc;
    return f;
}

static void trace_body(struct eval *e, struct func *f, const struct function *fn, struct spec *spec)
{
    struct map lost, masked_loads;
    int nerrors = e->diag->nerrors;
    map_init(&lost, e->arena);
    map_init(&masked_loads, e->arena);
    struct scope *s = scope_new(e, fn->closure);
    struct trace_frame frame = {.fn = fn};
    struct trace t = {.func = f,
                      .module = f->module,
                      .spec = spec,
                      .block = f->body,
                      .frame = &frame,
                      .lost = &lost,
                      .masked_loads = &masked_loads};
    struct trace *outer = e->trace;
    uint16_t call = e->call;
    struct obj *result = obj_none;
    e->trace = &t;
    e->call = 0;
    if (bind_params(e, f, fn, spec, s)) {
        eval_block(e, s, &fn->def->def.body, &result);
        build_return(trace_builder(e, fn->def->loc));
        if (!spec->has_host_calls && !spec->stops)
            trace_drop_statements(f->body, spec);
        if (e->diag->nerrors == nerrors)
            trace_warn_undefined(e, f, &masked_loads);
    }
    e->trace = outer;
    e->call = call;
}

struct func *frontend_trace(struct eval *e, struct obj *jit, struct spec *spec, struct module *m)
{
    const struct function *fn = &jit->jit->fn;
    int nerrors = e->diag->nerrors;
    struct func *f = func_for(m, fn, spec);
    trace_body(e, f, fn, spec);
    if (e->diag->nerrors == nerrors)
        return f;
    m->funcs.n--;
    return NULL;
}
