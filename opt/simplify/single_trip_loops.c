/* SPDX-License-Identifier: MIT */
/* single_trip_loops.c: replaces loops over a row by their bodies if each loop runs a single iteration, so
 * that the row is loaded once.
 *
 *     for %i = 0 to %n step 1024 {                       guard 1024 - %n
 *       %a = load (X + %i + cols), %i + cols < %n        guard %n - 1
 *       .. yield .. }                                    %a = load (X + 0 + cols), 0 + cols < %n
 *     store Mean + pid, ..                       =>      guard Mean is apart from X
 *     for %j = 0 to %n step 1024 {                       store Mean + pid, ..
 *       %b = load (X + %j + cols), %j + cols < %n        (uses of %b become %a)
 *       .. }
 *
 * Kernels that process rows of any length in blocks are often launched with blocks at least as long as a row, so that
 * each loop runs once. The pass replaces loops with the same bounds by the bodies of their first iterations
 * if two of these bodies load the same tile. Two loads load the same tile if they have equal addresses and
 * masks, and if no write between them may change the tile. The tile is then called shared. Guards ensure that
 * each loop runs exactly one iteration. If a guard fails, the launch uses the fallback kernel, which is
 * compiled without this pass.
 *
 * The loads of other tiles in these loops (for example of weights) move to directly after the first load of a
 * shared tile, as far as registers allow. All loads are then in flight together. In their old places, they
 * would start only after the reductions that precede them.
 *
 * The pass does not change kernels with dots: in such kernels, copies by tensor maps are faster, and these
 * copies need other guards. The pass does not change kernels in which programs may see each other's writes
 * (atomics, volatile loads, inline assembly) either. Needs: traced ops after cse, so that equal bounds are
 * one value. Leaves: the ops of the first iterations, for fold. */
#include "opt/analysis/affine.h"
#include "opt/analysis/analysis.h"
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

enum { LOOPS_MOST = 8, LOADS_MOST = 32, LANES = 32, REGISTER_BITS = 32, HALF_BITS = 16 };

struct merged {
    struct op *load, *with; /* the earlier load `with` replaces `load`; NULL: `load` is not replaced */
    bool stays;             /* this load replaces other loads */
};

struct single_trip {
    struct func *f;
    struct affine_table *t;
    struct op *loops[LOOPS_MOST];
    int nloops;
    struct merged loads[LOADS_MOST];
    int nloads;
    struct guards guards;
    int budget; /* the number of values that the running comparison or search may still visit */
};

/* -- equal values -- */

static bool is_among(const struct single_trip *x, const struct op *loop)
{
    return loop && is_single_trip(x->t, loop);
}

/* Returns a value that equals v if each of the loops runs a single iteration: replaces a carried value by its
 * initial value, and a loop's result by the value that the body yields, as often as possible. */
static const struct value *origin(const struct single_trip *x, const struct value *v)
{
    for (;;) {
        const struct op *around = v->def ? NULL : v->block->parent;
        if (is_among(x, around))
            v = op_opnd(around, v->index ? v->index + 2 : 0);
        else if (v->def && is_among(x, v->def))
            v = op_opnd(v->def->regions[0]->last, v->index);
        else
            return v;
    }
}

static bool equal_opnds(struct single_trip *x, const struct op *a, const struct op *b);

static bool are_equal(struct single_trip *x, const struct value *a, const struct value *b)
{
    if (!a || !b)
        return a == b;
    a = origin(x, a);
    b = origin(x, b);
    if (a == b)
        return true;
    return a->def && b->def && --x->budget > 0 && op_has(a->def, PURE) && !a->def->nregions &&
           a->index == b->index && equal_opnds(x, a->def, b->def);
}

static bool equal_opnds(struct single_trip *x, const struct op *a, const struct op *b)
{
    if (a->code != b->code || a->nopnds != b->nopnds || op_result(a)->type != op_result(b)->type ||
        !attrs_equal(a, b))
        return false;
    for (int i = 0; i < a->nopnds; i++)
        if (!are_equal(x, op_opnd(a, i), op_opnd(b, i)))
            return false;
    return true;
}

