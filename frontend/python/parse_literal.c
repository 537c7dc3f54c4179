/* SPDX-License-Identifier: MIT */
/* parse_literal.c: converts the spelling of numbers and strings to their values.
 *
 *     0xff_ff     (int 65535)
 *     "a" f"b{x}" (fstring [(str 'ab') (field (name x) ...)])
 *
 * The lexer has checked the spelling of numbers and found the ends of strings; this file also parses escapes and the
 * fields of f-strings. */
#include "frontend/python/parse.h"

#include <string.h>

/* -- numbers -- */

static int digit_value(char c)
{
    return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Sets x to x * base + digit. Returns false on overflow. */
static bool shift_in(struct ast_int *x, uint64_t base, uint64_t digit)
{
    uint64_t low = (x->low & 0xffffffffu) * base + digit;
    uint64_t middle = (x->low >> 32) * base + (low >> 32);
    uint64_t high = (x->high & 0xffffffffu) * base + (middle >> 32);
    uint64_t top = (x->high >> 32) * base + (high >> 32);
    x->low = middle << 32 | (low & 0xffffffffu);
    x->high = top << 32 | (high & 0xffffffffu);
    return top >> 32 == 0;
}

static void read_int(struct parser *p, const struct token *t, struct ast_int *x)
{
    const char *s = p->src->text + t->start, *end = p->src->text + t->end;
    uint64_t base = 10;
    if (s[0] == '0' && end - s > 1) {
        char prefix = (char)(s[1] | 0x20);
        base = prefix == 'x' ? 16 : prefix == 'o' ? 8 : prefix == 'b' ? 2 : 10;
        s += base == 10 ? 0 : 2;
    }
    for (; s < end; s++)
        if (*s != '_' && !shift_in(x, base, (uint64_t)digit_value(*s)))
            parse_fail(p, t, ERR_number_size);
}

static double read_real(struct parser *p, const struct token *t)
{
    struct text digits;
    text_init(&digits, p->arena);
    for (uint32_t i = t->start; i < t->end; i++)
        if (p->src->text[i] != '_')
            text_char(&digits, p->src->text[i]);
    double x = 0;
    text_read_double(digits.s, &x);
    return x;
}

/* Parses NUMBER. */
struct ast *parse_number(struct parser *p)
{
    const struct token *t = p->t;
    const char *s = p->src->text + t->start;
    size_t n = t->end - t->start;
    bool is_based = n > 1 && s[0] == '0' && strchr("xXoObB", s[1]);
    bool is_imaginary = !is_based && (s[n - 1] | 0x20) == 'j';
    bool is_real = !is_based && (memchr(s, '.', n) || memchr(s, 'e', n) || memchr(s, 'E', n));
    struct ast *x = parse_new(p, is_imaginary ? AST_imaginary : is_real ? AST_float : AST_int, t);
    if (is_imaginary)
        x->imaginary.value = read_real(p, t);
    else if (is_real)
        x->real.value = read_real(p, t);
    else
        read_int(p, t, &x->integer.value);
    parse_take(p);
    return parse_done(p, x);
}

/* -- escapes -- */

/* A part of a string literal: the byte offsets of its text in the source, and the kind of the literal. */
struct piece {
    const struct token *token;
    uint32_t start, end;
    bool is_raw, is_bytes, is_fstring;
};

/* Reports an error in the escape at offset `at`. The escape may be on a later line than the start of the string. */
static _Noreturn void fail_escape(struct parser *p, const struct piece *piece, uint32_t at, const char *why)
{
    const char *s = p->src->text;
    struct token t = *piece->token;
    uint32_t line_start = p->tokens.line_starts.at[t.line - 1];
    for (uint32_t i = t.start; i < at; i++) {
        if (s[i] == '\n') {
            t.line++;
            line_start = i + 1;
        }
    }
    t.start = at;
    t.end = at + 2 < piece->end ? at + 2 : piece->end;
    t.col = at - line_start + 1;
    parse_fail(p, &t, ERR_string_escape, why);
}

/* Reads the n hexadecimal digits of the escape at offset `at`, after its first two characters (\x, \u or \U). */
static uint32_t read_hex(struct parser *p, const struct piece *piece, uint32_t at, uint32_t n)
{
    uint32_t c = 0;
    for (uint32_t i = at + 2; i < at + 2 + n; i++) {
        char digit = i < piece->end ? p->src->text[i] : 0;
        if (!digit || !strchr("0123456789abcdefABCDEF", digit))
            fail_escape(p, piece, at,
                        n == 2   ? "\\x needs two hexadecimal digits"
                        : n == 4 ? "\\u needs four hexadecimal digits"
                                 : "\\U needs eight hexadecimal digits");
        c = c << 4 | (uint32_t)digit_value(digit);
    }
    return c;
}

/* Appends the character of the escape \xHH, \uHHHH or \UHHHHHHHH at offset `at`; returns the offset after the
 * escape. */
static uint32_t hex_escape(struct parser *p, const struct piece *piece, uint32_t at, struct text *out)
{
    char c = p->src->text[at + 1];
    uint32_t n = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    uint32_t code = read_hex(p, piece, at, n);
    if (code > 0x10ffff)
        fail_escape(p, piece, at, "this is no Unicode character");
    if (piece->is_bytes)
        text_char(out, (char)code);
    else
        text_code(out, code);
    return at + 2 + n;
}

static uint32_t octal_escape(struct parser *p, const struct piece *piece, uint32_t at, struct text *out)
{
    uint32_t c = 0, i = at + 1;
    for (; i < piece->end && i < at + 4 && p->src->text[i] >= '0' && p->src->text[i] <= '7'; i++)
        c = c * 8 + (uint32_t)(p->src->text[i] - '0');
    if (piece->is_bytes)
        text_char(out, (char)(c & 0xff));
    else
        text_code(out, c);
    return i;
}

/* Appends the character of the escape at offset `at`; returns the offset after the escape. Of an unknown
 * escape, appends only the backslash, so that it remains unchanged in the text. */
static uint32_t read_escape(struct parser *p, const struct piece *piece, uint32_t at, struct text *out)
{
    static const char letters[] = "\\'\"abfnrtv", values[] = "\\'\"\a\b\f\n\r\t\v";
    char c = at + 1 < piece->end ? p->src->text[at + 1] : 0;
    const char *simple = c ? strchr(letters, c) : NULL;
    if (simple) {
        text_char(out, values[simple - letters]);
        return at + 2;
    }
    if (c == '\n')
        return at + 2;
    if (c == '\r' && at + 2 < piece->end && p->src->text[at + 2] == '\n')
        return at + 3;
    if (c == 'x' || ((c == 'u' || c == 'U') && !piece->is_bytes))
        return hex_escape(p, piece, at, out);
    if (c >= '0' && c <= '7')
        return octal_escape(p, piece, at, out);
    if (c == 'N' && !piece->is_bytes)
        fail_escape(p, piece, at,
                    "names of characters (\\N{...}) are not supported; write \\u and the number");
    text_char(out, '\\');
    return at + 1;
}

/* Appends the value of a piece, with its escapes replaced. The line end \r\n becomes \n; in an f-string, doubled
 * braces become single braces. */
static void read_piece(struct parser *p, const struct piece *piece, struct text *out)
{
    const char *s = p->src->text;
    for (uint32_t i = piece->start; i < piece->end;) {
        char c = s[i];
        if (c == '\\' && !piece->is_raw) {
            i = read_escape(p, piece, i, out);
            continue;
        }
        if (piece->is_bytes && (unsigned char)c >= 0x80)
            parse_fail(p, piece->token, ERR_string_bytes_ascii);
        char next = i + 1 < piece->end ? s[i + 1] : 0;
        bool is_newline = c == '\r' && next == '\n';
        bool is_brace = piece->is_fstring && (c == '{' || c == '}') && next == c;
        text_char(out, is_newline ? '\n' : c);
        i += is_newline || is_brace ? 2 : 1;
    }
}

/* -- strings -- */

/* The value of the adjacent string literals parsed so far. `parts` are the finished str and field nodes, and `text` is
 * the text after the last of these nodes. */
struct joined {
    const struct token *start;
    ast_vec parts;
    struct text text;
    const struct token *text_start;
    bool is_bytes, is_fstring;
};

static struct ast_bytes intern_bytes(struct parser *p, const struct text *t)
{
    return (struct ast_bytes){intern(p->strings, t->s, t->len), (int)t->len};
}

static void flush_text(struct parser *p, struct joined *j)
{
    if (j->text.len == 0)
        return;
    struct ast *part = parse_new(p, AST_str, j->text_start ? j->text_start : j->start);
    part->str.value = intern_bytes(p, &j->text);
    VEC_PUSH(p->arena, &j->parts, part);
    j->text.len = 0;
    j->text.s[0] = 0;
    j->text_start = NULL;
}

static void add_piece(struct parser *p, struct joined *j, const struct piece *piece)
{
    if (!j->text_start)
        j->text_start = piece->token;
    read_piece(p, piece, &j->text);
}

/* Reads the prefix of a literal. Returns a piece with the kind of the literal, and with the range from its opening
 * quote to its end. */
static struct piece open_literal(const struct parser *p, const struct token *t)
{
    struct piece piece = {.token = t, .start = t->start, .end = t->end};
    for (char c; (c = p->src->text[piece.start]) != '"' && c != '\''; piece.start++) {
        piece.is_raw |= (c | 0x20) == 'r';
        piece.is_bytes |= (c | 0x20) == 'b';
    }
    return piece;
}

/* Parses STRING. */
static void plain_string(struct parser *p, struct joined *j)
{
    struct piece piece = open_literal(p, p->t);
    const char *s = p->src->text + piece.start;
    uint32_t nquotes = piece.end - piece.start >= 6 && s[0] == s[1] && s[0] == s[2] ? 3 : 1;
    piece.start += nquotes;
    piece.end -= nquotes;
    add_piece(p, j, &piece);
    parse_take(p);
}

static void fstring_parts(struct parser *p, struct joined *j, bool is_raw, enum token_kind end);

/* Parses the format specification of a field, and returns it as an fstring node. */
static struct ast *field_format(struct parser *p, bool is_raw)
{
    struct joined j = {.start = p->t};
    text_init(&j.text, p->arena);
    struct ast *format = parse_new(p, AST_fstring, p->t);
    fstring_parts(p, &j, is_raw, TOK_rbrace);
    flush_text(p, &j);
    format->fstring.parts = parse_list(p, &j.parts);
    return parse_done(p, format);
}

static int conversion(struct parser *p)
{
    const char *s = p->src->text + p->t->start;
    if (!next_is(p, TOK_name) || p->t->end - p->t->start != 1 || !strchr("rsa", *s))
        parse_fail(p, p->t, ERR_fstring_conversion, parse_found(p, p->t));
    parse_take(p);
    return *s;
}

/* field: '{' (yield_expr | star_expressions) '='? ('!' NAME)? (':' format)? '}' */
static struct ast *field(struct parser *p, struct joined *j, bool is_raw)
{
    const struct token *start = parse_expect(p, TOK_lbrace);
    static const char *const ends[] = {"}", "!", ":", "="};
    static const enum token_kind kinds[] = {TOK_rbrace, TOK_exclamation, TOK_colon, TOK_assign};
    for (int i = 0; i < 4; i++)
        if (next_is(p, kinds[i]))
            parse_fail(p, p->t, ERR_fstring_empty, ends[i]);
    struct ast *value = parse_value(p);
    bool is_shown = parse_accept(p, TOK_assign);
    if (is_shown) {
        struct piece text = {.token = start, .start = start->end, .end = p->t->start, .is_raw = true};
        add_piece(p, j, &text);
    }
    flush_text(p, j);
    struct ast *f = parse_new(p, AST_field, start);
    f->field.value = value;
    if (parse_accept(p, TOK_exclamation))
        f->field.conversion = conversion(p);
    if (parse_accept(p, TOK_colon))
        f->field.spec = field_format(p, is_raw);
    if (is_shown && !f->field.conversion && !f->field.spec)
        f->field.conversion = 'r';
    if (!next_is(p, TOK_rbrace))
        parse_fail(p, p->t, ERR_fstring_brace);
    parse_take(p);
    return parse_done(p, f);
}

/* fstring_parts: (FSTRING_TEXT | field)*, up to the token `end`; does not consume `end` */
static void fstring_parts(struct parser *p, struct joined *j, bool is_raw, enum token_kind end)
{
    parse_enter(p);
    while (!next_is(p, end)) {
        if (next_is(p, TOK_lbrace)) {
            struct ast *f = field(p, j, is_raw);
            VEC_PUSH(p->arena, &j->parts, f);
        } else if (next_is(p, TOK_fstring_text)) {
            struct piece text = {
                .token = p->t, .start = p->t->start, .end = p->t->end, .is_raw = is_raw, .is_fstring = true};
            add_piece(p, j, &text);
            parse_take(p);
        } else {
            parse_expected(p, "the end of the f-string");
        }
    }
    p->depth--;
}

/* fstring: FSTRING_START fstring_parts FSTRING_END */
static void fstring(struct parser *p, struct joined *j)
{
    bool is_raw = open_literal(p, p->t).is_raw;
    parse_take(p);
    fstring_parts(p, j, is_raw, TOK_fstring_end);
    parse_take(p);
}

static bool is_bytes_literal(const struct parser *p, const struct token *t)
{
    return t->kind == TOK_string && open_literal(p, t).is_bytes;
}

/* strings: (STRING | fstring)+ */
struct ast *parse_strings(struct parser *p)
{
    struct joined j = {.start = p->t, .is_bytes = is_bytes_literal(p, p->t)};
    text_init(&j.text, p->arena);
    while (next_is(p, TOK_string) || next_is(p, TOK_fstring_start)) {
        if (is_bytes_literal(p, p->t) != j.is_bytes)
            parse_fail(p, p->t, ERR_string_mixed);
        if (next_is(p, TOK_fstring_start)) {
            j.is_fstring = true;
            fstring(p, &j);
        } else {
            plain_string(p, &j);
        }
    }
    struct ast *n = parse_new(p, j.is_fstring ? AST_fstring : j.is_bytes ? AST_bytes : AST_str, j.start);
    if (j.is_fstring) {
        flush_text(p, &j);
        n->fstring.parts = parse_list(p, &j.parts);
    } else if (j.is_bytes) {
        n->bytes.value = intern_bytes(p, &j.text);
    } else {
        n->str.value = intern_bytes(p, &j.text);
    }
    return parse_done(p, n);
}
