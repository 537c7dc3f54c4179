/* SPDX-License-Identifier: MIT */
/* python.c: implements Python's built-in functions and types, one row each. Methods are in methods.c, modules in
 * library.c, exception classes in instance.c. */
#include "frontend/python/python.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The `data` of a builtin that is a type points to this text. isinstance accepts these builtins as classes. */
static const char type_mark[] = "type";

bool obj_is_builtin_type(const struct obj *x)
{
    return x->kind == OBJ_builtin && x->builtin->data == type_mark;
}

int64_t arg_index(struct eval *e, struct obj *x, struct loc at)
{
    int64_t i;
    if (!obj_as_int(x, &i))
        eval_raise(e, at, "TypeError", ERR_not_integer, obj_type_name(x));
    return i;
}

struct obj *arg_str(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind != OBJ_str)
        eval_raise(e, at, "TypeError", ERR_expected_str, obj_type_name(x));
    return x;
}

/* -- output -- */

static struct obj *print(struct eval *e, struct obj **args, const struct args *call)
{
    struct text out;
    text_init(&out, e->arena);
    for (int i = 0; i < args[0]->seq.n; i++) {
        if (i && args[1]->kind != OBJ_none)
            obj_print(e, args[1], &out, false);
        else if (i)
            text_char(&out, ' ');
        obj_print(e, args[0]->seq.at[i], &out, false);
    }
    if (args[2]->kind == OBJ_none)
        text_char(&out, '\n');
    else
        obj_print(e, args[2], &out, false);
    if (args[3]->kind == OBJ_none) {
        eval_write(e, out.s, out.len);
        return obj_none;
    }
    struct obj *text = obj_text(e, &out);
    call_with(e, eval_getattr(e, args[3], intern_str(e->strings, "write"), call->loc), 1, &text, call->loc);
    return obj_none;
}

/* -- conversions -- */

/* Returns the number that x represents. For a tensor of the host program, this is x.item(); for an instance, it is the
 * result of `method` (such as __int__). Returns any other x unchanged. */
static struct obj *as_number(struct eval *e, struct obj *x, const char *method, struct loc at)
{
    struct obj *made = x->kind == OBJ_instance ? instance_special(e, x, method, 0, NULL, at) : NULL;
    if (made)
        return made;
    struct obj *item =
        x->kind == OBJ_native ? find_attribute(e, x, intern_str(e->strings, "item"), at) : NULL;
    return item ? call_with(e, item, 0, NULL, at) : x;
}

static int digit_value(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Parses a text of n bytes as int(text, base) does. The text may contain surrounding spaces, a sign, a prefix
 * such as 0x, and single underscores between digits. If base is 0, the prefix determines the base. Sets
 * *overflow to whether the int has more than 128 bits. Returns false if the text is not an int. */
static bool parse_int(const char *s, size_t n, int base, wide *out, bool *overflow)
{
    while (n && is_space(*s))
        s++, n--;
    while (n && is_space(s[n - 1]))
        n--;
    bool negative = n && *s == '-';
    if (n && (*s == '-' || *s == '+'))
        s++, n--;
    char letter = n > 1 && s[0] == '0' ? (char)(s[1] | 32) : 0;
    int prefix = letter == 'x' ? 16 : letter == 'o' ? 8 : letter == 'b' ? 2 : 0;
    if (prefix && (base == 0 || base == prefix)) {
        base = prefix;
        s += 2, n -= 2;
    }
    base = base ? base : 10;
    *out = 0;
    *overflow = false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '_' && i && i + 1 < n && s[i - 1] != '_')
            continue;
        int digit = digit_value(s[i]);
        if (digit >= base)
            return false;
        *overflow |=
            __builtin_mul_overflow(*out, (wide)base, out) || __builtin_add_overflow(*out, (wide)digit, out);
    }
    if (negative)
        *out = -*out;
    return n > 0;
}

static struct obj *make_int(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = as_number(e, args[0], "__int__", call->loc);
    if (x->kind == OBJ_str) {
        wide i;
        bool overflow;
        int64_t base = args[1] ? arg_index(e, args[1], call->loc) : 10;
        if (!parse_int(x->str.s, x->str.n, (int)base, &i, &overflow))
            eval_raise(e, call->loc, "ValueError", ERR_int_text, (int)base, obj_to_str(e, x, true)->str.s);
        return int_checked(e, overflow, i, call->loc);
    }
    if (x->kind == OBJ_float)
        return int_from_double(e, x->f, call->loc);
    if (!obj_is_integer(x))
        eval_raise(e, call->loc, "TypeError", ERR_int_of, obj_type_name(x));
    return obj_int(e, obj_wide(x));
}

