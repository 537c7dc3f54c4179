/* SPDX-License-Identifier: MIT */
/* stepdown.c: compiles a kernel again, with fewer optimizations if the kernel needs more shared memory than
 * the target has, or with more warps if the kernel spills many registers.
 *
 * Passes choose buffers before allocate_shared computes the total size. If the total is too large, stepdown runs all
 * passes again on a copy of the function that was made before the first pass. The first of these runs use fewer
 * pipeline stages. If no number of stages fits, the next runs omit one more optimization, and again use as
 * many stages as fit. The optimizations are omitted in this order:
 * - layout conversions in one piece: a conversion is split into smaller conversions instead;
 * - TMA stores through shared memory;
 * - TMA loads, whose buffers are live during the whole loop;
 * - dots that read shared memory.
 * If TMA loads are omitted, a kernel may have a single stage, which means no pipeline.
 *
 * If the code of a kernel would spill many registers of a thread, stepdown runs all passes again with twice
 * the warps, so that each thread has fewer elements of each tile. The compiler uses the result if fewer
 * registers would be spilled. So the kernel may get more warps than the user asked for, as in
 * legalize_dot.c. */
#include "opt/passes.h"

#include <limits.h>
#include <string.h>

/* How conversions are split: not at all, or into pieces of at most stepdown_conversion_bytes (large) or
 * stepdown_conversion_bytes_least (small) bytes. */
enum rounds { ROUNDS_none, ROUNDS_large, ROUNDS_small };

/* Which optimizations a run omits. */
struct level {
    const char *skip; /* the passes that do not run, or NULL */
    enum rounds rounds;
    bool no_async_dots;
    int stages_least;     /* a run with fewer stages is not tried */
    const char *given_up; /* text for --explain: the omitted optimizations, except split conversions */
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
    const struct func *kept;         /* the copy of func that was made before the first run */
    const struct opt_options *given; /* the options of the first run */
    void (*run)(struct func *f, const struct opt_options *o);
    struct opt_options now; /* the options of the next run */
    int nreports;           /* the number of reports in diag before the first run */
    int64_t nops;           /* module.nops when stepdown started; each run starts from this number again */
    int num_warps;
};

/* -- whether stepdown may be needed -- */

enum { REG_BYTES = 4 };

