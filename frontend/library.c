/* library.c: the modules of Python's library that programs with kernels import: os, sys, typing, collections and so on;
 * math is in library_math.c, functools and itertools in library_tools.c.
 *
 * Only what such programs use, and nothing that reaches out of the program but through struct host. */
#include "frontend/python.h"

#include <string.h>

static void set(struct eval *e, struct obj *module, const char *name, struct obj *x)
{
    scope_set(module->module.scope, intern_str(e->strings, name), x);
}

/* -- os, sys, time -- */

static const char *environment(struct eval *e, struct obj *name, struct loc at)
{
    if (name->kind != OBJ_str)
        eval_raise(e, at, "TypeError", ERR_expected_str, obj_type_name(name));
    const char *(*ask)(void *ctx, const char *name) = e->host ? e->host->getenv : NULL;
    return ask ? ask(e->host->ctx, name->str.s) : NULL;
}

/* os.environ: what the program set, then what the host has. */
static struct obj *environ_get(struct eval *e, struct obj *self, struct obj *name, struct loc at)
{
    struct obj *changes = self->native.data, *own = dict_get(e, changes->dict, name);
    if (own)
        return own->kind == OBJ_none ? NULL : own;
    const char *value = environment(e, name, at);
    return value ? obj_cstr(e, value) : NULL;
}

static struct obj *environ_getitem(struct eval *e, struct obj *self, struct obj *index, struct loc at)
{
    struct obj *found = environ_get(e, self, index, at);
    if (!found)
        eval_raise(e, at, "KeyError", ERR_key, obj_to_str(e, index, true)->str.s);
    return found;
}

static void environ_setitem(struct eval *e, struct obj *self, struct obj *index, struct obj *value,
                            struct loc at)
{
    struct obj *changes = self->native.data;
    dict_set(e, changes->dict, index, value);
    if (e->host && e->host->setenv && index->kind == OBJ_str && value->kind == OBJ_str)
        e->host->setenv(e->host->ctx, e, index->str.s, value->str.s, at);
}

static struct obj *environ_find(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *found = environ_get(e, args[0], args[1], call->loc);
    return found ? found : args[2];
}

/* setdefault, pop ("p"). */
static struct obj *environ_change(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *found = environ_find(e, args, call);
    environ_setitem(e, args[0], args[1], *(const char *)call->callee->data == 'p' ? obj_none : found,
                    call->loc);
    return found;
}

static struct obj *environ_contains(struct eval *e, struct obj **args, const struct args *call)
{
    return obj_bool(environ_get(e, args[0], args[1], call->loc) != NULL);
}

/* clang-format off */
static const struct builtin environ_rows[] = {
    {"environ.get",          "self, key, default=None",    environ_find,     NULL},
    {"environ.setdefault",   "self, key, default=None",    environ_change,   "s"},
    {"environ.pop",          "self, key, default=None",    environ_change,   "p"},
    {"environ.__contains__", "self, key",                  environ_contains, NULL},
};
/* clang-format on */

static struct obj *row_of(struct eval *e, struct obj *self, const struct builtin *rows, int n,
                          const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcmp(builtin_short_name(&rows[i]), name) == 0)
            return obj_method(e, self, obj_builtin(e, &rows[i]));
    return NULL;
}

static struct obj *environ_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    return row_of(e, self, environ_rows, sizeof environ_rows / sizeof *environ_rows, name);
}

static const struct native_class native_environ = {
    .name = "os._Environ",
    .getattr = environ_getattr,
    .getitem = environ_getitem,
    .setitem = environ_setitem,
};

static struct obj *get_environment(struct eval *e, struct obj **args, const struct args *call)
{
    const char *value = environment(e, args[0], call->loc);
    return value ? obj_cstr(e, value) : args[1];
}

static struct obj *make_directory(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)args, (void)call;
    return obj_none;
}

/* clang-format off */
static const struct builtin os_rows[] = {
    {"os.getenv",   "key, default=None", get_environment, NULL},
    {"os.makedirs", "name, mode=511, exist_ok=False", make_directory, NULL},
};
/* clang-format on */

static void fill_os(struct eval *e, struct obj *m)
{
    set(e, m, "environ", obj_native(e, &native_environ, obj_dict(e)));
    set(e, m, "sep", obj_cstr(e, "/"));
    set(e, m, "name", obj_cstr(e, "posix"));
    set(e, m, "path", library_module(e, "os.path"));
}

