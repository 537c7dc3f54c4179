/* SPDX-License-Identifier: MIT */
/* evaluate.c: evaluates the debugger's expressions in a frame of the stopped kernel.
 *
 *     (neso) p tl.max(x, 0) - x[0]      traced like a line of the kernel, with x as a parameter, and run by
 *     3.5                               the interpreter for the stopped program alone
 *     (neso) p sorted(x)                run as Python on the values, like a plain function that the
 *     [2., 3.5, 5.5]                    kernel calls, because kernels have no `sorted`
 *
 * The debugger shows errors with their location in the expression. An error does not change the state of the
 * program. */
#include "frontend/python/python.h"
#include "frontend/trace/tile.h"
#include "runtime/devices/interpreter/debugger.h"
#include "runtime/runtime.h"

#include <string.h>

/* The state of one evaluation of an expression. */
struct evaluation {
    struct program *program;
    struct eval *eval;
    const struct stop *stop;
    int up;
    const char *text;
    struct expression *x;
    bool is_launched;
    struct obj *result;
    enum error refused; /* the first error; ERR_count: none */
    struct exception raised;
    bool has_raised, has_ended; /* has_raised: an exception has ended the launch; has_ended: a fatal error has
                                 * ended it */
};

/* -- the launch -- */

static void answer_site(struct evaluation *v, const struct host_call *call)
{
    const struct spec *spec = &v->x->spec;
    const struct host_site *site = spec->sites.at[call->site];
    if (call->site == spec->sites.n - 1)
        v->result = host_site_result(v->eval, site, call->values);
    else
        host_site_run(v->eval, site, call->values, call->result);
}

/* Executes a host call of the expression. Exceptions must not unwind the stack frames of the interpreter, so this
 * function catches exceptions and fatal errors, and records them in v. */
static bool answer(void *ctx, const struct host_call *call)
{
    struct evaluation *v = ctx;
    struct eval *e = v->eval;
    jmp_buf here, *fatal = e->diag->fatal;
    struct handler handler;
    handler_push(e, &handler);
    e->diag->fatal = &here;
    if (setjmp(here) != 0) {
        v->has_ended = true;
    } else if (setjmp(handler.jump) == 0) {
        answer_site(v, call);
        handler_pop(e, &handler);
    } else {
        v->raised = handler.raised;
        v->has_raised = true;
    }
    e->diag->fatal = fatal;
    return !v->has_raised && !v->has_ended;
}

/* Returns the arguments of the function that computes the expression: first the `nown` arguments of the
 * kernel, and then the values of the variables of the stopped frame. A tile is passed by its address. */
static uint64_t *arguments(const struct evaluation *v, int nown)
{
    const struct func *f = v->x->func;
    uint64_t *args = NEW_ARRAY(v->eval->arena, f->body->args.n + 1, uint64_t);
    for (int i = 0; i < f->body->args.n; i++) {
        const struct type *t = f->body->args.at[i]->type;
        const char *value = i < nown ? NULL : v->stop->call->values[v->x->first + i - nown];
        if (!value)
            args[i] = i < v->stop->launch->nargs ? v->stop->launch->args[i] : 0;
        else if (type_is_tile(t))
            args[i] = (uint64_t)(uintptr_t)value;
        else
            memcpy(&args[i], value, (size_t)type_elem_bytes(t));
    }
    return args;
}

static void launch(struct evaluation *v)
{
    struct device *d = v->program->device;
    const struct launch *outer = v->stop->launch;
    struct func *f = v->x->func;
    struct launch l = {.args = arguments(v, f->params.n), .nargs = f->body->args.n, .races = RACES_off};
    struct launch_tensor *tensors = NEW_ARRAY(v->eval->arena, l.nargs + 1, struct launch_tensor);
    struct fault fault = {0};
    void *loaded;
    memcpy(l.grid, outer->grid, sizeof l.grid);
    for (int i = 0; outer->tensors && i < f->params.n && i < outer->nargs; i++)
        tensors[i] = outer->tensors[i];
    l.tensors = tensors;
    l.only = v->stop->call->pid;
    l.write = outer->write;
    l.write_ctx = outer->write_ctx;
    l.budget = outer->budget;
    l.host = answer;
    l.host_ctx = v;
    v->is_launched = true;
    bool good = d->class->load(d, &(struct image){.name = f->name, .func = f}, &loaded, &fault);
    if (good) {
        good = d->class->launch(d, loaded, &l, &fault);
        d->class->unload(d, loaded);
    }
    if (v->has_ended)
        longjmp(*v->eval->diag->fatal, 1);
    if (v->has_raised)
        eval_throw(v->eval, &v->raised);
    if (!good)
        diag_error(v->eval->diag, fault.loc.line ? fault.loc : v->x->tree->loc, fault.error, fault.detail);
}

/* -- evaluation -- */

