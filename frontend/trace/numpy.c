/* SPDX-License-Identifier: MIT */
/* numpy.c: prints tiles as numpy prints arrays, because Triton's interpreter prints numpy arrays.
 *
 *     [ True False]   [0.   1.25]   [[ 0  1]     [   0    1    2 ... 4093 4094 4095]     [1.e-05 2.e+00]
 *                                    [10 11]]
 *
 * numpy_print works in three steps. First, it chooses the elements to show: all elements of a tile of at most
 * 1000 elements; of a larger tile, three items at each end of every dimension. Second, it computes one format
 * that fits the widest element. Third, it prints the rows, in lines of at most 75 columns. */
#include "frontend/trace/tile.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE_WIDTH = 75, SHOWN_MOST = 1000, EDGE = 3, PRECISION = 8, DIGITS_MOST = 17 };

/* -- the digits of a number -- */

/* The number d.ddd * 10^exponent, where d.ddd are the n digits. `digits` has no decimal point. */
struct decimal {
    char digits[DIGITS_MOST + 2];
    int n, exponent;
};

/* Rounds |x| to 1 + `more` significant digits. */
static struct decimal round_to(double x, int more)
{
    char text[64];
    struct decimal d = {.n = 0};
    snprintf(text, sizeof text, "%.*e", more, fabs(x));
    const char *s = text;
    for (; *s != 'e'; s++)
        if (*s >= '0' && *s <= '9') /* skips the decimal point, which depends on the locale */
            d.digits[d.n++] = *s;
    for (s++; *s; s++)
        if (*s >= '0' && *s <= '9')
            d.exponent = 10 * d.exponent + (*s - '0');
    if (strstr(text, "e-"))
        d.exponent = -d.exponent;
    return d;
}

static bool reads_back(const struct decimal *d, double x, enum dtype type)
{
    char text[64];
    double back;
    snprintf(text, sizeof text, "%.*se%d", d->n, d->digits, d->exponent - (d->n - 1));
    text_read_double(text, &back);
    return double_to_bits(type, back) == double_to_bits(type, fabs(x));
}

/* Returns the shortest decimal number that equals |x| when it is parsed as a number of this type. */
static struct decimal shortest(double x, enum dtype type)
{
    struct decimal d = round_to(x, 0);
    for (int more = 1; more < DIGITS_MOST && !reads_back(&d, x, type); more++)
        d = round_to(x, more);
    while (d.n > 1 && d.digits[d.n - 1] == '0')
        d.n--;
    return d;
}

/* -- the common format of all shown elements -- */

struct format {
    const struct tile *tile;
    struct arena *arena;
    bool repr, summary, is_float, exponent;
    int left, right, exponent_digits; /* widths left and right of the decimal point, and of the exponent */
    int width;                        /* width of an integer or bool */
    double least, most;               /* smallest and largest |x| of the shown numbers, except 0, nan, inf */
};

static double number(const struct tile *t, int64_t i)
{
    return bits_to_double(t->scalar->dtype, tile_bits(t, i));
}

/* Prints x without an exponent. Writes the sign and the digits before the decimal point to *whole, and the digits after
 * the point to *fraction. */
static void positional(const struct format *f, double x, struct text *whole, struct text *fraction)
{
    struct decimal d = shortest(x, f->tile->scalar->dtype);
    if (d.n - 1 - d.exponent > PRECISION) {
        int more = d.exponent + PRECISION;
        char rounded[64];
        if (more >= 0) {
            d = round_to(x, more);
        } else {
            snprintf(rounded, sizeof rounded, "%d", fabs(x) > 0.5e-8);
            d = (struct decimal){.n = 1, .exponent = rounded[0] == '1' ? -PRECISION : 0};
            d.digits[0] = rounded[0];
        }
        while (d.n > 1 && d.digits[d.n - 1] == '0')
            d.n--;
    }
    if (signbit(x))
        text_char(whole, '-');
    for (int i = 0; i <= (d.exponent > 0 ? d.exponent : 0); i++)
        text_char(whole, d.exponent < 0 || i >= d.n ? '0' : d.digits[i]);
    for (int i = -1; i > d.exponent; i--)
        text_char(fraction, '0');
    for (int i = d.exponent < 0 ? 0 : d.exponent + 1; i < d.n; i++)
        text_char(fraction, d.digits[i]);
    if (fraction->len == 1 && fraction->s[0] == '0')
        fraction->len = 0, fraction->s[0] = '\0';
}

