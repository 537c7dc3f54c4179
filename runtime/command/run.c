/* SPDX-License-Identifier: MIT */
/* run.c: implements `neso run`, which runs a whole program with this process's output, environment and files, and
 * `neso doctor`, which reports the GPUs, tools and cache that neso finds. */
#include "runtime/command/inspect/inspect.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- run -- */

struct session {
    const struct given *given;
    neso_context *ctx;
    struct beside beside;
    char *loaded;    /* the text of the last file that the callback `load` returned */
    char line[4096]; /* the last line that the user entered */
    struct progress progress;
    /* the thread that runs the program; only this thread prints the line of progress */
    pthread_t thread;
    int nkernels;             /* kernels compiled so far */
    char kernel[80];          /* the kernel that was compiled last; "" before the first */
    struct buffer record;     /* the contents of the file of --record */
    struct keeper *keeper;    /* decides which capsules of launches become files; NULL: none do */
    struct buffer difference; /* the capsule of the first difference that --check finds */
    FILE *digests;            /* the file of --digests; NULL: standard error */
};

static int wants_capsule(void *user, const char *kernel)
{
    struct keeper *k = ((struct session *)user)->keeper;
    return k ? keeper_wants(k, kernel) : 0;
}

static void take_capsule(void *user, const neso_capsule *seen, const void *data, size_t length)
{
    struct session *s = user;
    progress_clear(&s->progress);
    if (seen->seen == NESO_SEEN_DIFFERENCE && data && !s->difference.n)
        put_bytes(&s->difference, data, length);
    if (s->keeper)
        keeper_take(s->keeper, seen, data, length);
}

/* Adds a record to s->record, unless s->record already contains it. */
static void keep_record(void *user, const char *text, size_t length)
{
    struct session *s = user;
    if (!strstr(s->record.s, text))
        put_bytes(&s->record, text, length);
}

static void show_event(void *user, neso_event event, const char *text)
{
    static const char *const words[] = {
        "?", "compiled", "cached:", "from the bundle:", "loaded", "launching"};
    progress_clear(&((struct session *)user)->progress);
    fprintf(stderr, "neso: %s %s\n", words[(unsigned)event < sizeof words / sizeof *words ? event : 0], text);
}

static void write_program(void *user, const char *text, size_t length, int to_stderr)
{
    progress_clear(&((struct session *)user)->progress);
    if (to_stderr)
        fflush(stdout);
    fwrite(text, 1, length, to_stderr ? stderr : stdout);
}

/* Returns the value of an environment variable for the program. NESO_DEVICE always is the name of the device in use,
 * even if an option or a default selected the device. */
static const char *get_variable(void *user, const char *name)
{
    const struct session *s = user;
    return strcmp(name, "NESO_DEVICE") == 0 ? neso_context_device(s->ctx) : getenv(name);
}

