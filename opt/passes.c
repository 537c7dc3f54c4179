/* SPDX-License-Identifier: MIT */
/* passes.c: defines the order in which passes run, and the driver, which runs the passes. The driver checks
 * the order (contracts.c), writes dumps and times, and frees scratch memory. In debug builds, and under
 * --verify-each, the driver also verifies, prints and re-parses the function after each pass. */
#include "opt/passes.h"
#include "opt/pipeline/loop_schedule.h"

#include <string.h>
#include <time.h>

const struct pass_info pass_info[] = {
#define PASS(name, needs, provides, breaks, meaning) {#name, needs, provides, breaks, opt_##name, meaning},
#include "opt/passes.h"
#undef PASS
};
const int npasses = (int)(sizeof pass_info / sizeof pass_info[0]);

/* The default list. cse runs again after assign_layouts, which copies cheap index arithmetic for each layout, and
 * after pipeline_loops, which computes the addresses of several iterations. */
static const char *const order[] = {
    "fold",
    "cse",
    "licm",
    "fold",
    "dce",
    "unroll",
    "single_trip_loops",
    "fix_order",
    "legalize_dot",
    "raise_tma_load",
    "raise_tma_store",
    "invariant_loads",
    "hoist_loads",
    "load_ahead",
    "persistent_grid",
    "modulo_contiguity",
    "dedup_loads",
    "fold",
    "cse",
    "licm",
    "dce",
    "assign_layouts",
    "keep_maximum",
    "skip_rescaling",
    "cse",
    "dce",
    "lower_scan",
    "lower_reduce",
    "lower_tma_store",
    "warp_specialize",
    "cluster_multicast",
    "overlap_dots",
    "pipeline_loops",
    "alternate_dots",
    "cse",
    "overlap_epilogue",
    "dce",
    "sink",
    "schedule_dots",
    "carry_dots",
    "lower_layout_conversion",
    "remat",
    "vectorize",
    "cheap_division",
    "eviction_hints",
    "l2_prefetch",
    "whole_tiles",
    "allocate_shared",
    "insert_barriers",
    "turn_grid",
    "pack_programs",
};
enum { NORDER = sizeof order / sizeof order[0] };

const char *opt_order(int i)
{
    return i < NORDER ? order[i] : NULL;
}

/* Returns the pass with this name, or NULL. */
static const struct pass_info *pass_by_name(const char *name, size_t n)
{
    for (int i = 0; i < npasses; i++)
        if (strlen(pass_info[i].name) == n && memcmp(pass_info[i].name, name, n) == 0)
            return &pass_info[i];
    return NULL;
}

/* -- options -- */

static void write_out(const struct opt_options *o, const char *pass, const struct text *t)
{
    if (o->write)
        o->write(o->write_ctx, pass, t->s, t->len);
}

int opt_stages(const struct func *f, const struct op *loop)
{
    int asked = (int)op_int(loop, ATTR_stages), most = f->module->opt ? f->module->opt->stages_most : 0;
    asked = asked ? asked : f->num_stages;
    return most && most < asked ? most : asked;
}

/* -- checks and dumps after a pass -- */

static void verify(struct func *f)
{
    const struct op *at = NULL;
    const char *wrong = func_verify(f, &at);
    if (wrong)
        diag_bug(f->module->diag, at ? at->loc : f->loc, "%s: %s", at ? op_info[at->code].name : f->name,
                 wrong);
}

/* Parses the printed text into a new module and prints that module. The two texts must be equal. */
static void round_trip(struct func *f, const struct text *printed)
{
    struct arena *a = f->module->scratch;
    struct diag d;
    diag_init(&d, a);
    d.fatal = f->module->diag->fatal;
    struct module copy;
    module_init(&copy, a, a, &d);
    struct text again;
    text_init(&again, a);
    const struct source *src = diag_add_source(&d, "printed", printed->s, printed->len);
    if (module_parse(&copy, src) && copy.funcs.n == 1)
        func_print(copy.funcs.at[0], &again);
    else
        diag_render_all(&d, &again);
    if (again.len != printed->len || memcmp(again.s, printed->s, again.len) != 0)
        diag_bug(f->module->diag, f->loc, "the text does not read back:\n%s\nas\n%s", printed->s, again.s);
}

static double seconds_now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void write_time(const struct func *f, const struct opt_options *o, const char *pass, double seconds)
{
    struct text t;
    text_init(&t, f->module->scratch);
    text_printf(&t, "%-8s %8.1f us\n", pass, 1e6 * seconds);
    write_out(o, pass, &t);
}

static bool wants_text(const struct opt_options *o, const char *pass)
{
    return o->write && (opt_is_listed(o->print_after, pass) || (o->print_changed && !o->print_after));
}

static bool checks_each(const struct opt_options *o)
{
#ifdef NESO_DEBUG
    (void)o;
    return true;
#else
    return o->verify_each;
#endif
}

static struct text print_func(const struct func *f)
{
    struct text t;
    text_init(&t, f->module->scratch);
    func_print(f, &t);
    return t;
}

/* Returns the degree of detail that the set `properties` contains, or f's current degree if it contains
 * none. */
