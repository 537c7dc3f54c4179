/* SPDX-License-Identifier: MIT */
/* parse_stmt.c: parses statements.
 *
 *     def f(x):          (def f [(param x)] body (return (binary (name x) + (int 1))))
 *         return x + 1
 *
 * The parser first parses the target of an assignment as an expression. The parser checks the target when `=`, an
 * operator like `+=`, or `:` follows. */
#include "frontend/python/parse.h"

#include <string.h>

/* -- blocks -- */

/* Parses the ':' that ends the head of a compound statement. */
static void head_end(struct parser *p)
{
    if (next_is(p, TOK_assign))
        parse_fail(p, p->t, ERR_syntax_equal);
    if (!next_is(p, TOK_colon))
        parse_expected(p, "':'");
    parse_take(p);
}

static void simple_statements(struct parser *p, ast_vec *out);

/* block: ':' NEWLINE INDENT statements DEDENT | ':' simple_statements. For messages, `what` names the
 * statement, and `head` is its first token. */
static struct ast_list block(struct parser *p, const char *what, const struct token *head)
{
    head_end(p);
    ast_vec body = {0};
    parse_enter(p);
    if (next_is(p, TOK_newline)) {
        const struct token *newline = p->t;
        parse_take(p);
        if (!next_is(p, TOK_indent))
            parse_fail(p, next_is(p, TOK_end) || next_is(p, TOK_dedent) ? newline : p->t, ERR_indent_expected,
                       what, (int)head->line);
        parse_take(p);
        parse_statements(p, &body);
        parse_accept(p, TOK_dedent);
    } else {
        simple_statements(p, &body);
    }
    p->depth--;
    return parse_list(p, &body);
}

/* Parses the block of a loop, in which break and continue are allowed. */
static struct ast_list loop_block(struct parser *p, const char *what, const struct token *head)
{
    bool was_in_loop = p->in_loop;
    p->in_loop = true;
    struct ast_list body = block(p, what, head);
    p->in_loop = was_in_loop;
    return body;
}

/* ('else' block)? */
static struct ast_list else_block(struct parser *p)
{
    const struct token *head = p->t;
    if (!parse_accept(p, TOK_else))
        return (struct ast_list){0};
    if (next_is(p, TOK_if))
        parse_fail(p, p->t, ERR_syntax_elif);
    return block(p, "'else' statement", head);
}

/* -- assignments -- */

/* Checks that a program can assign to the target n. If is_direct, n is the whole text before a '=', so the message
 * suggests '=='. */
static void check_target(struct parser *p, const struct ast *n, bool is_direct)
{
    const char *what = parse_describe(n);
    bool is_constant =
        n->kind == AST_none || n->kind == AST_true || n->kind == AST_false || n->kind == AST_ellipsis;
    if (what)
        parse_fail_at(
            p, n, is_direct && !is_constant && n->kind != AST_yield ? ERR_assign_equal : ERR_assign_to, what);
    if (n->kind == AST_starred) {
        if (is_direct)
            parse_fail_at(p, n, ERR_assign_star);
        check_target(p, n->starred.value, false);
        return;
    }
    if (n->kind != AST_tuple && n->kind != AST_list)
        return;
    const struct ast_list *items = n->kind == AST_tuple ? &n->tuple.items : &n->list.items;
    int nstars = 0;
    for (int i = 0; i < items->n; i++) {
        check_target(p, items->at[i], false);
        nstars += items->at[i]->kind == AST_starred;
        if (nstars > 1)
            parse_fail_at(p, items->at[i], ERR_assign_stars);
    }
}

static void check_no_star(struct parser *p, const struct ast *n)
{
    if (n->kind == AST_starred)
        parse_fail_at(p, n, ERR_star);
}

/* assignment: (star_targets '=')+ (yield_expr | star_expressions) */
static struct ast *assignment(struct parser *p, const struct token *start, struct ast *first)
{
    ast_vec targets = {0};
    struct ast *value = first;
    while (parse_accept(p, TOK_assign)) {
        check_target(p, value, true);
        VEC_PUSH(p->arena, &targets, value);
        value = parse_value(p);
    }
    check_no_star(p, value);
    struct ast *n = parse_new(p, AST_assign, start);
    n->assign.targets = parse_list(p, &targets);
    n->assign.value = value;
    return parse_done(p, n);
}

