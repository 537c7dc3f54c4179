/* SPDX-License-Identifier: MIT */
/* ptx.c (test): runs two hand-written PTX kernels of tests/ptx/ in the emulator: matmul (a TMA ring, multicast in a
 * cluster, wgmma, stores that overlap the next tile) and attention (with the same features, and A in registers). The
 * emulator must give right results and no report. Then the test inserts faults into the kernels, one at a time; the
 * emulator must report each of them at the right line. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { PTX_MOST = 1 << 19, ELEMS_MOST = 1 << 19, PAGE = 4096 };

static const struct memory memory = {world_alloc, world_release, NULL};

/* -- reading PTX from a file, and changing it -- */

struct program {
    char text[PTX_MOST];
    int line; /* the number of the line that is changed */
};

static struct program source;

static void read_source(const char *name)
{
    char path[512];
    const char *root = getenv("NESO_ROOT");
    snprintf(path, sizeof path, "%s/tests/ptx/%s.ptx", root ? root : ".", name);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    size_t n = f ? fread(source.text, 1, sizeof source.text - 1, f) : 0;
    source.text[n] = 0;
    source.line = 0;
    if (f)
        fclose(f);
}

/* -- a launch -- */

static _Alignas(PAGE) uint16_t tensors[4][ELEMS_MOST];
static struct packed_map maps[4] __attribute__((aligned(64)));

static struct packed_map map_of(const void *base, int rank, const int *extents, uint64_t pitch,
                                const int *box)
{
    struct packed_map m = {
        .magic = MAP_MAGIC, .type = MAP_f16, .rank = (uint8_t)rank, .swizzle = SWIZZLE_128};
    m.base = (uint64_t)(uintptr_t)base;
    for (int d = 0; d < rank; d++) {
        m.extent[d] = (uint64_t)extents[d];
        m.box[d] = (uint16_t)box[d];
        m.step[d] = 1;
        if (d > 0)
            m.stride[d - 1] = d == 1 ? pitch : m.stride[d - 2] * (uint64_t)extents[d - 1];
    }
    return m;
}

static int by_base(const void *a, const void *b)
{
    const struct cpu_buffer *x = a, *y = b;
    return x->base < y->base ? -1 : x->base > y->base;
}

/* A fault in a tensor map: a wrong value in one field. */
struct map_fault {
    int map;
    enum {
        FAULT_none,
        FAULT_row,
        FAULT_extent,
        FAULT_pitch,
        FAULT_base,
        FAULT_box,
        FAULT_columns,
        FAULT_swizzle,
        FAULT_nan
    } what;
    uint64_t value;
    int expected; /* the line at which the emulator must report the fault */
    enum error error;
    const char *said;
};
static struct map_fault map_fault;

static void spoil_map(const struct map_fault *f)
{
    struct packed_map *m = &maps[f->map];
    switch (f->what) {
    case FAULT_row: m->extent[0] -= f->value; break;
    case FAULT_extent: m->extent[1] = f->value; break;
    case FAULT_pitch: m->stride[0] += f->value; break;
    case FAULT_base: m->base += f->value; break;
    case FAULT_box: m->box[1] = (uint16_t)f->value; break;
    case FAULT_columns: m->box[0] = (uint16_t)f->value; break;
    case FAULT_swizzle: m->swizzle = (uint8_t)f->value; break;
    case FAULT_nan: m->type = (uint8_t)f->value, m->fills_nan = true; break;
    default: break;
    }
}

static struct emu_report launch(const uint64_t *args, int grid, int shared_bytes, struct cpu_buffer *buffers,
                                int nbuffers)
{
    struct emu_report r = {0};
    struct arena a;
    spoil_map(&map_fault);
    arena_init(&a, &memory, 0, world_fail, NULL);
    const struct emu_code *code = emulator_load(&a, source.text, strlen(source.text), &r);
    qsort(buffers, (size_t)nbuffers, sizeof *buffers, by_base);
    struct emu_launch l = {.grid = {grid, 1, 1},
                           .args = args,
                           .buffers = buffers,
                           .nbuffers = nbuffers,
                           .shared_bytes = shared_bytes,
                           .mem = &memory};
    if (code && !emulator_run(code, &l))
        r = l.report;
    arena_free(&a);
    return r;
}

