/* SPDX-License-Identifier: MIT */
/* bundle.c: writes, reads and joins bundles. A bundle is one file with the PTX and launch plans of kernels,
 * and with choices of autotuning:
 *
 *     neso bundle 1
 *     compiler 7d03...                  the version of neso that made the bundle and that alone can read it
 *
 *     kernel scale                      an entry begins with its key: fields, in this order
 *     signature *fp32:16, i32, 256
 *     num_warps 4 ...
 *     bytes 4711                        the size of the entry's contents, which follow
 *     param X *fp32 8 16 0 1            for each parameter: name, type, bytes, divisible, equals_one, written
 *     code kernel 3120 128 0 0 ...      bytes of the PTX, and its ptx_info as in the cache; the PTX follows
 *     code fallback 1207 128 0 ...      a variant, for launches that break a condition of the plan
 *
 *     choice scale                      another kind of entry: a choice of autotuning
 *     ...
 *     sum 9f86...                       SHA-256 of all preceding bytes
 *
 * A record lists the keys of entries without the contents of the entries: `neso bundle` compiles a record
 * into a bundle, and neso_bundle_check compares a bundle with a record. The field `source` of a key is a
 * digest of the traced IR, so the key of an edited kernel is different. A context that uses a bundle compiles
 * nothing: it reads a kernel from the bundle, or reports the fields in which the kernel's key differs from
 * the most similar key of the bundle. */
#include "runtime/bundle.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "neso bundle 1\n", compiler_word[] = "compiler ", sum_word[] = "sum ";
enum { SUM_DIGITS = 64, SUM_LINE = sizeof sum_word - 1 + SUM_DIGITS + 1 };

/* -- keys -- */

static void put_number(struct text *key, const char *name, int n)
{
    text_printf(key, "%s %d\n", name, n);
}

/* Appends the fields that do not depend on the kernel's source: all fields of a key except `source`. f is the
 * traced IR, or NULL. An IR file contains options of its own, so the options come from f unless f is NULL. */
static void put_options(struct neso_kernel *k, const char *signature, const struct func *f, struct text *key)
{
    const struct spec *s = &k->spec;
    struct text part;
    key_field(key, "kernel", k->name);
    key_field(key, "signature", signature);
    put_number(key, "num_warps", f ? f->num_warps : s->num_warps);
    put_number(key, "num_stages", f ? f->num_stages : s->num_stages);
    put_number(key, "max_registers", f ? f->maxnreg : s->maxnreg);
    put_number(key, "fp_fusion", f ? f->fp_fusion : s->fp_fusion);
    put_number(key, "deterministic", f ? f->deterministic : s->deterministic);
    put_number(key, "fp_reassoc", f ? f->fp_reassoc : s->fp_reassoc);
    put_number(key, "debug", (int)s->debug);
    text_init(&part, &k->scratch);
    params_print(&k->thresholds, &part);
    key_field(key, "params", part.s);
    key_field(key, "target", s->target ? s->target->name : "none");
}

/* Returns k's signature in the syntax of neso_compile_options.signature. If no such signature can describe k,
 * returns "?" followed by a list of the arguments. */
static const char *signature_of(struct neso_kernel *k)
{
    struct text t;
    text_init(&t, &k->scratch);
    text_str(&t, "");
    if (signature_print(k, &t))
        return t.s;
    struct text any;
    text_init(&any, &k->scratch);
    spec_print(k, &any);
    text_init(&t, &k->scratch);
    text_printf(&t, "? %s", any.s);
    return t.s;
}

static void put_key(struct neso_kernel *k, const struct func *f, struct text *key)
{
    char source[PTX_SOURCE_DIGITS + 1];
    put_options(k, signature_of(k), f, key);
    ptx_source_digest(k, f, true, source);
    key_field(key, "source", source);
}

void bundle_record(struct neso_kernel *k, const struct func *f, struct text *out)
{
    put_key(k, f, out);
    key_field(out, "file", k->jit ? k->jit->jit->fn.src->name : k->module->source->name);
    text_char(out, '\n');
}

