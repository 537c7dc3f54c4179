/* SPDX-License-Identifier: MIT */
/* tuples.c: tests tuples and named tuples in signatures: each item of a tuple is an entry, and the items that are types
 * are the parameters of a launch, in order. For an invalid tuple, the message shows its location in the signature. */
#include "neso.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "from typing import NamedTuple\n"
                             "import triton\n"
                             "import triton.language as tl\n"
                             "\n"
                             "class Row(NamedTuple):\n"
                             "    data: object\n"
                             "    size: tuple\n"
                             "    step: tl.constexpr = 1\n"
                             "\n"
                             "@triton.jit\n"
                             "def scale(row, out, N: tl.constexpr):\n"
                             "    i = tl.arange(0, N)\n"
                             "    x = tl.load(row.data + i * row.step, mask=i < row.size[0], other=0.0)\n"
                             "    if out[1][1] is None:\n"
                             "        x *= out[1][0]\n"
                             "    tl.store(out[0] + i, x, mask=i < row.size[0])\n";

static int passed, failed;

static void check(int good, const char *what)
{
    *(good ? &passed : &failed) += 1;
    if (!good)
        fprintf(stderr, "failed: %s\n", what);
}

enum { N = 16 };

static neso_kernel *compile(neso_context *ctx, neso_module *module, const char *signature)
{
    neso_kernel *kernel = NULL;
    neso_compile_options o = {.size = sizeof o, .signature = signature};
    check(neso_kernel_compile(module, "scale", &o, &kernel) == NESO_OK, neso_error_text(ctx));
    return kernel;
}

static void check_params(neso_kernel *kernel, const char *expected)
{
    char found[200] = "";
    for (size_t i = 0; i < neso_kernel_param_count(kernel); i++) {
        neso_param p = {.size = sizeof p};
        size_t n = strlen(found);
        check(neso_kernel_param(kernel, i, &p), "a parameter");
        snprintf(found + n, sizeof found - n, "%s %s:%d,", p.name, p.type, p.divisible);
    }
    if (strcmp(found, expected) != 0)
        fprintf(stderr, "found %s\n", found);
    check(strcmp(found, expected) == 0, "the items that are types are parameters");
}

static void launch(neso_context *ctx, neso_module *module, uint64_t memory)
{
    float *data = (float *)(uintptr_t)memory, factor = 3;
    uint64_t x = memory, y = memory + 2 * N * sizeof(float);
    int32_t size = N - 2;
    const void *args[] = {&x, &size, &y, &factor};
    const uint32_t grid[3] = {1, 1, 1};
    neso_error error = {.size = sizeof error};
    neso_kernel *kernel = compile(ctx, module, "Row(*fp32:16, (i32, 3), step=2), (*fp32, (fp32, None)), 16");
    if (!kernel)
        return;
    check_params(kernel, "row_data *fp32:16,row_size_0 i32:1,out_0 *fp32:1,out_1_0 fp32:1,");
    for (int i = 0; i < 3 * N; i++)
        data[i] = (float)i;
    check(neso_launch(kernel, grid, NULL, args, &error) == NESO_OK, error.message);
    check(neso_synchronize(ctx, NULL) == NESO_OK, "synchronize");
    int wrong = 0;
    for (int i = 0; i < N; i++)
        wrong += data[2 * N + i] != (i < size ? 6.0F * (float)i : (float)(2 * N + i));
    check(wrong == 0, "what the kernel computes of tuples");
    neso_kernel_release(kernel);
}

static void refuse(neso_context *ctx, neso_module *module, const char *signature, const char *reason)
{
    neso_kernel *kernel = NULL;
    neso_compile_options o = {.size = sizeof o, .signature = signature};
    check(neso_kernel_compile(module, "scale", &o, &kernel) == NESO_INVALID, signature);
    if (!strstr(neso_error_text(ctx), reason))
        fprintf(stderr, "%s: found %s", signature, neso_error_text(ctx));
    check(strstr(neso_error_text(ctx), reason) != NULL, reason);
    neso_kernel_release(kernel);
}

static void check_variants(neso_module *module)
{
    const char *text = "", *expected = "Row(*fp32:16, (i32:1,)), (*fp32:16, 2), 16\n"
                                       "Row(*fp32:16, (i32:1,)), (*fp32, 2), 16\n"
                                       "Row(*fp32:16, (i32:16,)), (*fp32:16, 2), 16\n"
                                       "Row(*fp32:16, (i32:16,)), (*fp32, 2), 16\n"
                                       "Row(*fp32:16, (i32,)), (*fp32:16, 2), 16\n"
                                       "Row(*fp32:16, (i32,)), (*fp32, 2), 16\n";
    neso_compile_options o = {.size = sizeof o, .signature = "Row(*fp32:16, (i32,)), (*fp32, 2), 16"};
    check(neso_module_variants(module, "scale", &o, &text) == NESO_OK, "variants");
    check(strcmp(text, expected) == 0, text);
}

int main(void)
{
    neso_context *ctx;
    neso_module *module;
    uint64_t memory;
    neso_context_create(NULL, &ctx);
    check(neso_context_use_device(ctx, "interpreter", NULL) == NESO_OK, "the interpreter");
    check(neso_memory_allocate(ctx, 3 * N * sizeof(float), &memory) == NESO_OK, "memory");
    check(neso_module_from_source(ctx, "rows.py", source, strlen(source), &module) == NESO_OK, "a module");
    launch(ctx, module, memory);
    check_variants(module);
    refuse(ctx, module, "Row(*fp32), (*fp32, (fp32, None)), 16",
           "signature:1:1: error: the signature has no entry for field 'Row.size'");
    refuse(ctx, module, "Row(*fp32, (i32,), 1, 2), (*fp32,), 16", "'Row' has 3 fields, and the signature 4");
    refuse(ctx, module, "scale(*fp32), (*fp32,), 16", "'scale' is not a named tuple");
    refuse(ctx, module, "(a=*fp32,), (*fp32,), 16", "signature:1:4: error: 'a=' in a plain tuple");
    refuse(ctx, module, "(*fp32, i31), (*fp32,), 16", "signature:1:9: error: name 'i31' is not defined");
    refuse(ctx, module, "(*fp32, (i32, ), 1, 16", "signature:1:1: error: '(' is never closed");
    refuse(ctx, module, "((((((((((((((((((((((((i32)))))))))))))))))))))))), 1, 16",
           "name 'i32' is not defined");
    check(neso_memory_release(ctx, memory) == NESO_OK, "memory back");
    neso_module_release(module);
    neso_context_release(ctx);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
