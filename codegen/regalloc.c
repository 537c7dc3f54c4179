/* SPDX-License-Identifier: MIT */
/* regalloc.c: assigns PTX registers to virtual registers. Several virtual registers may share a PTX register.
 *
 *     add.f32 v9, v4, v8            add.f32 %f4, %f4, %f3
 *     mov.f32 v4, v9          =>
 *
 * ptxas allocates the hardware registers. The purpose of this allocation is to make the PTX readable, and to
 * remove moves of loop-carried and yielded values. First, the source and the destination of a move are
 * coalesced (into a web) if their live ranges do not overlap, or if both hold the same value. Then each web
 * gets the lowest register number that is free from the web's first definition to its last use. */
#include "codegen/mir.h"

#include <stdlib.h>

/* Virtual registers that are coalesced into one. */
struct web {
    int parent; /* union-find: a representative is its own parent */
    struct live_range range;
    VEC(int) defs;    /* positions of the definitions */
    int tuple, index; /* the number of the wgmma tuple with the web (-1: none), and the web's index in it */
    const struct insn *start; /* the first definition */
};

/* The ordered registers of a wgmma's accumulator or register operand. */
struct tuple {
    enum reg_class cls;
    bool is_sum; /* the tuple is an accumulator */
    int n, *regs;
    bool begun; /* true once one of its registers has a number */
    int model;  /* the number of the older tuple whose register numbers this tuple reuses; -1: none */
};

struct allocator {
    struct mir *m;
    struct web *webs; /* indexed by virtual register */
    VEC(struct tuple) tuples;
};

static int find(struct allocator *a, int reg)
{
    while (a->webs[reg].parent != reg)
        reg = a->webs[reg].parent = a->webs[a->webs[reg].parent].parent;
    return reg;
}

static bool overlap(const struct live_range *x, const struct live_range *y)
{
    for (int i = 0, k = 0; i < x->segments.n && k < y->segments.n;) {
        const struct segment *p = &x->segments.at[i], *q = &y->segments.at[k];
        if (p->from < q->to && q->from < p->to)
            return true;
        if (p->to <= q->to)
            i++;
        else
            k++;
    }
    return false;
}

static struct live_range merged(struct arena *arena, const struct live_range *x, const struct live_range *y)
{
    struct live_range r = {{0}};
    for (int i = 0, k = 0; i < x->segments.n || k < y->segments.n;) {
        bool take_x =
            k == y->segments.n || (i < x->segments.n && x->segments.at[i].from < y->segments.at[k].from);
        struct segment next = take_x ? x->segments.at[i++] : y->segments.at[k++];
        struct segment *last = r.segments.n ? &r.segments.at[r.segments.n - 1] : NULL;
        if (last && next.from < last->to)
            last->to = next.to > last->to ? next.to : last->to;
        else
            VEC_PUSH(arena, &r.segments, next);
    }
    return r;
}

/* Returns whether `copy`, the destination of a move from `source`, equals `source` as long as `copy` is live:
 * the move is the only definition of `copy`, and no instruction defines `source` while `copy` is live. */
static bool stays_equal(const struct web *copy, const struct web *source)
{
    if (copy->defs.n != 1)
        return false;
    for (int i = 0; i < source->defs.n; i++)
        for (int k = 0; k < copy->range.segments.n; k++) {
            const struct segment *s = &copy->range.segments.at[k];
            if (s->from <= source->defs.at[i] && source->defs.at[i] < s->to)
                return false;
        }
    return true;
}

static bool is_copy(const struct insn *in)
{
    return in->form.code == INSN_mov && in->guard < 0 && in->opnds[1].kind == OPND_reg &&
           in->opnds[0].cls == in->opnds[1].cls;
}

static void coalesce(struct allocator *a, const struct insn *in)
{
    if (!is_copy(in))
        return;
    int x = find(a, in->opnds[0].n), y = find(a, in->opnds[1].n);
    if (x == y || (overlap(&a->webs[x].range, &a->webs[y].range) && !stays_equal(&a->webs[x], &a->webs[y])))
        return;
    int low = x < y ? x : y, high = x < y ? y : x;
    if (a->webs[high].range.segments.n && a->webs[low].range.segments.n &&
        a->webs[high].range.segments.at[0].from < a->webs[low].range.segments.at[0].from)
        a->webs[low].start = a->webs[high].start;
    a->webs[low].range = merged(a->m->arena, &a->webs[x].range, &a->webs[y].range);
    for (int i = 0; i < a->webs[high].defs.n; i++)
        VEC_PUSH(a->m->arena, &a->webs[low].defs, a->webs[high].defs.at[i]);
    a->webs[high].parent = low;
}

static void note_defs(struct allocator *a)
{
    int at = 0;
    for (int b = 0; b < a->m->blocks.n; b++)
        for (int i = 0; i < a->m->blocks.at[b]->insns.n; i++, at++) {
            const struct insn *in = a->m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->ndefs; k++) {
                struct web *w = &a->webs[in->opnds[k].n];
                w->start = w->start ? w->start : in;
                VEC_PUSH(a->m->arena, &w->defs, at);
            }
        }
}

