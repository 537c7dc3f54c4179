/* SPDX-License-Identifier: MIT */
/* diff.c: implements `neso diff`, which shows the differences between two builds of a kernel: resources, decisions,
 * instructions, PTX.
 *
 *     neso diff add.py::add --signature "*i32, *i32, *i32, i32" --to-signature "*i32:16, *i32:16, *i32:16, i32:16"
 *     neso diff before.json after.json         (files that neso inspect --json wrote)
 *     neso diff matmul.py --launch 1 --to-launch 2
 *
 * --html writes a page that shows both builds side by side. A build is given as a saved file, or as a kernel
 * and options with which the command compiles it. In both cases the command compares the JSON of the builds.
 * Exit status: 0 the builds are the same, 1 they differ, 2 an error. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FROM, TO, SIDES };

/* A value that differs between the builds. If `was` is NULL, only the second build has the value. If `is` is NULL,
 * only the first build has it. */
struct change {
    const char *section;
    char *name;
    const char *was, *is;
};

struct comparison {
    struct json *side[SIDES];
    struct buffer text[SIDES]; /* the JSON text of each side */
    struct change *changes;
    size_t nchanges;
    struct buffer ptx; /* the differences of the PTX, line by line, in the format of diff(1) */
    int added, removed;
};

/* -- reading both sides -- */

static int take_build(const struct given *g, const struct build *b, void *out)
{
    (void)g;
    build_json(b, out);
    return GOOD;
}

/* Each option of the first build, with the option that replaces it for the second build. */
static const enum option pairs[][2] = {
    {OPTION_signature, OPTION_to_signature},   {OPTION_num_warps, OPTION_to_num_warps},
    {OPTION_num_stages, OPTION_to_num_stages}, {OPTION_maxnreg, OPTION_to_maxnreg},
    {OPTION_target, OPTION_to_target},         {OPTION_param, OPTION_to_param},
    {OPTION_launch, OPTION_to_launch},         {OPTION_deterministic, OPTION_to_deterministic},
    {OPTION_fp_reassoc, OPTION_to_fp_reassoc}, {OPTION_skip, OPTION_to_skip}};
enum { PAIRS = sizeof pairs / sizeof *pairs };

static bool is_saved(const char *path)
{
    size_t n = strlen(path);
    return n >= 5 && strcmp(path + n - 5, ".json") == 0;
}

/* Returns GOOD if the command line gives two builds, and no option of a compilation for a saved build.
 * Otherwise returns BAD after a message. */
static int check_builds(const struct given *g)
{
    const char *from = g->argv[0], *to = g->argv[g->argc - 1];
    bool any = false;
    for (int i = 0; i < PAIRS; i++) {
        const char *mine = g->options[pairs[i][0]], *others = g->options[pairs[i][1]];
        enum option o = pairs[i][others ? 1 : 0];
        any |= others != NULL;
        if (is_saved(to) && (others || (mine && is_saved(from))))
            return complain("diff: --%s changes how a source is compiled, and %s is a saved build",
                            option_rows[o].word, to);
    }
    if (is_saved(to) && is_saved(from) && g->options[OPTION_no_fp_fusion])
        return complain("diff: --no-fp-fusion changes how a source is compiled, and %s is a saved build", to);
    if (g->argc == 1 && !any)
        return complain(
            "diff: %s is one build: give a second one, or what the second one has of its own, for "
            "instance --to-num-warps 8",
            from);
    return GOOD;
}

/* Returns the command line for one build. The second build has the options of the first build, except those
 * to which an option --to-... gives another value. */
static struct given given_for(const struct given *g, int side)
{
    struct given x = *g;
    /* --verbose makes `diff` show the PTX differences; in a compilation, it would add comments to the PTX */
    x.options[OPTION_verbose] = NULL;
    if (side == TO && g->options[OPTION_to_launch])
        x.options[OPTION_signature] = NULL;
    for (size_t i = 0; side == TO && i < PAIRS; i++)
        if (g->options[pairs[i][1]])
            x.options[pairs[i][0]] = g->options[pairs[i][1]];
    return x;
}

/* Sets *out to the JSON of one build: reads a saved file, or compiles the kernel. */
static int read_text(const struct given *g, char *path, int side, struct buffer *out)
{
    struct given x = given_for(g, side);
    neso_compile_options options;
    size_t length;
    if (!is_saved(path))
        return read_options(&x, &options) ? inspect_file(&x, path, &options, take_build, out) : BAD;
    char *text = read_file(path, &length);
    if (!text)
        return complain("cannot read %s: %s", path, strerror(errno));
    put_string(out, text);
    free(text);
    return GOOD;
}

