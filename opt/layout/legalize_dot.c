/* SPDX-License-Identifier: MIT */
/* legalize_dot.c: decides which instructions compute a dot, and which types and layouts its operands must have.
 *
 *     %d = dot %a, %b, %acc : tile<32x64xf32>    a, b fp8    =>     %a.1 = fext %a, %b.1 = fext %b : f16
 *                                                                   %d = dot %a.1, %b.1, %acc
 *
 * An engine is a kind of instructions that compute dots (ir/target/engine.h). For each dot, the pass chooses
 * the fastest engine of the target that can compute the dot. wgmma (on sm_90a), which a warpgroup executes,
 * multiplies f16, bf16, tf32, fp8 and i8 if the accumulator has 64 rows or more. wgmma reads operand b from
 * shared memory. It reads operand a from shared memory too, unless operand a is computed from another dot's
 * result, or is the same in each iteration of a loop whose dots have few columns (cost_keeps_operand).
 * mma.sync, which a single warp executes, multiplies tiles of at least 16 x 8. Only some targets have
 * mma.sync for fp8. On other targets, and in deterministic kernels (fix_order.c), the pass extends fp8 to
 * f16, which is exact. All other dots, mainly dots of f64 and of f32 with full precision, use fused
 * multiply-adds: each thread computes its elements of the accumulator.
 *
 *     %d = dot %a, %b, 0;  %s = add %x, %d                       =>     %s = dot %a, %b, %x
 *
 * If the result of a dot with accumulator 0 is added to another value, the other value becomes the dot's
 * accumulator. This rewrite is legal, because the order in which a dot adds is unspecified. Without fp_fusion
 * the addition stays separate, because the kernel then requires two roundings.
 *
 * The pass increases the number of warps that the user requested in two cases. In the first case, a thread's part of
 * an accumulator exceeds the thread's registers. In the second case, the accumulators of two chained dots together
 * exceed half of the registers. (Two dots are chained if an operand of one is computed from the result of the
 * other.) No result depends on the number of warps.
 *
 * If a function has chained dots, the warps divide the rows of each accumulator before its columns. Each warp
 * then computes its part of the second dot's operand from its own part of the first dot's accumulator, and
 * reductions along rows stay within a warp. */
#include "ir/target/engine.h"
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"

static struct mma_choice choose(const struct op *dot, bool rows_first)
{
    const struct opt_options *o = dot->block->func->module->opt;
    return mma_choose(dot, !o || !o->no_async_dots, rows_first);
}

bool dot_is_async(const struct op *dot)
{
    return choose(dot, false).engine->is_async;
}

bool dot_is_staged(const struct op *dot)
{
    const struct mma_choice c = choose(dot, false);
    return c.engine->is_async ||
           (c.fragment && op_result(dot)->type->rank == 2 && !target_engine(dot->block->func->target, true));
}

/* -- chained dots -- */

static void visit_chain(struct op *o, void *ctx)
{
    bool *chained = ctx;
    if (o->code == OP_dot && !*chained)
        *chained = dot_behind(op_opnd(o, 0), false, NULL) || dot_behind(op_opnd(o, 1), false, NULL);
}

bool dots_are_chained(struct func *f)
{
    bool chained = false;
    func_walk(f, visit_chain, &chained);
    return chained;
}

/* -- layouts -- */

const struct layout *dot_operand_layout(const struct op *o, int i, const struct layout *acc, bool rows_first)
{
    const struct mma_choice c = choose(o, rows_first);
    const struct type *t = op_opnd(o, i)->type;
    const struct func *f = o->block->func;
    struct layout l;
    if (c.fragment)
        layout_fragment(&l, c.fragment, (enum dot_role)i, t, c.split);
    else if (i == DOT_acc)
        layout_fma_acc(&l, t, f->num_warps);
    else
        layout_fma_operand(&l, (enum dot_role)i, t, acc);
    return layout_intern(f->module, &l);
}

