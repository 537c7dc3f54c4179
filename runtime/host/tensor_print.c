/* SPDX-License-Identifier: MIT */
/* tensor_print.c: prints tensors as torch does: all elements have one format, lines have at most 80 columns, and long
 * dimensions are abbreviated.
 *
 *     tensor([[   0,    1,    2,  ...,   37,   38,   39],
 *             ...,
 *             [1160, 1161, 1162,  ..., 1197, 1198, 1199]], device='cuda:0')
 *
 * The format of floats depends on the shown elements that are finite and not 0. All elements are printed with
 * an exponent if the ratio of the largest to the smallest magnitude is above 1000, if a magnitude is above
 * 1e8, or if the smallest magnitude is below 1e-4 and not all elements are whole numbers. Otherwise, elements
 * are printed as integers with a point if all of them are whole numbers, else with four decimal places. */
#include "runtime/host/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 80, EDGE = 3, SHOWN_MOST = 1000, INDENT = sizeof "tensor(" - 1 };

struct format {
    bool is_float, all_whole, scientific;
    int width;
    bool summarize;
};

/* Formats an element into `text`, and returns the length. */
static int element_text(const struct format *f, enum torch_dtype dtype, struct number x, char text[64])
{
    if (dtype == TORCH_bool_)
        snprintf(text, 64, "%s", x.i ? "True" : "False");
    else if (!x.is_float)
        snprintf(text, 64, torch_dtypes[dtype].is_unsigned ? "%llu" : "%lld", (long long)x.i);
    else if (isnan(x.f) || isinf(x.f))
        snprintf(text, 64, "%s", isnan(x.f) ? "nan" : x.f < 0 ? "-inf" : "inf");
    else
        snprintf(text, 64, f->scientific ? "%.4e" : f->all_whole ? "%.0f." : "%.4f", x.f);
    for (char *comma = text; (comma = strchr(comma, ',')); comma++)
        *comma = '.'; /* the locale of the process may have a comma as the decimal point */
    return (int)strlen(text);
}

static void show_element(const struct format *f, enum torch_dtype dtype, struct number x, struct text *out)
{
    char text[64];
    int n = element_text(f, dtype, x, text);
    text_printf(out, "%*s%s", n < f->width ? f->width - n : 0, "", text);
}

static bool is_shown(const struct tensor *t, const struct format *f, int64_t linear)
{
    for (int d = t->rank - 1; d >= 0 && f->summarize; d--) {
        int64_t i = linear % t->shape[d];
        if (i >= EDGE && i < t->shape[d] - EDGE)
            return false;
        linear /= t->shape[d];
    }
    return true;
}

static bool counts(const struct tensor *t, const struct format *f, int64_t i, struct number x)
{
    return is_shown(t, f, i) && (!f->is_float || (isfinite(x.f) && x.f != 0));
}

/* Chooses the format for the shown elements. Returns false if the pool's budget is exhausted. */
static bool choose_format(struct tensor_pool *p, struct format *f, const struct tensor *t, const char *host)
{
    int64_t n = tensor_elems(t);
    double most = 0, least = INFINITY;
    *f = (struct format){
        .is_float = torch_is_float(t->dtype), .all_whole = true, .width = 1, .summarize = n > SHOWN_MOST};
    for (int64_t i = 0; i < n && f->is_float; i++) {
        if (i % ELEMS_UNASKED == 0 && !pool_spend(p, ELEMS_UNASKED))
            return false;
        struct number x = tensor_get(host, t, i);
        if (!counts(t, f, i, x))
            continue;
        f->all_whole &= x.f == ceil(x.f);
        most = fmax(most, fabs(x.f));
        least = fmin(least, fabs(x.f));
    }
    f->scientific = most > 0 && (most / least > 1000 || most > 1e8 || (!f->all_whole && least < 1e-4));
    for (int64_t i = 0; i < n; i++) {
        char text[64];
        if (i % ELEMS_UNASKED == 0 && !pool_spend(p, ELEMS_UNASKED))
            return false;
        struct number x = tensor_get(host, t, i);
        int length = counts(t, f, i, x) ? element_text(f, t->dtype, x, text) : 0;
        f->width = length > f->width ? length : f->width;
    }
    return true;
}