void bundle_choice_record(const char *key, const char *choice, struct text *out)
{
    text_str(out, key);
    key_field(out, "chosen", choice);
    text_char(out, '\n');
}

/* -- writing -- */

static void put_head(struct text *out)
{
    text_printf(out, "%s%s%s\n", magic, compiler_word, compiler_build);
}

static void put_sum(struct text *out)
{
    char sum[SUM_DIGITS + 1];
    digest_text(out->s, out->len, SUM_DIGITS, sum);
    text_printf(out, "%s%s\n", sum_word, sum);
}

static void put_entry(struct text *out, const char *key, const char *payload, size_t bytes)
{
    text_printf(out, "\n%sbytes %zu\n", key, bytes);
    text_bytes(out, payload, bytes);
}

static void put_code(struct text *out, const char *name, const struct ptx_info *info, const char *ptx,
                     size_t bytes)
{
    struct ptx_info shown = *info;
    shown.peak = (struct loc){0}; /* omit this source location, which is useless without the sources */
    text_printf(out, "code %s %zu ", name, bytes);
    ptx_info_write(&shown, out);
    text_char(out, '\n');
    text_bytes(out, ptx, bytes);
    text_char(out, '\n');
}

static void put_variant(void *user, enum variant which, const struct ptx_info *info, const char *ptx,
                        size_t bytes)
{
    put_code(user, variant_info[which].name, info, ptx, bytes);
}

void bundle_write(struct neso_kernel *k, const struct func *f, struct text *out)
{
    struct text key, body;
    text_init(&key, &k->arena);
    put_key(k, f, &key);
    text_init(&body, &k->arena);
    for (int i = 0; i < k->nparams; i++) {
        const struct neso_param *p = &k->params[i];
        text_printf(&body, "param %s %s %d %d %d %d\n", p->name, p->type, p->bytes, p->divisible,
                    p->equals_one, p->written);
    }
    put_code(&body, "kernel", &k->info, k->texts[NESO_TEXT_PTX].s, k->texts[NESO_TEXT_PTX].len);
    plan_each_variant(k, put_variant, &body);
    put_head(out);
    put_entry(out, key.s, body.s, body.len);
    put_sum(out);
}

/* -- reading -- */

/* The state of reading a bundle. */
struct reading {
    struct bundle *bundle;
    const struct memory *mem;
    char *s, *end;     /* the text that is not yet read, without the checksum */
    int room;          /* the number of entries for which bundle->entries has memory */
    const char *wrong; /* what is wrong with the bundle; NULL: nothing */
};

static bool begins(const char *s, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - s) >= n && memcmp(s, word, n) == 0;
}

static void add_entry(struct reading *r, struct bundle_entry e)
{
    struct bundle *b = r->bundle;
    if (b->nentries == r->room) {
        int room = r->room ? 2 * r->room : 16;
        struct bundle_entry *grown = r->mem->alloc(r->mem->ctx, (size_t)room * sizeof e);
        if (!grown) {
            r->wrong = "there is no memory for its entries";
            return;
        }
        if (b->entries) {
            memcpy(grown, b->entries, (size_t)b->nentries * sizeof e);
            r->mem->free(r->mem->ctx, b->entries, (size_t)r->room * sizeof e);
        }
        b->entries = grown;
        r->room = room;
    }
    b->entries[b->nentries++] = e;
}

/* Reads an entry: an empty line, the fields of its key, the size, the contents. */
static void read_entry(struct reading *r)
{
    char *key = r->s + 1, *line = key, *rest;
    while (line < r->end && *line != '\n' && !begins(line, r->end, "bytes ")) {
        char *newline = memchr(line, '\n', (size_t)(r->end - line));
        line = newline ? newline + 1 : r->end;
    }
    if (*r->s != '\n' || line == key || line >= r->end || *line == '\n') {
        r->wrong = "an entry has no key or no size";
        return;
    }
    unsigned long long bytes = strtoull(line + strlen("bytes "), &rest, 10);
    if (*rest != '\n' || bytes == 0 || bytes > (unsigned long long)(r->end - rest - 1) ||
        rest[bytes] != '\n') {
        r->wrong = "an entry's size is wrong";
        return;
    }
    add_entry(r, (struct bundle_entry){key, rest + 1, (size_t)bytes});
    *line = '\0'; /* the key ends here */
    r->s = rest + 1 + bytes;
}

