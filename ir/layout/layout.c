/* SPDX-License-Identifier: MIT */
/* layout.c: creates, applies, slices, divides and prints layouts. A layout is a linear map over GF(2) from
 * hardware places to elements of a tile.
 *
 * Example: a tile of 4x4 elements in 2 warps of 4 lanes (to keep the example small) with 2 registers each. The
 * table shows the place of each element, as the numbers of its warp, lane and register:
 *
 *              column 0   1   2   3
 *     row 0         000 001 010 011          coordinate = row-major index: row r, column c is 4r + c
 *     row 1         020 021 030 031          in bits: r1 r0 c1 c0
 *     row 2         100 101 110 111
 *     row 3         120 121 130 131
 *
 * Write the numbers of registers, lanes and warps in bits too. Each bit that is set then moves the element by a
 * fixed vector (row, column). Register bit 0 moves by (0,1), lane bit 0 by (0,2), lane bit 1 by (1,0), warp bit
 * 0 by (2,0). The XOR of the vectors of all set bits is the element of a place, so these four vectors are the
 * layout:
 *
 *     reg[(0,1)] lane[(0,2) (1,0)] warp[(2,0)]       or, as coordinates,      reg[1] lane[2 4] warp[8]
 *
 * Register 1 of lane 3 (11 in binary) of warp 1 holds coordinate 1 ^ 2 ^ 4 ^ 8 = 15, which is (3,3), as the
 * table shows. In this example no two vectors have a bit in common, so XOR equals addition. But XOR can also
 * describe swizzles, which addition cannot:
 *
 *     row 0    0 1 2 3       offsets in shared memory of a 4x4 tile, XOR-swizzled: row r stores column c at c ^ r.
 *     row 1    5 4 7 6       As a layout: offset[(0,1) (0,2) (1,1) (2,2)]. Offset 4 holds coordinate (1,1), as 100b
 *     row 2   10 11 8 9      picks the third vector. With 4 banks (offset mod 4), the four elements of each row are in
 *     row 3   15 14 13 12    four banks, and so are the four elements of each column.
 *
 * A layout maps the place to the coordinate, and not the coordinate to the place, because a place holds one
 * element, but an element may be in several places. Example: a row of 4 elements in 2 warps of 4 lanes:
 *
 *     lane[1 2] warp[0]           warp 1 holds the elements of warp 0: the zero vector replicates. The map is
 *                                 surjective, but not invertible. Where an inverse is needed, it picks the
 *                                 place whose replicated bits are all zero: the *owner*, which stores, counts
 *                                 and prints the element.
 *
 * With layouts as linear maps, every question about layouts is linear algebra on about twenty bit vectors:
 *
 *   - transpose, reshape and expand_dims permute bits of the coordinate. A reduction drops a dimension's bits
 *     from all vectors. A vector that had only bits of this dimension becomes zero: places that differ only
 *     in this vector's input bit then hold the same element. A broadcast is the reverse: it adds a
 *     dimension's bits to the vectors. None of these ops moves data when its layout changes in this way.
 *   - a conversion from A to B is a division: the element at place x of A is at place B^-1(A(x)) of B, and
 *     B^-1 A is a matrix too. If this matrix keeps lane and warp, the conversion renames registers; if it
 *     keeps only the warp, the conversion shuffles; else the conversion goes through shared memory.
 *   - a vector access of 4 elements needs four neighbours in one thread: two register bits whose vectors
 *     are 1 and 2.
 *   - lanes that access shared memory together hit different banks if the bank bits of their address vectors are
 *     linearly independent: the rank of a matrix counts the bank conflicts (shared.c). */
#include "ir/layout/layout.h"

#include "ir/support/span.h"
#include "ir/support/text.h"

#include <string.h>

/* -- construction -- */

void layout_init(struct layout *l, int rank, const int *shape)
{
    memset(l, 0, sizeof *l);
    l->rank = (uint8_t)rank;
    for (int d = 0; d < rank; d++)
        l->dim_bits[d] = (uint8_t)__builtin_ctz((unsigned)shape[d]);
}

