/* SPDX-License-Identifier: MIT */
/* liveness.c: computes the live range of each virtual register, and the position at which the most registers
 * are live (see mir.h).
 *
 * A backward dataflow analysis over the blocks runs until nothing changes. Then a last walk records the
 * segments. A guarded definition keeps the old value in threads whose guard is false, and a TIED instruction
 * reads the old value. So definitions by guarded and TIED instructions also count as uses. */
#include "codegen/mir.h"

#include <string.h>

enum { WORD = 64 };

/* Sets of virtual registers as bit vectors: four sets for each block. */
struct sets {
    int nwords;
    /* Each set takes nwords words. `uses` has the registers that the block reads before it defines them,
     * `defs` the registers that it defines. `in` and `out` have the registers that are live at the start and
     * at the end of the block. */
    uint64_t *uses, *defs, *in, *out;
};

static uint64_t *set_at(const struct sets *s, uint64_t *base, int block)
{
    return base + (ptrdiff_t)block * s->nwords;
}

static bool has(const uint64_t *set, int reg)
{
    return set[reg / WORD] >> reg % WORD & 1;
}

static void add(uint64_t *set, int reg)
{
    set[reg / WORD] |= UINT64_C(1) << reg % WORD;
}

static void drop(uint64_t *set, int reg)
{
    set[reg / WORD] &= ~(UINT64_C(1) << reg % WORD);
}

static void gather(struct sets *s, const struct mblock *b)
{
    uint64_t *uses = set_at(s, s->uses, b->index), *defs = set_at(s, s->defs, b->index);
    for (int i = b->insns.n - 1; i >= 0; i--) {
        const struct insn *in = b->insns.at[i];
        for (int k = 0; k < in->ndefs; k++) {
            add(defs, in->opnds[k].n);
            if (!insn_keeps_old(in))
                drop(uses, in->opnds[k].n);
            else
                add(uses, in->opnds[k].n);
        }
        if (in->guard >= 0)
            add(uses, in->guard);
        for (int k = in->ndefs; k < in->nopnds; k++)
            if (opnd_has_reg(&in->opnds[k]))
                add(uses, in->opnds[k].n);
    }
}

/* The transfer function of one block: updates the block's `in` and `out`. Returns whether `in` changed. A
 * guarded definition does not end a live range: the register is in `defs`, but also in `uses`. */
static bool flow(const struct mir *m, struct sets *s, const struct mblock *b)
{
    int successors[2], n = mblock_successors(m, b, successors);
    uint64_t *in = set_at(s, s->in, b->index), *out = set_at(s, s->out, b->index);
    const uint64_t *uses = set_at(s, s->uses, b->index), *defs = set_at(s, s->defs, b->index);
    uint64_t changed = 0;
    for (int w = 0; w < s->nwords; w++) {
        for (int i = 0; i < n; i++)
            out[w] |= set_at(s, s->in, successors[i])[w];
        uint64_t now = uses[w] | (out[w] & ~defs[w]);
        changed |= now ^ in[w];
        in[w] = now;
    }
    return changed != 0;
}

static void close_segment(struct arena *a, struct liveness *l, int reg, int from, int to)
{
    VEC_PUSH(a, &l->ranges[reg].segments, ((struct segment){from, to}));
}

/* The live registers at the current position of the walk backward through a block. */
struct walk {
    const struct mir *m;
    struct liveness *l;
    uint64_t *live;
    /* until[r]: if register r is live, the end of its current segment; the walk goes backward, so the start
     * of the segment is not known yet */
    int *until;
    int regs; /* number of live 32-bit registers */
    /* halves_of[r]: the number of 16-bit halves of hardware registers that ptxas uses for r; 0 for a
     * parameter of the kernel */
    uint8_t *halves_of;
    int halves, unpacked, preds;
};

static void begin(struct walk *w, int reg, int at)
{
    if (has(w->live, reg))
        return;
    add(w->live, reg);
    w->until[reg] = at;
    w->regs += class_info[w->m->regs.at[reg]].regs;
    w->halves += w->halves_of[reg];
    w->unpacked += w->halves_of[reg] == 1;
    w->preds += w->m->regs.at[reg] == CLASS_pred;
}

static void end(struct walk *w, int reg, int at)
{
    if (has(w->live, reg)) {
        close_segment(w->m->arena, w->l, reg, at, w->until[reg]);
        drop(w->live, reg);
        w->regs -= class_info[w->m->regs.at[reg]].regs;
        w->halves -= w->halves_of[reg];
        w->unpacked -= w->halves_of[reg] == 1;
        w->preds -= w->m->regs.at[reg] == CLASS_pred;
    } else {
        close_segment(w->m->arena, w->l, reg, at, at + 1); /* an unused result also occupies a register */
    }
}

/* Returns how many 16-bit halves of registers ptxas needs as temporaries when it expands the instruction: 0
 * unless the instruction is a division. For a division of f64, ptxas calls a function, and values that are
 * live across the call cannot be in the function's registers. So all registers of this function count as
 * temporaries. */
static int temps_of(const struct mir *m, const struct insn *in)
{
    const struct params *p = m->func->module->params;
    if (in->form.code != INSN_div)
        return 0;
    return in->form.type == PT_f64 ? p->ptxas_division_f64_halves : p->ptxas_division_halves;
}

