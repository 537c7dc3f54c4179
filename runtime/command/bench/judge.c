/* SPDX-License-Identifier: MIT */
/* judge.c: compares the candidate's set with the base's set, and gives each row a verdict.
 *
 * pair.c pairs the rows of the two sets. The verdict on a pair with times comes from statistics.c; but
 * without --blind, it is SAME if both rows have the same PTX. If nothing was timed, the rules of rules.c
 * decide by costs. If the candidate lacks a row of the base, the comparison is incomplete, for which there is
 * an exit status. Bounds that a program declares are checked even if there is no base:
 *
 *     # bench: softmax_kernel registers <= 32
 *     # bench: softmax_kernel run.shared_conflicts <= 0 */
#include "runtime/command/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- bounds -- */

/* Returns whether the line, which begins with "# bench", is a bound without its colon, which is a typing
 * error: "# bench softmax_kernel registers <= 32". */
static bool is_bound_without_colon(const char *s)
{
    const char *sign = strstr(s, "<=");
    return s[7] == ' ' && sign && (size_t)(sign - s) < strcspn(s, "\n");
}

int bounds_read(struct judgement *j, const char *path, const char *text)
{
    uint32_t number = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != '\0') {
        struct bound b = {.line = ++number, .state = BOUND_unknown};
        char rest;
        const char *s = line + strspn(line, " \t");
        if (strncmp(s, "# bench", 7) != 0 || (s[7] != ':' && !is_bound_without_colon(s)))
            continue;
        char copy[200];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(s, "\r\n"), s);
        int n = s[7] == ':' ? sscanf(copy + 8, " %79s %39s <= %lf %c", b.kernel, b.cost, &b.most, &rest) : 0;
        if (n != 3)
            return complain("%s:%u: expected '# bench: KERNEL COST <= NUMBER', found '%s'", path,
                            (unsigned)number, copy);
        b.file = copy_text(path);
        j->bounds = grow(j->bounds, (j->nbounds + 1) * sizeof *j->bounds);
        j->bounds[j->nbounds++] = b;
    }
    return GOOD;
}

static void judge_bound(struct bound *b, const struct bench_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct bench_row *r = &set->rows[i];
        if (!r->is_kernel || !r->kernel || strcmp(r->kernel, b->kernel) != 0)
            continue;
        const double *found = row_cost(r, b->cost);
        b->has_kernel = true;
        if (!found)
            continue;
        b->found = b->state == BOUND_unknown ? *found : fmax(b->found, *found);
        b->state = b->found > b->most ? BOUND_broken : BOUND_kept;
    }
}

/* -- times -- */

static enum verdict compare_times(struct judged *x, const struct bench_row *base, int clock_khz,
                                  const struct rules *rules)
{
    enum { FEW_CYCLES = 30 };
    const struct bench_row *r = x->row;
    struct times from = {base->stretches.at, base->stretches.n, base->values.at, base->values.n};
    struct times to = {r->stretches.at, r->stretches.n, r->values.at, r->values.n};
    if (!from.nstretches || !to.nstretches || !from.nvalues || !to.nvalues) {
        snprintf(x->note, sizeof x->note, "the base has no times");
        return VERDICT_undecided;
    }
    double *scratch =
        grow(NULL, 2 * (from.nstretches + to.nstretches + from.nvalues + to.nvalues) * sizeof *scratch);
    double cycles = clock_khz > 0 ? FEW_CYCLES / (double)clock_khz : 0; /* in ms */
    struct comparison c = statistics_compare(&from, &to, 0, scratch);
    x->times = statistics_compare(&from, &to, fmax(rules->threshold * c.base, cycles), scratch);
    free(scratch);
    if (r->ndropped * 2 > r->nmeasured) {
        snprintf(x->note, sizeof x->note, "the clock was held down most of the time");
        return VERDICT_undecided;
    }
    return x->same_key && !rules->blind ? VERDICT_same : x->times.verdict;
}

/* -- all -- */

