/* explain.h: why a pass decided as it did, as a record; the text is made of it by the table of decisions. */
#ifndef NESO_OPT_EXPLAIN_H
#define NESO_OPT_EXPLAIN_H

#include "ir/ir.h"

enum decision {
#define DECISION(pass, name, grade, text) DECISION_##name,
#include "opt/decisions.h"
#undef DECISION
    DECISION_count
};

/* Valid while it is looked at: the operands are those of the function as it is then. */
struct explanation {
    enum decision what;
    const struct op *at; /* the place; NULL: the function */
    const struct value *values[2];
    int64_t numbers[3];
    const char *words[4];
};

struct decision_info {
    const char *pass, *name, *text;
};
extern const struct decision_info decision_info[DECISION_count];

/* More is better, where a pass has several ways at one place; 0: it has not; TIDIES: what was decided only tidies. */
enum { TIDIES = -1 };
int explanation_grade(const struct explanation *x);
/* Without the pass, the place and a line end. */
void explanation_print(const struct explanation *x, struct text *out);

/* For passes: hands x on to who asked for explanations of the pass that runs (opt_options.explain). */
void opt_explain(struct func *f, struct explanation x);
/* Did anybody? */
bool opt_explains(const struct func *f);

#endif
