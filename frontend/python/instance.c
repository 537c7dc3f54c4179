/* SPDX-License-Identifier: MIT */
/* instance.c: implements classes that programs define, their instances, and exceptions, which are instances too.
 *
 * A class has a scope with its names, and at most one base. If the attribute x.name of an instance x is found
 * in the class of x, it is bound to x: a function becomes a method, and a property's getter is called. Named
 * tuples and dataclasses have fields: the class stores the names of the fields, and the instance stores their
 * values. */
#include "frontend/python/python.h"

#include <string.h>

static struct obj *intern_find(struct eval *e, const struct obj *class, const char *name)
{
    return class_find(class, intern_str(e->strings, name));
}

/* -- classes -- */

struct obj *class_find(const struct obj *class, const char *name)
{
    for (; class && class->kind == OBJ_class; class = class->class.base) {
        struct obj *found = scope_get(class->class.scope, name);
        if (found)
            return found;
    }
    return NULL;
}

bool class_is_a(const struct obj *class, const struct obj *base)
{
    for (; class && class->kind == OBJ_class; class = class->class.base)
        if (obj_same(class, base))
            return true;
    return false;
}

/* Returns whether x, an object in a class, becomes a method of the class's instances. This is true for a
 * function, and for a builtin whose first parameter is `self`. */
static bool binds(const struct obj *x)
{
    return x->kind == OBJ_function || (x->kind == OBJ_builtin && strncmp(x->builtin->params, "self", 4) == 0);
}

struct obj *class_bind(struct eval *e, struct obj *found, struct obj *self, struct obj *class, struct loc at)
{
    if (binds(found))
        return self ? obj_method(e, self, found) : found;
    if (found->kind != OBJ_native)
        return found;
    if (found->native.class == &native_static)
        return found->native.data;
    if (found->native.class == &native_classmethod)
        return obj_method(e, class, found->native.data);
    if (found->native.class == &native_property && self)
        return call_with(e, found->native.data, 1, &self, at);
    return found;
}

/* Returns an attribute of a property. x.setter and x.fget are the property itself. So the decorator @x.setter
 * has no effect: assignments through properties are not supported. */
static struct obj *property_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    (void)e, (void)at;
    return strcmp(name, "setter") == 0 || strcmp(name, "fget") == 0 ? self : NULL;
}

static struct obj *property_call(struct eval *e, struct obj *self, const struct args *args)
{
    (void)e, (void)args;
    return self;
}

const struct native_class native_property = {
    .name = "property", .getattr = property_getattr, .call = property_call};
const struct native_class native_static = {.name = "staticmethod"};
const struct native_class native_classmethod = {.name = "classmethod"};

/* -- fields -- */

static const char fields_name[] = "__fields__", tuple_name[] = "__is_tuple__";

void class_set_fields(struct eval *e, struct obj *class, struct obj *names, bool is_tuple)
{
    scope_set(class->class.scope, intern_str(e->strings, fields_name), names);
    scope_set(class->class.scope, intern_str(e->strings, tuple_name), obj_bool(is_tuple));
    if (is_tuple)
        scope_set(class->class.scope, intern_str(e->strings, "_fields"), names);
}

struct obj *class_fields(struct eval *e, const struct obj *class, bool *is_tuple)
{
    struct obj *names = intern_find(e, class, fields_name);
    *is_tuple = names && intern_find(e, class, tuple_name)->b;
    return names;
}

static struct obj *field_values(struct eval *e, struct obj *x, struct obj *names)
{
    struct obj *out = obj_tuple(e, 0, NULL);
    for (int i = 0; i < names->seq.n; i++) {
        struct obj *value = scope_get(x->instance.scope,
                                      intern(e->strings, names->seq.at[i]->str.s, names->seq.at[i]->str.n));
        VEC_PUSH(e->arena, &out->seq, value ? value : obj_none);
    }
    return out;
}

struct obj *instance_as_tuple(struct eval *e, struct obj *x)
{
    bool is_tuple;
    if (x->kind != OBJ_instance)
        return x;
    struct obj *names = class_fields(e, x->instance.class, &is_tuple);
    return names && is_tuple ? field_values(e, x, names) : x;
}

/* Sets each field of x to the field's positional argument, else to its keyword argument, else to its default in the
 * class. */
