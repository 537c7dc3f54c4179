/* main.c: the command `neso`, over neso.h and libc: what the command can do, an embedder can do.
 *
 * Commands and options are two tables, from which parsing, help and messages come. This is the one place that reads the
 * environment, opens files, prints and exits. Exit status: 0 good, 1 the program failed, 2 bad usage or bad input. */
#include "runtime/neso.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GOOD, FAILED, BAD };

enum command { RUN = 1, COMPILE = 2, DOCTOR = 4, HELP = 8 };

/*    option         short word            argument    where          meaning */
#define OPTIONS(X) \
    X(device,        0,    "device",        "NAME",    RUN,           "cuda, cuda:1, interpreter, or best (the default): cuda if there is a GPU") \
    X(keep_ptx,      0,    "keep-ptx",      "DIR",     RUN,           "leave each kernel's PTX there") \
    X(signature,     0,    "signature",     "ENTRIES", COMPILE,       "one entry a parameter: *fp32:16, i32, i32:1, 1024, NAME=value") \
    X(num_warps,     0,    "num-warps",     "N",       COMPILE,       "warps of a program instance: 1, 2, 4 (the default), ... 32") \
    X(num_stages,    0,    "num-stages",    "N",       COMPILE,       "depth of software pipelines; 3 is the default") \
    X(maxnreg,       0,    "maxnreg",       "N",       COMPILE,       "registers a thread may have") \
    X(target,        0,    "target",        "NAME",    COMPILE,       "the GPU to compile for: see `neso help targets`; sm_90a is the default") \
    X(emit,          0,    "emit",          "WHAT",    COMPILE,       "ast, ir, opt, mir, ptx (the default), json, cubin or sass") \
    X(output,        'o',  "output",        "FILE",    COMPILE,       "write there rather than to standard output") \
    X(time,          0,    "time",          NULL,      COMPILE,       "say what each stage and pass took") \
    X(passes,        0,    "passes",        "NAMES",   COMPILE,       "run these passes instead of the list; see `neso help passes`") \
    X(skip,          0,    "skip",          "NAMES",   COMPILE,       "leave these passes out") \
    X(stop_after,    0,    "stop-after",    "PASS",    COMPILE,       "run no further than this pass") \
    X(print_after,   0,    "print-after",   "NAMES",   COMPILE,       "the IR after these passes, or after all, to standard error") \
    X(print_changed, 0,    "print-changed", NULL,      COMPILE,       "only where a pass changed something") \
    X(explain,       0,    "explain",       "NAMES",   COMPILE,       "why these passes, or all, decided as they did") \
    X(verify_each,   0,    "verify-each",   NULL,      COMPILE,       "check the IR after each pass") \
    X(json,          0,    "json",          NULL,      RUN | COMPILE, "messages as JSON") \
    X(verbose,       'v',  "verbose",       NULL,      RUN | COMPILE, "run: name the device; compile: comments in the PTX") \
    X(devices,       0,    "devices",       NULL,      DOCTOR,        "only the names of the devices that can be used, one a line")

enum option {
#define X(name, letter, word, argument, where, meaning) OPTION_##name,
    OPTIONS(X)
#undef X
    OPTIONS_END
};

static const struct option_row {
    char letter;
    const char *word, *argument;
    int where;
    const char *meaning;
} option_rows[] = {
#define X(name, letter, word, argument, where, meaning) {letter, word, argument, where, meaning},
    OPTIONS(X)
#undef X
};

/* What the command line says; an option without argument has "". */
struct given {
    const char *options[OPTIONS_END];
    int argc; /* what is no option */
    char **argv;
};

static int run_command(const struct given *g);
static int compile_command(const struct given *g);
static int doctor_command(const struct given *g);
static int help_command(const struct given *g);

static const struct command_row {
    enum command bit;
    const char *word, *arguments;
    int least, most; /* arguments; most -1: all that follow, options too */
    int (*run)(const struct given *g);
    const char *meaning;
} command_rows[] = {
    {RUN, "run", "PROGRAM.py [ARG...]", 1, -1, run_command, "run a whole program: host part, and kernels on a device"},
    {COMPILE, "compile", "FILE.py[::KERNEL] | FILE.ir[::KERNEL]", 1, 1, compile_command, "compile one kernel, print a stage of it"},
    {DOCTOR, "doctor", "", 0, 0, doctor_command, "what is here: driver, GPUs, assembler, disassembler"},
    {HELP, "help", "[COMMAND | TOPIC]", 0, 1, help_command, "this, or a table"},
};
enum { COMMANDS = sizeof command_rows / sizeof *command_rows };

