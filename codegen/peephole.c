/* SPDX-License-Identifier: MIT */
/* peephole.c: simplifies instructions, given the definitions of their operands, and removes instructions that
 * are not needed.
 *
 *     shl t, %tid, 2; add a, t, 1; add b, pid512, a        shl t, %tid, 2; mad s, pid, 512, t
 *     mul.wide c, b, 4; add q, p, c; ld x, [q]        =>    mul.wide c, s, 4; add q, p, c; ld x, [q+4]
 *
 * A forward walk propagates copies and constants, reassociates additions so that their constants end up in
 * addresses, and reuses results of equal instructions in dominating blocks (CSE). Then fuse.c fuses pairs of
 * instructions (mad, fma, setp.and), for which it needs the number of uses of each register. Equal
 * instructions in both arms of a branch become one instruction before the branch. Finally, dead instructions
 * are removed. */
#include "codegen/peephole.h"

#include <string.h>

/* -- addresses and guards -- */

struct insn *peep_def(const struct peep *p, struct opnd x, enum insn_code code)
{
    struct insn *in = is_reg(x) ? p->regs.at[x.n].def : NULL;
    return in && in->form.code == code ? in : NULL;
}

/* If x in an address [x + c] is y + d, with constants c and d, rewrites the address as [y + (c + d)]. Repeats
 * this while y is such a sum, and the new offset is not too far from 0. */
static void fold_address(const struct peep *p, struct opnd *at)
{
    enum { FAR = 1 << 23 }; /* the constant offset in an address stays from -FAR to FAR - 1 */
    const struct insn *add;
    while ((add = peep_def(p, (struct opnd){.kind = OPND_reg, .cls = at->cls, .n = at->n}, INSN_add)) &&
           is_imm(add->opnds[2]) && is_reg(add->opnds[1])) {
        int64_t offset = at->i + add->opnds[2].i;
        if (offset < -FAR || offset >= FAR)
            return;
        at->n = add->opnds[1].n;
        at->i = offset;
    }
}

/* Simplifies the guard. Returns false if the guard is always false, so that the instruction never executes. */
static bool resolve_guard(const struct peep *p, struct insn *in)
{
    while (in->guard >= 0) {
        const struct reg_info *g = &p->regs.at[in->guard];
        if (g->alias.kind == OPND_imm) {
            in->guard = -1;
            return (g->alias.i != 0) != in->guard_not;
        }
        if (g->alias.kind == OPND_reg) {
            in->guard = g->alias.n;
        } else if (g->def && g->def->form.code == INSN_not && is_reg(g->def->opnds[1])) {
            in->guard = g->def->opnds[1].n;
            in->guard_not = !in->guard_not;
        } else {
            return true;
        }
    }
    return true;
}

static void resolve_opnds(const struct peep *p, struct insn *in)
{
    for (int i = in->ndefs; i < in->nopnds; i++) {
        struct opnd *x = &in->opnds[i];
        while (x->kind == OPND_reg &&
               (p->regs.at[x->n].alias.kind == OPND_reg ||
                (is_imm(p->regs.at[x->n].alias) && form_takes_imm(in->form, i, in->nvec))))
            *x = p->regs.at[x->n].alias;
        if (x->kind != OPND_addr)
            continue;
        while (p->regs.at[x->n].alias.kind == OPND_reg)
            x->n = p->regs.at[x->n].alias.n;
        fold_address(p, x);
    }
}

/* -- common subexpressions -- */

static bool same_work(const struct insn *a, const struct insn *b)
{
    if (memcmp(&a->form, &b->form, sizeof a->form) || a->nopnds != b->nopnds || a->ndefs != b->ndefs ||
        a->nvec != b->nvec)
        return false;
    for (int i = 0; i < a->nopnds; i++)
        if (i < a->ndefs ? a->opnds[i].cls != b->opnds[i].cls : !opnd_same(a->opnds[i], b->opnds[i]))
            return false;
    return true;
}

