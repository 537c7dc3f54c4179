/* SPDX-License-Identifier: MIT */
/* report.c: writes a judgement for people (table, summary, Markdown) and for programs (JSON, Google
 * Benchmark's JSON, JUnit's XML, GitHub's annotations). In names and notes, it escapes the characters that
 * have a meaning in the output format. */
#include "runtime/command/bench/bench.h"

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

/* Returns the candidate's median time in ms. If the row was compared with the base, this is the time in the
 * comparison, so that all outputs show the same number. */
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

/* Writes the reason for a verdict, "3.1 % slower, 1.23 ms -> 1.27 ms, ...", and then the row's note. */
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

/* Returns a text about the option or tool that measures a cost; "" if none is needed. */
static const char *counter_of(const char *cost)
{
    if (strncmp(cost, "run.", 4) == 0)
        return " (--counts does)";
    if (strcmp(cost, "registers") == 0)
        return " (ptxas does, which is not found here; live_registers is counted without it)";
    return strcmp(cost, "spill_bytes") == 0 ? " (ptxas does, which is not found here)" : "";
}

/* Writes a bound and the value that was found: "softmax_kernel: registers <= 32, found 40". */
static void put_bound(FILE *f, const struct bound *b)
{
    fprintf(f, "%s: %s <= %.9g", b->kernel, b->cost, b->most);
    if (b->state != BOUND_unknown)
        fprintf(f, ", found %.9g", b->found);
    else if (!b->has_kernel)
        fputs(", and no kernel of this name was measured", f);
    else if (!*counter_of(b->cost))
        fputs(", which is no cost of this kernel (--json writes all of them)", f);
    else
        fprintf(f, ", which nothing here counted%s", counter_of(b->cost));
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

static bool row_cost_of_any(const struct judgement *j, const char *name)
{
    for (size_t i = 0; i < j->n; i++)
        if (row_cost(j->rows[i].row, name))
            return true;
    return false;
}

/* Returns the names of the costs that the table shows. If no kernel was assembled, these are costs of the PTX. */
static const char *const *shown_costs(const struct judgement *j)
{
    static const char *const assembled[] = {"registers",    "spill_bytes",      "shared_bytes",
                                            "instructions", "bytes_per_access", NULL};
    static const char *const of_ptx[] = {"live_registers", "shared_bytes", "instructions", "bytes_per_access",
                                         NULL};
    return row_cost_of_any(j, "registers") ? assembled : of_ptx;
}

static void put_costs(const struct judgement *j, FILE *f, const struct judged *x, int width)
{
    fprintf(f, "%-9s  %-*s", word_of(x), width, x->row->name);
    for (const char *const *shown = shown_costs(j); *shown; shown++) {
        const double *cost = row_cost(x->row, *shown);
        char text[COST_TEXT];
        fprintf(f, "  %*s", (int)strlen(*shown), cost ? cost_text(text, *cost, true) : "-");
    }
    fprintf(f, "%s%s\n", *x->note ? "  " : "", x->note);
}

static void put_costs_head(const struct judgement *j, FILE *f, int width)
{
    fprintf(f, "%-9s  %-*s", "", width, "kernel");
    for (const char *const *shown = shown_costs(j); *shown; shown++)
        fprintf(f, "  %s", *shown);
    fputc('\n', f);
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
    if (n && kernels) {
        fputs(n < j->n ? "\n" : "", f);
        put_costs_head(j, f, (int)width);
    } else if (n) {
        fprintf(f, "%-9s  %-*s  %10s  %10s\n", "", (int)width, "call", j->has_base ? "base ms" : "", "ms");
    }
    for (size_t i = 0; i < j->n; i++)
        if (kernels && j->rows[i].row->is_kernel)
            put_costs(j, f, &j->rows[i], (int)width);
        else if (!kernels && !j->rows[i].row->is_kernel)
            put_time(f, &j->rows[i], (int)width);
}

/* -- the summary: five lines -- */

static void put_measured(const struct judgement *j, FILE *f)
{
    size_t kernels = 0, counted = 0;
    for (size_t i = 0; i < j->n; i++) {
        kernels += j->rows[i].row->is_kernel;
        counted += row_cost(j->rows[i].row, "run.instructions") != NULL;
    }
    fprintf(f, "measured: %zu kernel%s, ", kernels, kernels == 1 ? "" : "s");
    if (j->n > kernels)
        fprintf(f, "%zu timed call%s\n", j->n - kernels, j->n - kernels == 1 ? "" : "s");
    else
        fprintf(f, "costs without a GPU%s\n",
                counted ? ", counts of the emulator" : " (--counts: also those of the emulator)");
}

/* Writes the highest value of a cost and the kernel that has it: "registers 40 (softmax_kernel)". */
static void put_highest(const struct judgement *j, const char *name, const char *words, FILE *f)
{
    const struct bench_row *most = NULL;
    for (size_t i = 0; i < j->n; i++) {
        const double *x = row_cost(j->rows[i].row, name), *y = most ? row_cost(most, name) : NULL;
        if (x && (!y || *x > *y))
            most = j->rows[i].row;
    }
    if (most && *row_cost(most, name) > 0)
        fprintf(f, "%s %.9g (%s)", words, *row_cost(most, name), most->kernel ? most->kernel : most->name);
    else
        fprintf(f, "%s %s", words, most ? "0" : "unknown");
}

static void put_verdicts(const struct judgement *j, FILE *f)
{
    bool has_gpu = strcmp(j->candidate->gpu, "none") != 0;
    fprintf(f, "%s: %zu same, %zu faster, %zu slower, %zu undecided",
            has_gpu ? j->candidate->gpu : "verdicts", j->counts[VERDICT_same], j->counts[VERDICT_faster],
            j->counts[VERDICT_slower], j->counts[VERDICT_undecided]);
    if (j->nmissing)
        fprintf(f, ", %zu missing%s", j->nmissing, j->allow_missing ? " (allowed)" : "");
    fprintf(f, "%s\n", j->has_base ? "" : "; nothing to compare with");
}

/* Returns the absolute relative change of a row's time, or, if costs decided the verdict, judged.change. */
static double size_of_change(const struct judged *x)
{
    return fabs(x->times.change) + x->change;
}

/* Returns the row with the largest size_of_change among the slower rows. If no row is slower, chooses among the
 * undecided rows; if no row is undecided either, among the faster rows. Returns NULL if j has no such rows. */
static const struct judged *find_largest(const struct judgement *j)
{
    static const enum verdict order[] = {VERDICT_slower, VERDICT_undecided, VERDICT_faster};
    for (int k = 0; k < 3; k++) {
        const struct judged *most = NULL;
        for (size_t i = 0; i < j->n; i++)
            if (j->rows[i].base && j->rows[i].verdict == order[k] &&
                (!most || size_of_change(&j->rows[i]) > size_of_change(most)))
                most = &j->rows[i];
        if (most)
            return most;
    }
    return NULL;
}

/* For each kernel, if launches ran a variant of it: writes the passes without which the variant is
 * compiled, and why the launches ran it. */
static void put_variants(const struct judgement *j, FILE *f)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct bench_row *r = j->rows[i].row;
        if (!r->variant)
            continue;
        fprintf(f, "%s: its counts are of the variant without %s, which launches ran because %s\n", r->name,
                r->variant,
                strstr(r->variant, "persistent_grid") ? "the grid has no more programs than the GPU has SMs"
                : strstr(r->variant, "raise_tma") ? "an address, a size or a stride does not fit tensor maps"
                                                  : "a loop runs more than once, or may write what it reads");
    }
}

