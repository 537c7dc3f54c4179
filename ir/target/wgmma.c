/* SPDX-License-Identifier: MIT */
/* wgmma.c: decides which dots wgmma can compute, and describes wgmma's operands in shared memory.
 *
 * Four warps multiply A (64 x K) by B (K x N, N up to 256). Each warp has 16 rows of the accumulator, in the
 * layout of mma.sync; each group of 8 columns has registers of its own. If A is in registers, A has the
 * layout of mma.sync too. wgmma reads B, and A if it is not in registers, from shared memory. There, wgmma
 * expects each bit of an index to add the byte offset that the table below lists (before the swizzle). In the
 * table, W is the number of bytes of a row: the width of the swizzle (128, 64 or 32), or 16 without a
 * swizzle. The table is for an operand that is contiguous along k. If the operand is contiguous along m or n
 * (16-bit types only), exchange k with m or n and, if there is no swizzle, LBO with SBO:
 *
 *     k's bits within a row     the size of 1, 2, 4, .. elements
 *     m's bits 0, 1, 2          W, 2W, 4W: eight rows
 *     m's further bits          S, 2S, ..: S is any power of two, a field of the descriptor (SBO)
 *     k's further bits          L, 2L, ..: L is any power of two, a field of the descriptor (LBO)
 *
 * The swizzle then XORs n = log2(W / 16) bits of the address, from bit 7 up, into the n bits from bit 4 up.
 * These maps are linear, so the offsets of the single bits of an index determine whether a descriptor can
 * describe a buffer. */
#include "ir/target/wgmma.h"

enum { ROW_BYTES_MOST = 128, ROW_BYTES_LEAST = 16, EIGHT_ROWS = 3, SWIZZLE_FROM = 7, SWIZZLE_TO = 4 };

enum { F16, BF16, TF32, BYTES };

/* The wgmma instructions: name in codegen/insns.h, element types, and the layout of A in registers (for each warp's
 * 16 rows). */
static const struct wgmma {
    const char *name;
    uint8_t a, b, acc; /* element types (enum dtype) */
    uint8_t fragment;  /* index into fragments[] */
} table[] = {
    {"wgmma_f32_f16", DT_f16, DT_f16, DT_f32, F16},
    {"wgmma_f32_bf16", DT_bf16, DT_bf16, DT_f32, BF16},
    {"wgmma_f32_tf32", DT_f32, DT_f32, DT_f32, TF32},
    {"wgmma_f32_e4m3", DT_f8e4, DT_f8e4, DT_f32, BYTES},
    {"wgmma_f32_e4m3_e5m2", DT_f8e4, DT_f8e5, DT_f32, BYTES},
    {"wgmma_f32_e5m2_e4m3", DT_f8e5, DT_f8e4, DT_f32, BYTES},
    {"wgmma_f32_e5m2", DT_f8e5, DT_f8e5, DT_f32, BYTES},
    {"wgmma_s32_s8", DT_i8, DT_i8, DT_i32, BYTES},
};

/* -- which dots -- */

static const struct wgmma *by_types(const struct type *a, const struct type *b, const struct type *acc)
{
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].a == type_elem(a)->dtype && table[i].b == type_elem(b)->dtype &&
            table[i].acc == type_elem(acc)->dtype)
            return &table[i];
    return NULL;
}

const char *choose_wgmma(struct mma_choice *c, const struct op *dot, bool rows_first)
{
    enum { COLUMNS_LEAST = 8 };
    (void)rows_first;
    const struct mma_engine *e = c->engine;
    const struct type *a = op_opnd(dot, DOT_a)->type, *acc = op_opnd(dot, DOT_acc)->type;
    const struct wgmma *g = by_types(a, op_opnd(dot, DOT_b)->type, acc);
    int num_warps = dot->block->func->num_warps;
    int64_t limit = op_int(dot, ATTR_limit);
    if (!g)
        return "it does not take these types";
    if (g->a == DT_f32 && op_int(dot, ATTR_precision) != PREC_tf32)
        return "f32 inputs must not be rounded";
    if (acc->rank != 2)
        return "a batch of matrices";
    if (num_warps % e->warps != 0)
        return "it needs four warps";
    if (acc->shape[0] < e->rows)
        return "it needs 64 rows";
    c->name = g->name;
    c->fragment = &fragments[g->fragment];
    c->split = group_split_for(acc, num_warps, e->warps, e->rows);
    if (acc->shape[1] >> c->split.n < COLUMNS_LEAST)
        return "too few columns for all warpgroups";
    if (a->shape[1] < c->fragment->k)
        return "k is less than an instruction's";
    return limit > 0 && limit < a->shape[1] ? "its sums of fp8 are less precise than requested" : NULL;
}

/* If a thread has fewer registers than this function returns, ptxas 13.0 fails with error C7602. The result does not
 * depend on the types of the elements. */
int wgmma_regs_least(int columns, bool a_in_regs)
{
    enum { OTHER_REGS = 26, A_REGS = 4 };
    return columns / 2 + OTHER_REGS + (a_in_regs ? A_REGS : 0);
}

/* -- operands in shared memory -- */

/* Returns how many bits of the address the swizzle changes. */
static int swizzle_bits(int width_bytes)
{
    return log2_floor(width_bytes / ROW_BYTES_LEAST);
}

