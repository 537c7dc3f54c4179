/* SPDX-License-Identifier: MIT */
/* matrix.c: decides whether ldmatrix can load a tile of a given layout from shared memory, and computes the row
 * addresses for ldmatrix.
 *
 * ldmatrix reads 8x8 matrices of 16-bit elements. Lane l supplies the address of row l mod 8 (16 bytes) of matrix l /
 * 8. Register i of lane l then holds the 32-bit word l mod 4 of row l / 4 of matrix i. The bits of a place are
 * therefore:
 *
 *     in a row of 16 bytes:    the bits that number the elements of a word, lane bits 0 and 1
 *     which row:               lane bits 2, 3, 4
 *     which matrix:            up to two of the next register bits
 *
 * ldmatrix.trans exchanges the bits of the first line and of the second line, so that a word has elements of
 * two rows.
 *
 * layout_divide maps the bits of a place to the bits of the offset in shared memory. ldmatrix can load the
 * tile if the bits of the first line map to the lowest bits of the offset, in order, and no other bit maps to
 * one of these offset bits. The threads that supply the row addresses have a layout too: the bits of the
 * first line are its register bits, and the bits of the other lines are its lane bits. If accesses of 16
 * bytes in this layout have no bank conflicts, ldmatrix has none either. */
#include "ir/layout/layout.h"

enum { ROW_BYTES = 16, WORD_BYTES = 4, COLUMN_LANES = 2, ROW_LANES = 3 };

/* The input bits of l that number the elements of a row, and the input bits that number the rows. */
struct split {
    int column[ROW_LANES + 1], ncolumns, row[ROW_LANES];
};

static bool split_bits(struct split *x, const struct layout *l, int elem_bytes, bool trans)
{
    int words = elem_bytes < WORD_BYTES ? log2_floor(WORD_BYTES / elem_bytes) : 0,
        lane = layout_first(l, IN_lane);
    if (l->nbits[IN_lane] != LANE_BITS || l->nbits[IN_reg] < words || elem_bytes > WORD_BYTES ||
        (trans && words != 1))
        return false;
    *x = (struct split){0};
    for (int i = 0; i < ROW_LANES; i++)
        x->row[i] = lane + COLUMN_LANES + i;
    for (int i = 0; i < words; i++)
        x->column[x->ncolumns++] = i;
    for (int i = 0; i < COLUMN_LANES; i++)
        x->column[x->ncolumns++] = lane + i;
    for (int i = 0; trans && i < ROW_LANES; i++) {
        int swap = x->row[i];
        x->row[i] = x->column[i];
        x->column[i] = swap;
    }
    return true;
}

bool layout_matrix_rows(struct layout *out, struct matrix_load *x, const struct layout *l, int elem_bytes,
                        bool trans)
{
    struct split s;
    if (!split_bits(&s, l, elem_bytes, trans))
        return false;
    int words = elem_bytes < WORD_BYTES ? log2_floor(WORD_BYTES / elem_bytes) : 0, nregs = l->nbits[IN_reg];
    int nmatrix_bits = nregs - words < 2 ? nregs - words : 2;
    *x = (struct matrix_load){.trans = trans, .nmatrices = 1 << nmatrix_bits, .word_bits = words};
    *out = *l;
    for (int kind = 0; kind < IN_count; kind++)
        out->nbits[kind] = 0;
    for (int i = 0; i < s.ncolumns; i++)
        layout_add(out, IN_reg, l->basis[s.column[i]]);
    for (int i = words + nmatrix_bits; i < nregs; i++)
        layout_add(out, IN_reg, l->basis[i]);
    for (int i = 0; i < ROW_LANES; i++)
        x->row[x->nrows++] = UINT64_C(1) << s.row[i];
    for (int i = 0; i < 2; i++)
        x->row[x->nrows++] = i < nmatrix_bits ? UINT64_C(1) << (words + i) : 0;
    for (int i = 0; i < x->nrows; i++)
        layout_add(out, IN_lane, x->row[i] ? l->basis[__builtin_ctzll(x->row[i])] : 0);
    for (int kind = IN_warp; kind < IN_offset; kind++)
        for (int i = 0; i < l->nbits[kind]; i++) {
            layout_add(out, (enum in)kind, layout_basis(l, (enum in)kind, i));
            x->row[x->nrows++] = UINT64_C(1) << (layout_first(l, (enum in)kind) + i);
        }
    return true;
}

/* Returns whether the bits that number the elements of a row map to the lowest bits of the offset, in order,
 * and no other bit maps to one of these offset bits. */
static bool rows_line_up(const struct layout *shared, const struct layout *rows, int elem_bytes)
{
    int n = ROW_BYTES / elem_bytes, reg_of[ROW_BYTES];
    if (layout_shared_vector(shared, rows, n, reg_of) != n)
        return false;
    for (int i = 0; i < n; i++)
        if (reg_of[i] != i)
            return false;
    return true;
}

bool layout_matrix_load(struct matrix_load *x, const struct layout *shared, const struct layout *l,
                        int elem_bytes)
{
    for (int trans = 0; trans < 2; trans++) {
        struct layout rows;
        if (layout_matrix_rows(&rows, x, l, elem_bytes, trans) && rows_line_up(shared, &rows, elem_bytes))
            return true;
    }
    return false;
}