static bool parse_float(struct eval *e, const struct obj *x, double *out)
{
    struct text digits; /* without surrounding spaces, and without _ between digits */
    text_init(&digits, e->arena);
    size_t n = x->str.n;
    const char *s = x->str.s;
    while (n && is_space(*s))
        s++, n--;
    while (n && is_space(s[n - 1]))
        n--;
    for (size_t i = 0; i < n; i++)
        if (s[i] != '_')
            text_char(&digits, s[i] >= 'A' && s[i] <= 'Z' ? (char)(s[i] | 32) : s[i]);
    size_t sign = *digits.s == '-' || *digits.s == '+';
    bool is_hex = digits.s[sign] == '0' && digits.s[sign + 1] == 'x';
    if (strcmp(digits.s + sign, "infinity") == 0)
        digits.s[digits.len = sign + 3] = 0;
    const char *end = text_read_double(digits.s, out);
    return digits.len > sign && end == digits.s + digits.len && !is_hex;
}

static struct obj *make_float(struct eval *e, struct obj **args, const struct args *call)
{
    double f;
    struct obj *x = as_number(e, args[0], "__float__", call->loc);
    if (obj_is_number(x))
        return obj_float(e, obj_double(x));
    if (x->kind != OBJ_str)
        eval_raise(e, call->loc, "TypeError", ERR_float_of, obj_type_name(x));
    if (!parse_float(e, x, &f))
        eval_raise(e, call->loc, "ValueError", ERR_float_text, obj_to_str(e, x, true)->str.s);
    return obj_float(e, f);
}

static struct obj *make_bool(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_bool(obj_truth(e, args[0], call->loc));
}

static struct obj *make_str(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_to_str(e, args[0], false);
}

static struct obj *make_repr(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_to_str(e, args[0], true);
}

static struct obj *make_list(struct eval *e, struct obj **args, const struct args *call)
{
    return args[0] ? iter_collect(e, args[0], call->loc) : obj_list(e, 0, NULL);
}

static struct obj *make_tuple(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = make_list(e, args, call);
    x->kind = OBJ_tuple;
    return x;
}

/* Implements set and frozenset. */
static struct obj *make_set(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = obj_set(e);
    out->is_frozen = call->callee->name[0] == 'f';
    if (!args[0])
        return out;
    struct iter it = iter_of(e, args[0], call->loc);
    for (struct obj *item; (item = iter_next(e, &it));) {
        if (!obj_is_hashable(e, item))
            eval_raise(e, call->loc, "TypeError", ERR_unhashable, obj_type_name(item));
        dict_set(e, out->dict, item, obj_none);
    }
    return out;
}

void dict_update(struct eval *e, struct obj *dict, struct obj *from, struct loc at)
{
    if (from->kind == OBJ_dict) {
        for (int i = 0; i < from->dict->entries.n; i++)
            if (from->dict->entries.at[i].key)
                dict_set(e, dict->dict, from->dict->entries.at[i].key, from->dict->entries.at[i].value);
        return;
    }
    struct iter it = iter_of(e, from, at);
    for (struct obj *item; (item = iter_next(e, &it));) {
        struct obj *pair = iter_collect(e, item, at);
        if (pair->seq.n != 2)
            eval_raise(e, at, "ValueError", ERR_dict_pair, pair->seq.n);
        eval_setitem(e, dict, pair->seq.at[0], pair->seq.at[1], at);
    }
}

static struct obj *make_dict(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = obj_dict(e);
    if (args[0])
        dict_update(e, out, args[0], call->loc);
    dict_update(e, out, args[1], call->loc);
    return out;
}

static struct obj *make_range(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = obj_new(e, OBJ_range);
    x->range.stop = arg_index(e, args[0], call->loc);
    x->range.step = 1;
    if (args[1]) {
        x->range.start = x->range.stop;
        x->range.stop = arg_index(e, args[1], call->loc);
    }
    if (args[2])
        x->range.step = arg_index(e, args[2], call->loc);
    if (x->range.step == 0)
        eval_raise(e, call->loc, "ValueError", ERR_range_step);
    return x;
}

static struct obj *make_slice(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct obj *x = obj_new(e, OBJ_slice);
    x->slice.start = args[1] ? args[0] : obj_none;
    x->slice.stop = args[1] ? args[1] : args[0];
    x->slice.step = args[2] ? args[2] : obj_none;
    return x;
}

static struct obj *make_object(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    return obj_instance(e, obj_class(e, "object", NULL));
}

/* -- numbers -- */

