/* SPDX-License-Identifier: MIT */
/* hints.c: finds promises that would improve decisions of passes if the signature had them. A promise says that an
 * argument is a multiple of 16 (":16") or equal to 1 (":1"). To know the effect of promises, the command
 * compiles the kernel with several signatures, and compares the decisions:
 *
 *     the given signature            *fp16, i32, i32           tma: stays a load: no dimension is contiguous
 *     with all promises              *fp16:16, i32:16, i32:1   tma: a copy through a tensor map
 *     without one of the promises    *fp16, i32:16, i32:1      if a decision is worse, it needs this promise
 *
 * To find the second signature, the command first promises that every pointer and integer is a multiple of
 * 16. Then, for one integer after the other, from the last to the first, it promises instead that the
 * integer is 1, and keeps this promise if it improves a decision. Usually, it is the last stride of an
 * array that must be 1. A compilation takes a few milliseconds. */
#include "runtime/command/inspect/inspect.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENTRIES_MOST = 64 };

enum promise { PROMISE_as_given, PROMISE_16, PROMISE_1 };

/* The entries of the signature, including those inside of tuples. */
struct entries {
    size_t n;
    struct entry {
        const char *s;
        size_t length; /* the bytes of the entry without a promise */
        size_t whole;  /* the bytes of the entry with its promise, up to a comma or a parenthesis */
        /* the parameter to which a promise could be added; NULL: none, because the entry is not an integer or
         * pointer, or already has a promise */
        const char *param;
        bool is_pointer;
        enum promise promise; /* the promise to try */
    } at[ENTRIES_MOST];
};

/* -- the signature -- */

static bool is_descriptor(const char *s)
{
    return strncmp(s, "tensordesc<", 11) == 0;
}

/* Returns the number of bytes from s to the next comma or parenthesis that is outside of brackets and
 * quotes. */
static size_t entry_length(const char *s)
{
    int depth = 0;
    char quote = 0;
    size_t n = 0;
    for (; s[n] && (depth || quote || !strchr(",()", s[n])); n++)
        if (quote)
            quote = s[n] == quote ? 0 : quote;
        else if (s[n] == '"' || s[n] == '\'')
            quote = s[n];
        else if (is_descriptor(s + n))
            n += strcspn(s + n, ">") - (strchr(s + n, '>') == NULL);
        else
            depth += strchr("[{", s[n]) ? 1 : strchr("]}", s[n]) ? -1 : 0;
    return n;
}

/* Returns the length of the type of a number or pointer ("i32", "*fp16") at s, in n bytes; 0 if there is
 * none. */
static size_t type_length(const char *s, size_t n)
{
    static const char *const words[] = {"i", "u", "fp", "f", "bf", "int", "uint", "float", "bfloat"};
    size_t start = s[0] == '*', i = start;
    start += start && s[1] == 'k';
    for (i = start; i < n && islower((unsigned char)s[i]);)
        i++;
    bool is_known = false;
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        is_known |= strlen(words[k]) == i - start && memcmp(words[k], s + start, i - start) == 0;
    while (i < n && isalnum((unsigned char)s[i]) && !isupper((unsigned char)s[i]))
        i++;
    return is_known && (i == n || s[i] == ':') && isdigit((unsigned char)s[i - 1]) ? i : 0;
}

/* Returns the number of parameters of a descriptor: an address, the sizes, and all strides except the last. */
static size_t descriptor_params(const char *s, size_t n)
{
    size_t rank = 1;
    for (size_t i = 0; i < n && s[i] != ']'; i++)
        rank += s[i] == ',';
    return 2 * rank;
}

static const struct neso_param *param_at(const struct build *b, size_t index)
{
    return index < b->nparams ? &b->params[index] : NULL;
}

static const struct neso_param *param_named(const struct build *b, const char *s, size_t n)
{
    for (size_t i = 0; i < b->nparams; i++)
        if (strlen(b->params[i].name) == n && memcmp(b->params[i].name, s, n) == 0)
            return &b->params[i];
    return NULL;
}

