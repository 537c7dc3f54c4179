/* SPDX-License-Identifier: MIT */
/* proofs.c: tells the caller of neso_program_run, for each launch on the interpreter, the facts that are
 * proven about the kernel's accesses (neso_run_options.accessed). The proofs (opt/analysis/proof.h) hold for
 * every grid and every size, under conditions on the arguments. proofs.c evaluates these conditions for the
 * launch.
 *
 *     store Y + i, mask i < n      elements 0 to n - 1         n = 1000, Y has 1000 elements: in bounds */
#include "opt/analysis/proof.h"
#include "opt/passes.h"
#include "runtime/runtime.h"

struct kernel_proofs {
    struct rebuild memory;
    const struct func *func; /* NULL: the IR could not be analysed */
    struct proofs list;
    struct kernel_proofs *next; /* the next element of the program's list */
    const struct neso_kernel *kernel;
};

/* -- proving, once for each kernel -- */

static void analyse(struct neso_kernel *k, struct kernel_proofs *x)
{
    static const struct opt_options options = {.passes = "fold,cse,licm,fold,dce"};
    const struct diag *d = &k->module->diag;
    struct text t;
    struct fallback_source from = {.nfiles = d->sources.n, .files = d->sources.at};
    struct rebuild *r = &x->memory;
    rebuild_open(k, r, NULL);
    if (setjmp(r->unwind) != 0)
        return;
    text_init(&t, &r->arena);
    func_print(k->traced, &t);
    from.ir = t.s;
    from.bytes = t.len;
    struct func *f = rebuild_parse(k, r, &from);
    if (!f)
        return;
    opt_run(f, &options);
    if (r->diag.nerrors == 0)
        prove_accesses(f, &x->list);
    x->func = r->diag.nerrors ? NULL : f;
}

static struct kernel_proofs *proofs_of(struct program *p, struct neso_kernel *k)
{
    for (struct kernel_proofs *x = p->proofs; x; x = x->next)
        if (x->kernel == k)
            return x;
    struct kernel_proofs *x = NEW(&p->module->arena, struct kernel_proofs);
    x->kernel = k;
    x->next = p->proofs;
    p->proofs = x;
    if (k->traced)
        analyse(k, x);
    return x;
}

void proofs_free(struct program *p)
{
    for (struct kernel_proofs *x = p->proofs; x; x = x->next)
        rebuild_free(&x->memory);
    p->proofs = NULL;
}

/* -- the conditions that a launch fulfils -- */

struct telling {
    struct program *program;
    const struct kernel_proofs *proofs;
    const struct launch *launch;
    int64_t *args;
    bool ran;                     /* the launch ended without an error */
    struct text bounds, programs; /* the texts of neso_access */
};

static const char *param_name(const void *ctx, int64_t i)
{
    const struct func *f = ctx;
    return f->params.at[i].name;
}

static void put_expr(const struct telling *x, struct text *out, const struct expr *e)
{
    expr_print_infix(e, out, param_name, x->proofs->func);
}

/* Returns the first guard that this launch violates; NULL if it fulfils all guards. */
static const struct expr *violated(const struct telling *x, const struct guards *g)
{
    int64_t value;
    for (int i = 0; i < g->n; i++)
        if (!expr_eval(&g->at[i], x->args, x->launch->grid, &value) || value < 0)
            return &g->at[i];
    return NULL;
}

static bool has_code(const struct expr *e, enum expr_code code)
{
    for (int i = 0; i < e->n; i++)
        if (e->at[i].code == code)
            return true;
    return false;
}

/* Appends "if" before the first condition, and "and" before each further one; *n is the number of conditions
 * so far. */
static void put_if(struct text *out, int *n)
{
    text_str(out, (*n)++ ? " and " : ", if ");
}

/* Returns whether the guard requires a grid with only one program along an axis. */
static bool is_of_grid(const struct expr *e)
{
    return e->n == 3 && e->at[0].code == EXPR_const && e->at[1].code == EXPR_grid;
}

