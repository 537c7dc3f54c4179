/* SPDX-License-Identifier: MIT */
/* parse.c: parses a source to a syntax tree. This file implements the cursor over tokens, error reports, and recovery
 * after errors.
 *
 *     if x            (error: expected ':')
 *         y = = 1     (error: expected an expression; the parser parses the block although the `if` has an error)
 *     else: ...       (no error: the clause belongs to the dropped statement)
 *     z = 2           (assign [(name z)] (int 2))
 *
 * After an error, the parser drops the innermost statement. The parser skips the tokens up to the end of the line,
 * parses the statement's block and clauses only to report errors in them, and continues with the next statement. So
 * one mistake usually causes only one message. */
#include "frontend/python/parse.h"

#include <stdarg.h>
#include <string.h>

/* -- reporting errors -- */

/* Returns the byte offset after the last character of a line. */
static uint32_t line_end(const struct parser *p, uint32_t line)
{
    const char *s = p->src->text;
    uint32_t start = p->tokens.line_starts.at[line - 1], end = p->tokens.line_starts.at[line];
    end -= end > start && s[end - 1] == '\n';
    return end - (end > start && s[end - 1] == '\r');
}

struct loc parse_loc(const struct parser *p, const struct token *t)
{
    uint32_t limit = line_end(p, t->line);
    uint32_t end = t->end < limit ? t->end : limit;
    uint32_t len = end > t->start ? end - t->start : 0;
    return (struct loc){
        .file = (uint16_t)p->src->index,
        .len = (uint16_t)(len > UINT16_MAX ? UINT16_MAX : len),
        .line = t->line,
        .col = (uint16_t)(t->col > UINT16_MAX ? UINT16_MAX : t->col),
    };
}

static _Noreturn void give_up(struct parser *p)
{
    longjmp(*p->recover, 1);
}

/* If an error was already reported for this line, drops the statement without a message, because the first error
 * usually causes the second. Otherwise, records that an error is reported for this line. */
static void once_a_line(struct parser *p, uint32_t line)
{
    if (line == p->error_line)
        give_up(p);
    p->error_line = line;
}

/* Called after an error at token t was reported. Adds a hint if the token looks like an operator of C: &&,
 * ||, ! or ?. */
static void hint_foreign(struct parser *p, const struct token *t)
{
    enum token_kind before = t > p->tokens.all.at ? t[-1].kind : TOK_end;
    char c = p->src->text[t->start];
    if (t->kind == TOK_ampersand && before == TOK_ampersand)
        diag_hint(p->diag, ERR_syntax_and);
    else if (t->kind == TOK_bar && before == TOK_bar)
        diag_hint(p->diag, ERR_syntax_or);
    else if (t->kind == TOK_error && c == '!')
        diag_hint(p->diag, ERR_syntax_not);
    else if (t->kind == TOK_error && c == '?')
        diag_hint(p->diag, ERR_syntax_ternary);
}

static _Noreturn void fail_lexical(struct parser *p, const struct token *t)
{
    const struct lex_error *e = t->error;
    once_a_line(p, t->line);
    diag_error(p->diag, parse_loc(p, t), e->error, e->first, e->second);
    if (e->error == ERR_bracket_mismatch)
        diag_note(p->diag, parse_loc(p, &p->tokens.all.at[t->open]), ERR_bracket_opened, e->second);
    hint_foreign(p, t);
    give_up(p);
}

/* If the lexer found an error at the token, or if a bracket around the token is never closed, reports this error and
 * drops the statement. This error explains more than the error that the parser is about to report. */
static void fail_deeper(struct parser *p, const struct token *t)
{
    if (t->kind == TOK_error)
        fail_lexical(p, t);
    for (int i = t->open; i >= 0; i = p->tokens.all.at[i].open) {
        const struct token *bracket = &p->tokens.all.at[i];
        if (bracket->close)
            continue;
        once_a_line(p, bracket->line);
        diag_error(p->diag, parse_loc(p, bracket), ERR_bracket_unclosed, token_info[bracket->kind].spelling);
        give_up(p);
    }
}

void parse_fail(struct parser *p, const struct token *t, enum error e, ...)
{
    if (t == p->t)
        fail_deeper(p, t);
    once_a_line(p, t->line);
    va_list args;
    va_start(args, e);
    diag_verror(p->diag, parse_loc(p, t), e, args);
    va_end(args);
    give_up(p);
}

void parse_fail_at(struct parser *p, const struct ast *n, enum error e, ...)
{
    once_a_line(p, n->loc.line);
    va_list args;
    va_start(args, e);
    diag_verror(p->diag, n->loc, e, args);
    va_end(args);
    give_up(p);
}

