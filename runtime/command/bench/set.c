/* SPDX-License-Identifier: MIT */
/* set.c: implements sets of measurements, and writes and reads them as text, one file for each GPU.
 *
 *     neso bench 1
 *     gpu NVIDIA H200
 *     clock_khz 1980000
 *     time softmax/softmax-performance/N=1024/Triton
 *      at softmax.py:87
 *      key 028eb708fcffe6c5
 *      calls 2048 0
 *      stretches 0.01021 0.01022 0.0102 0.01023 0.01021
 *      values 0.01008 0.01011 ...
 *     kernel softmax/softmax_kernel-174c0c65a8ecdbb4
 *      name softmax_kernel
 *      key 3f2a7cc1a0f3e155
 *      cost registers 26 */
#include "runtime/command/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char header[] = "neso bench 1";

void *grow(void *old, size_t bytes)
{
    void *p = realloc(old, bytes ? bytes : 1);
    if (!p)
        exit(complain("out of memory"));
    return p;
}

char *copy_text(const char *s)
{
    size_t n = strlen(s) + 1;
    return memcpy(grow(NULL, n), s, n);
}

static void row_free(struct bench_row *r)
{
    free(r->name);
    free(r->file);
    free(r->kernel);
    free(r->stretches.at);
    free(r->values.at);
    free(r->costs);
    free(r->variant);
}

void set_free(struct bench_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        row_free(&s->rows[i]);
    free(s->rows);
    *s = (struct bench_set){.n = 0};
}

/* -- rows -- */

void set_begin_round(struct bench_set *s)
{
    for (size_t i = 0; i < s->n; i++)
        s->rows[i].uses = 0;
}

/* Returns the row with this name that belongs to a kernel (is_kernel) or to a timed call; NULL if there is none. */
static const struct bench_row *set_find(const struct bench_set *s, bool is_kernel, const char *name)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->rows[i].is_kernel == is_kernel && strcmp(s->rows[i].name, name) == 0)
            return &s->rows[i];
    return NULL;
}

/* Copies a name to `out`, with a blank in place of each control character, because the file format needs a
 * name without line breaks. */
