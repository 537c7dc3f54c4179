/* SPDX-License-Identifier: MIT */
/* eval.c: executes statements of host code (modules, functions, `try`, `with`), and unwinds exceptions.
 *
 * Executing a statement returns an enum flow: the next statement follows, or the block ends by `return`,
 * `break` or `continue`. Exceptions unwind by longjmp to the innermost handler: a `try`, a `with`, the top
 * level, or a C function that handles exceptions (such as hasattr). longjmp skips only C functions whose
 * memory is in the arena, so nothing leaks. In a kernel, eval_block passes each statement to kernel.c.
 * Expressions are in expr.c, calls and definitions in call.c. */
#include "frontend/python/python.h"

#include <string.h>

enum {
    /* The limit of e->depth. A call adds 8 to e->depth, and an expression adds 1. The limit allows about 1000
     * nested calls, as Python does. */
    DEPTH_MOST = 9000,
    /* The step limits of one top-level statement, and of all statements together, in a file that is loaded
     * only for its kernels (e->definitions_only). */
    STEPS_OF_STATEMENT = 1 << 17,
    STEPS_OF_FILE = 1 << 22,
};

/* -- errors -- */

void handler_push(struct eval *e, struct handler *h)
{
    h->outer = e->handler;
    h->trace = e->trace;
    h->depth = e->depth;
    h->call = e->call;
    h->ndiagnostics = e->diag->list.n;
    h->nerrors = e->diag->nerrors;
    h->calls = e->calls;
    h->handling = e->handling;
    h->yields = e->yields;
    h->raised = (struct exception){0};
    e->handler = h;
}

void handler_pop(struct eval *e, struct handler *h)
{
    e->handler = h->outer;
}

static void report_exception(struct eval *e, const struct exception *x);

void eval_throw(struct eval *e, const struct exception *x)
{
    struct handler *h = e->handler;
    if (!h) {
        report_exception(e, x);
        longjmp(*e->diag->fatal, 1);
    }
    h->raised = *x;
    e->handler = h->outer;
    e->trace = h->trace;
    e->depth = h->depth;
    e->call = h->call;
    e->calls = h->calls;
    e->handling = h->handling;
    e->yields = h->yields;
    longjmp(h->jump, 1);
}

static void report(struct eval *e, enum severity severity, struct loc at, enum error error,
                   const char *message)
{
    struct diag *d = e->diag;
    if (severity == SEV_error)
        d->nerrors++;
    if (d->nerrors == DIAG_ERRORS_MOST + 1 && severity == SEV_error && d->fatal)
        diag_fatal(d, (struct loc){0}, ERR_too_many_errors, DIAG_ERRORS_MOST);
    if (d->nerrors <= DIAG_ERRORS_MOST)
        VEC_PUSH(d->arena, &d->list, (struct diagnostic){severity, error, at, message});
}

/* Reports a note, unless it is empty. If the note has a location, reports it there; otherwise, reports it as a
 * hint. */
static void report_note(struct eval *e, struct note note)
{
    if (note.name && note.at.line)
        diag_note(e->diag, note.at, note.error, note.name);
    else if (note.name)
        diag_hint(e->diag, note.error, note.name);
}

static bool is_own(const struct eval *e, struct loc at)
{
    return at.line && e->diag->sources.at[at.file]->is_own;
}

/* If `at` is in neso's own Python code, removes the innermost calls from *calls up to the user's call, and returns the
 * location of the user's call. Otherwise returns `at`. */
static struct loc outside(const struct eval *e, struct loc at, const struct call_record **calls)
{
    for (; *calls && is_own(e, at); *calls = (*calls)->outer)
        at = (*calls)->at;
    return at;
}

struct loc eval_outside(const struct eval *e, struct loc at)
{
    const struct call_record *calls = e->calls;
    return outside(e, at, &calls);
}

struct loc eval_place(const struct eval *e, struct loc at)
{
    at = at.line ? at : e->at;
    return e->trace ? trace_loc(e, at) : eval_outside(e, at);
}

/* Returns whether the last reported message is an error with this text. This is the case after an error in a
 * kernel: the error is reported first, and then the launch raises an exception with the same text. */
static bool is_reported(const struct diag *d, const char *text)
{
    const struct diagnostic *last = d->list.n ? &d->list.at[d->list.n - 1] : NULL;
    return last && last->severity == SEV_error && strcmp(last->message, text) == 0;
}

