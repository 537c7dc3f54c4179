/* SPDX-License-Identifier: MIT */
/* hostcall.c: lets kernels on the interpreter call the host: plain Python functions, print, breakpoints.
 *
 *     print_if(f'x = {x}', '=0', [pid])   =>   %0 = host_call %x, %pid site=3 : i64
 *                                              sites[3]: call print_if with (deferred text of x, '=0', [pid])
 *
 * The op's operands are the IR values in the arguments. The op's site (struct host_site) stores the argument objects.
 * When the interpreter reaches the op, it rebuilds the arguments with the current values, as tiles (tile.h),
 * and runs the function as host code. The result is a host object, and the op's i64 result is this object's
 * address. The kernel can pass the object to other functions, and convert it by int(), float() or a
 * condition. Exception: if the program uses the result of a function, and kernels support all code of the
 * function, the tracer builds no host_call. Instead, it traces the function as if the function had
 * @triton.jit.
 *
 * For the debugger, a site before each statement records the variables. When the kernel has been traced, the
 * tracer erases the ops of these sites if the kernel has no other host calls and no breakpoint can stop the
 * kernel. */
#include "frontend/python/python.h"
#include "frontend/trace/tile.h"
#include "frontend/trace/trace.h"

#include <string.h>

/* An f-string that contains run-time values. Its text is computed when the kernel runs. */
struct deferred {
    struct part {
        struct obj *x;    /* NULL: the part is text */
        const char *text; /* the text, or the format specification of x */
        size_t n;
        int conversion;
    } * parts;
    int n;
};

static const struct native_class deferred_class = {.name = "str"};
/* The class of the objects that stand for results of host functions while a kernel is traced. `data` of such an object
 * is the IR value that holds the address of the host object when the kernel runs. */
static const struct native_class result_class = {
    .name = "result of a plain Python function (int() or float() makes it a number)"};

static bool is_native(const struct obj *x, const struct native_class *class)
{
    return x->kind == OBJ_native && x->native.class == class;
}

bool trace_is_host_object(const struct obj *x)
{
    return is_native(x, &deferred_class) || is_native(x, &result_class);
}

/* -- IR values in objects -- */

/* Appends the IR values in x to *out, in a fixed order. Lists and dicts belong to the host and contain no IR values. */
static void collect(struct eval *e, const struct obj *x, struct value_list *out)
{
    if (x->kind == OBJ_tensor) {
        VEC_PUSH(e->arena, out, x->tensor.value);
    } else if (x->kind == OBJ_tuple) {
        for (int i = 0; i < x->seq.n; i++)
            collect(e, x->seq.at[i], out);
    } else if (is_native(x, &result_class)) {
        VEC_PUSH(e->arena, out, x->native.data);
    } else if (is_native(x, &deferred_class)) {
        const struct deferred *d = x->native.data;
        for (int i = 0; i < d->n; i++)
            if (d->parts[i].x)
                collect(e, d->parts[i].x, out);
    }
}

/* A cursor over the current values of a host_call's operands. `rebuild` reads the operands in the order in
 * which `collect` appended them. */
struct reader {
    struct eval *e;
    const char *const *next;
};

static struct obj *rebuild(struct reader *r, struct obj *x, bool inside);

static struct obj *rebuild_tensor(struct reader *r, const struct obj *x, bool inside)
{
    const struct lang_type *t = x->tensor.type;
    bool is_block = t->kind == LT_block;
    struct obj *tile =
        obj_tile_new(r->e, lang_scalar(t), is_block ? t->rank : 0, is_block ? t->shape : NULL, *r->next++);
    bool is_number = (inside || x->tensor.is_index) && !is_block && t->kind == LT_number;
    return is_number ? tile_item(r->e, obj_tile(tile), 0) : tile;
}

