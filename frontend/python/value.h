/* value.h: the values of Python at compile time: constexprs, values of host programs and traced tensors share
 * one object model.
 *
 * Objects live in the session's arena and are never freed one by one. All but lists, dicts, instances and
 * modules are immutable. A `tensor` is a run-time value of the kernel being traced: an IR value and its type
 * in the language. */
#ifndef NESO_FRONTEND_VALUE_H
#define NESO_FRONTEND_VALUE_H

#include "frontend/python/ast.h"

/* Python ints; a result outside of this range is an error */
__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

struct eval;
struct obj;

/* kind      type(x).__name__ */
#define OBJ_KINDS(X) \
    X(none,      "NoneType") \
    X(ellipsis,  "ellipsis") \
    X(bool,      "bool") \
    X(int,       "int") \
    X(float,     "float") \
    X(str,       "str") \
    X(tuple,     "tuple") \
    X(list,      "list") \
    X(dict,      "dict") \
    X(set,       "set") \
    X(range,     "range") \
    X(slice,     "slice") \
    X(function,  "function")   /* def or lambda, with its closure */ \
    X(jit,       "JITFunction") /* @triton.jit: a function that kernels call and hosts launch */ \
    X(builtin,   "builtin")    /* a row of a table: tl.load, print, triton.cdiv */ \
    X(method,    "method")     /* a function or builtin with its first argument */ \
    X(type,      "dtype")      /* tl.float32, pointer and block types */ \
    X(tensor,    "tensor")     /* traced */ \
    X(module,    "module") \
    X(class,     "type")       /* user classes; exception classes */ \
    X(instance,  "object")     /* of a user class; exceptions */ \
    X(native,    "object")     /* objects of the host: torch.Tensor, a launcher, an event */ \
    X(error,     "error")      /* the value after a reported error; operations on it give it too */

enum obj_kind {
#define X(word, name) OBJ_##word,
    OBJ_KINDS(X)
#undef X
    OBJ_count
};

/* A type of the kernel language, and a run-time value of the kernel being traced: plain Python passes them on, and asks
 * frontend/trace/lang.h's functions below. */
struct lang_type;
struct value;

struct dict_entry {
    struct obj *key, *value; /* key NULL: deleted */
};
/* Insertion-ordered; keys compare and hash by Python's rules. */
struct dict {
    VEC(struct dict_entry) entries;
    int nlive;
    int *slots, nslots;
    struct obj *factory; /* of a defaultdict: called for an absent key; else NULL */
};

/* Names of a function call, a module, a class body. `parent` is the enclosing scope of a closure. */
struct scope {
    bool is_class;         /* a class body: functions in it do not see its names */
    bool is_comprehension; /* `:=` in it binds in the enclosing scope */
    struct scope *parent;
    struct scope *globals; /* the module's scope; a module's own is itself */
    struct map names;      /* interned name (pointer) to struct obj *; NULL: deleted */
};

struct function {
    const char *name;
    const char *qualified;      /* with the name of its class, for messages */
    const struct ast *def;      /* def or lambda node */
    struct scope *closure;      /* where it was defined */
    const struct source *src;
    struct obj **defaults;      /* by parameter; NULL: none */
    struct scope *attributes;   /* set by the program: f.x = 1; or NULL */
    /* contains yield: it runs to its end when called, and returns an iterator over the values */
    bool is_generator;
};

/* Decorations of a jit function. */
struct jit {
    struct function fn;
    struct obj *do_not_specialize, *do_not_specialize_on_alignment; /* lists, or NULL */
    bool debug;
    /* (name, dict) pairs, the nearest to the def first: ("autotune", its keywords), ("heuristics", {name:
     * function}); or NULL */
    struct obj *decorators;
    struct obj *host; /* the runtime's own record (autotuner, heuristics, compiled variants); NULL at first */
};