static void put_condition(const struct telling *x, struct text *out, const struct expr *e)
{
    if (is_of_grid(e))
        text_printf(out, "grid%d == 1", (int)e->at[1].i);
    else
        expr_print_condition(e, out, param_name, x->proofs->func);
}

/* Appends the guards that depend on the arguments, or that require a grid with only one program along an
 * axis. *n is the number of conditions so far. */
static void put_guards(const struct telling *x, struct text *out, const struct guards *g, int *n)
{
    for (int i = 0; i < g->n; i++) {
        const struct expr *e = &g->at[i];
        bool is_repeated = false;
        for (int k = 0; k < i; k++)
            is_repeated = is_repeated || expr_equal(e, &g->at[k]);
        if (is_repeated || (!has_code(e, EXPR_param) && !is_of_grid(e)))
            continue;
        put_if(out, n);
        put_condition(x, out, e);
    }
}

static int64_t elements_of(const struct launch_tensor *t)
{
    return (int64_t)(tensor_span(t) / t->elem_bytes);
}

static bool tell_bounds(struct telling *x, const struct proof *p)
{
    struct text *out = &x->bounds;
    const struct launch *l = x->launch;
    int64_t first, last;
    if (p->unbounded) {
        text_str(out, p->unbounded);
        return false;
    }
    const struct expr *guard = violated(x, &p->guards);
    text_printf(out, "elements ");
    put_expr(x, out, &p->first);
    text_str(out, " to ");
    put_expr(x, out, &p->last);
    int n_conditions = 0;
    put_guards(x, out, &p->guards, &n_conditions);
    if (guard) {
        text_str(out, "; this launch violates ");
        put_condition(x, out, guard);
        return false;
    }
    if (!expr_eval(&p->first, x->args, l->grid, &first) || !expr_eval(&p->last, x->args, l->grid, &last) ||
        !l->tensors[p->base].dtype)
        return false;
    const int64_t n = elements_of(&l->tensors[p->base]);
    if (last >= first && (first < 0 || last >= n)) {
        text_printf(out, "; in this launch it may reach %lld to %lld, and the tensor has %lld",
                    (long long)first, (long long)last, (long long)n);
        return false;
    }
    return true;
}

static bool overlap(const struct launch *l, int a, int b)
{
    const struct launch_tensor *x = &l->tensors[a], *y = &l->tensors[b];
    return a == b || (x->dtype && y->dtype && l->args[a] < l->args[b] + tensor_span(y) &&
                      l->args[b] < l->args[a] + tensor_span(x));
}

struct size {
    const struct proof_dim *dim;
    int64_t stride, last;
};

/* Evaluates the sizes and strides of n dimensions for this launch, and sorts them by stride, the smallest first.
 * Returns false if they cannot be evaluated. */
static bool sizes_of(const struct telling *x, const struct proof_dim *dims, int n, struct size *out)
{
    for (int i = 0; i < n; i++) {
        out[i].dim = &dims[i];
        if (!expr_eval(&dims[i].stride, x->args, x->launch->grid, &out[i].stride) ||
            !expr_eval(&dims[i].last, x->args, x->launch->grid, &out[i].last))
            return false;
        for (int k = i; k > 0 && out[k].stride < out[k - 1].stride; k--) {
            struct size swap = out[k];
            out[k] = out[k - 1];
            out[k - 1] = swap;
        }
    }
    return true;
}

/* Appends the condition that the stride of the dimension `outer` is larger than the offset of the last
 * element along `inner`, the dimension with the next smaller stride. */
static void put_nested(struct telling *x, const struct proof_dim *outer, const struct proof_dim *inner)
{
    struct expr below = {0};
    struct arena *scratch = &x->program->scratch;
    for (int i = 0; i < inner->last.n; i++)
        expr_push(scratch, &below, inner->last.at[i].code, inner->last.at[i].i);
    for (int i = 0; i < inner->stride.n; i++)
        expr_push(scratch, &below, inner->stride.at[i].code, inner->stride.at[i].i);
    expr_push(scratch, &below, EXPR_mul, 0);
    put_expr(x, &x->programs, &outer->stride);
    text_str(&x->programs, " > ");
    put_expr(x, &x->programs, &below);
}

