/* SPDX-License-Identifier: MIT */
/* failures.c: compiles, loads, launches and releases five kernels. The test repeats these steps for each kernel in two
 * series of runs. In run i of the first series, allocation number i fails; in run i of the second series, driver call
 * number i fails. A series ends when a run succeeds. With a stride of n, only every nth allocation fails. Every
 * failure must be reported with its reason, and all memory and driver objects must be released. The test needs the
 * fake driver (cuda.c) as libcuda.so.1. */
#include "neso.h"
#include "tests/cli/driver/fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def add(Z, X, Y, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(Z + i, tl.load(X + i, mask=i < n) + tl.load(Y + i, mask=i < n), mask=i < n)\n"
    "\n"
    "@triton.jit\n"
    "def softmax(Y, X, Z, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    x = tl.load(X + i, mask=i < n, other=-float('inf'))\n"
    "    e = tl.exp(x - tl.max(x, axis=0))\n"
    "    tl.store(Y + i, e / tl.sum(e, axis=0), mask=i < n)\n"
    "\n"
    "@triton.jit\n"
    "def matmul(C, A, B, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)\n"
    "    for k in range(0, n, BLOCK):\n"
    "        a = tl.load(A + i[:, None] * n + (k + i), mask=k + i < n, other=0.0)\n"
    "        b = tl.load(B + (k + i[:, None]) * n + i, mask=k + i[:, None] < n, other=0.0)\n"
    "        acc = tl.dot(a, b, acc)\n"
    "    tl.store(C + i[:, None] * BLOCK + i, acc)\n"
    "\n"
    "@triton.jit\n"
    "def layer_norm(Y, X, W, n, BLOCK: tl.constexpr):\n"
    "    i = tl.arange(0, BLOCK)\n"
    "    x = tl.load(X + i, mask=i < n, other=0.0)\n"
    "    mean = tl.sum(x, axis=0) / n\n"
    "    d = tl.where(i < n, x - mean, 0.0)\n"
    "    scale = tl.rsqrt(tl.sum(d * d, axis=0) / n + 1e-5)\n"
    "    tl.store(Y + i, d * scale * tl.load(W + i, mask=i < n), mask=i < n)\n"
    "\n"
    "@triton.jit\n"
    "def atomics(Y, X, Z, n, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.atomic_add(Y + i % 16, tl.load(X + i, mask=i < n), mask=i < n)\n"
    "    tl.atomic_max(Z, n)\n";

static const struct {
    const char *name, *signature;
} kernels[] = {
    {"add", "*fp32:16, *fp32:16, *fp32:16, i32, 256"},
    {"softmax", "*fp32:16, *fp32:16, *fp32:16, i32, 1024"},
    {"matmul", "*fp32:16, *fp16:16, *fp16:16, i32:16, 64"},
    {"layer_norm", "*fp32:16, *fp32:16, *fp32:16, i32, 1024"},
    {"atomics", "*fp32:16, *fp32:16, *i32:16, i32, 256"},
};

/* Calls whose failure is not reported: neso works without these calls, or makes them only to release an object. */
static const char *const forgiven[] = {"cuDriverGetVersion",    "cuCtxGetCurrent",
                                       "cuCtxPopCurrent_v2",    "cuDevicePrimaryCtxRelease_v2",
                                       "cuModuleUnload",        "cuCtxPushCurrent_v2" /* to unload */,
                                       "cuTensorMapEncodeTiled"};

enum { BYTES = 1 << 16 };

static int passed, failed;
static const char *now; /* the name of the kernel that is being tested, for messages */

static void check(int good, const char *what, long at)
{
    *(good ? &passed : &failed) += 1;
    if (!good && failed < 20)
        fprintf(stderr, "failed: %s: %s, at %ld\n", now, what, at);
}

/* -- an allocator that refuses allocation number `until` -- */

struct ration {
    long until, bytes_out;
    int refused;
};

static void *allocate(void *user, size_t bytes)
{
    struct ration *r = user;
    if (r->until && --r->until == 0) {
        r->refused = 1;
        return NULL;
    }
    r->bytes_out += (long)bytes;
    return malloc(bytes);
}

static void release(void *user, void *memory, size_t bytes)
{
    struct ration *r = user;
    r->bytes_out -= (long)bytes;
    free(memory);
}

/* -- compiling, loading, launching and releasing a kernel -- */

static neso_status launch(neso_context *ctx, neso_kernel *kernel, uint64_t memory)
{
    /* The second number is 0. This size makes a matrix empty, so no tensor map can be encoded. */
    static const int32_t numbers[] = {64, 0, 64};
    const uint32_t grid[3] = {1, 1, 1};
    neso_error error = {.size = sizeof error};
    for (int i = 0; i < 3; i++) {
        const void *args[] = {&memory, &memory, &memory, &numbers[i]};
        neso_status status = neso_launch(kernel, grid, NULL, args, &error);
        if (status != NESO_OK) {
            check(error.status == status && error.message[0], "a launch says why", status);
            return status;
        }
    }
    return neso_synchronize(ctx, NULL);
}

