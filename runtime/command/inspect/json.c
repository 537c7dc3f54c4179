/* SPDX-License-Identifier: MIT */
/* json.c: writes a build as JSON, and reads JSON. inspect.schema.json describes the format of a build. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- writing -- */

static void put_text(struct buffer *out, const char *name, const char *s)
{
    put_format(out, "\"%s\": ", name);
    put_json(out, s ? s : "", s ? strlen(s) : 0);
}

static void put_params(const struct build *b, struct buffer *out)
{
    put_string(out, "  \"params\": [");
    for (size_t i = 0; i < b->nparams; i++) {
        const struct neso_param *p = &b->params[i];
        put_format(out, "%s\n    {\"name\": \"%s\", \"type\": \"%s\", \"divisible\": %d, \"equals_one\": %s}",
                   i ? "," : "", p->name, p->type, p->divisible, p->equals_one ? "true" : "false");
    }
    put_string(out, b->nparams ? "\n  ],\n" : "],\n");
}

static void put_resources(const struct build *b, struct buffer *out)
{
    const char *limit;
    const neso_resources *r = &b->resources;
    int programs = build_occupancy(b, &limit);
    put_string(out, "  \"resources\": {\n");
    put_format(out, "    \"warps\": %d, \"threads\": %d, \"shared_bytes\": %d, \"live_registers\": %d,\n",
               r->num_warps, r->num_threads, r->shared_bytes, r->live_registers);
    if (b->assembled.registers >= 0)
        put_format(out, "    \"registers\": %d, \"spill_bytes\": %d, \"barriers\": %d,\n",
                   b->assembled.registers, b->assembled.spill_bytes, b->assembled.barriers);
    else
        put_string(out, "    \"registers\": null, \"spill_bytes\": null, \"barriers\": null,\n");
    put_format(out, "    \"programs_per_sm\": %d, \"limited_by\": \"%s\", \"occupancy\": %.3f\n  },\n",
               programs, limit,
               b->limits.sm_threads ? (double)programs * r->num_threads / b->limits.sm_threads : 0.0);
    put_format(out, "  \"limits\": {\"registers\": %d, \"shared_bytes\": %d, \"sm_registers\": %d, ",
               b->limits.registers, b->limits.shared_bytes, b->limits.sm_registers);
    put_format(out, "\"sm_shared_bytes\": %d, \"sm_threads\": %d, \"sm_programs\": %d},\n",
               b->limits.sm_shared_bytes, b->limits.sm_threads, b->limits.sm_programs);
}

static void put_files(const struct build *b, struct buffer *out)
{
    int file;
    size_t length;
    const char *comma = "";
    put_string(out, "  \"files\": {");
    for (const char *s = build_stage(b, "ptx")->text.s; (s = build_next_file(s, &file, &length)) != NULL;
         comma = ", ") {
        put_format(out, "%s\"%d\": ", comma, file);
        put_json(out, s, length);
    }
    put_string(out, "},\n");
}

static void put_place(struct buffer *out, struct place at)
{
    if (at.line)
        put_format(out, "\"file\": %d, \"line\": %d, \"column\": %d, ", at.file, at.line, at.column);
    else
        put_string(out, "\"file\": null, \"line\": null, \"column\": null, ");
}

static void put_notes(const struct build *b, struct buffer *out)
{
    const char *comma = "";
    put_string(out, "  \"decisions\": [");
    for (size_t i = 0; i < b->nnotes; i++) {
        const struct note *x = &b->notes[i];
        if (strcmp(x->pass, "registers") == 0 || strcmp(x->pass, "schedule") == 0)
            continue;
        put_format(out, "%s\n    {\"pass\": \"%s\", ", comma, x->pass);
        put_place(out, x->at);
        put_format(out, "\"tidies\": %s, ", note_decides(x) ? "false" : "true");
        put_text(out, "text", x->text);
        put_string(out, x->better ? ", " : ", \"better\": null}");
        if (x->better) {
            put_text(out, "better", x->better);
            put_string(out, ", ");
            put_text(out, "needs", x->needs);
            put_string(out, "}");
        }
        comma = ",";
    }
    put_string(out, *comma ? "\n  ],\n" : "],\n");
}

