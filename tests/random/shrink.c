/* SPDX-License-Identifier: MIT */
/* shrink.c: makes programs smaller by edits. An edit reduces the number of programs or a size, removes a statement,
 * replaces a statement by its body, or replaces an expression by one of its operands or by 0. The caller applies edit
 * 0, 1, 2 and so on, each to a new program_copy(p). After an edit, names that have become undefined are replaced by
 * 0. */
#include "tests/random/random.h"

#include <string.h>

/* -- copies -- */

static struct node *copy_node(const struct node *n, struct arena *a)
{
    if (!n)
        return NULL;
    struct node *c = NEW(a, struct node);
    *c = *n;
    for (int i = 0; i < n->nargs; i++)
        c->arg[i] = copy_node(n->arg[i], a);
    return c;
}

static struct stmt *copy_statements(const struct stmt *s, struct arena *a)
{
    struct stmt *first = NULL, **end = &first;
    for (; s; s = s->next) {
        struct stmt *c = NEW(a, struct stmt);
        *c = *s;
        c->next = NULL;
        for (int i = 0; i < 4; i++)
            c->e[i] = copy_node(s->e[i], a);
        c->body = copy_statements(s->body, a);
        c->alternative = copy_statements(s->alternative, a);
        *end = c;
        end = &c->next;
    }
    return first;
}

/* The copy shares variables, buffers and parameters with p, because edits do not change them. */
struct program *program_copy(const struct program *p, struct arena *a)
{
    struct program *q = NEW(a, struct program);
    *q = *p;
    q->arena = a;
    q->body = copy_statements(p->body, a);
    for (int i = 0; i < p->nfunctions; i++) {
        struct function *f = NEW(a, struct function);
        *f = *p->functions[i];
        f->body = copy_statements(f->body, a);
        f->result = copy_node(f->result, a);
        q->functions[i] = f;
    }
    return q;
}

/* -- edits -- */

struct edit {
    struct program *p;
    int left;   /* the number of edits to skip */
    int result; /* the result of program_edit; 0: no edit was applied yet */
};

/* Returns whether the edit that could be applied here is the requested edit. */
static bool turn(struct edit *e)
{
    return e->result == 0 && e->left-- == 0;
}

static bool same_type(const struct vtype *x, const struct vtype *y)
{
    if (x->kind != y->kind || x->elem != y->elem || x->shape.rank != y->shape.rank)
        return false;
    for (int i = 0; i < x->shape.rank; i++)
        if (x->shape.dim[i] != y->shape.dim[i])
            return false;
    return true;
}

/* Returns whether x may replace y: it has the type of y, and its range is not larger. */
static bool may_replace(const struct node *x, const struct node *y)
{
    int class = (int)elem_info[y->type.elem].class, bits = elem_info[y->type.elem].bits - (class == SIGNED);
    if (!x || !same_type(&x->type, &y->type))
        return false;
    if (class == BOOL || x->type.kind != KIND_value)
        return true;
    if (class & INTS)
        return y->type.range.most >= bits || x->type.range.most <= y->type.range.most;
    return x->type.range.most <= y->type.range.most && x->type.range.least >= y->type.range.least;
}

static struct node *zero(struct edit *e, const struct node *n)
{
    struct node *z = NEW(e->p->arena, struct node);
    z->kind = NODE_number;
    z->type = n->type;
    return z;
}

/* Returns node number *k, counted from 0, of the nodes in the subtree `below` that may replace `at`. Decrements *k for
 * each such node before it. */
static struct node *stand_in(struct node *at, struct node *below, int *k, int depth)
{
    for (int i = 0; i < below->nargs && depth < 4; i++) {
        struct node *x = below->arg[i];
        if (!x)
            continue;
        if (may_replace(x, at) && (*k)-- == 0)
            return x;
        struct node *found = stand_in(at, x, k, depth + 1);
        if (found)
            return found;
    }
    return NULL;
}

static bool is_optional(const struct node *n, int i)
{
    return (n->kind == NODE_load && i > 0) || (n->kind == NODE_atomic && i == 2) ||
           (n->kind == NODE_histogram && i == 1);
}

static void edit_node(struct edit *e, struct node **at, bool may_vanish)
{
    struct node *n = *at;
    if (!n || e->result)
        return;
    if (may_vanish && turn(e)) {
        *at = NULL;
        e->result = 1;
        return;
    }
    bool is_value = n->type.kind == KIND_value;
    if (is_value && n->kind != NODE_number && n->kind != NODE_atomic && turn(e)) {
        *at = zero(e, n);
        e->result = 1;
        return;
    }
    for (int k = 0; k < 6; k++) {
        int nth = k;
        struct node *x = stand_in(n, n, &nth, 0);
        if (!x)
            break;
        if (turn(e)) {
            *at = x;
            e->result = 1;
            return;
        }
    }
    if (n->kind == NODE_dot_acc && turn(e)) {
        n->kind = NODE_dot;
        n->nargs = 2;
        e->result = 1;
        return;
    }
    if (n->kind == NODE_load && n->arg[1] && turn(e)) {
        n->arg[1] = n->arg[2] = NULL;
        bool whole =
            same_type(&n->type, &(struct vtype){n->type.kind, n->type.elem, n->arg[0]->type.shape, {0, 0}});
        e->result = whole ? 1 : -1;
        return;
    }
    if (((n->kind == NODE_load && n->word) || n->flag || (n->kind == NODE_extent && n->scalar)) && turn(e)) {
        if (n->kind == NODE_load)
            n->word = NULL;
        if (n->kind == NODE_extent)
            n->scalar = NULL;
        bool was = n->flag;
        n->flag = false;
        e->result = was && n->kind <= NODE_reduce_pair && n->kind >= NODE_sum
                        ? -1
                        : 1; /* with keep_dims, the shape would change */
        return;
    }
    for (int i = 0; i < n->nargs; i++)
        if (n->kind != NODE_load || i == 0)
            edit_node(e, &n->arg[i], is_optional(n, i));
        else if (n->arg[i])
            edit_node(e, &n->arg[i], false);
}