static void read_bundle(struct reading *r)
{
    char sum[SUM_DIGITS + 1], *text = r->bundle->text;
    size_t bytes = r->bundle->text_bytes - 1; /* without the terminator */
    if (!begins(text, text + bytes, magic)) {
        r->wrong = begins(text, text + bytes, "neso bundle ")
                       ? "it has another version of the format: make it again"
                       : "it does not begin as a bundle does: `neso bundle` makes bundles";
        return;
    }
    r->end = text + bytes - SUM_LINE;
    if (bytes < sizeof magic - 1 + SUM_LINE || memcmp(r->end, sum_word, sizeof sum_word - 1) != 0) {
        r->wrong = "its end is missing: make or copy it again";
        return;
    }
    digest_text(text, bytes - SUM_LINE, SUM_DIGITS, sum);
    if (memcmp(r->end + sizeof sum_word - 1, sum, SUM_DIGITS) != 0) {
        r->wrong = "its sum differs: it was changed or damaged; make it again";
        return;
    }
    r->s = text + sizeof magic - 1;
    char *newline = memchr(r->s, '\n', (size_t)(r->end - r->s));
    if (!newline || !begins(r->s, r->end, compiler_word)) {
        r->wrong = "it does not say which compiler made it";
        return;
    }
    size_t n = strlen(compiler_build), given = (size_t)(newline - r->s) - (sizeof compiler_word - 1);
    if (given != n || memcmp(r->s + sizeof compiler_word - 1, compiler_build, n) != 0) {
        r->wrong = "another compiler made it: make it again with this version";
        return;
    }
    for (r->s = newline + 1; r->s < r->end && !r->wrong;)
        read_entry(r);
}

void bundle_close(struct bundle *b, const struct memory *mem)
{
    int room = 16;
    while (room < b->nentries)
        room *= 2;
    if (b->entries)
        mem->free(mem->ctx, b->entries, (size_t)room * sizeof *b->entries);
    if (b->text)
        mem->free(mem->ctx, b->text, b->text_bytes);
    if (b->name)
        mem->free(mem->ctx, b->name, b->name_bytes);
    *b = (struct bundle){0};
}

/* Returns a copy of n bytes, with a zero byte after them; NULL if there is no memory. */
static char *copy(const struct memory *mem, const char *s, size_t n)
{
    char *p = mem->alloc(mem->ctx, n + 1);
    if (!p)
        return NULL;
    memcpy(p, s, n);
    p[n] = '\0';
    return p;
}

neso_status neso_context_use_bundle(neso_context *context, const char *name, const char *text, size_t length)
{
    struct fault f;
    struct bundle b = {.text_bytes = length + 1, .name_bytes = strlen(name) + 1};
    const struct memory *mem = &context->given;
    report_begin(context);
    if (context->refs > 1) {
        fault_set(&f, NESO_INVALID, ERR_bundle_in_use, "%s", name);
        return report_fault(context, &f);
    }
    b.text = copy(mem, text, length);
    b.name = copy(mem, name, b.name_bytes - 1);
    struct reading r = {.bundle = &b, .mem = mem};
    if (!b.text || !b.name)
        r.wrong = "there is no memory for it";
    else
        read_bundle(&r);
    if (r.wrong) {
        bundle_close(&b, mem);
        fault_set(&f, NESO_INVALID, ERR_bundle_refused, "%.400s: %s", name, r.wrong);
        return report_fault(context, &f);
    }
    bundle_close(&context->bundle, mem);
    context->bundle = b;
    return NESO_OK;
}

/* -- joining -- */

struct joining {
    const char *const *texts;
    const size_t *lengths;
    size_t n;
    struct text out;
    const char *wrong;
};

