/* SPDX-License-Identifier: MIT */
/* shared.c: finds the layout of shared memory that converts between two distributed layouts with the fewest
 * bank conflicts, and counts the wavefronts of an access.
 *
 * Shared memory has 32 banks of 4 bytes: word w is in bank w mod 32. A warp's access is split into phases:
 * one phase of all lanes if a lane accesses at most 4 bytes, phases of 16 lanes for 8 bytes a lane, phases of
 * 8 lanes for 16 bytes a lane. A phase takes n wavefronts if n is the largest number of different words that
 * the phase accesses in one bank. Layouts are linear, so all banks that a phase accesses have the same number
 * of words. Let S be the span of the word addresses (of all lanes of the phase, and of all words of a lane's
 * vector): the phase accesses 2^rank(S) words in 2^rank(S mod 32) banks. The number of wavefronts therefore
 * depends only on S, not on the order of the lanes.
 *
 * Let A be the layout of the threads that store, and B the layout of the threads that load. The layout of shared
 * memory between A and B consists of vectors for the bits of the offset. These vectors form three groups, from the
 * lowest bit:
 *
 *     offset bits    [ V: vector ][ bank: the rest of 128 bytes ][ R: which row of 128 bytes ]
 *
 * V consists of the register vectors that A and B have in common, and of further register vectors of A or of B.
 * layout_shared_for tries every number of further vectors, and chooses the number with which the store and
 * the load together take the fewest wavefronts. The span of R may intersect the span S of A's phase, and the
 * span of B's phase, only in the zero vector. Then no two words of a phase differ only in the row, so all
 * words of the phase are in different banks. Two subspaces of equal dimension always have a common
 * complement. To find a complement, choose a basis of their intersection. Vectors a_i extend this basis to a
 * basis of A's span, and vectors b_i extend this basis to a basis of B's span. R consists of the vectors a_i
 * ^ b_i, and of vectors that extend a basis of the sum of both spans to a basis of the whole space (span.c).
 * For a transposition, where the a_i number columns and the b_i number rows, R is the usual XOR swizzle. If A
 * and B are equal, there are no a_i and b_i, and hence no swizzle. */
#include "ir/layout/layout.h"

#include "ir/support/span.h"

#include <stddef.h>

/* The logarithms (base 2) of the number of banks, of the bytes of a word, and of the bytes of a lane's widest
 * access. */
enum { BANKS_BITS = 5, WORD_BITS = 2, ACCESS_BITS = 4 };

/* -- vectors -- */

/* Returns the input bit of kind `kind` that has exactly the coordinate bit `bit` as its vector. Returns -1 if
 * there is none, or if another vector or the flip also contains `bit`. */
static int clean_bit(const struct layout *l, enum in kind, int bit)
{
    int found = -1, first = layout_first(l, kind);
    uint32_t unit = UINT32_C(1) << bit;
    for (int i = 0, n = layout_first(l, IN_count); i < n; i++) {
        if (!(l->basis[i] & unit))
            continue;
        if (found >= 0 || l->basis[i] != unit || i < first || i >= first + l->nbits[kind])
            return -1;
        found = i - first;
    }
    return l->flip & unit ? -1 : found;
}

int layout_vector(const struct layout *l, int dim, int most)
{
    int bit = 0, n = 1;
    for (int d = l->rank - 1; d > dim; d--)
        bit += l->dim_bits[d];
    for (int i = 0; i < l->dim_bits[dim] && 2 * n <= most && clean_bit(l, IN_reg, bit + i) == i; i++)
        n *= 2;
    return n;
}

int layout_shared_vector(const struct layout *shared, const struct layout *l, int most, int *reg_of)
{
    struct place_map m;
    layout_divide(&m, l, shared);
    int n = 1;
    if (reg_of)
        reg_of[0] = 0;
    for (int bit = 0; bit < m.nout && 2 * n <= most; bit++, n *= 2) {
        uint64_t unit = UINT64_C(1) << bit;
        int found = -1, users = m.flip & unit ? 2 : 0;
        for (int i = 0; i < m.nin; i++)
            if (m.basis[i] & unit) {
                users++;
                found = i < l->nbits[IN_reg] && m.basis[i] == unit ? i : -1;
            }
        if (users != 1 || found < 0)
            break;
        for (int i = 0; reg_of && i < n; i++)
            reg_of[n + i] = reg_of[i] | 1 << found;
    }
    return n;
}

