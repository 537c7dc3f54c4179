/* SPDX-License-Identifier: MIT */
/* walk.c: answers questions about uses, order, dominance and effects of ops, and walks over ops in order. */
#include "ir/ir.h"

#include <string.h>

/* -- uses -- */

bool has_uses(const struct value *v)
{
    return v->uses != NULL;
}

int value_nuses(const struct value *v)
{
    int n = 0;
    for (const struct use *u = v->uses; u; u = u->next)
        n++;
    return n;
}

/* -- effects -- */

/* Returns whether the op is a control op without effects other than the effects of the ops in its regions, or
 * a terminator that yields values. (A `while` may run forever, which counts as an effect.) */
static bool is_frame(const struct op *o)
{
    return o->code == OP_for || o->code == OP_if || o->code == OP_yield || o->code == OP_condition;
}

/* Returns whether the predicate `holds` is true of o and of every op in its regions. */
static bool all_ops(const struct op *o, bool (*holds)(const struct op *o))
{
    if (!holds(o))
        return false;
    for (int i = 0; i < o->nregions; i++)
        for (const struct op *inner = o->regions[i]->first; inner; inner = inner->next)
            if (!all_ops(inner, holds))
                return false;
    return true;
}

static bool is_pure_itself(const struct op *o)
{
    return op_has(o, PURE) || is_frame(o);
}

/* Returns whether o is an arrival at an mbarrier for which no thread waits. If last=1, only the partner CTA
 * waits for the arrival; without the operand `pair`, o does not arrive in the partner CTA. */
static bool has_no_waiter(const struct op *o)
{
    return o->code == OP_mbar_arrive && op_int(o, ATTR_last) && !op_opnd(o, 2);
}

static bool is_removable_itself(const struct op *o)
{
    return is_pure_itself(o) || has_no_waiter(o) || (o->code == OP_load && !op_int(o, ATTR_volatile)) ||
           o->code == OP_tensor_load || o->code == OP_shared_load || o->code == OP_shared_gather;
}

/* Returns whether o is inline assembly whose text contains one of the n words. */
static bool asm_contains(const struct op *o, int n, const char *const *words)
{
    bool found = false;
    for (int i = 0; i < n && (o->code == OP_asm || o->code == OP_asm_effect); i++)
        found = found || strstr(op_attr(o, ATTR_text)->s, words[i]);
    return found;
}

bool op_may_acquire(const struct op *o)
{
    static const char *const memory[] = {"ld.", "st.", "red.", "atom.", "fence", "membar", "cp.", "call"};
    return o->code == OP_atomic_rmw || o->code == OP_atomic_cas || o->code == OP_host_call ||
           (o->code == OP_load && op_int(o, ATTR_volatile)) ||
           (o->code == OP_asm_effect && asm_contains(o, sizeof memory / sizeof *memory, memory));
}

bool op_asks_for_cta(const struct op *o)
{
    static const char *const numbers[] = {"ctaid", "tid."};
    return asm_contains(o, sizeof numbers / sizeof *numbers, numbers);
}

static bool leaves_memory(const struct op *o)
{
    return !op_has(o, WRITES) && !op_may_acquire(o) && (!op_has(o, EFFECT) || o->nregions > 0);
}

bool is_pure(const struct op *o)
{
    return all_ops(o, is_pure_itself);
}

bool is_removable(const struct op *o)
{
    return all_ops(o, is_removable_itself);
}

bool op_may_write(const struct op *o)
{
    return !all_ops(o, leaves_memory);
}

/* -- order and dominance -- */

struct op *op_ancestor_in(struct op *o, const struct block *b)
{
    while (o && o->block != b)
        o = o->block->parent;
    return o;
}

static bool is_before(const struct op *a, const struct op *b)
{
    while (a && a != b)
        a = a->next;
    return a != NULL;
}