static int count_bits(const struct layout *l)
{
    return layout_first(l, IN_count);
}

void layout_add(struct layout *l, enum in kind, uint32_t vector)
{
    int at = layout_first(l, kind) + l->nbits[kind], n = count_bits(l);
    memmove(&l->basis[at + 1], &l->basis[at], (size_t)(n - at) * sizeof l->basis[0]);
    l->basis[at] = vector;
    l->nbits[kind]++;
}

/* Returns the number of dimension d's lowest coordinate bit. */
static int dim_first_bit(const struct layout *l, int d)
{
    int first = 0;
    for (int k = l->rank - 1; k > d; k--)
        first += l->dim_bits[k];
    return first;
}

/* The state of layout_blocked, which assigns coordinate bits to input bits, one dimension after the other, in
 * the sequence `order`. used[d] counts the bits of dimension d that are already assigned. */
struct dealer {
    struct layout *l;
    const int *order;
    int used[RANK_MAX];
};

/* Adds up to n input bits of a kind, and assigns one coordinate bit to each, as long as unassigned coordinate
 * bits remain. Unless `most` is NULL, assigns only the lowest log2(most[d]) bits of each dimension d. Returns
 * how many of the n input bits got no coordinate bit, and so were not added. */
static int deal(struct dealer *x, enum in kind, int n, const int *most)
{
    for (int k = 0; k < x->l->rank; k++) {
        int d = x->order[k], end = x->l->dim_bits[d];
        if (most && __builtin_ctz((unsigned)most[d]) < end)
            end = __builtin_ctz((unsigned)most[d]);
        for (; n > 0 && x->used[d] < end; n--)
            layout_add(x->l, kind, UINT32_C(1) << (dim_first_bit(x->l, d) + x->used[d]++));
    }
    return n;
}

void layout_blocked(struct layout *l, int rank, const int *shape, const int *elems_per_thread,
                    const int *order, int num_warps)
{
    layout_init(l, rank, shape);
    struct dealer x = {.l = l, .order = order};
    deal(&x, IN_reg, COORD_BITS_MAX, elems_per_thread);
    int free_lanes = deal(&x, IN_lane, LANE_BITS, NULL);
    int free_warps = deal(&x, IN_warp, __builtin_ctz((unsigned)num_warps), NULL);
    deal(&x, IN_reg, COORD_BITS_MAX, NULL);
    while (free_lanes-- > 0)
        layout_add(l, IN_lane, 0);
    while (free_warps-- > 0)
        layout_add(l, IN_warp, 0);
}

/* -- queries -- */

int layout_coord_bits(const struct layout *l)
{
    int n = 0;
    for (int d = 0; d < l->rank; d++)
        n += l->dim_bits[d];
    return n;
}

int layout_first(const struct layout *l, enum in kind)
{
    int first = 0;
    for (int k = 0; k < (int)kind; k++)
        first += l->nbits[k];
    return first;
}

uint32_t layout_basis(const struct layout *l, enum in kind, int bit)
{
    return l->basis[layout_first(l, kind) + bit];
}

/* Returns the XOR of the kind's vectors that the set bits of `in` select; ignores bits past the kind's last
 * vector. */
static uint32_t apply_kind(const struct layout *l, enum in kind, uint32_t in)
{
    uint32_t coord = 0;
    for (int i = 0, first = layout_first(l, kind); i < l->nbits[kind]; i++)
        if (in >> i & 1)
            coord ^= l->basis[first + i];
    return coord;
}

uint32_t layout_apply(const struct layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta)
{
    return l->flip ^ apply_kind(l, IN_reg, reg) ^ apply_kind(l, IN_lane, lane) ^
           apply_kind(l, IN_warp, warp) ^ apply_kind(l, IN_cta, cta);
}

uint32_t layout_apply_offset(const struct layout *l, uint32_t offset)
{
    return l->flip ^ apply_kind(l, IN_offset, offset);
}

void layout_split_coord(const struct layout *l, uint32_t coord, int *index)
{
    for (int d = l->rank - 1; d >= 0; d--) {
        index[d] = (int)(coord & ((UINT32_C(1) << l->dim_bits[d]) - 1));
        coord >>= l->dim_bits[d];
    }
}

