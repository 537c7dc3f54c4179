/* SPDX-License-Identifier: MIT */
/* parse_expr.c: parses expressions.
 *
 *     a + b * f(x)[1:]     (binary (name a) + (binary (name b) * (subscript (call ...) (slice ...))))
 *
 * The function `binary` parses all operators from `|` to `*` by precedence. The parser checks whether an expression is
 * a valid target of an assignment only after it has parsed the expression. */
#include "frontend/python/parse.h"

#include <string.h>

static struct ast *expression(struct parser *p);
static struct ast *binary(struct parser *p, int precedence);

/* -- first tokens and descriptions of expressions -- */

bool parse_begins_expression(const struct parser *p)
{
    switch (p->t->kind) {
    case TOK_name:
    case TOK_number:
    case TOK_string:
    case TOK_fstring_start:
    case TOK_False:
    case TOK_None:
    case TOK_True:
    case TOK_await:
    case TOK_lambda:
    case TOK_not:
    case TOK_plus:
    case TOK_minus:
    case TOK_tilde:
    case TOK_ellipsis:
    case TOK_lparen:
    case TOK_lbracket:
    case TOK_lbrace: return true;
    default: return false;
    }
}

const char *parse_describe(const struct ast *n)
{
    static const char *const forms[] = {"list comprehension", "set comprehension", "dict comprehension",
                                        "generator expression"};
    switch (n->kind) {
    case AST_name:
    case AST_attribute:
    case AST_subscript:
    case AST_tuple:
    case AST_list:
    case AST_starred: return NULL;
    case AST_none: return "None";
    case AST_true: return "True";
    case AST_false: return "False";
    case AST_ellipsis: return "ellipsis";
    case AST_int:
    case AST_float:
    case AST_imaginary:
    case AST_str:
    case AST_bytes: return "literal";
    case AST_fstring: return "f-string expression";
    case AST_set: return "set display";
    case AST_dict: return "dict literal";
    case AST_comprehension: return forms[n->comprehension.form];
    case AST_lambda: return "lambda";
    case AST_conditional: return "conditional expression";
    case AST_compare: return "comparison";
    case AST_walrus: return "named expression";
    case AST_call: return "function call";
    case AST_await: return "await expression";
    case AST_yield: return "yield expression";
    default: return "expression";
    }
}

/* -- lists -- */

/* Reports a token that cannot follow an expression inside brackets. `what` lists the tokens that can follow. */
static _Noreturn void bad_follower(struct parser *p, const char *what)
{
    if (parse_begins_expression(p) && p->last && p->last->kind != TOK_comma)
        parse_fail(p, p->t, ERR_syntax_comma);
    if (next_is(p, TOK_assign))
        parse_fail(p, p->t, ERR_syntax_equal);
    parse_expected(p, what);
}

static void close_bracket(struct parser *p, enum token_kind kind)
{
    static const char *const whats[] = {"',' or ')'", "',' or ']'", "',' or '}'"};
    if (!next_is(p, kind))
        bad_follower(p, whats[kind == TOK_rparen ? 0 : kind == TOK_rbracket ? 1 : 2]);
    parse_take(p);
}

static struct ast *new_starred(struct parser *p, const struct token *start, struct ast *value)
{
    struct ast *n = parse_new(p, AST_starred, start);
    n->starred.value = value;
    return parse_done(p, n);
}

/* star_expression: '*' bitwise_or | expression */
static struct ast *star_expression(struct parser *p)
{
    const struct token *start = p->t;
    if (parse_accept(p, TOK_star))
        return new_starred(p, start, binary(p, oper_info[OPER_bitor].precedence));
    return expression(p);
}

/* star_named_expression: '*' bitwise_or | named_expression */
static struct ast *star_named_expression(struct parser *p)
{
    return next_is(p, TOK_star) ? star_expression(p) : parse_named_expression(p);
}

/* Returns whether an item of a list begins at the next token, which follows a comma. A token of kind `error` counts as
 * an item, so that the parser reports the error. */
static bool begins_item(const struct parser *p)
{
    return parse_begins_expression(p) || next_is(p, TOK_star) || next_is(p, TOK_error);
}

