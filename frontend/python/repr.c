/* SPDX-License-Identifier: MIT */
/* repr.c: prints values as str(x) and repr(x) do in Python. Numbers, strs and containers are printed as in
 * Python, with these exceptions: the items of a set are printed in the order of their insertion, a frozenset
 * and a defaultdict are printed like a set and a dict, and repr() of a str escapes no character above U+00AD.
 * Addresses are never printed: the text of a function is <function f>. */
#include "frontend/python/python.h"

#include <string.h>

enum { NESTING_MOST = 60 }; /* objects that are nested deeper print as `...`; a list may contain itself */

static void show(struct eval *e, struct obj *x, struct text *out, bool repr, int depth);

/* -- strings -- */

int char_bytes(const char *s, size_t left)
{
    unsigned char c = (unsigned char)*s;
    size_t n = c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return (int)(n <= left ? n : left);
}

int64_t str_chars(const struct obj *x)
{
    int64_t n = 0;
    for (size_t i = 0; i < x->str.n; n++)
        i += (size_t)char_bytes(x->str.s + i, x->str.n - i);
    return n;
}

size_t str_offset(const struct obj *x, int64_t chars)
{
    size_t i = 0;
    for (; chars > 0 && i < x->str.n; chars--)
        i += (size_t)char_bytes(x->str.s + i, x->str.n - i);
    return i;
}

uint32_t char_code(const char *s, int n)
{
    unsigned char c = (unsigned char)*s;
    if (n == 1)
        return c;
    uint32_t code = c & (0x3fu >> (n - 1));
    for (int i = 1; i < n; i++)
        code = code << 6 | ((unsigned char)s[i] & 0x3f);
    return code;
}