/* -- messages -- */

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static int
complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fflush(stdout);
    fputs("neso: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return BAD;
}

/* Everything that the last call had to say, warnings too. */
static int report(const struct given *g, neso_context *ctx, neso_status status)
{
    const char *text = g->options[OPTION_json] ? neso_diagnostics_json(ctx) : neso_error_text(ctx);
    fflush(stdout);
    if (neso_diagnostic_count(ctx) > 0 || status != NESO_OK)
        fputs(text, stderr);
    return status == NESO_OK ? GOOD : status == NESO_FAILED ? FAILED : BAD;
}

/* How many letters to change, drop or add to make one word the other; past the end of small words, many. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 32 };
    size_t row[MOST + 1], n = strlen(a), k = strlen(b);
    if (n > MOST || k > MOST)
        return MOST;
    for (size_t j = 0; j <= k; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= k; j++) {
            size_t change = corner + (a[i - 1] != b[j - 1]);
            corner = row[j];
            size_t least = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;
            row[j] = change < least ? change : least;
        }
    }
    return row[k];
}

/* -- the command line -- */

static void print_options(FILE *to, int where)
{
    for (int i = 0; i < OPTIONS_END; i++) {
        const struct option_row *o = &option_rows[i];
        if (!(o->where & where))
            continue;
        char left[64];
        const char *space = o->argument ? " " : "", *argument = o->argument ? o->argument : "";
        if (o->letter)
            snprintf(left, sizeof left, "-%c, --%s%s%s", o->letter, o->word, space, argument);
        else
            snprintf(left, sizeof left, "--%s%s%s", o->word, space, argument);
        fprintf(to, "    %-24s %s\n", left, o->meaning);
    }
}

static void print_command(FILE *to, const struct command_row *c)
{
    fprintf(to, "neso %s%s%s\n    %s\n", c->word, *c->arguments ? " " : "", c->arguments, c->meaning);
    print_options(to, (int)c->bit);
}

static void print_usage(FILE *to)
{
    fprintf(to, "neso %s: Triton kernels to PTX\n", neso_version());
    for (int i = 0; i < COMMANDS; i++) {
        fputc('\n', to);
        print_command(to, &command_rows[i]);
    }
    fputs("\nTopics of help:", to);
    for (size_t i = 0; neso_help_topic(i); i++)
        fprintf(to, " %s", neso_help_topic(i));
    fputs("\n\nEnvironment: NESO_DEVICE is --device's default; TRITON_INTERPRET=1 means the interpreter.\n"
          "Exit status: 0 good, 1 the program failed, 2 bad usage or bad input.\n", to);
}

static const struct command_row *find_command(const char *word)
{
    for (int i = 0; i < COMMANDS; i++)
        if (strcmp(command_rows[i].word, word) == 0)
            return &command_rows[i];
    return NULL;
}

static int unknown_command(const char *word)
{
    complain("unknown command '%s': the commands are", word);
    for (int i = 0; i < COMMANDS; i++)
        fprintf(stderr, "    %-8s %s\n", command_rows[i].word, command_rows[i].meaning);
    return BAD;
}

static int unknown_option(const struct command_row *c, const char *word, size_t n)
{
    char name[40], suggestion[80] = "";
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    size_t best = 3;
    for (int i = 0; i < OPTIONS_END; i++) {
        size_t d = distance(name, option_rows[i].word);
        if ((option_rows[i].where & (int)c->bit) && d < best && d < strlen(option_rows[i].word)) {
            best = d;
            snprintf(suggestion, sizeof suggestion, "; did you mean --%s?", option_rows[i].word);
        }
    }
    complain("%s has no option --%s%s", c->word, name, suggestion);
    return complain("see `neso help %s`", c->word);
}

