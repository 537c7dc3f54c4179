/* SPDX-License-Identifier: MIT */
/* library.c: implements the parts of Python's library that cannot be written in Python: functions that call the host,
 * make classes or copy objects. library.py has most of the library, library_math.c has math.
 *
 * The library contains only functions that programs with kernels use. It accesses the time, the environment
 * and the output only through struct host, and does not access files. */
#include "frontend/python/python.h"

#include <string.h>

static void set(struct eval *e, struct obj *module, const char *name, struct obj *x)
{
    scope_set(module->module.scope, intern_str(e->strings, name), x);
}

/* -- os, sys, time -- */

static struct obj *get_environment(struct eval *e, struct obj **args, const struct args *call)
{
    const char *name = arg_str(e, args[0], call->loc)->str.s;
    const char *value = e->host && e->host->getenv ? e->host->getenv(e->host->ctx, name) : NULL;
    return value ? obj_cstr(e, value) : args[1];
}

static struct obj *set_environment(struct eval *e, struct obj **args, const struct args *call)
{
    if (e->host && e->host->setenv && args[0]->kind == OBJ_str && args[1]->kind == OBJ_str)
        e->host->setenv(e->host->ctx, e, args[0]->str.s, args[1]->str.s, call->loc);
    return obj_none;
}

static const struct builtin os_rows[] = {
    {"os.getenv", "key, default=None", get_environment, NULL},
    {"os._setenv", "key, value", set_environment, NULL},
};

static struct obj *stream_write(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *text = arg_str(e, args[0], call->loc);
    if (e->host && e->host->write)
        e->host->write(e->host->ctx, text->str.s, text->str.n, args[1] == obj_true);
    return obj_none;
}

static const struct builtin sys_rows[] = {{"sys._write", "s, is_error", stream_write, NULL}};

static void fill_sys(struct eval *e, struct obj *m)
{
    struct obj *arguments = obj_list(e, 0, NULL);
    for (int i = 0; e->host && i < e->host->argc; i++) {
        struct obj *argument = obj_cstr(e, e->host->argv[i]);
        VEC_PUSH(e->arena, &arguments->seq, argument);
    }
    set(e, m, "argv", arguments);
}

/* Implements time, perf_counter and similar functions. The row's data is the letter of the clock, followed by
 * "n" if the result is in nanoseconds. */
static struct obj *clock_now(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    const char *data = call->callee->data;
    enum host_clock clock = *data == 'w' ? CLOCK_wall : *data == 'p' ? CLOCK_processor : CLOCK_steady;
    int64_t ns = e->host && e->host->nanoseconds ? e->host->nanoseconds(e->host->ctx, clock) : 0;
    return data[1] ? obj_int(e, ns) : obj_float(e, (double)ns * 1e-9);
}

/* clang-format off */
static const struct builtin time_rows[] = {
    {"time.time",            "",        clock_now, "w"},
    {"time.perf_counter",    "",        clock_now, "s"},
    {"time.monotonic",       "",        clock_now, "s"},
    {"time.process_time",    "",        clock_now, "p"},
    {"time.time_ns",         "",        clock_now, "wn"},
    {"time.perf_counter_ns", "",        clock_now, "sn"},
    {"time.monotonic_ns",    "",        clock_now, "sn"},
    {"time.process_time_ns", "",        clock_now, "pn"},
};
/* clang-format on */

/* -- typing, collections, dataclasses, copy -- */

/* Defines the names of the module typing, which programs use in annotations, as classes without members.
 * Indexing such a class has no effect: List[int] is List. */