const struct layout *dot_acc_layout(const struct op *o, bool rows_first)
{
    return dot_operand_layout(o, DOT_acc, NULL, rows_first);
}

/* Returns the dimension (0 or 1) along which consecutive registers of a thread hold the longest runs of
 * consecutive elements. */
static int fast_dim(const struct layout *l)
{
    int rows = layout_vector(l, 0, 1 << COORD_BITS_MAX), columns = layout_vector(l, 1, 1 << COORD_BITS_MAX);
    if (rows != columns)
        return columns > rows;
    return layout_basis(l, IN_lane, 0) >> l->dim_bits[1] == 0;
}

/* Returns the dimension of v that is contiguous in the tensor map through which v is loaded; -1 if v is not
 * loaded through a tensor map. */
static int map_dim(const struct value *v)
{
    const struct op *o = v->def;
    if (o && o->code == OP_convert)
        return map_dim(op_opnd(o, 0));
    if (o && o->code == OP_tensor_load)
        return v->type->rank - 1;
    for (int i = 0; o && o->code == OP_trans && i < v->type->rank; i++)
        if (op_attr(o, ATTR_order)->list[i] == map_dim(op_opnd(o, 0)))
            return i;
    return -1;
}

const struct type *dot_operand_buffer(const struct op *o, int i, const struct layout *x)
{
    const struct mma_engine *e = choose(o, false).engine;
    struct value *v = op_opnd(o, i);
    struct module *m = o->block->func->module;
    if (!(e->holds[i] & PLACE_shared) ||
        (e->holds[i] & PLACE_registers && i == DOT_a && cost_keeps_operand(o)))
        return NULL;
    if (e->holds[i] & PLACE_registers && dot_behind(v, true, NULL) &&
        layout_conversion(x, dot_operand_layout(o, i, NULL, true), op_params(o)) != CONVERSION_shared)
        return NULL;
    int bytes = type_elem_bytes(v->type);
    struct layout l;
    int inner = map_dim(v);
    if (inner < 0)
        inner = bytes == e->either_major_bytes ? fast_dim(x) : i == DOT_a;
    layout_panels(&l, v->type->shape, bytes, inner);
    return type_shared(m, type_elem(v->type), v->type->rank, v->type->shape, layout_intern(m, &l), 1);
}

/* -- the pass -- */

static bool is_narrow(const struct op *dot, int i)
{
    return type_is_float(op_opnd(dot, i)->type) && type_elem_bits(op_opnd(dot, i)->type) == 8;
}

bool dot_is_narrow(const struct op *dot)
{
    if (!is_narrow(dot, DOT_a) && !is_narrow(dot, DOT_b))
        return false;
    return dot->block->func->deterministic || !choose(dot, false).fragment;
}

static void widen(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code != OP_dot || !dot_is_narrow(o))
        return;
    struct builder b = build_before(o);
    for (int i = DOT_a; i <= DOT_b; i++)
        if (is_narrow(o, i))
            op_set_opnd(o, i,
                        build_cast(&b, OP_fext, op_opnd(o, i), type_scalar(o->block->func->module, DT_f16)));
}

static bool is_zero(const struct value *v)
{
    uint64_t bits;
    return value_const_bits(v, &bits) && bits == 0;
}

static void accumulate(struct op *o, void *ctx)
{
    (void)ctx;
    if (o->code == OP_add && type_is_float(op_result(o)->type) && !o->block->func->fp_fusion)
        return; /* if the other summand became the accumulator, the product would not be rounded separately */
    for (int i = 0; o->code == OP_add && i < 2; i++) {
        struct value *d = op_opnd(o, i), *x = op_opnd(o, 1 - i);
        if (!d->def || d->def->code != OP_dot || !is_zero(op_opnd(d->def, DOT_acc)) || value_nuses(d) != 1 ||
            d->block != o->block)
            continue;
        struct builder b = build_before(o);
        struct map none;
        map_init(&none, o->block->func->module->scratch);
        struct op *sum = op_clone(&b, d->def, &none);
        sum->loc = d->def->loc;
        op_set_opnd(sum, DOT_acc, x);
        value_replace(op_result(o), op_result(sum));
        value_take_name(op_result(sum), op_result(o));
        op_erase(o);
        op_erase(d->def);
        return;
    }
}

