/* SPDX-License-Identifier: MIT */
/* ptx_cache.c: stores a kernel's PTX in the disk cache, and reads it from there. The key contains the options
 * and a digest of the traced IR. The driver stores the assembled code in its own cache (jit.c).
 *
 *     kernel softmax
 *     signature Y=*fp32:16, n=i32:1, BLOCK=1024
 *     options warps=4 stages=3 ...
 *     params default
 *     target sm_90a
 *     source 81ab…
 *     compiler 7d03…
 *
 * The field `source` is a digest of the traced IR, with source locations and file names. Passes and codegen
 * depend only on this IR and the other fields. Because of this digest, neso must trace a kernel before it can
 * find the kernel's entry. Tracing takes a hundredth of the time that the driver takes to assemble the
 * kernel. */
#include "runtime/runtime.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- the key of a kernel's PTX -- */

bool ptx_is_plain(const struct neso_compile_options *o)
{
    return !o->passes && !o->skip && !o->stop_after && !o->print_after && !o->explain && !o->print_changed &&
           !o->verify_each && !o->time;
}

bool ptx_cache_applies(const struct neso_kernel *k)
{
    return k->module->context->cache.folder && ptx_is_plain(&k->options);
}

void key_field(struct text *out, const char *name, const char *value)
{
    text_printf(out, "%s ", name);
    for (const char *s = value; *s; s++)
        text_char(out, (unsigned char)*s < ' ' ? ' ' : *s);
    text_char(out, '\n');
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Returns the end of the string literal whose opening quote is at s. */
static const char *after_string(const char *s)
{
    for (s++; *s && *s != '"'; s++)
        s += *s == '\\' && s[1];
    return *s ? s + 1 : s;
}

/* Prints the IR's text with simplified source locations. If file 2 is dir/prelude.py, `@2:7:13+4/1` becomes
 * `@2:7:13+4 prelude.py`. The number of the call chain (here 1) is omitted, because it differs between
 * programs and does not affect the PTX. Locations in file 0, the program's file, have no file number, so the
 * name of this file precedes the text. If `is_portable`, the text does not depend on the program that
 * contains the kernel: the name of file 0 does not precede it, and in each location, the file's name replaces
 * the file's number (`7:13+4 prelude.py`). File numbers affect only the debug information in the PTX. */
static void simplify_places(const struct diag *d, const char *s, bool is_portable, struct text *out)
{
    if (!is_portable)
        text_printf(out, "%s\n", base_name(d->sources.at[0]->name));
    while (*s) {
        const char *from = s;
        bool is_place = s[0] == '@' && s[1] >= '0' && s[1] <= '9';
        s = *s == '"' ? after_string(s) : s + 1;
        while (is_place && *s && strchr("0123456789:+", *s))
            s++;
        /* in file 0, a location has no file number */
        const char *colon = is_place ? strchr(from, ':') : NULL,
                   *second = colon ? strchr(colon + 1, ':') : NULL;
        bool has_file = second && second < s;
        int file = has_file ? (int)strtol(from + 1, NULL, 10) : 0;
        const char *shown = is_portable && is_place ? (has_file ? colon + 1 : from + 1) : from;
        text_bytes(out, shown, (size_t)(s - shown));
        if (!is_place)
            continue;
        if ((has_file || is_portable) && file < d->sources.n)
            text_printf(out, " %s", base_name(d->sources.at[file]->name));
        if (*s == '/')
            s += 1 + strspn(s + 1, "0123456789");
    }
}

void ptx_source_digest(struct neso_kernel *k, const struct func *f, bool is_portable,
                       char out[PTX_SOURCE_DIGITS + 1])
{
    struct text part, places;
    text_init(&part, &k->scratch);
    func_print(f, &part);
    text_init(&places, &k->scratch);
    simplify_places(&k->module->diag, part.s, is_portable, &places);
    digest_text(places.s, places.len, PTX_SOURCE_DIGITS, out);
}

const char *ptx_cache_key(struct neso_kernel *k, const struct func *f)
{
    struct text key, part;
    char source[PTX_SOURCE_DIGITS + 1];
    text_init(&key, &k->scratch);
    key_field(&key, "kernel", k->name);
    text_init(&part, &k->scratch);
    spec_print(k, &part);
    key_field(&key, "signature", part.s);
    text_printf(&key,
                "options warps=%d stages=%d ctas=%d maxnreg=%d fusion=%d deterministic=%d reassoc=%d "
                "debug=%d comments=%d\n",
                f->num_warps, f->num_stages, f->num_ctas, f->maxnreg, f->fp_fusion, f->deterministic,
                f->fp_reassoc, k->spec.debug, k->options.verbose_ptx);
    text_init(&part, &k->scratch);
    params_print(f->module->params, &part);
    key_field(&key, "params", part.s);
    key_field(&key, "target", f->target ? f->target->name : "none");
    ptx_source_digest(k, f, false, source);
    key_field(&key, "source", source);
    key_field(&key, "compiler", compiler_build);
    return key.s;
}

/* -- the entry: a line with struct ptx_info, then the PTX -- */

/* This assertion fails if one of these structures gets a new field. The author must then also store the field in
 * ptx_info_write and read it in ptx_info_read. */
_Static_assert(sizeof(struct ptx_info) == 96 && sizeof(struct tensor_map) == 216 &&
                   sizeof(struct expr) == 16 && sizeof(struct expr_step) == 16,
               "all that codegen learnt is kept");

static void write_expr(const struct expr *e, struct text *out)
{
    text_printf(out, " %d", e->n);
    for (int i = 0; i < e->n; i++)
        text_printf(out, " %d %lld", (int)e->at[i].code, (long long)e->at[i].i);
}

static void write_plan(const struct ptx_info *info, struct text *out)
{
    text_printf(out, " %d %d", info->nmaps, info->nguards);
    for (int i = 0; i < info->nmaps; i++) {
        const struct tensor_map *m = &info->maps[i];
        text_printf(out, " %d %d %d %d", m->dtype, m->rank, m->swizzle, m->nan);
        write_expr(&m->base, out);
        for (int d = 0; d < m->rank; d++) {
            text_printf(out, " %d", m->box[d]);
            write_expr(&m->extents[d], out);
            write_expr(&m->strides[d], out);
        }
    }
    for (int i = 0; i < info->nguards; i++)
        write_expr(&info->guards[i], out);
}

void ptx_info_write(const struct ptx_info *i, struct text *out)
{
    text_printf(out, "%d %d %d %d %d %d %d %d %d %d %d %d %d", i->num_threads, i->shared_bytes, i->persistent,
                i->late_part, i->stored_maps, i->turned, i->packs, i->pair_multiple, i->ptx_version,
                i->live_regs, i->peak.file, (int)i->peak.line, i->peak.col);
    for (int p = 0; p < i->params.n; p++)
        text_printf(out, " %d %d", i->params.at[p].offset_bytes, i->params.at[p].bytes);
    write_plan(i, out);
}

void ptx_cache_write(struct neso_kernel *k, const struct func *f, const char *key)
{
    struct text out;
    if (k->info.params.n != f->body->args.n)
        return; /* the entry would be useless: a reader takes the names of the parameters from f */
    text_init(&out, &k->scratch);
    ptx_info_write(&k->info, &out);
    text_char(&out, '\n');
    text_bytes(&out, k->texts[NESO_TEXT_PTX].s, k->texts[NESO_TEXT_PTX].len);
    cache_write(&k->module->context->cache, key, out.s, out.len);
}

/* The state of reading an entry's line with struct ptx_info. Every number is checked, because the digest
 * proves that the entry is undamaged, but not that neso wrote the entry. */
struct reader {
    const char *s, *end; /* the position in the line, and the line's end */
    bool is_good;        /* all numbers read so far were present and within their bounds */
};

static int64_t next_number(struct reader *r, int64_t least, int64_t most)
{
    char *stop;
    long long n = strtoll(r->s, &stop, 10);
    if (stop == r->s || stop > r->end || n < least || n > most) {
        r->is_good = false;
        return least;
    }
    r->s = stop;
    return n;
}

static int next_int(struct reader *r, int least, int most)
{
    return (int)next_number(r, least, most);
}

/* Reads an expression in postfix notation. nparams is the number of the kernel's parameters. */
static void read_expr(struct arena *a, struct reader *r, int nparams, struct expr *e)
{
    enum { STEPS_MOST = 256, AXES = 3 };
    int depth = 0;
    for (int n = next_int(r, 1, STEPS_MOST); n > 0 && r->is_good; n--) {
        enum expr_code code = (enum expr_code)next_int(r, 0, EXPR_count - 1);
        int64_t i = next_number(r, INT64_MIN, INT64_MAX);
        bool is_value = code == EXPR_const || code == EXPR_param || code == EXPR_grid;
        depth += is_value ? 1 : -1;
        r->is_good &= depth > 0 && (code != EXPR_param || (i >= 0 && i < nparams)) &&
                      (code != EXPR_grid || (i >= 0 && i < AXES));
        expr_push(a, e, code, i);
    }
    r->is_good &= depth == 1;
}

static void read_map(struct arena *a, struct reader *r, int nparams, struct tensor_map *m)
{
    m->dtype = next_int(r, 0, DT_count - 1);
    m->rank = next_int(r, 1, MAP_RANK_MAX);
    m->swizzle = next_int(r, 0, MAP_BYTES);
    m->nan = next_int(r, 0, 1) != 0;
    read_expr(a, r, nparams, &m->base);
    for (int d = 0; d < m->rank && r->is_good; d++) {
        m->box[d] = next_int(r, 1, MAP_BOX_MOST);
        read_expr(a, r, nparams, &m->extents[d]);
        read_expr(a, r, nparams, &m->strides[d]);
    }
}

static void read_plan(struct arena *a, struct reader *r, struct ptx_info *info)
{
    enum { GUARDS_MOST = 1000 };
    int nmaps = next_int(r, 0, MAPS_MOST), nguards = next_int(r, 0, GUARDS_MOST);
    struct tensor_map *maps = NEW_ARRAY(a, nmaps, struct tensor_map);
    struct expr *guards = NEW_ARRAY(a, nguards, struct expr);
    for (int i = 0; i < nmaps && r->is_good; i++)
        read_map(a, r, info->params.n, &maps[i]);
    for (int i = 0; i < nguards && r->is_good; i++)
        read_expr(a, r, info->params.n, &guards[i]);
    info->nmaps = nmaps;
    info->nguards = nguards;
    info->maps = maps;
    info->guards = guards;
}

bool ptx_info_read(struct arena *a, struct ptx_info *i, const struct ptx_param *params, int nparams,
                   int nfiles, const char *s, const char *end)
{
    enum { THREADS_MOST = 1024, PARAM_BYTES_MOST = 1 << 16 };
    struct reader r = {s, end, true};
    *i = (struct ptx_info){0};
    i->num_threads = next_int(&r, 1, THREADS_MOST);
    i->shared_bytes = next_int(&r, 0, INT_MAX);
    i->persistent = next_int(&r, 0, INT_MAX);
    i->late_part = next_int(&r, 0, INT_MAX);
    i->stored_maps = next_int(&r, 0, (1 << MAPS_MOST) - 1);
    i->turned = next_int(&r, 0, 1) != 0;
    i->packs = next_int(&r, 0, THREADS_MOST);
    i->pair_multiple = next_int(&r, 0, INT_MAX);
    i->ptx_version = next_int(&r, 0, INT_MAX);
    i->live_regs = next_int(&r, 0, INT_MAX);
    i->peak.file = (uint16_t)next_int(&r, 0, nfiles);
    i->peak.line = (uint32_t)next_int(&r, 0, INT_MAX);
    i->peak.col = (uint16_t)next_int(&r, 0, UINT16_MAX);
    for (int p = 0; p < nparams; p++) {
        struct ptx_param param = params[p];
        param.offset_bytes = next_int(&r, 0, PARAM_BYTES_MOST);
        param.bytes = next_int(&r, 1, (int)sizeof(uint64_t));
        VEC_PUSH(a, &i->params, param);
    }
    read_plan(a, &r, i);
    return r.is_good && r.s == end;
}

/* Reads the line with struct ptx_info; the names and types of the parameters come from the traced kernel
 * f. */
static bool read_info(struct neso_kernel *k, const struct func *f, const char *s, const char *end)
{
    int n = f->body->args.n;
    struct ptx_param *params = NEW_ARRAY(&k->scratch, n, struct ptx_param);
    for (int p = 0; p < n; p++)
        params[p] = (struct ptx_param){.name = f->params.at[p].name, .type = f->body->args.at[p]->type};
    return ptx_info_read(&k->arena, &k->info, params, n, k->module->diag.sources.n, s, end);
}

bool ptx_cache_read(struct neso_kernel *k, const struct func *f, const char *key)
{
    const struct disk_cache *c = &k->module->context->cache;
    size_t bytes = cache_size(c, key), n;
    char *memory = bytes ? arena_alloc(&k->arena, bytes) : NULL;
    const char *s = memory ? cache_read(c, key, memory, bytes, &n) : NULL;
    const char *newline = s ? memchr(s, '\n', n) : NULL;
    if (!newline || !read_info(k, f, s, newline)) {
        k->info = (struct ptx_info){0};
        return false;
    }
    k->texts[NESO_TEXT_PTX].s = newline + 1;
    k->texts[NESO_TEXT_PTX].len = (size_t)(s + n - newline - 1);
    /* The PTX needs a terminating zero. The zero overwrites the first byte of the digest that follows, which was
     * checked before. */
    memory[s + n - memory] = '\0';
    return true;
}

/* -- a miss that is an error -- */

static int compare(const struct cache_field *a, const struct cache_field *b)
{
    return a->value_bytes != b->value_bytes || memcmp(a->value, b->value, (size_t)a->value_bytes) != 0;
}

void key_explain(struct diag *d, const char *key, const char *nearest)
{
    struct cache_field x, y;
    bool is_other = false;
    while (cache_field_next(&key, &x)) {
        const char *name = arena_strndup(d->arena, x.name, (size_t)x.name_bytes);
        const char *value = arena_strndup(d->arena, x.value, (size_t)x.value_bytes);
        bool has = nearest && cache_field_next(&nearest, &y);
        bool differs = has && compare(&x, &y) != 0;
        if (differs && !(is_other && strcmp(name, "source") == 0))
            diag_note(d, (struct loc){0}, ERR_cache_differs, name, value,
                      arena_strndup(d->arena, y.value, (size_t)y.value_bytes));
        else
            diag_note(d, (struct loc){0}, ERR_cache_field, name, value);
        is_other |= differs && strcmp(name, "signature") == 0;
    }
}

void ptx_cache_miss(struct neso_kernel *k, const struct func *f, const char *key)
{
    const struct disk_cache *c = &k->module->context->cache;
    struct diag *d = &k->module->diag;
    char *nearest = arena_alloc(&k->scratch, CACHE_KEY_MOST);
    bool is_like = cache_nearest(c, key, nearest);
    diag_error(d, f->loc, ERR_cache_miss, k->name, c->folder);
    key_explain(d, key, is_like ? nearest : NULL);
    if (is_like && strcmp(key, nearest) == 0)
        diag_note(d, (struct loc){0}, ERR_cache_damaged);
    diag_hint(d, ERR_cache_fill);
}
