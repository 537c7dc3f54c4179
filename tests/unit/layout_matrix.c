/* SPDX-License-Identifier: MIT */
/* layout_matrix.c: tests the loads of dot operands by ldmatrix. The test simulates ldmatrix lane by lane, for each
 * operand of each mma instruction, on tiles that are stored in shared memory by row and by column. */
#include "ir/target/fragments.h"
#include "tests/unit/test.h"

static struct type tile(int rows, int columns)
{
    return (struct type){.kind = TY_tile, .rank = 2, .shape = {rows, columns}};
}

/* Returns the element at an offset in shared memory. */
static uint32_t element_at(const struct layout *shared, uint64_t offset_elems)
{
    return layout_apply_offset(shared, (uint32_t)offset_elems);
}

/* Checks that the ldmatrix that loads register `k` gives every lane the elements that layout l has in this
 * register. */
static void check_load(const struct layout *shared, const struct layout *l, const struct matrix_load *x,
                       int elem_bytes, uint32_t k, uint32_t warp)
{
    struct place_map m;
    layout_divide(&m, l, shared);
    uint64_t rows[32];
    for (int lane = 0; lane < 32; lane++) {
        uint64_t place = k;
        for (int i = 0; i < x->nrows; i++)
            if (((uint32_t)lane | warp << 5) >> i & 1)
                place ^= x->row[i];
        rows[lane] = place_apply(&m, place);
        CHECK_INT(rows[lane] * (uint64_t)elem_bytes % 16, 0);
    }
    int per_word = 4 / elem_bytes;
    for (int matrix = 0; matrix < x->nmatrices; matrix++)
        for (uint32_t lane = 0; lane < 32; lane++)
            for (int e = 0; e < (per_word ? per_word : 1); e++) {
                int row = (int)lane / 4, byte = (int)lane % 4 * 4 + e * elem_bytes;
                if (x->trans) {
                    row = (int)lane % 4 * 2 + e;
                    byte = (int)lane / 4 * 2;
                }
                uint64_t offset = rows[matrix * 8 + row] + (uint64_t)(byte / elem_bytes);
                uint32_t reg = k + (uint32_t)(matrix << x->word_bits) + (uint32_t)e;
                CHECK_INT(element_at(shared, offset), layout_apply(l, reg, lane, warp, 0));
            }
}

static bool loads_as_matrices(const struct fragment *g, enum dot_role role, const struct type *t,
                              int fast_dim, int warps)
{
    static const int bytes[] = {
        [DT_i8] = 1, [DT_f16] = 2, [DT_bf16] = 2, [DT_f32] = 4, [DT_f8e4] = 1, [DT_f8e5] = 1};
    int elem_bytes = bytes[g->dtype], order[] = {fast_dim, 1 - fast_dim}, elems[] = {1, 1};
    elems[fast_dim] = 16 / elem_bytes;
    struct type acc = tile(64, 64);
    struct layout l, from, rows, shared;
    struct matrix_load x;
    layout_fragment(&l, g, role, t, warp_split_for(g, &acc, warps, false));
    layout_blocked(&from, 2, t->shape, elems, order, warps);
    bool found = false;
    for (int trans = 0; trans < 2; trans++) {
        if (!layout_matrix_rows(&rows, &x, &l, elem_bytes, trans))
            continue;
        layout_shared_for(&shared, &from, &rows, elem_bytes);
        if (!layout_matrix_load(&x, &shared, &l, elem_bytes))
            continue;
        uint32_t step = (uint32_t)(x.nmatrices << x.word_bits);
        for (uint32_t warp = 0; warp < (uint32_t)warps; warp++)
            for (uint32_t k = 0; k < UINT32_C(1) << l.nbits[IN_reg]; k += step)
                check_load(&shared, &l, &x, elem_bytes, k, warp);
        int n = 16 / elem_bytes;
        if (layout_shared_vector(&shared, &from, n, NULL) == n) {
            CHECK_INT(layout_wavefronts(&shared, &rows, elem_bytes, n),
                      layout_wavefronts_least(&rows, elem_bytes, n));
            found = true;
        }
    }
    return found;
}

TEST(operands_of_instructions)
{
    for (int i = 0; i < nfragments; i++)
        for (int warps = 1; warps <= 8; warps *= 2) {
            const struct fragment *g = &fragments[i];
            struct type a = tile(64, 64), b = tile(64, 64);
            bool is_16_bit = g->word_elems == 2;
            CHECK(loads_as_matrices(g, DOT_a, &a, 1, warps));
            CHECK(loads_as_matrices(g, DOT_b, &b, 0, warps));
            CHECK_INT(loads_as_matrices(g, DOT_a, &a, 0, warps), is_16_bit);
            CHECK_INT(loads_as_matrices(g, DOT_b, &b, 1, warps), is_16_bit);
        }
}

TEST(one_matrix)
{
    struct type a = tile(16, 16), c = tile(16, 8);
    struct layout l;
    struct matrix_load x;
    struct layout rows;
    layout_fragment(&l, &fragments[0], DOT_a, &a, (struct warp_split){0});
    CHECK(layout_matrix_rows(&rows, &x, &l, 2, false));
    CHECK_INT(x.nmatrices, 4);
    layout_fragment(&l, &fragments[0], DOT_acc, &c, (struct warp_split){0});
    CHECK(layout_matrix_rows(&rows, &x, &l, 2, false));
    CHECK_INT(x.nmatrices, 2);
    CHECK(!layout_matrix_rows(&rows, &x, &l, 8, false));
    CHECK(!layout_matrix_rows(&rows, &x, &l, 4, true));
}