static const char *describe_any(const struct ast *n)
{
    const char *what = parse_describe(n);
    return what ? what : n->kind == AST_tuple ? "tuple" : n->kind == AST_list ? "list" : "starred expression";
}

static bool is_single_target(const struct ast *n)
{
    return n->kind == AST_name || n->kind == AST_attribute || n->kind == AST_subscript;
}

/* assignment: single_target augassign (yield_expr | star_expressions) */
static struct ast *augmented(struct parser *p, const struct token *start, struct ast *target)
{
    if (!is_single_target(target))
        parse_fail_at(p, target, ERR_assign_augmented, describe_any(target));
    struct ast *n = parse_new(p, AST_augmented, start);
    n->augmented.target = target;
    n->augmented.op = token_info[p->t->kind].oper;
    n->augmented.op_loc = parse_loc(p, p->t);
    parse_take(p);
    n->augmented.value = parse_value(p);
    check_no_star(p, n->augmented.value);
    return parse_done(p, n);
}

static bool is_word(const struct ast *n, const char *word)
{
    return n->kind == AST_name && strcmp(n->name.id, word) == 0;
}

/* If the expression n is the beginning of a `match` statement, reports that `match` is not supported. For the
 * parser, n is the call match(x) in `match (x):`, and the name match in `match x:`. */
static void check_match(struct parser *p, const struct ast *n)
{
    if (is_word(n, "match") || (n->kind == AST_call && is_word(n->call.func, "match")))
        parse_unsupported(p, n, "the match statement");
}

/* assignment: single_target ':' expression ('=' (yield_expr | star_expressions))? */
static struct ast *annotated(struct parser *p, const struct token *start, struct ast *target)
{
    if (p->t[1].kind == TOK_newline)
        check_match(p, target);
    if (!is_single_target(target))
        parse_fail_at(p, target, ERR_assign_annotated, describe_any(target));
    struct ast *n = parse_new(p, AST_annotated, start);
    n->annotated.target = target;
    parse_take(p);
    n->annotated.annotation = parse_plain_expression(p);
    if (parse_accept(p, TOK_assign))
        n->annotated.value = parse_value(p);
    return parse_done(p, n);
}

/* simple_statement: assignment | star_expressions */
static struct ast *expression_statement(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *value = parse_value(p);
    if (next_is(p, TOK_assign))
        return assignment(p, start, value);
    if (token_info[p->t->kind].class == TOK_CLASS_augment)
        return augmented(p, start, value);
    if (next_is(p, TOK_colon))
        return annotated(p, start, value);
    check_no_star(p, value);
    if (parse_begins_expression(p))
        check_match(p, value);
    if (parse_begins_expression(p) && (is_word(value, "print") || is_word(value, "exec")))
        parse_fail_at(p, value, ERR_syntax_print, value->name.id, value->name.id);
    struct ast *n = parse_new(p, AST_eval, start);
    n->eval.value = value;
    return parse_done(p, n);
}

/* -- simple statements -- */

/* 'return' star_expressions? */
static struct ast *return_statement(struct parser *p)
{
    struct ast *n = parse_new(p, AST_return, p->t);
    if (!p->in_function && !p->is_lenient)
        parse_fail(p, p->t, ERR_outside_function, "return");
    parse_take(p);
    if (!next_is(p, TOK_newline) && !next_is(p, TOK_semicolon)) {
        n->return_.value = parse_star_expressions(p);
        check_no_star(p, n->return_.value);
    }
    return parse_done(p, n);
}

/* 'raise' (expression ('from' expression)?)? */
static struct ast *raise_statement(struct parser *p)
{
    struct ast *n = parse_new(p, AST_raise, p->t);
    parse_take(p);
    if (parse_begins_expression(p))
        n->raise.value = parse_plain_expression(p);
    if (n->raise.value && parse_accept(p, TOK_from))
        n->raise.cause = parse_plain_expression(p);
    return parse_done(p, n);
}

/* 'assert' expression (',' expression)? */
static struct ast *assert_statement(struct parser *p)
{
    struct ast *n = parse_new(p, AST_assert, p->t);
    parse_take(p);
    n->assert_.test = parse_plain_expression(p);
    if (next_is(p, TOK_assign))
        parse_fail(p, p->t, ERR_syntax_equal);
    if (parse_accept(p, TOK_comma))
        n->assert_.message = parse_plain_expression(p);
    return parse_done(p, n);
}