static bool is_constant(const struct proof_dim *outer, const struct proof_dim *inner)
{
    return !has_code(&outer->stride, EXPR_param) && !has_code(&inner->stride, EXPR_param) &&
           !has_code(&inner->last, EXPR_param) && !has_code(&inner->last, EXPR_grid);
}

static const char violates[] = "programs may meet: this launch violates ";

/* Returns whether the dimensions of p nest in this launch: the stride of each dimension is at least the
 * extent of the dimensions with smaller strides, so that an element's address determines its indices. If
 * they nest, appends the conditions for the nesting; otherwise, if a condition is violated, sets
 * x->programs to this condition. */
static bool nests(struct telling *x, const struct proof *p, int *n)
{
    struct size d[ACCESS_DIMS_MOST];
    int64_t room = 1;
    if (!sizes_of(x, p->dims, p->ndims, d))
        return false;
    for (int i = 0; i < p->ndims; i++) {
        if (d[i].stride < room) {
            text_init(&x->programs, &x->program->scratch);
            text_str(&x->programs, violates);
            if (i)
                put_nested(x, d[i].dim, d[i - 1].dim);
            else
                text_str(&x->programs, "that elements have places of their own");
            return false;
        }
        if (__builtin_mul_overflow(d[i].stride, d[i].last + 1, &room))
            return false;
    }
    for (int i = p->ndims - 1; i > 0; i--) {
        if (is_constant(d[i].dim, d[i - 1].dim))
            continue;
        put_if(&x->programs, n);
        put_nested(x, d[i].dim, d[i - 1].dim);
    }
    return true;
}

/* Returns whether different programs of this launch access different elements through access p. Sets x->programs in
 * both cases. */
static bool is_apart(struct telling *x, const struct proof *p)
{
    int n = 0;
    text_init(&x->programs, &x->program->scratch);
    if (p->shared || p->unbounded || violated(x, &p->guards)) {
        text_str(&x->programs, p->shared      ? p->shared
                               : p->unbounded ? p->unbounded
                                              : "its box is not that of this launch");
        return false;
    }
    text_str(&x->programs, "each program has elements of its own");
    if (!nests(x, p, &n))
        return false;
    const struct expr *guard = violated(x, &p->apart);
    if (guard) {
        text_init(&x->programs, &x->program->scratch);
        text_str(&x->programs, violates);
        put_condition(x, &x->programs, guard);
        return false;
    }
    put_guards(x, &x->programs, &p->apart, &n);
    return true;
}

/* -- several accesses to one tensor -- */

/* Returns whether p and q may race: they may access the same element, at least one of them writes, and at most one of
 * them is atomic. */
static bool conflict(const struct telling *x, const struct proof *p, const struct proof *q)
{
    return !(p->reads && q->reads) && !(p->is_atomic && q->is_atomic) &&
           (p->base < 0 || q->base < 0 || overlap(x->launch, p->base, q->base));
}

/* The window of a program is the range of elements that the program accesses through p and through the
 * accesses that may race with p. Returns whether the windows of different programs are known and do not
 * overlap; if so, sets x->programs. */