/* Loads the kernel, and passes machine code for a PTX text that is not the kernel's. */
static neso_status load(neso_kernel *kernel)
{
    static const neso_code code = {.size = sizeof code, .ptx_digest = "none", .code = "code", .length = 4};
    neso_error error = {.size = sizeof error};
    neso_status status = neso_kernel_load_code(kernel, &code, 1, &error);
    check(status == NESO_OK || (error.status == status && error.message[0]), "a load says why", status);
    return status;
}

static neso_status on_device(neso_context *ctx, neso_kernel *kernel)
{
    static char data[BYTES];
    uint64_t memory;
    neso_status status = load(kernel);
    if (status == NESO_OK)
        status = neso_memory_allocate(ctx, BYTES, &memory);
    if (status != NESO_OK)
        return status;
    status = neso_memory_write(ctx, memory, data, sizeof data);
    if (status == NESO_OK)
        status = launch(ctx, kernel, memory);
    if (status == NESO_OK)
        status = neso_memory_read(ctx, data, memory, sizeof data);
    neso_status released = neso_memory_release(ctx, memory);
    return status ? status : released;
}

static neso_status in_context(neso_context *ctx, int which)
{
    neso_module *module = NULL;
    neso_kernel *kernel = NULL;
    neso_compile_options o = {.size = sizeof o};
    o.signature = kernels[which].signature;
    neso_status status = neso_context_use_device(ctx, "cuda", NULL);
    if (status == NESO_OK)
        status = neso_module_from_source(ctx, "five.py", source, strlen(source), &module);
    if (status == NESO_OK)
        status = neso_kernel_compile(module, kernels[which].name, &o, &kernel);
    if (status != NESO_OK)
        check(neso_error_text(ctx)[0] != 0, "a word on it", status);
    if (status == NESO_OK)
        status = on_device(ctx, kernel);
    neso_kernel_release(kernel);
    neso_module_release(module);
    return status;
}

static neso_status run(struct ration *r, int which, const char *cache)
{
    neso_context *ctx;
    neso_context_options o = {.size = sizeof o, .allocator = {allocate, release, r}, .cache = cache};
    neso_status status = neso_context_create(&o, &ctx);
    if (status != NESO_OK)
        return status;
    status = in_context(ctx, which);
    neso_context_release(ctx);
    return status;
}

/* -- making each allocation and each driver call fail -- */

static void fail_allocations(struct fake *fake, int which, long stride, const char *cache)
{
    int refused = 1;
    long n = 1;
    for (; refused && n < 5000; n += stride) {
        struct ration r = {.until = n};
        neso_status status = run(&r, which, cache);
        refused = r.refused;
        check(refused ? status == NESO_OUT_OF_MEMORY || status == NESO_OK : status == NESO_OK,
              neso_status_name(status), n);
        check(r.bytes_out == 0, "all memory is given back", n);
        check(fake->held == 0, "the driver has all of its own back", n);
    }
    check(!refused && n > 10, "a run gets by", n);
}

static int is_forgiven(const char *call)
{
    /* Two variants of the product are compiled, one of them for small grids. If the variant for small grids cannot be
     * loaded, neso launches the other variant, so the failure is not reported. */
    static const char loading[] = "cuModuleLoadDataEx cuModuleGetFunction cuFuncSetAttribute";
    if (strcmp(now, "matmul") == 0 && strstr(loading, call))
        return 1;
    for (size_t i = 0; i < sizeof forgiven / sizeof *forgiven; i++)
        if (strcmp(forgiven[i], call) == 0)
            return 1;
    return 0;
}

/* Returns the status that neso must return if this driver call fails. If the driver refuses to raise the limit of
 * shared memory, neso must report that the kernel is too large. */
static neso_status wanted(const char *refused)
{
    if (!refused)
        return NESO_OK;
    return strcmp(refused, "cuFuncSetAttribute") == 0 ? NESO_INVALID : NESO_DRIVER;
}

static void fail_calls(struct fake *fake, int which, const char *cache)
{
    long n = 0;
    for (fake->refused = ""; fake->refused && ++n < 5000;) {
        struct ration r = {0};
        fake->until = n;
        fake->refused = NULL;
        neso_status status = run(&r, which, cache);
        fake->until = 0;
        if (fake->refused && status == NESO_OK)
            check(is_forgiven(fake->refused), fake->refused, n);
        else
            check(status == wanted(fake->refused), neso_status_name(status), n);
        check(r.bytes_out == 0, "all memory is given back", n);
        check(fake->held == 0, "the driver has all of its own back", n);
    }
    check(!fake->refused && n > 10, "a run gets by", n);
}

/* The first argument is the stride of the allocations that fail. An optional second argument is the folder of the
 * cache; later runs find the entries that earlier runs wrote. */
int main(int argc, char **argv)
{
    const long stride = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    const char *cache = argc > 2 ? argv[2] : NULL;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    struct fake *fake = driver ? dlsym(driver, "fake") : NULL;
    if (!fake || stride < 1)
        return fputs("needs a stride of 1 or more, and the driver without a GPU\n", stderr), 2;
    for (int i = 0; i < (int)(sizeof kernels / sizeof *kernels); i++) {
        now = kernels[i].name;
        fail_allocations(fake, i, stride, cache);
        fail_calls(fake, i, cache);
    }
    dlclose(driver);
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