static struct obj *rebuild_text(struct reader *r, const struct deferred *d, struct loc at)
{
    struct text out;
    text_init(&out, r->e->arena);
    for (int i = 0; i < d->n; i++) {
        const struct part *p = &d->parts[i];
        if (!p->x) {
            text_bytes(&out, p->text, p->n);
            continue;
        }
        struct obj *x = rebuild(r, p->x, false);
        if (p->conversion)
            x = obj_to_str(r->e, x, p->conversion != 's');
        format_value(r->e, x, p->text, p->n, at, &out);
    }
    return obj_text(r->e, &out);
}

/* Returns a copy of x in which each IR value is replaced by its current value, as a tile. A scalar becomes a
 * Python number instead, unless it is a pointer, if it is the variable of a loop, or an item of a tuple or
 * list (`inside`): functions like print_if(text, '=0', [pid]) compare such items with numbers. */
static struct obj *rebuild(struct reader *r, struct obj *x, bool inside)
{
    if (x->kind == OBJ_tensor)
        return rebuild_tensor(r, x, inside);
    if (is_native(x, &deferred_class))
        return rebuild_text(r, x->native.data, (struct loc){0});
    if (is_native(x, &result_class)) {
        struct obj *found;
        memcpy(&found, *r->next++, sizeof found);
        return found;
    }
    if (x->kind != OBJ_tuple)
        return x;
    struct obj *out = x->was_list ? obj_list(r->e, 0, NULL) : obj_tuple(r->e, 0, NULL);
    /* the methods of block pointers and descriptors work only in kernels, so the host gets plain tuples
     * instead */
    out->class_of = is_box(x) ? NULL : x->class_of;
    for (int i = 0; i < x->seq.n; i++) {
        struct obj *item = rebuild(r, x->seq.at[i], true);
        VEC_PUSH(r->e->arena, &out->seq, item);
    }
    return out;
}

/* -- sites -- */

/* Adds the variables of a function to the site, and their IR values to `values`. */
static void add_names(struct eval *e, const struct scope *s, struct host_site *site,
                      struct value_list *values)
{
    int n = s ? s->names.n : 0;
    site->names = NEW_ARRAY(e->arena, n, const char *);
    site->values = NEW_ARRAY(e->arena, n, struct obj *);
    for (int i = 0; i < n; i++) {
        const char *name = s->names.entries[i].key;
        struct obj *x = s->names.entries[i].value;
        if (!x || x->kind == OBJ_error || strchr(name, ' '))
            continue;
        collect(e, x, values);
        site->names[site->nnames] = name;
        site->values[site->nnames++] = x;
    }
}

/* Builds a host_call op for the site. The op has a result of type `result`, or no result if the site is a
 * statement. `values` contains the IR values of the call's arguments. Adds the function and the variables of
 * each active call to the site, and appends the IR values of these variables to `values`, which become the
 * op's operands. */
static struct op *emit(struct eval *e, struct host_site site, struct value_list *values, enum dtype result)
{
    struct spec *spec = e->trace->spec;
    struct host_site *kept = NEW(e->arena, struct host_site);
    const struct trace_frame *frame = e->trace->frame;
    site.function = frame->fn->name;
    site.closure = frame->fn->closure;
    add_names(e, e->trace->scope, &site, values);
    *kept = site;
    for (struct host_site *inner = kept; frame->outer && frame->outer != e->trace->base;
         frame = frame->outer) {
        struct host_site *caller = NEW(e->arena, struct host_site);
        caller->function = frame->outer->fn->name;
        caller->closure = frame->outer->fn->closure;
        add_names(e, frame->caller, caller, values);
        inner->caller = caller;
        inner = caller;
    }
    const struct type *t = type_scalar(e->trace->module, result);
    struct op *o = build_op(trace_builder(e, site.loc), OP_host_call, values->n, values->at,
                            site.kind != SITE_statement, &t, 0);
    op_set_int(o, ATTR_site, spec->sites.n);
    spec->has_host_calls |= site.kind != SITE_statement;
    VEC_PUSH(e->arena, &spec->sites, kept);
    return o;
}

