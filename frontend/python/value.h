/* SPDX-License-Identifier: MIT */
/* value.h: Python objects at compile time: constexprs, values of host programs, and traced tensors.
 *
 * Objects are allocated in the evaluator's arena and are not freed individually. Mutable objects are lists, dicts,
 * sets (except frozensets), instances, modules, classes, and native objects, such as a torch.Tensor of the host
 * program. A program can also set attributes of functions. All other objects are immutable. A `tensor` is a run-time
 * value of the kernel being traced: an IR value and its type in Triton's language. */
#ifndef NESO_FRONTEND_VALUE_H
#define NESO_FRONTEND_VALUE_H

#include "frontend/python/ast.h"

/* The value of a Python int. A result that does not fit in 128 bits is an error. */
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
    X(jit,       "JITFunction") /* @triton.jit: a function that kernels call or host code launches */            \
    X(builtin,   "builtin")    /* a function implemented in C: tl.load, print, triton.cdiv */ \
    X(method,    "method")     /* a function or builtin, bound to its first argument */                         \
    X(type,      "dtype")      /* tl.float32, pointer and block types */ \
    X(tensor,    "tensor")     /* a run-time value of the kernel being traced */ \
    X(module,    "module") \
    X(class,     "type")       /* a user's class or an exception class */ \
    X(instance,  "object")     /* an instance of a user class, or an exception */ \
    X(native,    "object")     /* an object that C code implements by a native_class: torch.Tensor, an iterator */ \
    X(error,     "error")      /* the value that a failed statement assigns; operations on it give obj_error */

enum obj_kind {
#define X(word, name) OBJ_##word,
    OBJ_KINDS(X)
#undef X
    OBJ_count
};

/* struct lang_type is a type of Triton's language, and struct value is a value of the IR. The files in python/ only
 * pass pointers to these structs, and call the functions below on them. */
struct lang_type;
struct value;

struct dict_entry {
    struct obj *key, *value; /* key is NULL if the entry is deleted */
};
struct dict {
    VEC(struct dict_entry) entries;
    int nlive;
    int *slots, nslots;  /* the hash table: 1 + the index of an entry; 0 if the slot is free */
    struct obj *factory; /* for a defaultdict, the function that makes the value of an absent key; else NULL */
};

/* A scope: the names of a function call, a module, a class body or a comprehension, with their values. `parent` is the
 * enclosing scope; NULL for a module. */
struct scope {
    bool is_class;         /* the scope of a class body; functions in the body do not see its names */
    bool is_comprehension; /* the scope of a comprehension; a `:=` in it binds in the enclosing scope */
    struct scope *parent;
    struct scope *globals; /* the scope of the module; for a module, the scope itself */
    struct map names;      /* maps an interned name (pointer) to struct obj *; NULL: deleted */
};

struct function {
    const char *name;
    const char *qualified;      /* the name for messages, with the name of the class: "C.f" */
    const struct ast *def;      /* the node of the def or lambda */
    struct scope *closure;      /* the scope that contains the definition */
    const struct source *src;
    struct obj **defaults;      /* the default value of each parameter; NULL for a parameter without one */
    struct scope *attributes;   /* attributes that the program sets by f.x = 1; or NULL */
    /* The function contains yield. A call runs the function to its end, and returns an iterator over the yielded
     * values. */
    bool is_generator;
};

/* A jit function: its Python function, and the arguments of its decorators. */
struct jit {
    struct function fn;
    struct obj *do_not_specialize, *do_not_specialize_on_alignment; /* the arguments of @triton.jit: lists, or NULL */
    bool debug;
    /* (name, dict) pairs, the nearest to the def first: ("autotune", its keywords), ("heuristics", {name:
     * function}); or NULL */
    struct obj *decorators;
    struct obj *host; /* the runtime's data of the kernel (autotuner, heuristics, compiled variants); NULL at first */
};

struct args {
    int n;
    struct obj **at;             /* positional arguments, with * expanded */
    const struct loc *locs;      /* locations of the positional arguments, and then of the keyword arguments */
    int nkw;
    const char **kw;             /* interned names of the keyword arguments */
    struct obj **kw_at;
    struct loc loc;
    const struct builtin *callee; /* the called builtin, if the callee is one */
};

