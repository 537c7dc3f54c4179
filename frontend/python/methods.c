/* SPDX-License-Identifier: MIT */
/* methods.c: implements the methods of str, list, tuple, dict, set and numbers. Each method is a row of a table;
 * `self` is the first argument.
 *
 * Other methods, which C would not make faster, are written in Python (library.py). Text is UTF-8. Characters
 * that are not ASCII count as letters without case. Indices and widths count characters, not bytes. */
#include "frontend/python/python.h"

#include <math.h>
#include <string.h>

/* -- characters -- */

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}
static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}
static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_alpha(char c)
{
    return is_upper(c) || is_lower(c) || (c & 0x80);
}
static bool is_alnum(char c)
{
    return is_alpha(c) || is_digit(c);
}
static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}
static char to_upper(char c)
{
    return is_lower(c) ? (char)(c - 'a' + 'A') : c;
}
static char to_lower(char c)
{
    return is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* Implements upper, lower, swapcase, capitalize and title; the first letter of the row's data selects the method. */
static struct obj *change_case(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc);
    char how = *(const char *)call->callee->data, before = ' ';
    char *s = NEW_ARRAY(e->arena, x->str.n + 1, char);
    for (size_t i = 0; i < x->str.n; i++) {
        char c = x->str.s[i];
        bool raise = how == 'u' || (how == 's' && is_lower(c)) || (how == 'c' && i == 0) ||
                     (how == 't' && !is_alpha(before));
        s[i] = raise ? to_upper(c) : to_lower(c);
        before = c;
    }
    return obj_str_of(e, s, x->str.n);
}

/* Implements isdigit, isalpha and similar methods; the row's data is a letter for the class of characters. */
static struct obj *is_all(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc);
    char which = *(const char *)call->callee->data;
    bool any = false;
    for (size_t i = 0; i < x->str.n; i++) {
        char c = x->str.s[i];
        if (which == 'u' || which == 'l') {
            if (which == 'u' ? is_lower(c) : is_upper(c))
                return obj_false;
            any |= is_upper(c) || is_lower(c);
            continue;
        }
        bool fits = which == 'd'   ? is_digit(c)
                    : which == 'a' ? is_alpha(c)
                    : which == 's' ? is_space(c)
                    : which == 'n' ? is_alnum(c)
                                   : c == '_' || is_alpha(c) || (i && is_digit(c));
        if (!fits)
            return obj_false;
        any = true;
    }
    return obj_bool(any);
}

/* -- searching -- */

/* Returns whether the text at s begins with `part`. The caller ensures that enough bytes follow s. */
static bool begins(struct eval *e, const char *s, const struct obj *part)
{
    size_t n = part->str.n;
    if (n && *s != *part->str.s)
        return false;
    eval_work(e, n);
    return memcmp(s, part->str.s, n) == 0;
}

int64_t str_find(struct eval *e, const char *s, int64_t from, int64_t to, const struct obj *part,
                 bool from_right)
{
    int64_t last = to - (int64_t)part->str.n, i = from_right ? last : from;
    while ((from_right ? i >= from : i <= last) && !(i >= 0 && begins(e, s + i, part)))
        i += from_right ? -1 : 1;
    bool is_found = from_right ? i >= from : i <= last;
    eval_work(e, (size_t)(from_right ? last - i : i - from));
    return is_found ? i : -1;
}

/* Converts the character indices `start` and `end` in the str x to the byte offsets *from and *to. NULL or
 * None stands for 0 in `start`, and for the length of x in `end`. Returns false if `start` is past the end of
 * x. */
static bool byte_range(struct eval *e, struct obj *x, struct obj *start, struct obj *end, struct loc at,
                       int64_t *from, int64_t *to)
{
    struct obj slice = {.kind = OBJ_slice, .slice = {start, end, NULL}};
    int64_t n = str_chars(x), first;
    bool is_past = start && obj_as_int(start, &first) && first > n;
    struct slice_range r = slice_resolve(e, &slice, n, at);
    *from = (int64_t)str_offset(x, r.start);
    *to = (int64_t)str_offset(x, r.start + r.n);
    return !is_past;
}

