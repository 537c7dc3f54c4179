/* SPDX-License-Identifier: MIT */
/* remat.c: rematerializes cheap values for each tile op that uses them, if a thread has too few registers.
 *
 *     %m = n < size; store p, x, %m; store q, y, %m  =>  ...; store p, x, %m; %m2 = n < size; store q, y, %m2
 *
 * Without this pass, a tile of addresses or masks that two accesses share would stay live from the first
 * access to the second, in at least one register for each element. The first op that uses a value reads the
 * original register. For each later op that uses the value, the pass copies the instructions that compute it.
 * The pass copies only instructions of the block in which the op is, so that no computation moves into a
 * loop.
 *
 * Copies for an operand of a wgmma are inserted before the preceding wgmma.fence, because the registers that
 * a wgmma reads must be written before this fence. */
#include "codegen/mir.h"

#include <string.h>

struct remat_reg {
    struct insn *def;
    int ndefs, block;
    const struct op *first,
        *copy_for; /* first: the first tile op that uses the register. copy_for: the last tile op that got a copy */
    int copy;    /* the result of the copy for copy_for */
    bool kept;   /* an asynchronous dot may read the register until a wait, so no copy may replace it */
    bool in_dot; /* an asynchronous dot reads the register */
};

struct remat {
    struct mir *m;
    struct remat_reg *regs; /* indexed by the registers that existed before the pass */
    int nregs;
    bool keeps;          /* some registers are marked `kept` */
    struct mblock *b;    /* the block that is being rewritten */
    const struct op *op; /* the op whose operands are being rewritten */
};

static void note_defs(struct remat *r)
{
    for (int b = 0; b < r->m->blocks.n; b++)
        for (int i = 0; i < r->m->blocks.at[b]->insns.n; i++) {
            struct insn *in = r->m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->nopnds && in->form.code == INSN_wgmma_wait; k++)
                if (in->opnds[k].kind == OPND_reg)
                    r->keeps = r->regs[in->opnds[k].n].kept = true;
            for (int k = in->ndefs; k < in->nopnds && insn_info[in->form.code].latency == LATENCY_mma_async;
                 k++)
                if (in->opnds[k].kind == OPND_reg)
                    r->regs[in->opnds[k].n].in_dot = true;
            for (int k = 0; k < in->ndefs; k++) {
                struct remat_reg *x = &r->regs[in->opnds[k].n];
                x->def = in;
                x->ndefs++;
                x->block = b;
            }
        }
}

/* For each move to a register that is marked `kept`, also marks the source of the move as `kept`, if the
 * source is a variable or an operand of an asynchronous dot. The reason: if a dot is in flight across
 * iterations (carry_dots.c), the loop moves the register that the dot reads to a variable, and regalloc.c
 * gives the register and the variable the same number. Returns whether this call marked a register. */
static bool mark_sources(struct remat *r)
{
    bool any = false;
    for (int b = 0; b < r->m->blocks.n; b++)
        for (int i = 0; i < r->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = r->m->blocks.at[b]->insns.at[i];
            if (in->form.code != INSN_mov || in->nopnds < 2 || in->opnds[1].kind != OPND_reg ||
                !r->regs[in->opnds[0].n].kept || r->regs[in->opnds[1].n].kept ||
                (r->regs[in->opnds[1].n].ndefs == 1 && !r->regs[in->opnds[1].n].in_dot))
                continue;
            any = r->regs[in->opnds[1].n].kept = true;
        }
    return any;
}

static bool is_cheap(const struct remat *r, const struct insn *in)
{
    const int *cycles = r->m->func->target->latency_cycles;
    if (!insn_has(in, PURE) || insn_has(in, WARP) || in->guard >= 0 || in->ndefs != 1 ||
        cycles[insn_info[in->form.code].latency] > cycles[LATENCY_wide])
        return false;
    for (int i = 1; i < in->nopnds; i++)
        if (in->opnds[i].kind == OPND_reg && in->opnds[i].n < r->nregs && r->regs[in->opnds[i].n].ndefs != 1)
            return false;
    return true;
}

/* Returns the register that the current tile op reads instead of `reg`. If an earlier tile op uses `reg`, and
 * its value is cheap to compute again, returns the result of a copied instruction. Otherwise, returns `reg`
 * itself. `depth` is the number of copied instructions through which the tile op uses `reg`. */
static int reg_for(struct remat *r, int reg, int depth)
{
    if (reg >= r->nregs)
        return reg;
    struct remat_reg *x = &r->regs[reg];
    if (x->kept || x->ndefs != 1 || x->block != r->b->index ||
        depth == r->m->func->module->params->remat_insns_depth || !is_cheap(r, x->def))
        return reg;
    if (!x->first)
        x->first = r->op;
    if (x->first == r->op || x->def->op == r->op)
        return reg;
    if (x->copy_for == r->op)
        return x->copy;
    struct insn *copy = NEW(r->m->arena, struct insn);
    *copy = *x->def;
    copy->opnds = NEW_ARRAY(r->m->arena, copy->nopnds, struct opnd);
    memcpy(copy->opnds, x->def->opnds, copy->nopnds * sizeof *copy->opnds);
    copy->op = r->op;
    for (int i = 1; i < copy->nopnds; i++)
        if (copy->opnds[i].kind == OPND_reg)
            copy->opnds[i].n = reg_for(r, copy->opnds[i].n, depth + 1);
    copy->opnds[0] = mir_reg(r->m, (enum reg_class)copy->opnds[0].cls);
    VEC_PUSH(r->m->arena, &r->b->insns, copy);
    x->copy_for = r->op;
    return x->copy = copy->opnds[0].n;
}

static void rewrite_operands(struct remat *r, struct insn *in)
{
    r->op = in->op;
    for (int i = in->ndefs; i < in->nopnds && in->op; i++)
        if (opnd_has_reg(&in->opnds[i]))
            in->opnds[i].n = reg_for(r, in->opnds[i].n, 0);
}

static void rewrite(struct remat *r, struct insn *in)
{
    rewrite_operands(r, in);
    if (in->guard >= 0 && in->op)
        in->guard = reg_for(r, in->guard, 0);
    VEC_PUSH(r->m->arena, &r->b->insns, in);
}

/* Rewrites the operands of the wgmmas between the fence, which is instruction `fence` of b, and the next
 * commit. */
static void rewrite_wgmmas(struct remat *r, const struct mblock *b, int fence)
{
    for (int i = fence + 1; i < b->insns.n && b->insns.at[i]->form.code != INSN_wgmma_commit; i++)
        if (insn_info[b->insns.at[i]->form.code].latency == LATENCY_mma_async)
            rewrite_operands(r, b->insns.at[i]);
}

void remat(struct mir *m)
{
    struct remat r = {
        .m = m, .nregs = m->regs.n, .regs = NEW_ARRAY(m->arena, m->regs.n + 1, struct remat_reg)};
    note_defs(&r);
    while (r.keeps && mark_sources(&r))
        continue;
    for (int b = 0; b < m->blocks.n; b++) {
        struct mblock *now = m->blocks.at[b], before = *now;
        r.b = now;
        now->insns.at = NULL;
        now->insns.n = now->insns.cap = 0;
        for (int i = 0; i < before.insns.n; i++) {
            if (before.insns.at[i]->form.code == INSN_wgmma_fence)
                rewrite_wgmmas(&r, &before, i);
            rewrite(&r, before.insns.at[i]);
        }
    }
}
