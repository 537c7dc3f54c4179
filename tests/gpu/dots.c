/* SPDX-License-Identifier: MIT */
/* dots.c: compares random dots with results in float64. Cases differ in shapes, strides, types, blocks, warps, stages,
 * masks, transposed operands, batches and chains. Operands are small multiples of a power of two, so that every sum is
 * exact in any order, and results must be equal bit by bit. One case in four has arbitrary values instead; the results
 * of such a case must be within an error bound.
 *
 *     dots DEVICE COUNT [small]      cases 0 .. COUNT-1; small: only cases that are fast on a CPU
 *     dots DEVICE case N [small]     a single case, with a description; failures print this command
 *
 * DEVICE may be emulator/TARGET.
 *
 * tests/gpu.sh (part `random`) and tests/cli/dots.sh run this program. */
#include "ir/ir.h"
#include "runtime/neso.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def fetch(p, r, c, sr, sc, R, C, MASKED: tl.constexpr, TRANS: tl.constexpr):\n"
    "    if TRANS:\n"
    "        at = p + c[:, None] * sc + r[None, :] * sr\n"
    "        on = (c[:, None] < C) & (r[None, :] < R)\n"
    "    else:\n"
    "        at = p + r[:, None] * sr + c[None, :] * sc\n"
    "        on = (r[:, None] < R) & (c[None, :] < C)\n"
    "    if MASKED:\n"
    "        x = tl.load(at, mask=on, other=0)\n"
    "    else:\n"
    "        x = tl.load(at)\n"
    "    if TRANS:\n"
    "        x = tl.trans(x)\n"
    "    return x\n"
    "\n"
    "@triton.jit\n"
    "def product(A, B, D, C, M, N, K, sam, sak, sbk, sbn, scm, scn, P: tl.constexpr, BM: tl.constexpr, BN: "
    "tl.constexpr,\n"
    "            BK: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr, MASKED: tl.constexpr, TA: "
    "tl.constexpr,\n"
    "            TB: tl.constexpr, CHAIN: tl.constexpr, LIMIT: tl.constexpr):\n"
    "    m = tl.program_id(0) * BM + tl.arange(0, BM)\n"
    "    n = tl.program_id(1) * BN + tl.arange(0, BN)\n"
    "    acc = tl.zeros((BM, BN), dtype=ACC)\n"
    "    for k in range(0, K, BK):\n"
    "        i = k + tl.arange(0, BK)\n"
    "        x = fetch(A, m, i, sam, sak, M, K, MASKED, TA)\n"
    "        y = fetch(B, i, n, sbk, sbn, K, N, MASKED, TB)\n"
    "        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=ACC, max_num_imprecise_acc=LIMIT)\n"
    "    if CHAIN:\n"
    "        n = tl.arange(0, P)\n"
    "        d = tl.load(D + tl.arange(0, BN)[:, None] * P + n[None, :])\n"
    "        out = tl.dot(acc.to(A.dtype.element_ty), d, input_precision=PRECISION, out_dtype=ACC)\n"
    "        tl.store(C + m[:, None] * scm + n[None, :] * scn, out, mask=(m[:, None] < M) & (n[None, :] < "
    "P))\n"
    "    elif MASKED:\n"
    "        tl.store(C + m[:, None] * scm + n[None, :] * scn, acc, mask=(m[:, None] < M) & (n[None, :] < "
    "N))\n"
    "    else:\n"
    "        tl.store(C + m[:, None] * scm + n[None, :] * scn, acc)\n"
    "\n"
    "@triton.jit\n"
    "def batched(A, B, D, C, M, N, K, sam, sak, sbk, sbn, scm, scn, P: tl.constexpr, BM: tl.constexpr, BN: "
    "tl.constexpr,\n"
    "            BK: tl.constexpr, ACC: tl.constexpr, PRECISION: tl.constexpr, MASKED: tl.constexpr, TA: "
    "tl.constexpr,\n"
    "            TB: tl.constexpr, CHAIN: tl.constexpr, LIMIT: tl.constexpr):\n"
    "    z = tl.arange(0, P)[:, None, None]\n"
    "    m = tl.arange(0, BM)\n"
    "    n = tl.arange(0, BN)\n"
    "    i = tl.arange(0, BK)\n"
    "    x = tl.load(A + z * M * K + m[None, :, None] * sam + i[None, None, :] * sak,\n"
    "                mask=(m[None, :, None] < M) & (i[None, None, :] < K), other=0)\n"
    "    y = tl.load(B + z * K * N + i[None, :, None] * sbk + n[None, None, :] * sbn,\n"
    "                mask=(i[None, :, None] < K) & (n[None, None, :] < N), other=0)\n"
    "    acc = tl.dot(x, y, input_precision=PRECISION, out_dtype=ACC)\n"
    "    tl.store(C + z * M * N + m[None, :, None] * scm + n[None, None, :] * scn, acc,\n"
    "             mask=(m[None, :, None] < M) & (n[None, None, :] < N))\n";

