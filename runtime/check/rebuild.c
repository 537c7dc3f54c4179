/* SPDX-License-Identifier: MIT */
/* rebuild.c: compiles a kernel again from the text of its traced IR, without some passes, in separate memory.
 * Any thread may call these functions, because they only read the kernel and its module. Source
 * locations in the new code have the same file numbers as in the kernel. */
#include "runtime/runtime.h"

#include "opt/passes.h"

#include <string.h>

static void full(void *ctx, size_t bytes)
{
    struct rebuild *r = ctx;
    (void)bytes;
    r->is_full = true;
    longjmp(r->unwind, 1);
}

static void hurry(void *ctx, struct loc at)
{
    struct rebuild *r = ctx;
    char limit[32];
    enum error passed = budget_spend(r->budget, 0);
    if (!budget_ends(passed))
        return;
    budget_text(r->budget, passed, limit, sizeof limit);
    diag_fatal(&r->diag, at, passed, limit);
}

struct func *rebuild_parse(struct neso_kernel *k, struct rebuild *r, const struct fallback_source *from)
{
    diag_init(&r->diag, &r->arena);
    r->diag.fatal = &r->unwind;
    r->diag.hurry = budget_is_limited(r->budget) ? hurry : NULL;
    r->diag.hurry_ctx = r;
    for (int i = 0; i < from->nfiles; i++)
        VEC_PUSH(&r->arena, &r->diag.sources, from->files[i]);
    module_init(&r->module, &r->arena, &r->scratch, &r->diag);
    r->module.params = &k->thresholds;
    const struct source *text = diag_add_source(&r->diag, k->name, from->ir, from->bytes);
    if (!module_parse(&r->module, text) || r->module.funcs.n != 1)
        return NULL;
    struct func *f = r->module.funcs.at[0];
    f->target = f->target ? f->target : k->spec.target;
    return f;
}

static void compile(struct neso_kernel *k, struct rebuild *r, const char *without, const int *divisible)
{
    struct text skip;
    text_init(&skip, &r->arena);
    text_printf(&skip, "%s%s%s", without, *without ? "," : "", k->options.skip ? k->options.skip : "");
    r->skip = skip.s;
    const struct opt_options options = {.skip = skip.s, .spilled_regs = codegen_spilled_regs};
    const struct codegen_options how = {.verbose = k->options.verbose_ptx, .debug_loc = true, .skip = skip.s};
    struct func *f = rebuild_parse(k, r, &k->fallback_source);
    if (!f)
        return;
    for (int i = 0; divisible && i < f->params.n; i++)
        if (divisible[i] > f->params.at[i].divisible)
            f->params.at[i].divisible = divisible[i];
    opt_run(f, &options);
    text_init(&r->ptx, &r->arena);
    if (r->diag.nerrors == 0)
        codegen_emit(f, &how, &r->ptx, &r->info);
}

void rebuild_open(struct neso_kernel *k, struct rebuild *r, struct budget *budget)
{
    const struct neso_context *c = k->module->context;
    memset(r, 0, sizeof *r);
    r->budget = budget;
    r->mem = c->mem;
    arena_init(&r->arena, &r->mem, c->memory_limit, full, r);
    arena_init(&r->scratch, &r->mem, c->memory_limit, full, r);
}

bool rebuild_make(struct neso_kernel *k, struct rebuild *r, const char *without, const int *divisible,
                  struct budget *budget)
{
    rebuild_open(k, r, budget);
    if (setjmp(r->unwind) == 0) {
        compile(k, r, without, divisible);
        return r->diag.nerrors == 0 && r->ptx.len > 0;
    }
    return false;
}

bool rebuild_read(struct neso_kernel *k, struct rebuild *r, enum variant which, struct budget *budget)
{
    rebuild_open(k, r, budget);
    return setjmp(r->unwind) == 0 && bundle_variant(k, which, &r->arena, &r->ptx, &r->info);
}

const struct func *rebuild_trace(struct neso_kernel *k, struct rebuild *r, struct budget *budget)
{
    rebuild_open(k, r, budget);
    return setjmp(r->unwind) == 0 ? rebuild_parse(k, r, &k->fallback_source) : NULL;
}

void rebuild_free(struct rebuild *r)
{
    arena_free(&r->arena);
    arena_free(&r->scratch);
}
