/* SPDX-License-Identifier: MIT */
/* axis.c: tests that axis_info derives only true facts. The test builds random index arithmetic, executes it for many
 * values of the parameters, and checks every fact on every element. Some values are large or negative, so that indices
 * overflow. */
#include "tests/unit/test.h"

#include "opt/analysis/analysis.h"
#include "opt/passes.h"
#include "tests/unit/world.h"

#include <limits.h>

enum { ROWS = 8, COLS = 16, POOL_MOST = 64, NOPS = 14, PROGRAMS = 2000, RUNS = 6 };

static uint64_t seed;

static int pick(int n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((seed >> 33) % (uint64_t)n);
}

/* -- execution: computes elements as sign-extended 64-bit integers -- */

static int64_t *elements_of(const struct value *v)
{
    return v->scratch;
}

static int64_t narrow(int64_t x, int bits)
{
    if (bits == 64)
        return x;
    uint64_t low = (uint64_t)x & ((UINT64_C(1) << bits) - 1);
    return bits > 1 && low >> (bits - 1) ? (int64_t)(low | ~UINT64_C(0) << bits) : (int64_t)low;
}

static uint64_t as_unsigned(int64_t x, int bits)
{
    return bits == 64 ? (uint64_t)x : (uint64_t)x & ((UINT64_C(1) << bits) - 1);
}

static bool compare(enum pred pred, int64_t x, int64_t y, int bits)
{
    uint64_t a = as_unsigned(x, bits), b = as_unsigned(y, bits);
    switch (pred) {
    case PRED_eq: return x == y;
    case PRED_ne: return x != y;
    case PRED_slt: return x < y;
    case PRED_sle: return x <= y;
    case PRED_sgt: return x > y;
    case PRED_sge: return x >= y;
    case PRED_ult: return a < b;
    case PRED_ule: return a <= b;
    case PRED_ugt: return a > b;
    default: return a >= b;
    }
}

static int64_t divide(int64_t x, int64_t y)
{
    return y == 0 ? -1 : y == -1 ? (int64_t)(0 - (uint64_t)x) : x / y;
}

static int64_t remainder_of(int64_t x, int64_t y)
{
    return y == 0 ? x : y == -1 ? 0 : x % y;
}

static int64_t element(const struct op *o, int64_t x, int64_t y, int64_t z, int bits)
{
    uint64_t a = as_unsigned(x, bits), b = as_unsigned(y, bits);
    switch (o->code) {
    case OP_add: return (int64_t)(a + b);
    case OP_sub: return (int64_t)(a - b);
    case OP_mul: return (int64_t)(a * b);
    case OP_neg: return (int64_t)(0 - a);
    case OP_abs: return x < 0 ? (int64_t)(0 - a) : x;
    case OP_and: return x & y;
    case OP_or: return x | y;
    case OP_xor: return x ^ y;
    case OP_mins: return x < y ? x : y;
    case OP_maxs: return x > y ? x : y;
    case OP_minu: return a < b ? x : y;
    case OP_maxu: return a > b ? x : y;
    case OP_divs: return divide(x, y);
    case OP_rems: return remainder_of(x, y);
    case OP_divu: return b ? (int64_t)(a / b) : -1;
    case OP_remu: return b ? (int64_t)(a % b) : x;
    case OP_shl: return b < (uint64_t)bits ? (int64_t)(a << b) : 0;
    case OP_shru: return b < (uint64_t)bits ? (int64_t)(a >> b) : 0;
    case OP_shrs: return b < (uint64_t)bits ? x >> b : x >> 63;
    case OP_cmp: return compare((enum pred)op_int(o, ATTR_pred), x, y, bits);
    case OP_select: return x ? y : z;
    case OP_addptr: return (int64_t)((uint64_t)x + 4 * (uint64_t)y);
    case OP_zext: return (int64_t)a;
    default: return x; /* sext and trunc do not change the sign-extended integer */
    }
}

/* Returns the row-major index of the operand's element that becomes element i of the result. */
static int64_t source_index(const struct op *o, int64_t i)
{
    const struct type *t = op_result(o)->type, *x = op_opnd(o, 0)->type;
    if (o->code == OP_splat)
        return 0;
    if (o->code != OP_broadcast && o->code != OP_trans)
        return i;
    int64_t at[RANK_MAX], index = 0;
    for (int d = t->rank - 1; d >= 0; i /= t->shape[d--])
        at[o->code == OP_trans ? op_attr(o, ATTR_order)->list[d] : d] = i % t->shape[d];
    for (int d = 0; d < x->rank; d++)
        index = index * x->shape[d] + (x->shape[d] == 1 ? 0 : at[d]);
    return index;
}

static void check_claims(const struct axis_table *t, const struct value *v);

