/* SPDX-License-Identifier: MIT */
/* signature.c: uses any bytes as a signature: compiles kernels with parameters of every kind, and lists the signature's
 * variants. No input may crash, hang, leak, or lead to an internal error.
 *
 *   make fuzz-signature && build/fuzz/fuzz_signature tests/fuzz/signature -max_len=300 -runs=1000000 */
#include "runtime/neso.h"
#include "tests/fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char fuzz_corpus[] = "tests/fuzz/signature";
const char fuzz_words[] = "*fp32 *fp16:16 *kbf16 *i8 **fp32 i1 i32:16 i32:1 i64 u8 u64 fp32 fp64 bf16 fp8e5 "
                          "tensordesc<fp16[128, 64]> "
                          "tensordesc<fp32[8]> nvTmaDesc X= n= factor= BLOCK= MODE= 64 -1 2.5 1e400 True "
                          "None 'add' tl.float32 (1,2) [1] "
                          "(*fp32,i32) 1<<40 64//2 2**3 :16 :1 :D ";

static const char source[] =
    "import triton\nimport triton.language as tl\n"
    "@triton.jit\ndef scale(X, Y, n, factor, BLOCK: tl.constexpr, MODE: tl.constexpr = 'mul'):\n"
    "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
    "    x = tl.load(X + i, mask=i < n)\n"
    "    tl.store(Y + i, x * factor if MODE == 'mul' else x + factor, mask=i < n)\n"
    "@triton.jit\ndef one(X, **META):\n    tl.store(X, META['V'])\n"
    "@triton.jit\ndef tiles(D, E):\n    E.store([0, 0], D.load([0, 0]))\n";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    neso_context_options limits = {.size = sizeof limits,
                                   .memory_limit = (size_t)64 << 20,
                                   .step_limit = 20000,
                                   .ir_limit = 20000,
                                   .time_limit_ms = 2000};
    neso_context *ctx;
    neso_module *module;
    char *text = malloc(size + 1);
    if (!text || neso_context_create(&limits, &ctx) != NESO_OK ||
        neso_module_from_source(ctx, "fuzz.py", source, sizeof source - 1, &module) != NESO_OK)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    neso_compile_options options = {.size = sizeof options, .signature = text};
    const char *name, *variants;
    for (size_t i = 0; (name = neso_module_kernel(module, i)) != NULL; i++) {
        neso_kernel *kernel;
        neso_status status = neso_kernel_compile(module, name, &options, &kernel);
        if (status == NESO_OK)
            neso_kernel_release(kernel);
        if (status == NESO_INTERNAL ||
            neso_module_variants(module, name, &options, &variants) == NESO_INTERNAL) {
            fputs(neso_error_text(ctx), stderr);
            abort();
        }
    }
    neso_module_release(module);
    neso_context_release(ctx);
    free(text);
    return 0;
}
