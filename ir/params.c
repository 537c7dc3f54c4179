/* SPDX-License-Identifier: MIT */
/* params.c: defines the table of thresholds (params.h), and reads and prints their values. */
#include "ir/params.h"

#include <string.h>

const struct params params_default = {
#define PARAM(name, dflt, least, most, unit, meaning, measured) .name = (dflt),
#include "ir/params.h"
#undef PARAM
};

const struct param_info param_info[] = {
#define PARAM(name, dflt, least, most, unit, meaning, measured) {#name, unit, least, most},
#include "ir/params.h"
#undef PARAM
};
const int nparam_info = (int)(sizeof param_info / sizeof param_info[0]);

_Static_assert(sizeof(struct params) == sizeof(int) * (sizeof param_info / sizeof *param_info),
               "a value for each row");

int param_value(const struct params *p, int i)
{
    return ((const int *)p)[i];
}

/* -- names -- */

static int find(const char *name)
{
    for (int i = 0; i < nparam_info; i++)
        if (strcmp(param_info[i].name, name) == 0)
            return i;
    return -1;
}

static bool shares_word(const char *name, const char *word, size_t n)
{
    for (const char *at = name; at; at = strchr(at, '_'), at = at ? at + 1 : NULL)
        if (strncmp(at, word, n) == 0 && (at[n] == '_' || !at[n]))
            return true;
    return false;
}

/* Returns whether a user who wrote `written` may have meant the threshold `name`: the spellings differ in at most two
 * letters, or `name` contains all words of `written`. */
static bool is_near(const char *name, const char *written)
{
    enum { LETTERS = 2 };
    if (text_distance(name, written, LETTERS) <= LETTERS)
        return true;
    for (const char *at = written; *at;) {
        size_t n = strcspn(at, "_");
        if (n && !shares_word(name, at, n))
            return false;
        at += n + (at[n] == '_');
    }
    return *written != '\0';
}

static bool begins_alike(const char *name, const char *written)
{
    size_t n = strcspn(written, "_");
    return n && strncmp(name, written, n) == 0 && name[n] == '_';
}

/* Lists the names that are near `written` or, if there are none, the names that begin with the same word. */
static void list_near(const char *written, struct text *out)
{
    bool any = false;
    for (int i = 0; i < nparam_info; i++)
        any |= is_near(param_info[i].name, written);
    for (int i = 0; i < nparam_info; i++)
        if (any ? is_near(param_info[i].name, written) : begins_alike(param_info[i].name, written))
            text_printf(out, "%s%s", out->len ? ", " : "", param_info[i].name);
}

/* -- values -- */

static bool read_number(const char *s, int *out)
{
    int64_t x = 0;
    if (!*s)
        return false;
    for (; *s >= '0' && *s <= '9' && x <= INT32_MAX; s++)
        x = 10 * x + (*s - '0');
    *out = (int)x;
    return !*s && x <= INT32_MAX;
}

static bool read_setting(struct params *p, const char *setting, struct diag *d)
{
    const char *equals = strchr(setting, '=');
    const char *name = arena_strndup(d->arena, setting, strcspn(setting, "="));
    int i = find(name), value;
    if (i < 0) {
        struct text near;
        text_init(&near, d->arena);
        list_near(name, &near);
        diag_error(d, (struct loc){0}, ERR_param_unknown, name);
        if (near.len)
            diag_hint(d, ERR_param_near, near.s);
        return false;
    }
    const struct param_info *info = &param_info[i];
    if (!equals || !read_number(equals + 1, &value) || value < info->least || value > info->most) {
        diag_error(d, (struct loc){0}, ERR_param_value, name, info->least, info->most, info->unit,
                   equals ? equals + 1 : "", param_value(&params_default, i));
        return false;
    }
    ((int *)p)[i] = value;
    return true;
}

bool params_read(struct params *p, const char *text, struct diag *d)
{
    *p = params_default;
    bool good = true;
    while (text && *text) {
        size_t n = strcspn(text, ",");
        good = read_setting(p, arena_strndup(d->arena, text, n), d) && good;
        text += n + (text[n] == ',');
    }
    return good;
}

void params_print(const struct params *p, struct text *out)
{
    bool any = false;
    for (int i = 0; i < nparam_info; i++) {
        if (param_value(p, i) == param_value(&params_default, i))
            continue;
        text_printf(out, "%s%s=%d", any ? " " : "", param_info[i].name, param_value(p, i));
        any = true;
    }
    if (!any)
        text_str(out, "default");
}
