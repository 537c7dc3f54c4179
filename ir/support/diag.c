/* SPDX-License-Identifier: MIT */
/* diag.c: records diagnostics, and renders them as text and JSON (see diag.h).
 *
 * diag_error formats the message at once, with types and names as the user's program spells them, and stores
 * it. diag_render copies the source line and places the caret below it. Column numbers count bytes, but the
 * caret is placed by counting characters. Characters that a terminal might interpret (control characters,
 * marks that change the writing direction, bytes that are not UTF-8) are shown as '?'. */
#include "ir/support/diag.h"
#include "ir/ir.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* `messages` contains the tag and the text of each row of errors.h, each followed by a zero byte; `offsets`
 * contains the start of each row. A row with two pointers instead of an offset would take 14 bytes more. */
struct messages {
#define ERROR(tag, text) char at_##tag[sizeof #tag "\0" text];
#include "ir/support/errors.h"
#undef ERROR
};
static const struct messages messages = {
#define ERROR(tag, text) #tag "\0" text,
#include "ir/support/errors.h"
#undef ERROR
};
static const uint16_t offsets[ERR_count] = {
#define ERROR(tag, text) offsetof(struct messages, at_##tag),
#include "ir/support/errors.h"
#undef ERROR
};
_Static_assert(sizeof messages <= UINT16_MAX, "offsets have 16 bits");

static const char *const severity_words[] = {"error", "warning", "note", "hint"};

const char *error_tag(enum error e)
{
    return (const char *)&messages + offsets[e];
}

const char *error_text(enum error e)
{
    return strchr(error_tag(e), 0) + 1;
}

/* -- sources and calls -- */

void diag_init(struct diag *d, struct arena *a)
{
    *d = (struct diag){.arena = a, .stage = "neso"};
    VEC_PUSH(a, &d->calls, (struct call_site){.callee = ""});
}

struct source *diag_add_source(struct diag *d, const char *name, const char *text, size_t len)
{
    struct source *s = NEW(d->arena, struct source);
    s->name = arena_strndup(d->arena, name, strlen(name));
    s->text = arena_strndup(d->arena, text, len);
    s->len = len;
    s->index = d->sources.n;
    VEC_PUSH(d->arena, &d->sources, s);
    return s;
}

uint16_t diag_push_call(struct diag *d, struct loc at, const char *callee)
{
    if (d->calls.n > UINT16_MAX)
        return at.call;
    VEC_PUSH(d->arena, &d->calls, (struct call_site){at, callee});
    return (uint16_t)(d->calls.n - 1);
}

/* -- messages -- */

/* Formats a type as Triton's language spells it: fp32, pointer<fp32>, fp32[128, 64]. */
static void format_type(struct text *t, const struct type *type)
{
    if (!type) {
        text_str(t, "nothing");
        return;
    }
    const struct type *elem = type->kind == TY_tile || type->kind == TY_shared ? type->elem : type;
    if (elem->kind == TY_ptr) {
        text_str(t, "pointer<");
        format_type(t, elem->elem);
        text_char(t, '>');
    } else {
        text_str(t, dtype_info[elem->dtype].name);
    }
    for (int i = 0; elem != type && i < type->rank; i++)
        text_printf(t, "%s%d%s", i ? ", " : "[", type->shape[i], i + 1 < type->rank ? "" : "]");
}

/* Formats the name of the user's variable: the value's name without the number that made it unique. */
static void format_value(struct text *t, const struct value *v)
{
    const char *name = v ? v->name : "nothing";
    text_bytes(t, name, strcspn(name, "."));
}

static void format_verb(struct text *t, char verb, va_list *args)
{
    switch (verb) {
    case 's': text_str(t, va_arg(*args, const char *)); break;
    case 'd': text_printf(t, "%d", va_arg(*args, int)); break;
    case 'l': text_printf(t, "%" PRId64, va_arg(*args, int64_t)); break;
    case 'c': text_char(t, (char)va_arg(*args, int)); break;
    case 'g': text_double(t, va_arg(*args, double), 0); break;
    case 'T': format_type(t, va_arg(*args, const struct type *)); break;
    case 'V': format_value(t, va_arg(*args, const struct value *)); break;
    case 'L': layout_print(va_arg(*args, const struct layout *), t); break;
    case 'D': text_str(t, dtype_info[va_arg(*args, int)].name); break;
    default: text_char(t, verb); break;
    }
}

void diag_vformat(struct text *t, const char *format, va_list args)
{
    va_list rest;
    va_copy(rest, args);
    for (const char *s = format; *s; s++) {
        if (*s == '%' && s[1])
            format_verb(t, *++s, &rest);
        else
            text_char(t, *s);
    }
    va_end(rest);
}

