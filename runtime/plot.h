/* plot.h: a line plot as SVG text: axes with ticks, linear or logarithmic, bands, a legend. */
#ifndef NESO_RUNTIME_PLOT_H
#define NESO_RUNTIME_PLOT_H

#include "ir/text.h"

#include <stdbool.h>

struct plot_line {
    const char *name;
    const char *color, *dash; /* matplotlib's words: "blue", "g", "--"; NULL: the next of a cycle, solid */
};

struct plot {
    const char *xlabel, *ylabel;
    bool x_log, y_log;
    int nlines, npoints;
    struct plot_line *lines;
    double *x;              /* [point] */
    double *y, *low, *high; /* [point][line]; not finite: absent */
};

void plot_svg(const struct plot *p, struct text *out);

#endif