static void put_summary(const struct judgement *j, const char *bullet, FILE *f)
{
    const struct judged *x = find_largest(j);
    size_t states[3] = {0};
    fputs(bullet, f);
    put_measured(j, f);
    fprintf(f, "%shighest: ", bullet);
    put_highest(j, row_cost_of_any(j, "registers") ? "registers" : "live_registers", "registers", f);
    put_highest(j, "spill_bytes", ", bytes spilled", f);
    put_highest(j, "shared_bytes", ", bytes of shared memory", f);
    fprintf(f, "\n%s", bullet);
    put_verdicts(j, f);
    fprintf(f, "%slargest change: ", bullet);
    if (x) {
        fprintf(f, "%s %s: ", x->row->name, word_of(x));
        if (x->times.base > 0)
            put_reason(f, x);
        else
            fputs(*x->largest ? x->largest : x->note, f);
    } else {
        fputs("none", f);
    }
    for (size_t i = 0; i < j->nbounds; i++)
        states[j->bounds[i].state]++;
    fprintf(f, "\n%sbounds: %zu kept, %zu broken, %zu not counted; exit status %d\n", bullet,
            states[BOUND_kept], states[BOUND_broken], states[BOUND_unknown], judgement_status(j));
}

void report_table(const struct judgement *j, FILE *f)
{
    put_rows(j, false, f);
    put_rows(j, true, f);
    for (size_t i = 0; i < j->nmissing; i++)
        fprintf(f, "MISSING    %s  is in the base, and was not measured now\n", j->missing[i]->name);
    for (size_t i = 0; i < j->nbounds; i++) {
        fprintf(f, "%s:%" PRIu32 ": bound %s: ", j->bounds[i].file, j->bounds[i].line,
                state_word(&j->bounds[i]));
        put_bound(f, &j->bounds[i]);
        fputc('\n', f);
    }
    put_variants(j, f);
    if (j->lacking)
        fprintf(f, "%s of %s is in the base, and was not measured now: %s\n", j->lacking, j->lacks->name,
                strncmp(j->lacking, "run.", 4) != 0      ? "ptxas did not run, or failed"
                : row_cost_of_any(j, "run.instructions") ? "nothing launched this kernel"
                                                         : "give --counts");
    fputc('\n', f);
    put_summary(j, "", f);
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
        fprintf(f, "%s MISSING: it is in the base, and was not measured now\n", j->missing[i]->name);
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

static void put_json_costs(FILE *f, const char *key, const struct bench_row *r)
{
    fprintf(f, ", \"%s\": {", key);
    for (size_t i = 0; i < r->ncosts; i++)
        fprintf(f, "%s\"%s\": %.9g", i ? ", " : "", r->costs[i].name, r->costs[i].value);
    fputc('}', f);
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
    put_json_costs(f, "costs", r);
    if (x->base && x->base->is_kernel)
        put_json_costs(f, "base_costs", x->base);
    fputc('}', f);
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

/* Writes the median of each stretch (statistics.h) as a repetition, so that tools that compare such files have enough
 * repetitions for their statistical tests. */
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

void put_xml(FILE *f, const char *s)
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
    fputs("\"><failure message=\"it is in the base, and was not measured now\"/></testcase>\n", f);
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

static bool is_shown(const struct judged *x, bool kernels, bool changed)
{
    return x->row->is_kernel == kernels && (x->base && (x->verdict != VERDICT_same || *x->note)) == changed;
}

static bool has_shown(const struct judgement *j, bool kernels, bool changed)
{
    for (size_t i = 0; i < j->n; i++)
        if (is_shown(&j->rows[i], kernels, changed))
            return true;
    return false;
}

static void put_markdown_times(const struct judgement *j, bool changed, FILE *f)
{
    if (!has_shown(j, false, changed))
        return;
    fputs("| | | base | now | change |\n| --- | --- | ---: | ---: | --- |\n", f);
    for (size_t i = 0; i < j->n; i++)
        if (is_shown(&j->rows[i], false, changed))
            put_markdown_row(f, &j->rows[i]);
    fputc('\n', f);
}

/* Writes a cell with a cost: "32", or "32 → **40**" if the base has another value. */
static void put_markdown_cost(FILE *f, const struct judged *x, const char *name)
{
    const double *now = row_cost(x->row, name), *was = x->base ? row_cost(x->base, name) : NULL;
    char text[COST_TEXT], before[COST_TEXT];
    if (now && was && cost_differs(*was, *now))
        fprintf(f, " %s → **%s** |", cost_text(before, *was, false), cost_text(text, *now, false));
    else if (now)
        fprintf(f, " %s |", cost_text(text, *now, false));
    else
        fputs(" |", f);
}

static void put_markdown_costs(const struct judgement *j, bool changed, FILE *f)
{
    size_t n;
    const struct figure_cost *costs = figure_costs(&n);
    if (!has_shown(j, true, changed))
        return;
    fputs("| | kernel |", f);
    for (size_t k = 0; k < n; k++)
        if (figure_highest(j, costs[k].name) > 0)
            fprintf(f, " %s |", costs[k].words);
    fputs(" |\n| --- | --- |", f);
    for (size_t k = 0; k < n; k++)
        if (figure_highest(j, costs[k].name) > 0)
            fputs(" ---: |", f);
    fputs(" --- |\n", f);
    for (size_t i = 0; i < j->n; i++) {
        const struct judged *x = &j->rows[i];
        if (!is_shown(x, true, changed))
            continue;
        fprintf(f, "| %s | ", word_of(x));
        put_cell(f, x->row->name);
        fputs(" |", f);
        for (size_t k = 0; k < n; k++)
            if (figure_highest(j, costs[k].name) > 0)
                put_markdown_cost(f, x, costs[k].name);
        fputc(' ', f);
        put_cell(f, x->note);
        fputs(" |\n", f);
    }
    fputc('\n', f);
}

static void put_markdown_table(const struct judgement *j, bool changed, FILE *f)
{
    put_markdown_times(j, changed, f);
    put_markdown_costs(j, changed, f);
}

/* Writes the rows that changed, and puts all other rows into a collapsed section. */
static void write_markdown(const struct judgement *j, FILE *f)
{
    fprintf(f, "### neso bench: %zu slower, %zu faster, %zu undecided, %zu same (%s)\n\n",
            j->counts[VERDICT_slower], j->counts[VERDICT_faster], j->counts[VERDICT_undecided],
            j->counts[VERDICT_same],
            strcmp(j->candidate->gpu, "none") == 0 ? "without a GPU" : j->candidate->gpu);
    put_summary(j, "- ", f);
    fputc('\n', f);
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
    if (has_shown(j, true, false) || has_shown(j, false, false)) {
        fputs("\n<details><summary>the same, and what is new</summary>\n\n", f);
        put_markdown_table(j, false, f);
        fputs("\n</details>\n", f);
    }
}

/* -- files -- */

static const struct writer {
    enum option option;
    void (*write)(const struct judgement *j, FILE *f);
} writers[] = {
    {OPTION_json_out, write_json},     {OPTION_google, write_google}, {OPTION_junit, write_junit},
    {OPTION_markdown, write_markdown}, {OPTION_svg, report_figure},
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
