/* SPDX-License-Identifier: MIT */
/* ncu.c: reads measurements of a kernel from the output of Nsight Compute's command ncu:
 *
 *     ncu --set full -o report python program.py
 *     ncu -i report.ncu-rep --page source --csv >report.csv                  stalls of each instruction
 *     ncu -i report.ncu-rep --page details --csv (or raw) >>report.csv       cycles and other metrics
 *
 *     "Kernel Name","matmul"                                       one table for each launch
 *     "#","Address","Source","Warp Stall Sampling (All Samples)",...,"Instructions Executed",...,"stall_barrier",...
 *     "0","0x7f...","LDC R1, c[0x0][0x28]","12",...
 *
 *     "ID",...,"Kernel Name",...,"Metric Name","Metric Unit","Metric Value"    --page details: a row for each metric
 *     "ID",...,"Kernel Name",...,"gpc__cycles_elapsed.max",...        --page raw: a column for each metric, units below
 *
 * A file may contain several of these tables. ncu.c reads the first table of --page source about the
 * inspected kernel, and, from each table of the other pages, the kernel's first launch. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* -- rows of CSV -- */

struct row {
    char **cells;
    size_t n;
};

struct table {
    struct row *rows;
    size_t n;
};

/* Splits a text, in place, into rows and cells. In a quoted cell, two quotation marks represent one. */
static struct table read_table(char *text)
{
    struct table t = {.n = 0};
    for (char *from = text; *from;) {
        struct row r = {.n = 0};
        for (char end = ','; end == ',';) {
            char *to = from;
            r.cells = array_grown(r.cells, r.n, sizeof *r.cells);
            r.cells[r.n++] = to;
            if (*from == '"')
                for (from++; *from && (*from != '"' || *++from == '"'); from++)
                    *to++ = *from;
            for (; *from && *from != ',' && *from != '\n'; from++)
                if (*from != '\r')
                    *to++ = *from;
            end = *from;
            from += end != '\0';
            *to = '\0';
        }
        t.rows = array_grown(t.rows, t.n, sizeof *t.rows);
        t.rows[t.n++] = r;
    }
    return t;
}

static void table_free(struct table *t)
{
    for (size_t i = 0; i < t->n; i++)
        free(t->rows[i].cells);
    free(t->rows);
}

/* Returns the index of the column with this name; -1 if there is none. */
static int find_column(const struct row *head, const char *name)
{
    for (size_t i = 0; i < head->n; i++)
        if (strcmp(head->cells[i], name) == 0)
            return (int)i;
    return -1;
}

static const char *cell_at(const struct row *r, int column)
{
    return column >= 0 && (size_t)column < r->n ? r->cells[column] : "";
}

/* Reads a number that may have commas between thousands. */
static double number_of(const char *s)
{
    char digits[64];
    size_t n = 0;
    for (; *s && n + 1 < sizeof digits; s++)
        if (*s != ',')
            digits[n++] = *s;
    digits[n] = '\0';
    return strtod(digits, NULL);
}

