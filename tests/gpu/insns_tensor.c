/* SPDX-License-Identifier: MIT */
/* insns_tensor.c: defines the trials of matrix instructions: ldmatrix, stmatrix, mma.sync of every shape, wgmma of
 * every type.
 *
 * Operands of dots are integers from -3 to 3, so every sum is exact in any order, and the test knows every bit of D.
 * The registers of mma's elements follow the ISA's figures ("Matrix Fragments for mma.m16n8k16" and so on). The
 * operands of wgmma are swizzled tiles in shared memory, with rows of W bytes. In such a tile, the 16-byte chunk
 * number c of row r is at position c ^ (r % 8) of the row for W = 128, c ^ (r / 2 % 4) for W = 64, and c ^ (r / 4 % 2)
 * for W = 32. */
#include "tests/gpu/insns.h"

#include <stdio.h>
#include <string.h>

enum { WORD = 4 };

/* -- ldmatrix, stmatrix -- */

enum { SIDE = 8, MATRICES = 4, MATRIX_BYTES = 128 };

/* Returns the position in a matrix of half k (0 or 1) of a lane's register. Lane l holds the elements (l / 4, 2 (l %
 * 4)) and (l / 4, 2 (l % 4) + 1) of the matrix, or of its transpose. */
static int half_of(int lane, int k, bool trans)
{
    int row = lane / 4, column = lane % 4 * 2 + k;
    return trans ? column * SIDE + row : row * SIDE + column;
}

static void head(struct trial *t)
{
    for (size_t i = 0; i < t->in_bytes; i++)
        t->in[i] = (uint8_t)random_bits();
    kernel_head(t);
    text_printf(&t->ptx,
                ".reg .b32 %%x<4>, %%at;\n.reg .b64 %%from, %%to;\nmul.wide.u32 %%from, %%t, 16;\n"
                "add.s64 %%to, %%out, %%from;\nadd.s64 %%from, %%in, %%from;\nmul.lo.u32 %%at, %%t, 13;\n"
                "add.s32 %%at, %%at, 5;\nand.b32 %%at, %%at, 31;\nmad.lo.u32 %%at, %%at, 16, %%sm;\n");
}

static void print_words(struct text *p, int n)
{
    for (int i = 0; i < n; i++)
        text_printf(p, "%s%%x%d", i ? ", " : "{", i);
    text_printf(p, "}");
}

/* The input has 32 rows; thread t copies row t to its place in shared memory. */
static void try_ldmatrix(struct bench *b, int n, bool trans)
{
    struct trial *t = trial_new(b, MATRICES * MATRIX_BYTES, MATRICES * MATRIX_BYTES);
    t->shared_bytes = MATRICES * MATRIX_BYTES;
    head(t);
    text_printf(&t->ptx,
                "ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%from];\nst.shared.v4.b32 [%%at], {%%x0, %%x1, "
                "%%x2, %%x3};\n"
                "bar.warp.sync -1;\nldmatrix.sync.aligned.m8n8.x%d%s.shared.b16 ",
                n, trans ? ".trans" : "");
    print_words(&t->ptx, n);
    text_printf(&t->ptx, ", [%%at];\n");
    for (int j = 0; j < n; j++) {
        text_printf(&t->ptx, "st.global.b32 [%%to+%d], %%x%d;\n", WORD * j, j);
        for (int i = 0; i < 2 * LANES; i++)
            memcpy(t->want + i / 2 * 16 + WORD * j + i % 2 * 2,
                   t->in + j * MATRIX_BYTES + half_of(i / 2, i % 2, trans) * 2, 2);
        trial_check(t, INSN_ldmatrix, (size_t)(WORD * j), LANES, 16, WORD, "ldmatrix.x%d%s", n,
                    trans ? ".trans" : "");
    }
    text_printf(&t->ptx, "ret;\n}\n");
    trial_run(b, t);
}