/* -- reporting -- */

static void keep(struct diag *d, enum severity severity, struct loc at, enum error e, va_list args)
{
    struct text message;
    text_init(&message, d->arena);
    diag_vformat(&message, error_text(e), args);
    VEC_PUSH(d->arena, &d->list, (struct diagnostic){severity, e, at, message.s});
}

void diag_forget(struct diag *d, int n, int nerrors)
{
    d->list.n = n;
    d->nerrors = nerrors;
}

/* Returns whether more errors have been reported than the list may contain. From then on, errors, warnings,
 * notes and hints are dropped. */
static bool is_full(const struct diag *d)
{
    return d->nerrors > DIAG_ERRORS_MOST;
}

void diag_verror(struct diag *d, struct loc at, enum error e, va_list args)
{
    d->nerrors++;
    if (d->nerrors == DIAG_ERRORS_MOST + 1 && d->fatal)
        diag_fatal(d, (struct loc){0}, ERR_too_many_errors, DIAG_ERRORS_MOST);
    if (!is_full(d))
        keep(d, SEV_error, at, e, args);
}

void diag_error(struct diag *d, struct loc at, enum error e, ...)
{
    va_list args;
    va_start(args, e);
    diag_verror(d, at, e, args);
    va_end(args);
}

void diag_warn(struct diag *d, struct loc at, enum error e, ...)
{
    if (is_full(d))
        return;
    va_list args;
    va_start(args, e);
    keep(d, SEV_warning, at, e, args);
    va_end(args);
}

/* Returns whether two locations, and the locations of the calls through which they were inlined, have equal
 * files, lines and columns. Ignores the numbers of the calls (`call`), because they differ if a kernel is
 * traced a second time. */
static bool same_place(const struct diag *d, struct loc a, struct loc b)
{
    while (a.call && b.call && a.file == b.file && a.line == b.line && a.col == b.col) {
        a = d->calls.at[a.call].at;
        b = d->calls.at[b.call].at;
    }
    return !a.call == !b.call && a.file == b.file && a.line == b.line && a.col == b.col;
}

bool diag_has_warned(const struct diag *d, struct loc at, enum error e)
{
    for (int i = 0; i < d->list.n; i++) {
        const struct diagnostic *x = &d->list.at[i];
        if (x->severity == SEV_warning && x->error == e && same_place(d, x->loc, at))
            return true;
    }
    return false;
}

void diag_note(struct diag *d, struct loc at, enum error e, ...)
{
    if (is_full(d))
        return;
    va_list args;
    va_start(args, e);
    keep(d, SEV_note, at, e, args);
    va_end(args);
}

void diag_hint(struct diag *d, enum error e, ...)
{
    if (is_full(d))
        return;
    va_list args;
    va_start(args, e);
    keep(d, SEV_hint, (struct loc){0}, e, args);
    va_end(args);
}

void diag_hurry(const struct diag *d, struct loc at)
{
    if (d->hurry)
        d->hurry(d->hurry_ctx, at);
}

bool error_is_exhaustion(enum error e)
{
    static const enum error rows[] = {ERR_out_of_memory, ERR_memory_limit, ERR_ir_limit,
                                      ERR_time_limit,    ERR_cancelled,    ERR_device_memory,
                                      ERR_torch_memory,  ERR_launch_memory};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i] == e)
            return true;
    return false;
}

void diag_fatal(struct diag *d, struct loc at, enum error e, ...)
{
    d->nerrors++;
    d->exhausted |= error_is_exhaustion(e);
    va_list args;
    va_start(args, e);
    keep(d, SEV_error, at, e, args);
    va_end(args);
    longjmp(*d->fatal, 1);
}

void diag_bug(struct diag *d, struct loc at, const char *format, ...)
{
    struct text message;
    text_init(&message, d->arena);
    va_list args;
    va_start(args, format);
    text_vprintf(&message, format, args);
    va_end(args);
    d->internal = true;
    diag_fatal(d, at, ERR_internal, d->stage, message.s);
}

/* -- characters -- */

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

/* Returns how many of the n bytes at s form one UTF-8 character; 0 if they are not UTF-8. */
static size_t utf8_bytes(const char *s, size_t n)
{
    unsigned char c = (unsigned char)s[0];
    size_t want = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
    if (want == 0 || want > n)
        return 0;
    for (size_t i = 1; i < want; i++)
        if (!is_continuation(s[i]))
            return 0;
    unsigned char second = want > 1 ? (unsigned char)s[1] : 0;
    bool overlong = (c == 0xe0 && second < 0xa0) || (c == 0xf0 && second < 0x90);
    bool beyond = (c == 0xed && second > 0x9f) || (c == 0xf4 && second > 0x8f);
    return overlong || beyond ? 0 : want;
}

