/* remat.c: compute again what takes fewer registers to compute again than to keep.
 *
 *     %x = fext %h : tile<16384xf32,#l>              %x = fext %h
 *     %s = reduce %x ...                             %s = reduce %x ...
 *     ...                                     =>     %h.1 = opaque %h
 *     %y = mul %x, %r                                %x.1 = fext %h.1
 *                                                    %y = mul %x.1, %r
 *
 * While a row is reduced, all that is used before and behind the reduction is in registers. Floats that
 * came from 16 bits by a few cheap ops take half as many as they came; those then decide how many programs
 * an SM holds, which is what hides the memory's latency. The assembler would compute both once, so `hold`
 * keeps from it that the two are the same. Where the programs that fit without have enough of their rows
 * under way, all is kept: what is computed again costs instructions, and programs that share few registers
 * load in several steps. Each reduction is a time in which a program asks for nothing, so the more there
 * are, the more must be under way.
 * Reductions of small tiles do not count. Needs: layouts. Leaves: the same values.
 */
#include "opt/passes.h"

enum { NARROW_BITS = 16, WIDE_BITS = 32, BYTE_BITS = 8 };

struct again {
    struct func *func;
    const struct params *params;
    struct block *block;
    struct map part;   /* op of the block to the part it is in: they end with reductions */
    struct map copies; /* value to the latest that was computed again */
    struct map held;   /* narrow tile to its latest opaque copy */
};

static int part_of_op(const struct again *a, const struct op *o)
{
    void **found = map_get_ptr(&a->part, o);
    return found ? (int)(intptr_t)*found : 0;
}

static int part_of(const struct again *a, const struct value *v)
{
    return part_of_op(a, v->def);
}

static void set_part(struct again *a, const struct op *o, int part)
{
    *map_at_ptr(&a->part, o) = (void *)(intptr_t)part;
}

/* -- what can be computed again -- */

/* Exponentials are where all registers together hold the tile once at most. */
static bool is_cheap(const struct again *a, const struct op *o)
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

/* Does v take no registers worth a word, or stay in them anyway? */
static bool is_at_hand(const struct again *a, const struct value *v)
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

/* Is v made by a few cheap ops from one tile of 16-bit floats, *from (NULL: not yet found)? */
static bool follows(const struct again *a, const struct value *v, const struct value **from, int *ops)
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

static bool is_worth_it(const struct again *a, const struct value *v, int part)
{
    const struct value *from = NULL;
    int ops = a->params->remat_ops;
    return type_is_tile(v->type) && tile_nregs(v->type) >= a->params->remat_tile_elems &&
           type_is_float(v->type) && type_elem_bits(v->type) == WIDE_BITS && !is_at_hand(a, v) &&
           part_of(a, v) < part && follows(a, v, &from, &ops) && from;
}

/* -- computing it -- */

/* The latest in m of `key` if it is of this part, else NULL. */
static struct value *latest(const struct again *a, const struct map *m, const struct value *key, int part)
{
    void **found = map_get_ptr(m, key);
    return found && part_of(a, *found) == part ? *found : NULL;
}

static struct value *hold(struct again *a, struct builder *b, struct value *narrow, int part)
{
    const struct value *root = narrow_root(narrow);
    struct value *held = latest(a, &a->held, root, part);
    if (held)
        return held;
    void **before = map_get_ptr(&a->held, root);
    held = build_unary(b, OP_opaque, before ? *before : narrow);
    set_part(a, held->def, part);
    *map_at_ptr(&a->held, root) = held;
    return held;
}

static struct value *again(struct again *a, struct builder *b, struct value *v, int part)
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
        *map_at_ptr(&map, x) = v->def->code == OP_fext ? hold(a, b, x, part) : again(a, b, x, part);
    }
    struct op *o = op_clone(b, v->def, &map);
    set_part(a, o, part);
    copy = op_result(o);
    *map_at_ptr(&a->copies, v) = copy;
    opt_explain(a->func, (struct explanation){DECISION_recomputed, .at = o, .values = {v}});
    return copy;
}

/* -- is there room to keep it? -- */

static bool ends_part(const struct again *a, const struct op *o)
{
    return o->code == OP_reduce && tile_nregs(op_opnd(o, 0)->type) >= a->params->remat_tile_elems;
}

static bool is_kept_over(const struct again *a, const struct value *v, int part)
{
    if (!type_is_tile(v->type) || !type_is_float(v->type) || is_at_hand(a, v) || part_of(a, v) > part)
        return false;
    for (const struct use *u = v->uses; u; u = u->next)
        if (part_of_op(a, u->user) > part)
            return true;
    return false;
}

/* Without computing anything again: the bytes of rows that programs on an SM have under way, if they keep
 * what they do over the end of this part. */
static int bytes_under_way(const struct again *a, int part)
{
    const struct target *t = a->func->target;
    int bits = 0, row_bits = 0, threads = 32 * a->func->num_warps;
    for (const struct op *o = a->block->first; o; o = o->next)
        if (o->nresults == 1 && is_kept_over(a, op_result(o), part)) {
            bits += tile_nregs(op_result(o)->type) * type_elem_bits(op_result(o)->type);
            if (is_worth_it(a, op_result(o), part + 1))
                row_bits += tile_nregs(op_result(o)->type) * NARROW_BITS;
        }
    int regs = bits / WIDE_BITS + a->params->remat_other_regs;
    if (regs > t->regs_thread / REGS_UNIT * REGS_UNIT)
        return 0;
    return target_ctas(t, threads, regs, 0) * threads * (row_bits / BYTE_BITS);
}

static bool has_room(const struct again *a, int nparts)
{
    for (int part = 0; part < nparts - 1; part++)
        if (bytes_under_way(a, part) < nparts * a->params->remat_enough_bytes)
            return false;
    return true;
}

/* -- a block -- */

static void visit_block(struct func *f, struct block *block)
{
    struct again a = {.func = f, .params = f->module->params, .block = block};
    map_init(&a.part, f->module->scratch);
    map_init(&a.copies, f->module->scratch);
    map_init(&a.held, f->module->scratch);
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
                op_set_opnd(o, i, again(&a, &b, op_opnd(o, i), part_of_op(&a, o)));
    }
}

void opt_remat(struct func *f)
{
    visit_block(f, f->body);
}
