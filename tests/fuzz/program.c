/* SPDX-License-Identifier: MIT */
/* program.c: runs any bytes as a whole program, including host code, on the interpreter. No input may crash, leak,
 * exceed its limits, or lead to an internal error.
 *
 *   make fuzz-program && build/fuzz/fuzz_program tests/fuzz/program -max_len=4000 -runs=1000000 */
#include "runtime/neso.h"
#include "tests/fuzz/mutate.h"

#include <stdio.h>
#include <stdlib.h>

const char fuzz_corpus[] = "tests/fuzz/program";
const char fuzz_words[] = TRITON_WORDS "torch.randn torch.zeros torch.empty torch.arange torch.full "
                                       "torch.allclose torch.softmax torch.matmul torch.cat "
                                       ".sum() .max() .item() .shape .stride(0) .view( .reshape( .T .half() "
                                       ".float() .cpu() device='cuda' dtype=torch.float16 "
                                       "dtype=torch.int32 range( len( sorted( zip( enumerate( dict( list( "
                                       "tuple( set( isinstance( getattr( print( assert import from "
                                       "@triton.jit @triton.autotune triton.cdiv( triton.Config( f'{x}' "
                                       "'%d'%x x[::-1] x[1:] **kw *args yield global nonlocal except: ";

static int save(void *user, const char *path, const char *text, size_t length)
{
    (void)user, (void)path, (void)text, (void)length;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    neso_context_options limits = {.size = sizeof limits,
                                   .memory_limit = (size_t)64 << 20,
                                   .step_limit = 20000,
                                   .ir_limit = 20000,
                                   .time_limit_ms = 1000};
    const char *argv[] = {"fuzz.py"};
    neso_run_options options = {
        .size = sizeof options, .argc = 1, .argv = argv, .save = save, .timing = NESO_TIMING_ONCE};
    neso_context *ctx;
    if (neso_context_create(&limits, &ctx) != NESO_OK ||
        neso_context_use_device(ctx, "interpreter", NULL) != NESO_OK)
        abort();
    if (neso_program_run(ctx, "fuzz.py", (const char *)data, size, &options) == NESO_INTERNAL) {
        fputs(neso_error_text(ctx), stderr);
        abort();
    }
    neso_context_release(ctx);
    return 0;
}
