/* SPDX-License-Identifier: MIT */
/* value.c: implements objects, dicts and scopes, and `==`, `bool` and `len` on objects.
 *
 * A dict stores its entries in the order of insertion, and has an open-addressing hash table of indices of
 * entries. A deleted entry remains in the list of entries, without a key, until the table grows. Equal
 * numbers have equal hashes even if their kinds differ: 1, 1.0 and True are the same key. */
#include "frontend/python/python.h"

#include <math.h>
#include <string.h>

enum {
    NESTING_MOST = 2000, /* the limit of the depth of nested tuples */
    COMPARE_DEPTH = 4,   /* the comparison or hash of each nested object adds this number to e->depth */
};

static const struct obj none = {.kind = OBJ_none}, ellipsis = {.kind = OBJ_ellipsis},
                        error = {.kind = OBJ_error};
static const struct obj not_implemented = {.kind = OBJ_ellipsis};
static const struct obj yes = {.kind = OBJ_bool, .b = true}, no = {.kind = OBJ_bool, .b = false};
struct obj *const obj_none = (struct obj *)&none, *const obj_ellipsis = (struct obj *)&ellipsis;
struct obj *const obj_true = (struct obj *)&yes, *const obj_false = (struct obj *)&no;
struct obj *const obj_error = (struct obj *)&error, *const obj_not_implemented =
                                                        (struct obj *)&not_implemented;

/* -- creating objects -- */

struct obj *obj_new(struct eval *e, enum obj_kind kind)
{
    struct obj *x = NEW(e->arena, struct obj);
    x->kind = kind;
    return x;
}

struct obj *obj_bool(bool b)
{
    return b ? obj_true : obj_false;
}

struct obj *obj_int(struct eval *e, wide i)
{
    struct obj *x = obj_new(e, OBJ_int);
    x->i = i;
    return x;
}

struct obj *obj_float(struct eval *e, double f)
{
    struct obj *x = obj_new(e, OBJ_float);
    x->f = f;
    return x;
}

struct obj *obj_str_of(struct eval *e, const char *s, size_t n)
{
    struct obj *x = obj_new(e, OBJ_str);
    x->str.s = s;
    x->str.n = n;
    return x;
}

struct obj *obj_str(struct eval *e, const char *s, size_t n)
{
    return obj_str_of(e, n ? arena_strndup(e->arena, s, n) : "", n);
}

struct obj *obj_cstr(struct eval *e, const char *s)
{
    return obj_str(e, s, strlen(s));
}

struct obj *obj_text(struct eval *e, const struct text *t)
{
    return obj_str_of(e, t->s, t->len);
}

static struct obj *make_seq(struct eval *e, enum obj_kind kind, int n, struct obj *const *items)
{
    struct obj *x = obj_new(e, kind);
    if (n > 0) {
        x->seq.at = NEW_ARRAY(e->arena, n, struct obj *);
        memcpy(x->seq.at, items, (size_t)n * sizeof *items);
    }
    x->seq.n = x->seq.cap = n;
    return x;
}

struct obj *obj_tuple(struct eval *e, int n, struct obj *const *items)
{
    return make_seq(e, OBJ_tuple, n, items);
}

struct obj *obj_tuple_like(struct eval *e, const struct obj *like, struct obj *const *items)
{
    struct obj *x = obj_tuple(e, like->seq.n, items);
    x->class_of = like->class_of;
    return x;
}

struct obj *obj_list(struct eval *e, int n, struct obj *const *items)
{
    return make_seq(e, OBJ_list, n, items);
}

struct obj *obj_pair(struct eval *e, struct obj *a, struct obj *b)
{
    return obj_tuple(e, 2, (struct obj *[]){a, b});
}

struct obj *obj_dict(struct eval *e)
{
    struct obj *x = obj_new(e, OBJ_dict);
    x->dict = NEW(e->arena, struct dict);
    return x;
}

