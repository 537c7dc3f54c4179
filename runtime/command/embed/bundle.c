/* SPDX-License-Identifier: MIT */
/* bundle.c: implements `neso bundle`, which compiles recorded kernels into one file (a bundle), and compares a bundle
 * with a record.
 *
 *     neso run --record launches.txt train.py           records the launched kernels, and their options
 *     neso bundle launches.txt -o kernels.neso          writes the PTX of these kernels and their variants,
 *                                                       and the choices of autotuning
 *     neso run --bundle kernels.neso train.py           compiles nothing
 *     neso bundle --verify kernels.neso launches.txt    checks that the bundle has all recorded kernels
 */
#include "runtime/command/inspect/inspect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIELD_MOST = 8192, TARGETS_MOST = 16 };

/* A source file with kernels. */
struct file {
    char *path, *text;
    size_t length;
    neso_module *module;
    struct beside beside;
};

struct bundling {
    const struct given *given;
    neso_context *ctx;
    struct file **files;
    size_t nfiles;
    struct buffer *parts; /* bundles with one kernel each, and records of choices of autotuning */
    size_t nparts, nkernels;
    const char *program; /* the program that the current record names; NULL: the record names none */
    const char *targets[TARGETS_MOST]; /* the targets that --target lists */
    int ntargets;
    struct progress progress;
};

/* -- records -- */

/* Sets `out` to the value of a field of the record at `record`, which ends at an empty line. Returns false if the
 * record lacks the field. */
static bool field(const char *record, const char *name, char out[FIELD_MOST])
{
    size_t n = strlen(name);
    for (const char *s = record; *s && *s != '\n'; s += strcspn(s, "\n"), s += *s == '\n')
        if (strncmp(s, name, n) == 0 && s[n] == ' ') {
            size_t length = strcspn(s + n + 1, "\n");
            if (length >= FIELD_MOST)
                return false;
            memcpy(out, s + n + 1, length);
            out[length] = '\0';
            return true;
        }
    return false;
}

static int number_of(const char *record, const char *name)
{
    char text[FIELD_MOST];
    return field(record, name, text) ? atoi(text) : 0;
}

/* -- sources -- */

static char *copy(const char *s)
{
    struct buffer b = {0};
    put_string(&b, s);
    return b.s;
}

/* Returns the text of a file that a record names, and sets `path` to the file's path. If there is no file
 * with this name, searches the folder of the recorded program, because the program may have imported the
 * file. Returns NULL if the file is not found. The caller frees the text. */
static char *read_source(const struct bundling *b, const char *name, char path[FIELD_MOST], size_t *length)
{
    const char *slash = b->program ? strrchr(b->program, '/') : NULL;
    char *text = read_file(name, length);
    snprintf(path, FIELD_MOST, "%s", name);
    if (text || !slash)
        return text;
    int n = snprintf(path, FIELD_MOST, "%.*s/%s", (int)(slash - b->program), b->program, name);
    return n > 0 && n < FIELD_MOST ? read_file(path, length) : NULL;
}

/* Returns the module of a file; NULL after a message. The first call for a file reads the file. */
static neso_module *module_of(struct bundling *b, const char *name)
{
    char path[FIELD_MOST];
    size_t length = 0;
    for (size_t i = 0; i < b->nfiles; i++)
        if (strcmp(b->files[i]->path, name) == 0)
            return b->files[i]->module;
    char *text = read_source(b, name, path, &length);
    if (!text) {
        complain("cannot read %s, which has a recorded kernel: %s", name, strerror(errno));
        return NULL;
    }
    struct file *f = array_grown(NULL, 0, sizeof *f);
    *f = (struct file){.path = copy(name), .text = text, .length = length};
    b->files = array_grown(b->files, b->nfiles, sizeof(struct file *));
    b->files[b->nfiles++] = f;
    beside_open(&f->beside, b->program ? b->program : path);
    neso_status status =
        neso_module_from_files(b->ctx, name, text, length, beside_find, &f->beside, &f->module);
    report(b->given, b->ctx, status);
    return f->module;
}

static void bundling_free(struct bundling *b)
{
    for (size_t i = 0; i < b->nfiles; i++) {
        neso_module_release(b->files[i]->module);
        beside_close(&b->files[i]->beside);
        free(b->files[i]->path);
        free(b->files[i]->text);
        free(b->files[i]);
    }
    for (size_t i = 0; i < b->nparts; i++)
        buffer_free(&b->parts[i]);
    free(b->files);
    free(b->parts);
    if (b->ctx)
        neso_context_release(b->ctx);
}

