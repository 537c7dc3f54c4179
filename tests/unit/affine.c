/* SPDX-License-Identifier: MIT */
/* affine.c: tests the boxes that access_pattern.c finds for accesses. A box is a part of an array that a TMA copy can
 * load. The explanations of pass raise_tma_load show the box. */
#include "tests/unit/test.h"

#include "opt/passes.h"
#include "tests/unit/world.h"

/* The IR before every case defines a program id %pid, row indices %r (64x1), column indices %c (1x32), the strides
 * %sm and %sk, and the bounds %M and %K. */
static const char before[] = "kernel @k(%A: ptr<f16> {divisible=16}, %B: ptr<ptr<f16>>, %M: i32, %K: i32, "
                             "%sm: i32, %sk: i32, %n0: i32)"
                             " warps=4 stages=3 target=sm_90a degree=traced {\n"
                             "  %pid = program_id axis=0 : i32\n"
                             "  %batch = program_id axis=1 : i32\n"
                             "  %r1 = range start=0 end=64 : tile<64xi32>\n"
                             "  %c1 = range start=0 end=32 : tile<32xi32>\n"
                             "  %r = expand_dims %r1 axis=1 : tile<64x1xi32>\n"
                             "  %c = expand_dims %c1 axis=0 : tile<1x32xi32>\n"
                             "  %c64 = const value=64 : i32\n"
                             "  %start = mul %pid, %c64 : i32\n"
                             "  %starts = splat %start : tile<64x1xi32>\n"
                             "  %rm = add %starts, %r : tile<64x1xi32>\n"
                             "  %sms = splat %sm : tile<64x1xi32>\n"
                             "  %rows = mul %rm, %sms : tile<64x1xi32>\n"
                             "  %rows2 = broadcast %rows : tile<64x32xi32>\n"
                             "  %c2 = broadcast %c : tile<64x32xi32>\n"
                             "  %offs = add %rows2, %c2 : tile<64x32xi32>\n"
                             "  %Ms = splat %M : tile<64x1xi32>\n"
                             "  %rin = cmp %rm, %Ms pred=slt : tile<64x1xi1>\n"
                             "  %rin2 = broadcast %rin : tile<64x32xi1>\n"
                             "  %As = splat %A : tile<64x32xptr<f16>>\n"
                             "  %zero = const value=0 : i32\n"
                             "  %one = const value=1 : i32\n";

#define PLAIN "  %p = addptr %As, %offs : tile<64x32xptr<f16>>\n"
#define LOAD "  %x = load %p : tile<64x32xf16>\n"
#define ROWS "dimension 0: stride 2 %sm, from 64 %pid"