/* Appends an entry made from the record (n bytes at s) of a choice of autotuning: the record's last field becomes
 * the entry's contents, and the other fields its key. Returns false if the record is malformed. */
static bool join_choice(struct joining *j, const char *s, size_t n)
{
    static const char word[] = "\nchosen ";
    const char *text = arena_strndup(j->out.arena, s, n), *chosen = strstr(text, word);
    const char *value = chosen ? chosen + sizeof word - 1 : NULL, *end = value ? strchr(value, '\n') : NULL;
    if (!end || end == value)
        return false;
    const char *key = arena_strndup(j->out.arena, text, (size_t)(chosen - text) + 1);
    put_entry(&j->out, key, value, (size_t)(end - value) + 1);
    return true;
}

static void join(void *arg)
{
    struct joining *j = arg;
    put_head(&j->out);
    size_t head = j->out.len;
    for (size_t i = 0; i < j->n; i++) {
        const char *s = j->texts[i];
        size_t n = j->lengths[i];
        bool is_bundle = n >= head + SUM_LINE && memcmp(s, j->out.s, head) == 0;
        if (n && begins(s, s + n, "choice ") && join_choice(j, s, n))
            continue;
        if (!is_bundle) {
            j->wrong = "a part is no bundle of this compiler: make it again with this version";
            return;
        }
        text_bytes(&j->out, s + head, n - head - SUM_LINE);
    }
    put_sum(&j->out);
}

neso_status neso_bundle_join(neso_context *context, const char *const *texts, const size_t *lengths,
                             size_t count, const char **text, size_t *length)
{
    struct fault f;
    *text = "";
    *length = 0;
    report_begin(context);
    struct neso_module *m = module_new(context);
    if (!m)
        return context->status = NESO_OUT_OF_MEMORY;
    report_enter(m);
    struct joining j = {.texts = texts, .lengths = lengths, .n = count};
    text_init(&j.out, &m->arena);
    neso_status status = guard(m, join, &j);
    if (status == NESO_OK && j.wrong) {
        fault_set(&f, status = NESO_INVALID, ERR_bundle_refused, "it cannot be made: %s", j.wrong);
        report_add_fault(m, &f);
    }
    report_leave(m, status);
    if (status == NESO_OK) {
        *text = j.out.s;
        *length = j.out.len;
        if (context->reported) /* m has no messages, but the context keeps m because m owns the text */
            module_drop(context->reported);
        context->reported = m;
        return status;
    }
    module_drop(m);
    return status;
}

/* -- finding -- */

/* Returns the key in the bundle that is most similar to `key` (cache_likeness), and sets *is_equal to
 * whether it equals `key`. Returns NULL if no key has the same first field as `key`. */
static const char *nearest(const struct bundle *b, const char *key, bool *is_equal)
{
    const char *found = NULL;
    int most = 0;
    *is_equal = false;
    for (int i = 0; i < b->nentries && !*is_equal; i++) {
        int n = cache_likeness(key, b->entries[i].key);
        if (n > most) {
            most = n;
            found = b->entries[i].key;
            *is_equal = strcmp(found, key) == 0;
        }
    }
    return found;
}

static const struct bundle_entry *entry_of(const struct bundle *b, const char *key)
{
    for (int i = 0; i < b->nentries; i++)
        if (b->entries[i].key == key)
            return &b->entries[i];
    return NULL;
}

/* Returns a list of the names of the bundle's kernels: "add, scale". */
static const char *names_here(const struct neso_module *m, struct arena *a)
{
    struct text t;
    text_init(&t, a);
    text_str(&t, "");
    for (size_t i = 0; bundle_kernel(m, i); i++)
        text_printf(&t, "%s%s", i ? ", " : "", bundle_kernel(m, i));
    return t.s;
}

static void refuse(struct neso_module *m, const char *name, const char *key, const char *near)
{
    diag_error(&m->diag, (struct loc){0}, ERR_bundle_miss, name, m->context->bundle.name);
    if (near)
        key_explain(&m->diag, key, near);
    else
        diag_hint(&m->diag, ERR_kernels_here, names_here(m, &m->arena));
}

