/* parse.h: the functions that the parser's files share: the cursor over tokens, creation of nodes, errors.
 *
 * The parser works by recursive descent: a function has the name of its production, which is written above
 * it, and returns the finished node. On an error it does not return: it reports the error and unwinds to the
 * statement, which is dropped (parse.c). */
#ifndef NESO_FRONTEND_PARSE_H
#define NESO_FRONTEND_PARSE_H

#include "frontend/python/ast.h"
#include "frontend/python/lex.h"

#include <setjmp.h>

/* Levels of brackets, operators and blocks that the parser recurses into. */
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
    bool is_lenient;     /* inside a block whose head had an error */
    uint32_t error_line; /* line of the last error */
};

/* -- parse.c -- */

/* Reports an error at a token and drops the statement. A more precise error replaces it: an error of the
 * lexer at that token, or a bracket around it that is never closed. */
_Noreturn void parse_fail(struct parser *p, const struct token *t, enum error e, ...);
/* Likewise at a node. */
_Noreturn void parse_fail_at(struct parser *p, const struct ast *n, enum error e, ...);
/* "expected WHAT, found the next token". */
_Noreturn void parse_expected(struct parser *p, const char *what);
/* Likewise for a statement that neso does not support, with its whole block. */
_Noreturn void parse_unsupported(struct parser *p, const struct ast *n, const char *what);
/* How messages name a token. */
const char *parse_found(struct parser *p, const struct token *t);

static inline bool next_is(const struct parser *p, enum token_kind kind)
{
    return p->t->kind == kind;
}
void parse_take(struct parser *p); /* consumes the next token */
bool parse_accept(struct parser *p, enum token_kind kind);
const struct token *parse_expect(struct parser *p, enum token_kind kind);
/* Enters one level of nesting; the caller leaves it by p->depth--. */
void parse_enter(struct parser *p);

struct loc parse_loc(const struct parser *p, const struct token *t);
const char *parse_intern(struct parser *p, const struct token *t);
/* NAME, or an error that tells why the token is not a name. */
const char *parse_name(struct parser *p, struct loc *at, const char *what);

/* Makes a node that starts at a token; parse_done ends it at the last consumed token, when its children are
 * set. */
struct ast *parse_new(struct parser *p, enum ast_kind kind, const struct token *start);
struct ast *parse_done(struct parser *p, struct ast *n);
struct ast_list parse_list(struct parser *p, const ast_vec *v);

/* Statements up to the block's end, which is not consumed; those with errors are missing. */
void parse_statements(struct parser *p, ast_vec *out);

/* -- parse_stmt.c -- */

/* A compound statement, or a line of simple ones. */
void parse_statement(struct parser *p, ast_vec *out);
/* consumes `end` too */
struct ast_list parse_parameters(struct parser *p, enum token_kind end, bool annotated);

/* -- parse_expr.c -- */

struct ast *parse_star_expressions(struct parser *p);  /* a, *b */
struct ast *parse_value(struct parser *p);             /* star expressions, or yield */
struct ast *parse_named_expression(struct parser *p);  /* a := b */
struct ast *parse_plain_expression(struct parser *p);  /* a if b else c, lambda */
struct ast *parse_target_list(struct parser *p);       /* of `for`: a, (b, *c) */
struct ast_list parse_arguments(struct parser *p);     /* after '(', consumes ')' */
bool parse_begins_expression(const struct parser *p);
/* "function call", "literal": the kind of expression that cannot be assigned to; NULL: it is a target. */
const char *parse_describe(const struct ast *n);

/* -- parse_literal.c -- */

struct ast *parse_number(struct parser *p);
/* One or more adjacent strings and f-strings. */
struct ast *parse_strings(struct parser *p);

#endif
