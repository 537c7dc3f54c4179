/* SPDX-License-Identifier: MIT */
/* parse.h: declares what the parser's files share.
 *
 * The parser works by recursive descent. A function parses one grammar production, which the comment above the
 * function shows, and returns the finished node. On an error, the function does not return. It reports the error,
 * unless an error was already reported for the same line. Then it unwinds by longjmp to the innermost statement, which
 * the parser drops (parse.c). */
#ifndef NESO_FRONTEND_PARSE_H
#define NESO_FRONTEND_PARSE_H

#include "frontend/python/ast.h"
#include "frontend/python/lex.h"

#include <setjmp.h>

/* The limit of the depth to which brackets, operators and blocks nest. */
enum { NESTING_MOST = 200 };

typedef VEC(struct ast *) ast_vec;

struct parser {
    struct arena *arena;
    struct interner *strings;
    struct diag *diag;
    const struct source *src;
    struct tokens tokens;
    const struct token *t;    /* the next token */
    const struct token *last; /* the last consumed token that is not a newline, indent or dedent */
    jmp_buf *recover;         /* the recovery point of the innermost statement */
    int depth;
    bool in_function, in_loop, in_class;
    /* The parser is inside a block that it parses only to report errors (orphaned_block). It then does not
     * report `return`, `break` and similar statements outside a function or loop. */
    bool is_lenient;
    uint32_t error_line; /* line of the last error */
};

/* -- parse.c -- */

/* Reports an error at a token and drops the statement. If t is the next token, there may be an error that explains
 * more: the lexer found an error at t, or a bracket around t is never closed. In this case, reports that error
 * instead. */
_Noreturn void parse_fail(struct parser *p, const struct token *t, enum error e, ...);
/* Reports an error at a node and drops the statement. */
_Noreturn void parse_fail_at(struct parser *p, const struct ast *n, enum error e, ...);
/* Reports "expected WHAT, found ..." with the next token, and drops the statement. */
_Noreturn void parse_expected(struct parser *p, const char *what);
/* Reports that neso does not support `what`, the kind of the statement at node n. Drops the statement with
 * its whole block. */
_Noreturn void parse_unsupported(struct parser *p, const struct ast *n, const char *what);
/* Returns a description of a token for messages: "the keyword 'if'", "'x'", "the end of the line". */
const char *parse_found(struct parser *p, const struct token *t);

static inline bool next_is(const struct parser *p, enum token_kind kind)
{
    return p->t->kind == kind;
}
void parse_take(struct parser *p); /* consumes the next token */
bool parse_accept(struct parser *p, enum token_kind kind);
const struct token *parse_expect(struct parser *p, enum token_kind kind);
/* Increments p->depth, and reports an error at the limit; the caller decrements it. */
void parse_enter(struct parser *p);

struct loc parse_loc(const struct parser *p, const struct token *t);
const char *parse_intern(struct parser *p, const struct token *t);
/* Parses NAME, and sets *at to the name's location. If the next token is not a name, reports an error in
 * which `what` describes the expected name. */
const char *parse_name(struct parser *p, struct loc *at, const char *what);

/* Makes a node that starts at a token. The caller sets the node's children, and then calls parse_done, which extends
 * the node's location to p->last, or to the end of the node's first line if this end is earlier. parse_done also sets
 * the node's height, and reports an error if the tree is too high. A node of one token without children needs no
 * parse_done. */
struct ast *parse_new(struct parser *p, enum ast_kind kind, const struct token *start);
struct ast *parse_done(struct parser *p, struct ast *n);
struct ast_list parse_list(struct parser *p, const ast_vec *v);

/* Parses statements up to the end of the block. Does not consume the token that ends the block, and does not add
 * statements with errors to `out`. */
void parse_statements(struct parser *p, ast_vec *out);

/* -- parse_stmt.c -- */

/* Parses a compound statement, or a line of simple statements. */
void parse_statement(struct parser *p, ast_vec *out);
/* Parses parameters up to the token `end`, and consumes `end`. `annotated` means that parameters may have
 * annotations. */
struct ast_list parse_parameters(struct parser *p, enum token_kind end, bool annotated);

/* -- parse_expr.c -- */

struct ast *parse_star_expressions(struct parser *p);  /* parses `a, *b` */
struct ast *parse_value(struct parser *p);             /* parses star expressions or a yield expression */
struct ast *parse_named_expression(struct parser *p);  /* parses `a := b` */
struct ast *parse_plain_expression(struct parser *p);  /* parses `a if b else c` or a lambda */
struct ast *parse_target_list(struct parser *p);       /* parses the target of a `for`: a, (b, *c) */
struct ast_list parse_arguments(struct parser *p);     /* parses arguments after '(', and consumes ')' */
bool parse_begins_expression(const struct parser *p);
/* If a program cannot assign to the expression, returns a description of it ("function call", "literal").
 * Returns NULL for a name, an attribute or an element (x[i]). Also returns NULL for a tuple, list or starred
 * expression, without a check of its parts. */
const char *parse_describe(const struct ast *n);
/* Checks the target of a `for` or `del`: a name, an attribute, an element, `*x`, or a tuple or list of
 * targets. Reports any other expression as `error`: ERR_assign_to for a `for`, ERR_delete_target for a `del`.
 * A `del` must not contain `*x`. */
void parse_check_targets(struct parser *p, const struct ast *n, enum error error);

/* -- parse_literal.c -- */

struct ast *parse_number(struct parser *p);
/* Parses one or more adjacent strings and f-strings. */
struct ast *parse_strings(struct parser *p);

#endif
