/* SPDX-License-Identifier: MIT */
/* signature.c: converts a signature, "*fp32:16, i32:1, 1024, ACC=tl.float32", to a specialization
 * (spec_print.c does the reverse).
 *
 * A signature has one entry for each parameter, separated by commas. An entry that begins like a type is a type,
 * optionally with a promise after a colon. An entry in parentheses is a tuple if it contains a type; it is a named
 * tuple if the name of a class precedes the parentheses. Any other entry is an expression, which is evaluated
 * in the kernel's module. Each entry that is not a tuple is a leaf: an argument of the kernel, a constant, or
 * a tensor descriptor. The signature is registered as a separate source, so that messages can show a location
 * in the signature:
 *
 *     signature:1:7: error: unknown type 'i31' [signature-type]
 *         1 | *fp32, i31, 1024
 *           |        ^~~ */
#include "frontend/trace/lang.h"
#include "frontend/python/python.h"
#include "runtime/runtime.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    const char *s; /* pointer into the signature's text */
    size_t n;
    const char *name; /* interned name of the parameter, or NULL */
    struct loc loc;
};

struct leaf {
    struct spec_arg arg;
    const struct param_rule *rule;
    size_t end;        /* offset of the end of the leaf's entry in the signature; 0 for a default value */
    struct obj *block; /* block_shape of a tensor descriptor; else NULL */
    bool pads_nan;     /* the tensor descriptor pads with NaN */
    /* Separate promises about the sizes and strides of a tensor descriptor: `divisible` has nsizes bits, one
     * for each size, then one for each stride except the last. A set bit promises a multiple of 16. If nsizes
     * is 0, there are no separate promises. */
    int nsizes;
    uint32_t divisible;
};

/* The value of a parameter: consecutive leaves, and a tuple that arranges them. Each item of the tuple is a nested
 * tuple, or None in place of a leaf. */
struct argument {
    bool is_given;
    int first;        /* index of the first leaf */
    struct obj *tree; /* a tuple; NULL for a single leaf */
};

struct reader {
    struct neso_kernel *kernel;
    struct neso_module *module;
    const struct source *source;
    struct param_rule *rules;
    int nrules; /* number of parameters without **META */
    bool has_meta;
    struct argument *arguments; /* indexed by parameter */
    VEC(struct leaf) leaves;
    VEC(const char *) meta_names;
    VEC(struct obj *) meta_values;
};

static struct diag *diag_of(const struct reader *r)
{
    return &r->module->diag;
}

