/* SPDX-License-Identifier: MIT */
/* rules.c: if nothing was timed, decides by the changes of a kernel's costs whether the kernel is slower.
 *
 * A rule compares the values of one cost in the base and in the candidate. Three kinds of changes make the kernel
 * slower.
 *
 *     any growth of a cost that always takes time      spilled bytes, barriers, counts of the emulator
 *     growth beyond a bound                            registers, instructions, accesses to shared and global memory
 *     loss of a feature that hides or saves time       bytes per access, tensor maps, wgmma, pipelines, threads
 *
 * If a cost grows within its rule's bound, the verdict is UNDECIDED. If the emulator counted the instructions that
 * both kernels execute, these counts replace the numbers of instructions in the PTX text. Costs do not show whether
 * another tile size is faster; after such a change, the user must record a new base. */
#include "runtime/command/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum direction { GROWS, FALLS, VANISHES };

/* TEXT: a cost of the PTX text, which is ignored if the emulator counted both kernels. ESTIMATE: a cost that
 * is ignored if both kernels were assembled. */
enum { TEXT = 1, ESTIMATE = 2 };

static const struct rule {
    const char *cost;
    enum direction direction; /* the direction that makes a kernel slower */
    /* a change makes the kernel slower only if it exceeds this fraction of the base's cost, and the threshold
     * (--threshold) */
    double bound;
    /* a change that is less than `least`, in the unit of the cost, does not make the kernel slower */
    double least;
    int flags;
} rules[] = {
    /* cost                  slower if it  bound  at least */
    {"spill_bytes", GROWS, 0, 0, 0},
    {"barriers", GROWS, 0, 0, 0},
    {"registers", GROWS, 0.25, 8, 0},
    {"live_registers", GROWS, 0.25, 8, ESTIMATE},
    {"instructions", GROWS, 0.20, 8, TEXT},
    {"instructions_per_byte", GROWS, 0.20, 0, TEXT},
    {"shared_accesses", GROWS, 0.25, 4, TEXT},
    {"global_loads", GROWS, 0, 0, TEXT},
    {"global_stores", GROWS, 0, 0, TEXT},
    {"atomics", GROWS, 0, 0, TEXT},
    {"bytes_per_access", FALLS, 0.10, 0, 0},
    {"staged_bytes", FALLS, 0.10, 0, 0},
    {"threads", FALLS, 0, 0, 0},
    {"tensor_copies", VANISHES, 0, 0, 0},
    {"warpgroup_products", VANISHES, 0, 0, 0},
    {"shared_bytes", GROWS, HUGE_VAL, 0, 0},
    {"run.global_sectors", GROWS, 0, 0, 0},
    {"run.shared_wavefronts", GROWS, 0, 0, 0},
    {"run.instructions", GROWS, 0, 0, 0},
    {"run.tensor_operations", GROWS, 0, 0, 0},
};
enum { RULES = sizeof rules / sizeof *rules };

bool rules_tell(const char *name)
{
    size_t n = strcspn(name, "@");
    for (int i = 0; i < RULES; i++)
        if (strlen(rules[i].cost) == n && strncmp(name, rules[i].cost, n) == 0)
            return true;
    return false;
}

void bench_rules_print(void)
{
    static const char *const words[] = {"grows", "falls", "falls to 0"};
    puts("\nIf nothing is timed, a kernel is slower than its base if");
    for (int i = 0; i < RULES; i++) {
        const struct rule *r = &rules[i];
        if (r->bound == HUGE_VAL)
            continue;
        printf("    %-22s %s", r->cost, words[r->direction]);
        if (r->bound > 0)
            printf(" by more than %g %%", 100 * r->bound);
        if (r->least > 0)
            printf("%s at least %g", r->bound > 0 ? " and" : " by", r->least);
        puts(r->flags & TEXT       ? " (unless the emulator counted)"
             : r->flags & ESTIMATE ? " (unless the kernel was assembled)"
                                   : "");
    }
    puts("Growth within these bounds leaves the kernel undecided; --threshold applies to all costs. The "
         "counts (run.*) are\n"
         "of the code that the launches ran: of the kernel, and of the variants that they chose. The largest "
         "change is that\n"
         "of the kernel, among the slower ones (if there are none, among the undecided, else the faster "
         "ones), one of whose\n"
         "deciding costs has the largest ratio to the base's.\n"
         "Exit status: 0 nothing is slower, 1 something is, or a bound is broken, 2 bad use or a program "
         "failed,\n"
         "3 undecided, 4 incomplete: this run did not measure all of the base (--allow-missing accepts "
         "that).");
}

