/* SPDX-License-Identifier: MIT */
/* history.c: implements `neso bench --history DIR`, which stores the measurements of each commit in DIR, and writes a
 * page that shows them.
 *
 *     DIR/0001-3f2a91c.txt    a set, as --record writes it; a commit keeps its number when it is measured again
 *     DIR/0002-8d10be4.txt
 *     DIR/index.html          the times of each call and the costs of each kernel over the commits
 *
 * A series has the rows of one timed call or kernel, one row for each commit. pair.c finds the row of the
 * next commit, so the series continues if a kernel is renamed or specialized differently. A change point is
 * a row that differs from the row at the change point before it (the first change point: from the series'
 * first row). Because a row is not compared with the previous commit's row, a sequence of small changes in
 * one direction also leads to a change point:
 *
 *     registers  26 26 26 │ 40 40 │ 32 32
 *                          slower  faster */
#include "runtime/command/bench/bench.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct commit {
    long number;
    char name[64], file[NAME_MAX + 1];
    struct bench_set set;
};

/* A row of a series, and its comparison with the row at the change point before it. */
struct point {
    const struct bench_row *row; /* NULL: the series has no row at this commit */
    bool is_change;              /* the row is a change point */
    enum verdict verdict;
    char note[440];
};

struct series {
    const struct bench_row *last; /* the newest row of the series */
    struct point *points;         /* one for each commit */
    size_t nchanges;
};

struct history {
    size_t n, nseries, nchanges;
    struct commit *commits;
    struct series *series;
};

/* -- the files of the folder -- */

static int by_number(const void *a, const void *b)
{
    const struct commit *x = a, *y = b;
    return x->number != y->number ? (x->number > y->number) - (x->number < y->number)
                                  : strcmp(x->name, y->name);
}

/* Reads a file name of the form NUMBER-COMMIT.txt into *c; returns false for any other name. */
static bool read_name(const char *file, struct commit *c)
{
    char *end;
    size_t n = strlen(file);
    if (!isdigit((unsigned char)*file) || n < 7 || strcmp(file + n - 4, ".txt") != 0)
        return false;
    c->number = strtol(file, &end, 10);
    snprintf(c->file, sizeof c->file, "%s", file);
    snprintf(c->name, sizeof c->name, "%.*s", (int)(n - 4 - (size_t)(end + 1 - file)), end + 1);
    return *end == '-' && *c->name;
}

static int list_commits(struct history *h, const char *folder)
{
    DIR *d = opendir(folder);
    if (!d)
        return complain("cannot read %s: %s", folder, strerror(errno));
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        struct commit c = {.number = 0};
        if (!read_name(e->d_name, &c))
            continue;
        h->commits = grow(h->commits, (h->n + 1) * sizeof *h->commits);
        h->commits[h->n++] = c;
    }
    closedir(d);
    if (h->n)
        qsort(h->commits, h->n, sizeof *h->commits, by_number);
    return GOOD;
}

static int read_commits(struct history *h, const char *folder)
{
    int result = GOOD;
    for (size_t i = 0; i < h->n && result == GOOD; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", folder, h->commits[i].file);
        if (i)
            memcpy(h->commits[i].set.gpu, h->commits[0].set.gpu, sizeof h->commits[i].set.gpu);
        result = set_read(&h->commits[i].set, path);
    }
    return result;
}

/* -- the name of the present commit -- */

/* Sets `out` to the short name of git's HEAD; "" if there is no git, or no repository. */
static void ask_git(char *out, size_t n)
{
    char tool[PATH_MAX], answer[PATH_MAX];
    char *argv[] = {tool, (char[]){"rev-parse"}, (char[]){"--short=10"}, (char[]){"HEAD"}, NULL};
    size_t length = 0;
    *out = '\0';
    temporary_name(answer, sizeof answer);
    int file = mkstemp(answer);
    if (file < 0)
        return;
    close(file);
    char *text = find_tool("git", tool, sizeof tool) && tool_run(argv, answer) == GOOD
                     ? read_file(answer, &length)
                     : NULL;
    snprintf(out, n, "%.*s", text ? (int)strcspn(text, "\n") : 0, text ? text : "");
    free(text);
    unlink(answer);
}

/* Sets `out` to the name of the present commit: the value of --commit; without --commit, the value of the environment
 * variable GITHUB_SHA; without this variable, git's HEAD. Returns BAD after a message if there is no name. */
