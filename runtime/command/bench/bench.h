/* SPDX-License-Identifier: MIT */
/* bench.h: declares the data and functions that the files of `neso bench` share: sets of measurements and costs, and
 * verdicts. In reading order: bench.c (the command), cost.c (costs of PTX), set.c (files), pair.c, rules.c and judge.c
 * (verdicts), report.c, figure.c and history.c (output). */
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
    uint64_t key;  /* digest of the PTX; for a variant that a launch ran, digest of its counts */
    bool is_counted_only;
    char *variant; /* the passes that are left out of the variant that launches ran, "raise_tma_load,..."; NULL: none */
    struct numbers stretches, values; /* ms, of all rounds; see statistics.h */
    /* numbers of calls that were measured while the clock was throttled, and in total */
    size_t ndropped, nmeasured;
    size_t ncosts;
    struct cost *costs;
    int uses; /* how often the current round has used the row; a timed call that is used twice gets a second row */
};

/* All measurements of one build for some programs on one device. */
struct bench_set {
    char gpu[128]; /* "none": costs only */
    int clock_khz;
    size_t n;
    struct bench_row *rows;
};

/* -- set.c -- */

/* Does the same as realloc, but ends the process if there is no memory. */
void *grow(void *old, size_t bytes);
char *copy_text(const char *s);
void set_begin_round(struct bench_set *s);
/* Returns the row of a kernel or timed call; adds a row if there is none. If this round has used the name for an
 * earlier timed call, the row is named NAME#2, NAME#3, ... */
struct bench_row *set_row(struct bench_set *s, bool is_kernel, const char *name);
void row_place(struct bench_row *r, const char *file, uint32_t line);
/* Reduces the times of a round (see statistics.h) and adds them to the row. */
void row_add_times(struct bench_row *r, const double *ms, size_t n);
void row_set_cost(struct bench_row *r, const char *name, double value);
/* Returns the cost of that name; NULL: the row lacks it. A count of one line of the program has a name such as
 * "run.global_sectors@24". */
const double *row_cost(const struct bench_row *r, const char *name);
/* Adds the counts of variants to the rows of their kernels, and removes the variants' rows, which have names such as
 * "mm/matmul-93b0-without-persistent_grid". */
void set_join_variants(struct bench_set *s);
void set_free(struct bench_set *s);
/* These functions write and read sets as text. They return GOOD, or BAD after a message. set_read adds the file's rows
 * to the set; if the set already names a GPU, the file must name the same GPU. */
int set_write(const struct bench_set *s, const char *path);
int set_read(struct bench_set *s, const char *path);
/* Sets `out` to the path of the set: `given`, or, if `given` is a folder, the file of the set's GPU in it. */
void set_path(const struct bench_set *s, const char *given, char *out, size_t n);

/* -- cost.c -- */

/* Hashes PTX without the directives that only name its source. */
uint64_t ptx_digest(const char *ptx, uint64_t seed);
/* Adds the costs that are known without running the kernel; uses ptxas if it is installed and `assemble` is set. */
void cost_kernel(struct bench_row *r, neso_kernel *kernel, const char *ptx, bool assemble);

/* -- pair.c -- */

/* Sets of_candidate[i] to the partner of the candidate's row i, and of_base[i] to that of the base's row i; NULL: the
 * row has none. */
void pair_rows(const struct bench_set *candidate, const struct bench_set *base, const struct bench_row **of_candidate,
               const struct bench_row **of_base);

/* -- judge.c -- */

struct judged {
    const struct bench_row *row, *base; /* base NULL: the row is new */
    enum verdict verdict;
    bool same_key;
    struct comparison times; /* valid if the row has times and a base */
    char note[400];          /* "registers 32 -> 40; better: barriers 2 -> 1"; "" */
    /* the logarithm of the largest ratio among the costs that decided the verdict; 0: times decided it */
    double change;
    char largest[80];        /* the cost with this ratio, as in the note */
    uint32_t line;           /* the program's line where a count grew the most; 0: no count grew */
};

/* -- rules.c -- */

/* Is there a rule that decides verdicts by this cost, or by this count of a line? */
bool rules_tell(const char *name);
/* Is the second value of a cost better than the first? */
bool rules_is_better(const char *name, double from, double to);
/* Compares costs only. Sets the note to the costs that changed: first those that decide the verdict, then those that
 * grew within their bounds, then those that are better. */
enum verdict rules_compare(struct judged *x, double threshold);

/* A line "# bench: KERNEL COST <= N" of a program. */
struct bound {
    char *file;
    uint32_t line;
    char kernel[80], cost[40];
    double most;
    enum { BOUND_kept, BOUND_broken, BOUND_unknown } state;
    bool has_kernel; /* a kernel of that name was measured */
    double found; /* the worst found value */
};

struct judgement {
    const struct bench_set *candidate;
    bool has_base;
    size_t n;
    struct judged *rows; /* in the candidate's order */
    size_t nbounds;
    struct bound *bounds;
    size_t nmissing; /* how many rows of the base were not measured now */
    const struct bench_row **missing;
    const char *lacking; /* a cost that the base has and the candidate lacks; NULL: none */
    const struct bench_row *lacks; /* the candidate's row that lacks it */
    bool allow_missing; /* the option --allow-missing */
    size_t counts[4];   /* the number of rows with each verdict */
};

struct rules {
    double threshold; /* 0.02 */
    bool blind;       /* compare times even if the PTX is the same */
    bool allow_missing; /* missing measurements do not change the exit status */
};

/* Reads a text with one bound in each line. Returns GOOD, or BAD after a message about a line that is wrong. */
int bounds_read(struct judgement *j, const char *path, const char *text);
void judge(struct judgement *j, const struct bench_set *candidate, const struct bench_set *base,
           const struct rules *rules);
/* Returns the exit status of `neso bench`: 0 (GOOD), 1 (something is slower, or a bound is broken), 3 (undecided) or
 * 4 (incomplete). */
int judgement_status(const struct judgement *j);
void judgement_free(struct judgement *j);

/* -- figure.c -- */
/* A cost that the figure and the Markdown table show, with its label. */
struct figure_cost {
    const char *name, *words;
};
const struct figure_cost *figure_costs(size_t *n);
enum { COST_TEXT = 32 };
/* Writes a cost to `out`, which has COST_TEXT bytes, and returns `out`: "24580", "7.34", and, if is_short is true,
 * "1.18M". */
const char *cost_text(char *out, double value, bool is_short);
/* Do the costs differ by more than the rounding to the nine digits that files store? */
bool cost_differs(double was, double now);
/* Returns the highest value of a cost among all kernels of the candidate and of the base; 0: no kernel has the cost,
 * or all have 0. */
double figure_highest(const struct judgement *j, const char *name);
void report_figure(const struct judgement *j, FILE *f);

/* -- history.c -- */
/* Does the present commit have a name? Returns BAD after a message if not. */
int history_check(const struct given *g);
/* Adds the set to the folder of --history, under the present commit. */
int history_add(const struct given *g, const struct bench_set *set);
/* Writes the page of the folder. */
int history_show(const struct given *g, const struct rules *rules);

/* -- report.c -- */
void put_xml(FILE *f, const char *s);

void report_table(const struct judgement *j, FILE *f);
void report_annotations(const struct judgement *j, FILE *f);
/* Writes the files that the command line names. */
int report_files(const struct given *g, const struct judgement *j);

#endif
