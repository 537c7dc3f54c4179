/* SPDX-License-Identifier: MIT */
/* plan.h: declares the launch plan: the tensor maps that a kernel needs from its launcher in addition to its
 * arguments, and the guards that the launcher must check. The numbers in a tensor map are expressions over the
 * arguments and the grid. A guard is a condition that must hold for the kernel to be correct.
 *
 *     map #m0 = f16 base=[%A] extents=[%M, %K] strides=[%stride_am 2 *, 2] box=[128 64] swizzle=128
 *     guard [%n0 1 -]
 *
 * Expressions are in postfix: `%stride_am 2 *` is twice the argument. Dimensions are listed outermost first, as in
 * tiles; the last stride is the element's size. A guard holds if its value is at least 0. Each map also
 * implies a guard that the text omits: the GPU must be able to encode the map. (Extents must be from 1 to
 * 2^32, and strides at least 0 and less than 2^40 bytes. The base, and all strides except the last, must be
 * multiples of 16 bytes.) */
#ifndef NESO_IR_PLAN_H
#define NESO_IR_PLAN_H

#include "ir/support/text.h"
#include "ir/support/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* MAPS_MOST limits the tensor maps of one kernel. PARAMS_MOST_BYTES limits the bytes of a kernel's parameters,
 * including its tensor maps. (From PTX 8.1 on, ptxas allows 32764 bytes.) */
enum {
    MAP_RANK_MAX = 5,
    MAP_BOX_MOST = 256,
    MAP_ALIGN = 16,
    MAP_BYTES = 128,
    MAPS_MOST = 16,
    PARAMS_MOST_BYTES = 4352
};

/* Each row is an enum member and its word in the text. */
#define EXPR_OPERATORS(X)                                                                                    \
    X(add, "+") X(sub, "-") X(mul, "*") X(div, "/") X(rem, "rem") X(min, "min") X(max, "max")

enum expr_code {
    EXPR_const, /* the number i */
    EXPR_param, /* argument i; integer arguments are sign-extended */
    EXPR_grid,  /* number of programs along axis i */
#define X(name, word) EXPR_##name,
    EXPR_OPERATORS(X)
#undef X
        EXPR_count
};
extern const char *const expr_words[EXPR_count]; /* NULL for EXPR_const, EXPR_param and EXPR_grid */

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
    int dtype; /* an enum dtype: the element type */
    int rank;  /* number of dimensions: 1 to MAP_RANK_MAX */
    struct expr base;
    struct expr extents[MAP_RANK_MAX]; /* size of each dimension, in elements */
    struct expr strides[MAP_RANK_MAX]; /* bytes between neighbours, for each dimension */
    /* The box's size in elements, at most MAP_BOX_MOST in each dimension. When the buffer has got a layout
     * with a swizzle, the box's innermost dimension also has at most `swizzle` bytes. If a tile is larger
     * than the box, several copies fill it. */
    int box[MAP_RANK_MAX];
    int swizzle;        /* width of the swizzle in bytes: 0 (none), 32, 64 or 128 */
    bool nan;           /* out-of-bounds elements read as NaN instead of 0 */
};

/* The values of a tensor map's expressions in one launch. */
struct tensor_map_values {
    uint64_t base;
    uint64_t extents[MAP_RANK_MAX], strides[MAP_RANK_MAX];
    int dtype, rank, box[MAP_RANK_MAX], swizzle;
    bool nan;
};

void expr_push(struct arena *a, struct expr *e, enum expr_code code, int64_t i);
/* Returns false if the value cannot be computed: 64-bit overflow, division by 0, or an expression that is malformed
 * or too deep. */
bool expr_eval(const struct expr *e, const int64_t *args, const uint32_t grid[3], int64_t *value);
bool expr_equal(const struct expr *a, const struct expr *b);
/* `name(ctx, i)` returns the spelling of parameter i. */
void expr_print(const struct expr *e, struct text *out, const char *(*name)(const void *ctx, int64_t i),
                const void *ctx);

/* Prints e as a simplified Python expression, for example (M - 1) * sa + K - 1. */
void expr_print_infix(const struct expr *e, struct text *out, const char *(*name)(const void *ctx, int64_t i),
                      const void *ctx);
/* Prints the condition that e is at least 0; if e is a difference such as sc - N, prints sc >= N. */
void expr_print_condition(const struct expr *e, struct text *out, const char *(*name)(const void *ctx, int64_t i),
                          const void *ctx);

bool tensor_map_equal(const struct tensor_map *a, const struct tensor_map *b);
/* Computes the values of the map for a launch with these arguments and this grid. Returns false if an
 * expression cannot be computed, or if the GPU cannot encode the map because of an extent or stride. Does not
 * check alignment (tensor_map_is_aligned does). */
bool tensor_map_values(const struct tensor_map *m, const int64_t *args, const uint32_t grid[3],
                       struct tensor_map_values *out);
/* Returns whether the base, and all strides except the last, are multiples of 16 bytes, as the GPU
 * requires. */
bool tensor_map_is_aligned(const struct tensor_map_values *v);

#endif