/* Finds the byte offset of each coordinate bit in the buffer. Returns whether element 0 is at offset 0. */
static bool find_places(uint32_t *bytes, const struct layout *l, int elem_bytes)
{
    struct layout bits = *l;
    struct place_map m;
    int n = layout_coord_bits(l);
    bits.flip = 0;
    for (int kind = 0; kind < IN_count; kind++)
        bits.nbits[kind] = 0;
    for (int i = 0; i < n; i++)
        layout_add(&bits, IN_reg, UINT32_C(1) << i);
    layout_divide(&m, &bits, l);
    for (int i = 0; i < n; i++)
        bytes[i] = (uint32_t)m.basis[i] * (uint32_t)elem_bytes;
    return m.flip == 0;
}

static bool is_single_bit(uint32_t x)
{
    return x && !(x & (x - 1));
}

/* Checks the offsets at[0..nbits) of the bits of an index along the contiguous dimension of the operand.
 * Within a row of `width` bytes, bit i must have the offset of element 2^i of the row. The higher bits must
 * have the offsets stride, 2 stride, 4 stride, ... Sets *stride if there are higher bits. */
static bool fits_inner(const uint32_t *at, int nbits, int elem_bytes, int width, int *stride)
{
    for (int i = 0, past = 0; i < nbits; i++)
        if (elem_bytes << i < width) {
            if (at[i] != (uint32_t)elem_bytes << i)
                return false;
        } else {
            *stride = past ? *stride : (int)at[i];
            if (at[i] != (uint32_t)*stride << past++)
                return false;
        }
    return true;
}

/* Checks the offsets of the bits of an index along the dimension that is not contiguous. The lowest three
 * bits number eight consecutive rows of `width` bytes. The higher bits must have the offsets stride, 2
 * stride, 4 stride, ... Sets *stride if there are higher bits. */
static bool fits_rows(const uint32_t *at, int nbits, int width, int *stride)
{
    for (int i = 0; i < nbits; i++) {
        if (i == EIGHT_ROWS)
            *stride = (int)at[i];
        if (at[i] != (i < EIGHT_ROWS ? (uint32_t)width << i : (uint32_t)*stride << (i - EIGHT_ROWS)))
            return false;
    }
    return true;
}

static bool fits(struct wgmma_view *v, int elem_bytes, int width, int mn_bits, int k_bits)
{
    /* the strides; if no index bit uses a stride, the instruction ignores it, and its value does not
     * matter */
    int inner = ROW_BYTES_LEAST, rows = ROW_BYTES_LEAST;
    if (!fits_inner(v->trans ? v->mn : v->k, v->trans ? mn_bits : k_bits, elem_bytes, width, &inner) ||
        !fits_rows(v->trans ? v->k : v->mn, v->trans ? k_bits : mn_bits, width, &rows))
        return false;
    bool swap = v->trans && width == ROW_BYTES_LEAST;
    v->lbo_bytes = swap ? rows : inner;
    v->sbo_bytes = swap ? inner : rows;
    static const uint8_t codes[] = {0, 3, 2, 1};
    v->swizzle = codes[swizzle_bits(width)];
    v->align_bytes = width << EIGHT_ROWS;
    return true;
}

/* Computes the offsets of one dimension's bits without the swizzle. Returns false unless each offset is a
 * single bit of the address: only then is the offset of an index the sum of its bits' offsets. */
static bool take_bits(uint32_t *to, const uint32_t *bytes, int n, int width)
{
    uint32_t flips = (UINT32_C(1) << swizzle_bits(width)) - 1;
    for (int i = 0; i < n; i++) {
        to[i] = bytes[i] ^ (bytes[i] >> SWIZZLE_FROM & flips) << SWIZZLE_TO;
        if (!is_single_bit(to[i]))
            return false;
    }
    return true;
}

bool wgmma_view(struct wgmma_view *v, const struct layout *l, int elem_bytes, int mn_dim, int mn, int k)
{
    enum { TRANS_BYTES = 2 };
    uint32_t bytes[COORD_BITS_MAX];
    if (l->rank != 2 || !find_places(bytes, l, elem_bytes))
        return false;
    int rows = l->dim_bits[1]; /* the lowest coordinate bit of dimension 0 */
    *v = (struct wgmma_view){.mn_bits = l->dim_bits[mn_dim], .k_bits = l->dim_bits[!mn_dim]};
    for (int width = ROW_BYTES_MOST; width >= ROW_BYTES_LEAST; width /= 2) {
        if (!take_bits(v->mn, bytes + (mn_dim ? 0 : rows), v->mn_bits, width) ||
            !take_bits(v->k, bytes + (mn_dim ? rows : 0), v->k_bits, width))
            continue;
        for (int trans = 0; trans <= (elem_bytes == TRANS_BYTES); trans++) {
            v->trans = trans;
            if (fits(v, elem_bytes, width, log2_floor(mn), log2_floor(k)))
                return true;
        }
    }
    return false;
}

uint32_t wgmma_start(const struct wgmma_view *v, uint32_t mn, uint32_t k)
{
    uint32_t start = 0;
    for (int i = 0; i < v->mn_bits; i++)
        start |= mn >> i & 1 ? v->mn[i] : 0;
    for (int i = 0; i < v->k_bits; i++)
        start |= k >> i & 1 ? v->k[i] : 0;
    return start;
}

uint64_t wgmma_descriptor(const struct wgmma_view *v)
{
    enum { UNIT_BITS = 4, LBO = 16, SBO = 32, SWIZZLE = 62 };
    return (uint64_t)(v->lbo_bytes >> UNIT_BITS) << LBO | (uint64_t)(v->sbo_bytes >> UNIT_BITS) << SBO |
           (uint64_t)v->swizzle << SWIZZLE;
}