static int name_commit(const struct given *g, char *out, size_t n)
{
    const char *github = getenv("GITHUB_SHA"), *given = g->options[OPTION_commit];
    if (given)
        snprintf(out, n, "%s", given);
    else if (github && *github)
        snprintf(out, n, "%.10s", github);
    else
        ask_git(out, n);
    for (char *s = out; *s; s++)
        if (!isalnum((unsigned char)*s) && !strchr("._-", *s))
            *s = '-';
    return *out ? GOOD : complain("--history: git knows no commit of this folder: give --commit NAME");
}

/* Sets `out` to the path of the present commit's set: its existing file, or, if there is none, a new file with the
 * next number. */
static int find_path(const struct given *g, const char *folder, char *out, size_t n)
{
    struct history h = {.n = 0};
    char name[sizeof h.commits->name];
    long number = 1;
    if (name_commit(g, name, sizeof name) != GOOD || list_commits(&h, folder) != GOOD)
        return BAD;
    for (size_t i = 0; i < h.n; i++)
        number = h.commits[i].number >= number ? h.commits[i].number + 1 : number;
    for (size_t i = 0; i < h.n; i++)
        number = strcmp(h.commits[i].name, name) == 0 ? h.commits[i].number : number;
    snprintf(out, n, "%s/%04ld-%s.txt", folder, number, name);
    free(h.commits);
    return GOOD;
}

/* -- series -- */

static struct series *add_series(struct history *h)
{
    h->series = grow(h->series, (h->nseries + 1) * sizeof *h->series);
    struct series *s = &h->series[h->nseries++];
    *s = (struct series){.points = grow(NULL, h->n * sizeof *s->points)};
    memset(s->points, 0, h->n * sizeof *s->points);
    return s;
}

/* Returns the series whose newest row is r; NULL: there is none. */
static struct series *series_of(struct history *h, const struct bench_row *r)
{
    for (size_t i = 0; i < h->nseries && r; i++)
        if (h->series[i].last == r)
            return &h->series[i];
    return NULL;
}

/* Returns a series with the name of r that has no row at this commit yet; NULL if there is none. Such a series exists
 * if an earlier commit measured a row with this name, but the previous commit did not. */
static struct series *find_series(struct history *h, const struct bench_row *r, size_t commit)
{
    for (size_t i = 0; i < h->nseries; i++) {
        const struct bench_row *x = h->series[i].last;
        if (!h->series[i].points[commit].row && x->is_kernel == r->is_kernel && strcmp(x->name, r->name) == 0)
            return &h->series[i];
    }
    return NULL;
}

static void add_commit(struct history *h, size_t commit)
{
    static const struct bench_set none = {.n = 0};
    const struct bench_set *set = &h->commits[commit].set,
                           *before = commit ? &h->commits[commit - 1].set : &none;
    const struct bench_row **of_set = grow(NULL, (set->n + 1) * sizeof(*of_set));
    const struct bench_row **of_before = grow(NULL, (before->n + 1) * sizeof(*of_before));
    pair_rows(set, before, of_set, of_before);
    for (size_t i = 0; i < set->n; i++) {
        struct series *s = series_of(h, of_set[i]);
        s = s ? s : find_series(h, &set->rows[i], commit);
        s = s ? s : add_series(h);
        s->last = &set->rows[i];
        s->points[commit].row = s->last;
    }
    free(of_set);
    free(of_before);
}

/* -- change points -- */

/* Compares p's row with `base`, the row at the change point before it, and sets the other members of *p. */
static void judge_point(struct point *p, const struct bench_row *base, const struct bench_set *set,
                        const struct rules *rules)
{
    struct bench_row mine = *p->row, old = *base;
    struct bench_set candidate = {.clock_khz = set->clock_khz, .n = 1, .rows = &mine},
                     before = {.n = 1, .rows = &old};
    struct judgement j = {.n = 0};
    snprintf(candidate.gpu, sizeof candidate.gpu, "%s", set->gpu);
    /* the rows may have different names, although they belong to one series; with equal names, judge pairs
     * them */
    old.name = mine.name;
    judge(&j, &candidate, &before, rules);
    const struct judged *x = &j.rows[0];
    p->verdict = x->verdict;
    p->is_change = mine.is_kernel ? x->verdict != VERDICT_same || strstr(x->note, " -> ")
                                  : x->verdict == VERDICT_slower || x->verdict == VERDICT_faster;
    if (x->times.base > 0)
        snprintf(p->note, sizeof p->note, "%+.1f %% (%+.1f to %+.1f)", 100 * x->times.change,
                 100 * x->times.low, 100 * x->times.high);
    else
        snprintf(p->note, sizeof p->note, "%s", x->note);
    judgement_free(&j);
}