static void note(struct judged *x, const char *lead, const char *what, double from, double to)
{
    size_t n = strlen(x->note);
    snprintf(x->note + n, sizeof x->note - n, "%s%s %.9g -> %.9g", lead, what, from, to);
}

/* Returns the line of the program at which the count `name` grew the most; 0 if the count grew at no line, or if there
 * are no counts of lines. */
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

static void note_line(struct judged *x, const char *cost)
{
    uint32_t line = line_of_growth(x->row, x->base, cost);
    size_t n = strlen(x->note);
    if (line)
        snprintf(x->note + n, sizeof x->note - n, " (line %u)", (unsigned)line);
    x->line = x->line ? x->line : line;
}

/* Returns the verdict of one rule on the change of its cost from `from` to `to`. */
static enum verdict apply(const struct rule *r, double from, double to, double threshold)
{
    bool is_worse = r->direction == GROWS ? to > from : to < from;
    double change = fabs(to - from);
    if (change <= threshold * from)
        return VERDICT_same;
    if (r->direction == VANISHES)
        return to <= 0 ? VERDICT_slower : from <= 0 ? VERDICT_faster : VERDICT_same;
    if (!is_worse)
        return VERDICT_faster;
    return change > r->bound * from && change >= r->least ? VERDICT_slower : VERDICT_undecided;
}

bool rules_is_better(const char *name, double from, double to)
{
    for (int i = 0; i < RULES; i++)
        if (strcmp(rules[i].cost, name) == 0)
            return rules[i].direction == GROWS ? to < from : to > from;
    return to < from;
}

/* Adds the costs for which a rule gives the verdict `wanted` to x->note, and returns their number. If
 * x->note already has a text, writes `lead` between them. Sets x->change and x->largest to the largest
 * change among them, if it exceeds x->change. */
static size_t note_costs(struct judged *x, enum verdict wanted, const char *lead, double threshold)
{
    bool counted = row_cost(x->base, "run.instructions") && row_cost(x->row, "run.instructions");
    bool assembled = row_cost(x->base, "registers") && row_cost(x->row, "registers");
    size_t n = 0;
    for (int i = 0; i < RULES; i++) {
        const struct rule *r = &rules[i];
        const double *from = row_cost(x->base, r->cost), *to = row_cost(x->row, r->cost);
        if (!from || !to || (counted && (r->flags & TEXT)) || (assembled && (r->flags & ESTIMATE)) ||
            apply(r, *from, *to, threshold) != wanted)
            continue;
        const char *before = n ? ", " : *x->note ? lead : "";
        const size_t begin = strlen(x->note) + strlen(before);
        const double ratio = fabs(log(fmax(*to, 1e-3) / fmax(*from, 1e-3)));
        note(x, before, r->cost, *from, *to);
        if (wanted != VERDICT_faster)
            note_line(x, r->cost);
        if (ratio > x->change && begin < strlen(x->note))
            snprintf(x->largest, sizeof x->largest, "%s", x->note + begin);
        x->change = fmax(x->change, ratio);
        n++;
    }
    return n;
}

enum verdict rules_compare(struct judged *x, double threshold)
{
    static const struct {
        enum verdict verdict;
        const char *lead;
    } order[] = {
        {VERDICT_slower, ", "}, {VERDICT_undecided, "; within the bounds: "}, {VERDICT_faster, "; better: "}};
    enum verdict result = VERDICT_same;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        double change = x->change;
        char largest[sizeof x->largest];
        memcpy(largest, x->largest, sizeof largest);
        if (!note_costs(x, order[i].verdict, order[i].lead, threshold))
            continue;
        if (result == VERDICT_same) {
            result = order[i].verdict;
        } else { /* costs with a worse verdict have decided: keep their x->change and x->largest */
            x->change = change;
            memcpy(x->largest, largest, sizeof largest);
        }
    }
    return result;
}