bool layout_equal(const struct layout *a, const struct layout *b)
{
    return a->rank == b->rank && memcmp(a->dim_bits, b->dim_bits, sizeof a->dim_bits) == 0 &&
           memcmp(a->nbits, b->nbits, sizeof a->nbits) == 0 && a->flip == b->flip &&
           memcmp(a->basis, b->basis, (size_t)count_bits(a) * sizeof a->basis[0]) == 0;
}

/* Sets *s to the span of all vectors of l; the combo (span.h) of each vector is the word in which only the
 * vector's input bit is set. span_add adds no vector that depends linearly on earlier vectors, so no combo
 * contains a replicated input bit. Hence every place that span_reduce finds is the owner of its element. */
static void span_of_layout(const struct layout *l, struct span *s)
{
    *s = (struct span){0};
    for (int i = 0, n = count_bits(l); i < n; i++)
        span_add(s, l->basis[i], UINT64_C(1) << i);
}

bool layout_is_surjective(const struct layout *l)
{
    struct span s;
    span_of_layout(l, &s);
    return s.rank == layout_coord_bits(l);
}

uint32_t layout_free_bits(const struct layout *l, enum in kind)
{
    struct span s = {0};
    int first = layout_first(l, kind);
    for (int i = 0; i < first; i++)
        span_add(&s, l->basis[i], 0);
    uint32_t mask = 0;
    for (int i = 0; i < l->nbits[kind]; i++)
        if (!span_add(&s, l->basis[first + i], 0))
            mask |= UINT32_C(1) << i;
    return mask;
}

/* -- shape changes -- */

void layout_reshape(struct layout *out, const struct layout *l, int rank, const int *shape)
{
    layout_init(out, rank, shape);
    memcpy(out->nbits, l->nbits, sizeof out->nbits);
    memcpy(out->basis, l->basis, sizeof out->basis);
    out->flip = l->flip;
}

static uint32_t dim_field(const struct layout *l, uint32_t coord, int d)
{
    return coord >> dim_first_bit(l, d) & ((UINT32_C(1) << l->dim_bits[d]) - 1);
}

static uint32_t trans_coord(const struct layout *l, uint32_t coord, const int *order)
{
    uint32_t r = 0;
    for (int d = 0; d < l->rank; d++)
        r = r << l->dim_bits[order[d]] | dim_field(l, coord, order[d]);
    return r;
}

void layout_trans(struct layout *out, const struct layout *l, const int *order)
{
    *out = *l;
    for (int d = 0; d < l->rank; d++)
        out->dim_bits[d] = l->dim_bits[order[d]];
    for (int i = 0, n = count_bits(l); i < n; i++)
        out->basis[i] = trans_coord(l, l->basis[i], order);
    out->flip = trans_coord(l, l->flip, order);
}

/* Returns the coordinate without the bits of dimension d. */
static uint32_t drop_dim(const struct layout *l, uint32_t coord, int d)
{
    int first = dim_first_bit(l, d);
    return (coord & ((UINT32_C(1) << first) - 1)) | coord >> (first + l->dim_bits[d]) << first;
}

void layout_squash(struct layout *out, const struct layout *l, int dim)
{
    *out = *l;
    for (int i = 0, n = count_bits(l); i < n; i++)
        out->basis[i] = drop_dim(l, l->basis[i], dim);
    out->flip = drop_dim(l, l->flip, dim);
    out->dim_bits[dim] = 0;
}

void layout_part(struct layout *out, const struct layout *l, const int *shape, const int *at)
{
    layout_init(out, l->rank, shape);
    memcpy(out->nbits, l->nbits, sizeof out->nbits);
    int n = count_bits(l), index[RANK_MAX];
    for (int i = 0; i <= n; i++) {
        layout_split_coord(l, i < n ? l->basis[i] : l->flip, index);
        uint32_t coord = 0;
        for (int d = 0; d < l->rank; d++)
            coord = coord << out->dim_bits[d] | (uint32_t)(i < n ? index[d] : index[d] + at[d]);
        *(i < n ? &out->basis[i] : &out->flip) = coord;
    }
}