/* Parses the rest of `first, item, ...` and returns the tuple, or `first` if no comma follows. */
static struct ast *tuple_of(struct parser *p, const struct token *start, struct ast *first,
                            struct ast *(*item)(struct parser *p))
{
    if (!next_is(p, TOK_comma))
        return first;
    ast_vec items = {0};
    VEC_PUSH(p->arena, &items, first);
    while (parse_accept(p, TOK_comma) && begins_item(p)) {
        struct ast *n = item(p);
        VEC_PUSH(p->arena, &items, n);
    }
    struct ast *n = parse_new(p, AST_tuple, start);
    n->tuple.items = parse_list(p, &items);
    return parse_done(p, n);
}

/* star_expressions: star_expression (',' star_expression)* ','? */
struct ast *parse_star_expressions(struct parser *p)
{
    const struct token *start = p->t;
    return tuple_of(p, start, star_expression(p), star_expression);
}

/* yield_expr: 'yield' 'from' expression | 'yield' star_expressions? */
static struct ast *yield_expr(struct parser *p)
{
    const struct token *start = parse_expect(p, TOK_yield);
    if (!p->in_function && !p->is_lenient)
        parse_fail(p, start, ERR_outside_function, "yield");
    bool is_from = parse_accept(p, TOK_from);
    struct ast *value = NULL;
    if (is_from)
        value = expression(p);
    else if (parse_begins_expression(p) || next_is(p, TOK_star))
        value = parse_star_expressions(p);
    struct ast *n = parse_new(p, AST_yield, start);
    n->yield.is_from = is_from;
    n->yield.value = value;
    return parse_done(p, n);
}

struct ast *parse_value(struct parser *p)
{
    return next_is(p, TOK_yield) ? yield_expr(p) : parse_star_expressions(p);
}

/* -- comprehensions -- */

void parse_check_targets(struct parser *p, const struct ast *n, enum error error)
{
    bool is_star = error == ERR_delete_target && n->kind == AST_starred;
    const char *what = is_star ? "starred" : parse_describe(n);
    if (what)
        parse_fail_at(p, n, error, what);
    const struct ast_list *items = n->kind == AST_tuple  ? &n->tuple.items
                                   : n->kind == AST_list ? &n->list.items
                                                         : NULL;
    for (int i = 0; items && i < items->n; i++)
        parse_check_targets(p, items->at[i], error);
    if (n->kind == AST_starred)
        parse_check_targets(p, n->starred.value, error);
}

/* star_target: '*'? bitwise_or */
static struct ast *star_target(struct parser *p)
{
    const struct token *start = p->t;
    bool is_star = parse_accept(p, TOK_star);
    struct ast *n = binary(p, oper_info[OPER_bitor].precedence);
    return is_star ? new_starred(p, start, n) : n;
}

/* star_targets: star_target (',' star_target)* ','? */
struct ast *parse_target_list(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *n = tuple_of(p, start, star_target(p), star_target);
    parse_check_targets(p, n, ERR_assign_to);
    if (n->kind == AST_starred)
        parse_fail_at(p, n, ERR_assign_star);
    return n;
}

static struct ast *disjunction(struct parser *p);

static bool begins_clause(const struct parser *p)
{
    return next_is(p, TOK_for) || (next_is(p, TOK_async) && p->t[1].kind == TOK_for);
}

/* for_if_clause: 'async'? 'for' star_targets 'in' disjunction ('if' disjunction)* */
static struct ast *for_if_clause(struct parser *p)
{
    struct ast *n = parse_new(p, AST_clause, p->t);
    n->clause.is_async = parse_accept(p, TOK_async);
    parse_take(p);
    n->clause.target = parse_target_list(p);
    if (!next_is(p, TOK_in))
        parse_expected(p, "'in'");
    parse_take(p);
    n->clause.iter = disjunction(p);
    ast_vec tests = {0};
    while (parse_accept(p, TOK_if)) {
        struct ast *test = disjunction(p);
        VEC_PUSH(p->arena, &tests, test);
    }
    n->clause.tests = parse_list(p, &tests);
    return parse_done(p, n);
}