static int read_side(const struct given *g, char *path, int side, struct comparison *c)
{
    int result = read_text(g, path, side, &c->text[side]);
    if (result != GOOD)
        return result;
    c->side[side] = json_read(c->text[side].s);
    const struct json *format = json_member(c->side[side], "format");
    if (format && format->string && strcmp(format->string, "neso-inspect-1") == 0)
        return GOOD;
    return complain("%s is not what neso inspect --json writes", path);
}

/* -- comparing -- */

static const char *text_of(const struct json *j)
{
    return j && j->string ? j->string : "";
}

static void add_change(struct comparison *c, const char *section, const char *name, const char *was,
                       const char *is)
{
    struct buffer copy = {0};
    put_string(&copy, name);
    c->changes = array_grown(c->changes, c->nchanges, sizeof *c->changes);
    c->changes[c->nchanges++] = (struct change){section, copy.s, was, is};
}

/* Compares those members of two objects that are numbers, strings or booleans. */
static void compare_members(struct comparison *c, const char *section, const struct json *x,
                            const struct json *y)
{
    for (const struct json *m = x ? x->first : NULL; m; m = m->next) {
        const struct json *other = json_member(y, m->name);
        if (m->string && (!other || strcmp(m->string, text_of(other)) != 0))
            add_change(c, section, m->name, m->string, other ? other->string : NULL);
    }
    for (const struct json *m = y ? y->first : NULL; m; m = m->next)
        if (m->string && !json_member(x, m->name))
            add_change(c, section, m->name, NULL, m->string);
}

static bool same_member(const struct json *x, const struct json *y, const char *name)
{
    return strcmp(text_of(json_member(x, name)), text_of(json_member(y, name))) == 0;
}

static bool is_about_the_same(const struct json *x, const struct json *y)
{
    return same_member(x, y, "pass") && same_member(x, y, "file") && same_member(x, y, "line") &&
           same_member(x, y, "column");
}

/* Returns the decision number `index`, from 0, among the decisions in `list` that the pass of x made at the
 * source location of x. Returns NULL if there are fewer decisions. */
static const struct json *find_decision(const struct json *list, const struct json *x, int index)
{
    for (const struct json *y = list ? list->first : NULL; y; y = y->next)
        if (is_about_the_same(x, y) && index-- == 0)
            return y;
    return NULL;
}

/* Returns how many decisions the pass of x made at the source location of x before x in `list`. */
static int index_of(const struct json *list, const struct json *x)
{
    int n = 0;
    for (const struct json *y = list->first; y != x; y = y->next)
        n += is_about_the_same(x, y);
    return n;
}

static void name_decision(struct buffer *out, const struct json *x)
{
    const struct json *line = json_member(x, "line");
    if (line && line->kind == JSON_number)
        put_format(out, "%s:%s ", text_of(line), text_of(json_member(x, "column")));
    put_string(out, text_of(json_member(x, "pass")));
}

/* Compares the decisions of both builds. Ignores the decisions of clean-up passes, because they only follow
 * from other decisions. */
static void compare_decisions(struct comparison *c)
{
    for (int side = FROM; side < SIDES; side++) {
        const struct json *mine = json_member(c->side[side], "decisions"),
                          *others = json_member(c->side[!side], "decisions");
        for (const struct json *x = mine ? mine->first : NULL; x; x = x->next) {
            const struct json *y = find_decision(others, x, index_of(mine, x));
            const char *text = text_of(json_member(x, "text")),
                       *other = y ? text_of(json_member(y, "text")) : NULL;
            struct buffer name = {0};
            if (strcmp(text_of(json_member(x, "tidies")), "true") == 0 ||
                (y && (side == TO || strcmp(text, other) == 0)))
                continue;
            name_decision(&name, x);
            add_change(c, "decisions", name.s, side == FROM ? text : NULL, side == FROM ? other : text);
            buffer_free(&name);
        }
    }
}

/* -- PTX line by line: the longest common subsequence of lines without their register numbers -- */

struct lines {
    char *text, **at, **key; /* `key` has each line without the numbers of its registers */
    size_t n;
};

static void put_key(struct buffer *out, const char *s)
{
    while (*s) {
        put_bytes(out, s, 1);
        bool is_register = *s++ == '%';
        while (is_register && islower((unsigned char)*s))
            put_bytes(out, s++, 1);
        while (is_register && isdigit((unsigned char)*s))
            s++;
    }
}

