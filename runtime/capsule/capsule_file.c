/* SPDX-License-Identifier: MIT */
/* capsule_file.c: writes capsules as files, and reads them.
 *
 *     neso capsule 1
 *     kernel scale                      the fields of struct neso_capsule
 *     signature *fp32:16, i32, 256
 *     ...
 *     file 187 scale.py                 bytes and name of a file; its text follows
 *     argument 0 0 *fp32 X              buffer, value, type, name
 *     buffer 4096 0 1 X                 bytes, skew, 1 if the contents after the launch are known; coded memory follows
 *     sum 9f86...                       SHA-256 of all preceding bytes
 *
 * Memory is coded as a list of runs. A run begins with the number 4 * length + kind, where the length is in
 * bytes and the kind is an enum run. The number is in LEB128: each byte has 7 bits of the number, the lowest
 * bits first, and only the last byte is below 128. The run's data follow: nothing for zeros, the bytes for a
 * literal, and the repeated 8 bytes for a repetition. The memory after the launch is stored as its XOR with
 * the memory before the launch. So bytes that the launch did not change become zeros, which need almost no
 * space. */
#include "runtime/capsule/capsule.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const char magic[] = "neso capsule 1\n";
static const char sum_name[] = "sum ";
enum { SUM_DIGITS = 64, SUM_LINE = sizeof sum_name - 1 + SUM_DIGITS + 1 };
enum run { RUN_zeros, RUN_literal, RUN_repeat };
enum { WORD = 8, RUN_WORDS = 3 }; /* a repetition of fewer than RUN_WORDS words becomes part of a literal */
enum { PARTS_MOST = 4096 };       /* the most files, the most arguments and the most buffers */

/* -- writing -- */

static void put(struct capsule_bytes *out, const void *s, size_t n)
{
    if (out->room - out->n < n && !out->is_full) {
        size_t room = 2 * out->room + n + 4096;
        unsigned char *grown = out->mem->alloc(out->mem->ctx, room);
        out->is_full = !grown;
        if (grown && out->n)
            memcpy(grown, out->s, out->n);
        if (grown && out->s)
            out->mem->free(out->mem->ctx, out->s, out->room);
        out->s = grown ? grown : out->s;
        out->room = grown ? room : out->room;
    }
    if (out->is_full || n == 0)
        return;
    memcpy(out->s + out->n, s, n);
    out->n += n;
}

void capsule_bytes_free(struct capsule_bytes *out)
{
    if (out->s)
        out->mem->free(out->mem->ctx, out->s, out->room);
    out->s = NULL;
}

static void put_field(struct capsule_bytes *out, const char *name, const char *value)
{
    put(out, name, strlen(name));
    put(out, " ", 1);
    size_t at = out->n;
    put(out, value, strlen(value));
    for (size_t i = at; i < out->n; i++)
        if (out->s[i] < ' ')
            out->s[i] = ' ';
    put(out, "\n", 1);
}

static void put_number(struct capsule_bytes *out, const char *name, int64_t n)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)n);
    put_field(out, name, text);
}

static void put_run(struct capsule_bytes *out, enum run kind, uint64_t bytes)
{
    unsigned char digits[10];
    size_t n = 0;
    for (uint64_t v = 4 * bytes + kind; n == 0 || v; v >>= 7)
        digits[n++] = (unsigned char)(v | 128);
    digits[n - 1] &= 127;
    put(out, digits, n);
}

/* The memory to code: the bytes at s, or, if `with` is not NULL, their XOR with the bytes at `with`. */
struct coded {
    const unsigned char *s, *with;
    size_t bytes;
};

static uint64_t word_at(const struct coded *c, size_t i)
{
    uint64_t x, y = 0;
    memcpy(&x, c->s + i, WORD);
    if (c->with)
        memcpy(&y, c->with + i, WORD);
    return x ^ y;
}

