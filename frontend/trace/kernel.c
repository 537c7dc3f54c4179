/* SPDX-License-Identifier: MIT */
/* kernel.c: executes the statements of kernels. Reports the statements that kernels must not contain, and
 * calls the tracer's functions for all others.
 *
 *     if BLOCK > 64: ...      BLOCK is a constexpr: executes only the branch that is taken
 *     if n > 64: ...          n is a tensor: calls trace_if, which traces both branches
 *     x += 1                  calls trace_assign with x + 1
 *     try: ...                error: unsupported AST node type: Try
 *
 * After an error in a statement, the names that the statement assigns have the value obj_error, and the tracer
 * continues with the next statement. Uses of obj_error report no errors. */
#include "frontend/python/python.h"

#include <string.h>

/* Returns NULL if kernels may contain the node, else the node's name in Python's ast module. */
static const char *refused(const struct ast *x)
{
    switch (x->kind) {
    case AST_break: return "Break";
    case AST_continue: return "Continue";
    case AST_del: return "Delete";
    case AST_try: return "Try";
    case AST_raise: return "Raise";
    case AST_global: return "Global";
    case AST_nonlocal: return "Nonlocal";
    case AST_import: return "Import";
    case AST_import_from: return "ImportFrom";
    case AST_class: return "ClassDef";
    case AST_with: return x->with.is_async ? "AsyncWith" : "With";
    case AST_lambda: return "Lambda";
    case AST_dict: return "Dict";
    case AST_set: return "Set";
    case AST_await: return "Await";
    case AST_yield: return x->yield.is_from ? "YieldFrom" : "Yield";
    case AST_comprehension:
        return x->comprehension.form == FORM_set         ? "SetComp"
               : x->comprehension.form == FORM_dict      ? "DictComp"
               : x->comprehension.form == FORM_generator ? "GeneratorExp"
                                                         : NULL;
    case AST_bytes:
    case AST_imaginary: return "Constant";
    default: return NULL;
    }
}

void kernel_check_expr(struct eval *e, const struct ast *x)
{
    const char *name = refused(x);
    if (x->kind == AST_break || x->kind == AST_continue)
        eval_raise(e, x->loc, "UnsupportedLanguageConstruct",
                   x->kind == AST_break ? ERR_kernel_break : ERR_kernel_continue);
    if (name)
        eval_raise(e, x->loc, "UnsupportedLanguageConstruct", ERR_unsupported_node, name);
}

/* Evaluates a comprehension, which must have one `for` over a tuple, list or range, and no `if`. The result is a
 * tuple. As in Triton, the loop variable stays bound after the comprehension. */
struct obj *kernel_comprehension(struct eval *e, struct scope *s, const struct ast *x, struct obj *items)
{
    const struct ast *c = x->comprehension.clauses.at[0];
    if (x->comprehension.clauses.n > 1 || c->clause.tests.n > 0)
        eval_raise(e, x->loc, "CompilationError", ERR_kernel_comprehension);
    if (items->kind == OBJ_error)
        return obj_error;
    if (items->kind != OBJ_tuple && items->kind != OBJ_list && items->kind != OBJ_range)
        eval_raise(e, c->clause.iter->loc, "CompilationError", ERR_kernel_comprehension_over,
                   obj_type_name(items));
    struct obj *out = obj_tuple(e, 0, NULL);
    struct iter it = iter_of(e, items, x->loc);
    for (struct obj *item; (item = iter_next(e, &it));) {
        eval_assign(e, s, c->clause.target, item);
        struct obj *value = eval_expr(e, s, x->comprehension.element);
        VEC_PUSH(e->arena, &out->seq, value);
    }
    return out;
}

/* -- targets -- */

/* Binds x to the names in a target of an assignment. If x is NULL, binds each name that is not bound yet to an unknown
 * value (obj_unknown). */
static void bind_target(struct eval *e, struct scope *s, const struct ast *target, struct obj *x)
{
    if (target->kind == AST_name) {
        if (x || !scope_get(s, target->name.id))
            scope_set(s, target->name.id, x ? x : obj_unknown(e, target->name.id));
        return;
    }
    struct ast_cursor at = {0};
    bool is_display = target->kind == AST_tuple || target->kind == AST_list || target->kind == AST_starred;
    for (const struct ast *c; is_display && (c = ast_child(target, &at));)
        bind_target(e, s, c, x);
}

static void bind_name(struct eval *e, struct scope *s, const char *name, struct obj *x)
{
    struct ast target = {.kind = AST_name, .name.id = name};
    if (name)
        bind_target(e, s, &target, x);
}

/* Binds x to the name that an import binds; `import a.b` binds a. */
static void bind_import(struct eval *e, struct scope *s, const struct ast *alias, struct obj *x)
{
    const char *name = alias->alias.as ? alias->alias.as : alias->alias.name;
    bind_name(e, s, intern(e->strings, name, strcspn(name, ".")), x);
}

void bind_targets(struct eval *e, struct scope *s, const struct ast *n, struct obj *x)
{
    switch (n->kind) {
    case AST_assign:
        for (int i = 0; i < n->assign.targets.n; i++)
            bind_target(e, s, n->assign.targets.at[i], x);
        break;
    case AST_augmented: bind_target(e, s, n->augmented.target, x); break;
    case AST_annotated: bind_target(e, s, n->annotated.target, x); break;
    case AST_for: bind_target(e, s, n->for_.target, x); break;
    case AST_walrus: bind_target(e, s, n->walrus.target, x); break;
    case AST_with_item:
        if (n->with_item.target)
            bind_target(e, s, n->with_item.target, x);
        break;
    case AST_alias: bind_import(e, s, n, x); break;
    case AST_def: bind_name(e, s, n->def.name, x); return;
    case AST_class: bind_name(e, s, n->klass.name, x); return;
    case AST_lambda:
    case AST_comprehension: return;
    default: break;
    }
    struct ast_cursor at = {0};
    for (const struct ast *c; (c = ast_child(n, &at));)
        bind_targets(e, s, c, x);
}

