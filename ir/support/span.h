/* SPDX-License-Identifier: MIT */
/* span.h: represents subspaces of bit vectors under XOR (over GF(2)) in echelon form, and solves linear
 * equations in them.
 *
 * The caller gives each vector that it adds a word, the vector's `combo`. Whenever two vectors are XORed,
 * their combos are XORed too. For example, let vector i be added with the combo 1 << i. Then every vector of
 * the span is the XOR of the added vectors i for which bit i of its combo is set. */
#ifndef NESO_IR_SPAN_H
#define NESO_IR_SPAN_H

#include <stdbool.h>
#include <stdint.h>

enum { SPAN_BITS = 32 };

struct span {
    int rank;
    uint32_t vector[SPAN_BITS]; /* vector[p] is 0, or its highest bit is p */
    uint64_t combo[SPAN_BITS];
};

static inline int bits_top(uint32_t v)
{
    return 31 - __builtin_clz(v);
}

/* Reduces v by the span's vectors (Gaussian elimination), and returns the remainder, which is 0 if v is in
 * the span. XORs the combos of the subtracted vectors into *combo. */
static inline uint32_t span_reduce(const struct span *s, uint32_t v, uint64_t *combo)
{
    for (uint32_t rest = v; rest;) {
        int p = bits_top(rest);
        if (s->vector[p]) {
            v ^= s->vector[p];
            rest ^= s->vector[p];
            *combo ^= s->combo[p];
        }
        rest &= ~(UINT32_C(1) << p);
    }
    return v;
}

static inline bool span_has(const struct span *s, uint32_t v)
{
    uint64_t combo = 0;
    return span_reduce(s, v, &combo) == 0;
}

/* Adds v to the span, and returns true. If v is already in the span, changes nothing, and returns false. */
static inline bool span_add(struct span *s, uint32_t v, uint64_t combo)
{
    v = span_reduce(s, v, &combo);
    if (!v)
        return false;
    s->vector[bits_top(v)] = v;
    s->combo[bits_top(v)] = combo;
    s->rank++;
    return true;
}

/* -- span.c -- */

/* Linearly independent vectors in the order in which they were added, and their span. */
struct basis {
    int n;
    uint32_t vector[SPAN_BITS];
    struct span span;
};

/* Adds v, and returns true. If v is in the span of the basis, changes nothing, and returns false. */
bool basis_add(struct basis *b, uint32_t v);
/* Adds those of the given vectors that are not in the span of the basis yet, until the basis has n
 * vectors. */
void basis_extend(struct basis *b, const uint32_t *vectors, int nvectors, int n);
/* Extends a and b, which have at most n vectors each, to n vectors of the space that the bits of `space`
 * span. Then finds a common complement of a and b: a subspace that intersects a and b only in zero, and whose
 * dimension is that of the space minus n. */
void basis_complement(struct basis *out, struct basis *a, struct basis *b, uint32_t space, int n);

#endif