/* One builtin. `params` is a Python parameter list, such as "pointer, mask=None, *, sem='relaxed'" or
 * "*values, end=". The caller binds the arguments to these parameters, and passes one object for each
 * parameter to the handler `run`. The object for *x is a tuple, and the object for **x is a dict. A default
 * is None, True, False, a number or a string. An optional parameter `x=` has no default: the handler gets
 * NULL if the argument is absent. */
struct builtin {
    const char *name;    /* name for messages: "tl.load" */
    const char *params;
    struct obj *(*run)(struct eval *e, struct obj **args, const struct args *call);
    const void *data;    /* data for the handler, for example an opcode */
};

/* Evaluates a binary operator on self and `other`. If `reflected` is true, self is the right operand. Returns NULL if
 * the class of self does not support the operator for these operands. */
typedef struct obj *native_operator(struct eval *e, enum oper op, struct obj *self, struct obj *other, bool reflected,
                                    struct loc at);

/* The operations of a class of native objects. A member may be NULL. If `str` is NULL, an object prints as
 * <NAME object>, with the name of its class. If `compare` is NULL, an object equals only itself. If `truth`
 * is NULL, an object is true unless its length is 0. If `leave` is NULL, leaving a `with` block calls
 * nothing. If any other member is NULL, its operation raises an exception, such as "'torch.Tensor' object is
 * not callable". */
struct native_class {
    const char *name; /* name for messages: "torch.Tensor" */
    /* Returns an attribute; NULL if there is no such attribute. */
    struct obj *(*getattr)(struct eval *e, struct obj *self, const char *name, struct loc at);
    /* Sets an attribute. Returns false if the program must not set it. */
    bool (*setattr)(struct eval *e, struct obj *self, const char *name, struct obj *value, struct loc at);
    struct obj *(*call)(struct eval *e, struct obj *self, const struct args *args);
    struct obj *(*getitem)(struct eval *e, struct obj *self, struct obj *index, struct loc at);
    void (*setitem)(struct eval *e, struct obj *self, struct obj *index, struct obj *value, struct loc at);
    native_operator *binary, *compare;
    struct obj *(*unary)(struct eval *e, enum oper op, struct obj *self, struct loc at);
    void (*str)(struct eval *e, struct obj *self, struct text *out, bool repr);
    /* Returns item i; NULL at the end. */
    struct obj *(*iter)(struct eval *e, struct obj *self, int64_t i, struct loc at);
    int64_t (*len)(struct eval *e, struct obj *self, struct loc at); /* -1 if it has no length */
    bool (*truth)(struct eval *e, struct obj *self, struct loc at);
    /* Sets *result to the value that `with self as x` assigns to x. Returns false if self is not a context
     * manager. */
    bool (*enter)(struct eval *e, struct obj *self, struct obj **result);
    void (*leave)(struct eval *e, struct obj *self);
};

