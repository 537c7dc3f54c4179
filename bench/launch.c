/* launch.c: what neso_launch adds to cuLaunchKernel, for a kernel of 16 arguments: the same kernel in the same context, launched
 * in turns by either, on one thread and on several. The middle and the best of many batches, in nanoseconds a launch:
 *
 *     threads    driver      neso     added    (best)
 *           1    1800.0    1950.0     150.0     140.0
 *
 * Exit 1 if on one thread more than 500 ns are added, or anything is allocated. Needs a CUDA driver; the tests' own, which does
 * nothing, shows the added time alone (tests/cli/driver/cuda.c, by LD_LIBRARY_PATH). */
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
    "def k(A, B, C, D, E, F, G, H, a, b, c, d, e, f, g, h):\n"
    "    if a + b + c + d + e + f + g + h == 77:\n"
    "        v = tl.load(A) + tl.load(B) + tl.load(C) + tl.load(D) + tl.load(E) + tl.load(F) + tl.load(G)\n"
    "        tl.store(H, v)\n";

enum { ARGS = 16, BATCHES = 301, LAUNCHES = 200, THREADS_MOST = 16 };

/* The driver's functions that a caller without neso would use. */
static struct {
    int (*push)(void *context);
    int (*retain)(void **context, int device);
    int (*load)(void **module, const void *image);
    int (*find)(void **function, void *module, const char *name);
    int (*launch)(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **params, void **extra);
    int (*sync)(void *stream);
} cu;

static int find_driver(void)
{
    static const char *const names[] = {"cuCtxPushCurrent_v2", "cuDevicePrimaryCtxRetain",
                                        "cuModuleLoadData",    "cuModuleGetFunction",
                                        "cuLaunchKernel",      "cuStreamSynchronize"};
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
    void *context, *function;
    unsigned threads;
    int failed;
    double driver[BATCHES], neso[BATCHES];
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static double batch(struct work *w, void *const *args, int by_neso)
{
    static const uint32_t grid[3] = {1, 1, 1};
    double start = now_ns();
    for (int i = 0; i < LAUNCHES; i++)
        w->failed |= by_neso
                         ? neso_launch(w->kernel, grid, NULL, (const void *const *)args, NULL) != NESO_OK
                         : cu.launch(w->function, 1, 1, 1, w->threads, 1, 1, 0, NULL, (void **)args, NULL);
    double ns = (now_ns() - start) / LAUNCHES;
    w->failed |= cu.sync(NULL);
    return ns;
}

static void *run(void *arg)
{
    struct work *w = arg;
    static const uint64_t pointer = 0x10000;
    static const int32_t number = 3;
    void *args[ARGS];
    for (int i = 0; i < ARGS; i++)
        args[i] = i < ARGS / 2 ? (void *)(uintptr_t)&pointer : (void *)(uintptr_t)&number;
    w->failed |= cu.push(w->context);
    batch(w, args, 1);
    for (int i = 0; i < BATCHES; i++) {
        w->driver[i] = batch(w, args, 0);
        w->neso[i] = batch(w, args, 1);
    }
    return NULL;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* All threads at once; the first one's times stand for them. Returns what neso adds in the middle. */
static double measure(const struct work *like, int threads, int *failed)
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
    printf("%8d %9.1f %9.1f %9.1f %9.1f\n", threads, driver, neso, neso - driver, w->neso[0] - w->driver[0]);
    return neso - driver;
}

static int prepare(neso_context *ctx, neso_kernel **kernel, struct work *w)
{
    neso_module *module;
    const char *ptx;
    void *loaded;
    neso_resources r = {.size = sizeof r};
    neso_compile_options o = {.size = sizeof o};
    o.signature = "*fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, *fp32:16, "
                  "i32, i32, i32, i32, i32, i32, i32, i32";
    if (neso_context_use_device(ctx, "cuda", NULL) != NESO_OK ||
        neso_module_from_source(ctx, "k.py", source, strlen(source), &module) != NESO_OK)
        return 0;
    neso_status status = neso_kernel_compile(module, "k", &o, kernel);
    neso_module_release(module);
    if (status != NESO_OK || neso_kernel_load(*kernel) != NESO_OK ||
        neso_kernel_text(*kernel, NESO_TEXT_PTX, &ptx, NULL) != NESO_OK)
        return 0;
    neso_kernel_resources(*kernel, &r);
    w->kernel = *kernel;
    w->threads = (unsigned)r.num_threads;
    return cu.retain(&w->context, 0) == 0 && cu.push(w->context) == 0 && cu.load(&loaded, ptx) == 0 &&
           cu.find(&w->function, loaded, "k") == 0;
}

int main(void)
{
    neso_context *ctx;
    neso_kernel *kernel = NULL;
    static struct work w;
    int failed = 0;
    neso_context_options limits = {.size = sizeof limits, .allocator = {allocate, release, NULL}};
    if (!find_driver() || neso_context_create(&limits, &ctx) != NESO_OK)
        return puts("no CUDA driver"), 2;
    if (!prepare(ctx, &kernel, &w))
        return fputs(neso_error_text(ctx), stderr), 2;
    long before = allocations;
    puts(" threads    driver      neso     added    (best)");
    double added = measure(&w, 1, &failed);
    for (int threads = 4; threads <= THREADS_MOST; threads *= 4)
        measure(&w, threads, &failed);
    printf("%ld allocations%s\n", allocations - before, failed ? ", and a launch failed" : "");
    int result = failed || allocations != before || added > 500;
    neso_kernel_release(kernel);
    neso_context_release(ctx);
    return result;
}
