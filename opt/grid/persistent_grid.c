/* SPDX-License-Identifier: MIT */
/* persistent_grid.c: launches only as many CTAs as fit on the GPU at once; each CTA loops over many programs.
 *
 *     kernel {                                 kernel {
 *       %m = program_id axis=0                   for %t = cta_id to %programs step cta_count {
 *       ...                          =>            %m = %t remu num_programs axis=0
 *       return                                     ...
 *     }                                          }
 *                                                return
 *                                              }
 *
 * %programs is the number of all programs, the product of num_programs along the three axes. The producer
 * warp (warp_specialize.c) loads the tiles of the next program while the consumers store the result of the
 * current program. The launcher starts as many CTAs as fit on the SMs at once, and passes the size of the
 * grid as a parameter.
 *
 * Programs are independent and may run in any order, unless they communicate. So the pass excludes kernels
 * with atomics, volatile loads, inline assembly that has effects, and `while` loops, which may wait for
 * another program. The pass excludes kernels in which an op depends on the number of the CTA: prints,
 * assertions, and inline assembly that reads %ctaid or %tid. The pass also excludes kernels that may return
 * early, because a return would end all programs of the CTA. The pass applies only to kernels with a loop
 * that loads tiles through tensor maps. If two CTAs fit on an SM, the pass builds no loop over programs,
 * because one CTA then stores while the other CTA runs dots. In this case the pass only renumbers programs if
 * their run times differ, as described below.
 *
 * In some kernels, such as causal attention, the run time of programs grows or shrinks with their number along axis
 * 0. The order of the programs then matters: a long program that starts last keeps one SM busy while the other SMs
 * are idle. So the pass renumbers the programs. The pass divides axis 1 into sections of about
 * persistent_grid_section_programs programs, and sorts the programs of each section by run time. In most
 * sections, the longest programs come first. Sections are short because programs that are neighbours along
 * axis 0 often read the same memory (K and V of a head), which then stays in L2. The CTAs of a persistent
 * grid with uneven programs are launched in rows of cta_count CTAs. The CTAs of row 0 loop over most of the
 * programs. The last programs run in the later rows, one in each CTA. The GPU's scheduler starts a CTA of a
 * later row where a CTA of row 0 has ended, and so balances the load. In the following loop, %row is the
 * number of the CTA's row, and %rows is the number of rows:
 *
 *     %end = %programs - (%rows - 1 - %row) * cta_count
 *     for %t = cta_id + (%row == 0 ? 0 : %end - cta_count) to %end step cta_count
 *
 * A launch of row 0 alone is correct too: row 0 then runs all programs. At most %programs / cta_count rows,
 * rounded down, may follow row 0, because otherwise a row would start before program 0. In every second
 * section, except the last section, the longest programs come last: otherwise a CTA that runs the first
 * program of each section would always run the longest program. Cycles of attention on an H200 (128 heads of
 * 4096 rows, causal, 128 x 128, fp_reassoc, sections of 512 programs):
 *
 *                                               D = 128      D = 64
 *     one CTA for each program, shortest first  1,372,573    1,097,305
 *     one CTA for each program, sections        1,365,445    1,013,414
 *     persistent, row 0 alone                   1,338,332      994,715
 *     persistent, an eighth in later rows       1,298,967      956,331
 *
 * If the number of a loop's iterations depends on the program, but does not only grow or only shrink along
 * axis 0, the pass changes nothing: each program keeps its own CTA, which the GPU schedules. */
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/passes.h"

struct look {
    bool has_tensor_loads, forbidden, uneven;
    int grows; /* how the loops' numbers of iterations change along axis 0: bits of enum growth */
};

/* How a value changes if the program's number along axis 0 increases. Both bits together mean that the
 * direction of the change is unknown. */
enum growth { GROWS = 1, SHRINKS = 2 };

static int negated(int growth)
{
    return (growth & GROWS ? SHRINKS : 0) | (growth & SHRINKS ? GROWS : 0);
}