static void try_stmatrix(struct bench *b, int n, bool trans)
{
    struct trial *t = trial_new(b, MATRICES * MATRIX_BYTES, MATRICES * MATRIX_BYTES);
    t->shared_bytes = MATRICES * MATRIX_BYTES;
    head(t);
    text_printf(&t->ptx,
                "st.shared.v4.b32 [%%at], {%%t, %%t, %%t, %%t};\nbar.warp.sync -1;\n"
                "ld.global.v4.b32 {%%x0, %%x1, %%x2, %%x3}, "
                "[%%from];\nstmatrix.sync.aligned.m8n8.x%d%s.shared.b16 [%%at], ",
                n, trans ? ".trans" : "");
    print_words(&t->ptx, n);
    text_printf(&t->ptx, ";\nbar.warp.sync -1;\nld.shared.v4.b32 {%%x0, %%x1, %%x2, %%x3}, [%%at];\n"
                         "st.global.v4.b32 [%%to], {%%x0, %%x1, %%x2, %%x3};\nret;\n}\n");
    for (int i = 0; i < LANES * 4; i++) {
        uint32_t row = (uint32_t)i / 4;
        memcpy(t->want + i * WORD, &row, sizeof row);
    }
    for (int j = 0; j < n; j++)
        for (int i = 0; i < 2 * LANES; i++)
            memcpy(t->want + j * MATRIX_BYTES + half_of(i / 2, i % 2, trans) * 2,
                   t->in + i / 2 * 16 + WORD * j + i % 2 * 2, 2);
    trial_check(t, INSN_stmatrix, 0, LANES * 4, WORD, WORD, "stmatrix.x%d%s", n, trans ? ".trans" : "");
    trial_run(b, t);
}

/* -- elements of dots -- */

enum kind { F16, BF16, TF32, E4M3, E5M2, S8, U8 };

static int elem_bytes(enum kind k)
{
    return k == TF32 ? 4 : k < TF32 ? 2 : 1;
}

static int random_small(enum kind k)
{
    int x = (int)(random_bits() >> 62);
    return k == U8 || random_bits() >> 63 ? x : -x;
}

static uint32_t encoded(enum kind k, int x)
{
    static const enum ptype types[] = {PT_f16, PT_bf16, PT_f32, PT_e4m3x2, PT_e5m2x2};
    return k >= S8 ? (uint8_t)x : (uint32_t)real_round(types[k], real_of_integer(x, true), MOD_rn, false);
}

static uint32_t encoded_sum(enum ptype d, int x)
{
    return d == PT_s32 ? (uint32_t)x : (uint32_t)real_round(d, real_of_integer(x, true), MOD_rn, false);
}

enum { ROWS_MOST = 64, N_MOST = 256, K_MOST = 32 };
struct numbers {
    int a[ROWS_MOST][K_MOST], b[N_MOST][K_MOST];
};

static void make_numbers(struct numbers *x, int rows, int n, int k, enum kind a, enum kind b)
{
    for (int j = 0; j < k; j++) {
        for (int i = 0; i < rows; i++)
            x->a[i][j] = random_small(a);
        for (int i = 0; i < n; i++)
            x->b[i][j] = random_small(b);
    }
}

static int dot(const struct numbers *x, int row, int column, int k)
{
    int sum = 0;
    for (int j = 0; j < k; j++)
        sum += x->a[row][j] * x->b[column][j];
    return sum;
}

/* -- mma.sync -- */

struct mma {
    enum insn_code code;
    enum kind a, b;
    int k;
};

static const struct mma mmas[] = {
    {INSN_m16n8k16_f16, F16, F16, 16},
    {INSN_m16n8k16_bf16, BF16, BF16, 16},
    {INSN_m16n8k8_tf32, TF32, TF32, 8},
    {INSN_m16n8k32_s8, S8, S8, 32},
    {INSN_m16n8k16_s8, S8, S8, 16},
    {INSN_m16n8k32_e4m3, E4M3, E4M3, 32},
    {INSN_m16n8k32_e5m2, E5M2, E5M2, 32},
    {INSN_m16n8k32_e4m3_e5m2, E4M3, E5M2, 32},
    {INSN_m16n8k32_e5m2_e4m3, E5M2, E4M3, 32},
};

/* Returns word i of A in lane l. The word's row is l / 4, plus 8 if i is odd. In the row, the word begins at the
 * column of word l % 4, plus half of K if i > 1. */
