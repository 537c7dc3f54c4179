/* SPDX-License-Identifier: MIT */
/* cross_check.c: checks, before a kernel's first launch, that its PTX computes the same results as its traced IR. The
 * PTX and the traced IR both run on the CPU.
 *
 *     traced IR ──► interpreter ─┐
 *         │                      ├─► equal memory? ──no──► which pass? ──► the kernel without that pass
 *         └─► passes ─► PTX ──► emulator
 *
 * A few programs of the grid run, first on the launch's inputs, then on sets of random inputs (check_inputs.c). After
 * TOTAL_MS no further set begins. To find the faulty pass, the check compiles the kernel without the last
 * pass (or stage of code generation), then without the last but one, and so on. The order matters: an early
 * pass often prepares code for later passes, so leaving out the early pass also hides the faults of the later
 * passes. A set of inputs is ignored if the interpreter fails on it, or if a comparison in the kernel depends
 * on rounding. */
#include "runtime/capsule/capsule.h"

#include "opt/passes.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct check_draw draws[] = {
    {"the launch's inputs", FLOATS_own, true, false, 0, true},
    {"small integers, ragged sizes", FLOATS_integers, false, false, 1, false},
    {"random numbers, ragged sizes", FLOATS_general, false, false, -1, false},
    {"NaN, inf, subnormals and ends of ranges", FLOATS_adversarial, false, false, 2, false},
    {"any bits in memory of integers", FLOATS_integers, false, true, 1, false},
    {"random numbers, the launch's sizes", FLOATS_general, true, false, 0, false},
};
/* No further set of inputs begins after TOTAL_MS of processor time. A run ends after RUN_MS. During the
 * search for the faulty pass, a run may take SEARCH_MS, because the search could find a wrong pass if runs
 * ended early. The check replaces the code at most ROUNDS times. */
enum { DRAWS = sizeof draws / sizeof *draws, TOTAL_MS = 50, RUN_MS = 400, SEARCH_MS = 10000, ROUNDS = 3 };

/* The stages of code generation that can be left out. They follow all passes. */
static const char *const stages[] = {"peephole", "schedule", "branch_over_masked", "coalesce"};
enum { STAGES = sizeof stages / sizeof *stages };

enum outcome { SAME, DIFFERENT, DROPPED };

/* Returns the processor time of this thread in ms. This is the time of a check, because this thread does all
 * of the check's work. */
static double milliseconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* -- running -- */

/* Initializes `copy` as a copy of c->kernel for the emulator, with `ptx` as its code. `info` describes the
 * PTX, and `skip` lists the passes that were left out when the PTX was compiled. */
static void kernel_on_emulator(struct checking *c, struct neso_kernel *copy, const char *ptx, size_t bytes,
                               const struct ptx_info *info, const char *skip)
{
    const struct neso_kernel *k = c->kernel;
    memset(copy, 0, sizeof *copy);
    copy->module = k->module;
    copy->device = &c->emulator;
    copy->name = k->name;
    copy->id = k->id;
    copy->spec = k->spec;
    copy->thresholds = k->thresholds;
    copy->options.skip = skip;
    copy->texts[NESO_TEXT_PTX].s = ptx;
    copy->texts[NESO_TEXT_PTX].len = bytes;
    copy->info = *info;
    copy->fallback_source = k->fallback_source;
    pthread_mutex_init(&copy->lock, NULL);
}

static void kernel_close(struct checking *c, struct neso_kernel *copy)
{
    plan_release(copy);
    if (copy->loaded)
        c->emulator.class->unload(&c->emulator, copy->loaded);
    pthread_mutex_destroy(&copy->lock);
}

static struct launch launch_of(struct checking *c, const uint64_t *args, bool in_emulator)
{
    int64_t ms = c->is_exact ? c->kernel->module->context->time_limit_ms : c->is_search ? SEARCH_MS : RUN_MS;
    budget_begin(&c->budget, ms, 0);
    return (struct launch){.grid = {c->grid[0], c->grid[1], c->grid[2]},
                           .args = args,
                           .nargs = c->nargs,
                           .races = in_emulator ? RACES_off : RACES_all,
                           .sample = c->sample,
                           .one_thread = true,
                           .budget = &c->budget};
}