/* Implements find, rfind, index and rindex. The `data` of the method's table row is "f", "rf", "i" or "ri".
 * The letter r means a search from the right, and i means a ValueError if the substring does not occur. */
static struct obj *find_in(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc), *part = arg_str(e, args[1], call->loc);
    const char *how = call->callee->data;
    int64_t from, to, found = -1;
    if (byte_range(e, x, args[2], args[3], call->loc, &from, &to))
        found = str_find(e, x->str.s, from, to, part, *how == 'r');
    if (found < 0 && how[strlen(how) - 1] == 'i')
        eval_raise(e, call->loc, "ValueError", ERR_substring);
    struct obj before = {.kind = OBJ_str, .str = {x->str.s, found < 0 ? 0 : (size_t)found}};
    return obj_int(e, found < 0 ? -1 : str_chars(&before));
}

static struct obj *count_in(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc), *part = arg_str(e, args[1], call->loc);
    int64_t from, to, n = 0;
    if (!byte_range(e, x, args[2], args[3], call->loc, &from, &to))
        return obj_int(e, 0);
    if (part->str.n == 0) {
        struct obj within = {.kind = OBJ_str, .str = {x->str.s + from, (size_t)(to - from)}};
        return obj_int(e, str_chars(&within) + 1);
    }
    for (int64_t at; (at = str_find(e, x->str.s, from, to, part, false)) >= 0; n++)
        from = at + (int64_t)part->str.n;
    return obj_int(e, n);
}

static bool has_affix(const struct obj *x, const struct obj *affix, int64_t from, int64_t to, bool at_end)
{
    int64_t n = (int64_t)affix->str.n;
    return to - from >= n && memcmp(x->str.s + (at_end ? to - n : from), affix->str.s, (size_t)n) == 0;
}

/* Implements startswith and endswith; the row's data is "s" or "e". The argument is one text or a tuple of
 * texts. */
static struct obj *affix(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc);
    bool at_end = *(const char *)call->callee->data == 'e';
    int64_t from, to;
    if (!byte_range(e, x, args[2], args[3], call->loc, &from, &to))
        return obj_false;
    if (args[1]->kind != OBJ_tuple)
        return obj_bool(has_affix(x, arg_str(e, args[1], call->loc), from, to, at_end));
    for (int i = 0; i < args[1]->seq.n; i++)
        if (has_affix(x, arg_str(e, args[1]->seq.at[i], call->loc), from, to, at_end))
            return obj_true;
    return obj_false;
}

/* -- changing -- */

/* Returns whether one of the characters of `chars` is the character of n bytes at s. */
static bool has_char(const char *chars, size_t nchars, const char *s, size_t n)
{
    for (size_t i = 0; i + n <= nchars; i += (size_t)char_bytes(chars + i, nchars - i))
        if (memcmp(chars + i, s, n) == 0)
            return true;
    return false;
}

/* Returns the byte offset at which the last character of s[from, to) begins. */
static size_t last_char(const char *s, size_t from, size_t to)
{
    size_t i = to - 1;
    while (i > from && ((unsigned char)s[i] & 0xc0) == 0x80)
        i--;
    return i;
}

/* Implements strip, lstrip and rstrip; the row's data contains the sides: "l", "r" or both. */
static struct obj *strip(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc);
    const char *sides = call->callee->data, *chars = " \t\n\r\v\f";
    size_t n = 6, from = 0, to = x->str.n;
    if (args[1]->kind == OBJ_str) {
        chars = args[1]->str.s;
        n = args[1]->str.n;
    }
    for (size_t size; *sides == 'l' && from < to; from += size) {
        size = (size_t)char_bytes(x->str.s + from, to - from);
        if (!has_char(chars, n, x->str.s + from, size))
            break;
    }
    for (size_t last; strchr(sides, 'r') && from < to; to = last) {
        last = last_char(x->str.s, from, to);
        if (!has_char(chars, n, x->str.s + last, to - last))
            break;
    }
    return obj_str_of(e, arena_strndup(e->arena, x->str.s + from, to - from), to - from);
}