static struct loc loc_at(const struct reader *r, const char *s, size_t n)
{
    size_t column = (size_t)(s - r->source->text) + 1;
    return (struct loc){.file = (uint16_t)r->source->index,
                        .line = 1,
                        .col = (uint16_t)(column > UINT16_MAX ? UINT16_MAX : column),
                        .len = (uint16_t)(n > UINT16_MAX ? UINT16_MAX : n)};
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void trim(struct entry *x)
{
    while (x->n && is_space(*x->s))
        x->s++, x->n--;
    while (x->n && is_space(x->s[x->n - 1]))
        x->n--;
}

/* -- types and promises -- */

/* Returns the length of the type at the start of x: `*kfp32`, `i32`. */
static size_t type_length(const struct entry *x)
{
    size_t n = 0;
    while (n < x->n && x->s[n] == '*')
        n++;
    while (n < x->n && is_word(x->s[n]))
        n++;
    return n;
}

/* Returns whether the entry is probably meant as a type: it starts with a star, is the name of a type, or
 * starts with a word and a colon (`i32:16`). */
static bool is_type(struct reader *r, const struct entry *x)
{
    size_t n = type_length(x);
    if (x->s[0] == '*')
        return true;
    if (n == 0 || (n < x->n && x->s[n] != ':'))
        return false;
    return lang_parse(&r->module->eval, x->s, n) || (n < x->n && x->s[n] == ':');
}

static bool read_promise(struct reader *r, const struct entry *x, size_t at, struct spec_arg *arg)
{
    struct entry rest = {.s = x->s + at, .n = x->n - at};
    trim(&rest);
    if (rest.n == 0)
        return true;
    struct entry word = {.s = rest.s + 1, .n = rest.n - 1};
    trim(&word);
    bool is_int = arg->type->kind == LT_number && dtype_info[arg->type->dtype].kind == DTYPE_int;
    if (rest.s[0] == ':' && word.n == 2 && memcmp(word.s, "16", 2) == 0) {
        arg->divisible = 16;
        return true;
    }
    if (rest.s[0] == ':' && word.n == 1 && word.s[0] == '1' && is_int) {
        arg->equals_one = arg->is_const = true;
        arg->value = obj_int(&r->module->eval, 1);
        return true;
    }
    struct loc loc = loc_at(r, rest.s, rest.n);
    const char *text = arena_strndup(&r->module->arena, rest.s, rest.n);
    if (rest.s[0] == ':' && word.n == 1 && word.s[0] == '1')
        diag_error(diag_of(r), loc, ERR_signature_one, arg->name, arena_strndup(&r->module->arena, x->s, at));
    else
        diag_error(diag_of(r), loc, ERR_signature_promise, text);
    return false;
}

static bool read_type(struct reader *r, const struct entry *x, const struct param_rule *rule,
                      struct spec_arg *arg)
{
    size_t n = type_length(x);
    const struct lang_type *t = lang_parse(&r->module->eval, x->s, n);
    if (!t) {
        diag_error(diag_of(r), loc_at(r, x->s, n), ERR_signature_type,
                   arena_strndup(&r->module->arena, x->s, n));
        diag_hint(diag_of(r), ERR_signature_types_hint);
        return false;
    }
    if (rule->is_constexpr) {
        diag_error(diag_of(r), x->loc, ERR_signature_constexpr, rule->name);
        diag_note(diag_of(r), rule->loc, ERR_declared_here, rule->name);
        return false;
    }
    if (t->kind == LT_ptr && rule->is_const_pointer)
        t = lang_ptr(&r->module->eval, t->elem, true);
    arg->type = t;
    return read_promise(r, x, n, arg);
}

/* -- values -- */

/* Parses the expression of an entry. In the parsed text, blanks replace the part of the signature before the
 * entry, so that columns in messages are columns of the signature. */
static struct ast *parse_value(struct reader *r, const struct entry *x)
{
    struct arena *a = &r->module->arena;
    struct source *s = NEW(a, struct source);
    size_t before = (size_t)(x->s - r->source->text);
    *s = *r->source;
    char *text = arena_strndup(a, r->source->text, before + x->n);
    memset(text, ' ', before);
    s->text = text;
    s->len = before + x->n;
    return parse_expression(a, &r->module->strings, diag_of(r), s);
}

static struct obj *read_value(struct reader *r, const struct entry *x)
{
    struct eval *e = &r->module->eval;
    struct ast *tree = parse_value(r, x);
    if (!tree)
        return NULL;
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump)) {
        diag_error(diag_of(r), h.raised.loc.line ? h.raised.loc : x->loc, ERR_signature_value,
                   h.raised.message ? h.raised.message : "this value cannot be computed");
        return NULL;
    }
    struct obj *value = eval_expr(e, r->module->object->module.scope, tree);
    handler_pop(e, &h);
    return value;
}

/* -- tensor descriptors -- */

static const char descriptor_word[] = "tensordesc<";
enum { DESCRIPTOR_CHARS = sizeof descriptor_word - 1 };

static bool starts_descriptor(const char *s, size_t n)
{
    return n > DESCRIPTOR_CHARS && memcmp(s, descriptor_word, DESCRIPTOR_CHARS) == 0;
}

static bool is_descriptor(const struct entry *x)
{
    return starts_descriptor(x->s, x->n);
}

/* Reads the promises about a tensor descriptor, for example "- 16 16" if its rank is 2: a word for each size, then a
 * word for each stride except the last. The word 16 promises a multiple of 16, and the word - promises nothing. */
static bool read_sizes(const struct entry *words, struct leaf *leaf)
{
    for (const char *s = words->s, *end = s + words->n; s < end;) {
        bool is_16 = end - s >= 2 && memcmp(s, "16", 2) == 0;
        if (leaf->nsizes == 2 * RANK_MAX - 1 || (!is_16 && *s != '-'))
            return false;
        leaf->divisible |= (uint32_t)is_16 << leaf->nsizes++;
        for (s += is_16 ? 2 : 1; s < end && *s == ' '; s++)
            ;
    }
    return leaf->nsizes > 0;
}

