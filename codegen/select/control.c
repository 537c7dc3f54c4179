/* SPDX-License-Identifier: MIT */
/* control.c: turns loops and branches, whose bodies are regions in the IR, into basic blocks and jumps.
 *
 * Values that a loop carries or a branch yields are in variables: registers with several definitions. The
 * code that uses such a value reads a copy of its variable, because a copy has only one definition.
 * regalloc.c coalesces the copies with the variables. */
#include "codegen/select/select.h"
#include "ir/families.h"

/* -- variables -- */

/* Returns how variables hold the elements of a tile. If the tile has an even number of 16-bit elements in a
 * thread, two of them share a 32-bit register. Otherwise, each element has a register of its own. */
static struct word_shape carried_shape(const struct type *t)
{
    enum { PAIR = 2 };
    enum dtype dt = elem_dtype(t);
    struct word_shape a = {.per_word = 1, .dt = dt, .nwords = tile_nregs(t)};
    return dtype_info[dt].bits == 16 && tile_nregs(t) % PAIR == 0 ? word_shape(dt, tile_nregs(t)) : a;
}

/* Returns new variables for the elements of a tile. */
static struct opnd *tile_variable(struct select *s, const struct type *t)
{
    struct word_shape a = carried_shape(t);
    struct opnd *x = NEW_ARRAY(s->m->arena, a.nwords, struct opnd);
    for (int i = 0; i < a.nwords; i++)
        x[i] = mir_reg(s->m, a.per_word > 1 ? CLASS_b32 : dtype_class(a.dt));
    return x;
}

struct insn *emit_jump(struct select *s, struct opnd when, bool negated)
{
    struct opnd label = {.kind = OPND_label};
    struct insn *in = emit_insn(s, form0(INSN_bra, PT_none), 0, 1, &label);
    if (when.kind == OPND_reg) {
        in->guard = when.n;
        in->guard_not = negated;
    }
    return in;
}

void jump_to(struct insn *jump, const struct mblock *b)
{
    jump->opnds[0].n = b->index;
}

/* Represents v by a copy of its variable, so that a later change of the variable does not change v. Register
 * allocation removes the copy if the copy is dead before the variable changes. */
static void set_copy(struct select *s, struct value *v, const struct opnd *variable)
{
    struct word_shape a = carried_shape(v->type);
    struct opnd *tile = tile_new(s, v);
    for (int i = 0; i < a.nwords; i++) {
        struct opnd copy = mir_reg(s->m, variable[i].cls);
        emit_mov(s, copy, variable[i]);
        split_word(s, &a, copy, tile + i * a.per_word);
    }
}

/* Moves n operands of op o, from operand `first` on, into the given variables. */
static void pass_on(struct select *s, const struct op *o, int first, int n, struct opnd *const *variables)
{
    int nregs = 0;
    for (int i = 0; i < n; i++)
        nregs += tile_nregs(op_opnd(o, first + i)->type);
    struct opnd *to = NEW_ARRAY(s->m->arena, nregs ? nregs : 1, struct opnd);
    struct opnd *from = NEW_ARRAY(s->m->arena, nregs ? nregs : 1, struct opnd);
    int nmoves = 0;
    for (int i = 0; i < n; i++) {
        const struct opnd *x = tile_of(s, op_opnd(o, first + i));
        struct word_shape a = carried_shape(op_opnd(o, first + i)->type);
        for (int k = 0; k < a.nwords; k++, nmoves++) {
            to[nmoves] = variables[i][k];
            from[nmoves] = a.per_word > 1 ? join_elems(s, &a, x + k * a.per_word) : x[k];
        }
    }
    emit_moves(s, nmoves, to, from);
}

static struct opnd **new_variables(struct select *s, int n, struct value *const *like)
{
    struct opnd **v = NEW_ARRAY(s->m->arena, n ? n : 1, struct opnd *);
    for (int i = 0; i < n; i++)
        v[i] = tile_variable(s, like[i]->type);
    return v;
}

static bool const_below(const struct value *lo, const struct value *hi)
{
    int64_t l, h;
    return value_const_int(lo, &l) && value_const_int(hi, &h) && l < h;
}

/* Selects a `for` loop. The test is at the end of the loop, so that an iteration needs only one jump. A test
 * before the loop is unnecessary if the bounds are constants with which the loop runs at least one iteration.
 * (If the step is a negative constant, read > for < below.)
 *
 *     i = lo, carried = init
 *     if (!(i < hi)) goto exit
 * body:
 *     ...; carried = yielded; i += step
 *     if (i < hi) goto body
 * exit: */
static void select_for(struct select *s, const struct op *o)
{
    struct block *region = o->regions[0];
    int ncarried = region->args.n - 1;
    struct opnd **carried = new_variables(s, ncarried, region->args.at + 1);
    struct opnd *i = tile_variable(s, region->args.at[0]->type);
    struct opnd hi = tile_of(s, op_opnd(o, 1))[0], step = tile_of(s, op_opnd(o, 2))[0];
    enum ptype type = dtype_ptype(elem_dtype(region->args.at[0]->type), READ_signed);
    int64_t by;
    bool down = value_const_int(op_opnd(o, 2), &by) && by < 0;

    struct opnd lo = tile_of(s, op_opnd(o, 0))[0];
    emit_moves(s, 1, i, &lo);
    pass_on(s, o, 3, ncarried, carried);
    struct insn *skip = NULL;
    struct value *first = op_opnd(o, 0), *last = op_opnd(o, 1);
    if (!(down ? const_below(last, first) : const_below(first, last)))
        skip = emit_jump(s, emit2(s, form1(INSN_setp, type, down ? MOD_le : MOD_ge), lo, hi), false);

    struct mblock *before = s->b;
    struct mblock *body = s->b = mir_block(s->m, before->index, before->depth + 1);
    set_copy(s, region->args.at[0], i);
    for (int k = 0; k < ncarried; k++)
        set_copy(s, region->args.at[1 + k], carried[k]);
    const struct op *yield = select_inline(s, region);
    s->op = o;
    pass_on(s, yield, 0, ncarried, carried);
    emit_insn(s, form0(INSN_add, type), 1, 3, (struct opnd[]){i[0], i[0], step});
    struct opnd more = emit2(s, form1(INSN_setp, type, down ? MOD_gt : MOD_lt), i[0], hi);
    jump_to(emit_jump(s, more, false), body);

    s->b = mir_block(s->m, skip ? before->index : s->b->index, before->depth);
    if (skip)
        jump_to(skip, s->b);
    for (int k = 0; k < ncarried; k++)
        set_copy(s, &o->results[k], carried[k]);
    select_reads_behind(s, o);
}