struct obj *obj_set(struct eval *e)
{
    struct obj *x = obj_dict(e);
    x->kind = OBJ_set;
    return x;
}

struct obj *obj_emptied(struct eval *e, const struct obj *x)
{
    struct obj *out = x->kind == OBJ_dict ? obj_dict(e) : obj_set(e);
    out->is_frozen = x->is_frozen;
    out->dict->factory = x->dict->factory;
    return out;
}

struct obj *obj_type(struct eval *e, const struct lang_type *t)
{
    struct obj *x = obj_new(e, OBJ_type);
    x->type = t;
    return x;
}

struct obj *obj_builtin(struct eval *e, const struct builtin *b)
{
    struct obj *x = obj_new(e, OBJ_builtin);
    x->builtin = b;
    return x;
}

struct obj *obj_method(struct eval *e, struct obj *self, struct obj *func)
{
    struct obj *x = obj_new(e, OBJ_method);
    x->method.self = self;
    x->method.func = func;
    return x;
}

struct obj *obj_module(struct eval *e, const char *name)
{
    struct obj *x = obj_new(e, OBJ_module);
    x->module.name = intern_str(e->strings, name);
    x->module.scope = scope_new(e, NULL);
    return x;
}

struct obj *obj_class(struct eval *e, const char *name, struct obj *base)
{
    struct obj *x = obj_new(e, OBJ_class);
    x->class.name = intern_str(e->strings, name);
    x->class.base = base;
    x->class.scope = scope_new(e, NULL);
    return x;
}

struct obj *obj_instance(struct eval *e, struct obj *class)
{
    struct obj *x = obj_new(e, OBJ_instance);
    x->instance.class = class;
    x->instance.scope = scope_new(e, NULL);
    return x;
}

struct obj *obj_native(struct eval *e, const struct native_class *c, void *data)
{
    struct obj *x = obj_new(e, OBJ_native);
    x->native.class = c;
    x->native.data = data;
    return x;
}

struct obj *obj_tensor(struct eval *e, struct value *v, const struct lang_type *t)
{
    struct obj *x = obj_new(e, OBJ_tensor);
    x->tensor.value = v;
    x->tensor.type = t;
    return x;
}

struct obj *obj_constexpr(struct eval *e, struct obj *x)
{
    if (x->is_constexpr || x->kind == OBJ_error)
        return x;
    struct obj *marked = obj_new(e, x->kind);
    *marked = *x;
    marked->is_constexpr = true;
    return marked;
}

/* -- queries -- */

const char *obj_type_name(const struct obj *x)
{
    static const char *const names[OBJ_count] = {
#define X(word, name) name,
        OBJ_KINDS(X)
#undef X
    };
    if (x->kind == OBJ_tuple && x->class_of)
        return x->class_of->class.name;
    if (x->kind == OBJ_instance)
        return x->instance.class->class.name;
    if (x->kind == OBJ_native)
        return x->native.class->name;
    return obj_is_builtin_type(x) ? "type" : names[x->kind];
}

static bool is_const(struct eval *e, const struct obj *x, int depth)
{
    eval_work(e, NODE_BYTES);
    if (x->kind == OBJ_tensor || depth > NESTING_MOST)
        return false;
    if (x->kind == OBJ_tuple || x->kind == OBJ_list)
        for (int i = 0; i < x->seq.n; i++)
            if (!is_const(e, x->seq.at[i], depth + 1))
                return false;
    return true;
}

bool obj_is_const(struct eval *e, const struct obj *x)
{
    return is_const(e, x, 0);
}

bool obj_is_number(const struct obj *x)
{
    return x->kind == OBJ_int || x->kind == OBJ_float || x->kind == OBJ_bool;
}

bool obj_is_integer(const struct obj *x)
{
    return x->kind == OBJ_int || x->kind == OBJ_bool;
}