static void find_changes(struct history *h, const struct rules *rules)
{
    for (size_t k = 0; k < h->nseries; k++) {
        struct series *s = &h->series[k];
        const struct bench_row *base = NULL;
        for (size_t i = 0; i < h->n; i++) {
            struct point *p = &s->points[i];
            if (!p->row)
                continue;
            if (base)
                judge_point(p, base, &h->commits[i].set, rules);
            if (!base || p->is_change)
                base = p->row;
            s->nchanges += p->is_change;
        }
        h->nchanges += s->nchanges;
    }
}

/* -- the page -- */

static const char style[] =
    ":root { color-scheme: light dark; --back: #fbfbf9; --pane: #fff; --text: #1f2328; --dim: #6b7280; "
    "--line: #d9dce1;\n"
    "    --same: #3b7dc4; --slower: #cf222e; --faster: #1a7f37; --undecided: #9a6700; }\n"
    "@media (prefers-color-scheme: dark) { :root { --back: #14171b; --pane: #1b1f24; --text: #e3e6ea; --dim: "
    "#8b94a0;\n"
    "    --line: #333a43; --same: #6cb2ff; --slower: #ff7b72; --faster: #4cc27d; --undecided: #d9a95b; } }\n"
    "body { margin: 0 auto; max-width: 1280px; padding: 10px 16px; background: var(--back); color: "
    "var(--text);\n"
    "    font: 14px/1.45 system-ui, sans-serif; }\n"
    "h1 { font-size: 19px; } h2 { font-size: 15px; margin: 22px 0 4px; overflow-wrap: anywhere; } .dim { "
    "color: var(--dim); }\n"
    "table { border-collapse: collapse; font-size: 12.5px; } td, th { text-align: left; padding: 2px 12px "
    "2px 0;\n"
    "    border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: break-word; } th { color: "
    "var(--dim); font-weight: 500; }\n"
    ".scroll { overflow: auto; max-height: 420px; }\n"
    ".charts { display: flex; flex-wrap: wrap; gap: 10px; } .chart { background: var(--pane); border: 1px "
    "solid var(--line);\n"
    "    border-radius: 7px; padding: 6px 8px; } .chart div { font-size: 12px; } svg { display: block; }\n"
    "svg text { font-size: 10px; fill: var(--dim); } .slower { color: var(--slower); } .faster { color: "
    "var(--faster); }\n"
    ".undecided { color: var(--undecided); } .same { color: var(--dim); }\n";

static const char *class_of(enum verdict v)
{
    static const char *const words[] = {"same", "faster", "slower", "undecided"};
    return words[v];
}

static const char *word_of(enum verdict v)
{
    static const char *const words[] = {"changed", "faster", "slower", "costs more, within the bounds"};
    return words[v];
}

/* Sets *out to the value of a row that a chart shows: the cost named `cost`, or, if `cost` is NULL, the median time
 * in microseconds. Returns false if the row lacks this value. */
static bool find_value(const struct bench_row *r, const char *cost, double *out)
{
    const double *x = r && cost ? row_cost(r, cost) : NULL;
    if (r && !cost && r->values.n) {
        double *sorted = grow(NULL, r->values.n * sizeof *sorted);
        memcpy(sorted, r->values.at, r->values.n * sizeof *sorted);
        statistics_sort(sorted, r->values.n);
        *out = 1e3 * statistics_quantile(sorted, r->values.n, 0.5);
        free(sorted);
        return true;
    }
    if (x)
        *out = *x;
    return x != NULL;
}

enum { WIDTH = 380, HEIGHT = 90, LEFT = 54, EDGE = 12 };

/* Sets *low and *high to the lowest and highest value (find_value) in a series, and returns how many of its
 * rows have a value. */
static size_t find_range(const struct history *h, const struct series *s, const char *cost, double *low,
                         double *high)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++) {
        double v;
        if (!find_value(s->points[i].row, cost, &v))
            continue;
        *low = n ? fmin(*low, v) : v;
        *high = n ? fmax(*high, v) : v;
        n++;
    }
    return n;
}

