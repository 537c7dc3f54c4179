/* SPDX-License-Identifier: MIT */
/* stepdown.c: compiles a kernel again with fewer optimisations if it needs more shared memory than the target has.
 *
 * Passes choose buffers before allocate_shared computes the total size. If the total is too large, stepdown runs all
 * passes again on a copy of the function that was made before the first pass. The first of these runs use fewer
 * pipeline stages. Each later run omits one more optimisation, and uses as many stages as then fit. The omitted
 * optimisations are, in this order: layout conversions in one piece (instead, a conversion is split into smaller
 * conversions), TMA stores through shared memory, TMA loads (whose buffers are live during the whole loop), and dots
 * that read shared memory. Without the last two optimisations, a kernel may have no pipeline at all. */
#include "opt/passes.h"

#include <string.h>

/* How conversions are split: not at all, or into pieces below a large or a small size limit. */
enum rounds { ROUNDS_none, ROUNDS_large, ROUNDS_small };

struct level {
    const char *skip; /* the passes that do not run, or NULL */
    enum rounds rounds;
    bool no_async_dots;
    int stages_least;
    const char *given_up; /* names the optimisations that this level omits and earlier levels do not omit */
};

static const struct level levels[] = {
    {NULL, ROUNDS_none, false, 2, ""},
    {NULL, ROUNDS_large, false, 2, ""},
    {"raise_tma_store", ROUNDS_small, false, 2, "no stores by tensor maps; "},
    {"raise_tma_store,raise_tma_load", ROUNDS_small, false, 1, "no tensor maps; "},
    {"raise_tma_store,raise_tma_load", ROUNDS_small, true, 1, "no tensor maps; no asynchronous dots; "},
};
enum { NLEVELS = sizeof levels / sizeof levels[0] };

struct stepdown {
    struct func *func;
    const struct func *kept;
    const struct opt_options *given;
    void (*run)(struct func *f, const struct opt_options *o);
    struct opt_options now;
    int nreports; /* the number of reports in diag before the first run */
    int64_t nops;
};

/* -- whether stepdown may be needed -- */

struct tiles {
    int64_t bytes, largest, ndots;
};

static void count(struct op *o, void *ctx)
{
    struct tiles *t = ctx;
    t->ndots += o->code == OP_dot;
    for (int i = 0; i < o->nresults; i++)
        if (type_is_tile(o->results[i].type) && !type_is_ptr(o->results[i].type)) {
            int64_t bytes = type_elems(o->results[i].type) * type_elem_bytes(o->results[i].type);
            t->bytes += bytes;
            t->largest = bytes > t->largest ? bytes : t->largest;
        }
}

/* A kernel without dots uses shared memory only to convert its tiles, so small tiles always fit. If a tile exceeds
 * the registers by far, stepdown is not tried, and the compiler rejects the kernel at once. */
bool stepdown_is_needed(const struct func *f)
{
    enum { REG_BYTES = 4 };
    const struct params *params = f->module->params;
    struct tiles t = {0};
    if (!f->target || f->degree != DEGREE_traced)
        return false;
    block_walk(f->body, count, &t);
    return t.largest <= (int64_t)params->stepdown_registers_over * REG_BYTES * f->target->regs_sm &&
           (t.ndots > 0 || 100 * t.bytes > (int64_t)f->target->smem_bytes * params->stepdown_shared_percent);
}

/* -- the runs -- */

static bool is_too_large(const struct stepdown *d)
{
    const struct diag *x = d->func->module->diag;
    return x->nerrors == 1 && x->list.n == d->nreports + 1 &&
           x->list.at[d->nreports].error == ERR_shared_too_large;
}

static const char *join_names(struct func *f, const char *x, const char *y)
{
    struct text t;
    if (!x || !y)
        return x ? x : y;
    text_init(&t, f->module->arena);
    text_printf(&t, "%s,%s", x, y);
    return t.s;
}

static int64_t conversion_bytes(const struct stepdown *d, const struct level *l)
{
    const struct params *params = d->func->module->params;
    return l->rounds == ROUNDS_none    ? 0
           : l->rounds == ROUNDS_large ? params->stepdown_conversion_bytes
                                       : params->stepdown_conversion_bytes_least;
}

/* Runs the passes once. The passes write explanations and dumps only if d->now has a callback for them. */
static void run(struct stepdown *d, const struct level *l, int stages)
{
    struct func *f = d->func;
    diag_forget(f->module->diag, d->nreports, 0);
    f->module->nops = d->nops;
    func_copy(f, d->kept);
    d->now.skip = join_names(f, d->given->skip, l->skip);
    d->now.conversion_bytes_most = conversion_bytes(d, l);
    d->now.no_async_dots = l->no_async_dots;
    d->now.stages_most = stages;
    d->run(f, &d->now);
}

static bool fits(struct stepdown *d, const struct level *l, int stages)
{
    run(d, l, stages);
    return !is_too_large(d);
}

static void find_stages(struct op *o, void *ctx)
{
    int *most = ctx;
    int n = o->code == OP_for ? opt_stages(o->block->func, o) : 0;
    *most = n > *most ? n : *most;
}

/* Finds the largest number of stages that fits; 0: none fits. Tries the smallest number first: if this number does
 * not fit, no larger number fits. */
static int stages_that_fit(struct stepdown *d, const struct level *l, int asked)
{
    const int least = l->stages_least < asked ? l->stages_least : asked;
    const bool is_known = l == levels && least == asked;
    if (is_known || !fits(d, l, least))
        return 0;
    int most = least, last = least;
    for (int above = l == levels ? asked : asked + 1; most + 1 < above;) {
        last = (most + above) / 2;
        if (fits(d, l, last))
            most = last;
        else
            above = last;
    }
    if (last != most)
        run(d, l, most);
    return most;
}

/* Explains the step down. Then repeats the last run with explanations enabled, so that the explanations describe
 * the function that is compiled. */
static void say(struct stepdown *d, const struct level *l, int stages, int asked, int64_t bytes)
{
    struct func *f = d->func;
    f->module->diag->stage = "stepdown";
    f->module->opt = d->given;
    struct text less;
    text_init(&less, f->module->scratch);
    if (stages < asked)
        text_printf(&less, "%d stages of %d; ", stages, asked);
    if (l->rounds)
        text_printf(&less, "conversions in rounds of %lld KB; ", (long long)conversion_bytes(d, l) >> 10);
    opt_explain(f, &(struct explanation){DECISION_stepped_down, .numbers = {bytes, f->target->smem_bytes},
                                         .words = {less.s ? less.s : "", l->given_up}});
    d->now.write = d->given->write;
    d->now.note = d->given->note;
    run(d, l, stages);
}

void stepdown_run(struct func *f, const struct func *kept, const struct opt_options *o,
                  void (*run_list)(struct func *f, const struct opt_options *o))
{
    struct stepdown d = {.func = f, .kept = kept, .given = o, .run = run_list, .now = *o};
    const struct diag *reports = f->module->diag;
    d.nreports = reports->list.n - 1;
    d.nops = f->module->nops;
    if (!reports->nerrors || !is_too_large(&d))
        return;
    const int64_t bytes = f->shared_bytes;
    int asked = 1;
    f->module->opt = o;
    block_walk(kept->body, find_stages, &asked);
    d.now.write = NULL;
    d.now.note = NULL;
    for (const struct level *l = levels; l < levels + NLEVELS; l++) {
        int stages = stages_that_fit(&d, l, asked);
        if (!stages)
            continue;
        if (o->write || o->note)
            say(&d, l, stages, asked, bytes);
        return;
    }
}