wide obj_wide(const struct obj *x)
{
    return x->kind == OBJ_bool ? (wide)x->b : x->i;
}

double obj_double(const struct obj *x)
{
    return x->kind == OBJ_float ? x->f : (double)obj_wide(x);
}

bool obj_as_int(const struct obj *x, int64_t *out)
{
    if (x->kind == OBJ_tensor && x->tensor.constant)
        x = x->tensor.constant;
    if (!obj_is_integer(x) || obj_wide(x) < INT64_MIN || obj_wide(x) > INT64_MAX)
        return false;
    *out = (int64_t)obj_wide(x);
    return true;
}

/* Compares an int with a float exactly, even if no double equals the int. Returns -1, 0 or 1; returns 2 if f is NaN. */
static int compare_int_float(wide i, double f)
{
    const double edge = 0x1p127;
    if (isnan(f))
        return 2;
    if (f >= edge || f < -edge)
        return f > 0 ? -1 : 1;
    wide whole = (wide)f; /* rounds toward zero */
    if (i != whole)
        return i < whole ? -1 : 1;
    double rest = f - (double)whole;
    return rest > 0 ? -1 : rest < 0;
}

int number_compare(const struct obj *a, const struct obj *b)
{
    if (a->kind == OBJ_float && b->kind == OBJ_float)
        return a->f < b->f ? -1 : a->f > b->f ? 1 : a->f == b->f ? 0 : 2;
    if (b->kind == OBJ_float)
        return compare_int_float(obj_wide(a), b->f);
    if (a->kind == OBJ_float) {
        int order = compare_int_float(obj_wide(b), a->f);
        return order == 2 ? 2 : -order;
    }
    return obj_wide(a) < obj_wide(b) ? -1 : obj_wide(a) > obj_wide(b);
}

bool obj_same(const struct obj *a, const struct obj *b)
{
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case OBJ_none:
    case OBJ_ellipsis: return true;
    case OBJ_bool: return a->b == b->b;
    case OBJ_type: return lang_equal(a->type, b->type);
    case OBJ_function: return a->function == b->function;
    case OBJ_jit: return a->jit == b->jit;
    case OBJ_builtin: return a->builtin == b->builtin;
    case OBJ_dict:
    case OBJ_set: return a->dict == b->dict;
    case OBJ_module: return a->module.scope == b->module.scope;
    case OBJ_class: return a->class.scope == b->class.scope;
    case OBJ_instance: return a->instance.scope == b->instance.scope;
    /* `a is b` must be true for an int and the copy of it that obj_constexpr made */
    case OBJ_int: return (a->is_constexpr || b->is_constexpr) && a->i == b->i;
    case OBJ_str: return a->str.n == b->str.n && memcmp(a->str.s, b->str.s, a->str.n) == 0;
    default: return false;
    }
}

static bool seq_equal(struct eval *e, const struct obj *a, const struct obj *b)
{
    if (a->seq.n != b->seq.n)
        return false;
    for (int i = 0; i < a->seq.n; i++) {
        eval_work(e, NODE_BYTES);
        if (!obj_same(a->seq.at[i], b->seq.at[i]) && !obj_equal(e, a->seq.at[i], b->seq.at[i]))
            return false;
    }
    return true;
}

static bool dict_equal(struct eval *e, const struct obj *a, const struct obj *b)
{
    if (a->dict->nlive != b->dict->nlive)
        return false;
    for (int i = 0; i < a->dict->entries.n; i++) {
        struct dict_entry *at = &a->dict->entries.at[i];
        eval_work(e, NODE_BYTES);
        struct obj *other = at->key ? dict_get(e, b->dict, at->key) : NULL;
        if (at->key && (!other || (a->kind == OBJ_dict && !obj_equal(e, at->value, other))))
            return false;
    }
    return true;
}

