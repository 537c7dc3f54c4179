/* lex.h: a source text as tokens. */
#ifndef NESO_FRONTEND_LEX_H
#define NESO_FRONTEND_LEX_H

#include "frontend/python/ast.h"
#include "ir/support/diag.h"
#include "ir/support/vec.h"

enum token_kind {
#define MARK(name, words) TOK_##name,
#define KEYWORD(name, spelling) TOK_##name,
#define SIGN(name, spelling) TOK_##name,
#define BINARY(name, spelling, oper) TOK_##name,
#define AUGMENT(name, spelling, oper) TOK_##name,
#include "frontend/python/tokens.h"
#undef MARK
#undef KEYWORD
#undef SIGN
#undef BINARY
#undef AUGMENT
    TOK_count
};

enum token_class { TOK_CLASS_mark, TOK_CLASS_keyword, TOK_CLASS_sign, TOK_CLASS_binary, TOK_CLASS_augment };

struct token_info {
    const char *spelling; /* of a mark: words for it */
    enum token_class class;
    enum oper oper;       /* binary, augment */
    int len;
};
extern const struct token_info token_info[TOK_count];

/* What is wrong with a text that is no token: a message with its %s. */
struct lex_error {
    enum error error;
    const char *first, *second;
};

struct token {
    enum token_kind kind;
    uint32_t start, end; /* byte offsets */
    uint32_t line, col;
    int32_t open;        /* the innermost bracket around it: an index, -1 where there is none */
    int32_t close;       /* of an opening bracket: its partner's index, 0 where it is never closed */
    const struct lex_error *error; /* of an error */
};

struct tokens {
    VEC(struct token) all;      /* ends with dedents and one end */
    VEC(uint32_t) line_starts;  /* offsets; the last one is the text's end */
};

/* Never fails: what is no token becomes a token `error`, for the parser to report should it get
 * there. Only a text that is no text (zero bytes, bad UTF-8, more bytes than a token can count) is
 * reported to d; then false. */
bool lex(struct arena *a, struct diag *d, const struct source *src, struct tokens *out);

#endif