/* -- a case -- */

struct type_choice {
    enum dtype a, b, acc;
    const char *precision;
    /* each operand is an integer with an absolute value of at most `grid`, divided by `over`; all formats represent
     * this quotient exactly */
    int grid;
    double over;
};

static const struct type_choice types[] = {
    {DT_f16, DT_f16, DT_f32, "tf32", 16, 8},    {DT_bf16, DT_bf16, DT_f32, "tf32", 16, 8},
    {DT_f16, DT_f16, DT_f16, "tf32", 2, 2},     {DT_f32, DT_f32, DT_f32, "tf32", 16, 8},
    {DT_f32, DT_f32, DT_f32, "ieee", 16, 8},    {DT_i8, DT_i8, DT_i32, "tf32", 127, 1},
    {DT_f8e4, DT_f8e4, DT_f32, "tf32", 8, 4},   {DT_f8e5, DT_f8e5, DT_f32, "tf32", 4, 2},
    {DT_f8e4, DT_f8e5, DT_f32, "tf32", 4, 2},   {DT_f8e5, DT_f8e5, DT_f16, "tf32", 1, 1},
    {DT_f64, DT_f64, DT_f64, "tf32", 1000, 64}, {DT_f32, DT_f32, DT_f32, "tf32x3", 16, 8},
};
enum { NTYPES = sizeof types / sizeof types[0] };

struct dot_case {
    const struct type_choice *t;
    /* `p` is the number of columns of a chain's second product, or the number of batches */
    int m, n, k, bm, bn, bk, p;
    int sam, sak, sbk, sbn, scm, scn;
    bool masked, ta, tb, chain, batch, arbitrary;
    int warps, stages, limit; /* `limit` is max_num_imprecise_acc */
};

static uint64_t state;
static uint64_t bits(void)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t x = state;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

static int below(int n)
{
    return (int)(bits() % (uint64_t)n);
}

static int block(int most)
{
    int size = 16 << below(5);
    return size < most ? size : most;
}

/* Chooses the strides of a row-major or column-major matrix, sometimes with a gap between rows or columns. */
static void choose_strides(int rows, int columns, int *row, int *column)
{
    static const int gaps[] = {0, 0, 0, 8, 16, 1, 3};
    int gap = gaps[below(7)];
    bool by_columns = below(3) == 0;
    *row = by_columns ? 1 : columns + gap;
    *column = by_columns ? rows + gap : 1;
}

static int size_for(const struct dot_case *c, int blk, int most)
{
    int nblocks = 1 + below(most / blk > 3 ? 3 : most / blk > 0 ? most / blk : 1);
    int n = nblocks * blk;
    if (c->masked && below(4))
        n -= below(blk < n ? blk : n - 1);
    return n;
}

