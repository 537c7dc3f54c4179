/* SPDX-License-Identifier: MIT */
/* format.c: implements Python's three ways to format text: f-strings and str.format, with fields such as `{x:>8.3f}`,
 * and the operator %.
 *
 * For all three, the options of one conversion, such as width and type, are stored in a struct field. A number is
 * formatted as separate sign, prefix and digits, because zeros and fill characters may have to be inserted between
 * them. The C library formats digits with the locale's decimal point. fix_point then replaces this point by '.'. */
#include "frontend/python/python.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH_MOST = 1 << 20, PRECISION_MOST = 1100 };

struct field {
    const char *fill;
    int fill_bytes;
    char align;               /* '<', '>', '^' or '='; 0: the default alignment of the value's type */
    char sign;                /* '+', '-' or ' ' */
    bool alternate;           /* the specification contains `#` */
    bool zero;                /* the width begins with 0 */
    int64_t width, precision; /* precision is -1 if absent */
    char group;               /* ',' or '_'; 0 if absent */
    char type;                /* the letter of the presentation type, such as 'f' or 'x'; 0 if absent */
};

/* The parts of a formatted number, in their order. `prefix` is for example "0x". */
struct number {
    char sign;
    const char *prefix;
    struct text digits;
};

/* -- padding -- */

static void fill(struct text *out, const struct field *s, int64_t n)
{
    for (; n > 0; n--)
        text_bytes(out, s->fill, (size_t)s->fill_bytes);
}

static void put_padded(const struct field *s, const char *head, const char *body, size_t n, char align,
                       struct text *out)
{
    struct obj measure = {.kind = OBJ_str, .str = {body, n}};
    int64_t pad = s->width - str_chars(&measure) - (int64_t)strlen(head);
    if (pad < 0)
        pad = 0;
    int64_t before = align == '>' ? pad : align == '^' ? pad / 2 : 0;
    fill(out, s, before);
    text_str(out, head);
    if (align == '=')
        fill(out, s, pad);
    text_bytes(out, body, n);
    if (align != '=')
        fill(out, s, pad - before);
}

static void group_digits(struct text *digits, const struct field *s)
{
    if (!s->group)
        return;
    size_t whole = strspn(digits->s, "0123456789abcdefABCDEF");
    if (strchr("fFeEgG%n", s->type) || !s->type)
        whole = strspn(digits->s, "0123456789");
    size_t step = s->type && strchr("xXob", s->type) ? 4 : 3;
    struct text out;
    text_init(&out, digits->arena);
    for (size_t i = 0; i < whole; i++) {
        if (i && (whole - i) % step == 0)
            text_char(&out, s->group);
        text_char(&out, digits->s[i]);
    }
    text_bytes(&out, digits->s + whole, digits->len - whole);
    *digits = out;
}

static void put_number(const struct field *s, struct number *x, struct text *out)
{
    char head[8] = {0};
    if (x->sign)
        head[0] = x->sign;
    strcat(head, x->prefix);
    group_digits(&x->digits, s);
    put_padded(s, head, x->digits.s, x->digits.len, s->align ? s->align : '>', out);
}

static char sign_of(bool negative, const struct field *s)
{
    return negative ? '-' : s->sign == '-' ? 0 : s->sign;
}

/* -- floats -- */

/* Replaces the locale's decimal point, which may have several bytes, with '.'. */
static void fix_point(struct text *t)
{
    size_t at = strspn(t->s, "0123456789");
    size_t n = strcspn(t->s + at, "0123456789eE");
    if (n == 0 || at == t->len)
        return;
    t->s[at] = '.';
    memmove(t->s + at + 1, t->s + at + n, t->len - at - n + 1);
    t->len -= n - 1;
}

static void drop_zeros(struct text *t)
{
    size_t mantissa = strcspn(t->s, "eE");
    if (!memchr(t->s, '.', mantissa))
        return;
    size_t end = mantissa;
    while (t->s[end - 1] == '0')
        end--;
    if (t->s[end - 1] == '.')
        end--;
    memmove(t->s + end, t->s + mantissa, t->len - mantissa + 1);
    t->len -= mantissa - end;
}

