/* SPDX-License-Identifier: MIT */
/* tensor.c: decides whether TMA copies (by tensor maps) can fill a buffer of a given layout, and computes the
 * boxes.
 *
 * A TMA copy writes a box with its innermost dimension contiguous: element (r, c) goes to byte r W + c e, where a row
 * has W bytes and an element e bytes. A swizzle of S = 16 << m bytes then XORs the m address bits from bit 7 up into
 * the m address bits from bit 4 up; a swizzled row has S bytes. This map of the offset's bits is linear and its own
 * inverse. So layout_boxes applies this map again to undo the swizzle (b is the number of an address bit):
 *
 *     natural[b] = basis[b] ^ (7 <= b < 7 + m ? basis[b - 3] : 0)
 *
 * Without the swizzle all vectors must be unit vectors: first the vectors of the innermost dimension, then
 * the vectors of the next dimension, and so on up to the size of a box. The vectors of the higher offset
 * bits, also unit vectors, determine the starts of the other boxes. A buffer starts at a multiple of 1024
 * bytes (the longest period of a swizzle) or, if the buffer is smaller, of its size (allocate_shared.c). */
#include "ir/layout/layout.h"

enum { BOX_MOST = 256, CHUNK_BIT = 4, ROW_BIT = 7, SPAN_BITS_MOST = 3, SWIZZLE_ROWS = 8 };

void layout_in_order(struct layout *out, int rank, const int *shape)
{
    layout_init(out, rank, shape);
    for (int i = 0; i < layout_coord_bits(out); i++)
        layout_add(out, IN_offset, UINT32_C(1) << i);
}

void layout_panels(struct layout *out, const int *shape, int elem_bytes, int inner)
{
    enum { CHUNK_BYTES = 1 << CHUNK_BIT, ROW_BYTES_MOST = CHUNK_BYTES << SPAN_BITS_MOST };
    layout_init(out, 2, shape);
    int inner_bytes = shape[inner] * elem_bytes, elem_bits = log2_floor(elem_bytes);
    int width = inner_bytes < ROW_BYTES_MOST ? inner_bytes : ROW_BYTES_MOST,
        low = log2_floor(width / elem_bytes);
    int first = inner ? 0 : out->dim_bits[1], other = inner ? out->dim_bits[1] : 0;
    for (int i = 0; i < low; i++)
        layout_add(out, IN_offset, UINT32_C(1) << (first + i));
    for (int i = 0; i < out->dim_bits[!inner]; i++)
        layout_add(out, IN_offset, UINT32_C(1) << (other + i));
    for (int i = low; i < out->dim_bits[inner]; i++)
        layout_add(out, IN_offset, UINT32_C(1) << (first + i));
    /* The period of a swizzle is eight rows. A panel with fewer rows starts in the middle of a period. */
    int from = ROW_BIT - elem_bits, to = CHUNK_BIT - elem_bits;
    for (int i = 0; i < log2_floor(width / CHUNK_BYTES) && shape[!inner] >= SWIZZLE_ROWS; i++)
        out->basis[from + i] ^= out->basis[to + i];
}

/* Returns the bit of the coordinate that is bit number `bit` of the index in dimension d. */
static uint32_t unit_of(const struct layout *l, int d, int bit)
{
    for (int i = l->rank - 1; i > d; i--)
        bit += l->dim_bits[i];
    return UINT32_C(1) << bit;
}

/* Computes the vectors of the layout without its swizzle of 16 << m bytes. */
static void undo_swizzle(uint32_t *natural, const struct layout *l, int elem_bits, int m)
{
    for (int i = 0; i < l->nbits[IN_offset]; i++) {
        int byte = i + elem_bits;
        natural[i] = l->basis[i];
        if (byte >= ROW_BIT && byte < ROW_BIT + m)
            natural[i] ^= l->basis[i - ROW_BIT + CHUNK_BIT];
    }
}

/* Sets the box's shape: the box covers as many of the lowest offset bits as possible. Its rows have at most
 * `span` bytes if `span` is not 0; its other sizes are at most BOX_MOST elements. Returns how many offset
 * bits the box covers. */
static int fill_box(struct boxes *b, const uint32_t *natural, const struct layout *l, int elem_bytes,
                    const int *order, int span)
{
    int at = 0;
    for (int i = 0; i < l->rank; i++)
        b->shape[i] = 1;
    for (int i = l->rank - 1; i >= 0; i--) {
        int d = order[i], most = i == l->rank - 1 && span ? span / elem_bytes : BOX_MOST, bit = 0;
        for (; bit < l->dim_bits[d] && 2 * b->shape[d] <= most && at < l->nbits[IN_offset]; bit++, at++) {
            if (natural[at] != unit_of(l, d, bit))
                break;
            b->shape[d] *= 2;
        }
    }
    return at;
}

static bool boxes_with(struct boxes *b, const struct layout *l, int elem_bytes, const int *order, int m)
{
    enum { ALIGN = 128, CHUNK = 16 };
    int elem_bits = log2_floor(elem_bytes), inner = order[l->rank - 1];
    uint32_t natural[COORD_BITS_MAX];
    undo_swizzle(natural, l, elem_bits, m);
    *b = (struct boxes){.swizzle = m ? CHUNK << m : 0};
    int at = fill_box(b, natural, l, elem_bytes, order, b->swizzle);
    int row = b->shape[inner] * elem_bytes, bytes = elem_bytes << at;
    bool is_aligned = SWIZZLE_ROWS * row <= elem_bytes << l->nbits[IN_offset]; /* to the swizzle's period */
    if (row < CHUNK || (m && (!is_aligned || row != b->swizzle)) ||
        (at < l->nbits[IN_offset] && bytes < ALIGN))
        return false;
    for (; at < l->nbits[IN_offset]; at++) {
        if (natural[at] & (natural[at] - 1))
            return false;
        b->more[b->nmore].offset = 1 << at;
        b->more[b->nmore++].coord = natural[at];
    }
    return true;
}

bool layout_boxes(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order)
{
    if (shared->flip)
        return false;
    for (int m = SPAN_BITS_MOST; m >= 0; m--)
        if (boxes_with(b, shared, elem_bytes, order, m))
            return true;
    return false;
}

static bool cut(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order)
{
    enum { SWIZZLE_BYTES = 1024 };
    int elems = 1, i = 0;
    for (int d = 0; d < shared->rank; d++)
        elems *= b->shape[d];
    while (i < shared->rank - 1 && b->shape[order[i]] == 1)
        i++;
    if (i == shared->rank - 1 || elems * elem_bytes <= SWIZZLE_BYTES)
        return false;
    b->shape[order[i]] /= 2;
    for (int k = b->nmore++; k > 0; k--)
        b->more[k] = b->more[k - 1];
    b->more[0].offset = elems / 2;
    b->more[0].coord = unit_of(shared, order[i], log2_floor(b->shape[order[i]]));
    return true;
}

bool boxes_cut(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int parts)
{
    while (1 << b->nmore < parts)
        if (!cut(b, shared, elem_bytes, order))
            return false;
    return true;
}

bool boxes_cut_rows(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int rows)
{
    while (b->shape[order[0]] > rows)
        if (!cut(b, shared, elem_bytes, order))
            return false;
    return true;
}