static void define(struct world *w, const struct axis_table *t, struct value *v, const int64_t *x)
{
    if (!v->scratch)
        v->scratch = NEW_ARRAY(&w->arena, type_elems(v->type), int64_t);
    memcpy(v->scratch, x, (size_t)type_elems(v->type) * sizeof *x);
    check_claims(t, v);
}

static void run_block(struct world *w, const struct axis_table *t, struct block *b);

static void run_for(struct world *w, const struct axis_table *t, struct op *o)
{
    struct block *body = o->regions[0];
    int64_t lo = *elements_of(op_opnd(o, 0)), hi = *elements_of(op_opnd(o, 1)),
            step = *elements_of(op_opnd(o, 2));
    define(w, t, body->args.at[1], elements_of(op_opnd(o, 3)));
    for (int64_t i = lo; i < hi; i += step) {
        define(w, t, body->args.at[0], &i);
        run_block(w, t, body);
        define(w, t, body->args.at[1], elements_of(op_opnd(body->last, 0)));
    }
    define(w, t, &o->results[0], elements_of(body->args.at[1]));
}

static void run_op(struct world *w, const struct axis_table *t, struct op *o)
{
    if (o->code == OP_for) {
        run_for(w, t, o);
        return;
    }
    if (o->nresults == 0)
        return;
    struct value *r = op_result(o);
    int64_t n = type_elems(r->type), *out = NEW_ARRAY(&w->scratch, n, int64_t);
    int bits = type_elem_bits(o->nopnds ? op_opnd(o, o->code == OP_select)->type : r->type);
    for (int64_t i = 0; i < n; i++) {
        int64_t x[3] = {0};
        for (int k = 0; k < o->nopnds; k++)
            x[k] = elements_of(op_opnd(o, k))[source_index(o, i)];
        int64_t value = o->code == OP_const   ? op_int(o, ATTR_value)
                        : o->code == OP_range ? op_int(o, ATTR_start) + i
                                              : element(o, x[0], x[1], x[2], bits);
        out[i] = narrow(value, type_elem_bits(r->type));
    }
    define(w, t, r, out);
}

static void run_block(struct world *w, const struct axis_table *t, struct block *b)
{
    for (struct op *o = b->first; o; o = o->next)
        run_op(w, t, o);
}

/* -- checking the facts -- */

static const char *false_claim(const struct axis *a, const struct type *t, const int64_t *x, int d)
{
    int64_t stride = 1, n = type_elems(t), size = t->rank ? t->shape[d] : 1;
    for (int k = d + 1; k < t->rank; k++)
        stride *= t->shape[k];
    int bits = type_elem_bits(t);
    int64_t step = type_is_ptr(t) ? 4 : 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = i / stride % size, run = at & ((1 << a->log_contiguous[d]) - 1),
                equal = at & ((1 << a->log_constant[d]) - 1);
        int divisible = a->log_divisible[d] < bits ? a->log_divisible[d] : bits - 1;
        if (run == 0 && (x[i] & ((INT64_C(1) << divisible) - 1)) != 0)
            return "divisible";
        if (run != 0 && x[i] != narrow((int64_t)((uint64_t)x[i - stride] + (uint64_t)step), bits))
            return "contiguous";
        if (equal != 0 && x[i] != x[i - stride])
            return "constant";
        if (a->nonnegative && bits > 1 && x[i] < 0)
            return "nonnegative";
    }
    return NULL;
}

static void check_claims(const struct axis_table *t, const struct value *v)
{
    for (int d = 0; d < (v->type->rank ? v->type->rank : 1); d++) {
        const char *wrong = false_claim(axis_of(t, v), v->type, elements_of(v), d);
        if (!wrong)
            continue;
        struct text out;
        text_init(&out, v->block->func->module->arena);
        func_print(v->block->func, &out);
        char message[100];
        snprintf(message, sizeof message, "%%%s is not as %s along %d as claimed", v->name, wrong, d);
        if (test_failures == 0)
            fputs(out.s, stderr);
        test_fail(__FILE__, __LINE__, message);
    }
}

/* -- random programs -- */

struct pool {
    struct value *at[POOL_MOST];
    int n;
};

static void put(struct pool *p, struct value *v)
{
    if (p->n < POOL_MOST)
        p->at[p->n++] = v;
}

/* Returns a random tile of the pool with t's element type; NULL if a few tries find none. */
static struct value *any_of(const struct pool *p, const struct type *t)
{
    for (int i = 0; i < 20; i++) {
        struct value *v = p->at[pick(p->n)];
        if (v->type == t)
            return v;
    }
    return NULL;
}

