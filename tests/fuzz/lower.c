/* SPDX-License-Identifier: MIT */
/* lower.c: compiles any bytes as IR text to PTX. The first letter of the text chooses the target. No input
 * may crash, hang or leak. One internal error is allowed: a pass may need a property that no earlier pass provides for
 * IR that the verifier accepts.
 *
 *   make fuzz-lower && build/fuzz/fuzz_lower tests/ir -max_len=4000 -runs=1000000 */
#include "runtime/neso.h"
#include "tests/fuzz/mutate.h"

#include <stdlib.h>

const char fuzz_corpus[] = "tests/ir";
const char fuzz_words[] =
    "kernel add mul load store range splat broadcast reshape trans reduce scan for while if yield dot "
    "convert "
    "f16 bf16 f32 f64 i1 i8 i16 i32 i64 fp8e5 ptr<f32> tile<64xf32> tile<8x8xi32> tile<128x64xf16> axis=0 "
    "warps=4 target=sm_90a target=sm_80 stages=3 {align=16} layout reg lane warp ";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const targets[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"};
    neso_context_options limits = {
        .size = sizeof limits, .memory_limit = (size_t)128 << 20, .ir_limit = 20000, .time_limit_ms = 2000};
    neso_compile_options options = {.size = sizeof options, .target = targets[(size ? data[0] : 0) % 6]};
    neso_context *ctx;
    neso_module *module;
    neso_kernel *kernel;
    if (neso_context_create(&limits, &ctx) != NESO_OK)
        abort();
    if (neso_module_from_source(ctx, "fuzz.ir", (const char *)data, size, &module) == NESO_OK) {
        for (size_t i = 0; i < 4 && neso_module_kernel(module, i); i++)
            if (neso_kernel_compile(module, neso_module_kernel(module, i), &options, &kernel) == NESO_OK)
                neso_kernel_release(kernel);
        neso_module_release(module);
    }
    neso_context_release(ctx);
    return 0;
}
