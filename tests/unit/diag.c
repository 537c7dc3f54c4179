/* SPDX-License-Identifier: MIT */
/* diag.c: tests the format of diagnostics: conversion specifiers, carets, inlining chains, limits, JSON. */
#include "tests/unit/test.h"
#include "tests/unit/world.h"

static const char *rendered(struct world *w)
{
    struct text t;
    text_init(&t, &w->arena);
    diag_render_all(&w->diag, &t);
    return t.s;
}

static const char *as_json(struct world *w)
{
    struct text t;
    text_init(&t, &w->arena);
    diag_render_json(&w->diag, &t);
    return t.s;
}

static void source(struct world *w, const char *text)
{
    diag_add_source(&w->diag, "k.py", text, strlen(text));
}

TEST(shows_line_and_caret)
{
    struct world w;
    world_init(&w);
    source(&w, "a = 1\n    z = x + m\nlast");
    diag_error(&w.diag, (struct loc){.line = 2, .col = 11, .len = 3}, ERR_ir_syntax, "a name", "'+'");
    diag_note(&w.diag, (struct loc){.line = 1, .col = 1}, ERR_ir_unknown, "op", "x");
    diag_hint(&w.diag, ERR_ir_verify, "write y");
    CHECK_STR(rendered(&w), "k.py:2:11: error: expected a name, found '+' [ir-syntax]\n"
                            "    2 |     z = x + m\n"
                            "      |           ^~~\n"
                            "k.py:1:1: note: unknown op 'x'\n"
                            "hint: write y\n");
    world_free(&w);
}

TEST(caret_counts_characters_and_keeps_tabs)
{
    struct world w;
    world_init(&w);
    source(&w, "\tx\xc3\xa4 = \xe2\x82\xac\x01\xff;\r\n");
    diag_warn(&w.diag, (struct loc){.line = 1, .col = 8, .len = 3}, ERR_ir_verify, "euro");
    diag_warn(&w.diag, (struct loc){.line = 1, .col = 900, .len = 9}, ERR_ir_verify, "beyond");
    diag_warn(&w.diag, (struct loc){.line = 77, .col = 1}, ERR_ir_verify, "no such line");
    CHECK_STR(rendered(&w), "k.py:1:8: warning: euro [ir-verify]\n"
                            "    1 | \tx\xc3\xa4 = \xe2\x82\xac??;\n"
                            "      | \t     ^\n"
                            "k.py:1:900: warning: beyond [ir-verify]\n"
                            "    1 | \tx\xc3\xa4 = \xe2\x82\xac??;\n"
                            "      | \t         ^\n"
                            "k.py:77:1: warning: no such line [ir-verify]\n");
    world_free(&w);
}

TEST(long_lines_are_cut_around_the_caret)
{
    struct world w;
    world_init(&w);
    char line[1001];
    memset(line, 'a', 1000);
    line[1000] = 0;
    line[500] = 'X';
    source(&w, line);
    diag_error(&w.diag, (struct loc){.line = 1, .col = 501, .len = 400}, ERR_ir_verify, "long");
    const char *s = strchr(rendered(&w), '\n') + 1, *end = strchr(s, '\n'), *caret = strchr(end, '^');
    CHECK_INT(end - s, 8 + 3 + 120 + 3);
    CHECK(strncmp(s, "    1 | ...aaa", 14) == 0 && strncmp(end - 6, "aaa...", 6) == 0);
    CHECK_INT(caret - (end + 1), strchr(s, 'X') - s);
    CHECK_INT(strspn(caret + 1, "~"), 59);
    world_free(&w);
}

TEST(inlining_chain)
{
    struct world w;
    world_init(&w);
    source(&w, "one\ntwo\nthree\n");
    uint16_t outer = diag_push_call(&w.diag, (struct loc){.line = 3, .col = 2}, "kernel");
    uint16_t inner = diag_push_call(&w.diag, (struct loc){.line = 2, .col = 1, .call = outer}, "helper");
    diag_error(&w.diag, (struct loc){.line = 1, .col = 1, .call = inner}, ERR_ir_verify, "deep");
    CHECK_STR(rendered(&w), "k.py:1:1: error: deep [ir-verify]\n"
                            "    1 | one\n"
                            "      | ^\n"
                            "      in helper, called at k.py:2:1\n"
                            "      in kernel, called at k.py:3:2\n");
    world_free(&w);
}

static void format(struct text *t, const char *text, ...)
{
    va_list args;
    va_start(args, text);
    diag_vformat(t, text, args);
    va_end(args);
}

TEST(verbs)
{
    struct world w;
    world_init(&w);
    const struct type *f32 = type_scalar(&w.m, DT_f32);
    const struct type *tile = type_tile(&w.m, type_ptr(&w.m, f32, SPACE_global), 2, (int[]){4, 8}, NULL);
    struct value v = {.name = "acc.12"};
    struct text t;
    text_init(&t, &w.arena);
    format(&t, "%s %d %l %c %g %T %T %V %D 100%%", "s", -1, INT64_C(1) << 40, 'c', 0.5, f32, tile, &v,
           DT_bf16);
    CHECK_STR(t.s, "s -1 1099511627776 c 0.5 fp32 pointer<fp32>[4, 8] acc bf16 100%");
    world_free(&w);
}

TEST(gives_up_after_many_errors)
{
    struct world w;
    world_init(&w);
    volatile int reported = 0;
    WORLD_CATCH(&w, {
        for (; reported < 100; reported++)
            diag_error(&w.diag, (struct loc){0}, ERR_ir_verify, "again");
    });
    CHECK_INT(reported, DIAG_ERRORS_MOST);
    CHECK_INT(w.diag.list.n, DIAG_ERRORS_MOST + 1);
    CHECK_STR(w.diag.list.at[DIAG_ERRORS_MOST].message, "too many errors: stopped after 20");
    world_free(&w);
}

TEST(bugs_name_their_stage)
{
    struct world w;
    world_init(&w);
    w.diag.stage = "cse";
    WORLD_CATCH(&w, { diag_bug(&w.diag, (struct loc){0}, "lost %d ops", 3); });
    CHECK(w.diag.internal);
    CHECK_STR(rendered(&w),
              "error: internal error in cse: lost 3 ops; please report it with the input [internal]\n");
    world_free(&w);
}

TEST(json_escapes)
{
    struct world w;
    world_init(&w);
    source(&w, "x\n");
    diag_error(&w.diag, (struct loc){.line = 1, .col = 1, .len = 1}, ERR_ir_verify,
               "a \"b\" \\ \n \x01 \xff \xc3\xa4");
    diag_hint(&w.diag, ERR_ir_verify, "h");
    diag_warn(&w.diag, (struct loc){0}, ERR_ir_verify, "w");
    CHECK_STR(as_json(&w),
              "[{\"severity\": \"error\", \"tag\": \"ir-verify\", \"message\": "
              "\"a \\\"b\\\" \\\\ \\u000a \\u0001 \\ufffd \xc3\xa4\", \"file\": \"k.py\", \"line\": 1, "
              "\"column\": 1, "
              "\"length\": 1, \"notes\": [{\"severity\": \"hint\", \"tag\": \"ir-verify\", \"message\": "
              "\"h\"}]},\n "
              "{\"severity\": \"warning\", \"tag\": \"ir-verify\", \"message\": \"w\", \"notes\": []}]\n");
    world_free(&w);
}

TEST(tags_are_the_tables)
{
    CHECK_STR(error_tag(ERR_too_many_errors), "too_many_errors");
    CHECK_STR(error_text(ERR_ir_verify), "%s");
}
