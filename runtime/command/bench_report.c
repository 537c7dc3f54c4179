/* SPDX-License-Identifier: MIT */
/* bench_report.c: writes a judgement for people (table, Markdown, figure) and for programs (JSON, Google
 * Benchmark's JSON, JUnit's XML, GitHub's annotations). Characters of names and notes that have a meaning in
 * a format are escaped. */
#include "runtime/command/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *word_of(const struct judged *x)
{
    return x->base ? verdict_words[x->verdict] : "NEW";
}

static double median_ms(const struct bench_row *r)
{
    return r->values.n ? r->values.at[r->values.n / 2] : 0;
}

/* The candidate's median: that of the comparison if there is one, so that all outputs agree. */
static double now_ms(const struct judged *x)
{
    return x->times.candidate > 0 ? x->times.candidate : median_ms(x->row);
}

static void put_ms(FILE *f, double ms)
{
    if (ms < 1)
        fprintf(f, "%.2f us", ms * 1e3);
    else
        fprintf(f, "%.4g ms", ms);
}

/* "3.1 % slower, 1.23 ms -> 1.27 ms" or the note. */
static void put_reason(FILE *f, const struct judged *x)
{
    if (x->times.base > 0) {
        fprintf(f, "%.1f %% %s, ", 100 * fabs(x->times.change), x->times.change > 0 ? "slower" : "faster");
        put_ms(f, x->times.base);
        fputs(" -> ", f);
        put_ms(f, x->times.candidate);
        fprintf(f, ", 99 %% interval %+.1f to %+.1f %%", 100 * x->times.low, 100 * x->times.high);
    }
    if (*x->note)
        fprintf(f, "%s%s", x->times.base > 0 ? "; " : "", x->note);
}

static const char *state_word(const struct bound *b)
{
    static const char *const words[] = {"kept", "broken", "not counted"};
    return words[b->state];
}

/* "softmax_kernel: registers <= 32, found 40" */
static void put_bound(FILE *f, const struct bound *b)
{
    fprintf(f, "%s: %s <= %.9g", b->kernel, b->cost, b->most);
    if (b->state != BOUND_unknown)
        fprintf(f, ", found %.9g", b->found);
    else
        fprintf(f, ", which nothing here counted%s",
                strncmp(b->cost, "run.", 4) == 0 ? " (--counts does)" : "");
}

/* -- the table -- */

static void put_time(FILE *f, const struct judged *x, int width)
{
    fprintf(f, "%-9s  %-*s  ", word_of(x), width, x->row->name);
    if (x->times.base > 0)
        fprintf(f, "%10.5f  %10.5f  %+6.1f %%  %+6.1f to %+.1f %%", x->times.base, now_ms(x),
                100 * x->times.change, 100 * x->times.low, 100 * x->times.high);
    else
        fprintf(f, "%10s  %10.5f", "", now_ms(x));
    if (x->same_key)
        fputs("  same PTX", f);
    if (x->row->ndropped)
        fprintf(f, "  %zu of %zu calls dropped: the clock was held down", x->row->ndropped,
                x->row->nmeasured);
    fprintf(f, "%s%s\n", *x->note ? "  " : "", x->note);
}

static void put_costs(FILE *f, const struct judged *x, int width)
{
    static const char *const shown[] = {"registers", "spill_bytes", "shared_bytes", "instructions",
                                        "bytes_per_access"};
    fprintf(f, "%-9s  %-*s", word_of(x), width, x->row->name);
    for (int i = 0; i < (int)(sizeof shown / sizeof *shown); i++) {
        const double *cost = row_cost(x->row, shown[i]);
        if (cost)
            fprintf(f, "  %*.4g", (int)strlen(shown[i]), *cost);
        else
            fprintf(f, "  %*s", (int)strlen(shown[i]), "-");
    }
    fprintf(f, "%s%s\n", *x->note ? "  " : "", x->note);
}

