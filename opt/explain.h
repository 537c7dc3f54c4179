/* SPDX-License-Identifier: MIT */
/* explain.h: declares the record of a pass's decision and of the reasons for it. The table of decisions
 * (decisions.h) gives the text for each kind of record. */
#ifndef NESO_OPT_EXPLAIN_H
#define NESO_OPT_EXPLAIN_H

#include "ir/ir.h"

enum decision {
#define DECISION(pass, name, grade, text) DECISION_##name,
#include "opt/decisions.h"
#undef DECISION
    DECISION_count
};

/* A record is valid only while the callback that receives it runs: the record points to ops and values of the
 * function, and later passes change or erase them. */
struct explanation {
    enum decision what;
    const struct op *at; /* the op about which the pass decided; NULL: the whole function */
    /* what the conversion specifiers of the decision's text print (decisions.h) */
    const struct value *values[2];
    int64_t numbers[3];
    const char *words[4];
};

struct decision_info {
    const char *pass, *name, *text;
};
extern const struct decision_info decision_info[DECISION_count];

/* Returns the grade, which ranks the alternative decisions of a pass about one op: a higher grade means
 * better code. 0: the pass has no alternatives for this op. TIDIES: the decision only cleans up the IR. */
enum { TIDIES = -1 };
int explanation_grade(const struct explanation *x);
/* Appends the text of the explanation to `out`, without the name of the pass, the source position or a line
 * end. */
void explanation_print(const struct explanation *x, struct text *out);

/* Hands x to the callback opt_options.note or, as a line of text, to opt_options.write. Does nothing unless
 * opt_options.explain lists the running pass. */
void opt_explain(struct func *f, const struct explanation *x);
/* Returns whether opt_options.explain lists the running pass and there is a callback to receive
 * explanations. */
bool opt_explains(const struct func *f);

#endif