/* Reports the exception. If its message has already been reported, reports only the location at which the
 * exception was raised. Then adds notes for the innermost 10 calls that are in the user's code. */
static void report_exception(struct eval *e, const struct exception *x)
{
    struct text message;
    text_init(&message, e->arena);
    e->diag->exhausted |= error_is_exhaustion(x->error);
    const char *what = exception_message(e, x);
    text_printf(&message, *what ? "%s: %s" : "%s", x->class->class.name, what);
    const struct call_record *c = x->calls;
    if (is_reported(e->diag, what))
        diag_note(e->diag, outside(e, x->loc, &c), ERR_launched_here, x->class->class.name);
    else
        report(e, SEV_error, outside(e, x->loc, &c), x->error, message.s);
    report_note(e, (struct note){x->note_at, x->note, x->note_name});
    for (int n = 0; c && n < 10; c = c->outer)
        if (!is_own(e, c->at)) {
            diag_note(e->diag, c->at, ERR_called_here, c->callee);
            n++;
        }
}

/* Raises an error in a kernel: reports the error at once, and unwinds to the statement being traced. */
_Noreturn static void raise_in_kernel(struct eval *e, struct loc at, struct note note, enum error error,
                                      const char *message)
{
    report(e, SEV_error, trace_loc(e, at), error, message);
    report_note(e, note);
    eval_throw(e, &(struct exception){0});
}

_Noreturn static void raise(struct eval *e, struct loc at, const char *class_name, struct note note,
                            enum error error, va_list args)
{
    struct text message;
    text_init(&message, e->arena);
    diag_vformat(&message, error_text(error), args);
    if (e->trace)
        raise_in_kernel(e, at, note, error, message.s);
    struct exception x = {.loc = at, .message = message.s, .error = error, .calls = e->calls};
    x.note_at = note.at;
    x.note = note.error;
    x.note_name = note.name;
    x.class = builtin_class(e, class_name);
    if (!x.class)
        x.class = builtin_class(e, "RuntimeError");
    eval_throw(e, &x);
}

void eval_raise(struct eval *e, struct loc at, const char *class_name, enum error error, ...)
{
    va_list args;
    va_start(args, error);
    raise(e, at, class_name, (struct note){0}, error, args);
}

void eval_raise_noted(struct eval *e, struct loc at, const char *class_name, struct note note,
                      enum error error, ...)
{
    va_list args;
    va_start(args, error);
    raise(e, at, class_name, note, error, args);
}

void eval_deeper(struct eval *e, int by, struct loc at)
{
    e->depth += by;
    if (e->depth > DEPTH_MOST)
        eval_raise(e, at, "RecursionError", ERR_recursion_depth);
}

/* Returns whether the next check of the time limit is due: every 64 steps, and also when 1 MB of memory was allocated
 * since the last check, because one statement can create much data. */
static bool is_check_due(struct eval *e)
{
    enum { STEPS = 64, BYTES = 1 << 20 };
    if (e->steps % STEPS != 0 && e->arena->used_bytes - e->checked_at_bytes < BYTES)
        return false;
    e->checked_at_bytes = e->arena->used_bytes;
    return true;
}

void eval_step(struct eval *e, struct loc at)
{
    e->at = at;
    if (is_check_due(e))
        diag_hurry(e->diag, eval_place(e, at));
    if (++e->steps > e->step_limit && e->step_limit) {
        struct text limit;
        text_init(&limit, e->arena);
        text_printf(&limit, "%lld steps", (long long)e->step_limit);
        eval_raise(e, at, "RuntimeError", ERR_steps, limit.s);
    }
}

void eval_work(struct eval *e, size_t bytes)
{
    enum { BYTES_OF_A_STEP = 1024 };
    for (e->work += bytes; e->work >= BYTES_OF_A_STEP; e->work -= BYTES_OF_A_STEP)
        eval_step(e, e->at);
}

void eval_write(struct eval *e, const char *s, size_t n)
{
    if (e->host && e->host->write)
        e->host->write(e->host->ctx, s, n, false);
}

/* -- try, raise, with -- */

