/* SPDX-License-Identifier: MIT */
/* main.c: the command `neso`. The command calls only the public functions of neso.h and libc, so every
 * program that embeds neso can do what the command does.
 *
 * Two tables, of commands and of options, drive parsing, help and messages. Only the files of the command read the
 * environment, open files, print and exit. Exit status: 0 success, 1 the program failed, 2 bad usage or bad input. */
#include "runtime/command/command.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const struct option_row option_rows[] = {
#define X(name, letter, word, argument, where, meaning) {letter, word, argument, where, meaning},
    OPTIONS(X)
#undef X
};

const struct command_row command_rows[] = {
    {RUN, "run", "[OPTION...] PROGRAM.py [ARG...]", 1, -1, run_command,
     "run a whole program: host code, and kernels on a device; what stands behind PROGRAM.py is the "
     "program's"},
    {COMPILE, "compile", "FILE.py[::KERNEL] | FILE.ir[::KERNEL] | BUNDLE.neso[::KERNEL]", 1, 1,
     compile_command,
     "compile one kernel, and print a stage of it; without --signature as the file launches it"},
    {CHECK, "check", "FILE.py... | -", 1, 1000, check_command,
     "look for errors: compile what the programs launch, and the other kernels with types that fit; run "
     "nothing"},
    {LSP, "lsp", "", 0, 0, lsp_command,
     "serve an editor over standard input and output: errors, types and layouts of tiles, names of the "
     "language"},
    {VARIANTS, "variants", "FILE.py[::KERNEL]", 1, 1, variants_command,
     "list the specializations that launches can make of a signature; without --signature of the types with "
     "which the "
     "file launches the kernel"},
    {BUNDLE, "bundle", "RECORD...", 1, 1000, bundle_command,
     "compile what `neso run --record` wrote into one file, with which programs compile nothing"},
    {CAPSULE, "capsule", "[OPTION...] PROGRAM.py [ARG...]", 1, -1, capsule_command,
     "run a program, and write one launch into a file: kernel, arguments, memory, and what it did"},
    {REPLAY, "replay", "FILE.capsule", 1, 1, replay_command,
     "launch a capsule's kernel again on any device, and compare; --reduce makes the capsule small"},
    {INSPECT, "inspect", "FILE.py[::KERNEL] | FILE.ir[::KERNEL]", 1, 1, inspect_command,
     "show one compiled kernel: every stage, and the reasons for its decisions"},
    {BENCH, "bench", "PROGRAM.py...", 0, 1000, bench_command,
     "compare the kernels' speed with a base; without a GPU, their costs"},
    {DIFF, "diff", "BUILD [BUILD]", 1, 2, diff_command,
     "compare two builds: FILE.py::KERNEL, or FILE.json of inspect --json"},
    {DOCTOR, "doctor", "", 0, 0, doctor_command,
     "show what this machine has: driver, GPUs, assembler, disassembler"},
    {COMPLETION, "completion", "bash | zsh | fish", 1, 1, completion_command,
     "print a script that completes the command line of neso in that shell"},
    {HELP, "help", "[COMMAND | TOPIC | NAME]", 0, 1, help_command,
     "print this help, a table, or what is known of a name such as tl.load"},
};
const int ncommand_rows = (int)(sizeof command_rows / sizeof *command_rows);

/* -- messages -- */

int complain(const char *format, ...)
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

int report(const struct given *g, neso_context *ctx, neso_status status)
{
    const char *text = g->options[OPTION_json] ? neso_diagnostics_json(ctx) : neso_error_text(ctx);
    fflush(stdout);
    if (neso_diagnostic_count(ctx) > 0 || status != NESO_OK)
        print_messages(g, text);
    return status == NESO_OK ? GOOD : status == NESO_FAILED ? FAILED : BAD;
}

/* Returns the edit distance of two words; 32 if one is longer than 32 bytes. */
size_t word_distance(const char *a, const char *b)
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

bool is_switched_on(const char *variable)
{
    static const char *const words[] = {"1", "y", "on", "yes", "true"};
    const char *value = getenv(variable);
    for (size_t i = 0; value && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i]) == 0)
            return true;
    return false;
}

static void put_commands(void)
{
    for (int i = 0; i < ncommand_rows; i++)
        fprintf(stderr, "    %-10s %s\n", command_rows[i].word, command_rows[i].meaning);
}

static int unknown_command(const char *word)
{
    complain("unknown command '%s': the commands are", word);
    put_commands();
    return BAD;
}

static int unknown_option(const struct command_row *c, const char *word, size_t n)
{
    char name[40], suggestion[80] = "";
    snprintf(name, sizeof name, "%.*s", (int)n, word);
    size_t best = 3;
    for (int i = 0; i < OPTIONS_END; i++) {
        bool begins = n >= 2 && strncmp(name, option_rows[i].word, n) == 0;
        size_t d = begins ? 0 : word_distance(name, option_rows[i].word);
        if ((option_rows[i].where & (int)c->bit) && d < best && d < strlen(option_rows[i].word)) {
            best = d;
            snprintf(suggestion, sizeof suggestion, "; did you mean --%s?", option_rows[i].word);
        }
    }
    complain("%s has no option --%s%s", c->word, name, suggestion);
    return complain("see `neso help %s`", c->word);
}

