/* SPDX-License-Identifier: MIT */
/* swap_dot_operands.c: swaps the operands of a dot, so that an asynchronous engine (wgmma) can compute the dot or
 * read an operand from registers. Also replaces f16 accumulators by f32 accumulators.
 *
 *     %s = for ... carry(%x = %c) : 16x128 {                      %s.1 = for ... carry(%x = trans %c) : 128x16 {
 *       %d = dot %a, %b, %x                               =>        %d = dot (trans %b), (trans %a), %x
 *       yield %d                                                    yield %d
 *     }                                                           }
 *                                                                 %s = trans %s.1
 *
 * The transposed product equals the product of the transposed operands in reverse order. The pass swaps the operands
 * of a dot that has too few rows for a warpgroup, but enough columns, if both operands are loaded, because
 * tensor maps can then load them for asynchronous dots. (The layout of a computed operand depends on the ops
 * that compute it.) A transposition moves no data: it reinterprets the same registers or buffer with another
 * layout.
 *
 * An asynchronous engine can read only the first operand of a dot from registers. So the pass also swaps the
 * operands of dots that form a chain: the first operand of each dot is loaded, and the second operand is
 * computed from the result of another dot of the chain, in the same or the previous iteration. After the
 * swap, the computed operands stay in registers. Without the swap, they would go through shared memory, with
 * a fence and a barrier.
 *
 *     for ... carry(%s) : 128x64 {              for ... carry(%s) {
 *       %x = dot %w, (ftrunc %s), 0               %x = dot (trans (ftrunc %s)), (trans %w), 0
 *       %s.1 = dot %k, (ftrunc %x), %s      =>    %s.1 = dot (trans (ftrunc (trans %x))), (trans %k),
 *       yield %s.1                                           (trans %s)
 *     }                                           yield (trans %s.1)
 *                                               }
 *
 * The pass replaces an f16 accumulator by an f32 accumulator, because instructions with an f16 accumulator are not
 * faster. The f32 accumulator is rounded only once, after the loop that carries it. */
#include "opt/analysis/analysis.h"
#include "opt/layout/layouts.h"
#include "opt/passes.h"

#include "ir/target/engine.h"

/* The form of the dot that replaces a dot. */
struct form {
    bool swaps;              /* a and b are swapped; a, b, the accumulator and the result are transposed */
    const struct type *elem; /* the element type of the accumulator */
};

static struct value *build_transposed(struct builder *b, struct value *v)
{
    return build_trans(b, v, (int[]){1, 0});
}

/* Converts v, an accumulator or result of the replaced dot, to form f: extends and transposes it as f says.
 * out_of converts back. */
static struct value *into(const struct form *f, struct builder *b, struct value *v)
{
    if (type_elem(v->type) != f->elem)
        v = build_cast(b, OP_fext, v, f->elem);
    return f->swaps ? build_transposed(b, v) : v;
}

static struct value *out_of(const struct form *f, struct builder *b, struct value *v, const struct type *elem)
{
    v = f->swaps ? build_transposed(b, v) : v;
    return type_elem(v->type) != elem ? build_cast(b, OP_ftrunc, v, elem) : v;
}

/* Returns the loop that carries the dot's accumulator, if the dot is the only user of the accumulator, and
 * the loop's yield the only user of the result; else NULL. */
static struct op *loop_of(const struct op *dot)
{
    const struct value *acc = op_opnd(dot, DOT_acc), *sum = op_result(dot);
    struct op *loop = acc->def ? NULL : acc->block->parent, *end = block_terminator(dot->block);
    bool around = loop && loop->code == OP_for && acc->block == dot->block && acc->index > 0 &&
                  value_nuses(acc) == 1 && value_nuses(sum) == 1 && sum->uses->user == end &&
                  op_opnd(end, acc->index - 1) == sum;
    return around ? loop : NULL;
}

static struct op *build_dot(struct builder *b, const struct op *like, const struct form *f, struct value *acc)
{
    struct value *x[] = {op_opnd(like, DOT_a), op_opnd(like, DOT_b), acc};
    if (f->swaps) {
        x[DOT_a] = build_transposed(b, op_opnd(like, DOT_b));
        x[DOT_b] = build_transposed(b, op_opnd(like, DOT_a));
    }
    struct op *o = build_op(b, OP_dot, 3, x, 1, &acc->type, 0);
    op_set_int(o, ATTR_precision, op_int(like, ATTR_precision));
    op_set_int(o, ATTR_limit, op_int(like, ATTR_limit));
    return o;
}