bool value_dominates(const struct value *v, const struct op *at)
{
    const struct op *around = at->block == v->block ? at : op_ancestor_in(at->block->parent, v->block);
    if (!around)
        return false;
    return !v->def || (v->def != around && is_before(v->def, around));
}

bool op_is_inside(const struct op *o, const struct op *ancestor)
{
    for (o = o->block->parent; o; o = o->block->parent)
        if (o == ancestor)
            return true;
    return false;
}

bool block_is_inside(const struct block *b, const struct block *outer)
{
    for (; b != outer; b = b->parent->block)
        if (!b->parent)
            return false;
    return true;
}

struct op *value_def_as(const struct value *v, enum opcode code)
{
    return v && v->def && v->def->code == code ? v->def : NULL;
}

bool value_is_outside(const struct value *v, const struct op *loop)
{
    const struct op *parent = v->block->parent;
    return !parent || (parent != loop && !op_is_inside(parent, loop));
}

/* -- walks -- */

void block_walk(struct block *b, void (*visit)(struct op *o, void *ctx), void *ctx)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        visit(o, ctx);
        for (int i = 0; i < o->nregions; i++)
            block_walk(o->regions[i], visit, ctx);
    }
}

void block_walk_up(struct block *b, void (*visit)(struct op *o, void *ctx), void *ctx)
{
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        for (int i = 0; i < o->nregions; i++)
            block_walk_up(o->regions[i], visit, ctx);
        visit(o, ctx);
    }
}

void func_walk(struct func *f, void (*visit)(struct op *o, void *ctx), void *ctx)
{
    block_walk(f->body, visit, ctx);
}

struct op *block_terminator(const struct block *b)
{
    return b->last && op_has(b->last, TERMINATOR) ? b->last : NULL;
}

/* -- regions of reduce and scan -- */

/* Returns the op that combines two elements if the region contains no other op besides yield; else NULL. */
static const struct op *only_combiner(const struct op *o)
{
    const struct block *region = o->regions[0];
    const struct op *first = region->first, *end = block_terminator(region);
    if (o->nopnds != 1 || !end || first == end || first->next != end || op_opnd(end, 0) != op_result(first) ||
        first->nopnds != 2)
        return NULL;
    const struct value *a = op_opnd(first, 0), *b = op_opnd(first, 1);
    return a != b && a->block == region && b->block == region ? first : NULL;
}

bool combines_either_way(const struct op *o)
{
    const struct op *only = only_combiner(o);
    return only && op_has(only, COMMUTES);
}

bool combines_in_any_order(const struct op *o)
{
    const struct op *only = only_combiner(o);
    return combines_either_way(o) &&
           (type_is_int(op_result(only)->type) || only->code == OP_min || only->code == OP_max);
}

/* -- constants -- */

/* Returns whether ops with opcode `code` only copy elements of the operand. If all elements of the operand
 * equal one constant, then all elements of the result equal this constant. */
static bool keeps_elements(enum opcode code)
{
    switch (code) {
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims:
    case OP_reshape:
    case OP_trans:
    case OP_hint:
    case OP_convert: return true;
    default: return false;
    }
}

bool value_const_bits(const struct value *v, uint64_t *bits)
{
    while (v->def && keeps_elements(v->def->code))
        v = op_opnd(v->def, 0);
    if (!v->def || v->def->code != OP_const)
        return false;
    *bits = (uint64_t)op_int(v->def, ATTR_value);
    return true;
}

bool value_const_int(const struct value *v, int64_t *i)
{
    uint64_t bits;
    if (!type_is_int(v->type) || !value_const_bits(v, &bits))
        return false;
    *i = (int64_t)bits;
    return true;
}

void block_clear_notes(struct block *b)
{
    for (int i = 0; i < b->args.n; i++)
        b->args.at[i]->scratch = NULL;
    for (struct op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->nresults; i++)
            o->results[i].scratch = NULL;
        for (int i = 0; i < o->nregions; i++)
            block_clear_notes(o->regions[i]);
    }
}