static struct lines split_ptx(const struct json *build)
{
    struct lines l = {0};
    struct buffer copy = {0};
    const struct json *stages = json_member(build, "stages");
    for (const struct json *s = stages ? stages->first : NULL; s; s = s->next)
        if (strcmp(text_of(json_member(s, "kind")), "ptx") == 0)
            put_string(&copy, text_of(json_member(s, "text")));
    put_string(&copy, "");
    l.text = copy.s;
    for (char *s = l.text, *end; *s; s = end) {
        end = s + strcspn(s, "\n");
        end += *end ? (*end = '\0', 1) : 0;
        if (strncmp(s, "\t.loc", 5) == 0)
            continue;
        struct buffer key = {0};
        put_string(&key, "");
        put_key(&key, s);
        l.at = array_grown(l.at, l.n, sizeof *l.at);
        l.key = array_grown(l.key, l.n, sizeof *l.key);
        l.at[l.n] = s;
        l.key[l.n++] = key.s;
    }
    return l;
}

static void lines_free(struct lines *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->key[i]);
    free(l->text);
    free(l->at);
    free(l->key);
}

static void put_difference(struct comparison *c, char sign, const char *line)
{
    put_format(&c->ptx, "%c%s\n", sign, line);
    c->added += sign == '+';
    c->removed += sign == '-';
}

/* Writes the difference between lines i to xn - 1 of x and lines i to yn - 1 of y. length[a * columns + b] is the
 * length of the longest common subsequence of two ranges of lines: the lines of x from i + a on, and the lines of y
 * from i + b on. */
static void walk_lines(struct comparison *c, const struct lines *x, const struct lines *y,
                       const unsigned short *length, size_t i, size_t xn, size_t yn)
{
    size_t columns = yn - i + 1, first = i, k = i;
    while (i < xn || k < yn) {
        bool same = i < xn && k < yn && strcmp(x->key[i], y->key[k]) == 0;
        const unsigned short *row = length + (i - first) * columns + (k - first);
        if (same)
            i++, k++;
        else if (k == yn || (i < xn && row[columns] >= row[1]))
            put_difference(c, '-', x->at[i++]);
        else
            put_difference(c, '+', y->at[k++]);
    }
}

static void compare_ptx(struct comparison *c)
{
    enum { CELLS_MOST = 32 << 20, LINES_MOST = 65535 };
    struct lines x = split_ptx(c->side[FROM]), y = split_ptx(c->side[TO]);
    size_t first = 0, xn = x.n, yn = y.n;
    while (first < xn && first < yn && strcmp(x.key[first], y.key[first]) == 0)
        first++;
    while (xn > first && yn > first && strcmp(x.key[xn - 1], y.key[yn - 1]) == 0)
        xn--, yn--;
    size_t rows = xn - first + 1, columns = yn - first + 1;
    /* If the table would be too large, every line counts as changed. */
    if (rows > LINES_MOST || columns > LINES_MOST || rows * columns > CELLS_MOST) {
        for (size_t i = first; i < xn; i++)
            put_difference(c, '-', x.at[i]);
        for (size_t i = first; i < yn; i++)
            put_difference(c, '+', y.at[i]);
    } else {
        unsigned short *length = calloc(rows * columns, sizeof *length);
        if (!length)
            exit(complain("out of memory"));
        for (size_t i = rows - 1; i-- > 0;)
            for (size_t k = columns - 1; k-- > 0;) {
                const unsigned short *at = length + i * columns + k;
                bool same = strcmp(x.key[first + i], y.key[first + k]) == 0;
                length[i * columns + k] = same                  ? (unsigned short)(at[columns + 1] + 1)
                                          : at[columns] > at[1] ? at[columns]
                                                                : at[1];
            }
        walk_lines(c, &x, &y, length, first, xn, yn);
        free(length);
    }
    lines_free(&x);
    lines_free(&y);
}

static void compare(struct comparison *c)
{
    static const char *const sections[] = {"options", "resources"};
    const struct json *x = c->side[FROM], *y = c->side[TO];
    static const char *const names[] = {"kernel", "file", "target", "signature"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!same_member(x, y, names[i]))
            add_change(c, "builds", names[i], text_of(json_member(x, names[i])),
                       text_of(json_member(y, names[i])));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        compare_members(c, sections[i], json_member(x, sections[i]), json_member(y, sections[i]));
    compare_decisions(c);
    compare_members(c, "instructions", json_member(json_member(x, "instructions"), "ptx"),
                    json_member(json_member(y, "instructions"), "ptx"));
    compare_ptx(c);
}

