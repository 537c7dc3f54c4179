/* SPDX-License-Identifier: MIT */
/* eviction_hints.c: marks the loads that read a row for the last time, so that the caches evict the row's lines first.
 *
 *     for .. { %x = load (X + row + cols) }           for .. { %x = load (X + row + cols) }
 *     for .. { %x = load (X + row + cols) }    =>     for .. { %x = load (X + row + cols) evict=first }
 *     for .. { %w = load (W + cols) }                 for .. { %w = load (W + cols) }
 *
 * A program may read a row several times, and all programs read some common data. The L1 cache of an SM may
 * be too small for both the row and the common data. A tile is part of a row if its address depends on a
 * program id and on the number of the loop's iteration. Of all accesses of tiles through one parameter, the
 * pass marks only the last one in program order. This access must load from a row, and be in a `for` that no
 * other op contains. The load must not be volatile, and must not have a hint of the user. If a parameter has
 * only one access, the kernel reads the row only once. The pass does not mark this access, because on an
 * H200, loads from DRAM are slower if they are marked evict-first. The pass marks only loads of vectors of 16
 * bytes: with narrower loads, several instructions read a line, and the first of these instructions would
 * already mark the line, so that the cache might evict it before the others read it. The pass marks nothing
 * in persistent kernels, or if the address of some tile is not a polynomial (affine.h). Needs: vector
 * widths. */
#include "opt/analysis/affine.h"
#include "opt/passes.h"

enum { VECTOR_BYTES = 16 };

struct visit {
    struct affine_table *t;
    /* for each parameter: the number of loads and stores of tiles through it, and the last such op */
    int *accesses;
    struct op **last;
    bool unknown; /* the kernel has a load or store of a tile whose address is not a polynomial */
};

/* Returns whether the address depends on a program id and on the number of an iteration. */
static bool moves(const struct affine_table *t, const struct poly *p)
{
    bool hangs = false, counts = false;
    for (int i = 0; i < p->n; i++) {
        int atom = term_atom(t, &p->at[i]);
        struct atom a = atom >= 0 ? atom_of(t, atom) : (struct atom){.kind = ATOM_index};
        hangs |= a.kind == ATOM_varying && a.value->def && a.value->def->code == OP_program_id;
        counts |= a.kind == ATOM_trips;
    }
    return hangs && counts;
}

static void note(struct op *o, void *ctx)
{
    struct visit *v = ctx;
    if ((o->code != OP_load && o->code != OP_store) || !type_is_tile(op_opnd(o, 0)->type))
        return;
    const struct affine *x = affine_of(v->t, op_opnd(o, 0));
    v->unknown |= !x;
    if (x) {
        v->accesses[x->base]++;
        v->last[x->base] = o;
    }
}

static void mark(const struct visit *v, struct op *o)
{
    const struct block *body = o->block->func->body;
    bool in_loop = o->block != body && o->block->parent->code == OP_for && o->block->parent->block == body;
    int bytes = (int)op_int(o, ATTR_vec) * type_elem_bytes(type_elem(op_opnd(o, 0)->type)->elem);
    if (o->code != OP_load || !in_loop || bytes < VECTOR_BYTES || op_int(o, ATTR_cache) != CACHE_none ||
        op_int(o, ATTR_evict) != EVICT_normal || op_int(o, ATTR_volatile) ||
        !moves(v->t, &affine_of(v->t, op_opnd(o, 0))->p))
        return;
    op_set_int(o, ATTR_evict, EVICT_first);
    opt_explain(o->block->func, &(struct explanation){DECISION_evicted_first, .at = o});
}

void opt_eviction_hints(struct func *f)
{
    int nparams = f->body->args.n;
    struct visit v = {.t = affine_new(f),
                      .accesses = NEW_ARRAY(f->module->scratch, nparams + 1, int),
                      .last = NEW_ARRAY(f->module->scratch, nparams + 1, struct op *)};
    func_walk(f, note, &v);
    for (int i = 0; i < nparams && !v.unknown && !f->persistent; i++)
        if (v.accesses[i] > 1)
            mark(&v, v.last[i]);
}
