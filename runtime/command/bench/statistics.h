/* SPDX-License-Identifier: MIT */
/* statistics.h: declares the functions by which `neso bench` compares two sets of times.
 *
 * A set does not contain all times of a benchmark, but two reduced forms: the medians of a few stretches of
 * consecutive calls, and evenly spaced quantiles of all times. */
#ifndef NESO_RUNTIME_STATISTICS_H
#define NESO_RUNTIME_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

/* the largest numbers of medians and quantiles for one round */
enum { STATISTICS_STRETCHES = 5, STATISTICS_QUANTILES = 33 };

struct times {
    const double *stretches; /* medians of stretches */
    size_t nstretches;
    const double *values; /* quantiles, which represent the times */
    size_t nvalues;
};

enum verdict { VERDICT_same, VERDICT_faster, VERDICT_slower, VERDICT_undecided };
extern const char *const verdict_words[]; /* "SAME", ... */

struct comparison {
    enum verdict verdict;
    double base, candidate; /* medians */
    double change;          /* candidate / base - 1 */
    double low, high;       /* the confidence interval of the change */
    /* the probability that times of equal kernels differ this much or more, by Mann and Whitney's test */
    double p;
};

void statistics_sort(double *x, size_t n);
/* Returns the q-quantile (0 <= q <= 1) of n >= 1 sorted numbers. */
double statistics_quantile(const double *sorted, size_t n, double q);
/* Removes, in place, the times that were measured while the clock was throttled, and keeps the order of the remaining
 * times. Returns the number of remaining times. */
size_t statistics_steady(double *times, size_t n);
/* Reduces the n times of a round, given in order, to at most STATISTICS_STRETCHES medians of stretches and at most
 * STATISTICS_QUANTILES quantiles. `scratch` has room for n numbers. */
void statistics_keep(const double *times, size_t n, double *scratch, double *stretches, size_t *nstretches,
                     double *quantiles, size_t *nquantiles);
/* Returns the two-sided p-value of Mann and Whitney's test on the samples a and b. `scratch` has room for 2 * (na +
 * nb) numbers. */
double statistics_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *scratch);
/* Compares two sets of times. A difference of the medians that is not more than `floor`, in the unit of the times,
 * does not count. `scratch` has room for two numbers for each value of both sets, and for at least as many
 * numbers as a set has stretches. */
struct comparison statistics_compare(const struct times *base, const struct times *candidate, double floor,
                                     double *scratch);

#endif
