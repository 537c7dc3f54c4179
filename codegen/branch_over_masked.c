/* SPDX-License-Identifier: MIT */
/* branch_over_masked.c: lets threads whose mask is false jump over the instructions that only a masked store needs.
 *
 *     a = ...                                        a = ...
 *     b = cvt a                                      @!p bra L
 *     c = mul b, b                           =>      b = cvt a
 *     d = add a, 1                                   c = mul b, b
 *     @p st [q], c                                   @p st [q], c
 *                                                 L: d = add a, 1
 *
 * If a tile is wider than a row of the array, the mask is false for all elements of some threads' last
 * vectors, and often for whole warps. For example, a layer norm of 5120 columns in a tile of 8192 columns
 * discarded 37 percent of the results that it computed. The branches also make ptxas place each computation
 * directly before its store, while without branches ptxas interleaves the computations of all stores.
 *
 * The pass moves instructions down to directly before the store. The moved instructions must be pure and in
 * the store's block. Only the store and other moved instructions may use their results. No instruction
 * between the old and the new position may change a register that a moved instruction reads or defines.
 * Threads of a warp may diverge at the branch, and reconverge after the store. The pass runs after
 * scheduling, and only if the kernel has registers to spare. It skips kernels with warp specialization,
 * because their asynchronous instructions need converged warps. */
#include "codegen/mir.h"

#include <string.h>

enum { NOWHERE = -1 };

struct moved_reg {
    /* How often the kernel uses and defines the register. A guarded or TIED instruction may keep the old
     * value of its result, so its definition of the register also counts as a use. */
    int uses, ndefs;
    int inside; /* uses by store number `store`, and by the instructions that move to it */
    /* Stores are numbered from 1 in the order of the kernel. store: the number of the last store for which
     * `inside` was counted. change: the number of the last store for which the walk back from the store found
     * a definition of the register that does not move to the store. */
    int store, change;
};

struct branch_over {
    struct mir *m;
    struct moved_reg *regs;
    int *at; /* at[b]: index of the first new block that replaces old block b */
};

static void count(struct branch_over *s)
{
    for (int b = 0; b < s->m->blocks.n; b++)
        for (int i = 0; i < s->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = s->m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->nopnds; k++)
                if (k < in->ndefs) {
                    s->regs[in->opnds[k].n].ndefs++;
                    s->regs[in->opnds[k].n].uses += insn_keeps_old(in);
                } else if (opnd_has_reg(&in->opnds[k])) {
                    s->regs[in->opnds[k].n].uses++;
                }
            if (in->guard >= 0)
                s->regs[in->guard].uses++;
        }
}

static void use_inside(struct branch_over *s, int reg, int store)
{
    struct moved_reg *r = &s->regs[reg];
    r->inside = (r->store == store ? r->inside : 0) + 1;
    r->store = store;
}

static void take_inside(struct branch_over *s, const struct insn *in, int store)
{
    for (int k = in->ndefs; k < in->nopnds; k++)
        if (opnd_has_reg(&in->opnds[k]))
            use_inside(s, in->opnds[k].n, store);
    for (int k = 0; k < in->ndefs && insn_keeps_old(in); k++)
        use_inside(s, in->opnds[k].n, store);
    if (in->guard >= 0)
        use_inside(s, in->guard, store);
}

/* Returns whether an instruction that does not move to the store changes the register between the current
 * position of the walk and the store. `store` is the number of the store. */
static bool changes(const struct branch_over *s, int reg, int store)
{
    return s->regs[reg].ndefs > 1 && s->regs[reg].change == store;
}

static int own_uses(const struct insn *in, int reg)
{
    int n = insn_keeps_old(in);
    for (int k = in->ndefs; k < in->nopnds; k++)
        n += opnd_has_reg(&in->opnds[k]) && in->opnds[k].n == reg;
    return n;
}

static bool may_move(const struct branch_over *s, const struct insn *in, int store)
{
    if (!insn_has(in, PURE) || insn_has(in, WARP) || insn_has(in, READS) || !in->ndefs ||
        (in->guard >= 0 && changes(s, in->guard, store)))
        return false;
    for (int k = 0; k < in->ndefs; k++) {
        const struct moved_reg *r = &s->regs[in->opnds[k].n];
        if (r->store != store || r->inside + own_uses(in, in->opnds[k].n) != r->uses ||
            changes(s, in->opnds[k].n, store))
            return false;
    }
    for (int k = in->ndefs; k < in->nopnds; k++)
        if (opnd_has_reg(&in->opnds[k]) && changes(s, in->opnds[k].n, store))
            return false;
    return true;
}

/* Finds the instructions that move to the store at position `at` of block b. Sets to[i] to `at` for each such
 * instruction i, and returns how many there are. `number` is the store's number in struct moved_reg. */