/* -- the number of iterations -- */

static bool is_i32(const struct value *v)
{
    return type_elem_bits(v->type) == 32;
}

/* Adds a guard which requires that p - q + more >= 0. Adds none if this condition is always true. Returns
 * false if the condition is always false, or if the launcher cannot compute it. */
static bool guard_least(struct single_trip *x, const struct poly *p, const struct poly *q, int64_t more)
{
    struct poly d, c = poly_int(more);
    int64_t known;
    if (!poly_add(x->t, &d, p, q, -1) || !poly_add(x->t, &d, &d, &c, 1))
        return false;
    if (poly_const(&d, &known))
        return known >= 0;
    struct expr *e = guard_new(&x->guards);
    return e && poly_expr(x->t, &d, e);
}

/* Adds guards which require that p fits in 32 bits, because the launcher computes p with 64 bits, and the
 * kernel with 32 bits. Returns false as guard_least does. */
static bool guard_i32(struct single_trip *x, const struct poly *p)
{
    const struct poly none = poly_int(0);
    return guard_least(x, p, &none, -(int64_t)INT32_MIN) && guard_least(x, &none, p, INT32_MAX);
}

/* Adds guards which ensure that the launcher computes the same value for v as the kernel. Returns false if no
 * guards can ensure this. */
static bool guard_exact(struct single_trip *x, const struct value *v)
{
    const struct op *o = v->def;
    if (!o)
        return !v->block->parent;
    for (int i = 0; i < o->nopnds; i++)
        if (!guard_exact(x, op_opnd(o, i)))
            return false;
    switch (o->code) {
    case OP_const:
    case OP_num_programs:
    case OP_divs:
    case OP_rems:
    case OP_mins:
    case OP_maxs:
    case OP_hint:
    case OP_sext: return true;
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_shl: return !is_i32(v) || guard_i32(x, &affine_of(x->t, v)->p);
    default: return false;
    }
}

/* Adds guards which require that lo < hi <= lo + step, and that lo + step does not overflow. hi <= lo + step
 * is the first guard, because it fails most often (for rows longer than a block). Returns false if a guard is
 * impossible. */
static bool guard_single_trip(struct single_trip *x, const struct op *loop)
{
    const struct value *from = op_opnd(loop, 0), *to = op_opnd(loop, 1);
    const struct poly *lo = &affine_of(x->t, from)->p, *hi = &affine_of(x->t, to)->p,
                      most = poly_int(is_i32(from) ? INT32_MAX : INT64_MAX);
    int64_t by;
    return value_const_int(op_opnd(loop, 2), &by) && by > 0 && guard_least(x, lo, hi, by) &&
           guard_least(x, hi, lo, -1) && guard_least(x, &most, lo, -by) && guard_exact(x, from) &&
           guard_exact(x, to);
}

/* -- which loads share a tile -- */

/* Returns whether the kernel may write, between the two loads `first` and `load`, to the tile that `load`
 * reads. If guards can exclude all such writes, adds the guards and returns false. */
static bool may_have_changed(struct single_trip *x, const struct op *first, const struct op *load)
{
    struct access a;
    struct guards g = {0};
    const char *why = access_of(x->t, load, &a);
    bool changed = why ? may_be_written(x->t, first, load, NULL, &g)
                       : may_be_written(x->t, first, load, &a, &g) ||
                             (g.n && !(guards_of(x->t, &a, &g) && guard_forward(x->t, &a, &g)));
    if (!changed)
        for (int i = 0; i < g.n; i++) {
            struct expr *e = guard_new(&x->guards);
            if (!e)
                return true;
            *e = g.at[i];
        }
    return changed;
}

static void add_load(struct single_trip *x, struct op *load)
{
    if (load->code != OP_load || !type_is_tile(op_result(load)->type) || x->nloads == LOADS_MOST)
        return;
    struct merged *m = &x->loads[x->nloads];
    *m = (struct merged){.load = load};
    for (int i = x->nloads - 1; i >= 0 && !m->with; i--) {
        struct merged *first = &x->loads[i];
        x->budget = x->f->module->params->single_trip_loops_ops;
        if (first->with || !equal_opnds(x, first->load, load))
            continue;
        if (may_have_changed(x, first->load, load)) {
            opt_explain(x->f,
                        &(struct explanation){DECISION_read_again, .at = load, .values = {op_result(load)}});
            break;
        }
        first->stays = true;
        m->with = first->load;
    }
    x->nloads++;
}

