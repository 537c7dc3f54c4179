/* SPDX-License-Identifier: MIT */
/* ir.c: tests types, building and changing ops, names, walks, and the text form of every op in ops.h. */
#include "tests/unit/test.h"
#include "tests/unit/world.h"

static struct func *kernel(struct world *w, int nparams, const struct type *t)
{
    struct func *f = func_new(&w->m, "k");
    for (int i = 0; i < nparams; i++)
        func_add_param(f, t, (struct param){.name = "p"});
    return f;
}

static const char *printed(struct world *w)
{
    struct text t;
    text_init(&t, &w->arena);
    module_print(&w->m, &t);
    return t.s;
}

/* Parses the text and prints it again. */
static const char *reprinted(struct world *w, struct world *other, const char *text)
{
    world_init(other);
    (void)w;
    return world_parse(other, text) ? printed(other) : "";
}

TEST(types_are_interned)
{
    struct world w;
    world_init(&w);
    struct module *m = &w.m;
    const struct type *f32 = type_scalar(m, DT_f32), *i1 = type_scalar(m, DT_i1);
    const struct type *a = type_tile(m, f32, 2, (int[]){4, 8}, NULL),
                      *b = type_tile(m, f32, 2, (int[]){4, 8}, NULL);
    CHECK(a == b);
    CHECK(type_tile(m, f32, 2, (int[]){8, 4}, NULL) != a);
    CHECK(type_ptr(m, f32, SPACE_global) != type_ptr(m, f32, SPACE_shared));
    CHECK(type_with_elem(m, type_with_elem(m, a, i1), f32) == a);
    CHECK(type_with_shape(m, a, 0, NULL) == f32);
    CHECK(type_shared(m, f32, 1, (int[]){4}, NULL, 1) != type_shared(m, f32, 1, (int[]){4}, NULL, 2));
    CHECK_INT(type_elems(a), 32);
    CHECK_INT(type_elem_bytes(type_with_elem(m, a, i1)), 1);
    CHECK_INT(type_elem_bits(type_with_elem(m, a, type_ptr(m, f32, SPACE_global))), 64);
    CHECK(type_is_tile(a) && type_is_float(a) && !type_is_int(a) && type_is_int(i1) && !type_is_tile(f32));
    world_free(&w);
}

TEST(ops_are_found_by_name)
{
    CHECK_INT(op_by_name("add", 3), OP_add);
    CHECK_INT(op_by_name("addptr", 3), OP_add);
    CHECK_INT(op_by_name("addptr", 6), OP_addptr);
    CHECK_INT(op_by_name("ad", 2), OP_count);
    int least, most;
    arity_of("ptr mask? other?", &least, &most);
    CHECK(least == 1 && most == 3);
    arity_of("lo hi step init*", &least, &most);
    CHECK(least == 3 && most > 1000);
}

TEST(names_are_unique_and_leave_no_gaps)
{
    struct world w;
    world_init(&w);
    struct func *f = kernel(&w, 0, NULL);
    CHECK_STR(func_name_value(f, "x"), "x");
    CHECK_STR(func_name_value(f, "x"), "x.1");
    CHECK_STR(func_name_value(f, "x.1"), "x.2");
    CHECK_STR(func_name_value(f, "a b%"), "a_b_");
    CHECK_STR(func_name_value(f, "1.5e7"), "1.5e7");
    struct builder b = build_at_end(f->body, (struct loc){0});
    for (int i = 0; i < 3; i++)
        value_rename(build_const_int(&b, type_scalar(&w.m, DT_i32), i), "n");
    CHECK_STR(op_result(f->body->last)->name, "n.2");
    CHECK_STR(build_program_id(&b, 0)->name, "program_id");
    CHECK_STR(build_const_int(&b, type_scalar(&w.m, DT_i32), 1)->name, "const");
    value_set_name(op_result(f->body->last), "n.9");
    CHECK_STR(func_name_value(f, "n"), "n.10");
    CHECK_STR(func_name_value(f, "const"), "const");
    world_free(&w);
}

