/* SPDX-License-Identifier: MIT */
/* tensor.c: executes mma.sync, ldmatrix and stmatrix (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions:
 * mma", "Matrix Fragments for mma").
 *
 * The matrices are distributed over 32 lanes; lane = 4 group + member.
 *
 *     D, C (16 x 8)     register i: row group + 8 (i / 2), column 2 member + i % 2
 *     A (16 x k)        word i:     row group + 8 (i % 2), p columns from p (member + 4 (i / 2))
 *     B (k x 8)         word i:     p rows from p (member + 4 i), column group
 *
 * A and B are in words of 32 bits. A word contains p elements, of which the first is in the lowest bits: p is
 * 2 for f16 and bf16, 4 for s8 and fp8, and 1 for tf32. sums.c adds floats as an H200 does. Sums of integers
 * wrap. */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

enum { ROWS = EMU_ROWS, COLUMNS = 8, MEMBERS = 4 };

struct shape {
    uint8_t code;
    int depth;               /* the number k of products in each sum */
    enum ptype elem, elem_b; /* the types of the elements of A and B; PT_f32 for tf32 */
    int bits;                /* the size of an element */
};

static const struct shape shapes[] = {
    {INSN_m16n8k16_f16, 16, PT_f16, PT_f16, 16},
    {INSN_m16n8k16_bf16, 16, PT_bf16, PT_bf16, 16},
    {INSN_m16n8k8_tf32, 8, PT_f32, PT_f32, 32},
    {INSN_m16n8k32_s8, 32, PT_s8, PT_s8, 8},
    {INSN_m16n8k16_s8, 16, PT_s8, PT_s8, 8},
    {INSN_m16n8k32_e4m3, 32, PT_e4m3x2, PT_e4m3x2, 8},
    {INSN_m16n8k32_e5m2, 32, PT_e5m2x2, PT_e5m2x2, 8},
    {INSN_m16n8k32_e4m3_e5m2, 32, PT_e4m3x2, PT_e5m2x2, 8},
    {INSN_m16n8k32_e5m2_e4m3, 32, PT_e5m2x2, PT_e4m3x2, 8},
};

static const struct shape *shape_of(const struct emu_insn *in)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].code == in->code)
            return &shapes[i];
    return NULL;
}

static int words_of_a(const struct shape *s)
{
    return ROWS * s->depth * s->bits / 32 / LANES;
}

static int words_of_b(const struct shape *s)
{
    return COLUMNS * s->depth * s->bits / 32 / LANES;
}

/* Returns whether the instruction is an mma. Its operands are 4 registers of D, the registers of A and B, and 4
 * registers of C. */
bool emu_is_mma(const struct emu_insn *in)
{
    const struct shape *s = shape_of(in);
    return s && in->nopnds == 4 + words_of_a(s) + words_of_b(s) + 4 && !in->has_address && !in->mods[0] &&
           !in->type;
}

int emu_mma_operations(const struct emu_insn *in)
{
    const struct shape *s = shape_of(in);
    return s ? 2 * ROWS * COLUMNS * s->depth : 0;
}

static void elements(enum ptype elem, uint32_t word, double *x)
{
    uint16_t halves[2] = {(uint16_t)word, (uint16_t)(word >> 16)};
    uint32_t bits = word & 0xffffe000; /* tf32 uses only 10 bits of the mantissa */
    float f;
    memcpy(&f, &bits, sizeof f);
    switch (elem) {
    case PT_s8:
        for (int i = 0; i < 4; i++)
            x[i] = (int8_t)(word >> 8 * i);
        break;
    case PT_f32: x[0] = (double)f; break;
    case PT_e4m3x2:
    case PT_e5m2x2:
        for (int i = 0; i < 4; i++)
            x[i] = emu_small_value(elem, (uint8_t)(word >> 8 * i));
        break;
    default: emu_half_values(elem, 2, halves, x);
    }
}

static double accumulator(const struct shape *s, uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return s->elem == PT_s8 ? (double)(int32_t)bits : (double)x;
}

struct matrices {
    struct emu_dot dot;
    /* whether a row of A, a column of B or an element of C has undefined bits */
    bool bad_row[ROWS], bad_column[COLUMNS], bad[ROWS][COLUMNS];
};

static bool is_bad(const struct emu_warp *w, const struct emu_opnd *o, int lane)
{
    return emu_defined(w, o) != ALL_LANES && emu_undefined_opnd(w, o, lane) != 0;
}

