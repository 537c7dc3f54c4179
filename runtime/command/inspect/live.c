/* SPDX-License-Identifier: MIT */
/* live.c: makes the builds that the page of `neso inspect --serve` requests. A request is the query of a URL, and
 * optionally the source that the user has edited in the page. Each field of the query replaces an option of the
 * command line:
 *
 *     build.json?signature=*fp32:16,+i32,+256&target=sm_80    ──►  {"build": ..., "ms": 3.1, "messages": ""}
 *     build.json?...&complete=1                               adds hints, SASS and ptxas's output; is slower
 *
 * Every request has its own context, so a failed build does not affect later builds. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* -- the query -- */

/* Decodes the URL encoding of a field's value in the query, and appends the value. Returns false if the query
 * has no such field. */
static bool find_field(const char *query, const char *name, struct buffer *out)
{
    size_t n = strlen(name);
    const char *s = query;
    while (strncmp(s, name, n) != 0 || s[n] != '=') {
        s += strcspn(s, "&");
        if (!*s++)
            return false;
    }
    put_string(out, "");
    for (s += n + 1; *s && *s != '&'; s++) {
        char digits[3] = {s[0] == '%' ? s[1] : '\0', s[0] == '%' && s[1] ? s[2] : '\0', '\0'};
        bool is_code = isxdigit((unsigned char)digits[0]) && isxdigit((unsigned char)digits[1]);
        char c = is_code ? (char)strtol(digits, NULL, 16) : *s == '+' ? ' ' : *s;
        if (c)
            put_bytes(out, &c, 1);
        s += is_code ? 2 : 0;
    }
    return true;
}

/* The fields of the form on the page. */
enum {
    FIELD_kernel,
    FIELD_signature,
    FIELD_target,
    FIELD_num_warps,
    FIELD_num_stages,
    FIELD_maxnreg,
    FIELD_skip,
    FIELD_param,
    FIELDS
};
static const struct field {
    const char *name;
    enum option option;
} fields[FIELDS] = {
    {"kernel", OPTIONS_END},         {"signature", OPTION_signature},   {"target", OPTION_target},
    {"num_warps", OPTION_num_warps}, {"num_stages", OPTION_num_stages}, {"maxnreg", OPTION_maxnreg},
    {"skip", OPTION_skip},           {"param", OPTION_param},
};

/* The values of the fields of a request. If the query has a field, its value comes from the query, else from
 * the command line. The buffer is empty if there is no value. */
struct values {
    struct buffer at[FIELDS];
};

static struct values read_values(const struct live *l, const struct wish *w)
{
    struct values v = {.at = {{0}}};
    for (int i = 0; i < FIELDS; i++) {
        const char *given = i == FIELD_kernel ? l->kernel : l->given->options[fields[i].option];
        if (!find_field(w->query, fields[i].name, &v.at[i]) && given)
            put_string(&v.at[i], given);
        if (v.at[i].n == 0)
            buffer_free(&v.at[i]);
    }
    return v;
}

static void values_free(struct values *v)
{
    for (int i = 0; i < FIELDS; i++)
        buffer_free(&v->at[i]);
}

/* Sets *out to the number in a field, or to 0 if the field is empty. Returns false after a message if the field is
 * not a number from 1 to 65536. */
static bool read_number(const struct values *v, int field, int *out, struct buffer *messages)
{
    char *end;
    const char *s = v->at[field].s;
    long n = s ? strtol(s, &end, 10) : 0;
    *out = (int)n;
    if (!s || (end != s && !*end && n > 0 && n <= 65536))
        return true;
    put_format(messages, "%s: expected a number from 1 up, found '%s'\n", fields[field].name, s);
    return false;
}

static bool read_wish(const struct live *l, const struct values *v, neso_compile_options *o,
                      struct buffer *messages)
{
    *o = (neso_compile_options){.size = sizeof *o};
    o->signature = v->at[FIELD_signature].s;
    o->target = v->at[FIELD_target].s;
    o->skip = v->at[FIELD_skip].s;
    o->params = v->at[FIELD_param].s;
    o->no_fp_fusion = l->given->options[OPTION_no_fp_fusion] != NULL;
    o->deterministic =
        l->given->options[OPTION_deterministic] != NULL || is_switched_on("NESO_DETERMINISTIC");
    o->fp_reassoc = l->given->options[OPTION_fp_reassoc] != NULL || is_switched_on("NESO_FP_REASSOC");
    o->debug = is_switched_on("TRITON_DEBUG");
    return read_number(v, FIELD_num_warps, &o->num_warps, messages) &&
           read_number(v, FIELD_num_stages, &o->num_stages, messages) &&
           read_number(v, FIELD_maxnreg, &o->max_registers, messages);
}

