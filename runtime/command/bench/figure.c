/* SPDX-License-Identifier: MIT */
/* figure.c: draws a judgement as a figure, in SVG.
 *
 *     change of time, with its interval          for calls that were timed and have a base
 *         softmax/N=1024      ──●──
 *     costs                                      for kernels; a column for each cost: a bar shows its value
 *         softmax_kernel      ████ 32   ██ 16    relative to the maximum; a line under it: the base's value
 */
#include "runtime/command/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct figure_cost *figure_costs(size_t *n)
{
    static const struct figure_cost costs[] = {
        {"registers", "registers"},
        {"live_registers", "live registers"},
        {"spill_bytes", "bytes spilled"},
        {"shared_bytes", "shared bytes"},
        {"instructions", "instructions"},
        {"bytes_per_access", "bytes an access"},
        {"run.instructions", "instructions run"},
        {"run.global_sectors", "global sectors"},
        {"run.shared_wavefronts", "shared wavefronts"},
        {"run.tensor_operations", "tensor operations"},
    };
    *n = sizeof costs / sizeof *costs;
    return costs;
}

const char *cost_text(char *out, double value, bool is_short)
{
    const char *unit = value >= 999.5e6 ? "G" : "M";
    if (is_short && value >= 999.5e3)
        snprintf(out, COST_TEXT, "%.3g%s", value / (*unit == 'G' ? 1e9 : 1e6), unit);
    else if (value == floor(value) && value < 1e12)
        snprintf(out, COST_TEXT, "%.0f", value);
    else
        snprintf(out, COST_TEXT, "%.4g", value);
    return out;
}

/* -- times -- */

static const char *const colors[] = {"#777777", "#1a7f37", "#cf222e", "#9a6700"};
enum { LABELS = 330, RIGHT = 700, ROW = 18, TOP = 30 };

static double place(double change, double reach)
{
    double x = fmin(fmax(change / reach, -1), 1);
    return (LABELS + RIGHT) / 2.0 + x * (RIGHT - LABELS) / 2.0;
}

static double find_reach(const struct judgement *j)
{
    double reach = 0.05;
    for (size_t i = 0; i < j->n; i++)
        if (j->rows[i].times.base > 0)
            reach = fmax(reach, fmin(fabs(j->rows[i].times.change) * 1.5, 1));
    return ceil(reach * 20) / 20;
}

static void put_label(FILE *f, const char *name, double y)
{
    size_t n = strlen(name);
    fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LABELS - 8, y + 4);
    put_xml(f, n > 52 ? name + n - 52 : name);
    fputs("</text>\n", f);
}

static void put_mark(FILE *f, const struct judged *x, double reach, double y)
{
    const char *color = colors[x->verdict];
    put_label(f, x->row->name, y);
    fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\"/>\n",
            place(x->times.low, reach), place(x->times.high, reach), y, y, color);
    fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", place(x->times.change, reach), y,
            color);
}

/* Draws the changes of times, and returns the height of the drawing; 0: no times were compared. */
static double put_changes(const struct judgement *j, FILE *f)
{
    double reach = find_reach(j), y = TOP;
    int n = 0;
    for (size_t i = 0; i < j->n; i++)
        n += j->rows[i].times.base > 0;
    if (!n)
        return 0;
    int height = TOP + n * ROW + 30;
    for (int i = -2; i <= 2; i++) {
        double x = place(reach * i / 2, reach);
        fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>\n", x, x, TOP - 12,
                height - 24, i ? "#dddddd" : "#777777");
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%+.1f %%</text>\n", x, height - 8,
                50 * reach * i);
    }
    fprintf(f, "<text x=\"%d\" y=\"12\">change of time, with its interval: left is faster</text>\n", LABELS);
    for (size_t i = 0; i < j->n; i++)
        if (j->rows[i].times.base > 0) {
            put_mark(f, &j->rows[i], reach, y);
            y += ROW;
        }
    return height;
}

