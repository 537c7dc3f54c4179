/* early.c: what is loaded behind a loop of dots is asked for in front of it.
 *
 *     %r = for %k = ... {                              %p = addptr %bias, %n
 *       %d = wgmma ...                                 %x = load %p
 *       %w = dot_wait %d                        =>     %r = for %k = ... {
 *       ...                                              ...
 *     }                                                }
 *     %p = addptr %bias, %n                            ... %x ...
 *     %x = load %p
 *     ... %x ...
 *
 * Behind the last dot nothing hides the time that memory takes, and tensor cores wait for the next program's first dot. The tile
 * stays in registers meanwhile, so only small ones go: a bias, scales. Nothing that the load passes may write memory.
 * Needs: layouts. */
#include "opt/passes.h"

enum { REGS_MOST = 4 }; /* of a thread, for all tiles that go in front of a loop */

static void note_dot(struct op *o, void *ctx)
{
    *(bool *)ctx |= o->code == OP_wgmma;
}

/* Memory that a load reads; not what is shared by the program's threads. */
static void note_write(struct op *o, void *ctx)
{
    bool puts = o->code == OP_tensor_put || o->code == OP_tensor_store;
    bool is_own = op_info[o->code].family == FAMILY_async || op_info[o->code].family == FAMILY_control ||
                  o->code == OP_shared_alloc || o->code == OP_shared_store || o->code == OP_prefetch;
    *(bool *)ctx |= puts || (!is_own && (op_has(o, WRITES) || op_has(o, EFFECT)));
}

static bool may_write(struct op *o)
{
    bool writes = false;
    note_write(o, &writes);
    for (int i = 0; i < o->nregions; i++)
        block_walk(o->regions[i], note_write, &writes);
    return writes;
}

static bool is_loop_of_dots(struct op *o)
{
    bool dots = false;
    if (o->code == OP_for)
        block_walk(o->regions[0], note_dot, &dots);
    return dots && !may_write(o);
}

enum place { IN_FRONT, STAYS, CAN_COME };

/* Ops behind the loop; what is not among them stands in front of it. */
static enum place place_of(const struct map *behind, const struct op *o)
{
    void **at = o ? map_get_ptr(behind, o) : NULL;
    return at ? (enum place)(intptr_t)*at : IN_FRONT;
}

static void set_place(struct map *behind, const struct op *o, enum place p)
{
    *map_at_ptr(behind, o) = (void *)(intptr_t)p;
}

static bool is_load(const struct op *o)
{
    return o->code == OP_load && !op_int(o, ATTR_volatile);
}

static bool can_come(const struct map *behind, const struct op *o)
{
    bool can = is_load(o) || (is_pure(o) && !o->nregions && !op_has(o, TERMINATOR) &&
                              op_result(o)->type->kind != TY_shared);
    for (int i = 0; i < o->nopnds && can; i++)
        can = !op_opnd(o, i) || place_of(behind, op_opnd(o, i)->def) != STAYS;
    return can;
}

static void bring(struct map *behind, struct op *o, struct op *loop)
{
    for (int i = 0; i < o->nopnds; i++) {
        struct op *from = op_opnd(o, i) ? op_opnd(o, i)->def : NULL;
        if (place_of(behind, from) == CAN_COME)
            bring(behind, from, loop);
    }
    set_place(behind, o, IN_FRONT);
    op_move_before(o, loop);
}

/* 32-bit registers of a thread. */
static int regs_of(const struct type *t)
{
    return (tile_nregs(t) * type_elem_bits(t) + 31) / 32;
}

static void look_behind(struct op *loop)
{
    struct map behind;
    int regs = 0;
    map_init(&behind, loop->block->func->module->scratch);
    set_place(&behind, loop, STAYS);
    for (struct op *next, *o = loop->next; o && !may_write(o); o = next) {
        next = o->next;
        enum place p = can_come(&behind, o) ? CAN_COME : STAYS;
        bool is_small = is_load(o) && regs + regs_of(op_result(o)->type) <= REGS_MOST;
        set_place(&behind, o, is_load(o) && !is_small ? STAYS : p);
        if (p != CAN_COME || !is_small)
            continue;
        regs += regs_of(op_result(o)->type);
        opt_explain(loop->block->func, o, "%%%s is asked for in front of the dots", op_result(o)->name);
        bring(&behind, o, loop);
    }
}

static void visit(struct block *b)
{
    for (struct op *o = b->first; o; o = o->next) {
        for (int i = 0; i < o->nregions; i++)
            visit(o->regions[i]);
        if (is_loop_of_dots(o))
            look_behind(o);
    }
}

void opt_early(struct func *f)
{
    visit(f->body);
}
