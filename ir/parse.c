/* SPDX-License-Identifier: MIT */
/* parse.c: reads the text form of the IR (the head of print.c has the grammar).
 *
 * The parser has no lexer: each function reads one production of the grammar from the characters at p->at,
 * and moves p->at past it. The parser reports only the first error, and then sets `failed`, which makes every
 * later function return at once. The parser checks the form of ops; the verifier checks everything else. */
#include "ir/ir.h"

#include <limits.h>
#include <string.h>

enum { NESTING_MOST = 100, POINTERS_MOST = 8, TILE_ELEMS_MOST = 1 << COORD_BITS_MAX };

struct parser {
    struct module *m;
    const struct source *src;
    const char *at, *end;
    const char *line_start;
    uint32_t line;
    struct func *f;
    struct map values;  /* values of the kernel, by name */
    struct map layouts; /* layouts of the kernel, by name */
    int depth;
    bool failed;
};

/* An op that has been read but not yet built. */
struct pending {
    enum opcode code;
    struct loc loc;
    VEC(const char *) names;
    VEC(struct value *) opnds;
    VEC(const struct type *) types;
    VEC(struct attr) attrs;
    const char *bits; /* text of the attribute of kind bits, `nbits` characters long */
    size_t nbits;
    VEC(const char *) carried; /* names of the first region's arguments */
};

/* -- characters -- */