/* Reads the entry at s, which has `whole` bytes, and finds the parameter to which a promise could be added.
 * *param is the index of the entry's first parameter; the function moves it past the entry's parameters. */
static void read_entry(struct entries *e, const char *s, size_t whole, const struct build *b, size_t *param)
{
    struct entry *x = &e->at[e->n++];
    size_t name = strspn(s, " \t\n"), type = name;
    while (isalnum((unsigned char)s[type]) || s[type] == '_')
        type++;
    type = type < whole && s[type] == '=' ? type + 1 : name;
    *x = (struct entry){.s = s, .length = whole, .whole = whole};
    size_t n = whole > type ? whole - type : 0;
    while (n && isspace((unsigned char)s[type + n - 1]))
        n--;
    if (n && is_descriptor(s + type))
        *param += type == name ? descriptor_params(s + type, n) : 0;
    n = type_length(s + type, n);
    const struct neso_param *p = !n             ? NULL
                                 : type == name ? param_at(b, (*param)++)
                                                : param_named(b, s + name, type - name - 1);
    if (!p)
        return;
    bool is_integer = *p->type == 'i' || *p->type == 'u';
    x->is_pointer = *p->type == '*';
    if (p->divisible > 1 || p->equals_one || (!is_integer && !x->is_pointer))
        return;
    x->length = type + n;
    x->param = p->name;
}

/* Reads all entries. Returns false if there are too many, if no promise can be added, or if an entry is a named tuple,
 * in which the order of the entries may differ from the order of the parameters. */
static bool read_entries(struct entries *e, const struct build *b)
{
    size_t param = 0;
    int depth = 0;
    bool any = false, has_names = false, has_tuples = false;
    *e = (struct entries){0};
    for (const char *s = b->signature; s && *s;) {
        size_t n = entry_length(s);
        if (e->n == ENTRIES_MOST)
            return false;
        read_entry(e, s, n, b, &param);
        any |= e->at[e->n - 1].param != NULL;
        has_tuples |= s[n] == '(';
        has_names |= memchr(s, '=', n) && (depth > 0 || s[n] == '(');
        depth += s[n] == '(' ? 1 : s[n] == ')' ? -1 : 0;
        s += n + (s[n] != '\0');
    }
    return any && !(has_tuples && has_names);
}

static void put_signature(const struct entries *e, struct buffer *out)
{
    static const char *const suffixes[] = {"", ":16", ":1"};
    for (size_t i = 0; i < e->n; i++) {
        const struct entry *x = &e->at[i];
        put_bytes(out, x->s, x->promise ? x->length : x->whole);
        put_string(out, suffixes[x->promise]);
        put_bytes(out, x->s + x->whole, x->s[x->whole] != '\0');
    }
}

/* -- trying -- */

struct notes {
    struct note *at;
    size_t n;
};

static void take_note(void *user, const neso_note *note)
{
    struct notes *found = user;
    notes_add(&found->at, &found->n, note);
}

struct trial {
    const struct build *build;
    neso_module *module;
    struct entries entries;
};

/* Compiles the kernel with the promises to try, and returns the decisions of the passes, which the caller
 * frees by notes_free. Returns no decisions if the compilation fails. */
static struct notes try_entries(const struct trial *t)
{
    struct notes found = {0};
    struct buffer signature = {0};
    neso_kernel *kernel;
    neso_compile_options o = t->build->options;
    put_signature(&t->entries, &signature);
    o.signature = signature.s;
    o.until = NESO_TEXT_OPT;
    o.explain = "legalize_dot,raise_tma_load,raise_tma_store,pipeline_loops,warp_specialize,vectorize";
    o.note = take_note;
    o.user = &found;
    if (neso_kernel_compile(t->module, t->build->kernel, &o, &kernel) == NESO_OK) {
        neso_kernel_release(kernel);
    } else {
        notes_free(found.at, found.n);
        found = (struct notes){0};
    }
    buffer_free(&signature);
    return found;
}