static void put_literal(struct capsule_bytes *out, const struct coded *c, size_t from, size_t end)
{
    if (from == end)
        return;
    put_run(out, RUN_literal, end - from);
    size_t at = out->n;
    put(out, c->s + from, end - from);
    for (size_t i = from; c->with && i < end && !out->is_full; i++)
        out->s[at + i - from] ^= c->with[i];
}

static void put_memory(struct capsule_bytes *out, const struct coded *c)
{
    size_t literal = 0, i = 0;
    while (i + WORD <= c->bytes) {
        uint64_t word = word_at(c, i);
        size_t end = i + WORD;
        while (end + WORD <= c->bytes && word_at(c, end) == word)
            end += WORD;
        if (end - i >= RUN_WORDS * WORD) {
            put_literal(out, c, literal, i);
            put_run(out, word ? RUN_repeat : RUN_zeros, end - i);
            put(out, &word, word ? WORD : 0);
            literal = end;
        }
        i = end;
    }
    put_literal(out, c, literal, c->bytes);
}

/* The members of neso_capsule that are strings. */
static const struct string_field {
    const char *name;
    size_t offset;
} string_fields[] = {
    {"kernel", offsetof(neso_capsule, kernel)}, {"signature", offsetof(neso_capsule, signature)},
    {"target", offsetof(neso_capsule, target)}, {"params", offsetof(neso_capsule, params)},
    {"skip", offsetof(neso_capsule, skip)},     {"device", offsetof(neso_capsule, device)},
    {"tag", offsetof(neso_capsule, tag)},       {"text", offsetof(neso_capsule, text)},
    {"pass", offsetof(neso_capsule, pass)},     {"without", offsetof(neso_capsule, without)}};
enum { STRINGS = sizeof string_fields / sizeof *string_fields };

static const char **string_of(const neso_capsule *c, int i)
{
    return (const char **)((uintptr_t)c + string_fields[i].offset);
}

static void put_head(const neso_capsule *c, struct capsule_bytes *out)
{
    char grid[64];
    put(out, magic, sizeof magic - 1);
    snprintf(grid, sizeof grid, "%u %u %u", (unsigned)c->grid[0], (unsigned)c->grid[1], (unsigned)c->grid[2]);
    for (int i = 0; i < STRINGS; i++)
        put_field(out, string_fields[i].name, *string_of(c, i));
    put_number(out, "num_warps", c->num_warps);
    put_number(out, "num_stages", c->num_stages);
    put_number(out, "max_registers", c->max_registers);
    put_number(out, "no_fp_fusion", c->no_fp_fusion);
    put_number(out, "deterministic", c->deterministic);
    put_number(out, "fp_reassoc", c->fp_reassoc);
    put_number(out, "debug", c->debug);
    put_number(out, "programs", c->programs);
    put_number(out, "seen", c->seen);
    put_number(out, "line", c->line);
    put_field(out, "grid", grid);
}

void capsule_put(const neso_capsule *c, struct capsule_bytes *out)
{
    char word[80], sum[SUM_DIGITS + 1];
    put_head(c, out);
    put_number(out, "files", (int64_t)c->file_count);
    for (size_t i = 0; i < c->file_count; i++) {
        snprintf(word, sizeof word, "file %zu", c->files[i].length);
        put_field(out, word, c->files[i].name);
        put(out, c->files[i].text, c->files[i].length);
        put(out, "\n", 1);
    }
    put_number(out, "arguments", (int64_t)c->argument_count);
    for (size_t i = 0; i < c->argument_count; i++) {
        const neso_capsule_argument *a = &c->arguments[i];
        snprintf(word, sizeof word, "argument %d %llu %s", a->buffer, (unsigned long long)a->value, a->type);
        put_field(out, word, a->name);
    }
    put_number(out, "buffers", (int64_t)c->buffer_count);
    for (size_t i = 0; i < c->buffer_count; i++) {
        const neso_capsule_buffer *b = &c->buffers[i];
        snprintf(word, sizeof word, "buffer %zu %zu %d", b->bytes, b->skew, b->after != NULL);
        put_field(out, word, b->name);
        put_memory(out, &(struct coded){b->before, NULL, b->bytes});
        if (b->after)
            put_memory(out, &(struct coded){b->after, b->before, b->bytes});
        put(out, "\n", 1);
    }
    if (out->is_full)
        return;
    digest_text(out->s, out->n, SUM_DIGITS, sum);
    put_field(out, "sum", sum);
}