/* Where the last component of a path begins. */
static size_t base_offset(const struct obj *path)
{
    size_t n = path->str.n;
    while (n > 0 && path->str.s[n - 1] != '/')
        n--;
    return n;
}

static struct obj *path_arg(struct eval *e, struct obj *x, struct loc at)
{
    if (x->kind != OBJ_str)
        eval_raise(e, at, "TypeError", ERR_expected_str, obj_type_name(x));
    return x;
}

/* basename ("b"), dirname. */
static struct obj *path_part(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *path = path_arg(e, args[0], call->loc);
    size_t base = base_offset(path), directory = base;
    if (*(const char *)call->callee->data == 'b')
        return obj_str(e, path->str.s + base, path->str.n - base);
    while (directory > 1 && path->str.s[directory - 1] == '/')
        directory--;
    return obj_str(e, path->str.s, directory);
}

static struct obj *path_join(struct eval *e, struct obj **args, const struct args *call)
{
    struct text out;
    text_init(&out, e->arena);
    for (int i = 0; i < args[0]->seq.n; i++) {
        struct obj *part = path_arg(e, args[0]->seq.at[i], call->loc);
        if (part->str.n && *part->str.s == '/')
            text_init(&out, e->arena);
        else if (out.len && out.s[out.len - 1] != '/')
            text_char(&out, '/');
        text_bytes(&out, part->str.s, part->str.n);
    }
    return obj_text(e, &out);
}

static struct obj *path_splitext(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *path = path_arg(e, args[0], call->loc);
    size_t base = base_offset(path), dot = path->str.n;
    for (size_t i = base + 1; i < path->str.n; i++)
        dot = path->str.s[i] == '.' ? i : dot;
    return obj_pair(e, obj_str(e, path->str.s, dot), obj_str(e, path->str.s + dot, path->str.n - dot));
}

static struct obj *path_same(struct eval *e, struct obj **args, const struct args *call)
{
    return path_arg(e, args[0], call->loc);
}

static struct obj *never(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)args, (void)call;
    return obj_false;
}

/* clang-format off */
static const struct builtin path_rows[] = {
    {"path.basename",   "p",        path_part,     "b"},
    {"path.dirname",    "p",        path_part,     "d"},
    {"path.join",       "*parts",   path_join,     NULL},
    {"path.splitext",   "p",        path_splitext, NULL},
    {"path.abspath",    "p",        path_same,     NULL},
    {"path.realpath",   "p",        path_same,     NULL},
    {"path.expanduser", "p",        path_same,     NULL},
    {"path.exists",     "p",        never,         NULL},
    {"path.isfile",     "p",        never,         NULL},
    {"path.isdir",      "p",        never,         NULL},
};
/* clang-format on */

static struct obj *stream_write(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *text = path_arg(e, args[1], call->loc);
    if (e->host && e->host->write)
        e->host->write(e->host->ctx, text->str.s, text->str.n, args[0]->native.data != NULL);
    return obj_int(e, str_chars(text));
}

static struct obj *stream_flush(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)args, (void)call;
    return obj_none;
}

/* clang-format off */
static const struct builtin stream_rows[] = {
    {"TextIO.write", "self, s, /", stream_write, NULL},
    {"TextIO.flush", "self",       stream_flush, NULL},
};
/* clang-format on */

static struct obj *stream_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)at;
    return row_of(e, self, stream_rows, sizeof stream_rows / sizeof *stream_rows, name);
}

static const struct native_class native_stream = {.name = "TextIO", .getattr = stream_getattr};

static struct obj *sys_exit(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *value = call_with(e, builtin_class(e, "SystemExit"), 1, args, call->loc);
    eval_throw(e,
               &(struct exception){
                   .class = value->instance.class, .value = value, .loc = call->loc, .error = ERR_exception});
}

/* clang-format off */
static const struct builtin sys_rows[] = {
    {"sys.exit", "status=None, /", sys_exit, NULL},
};
/* clang-format on */