/* The lines of an entry that are still to be read. */
struct lines {
    const char *s, *end;
};

/* If the next line begins with `word`, sets *line and *line_end to the rest of the line, and moves `at` to the line
 * after it. Otherwise returns false. */
static bool next_line(struct lines *at, const char *word, const char **line, const char **line_end)
{
    const char *newline = at->s < at->end ? memchr(at->s, '\n', (size_t)(at->end - at->s)) : NULL;
    if (!newline || !begins(at->s, newline, word))
        return false;
    *line = at->s + strlen(word);
    *line_end = newline;
    at->s = newline + 1;
    return true;
}

static bool read_param(struct neso_kernel *k, const char *s, const char *end, struct neso_param *p)
{
    char name[256], type[64], line[512];
    *p = (struct neso_param){.size = sizeof *p};
    snprintf(line, sizeof line, "%.*s", (int)(end - s), s);
    if (sscanf(line, "%255s %63s %d %d %d %d", name, type, &p->bytes, &p->divisible, &p->equals_one,
               &p->written) != 6)
        return false;
    p->name = arena_strndup(&k->arena, name, strlen(name));
    p->type = arena_strndup(&k->arena, type, strlen(type));
    return (p->bytes == 1 || p->bytes == 2 || p->bytes == 4 || p->bytes == 8) &&
           (p->divisible == 1 || p->divisible == 16);
}

/* Reads the lines of parameters of an entry, which precede the entry's code. Sets `slots` to the parameters
 * that a launch passes to the GPU: all except those that the signature promises to be 1. */
static bool read_params(struct neso_kernel *k, struct lines *at, struct ptx_param **slots, int *nslots)
{
    static const struct type pointer = {.kind = TY_ptr}, number = {.kind = TY_scalar};
    const char *s, *end;
    VEC(struct neso_param) params = {0};
    VEC(struct ptx_param) passed = {0};
    while (next_line(at, "param ", &s, &end)) {
        struct neso_param p;
        if (params.n == LAUNCH_PARAMS_MOST || !read_param(k, s, end, &p))
            return false;
        VEC_PUSH(&k->arena, &params, p);
        if (p.equals_one)
            continue;
        struct ptx_param slot = {.name = p.name, .type = p.type[0] == '*' ? &pointer : &number};
        VEC_PUSH(&k->arena, &passed, slot);
    }
    if (!k->params) {
        k->params = params.at;
        k->nparams = params.n;
    }
    *slots = passed.at;
    *nslots = passed.n;
    return true;
}

/* Reads the code called `name` ("kernel", or the name of a variant) from the lines of an entry. Returns false if the
 * entry lacks this code or is malformed. */
static bool read_code(struct arena *a, struct lines at, const char *name, const struct ptx_param *slots,
                      int nslots, struct text *ptx, struct ptx_info *info)
{
    const char *s, *end;
    size_t n = strlen(name);
    while (next_line(&at, "code ", &s, &end)) {
        char *rest;
        const char *blank = memchr(s, ' ', (size_t)(end - s));
        unsigned long long bytes = blank ? strtoull(blank, &rest, 10) : 0;
        if (bytes == 0 || bytes >= (unsigned long long)(at.end - at.s) || at.s[bytes] != '\n')
            return false;
        if ((size_t)(blank - s) == n && memcmp(s, name, n) == 0) {
            text_init(ptx, a);
            text_bytes(ptx, at.s, (size_t)bytes);
            return ptx_info_read(a, info, slots, nslots, 0, rest, end);
        }
        at.s += bytes + 1;
    }
    return false;
}

/* Returns the name of the code that k's options select in an entry. Without options.skip, this name is "kernel". With
 * options.skip, it is the name of the variant that is compiled without exactly these passes; NULL if there is no such
 * variant. */
static const char *code_of(const struct neso_kernel *k)
{
    if (!k->options.skip)
        return "kernel";
    for (enum variant v = 0; v < VARIANT_count; v++)
        if (strcmp(variant_info[v].without, k->options.skip) == 0)
            return variant_info[v].name;
    return NULL;
}

