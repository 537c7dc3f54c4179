/* SPDX-License-Identifier: MIT */
/* whole_tiles.c: loads all tiles of a row without a mask, except the tile that contains the end of the row.
 *
 *                                                          %limit = %n - 4096
 *     for %i = 0 to %n step 4096 {                         for %i = 0 to %n step 4096 {
 *       %mask = %i + cols < %n                               %whole = %i <= %limit
 *       %x = load %p, %mask, -inf                =>          %x = if %whole { load %p }
 *       ...                                                       else { load %p, %i + cols < %n, -inf }
 *
 * A masked load needs additional instructions: each vector has a comparison, and each of its registers is first set
 * to the value `other`. In a loop over a row, only the last tile needs a mask. Loads with the same mask share one
 * branch if no op between them writes memory. The pass handles loops that count up from a nonnegative
 * constant, and masks that only loads use. The pass does not change kernels with a producer warp. The pass
 * runs after all passes that search for masked loads. Needs: vector widths. */
#include "opt/analysis/analysis.h"
#include "opt/passes.h"

enum { LOADS_MOST = 8 };

/* The loads of a loop's body that have the mask `range + splat counter < splat bound`. */
struct masked {
    struct op *mask, *add, *loads[LOADS_MOST]; /* mask: the comparison; add: the sum that it compares */
    struct value *bound;
    int n, vectors; /* the number of loads, and of the vectors that one thread loads with them */
};

/* Returns whether v is a tile with the elements counter + 0, counter + 1, ..., where `counter` is the counter of
 * a loop. */
static bool counts_with(const struct value *v, const struct value *counter)
{
    const struct op *o = value_def_as(v, OP_add);
    for (int i = 0; o && i < 2; i++) {
        const struct op *splat = value_def_as(op_opnd(o, i), OP_splat),
                        *range = value_def_as(op_opnd(o, 1 - i), OP_range);
        if (splat && range && op_opnd(splat, 0) == counter && op_int(range, ATTR_start) == 0)
            return true;
    }
    return false;
}

/* Collects the loads with the mask, in order. Returns false if the mask has other uses, if the loads cannot
 * share one branch, or if a thread loads too few vectors (whole_tiles_vectors). */
static bool collect(struct masked *m, const struct op *loop)
{
    int nuses = value_nuses(op_result(m->mask));
    for (struct op *o = m->mask->next; o && m->n < nuses && m->n < LOADS_MOST; o = o->next) {
        if (o->code == OP_load && op_opnd(o, 1) == op_result(m->mask) && !op_int(o, ATTR_volatile) &&
            (!m->n || op_can_move(o, m->loads[0]))) {
            m->loads[m->n++] = o;
            m->vectors += tile_nregs(op_result(o)->type) / (int)op_int(o, ATTR_vec);
        } else if (m->n && op_may_write(o))
            break;
    }
    return m->n == nuses && m->vectors >= op_params(loop)->whole_tiles_vectors;
}

static void load_in(struct block *arm, const struct masked *m, bool whole)
{
    struct builder b = build_at_end(arm, m->loads[0]->loc);
    struct value *loaded[LOADS_MOST];
    struct map map;
    map_init(&map, arm->func->module->scratch);
    if (!whole) {
        for (int i = 0; i < 2; i++)
            if (value_def_as(op_opnd(m->add, i), OP_splat))
                op_clone(&b, op_opnd(m->add, i)->def, &map);
        op_clone(&b, m->add, &map);
        op_clone(&b, m->mask, &map);
    }
    for (int i = 0; i < m->n; i++) {
        struct op *load = op_clone(&b, m->loads[i], &map);
        if (whole) {
            op_set_opnds(load, 1, (struct value *[]){op_opnd(load, 0)});
            op_drop_attr(load, ATTR_tail);
        }
        loaded[i] = op_result(load);
    }
    build_yield(&b, m->n, loaded);
}

static void branch(struct masked *m, struct op *loop)
{
    const struct type *types[LOADS_MOST];
    for (int i = 0; i < m->n; i++) {
        types[i] = op_result(m->loads[i])->type;
        if (i)
            op_move_with_operands(m->loads[i], m->loads[0]);
    }
    struct builder before = build_before(loop), b = build_before(m->loads[0]);
    struct value *limit =
        build_binary(&before, OP_sub, m->bound, build_const_i32(&before, type_elems(types[0])));
    struct value *whole = build_cmp(&b, PRED_sle, loop->regions[0]->args.at[0], limit);
    struct op *choice = build_if(&b, whole, m->n, types);
    load_in(choice->regions[0], m, true);
    load_in(choice->regions[1], m, false);
    for (int i = 0; i < m->n; i++) {
        value_replace(op_result(m->loads[i]), &choice->results[i]);
        op_erase(m->loads[i]);
    }
    opt_explain(loop->block->func,
                &(struct explanation){DECISION_whole_tiles, .at = choice, .values = {&choice->results[0]}});
}

static void visit(struct op *loop, void *ctx)
{
    int64_t lo, step;
    (void)ctx;
    if (loop->code != OP_for || !value_const_int(op_opnd(loop, 0), &lo) || lo < 0 ||
        !value_const_int(op_opnd(loop, 2), &step) || step <= 0)
        return;
    for (struct op *o = loop->regions[0]->first, *next; o; o = next) {
        next = o->next;
        const struct op *bound = o->code == OP_cmp && op_int(o, ATTR_pred) == PRED_slt
                                     ? value_def_as(op_opnd(o, 1), OP_splat)
                                     : NULL;
        struct masked m = {.mask = o};
        if (!bound || op_opnd(bound, 0) != op_opnd(loop, 1) ||
            !counts_with(op_opnd(o, 0), loop->regions[0]->args.at[0]))
            continue;
        m.add = op_opnd(o, 0)->def;
        m.bound = op_opnd(bound, 0);
        if (!collect(&m, loop))
            continue;
        next = m.loads[m.n - 1]->next;
        branch(&m, loop);
    }
}

void opt_whole_tiles(struct func *f)
{
    if (!f->extra_warps)
        func_walk(f, visit, NULL);
}