void layout_slice(struct layout *out, const struct layout *l, int dim, bool drop, int *reg_of)
{
    layout_squash(out, l, dim);
    memmove(&out->dim_bits[dim], &out->dim_bits[dim + 1], (size_t)(out->rank - dim - 1));
    out->dim_bits[--out->rank] = 0;
    if (drop)
        layout_drop_free_regs(out, out, reg_of);
    for (int i = 0; !drop && reg_of && i < 1 << out->nbits[IN_reg]; i++)
        reg_of[i] = i;
}

void layout_join(struct layout *out, const struct layout *l, int rank, const int *shape)
{
    layout_init(out, rank, shape);
    layout_add(out, IN_reg, 1);
    for (int kind = 0; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++)
            layout_add(out, (enum in)kind, layout_basis(l, (enum in)kind, i) << 1);
    out->flip = l->flip << 1;
}

void layout_expand(struct layout *out, const struct layout *l, int dim)
{
    *out = *l;
    memmove(&out->dim_bits[dim + 1], &out->dim_bits[dim], (size_t)(out->rank - dim));
    out->dim_bits[dim] = 0;
    out->rank++;
}

/* Moves the low bits of x, in order, to the positions that are zero in `mask`. */
static int spread_around(uint32_t x, uint32_t mask)
{
    uint32_t r = 0;
    for (int to = 0; x; to++)
        if (!(mask >> to & 1)) {
            r |= (x & 1) << to;
            x >>= 1;
        }
    return (int)r;
}

void layout_drop_free_regs(struct layout *out, const struct layout *l, int *reg_of)
{
    uint32_t dropped = layout_free_bits(l, IN_reg);
    int n = 0, end = count_bits(l), nregs = l->nbits[IN_reg];
    *out = *l;
    for (int i = 0; i < end; i++)
        if (i >= nregs || !(dropped >> i & 1))
            out->basis[n++] = out->basis[i];
    memset(out->basis + n, 0, (size_t)(end - n) * sizeof *out->basis);
    out->nbits[IN_reg] = (uint8_t)(nregs - (end - n));
    for (uint32_t i = 0; reg_of && i < UINT32_C(1) << out->nbits[IN_reg]; i++)
        reg_of[i] = spread_around(i, dropped);
}

/* -- algebra -- */

void layout_divide(struct place_map *m, const struct layout *from, const struct layout *to)
{
    struct span s;
    span_of_layout(to, &s);
    *m = (struct place_map){.nin = count_bits(from), .nout = count_bits(to)};
    for (int i = 0; i < m->nin; i++)
        span_reduce(&s, from->basis[i], &m->basis[i]);
    span_reduce(&s, from->flip ^ to->flip, &m->flip);
}

uint64_t place_apply(const struct place_map *m, uint64_t place)
{
    uint64_t r = m->flip;
    for (int i = 0; i < m->nin; i++)
        if (place >> i & 1)
            r ^= m->basis[i];
    return r;
}

/* -- text -- */

static const char *const in_words[IN_count] = {"reg", "lane", "warp", "cta", "offset"};

static void print_vector(const struct layout *l, uint32_t v, struct text *t)
{
    if (l->rank == 1) {
        text_printf(t, "%u", (unsigned)v);
        return;
    }
    text_char(t, '(');
    for (int d = 0; d < l->rank; d++)
        text_printf(t, d ? ",%u" : "%u", (unsigned)dim_field(l, v, d));
    text_char(t, ')');
}

/* Prints the flip only if it is not zero, or if the layout has no vectors, because the parser then learns the
 * rank from the flip. */
void layout_print(const struct layout *l, struct text *t)
{
    const char *space = "";
    for (enum in kind = IN_reg; kind < IN_count; kind++) {
        if (!l->nbits[kind])
            continue;
        text_printf(t, "%s%s[", space, in_words[kind]);
        for (int i = 0; i < l->nbits[kind]; i++) {
            if (i)
                text_char(t, ' ');
            print_vector(l, layout_basis(l, kind, i), t);
        }
        text_char(t, ']');
        space = " ";
    }
    if (l->flip || !count_bits(l)) {
        text_printf(t, "%sflip[", space);
        print_vector(l, l->flip, t);
        text_char(t, ']');
    }
}

