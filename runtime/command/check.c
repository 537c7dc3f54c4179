/* SPDX-License-Identifier: MIT */
/* check.c: implements `neso check FILE...`, which finds errors without running kernels.
 *
 * First the host code of a file runs until it ends or fails. Each launch compiles its kernel for a GPU, but does not
 * run it (launches.c). Then each kernel that the file does not launch is compiled with guessed types: the names of
 * parameters suggest which of them are pointers. The command changes the guess for one parameter after the other, and
 * keeps a change that leaves fewer errors. An error is reported only if it occurs with every guess, because any other
 * error may come from a wrong guess. A function whose name occurs elsewhere in the file is not compiled alone, but as
 * a part of the kernels that call it.
 * For example, the first guess for the following kernel is "X=*fp32, Y=*fp32, n=i32, factor=i32, BLOCK=64":
 *
 *     def scale(X, Y, n, factor, BLOCK: tl.constexpr)
 */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* -- JSON: the messages about all files as one array -- */

struct checking {
    const struct given *given;
    const char *path, *text;
    size_t length;
    bool is_json, any_json; /* any_json: the array already has an item */
    /* receives the items of the array; NULL: the items are printed on standard output */
    struct buffer *items;
    int nerrors;
};

/* Adds the items of `array`, which is the text "[...]", to the array of all messages. */
static void put_items(struct checking *c, const char *array)
{
    const char *from = strchr(array, '['), *to = strrchr(array, ']');
    if (!from || !to || to <= from + 1)
        return;
    if (c->items)
        put_format(c->items, "%s%.*s", c->any_json ? ",\n" : "", (int)(to - from - 1), from + 1);
    else
        printf("%s%.*s", c->any_json ? ",\n" : "", (int)(to - from - 1), from + 1);
    c->any_json = true;
}

static void put_messages(struct checking *c, neso_context *ctx)
{
    if (c->is_json)
        put_items(c, neso_diagnostics_json(ctx));
    else
        print_messages(c->given, neso_error_text(ctx));
}

static int count_errors(neso_context *ctx)
{
    neso_diagnostic d = {.size = sizeof d};
    int n = 0;
    for (size_t i = 0; neso_diagnostic_get(ctx, i, &d); i++)
        n += d.severity == NESO_ERROR;
    return n;
}

/* -- kernels that no launch compiles -- */

enum { PARAMS_MOST = 512, ERRORS_MOST = 20 };
enum guess { POINTER, INTEGER, FLOAT, CONSTANT, GUESSES };

struct param {
    char name[64];
    enum guess guess;
};

struct error {
    char tag[48];
    uint32_t line, column;
    uint64_t message;  /* a hash of the error's text */
    bool is_of_shapes; /* the message is about shapes, which do not depend on the guessed types of elements */
};

struct trial {
    int nparams;
    struct param params[PARAMS_MOST];
    /* the number of errors with the last guess, and the number of errors that occurred with every guess */
    int nerrors, ncommon;
    struct error errors[ERRORS_MOST], common[ERRORS_MOST];
    bool any;             /* at least one guess has been compiled */
    const char *constant; /* the value that each constexpr parameter gets */
};

static void print_signature(const struct trial *t, struct buffer *out)
{
    const char *const words[GUESSES] = {"*fp32", "i32", "fp32", t->constant};
    put_string(out, "");
    for (int i = 0; i < t->nparams; i++)
        put_format(out, "%s%s=%s", i ? ", " : "", t->params[i].name, words[t->params[i].guess]);
}

/* Guesses a parameter's type from its name: "X", "x_ptr" and "Out" are usually pointers. */
static enum guess guess_of(const char *name)
{
    size_t n = strlen(name);
    bool is_pointer = isupper((unsigned char)*name) || strstr(name, "ptr") || strstr(name, "_desc") || n == 1;
    bool is_size = strchr("MNKnmkHBT", *name) && (n == 1 || name[1] == '_');
    return strstr(name, "stride") || is_size || !is_pointer ? INTEGER : POINTER;
}

/* Extracts the name in quotes from a message such as: parameter 'X' of ... */
static bool quoted(const char *message, char *out, size_t n)
{
    const char *from = strchr(message, '\''), *to = from ? strchr(from + 1, '\'') : NULL;
    if (!to || (size_t)(to - from) > n)
        return false;
    snprintf(out, n, "%.*s", (int)(to - from - 1), from + 1);
    return true;
}