static struct obj *trace_host_call(struct eval *e, struct obj *callee, const struct args *args)
{
    struct host_site site = {
        .kind = SITE_call, .loc = trace_loc(e, args->loc), .callee = callee, .args = *args};
    struct value_list values = {0};
    site.args.loc = site.loc;
    for (int i = 0; i < args->n; i++)
        collect(e, args->at[i], &values);
    for (int i = 0; i < args->nkw; i++)
        collect(e, args->kw_at[i], &values);
    if (callee->kind == OBJ_method)
        collect(e, callee->method.self, &values);
    return obj_native(e, &result_class, op_result(emit(e, site, &values, DT_i64)));
}

/* Traces a host call that converts x, the result of a host function, to a scalar of the kernel. `kind` determines
 * whether the conversion is bool(), int() or float(). */
static struct obj *convert(struct eval *e, struct obj *x, enum site_kind kind, struct loc at)
{
    static const enum dtype dtypes[] = {[SITE_truth] = DT_i1, [SITE_int] = DT_i32, [SITE_float] = DT_f32};
    struct host_site site = {.kind = kind, .loc = trace_loc(e, at), .callee = x};
    struct value_list values = {0};
    collect(e, x, &values);
    struct op *o = emit(e, site, &values, dtypes[kind]);
    return obj_tensor(e, op_result(o), lang_number(e, dtypes[kind], kind == SITE_truth));
}

struct obj *trace_truth(struct eval *e, struct obj *x, struct loc at)
{
    return e->trace && is_native(x, &result_class) ? convert(e, x, SITE_truth, at) : x;
}

void trace_statement(struct eval *e, struct scope *s, struct loc at)
{
    struct value_list values = {0};
    e->trace->scope = s;
    if (e->trace->spec->interpreter && !e->trace->in_region && !e->trace->place.line)
        emit(e, (struct host_site){.kind = SITE_statement, .loc = trace_loc(e, at)}, &values, DT_i64);
}

void trace_drop_statements(struct block *b, const struct spec *spec)
{
    for (struct op *o = b->first, *next; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->nregions; i++)
            trace_drop_statements(o->regions[i], spec);
        if (o->code == OP_host_call && spec->sites.at[op_int(o, ATTR_site)]->kind == SITE_statement)
            op_erase(o);
    }
}

/* -- which calls the host executes -- */

/* Returns whether an argument is the result of a host function or an f-string with run-time values. Unless
 * `only_host` is set, also returns true if an argument is a tensor, or anything else that is not a
 * constant. */
static bool has_host_value(struct eval *e, const struct args *args, bool only_host)
{
    bool any = false;
    for (int i = 0; i < args->n + args->nkw; i++) {
        const struct obj *x = i < args->n ? args->at[i] : args->kw_at[i - args->n];
        any |= trace_is_host_object(x) || (!only_host && !obj_is_const(e, x));
    }
    return any;
}

static struct obj *python_builtin(struct eval *e, const char *name)
{
    return scope_get(e->builtins->module.scope, intern_str(e->strings, name));
}

/* Returns whether the host must execute this builtin of Python while the kernel runs, because the builtin has
 * an effect or may need run-time values. */