/* 'del' target (',' target)* ','? */
static struct ast *del_statement(struct parser *p)
{
    struct ast *n = parse_new(p, AST_del, p->t);
    parse_take(p);
    const struct token *start = p->t;
    struct ast *targets = parse_star_expressions(p);
    parse_check_targets(p, targets, ERR_delete_target);
    ast_vec one = {0};
    VEC_PUSH(p->arena, &one, targets);
    bool is_row = targets->kind == AST_tuple && start->kind != TOK_lparen;
    n->del.targets = is_row ? targets->tuple.items : parse_list(p, &one);
    return parse_done(p, n);
}

/* ('global' | 'nonlocal') NAME (',' NAME)* */
static struct ast *scope_statement(struct parser *p, enum ast_kind kind)
{
    struct ast *n = parse_new(p, kind, p->t);
    if (kind == AST_nonlocal && !p->in_function && !p->in_class && !p->is_lenient)
        parse_fail(p, p->t, ERR_outside_nonlocal);
    parse_take(p);
    ast_vec names = {0};
    do {
        struct ast *name = parse_new(p, AST_name, p->t);
        name->name.id = parse_name(p, &name->loc, "a name");
        VEC_PUSH(p->arena, &names, name);
    } while (parse_accept(p, TOK_comma));
    n->global.names = parse_list(p, &names); /* nonlocal nodes have this field at the same offset */
    return parse_done(p, n);
}

static struct ast *word_statement(struct parser *p, enum ast_kind kind)
{
    struct ast *n = parse_new(p, kind, p->t);
    if (kind != AST_pass && !p->in_loop && !p->is_lenient)
        parse_fail(p, p->t, ERR_outside_loop, token_info[p->t->kind].spelling);
    parse_take(p);
    return n;
}

/* -- imports -- */

/* dotted_name: NAME ('.' NAME)* */
static const char *dotted_name(struct parser *p)
{
    struct text name;
    text_init(&name, p->arena);
    do {
        struct loc at;
        text_str(&name, parse_name(p, &at, "a module's name"));
        if (next_is(p, TOK_dot))
            text_char(&name, '.');
    } while (parse_accept(p, TOK_dot));
    return intern(p->strings, name.s, name.len);
}

/* ('as' NAME)? */
static struct ast *import_as(struct parser *p, struct ast *alias)
{
    if (parse_accept(p, TOK_as))
        alias->alias.as = parse_name(p, &alias->alias.as_loc, "a name after 'as'");
    return parse_done(p, alias);
}

/* 'import' dotted_name ('as' NAME)? (',' dotted_name ('as' NAME)?)* */
static struct ast *import_statement(struct parser *p)
{
    struct ast *n = parse_new(p, AST_import, p->t);
    parse_take(p);
    if (next_is(p, TOK_newline))
        parse_fail(p, p->t, ERR_import_names);
    ast_vec names = {0};
    do {
        struct ast *alias = parse_new(p, AST_alias, p->t);
        alias->alias.name = dotted_name(p);
        VEC_PUSH(p->arena, &names, import_as(p, alias));
    } while (parse_accept(p, TOK_comma));
    n->import.names = parse_list(p, &names);
    return parse_done(p, n);
}

/* import_from_targets: '(' import_from_as_names ','? ')' | import_from_as_names | '*' */
static struct ast_list import_from_targets(struct parser *p)
{
    ast_vec names = {0};
    bool in_parentheses = parse_accept(p, TOK_lparen);
    if (next_is(p, TOK_star) && !in_parentheses) {
        struct ast *alias = parse_new(p, AST_alias, p->t);
        if ((p->in_function || p->in_class) && !p->is_lenient)
            parse_fail(p, p->t, ERR_import_star);
        alias->alias.name = parse_intern(p, p->t);
        parse_take(p);
        VEC_PUSH(p->arena, &names, alias);
        return parse_list(p, &names);
    }
    if (next_is(p, TOK_newline) || next_is(p, TOK_rparen))
        parse_fail(p, p->t, ERR_import_names);
    do {
        if (in_parentheses && next_is(p, TOK_rparen))
            break;
        if (next_is(p, TOK_newline))
            parse_fail(p, p->last, ERR_import_comma);
        struct ast *alias = parse_new(p, AST_alias, p->t);
        struct loc at;
        alias->alias.name = parse_name(p, &at, "a name to import");
        VEC_PUSH(p->arena, &names, import_as(p, alias));
    } while (parse_accept(p, TOK_comma));
    if (in_parentheses && !parse_accept(p, TOK_rparen))
        parse_expected(p, "',' or ')'");
    return parse_list(p, &names);
}