static void scientific(const struct format *f, double x, struct text *whole, struct text *fraction,
                       struct text *exponent)
{
    struct decimal d = shortest(x, f->tile->scalar->dtype);
    if (d.n > PRECISION + 1) {
        d = round_to(x, PRECISION);
        while (d.n > 1 && d.digits[d.n - 1] == '0')
            d.n--;
    }
    text_printf(whole, "%s%c", signbit(x) ? "-" : "", d.digits[0]);
    text_bytes(fraction, d.digits + 1, (size_t)d.n - 1);
    text_printf(exponent, "%c%02d", d.exponent < 0 ? '-' : '+', d.exponent < 0 ? -d.exponent : d.exponent);
}

static void widen(int *width, size_t n)
{
    *width = (int)n > *width ? (int)n : *width;
}

/* If element i is finite, increases the widths of f so that the element fits. */
static void fit_float(struct format *f, int64_t i)
{
    double x = number(f->tile, i);
    struct text whole, fraction, exponent;
    text_init(&whole, f->arena);
    text_init(&fraction, f->arena);
    text_init(&exponent, f->arena);
    if (!isfinite(x))
        return;
    if (f->exponent)
        scientific(f, x, &whole, &fraction, &exponent);
    else
        positional(f, x, &whole, &fraction);
    widen(&f->left, whole.len);
    widen(&f->right, fraction.len);
    widen(&f->exponent_digits, exponent.len);
}

/* If element i is nan or inf, increases f->left, the width before the point, so that the element fits. A nan or inf is
 * right-aligned in the whole width of a number. */
static void fit_special(struct format *f, int64_t i)
{
    double x = number(f->tile, i);
    int after = f->right + 1 + (f->exponent ? f->exponent_digits + 1 : 0);
    if (!isfinite(x) && (isnan(x) || !signbit(x) ? 3 : 4) - after > f->left)
        f->left = (isnan(x) || !signbit(x) ? 3 : 4) - after;
}

static void show_int(const struct tile *t, int64_t i, struct text *out)
{
    uint64_t bits = tile_bits(t, i);
    int unused = 64 - dtype_info[t->scalar->dtype].bits;
    if (t->scalar->dtype == DT_i1)
        text_str(out, bits ? " True" : "False");
    else if (t->scalar->is_unsigned)
        text_printf(out, "%llu", (unsigned long long)bits);
    else
        text_printf(out, "%lld", (long long)((int64_t)(bits << unused) >> unused));
}

static void fit(struct format *f, int64_t i)
{
    struct text t;
    text_init(&t, f->arena);
    if (f->is_float) {
        fit_float(f, i);
        return;
    }
    show_int(f->tile, i, &t);
    widen(&f->width, t.len);
}

static void show_float(const struct format *f, double x, struct text *out)
{
    struct text whole, fraction, exponent;
    text_init(&whole, f->arena);
    text_init(&fraction, f->arena);
    text_init(&exponent, f->arena);
    if (!isfinite(x)) {
        int width = f->left + 1 + f->right + (f->exponent ? f->exponent_digits + 1 : 0);
        text_printf(out, "%*s", width, isnan(x) ? "nan" : signbit(x) ? "-inf" : "inf");
        return;
    }
    if (f->exponent)
        scientific(f, x, &whole, &fraction, &exponent);
    else
        positional(f, x, &whole, &fraction);
    text_printf(out, "%*s.%s", f->left, whole.s ? whole.s : "", fraction.s ? fraction.s : "");
    for (int i = (int)fraction.len; i < f->right; i++)
        text_char(out, f->exponent ? '0' : ' ');
    if (f->exponent)
        text_printf(out, "e%s", exponent.s);
}

static void show_element(const struct format *f, int64_t i, struct text *out)
{
    struct text word;
    text_init(&word, f->arena);
    if (f->is_float) {
        show_float(f, number(f->tile, i), out);
        return;
    }
    show_int(f->tile, i, &word);
    text_printf(out, "%*s", f->width, word.s);
}

/* -- rows -- */

/* For a dimension of n items, returns the number of items that are shown on each side of the `...`; returns n if all
 * items are shown. */
static int shown(const struct format *f, int n)
{
    return f->summary && n > 2 * EDGE ? EDGE : n;
}

/* Calls visit for each shown element of the subarray that begins at element `first` and has the dimensions from `dim`
 * on. */
static void each_shown(struct format *f, int dim, int64_t first, void (*visit)(struct format *f, int64_t i))
{
    const struct tile *t = f->tile;
    if (dim == t->rank) {
        visit(f, first);
        return;
    }
    int n = t->shape[dim], edge = shown(f, n);
    int64_t inner = 1;
    for (int d = dim + 1; d < t->rank; d++)
        inner *= t->shape[d];
    for (int i = 0; i < n; i++)
        if (i < edge || i >= n - edge)
            each_shown(f, dim + 1, first + i * inner, visit);
}