TEST(uses_follow_changes)
{
    struct world w;
    world_init(&w);
    struct func *f = kernel(&w, 2, type_scalar(&w.m, DT_i32));
    struct value *x = f->body->args.at[0], *y = f->body->args.at[1];
    struct builder b = build_at_end(f->body, (struct loc){0});
    struct value *sum = build_binary(&b, OP_add, x, x), *product = build_binary(&b, OP_mul, sum, y);
    CHECK_INT(value_nuses(x), 2);
    op_set_opnd(sum->def, 1, y);
    CHECK_INT(value_nuses(x), 1);
    CHECK_INT(value_nuses(y), 2);
    value_replace(sum, x);
    CHECK(!has_uses(sum) && op_opnd(product->def, 0) == x);
    op_erase(sum->def);
    CHECK(f->body->first == product->def && !product->def->prev);
    CHECK_INT(value_nuses(x), 1);
    op_set_opnds(product->def, 2, (struct value *[]){y, y});
    CHECK(!has_uses(x) && value_nuses(y) == 2);
    struct builder before = build_before(product->def), after = build_after(product->def);
    struct value *first = build_unary(&before, OP_neg, x), *last = build_unary(&after, OP_neg, x);
    CHECK(f->body->first == first->def && f->body->last == last->def);
    op_move_before(last->def, first->def);
    CHECK(f->body->first == last->def && f->body->last == product->def);
    op_move_to_end(last->def, f->body);
    CHECK(f->body->first == first->def && f->body->last == last->def);
    CHECK(value_dominates(first, product->def) && !value_dominates(last, product->def));
    world_free(&w);
}

TEST(erasing_what_is_used_is_a_bug)
{
    struct world w;
    world_init(&w);
    struct func *f = kernel(&w, 1, type_scalar(&w.m, DT_i32));
    struct builder b = build_at_end(f->body, (struct loc){0});
    struct value *x = build_unary(&b, OP_neg, f->body->args.at[0]);
    build_unary(&b, OP_neg, x);
    WORLD_CATCH(&w, { op_erase(x->def); });
    CHECK(w.diag.internal);
    world_free(&w);
}

TEST(wrong_operands_are_a_bug)
{
    struct world w;
    world_init(&w);
    struct func *f = kernel(&w, 1, type_scalar(&w.m, DT_i32));
    struct builder b = build_at_end(f->body, (struct loc){0});
    WORLD_CATCH(&w, { build_unary(&b, OP_exp, f->body->args.at[0]); });
    CHECK_STR(w.diag.list.at[0].message, "internal error in neso: built a wrong exp: expected floats, found "
                                         "i32; please report it with the input");
    world_free(&w);
}

TEST(attributes_at_their_default_are_absent)
{
    struct world w;
    world_init(&w);
    struct func *f = kernel(&w, 1, type_ptr(&w.m, type_scalar(&w.m, DT_f32), SPACE_global));
    struct builder b = build_at_end(f->body, (struct loc){0});
    struct op *o = build_load(&b, f->body->args.at[0], NULL, NULL)->def;
    CHECK_INT(o->nopnds, 1);
    CHECK_INT(op_int(o, ATTR_vec), 1);
    op_set_int(o, ATTR_vec, 4);
    op_set_int(o, ATTR_cache, CACHE_cg);
    op_set_int(o, ATTR_vec, 8);
    CHECK(o->nattrs == 2 && o->attrs[0].key == ATTR_cache);
    CHECK_INT(op_int(o, ATTR_vec), 8);
    op_set_int(o, ATTR_vec, 1);
    op_drop_attr(o, ATTR_cache);
    CHECK(o->nattrs == 0 && !op_attr(o, ATTR_vec));
    CHECK_INT(op_int(build_program_id(&b, 0)->def, ATTR_axis), 0);
    CHECK(op_attr(f->body->last, ATTR_axis) != NULL);
    world_free(&w);
}