static uint32_t word_of_a(const struct numbers *x, enum kind kind, int lane, int i)
{
    int per = 4 / elem_bytes(kind), row = lane / 4 + (i % 2 ? 8 : 0),
        first = lane % 4 * per + (i / 2 ? 4 * per : 0);
    uint32_t word = 0;
    for (int e = 0; e < per; e++)
        word |= encoded(kind, x->a[row][first + e]) << (e * 8 * elem_bytes(kind) & 31);
    return word;
}

static uint32_t word_of_b(const struct numbers *x, enum kind kind, int lane, int i)
{
    int per = 4 / elem_bytes(kind), first = lane % 4 * per + i * 4 * per;
    uint32_t word = 0;
    for (int e = 0; e < per; e++)
        word |= encoded(kind, x->b[lane / 4][first + e]) << (e * 8 * elem_bytes(kind) & 31);
    return word;
}

static void print_operands(struct text *p, const char *prefix, int first, int n)
{
    for (int i = 0; i < n; i++)
        text_printf(p, "%s%s%d", i ? ", " : "{", prefix, first + i);
    text_printf(p, "}");
}

enum { MMA_ROUNDS = 4, LANE_WORDS = 12 };

/* In the input, each lane has its words of A, then B, then C. */
static void try_mma(struct bench *b, const struct mma *m)
{
    struct numbers x;
    int na = 16 * m->k * elem_bytes(m->a) / WORD / LANES, nb = 8 * m->k * elem_bytes(m->b) / WORD / LANES;
    size_t round = (size_t)(LANES * LANE_WORDS * WORD), result = (size_t)(LANES * 4 * WORD);
    enum ptype d = m->a == S8 ? PT_s32 : PT_f32;
    struct trial *t = trial_new(b, MMA_ROUNDS * round, MMA_ROUNDS * result);
    kernel_head(t);
    text_printf(&t->ptx,
                ".reg .b32 %%x<12>, %%d<4>;\nmul.wide.u32 %%wide, %%t, %d;\nadd.s64 %%in, %%in, %%wide;\n"
                "mul.wide.u32 %%wide, %%t, 16;\nadd.s64 %%out, %%out, %%wide;\n",
                LANE_WORDS * WORD);
    for (size_t r = 0; r < MMA_ROUNDS; r++) {
        for (size_t i = 0; i < LANE_WORDS; i++)
            text_printf(&t->ptx, "ld.global.b32 %%x%zu, [%%in+%zu];\n", i, r * round + i * WORD);
        text_printf(&t->ptx, "%s ", insn_info[m->code].mnemonic);
        print_operands(&t->ptx, "%d", 0, 4);
        text_printf(&t->ptx, ", ");
        print_operands(&t->ptx, "%x", 0, na);
        text_printf(&t->ptx, ", ");
        print_operands(&t->ptx, "%x", na, nb);
        text_printf(&t->ptx, ", ");
        print_operands(&t->ptx, "%x", 8, 4);
        text_printf(&t->ptx, ";\nst.global.v4.b32 [%%out+%zu], {%%d0, %%d1, %%d2, %%d3};\n", r * result);
        make_numbers(&x, 16, 8, m->k, m->a, m->b);
        for (int lane = 0; lane < LANES; lane++) {
            uint8_t *words = t->in + r * round + (size_t)(lane * LANE_WORDS * WORD);
            for (int i = 0; i < LANE_WORDS; i++) {
                int c = (int)(random_bits() >> 40) % 1000 - 500, row = lane / 4 + (i & 2 ? 8 : 0),
                    column = lane % 4 * 2 + i % 2;
                uint32_t word = i < na        ? word_of_a(&x, m->a, lane, i)
                                : i < na + nb ? word_of_b(&x, m->b, lane, i - na)
                                              : encoded_sum(d, c);
                memcpy(words + i * WORD, &word, sizeof word);
                if (i < 8)
                    continue;
                word = encoded_sum(d, c + dot(&x, row, column, m->k));
                memcpy(t->want + r * result + (size_t)(lane * 16 + (i - 8) * WORD), &word, sizeof word);
            }
        }
        trial_check(t, m->code, r * result, LANES * 4, WORD, WORD, "%s", insn_info[m->code].mnemonic);
    }
    text_printf(&t->ptx, "ret;\n}\n");
    trial_run(b, t);
}