static struct loc here(const struct parser *p)
{
    size_t col = (size_t)(p->at - p->line_start) + 1;
    return (struct loc){
        .file = (uint16_t)p->src->index, .line = p->line, .col = (uint16_t)(col < 65535 ? col : 65535)};
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_name_char(char c)
{
    return is_word_char(c) || c == '.' || c == '$' || ((unsigned char)c & 0x80);
}

static void skip_blanks(struct parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')
        p->at++;
    if (p->at[0] == '/' && p->at[1] == '/')
        while (p->at < p->end && *p->at != '\n')
            p->at++;
}

static void skip_lines(struct parser *p)
{
    for (skip_blanks(p); *p->at == '\n'; skip_blanks(p)) {
        p->line_start = ++p->at;
        p->line++;
    }
}

/* Describes the text at p->at, for an error message. */
static const char *describe(struct parser *p)
{
    if (p->at >= p->end)
        return "the end of the text";
    if (*p->at == '\n')
        return "the end of the line";
    size_t n = 1;
    if (is_name_char(*p->at) || *p->at == '%' || *p->at == '#')
        while (n < 40 && is_name_char(p->at[n]))
            n++;
    struct text t;
    text_init(&t, p->m->scratch);
    text_char(&t, '\'');
    text_bytes(&t, p->at, n);
    text_char(&t, '\'');
    return t.s;
}

static void fail_expected(struct parser *p, const char *what)
{
    if (!p->failed)
        diag_error(p->m->diag, here(p), ERR_ir_syntax, what, describe(p));
    p->failed = true;
}

static void fail_name(struct parser *p, enum error e, const char *what, const char *name, size_t n)
{
    if (!p->failed)
        diag_error(p->m->diag, here(p), e, what, arena_strndup(p->m->scratch, name, n));
    p->failed = true;
}

static bool peek(struct parser *p, char c)
{
    skip_blanks(p);
    return !p->failed && *p->at == c;
}

static bool accept(struct parser *p, char c)
{
    bool found = peek(p, c);
    p->at += found;
    return found;
}

static void expect(struct parser *p, char c)
{
    char what[] = {'\'', c, '\'', 0};
    if (!accept(p, c))
        fail_expected(p, what);
}

static size_t word_bytes(struct parser *p)
{
    skip_blanks(p);
    size_t n = 0;
    while (is_word_char(p->at[n]))
        n++;
    return n;
}

static bool accept_word(struct parser *p, const char *word)
{
    size_t n = word_bytes(p);
    if (p->failed || n != strlen(word) || memcmp(p->at, word, n) != 0)
        return false;
    p->at += n;
    return true;
}

static void expect_word(struct parser *p, const char *word)
{
    if (accept_word(p, word))
        return;
    struct text what;
    text_init(&what, p->m->scratch);
    text_printf(&what, "'%s'", word);
    fail_expected(p, what.s);
}

static void expect_line_end(struct parser *p)
{
    skip_blanks(p);
    if (*p->at != '\n' && p->at < p->end)
        fail_expected(p, "the end of the line");
    skip_lines(p);
}

static int64_t read_int(struct parser *p, int64_t least, int64_t most)
{
    skip_blanks(p);
    const char *s = p->at;
    bool negative = *s == '-';
    s += negative;
    uint64_t x = 0, limit = negative ? UINT64_C(1) << 63 : INT64_MAX;
    const char *digits = s;
    for (; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');
        if (x > (limit - digit) / 10) {
            fail_expected(p, "a smaller number");
            return least;
        }
        x = 10 * x + digit;
    }
    int64_t value = negative ? (int64_t)(0 - x) : (int64_t)x;
    if (p->failed || s == digits || value < least || value > most) {
        fail_expected(p, s == digits ? "a number" : value < least ? "a larger number" : "a smaller number");
        return least;
    }
    p->at = s;
    return value;
}

/* Reads a sigil and the name after it (%x, #l0, @add), and returns the name. */
static const char *read_name(struct parser *p, char sign)
{
    expect(p, sign);
    size_t n = 0;
    while (!p->failed && is_name_char(p->at[n]))
        n++;
    if (n == 0) {
        fail_expected(p, "a name");
        return "";
    }
    const char *name = intern(&p->m->strings, p->at, n);
    p->at += n;
    return name;
}

/* Reads a location, such as @12:5, @12:5+3 or @2:12:5+3/1 (`place` in the grammar). */
static struct loc read_place(struct parser *p)
{
    struct loc at = {0};
    if (!accept(p, '@'))
        return at;
    int64_t first = read_int(p, 0, UINT32_MAX);
    expect(p, ':');
    int64_t second = read_int(p, 0, UINT32_MAX);
    bool has_file = accept(p, ':');
    int64_t line = has_file ? second : first, col = has_file ? read_int(p, 0, UINT16_MAX) : second;
    int64_t file = has_file ? first : 0;
    if (file > UINT16_MAX || col > UINT16_MAX || line == 0)
        fail_expected(p, "a place that exists");
    at.file = (uint16_t)file;
    at.line = (uint32_t)line;
    at.col = (uint16_t)col;
    if (accept(p, '+'))
        at.len = (uint16_t)read_int(p, 0, UINT16_MAX);
    if (accept(p, '/'))
        at.call = (uint16_t)read_int(p, 0, UINT16_MAX);
    return at;
}

/* -- layouts and types -- */

static const struct layout *read_layout(struct parser *p)
{
    skip_blanks(p);
    struct layout l;
    const char *end = p->failed ? NULL : layout_parse(&l, p->at);
    if (!end || end > p->end) {
        fail_expected(p, "a layout");
        return NULL;
    }
    p->at = end;
    return layout_intern(p->m, &l);
}

static const struct layout *read_layout_use(struct parser *p)
{
    if (accept(p, '{')) {
        const struct layout *l = read_layout(p);
        expect(p, '}');
        return l;
    }
    const char *name = read_name(p, '#');
    void **found = p->failed ? NULL : map_get(&p->layouts, name, strlen(name));
    if (!found)
        fail_name(p, ERR_ir_unknown, "layout", name, strlen(name));
    return found ? *found : NULL;
}

static const struct layout *fit_layout(struct parser *p, const struct layout *l, int rank, const int *shape)
{
    struct layout fitted;
    layout_init(&fitted, rank, shape);
    bool fits = l && l->rank == rank;
    for (int i = 0; fits && i < rank; i++)
        fits = l->dim_bits[i] == fitted.dim_bits[i];
    if (!fits)
        fail_expected(p, "a layout of the tile's shape");
    return fits ? l : NULL;
}

static const struct type *read_type(struct parser *p, int depth);

/* Reads `128x64x`, which precedes the element type. Returns the rank. */
static int read_shape(struct parser *p, int *shape)
{
    int rank = 0;
    int64_t elems = 1;
    skip_blanks(p);
    while (!p->failed && *p->at >= '0' && *p->at <= '9') {
        if (rank == RANK_MAX) {
            fail_expected(p, "fewer dimensions");
            break;
        }
        int size = (int)read_int(p, 1, TILE_ELEMS_MOST / elems);
        if (size & (size - 1))
            fail_expected(p, "powers of two as sizes");
        elems *= size;
        shape[rank++] = size;
        expect(p, 'x');
    }
    if (rank == 0)
        fail_expected(p, "a shape");
    return rank;
}

/* Reads the rest of a type after "tile<" or "shared<". */
static const struct type *read_shaped(struct parser *p, bool is_shared)
{
    int shape[RANK_MAX] = {1};
    int rank = read_shape(p, shape);
    const struct type *elem = read_type(p, 1);
    if (elem->kind != TY_scalar && (is_shared || elem->kind != TY_ptr))
        fail_expected(p, is_shared ? "scalar elements" : "elements that are scalars or pointers");
    const struct layout *l = NULL;
    int nstages = 1;
    while (accept(p, ',')) {
        if (is_shared && accept_word(p, "stages")) {
            expect(p, '=');
            nstages = (int)read_int(p, 1, INT16_MAX);
        } else {
            l = fit_layout(p, read_layout_use(p), rank, shape);
        }
    }
    if (p->failed)
        return elem;
    return is_shared ? type_shared(p->m, elem, rank, shape, l, nstages)
                     : type_tile(p->m, elem, rank, shape, l);
}

static const struct type *read_pointer(struct parser *p, int depth)
{
    if (depth > POINTERS_MOST)
        fail_expected(p, "fewer pointers to pointers");
    const struct type *elem = read_type(p, depth + 1);
    if (elem->kind != TY_scalar && elem->kind != TY_ptr)
        fail_expected(p, "a pointer to a scalar or pointer");
    bool is_shared = accept(p, ',');
    if (is_shared)
        expect_word(p, "shared");
    return type_ptr(p->m, elem, is_shared ? SPACE_shared : SPACE_global);
}

static const struct type *read_type(struct parser *p, int depth)
{
    size_t n = word_bytes(p);
    for (int i = 0; !p->failed && i < DT_count; i++)
        if (strlen(dtype_info[i].word) == n && memcmp(dtype_info[i].word, p->at, n) == 0) {
            p->at += n;
            return type_scalar(p->m, (enum dtype)i);
        }
    const struct type *t = type_scalar(p->m, DT_i32);
    bool is_ptr = accept_word(p, "ptr"), is_shaped = !is_ptr && depth == 0;
    bool is_shared = is_shaped && accept_word(p, "shared");
    if (!is_ptr && !is_shared && !(is_shaped && accept_word(p, "tile"))) {
        fail_expected(p, "a type");
        return t;
    }
    expect(p, '<');
    if (!p->failed)
        t = is_ptr ? read_pointer(p, depth) : read_shaped(p, is_shared);
    expect(p, '>');
    return t;
}

/* -- values -- */

static void define(struct parser *p, struct value *v, const char *name)
{
    void **place = map_at(&p->values, name, strlen(name));
    if (*place)
        fail_name(p, ERR_ir_redefined, "value", name, strlen(name));
    *place = v;
    value_set_name(v, name);
}

static struct value *read_value(struct parser *p)
{
    skip_blanks(p);
    const char *start = p->at;
    const char *name = read_name(p, '%');
    void **found = p->failed ? NULL : map_get(&p->values, name, strlen(name));
    if (!found && !p->failed) {
        p->at = start;
        fail_name(p, ERR_ir_unknown, "value", name, strlen(name));
    }
    return found ? *found : NULL;
}

/* -- attributes -- */

static int hex_digit(char c)
{
    const char *digits = "0123456789abcdef", *found = c ? strchr(digits, c) : NULL;
    return found ? (int)(found - digits) : -1;
}

static void read_string(struct parser *p, struct attr *a)
{
    struct text t;
    text_init(&t, p->m->arena);
    expect(p, '"');
    while (!p->failed && *p->at != '"') {
        char c = *p->at++;
        if (p->at > p->end || c == '\n') {
            p->at--;
            fail_expected(p, "'\"'");
        } else if (c != '\\') {
            text_char(&t, c);
        } else if (*p->at == '"' || *p->at == '\\' || *p->at == 'n') {
            text_char(&t, *p->at == 'n' ? '\n' : *p->at);
            p->at++;
        } else if (*p->at == 'x' && hex_digit(p->at[1]) >= 0 && hex_digit(p->at[2]) >= 0) {
            text_char(&t, (char)(16 * hex_digit(p->at[1]) + hex_digit(p->at[2])));
            p->at += 3;
        } else {
            fail_expected(p, "an escape: \\\\, \\\", \\n or \\x and two digits");
        }
    }
    p->at += !p->failed;
    a->s = t.s;
    a->n = (int)t.len;
}

static void read_list(struct parser *p, struct attr *a)
{
    VEC(int) list = {0};
    expect(p, '[');
    while (!p->failed && !peek(p, ']'))
        VEC_PUSH(p->m->arena, &list, (int)read_int(p, INT_MIN, INT_MAX));
    expect(p, ']');
    a->list = list.at;
    a->n = list.n;
}

static void read_attr_word(struct parser *p, struct attr *a, const char *const *words)
{
    while (*words && !accept_word(p, *words)) {
        words++;
        a->i++;
    }
    if (!*words)
        fail_expected(p, "one of the attribute's words");
}

static void read_attr_value(struct parser *p, struct attr *a, struct pending *x)
{
    enum attr_kind kind = attr_info[a->key].kind;
    if (attr_words(kind)) {
        read_attr_word(p, a, attr_words(kind));
    } else if (kind == ATTRK_list) {
        read_list(p, a);
    } else if (kind == ATTRK_str) {
        read_string(p, a);
    } else if (kind == ATTRK_bits) {
        skip_blanks(p);
        x->bits = p->at;
        while (is_word_char(*p->at) || *p->at == '.' || *p->at == '-' || *p->at == '+')
            p->at++;
        x->nbits = (size_t)(p->at - x->bits);
    } else {
        a->i = read_int(p, INT64_MIN, INT64_MAX);
    }
}

/* Returns whether the text at p->at begins with `key =`. */
static bool at_key(struct parser *p)
{
    size_t n = word_bytes(p);
    while (n && (p->at[n] == ' ' || p->at[n] == '\t'))
        n++;
    return !p->failed && n && p->at[n] == '=';
}

static void read_attrs(struct parser *p, struct pending *x)
{
    while (at_key(p)) {
        size_t n = word_bytes(p);
        struct attr a = {0};
        int key = 0;
        while (key < ATTR_count &&
               (strlen(attr_info[key].word) != n || memcmp(attr_info[key].word, p->at, n) != 0))
            key++;
        if (key == ATTR_count || !(op_info[x->code].attrs >> key & 1)) {
            fail_name(p, ERR_ir_unknown, "attribute", p->at, n);
            return;
        }
        for (int i = 0; i < x->attrs.n; i++)
            if ((int)x->attrs.at[i].key == key)
                fail_name(p, ERR_ir_redefined, "attribute", p->at, n);
        a.key = (enum attr_key)key;
        p->at += n;
        expect(p, '=');
        read_attr_value(p, &a, x);
        VEC_PUSH(p->m->scratch, &x->attrs, a);
    }
}

static uint64_t read_hex(struct parser *p)
{
    uint64_t bits = 0;
    int ndigits = 0;
    for (p->at += 2; hex_digit(*p->at) >= 0; p->at++, ndigits++)
        bits = bits << 4 | (uint64_t)hex_digit(*p->at);
    if (ndigits == 0 || ndigits > 16)
        fail_expected(p, "1 to 16 hexadecimal digits");
    return bits;
}

/* Converts the text of a constant to bits. In the IR's text the type t follows the constant, so the parser first
 * keeps the constant's text. */
static int64_t parse_bits(struct parser *p, const struct pending *x, const struct type *t)
{
    struct parser at = *p;
    at.at = x->bits;
    int width = type_elem_bits(t);
    bool is_hex = x->nbits > 2 && x->bits[0] == '0' && x->bits[1] == 'x';
    int64_t bits = 0;
    if (type_is_float(t) && is_hex) {
        bits = (int64_t)read_hex(&at);
        if (width < 64 && (uint64_t)bits >> width)
            fail_expected(&at, "fewer bits");
    } else if (type_is_float(t)) {
        double value;
        at.at = text_read_double(x->bits, &value);
        bits = (int64_t)double_to_bits(type_elem(t)->dtype, value);
    } else {
        int64_t high = width == 64 ? INT64_MAX : width == 1 ? 1 : (INT64_C(1) << (width - 1)) - 1;
        bits = read_int(&at, width == 1 ? 0 : -high - 1, high);
    }
    if (at.at != x->bits + x->nbits || x->nbits == 0)
        fail_expected(&at, "a constant");
    p->failed |= at.failed;
    return bits;
}

static void set_attrs(struct parser *p, struct op *o, const struct pending *x)
{
    for (int i = 0; i < x->attrs.n && !p->failed; i++) {
        const struct attr *a = &x->attrs.at[i];
        switch (attr_info[a->key].kind) {
        case ATTRK_list: op_set_list(o, a->key, a->n, a->list); break;
        case ATTRK_str: op_set_str(o, a->key, a->s, a->n); break;
        case ATTRK_bits: op_set_int(o, a->key, parse_bits(p, x, o->results[0].type)); break;
        default: op_set_int(o, a->key, a->i); break;
        }
    }
}

/* -- ops -- */

static void read_names(struct parser *p, struct pending *x)
{
    if (!peek(p, '%'))
        return;
    do
        VEC_PUSH(p->m->scratch, &x->names, read_name(p, '%'));
    while (accept(p, ','));
    expect(p, '=');
}

static void push_value(struct parser *p, struct pending *x)
{
    struct value *v = accept(p, '_') ? NULL : read_value(p);
    VEC_PUSH(p->m->scratch, &x->opnds, v);
}

static void read_operands(struct parser *p, struct pending *x)
{
    if (!peek(p, '%') && !peek(p, '_'))
        return;
    do
        push_value(p, x);
    while (accept(p, ','));
}

/* Reads carry(%a = %x, %b = %y). */
static void read_carry(struct parser *p, struct pending *x)
{
    if (!accept_word(p, "carry"))
        return;
    expect(p, '(');
    do {
        VEC_PUSH(p->m->scratch, &x->carried, read_name(p, '%'));
        expect(p, '=');
        VEC_PUSH(p->m->scratch, &x->opnds, read_value(p));
    } while (accept(p, ','));
    expect(p, ')');
}

static void read_for(struct parser *p, struct pending *x)
{
    static const char *const words[] = {"to", "step", "carry"};
    VEC_PUSH(p->m->scratch, &x->carried, read_name(p, '%'));
    expect(p, '=');
    for (int i = 0; i < 3; i++) {
        VEC_PUSH(p->m->scratch, &x->opnds, read_value(p));
        if (i < 2)
            expect_word(p, words[i]);
    }
    read_carry(p, x);
}

static void read_result_types(struct parser *p, struct pending *x)
{
    if (accept(p, ':')) {
        do
            VEC_PUSH(p->m->scratch, &x->types, read_type(p, 0));
        while (accept(p, ','));
    }
    if (x->types.n != x->names.n)
        fail_expected(p, "one type for each result");
}

static void fail_form(struct parser *p, enum opcode code, const char *what, const char *list, int found)
{
    if (!p->failed)
        diag_error(p->m->diag, here(p), ERR_ir_form, op_info[code].name, what, list, found);
    p->failed = true;
}

/* Checks the numbers of results and operands, and which operands may be absent, against the table of ops. */
static void check_form(struct parser *p, const struct pending *x)
{
    const struct op_info *info = &op_info[x->code];
    int least, most;
    arity_of(info->results, &least, &most);
    if (x->names.n < least || x->names.n > most)
        fail_form(p, x->code, "results", info->results, x->names.n);
    arity_of(info->operands, &least, &most);
    if (x->opnds.n < least || x->opnds.n > most)
        fail_form(p, x->code, "operands", info->operands, x->opnds.n);
    for (int i = 0; i < x->opnds.n; i++)
        if (!x->opnds.at[i] && (i < least || most == INT_MAX))
            fail_expected(p, "a value instead of '_' where the operand is not optional");
}

static void read_body(struct parser *p, struct block *b);

static void read_block(struct parser *p, struct block *b)
{
    expect(p, '{');
    if (++p->depth > NESTING_MOST)
        fail_expected(p, "fewer regions in regions");
    expect_line_end(p);
    if (!p->failed)
        read_body(p, b);
    expect(p, '}');
    p->depth--;
}

/* Reads arguments with types, such as (%a: f32, %b: f32). If typed_by is not NULL, reads arguments without
 * types, such as (%a, %b), and gives them the types of typed_by's results. */
static void read_args(struct parser *p, struct block *b, const struct op *typed_by)
{
    expect(p, '(');
    for (int i = 0; !p->failed && !peek(p, ')'); i++) {
        if (i)
            expect(p, ',');
        const char *name = read_name(p, '%');
        const struct type *t = NULL;
        if (!typed_by) {
            expect(p, ':');
            t = read_type(p, 0);
        } else if (i < typed_by->nresults) {
            t = typed_by->results[i].type;
        } else {
            fail_expected(p, "one argument for each result");
        }
        if (!p->failed)
            define(p, block_add_arg(b, t, name), name);
    }
    if (typed_by && b->args.n != typed_by->nresults)
        fail_expected(p, "one argument for each result");
    expect(p, ')');
}

static void define_carried(struct parser *p, struct op *o, const struct pending *x)
{
    int first = o->code == OP_for ? 3 : 0;
    for (int i = 0; i < x->carried.n; i++) {
        bool is_counter = o->code == OP_for && i == 0;
        const struct value *init =
            is_counter ? o->opnds[0].value : o->opnds[first + i - (o->code == OP_for)].value;
        define(p, block_add_arg(o->regions[0], init->type, x->carried.at[i]), x->carried.at[i]);
    }
}

static void read_regions(struct parser *p, struct op *o, const struct pending *x)
{
    if (o->code == OP_for || o->code == OP_while)
        define_carried(p, o, x);
    bool is_control = op_info[o->code].family == FAMILY_control;
    for (int i = 0; i < o->nregions && !p->failed; i++) {
        if (i == 1 && o->code == OP_while) {
            expect_word(p, "do");
            read_args(p, o->regions[i], o);
        } else if (i == 1 && o->code == OP_if) {
            expect_word(p, "else");
        } else if (!is_control) {
            read_args(p, o->regions[i], NULL);
        }
        read_block(p, o->regions[i]);
    }
}

static void build(struct parser *p, struct block *b, const struct pending *x)
{
    struct builder at = build_at_end(b, x->loc);
    struct op *o =
        build_op(&at, x->code, x->opnds.n, x->opnds.at, x->names.n, x->types.at, op_info[x->code].nregions);
    set_attrs(p, o, x);
    /* The results get their names only after the regions are read, since ops in the regions cannot use the
     * results. */
    if (!p->failed)
        read_regions(p, o, x);
    for (int i = 0; i < o->nresults && !p->failed; i++)
        define(p, &o->results[i], x->names.at[i]);
}

static void read_op(struct parser *p, struct block *b)
{
    struct pending x = {0};
    read_names(p, &x);
    size_t n = word_bytes(p);
    x.code = n && !p->failed ? op_by_name(p->at, n) : OP_count;
    if (x.code == OP_count) {
        if (n)
            fail_name(p, ERR_ir_unknown, "op", p->at, n);
        else
            fail_expected(p, "an op");
        return;
    }
    p->at += n;
    if (x.code == OP_for)
        read_for(p, &x);
    else if (x.code == OP_while)
        read_carry(p, &x);
    else
        read_operands(p, &x);
    read_attrs(p, &x);
    read_result_types(p, &x);
    check_form(p, &x);
    x.loc = read_place(p);
    if (p->failed)
        return;
    build(p, b, &x);
    if (!peek(p, '}'))
        expect_line_end(p);
}

/* Reads the ops of a block up to the closing brace. */
static void read_body(struct parser *p, struct block *b)
{
    for (skip_lines(p); !p->failed && !peek(p, '}'); skip_lines(p))
        read_op(p, b);
}

/* -- kernels -- */

static void read_param_facts(struct parser *p, struct param *x)
{
    x->divisible = 1;
    if (!accept(p, '{'))
        return;
    if (accept_word(p, "divisible")) {
        expect(p, '=');
        x->divisible = (int)read_int(p, 1, INT_MAX);
    }
    x->is_const = accept_word(p, "const");
    x->is_unsigned = accept_word(p, "unsigned");
    expect(p, '}');
}

static void read_params(struct parser *p)
{
    expect(p, '(');
    for (int i = 0; !p->failed && !peek(p, ')'); i++) {
        if (i)
            expect(p, ',');
        struct param x = {.name = read_name(p, '%')};
        const char *name = x.name;
        expect(p, ':');
        const struct type *t = read_type(p, 0);
        read_param_facts(p, &x);
        x.loc = read_place(p);
        if (p->failed)
            return;
        define(p, func_add_param(p->f, t, x), name);
        p->f->params.at[i].name = name;
    }
    expect(p, ')');
}

static void read_target(struct parser *p)
{
    size_t n = word_bytes(p);
    p->f->target = target_by_name(arena_strndup(p->m->scratch, p->at, n));
    if (!p->f->target)
        fail_name(p, ERR_ir_unknown, "target", p->at, n);
    else
        p->at += n;
}

static void read_degree(struct parser *p)
{
    static const char *const words[] = {"traced", "laid_out", "scheduled"};
    for (int i = 0; i < 3; i++)
        if (accept_word(p, words[i])) {
            p->f->degree = (enum degree)i;
            return;
        }
    fail_expected(p, "traced, laid_out or scheduled");
}

/* Returns the address of the int field that stores a setting; NULL for a setting that read_settings reads
 * itself, and for an unknown word. */
static int *setting(struct func *f, const char *word, size_t n)
{
    const struct {
        const char *word;
        int *number;
    } rows[] = {
        {"warps", &f->num_warps},     {"stages", &f->num_stages},   {"ctas", &f->num_ctas},
        {"maxnreg", &f->maxnreg},     {"shared", &f->shared_bytes}, {"extra", &f->extra_warps},
        {"pairs", &f->pair_multiple}, {"packs", &f->packs},         {"turned", &f->turned},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (strlen(rows[i].word) == n && memcmp(rows[i].word, word, n) == 0)
            return rows[i].number;
    return NULL;
}

static void read_settings(struct parser *p)
{
    while (at_key(p)) {
        const char *word = p->at;
        size_t n = word_bytes(p);
        int *number = setting(p->f, word, n);
        p->at += n;
        expect(p, '=');
        if (number)
            *number = (int)read_int(p, 0, INT_MAX);
        else if (n == 9 && memcmp(word, "fp_fusion", n) == 0)
            p->f->fp_fusion = read_int(p, 0, 1) != 0;
        else if (n == 10 && memcmp(word, "fp_reassoc", n) == 0)
            p->f->fp_reassoc = read_int(p, 0, 1) != 0;
        else if (n == 13 && memcmp(word, "deterministic", n) == 0)
            p->f->deterministic = read_int(p, 0, 1) != 0;
        else if (n == 10 && memcmp(word, "persistent", n) == 0)
            p->f->persistent = (int)read_int(p, 0, 2);
        else if (n == 6 && memcmp(word, "target", n) == 0)
            read_target(p);
        else if (n == 6 && memcmp(word, "degree", n) == 0)
            read_degree(p);
        else
            fail_name(p, ERR_ir_unknown, "setting", word, n);
    }
}

/* -- the launch plan -- */

static void read_expr_step(struct parser *p, struct expr *e)
{
    bool is_number =
        (*p->at >= '0' && *p->at <= '9') || (*p->at == '-' && p->at[1] >= '0' && p->at[1] <= '9');
    size_t n = strcspn(p->at, " ,]\n");
    if (*p->at == '%') {
        const struct value *v = read_value(p);
        expr_push(p->m->arena, e, EXPR_param, v ? v->index : 0);
        return;
    }
    if (is_number) {
        expr_push(p->m->arena, e, EXPR_const, read_int(p, INT64_MIN, INT64_MAX));
        return;
    }
    if (n == 5 && memcmp(p->at, "grid", 4) == 0 && p->at[4] >= '0' && p->at[4] <= '2') {
        expr_push(p->m->arena, e, EXPR_grid, p->at[4] - '0');
        p->at += n;
        return;
    }
    for (int code = EXPR_add; code < EXPR_count; code++)
        if (strlen(expr_words[code]) == n && memcmp(p->at, expr_words[code], n) == 0) {
            expr_push(p->m->arena, e, (enum expr_code)code, 0);
            p->at += n;
            return;
        }
    fail_expected(p, "a parameter, a number or an operator");
}

/* Reads a list such as [%M 2 *, 64] of at most `most` expressions, and returns its length. */
static int read_exprs(struct parser *p, struct expr *e, int most)
{
    int n = 0;
    expect(p, '[');
    do {
        if (n == most)
            fail_expected(p, "']'");
        while (!p->failed && !peek(p, ',') && !peek(p, ']'))
            read_expr_step(p, &e[n]);
    } while (!p->failed && ++n && accept(p, ','));
    expect(p, ']');
    return n;
}

static void expect_key(struct parser *p, const char *word)
{
    expect_word(p, word);
    expect(p, '=');
}

static void read_map(struct parser *p)
{
    struct tensor_map m = {0};
    struct attr box = {0};
    struct text name;
    text_init(&name, p->m->scratch);
    text_printf(&name, "m%d", p->f->maps.n);
    expect(p, '#');
    expect_word(p, name.s);
    expect(p, '=');
    const struct type *elem = read_type(p, 1);
    if (elem->kind != TY_scalar)
        fail_expected(p, "elements that are scalars");
    m.dtype = (int)elem->dtype;
    expect_key(p, "base");
    read_exprs(p, &m.base, 1);
    expect_key(p, "extents");
    m.rank = read_exprs(p, m.extents, MAP_RANK_MAX);
    expect_key(p, "strides");
    if (read_exprs(p, m.strides, MAP_RANK_MAX) != m.rank)
        fail_expected(p, "a stride for each extent");
    expect_key(p, "box");
    read_list(p, &box);
    if (box.n != m.rank)
        fail_expected(p, "a box as large as the extents' list");
    for (int i = 0; i < m.rank && !p->failed; i++)
        m.box[i] = box.list[i];
    if (accept_word(p, "swizzle")) {
        expect(p, '=');
        m.swizzle = (int)read_int(p, 0, 128);
    }
    if (accept_word(p, "fill")) {
        expect(p, '=');
        expect_word(p, "nan");
        m.nan = true;
    }
    VEC_PUSH(p->m->arena, &p->f->maps, m);
}

static void read_plan(struct parser *p)
{
    for (skip_lines(p); !p->failed && accept_word(p, "map"); expect_line_end(p))
        read_map(p);
    for (; !p->failed && accept_word(p, "guard"); expect_line_end(p)) {
        struct expr e = {0};
        read_exprs(p, &e, 1);
        VEC_PUSH(p->m->arena, &p->f->guards, e);
    }
}

static void read_layouts(struct parser *p)
{
    for (skip_lines(p); !p->failed && accept_word(p, "layout"); expect_line_end(p)) {
        const char *name = read_name(p, '#');
        expect(p, '=');
        void **place = map_at(&p->layouts, name, strlen(name));
        if (*place)
            fail_name(p, ERR_ir_redefined, "layout", name, strlen(name));
        const struct layout *l = read_layout(p);
        place = map_at(&p->layouts, name, strlen(name));
        *place = (void *)(uintptr_t)l;
    }
}

static void read_kernel(struct parser *p)
{
    expect_word(p, "kernel");
    const char *name = read_name(p, '@');
    for (int i = 0; !p->failed && i < p->m->funcs.n; i++)
        if (strcmp(p->m->funcs.at[i]->name, name) == 0)
            fail_name(p, ERR_ir_redefined, "kernel", name, strlen(name));
    if (p->failed)
        return;
    p->f = func_new(p->m, name);
    map_init(&p->values, p->m->scratch);
    map_init(&p->layouts, p->m->scratch);
    read_params(p);
    read_settings(p);
    p->f->loc = read_place(p);
    expect(p, '{');
    expect_line_end(p);
    read_plan(p);
    read_layouts(p);
    read_body(p, p->f->body);
    expect(p, '}');
    expect_line_end(p);
}

bool module_parse(struct module *m, const struct source *src)
{
    struct parser p = {
        .m = m, .src = src, .at = src->text, .end = src->text + src->len, .line_start = src->text, .line = 1};
    int nfuncs = m->funcs.n;
    for (skip_lines(&p); !p.failed && p.at < p.end; skip_lines(&p))
        read_kernel(&p);
    if (p.failed)
        m->funcs.n = nfuncs;
    return !p.failed;
}
