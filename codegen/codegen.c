/* codegen.c: the stages in order, and the instruction table as help. */
#include "codegen/mir.h"

void codegen_emit(struct func *f, const struct codegen_options *o, struct text *out, struct ptx_info *info)
{
    struct diag *d = f->module->diag;
    struct arena *a = f->module->scratch;
    struct arena_mark mark = arena_mark(a);
    const char *stage = d->stage;
    d->stage = "codegen";
    *info = (struct ptx_info){.num_threads = 32 * (f->num_warps + f->extra_warps),
                              .shared_bytes = f->shared_bytes,
                              .pair_multiple = f->pair_multiple};
    struct mir *m = select_func(f, a, info);
    diag_hurry(d);
    peephole(m);
    diag_hurry(d);
    schedule(m);
    diag_hurry(d);
    struct liveness *live = liveness_of(m);
    info->live_regs = live->peak_regs;
    info->peak = live->peak;
    if (o->registers)
        pressure_explain(m, live, o->registers);
    emit_ptx(m, o->emit_mir ? NULL : regalloc(m, live), o, info, out);
    if (o->emit_mir)
        pressure_ranges(m, live, out);
    d->stage = stage;
    arena_reset(a, mark);
}

void codegen_help_insns(struct text *out)
{
    for (int i = 0; i < INSN_count; i++) {
        const struct insn_info *in = &insn_info[i];
        text_printf(out, "%-24s %-16s PTX %d.%d  %s\n", in->mnemonic, in->operands, in->ptx / 10,
                    in->ptx % 10, in->meaning);
    }
}
