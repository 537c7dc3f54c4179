/* SPDX-License-Identifier: MIT */
/* bench.c: implements `neso bench`, which compares the speed of the kernels of the given programs (the candidate)
 * with an earlier measurement or with another build of neso (the base).
 *
 * On a GPU, it measures each call that a program times (do_bench, the lines of a perf_report). If a program times
 * nothing, it measures each launch. There are several rounds; each round runs the whole program. Without a GPU, it
 * only compiles kernels and compares their costs (cost.c). With --counts, it also runs the kernels on the emulator,
 * which counts events such as memory accesses.
 *
 *     base: a file         candidate                    base: another build (--against)
 *     ┌────────────┐   run, run, run ...                base, candidate, candidate, base, base, candidate
 *     │ baseline   │─►  judge ─► table, files, status   each run is a separate process
 *     └────────────┘   (undecided: more rounds)
 *
 * Exit status: 0 nothing is slower; 1 something is slower, or a bound is broken; 2 bad usage, or a program
 * failed; 3 undecided; 4 incomplete: a time or cost that the base has, or the cost that a bound limits, was not
 * measured. */
#include "runtime/command/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct bencher {
    const struct given *given;
    neso_context *ctx;
    struct bench_set set;
    struct beside beside;
    const char *path; /* the path of the program that is being measured */
    bool has_gpu;
    /* for each program: whether neso times its launches, because the program times nothing */
    bool *times_launches;
    size_t nmeasured; /* number of timed calls */
    bool measures;    /* times are measured, in addition to costs */
    struct progress progress;
    int round;
};

/* -- callbacks of a running program -- */

static void write_verbose(void *user, const char *text, size_t length, int to_stderr)
{
    struct bencher *b = user;
    (void)to_stderr;
    if (b->given->options[OPTION_verbose]) {
        progress_clear(&b->progress);
        fwrite(text, 1, length, stderr);
    }
}

static const char *get_variable(void *user, const char *name)
{
    const struct bencher *b = user;
    return strcmp(name, "NESO_DEVICE") == 0 ? neso_context_device(b->ctx) : getenv(name);
}

static const char *find_module(void *user, const char *module, size_t *length)
{
    return beside_find(&((struct bencher *)user)->beside, module, length);
}

/* Discards the tables and plots that the program itself writes. */
static int save_nothing(void *user, const char *path, const char *text, size_t length)
{
    (void)user;
    (void)path;
    (void)text;
    (void)length;
    return 0;
}

/* Writes a program's name without folder and ending to `out`: "softmax" for "bench/softmax.py". */
static void stem(const char *path, char *out, size_t n)
{
    const char *slash = strrchr(path, '/');
    snprintf(out, n, "%s", slash ? slash + 1 : path);
    size_t length = strlen(out);
    if (length > 3 && strcmp(out + length - 3, ".py") == 0)
        out[length - 3] = '\0';
}

static struct bench_row *row_of(struct bencher *b, bool is_kernel, const char *what)
{
    char program[200], name[700];
    stem(b->path, program, sizeof program);
    snprintf(name, sizeof name, "%s/%s", program, what);
    return set_row(&b->set, is_kernel, name);
}

/* Returns the number of the line at which the file defines the kernel; 0 if the file does not define it. */
static uint32_t line_of(const char *path, const char *kernel)
{
    size_t length, n = strlen(kernel);
    uint32_t line = 1, found = 0;
    char *text = read_file(path, &length);
    for (const char *s = text; s && *s && !found; line++) {
        const char *end = s + strcspn(s, "\n"), *word = s + strspn(s, " \t");
        if (strncmp(word, "def ", 4) == 0 && strncmp(word + 4, kernel, n) == 0 && strchr(" (", word[4 + n]))
            found = line;
        s = *end ? end + 1 : end;
    }
    free(text);
    return found;
}

/* Adds a row with the kernel's costs to the set, and returns it; NULL, after a message, if the kernel has no PTX. */
static struct bench_row *add_kernel(struct bencher *b, neso_kernel *kernel)
{
    const char *ptx;
    struct bench_row *r = NULL;
    if (neso_kernel_text(kernel, NESO_TEXT_PTX, &ptx, NULL) == NESO_OK) {
        r = row_of(b, true, neso_kernel_id(kernel));
        free(r->kernel);
        r->kernel = copy_text(neso_kernel_name(kernel));
        row_place(r, b->path, line_of(b->path, r->kernel));
        cost_kernel(r, kernel, ptx, !b->has_gpu && r->ncosts == 0);
    } else {
        complain("no PTX for kernel %s", neso_kernel_name(kernel));
        print_messages(b->given, neso_error_text(b->ctx));
    }
    return r;
}

