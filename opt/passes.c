/* passes.c: in which order do passes run, and what happens around each: degrees are checked, the result is
 * verified and read back from its own text, dumped, timed, and scratch memory and notes are cleared. */
#include "opt/passes.h"

#include <string.h>
#include <time.h>

const struct pass_info pass_info[] = {
#define PASS(name, needs, leaves, needed_by, meaning)                                                        \
    {#name, DEGREE_##needs, DEGREE_##leaves, #needed_by, opt_##name, meaning},
#include "opt/passes.h"
#undef PASS
};
const int npasses = (int)(sizeof pass_info / sizeof pass_info[0]);

/* The list. cse runs again after assign, which computes cheap index arithmetic once per layout, and after
 * stage, which computes addresses of several iterations. */
static const char *const order[] = {
    "fold",
    "cse",
    "licm",
    "fold",
    "dce",
    "unroll",
    "single_trip_loops",
    "legalize_dot",
    "raise_tma_load",
    "raise_tma_store",
    "invariant_loads",
    "persistent_grid",
    "dedup_loads",
    "fold",
    "cse",
    "licm",
    "dce",
    "modulo_contiguity",
    "assign_layouts",
    "cse",
    "dce",
    "lower_scan",
    "lower_reduce",
    "lower_tma_store",
    "warp_specialize",
    "cluster_multicast",
    "overlap_dots",
    "pipeline_loops",
    "cse",
    "overlap_epilogue",
    "dce",
    "sink",
    "peel_first_dot",
    "dce",
    "lower_layout_conversion",
    "remat",
    "vectorize",
    "eviction_hints",
    "l2_prefetch",
    "allocate_shared",
    "insert_barriers",
    "pack_programs",
};
enum { NORDER = sizeof order / sizeof order[0] };

const char *opt_order(int i)
{
    return i < NORDER ? order[i] : NULL;
}

/* NULL: no such pass. */
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

/* -- around a pass -- */

static void check_degree(struct func *f, const struct pass_info *p)
{
    static const char *const words[] = {"traced", "laid out", "scheduled"};
    if (p->needs != DEGREE_any && p->needs != (int)f->degree)
        diag_fatal(f->module->diag, f->loc, ERR_pass_degree, p->name, words[p->needs], f->name,
                   words[f->degree]);
}

static void verify(struct func *f)
{
    const struct op *at = NULL;
    const char *wrong = func_verify(f, &at);
    if (wrong)
        diag_bug(f->module->diag, at ? at->loc : f->loc, "%s: %s", at ? op_info[at->code].name : f->name,
                 wrong);
}

/* Reads the text into a module of its own and prints that. */
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

static void run_pass(struct func *f, const struct opt_options *o, const struct pass_info *p)
{
    struct module *m = f->module;
    struct arena_mark mark = arena_mark(m->scratch);
    m->diag->stage = p->name;
    diag_hurry(m->diag, f->loc);
    check_degree(f, p);
    bool dumps = wants_text(o, p->name);
    struct text before = {0};
    if (dumps && o->print_changed)
        before = print_func(f);
    double start = o->time ? seconds_now() : 0;
    p->run(f);
    double seconds = o->time ? seconds_now() - start : 0;
    if (p->leaves != DEGREE_any)
        f->degree = (enum degree)p->leaves;
    block_clear_notes(f->body);
    if (m->diag->nerrors == 0 && (dumps || checks_each(o))) {
        struct text after = print_func(f);
        if (dumps && !(before.s && before.len == after.len && memcmp(before.s, after.s, after.len) == 0))
            write_out(o, p->name, &after);
        if (checks_each(o)) {
            verify(f);
            round_trip(f, &after);
        }
    }
    if (o->time)
        write_time(f, o, p->name, seconds);
    arena_reset(m->scratch, mark);
}

/* -- the run -- */

/* Takes the next name off a comma-separated list; NULL at its end. */
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

/* Runs p unless skipped; false: the run ends here. */
static bool step(struct func *f, const struct opt_options *o, const struct pass_info *p)
{
    if (!opt_is_listed(o->skip, p->name))
        run_pass(f, o, p);
    return f->module->diag->nerrors == 0 && !(o->stop_after && strcmp(o->stop_after, p->name) == 0);
}

/* Names in options that are no pass's, nor among `also`, are the user's error. */
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

/* -- what is left out -- */

static int place_in_order(const char *name, int from)
{
    while (from < NORDER && strcmp(order[from], name) != 0)
        from++;
    return from;
}

static bool runs(const struct opt_options *o, const struct pass_info *p)
{
    if (opt_is_listed(o->skip, p->name))
        return false;
    if (o->passes)
        return opt_is_listed(o->passes, p->name);
    return !o->stop_after || place_in_order(p->name, 0) <= place_in_order(o->stop_after, 0);
}

/* Does a pass that runs need p, or codegen? */
static bool is_needed(const struct opt_options *o, const struct pass_info *p)
{
    const struct pass_info *by = pass_by_name(p->needed_by, strlen(p->needed_by));
    return by ? runs(o, by) : strcmp(p->needed_by, "codegen") == 0;
}

/* Passes before the degree that f has were run before. */
static void check_left_out(struct func *f, const struct opt_options *o)
{
    for (const struct pass_info *p = pass_info; p < pass_info + npasses; p++) {
        bool is_skipped = opt_is_listed(o->skip, p->name);
        if (p->needs < (int)f->degree || runs(o, p) || !is_needed(o, p) || !(is_skipped || o->makes_code))
            continue;
        diag_fatal(f->module->diag, (struct loc){0},
                   strcmp(p->needed_by, "codegen") == 0 ? ERR_pass_left_out : ERR_pass_left_out_alone,
                   p->name, p->meaning, p->needed_by);
    }
}

/* Passes that change a function's degree, or need one, have their place in the list. */
static int check_order(struct func *f, const struct pass_info *p, int at)
{
    if (p->needs == DEGREE_any)
        return at;
    check_degree(f, p);
    int place = place_in_order(p->name, at);
    if (place == NORDER)
        diag_fatal(f->module->diag, (struct loc){0}, ERR_pass_order, p->name, order[at - 1]);
    return place + 1;
}

static void run_named(struct func *f, const struct opt_options *o)
{
    const char *names = o->passes;
    int at = 0;
    for (const struct pass_info *p = next_named(f, &names); p; p = next_named(f, &names)) {
        at = check_order(f, p, at);
        if (!step(f, o, p))
            return;
    }
}

/* The list, or the passes that options name. */
static void run_list(struct func *f, const struct opt_options *o)
{
    f->module->opt = o;
    if (o->passes)
        run_named(f, o);
    for (int i = 0; !o->passes && i < NORDER && step(f, o, pass_by_name(order[i], strlen(order[i]))); i++)
        continue;
}

void opt_run(struct func *f, const struct opt_options *o)
{
    static const struct opt_options none = {0};
    o = o ? o : &none;
    const char *stage = f->module->diag->stage;
    f->module->opt = o;
    check_names(f, o->stop_after, "");
    check_names(f, o->skip, "");
    check_names(f, o->passes, "");
    check_left_out(f, o);
    check_names(f, o->print_after, "");
    check_names(f, o->explain, "registers,stepdown"); /* code generation's, stepdown.c's */
    struct func kept;
    bool may_step_down = !o->passes && stepdown_is_needed(f);
    if (may_step_down)
        func_copy(&kept, f);
    run_list(f, o);
    if (may_step_down)
        stepdown_run(f, &kept, o, run_list);
    f->module->diag->stage = "opt";
    if (f->module->diag->nerrors == 0 && !checks_each(o))
        verify(f); /* what breaks a rule is reported in every build, before code is made of it */
    f->module->opt = NULL;
    f->module->diag->stage = stage;
}