/* for_if_clauses: for_if_clause+ */
static struct ast *comprehension(struct parser *p, const struct token *start, enum ast_form form,
                                 struct ast *element)
{
    if (element->kind == AST_starred)
        parse_fail_at(p, element, ERR_star_comprehension, "iterable");
    if (element->kind == AST_pair && !element->pair.key)
        parse_fail_at(p, element, ERR_star_comprehension, "dict");
    ast_vec clauses = {0};
    while (begins_clause(p)) {
        struct ast *clause = for_if_clause(p);
        VEC_PUSH(p->arena, &clauses, clause);
    }
    struct ast *n = parse_new(p, AST_comprehension, start);
    n->comprehension.form = form;
    n->comprehension.element = element;
    n->comprehension.clauses = parse_list(p, &clauses);
    return n;
}

/* -- displays -- */

/* Parses items up to the closing bracket, and consumes the bracket. `items` may already contain the first item. */
static void display_items(struct parser *p, ast_vec *items, enum token_kind close,
                          struct ast *(*item)(struct parser *p))
{
    while (!next_is(p, close)) {
        if (items->n > 0 && !parse_accept(p, TOK_comma))
            close_bracket(p, close);
        if (next_is(p, close))
            break;
        struct ast *n = item(p);
        VEC_PUSH(p->arena, items, n);
        if (begins_clause(p))
            parse_fail_at(p, items->at[0], ERR_comprehension_target);
    }
    close_bracket(p, close);
}

/* Parses the rest of a display or comprehension, after the opening bracket and the first item. `first` is NULL if the
 * display is empty. */
static struct ast *display(struct parser *p, const struct token *start, struct ast *first, enum ast_kind kind,
                           enum ast_form form, enum token_kind close, struct ast *(*item)(struct parser *p))
{
    if (first && begins_clause(p)) {
        struct ast *n = comprehension(p, start, form, first);
        close_bracket(p, close);
        return parse_done(p, n);
    }
    ast_vec items = {0};
    if (first)
        VEC_PUSH(p->arena, &items, first);
    display_items(p, &items, close, item);
    struct ast *n = parse_new(p, kind, start);
    n->tuple.items = parse_list(p, &items); /* list, set and dict nodes have this field at the same offset */
    return parse_done(p, n);
}

/* atom: '(' ')' | '(' yield_expr ')' | '(' named_expression for_if_clauses ')' | '('
 * star_named_expressions ')' */
static struct ast *group(struct parser *p)
{
    const struct token *start = parse_expect(p, TOK_lparen);
    if (next_is(p, TOK_yield)) {
        struct ast *n = yield_expr(p);
        close_bracket(p, TOK_rparen);
        return n;
    }
    struct ast *first = next_is(p, TOK_rparen) ? NULL : star_named_expression(p);
    if (!first || begins_clause(p) || next_is(p, TOK_comma))
        return display(p, start, first, AST_tuple, FORM_generator, TOK_rparen, star_named_expression);
    close_bracket(p, TOK_rparen);
    if (first->kind == AST_starred)
        parse_fail_at(p, first, ERR_star);
    return first;
}

/* list: '[' star_named_expressions? ']' | '[' named_expression for_if_clauses ']' */
static struct ast *list(struct parser *p)
{
    const struct token *start = parse_expect(p, TOK_lbracket);
    struct ast *first = next_is(p, TOK_rbracket) ? NULL : star_named_expression(p);
    return display(p, start, first, AST_list, FORM_list, TOK_rbracket, star_named_expression);
}

/* ':' expression */
static struct ast *dict_value(struct parser *p, struct ast *pair, struct ast *key)
{
    pair->pair.key = key;
    if (!next_is(p, TOK_colon))
        parse_expected(p, "':' after the dictionary's key");
    parse_take(p);
    if (!parse_begins_expression(p))
        parse_expected(p, "a value after the dictionary's key and ':'");
    pair->pair.value = expression(p);
    return parse_done(p, pair);
}

/* double_starred_kvpair: '**' bitwise_or | expression ':' expression */
static struct ast *key_value(struct parser *p)
{
    struct ast *n = parse_new(p, AST_pair, p->t);
    if (parse_accept(p, TOK_pow)) {
        n->pair.value = binary(p, oper_info[OPER_bitor].precedence);
        return parse_done(p, n);
    }
    return dict_value(p, n, expression(p));
}

