/* SPDX-License-Identifier: MIT */
/* remat.c: rematerializes values, so that fewer registers are live during a reduction.
 *
 *     %x = fext %h : tile<16384xf32,#l>              %x = fext %h
 *     %s = reduce %x ...                             %s = reduce %x ...
 *     ...                                     =>     %h.1 = opaque %h
 *     %y = mul %x, %r                                %x.1 = fext %h.1
 *                                                    %y = mul %x.1, %r
 *
 * If a value is used before and after the reduction of a row, it is live during the reduction. If a few cheap ops
 * compute the value from 16-bit floats, only the 16-bit floats need to stay live. The 16-bit floats occupy half the
 * registers, so more programs fit on an SM and hide the latency of memory. `opaque` keeps ptxas from merging the two
 * computations. Rematerialization costs instructions. So the pass changes nothing if the programs that fit on an SM
 * without rematerialization already have enough bytes in flight, or if rematerialization would not let more programs
 * fit. A program loads nothing during a reduction, so the number of bytes that must be in flight grows with the
 * number of reductions. Reductions of small tiles do not count. Needs: layouts. Leaves: the same values. */
#include "opt/passes.h"

enum { NARROW_BITS = 16, WIDE_BITS = 32, BYTE_BITS = 8 };

struct remat {
    struct func *func;
    const struct params *params;
    struct block *block;
    /* maps an op of the block to the number of its part; each reduction of a large tile ends a part */
    struct map part;
    struct map copies; /* maps a value to its latest rematerialized copy */
    struct map opaque; /* maps a 16-bit tile to its latest opaque copy */
};

static int part_of_op(const struct remat *a, const struct op *o)
{
    void **found = map_get_ptr(&a->part, o);
    return found ? (int)(intptr_t)*found : 0;
}

static int part_of(const struct remat *a, const struct value *v)
{
    return part_of_op(a, v->def);
}

static void set_part(struct remat *a, const struct op *o, int part)
{
    *map_at_ptr(&a->part, o) = (void *)(intptr_t)part;
}

/* -- which values can be rematerialized -- */

/* Returns whether o is cheap to recompute. An exponential counts as cheap only if its result takes more than
 * 1 / remat_exp_part of a thread's registers. */
static bool is_cheap(const struct remat *a, const struct op *o)
{
    switch (o->code) {
    case OP_exp:
    case OP_exp2:
        return a->params->remat_exp_part * tile_nregs(op_result(o)->type) >
               target_regs(a->func->target, 32 * a->func->num_warps);
    case OP_add:
    case OP_sub:
    case OP_mul:
    case OP_neg:
    case OP_abs:
    case OP_fma:
    case OP_min:
    case OP_max:
    case OP_select: return true;
    default: return false;
    }
}

/* Returns whether v counts as available everywhere in the block at no cost, because it takes few registers,
 * or because it is defined outside of the block. */
static bool is_at_hand(const struct remat *a, const struct value *v)
{
    if (!v->def || v->def->block != a->block || v->def->code == OP_splat || v->def->code == OP_const)
        return true;
    bool widened = v->def->code == OP_broadcast || v->def->code == OP_expand_dims;
    return type_elem_bits(v->type) == 1 ||
           (widened &&
            a->params->remat_small_part * tile_nregs(op_opnd(v->def, 0)->type) <= tile_nregs(v->type));
}

static const struct value *narrow_root(const struct value *v)
{
    while (v->def && v->def->code == OP_opaque)
        v = op_opnd(v->def, 0);
    return v;
}

/* Returns whether at most *ops cheap ops compute v from a single tile of 16-bit floats (and from values that
 * are at hand). Sets *from, initially NULL, to this tile, and subtracts the number of visited ops from
 * *ops. */
static bool follows(const struct remat *a, const struct value *v, const struct value **from, int *ops)
{
    if (is_at_hand(a, v))
        return true;
    const struct op *o = v->def;
    if (--*ops < 0)
        return false;
    if (o->code == OP_fext && type_elem_bits(op_opnd(o, 0)->type) == NARROW_BITS) {
        const struct value *root = narrow_root(op_opnd(o, 0));
        bool is_first = !*from || *from == root;
        *from = root;
        return is_first;
    }
    for (int i = 0; i < o->nopnds; i++)
        if (!is_cheap(a, o) || !follows(a, op_opnd(o, i), from, ops))
            return false;
    return is_cheap(a, o);
}

static bool is_worth_it(const struct remat *a, const struct value *v, int part)
{
    const struct value *from = NULL;
    int ops = a->params->remat_ops;
    return type_is_tile(v->type) && tile_nregs(v->type) >= a->params->remat_tile_elems &&
           type_is_float(v->type) && type_elem_bits(v->type) == WIDE_BITS && !is_at_hand(a, v) &&
           part_of(a, v) < part && follows(a, v, &from, &ops) && from;
}

/* -- rematerialization -- */

/* Returns the latest copy of `key` in m if it was built in part number `part`; else NULL. */
static struct value *latest(const struct remat *a, const struct map *m, const struct value *key, int part)
{
    void **found = map_get_ptr(m, key);
    return found && part_of(a, *found) == part ? *found : NULL;
}

