/* SPDX-License-Identifier: MIT */
/* insns_sums.c: tests that mma.sync and wgmma add and round by the rule of runtime/devices/emulator/sums.c, on tiles
 * of random floats. There are tiles whose floats have random or equal exponents, tiles with few nonzero products or
 * with products that cancel, and tiles with subnormal, infinite or very large floats. The trials also test that sums
 * of integers wrap on overflow, with random integers and with the least and largest integers.
 *
 *     few tiles (the default)    computes expected results by the rule, in integers
 *     build/gpu_insns cuda sums TILES [SEED [WORD]]      TILES tiles of each type: compares the GPU with the emulator
 *
 * A warp multiplies a tile of 16 x k by a tile of k x 8; a warpgroup multiplies four tiles of 16 x k by the same
 * tile of k x 8. */
#include "tests/gpu/insns.h"

#include <string.h>

enum { COLUMNS = 8, DEPTH_MOST = 32, WARPS = 4, THREADS = WARPS * LANES, WORD = 4, MODES = 9, ROWS = 16 };

struct dot_insn {
    enum insn_code code;
    enum ptype a, b, d;
    int k;
    bool is_wgmma;
};

static const struct dot_insn products[] = {
    {INSN_m16n8k16_f16, PT_f16, PT_f16, PT_f32, 16, false},
    {INSN_m16n8k16_bf16, PT_bf16, PT_bf16, PT_f32, 16, false},
    {INSN_m16n8k8_tf32, PT_f32, PT_f32, PT_f32, 8, false},
    {INSN_m16n8k32_e4m3, PT_e4m3x2, PT_e4m3x2, PT_f32, 32, false},
    {INSN_m16n8k32_e5m2, PT_e5m2x2, PT_e5m2x2, PT_f32, 32, false},
    {INSN_m16n8k32_e4m3_e5m2, PT_e4m3x2, PT_e5m2x2, PT_f32, 32, false},
    {INSN_m16n8k32_e5m2_e4m3, PT_e5m2x2, PT_e4m3x2, PT_f32, 32, false},
    {INSN_wgmma_f32_f16, PT_f16, PT_f16, PT_f32, 16, true},
    {INSN_wgmma_f16_f16, PT_f16, PT_f16, PT_f16, 16, true},
    {INSN_wgmma_f32_bf16, PT_bf16, PT_bf16, PT_f32, 16, true},
    {INSN_wgmma_f32_tf32, PT_f32, PT_f32, PT_f32, 8, true},
    {INSN_wgmma_f32_e4m3, PT_e4m3x2, PT_e4m3x2, PT_f32, 32, true},
    {INSN_wgmma_f32_e4m3_e5m2, PT_e4m3x2, PT_e5m2x2, PT_f32, 32, true},
    {INSN_wgmma_f32_e5m2_e4m3, PT_e5m2x2, PT_e4m3x2, PT_f32, 32, true},
    {INSN_wgmma_f32_e5m2, PT_e5m2x2, PT_e5m2x2, PT_f32, 32, true},
    {INSN_wgmma_f16_e4m3, PT_e4m3x2, PT_e4m3x2, PT_f16, 32, true},
    {INSN_wgmma_f16_e4m3_e5m2, PT_e4m3x2, PT_e5m2x2, PT_f16, 32, true},
    {INSN_wgmma_f16_e5m2_e4m3, PT_e5m2x2, PT_e4m3x2, PT_f16, 32, true},
    {INSN_wgmma_f16_e5m2, PT_e5m2x2, PT_e5m2x2, PT_f16, 32, true},
    {INSN_m16n8k32_s8, PT_s8, PT_s8, PT_s32, 32, false},
    {INSN_m16n8k16_s8, PT_s8, PT_s8, PT_s32, 16, false},
    {INSN_wgmma_s32_s8, PT_s8, PT_s8, PT_s32, 32, true},
    {INSN_wgmma_s32_s8_u8, PT_s8, PT_u8, PT_s32, 32, true},
    {INSN_wgmma_s32_u8_s8, PT_u8, PT_s8, PT_s32, 32, true},
    {INSN_wgmma_s32_u8, PT_u8, PT_u8, PT_s32, 32, true},
};