static struct obj *replace(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc);
    struct obj *old = arg_str(e, args[1], call->loc), *new = arg_str(e, args[2], call->loc);
    int64_t most = arg_index(e, args[3], call->loc), done = 0;
    struct text out;
    text_init(&out, e->arena);
    for (size_t i = 0; i <= x->str.n;) {
        bool fits = (most < 0 || done < most) && x->str.n - i >= old->str.n && begins(e, x->str.s + i, old);
        if (fits) {
            text_bytes(&out, new->str.s, new->str.n);
            done++;
        }
        if (fits && old->str.n) {
            i += old->str.n;
        } else if (i < x->str.n) {
            size_t n = (size_t)char_bytes(x->str.s + i, x->str.n - i);
            text_bytes(&out, x->str.s + i, n);
            i += n;
        } else {
            break;
        }
    }
    return obj_text(e, &out);
}

/* -- splitting -- */

static void push_str(struct eval *e, struct obj *list, const char *s, size_t n)
{
    eval_work(e, NODE_BYTES);
    struct obj *part = obj_str_of(e, arena_strndup(e->arena, s, n), n);
    VEC_PUSH(e->arena, &list->seq, part);
}

struct obj *seq_reverse(struct obj *x)
{
    for (int i = 0; i < x->seq.n / 2; i++) {
        struct obj *other = x->seq.at[x->seq.n - 1 - i];
        x->seq.at[x->seq.n - 1 - i] = x->seq.at[i];
        x->seq.at[i] = other;
    }
    return x;
}

/* Splits at runs of white space, from the left. */
static struct obj *split_words(struct eval *e, const struct obj *x, int64_t most)
{
    struct obj *out = obj_list(e, 0, NULL);
    size_t i = 0, n = x->str.n;
    for (;;) {
        while (i < n && is_space(x->str.s[i]))
            i++;
        if (i == n)
            return out;
        size_t from = i;
        while (i < n && !is_space(x->str.s[i]))
            i++;
        if (most >= 0 && out->seq.n == most) {
            push_str(e, out, x->str.s + from, n - from);
            return out;
        }
        push_str(e, out, x->str.s + from, i - from);
    }
}

static struct obj *split_words_right(struct eval *e, const struct obj *x, int64_t most)
{
    struct obj *out = obj_list(e, 0, NULL);
    size_t i = x->str.n;
    for (;;) {
        while (i > 0 && is_space(x->str.s[i - 1]))
            i--;
        if (i == 0)
            return seq_reverse(out);
        size_t to = i;
        while (i > 0 && !is_space(x->str.s[i - 1]))
            i--;
        if (most >= 0 && out->seq.n == most) {
            push_str(e, out, x->str.s, to);
            return seq_reverse(out);
        }
        push_str(e, out, x->str.s + i, to - i);
    }
}

static struct obj *split_at(struct eval *e, const struct obj *x, const struct obj *by, int64_t most,
                            bool from_right)
{
    struct obj *out = obj_list(e, 0, NULL);
    int64_t from = 0, to = (int64_t)x->str.n, n = (int64_t)by->str.n;
    for (int64_t at;
         (most < 0 || out->seq.n < most) && (at = str_find(e, x->str.s, from, to, by, from_right)) >= 0;) {
        if (from_right)
            push_str(e, out, x->str.s + at + n, (size_t)(to - at - n));
        else
            push_str(e, out, x->str.s + from, (size_t)(at - from));
        *(from_right ? &to : &from) = from_right ? at : at + n;
    }
    push_str(e, out, x->str.s + from, (size_t)(to - from));
    return from_right ? seq_reverse(out) : out;
}

/* Implements split and rsplit; the row's data is "l" or "r". */
static struct obj *split(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc);
    bool from_right = *(const char *)call->callee->data == 'r';
    int64_t most = arg_index(e, args[2], call->loc);
    if (args[1]->kind == OBJ_none)
        return (from_right ? split_words_right : split_words)(e, x, most);
    if (arg_str(e, args[1], call->loc)->str.n == 0)
        eval_raise(e, call->loc, "ValueError", ERR_empty_separator);
    return split_at(e, x, args[1], most, from_right);
}

