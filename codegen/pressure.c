/* SPDX-License-Identifier: MIT */
/* pressure.c: reports how many registers are live at each source line (--explain=registers), and prints the live
 * range of each register after the machine IR.
 *
 *     registers: 207 live at most, of 255: at 308:16; no spills expected
 *     registers:   there %acc 128, %shared_load.1 36, %offs_a.9 16, %offs_b.9 16, 11 more
 *     registers: line 306: 169
 *
 * The most registers are live at line 308, column 16; 128 of them hold %acc. The number for a source line is
 * the maximum over the line's instructions.
 *
 *     // live %rd20 2: 4-9 12-15 %addptr
 *
 * This line says that %rd20, which occupies two 32-bit registers, is live from instruction 4 (counted from 0) to
 * instruction 9 and from 12 to 15, and that it holds the value %addptr. */
#include "codegen/mir.h"

enum { SHOWN = 6 };

/* Returns an array with the number of 32-bit registers that are live before each position. */
static int *pressure_of(const struct mir *m, const struct liveness *live)
{
    int *regs = NEW_ARRAY(m->arena, live->npositions + 2, int);
    for (int r = 0; r < live->nregs; r++)
        for (int i = 0; i < live->ranges[r].segments.n; i++) {
            int n = class_info[m->regs.at[r]].regs;
            regs[live->ranges[r].segments.at[i].from + 1] += n;
            regs[live->ranges[r].segments.at[i].to + 1] -= n;
        }
    for (int i = 1; i <= live->npositions; i++)
        regs[i] += regs[i - 1];
    return regs;
}

/* -- live registers at a position -- */

struct holder {
    const struct op *op;
    int regs;
};

/* Returns an array with the tile op of each register: the op for which the register's last definition was
 * selected. */
static const struct op **owners_of(const struct mir *m)
{
    const struct op **owner = NEW_ARRAY(m->arena, m->regs.n + 1, const struct op *);
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->ndefs; k++)
                owner[in->opnds[k].n] = in->op;
        }
    return owner;
}

static bool is_live_at(const struct live_range *r, int at)
{
    for (int i = 0; i < r->segments.n; i++)
        if (r->segments.at[i].from < at && at <= r->segments.at[i].to)
            return true;
    return false;
}

static void explain_place(const struct mir *m, const struct liveness *live, int at, struct text *out)
{
    const struct op **owner = owners_of(m);
    struct holder *h = NEW_ARRAY(m->arena, m->regs.n + 1, struct holder);
    int n = 0, rest = 0;
    for (int r = 0; r < live->nregs; r++) {
        int regs = class_info[m->regs.at[r]].regs, i = 0;
        if (!regs || !is_live_at(&live->ranges[r], at))
            continue;
        if (!owner[r] || !owner[r]->nresults) {
            rest += regs;
            continue;
        }
        while (i < n && h[i].op != owner[r])
            i++;
        h[i].op = owner[r];
        h[i].regs += regs;
        n += i == n;
        for (; i > 0 && h[i - 1].regs < h[i].regs; i--) {
            struct holder kept = h[i];
            h[i] = h[i - 1];
            h[i - 1] = kept;
        }
    }
    text_str(out, "registers:   there");
    for (int i = 0; i < n; i++)
        if (i < SHOWN)
            text_printf(out, " %%%s %d,", h[i].op->results[0].name, h[i].regs);
        else
            rest += h[i].regs;
    text_printf(out, " %d more\n", rest);
}

/* -- the report -- */

static void explain_lines(const struct mir *m, const int *regs, const struct codegen_options *o)
{
    int nlines = 0, at = 0;
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++)
            if ((int)m->blocks.at[b]->insns.at[i]->loc.line >= nlines)
                nlines = (int)m->blocks.at[b]->insns.at[i]->loc.line + 1;
    int *most = NEW_ARRAY(m->arena, nlines + 1, int);
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++, at++) {
            int line = (int)m->blocks.at[b]->insns.at[i]->loc.line;
            most[line] = regs[at] > most[line] ? regs[at] : most[line];
        }
    for (int i = 1; i < nlines; i++) {
        if (most[i] && o->registers)
            text_printf(o->registers, "registers: line %d: %d\n", i, most[i]);
        if (most[i] && o->line_registers)
            o->line_registers(o->ctx, i, most[i]);
    }
}

static void explain_peak(const struct mir *m, const struct liveness *live, const int *regs, struct text *out)
{
    int peak = 0, at = 0;
    for (int i = 0; i < live->npositions; i++)
        if (regs[i] > peak) {
            peak = regs[i];
            at = i;
        }
    struct loc loc = {.line = 0};
    for (int b = 0, first = 0; b < m->blocks.n; first += m->blocks.at[b++]->insns.n)
        if (at >= first && at < first + m->blocks.at[b]->insns.n)
            loc = m->blocks.at[b]->insns.at[at - first]->loc;
    int most = func_regs_most(m->func), spilled = ptxas_regs(m, live, PTXAS_any) - most;
    text_printf(out, "registers: %d live at most, of %d: at %d:%d; ", peak, most, (int)loc.line,
                (int)loc.col);
    if (spilled > 0)
        text_printf(out, "about %d will be spilled\n", spilled);
    else
        text_str(out, "no spills expected\n");
    explain_place(m, live, at, out);
}

void pressure_explain(const struct mir *m, const struct liveness *live, const struct codegen_options *o)
{
    int *regs = pressure_of(m, live);
    if (o->registers)
        explain_peak(m, live, regs, o->registers);
    explain_lines(m, regs, o);
}

void pressure_ranges(const struct mir *m, const struct liveness *live, struct text *out)
{
    const struct op **owner = owners_of(m);
    for (int r = 0; r < live->nregs; r++) {
        const struct class_info *c = &class_info[m->regs.at[r]];
        if (!live->ranges[r].segments.n)
            continue;
        text_printf(out, "// live %s%d %d:", c->prefix, r, c->regs);
        for (int i = 0; i < live->ranges[r].segments.n; i++)
            text_printf(out, " %d-%d", live->ranges[r].segments.at[i].from,
                        live->ranges[r].segments.at[i].to);
        if (owner[r] && owner[r]->nresults)
            text_printf(out, " %%%s", owner[r]->results[0].name);
        text_char(out, '\n');
    }
}
