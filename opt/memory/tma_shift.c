/* SPDX-License-Identifier: MIT */
/* tma_shift.c: lets tensor maps describe boxes whose position depends on values in memory. There are two problems. A
 * coordinate below 0 is outside of a tensor map, although a row before the parameter's address may exist. And a bound
 * that is loaded from memory is unknown when the launcher makes the map. The solution is to add constants to the
 * coordinates. In the examples, k numbers the elements of 2 bytes in a row, and s is the stride of the rows
 * in bytes:
 *
 *     A + s m + 2 k,  m from memory                 coordinates 2^30, m + 2^29, k
 *                                                   strides     2^34 - s / 2, s, 2         extents ..., 2^30, ...
 *
 *     the same, if m < end, end from memory         coordinates 2^30, end + 2^29, m - end + 2^30, k
 *                                                   strides     2^34 - 3 s / 2, s, s, 2    extents ..., 2^30, 2^30, ...
 *
 * The first dimension, along which the box has one element, undoes the shifts: 2^30 times its stride is 2^64 minus
 * the shifts in bytes, and addresses wrap at 2^64. In the second map, rows from `end` on are outside, because
 * their coordinate m - end + 2^30 is not less than the extent 2^30. The map's base stays A: on an H200, a
 * copy of a box that is wholly outside the map still accesses the base, which must therefore be mapped
 * memory.
 *
 * The values m (in the first map) and end (in the second) are first clamped to -2^29 .. 2^29 - 1. A guard
 * requires that the stride s is at least 1,024 bytes. A row beyond the clamp's limits would then be at least
 * 2^39 bytes away from A, which is outside of the memory that was allocated with A. */
#include "opt/analysis/affine.h"

enum { SHIFT_BITS = 29, EXTENT_BITS = 30, STRIDE_LEAST = 1024 };
#define SHIFT (INT64_C(1) << SHIFT_BITS)
#define EXTENT (INT64_C(1) << EXTENT_BITS)

bool is_shifted(const struct access *a)
{
    for (int d = 0; d < a->ndims; d++)
        if (a->dims[d].shift)
            return true;
    return false;
}

/* Returns whether `limited` can compute p: p is a single value, or all its atoms are values of at most 32
 * bits. */
static bool can_limit(const struct affine_table *t, const struct poly *p)
{
    bool is_narrow = true;
    for (int i = 0; i < p->n; i++)
        for (int k = 0; k < p->at[i].natoms; k++) {
            struct atom a = atom_of(t, p->at[i].atoms[k]);
            is_narrow = is_narrow && a.value && dtype_info[a.value->type->dtype].bytes <= 4;
        }
    return is_narrow ||
           (p->n == 1 && p->at[0].natoms == 1 && p->at[0].factor == 1 && atom_of(t, p->at[0].atoms[0]).value);
}

/* Requires, by a guard if necessary, that the stride of d is at least STRIDE_LEAST bytes, so that rows beyond
 * the limits of the clamp do not exist. Returns false if the stride is known to be smaller, or if no guard
 * can require it. */
static bool guard_stride(struct affine_table *t, const struct access_dim *d, struct guards *g)
{
    int64_t bytes;
    if (poly_const(&d->stride, &bytes))
        return bytes >= STRIDE_LEAST;
    struct expr *e = guard_new(g);
    if (!e || !poly_expr(t, &d->stride, e))
        return false;
    expr_push(t->f->module->arena, e, EXPR_const, STRIDE_LEAST);
    expr_push(t->f->module->arena, e, EXPR_sub, 0);
    return true;
}

static void drop_dim(struct access *a, int dim)
{
    a->ndims--;
    for (int d = dim; d < a->ndims; d++)
        a->dims[d] = a->dims[d + 1];
}

/* An additional dimension of an access is a dimension that its tile does not have. Returns the additional
 * dimension whose start is the bound of dimension d: it has the same stride as d. If several additional
 * dimensions have this stride, one for each term of the bound, first merges them. Returns -1 if there is no
 * such dimension, or if the dimensions cannot be merged. */
static int find_end(struct affine_table *t, struct access *a, int d)
{
    int end = -1;
    for (int i = a->tile_rank; i < a->ndims; i++) {
        if (!poly_equal(&a->dims[i].stride, &a->dims[d].stride))
            continue;
        if (end < 0) {
            end = i;
            continue;
        }
        if (!poly_add(t, &a->dims[end].start, &a->dims[end].start, &a->dims[i].start, 1))
            return -1;
        drop_dim(a, i--);
    }
    return end;
}

/* Shifts dimension d of the tile, whose bound is a value from memory, and the additional dimension whose
 * start is this bound. Returns false if d has no such bound, if d has other bounds too, or if `limited`
 * cannot compute the bound. */