static struct obj *split_lines(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = arg_str(e, args[0], call->loc), *out = obj_list(e, 0, NULL);
    bool keep = obj_truth(e, args[1], call->loc);
    for (size_t i = 0; i < x->str.n;) {
        size_t end = i;
        while (end < x->str.n && x->str.s[end] != '\n' && x->str.s[end] != '\r')
            end++;
        size_t next = end + (end < x->str.n);
        if (end + 1 < x->str.n && x->str.s[end] == '\r' && x->str.s[end + 1] == '\n')
            next++;
        push_str(e, out, x->str.s + i, (keep ? next : end) - i);
        i = next;
    }
    return out;
}

static struct obj *join(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *by = arg_str(e, args[0], call->loc);
    struct iter it = iter_of(e, args[1], call->loc);
    struct text out;
    text_init(&out, e->arena);
    int n = 0;
    for (struct obj *item; (item = iter_next(e, &it)); n++) {
        if (item->kind != OBJ_str)
            eval_raise(e, call->loc, "TypeError", ERR_join_item, n, obj_type_name(item));
        if (n)
            text_bytes(&out, by->str.s, by->str.n);
        text_bytes(&out, item->str.s, item->str.n);
    }
    return obj_text(e, &out);
}

static struct obj *format(struct eval *e, struct obj **args, const struct args *call)
{
    return format_braces(e, arg_str(e, args[0], call->loc), args[1], args[2], call->loc);
}

/* clang-format off */
static const struct builtin str_methods[] = {
    {"str.upper",      "self",  change_case, "u"},
    {"str.lower",      "self",  change_case, "l"},
    {"str.casefold",   "self",  change_case, "l"},
    {"str.swapcase",   "self",  change_case, "s"},
    {"str.capitalize", "self",  change_case, "c"},
    {"str.title",      "self",  change_case, "t"},
    {"str.isupper",    "self",  is_all, "u"},
    {"str.islower",    "self",  is_all, "l"},
    {"str.isdigit",    "self",  is_all, "d"},
    {"str.isdecimal",  "self",  is_all, "d"},
    {"str.isnumeric",  "self",  is_all, "d"},
    {"str.isalpha",    "self",  is_all, "a"},
    {"str.isalnum",    "self",  is_all, "n"},
    {"str.isspace",    "self",  is_all, "s"},
    {"str.isidentifier", "self", is_all, "i"},
    {"str.find",       "self, sub, start=, end=, /", find_in, "f"},
    {"str.rfind",      "self, sub, start=, end=, /", find_in, "rf"},
    {"str.index",      "self, sub, start=, end=, /", find_in, "i"},
    {"str.rindex",     "self, sub, start=, end=, /", find_in, "ri"},
    {"str.count",      "self, sub, start=, end=, /", count_in, NULL},
    {"str.startswith", "self, prefix, start=, end=, /", affix, "s"},
    {"str.endswith",   "self, suffix, start=, end=, /", affix, "e"},
    {"str.strip",      "self, chars=None, /", strip, "lr"},
    {"str.lstrip",     "self, chars=None, /", strip, "l"},
    {"str.rstrip",     "self, chars=None, /", strip, "r"},
    {"str.replace",    "self, old, new, count=-1, /", replace, NULL},
    {"str.split",      "self, sep=None, maxsplit=-1", split, "l"},
    {"str.rsplit",     "self, sep=None, maxsplit=-1", split, "r"},
    {"str.splitlines", "self, keepends=False", split_lines, NULL},
    {"str.join",       "self, iterable, /", join, NULL},
    {"str.format",     "self, /, *args, **kwargs", format, NULL},
};
/* clang-format on */

/* -- list and tuple -- */

static struct obj *list_append(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    VEC_PUSH(e->arena, &args[0]->seq, args[1]);
    return obj_none;
}

static struct obj *list_extend(struct eval *e, struct obj **args, const struct args *call)
{
    eval_inplace(e, OPER_add, args[0], args[1], call->loc);
    return obj_none;
}