/* Fills x with pseudorandom numbers from -1 to 1. */
static void fill(uint16_t *x, int n, uint32_t seed)
{
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        x[i] = emu_half_round(PT_f16, ((double)(seed >> 8) / (1 << 23)) - 1);
    }
}

static double at(const uint16_t *x, int i)
{
    return emu_half_value(PT_f16, x[i]);
}

/* -- matmul: C = A B -- */

static struct emu_report run_matmul(int m, int n, int k, int grid)
{
    uint64_t args[] = {(uint64_t)(uintptr_t)&maps[0],
                       (uint64_t)(uintptr_t)&maps[1],
                       (uint64_t)(uintptr_t)&maps[2],
                       (uint64_t)m,
                       (uint64_t)n,
                       (uint64_t)k};
    maps[0] = map_of(tensors[0], 2, (int[]){k, m}, 2 * (uint64_t)k, (int[]){64, 128});
    maps[1] = map_of(tensors[1], 2, (int[]){n, k}, 2 * (uint64_t)n, (int[]){64, 64});
    maps[2] = map_of(tensors[2], 2, (int[]){n, m}, 2 * (uint64_t)n, (int[]){64, 64});
    struct cpu_buffer buffers[] = {{maps[0].base, (uint64_t)(2 * m * k), "a", NULL, NULL},
                                   {maps[1].base, (uint64_t)(2 * k * n), "b", NULL, NULL},
                                   {maps[2].base, (uint64_t)(2 * m * n), "c", NULL, NULL}};
    fill(tensors[0], m * k, 1);
    fill(tensors[1], k * n, 2);
    memset(tensors[2], 0xff, sizeof tensors[2]);
    return launch(args, grid, 229440, buffers, 3);
}

static void check_matmul(int m, int n, int k, int grid)
{
    read_source("matmul_sm90a");
    struct emu_report r = run_matmul(m, n, k, grid);
    if (r.error != ERR_count)
        test_fail(__FILE__, __LINE__, r.what);
    double worst = 0;
    for (int i = 0; i < m; i += 7)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int x = 0; x < k; x++)
                sum += at(tensors[0], i * k + x) * at(tensors[1], x * n + j);
            double error = fabs(sum - at(tensors[2], i * n + j));
            worst = error > worst || error != error ? error : worst;
        }
    CHECK(worst < 0.02);
    CHECK_INT(tensors[2][m * n], 0xffff);
}

TEST(clean_matmul)
{
    check_matmul(256, 256, 64, 2);
    check_matmul(300, 328, 200, 2);
}

/* -- attention: 3D tensors (128, n, heads); lse is log2 of the sum of exponentials -- */

enum { WIDTH = 128 };
static _Alignas(PAGE) float lse[4096];
static _Alignas(PAGE) uint32_t counts[4];

static struct emu_report run_attention(int n, int heads, int grid)
{
    float scale = 0.125f * 1.44269504f;
    uint32_t scale_bits;
    memcpy(&scale_bits, &scale, sizeof scale_bits);
    struct cpu_buffer buffers[6];
    const char *names[] = {"q", "k", "v", "o"};
    for (int i = 0; i < 4; i++) {
        maps[i] = map_of(tensors[i], 3, (int[]){WIDTH, n, heads}, 2 * WIDTH,
                         (int[]){64, i == 1 || i == 2 ? 128 : 64, 1});
        buffers[i] =
            (struct cpu_buffer){maps[i].base, (uint64_t)(2 * WIDTH * n * heads), names[i], NULL, NULL};
        fill(tensors[i], WIDTH * n * heads, (uint32_t)i + 1);
    }
    memset(tensors[3], 0xff, sizeof tensors[3]);
    memset(counts, 0, sizeof counts);
    uint64_t args[] = {(uint64_t)(uintptr_t)&maps[0],
                       (uint64_t)(uintptr_t)&maps[1],
                       (uint64_t)(uintptr_t)&maps[2],
                       (uint64_t)(uintptr_t)&maps[3],
                       (uint64_t)(uintptr_t)lse,
                       (uint64_t)(uintptr_t)counts,
                       (uint64_t)n,
                       (uint64_t)heads,
                       (uint64_t)heads,
                       scale_bits};
    buffers[4] = (struct cpu_buffer){args[4], sizeof *lse * (uint64_t)(n * heads), "lse", NULL, NULL};
    buffers[5] = (struct cpu_buffer){args[5], 8, "count", NULL, NULL};
    return launch(args, grid, 229888, buffers, 6);
}