static double across(const struct history *h, size_t i)
{
    return LEFT + (double)(WIDTH - LEFT - EDGE) * ((double)i + 0.5) / (double)h->n;
}

/* Writes a value of a chart; writes large values without an exponent. */
static void put_value(FILE *f, double v)
{
    if (fabs(v) >= 1e5)
        fprintf(f, "%.0f", v);
    else
        fprintf(f, "%.6g", v);
}

static void put_points(const struct history *h, const struct series *s, const char *cost, double bottom,
                       double top, FILE *f)
{
    double v, before = 0;
    for (size_t i = 0; i < h->n; i++) {
        const struct point *p = &s->points[i];
        if (!find_value(p->row, cost, &v))
            continue;
        double x = across(h, i),
               y = EDGE + (HEIGHT - 2 * EDGE) * (top > bottom ? (top - v) / (top - bottom) : 0.5);
        bool marked = p->is_change && (!cost || cost_differs(before, v));
        enum verdict verdict =
            marked && cost && rules_is_better(cost, before, v) ? VERDICT_faster : p->verdict;
        if (marked)
            fprintf(f,
                    "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"4\" y2=\"%d\" stroke=\"var(--%s)\" "
                    "stroke-dasharray=\"3 2\"/>",
                    x, x, HEIGHT - 2, verdict ? class_of(verdict) : "dim");
        fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"var(--%s)\"><title>", x, y,
                marked ? "4.5" : "2.5", marked && verdict ? class_of(verdict) : "same");
        put_xml(f, h->commits[i].name);
        fputs(": ", f);
        put_value(f, v);
        if (marked) {
            fprintf(f, ", %s: ", word_of(p->verdict));
            put_xml(f, p->note);
        }
        fputs("</title></circle>\n", f);
        before = v;
    }
}

static void put_chart(const struct history *h, const struct series *s, const char *cost, const char *words,
                      FILE *f)
{
    double low = 0, high = 0, v, last = 0;
    char separator = 'M';
    find_range(h, s, cost, &low, &high);
    double margin = high > low ? (high - low) * 0.1 : 1, bottom = low - margin, top = high + margin;
    for (size_t i = 0; i < h->n; i++)
        if (find_value(s->points[i].row, cost, &v))
            last = v;
    fprintf(f, "<div class=\"chart\"><div>%s <b>", words);
    put_value(f, last);
    fputs("</b></div>", f);
    fprintf(f, "<svg width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\">", WIDTH, HEIGHT, words);
    for (int i = 0; i < (high > low ? 2 : 1); i++) {
        double y = EDGE + (HEIGHT - 2 * EDGE) * ((top - (i ? low : high)) / (top - bottom));
        fprintf(f, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"var(--line)\"/>", LEFT, WIDTH,
                y, y);
        fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 4, y + 3);
        put_value(f, i ? low : high);
        fputs("</text>", f);
    }
    fputs("<path fill=\"none\" stroke=\"var(--same)\" d=\"", f);
    for (size_t i = 0; i < h->n; i++)
        if (find_value(s->points[i].row, cost, &v)) {
            fprintf(f, "%c%.1f,%.1f", separator, across(h, i),
                    EDGE + (HEIGHT - 2 * EDGE) * (top - v) / (top - bottom));
            separator = 'L';
        }
    fputs("\"/>\n", f);
    put_points(h, s, cost, bottom, top, f);
    fputs("</svg></div>\n", f);
}

/* Writes the part of the page about one series: a chart for each cost that changed, and one line that lists the other
 * costs. */
static void put_series(const struct history *h, const struct series *s, FILE *f)
{
    size_t n;
    const struct figure_cost *costs = figure_costs(&n);
    double low = 0, high = 0;
    const char *comma = "<div class=\"dim\">the same at all commits: ";
    fputs("<h2>", f);
    put_xml(f, s->last->name);
    fputs("</h2>\n<div class=\"dim\">", f);
    put_xml(f, s->last->file ? s->last->file : "");
    fprintf(f, ":%" PRIu32 "</div>\n", s->last->line);
    for (size_t k = 0; s->last->is_kernel && k < n; k++)
        if (find_range(h, s, costs[k].name, &low, &high) && !cost_differs(low, high)) {
            fprintf(f, "%s%s ", comma, costs[k].words);
            put_value(f, high);
            comma = ", ";
        }
    fputs(*comma == ',' ? "</div>\n<div class=\"charts\">\n" : "<div class=\"charts\">\n", f);
    if (!s->last->is_kernel)
        put_chart(h, s, NULL, "microseconds", f);
    for (size_t k = 0; s->last->is_kernel && k < n; k++)
        if (find_range(h, s, costs[k].name, &low, &high) && cost_differs(low, high))
            put_chart(h, s, costs[k].name, costs[k].words, f);
    fputs("</div>\n", f);
}

