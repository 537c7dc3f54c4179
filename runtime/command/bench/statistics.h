/* SPDX-License-Identifier: MIT */
/* statistics.h: declares the statistics that `neso bench` uses for verdicts: pure functions that compare two sets of
 * times.
 *
 * A set is the reduced form of a benchmark's times: medians of stretches of consecutive calls, and evenly
 * spaced quantiles. */
#ifndef NESO_RUNTIME_STATISTICS_H
#define NESO_RUNTIME_STATISTICS_H

#include <stdbool.h>
#include <stddef.h>

enum { STATISTICS_STRETCHES = 5, STATISTICS_QUANTILES = 33 }; /* the largest numbers for one round */

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
    double low, high;       /* the interval of the change */
    double p;               /* the probability of such a difference between equal kernels, by Mann and Whitney's test */
};

void statistics_sort(double *x, size_t n);
/* Returns the q-quantile, 0 <= q <= 1, of n >= 1 numbers, which are sorted. */
double statistics_quantile(const double *sorted, size_t n, double q);
/* Removes stretches that ran while the clock was throttled, in place and in order; returns how many times are
 * left. */
size_t statistics_steady(double *times, size_t n);
/* Reduces the n times of a round, given in order, to at most STATISTICS_STRETCHES medians of stretches and at most
 * STATISTICS_QUANTILES quantiles. `scratch` has room for n numbers. */
void statistics_keep(const double *times, size_t n, double *scratch, double *stretches, size_t *nstretches,
                     double *quantiles, size_t *nquantiles);
/* Returns the two-sided probability of Mann and Whitney's test. `scratch` has room for 2 * (na + nb) numbers. */
double statistics_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *scratch);
/* Compares two sets of times. `floor` is the least difference of the medians that counts, in the unit of the times.
 * `scratch` has room for twice all values of both sets, and for the stretches of each. */
struct comparison statistics_compare(const struct times *base, const struct times *candidate, double floor,
                                     double *scratch);

#endif