static void put_rows(const struct judgement *j, bool kernels, FILE *f)
{
    size_t width = 6, n = 0;
    for (size_t i = 0; i < j->n; i++) {
        const struct bench_row *r = j->rows[i].row;
        n += r->is_kernel == kernels;
        if (r->is_kernel == kernels && strlen(r->name) > width)
            width = strlen(r->name);
    }
    if (n && kernels)
        fprintf(f, "%s%-9s  %-*s  registers  spill_bytes  shared_bytes  instructions  bytes_per_access\n",
                n < j->n ? "\n" : "", "", (int)width, "kernel");
    else if (n)
        fprintf(f, "%-9s  %-*s  %10s  %10s\n", "", (int)width, "call", j->has_base ? "base ms" : "", "ms");
    for (size_t i = 0; i < j->n; i++)
        if (j->rows[i].row->is_kernel == kernels)
            (kernels ? put_costs : put_time)(f, &j->rows[i], (int)width);
}

void report_table(const struct judgement *j, FILE *f)
{
    put_rows(j, false, f);
    put_rows(j, true, f);
    for (size_t i = 0; i < j->nmissing; i++)
        fprintf(f, "MISSING    %s  stands in the base, and was not measured now\n", j->missing[i]->name);
    for (size_t i = 0; i < j->nbounds; i++) {
        fprintf(f, "%s:%" PRIu32 ": bound %s: ", j->bounds[i].file, j->bounds[i].line,
                state_word(&j->bounds[i]));
        put_bound(f, &j->bounds[i]);
        fputc('\n', f);
    }
    fprintf(f, "\n%s: %zu same, %zu faster, %zu slower, %zu undecided", j->candidate->gpu,
            j->counts[VERDICT_same], j->counts[VERDICT_faster], j->counts[VERDICT_slower],
            j->counts[VERDICT_undecided]);
    if (j->nmissing)
        fprintf(f, ", %zu missing%s", j->nmissing, j->allow_missing ? " (allowed)" : "");
    fprintf(f, "%s\n", j->has_base ? "" : "; nothing to compare with");
    if (j->lacking)
        fprintf(f, "%s stands in the base, and was not measured now: %s\n", j->lacking,
                strncmp(j->lacking, "run.", 4) == 0 ? "give --counts" : "ptxas did not run, or failed");
}

/* -- GitHub's annotations -- */

static void put_property(FILE *f, const char *s)
{
    for (; *s; s++)
        if (strchr("%:,", *s))
            fprintf(f, "%%%02X", (unsigned)*s);
        else
            fputc(*s, f);
}

static void begin_warning(FILE *f, const char *file, uint32_t line)
{
    fputs("::warning ", f);
    if (file) {
        fputs("file=", f);
        put_property(f, file);
    }
    if (file && line)
        fprintf(f, ",line=%" PRIu32, line);
    fputs("::", f);
}

void report_annotations(const struct judgement *j, FILE *f)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct judged *x = &j->rows[i];
        if (x->verdict != VERDICT_slower && x->verdict != VERDICT_undecided)
            continue;
        begin_warning(f, x->row->file, x->line ? x->line : x->row->line);
        fprintf(f, "%s %s: ", x->row->name, word_of(x));
        put_reason(f, x);
        fputc('\n', f);
    }
    for (size_t i = 0; i < j->nmissing; i++) {
        begin_warning(f, j->missing[i]->file, 0);
        fprintf(f, "%s MISSING: it stands in the base, and was not measured now\n", j->missing[i]->name);
    }
    for (size_t i = 0; i < j->nbounds; i++) {
        if (j->bounds[i].state == BOUND_kept)
            continue;
        begin_warning(f, j->bounds[i].file, j->bounds[i].line);
        put_bound(f, &j->bounds[i]);
        fputc('\n', f);
    }
}

/* -- JSON -- */

static void put_string(FILE *f, const char *s)
{
    fputc('"', f);
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < ' ')
            fprintf(f, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, f);
    fputc('"', f);
}

static void put_word(FILE *f, const char *key, const char *value)
{
    fprintf(f, "\"%s\": ", key);
    put_string(f, value);
}

static void put_numbers(FILE *f, const char *key, const struct numbers *x)
{
    fprintf(f, ", \"%s\": [", key);
    for (size_t i = 0; i < x->n; i++)
        fprintf(f, "%s%.6g", i ? ", " : "", x->at[i]);
    fputc(']', f);
}

