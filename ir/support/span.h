/* span.h: subspaces of bit vectors under XOR, in echelon form, and solving linear equations in them.
 *
 * Each added vector carries a word, its `combo`, which is XORed whenever the vector is. If basis[i] is added
 * with the combo 1 << i, the combo of any vector tells which basis vectors XOR to it. */
#ifndef NESO_IR_SPAN_H
#define NESO_IR_SPAN_H

#include <stdbool.h>
#include <stdint.h>

enum { SPAN_BITS = 32 };

struct span {
    int rank;
    uint32_t vector[SPAN_BITS]; /* [p]: 0, or a vector whose highest bit is p */
    uint64_t combo[SPAN_BITS];
};

static inline int bits_top(uint32_t v)
{
    return 31 - __builtin_clz(v);
}

/* The remainder of v; 0 if v is in the span. XORs the combos of the subtracted vectors into *combo. */
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

/* Returns false if v was in the span already. */
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

/* Independent vectors in the order in which they were added, with their span. */
struct basis {
    int n;
    uint32_t vector[SPAN_BITS];
    struct span span;
};

/* Returns false if v depends on the others. */
bool basis_add(struct basis *b, uint32_t v);
/* Adds those of the vectors that are independent, until the basis has n. */
void basis_extend(struct basis *b, const uint32_t *vectors, int nvectors, int n);
/* Of the space spanned by the bits of `space`, finds a subspace that meets a and b only in zero, and whose
 * dimension is the space's less n. a and b have at most n vectors and are extended to n. */
void basis_complement(struct basis *out, struct basis *a, struct basis *b, uint32_t space, int n);

#endif