/* Appends a span of a loop's schedule: the cycles in which something keeps a unit of the multiprocessor
 * busy, or makes a warp role (such as the producer) wait. The text of the note is "UNIT, ROLE: cycles FROM
 * to TO, WHAT". */
static void put_span(struct buffer *out, const struct note *x, const char *comma)
{
    char unit[24], role[24];
    int from, to, at = 0;
    if (sscanf(x->text, "%23[^,], %23[^:]: cycles %d to %d, %n", unit, role, &from, &to, &at) != 4 || !at)
        return;
    put_format(out, "%s\n      {\"unit\": \"%s\", \"role\": \"%s\", \"from\": %d, \"to\": %d, ", comma, unit,
               role, from, to);
    put_place(out, x->at);
    put_text(out, "what", x->text + at);
    put_string(out, "}");
}

/* Appends the schedules of the loops. The notes of a loop are, in this order: one note about its iteration, the notes
 * about its buffers, and the notes about its spans. */
static void put_schedules(const struct build *b, struct buffer *out)
{
    const char *loop = "", *comma = "", *open = "";
    put_string(out, "  \"schedules\": [");
    for (size_t i = 0; i < b->nnotes; i++) {
        const struct note *x = &b->notes[i];
        const bool is_buffer = strcmp(x->decision, "buffer") == 0;
        if (strcmp(x->pass, "schedule") != 0)
            continue;
        if (strcmp(x->decision, "iteration") == 0) {
            put_format(out, "%s%s\n    {", open, loop);
            put_place(out, x->at);
            put_format(out, "\"cycles\": %d, ", x->number);
            put_text(out, "text", x->text);
            put_string(out, ",\n     \"buffers\": [");
            loop = ",";
            open = "], \"spans\": []}";
            comma = "";
        } else if (is_buffer) {
            put_string(out, comma);
            put_json(out, x->text, strlen(x->text));
            comma = ", ";
        } else {
            if (strcmp(open, "]}") != 0) {
                put_string(out, "], \"spans\": [");
                comma = "";
            }
            open = "]}";
            put_span(out, x, comma);
            comma = ",";
        }
    }
    put_format(out, "%s],\n", open);
}

/* Appends n (a negative n: 0) as element i of an array. Does not use printf, which would be slow for arrays
 * of tens of thousands of numbers. */
static void put_element(struct buffer *out, size_t i, int n)
{
    char digits[16], *s = digits + sizeof digits;
    for (unsigned rest = n < 0 ? 0u : (unsigned)n; rest || s == digits + sizeof digits; rest /= 10)
        *--s = (char)('0' + rest % 10);
    if (i)
        *--s = ',';
    put_bytes(out, s, (size_t)(digits + sizeof digits - s));
}

static void put_places(struct buffer *out, const struct place *places, size_t n)
{
    bool has_files = false;
    put_string(out, "\"lines\": [");
    for (size_t i = 0; i < n; i++) {
        put_element(out, i, places[i].line);
        has_files |= places[i].line && places[i].file;
    }
    put_string(out, "]");
    if (!has_files)
        return;
    put_string(out, ", \"files\": [");
    for (size_t i = 0; i < n; i++)
        put_element(out, i, places[i].line ? places[i].file : 0);
    put_string(out, "]");
}

static void put_stages(const struct build *b, struct buffer *out)
{
    put_string(out, "  \"stages\": [");
    for (size_t i = 0; i < b->nstages; i++) {
        const struct stage *s = &b->stages[i];
        size_t n;
        struct place *places = stage_places(b, s, &n);
        put_format(out, "%s\n    {\"name\": \"%s\", \"kind\": \"%s\", ", i ? "," : "", s->name, s->kind);
        put_text(out, "text", s->text.s);
        put_string(out, ",\n     ");
        put_places(out, places, n);
        put_string(out, "}");
        free(places);
    }
    put_string(out, "\n  ],\n");
}

/* Reads the next segment of a live range, such as "4-9", at *s, and moves *s past it. Returns false if there is
 * none. */
static bool next_segment(const char **s, int *from, int *to)
{
    int n = 0;
    if (sscanf(*s, " %d-%d%n", from, to, &n) != 2)
        return false;
    *s += n;
    return true;
}