static bool is_effect(const char *name)
{
    static const char *const names[] = {"print", "breakpoint", "eval", "repr", "format"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* If the call is int(x), float(x) or bool(x), where x is the result of a host function, returns the kind of
 * site for this conversion. Otherwise, returns SITE_call. */
static enum site_kind conversion_of(const struct obj *callee, const struct args *args)
{
    if (callee->kind != OBJ_builtin || args->n != 1 || args->nkw || !is_native(args->at[0], &result_class))
        return SITE_call;
    const char *name = callee->builtin->name;
    return strcmp(name, "int") == 0     ? SITE_int
           : strcmp(name, "float") == 0 ? SITE_float
           : strcmp(name, "bool") == 0  ? SITE_truth
                                        : SITE_call;
}

/* Returns whether the host executes the call. Also returns true for calls of plain functions that
 * trace_call_host then traces instead (is_traceable). */
static bool is_for_host(struct eval *e, const struct obj *callee, const struct args *args)
{
    if (callee->kind == OBJ_function)
        return !callee->is_constexpr;
    if (callee->kind == OBJ_builtin) {
        struct obj *own = python_builtin(e, callee->builtin->name);
        bool is_own = own && own->kind == OBJ_builtin && own->builtin == callee->builtin;
        return is_own && (is_effect(callee->builtin->name) ||
                          (strcmp(callee->builtin->name, "str") == 0 && has_host_value(e, args, false)));
    }
    if (callee->kind != OBJ_method)
        return false;
    const struct obj *self = callee->method.self;
    bool is_container = self->kind == OBJ_list || self->kind == OBJ_dict || self->kind == OBJ_set;
    const struct obj *func = callee->method.func; /* methods of str in library.py are constexpr */
    return is_container || (func->kind == OBJ_function && !func->is_constexpr) ||
           (self->kind == OBJ_str && has_host_value(e, args, false));
}

/* -- functions whose results are used -- */

void trace_drop_result(struct eval *e, struct loc call)
{
    e->trace->statement = call;
}

static bool is_statement(const struct eval *e, struct loc call)
{
    struct loc at = e->trace->statement;
    return at.file == call.file && at.line == call.line && at.col == call.col && at.len == call.len;
}

static struct value *stand_in_value(struct block *b, const struct value *v)
{
    return block_add_arg(b, v->type, "trial");
}

static struct obj *stand_in_text(struct eval *e, struct block *b, const struct deferred *d)
{
    struct deferred *out = NEW(e->arena, struct deferred);
    *out = (struct deferred){.n = d->n, .parts = NEW_ARRAY(e->arena, d->n, struct part)};
    for (int i = 0; i < d->n; i++) {
        out->parts[i] = d->parts[i];
        if (d->parts[i].x)
            out->parts[i].x = trace_stand_in(e, b, d->parts[i].x);
    }
    return obj_native(e, &deferred_class, out);
}

struct obj *trace_stand_in(struct eval *e, struct block *b, struct obj *x)
{
    if (x->kind == OBJ_tensor) {
        struct obj *tensor = obj_tensor(e, stand_in_value(b, x->tensor.value), x->tensor.type);
        tensor->tensor.constant = x->tensor.constant;
        tensor->tensor.is_index = x->tensor.is_index;
        return tensor;
    }
    if (is_native(x, &result_class))
        return obj_native(e, &result_class, stand_in_value(b, x->native.data));
    if (is_native(x, &deferred_class))
        return stand_in_text(e, b, x->native.data);
    if (x->kind != OBJ_tuple)
        return x;
    struct obj *out = obj_tuple_like(e, x, x->seq.at);
    for (int i = 0; i < x->seq.n; i++)
        out->seq.at[i] = trace_stand_in(e, b, x->seq.at[i]);
    return out;
}

/* Traces the call only to find whether it causes errors, and drops the diagnostics. Returns false if there were
 * errors. */
static bool passes(struct eval *e, struct function *fn, const struct args *args)
{
    struct diag *d = e->diag;
    struct handler h;
    jmp_buf here, *fatal = d->fatal;
    volatile bool good = false;
    int nerrors = d->nerrors;
    d->nerrors = 0; /* errors before the call do not count toward the limit at which tracing stops */
    d->fatal = &here;
    handler_push(e, &h);
    if (setjmp(here) != 0) {
        e->handler = h.outer;
        e->depth = h.depth;
        e->call = h.call;
    } else if (setjmp(h.jump) == 0) {
        trace_inline(e, fn, args);
        good = d->nerrors == 0;
        handler_pop(e, &h);
    }
    d->fatal = fatal;
    d->nerrors = nerrors;
    d->list.n = h.ndiagnostics;
    if (d->exhausted || d->internal)
        longjmp(*fatal, 1);
    return good;
}

/* Returns whether tracing fn, a plain function, with these arguments gives no errors. */
static bool is_traceable(struct eval *e, struct function *fn, const struct args *args)
{
    struct trace *outer = e->trace, trial = *outer;
    struct spec *spec = outer->spec;
    int nsites = spec->sites.n;
    bool had_calls = spec->has_host_calls;
    struct args copy = *args;
    if (fn->def->kind != AST_def || fn->is_generator || has_host_value(e, args, true))
        return false;
    trial.func = func_new(outer->module, fn->name);
    trial.block = trial.func->body;
    trial.base = outer->frame;
    trial.in_loop = false;
    trial.pending = NULL;
    copy.at = NEW_ARRAY(e->arena, args->n, struct obj *);
    copy.kw_at = NEW_ARRAY(e->arena, args->nkw, struct obj *);
    for (int i = 0; i < args->n; i++)
        copy.at[i] = trace_stand_in(e, trial.block, args->at[i]);
    for (int i = 0; i < args->nkw; i++)
        copy.kw_at[i] = trace_stand_in(e, trial.block, args->kw_at[i]);
    e->trace = &trial;
    bool good = passes(e, fn, &copy);
    e->trace = outer;
    outer->module->funcs.n--;
    spec->sites.n = nsites;
    spec->has_host_calls = had_calls;
    return good;
}

struct obj *trace_call_host(struct eval *e, struct obj *callee, const struct args *args)
{
    if (!e->trace || !e->trace->spec->interpreter)
        return NULL;
    enum site_kind kind = conversion_of(callee, args);
    bool is_late = callee->kind == OBJ_builtin && strcmp(callee->builtin->name, "tl.static_print") == 0 &&
                   has_host_value(e, args, true);
    if (is_late)
        return trace_host_call(e, python_builtin(e, "print"), args);
    if (kind != SITE_call)
        return convert(e, args->at[0], kind, args->loc);
    if (!is_for_host(e, callee, args))
        return NULL;
    if (callee->kind == OBJ_function && !is_statement(e, args->loc) &&
        is_traceable(e, callee->function, args))
        return trace_inline(e, callee->function, args);
    return trace_host_call(e, callee, args);
}

/* -- f-strings -- */

/* Sets *out to the part for a field such as {x!r:spec}. If x is known at compile time, the part is the
 * formatted text. Otherwise, the field is formatted when the kernel runs. Returns false if x is an
 * obj_error. */
static bool add_field(struct eval *e, struct scope *s, const struct ast *field, struct part *out)
{
    bool later = e->trace->spec->interpreter;
    struct obj *x = eval_expr(e, s, field->field.value), *spec = NULL;
    if (x->kind == OBJ_error)
        return false;
    if (!later && !obj_is_const(e, x))
        eval_raise(e, field->loc, "TypeError", ERR_fstring_tensor);
    if (later && field->field.spec)
        spec = eval_expr(e, s, field->field.spec);
    *out = (struct part){.x = x, .conversion = field->field.conversion};
    if (spec && spec->kind != OBJ_str)
        eval_raise(e, field->loc, "TypeError", ERR_fstring_tensor);
    if (spec)
        out->text = spec->str.s, out->n = spec->str.n;
    if (!obj_is_const(e, x) || trace_is_host_object(x))
        return true;
    struct text t;
    text_init(&t, e->arena);
    if (out->conversion)
        x = obj_to_str(e, x, out->conversion != 's');
    format_value(e, x, out->text ? out->text : "", out->n, field->loc, &t);
    *out = (struct part){.text = t.s, .n = t.len};
    return true;
}

struct obj *trace_fstring(struct eval *e, struct scope *s, const struct ast *x)
{
    struct deferred *d = NEW(e->arena, struct deferred);
    struct text out;
    bool later = false;
    text_init(&out, e->arena);
    *d = (struct deferred){.n = x->fstring.parts.n,
                           .parts = NEW_ARRAY(e->arena, x->fstring.parts.n, struct part)};
    for (int i = 0; i < d->n; i++) {
        const struct ast *part = x->fstring.parts.at[i];
        if (part->kind == AST_str)
            d->parts[i] = (struct part){.text = part->str.value.s, .n = (size_t)part->str.value.len};
        else if (!add_field(e, s, part, &d->parts[i]))
            return obj_error;
        later |= d->parts[i].x != NULL;
        if (!d->parts[i].x && d->parts[i].n)
            text_bytes(&out, d->parts[i].text, d->parts[i].n);
        else if (d->parts[i].x && !d->parts[i].text)
            d->parts[i].text = "";
    }
    return later ? obj_native(e, &deferred_class, d) : obj_text(e, &out);
}

/* -- when the kernel runs -- */

static struct obj *run_call(struct eval *e, const struct host_site *site, struct reader *r)
{
    struct args args = site->args;
    struct obj *callee = site->callee;
    args.at = NEW_ARRAY(e->arena, args.n, struct obj *);
    args.kw_at = NEW_ARRAY(e->arena, args.nkw, struct obj *);
    for (int i = 0; i < args.n; i++)
        args.at[i] = rebuild(r, site->args.at[i], false);
    for (int i = 0; i < args.nkw; i++)
        args.kw_at[i] = rebuild(r, site->args.kw_at[i], false);
    if (callee->kind == OBJ_method)
        callee = obj_method(e, rebuild(r, callee->method.self, false), callee->method.func);
    return eval_call(e, callee, &args);
}

void host_site_run(struct eval *e, const struct host_site *site, const char *const *values, char *result)
{
    struct reader r = {e, values};
    struct obj *x = site->kind == SITE_call ? run_call(e, site, &r) : rebuild(&r, site->callee, false);
    const char *name = site->kind == SITE_int ? "int" : "float";
    if (site->kind == SITE_truth)
        *result = obj_truth(e, x, site->loc);
    else if (site->kind == SITE_call)
        memcpy(result, &x, sizeof x);
    if (site->kind != SITE_int && site->kind != SITE_float)
        return;
    x = eval_call1(e, python_builtin(e, name), x, site->loc);
    uint64_t bits = site->kind == SITE_int ? (uint64_t)obj_wide(x) : double_to_bits(DT_f32, obj_double(x));
    memcpy(result, &bits, 4);
}

/* Returns the number of IR values in the call's arguments. These values are the op's first operands; the IR
 * values of the variables follow. */
static int count_arguments(struct eval *e, const struct host_site *site)
{
    struct value_list values = {0};
    for (int i = 0; i < site->args.n; i++)
        collect(e, site->args.at[i], &values);
    for (int i = 0; i < site->args.nkw; i++)
        collect(e, site->args.kw_at[i], &values);
    if (site->callee && site->callee->kind == OBJ_method)
        collect(e, site->callee->method.self, &values);
    else if (site->callee)
        collect(e, site->callee, &values);
    return values.n;
}

/* Returns the number of IR values in the variables of the site's function, without the variables of its callers. */
static int count_variables(struct eval *e, const struct host_site *site)
{
    struct value_list values = {0};
    for (int i = 0; i < site->nnames; i++)
        collect(e, site->values[i], &values);
    return values.n;
}

const struct host_site *host_site_frame(struct eval *e, const struct host_site *site, int up, int *first)
{
    *first = count_arguments(e, site);
    for (; up > 0 && site->caller; site = site->caller, up--)
        *first += count_variables(e, site);
    return site;
}

struct scope *host_site_scope(struct eval *e, const struct host_site *site, const char *const *values, int up)
{
    int first;
    site = host_site_frame(e, site, up, &first);
    struct reader r = {e, values + first};
    struct scope *s = scope_new(e, site->closure);
    for (int i = 0; i < site->nnames; i++)
        scope_set(s, site->names[i], rebuild(&r, site->values[i], false));
    return s;
}

void trace_result(struct eval *e, struct obj *x, struct loc at)
{
    struct host_site site = {
        .kind = SITE_call, .loc = at, .args = {.n = 1, .at = NEW(e->arena, struct obj *)}};
    struct value_list values = {0};
    site.args.at[0] = x;
    collect(e, x, &values);
    emit(e, site, &values, DT_i64);
}

struct obj *host_site_result(struct eval *e, const struct host_site *site, const char *const *values)
{
    struct reader r = {e, values};
    return rebuild(&r, site->args.at[0], false);
}