/* The option that `arg` spells, with what follows `=` in *value; OPTIONS_END: none. */
static enum option find_option(const struct command_row *c, const char *arg, const char **value)
{
    const char *word = arg + 2, *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    bool is_letter = arg[1] != '-';
    *value = equals && !is_letter ? equals + 1 : NULL;
    for (int i = 0; i < OPTIONS_END; i++) {
        const struct option_row *o = &option_rows[i];
        if (!(o->where & (int)c->bit))
            continue;
        if (is_letter ? arg[1] == o->letter && !arg[2] : strlen(o->word) == n && memcmp(o->word, word, n) == 0)
            return (enum option)i;
    }
    return OPTIONS_END;
}

/* Reads options up to the end, or up to the first argument of a command that passes the rest on. */
static int parse(const struct command_row *c, int argc, char **argv, struct given *g)
{
    g->argv = argv;
    for (int i = 0; i < argc; i++) {
        const char *arg = argv[i], *value;
        if (arg[0] != '-' || !arg[1]) {
            g->argv[g->argc++] = argv[i];
            if (c->most >= 0)
                continue;
            while (++i < argc)
                g->argv[g->argc++] = argv[i];
            break;
        }
        if (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0) {
            print_command(stdout, c);
            return -1;
        }
        enum option o = find_option(c, arg, &value);
        if (o == OPTIONS_END)
            return arg[1] == '-' ? unknown_option(c, arg + 2, strcspn(arg + 2, "=")) : unknown_option(c, arg + 1, 1);
        const struct option_row *row = &option_rows[o];
        if (value && !row->argument)
            return complain("--%s takes no argument", row->word);
        if (!value && row->argument && i + 1 == argc)
            return complain("--%s needs %s: %s", row->word, row->argument, row->meaning);
        g->options[o] = value ? value : row->argument ? argv[++i] : "";
    }
    if (g->argc < c->least)
        return complain("usage: neso %s %s", c->word, c->arguments);
    if (c->most >= 0 && g->argc > c->most)
        return complain("unexpected '%s'; usage: neso %s %s", g->argv[c->most], c->word, c->arguments);
    return GOOD;
}

static bool number(const struct given *g, enum option o, int *out)
{
    const char *s = g->options[o];
    char *end;
    *out = 0;
    if (!s)
        return true;
    errno = 0;
    long n = strtol(s, &end, 10);
    if (errno == 0 && end != s && !*end && n > 0 && n <= INT_MAX) {
        *out = (int)n;
        return true;
    }
    complain("--%s: expected a number from 1 up, found '%s'", option_rows[o].word, s);
    return false;
}

/* -- files -- */

/* The whole file, with a terminator; NULL, errno saying why. The caller frees it. */
static char *read_file(const char *path, size_t *length)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *text = NULL, *grown;
    size_t n = 0, room = 0;
    do {
        if (n + 1 >= room) {
            room = room ? 2 * room : 65536;
            grown = realloc(text, room);
            if (!grown)
                break;
            text = grown;
        }
        n += fread(text + n, 1, room - n - 1, f);
    } while (!feof(f) && !ferror(f));
    int error = ferror(f) ? errno : text && feof(f) ? 0 : ENOMEM;
    fclose(f);
    if (error) {
        free(text);
        errno = error;
        return NULL;
    }
    text[n] = '\0';
    *length = n;
    return text;
}

static int write_file(const char *path, const void *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(bytes, 1, length, f) == length;
    if (f && fclose(f) != 0)
        good = false;
    return good ? GOOD : complain("cannot write %s: %s", path, strerror(errno));
}

static int write_output(const struct given *g, const void *bytes, size_t length)
{
    const char *path = g->options[OPTION_output];
    if (path)
        return write_file(path, bytes, length);
    return fwrite(bytes, 1, length, stdout) == length ? GOOD : complain("cannot write the output: %s", strerror(errno));
}

/* -- tools that others make -- */

/* Looks through PATH, then where CUDA's toolkit installs itself. */
static bool find_tool(const char *name, char *out, size_t n)
{
    const char *path = getenv("PATH");
    for (const char *s = path ? path : ""; *s;) {
        size_t len = strcspn(s, ":");
        snprintf(out, n, "%.*s/%s", (int)len, s, name);
        if (len && access(out, X_OK) == 0)
            return true;
        s += len + (s[len] == ':');
    }
    snprintf(out, n, "/usr/local/cuda/bin/%s", name);
    return access(out, X_OK) == 0;
}

extern char **environ;

