/* SPDX-License-Identifier: MIT */
/* threads.c: launches one kernel from many threads at once, each on its own memory, while other threads compile, each
 * in its own context. All sums that the kernels compute must be right, and all texts that the compilations make must
 * be equal. Six threads launch and six compile; each repeats this 20 times. If EVERY is set in the environment, there
 * are 64 threads of each kind, and 200 repetitions. */
#include "neso.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def add(X, Y, Z, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    mask = i < n\n"
    "    tl.store(Z + i, tl.load(X + i, mask=mask) + tl.load(Y + i, mask=mask), mask=mask)\n";

enum { THREADS_MOST = 64, N = 700, BLOCK = 256 };

struct worker {
    int times;
    pthread_t thread;
    neso_context *ctx;
    neso_kernel *kernel;
    uint64_t memory;
    int wrong;
    char *ptx;
};

static void *launch_often(void *arg)
{
    struct worker *w = arg;
    float *data = (float *)(uintptr_t)w->memory;
    uint64_t x = w->memory, y = x + N * sizeof(float), z = y + N * sizeof(float);
    int32_t n = N;
    const void *args[] = {&x, &y, &z, &n};
    const uint32_t grid[3] = {(N + BLOCK - 1) / BLOCK, 1, 1};
    for (int k = 0; k < w->times; k++) {
        for (int i = 0; i < N; i++) {
            data[i] = (float)(i + k);
            data[N + i] = 1.0f;
        }
        w->wrong += neso_launch(w->kernel, grid, NULL, args, NULL) != NESO_OK;
        for (int i = 0; i < N; i++)
            w->wrong += data[2 * N + i] != (float)(i + k + 1);
    }
    return NULL;
}

static neso_kernel *compile(neso_context *ctx)
{
    neso_module *module;
    neso_kernel *kernel = NULL;
    neso_compile_options o = {.size = sizeof o};
    o.signature = "*fp32, *fp32, *fp32, i32, 256";
    if (neso_module_from_source(ctx, "add.py", source, strlen(source), &module) != NESO_OK)
        return NULL;
    neso_kernel_compile(module, "add", &o, &kernel);
    neso_module_release(module);
    return kernel;
}

static void *compile_often(void *arg)
{
    struct worker *w = arg;
    for (int k = 0; k < w->times; k++) {
        neso_context *ctx;
        const char *ptx = "";
        neso_context_create(NULL, &ctx);
        neso_kernel *kernel = compile(ctx);
        w->wrong += !kernel || neso_kernel_text(kernel, NESO_TEXT_PTX, &ptx, NULL) != NESO_OK;
        if (w->ptx)
            w->wrong += strcmp(w->ptx, ptx) != 0;
        else
            w->ptx = strcpy(malloc(strlen(ptx) + 1), ptx);
        neso_kernel_release(kernel);
        neso_context_release(ctx);
    }
    return NULL;
}

int main(void)
{
    static struct worker launchers[THREADS_MOST], compilers[THREADS_MOST];
    const int threads = getenv("EVERY") ? THREADS_MOST : 6, times = getenv("EVERY") ? 200 : 20;
    neso_context *ctx;
    struct worker alone = {.times = 1};
    int passed = 0, failed = 0;
    compile_often(&alone);
    neso_context_create(NULL, &ctx);
    neso_context_use_device(ctx, "interpreter", NULL);
    neso_kernel *kernel = compile(ctx);
    if (!kernel) {
        fputs(neso_error_text(ctx), stderr);
        return 1;
    }
    for (int i = 0; i < threads; i++) {
        launchers[i].kernel = kernel;
        launchers[i].times = compilers[i].times = times;
        neso_memory_allocate(ctx, 3 * N * sizeof(float), &launchers[i].memory);
    }
    for (int i = 0; i < threads; i++) {
        pthread_create(&launchers[i].thread, NULL, launch_often, &launchers[i]);
        pthread_create(&compilers[i].thread, NULL, compile_often, &compilers[i]);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(launchers[i].thread, NULL);
        pthread_join(compilers[i].thread, NULL);
        neso_memory_release(ctx, launchers[i].memory);
        int good =
            launchers[i].wrong == 0 && compilers[i].wrong == 0 && strcmp(compilers[i].ptx, alone.ptx) == 0;
        *(good ? &passed : &failed) += 1;
    }
    for (int i = 0; i < threads; i++)
        free(compilers[i].ptx);
    free(alone.ptx);
    neso_kernel_release(kernel);
    neso_context_release(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