static struct obj *absolute(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = args[0], *own = NULL;
    if (x->kind == OBJ_float)
        return obj_float(e, fabs(x->f));
    if (obj_is_integer(x))
        return obj_wide(x) < 0 ? eval_unary(e, OPER_neg, x, call->loc) : obj_int(e, obj_wide(x));
    if (x->kind == OBJ_native)
        own = find_attribute(e, x, intern_str(e->strings, "abs"), call->loc);
    if (own)
        return call_with(e, own, 0, NULL, call->loc);
    own = instance_special(e, x, "__abs__", 0, NULL, call->loc);
    if (!own)
        eval_raise(e, call->loc, "TypeError", ERR_bad_operand, "abs()", obj_type_name(x));
    return own;
}

/* Rounds x to `digits` decimal places. To round to places after the decimal point, converts x to decimal text, because
 * only the exact decimal value of x shows whether x is halfway between two results. */
static double round_to(struct eval *e, double x, int64_t digits)
{
    if (!isfinite(x) || digits > 330)
        return x;
    if (digits < -310)
        return copysign(0, x);
    if (digits < 0) {
        double scale = pow(10, (double)-digits);
        return rint(x / scale) * scale;
    }
    char s[700];
    snprintf(s, sizeof s, "%.*f", (int)digits, x);
    struct text t;
    text_init(&t, e->arena);
    for (const char *c = s; *c; c++)
        text_char(&t, (*c >= '0' && *c <= '9') || *c == '-' ? *c : '.');
    double result;
    text_read_double(t.s, &result);
    return result;
}

static wide round_int(wide i, int64_t digits)
{
    wide scale = 1;
    for (; digits < 0 && scale < (wide)1 << 120; digits++)
        scale *= 10;
    wide rest = i % scale, down = i - rest;
    if (rest < 0) {
        rest += scale;
        down -= scale;
    }
    bool is_up = 2 * rest > scale || (2 * rest == scale && down / scale % 2 != 0);
    return is_up ? down + scale : down;
}

static struct obj *round_number(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = as_number(e, args[0], "__round__", call->loc);
    bool whole = !args[1] || args[1]->kind == OBJ_none;
    if (obj_is_integer(x))
        return obj_int(e, whole ? obj_wide(x) : round_int(obj_wide(x), arg_index(e, args[1], call->loc)));
    if (x->kind != OBJ_float)
        eval_raise(e, call->loc, "TypeError", ERR_round_of, obj_type_name(x));
    return whole ? int_from_double(e, rint(x->f), call->loc)
                 : obj_float(e, round_to(e, x->f, arg_index(e, args[1], call->loc)));
}

static struct obj *divmod(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *quotient = eval_binary(e, OPER_floordiv, args[0], args[1], call->loc);
    return obj_pair(e, quotient, eval_binary(e, OPER_mod, args[0], args[1], call->loc));
}

/* Returns an integer whose product with a is 1 modulo m; 0 if a and m have a common divisor above 1, or if m
 * is 1 or -1. The loop is the extended Euclidean algorithm: `rest` always equals a * factor modulo m. The
 * caller ensures that |a| < |m|, and that m is not the least integer, so that -m exists. */
static wide inverse(wide a, wide m)
{
    wide modulus = m < 0 ? -m : m, last = modulus, rest = a < 0 ? a + modulus : a, last_factor = 0,
         factor = 1;
    while (rest) {
        wide quotient = last / rest, next = last - quotient * rest;
        wide next_factor = last_factor - quotient * factor;
        last = rest, rest = next;
        last_factor = factor, factor = next_factor;
    }
    return last == 1 ? last_factor : 0;
}

/* Implements pow. pow(a, b, m) reduces every product modulo m. So a product is less than m * m, and can overflow only if
 * m has more than 63 bits. If b is negative, the result is the power -b of the inverse of a. */
static struct obj *power(struct eval *e, struct obj **args, const struct args *call)
{
    if (!args[2] || args[2]->kind == OBJ_none)
        return eval_binary(e, OPER_pow, args[0], args[1], call->loc);
    for (int i = 0; i < 3; i++)
        if (!obj_is_integer(args[i]))
            eval_raise(e, call->loc, "TypeError", ERR_not_integer, obj_type_name(args[i]));
    if (obj_wide(args[2]) == 0)
        eval_raise(e, call->loc, "ValueError", ERR_zero_modulus);
    struct obj *one = obj_int(e, 1), *result = eval_binary(e, OPER_mod, one, args[2], call->loc);
    struct obj *base = eval_binary(e, OPER_mod, args[0], args[2], call->loc);
    uwide n = wide_magnitude(obj_wide(args[1]));
    if (obj_wide(args[1]) < 0) {
        wide m = obj_wide(args[2]), inverted;
        if (wide_magnitude(m) >> 127)
            eval_raise(e, call->loc, "OverflowError", ERR_int_overflow);
        inverted = inverse(obj_wide(base), m);
        if (inverted == 0 && wide_magnitude(m) != 1)
            eval_raise(e, call->loc, "ValueError", ERR_not_invertible);
        base = eval_binary(e, OPER_mod, obj_int(e, inverted), args[2], call->loc);
    }
    for (; n > 0; n >>= 1) {
        if (n & 1)
            result = eval_binary(e, OPER_mod, eval_binary(e, OPER_mul, result, base, call->loc), args[2],
                                 call->loc);
        base = eval_binary(e, OPER_mod, eval_binary(e, OPER_mul, base, base, call->loc), args[2], call->loc);
    }
    return result;
}

