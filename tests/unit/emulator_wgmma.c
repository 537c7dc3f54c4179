/* SPDX-License-Identifier: MIT */
/* emulator_wgmma.c (test): compares wgmma in the emulator with sums of integers, for every pair of types, every
 * swizzle, both major dimensions, and A in registers. The emulator XORs address bits to swizzle; the test computes the
 * same offsets from rows and columns instead. In a tile whose rows have W bytes, the 16-byte chunk number c of row r
 * is at position c ^ (r % 8) of the row for W = 128, c ^ (r / 2 % 4) for W = 64, and c ^ (r / 4 % 2) for W = 32. */
#include "runtime/devices/emulator/machine.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

#include <stdio.h>

enum { B_AT = 16384, IMAGE = 81920, ROWS = 64, N_MOST = 256, K_MOST = 32, THREADS = 128 };

static const struct memory memory = {world_alloc, world_release, NULL};

enum kind { F16, BF16, TF32, E4M3, E5M2, S8, U8 };
struct shape {
    const char *types;
    enum kind a, b;
    int k;
    bool is_half; /* D is f16 */
};

static const struct shape shapes[] = {
    {"f32.f16.f16", F16, F16, 16, false},     {"f16.f16.f16", F16, F16, 16, true},
    {"f32.bf16.bf16", BF16, BF16, 16, false}, {"f32.tf32.tf32", TF32, TF32, 8, false},
    {"f32.e4m3.e4m3", E4M3, E4M3, 32, false}, {"f32.e4m3.e5m2", E4M3, E5M2, 32, false},
    {"f32.e5m2.e4m3", E5M2, E4M3, 32, false}, {"f32.e5m2.e5m2", E5M2, E5M2, 32, false},
    {"f16.e4m3.e4m3", E4M3, E4M3, 32, true},  {"f16.e5m2.e4m3", E5M2, E4M3, 32, true},
    {"s32.s8.s8", S8, S8, 32, false},         {"s32.s8.u8", S8, U8, 32, false},
    {"s32.u8.s8", U8, S8, 32, false},         {"s32.u8.u8", U8, U8, 32, false},
};

static int elem_bytes(enum kind k)
{
    return k == TF32 ? 4 : k < TF32 ? 2 : 1;
}

/* Returns the bits of an integer x from -3 to 3 in type k (for unsigned types, the bits of |x|). */
static uint32_t encoded(enum kind k, int x)
{
    static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44}, e5m2[] = {0, 0x3c, 0x40, 0x42};
    int size = x < 0 ? -x : x;
    float f = (float)x;
    uint32_t word;
    memcpy(&word, &f, sizeof word);
    switch (k) {
    case F16: return emu_half_round(PT_f16, x);
    case BF16: return emu_half_round(PT_bf16, x);
    case TF32: return word;
    case E4M3: return (uint32_t)(e4m3[size] | (x < 0 ? 0x80 : 0));
    case E5M2: return (uint32_t)(e5m2[size] | (x < 0 ? 0x80 : 0));
    case S8: return (uint8_t)x;
    default: return (uint32_t)size;
    }
}

static int meant(enum kind k, int x)
{
    return k == U8 && x < 0 ? -x : x;
}

/* -- operands in shared memory -- */

struct tile {
    int mn, k, width; /* `width` is the width of the swizzle in bytes; 0: none */
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
    int es = elem_bytes(t->kind), row = (t->is_mn_major ? k : mn), column = (t->is_mn_major ? mn : k) * es;
    int within = t->width ? column % t->width : column % 16, r = row % 8;
    int chunk = within / 16 ^ (t->width == 128 ? r : t->width == 64 ? r / 2 : t->width == 32 ? r / 4 : 0);
    int tile = row / 8 * (t->is_mn_major && !t->width ? t->lbo : t->sbo);
    if (!t->width)
        tile += column / 16 * (t->is_mn_major ? t->sbo : t->lbo);
    else if (t->is_mn_major)
        tile += column / t->width * t->lbo;
    return tile + r * (t->width ? t->width : 16) + chunk * 16 + within % 16;
}

static uint64_t descriptor(const struct tile *t, int at)
{
    uint64_t mode = t->width == 128 ? 1 : t->width == 64 ? 2 : t->width == 32 ? 3 : 0;
    return (uint64_t)(SHARED_BASE + at) >> 4 | (uint64_t)t->lbo >> 4 << 16 | (uint64_t)t->sbo >> 4 << 32 |
           mode << 62;
}