static const struct {
    const char *ir, *says;
} cases[] = {
    {PLAIN LOAD, "%A; " ROWS "; dimension 1: stride 2, from 0"},
    {PLAIN "  %x = load %p, %rin2 : tile<64x32xf16>\n",
     "%A; " ROWS ", below %M; dimension 1: stride 2, from 0"},

    /* the comparison has its operands swapped, or is `<=` instead of `<` */
    {PLAIN "  %m = cmp %Ms, %rm pred=sge : tile<64x1xi1>\n"
           "  %m2 = broadcast %m : tile<64x32xi1>\n"
           "  %x = load %p, %m2 : tile<64x32xf16>\n",
     "%A; " ROWS ", below %M + 1; dimension 1: stride 2, from 0"},

    /* two bounds; the unsigned bound also excludes negative indices */
    {PLAIN "  %Ks = const value=17 : tile<1x32xi32>\n"
           "  %m = cmp %c, %Ks pred=ult : tile<1x32xi1>\n"
           "  %m2 = broadcast %m : tile<64x32xi1>\n"
           "  %m3 = and %m2, %rin2 : tile<64x32xi1>\n"
           "  %x = load %p, %m3 : tile<64x32xf16>\n",
     "%A; " ROWS ", below %M; dimension 1: stride 2, from 0, below 17"},

    /* a halo: indices may be negative, and the mask excludes negative indices */
    {"  %ones = splat %one : tile<64x1xi32>\n"
     "  %rh = sub %rm, %ones : tile<64x1xi32>\n"
     "  %h = mul %rh, %sms : tile<64x1xi32>\n"
     "  %h2 = broadcast %h : tile<64x32xi32>\n"
     "  %o = add %h2, %c2 : tile<64x32xi32>\n"
     "  %p = addptr %As, %o : tile<64x32xptr<f16>>\n"
     "  %zs = splat %zero : tile<64x1xi32>\n"
     "  %low = cmp %rh, %zs pred=sge : tile<64x1xi1>\n"
     "  %high = cmp %rh, %Ms pred=slt : tile<64x1xi1>\n"
     "  %m = and %low, %high : tile<64x1xi1>\n"
     "  %m2 = broadcast %m : tile<64x32xi1>\n"
     "  %x = load %p, %m2 : tile<64x32xf16>\n",
     "%A; dimension 0: stride 2 %sm, from 64 %pid - 1, below %M; dimension 1: stride 2, from 0"},

    /* a batch dimension, and an offset that is the same in all programs */
    {"  %b = mul %batch, %sk : i32\n"
     "  %bn = add %b, %n0 : i32\n"
     "  %q = addptr %A, %bn : ptr<f16>\n"
     "  %qs = splat %q : tile<64x32xptr<f16>>\n"
     "  %p = addptr %qs, %offs : tile<64x32xptr<f16>>\n" LOAD,
     "%A + 2 %n0; " ROWS "; dimension 1: stride 2, from 0; outer dimension 2: stride 2 %sk, from %batch"},

    /* loops: pointers that increase or decrease, and an index computed from the counter */
    {PLAIN "  %step = const value=32 : tile<64x32xi32>\n"
           "  %down = const value=-32 : i32\n"
           "  %end = for %k = %K to %zero step %down carry(%q = %p) : tile<64x32xptr<f16>> {\n"
           "    %x = load %q : tile<64x32xf16>\n"
           "    %next = addptr %q, %step : tile<64x32xptr<f16>>\n"
           "    yield %next\n"
           "  }\n",
     "%A; " ROWS "; dimension 1: stride 2, from 32 trips(%k)"},
    {"  %up = const value=32 : i32\n"
     "  for %k = %zero to %K step %up {\n"
     "    %ks = splat %k : tile<1x32xi32>\n"
     "    %ck = add %ks, %c : tile<1x32xi32>\n"
     "    %ck2 = broadcast %ck : tile<64x32xi32>\n"
     "    %o = add %rows2, %ck2 : tile<64x32xi32>\n"
     "    %p = addptr %As, %o : tile<64x32xptr<f16>>\n"
     "    %Ks = splat %K : tile<1x32xi32>\n"
     "    %m = cmp %ck, %Ks pred=slt : tile<1x32xi1>\n"
     "    %m2 = broadcast %m : tile<64x32xi1>\n"
     "    %x = load %p, %m2 : tile<64x32xf16>\n"
     "    yield\n"
     "  }\n",
     "%A; " ROWS "; dimension 1: stride 2, from 32 trips(%k), below %K"},

    /* row indices modulo the number of rows */
    {"  %w = rems %rm, %Ms : tile<64x1xi32>\n"
     "  %wo = mul %w, %sms : tile<64x1xi32>\n"
     "  %w2 = broadcast %wo : tile<64x32xi32>\n"
     "  %o = add %w2, %c2 : tile<64x32xi32>\n"
     "  %p = addptr %As, %o : tile<64x32xptr<f16>>\n" LOAD,
     "%A; " ROWS ", wrapped at %M; dimension 1: stride 2, from 0"},

    /* accesses that no box describes */
    {"  %o = add %offs, %offs : tile<64x32xi32>\n"
     "  %p = addptr %As, %o : tile<64x32xptr<f16>>\n" LOAD,
     "no dimension is contiguous"},
    {"  %o = mul %offs, %offs : tile<64x32xi32>\n"
     "  %p = addptr %As, %o : tile<64x32xptr<f16>>\n" LOAD,
     "%o is no sum of products with uniform factors"},
    {"  %q = load %B : ptr<f16>\n"
     "  %qs = splat %q : tile<64x32xptr<f16>>\n"
     "  %p = addptr %qs, %offs : tile<64x32xptr<f16>>\n" LOAD,
     "%q is no sum of a parameter and an index"},
    {PLAIN "  %m = cmp %rm, %Ms pred=ne : tile<64x1xi1>\n"
           "  %m2 = broadcast %m : tile<64x32xi1>\n"
           "  %x = load %p, %m2 : tile<64x32xf16>\n",
     "the mask is no conjunction of bounds"},
    {"  %row = broadcast %c : tile<64x32xi32>\n"
     "  %p = addptr %As, %row : tile<64x32xptr<f16>>\n" LOAD,
     "dimension 0 is broadcast, or has one element"},
    {"  %back = sub %zero, %start : i32\n"
     "  %bs = splat %back : tile<64x32xi32>\n"
     "  %o = add %offs, %bs : tile<64x32xi32>\n"
     "  %p = addptr %As, %o : tile<64x32xptr<f16>>\n" LOAD,
     "the start of dimension 1 may be negative"},
};

