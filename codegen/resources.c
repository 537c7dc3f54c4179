/* SPDX-License-Identifier: MIT */
/* resources.c: chooses the registers per thread and the CTAs per SM that a kernel requests from ptxas.
 *
 *     func_regs_most     the most registers that a thread can have
 *     ptxas_regs         an estimate of the registers per thread that ptxas will use, from the live registers
 *     resources_ctas     the number of CTAs that fit on an SM with a given number of registers per thread
 *     resources_ctas_of_roles   the number of CTAs that fit with the registers of the warp roles (setmaxnreg)
 *     resources_choose   chooses .minnctapersm, and removes setmaxnreg if too many CTAs share an SM
 *
 * schedule.c calls the first three functions, because it chooses .maxnreg together with the order of the
 * instructions. The constants of the estimates are rows of ir/params.h. */
#include "codegen/mir.h"

int func_regs_most(const struct func *f)
{
    return func_regs(f, 32 * f->num_warps, true);
}

/* -- the registers that ptxas needs -- */

/* The estimates of registers and the scheduler treat kernels with one reduction differently from kernels with
 * several. A kernel with one reduction needs all loaded values directly after this reduction. In a kernel
 * with several reductions, each reduction hides the latency of the loads for the next reduction. */
bool reduces_once(const struct mir *m)
{
    const struct op *seen = NULL;
    for (int i = 0; m->blocks.n == 1 && i < m->blocks.at[0]->insns.n; i++) {
        const struct op *o = m->blocks.at[0]->insns.at[i]->op;
        if (!o || o->code != OP_reduce || o == seen || type_elems(op_opnd(o, 0)->type) <= m->nthreads)
            continue;
        if (seen)
            return false;
        seen = o;
    }
    return seen;
}

static bool loads_unguarded(const struct mir *m)
{
    for (int i = 0; i < m->blocks.at[0]->insns.n; i++) {
        const struct insn *in = m->blocks.at[0]->insns.at[i];
        if (in->form.code == INSN_ld && in->guard < 0 && in->op && in->op->code == OP_load)
            return true;
    }
    return false;
}

/* Returns whether a thread divides several elements. If the divisions share a divisor, the inverse and the
 * scale of the divisor stay live in registers (divide_scaled in select/arith.c). */
static bool divides_many(const struct mir *m)
{
    for (int i = 0; i < m->blocks.at[0]->insns.n; i++) {
        const struct op *o = m->blocks.at[0]->insns.at[i]->op;
        if (o && o->code == OP_fdiv && type_elems(op_result(o)->type) > m->nthreads)
            return true;
    }
    return false;
}

/* Returns whether two unpacked 16-bit halves share a register at the position where the most halves are live.
 * A half that is loaded alone, under a mask, takes a whole register. In a kernel with such loads, the result
 * is true only if unpacked halves are live at that position; in other kernels, it is true if the kernel
 * unpacks any register. */
static bool shares_registers(const struct liveness *live)
{
    return live->unpacks && (live->peak_unpacked || !live->loads_halves);
}

/* Estimates the registers of a kernel that reduces rows, from the counted registers (PTXAS_counted). ptxas
 * needs more registers than counted in three cases: the kernel has loops or branches; no 16-bit halves share
 * registers; or a thread divides several elements (one register more). The estimate also exceeds the counted
 * registers for a kernel with one reduction and unguarded loads, because with fewer registers ptxas would
 * move these loads down to their uses. In all other kernels, ptxas needs fewer registers than counted. */
static int regs_of_rows(const struct mir *m, const struct liveness *live)
{
    const struct params *p = m->func->module->params;
    int regs = ptxas_regs(m, live, PTXAS_counted);
    if (m->blocks.n > 1)
        return regs + p->ptxas_loop_regs;
    if (!shares_registers(live))
        return regs + regs / p->ptxas_straight_part;
    return reduces_once(m) && loads_unguarded(m) ? regs + p->ptxas_load_regs
           : divides_many(m)                     ? regs + 1
                                                 : regs - p->ptxas_saved_regs;
}

int ptxas_regs(const struct mir *m, const struct liveness *live, enum ptxas_kernel kernel)
{
    enum { PERCENT = 100 };
    const struct params *p = m->func->module->params;
    switch (kernel) {
    case PTXAS_counted: return live->peak_halves < 2 ? 1 : (live->peak_halves + 1) / 2;
    case PTXAS_rows: return regs_of_rows(m, live);
    case PTXAS_pipeline: return live->peak_regs + p->schedule_pipeline_spare_regs;
    case PTXAS_mma: return live->peak_regs + p->ptxas_spare_regs;
    case PTXAS_async: return live->peak_regs + p->ptxas_spare_regs_wgmma;
    case PTXAS_chained: return live->peak_regs * p->ptxas_chained_percent / PERCENT;
    case PTXAS_any: break;
    }
    return live->peak_regs + p->ptxas_report_regs;
}

