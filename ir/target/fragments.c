/* SPDX-License-Identifier: MIT */
/* fragments.c: lists the lane and the register of each element of an mma instruction's operands, and computes
 * layouts of whole tiles from these lists.
 *
 * mma.sync multiplies a 16 x K matrix A by a K x 8 matrix B. As in any layout (layout.h), a linear map takes
 * a lane and the number of an element within the lane to (row, column). The map is given by the vector that
 * each bit adds. For f16 (K = 16), the vectors of A are the following, where e0, e1, .. are the bits of an
 * element's number within its lane:
 *
 *     e0 (0,1)  e1 (8,0)  e2 (0,8)        lane bits (0,2) (0,4) (1,0) (2,0) (4,0)
 *
 * A lane packs its elements into 32-bit registers in order of their numbers; the first element is in the
 * lowest bits. In the layout of a whole tile, the vectors of one instruction come first. Then come the
 * vectors that number the other instructions of the same warp, and then the vectors that number the warps. If
 * several warps read the same part of an operand, the vectors of the bits that number these warps are zero,
 * which replicates the part. Example:
 *
 *     64x32 A, 4 warps as 2 x 2     reg[(0,1) (8,0) (0,8) (0,16) (16,0)] lane[..] warp[(32,0) (0,0)] */
#include "ir/target/fragments.h"

enum { ROWS_A = 16, COLUMNS_B = 8 };

// clang-format off
/* All instructions have the same layout of the accumulator; the layouts of a and b depend on the element
 * width. */
#define ACC      {16, 8, 2, {{0, 1}, {8, 0}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}
#define HALVES_A {16, 16, 3, {{0, 1}, {8, 0}, {0, 8}}, {{0, 2}, {0, 4}, {1, 0}, {2, 0}, {4, 0}}}
#define HALVES_B {16, 8, 2, {{1, 0}, {8, 0}}, {{2, 0}, {4, 0}, {0, 1}, {0, 2}, {0, 4}}}
#define WORDS_A  {16, 8, 2, {{8, 0}, {0, 4}}, {{0, 1}, {0, 2}, {1, 0}, {2, 0}, {4, 0}}}
#define WORDS_B  {8, 8, 1, {{4, 0}}, {{1, 0}, {2, 0}, {0, 1}, {0, 2}, {0, 4}}}
#define BYTES_A  {16, 32, 4, {{0, 1}, {0, 2}, {8, 0}, {0, 16}}, {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}}
#define BYTES_B  {32, 8, 3, {{1, 0}, {2, 0}, {16, 0}}, {{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}}}
#define BYTES16_A {16, 16, 3, {{0, 1}, {0, 2}, {8, 0}}, {{0, 4}, {0, 8}, {1, 0}, {2, 0}, {4, 0}}}
#define BYTES16_B {16, 8, 2, {{1, 0}, {2, 0}}, {{4, 0}, {8, 0}, {0, 1}, {0, 2}, {0, 4}}}

const struct fragment fragments[] = {
    {"m16n8k16_f16",       DT_f16,  DT_f16,  16, 2, {HALVES_A, HALVES_B, ACC}},
    {"m16n8k16_bf16",      DT_bf16, DT_bf16, 16, 2, {HALVES_A, HALVES_B, ACC}},
    {"m16n8k8_tf32",       DT_f32,  DT_f32,   8, 1, {WORDS_A, WORDS_B, ACC}},
    {"m16n8k32_s8",        DT_i8,   DT_i8,   32, 4, {BYTES_A, BYTES_B, ACC}},
    {"m16n8k16_s8",        DT_i8,   DT_i8,   16, 4, {BYTES16_A, BYTES16_B, ACC}},
    {"m16n8k32_e4m3",      DT_f8e4, DT_f8e4, 32, 4, {BYTES_A, BYTES_B, ACC}},
    {"m16n8k32_e5m2",      DT_f8e5, DT_f8e5, 32, 4, {BYTES_A, BYTES_B, ACC}},
    {"m16n8k32_e4m3_e5m2", DT_f8e4, DT_f8e5, 32, 4, {BYTES_A, BYTES_B, ACC}},
    {"m16n8k32_e5m2_e4m3", DT_f8e5, DT_f8e4, 32, 4, {BYTES_A, BYTES_B, ACC}},
};
// clang-format on
const int nfragments = sizeof fragments / sizeof fragments[0];

