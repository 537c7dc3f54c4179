/* SPDX-License-Identifier: MIT */
/* ast.c: defines the tables of syntax tree nodes, and prints and walks trees.
 *
 *     if x:              (if@1:1+5 (name@1:4+1 x)
 *         y = -1           body
 *                            (assign@2:5+6 [(name@2:5+1 y)] (unary@2:9+2 -@2:9 (int@2:10+1 1))))
 *
 * The location of a node is printed as line:column+length, and the location of a name or operator as
 * line:column. An absent part is printed as `_`, and a list is printed in brackets. In the switches below,
 * each row of nodes.h expands to one case, and the row's fields expand to function calls. */
#include "frontend/python/ast.h"

#include <inttypes.h>
#include <string.h>

const struct oper_info oper_info[OPER_count] = {
#define OPERATOR(name, spelling, precedence, class) {#name, spelling, precedence, OPER_CLASS_##class},
#include "frontend/python/nodes.h"
#undef OPERATOR
};

static const char *const kind_names[AST_count] = {
#define NODE(kind, member, fields) #kind,
#include "frontend/python/nodes.h"
#undef NODE
};

const char *ast_kind_name(enum ast_kind kind)
{
    return kind_names[kind];
}

/* -- text -- */

struct printer {
    struct text *out;
    int indent;
};

static void print_node(struct printer *p, const struct ast *n);

static void print_expr(struct printer *p, const struct ast *n)
{
    text_char(p->out, ' ');
    if (n)
        print_node(p, n);
    else
        text_char(p->out, '_');
}

static void print_list(struct printer *p, const struct ast_list *list)
{
    text_str(p->out, " [");
    for (int i = 0; i < list->n; i++) {
        if (i > 0)
            text_char(p->out, ' ');
        print_node(p, list->at[i]);
    }
    text_char(p->out, ']');
}

static void new_line(struct printer *p)
{
    text_char(p->out, '\n');
    for (int i = 0; i < p->indent; i++)
        text_char(p->out, ' ');
}

/* Prints a list of statements; prints nothing if the list is empty. */
static void print_body(struct printer *p, const char *part, const struct ast_list *list)
{
    if (list->n == 0)
        return;
    p->indent += 2;
    new_line(p);
    text_str(p->out, part);
    p->indent += 2;
    for (int i = 0; i < list->n; i++) {
        new_line(p);
        print_node(p, list->at[i]);
    }
    p->indent -= 4;
}

static void print_place(struct printer *p, struct loc at)
{
    if (at.line)
        text_printf(p->out, "@%" PRIu32 ":%d", at.line, at.col);
}

static void print_name(struct printer *p, const char *name, struct loc at)
{
    text_printf(p->out, " %s", name ? name : "_");
    print_place(p, at);
}

static void print_oper(struct printer *p, enum oper op, struct loc at)
{
    text_printf(p->out, " %s", oper_info[op].spelling);
    print_place(p, at);
}

static void print_bigint(struct printer *p, struct ast_int x)
{
    if (x.high)
        text_printf(p->out, " 0x%" PRIx64 "%016" PRIx64, x.high, x.low);
    else
        text_printf(p->out, " %" PRIu64, x.low);
}

static void print_real(struct printer *p, double x)
{
    text_char(p->out, ' ');
    text_double(p->out, x, 0);
}

static void print_bytes(struct printer *p, struct ast_bytes b)
{
    text_char(p->out, ' ');
    text_quoted(p->out, b.s, b.len, '\'');
}

static void print_number(struct printer *p, int x)
{
    text_printf(p->out, " %d", x);
}

static const char *const form_words[] = {"list", "set", "dict", "generator"};
static const char *const role_words[] = {"positional", "plain", "args", "keyword", "kwargs"};

#define EXPR(x) print_expr(p, m->x);
#define LIST(x) print_list(p, &m->x);
#define BODY(x) print_body(p, #x, &m->x);
#define NAME(x) print_name(p, m->x, m->x##_loc);
#define OPER(x) print_oper(p, m->x, m->x##_loc);
#define FLAG(x) text_str(p->out, m->x ? " " #x : "");
#define WORD(x) print_name(p, m->x, (struct loc){0});
#define NUMBER(x) print_number(p, m->x);
#define BIGINT(x) print_bigint(p, m->x);
#define REAL(x) print_real(p, m->x);
#define BYTES(x) print_bytes(p, m->x);
#define FORM(x) text_printf(p->out, " %s", form_words[m->x]);
#define ROLE(x) text_printf(p->out, " %s", role_words[m->x]);
#define RANGE(x) text_printf(p->out, " %" PRIu32 "..%" PRIu32, m->x.start, m->x.end);
#define NODE(kind, member, fields)                                                                           \
    case AST_##kind: {                                                                                       \
        const struct node_##kind *m = &n->member;                                                            \
        (void)m;                                                                                             \
        fields break;                                                                                        \
    }

static void print_fields(struct printer *p, const struct ast *n)
{
    switch (n->kind) {
#include "frontend/python/nodes.h"
    case AST_count: break;
    }
}

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

static void print_node(struct printer *p, const struct ast *n)
{
    text_printf(p->out, "(%s", kind_names[n->kind]);
    print_place(p, n->loc);
    text_printf(p->out, "+%d", n->loc.len);
    print_fields(p, n);
    text_char(p->out, ')');
}

void ast_print(const struct ast *n, struct text *out)
{
    struct printer p = {.out = out};
    print_node(&p, n);
    text_char(out, '\n');
}

/* -- children -- */

/* The macros below are the cases of ast_child. `field` counts the fields of n that contain nodes. The cursor stores
 * the number of the field at which the walk continues, and, if this field is a list, the index of the next item. */
#define EXPR(x)                                                                                              \
    if (field++ == at->field) {                                                                              \
        at->field++;                                                                                         \
        if (m->x)                                                                                            \
            return m->x;                                                                                     \
    }
#define LIST(x)                                                                                              \
    if (field++ == at->field) {                                                                              \
        if (at->item < m->x.n)                                                                               \
            return m->x.at[at->item++];                                                                      \
        at->field++;                                                                                         \
        at->item = 0;                                                                                        \
    }
#define BODY(x) LIST(x)
#define NAME(x)
#define OPER(x)
#define FLAG(x)
#define WORD(x)
#define NUMBER(x)
#define BIGINT(x)
#define REAL(x)
#define BYTES(x)
#define FORM(x)
#define ROLE(x)
#define RANGE(x)

struct ast *ast_child(const struct ast *n, struct ast_cursor *at)
{
    int field = 0;
    (void)field;
    switch (n->kind) {
#include "frontend/python/nodes.h"
    case AST_count: break;
    }
    return NULL;
}

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
#undef NODE

/* -- source -- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f';
}

void ast_def_text(const struct ast *def, const struct source *src, struct text *out)
{
    const char *s = src->text + def->def.text.start, *end = src->text + def->def.text.end;
    int indent = 0;
    while (s - indent > src->text && is_blank(s[-indent - 1]))
        indent++;
    while (s < end) {
        const char *stop = memchr(s, '\n', (size_t)(end - s));
        const char *next = stop ? stop + 1 : end;
        text_bytes(out, s, (size_t)(next - s));
        s = next;
        for (int i = 0; i < indent && s < end && is_blank(*s); i++)
            s++;
    }
}