/* dict: '{' (double_starred_kvpair (',' double_starred_kvpair)* ','?)? '}'; set: '{'
 * star_named_expressions '}' */
static struct ast *dict_or_set(struct parser *p)
{
    const struct token *start = parse_expect(p, TOK_lbrace);
    struct ast *first = NULL;
    if (next_is(p, TOK_pow)) {
        first = key_value(p);
    } else if (!next_is(p, TOK_rbrace)) {
        struct ast *pair = parse_new(p, AST_pair, p->t);
        first = star_named_expression(p);
        if (!next_is(p, TOK_colon))
            return display(p, start, first, AST_set, FORM_set, TOK_rbrace, star_named_expression);
        first = dict_value(p, pair, first);
    }
    return display(p, start, first, AST_dict, FORM_dict, TOK_rbrace, key_value);
}

/* -- atoms -- */

static struct ast *leaf(struct parser *p, enum ast_kind kind)
{
    struct ast *n = parse_new(p, kind, p->t);
    parse_take(p);
    return n;
}

static struct ast *name(struct parser *p)
{
    struct ast *n = parse_new(p, AST_name, p->t);
    n->name.id = parse_intern(p, p->t);
    parse_take(p);
    return n;
}

static struct ast *bracketed(struct parser *p)
{
    parse_enter(p);
    struct ast *n = next_is(p, TOK_lparen) ? group(p) : next_is(p, TOK_lbracket) ? list(p) : dict_or_set(p);
    p->depth--;
    return n;
}

/* atom: NAME | 'True' | 'False' | 'None' | strings | NUMBER | group | list | dict | set | '...' */
static struct ast *atom(struct parser *p)
{
    switch (p->t->kind) {
    case TOK_name: return name(p);
    case TOK_True: return leaf(p, AST_true);
    case TOK_False: return leaf(p, AST_false);
    case TOK_None: return leaf(p, AST_none);
    case TOK_ellipsis: return leaf(p, AST_ellipsis);
    case TOK_number: return parse_number(p);
    case TOK_string:
    case TOK_fstring_start: return parse_strings(p);
    case TOK_lparen:
    case TOK_lbracket:
    case TOK_lbrace: return bracketed(p);
    default: break;
    }
    parse_expected(p, "an expression");
}

/* -- calls, elements, attributes -- */

/* slice: expression? ':' expression? (':' expression?)? | star_named_expression */
static struct ast *slice(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *lower = next_is(p, TOK_colon) ? NULL : star_named_expression(p);
    if (!next_is(p, TOK_colon) || (lower && lower->kind == AST_starred))
        return lower;
    struct ast *n = parse_new(p, AST_slice, start);
    parse_take(p);
    n->slice.lower = lower;
    if (parse_begins_expression(p))
        n->slice.upper = expression(p);
    if (parse_accept(p, TOK_colon) && parse_begins_expression(p))
        n->slice.step = expression(p);
    return parse_done(p, n);
}

/* subscript: primary '[' slice (',' slice)* ','? ']' */
static struct ast *subscript(struct parser *p, const struct token *start, struct ast *value)
{
    parse_enter(p);
    parse_take(p);
    const struct token *first = p->t;
    struct ast *index = slice(p);
    if (next_is(p, TOK_comma) || index->kind == AST_starred) {
        ast_vec items = {0};
        VEC_PUSH(p->arena, &items, index);
        while (parse_accept(p, TOK_comma) && !next_is(p, TOK_rbracket)) {
            struct ast *item = slice(p);
            VEC_PUSH(p->arena, &items, item);
        }
        index = parse_new(p, AST_tuple, first);
        index->tuple.items = parse_list(p, &items);
        parse_done(p, index);
    }
    close_bracket(p, TOK_rbracket);
    p->depth--;
    struct ast *n = parse_new(p, AST_subscript, start);
    n->subscript.value = value;
    n->subscript.index = index;
    return parse_done(p, n);
}

/* The kinds and names of the arguments parsed so far, to check their order and to find repeated names. */
struct arguments {
    struct map names;
    bool has_keyword, has_unpacking;
};