TEST(constants_are_canonical)
{
    struct world w;
    world_init(&w);
    struct func *f = kernel(&w, 0, NULL);
    struct builder b = build_at_end(f->body, (struct loc){0});
    int64_t i;
    uint64_t bits;
    CHECK(value_const_int(build_const_int(&b, type_scalar(&w.m, DT_i8), 255), &i) && i == -1);
    CHECK(value_const_int(build_const_int(&b, type_scalar(&w.m, DT_i1), -1), &i) && i == 1);
    CHECK(value_const_int(build_const_int(&b, type_scalar(&w.m, DT_i64), INT64_MIN), &i) && i == INT64_MIN);
    struct value *x = build_const_float(&b, type_scalar(&w.m, DT_f32), -1.0);
    struct value *tile = build_trans(&b, build_splat(&b, x, 2, (int[]){2, 4}), (int[]){1, 0});
    CHECK(value_const_bits(tile, &bits) && bits == 0xbf800000);
    CHECK(!value_const_int(tile, &i));
    CHECK(!value_const_bits(build_program_id(&b, 1), &bits));
    world_free(&w);
}

static const char *const loop_text = "kernel @k(%p: ptr<i32>, %n: i32) warps=4 stages=3 degree=traced {\n"
                                     "  %one = const value=1 : i32\n"
                                     "  %sum = for %i = %one to %n step %one carry(%acc = %one) : i32 {\n"
                                     "    %more = add %acc, %i : i32\n"
                                     "    %c = cmp %i, %n pred=slt : i1\n"
                                     "    %r = if %c : i32 {\n"
                                     "      yield %more\n"
                                     "    } else {\n"
                                     "      %v = load %p : i32\n"
                                     "      yield %v\n"
                                     "    }\n"
                                     "    yield %r\n"
                                     "  }\n"
                                     "  store %p, %sum\n"
                                     "  return\n"
                                     "}\n";

static struct op *find(struct func *f, enum opcode code, struct block *b)
{
    for (struct op *o = b ? b->first : f->body->first; o; o = o->next) {
        if (o->code == code)
            return o;
        for (int i = 0; i < o->nregions; i++) {
            struct op *inner = find(f, code, o->regions[i]);
            if (inner)
                return inner;
        }
    }
    return NULL;
}

TEST(clones_are_whole)
{
    struct world w;
    world_init(&w);
    CHECK(world_parse(&w, loop_text));
    struct func *f = w.m.funcs.at[0];
    struct op *loop = find(f, OP_for, NULL);
    struct builder b = build_after(loop);
    struct map map;
    map_init(&map, &w.arena);
    struct op *copy = op_clone(&b, loop, &map);
    CHECK(copy->prev == loop && *map_get_ptr(&map, op_result(loop)) == op_result(copy));
    CHECK_STR(op_result(copy)->name, "sum.1");
    const struct op *at;
    CHECK(!func_verify(f, &at));
    value_replace(op_result(loop), op_result(copy));
    op_erase(loop);
    CHECK(!func_verify(f, &at));
    struct world other;
    CHECK_STR(reprinted(&w, &other, printed(&w)), printed(&w));
    world_free(&other);
    world_free(&w);
}

TEST(questions_about_effects_and_places)
{
    struct world w;
    world_init(&w);
    CHECK(world_parse(&w, loop_text));
    struct func *f = w.m.funcs.at[0];
    struct op *loop = find(f, OP_for, NULL), *branch = find(f, OP_if, NULL), *load = find(f, OP_load, NULL);
    struct op *store = find(f, OP_store, NULL);
    CHECK(!is_pure(loop) && is_removable(loop) && !op_may_write(loop));
    CHECK(is_removable(load) && !is_pure(load));
    op_set_int(load, ATTR_volatile, 1);
    CHECK(!is_removable(loop));
    CHECK(op_may_write(store) && !is_removable(store));
    CHECK(op_is_inside(load, loop) && op_is_inside(load, branch) && !op_is_inside(store, loop));
    CHECK(!value_is_outside(op_result(load), loop) && value_is_outside(f->body->args.at[0], loop));
    CHECK(value_is_outside(op_result(loop), loop));
    CHECK(value_dominates(loop->regions[0]->args.at[0], load) && !value_dominates(op_result(loop), load));
    CHECK(!value_dominates(op_result(load), store));
    CHECK(block_terminator(f->body)->code == OP_return);
    world_free(&w);
}