static struct obj *list_insert(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *x = args[0];
    int64_t i = arg_index(e, args[1], call->loc), n = x->seq.n;
    i = i < 0 ? (i < -n ? 0 : i + n) : i > n ? n : i;
    VEC_PUSH(e->arena, &x->seq, args[2]);
    memmove(x->seq.at + i + 1, x->seq.at + i, (size_t)(n - i) * sizeof *x->seq.at);
    x->seq.at[i] = args[2];
    return obj_none;
}

static struct obj *list_pop(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[0]->seq.n == 0)
        eval_raise(e, call->loc, "IndexError", ERR_pop_empty, "list");
    struct obj *x = eval_getitem(e, args[0], args[1], call->loc);
    eval_delitem(e, args[0], args[1], call->loc);
    return x;
}

static int position(struct eval *e, struct obj *x, struct obj *item, int from)
{
    for (int i = from; i < x->seq.n; i++)
        if (obj_same(x->seq.at[i], item) || obj_equal(e, x->seq.at[i], item))
            return i;
    return -1;
}

static struct obj *seq_index(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t from = arg_index(e, args[2], call->loc), n = args[0]->seq.n;
    from = from < 0 ? (from < -n ? 0 : from + n) : from > n ? n : from;
    int i = position(e, args[0], args[1], (int)from);
    if (i < 0)
        eval_raise(e, call->loc, "ValueError", ERR_not_in, obj_to_str(e, args[1], true)->str.s,
                   obj_type_name(args[0]));
    return obj_int(e, i);
}

static struct obj *seq_count(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    int n = 0;
    for (int i = -1; (i = position(e, args[0], args[1], i + 1)) >= 0;)
        n++;
    return obj_int(e, n);
}

static struct obj *range_index(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t i = range_find(args[0], args[1]);
    if (i < 0)
        eval_raise(e, call->loc, "ValueError", ERR_not_in, obj_to_str(e, args[1], true)->str.s,
                   obj_type_name(args[0]));
    return obj_int(e, i);
}

static struct obj *range_count(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_int(e, range_find(args[0], args[1]) >= 0);
}

static struct obj *list_remove(struct eval *e, struct obj **args, const struct args *call)
{
    int i = position(e, args[0], args[1], 0);
    if (i < 0)
        eval_raise(e, call->loc, "ValueError", ERR_remove);
    eval_delitem(e, args[0], obj_int(e, i), call->loc);
    return obj_none;
}

static struct obj *list_clear(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    args[0]->seq.n = 0;
    return obj_none;
}

static struct obj *list_copy(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_list(e, args[0]->seq.n, args[0]->seq.at);
}

static struct obj *list_reverse(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    seq_reverse(args[0]);
    return obj_none;
}

static struct obj *list_sort(struct eval *e, struct obj **args, const struct args *call)
{
    sort_list(e, args[0], args[1], obj_truth(e, args[2], call->loc), call->loc);
    return obj_none;
}

/* clang-format off */
static const struct builtin list_methods[] = {
    {"list.append",  "self, object, /",          list_append,  NULL},
    {"list.extend",  "self, iterable, /",        list_extend,  NULL},
    {"list.insert",  "self, index, object, /",   list_insert,  NULL},
    {"list.pop",     "self, index=-1, /",        list_pop,     NULL},
    {"list.remove",  "self, value, /",           list_remove,  NULL},
    {"list.clear",   "self",                     list_clear,   NULL},
    {"list.copy",    "self",                     list_copy,    NULL},
    {"list.index",   "self, value, start=0, /",  seq_index,    NULL},
    {"list.count",   "self, value, /",           seq_count,    NULL},
    {"list.reverse", "self",                     list_reverse, NULL},
    {"list.sort",    "self, /, *, key=None, reverse=False", list_sort, NULL},
};

static const struct builtin tuple_methods[] = {
    {"tuple.index", "self, value, start=0, /", seq_index, NULL},
    {"tuple.count", "self, value, /",          seq_count, NULL},
};

