/* SPDX-License-Identifier: MIT */
/* span.c: computes a common complement of two subspaces of bit vectors.
 *
 * Let a1..ap and b1..bp extend a basis of the intersection of A and B to bases of A and of B, and u1..uk extend
 * a basis of A + B to a basis of the whole space. Then a1^b1 .. ap^bp, u1..uk span a subspace that intersects A
 * only in zero: if a sum of these vectors is in A, its b's and u's must cancel, so the sum is empty. The same
 * holds for B. For example, if the unit vectors of a tile's rows span A, and the unit vectors of its columns
 * span B, the complement is the diagonal. */
#include "ir/support/span.h"

bool basis_add(struct basis *b, uint32_t v)
{
    if (!span_add(&b->span, v, 0))
        return false;
    b->vector[b->n++] = v;
    return true;
}

void basis_extend(struct basis *b, const uint32_t *vectors, int nvectors, int n)
{
    for (int i = 0; i < nvectors && b->n < n; i++)
        basis_add(b, vectors[i]);
}

void basis_complement(struct basis *out, struct basis *a, struct basis *b, uint32_t space, int n)
{
    struct basis units = {0};
    for (int i = 0; i < SPAN_BITS; i++)
        if (space >> i & 1)
            basis_add(&units, UINT32_C(1) << i);
    /* Each basis is first extended by vectors of the other basis: the larger the intersection, the fewer vectors of
     * the complement are XORs of two vectors. */
    basis_extend(a, b->vector, b->n, n);
    basis_extend(b, a->vector, a->n, n);
    basis_extend(a, units.vector, units.n, n);
    basis_extend(b, a->vector, a->n, n);
    *out = (struct basis){0};
    struct basis with_b = *a, with_a = *b;
    for (int i = 0, k = 0; i < b->n; i++) {
        if (!basis_add(&with_b, b->vector[i]))
            continue;
        while (!basis_add(&with_a, a->vector[k]))
            k++;
        basis_add(out, a->vector[k++] ^ b->vector[i]);
    }
    for (int i = 0; i < units.n; i++)
        if (basis_add(&with_b, units.vector[i]))
            basis_add(out, units.vector[i]);
}