/* Formats x as the presentation type `g` does. If `point` is true, formats x as a specification without a
 * type does: 3 becomes 3.0, and scientific notation begins at `precision` digits before the point, not at
 * `precision` + 1 digits. */
static void general(struct text *t, double x, int precision, bool alternate, bool point)
{
    if (precision == 0)
        precision = 1;
    struct text probe;
    text_init(&probe, t->arena);
    text_printf(&probe, "%.*e", precision - 1, x);
    int before = 1 + (int)strtol(strchr(probe.s, 'e') + 1, NULL, 10); /* number of digits before the point */
    bool scientific = before <= -4 || before > precision - point;
    if (scientific)
        text_printf(t, "%.*e", precision - 1, x);
    else
        text_printf(t, "%.*f", precision - before, x);
    fix_point(t);
    if (!alternate)
        drop_zeros(t);
    if (point && !scientific && !strchr(t->s, '.'))
        text_str(t, ".0");
}

static void upper(struct text *t)
{
    for (size_t i = 0; i < t->len; i++)
        if (t->s[i] >= 'a' && t->s[i] <= 'z')
            t->s[i] = (char)(t->s[i] - 'a' + 'A');
}

static void float_digits(struct text *t, double x, const struct field *s)
{
    int precision = s->precision < 0 ? 6 : (int)s->precision;
    if (isinf(x) || isnan(x)) {
        text_str(t, isinf(x) ? "inf" : "nan");
    } else if (s->type == 'f' || s->type == 'F' || s->type == '%') {
        text_printf(t, "%.*f", precision, x);
        fix_point(t);
    } else if (s->type == 'e' || s->type == 'E') {
        text_printf(t, "%.*e", precision, x);
        fix_point(t);
    } else if (s->type || s->precision >= 0) {
        general(t, x, precision, s->alternate, !s->type);
    } else {
        text_double(t, x, 0);
    }
    if (s->alternate && s->type && strchr("fFeE", s->type) && precision == 0)
        text_char(t, '.');
    if (s->type && strchr("FEG", s->type))
        upper(t);
    if (s->type == '%')
        text_char(t, '%');
}

static void format_float(struct eval *e, double x, const struct field *s, struct text *out)
{
    struct number n = {.sign = sign_of(signbit(x) && !isnan(x), s), .prefix = ""};
    text_init(&n.digits, e->arena);
    float_digits(&n.digits, fabs(s->type == '%' ? x * 100 : x), s);
    put_number(s, &n, out);
}

/* -- integers, strings -- */

static void format_int(struct eval *e, wide i, const struct field *s, struct text *out)
{
    struct number n = {.sign = sign_of(i < 0, s), .prefix = ""};
    text_init(&n.digits, e->arena);
    int base = s->type == 'x' || s->type == 'X' ? 16 : s->type == 'o' ? 8 : s->type == 'b' ? 2 : 10;
    show_digits(wide_magnitude(i), base, s->type == 'X', &n.digits);
    if (s->alternate && base != 10)
        n.prefix = s->type == 'x' ? "0x" : s->type == 'X' ? "0X" : s->type == 'o' ? "0o" : "0b";
    put_number(s, &n, out);
}

static void format_str(const char *text, size_t n, const struct field *s, struct text *out)
{
    struct obj x = {.kind = OBJ_str, .str = {text, n}};
    if (s->precision >= 0)
        n = str_offset(&x, s->precision);
    put_padded(s, "", text, n, s->align && s->align != '=' ? s->align : '<', out);
}

static void format_char(struct eval *e, struct obj *x, const struct field *s, struct text *out)
{
    struct text c;
    text_init(&c, e->arena);
    text_code(&c, (uint32_t)obj_wide(x) & 0x1fffff);
    format_str(c.s, c.len, s, out);
}

/* -- specs -- */

static int64_t read_number(const char **s, const char *end, int64_t most)
{
    int64_t n = 0;
    for (; *s < end && **s >= '0' && **s <= '9'; ++*s)
        n = n * 10 + (**s - '0') > most ? most : n * 10 + (**s - '0');
    return n;
}

static bool is_align(char c)
{
    return c == '<' || c == '>' || c == '^' || c == '=';
}

/* Parses a format specification: [[fill]align][sign][#][0][width][,_][.precision][type]. Returns false on a syntax
 * error. */