/* 'from' ('.' | '...')* dotted_name 'import' targets | 'from' ('.' | '...')+ 'import' targets */
static struct ast *import_from_statement(struct parser *p)
{
    struct ast *n = parse_new(p, AST_import_from, p->t);
    parse_take(p);
    for (; next_is(p, TOK_dot) || next_is(p, TOK_ellipsis); parse_take(p))
        n->import_from.level += next_is(p, TOK_dot) ? 1 : 3;
    if (!next_is(p, TOK_import) || n->import_from.level == 0)
        n->import_from.module = dotted_name(p);
    parse_expect(p, TOK_import);
    n->import_from.names = import_from_targets(p);
    return parse_done(p, n);
}

static struct ast *simple_statement(struct parser *p)
{
    switch (p->t->kind) {
    case TOK_return: return return_statement(p);
    case TOK_import: return import_statement(p);
    case TOK_from: return import_from_statement(p);
    case TOK_raise: return raise_statement(p);
    case TOK_assert: return assert_statement(p);
    case TOK_del: return del_statement(p);
    case TOK_global: return scope_statement(p, AST_global);
    case TOK_nonlocal: return scope_statement(p, AST_nonlocal);
    case TOK_pass: return word_statement(p, AST_pass);
    case TOK_break: return word_statement(p, AST_break);
    case TOK_continue: return word_statement(p, AST_continue);
    default: return expression_statement(p);
    }
}

/* simple_statements: simple_statement (';' simple_statement)* ';'? NEWLINE */
static void simple_statements(struct parser *p, ast_vec *out)
{
    do {
        struct ast *n = simple_statement(p);
        VEC_PUSH(p->arena, out, n);
    } while (parse_accept(p, TOK_semicolon) && !next_is(p, TOK_newline));
    if (next_is(p, TOK_assign))
        parse_fail(p, p->t, ERR_syntax_equal);
    if (!next_is(p, TOK_newline))
        parse_expected(p, "the end of the statement");
    parse_take(p);
}

/* -- compound statements -- */

/* 'if' named_expression block ('elif' named_expression block)* ('else' block)? Parses the clauses in a loop, so that
 * many `elif` cause no recursion. */
static struct ast *if_statement(struct parser *p)
{
    ast_vec ifs = {0};
    do {
        const struct token *head = p->t;
        struct ast *n = parse_new(p, AST_if, head);
        parse_take(p);
        n->if_.test = parse_named_expression(p);
        n->if_.body = block(p, head->kind == TOK_if ? "'if' statement" : "'elif' statement", head);
        VEC_PUSH(p->arena, &ifs, n);
    } while (next_is(p, TOK_elif));
    struct ast_list orelse = else_block(p);
    for (int i = ifs.n - 1; i >= 0; i--) {
        ifs.at[i]->if_.orelse = orelse;
        ast_vec one = {0};
        VEC_PUSH(p->arena, &one, parse_done(p, ifs.at[i]));
        orelse = parse_list(p, &one);
    }
    return ifs.at[0];
}

/* 'while' named_expression block ('else' block)? */
static struct ast *while_statement(struct parser *p)
{
    const struct token *head = p->t;
    struct ast *n = parse_new(p, AST_while, head);
    parse_take(p);
    n->while_.test = parse_named_expression(p);
    n->while_.body = loop_block(p, "'while' statement", head);
    n->while_.orelse = else_block(p);
    return parse_done(p, n);
}

/* 'for' star_targets 'in' star_expressions block ('else' block)? */
static struct ast *for_statement(struct parser *p, const struct token *head)
{
    struct ast *n = parse_new(p, AST_for, head);
    n->for_.is_async = head->kind == TOK_async;
    parse_take(p);
    n->for_.target = parse_target_list(p);
    if (!next_is(p, TOK_in))
        parse_expected(p, "'in'");
    parse_take(p);
    n->for_.iter = parse_star_expressions(p);
    check_no_star(p, n->for_.iter);
    n->for_.body = loop_block(p, "'for' statement", head);
    n->for_.orelse = else_block(p);
    return parse_done(p, n);
}