/* -- compiling -- */

/* Adds a part to b->parts, unless b->parts already has an equal part. */
static void keep_part(struct bundling *b, const char *text, size_t length)
{
    for (size_t i = 0; i < b->nparts; i++)
        if (b->parts[i].n == length && memcmp(b->parts[i].s, text, length) == 0)
            return;
    b->parts = array_grown(b->parts, b->nparts, sizeof *b->parts);
    b->parts[b->nparts] = (struct buffer){0};
    put_bytes(&b->parts[b->nparts++], text, length);
    b->nkernels += strncmp(text, "choice ", 7) != 0;
}

/* Returns whether the kernel in `bundle` is the recorded kernel: whether the digests of their sources are equal. If
 * the digests cannot be compared, because one is missing or the targets differ, returns true. */
static bool is_recorded(const char *record, const char *bundle)
{
    char then[FIELD_MOST], now[FIELD_MOST], target_then[FIELD_MOST], target_now[FIELD_MOST];
    const char *entry = strstr(bundle, "\n\n") + 2; /* the text after the bundle's head */
    return !field(record, "source", then) || !field(entry, "source", now) ||
           !field(record, "target", target_then) || !field(entry, "target", target_now) ||
           strcmp(target_then, target_now) != 0 || strcmp(then, now) == 0;
}

static int add_kernel(struct bundling *b, neso_module *module, const char *record, const char *name,
                      const neso_compile_options *o)
{
    neso_kernel *kernel = NULL;
    const char *text = "";
    size_t length;
    char file[FIELD_MOST] = "";
    neso_status status = neso_kernel_compile(module, name, o, &kernel);
    if (status == NESO_OK)
        status = neso_kernel_text(kernel, NESO_TEXT_BUNDLE, &text, &length);
    progress_clear(&b->progress);
    int result = report(b->given, b->ctx, status);
    field(record, "file", file);
    if (result == GOOD && record && !is_recorded(record, text))
        result = complain(
            "%s in %s is not the kernel that was recorded: it was edited since, or it depends on what the "
            "program computes; record again",
            name, file);
    if (result == GOOD)
        keep_part(b, text, length);
    progress_show(&b->progress, "%zu kernels compiled, %s the last", b->nkernels, name);
    neso_kernel_release(kernel);
    return result;
}

/* Adds promises to o.signature in every way that a launch can, and compiles the kernel for each resulting signature.
 * Adds the compiled kernels to the bundle. */
static int add_variants(struct bundling *b, neso_module *module, const char *name, neso_compile_options o)
{
    const char *list;
    int result = report(b->given, b->ctx, neso_module_variants(module, name, &o, &list));
    if (result != GOOD)
        return result;
    char *text = copy(list);
    for (char *s = text, *end; result == GOOD && (end = strchr(s, '\n')) != NULL; s = end + 1) {
        *end = '\0';
        o.signature = s;
        result = add_kernel(b, module, "", name, &o);
    }
    free(text);
    return result;
}

static int add_record(struct bundling *b, const char *record)
{
    char name[FIELD_MOST], signature[FIELD_MOST], file[FIELD_MOST], target[FIELD_MOST], params[FIELD_MOST];
    if (!field(record, "kernel", name) || !field(record, "signature", signature) ||
        !field(record, "file", file) || !field(record, "target", target) || !field(record, "params", params))
        return complain("a record lacks the kernel, signature, file, target or params of a kernel");
    if (signature[0] == '?')
        return complain("no signature can describe how %s was launched (%s): an argument is a named tuple, a "
                        "function, or a descriptor with a size of 1",
                        name, signature + 2);
    neso_module *module = module_of(b, file);
    neso_compile_options o = {.size = sizeof o, .signature = signature, .target = target};
    o.num_warps = number_of(record, "num_warps");
    o.num_stages = number_of(record, "num_stages");
    o.max_registers = number_of(record, "max_registers");
    o.no_fp_fusion = !number_of(record, "fp_fusion");
    o.deterministic = number_of(record, "deterministic");
    o.fp_reassoc = number_of(record, "fp_reassoc");
    o.debug = number_of(record, "debug");
    for (char *s = params; *s; s++)
        *s = *s == ' ' ? ',' : *s;
    o.params = strcmp(params, "default") == 0 ? NULL : params;
    int result = module ? GOOD : BAD;
    for (int i = 0; result == GOOD && i < (b->ntargets ? b->ntargets : 1); i++) {
        o.target = b->ntargets ? b->targets[i] : target;
        result = add_kernel(b, module, record, name, &o);
        if (result == GOOD && b->given->options[OPTION_variants])
            result = add_variants(b, module, name, o);
    }
    return result;
}