static void make_case(struct dot_case *c, int index, bool small)
{
    state = (uint64_t)index * 0xD1342543DE82EF95u + (small ? 1 : 2);
    *c = (struct dot_case){.t = &types[below(NTYPES)]};
    c->masked = below(3) > 0;
    c->batch = below(8) == 0;
    c->chain = !c->batch && below(5) == 0;
    c->ta = below(5) == 0;
    c->tb = below(5) == 0;
    c->arbitrary =
        below(4) == 0 && !c->chain && dtype_info[c->t->a].bits >= 16 && strcmp(c->t->precision, "ieee") == 0;
    c->warps = 1 << below(4);
    c->stages = 1 + below(4);
    int most = small || c->batch ? 64 : 256;
    c->bm = block(most);
    c->bn = block(most);
    c->bk = block(small ? 32 : c->batch ? 64 : 128);
    bool narrow = dtype_info[c->t->a].bits == 8;
    if (narrow && c->bk < 32)
        c->bk = 32;
    bool exact = c->t->a == DT_f64 || strcmp(c->t->precision, "tf32") != 0;
    if (exact) { /* limit K, because one block contains all of K and must fit into registers */
        c->bm = c->bm > 64 ? 64 : c->bm;
        c->bn = c->bn > 64 ? 64 : c->bn;
        c->bk = c->bk > 32 ? 32 : c->bk;
    }
    while (c->bm * c->bn > 32 * 32 * 8 * c->warps) /* limit the number of registers of the accumulator */
        *(c->bm > c->bn ? &c->bm : &c->bn) /= 2;
    while (c->batch && c->bm * c->bn > 32 * 32 * 2 * c->warps && (c->bm > 16 || c->bn > 16))
        *(c->bm > c->bn ? &c->bm : &c->bn) /= 2;
    if (c->chain && narrow && c->bn < 32)
        c->bn = 32;
    c->limit = below(2) ? c->bk >> below(3) : 0;
    c->p = c->batch ? 1 << below(3) : 16 << below(2);
    c->m = size_for(c, c->bm, c->batch ? c->bm : small ? 96 : 512);
    c->n = size_for(c, c->bn, c->batch || c->chain ? c->bn : small ? 96 : 512);
    c->k = size_for(c, c->bk, c->batch ? c->bk : small ? 96 : 300);
    choose_strides(c->m, c->k, &c->sam, &c->sak);
    choose_strides(c->k, c->n, &c->sbk, &c->sbn);
    choose_strides(c->m, c->chain ? c->p : c->n, &c->scm, &c->scn);
    if (c->batch) {
        c->ta = c->tb = false;
        c->sam = c->k, c->sak = 1, c->sbk = c->n, c->sbn = 1, c->scm = c->n, c->scn = 1;
    }
}

static void describe(const struct dot_case *c)
{
    printf("%s %s x %s -> %s %s  %dx%dx%d of %dx%dx%d%s  A %d,%d%s  B %d,%d%s  C %d,%d  %d warps %d "
           "stages%s%s\n",
           c->batch   ? "batched"
           : c->chain ? "chained"
                      : "plain",
           dtype_info[c->t->a].word, dtype_info[c->t->b].word, dtype_info[c->t->acc].word, c->t->precision,
           c->m, c->n, c->k, c->bm, c->bn, c->bk,
           c->batch || c->chain ? c->p == 1 ? " by 1" : " by more" : "", c->sam, c->sak,
           c->ta ? " trans" : "", c->sbk, c->sbn, c->tb ? " trans" : "", c->scm, c->scn, c->warps, c->stages,
           c->masked ? " masked" : "", c->arbitrary ? " arbitrary" : "");
}

/* -- data -- */

enum { SENTINEL = 0x5a };

/* A tensor: its bits in memory, and its values in double precision. */
struct tensor {
    enum dtype dt;
    size_t n;
    char *bytes;
    double *x;
    uint64_t at; /* its address on the device */
};

static void tensor_new(struct tensor *t, enum dtype dt, size_t n)
{
    t->dt = dt;
    t->n = n;
    t->bytes = malloc(n * (size_t)dtype_info[dt].bytes);
    t->x = calloc(n, sizeof *t->x);
    if (!t->bytes || !t->x)
        exit(2);
}

static double value_of(enum dtype dt, uint64_t b)
{
    if (dtype_info[dt].kind == DTYPE_float)
        return bits_to_double(dt, b);
    return dt == DT_i8 ? (int8_t)b : (int32_t)b;
}

static double rounded(enum dtype dt, double x)
{
    return dtype_info[dt].kind == DTYPE_float ? bits_to_double(dt, double_to_bits(dt, x))
                                              : (double)(int8_t)(int64_t)x;
}