/* Returns the error of one row of one head, relative to a computation in double precision. */
static double attention_error(int n, int head, int row)
{
    const uint16_t *q = tensors[0] + (head * n + row) * WIDTH, *k = tensors[1] + head * n * WIDTH,
                   *v = tensors[2] + head * n * WIDTH, *o = tensors[3] + (head * n + row) * WIDTH;
    double out[WIDTH] = {0}, sum = 0, worst = 0;
    for (int i = 0; i < n; i++) {
        double score = 0;
        for (int x = 0; x < WIDTH; x++)
            score += at(q, x) * at(k, i * WIDTH + x);
        double p = exp(0.125 * score);
        sum += p;
        for (int x = 0; x < WIDTH; x++)
            out[x] += p * at(v, i * WIDTH + x);
    }
    for (int x = 0; x < WIDTH; x++) {
        double error = fabs(out[x] / sum - at(o, x));
        worst = error > worst || error != error ? error : worst;
    }
    return worst;
}

static void check_attention(int n, int heads, int grid)
{
    read_source("attention_sm90a");
    struct emu_report r = run_attention(n, heads, grid);
    if (r.error != ERR_count)
        test_fail(__FILE__, __LINE__, r.what);
    double worst = 0;
    for (int head = 0; head < heads; head++)
        for (int row = 0; row < n; row += 9) {
            double error = attention_error(n, head, row);
            worst = error > worst || error != error ? error : worst;
        }
    CHECK(worst < 0.004);
    CHECK_INT(tensors[3][WIDTH * n * heads], 0xffff);
}

TEST(clean_attention)
{
    check_attention(128, 1, 1);
    check_attention(200, 3, 2);
    check_attention(400, 1, 1);
}

/* -- faults: `from` in line `line` is replaced by `to`, or the whole line is deleted; the report must name line
 * `expected` -- */

struct sown {
    int line;
    const char *from, *to; /* from = NULL: the whole line is replaced; to = NULL: the line is deleted */
    int expected;
    enum error error;
    const char *what; /* a text that the report must contain */
};

static char *line_start(int line)
{
    char *s = source.text;
    while (--line)
        s = strchr(s, '\n') + 1;
    return s;
}

static void sow(const struct sown *f)
{
    char *at = line_start(f->line), *end = strchr(at, '\n');
    if (!f->from) {
        at[0] = at[1] = '/';
        return;
    }
    char *from = strstr(at, f->from);
    CHECK(from && from < end);
    size_t cut = strlen(f->from), put = strlen(f->to);
    memmove(from + put, from + cut, strlen(from + cut) + 1);
    memcpy(from, f->to, put);
}

static void check_fault(const struct sown *f, struct emu_report r)
{
    char found[400], expected[200];
    snprintf(found, sizeof found, "%s at %d", error_tag(r.error) ? error_tag(r.error) : "nothing",
             r.ptx_line);
    snprintf(expected, sizeof expected, "%s at %d", error_tag(f->error), f->expected);
    if (strcmp(found, expected) != 0 || !strstr(r.what, f->what)) {
        char where[800];
        snprintf(where, sizeof where, "fault at line %d: %s: %s", f->line, found, r.what);
        test_fail(__FILE__, __LINE__, where);
    }
    CHECK_STR(found, expected);
}

