/* SPDX-License-Identifier: MIT */
/* counts.c: implements `neso run --counts`, which prints the costs of a program's launches, as a table on standard
 * error and as JSON in a file.
 *
 *     add (add_5d2b60934f6dbf68)
 *         launches                  1    programs                 96    ...
 *         line          instructions       sectors         least  wavefronts   conflicts ...
 *         add.py:12              768           ...
 *
 * The library reports the counts one by one: for each kernel, first the counts of the whole kernel, then the counts of
 * its lines. The table and the JSON have the same order, so this file need not store the counts. */
#include "runtime/command/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- JSON -- */

struct json {
    FILE *f;
    const char *id; /* the id of the kernel whose counts are being written; NULL before the first kernel */
    const char *file;
    uint32_t line; /* the line whose counts are being written; 0: counts of the whole kernel */
    bool any;      /* a count of this line, or of the whole kernel, has already been written */
};

static void put_string(FILE *f, const char *s)
{
    putc('"', f);
    for (; *s; s++) {
        if (*s == '"' || *s == '\\')
            putc('\\', f);
        if ((unsigned char)*s < ' ')
            fprintf(f, "\\u%04x", (unsigned)*s);
        else
            putc(*s, f);
    }
    putc('"', f);
}

static void begin_kernel(struct json *j, const neso_count *c)
{
    fputs(j->id ? j->line ? "}}]},\n{\"kernel\": " : "}, \"lines\": []},\n{\"kernel\": " : "{\"kernel\": ",
          j->f);
    put_string(j->f, c->kernel);
    fputs(", \"id\": ", j->f);
    put_string(j->f, c->id);
    fputs(",\n \"counts\": {", j->f);
}

static void begin_line(struct json *j, const neso_count *c)
{
    fputs(j->line ? "}},\n  {\"file\": " : "},\n \"lines\": [\n  {\"file\": ", j->f);
    put_string(j->f, c->file);
    fprintf(j->f, ", \"line\": %" PRIu32 ", \"counts\": {", c->line);
}

static void put_json(void *user, const neso_count *c)
{
    struct json *j = user;
    bool is_new = !j->id || strcmp(j->id, c->id) != 0 || (!c->line && j->line);
    bool is_other_line = c->line && (c->line != j->line || c->file != j->file);
    if (is_new)
        begin_kernel(j, c);
    else if (is_other_line)
        begin_line(j, c);
    if (!is_new && !is_other_line && j->any)
        fputs(", ", j->f);
    put_string(j->f, c->name);
    fprintf(j->f, ": %" PRIu64, c->value);
    j->id = c->id;
    j->file = c->file;
    j->line = c->line;
    j->any = true;
}

static int write_json(neso_context *ctx, const char *path)
{
    struct json j = {.f = strcmp(path, "-") == 0 ? stdout : fopen(path, "w")};
    if (!j.f)
        return complain("cannot write %s: %s", path, strerror(errno));
    putc('[', j.f);
    neso_counts_each(ctx, put_json, &j);
    fputs(!j.id ? "]\n" : j.line ? "}}]}]\n" : "}, \"lines\": []}]\n", j.f);
    bool good = !ferror(j.f);
    if (j.f != stdout && fclose(j.f) != 0)
        good = false;
    return good ? GOOD : complain("cannot write %s: %s", path, strerror(errno));
}

/* -- the table -- */

static const char *const columns[] = {"instructions",         "lane_instructions", "global_sectors",
                                      "global_sectors_least", "shared_wavefronts", "shared_conflicts",
                                      "tensor_operations"};
static const char *const heads[] = {"instructions", "lanes",     "sectors",   "least",
                                    "wavefronts",   "conflicts", "tensor ops"};
enum { COLUMNS = sizeof columns / sizeof *columns, PLACE = 28 };

struct table {
    FILE *f;
    const char *id, *file;
    uint32_t line;
    int across; /* the number of counts in the current line of output */
    uint64_t row[COLUMNS];
};

static void end_row(struct table *t)
{
    char place[256];
    const char *slash = t->file ? strrchr(t->file, '/') : NULL;
    if (!t->line)
        return;
    snprintf(place, sizeof place, "%s:%" PRIu32, slash ? slash + 1 : t->file, t->line);
    fprintf(t->f, "    %-*s", PLACE, place);
    for (int i = 0; i < COLUMNS; i++)
        fprintf(t->f, " %14" PRIu64, t->row[i]);
    fputc('\n', t->f);
    memset(t->row, 0, sizeof t->row);
}

static void put_heads(struct table *t)
{
    fprintf(t->f, "%s    %-*s", t->across ? "\n" : "", PLACE, "line");
    for (int i = 0; i < COLUMNS; i++)
        fprintf(t->f, " %14s", heads[i]);
    fputc('\n', t->f);
}

static void put_count(struct table *t, const neso_count *c)
{
    enum { ACROSS = 4 };
    if (c->value == 0)
        return;
    fprintf(t->f, "    %-20s %14" PRIu64 "%s", c->name, c->value, ++t->across % ACROSS ? "" : "\n");
    t->across %= ACROSS;
}

static void put_row(void *user, const neso_count *c)
{
    struct table *t = user;
    bool is_new = !t->id || strcmp(t->id, c->id) != 0 || (!c->line && t->line);
    if (is_new || c->line != t->line || c->file != t->file)
        end_row(t);
    if (is_new) {
        fprintf(t->f, "%s%s (%s)\n", t->across && !t->line ? "\n" : "", c->kernel, c->id);
        t->across = 0;
    } else if (c->line && !t->line) {
        put_heads(t);
    }
    for (int i = 0; i < COLUMNS && c->line; i++)
        t->row[i] = strcmp(columns[i], c->name) == 0 ? c->value : t->row[i];
    t->id = c->id;
    t->file = c->file;
    t->line = c->line;
    if (!c->line)
        put_count(t, c);
}

int counts_report(const struct given *g, neso_context *ctx)
{
    const char *path = g->options[OPTION_counts];
    struct table t = {.f = stderr};
    int result = *path ? write_json(ctx, path) : GOOD;
    fflush(stdout);
    neso_counts_each(ctx, put_row, &t);
    end_row(&t);
    if (t.across && !t.line)
        fputc('\n', t.f);
    return result;
}