struct obj {
    enum obj_kind kind;
    bool is_constexpr; /* the value was made by tl.constexpr(x), or bound to a name with `x: tl.constexpr` */
    bool was_list;     /* for a tuple: the kernel's source contains it as a list */
    bool is_size;      /* for a tuple: it is a torch.Size, which differs from a tuple only in its repr */
    bool is_frozen;    /* for a set: it is a frozenset, so augmented assignments create a new set */
    /* For a tuple in a kernel: the class whose fields are the tuple's items; NULL for a plain tuple. */
    const struct obj *class_of;
    union {
        bool b;
        wide i;
        double f;
        struct {
            const char *s;
            size_t n;
        } str;
        VEC(struct obj *) seq; /* items of a tuple or list */
        struct dict *dict;     /* entries of a dict or set */
        struct {
            int64_t start, stop, step;
        } range;
        struct {
            struct obj *start, *stop, *step; /* the parts of a slice; obj_none or NULL if absent */
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
            const struct lang_type *type; /* a number, pointer or block type */
            struct obj *constant;         /* the tensor's value if it is a known constant; else NULL */
            bool is_named;                /* the IR value has a name from the user's source */
            bool is_index;                /* the variable of a loop; host functions get its value as an int */
        } tensor;
        struct {
            const char *name;
            struct scope *scope; /* names of a module */
            /* For a builtin module: creates an attribute that is not in the module's scope yet, which
             * find_attribute then stores in the scope. Returns NULL if there is no such attribute. */
            struct obj *(*find)(struct eval *e, const struct obj *module, const char *name);
        } module;
        struct {
            const char *name;
            struct obj *base; /* NULL if the class has no base */
            bool is_tuple; /* this is typing.NamedTuple; its subclasses are named tuples */
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

/* -- value.c: creating objects -- */
extern struct obj *const obj_none; /* constants; there is only one object of each */
extern struct obj *const obj_true, *const obj_false, *const obj_ellipsis, *const obj_error;
struct obj *obj_bool(bool b);
struct obj *obj_int(struct eval *e, wide i);
struct obj *obj_float(struct eval *e, double f);
struct obj *obj_str(struct eval *e, const char *s, size_t n);
struct obj *obj_cstr(struct eval *e, const char *s);
struct obj *obj_tuple(struct eval *e, int n, struct obj *const *items);
/* Returns a tuple of the given items, with the length and the class of the tuple `like`. */
struct obj *obj_tuple_like(struct eval *e, const struct obj *like, struct obj *const *items);
struct obj *obj_list(struct eval *e, int n, struct obj *const *items);
struct obj *obj_dict(struct eval *e);
struct obj *obj_type(struct eval *e, const struct lang_type *t);
struct obj *obj_builtin(struct eval *e, const struct builtin *b);
struct obj *obj_method(struct eval *e, struct obj *self, struct obj *func);
struct obj *obj_module(struct eval *e, const char *name);
struct obj *obj_native(struct eval *e, const struct native_class *c, void *data);
struct obj *obj_tensor(struct eval *e, struct value *v, const struct lang_type *t);
struct obj *obj_constexpr(struct eval *e, struct obj *x); /* returns a copy of x that is marked as constexpr */

/* -- value.c, repr.c: properties of objects; dicts and scopes. Equality and truth follow Python's rules, but
 * bool(x) of a tensor raises a TypeError. -- */
const char *obj_type_name(const struct obj *x);
/* Returns whether x is known at compile time: it neither is nor contains a tensor. */
bool obj_is_const(struct eval *e, const struct obj *x);
bool obj_is_unknown(const struct obj *x); /* returns whether x is an unknown value, which only a host can compute
                                           * (import.c) */
bool obj_equal(struct eval *e, const struct obj *a, const struct obj *b);
bool obj_truth(struct eval *e, struct obj *x, struct loc at);
void obj_print(struct eval *e, struct obj *x, struct text *out, bool repr); /* prints str(x), or repr(x) */
/* Sets *out to the value of x, which is an int, a bool, or a tensor with a known constant value. Returns
 * false if x is any other object, or if the value does not fit in 64 bits. */
bool obj_as_int(const struct obj *x, int64_t *out);
struct obj *dict_get(struct eval *e, const struct dict *d, struct obj *key); /* NULL if the key is absent */
void dict_set(struct eval *e, struct dict *d, struct obj *key, struct obj *value);
void dict_add_all(struct eval *e, struct dict *into, const struct dict *from);
struct obj *dict_option(struct eval *e, const struct obj *dict, const char *name); /* NULL if absent or None */
bool dict_remove(struct eval *e, struct dict *d, struct obj *key);
struct obj *scope_get(const struct scope *s, const char *name); /* searches this scope only; NULL if absent */
struct obj *scope_find(const struct scope *s, const char *name); /* searches this scope and its parents, up to the globals */
void scope_set(struct scope *s, const char *name, struct obj *x);
struct scope *scope_new(struct eval *e, struct scope *parent);

/* -- trace/lang.c: types of Triton's language -- */
const struct lang_type *lang_const(struct eval *e, struct obj *value); /* returns the type of a constexpr */
const struct lang_type *lang_scalar(const struct lang_type *t); /* the element type of a block, or t itself */
bool lang_equal(const struct lang_type *a, const struct lang_type *b);
void lang_print(const struct lang_type *t, struct text *out); /* "int32", "fp32", "pointer<fp16>", "<[64, 32], fp32>" */
void lang_print_tensor(const struct lang_type *t, struct text *out); /* prints "int32[constexpr[64]]" */
uint64_t lang_hash(const struct lang_type *t); /* equal types have equal hashes */
struct obj *lang_value(const struct lang_type *t); /* the value of a constexpr's type; NULL for other types */

#endif