/* Returns false for control characters of ASCII (except tab) and Latin 1, and for marks that change the
 * writing direction. */
static bool is_shown(const char *s, size_t nbytes)
{
    unsigned char c = (unsigned char)s[0];
    unsigned char second = nbytes > 1 ? (unsigned char)s[1] : 0, third = nbytes > 2 ? (unsigned char)s[2] : 0;
    if (nbytes == 1)
        return (c >= 0x20 && c != 0x7f) || c == '\t';
    if (c == 0xc2)
        return second >= 0xa0;
    if (c == 0xe2 && second == 0x80)
        return third < 0xaa || third > 0xae;
    if (c == 0xe2 && second == 0x81)
        return third < 0xa6 || third > 0xa9;
    return true;
}

/* Appends the character at s, or '?' if it must not be shown; returns the character's number of bytes. */
static size_t show_char(struct text *out, const char *s, size_t n)
{
    size_t nbytes = utf8_bytes(s, n);
    if (nbytes && is_shown(s, nbytes))
        text_bytes(out, s, nbytes);
    else
        text_char(out, '?');
    return nbytes ? nbytes : 1;
}

static void show(struct text *out, const char *s)
{
    for (size_t n = strlen(s); n > 0;) {
        size_t nbytes = 1;
        if (*s == '\n')
            text_char(out, '\n');
        else
            nbytes = show_char(out, s, n);
        s += nbytes;
        n -= nbytes;
    }
}

static size_t count_chars(const char *s, size_t n)
{
    size_t chars = 0;
    for (size_t i = 0; i < n; chars++) {
        size_t nbytes = utf8_bytes(s + i, n - i);
        i += nbytes ? nbytes : 1;
    }
    return chars;
}

/* -- text -- */

static const struct source *source_of(const struct diag *d, struct loc at)
{
    return at.line && at.file < d->sources.n ? d->sources.at[at.file] : NULL;
}

static void render_place(const struct diag *d, struct loc at, struct text *out)
{
    const struct source *source = source_of(d, at);
    if (!source)
        return;
    show(out, source->name);
    text_printf(out, ":%" PRIu32, at.line);
    if (at.col)
        text_printf(out, ":%d", at.col);
}

/* Returns the address of a line's first byte, and sets *len to the line's length without the newline; returns NULL
 * if there is no such line. */
static const char *find_line(const struct source *source, uint32_t line, size_t *len)
{
    const char *s = source->text, *end = s + source->len;
    for (uint32_t i = 1; i < line; i++) {
        s = memchr(s, '\n', (size_t)(end - s));
        if (!s)
            return NULL;
        s++;
    }
    const char *stop = memchr(s, '\n', (size_t)(end - s));
    *len = (size_t)((stop ? stop : end) - s);
    if (*len && s[*len - 1] == '\r')
        --*len;
    return s;
}

/* If a source line has more than LINE_CHARS_MOST characters, diag_render shows only the part around the
 * caret. */
enum { LINE_CHARS_MOST = 120 };

/* A source line has nchars characters, and the caret belongs below character number `caret` (from 0). Returns
 * the number of the first character to show. */
static size_t cut_at(size_t nchars, size_t caret)
{
    if (nchars <= LINE_CHARS_MOST || caret <= LINE_CHARS_MOST / 2)
        return 0;
    size_t first = caret - LINE_CHARS_MOST / 2;
    return first > nchars - LINE_CHARS_MOST ? nchars - LINE_CHARS_MOST : first;
}

/* Appends characters first .. first+most-1 of a line; if `blank`, appends a blank or tab instead of each. */
static void render_chars(struct text *out, const char *s, size_t n, size_t first, size_t most, bool blank)
{
    size_t at = 0;
    for (size_t i = 0; at < n && i < first + most; i++) {
        size_t nbytes = utf8_bytes(s + at, n - at);
        nbytes = nbytes ? nbytes : 1;
        if (i >= first && blank)
            text_char(out, s[at] == '\t' ? '\t' : ' ');
        else if (i >= first)
            show_char(out, s + at, n - at);
        at += nbytes;
    }
}

static void render_line(const struct diag *d, struct loc at, struct text *out)
{
    const struct source *source = source_of(d, at);
    size_t len = 0;
    const char *s = source ? find_line(source, at.line, &len) : NULL;
    if (!s || !at.col)
        return;
    size_t before = at.col - 1u < len ? at.col - 1u : len;
    size_t span = at.len < len - before ? at.len : len - before;
    size_t nchars = count_chars(s, len), caret = count_chars(s, before);
    size_t first = cut_at(nchars, caret);
    bool cut_end = nchars > first + LINE_CHARS_MOST;
    text_printf(out, "%5" PRIu32 " | %s", at.line, first ? "..." : "");
    render_chars(out, s, len, first, LINE_CHARS_MOST, false);
    text_printf(out, "%s\n      | %s", cut_end ? "..." : "", first ? "   " : "");
    render_chars(out, s, before, first, caret - first, true);
    text_char(out, '^');
    size_t tildes = count_chars(s + before, span), room = first + LINE_CHARS_MOST - caret;
    for (size_t i = 1; i < tildes && i < room; i++)
        text_char(out, '~');
    text_char(out, '\n');
}