/* Adds the kernels and choices of a file of records. */
static int add_records(struct bundling *b, const char *path)
{
    size_t length;
    char program[FIELD_MOST];
    char *text = read_file(path, &length);
    int result = GOOD;
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    if (strncmp(text, "neso record 1\n", 14) != 0)
        result = complain("%s is no record: `neso run --record FILE` writes one", path);
    else
        b->program = field(text, "program", program) ? program : NULL;
    for (const char *s = text, *end; result == GOOD && s; s = end ? end + 2 : NULL) {
        end = strstr(s, "\n\n");
        if (strncmp(s, "choice ", 7) == 0)
            keep_part(b, s, end ? (size_t)(end - s) + 1 : strlen(s));
        else if (strncmp(s, "kernel ", 7) == 0)
            result = add_record(b, s);
    }
    free(text);
    return result;
}

/* -- writing and checking -- */

static int write_bundle(struct bundling *b, const char *path)
{
    const char **texts = NULL, *text;
    size_t *lengths = NULL, length;
    for (size_t i = 0; i < b->nparts; i++) {
        texts = array_grown(texts, i, sizeof *texts);
        lengths = array_grown(lengths, i, sizeof *lengths);
        texts[i] = b->parts[i].s;
        lengths[i] = b->parts[i].n;
    }
    progress_clear(&b->progress);
    neso_status status = neso_bundle_join(b->ctx, texts, lengths, b->nparts, &text, &length);
    int result = report(b->given, b->ctx, status);
    if (result == GOOD)
        result = write_file(path, text, length);
    if (result == GOOD)
        fprintf(stderr, "neso: %s: %zu kernel%s, %zu choice%s of autotuning, %zu KB\n", path, b->nkernels,
                b->nkernels == 1 ? "" : "s", b->nparts - b->nkernels, b->nparts - b->nkernels == 1 ? "" : "s",
                (length + 1023) / 1024);
    free(texts);
    free(lengths);
    return result;
}

int use_bundle(const struct given *g, neso_context *ctx, const char *path)
{
    size_t length;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    int result = report(g, ctx, neso_context_use_bundle(ctx, path, text, length));
    free(text);
    return result;
}

static int verify(struct bundling *b, const char *bundle)
{
    const struct given *g = b->given;
    int result = use_bundle(g, b->ctx, bundle);
    for (int i = 0; result == GOOD && i < g->argc; i++) {
        size_t length;
        char *text = read_file(g->argv[i], &length);
        if (!text)
            return complain("cannot read %s: %s", g->argv[i], strerror(errno));
        result = report(g, b->ctx, neso_bundle_check(b->ctx, text, length));
        free(text);
    }
    return result == GOOD ? GOOD : FAILED;
}

/* Reads the value of --target: names of targets, separated by commas. Sets b->targets to the names in `list`,
 * in which it replaces the commas by zero bytes. */
static int read_targets(struct bundling *b, char *list)
{
    for (char *s = list; *s;) {
        char *end = s + strcspn(s, ",");
        if (b->ntargets == TARGETS_MOST)
            return complain("--target: more than %d targets", TARGETS_MOST);
        b->targets[b->ntargets++] = s;
        s = *end ? end + 1 : end;
        *end = '\0';
    }
    return GOOD;
}

int bundle_command(const struct given *g)
{
    struct bundling b = {.given = g};
    const char *out = g->options[OPTION_output], *checked = g->options[OPTION_verify];
    char targets[1024];
    if (!out == !checked)
        return complain("bundle needs either --output FILE or --verify FILE");
    snprintf(targets, sizeof targets, "%s", g->options[OPTION_target] ? g->options[OPTION_target] : "");
    int result = read_targets(&b, targets);
    if (result == GOOD && neso_context_create(NULL, &b.ctx) != NESO_OK)
        result = complain("out of memory");
    progress_begin(&b.progress);
    if (result == GOOD && checked)
        result = verify(&b, checked);
    for (int i = 0; result == GOOD && !checked && i < g->argc; i++)
        result = add_records(&b, g->argv[i]);
    if (result == GOOD && !checked)
        result = write_bundle(&b, out);
    progress_clear(&b.progress);
    bundling_free(&b);
    return result;
}
