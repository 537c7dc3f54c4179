/* SPDX-License-Identifier: MIT */
/* text.c: implements string buffers, conversion of floats to text and back in any locale, and interned strings
 * (see text.h).
 *
 * The C library prints and reads the decimal point of the locale. So the functions of this file pass only
 * numbers without a decimal point to the C library: digits and an exponent, such as 1234e-3. */
#include "ir/support/text.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- buffers -- */

static void reserve(struct text *t, size_t more)
{
    if (t->cap - t->len > more)
        return;
    size_t cap = 2 * t->cap > t->len + more + 1 ? 2 * t->cap : t->len + more + 1;
    t->s = arena_grow(t->arena, t->s, t->len, cap, 1);
    t->cap = cap;
}

void text_init(struct text *t, struct arena *a)
{
    *t = (struct text){.arena = a};
    reserve(t, 63);
}

void text_bytes(struct text *t, const char *s, size_t n)
{
    reserve(t, n);
    if (n)
        memcpy(t->s + t->len, s, n);
    t->len += n;
    t->s[t->len] = 0;
}

void text_char(struct text *t, char c)
{
    text_bytes(t, &c, 1);
}

void text_str(struct text *t, const char *s)
{
    text_bytes(t, s, strlen(s));
}

void text_vprintf(struct text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(t->s + t->len, t->cap - t->len, format, args);
    if (n > 0 && (size_t)n >= t->cap - t->len) {
        reserve(t, (size_t)n);
        vsnprintf(t->s + t->len, t->cap - t->len, format, again);
    }
    va_end(again);
    if (n > 0)
        t->len += (size_t)n;
    t->s[t->len] = 0;
}

void text_code(struct text *t, uint32_t code)
{
    if (code < 0x80) {
        text_char(t, (char)code);
        return;
    }
    int n = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    text_char(t, (char)(lead[n] | code >> 6 * (n - 1)));
    for (int i = n - 2; i >= 0; i--)
        text_char(t, (char)(0x80 | (code >> 6 * i & 0x3f)));
}

void text_quoted(struct text *t, const char *s, int n, char quote)
{
    text_char(t, quote);
    for (int i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (s[i] == quote || c == '\\')
            text_printf(t, "\\%c", c);
        else if (c == '\n')
            text_str(t, "\\n");
        else if (c < ' ' || c == 0x7f)
            text_printf(t, "\\x%02x", c);
        else
            text_char(t, s[i]);
    }
    text_char(t, quote);
}

void text_printf(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(t, format, args);
    va_end(args);
}

/* -- floats -- */

/* A number as decimal digits and a power of ten. */
enum { DIGITS_MOST = 17 };
struct decimal {
    char digits[DIGITS_MOST + 1];
    int ndigits;
    int exponent; /* of the first digit: 1.5 is "15" with exponent 0 */
};

/* Rounds |x| to n digits. Skips the decimal point that snprintf writes, which has several bytes in some
 * locales. */
static void round_decimal(struct decimal *d, double x, int n)
{
    char s[64];
    snprintf(s, sizeof s, "%.*e", n - 1, fabs(x));
    const char *at = s;
    d->ndigits = 0;
    for (; *at != 'e'; at++)
        if (*at >= '0' && *at <= '9' && d->ndigits < DIGITS_MOST)
            d->digits[d->ndigits++] = *at;
    d->digits[d->ndigits] = 0;
    d->exponent = (int)strtol(at + 1, NULL, 10);
}

static bool reads_back(const struct decimal *d, double x, bool single)
{
    char s[64];
    snprintf(s, sizeof s, "%se%d", d->digits, d->exponent - d->ndigits + 1);
    if (single)
        return strtof(s, NULL) == (float)fabs(x);
    return strtod(s, NULL) == fabs(x);
}

/* Prints fixed notation, which Python's repr uses for exponents -4 to 15. */
static void print_fixed(struct text *t, const struct decimal *d)
{
    int point = d->exponent + 1; /* number of digits before the point */
    if (point <= 0)
        text_str(t, "0.");
    for (int i = point; i < 0; i++)
        text_char(t, '0');
    for (int i = 0; i < d->ndigits || i < point; i++) {
        if (i == point && i > 0)
            text_char(t, '.');
        text_char(t, i < d->ndigits ? d->digits[i] : '0');
    }
    if (d->ndigits <= point)
        text_str(t, ".0");
}

static void print_scientific(struct text *t, const struct decimal *d)
{
    text_char(t, d->digits[0]);
    if (d->ndigits > 1)
        text_char(t, '.');
    text_str(t, d->digits + 1);
    text_printf(t, "e%c%02d", d->exponent < 0 ? '-' : '+', abs(d->exponent));
}