/* Implements hex, oct and bin. The row's data is the letter of the prefix: "x", "o" or "b". */
static struct obj *in_base(struct eval *e, struct obj **args, const struct args *call)
{
    if (!obj_is_integer(args[0]))
        eval_raise(e, call->loc, "TypeError", ERR_not_integer, obj_type_name(args[0]));
    char letter = *(const char *)call->callee->data;
    struct text t;
    text_init(&t, e->arena);
    text_printf(&t, "%s0%c", obj_wide(args[0]) < 0 ? "-" : "", letter);
    show_digits(wide_magnitude(obj_wide(args[0])), letter == 'x' ? 16 : letter == 'o' ? 8 : 2, false, &t);
    return obj_text(e, &t);
}

static struct obj *character(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t code = arg_index(e, args[0], call->loc);
    if (code < 0 || code > 0x10ffff)
        eval_raise(e, call->loc, "ValueError", ERR_chr);
    struct text t;
    text_init(&t, e->arena);
    text_code(&t, (uint32_t)code);
    return obj_text(e, &t);
}

static struct obj *ordinal(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[0]->kind != OBJ_str || str_chars(args[0]) != 1)
        eval_raise(e, call->loc, "TypeError", ERR_ord);
    return obj_int(e, char_code(args[0]->str.s, (int)args[0]->str.n));
}

/* -- functions of iterables -- */

static struct obj *length(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t n = obj_len(e, args[0], call->loc);
    if (n < 0)
        eval_raise(e, call->loc, "TypeError", ERR_no_len, obj_type_name(args[0]));
    return obj_int(e, n);
}

static struct obj *by_key(struct eval *e, struct obj *key, struct obj *x, struct loc at)
{
    return key->kind == OBJ_none ? x : call_with(e, key, 1, &x, at);
}

/* Implements min and max; the row's data is "n" or "x". */
static struct obj *extreme(struct eval *e, struct obj **args, const struct args *call)
{
    bool is_max = *(const char *)call->callee->data == 'x';
    struct obj *items = args[0]->seq.n == 1 ? args[0]->seq.at[0] : args[0];
    struct iter it = iter_of(e, items, call->loc);
    struct obj *best = NULL, *best_key = NULL;
    for (struct obj *item; (item = iter_next(e, &it));) {
        struct obj *key = by_key(e, args[1], item, call->loc);
        if (!best || (is_max ? is_less(e, best_key, key, call->loc) : is_less(e, key, best_key, call->loc))) {
            best = item;
            best_key = key;
        }
    }
    if (!best)
        best = args[2];
    if (!best)
        eval_raise(e, call->loc, "ValueError", ERR_empty, builtin_short_name(call->callee));
    return best;
}

struct obj *python_fold(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *total = args[1];
    struct iter it = iter_of(e, args[0], call->loc);
    for (struct obj *item; (item = iter_next(e, &it));)
        total = eval_binary(e, call->callee->data ? OPER_mul : OPER_add, total, item, call->loc);
    return total;
}

/* Implements any and all. The row's data is the truth value of an item that decides the result: "1" for any. */
static struct obj *any_all(struct eval *e, struct obj **args, const struct args *call)
{
    bool decides = *(const char *)call->callee->data == '1';
    struct iter it = iter_of(e, args[0], call->loc);
    for (struct obj *item; (item = iter_next(e, &it));)
        if (obj_truth(e, item, call->loc) == decides)
            return obj_bool(decides);
    return obj_bool(!decides);
}

static void merge_sort(struct eval *e, struct dict_entry *at, struct dict_entry *spare, int n, struct loc loc)
{
    if (n < 2)
        return;
    int half = n / 2;
    merge_sort(e, at, spare, half, loc);
    merge_sort(e, at + half, spare, n - half, loc);
    memcpy(spare, at, (size_t)half * sizeof *at);
    int i = 0, j = half, k = 0;
    eval_step(e, loc);
    while (i < half && j < n)
        at[k++] = is_less(e, at[j].key, spare[i].key, loc) ? at[j++] : spare[i++];
    while (i < half)
        at[k++] = spare[i++];
}

