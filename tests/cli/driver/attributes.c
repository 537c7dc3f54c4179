/* SPDX-License-Identifier: MIT */
/* attributes.c: launches kernels with launch options on the fake driver, which prints the options (FAKE_TRACE). The
 * program also calls neso_kernel_function, which must fail if launches of the kernel need a plan. */
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "@triton.jit\n"
                             "def fill(X, n, BLOCK: tl.constexpr):\n"
                             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                             "    tl.store(X + i, i, mask=i < n)\n"
                             "\n"
                             "@triton.jit\n"
                             "def product(A, B, C, n, BLOCK: tl.constexpr):\n"
                             "    i = tl.arange(0, BLOCK)\n"
                             "    sum = tl.zeros((BLOCK, BLOCK), tl.float32)\n"
                             "    for k in range(0, n, BLOCK):\n"
                             "        a = tl.load(A + i[:, None] * n + k + i[None, :])\n"
                             "        sum += tl.dot(a, tl.load(B + (k + i[:, None]) * BLOCK + i[None, :]))\n"
                             "    tl.store(C + i[:, None] * BLOCK + i[None, :], sum)\n";

static neso_kernel *compile(neso_module *module, const char *name, const char *signature)
{
    neso_kernel *kernel = NULL;
    neso_compile_options o = {.size = sizeof o, .signature = signature};
    neso_kernel_compile(module, name, &o, &kernel);
    return kernel;
}

int main(void)
{
    neso_context *ctx;
    neso_module *module = NULL;
    uint64_t x = 4096;
    int32_t n = 100;
    const void *args[] = {&x, &n};
    const uint32_t grid[3] = {3, 1, 1};
    void *function = NULL;
    neso_error error = {.size = sizeof error};
    if (neso_context_create(NULL, &ctx) != NESO_OK || neso_context_use_device(ctx, "cuda", NULL) != NESO_OK ||
        neso_module_from_source(ctx, "k.py", source, strlen(source), &module) != NESO_OK)
        return 1;
    neso_kernel *fill = compile(module, "fill", "*i32:16, i32, 128");
    neso_kernel *product = compile(module, "product", "*fp16:16, *fp16:16, *fp32:16, i32:16, 64");
    neso_launch_options options[] = {
        {0}, {.cooperative = 1}, {.priority = -5}, {.cooperative = 1, .priority = 2}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        options[i].size = sizeof *options;
        if (neso_launch_with(fill, grid, NULL, args, i ? &options[i] : NULL, &error) != NESO_OK)
            puts(error.message);
    }
    if (neso_kernel_function(fill, &function) != NESO_OK || !function)
        puts(neso_error_text(ctx));
    if (neso_kernel_function(product, &function) != NESO_INVALID || function)
        puts("a kernel with a plan gave its function");
    fputs(neso_error_text(ctx), stdout);
    neso_kernel_release(fill);
    neso_kernel_release(product);
    neso_module_release(module);
    neso_context_release(ctx);
    return 0;
}