static void evaluate_as_kernel(struct evaluation *v)
{
    struct diag *d = v->eval->diag;
    const struct stop *stop = v->stop;
    if (!v->x->tree)
        frontend_trace_expression(v->eval, stop->site, v->up, stop->func, stop->spec, v->text, v->x);
    if (d->nerrors == 0 && v->x->func)
        launch(v);
}

static void evaluate_as_python(struct evaluation *v)
{
    struct eval *e = v->eval;
    v->result = eval_expr(e, host_site_scope(e, v->stop->site, v->stop->call->values, v->up), v->x->tree);
}

/* Reports an exception as an error at the location that raised it, or, if this location is in neso's own
 * Python code, at the expression. */
static void report_raised(const struct evaluation *v, const struct exception *x)
{
    struct diag *d = v->eval->diag;
    struct text what;
    bool is_ours = !x->loc.line || d->sources.at[x->loc.file]->is_own;
    text_init(&what, v->eval->arena);
    text_printf(&what, "%s: %s", x->class->class.name, exception_message(v->eval, x));
    diag_error(d, is_ours ? v->x->tree->loc : x->loc, ERR_exception, what.s);
}

/* Returns whether the exception ends the program. sys.exit() raises such an exception, and so does the
 * command `q` at a prompt that the expression opened. */
static bool ends_program(struct eval *e, const struct exception *x)
{
    return x->class && class_is_a(x->class, builtin_class(e, "SystemExit"));
}

/* Evaluates the expression with the function `way`. If the evaluation fails, appends the reason to `why` and
 * returns false. SystemExit, internal errors and exhausted limits are passed on to the caller's handlers
 * instead. */
static bool attempt(struct evaluation *v, void way(struct evaluation *), struct text *why)
{
    struct eval *e = v->eval;
    struct diag *d = e->diag;
    struct handler h;
    jmp_buf here, *fatal = d->fatal;
    volatile bool good = false;
    int nerrors = d->nerrors;
    handler_push(e, &h);
    d->nerrors = 0; /* earlier errors do not count toward the maximum number of errors */
    d->fatal = &here;
    if (setjmp(here) != 0) {
        e->handler = h.outer;
        e->trace = h.trace;
        e->depth = h.depth;
        e->call = h.call;
        e->calls = h.calls;
    } else if (setjmp(h.jump) == 0) {
        way(v);
        good = d->nerrors == 0 && v->result;
        handler_pop(e, &h);
    } else if (h.raised.class && !ends_program(e, &h.raised)) {
        report_raised(v, &h.raised);
    }
    d->fatal = fatal;
    if (d->exhausted || d->internal)
        longjmp(*fatal, 1);
    if (ends_program(e, &h.raised))
        eval_throw(e, &h.raised);
    v->refused = !good && d->list.n > h.ndiagnostics ? d->list.at[h.ndiagnostics].error : ERR_count;
    for (int i = h.ndiagnostics; !good && i < d->list.n; i++)
        diag_render(d, &d->list.at[i], why);
    diag_forget(d, h.ndiagnostics, nerrors);
    return good;
}

/* Returns the expression that `traced` has for the site. If it has none, or `traced` is NULL, returns a new
 * expression, and adds this expression to `traced` if `traced` is not NULL. */
static struct expression *expression_at(struct eval *e, const struct host_site *site, struct map *traced)
{
    void **kept = traced ? map_at_ptr(traced, site) : NULL;
    if (kept && *kept)
        return *kept;
    struct expression *x = NEW(e->arena, struct expression);
    if (kept)
        *kept = x;
    return x;
}

/* Called when the evaluation as kernel code has failed. Returns whether the expression may be evaluated as
 * Python instead. It may not after a launch or a syntax error, and not if the error is about the truth value
 * of a tile (for Python, every tile is true) or about the operand types of an operator. */
static bool may_be_python(const struct evaluation *v)
{
    return !v->is_launched && v->x->tree && v->refused != ERR_condition_tensor &&
           v->refused != ERR_condition_block && v->refused != ERR_not_boolean &&
           v->refused != ERR_operator_type;
}

struct obj *debugger_evaluate(struct program *p, struct eval *e, const struct stop *stop, int up,
                              const char *text, struct map *traced, struct text *why)
{
    struct text refused;
    struct evaluation v = {p, e, stop, up, text, .x = expression_at(e, stop->site, traced)};
    int nsources = e->diag->sources.n;
    text_init(&refused, e->arena);
    bool good = attempt(&v, evaluate_as_kernel, why);
    if (!good && may_be_python(&v)) {
        v.x->func = NULL;
        good = attempt(&v, evaluate_as_python, &refused);
    }
    if (!good && !why->len)
        text_printf(why, "%s", refused.len ? refused.s : "it cannot be evaluated\n");
    bool is_last = e->diag->sources.n == nsources + 1;
    if (is_last && !traced && (!good || obj_tile(v.result) || obj_is_number(v.result)))
        e->diag->sources.n--; /* no object refers to this source any more */
    return good ? v.result : NULL;
}