/* Runs a tool with our own output and error streams. */
static int call_tool(char *const argv[])
{
    pid_t pid;
    int status;
    fflush(stdout);
    int error = posix_spawn(&pid, argv[0], NULL, NULL, argv, environ);
    if (error)
        return complain("cannot run %s: %s", argv[0], strerror(error));
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return complain("cannot wait for %s: %s", argv[0], strerror(errno));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return GOOD;
    return complain("%s failed", argv[0]);
}

/* A private folder for what tools read and write. */
struct workshop {
    char folder[256], ptx[300], cubin[300];
};

static bool workshop_open(struct workshop *w)
{
    const char *parent = getenv("TMPDIR");
    snprintf(w->folder, sizeof w->folder, "%s/neso-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(w->folder)) {
        complain("cannot make a temporary folder %s: %s", w->folder, strerror(errno));
        return false;
    }
    snprintf(w->ptx, sizeof w->ptx, "%s/k.ptx", w->folder);
    snprintf(w->cubin, sizeof w->cubin, "%s/k.cubin", w->folder);
    return true;
}

static void workshop_close(struct workshop *w)
{
    unlink(w->ptx);
    unlink(w->cubin);
    rmdir(w->folder);
}

#define TOOLKIT "CUDA's toolkit (Debian: nvidia-cuda-toolkit; NVIDIA's repository: cuda-nvcc-13-0, cuda-nvdisasm-13-0)"

/* "sm_90a" of a PTX text. */
static void read_target(const char *ptx, char *out, size_t n)
{
    const char *at = strstr(ptx, ".target ");
    snprintf(out, n, "%.*s", at ? (int)strcspn(at + 8, ", \n") : 0, at ? at + 8 : "");
}

/* The kernel's cubin in w->cubin: by ptxas where there is one, else by the driver. */
static int assemble(const struct given *g, neso_context *ctx, neso_kernel *kernel, struct workshop *w)
{
    char ptxas[PATH_MAX], arch[40], target[24];
    const char *ptx;
    const void *cubin;
    size_t length;
    neso_status status = neso_kernel_text(kernel, NESO_TEXT_PTX, &ptx, &length);
    if (status != NESO_OK)
        return report(g, ctx, status);
    if (find_tool("ptxas", ptxas, sizeof ptxas)) {
        read_target(ptx, target, sizeof target);
        snprintf(arch, sizeof arch, "-arch=%s", target);
        char *argv[] = {ptxas, arch, "-lineinfo", w->ptx, "-o", w->cubin, NULL};
        int result = write_file(w->ptx, ptx, length);
        return result ? result : call_tool(argv);
    }
    status = neso_kernel_cubin(kernel, &cubin, &length);
    if (status == NESO_OK)
        return write_file(w->cubin, cubin, length);
    report(g, ctx, status);
    return complain("--emit cubin and --emit sass need ptxas or a GPU of the target's kind; ptxas is in " TOOLKIT);
}

static int emit_cubin(const struct given *g, const struct workshop *w)
{
    size_t length = 0;
    char *bytes = read_file(w->cubin, &length);
    if (!bytes)
        return complain("cannot read %s: %s", w->cubin, strerror(errno));
    int result = write_output(g, bytes, length);
    free(bytes);
    return result;
}

static int emit_sass(const struct given *g, struct workshop *w)
{
    char tool[PATH_MAX];
    char *nvdisasm[] = {tool, "-c", "-g", w->cubin, NULL}, *cuobjdump[] = {tool, "-sass", w->cubin, NULL};
    const char *path = g->options[OPTION_output];
    bool has_nvdisasm = find_tool("nvdisasm", tool, sizeof tool);
    if (!has_nvdisasm && !find_tool("cuobjdump", tool, sizeof tool))
        return complain("--emit sass needs nvdisasm or cuobjdump, of " TOOLKIT);
    if (path && !freopen(path, "wb", stdout))
        return complain("cannot write %s: %s", path, strerror(errno));
    return call_tool(has_nvdisasm ? nvdisasm : cuobjdump);
}

static int emit_assembled(const struct given *g, neso_context *ctx, neso_kernel *kernel, bool sass)
{
    struct workshop w;
    if (!workshop_open(&w))
        return BAD;
    int result = assemble(g, ctx, kernel, &w);
    if (result == GOOD)
        result = sass ? emit_sass(g, &w) : emit_cubin(g, &w);
    workshop_close(&w);
    return result;
}

