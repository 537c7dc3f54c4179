/* SPDX-License-Identifier: MIT */
/* pair.c: finds, for each row of the candidate, the row of the base with which it is compared.
 *
 * The name of a kernel's row contains the kernel's name and a digest of its specialization. So the row's name
 * changes if the kernel is renamed, or gets another tile size, another number of warps, or a signature with
 * other promises. Rows are therefore paired in three steps. Each step pairs rows, in their order, that the
 * steps before it left unpaired:
 *
 *     base                   candidate
 *     mm/add-028e       ──►  mm/add-028e            1. the same name
 *     mm/matmul-174c    ──►  mm/matmul-93b0         2. the same program and kernel: a specialization changed
 *     mm/softmax-3f2a   ──►  mm/fused_softmax-77c1  3. the same program, if both sides have equally many rows left
 *     mm/layernorm-11aa      (missing)
 *
 * Timed calls get their names from the program (a plot's line and size), so only timed calls with equal names are
 * paired. Timed launches of a program that times nothing get their names from kernels, so step 3 pairs them too. */
#include "runtime/command/bench/bench.h"

#include <string.h>

enum step { SAME_NAME, SAME_KERNEL, SAME_POSITION };

static bool is_same_program(const struct bench_row *a, const struct bench_row *b)
{
    size_t n = strcspn(a->name, "/");
    return strncmp(a->name, b->name, n) == 0 && b->name[n] == a->name[n];
}

/* Returns whether the row is named after a kernel, not by the program. */
static bool is_named_by_kernel(const struct bench_row *r)
{
    const char *slash = strchr(r->name, '/');
    return r->is_kernel || (slash && !strchr(slash + 1, '/'));
}

static bool may_pair(const struct bench_row *a, const struct bench_row *b, enum step step)
{
    if (a->is_kernel != b->is_kernel)
        return false;
    if (step == SAME_NAME)
        return strcmp(a->name, b->name) == 0;
    if (!is_same_program(a, b))
        return false;
    if (step == SAME_KERNEL)
        return a->is_kernel && a->kernel && b->kernel && strcmp(a->kernel, b->kernel) == 0;
    return is_named_by_kernel(a) && is_named_by_kernel(b);
}

/* Returns how many rows of s have no partner yet and may become the partner of `r` in step 3. */
static size_t count_left(const struct bench_set *s, const struct bench_row *const *partners,
                         const struct bench_row *r)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += !partners[i] && may_pair(r, &s->rows[i], SAME_POSITION);
    return n;
}

void pair_rows(const struct bench_set *candidate, const struct bench_set *base,
               const struct bench_row **of_candidate, const struct bench_row **of_base)
{
    memset(of_candidate, 0, candidate->n * sizeof(*of_candidate));
    memset(of_base, 0, base->n * sizeof(*of_base));
    for (enum step step = SAME_NAME; step <= SAME_POSITION; step++)
        for (size_t i = 0; i < candidate->n; i++) {
            const struct bench_row *r = &candidate->rows[i];
            if (of_candidate[i] || (step == SAME_POSITION &&
                                    count_left(candidate, of_candidate, r) != count_left(base, of_base, r)))
                continue;
            for (size_t k = 0; k < base->n && !of_candidate[i]; k++)
                if (!of_base[k] && may_pair(r, &base->rows[k], step)) {
                    of_candidate[i] = &base->rows[k];
                    of_base[k] = r;
                }
        }
}