static void put_live_line(const char *line, const char *end, int *pressure, size_t ninsns, struct buffer *out)
{
    char reg[32];
    int words, n = 0, from, to;
    const char *comma = "";
    if (sscanf(line, "// live %31s %d:%n", reg, &words, &n) != 2 || !n)
        return;
    put_format(out, "{\"register\": \"%s\", \"words\": %d, \"segments\": [", reg, words);
    for (const char *s = line + n; next_segment(&s, &from, &to); line = s) {
        put_format(out, "%s[%d,%d]", comma, from, to);
        comma = ",";
        for (int i = from + 1; i <= to && i < (int)ninsns; i++)
            pressure[i] += words;
        n = 0;
    }
    line += n;
    line += *line == ' ';
    put_string(out, "], \"value\": ");
    put_json(out, line, (size_t)(end - line));
    put_string(out, "}");
}

/* Writes the live ranges of the machine IR, and the number of live registers at each instruction. */
static void put_live(const struct build *b, struct buffer *out)
{
    const struct stage *mir = build_stage(b, "mir");
    size_t ninsns = 0, length;
    const char *comma = "";
    for (const char *s = mir->text.s, *end; *s; s = *end ? end + 1 : end) {
        end = s + strcspn(s, "\n");
        ninsns += line_instruction(s, (size_t)(end - s), &length) != NULL;
    }
    int *pressure = calloc(ninsns + 1, sizeof *pressure);
    if (!pressure)
        exit(complain("out of memory"));
    put_string(out, "  \"live\": [");
    for (const char *s = strstr(b->live.s, "\n// live "); s; s = strstr(s + 1, "\n// live ")) {
        put_format(out, "%s\n    ", comma);
        put_live_line(s + 1, s + 1 + strcspn(s + 1, "\n"), pressure, ninsns, out);
        comma = ",";
    }
    put_string(out, "\n  ],\n  \"pressure\": [");
    for (size_t i = 0; i < ninsns; i++)
        put_element(out, i, pressure[i]);
    put_string(out, "],\n");
    free(pressure);
}

static void put_histograms(const struct build *b, struct buffer *out)
{
    const char *comma = "";
    put_string(out, "  \"instructions\": {");
    for (size_t i = 0; i < b->nstages; i++) {
        size_t n;
        const struct stage *s = &b->stages[i];
        if (strcmp(s->kind, "ptx") != 0 && strcmp(s->kind, "sass") != 0)
            continue;
        struct count *counts = stage_histogram(s, &n);
        put_format(out, "%s\n    \"%s\": {", comma, s->kind);
        for (size_t k = 0; k < n; k++)
            put_format(out, "%s\"%s\": %d", k ? ", " : "", counts[k].name, counts[k].n);
        put_string(out, "}");
        comma = ",";
        free(counts);
    }
    put_string(out, "\n  },\n");
}

void build_json(const struct build *b, struct buffer *out)
{
    put_string(out, "{\n  \"format\": \"neso-inspect-1\",\n");
    put_format(out, "  \"neso\": \"%s\",\n  ", neso_version());
    put_text(out, "file", b->file);
    put_format(out, ",\n  \"kernel\": \"%s\",\n  ", b->kernel);
    put_format(out, "\"target\": \"%s\",\n  ", b->target);
    put_text(out, "signature", b->signature);
    put_format(out, ",\n  \"options\": {\"num_warps\": %d, \"num_stages\": %d, \"maxnreg\": %d},\n",
               b->options.num_warps ? b->options.num_warps : 4,
               b->options.num_stages ? b->options.num_stages : 3, b->options.max_registers);
    put_files(b, out);
    put_params(b, out);
    put_resources(b, out);
    put_notes(b, out);
    put_schedules(b, out);
    put_histograms(b, out);
    put_live(b, out);
    put_stages(b, out);
    if (b->profile.nmetrics || b->profile.ninstructions)
        put_profile_json(&b->profile, out);
    put_string(out, "  \"source\": ");
    put_json(out, b->source.s ? b->source.s : "", b->source.n);
    put_format(out, ",\n  \"plan\": %s}\n", b->plan);
}

/* -- reading -- */

enum { DEPTH_MOST = 64 };

struct reader {
    const char *s;
    int depth;
};

static void skip_space(struct reader *r)
{
    while (*r->s && strchr(" \t\r\n", *r->s))
        r->s++;
}