/* -- costs -- */

enum { COLUMN = 130, BAR = 70, COSTS_TOP = 46 };

bool cost_differs(double was, double now)
{
    return fabs(now - was) > 1e-6 * fabs(was);
}

double figure_highest(const struct judgement *j, const char *name)
{
    double most = 0;
    for (size_t i = 0; i < j->n; i++) {
        const struct judged *x = &j->rows[i];
        const double *now = row_cost(x->row, name), *was = x->base ? row_cost(x->base, name) : NULL;
        most = fmax(most, fmax(now ? *now : 0, was ? *was : 0));
    }
    return most;
}

static void put_bar(FILE *f, const struct judged *x, const char *name, double most, double left, double y)
{
    const double *now = row_cost(x->row, name), *was = x->base ? row_cost(x->base, name) : NULL;
    bool differs = now && was && cost_differs(*was, *now);
    char text[COST_TEXT];
    if (!now)
        return;
    enum verdict verdict = differs && rules_is_better(name, *was, *now) ? VERDICT_faster : x->verdict;
    fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"9\" fill=\"%s\"/>\n", left, y - 5,
            fmax(BAR * *now / most, 0.5), differs ? colors[verdict] : "#5b8fc9");
    if (differs)
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"2\" fill=\"#444444\"/>\n", left,
                y + 5, fmax(BAR * *was / most, 0.5));
    fprintf(f, "<text x=\"%.1f\" y=\"%.1f\"%s>%s</text>\n", left + BAR * *now / most + 4, y + 4,
            differs ? " font-weight=\"bold\"" : "", cost_text(text, *now, true));
}

/* Draws the kernels' costs below `top`, and returns the position at which the drawing ends. */
static double put_costs(const struct judgement *j, double top, int *width, FILE *f)
{
    size_t ncosts, columns = 0;
    const struct figure_cost *costs = figure_costs(&ncosts);
    double y = top + COSTS_TOP;
    for (size_t i = 0; i < j->n; i++) {
        const struct judged *x = &j->rows[i];
        if (!x->row->is_kernel)
            continue;
        put_label(f, x->row->name, y);
        columns = 0;
        for (size_t k = 0; k < ncosts; k++) {
            double most = figure_highest(j, costs[k].name);
            if (most > 0)
                put_bar(f, x, costs[k].name, most, LABELS + (double)(COLUMN * columns++), y);
        }
        y += ROW;
    }
    if (y == top + COSTS_TOP)
        return top;
    columns = 0;
    for (size_t k = 0; k < ncosts; k++)
        if (figure_highest(j, costs[k].name) > 0)
            fprintf(f, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">%s</text>\n",
                    LABELS + COLUMN * (int)columns++, top + 31, costs[k].words);
    fprintf(f, "<text x=\"%d\" y=\"%.1f\">costs of kernels%s</text>\n", 8, top + 13,
            j->has_base ? "; red: slower, green: better; the line below a bar: the base" : "");
    int right = LABELS + COLUMN * (int)columns + 20;
    *width = right > *width ? right : *width;
    return y + 8;
}

void report_figure(const struct judgement *j, FILE *f)
{
    int width = RIGHT + 20;
    char *text = NULL;
    size_t length = 0;
    /* an SVG file begins with the size of the drawing, which is known only at the end, so the drawing goes to `body`
     * first */
    FILE *body = open_memstream(&text, &length);
    if (!body)
        exit(complain("out of memory"));
    double height = put_costs(j, put_changes(j, body), &width, body);
    if (fclose(body) != 0)
        exit(complain("out of memory"));
    height = height < 30 ? 30 : height;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" "
            "style=\"max-width:100%%;height:auto\" font-family=\"sans-serif\" font-size=\"11\">\n<rect "
            "width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n%s</svg>\n",
            width, height, width, height, text);
    free(text);
}