static void tensor_fill(struct tensor *t, const struct dot_case *c)
{
    int grid = c->chain && t->dt != DT_i8 ? 1 : c->t->grid;
    double over = c->chain ? 1 : c->t->over;
    size_t bytes = (size_t)dtype_info[t->dt].bytes;
    for (size_t i = 0; i < t->n; i++) {
        double x =
            c->arbitrary ? (double)(int64_t)bits() * 0x1p-63 : (double)(below(2 * grid + 1) - grid) / over;
        uint64_t b = dtype_info[t->dt].kind == DTYPE_float ? double_to_bits(t->dt, x) : (uint64_t)(int64_t)x;
        memcpy(t->bytes + i * bytes, &b, bytes);
        t->x[i] = value_of(t->dt, b);
    }
}

static size_t extent(int rows, int columns, int sr, int sc)
{
    return (size_t)(rows - 1) * (size_t)sr + (size_t)(columns - 1) * (size_t)sc + 1;
}

/* -- the oracle: the expected results, and the sums of the absolute values of products, which determine the error
 * bounds -- */

struct oracle {
    double *want, *size;
    bool *inside; /* for each element: whether the kernel writes it */
};

static void multiply(const struct dot_case *c, const double *a, const double *b, double *sum, double *size)
{
    for (int i = 0; i < c->m; i++)
        for (int j = 0; j < c->n; j++) {
            double s = 0, z = 0;
            for (int k = 0; k < c->k; k++) {
                double x = a[(size_t)i * (size_t)c->sam + (size_t)k * (size_t)c->sak] *
                           b[(size_t)k * (size_t)c->sbk + (size_t)j * (size_t)c->sbn];
                s += x;
                z += fabs(x);
            }
            sum[(size_t)i * (size_t)c->n + (size_t)j] = s;
            size[(size_t)i * (size_t)c->n + (size_t)j] = z;
        }
}

static void expect(const struct dot_case *c, const struct tensor *a, const struct tensor *b,
                   const struct tensor *d, struct oracle *o)
{
    int nbatches = c->batch ? c->p : 1, columns = c->chain ? c->p : c->n;
    size_t area = (size_t)c->m * (size_t)c->n;
    double *sum = malloc(area * sizeof *sum), *size = malloc(area * sizeof *size);
    if (!sum || !size)
        exit(2);
    for (int z = 0; z < nbatches; z++) {
        multiply(c, a->x + (size_t)z * (size_t)(c->m * c->k), b->x + (size_t)z * (size_t)(c->k * c->n), sum,
                 size);
        for (int i = 0; i < c->m; i++)
            for (int j = 0; j < columns; j++) {
                size_t at = (size_t)z * area + (size_t)i * (size_t)c->scm + (size_t)j * (size_t)c->scn;
                double x = 0;
                for (int k = 0; c->chain && k < c->n; k++)
                    x += rounded(c->t->a, sum[i * c->n + k]) * d->x[k * c->p + j];
                o->want[at] = c->chain ? x : sum[i * c->n + j];
                o->size[at] = c->chain ? 0 : size[i * c->n + j];
                o->inside[at] = true;
            }
    }
    free(sum);
    free(size);
}

/* -- running -- */

static int passed, failed, refused;
static const char *target; /* the target to compile for; NULL: the device's */

static void specialise(char **at, const char *end, int value)
{
    *at += snprintf(*at, (size_t)(end - *at), ", i32%s", value % 16 == 0 ? ":16" : "");
}