/* -- wgmma: operands in shared memory -- */

enum { B_AT = 16384, IMAGE = 81920, THREADS = 128, ROWS = 64, MBARRIER = IMAGE, SHARED = IMAGE + 16 };

struct shape {
    enum insn_code code;
    enum kind a, b;
    int k;
    enum ptype d;
};

static const struct shape shapes[] = {
    {INSN_wgmma_f32_f16, F16, F16, 16, PT_f32},
    {INSN_wgmma_f16_f16, F16, F16, 16, PT_f16},
    {INSN_wgmma_f32_bf16, BF16, BF16, 16, PT_f32},
    {INSN_wgmma_f32_tf32, TF32, TF32, 8, PT_f32},
    {INSN_wgmma_f32_e4m3, E4M3, E4M3, 32, PT_f32},
    {INSN_wgmma_f32_e4m3_e5m2, E4M3, E5M2, 32, PT_f32},
    {INSN_wgmma_f32_e5m2_e4m3, E5M2, E4M3, 32, PT_f32},
    {INSN_wgmma_f32_e5m2, E5M2, E5M2, 32, PT_f32},
    {INSN_wgmma_f16_e4m3, E4M3, E4M3, 32, PT_f16},
    {INSN_wgmma_f16_e4m3_e5m2, E4M3, E5M2, 32, PT_f16},
    {INSN_wgmma_f16_e5m2_e4m3, E5M2, E4M3, 32, PT_f16},
    {INSN_wgmma_f16_e5m2, E5M2, E5M2, 32, PT_f16},
    {INSN_wgmma_s32_s8, S8, S8, 32, PT_s32},
    {INSN_wgmma_s32_s8_u8, S8, U8, 32, PT_s32},
    {INSN_wgmma_s32_u8_s8, U8, S8, 32, PT_s32},
    {INSN_wgmma_s32_u8, U8, U8, 32, PT_s32},
};

struct tile {
    int mn, k, width; /* `width` is the width of the swizzle in bytes; 0: no swizzle */
    bool is_mn_major;
    enum kind kind;
    int lbo, sbo;
};

static void choose_strides(struct tile *t)
{
    int es = elem_bytes(t->kind);
    t->sbo = t->width ? 8 * t->width : 128;
    t->lbo = t->width ? t->k * t->width : t->is_mn_major ? 8 * t->mn * es : 16 * t->mn;
}

static int byte_of(const struct tile *t, int mn, int k)
{
    int es = elem_bytes(t->kind), row = t->is_mn_major ? k : mn, column = (t->is_mn_major ? mn : k) * es;
    int within = t->width ? column % t->width : column % 16, r = row % 8;
    int chunk = within / 16 ^ (t->width == 128 ? r : t->width == 64 ? r / 2 : t->width == 32 ? r / 4 : 0);
    int tile = row / 8 * (t->is_mn_major && !t->width ? t->lbo : t->sbo);
    if (!t->width)
        tile += column / 16 * (t->is_mn_major ? t->sbo : t->lbo);
    else if (t->is_mn_major)
        tile += column / t->width * t->lbo;
    return tile + r * (t->width ? t->width : 16) + chunk * 16 + within % 16;
}

/* Returns the matrix descriptor without its address, which the kernel adds. */
static uint64_t descriptor(const struct tile *t)
{
    uint64_t mode = t->width == 128 ? 1 : t->width == 64 ? 2 : t->width == 32 ? 3 : 0;
    return (uint64_t)t->lbo >> 4 << 16 | (uint64_t)t->sbo >> 4 << 32 | mode << 62;
}

struct variant {
    const struct shape *s;
    int n, width;
    bool a_mn, b_mn, in_registers, adds;
    int sign;
};