struct obj *sort_list(struct eval *e, struct obj *list, struct obj *key, bool reverse, struct loc at)
{
    int n = list->seq.n;
    struct dict_entry *pairs = NEW_ARRAY(e->arena, n + 1, struct dict_entry);
    for (int i = 0; i < n; i++) {
        struct obj *x = list->seq.at[reverse ? n - 1 - i : i];
        pairs[i] = (struct dict_entry){by_key(e, key, x, at), x};
    }
    merge_sort(e, pairs, NEW_ARRAY(e->arena, n + 1, struct dict_entry), n, at);
    for (int i = 0; i < n; i++)
        list->seq.at[reverse ? n - 1 - i : i] = pairs[i].value;
    return list;
}

static struct obj *sorted(struct eval *e, struct obj **args, const struct args *call)
{
    return sort_list(e, iter_collect(e, args[0], call->loc), args[1], obj_truth(e, args[2], call->loc),
                     call->loc);
}

static struct obj *reversed(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = args[0], backwards = {.kind = OBJ_slice};
    if (x->kind == OBJ_range) {
        backwards.slice.step = obj_int(e, -1);
        return obj_iterator(e, eval_getitem(e, x, &backwards, call->loc), call->loc);
    }
    return obj_iterator(e, seq_reverse(iter_collect(e, x, call->loc)), call->loc);
}

/* The state of an iterator of zip, map, filter or enumerate, over n iterables in parallel. */
struct zipper {
    int n;
    struct iter *at;
    struct obj *func; /* the function of map or filter */
    int64_t count;    /* the counter of enumerate */
};

static struct zipper *zipper_new(struct eval *e, int n, struct obj *const *items, struct loc at)
{
    struct zipper *z = NEW(e->arena, struct zipper);
    z->n = n;
    z->at = NEW_ARRAY(e->arena, n + 1, struct iter);
    for (int i = 0; i < n; i++)
        z->at[i] = iter_of(e, items[i], at);
    return z;
}

static struct obj *next_zip(struct eval *e, void *state, struct loc at)
{
    (void)at;
    struct zipper *z = state;
    struct obj *row = obj_tuple(e, 0, NULL);
    for (int i = 0; i < z->n; i++) {
        struct obj *item = iter_next(e, &z->at[i]);
        if (!item)
            return NULL;
        VEC_PUSH(e->arena, &row->seq, item);
    }
    return z->n ? row : NULL;
}

static struct obj *next_map(struct eval *e, void *state, struct loc at)
{
    struct zipper *z = state;
    struct obj *row = next_zip(e, state, at);
    return row ? call_with(e, z->func, row->seq.n, row->seq.at, at) : NULL;
}

static struct obj *next_filter(struct eval *e, void *state, struct loc at)
{
    struct zipper *z = state;
    for (struct obj *item; (item = iter_next(e, z->at));)
        if (obj_truth(e, by_key(e, z->func, item, at), at))
            return item;
    return NULL;
}

static struct obj *next_enumerate(struct eval *e, void *state, struct loc at)
{
    (void)at;
    struct zipper *z = state;
    struct obj *item = iter_next(e, z->at);
    return item ? obj_pair(e, obj_int(e, z->count++), item) : NULL;
}

static struct obj *zip(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_iterator_from(e, next_zip, zipper_new(e, args[0]->seq.n, args[0]->seq.at, call->loc));
}

static struct obj *map_items(struct eval *e, struct obj **args, const struct args *call)
{
    struct zipper *z = zipper_new(e, args[1]->seq.n, args[1]->seq.at, call->loc);
    z->func = args[0];
    return obj_iterator_from(e, next_map, z);
}

static struct obj *filter(struct eval *e, struct obj **args, const struct args *call)
{
    struct zipper *z = zipper_new(e, 1, &args[1], call->loc);
    z->func = args[0];
    return obj_iterator_from(e, next_filter, z);
}

static struct obj *enumerate(struct eval *e, struct obj **args, const struct args *call)
{
    struct zipper *z = zipper_new(e, 1, &args[0], call->loc);
    z->count = arg_index(e, args[1], call->loc);
    return obj_iterator_from(e, next_enumerate, z);
}

static struct obj *iterate(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_iterator(e, args[0], call->loc);
}

static struct obj *next(struct eval *e, struct obj **args, const struct args *call)
{
    bool is_native = args[0]->kind == OBJ_native && args[0]->native.class->iter;
    bool is_own = args[0]->kind == OBJ_instance &&
                  class_find(args[0]->instance.class, intern_str(e->strings, "__next__"));
    if (!is_native && !is_own)
        eval_raise(e, call->loc, "TypeError", ERR_not_iterator, obj_type_name(args[0]));
    if (is_own && !args[1])
        return instance_special(e, args[0], "__next__", 0, NULL, call->loc);
    struct iter it = {args[0], 0, call->loc};
    struct obj *item = iter_next(e, &it);
    if (!item)
        item = args[1];
    if (!item)
        eval_raise(e, call->loc, "StopIteration", ERR_key, "");
    return item;
}