/* reg is a register of an accumulator whose first definition is the wgmma at position `start`. Extends the
 * live range back to the preceding wgmma.fence, at position `fence`, so that no other value occupies the
 * register between the fence and the wgmma. */
static void begin_at_fence(struct allocator *a, int reg, int start, int fence)
{
    struct live_range *r = &a->webs[reg].range;
    struct live_range longer = {{0}};
    for (int i = 0; i < r->segments.n; i++) {
        struct segment s = r->segments.at[i];
        s.from = s.from == start ? fence : s.from;
        VEC_PUSH(a->m->arena, &longer.segments, s);
    }
    *r = longer;
}

static void begin_sums_at_fences(struct allocator *a)
{
    int at = 0, fence = 0;
    for (int b = 0; b < a->m->blocks.n; b++)
        for (int i = 0; i < a->m->blocks.at[b]->insns.n; i++, at++) {
            const struct insn *in = a->m->blocks.at[b]->insns.at[i];
            if (in->form.code == INSN_wgmma_fence)
                fence = at;
            bool begins = insn_info[in->form.code].latency == LATENCY_mma_async && in->fresh;
            for (int k = 0; begins && k < in->ndefs; k++)
                begin_at_fence(a, in->opnds[k].n, at, fence);
        }
}

static void drop_copies(struct mblock *b, const struct allocation *alloc)
{
    int n = 0;
    for (int i = 0; i < b->insns.n; i++) {
        struct insn *in = b->insns.at[i];
        if (!is_copy(in) || alloc->number[in->opnds[0].n] != alloc->number[in->opnds[1].n])
            b->insns.at[n++] = in;
    }
    b->insns.n = n;
}

/* The representative `reg` of a web and the extent of its live range; spans are sorted by `from`. */
struct span {
    int from, to, reg;
};

static int compare_spans(const void *x, const void *y)
{
    const struct span *p = x, *q = y;
    return p->from != q->from ? (p->from < q->from ? -1 : 1) : (p->reg > q->reg) - (p->reg < q->reg);
}

static void add_tuple(struct allocator *a, const struct opnd *x, int n, bool is_sum)
{
    struct tuple t = {.cls = (enum reg_class)x->cls,
                      .is_sum = is_sum,
                      .n = n,
                      .regs = NEW_ARRAY(a->m->arena, n, int),
                      .model = -1};
    for (int k = 0; k < n; k++) {
        t.regs[k] = find(a, x[k].n);
        struct web *w = &a->webs[t.regs[k]];
        if (w->tuple >= 0)
            return;
    }
    for (int k = 0; k < n; k++) {
        a->webs[t.regs[k]].tuple = a->tuples.n;
        a->webs[t.regs[k]].index = k;
    }
    VEC_PUSH(a->m->arena, &a->tuples, t);
}

static void find_tuples(struct allocator *a)
{
    for (int b = 0; b < a->m->blocks.n; b++)
        for (int i = 0; i < a->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = a->m->blocks.at[b]->insns.at[i];
            if (insn_info[in->form.code].latency != LATENCY_mma_async)
                continue;
            const struct opnd *x = in->opnds + in->ndefs;
            int n = 0;
            while (x[n].kind == OPND_reg && x[n].cls == CLASS_b32)
                n++;
            add_tuple(a, in->opnds, in->ndefs, true);
            if (n)
                add_tuple(a, x, n, false);
        }
}

/* The state of one register number of a class. busy_until: the position up to which the number is in use.
 * tuple: the last wgmma tuple with a register that got the number; -1: none. for_sums: only registers of
 * accumulators may have the number. */
struct number {
    int busy_until, tuple;
    bool for_sums;
};
struct numbers {
    VEC(struct number) list;
};

static const struct tuple *tuple_of(const struct allocator *a, int reg)
{
    return a->webs[reg].tuple < 0 ? NULL : &a->tuples.at[a->webs[reg].tuple];
}

static bool is_alike(const struct tuple *x, const struct tuple *y)
{
    return x->cls == y->cls && x->n == y->n && x->is_sum == y->is_sum;
}

static bool is_of_sum(const struct allocator *a, int reg)
{
    return tuple_of(a, reg) && tuple_of(a, reg)->is_sum;
}

/* Returns whether reg may get number n (from 0), which is free and has the state *x. Numbers of accumulators
 * are only for accumulators, and an accumulator does not get a number that another tuple has had, unless
 * wanted_number returns this number. Of an operand's tuple, the register that is numbered first may get a
 * number that an older similar tuple (is_alike) had at the same index. Then wanted_number gives the tuple's
 * other registers the numbers of the older tuple too. */
static bool may_have(const struct allocator *a, const struct allocation *alloc, const struct number *x, int n,
                     int reg)
{
    const struct tuple *t = tuple_of(a, reg);
    if (x->for_sums != is_of_sum(a, reg))
        return false;
    if (!t || x->tuple < 0)
        return true;
    if (t->begun || t->is_sum)
        return false;
    const struct tuple *old = &a->tuples.at[x->tuple];
    return is_alike(old, t) && alloc->number[old->regs[a->webs[reg].index]] == n + 1;
}