static void collect(void *ctx, const char *pass, const char *s, size_t n)
{
    (void)pass;
    text_bytes(ctx, s, n);
}

/* Returns the first line of the explanation for the access to %x. */
static const char *explain(struct world *w, const char *ir)
{
    struct text source, out;
    world_init(w);
    text_init(&source, &w->arena);
    text_init(&out, &w->arena);
    text_printf(&source, "%s%s  return\n}\n", before, ir);
    if (!world_parse(w, source.s))
        return "it does not parse";
    struct opt_options o = {.passes = "raise_tma_load",
                            .explain = "raise_tma_load",
                            .verify_each = true,
                            .write = collect,
                            .write_ctx = &out};
    opt_run(w->m.funcs.at[0], &o);
    static const char head[] = "raise_tma_load: load: ";
    char *from = out.s ? strstr(out.s, head) : NULL, *end = from ? strchr(from, '\n') : NULL;
    if (!end)
        return "nothing was said";
    *end = '\0';
    return from + sizeof head - 1;
}

TEST(accesses)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w;
        CHECK_STR(explain(&w, cases[i].ir), cases[i].says);
        world_free(&w);
    }
}

/* -- expressions -- */

TEST(expressions)
{
    struct world w;
    struct expr e = {0};
    int64_t value, args[] = {-7, 3};
    uint32_t grid[] = {5, 6, 7};
    world_init(&w);
    expr_push(&w.arena, &e, EXPR_param, 0);
    expr_push(&w.arena, &e, EXPR_param, 1);
    expr_push(&w.arena, &e, EXPR_div, 0);
    CHECK(expr_eval(&e, args, grid, &value) && value == -2);
    expr_push(&w.arena, &e, EXPR_grid, 2);
    expr_push(&w.arena, &e, EXPR_mul, 0);
    CHECK(expr_eval(&e, args, grid, &value) && value == -14);
    args[1] = 0;
    CHECK(!expr_eval(&e, args, grid, &value));
    args[1] = 3;
    expr_push(&w.arena, &e, EXPR_const, INT64_MIN);
    expr_push(&w.arena, &e, EXPR_add, 0);
    CHECK(!expr_eval(&e, args, grid, &value));
    expr_push(&w.arena, &e, EXPR_add, 0);
    CHECK(!expr_eval(&e, args, grid, &value));
    world_free(&w);
}

TEST(maps_that_no_unit_takes)
{
    struct expr_step steps[] = {{EXPR_param, 0}, {EXPR_param, 1}, {EXPR_param, 2}, {EXPR_const, 2}};
    struct tensor_map m = {.dtype = DT_f16, .rank = 2, .box = {64, 64}};
    struct expr e[4];
    for (int i = 0; i < 4; i++)
        e[i] = (struct expr){&steps[i], 1, 1};
    m.base = e[0];
    m.extents[0] = m.extents[1] = e[1];
    m.strides[0] = e[2];
    m.strides[1] = e[3];
    const struct {
        int64_t base, extent, stride;
        bool good;
    } rows[] = {{4096, 1, 16, true},   {4096, INT64_C(1) << 32, (INT64_C(1) << 40) - 16, true},
                {4096, 0, 16, false},  {4096, -1, 16, false},
                {4104, 1, 16, false},  {4096, 1, 24, false},
                {4096, 1, -16, false}, {4096, (INT64_C(1) << 32) + 1, 16, false},
                {4096, 1, 0, true},    {4096, 1, INT64_C(1) << 40, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t args[] = {rows[i].base, rows[i].extent, rows[i].stride};
        uint32_t grid[3] = {1, 1, 1};
        struct tensor_map_values v;
        CHECK_INT(tensor_map_values(&m, args, grid, &v) && tensor_map_is_aligned(&v), rows[i].good);
    }
}