/* -- types and attributes -- */

/* Returns type(x). The type of an instance is its class. The type of any other object is the builtin with the
 * name obj_type_name(x). If there is no such builtin, it is a class with this name, which the first call
 * creates. */
struct obj *builtin_type_of(struct eval *e, const struct obj *x)
{
    if (x->kind == OBJ_instance)
        return x->instance.class;
    const char *name = intern_str(e->strings, obj_type_name(x));
    struct obj *found = scope_get(e->builtins->module.scope, name);
    if (found && (obj_is_builtin_type(found) || found->kind == OBJ_class))
        return found;
    struct text hidden;
    text_init(&hidden, e->arena);
    text_printf(&hidden, "<%s>", name);
    const char *key = intern(e->strings, hidden.s, hidden.len);
    found = scope_get(e->builtins->module.scope, key);
    if (!found)
        scope_set(e->builtins->module.scope, key, found = obj_class(e, name, NULL));
    return found;
}

static bool is_instance(struct eval *e, struct obj *x, struct obj *type, struct loc at)
{
    if (type->kind == OBJ_tuple) {
        for (int i = 0; i < type->seq.n; i++)
            if (is_instance(e, x, type->seq.at[i], at))
                return true;
        return false;
    }
    if (type->kind == OBJ_class)
        return class_is_a(builtin_type_of(e, x), type) || strcmp(obj_type_name(x), type->class.name) == 0;
    if (type->kind == OBJ_native)
        return type->native.class->name == obj_type_name(x);
    if (builtins_is_class(type))
        return builtins_isinstance(e, x, type);
    if (type->kind != OBJ_builtin ||
        (!obj_is_builtin_type(type) && strcmp(type->builtin->name, "object") != 0))
        eval_raise(e, at, "TypeError", ERR_isinstance);
    const char *name = builtin_short_name(type->builtin);
    if (strcmp(name, "object") == 0 || (strcmp(name, "int") == 0 && x->kind == OBJ_bool))
        return true;
    const char *own = strrchr(obj_type_name(x), '.');
    return strcmp(name, own ? own + 1 : obj_type_name(x)) == 0;
}

static struct obj *isinstance(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_bool(is_instance(e, args[0], args[1], call->loc));
}

static struct obj *issubclass(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[1]->kind == OBJ_tuple) {
        for (int i = 0; i < args[1]->seq.n; i++)
            if (issubclass(e, (struct obj *[]){args[0], args[1]->seq.at[i]}, call) == obj_true)
                return obj_true;
        return obj_false;
    }
    bool is_object = args[1]->kind == OBJ_builtin && strcmp(args[1]->builtin->name, "object") == 0;
    return obj_bool(is_object || obj_same(args[0], args[1]) || class_is_a(args[0], args[1]));
}

static struct obj *type_of(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return builtin_type_of(e, args[0]);
}

static const char *attribute_name(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind != OBJ_str)
        eval_raise(e, at, "TypeError", ERR_attribute_name, obj_type_name(x));
    return intern(e->strings, x->str.s, x->str.n);
}

/* Returns an attribute of x; NULL if there is none. In host code, also returns NULL if a property or the method
 * __getattr__ of an instance raises AttributeError. */
static struct obj *attribute_or_null(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    if (x->kind != OBJ_instance || e->trace)
        return find_attribute(e, x, name, at);
    struct handler h;
    handler_push(e, &h);
    if (setjmp(h.jump) == 0) {
        struct obj *found = find_attribute(e, x, name, at);
        handler_pop(e, &h);
        return found;
    }
    if (!class_is_a(h.raised.class, builtin_class(e, "AttributeError")))
        eval_throw(e, &h.raised);
    return NULL;
}

static struct obj *get_attribute(struct eval *e, struct obj **args, const struct args *call)
{
    const char *name = attribute_name(e, args[1], call->loc);
    if (!args[2])
        return eval_getattr(e, args[0], name, call->loc);
    struct obj *found = attribute_or_null(e, args[0], name, call->loc);
    return found ? found : args[2];
}

static struct obj *has_attribute(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_bool(attribute_or_null(e, args[0], attribute_name(e, args[1], call->loc), call->loc) != NULL);
}

static struct obj *set_attribute(struct eval *e, struct obj **args, const struct args *call)
{
    eval_setattr(e, args[0], attribute_name(e, args[1], call->loc), args[2], call->loc);
    return obj_none;
}