/* Returns whether ncu's text for a kernel, such as "matmul" or "matmul(const float *, int)", has the name `kernel`. */
static bool names_kernel(const char *text, const char *kernel)
{
    size_t n = strlen(kernel);
    return strncmp(text, kernel, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_';
}

/* -- the pages of ncu -- */

static void add_metric(struct profile *p, const char *name, const char *value, const char *unit)
{
    if (!*value)
        return;
    p->metrics = array_grown(p->metrics, p->nmetrics, sizeof *p->metrics);
    p->metrics[p->nmetrics++] = (struct metric){name, value, unit};
}

static void add_instruction(struct profile *p, const struct row *head, const struct row *r, int source)
{
    static const char *const samples[] = {"Warp Stall Sampling (All Samples)", "# Samples", "Samples"};
    struct sampled x = {.text = cell_at(r, source),
                        .executed = number_of(cell_at(r, find_column(head, "Instructions Executed")))};
    for (int i = 0; i < 3 && x.samples == 0; i++)
        x.samples = number_of(cell_at(r, find_column(head, samples[i])));
    for (size_t i = 0; i < head->n; i++) {
        double n = number_of(cell_at(r, (int)i));
        if (strncmp(head->cells[i], "stall_", 6) != 0 || strstr(head->cells[i], "(Not Issued)") ||
            strstr(head->cells[i], "not_issued") || n <= 0)
            continue;
        x.stalls = array_grown(x.stalls, x.nstalls, sizeof *x.stalls);
        x.stalls[x.nstalls++] = (struct stall){head->cells[i] + 6, n};
    }
    p->instructions = array_grown(p->instructions, p->ninstructions, sizeof *p->instructions);
    p->instructions[p->ninstructions++] = x;
}

/* Reads the table of --page source that begins at row `at` with its head. If `wanted` is true, keeps its
 * instructions. Returns the index of the row after the table. */
static size_t read_source(struct profile *p, const struct table *t, size_t at, bool wanted)
{
    const struct row *head = &t->rows[at];
    int source = find_column(head, "Source");
    for (at++; at < t->n && t->rows[at].n > 2; at++) {
        if (find_column(&t->rows[at], "Source") >= 0 || find_column(&t->rows[at], "Kernel Name") >= 0)
            break;
        if (wanted)
            add_instruction(p, head, &t->rows[at], source);
    }
    return at;
}

/* Reads the table of --page details that begins at row `at` with its head. Keeps the metrics of the kernel's
 * first launch. Returns the index of the row after the table. */
static size_t read_details(struct profile *p, const struct table *t, size_t at, const char *kernel)
{
    const struct row *head = &t->rows[at];
    int name = find_column(head, "Kernel Name"), id = find_column(head, "ID"),
        metric = find_column(head, "Metric Name");
    int unit = find_column(head, "Metric Unit"), value = find_column(head, "Metric Value");
    const char *launch = NULL;
    for (at++; at < t->n && t->rows[at].n == head->n; at++) {
        const struct row *r = &t->rows[at];
        if (!names_kernel(cell_at(r, name), kernel) || (launch && strcmp(launch, cell_at(r, id)) != 0))
            continue;
        launch = cell_at(r, id);
        if (*cell_at(r, metric))
            add_metric(p, cell_at(r, metric), cell_at(r, value), cell_at(r, unit));
    }
    return at;
}

/* Returns whether a metric is about cycles, time, stalls or memory traffic. Of the about 1,000 metrics of --page raw,
 * only these are kept. */
static bool is_telling(const char *name)
{
    static const char *const words[] = {"cycles_elapsed.max", "cycles_active.avg",   "time_duration.sum",
                                        "issue_stalled",      "inst_executed.sum",   "warps_active.avg",
                                        "bytes_read.sum",     "bytes_write.sum",     "bank_conflicts",
                                        "throughput.avg",     "registers_per_thread"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i]))
            return strstr(name, "__") != NULL;
    return false;
}

/* Reads the table of --page raw that begins at row `at` with its head. Keeps the columns of the kernel's
 * first launch. The row below the head has the units. Returns the index of the row after the table. */
static size_t read_raw(struct profile *p, const struct table *t, size_t at, const char *kernel)
{
    const struct row *head = &t->rows[at], *units = at + 1 < t->n ? &t->rows[at + 1] : head;
    int name = find_column(head, "Kernel Name");
    bool has_units = !*cell_at(units, name), found = false;
    for (at += 1 + has_units; at < t->n && t->rows[at].n == head->n; at++) {
        const struct row *r = &t->rows[at];
        for (size_t i = 0; !found && names_kernel(cell_at(r, name), kernel) && i < head->n; i++)
            if (is_telling(head->cells[i]))
                add_metric(p, head->cells[i], r->cells[i], has_units ? cell_at(units, (int)i) : "");
        found |= names_kernel(cell_at(r, name), kernel);
    }
    return at;
}

static void read_pages(struct profile *p, const struct table *t, const char *kernel)
{
    /* the kernel that the next table of --page source describes; ncu may omit the name if there is only one
     * table, so before the first name this is the inspected kernel */
    const char *present = kernel;
    for (size_t i = 0; i < t->n;) {
        const struct row *r = &t->rows[i];
        if (r->n == 2 && strcmp(r->cells[0], "Kernel Name") == 0) {
            present = r->cells[1];
            i++;
        } else if (find_column(r, "Source") >= 0 && find_column(r, "Address") >= 0) {
            i = read_source(p, t, i, p->ninstructions == 0 && names_kernel(present, kernel));
        } else if (find_column(r, "Metric Name") >= 0 && find_column(r, "Metric Value") >= 0) {
            i = read_details(p, t, i, kernel);
        } else if (find_column(r, "Kernel Name") >= 0 && r->n > 2) {
            i = read_raw(p, t, i, kernel);
        } else {
            i++; /* skip a line about ncu itself, such as "==PROF== ..." */
        }
    }
}