static void fill_sys(struct eval *e, struct obj *m)
{
    static const char stderr_mark = 1;
    struct obj *version[] = {obj_int(e, 3), obj_int(e, 11), obj_int(e, 0)};
    struct obj *arguments = obj_list(e, 0, NULL);
    for (int i = 0; e->host && i < e->host->argc; i++) {
        struct obj *argument = obj_cstr(e, e->host->argv[i]);
        VEC_PUSH(e->arena, &arguments->seq, argument);
    }
    set(e, m, "argv", arguments);
    set(e, m, "stdout", obj_native(e, &native_stream, NULL));
    set(e, m, "stderr", obj_native(e, &native_stream, (void *)&stderr_mark));
    set(e, m, "maxsize", obj_int(e, INT64_MAX));
    set(e, m, "platform", obj_cstr(e, "linux"));
    set(e, m, "byteorder", obj_cstr(e, "little"));
    set(e, m, "version_info", obj_tuple(e, 3, version));
    set(e, m, "modules", obj_dict(e));
    set(e, m, "path", obj_list(e, 0, NULL));
}

/* perf_counter and the like; data "n": in nanoseconds. */
static struct obj *clock_now(struct eval *e, struct obj **args, const struct args *call)
{
    (void)args;
    double seconds = e->host && e->host->seconds ? e->host->seconds(e->host->ctx) : 0;
    return call->callee->data ? obj_int(e, (wide)(seconds * 1e9)) : obj_float(e, seconds);
}

static struct obj *sleep(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)args, (void)call;
    return obj_none;
}

/* clang-format off */
static const struct builtin time_rows[] = {
    {"time.time",            "",        clock_now, NULL},
    {"time.perf_counter",    "",        clock_now, NULL},
    {"time.monotonic",       "",        clock_now, NULL},
    {"time.process_time",    "",        clock_now, NULL},
    {"time.time_ns",         "",        clock_now, "n"},
    {"time.perf_counter_ns", "",        clock_now, "n"},
    {"time.sleep",           "seconds", sleep,     NULL},
};
/* clang-format on */

/* Decorators that change nothing here. */
static struct obj *decorated(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    return args[0];
}

/* -- typing, collections, dataclasses, contextlib, copy, operator -- */

/* Names of typing stand for themselves in annotations, and do nothing when called or indexed. */
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

static struct obj *type_variable(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_class(e, args[0]->kind == OBJ_str ? args[0]->str.s : "TypeVar", NULL);
}

static struct obj *second(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    return args[1];
}

/* clang-format off */
static const struct builtin typing_rows[] = {
    {"typing.TypeVar",   "name, *rest, **options", type_variable, NULL},
    {"typing.NewType",   "name, type",             second,        NULL},
    {"typing.cast",      "type, value",            second,        NULL},
    {"typing.overload",  "function",               decorated,     NULL},
};
/* clang-format on */

/* Field names as a tuple: from "a b", "a, b" or a sequence. */
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
    struct obj *class = obj_class(e, path_arg(e, args[0], call->loc)->str.s, NULL);
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

static struct obj *ordered_dict(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = obj_dict(e);
    if (args[0])
        dict_update(e, out, args[0], call->loc);
    dict_update(e, out, args[1], call->loc);
    return out;
}

static struct obj *counter(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *out = obj_dict(e);
    struct iter it = iter_of(e, args[0] ? args[0] : obj_list(e, 0, NULL), call->loc);
    for (struct obj *item; (item = iter_next(e, &it));) {
        struct obj *n = dict_get(e, out->dict, item);
        eval_setitem(e, out, item, obj_int(e, n ? n->i + 1 : 1), call->loc);
    }
    return out;
}

/* clang-format off */
static const struct builtin collections_rows[] = {
    {"collections.namedtuple",  "typename, field_names, defaults=None, **options", named_tuple, NULL},
    {"collections.defaultdict", "factory=None, items=, /",  default_dict, NULL},
    {"collections.OrderedDict", "items=, /, **more",        ordered_dict, NULL},
    {"collections.Counter",     "items=, /",                counter,      NULL},
};
/* clang-format on */

/* A dataclass takes the annotated names of its base, then its own, as fields. */
static struct obj *make_dataclass(struct eval *e, struct obj *class, struct loc at)
{
    bool is_tuple;
    struct obj *base = class->class.base ? class_fields(e, class->class.base, &is_tuple) : NULL;
    struct obj *names = obj_tuple(e, base ? base->seq.n : 0, base ? base->seq.at : NULL);
    struct obj *own = scope_get(class->class.scope, intern_str(e->strings, "__annotations__"));
    struct obj *more = own ? iter_collect(e, own, at) : obj_list(e, 0, NULL);
    for (int i = 0; i < more->seq.n; i++)
        if (!is_contained(e, more->seq.at[i], names, at))
            VEC_PUSH(e->arena, &names->seq, more->seq.at[i]);
    class_set_fields(e, class, names, false);
    return class;
}