static void walk_insn(struct walk *w, const struct insn *in, int at)
{
    if (!insn_keeps_old(in))
        for (int k = 0; k < in->ndefs; k++)
            end(w, in->opnds[k].n, at);
    else
        for (int k = 0; k < in->ndefs; k++)
            begin(w, in->opnds[k].n, at + 1);
    if (in->guard >= 0)
        begin(w, in->guard, at);
    for (int k = in->ndefs; k < in->nopnds; k++)
        if (opnd_has_reg(&in->opnds[k]))
            begin(w, in->opnds[k].n, at);
    if (w->regs > w->l->peak_regs) {
        w->l->peak_regs = w->regs;
        w->l->peak = in->loc;
    }
    int halves = w->halves + temps_of(w->m, in);
    w->l->peak_preds = w->preds > w->l->peak_preds ? w->preds : w->l->peak_preds;
    if (halves > w->l->peak_halves) {
        w->l->peak_halves = halves;
        w->l->peak_unpacked = w->unpacked > 0;
    }
}

/* Calls a function for each register of a set. */
static void each_reg(struct walk *w, const uint64_t *set, int nwords,
                     void (*f)(struct walk *w, int reg, int at), int at)
{
    for (int i = 0; i < nwords; i++)
        for (uint64_t word = set[i]; word; word &= word - 1)
            f(w, i * WORD + __builtin_ctzll(word), at);
}

static void enter(struct walk *w, int reg, int at)
{
    close_segment(w->m->arena, w->l, reg, at, w->until[reg]);
}

static void walk_block(struct walk *w, const struct sets *s, const struct mblock *b, int first)
{
    memset(w->live, 0, (size_t)s->nwords * sizeof *w->live);
    w->regs = w->halves = w->unpacked = w->preds = 0;
    each_reg(w, s->out + (ptrdiff_t)b->index * s->nwords, s->nwords, begin, first + b->insns.n);
    for (int i = b->insns.n - 1; i >= 0; i--)
        walk_insn(w, b->insns.at[i], first + i);
    each_reg(w, w->live, s->nwords, enter, first);
}

/* Computes halves_of (struct walk), and sets l->unpacks and l->loads_halves. If an instruction unpacks a
 * register into two halves, ptxas keeps both halves in that register, so each takes one half. */
static uint8_t *halves_of(const struct mir *m, struct liveness *l)
{
    uint8_t *halves = NEW_ARRAY(m->arena, m->regs.n + 1, uint8_t);
    for (int r = 0; r < m->regs.n; r++)
        halves[r] = (uint8_t)(2 * class_info[m->regs.at[r]].regs);
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = m->blocks.at[b]->insns.at[i];
            if (in->form.code == INSN_ld_param)
                halves[in->opnds[0].n] = 0;
            for (int k = 0; k < in->ndefs && in->ndefs == 2; k++)
                if (m->regs.at[in->opnds[k].n] == CLASS_b16) {
                    halves[in->opnds[k].n] = 1;
                    l->unpacks = true;
                }
            if (in->form.code == INSN_ld && insn_keeps_old(in) && m->regs.at[in->opnds[0].n] == CLASS_b16)
                l->loads_halves = true;
        }
    return halves;
}

/* Reverses the order of the segments, because the backward walk has recorded the last segment first. */
static void reverse(struct live_range *r)
{
    for (int i = 0, k = r->segments.n - 1; i < k; i++, k--) {
        struct segment kept = r->segments.at[i];
        r->segments.at[i] = r->segments.at[k];
        r->segments.at[k] = kept;
    }
}

struct liveness *liveness_of(const struct mir *m)
{
    struct arena *a = m->arena;
    struct sets s = {.nwords = (m->regs.n + WORD - 1) / WORD};
    uint64_t **sets[] = {&s.uses, &s.defs, &s.in, &s.out};
    for (int i = 0; i < 4; i++)
        *sets[i] = NEW_ARRAY(a, (size_t)s.nwords * (size_t)m->blocks.n + 1, uint64_t);
    int npositions = 0;
    for (int b = 0; b < m->blocks.n; b++) {
        gather(&s, m->blocks.at[b]);
        npositions += m->blocks.at[b]->insns.n;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = m->blocks.n - 1; b >= 0; b--)
            changed |= flow(m, &s, m->blocks.at[b]);
    }
    struct liveness *l = NEW(a, struct liveness);
    l->npositions = npositions;
    l->nregs = m->regs.n;
    l->ranges = NEW_ARRAY(a, m->regs.n + 1, struct live_range);
    struct walk w = {.m = m,
                     .l = l,
                     .live = NEW_ARRAY(a, s.nwords + 1, uint64_t),
                     .halves_of = halves_of(m, l),
                     .until = NEW_ARRAY(a, m->regs.n + 1, int)};
    int first = npositions;
    for (int b = m->blocks.n - 1; b >= 0; b--) {
        first -= m->blocks.at[b]->insns.n;
        walk_block(&w, &s, m->blocks.at[b], first);
    }
    for (int r = 0; r < m->regs.n; r++)
        reverse(&l->ranges[r]);
    return l;
}