static struct param *find_param(struct trial *t, const char *name)
{
    for (int i = 0; i < t->nparams; i++)
        if (strcmp(t->params[i].name, name) == 0)
            return &t->params[i];
    return NULL;
}

/* Adds each parameter that a message reports as missing to the guess, and makes a parameter constant if a
 * message requires this. Returns whether the guess has changed; if so, the kernel must be compiled again. */
static bool learn(struct trial *t, neso_context *ctx)
{
    neso_diagnostic d = {.size = sizeof d};
    bool again = false;
    for (size_t i = 0; neso_diagnostic_get(ctx, i, &d); i++) {
        char name[64];
        if (!quoted(d.message, name, sizeof name))
            continue;
        struct param *known = find_param(t, name);
        if (strcmp(d.tag, "signature-missing") == 0 && !known && t->nparams < PARAMS_MOST) {
            struct param *p = &t->params[t->nparams++];
            snprintf(p->name, sizeof p->name, "%s", name);
            p->guess = guess_of(name);
            again = true;
        } else if (strcmp(d.tag, "signature-constexpr") == 0 && known && known->guess != CONSTANT) {
            known->guess = CONSTANT;
            again = true;
        }
    }
    return again;
}

static struct error error_of(const neso_diagnostic *d)
{
    static const char *const tags[] = {"shape-broadcast", "broadcast-to", "broadcast-rank", "pointer-shape",
                                       "reshape-numel",   "cat-shapes",   "dot-inner",      "dot-batch",
                                       "dot-acc-shape",   "reduce-shapes"};
    struct error e = {.line = d->line, .column = d->column, .message = 1469598103934665603u};
    memcpy(e.tag, d->tag, sizeof e.tag);
    for (const char *s = d->message; *s; s++)
        e.message = (e.message ^ (unsigned char)*s) * 1099511628211u;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        e.is_of_shapes |= strcmp(d->tag, tags[i]) == 0;
    return e;
}

/* Returns whether the diagnostic is an error that counts. A failed static assertion does not count, because a wrong
 * guess may cause it. */
static bool is_certain(const neso_diagnostic *d)
{
    return d->severity == NESO_ERROR && strcmp(d->tag, "static-assert") != 0;
}

static void take_errors(struct trial *t, neso_context *ctx)
{
    neso_diagnostic d = {.size = sizeof d};
    t->nerrors = 0;
    for (size_t i = 0; neso_diagnostic_get(ctx, i, &d) && t->nerrors < ERRORS_MOST; i++)
        if (is_certain(&d))
            t->errors[t->nerrors++] = error_of(&d);
}

static bool has_error(const struct error *errors, int n, const struct error *x)
{
    for (int i = 0; i < n; i++)
        if (errors[i].line == x->line && errors[i].column == x->column &&
            strcmp(errors[i].tag, x->tag) == 0 && (!x->is_of_shapes || errors[i].message == x->message))
            return true;
    return false;
}

/* After the first guess, sets t->common to its errors. After each further guess, removes from t->common the
 * errors that did not occur with it. */
static void keep_common(struct trial *t)
{
    int n = 0;
    if (!t->any) {
        memcpy(t->common, t->errors, sizeof t->common);
        n = t->nerrors;
    } else {
        for (int i = 0; i < t->ncommon; i++)
            if (has_error(t->errors, t->nerrors, &t->common[i]))
                t->common[n++] = t->common[i];
    }
    t->ncommon = n;
    t->any = true;
}

/* Compiles the kernel with the guess, up to the IR. The messages stay in the context. */
static void compile_guess(struct trial *t, neso_context *ctx, neso_module *module, const char *kernel)
{
    neso_kernel *made = NULL;
    bool again = true;
    for (int rounds = 0; again && rounds < 2 * PARAMS_MOST; rounds++) {
        struct buffer signature = {0};
        neso_compile_options o = {.size = sizeof o, .until = NESO_TEXT_IR};
        print_signature(t, &signature);
        o.signature = signature.s;
        neso_status status = neso_kernel_compile(module, kernel, &o, &made);
        buffer_free(&signature);
        again = status != NESO_OK && learn(t, ctx);
        if (status == NESO_OK)
            neso_kernel_release(made);
    }
    take_errors(t, ctx);
    keep_common(t);
}