/* -- building -- */

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool is_python(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".py") == 0;
}

/* Takes the signature and the unset options in *o from the first launch of *kernel. If *kernel is NULL,
 * uses the program's first launch, and sets *kernel to its kernel. */
static void choose_launch(const struct launches *all, const char **kernel, neso_compile_options *o)
{
    for (int i = 0; i < all->n; i++) {
        const struct launched *x = &all->at[i];
        if (!x->signature || (*kernel && strcmp(*kernel, x->kernel) != 0))
            continue;
        *kernel = x->kernel;
        o->signature = x->signature;
        o->num_warps = o->num_warps ? o->num_warps : x->options.num_warps;
        o->num_stages = o->num_stages ? o->num_stages : x->options.num_stages;
        o->max_registers = o->max_registers ? o->max_registers : x->options.max_registers;
        return;
    }
}

/* The source to compile, and the launches of the program, if open_subject was asked for them. `launcher` is
 * the context in which the program's host code has run. */
struct subject {
    char *text;
    size_t length;
    struct launches launches;
    neso_context *launcher;
};

static bool open_subject(struct subject *s, const struct live *l, const struct wish *w, bool launches,
                         struct buffer *messages)
{
    *s = (struct subject){.length = 0};
    s->text = w->source ? NULL : read_file(l->path, &s->length);
    if (!w->source && !s->text) {
        put_format(messages, "cannot read %s: %s\n", l->path, strerror(errno));
        return false;
    }
    if (w->source) {
        struct buffer copy = {0};
        put_string(&copy, w->source);
        s->text = copy.s;
        s->length = copy.n;
    }
    if (launches && is_python(l->path))
        launches_find(l->given, l->path, s->text, s->length, &s->launcher, &s->launches);
    return true;
}

static void close_subject(struct subject *s)
{
    launches_free(&s->launches);
    if (s->launcher)
        neso_context_release(s->launcher);
    free(s->text);
}

/* Guesses a signature for a kernel that the program does not launch. If *kernel is NULL, first chooses the
 * first kernel of the module. */
static void guess_signature(neso_context *ctx, neso_module *module, const char **kernel,
                            neso_compile_options *o, struct buffer *signature)
{
    *kernel = *kernel ? *kernel : neso_module_entry(module, 0);
    if (*kernel && check_guess(ctx, module, *kernel, signature))
        o->signature = signature->s;
}

/* Compiles a kernel of the module, and appends the JSON of the build. If `completes` is true, the build also
 * has hints, the output of ptxas and the SASS. */
static neso_status build_module(const struct live *l, const struct subject *s, neso_module *module,
                                const char *kernel, const neso_compile_options *o, bool completes,
                                struct buffer *json)
{
    struct build b = {.kernel = NULL};
    const char *slash = strrchr(l->path, '/');
    snprintf(b.file, sizeof b.file, "%s", slash ? slash + 1 : l->path);
    put_bytes(&b.source, s->text, s->length);
    neso_status status = build_make(&b, module, kernel, o);
    if (status == NESO_OK && completes) {
        build_hints(&b, module);
        build_assemble(&b);
        if (l->given->options[OPTION_ncu])
            build_profile(&b, l->given->options[OPTION_ncu]);
    }
    if (status == NESO_OK)
        build_json(&b, json);
    build_free(&b);
    return status;
}

/* Appends the build's JSON to `json`, and the compiler's messages to `messages`. If the kernel does not
 * compile, leaves `json` empty. */
static void build_subject(const struct live *l, const struct subject *s, const struct values *v,
                          bool completes, struct buffer *json, struct buffer *messages)
{
    neso_compile_options o;
    neso_context *context;
    neso_module *module;
    struct beside beside;
    struct buffer guess = {0};
    const char *kernel = v->at[FIELD_kernel].s;
    /* these limits are needed because a source that the user is editing may loop forever */
    neso_context_options limits = {
        .size = sizeof limits, .time_limit_ms = 10000, .memory_limit = (size_t)4 << 30};
    if (!read_wish(l, v, &o, messages))
        return;
    if (!o.signature)
        choose_launch(&s->launches, &kernel, &o);
    if (neso_context_create(&limits, &context) != NESO_OK)
        exit(complain("out of memory"));
    beside_open(&beside, l->path);
    neso_status status =
        neso_module_from_files(context, l->path, s->text, s->length, beside_find, &beside, &module);
    beside_close(&beside);
    if (status == NESO_OK) {
        if (!o.signature && is_python(l->path))
            guess_signature(context, module, &kernel, &o, &guess);
        status = build_module(l, s, module, kernel, &o, completes, json);
        neso_module_release(module);
    }
    if (status != NESO_OK || neso_diagnostic_count(context) > 0)
        put_string(messages, neso_error_text(context));
    buffer_free(&guess);
    neso_context_release(context);
}