/* -- showing -- */

static void put_changes(const struct comparison *c, bool whole_ptx, struct buffer *out)
{
    const char *section = "";
    for (size_t i = 0; i < c->nchanges; i++) {
        const struct change *x = &c->changes[i];
        if (strcmp(section, x->section) != 0)
            put_format(out, "%s%s\n", *section ? "\n" : "", x->section);
        section = x->section;
        if (strcmp(section, "decisions") == 0 || strcmp(section, "builds") == 0) {
            put_format(out, "  %s\n", x->name);
            if (x->was)
                put_format(out, "    - %s\n", x->was);
            if (x->is)
                put_format(out, "    + %s\n", x->is);
        } else {
            put_format(out, "  %10s -> %-10s %s\n", x->was ? x->was : "0", x->is ? x->is : "0", x->name);
        }
    }
    if (c->added || c->removed)
        put_format(out, "%sPTX: %d lines removed, %d added%s\n", *section ? "\n" : "", c->removed, c->added,
                   whole_ptx ? "" : " (--verbose shows them)");
    if (whole_ptx && c->ptx.n)
        put_bytes(out, c->ptx.s, c->ptx.n);
    if (!out->n)
        put_string(out, "no difference\n");
}

static void put_value(struct buffer *out, const char *name, const char *s)
{
    put_format(out, ", \"%s\": ", name);
    if (s)
        put_json(out, s, strlen(s));
    else
        put_string(out, "null");
}

static void put_changes_json(const struct comparison *c, struct buffer *out)
{
    put_string(out, "{\n  \"format\": \"neso-diff-1\",\n  \"changes\": [");
    for (size_t i = 0; i < c->nchanges; i++) {
        const struct change *x = &c->changes[i];
        put_format(out, "%s\n    {\"section\": \"%s\"", i ? "," : "", x->section);
        put_value(out, "name", x->name);
        put_value(out, "from", x->was);
        put_value(out, "to", x->is);
        put_string(out, "}");
    }
    put_format(out, "%s],\n  \"ptx\": {\"removed\": %d, \"added\": %d", c->nchanges ? "\n  " : "", c->removed,
               c->added);
    put_value(out, "lines", c->ptx.s ? c->ptx.s : "");
    put_string(out, "}\n}\n");
}

/* Writes a page with both builds side by side. */
static int write_page(const struct comparison *c, const char *path)
{
    struct buffer data = {0}, page = {0};
    put_page_data(&data, c->text[FROM].s, c->text[TO].s);
    put_page(&page, data.s);
    int result = write_file(path, page.s, page.n);
    buffer_free(&data);
    buffer_free(&page);
    return result;
}

static int show_comparison(const struct given *g, const struct comparison *c)
{
    struct buffer out = {0};
    const char *path = g->options[OPTION_output];
    if (g->options[OPTION_as_json])
        put_changes_json(c, &out);
    else
        put_changes(c, g->options[OPTION_verbose] != NULL, &out);
    int result = path ? write_file(path, out.s, out.n) : GOOD;
    if (result == GOOD && g->options[OPTION_html])
        result = write_page(c, g->options[OPTION_html]);
    if (!path)
        fwrite(out.s, 1, out.n, stdout);
    buffer_free(&out);
    return result ? result : c->nchanges || c->added || c->removed ? FAILED : GOOD;
}

int diff_command(const struct given *g)
{
    struct comparison c = {.changes = NULL};
    struct buffer path[SIDES] = {{0}, {0}}; /* copies, because inspect_file modifies the path */
    int result = check_builds(g);
    for (int side = FROM; side < SIDES && result == GOOD; side++) {
        put_string(&path[side], g->argv[side < g->argc ? side : 0]);
        result = read_side(g, path[side].s, side, &c);
    }
    if (result == GOOD) {
        compare(&c);
        result = show_comparison(g, &c);
    }
    for (size_t i = 0; i < c.nchanges; i++)
        free(c.changes[i].name);
    free(c.changes);
    for (int side = FROM; side < SIDES; side++) {
        json_free(c.side[side]);
        buffer_free(&c.text[side]);
        buffer_free(&path[side]);
    }
    buffer_free(&c.ptx);
    return result;
}
