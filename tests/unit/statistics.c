/* SPDX-License-Identifier: MIT */
/* statistics.c (test): tests the verdicts of statistics.c on simulated timings. Like timings on GPUs, the simulated
 * timings have a skewed distribution, outliers and a limited resolution. They drift, and their mean differs between
 * rounds. */
#include "runtime/command/bench/statistics.h"
#include "tests/unit/test.h"

#include <math.h>

enum { ROUNDS = 3, CALLS = 400, TRIALS = 200 };

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *state)
{
    double r = sqrt(-2 * log(uniform(state)));
    return r * cos(6.283185307179586 * uniform(state));
}

struct sample {
    double stretches[ROUNDS * STATISTICS_STRETCHES], values[ROUNDS * STATISTICS_QUANTILES];
    struct times times;
};

/* Simulates timings of a kernel that takes `ms` milliseconds, with 0.7 % noise, 0.3 % drift, a difference of 0.3 %
 * between rounds, one call in 50 up to 40 % slower, and a resolution of 32 ns. */
static void simulate(struct sample *s, double ms, uint64_t *state)
{
    s->times = (struct times){s->stretches, 0, s->values, 0};
    for (int round = 0; round < ROUNDS; round++) {
        double times[CALLS], scratch[CALLS], level = ms * (1 + 0.003 * normal(state)), drift = 0;
        size_t nstretches, nvalues;
        for (int i = 0; i < CALLS; i++) {
            drift = 0.98 * drift + 0.0006 * normal(state);
            double x = level * (1 + drift + 0.007 * normal(state));
            if (uniform(state) < 0.02)
                x *= 1 + 0.4 * uniform(state);
            times[i] = floor(x / 32e-6 + 0.5) * 32e-6;
        }
        statistics_keep(times, statistics_steady(times, CALLS), scratch, s->stretches + s->times.nstretches,
                        &nstretches, s->values + s->times.nvalues, &nvalues);
        s->times.nstretches += nstretches;
        s->times.nvalues += nvalues;
    }
}

static int verdicts[4];

/* Compares, many times, a kernel that takes `ms` milliseconds with a kernel that takes `factor` times as long, and
 * counts the verdicts. */
static void compare_often(double ms, double factor, uint64_t seed)
{
    static struct sample base, candidate;
    static double scratch[4 * ROUNDS * STATISTICS_QUANTILES];
    memset(verdicts, 0, sizeof verdicts);
    for (int i = 0; i < TRIALS; i++) {
        simulate(&base, ms, &seed);
        simulate(&candidate, ms * factor, &seed);
        struct comparison c =
            statistics_compare(&base.times, &candidate.times, fmax(0.02 * ms, 30 / 1.98e6), scratch);
        verdicts[c.verdict]++;
    }
}

TEST(equals_are_never_slower)
{
    static const double sizes[] = {0.004, 0.05, 2.5};
    for (int i = 0; i < 3; i++) {
        compare_often(sizes[i], 1, (uint64_t)i + 1);
        CHECK_INT(verdicts[VERDICT_slower], 0);
        CHECK_INT(verdicts[VERDICT_faster], 0);
        CHECK(verdicts[VERDICT_same] > TRIALS * 8 / 10);
    }
}

TEST(three_percent_are_caught)
{
    static const double sizes[] = {0.004, 0.05, 2.5};
    for (int i = 0; i < 3; i++) {
        compare_often(sizes[i], 1.03, (uint64_t)i + 10);
        CHECK(verdicts[VERDICT_slower] >= TRIALS * 19 / 20);
        compare_often(sizes[i], 1 / 1.035, (uint64_t)i + 20);
        CHECK(verdicts[VERDICT_faster] >= TRIALS * 19 / 20);
    }
}

TEST(less_than_the_floor_does_not_count)
{
    compare_often(0.05, 1.008, 31);
    CHECK_INT(verdicts[VERDICT_slower], 0);
}

TEST(thirty_cycles_are_no_difference)
{
    double base[33], candidate[33], scratch[132], floor_ms = 30 / 1.98e6;
    for (int i = 0; i < 33; i++) {
        base[i] = 4e-4 + 1e-8 * i;
        candidate[i] = base[i] + 0.9 * floor_ms; /* slower by 3.4 %, but by less than the floor */
    }
    struct times x = {base, 33, base, 33}, y = {candidate, 33, candidate, 33};
    CHECK_INT(statistics_compare(&x, &y, floor_ms, scratch).verdict, VERDICT_same);
    CHECK_INT(statistics_compare(&x, &y, floor_ms / 2, scratch).verdict, VERDICT_slower);
}

TEST(a_throttled_stretch_is_dropped)
{
    double times[320];
    for (int i = 0; i < 320; i++)
        times[i] = (i >= 160 && i < 224 ? 1.3 : 1) * (1 + 0.001 * (i % 7));
    CHECK_INT(statistics_steady(times, 320), 256);
    for (int i = 0; i < 256; i++)
        CHECK(times[i] < 1.1);
    times[100] = 9; /* a single slow call */
    CHECK_INT(statistics_steady(times, 256), 256);
}

TEST(quantiles)
{
    double x[] = {5, 1, 4, 2, 3};
    statistics_sort(x, 5);
    CHECK(x[0] <= 1 && x[4] >= 5);
    CHECK(fabs(statistics_quantile(x, 5, 0.5) - 3) < 1e-12);
    CHECK(fabs(statistics_quantile(x, 5, 0.125) - 1.5) < 1e-12);
    CHECK(fabs(statistics_quantile(x, 5, 1) - 5) < 1e-12);
    CHECK(fabs(statistics_quantile(x, 1, 0.3) - 1) < 1e-12);
}

/* In U = 5 of the 25 pairs, the element of a is larger: z = (12.5 - 5 - 0.5) / sqrt(25 * 11 / 12) = 1.462. If all
 * values are equal, p must be 1. */
TEST(ranks)
{
    const double a[] = {1, 2, 3, 4, 8}, b[] = {3.5, 5, 6, 7, 9}, same[] = {2, 2, 2};
    double scratch[20];
    CHECK(fabs(statistics_mann_whitney(a, 5, b, 5, scratch) - erfc(7 / sqrt(25 * 11 / 6.0))) < 1e-9);
    CHECK(fabs(statistics_mann_whitney(b, 5, a, 5, scratch) - erfc(7 / sqrt(25 * 11 / 6.0))) < 1e-9);
    CHECK(statistics_mann_whitney(same, 3, same, 3, scratch) >= 1);
}

TEST(one_time_each)
{
    const double a[] = {1}, b[] = {2};
    double scratch[8];
    struct times x = {a, 1, a, 1}, y = {b, 1, b, 1};
    CHECK_INT(statistics_compare(&x, &y, 0.02, scratch).verdict, VERDICT_undecided);
    CHECK_INT(statistics_compare(&x, &x, 0.02, scratch).verdict, VERDICT_same);
}