/* Reads the options after the block shape: `, nan` (the descriptor pads with NaN), `, zero`, and promises
 * such as `, - 16 16`. */
static bool read_options(const char *s, const char *end, struct leaf *leaf)
{
    while (s < end && *s == ' ')
        s++;
    if (s == end)
        return true;
    if (*s != ',')
        return false;
    const char *comma = memchr(s + 1, ',', (size_t)(end - s - 1)), *stop = comma ? comma : end;
    struct entry word = {.s = s + 1, .n = (size_t)(stop - s - 1)};
    trim(&word);
    bool is_nan = word.n == 3 && memcmp(word.s, "nan", 3) == 0;
    leaf->pads_nan |= is_nan;
    return (is_nan || (word.n == 4 && memcmp(word.s, "zero", 4) == 0) || read_sizes(&word, leaf)) &&
           read_options(stop, end, leaf);
}

/* Reads tensordesc<fp16[128, 64]>, with optional promises: after `>` one promise for all sizes and strides,
 * or inside the angle brackets a promise for each size and stride. */
static bool read_descriptor(struct reader *r, const struct entry *x, struct leaf *leaf)
{
    struct eval *e = &r->module->eval;
    struct entry elem = {.s = x->s + DESCRIPTOR_CHARS, .n = x->n - DESCRIPTOR_CHARS};
    size_t n = type_length(&elem);
    const char *close = memchr(x->s, '>', x->n), *shape_end = memchr(x->s, ']', x->n);
    const struct lang_type *t = lang_parse(e, elem.s, n);
    bool fits = t && close && elem.s[n] == '[' && shape_end && shape_end < close &&
                !leaf->rule->is_constexpr && read_options(shape_end + 1, close, leaf);
    if (!fits) {
        diag_error(diag_of(r), x->loc, ERR_signature_descriptor, leaf->rule->name);
        return false;
    }
    struct entry block = {.s = elem.s + n, .n = (size_t)(shape_end + 1 - elem.s) - n, .loc = x->loc};
    leaf->block = read_value(r, &block);
    leaf->arg.type = lang_ptr(e, t, false);
    if (leaf->block && leaf->nsizes && leaf->nsizes != 2 * leaf->block->seq.n - 1) {
        diag_error(diag_of(r), x->loc, ERR_signature_descriptor, leaf->rule->name);
        return false;
    }
    bool good = leaf->block && read_promise(r, x, (size_t)(close + 1 - x->s), &leaf->arg);
    /* because of the value 16, signature_variants adds no further promise to this entry */
    leaf->arg.divisible = leaf->nsizes ? 16 : leaf->arg.divisible;
    return good;
}

typedef VEC(struct spec_arg) spec_args;

/* Adds n arguments to `args`: the descriptor's sizes or strides. Bit first + i of leaf->divisible is the
 * promise for argument i. Returns a tuple with None for each argument. */
static struct obj *add_sizes(struct reader *r, const struct leaf *leaf, int first, int n, spec_args *args)
{
    struct eval *e = &r->module->eval;
    struct obj *parts = obj_tuple(e, 0, NULL);
    struct spec_arg size = {
        .name = leaf->arg.name, .type = lang_number(e, DT_i32, false), .divisible = leaf->arg.divisible};
    for (int i = 0; i < n; i++) {
        if (leaf->nsizes)
            size.divisible = leaf->divisible >> (first + i) & 1 ? 16 : 1;
        VEC_PUSH(&r->kernel->arena, args, size);
        VEC_PUSH(e->arena, &parts->seq, obj_none);
    }
    return parts;
}

static void add_constant(struct reader *r, const struct spec_arg *like, struct obj *x, spec_args *args)
{
    struct spec_arg arg = {.name = like->name, .is_const = true, .value = x, .divisible = 1};
    VEC_PUSH(&r->kernel->arena, args, arg);
}

/* Adds a descriptor's arguments: address, sizes, strides (the last is 1), and the constants block_shape and
 * padding. Returns a tuple that represents the descriptor. */