/* with_item: expression ('as' star_target)? */
static struct ast *with_item(struct parser *p, bool in_parentheses)
{
    struct ast *n = parse_new(p, AST_with_item, p->t);
    n->with_item.context = in_parentheses ? parse_named_expression(p) : parse_plain_expression(p);
    if (parse_accept(p, TOK_as)) {
        n->with_item.target = parse_plain_expression(p);
        check_target(p, n->with_item.target, false);
    }
    return parse_done(p, n);
}

/* Returns whether the next token is a `(` that encloses all items of a `with`. Otherwise, a `(` belongs to the
 * expression of the first item. */
static bool parentheses_hold_items(const struct parser *p)
{
    return next_is(p, TOK_lparen) && p->t->close && p->tokens.all.at[p->t->close + 1].kind == TOK_colon &&
           p->t[1].kind != TOK_rparen && p->t[1].kind != TOK_yield;
}

/* 'with' (with_item (',' with_item)* | '(' with_item (',' with_item)* ','? ')') block */
static struct ast *with_statement(struct parser *p, const struct token *head)
{
    struct ast *n = parse_new(p, AST_with, head);
    n->with.is_async = head->kind == TOK_async;
    parse_take(p);
    ast_vec items = {0};
    bool in_parentheses = parentheses_hold_items(p);
    if (in_parentheses)
        parse_take(p);
    do {
        if (in_parentheses && next_is(p, TOK_rparen))
            break;
        struct ast *item = with_item(p, in_parentheses);
        VEC_PUSH(p->arena, &items, item);
    } while (parse_accept(p, TOK_comma));
    if (in_parentheses && !parse_accept(p, TOK_rparen))
        parse_expected(p, "',' or ')'");
    n->with.items = parse_list(p, &items);
    n->with.body = block(p, "'with' statement", head);
    return parse_done(p, n);
}

/* except_block: 'except' ('*'? expression ('as' NAME)?)? block */
static struct ast *except_block(struct parser *p)
{
    const struct token *head = p->t;
    struct ast *n = parse_new(p, AST_except, head);
    parse_take(p);
    n->except.is_group = parse_accept(p, TOK_star);
    if (!next_is(p, TOK_colon)) {
        const struct token *start = p->t;
        n->except.type = parse_plain_expression(p);
        if (next_is(p, TOK_comma))
            parse_fail(p, start, ERR_try_types);
        if (parse_accept(p, TOK_as))
            n->except.name = parse_name(p, &n->except.name_loc, "a name after 'as'");
    }
    n->except.body = block(p, "'except' statement", head);
    return parse_done(p, n);
}

/* 'try' block (except_block+ ('else' block)? ('finally' block)? | 'finally' block) */
static struct ast *try_statement(struct parser *p)
{
    const struct token *head = p->t;
    struct ast *n = parse_new(p, AST_try, head);
    parse_take(p);
    n->try_.body = block(p, "'try' statement", head);
    ast_vec handlers = {0};
    while (next_is(p, TOK_except)) {
        if (handlers.n > 0 && !handlers.at[handlers.n - 1]->except.type)
            parse_fail_at(p, handlers.at[handlers.n - 1], ERR_try_default);
        struct ast *handler = except_block(p);
        VEC_PUSH(p->arena, &handlers, handler);
    }
    n->try_.handlers = parse_list(p, &handlers);
    if (handlers.n > 0)
        n->try_.orelse = else_block(p);
    const struct token *final_head = p->t;
    if (parse_accept(p, TOK_finally))
        n->try_.final = block(p, "'finally' statement", final_head);
    else if (handlers.n == 0)
        parse_fail(p, next_is(p, TOK_error) ? p->t : head, ERR_try_bare);
    return parse_done(p, n);
}

/* -- parameters -- */

/* The parameters parsed so far, to check their order and to find repeated names. */
struct parameters {
    ast_vec list;
    struct map names;
    bool is_keyword_only; /* `*` or `*args` has been parsed */
    bool has_bare_star;   /* a `*` without a name has been parsed, and no parameter after it */
    bool has_slash, has_default, has_kwargs;
};

