/* SPDX-License-Identifier: MIT */
/* ir.c: parses any bytes as IR text. The parser must not crash. If the parser accepts the text, it must also accept
 * the printed IR, and printing the IR of this second text must give the second text again. The verifier must accept or
 * reject the IR without a crash.
 *
 *   make fuzz-ir && build/fuzz/fuzz_ir tests/ir -runs=1000000 */
#include "tests/fuzz/mutate.h"
#include "tests/unit/world.h"

const char fuzz_corpus[] = "tests/ir";
const char fuzz_words[] = "kernel add mul load store range splat reduce scan for while if yield f32 i32 "
                          "ptr<f32> tile<64xf32> axis=0 layout reg lane warp ";

static void print_back(const struct text *once)
{
    struct world w;
    world_init(&w);
    struct text twice;
    text_init(&twice, &w.arena);
    if (!world_parse(&w, once->s))
        abort();
    module_print(&w.m, &twice);
    if (strcmp(once->s, twice.s) != 0)
        abort();
    world_free(&w);
}

static void try_text(struct world *w, const char *text, size_t len)
{
    struct text out;
    text_init(&out, &w->arena);
    if (!module_parse(&w->m, diag_add_source(&w->diag, "fuzz.ir", text, len))) {
        diag_render_all(&w->diag, &out);
        diag_render_json(&w->diag, &out);
        return;
    }
    module_print(&w->m, &out);
    print_back(&out);
    for (int i = 0; i < w->m.funcs.n; i++) {
        const struct op *at;
        func_verify(w->m.funcs.at[i], &at);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w;
    world_init(&w);
    volatile bool returned = false;
    WORLD_CATCH(&w, {
        try_text(&w, (const char *)data, size);
        returned = true;
    });
    if (!returned)
        abort();
    world_free(&w);
    return 0;
}