static bool is_integer(enum ptype t)
{
    return t == PT_s8 || t == PT_u8 || t == PT_s32;
}

/* -- random numbers -- */

struct format {
    /* `unused_bits` is the number of low bits that the tensor core ignores: 13 for tf32 */
    int exponent_bits, fraction_bits, unused_bits;
};

static struct format format_of(enum ptype t, bool is_tf32)
{
    switch (t) {
    case PT_f16: return (struct format){5, 10, 0};
    case PT_bf16: return (struct format){8, 7, 0};
    case PT_e4m3x2: return (struct format){4, 3, 0};
    case PT_e5m2x2: return (struct format){5, 2, 0};
    default: return is_tf32 ? (struct format){8, 10, 13} : (struct format){8, 23, 0};
    }
}

static int below(int n)
{
    return (int)(random_bits() >> 33) % n;
}

/* Returns a random finite float whose exponent field is between `least` and `most`, or at the largest exponent of
 * finite numbers if that is lower. */
static uint32_t random_float(enum ptype t, struct format f, int least, int most)
{
    int top = (1 << f.exponent_bits) - (t == PT_e4m3x2 ? 1 : 2), e = least + below(most - least + 1);
    uint32_t fraction = (uint32_t)random_bits() >> (32 - f.fraction_bits), sign = (uint32_t)below(2);
    e = e < 0 ? 0 : e > top ? top : e;
    if (t == PT_e4m3x2 && e == 15 && fraction == 7) /* would be NaN */
        fraction = 6;
    return ((sign << f.exponent_bits | (uint32_t)e) << f.fraction_bits | fraction) << f.unused_bits;
}

static uint32_t random_special(enum ptype t, struct format f)
{
    uint32_t sign = (uint32_t)below(2), all = (1u << f.exponent_bits) - 1;
    uint32_t fraction = t == PT_e4m3x2 ? 7 : below(4) == 0;
    return ((sign << f.exponent_bits | all) << f.fraction_bits | fraction) << f.unused_bits;
}

struct tile {
    uint32_t a[ROWS][DEPTH_MOST], b[DEPTH_MOST][COLUMNS], c[ROWS][COLUMNS];
};

/* Returns a random integer of `bits` bits. `mode` selects one of three kinds: any integer, an integer near zero or
 * near the ends of the range, or a small integer. */
static uint32_t random_integer(int bits, int mode)
{
    uint32_t any = (uint32_t)(random_bits() >> 32), all = ~UINT32_C(0) >> (32 - bits);
    uint32_t end = below(2) ? all >> 1 : 0, near = end + (uint32_t)below(3) - 1;
    return all & (mode % 3 == 0 ? any : mode % 3 == 1 ? near : (any & 7) - 4);
}

static uint32_t random_factor(enum ptype t, int mode)
{
    if (is_integer(t))
        return random_integer(8, mode);
    struct format f = format_of(t, true);
    int bias = (1 << (f.exponent_bits - 1)) - 1, spread = bias < 20 ? bias : 20;
    switch (mode) {
    case 0:
    case 3: return random_float(t, f, bias - spread, bias + spread);
    case 2: return random_float(t, f, bias - 1, bias + 1);
    case 5: return random_float(t, f, 0, 2);
    case 6: return below(100) ? random_float(t, f, bias - 3, bias + 3) : random_special(t, f);
    case 7: return random_float(t, f, 2 * bias - 4, 2 * bias + 1);
    case 8: return random_float(t, f, 0, 2 * bias + 1);
    default: return random_float(t, f, bias - 2, bias + 2);
    }
}

