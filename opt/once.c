/* once.c: what a kernel reads or writes once shall not push out of the L1 cache what other programs read again.
 *
 *     %x = load (X + pid * stride + cols)      =>      %x = load (X + pid * stride + cols) evict=once
 *     %w = load (W + cols)                             %w = load (W + cols)
 *
 * Programs that share an SM read the same weights, from its cache if rows that stream past leave them there; from L2 they
 * would cost as much as the rows. Only where there are tiles that all programs read: else nothing is lost. A tile is read
 * once if its place hangs on the program, and nothing else is accessed by the pointer that it starts from. Loops count, as
 * they may read again. Needs: vector widths: whole vectors, since the next instruction wants the rest of a line.
 */
#include "opt/affine.h"
#include "opt/passes.h"

enum { VECTOR_BYTES = 16 };

struct visit {
    struct affine_table *t;
    int *accesses; /* of each parameter */
    int64_t axes;  /* of program ids, a mask */
    bool shares, unknown;
};

static bool is_access(const struct op *o)
{
    return (o->code == OP_load || o->code == OP_store) && type_is_tile(op_opnd(o, 0)->type);
}

static bool hangs_on_program(const struct affine_table *t, const struct poly *p)
{
    for (int i = 0; i < p->n; i++) {
        int atom = term_atom(t, &p->at[i]);
        struct atom a = atom >= 0 ? atom_of(t, atom) : (struct atom){.kind = ATOM_index};
        if (a.kind == ATOM_varying && a.value->def && a.value->def->code == OP_program_id)
            return true;
    }
    return false;
}

static void count(struct op *o, void *ctx)
{
    struct visit *v = ctx;
    if (o->code == OP_program_id)
        v->axes |= 1 << op_int(o, ATTR_axis);
    if (!is_access(o))
        return;
    const struct affine *x = affine_of(v->t, op_opnd(o, 0));
    if (!x) {
        v->unknown = true;
        return;
    }
    v->accesses[x->base]++;
    v->shares |= o->code == OP_load && !hangs_on_program(v->t, &x->p);
}

static void mark(struct op *o, void *ctx)
{
    struct visit *v = ctx;
    if (!is_access(o) || o->block != o->block->func->body || op_int(o, ATTR_cache) != CACHE_none ||
        op_int(o, ATTR_evict) != EVICT_normal || (o->code == OP_load && op_int(o, ATTR_volatile)))
        return;
    const struct affine *x = affine_of(v->t, op_opnd(o, 0));
    int bytes = (int)op_int(o, ATTR_vec) * type_elem_bytes(type_elem(op_opnd(o, 0)->type)->elem);
    if (v->accesses[x->base] > 1 || bytes < VECTOR_BYTES || !hangs_on_program(v->t, &x->p))
        return;
    op_set_int(o, ATTR_evict, EVICT_once);
    opt_explain(o->block->func, o, "past the L1 cache, which what all programs read shall have");
}

void opt_once(struct func *f)
{
    struct visit v = {.t = affine_new(f),
                      .accesses = NEW_ARRAY(f->module->scratch, f->body->args.n + 1, int)};
    func_walk(f, count, &v);
    if (v.shares && !v.unknown && !f->persistent && !(v.axes & (v.axes - 1)))
        func_walk(f, mark, &v);
}