static void put_json_row(FILE *f, const struct judged *x)
{
    const struct bench_row *r = x->row;
    fputs("  {", f);
    put_word(f, "name", r->name);
    fputs(", ", f);
    if (x->base) {
        put_word(f, "base", x->base->name);
        fputs(", ", f);
    }
    put_word(f, "kind", r->is_kernel ? "kernel" : "time");
    fputs(", ", f);
    put_word(f, "verdict", word_of(x));
    fputs(", ", f);
    put_word(f, "file", r->file ? r->file : "");
    fprintf(f, ", \"line\": %" PRIu32 ", \"key\": \"%016" PRIx64 "\", \"same_key\": %s, ", r->line, r->key,
            x->same_key ? "true" : "false");
    put_word(f, "note", x->note);
    if (x->times.base > 0)
        fprintf(
            f,
            ", \"base_ms\": %.6g, \"change\": %.6g, \"change_low\": %.6g, \"change_high\": %.6g, \"p\": %.3g",
            x->times.base, x->times.change, x->times.low, x->times.high, x->times.p);
    if (!r->is_kernel) {
        fprintf(f, ", \"ms\": %.6g, \"calls\": %zu, \"dropped\": %zu", now_ms(x), r->nmeasured, r->ndropped);
        put_numbers(f, "stretches_ms", &r->stretches);
        put_numbers(f, "quantiles_ms", &r->values);
    }
    fputs(", \"costs\": {", f);
    for (size_t i = 0; i < r->ncosts; i++)
        fprintf(f, "%s\"%s\": %.9g", i ? ", " : "", r->costs[i].name, r->costs[i].value);
    fputs("}}", f);
}

static void write_json(const struct judgement *j, FILE *f)
{
    fputs("{\"schema\": \"neso-bench-1\", ", f);
    put_word(f, "gpu", j->candidate->gpu);
    fprintf(f, ", \"clock_khz\": %d, \"status\": %d,\n \"rows\": [\n", j->candidate->clock_khz,
            judgement_status(j));
    for (size_t i = 0; i < j->n; i++) {
        put_json_row(f, &j->rows[i]);
        fputs(i + 1 < j->n ? ",\n" : "\n", f);
    }
    fputs(" ],\n \"missing\": [", f);
    for (size_t i = 0; i < j->nmissing; i++) {
        fputs(i ? ", " : "", f);
        put_string(f, j->missing[i]->name);
    }
    fputs("],\n \"bounds\": [", f);
    for (size_t i = 0; i < j->nbounds; i++) {
        const struct bound *b = &j->bounds[i];
        fputs(i ? ",\n  {" : "\n  {", f);
        put_word(f, "file", b->file);
        fprintf(f, ", \"line\": %" PRIu32 ", ", b->line);
        put_word(f, "kernel", b->kernel);
        fputs(", ", f);
        put_word(f, "cost", b->cost);
        fprintf(f, ", \"most\": %.9g, \"found\": %.9g, ", b->most, b->found);
        put_word(f, "state", state_word(b));
        fputc('}', f);
    }
    fputs("]}\n", f);
}

/* Writes each stretch as a repetition, so that tools that compare such files have enough repetitions for their
 * statistical tests. */
static void write_google(const struct judgement *j, FILE *f)
{
    bool any = false;
    fputs("{\"context\": {", f);
    put_word(f, "executable", "neso bench");
    fputs(", ", f);
    put_word(f, "host_name", j->candidate->gpu);
    fprintf(
        f, ", \"num_cpus\": 1, \"mhz_per_cpu\": %d, \"library_build_type\": \"release\"},\n\"benchmarks\": [",
        j->candidate->clock_khz / 1000);
    for (size_t i = 0; i < j->n; i++) {
        const struct bench_row *r = j->rows[i].row;
        for (size_t k = 0; k < r->stretches.n; k++) {
            fputs(any ? ",\n{" : "\n{", f);
            any = true;
            put_word(f, "name", r->name);
            fputs(", ", f);
            put_word(f, "run_name", r->name);
            fprintf(f,
                    ", \"run_type\": \"iteration\", \"family_index\": %zu, \"per_family_instance_index\": 0, "
                    "\"repetitions\": %zu, \"repetition_index\": %zu, \"threads\": 1, \"iterations\": %zu, "
                    "\"real_time\": %.9g, \"cpu_time\": %.9g, \"time_unit\": \"ms\"}",
                    i, r->stretches.n, k, (r->nmeasured - r->ndropped) / r->stretches.n, r->stretches.at[k],
                    r->stretches.at[k]);
        }
    }
    fputs("]}\n", f);
}