struct tiles {
    int64_t bytes, largest, ndots; /* the bytes of all tiles and of the largest tile; the number of dots */
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

/* Returns whether the kernel might need too much shared memory. A kernel without dots uses shared memory only
 * to convert its tiles, so small tiles always fit. */
static bool may_exceed_shared(const struct func *f, const struct tiles *t)
{
    return t->ndots > 0 ||
           100 * t->bytes > (int64_t)f->target->smem_bytes * f->module->params->stepdown_shared_percent;
}

/* Returns whether the kernel may get more warps, and all its tiles together take more bytes than the
 * registers of its threads. */
static bool may_exceed_registers(const struct func *f, const struct opt_options *o, const struct tiles *t)
{
    enum { THREADS = 32 };
    const int threads = THREADS * f->num_warps;
    return o->spilled_regs && !f->maxnreg && 2 * f->num_warps <= f->module->params->legalize_dot_warps_most &&
           t->bytes > (int64_t)REG_BYTES * threads * func_regs(f, threads, true);
}

/* Returns false also if a tile exceeds the registers of an SM by far. No run can then succeed, so the passes
 * run only once. */
bool stepdown_is_needed(const struct func *f, const struct opt_options *o)
{
    struct tiles t = {0};
    if (!f->target || f->degree != DEGREE_traced)
        return false;
    block_walk(f->body, count, &t);
    return t.largest <=
               (int64_t)f->module->params->stepdown_registers_over * REG_BYTES * f->target->regs_sm &&
           (may_exceed_shared(f, &t) || may_exceed_registers(f, o, &t));
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

/* Runs the passes once on a new copy of the kernel, with d->num_warps warps and at most `stages` stages (0:
 * no limit). The passes write explanations and dumps only if d->now has a callback for them. */
static void run(struct stepdown *d, const struct level *l, int stages)
{
    struct func *f = d->func;
    diag_forget(f->module->diag, d->nreports, 0);
    f->module->nops = d->nops;
    func_copy(f, d->kept);
    f->num_warps = d->num_warps;
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

/* Returns the largest number of stages with which the kernel fits, at most `asked`; 0: no number fits. Leaves
 * the result of the run with this number in d->func. Tries the smallest number first: if this number does not
 * fit, no larger number fits. At the first level, the run with `asked` stages has already failed. */
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

static void set_callbacks(struct stepdown *d, bool explains)
{
    d->now.write = explains ? d->given->write : NULL;
    d->now.note = explains ? d->given->note : NULL;
}

/* Explains which limits were lowered. Then repeats the last run with explanations enabled, so that the
 * explanations describe the function that is compiled. `bytes` is the shared memory that the first run
 * needed. */
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
    set_callbacks(d, true);
    run(d, l, stages);
}

/* Tries the levels in order until the kernel fits. If no level fits, d->func and diag hold the failed last
 * run. */
static void lower_limits(struct stepdown *d)
{
    const int64_t bytes = d->func->shared_bytes;
    int asked = 1;
    d->func->module->opt = d->given;
    block_walk(d->kept->body, find_stages, &asked);
    for (const struct level *l = levels; l < levels + NLEVELS; l++) {
        int stages = stages_that_fit(d, l, asked);
        if (!stages)
            continue;
        if (d->given->write || d->given->note)
            say(d, l, stages, asked, bytes);
        return;
    }
}

/* -- more warps -- */

/* Returns the estimated number of spilled registers; INT_MAX if the last run failed. */
static int spilled_regs(const struct stepdown *d)
{
    return d->func->module->diag->nerrors ? INT_MAX : d->given->spilled_regs(d->func);
}

/* Runs the passes on the kernel with num_warps warps. If the kernel then needs too much shared memory, lowers
 * the limits. */
static void run_with_warps(struct stepdown *d, int num_warps, bool explains)
{
    d->num_warps = num_warps;
    set_callbacks(d, explains);
    if (fits(d, levels, 0))
        return;
    set_callbacks(d, false);
    lower_limits(d);
}

/* Doubles the number of warps as long as the code would spill many registers, and would spill fewer of them
 * with twice the warps. */
static void add_warps(struct stepdown *d)
{
    struct func *f = d->func;
    const struct opt_options *given = d->given;
    const struct params *params = f->module->params;
    const int asked = f->num_warps;
    if (!given->spilled_regs || f->degree != DEGREE_scheduled || f->maxnreg ||
        2 * asked > params->legalize_dot_warps_most)
        return;
    const int first = spilled_regs(d);
    int warps = asked, spilled = first;
    while (spilled >= params->stepdown_spilled_regs && 2 * warps <= params->legalize_dot_warps_most) {
        run_with_warps(d, 2 * warps, false);
        const int now = spilled_regs(d);
        if (now >= spilled) {
            run_with_warps(d, warps == asked ? d->kept->num_warps : warps, false);
            break;
        }
        spilled = now;
        warps *= 2;
    }
    if (warps == asked)
        return;
    f->module->diag->stage = "stepdown";
    f->module->opt = given;
    opt_explain(f, &(struct explanation){DECISION_doubled_warps, .numbers = {first, warps, asked}});
    if (given->write || given->note)
        run_with_warps(d, warps, true);
}

void stepdown_run(struct func *f, const struct func *kept, const struct opt_options *o,
                  void (*run_list)(struct func *f, const struct opt_options *o))
{
    struct stepdown d = {
        .func = f, .kept = kept, .given = o, .run = run_list, .now = *o, .num_warps = kept->num_warps};
    const struct diag *reports = f->module->diag;
    d.nreports = reports->list.n - (reports->nerrors > 0);
    d.nops = f->module->nops;
    set_callbacks(&d, false);
    if (is_too_large(&d))
        lower_limits(&d);
    if (!reports->nerrors)
        add_warps(&d);
}