const char *parse_found(struct parser *p, const struct token *t)
{
    const struct token_info *info = &token_info[t->kind];
    bool shows_text = t->kind == TOK_name || t->kind == TOK_number;
    if (info->class == TOK_CLASS_mark && !shows_text)
        return info->spelling;
    enum { TEXT_BYTES_MOST = 60 };
    bool is_short = t->end - t->start <= TEXT_BYTES_MOST;
    struct text out;
    text_init(&out, p->arena);
    text_str(&out, info->class == TOK_CLASS_keyword ? "the keyword '" : "'");
    text_bytes(&out, p->src->text + t->start, is_short ? t->end - t->start : 0);
    text_char(&out, '\'');
    return is_short ? out.s : info->spelling;
}

void parse_expected(struct parser *p, const char *what)
{
    fail_deeper(p, p->t);
    once_a_line(p, p->t->line);
    diag_error(p->diag, parse_loc(p, p->t), ERR_syntax, what, parse_found(p, p->t));
    hint_foreign(p, p->t);
    give_up(p);
}

/* -- tokens and nodes -- */

void parse_take(struct parser *p)
{
    enum token_kind kind = p->t->kind;
    if (kind != TOK_newline && kind != TOK_indent && kind != TOK_dedent)
        p->last = p->t;
    if (kind != TOK_end)
        p->t++;
}

bool parse_accept(struct parser *p, enum token_kind kind)
{
    if (p->t->kind != kind)
        return false;
    parse_take(p);
    return true;
}

const struct token *parse_expect(struct parser *p, enum token_kind kind)
{
    const struct token *t = p->t;
    if (t->kind != kind) {
        struct text what;
        text_init(&what, p->arena);
        bool is_mark = token_info[kind].class == TOK_CLASS_mark;
        text_printf(&what, is_mark ? "%s" : "'%s'", token_info[kind].spelling);
        parse_expected(p, what.s);
    }
    parse_take(p);
    return t;
}

void parse_enter(struct parser *p)
{
    if (++p->depth > NESTING_MOST)
        parse_fail(p, p->t, ERR_syntax_depth, NESTING_MOST);
}

const char *parse_intern(struct parser *p, const struct token *t)
{
    return intern(p->strings, p->src->text + t->start, t->end - t->start);
}

const char *parse_name(struct parser *p, struct loc *at, const char *what)
{
    if (!next_is(p, TOK_name) && token_info[p->t->kind].class == TOK_CLASS_keyword)
        parse_fail(p, p->t, ERR_syntax_keyword, token_info[p->t->kind].spelling);
    if (!next_is(p, TOK_name))
        parse_expected(p, what);
    *at = parse_loc(p, p->t);
    const char *name = parse_intern(p, p->t);
    parse_take(p);
    return name;
}

struct ast *parse_new(struct parser *p, enum ast_kind kind, const struct token *start)
{
    struct ast *n = NEW(p->arena, struct ast);
    n->kind = kind;
    n->height = 1;
    n->loc = parse_loc(p, start);
    return n;
}

struct ast *parse_done(struct parser *p, struct ast *n)
{
    uint32_t start = p->tokens.line_starts.at[n->loc.line - 1] + n->loc.col - 1;
    uint32_t limit = line_end(p, n->loc.line);
    uint32_t end = p->last && p->last->end < limit ? p->last->end : limit;
    if (end > start)
        n->loc.len = (uint16_t)(end - start > UINT16_MAX ? UINT16_MAX : end - start);
    int height = 0;
    struct ast_cursor at = {0};
    for (const struct ast *c; (c = ast_child(n, &at));)
        height = c->height > height ? c->height : height;
    if (height >= AST_HEIGHT_MOST)
        parse_fail_at(p, n, ERR_syntax_height, AST_HEIGHT_MOST);
    n->height = (uint16_t)(height + 1);
    return n;
}

struct ast_list parse_list(struct parser *p, const ast_vec *v)
{
    struct ast_list list = {NEW_ARRAY(p->arena, v->n, struct ast *), v->n};
    if (v->n)
        memcpy(list.at, v->at, (size_t)v->n * sizeof *v->at);
    return list;
}

/* -- recovery after errors -- */

/* Skips the rest of the line with the error, up to the first token of the next line. If the error is a
 * missing block, the parser is already at this first token. The function then skips nothing, unless the token
 * has the kind `error`: then it skips the token's line. `start` is a token of the statement or clause with
 * the error; line ends before `start` do not count. */
static void skip_line(struct parser *p, const struct token *start)
{
    enum token_kind before = p->t > start ? p->t[-1].kind : TOK_end;
    bool at_line_start = before == TOK_newline || before == TOK_dedent;
    if (at_line_start && !next_is(p, TOK_error))
        return;
    while (!next_is(p, TOK_end) && !next_is(p, TOK_newline))
        parse_take(p);
    parse_accept(p, TOK_newline);
}