static struct value *constant(struct builder *b, const struct type *t)
{
    static const int values[] = {0,  1,  2,  3,  4,   7,  8,  12,  15,      16,
                                 24, 31, 32, 64, 100, -1, -4, -16, INT_MAX, INT_MIN};
    int64_t value = values[pick(sizeof values / sizeof values[0])];
    return build_const_int(b, t, pick(2) ? value : pick(6));
}

static void random_op(struct builder *b, struct pool *p, const struct type *tile)
{
    static const enum opcode binary[] = {OP_add,  OP_add,  OP_sub,  OP_mul,  OP_and,  OP_or,
                                         OP_xor,  OP_divs, OP_divu, OP_rems, OP_remu, OP_shrs,
                                         OP_shru, OP_shl,  OP_mins, OP_maxu, OP_add};
    struct module *m = b->func->module;
    struct value *x = any_of(p, tile), *y = pick(2) ? any_of(p, tile) : constant(b, tile);
    struct value *c = any_of(p, type_with_elem(m, tile, type_scalar(m, DT_i1)));
    struct value *ptr = any_of(p, type_with_elem(m, tile, b->func->body->args.at[0]->type));
    if (!x || !y)
        return;
    struct value *long_x = any_of(p, type_with_elem(m, tile, type_scalar(m, DT_i64)));
    switch (pick(9)) {
    case 0: put(p, build_cmp(b, (enum pred)pick(PRED_uge + 1), x, y)); break;
    case 1: put(p, build_cast(b, pick(2) ? OP_sext : OP_zext, x, type_scalar(m, DT_i64))); break;
    case 2:
        if (c)
            put(p, build_select(b, c, x, y));
        break;
    case 3:
        if (ptr)
            put(p, build_addptr(b, ptr, long_x && pick(2) ? long_x : x));
        break;
    case 4:
        if (long_x)
            put(p, build_cast(b, OP_trunc, long_x, type_scalar(m, DT_i32)));
        break;
    default: put(p, build_binary(b, binary[pick(sizeof binary / sizeof binary[0])], x, y));
    }
}

/* Returns a random range or splat of one or two dimensions. */
static struct value *random_leaf(struct builder *b, struct pool *scalars, const struct type *tile)
{
    struct module *m = b->func->module;
    struct value *s = any_of(scalars, type_scalar(m, DT_i32));
    if (pick(3) == 0)
        return build_splat(b, s, tile->rank, tile->shape);
    int start = pick(2) ? 0 : pick(40) - 8;
    if (tile->rank == 1)
        return build_range(b, start, start + tile->shape[0]);
    int axis = pick(2);
    struct value *line = build_range(b, start, start + tile->shape[1 - axis]);
    struct value *x = build_broadcast(b, build_expand_dims(b, line, axis), 2, tile->shape);
    return x;
}

static void random_program(struct builder *b, struct pool *scalars, const struct type *tile)
{
    struct module *m = b->func->module;
    struct pool p = {0};
    for (int i = 0; i < 4; i++)
        put(&p, random_leaf(b, scalars, tile));
    put(&p, build_splat(b, b->func->body->args.at[0], tile->rank, tile->shape));
    for (int i = 0; i < NOPS; i++)
        random_op(b, &p, tile);
    if (pick(2)) {
        struct value *init = any_of(&p, tile), *bound = constant(b, type_scalar(m, DT_i32));
        bound = build_binary(b, OP_and, bound, build_const_int(b, bound->type, 15));
        struct value *lo = build_const_int(b, bound->type, pick(4)),
                     *step = build_const_int(b, bound->type, 1 + pick(5));
        struct op *loop = build_for(b, lo, bound, step, 1, &init);
        struct builder in = build_at_end(loop->regions[0], b->loc);
        struct pool inner = p;
        put(&inner, loop->regions[0]->args.at[1]);
        put(&inner, build_splat(&in, loop->regions[0]->args.at[0], tile->rank, tile->shape));
        for (int i = 0; i < 6; i++)
            random_op(&in, &inner, tile);
        struct value *next = any_of(&inner, tile);
        build_yield(&in, 1, &next);
        put(&p, op_result(loop));
    }
    for (int i = 0; i < 4; i++)
        random_op(b, &p, tile);
    struct value *x = any_of(&p, tile);
    static const int swap[] = {1, 0}, flat[] = {ROWS * COLS}, other[] = {4, 2, COLS};
    if (tile->rank == 2 && x) {
        build_trans(b, x, swap);
        build_reshape(b, build_reshape(b, x, 1, flat), 3, other);
    }
}

static int64_t random_argument(int divisible)
{
    static const int64_t some[] = {0, 1, 5, 16, 100, 511, 512, INT_MAX, INT_MIN, -1, -17};
    int64_t x = pick(2) ? some[pick(11)] : pick(5000) - 2500;
    return narrow(x / divisible * divisible, 32);
}

