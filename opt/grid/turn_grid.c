/* SPDX-License-Identifier: MIT */
/* turn_grid.c: renumbers the programs of a grid, so that programs that are neighbours along axis 1 and access
 * neighbouring memory run at the same time.
 *
 *     kernel @scale {                             kernel @scale turned=1 {
 *       %m = program_id axis=0                      %k = program_id axis=1 * num_programs axis=0 + program_id axis=0
 *       %n = program_id axis=1            =>        %m = %k divu num_programs axis=1
 *       %p = %X + %m * %stride + %n * 512           %n = %k - %m * num_programs axis=1
 *
 * The GPU starts CTAs in the order of axis 0. If axis 0 numbers rows, and axis 1 the parts of a row, each running CTA
 * accesses a short part of a different row. DRAM must then open a page for each row. Programs that read the
 * same row run far apart, so the caches have evicted the row before the next of these programs starts. So the pass
 * renumbers the programs: consecutive CTAs then run programs that are neighbours along axis 1.
 *
 * An access has a short step along an axis if its address changes, from one program to the next along this axis, by
 * at most the size of the accessed tile. The pass renumbers the programs if at least one access has a short
 * step only along axis 1, and no access has a short step only along axis 0. Programs may run in any order,
 * unless a program waits for another program; so the pass excludes kernels with `while` loops. The pass also
 * excludes kernels with dots, because their authors usually choose the order of programs. Kernels with
 * prefetches are excluded because a prefetch fetches the row of a program that runs later in the old order.
 * Last, the pass excludes kernels that have ops for which CTA i must run program i: prints and assertions
 * report the CTA's number as the program's number, and inline assembly may read the CTA's number. If axes 0
 * and 1 have 2^32 programs or more together, the programs keep their numbers (checked at run time). Needs:
 * scheduled ops. */
#include "opt/passes.h"

/* FAR stands for a step (see step_of) that is unknown, or that is at least FAR. */
enum { FAR = INT32_MAX };

struct look {
    bool forbidden, has_axis_1;
    bool near[2]; /* near[a]: an access has a short step along axis a, but not along the other axis */
};

static bool moves_only(enum opcode code)
{
    return code == OP_splat || code == OP_broadcast || code == OP_expand_dims || code == OP_reshape ||
           code == OP_trans || code == OP_convert || code == OP_sext || code == OP_zext;
}

static int64_t step_of(const struct value *v, int64_t axis, int *budget);

/* Returns the step of a product of v and a value of the given step. */
static int64_t step_times(int64_t step, const struct value *v)
{
    int64_t c;
    return step == 0 ? 0 : value_const_int(v, &c) && c > -FAR && c < FAR ? step * c : FAR;
}

/* Returns the step (see step_of) of o's result, computed from the steps x and y of its first two operands. At
 * least one of x and y is not 0. */
static int64_t step_of_result(const struct op *o, int64_t x, int64_t y)
{
    int64_t c;
    if (moves_only(o->code))
        return x;
    switch (o->code) {
    case OP_add: return x + y;
    case OP_sub: return x - y;
    case OP_addptr: return x + y * type_elem_bytes(type_elem(op_result(o)->type)->elem);
    case OP_mul: return x && y ? FAR : step_times(x, op_opnd(o, 1)) + step_times(y, op_opnd(o, 0));
    case OP_shl:
        return y == 0 && value_const_int(op_opnd(o, 1), &c) && c >= 0 && c < 31 ? x * (INT64_C(1) << c) : FAR;
    default: return FAR;
    }
}

/* Returns the step of v: by how much v changes from one program to the next along the axis (for pointers, in
 * bytes); FAR if the step is unknown. Visits at most *budget definitions. */
static int64_t step_of(const struct value *v, int64_t axis, int *budget)
{
    const struct op *o = v->def, *loop = v->block->parent;
    if (!o && !loop)
        return 0;
    if (--*budget < 0 || (!o && loop->code != OP_for))
        return FAR;
    if (!o) /* a loop's counter, or a carried value, has the step of its first value */
        return step_of(op_opnd(loop, v->index ? 2 + v->index : 0), axis, budget);
    if (o->code == OP_program_id)
        return op_int(o, ATTR_axis) == axis;
    int64_t steps[2] = {0};
    bool changes = false;
    for (int i = 0; i < o->nopnds; i++) {
        int64_t by = op_opnd(o, i) ? step_of(op_opnd(o, i), axis, budget) : 0;
        if (by == FAR || (by && i > 1))
            return FAR;
        steps[i & 1] = i > 1 ? steps[i & 1] : by;
        changes |= by != 0;
    }
    int64_t by = changes ? step_of_result(o, steps[0], steps[1]) : 0;
    return by < -FAR || by > FAR ? FAR : by;
}

static bool is_near(const struct op *access, int axis)
{
    const struct value *at = op_opnd(access, 0);
    int budget = op_params(access)->turn_grid_ops;
    int64_t by = step_of(at, axis, &budget),
            bytes = type_elems(at->type) * type_elem_bytes(type_elem(at->type)->elem);
    return by <= bytes && by >= -bytes;
}

static void look_at(struct op *o, void *ctx)
{
    struct look *l = ctx;
    l->forbidden |= op_asks_for_cta(o);
    switch (o->code) {
    case OP_while:
    case OP_dot:
    case OP_mma_start:
    case OP_prefetch:
    case OP_print:
    case OP_assert:
    case OP_asm_effect: l->forbidden = true; break;
    case OP_program_id: l->has_axis_1 |= op_int(o, ATTR_axis) == 1; break;
    case OP_load:
    case OP_store:
    case OP_atomic_rmw:
        if (is_near(o, 0) != is_near(o, 1))
            l->near[is_near(o, 1)] = true;
        break;
    default: break;
    }
}

/* The new program ids along axes 0 and 1, and the old ids from which they are computed. */
struct numbers {
    struct value *of[2], *old[2];
};

static void renumber(struct op *o, void *ctx)
{
    const struct numbers *n = ctx;
    if (o->code != OP_program_id || op_int(o, ATTR_axis) > 1 || op_result(o) == n->old[0] ||
        op_result(o) == n->old[1])
        return;
    value_replace(op_result(o), n->of[op_int(o, ATTR_axis)]);
    op_erase(o);
}

void opt_turn_grid(struct func *f)
{
    struct look l = {.forbidden = f->persistent || f->num_ctas != 1 || f->extra_warps || f->pair_multiple};
    func_walk(f, look_at, &l);
    if (l.forbidden || !l.has_axis_1 || l.near[0] || !l.near[1])
        return;
    struct builder b = build_before(f->body->first);
    struct numbers n = {.old = {build_program_id(&b, 0), build_program_id(&b, 1)}};
    struct value *width = build_num_programs(&b, 0), *height = build_num_programs(&b, 1);
    struct value *k = build_binary(&b, OP_add, build_binary(&b, OP_mul, n.old[1], width), n.old[0]);
    struct value *row = build_binary(&b, OP_divu, k, height);
    struct value *column = build_binary(&b, OP_sub, k, build_binary(&b, OP_mul, row, height));
    struct value *zero = build_const_i32(&b, 0);
    struct value *fits = build_cmp(&b, PRED_eq, build_binary(&b, OP_mulhu, width, height), zero);
    n.of[0] = build_select(&b, fits, row, n.old[0]);
    n.of[1] = build_select(&b, fits, column, n.old[1]);
    func_walk(f, renumber, &n);
    f->turned = true;
    opt_explain(f, &(struct explanation){.what = DECISION_turned});
}