static bool is_limit(const struct fault *f)
{
    return f->status == NESO_OUT_OF_MEMORY || f->error == ERR_time_limit ||
           /* random integers can cause these errors */
           f->error == ERR_kernel_too_large || f->error == ERR_address_overflow;
}

/* Runs the traced IR in the interpreter on the current set of inputs. Returns false, with the reason in
 * c->what, if the set allows no comparison. */
static bool run_interpreter(struct checking *c)
{
    struct fault f;
    uint64_t args[CHECK_ARGS];
    check_place(c, false, args);
    trace_free(&c->trace);
    trace_init(&c->trace, TRACE_error, 0, &c->mem);
    struct launch l = launch_of(c, args, false);
    c->trace.refuses_reads = !c->own_sizes;
    l.trace = &c->trace;
    if (!c->interpreter.class->launch(&c->interpreter, c->traced, &l, &f)) {
        fault_text(&f, c->what, sizeof c->what);
        return false;
    }
    if (c->trace.is_uncertain || c->trace.no_memory)
        snprintf(c->what, sizeof c->what,
                 "rounding decides a comparison, a conversion or an atomic in line %u",
                 (unsigned)c->trace.uncertain_at.line);
    return !c->trace.is_uncertain && !c->trace.no_memory;
}

static enum outcome run_emulator(struct checking *c, struct neso_kernel *k)
{
    struct fault f;
    uint64_t args[CHECK_ARGS];
    check_place(c, true, args);
    struct launch l = launch_of(c, args, true);
    c->unordered = ORDER_good;
    if (kernel_launch(k, &l, &f))
        return check_compare(c) ? SAME : DIFFERENT;
    fault_text(&f, c->what, sizeof c->what);
    c->at = f.loc;
    c->unordered = f.error == ERR_emulator_barrier                                             ? ORDER_barrier
                   : f.error == ERR_emulator_race && strstr(f.detail, ", which warp ") != NULL ? ORDER_warps
                   : f.error == ERR_emulator_race                                              ? ORDER_copies
                                                                                               : ORDER_good;
    return is_limit(&f) ? DROPPED : DIFFERENT;
}

/* -- finding the faulty pass -- */

/* Compiles the kernel without the passes that `skip` lists, and runs it on the current set of inputs. Returns
 * DROPPED if the kernel does not compile, or if its run exceeds a limit (is_limit). */
static enum outcome try_without(struct checking *c, const char *skip)
{
    struct rebuild r;
    struct neso_kernel copy;
    enum outcome found = DROPPED;
    budget_begin(&c->budget, 0, 0);
    if (rebuild_make(c->kernel, &r, skip, NULL, &c->budget)) {
        kernel_on_emulator(c, &copy, r.ptx.s, r.ptx.len, &r.info, r.skip);
        found = run_emulator(c, &copy);
        kernel_close(c, &copy);
    }
    rebuild_free(&r);
    return found;
}

/* Returns name number i in a list of the passes, in the order in which they run, and then the stages. Returns
 * NULL past the end. If a pass runs several times, the list has it once, at the place of its last run. */
static const char *name_at(int i)
{
    int n = 0;
    for (int k = 0; opt_order(k); k++) {
        bool is_last = true;
        for (int later = k + 1; opt_order(later); later++)
            is_last &= strcmp(opt_order(k), opt_order(later)) != 0;
        if (is_last && n++ == i)
            return opt_order(k);
    }
    return i - n < STAGES ? stages[i - n] : NULL;
}

static void add_name(char *list, size_t room, const char *name)
{
    size_t n = strlen(list);
    snprintf(list + n, room - n, "%s%s", n ? "," : "", name);
}