/* The arguments of a call. */
struct args {
    int n;
    struct obj **at;             /* positional, with * expanded */
    const struct loc *locs;      /* of each positional, then of each keyword */
    int nkw;
    const char **kw;             /* interned */
    struct obj **kw_at;
    struct loc loc;              /* of the call */
    const struct builtin *callee; /* the row that runs, if the callee is a builtin */
};

/* One builtin. `params` is a Python parameter list: "pointer, mask=None, other=None, *, sem=None" or
 * "*values, sep=' '". The caller binds arguments to it and passes one object per parameter (a tuple for *x, a
 * dict for **x). Defaults are None, True, False, numbers and strings; for `x=` alone, an absent argument is
 * NULL. */
struct builtin {
    const char *name;    /* "tl.load", for messages */
    const char *params;
    struct obj *(*run)(struct eval *e, struct obj **args, const struct args *call);
    const void *data;    /* for handlers that serve several rows: an opcode, for example */
};

/* op is the syntax tree's operator; `reflected`: self is the right operand. NULL: these operands are not
 * supported. */
typedef struct obj *native_operator(struct eval *e, enum oper op, struct obj *self, struct obj *other, bool reflected,
                                    struct loc at);

/* The behaviour of the host's objects. Any member may be NULL; its use is then the error "'torch.Tensor'
 * object has no ...". */
struct native_class {
    const char *name; /* "torch.Tensor" */
    /* NULL: there is no such attribute */
    struct obj *(*getattr)(struct eval *e, struct obj *self, const char *name, struct loc at);
    bool (*setattr)(struct eval *e, struct obj *self, const char *name, struct obj *value, struct loc at);
    struct obj *(*call)(struct eval *e, struct obj *self, const struct args *args);
    struct obj *(*getitem)(struct eval *e, struct obj *self, struct obj *index, struct loc at);
    void (*setitem)(struct eval *e, struct obj *self, struct obj *index, struct obj *value, struct loc at);
    native_operator *binary, *compare;
    struct obj *(*unary)(struct eval *e, enum oper op, struct obj *self, struct loc at);
    void (*str)(struct eval *e, struct obj *self, struct text *out, bool repr);
    /* item i; NULL: the end */
    struct obj *(*iter)(struct eval *e, struct obj *self, int64_t i, struct loc at);
    int64_t (*len)(struct eval *e, struct obj *self, struct loc at); /* -1: no length */
    bool (*truth)(struct eval *e, struct obj *self, struct loc at);
    bool (*enter)(struct eval *e, struct obj *self, struct obj **result);
    void (*leave)(struct eval *e, struct obj *self);
};

struct obj {
    enum obj_kind kind;
    bool is_constexpr; /* made by tl.constexpr(x), or bound by `x: tl.constexpr`: x itself with a mark */
    bool was_list;     /* a tuple that a kernel wrote as a list */
    bool is_size;      /* of a tuple: torch.Size, which only its text shows */
    /* of a tuple in a kernel: the class whose fields it contains; NULL: a plain tuple */
    const struct obj *class_of;
    union {
        bool b;
        wide i;
        double f;
        struct {
            const char *s;
            size_t n;
        } str;
        VEC(struct obj *) seq; /* tuple, list */
        struct dict *dict;     /* dict, set */
        struct {
            int64_t start, stop, step;
        } range;
        struct {
            struct obj *start, *stop, *step; /* obj_none where absent */
        } slice;
        struct function *function;
        struct jit *jit;
        const struct builtin *builtin;
        struct {
            struct obj *self, *func;
        } method;
        const struct lang_type *type;
        struct {
            struct value *value;
            const struct lang_type *type; /* number, ptr or block */
            /* the constant from which this local was assigned (1.0 dialect), or NULL */
            struct obj *constant;
            bool is_named;                /* the IR value has a name from the user's source */
            bool is_index;                /* a loop's variable: an int where Python runs the loop */
        } tensor;
        struct {
            const char *name;
            struct scope *scope; /* user and table modules */
            /* Of a builtin module: makes an attribute that its scope lacks (eval_getattr then stores it
             * there); NULL: there is none. */
            struct obj *(*find)(struct eval *e, const struct obj *module, const char *name);
        } module;
        struct {
            const char *name;
            struct obj *base; /* NULL: none */
            bool is_tuple; /* typing.NamedTuple: classes made from it have fields */
            struct scope *scope;
        } class;
        struct {
            struct obj *class;
            struct scope *scope;
        } instance;
        struct {
            const struct native_class *class;
            void *data;
        } native;
    };
};