static void set_fields(struct eval *e, struct obj *x, struct obj *names, const struct args *args)
{
    const char *class_name = x->instance.class->class.name;
    if (args->n > names->seq.n)
        eval_raise(e, args->loc, "TypeError", ERR_too_many_fields, class_name, names->seq.n, args->n);
    for (int i = 0; i < args->nkw; i++) {
        struct obj *key = obj_cstr(e, args->kw[i]);
        if (!is_contained(e, key, names, args->loc))
            eval_raise(e, args->loc, "TypeError", ERR_unexpected_keyword, class_name, args->kw[i]);
        scope_set(x->instance.scope, args->kw[i], args->kw_at[i]);
    }
    for (int i = 0; i < names->seq.n; i++) {
        const char *name = intern(e->strings, names->seq.at[i]->str.s, names->seq.at[i]->str.n);
        struct obj *value = i < args->n ? args->at[i] : scope_get(x->instance.scope, name);
        if (!value)
            value = class_find(x->instance.class, name);
        if (!value)
            eval_raise(e, args->loc, "TypeError", ERR_missing_argument, class_name, "positional",
                       obj_to_str(e, obj_cstr(e, name), true)->str.s);
        scope_set(x->instance.scope, name, value);
    }
}

/* -- instances -- */

static bool is_exception(struct eval *e, const struct obj *x)
{
    return class_is_a(x->instance.class, builtin_class(e, "BaseException"));
}

struct obj *class_call(struct eval *e, struct obj *class, const struct args *args)
{
    struct obj *x = obj_instance(e, class);
    struct obj *init = intern_find(e, class, "__init__");
    bool is_tuple;
    struct obj *names = class_fields(e, class, &is_tuple);
    if (is_exception(e, x))
        scope_set(x->instance.scope, intern_str(e->strings, "args"), obj_tuple(e, args->n, args->at));
    if (names && (!init || init->kind == OBJ_builtin)) {
        set_fields(e, x, names, args);
        instance_special(e, x, "__post_init__", 0, NULL, args->loc);
    } else if (init) {
        eval_call(e, class_bind(e, init, x, class, args->loc), args);
    } else if (args->n + args->nkw > 0) {
        eval_raise(e, args->loc, "TypeError", ERR_no_arguments, class->class.name);
    }
    /* In a kernel, a named tuple is an OBJ_tuple with a class_of. */
    return e->trace && names && is_tuple ? argument_parts(e, x) : x;
}

struct obj *instance_special(struct eval *e, struct obj *x, const char *name, int n, struct obj *const *args,
                             struct loc at)
{
    struct obj *found = x->kind == OBJ_instance ? intern_find(e, x->instance.class, name) : NULL;
    return found ? call_with(e, class_bind(e, found, x, x->instance.class, at), n, args, at) : NULL;
}

static struct obj *names_as_dict(struct eval *e, const struct scope *s)
{
    struct obj *out = obj_dict(e);
    for (int i = 0; i < s->names.n; i++)
        if (s->names.entries[i].value)
            dict_set(e, out->dict, obj_cstr(e, s->names.entries[i].key), s->names.entries[i].value);
    return out;
}

struct obj *instance_names(struct eval *e, struct obj *x)
{
    return names_as_dict(e, x->kind == OBJ_instance ? x->instance.scope
                            : x->kind == OBJ_class  ? x->class.scope
                                                    : x->module.scope);
}

static struct obj *class_attribute(struct eval *e, struct obj *class, const char *name, struct loc at)
{
    struct obj *found = class_find(class, name);
    if (found)
        return class_bind(e, found, NULL, class, at);
    if (strcmp(name, "__name__") == 0 || strcmp(name, "__qualname__") == 0)
        return obj_cstr(e, class->class.name);
    return strcmp(name, "__dict__") == 0 ? names_as_dict(e, class->class.scope) : NULL;
}

struct obj *instance_find(struct eval *e, struct obj *x, const char *name, struct loc at)
{
    if (x->kind == OBJ_class)
        return class_attribute(e, x, name, at);
    struct obj *own = scope_get(x->instance.scope, name), *shared = class_find(x->instance.class, name);
    bool is_property = shared && shared->kind == OBJ_native && shared->native.class == &native_property;
    if (own && !is_property)
        return own;
    if (shared)
        return class_bind(e, shared, x, x->instance.class, at);
    if (strcmp(name, "__dict__") == 0)
        return names_as_dict(e, x->instance.scope);
    struct obj *key = obj_cstr(e, name);
    return instance_special(e, x, "__getattr__", 1, &key, at);
}

