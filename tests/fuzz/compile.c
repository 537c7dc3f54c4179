/* SPDX-License-Identifier: MIT */
/* compile.c: compiles any bytes as a Triton source to PTX. The first line may contain the options:
 *
 *     # SIGNATURE | TARGET | WARPS | STAGES
 *
 * No input may crash, hang, leak, or lead to an internal error.
 *
 *   make fuzz-compile && build/fuzz/fuzz_compile tests/fuzz/compile -max_len=4000 -runs=1000000 */
#include "runtime/neso.h"
#include "tests/fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "tests/fuzz/compile";
const char fuzz_words[] =
    TRITON_WORDS "sm_80 sm_86 sm_89 sm_90a sm_100a sm_120a *fp16:16 *fp32 *i32:16 *i8 fp32 i64 u8 i32:1 64 ";

static void check(neso_context *ctx, neso_status status)
{
    if (status == NESO_INTERNAL) {
        fputs(neso_error_text(ctx), stderr);
        abort();
    }
}

struct how {
    char signature[300], target[12];
    int warps, stages;
};

static struct how read_how(const char *text)
{
    struct how h = {"", "sm_90a", 4, 3};
    sscanf(text, "# %299[^|\n]| %11[a-z0-9_] | %d | %d", h.signature, h.target, &h.warps, &h.stages);
    return h;
}

static void compile_each(neso_context *ctx, neso_module *module, const struct how *how)
{
    neso_compile_options options = {.size = sizeof options,
                                    .signature = how->signature,
                                    .target = how->target,
                                    .num_warps = how->warps,
                                    .num_stages = how->stages};
    const char *name;
    for (size_t i = 0; i < 4 && (name = neso_module_kernel(module, i)) != NULL; i++) {
        neso_kernel *kernel = NULL;
        neso_status status = neso_kernel_compile(module, name, &options, &kernel);
        check(ctx, status);
        if (status == NESO_OK)
            neso_kernel_release(kernel);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    neso_context_options limits = {.size = sizeof limits,
                                   .memory_limit = (size_t)128 << 20,
                                   .step_limit = 20000,
                                   .ir_limit = 20000,
                                   .time_limit_ms = 2000};
    neso_context *ctx;
    neso_module *module;
    char *text = malloc(size + 1);
    if (!text || neso_context_create(&limits, &ctx) != NESO_OK)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    struct how how = read_how(text);
    neso_status status = neso_module_from_source(ctx, "fuzz.py", text, size, &module);
    check(ctx, status);
    if (status == NESO_OK) {
        compile_each(ctx, module, &how);
        neso_module_release(module);
    }
    neso_context_release(ctx);
    free(text);
    return 0;
}
