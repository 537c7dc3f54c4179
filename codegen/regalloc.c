/* regalloc.c: few PTX registers for many virtual ones.
 *
 *     add.f32 v9, v4, v8            add.f32 %f4, %f4, %f3
 *     mov.f32 v4, v9          =>
 *
 * ptxas allocates the real registers; this is for readers, and to drop the moves that loops and branches
 * needed. First, registers joined by a move become one where their lives do not overlap, or hold the same
 * value; then each gets the lowest number that is free from its first definition to its last use.
 */
#include "codegen/mir.h"

#include <stdlib.h>

/* Virtual registers that become one. */
struct web {
    int parent; /* itself: a representative */
    struct live_range range;
    VEC(int) defs; /* positions */
};

struct allocator {
    struct mir *m;
    struct web *webs; /* of each virtual register */
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

/* A copy and its source may live at once, as long as neither changes while the copy lives. */
static bool stays_equal(const struct web *copy, const struct web *source)
{
    if (copy->defs.n != 1)
        return false;
    for (int i = 0; i < source->defs.n; i++)
        for (int k = 0; k < copy->range.segments.n; k++) {
            const struct segment *s = &copy->range.segments.at[k];
            if (s->from < source->defs.at[i] && source->defs.at[i] < s->to)
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
            for (int k = 0; k < in->ndefs; k++)
                VEC_PUSH(a->m->arena, &a->webs[in->opnds[k].n].defs, at);
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

/* A representative with the span of its life, to be sorted by start. */
struct span {
    int from, to, reg;
};

static int compare_spans(const void *x, const void *y)
{
    const struct span *p = x, *q = y;
    return p->from != q->from ? (p->from < q->from ? -1 : 1) : (p->reg > q->reg) - (p->reg < q->reg);
}

static void number_spans(struct allocator *a, struct allocation *alloc, const struct span *spans, int nspans)
{
    VEC(int) busy_until[CLASS_count] = {{0}}; /* of each number */
    for (int i = 0; i < nspans; i++) {
        int cls = a->m->regs.at[spans[i].reg], n = 0;
        while (n < busy_until[cls].n && busy_until[cls].at[n] > spans[i].from)
            n++;
        if (n == busy_until[cls].n)
            VEC_PUSH(a->m->arena, &busy_until[cls], 0);
        busy_until[cls].at[n] = spans[i].to;
        alloc->number[spans[i].reg] = n + 1;
    }
    for (int c = 0; c < CLASS_count; c++)
        alloc->count[c] = busy_until[c].n;
}

struct allocation *regalloc(struct mir *m, const struct liveness *live)
{
    struct allocator a = {m, NEW_ARRAY(m->arena, m->regs.n + 1, struct web)};
    for (int r = 0; r < m->regs.n; r++)
        a.webs[r] = (struct web){.parent = r, .range = live->ranges[r]};
    note_defs(&a);
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++)
            coalesce(&a, m->blocks.at[b]->insns.at[i]);

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
