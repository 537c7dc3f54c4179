/* SPDX-License-Identifier: MIT */
/* statistics.c: decides whether the candidate's times are slower than the base's. The distribution of
 * measured times is skewed, drifts and has outliers, and times are multiples of the clock's resolution. So
 * this file uses only medians and ranks, on which a few outliers have little effect.
 *
 * The times of one round are in the order of measurement. Consecutive times are correlated, because they have similar
 * clock rates and temperatures. So n consecutive times carry less information than n independent times. Each round is
 * therefore divided into five stretches of consecutive times, and confidence intervals are computed from the medians
 * of these stretches, which are nearly independent.
 *
 *     SLOWER     the candidate's median is larger by more than `floor`, its interval lies above the base's interval,
 *                and the ranks differ (p < 0.001)
 *     FASTER     the candidate's median is smaller by more than `floor`, its interval lies below the base's
 *                interval, and the ranks differ
 *     SAME       the interval of the difference lies within -floor to floor
 *     UNDECIDED  none of these: more rounds may decide
 *
 *     base        ├──●──┤
 *     candidate            ├───●───┤        p = 3e-7:  SLOWER
 *
 * Mann & Whitney, On a test of whether one of two random variables is stochastically larger than the other,
 * 1947. */
#include "runtime/command/bench/statistics.h"

#include <math.h>

const char *const verdict_words[] = {"SAME", "FASTER", "SLOWER", "UNDECIDED"};

void statistics_sort(double *x, size_t n)
{
    for (size_t gap = n / 2; gap > 0; gap /= 2) /* Shell 1959 */
        for (size_t i = gap; i < n; i++) {
            double value = x[i];
            size_t k = i;
            for (; k >= gap && x[k - gap] > value; k -= gap)
                x[k] = x[k - gap];
            x[k] = value;
        }
}

double statistics_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]) : sorted[n - 1];
}

static double median(const double *x, size_t n, double *scratch)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = x[i];
    statistics_sort(scratch, n);
    return statistics_quantile(scratch, n, 0.5);
}

/* -- reduction of a round -- */

/* A throttled clock slows down all calls for a while. So all calls of a stretch (here, of 16 calls) are removed if
 * even its fastest call takes more than 1.05 times the usual time. The usual time is the median of the
 * fastest times of all stretches. A single slow call therefore has no effect. */
size_t statistics_steady(double *times, size_t n)
{
    enum { STRETCH = 16, MOST = 4096 };
    double fastest[MOST], scratch[MOST];
    size_t stretches = n / STRETCH < MOST ? n / STRETCH : MOST, left = 0;
    if (stretches < 3)
        return n;
    for (size_t i = 0; i < stretches; i++) {
        size_t end = i + 1 == stretches ? n : (i + 1) * STRETCH;
        fastest[i] = times[i * STRETCH];
        for (size_t k = i * STRETCH; k < end; k++)
            fastest[i] = fmin(fastest[i], times[k]);
    }
    double usual = median(fastest, stretches, scratch);
    for (size_t k = 0; k < n; k++) {
        size_t i = k / STRETCH < stretches ? k / STRETCH : stretches - 1;
        if (fastest[i] <= 1.05 * usual)
            times[left++] = times[k];
    }
    return left;
}

void statistics_keep(const double *times, size_t n, double *scratch, double *stretches, size_t *nstretches,
                     double *quantiles, size_t *nquantiles)
{
    *nstretches = n < STATISTICS_STRETCHES ? n : STATISTICS_STRETCHES;
    *nquantiles = n < STATISTICS_QUANTILES ? n : STATISTICS_QUANTILES;
    for (size_t i = 0; i < *nstretches; i++) {
        size_t from = n * i / *nstretches, to = n * (i + 1) / *nstretches;
        stretches[i] = median(times + from, to - from, scratch);
    }
    for (size_t i = 0; i < n; i++)
        scratch[i] = times[i];
    statistics_sort(scratch, n);
    for (size_t i = 0; i < *nquantiles; i++)
        quantiles[i] = statistics_quantile(scratch, n, ((double)i + 0.5) / (double)*nquantiles);
}

/* -- comparing -- */

/* Sets *low and *high to the 99 % confidence interval of the median of all times. The ends of the interval are two of
 * the sorted medians of stretches, because the number of these medians that are below the true median has a
 * binomial distribution. `scratch` has room for all medians. */
static void interval(const struct times *t, double *scratch, double *low, double *high)
{
    double n = (double)t->nstretches, reach = (n - 2.576 * sqrt(n)) / 2 - 1;
    size_t cut = reach > 0 ? (size_t)reach : 0;
    for (size_t i = 0; i < t->nstretches; i++)
        scratch[i] = t->stretches[i];
    statistics_sort(scratch, t->nstretches);
    *low = scratch[cut];
    *high = scratch[t->nstretches - 1 - cut];
}

/* Approximates the distribution of the statistic U by a normal distribution, whose variance is corrected for ties. */
double statistics_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *scratch)
{
    size_t n = na + nb, below = 0, nsorted = 0;
    double *all = scratch, *sorted = scratch + n, u = 0, ties = 0;
    for (size_t i = 0; i < n; i++)
        all[i] = i < na ? a[i] : b[i - na];
    statistics_sort(all, n);
    for (size_t i = 0; i < na; i++)
        sorted[nsorted++] = a[i];
    statistics_sort(sorted, na);
    for (size_t i = 0, k = 0; i < n; i = k) {
        size_t here = below;
        for (k = i; k < n && all[k] <= all[i]; k++)
            ;
        while (below < na && sorted[below] <= all[i])
            below++;
        double same = (double)(k - i), of_a = (double)(below - here), of_b = same - of_a;
        /* U is the number of pairs in which the element of a is less than the element of b, plus half the number of
         * pairs of equal elements */
        u += of_b * ((double)here + of_a / 2);
        ties += same * same * same - same;
    }
    double x = (double)na, y = (double)nb, all_n = x + y;
    double variance = x * y / 12 * (all_n + 1 - ties / (all_n * (all_n - 1)));
    return variance > 0 ? erfc(fmax(fabs(u - x * y / 2) - 0.5, 0) / sqrt(2 * variance)) : 1;
}

struct comparison statistics_compare(const struct times *base, const struct times *candidate, double floor,
                                     double *scratch)
{
    const double most_likely = 1e-3;
    double low[2], high[2];
    struct comparison c;
    interval(base, scratch, &low[0], &high[0]);
    interval(candidate, scratch, &low[1], &high[1]);
    c.base = median(base->stretches, base->nstretches, scratch);
    c.candidate = median(candidate->stretches, candidate->nstretches, scratch);
    c.change = c.candidate / c.base - 1;
    c.low = low[1] / high[0] - 1;
    c.high = high[1] / low[0] - 1;
    c.p =
        statistics_mann_whitney(base->values, base->nvalues, candidate->values, candidate->nvalues, scratch);
    bool differ = c.p < most_likely;
    if (differ && low[1] > high[0] && c.candidate - c.base > floor)
        c.verdict = VERDICT_slower;
    else if (differ && high[1] < low[0] && c.base - c.candidate > floor)
        c.verdict = VERDICT_faster;
    else if (high[1] - low[0] <= floor && high[0] - low[1] <= floor)
        c.verdict = VERDICT_same;
    else
        c.verdict = VERDICT_undecided;
    return c;
}