/* Sets k's parameters, PTX and launch plan from the entry e; reports an error if e is malformed. */
static void take(struct neso_kernel *k, const struct bundle_entry *e)
{
    struct lines at = {e->payload, e->payload + e->payload_bytes};
    struct ptx_param *slots;
    int nslots;
    struct text ptx;
    if (!read_params(k, &at, &slots, &nslots) ||
        !read_code(&k->arena, at, code_of(k), slots, nslots, &ptx, &k->info)) {
        diag_error(&k->module->diag, (struct loc){0}, ERR_bundle_entry, k->module->context->bundle.name,
                   k->name);
        return;
    }
    k->texts[NESO_TEXT_PTX].s = ptx.s;
    k->texts[NESO_TEXT_PTX].len = ptx.len;
    k->entry = e;
    context_event(k->module->context, NESO_EVENT_BUNDLED, "%s for %s", neso_kernel_id(k),
                  k->spec.target ? k->spec.target->name : "no target");
}

bool bundle_variant(const struct neso_kernel *k, enum variant which, struct arena *a, struct text *ptx,
                    struct ptx_info *info)
{
    const struct bundle_entry *e = k->entry;
    struct lines at = {e->payload, e->payload + e->payload_bytes};
    const char *s, *end;
    while (next_line(&at, "param ", &s, &end))
        continue;
    return read_code(a, at, variant_info[which].name, k->info.params.at, k->info.params.n, ptx, info);
}

static bool is_allowed(struct neso_kernel *k)
{
    const struct device *d = k->device;
    struct neso_compile_options others = k->options;
    others.skip = NULL;
    if (d && !d->class->takes_ptx)
        diag_error(&k->module->diag, (struct loc){0}, ERR_bundle_device, d->text);
    else if (!code_of(k) || !ptx_is_plain(&others))
        diag_error(&k->module->diag, (struct loc){0}, ERR_bundle_options, k->name);
    return k->module->diag.nerrors == 0;
}

void bundle_take(struct neso_kernel *k, const struct func *f)
{
    const struct bundle *b = &k->module->context->bundle;
    struct text key;
    bool is_equal;
    if (!is_allowed(k))
        return;
    text_init(&key, &k->scratch);
    put_key(k, f, &key);
    const char *near = nearest(b, key.s, &is_equal);
    if (is_equal)
        take(k, entry_of(b, near));
    else
        refuse(k->module, k->name, key.s, near);
}

/* -- kernels without a source -- */

/* Copies a signature without the blanks outside of string literals, because blanks do not matter in a comparison. */
static const char *without_blanks(struct arena *a, const char *s, size_t n)
{
    struct text t;
    char quote = 0;
    text_init(&t, a);
    text_str(&t, "");
    for (size_t i = 0; i < n; i++) {
        quote = quote ? (s[i] == quote ? 0 : quote) : s[i] == '\'' || s[i] == '"' ? s[i] : 0;
        if (s[i] != ' ' || quote)
            text_char(&t, s[i]);
    }
    return t.s;
}

/* Returns the field called `name` of a key; its value is "" if the key lacks the field. */
static struct cache_field field_of(const char *key, const char *name)
{
    struct cache_field x;
    while (cache_field_next(&key, &x))
        if ((size_t)x.name_bytes == strlen(name) && memcmp(x.name, name, strlen(name)) == 0)
            return x;
    return (struct cache_field){.value = ""};
}

static bool is_called(const struct bundle_entry *e, const char *name)
{
    struct cache_field x = field_of(e->key, "kernel");
    return (size_t)x.value_bytes == strlen(name) && memcmp(x.value, name, strlen(name)) == 0;
}

/* Returns whether `with` begins with the fields of `key`. `key` has all fields that precede `source` in an entry's
 * key. */
static bool agrees(const char *key, const char *with)
{
    struct cache_field x, y;
    while (cache_field_next(&key, &x))
        if (!cache_field_next(&with, &y) || x.value_bytes != y.value_bytes ||
            memcmp(x.name, y.name, (size_t)(x.value - x.name + x.value_bytes)) != 0)
            return false;
    return true;
}