/* -- registers -- */

static int registers_most(const struct func *f, int percent)
{
    return func_regs(f, LANES * f->num_warps, false) * percent / 100;
}

/* Returns how many registers a shared tile takes between the loops. An element narrower than 32 bits takes a
 * whole register, because arithmetic reads one element per register. But 16-bit floats stay packed, two in a
 * register, because remat.c repeats their conversion to f32 for each op that uses them. Shared tiles may take
 * only a quarter of a thread's registers (single_trip_loops_kept_percent): the code between the loops
 * computes two more tiles of the same size, and addresses and masks need registers too. A spill would cost
 * more than a second load from a cache. */
static int registers_kept(const struct func *f, const struct op *load)
{
    const struct type *t = op_result(load)->type;
    return tile_regs(t, f->num_warps, type_is_float(t) && type_elem_bits(t) == HALF_BITS ? 0 : REGISTER_BITS);
}

static const char *find_no_room(struct single_trip *x)
{
    int n = 0, most = registers_most(x->f, x->f->module->params->single_trip_loops_kept_percent);
    for (int i = 0; i < x->nloads; i++)
        n += x->loads[i].stays ? registers_kept(x->f, x->loads[i].load) : 0;
    struct text why;
    text_init(&why, x->f->module->scratch);
    text_printf(&why, "the tiles to keep would take %d registers of a thread, more than %d", n, most);
    return n > most ? why.s : NULL;
}

/* -- the rewrite -- */

void loop_inline(struct op *loop)
{
    struct block *body = loop->regions[0];
    struct op *yield = body->last;
    for (int i = 0; i < body->args.n; i++)
        value_replace(body->args.at[i], op_opnd(loop, i ? i + 2 : 0));
    for (int i = 0; i < loop->nresults; i++)
        value_replace(&loop->results[i], op_opnd(yield, i));
    op_erase(yield);
    while (body->first)
        op_move_before(body->first, loop);
    op_erase(loop);
}

static void merge(struct single_trip *x, struct merged *m)
{
    opt_explain(x->f, &(struct explanation){DECISION_read_once, .at = m->load,
                                            .values = {op_result(m->load), op_result(m->with)}});
    value_replace(op_result(m->load), op_result(m->with));
    op_erase(m->load);
}

/* Returns whether v is available directly after `last`, or becomes available there if the pure ops that
 * compute v move. */
static bool is_early(struct single_trip *x, const struct value *v, const struct op *last)
{
    const struct op *o = v ? v->def : NULL;
    if (!v || value_dominates(v, last->next))
        return true;
    if (!o || --x->budget < 0 || o->block != last->block || !op_has(o, PURE) || o->nregions)
        return false;
    for (int i = 0; i < o->nopnds; i++)
        if (!is_early(x, op_opnd(o, i), last))
            return false;
    return true;
}

/* Notes in *ctx that the program may end early if o is a nested return or an assert. Loads must not move from
 * after such an op to before it. */
static void find_end(struct op *o, void *ctx)
{
    *(bool *)ctx |= (o->code == OP_return && o->block->parent) || o->code == OP_assert;
}

/* First counts the registers of shared tiles. Then moves the loads of tiles that are not shared, in program
 * order, to after the first load of a shared tile, as long as registers remain. Moves no load if the program
 * may end early (find_end). */