/* -- compile -- */

static void write_dump(void *user, const char *pass, const char *text, size_t length)
{
    (void)user;
    (void)pass;
    fwrite(text, 1, length, stderr);
}

enum emit { EMIT_CUBIN = 100, EMIT_SASS };

/* A neso_text, or one of the above; 0: unknown. */
static int find_emit(const struct given *g)
{
    const char *word = g->options[OPTION_emit];
    bool partial = g->options[OPTION_passes] || g->options[OPTION_stop_after];
    if (!word)
        return partial ? NESO_TEXT_OPT : NESO_TEXT_PTX;
    if (strcmp(word, "cubin") == 0 || strcmp(word, "sass") == 0)
        return *word == 'c' ? EMIT_CUBIN : EMIT_SASS;
    for (int i = 1; neso_text_name((neso_text)i); i++)
        if (strcmp(neso_text_name((neso_text)i), word) == 0)
            return i;
    complain("--emit: unknown '%s': expected %s", word, option_rows[OPTION_emit].meaning);
    return 0;
}

static bool read_options(const struct given *g, int emit, neso_compile_options *o)
{
    const char *const *s = g->options;
    *o = (neso_compile_options){.size = sizeof *o};
    o->signature = s[OPTION_signature];
    o->target = s[OPTION_target];
    o->until = emit < EMIT_CUBIN ? (neso_text)emit : NESO_TEXT_PTX;
    o->passes = s[OPTION_passes];
    o->skip = s[OPTION_skip];
    o->stop_after = s[OPTION_stop_after];
    o->print_after = s[OPTION_print_after];
    o->explain = s[OPTION_explain];
    o->print_changed = s[OPTION_print_changed] != NULL;
    o->verify_each = s[OPTION_verify_each] != NULL;
    o->verbose_ptx = s[OPTION_verbose] != NULL;
    o->time = s[OPTION_time] != NULL;
    o->write = write_dump;
    return number(g, OPTION_num_warps, &o->num_warps) && number(g, OPTION_num_stages, &o->num_stages) &&
           number(g, OPTION_maxnreg, &o->max_registers);
}

static void print_times(neso_kernel *kernel)
{
    neso_resources r = {.size = sizeof r};
    neso_kernel_resources(kernel, &r);
    fprintf(stderr, "trace %.3f ms, opt %.3f ms, codegen %.3f ms\n", 1e3 * r.trace_seconds, 1e3 * r.opt_seconds,
            1e3 * r.codegen_seconds);
}

/* What is to be made of which kernel. */
struct order {
    const char *kernel; /* NULL: the only one */
    int emit;
    neso_compile_options options;
};

static int compile_module(const struct given *g, neso_context *ctx, neso_module *module, const struct order *order)
{
    neso_kernel *kernel;
    const char *text;
    size_t length;
    int emit = order->emit;
    neso_status status = neso_kernel_compile(module, order->kernel, &order->options, &kernel);
    int result = report(g, ctx, status);
    if (result)
        return result;
    if (order->options.time)
        print_times(kernel);
    if (emit >= EMIT_CUBIN) {
        result = emit_assembled(g, ctx, kernel, emit == EMIT_SASS);
    } else {
        status = neso_kernel_text(kernel, (neso_text)emit, &text, &length);
        result = status == NESO_OK ? write_output(g, text, length) : report(g, ctx, status);
    }
    neso_kernel_release(kernel);
    return result;
}

static int compile_file(const struct given *g, const char *path, const struct order *order)
{
    neso_context *ctx;
    neso_module *module;
    char tool[PATH_MAX];
    size_t length = 0;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    if (neso_context_create(NULL, &ctx) != NESO_OK) {
        free(text);
        return complain("out of memory");
    }
    /* Where there is no ptxas, the driver assembles: then the GPU must be the context's device. */
    if (order->emit >= EMIT_CUBIN && !find_tool("ptxas", tool, sizeof tool))
        neso_context_use_device(ctx, "cuda", NULL);
    neso_status status = neso_module_from_source(ctx, path, text, length, &module);
    free(text);
    int result = report(g, ctx, status);
    if (status == NESO_OK) {
        result = compile_module(g, ctx, module, order);
        neso_module_release(module);
    }
    neso_context_release(ctx);
    return result;
}