/* Sets `list` to the names in `before`, followed by name i for each i for which on[i] is true. */
static void join(const bool *on, int n, const char *before, char *list, size_t room)
{
    snprintf(list, room, "%s", before);
    for (int i = 0; i < n; i++)
        if (on[i])
            add_name(list, room, name_at(i));
}

/* Finds several passes that must all be left out to remove the difference. First leaves out every pass i
 * for which on[i] is true; returns false if the results then still differ or cannot be compared. Then tries
 * to put these passes back one by one, and leaves out again each pass that brings the difference back. Sets
 * `list` to the names in `before` and the passes that are still left out, and returns true. */
static bool find_several(struct checking *c, bool *on, int n, const char *before, char *list, size_t room)
{
    join(on, n, before, list, room);
    if (try_without(c, list) != SAME)
        return false;
    for (int i = 0; i < n; i++) {
        if (!on[i])
            continue;
        on[i] = false;
        join(on, n, before, list, room);
        on[i] = try_without(c, list) != SAME;
    }
    join(on, n, before, list, room);
    return true;
}

/* Finds passes without which the difference on the current set of inputs disappears. Sets `list` to the names in
 * `before`, which are the passes already left out, followed by the names of the passes found. Returns false if there
 * are no such passes. */
static bool find_passes(struct checking *c, const char *before, char *list, size_t room)
{
    enum { NAMES_MOST = 64 };
    bool compiles[NAMES_MOST] = {false};
    int n = 0;
    while (n < NAMES_MOST && name_at(n))
        n++;
    for (int i = n - 1; i >= 0; i--) {
        snprintf(list, room, "%s", before);
        add_name(list, room, name_at(i));
        enum outcome found = try_without(c, list);
        if (found == SAME)
            return true;
        compiles[i] = found == DIFFERENT;
    }
    return find_several(c, compiles, n, before, list, room);
}

/* -- the check -- */

static bool waits(const struct block *b, bool in_while)
{
    for (const struct op *o = b->first; o; o = o->next) {
        bool is_atomic = o->code == OP_atomic_rmw || o->code == OP_atomic_cas;
        if (in_while && (is_atomic || (o->code == OP_load && op_int(o, ATTR_volatile))))
            return true;
        for (int i = 0; i < o->nregions; i++)
            if (waits(o->regions[i], in_while || o->code == OP_while))
                return true;
    }
    return false;
}

/* Returns the reason why the kernel cannot be compared; NULL if it can be compared. */
static const char *obstacle(const struct block *b)
{
    if (!b->parent && waits(b, false))
        return "a loop may wait for other programs";
    for (const struct op *o = b->first; o; o = o->next) {
        if (o->code == OP_asm || o->code == OP_asm_effect || o->code == OP_host_call)
            return "it contains inline assembly or host code, which cannot run in both devices";
        if (o->code == OP_clock || o->code == OP_sm_id)
            return "it reads the clock or the number of the multiprocessor";
        for (int i = 0; i < o->nregions; i++)
            if (obstacle(o->regions[i]))
                return obstacle(o->regions[i]);
    }
    return NULL;
}

static bool open_devices(struct checking *c)
{
    enum { MULTIPROCESSORS = 2 }; /* so few that each CTA of a persistent kernel runs several programs */
    struct fault f;
    struct image image = {.name = c->kernel->name, .id = c->kernel->id, .func = c->func};
    if (!device_open(&c->interpreter, "interpreter", NULL, &c->mem, &f) ||
        !device_open(&c->emulator, "emulator", NULL, &c->mem, &f) ||
        !c->interpreter.class->load(&c->interpreter, &image, &c->traced, &f)) {
        fault_text(&f, c->what, sizeof c->what);
        return false;
    }
    c->emulator.multiprocessors = MULTIPROCESSORS;
    return true;
}

static void close_devices(struct checking *c)
{
    trace_free(&c->trace);
    check_windows_free(c);
    if (c->traced)
        c->interpreter.class->unload(&c->interpreter, c->traced);
    device_close(&c->interpreter);
    device_close(&c->emulator);
}