static struct obj *add_descriptor(struct reader *r, const struct leaf *leaf, spec_args *args)
{
    struct eval *e = &r->module->eval;
    const struct spec_arg *like = &leaf->arg;
    const struct obj *block = leaf->block;
    struct spec_arg base = *like;
    int rank = block->seq.n;
    base.divisible = 16;
    VEC_PUSH(&r->kernel->arena, args, base);
    struct obj *shape = add_sizes(r, leaf, 0, rank, args),
               *strides = add_sizes(r, leaf, rank, rank - 1, args);
    add_constant(r, like, obj_int(e, 1), args);
    VEC_PUSH(e->arena, &strides->seq, obj_none);
    for (int i = 0; i < rank; i++)
        add_constant(r, like, block->seq.at[i], args);
    add_constant(r, like, leaf->pads_nan ? obj_float(e, NAN) : obj_int(e, 0), args);
    return descriptor_new(e, (struct obj *[]){obj_none, shape, strides, shape, obj_none});
}

/* Adds the arguments of a tree to `args`. The tree's first leaf is number *at; moves *at past the tree's
 * leaves. Returns the tree with a tuple in place of each descriptor; NULL for a single argument. */
static struct obj *add_tree(struct reader *r, struct obj *tree, int *at, spec_args *args)
{
    struct eval *e = &r->module->eval;
    if (!tree || tree->kind != OBJ_tuple) {
        const struct leaf *leaf = &r->leaves.at[(*at)++];
        if (leaf->block)
            return add_descriptor(r, leaf, args);
        VEC_PUSH(&r->kernel->arena, args, leaf->arg);
        return NULL;
    }
    struct obj **items = NEW_ARRAY(e->arena, tree->seq.n, struct obj *);
    for (int i = 0; i < tree->seq.n; i++) {
        items[i] = add_tree(r, tree->seq.at[i], at, args);
        items[i] = items[i] ? items[i] : obj_none;
    }
    return obj_tuple_like(e, tree, items);
}

static void fill_spec(struct reader *r)
{
    struct spec *s = &r->kernel->spec;
    struct obj **parts = NEW_ARRAY(&r->kernel->arena, r->nrules, struct obj *);
    spec_args args = {0};
    for (int i = 0; i < r->nrules; i++) {
        int at = r->arguments[i].first;
        parts[i] = add_tree(r, r->arguments[i].tree, &at, &args);
        s->parts = parts[i] ? parts : s->parts;
    }
    s->args = args.at;
    s->nargs = args.n;
    s->nmeta = r->meta_names.n;
    s->meta_names = r->meta_names.at;
    s->meta_values = r->meta_values.at;
}

/* -- entries -- */

/* Returns the length of the entry at s. The entry ends at a comma outside brackets and quotes, or at
 * `end`. */
static size_t entry_length(struct reader *r, const char *s, const char *end)
{
    const char *unclosed = NULL, *at = s;
    int depth = 0;
    for (; at < end && !(*at == ',' && depth == 0); at++) {
        if (*at == '\'' || *at == '"') {
            const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
            unclosed = close ? unclosed : at;
            at = close ? close : end - 1;
        } else if (starts_descriptor(at, (size_t)(end - at))) {
            const char *close = memchr(at, '>', (size_t)(end - at));
            at = close ? close : at;
        } else if (strchr("([{", *at)) {
            unclosed = depth++ == 0 ? at : unclosed;
        } else if (strchr(")]}", *at) && depth > 0) {
            unclosed = --depth == 0 ? NULL : unclosed;
        }
    }
    if (unclosed)
        diag_error(diag_of(r), loc_at(r, unclosed, 1), ERR_signature_unclosed, *unclosed);
    return (size_t)(at - s);
}

/* If x is NAME=entry, sets x->name to NAME, and x to the entry. */
static void split_name(struct reader *r, struct entry *x)
{
    size_t n = 0;
    while (n < x->n && is_word(x->s[n]))
        n++;
    size_t at = n;
    while (at < x->n && is_space(x->s[at]))
        at++;
    if (n == 0 || at + 1 >= x->n || x->s[at] != '=' || x->s[at + 1] == '=')
        return;
    x->name = intern(&r->module->strings, x->s, n);
    x->s += at + 1;
    x->n -= at + 1;
    trim(x);
}