static struct value *opaque_of(struct remat *a, struct builder *b, struct value *narrow, int part)
{
    const struct value *root = narrow_root(narrow);
    struct value *opaque = latest(a, &a->opaque, root, part);
    if (opaque)
        return opaque;
    void **before = map_get_ptr(&a->opaque, root);
    opaque = build_unary(b, OP_opaque, before ? *before : narrow);
    set_part(a, opaque->def, part);
    *map_at_ptr(&a->opaque, root) = opaque;
    return opaque;
}

static struct value *rematerialize(struct remat *a, struct builder *b, struct value *v, int part)
{
    if (is_at_hand(a, v) || part_of(a, v) == part)
        return v;
    struct value *copy = latest(a, &a->copies, v, part);
    if (copy)
        return copy;
    struct map map;
    map_init(&map, a->func->module->scratch);
    for (int i = 0; i < v->def->nopnds; i++) {
        struct value *x = op_opnd(v->def, i);
        *map_at_ptr(&map, x) =
            v->def->code == OP_fext ? opaque_of(a, b, x, part) : rematerialize(a, b, x, part);
    }
    struct op *o = op_clone(b, v->def, &map);
    set_part(a, o, part);
    copy = op_result(o);
    *map_at_ptr(&a->copies, v) = copy;
    opt_explain(a->func, &(struct explanation){DECISION_recomputed, .at = o, .values = {v}});
    return copy;
}

/* -- whether all values can stay live -- */

static bool ends_part(const struct remat *a, const struct op *o)
{
    return o->code == OP_reduce && tile_nregs(op_opnd(o, 0)->type) >= a->params->remat_tile_elems;
}

static bool is_kept_over(const struct remat *a, const struct value *v, int part)
{
    if (!type_is_tile(v->type) || !type_is_float(v->type) || is_at_hand(a, v) || part_of(a, v) > part)
        return false;
    for (const struct use *u = v->uses; u; u = u->next)
        if (part_of_op(a, u->user) > part)
            return true;
    return false;
}

/* How many bits of values each thread keeps live across the end of a part. `bits` counts all values without
 * rematerialization. `row_bits` counts only the 16-bit floats from which values can be rematerialized.
 * `least_bits` counts all values with rematerialization: row_bits, and the values that cannot be
 * rematerialized. */
struct kept {
    int bits, row_bits;
    int least_bits;
};

static struct kept kept_over(const struct remat *a, int part)
{
    struct kept k = {0};
    for (const struct op *o = a->block->first; o; o = o->next) {
        const struct value *r = o->nresults == 1 ? op_result(o) : NULL;
        if (!r || !is_kept_over(a, r, part))
            continue;
        int bits = tile_nregs(r->type) * type_elem_bits(r->type), narrow = tile_nregs(r->type) * NARROW_BITS;
        bool is_recomputed = is_worth_it(a, r, part + 1);
        k.bits += bits;
        k.row_bits += is_recomputed ? narrow : 0;
        k.least_bits += is_recomputed ? narrow : bits;
    }
    return k;
}

/* Returns how many programs fit on an SM if each thread keeps `bits` bits of values live. */
static int programs_keeping(const struct remat *a, int bits)
{
    const struct target *t = a->func->target;
    int regs = bits / WIDE_BITS + a->params->remat_other_regs;
    if (regs > t->regs_thread / REGS_UNIT * REGS_UNIT)
        return 0;
    return target_ctas(t, 32 * a->func->num_warps, regs, 0);
}

/* Returns whether all values can stay live, because rematerialization helps at the end of no part.
 * Rematerialization helps if two conditions hold: without it, the programs that fit on an SM do not have
 * enough bytes of rows in flight; with it, more programs fit. */
static bool has_room(const struct remat *a, int nparts)
{
    for (int part = 0; part < nparts - 1; part++) {
        struct kept k = kept_over(a, part);
        int programs = programs_keeping(a, k.bits),
            bytes = 32 * a->func->num_warps * (k.row_bits / BYTE_BITS);
        if (programs * bytes < nparts * a->params->remat_enough_bytes &&
            programs_keeping(a, k.least_bits) > programs)
            return false;
    }
    return true;
}

/* -- the block -- */

static void visit_block(struct func *f, struct block *block)
{
    struct remat a = {.func = f, .params = f->module->params, .block = block};
    map_init(&a.part, f->module->scratch);
    map_init(&a.copies, f->module->scratch);
    map_init(&a.opaque, f->module->scratch);
    int nparts = 1;
    for (struct op *o = block->first; o; o = o->next) {
        for (int i = 0; i < o->nregions; i++)
            if (op_info[o->code].family != FAMILY_reduce)
                visit_block(f, o->regions[i]);
        set_part(&a, o, nparts - 1);
        nparts += ends_part(&a, o);
    }
    if (has_room(&a, nparts))
        return;
    for (struct op *o = block->first; o; o = o->next) {
        struct builder b = build_before(o);
        for (int i = 0; i < o->nopnds; i++)
            if (op_opnd(o, i) && is_worth_it(&a, op_opnd(o, i), part_of_op(&a, o)))
                op_set_opnd(o, i, rematerialize(&a, &b, op_opnd(o, i), part_of_op(&a, o)));
    }
}

void opt_remat(struct func *f)
{
    visit_block(f, f->body);
}
