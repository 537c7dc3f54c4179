/* SPDX-License-Identifier: MIT */
/* ast.h: the syntax tree of Python source, which the parser builds and the evaluator reads.
 *
 *     x = a + 1          (assign [(name x)] (binary (name a) add (int 1)))
 *
 * A node has a kind, a location, and the fields of its kind (nodes.h): for example, a node n of kind AST_binary has the
 * field `n->binary.left`. Names are interned: equal names are equal pointers. After parsing, the tree never changes.
 * Its memory belongs to an arena. */
#ifndef NESO_FRONTEND_AST_H
#define NESO_FRONTEND_AST_H

#include "ir/support/arena.h"
#include "ir/support/diag.h"
#include "ir/support/text.h"

#include <stdbool.h>
#include <stdint.h>

enum ast_kind {
#define NODE(kind, member, fields) AST_##kind,
#include "frontend/python/nodes.h"
#undef NODE
    AST_count
};

enum oper {
#define OPERATOR(name, spelling, precedence, class) OPER_##name,
#include "frontend/python/nodes.h"
#undef OPERATOR
    OPER_count
};

/* The greatest height of a tree. This limit bounds the depth of functions that recurse over the tree. */
enum { AST_HEIGHT_MOST = 1000 };

enum oper_class { OPER_CLASS_binary, OPER_CLASS_unary, OPER_CLASS_compare, OPER_CLASS_boolean };

struct oper_info {
    const char *name;     /* for example "add" */
    const char *spelling; /* for example "+" */
    int precedence;
    enum oper_class class;
};
extern const struct oper_info oper_info[OPER_count];

enum ast_form { FORM_list, FORM_set, FORM_dict, FORM_generator };

/* Roles of parameters: a parameter before `/`, a plain parameter, `*args`, a parameter after `*`, `**kwargs`. */
enum ast_role { ROLE_positional, ROLE_plain, ROLE_args, ROLE_keyword, ROLE_kwargs };

struct ast;

struct ast_list {
    struct ast **at;
    int n;
};

/* The value of an int literal. A literal is never negative: -1 is a unary node. Literals of more than 128
 * bits are errors. */
struct ast_int {
    uint64_t low, high;
};

/* s points to `len` bytes, which may include zero bytes, and then a zero byte. Strings with equal contents
 * have equal pointers. */
struct ast_bytes {
    const char *s;
    int len;
};

/* The text of a def, as byte offsets into the source: from `def` (or `async`) to the end of the def's last
 * statement. */
struct ast_range {
    uint32_t start, end;
};

/* `loc` has the position of the node's first character, and the length of the node's text on its first line.
 * The text of a def or class does not include its decorators. The text of an expression does not include
 * parentheses around the expression, except those of a tuple or a generator. */
struct ast {
    enum ast_kind kind;
    uint16_t height; /* the height of the subtree whose root is this node: 1 for a leaf, at most AST_HEIGHT_MOST */
    struct loc loc;
    union {
#define EXPR(x) struct ast *x;
#define LIST(x) struct ast_list x;
#define BODY(x) struct ast_list x;
#define NAME(x) const char *x; struct loc x##_loc;
#define OPER(x) enum oper x; struct loc x##_loc;
#define FLAG(x) bool x;
#define WORD(x) const char *x;
#define NUMBER(x) int x;
#define BIGINT(x) struct ast_int x;
#define REAL(x) double x;
#define BYTES(x) struct ast_bytes x;
#define FORM(x) enum ast_form x;
#define ROLE(x) enum ast_role x;
#define RANGE(x) struct ast_range x;
#define NODE(kind, member, fields) struct node_##kind { fields char no_more; } member; /* C has no empty struct */
#include "frontend/python/nodes.h"
#undef NODE
#undef EXPR
#undef LIST
#undef BODY
#undef NAME
#undef OPER
#undef FLAG
#undef WORD
#undef NUMBER
#undef BIGINT
#undef REAL
#undef BYTES
#undef FORM
#undef ROLE
#undef RANGE
    };
};

/* -- parse.c -- */

/* Parses a whole file and returns its module node, which does not contain statements that have errors. Reports errors
 * to d. */
struct ast *parse_module(struct arena *a, struct interner *strings, struct diag *d, const struct source *src);
/* Parses one expression, as Python's eval() does. Returns NULL after an error, which it reports to d. */
struct ast *parse_expression(struct arena *a, struct interner *strings, struct diag *d, const struct source *src);

/* -- ast.c -- */

const char *ast_kind_name(enum ast_kind kind); /* for example "binary" */
/* Prints the whole tree, one statement per line. Prints the location of every node as line:column+length. */
void ast_print(const struct ast *n, struct text *out);
/* Prints the source of a function, without its decorators and without the indentation of its `def`. The key
 * under which an autotuning result is cached contains this text. */
void ast_def_text(const struct ast *def, const struct source *src, struct text *out);

/* Each call returns the next child of a node in source order, and skips absent children. Returns NULL at the end:
 *     struct ast_cursor at = {0};
 *     for (struct ast *c; (c = ast_child(n, &at));) ... */
struct ast_cursor {
    int field, item;
};
struct ast *ast_child(const struct ast *n, struct ast_cursor *at);

#endif