static struct obj *dataclass_of(struct eval *e, struct obj **args, const struct args *call)
{
    return make_dataclass(e, args[0], call->loc);
}

static const struct builtin dataclass_row = {"dataclasses.dataclass", "cls, /", dataclass_of, NULL};

static struct obj *dataclass(struct eval *e, struct obj **args, const struct args *call)
{
    return args[0] ? make_dataclass(e, args[0], call->loc) : obj_builtin(e, &dataclass_row);
}

static struct obj *dataclass_field(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *factory = dict_get(e, args[0]->dict, obj_cstr(e, "default_factory"));
    struct obj *value = dict_get(e, args[0]->dict, obj_cstr(e, "default"));
    return factory ? call_with(e, factory, 0, NULL, call->loc) : value ? value : obj_none;
}

/* clang-format off */
static const struct builtin dataclasses_rows[] = {
    {"dataclasses.dataclass", "cls=, /, **options", dataclass,       NULL},
    {"dataclasses.field",     "**options",          dataclass_field, NULL},
    {"dataclasses.asdict",    "instance",           tuple_asdict,    NULL},
    {"dataclasses.replace",   "instance, /, **changes", tuple_replace, NULL},
};
/* clang-format on */

static bool enter_given(struct eval *e, struct obj *self, struct obj **result)
{
    (void)e;
    *result = self->native.data;
    return true;
}

static const struct native_class native_null_context = {.name = "contextlib.nullcontext",
                                                        .enter = enter_given};

static struct obj *null_context(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_native(e, &native_null_context, args[0]);
}

static struct obj *suppress_init(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    scope_set(args[0]->instance.scope, intern_str(e->strings, "types"), args[1]);
    return obj_none;
}

static struct obj *suppress_exit(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *types = scope_get(args[0]->instance.scope, intern_str(e->strings, "types"));
    for (int i = 0; i < types->seq.n; i++)
        if (args[1]->kind == OBJ_class && types->seq.at[i]->kind == OBJ_class &&
            class_is_a(args[1], types->seq.at[i]))
            return obj_true;
    (void)call;
    return obj_false;
}

/* clang-format off */
static const struct builtin suppress_methods[] = {
    {"suppress.__init__",  "self, *types",             suppress_init, NULL},
    {"suppress.__enter__", "self",                     decorated,     NULL},
    {"suppress.__exit__",  "self, type, value, trace", suppress_exit, NULL},
};

static const struct builtin contextlib_rows[] = {
    {"contextlib.nullcontext", "result=None", null_context, NULL},
};
/* clang-format on */

static void fill_contextlib(struct eval *e, struct obj *m)
{
    struct obj *suppress = obj_class(e, "suppress", NULL);
    define_builtins(e, suppress->class.scope, suppress_methods, 3);
    set(e, m, "suppress", suppress);
}