static const struct builtin range_methods[] = {
    {"range.index", "self, value, /", range_index, NULL},
    {"range.count", "self, value, /", range_count, NULL},
};
/* clang-format on */

/* -- dict and set -- */

struct obj *dict_items(struct eval *e, const struct dict *d)
{
    struct obj *out = obj_list(e, 0, NULL);
    for (int i = 0; i < d->entries.n; i++)
        if (d->entries.at[i].key) {
            struct obj *pair = obj_pair(e, d->entries.at[i].key, d->entries.at[i].value);
            VEC_PUSH(e->arena, &out->seq, pair);
        }
    return out;
}

/* Implements keys, values and items; the row's data selects the method. All return lists of the dict's current
 * contents. */
static struct obj *dict_list(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = dict_items(e, args[0]->dict);
    char which = *(const char *)call->callee->data;
    for (int i = 0; i < out->seq.n && which != 'i'; i++)
        out->seq.at[i] = out->seq.at[i]->seq.at[which == 'v'];
    return out;
}

static void check_key(struct eval *e, struct obj *key, struct loc at)
{
    if (!obj_is_hashable(e, key))
        eval_raise(e, at, "TypeError", ERR_unhashable, obj_type_name(key));
}

static struct obj *get(struct eval *e, struct obj **args, const struct args *call)
{
    check_key(e, args[1], call->loc);
    struct obj *found = dict_get(e, args[0]->dict, args[1]);
    return found ? found : args[2];
}

static struct obj *dict_pop(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *found = get(e, args, call);
    if (!found)
        eval_raise(e, call->loc, "KeyError", ERR_key, obj_to_str(e, args[1], true)->str.s);
    dict_remove(e, args[0]->dict, args[1]);
    return found;
}

static struct obj *pop_item(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *items = dict_items(e, args[0]->dict);
    if (items->seq.n == 0)
        eval_raise(e, call->loc, "KeyError", ERR_pop_empty, "dictionary");
    struct obj *last = VEC_POP(&items->seq);
    dict_remove(e, args[0]->dict, last->seq.at[0]);
    return last;
}

static struct obj *update(struct eval *e, struct obj **args, const struct args *call)
{
    if (args[1])
        dict_update(e, args[0], args[1], call->loc);
    dict_update(e, args[0], args[2], call->loc);
    return obj_none;
}

static struct obj *clear(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    dict_clear(args[0]->dict);
    return obj_none;
}

static struct obj *copy(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct obj *out = obj_emptied(e, args[0]);
    for (int i = 0; i < args[0]->dict->entries.n; i++)
        if (args[0]->dict->entries.at[i].key)
            dict_set(e, out->dict, args[0]->dict->entries.at[i].key, args[0]->dict->entries.at[i].value);
    return out;
}

/* clang-format off */
static const struct builtin dict_methods[] = {
    {"dict.get",        "self, key, default=None, /", get,         NULL},
    {"dict.keys",       "self",                       dict_list,   "k"},
    {"dict.values",     "self",                       dict_list,   "v"},
    {"dict.items",      "self",                       dict_list,   "i"},
    {"dict.pop",        "self, key, default=, /",     dict_pop,    NULL},
    {"dict.popitem",    "self",                       pop_item,    NULL},
    {"dict.update",     "self, other=, /, **items",   update,      NULL},
    {"dict.clear",      "self",                       clear,       NULL},
    {"dict.copy",       "self",                       copy,        NULL},
};
/* clang-format on */

static struct obj *set_add(struct eval *e, struct obj **args, const struct args *call)
{
    check_key(e, args[1], call->loc);
    dict_set(e, args[0]->dict, args[1], obj_none);
    return obj_none;
}

/* Implements discard and remove; the row's data is "d" or "r". */
static struct obj *set_remove(struct eval *e, struct obj **args, const struct args *call)
{
    check_key(e, args[1], call->loc);
    bool was_there = dict_remove(e, args[0]->dict, args[1]);
    if (!was_there && *(const char *)call->callee->data == 'r')
        eval_raise(e, call->loc, "KeyError", ERR_key, obj_to_str(e, args[1], true)->str.s);
    return obj_none;
}