neso_status neso_capsule_write(neso_context *context, const neso_capsule *capsule,
                               void (*write)(void *user, const void *data, size_t length), void *user)
{
    struct capsule_bytes out = {.mem = &context->mem};
    report_begin(context);
    capsule_put(capsule, &out);
    if (!out.is_full)
        write(user, out.s, out.n);
    capsule_bytes_free(&out);
    return context->status = out.is_full ? NESO_OUT_OF_MEMORY : NESO_OK;
}

/* -- reading -- */

/* A capsule that was read from a file. It is in the arena of a module that exists only for this capsule. */
struct held {
    neso_capsule capsule; /* the first member */
    struct neso_module *module;
};

struct reading {
    struct arena *arena;
    const char *name;
    const unsigned char *s, *end; /* the bytes that are not yet read, without the checksum */
    size_t length;
    const char *wrong; /* names the first part of the file that is wrong; NULL: none */
    struct held *held;
    struct neso_module *module;
};

/* Reads the line "NAME VALUE", and returns the value; "" after an error. */
static const char *field(struct reading *r, const char *name)
{
    size_t n = strlen(name), left = (size_t)(r->end - r->s);
    const unsigned char *newline = memchr(r->s, '\n', left);
    if (r->wrong || !newline || (size_t)(newline - r->s) <= n || memcmp(r->s, name, n) != 0 ||
        r->s[n] != ' ') {
        r->wrong = r->wrong ? r->wrong : name;
        return "";
    }
    const char *value = arena_strndup(r->arena, (const char *)r->s + n + 1, (size_t)(newline - r->s) - n - 1);
    r->s = newline + 1;
    return value;
}

/* Reads the number at *value, and moves *value past the number and the following blank. If the number is not
 * between `least` and `most`, sets r->wrong and returns `least`. */
static int64_t number(struct reading *r, const char **value, int64_t least, int64_t most)
{
    bool is_negative = **value == '-';
    const char *s = *value + is_negative;
    uint64_t n = 0;
    bool good = *s >= '0' && *s <= '9';
    for (; *s >= '0' && *s <= '9'; s++) {
        good &= n < (uint64_t)INT64_MAX / 10;
        n = 10 * n + (uint64_t)(*s - '0');
    }
    int64_t found = !good ? least : is_negative ? -(int64_t)n : (int64_t)n;
    if (!good || (*s && *s != ' ') || found < least || found > most) {
        r->wrong = r->wrong ? r->wrong : "a number";
        found = least;
    }
    *value = *s ? s + 1 : s;
    return found;
}

static int int_field(struct reading *r, const char *name, int64_t least, int64_t most)
{
    const char *value = field(r, name);
    return (int)number(r, &value, least, most);
}

/* Returns the next n bytes of the file, and moves past them; NULL if fewer bytes are left. */
static const unsigned char *take(struct reading *r, uint64_t n)
{
    if (r->wrong || n > (uint64_t)(r->end - r->s)) {
        r->wrong = r->wrong ? r->wrong : "its contents";
        return NULL;
    }
    r->s += n;
    return r->s - n;
}

static void end_of_line(struct reading *r)
{
    const unsigned char *c = take(r, 1);
    if (c && *c != '\n')
        r->wrong = "an end of a part";
}

static uint64_t run_number(struct reading *r)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 63; shift += 7) {
        const unsigned char *c = take(r, 1);
        if (!c)
            return 0;
        v |= (uint64_t)(*c & 127) << shift;
        if (*c < 128)
            return v;
    }
    r->wrong = r->wrong ? r->wrong : "a run";
    return 0;
}