/* The result of a check, with memory for its strings. */
struct finding {
    struct neso_checked result;
    char text[700], pass[600], without[600];
    /* the code to check, and after the check the replacement; NULL: the kernel's own code */
    struct rebuild *code;
};

/* Runs all sets of inputs. Returns the number of the first set with a difference, or DRAWS if there is none. */
static int compare_all(struct checking *c, struct neso_kernel *k, struct finding *x)
{
    double start = milliseconds();
    bool cuts = has_plan(k) || k->info.packs || k->info.turned;
    int draws_most = c->is_exact ? 1 : DRAWS;
    for (int i = 0; i < draws_most && (c->is_exact || milliseconds() - start < TOTAL_MS); i++) {
        struct check_draw d = draws[i];
        d.whole_grid &= !cuts;
        c->seed = (uint64_t)i + 1;
        check_prepare(c, &d);
        if (!run_interpreter(c))
            continue;
        enum outcome found = run_emulator(c, k);
        x->result.inputs += found == SAME;
        if (found == DIFFERENT) {
            x->result.milliseconds += milliseconds() - start;
            return i;
        }
    }
    x->result.milliseconds += milliseconds() - start;
    return DRAWS;
}

/* Returns the name of the faulty pass. Usually this is `left_out`, the pass without which the difference
 * disappears; if there is none (NULL), it is "select", the instruction selection. insert_barriers and
 * warp_specialize place barriers. No kernel compiles without these two passes, so the emulator's report
 * `order` identifies them. insert_barriers is at fault if warps race, or if the order of accesses is wrong
 * whichever pass is left out. warp_specialize is at fault if the order is wrong, but not without
 * raise_tma_load, because warp_specialize works only on loads that raise_tma_load creates. */
static const char *culprit(enum order order, const char *left_out)
{
    if (order == ORDER_warps || (order != ORDER_good && !left_out))
        return "insert_barriers";
    if (order != ORDER_good && strcmp(left_out, "raise_tma_load") == 0)
        return "warp_specialize";
    return left_out ? left_out : "select";
}

static void give_capsule(struct checking *c, const struct finding *x, const char *without)
{
    capsule_of_check(
        c, &(neso_checked){.text = x->text, .pass = x->pass, .without = without, .line = x->result.line});
}

/* Compares the results of x->code, or of the kernel's own code, with the results of the traced IR. After a difference,
 * finds the passes that cause it, and compiles the kernel without them. Returns true if this compilation succeeded;
 * the caller must then check the new code too. */
static bool check_code(struct checking *c, struct finding *x)
{
    struct neso_kernel copy, *k = c->kernel;
    struct rebuild *r = x->code;
    kernel_on_emulator(c, &copy, r ? r->ptx.s : k->texts[NESO_TEXT_PTX].s,
                       r ? r->ptx.len : k->texts[NESO_TEXT_PTX].len, r ? &r->info : &k->info,
                       r ? r->skip : k->options.skip);
    int at = compare_all(c, &copy, x);
    kernel_close(c, &copy);
    if (at == DRAWS)
        return false;
    char list[sizeof x->without];
    if (x->result.verdict != NESO_CHECK_DIFFERS)
        snprintf(x->text, sizeof x->text, "on %s: %s", draws[at].name, c->what);
    x->result.verdict = NESO_CHECK_DIFFERS;
    x->result.line = c->at.line ? c->at.line : c->func->loc.line;
    enum order order = c->unordered;
    c->is_search = true;
    bool found = find_passes(c, x->without, list, sizeof list);
    c->is_search = false;
    if (!*x->pass) {
        snprintf(x->pass, sizeof x->pass, "%s", culprit(order, found ? list : NULL));
        give_capsule(c, x, found ? list : "");
    }
    if (!found)
        return false;
    snprintf(x->without, sizeof x->without, "%s", list);
    struct rebuild *next = c->mem.alloc(c->mem.ctx, sizeof *next);
    if (!next)
        return false;
    budget_begin(&c->budget, 0, 0);
    bool made = rebuild_make(k, next, x->without, NULL, &c->budget);
    struct rebuild *old = made ? x->code : next;
    x->code = made ? next : x->code;
    if (old) {
        rebuild_free(old);
        c->mem.free(c->mem.ctx, old, sizeof *old);
    }
    return made;
}

