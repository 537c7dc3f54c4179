/* SPDX-License-Identifier: MIT */
/* verify.c: tests that the verifier accepts valid IR and reports invalid IR. */
#include "tests/unit/test.h"
#include "tests/unit/world.h"

/* Returns the verifier's message for a kernel with this body at this degree of lowering: "" if the kernel is valid,
 * NULL if it does not parse. */
static const char *verdict(struct world *w, const char *degree, const char *layouts, const char *body)
{
    world_init(w);
    struct text t;
    text_init(&t, &w->arena);
    text_printf(
        &t, "kernel @k(%%p: ptr<f32>, %%n: i32, %%x: f32, %%c: i1) warps=4 stages=3 degree=%s {\n%s%s\n}\n",
        degree, layouts, body);
    if (!world_parse(w, t.s))
        return NULL;
    const struct op *at;
    const char *wrong = func_verify(w->m.funcs.at[0], &at);
    return wrong ? wrong : "";
}

static void expect(const char *degree, const char *layouts, const char *body, const char *message)
{
    struct world w;
    const char *found = verdict(&w, degree, layouts, body);
    CHECK(found != NULL);
    if (found)
        CHECK_STR(found, message);
    world_free(&w);
}

TEST(types_follow_the_rules)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"%a = add %n, %x : i32", "operands differ: i32 and f32"},
        {"%a = add %n, %n : i64", "%a is i64, and should be i32"},
        {"%a = add %p, %p : ptr<f32>", "expected integers or floats, found ptr<f32>"},
        {"%a = and %x, %x : f32", "expected integers, found f32"},
        {"%a = exp %n : i32", "expected floats, found i32"},
        {"%a = cmp %x, %x pred=slt : i1", "predicate slt does not compare f32"},
        {"%a = cmp %n, %n pred=lt : i1", "predicate lt does not compare i32"},
        {"%a = cmp %n, %n : i32", "%a is i32, and should be i1"},
        {"%a = select %n, %x, %x : f32", "the condition is i32, expected i1"},
        {"%a = select %c, %x, %n : f32", "operands differ: f32 and i32"},
        {"%a = addptr %p, %x : ptr<f32>", "expected pointers and integers, found ptr<f32> and f32"},
        {"%a = addptr %p, %c : ptr<f32>", "expected pointers and integers, found ptr<f32> and i1"},
        {"%a = sext %n : i16", "sext does not make i16 of i32"},
        {"%a = trunc %n : i64", "trunc does not make i64 of i32"},
        {"%a = fext %x : f16", "fext does not make f16 of f32"},
        {"%a = ftrunc %x : f64", "ftrunc does not make f64 of f32"},
        {"%a = stof %x : f32", "stof does not make f32 of f32"},
        {"%a = ftou %n : i32", "ftou does not make i32 of i32"},
        {"%a = bitcast %p : i32", "bitcast does not make i32 of ptr<f32>"},
        {"%a = bitcast %n : tile<1xf32>", "bitcast does not make tile<1xf32> of i32"},
        {"%a = program_id axis=3 : i32", "axis is 3, expected 0 to 2"},
        {"%a = range start=0 end=3 : tile<4xi32>",
         "the size of a range must be a power of two, its numbers must fit 32 bits"},
        {"%a = range start=0 end=4 : tile<8xi32>", "%a is tile<8xi32>, and should be tile<4xi32>"},
        {"%a = splat %n : tile<4xf32>", "splat of i32 gives no tile<4xf32>"},
        {"%a = splat %n : i32", "splat of i32 gives no i32"},
        {"%a = load %n : i32", "expected pointers, found i32"},
        {"%a = load %p, %n : f32", "the mask is i32, expected i1"},
        {"%a = load %p, %c, %n : f32", "other is i32, expected f32"},
        {"%a = load %p vec=3 : f32", "a vector of 3 elements"},
        {"store %p, %n", "the value is i32, expected f32"},
        {"%a = atomic_rmw %p, %x rmw=add : f32", "atomic add does not take f32"},
        {"%a = atomic_cas %p, %x, %n : f32", "the value is i32, expected f32"},
        {"%a = hint %n divisible=[1 2] : i32", "divisible has 2 numbers for 0 dimensions"},
        {"%a = hint %n divisible=[0] : i32", "divisible promises 0"},
        {"assert %n", "the condition is i32, expected i1"},
        {"%a = reshape %n : tile<2xi32>", "i32 does not reshape to tile<2xi32>"},
        {"%a = expand_dims %n axis=0 : tile<1xi32>", "expected a tile, found i32"},
        {"%a = join %x, %x : tile<4xf32>", "%a is tile<4xf32>, and should be tile<2xf32>"},
        {"%a = convert %x : f32", "f32 does not convert to f32"},
        {"%a = dot %x, %x, %x : f32", "no dot of f32 and f32 into f32"},
        {"%a = add %n, %n : i32", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[200];
        snprintf(body, sizeof body, "%s\nreturn", rows[i].line);
        expect("traced", "", body, rows[i].message);
    }
}