/* How a block has ended: with the exception `raised` if is_raised, else with `flow`. */
struct outcome {
    bool is_raised;
    enum flow flow;
    struct exception raised;
    int ndiagnostics, nerrors; /* numbers of diagnostics and errors before the block; set only if is_raised */
};

/* Executes a block, and catches an exception. Stores in *out how the block has ended. */
static void run_guarded(struct eval *e, struct scope *s, const struct ast_list *block, struct obj **result,
                        struct outcome *out)
{
    struct handler h;
    handler_push(e, &h);
    out->is_raised = false;
    if (setjmp(h.jump) == 0) {
        out->flow = eval_block(e, s, block, result);
        handler_pop(e, &h);
        return;
    }
    *out = (struct outcome){true, FLOW_next, h.raised, h.ndiagnostics, h.nerrors};
}

static bool matches(struct eval *e, const struct exception *x, const struct obj *type)
{
    if (type->kind == OBJ_tuple) {
        for (int i = 0; i < type->seq.n; i++)
            if (matches(e, x, type->seq.at[i]))
                return true;
        return false;
    }
    return type->kind == OBJ_class && x->class && class_is_a(x->class, type);
}

static const struct ast *find_handler(struct eval *e, struct scope *s, const struct ast *x,
                                      const struct exception *raised)
{
    for (int i = 0; i < x->try_.handlers.n; i++) {
        const struct ast *h = x->try_.handlers.at[i];
        if (!h->except.type || matches(e, raised, eval_expr(e, s, h->except.type)))
            return h;
    }
    return NULL;
}

/* Executes the `except` clause h for the exception that ended the `try` block with outcome *o. Stores in *o
 * how the clause has ended. If errors in a kernel caused the exception, drops the diagnostics of these
 * errors, because the program handles the exception. */
static void run_handler(struct eval *e, struct scope *s, const struct ast *h, struct obj **result,
                        struct outcome *o)
{
    struct exception caught = o->raised, *outer = e->handling;
    if (e->diag->nerrors > o->nerrors) {
        e->diag->list.n = o->ndiagnostics;
        e->diag->nerrors = o->nerrors;
    }
    if (h->except.name)
        scope_set(s, h->except.name, exception_value(e, &caught));
    e->handling = &caught;
    run_guarded(e, s, &h->except.body, result, o);
    e->handling = outer;
    if (h->except.name)
        scope_set(s, h->except.name, NULL);
}

static enum flow exec_try(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    struct outcome o;
    run_guarded(e, s, &x->try_.body, result, &o);
    if (o.is_raised) {
        const struct ast *h = o.raised.class ? find_handler(e, s, x, &o.raised) : NULL;
        if (h)
            run_handler(e, s, h, result, &o);
    } else if (o.flow == FLOW_next) {
        run_guarded(e, s, &x->try_.orelse, result, &o);
    }
    enum flow last = eval_block(e, s, &x->try_.final, result);
    if (last != FLOW_next)
        return last;
    if (o.is_raised)
        eval_throw(e, &o.raised);
    return o.flow;
}

_Noreturn static void exec_raise(struct eval *e, struct scope *s, const struct ast *x)
{
    if (!x->raise.value) {
        if (!e->handling)
            eval_raise(e, x->loc, "RuntimeError", ERR_nothing_to_raise);
        struct exception again = *e->handling;
        eval_throw(e, &again);
    }
    struct obj *value = eval_expr(e, s, x->raise.value);
    if (value->kind == OBJ_class)
        value = call_with(e, value, 0, NULL, x->loc);
    bool is_exception =
        value->kind == OBJ_instance && class_is_a(value->instance.class, builtin_class(e, "BaseException"));
    if (!is_exception)
        eval_raise(e, x->loc, "TypeError", ERR_not_exception);
    struct exception thrown = {
        .class = value->instance.class, .value = value, .loc = x->loc, .error = ERR_exception};
    thrown.calls = e->calls;
    eval_throw(e, &thrown);
}

static void exec_assert(struct eval *e, struct scope *s, const struct ast *x)
{
    bool holds = obj_truth(e, eval_expr(e, s, x->assert_.test), x->assert_.test->loc);
    if (holds || (e->host && e->host->assertions_hold))
        return;
    struct obj *message = x->assert_.message ? eval_expr(e, s, x->assert_.message) : NULL;
    struct obj *value = call_with(e, builtin_class(e, "AssertionError"), message != NULL, &message, x->loc);
    struct exception thrown = {
        .class = value->instance.class, .value = value, .loc = x->loc, .error = ERR_exception};
    thrown.calls = e->calls;
    eval_throw(e, &thrown);
}