static void gather_a(const struct emu_warp *w, const struct emu_opnd *a, const struct shape *s,
                     struct matrices *m)
{
    int per_word = 32 / s->bits;
    for (int i = 0; i < words_of_a(s); i++) {
        const uint32_t *words = emu_read(w, &a[i]);
        for (int lane = 0; lane < LANES; lane++) {
            double x[4];
            int row = lane / MEMBERS + 8 * (i % 2), first = (lane % MEMBERS + MEMBERS * (i / 2)) * per_word;
            elements(s->elem, words[lane], x);
            for (int k = 0; k < per_word; k++)
                m->dot.a[first + k][row] = x[k];
            m->bad_row[row] |= is_bad(w, &a[i], lane);
        }
    }
}

static void gather_b(const struct emu_warp *w, const struct emu_opnd *b, const struct shape *s,
                     struct matrices *m)
{
    int per_word = 32 / s->bits;
    for (int i = 0; i < words_of_b(s); i++) {
        const uint32_t *words = emu_read(w, &b[i]);
        for (int lane = 0; lane < LANES; lane++) {
            double x[4];
            elements(s->elem_b, words[lane], x);
            for (int k = 0; k < per_word; k++)
                m->dot.b[(lane % MEMBERS + MEMBERS * i) * per_word + k][lane / MEMBERS] = x[k];
            m->bad_column[lane / MEMBERS] |= is_bad(w, &b[i], lane);
        }
    }
}

static void gather_c(const struct emu_warp *w, const struct emu_opnd *c, const struct shape *s,
                     struct matrices *m)
{
    for (int i = 0; i < 4; i++) {
        const uint32_t *words = emu_read(w, &c[i]);
        for (int lane = 0; lane < LANES; lane++) {
            int row = lane / MEMBERS + 8 * (i / 2), column = 2 * (lane % MEMBERS) + i % 2;
            m->dot.c[row][column] = accumulator(s, words[lane]);
            m->bad[row][column] = is_bad(w, &c[i], lane);
        }
    }
}

static uint32_t result(const struct shape *s, double sum)
{
    float x = (float)sum;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (s->elem == PT_s8)
        return (uint32_t)(int64_t)sum; /* the sum wraps, because .satfinite is not supported */
    return x == x ? bits : 0x7fffffff;
}

/* Computes mma.sync of fp8. Hopper has no such instruction, so this function imitates the code to which ptxas
 * compiles it. In this code, the elements are converted to f16. A first mma sums the products of the two low
 * elements of each word, and a second mma adds the products of the two high elements to this sum. An f32
 * addition then adds c. */
