/* SPDX-License-Identifier: MIT */
/* lex.c: splits Python source text into tokens, all at once and in linear time.
 *
 *     if x:          if name : newline
 *         f(1,       indent name ( number ,
 *           2)       number ) newline
 *                    dedent end
 *
 * The lexer converts indentation to indent and dedent tokens, and ignores line ends inside brackets. For f-strings, the
 * lexer keeps a stack of states. An f-string alternates between text and fields in braces; a field consists of ordinary
 * tokens, and may end with a format specification, which is again text with fields:
 *
 *     f"a{x:{w}d}"   fstring_start text { name : { name } text } fstring_end
 *
 * Every token has the index of the bracket around it, and every opening bracket has the index of its closing
 * bracket, if it has one. With these indices, the parser can report an unclosed bracket instead of the later
 * errors that this bracket causes. Some keywords, such as `def`, can only begin a statement or a clause of a
 * statement. If a line inside brackets (but outside f-strings) starts with such a keyword, a closing bracket
 * is missing. In this case, the lexer drops the open brackets, and a new statement begins. */
#include "frontend/python/lex.h"

#include <string.h>

const struct token_info token_info[TOK_count] = {
#define MARK(name, words) {words, TOK_CLASS_mark, OPER_count, 0},
#define KEYWORD(name, spelling) {spelling, TOK_CLASS_keyword, OPER_count, sizeof spelling - 1},
#define SIGN(name, spelling) {spelling, TOK_CLASS_sign, OPER_count, sizeof spelling - 1},
#define BINARY(name, spelling, oper) {spelling, TOK_CLASS_binary, OPER_##oper, sizeof spelling - 1},
#define AUGMENT(name, spelling, oper) {spelling, TOK_CLASS_augment, OPER_##oper, sizeof spelling - 1},
#include "frontend/python/tokens.h"
#undef MARK
#undef KEYWORD
#undef SIGN
#undef BINARY
#undef AUGMENT
};

/* The width of an indentation, counted in two ways. In `col`, a tab extends to the next multiple of 8. In
 * `alt`, a tab counts as one blank. It is an error if the two counts disagree on which of two lines is
 * indented deeper, because the block structure would then depend on the tab width. */
struct indent {
    int col, alt;
};

enum frame_kind { FRAME_text, FRAME_field, FRAME_format };

/* A state of the lexer inside an f-string: in its text, in a field, or in a field's format specification. These states
 * nest. */
struct frame {
    enum frame_kind kind;
    char quote;
    bool is_triple, is_raw;
    uint32_t start, line, col; /* where the f-string starts */
    int nbrackets; /* the number of open brackets at the start of the state, including the opening brace of a field */
};

struct lexer {
    struct arena *arena;
    const char *s;
    uint32_t n, at;
    uint32_t line, line_start;
    VEC(struct indent) indents;
    VEC(int) brackets; /* token indices of the open brackets */
    VEC(struct frame) frames;
    struct tokens *out;
};

/* -- characters -- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* Returns the code point at s, and sets *nbytes to its length in bytes. If the bytes are not UTF-8, returns 0
 * and sets *nbytes to 0. */