static void copy_name(char *out, size_t n, const char *name)
{
    snprintf(out, n, "%s", name);
    for (char *c = out; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
}

struct bench_row *set_row(struct bench_set *s, bool is_kernel, const char *name)
{
    char plain[800], numbered[830];
    copy_name(plain, sizeof plain, name);
    snprintf(numbered, sizeof numbered, "%s", plain);
    for (int i = 2;; i++) {
        const struct bench_row *known = set_find(s, is_kernel, numbered);
        struct bench_row *r = known ? &s->rows[known - s->rows] : NULL;
        if (r && r->uses > 0 && !is_kernel) {
            snprintf(numbered, sizeof numbered, "%s#%d", plain, i);
            continue;
        }
        if (!r) {
            s->rows = grow(s->rows, (s->n + 1) * sizeof *s->rows);
            r = &s->rows[s->n++];
            *r = (struct bench_row){.is_kernel = is_kernel, .name = copy_text(numbered)};
        }
        r->uses++;
        return r;
    }
}

void row_place(struct bench_row *r, const char *file, uint32_t line)
{
    free(r->file);
    r->file = copy_text(file);
    r->line = line;
}

static void add_numbers(struct numbers *to, const double *x, size_t n)
{
    to->at = grow(to->at, (to->n + n) * sizeof *x);
    if (n)
        memcpy(to->at + to->n, x, n * sizeof *x);
    to->n += n;
}

void row_add_times(struct bench_row *r, const double *ms, size_t n)
{
    double stretches[STATISTICS_STRETCHES], values[STATISTICS_QUANTILES];
    size_t nstretches, nvalues, left;
    double *steady = grow(NULL, 2 * n * sizeof *steady);
    memcpy(steady, ms, n * sizeof *ms);
    left = statistics_steady(steady, n);
    statistics_keep(steady, left, steady + n, stretches, &nstretches, values, &nvalues);
    add_numbers(&r->stretches, stretches, nstretches);
    add_numbers(&r->values, values, nvalues);
    r->ndropped += n - left;
    r->nmeasured += n;
    free(steady);
}

void row_set_cost(struct bench_row *r, const char *name, double value)
{
    size_t i = 0;
    while (i < r->ncosts && strcmp(r->costs[i].name, name) != 0)
        i++;
    if (i == r->ncosts) {
        r->costs = grow(r->costs, (i + 1) * sizeof *r->costs);
        snprintf(r->costs[i].name, sizeof r->costs[i].name, "%s", name);
        r->ncosts++;
    }
    r->costs[i].value = value;
}

/* Adds a variant's counts to its kernel's counts, and mixes the variant's key into the kernel's key. So if
 * two kernels have equal keys, they have equal PTX, and their variants have equal counts. */
static void join_variant(struct bench_row *kernel, const struct bench_row *variant, const char *without)
{
    for (size_t i = 0; i < variant->ncosts; i++) {
        const struct cost *c = &variant->costs[i];
        const double *own = row_cost(kernel, c->name);
        double sum = c->value + (own ? *own : 0);
        if (strncmp(c->name, "run.", 4) == 0 && fabs(sum) < 1e300)
            row_set_cost(kernel, c->name, sum);
    }
    kernel->key = (kernel->key ^ variant->key) * 1099511628211u;
    if (!kernel->variant)
        kernel->variant = copy_text(without);
}

/* If r is the row of a variant, returns the row of the variant's kernel, and sets *without to the passes without which
 * the variant is compiled. Returns NULL if r is not a variant's row, or if the set lacks its kernel. */
static struct bench_row *kernel_of_variant(const struct bench_set *s, const struct bench_row *r,
                                           const char **without)
{
    static const char mark[] = "-without-";
    const char *at = r->is_kernel ? strstr(r->name, mark) : NULL;
    size_t n = at ? (size_t)(at - r->name) : 0;
    for (size_t i = 0; at && i < s->n; i++) {
        struct bench_row *k = &s->rows[i];
        *without = at + sizeof mark - 1;
        if (k->is_kernel && strlen(k->name) == n && memcmp(k->name, r->name, n) == 0)
            return k;
    }
    return NULL;
}

void set_join_variants(struct bench_set *s)
{
    size_t left = 0;
    bool *joined = grow(NULL, (s->n + 1) * sizeof *joined);
    for (size_t i = 0; i < s->n; i++) {
        const char *without;
        struct bench_row *kernel = kernel_of_variant(s, &s->rows[i], &without);
        joined[i] = kernel != NULL;
        if (kernel)
            join_variant(kernel, &s->rows[i], without);
    }
    for (size_t i = 0; i < s->n; i++)
        if (joined[i])
            row_free(&s->rows[i]);
        else
            s->rows[left++] = s->rows[i];
    s->n = left;
    free(joined);
}

const double *row_cost(const struct bench_row *r, const char *name)
{
    for (size_t i = 0; i < r->ncosts; i++)
        if (strcmp(r->costs[i].name, name) == 0)
            return &r->costs[i].value;
    return NULL;
}

/* -- writing -- */

static void write_numbers(FILE *f, const char *word, const struct numbers *x)
{
    fprintf(f, " %s", word);
    for (size_t i = 0; i < x->n; i++)
        fprintf(f, " %.6g", x->at[i]);
    fputc('\n', f);
}

static void write_row(FILE *f, const struct bench_row *r)
{
    fprintf(f, "%s %s\n", r->is_kernel ? "kernel" : "time", r->name);
    if (r->file)
        fprintf(f, " at %s:%" PRIu32 "\n", r->file, r->line);
    if (r->kernel)
        fprintf(f, " name %s\n", r->kernel);
    fprintf(f, " key %016" PRIx64 "\n", r->key);
    if (!r->is_kernel) {
        fprintf(f, " calls %zu %zu\n", r->nmeasured, r->ndropped);
        write_numbers(f, "stretches", &r->stretches);
        write_numbers(f, "values", &r->values);
    }
    for (size_t i = 0; i < r->ncosts; i++)
        fprintf(f, " cost %s %.9g\n", r->costs[i].name, r->costs[i].value);
}

int set_write(const struct bench_set *s, const char *path)
{
    FILE *f = fopen(path, "w");
    if (!f)
        return complain("cannot write %s: %s", path, strerror(errno));
    fprintf(f, "%s\ngpu %s\nclock_khz %d\n", header, s->gpu, s->clock_khz);
    for (size_t i = 0; i < s->n; i++)
        write_row(f, &s->rows[i]);
    bool good = !ferror(f);
    if (fclose(f) != 0)
        good = false;
    return good ? GOOD : complain("cannot write %s: %s", path, strerror(errno));
}

void set_path(const struct bench_set *s, const char *given, char *out, size_t n)
{
    struct stat about;
    bool is_folder = stat(given, &about) == 0 && S_ISDIR(about.st_mode);
    size_t at = (size_t)snprintf(out, n, is_folder ? "%s/%s.txt" : "%s", given, s->gpu);
    for (size_t i = strlen(given) + 1; is_folder && i + 4 < at && i < n; i++)
        if (out[i] == ' ' || out[i] == '/')
            out[i] = '-';
}

/* -- reading -- */

/* If the first word of the line is `word`, returns the rest of the line, which may be ""; otherwise returns NULL.
 */
static char *after(char *line, const char *word)
{
    size_t n = strlen(word);
    if (strncmp(line, word, n) != 0 || (line[n] != ' ' && line[n] != '\0'))
        return NULL;
    return line + n + (line[n] == ' ');
}

/* Returns whether x is a plausible time in ms. */
static bool is_sane(double x)
{
    return x >= 0 && x < 1e12;
}

static bool read_numbers(struct numbers *to, char *s)
{
    char *end;
    while (*s) {
        double x = strtod(s, &end);
        if (end == s || !is_sane(x) || (*end != ' ' && *end))
            return false;
        add_numbers(to, &x, 1);
        s = end + strspn(end, " ");
    }
    return true;
}

static bool read_cost(struct bench_row *r, char *s)
{
    char *space = strchr(s, ' '), *end;
    if (!space)
        return false;
    *space = '\0';
    double value = strtod(space + 1, &end);
    row_set_cost(r, s, value);
    return end != space + 1 && !*end && isfinite(value);
}

static bool read_calls(struct bench_row *r, char *s)
{
    char *end;
    r->nmeasured += strtoul(s, &end, 10);
    r->ndropped += strtoul(end, &end, 10);
    return !*end;
}

/* Reads one of the lines that follow the first line of a row. */
static bool read_field(struct bench_row *r, char *line)
{
    char *s, *end;
    if ((s = after(line, " stretches")))
        return read_numbers(&r->stretches, s);
    if ((s = after(line, " values")))
        return read_numbers(&r->values, s);
    if ((s = after(line, " cost")))
        return read_cost(r, s);
    if ((s = after(line, " calls")))
        return read_calls(r, s);
    if ((s = after(line, " key"))) {
        r->key = strtoull(s, &end, 16);
        return end == s + 16 && !*end;
    }
    if ((s = after(line, " at"))) {
        char *colon = strrchr(s, ':');
        if (!colon)
            return false;
        *colon = '\0';
        row_place(r, s, (uint32_t)strtoul(colon + 1, NULL, 10));
        return true;
    }
    if (!(s = after(line, " name")))
        return false;
    free(r->kernel);
    r->kernel = copy_text(s);
    return true;
}

static bool read_line(struct bench_set *s, struct bench_row **row, char *line, char *other_gpu, size_t n)
{
    char *text;
    if ((text = after(line, "time")) || (text = after(line, "kernel"))) {
        *row = set_row(s, *line == 'k', text);
        return true;
    }
    if ((text = after(line, "gpu"))) {
        if (*s->gpu && strcmp(s->gpu, text) != 0)
            snprintf(other_gpu, n, "%s", text);
        else
            snprintf(s->gpu, sizeof s->gpu, "%s", text);
        return true;
    }
    if ((text = after(line, "clock_khz"))) {
        s->clock_khz = (int)strtol(text, NULL, 10);
        return true;
    }
    return *line == ' ' && *row && read_field(*row, line);
}

int set_read(struct bench_set *s, const char *path)
{
    size_t length = 0;
    char *text = read_file(path, &length), other_gpu[128] = "";
    struct bench_row *row = NULL;
    int result = GOOD, number = 0;
    if (!text)
        return complain("cannot read %s: %s%s", path, strerror(errno),
                        errno == ENOENT ? "; --record makes it" : "");
    set_begin_round(s);
    for (char *line = text, *next; *line && result == GOOD; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        number++;
        if (number == 1 ? strcmp(line, header) != 0 : !read_line(s, &row, line, other_gpu, sizeof other_gpu))
            result = complain("%s:%d: expected %s, found '%.60s'", path, number,
                              number == 1 ? "'neso bench 1'" : "a line of a baseline", line);
    }
    free(text);
    if (result == GOOD && number == 0)
        result = complain("%s is empty", path);
    if (result == GOOD && *other_gpu)
        result = complain("%s is of another GPU: %s, and this is %s; a baseline is for one GPU", path,
                          other_gpu, s->gpu);
    if (result == GOOD)
        set_join_variants(s);
    return result;
}