static struct obj *enter(struct eval *e, struct obj *context, struct loc at)
{
    struct obj *inside = context;
    if (context->kind == OBJ_native && context->native.class->enter &&
        context->native.class->enter(e, context, &inside))
        return inside;
    inside = instance_special(e, context, "__enter__", 0, NULL, at);
    if (!inside)
        eval_raise(e, at, "TypeError", ERR_not_context, obj_type_name(context));
    return inside;
}

/* Calls __exit__ of a context manager. `raised` is the exception that ended the `with` block, or NULL.
 * Returns true if __exit__ suppresses this exception. */
static bool leave(struct eval *e, struct obj *context, struct exception *raised, struct loc at)
{
    if (context->kind == OBJ_native) {
        if (context->native.class->leave)
            context->native.class->leave(e, context);
        return false;
    }
    struct obj *args[] = {obj_none, obj_none, obj_none};
    if (raised) {
        args[0] = raised->class;
        args[1] = exception_value(e, raised);
    }
    struct obj *answer = instance_special(e, context, "__exit__", 3, args, at);
    return answer && raised && obj_truth(e, answer, at);
}

/* Executes a `with` statement, beginning with item number `item`. `with a, b:` is executed as `with a:` that contains
 * `with b:`. */
static enum flow exec_with(struct eval *e, struct scope *s, const struct ast *x, int item,
                           struct obj **result)
{
    if (item == x->with.items.n)
        return eval_block(e, s, &x->with.body, result);
    const struct ast *i = x->with.items.at[item];
    struct obj *context = eval_expr(e, s, i->with_item.context);
    struct obj *inside = enter(e, context, i->loc);
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        if (i->with_item.target)
            eval_assign(e, s, i->with_item.target, inside);
        enum flow flow = exec_with(e, s, x, item + 1, result);
        handler_pop(e, &h);
        leave(e, context, NULL, i->loc);
        return flow;
    }
    if (!leave(e, context, h.raised.class ? &h.raised : NULL, i->loc))
        eval_throw(e, &h.raised);
    return FLOW_next;
}

/* -- loops -- */

/* Executes the body once. Returns true if the loop ends; *flow is then FLOW_break or FLOW_return. */
static bool ends_loop(struct eval *e, struct scope *s, const struct ast_list *body, struct obj **result,
                      enum flow *flow)
{
    *flow = eval_block(e, s, body, result);
    return *flow == FLOW_break || *flow == FLOW_return;
}

static enum flow exec_for(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    struct iter it = iter_of(e, eval_expr(e, s, x->for_.iter), x->for_.iter->loc);
    enum flow flow;
    for (struct obj *item; (item = iter_next(e, &it));) {
        eval_assign(e, s, x->for_.target, item);
        if (ends_loop(e, s, &x->for_.body, result, &flow))
            return flow == FLOW_return ? flow : FLOW_next;
    }
    return eval_block(e, s, &x->for_.orelse, result);
}

static enum flow exec_while(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    enum flow flow;
    while (obj_truth(e, eval_expr(e, s, x->while_.test), x->while_.test->loc)) {
        eval_step(e, x->loc);
        if (ends_loop(e, s, &x->while_.body, result, &flow))
            return flow == FLOW_return ? flow : FLOW_next;
    }
    return eval_block(e, s, &x->while_.orelse, result);
}

/* -- assignment -- */

static void assign_sequence(struct eval *e, struct scope *s, const struct ast *target, struct obj *value)
{
    const struct ast_list *parts = &target->tuple.items;
    if (target->kind == AST_list)
        parts = &target->list.items;
    int star = -1;
    for (int i = 0; i < parts->n; i++)
        if (parts->at[i]->kind == AST_starred)
            star = i;
    struct obj *items =
        value->kind == OBJ_list || value->kind == OBJ_tuple ? value : iter_collect(e, value, target->loc);
    int n = items->seq.n, after = parts->n - star - 1;
    if (n < parts->n - (star >= 0))
        eval_raise(e, target->loc, "ValueError", star < 0 ? ERR_unpack_few : ERR_unpack_few_star,
                   parts->n - (star >= 0), n);
    if (star < 0 && n > parts->n)
        eval_raise(e, target->loc, "ValueError", ERR_unpack_many, parts->n);
    items = obj_list(e, n, items->seq.at); /* a copy, because the assignments may change the list */
    for (int i = 0; i < parts->n; i++) {
        if (i == star)
            eval_assign(e, s, parts->at[i]->starred.value,
                        obj_list(e, n - after - star, items->seq.at + star));
        else
            eval_assign(e, s, parts->at[i], items->seq.at[star >= 0 && i > star ? n - parts->n + i : i]);
    }
}

