/* SPDX-License-Identifier: MIT */
/* terminal.c: prints what only a terminal shows: messages in colours, and a line of progress during work that lasts
 * longer than a second.
 *
 *     add.py:3:9: error: name 'x' is not defined [name]     the place bold, the kind red (warning: magenta, note: cyan,
 *         3 |     return x                                  hint: green), the carets green
 *           |            ^
 */
#include "runtime/command/command.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BOLD "\033[1m"
#define RED "\033[1;31m"
#define GREEN "\033[1;32m"
#define MAGENTA "\033[1;35m"
#define CYAN "\033[1;36m"
#define PLAIN "\033[0m"

static bool is_terminal(FILE *to)
{
    const char *kind = getenv("TERM");
    return isatty(fileno(to)) && !(kind && strcmp(kind, "dumb") == 0);
}

bool has_colours(const struct given *g, FILE *to)
{
    const char *when = g->options[OPTION_color], *none = getenv("NO_COLOR");
    if (when && strcmp(when, "auto") != 0)
        return strcmp(when, "always") == 0;
    return is_terminal(to) && !(none && *none);
}

bool check_colour(const struct given *g)
{
    const char *when = g->options[OPTION_color];
    return !when || strcmp(when, "auto") == 0 || strcmp(when, "always") == 0 || strcmp(when, "never") == 0 ||
           (complain("--color: expected auto, always or never, found '%s'", when), false);
}

/* -- messages -- */

static const struct {
    const char *word, *colour;
} kinds[] = {{"error: ", RED}, {"warning: ", MAGENTA}, {"note: ", CYAN}, {"hint: ", GREEN}};

/* Returns whether a line of n bytes marks columns of a source line by carets: " | ^~~". */
static bool is_caret(const char *line, size_t n)
{
    size_t i = 0;
    while (i < n && line[i] == ' ')
        i++;
    if (i == n || line[i++] != '|')
        return false;
    size_t from = i;
    while (i < n && strchr(" ^~", line[i]))
        i++;
    return i == n && i > from;
}

static void put_line(const char *line, size_t n)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const char *at = strstr(line, kinds[k].word);
        size_t place = at ? (size_t)(at - line) : n;
        /* the kind of a message ("error") is at the start of the line, or after a source location, which ends in ":
         * " */
        if (place < n && (place == 0 || (place > 2 && at[-2] == ':'))) {
            size_t word = strlen(kinds[k].word) - 1;
            fprintf(stderr, BOLD "%.*s" PLAIN "%s%.*s" PLAIN "%.*s\n", (int)place, line, kinds[k].colour,
                    (int)word, at, (int)(n - place - word), at + word);
            return;
        }
    }
    if (is_caret(line, n)) {
        size_t bar = strcspn(line, "|") + 1;
        fprintf(stderr, "%.*s" GREEN "%.*s" PLAIN "\n", (int)bar, line, (int)(n - bar), line + bar);
    } else {
        fprintf(stderr, "%.*s\n", (int)n, line);
    }
}

void print_messages(const struct given *g, const char *text)
{
    if (g->options[OPTION_json] || !has_colours(g, stderr)) {
        fputs(text, stderr);
        return;
    }
    for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        put_line(line, (size_t)(end - line));
    }
}

/* -- progress -- */

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void progress_begin(struct progress *p)
{
    *p = (struct progress){.started = now_seconds(), .is_on = is_terminal(stderr)};
}

void progress_show(struct progress *p, const char *format, ...)
{
    const double patience = 1, interval = 0.1;
    char text[120];
    double now = p->is_on ? now_seconds() : 0;
    if (!p->is_on || now - p->started < patience || now - p->shown < interval)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fflush(stdout);
    fprintf(stderr, "\r\033[Kneso: %s, %.0f s", text, now - p->started);
    p->shown = now;
    p->is_shown = true;
}

void progress_clear(struct progress *p)
{
    if (p->is_shown)
        fputs("\r\033[K", stderr);
    p->is_shown = false;
}