static void count(struct op *o, void *ctx)
{
    struct text *t = ctx;
    text_printf(t, "%s ", op_info[o->code].name);
    if (o->code == OP_if) {
        value_replace(op_result(o), o->block->args.at[1]);
        op_erase(o);
    }
}

TEST(walks_go_outside_in_and_allow_erasing)
{
    struct world w;
    world_init(&w);
    CHECK(world_parse(&w, loop_text));
    struct text t;
    text_init(&t, &w.arena);
    func_walk(w.m.funcs.at[0], count, &t);
    CHECK_STR(t.s, "const for add cmp if yield store return ");
    const struct op *at;
    CHECK(!func_verify(w.m.funcs.at[0], &at));
    world_free(&w);
}

/* -- the text of every op -- */

static void set_some_attr(struct op *o, enum attr_key key)
{
    switch (attr_info[key].kind) {
    case ATTRK_list: op_set_list(o, key, 3, (int[]){1, -2, 30}); break;
    case ATTRK_str: op_set_str(o, key, "a\"\\\n\0b", 6); break;
    case ATTRK_bits: op_set_int(o, key, -77); break;
    default: op_set_int(o, key, attr_info[key].dflt + 2); break;
    }
}

/* Builds an op in f's body with all attributes of its row in ops.h. The op need not be valid. */
static struct op *some_op(struct func *f, enum opcode code, int nopnds, int nresults)
{
    struct module *m = f->module;
    struct value *opnds[8];
    const struct type *types[8];
    for (int i = 0; i < 8; i++) {
        opnds[i] = f->body->args.at[i % 2];
        types[i] = type_scalar(m, DT_i32);
    }
    struct loc at = {.line = 1 + (uint32_t)code,
                     .col = 2,
                     .len = code % 2,
                     .file = (uint16_t)(code % 3),
                     .call = (uint16_t)(code % 5)};
    struct builder b = build_at_end(f->body, at);
    struct op *o = build_op(&b, code, nopnds, opnds, nresults, types, op_info[code].nregions);
    for (int key = 0; key < ATTR_count; key++)
        if (op_info[code].attrs >> key & 1)
            set_some_attr(o, (enum attr_key)key);
    return o;
}

static void fill_regions(struct op *o)
{
    for (int i = 0; i < o->nregions; i++) {
        struct block *b = o->regions[i];
        int nargs = o->code == OP_for     ? o->nopnds - 2
                    : o->code == OP_while ? (i ? o->nresults : o->nopnds)
                    : o->code == OP_if    ? 0
                                          : 3;
        for (int k = 0; k < nargs; k++)
            block_add_arg(b, type_scalar(b->func->module, DT_i32), "arg");
        struct builder at = build_at_end(b, (struct loc){0});
        build_yield(&at, b->args.n, b->args.at);
    }
}

TEST(every_op_round_trips)
{
    struct world w, other;
    world_init(&w);
    struct func *f = kernel(&w, 2, type_scalar(&w.m, DT_i32));
    for (int code = 0; code < OP_count; code++) {
        int least, most, fewest, results;
        arity_of(op_info[code].operands, &least, &most);
        arity_of(op_info[code].results, &fewest, &results);
        for (int n = least; n <= most && n <= 5; n++)
            fill_regions(some_op(f, (enum opcode)code, n, results < 3 ? results : n % 3));
    }
    const char *text = printed(&w);
    CHECK_STR(reprinted(&w, &other, text), text);
    world_free(&other);
    world_free(&w);
}