static void signature_of(const struct dot_case *c, char *at, const char *end)
{
    static const char *const words[DT_count] = {
        [DT_i8] = "i8",    [DT_i32] = "i32",   [DT_f8e4] = "fp8e4nv", [DT_f8e5] = "fp8e5",
        [DT_f16] = "fp16", [DT_bf16] = "bf16", [DT_f32] = "fp32",     [DT_f64] = "fp64"};
    static const char *const sums[DT_count] = {
        [DT_i32] = "tl.int32", [DT_f16] = "tl.float16", [DT_f32] = "tl.float32", [DT_f64] = "tl.float64"};
    at += snprintf(at, (size_t)(end - at), "*%s:16, *%s:16, *%s:16, *%s:16", words[c->t->a], words[c->t->b],
                   words[c->t->b], words[c->t->acc]);
    const int numbers[] = {c->m, c->n, c->k, c->sam, c->sak, c->sbk, c->sbn, c->scm, c->scn};
    for (int i = 0; i < 9; i++)
        if (numbers[i] == 1)
            at += snprintf(at, (size_t)(end - at), ", 1");
        else
            specialise(&at, end, numbers[i]);
    snprintf(at, (size_t)(end - at), ", %d, %d, %d, %d, %s, '%s', %s, %s, %s, %s, %d", c->p, c->bm, c->bn,
             c->bk, sums[c->t->acc], c->t->precision, c->masked ? "True" : "False", c->ta ? "True" : "False",
             c->tb ? "True" : "False", c->chain ? "True" : "False", c->limit);
}

static void give(neso_context *ctx, struct tensor *t)
{
    size_t bytes = t->n * (size_t)dtype_info[t->dt].bytes;
    if (neso_memory_allocate(ctx, bytes, &t->at) != NESO_OK ||
        neso_memory_write(ctx, t->at, t->bytes, bytes) != NESO_OK) {
        printf("%s\n", neso_error_text(ctx));
        exit(2);
    }
}

static void drop(neso_context *ctx, struct tensor *t)
{
    if (t->at)
        neso_memory_release(ctx, t->at);
    free(t->bytes);
    free(t->x);
}

/* Returns whether the results are right; if not, prints the first wrong element. */
static bool compare(const struct dot_case *c, const struct tensor *r, const struct oracle *o)
{
    size_t bytes = (size_t)dtype_info[r->dt].bytes;
    double eps = c->t->acc == DT_f64 ? 0x1p-53 : c->t->acc == DT_f16 ? 0x1p-11 : 0x1p-24;
    for (size_t i = 0; i < r->n; i++) {
        uint64_t b = 0;
        memcpy(&b, r->bytes + i * bytes, bytes);
        double got = value_of(r->dt, b), bound = c->arbitrary ? (c->k + 2) * eps * o->size[i] : 0;
        bool untouched = true;
        for (size_t k = 0; k < bytes; k++)
            untouched = untouched && (unsigned char)(b >> 8 * k) == SENTINEL;
        if (o->inside[i] ? fabs(got - o->want[i]) <= bound : untouched)
            continue;
        if (o->inside[i])
            printf("element %zu is %.17g, expected %.17g\n", i, got, o->want[i]);
        else
            printf("element %zu, which is outside, was written\n", i);
        return false;
    }
    return true;
}

/* Launches a case. Returns 0 if the result is right, 1 if it is wrong, and 2 if the kernel is too large for the
 * target. */
static int launch(neso_context *ctx, neso_module *module, const struct dot_case *c, struct tensor t[4],
                  const struct oracle *o)
{
    char signature[512];
    signature_of(c, signature, signature + sizeof signature);
    neso_compile_options options = {.size = sizeof options,
                                    .target = target,
                                    .signature = signature,
                                    .num_warps = c->warps,
                                    .num_stages = c->stages};
    neso_kernel *kernel = NULL;
    if (neso_kernel_compile(module, c->batch ? "batched" : "product", &options, &kernel) != NESO_OK) {
        neso_diagnostic first = {.size = sizeof first};
        if (neso_diagnostic_get(ctx, 0, &first) && strcmp(first.tag, "shared-too-large") == 0 && first.line)
            return 2;
        printf("%s\n", neso_error_text(ctx));
        return 1;
    }
    int numbers[] = {c->m, c->n, c->k, c->sam, c->sak, c->sbk, c->sbn, c->scm, c->scn};
    const void *args[13];
    int n = 0;
    for (int i = 0; i < 4; i++)
        args[n++] = &t[i].at;
    for (int i = 0; i < 9; i++)
        if (numbers[i] != 1)
            args[n++] = &numbers[i];
    neso_error error = {.size = sizeof error};
    uint32_t grid[3] = {c->batch ? 1 : (uint32_t)((c->m + c->bm - 1) / c->bm),
                        c->batch ? 1 : (uint32_t)((c->n + c->bn - 1) / c->bn), 1};
    int status = 1;
    bool launched = neso_launch(kernel, grid, NULL, args, &error) == NESO_OK;
    /* the fallback without tensor maps may need more shared memory than the GPU has */
    if (!launched && strstr(error.message, "does not fit the GPU"))
        status = 2;
    else if (!launched)
        printf("%s\n", error.message);
    else if (neso_memory_read(ctx, t[3].bytes, t[3].at, t[3].n * (size_t)dtype_info[t[3].dt].bytes) !=
             NESO_OK)
        printf("%s\n", neso_error_text(ctx));
    else
        status = !compare(c, &t[3], o);
    neso_kernel_release(kernel);
    return status;
}