static void fill_typing(struct eval *e, struct obj *m)
{
    static const char *const names[] = {
        "Any",      "Union",    "Optional",  "List",      "Tuple",    "Dict", "Set",       "Callable",
        "Sequence", "Iterable", "Iterator",  "Mapping",   "Literal",  "Type", "ClassVar",  "Final",
        "Generic",  "Protocol", "Annotated", "Generator", "Hashable", "Self", "TypeAlias",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        set(e, m, names[i], obj_class(e, names[i], NULL));
    struct obj *tuple = obj_class(e, "NamedTuple", NULL);
    tuple->class.is_tuple = true;
    set(e, m, "NamedTuple", tuple);
    set(e, m, "TYPE_CHECKING", obj_false);
}

/* Returns a tuple of field names. x is a text such as "a b" or "a, b", or a sequence of names. */
static struct obj *field_names(struct eval *e, struct obj *x, struct loc at)
{
    struct obj *out = obj_tuple(e, 0, NULL);
    if (x->kind != OBJ_str) {
        out = iter_collect(e, x, at);
        out->kind = OBJ_tuple;
        return out;
    }
    for (size_t i = 0; i < x->str.n;) {
        size_t n = strcspn(x->str.s + i, ", ");
        struct obj *name = obj_str(e, x->str.s + i, n);
        if (n)
            VEC_PUSH(e->arena, &out->seq, name);
        i += n ? n : 1;
    }
    return out;
}

static struct obj *tuple_replace(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *class = args[0]->instance.class;
    struct obj *keywords = instance_names(e, args[0]);
    dict_update(e, keywords, args[1], call->loc);
    return call_spread(e, class, obj_list(e, 0, NULL), keywords, call->loc);
}

static struct obj *tuple_asdict(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return instance_names(e, args[0]);
}

/* clang-format off */
static const struct builtin named_tuple_methods[] = {
    {"namedtuple._replace", "self, **changes", tuple_replace, NULL},
    {"namedtuple._asdict",  "self",            tuple_asdict,  NULL},
};
/* clang-format on */

static struct obj *named_tuple(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *class = obj_class(e, arg_str(e, args[0], call->loc)->str.s, NULL);
    struct obj *names = field_names(e, args[1], call->loc);
    int ndefaults = args[2]->kind == OBJ_none ? 0 : args[2]->seq.n;
    for (int i = 0; i < ndefaults && i < names->seq.n; i++) {
        struct obj *name = names->seq.at[names->seq.n - ndefaults + i];
        scope_set(class->class.scope, intern(e->strings, name->str.s, name->str.n), args[2]->seq.at[i]);
    }
    class_set_fields(e, class, names, true);
    define_builtins(e, class->class.scope, named_tuple_methods, 2);
    return class;
}

static struct obj *default_dict(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = obj_dict(e);
    if (args[1])
        dict_update(e, out, args[1], call->loc);
    out->dict->factory = args[0];
    return out;
}

/* clang-format off */
static const struct builtin collections_rows[] = {
    {"collections.namedtuple",  "typename, field_names, defaults=None, **options", named_tuple, NULL},
    {"collections.defaultdict", "factory=None, items=, /",  default_dict, NULL},
};
/* clang-format on */

/* Makes a class a dataclass. The fields of the class are the fields of its base, followed by the annotated names in
 * its body. */
static struct obj *dataclass(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *class = args[0];
    bool is_tuple;
    struct obj *base = class->class.base ? class_fields(e, class->class.base, &is_tuple) : NULL;
    struct obj *names = obj_tuple(e, base ? base->seq.n : 0, base ? base->seq.at : NULL);
    struct obj *own = scope_get(class->class.scope, intern_str(e->strings, "__annotations__"));
    struct obj *more = own ? iter_collect(e, own, call->loc) : obj_list(e, 0, NULL);
    for (int i = 0; i < more->seq.n; i++)
        if (!is_contained(e, more->seq.at[i], names, call->loc))
            VEC_PUSH(e->arena, &names->seq, more->seq.at[i]);
    class_set_fields(e, class, names, false);
    return class;
}

/* clang-format off */
static const struct builtin dataclasses_rows[] = {
    {"dataclasses._dataclass", "cls, /",                 dataclass,     NULL},
    {"dataclasses.asdict",     "instance",               tuple_asdict,  NULL},
    {"dataclasses.replace",    "instance, /, **changes", tuple_replace, NULL},
};
/* clang-format on */

/* Returns a copy of x, as copy.copy(x) does, or as copy.deepcopy(x) does if `deep` is true. */
static struct obj *copy_object(struct eval *e, struct obj *x, bool deep, struct loc at)
{
    eval_deeper(e, 1, at);
    eval_work(e, NODE_BYTES);
    struct obj *out = x;
    if (x->kind == OBJ_list || (x->kind == OBJ_tuple && deep)) {
        out = obj_list(e, x->seq.n, x->seq.at);
        out->kind = x->kind;
        for (int i = 0; deep && i < out->seq.n; i++)
            out->seq.at[i] = copy_object(e, out->seq.at[i], deep, at);
    } else if (x->kind == OBJ_dict || x->kind == OBJ_set) {
        out = obj_emptied(e, x);
        for (int i = 0; i < x->dict->entries.n; i++) {
            struct dict_entry entry = x->dict->entries.at[i];
            if (entry.key)
                dict_set(e, out->dict, entry.key, deep ? copy_object(e, entry.value, deep, at) : entry.value);
        }
    } else if (x->kind == OBJ_instance) {
        out = obj_instance(e, x->instance.class);
        for (int i = 0; i < x->instance.scope->names.n; i++) {
            const struct map_entry *name = &x->instance.scope->names.entries[i];
            if (name->value)
                scope_set(out->instance.scope, name->key,
                          deep ? copy_object(e, name->value, deep, at) : name->value);
        }
    }
    e->depth--;
    return out;
}

static struct obj *copy(struct eval *e, struct obj **args, const struct args *call)
{
    return copy_object(e, args[0], *(const char *)call->callee->data == 'd', call->loc);
}

/* clang-format off */
static const struct builtin copy_rows[] = {
    {"copy.copy",     "x",            copy, "s"},
    {"copy.deepcopy", "x, memo=None", copy, "d"},
};
/* clang-format on */

/* -- the modules -- */

/* clang-format off */
#define ROWS(rows) {rows, sizeof rows / sizeof *rows}
static const struct {
    const char *name;
    struct builtin_table table;
    void (*fill)(struct eval *e, struct obj *module); /* defines the module's other names */
} modules[] = {
    {"os",                ROWS(os_rows),          NULL},
    {"sys",               ROWS(sys_rows),         fill_sys},
    {"time",              ROWS(time_rows),        NULL},
    {"typing",            {0},                    fill_typing},
    {"collections",       ROWS(collections_rows), NULL},
    {"dataclasses",       ROWS(dataclasses_rows), NULL},
    {"copy",              ROWS(copy_rows),        NULL},
    {"math",              {0},                    fill_math},
};
/* clang-format on */

/* Makes a module from its section of library.py and from the names that the table `modules` defines in C. */
struct obj *library_module(struct eval *e, const char *name)
{
    if (strcmp(name, "builtins") == 0)
        return e->builtins;
    struct obj *module = eval_section(e, library_py, name, name);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].name, name) != 0)
            continue;
        module = module ? module : obj_module(e, name);
        define_builtins(e, module->module.scope, modules[i].table.rows, modules[i].table.n);
        if (modules[i].fill)
            modules[i].fill(e, module);
    }
    return module;
}