static void put_utf8(struct buffer *b, unsigned c)
{
    if (c < 0x80)
        put_format(b, "%c", (int)c);
    else if (c < 0x800)
        put_format(b, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    else
        put_format(b, "%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)),
                   (int)(0x80 | (c & 0x3f)));
}

/* Reads an escape sequence of a string, after its backslash. Returns false if it is malformed. */
static bool read_escape(struct reader *r, struct buffer *out)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *at = *r->s ? strchr(from, *r->s) : NULL;
    unsigned c = 0;
    if (at) {
        r->s++;
        put_bytes(out, &to[at - from], 1);
        return true;
    }
    if (*r->s++ != 'u')
        return false;
    for (int i = 0; i < 4; i++, r->s++) {
        if (!isxdigit((unsigned char)*r->s))
            return false;
        c = c * 16 + (unsigned)(isdigit((unsigned char)*r->s) ? *r->s - '0' : (*r->s | 32) - 'a' + 10);
    }
    if (c)
        put_utf8(out, c);
    return true;
}

static char *read_string(struct reader *r)
{
    struct buffer out = {0};
    put_string(&out, "");
    if (*r->s++ != '"')
        return buffer_free(&out), NULL;
    while (*r->s && *r->s != '"') {
        size_t n = strcspn(r->s, "\"\\");
        put_bytes(&out, r->s, n);
        r->s += n;
        if (*r->s == '\\' && (r->s++, !read_escape(r, &out)))
            return buffer_free(&out), NULL;
    }
    if (*r->s++ != '"')
        return buffer_free(&out), NULL;
    return out.s;
}

static bool read_value(struct reader *r, struct json *out);

/* Reads the members of an object or the elements of an array, from the opening bracket to the closing bracket
 * `close`. */
static bool read_entries(struct reader *r, struct json *out, char close)
{
    struct json **last = &out->first;
    r->s++;
    skip_space(r);
    for (bool first = true; *r->s != close; first = false, skip_space(r)) {
        if (!first && *r->s++ != ',')
            return false;
        struct json *j = calloc(1, sizeof *j);
        if (!j)
            exit(complain("out of memory"));
        *last = j;
        last = &j->next;
        skip_space(r);
        if (close == '}') {
            j->name = read_string(r);
            skip_space(r);
            if (!j->name || *r->s++ != ':')
                return false;
        }
        if (!read_value(r, j))
            return false;
    }
    r->s++;
    return true;
}

static bool read_word(struct reader *r, struct json *out)
{
    static const char *const words[] = {"null", "true", "false"};
    size_t n = strspn(r->s, "abcdefghijklmnopqrstuvwxyz");
    bool is_number = !n;
    n = n ? n : strspn(r->s, "+-.0123456789eE");
    struct buffer b = {0};
    put_bytes(&b, r->s, n);
    out->string = b.s;
    r->s += n;
    out->kind = is_number ? JSON_number : *b.s == 'n' ? JSON_null : JSON_bool;
    for (int i = 0; i < 3; i++)
        if (strcmp(b.s, words[i]) == 0)
            return true;
    return is_number && n > 0;
}

static bool read_value(struct reader *r, struct json *out)
{
    skip_space(r);
    if (r->depth >= DEPTH_MOST)
        return false;
    if (*r->s == '"') {
        out->kind = JSON_string;
        out->string = read_string(r);
        return out->string != NULL;
    }
    if (*r->s != '{' && *r->s != '[')
        return read_word(r, out);
    out->kind = *r->s == '{' ? JSON_object : JSON_array;
    r->depth++;
    bool good = read_entries(r, out, *r->s == '{' ? '}' : ']');
    r->depth--;
    return good;
}

struct json *json_read(const char *text)
{
    struct reader r = {text, 0};
    struct json *j = calloc(1, sizeof *j);
    if (!j)
        exit(complain("out of memory"));
    bool good = read_value(&r, j);
    skip_space(&r);
    if (good && !*r.s)
        return j;
    json_free(j);
    return NULL;
}

void json_free(struct json *j)
{
    while (j) {
        struct json *next = j->next;
        json_free(j->first);
        free(j->name);
        free(j->string);
        free(j);
        j = next;
    }
}

const struct json *json_member(const struct json *j, const char *name)
{
    for (const struct json *x = j ? j->first : NULL; x; x = x->next)
        if (x->name && strcmp(x->name, name) == 0)
            return x;
    return NULL;
}