static bool parse_spec(const char *s, size_t n, struct field *out)
{
    const char *end = s + n;
    *out = (struct field){.fill = " ", .fill_bytes = 1, .sign = '-', .precision = -1};
    int bytes = n ? char_bytes(s, n) : 0;
    if (s + bytes < end && is_align(s[bytes])) {
        out->fill = s;
        out->fill_bytes = bytes;
        out->align = s[bytes];
        s += bytes + 1;
    } else if (s < end && is_align(*s)) {
        out->align = *s++;
    }
    if (s < end && (*s == '+' || *s == '-' || *s == ' '))
        out->sign = *s++;
    if (s < end && *s == '#')
        out->alternate = *s++;
    if (s < end && *s == '0') {
        out->zero = true;
        if (!out->align) {
            out->align = '=';
            out->fill = "0";
        }
        s++;
    }
    out->width = read_number(&s, end, WIDTH_MOST);
    if (s < end && (*s == ',' || *s == '_'))
        out->group = *s++;
    if (s < end && *s == '.') {
        const char *digits = ++s;
        out->precision = read_number(&s, end, PRECISION_MOST);
        if (s == digits)
            return false;
    }
    if (s < end)
        out->type = *s++;
    return s == end;
}

/* If x is a native object with a method `item`, such as a torch.Tensor, returns x.item(), so that a tensor of
 * one element is formatted as its number. For several elements, item() raises an exception. Returns any other
 * x unchanged. */
static struct obj *unwrap_native(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind != OBJ_native || !x->native.class->getattr)
        return x;
    struct obj *item = x->native.class->getattr(e, x, "item", at);
    return item ? eval_call(e, item, &(struct args){.loc = at}) : x;
}

static void format_with(struct eval *e, struct obj *x, const struct field *s, struct loc at, struct text *out)
{
    if (obj_is_integer(x) && (!s->type || strchr("dnxXob", s->type))) {
        format_int(e, obj_wide(x), s, out);
    } else if (obj_is_integer(x) && s->type == 'c') {
        format_char(e, x, s, out);
    } else if (obj_is_number(x) && (!s->type || strchr("fFeEgGn%", s->type))) {
        format_float(e, obj_double(x), s, out);
    } else if (x->kind == OBJ_str && (!s->type || s->type == 's')) {
        format_str(x->str.s, x->str.n, s, out);
    } else if (x->kind == OBJ_str || obj_is_number(x)) {
        char type[2] = {s->type, 0};
        eval_raise(e, at, "ValueError", ERR_format_code, type, obj_type_name(x));
    } else {
        eval_raise(e, at, "TypeError", ERR_format_object, obj_type_name(x));
    }
}

void format_value(struct eval *e, struct obj *x, const char *s, size_t n, struct loc at, struct text *out)
{
    struct obj *spec_text = obj_str_of(e, s, n);
    struct obj *own =
        x->kind == OBJ_instance ? instance_special(e, x, "__format__", 1, &spec_text, at) : NULL;
    if (own || n == 0) {
        struct obj *rank = x->kind == OBJ_native ? find_attribute(e, x, "ndim", at) : NULL;
        x = rank && !obj_truth(e, rank, at) ? unwrap_native(e, x, at) : x;
        obj_print(e, own ? own : x, out, false);
        return;
    }
    struct field spec;
    if (!parse_spec(s, n, &spec))
        eval_raise(e, at, "ValueError", ERR_format_spec, arena_strndup(e->arena, s, n), obj_type_name(x));
    format_with(e, unwrap_native(e, x, at), &spec, at, out);
}

/* -- '...' % args -- */

struct percent {
    struct eval *e;
    struct obj *args;
    int next;
    struct loc at;
};

static struct obj *next_argument(struct percent *p)
{
    if (p->args->kind == OBJ_tuple) {
        if (p->next >= p->args->seq.n)
            eval_raise(p->e, p->at, "TypeError", ERR_format_few);
        return p->args->seq.at[p->next++];
    }
    if (p->next++ > 0)
        eval_raise(p->e, p->at, "TypeError", ERR_format_few);
    return p->args;
}