/* clang-format off */
static const struct sown matmul_faults[] = {
    /* without fence.mbarrier_init */
    {91,  NULL, NULL,                               146, ERR_emulator_race, "initialize"},
    /* without the cluster's barrier */
    {115, NULL, NULL,                               146, ERR_emulator_barrier, "no mbarrier"},
    /* wrong count of empty[0] */
    {84,  "], 4", "], 5",                           146, ERR_emulator_barrier, "1 of 5 arrivals"},
    /* wrong count of full[0] */
    {83,  "], 1", "], 2",                           146, ERR_emulator_barrier, "never ends"},
    /* wrong parity of the producer */
    {144, "1;", "0;",                               146, ERR_emulator_barrier, "never ends"},
    /* without the loop around try_wait */
    {147, NULL, NULL,                               148, ERR_emulator_barrier, "arrivals"},
    /* wrong number of expected bytes */
    {148, "49152", "49168",                         148, ERR_emulator_barrier, "16 never come"},
    {148, "49152", "65536",                         148, ERR_emulator_barrier, "16384 never come"},
    {148, "49152", "32768",                         148, ERR_emulator_barrier, "more than"},
    {150, "+ 0", "+ 64",                            150, ERR_misaligned, "no multiple of 128"},
    {150, "%kc", "4",                               150, ERR_misaligned, "a box from byte 8 of rows"},
    {153, "65536", "65544",                         153, ERR_misaligned, "no multiple of 128"},
    {153, "65536", "229376",                        153, ERR_out_of_bounds, ""},
    /* without a copy */
    {155, NULL, NULL,                               148, ERR_emulator_barrier, "never come"},
    {153, ".multicast::cluster", "",                153, ERR_emulator_ptx, "unknown instruction"},
    /* wrong parity of a consumer */
    {248, "%phase", "1",                            257, ERR_emulator_race, ""},
    {248, "%phase", "2",                            248, ERR_emulator_ptx, "operand 3 is 2"},
    {252, NULL, NULL,                               257, ERR_emulator_race, "without a wgmma.fence"},
    /* without the commit of k-step 0 */
    {273, NULL, NULL,                               150, ERR_emulator_race, "wgmma"},
    /* without the wait before a stage is freed */
    {351, NULL, NULL,                               150, ERR_emulator_race, "wgmma"},
    /* without the arrival that frees a stage */
    {352, NULL, NULL,                               146, ERR_emulator_barrier, "arrivals"},
    {620, NULL, NULL,                               622, ERR_emulator_race, "wgmma writes"},
    {620, "0;", "1;",                               622, ERR_emulator_race, "wgmma writes"},
    {282, NULL, NULL,                               288, ERR_emulator_race, "fence.proxy.async"},
    {284, NULL, NULL,                               288, ERR_emulator_undefined, ""},
    /* without the wait before a buffer's reuse */
    {342, NULL, NULL,                               403, ERR_emulator_race, "store"},
    {717, NULL, NULL,                               722, ERR_emulator_race, "fence.proxy.async"},
    {718, NULL, NULL,                               701, ERR_emulator_race, "store"},
    {721, "%cm0, 0", "%cm0, -512",                  722, ERR_out_of_bounds, "along dimension 1, which only a load may"},
    {735, NULL, NULL,                               731, ERR_emulator_race, "the CTA ends"},
    /* without the commit of the stores */
    {732, NULL, NULL,                               731, ERR_emulator_race, "the CTA ends"},
    {694, NULL, NULL,                               705, ERR_emulator_race, "wgmma"},
    {236, "256", "512",                             236, ERR_emulator_barrier, "512 of 384"},
    {357, NULL, NULL,                               146, ERR_emulator_barrier, "never ends"},
    {192, "232", "236",                             192, ERR_emulator_ptx, "steps of 8"},
    {192, "232", "64",                              193, ERR_emulator_ptx, "registers are live, and the warp keeps 64"},
    {254, "1073741888", "64",                       257, ERR_emulator_swizzle, "128 bytes (line 150), and is read without"},
    {254, "1073741888", "2147483712",               257, ERR_emulator_swizzle, "a swizzle of 64 bytes"},
    {256, "1073741888", "3221225536",               257, ERR_emulator_swizzle, "a swizzle of 32 bytes"},
};