const struct fragment *fragment_for(const struct op *dot)
{
    const struct type *a = op_opnd(dot, 0)->type, *b = op_opnd(dot, 1)->type, *acc = op_opnd(dot, 2)->type;
    int rank = acc->rank;
    bool exact = type_elem(a)->dtype == DT_f32 && op_int(dot, ATTR_precision) != PREC_tf32;
    if (exact || acc->shape[rank - 2] < ROWS_A || acc->shape[rank - 1] < COLUMNS_B)
        return NULL;
    if (type_is_float(a) && type_elem_bits(a) == 8 && !target_has(dot->block->func->target, HAS_mma_fp8))
        return NULL;
    for (int i = 0; i < nfragments; i++)
        if (fragments[i].dtype == type_elem(a)->dtype && fragments[i].dtype_b == type_elem(b)->dtype &&
            a->shape[rank - 1] >= fragments[i].k)
            return &fragments[i];
    return NULL;
}

struct warp_split warp_split_for(const struct fragment *g, const struct type *acc, int num_warps,
                                 bool rows_first)
{
    const struct fragment_part *p = &g->part[DOT_acc];
    int batch = acc->rank > 2 ? log2_floor(acc->shape[0]) : 0;
    int m = log2_floor(acc->shape[acc->rank - 2] / p->rows),
        n = log2_floor(acc->shape[acc->rank - 1] / p->columns);
    int warps = log2_floor(num_warps);
    struct warp_split s = {.batch = batch < warps ? batch : warps};
    for (warps -= s.batch; warps > 0; warps--) {
        /* an instruction has 16 rows and 8 columns, so a square part has twice as many instructions side by
         * side as one below the other: n has one bit more than m */
        bool tall = m - s.m >= n - s.n - 1 || rows_first;
        if (s.m < m && (tall || s.n == n))
            s.m++;
        else if (s.n < n)
            s.n++;
        else
            s.idle++;
    }
    return s;
}

struct warp_split group_split_for(const struct type *acc, int num_warps, int warps, int rows)
{
    int groups = log2_floor(num_warps / warps), parts = log2_floor(acc->shape[0] / rows);
    int m = groups < parts ? groups : parts;
    return (struct warp_split){.m = m, .n = groups - m, .group = log2_floor(warps)};
}

/* -- layouts of whole tiles -- */

static uint32_t coord_of(const struct layout *l, int row, int column)
{
    return (uint32_t)row << l->dim_bits[l->rank - 1] | (uint32_t)column;
}

static void add_steps(struct layout *l, enum in kind, const struct fragment_step *x, int n)
{
    for (int i = 0; i < n; i++)
        layout_add(l, kind, coord_of(l, x[i].row, x[i].column));
}

/* Adds the vectors of n coordinate bits, from bit `low` up. */
static void add_bits(struct layout *l, enum in kind, int low, int n)
{
    for (int i = 0; i < n; i++)
        layout_add(l, kind, UINT32_C(1) << (low + i));
}

/* The coordinate bits of one dimension of a tile, without the bits inside one instruction's matrix. `low` is the
 * lowest of these bits; the lowest `regs` bits become register bits, and the next `warps` bits become warp
 * bits. */
struct dim_share {
    int low, regs, warps;
};

static void add_regs(struct layout *l, const struct dim_share *x)
{
    add_bits(l, IN_reg, x->low, x->regs);
}

/* Adds the vectors of `warps` warp bits that divide a dimension of the accumulator: the highest bits of the
 * dimension, or zero vectors if this operand does not have the dimension. */
static void add_warps(struct layout *l, const struct dim_share *x, int warps)
{
    add_bits(l, IN_warp, x->low + x->regs, x->warps);
    for (int i = x->warps; i < warps; i++)
        layout_add(l, IN_warp, 0);
}

void layout_fragment(struct layout *out, const struct fragment *g, enum dot_role role, const struct type *t,
                     struct warp_split split)
{
    const struct fragment_part *p = &g->part[role];
    layout_init(out, t->rank, t->shape);
    add_steps(out, IN_reg, p->reg, p->nregs);
    add_steps(out, IN_lane, p->lane, LANE_BITS);
    int row_bits = out->dim_bits[t->rank - 2], column_bits = out->dim_bits[t->rank - 1];
    int m = role == DOT_b ? 0 : split.m, n = role == DOT_a ? 0 : split.n;
    int rows = log2_floor(p->rows), columns = log2_floor(p->columns);
    for (int i = 0; i < split.group; i++)
        layout_add(out, IN_warp, coord_of(out, 1 << rows++, 0));
    struct dim_share row = {column_bits + rows, row_bits - rows - m, m};
    struct dim_share column = {columns, column_bits - columns - n, n};
    struct dim_share batch = {row_bits + column_bits, t->rank > 2 ? out->dim_bits[0] - split.batch : 0,
                              split.batch};
    add_regs(out, role == DOT_b ? &row : &column);
    add_regs(out, role == DOT_b ? &column : &row);
    add_regs(out, &batch);
    add_warps(out, &row, split.m);
    add_warps(out, &column, split.n);
    add_warps(out, &batch, split.batch);
    for (int i = 0; i < split.idle; i++)
        layout_add(out, IN_warp, 0);
}