TEST(comments_and_spaces_are_free)
{
    struct world w;
    world_init(&w);
    CHECK(world_parse(
        &w, "// first\n\n kernel  @k ( %n : i32 ) warps = 4 stages=3 degree=traced @ 1:2 { // here\r\n"
            "\n  %a  =  add %n , %n :i32 @1 : 2 // there\n // alone\n return }"));
    CHECK_STR(printed(&w), "kernel @k(%n: i32) warps=4 stages=3 degree=traced @1:2 {\n  %a = add %n, %n : "
                           "i32 @1:2\n  return\n}\n");
    world_free(&w);
}

TEST(errors_in_the_text_are_located)
{
    static const struct {
        const char *line, *message;
        int col;
    } rows[] = {
        {"%a = ad %n, %n : i32", "unknown op 'ad'", 6},
        {"%a = add %n, %m : i32", "unknown value 'm'", 14},
        {"%n = add %n, %n : i32", "value 'n' is defined twice", 22},
        {"%a = add %n : i32", "'add' has the operands 'x y', found 1", 18},
        {"%a = add %n, _ : i32",
         "expected a value instead of '_' where the operand is not optional, found the end of the line", 21},
        {"add %n, %n", "'add' has the results 'r', found 0", 11},
        {"%a = add %n, %n", "expected one type for each result, found the end of the line", 16},
        {"%a = add %n, %n axis=0 : i32", "unknown attribute 'axis'", 17},
        {"%a = cmp %n, %n pred=less : i1", "expected one of the attribute's words, found 'less'", 22},
        {"%a = const value=1.5 : i32", "expected a constant, found '.5'", 19},
        {"%a = const value=256 : i8", "expected a smaller number, found '256'", 18},
        {"%a = const value=0x1ffff : f16", "expected fewer bits, found ' '", 25},
        {"%a = range start=0 end=8 : tile<8xi33>", "expected a type, found 'i33'", 35},
        {"%a = range start=0 end=8 : tile<7xi32>", "expected powers of two as sizes, found 'xi32'", 34},
        {"%a = range start=0 end=8 : tile<8xi32,#l0>", "unknown layout 'l0'", 42},
        {"%a = range start=0 end=8 : tile<2097152xi32>", "expected a smaller number, found '2097152xi32'",
         33},
        {"%a = add %n, %n : i32 @0:1", "expected a place that exists, found the end of the line", 27},
        {"%a = add %n, %n : i32 junk", "expected the end of the line, found 'junk'", 23},
        {"print %n text=\"abc", "expected '\"', found the end of the line", 19},
        {"%a = if %n : i32 {", "expected 'else', found '}'", 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct world w;
        world_init(&w);
        struct text t;
        text_init(&t, &w.arena);
        text_printf(&t, "kernel @k(%%n: i32) warps=4 stages=3 degree=traced {\n%s\n} }", rows[i].line);
        struct source *src = diag_add_source(&w.diag, "k.ir", t.s, t.len);
        CHECK(!module_parse(&w.m, src) && w.m.funcs.n == 0 && w.diag.list.n == 1);
        if (w.diag.list.n) {
            CHECK_STR(w.diag.list.at[0].message, rows[i].message);
            CHECK_INT(w.diag.list.at[0].loc.col, rows[i].col);
        }
        world_free(&w);
    }
}

TEST(nesting_is_bounded)
{
    struct world w;
    world_init(&w);
    struct text t;
    text_init(&t, &w.arena);
    text_str(&t, "kernel @k(%c: i1) warps=4 stages=3 degree=traced {\n");
    for (int i = 0; i < 100000; i++)
        text_str(&t, "if %c {\n");
    CHECK(!module_parse(&w.m, diag_add_source(&w.diag, "k.ir", t.s, t.len)));
    t.len = 0;
    text_str(&t, "kernel @k(%c: ");
    for (int i = 0; i < 100000; i++)
        text_str(&t, "ptr<");
    CHECK(!module_parse(&w.m, diag_add_source(&w.diag, "k.ir", t.s, t.len)));
    CHECK_INT(w.diag.list.n, 2);
    world_free(&w);
}