static uint32_t random_addend(enum ptype d, int mode)
{
    if (is_integer(d))
        return random_integer(32, below(3));
    static const int spans[MODES] = {20, 3, 30, 25, 20, 20, 5, 4, 60};
    struct format f = format_of(d, false);
    int bias = (1 << (f.exponent_bits - 1)) - 1, center = mode == 7 ? 2 * bias : mode == 5 ? 4 : bias + 2;
    if (below(8) == 0)
        return 0;
    if (mode == 6 && below(200) == 0)
        return random_special(d, f);
    return random_float(d, f, center - spans[mode], center + spans[mode]);
}

/* Fills the members a (16 x k) and c (16 x 8) of `x`, and the member b (k x 8) of `shared`. Several tiles may share
 * this b. */
static void make_tile(const struct dot_insn *p, int mode, struct tile *x, struct tile *shared)
{
    struct format fb = format_of(p->b, true);
    uint32_t minus = is_integer(p->b) ? 0xff : 1u << (fb.exponent_bits + fb.fraction_bits + fb.unused_bits);
    bool is_new = shared == x;
    for (int k = 0; k < p->k; k++) {
        bool is_zero = mode == 3 && below(4), cancels = mode == 4 && k % 2;
        for (int i = 0; i < ROWS; i++)
            x->a[i][k] = is_zero ? 0 : cancels ? x->a[i][k - 1] : random_factor(p->a, mode);
        for (int j = 0; j < COLUMNS && is_new; j++) {
            x->b[k][j] = cancels && below(6) ? x->b[k - 1][j] ^ minus : random_factor(p->b, mode);
        }
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            x->c[i][j] = random_addend(p->d, mode);
    if (!is_new)
        memcpy(x->b, shared->b, sizeof x->b);
}

/* -- the rule, in integers -- */

struct term {
    bool minus, nan, inf;
    int64_t m;      /* the value is m 2^e */
    int e, largest; /* `largest` is the exponent by which the hardware aligns the terms of a sum */
};

static struct term term_of(enum ptype t, bool is_tf32, uint32_t bits)
{
    struct format f = format_of(t, is_tf32);
    bits >>= f.unused_bits;
    int all = (1 << f.exponent_bits) - 1, bias = all >> 1;
    int e = (int)(bits >> f.fraction_bits) & all, least = e ? e : 1;
    int64_t fraction = bits & ((1u << f.fraction_bits) - 1);
    bool is_top = e == all;
    return (struct term){.minus = bits >> (f.exponent_bits + f.fraction_bits) & 1,
                         .nan = is_top && (t == PT_e4m3x2 ? fraction == 7 : fraction != 0),
                         .inf = is_top && t != PT_e4m3x2 && fraction == 0,
                         .m = fraction | (int64_t)(e != 0) << f.fraction_bits,
                         .e = least - bias - f.fraction_bits,
                         .largest = least - bias};
}

static struct term multiplied(struct term a, struct term b)
{
    return (struct term){.minus = a.minus != b.minus,
                         .nan = a.nan || b.nan || (a.inf && !b.m && !b.inf) || (b.inf && !a.m && !a.inf),
                         .inf = a.inf || b.inf,
                         .m = a.m * b.m,
                         .e = a.e + b.e,
                         .largest = a.largest + b.largest};
}

static struct real added(const struct term *x, int n, int fraction)
{
    struct real r = {0};
    bool up = false, down = false;
    int largest = INT32_MIN;
    int64_t sum = 0;
    for (int i = 0; i < n; i++) {
        r.nan |= x[i].nan;
        up |= x[i].inf && !x[i].minus;
        down |= x[i].inf && x[i].minus;
        largest = x[i].m && x[i].largest > largest ? x[i].largest : largest;
    }
    r.nan |= up && down;
    r.inf = up || down;
    r.minus = down;
    if (r.nan || r.inf || largest == INT32_MIN)
        return r;
    r.e = largest - fraction;
    for (int i = 0; i < n; i++) {
        int drop = r.e - x[i].e;
        int64_t m = !x[i].m || drop > 62 ? 0 : drop > 0 ? x[i].m >> drop : x[i].m << -drop;
        sum += x[i].minus ? -m : m;
    }
    r.minus = sum < 0;
    r.m = (wide)(sum < 0 ? -sum : sum);
    return r;
}

/* Rounds a sum to type d. A sum of zero becomes +0. */
static uint32_t finished(enum ptype d, struct real r, enum mod how)
{
    uint32_t sign = d == PT_f16 ? 0x8000 : 0x80000000;
    if (r.nan)
        return d == PT_f16 ? 0x7fff : 0x7fffffff;
    uint32_t bits = (uint32_t)real_round(d, r, how, false);
    return bits == sign ? 0 : bits;
}

static int highest_bit(wide m)
{
    int n = -1;
    for (; m; m >>= 1)
        n++;
    return n;
}

/* Rounds a sum toward zero to f32. A sum that is too large becomes infinite. */
static uint32_t cut_off(struct real r)
{
    uint32_t bits = finished(PT_f32, r, MOD_rz);
    bool is_large = !r.nan && !r.inf && r.m && r.e + highest_bit(r.m) > 127;
    return is_large ? (bits & 0x80000000) | 0x7f800000 : bits;
}

/* Returns the term for an fp8 that is first converted to f16. Most subnormal fp8 are normal numbers in f16. */
static struct term as_f16(struct term x)
{
    int top = x.e + highest_bit((wide)x.m);
    x.largest = top < -14 ? -14 : top;
    return x;
}

static uint32_t expected_fp8_mma(const struct dot_insn *p, const struct tile *x, int i, int j)
{
    uint32_t bits = 0;
    for (int high = 0; high < 2; high++) {
        struct term t[DEPTH_MOST];
        int n = 0;
        for (int k = 0; k < p->k; k++)
            if (k % 4 / 2 == high)
                t[n++] = multiplied(as_f16(term_of(p->a, false, x->a[i][k])),
                                    as_f16(term_of(p->b, false, x->b[k][j])));
        t[n] = term_of(PT_f32, false, bits);
        bits = cut_off(added(t, n + 1, 25));
    }
    struct real sum = real_add(real_of(PT_f32, bits), real_of(PT_f32, x->c[i][j]));
    return finished(PT_f32, sum, MOD_rn);
}

static uint32_t integer_value(enum ptype t, uint32_t bits)
{
    return t == PT_s8 ? (uint32_t)(int32_t)(int8_t)bits : bits;
}

static uint32_t expected_integer(const struct dot_insn *p, const struct tile *x, int i, int j)
{
    uint32_t sum = x->c[i][j];
    for (int k = 0; k < p->k; k++)
        sum += integer_value(p->a, x->a[i][k]) * integer_value(p->b, x->b[k][j]);
    return sum;
}

static uint32_t expected(const struct dot_insn *p, const struct tile *x, int i, int j)
{
    enum { FRACTION = 25, FRACTION_FP8 = 13 };
    bool is_fp8 = p->k == DEPTH_MOST;
    struct term t[DEPTH_MOST + 1];
    if (is_integer(p->d))
        return expected_integer(p, x, i, j);
    if (is_fp8 && !p->is_wgmma)
        return expected_fp8_mma(p, x, i, j);
    for (int k = 0; k < p->k; k++)
        t[k] = multiplied(term_of(p->a, true, x->a[i][k]), term_of(p->b, true, x->b[k][j]));
    t[p->k] = term_of(p->d, false, x->c[i][j]);
    struct real r = added(t, p->k + 1, is_fp8 ? FRACTION_FP8 : FRACTION);
    while (is_fp8 && p->d == PT_f32 && r.m >> (FRACTION_FP8 + 1))
        r.m >>= 1, r.e++;
    return p->d == PT_f16 ? finished(PT_f16, r, MOD_rn) : cut_off(r);
}

/* -- the kernel -- */

static int bytes_of(enum ptype t)
{
    return t == PT_f32 ? 4 : t == PT_e4m3x2 || t == PT_e5m2x2 || is_integer(t) ? 1 : 2;
}

/* The input of each thread has 4 words of A, 2 words of B, and the words of C. For wgmma, the thread copies the first
 * word of B to shared memory. */
enum { A_WORDS = 4, B_WORDS = 2, C_AT = (A_WORDS + B_WORDS) * WORD, THREAD_BYTES = 40, B_BYTES = 256 };

static void print_words(struct text *p, const char *prefix, int first, int n)
{
    for (int i = 0; i < n; i++)
        text_printf(p, "%s%s%d", i ? ", " : "{", prefix, first + i);
    text_printf(p, "}");
}

static void print_product(struct text *t, const struct dot_insn *p, int nd)
{
    const char *mnemonic = insn_info[p->code].mnemonic, *number = strchr(mnemonic, '#');
    if (!p->is_wgmma) {
        text_printf(t, "%s ", mnemonic);
        print_words(t, "%d", 0, nd);
        /* a thread has a word of A for each A_PART bytes of a row, and a word of B for each B_PART bytes of a column */
        enum { A_PART = 8, B_PART = 16 };
        text_printf(t, ", ");
        print_words(t, "%a", 0, p->k * bytes_of(p->a) / A_PART);
        text_printf(t, ", ");
        print_words(t, "%b", 0, p->k * bytes_of(p->b) / B_PART);
        text_printf(t, ", ");
        print_words(t, "%d", 0, nd);
        text_printf(t, ";\n");
        return;
    }
    text_printf(t,
                "shl.b32 %%x, %%t, 2;\nand.b32 %%x, %%x, %d;\nadd.u32 %%x, %%x, %%sm;\n"
                "st.shared.b32 [%%x], %%b0;\nfence.proxy.async;\nbar.sync 0;\nshr.u32 %%x, %%sm, 4;\n"
                "cvt.u64.u32 %%wide, %%x;\nadd.s64 %%wide, %%wide, 0x%llx;\nsetp.eq.u32 %%p, %%x, %%x;\n"
                "wgmma.fence.sync.aligned;\n%.*s%d%s ",
                B_BYTES - WORD, (unsigned long long)(128 >> 4 << 16 | UINT64_C(256) >> 4 << 32),
                (int)(number - mnemonic), mnemonic, COLUMNS, number + 1);
    print_words(t, "%d", 0, nd);
    text_printf(t, ", {%%a0, %%a1, %%a2, %%a3}, %%wide, %%p%s%s;\n", is_integer(p->d) ? "" : ", 1, 1",
                bytes_of(p->a) == 2 ? ", 0" : "");
    text_printf(t, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
}

static void print_kernel(struct trial *t, const struct dot_insn *p, int nd)
{
    kernel_head(t);
    text_printf(&t->ptx,
                ".reg .b32 %%a<4>, %%b<2>, %%d<4>, %%x;\n.reg .pred %%p;\nmad.lo.u32 %%x, %%cta, %d, %%t;\n"
                "mul.wide.u32 %%wide, %%x, %d;\nadd.s64 %%in, %%in, %%wide;\nmul.wide.u32 %%wide, %%x, %d;\n"
                "add.s64 %%out, %%out, %%wide;\n",
                THREADS, THREAD_BYTES, nd * WORD);
    for (int i = 0; i < A_WORDS + B_WORDS + nd; i++)
        text_printf(&t->ptx, "ld.global.b32 %%%c%d, [%%in+%d];\n", "aaaabbdddd"[i],
                    i < A_WORDS ? i
                                : (i - A_WORDS) % (i < A_WORDS + B_WORDS ? B_WORDS : 8) -
                                      (i < A_WORDS + B_WORDS ? 0 : B_WORDS),
                    i * WORD);
    print_product(&t->ptx, p, nd);
    for (int i = 0; i < nd; i++)
        text_printf(&t->ptx, "st.global.b32 [%%out+%d], %%d%d;\n", i * WORD, i);
    text_printf(&t->ptx, "ret;\n}\n");
}

static uint32_t word_of_a(const struct dot_insn *p, const struct tile *x, int lane, int i)
{
    int bytes = bytes_of(p->a), per = WORD / bytes, first = (lane % 4 + 4 * (i / 2)) * per;
    uint32_t word = 0;
    for (int e = 0; e < per; e++)
        word |= x->a[lane / 4 + 8 * (i % 2)][first + e] << (8 * bytes * e & 31);
    return word;
}

static uint32_t word_of_b(const struct dot_insn *p, const struct tile *x, int lane, int i)
{
    int bytes = bytes_of(p->b), per = WORD / bytes, first = (lane % 4 + 4 * i) * per;
    uint32_t word = 0;
    for (int e = 0; e < per; e++)
        word |= x->b[first + e][lane / 4] << (8 * bytes * e & 31);
    return word;
}

/* Returns a word of B in shared memory. There, the first 16 bytes (along k) of each of the 8 columns come first, and
 * then the next 16 bytes of each column. */
static uint32_t word_of_image(const struct dot_insn *p, const struct tile *x, int word)
{
    int bytes = bytes_of(p->b), per = WORD / bytes, column = word / 4 % COLUMNS;
    int first = (word / (4 * COLUMNS) * 16 + word % 4 * WORD) / bytes;
    uint32_t bits = 0;
    for (int e = 0; e < per; e++)
        bits |= x->b[first + e][column] << (8 * bytes * e & 31);
    return bits;
}

/* Fills the input of one warp. If `judged` is true, also fills the warp's expected output. */
static void put_tile(struct trial *t, const struct dot_insn *p, const struct tile *x, int warp, int nd,
                     bool judged)
{
    int halves = p->d == PT_f16 ? 2 : 1;
    for (int lane = 0; lane < LANES; lane++) {
        uint32_t words[THREAD_BYTES / WORD] = {0}, want[4] = {0};
        int thread = warp * LANES + lane;
        for (int i = 0; i < A_WORDS; i++)
            words[i] = word_of_a(p, x, lane, i);
        for (int i = 0; i < B_WORDS; i++)
            words[A_WORDS + i] =
                p->is_wgmma ? word_of_image(p, x, thread % (B_BYTES / WORD)) : word_of_b(p, x, lane, i);
        for (int i = 0; i < nd * halves; i++) {
            int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
            words[C_AT / WORD + i / halves] |= x->c[row][column] << (halves == 2 ? i % 2 * 16 : 0);
            if (judged)
                want[i / halves] |= expected(p, x, row, column) << (halves == 2 ? i % 2 * 16 : 0);
        }
        memcpy(t->in + (size_t)thread * THREAD_BYTES, words, sizeof words);
        memcpy(t->want + (size_t)(thread * nd * WORD), want, (size_t)(nd * WORD));
    }
}

static void try_product(struct bench *b, const struct dot_insn *p, int tiles, bool judged)
{
    int nd = p->d == PT_f16 ? 2 : 4, threads = tiles * LANES;
    struct trial *t = trial_new(b, (size_t)threads * THREAD_BYTES, (size_t)(threads * nd * WORD));
    t->grid = tiles / WARPS;
    t->threads = THREADS;
    t->shared_bytes = B_BYTES;
    t->is_judged_by_emulator = !judged;
    print_kernel(t, p, nd);
    struct tile shared = {0}, x = {0};
    for (int warp = 0; warp < tiles; warp++) {
        bool is_first = !p->is_wgmma || warp % WARPS == 0;
        make_tile(p, warp / WARPS % MODES, is_first ? &shared : &x, &shared);
        put_tile(t, p, is_first ? &shared : &x, warp, nd, judged);
    }
    trial_check(t, p->code, 0, threads * nd, WORD, WORD, "%s, sums of %s", insn_info[p->code].name,
                is_integer(p->d) ? "random integers" : "random floats");
    trial_run(b, t);
}

void try_sums(struct bench *b)
{
    enum { FEW = 4 * WARPS * MODES, MOST = 16384 };
    int tiles = bench_tiles(b);
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        if (!bench_wants(b, products[i].code))
            continue;
        if (!tiles)
            try_product(b, &products[i], FEW, true);
        for (int done = 0; done < tiles; done += MOST)
            try_product(b, &products[i], MOST, false);
    }
}
