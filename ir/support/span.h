/* span.h: subspaces of bit vectors under XOR, kept in echelon form, and solving in them.
 *
 * Each vector put in carries a word, its `combo`, that is XORed along with it. So whoever puts basis[i] in
 * with the combo 1 << i can ask of any vector: which of the basis vectors make it? */
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

/* What is left of v; 0 if it is in the span. The combos of what was taken off are XORed into *combo. */
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

/* False if v was in it already. */
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

/* False if v depends on the others. */
bool basis_add(struct basis *b, uint32_t v);
/* Adds vectors, those that are independent, until the basis has n. */
void basis_extend(struct basis *b, const uint32_t *vectors, int nvectors, int n);
/* Of the space of the bits in `space`, a subspace that meets neither a nor b but in zero, of the space's
 * dimension less n. a and b have at most n vectors and grow to n. */
void basis_complement(struct basis *out, struct basis *a, struct basis *b, uint32_t space, int n);

#endif