/* Prints one row, with as many elements in each line as fit into 80 columns. */
static void print_row(const struct tensor *t, const char *host, const struct format *f, int64_t first,
                      int indent, struct text *out)
{
    int64_t n = t->shape[t->rank - 1];
    int a_line = (LINE - indent) / (f->width + 2), count = 0;
    text_char(out, '[');
    for (int64_t i = 0; i < n; i++, count++) {
        if (count && count % (a_line > 1 ? a_line : 1) == 0)
            text_printf(out, ",\n%*s", indent + 1, "");
        else if (count)
            text_str(out, ", ");
        if (f->summarize && n > 2 * EDGE && i == EDGE) {
            text_str(out, " ...");
            i = n - EDGE - 1;
        } else {
            show_element(f, t->dtype, tensor_get(host, t, first + i), out);
        }
    }
    text_char(out, ']');
}

static void print_dim(const struct tensor *t, const char *host, const struct format *f, int dim,
                      int64_t first, struct text *out)
{
    int64_t inner = 1, n = t->shape[dim];
    if (dim == t->rank - 1) {
        print_row(t, host, f, first, INDENT + dim, out);
        return;
    }
    for (int d = dim + 1; d < t->rank; d++)
        inner *= t->shape[d];
    text_char(out, '[');
    for (int64_t i = 0; i < n; i++) {
        if (i)
            text_printf(out, ",%.*s%*s", t->rank - 1 - dim, "\n\n\n\n\n\n\n\n", INDENT + 1 + dim, "");
        if (f->summarize && n > 2 * EDGE && i == EDGE) {
            text_str(out, "...");
            i = n - EDGE - 1;
        } else {
            print_dim(t, host, f, dim + 1, first + i * inner, out);
        }
    }
    text_char(out, ']');
}

/* Appends a word after the elements, in a new line if the word does not fit into the current line. */
static void add_word(struct text *out, int *column, const char *word)
{
    int n = (int)strlen(word);
    if (*column + n + 2 > LINE) {
        text_printf(out, ",\n%*s%s", INDENT, "", word);
        *column = INDENT + n;
    } else {
        text_printf(out, ", %s", word);
        *column += n + 2;
    }
}

static void add_size(const struct tensor *t, struct text *out, int *column)
{
    char word[20 * TENSOR_RANK_MAX + 10] = "size=(";
    for (int d = 0; d < t->rank; d++)
        snprintf(word + strlen(word), sizeof word - strlen(word), d ? ", %lld" : "%lld",
                 (long long)t->shape[d]);
    strcat(word, ")");
    add_word(out, column, word);
}

bool tensor_print(struct tensor_pool *p, const struct tensor *t, const char *note, struct text *out)
{
    const char *host = tensor_host(p, t, false);
    struct format f;
    char dtype[40];
    bool is_empty = tensor_elems(t) == 0;
    if (!host || !choose_format(p, &f, t, host))
        return false;
    size_t start = out->len;
    text_str(out, "tensor(");
    if (is_empty)
        text_str(out, "[]");
    else if (t->rank == 0)
        show_element(&f, t->dtype, tensor_get(host, t, 0), out);
    else
        print_dim(t, host, &f, 0, 0, out);
    size_t line = out->len;
    while (line > start && out->s[line - 1] != '\n')
        line--;
    int column = (int)(out->len - line) + 2;
    if (t->on_gpu)
        add_word(out, &column, "device='cuda:0'");
    if (is_empty && t->rank != 1)
        add_size(t, out, &column);
    snprintf(dtype, sizeof dtype, "dtype=torch.%s",
             t->dtype == TORCH_bool_ ? "bool" : torch_dtypes[t->dtype].name);
    if (is_empty ? t->dtype != TORCH_float32
                 : t->dtype != TORCH_float32 && t->dtype != TORCH_int64 && t->dtype != TORCH_bool_)
        add_word(out, &column, dtype);
    if (note)
        add_word(out, &column, note);
    text_char(out, ')');
    return true;
}