static enum degree degree_of(const struct func *f, uint32_t properties)
{
    return properties & P(traced)      ? DEGREE_traced
           : properties & P(laid_out)  ? DEGREE_laid_out
           : properties & P(scheduled) ? DEGREE_scheduled
                                       : f->degree;
}

/* Runs p on f. On entry *claims is the set of properties that f has before p, on return the set after p. */
static void run_pass(struct func *f, const struct opt_options *o, const struct pass_info *p, uint32_t *claims)
{
    struct module *m = f->module;
    struct arena_mark mark = arena_mark(m->scratch);
    m->diag->stage = p->name;
    diag_hurry(m->diag, f->loc);
    bool dumps = wants_text(o, p->name);
    struct text before = {0};
    if (dumps && o->print_changed)
        before = print_func(f);
    double start = o->time ? seconds_now() : 0;
    p->run(f);
    double seconds = o->time ? seconds_now() - start : 0;
    f->degree = degree_of(f, p->provides);
    *claims = contract_behind(*claims, p);
    block_clear_notes(f->body);
    if (m->diag->nerrors == 0 && (dumps || checks_each(o))) {
        struct text after = print_func(f);
        if (dumps && !(before.s && before.len == after.len && memcmp(before.s, after.s, after.len) == 0))
            write_out(o, p->name, &after);
        if (checks_each(o)) {
            verify(f);
            contract_verify(f, *claims);
            round_trip(f, &after);
        }
    }
    if (o->time)
        write_time(f, o, p->name, seconds);
    arena_reset(m->scratch, mark);
}

/* -- the run -- */

/* Removes the first name from a comma-separated list and returns the pass of this name. Returns NULL if the
 * list is empty. A name that is no pass is a fatal error. */
static const struct pass_info *next_named(struct func *f, const char **names)
{
    if (!**names)
        return NULL;
    size_t n = strcspn(*names, ",");
    const struct pass_info *p = pass_by_name(*names, n);
    if (!p)
        diag_fatal(f->module->diag, (struct loc){0}, ERR_pass_unknown,
                   arena_strndup(f->module->arena, *names, n));
    *names += n + ((*names)[n] == ',');
    return p;
}

/* Ends the compilation with an error if the list `names` contains a name that is neither a pass nor in the
 * list `also`. */
static void check_names(struct func *f, const char *names, const char *also)
{
    while (names && *names && strcmp(names, "all") != 0) {
        size_t n = strcspn(names, ",");
        if (opt_is_listed(also, arena_strndup(f->module->arena, names, n)))
            names += n + (names[n] == ',');
        else
            next_named(f, &names);
    }
}

/* Adds p to the list unless o->skip names p. Returns false if p is the last pass to run. */
static bool add(struct func *f, const struct opt_options *o, pass_list *list, const struct pass_info *p)
{
    if (!opt_is_listed(o->skip, p->name))
        VEC_PUSH(f->module->arena, list, p);
    return !(o->stop_after && strcmp(o->stop_after, p->name) == 0);
}

/* Returns the passes that the options name, or the default list if they name none. */
static pass_list list_of(struct func *f, const struct opt_options *o)
{
    pass_list list = {0};
    const char *names = o->passes;
    const struct pass_info *p;
    for (int i = 0; !names && i < NORDER && add(f, o, &list, pass_by_name(order[i], strlen(order[i]))); i++)
        continue;
    while (names && (p = next_named(f, &names)) && add(f, o, &list, p))
        continue;
    return list;
}

static void run_list(struct func *f, const struct opt_options *o)
{
    const pass_list list = list_of(f, o);
    const bool is_whole = !o->passes && !o->stop_after;
    f->module->opt = o;
    contract_check(f, &list, o->makes_code || is_whole ? CODEGEN_NEEDS : 0);
    uint32_t claims = checks_each(o) ? contract_claims(f) : 0;
    for (int i = 0; i < list.n && f->module->diag->nerrors == 0; i++)
        run_pass(f, o, list.at[i], &claims);
}

void opt_run(struct func *f, const struct opt_options *o)
{
    static const struct opt_options none = {0};
    o = o ? o : &none;
    const char *stage = f->module->diag->stage;
    f->module->opt = o;
    check_names(f, o->stop_after, "");
    check_names(f, o->skip, "peephole,schedule,branch_over_masked,coalesce"); /* stages of code generation */
    check_names(f, o->passes, "");
    check_names(f, o->print_after, "");
    check_names(f, o->explain, "registers,schedule,stepdown"); /* names of explanations that are not passes */
    struct func kept;
    bool may_step_down = !o->passes && stepdown_is_needed(f, o);
    if (may_step_down)
        func_copy(&kept, f);
    run_list(f, o);
    if (may_step_down)
        stepdown_run(f, &kept, o, run_list);
    f->module->opt = o; /* stepdown_run has set other options */
    f->module->diag->stage = "schedule";
    if (f->module->diag->nerrors == 0 && f->degree == DEGREE_scheduled)
        opt_explain_schedule(f);
    f->module->diag->stage = "opt";
    if (f->module->diag->nerrors == 0 && !checks_each(o))
        verify(f); /* all builds verify the function before code generation */
    f->module->opt = NULL;
    f->module->diag->stage = stage;
}
