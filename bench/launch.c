/* SPDX-License-Identifier: MIT */
/* launch.c: measures the time that neso_launch adds to cuLaunchKernel. neso_launch and cuLaunchKernel launch the same
 * kernel in the same context, alternately, on one thread and on several threads, each of which has its own stream. The
 * program prints the median and the best of many batches, in nanoseconds for each launch. A batch is short, so that
 * its launches fit in the driver's queue and no launch waits for an earlier one:
 *
 *     kernel  threads    driver      neso     added    (best)
 *     plain         1    1800.0    1950.0     150.0     140.0
 *
 * The kernel `plain` has 16 arguments. `maps` also needs tensor maps: neso_launch reads them from its cache, and the
 * launch through the driver passes maps that were encoded before. `fails` has guards, the last of which fails, so that
 * launches use another variant; neso_launch reads the result of the guards from its cache, too. The exit status is 1
 * if neso adds more than 500 ns (1,000 ns with maps) on one thread, or if a launch allocates memory. The bench needs a
 * CUDA driver. If LD_LIBRARY_PATH leads to the fake driver of the tests, which does nothing (tests/cli/driver/cuda.c),
 * the times are those of neso alone. */
#include "neso.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def plain(A, B, C, D, E, F, G, H, a, b, c, d, e, f, g, h):\n"
    "    if a + b + c + d + e + f + g + h == 77:\n"
    "        v = tl.load(A) + tl.load(B) + tl.load(C) + tl.load(D) + tl.load(E) + tl.load(F) + tl.load(G)\n"
    "        tl.store(H, v)\n"
    "\n"
    "@triton.jit\n"
    "def maps(A, B, C, D, E, F, G, H, M, N, K, sa, sb, sc, x, y):\n"
    "    m = tl.arange(0, 64)\n"
    "    n = tl.arange(0, 64)\n"
    "    acc = tl.zeros((64, 64), dtype=tl.float32)\n"
    "    for i in range(0, K, 32):\n"
    "        k = i + tl.arange(0, 32)\n"
    "        a = tl.load(A + m[:, None] * sa + k, mask=(m[:, None] < M) & (k < K), other=0.0)\n"
    "        b = tl.load(B + k[:, None] * sb + n, mask=(k[:, None] < K) & (n < N), other=0.0)\n"
    "        acc = tl.dot(a, b, acc)\n"
    "    tl.store(C + m[:, None] * sc + n, acc, mask=(m[:, None] < M) & (n < N))\n"
    "\n"
    "@triton.jit\n"
    "def fails(A, B, C, D, E, F, G, H, N, b, c, d, e, f, g, h):\n"
    "    total = 0.0\n"
    "    for i in range(0, N, 4):\n"
    "        k = i + tl.arange(0, 4)\n"
    "        total += tl.sum(tl.load(A + k, mask=k < N, other=0.0), axis=0)\n"
    "    tl.store(B + tl.program_id(0), total)\n"
    "    for i in range(0, N, 4):\n"
    "        k = i + tl.arange(0, 4)\n"
    "        tl.store(C + k, tl.load(A + k, mask=k < N, other=0.0) - total, mask=k < N)\n";

#define FLOATS                                                                                               \
    "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, "                       \
    "i32, i32, i32, i32, i32, i32, i32, i32"