/* Reads the runs of `bytes` bytes of memory, and returns the memory. If `with` is not NULL, the runs code the
 * XOR of the memory with the bytes at `with`. */
static const unsigned char *memory(struct reading *r, size_t bytes, const unsigned char *with)
{
    unsigned char *to = r->wrong ? NULL : arena_alloc(r->arena, bytes + 1); /* filled with zeros */
    for (size_t at = 0; at < bytes && !r->wrong;) {
        uint64_t v = run_number(r), n = v / 4;
        if (n == 0 || n > bytes - at || v % 4 > RUN_repeat) {
            r->wrong = r->wrong ? r->wrong : "a run";
            break;
        }
        const unsigned char *from = v % 4 == RUN_literal  ? take(r, n)
                                    : v % 4 == RUN_repeat ? take(r, WORD)
                                                          : NULL;
        if (from && v % 4 == RUN_literal)
            memcpy(to + at, from, (size_t)n);
        for (size_t i = 0; from && v % 4 == RUN_repeat && i < n; i++)
            to[at + i] = from[i % WORD];
        at += (size_t)n;
    }
    for (size_t i = 0; with && to && i < bytes && !r->wrong; i++)
        to[i] ^= with[i];
    return to;
}

static void read_head(struct reading *r, neso_capsule *c)
{
    c->size = sizeof *c;
    for (int i = 0; i < STRINGS; i++)
        *string_of(c, i) = field(r, string_fields[i].name);
    c->num_warps = int_field(r, "num_warps", 0, 64);
    c->num_stages = int_field(r, "num_stages", 0, 1000);
    c->max_registers = int_field(r, "max_registers", 0, 1000);
    c->no_fp_fusion = int_field(r, "no_fp_fusion", 0, 1);
    c->deterministic = int_field(r, "deterministic", 0, 1);
    c->fp_reassoc = int_field(r, "fp_reassoc", 0, 1);
    c->debug = int_field(r, "debug", 0, 2);
    c->programs = int_field(r, "programs", 0, INT32_MAX);
    c->seen = (neso_seen)int_field(r, "seen", 0, NESO_SEEN_REFUSED);
    c->line = (uint32_t)int_field(r, "line", 0, INT32_MAX);
    const char *grid = field(r, "grid");
    for (int i = 0; i < 3; i++)
        c->grid[i] = (uint32_t)number(r, &grid, 1, i ? 65535 : INT32_MAX);
}

static void read_parts(struct reading *r, neso_capsule *c)
{
    const int64_t bytes_most = (int64_t)1 << 48;
    c->file_count = (size_t)int_field(r, "files", 1, PARTS_MOST);
    neso_capsule_file *files = NEW_ARRAY(r->arena, c->file_count, neso_capsule_file);
    c->files = files;
    for (size_t i = 0; i < c->file_count && !r->wrong; i++) {
        const char *value = field(r, "file");
        files[i].length = (size_t)number(r, &value, 0, bytes_most);
        files[i].name = value;
        const unsigned char *text = take(r, files[i].length);
        files[i].text = text ? arena_strndup(r->arena, (const char *)text, files[i].length) : "";
        end_of_line(r);
    }
    c->argument_count = (size_t)int_field(r, "arguments", 0, PARTS_MOST);
    neso_capsule_argument *args = NEW_ARRAY(r->arena, c->argument_count + 1, neso_capsule_argument);
    c->arguments = args;
    for (size_t i = 0; i < c->argument_count && !r->wrong; i++) {
        const char *value = field(r, "argument");
        args[i].buffer = (int)number(r, &value, -1, PARTS_MOST);
        char *blank;
        for (; *value >= '0' && *value <= '9'; value++)
            args[i].value = 10 * args[i].value + (uint64_t)(*value - '0');
        if (*value != ' ' || !(blank = strchr(value + 1, ' '))) {
            r->wrong = "argument";
            break;
        }
        args[i].type = arena_strndup(r->arena, value + 1, (size_t)(blank - value - 1));
        args[i].name = blank + 1;
    }
    c->buffer_count = (size_t)int_field(r, "buffers", 0, PARTS_MOST);
    neso_capsule_buffer *buffers = NEW_ARRAY(r->arena, c->buffer_count + 1, neso_capsule_buffer);
    c->buffers = buffers;
    for (size_t i = 0; i < c->buffer_count && !r->wrong; i++) {
        const char *value = field(r, "buffer");
        buffers[i].bytes = (size_t)number(r, &value, 0, bytes_most);
        buffers[i].skew = (size_t)number(r, &value, 0, 255);
        bool has_after = number(r, &value, 0, 1) == 1;
        buffers[i].name = value;
        buffers[i].before = memory(r, buffers[i].bytes, NULL);
        buffers[i].after = has_after ? memory(r, buffers[i].bytes, buffers[i].before) : NULL;
        end_of_line(r);
    }
    for (size_t i = 0; i < c->argument_count && !r->wrong; i++)
        if (args[i].buffer >= (int)c->buffer_count ||
            (args[i].buffer >= 0 && args[i].value > buffers[args[i].buffer].bytes))
            r->wrong = "an argument's buffer";
}