static wide range_len(const struct obj *r)
{
    wide start = r->range.start, stop = r->range.stop, step = r->range.step;
    wide span = step > 0 ? stop - start + step - 1 : start - stop - step - 1;
    wide n = span / (step > 0 ? step : -step);
    return n > 0 ? n : 0;
}

int64_t range_find(const struct obj *r, const struct obj *x)
{
    wide v, step = r->range.step;
    if (obj_is_integer(x))
        v = obj_wide(x);
    else if (x->kind == OBJ_float && x->f >= -0x1p63 && x->f < 0x1p63 && x->f == (double)(int64_t)x->f)
        v = (int64_t)x->f;
    else
        return -1;
    wide steps = (v - r->range.start) / step;
    return steps >= 0 && steps < range_len(r) && r->range.start + steps * step == v ? (int64_t)steps : -1;
}

static bool range_equal(const struct obj *a, const struct obj *b)
{
    wide n = range_len(a);
    return n == range_len(b) && (n == 0 || a->range.start == b->range.start) &&
           (n < 2 || a->range.step == b->range.step);
}

/* Returns whether two containers of one kind have equal items. */
static bool container_equal(struct eval *e, const struct obj *a, const struct obj *b)
{
    eval_deeper(e, COMPARE_DEPTH, (struct loc){0});
    bool answer = a->kind == OBJ_dict || a->kind == OBJ_set ? dict_equal(e, a, b) : seq_equal(e, a, b);
    e->depth -= COMPARE_DEPTH;
    return answer;
}

bool obj_equal(struct eval *e, const struct obj *a, const struct obj *b)
{
    if (obj_is_number(a) && obj_is_number(b))
        return number_compare(a, b) == 0;
    if (a->kind == OBJ_instance || b->kind == OBJ_instance)
        return instance_equal(e, (struct obj *)a, (struct obj *)b);
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case OBJ_tuple:
    case OBJ_list:
    case OBJ_dict:
    case OBJ_set: return container_equal(e, a, b);
    case OBJ_range: return range_equal(a, b);
    case OBJ_method:
        return obj_same(a->method.self, b->method.self) && obj_same(a->method.func, b->method.func);
    case OBJ_type:
        if (lang_value(a->type) && lang_value(b->type))
            return obj_equal(e, lang_value(a->type), lang_value(b->type));
        return obj_same(a, b);
    default: return obj_same(a, b);
    }
}

int64_t obj_len(struct eval *e, struct obj *x, struct loc at)
{
    switch (x->kind) {
    case OBJ_str: return str_chars(x);
    case OBJ_tuple:
    case OBJ_list: return x->seq.n;
    case OBJ_dict:
    case OBJ_set: return x->dict->nlive;
    case OBJ_range: return range_len(x) < INT64_MAX ? (int64_t)range_len(x) : INT64_MAX;
    case OBJ_native: return x->native.class->len ? x->native.class->len(e, x, at) : -1;
    case OBJ_instance: return instance_len(e, x, at);
    default: return -1;
    }
}

bool obj_truth(struct eval *e, struct obj *x, struct loc at)
{
    switch (x->kind) {
    case OBJ_none: return false;
    case OBJ_error: return false;
    case OBJ_bool: return x->b;
    case OBJ_int: return x->i != 0;
    case OBJ_float: return x->f != 0;
    case OBJ_str: return x->str.n > 0;
    case OBJ_native:
        if (x->native.class->truth)
            return x->native.class->truth(e, x, at);
        break;
    case OBJ_instance: {
        struct obj *answer = instance_special(e, x, "__bool__", 0, NULL, at);
        if (answer)
            return obj_truth(e, answer, at);
        break;
    }
    case OBJ_tensor: eval_raise(e, at, "TypeError", ERR_condition_tensor);
    default: break;
    }
    return obj_len(e, x, at) != 0;
}

/* -- dicts -- */

static uint64_t hash_int(wide i)
{
    uint64_t halves[2] = {(uint64_t)i, (uint64_t)((uwide)i >> 64)};
    return hash_bytes(halves, sizeof halves, OBJ_int);
}