/* kwarg: NAME '=' expression */
static struct ast *keyword_argument(struct parser *p, struct arguments *seen)
{
    struct ast *n = parse_new(p, AST_keyword, p->t);
    n->keyword.name_loc = parse_loc(p, p->t);
    n->keyword.name = parse_intern(p, p->t);
    if (*map_at_ptr(&seen->names, n->keyword.name))
        parse_fail(p, p->t, ERR_argument_repeated, n->keyword.name);
    *map_at_ptr(&seen->names, n->keyword.name) = n;
    seen->has_keyword = true;
    parse_take(p);
    parse_take(p);
    n->keyword.value = expression(p);
    return parse_done(p, n);
}

/* Parses an expression as an argument. A generator expression must be in parentheses unless it is the only argument. */
static struct ast *plain_argument(struct parser *p, struct arguments *seen, bool is_first)
{
    const struct token *start = p->t;
    struct ast *n = parse_named_expression(p);
    if (begins_clause(p)) {
        n = parse_done(p, comprehension(p, start, FORM_generator, n));
        if (!is_first || !next_is(p, TOK_rparen))
            parse_fail_at(p, n, ERR_generator_parentheses);
    }
    const char *what = parse_describe(n);
    if (next_is(p, TOK_assign) && (n->kind == AST_none || n->kind == AST_true || n->kind == AST_false))
        parse_fail_at(p, n, ERR_assign_to, what);
    if (next_is(p, TOK_assign))
        parse_fail_at(p, n, ERR_argument_assign);
    if (seen->has_unpacking)
        parse_fail_at(p, n, ERR_argument_unpacking, "positional argument");
    if (seen->has_keyword)
        parse_fail_at(p, n, ERR_argument_position);
    return n;
}

/* argument: '*' expression | '**' expression | NAME '=' expression | named_expression for_if_clauses? */
static struct ast *argument(struct parser *p, struct arguments *seen, bool is_first)
{
    const struct token *start = p->t;
    if (parse_accept(p, TOK_star)) {
        if (seen->has_unpacking)
            parse_fail(p, start, ERR_argument_unpacking, "iterable argument unpacking");
        return new_starred(p, start, expression(p));
    }
    if (parse_accept(p, TOK_pow)) {
        struct ast *n = parse_new(p, AST_keyword, start);
        n->keyword.value = expression(p);
        seen->has_unpacking = true;
        return parse_done(p, n);
    }
    if (next_is(p, TOK_name) && p->t[1].kind == TOK_assign)
        return keyword_argument(p, seen);
    return plain_argument(p, seen, is_first);
}

/* arguments: (argument (',' argument)* ','?)? ')' */
struct ast_list parse_arguments(struct parser *p)
{
    struct arguments seen = {0};
    map_init(&seen.names, p->arena);
    ast_vec args = {0};
    while (!next_is(p, TOK_rparen)) {
        struct ast *n = argument(p, &seen, args.n == 0);
        VEC_PUSH(p->arena, &args, n);
        if (!parse_accept(p, TOK_comma))
            break;
    }
    close_bracket(p, TOK_rparen);
    return parse_list(p, &args);
}

/* primary: primary '(' arguments */
static struct ast *call(struct parser *p, const struct token *start, struct ast *func)
{
    parse_enter(p);
    parse_take(p);
    struct ast_list args = parse_arguments(p);
    p->depth--;
    struct ast *n = parse_new(p, AST_call, start);
    n->call.func = func;
    n->call.args = args;
    return parse_done(p, n);
}

/* primary: primary '.' NAME */
static struct ast *attribute(struct parser *p, const struct token *start, struct ast *value)
{
    struct ast *n = parse_new(p, AST_attribute, start);
    parse_take(p);
    n->attribute.value = value;
    n->attribute.name = parse_name(p, &n->attribute.name_loc, "a name after '.'");
    return parse_done(p, n);
}

/* primary: atom | primary '.' NAME | primary '(' arguments | primary '[' slices ']' */
static struct ast *primary(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *n = atom(p);
    for (;;) {
        if (next_is(p, TOK_lparen))
            n = call(p, start, n);
        else if (next_is(p, TOK_lbracket))
            n = subscript(p, start, n);
        else if (next_is(p, TOK_dot))
            n = attribute(p, start, n);
        else
            return n;
    }
}