/* Changes the guess for one parameter after the other, and keeps each change that leaves fewer errors. */
static void improve(struct trial *t, neso_context *ctx, neso_module *module, const char *kernel)
{
    int best = t->nerrors;
    for (int i = 0; i < t->nparams && best > 0; i++) {
        enum guess old = t->params[i].guess, kept = old;
        for (enum guess x = POINTER; x < CONSTANT && best > 0; x++) {
            if (old == CONSTANT || x == old)
                continue;
            t->params[i].guess = x;
            compile_guess(t, ctx, module, kernel);
            if (t->nerrors < best) {
                best = t->nerrors;
                kept = x;
            }
        }
        t->params[i].guess = kept;
    }
    t->nerrors = best;
}

static void put_line(struct buffer *out, const char *text, uint32_t line, uint32_t column, uint32_t length)
{
    for (uint32_t i = 1; i < line && text; i++)
        text = strchr(text, '\n') ? strchr(text, '\n') + 1 : NULL;
    if (!text)
        return;
    put_format(out, "%5u | %.*s\n      | ", (unsigned)line, (int)strcspn(text, "\n"), text);
    for (uint32_t i = 1; i < column; i++)
        put_string(out, " ");
    for (uint32_t i = 0; i < (length ? length : 1); i++)
        put_string(out, i ? "~" : "^");
    put_string(out, "\n");
}

static void put_json_message(struct checking *c, const neso_diagnostic *d, struct buffer *out)
{
    static const char *const severities[] = {
        [NESO_ERROR] = "error", [NESO_WARNING] = "warning", [NESO_NOTE] = "note", [NESO_HINT] = "hint"};
    put_format(out, "{\"severity\": \"%s\", \"tag\": \"%s\", \"message\": ", severities[d->severity], d->tag);
    put_json(out, d->message, strlen(d->message));
    if (d->severity == NESO_ERROR || d->line) {
        const char *file = d->file ? d->file : c->path;
        put_string(out, ", \"file\": ");
        put_json(out, file, strlen(file));
        put_format(out, ", \"line\": %u, \"column\": %u, \"length\": %u", (unsigned)d->line,
                   (unsigned)d->column, (unsigned)d->length);
    }
}

static void put_text_message(struct checking *c, const neso_diagnostic *d, struct buffer *out)
{
    if (d->severity == NESO_HINT) {
        put_format(out, "hint: %s\n", d->message);
        return;
    }
    put_format(out, "%s:%u:%u: ", d->file ? d->file : c->path, (unsigned)d->line, (unsigned)d->column);
    if (d->severity == NESO_ERROR) {
        put_format(out, "error: %s [%s]\n", d->message, d->tag);
        put_line(out, c->text, d->line, d->column, d->length);
    } else {
        put_format(out, "note: %s\n", d->message);
    }
}

/* Prints those errors in the context that occurred with every guess, with their notes and hints. */
static void put_common(struct checking *c, const struct trial *t, neso_context *ctx, const char *kernel)
{
    neso_diagnostic d = {.size = sizeof d};
    struct buffer out = {0};
    int nerrors = 0, nnotes = 0;
    bool is_kept = false; /* whether the last error, to which the following notes belong, is printed */
    put_string(&out, c->is_json ? "[" : "");
    for (size_t i = 0; neso_diagnostic_get(ctx, i, &d); i++) {
        struct error e = error_of(&d);
        bool is_note = d.severity == NESO_NOTE || d.severity == NESO_HINT;
        if (!is_note) {
            bool was_kept = is_kept;
            is_kept = d.severity == NESO_ERROR && has_error(t->common, t->ncommon, &e);
            if (was_kept)
                put_format(&out, c->is_json ? "]}" : "      in %s, which this file does not launch\n",
                           kernel);
            nnotes = 0;
        }
        if (!is_kept)
            continue;
        if (!c->is_json) {
            put_text_message(c, &d, &out);
            continue;
        }
        put_string(&out, is_note && nnotes++ ? ", " : !is_note && nerrors++ ? ",\n" : "");
        put_json_message(c, &d, &out);
        put_string(&out, is_note ? "}" : ", \"notes\": [");
    }
    if (is_kept)
        put_format(&out, c->is_json ? "]}" : "      in %s, which this file does not launch\n", kernel);
    put_string(&out, c->is_json ? "]" : "");
    if (c->is_json)
        put_items(c, out.s);
    else
        print_messages(c->given, out.s);
    buffer_free(&out);
}