bool instance_equal(struct eval *e, struct obj *a, struct obj *b)
{
    if (obj_same(a, b))
        return true;
    struct loc nowhere = {0};
    struct obj *answer = instance_special(e, a, "__eq__", 1, &b, nowhere);
    if (!answer || answer == obj_not_implemented)
        answer = instance_special(e, b, "__eq__", 1, &a, nowhere);
    if (answer && answer != obj_not_implemented)
        return obj_truth(e, answer, nowhere);
    struct obj *tuple_a = instance_as_tuple(e, a), *tuple_b = instance_as_tuple(e, b);
    if (tuple_a != a || tuple_b != b)
        return tuple_a->kind == tuple_b->kind && obj_equal(e, tuple_a, tuple_b);
    bool is_tuple;
    bool same_class = a->kind == b->kind && obj_same(a->instance.class, b->instance.class);
    struct obj *names = same_class ? class_fields(e, a->instance.class, &is_tuple) : NULL;
    return names && obj_equal(e, field_values(e, a, names), field_values(e, b, names));
}

int64_t instance_len(struct eval *e, struct obj *x, struct loc at)
{
    struct obj *items = instance_as_tuple(e, x);
    if (items != x)
        return items->seq.n;
    int64_t n;
    struct obj *answer = instance_special(e, x, "__len__", 0, NULL, at);
    if (!answer)
        return -1;
    if (!obj_as_int(answer, &n))
        eval_raise(e, at, "TypeError", ERR_not_integer, obj_type_name(answer));
    return n;
}

/* Prints the exception's arguments as repr() does if `repr` is true, and otherwise as str() does. For a KeyError, str()
 * prints repr() of the key. */
static void show_exception(struct eval *e, struct obj *x, struct text *out, bool repr)
{
    struct obj *message = scope_get(x->instance.scope, intern_str(e->strings, "__message__"));
    struct obj *args = scope_get(x->instance.scope, intern_str(e->strings, "args"));
    int n = args && args->kind == OBJ_tuple ? args->seq.n : 0;
    if (repr) {
        text_str(out, x->instance.class->class.name);
        if (n == 1) {
            text_char(out, '(');
            obj_print(e, args->seq.at[0], out, true);
            text_char(out, ')');
        } else {
            obj_print(e, args ? args : obj_tuple(e, 0, NULL), out, true);
        }
    } else if (message) {
        obj_print(e, message, out, false);
    } else if (n == 1) {
        obj_print(e, args->seq.at[0], out, class_is_a(x->instance.class, builtin_class(e, "KeyError")));
    } else if (n > 1) {
        obj_print(e, args, out, true);
    }
}

static void show_fields(struct eval *e, struct obj *x, struct obj *names, struct text *out)
{
    struct obj *values = field_values(e, x, names);
    text_printf(out, "%s(", x->instance.class->class.name);
    for (int i = 0; i < names->seq.n; i++) {
        text_str(out, i ? ", " : "");
        obj_print(e, names->seq.at[i], out, false);
        text_char(out, '=');
        obj_print(e, values->seq.at[i], out, true);
    }
    text_char(out, ')');
}

void instance_show(struct eval *e, struct obj *x, struct text *out, bool repr)
{
    struct loc nowhere = {0};
    struct obj *own = repr ? NULL : instance_special(e, x, "__str__", 0, NULL, nowhere);
    if (!own && (repr || !is_exception(e, x)))
        own = instance_special(e, x, "__repr__", 0, NULL, nowhere);
    bool is_tuple;
    struct obj *names = class_fields(e, x->instance.class, &is_tuple);
    if (own && own->kind == OBJ_str)
        text_bytes(out, own->str.s, own->str.n);
    else if (is_exception(e, x))
        show_exception(e, x, out, repr);
    else if (names)
        show_fields(e, x, names, out);
    else
        text_printf(out, "<%s object>", x->instance.class->class.name);
}

/* -- super -- */

struct super {
    struct obj *class, *self; /* class: the base class at which the search begins; NULL if there is none */
};

static struct obj *ignore_init(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)args, (void)call;
    return obj_none;
}

static const struct builtin object_init = {"object.__init__", "self, *args, **kwargs", ignore_init, NULL};

static struct obj *super_getattr(struct eval *e, struct obj *self, const char *name, struct loc at)
{
    struct super *s = self->native.data;
    struct obj *found = s->class ? class_find(s->class, name) : NULL;
    if (!found && (strcmp(name, "__init__") == 0 || strcmp(name, "__init_subclass__") == 0))
        found = obj_builtin(e, &object_init);
    return found ? class_bind(e, found, s->self,
                              s->self->kind == OBJ_instance ? s->self->instance.class : s->self, at)
                 : NULL;
}

static const struct native_class native_super = {.name = "super", .getattr = super_getattr};

struct obj *super_new(struct eval *e, struct obj *class, struct obj *self)
{
    struct super *s = NEW(e->arena, struct super);
    s->class = class->class.base;
    s->self = self;
    return obj_native(e, &native_super, s);
}

/* -- exceptions -- */