/* -- value.c: making -- */
extern struct obj *const obj_none; /* const singletons */
extern struct obj *const obj_true, *const obj_false, *const obj_ellipsis, *const obj_error;
struct obj *obj_bool(bool b);
struct obj *obj_int(struct eval *e, wide i);
struct obj *obj_float(struct eval *e, double f);
struct obj *obj_str(struct eval *e, const char *s, size_t n);
struct obj *obj_cstr(struct eval *e, const char *s);
struct obj *obj_tuple(struct eval *e, int n, struct obj *const *items);
/* a tuple of as many items, with the same class */
struct obj *obj_tuple_like(struct eval *e, const struct obj *like, struct obj *const *items);
struct obj *obj_list(struct eval *e, int n, struct obj *const *items);
struct obj *obj_dict(struct eval *e);
struct obj *obj_type(struct eval *e, const struct lang_type *t);
struct obj *obj_builtin(struct eval *e, const struct builtin *b);
struct obj *obj_method(struct eval *e, struct obj *self, struct obj *func);
struct obj *obj_module(struct eval *e, const char *name);
struct obj *obj_native(struct eval *e, const struct native_class *c, void *data);
struct obj *obj_tensor(struct eval *e, struct value *v, const struct lang_type *t);
struct obj *obj_constexpr(struct eval *e, struct obj *x); /* a copy marked as constexpr */

/* -- value.c: asking; Python's rules on concrete objects -- */
const char *obj_type_name(const struct obj *x);
bool obj_is_const(struct eval *e, const struct obj *x); /* known at compile time: it contains no tensor */
bool obj_is_unknown(const struct obj *x); /* a value that only the host could compute */
bool obj_equal(struct eval *e, const struct obj *a, const struct obj *b);
bool obj_truth(struct eval *e, struct obj *x, struct loc at);
void obj_print(struct eval *e, struct obj *x, struct text *out, bool repr); /* str(x), or repr(x) */
/* an int or bool in range (or a tensor with a known constant) */
bool obj_as_int(const struct obj *x, int64_t *out);
struct obj *dict_get(struct eval *e, const struct dict *d, struct obj *key); /* NULL: absent */
void dict_set(struct eval *e, struct dict *d, struct obj *key, struct obj *value);
void dict_add_all(struct eval *e, struct dict *into, const struct dict *from);
struct obj *dict_option(struct eval *e, const struct obj *dict, const char *name); /* NULL: absent, or None */
bool dict_remove(struct eval *e, struct dict *d, struct obj *key);
struct obj *scope_get(const struct scope *s, const char *name); /* of this scope only; NULL: absent */
struct obj *scope_find(const struct scope *s, const char *name); /* searches outwards to the globals */
void scope_set(struct scope *s, const char *name, struct obj *x);
struct scope *scope_new(struct eval *e, struct scope *parent);

/* -- types of the kernel language -- */
const struct lang_type *lang_const(struct eval *e, struct obj *value);
const struct lang_type *lang_scalar(const struct lang_type *t); /* the element of a block, or t itself */
bool lang_equal(const struct lang_type *a, const struct lang_type *b);
void lang_print(const struct lang_type *t, struct text *out); /* "int32", "fp32", "pointer<fp16>", "<[64, 32], fp32>" */
void lang_print_tensor(const struct lang_type *t, struct text *out); /* "int32[constexpr[64]]" */
uint64_t lang_hash(const struct lang_type *t); /* equal types have equal hashes */
struct obj *lang_value(const struct lang_type *t); /* a constant's value; NULL: t is no constant's type */

#endif