/* -- better and worse -- */

static bool same_place(const struct note *x, const struct note *y)
{
    return x->at.file == y->at.file && x->at.line == y->at.line && x->at.column == y->at.column;
}

/* Returns the decision in n that the pass of x made at the source location of x; NULL if there is none. */
static const struct note *same_question(const struct notes *n, const struct note *x)
{
    for (size_t i = 0; i < n->n; i++)
        if (strcmp(n->at[i].pass, x->pass) == 0 && same_place(&n->at[i], x) && n->at[i].grade > 0)
            return &n->at[i];
    return NULL;
}

static int grade_at(const struct notes *n, const struct note *x)
{
    const struct note *y = same_question(n, x);
    return y ? y->grade : 0;
}

/* Returns whether the decisions y are better than the decisions x: at least one decision of the build is
 * better in y than in x, and none is worse. A decision that y lacks does not count, except one of
 * raise_tma_load, which counts as worse. */
static bool is_better(const struct build *b, const struct notes *x, const struct notes *y)
{
    bool better = false;
    for (size_t i = 0; i < b->nnotes; i++) {
        const struct note *q = &b->notes[i];
        int before = grade_at(x, q), after = grade_at(y, q);
        if (q->grade <= 0 || (!after && strcmp(q->pass, "raise_tma_load") != 0))
            continue;
        if (after < before)
            return false;
        better |= after > before;
    }
    return better;
}

/* -- hints -- */

static struct notes promise_all(struct trial *t)
{
    for (size_t i = 0; i < t->entries.n; i++)
        if (t->entries.at[i].param)
            t->entries.at[i].promise = PROMISE_16;
    struct notes best = try_entries(t);
    for (size_t i = t->entries.n; i-- > 0;) {
        struct entry *x = &t->entries.at[i];
        if (!x->param || x->is_pointer)
            continue;
        x->promise = PROMISE_1;
        struct notes tried = try_entries(t);
        bool keep = is_better(t->build, &best, &tried);
        struct notes dropped = keep ? best : tried;
        best = keep ? tried : best;
        x->promise = keep ? PROMISE_1 : PROMISE_16;
        notes_free(dropped.at, dropped.n);
    }
    return best;
}

/* Compiles the kernel with all promises that led to the decisions `best`, except the promise of entry x. If
 * decision i of the build is worse without this promise, adds the promise to needs[i]. */
static void ask_without(struct trial *t, struct build *b, const struct notes *best, struct entry *x,
                        struct buffer *needs)
{
    enum promise promised = x->promise;
    x->promise = PROMISE_as_given;
    struct notes without = try_entries(t);
    x->promise = promised;
    for (size_t i = 0; i < b->nnotes; i++) {
        const struct note *q = &b->notes[i];
        int best_grade = grade_at(best, q);
        if (q->grade > 0 && best_grade > q->grade && grade_at(&without, q) < best_grade)
            put_format(&needs[i], "%s%s:%s", needs[i].n ? ", " : "", x->param,
                       promised == PROMISE_1 ? "1" : "16");
    }
    notes_free(without.at, without.n);
}

void build_hints(struct build *b, neso_module *module)
{
    struct trial t = {b, module, {0}};
    if (!read_entries(&t.entries, b))
        return;
    struct notes best = promise_all(&t);
    struct buffer *needs = calloc(b->nnotes + 1, sizeof *needs);
    if (!needs)
        exit(complain("out of memory"));
    for (size_t i = 0; i < t.entries.n; i++)
        if (t.entries.at[i].promise)
            ask_without(&t, b, &best, &t.entries.at[i], needs);
    for (size_t i = 0; i < b->nnotes; i++) {
        if (!needs[i].n)
            continue;
        struct buffer better = {0};
        put_string(&better, same_question(&best, &b->notes[i])->text);
        b->notes[i].better = better.s;
        b->notes[i].needs = needs[i].s;
    }
    free(needs);
    notes_free(best.at, best.n);
}