static void add_parameter(struct parser *p, struct parameters *seen, enum ast_role role, bool annotated)
{
    const struct token *t = p->t;
    struct ast *n = parse_new(p, AST_param, role == ROLE_args || role == ROLE_kwargs ? t - 1 : t);
    n->param.role = role;
    n->param.name = parse_name(p, &n->param.name_loc, "a parameter's name");
    if (*map_at_ptr(&seen->names, n->param.name))
        parse_fail(p, t, ERR_parameter_repeated, n->param.name);
    *map_at_ptr(&seen->names, n->param.name) = n;
    if (annotated && parse_accept(p, TOK_colon))
        n->param.annotation =
            role == ROLE_args && next_is(p, TOK_star) ? parse_star_expressions(p) : parse_plain_expression(p);
    if (next_is(p, TOK_assign) && (role == ROLE_args || role == ROLE_kwargs))
        parse_fail(p, p->t, ERR_parameter_order, "a parameter with '*' or '**' cannot have a default");
    if (parse_accept(p, TOK_assign))
        n->param.value = parse_plain_expression(p);
    if (!n->param.value && seen->has_default && role == ROLE_plain)
        parse_fail(p, t, ERR_parameter_default);
    seen->has_default |= n->param.value != NULL;
    seen->has_bare_star = false;
    VEC_PUSH(p->arena, &seen->list, parse_done(p, n));
}

/* '/': makes all parameters so far positional-only */
static void take_slash(struct parser *p, struct parameters *seen)
{
    const struct token *t = p->t;
    parse_take(p);
    if (seen->has_slash)
        parse_fail(p, t, ERR_parameter_order, "'/' may appear only once");
    if (seen->is_keyword_only)
        parse_fail(p, t, ERR_parameter_order, "'/' must be ahead of '*'");
    if (seen->list.n == 0)
        parse_fail(p, t, ERR_parameter_order, "at least one parameter must precede '/'");
    for (int i = 0; i < seen->list.n; i++)
        seen->list.at[i]->param.role = ROLE_positional;
    seen->has_slash = true;
}

/* '*' NAME | '*' */
static void take_star(struct parser *p, struct parameters *seen, bool annotated)
{
    const struct token *t = p->t;
    parse_take(p);
    if (seen->is_keyword_only)
        parse_fail(p, t, ERR_parameter_order, "'*' may appear only once");
    seen->is_keyword_only = true;
    if (next_is(p, TOK_comma))
        seen->has_bare_star = true;
    else if (next_is(p, TOK_rparen) || next_is(p, TOK_colon))
        parse_fail(p, t, ERR_parameter_star);
    else
        add_parameter(p, seen, ROLE_args, annotated);
}

/* param: NAME (':' expression)? ('=' expression)? | '/' | '*' | '*' NAME | '**' NAME */
static void take_parameter(struct parser *p, struct parameters *seen, bool annotated)
{
    if (seen->has_kwargs)
        parse_fail(p, p->t, ERR_parameter_order, "no parameter can follow one with '**'");
    if (next_is(p, TOK_slash)) {
        take_slash(p, seen);
    } else if (next_is(p, TOK_star)) {
        take_star(p, seen, annotated);
    } else if (next_is(p, TOK_pow)) {
        if (seen->has_bare_star)
            parse_fail(p, p->t, ERR_parameter_star);
        parse_take(p);
        seen->has_kwargs = true;
        add_parameter(p, seen, ROLE_kwargs, annotated);
    } else {
        add_parameter(p, seen, seen->is_keyword_only ? ROLE_keyword : ROLE_plain, annotated);
    }
}

/* parameters: (param (',' param)* ','?)?, followed by the token `end` */
struct ast_list parse_parameters(struct parser *p, enum token_kind end, bool annotated)
{
    struct parameters seen = {0};
    map_init(&seen.names, p->arena);
    while (!next_is(p, end)) {
        take_parameter(p, &seen, annotated);
        if (!parse_accept(p, TOK_comma))
            break;
    }
    if (seen.has_bare_star)
        parse_fail(p, p->t, ERR_parameter_star);
    if (!next_is(p, end))
        parse_expected(p, end == TOK_rparen ? "',' or ')'" : "',' or ':'");
    parse_take(p);
    return parse_list(p, &seen.list);
}

/* -- definitions -- */

/* The parser's flags before the body of a function or class, to restore them after the body. */
struct context {
    bool in_function, in_loop, in_class;
};

static struct context enter_body(struct parser *p, bool is_class)
{
    struct context outer = {p->in_function, p->in_loop, p->in_class};
    p->in_function = !is_class;
    p->in_class = is_class;
    p->in_loop = false;
    return outer;
}

static void leave_body(struct parser *p, struct context outer)
{
    p->in_function = outer.in_function;
    p->in_class = outer.in_class;
    p->in_loop = outer.in_loop;
}