static int find_needs(struct branch_over *s, const struct mblock *b, int at, int number, int *to)
{
    const int distance = s->m->func->module->params->branch_over_masked_distance;
    int n = 0;
    struct insn store = *b->insns.at[at];
    store.guard = -1; /* the store loses its guard: the branch before the store tests it */
    take_inside(s, &store, number);
    for (int i = at - 1; i >= 0 && at - i < distance; i--) {
        const struct insn *in = b->insns.at[i];
        if (to[i] == NOWHERE && may_move(s, in, number)) {
            take_inside(s, in, number);
            to[i] = at;
            n++;
        } else {
            for (int k = 0; k < in->ndefs; k++)
                s->regs[in->opnds[k].n].change = number;
        }
    }
    return n;
}

static bool is_masked_vector(const struct insn *in)
{
    enum { BYTES = 16 };
    return in->form.code == INSN_st && in->guard >= 0 && !form_has_mod(in->form, MOD_shared) &&
           in->nvec * ptype_info[in->form.type].bits == 8 * BYTES;
}

static void jump_over(struct branch_over *s, struct mblock *from, const struct insn *store, int target)
{
    struct opnd label = {.kind = OPND_label, .n = target};
    struct insn *jump = mir_append(s->m, from, (struct form){.code = INSN_bra}, 0, 1, &label);
    jump->guard = store->guard;
    jump->guard_not = !store->guard_not;
    jump->loc = store->loc;
    jump->op = store->op;
}

/* Rebuilds block b as several blocks, with the branches. `to` is the array that find_stores has returned. */
static void split(struct branch_over *s, const struct mblock *b, const int *to)
{
    struct mblock *now = mir_block(s->m, b->dominator < 0 ? b->dominator : s->at[b->dominator], b->depth);
    s->at[b->index] = now->index;
    for (int i = 0; i < b->insns.n; i++) {
        if (to[i] != NOWHERE && to[i] != i)
            continue;
        if (to[i] == i) {
            struct mblock *over = mir_block(s->m, now->index, b->depth);
            jump_over(s, now, b->insns.at[i], over->index + 1);
            for (int k = 0; k <= i; k++)
                if (to[k] == i)
                    VEC_PUSH(s->m->arena, &over->insns, b->insns.at[k]);
            now = mir_block(s->m, now->index, b->depth);
        } else {
            VEC_PUSH(s->m->arena, &now->insns, b->insns.at[i]);
        }
    }
}

static void mend_labels(struct branch_over *s, const struct mblock *b)
{
    for (int i = 0; i < b->insns.n; i++)
        for (int k = 0; k < b->insns.at[i]->nopnds; k++)
            if (b->insns.at[i]->opnds[k].kind == OPND_label)
                b->insns.at[i]->opnds[k].n = s->at[b->insns.at[i]->opnds[k].n];
}

/* Returns an array `to`: to[i] is the position of the store to which instruction i of the block moves, or
 * NOWHERE if the instruction does not move. For a store that gets a branch, to[i] is its own position. If
 * fewer than branch_over_masked_insns instructions would move to a store, none of them moves, because a
 * branch around so few instructions costs more than it saves. Adds the number of stores that get a branch to
 * *nfound. *number is the number of the last masked store before the block, and is advanced past the
 * block. */
static int *find_stores(struct branch_over *s, const struct mblock *b, int *number, int *nfound)
{
    const int least = s->m->func->module->params->branch_over_masked_insns;
    int *to = NEW_ARRAY(s->m->arena, b->insns.n + 1, int);
    for (int i = 0; i < b->insns.n; i++) {
        to[i] = NOWHERE;
        if (!is_masked_vector(b->insns.at[i]))
            continue;
        bool pays = find_needs(s, b, i, ++*number, to) >= least;
        *nfound += pays;
        to[i] = pays ? i : NOWHERE;
        for (int k = 0; k < i && !pays; k++)
            to[k] = to[k] == i ? NOWHERE : to[k];
    }
    return to;
}

bool skip(struct mir *m)
{
    if (m->func->extra_warps)
        return false;
    struct branch_over s = {.m = m, .regs = NEW_ARRAY(m->arena, m->regs.n + 1, struct moved_reg)};
    int number = 0, nfound = 0, nold = m->blocks.n, **to = NEW_ARRAY(m->arena, nold + 1, int *);
    count(&s);
    for (int b = 0; b < nold; b++)
        to[b] = find_stores(&s, m->blocks.at[b], &number, &nfound);
    if (!nfound)
        return false;
    struct mblock **old = m->blocks.at;
    memset(&m->blocks, 0, sizeof m->blocks);
    s.at = NEW_ARRAY(m->arena, nold, int);
    for (int b = 0; b < nold; b++)
        split(&s, old[b], to[b]);
    for (int b = 0; b < nold; b++) /* the new branches already have their final targets */
        mend_labels(&s, old[b]);
    return true;
}
