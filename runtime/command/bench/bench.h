/* SPDX-License-Identifier: MIT */
/* bench.h: declares the data and functions that the files of `neso bench` share: sets of measurements and costs, and
 * verdicts. The files in reading order are bench.c (the command), cost.c (costs of PTX), set.c (files with
 * measurements), pair.c, rules.c and judge.c (verdicts), report.c, figure.c and history.c (output). */
#ifndef NESO_RUNTIME_COMMAND_BENCH_H
#define NESO_RUNTIME_COMMAND_BENCH_H

#include "runtime/command/command.h"
#include "runtime/command/bench/statistics.h"

#include <stdio.h>

struct numbers {
    size_t n;
    double *at;
};

/* A cost of a kernel: "registers", "spill_bytes", or a count of the emulator. */
struct cost {
    char name[40];
    double value;
};

/* A timed call, or a kernel with its costs. */
struct bench_row {
    bool is_kernel;
    char *name; /* "softmax/softmax-performance/N=1024/Triton", "softmax/softmax_kernel-028eb708fcffe6c5" */
    char *file;
    uint32_t line; /* 0: unknown */
    char *kernel;  /* if is_kernel: the kernel's name in the source */
    uint64_t key;  /* a digest of the PTX; if is_counted_only, a digest of the counts */
    bool is_counted_only; /* the row is of a variant that a launch ran; only its counts are known */
    char *variant; /* the passes that are left out of the variant that launches ran, "raise_tma_load,..."; NULL: none */
    struct numbers stretches, values; /* times in ms of all rounds, reduced (statistics.h) */
    /* the number of calls whose times were discarded because the clock was throttled, and the number of all measured
     * calls */
    size_t ndropped, nmeasured;
    size_t ncosts;
    struct cost *costs;
    /* how often the current round has used the row; a second timed call with the same name gets its own row */
    int uses;
};

/* All measurements of one build for some programs on one device. */
struct bench_set {
    char gpu[128]; /* the GPU's name; "none": nothing was timed */
    int clock_khz;
    size_t n;
    struct bench_row *rows;
};

/* -- set.c -- */

/* Like realloc, but ends the process if there is no memory. */
void *grow(void *old, size_t bytes);
/* Returns a copy of a string, which the caller frees. */
char *copy_text(const char *s);
/* Sets `uses` of all rows to 0. */
void set_begin_round(struct bench_set *s);
/* Returns the row of a kernel or timed call; adds a row if there is none. If an earlier timed call of this round has
 * the same name, the row is named NAME#2, NAME#3, ... */
struct bench_row *set_row(struct bench_set *s, bool is_kernel, const char *name);
void row_place(struct bench_row *r, const char *file, uint32_t line);
/* Reduces the n times of a round to medians and quantiles (statistics.h), and adds these to the row. */
void row_add_times(struct bench_row *r, const double *ms, size_t n);
void row_set_cost(struct bench_row *r, const char *name, double value);
/* Returns the value of the cost with this name; NULL if the row lacks it. A count of the emulator for line 24 of the
 * program has a name such as "run.global_sectors@24". */
const double *row_cost(const struct bench_row *r, const char *name);
/* Adds the counts of each variant to the row of its kernel, and removes the variant's own row, which has a name such
 * as "mm/matmul-93b0-without-persistent_grid". */
void set_join_variants(struct bench_set *s);
void set_free(struct bench_set *s);
/* These functions write and read sets as text. They return GOOD, or BAD after a message. set_read adds the rows of the
 * file to the set; if the set already names a GPU, the file must name the same GPU. */
int set_write(const struct bench_set *s, const char *path);
int set_read(struct bench_set *s, const char *path);
/* Sets `out` to the path of the set's file. The path is `given`, or, if `given` is a folder, a file in this folder
 * that is named after the set's GPU. */
void set_path(const struct bench_set *s, const char *given, char *out, size_t n);

/* -- cost.c -- */

/* Returns a hash of PTX; ignores directives and comments that only describe the source code. To hash several
 * texts, pass the hash of one as the `seed` of the next; the first seed is 0. */
uint64_t ptx_digest(const char *ptx, uint64_t seed);
/* Sets the row's key, and the costs that are known without running the kernel. If `assemble` is true and
 * ptxas is installed, these include the registers and spills that ptxas reports. */
void cost_kernel(struct bench_row *r, neso_kernel *kernel, const char *ptx, bool assemble);

/* -- pair.c -- */

/* Sets of_candidate[i] to the row of the base with which the candidate's row i is compared, and of_base[i] to the row
 * of the candidate with which the base's row i is compared; NULL if there is none. */
void pair_rows(const struct bench_set *candidate, const struct bench_set *base, const struct bench_row **of_candidate,
               const struct bench_row **of_base);