/* -- statements -- */

/* Returns whether the annotation is `constexpr`, an attribute such as `tl.constexpr`, or a string that contains
 * "constexpr". */
bool is_constexpr_annotation(const struct ast *x)
{
    if (!x)
        return false;
    if (x->kind == AST_name)
        return strcmp(x->name.id, "constexpr") == 0;
    if (x->kind == AST_attribute)
        return strcmp(x->attribute.name, "constexpr") == 0;
    return x->kind == AST_str && strstr(x->str.value.s, "constexpr");
}

static void trace_annotated(struct eval *e, struct scope *s, const struct ast *x)
{
    bool is_constexpr = is_constexpr_annotation(x->annotated.annotation);
    if (x->annotated.value)
        trace_assign(e, s, x->annotated.target, eval_expr(e, s, x->annotated.value), is_constexpr);
    else if (is_constexpr)
        trace_assign(e, s, x->annotated.target, NULL, true);
}

/* Traces x op= y as x = x op y. If x is not a name, trace_assign reports an error. */
static void trace_augmented(struct eval *e, struct scope *s, const struct ast *x)
{
    if (x->augmented.target->kind != AST_name) {
        trace_assign(e, s, x->augmented.target, obj_none, false);
        return;
    }
    struct obj *old = eval_expr(e, s, x->augmented.target);
    struct obj *value = eval_expr(e, s, x->augmented.value);
    trace_assign(e, s, x->augmented.target, eval_binary(e, x->augmented.op, old, value, x->augmented.op_loc),
                 false);
}

static void trace_assignment(struct eval *e, struct scope *s, const struct ast *x)
{
    if (x->assign.targets.n > 1)
        eval_raise(e, x->loc, "CompilationError", ERR_kernel_targets);
    trace_assign(e, s, x->assign.targets.at[0], eval_expr(e, s, x->assign.value), false);
}

/* Traces `assert c, message` as tl.device_assert(c, message). */
static void trace_assert(struct eval *e, struct scope *s, const struct ast *x)
{
    struct obj *args[] = {eval_expr(e, s, x->assert_.test), obj_cstr(e, "")};
    if (x->assert_.message)
        args[1] = eval_expr(e, s, x->assert_.message);
    struct obj *language = builtins_module(e, "triton.language");
    struct obj *check = eval_getattr(e, language, intern_str(e->strings, "device_assert"), x->loc);
    call_with(e, check, 2, args, x->loc);
}

static enum flow kernel_if(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    struct obj *test = trace_truth(e, eval_expr(e, s, x->if_.test), x->if_.test->loc);
    if (test->kind == OBJ_tensor)
        return trace_if(e, s, x, test, result);
    if (test->kind == OBJ_error) {
        bind_targets(e, s, x, obj_error);
        return FLOW_next;
    }
    if (test->kind != OBJ_bool && test->kind != OBJ_int && test->kind != OBJ_none)
        eval_raise(e, x->if_.test->loc, "CompilationError", ERR_kernel_condition, obj_type_name(test));
    return eval_block(e, s, obj_truth(e, test, x->loc) ? &x->if_.body : &x->if_.orelse, result);
}

static enum flow dispatch(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    kernel_check_expr(e, x);
    switch (x->kind) {
    case AST_eval:
        trace_drop_result(e, x->eval.value->loc);
        eval_expr(e, s, x->eval.value);
        break;
    case AST_assign: trace_assignment(e, s, x); break;
    case AST_annotated: trace_annotated(e, s, x); break;
    case AST_augmented: trace_augmented(e, s, x); break;
    case AST_assert: trace_assert(e, s, x); break;
    case AST_if: return kernel_if(e, s, x, result);
    case AST_for: return trace_for(e, s, x, result);
    case AST_while: return trace_while(e, s, x, result);
    case AST_return:
        *result = x->return_.value ? eval_expr(e, s, x->return_.value) : obj_none;
        return FLOW_return;
    case AST_def: eval_raise(e, x->loc, "UnsupportedLanguageConstruct", ERR_kernel_def);
    default: break;
    }
    return FLOW_next;
}

/* Reports an exception that Python code raised at compile time, as an error of the kernel's statement x. Does
 * nothing after an error in the kernel itself, which is already reported. */
static void report_raised(struct eval *e, const struct ast *x, const struct exception *raised)
{
    if (!raised->class)
        return;
    diag_error(e->diag, trace_loc(e, x->loc), ERR_raised_at_compile_time, raised->class->class.name,
               exception_message(e, raised));
    diag_note(e->diag, raised->loc, ERR_raised_here);
}

enum flow kernel_statement(struct eval *e, struct scope *s, const struct ast *x, struct obj **result)
{
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        eval_step(e, x->loc);
        trace_statement(e, s, x->loc);
        enum flow flow = dispatch(e, s, x, result);
        handler_pop(e, &h);
        return flow;
    }
    report_raised(e, x, &h.raised);
    bind_targets(e, s, x, obj_error);
    if (x->kind != AST_return)
        return FLOW_next;
    *result = obj_error;
    return FLOW_return;
}