static struct obj *is_callable(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct obj *x = args[0];
    bool is_instance =
        x->kind == OBJ_instance && class_find(x->instance.class, intern_str(e->strings, "__call__"));
    bool is_native = x->kind == OBJ_native && x->native.class->call;
    return obj_bool(is_instance || is_native || x->kind == OBJ_function || x->kind == OBJ_jit ||
                    x->kind == OBJ_builtin || x->kind == OBJ_method || x->kind == OBJ_class);
}

/* Implements id(). Numbers objects in the order of the calls instead of returning addresses, so that results are
 * reproducible. */
static struct obj *identity(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    const struct obj *x = args[0];
    const void *key = x->kind == OBJ_dict || x->kind == OBJ_set ? (const void *)x->dict
                      : x->kind == OBJ_instance                 ? (const void *)x->instance.scope
                      : x->kind == OBJ_class                    ? (const void *)x->class.scope
                                                                : (const void *)x;
    void **known = map_at_ptr(&e->ids, key);
    if (!*known)
        *known = obj_int(e, 4096 + 16 * (wide)e->ids.n);
    return *known;
}

static struct obj *hash(struct eval *e, struct obj **args, const struct args *call)
{
    if (!obj_is_hashable(e, args[0]))
        eval_raise(e, call->loc, "TypeError", ERR_unhashable, obj_type_name(args[0]));
    if (obj_is_integer(args[0]))
        return obj_int(e, obj_wide(args[0]));
    bool by_content = obj_is_number(args[0]) || args[0]->kind == OBJ_str || args[0]->kind == OBJ_tuple;
    return by_content ? obj_int(e, (wide)(obj_hash(e, args[0]) >> 2)) : identity(e, args, call);
}

static struct obj *variables(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[0]->kind != OBJ_instance && args[0]->kind != OBJ_class && args[0]->kind != OBJ_module)
        eval_raise(e, call->loc, "TypeError", ERR_no_vars, obj_type_name(args[0]));
    return instance_names(e, args[0]);
}

static struct obj *list_names(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *names = iter_collect(e, variables(e, args, call), call->loc);
    return sort_list(e, names, obj_none, false, call->loc);
}

static struct obj *global_names(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args, (void)call;
    struct obj module = {.kind = OBJ_module, .module.scope = e->main};
    return instance_names(e, &module);
}

/* Implements staticmethod, classmethod and property. The row's data is the native_class of the result, by
 * which class_bind recognizes the result. */
static struct obj *descriptor(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_native(e, call->callee->data, args[0]);
}

static struct obj *super_of(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[0]->kind != OBJ_class)
        eval_raise(e, call->loc, "RuntimeError", ERR_super);
    return super_new(e, args[0], args[1]);
}

/* -- text -- */

static struct obj *format(struct eval *e, struct obj **args, const struct args *call)
{
    struct text t;
    text_init(&t, e->arena);
    format_value(e, args[0], args[1]->str.s, args[1]->str.n, call->loc, &t);
    return obj_text(e, &t);
}

struct obj *eval_text(struct eval *e, struct scope *s, const char *text, size_t n, struct loc at)
{
    struct source *src = diag_add_source(e->diag, "<string>", text, n);
    int index = src->index;
    struct ast *x = parse_expression(e->arena, e->strings, e->diag, src);
    if (!x)
        eval_raise(e, at, "SyntaxError", ERR_eval_syntax, obj_to_str(e, obj_str(e, text, n), true)->str.s);
    struct obj *value = eval_expr(e, s, x);
    if (obj_is_number(value) && e->diag->sources.n == index + 1)
        e->diag->sources.n--; /* a number has no location in this source, so it can be dropped */
    return value;
}

static struct obj *evaluate(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[0]->kind != OBJ_str || !e->main)
        eval_raise(e, call->loc, "TypeError", ERR_eval_text);
    return eval_text(e, e->main, args[0]->str.s, args[0]->str.n, call->loc);
}

static struct obj *breakpoint(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    if (e->trace)
        eval_raise(e, call->loc, "RuntimeError", ERR_breakpoint_kernel);
    if (!e->host || !e->host->breakpoint)
        eval_raise(e, call->loc, "RuntimeError", ERR_breakpoint_outside);
    e->host->breakpoint(e->host->ctx, e, call->loc);
    return obj_none;
}

static struct obj *not_available(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    eval_raise(e, call->loc, "NotImplementedError", ERR_not_available, builtin_short_name(call->callee));
}

/* -- the tables -- */

