/* SPDX-License-Identifier: MIT */
/* fold.c: tests that folding preserves results. The test executes random functions before and after folding, and
 * compares the values that they store. The functions have all integer ops, comparisons, selects and casts, on scalars
 * and tiles, and many constants for which folding has a rule. */
#include "opt/passes.h"
#include "tests/unit/test.h"
#include "tests/unit/world.h"

enum { ELEMS = 4, OPS = 40, STORES_MOST = 64, PARAMS = 4 };

static uint64_t random_state = 2463534242u;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static int random_below(int n)
{
    return (int)(random_bits() % (uint64_t)n);
}

/* -- execution: a value's `scratch` points to its elements, 8 bytes each -- */

struct trace {
    int n;
    uint64_t stored[STORES_MOST][ELEMS];
};

static enum dtype dtype_of(const struct value *v)
{
    return type_elem(v->type)->dtype;
}

static uint64_t *elems_of(struct world *w, struct value *v)
{
    if (!v->scratch)
        v->scratch = NEW_ARRAY(&w->arena, ELEMS, uint64_t);
    return v->scratch;
}

static void execute_elementwise(struct world *w, const struct op *o)
{
    enum dtype type = dtype_of(op_opnd(o, o->code == OP_select ? 1 : 0));
    for (int i = 0; i < ELEMS; i++) {
        const void *x[3];
        uint64_t r = 0;
        for (int k = 0; k < o->nopnds; k++)
            x[k] = &elems_of(w, op_opnd(o, k))[i];
        CHECK(scalar_eval(&op_info[o->code], o->code, type, dtype_of(op_result(o)), o->attrs, o->nattrs, 1,
                          &r, x));
        elems_of(w, op_result(o))[i] = r;
    }
}

static void execute(struct world *w, const struct func *f, const uint64_t *params, struct trace *t)
{
    for (int i = 0; i < PARAMS; i++)
        for (int k = 0; k < ELEMS; k++)
            elems_of(w, f->body->args.at[i])[k] = params[i];
    t->n = 0;
    for (struct op *o = f->body->first; o; o = o->next) {
        if (o->code == OP_store)
            memcpy(t->stored[t->n++], elems_of(w, op_opnd(o, 1)), sizeof t->stored[0]);
        else if (o->code == OP_const)
            for (int i = 0; i < ELEMS; i++) {
                uint64_t bits = (uint64_t)op_int(o, ATTR_value);
                memcpy(&elems_of(w, op_result(o))[i], &bits,
                       (size_t)dtype_info[dtype_of(op_result(o))].bytes);
            }
        else if (o->code == OP_range)
            for (int i = 0; i < ELEMS; i++)
                elems_of(w, op_result(o))[i] = (uint64_t)(op_int(o, ATTR_start) + i);
        else if (o->code == OP_splat || o->code == OP_reshape)
            memcpy(elems_of(w, op_result(o)), elems_of(w, op_opnd(o, 0)), ELEMS * sizeof(uint64_t));
        else if (op_has(o, ELEMENTWISE) && o->code != OP_addptr && !type_is_ptr(op_result(o)->type))
            execute_elementwise(w, o);
    }
}

/* -- generation -- */

struct generator {
    struct builder b;
    struct value *values[OPS * 4 + 16];
    int n;
};

static struct value *keep(struct generator *g, struct value *v)
{
    return g->values[g->n++] = v;
}

/* Returns an existing value of type t, or a constant. The constant is often one for which folding has a rule, such as
 * 0 or 1. */
static struct value *pick(struct generator *g, const struct type *t)
{
    int start = random_below(g->n);
    for (int i = random_below(4) ? 0 : g->n; i < g->n; i++)
        if (g->values[(start + i) % g->n]->type == t)
            return g->values[(start + i) % g->n];
    static const int64_t special[] = {0,  1,         -1,        2,   8,     3,         7,        64,
                                      31, INT64_MIN, INT64_MAX, 128, 32768, INT32_MIN, INT32_MAX};
    if (type_is_float(t)) {
        static const double floats[] = {0.0, -0.0, 1, 0.5, -4, 3, 0x1p-140, 0x1p127};
        return build_const_float(&g->b, t, floats[random_below(8)]);
    }
    return build_const_bits(&g->b, t, (uint64_t)special[random_below(15)]);
}