/* -- one multiplication -- */

static _Alignas(4096) uint8_t image[IMAGE + 16 * THREADS];
static _Alignas(4096) uint32_t out[THREADS * N_MOST / 2];
static int a[ROWS][K_MOST], b[N_MOST][K_MOST];

static void put(int at, const struct tile *t, int mn, int k, int x)
{
    uint32_t bits = encoded(t->kind, x);
    memcpy(image + at + byte_of(t, mn, k), &bits, (size_t)elem_bytes(t->kind));
}

/* Stores element (row, k) of A in the register of the lane that holds it. Registers 0 and 2 have rows 0 to 7 of a
 * warp's 16 rows; registers 2 and 3 have the upper half of the indices k. */
static void put_register(const struct shape *s, int row, int k)
{
    int es = elem_bytes(s->a), per_word = 4 / es, word = k / per_word;
    int thread = row / 16 * 32 + row % 8 * 4 + word % 4, reg = (row / 8 % 2) + 2 * (word / 4);
    uint32_t bits = encoded(s->a, a[row][k]);
    memcpy(image + IMAGE + 16 * thread + 4 * reg + k % per_word * es, &bits, (size_t)es);
}

static void write_kernel(struct text *t, const struct shape *s, int n, const struct tile *ta,
                         const struct tile *tb, bool in_registers, const char *tail)
{
    int nd = s->is_half ? n / 4 : n / 2;
    text_printf(
        t,
        ".version 8.4\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 smem[];\n"
        ".visible .entry k(.param .u64 px, .param .u64 py)\n.maxntid 128\n{\n.reg .b32 %%d<128>, %%a<4>, "
        "%%t, %%sm;\n"
        ".reg .b64 %%x, %%y, %%o, %%da, %%db;\n.reg .pred %%p, %%w;\n"
        "mov.u32 %%t, %%tid.x;\nmov.u32 %%sm, smem;\nld.param.u64 %%x, [px];\nld.param.u64 %%y, [py];\n"
        "setp.eq.u32 %%p, %%t, 0;\n@!%%p bra READY;\nmbarrier.init.shared::cta.b64 [%%sm+%d], 1;\n"
        "fence.mbarrier_init.release.cluster;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [%%sm+%d], %d;\n"
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%sm], [%%x], %d, [%%sm+%d];\n"
        "READY:\nbar.sync 0;\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %%w, [%%sm+%d], 0;\n@!%%w bra "
        "WAIT;\n",
        IMAGE, IMAGE, IMAGE, IMAGE, IMAGE, IMAGE);
    text_printf(t,
                "mul.wide.u32 %%o, %%t, 16;\nadd.s64 %%o, %%x, %%o;\nld.global.v4.b32 {%%a0, %%a1, %%a2, "
                "%%a3}, [%%o+%d];\n"
                "mov.b64 %%da, 0x%llx;\nmov.b64 %%db, 0x%llx;\nwgmma.fence.sync.aligned;\n"
                "wgmma.mma_async.sync.aligned.m64n%dk%d.%s {",
                IMAGE, (unsigned long long)descriptor(ta, 0), (unsigned long long)descriptor(tb, B_AT), n,
                s->k, s->types);
    for (int i = 0; i < nd; i++)
        text_printf(t, "%s%%d%d", i ? ", " : "", i);
    text_printf(t,
                "}, %s, %%db, 0%s;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
                "mul.wide.u32 %%o, %%t, %d;\nadd.s64 %%o, %%y, %%o;\n",
                in_registers ? "{%a0, %a1, %a2, %a3}" : "%da", tail, 4 * nd);
    for (int i = 0; i < nd; i++)
        text_printf(t, "st.global.b32 [%%o+%d], %%d%d;\n", 4 * i, i);
    text_printf(t, "ret;\n}\n");
}

