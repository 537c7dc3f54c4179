/* plot.c: a benchmark's lines as a figure for a paper: SVG of 480 by 320 points, that any browser, Inkscape or LaTeX takes.
 *
 *     y │        ╱ b       Places are computed once per axis (struct axis: value to point, and where its ticks are),
 *       │   ╱╱──╱  a       then the frame, grid, bands, lines and legend are written from back to front.
 *       └───┴────┴── x
 */
#include "runtime/plot.h"

#include <math.h>
#include <string.h>

enum {
    WIDTH = 480,
    HEIGHT = 320,
    LEFT = 62,
    RIGHT = 14,
    TOP = 14,
    BOTTOM = 46,
    TICKS_MAX = 24,
    TICK = 4,
    LEGEND_ROW = 16
};

struct axis {
    bool is_log, has_powers; /* has_powers: ticks are powers of ten */
    double low, high;        /* of the frame; logarithms where is_log */
    double from, to;         /* in points */
    int nticks;
    double ticks[TICKS_MAX]; /* values */
};

static double place(const struct axis *a, double value)
{
    double v = a->is_log ? log2(value) : value;
    return a->from + (v - a->low) / (a->high - a->low) * (a->to - a->from);
}

static bool fits(const struct axis *a, double value)
{
    return isfinite(value) && (!a->is_log || value > 0);
}

/* -- choosing ticks -- */

/* Steps of 1, 2 or 5 times a power of ten: five or so. */
static void linear_ticks(struct axis *a)
{
    double span = a->high - a->low, unit = pow(10, floor(log10(span / 5)));
    double step = span / unit <= 7    ? unit
                  : span / unit <= 14 ? 2 * unit
                  : span / unit <= 35 ? 5 * unit
                                      : 10 * unit;
    for (double i = ceil(a->low / step - 1e-9); i * step <= a->high + 1e-9 * span && a->nticks < TICKS_MAX;
         i++)
        a->ticks[a->nticks++] = i * step + 0.0; /* -0 is 0 */
}

/* Powers of two, or of ten where these would be many. */
static void log_ticks(struct axis *a)
{
    double by = a->high - a->low <= 13 ? 1 : log2(10);
    a->has_powers = by != 1;
    while ((a->high - a->low) / by > 13)
        by *= 2;
    for (double i = ceil(a->low / by - 1e-9); i * by <= a->high + 1e-9 && a->nticks < TICKS_MAX; i++)
        a->ticks[a->nticks++] = by == 1 ? ldexp(1, (int)i) : pow(2, i * by);
}

static void extend(const struct axis *a, double value, double *low, double *high)
{
    if (!fits(a, value))
        return;
    double v = a->is_log ? log2(value) : value;
    *low = v < *low ? v : *low;
    *high = v > *high ? v : *high;
}

/* The frame: a little wider than the data; a linear y axis that starts near 0 starts at 0. */
static void close_axis(struct axis *a, double low, double high, bool from_zero)
{
    if (low > high)
        low = 0, high = 1;
    if (from_zero && !a->is_log && low > 0 && low < 0.6 * high)
        low = 0;
    double room = high > low ? (high - low) * 0.04 : a->is_log ? 1 : fabs(high) * 0.5 + 0.5;
    a->low = from_zero && low == 0 && !a->is_log ? 0 : low - room;
    a->high = high + room;
    if (a->is_log)
        log_ticks(a);
    else
        linear_ticks(a);
}

static struct axis x_axis(const struct plot *p)
{
    struct axis a = {.is_log = p->x_log, .from = LEFT, .to = WIDTH - RIGHT};
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->npoints; i++)
        extend(&a, p->x[i], &low, &high);
    close_axis(&a, low, high, false);
    return a;
}

static struct axis y_axis(const struct plot *p)
{
    struct axis a = {.is_log = p->y_log, .from = HEIGHT - BOTTOM, .to = TOP};
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < p->npoints * p->nlines; i++) {
        extend(&a, p->y[i], &low, &high);
        extend(&a, p->low[i], &low, &high);
        extend(&a, p->high[i], &low, &high);
    }
    close_axis(&a, low, high, true);
    return a;
}

/* -- writing -- */

static void escaped(struct text *out, const char *s)
{
    for (; *s; s++) {
        const char *name = *s == '<'   ? "&lt;"
                           : *s == '>' ? "&gt;"
                           : *s == '&' ? "&amp;"
                           : *s == '"' ? "&quot;"
                                       : NULL;
        if (name)
            text_str(out, name);
        else
            text_char(out, *s);
    }
}