static int run_case(neso_context *ctx, neso_module *module, const struct dot_case *c)
{
    struct tensor t[4] = {{.n = 0}};
    size_t nbatches = c->batch ? (size_t)c->p : 1;
    tensor_new(&t[0], c->t->a,
               c->batch ? nbatches * (size_t)(c->m * c->k) : extent(c->m, c->k, c->sam, c->sak));
    tensor_new(&t[1], c->t->b,
               c->batch ? nbatches * (size_t)(c->k * c->n) : extent(c->k, c->n, c->sbk, c->sbn));
    tensor_new(&t[2], c->t->b, (size_t)(c->bn * c->p));
    tensor_new(&t[3], c->t->acc,
               c->batch ? nbatches * (size_t)(c->m * c->n)
                        : extent(c->m, c->chain ? c->p : c->n, c->scm, c->scn));
    for (int i = 0; i < 3; i++)
        tensor_fill(&t[i], c);
    memset(t[3].bytes, SENTINEL, t[3].n * (size_t)dtype_info[t[3].dt].bytes);
    for (int i = 0; i < 4; i++)
        give(ctx, &t[i]);
    struct oracle o = {calloc(t[3].n, sizeof(double)), calloc(t[3].n, sizeof(double)),
                       calloc(t[3].n, sizeof(bool))};
    if (!o.want || !o.size || !o.inside)
        exit(2);
    expect(c, &t[0], &t[1], &t[2], &o);
    int status = launch(ctx, module, c, t, &o);
    for (int i = 0; i < 4; i++)
        drop(ctx, &t[i]);
    free(o.want);
    free(o.size);
    free(o.inside);
    return status;
}

static neso_status use_device(neso_context *ctx, const char *device)
{
    char name[32];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(device, "/"), device);
    return neso_context_use_device(ctx, name, NULL);
}

int main(int argc, char **argv)
{
    char *device = argc > 1 ? argv[1] : "", *slash = strchr(device, '/');
    if (slash)
        target = slash + 1;
    bool one = argc > 3 && strcmp(argv[2], "case") == 0, small = strcmp(argv[argc - 1], "small") == 0;
    int count = argc > 2 ? atoi(argv[one ? 3 : 2]) : 0, first = one ? count : 0;
    /* run cases FROM to COUNT - 1, so that several processes can share the work */
    if (argc > 4 && strcmp(argv[3], "from") == 0)
        first = atoi(argv[4]);
    neso_context *ctx = NULL;
    neso_module *module = NULL;
    if (argc < 3 || neso_context_create(NULL, &ctx) != NESO_OK || use_device(ctx, device) != NESO_OK ||
        neso_module_from_source(ctx, "dots.py", source, sizeof source - 1, &module) != NESO_OK) {
        printf("%s", ctx ? neso_error_text(ctx) : "usage: dots DEVICE COUNT [from N]|case N [small]\n");
        return 2;
    }
    for (int i = first; i < (one ? first + 1 : count); i++) {
        struct dot_case c;
        make_case(&c, i, small);
        if (one)
            describe(&c);
        int status = run_case(ctx, module, &c);
        passed += status == 0;
        failed += status == 1;
        refused += status == 2;
        if (status == 1 && !one) {
            printf("FAILED: dots %s case %d%s: ", argv[1], i, small ? " small" : "");
            describe(&c);
        }
    }
    neso_module_release(module);
    neso_context_release(ctx);
    printf("%d too large for this device\n%d passed, %d failed\n", refused, passed, failed);
    return failed > 0 || passed + refused == 0;
}