/* The vectors that the parser has read. A vector has one number for each dimension, not one coordinate, because the
 * parser does not know the shape yet. */
struct reader {
    const char *s;
    int rank; /* rank of the tile; -1 until the first vector is read */
    int nvectors;
    uint32_t vector[LAYOUT_BITS_MAX + 1][RANK_MAX]; /* the last row is the flip */
};

static bool read_char(struct reader *r, char c)
{
    while (*r->s == ' ')
        r->s++;
    if (*r->s != c)
        return false;
    r->s++;
    return true;
}

static bool read_word(struct reader *r, const char *word)
{
    while (*r->s == ' ')
        r->s++;
    size_t n = strlen(word);
    if (strncmp(r->s, word, n) != 0 || r->s[n] != '[')
        return false;
    r->s += n + 1;
    return true;
}

static bool read_number(struct reader *r, uint32_t *out)
{
    while (*r->s == ' ')
        r->s++;
    const char *start = r->s;
    uint32_t x = 0;
    for (; *r->s >= '0' && *r->s <= '9' && x < UINT32_C(1) << COORD_BITS_MAX; r->s++)
        x = 10 * x + (uint32_t)(*r->s - '0');
    *out = x;
    return r->s > start && x < UINT32_C(1) << COORD_BITS_MAX;
}

/* Reads vector := number | '(' number (',' number)* ')' | '()'. All vectors must have the same rank. */
static bool read_vector(struct reader *r, uint32_t *vector)
{
    int n = 0;
    if (!read_char(r, '(')) {
        n = 1;
        if (!read_number(r, &vector[0]))
            return false;
    } else if (!read_char(r, ')')) {
        do {
            if (n == RANK_MAX || !read_number(r, &vector[n++]))
                return false;
        } while (read_char(r, ','));
        if (!read_char(r, ')'))
            return false;
    }
    if (r->rank < 0)
        r->rank = n;
    return r->rank == n;
}

static bool read_vectors(struct reader *r, struct layout *l)
{
    for (int kind = 0; kind < IN_count; kind++) {
        if (!read_word(r, in_words[kind]))
            continue;
        while (!read_char(r, ']')) {
            if (r->nvectors == LAYOUT_BITS_MAX || !read_vector(r, r->vector[r->nvectors++]))
                return false;
            l->nbits[kind]++;
        }
    }
    if (read_word(r, "flip"))
        return read_vector(r, r->vector[LAYOUT_BITS_MAX]) && read_char(r, ']');
    return r->rank >= 0;
}

static uint32_t join_coord(const struct layout *l, const uint32_t *index)
{
    uint32_t coord = 0;
    for (int d = 0; d < l->rank; d++)
        coord = coord << l->dim_bits[d] | index[d];
    return coord;
}

const char *layout_parse(struct layout *l, const char *s)
{
    struct reader r = {.s = s, .rank = -1};
    struct layout out;
    memset(&out, 0, sizeof out);
    if (!read_vectors(&r, &out))
        return NULL;
    out.rank = (uint8_t)r.rank;
    for (int d = 0; d < r.rank; d++) {
        uint32_t all = 0;
        for (int i = 0; i <= LAYOUT_BITS_MAX; i++)
            all |= r.vector[i][d];
        out.dim_bits[d] = (uint8_t)(all ? bits_top(all) + 1 : 0);
    }
    if (layout_coord_bits(&out) > COORD_BITS_MAX)
        return NULL;
    for (int i = 0; i < r.nvectors; i++)
        out.basis[i] = join_coord(&out, r.vector[i]);
    out.flip = join_coord(&out, r.vector[LAYOUT_BITS_MAX]);
    if (!layout_is_surjective(&out))
        return NULL;
    *l = out;
    return r.s;
}