TEST(tiles_follow_the_rules)
{
    static const struct {
        const char *line, *message;
    } rows[] = {
        {"%a = trans %t order=[0 0] : tile<4x8xi32>", "order is no permutation of 2 dimensions"},
        {"%a = trans %t order=[1] : tile<4x8xi32>", "order is no permutation of 2 dimensions"},
        {"%a = trans %t order=[1 0] : tile<4x8xi32>", "%a is tile<4x8xi32>, and should be tile<8x4xi32>"},
        {"%a = broadcast %t : tile<8x8xi32>", "tile<4x8xi32> does not broadcast to tile<8x8xi32>"},
        {"%a = expand_dims %t axis=3 : tile<1x4x8xi32>", "axis is 3, expected 0 to 2"},
        {"%a, %b = split %t : tile<4xi32>, tile<4xi32>", "tile<4x8xi32> has no last dimension of 2"},
        {"%a = gather %t, %i axis=0 : tile<32xi32>", "tile<32xi32> does not index tile<4x8xi32>"},
        {"%a = histogram %i bins=3 : tile<4xi32>", "3 bins are no power of two"},
        {"%a = reshape %t : tile<16xi32>", "tile<4x8xi32> does not reshape to tile<16xi32>"},
        {"%a = dot %t, %t, %t : tile<4x8xi32>",
         "no dot of tile<4x8xi32> and tile<4x8xi32> into tile<4x8xi32>"},
        {"%a = reduce %t axis=2 : tile<4xi32> (%d: i32, %e: i32) {\nyield %d\n}",
         "axis is 2, expected 0 to 1"},
        {"%a = reduce %t axis=1 : tile<8xi32> (%d: i32, %e: i32) {\nyield %d\n}",
         "%a is tile<8xi32>, and should be tile<4xi32>"},
        {"%a = reduce %t axis=1 : tile<4xi32> (%d: i32) {\nyield %d\n}",
         "the region of reduce has 1 arguments, expected 2"},
        {"%a = reduce %t axis=1 : tile<4xi32> (%d: i32, %e: f32) {\nyield %d\n}", "%e is f32, expected i32"},
        {"%a = reduce %t axis=1 : tile<4xi32> (%d: i32, %e: i32) {\nyield %d, %e\n}",
         "yield yields 2 values, expected 1"},
        {"%a = reduce %t, %i axis=0 : tile<8xi32>, tile<8xi32> (%d: i32, %e: i32) {\nyield %d\n}", NULL},
        {"%a = reduce %t axis=1 : tile<4xi32> (%d: i32, %e: i32) {\nyield %e\n}", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[300];
        snprintf(body, sizeof body,
                 "%%i = range start=0 end=32 : tile<32xi32>\n%%t = reshape %%i : tile<4x8xi32>\n%s\nreturn",
                 rows[i].line);
        if (rows[i].message)
            expect("traced", "", body, rows[i].message);
    }
}

TEST(control_is_whole)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"", "the kernel does not end in return"},
        {"return\nreturn", "return is not at the end of its block"},
        {"if %c {\nyield\n} else {\n}\nreturn", "a block of if has no terminator"},
        {"if %c {\nreturn\n} else {\nyield\n}\nreturn", ""},
        {"if %n {\nyield\n} else {\nyield\n}\nreturn", "the condition is i32, expected i1"},
        {"%r = if %c : i32 {\nyield %n\n} else {\nyield\n}\nreturn", "yield yields 0 values, expected 1"},
        {"%r = if %c : i32 {\nyield %n\n} else {\nyield %x\n}\nreturn", "%x is f32, expected i32"},
        {"for %i = %n to %n step %n {\nif %c {\nreturn\n} else {\nyield\n}\nyield\n}\nreturn",
         "a region of if ends in return"},
        {"for %i = %x to %x step %x {\nyield\n}\nreturn", "bounds are f32, f32, f32"},
        {"%r = for %i = %n to %n step %n carry(%a = %x) : f32 {\nyield %i\n}\nreturn",
         "%i is i32, expected f32"},
        {"%r = for %i = %n to %n step %n carry(%a = %x) : i32 {\nyield %a\n}\nreturn",
         "%r is i32, and should be f32"},
        {"%r = for %i = %n to %n step %n : i32 {\nyield\n}\nreturn", "0 values carried, 1 results"},
        {"while {\nyield\n} do () {\nyield\n}\nreturn", "a region of while ends in yield"},
        {"%r = while carry(%a = %n) : f32 {\ncondition %c, %x\n} do (%b) {\nyield %n\n}\nreturn", ""},
        {"%r = while carry(%a = %n) : f32 {\ncondition %c, %a\n} do (%b) {\nyield %n\n}\nreturn",
         "%a is i32, expected f32"},
        {"%r = while carry(%a = %n) : f32 {\ncondition %c, %x\n} do (%b) {\nyield %b\n}\nreturn",
         "%b is f32, expected i32"},
        {"if %c {\n%y = neg %n : i32\nyield\n} else {\nyield\n}\n%z = neg %y : i32\nreturn",
         "%y is not defined here"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect("traced", "", rows[i].body, rows[i].message);
}