/* await_primary: 'await' primary | primary */
static struct ast *await_primary(struct parser *p)
{
    if (!next_is(p, TOK_await))
        return primary(p);
    struct ast *n = parse_new(p, AST_await, p->t);
    parse_take(p);
    n->await.value = primary(p);
    return parse_done(p, n);
}

/* -- operators -- */

static struct ast *new_unary(struct parser *p, enum oper op, struct ast *(*operand)(struct parser *p))
{
    parse_enter(p);
    struct ast *n = parse_new(p, AST_unary, p->t);
    n->unary.op = op;
    n->unary.op_loc = parse_loc(p, p->t);
    parse_take(p);
    n->unary.operand = operand(p);
    p->depth--;
    return parse_done(p, n);
}

static struct ast *factor(struct parser *p);

static struct ast *new_binary(struct parser *p, const struct token *start, struct ast *left, enum oper op,
                              const struct token *sign, struct ast *right)
{
    struct ast *n = parse_new(p, AST_binary, start);
    n->binary.left = left;
    n->binary.op = op;
    n->binary.op_loc = parse_loc(p, sign);
    n->binary.right = right;
    return parse_done(p, n);
}

/* power: await_primary ('**' factor)? */
static struct ast *power(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *left = await_primary(p);
    if (!next_is(p, TOK_pow))
        return left;
    const struct token *sign = p->t;
    parse_take(p);
    parse_enter(p);
    struct ast *right = factor(p);
    p->depth--;
    return new_binary(p, start, left, OPER_pow, sign, right);
}

/* factor: ('+' | '-' | '~') factor | power */
static struct ast *factor(struct parser *p)
{
    switch (p->t->kind) {
    case TOK_plus: return new_unary(p, OPER_plus, factor);
    case TOK_minus: return new_unary(p, OPER_neg, factor);
    case TOK_tilde: return new_unary(p, OPER_invert, factor);
    default: return power(p);
    }
}

/* If the next token is an operator that `binary` parses, returns this operator; otherwise returns OPER_count. */
static enum oper next_binary(const struct parser *p)
{
    const struct token_info *info = &token_info[p->t->kind];
    bool is_one = info->class == TOK_CLASS_binary && info->oper != OPER_pow &&
                  oper_info[info->oper].class == OPER_CLASS_binary;
    return is_one ? info->oper : OPER_count;
}

/* bitwise_or: bitwise_or '|' bitwise_xor | bitwise_xor, and so on to term: term '*' factor | factor. Parses only
 * operators of at least the given precedence, all of which are left-associative. */
static struct ast *binary(struct parser *p, int precedence)
{
    const struct token *start = p->t;
    struct ast *left = factor(p);
    for (enum oper op; (op = next_binary(p)) != OPER_count && oper_info[op].precedence >= precedence;) {
        const struct token *sign = p->t;
        parse_take(p);
        left = new_binary(p, start, left, op, sign, binary(p, oper_info[op].precedence + 1));
    }
    return left;
}

/* Consumes and returns a comparison operator; returns OPER_count if there is none. */
static enum oper take_comparison(struct parser *p)
{
    const struct token_info *info = &token_info[p->t->kind];
    if (info->class == TOK_CLASS_binary && oper_info[info->oper].class == OPER_CLASS_compare) {
        parse_take(p);
        return info->oper;
    }
    if (parse_accept(p, TOK_in))
        return OPER_in;
    if (parse_accept(p, TOK_is))
        return parse_accept(p, TOK_not) ? OPER_is_not : OPER_is;
    if (next_is(p, TOK_not) && p->t[1].kind == TOK_in) {
        parse_take(p);
        parse_take(p);
        return OPER_not_in;
    }
    return OPER_count;
}