/* -- wavefronts -- */

/* Returns how many accesses of `vector` elements a lane makes to store or load all its registers except
 * replicated registers. */
static int count_accesses(const struct layout *l, int vector)
{
    int regs = 1 << (l->nbits[IN_reg] - __builtin_popcount(layout_free_bits(l, IN_reg)));
    return regs > vector ? regs / vector : 1;
}

static int phase_bits(int access_bytes)
{
    return access_bytes > 4 ? log2_floor(access_bytes) - WORD_BITS : 0;
}

int layout_wavefronts_least(const struct layout *l, int elem_bytes, int vector)
{
    return count_accesses(l, vector) << phase_bits(elem_bytes * vector);
}

int layout_wavefronts(const struct layout *shared, const struct layout *l, int elem_bytes, int vector)
{
    struct place_map m;
    layout_divide(&m, l, shared);
    struct span words = {0}, banks = {0};
    int phases = phase_bits(elem_bytes * vector), first = layout_first(l, IN_lane);
    for (int i = -phases; i < l->nbits[IN_lane] - phases; i++) {
        uint32_t bytes = i < 0 ? UINT32_C(1) << (WORD_BITS + phases + i)
                               : (uint32_t)m.basis[first + i] << log2_floor(elem_bytes);
        span_add(&words, bytes >> WORD_BITS, 0);
        span_add(&banks, bytes >> WORD_BITS & ((1 << BANKS_BITS) - 1), 0);
    }
    return layout_wavefronts_least(l, elem_bytes, vector) << (words.rank - banks.rank);
}

/* -- the swizzle -- */

/* The coordinate bits of V, to which the low bits of the offset map. The first bits of the list are register
 * bits of both layouts, `from` and `to`; the later bits are register bits of only one of the two layouts. */
struct vector_bits {
    int n;
    int bit[ACCESS_BITS];
    int for_from, for_to; /* how many of these bits number the elements of a vector of `from`; of `to` */
};

static uint32_t mask_of(const int *bit, int n)
{
    uint32_t mask = 0;
    for (int i = 0; i < n; i++)
        mask |= UINT32_C(1) << bit[i];
    return mask;
}

/* Adds to v the coordinate bits for which clean_bit finds a register bit of l and, unless `other` is NULL, a
 * register bit of `other`. Adds them in the order of l's register bits, and stops when v has `most` bits. */
static void add_vector_bits(struct vector_bits *v, const struct layout *l, const struct layout *other,
                            int most)
{
    int nbits = layout_coord_bits(l);
    for (int reg = 0; reg < l->nbits[IN_reg]; reg++)
        for (int bit = 0; bit < nbits && v->n < most; bit++)
            if (clean_bit(l, IN_reg, bit) == reg && !(mask_of(v->bit, v->n) >> bit & 1) &&
                (!other || clean_bit(other, IN_reg, bit) >= 0))
                v->bit[v->n++] = bit;
}

/* Computes the subspace that R may intersect only in zero (see the head of this file): the span of the words
 * that a phase of `nlanes` lane bits accesses, without two kinds of coordinate bits. The bits of `ignored`
 * number elements of one word or vector, and do not count. The bits of `elsewhere` are in V only because
 * the other layout needs them. V has the lowest bits of the offset, so they are bits of the bank's number: two
 * words that differ in a bit of `elsewhere` are always in different banks. So only
 * vectors of the span in which the bits of `elsewhere` are zero belong to the result. To find these vectors,
 * the function moves the bits of `elsewhere` to the highest positions, which span_add eliminates first. The
 * result has at most `most` vectors. */
static void phase_span(struct basis *out, const struct layout *l, int nlanes, uint32_t ignored,
                       uint32_t elsewhere, int most)
{
    struct span s = {0};
    for (int i = 0; i < nlanes; i++) {
        uint32_t v = layout_basis(l, IN_lane, i) & ~ignored, high = 0;
        for (int bit = 0, k = COORD_BITS_MAX; bit < COORD_BITS_MAX; bit++)
            if (elsewhere >> bit & 1)
                high |= (v >> bit & 1) << k++;
        span_add(&s, (v & ~elsewhere) | high, 0);
    }
    *out = (struct basis){0};
    basis_extend(out, s.vector, COORD_BITS_MAX, most);
}