static struct obj *set_pop(struct eval *e, struct obj **args, const struct args *call)
{
    struct iter it = iter_of(e, args[0], call->loc);
    struct obj *first = iter_next(e, &it);
    if (!first)
        eval_raise(e, call->loc, "KeyError", ERR_pop_empty, "set");
    dict_remove(e, args[0]->dict, first);
    return first;
}

/* clang-format off */
static const struct builtin set_methods[] = {
    {"set.add",          "self, item, /",    set_add,      NULL},
    {"set.discard",      "self, item, /",    set_remove,   "d"},
    {"set.remove",       "self, item, /",    set_remove,   "r"},
    {"set.pop",          "self",             set_pop,      NULL},
    {"set.clear",        "self",             clear,        NULL},
    {"set.copy",         "self",             copy,         NULL},
};
/* clang-format on */

/* -- numbers -- */

/* Implements bit_count and bit_length; the row's data is "c" or "l". */
static struct obj *int_bits(struct eval *e, struct obj **args, const struct args *call)
{
    uwide u = wide_magnitude(obj_wide(args[0]));
    bool is_length = *(const char *)call->callee->data == 'l';
    int n = 0;
    for (; u; u >>= 1)
        n += is_length || (u & 1);
    return obj_int(e, n);
}

static struct obj *float_is_integer(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    return obj_bool(args[0]->f == floor(args[0]->f) && isfinite(args[0]->f));
}

static struct obj *number_item(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    return args[0];
}

/* clang-format off */
static const struct builtin int_methods[] = {
    {"int.bit_length", "self", int_bits,    "l"},
    {"int.bit_count",  "self", int_bits,    "c"},
    {"int.conjugate",  "self", number_item, NULL},
    {"int.__index__",  "self", number_item, NULL},
};

static const struct builtin float_methods[] = {
    {"float.is_integer", "self", float_is_integer, NULL},
    {"float.conjugate",  "self", number_item,      NULL},
};
/* clang-format on */

/* Returns a method that is written in Python, from the section of library.py for the type. Returns NULL if
 * there is no such method. */
static struct obj *written_method(struct eval *e, enum obj_kind kind, const char *name)
{
    static const char *const sections[OBJ_count] = {
        [OBJ_str] = "builtins.str", [OBJ_dict] = "builtins.dict", [OBJ_set] = "builtins.set"};
    if (!sections[kind])
        return NULL;
    struct trace *trace = e->trace;
    e->trace = NULL;
    struct obj *module = find_module(e, sections[kind], (struct loc){0});
    e->trace = trace;
    struct obj *found = scope_get(module->module.scope, intern_str(e->strings, name));
    if (!found || found->kind != OBJ_function)
        return NULL;
    found->is_constexpr = true; /* kernels call the method at compile time, on constants */
    return found;
}

static const struct builtin *find_row(enum obj_kind kind, const char *name)
{
#define TABLE(rows)                                                                                          \
    {                                                                                                        \
        rows, sizeof rows / sizeof *rows                                                                     \
    }
    static const struct builtin_table tables[OBJ_count] = {
        [OBJ_str] = TABLE(str_methods),     [OBJ_list] = TABLE(list_methods),
        [OBJ_tuple] = TABLE(tuple_methods), [OBJ_dict] = TABLE(dict_methods),
        [OBJ_set] = TABLE(set_methods),     [OBJ_int] = TABLE(int_methods),
        [OBJ_float] = TABLE(float_methods), [OBJ_bool] = TABLE(int_methods),
        [OBJ_range] = TABLE(range_methods),
    };
#undef TABLE
    for (int i = 0; i < tables[kind].n; i++)
        if (strcmp(builtin_short_name(&tables[kind].rows[i]), name) == 0)
            return &tables[kind].rows[i];
    return NULL;
}

struct obj *find_method(struct eval *e, enum obj_kind kind, const char *name)
{
    const struct builtin *row = find_row(kind, name);
    return row ? obj_builtin(e, row) : written_method(e, kind, name);
}