/* Returns the number of registers of a thread that the dot's accumulator takes. */
static int acc_regs(const struct op *dot)
{
    return tile_regs(op_result(dot)->type, dot->block->func->num_warps, 0);
}

/* Returns whether the dot needs more warps, because its accumulator takes more registers than a thread has.
 * If operand a is computed from another dot's result, and both dots are asynchronous, the dot also needs more
 * warps if both accumulators together take more than half of the registers (legalize_dot_chain_percent), and
 * if the dot has rows for twice as many warps. (The values that are computed between the two dots need the
 * other half.) */
static bool wants_warps(const struct op *dot)
{
    enum { WARP_ROWS = 16 };
    const struct func *f = dot->block->func;
    const int regs = acc_regs(dot);
    const struct op *first = dot_behind(op_opnd(dot, DOT_a), false, NULL);
    return regs > f->target->regs_thread ||
           (first && first->code == OP_dot && dot_is_async(dot) && dot_is_async(first) &&
            op_result(dot)->type->shape[0] >= 2 * f->num_warps * WARP_ROWS &&
            regs + acc_regs(first) >
                f->target->regs_thread * f->module->params->legalize_dot_chain_percent / 100);
}

static void add_warps(struct op *o, void *ctx)
{
    struct func *f = ctx;
    const int most =
        f->module->params->legalize_dot_warps_most; /* with more warps, a thread would have fewer registers */
    while (o->code == OP_dot && f->num_warps < most && wants_warps(o)) {
        opt_explain(f, &(struct explanation){DECISION_more_warps, .at = o, .values = {op_result(o)},
                                             .numbers = {acc_regs(o), 2 * f->num_warps, f->num_warps}});
        f->num_warps *= 2;
    }
}

struct forms {
    struct func *func;
    struct map chained; /* its keys are the dots for which dot_chains_swapped returns true */
};

static void note_chained(struct op *o, void *ctx)
{
    struct forms *x = ctx;
    if (o->code == OP_dot && dot_chains_swapped(o))
        *map_at_ptr(&x->chained, o) = o;
}

static void rewrite_form(struct op *o, void *ctx)
{
    struct forms *x = ctx;
    struct op at = *o;
    const bool chains = map_get_ptr(&x->chained, o) != NULL;
    if (o->code == OP_dot && dot_swap_operands(o, chains))
        opt_explain(x->func, &(struct explanation){chains ? DECISION_chained_dot : DECISION_transposed_dot,
                                                   .at = &at});
}

static void explain(struct op *o, void *ctx)
{
    struct func *f = ctx;
    if (o->code != OP_dot)
        return;
    const struct mma_choice c = choose(o, false);
    if (c.engine->is_async)
        opt_explain(f, &(struct explanation){DECISION_dot_by_async, .at = o, .values = {op_result(o)},
                                             .words = {c.name}, .numbers = {1 << c.split.n}});
    else
        opt_explain(f,
                    &(struct explanation){DECISION_dot_not_async, .at = o, .values = {op_result(o)},
                                          .words = {c.name, mma_engines[ENGINE_count - 1].name, c.why_not}});
}

void opt_legalize_dot(struct func *f)
{
    if (f->target)
        func_walk(f, add_warps, f);
    func_walk(f, accumulate, NULL);
    if (f->target) {
        struct forms x = {.func = f};
        map_init(&x.chained, f->module->scratch);
        func_walk(f, note_chained, &x);
        func_walk(f, rewrite_form, &x);
    }
    func_walk(f, widen, NULL);
    if (opt_explains(f))
        func_walk(f, explain, f);
}