static int growth_of(const struct value *v, int *budget)
{
    int64_t c;
    const struct op *o = v->def;
    if (!value_depends_on(v, false))
        return 0;
    if (--*budget < 0 || !o)
        return GROWS | SHRINKS;
    bool by_positive = o->nopnds == 2 && value_const_int(op_opnd(o, 1), &c) && c > 0;
    switch (o->code) {
    case OP_program_id: return op_int(o, ATTR_axis) == 0 ? GROWS : GROWS | SHRINKS;
    case OP_add:
    case OP_mins:
    case OP_maxs: return growth_of(op_opnd(o, 0), budget) | growth_of(op_opnd(o, 1), budget);
    case OP_sub: return growth_of(op_opnd(o, 0), budget) | negated(growth_of(op_opnd(o, 1), budget));
    case OP_shl:
    case OP_shrs:
    case OP_mul:
    case OP_divs: return by_positive ? growth_of(op_opnd(o, 0), budget) : GROWS | SHRINKS;
    case OP_sext: return growth_of(op_opnd(o, 0), budget);
    default: return GROWS | SHRINKS;
    }
}

static void look_at_loop(struct look *l, const struct op *loop)
{
    l->has_tensor_loads = true;
    for (int i = 0; i < 3; i++)
        l->uneven |= value_depends_on(op_opnd(loop, i), false) != 0;
    int budget = op_params(loop)->persistent_grid_ops;
    int64_t length;
    if (!value_distance(op_opnd(loop, 0), op_opnd(loop, 1), &length))
        l->grows |= growth_of(op_opnd(loop, 1), &budget) | negated(growth_of(op_opnd(loop, 0), &budget));
}

static void look_at(struct op *o, void *ctx)
{
    struct look *l = ctx;
    l->forbidden |= op_asks_for_cta(o);
    switch (o->code) {
    case OP_tensor_load:
        if (o->block->parent && o->block->parent->code == OP_for)
            look_at_loop(l, o->block->parent);
        break;
    case OP_atomic_rmw:
    case OP_atomic_cas:
    case OP_while:
    case OP_print:
    case OP_asm_effect:
    case OP_assert: l->forbidden = true; break;
    case OP_load: l->forbidden |= op_int(o, ATTR_volatile) != 0; break;
    case OP_return: l->forbidden |= o->block->parent != NULL; break;
    default: break;
    }
}

/* of: the new numbers of the program along the three axes. old: the results of the program_id ops from which
 * the new numbers are computed, which renumber must keep; NULL if there are none. */
struct numbers {
    struct value *of[3], *old[3];
};

static void renumber(struct op *o, void *ctx)
{
    const struct numbers *n = ctx;
    if (o->code != OP_program_id || op_result(o) == n->old[op_int(o, ATTR_axis)])
        return;
    value_replace(op_result(o), n->of[op_int(o, ATTR_axis)]);
    op_erase(o);
}

/* Renumbers the programs of each section of axis 1 (see the head of this file): replaces pid->of[0] and
 * pid->of[1]. n[0] and n[1] are the numbers of programs along axes 0 and 1. If `grows` is true, the run time
 * of programs grows with their number along axis 0; otherwise it shrinks. */
static void build_longest_first(struct builder *b, struct numbers *pid, struct value *const n[2], bool grows)
{
    struct value *one = build_const_i32(b, 1);
    struct value *most = build_const_i32(b, b->func->module->params->persistent_grid_section_programs);
    struct value *width = build_binary(b, OP_maxs, build_binary(b, OP_divu, most, n[0]), one);
    struct value *section = build_binary(b, OP_divu, pid->of[1], width);
    struct value *first = build_binary(b, OP_mul, section, width);
    struct value *left = build_binary(b, OP_sub, n[1], first);
    struct value *is_odd = build_cast(b, OP_trunc, section, type_scalar(b->func->module, DT_i1));
    struct value *is_last = build_cmp(b, PRED_sge, width, left);
    width = build_binary(b, OP_mins, width, left);
    struct value *k = build_binary(b, OP_mul, build_binary(b, OP_sub, pid->of[1], first), n[0]);
    k = build_binary(b, OP_add, k, pid->of[0]);
    struct value *up = build_binary(b, OP_divu, k, width);
    struct value *rest = build_binary(b, OP_sub, k, build_binary(b, OP_mul, up, width));
    struct value *down = build_binary(b, OP_sub, build_binary(b, OP_sub, n[0], one), up);
    struct value *in_order = grows ? down : up;
    pid->of[1] = build_binary(b, OP_add, first, rest);
    pid->of[0] = build_select(b, is_last, in_order, build_select(b, is_odd, grows ? up : down, in_order));
}

