/* SPDX-License-Identifier: MIT */
/* explain.c: hands a record of each decision of a pass, or the record's text, to the caller that requested
 * explanations of this pass (--explain=PASS).
 *
 *     {pipelined, at 12:16, values %a, numbers 3 16}  =>  pipeline_loops: 12:16: %a in 3 stages, 16 bytes at once */
#include "opt/explain.h"

#include "opt/passes.h"

#include <string.h>

const struct decision_info decision_info[DECISION_count] = {
#define DECISION(pass, name, grade, text) {#pass, #name, text},
#include "opt/decisions.h"
#undef DECISION
};

bool opt_is_listed(const char *names, const char *name)
{
    if (!names || !name)
        return false;
    if (strcmp(names, "all") == 0)
        return true;
    size_t n = strlen(name);
    for (const char *s = names; *s;) {
        size_t len = strcspn(s, ",");
        if (len == n && memcmp(s, name, n) == 0)
            return true;
        s += len + (s[len] == ',');
    }
    return false;
}

int explanation_grade(const struct explanation *x)
{
    const int number = (int)x->numbers[0];
    (void)number;
    switch (x->what) {
#define DECISION(pass, name, grade, text)                                                                    \
    case DECISION_##name:                                                                                    \
        return grade;
#include "opt/decisions.h"
#undef DECISION
    default: return 0;
    }
}

void explanation_print(const struct explanation *x, struct text *out)
{
    const struct value *const *value = x->values;
    const int64_t *number = x->numbers;
    const char *const *words = x->words;
    for (const char *s = decision_info[x->what].text; *s; s++) {
        if (*s != '%') {
            text_char(out, *s);
            continue;
        }
        switch (*++s) {
        case 'v': text_printf(out, "%%%s", (*value++)->name); break;
        case 'd': text_printf(out, "%lld", (long long)*number++); break;
        case 's': text_str(out, *words++); break;
        default: text_char(out, *s); break;
        }
    }
}

bool opt_explains(const struct func *f)
{
    const struct opt_options *o = f->module->opt;
    return o && (o->write || o->note) && opt_is_listed(o->explain, f->module->diag->stage);
}

static void write_line(const struct opt_options *o, const struct explanation *x, struct arena *scratch)
{
    struct text t;
    text_init(&t, scratch);
    text_printf(&t, "%s: ", decision_info[x->what].pass);
    if (x->at && x->at->loc.line && x->at->loc.file)
        text_printf(&t, "%d:", x->at->loc.file);
    if (x->at && x->at->loc.line)
        text_printf(&t, "%d:%d: ", (int)x->at->loc.line, (int)x->at->loc.col);
    explanation_print(x, &t);
    text_char(&t, '\n');
    o->write(o->write_ctx, decision_info[x->what].pass, t.s, t.len);
}

void opt_explain(struct func *f, const struct explanation *x)
{
    const struct opt_options *o = f->module->opt;
    if (!opt_explains(f))
        return;
    if (o->note)
        o->note(o->write_ctx, x);
    else
        write_line(o, x, f->module->scratch);
}
