/* command_bench_judge.c: what follows from a candidate's set and its base's.
 *
 * Times are compared by statistics.c; those of the same PTX are SAME. Where nothing was timed, costs speak,
 * as far as they can: what the emulator counted, and spills, decide; of registers, shared memory and lines of
 * PTX more or fewer may be either, so that growth leaves it UNDECIDED. Bounds that a program declares hold
 * with and without a base:
 *
 *     # bench: softmax_kernel registers <= 32
 *     # bench: softmax_kernel run.shared_conflicts <= 0
 */
#include "runtime/command_bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -- bounds -- */

int bounds_read(struct judgement *j, const char *path, const char *text)
{
    uint32_t number = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line != '\0') {
        struct bound b = {.line = ++number, .state = BOUND_unknown};
        char rest;
        const char *s = line + strspn(line, " \t");
        if (strncmp(s, "# bench:", 8) != 0)
            continue;
        char copy[200];
        snprintf(copy, sizeof copy, "%.*s", (int)strcspn(s, "\r\n"), s);
        int n = sscanf(copy + 8, " %79s %39s <= %lf %c", b.kernel, b.cost, &b.most, &rest);
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
        const double *found =
            r->is_kernel && r->kernel && strcmp(r->kernel, b->kernel) == 0 ? row_cost(r, b->cost) : NULL;
        if (!found)
            continue;
        b->found = b->state == BOUND_unknown ? *found : fmax(b->found, *found);
        b->state = b->found > b->most ? BOUND_broken : BOUND_kept;
    }
}

/* -- costs -- */

/* Those that say something by themselves. */
static const struct telling {
    const char *name;
    bool decides; /* more is slower; else it may be */
} telling[] = {
    {"spill_bytes", true},        {"registers", false},
    {"shared_bytes", false},      {"instructions", false},
    {"run.global_sectors", true}, {"run.shared_wavefronts", true},
    {"run.instructions", true},   {"run.tensor_operations", true},
};
enum { TELLING = sizeof telling / sizeof *telling };

bool judge_tells(const char *name)
{
    for (int i = 0; i < TELLING; i++)
        if (strncmp(name, telling[i].name, strcspn(name, "@")) == 0)
            return true;
    return false;
}

static void note(struct judged *x, const char *what, double from, double to)
{
    size_t n = strlen(x->note);
    snprintf(x->note + n, sizeof x->note - n, "%s%s %.9g -> %.9g", n ? ", " : "", what, from, to);
}

/* The line of the program at which count `name` grew the most; 0: counts of lines are not known. */
static uint32_t line_of_growth(const struct bench_row *row, const struct bench_row *base, const char *name)
{
    size_t n = strlen(name);
    uint32_t line = 0;
    double most = 0;
    for (size_t i = 0; i < row->ncosts; i++) {
        const struct cost *c = &row->costs[i];
        if (strncmp(c->name, name, n) != 0 || c->name[n] != '@')
            continue;
        const double *before = row_cost(base, c->name);
        double growth = c->value - (before ? *before : 0);
        if (growth <= most)
            continue;
        most = growth;
        line = (uint32_t)strtoul(c->name + n + 1, NULL, 10);
    }
    return line;
}

static enum verdict compare_costs(struct judged *x, const struct bench_row *base, const struct rules *rules)
{
    bool grew = false, shrank = false, is_slower = false;
    for (int i = 0; i < TELLING; i++) {
        const double *from = row_cost(base, telling[i].name), *to = row_cost(x->row, telling[i].name);
        if (!from || !to || fabs(*to - *from) <= rules->threshold * *from)
            continue;
        note(x, telling[i].name, *from, *to);
        grew |= *to > *from;
        shrank |= *to < *from;
        is_slower |= *to > *from && telling[i].decides;
        uint32_t line = *to > *from ? line_of_growth(x->row, base, telling[i].name) : 0;
        size_t said = strlen(x->note);
        if (line)
            snprintf(x->note + said, sizeof x->note - said, " (line %u)", (unsigned)line);
        x->line = x->line ? x->line : line;
    }
    return is_slower ? VERDICT_slower : grew ? VERDICT_undecided : shrank ? VERDICT_faster : VERDICT_same;
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

static void judge_row(struct judgement *j, struct judged *x, const struct bench_set *base,
                      const struct rules *rules)
{
    const struct bench_row *old = base ? set_find(base, x->row->is_kernel, x->row->name) : NULL;
    bool has_times = strcmp(j->candidate->gpu, "none") != 0;
    x->verdict = VERDICT_same;
    x->has_base = old != NULL;
    x->same_key = old && old->key == x->row->key;
    if (old && !x->row->is_kernel)
        x->verdict = compare_times(x, old, j->candidate->clock_khz, rules);
    else if (old && !x->same_key)
        x->verdict = compare_costs(x, old, rules);
    if (x->row->is_kernel && has_times)
        x->verdict = VERDICT_same; /* the times speak; the note stays */
    if (x->has_base)
        j->counts[x->verdict]++;
}

void judge(struct judgement *j, const struct bench_set *candidate, const struct bench_set *base,
           const struct rules *rules)
{
    free(j->rows);
    memset(j->counts, 0, sizeof j->counts);
    j->candidate = candidate;
    j->has_base = base != NULL;
    j->n = candidate->n;
    j->ngone = 0;
    j->rows = grow(NULL, j->n * sizeof *j->rows);
    for (size_t i = 0; i < j->n; i++) {
        j->rows[i] = (struct judged){.row = &candidate->rows[i]};
        judge_row(j, &j->rows[i], base, rules);
    }
    for (size_t i = 0; base && i < base->n; i++)
        j->ngone += (!base->rows[i].is_kernel || strcmp(candidate->gpu, "none") == 0) &&
                    !set_find(candidate, base->rows[i].is_kernel, base->rows[i].name);
    for (size_t i = 0; i < j->nbounds; i++) {
        j->bounds[i].state = BOUND_unknown;
        judge_bound(&j->bounds[i], candidate);
    }
}

int judgement_status(const struct judgement *j)
{
    enum { SLOWER = 1, UNDECIDED = 3 };
    size_t broken = 0, unknown = 0;
    for (size_t i = 0; i < j->nbounds; i++) {
        broken += j->bounds[i].state == BOUND_broken;
        unknown += j->bounds[i].state == BOUND_unknown;
    }
    if (j->counts[VERDICT_slower] || broken)
        return SLOWER;
    return j->counts[VERDICT_undecided] || unknown ? UNDECIDED : GOOD;
}

void judgement_free(struct judgement *j)
{
    for (size_t i = 0; i < j->nbounds; i++)
        free(j->bounds[i].file);
    free(j->bounds);
    free(j->rows);
}
