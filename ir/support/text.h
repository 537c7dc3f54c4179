/* SPDX-License-Identifier: MIT */
/* text.h: declares string buffers in an arena, and interned strings. */
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

/* A string buffer. `s` always ends with a zero byte, which `len` does not count. */
struct text {
    struct arena *arena;
    char *s;
    size_t len, cap;
};

void text_init(struct text *t, struct arena *a);
void text_char(struct text *t, char c);
void text_bytes(struct text *t, const char *s, size_t n);
void text_str(struct text *t, const char *s);
void text_code(struct text *t, uint32_t code); /* appends the character as UTF-8 */
/* Appends the string between two `quote` characters, with escapes for `quote`, backslashes and control characters. */
void text_quoted(struct text *t, const char *s, int n, char quote);
void text_printf(struct text *t, const char *format, ...) PRINTF_LIKE(2, 3);
void text_vprintf(struct text *t, const char *format, va_list args);

/* Appends the shortest decimal that reads back as the same double (or float, if `single`), independent of the
 * process's locale. The text always contains a '.', an exponent, "inf" or "nan": 1.0, 1e-06, -inf. */
void text_double(struct text *t, double x, int single);
/* Reads a decimal or hexadecimal floating-point number as strtod does, but independent of the locale. Returns
 * the end of the number, or s if no number begins at s. */
const char *text_read_double(const char *s, double *out);

/* Returns the edit distance of `a` and `b`: how many letters must be changed, dropped or added to turn `a`
 * into `b`. If the distance is more than `most`, or if a string has more than 64 bytes, returns any number
 * above `most`. */
int text_distance(const char *a, const char *b, int most);

/* An interner maps equal strings to one pointer, which stays valid as long as the interner's arena. */
struct interner {
    struct arena *arena;
    struct map map;
};
void interner_init(struct interner *in, struct arena *a);
const char *intern(struct interner *in, const char *s, size_t n);
const char *intern_str(struct interner *in, const char *s);

#endif