static void multiply_fp8(const struct emu_dot *m, struct emu_dot *halves)
{
    enum { PER_WORD = 4, LOW = 2 };
    *halves = (struct emu_dot){PT_f16, PT_f16, PT_f32, m->depth / 2, COLUMNS, {{0}}, {{0}}, {{0}}};
    for (int high = 0; high < 2; high++) {
        for (int k = 0; k < halves->depth; k++) {
            int from = k / LOW * PER_WORD + k % LOW + LOW * high;
            memcpy(halves->a[k], m->a[from], sizeof m->a[from]);
            memcpy(halves->b[k], m->b[from], sizeof m->b[from]);
        }
        emu_sum(halves);
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            halves->c[i][j] = (double)((float)halves->c[i][j] + (float)m->c[i][j]);
}

static void multiply(const struct shape *s, struct emu_dot *m)
{
    struct emu_dot halves;
    if (s->elem == PT_s8 || s->bits != 8) {
        emu_sum(m);
        return;
    }
    multiply_fp8(m, &halves);
    memcpy(m->c, halves.c, sizeof m->c);
}

static void scatter(struct emu_warp *w, const struct emu_opnd *d, const struct shape *s,
                    const struct matrices *m)
{
    for (int i = 0; i < 4; i++)
        for (int lane = 0; lane < LANES; lane++) {
            int row = lane / MEMBERS + 8 * (i / 2), column = 2 * (lane % MEMBERS) + i % 2;
            bool bad = m->bad[row][column] || m->bad_row[row] || m->bad_column[column];
            emu_set_lane(w, &d[i], lane, result(s, m->dot.c[row][column]), bad ? ~UINT64_C(0) : 0);
        }
}

void emu_run_mma(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct shape *s = shape_of(in);
    const struct emu_opnd *a = &in->opnds[4], *b = a + words_of_a(s);
    struct matrices m;
    if (on != ALL_LANES)
        emu_fail(w, in, emu_first_lane(~on), ERR_emulator_warp,
                 "lane %d does not execute it, and all lanes have to", emu_first_lane(~on));
    memset(m.bad_row, 0, sizeof m.bad_row);
    memset(m.bad_column, 0, sizeof m.bad_column);
    m.dot.a_type = s->elem, m.dot.b_type = s->elem_b, m.dot.c_type = s->elem == PT_s8 ? PT_s32 : PT_f32;
    m.dot.depth = s->depth, m.dot.columns = COLUMNS;
    gather_a(w, a, s, &m);
    gather_b(w, b, s, &m);
    gather_c(w, b + words_of_b(s), s, &m);
    multiply(s, &m.dot);
    scatter(w, in->opnds, s, &m);
}

/* -- ldmatrix, stmatrix (PTX ISA, the sections of these names): matrices of 8 x 8 16-bit elements -- */

/* Lane 8 j + i provides the address of row i of matrix j. From each matrix, lane l receives the two elements in row l /
 * 4 and columns 2 (l % 4) and 2 (l % 4) + 1. With .trans, rows and columns are exchanged. */
enum { SIDE = 8, HALF_BYTES = 2, ROW_BYTES = SIDE * HALF_BYTES };

/* Sets rows[l] to a pointer to the row whose address lane l provides, for l < SIDE * in->nvec. All rows are
 * found before the first result is stored, because a result may overwrite the address register. */
static void find_rows(struct emu_warp *w, const struct emu_insn *in, uint32_t on, unsigned char *rows[LANES])
{
    const struct emu_opnd *address = &in->opnds[in->address];
    if (on != ALL_LANES)
        emu_fail(w, in, emu_first_lane(~on), ERR_emulator_warp,
                 "lane %d does not execute it, and all lanes have to", emu_first_lane(~on));
    emu_need_defined(w, in, address, class_info[address->cls].bits, ALL_LANES >> (LANES - SIDE * in->nvec),
                     "the address");
    uint64_t at[LANES] = {0};
    int n = SIDE * in->nvec;
    for (int i = 0; i < n; i++) {
        at[i] = emu_lane(w, address, i) + (uint64_t)address->offset;
        rows[i] = emu_shared_at(w, in, i, at[i], ROW_BYTES);
    }
    if (w->cta->cluster->tallies)
        emu_count_shared(w, in, ALL_LANES >> (LANES - n), at, ROW_BYTES);
}

/* Returns a pointer to element k (0 or 1) of the two elements of a matrix that belong to a lane. row[i]
 * points to row i of the matrix. */
static unsigned char *half_at(unsigned char *const *row, bool transposed, int lane, int k)
{
    int at = lane / MEMBERS, beside = 2 * (lane % MEMBERS) + k;
    return transposed ? row[beside] + HALF_BYTES * at : row[at] + HALF_BYTES * beside;
}

void emu_run_ldmatrix(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    unsigned char *rows[LANES];
    find_rows(w, in, on, rows);
    for (int j = 0; j < in->nvec; j++)
        for (int lane = 0; lane < LANES; lane++) {
            uint64_t bits = 0, undefined = 0;
            for (int k = 0; k < 2; k++) {
                const unsigned char *p = half_at(rows + SIDE * j, emu_has_mod(in, MOD_trans), lane, k);
                uint64_t bad = 0;
                uint16_t half;
                emu_shared_read(w, in, lane, p, HALF_BYTES, &bad);
                memcpy(&half, p, sizeof half);
                bits |= (uint64_t)half << 16 * k;
                undefined |= bad << 16 * k;
            }
            emu_set_lane(w, &in->opnds[j], lane, bits, undefined);
        }
}

void emu_run_stmatrix(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    unsigned char *rows[LANES];
    find_rows(w, in, on, rows);
    for (int j = 0; j < in->nvec; j++)
        for (int lane = 0; lane < LANES; lane++) {
            const struct emu_opnd *x = &in->opnds[1 + j];
            uint64_t bits = emu_lane(w, x, lane), undefined = emu_undefined_opnd(w, x, lane);
            for (int k = 0; k < 2; k++)
                emu_shared_write(w, in, lane, half_at(rows + SIDE * j, emu_has_mod(in, MOD_trans), lane, k),
                                 HALF_BYTES, bits >> 16 * k, undefined >> 16 * k);
        }
}