static int compile_command(const struct given *g)
{
    char *path = g->argv[0], *colons = strstr(path, "::");
    struct order order = {.emit = find_emit(g)};
    if (!order.emit || !read_options(g, order.emit, &order.options))
        return BAD;
    if (colons) {
        *colons = '\0';
        order.kernel = colons + 2;
    }
    return compile_file(g, path, &order);
}

/* -- run -- */

struct session {
    const struct given *given;
    neso_context *ctx;
    const char *folder; /* the program's */
    int nfiles;
    char *files[64]; /* imported texts, kept until the end */
};

static void write_program(void *user, const char *text, size_t length, int to_stderr)
{
    (void)user;
    if (to_stderr)
        fflush(stdout);
    fwrite(text, 1, length, to_stderr ? stderr : stdout);
}

static const char *get_variable(void *user, const char *name)
{
    (void)user;
    return getenv(name);
}

static const char *find_module(void *user, const char *module, size_t *length)
{
    static const char *const endings[] = {".py", "/__init__.py"};
    struct session *s = user;
    char path[PATH_MAX];
    for (int i = 0; i < 2 && s->nfiles < (int)(sizeof s->files / sizeof *s->files); i++) {
        int n = snprintf(path, sizeof path, "%s/", s->folder);
        for (const char *m = module; *m && n + 20 < (int)sizeof path; m++)
            path[n++] = *m == '.' ? '/' : *m;
        snprintf(path + n, sizeof path - (size_t)n, "%s", endings[i]);
        char *text = read_file(path, length);
        if (text)
            return s->files[s->nfiles++] = text;
    }
    return NULL;
}

/* Leaves the PTX; a kernel that runs on the interpreter may be one that has none yet. */
static void keep_ptx(void *user, neso_kernel *kernel)
{
    struct session *s = user;
    const char *folder = s->given->options[OPTION_keep_ptx], *text;
    char path[PATH_MAX];
    size_t length;
    if (neso_kernel_text(kernel, NESO_TEXT_PTX, &text, &length) != NESO_OK) {
        complain("no PTX for kernel %s", neso_kernel_name(kernel));
        fputs(neso_error_text(s->ctx), stderr);
        return;
    }
    snprintf(path, sizeof path, "%s/%s.ptx", folder, neso_kernel_id(kernel));
    if (write_file(path, text, length) == GOOD && s->given->options[OPTION_verbose])
        fprintf(stderr, "neso: the PTX of %s is in %s\n", neso_kernel_name(kernel), path);
}

static bool is_true(const char *s)
{
    static const char *const words[] = {"1", "y", "Y", "on", "ON", "yes", "YES", "true", "TRUE", "True"};
    for (size_t i = 0; s && i < sizeof words / sizeof *words; i++)
        if (strcmp(s, words[i]) == 0)
            return true;
    return false;
}

static const char *choose_device(const struct given *g)
{
    const char *variable = getenv("NESO_DEVICE");
    if (g->options[OPTION_device])
        return g->options[OPTION_device];
    if (is_true(getenv("TRITON_INTERPRET")))
        return "interpreter";
    return variable && *variable ? variable : "best";
}

static int run_program(struct session *s, const char *path, const char *text, size_t length)
{
    const struct given *g = s->given;
    neso_run_options o = {.size = sizeof o, .argc = g->argc, .argv = (const char *const *)g->argv};
    o.write = write_program;
    o.getenv = get_variable;
    o.find = find_module;
    o.compiled = g->options[OPTION_keep_ptx] ? keep_ptx : NULL;
    o.user = s;
    neso_status status = neso_context_use_device(s->ctx, choose_device(g), NULL);
    if (status != NESO_OK)
        return report(g, s->ctx, status);
    if (g->options[OPTION_verbose])
        fprintf(stderr, "neso: running %s on %s\n", path, neso_context_device_text(s->ctx));
    return report(g, s->ctx, neso_program_run(s->ctx, path, text, length, &o));
}

/* The folder that a path's file is in. */
static void folder_of(const char *path, char *out, size_t n)
{
    const char *slash = strrchr(path, '/');
    if (slash)
        snprintf(out, n, "%.*s", (int)(slash - path), path);
    else
        snprintf(out, n, ".");
}