static int find_rule(const struct reader *r, const char *name)
{
    for (int i = 0; i < r->nrules; i++)
        if (strcmp(r->rules[i].name, name) == 0)
            return i;
    return -1;
}

static bool read_meta(struct reader *r, const struct entry *x)
{
    if (!r->has_meta) {
        diag_error(diag_of(r), x->loc, ERR_signature_unknown, r->kernel->name, x->name);
        return false;
    }
    struct obj *value = read_value(r, x);
    VEC_PUSH(&r->module->arena, &r->meta_names, x->name);
    VEC_PUSH(&r->module->arena, &r->meta_values, value);
    return value != NULL;
}

/* Reads the entry at *s, and moves *s past the comma after it. Returns false if this was the last entry. */
static bool next_entry(struct reader *r, const char **s, const char *end, struct entry *x)
{
    *x = (struct entry){.s = *s, .n = entry_length(r, *s, end)};
    bool more = *s + x->n < end;
    *s += x->n + more;
    trim(x);
    split_name(r, x);
    x->loc = loc_at(r, x->s, x->n);
    return more;
}

/* If the entry is a pointer type as C writes it, "fp32*", reports an error and returns true. */
static bool ends_in_star(struct reader *r, const struct entry *x)
{
    size_t n = type_length(x);
    if (n == 0 || n + 1 != x->n || x->s[n] != '*' || !lang_parse(&r->module->eval, x->s, n))
        return false;
    const char *type = arena_strndup(&r->module->arena, x->s, n);
    diag_error(diag_of(r), loc_at(r, x->s, x->n), ERR_signature_star, type, type);
    return true;
}

static bool add_leaf(struct reader *r, const struct entry *x, const struct param_rule *rule)
{
    struct leaf leaf = {.arg = {.name = rule->name, .divisible = 1}, .rule = rule};
    bool good = true;
    leaf.end = (size_t)(x->s - r->source->text) + x->n;
    if (is_descriptor(x)) {
        good = read_descriptor(r, x, &leaf);
    } else if (is_type(r, x)) {
        good = read_type(r, x, rule, &leaf.arg);
    } else if (ends_in_star(r, x)) {
        good = false;
    } else {
        leaf.arg.is_const = true;
        leaf.arg.value = read_value(r, x);
        good = leaf.arg.value != NULL;
    }
    VEC_PUSH(&r->module->arena, &r->leaves, leaf);
    return good;
}

/* -- tuples -- */

/* The entries between the parentheses of a tuple. */
typedef VEC(struct entry) entry_list;

/* If x is NAME(...) or (...), returns the length of NAME, or 0 without a name. Otherwise returns x->n. */
static size_t tuple_name_length(const struct entry *x)
{
    size_t n = 0;
    while (n < x->n && (is_word(x->s[n]) || x->s[n] == '.'))
        n++;
    return n < x->n && x->s[n] == '(' && x->s[x->n - 1] == ')' ? n : x->n;
}

static void list_members(struct reader *r, const struct entry *x, entry_list *out)
{
    const char *s = x->s + tuple_name_length(x) + 1;
    for (bool more = true; more;) {
        struct entry member;
        more = next_entry(r, &s, x->s + x->n - 1, &member);
        if (member.n || more)
            VEC_PUSH(&r->module->arena, out, member);
    }
}

enum { TUPLES_DEEP = 16 };

/* Returns whether x is a tuple that contains a type, and is not nested too deeply. If a tuple contains only
 * values, it is itself a value, which an expression describes. */
static bool is_tuple(struct reader *r, const struct entry *x, int depth)
{
    entry_list members = {0};
    if (tuple_name_length(x) == x->n || depth > TUPLES_DEEP)
        return false;
    list_members(r, x, &members);
    for (int i = 0; i < members.n; i++)
        if (members.at[i].n && (is_descriptor(&members.at[i]) || is_type(r, &members.at[i]) ||
                                is_tuple(r, &members.at[i], depth + 1)))
            return true;
    return false;
}

/* Returns the class of the named tuple x, whose name precedes the parenthesis, and sets *names to the class's
 * fields. If there is no such class, reports an error and returns NULL. */