static void render_calls(const struct diag *d, struct loc at, struct text *out)
{
    for (int i = at.call; i > 0 && i < d->calls.n; i = d->calls.at[i].at.call) {
        const struct call_site *call = &d->calls.at[i];
        text_str(out, "      in ");
        show(out, call->callee);
        text_str(out, ", called at ");
        render_place(d, call->at, out);
        text_char(out, '\n');
    }
}

static void render_tag(enum error e, struct text *out)
{
    for (const char *s = error_tag(e); *s; s++)
        text_char(out, *s == '_' ? '-' : *s);
}

void diag_render(const struct diag *d, const struct diagnostic *x, struct text *out)
{
    render_place(d, x->loc, out);
    text_printf(out, "%s%s: ", source_of(d, x->loc) ? ": " : "", severity_words[x->severity]);
    show(out, x->message);
    bool is_note = x->severity == SEV_note || x->severity == SEV_hint;
    if (!is_note) {
        text_str(out, " [");
        render_tag(x->error, out);
        text_char(out, ']');
    }
    text_char(out, '\n');
    if (is_note)
        return;
    render_line(d, x->loc, out);
    render_calls(d, x->loc, out);
}

void diag_render_all(const struct diag *d, struct text *out)
{
    for (int i = 0; i < d->list.n; i++)
        diag_render(d, &d->list.at[i], out);
}

/* -- JSON -- */

void text_json_string(struct text *out, const char *s)
{
    text_char(out, '"');
    for (size_t n = strlen(s); n > 0;) {
        size_t nbytes = utf8_bytes(s, n);
        if (nbytes == 0)
            text_str(out, "\\ufffd");
        else if (*s == '"' || *s == '\\')
            text_printf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20 || *s == 0x7f)
            text_printf(out, "\\u%04x", (unsigned)*s);
        else
            text_bytes(out, s, nbytes);
        nbytes = nbytes ? nbytes : 1;
        s += nbytes;
        n -= nbytes;
    }
    text_char(out, '"');
}

static void json_place(const struct diag *d, struct loc at, struct text *out)
{
    const struct source *source = source_of(d, at);
    if (!source)
        return;
    text_str(out, ", \"file\": ");
    text_json_string(out, source->name);
    text_printf(out, ", \"line\": %" PRIu32 ", \"column\": %d, \"length\": %d", at.line, at.col, at.len);
}

static void json_calls(const struct diag *d, struct loc at, struct text *out)
{
    if (!at.call)
        return;
    text_str(out, ", \"calls\": [");
    const char *comma = "";
    for (int i = at.call; i > 0 && i < d->calls.n; i = d->calls.at[i].at.call) {
        text_printf(out, "%s{\"callee\": ", comma);
        text_json_string(out, d->calls.at[i].callee);
        json_place(d, d->calls.at[i].at, out);
        text_char(out, '}');
        comma = ", ";
    }
    text_char(out, ']');
}

/* Appends one JSON object without its closing brace. */
static void json_diagnostic(const struct diag *d, const struct diagnostic *x, struct text *out)
{
    text_printf(out, "{\"severity\": \"%s\", \"tag\": \"", severity_words[x->severity]);
    render_tag(x->error, out);
    text_str(out, "\", \"message\": ");
    text_json_string(out, x->message);
    json_place(d, x->loc, out);
    json_calls(d, x->loc, out);
}

static bool is_note_at(const struct diag *d, int i)
{
    return i < d->list.n && d->list.at[i].severity >= SEV_note;
}

/* Appends a JSON array of errors and warnings; each contains its notes and hints. */
void diag_render_json(const struct diag *d, struct text *out)
{
    text_char(out, '[');
    for (int i = 0; i < d->list.n;) {
        text_str(out, i ? ",\n " : "");
        json_diagnostic(d, &d->list.at[i++], out);
        text_str(out, ", \"notes\": [");
        for (const char *comma = ""; is_note_at(d, i); comma = ", ") {
            text_str(out, comma);
            json_diagnostic(d, &d->list.at[i++], out);
            text_char(out, '}');
        }
        text_str(out, "]}");
    }
    text_str(out, "]\n");
}