enum option find_option(const struct command_row *c, const char *arg, const char **value)
{
    const char *word = arg + 2, *equals = strchr(arg, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    bool is_letter = arg[1] != '-';
    *value = equals && !is_letter ? equals + 1 : NULL;
    for (int i = 0; i < OPTIONS_END; i++) {
        const struct option_row *o = &option_rows[i];
        if (!(o->where & (int)c->bit))
            continue;
        if (is_letter ? arg[1] == o->letter && !arg[2]
                      : strlen(o->word) == n && memcmp(o->word, word, n) == 0)
            return (enum option)i;
    }
    return OPTIONS_END;
}

/* Stores the value of an option. If an option is repeated, its last value replaces the others; only the
 * values of --param, and of --to-param, are joined with commas. Returns false if the joined values are too
 * long. */
static bool keep_value(struct given *g, enum option o, const char *value)
{
    if (g->options[o] && (o == OPTION_param || o == OPTION_to_param)) {
        char *all = g->params[o == OPTION_to_param], before[sizeof g->params[0]];
        snprintf(before, sizeof before, "%s", g->options[o]);
        int n = snprintf(all, sizeof g->params[0], "%s,%s", before, value);
        value = all;
        if (n < 0 || (size_t)n >= sizeof g->params[0])
            return false;
    }
    g->options[o] = value;
    return true;
}

/* Reads the options and arguments of a command. A command that passes arguments to a program (such as `run`) has no
 * options after its first argument, the name of the program: all further words belong to the program. Returns
 * an exit status, or -1 if --help has printed the command's help. */
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
            return arg[1] == '-' ? unknown_option(c, arg + 2, strcspn(arg + 2, "="))
                                 : unknown_option(c, arg + 1, 1);
        const struct option_row *row = &option_rows[o];
        if (value && !row->argument)
            return complain("--%s takes no argument", row->word);
        bool needs = row->argument && *row->argument != '[';
        if (!value && needs && i + 1 == argc)
            return complain("--%s needs %s: %s", row->word, row->argument, row->meaning);
        value = value ? value : needs ? argv[++i] : "";
        if (!keep_value(g, o, value))
            return complain("--%s: more than %zu characters in all", row->word, sizeof g->params[0] - 1);
    }
    if (g->argc < c->least)
        return complain("usage: neso %s %s", c->word, c->arguments);
    if (c->most >= 0 && g->argc > c->most)
        return complain("unexpected '%s'; usage: neso %s %s", g->argv[c->most], c->word, c->arguments);
    return GOOD;
}

bool number(const struct given *g, enum option o, int *out)
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

char *read_file(const char *path, size_t *length)
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

int write_file(const char *path, const void *bytes, size_t length)
{
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(bytes, 1, length, f) == length;
    if (f && fclose(f) != 0)
        good = false;
    return good ? GOOD : complain("cannot write %s: %s", path, strerror(errno));
}

/* -- contexts -- */

bool cache_folder(char *out, size_t n)
{
    const char *off = getenv("NESO_CACHE"), *folder = getenv("NESO_CACHE_DIR");
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (off && strcmp(off, "off") == 0)
        return false;
    if (folder && *folder)
        length = snprintf(out, n, "%s", folder);
    else if (xdg && *xdg == '/')
        length = snprintf(out, n, "%s/neso", xdg);
    else if (home && *home)
        length = snprintf(out, n, "%s/.cache/neso", home);
    else
        return false;
    return length >= 0 && (size_t)length < n;
}

bool context_open(const struct given *g, size_t memory_limit, int64_t time_limit_ms, neso_context **ctx)
{
    neso_context_options o = {.size = sizeof o, .memory_limit = memory_limit, .time_limit_ms = time_limit_ms};
    return context_open_with(g, &o, ctx);
}

bool context_open_with(const struct given *g, neso_context_options *o, neso_context **ctx)
{
    char folder[PATH_MAX];
    const char *word = getenv("NESO_CACHE");
    if (word && *word && strcmp(word, "off") != 0 && strcmp(word, "strict") != 0 && strcmp(word, "on") != 0) {
        complain("NESO_CACHE: expected on, off or strict, found '%s'", word);
        return false;
    }
    if (!g->options[OPTION_no_cache] && cache_folder(folder, sizeof folder))
        o->cache = folder;
    o->cache_strict = word && strcmp(word, "strict") == 0 && !g->options[OPTION_precompile];
    if (o->cache_strict && !o->cache && !g->options[OPTION_no_cache]) {
        complain("NESO_CACHE=strict, and no folder for it: set NESO_CACHE_DIR");
        return false;
    }
    neso_status status = neso_context_create(o, ctx);
    o->cache = NULL; /* the context has a copy of the folder's name */
    if (status == NESO_OK)
        return true;
    complain("out of memory");
    return false;
}

static int dispatch(int argc, char **argv)
{
    struct given g = {.argc = 0};
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        fprintf(stderr, "neso %s: Triton kernels to PTX. The commands are\n", neso_version());
        put_commands();
        fprintf(stderr, "`neso help COMMAND` shows the options of one, `neso help` all, `neso run FILE.py` "
                        "runs a program\n");
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
    if (result == GOOD && !check_colour(&g))
        result = BAD;
    return result < 0 ? GOOD : result ? result : c->run(&g);
}

int main(int argc, char **argv)
{
    int result = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout))
        return complain("cannot write the output: %s", strerror(errno));
    return result;
}