static void load_early(struct single_trip *x)
{
    struct op *last = NULL;
    bool may_end = false;
    int n = 0, most = registers_most(x->f, x->f->module->params->single_trip_loops_read_percent);
    func_walk(x->f, find_end, &may_end);
    for (int i = 0; i < x->nloads; i++)
        n += x->loads[i].stays ? tile_regs(op_result(x->loads[i].load)->type, x->f->num_warps, 0) : 0;
    for (int i = 0; i < x->nloads && !may_end; i++) {
        const struct merged *m = &x->loads[i];
        int more = tile_regs(op_result(m->load)->type, x->f->num_warps, 0);
        x->budget = x->f->module->params->single_trip_loops_ops;
        if (!last && m->stays)
            last = m->load;
        else if (last && !m->stays && !m->with && n + more <= most &&
                 is_early(x, op_opnd(m->load, 0), last) && is_early(x, op_opnd(m->load, 1), last) &&
                 is_early(x, op_opnd(m->load, 2), last) && !may_have_changed(x, last, m->load)) {
            opt_explain(x->f, &(struct explanation){DECISION_read_early, .at = m->load,
                                                    .values = {op_result(m->load)}});
            op_move_with_operands(m->load, last->next);
            last = m->load;
            n += more;
        }
    }
}

static void rewrite(struct single_trip *x)
{
    for (int i = 0; i < x->nloops; i++)
        loop_inline(x->loops[i]);
    x->t = affine_new(x->f);
    load_early(x);
    for (int i = 0; i < x->nloads; i++)
        if (x->loads[i].with)
            merge(x, &x->loads[i]);
    guards_add(x->f, &x->guards);
}

/* -- the decision -- */

/* Finds the loads of the loops, and adds the guards to x->guards. Returns NULL if the loops can be replaced
 * by their bodies; else the reason why not. */
static const char *why_not(struct single_trip *x)
{
    if (x->nloops < 2)
        return "no other loop has the same bounds";
    if (!guard_single_trip(x, x->loops[0]))
        return "the launcher cannot compute whether it runs a single iteration";
    for (int i = 0; i < x->nloops; i++)
        for (struct op *o = x->loops[i]->regions[0]->first; o; o = o->next)
            add_load(x, o);
    int stay = 0;
    for (int i = 0; i < x->nloads; i++)
        stay += x->loads[i].stays;
    return stay ? find_no_room(x) : "no two loops with these bounds load the same tile";
}

static bool same_bounds(const struct op *a, const struct op *b)
{
    return op_opnd(a, 0) == op_opnd(b, 0) && op_opnd(a, 1) == op_opnd(b, 1) && op_opnd(a, 2) == op_opnd(b, 2);
}

/* Handles the i-th loop together with the later loops that have the same bounds, and removes all of them from the
 * list. */
static void visit(struct func *f, struct op **all, int i, int n)
{
    struct single_trip *x = NEW(f->module->scratch, struct single_trip);
    struct op *first = all[i];
    x->f = f;
    x->t = affine_new(f);
    for (; i < n && x->nloops < LOOPS_MOST; i++)
        if (all[i] && same_bounds(all[i], first)) {
            x->loops[x->nloops++] = all[i];
            all[i] = NULL;
        }
    x->t->single_trips = (const struct op *const *)x->loops;
    x->t->nsingle_trips = x->nloops;
    const char *why = why_not(x);
    for (i = 0; i < x->nloops; i++)
        opt_explain(f, &(struct explanation){why ? DECISION_stays_a_loop : DECISION_runs_once,
                                             .at = x->loops[i], .words = {why}});
    if (!why)
        rewrite(x);
}

static void look_at(struct op *o, void *ctx)
{
    const char **why = ctx;
    if (o->code == OP_dot)
        *why = "the kernel has dots";
    if (op_may_acquire(o))
        *why = "other programs may change memory while the kernel runs";
}

void opt_single_trip_loops(struct func *f)
{
    const char *why = f->target ? NULL : "the number of registers is unknown without a target";
    VEC(struct op *) loops = {0};
    func_walk(f, look_at, &why);
    for (struct op *o = f->body->first; o; o = o->next)
        if (o->code == OP_for && why)
            opt_explain(f, &(struct explanation){DECISION_stays_a_loop, .at = o, .words = {why}});
        else if (o->code == OP_for)
            VEC_PUSH(f->module->scratch, &loops, o);
    for (int i = 0; i < loops.n; i++)
        if (loops.at[i])
            visit(f, loops.at, i, loops.n);
}