static struct obj *read_class(struct reader *r, const struct entry *x, struct obj **names)
{
    struct entry name = {.s = x->s, .n = tuple_name_length(x)};
    bool is_named;
    name.loc = loc_at(r, name.s, name.n);
    struct obj *class = read_value(r, &name);
    *names = class && class->kind == OBJ_class ? class_fields(&r->module->eval, class, &is_named) : NULL;
    if (*names && is_named)
        return class;
    if (class)
        diag_error(diag_of(r), name.loc, ERR_signature_class,
                   arena_strndup(&r->module->arena, name.s, name.n));
    return NULL;
}

/* Returns the entry for field i, by the field's name or by its position; NULL if there is none. */
static const struct entry *find_member(const entry_list *members, int i, const char *field)
{
    for (int k = 0; k < members->n; k++)
        if (members->at[k].name ? strcmp(members->at[k].name, field) == 0 : k == i)
            return &members->at[k];
    return NULL;
}

static struct obj *add_argument(struct reader *r, const struct entry *x, const struct param_rule *rule,
                                int depth);

static struct obj *add_named_tuple(struct reader *r, const struct entry *x, const struct param_rule *rule,
                                   const entry_list *members, int depth)
{
    struct eval *e = &r->module->eval;
    struct obj *names, *class = read_class(r, x, &names), *tree = obj_tuple(e, 0, NULL);
    int found = 0;
    if (!class)
        return NULL;
    tree->class_of = class;
    for (int i = 0; i < names->seq.n; i++) {
        const char *field = intern_str(e->strings, names->seq.at[i]->str.s);
        const struct entry *member = find_member(members, i, field);
        struct obj *otherwise = class_find(class, field), *item = obj_none;
        found += member != NULL;
        if (member) {
            item = add_argument(r, member, rule, depth + 1);
        } else if (otherwise) {
            struct leaf leaf = {
                .arg = {.name = rule->name, .divisible = 1, .is_const = true, .value = otherwise},
                .rule = rule};
            VEC_PUSH(&r->module->arena, &r->leaves, leaf);
        } else {
            diag_error(diag_of(r), x->loc, ERR_signature_field, class->class.name, field);
            return NULL;
        }
        if (!item)
            return NULL;
        VEC_PUSH(e->arena, &tree->seq, item);
    }
    if (found == members->n)
        return tree;
    diag_error(diag_of(r), x->loc, ERR_signature_fields, class->class.name, names->seq.n, members->n);
    return NULL;
}

/* Adds the leaves of an entry, and returns the entry's tree (None if the entry is a leaf); NULL after an
 * error, which it reports. */
static struct obj *add_argument(struct reader *r, const struct entry *x, const struct param_rule *rule,
                                int depth)
{
    struct eval *e = &r->module->eval;
    entry_list members = {0};
    if (x->n == 0)
        diag_error(diag_of(r), x->loc, ERR_signature_empty);
    if (x->n == 0)
        return NULL;
    if (rule->is_constexpr || !is_tuple(r, x, depth))
        return add_leaf(r, x, rule) ? obj_none : NULL;
    list_members(r, x, &members);
    if (tuple_name_length(x) > 0)
        return add_named_tuple(r, x, rule, &members, depth);
    struct obj *tree = obj_tuple(e, 0, NULL);
    for (int i = 0; i < members.n; i++) {
        if (members.at[i].name)
            diag_error(diag_of(r), members.at[i].loc, ERR_signature_item_name, members.at[i].name);
        struct obj *item = members.at[i].name ? NULL : add_argument(r, &members.at[i], rule, depth + 1);
        if (!item)
            return NULL;
        VEC_PUSH(e->arena, &tree->seq, item);
    }
    return tree;
}

/* -- parameters -- */

static bool read_entry(struct reader *r, struct entry *x, int position)
{
    int i = x->name ? find_rule(r, x->name) : position;
    if (i < 0)
        return read_meta(r, x);
    if (r->arguments[i].is_given) {
        diag_error(diag_of(r), x->loc, ERR_signature_twice, r->rules[i].name);
        return false;
    }
    int first = r->leaves.n;
    struct obj *tree = add_argument(r, x, &r->rules[i], 0);
    r->arguments[i] = (struct argument){true, first, tree && tree->kind == OBJ_tuple ? tree : NULL};
    return tree != NULL;
}