static bool has_steps(const struct layout *l, enum in kind, const struct fragment_step *x, int n)
{
    for (int i = 0; i < n; i++)
        if (layout_basis(l, kind, i) != coord_of(l, x[i].row, x[i].column))
            return false;
    return true;
}

bool fragment_matches(const struct fragment *g, enum dot_role role, const struct layout *l)
{
    const struct fragment_part *p = &g->part[role];
    return l->flip == 0 && l->nbits[IN_reg] >= p->nregs && l->nbits[IN_lane] == LANE_BITS &&
           has_steps(l, IN_reg, p->reg, p->nregs) && has_steps(l, IN_lane, p->lane, LANE_BITS);
}

/* -- without tensor cores -- */

static int least(int x, int y)
{
    return x < y ? x : y;
}

/* The coordinate bits of a dimension that are not yet assigned: `left` bits from bit `low` up. */
struct supply {
    int low, left;
};

static int give(struct layout *l, enum in kind, struct supply *x, int n)
{
    n = least(n, x->left);
    add_bits(l, kind, x->low, n);
    x->low += n;
    x->left -= n;
    return n;
}

/* Adds vectors for n input bits. Takes unassigned bits of dimension x[0] first, then of x[1], then of x[2];
 * when none is left, adds zero vectors. */
static void give_all(struct layout *l, enum in kind, struct supply *const *x, int n)
{
    for (int i = 0; i < 3; i++)
        n -= give(l, kind, x[i], n);
    for (; n > 0; n--)
        layout_add(l, kind, 0);
}

void layout_fma_acc(struct layout *out, const struct type *t, int num_warps)
{
    enum { VECTOR = 2, LANE_COLUMNS = 3 };
    layout_init(out, t->rank, t->shape);
    int rows = out->dim_bits[t->rank - 2], columns = out->dim_bits[t->rank - 1],
        warps = log2_floor(num_warps);
    int regs = rows + columns - LANE_BITS - warps, own_columns = 0, own_rows = 0;
    if (regs > 0) {
        own_columns = least((regs + 1) / 2, columns);
        own_rows = least(regs - own_columns, rows);
        own_columns = regs - own_rows;
    }
    struct supply column = {0, columns}, row = {columns, rows},
                  batch = {rows + columns, t->rank > 2 ? out->dim_bits[0] : 0};
    give(out, IN_reg, &column, least(own_columns, VECTOR));
    own_columns -= least(own_columns, VECTOR);
    /* keeps the highest bits for registers, which get them after the lanes and warps have got theirs */
    column.left -= own_columns;
    row.left -= own_rows;
    int lanes = LANE_BITS - give(out, IN_lane, &column, LANE_COLUMNS);
    give_all(out, IN_lane, (struct supply *[]){&row, &column, &batch}, lanes);
    give_all(out, IN_warp, (struct supply *[]){&row, &column, &batch}, warps);
    column.left += own_columns;
    row.left += own_rows;
    give(out, IN_reg, &column, column.left);
    give(out, IN_reg, &row, row.left);
    give(out, IN_reg, &batch, batch.left);
}

/* Converts a vector of the accumulator's layout `acc` to a vector of layout `to` of operand `role`: drops the
 * dimension that the operand lacks, and sets the index along K to zero. */
static uint32_t operand_coord(const struct layout *to, enum dot_role role, const struct layout *acc,
                              uint32_t v)
{
    int rank = acc->rank, index[RANK_MAX];
    layout_split_coord(acc, v, index);
    uint32_t coord = rank > 2 ? (uint32_t)index[0] << (to->dim_bits[1] + to->dim_bits[2]) : 0;
    return coord | (role == DOT_a ? coord_of(to, index[rank - 2], 0) : coord_of(to, 0, index[rank - 1]));
}

void layout_fma_operand(struct layout *out, enum dot_role role, const struct type *t,
                        const struct layout *acc)
{
    layout_init(out, t->rank, t->shape);
    int k = role == DOT_a ? t->rank - 1 : t->rank - 2;
    add_bits(out, IN_reg, role == DOT_a ? 0 : out->dim_bits[t->rank - 1], out->dim_bits[k]);
    for (int kind = IN_reg; kind < IN_offset; kind++)
        for (int i = 0; i < acc->nbits[kind]; i++) {
            uint32_t v = operand_coord(out, role, acc, layout_basis(acc, (enum in)kind, i));
            if (v || kind != IN_reg)
                layout_add(out, (enum in)kind, v);
        }
    out->flip = operand_coord(out, role, acc, acc->flip);
    layout_drop_free_regs(out, out, NULL);
}