/* A tick's number: 0.25, 4096; 2 × 10⁻⁵ where digits would be many, and 10⁴ where all ticks are powers of ten. */
static void tick_text(struct text *out, const struct axis *a, double x)
{
    bool is_power = a->has_powers && x > 0;
    if (!is_power && fabs(x) < 1e6 && (x == 0 || fabs(x) >= 1e-4)) {
        text_printf(out, "%.*g", fabs(x) < 1e4 ? 4 : 8, x);
        return;
    }
    int power = (int)floor(log10(fabs(x)) + 1e-9);
    double factor = x / pow(10, power);
    if (fabs(factor - 1) > 1e-6)
        text_printf(out, "%.3g&#215;", factor);
    text_printf(out, "10<tspan dy=\"-4\" font-size=\"7.5\">%d</tspan>", power);
}

static const char *color_of(const struct plot *p, int line)
{
    static const char *const cycle[] = {"#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd",
                                        "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf"};
    static const struct {
        const char *word, *color;
    } short_words[] = {{"b", "#0000ff"}, {"g", "#008000"}, {"r", "#ff0000"}, {"c", "#00bfbf"},
                       {"m", "#bf00bf"}, {"y", "#bfbf00"}, {"k", "#000000"}};
    const char *word = p->lines[line].color;
    if (!word || !*word)
        return cycle[line % 10];
    for (size_t i = 0; i < sizeof short_words / sizeof *short_words; i++)
        if (strcmp(short_words[i].word, word) == 0)
            return short_words[i].color;
    if (word[0] == 'C' && word[1] >= '0' && word[1] <= '9')
        return cycle[word[1] - '0'];
    return strncmp(word, "tab:", 4) == 0 ? word + 4 : word;
}

static void stroke(const struct plot *p, int line, struct text *out)
{
    const char *dash = p->lines[line].dash ? p->lines[line].dash : "-";
    text_str(out, " fill=\"none\" stroke-width=\"1.6\" stroke-linejoin=\"round\" stroke=\"");
    escaped(out, color_of(p, line));
    text_char(out, '"');
    if (strcmp(dash, "--") == 0)
        text_str(out, " stroke-dasharray=\"6,3\"");
    else if (strcmp(dash, "-.") == 0)
        text_str(out, " stroke-dasharray=\"7,3,1.5,3\"");
    else if (strcmp(dash, ":") == 0)
        text_str(out, " stroke-dasharray=\"1.5,2.5\"");
}

static void draw_x_axis(const struct axis *a, const char *label, struct text *out)
{
    for (int i = 0; i < a->nticks; i++) {
        double at = place(a, a->ticks[i]);
        text_printf(out, "<path d=\"M%.2f %d V%d\" stroke=\"#e4e4e4\" stroke-width=\"0.6\"/>\n", at, TOP,
                    HEIGHT - BOTTOM);
        text_printf(out, "<path d=\"M%.2f %d v%d\" stroke=\"black\" stroke-width=\"0.8\"/>\n", at,
                    HEIGHT - BOTTOM, TICK);
        text_printf(out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">", at, HEIGHT - BOTTOM + 16);
        tick_text(out, a, a->ticks[i]);
        text_str(out, "</text>\n");
    }
    text_printf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"12\">",
                (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 9);
    escaped(out, label);
    text_str(out, "</text>\n");
}

static void draw_y_axis(const struct axis *a, const char *label, struct text *out)
{
    for (int i = 0; i < a->nticks; i++) {
        double at = place(a, a->ticks[i]);
        text_printf(out, "<path d=\"M%d %.2f H%d\" stroke=\"#e4e4e4\" stroke-width=\"0.6\"/>\n", LEFT, at,
                    WIDTH - RIGHT);
        text_printf(out, "<path d=\"M%d %.2f h%d\" stroke=\"black\" stroke-width=\"0.8\"/>\n", LEFT, at,
                    -TICK);
        text_printf(out, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">", LEFT - 7, at + 3.5);
        tick_text(out, a, a->ticks[i]);
        text_str(out, "</text>\n");
    }
    int middle = (TOP + HEIGHT - BOTTOM) / 2;
    text_printf(
        out,
        "<text x=\"14\" y=\"%d\" text-anchor=\"middle\" font-size=\"12\" transform=\"rotate(-90 14 %d)\">",
        middle, middle);
    escaped(out, label);
    text_str(out, "</text>\n");
}