static const struct type *random_type(struct generator *g, bool ints)
{
    static const enum dtype dtypes[] = {DT_i1, DT_i8, DT_i32, DT_i64, DT_f32, DT_f16};
    struct module *m = g->b.func->module;
    const struct type *t = type_scalar(m, dtypes[random_below(ints ? 4 : 6)]);
    return random_below(3) ? t : type_tile(m, t, 1, (int[]){ELEMS}, NULL);
}

static void add_cast(struct generator *g)
{
    const struct type *from = random_type(g, false), *to = type_elem(random_type(g, false));
    int change = type_elem_bits(to) - type_elem_bits(from);
    enum opcode code;
    if (type_is_int(from) && type_is_int(to))
        code = change < 0 ? OP_trunc : random_below(2) ? OP_sext : OP_zext;
    else if (type_is_float(from) && type_is_float(to))
        code = change < 0 ? OP_ftrunc : OP_fext;
    else
        code = type_is_int(from) ? OP_stof : OP_ftos;
    if (change || type_is_int(from) != type_is_int(to))
        keep(g, build_cast(&g->b, code, pick(g, from), to));
}

static void add_arithmetic(struct generator *g)
{
    static const enum opcode ints[] = {OP_add,  OP_sub,   OP_mul,  OP_divs, OP_divu, OP_rems,
                                       OP_remu, OP_mulhu, OP_and,  OP_or,   OP_xor,  OP_shl,
                                       OP_shrs, OP_shru,  OP_mins, OP_maxs, OP_minu, OP_maxu};
    static const enum opcode floats[] = {OP_add, OP_sub, OP_mul, OP_fdiv, OP_min, OP_max};
    const struct type *t = random_type(g, false);
    enum opcode code = type_is_float(t) ? floats[random_below(6)] : ints[random_below(18)];
    if (random_below(12) == 0)
        keep(g, build_unary(&g->b, random_below(2) ? OP_neg : OP_abs, pick(g, t)));
    else
        keep(g, build_binary(&g->b, code, pick(g, t), pick(g, t)));
}

static void add_op(struct generator *g)
{
    const struct type *t = random_type(g, true);
    struct module *m = g->b.func->module;
    switch (random_below(6)) {
    case 0: keep(g, build_cmp(&g->b, (enum pred)random_below(PRED_uge + 1), pick(g, t), pick(g, t))); break;
    case 1:
        keep(g, build_select(&g->b, pick(g, type_with_elem(m, t, type_scalar(m, DT_i1))), pick(g, t),
                             pick(g, t)));
        break;
    case 2: add_cast(g); break;
    case 3:
        if (!type_is_tile(t))
            keep(g, build_splat(&g->b, pick(g, t), 1, (int[]){ELEMS}));
        break;
    default: add_arithmetic(g);
    }
}

