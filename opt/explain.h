/* SPDX-License-Identifier: MIT */
/* explain.h: declares the record of a pass's decision and its reasons. The table of decisions (decisions.h) turns the
 * record into text. */
#ifndef NESO_OPT_EXPLAIN_H
#define NESO_OPT_EXPLAIN_H

#include "ir/ir.h"

enum decision {
#define DECISION(pass, name, grade, text) DECISION_##name,
#include "opt/decisions.h"
#undef DECISION
    DECISION_count
};

/* A record is valid only while the callback runs, because its operands are values of the function, which later
 * passes change. */
struct explanation {
    enum decision what;
    const struct op *at; /* the op about which the pass decided; NULL: the whole function */
    const struct value *values[2];
    int64_t numbers[3];
    const char *words[4];
};

struct decision_info {
    const char *pass, *name, *text;
};
extern const struct decision_info decision_info[DECISION_count];

/* The grade ranks the alternative decisions of a pass about one op: a higher grade means better code. 0: the pass
 * has no alternatives for this op. TIDIES: the decision only cleans up the IR. */
enum { TIDIES = -1 };
int explanation_grade(const struct explanation *x);
/* Prints the explanation without the name of the pass, the source position and a line end. */
void explanation_print(const struct explanation *x, struct text *out);

/* Hands x to the caller if the caller requested explanations of the running pass (opt_options.explain). */
void opt_explain(struct func *f, const struct explanation *x);
/* Returns whether the caller requested explanations of the running pass. */
bool opt_explains(const struct func *f);

#endif