/* Between the low and the high of a line, where it has them. */
static void draw_band(const struct plot *p, const struct axis *x, const struct axis *y, int line,
                      struct text *out)
{
    int n = 0;
    struct text path;
    text_init(&path, out->arena);
    for (int i = 0; i < 2 * p->npoints; i++) {
        int k = i < p->npoints ? i : 2 * p->npoints - 1 - i;
        double value = (i < p->npoints ? p->low : p->high)[k * p->nlines + line];
        if (fits(x, p->x[k]) && fits(y, value))
            text_printf(&path, "%s%.2f,%.2f", n++ ? " " : "", place(x, p->x[k]), place(y, value));
    }
    if (n < 4)
        return;
    text_printf(out, "<polygon points=\"%s\" fill-opacity=\"0.15\" fill=\"", path.s);
    escaped(out, color_of(p, line));
    text_str(out, "\"/>\n");
}

static void draw_line(const struct plot *p, const struct axis *x, const struct axis *y, int line,
                      struct text *out)
{
    int n = 0;
    text_str(out, "<polyline");
    stroke(p, line, out);
    text_str(out, " points=\"");
    for (int i = 0; i < p->npoints; i++) {
        double value = p->y[i * p->nlines + line];
        if (fits(x, p->x[i]) && fits(y, value))
            text_printf(out, "%s%.2f,%.2f", n++ ? " " : "", place(x, p->x[i]), place(y, value));
    }
    text_str(out, "\"/>\n");
}

/* -- the legend, in the corner with the fewest points -- */

struct box {
    double x, y, width, height;
};

static int points_in(const struct plot *p, const struct axis *x, const struct axis *y, const struct box *b)
{
    int n = 0;
    for (int i = 0; i < p->npoints * p->nlines; i++) {
        if (!fits(x, p->x[i / p->nlines]) || !fits(y, p->y[i]))
            continue;
        double px = place(x, p->x[i / p->nlines]), py = place(y, p->y[i]);
        n += px >= b->x - 4 && px <= b->x + b->width + 4 && py >= b->y - 4 && py <= b->y + b->height + 4;
    }
    return n;
}

static struct box legend_box(const struct plot *p, const struct axis *x, const struct axis *y)
{
    size_t longest = 0;
    for (int i = 0; i < p->nlines; i++) {
        size_t n = strlen(p->lines[i].name);
        longest = n > longest ? n : longest;
    }
    struct box best = {0};
    int fewest = 0;
    for (int corner = 0; corner < 4; corner++) {
        struct box b = {.width = 42 + 6.0 * (double)longest, .height = LEGEND_ROW * p->nlines + 6};
        b.x = corner % 2 ? WIDTH - RIGHT - 8 - b.width : LEFT + 8;
        b.y = corner / 2 ? HEIGHT - BOTTOM - 8 - b.height : TOP + 8;
        int n = points_in(p, x, y, &b);
        if (corner == 0 || n < fewest) {
            best = b;
            fewest = n;
        }
    }
    return best;
}

static void draw_legend(const struct plot *p, const struct axis *x, const struct axis *y, struct text *out)
{
    struct box b = legend_box(p, x, y);
    text_printf(out,
                "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" rx=\"2\" fill=\"white\" "
                "fill-opacity=\"0.85\" stroke=\"#cccccc\" stroke-width=\"0.8\"/>\n",
                b.x, b.y, b.width, b.height);
    for (int i = 0; i < p->nlines; i++) {
        double at = b.y + 3 + LEGEND_ROW * (i + 0.5);
        text_printf(out, "<path d=\"M%.2f %.2f h22\"", b.x + 7, at);
        stroke(p, i, out);
        text_printf(out, "/>\n<text x=\"%.2f\" y=\"%.2f\">", b.x + 35, at + 3.5);
        escaped(out, p->lines[i].name);
        text_str(out, "</text>\n");
    }
}

void plot_svg(const struct plot *p, struct text *out)
{
    struct axis x = x_axis(p), y = y_axis(p);
    text_printf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%dpt\" height=\"%dpt\" viewBox=\"0 0 %d %d\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"10.5\">\n",
        WIDTH, HEIGHT, WIDTH, HEIGHT);
    text_printf(out, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", WIDTH, HEIGHT);
    draw_x_axis(&x, p->xlabel, out);
    draw_y_axis(&y, p->ylabel, out);
    text_printf(out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"black\" "
                "stroke-width=\"0.8\"/>\n",
                LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    for (int i = 0; i < p->nlines; i++)
        draw_band(p, &x, &y, i, out);
    for (int i = 0; i < p->nlines; i++)
        draw_line(p, &x, &y, i, out);
    draw_legend(p, &x, &y, out);
    text_str(out, "</svg>\n");
}