static void show_progress(struct bencher *b, const char *kernel)
{
    progress_show(&b->progress, "round %d, %s: %s", b->round + 1, b->path, kernel);
}

static void compiled(void *user, neso_kernel *kernel)
{
    struct bencher *b = user;
    show_progress(b, neso_kernel_name(kernel));
    add_kernel(b, kernel);
    keep_texts(b->given, b->ctx, kernel);
}

static void measured(void *user, const neso_measurement *m)
{
    struct bencher *b = user;
    uint64_t key = 0;
    b->nmeasured++;
    show_progress(b, m->name ? m->name : neso_kernel_name(m->kernels[0]));
    if (!b->measures)
        return;
    for (size_t i = 0; i < m->kernel_count; i++) {
        const char *ptx;
        /* call add_kernel again, because the driver has now assembled the kernel, so more costs are known */
        add_kernel(b, m->kernels[i]);
        if (neso_kernel_text(m->kernels[i], NESO_TEXT_PTX, &ptx, NULL) == NESO_OK)
            key = ptx_digest(ptx, key);
    }
    struct bench_row *r = row_of(b, false, m->name ? m->name : neso_kernel_name(m->kernels[0]));
    row_place(r, m->file, m->line);
    r->key = key;
    row_add_times(r, m->times_ms, m->count);
}

static void counted(void *user, const neso_count *c)
{
    struct bencher *b = user;
    char name[60];
    struct bench_row *r = row_of(b, true, c->id);
    if (!r->kernel) { /* the row is new: the launch ran a variant of the kernel */
        r->kernel = copy_text(c->kernel);
        row_place(r, b->path, line_of(b->path, r->kernel));
        r->is_counted_only = true;
    }
    if (c->line)
        snprintf(name, sizeof name, "run.%s@%u", c->name, (unsigned)c->line);
    else
        snprintf(name, sizeof name, "run.%s", c->name);
    /* the variant's PTX is not available, so the key of its row is a digest of its counts */
    if (r->is_counted_only)
        r->key = ptx_digest(name, r->key) ^ (uint64_t)c->value * 1099511628211u;
    const char *slash = strrchr(b->path, '/'); /* c->file has no folder */
    if (!c->line || (rules_tell(name) && strcmp(c->file, slash ? slash + 1 : b->path) == 0))
        row_set_cost(r, name, (double)c->value);
}

/* -- running programs -- */

static neso_status run_text(struct bencher *b, const char *text, size_t length, neso_timing timing)
{
    const char *argv[] = {b->path};
    neso_run_options o = {.size = sizeof o, .argc = 1, .argv = argv, .keep_device = 1, .user = b};
    o.write = write_verbose;
    o.getenv = get_variable;
    o.find = find_module;
    o.save = save_nothing;
    o.compiled = compiled;
    o.measured = measured;
    o.timing = timing;
    o.params = b->given->options[OPTION_param];
    b->nmeasured = 0;
    return neso_program_run(b->ctx, b->path, text, length, &o);
}

/* Runs a program once, and adds its times, costs and counts to the set. If times are measured and the program
 * times nothing, sets *times_launches, and runs the program again while neso times its launches. */
static int run_program(struct bencher *b, const char *text, size_t length, bool *times_launches)
{
    const struct given *g = b->given;
    bool counts = g->options[OPTION_bench_counts] != NULL;
    int sample;
    neso_timing timing = b->measures ? NESO_TIMING_STABLE : counts ? NESO_TIMING_ONCE : NESO_TIMING_COMPILE;
    if (!number(g, OPTION_sample, &sample))
        return BAD;
    neso_status status = counts ? neso_counts_start(b->ctx, sample) : NESO_OK;
    if (status == NESO_OK)
        status = run_text(b, text, length, *times_launches ? NESO_TIMING_LAUNCHES : timing);
    if (status == NESO_OK && b->measures && b->nmeasured == 0 && !*times_launches) {
        *times_launches = true;
        status = run_text(b, text, length, NESO_TIMING_LAUNCHES);
    }
    if (status == NESO_OK && counts)
        neso_counts_each(b->ctx, counted, b);
    return report(g, b->ctx, status) ? complain("%s: the program failed", b->path) : GOOD;
}

static const char *choose_device(const struct given *g)
{
    const char *variable = getenv("NESO_DEVICE");
    if (g->options[OPTION_device])
        return g->options[OPTION_device];
    return g->options[OPTION_bench_counts] ? "emulator" : variable && *variable ? variable : "best";
}