/* comparison: bitwise_or (('==' | '<' | 'in' | 'not' 'in' | 'is' ...) bitwise_or)* */
static struct ast *comparison(struct parser *p)
{
    int precedence = oper_info[OPER_bitor].precedence;
    const struct token *start = p->t, *sign = NULL;
    struct ast *left = binary(p, precedence);
    ast_vec links = {0};
    for (enum oper op; sign = p->t, (op = take_comparison(p)) != OPER_count;) {
        struct ast *n = parse_new(p, AST_link, sign);
        n->link.op = op;
        n->link.op_loc = parse_loc(p, sign);
        n->link.right = binary(p, precedence);
        VEC_PUSH(p->arena, &links, parse_done(p, n));
    }
    if (links.n == 0)
        return left;
    struct ast *n = parse_new(p, AST_compare, start);
    n->compare.left = left;
    n->compare.links = parse_list(p, &links);
    return parse_done(p, n);
}

/* inversion: 'not' inversion | comparison */
static struct ast *inversion(struct parser *p)
{
    return next_is(p, TOK_not) ? new_unary(p, OPER_not, inversion) : comparison(p);
}

/* operand (word operand)*, as one node for the whole sequence */
static struct ast *boolean(struct parser *p, enum token_kind word, enum oper op,
                           struct ast *(*operand)(struct parser *p))
{
    const struct token *start = p->t;
    struct ast *first = operand(p);
    if (!next_is(p, word))
        return first;
    struct loc op_loc = parse_loc(p, p->t);
    ast_vec operands = {0};
    VEC_PUSH(p->arena, &operands, first);
    while (parse_accept(p, word)) {
        struct ast *n = operand(p);
        VEC_PUSH(p->arena, &operands, n);
    }
    struct ast *n = parse_new(p, AST_boolean, start);
    n->boolean.op = op;
    n->boolean.op_loc = op_loc;
    n->boolean.operands = parse_list(p, &operands);
    return parse_done(p, n);
}

/* conjunction: inversion ('and' inversion)* */
static struct ast *conjunction(struct parser *p)
{
    return boolean(p, TOK_and, OPER_and, inversion);
}

/* disjunction: conjunction ('or' conjunction)* */
static struct ast *disjunction(struct parser *p)
{
    return boolean(p, TOK_or, OPER_or, conjunction);
}

/* lambdef: 'lambda' parameters? ':' expression */
static struct ast *lambdef(struct parser *p)
{
    struct ast *n = parse_new(p, AST_lambda, p->t);
    parse_take(p);
    n->lambda.params = parse_parameters(p, TOK_colon, false);
    bool was_in_function = p->in_function;
    p->in_function = true;
    parse_enter(p);
    n->lambda.body = expression(p);
    p->depth--;
    p->in_function = was_in_function;
    return parse_done(p, n);
}

/* expression: disjunction 'if' disjunction 'else' expression | disjunction | lambdef */
static struct ast *conditional(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *then = disjunction(p);
    if (!parse_accept(p, TOK_if))
        return then;
    struct ast *n = parse_new(p, AST_conditional, start);
    n->conditional.then = then;
    n->conditional.test = disjunction(p);
    if (!next_is(p, TOK_else))
        parse_expected(p, "'else' and the value for a false condition");
    parse_take(p);
    parse_enter(p);
    n->conditional.orelse = expression(p);
    p->depth--;
    return parse_done(p, n);
}

static struct ast *expression(struct parser *p)
{
    return next_is(p, TOK_lambda) ? lambdef(p) : conditional(p);
}

struct ast *parse_plain_expression(struct parser *p)
{
    return expression(p);
}

/* named_expression: NAME ':=' expression | expression */
struct ast *parse_named_expression(struct parser *p)
{
    const struct token *start = p->t;
    struct ast *target = expression(p);
    if (!next_is(p, TOK_walrus))
        return target;
    if (target->kind != AST_name) {
        const char *what = parse_describe(target);
        const char *place = target->kind == AST_attribute   ? "attribute"
                            : target->kind == AST_subscript ? "subscript"
                            : target->kind == AST_tuple     ? "tuple"
                                                            : "list";
        parse_fail_at(p, target, ERR_assign_walrus, what ? what : place);
    }
    parse_take(p);
    struct ast *n = parse_new(p, AST_walrus, start);
    n->walrus.target = target;
    n->walrus.value = expression(p);
    return parse_done(p, n);
}