static const struct map_fault map_faults[] = {
    {2, FAULT_row,     4,                           474, ERR_misaligned, "writes on to the next"},
    {0, FAULT_extent,  (UINT64_C(1) << 31) + 1,     150, ERR_out_of_bounds, "the driver could not have made the tensor map"},
    {0, FAULT_base,    128,                         150, ERR_out_of_bounds, "which no tensor has"},
    {0, FAULT_pitch,   8,                           150, ERR_out_of_bounds, "the driver could not have made the tensor map"},
    {0, FAULT_base,    8,                           150, ERR_out_of_bounds, "the driver could not have made the tensor map"},
    {1, FAULT_box,     32,                          148, ERR_emulator_barrier, "never come"},
    {0, FAULT_swizzle, SWIZZLE_64,                  150, ERR_out_of_bounds, "the driver could not have made the tensor map"},
    {0, FAULT_nan,     MAP_u16,                     150, ERR_out_of_bounds, "the driver could not have made the tensor map"},
    {0, FAULT_columns, 32,                          150, ERR_emulator_swizzle, "narrower than the swizzle"},
    {0, FAULT_swizzle, SWIZZLE_none,                257, ERR_emulator_swizzle, "without a swizzle"},
    {1, FAULT_swizzle, SWIZZLE_none,                257, ERR_emulator_swizzle, "without a swizzle"},
};

static const struct sown attention_faults[] = {
    {357,  NULL, NULL,                              364, ERR_emulator_race, "without a wgmma.fence"},
    /* A in registers */
    {2857, NULL, NULL,                              2862, ERR_emulator_race, "without a wgmma.fence"},
    {408,  NULL, NULL,                              547, ERR_emulator_race, "wgmma writes"},
    {1099, NULL, NULL,                              1237, ERR_emulator_race, "wgmma writes"},
    {152,  "16384", "16400",                        152, ERR_emulator_barrier, "16 never come"},
    /* without the tile's number */
    {151,  NULL, NULL,                              317, ERR_emulator_undefined, ""},
    {3034, NULL, NULL,                              3038, ERR_emulator_race, "fence.proxy.async"},
    {3035, NULL, NULL,                              3038, ERR_emulator_undefined, ""},
    {2928, NULL, NULL,                              2942, ERR_emulator_race, "store"},
    {3044, NULL, NULL,                              3039, ERR_emulator_race, "the CTA ends"},
    {361,  "1073741888", "64",                      364, ERR_emulator_swizzle, "without a swizzle"},
};
/* clang-format on */

TEST(faults_in_matmul)
{
    for (size_t i = 0; i < sizeof matmul_faults / sizeof *matmul_faults; i++) {
        read_source("matmul_sm90a");
        sow(&matmul_faults[i]);
        check_fault(&matmul_faults[i], run_matmul(512, 256, 384, 2));
    }
}

TEST(faults_in_attention)
{
    for (size_t i = 0; i < sizeof attention_faults / sizeof *attention_faults; i++) {
        read_source("attention_sm90a");
        sow(&attention_faults[i]);
        check_fault(&attention_faults[i], run_attention(300, 2, 1));
    }
}

TEST(faults_in_maps)
{
    for (size_t i = 0; i < sizeof map_faults / sizeof *map_faults; i++) {
        const struct map_fault *f = &map_faults[i];
        struct sown nothing = {1, "", "", f->expected, f->error, f->said};
        read_source("matmul_sm90a");
        map_fault = *f;
        check_fault(&nothing, run_matmul(512, 256, 384, 2));
        map_fault = (struct map_fault){0};
    }
}