void text_double(struct text *t, double x, int single)
{
    if (isnan(x)) {
        text_str(t, "nan");
        return;
    }
    if (signbit(x))
        text_char(t, '-');
    if (isinf(x)) {
        text_str(t, "inf");
        return;
    }
    struct decimal d;
    for (int n = 1; n <= DIGITS_MOST; n++) {
        round_decimal(&d, x, n);
        if (reads_back(&d, x, single != 0))
            break;
    }
    if (d.exponent >= -4 && d.exponent < 16)
        print_fixed(t, &d);
    else
        print_scientific(t, &d);
}

/* The digits after the first SIGNIFICANT_MOST digits affect the rounding to a double only by whether they are
 * all zero. So if one of these digits is not zero, read_digits makes the last digit that it keeps nonzero. */
enum { SIGNIFICANT_MOST = 780, EXPONENT_MOST = 100000000 };

static int digit_of(char c, int base)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (base == 16 && c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (base == 16 && c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Copies the significant digits at s to `out` without the point, and sets *scale: the number at s is the
 * number in `out` times `base` to the power *scale. Returns the end of the digits, or NULL if there are no
 * digits. */
static const char *read_digits(const char *s, int base, char *out, int *scale)
{
    int n = 0;
    bool point = false, any = false, cut = false;
    for (*scale = 0;; s++) {
        if (*s == '.' && !point) {
            point = true;
            continue;
        }
        int digit = digit_of(*s, base);
        if (digit < 0)
            break;
        any = true;
        bool keep = n < SIGNIFICANT_MOST && (n > 0 || digit > 0);
        if (keep)
            out[n++] = *s;
        else if (n > 0)
            cut |= digit > 0;
        bool is_fraction_kept = point && (keep || n == 0);
        if (is_fraction_kept && *scale > -EXPONENT_MOST)
            --*scale;
        if (!point && !keep && n > 0 && *scale < EXPONENT_MOST)
            ++*scale;
    }
    if (cut)
        out[n - 1] = out[n - 1] == '0' ? '1' : out[n - 1];
    if (n == 0)
        out[n++] = '0';
    out[n] = 0;
    return any ? s : NULL;
}

/* Reads an exponent such as `e-12`, and returns its end; returns s if there is no exponent. */
static const char *read_exponent(const char *s, char letter, int *exponent)
{
    *exponent = 0;
    if ((*s | 32) != letter)
        return s;
    const char *at = s + 1;
    bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    if (digit_of(*at, 10) < 0)
        return s;
    for (; digit_of(*at, 10) >= 0; at++)
        if (*exponent < EXPONENT_MOST)
            *exponent = 10 * *exponent + digit_of(*at, 10);
    if (negative)
        *exponent = -*exponent;
    return at;
}

static bool starts_word(const char *s, const char *word)
{
    return strncmp(s, word, strlen(word)) == 0;
}

static const char *read_number(const char *s, double *out)
{
    bool hex = s[0] == '0' && (s[1] | 32) == 'x';
    char number[SIGNIFICANT_MOST + 64] = "0x";
    int scale, exponent;
    const char *end = read_digits(hex ? s + 2 : s, hex ? 16 : 10, number + 2, &scale);
    if (!end) {
        *out = 0;
        return hex ? s + 1 : s;
    }
    end = read_exponent(end, hex ? 'p' : 'e', &exponent);
    size_t n = strlen(number);
    snprintf(number + n, sizeof number - n, hex ? "p%d" : "e%d", exponent + scale * (hex ? 4 : 1));
    *out = strtod(hex ? number : number + 2, NULL);
    return end;
}

const char *text_read_double(const char *s, double *out)
{
    const char *start = s;
    bool negative = *s == '-';
    if (*s == '-' || *s == '+')
        s++;
    const char *end;
    if (starts_word(s, "inf") || starts_word(s, "nan")) {
        *out = *s == 'i' ? (double)INFINITY : (double)NAN;
        end = s + 3;
    } else {
        end = read_number(s, out);
    }
    if (negative)
        *out = -*out;
    return end == s ? start : end;
}

int text_distance(const char *a, const char *b, int most)
{
    enum { LENGTH_MOST = 64 };
    int row[LENGTH_MOST + 1], n = (int)strlen(a), m = (int)strlen(b);
    if (n > LENGTH_MOST || m > LENGTH_MOST || n - m > most || m - n > most)
        return most + 1;
    for (int j = 0; j <= m; j++)
        row[j] = j;
    for (int i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int above = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            best = above + 1 < best ? above + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = above;
        }
    }
    return row[m];
}

/* -- interned strings -- */

void interner_init(struct interner *in, struct arena *a)
{
    in->arena = a;
    map_init(&in->map, a);
}

const char *intern(struct interner *in, const char *s, size_t n)
{
    if (n == 0)
        return "";
    void **found = map_get(&in->map, s, n);
    if (found)
        return *found;
    char *copy = arena_strndup(in->arena, s, n);
    *map_at(&in->map, copy, n) = copy;
    return copy;
}

const char *intern_str(struct interner *in, const char *s)
{
    return intern(in, s, strlen(s));
}