static void edit_statements(struct edit *e, struct stmt **at)
{
    for (; *at && !e->result; at = &(*at)->next) {
        struct stmt *s = *at;
        if (turn(e)) {
            *at = s->next;
            e->result = 1;
            return;
        }
        struct stmt *inner[2] = {s->body, s->alternative};
        for (int i = 0; i < 2; i++) {
            if (!inner[i] || !turn(e))
                continue;
            struct stmt *end = inner[i];
            while (end->next)
                end = end->next;
            end->next = s->next;
            *at = inner[i];
            e->result = 1;
            return;
        }
        if (s->alternative && turn(e)) {
            s->alternative = NULL;
            e->result = 1;
            return;
        }
        if (s->unroll && turn(e)) {
            s->unroll = 0;
            e->result = 1;
            return;
        }
        if (s->stages && turn(e)) {
            s->stages = s->unroll = 0;
            s->form = 0;
            e->result = 1;
            return;
        }
        edit_statements(e, &s->body);
        edit_statements(e, &s->alternative);
    }
}

static void edit_expressions(struct edit *e, struct stmt *s)
{
    for (; s && !e->result; s = s->next) {
        for (int i = 0; i < 4; i++) {
            bool may_vanish = (s->kind == STMT_store && i > 0) || (s->kind == STMT_for && i == 2);
            /* do not edit the address of STORE_at, which makes programs store to different elements */
            if (s->e[i] && !(s->kind == STMT_store && i == 3))
                edit_node(e, &s->e[i], may_vanish);
            if (s->kind == STMT_store && i == 2 && !s->e[2])
                s->rounds = 1;
        }
        edit_expressions(e, s->body);
        edit_expressions(e, s->alternative);
    }
}

static void edit_sizes(struct edit *e)
{
    struct program *p = e->p;
    if (p->grid > 1 && turn(e)) {
        p->grid = 1;
        e->result = 1;
    }
    if (p->grid_form != GRID_x && turn(e)) {
        p->grid_form = GRID_x;
        e->result = 1;
    }
    for (int i = FIRST_SYMBOL; i < p->nsymbols; i++) {
        if (p->log_size[i] > p->log_least[i] + 1 && turn(e)) {
            p->log_size[i] = p->log_least[i];
            e->result = 1;
        }
        if (p->log_size[i] > p->log_least[i] && turn(e)) {
            p->log_size[i]--;
            e->result = 1;
        }
    }
    if (p->no_fusion && turn(e)) {
        p->no_fusion = false;
        e->result = 1;
    }
}

/* -- undefined names -- */

enum { NAMES = 256 };

struct names {
    struct program *p;
    const struct var *defined[NAMES];
    int n;
    bool bad; /* a pointer is undefined, so the edit is impossible */
};

static bool is_defined(const struct names *s, const struct var *v)
{
    for (int i = 0; i < s->n; i++)
        if (s->defined[i] == v)
            return true;
    return false;
}

static void define(struct names *s, const struct var *v)
{
    if (s->n < NAMES && !is_defined(s, v))
        s->defined[s->n++] = v;
}

static void mend_node(struct names *s, struct node *n)
{
    if (!n)
        return;
    for (int i = 0; i < n->nargs; i++)
        mend_node(s, n->arg[i]);
    if (n->kind != NODE_var || is_defined(s, n->var))
        return;
    if (n->type.kind != KIND_value)
        s->bad = true;
    n->kind = NODE_number;
    n->bits = 0;
    n->number = 0;
}

static void mend_statements(struct names *s, struct stmt *at)
{
    for (; at; at = at->next) {
        for (int i = 0; i < 4; i++)
            mend_node(s, at->e[i]);
        int outer = s->n;
        if (at->kind == STMT_for)
            define(s, at->var);
        mend_statements(s, at->body);
        s->n = outer;
        mend_statements(s, at->alternative);
        s->n = outer;
        if (at->kind == STMT_assign)
            define(s, at->var);
        if (at->kind == STMT_while && !is_defined(s, at->var))
            s->bad = true;
    }
}

int program_edit(struct program *p, int number)
{
    struct edit e = {.p = p, .left = number};
    struct names names = {.p = p};
    edit_statements(&e, &p->body);
    edit_sizes(&e);
    edit_expressions(&e, p->body);
    for (int i = 0; i < p->nfunctions && !e.result; i++) {
        edit_expressions(&e, p->functions[i]->body);
        edit_node(&e, &p->functions[i]->result, false);
    }
    if (e.result > 0) {
        mend_statements(&names, p->body);
        if (names.bad)
            return -1;
    }
    return e.result;
}