/* Returns the preferred number (from 0) of a register that belongs to a tuple; -1: none. A tuple reuses all
 * numbers of an older tuple or none. So once one register of the tuple has the number of an older tuple's
 * register, each other register prefers the number at the same index of the older tuple. If the tuple
 * reuses no numbers, and the instruction that first defines the register reads the register at the same index of a
 * similar tuple (is_alike), the register prefers the number of that other register. */
static int wanted_number(struct allocator *a, const struct allocation *alloc, const struct span *s)
{
    const struct web *w = &a->webs[s->reg];
    const struct tuple *t = tuple_of(a, s->reg);
    if (!t || !w->start)
        return -1;
    if (t->model >= 0)
        return alloc->number[a->tuples.at[t->model].regs[w->index]] - 1;
    for (int k = w->start->ndefs; k < w->start->nopnds; k++) {
        const struct opnd *x = &w->start->opnds[k];
        int from = x->kind == OPND_reg && x->cls == t->cls ? find(a, x->n) : -1;
        if (from >= 0 && tuple_of(a, from) && is_alike(tuple_of(a, from), t) &&
            a->webs[from].index == w->index)
            return alloc->number[from] - 1;
    }
    return -1;
}

/* Assigns each live range its preferred number (wanted_number) if it is free, else the lowest free number.
 * The numbers do not affect the machine code that ptxas generates, except for the registers of wgmmas, which
 * ptxas does not rename. The numbers of these registers matter for two reasons. First, ptxas serializes
 * wgmmas if a register has different indices in the tuples of two wgmmas (warning C7511). Second, ptxas
 * silently generates wrong code if a register of an accumulator holds another value earlier or later: ptxas
 * then merges distinct shuffles into one, or computes a wrong sum if it spills (ptxas 13.0, driver 580;
 * tests/programs/sums_apart.py). (Another example of the fault: two dots write the same tuple, and after each
 * dot, the program multiplies the accumulator. ptxas then keeps only the first multiplication.) So an
 * accumulator does not share its numbers with other values. Two accumulators share numbers only if one of
 * them starts with the value of the other. Operands in registers may share their numbers with other
 * values. */
static void number_spans(struct allocator *a, struct allocation *alloc, const struct span *spans, int nspans)
{
    struct numbers numbers[CLASS_count] = {{{0}}};
    for (int i = 0; i < nspans; i++) {
        struct numbers *list = &numbers[a->m->regs.at[spans[i].reg]];
        int n = wanted_number(a, alloc, &spans[i]), reg = spans[i].reg;
        if (n < 0 || list->list.at[n].busy_until > spans[i].from)
            for (n = 0; n < list->list.n; n++)
                if (list->list.at[n].busy_until <= spans[i].from &&
                    may_have(a, alloc, &list->list.at[n], n, reg))
                    break;
        if (n == list->list.n)
            VEC_PUSH(a->m->arena, &list->list, ((struct number){0, -1, is_of_sum(a, reg)}));
        struct number *x = &list->list.at[n];
        x->busy_until = spans[i].to;
        alloc->number[reg] = n + 1;
        if (a->webs[reg].tuple < 0)
            continue;
        struct tuple *t = &a->tuples.at[a->webs[reg].tuple];
        t->model = t->begun ? t->model : x->tuple;
        t->begun = true;
        x->tuple = a->webs[reg].tuple;
    }
    for (int c = 0; c < CLASS_count; c++)
        alloc->count[c] = numbers[c].list.n;
}

struct allocation *regalloc(struct mir *m, const struct liveness *live, bool coalesces)
{
    struct allocator a = {.m = m, .webs = NEW_ARRAY(m->arena, m->regs.n + 1, struct web)};
    for (int r = 0; r < m->regs.n; r++)
        a.webs[r] = (struct web){.parent = r, .range = live->ranges[r], .tuple = -1};
    note_defs(&a);
    begin_sums_at_fences(&a);
    for (int b = 0; coalesces && b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++)
            coalesce(&a, m->blocks.at[b]->insns.at[i]);
    find_tuples(&a);

    struct span *spans = NEW_ARRAY(m->arena, m->regs.n + 1, struct span);
    int nspans = 0;
    for (int r = 0; r < m->regs.n; r++) {
        const struct live_range *range = &a.webs[r].range;
        if (a.webs[r].parent == r && range->segments.n)
            spans[nspans++] =
                (struct span){range->segments.at[0].from, range->segments.at[range->segments.n - 1].to, r};
    }
    qsort(spans, (size_t)nspans, sizeof *spans, compare_spans);

    struct allocation *alloc = NEW(m->arena, struct allocation);
    alloc->number = NEW_ARRAY(m->arena, m->regs.n + 1, int);
    number_spans(&a, alloc, spans, nspans);
    for (int r = 0; r < m->regs.n; r++)
        alloc->number[r] = alloc->number[find(&a, r)];
    for (int b = 0; b < m->blocks.n; b++)
        drop_copies(m->blocks.at[b], alloc);
    return alloc;
}
