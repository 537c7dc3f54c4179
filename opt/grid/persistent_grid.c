/* SPDX-License-Identifier: MIT */
/* persistent_grid.c: launches only as many CTAs as run at once, each of which loops over many programs.
 *
 *     kernel {                                 kernel {
 *       %m = program_id axis=0                   for %t = cta_id to num_programs 0 * 1 * 2 step cta_count {
 *       ...                          =>            %m = %t remu num_programs 0
 *       return                                     ...
 *     }                                          }
 *                                                return
 *                                              }
 *
 * The producer warp (warp_specialize.c) then loads the tiles of the next program while the consumers store the
 * result of the current one. The launcher starts as many CTAs as fit on the SMs at once, and passes the size of the
 * grid as a parameter.
 *
 * Programs are independent and may run in any order, unless they communicate. So the pass excludes kernels that may
 * return early, and kernels with atomics, volatile loads, prints, assertions, inline assembly that has effects or
 * reads %ctaid, or loops that may wait for another program. It applies only to loops that load their tiles through
 * tensor maps. It does not apply if two CTAs fit on an SM, because then one CTA stores while the other runs dots.
 * Nor does it apply if the number of iterations depends on the program, because the GPU's CTA scheduler then
 * balances the load better. In this case, if programs with higher numbers along axis 0 run longer, the pass only
 * reverses the numbers, so that the longest programs start first:
 *
 *     %m = program_id axis=0                 %p = program_id axis=0; %m = num_programs axis=0 - 1 - %p
 *     for %i = 0 to (%m + 1) * 128    =>     for %i = 0 to (%m + 1) * 128 */
#include "opt/analysis/analysis.h"
#include "opt/cost.h"
#include "opt/passes.h"

struct look {
    bool has_tensor_loads, forbidden, uneven;
    int grows; /* how the loops' numbers of iterations change from program to program: bits of enum growth */
};

/* Whether a value grows or shrinks as the program's number along axis 0 increases; both bits together mean that
 * this is unknown. */
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

struct numbers {
    struct value *of[3];
};

static void renumber(struct op *o, void *ctx)
{
    struct numbers *n = ctx;
    if (o->code != OP_program_id)
        return;
    struct value *pid = n->of[op_int(o, ATTR_axis)];
    value_replace(op_result(o), pid);
    op_erase(o);
}

static void reverse_number(struct op *o, void *ctx)
{
    struct numbers *n = ctx;
    if (o->code == OP_program_id && op_int(o, ATTR_axis) == 0)
        value_replace(op_result(o), n->of[0]);
}

static void longest_first(struct func *f)
{
    struct builder b = build_before(f->body->first);
    struct value *one = build_const_i32(&b, 1);
    struct value *last = build_binary(&b, OP_sub, build_num_programs(&b, 0), one);
    struct numbers pid = {{build_binary(&b, OP_sub, last, last)}};
    func_walk(f, reverse_number, &pid);
    b = build_before(pid.of[0]->def);
    op_set_opnd(pid.of[0]->def, 1, build_program_id(&b, 0));
}

static void loop_over_programs(struct func *f)
{
    struct op *first = f->body->first;
    struct builder b = build_before(first);
    struct value *n[3], *total = NULL;
    for (int axis = 0; axis < 3; axis++) {
        n[axis] = build_num_programs(&b, axis);
        total = total ? build_binary(&b, OP_mul, total, n[axis]) : n[axis];
    }
    struct value *step = build_i32(&b, OP_cta_count);
    struct op *loop = build_for(&b, build_i32(&b, OP_cta_id), total, step, 0, NULL);
    struct block *body = loop->regions[0];
    struct numbers pid;
    b = build_at_end(body, first->loc);
    struct value *t = body->args.at[0];
    value_rename(t, "tile");
    pid.of[0] = build_binary(&b, OP_remu, t, n[0]);
    struct value *rest = build_binary(&b, OP_divu, t, n[0]);
    pid.of[1] = build_binary(&b, OP_remu, rest, n[1]);
    pid.of[2] = build_binary(&b, OP_divu, rest, n[1]);
    for (struct op *next, *o = first; o->code != OP_return; o = next) {
        next = o->next;
        op_move_to_end(o, body);
    }
    block_walk(body, renumber, &pid);
    b = build_at_end(body, f->loc);
    build_yield(&b, 0, NULL);
    f->persistent = true;
    opt_explain(f, (struct explanation){DECISION_many_programs, .at = loop});
}

void opt_persistent_grid(struct func *f)
{
    struct look l = {0};
    func_walk(f, look_at, &l);
    if (!l.has_tensor_loads || l.forbidden || f->num_ctas != 1)
        return;
    if (l.uneven) {
        if (l.grows == GROWS)
            longest_first(f);
        opt_explain(f, (struct explanation){.what = l.grows == GROWS ? DECISION_longest_first
                                                                     : DECISION_uneven_programs});
    } else if (cost_two_ctas_fit(f))
        opt_explain(f, (struct explanation){.what = DECISION_two_ctas_fit});
    else
        loop_over_programs(f);
}