static int64_t star_or_number(struct percent *p, const char **s, const char *end, int64_t most)
{
    int64_t n;
    if (*s >= end || **s != '*')
        return read_number(s, end, most);
    ++*s;
    if (!obj_as_int(next_argument(p), &n))
        eval_raise(p->e, p->at, "TypeError", ERR_format_star);
    return n > most ? most : n;
}

static void read_percent_flags(const char **s, const char *end, struct field *spec)
{
    for (; *s < end && strchr("-+ #0", **s); ++*s) {
        if (**s == '-')
            spec->align = '<';
        else if (**s == '0')
            spec->zero = true;
        else if (**s == '#')
            spec->alternate = true;
        else
            spec->sign = **s;
    }
    if (spec->zero && spec->align != '<') {
        spec->align = '=';
        spec->fill = "0";
    }
}

static void put_percent(struct percent *p, struct field *spec, struct obj *x, struct text *out)
{
    if (strchr("diuxXoc", spec->type) && spec->type != 'c' && x->kind == OBJ_float)
        x = int_from_double(p->e, x->f, p->at);
    if (strchr("rsa", spec->type)) {
        x = obj_to_str(p->e, x, spec->type != 's');
        spec->type = 's';
    } else if (spec->type == 'i' || spec->type == 'u') {
        spec->type = 'd';
    }
    if (spec->type == 'c' && x->kind == OBJ_str)
        spec->type = 's';
    if (spec->type == 's') {
        spec->align = spec->align == '<' ? '<' : '>';
        spec->fill = " ";
    } else {
        x = unwrap_native(p->e, x, p->at);
    }
    if (spec->type != 's' && !obj_is_number(x)) {
        char type[2] = {spec->type, 0};
        eval_raise(p->e, p->at, "TypeError", ERR_format_percent, type, obj_type_name(x));
    }
    format_with(p->e, x, spec, p->at, out);
}

/* Formats one conversion, whose text begins at s, after the '%'. Returns a pointer to the text after the conversion. */
static const char *percent_field(struct percent *p, const char *s, const char *end, struct text *out)
{
    struct field spec = {.fill = " ", .fill_bytes = 1, .sign = '-', .precision = -1};
    struct obj *x = NULL;
    if (s < end && *s == '(') {
        const char *close = memchr(s, ')', (size_t)(end - s));
        if (!close || p->args->kind != OBJ_dict)
            eval_raise(p->e, p->at, "TypeError", ERR_format_mapping);
        struct obj *key = obj_str(p->e, s + 1, (size_t)(close - s - 1));
        x = dict_get(p->e, p->args->dict, key);
        if (!x)
            eval_raise(p->e, p->at, "KeyError", ERR_key, obj_to_str(p->e, key, true)->str.s);
        p->next = 1;
        s = close + 1;
    }
    read_percent_flags(&s, end, &spec);
    spec.width = star_or_number(p, &s, end, WIDTH_MOST);
    if (s < end && *s == '.') {
        s++;
        spec.precision = star_or_number(p, &s, end, PRECISION_MOST);
    }
    while (s < end && (*s == 'l' || *s == 'h' || *s == 'L'))
        s++;
    if (s == end)
        eval_raise(p->e, p->at, "ValueError", ERR_format_incomplete);
    spec.type = *s++;
    if (spec.type == '%') {
        text_char(out, '%');
        return s;
    }
    if (!strchr("diuoxXeEfFgGcrsa", spec.type))
        eval_raise(p->e, p->at, "ValueError", ERR_format_character, (int)spec.type);
    put_percent(p, &spec, x ? x : next_argument(p), out);
    return s;
}

struct obj *format_percent(struct eval *e, struct obj *format, struct obj *args, struct loc at)
{
    struct percent p = {e, args, 0, at};
    struct text out;
    text_init(&out, e->arena);
    const char *s = format->str.s, *end = s + format->str.n;
    while (s < end) {
        if (*s == '%')
            s = percent_field(&p, s + 1, end, &out);
        else
            text_char(&out, *s++);
    }
    bool is_complete = args->kind == OBJ_tuple ? p.next == args->seq.n : p.next > 0 || args->kind == OBJ_dict;
    if (!is_complete)
        eval_raise(e, at, "TypeError", ERR_format_many);
    return obj_text(e, &out);
}

/* -- '...'.format(args) -- */