static bool in_windows(struct telling *x, const struct proof *p)
{
    const struct proofs *all = &x->proofs->list;
    const struct proof_window *w = &p->window;
    int64_t least = 0, most = 0, first, last;
    bool any = false;
    for (int i = 0; i < all->n; i++) {
        const struct proof *q = &all->at[i];
        if (q != p && !conflict(x, p, q))
            continue;
        if (q->window.unknown || q->unbounded || violated(x, &q->guards) || q->base != p->base ||
            !poly_equal(&q->window.place, &w->place) || violated(x, &q->window.guards) ||
            !expr_eval(&q->window.first, x->args, x->launch->grid, &first) ||
            !expr_eval(&q->window.last, x->args, x->launch->grid, &last))
            return false;
        least = any && least < first ? least : first;
        most = any && most > last ? most : last;
        any = true;
    }
    struct size s[ACCESS_DIMS_MOST];
    if (violated(x, &p->window_apart) || !sizes_of(x, w->scalars, w->n, s))
        return false;
    int64_t room = most - least + 1, more;
    for (int i = 0; i < w->n; i++)
        if (s[i].stride < room || __builtin_mul_overflow(s[i].stride, s[i].last, &more) ||
            __builtin_add_overflow(room, more, &room))
            return false;
    int n_conditions = 0;
    text_init(&x->programs, &x->program->scratch);
    text_str(&x->programs, "each program has a part of its own, from ");
    put_expr(x, &x->programs, &w->first);
    text_str(&x->programs, " to ");
    put_expr(x, &x->programs, &w->last);
    for (int i = 0; i < w->n; i++) {
        text_str(&x->programs, i ? " and " : "; the parts are ");
        put_expr(x, &x->programs, &w->scalars[i].stride);
    }
    text_str(&x->programs, w->n ? " apart" : "");
    put_guards(x, &x->programs, &p->window_apart, &n_conditions);
    return true;
}

/* Returns whether p is proven to take part in no race between programs of this launch. In both cases, sets
 * x->programs to the reason. */
static bool tell_programs(struct telling *x, const struct proof *p)
{
    const struct proofs *all = &x->proofs->list;
    const struct proof *other = NULL, *own = p->like >= 0 ? &all->at[p->like] : p;
    bool is_written = false;
    for (int i = 0; i < all->n; i++) {
        const struct proof *q = &all->at[i];
        if (!conflict(x, p, q))
            continue;
        is_written = true;
        if (p != q && q != own && !(q->like >= 0 && p == &all->at[q->like]))
            other = q;
    }
    if (all->has_other_writes) {
        text_str(&x->programs,
                 "the kernel may write memory by inline assembly or by a function that runs as Python");
        return false;
    }
    if (!is_written) {
        text_str(&x->programs,
                 p->is_atomic ? "all accesses are atomic" : "the kernel does not write the tensor");
        return true;
    }
    if ((!other && is_apart(x, own)) || in_windows(x, p))
        return true;
    if (other)
        text_printf(&x->programs, "line %u accesses the same tensor", (unsigned)other->op->loc.line);
    return false;
}

static const char *word_of(const struct proof *p)
{
    return p->is_atomic ? "atomic" : p->writes ? "store" : "load";
}

static void tell(struct telling *x, const struct proof *p)
{
    const struct func *f = x->proofs->func;
    const struct diag *d = &x->proofs->memory.diag;
    const struct loc at = p->op->loc;
    text_init(&x->bounds, &x->program->scratch);
    text_init(&x->programs, &x->program->scratch);
    neso_access a = {
        .size = sizeof a, .kernel = f->name, .kind = word_of(p), .line = at.line, .column = at.col};
    a.tensor = p->base >= 0 ? f->params.at[p->base].name : NULL;
    a.file = at.file < d->sources.n ? d->sources.at[at.file]->name : NULL;
    a.ran = x->ran;
    a.in_bounds = tell_bounds(x, p);
    a.apart = tell_programs(x, p);
    a.bounds = x->bounds.s;
    a.programs = x->programs.s;
    x->program->options.accessed(x->program->options.user, &a);
}

void proofs_tell(struct program *p, struct neso_kernel *k, const struct launch *l, bool ran)
{
    struct telling x = {.program = p, .proofs = proofs_of(p, k), .launch = l, .ran = ran};
    if (!x.proofs->func)
        return;
    struct arena_mark mark = arena_mark(&p->scratch);
    x.args = NEW_ARRAY(&p->scratch, l->nargs + 1, int64_t);
    for (int i = 0; i < l->nargs; i++) {
        const int unused = 64 - type_elem_bits(x.proofs->func->body->args.at[i]->type);
        x.args[i] = (int64_t)(l->args[i] << unused) >> unused;
    }
    for (int i = 0; i < x.proofs->list.n; i++)
        tell(&x, &x.proofs->list.at[i]);
    arena_reset(&p->scratch, mark);
}