static void select_while(struct select *s, const struct op *o)
{
    struct block *test = o->regions[0], *region = o->regions[1];
    struct opnd **carried = new_variables(s, test->args.n, test->args.at);
    pass_on(s, o, 0, test->args.n, carried);
    select_release_before(s, o);
    struct mblock *before = s->b;
    struct mblock *head = s->b = mir_block(s->m, before->index, before->depth + 1);
    for (int k = 0; k < test->args.n; k++)
        set_copy(s, test->args.at[k], carried[k]);
    const struct op *condition = select_inline(s, test);
    struct opnd go_on = in_reg(s, tile_of(s, op_opnd(condition, 0))[0]);
    struct insn *leave = emit_jump(s, go_on, true);
    int test_end = s->b->index;

    for (int k = 0; k < region->args.n; k++)
        region->args.at[k]->scratch = tile_of(s, op_opnd(condition, 1 + k));
    s->b = mir_block(s->m, test_end, head->depth);
    const struct op *yield = select_inline(s, region);
    pass_on(s, yield, 0, test->args.n, carried);
    jump_to(emit_jump(s, (struct opnd){.kind = OPND_none}, false), head);

    s->b = mir_block(s->m, test_end, before->depth);
    jump_to(leave, s->b);
    for (int k = 0; k < o->nresults; k++)
        o->results[k].scratch = tile_of(s, op_opnd(condition, 1 + k));
}

/* Selects one arm of an `if`. Returns the arm's first block. */
static struct mblock *select_arm(struct select *s, struct block *region, const struct mblock *from,
                                 struct opnd *const *results)
{
    struct mblock *first = s->b = mir_block(s->m, from->index, from->depth);
    const struct op *end = select_inline(s, region);
    if (end->code == OP_yield)
        pass_on(s, end, 0, end->nopnds, results);
    return first;
}

static bool is_empty_arm(const struct block *b)
{
    return b->first->code == OP_yield && b->first->nopnds == 0;
}

/* If one arm of the `if` only returns, selects the `if` without a branch: threads that take this arm exit,
 * and the others execute the other arm. Returns false, and selects nothing, if there is no such arm. */
static bool select_exit(struct select *s, const struct op *o)
{
    for (int arm = 0; arm < 2; arm++) {
        if (o->regions[arm]->first->code != OP_return)
            continue;
        struct opnd c = in_reg(s, tile_of(s, op_opnd(o, 0))[0]);
        struct insn *exit = emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL);
        exit->guard = c.n;
        exit->guard_not = arm == 1;
        s->b = mir_block(s->m, s->b->index, s->b->depth);
        const struct op *end = select_inline(s, o->regions[!arm]);
        for (int i = 0; i < o->nresults && end->code == OP_yield; i++)
            o->results[i].scratch = tile_of(s, op_opnd(end, i));
        return true;
    }
    return false;
}

static void select_if(struct select *s, const struct op *o)
{
    if (select_exit(s, o))
        return;
    struct value **like = NEW_ARRAY(s->m->arena, o->nresults + 1, struct value *);
    for (int i = 0; i < o->nresults; i++)
        like[i] = &o->results[i];
    struct opnd **results = new_variables(s, o->nresults, like);
    struct opnd c = in_reg(s, tile_of(s, op_opnd(o, 0))[0]);
    struct mblock *before = s->b;
    struct insn *to_else = emit_jump(s, c, true), *to_join = NULL;
    select_arm(s, o->regions[0], before, results);
    bool has_else = !is_empty_arm(o->regions[1]);
    if (has_else) {
        if (block_terminator(o->regions[0])->code == OP_yield)
            to_join = emit_jump(s, (struct opnd){.kind = OPND_none}, false);
        jump_to(to_else, select_arm(s, o->regions[1], before, results));
    }
    s->op = o;
    s->b = mir_block(s->m, before->index, before->depth);
    if (!has_else)
        jump_to(to_else, s->b);
    if (to_join)
        jump_to(to_join, s->b);
    for (int i = 0; i < o->nresults; i++)
        set_copy(s, &o->results[i], results[i]);
}

void select_control(struct select *s, const struct op *o)
{
    switch ((enum control_op)o->code) {
    case CONTROL_OP_for: select_for(s, o); break;
    case CONTROL_OP_while: select_while(s, o); break;
    case CONTROL_OP_if: select_if(s, o); break;
    case CONTROL_OP_return: emit_insn(s, form0(INSN_ret, PT_none), 0, 0, NULL); break;
    case CONTROL_OP_yield:
    case CONTROL_OP_condition: break; /* select_while reads the operands of the condition */
    }
}
