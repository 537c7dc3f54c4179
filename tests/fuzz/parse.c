/* SPDX-License-Identifier: MIT */
/* parse.c: parses any bytes as a Python source. The parser must not crash, and must report an error if it omits a part
 * of the source. The tree must have the properties that ast.h states (source locations inside the text, a bounded
 * height), and printing the tree must succeed.
 *
 *   make fuzz-parse && build/fuzz/fuzz_parse tests/fuzz/parse -dict=tests/fuzz/parse.dict -runs=1000000 */
#include "frontend/python/ast.h"
#include "tests/fuzz/mutate.h"
#include "tests/unit/world.h"

const char fuzz_corpus[] = "tests/fuzz/parse";
const char fuzz_words[] = TRITON_WORDS;

static void promise(bool kept)
{
    if (!kept)
        abort();
}

/* The length of each line of a text, and the number of lines. */
struct lines {
    uint32_t *bytes;
    uint32_t n;
};

static struct lines measure(struct arena *a, const char *s, size_t len)
{
    struct lines lines = {NEW_ARRAY(a, len + 1, uint32_t), 1};
    for (size_t i = 0; i < len; i++) {
        if (s[i] == '\n')
            lines.n++;
        else
            lines.bytes[lines.n - 1]++;
    }
    return lines;
}

static void check_node(const struct ast *n, const struct lines *lines)
{
    promise(n->loc.line >= 1 && n->loc.line <= lines->n);
    uint32_t line_bytes = lines->bytes[n->loc.line - 1];
    promise(n->loc.col >= 1 && n->loc.col <= line_bytes + 1);
    promise(n->loc.col - 1u + n->loc.len <= line_bytes || line_bytes > UINT16_MAX);
    promise(n->height >= 1 && n->height <= AST_HEIGHT_MOST + 1);
    struct ast_cursor at = {0};
    for (const struct ast *c; (c = ast_child(n, &at));) {
        promise(c->height < n->height);
        check_node(c, lines);
    }
}

static void try_text(struct world *w, const char *data, size_t size)
{
    struct interner strings;
    interner_init(&strings, &w->arena);
    const struct source *src = diag_add_source(&w->diag, "fuzz.py", data, size);
    const struct ast *n = parse_module(&w->arena, &strings, &w->diag, src);
    struct lines lines = measure(&w->arena, data, size);
    check_node(n, &lines);
    struct text out;
    text_init(&out, &w->arena);
    ast_print(n, &out);
    for (int i = 0; i < n->module.body.n; i++)
        if (n->module.body.at[i]->kind == AST_def)
            ast_def_text(n->module.body.at[i], src, &out);
    const struct ast *x = parse_expression(&w->arena, &strings, &w->diag, src);
    promise(x || w->diag.nerrors > 0);
}

static void render(struct world *w)
{
    struct text out;
    text_init(&out, &w->arena);
    diag_render_all(&w->diag, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w;
    world_init(&w);
    WORLD_CATCH(&w, { try_text(&w, (const char *)data, size); });
    render(&w);
    world_free(&w);
    return 0;
}