void beside_open(struct beside *b, const char *path)
{
    const char *slash = strrchr(path, '/');
    *b = (struct beside){.nfiles = 0};
    snprintf(b->folder, sizeof b->folder, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
}

void beside_close(struct beside *b)
{
    for (int i = 0; i < b->nfiles; i++)
        free(b->files[i]);
}

const char *beside_find(void *beside, const char *module, size_t *length)
{
    struct beside *b = beside;
    char path[PATH_MAX];
    if (b->nfiles == (int)(sizeof b->files / sizeof *b->files))
        return NULL;
    int n = snprintf(path, sizeof path, "%s/", b->folder);
    for (const char *m = module; *m && n + 20 < (int)sizeof path; m++)
        path[n++] = *m == '.' ? '/' : *m;
    snprintf(path + n, sizeof path - (size_t)n, ".py");
    char *text = read_file(path, length);
    return text ? b->files[b->nfiles++] = text : NULL;
}

static const char *find_module(void *user, const char *module, size_t *length)
{
    return beside_find(&((struct session *)user)->beside, module, length);
}

static int save_file(void *user, const char *path, const char *text, size_t length)
{
    const struct given *g = ((struct session *)user)->given;
    const char *folder = g->options[OPTION_output_folder], *cache = getenv("NESO_CACHE_DIR");
    if (save_choice(cache, path, text, length) == 0)
        return 0;
    return save_below(folder && *folder ? folder : ".", path, text, length);
}

static const char *load_file(void *user, const char *path, size_t *length)
{
    struct session *s = user;
    free(s->loaded);
    s->loaded = read_file(path, length);
    return s->loaded;
}

static void compiled(void *user, neso_kernel *kernel)
{
    struct session *s = user;
    if (keeps_texts(s->given)) {
        progress_clear(&s->progress);
        keep_texts(s->given, s->ctx, kernel);
    }
    s->nkernels++;
    snprintf(s->kernel, sizeof s->kernel, "%s", neso_kernel_name(kernel));
    progress_show(&s->progress, "%d kernels compiled, %s the last", s->nkernels, s->kernel);
}

/* The callback neso_context_options.cancelled. It never cancels the call. It only updates the line of
 * progress, because the library calls it often during a long call. */
static int show_progress(void *user)
{
    struct session *s = user;
    if (!pthread_equal(pthread_self(), s->thread))
        return 0;
    if (*s->kernel)
        progress_show(&s->progress, "running; %d kernel%s compiled, %s the last", s->nkernels,
                      s->nkernels == 1 ? "" : "s", s->kernel);
    else
        progress_show(&s->progress, "running");
    return 0;
}

/* The callback neso_run_options.checked: prints one line about each check. */
static void checked(void *user, const neso_checked *x)
{
    struct session *s = user;
    progress_clear(&s->progress);
    fflush(stdout);
    if (x->verdict == NESO_CHECK_AGREES)
        fprintf(stderr, "neso: check: %s: %d sets of inputs agree, %.0f ms\n", x->kernel, x->inputs,
                x->milliseconds);
    else if (x->verdict == NESO_CHECK_UNKNOWN)
        fprintf(stderr, "neso: check: %s: not compared: %s\n", x->kernel, x->text);
    else
        fprintf(
            stderr,
            "neso: check: %s:%u: %s differs from the interpreter %s; made by %s; left out from now on: %s\n",
            x->file ? x->file : "?", (unsigned)x->line, x->kernel, x->text, x->pass,
            *x->without ? x->without : "nothing");
}

static void launched(void *user, const char *line)
{
    struct session *s = user;
    progress_clear(&s->progress);
    if (!s->digests)
        fflush(stdout);
    fprintf(s->digests ? s->digests : stderr, "%s\n", line);
}

/* Prints the debugger's prompt, and returns the next line of standard input; NULL if the input has ended. */
static const char *ask(void *user, const char *prompt)
{
    struct session *s = user;
    progress_clear(&s->progress);
    fputs(prompt, stdout);
    fflush(stdout);
    if (!fgets(s->line, sizeof s->line, stdin)) {
        putchar('\n');
        return NULL;
    }
    s->line[strcspn(s->line, "\r\n")] = '\0';
    return s->line;
}

static const char *choose_device(const struct given *g)
{
    const char *variable = getenv("NESO_DEVICE");
    if (g->options[OPTION_device])
        return g->options[OPTION_device];
    if (g->options[OPTION_break] || g->options[OPTION_break_on] || g->options[OPTION_trace] ||
        is_switched_on("TRITON_INTERPRET"))
        return "interpreter";
    return variable && *variable ? variable : "best";
}

static bool choose_races(const struct given *g, int *out)
{
    static const char *const words[] = {"start", "off", "all"};
    const char *variable = getenv("NESO_RACES"), *word = g->options[OPTION_races];
    word = word ? word : variable && *variable ? variable : "start";
    for (*out = 0; *out < 3; (*out)++)
        if (strcmp(words[*out], word) == 0)
            return true;
    complain("--races: expected start, all or off, found '%s'", word);
    return false;
}

bool choose_trace(const struct given *g, int *trace, int *bits)
{
    const char *s = g->options[OPTION_trace];
    char *end;
    enum { PRECISION = 9, BITS_MOST = 60 };
    *trace = *bits = 0;
    if (!s || strcmp(s, "nan") == 0) {
        *trace = s != NULL;
        return true;
    }
    if (strncmp(s, "precision", PRECISION) == 0) {
        *trace = 2;
        long n = s[PRECISION] == ':' ? strtol(s + PRECISION + 1, &end, 10) : 0;
        *bits = (int)n;
        if (!s[PRECISION] || (s[PRECISION] == ':' && !*end && n > 0 && n < BITS_MOST))
            return true;
    }
    complain("--trace: expected nan, precision or precision:N with N bits, found '%s'", s);
    return false;
}

/* Opens the file of --digests, if there is one. Returns false after a message if the file cannot be
 * written. */
static bool open_digests(struct session *s)
{
    const char *path = s->given->options[OPTION_digests];
    if (!path || !*path)
        return true;
    s->digests = fopen(path, "w");
    return s->digests || complain("cannot write %s", path) == GOOD;
}

static bool reads_arguments(const char *text)
{
    return strstr(text, "argv") || strstr(text, "argparse");
}

/* If options of neso follow the name of the program, and the program reads no arguments, prints a note that these
 * options have no effect. */
static void note_late_options(const struct session *s, const char *text)
{
    const struct given *g = s->given;
    const struct command_row *c = find_command(s->keeper && s->keeper->given ? "capsule" : "run");
    bool reads = reads_arguments(text);
    for (int i = 0; i < s->beside.nfiles; i++)
        reads = reads || reads_arguments(s->beside.files[i]);
    for (int i = 1; i < g->argc && !reads; i++) {
        const char *value;
        if (g->argv[i][0] != '-' || find_option(c, g->argv[i], &value) == OPTIONS_END)
            continue;
        fflush(stdout);
        complain("note: '%s' behind %s had no effect: it is an argument of the program, which reads none; an "
                 "option of neso stands before: neso %s %s ... %s",
                 g->argv[i], g->argv[0], c->word, g->argv[i], g->argv[0]);
    }
}

/* Returns false after a message if --break names a line at which the program cannot stop: a line after the end of the
 * program, a blank line or a comment. */
static bool check_break(const struct given *g, const char *path, const char *text)
{
    const char *place = g->options[OPTION_break], *colon = place ? strrchr(place, ':') : NULL;
    size_t n = colon ? (size_t)(colon - place) : 0, whole = strlen(path);
    long line = colon ? strtol(colon + 1, NULL, 10) : 0, lines = 1;
    if (line < 1 || !n || n > whole || memcmp(path + whole - n, place, n) != 0)
        return true;
    for (; lines < line && strchr(text, '\n'); lines++)
        text = strchr(text, '\n') + 1;
    text += strspn(text, " \t\r");
    if (lines < line)
        return complain("--break %s: %s has %ld lines", place, path, lines - !*text) == GOOD;
    if (!*text || *text == '\n' || *text == '#')
        return complain("--break %s: line %ld has no statement", place, line) == GOOD;
    return true;
}

/* Returns the first option in the command line that works only on the interpreter; NULL if there is none. */
static const char *interpreter_option(const struct given *g)
{
    return g->options[OPTION_trace]      ? "--trace"
           : g->options[OPTION_break_on] ? "--break-on"
           : g->options[OPTION_break]    ? "--break"
                                         : NULL;
}

static int run_program(struct session *s, const char *path, const char *text, size_t length)
{
    const struct given *g = s->given;
    neso_run_options o = {.size = sizeof o, .argc = g->argc, .argv = (const char *const *)g->argv};
    o.write = write_program;
    o.getenv = get_variable;
    o.find = find_module;
    o.compiled = keeps_texts(g) || s->progress.is_on ? compiled : NULL;
    o.user = s;
    o.save = save_file;
    o.load = load_file;
    const char *cache = getenv("NESO_CACHE_DIR");
    o.cache = cache && *cache ? cache : NULL;
    o.break_at = g->options[OPTION_break];
    o.break_nan = g->options[OPTION_break_on] != NULL;
    o.skip = g->options[OPTION_skip];
    o.check = g->options[OPTION_check] != NULL;
    o.checked = g->options[OPTION_verbose] ? checked : NULL;
    o.params = g->options[OPTION_param];
    o.keep_device = g->options[OPTION_device] != NULL;
    o.ask = ask;
    o.launched = g->options[OPTION_digests] ? launched : NULL;
    int sample;
    if (o.break_nan && strcmp(g->options[OPTION_break_on], "nan") != 0)
        return complain("--break-on: expected nan, found '%s'", g->options[OPTION_break_on]);
    if (!choose_trace(g, &o.trace, &o.trace_bits) || !choose_races(g, &o.races) ||
        !number(g, OPTION_sample, &sample) || !open_digests(s))
        return BAD;
    neso_status status = neso_context_use_device(s->ctx, choose_device(g), NULL);
    if (status != NESO_OK)
        return report(g, s->ctx, status);
    if (!check_break(g, path, text))
        return BAD;
    const char *needing = interpreter_option(g);
    if (needing && strcmp(neso_context_device(s->ctx), "interpreter") != 0)
        return complain("%s needs --device interpreter: no other device stops in kernels or traces them, and "
                        "this run has --device %s",
                        needing, g->options[OPTION_device]);
    if (g->options[OPTION_counts] && (status = neso_counts_start(s->ctx, sample)) != NESO_OK)
        return report(g, s->ctx, status);
    if (g->options[OPTION_verbose])
        fprintf(stderr, "neso: running %s on %s\n", path, neso_context_device_text(s->ctx));
    status = neso_program_run(s->ctx, path, text, length, &o);
    progress_clear(&s->progress);
    if (s->digests)
        fclose(s->digests);
    int result = report(g, s->ctx, status);
    note_late_options(s, text);
    if (status == NESO_OUT_OF_MEMORY)
        result = FAILED; /* a program that exceeds a limit has failed; this is not bad input */
    int counted = g->options[OPTION_counts] ? counts_report(g, s->ctx) : GOOD;
    return result ? result : counted;
}

/* Returns a program's default memory limit: three quarters of the machine's memory, at most 32 GiB. Programs need
 * much memory, because the host objects that they create live until the program ends, and a benchmark creates objects
 * at each of its many launches. */
size_t memory_most(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t most = (size_t)32 << 30,
                 here = pages > 0 && page > 0 ? (size_t)pages / 4 * 3 * (size_t)page : most;
    return here < most ? here : most;
}

/* Sets *bytes to the value of --memory-limit, or to 0 if the option is not given. Returns false after a message if
 * the value is malformed. */
static bool read_size(const struct given *g, size_t *bytes)
{
    const char *s = g->options[OPTION_memory_limit];
    static const char units[] = "KMGT";
    char *end;
    *bytes = 0;
    if (!s)
        return true;
    double n = strtod(s, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit)
        n = ldexp(n, 10 * (int)(unit - units + 1));
    if (end != s && !end[unit != NULL] && n >= 1 && n < 0x1p62) {
        *bytes = (size_t)n;
        return true;
    }
    complain("--memory-limit: expected a size such as 500K, 64M or 2G, found '%s'", s);
    return false;
}

/* Sets *ms to the value of --time-limit, or to 0 if the option is not given. Returns false after a message if the
 * value is malformed. */
static bool read_time(const struct given *g, int64_t *ms)
{
    const char *s = g->options[OPTION_time_limit];
    char *end;
    *ms = 0;
    if (!s)
        return true;
    double seconds = strtod(s, &end);
    if (end != s && !*end && seconds >= 0.001 && seconds < 1e12) {
        *ms = (int64_t)(seconds * 1e3);
        return true;
    }
    complain("--time-limit: expected a number of seconds from 0.001 up, found '%s'", s);
    return false;
}

int run_command(const struct given *g)
{
    struct keeper keeper;
    bool is_on;
    if (!keeper_open(&keeper, &is_on))
        return BAD;
    return run_with(g, is_on ? &keeper : NULL);
}

int run_with(const struct given *g, struct keeper *keeper)
{
    struct session s = {.given = g, .keeper = keeper};
    const char *path = g->argv[0];
    size_t length = 0, memory;
    int64_t time_ms;
    if (!read_size(g, &memory) || !read_time(g, &time_ms) || !check_passes(g) || keep_folders(g) != GOOD)
        return BAD;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    beside_open(&s.beside, path);
    const char *record = g->options[OPTION_record_launches], *bundle = g->options[OPTION_bundle];
    neso_context_options o = {.size = sizeof o, .user = &s, .time_limit_ms = time_ms};
    o.memory_limit = memory ? memory : memory_most();
    o.record = record ? keep_record : NULL;
    o.event = g->options[OPTION_verbose] ? show_event : NULL;
    progress_begin(&s.progress);
    s.thread = pthread_self();
    o.cancelled = s.progress.is_on ? show_progress : NULL;
    o.wants_capsule = keeper || g->options[OPTION_check] ? wants_capsule : NULL;
    o.capsule = take_capsule;
    put_format(&s.record, "neso record 1\nprogram %s\n\n", path);
    int result = context_open_with(g, &o, &s.ctx) ? GOOD : BAD;
    if (result == GOOD) {
        result = bundle ? use_bundle(g, s.ctx, bundle) : GOOD;
        if (result == GOOD)
            result = run_program(&s, path, text, length);
        neso_context_release(s.ctx);
        if (s.difference.n && (!keeper || !keeper->given))
            reduce_difference(g, s.difference.s, s.difference.n);
        int written = record ? write_file(record, s.record.s, s.record.n) : GOOD;
        result = result ? result : written;
    }
    buffer_free(&s.record);
    buffer_free(&s.difference);
    beside_close(&s.beside);
    free(s.loaded);
    free(text);
    return result;
}

/* -- doctor -- */

/* Returns the first message of the last library call on the context, and sets *d to the whole diagnostic. */
static const char *first_message(neso_context *ctx, neso_diagnostic *d)
{
    *d = (neso_diagnostic){.size = sizeof *d};
    return neso_diagnostic_get(ctx, 0, d) ? d->message : "no memory to look for it";
}

static void doctor_gpu(neso_context *ctx, int i)
{
    neso_diagnostic why;
    neso_gpu gpu = {.size = sizeof gpu};
    if (neso_gpu_get(ctx, i, &gpu) != NESO_OK) {
        printf("cuda:%-7d %s\n", i, first_message(ctx, &why));
        return;
    }
    printf("cuda:%-7d %s, compute capability %d.%d, target %s, %.0f GiB, %d multiprocessors\n", i, gpu.name,
           gpu.major, gpu.minor, gpu.target ? gpu.target : "none", (double)gpu.memory_bytes / (1 << 30),
           gpu.multiprocessors);
}

static void doctor_gpus(neso_context *ctx)
{
    neso_diagnostic why;
    int version = 0, gpus = 0;
    if (neso_find_gpus(ctx, &version, &gpus) != NESO_OK) {
        printf("%-12s none: %s\n", "GPU", first_message(ctx, &why));
        printf("%-12s %s\n", "",
               "programs run on the interpreter; a GPU needs NVIDIA's driver (Debian: nvidia-driver)");
        return;
    }
    printf("%-12s CUDA %d.%d\n", "driver", version / 1000, version % 1000 / 10);
    for (int i = 0; i < gpus; i++)
        doctor_gpu(ctx, i);
}

static void doctor_tool(const char *name, const char *use)
{
    char path[PATH_MAX];
    if (find_tool(name, path, sizeof path))
        printf("%-12s %s\n", name, path);
    else
        printf("%-12s not found: only %s; it is in %s\n", name, use, TOOLKIT);
}

static void doctor_cache(void)
{
    char folder[PATH_MAX];
    if (!cache_folder(folder, sizeof folder))
        printf("%-12s off: set NESO_CACHE_DIR to keep what was compiled\n", "cache");
    else
        printf("%-12s %s%s\n", "cache", folder,
               access(folder, F_OK) == 0 ? "" : ", once there is something to keep");
}

int doctor_command(const struct given *g)
{
    neso_context *ctx;
    int version, gpus;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return complain("out of memory");
    if (g->options[OPTION_devices]) {
        if (neso_find_gpus(ctx, &version, &gpus) == NESO_OK && gpus > 0)
            puts("cuda");
        puts("interpreter");
        puts("emulator");
    } else {
        printf("%-12s %s\n", "neso", neso_version());
        doctor_gpus(ctx);
        printf("%-12s on this machine's CPU\n", "interpreter");
        printf("%-12s on this machine's CPU, for what is compiled\n", "emulator");
        doctor_tool("ptxas", "--emit cubin needs it");
        doctor_tool("nvdisasm", "--emit sass needs it");
        doctor_cache();
    }
    neso_context_release(ctx);
    return GOOD;
}
