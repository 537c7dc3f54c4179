/* SPDX-License-Identifier: MIT */
/* row_alignment.c: determines how the rows of a launch's arrays are aligned. If the tensor maps of a launch
 * cannot be encoded, the launch uses a fallback (launch_plan.c). The promises of the signature determine how
 * many bytes the fallback accesses at once: for f16 only 2, if the signature promises nothing about the
 * strides. But the launcher knows the values of the strides. If the rows of all arrays are aligned to 8 or to
 * 4 bytes, the launcher compiles the fallback for this alignment. The fallback then copies rows by `cp.async`
 * in a pipeline.
 *
 *     map base=[%A] extents=[%M, %K] strides=[%sam 2 *, 2]
 *     rows are aligned to 8 bytes if 8 divides %A, and 4 divides %K and %sam
 *
 * The base, the strides and the last extent of each map determine by which numbers the arguments must be divisible. */
#include "runtime/runtime.h"

static const int bytes_of[ROWS_count] = {1, 4, 8};

/* If e is an argument, or an argument times a constant, raises the argument's divisor in `divisible` as far
 * as needed to make e * unit a multiple of `bytes`. */
static void promise(const struct expr *e, int64_t unit, int bytes, int *divisible)
{
    const bool is_product = e->n == 3 && e->at[1].code == EXPR_const && e->at[2].code == EXPR_mul;
    if ((e->n != 1 && !is_product) || e->at[0].code != EXPR_param)
        return;
    int64_t known = unit * (is_product ? e->at[1].i : 1), more = bytes;
    for (; more > 1 && known % 2 == 0; known /= 2)
        more /= 2;
    int *to = &divisible[e->at[0].i];
    *to = more > *to ? (int)more : *to;
}

void rows_promise(const struct ptx_info *info, enum rows rows, int *divisible)
{
    for (int i = 0; i < info->params.n; i++)
        divisible[i] = 1;
    for (const struct tensor_map *m = info->maps; rows && m < info->maps + info->nmaps; m++) {
        const int last = m->rank - 1;
        promise(&m->base, 1, bytes_of[rows], divisible);
        promise(&m->extents[last], dtype_info[m->dtype].bytes, bytes_of[rows], divisible);
        for (int d = 0; d < last; d++)
            promise(&m->strides[d], 1, bytes_of[rows], divisible);
    }
}

/* Returns whether the launch's arguments are multiples of their divisors, and the divisors promise more than
 * the signature. The divisor of an argument that is a multiple of 16 does not count, because the signature
 * may promise this already. */
static bool is_kept(const struct ptx_info *info, const struct launch *l, const int *divisible)
{
    bool is_news = false;
    for (int i = 0; i < info->params.n; i++) {
        if (l->args[i] & (uint64_t)(divisible[i] - 1))
            return false;
        is_news = is_news || (divisible[i] > 1 && l->args[i] % MAP_ALIGN != 0);
    }
    return is_news;
}

enum rows rows_of_launch(const struct neso_kernel *k, const struct launch *l)
{
    int divisible[LAUNCH_PARAMS_MOST];
    enum rows rows = ROWS_count - 1;
    if (!k->fallback_source.ir || k->info.params.n != l->nargs)
        return ROWS_any;
    for (; rows > ROWS_any; rows--) {
        rows_promise(&k->info, rows, divisible);
        if (is_kept(&k->info, l, divisible))
            break;
    }
    return rows;
}