/* -- CTAs on an SM -- */

int resources_ctas(const struct mir *m, int regs)
{
    return target_ctas(m->func->target, m->nthreads, regs, 0);
}

int resources_ctas_of_roles(const struct func *f)
{
    const struct op *o = f->body->first;
    while (o && o->code != OP_warps)
        o = o->next;
    const struct attr *regs = o ? op_attr(o, ATTR_regs) : NULL, *warps = o ? op_attr(o, ATTR_warps) : NULL;
    int all = 0;
    for (int i = 0; regs && i < regs->n; i++)
        all += 32 * warps->list[i] * regs->list[i];
    return all ? f->target->regs_sm / all : 0;
}

/* Returns how many CTAs of a kernel with dots fit on an SM with regard to registers; at least 1. ptxas
 * compiles two chained asynchronous dots with fewer registers than are live (PTXAS_chained). So two CTAs may
 * fit although the number of live registers allows only one. The function does not rely on this if setmaxnreg
 * divides the registers among warp roles. */
static int ctas_by_registers(const struct mir *m, const struct liveness *live, bool has_async)
{
    const struct params *p = m->func->module->params;
    if (resources_ctas_of_roles(m->func) > 1)
        return resources_ctas_of_roles(m->func);
    int regs = ptxas_regs(m, live, has_async ? PTXAS_async : PTXAS_mma);
    int ctas = resources_ctas(m, regs < p->resources_regs_least ? p->resources_regs_least : regs);
    bool has_setmaxnreg = m->func->extra_warps > 1;
    if (has_async && !has_setmaxnreg && ctas == 1 &&
        resources_ctas(m, ptxas_regs(m, live, PTXAS_chained)) > 1)
        ctas = 2;
    while (ctas > 1 && target_regs(m->func->target, ctas * m->nthreads) < m->regs_least)
        ctas--;
    return ctas < 1 ? 1 : ctas;
}

static bool starts_async_dot(const struct insn *in)
{
    return in->op && in->op->code == OP_mma_start;
}

static bool is_dot(const struct insn *in)
{
    return in->op && in->op->code == OP_dot;
}

/* Returns the number for .minnctapersm; 0 for a kernel without dots, for which ptxas chooses the number. For
 * a persistent kernel with dots, also sets info->persistent. Without .minnctapersm, ptxas reduces the
 * registers per thread so that more threads fit on an SM, and may spill. Kernels with dots gain more from
 * registers than from threads. A persistent kernel requests as many CTAs as fit, because a single CTA with
 * small tiles would leave the tensor cores idle between two iterations. */
static int choose_ctas(const struct mir *m, const struct liveness *live, struct ptx_info *info)
{
    const bool has_async = mir_any(m, starts_async_dot);
    if (!has_async && !mir_any(m, is_dot))
        return 0;
    const int most = m->func->module->params->resources_ctas_most;
    int fit = ctas_by_registers(m, live, has_async), ctas = fit < most ? fit : most;
    if (!info->persistent)
        return ctas;
    int by_memory = target_ctas(m->func->target, 0, 0, info->shared_bytes);
    fit = fit < by_memory ? fit : by_memory;
    info->persistent = fit < 1 ? 1 : fit;
    return fit > ctas ? fit : ctas;
}

static bool is_setmaxnreg(const struct insn *in)
{
    return in->form.code == INSN_setmaxnreg_inc || in->form.code == INSN_setmaxnreg_dec;
}

static void drop_setmaxnreg(struct mir *m)
{
    for (int b = 0; b < m->blocks.n; b++) {
        struct mblock *block = m->blocks.at[b];
        int n = 0;
        for (int i = 0; i < block->insns.n; i++)
            if (!is_setmaxnreg(block->insns.at[i]))
                block->insns.at[n++] = block->insns.at[i];
        block->insns.n = n;
    }
}

void resources_choose(struct mir *m, const struct liveness *live, struct ptx_info *info)
{
    m->ctas = choose_ctas(m, live, info);
    /* if more CTAs share an SM than the register counts of setmaxnreg allow, a CTA has too few registers for
     * these counts, but enough registers to run without setmaxnreg */
    if (m->ctas > 1 && m->ctas > resources_ctas_of_roles(m->func))
        drop_setmaxnreg(m);
}