static void print_wgmma(struct text *p, const struct variant *v, int nd)
{
    char mnemonic[NAME_BYTES];
    const char *row = insn_info[v->s->code].mnemonic, *number = strchr(row, '#');
    snprintf(mnemonic, sizeof mnemonic, "%.*s%d%s", (int)(number - row), row, v->n, number + 1);
    text_printf(p, "setp.ne.u32 %%p, %d, 0;\nwgmma.fence.sync.aligned;\n%s ", v->adds, mnemonic);
    print_operands(p, "%d", 0, nd);
    text_printf(p, ", %s, %%db, %%p", v->in_registers ? "{%a0, %a1, %a2, %a3}" : "%da");
    if (v->s->d != PT_s32)
        text_printf(p, ", %d, 1", v->sign);
    if (elem_bytes(v->s->a) == 2 && !v->in_registers)
        text_printf(p, ", %d", v->a_mn);
    if (elem_bytes(v->s->a) == 2)
        text_printf(p, ", %d", v->b_mn);
    text_printf(p, ";\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
}

/* Prints the kernel. A bulk copy fills shared memory from the start of the input; after these bytes, the input contains
 * A's registers and the initial values of D. */
static void print_kernel(struct trial *t, const struct variant *v, const struct tile *ta,
                         const struct tile *tb, int nd)
{
    kernel_head(t);
    text_printf(
        &t->ptx,
        ".reg .b32 %%d<128>, %%a<4>;\n.reg .b64 %%da, %%db, %%from;\n.reg .pred %%p;\n"
        "setp.eq.u32 %%p, %%t, 0;\n@!%%p bra READY;\nmbarrier.init.shared::cta.b64 [%%sm+%d], 1;\n"
        "fence.mbarrier_init.release.cluster;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm+%d], %d;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%sm], [%%in], %d, [%%sm+%d];\n"
        "READY:\nbar.sync 0;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %%p, [%%sm+%d], 0;\n@!%%p bra "
        "WAIT;\n",
        MBARRIER, MBARRIER, IMAGE, IMAGE, MBARRIER, MBARRIER);
    text_printf(
        &t->ptx,
        "mul.wide.u32 %%wide, %%t, 16;\nadd.s64 %%from, %%in, %%wide;\nld.global.v4.b32 {%%a0, %%a1, %%a2, "
        "%%a3}, [%%from+%d];\n"
        "mul.wide.u32 %%wide, %%t, %d;\nadd.s64 %%from, %%in, %%wide;\nadd.s64 %%out, %%out, %%wide;\n"
        "shr.u32 %%sm, %%sm, 4;\ncvt.u64.u32 %%wide, %%sm;\nadd.s64 %%da, %%wide, 0x%llx;\nadd.s64 %%db, "
        "%%wide, 0x%llx;\n",
        IMAGE, 4 * nd, (unsigned long long)descriptor(ta),
        (unsigned long long)(descriptor(tb) + (B_AT >> 4)));
    for (int i = 0; i < nd; i++)
        text_printf(&t->ptx, "ld.global.b32 %%d%d, [%%from+%d];\n", i, IMAGE + THREADS * 16 + WORD * i);
    print_wgmma(&t->ptx, v, nd);
    for (int i = 0; i < nd; i++)
        text_printf(&t->ptx, "st.global.b32 [%%out+%d], %%d%d;\n", WORD * i, i);
    text_printf(&t->ptx, "ret;\n}\n");
}

static void put(uint8_t *image, const struct tile *t, int mn, int k, int x)
{
    uint32_t bits = encoded(t->kind, x);
    memcpy(image + byte_of(t, mn, k), &bits, (size_t)elem_bytes(t->kind));
}

static void put_operands(struct trial *t, const struct variant *v, const struct numbers *x,
                         const struct tile *ta, const struct tile *tb)
{
    for (int k = 0; k < v->s->k; k++) {
        for (int i = 0; i < ROWS && !v->in_registers; i++)
            put(t->in, ta, i, k, x->a[i][k]);
        for (int i = 0; i < v->n; i++)
            put(t->in + B_AT, tb, i, k, x->b[i][k]);
    }
    for (int thread = 0; thread < THREADS && v->in_registers; thread++)
        for (int i = 0; i < 4; i++) {
            struct numbers rows; /* the 16 rows of this warp */
            memcpy(rows.a, x->a[thread / 32 * 16], sizeof x->a[0] * 16);
            uint32_t word = word_of_a(&rows, v->s->a, thread % 32, i);
            memcpy(t->in + IMAGE + 16 * thread + WORD * i, &word, sizeof word);
        }
}

/* Computes the expected registers of D. */
static void put_results(struct trial *t, const struct variant *v, const struct numbers *x, int nd)
{
    int halves = v->s->d == PT_f16 ? 2 : 1, bytes = WORD / halves;
    for (int row = 0; row < ROWS; row++)
        for (int column = 0; column < v->n; column++) {
            int thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, pair = column / 8 * 2 + row % 16 / 8;
            size_t at = (size_t)(thread * nd * WORD + (pair * 2 + column % 2) * bytes);
            int c = (int)(random_bits() >> 40) % 200 - 100, sum = v->sign * dot(x, row, column, v->s->k);
            uint32_t before = encoded_sum(v->s->d, c), after = encoded_sum(v->s->d, sum + (v->adds ? c : 0));
            memcpy(t->in + IMAGE + THREADS * 16 + at, &before, (size_t)bytes);
            memcpy(t->want + at, &after, (size_t)bytes);
        }
}

static void try_wgmma(struct bench *b, struct variant v)
{
    struct tile ta = {ROWS, v.s->k, v.width, v.a_mn, v.s->a, 0, 0},
                tb = {v.n, v.s->k, v.width, v.b_mn, v.s->b, 0, 0};
    int nd = v.s->d == PT_f16 ? v.n / 4 : v.n / 2, bytes = THREADS * nd * WORD;
    struct trial *t = trial_new(b, (size_t)(IMAGE + THREADS * 16 + bytes), (size_t)bytes);
    struct numbers x;
    if (v.s->d == PT_s32)
        v.sign = 1;
    t->threads = THREADS;
    t->shared_bytes = SHARED;
    choose_strides(&ta), choose_strides(&tb);
    memset(t->in, 0x7b, t->in_bytes);
    make_numbers(&x, ROWS, v.n, v.s->k, v.s->a, v.s->b);
    put_operands(t, &v, &x, &ta, &tb);
    put_results(t, &v, &x, nd);
    print_kernel(t, &v, &ta, &tb, nd);
    trial_check(t, v.s->code, 0, THREADS * nd, WORD, WORD, "%s n %d, swizzle %d, majors %d %d, A in %s, %s",
                insn_info[v.s->code].name, v.n, v.width, v.a_mn, v.b_mn,
                v.in_registers ? "registers" : "memory", v.adds ? "added" : "alone");
    static const enum insn_code others[] = {INSN_wgmma_fence, INSN_wgmma_commit, INSN_wgmma_wait};
    for (int i = 0; i < 3 && v.n == 8; i++)
        trial_check(t, others[i], 0, THREADS * nd, WORD, WORD, "%s", insn_info[others[i]].name);
    trial_run(b, t);
}

static void try_wgmmas(struct bench *b)
{
    static const int widths[] = {0, 32, 64, 128};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int w = 0; w < 4; w++)
            for (int registers = 0; registers < 2; registers++)
                try_wgmma(b, (struct variant){&shapes[i],
                                              w == 1   ? 8
                                              : w == 2 ? 64
                                              : w == 3 ? 256
                                                       : 128,
                                              widths[w], false, false, registers, w % 2, registers ? 1 : -1});
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < 4; w++)
            for (int majors = 1; majors < 4; majors++)
                try_wgmma(b, (struct variant){&shapes[i], 128, widths[w], majors & 1, majors >> 1, false,
                                              majors & 1, 1});
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < 4; w++)
            try_wgmma(b, (struct variant){&shapes[i], 64, widths[w], false, true, true, true, 1});
    for (int n = 8; n <= N_MOST; n += 8)
        try_wgmma(b, (struct variant){&shapes[0], n, 128, false, false, false, n % 16, n % 16 ? -1 : 1});
}

void try_tensor(struct bench *b)
{
    for (int n = 1; n <= 4; n *= 2)
        for (int trans = 0; trans < 2; trans++) {
            try_ldmatrix(b, n, trans);
            try_stmatrix(b, n, trans);
        }
    for (size_t i = 0; i < sizeof mmas / sizeof *mmas; i++)
        try_mma(b, &mmas[i]);
    try_wgmmas(b);
}