/* -- XML -- */

static void put_xml(FILE *f, const char *s)
{
    for (; *s; s++)
        switch (*s) {
        case '&': fputs("&amp;", f); break;
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '"': fputs("&quot;", f); break;
        default: fputc((unsigned char)*s < ' ' ? ' ' : *s, f);
        }
}

static void put_case(FILE *f, const struct judged *x)
{
    const char *element = x->verdict == VERDICT_slower      ? "failure"
                          : x->verdict == VERDICT_undecided ? "skipped"
                                                            : NULL;
    fprintf(f, "  <testcase classname=\"neso.bench.%s\" name=\"", x->row->is_kernel ? "kernel" : "time");
    put_xml(f, x->row->name);
    fprintf(f, "\" time=\"%.9g\" file=\"", now_ms(x) / 1e3);
    put_xml(f, x->row->file ? x->row->file : "");
    fprintf(f, "\" line=\"%" PRIu32 "\">", x->row->line);
    if (element) {
        fprintf(f, "<%s message=\"%s ", element, word_of(x));
        put_reason(f, x);
        fputs("\"/>", f);
    }
    fputs("</testcase>\n", f);
}

static void put_missing_case(FILE *f, const struct bench_row *r)
{
    fprintf(f, "  <testcase classname=\"neso.bench.%s\" name=\"", r->is_kernel ? "kernel" : "time");
    put_xml(f, r->name);
    fputs("\"><failure message=\"it stands in the base, and was not measured now\"/></testcase>\n", f);
}

static void put_bound_case(FILE *f, const struct bound *b)
{
    fputs("  <testcase classname=\"neso.bench.bound\" name=\"", f);
    put_xml(f, b->kernel);
    fputc(' ', f);
    put_xml(f, b->cost);
    fputs("\" file=\"", f);
    put_xml(f, b->file);
    fprintf(f, "\" line=\"%" PRIu32 "\">", b->line);
    if (b->state == BOUND_broken)
        fprintf(f, "<failure message=\"at most %.9g, found %.9g\"/>", b->most, b->found);
    else if (b->state == BOUND_unknown)
        fputs("<skipped message=\"nothing here counted it\"/>", f);
    fputs("</testcase>\n", f);
}

static void write_junit(const struct judgement *j, FILE *f)
{
    size_t broken = 0, unknown = 0, nmissing = j->allow_missing ? 0 : j->nmissing;
    for (size_t i = 0; i < j->nbounds; i++) {
        broken += j->bounds[i].state == BOUND_broken;
        unknown += j->bounds[i].state == BOUND_unknown;
    }
    fprintf(f,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n <testsuite name=\"neso bench\" "
            "tests=\"%zu\" "
            "failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
            j->n + nmissing + j->nbounds, j->counts[VERDICT_slower] + nmissing + broken,
            j->counts[VERDICT_undecided] + unknown);
    for (size_t i = 0; i < j->n; i++)
        put_case(f, &j->rows[i]);
    for (size_t i = 0; i < nmissing; i++)
        put_missing_case(f, j->missing[i]);
    for (size_t i = 0; i < j->nbounds; i++)
        put_bound_case(f, &j->bounds[i]);
    fputs(" </testsuite>\n</testsuites>\n", f);
}

/* -- Markdown -- */

static void put_cell(FILE *f, const char *s)
{
    for (; *s; s++)
        fprintf(f, strchr("|\\`*_<", *s) ? "\\%c" : "%c", *s);
}

static void put_markdown_row(FILE *f, const struct judged *x)
{
    fprintf(f, "| %s | ", word_of(x));
    put_cell(f, x->row->name);
    fputs(" | ", f);
    if (x->times.base > 0)
        put_ms(f, x->times.base);
    fputs(" | ", f);
    if (!x->row->is_kernel)
        put_ms(f, now_ms(x));
    fputs(" | ", f);
    if (x->times.base > 0)
        fprintf(f, "%+.1f %% (%+.1f … %+.1f) ", 100 * x->times.change, 100 * x->times.low,
                100 * x->times.high);
    put_cell(f, x->note);
    fputs(" |\n", f);
}

