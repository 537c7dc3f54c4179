/* explain.c: why a pass decided as it did, a line each, for who asks (--explain=PASS).
 *
 *     pipeline_loops: 12:16: loaded 3 iterations ahead of the dot at 14:9
 */
#include "opt/passes.h"

#include <string.h>

/* Is `name` among the comma-separated `names`, or are they "all"? NULL: none. */
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

bool opt_explains(const struct func *f)
{
    const struct opt_options *o = f->module->opt;
    return o && o->write && opt_is_listed(o->explain, f->module->diag->stage);
}

void opt_explain(struct func *f, const struct op *o, const char *format, ...)
{
    if (!opt_explains(f))
        return;
    struct text t;
    text_init(&t, f->module->scratch);
    text_str(&t, f->module->diag->stage);
    text_str(&t, ": ");
    if (o && o->loc.line && o->loc.file)
        text_printf(&t, "%d:", o->loc.file);
    if (o && o->loc.line)
        text_printf(&t, "%d:%d: ", (int)o->loc.line, (int)o->loc.col);
    va_list args;
    va_start(args, format);
    text_vprintf(&t, format, args);
    va_end(args);
    text_char(&t, '\n');
    const struct opt_options *asked = f->module->opt;
    asked->write(asked->write_ctx, f->module->diag->stage, t.s, t.len);
}