/* Returns the fields of a key that k's options determine, but with an entry's signature in place of
 * options.signature. */
static const char *key_with_own(struct neso_kernel *k, struct cache_field signature)
{
    struct text key;
    text_init(&key, &k->scratch);
    put_options(k, arena_strndup(&k->scratch, signature.value, (size_t)signature.value_bytes), NULL, &key);
    return key.s;
}

void bundle_signatures(struct neso_kernel *k, struct text *out)
{
    const struct bundle *b = &k->module->context->bundle;
    for (int i = 0; i < b->nentries; i++) {
        struct cache_field x = field_of(b->entries[i].key, "signature");
        if (is_called(&b->entries[i], k->name) && agrees(key_with_own(k, x), b->entries[i].key))
            text_printf(out, "%.*s\n", x.value_bytes, x.value);
    }
}

static void take_as(struct neso_kernel *k, const struct bundle_entry *e, struct cache_field signature)
{
    k->options.signature = arena_strndup(&k->arena, signature.value, (size_t)signature.value_bytes);
    k->id = arena_strndup(&k->arena, k->name, strlen(k->name));
    take(k, e);
}

/* Called if k's options have no signature. If exactly one entry matches the other options, reads it. Reports
 * an error if several entries match. Returns false if no entry matches. */
static bool find_only(struct neso_kernel *k)
{
    const struct bundle *b = &k->module->context->bundle;
    const struct bundle_entry *only = NULL;
    struct text signatures;
    int n = 0;
    text_init(&signatures, &k->arena);
    for (int i = 0; i < b->nentries; i++) {
        struct cache_field x = field_of(b->entries[i].key, "signature");
        if (!is_called(&b->entries[i], k->name) || !agrees(key_with_own(k, x), b->entries[i].key))
            continue;
        only = &b->entries[i];
        text_printf(&signatures, "%s%.*s", n++ ? "; " : "", x.value_bytes, x.value);
    }
    if (n == 1)
        take_as(k, only, field_of(only->key, "signature"));
    if (n > 1) {
        diag_error(&k->module->diag, (struct loc){0}, ERR_bundle_which, k->name, b->name, n);
        diag_hint(&k->module->diag, ERR_bundle_signatures, signatures.s);
    }
    return n > 0;
}

void bundle_find(struct neso_kernel *k)
{
    const struct bundle *b = &k->module->context->bundle;
    const char *asked = k->options.signature ? k->options.signature : "", *near = NULL;
    const char *plain = without_blanks(&k->scratch, asked, strlen(asked));
    int most = -1;
    struct text best = {0};
    if (!is_allowed(k) || (!k->options.signature && find_only(k)))
        return;
    for (int i = 0; i < b->nentries; i++) {
        const struct bundle_entry *e = &b->entries[i];
        if (!is_called(e, k->name))
            continue;
        struct cache_field own = field_of(e->key, "signature");
        struct text key;
        text_init(&key, &k->scratch);
        bool is_same = !k->options.signature ||
                       strcmp(without_blanks(&k->scratch, own.value, (size_t)own.value_bytes), plain) == 0;
        put_options(k, is_same ? arena_strndup(&k->scratch, own.value, (size_t)own.value_bytes) : asked, NULL,
                    &key);
        if (agrees(key.s, e->key)) {
            take_as(k, e, own);
            return;
        }
        int n = cache_likeness(key.s, e->key);
        if (n > most) {
            most = n;
            near = e->key;
            best = key;
        }
    }
    refuse(k->module, k->name, best.s ? best.s : "", near);
}

const char *bundle_kernel(const struct neso_module *m, size_t index)
{
    for (int i = 0; i < m->names.n; i++)
        if (index-- == 0)
            return m->names.at[i];
    return NULL;
}