/* Skips from an indent to the token after its dedent. */
static void skip_block(struct parser *p)
{
    int depth = 0;
    do {
        depth += next_is(p, TOK_indent) ? 1 : next_is(p, TOK_dedent) ? -1 : 0;
        parse_take(p);
    } while (depth > 0 && !next_is(p, TOK_end));
}

/* Parses a block only to report errors in it, and does not add it to the tree. The block belongs to a dropped
 * statement or its clauses, or consists of lines that are indented where no block can begin. */
static void orphaned_block(struct parser *p)
{
    if (p->depth >= NESTING_MOST) {
        skip_block(p);
        return;
    }
    ast_vec lost = {0};
    bool was_lenient = p->is_lenient;
    p->is_lenient = true;
    p->depth++;
    parse_take(p);
    parse_statements(p, &lost);
    parse_accept(p, TOK_dedent);
    p->depth--;
    p->is_lenient = was_lenient;
}

static bool is_clause(const struct parser *p)
{
    return next_is(p, TOK_elif) || next_is(p, TOK_else) || next_is(p, TOK_except) || next_is(p, TOK_finally);
}

/* Skips the block and the clauses of a statement that had an error, but reports the errors in the skipped
 * blocks. */
static void skip_rest(struct parser *p)
{
    if (next_is(p, TOK_indent))
        orphaned_block(p);
    while (is_clause(p)) {
        skip_line(p, p->t);
        if (next_is(p, TOK_indent))
            orphaned_block(p);
    }
}

void parse_unsupported(struct parser *p, const struct ast *n, const char *what)
{
    const struct token *start = p->t;
    once_a_line(p, n->loc.line);
    diag_error(p->diag, n->loc, ERR_syntax_unsupported, what);
    skip_line(p, start);
    if (next_is(p, TOK_indent))
        skip_block(p);
    give_up(p);
}

/* Reports an indent where no block can begin. The indented lines are parsed only to report errors in them. */
static void unexpected_indent(struct parser *p)
{
    struct token t = *p->t;
    t.start = t.end;
    t.col = p->t[1].col;
    if (t.line != p->error_line)
        diag_error(p->diag, parse_loc(p, &t), ERR_indent_unexpected);
    p->error_line = t.line;
    skip_rest(p);
}

/* Parses one statement, or drops it after an error. */
static void guarded_statement(struct parser *p, ast_vec *out)
{
    struct parser before = *p;
    jmp_buf here;
    if (setjmp(here) == 0) {
        p->recover = &here;
        parse_statement(p, out);
    } else {
        p->depth = before.depth;
        p->in_function = before.in_function;
        p->in_loop = before.in_loop;
        p->in_class = before.in_class;
        skip_line(p, before.t);
        skip_rest(p);
    }
    p->recover = before.recover;
}

/* statements: statement*, up to the end of the block; does not consume the token that ends the block */
void parse_statements(struct parser *p, ast_vec *out)
{
    while (!next_is(p, TOK_end) && !next_is(p, TOK_dedent) && p->diag->nerrors <= DIAG_ERRORS_MOST) {
        if (next_is(p, TOK_indent))
            unexpected_indent(p);
        else
            guarded_statement(p, out);
    }
}

/* -- entry -- */

static bool open_source(struct parser *p, struct arena *a, struct interner *strings, struct diag *d,
                        const struct source *src)
{
    *p = (struct parser){.arena = a, .strings = strings, .diag = d, .src = src};
    if (!lex(a, d, src, &p->tokens))
        return false;
    p->t = p->tokens.all.at;
    return true;
}

struct ast *parse_module(struct arena *a, struct interner *strings, struct diag *d, const struct source *src)
{
    struct parser p;
    struct ast *n = NEW(a, struct ast);
    *n = (struct ast){
        .kind = AST_module, .height = 1, .loc = {.file = (uint16_t)src->index, .line = 1, .col = 1}};
    if (!open_source(&p, a, strings, d, src))
        return n;
    ast_vec body = {0};
    while (!next_is(&p, TOK_end) && d->nerrors <= DIAG_ERRORS_MOST) {
        parse_statements(&p, &body);
        parse_accept(&p, TOK_dedent);
    }
    n->module.body = parse_list(&p, &body);
    for (int i = 0; i < body.n; i++)
        if (body.at[i]->height >= n->height)
            n->height = (uint16_t)(body.at[i]->height + 1);
    return n;
}

struct ast *parse_expression(struct arena *a, struct interner *strings, struct diag *d,
                             const struct source *src)
{
    struct parser p;
    if (!open_source(&p, a, strings, d, src))
        return NULL;
    jmp_buf here;
    if (setjmp(here) != 0)
        return NULL;
    p.recover = &here;
    parse_accept(&p, TOK_indent);
    struct ast *n = parse_star_expressions(&p);
    while (parse_accept(&p, TOK_newline) || parse_accept(&p, TOK_dedent))
        continue;
    if (!next_is(&p, TOK_end))
        parse_expected(&p, "the end of the expression");
    return n;
}
