/* SPDX-License-Identifier: MIT */
/* codegen.c: runs the stages of code generation in order, and prints the instruction table for `neso help
 * insns`. */
#include "codegen/mir.h"

#include <string.h>

static bool is_skipped(const struct codegen_options *o, const char *stage)
{
    size_t n = strlen(stage);
    for (const char *s = o->skip; s && *s; s += strcspn(s, ","), s += *s == ',')
        if (strncmp(s, stage, n) == 0 && (s[n] == ',' || s[n] == '\0'))
            return true;
    return false;
}

static struct mir *select_and_schedule(struct func *f, const struct codegen_options *o, bool frugal,
                                       struct ptx_info *info, struct liveness **live)
{
    struct diag *d = f->module->diag;
    *info = (struct ptx_info){.num_threads = 32 * (f->num_warps + f->extra_warps),
                              .shared_bytes = f->shared_bytes,
                              .persistent = f->persistent,
                              .late_part = f->persistent > 1 ? f->module->params->launch_late_part : 0,
                              .turned = f->turned,
                              .packs = f->packs,
                              .pair_multiple = f->pair_multiple};
    struct mir *m = select_func(f, f->module->scratch, info);
    diag_hurry(d, f->loc);
    if (!is_skipped(o, "peephole"))
        peephole(m);
    diag_hurry(d, f->loc);
    if (frugal)
        remat(m);
    *live = is_skipped(o, "schedule") ? liveness_of(m) : schedule(m);
    bool has_room = (*live)->peak_regs <= func_regs_most(f) *
                                              f->module->params->branch_over_masked_regs_percent /
                                              100; /* ptxas needs more registers in code with branches */
    if (has_room && !is_skipped(o, "branch_over_masked") && skip(m))
        *live = liveness_of(m);
    diag_hurry(d, f->loc);
    info->live_regs = (*live)->peak_regs;
    info->peak = (*live)->peak;
    return m;
}

/* Reports an error if the parameters take more than PARAMS_MOST_BYTES, or if the kernel needs more shared memory than
 * the target has; ptxas would reject the kernel with a less helpful message. */
static void check_limits(const struct func *f, const struct ptx_info *info)
{
    struct diag *d = f->module->diag;
    int n = info->params.n;
    int bytes = n ? info->params.at[n - 1].offset_bytes + info->params.at[n - 1].bytes : 0;
    bytes += MAP_BYTES * info->nmaps;
    if (bytes > PARAMS_MOST_BYTES)
        diag_error(d, f->loc, ERR_params_too_large, f->name, bytes, PARAMS_MOST_BYTES);
    else if (f->target && f->shared_bytes > f->target->smem_bytes)
        diag_error(d, f->loc, ERR_shared_too_large, f->name, (int64_t)f->shared_bytes, f->target->name,
                   (int64_t)f->target->smem_bytes);
}

/* Selects and schedules the instructions of f. If they need more registers than a thread can have, selects
 * and schedules a second time with rematerialization, and returns the machine IR that needs fewer
 * registers. */
static struct mir *make(struct func *f, const struct codegen_options *o, struct ptx_info *info,
                        struct liveness **live)
{
    struct mir *m = select_and_schedule(f, o, false, info, live);
    if (f->module->diag->nerrors == 0 && (*live)->peak_regs > func_regs_most(f)) {
        struct liveness *frugal_live;
        struct ptx_info frugal_info;
        struct mir *frugal = select_and_schedule(f, o, true, &frugal_info, &frugal_live);
        if (frugal_live->peak_regs < (*live)->peak_regs) {
            m = frugal;
            *live = frugal_live;
            *info = frugal_info;
        }
    }
    return m;
}

int codegen_spilled_regs(struct func *f)
{
    static const struct codegen_options none = {0};
    struct arena *a = f->module->scratch;
    struct arena_mark mark = arena_mark(a);
    struct ptx_info info;
    struct liveness *live;
    const struct mir *m = make(f, &none, &info, &live);
    int spilled = ptxas_regs(m, live, PTXAS_any) - func_regs_most(f);
    arena_reset(a, mark);
    return spilled > 0 ? spilled : 0;
}

void codegen_emit(struct func *f, const struct codegen_options *o, struct text *out, struct ptx_info *info)
{
    struct diag *d = f->module->diag;
    struct arena *a = f->module->scratch;
    struct arena_mark mark = arena_mark(a);
    const char *stage = d->stage;
    d->stage = "codegen";
    struct liveness *live;
    struct mir *m = make(f, o, info, &live);
    check_limits(f, info);
    if (o->registers || o->line_registers)
        pressure_explain(m, live, o);
    const struct allocation *alloc = o->emit_mir ? NULL : regalloc(m, live, !is_skipped(o, "coalesce"));
    resources_choose(m, live, info);
    emit_ptx(m, alloc, o, info, out);
    if (o->emit_mir)
        pressure_ranges(m, live, out);
    d->stage = stage;
    arena_reset(a, mark);
}

void codegen_help_insns(struct text *out)
{
    for (int i = 0; i < INSN_count; i++) {
        const struct insn_info *in = &insn_info[i];
        text_printf(out, "%-24s %-16s PTX %d.%d\n", in->mnemonic, in->operands, in->ptx / 10, in->ptx % 10);
    }
}