/* -- judge.c -- */

struct judged {
    const struct bench_row *row, *base; /* the candidate's row, and its partner in the base; NULL: none */
    enum verdict verdict;
    bool same_key;           /* both rows have the same key */
    struct comparison times; /* valid if both `row` and `base` have times */
    char note[400];          /* "registers 32 -> 40; better: barriers 2 -> 1"; may be "" */
    /* the largest absolute logarithm of the ratio of candidate to base among the costs that decided the verdict; 0 if
     * times decided the verdict */
    double change;
    char largest[80];        /* the change of the cost with this ratio, as in the note */
    uint32_t line;           /* the program's line where a count grew the most; 0: no count grew */
};

/* -- rules.c -- */

/* Returns whether there is a rule for the cost with this name. A count for one line of the program, such as
 * "run.global_sectors@24", has the rule of the count for the whole kernel. */
bool rules_tell(const char *name);
/* Returns whether the value `to` of a cost is better than the value `from`. */
bool rules_is_better(const char *name, double from, double to);
/* Returns the verdict by costs alone. Sets x->note to the costs that changed: first the costs that decide the verdict,
 * then the costs that grew within the bounds of their rules, then the costs that are better. */
enum verdict rules_compare(struct judged *x, double threshold);

/* A line "# bench: KERNEL COST <= N" of a program. */
struct bound {
    char *file;
    uint32_t line;
    char kernel[80], cost[40];
    double most;
    enum { BOUND_kept, BOUND_broken, BOUND_unknown } state;
    bool has_kernel; /* a kernel with this name was measured */
    double found; /* the highest value that was measured */
};

struct judgement {
    const struct bench_set *candidate;
    bool has_base;
    size_t n;
    struct judged *rows; /* in the candidate's order */
    size_t nbounds;
    struct bound *bounds;
    size_t nmissing; /* the number of rows of the base without a partner in the candidate */
    const struct bench_row **missing;
    const char *lacking; /* a cost that a row of the base has, and that its partner lacks; NULL: none */
    const struct bench_row *lacks; /* the row of the candidate that lacks this cost */
    bool allow_missing; /* the option --allow-missing */
    size_t counts[4];   /* the number of rows with each verdict */
};

struct rules {
    double threshold; /* the least relative change that counts: 0.02 is 2 % */
    bool blind;       /* compare times even if the PTX is the same, instead of assuming equal speed */
    bool allow_missing; /* missing measurements do not change the exit status */
};

/* Reads the bounds that a text declares, at most one in each line. Returns GOOD, or BAD after a message about a
 * malformed bound. */
int bounds_read(struct judgement *j, const char *path, const char *text);
/* Gives each row of the candidate a verdict, and checks the bounds. `base` NULL: there is no base. */
void judge(struct judgement *j, const struct bench_set *candidate, const struct bench_set *base,
           const struct rules *rules);
/* Returns the exit status of `neso bench`: 0 (GOOD), 1 (something is slower, or a bound is broken), 3 (undecided) or
 * 4 (incomplete). */
int judgement_status(const struct judgement *j);
void judgement_free(struct judgement *j);

/* -- figure.c -- */
/* A cost that the figure and the Markdown table show (`name`), with its label (`words`). */
struct figure_cost {
    const char *name, *words;
};
const struct figure_cost *figure_costs(size_t *n);
enum { COST_TEXT = 32 };
/* Writes a cost to `out`, which has COST_TEXT bytes, and returns `out`: "24580", "7.34", and, if is_short is true,
 * "1.18M". */
const char *cost_text(char *out, double value, bool is_short);
/* Returns whether two values of a cost differ. Ignores differences that come from the rounding to nine digits
 * in files. */
bool cost_differs(double was, double now);
/* Returns the highest value of a cost among all kernels of the candidate and of the base; 0 if no kernel has the
 * cost. */
double figure_highest(const struct judgement *j, const char *name);
void report_figure(const struct judgement *j, FILE *f);

/* -- history.c -- */
/* Checks that the present commit has a name (see name_commit). Returns BAD after a message if it has none. */
int history_check(const struct given *g);
/* Writes the set to the folder of --history, as the measurements of the present commit. */
int history_add(const struct given *g, const struct bench_set *set);
/* Writes the page that shows all measurements in the folder. */
int history_show(const struct given *g, const struct rules *rules);

/* -- report.c -- */
/* Writes a text with the escapes of XML. */
void put_xml(FILE *f, const char *s);

void report_table(const struct judgement *j, FILE *f);
void report_annotations(const struct judgement *j, FILE *f);
/* Writes the files that the options --json, --google-json, --junit, --markdown and --svg name. */
int report_files(const struct given *g, const struct judgement *j);

#endif