static void put_text(struct buffer *out, const char *name, const char *s)
{
    put_format(out, "\"%s\": ", name);
    put_json(out, s ? s : "", s ? strlen(s) : 0);
}

void live_build(const struct live *l, const struct wish *w, struct buffer *out)
{
    struct buffer json = {0}, messages = {0}, complete = {0};
    struct subject s;
    double began = now_ms();
    struct values v = read_values(l, w);
    bool completes = find_field(w->query, "complete", &complete);
    if (open_subject(&s, l, w, !v.at[FIELD_signature].s, &messages))
        build_subject(l, &s, &v, completes, &json, &messages);
    close_subject(&s);
    put_format(out, "{\"build\": %s, \"ms\": %.3f, ", json.n ? json.s : "null", now_ms() - began);
    put_text(out, "messages", messages.s);
    put_string(out, "}");
    values_free(&v);
    buffer_free(&complete);
    buffer_free(&messages);
    buffer_free(&json);
}

/* -- the page's data -- */

static void put_targets(struct buffer *out)
{
    struct buffer names = {0};
    add_names(&names, "targets", " ");
    put_string(out, "\"targets\": [");
    for (const char *s = names.n ? names.s : ""; *s; s += strcspn(s, " "), s += *s != '\0') {
        put_string(out, s == names.s ? "" : ", ");
        put_json(out, s, strcspn(s, " "));
    }
    put_string(out, "], ");
    buffer_free(&names);
}

static void put_launches(const struct launches *all, struct buffer *out)
{
    const char *comma = "";
    put_string(out, "\"launches\": [");
    for (int i = 0; i < all->n; i++) {
        const struct launched *x = &all->at[i];
        if (!x->signature)
            continue;
        put_format(out, "%s{", comma);
        put_text(out, "kernel", x->kernel);
        put_string(out, ", ");
        put_text(out, "signature", x->signature);
        put_format(out, ", \"num_warps\": \"%d\", \"num_stages\": \"%d\"}", x->options.num_warps,
                   x->options.num_stages);
        comma = ", ";
    }
    put_string(out, "], ");
}

static void put_values(const struct values *v, struct buffer *out)
{
    put_string(out, "\"options\": {");
    for (int i = 0; i < FIELDS; i++) {
        put_string(out, i ? ", " : "");
        put_text(out, fields[i].name, v->at[i].s);
    }
    put_string(out, "}, ");
}

void live_page_data(const struct live *l, const struct wish *w, struct buffer *out)
{
    struct buffer json = {0}, messages = {0};
    struct subject s;
    struct values v = read_values(l, w);
    if (open_subject(&s, l, w, true, &messages))
        build_subject(l, &s, &v, false, &json, &messages);
    put_format(out, "{\"builds\": [%s], \"serve\": {", json.n ? json.s : "");
    put_targets(out);
    put_launches(&s.launches, out);
    put_values(&v, out);
    put_text(out, "source", s.text);
    put_string(out, ", ");
    put_text(out, "messages", messages.s);
    put_string(out, "}}");
    close_subject(&s);
    values_free(&v);
    buffer_free(&messages);
    buffer_free(&json);
}

/* -- changes of files -- */

static unsigned long stamp_of(const char *path)
{
    struct stat s;
    if (stat(path, &s) != 0)
        return 0;
    return (unsigned long)s.st_mtim.tv_sec * 1000003ul + (unsigned long)s.st_mtim.tv_nsec * 31ul +
           (unsigned long)s.st_size + (unsigned long)s.st_ino;
}

unsigned long sources_stamp(const char *file)
{
    struct beside folder;
    char path[PATH_MAX];
    unsigned long sum = stamp_of(file);
    beside_open(&folder, file);
    DIR *d = opendir(folder.folder);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        int n = snprintf(path, sizeof path, "%s/%s", folder.folder, e->d_name);
        if (n > 0 && (size_t)n < sizeof path && is_python(path))
            sum += stamp_of(path);
    }
    if (d)
        closedir(d);
    beside_close(&folder);
    return sum;
}