/* -- invalid IR that has no text form -- */

static struct func *parsed(struct world *w)
{
    verdict(w, "traced", "", "%a = neg %n : i32\n%b = neg %a : i32\nreturn");
    return w->m.funcs.at[0];
}

static const char *verified(struct func *f)
{
    const struct op *at;
    const char *wrong = func_verify(f, &at);
    return wrong ? wrong : "";
}

TEST(broken_structures_are_found)
{
    struct world w;
    struct func *f = parsed(&w);
    op_move_to_end(f->body->first, f->body);
    CHECK_STR(verified(f), "%a is not defined here");
    world_free(&w);

    f = parsed(&w);
    f->body->first->next->results[0].name = "a";
    CHECK_STR(verified(f), "two values are called %a");
    world_free(&w);

    f = parsed(&w);
    f->body->first->opnds[0].value = f->body->args.at[2];
    CHECK_STR(verified(f), "the uses of %n are broken");
    world_free(&w);

    f = parsed(&w);
    f->body->last->prev = NULL;
    CHECK_STR(verified(f), "an op has a wrong back link");
    world_free(&w);

    f = parsed(&w);
    f->num_warps = 3;
    CHECK_STR(verified(f), "3 warps");
    world_free(&w);

    f = parsed(&w);
    f->body->first->next->attrs = &(struct attr){.key = ATTR_axis};
    f->body->first->next->nattrs = 1;
    CHECK_STR(verified(f), "neg has no attribute axis");
    world_free(&w);
}

TEST(the_op_that_is_wrong_is_named)
{
    struct world w;
    struct func *f = parsed(&w);
    value_set_type(op_result(f->body->first->next), type_scalar(&w.m, DT_i64));
    const struct op *at = NULL;
    CHECK_STR(func_verify(f, &at), "%b is i64, and should be i32");
    CHECK(at == f->body->first->next);
    struct text t;
    text_init(&t, &w.arena);
    op_print(at, &t);
    CHECK_STR(t.s, "%b = neg %a : i64");
    world_free(&w);
}

/* -- layouts -- */

static const char *const layouts =
    "layout #v = reg[1 2] lane[4 8 16 32 64] warp[128 256]\n"
    "layout #w = reg[128 256] lane[1 2 4 8 16] warp[32 64]\n"
    "layout #m = reg[(0,1) (0,2)] lane[(0,4) (0,8) (1,0) (2,0) (4,0)] warp[(8,0) (0,0)]\n"
    "layout #mt = reg[(1,0) (2,0)] lane[(4,0) (8,0) (0,1) (0,2) (0,4)] warp[(0,8) (0,0)]\n"
    "layout #row = lane[0 0 1 2 4] warp[8 0]\n"
    "layout #repeated = reg[0] lane[0 0 1 2 4] warp[8 0]\n"
    "layout #other = lane[1 2 4 8 0] warp[0 0]\n"
    "layout #col = lane[(0,0) (0,0) (1,0) (2,0) (4,0)] warp[(8,0) (0,0)]\n"
    "layout #narrow = reg[1 2] lane[4 8 16 32] warp[64 128]\n"
    "layout #few = reg[1 2 256] lane[4 8 16 32 64] warp[128]\n"
    "layout #off = offset[1 2 4 8]\n";

