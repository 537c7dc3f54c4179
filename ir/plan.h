/* plan.h: the launch plan: what a kernel needs from its launcher besides its arguments. Tensor maps have
 * numbers that are expressions over the arguments and the grid; guards are conditions under which the kernel
 * is correct.
 *
 *     map #m0 = f16 base=[%A] extents=[%M, %K] strides=[%stride_am 2 *, 2] box=[128 64] swizzle=128
 *     guard [%n0 1 -]
 *
 * Expressions are in postfix: `%stride_am 2 *` is twice the argument. Dimensions stand outermost first, as in
 * tiles; the last stride is the element's size. A guard holds where its value is at least 0. Each map implies
 * a guard that is not written: the map can be encoded (extents of at least 1, base and strides multiples of
 * 16 bytes). */
#ifndef NESO_IR_PLAN_H
#define NESO_IR_PLAN_H

#include "ir/support/text.h"
#include "ir/support/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* MAPS_MOST: the limit for one kernel. */
enum { MAP_RANK_MAX = 5, MAP_BOX_MOST = 256, MAP_ALIGN = 16, MAP_BYTES = 128, MAPS_MOST = 16 };

/* enum member, its word in the text */
#define EXPR_OPERATORS(X)                                                                                    \
    X(add, "+") X(sub, "-") X(mul, "*") X(div, "/") X(rem, "rem") X(min, "min") X(max, "max")

enum expr_code {
    EXPR_const, /* a number, in i */
    EXPR_param, /* argument i; integers are sign-extended */
    EXPR_grid,  /* number of programs along axis i */
#define X(name, word) EXPR_##name,
    EXPR_OPERATORS(X)
#undef X
        EXPR_count
};
extern const char *const expr_words[EXPR_count]; /* NULL for the first three members */

struct expr_step {
    enum expr_code code;
    int64_t i;
};
/* An expression in postfix; division rounds toward zero. */
struct expr {
    struct expr_step *at;
    int n, cap;
};

/* A tensor map as opt describes it. */
struct tensor_map {
    int dtype; /* enum dtype */
    int rank;  /* 1 to MAP_RANK_MAX */
    struct expr base;
    struct expr extents[MAP_RANK_MAX]; /* in elements */
    struct expr strides[MAP_RANK_MAX]; /* in bytes */
    int box
        /* in elements, at most MAP_BOX_MOST; the innermost is at most the swizzle's bytes once the layout of
         * the buffer is known: several boxes then cover a larger tile */
        [MAP_RANK_MAX];
    int swizzle;        /* bytes: 0 (none), 32, 64, 128 */
    bool nan;           /* elements outside read as NaN, not as 0 */
};

/* The map's numbers for one launch. */
struct tensor_map_values {
    uint64_t base;
    uint64_t extents[MAP_RANK_MAX], strides[MAP_RANK_MAX];
    int dtype, rank, box[MAP_RANK_MAX], swizzle;
    bool nan;
};

void expr_push(struct arena *a, struct expr *e, enum expr_code code, int64_t i);
/* Returns false if the value cannot be computed: 64-bit overflow, or division by 0. */
bool expr_eval(const struct expr *e, const int64_t *args, const uint32_t grid[3], int64_t *value);
bool expr_equal(const struct expr *a, const struct expr *b);
/* `name(ctx, i)` gives the spelling of parameter i. */
void expr_print(const struct expr *e, struct text *out, const char *(*name)(const void *ctx, int64_t i),
                const void *ctx);

bool tensor_map_equal(const struct tensor_map *a, const struct tensor_map *b);
/* Returns false if the GPU cannot encode the map. */
bool tensor_map_eval(const struct tensor_map *m, const int64_t *args, const uint32_t grid[3],
                     struct tensor_map_values *out);

#endif