static struct value *build_cta(struct builder *b, enum opcode code, int axis)
{
    struct value *v = build_i32(b, code);
    op_set_int(v->def, ATTR_axis, axis);
    return v;
}

/* Returns the number of the first program that the CTA's row runs. On entry, *end is the number of all
 * programs. Sets *end to the number after the last program that the row runs. `step` is the number of CTAs in
 * a row. */
static struct value *build_row(struct builder *b, struct value *step, struct value **end)
{
    struct value *zero = build_const_i32(b, 0), *one = build_const_i32(b, 1);
    struct value *row = build_cta(b, OP_cta_id, 1), *last = build_cta(b, OP_cta_count, 1);
    last = build_binary(b, OP_sub, last, one);
    *end = build_binary(b, OP_sub, *end, build_binary(b, OP_mul, build_binary(b, OP_sub, last, row), step));
    struct value *before = build_binary(b, OP_sub, *end, step), *is_first = build_cmp(b, PRED_eq, row, zero);
    return build_select(b, is_first, zero, before);
}

static void loop_over_programs(struct func *f, const struct look *l)
{
    struct op *first = f->body->first;
    struct builder b = build_before(first);
    struct value *n[3], *end = NULL;
    for (int axis = 0; axis < 3; axis++) {
        n[axis] = build_num_programs(&b, axis);
        end = end ? build_binary(&b, OP_mul, end, n[axis]) : n[axis];
    }
    struct value *step = build_i32(&b, OP_cta_count), *from = build_i32(&b, OP_cta_id);
    if (l->uneven)
        from = build_binary(&b, OP_add, from, build_row(&b, step, &end));
    struct op *loop = build_for(&b, from, end, step, 0, NULL);
    struct block *body = loop->regions[0];
    struct numbers pid = {.old = {NULL}};
    b = build_at_end(body, first->loc);
    struct value *t = body->args.at[0];
    value_rename(t, "tile");
    pid.of[0] = build_binary(&b, OP_remu, t, n[0]);
    struct value *rest = build_binary(&b, OP_divu, t, n[0]);
    pid.of[1] = build_binary(&b, OP_remu, rest, n[1]);
    pid.of[2] = build_binary(&b, OP_divu, rest, n[1]);
    if (l->uneven)
        build_longest_first(&b, &pid, n, l->grows == GROWS);
    for (struct op *next, *o = first; o->code != OP_return; o = next) {
        next = o->next;
        op_move_to_end(o, body);
    }
    block_walk(body, renumber, &pid);
    b = build_at_end(body, f->loc);
    build_yield(&b, 0, NULL);
    f->persistent = l->uneven ? 2 : 1;
    opt_explain(f, &(struct explanation){DECISION_many_programs, .at = loop});
}

static void longest_first(struct func *f, const struct look *l)
{
    struct builder b = build_before(f->body->first);
    struct numbers pid;
    struct value *n[2];
    for (int axis = 0; axis < 3; axis++)
        pid.of[axis] = pid.old[axis] = build_program_id(&b, axis);
    for (int axis = 0; axis < 2; axis++)
        n[axis] = build_num_programs(&b, axis);
    build_longest_first(&b, &pid, n, l->grows == GROWS);
    func_walk(f, renumber, &pid);
}

void opt_persistent_grid(struct func *f)
{
    struct look l = {0};
    func_walk(f, look_at, &l);
    if (!l.has_tensor_loads || l.forbidden || f->num_ctas != 1)
        return;
    const bool is_ordered = l.grows == GROWS || l.grows == SHRINKS;
    if (l.uneven && !is_ordered) {
        opt_explain(f, &(struct explanation){.what = DECISION_uneven_programs});
    } else if (!cost_two_ctas_fit(f)) {
        loop_over_programs(f, &l);
    } else if (l.uneven) {
        longest_first(f, &l);
        opt_explain(f, &(struct explanation){.what = DECISION_longest_first});
    } else {
        opt_explain(f, &(struct explanation){.what = DECISION_two_ctas_fit});
    }
}