static void judge_row(struct judgement *j, struct judged *x, const struct rules *rules)
{
    const struct bench_row *old = x->base;
    bool has_times = strcmp(j->candidate->gpu, "none") != 0;
    if (!old)
        return;
    x->same_key = old->key == x->row->key;
    if (strcmp(old->name, x->row->name) != 0)
        snprintf(x->note, sizeof x->note, "was %.120s",
                 strchr(old->name, '/') ? strchr(old->name, '/') + 1 : old->name);
    if (!x->row->is_kernel)
        x->verdict = compare_times(x, old, j->candidate->clock_khz, rules);
    else if (!x->same_key)
        x->verdict = rules_compare(x, rules->threshold);
    if (x->row->is_kernel && has_times)
        x->verdict = VERDICT_same; /* times decide the verdict; the note still shows the costs */
    j->counts[x->verdict]++;
}

/* Returns whether a row of the base without a partner counts as a missing measurement. A kernel's row counts only if
 * the candidate was measured without a GPU, because otherwise times decide. */
static bool is_missed(const struct bench_row *r, const struct bench_set *candidate)
{
    return !r->is_kernel || strcmp(candidate->gpu, "none") == 0;
}

static void judge_rows(struct judgement *j, const struct bench_set *base, const struct rules *rules)
{
    const struct bench_row **of_candidate = grow(NULL, j->n * sizeof(*of_candidate));
    const struct bench_row **of_base = grow(NULL, base->n * sizeof(*of_base));
    pair_rows(j->candidate, base, of_candidate, of_base);
    for (size_t i = 0; i < j->n; i++) {
        j->rows[i].base = of_candidate[i];
        judge_row(j, &j->rows[i], rules);
    }
    j->missing = grow(j->missing, base->n * sizeof(*j->missing));
    for (size_t i = 0; i < base->n; i++)
        if (!of_base[i] && is_missed(&base->rows[i], j->candidate))
            j->missing[j->nmissing++] = &base->rows[i];
    free(of_candidate);
    free(of_base);
}

/* Returns the first cost that a row of the base has and its partner in the candidate lacks, and sets *row to this
 * partner. Considers only costs that can decide a verdict. Returns NULL if there is no such cost. */
static const char *find_lacking(const struct judgement *j, const struct bench_row **row)
{
    for (size_t i = 0; i < j->n; i++) {
        const struct bench_row *base = j->rows[i].base;
        for (size_t k = 0; base && base->is_kernel && is_missed(base, j->candidate) && k < base->ncosts; k++)
            if (rules_tell(base->costs[k].name) && !strchr(base->costs[k].name, '@') &&
                !row_cost(j->rows[i].row, base->costs[k].name)) {
                *row = j->rows[i].row;
                return base->costs[k].name;
            }
    }
    return NULL;
}

void judge(struct judgement *j, const struct bench_set *candidate, const struct bench_set *base,
           const struct rules *rules)
{
    free(j->rows);
    memset(j->counts, 0, sizeof j->counts);
    j->candidate = candidate;
    j->has_base = base != NULL;
    j->allow_missing = rules->allow_missing;
    j->n = candidate->n;
    j->nmissing = 0;
    j->rows = grow(NULL, j->n * sizeof *j->rows);
    for (size_t i = 0; i < j->n; i++)
        j->rows[i] = (struct judged){.row = &candidate->rows[i]};
    if (base)
        judge_rows(j, base, rules);
    j->lacking = find_lacking(j, &j->lacks);
    for (size_t i = 0; i < j->nbounds; i++) {
        j->bounds[i].state = BOUND_unknown;
        j->bounds[i].has_kernel = false;
        judge_bound(&j->bounds[i], candidate);
    }
}

int judgement_status(const struct judgement *j)
{
    enum { SLOWER = 1, UNDECIDED = 3, INCOMPLETE = 4 };
    size_t broken = 0, unknown = 0;
    for (size_t i = 0; i < j->nbounds; i++) {
        broken += j->bounds[i].state == BOUND_broken;
        unknown += j->bounds[i].state == BOUND_unknown;
    }
    if (j->counts[VERDICT_slower] || broken)
        return SLOWER;
    if (!j->allow_missing && (j->nmissing || j->lacking || unknown))
        return INCOMPLETE;
    return j->counts[VERDICT_undecided] ? UNDECIDED : GOOD;
}

void judgement_free(struct judgement *j)
{
    for (size_t i = 0; i < j->nbounds; i++)
        free(j->bounds[i].file);
    free(j->bounds);
    free(j->rows);
    free(j->missing);
}