static void describe_gpu(struct bencher *b)
{
    const char *text = neso_context_device_text(b->ctx), *at = strstr(text, " (cuda:");
    neso_gpu gpu = {.size = sizeof gpu};
    b->has_gpu = b->measures = strcmp(neso_context_device(b->ctx), "cuda") == 0;
    snprintf(b->set.gpu, sizeof b->set.gpu, "none");
    if (b->has_gpu && at && neso_gpu_get(b->ctx, (int)strtol(at + 7, NULL, 10), &gpu) == NESO_OK) {
        snprintf(b->set.gpu, sizeof b->set.gpu, "%s", gpu.name);
        b->set.clock_khz = gpu.clock_khz;
    }
}

static int open_device(struct bencher *b)
{
    if (!context_open(b->given, (size_t)32 << 30, 0, &b->ctx))
        return BAD;
    int result = report(b->given, b->ctx, neso_context_use_device(b->ctx, choose_device(b->given), NULL));
    if (result == GOOD)
        describe_gpu(b);
    return result ? BAD : GOOD;
}

static int run_file(struct bencher *b, const char *path, bool *times_launches)
{
    size_t length = 0;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    b->path = path;
    beside_open(&b->beside, path);
    int result = open_device(b);
    if (result == GOOD)
        result = run_program(b, text, length, times_launches);
    if (b->ctx)
        neso_context_release(b->ctx);
    b->ctx = NULL;
    beside_close(&b->beside);
    free(text);
    return result;
}

static int run_round(struct bencher *b, int round)
{
    int result = GOOD;
    b->round = round;
    set_begin_round(&b->set);
    for (int i = 0; i < b->given->argc && result == GOOD; i++)
        result = run_file(b, b->given->argv[i], &b->times_launches[i]);
    set_join_variants(&b->set);
    return result;
}

/* -- two builds -- */

extern char **environ;

/* Runs one round in a process of the executable `build`, and adds its measurements to `set`. */
static int call_build(const struct bencher *b, const char *build, struct bench_set *set)
{
    const struct given *g = b->given;
    char record[PATH_MAX], program[PATH_MAX], *values = NULL;
    char counts[] = "--counts", no_cache[] = "--no-cache", param[] = "--param";
    pid_t pid;
    temporary_name(record, sizeof record);
    struct stat written;
    int status, file = mkstemp(record), n = 0;
    if (file < 0)
        return complain("cannot make a temporary file: %s", strerror(errno));
    close(file);
    snprintf(program, sizeof program, "%s", build);
    char **argv = grow(NULL, (size_t)(g->argc + 14) * sizeof *argv);
    argv[n++] = program;
    argv[n++] = (char[]){"bench"};
    argv[n++] = (char[]){"--rounds=1"};
    argv[n++] = (char[]){"--record"};
    argv[n++] = record;
    argv[n++] = (char[]){"--device"};
    argv[n++] = copy_text(choose_device(g));
    if (g->options[OPTION_bench_counts])
        argv[n++] = counts;
    if (g->options[OPTION_no_cache])
        argv[n++] = no_cache;
    if (g->options[OPTION_param] && set == &b->set) { /* --param applies only to the candidate */
        argv[n++] = param;
        argv[n++] = values = copy_text(g->options[OPTION_param]);
    }
    for (int i = 0; i < g->argc; i++)
        argv[n++] = g->argv[i];
    argv[n] = NULL;
    fflush(stdout);
    posix_spawn_file_actions_t quiet;
    posix_spawn_file_actions_init(&quiet);
    /* discard the table that the process prints */
    posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
    int error = posix_spawnp(&pid, program, &quiet, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&quiet);
    while (!error && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    int result = error ? complain("cannot run %s: %s", build, strerror(error))
                 : !WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 1 &&
                                          WEXITSTATUS(status) != 3 && WEXITSTATUS(status) != 4)
                     ? complain("%s bench failed", build)
                 : stat(record, &written) == 0 && written.st_size == 0
                     ? complain("%s is no neso: `%s bench` wrote no measurements", build, build)
                     : set_read(set, record);
    free(argv[6]);
    free(values);
    free(argv);
    unlink(record);
    return result;
}

/* Runs one round of the base and one round of the candidate. In every second round the base runs first, so
 * that a drift of the clock rate affects both builds equally. */
static int call_both(struct bencher *b, struct bench_set *base, int round)
{
    const char *against = b->given->options[OPTION_against];
    bool base_first = round % 2 == 0;
    int result = call_build(b, base_first ? against : "/proc/self/exe", base_first ? base : &b->set);
    if (result == GOOD)
        result = call_build(b, base_first ? "/proc/self/exe" : against, base_first ? &b->set : base);
    return result;
}

/* -- the command -- */