static void generate(struct world *w)
{
    static const enum dtype params[PARAMS] = {DT_i32, DT_i64, DT_i8, DT_f32};
    struct func *f = func_new(&w->m, "random");
    f->num_warps = 4;
    f->target = target_by_name("sm_90a");
    struct generator g = {.b = build_at_end(f->body, (struct loc){0})};
    for (int i = 0; i < PARAMS; i++)
        keep(&g,
             func_add_param(f, type_scalar(&w->m, params[i]), (struct param){.name = "p", .divisible = 1}));
    struct value *range = keep(&g, build_range(&g.b, 0, ELEMS));
    static const enum dtype others[] = {DT_i1, DT_i8, DT_i64, DT_f32, DT_f16};
    for (int i = 0; i < 5; i++)
        keep(&g, build_cast(&g.b,
                            i < 2    ? OP_trunc
                            : i == 2 ? OP_sext
                                     : OP_stof,
                            range, type_scalar(&w->m, others[i])));
    for (int i = 0; i < OPS; i++)
        add_op(&g);
    for (int i = g.n - 1; i >= 0 && g.n - i < STORES_MOST; i--) {
        const struct type *elem = type_elem(g.values[i]->type), *t = g.values[i]->type;
        struct value *p = func_add_param(f, type_ptr(&w->m, elem, SPACE_global),
                                         (struct param){.name = "p", .divisible = 1});
        build_store(&g.b, type_is_tile(t) ? build_splat(&g.b, p, 1, t->shape) : p, g.values[i], NULL);
    }
    build_return(&g.b);
}

static uint64_t random_param(int i)
{
    static const int widths[PARAMS] = {32, 64, 8, 32};
    uint64_t x = random_bits();
    x = x % 4 == 0 ? x >> 60 : x % 4 == 1 ? ~(x >> 60) : x;
    return x & (UINT64_MAX >> (64 - widths[i]));
}

static bool same_elem(enum dtype t, uint64_t a, uint64_t b)
{
    bool is_float = dtype_info[t].kind == DTYPE_float;
    double x = is_float ? bits_to_double(t, a) : 0, y = is_float ? bits_to_double(t, b) : 0;
    return a == b || (x != x && y != y);
}

static bool is_valid(const struct func *f)
{
    const struct op *at = NULL;
    const char *error = func_verify(f, &at);
    if (error)
        fprintf(stderr, "%s\n", error);
    return !error;
}

/* Tests one random function. Adds the number of ops that remain after folding to nops[0] for ops on scalars, and to
 * nops[1] for ops on tiles. */
static void check_function(int *nops)
{
    struct world before, after;
    world_init(&before);
    world_init(&after);
    generate(&before);
    struct text text, folded, again;
    text_init(&text, &before.arena);
    text_init(&folded, &after.arena);
    text_init(&again, &after.arena);
    module_print(&before.m, &text);
    CHECK(world_parse(&after, text.s));
    struct func *f = before.m.funcs.at[0], *g = after.m.funcs.at[0];
    CHECK(is_valid(f));
    opt_fold(g);
    CHECK(is_valid(g));
    func_print(g, &folded);
    bool differs = false;
    for (int run = 0; run < 20; run++) {
        uint64_t params[PARAMS];
        for (int i = 0; i < PARAMS; i++)
            params[i] = random_param(i);
        struct trace a, b;
        execute(&before, f, params, &a);
        execute(&after, g, params, &b);
        CHECK_INT(b.n, a.n);
        struct op *store = f->body->first;
        for (int i = 0; i < a.n; i++, store = store->next) {
            while (store->code != OP_store)
                store = store->next;
            for (int k = 0; k < ELEMS; k++)
                differs |= !same_elem(dtype_of(op_opnd(store, 1)), a.stored[i][k], b.stored[i][k]);
        }
    }
    CHECK(!differs);
    if (differs)
        fprintf(stderr, "%s\nfolded:\n%s\n", text.s, folded.s);
    opt_fold(g);
    func_print(g, &again);
    CHECK_STR(again.s, folded.s);
    for (struct op *o = g->body->first; o; o = o->next)
        nops[o->nresults && type_is_tile(op_result(o)->type)] +=
            op_has(o, ELEMENTWISE) && has_uses(op_result(o));
    world_free(&before);
    world_free(&after);
}

TEST(folding_changes_no_result)
{
    int nops[2] = {0};
    for (int i = 0; i < 1500; i++)
        check_function(nops);
    printf("%d ops left on scalars, %d on tiles\n", nops[0], nops[1]);
    /* many ops remain after folding, so the functions are not trivial */
    CHECK(nops[0] > 10000 && nops[1] > 3000);
}