static uint32_t decode_utf8(const char *s, size_t n, uint32_t *nbytes)
{
    const unsigned char *b = (const unsigned char *)s;
    uint32_t want = b[0] < 0x80   ? 1
                    : b[0] < 0xc2 ? 0
                    : b[0] < 0xe0 ? 2
                    : b[0] < 0xf0 ? 3
                    : b[0] < 0xf5 ? 4
                                  : 0;
    *nbytes = 0;
    if (want == 0 || want > n)
        return 0;
    uint32_t c = want == 1 ? b[0] : b[0] & (0x7fu >> want);
    for (uint32_t i = 1; i < want; i++) {
        if ((b[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (b[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[want] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        return 0;
    *nbytes = want;
    return c;
}

/* Ranges of code points from 0x80 on that names cannot contain: punctuation, spaces, arrows, pictures, private use. All
 * other code points from 0x80 on count as letters. */
static const struct {
    uint32_t first, last;
} not_letters[] = {
    {0x80, 0xa9},     {0xab, 0xb4},       {0xb6, 0xb6},       {0xb8, 0xb9},        {0xbb, 0xbf},
    {0xd7, 0xd7},     {0xf7, 0xf7},       {0x2000, 0x203e},   {0x2041, 0x2053},    {0x2055, 0x2070},
    {0x2074, 0x207e}, {0x2080, 0x208f},   {0x20a0, 0x20cf},   {0x2190, 0x2bff},    {0x3000, 0x3004},
    {0x3008, 0x3020}, {0x3030, 0x3030},   {0xe000, 0xf8ff},   {0xfe10, 0xfe1f},    {0xfe30, 0xfe32},
    {0xfe50, 0xfe6f}, {0xfeff, 0xff0f},   {0xff1a, 0xff20},   {0xff3b, 0xff3e},    {0xff5b, 0xff65},
    {0xfff0, 0xffff}, {0x1f000, 0x1faff}, {0xe0000, 0xe00ff}, {0xe01f0, 0x10ffff},
};

static bool is_letter(uint32_t c)
{
    for (size_t i = 0; i < sizeof not_letters / sizeof *not_letters; i++)
        if (c >= not_letters[i].first && c <= not_letters[i].last)
            return false;
    return true;
}

/* Returns the length in bytes of the character at offset i if names can contain the character, else 0. */
static uint32_t name_char(const struct lexer *l, uint32_t i)
{
    char c = l->s[i];
    if (is_ascii_letter(c) || is_digit(c))
        return 1;
    if ((unsigned char)c < 0x80)
        return 0;
    uint32_t nbytes;
    uint32_t code = decode_utf8(l->s + i, l->n - i, &nbytes);
    return is_letter(code) ? nbytes : 0;
}

static uint32_t name_end(const struct lexer *l, uint32_t i)
{
    for (uint32_t nbytes; i < l->n && (nbytes = name_char(l, i)) > 0;)
        i += nbytes;
    return i;
}

/* -- output -- */

static struct token *emit_at(struct lexer *l, enum token_kind kind, uint32_t start, uint32_t line,
                             uint32_t col)
{
    int open = l->brackets.n > 0 ? l->brackets.at[l->brackets.n - 1] : -1;
    struct token t = {.kind = kind, .start = start, .end = l->at, .line = line, .col = col, .open = open};
    VEC_PUSH(l->arena, &l->out->all, t);
    return &l->out->all.at[l->out->all.n - 1];
}

/* Appends a token that begins at `start`, on the current line, and ends at the current position. */
static struct token *emit(struct lexer *l, enum token_kind kind, uint32_t start)
{
    return emit_at(l, kind, start, l->line, start - l->line_start + 1);
}

static const struct lex_error *wrong(struct lexer *l, enum error error, const char *first, const char *second)
{
    struct lex_error *e = NEW(l->arena, struct lex_error);
    *e = (struct lex_error){error, first, second};
    return e;
}

static void emit_error(struct lexer *l, uint32_t start, enum error error, const char *first,
                       const char *second)
{
    emit(l, TOK_error, start)->error = wrong(l, error, first, second);
}

static char *copy(struct lexer *l, uint32_t start, uint32_t end)
{
    return arena_strndup(l->arena, l->s + start, end - start);
}

/* -- lines -- */

static uint32_t newline_bytes(const struct lexer *l, uint32_t i)
{
    if (i >= l->n)
        return 0;
    return l->s[i] == '\n' ? 1 : l->s[i] == '\r' && i + 1 < l->n && l->s[i + 1] == '\n' ? 2 : 0;
}

static void pass_newline(struct lexer *l)
{
    l->at += newline_bytes(l, l->at);
    l->line++;
    l->line_start = l->at;
    VEC_PUSH(l->arena, &l->out->line_starts, l->at);
}

static void skip_comment(struct lexer *l)
{
    while (l->at < l->n && !newline_bytes(l, l->at))
        l->at++;
}

static struct indent measure_indent(struct lexer *l)
{
    struct indent in = {0};
    for (;; l->at++) {
        char c = l->s[l->at];
        if (c == ' ') {
            in.col++;
            in.alt++;
        } else if (c == '\t') {
            in.col = (in.col / 8 + 1) * 8;
            in.alt++;
        } else if (c == '\f') {
            in = (struct indent){0};
        } else {
            return in;
        }
    }
}

static struct indent *top_indent(struct lexer *l)
{
    return &l->indents.at[l->indents.n - 1];
}

/* Reports an indentation whose width lies between the widths of two open blocks. Then sets the inner block's
 * indentation to the reported indentation, so that further lines with the same indentation cause no errors. */
static void unmatched_dedent(struct lexer *l, struct indent in)
{
    emit_error(l, l->line_start, ERR_indent_unmatched, NULL, NULL);
    *top_indent(l) = in;
}

static void change_indent(struct lexer *l, struct indent in)
{
    struct indent top = *top_indent(l);
    if ((in.col > top.col) != (in.alt > top.alt) || (in.col < top.col) != (in.alt < top.alt)) {
        emit_error(l, l->line_start, ERR_indent_tabs, NULL, NULL);
        return;
    }
    if (in.col > top.col) {
        VEC_PUSH(l->arena, &l->indents, in);
        emit(l, TOK_indent, l->line_start);
        return;
    }
    while (l->indents.n > 1 && l->indents.at[l->indents.n - 2].col >= in.col) {
        (void)VEC_POP(&l->indents);
        emit(l, TOK_dedent, l->at);
    }
    if (top_indent(l)->col > in.col)
        unmatched_dedent(l, in);
    else if (top_indent(l)->alt != in.alt)
        emit_error(l, l->line_start, ERR_indent_tabs, NULL, NULL);
}

/* Called at the start of a line outside brackets. Skips lines without tokens, and then emits the indent or
 * dedent tokens of the next line. */
static void begin_line(struct lexer *l)
{
    for (;;) {
        struct indent in = measure_indent(l);
        if (l->at < l->n && l->s[l->at] == '#')
            skip_comment(l);
        if (l->at >= l->n)
            return;
        if (!newline_bytes(l, l->at)) {
            change_indent(l, in);
            return;
        }
        pass_newline(l);
    }
}

/* -- names and numbers -- */

static enum token_kind find_keyword(const char *s, uint32_t n)
{
    for (int k = TOK_False; k <= TOK_yield; k++)
        if (token_info[k].len == (int)n && memcmp(token_info[k].spelling, s, n) == 0)
            return (enum token_kind)k;
    return TOK_name;
}

/* Skips digits with single underscores between them. */
static void skip_digits(struct lexer *l, bool hex)
{
    for (;;) {
        char c = l->s[l->at];
        bool digit = hex ? is_hex_digit(c) : is_digit(c);
        bool joint = c == '_' && (hex ? is_hex_digit(l->s[l->at + 1]) : is_digit(l->s[l->at + 1]));
        if (!digit && !joint)
            return;
        l->at++;
    }
}

/* Returns whether the word is a keyword that Python allows directly after a number, as in `1if x else y`. */
static bool is_joined_keyword(const char *s, uint32_t n)
{
    switch (find_keyword(s, n)) {
    case TOK_and:
    case TOK_else:
    case TOK_for:
    case TOK_if:
    case TOK_in:
    case TOK_is:
    case TOK_not:
    case TOK_or: return true;
    default: return false;
    }
}

/* Appends the token of a number that begins at `start` and ends at the current position. A letter directly after the
 * number is an error unless a keyword begins there. `what` describes the number in the message, for example "octal". */
static void end_number(struct lexer *l, uint32_t start, const char *what)
{
    uint32_t end = name_end(l, l->at);
    if (end == l->at || is_joined_keyword(l->s + l->at, end - l->at)) {
        emit(l, TOK_number, start);
        return;
    }
    l->at = end;
    emit_error(l, start, ERR_number_invalid, what, copy(l, start, end));
}

static void lex_prefixed(struct lexer *l, uint32_t start, char prefix)
{
    const char *what = prefix == 'x' ? "hexadecimal" : prefix == 'o' ? "octal" : "binary";
    char last = prefix == 'o' ? '7' : '1';
    l->at += 2;
    if (l->s[l->at] == '_')
        l->at++;
    uint32_t first = l->at;
    skip_digits(l, prefix == 'x');
    for (uint32_t i = first; prefix != 'x' && i < l->at; i++) {
        if (is_digit(l->s[i]) && l->s[i] > last) {
            l->at = name_end(l, l->at);
            emit_error(l, start, ERR_number_digit, copy(l, i, i + 1), what);
            return;
        }
    }
    if (l->at > first && l->s[first] != '_') {
        end_number(l, start, what);
        return;
    }
    l->at = name_end(l, l->at);
    emit_error(l, start, ERR_number_invalid, what, copy(l, start, l->at));
}

static bool has_leading_zero(const char *s, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && (s[i] == '0' || s[i] == '_'))
        i++;
    return n > 1 && s[0] == '0' && i < n;
}

static void skip_exponent(struct lexer *l)
{
    const char *s = l->s + l->at;
    if (s[0] != 'e' && s[0] != 'E')
        return;
    uint32_t nsign = s[1] == '+' || s[1] == '-' ? 1 : 0;
    if (!is_digit(s[1 + nsign]))
        return;
    l->at += 1 + nsign;
    skip_digits(l, false);
}

static void lex_number(struct lexer *l)
{
    uint32_t start = l->at;
    const char *s = l->s + start;
    char prefix = (char)(s[1] | 0x20);
    if (s[0] == '0' && (prefix == 'x' || prefix == 'o' || prefix == 'b')) {
        lex_prefixed(l, start, prefix);
        return;
    }
    skip_digits(l, false);
    uint32_t whole = l->at;
    if (l->s[l->at] == '.') {
        l->at++;
        if (is_digit(l->s[l->at]))
            skip_digits(l, false);
    }
    skip_exponent(l);
    bool is_imaginary = (l->s[l->at] | 0x20) == 'j';
    if (l->at == whole && !is_imaginary && has_leading_zero(s, l->at - start)) {
        emit_error(l, start, ERR_number_leading_zero, NULL, NULL);
        return;
    }
    if (is_imaginary)
        l->at++;
    end_number(l, start, is_imaginary ? "imaginary" : "decimal");
}

/* -- strings -- */

/* Returns the length of the prefix (r, b, u, f, rb, fr, ...) of a string that begins at offset i; -1 if no string
 * begins there. */
static int string_prefix(const struct lexer *l, uint32_t i, bool *is_raw, bool *is_format)
{
    *is_raw = *is_format = false;
    int nraw = 0, nother = 0, n = 0;
    bool has_u = false;
    for (; n < 3; n++) {
        char c = l->s[i + (uint32_t)n];
        char low = (char)(c | 0x20);
        if (c == '"' || c == '\'')
            break;
        if (!is_ascii_letter(c) || (low != 'r' && low != 'b' && low != 'u' && low != 'f'))
            return -1;
        nraw += low == 'r';
        nother += low != 'r';
        has_u |= low == 'u';
        *is_format |= low == 'f';
    }
    *is_raw = nraw > 0;
    return n == 3 || nraw > 1 || nother > 1 || (has_u && n > 1) ? -1 : n;
}

static bool is_quote(const struct lexer *l, uint32_t i, char quote, bool is_triple)
{
    const char *s = l->s + i;
    return s[0] == quote && (!is_triple || (s[1] == quote && s[2] == quote));
}

/* Skips one character or escape inside a string. */
static void pass_string_char(struct lexer *l)
{
    if (l->s[l->at] == '\\')
        l->at++;
    if (newline_bytes(l, l->at))
        pass_newline(l);
    else if (l->at < l->n)
        l->at++;
}

/* Returns whether an unterminated string in a field begins with the same quote as the f-string. This quote was
 * probably meant to end the f-string, so the error is that the field's closing brace is missing. */
static bool ends_fstring(const struct lexer *l, char quote, bool is_triple)
{
    if (l->frames.n == 0)
        return false;
    const struct frame *f = &l->frames.at[l->frames.n - 1];
    return f->quote == quote && f->is_triple == is_triple;
}

/* Drops the innermost f-string and all open brackets in it. */
static void leave_fstring(struct lexer *l)
{
    struct frame f = {.nbrackets = 0};
    do
        f = VEC_POP(&l->frames);
    while (f.kind != FRAME_text);
    l->brackets.n = f.nbrackets;
}

static void lex_string(struct lexer *l, uint32_t start, char quote, bool is_triple)
{
    uint32_t line = l->line, col = start - l->line_start + 1, body = l->at;
    while (l->at < l->n && !is_quote(l, l->at, quote, is_triple) && (is_triple || !newline_bytes(l, l->at)))
        pass_string_char(l);
    if (l->at < l->n && is_quote(l, l->at, quote, is_triple)) {
        l->at += is_triple ? 3 : 1;
        emit_at(l, TOK_string, start, line, col);
        return;
    }
    bool lacks_brace = ends_fstring(l, quote, is_triple);
    enum error e = lacks_brace ? ERR_fstring_brace : is_triple ? ERR_string_triple : ERR_string_unterminated;
    const struct lex_error *error = wrong(l, e, NULL, NULL);
    struct token *t = emit_at(l, TOK_error, start, line, col);
    t->error = error;
    if (is_triple)
        t->end = body;
    if (lacks_brace)
        leave_fstring(l);
}

static void begin_string(struct lexer *l, int nprefix, bool is_raw, bool is_format)
{
    uint32_t start = l->at;
    l->at += (uint32_t)nprefix;
    char quote = l->s[l->at];
    bool is_triple = l->s[l->at + 1] == quote && l->s[l->at + 2] == quote;
    l->at += is_triple ? 3 : 1;
    if (!is_format) {
        lex_string(l, start, quote, is_triple);
        return;
    }
    struct frame f = {FRAME_text,   quote, is_triple, is_raw, start, l->line, start - l->line_start + 1,
                      l->brackets.n};
    emit(l, TOK_fstring_start, start);
    VEC_PUSH(l->arena, &l->frames, f);
}

/* -- brackets -- */

static void open_bracket(struct lexer *l, enum token_kind kind)
{
    int index = l->out->all.n;
    l->at++;
    emit(l, kind, l->at - 1);
    VEC_PUSH(l->arena, &l->brackets, index);
}

/* If the current position is in a field of an f-string, outside all brackets in this field, returns the field;
 * otherwise returns NULL. */
static struct frame *own_field(struct lexer *l)
{
    struct frame *f = l->frames.n > 0 ? &l->frames.at[l->frames.n - 1] : NULL;
    return f && f->kind == FRAME_field && f->nbrackets == l->brackets.n ? f : NULL;
}

static void close_bracket(struct lexer *l, enum token_kind kind)
{
    uint32_t start = l->at++;
    const char *closing = token_info[kind].spelling;
    if (l->brackets.n == 0) {
        emit_error(l, start, ERR_bracket_unmatched, closing, NULL);
        return;
    }
    int index = l->brackets.at[l->brackets.n - 1];
    enum token_kind opening = l->out->all.at[index].kind;
    struct frame *field = own_field(l);
    if ((int)opening + 1 != (int)kind) {
        emit_error(l, start, ERR_bracket_mismatch, closing, token_info[opening].spelling);
        l->out->all.at[index].close = l->out->all.n - 1;
        l->brackets.n -= !field;
        return;
    }
    emit(l, kind, start);
    l->out->all.at[index].close = l->out->all.n - 1;
    l->brackets.n--;
    l->frames.n -= field != NULL;
}

/* -- f-strings -- */

static void open_field(struct lexer *l)
{
    struct frame f = l->frames.at[l->frames.n - 1];
    open_bracket(l, TOK_lbrace);
    f.kind = FRAME_field;
    f.nbrackets = l->brackets.n;
    VEC_PUSH(l->arena, &l->frames, f);
}

/* Skips one character, escape or doubled brace in the text of an f-string. A backslash before a brace does not escape
 * the brace; but the braces of \N{...} belong to the escape. */
static void pass_fstring_char(struct lexer *l, const struct frame *f)
{
    char c = l->s[l->at], next = l->s[l->at + 1];
    if (c == '{' || c == '}' || (c == '\\' && (next == '{' || next == '}'))) {
        l->at += c == '\\' ? 1 : 2;
    } else if (c == '\\' && next == 'N' && l->s[l->at + 2] == '{' && !f->is_raw) {
        l->at += 3;
        while (l->at < l->n && l->s[l->at] != '}' && l->s[l->at] != f->quote && !newline_bytes(l, l->at))
            l->at++;
        l->at += l->s[l->at] == '}';
    } else {
        pass_string_char(l);
    }
}

/* Returns whether a brace at this position ends the text. In a format specification, every brace ends the text. In
 * other text, a single brace ends the text; `{{` and `}}`, which represent a brace, do not. */
static bool ends_text(const struct lexer *l, const struct frame *f)
{
    char c = l->s[l->at];
    return (c == '{' || c == '}') && (f->kind == FRAME_format || l->s[l->at + 1] != c);
}

static void unterminated_fstring(struct lexer *l, const struct frame *f)
{
    enum error e = f->is_triple ? ERR_string_triple : ERR_string_unterminated;
    uint32_t end = l->at;
    l->at = f->is_triple ? f->start + 1 : l->at;
    emit_at(l, TOK_error, f->start, f->line, f->col)->error = wrong(l, e, NULL, NULL);
    l->at = end;
    leave_fstring(l);
}

/* Lexes the text up to the next field or the end of the f-string, and then the brace or quote that ends the text. */
static void lex_fstring_text(struct lexer *l)
{
    struct frame f = l->frames.at[l->frames.n - 1];
    uint32_t start = l->at, line = l->line, col = start - l->line_start + 1;
    while (l->at < l->n && !is_quote(l, l->at, f.quote, f.is_triple) && !ends_text(l, &f) &&
           (f.is_triple || !newline_bytes(l, l->at)))
        pass_fstring_char(l, &f);
    if (l->at > start)
        emit_at(l, TOK_fstring_text, start, line, col);
    if (l->at >= l->n || (!f.is_triple && newline_bytes(l, l->at))) {
        unterminated_fstring(l, &f);
    } else if (l->s[l->at] == '{') {
        open_field(l);
    } else if (l->s[l->at] == '}' && f.kind == FRAME_format) {
        l->frames.n--;
    } else if (l->s[l->at] == '}') {
        l->at++;
        emit_error(l, l->at - 1, ERR_fstring_single_brace, NULL, NULL);
    } else {
        uint32_t quote = l->at;
        l->at += f.is_triple ? 3 : 1;
        if (f.kind == FRAME_format) {
            emit_error(l, quote, ERR_fstring_brace, NULL, NULL);
            leave_fstring(l);
        } else {
            emit(l, TOK_fstring_end, quote);
            l->frames.n--;
        }
    }
}

/* Lexes a colon, which begins the format specification of a field, or a `!`, which begins the conversion. Returns false
 * if the next character is neither. */
static bool lex_field_sign(struct lexer *l)
{
    char c = l->s[l->at];
    struct frame *field = own_field(l);
    if (!field || (c != ':' && c != '!') || (c == '!' && l->s[l->at + 1] == '='))
        return false;
    struct frame f = *field;
    l->at++;
    emit(l, c == ':' ? TOK_colon : TOK_exclamation, l->at - 1);
    f.kind = FRAME_format;
    if (c == ':')
        VEC_PUSH(l->arena, &l->frames, f);
    return true;
}

/* -- other tokens -- */

static void lex_strange_char(struct lexer *l)
{
    uint32_t start = l->at, nbytes;
    uint32_t code = decode_utf8(l->s + start, l->n - start, &nbytes);
    l->at += nbytes;
    struct text name;
    text_init(&name, l->arena);
    text_printf(&name, "U+%04X", (unsigned)code);
    const char *c = copy(l, start, l->at);
    if (code == '!' || code == '$' || code == '?' || code == '`')
        emit_error(l, start, ERR_character_stray, c, NULL);
    else if (code < 0x20 || code == 0x7f || (code >= 0x80 && code <= 0xa0) || code == 0xfeff ||
             (code >= 0x2000 && code <= 0x200f) || (code >= 0x2028 && code <= 0x202f))
        emit_error(l, start, ERR_character_invisible, name.s, NULL);
    else
        emit_error(l, start, ERR_character, c, name.s);
}

static void lex_backslash(struct lexer *l)
{
    l->at++;
    if (newline_bytes(l, l->at)) {
        pass_newline(l);
        return;
    }
    emit_error(l, l->at - 1, ERR_backslash, NULL, NULL);
    skip_comment(l);
}

static void lex_sign(struct lexer *l)
{
    if (lex_field_sign(l))
        return;
    for (int k = TOK_pow_assign; k < TOK_count; k++) {
        const struct token_info *info = &token_info[k];
        if (info->spelling[0] != l->s[l->at] || strncmp(info->spelling, l->s + l->at, (size_t)info->len) != 0)
            continue;
        uint32_t start = l->at;
        switch (k) {
        case TOK_lparen:
        case TOK_lbracket:
        case TOK_lbrace: open_bracket(l, (enum token_kind)k); return;
        case TOK_rparen:
        case TOK_rbracket:
        case TOK_rbrace: close_bracket(l, (enum token_kind)k); return;
        case TOK_exclamation: break;
        default:
            l->at += (uint32_t)info->len;
            emit(l, (enum token_kind)k, start);
            return;
        }
    }
    lex_strange_char(l);
}

static void lex_name(struct lexer *l)
{
    uint32_t start = l->at;
    l->at = name_end(l, start);
    emit(l, find_keyword(l->s + start, l->at - start), start);
}

/* Returns whether the next word from offset i on is a keyword that can only begin a statement or a clause of a
 * statement. */
static bool begins_statement(const struct lexer *l, uint32_t i)
{
    while (l->s[i] == ' ' || l->s[i] == '\t')
        i++;
    switch (find_keyword(l->s + i, name_end(l, i) - i)) {
    case TOK_assert:
    case TOK_break:
    case TOK_class:
    case TOK_continue:
    case TOK_def:
    case TOK_del:
    case TOK_elif:
    case TOK_except:
    case TOK_finally:
    case TOK_global:
    case TOK_import:
    case TOK_nonlocal:
    case TOK_pass:
    case TOK_raise:
    case TOK_return:
    case TOK_try:
    case TOK_while:
    case TOK_with: return true;
    default: return false;
    }
}

/* Returns whether the logical line that ends here has tokens. It has none if it consists only of a backslash
 * (a line continuation) and the empty line after the backslash. */
static bool line_has_tokens(const struct lexer *l)
{
    enum token_kind last = l->out->all.n > 0 ? l->out->all.at[l->out->all.n - 1].kind : TOK_newline;
    return last != TOK_newline && last != TOK_dedent;
}

static void end_line(struct lexer *l)
{
    uint32_t start = l->at, next = start + newline_bytes(l, start);
    if (l->brackets.n > 0 && (l->frames.n > 0 || !begins_statement(l, next))) {
        pass_newline(l);
        return;
    }
    if (line_has_tokens(l))
        emit(l, TOK_newline, start);
    l->brackets.n = 0;
    pass_newline(l);
    begin_line(l);
}

static void lex_next(struct lexer *l)
{
    if (l->frames.n > 0 && l->frames.at[l->frames.n - 1].kind != FRAME_field) {
        lex_fstring_text(l);
        return;
    }
    char c = l->s[l->at];
    bool is_raw, is_format;
    int nprefix = string_prefix(l, l->at, &is_raw, &is_format);
    if (c == ' ' || c == '\t' || c == '\f')
        l->at++;
    else if (c == '#')
        skip_comment(l);
    else if (newline_bytes(l, l->at))
        end_line(l);
    else if (c == '\\')
        lex_backslash(l);
    else if (nprefix >= 0)
        begin_string(l, nprefix, is_raw, is_format);
    else if (is_digit(c) || (c == '.' && is_digit(l->s[l->at + 1])))
        lex_number(l);
    else if (name_char(l, l->at))
        lex_name(l);
    else
        lex_sign(l);
}

static void finish(struct lexer *l)
{
    if (l->frames.n > 0 && l->frames.at[l->frames.n - 1].kind != FRAME_field)
        lex_fstring_text(l);
    if (line_has_tokens(l))
        emit(l, TOK_newline, l->at);
    l->brackets.n = 0;
    for (; l->indents.n > 1; l->indents.n--)
        emit(l, TOK_dedent, l->at);
    emit(l, TOK_end, l->at);
    VEC_PUSH(l->arena, &l->out->line_starts, l->n);
}

/* Returns whether the source is valid UTF-8 without zero bytes. If not, reports the first invalid byte. */
static bool check_text(struct diag *d, const struct source *src)
{
    uint32_t line = 1, line_start = 0, nbytes = 1;
    for (uint32_t i = 0; i < src->len; i += nbytes) {
        unsigned char c = (unsigned char)src->text[i];
        nbytes = 1;
        if (c >= 0x80)
            decode_utf8(src->text + i, src->len - i, &nbytes);
        if (c == '\n') {
            line++;
            line_start = i + 1;
        }
        if (c != 0 && nbytes > 0)
            continue;
        uint32_t col = i - line_start + 1;
        struct loc at = {(uint16_t)src->index, 1, line, (uint16_t)(col > UINT16_MAX ? UINT16_MAX : col), 0};
        if (c == 0)
            diag_error(d, at, ERR_text_zero);
        else
            diag_error(d, at, ERR_text_encoding, c);
        return false;
    }
    return true;
}

/* This limit guarantees that byte offsets (up to a few bytes past the end) and token indices fit in their
 * fields. */
enum { SOURCE_BYTES_MOST = 64 * 1024 * 1024 };

bool lex(struct arena *a, struct diag *d, const struct source *src, struct tokens *out)
{
    *out = (struct tokens){0};
    if (src->len > SOURCE_BYTES_MOST) {
        diag_error(d, (struct loc){.file = (uint16_t)src->index, .line = 1}, ERR_text_size,
                   SOURCE_BYTES_MOST);
        return false;
    }
    if (!check_text(d, src))
        return false;
    struct lexer l = {.arena = a, .s = src->text, .n = (uint32_t)src->len, .line = 1, .out = out};
    VEC_PUSH(a, &l.indents, (struct indent){0});
    VEC_PUSH(a, &out->line_starts, 0);
    if (l.n >= 3 && memcmp(l.s, "\xef\xbb\xbf", 3) == 0)
        l.at = 3;
    begin_line(&l);
    while (l.at < l.n)
        lex_next(&l);
    finish(&l);
    return true;
}