bool build_profile(struct build *b, const char *path)
{
    size_t length;
    struct profile *p = &b->profile;
    p->text = read_file(path, &length);
    if (!p->text) {
        complain("cannot read %s: %s", path, strerror(errno));
        return false;
    }
    struct table t = read_table(p->text);
    read_pages(p, &t, b->kernel);
    table_free(&t);
    if (p->nmetrics || p->ninstructions)
        return true;
    complain("%s has no measurements of kernel %s: expected the output of `ncu --csv` with --page source, "
             "details or raw",
             path, b->kernel);
    return false;
}

void profile_free(struct profile *p)
{
    for (size_t i = 0; i < p->ninstructions; i++)
        free(p->instructions[i].stalls);
    free(p->instructions);
    free(p->metrics);
    free(p->text);
}

/* -- writing -- */

static void put_named(struct buffer *out, const char *name, const char *s)
{
    put_format(out, "\"%s\": ", name);
    put_json(out, s, strlen(s));
}

void put_profile_json(const struct profile *p, struct buffer *out)
{
    put_string(out, "  \"profile\": {\n    \"metrics\": [");
    for (size_t i = 0; i < p->nmetrics; i++) {
        put_string(out, i ? ",\n      {" : "\n      {");
        put_named(out, "name", p->metrics[i].name);
        put_string(out, ", ");
        put_named(out, "value", p->metrics[i].value);
        put_string(out, ", ");
        put_named(out, "unit", p->metrics[i].unit);
        put_string(out, "}");
    }
    put_string(out, "],\n    \"instructions\": [");
    for (size_t i = 0; i < p->ninstructions; i++) {
        const struct sampled *x = &p->instructions[i];
        put_string(out, i ? ",\n      {" : "\n      {");
        put_named(out, "text", x->text);
        put_format(out, ", \"samples\": %.9g, \"executed\": %.9g, \"stalls\": {", x->samples, x->executed);
        for (size_t k = 0; k < x->nstalls; k++) {
            put_string(out, k ? ", " : "");
            put_json(out, x->stalls[k].reason, strlen(x->stalls[k].reason));
            put_format(out, ": %.9g", x->stalls[k].samples);
        }
        put_string(out, "}}");
    }
    put_string(out, "]\n  },\n");
}

/* Appends the most frequent reasons for stalls, at most `most` of them, each with its share of all stalls. The most
 * frequent reason comes first. */
static void put_stalls(const struct profile *p, int most, struct buffer *out)
{
    struct stall *sums = NULL;
    size_t n = 0;
    double all = 0;
    for (size_t i = 0; i < p->ninstructions; i++)
        for (size_t k = 0; k < p->instructions[i].nstalls; k++) {
            const struct stall *x = &p->instructions[i].stalls[k];
            size_t at = 0;
            while (at < n && strcmp(sums[at].reason, x->reason) != 0)
                at++;
            if (at == n) {
                sums = array_grown(sums, n, sizeof *sums);
                sums[n++] = (struct stall){x->reason, 0};
            }
            sums[at].samples += x->samples;
            all += x->samples;
        }
    for (int i = 0; i < most; i++) {
        struct stall *highest = NULL;
        for (size_t k = 0; k < n; k++)
            if (sums[k].samples > 0 && (!highest || sums[k].samples > highest->samples))
                highest = &sums[k];
        if (!highest)
            break;
        put_format(out, "%s%s %.0f %%", i ? ", " : "", highest->reason, 100 * highest->samples / all);
        highest->samples = 0;
    }
    free(sums);
}

void put_profile(const struct profile *p, struct buffer *out)
{
    const char *comma = "";
    put_string(out, "  ncu            ");
    for (size_t i = 0; i < p->nmetrics; i++) {
        const struct metric *m = &p->metrics[i];
        if (strcmp(m->name, "Elapsed Cycles") != 0 && strcmp(m->name, "Duration") != 0 &&
            !strstr(m->name, "gpc__cycles_elapsed.max") && !strstr(m->name, "gpu__time_duration.sum"))
            continue;
        put_format(out, "%s%s %s", comma, m->value, m->unit);
        comma = ", ";
    }
    if (p->ninstructions) {
        put_format(out, "%swarps wait for: ", *comma ? "; " : "");
        put_stalls(p, 4, out);
    }
    put_string(out, "\n");
}