static uint64_t hash_float(double f)
{
    if (f == floor(f) && f >= -0x1p127 && f < 0x1p127)
        return hash_int((wide)f);
    return hash_bytes(&f, sizeof f, OBJ_float);
}

/* Hashes an object that is compared by identity. An object and its constexpr copies must have the same hash
 * if obj_same treats them as the same object. For such a kind of object, hashes a pointer that all the copies
 * contain. */
static uint64_t hash_identity(const struct obj *x)
{
    const void *p = x->kind == OBJ_function   ? (const void *)x->function
                    : x->kind == OBJ_jit      ? (const void *)x->jit
                    : x->kind == OBJ_builtin  ? (const void *)x->builtin
                    : x->kind == OBJ_class    ? (const void *)x->class.scope
                    : x->kind == OBJ_instance ? (const void *)x->instance.scope
                    : x->kind == OBJ_module   ? (const void *)x->module.scope
                                              : (const void *)x;
    return hash_bytes(&p, sizeof p, x->kind);
}

uint64_t obj_hash(struct eval *e, const struct obj *x)
{
    switch (x->kind) {
    case OBJ_none:
    case OBJ_ellipsis: return hash_bytes(&x->kind, sizeof x->kind, 0);
    case OBJ_bool:
    case OBJ_int: return hash_int(obj_wide(x));
    case OBJ_float: return hash_float(x->f);
    case OBJ_str: return hash_bytes(x->str.s, x->str.n, OBJ_str);
    case OBJ_type: return lang_hash(x->type);
    case OBJ_range: return hash_int(range_len(x));
    case OBJ_method: return obj_hash(e, x->method.func);
    case OBJ_tuple: {
        uint64_t h = OBJ_tuple;
        eval_deeper(e, COMPARE_DEPTH, (struct loc){0});
        for (int i = 0; i < x->seq.n; i++) {
            eval_work(e, NODE_BYTES);
            uint64_t item = obj_hash(e, x->seq.at[i]);
            h = hash_bytes(&item, sizeof item, h);
        }
        e->depth -= COMPARE_DEPTH;
        return h;
    }
    case OBJ_instance: {
        struct obj *own = instance_special(e, (struct obj *)x, "__hash__", 0, NULL, (struct loc){0});
        return own ? obj_hash(e, own) : hash_identity(x);
    }
    default: return hash_identity(x);
    }
}

static bool is_hashable(struct eval *e, const struct obj *x, int depth)
{
    eval_work(e, NODE_BYTES);
    if (x->kind == OBJ_tuple)
        for (int i = 0; i < x->seq.n; i++)
            if (depth > NESTING_MOST || !is_hashable(e, x->seq.at[i], depth + 1))
                return false;
    return x->kind != OBJ_list && x->kind != OBJ_dict && x->kind != OBJ_set;
}

bool obj_is_hashable(struct eval *e, const struct obj *x)
{
    return is_hashable(e, x, 0);
}

/* Returns the slot of the key. If the key is absent, returns the free slot for its insertion. */
static int *find_slot(struct eval *e, const struct dict *d, const struct obj *key)
{
    unsigned mask = (unsigned)d->nslots - 1;
    for (unsigned i = (unsigned)obj_hash(e, key);; i++) {
        int *slot = &d->slots[i & mask];
        if (*slot == 0)
            return slot;
        const struct obj *other = d->entries.at[*slot - 1].key;
        if (other && (obj_same(other, key) || obj_equal(e, other, key)))
            return slot;
    }
}

/* Grows the table for one more entry. Drops deleted entries, and rebuilds the slots so that at least 3/4 of them are
 * free. */