static void show_char(const char *s, int n, char quote, struct text *out)
{
    uint32_t code = char_code(s, n);
    if (code == (unsigned char)quote || code == '\\')
        text_printf(out, "\\%c", (char)code);
    else if (code == '\n' || code == '\r' || code == '\t')
        text_printf(out, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
    else if (code < 0x20 || (code >= 0x7f && code <= 0xa0) || code == 0xad)
        text_printf(out, "\\x%02x", code);
    else
        text_bytes(out, s, (size_t)n);
}

static void show_str(const char *s, size_t n, struct text *out)
{
    char quote = memchr(s, '\'', n) && !memchr(s, '"', n) ? '"' : '\'';
    text_char(out, quote);
    for (size_t i = 0; i < n;) {
        int bytes = char_bytes(s + i, n - i);
        show_char(s + i, bytes, quote, out);
        i += (size_t)bytes;
    }
    text_char(out, quote);
}

/* -- numbers -- */

void show_digits(uwide u, int base, bool upper, struct text *out)
{
    char digits[130];
    int at = sizeof digits;
    do {
        digits[--at] = (upper ? "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              : "0123456789abcdefghijklmnopqrstuvwxyz")[u % (unsigned)base];
        u /= (unsigned)base;
    } while (u);
    text_bytes(out, digits + at, sizeof digits - (size_t)at);
}

uwide wide_magnitude(wide i)
{
    return i < 0 ? -(uwide)i : (uwide)i;
}

void show_int(wide i, struct text *out)
{
    if (i < 0)
        text_char(out, '-');
    show_digits(wide_magnitude(i), 10, false, out);
}

/* -- containers -- */

static void show_items(struct eval *e, struct obj *x, struct text *out, int depth)
{
    for (int i = 0; i < x->seq.n; i++) {
        text_str(out, i ? ", " : "");
        show(e, x->seq.at[i], out, true, depth);
    }
}

static void show_dict(struct eval *e, struct obj *x, struct text *out, int depth)
{
    if (x->kind == OBJ_set && x->dict->nlive == 0) {
        text_str(out, "set()");
        return;
    }
    const char *between = "{";
    for (int i = 0; i < x->dict->entries.n; i++) {
        struct dict_entry at = x->dict->entries.at[i];
        if (!at.key)
            continue;
        text_str(out, between);
        between = ", ";
        show(e, at.key, out, true, depth);
        if (x->kind == OBJ_dict) {
            text_str(out, ": ");
            show(e, at.value, out, true, depth);
        }
    }
    text_str(out, x->dict->nlive ? "}" : "{}");
}

static void show_range(const struct obj *x, struct text *out)
{
    text_str(out, "range(");
    show_int(x->range.start, out);
    text_str(out, ", ");
    show_int(x->range.stop, out);
    if (x->range.step != 1) {
        text_str(out, ", ");
        show_int(x->range.step, out);
    }
    text_char(out, ')');
}

static void show_slice(struct eval *e, const struct obj *x, struct text *out, int depth)
{
    struct obj *parts[] = {x->slice.start, x->slice.stop, x->slice.step};
    for (int i = 0; i < 3; i++) {
        text_str(out, i ? ", " : "slice(");
        show(e, parts[i] ? parts[i] : obj_none, out, true, depth);
    }
    text_char(out, ')');
}

/* -- all kinds of objects -- */

static void show_callable(struct eval *e, struct obj *x, struct text *out, int depth)
{
    switch (x->kind) {
    case OBJ_function: text_printf(out, "<function %s>", x->function->name); break;
    case OBJ_jit: text_printf(out, "JITFunction(%s)", x->jit->fn.name); break;
    case OBJ_class:
        text_printf(out, "<class '%s%s'>", x->class.scope->parent ? "__main__." : "", x->class.name);
        break;
    case OBJ_builtin:
        text_printf(out, obj_is_builtin_type(x) ? "<class '%s'>" : "<built-in function %s>",
                    builtin_short_name(x->builtin));
        break;
    default:
        text_str(out, "<bound method ");
        show(e, x->method.func, out, true, depth);
        text_char(out, '>');
        break;
    }
}

static void show(struct eval *e, struct obj *x, struct text *out, bool repr, int depth)
{
    eval_work(e, NODE_BYTES);
    if (++depth > NESTING_MOST) {
        text_str(out, "...");
        return;
    }
    switch (x->kind) {
    case OBJ_none: text_str(out, "None"); break;
    case OBJ_ellipsis: text_str(out, "Ellipsis"); break;
    case OBJ_bool: text_str(out, x->b ? "True" : "False"); break;
    case OBJ_int: show_int(x->i, out); break;
    case OBJ_float: text_double(out, x->f, 0); break;
    case OBJ_str:
        if (repr)
            show_str(x->str.s, x->str.n, out);
        else
            text_bytes(out, x->str.s, x->str.n);
        break;
    case OBJ_tuple:
        text_str(out, x->is_size ? "torch.Size([" : "(");
        show_items(e, x, out, depth);
        text_str(out, x->is_size ? "])" : x->seq.n == 1 ? ",)" : ")");
        break;
    case OBJ_list:
        text_char(out, '[');
        show_items(e, x, out, depth);
        text_char(out, ']');
        break;
    case OBJ_dict:
    case OBJ_set: show_dict(e, x, out, depth); break;
    case OBJ_range: show_range(x, out); break;
    case OBJ_slice: show_slice(e, x, out, depth); break;
    case OBJ_type:
        lang_print(x->type, out);
        if (lang_value(x->type)) {
            text_char(out, '[');
            show(e, lang_value(x->type), out, false, depth);
            text_char(out, ']');
        }
        break;
    case OBJ_tensor: lang_print_tensor(x->tensor.type, out); break;
    case OBJ_module: text_printf(out, "<module '%s'>", x->module.name); break;
    case OBJ_function:
    case OBJ_jit:
    case OBJ_builtin:
    case OBJ_method:
    case OBJ_class: show_callable(e, x, out, depth); break;
    case OBJ_instance: instance_show(e, x, out, repr); break;
    case OBJ_native:
        if (x->native.class->str)
            x->native.class->str(e, x, out, repr);
        else
            text_printf(out, "<%s object>", x->native.class->name);
        break;
    case OBJ_error:
    case OBJ_count: text_str(out, "<error>"); break;
    }
}

void obj_print(struct eval *e, struct obj *x, struct text *out, bool repr)
{
    show(e, x, out, repr, 0);
}

struct obj *obj_to_str(struct eval *e, struct obj *x, bool repr)
{
    if (x->kind == OBJ_str && !repr)
        return x;
    struct text t;
    text_init(&t, e->arena);
    obj_print(e, x, &t, repr);
    return obj_text(e, &t);
}