static int run_command(const struct given *g)
{
    struct session s = {.given = g};
    const char *path = g->argv[0], *ptx = g->options[OPTION_keep_ptx];
    char folder[PATH_MAX];
    size_t length = 0;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    if (ptx && mkdir(ptx, 0777) != 0 && errno != EEXIST) {
        free(text);
        return complain("cannot make the folder %s: %s", ptx, strerror(errno));
    }
    folder_of(path, folder, sizeof folder);
    s.folder = folder;
    int result = neso_context_create(NULL, &s.ctx) == NESO_OK ? GOOD : complain("out of memory");
    if (result == GOOD) {
        result = run_program(&s, path, text, length);
        neso_context_release(s.ctx);
    }
    for (int i = 0; i < s.nfiles; i++)
        free(s.files[i]);
    free(text);
    return result;
}

/* -- doctor -- */

static void doctor_gpus(neso_context *ctx)
{
    int version = 0, gpus = 0;
    if (neso_find_gpus(ctx, &version, &gpus) != NESO_OK) {
        neso_diagnostic why = {.size = sizeof why};
        printf("%-12s none: %s\n", "GPU", neso_diagnostic_get(ctx, 0, &why) ? why.message : "no memory to look for one");
        printf("%-12s %s\n", "", "programs run on the interpreter; a GPU needs NVIDIA's driver (Debian: nvidia-driver)");
        return;
    }
    printf("%-12s CUDA %d.%d\n", "driver", version / 1000, version % 1000 / 10);
    for (int i = 0; i < gpus; i++) {
        neso_gpu gpu = {.size = sizeof gpu};
        if (neso_gpu_get(ctx, i, &gpu) == NESO_OK)
            printf("cuda:%-7d %s, compute capability %d.%d, target %s, %.0f GiB, %d multiprocessors\n", i, gpu.name,
                   gpu.major, gpu.minor, gpu.target ? gpu.target : "none", (double)gpu.memory_bytes / (1 << 30),
                   gpu.multiprocessors);
    }
}

static void doctor_tool(const char *name, const char *use)
{
    char path[PATH_MAX];
    if (find_tool(name, path, sizeof path))
        printf("%-12s %s\n", name, path);
    else
        printf("%-12s not found: only %s; it is in %s\n", name, use, TOOLKIT);
}

static int doctor_command(const struct given *g)
{
    neso_context *ctx;
    int version, gpus;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return complain("out of memory");
    if (g->options[OPTION_devices]) {
        if (neso_find_gpus(ctx, &version, &gpus) == NESO_OK && gpus > 0)
            puts("cuda");
        puts("interpreter");
    } else {
        printf("%-12s %s\n", "neso", neso_version());
        doctor_gpus(ctx);
        printf("%-12s on this machine's CPU\n", "interpreter");
        doctor_tool("ptxas", "--emit cubin without a GPU needs it");
        doctor_tool("nvdisasm", "--emit sass needs it");
        printf("%-12s this version keeps none on disk\n", "cache");
    }
    neso_context_release(ctx);
    return GOOD;
}

/* -- help -- */

static int help_command(const struct given *g)
{
    neso_context *ctx;
    const char *text;
    const struct command_row *c = g->argc ? find_command(g->argv[0]) : NULL;
    if (!g->argc)
        print_usage(stdout);
    if (c)
        print_command(stdout, c);
    if (!g->argc || c)
        return GOOD;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        return complain("out of memory");
    neso_status status = neso_help(ctx, g->argv[0], &text);
    int result = status == NESO_OK ? GOOD : report(g, ctx, status);
    fputs(text, stdout);
    neso_context_release(ctx);
    return result;
}

static int dispatch(int argc, char **argv)
{
    struct given g = {{0}, 0, NULL};
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        print_usage(stderr);
        return BAD;
    }
    if (strcmp(word, "--version") == 0) {
        printf("neso %s\n", neso_version());
        return GOOD;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_usage(stdout);
        return GOOD;
    }
    const struct command_row *c = find_command(word);
    if (!c)
        return unknown_command(word);
    int result = parse(c, argc - 2, argv + 2, &g);
    return result < 0 ? GOOD : result ? result : c->run(&g);
}

int main(int argc, char **argv)
{
    int result = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("cannot write the output: %s", strerror(errno));
    return result;
}