/* Builds the layout of shared memory with the fewest bank conflicts among the layouts with the given V. */
static void swizzle(struct layout *out, const struct layout *from, const struct layout *to, int elem_bits,
                    const struct vector_bits *vector)
{
    int nbits = layout_coord_bits(from), word_bits = elem_bits < WORD_BITS ? WORD_BITS - elem_bits : 0;
    *out = *from;
    for (int i = 0, n = layout_first(out, IN_count); i < n; i++)
        out->basis[i] = 0;
    for (int kind = 0; kind < IN_count; kind++)
        out->nbits[kind] = 0;
    out->flip = 0;

    uint32_t low = mask_of(vector->bit, vector->n);
    for (int i = 0; i < vector->n; i++)
        layout_add(out, IN_offset, UINT32_C(1) << vector->bit[i]);
    /* V has at least the bits of a word. */
    for (int bit = 0; bit < nbits && out->nbits[IN_offset] < word_bits; bit++)
        if (!(low >> bit & 1)) {
            low |= UINT32_C(1) << bit;
            layout_add(out, IN_offset, UINT32_C(1) << bit);
        }

    uint32_t space = ((UINT32_C(1) << nbits) - 1) & ~low;
    int nbank = BANKS_BITS + WORD_BITS - elem_bits - out->nbits[IN_offset];
    if (nbank > __builtin_popcount(space))
        nbank = __builtin_popcount(space);
    struct basis phase[2], rows;
    for (int side = 0; side < 2; side++) {
        const struct layout *l = side ? to : from;
        int own = side ? vector->for_to : vector->for_from;
        int kept = own > word_bits ? own : word_bits;
        uint32_t elsewhere = kept < vector->n ? mask_of(vector->bit + kept, vector->n - kept) : 0;
        int nlanes = l->nbits[IN_lane] - phase_bits(1 << (elem_bits + own));
        phase_span(&phase[side], l, nlanes, low & ~elsewhere, elsewhere, nbank);
    }
    basis_complement(&rows, &phase[0], &phase[1], space, nbank);
    for (int i = 0; i < phase[0].n; i++)
        layout_add(out, IN_offset, phase[0].vector[i]);
    for (int i = 0; i < rows.n; i++)
        layout_add(out, IN_offset, rows.vector[i]);
}

struct cost {
    int wavefronts, accesses;
};

static void add_cost(struct cost *c, const struct layout *shared, const struct layout *l, int elem_bytes)
{
    int vector = layout_shared_vector(shared, l, (1 << ACCESS_BITS) / elem_bytes, NULL);
    c->wavefronts += layout_wavefronts(shared, l, elem_bytes, vector);
    c->accesses += count_accesses(l, vector);
}

/* Register bits that both layouts have in common never cause conflicts, so V contains all these bits, as far
 * as they fit into the widest access. A register bit of only one layout widens that layout's vectors, but
 * leaves fewer banks for the accesses of the other layout. So the function tries every number of register
 * bits that only `from` has, and then every number of register bits that only `to` has. */
void layout_shared_for(struct layout *out, const struct layout *from, const struct layout *to, int elem_bytes)
{
    int elem_bits = log2_floor(elem_bytes), most = ACCESS_BITS - elem_bits;
    struct vector_bits common = {0};
    add_vector_bits(&common, from, to, most);
    common.for_from = common.for_to = common.n;
    struct cost best = {0};
    bool found = false;
    for (int side = 0; side < 2; side++)
        for (int n = common.n; n <= most; n++) {
            struct vector_bits v = common;
            add_vector_bits(&v, side ? to : from, NULL, n);
            *(side ? &v.for_to : &v.for_from) = v.n;
            struct layout l;
            struct cost c = {0};
            swizzle(&l, from, to, elem_bits, &v);
            add_cost(&c, &l, from, elem_bytes);
            add_cost(&c, &l, to, elem_bytes);
            if (!found || c.wavefronts < best.wavefronts ||
                (c.wavefronts == best.wavefronts && c.accesses < best.accesses)) {
                best = c;
                *out = l;
                found = true;
            }
        }
}