static void test_program(uint64_t n)
{
    static const int line[] = {64}, grid[] = {ROWS, COLS};
    struct world w;
    world_init(&w);
    seed = n * 7919 + 1;
    const struct type *i32 = type_scalar(&w.m, DT_i32);
    struct func *f = func_new(&w.m, "random");
    const struct type *ptr = type_ptr(&w.m, type_scalar(&w.m, DT_f32), SPACE_global);
    func_add_param(f, ptr, (struct param){.name = "p", .divisible = 16});
    func_add_param(f, i32, (struct param){.name = "s", .divisible = 16});
    func_add_param(f, i32, (struct param){.name = "n"});
    struct builder b = build_at_end(f->body, (struct loc){0});
    struct pool scalars = {.at = {f->body->args.at[1], f->body->args.at[2]}, .n = 2};
    put(&scalars, build_binary(&b, OP_mul, f->body->args.at[2], build_const_int(&b, i32, 1 << pick(8))));
    random_program(&b, &scalars,
                   n % 2 ? type_tile(&w.m, i32, 1, line, NULL) : type_tile(&w.m, i32, 2, grid, NULL));
    build_return(&b);
    const struct axis_table *t = axis_analyse(f);
    for (int run = 0; run < RUNS && test_failures == 0; run++) {
        define(&w, t, f->body->args.at[0], &(int64_t){16 * (int64_t)pick(1000000)});
        define(&w, t, f->body->args.at[1], &(int64_t){random_argument(16)});
        define(&w, t, f->body->args.at[2], &(int64_t){random_argument(1)});
        run_block(&w, t, f->body);
    }
    world_free(&w);
}

TEST(claims_hold_for_random_programs)
{
    for (uint64_t n = 0; n < PROGRAMS && test_failures == 0; n++)
        test_program(n);
}

/* -- facts that the analysis must find, because vector accesses depend on them -- */

static const struct axis *named(const struct func *f, const struct axis_table *t, const char *name)
{
    for (struct op *o = f->body->first; o; o = o->next)
        if (o->nresults && strcmp(op_result(o)->name, name) == 0)
            return axis_of(t, op_result(o));
    test_fail(__FILE__, __LINE__, name);
    return axis_of(t, NULL);
}

TEST(finds_what_vector_add_needs)
{
    struct world w;
    world_init(&w);
    if (!world_parse(&w, "kernel @add(%x: ptr<f32> {divisible=16}, %n: i32 {divisible=16}, %k: i32) "
                         "warps=4 stages=3 target=sm_90a degree=traced {\n"
                         "  %pid = program_id axis=0 : i32\n"
                         "  %c = const value=9 : i32\n"
                         "  %start = shl %pid, %c : i32\n"
                         "  %s = splat %start : tile<512xi32>\n"
                         "  %r = range start=0 end=512 : tile<512xi32>\n"
                         "  %o = add %s, %r : tile<512xi32>\n"
                         "  %l = splat %n : tile<512xi32>\n"
                         "  %m = cmp %o, %l pred=slt : tile<512xi1>\n"
                         "  %l2 = splat %k : tile<512xi32>\n"
                         "  %m2 = cmp %o, %l2 pred=slt : tile<512xi1>\n"
                         "  %xs = splat %x : tile<512xptr<f32>>\n"
                         "  %p = addptr %xs, %o : tile<512xptr<f32>>\n"
                         "  %v = load %p, %m : tile<512xf32>\n"
                         "  %u = add %o, %l2 : tile<512xi32>\n"
                         "  %q = addptr %xs, %u : tile<512xptr<f32>>\n"
                         "  return\n"
                         "}\n")) {
        test_fail(__FILE__, __LINE__, "the text does not parse");
        return;
    }
    struct func *f = w.m.funcs.at[0];
    const struct axis_table *t = axis_analyse(f);
    CHECK_INT(named(f, t, "o")->log_contiguous[0], 9);
    CHECK_INT(named(f, t, "o")->log_divisible[0], 9);
    CHECK_INT(named(f, t, "m")->log_constant[0], 4);
    CHECK_INT(named(f, t, "m2")->log_constant[0], 0);
    CHECK_INT(named(f, t, "p")->log_contiguous[0], 9);
    CHECK_INT(named(f, t, "p")->log_divisible[0], 4);
    CHECK_INT(named(f, t, "q")->log_contiguous[0], 0);
    CHECK_INT(named(f, t, "q")->log_adjacent[0], 9);
    const struct op *load = f->body->last;
    while (load->code != OP_load)
        load = load->prev;
    CHECK_INT(axis_access(t, load, 0), 4);
    CHECK_INT(axis_mask(t, load, 0), 16);
    world_free(&w);
}