static void list_kernels(void *arg)
{
    struct neso_module *m = arg;
    const struct bundle *b = &m->context->bundle;
    if (!module_add_source(m, b->name, "", 0))
        return;
    for (int i = 0; i < b->nentries; i++) {
        struct cache_field x = field_of(b->entries[i].key, "kernel");
        const char *name = x.value_bytes ? intern(&m->strings, x.value, (size_t)x.value_bytes) : NULL;
        bool is_known = !name;
        for (int j = 0; j < m->names.n; j++)
            is_known |= m->names.at[j] == name;
        if (!is_known)
            VEC_PUSH(&m->arena, &m->names, name);
    }
}

neso_status neso_module_from_bundle(neso_context *context, neso_module **module)
{
    struct fault f;
    *module = NULL;
    report_begin(context);
    if (!context->bundle.text) {
        fault_set(&f, NESO_INVALID, ERR_bundle_none, "%s", "");
        return report_fault(context, &f);
    }
    struct neso_module *m = module_new(context);
    if (!m)
        return context->status = NESO_OUT_OF_MEMORY;
    m->is_bundle = true;
    report_enter(m);
    neso_status status = guard(m, list_kernels, m);
    report_leave(m, status);
    if (status == NESO_OK)
        *module = m;
    else
        module_drop(m);
    return status;
}

/* -- choices of autotuning -- */

const char *bundle_choice(struct neso_module *m, const char *key, size_t *length)
{
    const struct bundle *b = &m->context->bundle;
    bool is_equal;
    const char *near = nearest(b, key, &is_equal);
    struct cache_field name = field_of(key, "choice");
    if (!is_equal) {
        refuse(m, arena_strndup(&m->arena, name.value, (size_t)name.value_bytes), key, near);
        return NULL;
    }
    const struct bundle_entry *e = entry_of(b, near);
    *length = e->payload_bytes - 1;
    return e->payload;
}

/* -- checking against a record -- */

struct check {
    struct neso_module *module;
    const char *record;
    size_t length;
    size_t nkeys, nmissing;
};

static void check_key(struct check *c, const char *key, const char *name)
{
    bool is_equal;
    const char *near = nearest(&c->module->context->bundle, key, &is_equal);
    c->nkeys++;
    if (is_equal)
        return;
    c->nmissing++;
    refuse(c->module, name, key, near);
}

/* Returns whether a field of a record is not part of a key. Such a field describes how the record was made,
 * or it is a choice of autotuning. */
static bool is_remark(const struct cache_field *x)
{
    static const char *const words[] = {"neso", "program", "file", "chosen"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if ((size_t)x->name_bytes == strlen(words[i]) && memcmp(x->name, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static void check_record(void *arg)
{
    struct check *c = arg;
    struct arena *a = &c->module->arena;
    const char *s = arena_strndup(a, c->record, c->length);
    while (*s) {
        struct text key;
        struct cache_field x;
        const char *name = NULL;
        text_init(&key, a);
        text_str(&key, "");
        while (*s && *s != '\n' && cache_field_next(&s, &x)) {
            if (!is_remark(&x))
                text_bytes(&key, x.name, (size_t)(x.value - x.name + x.value_bytes + 1));
            name = name || is_remark(&x) ? name : arena_strndup(a, x.value, (size_t)x.value_bytes);
        }
        if (key.len)
            check_key(c, key.s, name);
        if (*s && *s != '\n') {
            diag_error(&c->module->diag, (struct loc){0}, ERR_bundle_record);
            return;
        }
        s += *s == '\n';
    }
}

neso_status neso_bundle_check(neso_context *context, const char *record, size_t length)
{
    struct fault f;
    report_begin(context);
    if (!context->bundle.text) {
        fault_set(&f, NESO_INVALID, ERR_bundle_none, "%s", "");
        return report_fault(context, &f);
    }
    struct neso_module *m = NULL;
    neso_status status = neso_module_from_bundle(context, &m);
    if (status != NESO_OK)
        return status;
    struct check c = {.module = m, .record = record, .length = length};
    report_enter(m);
    status = guard(m, check_record, &c);
    report_leave(m, status);
    module_drop(m);
    return status;
}