static void indent(struct text *out, int n)
{
    for (int i = 0; i < n; i++)
        text_char(out, ' ');
}

/* Prints a row, the elements of the last dimension from element `first` on, in lines of less than `width` columns. Each
 * line after the first begins with `hanging` blanks. */
static void show_row(const struct format *f, int64_t first, int hanging, int width, struct text *out)
{
    int n = f->tile->rank ? f->tile->shape[f->tile->rank - 1] : 1, edge = shown(f, n), column = hanging;
    for (int i = 0; i < n; i++) {
        struct text word;
        bool dots = i == edge && edge < n - edge;
        if (dots)
            i = n - edge - 1;
        text_init(&word, f->arena);
        if (dots)
            text_str(&word, "...");
        else
            show_element(f, first + i, &word);
        if (column + (int)word.len > width - 1 && column > hanging) {
            while (out->len && out->s[out->len - 1] == ' ')
                out->s[--out->len] = '\0';
            text_char(out, '\n');
            indent(out, hanging);
            column = hanging;
        }
        text_bytes(out, word.s, word.len);
        column += (int)word.len;
        if (i + 1 < n)
            text_str(out, f->repr ? ", " : " "), column += 1 + f->repr;
    }
}

static void show_rows(const struct format *f, int dim, int64_t first, int hanging, int width,
                      struct text *out)
{
    const struct tile *t = f->tile;
    text_char(out, '[');
    hanging++;
    if (dim + 1 >= t->rank) {
        show_row(f, first, hanging, width, out);
        text_char(out, ']');
        return;
    }
    int n = t->shape[dim], edge = shown(f, n), rank_left = t->rank - dim;
    int64_t inner = 1;
    for (int d = dim + 1; d < t->rank; d++)
        inner *= t->shape[d];
    for (int i = 0; i < n; i++) {
        bool dots = i == edge && edge < n - edge;
        if (dots) {
            i = n - edge - 1;
            text_str(out, "...");
        } else {
            show_rows(f, dim + 1, first + i * inner, hanging, width - 1, out);
        }
        if (i + 1 == n)
            break;
        if (f->repr)
            text_char(out, ',');
        for (int k = 1; k < rank_left; k++)
            text_char(out, '\n');
        indent(out, hanging);
    }
    text_char(out, ']');
}

/* -- the whole array -- */

/* Extends the range f->least..f->most to include |element i|, unless this is 0, nan or inf. */
static void extend(struct format *f, int64_t i)
{
    double v = fabs(number(f->tile, i));
    if (!isfinite(v) || v == 0)
        return;
    f->least = v < f->least ? v : f->least;
    f->most = v > f->most ? v : f->most;
}

/* Returns whether numpy prints the shown numbers with an exponent: some numbers are too large or too small, or their
 * sizes differ too much. */
static bool needs_exponent(struct format *f)
{
    f->least = INFINITY;
    each_shown(f, 0, 0, extend);
    return f->most > 0 && (f->most >= 1e8 || f->least < 1e-4 || f->most / f->least > 1000);
}

/* Returns numpy's name of the type: "int32", "float16". */
static const char *dtype_name(const struct lang_type *t, struct text *out)
{
    lang_print(t, out);
    if (strncmp(out->s, "fp", 2) != 0 || t->dtype < DT_f16)
        return out->s;
    struct text word = *out;
    text_init(out, word.arena);
    text_printf(out, "float%s", word.s + 2);
    return out->s;
}

void numpy_print(struct arena *a, const struct tile *t, struct text *out, bool repr)
{
    struct format f = {.tile = t, .arena = a, .repr = repr, .summary = tile_elems(t) > SHOWN_MOST};
    f.is_float = dtype_info[t->scalar->dtype].kind == DTYPE_float;
    f.exponent = f.is_float && needs_exponent(&f);
    each_shown(&f, 0, 0, fit);
    if (f.is_float)
        each_shown(&f, 0, 0, fit_special);
    if (!repr) {
        show_rows(&f, 0, 0, 0, LINE_WIDTH, out);
        return;
    }
    struct text name;
    text_init(&name, a);
    const char *dtype = dtype_name(t->scalar, &name);
    bool implied = t->scalar->dtype == DT_i1 || t->scalar->dtype == DT_f64 ||
                   (t->scalar->dtype == DT_i64 && !t->scalar->is_unsigned);
    text_str(out, "array(");
    show_rows(&f, 0, 0, 6, LINE_WIDTH, out);
    if (!implied)
        text_printf(out, ", dtype=%s", dtype);
    text_char(out, ')');
}
