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

bool tensor_map_values(const struct tensor_map *m, const int64_t *args, const uint32_t grid[3],
                       struct tensor_map_values *out)
{
    const int64_t extent_most = INT64_C(1) << 32, stride_end = INT64_C(1) << 40;
    int64_t base;
    *out =
        (struct tensor_map_values){.dtype = m->dtype, .rank = m->rank, .swizzle = m->swizzle, .nan = m->nan};
    if (!expr_eval(&m->base, args, grid, &base))
        return false;
    out->base = (uint64_t)base;
    for (int d = 0; d < m->rank; d++) {
        int64_t extent, stride;
        if (!expr_eval(&m->extents[d], args, grid, &extent) || extent < 1 || extent > extent_most ||
            !expr_eval(&m->strides[d], args, grid, &stride) || stride < 0 || stride >= stride_end)
            return false;
        out->extents[d] = (uint64_t)extent;
        out->strides[d] = (uint64_t)stride;
        out->box[d] = m->box[d];
    }
    return true;
}

bool tensor_map_is_aligned(const struct tensor_map_values *v)
{
    bool is_aligned = v->base % MAP_ALIGN == 0;
    for (int d = 0; d < v->rank - 1; d++)
        is_aligned = is_aligned && v->strides[d] % MAP_ALIGN == 0;
    return is_aligned;
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

struct infix {
    const struct expr *e;
    struct text *out;
    const char *(*name)(const void *ctx, int64_t i);
    const void *ctx;
};

/* Step `last` is the last step of an operand. Returns the number of the operand's first step. */
static int operand_start(const struct expr *e, int last)
{
    int wanted = 1;
    for (int i = last; i >= 0; i--) {
        wanted += e->at[i].code > EXPR_grid ? 1 : -1;
        if (!wanted)
            return i;
    }
    return 0;
}

static bool is_number(const struct expr *e, int from, int last, int64_t i)
{
    return from == last && e->at[from].code == EXPR_const && e->at[from].i == i;
}

/* Prints the expression that steps `from` to `last` compute, without operands that have no effect (+ 0, * 1).
 * Puts the expression in parentheses if its operator has a lower precedence than `bind` (1: that of + and -,
 * 2: that of * and /). */
static void put_infix(const struct infix *x, int from, int last, int bind)
{
    const struct expr_step *s = &x->e->at[last];
    if (s->code <= EXPR_grid) {
        struct expr one = {&x->e->at[last], 1, 1};
        expr_print(&one, x->out, x->name, x->ctx);
        return;
    }
    const int right = operand_start(x->e, last - 1);
    const bool is_sum = s->code == EXPR_add || s->code == EXPR_sub,
               is_call = s->code == EXPR_min || s->code == EXPR_max;
    const int own = is_sum ? 1 : 2;
    const int64_t none = is_sum ? 0 : 1;
    if (!is_call && s->code != EXPR_rem && is_number(x->e, right, last - 1, none)) {
        put_infix(x, from, right - 1, bind);
        return;
    }
    if ((s->code == EXPR_add || s->code == EXPR_mul) && is_number(x->e, from, right - 1, none)) {
        put_infix(x, right, last - 1, bind);
        return;
    }
    const bool in_parentheses = !is_call && own < bind;
    text_str(x->out, is_call ? expr_words[s->code] : "");
    text_str(x->out, is_call || in_parentheses ? "(" : "");
    put_infix(x, from, right - 1, is_call ? 0 : own);
    const char *word = s->code == EXPR_div ? "//" : s->code == EXPR_rem ? "%" : expr_words[s->code];
    text_str(x->out, is_call ? "," : " ");
    text_str(x->out, is_call ? "" : word);
    text_str(x->out, " ");
    put_infix(x, right, last - 1, is_call ? 0 : s->code == EXPR_add || s->code == EXPR_mul ? own : own + 1);
    text_str(x->out, is_call || in_parentheses ? ")" : "");
}

static bool adds(const struct expr_step *s)
{
    return s->code == EXPR_add || s->code == EXPR_sub;
}

/* Copies the steps of e to `out`, and combines constants that are added or subtracted one after the other: x + 3 -
 * 1 becomes x + 2. Returns the number of steps in `out`. */
static int simplify(const struct expr *e, struct expr_step *out)
{
    int n = 0;
    for (int i = 0; i < e->n; i++) {
        out[n++] = e->at[i];
        if (n < 4 || !adds(&out[n - 1]) || out[n - 2].code != EXPR_const || !adds(&out[n - 3]) ||
            out[n - 4].code != EXPR_const)
            continue;
        const int64_t x = out[n - 4].i * (out[n - 3].code == EXPR_sub ? -1 : 1),
                      y = out[n - 2].i * (out[n - 1].code == EXPR_sub ? -1 : 1);
        n -= 4;
        if (x + y != 0) {
            out[n++] = (struct expr_step){EXPR_const, x + y < 0 ? -(x + y) : x + y};
            out[n++] = (struct expr_step){x + y < 0 ? EXPR_sub : EXPR_add, 0};
        }
    }
    return n;
}

enum { STEPS_MOST = 256 };

void expr_print_infix(const struct expr *e, struct text *out, const char *(*name)(const void *ctx, int64_t i),
                      const void *ctx)
{
    struct expr_step steps[STEPS_MOST];
    if (!e->n || e->n > STEPS_MOST)
        return;
    const struct expr simple = {steps, simplify(e, steps), STEPS_MOST};
    put_infix(&(struct infix){&simple, out, name, ctx}, 0, simple.n - 1, 0);
}

void expr_print_condition(const struct expr *e, struct text *out,
                          const char *(*name)(const void *ctx, int64_t i), const void *ctx)
{
    const int last = e->n - 1;
    struct expr left = *e, right = {.n = 0};
    if (last > 0 && e->at[last].code == EXPR_sub) {
        const int at = operand_start(e, last - 1);
        left.n = at;
        right = (struct expr){e->at + at, last - at, 0};
    }
    expr_print_infix(&left, out, name, ctx);
    text_str(out, " >= ");
    if (right.n)
        expr_print_infix(&right, out, name, ctx);
    else
        text_char(out, '0');
}
