/* SPDX-License-Identifier: MIT */
/* lex.h: the tokens of a source text. */
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
    const char *spelling; /* for a MARK token, its description */
    uint8_t class;        /* enum token_class */
    uint8_t oper;         /* enum oper: the operator of a BINARY or AUGMENT token */
    uint8_t len;          /* the length of the spelling in bytes; 0 for a MARK token */
};
extern const struct token_info token_info[TOK_count];

/* The reason why a text is not a token. */
struct lex_error {
    enum error error;
    const char *first, *second; /* the arguments of the error's message; NULL if it has fewer */
};

struct token {
    enum token_kind kind;
    uint32_t start, end; /* byte offsets into the source */
    uint32_t line, col;
    int32_t open;        /* index of the token of the innermost bracket that encloses this token; -1 if there is none */
    int32_t close;       /* for an opening bracket, the index of the token of its closing bracket; 0 if there is
                          * none */
    const struct lex_error *error; /* for a token of kind `error`, the error */
};

struct tokens {
    VEC(struct token) all;      /* the last tokens are dedents and one `end` */
    VEC(uint32_t) line_starts;  /* the byte offset of each line, and then the byte offset of the end of the text */
};

/* Splits a text into tokens. Text that is not a token becomes a token `error`; the parser reports the error if it
 * reaches the token. lex itself reports only input that it cannot split (zero bytes, invalid UTF-8, more than 64
 * MiB), and then returns false. */
bool lex(struct arena *a, struct diag *d, const struct source *src, struct tokens *out);

#endif