static uint64_t hash_work(const struct insn *in)
{
    uint64_t h = hash_bytes(&in->form, sizeof in->form, in->nopnds);
    for (int i = in->ndefs; i < in->nopnds; i++) {
        const struct opnd *x = &in->opnds[i];
        h = (h ^ (uint64_t)x->kind ^ (uint64_t)x->n << 8 ^ (uint64_t)x->i << 20) *
            UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static bool dominates(const struct peep *p, int block, int other)
{
    while (other > block)
        other = p->m->blocks.at[other]->dominator;
    return other == block;
}

static bool may_share(const struct peep *p, const struct insn *in)
{
    if (!insn_has(in, PURE) || in->guard >= 0 || !in->ndefs)
        return false;
    for (int i = 0; i < in->ndefs; i++)
        if (p->regs.at[in->opnds[i].n].ndefs != 1)
            return false;
    for (int i = in->ndefs; i < in->nopnds; i++)
        if (is_reg(in->opnds[i]) && !p->regs.at[in->opnds[i].n].stable)
            return false;
    return true;
}

static void grow_table(struct peep *p)
{
    int old_size = p->table_size;
    struct insn **old = p->table;
    int *old_block = p->table_block;
    p->table_size = old_size ? 2 * old_size : 256;
    p->table = NEW_ARRAY(p->m->arena, p->table_size, struct insn *);
    p->table_block = NEW_ARRAY(p->m->arena, p->table_size, int);
    for (int i = 0; i < old_size; i++) {
        if (!old[i])
            continue;
        uint64_t at = hash_work(old[i]);
        while (p->table[at & (uint64_t)(p->table_size - 1)])
            at++;
        p->table[at & (uint64_t)(p->table_size - 1)] = old[i];
        p->table_block[at & (uint64_t)(p->table_size - 1)] = old_block[i];
    }
}

/* If an earlier equal instruction is in this block or in a dominating block (for a WARP instruction: in this
 * block), replaces the results of `in` by the results of the earlier instruction, and returns true. Otherwise
 * adds `in` to the hash table and returns false. */
static bool shared_before(struct peep *p, struct insn *in)
{
    if (2 * p->table_used >= p->table_size)
        grow_table(p);
    uint64_t at = hash_work(in) & (uint64_t)(p->table_size - 1);
    for (; p->table[at]; at = (at + 1) & (uint64_t)(p->table_size - 1)) {
        const struct insn *before = p->table[at];
        if (!same_work(before, in))
            continue;
        int block = p->table_block[at];
        if (block == p->b->index || (!insn_has(in, WARP) && dominates(p, block, p->b->index))) {
            for (int i = 0; i < in->ndefs; i++)
                p->regs.at[in->opnds[i].n].alias = before->opnds[i];
            return true;
        }
        break;
    }
    p->table_used += !p->table[at];
    p->table[at] = in;
    p->table_block[at] = p->b->index;
    return false;
}

/* -- one instruction -- */

static void order_opnds(struct insn *in)
{
    if (!insn_has(in, COMMUTES))
        return;
    struct opnd a = in->opnds[1], b = in->opnds[2];
    if (is_imm(a) ? !is_imm(b) : is_reg(b) && is_reg(a) && b.n < a.n) {
        in->opnds[1] = b;
        in->opnds[2] = a;
    }
}

static void process(struct peep *p, struct insn *in)
{
    resolve_opnds(p, in);
    if (!resolve_guard(p, in))
        return;
    order_opnds(in);
    if (peep_simplify(p, in))
        return;
    order_opnds(in);
    if (may_share(p, in) && shared_before(p, in))
        return;
    for (int i = 0; i < in->ndefs; i++) {
        struct reg_info *d = &p->regs.at[in->opnds[i].n];
        bool only = d->ndefs == 1 && in->guard < 0;
        d->def = only ? in : NULL;
        d->block = p->b->index;
        if (only)
            d->bits = in->ndefs == 1 ? peep_result_bits(p, in) : UINT64_MAX;
    }
    VEC_PUSH(p->m->arena, &p->out, in);
}

struct opnd peep_make(struct peep *p, struct form form, int n, const struct opnd *x)
{
    struct opnd all[4] = {mir_reg(p->m, form_class(form))};
    VEC_PUSH(p->m->arena, &p->regs, ((struct reg_info){.ndefs = 1, .stable = true, .bits = UINT64_MAX}));
    memcpy(all + 1, x, (size_t)n * sizeof *x);
    struct mblock holder = {0};
    struct insn *in = mir_append(p->m, &holder, form, 1, 1 + n, all);
    in->nvec = (uint8_t)(form.code == INSN_pack ? n : 0);
    process(p, in);
    while (is_reg(all[0]) && p->regs.at[all[0].n].alias.kind != OPND_none)
        all[0] = p->regs.at[all[0].n].alias;
    return all[0];
}

static void rewrite_block(struct peep *p, struct mblock *b)
{
    p->b = b;
    p->out.at = NULL;
    p->out.n = p->out.cap = 0;
    for (int i = 0; i < b->insns.n; i++) {
        int before = p->out.n;
        process(p, b->insns.at[i]);
        for (int k = before; k < p->out.n; k++) {
            p->out.at[k]->loc = b->insns.at[i]->loc;
            p->out.at[k]->op = b->insns.at[i]->op;
        }
    }
    b->insns.at = p->out.at;
    b->insns.n = p->out.n;
    b->insns.cap = p->out.cap;
}

/* -- instructions that both arms of a branch execute -- */

/* Returns whether the instruction can move from block `from` to the end of the dominator of `from`. */
static bool can_hoist(const struct peep *p, const struct insn *in, const struct mblock *from)
{
    for (int i = in->ndefs; i < in->nopnds; i++)
        if (opnd_has_reg(&in->opnds[i]) && p->regs.at[in->opnds[i].n].block == from->index)
            return false;
    return may_share(p, in) && !insn_has(in, WARP);
}

/* Returns the index of an instruction of block b that computes the same as `in`; -1 if there is none.
 * hashes[i] is the hash_work of instruction i. */
static int equal_in(const struct mblock *b, const struct insn *in, const uint64_t *hashes)
{
    uint64_t hash = hash_work(in);
    for (int i = 0; i < b->insns.n; i++)
        if (hashes[i] == hash && b->insns.at[i] && same_work(b->insns.at[i], in))
            return i;
    return -1;
}

static void insert_at_end(struct peep *p, struct mblock *b, struct insn *in)
{
    VEC_PUSH(p->m->arena, &b->insns, in);
    for (int i = b->insns.n - 1; i > 0 && insn_has(b->insns.at[i - 1], TERMINATOR); i--) {
        b->insns.at[i] = b->insns.at[i - 1];
        b->insns.at[i - 1] = in;
    }
    for (int i = 0; i < in->ndefs; i++)
        p->regs.at[in->opnds[i].n].block = b->index;
}

static void remove_null(struct mblock *b)
{
    int kept = 0;
    for (int i = 0; i < b->insns.n; i++)
        if (b->insns.at[i])
            b->insns.at[kept++] = b->insns.at[i];
    b->insns.n = kept;
}

/* Blocks x and y are the arms of the branch at the end of b. If an instruction of
 * x equals an instruction of y, moves the instruction of x to b, before the branch, and removes that of y. */
static void hoist_from_arms(struct peep *p, struct mblock *b, struct mblock *x, struct mblock *y)
{
    uint64_t *hashes = NEW_ARRAY(p->m->arena, x->insns.n + 1, uint64_t);
    for (int i = 0; i < x->insns.n; i++)
        hashes[i] = hash_work(x->insns.at[i]);
    for (int i = 0; i < y->insns.n; i++) {
        struct insn *in = y->insns.at[i];
        resolve_opnds(p, in);
        int at = can_hoist(p, in, y) ? equal_in(x, in, hashes) : -1;
        if (at < 0 || !can_hoist(p, x->insns.at[at], x))
            continue;
        for (int k = 0; k < in->ndefs; k++)
            p->regs.at[in->opnds[k].n].alias = x->insns.at[at]->opnds[k];
        insert_at_end(p, b, x->insns.at[at]);
        x->insns.at[at] = y->insns.at[i] = NULL;
    }
    remove_null(x);
    remove_null(y);
}

/* Moves equal instructions out of the arms of all branches. Visits inner branches before outer branches, so
 * that an instruction that is in all arms of two nested branches can move out of both branches. */
static void hoist_all(struct peep *p)
{
    struct mir *m = p->m;
    int *nbefore = NEW_ARRAY(m->arena, m->blocks.n + 1, int), next[2];
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = mblock_successors(m, m->blocks.at[b], next); i > 0; i--)
            nbefore[next[i - 1]]++;
    for (int b = m->blocks.n - 1; b >= 0; b--) {
        struct mblock *from = m->blocks.at[b];
        if (mblock_successors(m, from, next) == 2 && nbefore[next[0]] == 1 && nbefore[next[1]] == 1)
            hoist_from_arms(p, from, m->blocks.at[next[0]], m->blocks.at[next[1]]);
    }
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++) {
            resolve_opnds(p, m->blocks.at[b]->insns.at[i]);
            resolve_guard(p, m->blocks.at[b]->insns.at[i]);
        }
}