/* Writes the table of change points, the newest first. */
static void put_changes(const struct history *h, FILE *f)
{
    fputs("<div class=\"scroll\"><table><tr><th>commit</th><th>call or kernel</th><th></th><th>what "
          "changed</th></tr>\n",
          f);
    for (size_t i = h->n; i-- > 0;)
        for (size_t k = 0; k < h->nseries; k++) {
            const struct point *p = &h->series[k].points[i];
            if (!p->is_change)
                continue;
            fputs("<tr><td>", f);
            put_xml(f, h->commits[i].name);
            fputs("</td><td>", f);
            put_xml(f, p->row->name);
            fprintf(f, "</td><td class=\"%s\">%s</td><td>", class_of(p->verdict), word_of(p->verdict));
            put_xml(f, p->note);
            fputs("</td></tr>\n", f);
        }
    fputs("</table></div>\n", f);
}

static int write_page(const struct history *h, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return complain("cannot write %s: %s", path, strerror(errno));
    fprintf(f,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>neso bench: "
            "history</title>\n"
            "<style>\n%s</style></head><body>\n<h1>neso bench: history</h1>\n<p>",
            style);
    put_xml(f, h->n && strcmp(h->commits[0].set.gpu, "none") != 0 ? h->commits[0].set.gpu
                                                                  : "Costs without a GPU");
    fprintf(f, ": %zu commit%s, %zu calls and kernels, %zu change point%s.", h->n, h->n == 1 ? "" : "s",
            h->nseries, h->nchanges, h->nchanges == 1 ? "" : "s");
    if (h->n) {
        fputs(" From ", f);
        put_xml(f, h->commits[0].name);
        fputs(" to ", f);
        put_xml(f, h->commits[h->n - 1].name);
        fputs(", from left to right. A dashed line is a change point: there a value differs, by the rules of "
              "<code>neso help "
              "bench</code>, from the value at the change point before.",
              f);
    }
    fputs("</p>\n", f);
    if (h->nchanges)
        put_changes(h, f);
    for (int changed = 1; changed >= 0; changed--)
        for (size_t k = 0; k < h->nseries; k++)
            if ((h->series[k].nchanges > 0) == changed)
                put_series(h, &h->series[k], f);
    fputs("</body></html>\n", f);
    bool good = !ferror(f);
    if (fclose(f) != 0)
        good = false;
    return good ? GOOD : complain("cannot write %s: %s", path, strerror(errno));
}

/* -- the command -- */

static void history_free(struct history *h)
{
    for (size_t k = 0; k < h->nseries; k++)
        free(h->series[k].points);
    free(h->series);
    for (size_t i = 0; i < h->n; i++)
        set_free(&h->commits[i].set);
    free(h->commits);
}

int history_check(const struct given *g)
{
    char name[sizeof((struct commit *)0)->name];
    return name_commit(g, name, sizeof name);
}

int history_add(const struct given *g, const struct bench_set *set)
{
    char path[PATH_MAX];
    const char *folder = g->options[OPTION_history];
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return complain("cannot make the folder %s: %s", folder, strerror(errno));
    return find_path(g, folder, path, sizeof path) == GOOD ? set_write(set, path) : BAD;
}

int history_show(const struct given *g, const struct rules *rules)
{
    struct history h = {.n = 0};
    char path[PATH_MAX];
    const char *folder = g->options[OPTION_history];
    int result = list_commits(&h, folder);
    if (result == GOOD)
        result = read_commits(&h, folder);
    for (size_t i = 0; i < h.n && result == GOOD; i++)
        add_commit(&h, i);
    if (result == GOOD) {
        find_changes(&h, rules);
        snprintf(path, sizeof path, "%s/index.html", folder);
        result = write_page(&h, path);
    }
    if (result == GOOD)
        printf("%s: %zu commit%s, %zu change point%s\n", path, h.n, h.n == 1 ? "" : "s", h.nchanges,
               h.nchanges == 1 ? "" : "s");
    history_free(&h);
    return result;
}