/* copy; deepcopy ("d"). */
static struct obj *copy_object(struct eval *e, struct obj *x, bool deep, struct loc at)
{
    eval_deeper(e, 1, at);
    struct obj *out = x;
    if (x->kind == OBJ_list || (x->kind == OBJ_tuple && deep)) {
        out = obj_list(e, x->seq.n, x->seq.at);
        out->kind = x->kind;
        for (int i = 0; deep && i < out->seq.n; i++)
            out->seq.at[i] = copy_object(e, out->seq.at[i], deep, at);
    } else if (x->kind == OBJ_dict || x->kind == OBJ_set) {
        out = x->kind == OBJ_dict ? obj_dict(e) : obj_set(e);
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

/* operator.add and its kin: data is the operator. */
/* clang-format off */
#define OPERATORS(X) \
    X(add, add) X(sub, sub) X(mul, mul) X(truediv, div) X(floordiv, floordiv) X(mod, mod) X(pow, pow) X(and_, bitand) \
    X(or_, bitor) X(xor, xor) X(lshift, shl) X(rshift, shr)
/* clang-format on */
#define COMPARISONS(X) X(eq, eq) X(ne, ne) X(lt, lt) X(le, le) X(gt, gt) X(ge, ge)

struct operation {
    enum oper op;
};
#define X(name, op) static const struct operation operator_##name = {OPER_##op};
OPERATORS(X)
COMPARISONS(X)
#undef X

static struct obj *operate(struct eval *e, struct obj **args, const struct args *call)
{
    enum oper op = ((const struct operation *)call->callee->data)->op;
    if (oper_info[op].class == OPER_CLASS_compare)
        return eval_compare(e, op, args[0], args[1], call->loc);
    return eval_binary(e, op, args[0], args[1], call->loc);
}

static struct obj *get_item(struct eval *e, struct obj *self, const struct args *args)
{
    return eval_getitem(e, args->at[0], self->native.data, args->loc);
}

static const struct native_class native_item_getter = {.name = "operator.itemgetter", .call = get_item};

static struct obj *item_getter(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    return obj_native(e, &native_item_getter, args[0]);
}

/* clang-format off */
static const struct builtin operator_rows[] = {
#define X(name, op) {"operator." #name, "a, b, /", operate, &operator_##name},
    OPERATORS(X) COMPARISONS(X)
#undef X
    {"operator.itemgetter", "item", item_getter, NULL},
};
/* clang-format on */

static struct obj *warn(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    struct text out;
    text_init(&out, e->arena);
    text_str(&out, "UserWarning: ");
    obj_print(e, args[0], &out, false);
    text_char(&out, '\n');
    if (e->host && e->host->write)
        e->host->write(e->host->ctx, out.s, out.len, true);
    return obj_none;
}

static struct obj *ignore(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)args, (void)call;
    return obj_none;
}

/* clang-format off */
static const struct builtin warnings_rows[] = {
    {"warnings.warn",           "message, *rest, **options", warn,   NULL},
    {"warnings.filterwarnings", "*rest, **options",          ignore, NULL},
    {"warnings.simplefilter",   "*rest, **options",          ignore, NULL},
};

static const struct builtin abc_rows[] = {
    {"abc.abstractmethod", "function", decorated, NULL},
};
/* clang-format on */

static void fill_abc(struct eval *e, struct obj *m)
{
    set(e, m, "ABC", obj_class(e, "ABC", NULL));
}

/* -- the modules -- */

/* clang-format off */
/*    name           rows              what rows cannot say */
#define MODULES(X) \
    X("os",          os_rows,          fill_os) \
    X("os.path",     path_rows,        NULL) \
    X("sys",         sys_rows,         fill_sys) \
    X("time",        time_rows,        NULL) \
    X("typing",      typing_rows,      fill_typing) \
    X("typing_extensions", typing_rows, fill_typing) \
    X("collections", collections_rows, NULL) \
    X("collections.abc", abc_rows,     fill_typing) \
    X("dataclasses", dataclasses_rows, NULL) \
    X("contextlib",  contextlib_rows,  fill_contextlib) \
    X("copy",        copy_rows,        NULL) \
    X("operator",    operator_rows,    NULL) \
    X("warnings",    warnings_rows,    NULL) \
    X("abc",         abc_rows,         fill_abc) \
    X("__future__",  abc_rows,         NULL)
/* clang-format on */

static struct obj *make_module(struct eval *e, const char *name, const struct builtin_table *table)
{
    struct obj *module = obj_module(e, name);
    define_builtins(e, module->module.scope, table->rows, table->n);
    return module;
}

struct obj *library_module(struct eval *e, const char *name)
{
    static const struct {
        const char *name;
        struct builtin_table table;
        void (*fill)(struct eval *e, struct obj *module);
    } modules[] = {
#define X(name, rows, fill) {name, {rows, sizeof rows / sizeof *rows}, fill},
        MODULES(X)
#undef X
    };
    if (strcmp(name, "builtins") == 0)
        return e->builtins;
    if (strcmp(name, "math") == 0)
        return math_module(e);
    if (strcmp(name, "functools") == 0)
        return make_module(e, name, &functools_table);
    if (strcmp(name, "itertools") == 0)
        return make_module(e, name, &itertools_table);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        if (strcmp(modules[i].name, name) != 0)
            continue;
        struct obj *module = make_module(e, name, &modules[i].table);
        if (modules[i].fill)
            modules[i].fill(e, module);
        return module;
    }
    return NULL;
}