void eval_assign(struct eval *e, struct scope *s, const struct ast *target, struct obj *value)
{
    switch (target->kind) {
    case AST_name: scope_set(s, target->name.id, value); break;
    case AST_tuple:
    case AST_list: assign_sequence(e, s, target, value); break;
    case AST_attribute:
        eval_setattr(e, eval_expr(e, s, target->attribute.value), target->attribute.name, value, target->loc);
        break;
    case AST_subscript: {
        struct obj *x = eval_expr(e, s, target->subscript.value);
        eval_setitem(e, x, eval_expr(e, s, target->subscript.index), value, target->loc);
        break;
    }
    default: eval_raise(e, target->loc, "SyntaxError", ERR_target_kind);
    }
}

static void exec_augmented(struct eval *e, struct scope *s, const struct ast *x)
{
    const struct ast *target = x->augmented.target;
    enum oper op = x->augmented.op;
    struct loc at = x->augmented.op_loc;
    if (target->kind == AST_subscript) {
        struct obj *of = eval_expr(e, s, target->subscript.value),
                   *index = eval_expr(e, s, target->subscript.index);
        struct obj *old = eval_getitem(e, of, index, target->loc);
        eval_setitem(e, of, index, eval_inplace(e, op, old, eval_expr(e, s, x->augmented.value), at),
                     target->loc);
    } else if (target->kind == AST_attribute) {
        struct obj *of = eval_expr(e, s, target->attribute.value);
        struct obj *old = eval_getattr(e, of, target->attribute.name, target->attribute.name_loc);
        struct obj *value = eval_inplace(e, op, old, eval_expr(e, s, x->augmented.value), at);
        eval_setattr(e, of, target->attribute.name, value, target->loc);
    } else {
        if (target->kind == AST_name && s->parent && !s->is_class && !scope_binds(s, target->name.id))
            eval_raise(e, target->loc, "UnboundLocalError", ERR_unbound_local, target->name.id);
        struct obj *old = eval_expr(e, s, target);
        eval_assign(e, s, target, eval_inplace(e, op, old, eval_expr(e, s, x->augmented.value), at));
    }
}

/* Executes an annotated assignment. In the body of a class, also records the target's name in __annotations__, from
 * which named tuples and dataclasses get their fields. */
static void exec_annotated(struct eval *e, struct scope *s, const struct ast *x)
{
    const struct ast *target = x->annotated.target;
    if (x->annotated.value)
        eval_assign(e, s, target, eval_expr(e, s, x->annotated.value));
    if (!s->is_class || target->kind != AST_name)
        return;
    const char *key = intern_str(e->strings, "__annotations__");
    if (!scope_get(s, key))
        scope_set(s, key, obj_dict(e));
    dict_set(e, scope_get(s, key)->dict, obj_cstr(e, target->name.id), obj_none);
}

static void exec_assign(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *value = eval_expr(e, s, x->assign.value);
    for (int i = 0; i < x->assign.targets.n; i++)
        eval_assign(e, s, x->assign.targets.at[i], value);
}

static void delete (struct eval *e, struct scope *s, const struct ast *x)
{
    if (x->kind == AST_name) {
        lookup_name(e, s, x->name.id, x->loc);
        scope_set(s, x->name.id, NULL);
    } else if (x->kind == AST_subscript) {
        struct obj *of = eval_expr(e, s, x->subscript.value);
        eval_delitem(e, of, eval_expr(e, s, x->subscript.index), x->loc);
    } else if (x->kind == AST_attribute) {
        eval_setattr(e, eval_expr(e, s, x->attribute.value), x->attribute.name, NULL, x->loc);
    } else if (x->kind == AST_tuple) {
        for (int i = 0; i < x->tuple.items.n; i++)
            delete (e, s, x->tuple.items.at[i]);
    }
}