static const char *check_sum(struct reading *r)
{
    char sum[SUM_DIGITS + 1];
    size_t n = r->length;
    if (n < sizeof magic - 1 || memcmp(r->s, magic, sizeof magic - 1) != 0)
        return n >= 13 && memcmp(r->s, magic, 13) == 0
                   ? "it has another version of the format: replay it with the neso that wrote it"
                   : "it does not begin as a capsule does: `neso capsule PROGRAM.py -o FILE` writes one";
    if (n < sizeof magic - 1 + SUM_LINE || memcmp(r->s + n - SUM_LINE, sum_name, sizeof sum_name - 1) != 0)
        return "its end is missing: copy or write it again";
    digest_text(r->s, n - SUM_LINE, SUM_DIGITS, sum);
    if (memcmp(r->s + n - SUM_DIGITS - 1, sum, SUM_DIGITS) != 0)
        return "its sum differs, so it was changed or damaged: copy or write it again";
    return NULL;
}

static void refuse(struct reading *r, const char *why)
{
    diag_error(&r->module->diag, (struct loc){0}, ERR_capsule_refused, r->name, why);
}

static void read_capsule(void *arg)
{
    struct reading *r = arg;
    const char *why = check_sum(r);
    if (why) {
        refuse(r, why);
        return;
    }
    r->end = r->s + r->length - SUM_LINE;
    r->s += sizeof magic - 1;
    r->held = NEW(r->arena, struct held);
    read_head(r, &r->held->capsule);
    read_parts(r, &r->held->capsule);
    if (!r->wrong && r->s != r->end)
        r->wrong = "what follows the last buffer";
    if (!r->wrong)
        return;
    struct text t;
    text_init(&t, r->arena);
    text_printf(&t, "'%s' cannot be read, although its sum is right: replay it with the neso that wrote it",
                r->wrong);
    refuse(r, t.s);
}

neso_status neso_capsule_read(neso_context *context, const char *name, const void *data, size_t length,
                              neso_capsule **capsule)
{
    *capsule = NULL;
    report_begin(context);
    struct neso_module *m = module_new(context);
    if (!m)
        return context->status = NESO_OUT_OF_MEMORY;
    report_enter(m);
    struct reading r = {.arena = &m->arena, .name = name, .s = data, .length = length, .module = m};
    neso_status status = guard(m, read_capsule, &r);
    report_leave(m, status);
    if (status == NESO_OK) {
        r.held->module = m;
        *capsule = &r.held->capsule;
    } else {
        module_drop(m);
    }
    return status;
}

void neso_capsule_release(neso_capsule *capsule)
{
    if (capsule)
        module_drop(((struct held *)capsule)->module);
}