/* -- uses -- */

static void count_uses(struct peep *p)
{
    for (int r = 0; r < p->regs.n; r++)
        p->regs.at[r].nuses = 0;
    for (int b = 0; b < p->m->blocks.n; b++)
        for (int i = 0; i < p->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = p->m->blocks.at[b]->insns.at[i];
            for (int k = in->ndefs; k < in->nopnds; k++)
                if (opnd_has_reg(&in->opnds[k]))
                    p->regs.at[in->opnds[k].n].nuses++;
            if (in->guard >= 0)
                p->regs.at[in->guard].nuses++;
            for (int k = 0; k < in->ndefs && insn_has(in, TIED) && insn_keeps_old(in); k++)
                p->regs.at[in->opnds[k].n].nuses++;
        }
}

/* -- dead code -- */

static bool is_needed(const struct insn *in)
{
    return insn_has(in, TERMINATOR) || insn_has(in, WRITES) || insn_has(in, EFFECT) ||
           form_has_mod(in->form, MOD_volatile);
}

/* An entry in the list of the instructions that write a register. `next` is the index of the next entry, or
 * -1. */
struct writer {
    struct insn *insn;
    int next;
};

struct marker {
    struct arena *arena;
    int *first; /* first[r]: index of the first entry of register r's list */
    VEC(struct writer) writers;
    VEC(struct insn *) work; /* the worklist: needed instructions whose operands are not marked yet */
};