/* Replaces dot o, whose accumulator `loop` carries, by a dot of form f. Converts the accumulator's initial
 * value to this form before the loop, and the loop's result back after the loop. */
static void change_around(struct op *o, struct op *loop, const struct form *f)
{
    struct value *acc = op_opnd(o, DOT_acc), *last = &loop->results[acc->index - 1];
    int i = acc->index - 1;
    struct builder b = build_before(loop);
    struct value *first = into(f, &b, op_opnd(loop, 3 + i));
    b = build_after(loop);
    struct value *stand_in = build_const_bits(&b, last->type, 0);
    value_replace(last, stand_in);
    op_set_opnd(loop, 3 + i, first);
    last->type = acc->type = first->type;
    struct value *back = out_of(f, &b, last, type_elem(stand_in->type));
    value_replace(stand_in, back);
    op_erase(stand_in->def);
    b = build_before(o);
    struct value *sum = op_result(build_dot(&b, o, f, acc));
    op_set_opnd(block_terminator(o->block), i, sum);
    value_take_name(sum, op_result(o));
    op_erase(o);
}

/* Replaces dot o by a dot of form f. Converts the accumulator to this form before the dot, and the result
 * back after it. */
static void change(struct op *o, const struct form *f)
{
    const struct type *elem = type_elem(op_result(o)->type);
    struct builder b = build_before(o);
    struct op *dot = build_dot(&b, o, f, into(f, &b, op_opnd(o, DOT_acc)));
    struct value *sum = out_of(f, &b, op_result(dot), elem);
    value_replace(op_result(o), sum);
    value_take_name(sum, op_result(o));
    op_erase(o);
}

static bool is_loaded(const struct value *v)
{
    const struct op *o = v->def;
    if (o && o->code == OP_trans && value_nuses(v) == 1)
        return is_loaded(op_opnd(o, 0));
    return o && o->code == OP_load && value_nuses(v) == 1;
}

/* Returns whether an asynchronous engine could compute a dot of form f in place of dot o. */
static bool fits_swapped(struct op *o, const struct form *f)
{
    struct op *next = o->next;
    struct builder b = build_after(o);
    bool fits = dot_is_async(build_dot(&b, o, f, into(f, &b, op_opnd(o, DOT_acc))));
    while (next->prev != o)
        op_erase(next->prev);
    return fits;
}

/* Returns whether an asynchronous engine could compute the dot with swapped operands, and read the dot's
 * second operand, which is then the first, from registers. Returns false if the program itself transposes the
 * result: the program has then already chosen the better order of the operands. */
static bool could_chain(struct op *o)
{
    for (const struct use *u = op_result(o)->uses; u; u = u->next)
        if (u->user->code == OP_trans)
            return false;
    const struct type *t = op_result(o)->type;
    const struct form f = {.elem = type_elem(t), .swaps = true};
    const struct mma_engine *e = target_engine(o->block->func->target, true);
    return e && t->rank == 2 && is_loaded(op_opnd(o, DOT_a)) && type_elem_bits(t) == 32 &&
           t->shape[1] >= e->rows / e->warps * o->block->func->num_warps && fits_swapped(o, &f);
}

bool dot_chains_swapped(struct op *o)
{
    enum { DOTS = 8 };
    const struct op *seen[DOTS];
    struct op *dot = o;
    for (int n = 0; n < DOTS; n++) {
        seen[n] = dot;
        struct op *behind = (struct op *)dot_behind(op_opnd(dot, DOT_b), true, NULL);
        if (!behind || !could_chain(dot))
            return false;
        for (int i = 0; i <= n; i++)
            if (seen[i] == behind)
                return true;
        dot = behind;
    }
    return false;
}

bool dot_swap_operands(struct op *o, bool chains)
{
    struct module *m = o->block->func->module;
    const struct type *t = op_result(o)->type, *elem = type_elem(t);
    struct form f = {.elem = elem->dtype == DT_f16 ? type_scalar(m, DT_f32) : elem, .swaps = true};
    const struct mma_engine *e = target_engine(o->block->func->target, true);
    f.swaps = chains || (e && t->rank == 2 && is_loaded(op_opnd(o, DOT_a)) && is_loaded(op_opnd(o, DOT_b)) &&
                         t->shape[0] < e->rows && fits_swapped(o, &f));
    struct op *loop = loop_of(o);
    if (!f.swaps && f.elem == elem)
        return false;
    if (loop)
        change_around(o, loop, &f);
    else
        change(o, &f);
    return f.swaps;
}
