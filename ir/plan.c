/* SPDX-License-Identifier: MIT */
/* plan.c: evaluates the expressions of a launch plan for given arguments, and prints them. */
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>

const char *const expr_words[EXPR_count] = {
#define X(name, word) [EXPR_##name] = word,
    EXPR_OPERATORS(X)
#undef X
};

void expr_push(struct arena *a, struct expr *e, enum expr_code code, int64_t i)
{
    VEC_PUSH(a, e, (struct expr_step){code, i});
}

/* -- values -- */

static bool apply(enum expr_code code, int64_t x, int64_t y, int64_t *r)
{
    switch (code) {
    case EXPR_add: return !__builtin_add_overflow(x, y, r);
    case EXPR_sub: return !__builtin_sub_overflow(x, y, r);
    case EXPR_mul: return !__builtin_mul_overflow(x, y, r);
    case EXPR_div:
    case EXPR_rem:
        if (y == 0 || (x == INT64_MIN && y == -1))
            return false;
        *r = code == EXPR_div ? x / y : x % y;
        return true;
    case EXPR_min: *r = x < y ? x : y; return true;
    case EXPR_max: *r = x > y ? x : y; return true;
    default: return false;
    }
}

bool expr_eval(const struct expr *e, const int64_t *args, const uint32_t grid[3], int64_t *value)
{
    enum { DEPTH_MOST = 64 };
    int64_t stack[DEPTH_MOST];
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        const struct expr_step *s = &e->at[i];
        if (s->code <= EXPR_grid) {
            if (n == DEPTH_MOST)
                return false;
            stack[n++] = s->code == EXPR_const ? s->i : s->code == EXPR_param ? args[s->i] : grid[s->i];
        } else {
            int64_t r;
            if (n < 2 || !apply(s->code, stack[n - 2], stack[n - 1], &r))
                return false;
            stack[--n - 1] = r;
        }
    }
    *value = n == 1 ? stack[0] : 0;
    return n == 1;
}

bool tensor_map_eval(const struct tensor_map *m, const int64_t *args, const uint32_t grid[3],
                     struct tensor_map_values *out)
{
    const int64_t extent_most = INT64_C(1) << 32, stride_end = INT64_C(1) << 40;
    int64_t base;
    *out =
        (struct tensor_map_values){.dtype = m->dtype, .rank = m->rank, .swizzle = m->swizzle, .nan = m->nan};
    if (!expr_eval(&m->base, args, grid, &base) || base % MAP_ALIGN != 0)
        return false;
    out->base = (uint64_t)base;
    for (int d = 0; d < m->rank; d++) {
        int64_t extent, stride;
        if (!expr_eval(&m->extents[d], args, grid, &extent) || extent < 1 || extent > extent_most ||
            !expr_eval(&m->strides[d], args, grid, &stride) || stride < 0 || stride >= stride_end ||
            (d < m->rank - 1 && stride % MAP_ALIGN != 0))
            return false;
        out->extents[d] = (uint64_t)extent;
        out->strides[d] = (uint64_t)stride;
        out->box[d] = m->box[d];
    }
    return true;
}

/* -- equality -- */

bool expr_equal(const struct expr *a, const struct expr *b)
{
    for (int i = 0; a->n == b->n && i < a->n; i++)
        if (a->at[i].code != b->at[i].code || a->at[i].i != b->at[i].i)
            return false;
    return a->n == b->n;
}

bool tensor_map_equal(const struct tensor_map *a, const struct tensor_map *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank || a->swizzle != b->swizzle || a->nan != b->nan ||
        !expr_equal(&a->base, &b->base))
        return false;
    for (int d = 0; d < a->rank; d++)
        if (a->box[d] != b->box[d] || !expr_equal(&a->extents[d], &b->extents[d]) ||
            !expr_equal(&a->strides[d], &b->strides[d]))
            return false;
    return true;
}

/* -- text -- */

void expr_print(const struct expr *e, struct text *out, const char *(*name)(const void *ctx, int64_t i),
                const void *ctx)
{
    for (int i = 0; i < e->n; i++) {
        const struct expr_step *s = &e->at[i];
        text_str(out, i ? " " : "");
        if (s->code == EXPR_const)
            text_printf(out, "%" PRId64, s->i);
        else if (s->code == EXPR_param)
            text_str(out, name(ctx, s->i));
        else if (s->code == EXPR_grid)
            text_printf(out, "grid%d", (int)s->i);
        else
            text_str(out, expr_words[s->code]);
    }
}