static void grow(struct eval *e, struct dict *d)
{
    int n = 0;
    for (int i = 0; i < d->entries.n; i++)
        if (d->entries.at[i].key)
            d->entries.at[n++] = d->entries.at[i];
    d->entries.n = n;
    d->nslots = 8;
    while (d->nslots < 4 * (n + 1))
        d->nslots *= 2;
    d->slots = NEW_ARRAY(e->arena, d->nslots, int);
    for (int i = 0; i < n; i++)
        *find_slot(e, d, d->entries.at[i].key) = i + 1;
}

struct obj *dict_get(struct eval *e, const struct dict *d, struct obj *key)
{
    if (d->nslots == 0)
        return NULL;
    int at = *find_slot(e, d, key);
    return at ? d->entries.at[at - 1].value : NULL;
}

void dict_set(struct eval *e, struct dict *d, struct obj *key, struct obj *value)
{
    if (2 * (d->entries.n + 1) > d->nslots)
        grow(e, d);
    int *slot = find_slot(e, d, key);
    if (*slot) {
        d->entries.at[*slot - 1].value = value;
        return;
    }
    VEC_PUSH(e->arena, &d->entries, (struct dict_entry){key, value});
    d->nlive++;
    *slot = d->entries.n;
}

void dict_add_all(struct eval *e, struct dict *into, const struct dict *from)
{
    for (int i = 0; i < from->entries.n; i++)
        if (from->entries.at[i].key)
            dict_set(e, into, from->entries.at[i].key, from->entries.at[i].value);
}

struct obj *dict_option(struct eval *e, const struct obj *dict, const char *name)
{
    struct obj *x = dict_get(e, dict->dict, obj_cstr(e, name));
    return x && x->kind != OBJ_none ? x : NULL;
}

bool dict_remove(struct eval *e, struct dict *d, struct obj *key)
{
    if (d->nslots == 0)
        return false;
    int at = *find_slot(e, d, key);
    if (at == 0)
        return false;
    d->entries.at[at - 1] = (struct dict_entry){0};
    d->nlive--;
    return true;
}

void dict_clear(struct dict *d)
{
    *d = (struct dict){.factory = d->factory};
}

/* -- scopes -- */

/* Markers: if a function declares a name `global` or `nonlocal`, the function's scope stores the marker as
 * the name's value. */
static const struct obj declared_global = {.kind = OBJ_none}, declared_nonlocal = {.kind = OBJ_none};

struct scope *scope_new(struct eval *e, struct scope *parent)
{
    struct scope *s = NEW(e->arena, struct scope);
    s->parent = parent;
    s->globals = parent ? parent->globals : s;
    map_init(&s->names, e->arena);
    return s;
}

static struct obj *lookup(const struct scope *s, const char *name)
{
    void **found = map_get_ptr(&s->names, name);
    return found ? *found : NULL;
}

struct obj *scope_get(const struct scope *s, const char *name)
{
    struct obj *x = lookup(s, name);
    return x == &declared_global || x == &declared_nonlocal ? NULL : x;
}

struct obj *scope_find(const struct scope *s, const char *name)
{
    while (s) {
        struct obj *x = lookup(s, name);
        if (x && x != &declared_global && x != &declared_nonlocal)
            return x;
        s = x == &declared_global ? s->globals : s->parent;
    }
    return NULL;
}

void scope_set(struct scope *s, const char *name, struct obj *x)
{
    void **place = map_at_ptr(&s->names, name);
    if (*place == &declared_global) {
        scope_set(s->globals, name, x);
    } else if (*place == &declared_nonlocal) {
        struct scope *outer = s->parent;
        while (outer->parent && !lookup(outer, name))
            outer = outer->parent;
        scope_set(outer, name, x);
    } else {
        *place = x;
    }
}

bool scope_binds(const struct scope *s, const char *name)
{
    return lookup(s, name) != NULL;
}

void scope_declare(struct scope *s, const char *name, bool global)
{
    *map_at_ptr(&s->names, name) = (struct obj *)(global ? &declared_global : &declared_nonlocal);
}