/* Finds errors about shapes that do not come from a wrong guess. Called if every guess of the types leaves
 * errors, but t->common is empty: with a bad guess, the compilation may end before it finds an error about
 * shapes. So this function compiles only the best guess, once for each value in `constants` of the
 * constexpr parameters. The errors are certain if all of them are about shapes, and their messages are the
 * same for all constants. Then t->common receives them; otherwise t->ncommon becomes 0. */
static void find_shape_errors(struct trial *t, neso_context *ctx, neso_module *module, const char *kernel,
                              const char *const constants[], size_t nconstants)
{
    t->any = false;
    for (size_t i = 0; i < nconstants; i++) {
        t->constant = constants[i];
        compile_guess(t, ctx, module, kernel);
        for (int k = 0; k < t->nerrors; k++)
            if (!t->errors[k].is_of_shapes)
                t->ncommon = 0;
        if (t->ncommon != t->nerrors) {
            t->ncommon = 0;
            return;
        }
    }
}

static void check_kernel(struct checking *c, neso_context *ctx, neso_module *module, const char *kernel)
{
    static const char *const constants[] = {"128", "16", "64"};
    const size_t n = sizeof constants / sizeof *constants;
    struct trial *t = calloc(1, sizeof *t);
    if (!t)
        exit(complain("out of memory"));
    t->constant = "64";
    compile_guess(t, ctx, module, kernel);
    improve(t, ctx, module, kernel);
    int nerrors = t->nerrors;
    for (size_t i = 0; i < n && nerrors && t->ncommon; i++) {
        t->constant = constants[i];
        compile_guess(t, ctx, module, kernel);
    }
    if (nerrors && !t->ncommon)
        find_shape_errors(t, ctx, module, kernel, constants, n);
    if (nerrors && t->ncommon) {
        put_common(c, t, ctx, kernel);
        c->nerrors += t->ncommon;
    } else if (nerrors && !c->is_json) {
        fprintf(stderr,
                "%s: note: %s is not checked: this file does not launch it, and no types were found that "
                "fit; give `neso "
                "compile` a signature\n",
                c->path, kernel);
    }
    free(t);
}

/* -- files -- */

static bool is_launched(const struct launches *l, const char *kernel)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->at[i].kernel, kernel) == 0)
            return true;
    return false;
}

/* Returns whether the function's name occurs in the file outside of its definition. */
static bool is_named(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = text; (s = strstr(s, name)) != NULL; s += n) {
        bool starts = s == text || !(isalnum((unsigned char)s[-1]) || s[-1] == '_');
        bool ends = !(isalnum((unsigned char)s[n]) || s[n] == '_');
        bool is_definition = s - text >= 4 && strncmp(s - 4, "def ", 4) == 0;
        if (starts && ends && !is_definition)
            return true;
    }
    return false;
}

static void check_others(struct checking *c, const struct launches *l)
{
    neso_context *ctx;
    neso_module *module;
    struct beside beside;
    if (neso_context_create(NULL, &ctx) != NESO_OK)
        exit(complain("out of memory"));
    beside_open(&beside, c->path);
    if (neso_module_from_files(ctx, c->path, c->text, c->length, beside_find, &beside, &module) == NESO_OK) {
        for (size_t i = 0; neso_module_kernel(module, i); i++)
            if (!is_launched(l, neso_module_kernel(module, i)) &&
                !is_named(c->text, neso_module_kernel(module, i)))
                check_kernel(c, ctx, module, neso_module_kernel(module, i));
        neso_module_release(module);
    }
    beside_close(&beside);
    neso_context_release(ctx);
}

/* Returns whether the host code ended because it exceeded a limit, which is not an error of the program. */
static bool has_reached_limit(neso_context *ctx)
{
    neso_diagnostic d = {.size = sizeof d};
    bool limited = false;
    for (size_t i = 0; neso_diagnostic_get(ctx, i, &d); i++)
        limited |= d.severity == NESO_ERROR &&
                   (strcmp(d.tag, "time-limit") == 0 || strcmp(d.tag, "memory-limit") == 0);
    return limited;
}