static const struct {
    const char *name, *signature;
    double most_ns; /* the largest time that neso may add on one thread */
    int has_maps;
} kernels[] = {
    {"plain", FLOATS, 500, 0},
    {"fails", FLOATS, 500, 0},
    {"maps",
     "*fp16:16, *fp16:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, "
     "i32:16, i32:16, i32:16, i32:16, i32:16, i32:16, i32, i32",
     1000, 1},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

enum {
    ARGS = 16,
    MAPS = 16,
    MAP_BYTES = 128,
    SIDE = 64,
    BATCHES = 1501,
    LAUNCHES = 32,
    THREADS_MOST = 16,
    NON_BLOCKING = 1
};

/* The driver's functions that a program without neso would call. */
static struct {
    int (*push)(void *context);
    int (*retain)(void **context, int device);
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
    int (*sync)(void *stream);
    int (*stream)(void **stream, unsigned flags);
} cu;

static int find_driver(void)
{
    static const char *const names[] = {
        "cuCtxPushCurrent_v2", "cuDevicePrimaryCtxRetain", "cuModuleLoadData", "cuModuleGetFunction",
        "cuLaunchKernel",      "cuStreamSynchronize",      "cuStreamCreate"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *found;
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++) {
        found = dlsym(library, names[i]);
        if (!found)
            return 0;
        memcpy((char *)&cu + i * sizeof found, &found, sizeof found);
    }
    return library != NULL;
}

static atomic_long allocations;

static void *allocate(void *user, size_t bytes)
{
    (void)user;
    allocations++;
    return malloc(bytes);
}

static void release(void *user, void *memory, size_t bytes)
{
    (void)user;
    (void)bytes;
    free(memory);
}

struct work {
    neso_kernel *kernel;
    void *context, *function, *stream;
    unsigned threads, shared;
    uint64_t memory; /* the value of all pointer arguments */
    /* the value of all integer arguments of launches by neso, and of launches by the driver */
    int32_t numbers[2];
    int failed;
    double driver[BATCHES], neso[BATCHES];
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double batch(struct work *w, int by_neso)
{
    static const uint32_t grid[3] = {1, 1, 1};
    static const _Alignas(64) unsigned char map[MAP_BYTES];
    void *args[ARGS + MAPS];
    for (int i = 0; i < ARGS; i++)
        args[i] = i < ARGS / 2 ? &w->memory : (void *)&w->numbers[!by_neso];
    for (int i = ARGS; i < ARGS + MAPS; i++)
        args[i] = (void *)(uintptr_t)map;
    double start = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        w->failed |=
            by_neso ? neso_launch(w->kernel, grid, w->stream, (const void *const *)args, NULL) != NESO_OK
                    : cu.launch(w->function, 1, 1, 1, w->threads, 1, 1, w->shared, w->stream, args, NULL);
    double ns = (now_ns() - start) / LAUNCHES;
    w->failed |= cu.sync(w->stream);
    return ns;
}

static void *run(void *arg)
{
    struct work *w = arg;
    w->failed |= cu.push(w->context);
    w->failed |= cu.stream(&w->stream, NON_BLOCKING);
    batch(w, 1);
    for (int i = 0; i < BATCHES; i++) {
        w->driver[i] = batch(w, 0);
        w->neso[i] = batch(w, 1);
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Launches on all threads at the same time, and prints the times of the first thread. Returns the median of the time
 * that neso adds. */
static double measure(const struct work *like, const char *name, int threads, int *failed)
{
    static struct work works[THREADS_MOST];
    pthread_t ids[THREADS_MOST];
    for (int i = 0; i < threads; i++) {
        works[i] = *like;
        pthread_create(&ids[i], NULL, run, &works[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
        *failed |= works[i].failed;
    }
    struct work *w = &works[0];
    qsort(w->driver, BATCHES, sizeof *w->driver, ascending);
    qsort(w->neso, BATCHES, sizeof *w->neso, ascending);
    double driver = w->driver[BATCHES / 2], neso = w->neso[BATCHES / 2];
    printf("%-6s %8d %9.1f %9.1f %9.1f %9.1f\n", name, threads, driver, neso, neso - driver,
           w->neso[0] - w->driver[0]);
    return neso - driver;
}

/* Compiles a kernel, and loads it by neso and again by the driver. Launches through the driver pass K = 0, for which
 * the kernel uses no map. */
static int prepare(neso_module *module, int which, neso_kernel **kernel, struct work *w)
{
    const char *ptx;
    void *loaded;
    neso_resources r = {.size = sizeof r};
    neso_compile_options o = {.size = sizeof o};
    o.signature = kernels[which].signature;
    if (neso_kernel_compile(module, kernels[which].name, &o, kernel) != NESO_OK ||
        neso_kernel_load(*kernel) != NESO_OK ||
        neso_kernel_text(*kernel, NESO_TEXT_PTX, &ptx, NULL) != NESO_OK)
        return 0;
    if (kernels[which].has_maps != (strstr(ptx, "cp.async.bulk.tensor") != NULL))
        return fprintf(stderr, "%s: other copies than it is meant to have\n", kernels[which].name), 0;
    neso_kernel_resources(*kernel, &r);
    w->kernel = *kernel;
    w->threads = (unsigned)r.num_threads;
    w->shared = (unsigned)r.shared_bytes;
    w->numbers[0] = kernels[which].has_maps ? SIDE : 3;
    w->numbers[1] = kernels[which].has_maps ? 0 : 3;
    return cu.retain(&w->context, 0) == 0 && cu.push(w->context) == 0 && cu.load(&loaded, ptx) == 0 &&
           cu.find(&w->function, loaded, kernels[which].name) == 0;
}

/* Measures on one thread and on several. Returns the time that neso adds on one thread. */
static double measure_all(struct work *w, int which, int *failed)
{
    double added = measure(w, kernels[which].name, 1, failed);
    for (int threads = 4; threads <= THREADS_MOST; threads *= 4)
        measure(w, kernels[which].name, threads, failed);
    return added;
}

int main(void)
{
    neso_context *ctx;
    neso_module *module;
    static struct work w;
    int failed = 0, slow = 0;
    long more = 0;
    neso_context_options limits = {.size = sizeof limits, .allocator = {allocate, release, NULL}};
    if (!find_driver() || neso_context_create(&limits, &ctx) != NESO_OK)
        return puts("no CUDA driver"), 2;
    if (neso_context_use_device(ctx, "cuda", NULL) != NESO_OK ||
        neso_memory_allocate(ctx, SIDE * SIDE * sizeof(float), &w.memory) != NESO_OK ||
        neso_module_from_source(ctx, "k.py", source, strlen(source), &module) != NESO_OK)
        return fputs(neso_error_text(ctx), stderr), 2;
    puts("kernel  threads    driver      neso     added    (best)");
    for (int i = 0; i < KERNELS; i++) {
        neso_kernel *kernel = NULL;
        if (!prepare(module, i, &kernel, &w))
            return fputs(neso_error_text(ctx), stderr), 2;
        batch(&w, 1); /* the first launch allocates the cache of maps, or compiles the other variant */
        long before = allocations;
        slow |= measure_all(&w, i, &failed) > kernels[i].most_ns;
        more += allocations - before;
        neso_kernel_release(kernel);
    }
    printf("%ld allocations%s\n", more, failed ? ", and a launch failed" : "");
    neso_memory_release(ctx, w.memory);
    neso_module_release(module);
    neso_context_release(ctx);
    return failed || more || slow;
}