/* Gives parameters that the signature omits their default values. Returns false after an error, which it
 * reports. */
static bool fill_defaults(struct reader *r)
{
    for (int i = 0; i < r->nrules; i++) {
        const struct param_rule *rule = &r->rules[i];
        if (r->arguments[i].is_given)
            continue;
        if (!rule->dflt) {
            diag_error(diag_of(r), rule->loc, ERR_signature_missing, rule->name, r->kernel->name);
            diag_hint(diag_of(r), ERR_hint_signature, rule->name);
            return false;
        }
        struct leaf leaf = {
            .arg = {.name = rule->name, .divisible = 1, .is_const = true, .value = rule->dflt}, .rule = rule};
        r->arguments[i].first = r->leaves.n;
        VEC_PUSH(&r->module->arena, &r->leaves, leaf);
    }
    return true;
}

static void read_entries(struct reader *r)
{
    const char *s = r->source->text;
    int position = 0;
    bool named = false, more = s[strspn(s, " \t\r\n")] != '\0';
    while (more && diag_of(r)->nerrors == 0) {
        struct entry x;
        more = next_entry(r, &s, r->source->text + r->source->len, &x);
        if (diag_of(r)->nerrors)
            return;
        if (!x.name && named)
            diag_error(diag_of(r), x.loc, ERR_signature_order);
        else if (!x.name && position >= r->nrules)
            diag_error(diag_of(r), x.loc, ERR_signature_extra, position + 1, r->kernel->name, r->nrules);
        else
            read_entry(r, &x, position);
        named |= x.name != NULL;
        position += x.name == NULL;
    }
}

static bool read_signature(struct reader *r, const char *signature)
{
    struct neso_kernel *k = r->kernel;
    struct neso_module *m = k->module;
    const char *text = signature ? signature : "";
    m->signature->text = arena_strndup(&m->arena, text, strlen(text));
    m->signature->len = strlen(text);
    r->source = m->signature;
    int n = jit_rules(&m->eval, k->jit->jit, &r->rules);
    r->has_meta = n > 0 && r->rules[n - 1].role == ROLE_kwargs;
    r->nrules = n - r->has_meta;
    r->arguments = NEW_ARRAY(&m->arena, r->nrules, struct argument);
    read_entries(r);
    return m->diag.nerrors == 0 && fill_defaults(r);
}

bool signature_read(struct neso_kernel *k, const char *signature)
{
    struct reader r = {.kernel = k, .module = k->module};
    if (!read_signature(&r, signature))
        return false;
    fill_spec(&r);
    return true;
}

/* -- specializations of a signature -- */

enum { VARIANTS_MOST = 4096, PROMISES = 3 };
static const char *const promises[PROMISES] = {":1", ":16", ""};

/* Returns whether a variant can add promises[promise] to leaf i. If the signature itself makes a promise for
 * the leaf, no variant adds another one. */
static bool may_promise(const struct reader *r, int i, int promise)
{
    const struct spec_arg *a = &r->leaves.at[i].arg;
    const struct param_rule *rule = r->leaves.at[i].rule;
    bool is_open = a->type && !a->is_const && a->divisible == 1;
    bool is_int = is_open && a->type->kind == LT_number && dtype_info[a->type->dtype].kind == DTYPE_int &&
                  a->type->dtype != DT_i1;
    if (promise == 0)
        return is_int && !rule->no_one && !rule->type;
    return promise == 2 || (is_open && (is_int || a->type->kind == LT_ptr) && !rule->no_divisible);
}

/* Prints the signature with promises[promise[i]] after the entry of each leaf i. */
static void print_variant(const struct reader *r, const int *promise, struct text *out)
{
    const char *s = r->source->text;
    size_t at = 0;
    for (;;) {
        int next = -1;
        const struct leaf *leaves = r->leaves.at;
        for (int i = 0; i < r->leaves.n; i++)
            if (leaves[i].end > at && (next < 0 || leaves[i].end < leaves[next].end))
                next = i;
        if (next < 0)
            break;
        text_bytes(out, s + at, leaves[next].end - at);
        text_str(out, promises[promise[next]]);
        at = leaves[next].end;
    }
    text_str(out, s + at);
    text_char(out, '\n');
}

