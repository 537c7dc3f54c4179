/* SPDX-License-Identifier: MIT */
/* allocations.c: repeats a compilation, and whole programs on the interpreter and the emulator. In run i, allocation
 * number i fails; the last run is the first run that succeeds. Every failure must give NESO_OUT_OF_MEMORY with a
 * message, nothing may leak, and every block must be released with the size that was allocated. Then the test repeats
 * the compilation and the programs with a memory limit that grows from run to run. */
#include "neso.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def softmax(Y, X, stride, n, BLOCK: tl.constexpr):\n"
                             "    row = tl.program_id(0)\n"
                             "    i = tl.arange(0, BLOCK)\n"
                             "    x = tl.load(X + row * stride + i, mask=i < n, other=-float('inf'))\n"
                             "    e = tl.exp(x - tl.max(x, axis=0))\n"
                             "    tl.store(Y + row * stride + i, e / tl.sum(e, axis=0), mask=i < n)\n";

static int passed, failed;

static void check(int good, const char *what, long at)
{
    *(good ? &passed : &failed) += 1;
    if (!good && failed < 20)
        fprintf(stderr, "failed: %s, at %ld\n", what, at);
}

/* An allocator that fails after `left` more allocations, and counts the bytes in use. The threads of a launch call
 * this allocator too. */
struct ration {
    long left, bytes_out;
};

static void *allocate(void *user, size_t bytes)
{
    struct ration *r = user;
    void *p = __atomic_fetch_sub(&r->left, 1, __ATOMIC_RELAXED) > 0 ? malloc(bytes) : NULL;
    if (p)
        __atomic_add_fetch(&r->bytes_out, (long)bytes, __ATOMIC_RELAXED);
    return p;
}

static void release(void *user, void *memory, size_t bytes)
{
    struct ration *r = user;
    __atomic_sub_fetch(&r->bytes_out, (long)bytes, __ATOMIC_RELAXED);
    free(memory);
}

/* Compiles a source to PTX and a launch plan. A failure must give a message. */
static neso_status compile(neso_context *ctx)
{
    neso_module *module;
    neso_kernel *kernel = NULL;
    const char *text;
    neso_compile_options o = {.size = sizeof o};
    o.signature = "*fp32:16, *fp32:16, i32, i32, 1024";
    neso_status status = neso_module_from_source(ctx, "softmax.py", source, strlen(source), &module);
    if (status == NESO_OK) {
        status = neso_kernel_compile(module, "softmax", &o, &kernel);
        if (status == NESO_OK)
            status = neso_kernel_text(kernel, NESO_TEXT_JSON, &text, NULL);
        neso_module_release(module);
    }
    if (status != NESO_OK && !strstr(neso_error_text(ctx), "memory"))
        fprintf(stderr, "said: %s\n", neso_error_text(ctx));
    check(status == NESO_OK || strstr(neso_error_text(ctx), "memory") != NULL, "a word on it", status);
    neso_kernel_release(kernel);
    return status;
}

/* A program with lists, text, tensors, launches of two kernels, a reduction that needs scratch memory, caught
 * exceptions, and a benchmark. */
static const char program[] =
    "import torch\n"
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.jit\n"
    "def scale(X, Y, n, factor, BLOCK: tl.constexpr):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    tl.store(Y + i, tl.load(X + i, mask=i < n) * factor, mask=i < n)\n"
    "\n"
    "@triton.jit\n"
    "def product(C, A, N: tl.constexpr):\n"
    "    i = tl.arange(0, N)\n"
    "    at = i[:, None] * N + i\n"
    "    a = tl.load(A + at)\n"
    "    c = tl.dot(a, a)\n"
    "    tl.store(C + at, c + tl.sum(c, axis=1)[:, None])\n"
    "\n"
    "x = torch.randn(1000, device='cuda')\n"
    "y = torch.empty_like(x)\n"
    "scale[(4,)](x, y, 1000, 2.5, BLOCK=256)\n"
    "assert torch.allclose(y, x * 2.5), f'{y[:4]} of {x[:4]}'\n"
    "a = torch.ones(32, 32, dtype=torch.float16, device='cuda')\n"
    "c = torch.empty(32, 32, device='cuda')\n"
    "product[(1,)](c, a, N=32)\n"
    "assert (c == 32 + 32 * 32).all()\n"
    "b = (a @ a).cumsum(0).sort().values.tolist()\n"
    "words = [str(i) + ',' for i in range(5000)]\n"
    "try:\n"
    "    {}[','.join(words)]\n"
    "except KeyError:\n"
    "    pass\n"
    "triton.testing.do_bench(lambda: scale[(4,)](x, y, 1000, 2.5, BLOCK=256), warmup=1, rep=1)\n"
    "print(y, b[0][0])\n";

static neso_status run_program(neso_context *ctx, const char *device)
{
    neso_status status = neso_context_use_device(ctx, device, NULL);
    if (status == NESO_OK)
        status = neso_program_run(ctx, "program.py", program, strlen(program), NULL);
    int said = strstr(neso_error_text(ctx), "memory") != NULL;
    check(status == NESO_OK || said, "a word on it", status);
    if (status != NESO_OK && !said)
        fprintf(stderr, "said: %s\n", neso_error_text(ctx));
    return status;
}

static neso_status run(struct ration *r, size_t limit, const char *device)
{
    neso_context *ctx;
    neso_context_options o = {.size = sizeof o, .memory_limit = limit};
    o.allocator = (neso_allocator){allocate, release, r};
    neso_status status = neso_context_create(&o, &ctx);
    if (status != NESO_OK)
        return status;
    status = device ? run_program(ctx, device) : compile(ctx);
    neso_context_release(ctx);
    return status;
}

/* Makes each allocation fail in turn. If `device` is NULL, these are the allocations of a compilation; otherwise, they
 * are the allocations of a program on the device. */
static void refuse(const char *device)
{
    neso_status status = NESO_OUT_OF_MEMORY;
    for (long n = 0; status != NESO_OK && n < 10000; n++) {
        struct ration r = {n, 0};
        status = run(&r, 0, device);
        check(status == NESO_OK || status == NESO_OUT_OF_MEMORY, neso_status_name(status), n);
        check(r.bytes_out == 0, "all bytes back", n);
    }
    check(status == NESO_OK, "a run gets through", 0);
    status = NESO_OUT_OF_MEMORY;
    for (size_t limit = 1000; status != NESO_OK && limit < (size_t)1 << 26; limit += limit / 8) {
        struct ration r = {1000000, 0};
        status = run(&r, limit, device);
        check(status == NESO_OK || status == NESO_OUT_OF_MEMORY, neso_status_name(status), (long)limit);
        check(r.bytes_out == 0, "all bytes back", (long)limit);
    }
    check(status == NESO_OK, "a limit suffices", 0);
}

int main(void)
{
    refuse(NULL);
    refuse("interpreter");
    refuse("emulator");
    printf("%d passed, %d failed\n", passed, failed);
    return failed > 0;
}