static void check_text(struct checking *c)
{
    struct launches l;
    neso_context *ctx;
    neso_status status = launches_find(c->given, c->path, c->text, c->length, &ctx, &l);
    if (!ctx)
        exit(complain("out of memory"));
    int nerrors = count_errors(ctx);
    if (has_reached_limit(ctx) && nerrors == 1) {
        nerrors = 0;
        if (!c->is_json)
            fprintf(stderr,
                    "%s: note: the host part needs too much time or memory: what it launches later is not "
                    "checked\n",
                    c->path);
    } else {
        put_messages(c, ctx);
        nerrors += status != NESO_OK && !nerrors;
    }
    c->nerrors += nerrors;
    neso_context_release(ctx);
    /* errors of the host code or of launched kernels may cause errors of the other kernels, so check the
     * other kernels only if there are none so far */
    if (nerrors == 0)
        check_others(c, &l);
    launches_free(&l);
}

void check_json(const struct given *g, const char *path, const char *text, size_t length, struct buffer *out)
{
    struct checking c = {
        .given = g, .path = path, .text = text, .length = length, .is_json = true, .items = out};
    put_string(out, "[");
    check_text(&c);
    put_string(out, "]");
}

bool check_guess(neso_context *ctx, neso_module *module, const char *kernel, struct buffer *signature)
{
    struct trial *t = calloc(1, sizeof *t);
    if (!t)
        exit(complain("out of memory"));
    t->constant = "64";
    compile_guess(t, ctx, module, kernel);
    improve(t, ctx, module, kernel);
    print_signature(t, signature);
    bool fits = t->nerrors == 0;
    free(t);
    return fits;
}

/* Reads standard input to its end, and returns it. */
static char *read_input(size_t *length)
{
    struct buffer b = {0};
    char part[4096];
    size_t n;
    put_string(&b, "");
    while ((n = fread(part, 1, sizeof part, stdin)) > 0)
        put_bytes(&b, part, n);
    *length = b.n;
    return b.s;
}

/* Checks all files once. */
static int check_all(const struct given *g)
{
    struct checking c = {.given = g, .is_json = g->options[OPTION_json] != NULL};
    int accesses = GOOD;
    if (c.is_json && !g->options[OPTION_accesses])
        printf("[");
    for (int i = 0; i < g->argc; i++) {
        bool is_input = strcmp(g->argv[i], "-") == 0;
        char *text = is_input ? read_input(&c.length) : read_file(g->argv[i], &c.length);
        if (!text)
            return complain("cannot read %s: %s", g->argv[i], strerror(errno));
        c.path = is_input ? "stdin.py" : g->argv[i];
        c.text = text;
        if (g->options[OPTION_accesses])
            accesses = check_accesses(g, c.path, c.text, c.length) == GOOD ? accesses : FAILED;
        else
            check_text(&c);
        free(text);
    }
    if (c.is_json && !g->options[OPTION_accesses])
        puts("]");
    return c.nerrors ? FAILED : accesses;
}

static unsigned long stamp_all(const struct given *g)
{
    unsigned long stamp = 0;
    for (int i = 0; i < g->argc; i++)
        stamp += sources_stamp(g->argv[i]);
    return stamp;
}

/* Checks the files, and checks them again whenever one is saved, until the process is killed. Each check
 * prints a line at its end; with --json, it prints one array instead. */
static _Noreturn void watch(const struct given *g)
{
    const struct timespec pause = {.tv_nsec = 50 * 1000 * 1000};
    for (;;) {
        unsigned long checked = stamp_all(g), now, before;
        int result = check_all(g);
        if (!g->options[OPTION_json])
            fprintf(stderr, "neso: %s; waiting for a change (Ctrl-C ends)\n",
                    result == GOOD ? "no errors" : "errors");
        fflush(stdout);
        /* Some programs save in two steps: they empty the file, then write it. So wait until a file has
         * changed, and then until no file changes during a pause. */
        for (now = before = checked; now == checked || now != before; now = stamp_all(g)) {
            before = now;
            nanosleep(&pause, NULL);
        }
    }
}

int check_command(const struct given *g)
{
    for (int i = 0; i < g->argc && g->options[OPTION_watch]; i++)
        if (strcmp(g->argv[i], "-") == 0)
            return complain("--watch needs files: standard input does not change");
    if (g->options[OPTION_watch])
        watch(g);
    return check_all(g);
}