static int next_promise(const struct reader *r, int i, int promise)
{
    while (!may_promise(r, i, promise))
        promise++;
    return promise;
}

/* Changes `promise` to the next combination of promises, in which the last leaf varies fastest. Returns false
 * at the end. */
static bool next_variant(const struct reader *r, int *promise)
{
    for (int i = r->leaves.n - 1; i >= 0; i--) {
        if (promise[i] < PROMISES - 1) {
            promise[i] = next_promise(r, i, promise[i] + 1);
            return true;
        }
        promise[i] = next_promise(r, i, 0);
    }
    return false;
}

bool signature_variants(struct neso_kernel *k, const char *signature, struct text *out)
{
    struct reader r = {.kernel = k, .module = k->module};
    if (!read_signature(&r, signature))
        return false;
    int *promise = NEW_ARRAY(&k->arena, r.leaves.n, int);
    int64_t n = 1;
    for (int i = 0; i < r.leaves.n && n <= VARIANTS_MOST; i++) {
        promise[i] = next_promise(&r, i, 0);
        n *= 1 + may_promise(&r, i, 0) + may_promise(&r, i, 1);
    }
    if (n > VARIANTS_MOST) {
        diag_error(diag_of(&r), (struct loc){0}, ERR_variants_many, VARIANTS_MOST, k->name);
        return false;
    }
    do
        print_variant(&r, promise, out);
    while (next_variant(&r, promise));
    return true;
}

/* -- parameters of jit functions -- */

/* Returns the last name in an annotation: "constexpr" for tl.constexpr, constexpr, "constexpr",
 * constexpr[int]. */
static const char *annotation_word(const struct ast *x)
{
    switch (x->kind) {
    case AST_name: return x->name.id;
    case AST_attribute: return x->attribute.name;
    case AST_str: return x->str.value.s;
    case AST_subscript: return annotation_word(x->subscript.value);
    default: return "";
    }
}

static const struct lang_type *annotated_type(struct eval *e, const char *word)
{
    if (strcmp(word, "int") == 0)
        return lang_number(e, DT_i32, false);
    if (strcmp(word, "float") == 0)
        return lang_number(e, DT_f32, false);
    if (strcmp(word, "bool") == 0)
        return lang_number(e, DT_i1, true);
    return lang_parse(e, word, strlen(word));
}

/* Returns whether a list such as do_not_specialize contains parameter i, by its number or by its name. */
static bool is_listed(const struct obj *list, int i, const char *name)
{
    if (!list || (list->kind != OBJ_list && list->kind != OBJ_tuple))
        return false;
    for (int k = 0; k < list->seq.n; k++) {
        const struct obj *x = list->seq.at[k];
        if (x->kind == OBJ_str ? strcmp(x->str.s, name) == 0 : x->kind == OBJ_int && x->i == i)
            return true;
    }
    return false;
}

static struct param_rule rule_of(struct eval *e, const struct jit *jit, const struct ast *p, int i)
{
    struct param_rule rule = {.name = p->param.name,
                              .loc = p->loc,
                              .role = p->param.role,
                              .dflt = jit->fn.defaults ? jit->fn.defaults[i] : NULL};
    rule.no_one = is_listed(jit->do_not_specialize, i, rule.name);
    rule.no_divisible = rule.no_one || is_listed(jit->do_not_specialize_on_alignment, i, rule.name);
    if (!p->param.annotation)
        return rule;
    const char *word = annotation_word(p->param.annotation);
    rule.is_constexpr = strstr(word, "constexpr") != NULL;
    rule.is_const_pointer = !rule.is_constexpr && strstr(word, "const") != NULL;
    if (!rule.is_constexpr && !rule.is_const_pointer)
        rule.type = annotated_type(e, word);
    return rule;
}

int jit_rules(struct eval *e, const struct jit *jit, struct param_rule **rules)
{
    const struct ast_list *params = &jit->fn.def->def.params;
    *rules = NEW_ARRAY(e->arena, params->n, struct param_rule);
    for (int i = 0; i < params->n; i++)
        (*rules)[i] = rule_of(e, jit, params->at[i], i);
    return params->n;
}