/* -- statements -- */

static void declare(struct scope *s, const struct ast_list *names, bool global)
{
    for (int i = 0; i < names->n && s->parent; i++)
        scope_declare(s, names->at[i]->name.id, global);
}

static void define(struct eval *e, struct scope *s, const struct ast *x)
{
    const struct ast_list *decorators = x->kind == AST_def ? &x->def.decorators : &x->klass.decorators;
    struct obj *made = x->kind == AST_def ? make_function(e, s, x) : make_class(e, s, x);
    scope_set(s, x->kind == AST_def ? x->def.name : x->klass.name, apply_decorators(e, s, decorators, made));
}

/* Executes a statement that always ends with FLOW_next, unless it raises an exception. */
static void exec_simple(struct eval *e, struct scope *s, const struct ast *x)
{
    switch (x->kind) {
    case AST_eval: eval_expr(e, s, x->eval.value); break;
    case AST_assign: exec_assign(e, s, x); break;
    case AST_augmented: exec_augmented(e, s, x); break;
    case AST_annotated: exec_annotated(e, s, x); break;
    case AST_def:
    case AST_class: define(e, s, x); break;
    case AST_raise: exec_raise(e, s, x);
    case AST_assert: exec_assert(e, s, x); break;
    case AST_import: exec_import(e, s, x); break;
    case AST_import_from: exec_import_from(e, s, x); break;
    case AST_global: declare(s, &x->global.names, true); break;
    case AST_nonlocal: declare(s, &x->nonlocal.names, false); break;
    case AST_del:
        for (int i = 0; i < x->del.targets.n; i++)
            delete (e, s, x->del.targets.at[i]);
        break;
    default: break;
    }
}

static enum flow exec(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    eval_step(e, x->loc);
    switch (x->kind) {
    case AST_if: {
        bool is_taken = obj_truth(e, eval_expr(e, s, x->if_.test), x->if_.test->loc);
        return eval_block(e, s, is_taken ? &x->if_.body : &x->if_.orelse, result);
    }
    case AST_for: return exec_for(e, s, x, result);
    case AST_while: return exec_while(e, s, x, result);
    case AST_try: return exec_try(e, s, x, result);
    case AST_with: return exec_with(e, s, x, 0, result);
    case AST_break: return FLOW_break;
    case AST_continue: return FLOW_continue;
    case AST_return:
        *result = x->return_.value ? eval_expr(e, s, x->return_.value) : obj_none;
        return FLOW_return;
    default: exec_simple(e, s, x); return FLOW_next;
    }
}

enum flow eval_block(struct eval *e, struct scope *s, const struct ast_list *block, struct obj **result)
{
    for (int i = 0; i < block->n; i++) {
        enum flow flow = (e->trace ? kernel_statement : exec)(e, s, block->at[i], result);
        if (flow != FLOW_next)
            return flow;
    }
    return FLOW_next;
}

/* -- modules -- */

/* Returns whether the statement can be skipped in a file that is loaded only for its kernels. This is true
 * for an expression statement, unless it calls an attribute: a method may add data that kernels need
 * (configs.append). */
static bool is_for_host_only(const struct ast *x)
{
    if (x->kind != AST_eval)
        return false;
    const struct ast *call = x->eval.value;
    return call->kind != AST_call || call->call.func->kind != AST_attribute;
}

static void exec_lenient(struct eval *e, struct scope *s, const struct ast_list *block, int64_t last_step);

/* Executes an `if` of a file that is loaded only for its kernels. The condition may raise an exception, for example
 * because only a host can compute it. The `if` then executes its body, so that the kernels in the body can be
 * compiled. */
static void exec_lenient_if(struct eval *e, struct scope *s, const struct ast *x, int64_t last_step)
{
    struct handler h;
    handler_push(e, &h);
    volatile bool is_taken = true;
    if (setjmp(h.jump) == 0) {
        is_taken = obj_truth(e, eval_expr(e, s, x->if_.test), x->if_.test->loc);
        handler_pop(e, &h);
    }
    exec_lenient(e, s, is_taken ? &x->if_.body : &x->if_.orelse, last_step);
}

/* Executes the statements of a file that is loaded only for its kernels. After step number `last_step`, every
 * statement fails. If a statement fails, binds unknown values (import.c) to the names that the statement
 * should have bound, unless these names already have values. */