static void mark(struct marker *m, struct insn *in)
{
    if (in->needed)
        return;
    in->needed = true;
    VEC_PUSH(m->arena, &m->work, in);
}

static void mark_writers(struct marker *m, int reg)
{
    for (int i = m->first[reg]; i >= 0; i = m->writers.at[i].next)
        mark(m, m->writers.at[i].insn);
}

static void note_writers(struct marker *m, struct insn *in)
{
    for (int k = 0; k < in->ndefs; k++) {
        int *first = &m->first[in->opnds[k].n];
        VEC_PUSH(m->arena, &m->writers, ((struct writer){in, *first}));
        *first = m->writers.n - 1;
    }
}

/* Marks the instructions with effects and, transitively, the definitions of their operands, and removes all other
 * instructions. This also removes the updates of a loop-carried value that nothing else uses. */
static void drop_unneeded(struct peep *p)
{
    struct marker m = {.arena = p->m->arena};
    m.first = NEW_ARRAY(m.arena, p->regs.n + 1, int);
    for (int r = 0; r < p->regs.n; r++)
        m.first[r] = -1;
    for (int b = 0; b < p->m->blocks.n; b++)
        for (int i = 0; i < p->m->blocks.at[b]->insns.n; i++) {
            struct insn *in = p->m->blocks.at[b]->insns.at[i];
            note_writers(&m, in);
            if (is_needed(in))
                mark(&m, in);
        }
    while (m.work.n) {
        const struct insn *in = VEC_POP(&m.work);
        for (int k = in->ndefs; k < in->nopnds; k++)
            if (opnd_has_reg(&in->opnds[k]))
                mark_writers(&m, in->opnds[k].n);
        if (in->guard >= 0)
            mark_writers(&m, in->guard);
        for (int k = 0; k < in->ndefs && insn_has(in, TIED); k++)
            mark_writers(&m, in->opnds[k].n);
    }
    for (int b = 0; b < p->m->blocks.n; b++) {
        struct mblock *block = p->m->blocks.at[b];
        int kept = 0;
        for (int i = 0; i < block->insns.n; i++)
            if (block->insns.at[i]->needed)
                block->insns.at[kept++] = block->insns.at[i];
        block->insns.n = kept;
    }
}

static bool is_dead(const struct peep *p, const struct insn *in)
{
    if (is_needed(in))
        return false;
    for (int i = 0; i < in->ndefs; i++)
        if (p->regs.at[in->opnds[i].n].nuses)
            return false;
    return true;
}

static void sweep(struct peep *p)
{
    for (int b = p->m->blocks.n - 1; b >= 0; b--) {
        struct mblock *block = p->m->blocks.at[b];
        int kept = block->insns.n;
        for (int i = block->insns.n - 1; i >= 0; i--) {
            struct insn *in = block->insns.at[i];
            if (!is_dead(p, in)) {
                block->insns.at[--kept] = in;
                continue;
            }
            for (int k = in->ndefs; k < in->nopnds; k++)
                if (opnd_has_reg(&in->opnds[k]))
                    p->regs.at[in->opnds[k].n].nuses--;
            if (in->guard >= 0)
                p->regs.at[in->guard].nuses--;
        }
        block->insns.n -= kept;
        if (kept)
            memmove(block->insns.at, block->insns.at + kept,
                    (size_t)block->insns.n * sizeof *block->insns.at);
    }
}

/* Counts the definitions of each register. Computes whether the register is stable (peephole.h), and which
 * bits of the register may be 1. */
static void count_defs(struct peep *p)
{
    struct mir *m = p->m;
    p->regs.at = NEW_ARRAY(m->arena, m->regs.n + 1, struct reg_info);
    p->regs.n = p->regs.cap = m->regs.n;
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->ndefs; k++) {
                struct reg_info *r = &p->regs.at[in->opnds[k].n];
                r->stable = r->ndefs == 0 || (r->stable && in->guard >= 0 && r->block == b);
                r->ndefs++;
                r->block = b;
                r->bits |= in->ndefs == 1 ? peep_step_bits(in) : UINT64_MAX;
            }
        }
}

void peephole(struct mir *m)
{
    struct peep p = {.m = m};
    count_defs(&p);
    for (int b = 0; b < m->blocks.n; b++)
        rewrite_block(&p, m->blocks.at[b]);
    drop_unneeded(&p);
    count_uses(&p);
    for (int b = 0; b < m->blocks.n; b++)
        peep_fuse_block(&p, m->blocks.at[b]);
    hoist_all(&p);
    count_uses(&p);
    sweep(&p);
}