static struct emu_report launch(const struct text *t)
{
    struct emu_report r = {0};
    struct arena arena;
    uint64_t args[] = {(uint64_t)(uintptr_t)image, (uint64_t)(uintptr_t)out};
    struct cpu_buffer buffers[] = {{args[0], sizeof image, "x", NULL, NULL},
                                   {args[1], sizeof out, "y", NULL, NULL}};
    if (args[0] > args[1]) {
        struct cpu_buffer first = buffers[1];
        buffers[1] = buffers[0], buffers[0] = first;
    }
    struct emu_launch l = {.grid = {1, 1, 1},
                           .args = args,
                           .buffers = buffers,
                           .nbuffers = 2,
                           .shared_bytes = IMAGE + 16,
                           .mem = &memory};
    arena_init(&arena, &memory, 0, world_fail, NULL);
    const struct emu_code *code = emulator_load(&arena, t->s, t->len, &r);
    if (code && !emulator_run(code, &l))
        r = l.report;
    arena_free(&arena);
    return r;
}

/* Returns element (row, column) of D. The figures in the PTX ISA show the thread and register that hold this
 * element. */
static double found(const struct shape *s, int n, int row, int column)
{
    int thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, pair = column / 8 * 2 + row / 8 % 2;
    uint32_t word = s->is_half ? out[thread * (n / 4) + pair] : out[thread * (n / 2) + 2 * pair + column % 2];
    float f;
    memcpy(&f, &word, sizeof f);
    return s->is_half           ? emu_half_value(PT_f16, (uint16_t)(word >> 16 * (column % 2)))
           : s->types[0] == 's' ? (double)(int32_t)word
                                : (double)f;
}

static void check(const struct shape *s, int n, int width, bool a_mn, bool b_mn, bool in_registers, int sign)
{
    struct tile ta = {ROWS, s->k, width, a_mn, s->a, 0, 0}, tb = {n, s->k, width, b_mn, s->b, 0, 0};
    struct arena arena;
    struct text t;
    uint32_t seed = (uint32_t)(n + width);
    char tail[40] = "", *end = tail;
    bool is_int = s->types[0] == 's', has_majors = elem_bytes(s->a) == 2;
    choose_strides(&ta), choose_strides(&tb);
    memset(image, 0x7b, sizeof image);
    for (int k = 0; k < s->k; k++) {
        for (int i = 0; i < ROWS; i++) {
            a[i][k] = (int)((seed = seed * 1664525 + 1013904223) >> 24) % 7 - 3;
            put(0, &ta, i, k, a[i][k]);
            put_register(s, i, k);
        }
        for (int i = 0; i < n; i++) {
            b[i][k] = (int)((seed = seed * 1664525 + 1013904223) >> 24) % 7 - 3;
            put(B_AT, &tb, i, k, b[i][k]);
        }
    }
    if (!is_int)
        end += sprintf(end, ", %d, 1", sign);
    if (has_majors && !in_registers)
        end += sprintf(end, ", %d", a_mn);
    if (has_majors)
        sprintf(end, ", %d", b_mn);
    arena_init(&arena, &memory, 0, world_fail, NULL);
    text_init(&t, &arena);
    write_kernel(&t, s, n, &ta, &tb, in_registers, tail);
    struct emu_report r = launch(&t);
    int wrong = 0;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < n; j++) {
            int sum = 0;
            for (int k = 0; k < s->k; k++)
                sum += meant(s->a, a[i][k]) * meant(s->b, b[j][k]);
            wrong += found(s, n, i, j) != (is_int ? 1 : sign) * sum;
        }
    if (wrong || r.error != ERR_count) {
        char what[500];
        snprintf(what, sizeof what, "m64n%dk%d.%s swizzle %d majors %d %d, registers %d: %d wrong; %s", n,
                 s->k, s->types, width, a_mn, b_mn, in_registers, wrong, r.what);
        test_fail(__FILE__, __LINE__, what);
    }
    arena_free(&arena);
}

TEST(types_and_swizzles)
{
    static const int widths[] = {0, 32, 64, 128};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int w = 0; w < 4; w++)
            for (int in_registers = 0; in_registers < 2; in_registers++)
                check(&shapes[i], w == 1 ? 8 : w == 2 ? 64 : 256, widths[w], false, false, in_registers, 1);
}

TEST(majors)
{
    static const int widths[] = {0, 32, 64, 128};
    for (int i = 0; i < 3; i++)
        for (int w = 0; w < 4; w++)
            for (int majors = 1; majors < 4; majors++)
                check(&shapes[i], 128, widths[w], majors & 1, majors >> 1, false, 1);
}

TEST(numbers_of_columns_and_signs)
{
    for (int n = 8; n <= N_MOST; n += 8)
        check(&shapes[0], n, 128, false, false, false, n % 16 ? -1 : 1);
}