TEST(layouts_follow_shapes)
{
    static const struct {
        const char *body, *message;
    } rows[] = {
        {"%a = range start=0 end=512 : tile<512xi32>", "tile<512xi32> in a function that is laid out"},
        {"%a = range start=0 end=512 : tile<512xi32,#v>", ""},
        {"%a = range start=0 end=512 : tile<512xi32,#few>",
         "tile<512xi32,{reg[1 2 256] lane[4 8 16 32 64] warp[128]}> is not laid out over 32 lanes and 4 "
         "warps"},
        {"%a = range start=0 end=256 : tile<256xi32,#narrow>",
         "tile<256xi32,{reg[1 2] lane[4 8 16 32] warp[64 128]}> is not laid out over 32 lanes and 4 warps"},
        {"%a = range start=0 end=16 : tile<16xi32,#off>",
         "tile<16xi32,{offset[1 2 4 8]}> is not laid out over 32 lanes and 4 warps"},
        {"%a = shared_alloc : shared<16xi32,#row>",
         "shared<16xi32,{lane[0 0 1 2 4] warp[8 0]}> is not laid out by offsets"},
        {"%a = shared_alloc : shared<16xi32,#off>", ""},
        {"%a = splat %n : tile<512xi32,#v>\n%b = splat %n : tile<512xi32,#w>\n%d = add %a, %b : "
         "tile<512xi32,#v>",
         "operands differ: tile<512xi32,{reg[1 2] lane[4 8 16 32 64] warp[128 256]}> and "
         "tile<512xi32,{reg[128 256] lane[1 2 4 8 16] warp[32 64]}>"},
        {"%a = splat %n : tile<512xi32,#v>\n%b = convert %a : tile<512xi32,#w>", ""},
        {"%a = splat %n : tile<16x16xi32,#m>\n%b = trans %a order=[1 0] : tile<16x16xi32,#mt>", ""},
        {"%a = splat %n : tile<16x16xi32,#m>\n%b = trans %a order=[1 0] : tile<16x16xi32,#m>",
         "%b is tile<16x16xi32,{reg[(0,1) (0,2)] lane[(0,4) (0,8) (1,0) (2,0) (4,0)] warp[(8,0) (0,0)]}>, "
         "and should be "
         "tile<16x16xi32,{reg[(1,0) (2,0)] lane[(4,0) (8,0) (0,1) (0,2) (0,4)] warp[(0,8) (0,0)]}>"},
        {"%a = splat %n : tile<16xi32,#row>\n%b = expand_dims %a axis=1 : tile<16x1xi32,#col>\n"
         "%d = broadcast %b : tile<16x16xi32,#m>",
         ""},
        {"%a = splat %n : tile<16x1xi32,#col>\n%b = broadcast %a : tile<16x16xi32,#mt>",
         "tile<16x1xi32,{lane[(0,0) (0,0) (1,0) (2,0) (4,0)] warp[(8,0) (0,0)]}> is not laid out as its "
         "broadcast "
         "tile<16x16xi32,{reg[(1,0) (2,0)] lane[(4,0) (8,0) (0,1) (0,2) (0,4)] warp[(0,8) (0,0)]}>"},
        {"%a = splat %n : tile<16x16xi32,#m>\n%b = reduce %a axis=1 : tile<16xi32,#row> (%d: i32, %e: i32) "
         "{\nyield %d\n}",
         ""},
        {"%a = splat %n : tile<16x16xi32,#m>\n%b = reduce %a axis=1 : tile<16xi32,#repeated> (%d: i32, %e: "
         "i32) {\nyield %d\n}",
         ""},
        {"%a = splat %n : tile<16x16xi32,#m>\n%b = reduce %a axis=1 : tile<16xi32,#other> (%d: i32, %e: i32) "
         "{\nyield %d\n}",
         "tile<16xi32,{lane[1 2 4 8 0] warp[0 0]}> is not laid out as a slice of "
         "tile<16x16xi32,{reg[(0,1) (0,2)] lane[(0,4) (0,8) (1,0) (2,0) (4,0)] warp[(8,0) (0,0)]}>"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char body[400];
        snprintf(body, sizeof body, "%s\nreturn", rows[i].body);
        expect("laid_out", layouts, body, rows[i].message);
    }
}

TEST(degrees_demand_and_forbid)
{
    const char *convert = "%a = splat %n : tile<512xi32,#v>\n%b = convert %a : tile<512xi32,#w>\nreturn";
    expect("laid_out", layouts, convert, "");
    expect("scheduled", layouts, convert, "a convert through shared memory in a function that is scheduled");
    expect("traced", layouts, "%a = splat %n : tile<512xi32,#v>\nreturn",
           "tile<512xi32,{reg[1 2] lane[4 8 16 32 64] warp[128 256]}> in a function that is traced");
    expect("scheduled", layouts, "ready\nreturn", "ready is outside of every role");
    expect("traced", layouts, "%a = shared_alloc : shared<16xi32,#off>\nreturn",
           "shared_alloc in a function that is traced");
}

TEST(warpgroups_stagger_where_there_are_some)
{
    expect("laid_out", "", "stagger_wait\nstagger_arrive\nstagger_end\nreturn",
           "stagger_wait for 1 warpgroups, expected 2 to 4");
    struct world w;
    world_init(&w);
    CHECK(world_parse(
        &w,
        "kernel @k(%p: ptr<f32>) warps=8 stages=3 degree=laid_out {\nstagger_wait\nbarrier\nstagger_arrive\n"
        "stagger_end\nreturn\n}\n"));
    const struct op *at;
    const char *wrong = func_verify(w.m.funcs.at[0], &at);
    CHECK(wrong != NULL);
    if (wrong)
        CHECK_STR(wrong, "barrier is between stagger_wait and stagger_arrive");
    world_free(&w);
}