static void exec_lenient(struct eval *e, struct scope *s, const struct ast_list *block, int64_t last_step)
{
    for (volatile int i = 0; i < block->n; i++) {
        const struct ast *x = block->at[i];
        struct obj *result = NULL;
        if (is_for_host_only(x))
            continue;
        if (x->kind == AST_if) {
            exec_lenient_if(e, s, x, last_step);
            continue;
        }
        struct handler h;
        handler_push(e, &h);
        e->step_limit = e->steps + STEPS_OF_STATEMENT < last_step ? e->steps + STEPS_OF_STATEMENT : last_step;
        if (setjmp(h.jump) == 0) {
            exec(e, s, x, &result);
            handler_pop(e, &h);
        } else {
            bind_targets(e, s, block->at[i], NULL);
        }
    }
}

/* Executes all statements of a file that is loaded only for its kernels, with at most STEPS_OF_FILE steps. */
static void load_definitions(struct eval *e, struct scope *s, const struct ast_list *block)
{
    int64_t limit = e->step_limit;
    exec_lenient(e, s, block, e->steps + STEPS_OF_FILE);
    e->step_limit = limit;
}

struct obj *eval_module(struct eval *e, const struct source *src, const char *name)
{
    int nerrors = e->diag->nerrors;
    const struct ast *tree = parse_module(e->arena, e->strings, e->diag, src);
    if (e->diag->nerrors > nerrors)
        eval_raise(e, (struct loc){.file = (uint16_t)src->index}, "SyntaxError", ERR_module_syntax,
                   src->name);
    struct obj *module = obj_module(e, name);
    struct scope *s = module->module.scope;
    scope_set(s, intern_str(e->strings, "__name__"), obj_cstr(e, name));
    scope_set(s, intern_str(e->strings, "__file__"), obj_cstr(e, src->name));
    *map_at(&e->modules, module->module.name, strlen(module->module.name)) = module;
    *map_at_ptr(&e->sources, s) = (void *)src;
    if (!e->main)
        e->main = s;
    struct obj *result = NULL;
    if (e->definitions_only)
        load_definitions(e, s, &tree->module.body);
    else
        eval_block(e, s, &tree->module.body, &result);
    return module;
}

/* Reports an uncaught exception. Does not report a syntax error or kernel error again if it has already been
 * reported, and does not report a SystemExit whose code is an int or None. Returns whether the program itself
 * failed: false for exit status 0, for a syntax error and for an error in a kernel; true otherwise. */
static bool report_uncaught(struct eval *e, struct handler *h)
{
    struct exception *x = &h->raised;
    bool is_reported = e->diag->nerrors > h->nerrors;
    if (!x->class)
        return false;
    if (class_is_a(x->class, builtin_class(e, "SystemExit"))) {
        struct obj *code =
            x->value ? scope_get(x->value->instance.scope, intern_str(e->strings, "code")) : NULL;
        int64_t status;
        if (!code || code->kind == OBJ_none)
            return false;
        if (obj_as_int(code, &status))
            return status != 0;
    }
    bool is_compilation = class_is_a(x->class, builtin_class(e, "CompilationError")) ||
                          class_is_a(x->class, builtin_class(e, "SyntaxError"));
    if (is_compilation && is_reported)
        return false;
    report_exception(e, x);
    return !is_compilation;
}

struct obj *eval_file(struct eval *e, const struct source *src, const char *module_name, bool *failed)
{
    if (failed)
        *failed = false;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        struct obj *module = eval_module(e, src, module_name);
        handler_pop(e, &h);
        return module;
    }
    bool is_own = report_uncaught(e, &h);
    if (failed)
        *failed = is_own;
    return NULL;
}

void eval_init(struct eval *e, struct arena *a, struct interner *strings, struct diag *d,
               const struct host *h)
{
    *e = (struct eval){.arena = a, .strings = strings, .diag = d, .host = h};
    e->definitions_only = !h || h->definitions_only;
    map_init(&e->modules, a);
    map_init(&e->ids, a);
    map_init(&e->signatures, a);
    map_init(&e->rows, a);
    map_init(&e->sources, a);
    e->builtins = obj_module(e, "builtins");
    builtins_define(e);
    exceptions_define(e);
}