/* clang-format off */
static const struct builtin types[] = {
    {"int",       "x=0, base=",              make_int,    type_mark},
    {"float",     "x=0.0",                   make_float,  type_mark},
    {"bool",      "x=False",                 make_bool,   type_mark},
    {"str",       "object='', encoding=, errors=", make_str, type_mark},
    {"bytes",     "object='', encoding=, errors=", make_str, type_mark},
    {"list",      "iterable=",               make_list,   type_mark},
    {"tuple",     "iterable=",               make_tuple,  type_mark},
    {"set",       "iterable=",               make_set,    type_mark},
    {"frozenset", "iterable=",               make_set,    type_mark},
    {"dict",      "mapping=, /, **items",    make_dict,   type_mark},
    {"range",     "start, stop=, step=, /",  make_range,  type_mark},
    {"slice",     "start, stop=, step=, /",  make_slice,  type_mark},
    {"object",    "",                        make_object, type_mark},
    {"type",      "object, /",               type_of,     type_mark},
};

static const struct builtin functions[] = {
    {"breakpoint", "*args, **names",         breakpoint, NULL},
    {"print",      "*values, sep=' ', end='\n', file=None, flush=False", print, NULL},
    {"repr",       "object, /",             make_repr,     NULL},
    {"ascii",      "object, /",             make_repr,     NULL},
    {"abs",        "x, /",                  absolute,      NULL},
    {"round",      "number, ndigits=",      round_number,  NULL},
    {"divmod",     "x, y, /",               divmod,        NULL},
    {"pow",        "base, exp, mod=",       power,         NULL},
    {"hex",        "number, /",             in_base,       "x"},
    {"oct",        "number, /",             in_base,       "o"},
    {"bin",        "number, /",             in_base,       "b"},
    {"chr",        "i, /",                  character,     NULL},
    {"ord",        "c, /",                  ordinal,       NULL},
    {"len",        "obj, /",                length,        NULL},
    {"min",        "*values, key=None, default=", extreme, "n"},
    {"max",        "*values, key=None, default=", extreme, "x"},
    {"sum",        "iterable, /, start=0",  python_fold,   NULL},
    {"any",        "iterable, /",           any_all,       "1"},
    {"all",        "iterable, /",           any_all,       "0"},
    {"sorted",     "iterable, /, *, key=None, reverse=False", sorted, NULL},
    {"reversed",   "sequence, /",           reversed,      NULL},
    {"zip",        "*iterables, strict=False", zip,        NULL},
    {"map",        "function, *iterables",  map_items,     NULL},
    {"filter",     "function, iterable, /", filter,        NULL},
    {"enumerate",  "iterable, start=0",     enumerate,     NULL},
    {"iter",       "object, /",             iterate,       NULL},
    {"next",       "iterator, default=, /", next,          NULL},
    {"isinstance", "object, type, /",       isinstance,    NULL},
    {"issubclass", "type, base, /",         issubclass,    NULL},
    {"getattr",    "object, name, default=, /", get_attribute, NULL},
    {"hasattr",    "object, name, /",       has_attribute, NULL},
    {"setattr",    "object, name, value, /", set_attribute, NULL},
    {"callable",   "object, /",             is_callable,   NULL},
    {"id",         "object, /",             identity,      NULL},
    {"hash",       "object, /",             hash,          NULL},
    {"vars",       "object, /",             variables,     NULL},
    {"dir",        "object, /",             list_names,    NULL},
    {"globals",    "",                      global_names,  NULL},
    {"super",      "type=, object=, /",     super_of,      NULL},
    {"staticmethod", "function, /",         descriptor,    &native_static},
    {"classmethod", "function, /",          descriptor,    &native_classmethod},
    {"property",   "fget, fset=None",       descriptor,    &native_property},
    {"format",     "value, spec='', /",     format,        NULL},
    {"eval",       "source, globals=, locals=", evaluate,  NULL},
    {"exec",       "source, globals=, locals=", not_available, NULL},
    {"open",       "file, mode='r', *rest, **options", not_available, NULL},
    {"input",      "prompt=''",             not_available, NULL},
};
/* clang-format on */

void define_builtins(struct eval *e, struct scope *into, const struct builtin *rows, int n)
{
    for (int i = 0; i < n; i++)
        scope_set(into, intern_str(e->strings, builtin_short_name(&rows[i])), obj_builtin(e, &rows[i]));
}

void builtins_define(struct eval *e)
{
    struct scope *s = e->builtins->module.scope;
    define_builtins(e, s, types, sizeof types / sizeof *types);
    define_builtins(e, s, functions, sizeof functions / sizeof *functions);
    scope_set(s, intern_str(e->strings, "NotImplemented"), obj_not_implemented);
    scope_set(s, intern_str(e->strings, "Ellipsis"), obj_ellipsis);
    scope_set(s, intern_str(e->strings, "__debug__"), obj_true);
    scope_set(s, intern_str(e->strings, "__name__"), obj_cstr(e, "builtins"));
}