static bool read_threshold(const struct given *g, double *threshold)
{
    const char *s = g->options[OPTION_threshold];
    char *end;
    *threshold = 0.02;
    if (!s)
        return true;
    *threshold = strtod(s, &end) / 100;
    if (end != s && (!*end || strcmp(end, "%") == 0) && *threshold >= 0 && *threshold < 10)
        return true;
    complain("--threshold: expected percent, found '%s'", s);
    return false;
}

static int read_bounds(const struct given *g, struct judgement *j)
{
    int result = GOOD;
    for (int i = 0; i < g->argc && result == GOOD; i++) {
        size_t length = 0;
        char *text = read_file(g->argv[i], &length);
        if (!text)
            return complain("cannot read %s: %s", g->argv[i], strerror(errno));
        result = bounds_read(j, g->argv[i], text);
        free(text);
    }
    return result;
}

static int read_baseline(const struct bencher *b, struct bench_set *base)
{
    char path[PATH_MAX];
    set_path(&b->set, b->given->options[OPTION_baseline], path, sizeof path);
    snprintf(base->gpu, sizeof base->gpu, "%s", b->set.gpu);
    return set_read(base, path);
}

/* Runs the requested number of rounds. Then runs further rounds while a verdict is undecided, up to three times the
 * requested number in total. Without a GPU, runs one round. */
static int run_rounds(struct bencher *b, struct bench_set *base, struct judgement *j,
                      const struct rules *rules, int rounds)
{
    const struct given *g = b->given;
    bool against = g->options[OPTION_against] != NULL, has_base = against || g->options[OPTION_baseline];
    int result = GOOD;
    for (int i = 0; i < 3 * rounds && result == GOOD; i++) {
        progress_show(&b->progress, "round %d", i + 1);
        result = against ? call_both(b, base, i) : run_round(b, i);
        progress_clear(&b->progress);
        if (result == GOOD && i == 0 && !against && has_base)
            result = read_baseline(b, base);
        if (result == GOOD)
            judge(j, &b->set, has_base ? base : NULL, rules);
        bool has_times = strcmp(b->set.gpu, "none") != 0;
        if (result == GOOD && (!has_times || (i + 1 >= rounds && j->counts[VERDICT_undecided] == 0)))
            break;
    }
    return result;
}

static int record(const struct bencher *b)
{
    char path[PATH_MAX];
    const char *given = b->given->options[OPTION_record];
    if (!given)
        return GOOD;
    set_path(&b->set, given, path, sizeof path);
    return set_write(&b->set, path);
}

static int bench(struct bencher *b, struct bench_set *base, struct judgement *j)
{
    const struct given *g = b->given;
    const char *github = getenv("GITHUB_ACTIONS");
    struct rules rules = {.blind = g->options[OPTION_blind] != NULL,
                          .allow_missing = g->options[OPTION_allow_missing] != NULL};
    int rounds;
    if (!read_threshold(g, &rules.threshold) || !number(g, OPTION_rounds, &rounds))
        return BAD;
    if (g->options[OPTION_against] && g->options[OPTION_baseline])
        return complain("--against and --baseline are two bases: give one");
    if (g->argc == 0)
        return history_show(g, &rules);
    if (g->options[OPTION_history] && history_check(g) != GOOD)
        return BAD;
    int result = read_bounds(g, j);
    if (result == GOOD)
        result = run_rounds(b, base, j, &rules, rounds ? rounds : 3);
    if (result == GOOD)
        result = record(b);
    if (result == GOOD)
        result = report_files(g, j);
    if (result == GOOD && g->options[OPTION_history])
        result = history_add(g, &b->set);
    if (result)
        return result;
    report_table(j, stdout);
    if (g->options[OPTION_history] && history_show(g, &rules) != GOOD)
        return BAD;
    if (g->options[OPTION_annotate] || (github && strcmp(github, "true") == 0))
        report_annotations(j, stdout);
    return judgement_status(j);
}

int bench_command(const struct given *g)
{
    struct bench_set base = {.n = 0};
    struct judgement j = {.n = 0};
    struct bencher b = {.given = g};
    if (g->argc == 0 && !g->options[OPTION_history])
        return complain("usage: neso bench PROGRAM.py...");
    if (keep_folders(g) != GOOD)
        return BAD;
    progress_begin(&b.progress);
    b.times_launches = grow(NULL, ((size_t)g->argc + 1) * sizeof *b.times_launches);
    memset(b.times_launches, 0, (size_t)g->argc * sizeof *b.times_launches);
    int result = bench(&b, &base, &j);
    judgement_free(&j);
    set_free(&base);
    set_free(&b.set);
    free(b.times_launches);
    return result;
}
