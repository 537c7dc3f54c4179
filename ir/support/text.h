/* text.h: a string buffer in an arena, and interned strings. */
#ifndef NESO_IR_TEXT_H
#define NESO_IR_TEXT_H

#include "ir/support/arena.h"
#include "ir/support/map.h"

#include <stdarg.h>

#if defined(__GNUC__)
#define PRINTF_LIKE(at, first) __attribute__((format(printf, at, first)))
#else
#define PRINTF_LIKE(at, first)
#endif

/* `s` is always terminated; `len` does not count the terminator. */
struct text {
    struct arena *arena;
    char *s;
    size_t len, cap;
};

void text_init(struct text *t, struct arena *a);
void text_char(struct text *t, char c);
void text_bytes(struct text *t, const char *s, size_t n);
void text_str(struct text *t, const char *s);
void text_code(struct text *t, uint32_t code); /* a character, as UTF-8 */
/* Appends the string between two such quotes, with escapes for characters that cannot be printed. */
void text_quoted(struct text *t, const char *s, int n, char quote);
void text_printf(struct text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vprintf(struct text *t, const char *format, va_list args);

/* Appends the shortest decimal that reads back as the same double (or float, if `single`), in the C locale
 * whatever the process's locale is, always with a '.', an exponent, "inf" or "nan": 1.0, 1e-06, -inf. */
void text_double(struct text *t, double x, int single);
/* Reads a decimal or hexadecimal floating number as strtod does, but in the C locale. Returns the end. */
const char *text_read_double(const char *s, double *out);

/* How many letters to change, drop or add to make `a` of `b`; more than `most`: most + 1. */
int text_distance(const char *a, const char *b, int most);

/* Equal strings become equal pointers, for the life of the arena. */
struct interner {
    struct arena *arena;
    struct map map;
};
void interner_init(struct interner *in, struct arena *a);
const char *intern(struct interner *in, const char *s, size_t n);
const char *intern_str(struct interner *in, const char *s);

#endif