/* clang-format off */
/*    name                  base */
#define EXCEPTIONS(X) \
    X(BaseException,        NULL) \
    X(Exception,            "BaseException") \
    X(SystemExit,           "BaseException") \
    X(KeyboardInterrupt,    "BaseException") \
    X(GeneratorExit,        "BaseException") \
    X(ArithmeticError,      "Exception") \
    X(OverflowError,        "ArithmeticError") \
    X(ZeroDivisionError,    "ArithmeticError") \
    X(FloatingPointError,   "ArithmeticError") \
    X(AssertionError,       "Exception") \
    X(AttributeError,       "Exception") \
    X(EOFError,             "Exception") \
    X(ImportError,          "Exception") \
    X(ModuleNotFoundError,  "ImportError") \
    X(LookupError,          "Exception") \
    X(IndexError,           "LookupError") \
    X(KeyError,             "LookupError") \
    X(MemoryError,          "Exception") \
    X(NameError,            "Exception") \
    X(UnboundLocalError,    "NameError") \
    X(OSError,              "Exception") \
    X(FileNotFoundError,    "OSError") \
    X(FileExistsError,      "OSError") \
    X(PermissionError,      "OSError") \
    X(TimeoutError,         "OSError") \
    X(RuntimeError,         "Exception") \
    X(NotImplementedError,  "RuntimeError") \
    X(RecursionError,       "RuntimeError") \
    X(StopIteration,        "Exception") \
    X(SyntaxError,          "Exception") \
    X(SystemError,          "Exception") \
    X(TypeError,            "Exception") \
    X(ValueError,           "Exception") \
    X(UnicodeError,         "ValueError") \
    X(Warning,              "Exception") \
    X(UserWarning,          "Warning") \
    X(DeprecationWarning,   "Warning") \
    X(RuntimeWarning,       "Warning") \
    X(FutureWarning,        "Warning") \
    X(CompilationError,     "Exception") \
    X(CompileTimeAssertionFailure,  "CompilationError") \
    X(UnsupportedLanguageConstruct, "CompilationError") \
    X(OutOfResources,       "Exception") \
    X(PTXASError,           "Exception") \
    X(AutotunerError,       "Exception") \
    X(InterpreterError,     "Exception")
/* clang-format on */

static struct obj *exception_init(struct eval *e, struct obj **args, const struct args *call)
{
    (void)call;
    if (args[0]->kind != OBJ_instance)
        return obj_none;
    scope_set(args[0]->instance.scope, intern_str(e->strings, "args"), args[1]);
    if (args[1]->seq.n > 0 && class_is_a(args[0]->instance.class, builtin_class(e, "SystemExit")))
        scope_set(args[0]->instance.scope, intern_str(e->strings, "code"), args[1]->seq.at[0]);
    if (args[1]->seq.n > 0 && class_is_a(args[0]->instance.class, builtin_class(e, "StopIteration")))
        scope_set(args[0]->instance.scope, intern_str(e->strings, "value"), args[1]->seq.at[0]);
    return obj_none;
}

static struct obj *exception_with_traceback(struct eval *e, struct obj **args, const struct args *call)
{
    (void)e, (void)call;
    return args[0];
}

/* clang-format off */
static const struct builtin exception_methods[] = {
    {"BaseException.__init__",       "self, *args, **kwargs", exception_init, NULL},
    {"BaseException.with_traceback", "self, tb=None",         exception_with_traceback, NULL},
};
/* clang-format on */

struct obj *builtin_class(struct eval *e, const char *name)
{
    return scope_get(e->builtins->module.scope, intern_str(e->strings, name));
}

void exceptions_define(struct eval *e)
{
    static const struct {
        const char *name, *base;
    } rows[] = {
#define X(name, base) {#name, base},
        EXCEPTIONS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct obj *class = obj_class(e, rows[i].name, rows[i].base ? builtin_class(e, rows[i].base) : NULL);
        scope_set(e->builtins->module.scope, class->class.name, class);
    }
    define_builtins(e, builtin_class(e, "BaseException")->class.scope, exception_methods, 2);
    scope_set(e->builtins->module.scope, intern_str(e->strings, "IOError"), builtin_class(e, "OSError"));
}

struct obj *exception_value(struct eval *e, struct exception *x)
{
    if (!x->value) {
        x->value = obj_instance(e, x->class);
        struct obj *message = obj_cstr(e, x->message);
        scope_set(x->value->instance.scope, intern_str(e->strings, "args"), obj_tuple(e, 1, &message));
        scope_set(x->value->instance.scope, intern_str(e->strings, "__message__"), message);
    }
    return x->value;
}

const char *exception_message(struct eval *e, const struct exception *x)
{
    if (x->message || !x->value)
        return x->message ? x->message : "";
    return obj_to_str(e, x->value, false)->str.s;
}
