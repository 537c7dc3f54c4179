/* SPDX-License-Identifier: MIT */
/* skip_rescaling.c: makes an online softmax rescale its accumulator only if the maximum of some row has changed.
 *
 *     for carry(%m, %acc) {                        for carry(%m, %acc) {
 *       %n = max %m, ...                             %n = max %m, ...
 *       %a = exp2 (sub %m, %n)                       %a = exp2 (sub %m, %n)
 *       %t = mul %acc, (broadcast %a)         =>     %keep = warp_all (cmp eq %a, 1)
 *       %d = mma_start %p, %v, %t                    %t = if %keep { yield %acc } else { yield (mul %acc, ...) }
 *       yield %n, %d                                 %d = mma_start %p, %v, %t
 *     }                                              yield %n, %d
 *                                                  }
 *
 * If the maximum of a row has not changed, the factor %a of the row is exactly 1. Since x * 1 = x for every
 * x, results do not change. The more blocks of scores the loop has processed, the less often a block changes
 * the maximum of a row. A warp has 16 rows. If scores are random, none of the 16 maxima changes in a third of
 * the first 32 blocks, and none changes in two thirds of the first 128 blocks. Times of attention forward on
 * an H200, in us, with 128 x 128 tiles in 8 warps, if the accumulator is always rescaled, and if it is
 * rescaled only where maxima change:
 *
 *     heads x rows, D                 always   where maxima change
 *     128 x 4096, 64                    1272                  1250
 *     32 x 16384, 64                    4981                  4821
 *     128 x 4096, 128                   1870                  1840
 *     32 x 16384, 128                   7296                  7144
 *     128 x 4096, 128, causal           1036                  1014
 *
 * The pass handles products that are the accumulator operand of an asynchronous dot in a `for` loop. A factor
 * must be an exponential of the difference between a carried value's old and new contents. Needs: layouts. */
#include "ir/support/map.h"
#include "ir/target/fragments.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

bool is_cheap_shape(const struct op *o)
{
    return o->code == OP_expand_dims || o->code == OP_broadcast || o->code == OP_splat;
}

const struct value *behind_shapes(const struct value *v)
{
    while (v->def && is_cheap_shape(v->def))
        v = op_opnd(v->def, 0);
    return v;
}

void skip_product(struct op *mul, int side, struct value *keep)
{
    struct builder b = build_before(mul);
    struct value *x = op_opnd(mul, 1 - side), *factor = op_opnd(mul, side);
    struct op *branch = build_if(&b, keep, 1, &op_result(mul)->type);
    b = build_at_end(branch->regions[0], mul->loc);
    build_yield(&b, 1, &x);
    b = build_at_end(branch->regions[1], mul->loc);
    struct map map;
    map_init(&map, b.func->module->scratch);
    VEC(struct op *) shapes = {0};
    for (struct value *v = factor; v->def && is_cheap_shape(v->def); v = op_opnd(v->def, 0))
        VEC_PUSH(b.func->module->scratch, &shapes, v->def);
    for (int i = shapes.n - 1; i >= 0; i--)
        op_clone(&b, shapes.at[i], &map);
    struct value *product = build_binary(&b, OP_mul, x, value_mapped(&map, factor));
    build_yield(&b, 1, &product);
    value_replace(op_result(mul), op_result(branch));
    op_erase(mul);
}

/* Returns whether x is a value that the loop carries, and y is the value that the body yields for x in the
 * next iteration. x and y may also be the products of two such values with the same factor. */
static bool is_old_and_new(const struct block *body, const struct value *x, const struct value *y)
{
    if (x->def && y->def && x->def->code == OP_mul && y->def->code == OP_mul)
        for (int i = 0; i < 2; i++)
            if (op_opnd(x->def, 1 - i) == op_opnd(y->def, 1 - i))
                return is_old_and_new(body, op_opnd(x->def, i), op_opnd(y->def, i));
    return !x->def && x->block == body && x->index > 0 && op_opnd(body->last, x->index - 1) == y;
}

/* Returns whether v is a difference between the old and the new contents of a value that the loop carries.
 * The difference may be multiplied by factors that are computed outside of the loop. */
static bool is_change(const struct block *body, const struct value *v)
{
    const struct op *o = v->def;
    if (!o || o->block != body)
        return false;
    for (int i = 0; o->code == OP_mul && i < 2; i++)
        if (value_is_outside(behind_shapes(op_opnd(o, 1 - i)), body->parent))
            return is_change(body, op_opnd(o, i));
    if (o->code != OP_sub && o->code != OP_add)
        return false;
    const struct value *x = op_opnd(o, 0), *y = op_opnd(o, 1);
    if (o->code == OP_add) {
        if (!y->def || y->def->code != OP_neg)
            return false;
        y = op_opnd(y->def, 0);
    }
    return is_old_and_new(body, x, y) || is_old_and_new(body, y, x);
}

/* If operand `side` of the product repeats a factor in many registers, and the factor is an exponential of
 * the change of a carried value (is_change), returns the factor; else returns NULL. */
static struct value *factor_of(const struct op *mul, int side)
{
    const struct value *v = behind_shapes(op_opnd(mul, side));
    if (!v->def || v->def->block != mul->block || (v->def->code != OP_exp && v->def->code != OP_exp2) ||
        !is_change(mul->block, op_opnd(v->def, 0)) ||
        tile_nregs(op_result(mul)->type) <
            tile_nregs(v->type) * mul->block->func->module->params->skip_rescaling_least)
        return NULL;
    return op_result(v->def);
}

/* Builds, after the op that computes the factor, the vote of a warp: an i1 that is 1 if all elements of the
 * factor in the warp's threads are 1. */
static struct value *build_vote(struct value *factor)
{
    struct builder b = build_after(factor->def);
    struct value *is_one = build_cmp(&b, PRED_eq, factor, build_const_float(&b, factor->type, 1));
    return op_result(build_op(&b, OP_warp_all, 1, &is_one, 1,
                              (const struct type *[]){type_scalar(b.func->module, DT_i1)}, 0));
}

static void visit(struct op *dot, void *ctx)
{
    (void)ctx;
    struct op *mul = starts_dot(dot) ? op_opnd(dot, DOT_acc)->def : NULL;
    const struct op *loop = dot->block->parent;
    if (!mul || mul->code != OP_mul || mul->block != dot->block || value_nuses(op_result(mul)) != 1 ||
        !loop || loop->code != OP_for)
        return;
    struct value *factor = factor_of(mul, 0);
    const int side = factor ? 0 : 1;
    factor = factor ? factor : factor_of(mul, 1);
    if (!factor)
        return;
    opt_explain(dot->block->func, &(struct explanation){DECISION_rescaling_skipped, .at = mul,
                                                        .values = {op_opnd(mul, 1 - side), factor}});
    skip_product(mul, side, build_vote(factor));
}

void opt_skip_rescaling(struct func *f)
{
    block_walk(f->body, visit, NULL);
}