static void replace_code(struct neso_kernel *k, struct rebuild *r)
{
    r->budget = NULL;
    if (k->loaded)
        k->device->class->unload(k->device, k->loaded);
    k->loaded = NULL;
    k->replacement = r;
    k->texts[NESO_TEXT_PTX].s = r->ptx.s;
    k->texts[NESO_TEXT_PTX].len = r->ptx.len;
    k->info = r->info;
    k->options.skip = r->skip;
}

/* Ensures that there is PTX to check: the kernel's own PTX, or, if the device executes IR, PTX that is
 * compiled for the check (x->code). Returns false, with the reason in c->what, if the kernel does not compile
 * for a GPU. */
static bool first_code(struct checking *c, struct finding *x)
{
    if (c->kernel->texts[NESO_TEXT_PTX].s)
        return true;
    x->code = c->mem.alloc(c->mem.ctx, sizeof *x->code);
    if (!x->code)
        return false;
    budget_begin(&c->budget, 0, 0);
    if (rebuild_make(c->kernel, x->code, "", NULL, &c->budget))
        return true;
    snprintf(c->what, sizeof c->what, "it does not compile for a GPU");
    return false;
}

static void check_kernel(struct checking *c, struct finding *x)
{
    const char *why = obstacle(c->func->body);
    x->result.verdict = NESO_CHECK_UNKNOWN;
    if (why)
        snprintf(c->what, sizeof c->what, "%s", why);
    if (!why && first_code(c, x) && open_devices(c) && check_windows(c))
        for (int round = 0; round < ROUNDS && check_code(c, x); round++)
            continue;
    if (x->result.verdict == NESO_CHECK_UNKNOWN && x->result.inputs)
        x->result.verdict = NESO_CHECK_AGREES;
    if (x->result.verdict == NESO_CHECK_UNKNOWN)
        snprintf(x->text, sizeof x->text, "%s", c->what);
}

static void report(struct neso_kernel *k, struct finding *x, const struct func *f)
{
    const struct fallback_source *from = &k->fallback_source;
    int file = f ? f->loc.file : 0;
    x->result.size = sizeof x->result;
    x->result.kernel = neso_kernel_name(k);
    x->result.id = neso_kernel_id(k);
    x->result.pass = x->pass;
    x->result.without = x->without;
    x->result.text = x->text;
    x->result.file = file < from->nfiles ? from->files[file]->name : NULL;
    if (k->options.checked)
        k->options.checked(k->options.user, &x->result);
}

void cross_check(struct neso_kernel *k, const struct launch *l)
{
    struct memory *mem = &k->module->context->mem;
    struct checking *c = k->fallback_source.ir ? mem->alloc(mem->ctx, sizeof *c) : NULL;
    struct finding x = {.result = {.verdict = NESO_CHECK_UNKNOWN},
                        .text = "there is no memory for the check"};
    struct rebuild traced;
    if (!c) {
        report(k, &x, NULL);
        return;
    }
    x.text[0] = '\0';
    memset(c, 0, sizeof *c);
    c->kernel = k;
    c->launch = l;
    c->is_exact = k->options.check == 2;
    c->mem = *mem;
    budget_init(&c->budget, mem);
    c->budget.one_thread = !c->is_exact;
    c->func = rebuild_trace(k, &traced, &c->budget);
    if (c->func) {
        check_kernel(c, &x);
        close_devices(c);
    }
    report(k, &x, c->func);
    if (x.code && x.result.verdict == NESO_CHECK_DIFFERS && k->texts[NESO_TEXT_PTX].s) {
        replace_code(k, x.code);
    } else if (x.code) {
        rebuild_free(x.code);
        mem->free(mem->ctx, x.code, sizeof *x.code);
    }
    rebuild_free(&traced);
    mem->free(mem->ctx, c, sizeof *c);
}