/* 'async'? 'def' NAME '(' parameters ')' ('->' expression)? block. The next token is `def`, and `head` is the
 * statement's first token. */
static struct ast *function_def(struct parser *p, const struct token *head, struct ast_list decorators)
{
    struct ast *n = parse_new(p, AST_def, head);
    n->def.decorators = decorators;
    n->def.is_async = head->kind == TOK_async;
    parse_take(p);
    n->def.name = parse_name(p, &n->def.name_loc, "the function's name");
    parse_expect(p, TOK_lparen);
    n->def.params = parse_parameters(p, TOK_rparen, true);
    if (parse_accept(p, TOK_arrow))
        n->def.returns = parse_plain_expression(p);
    struct context outer = enter_body(p, false);
    n->def.body = block(p, "function definition", head);
    leave_body(p, outer);
    n->def.text = (struct ast_range){head->start, p->last->end};
    return parse_done(p, n);
}

/* 'class' NAME ('(' arguments)? block */
static struct ast *class_def(struct parser *p, struct ast_list decorators)
{
    const struct token *head = p->t;
    struct ast *n = parse_new(p, AST_class, head);
    n->klass.decorators = decorators;
    parse_take(p);
    n->klass.name = parse_name(p, &n->klass.name_loc, "the class's name");
    if (parse_accept(p, TOK_lparen))
        n->klass.args = parse_arguments(p);
    struct context outer = enter_body(p, true);
    n->klass.body = block(p, "class definition", head);
    leave_body(p, outer);
    return parse_done(p, n);
}

/* 'async' (function_def | for_statement | with_statement) */
static struct ast *async_statement(struct parser *p, struct ast_list decorators)
{
    const struct token *head = p->t;
    parse_take(p);
    if (next_is(p, TOK_for) && decorators.n == 0)
        return for_statement(p, head);
    if (next_is(p, TOK_with) && decorators.n == 0)
        return with_statement(p, head);
    if (!next_is(p, TOK_def))
        parse_expected(p, decorators.n ? "'def' after 'async'" : "'def', 'for' or 'with' after 'async'");
    return function_def(p, head, decorators);
}

/* ('@' named_expression NEWLINE)+ (function_def | class_def) */
static struct ast *decorated(struct parser *p)
{
    ast_vec list = {0};
    while (parse_accept(p, TOK_at)) {
        struct ast *decorator = parse_named_expression(p);
        VEC_PUSH(p->arena, &list, decorator);
        parse_expect(p, TOK_newline);
    }
    struct ast_list decorators = parse_list(p, &list);
    switch (p->t->kind) {
    case TOK_def: return function_def(p, p->t, decorators);
    case TOK_class: return class_def(p, decorators);
    case TOK_async: return async_statement(p, decorators);
    default: parse_expected(p, "'def' or 'class' after the decorator");
    }
}

/* Reports a clause, such as `else`, that does not follow a statement to which it can belong. Usually, wrong
 * indentation has ended this statement too early. */
static _Noreturn void stray_clause(struct parser *p)
{
    const char *whose = next_is(p, TOK_elif)   ? "'if'"
                        : next_is(p, TOK_else) ? "'if', 'for', 'while' or 'try'"
                                               : "'try'";
    parse_fail(p, p->t, ERR_syntax_clause, token_info[p->t->kind].spelling, whose);
}

static struct ast *compound_statement(struct parser *p)
{
    switch (p->t->kind) {
    case TOK_if: return if_statement(p);
    case TOK_while: return while_statement(p);
    case TOK_for: return for_statement(p, p->t);
    case TOK_with: return with_statement(p, p->t);
    case TOK_try: return try_statement(p);
    case TOK_def: return function_def(p, p->t, (struct ast_list){0});
    case TOK_class: return class_def(p, (struct ast_list){0});
    case TOK_async: return async_statement(p, (struct ast_list){0});
    case TOK_at: return decorated(p);
    case TOK_elif:
    case TOK_else:
    case TOK_except:
    case TOK_finally: stray_clause(p);
    default: return NULL;
    }
}

/* statement: compound_statement | simple_statements */
void parse_statement(struct parser *p, ast_vec *out)
{
    struct ast *n = compound_statement(p);
    if (n)
        VEC_PUSH(p->arena, out, n);
    else
        simple_statements(p, out);
}