static bool shift_to_end(struct affine_table *t, struct access *a, int d)
{
    struct access_dim *dim = &a->dims[d];
    if (dim->nbounds != 1 || dim->bounds[0].is_modulo || dim->bounds[0].more.n)
        return false;
    int end = find_end(t, a, d);
    if (end < 0 || !can_limit(t, &a->dims[end].start))
        return false;
    *dim = (struct access_dim){
        .tile_dim = d, .stride = dim->stride, .start = dim->start, .shift = EXTENT, .ends_at = end};
    a->dims[end].shift = SHIFT;
    a->dims[end].ends_at = -1;
    return true;
}

static bool shift(struct affine_table *t, struct access *a, int d)
{
    struct access_dim *dim = &a->dims[d];
    if (d == a->contiguous)
        return false;
    if (dim->nbounds)
        return shift_to_end(t, a, d);
    if (!can_limit(t, &dim->start))
        return false;
    dim->shift = SHIFT;
    dim->ends_at = -1;
    return true;
}

const char *shift_starts(struct affine_table *t, struct access *a, struct guards *g)
{
    struct text why;
    text_init(&why, t->f->module->scratch);
    for (int d = 0; d < a->ndims; d++) {
        int nguards = a->nguards;
        if (a->dims[d].shift || starts_inside(t, a, d))
            continue;
        a->nguards = nguards;
        if (!shift(t, a, d) || !guard_stride(t, &a->dims[d], g)) {
            text_printf(&why, "the start of dimension %d may be negative", d);
            return why.s;
        }
    }
    return is_shifted(a) && a->ndims == ACCESS_DIMS_MOST ? "it takes too many dimensions" : NULL;
}

/* -- the map -- */

bool shifted_extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out)
{
    expr_push(t->f->module->arena, out, EXPR_const, EXTENT);
    return d->shift != 0;
}

bool undoing_stride_expr(struct affine_table *t, const struct access *a, struct expr *out)
{
    struct arena *arena = t->f->module->arena;
    expr_push(arena, out, EXPR_const, INT64_C(1) << (64 - EXTENT_BITS));
    for (int d = 0; d < a->ndims; d++) {
        if (!a->dims[d].shift)
            continue;
        if (!poly_expr(t, &a->dims[d].stride, out))
            return false;
        expr_push(arena, out, EXPR_const, EXTENT / a->dims[d].shift);
        expr_push(arena, out, EXPR_div, 0);
        expr_push(arena, out, EXPR_sub, 0);
    }
    return true;
}

/* -- the coordinates -- */

/* Builds p, clamped to -SHIFT .. SHIFT - 1, as an i32. (Clamps before the truncation to 32 bits.) */
static struct value *limited(struct affine_table *t, struct builder *b, const struct poly *p)
{
    const struct type *i32 = type_scalar(t->f->module, DT_i32);
    struct value *v = p->n == 1 && p->at[0].natoms == 1 && p->at[0].factor == 1
                          /* the cast drops const from a value of the function that the pass rewrites */
                          ? (struct value *)(uintptr_t)atom_of(t, p->at[0].atoms[0]).value
                          : poly_build(t, b, p);
    v = build_binary(b, OP_maxs, v, build_const_int(b, v->type, -SHIFT));
    v = build_binary(b, OP_mins, v, build_const_int(b, v->type, SHIFT - 1));
    return v->type == i32 ? v : build_cast(b, OP_trunc, v, i32);
}

static struct value *plus(struct builder *b, struct value *v, int64_t n)
{
    return build_binary(b, OP_add, v, build_const_int(b, v->type, n));
}

int build_coordinates(struct affine_table *t, struct builder *b, const struct access *a, const int *dims,
                      struct value **coords)
{
    int n = 0;
    if (is_shifted(a))
        coords[n++] = build_const_i32(b, EXTENT);
    for (int i = 0; i < a->ndims; i++) {
        const struct access_dim *d = &a->dims[dims[i]];
        if (!d->shift) {
            coords[n++] = poly_build(t, b, &d->start);
        } else if (d->ends_at < 0) {
            coords[n++] = plus(b, limited(t, b, &d->start), SHIFT);
        } else { /* the start is m - end, but the coordinate must be m - clamped end */
            const struct poly *end = &a->dims[d->ends_at].start;
            struct value *m = build_binary(b, OP_add, poly_build(t, b, &d->start), poly_build(t, b, end));
            coords[n++] = plus(b, build_binary(b, OP_sub, m, limited(t, b, end)), EXTENT);
        }
    }
    return n;
}
