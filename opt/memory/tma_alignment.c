/* SPDX-License-Identifier: MIT */
/* tma_alignment.c: decides whether each row of the box of a TMA copy starts and ends at a multiple of 16
 * bytes.
 *
 *     start 130 pid + 64 trips(%k), elements of 2 bytes        no: the kernel keeps its loads
 *     start pid * %n, nothing known of %n                      guard: 0 - (2 n rem 16)^2 >= 0, true if 8 divides n
 *
 * Along the outer dimensions, loads accept all coordinates, and stores accept all nonnegative coordinates
 * (raise_tma_store.c). Along the innermost dimension, a box must start at a multiple of 16 bytes: otherwise the
 * instruction is illegal on an H200, although the PTX ISA does not say so. The rows of stores must also end at a
 * multiple of 16 bytes. A condition that depends on arguments becomes a guard that the launch checks. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

enum { LOG_ALIGN = 4 };

/* Returns a power of two, at most 16, that divides the scalar v. */
static int divisor_of_value(struct affine_table *t, const struct value *v)
{
    if (!t->axes)
        t->axes = axis_analyse(t->f);
    int log = axis_of(t->axes, v)->log_divisible[0];
    return 1 << (log < LOG_ALIGN ? log : LOG_ALIGN);
}

/* Returns a number that divides the value of the term. */
static int64_t divisor_of(struct affine_table *t, const struct term *x)
{
    int64_t n = x->factor;
    for (int i = 0; i < x->natoms; i++) {
        const struct value *v = atom_of(t, x->atoms[i]).value;
        n *= v ? divisor_of_value(t, v) : 1;
    }
    return n;
}

/* Adds a guard which requires that p * bytes is a multiple of 16. A guard holds if its expression is at least 0;
 * here the expression is 0 minus the square of the remainder. Returns false if g is full or if the launcher
 * cannot compute p. */
static bool guard(struct affine_table *t, const struct poly *p, int64_t bytes, struct guards *g)
{
    struct arena *arena = t->f->module->arena;
    if (g->n == GUARDS_OF_ACCESS_MOST)
        return false;
    struct expr *e = &g->at[g->n++];
    *e = (struct expr){0};
    bool good = true;
    expr_push(arena, e, EXPR_const, 0);
    for (int i = 0; i < 2; i++) {
        good = good && poly_expr(t, p, e);
        expr_push(arena, e, EXPR_const, bytes);
        expr_push(arena, e, EXPR_mul, 0);
        expr_push(arena, e, EXPR_const, MAP_ALIGN);
        expr_push(arena, e, EXPR_rem, 0);
    }
    expr_push(arena, e, EXPR_mul, 0);
    expr_push(arena, e, EXPR_sub, 0);
    return good;
}

/* Returns the product of the term's uniform factors. */
static struct poly uniform_part(const struct affine_table *t, const struct term *x)
{
    struct poly p = {.n = 1, .at = {{.factor = x->factor}}};
    for (int i = 0; i < x->natoms; i++)
        if (x->atoms[i] != term_atom(t, x))
            p.at[0].atoms[p.at[0].natoms++] = x->atoms[i];
    return p;
}

bool guard_aligned(struct affine_table *t, const struct poly *p, int64_t bytes, struct guards *g)
{
    struct poly uniform = {0};
    int64_t known;
    for (int i = 0; i < p->n; i++) {
        const struct term *x = &p->at[i];
        if (divisor_of(t, x) * bytes % MAP_ALIGN == 0)
            continue;
        struct poly part = uniform_part(t, x);
        if (term_atom(t, x) < 0)
            uniform.at[uniform.n++] = *x;
        else if (!part.at[0].natoms || !guard(t, &part, bytes, g))
            return false;
    }
    if (poly_const(&uniform, &known))
        return known * bytes % MAP_ALIGN == 0;
    return guard(t, &uniform, bytes, g);
}

bool is_known_aligned(struct affine_table *t, const struct access *a, int64_t bytes)
{
    struct guards g = {0};
    bool is =
        divisor_of_value(t, t->f->body->args.at[a->base]) == MAP_ALIGN && guard_aligned(t, &a->offset, 1, &g);
    for (int d = 0; d < a->ndims && is; d++)
        is = d == a->contiguous ? guard_aligned(t, &a->dims[d].start, bytes, &g)
                                : guard_aligned(t, &a->dims[d].stride, 1, &g);
    return is && !g.n;
}