struct braces {
    struct eval *e;
    struct obj *args, *keywords; /* arguments of format(): a tuple and a dict */
    int next;
    struct loc at;
};

static void put_braces(struct braces *b, const char *s, const char *end, struct text *out, int depth);

static struct obj *braces_argument(struct braces *b, const char *s, size_t n)
{
    bool numeric = n > 0 && strspn(s, "0123456789") >= n;
    if (n == 0 || numeric) {
        const char *at = s;
        int64_t i = n ? read_number(&at, s + n, INT32_MAX) : b->next++;
        if (i >= b->args->seq.n)
            eval_raise(b->e, b->at, "IndexError", ERR_format_index, (int)i);
        return b->args->seq.at[i];
    }
    struct obj *key = obj_str(b->e, s, n);
    struct obj *x = dict_get(b->e, b->keywords->dict, key);
    if (!x)
        eval_raise(b->e, b->at, "KeyError", ERR_key, obj_to_str(b->e, key, true)->str.s);
    return x;
}

/* Returns the value of a field. The field's name or number selects an argument; then any number of `.attribute` and
 * `[key]` are applied to the argument. */
static struct obj *braces_value(struct braces *b, const char *s, const char *end)
{
    size_t n = 0;
    while (s + n < end && s[n] != '.' && s[n] != '[')
        n++;
    struct obj *x = braces_argument(b, s, n);
    for (s += n; s < end;) {
        bool is_item = *s++ == '[';
        n = 0;
        while (s + n < end && (is_item ? s[n] != ']' : s[n] != '.' && s[n] != '['))
            n++;
        if (is_item) {
            bool numeric = n > 0 && strspn(s, "0123456789") >= n;
            const char *at = s;
            struct obj *key =
                numeric ? obj_int(b->e, read_number(&at, s + n, INT32_MAX)) : obj_str(b->e, s, n);
            x = eval_getitem(b->e, x, key, b->at);
        } else {
            x = eval_getattr(b->e, x, intern(b->e->strings, s, n), b->at);
        }
        s += n + is_item;
    }
    return x;
}

/* Returns the '}' that ends a field; NULL if the field has no end. */
static const char *field_end(const char *s, const char *end)
{
    for (int depth = 1; s < end; s++) {
        depth += *s == '{' ? 1 : *s == '}' ? -1 : 0;
        if (depth == 0)
            return s;
    }
    return NULL;
}

static void put_field(struct braces *b, const char *s, const char *end, struct text *out, int depth)
{
    const char *name_end = s;
    bool in_brackets = false;
    for (; name_end < end && (in_brackets || (*name_end != '!' && *name_end != ':')); name_end++)
        in_brackets = *name_end == '[' || (in_brackets && *name_end != ']');
    struct obj *x = braces_value(b, s, name_end);
    s = name_end;
    if (s + 1 < end && *s == '!') {
        x = obj_to_str(b->e, x, s[1] != 's');
        s += 2;
    }
    struct text spec;
    text_init(&spec, b->e->arena);
    if (s < end && *s == ':')
        put_braces(b, s + 1, end, &spec, depth + 1);
    format_value(b->e, x, spec.s, spec.len, b->at, out);
}

static void put_braces(struct braces *b, const char *s, const char *end, struct text *out, int depth)
{
    while (s < end) {
        bool doubled = s + 1 < end && s[1] == *s;
        if ((*s == '{' || *s == '}') && doubled) {
            text_char(out, *s);
            s += 2;
        } else if (*s == '{') {
            const char *close = depth < 2 ? field_end(s + 1, end) : NULL;
            if (!close)
                eval_raise(b->e, b->at, "ValueError", ERR_format_brace, '}', '{');
            put_field(b, s + 1, close, out, depth);
            s = close + 1;
        } else if (*s == '}') {
            eval_raise(b->e, b->at, "ValueError", ERR_format_brace, '{', '}');
        } else {
            text_char(out, *s++);
        }
    }
}

struct obj *format_braces(struct eval *e, struct obj *format, struct obj *args, struct obj *keywords,
                          struct loc at)
{
    struct braces b = {e, args, keywords, 0, at};
    struct text out;
    text_init(&out, e->arena);
    put_braces(&b, format->str.s, format->str.s + format->str.n, &out, 0);
    return obj_text(e, &out);
}