static void put_markdown_table(const struct judgement *j, bool changed, FILE *f)
{
    fputs("| | | base | now | change |\n| --- | --- | ---: | ---: | --- |\n", f);
    for (size_t i = 0; i < j->n; i++) {
        const struct judged *x = &j->rows[i];
        if ((x->base && (x->verdict != VERDICT_same || *x->note)) == changed)
            put_markdown_row(f, x);
    }
}

/* Shows the rows that changed, and puts the others into a collapsed section. */
static void write_markdown(const struct judgement *j, FILE *f)
{
    fprintf(f, "### neso bench: %zu slower, %zu faster, %zu undecided, %zu same (%s)\n\n",
            j->counts[VERDICT_slower], j->counts[VERDICT_faster], j->counts[VERDICT_undecided],
            j->counts[VERDICT_same], j->candidate->gpu);
    put_markdown_table(j, true, f);
    for (size_t i = 0; i < j->nbounds; i++) {
        if (j->bounds[i].state == BOUND_kept)
            continue;
        fputs("\n- bound ", f);
        fprintf(f, "%s: ", state_word(&j->bounds[i]));
        put_cell(f, j->bounds[i].file);
        fprintf(f, ":%" PRIu32 ": `", j->bounds[i].line);
        put_bound(f, &j->bounds[i]);
        fputc('`', f);
    }
    for (size_t i = 0; i < j->nmissing; i++) {
        fputs("\n- missing: ", f);
        put_cell(f, j->missing[i]->name);
    }
    fputs("\n<details><summary>the same, and what is new</summary>\n\n", f);
    put_markdown_table(j, false, f);
    fputs("\n</details>\n", f);
}

/* -- the figure -- */

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

static void put_mark(FILE *f, const struct judged *x, double reach, double y)
{
    static const char *const colors[] = {"#777777", "#1a7f37", "#cf222e", "#9a6700"};
    const char *color = colors[x->verdict];
    fprintf(f, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LABELS - 8, y + 4);
    put_xml(f, strlen(x->row->name) > 52 ? x->row->name + strlen(x->row->name) - 52 : x->row->name);
    fprintf(
        f,
        "</text>\n<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"3\"/>\n",
        place(x->times.low, reach), place(x->times.high, reach), y, y, color);
    fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n", place(x->times.change, reach), y,
            color);
}

static void write_svg(const struct judgement *j, FILE *f)
{
    double reach = find_reach(j), y = TOP;
    size_t n = 0;
    for (size_t i = 0; i < j->n; i++)
        n += j->rows[i].times.base > 0;
    int height = TOP + (int)n * ROW + 30;
    fprintf(f,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" "
            "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            RIGHT + 20, height);
    for (int i = -2; i <= 2; i++) {
        double x = place(reach * i / 2, reach);
        fprintf(f, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\" stroke=\"%s\"/>\n", x, x, TOP - 12,
                height - 24, i ? "#dddddd" : "#777777");
        fprintf(f, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%+.1f %%</text>\n", x, height - 8,
                50 * reach * i);
    }
    fprintf(f, "<text x=\"%d\" y=\"12\">change of time, with its interval: left is faster</text>\n", LABELS);
    for (size_t i = 0; i < j->n; i++) {
        if (!(j->rows[i].times.base > 0))
            continue;
        put_mark(f, &j->rows[i], reach, y);
        y += ROW;
    }
    fputs("</svg>\n", f);
}

/* -- files -- */

static const struct writer {
    enum option option;
    void (*write)(const struct judgement *j, FILE *f);
} writers[] = {
    {OPTION_json_out, write_json},     {OPTION_google, write_google}, {OPTION_junit, write_junit},
    {OPTION_markdown, write_markdown}, {OPTION_svg, write_svg},
};

int report_files(const struct given *g, const struct judgement *j)
{
    for (int i = 0; i < (int)(sizeof writers / sizeof *writers); i++) {
        const char *path = g->options[writers[i].option];
        FILE *f = !path ? NULL : strcmp(path, "-") == 0 ? stdout : fopen(path, "w");
        if (path && !f)
            return complain("cannot write %s: %s", path, strerror(errno));
        if (f)
            writers[i].write(j, f);
        if (f && f != stdout && (ferror(f) | fclose(f)))
            return complain("cannot write %s: %s", path, strerror(errno));
    }
    return GOOD;
}
