/* explain.h: a record of why a pass decided as it did. The table of decisions (decisions.h) turns the record into
 * text. */
#ifndef NESO_OPT_EXPLAIN_H
#define NESO_OPT_EXPLAIN_H

#include "ir/ir.h"

enum decision {
#define DECISION(pass, name, grade, text) DECISION_##name,
#include "opt/decisions.h"
#undef DECISION
    DECISION_count
};

/* A record is valid only while the callback runs: its operands are values of the function as the function is then. */
struct explanation {
    enum decision what;
    const struct op *at; /* where in the program; NULL: the whole function */
    const struct value *values[2];
    int64_t numbers[3];
    const char *words[4];
};

struct decision_info {
    const char *pass, *name, *text;
};
extern const struct decision_info decision_info[DECISION_count];

/* The grade orders the decisions that a pass can take at one place: a larger grade is better code. 0: the pass has no
 * choice there. TIDIES: the decision only tidies the IR. */
enum { TIDIES = -1 };
int explanation_grade(const struct explanation *x);
/* Prints the text without the name of the pass, the place and a line end. */
void explanation_print(const struct explanation *x, struct text *out);

/* Hands x to the caller that asked for explanations of the running pass (opt_options.explain). */
void opt_explain(struct func *f, struct explanation x);
/* Has the caller asked for explanations of the running pass? */
bool opt_explains(const struct func *f);

#endif
