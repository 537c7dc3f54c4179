/* SPDX-License-Identifier: MIT */
/* python.h: declares what the files of the evaluator share in addition to frontend.h. In reading order: lex.c
 * and tokens.h (tokens), parse*.c, ast.h and nodes.h (syntax trees), then
 *
 *     value.c repr.c format.c            objects, and their conversion to text
 *     operator.c attribute.c instance.c  + and ==, x.y and x[i] and iteration, classes and exceptions
 *     eval.c expr.c call.c import.c      statements, expressions, calls, imports
 *     python.c methods.c library.c       tables of builtins: functions, methods, modules like math */
#ifndef NESO_FRONTEND_PYTHON_H
#define NESO_FRONTEND_PYTHON_H

#include "frontend/frontend.h"

/* -- value.c -- */
/* The object NotImplemented. If an operator's method, such as __eq__, returns this object, the other operand's method
 * is called. */
extern struct obj *const obj_not_implemented;
struct obj *obj_new(struct eval *e, enum obj_kind kind);
struct obj *obj_str_of(struct eval *e, const char *s, size_t n); /* does not copy the bytes */
struct obj *obj_text(struct eval *e, const struct text *t);      /* does not copy the bytes */
struct obj *obj_pair(struct eval *e, struct obj *a, struct obj *b);
struct obj *obj_set(struct eval *e);
/* Returns an empty dict or set that differs from x only in its entries: a frozenset, a defaultdict and so on. */
struct obj *obj_emptied(struct eval *e, const struct obj *x);
struct obj *obj_class(struct eval *e, const char *name, struct obj *base);
struct obj *obj_instance(struct eval *e, struct obj *class);
bool obj_is_number(const struct obj *x);  /* returns whether x is a bool, int or float */
bool obj_is_integer(const struct obj *x); /* returns whether x is a bool or int */
wide obj_wide(const struct obj *x);       /* the value of an integer */
double obj_double(const struct obj *x);   /* the value of a number */
int number_compare(const struct obj *a, const struct obj *b); /* returns -1, 0 or 1; 2 if a number is NaN */
bool obj_same(const struct obj *a, const struct obj *b);      /* Python's `a is b` */
/* Returns len(x); -1 if x has no length. The length of a str is its number of characters. */
int64_t obj_len(struct eval *e, struct obj *x, struct loc at);
/* Returns the index of x in the range; -1 if the range does not contain x. */
int64_t range_find(const struct obj *range, const struct obj *x);
uint64_t obj_hash(struct eval *e, const struct obj *x);
bool obj_is_hashable(struct eval *e, const struct obj *x);
void dict_clear(struct dict *d);
/* Returns whether this scope itself, not a parent, has a value for the name or declares the name. */
bool scope_binds(const struct scope *s, const char *name);
void scope_declare(struct scope *s, const char *name, bool global); /* declares `global name` or `nonlocal name` */

/* -- repr.c -- */
/* Returns the length in bytes of the UTF-8 character at s, but at most `left`. If s points to a continuation byte,
 * returns 1. */
int char_bytes(const char *s, size_t left);
uint32_t char_code(const char *s, int n); /* returns the code point of the character of n bytes at s */
int64_t str_chars(const struct obj *x);   /* returns the length of a str in characters */
size_t str_offset(const struct obj *x, int64_t chars); /* returns the byte offset of character number `chars` */
void show_digits(uwide u, int base, bool upper, struct text *out); /* prints u in this base; letters are the digits above 9 */
void show_int(wide i, struct text *out);
uwide wide_magnitude(wide i);             /* returns |i| */
struct obj *obj_to_str(struct eval *e, struct obj *x, bool repr); /* returns str(x), or repr(x), as a str */

/* -- format.c -- */
/* Prints x as format(x, spec) does; the spec has n bytes. */
void format_value(struct eval *e, struct obj *x, const char *spec, size_t n, struct loc at, struct text *out);
struct obj *format_percent(struct eval *e, struct obj *format, struct obj *args, struct loc at); /* format % args */
/* Returns format.format(*args, **keywords). */
struct obj *format_braces(struct eval *e, struct obj *format, struct obj *args, struct obj *keywords, struct loc at);

/* -- operator.c -- */
struct obj *int_from_double(struct eval *e, double f, struct loc at); /* rounds toward zero */
/* Returns the int i; raises OverflowError if `overflow` is true, which means that the computation of i
 * overflowed. */
struct obj *int_checked(struct eval *e, bool overflow, wide i, struct loc at);
/* Returns a < b; raises TypeError if the objects have no order. */
bool is_less(struct eval *e, struct obj *a, struct obj *b, struct loc at);
bool is_contained(struct eval *e, struct obj *x, struct obj *in, struct loc at);
/* Returns the result of a op= b. As in Python, some operators change a itself if it is a list, dict or set. An
 * in-place method (__iadd__, ...) of an instance or native object may change a, too. In all other cases, the result is
 * the result of `a op b`. */
struct obj *eval_inplace(struct eval *e, enum oper op, struct obj *a, struct obj *b, struct loc at);

/* -- attribute.c -- */
/* Returns an attribute of x; NULL if there is none. */
struct obj *find_attribute(struct eval *e, struct obj *x, const char *name, struct loc at);
void eval_setattr(struct eval *e, struct obj *x, const char *name, struct obj *value, struct loc at);
struct obj *eval_getitem(struct eval *e, struct obj *x, struct obj *index, struct loc at);
void eval_setitem(struct eval *e, struct obj *x, struct obj *index, struct obj *value, struct loc at);
void eval_delitem(struct eval *e, struct obj *x, struct obj *index, struct loc at);
struct slice_range {
    int64_t start, stop, step, n;
};
/* Returns the range of indices that a slice selects from n items. */
struct slice_range slice_resolve(struct eval *e, const struct obj *slice, int64_t n, struct loc at);

struct iter {
    struct obj *x;
    int64_t i;
    struct loc at;
};
struct iter iter_of(struct eval *e, struct obj *x, struct loc at); /* raises if x cannot be iterated */
struct obj *iter_next(struct eval *e, struct iter *it);            /* returns the next item; NULL at the end */
struct obj *iter_collect(struct eval *e, struct obj *x, struct loc at); /* returns a new list of all items */
/* Returns an iterator object over the items of x, as iter(x) does. */
struct obj *obj_iterator(struct eval *e, struct obj *x, struct loc at);
/* Returns an iterator whose items the function `next` computes; `next` returns NULL at the end. */
struct obj *obj_iterator_from(struct eval *e, struct obj *(*next)(struct eval *e, void *state, struct loc at),
                              void *state);

/* -- instance.c: classes, their instances, exceptions -- */
/* Searches the class and its bases for an interned name. Returns NULL if none of them defines the name. */
struct obj *class_find(const struct obj *class, const char *name);
bool class_is_a(const struct obj *class, const struct obj *base);
/* Returns the value of an attribute that is defined in a class: `found` is the object that the class stores
 * under the attribute's name. If the program reads the attribute of an instance, `self` is the instance: a
 * function becomes a method bound to `self`, and a property's getter is called. If it reads the attribute of
 * the class, `self` is NULL. */
struct obj *class_bind(struct eval *e, struct obj *found, struct obj *self, struct obj *class, struct loc at);
struct obj *class_call(struct eval *e, struct obj *class, const struct args *args); /* creates an instance */
/* Calls x.name(args) if x's class has the method `name`, else returns NULL. */
struct obj *instance_special(struct eval *e, struct obj *x, const char *name, int n, struct obj *const *args,
                             struct loc at);
bool instance_equal(struct eval *e, struct obj *a, struct obj *b);
int64_t instance_len(struct eval *e, struct obj *x, struct loc at);
void instance_show(struct eval *e, struct obj *x, struct text *out, bool repr);
struct obj *instance_find(struct eval *e, struct obj *x, const char *name, struct loc at);
/* Returns a named tuple as a tuple; returns any other x unchanged. */
struct obj *instance_as_tuple(struct eval *e, struct obj *x);
/* Returns super(class, self): an object that has the attributes of the base class of `class`, bound to self. */
struct obj *super_new(struct eval *e, struct obj *class, struct obj *self);
void exceptions_define(struct eval *e); /* adds Python's exception classes to the builtins */
/* Returns x->value, the exception as an instance of its class. If x->value is NULL, first creates the
 * instance. */
struct obj *exception_value(struct eval *e, struct exception *x);
const char *exception_message(struct eval *e, const struct exception *x);
struct obj *builtin_class(struct eval *e, const char *name); /* such as "ValueError"; NULL if absent */
extern const struct native_class native_property, native_static, native_classmethod;
/* Makes the class a named tuple (if is_tuple is true) or a dataclass with the fields `names`. Instances are
 * then constructed, compared and printed by their fields. */
void class_set_fields(struct eval *e, struct obj *class, struct obj *names, bool is_tuple);
/* Returns the names of the class's fields as a tuple; NULL if the class has no fields. Sets *is_tuple to
 * whether the class is a named tuple. */
struct obj *class_fields(struct eval *e, const struct obj *class, bool *is_tuple);

/* -- eval.c -- */
struct note {
    struct loc at;
    enum error error; /* the note's message, whose argument is `name` */
    const char *name; /* NULL if there is no note */
};
_Noreturn void eval_raise_noted(struct eval *e, struct loc at, const char *class_name, struct note note,
                                enum error error, ...);
void eval_deeper(struct eval *e, int by, struct loc at); /* adds `by` to e->depth; raises RecursionError at the limit */
/* Parses and executes a source, and returns its module. Raises exceptions. */
struct obj *eval_module(struct eval *e, const struct source *src, const char *name);

/* -- expr.c -- */
typedef VEC(struct loc) loc_list;
/* Evaluates the arguments of a call in source order. In out->locs, the locations of positional arguments come first. */
void eval_arguments(struct eval *e, struct scope *s, const struct ast_list *items, struct args *out);
/* Returns the value of a name in host code. The name may be a variable, a builtin, or a name that programs for Triton
 * 1.0 use without an import. Raises NameError for any other name. */
struct obj *lookup_name(struct eval *e, struct scope *s, const char *name, struct loc at);
/* Returns the name that is most similar to `name` among the names of this scope, of its parents and of the builtins,
 * for a note; NULL if no name is similar. */
const char *nearest_name(struct eval *e, const struct scope *s, const char *name);
const char *nearest_attribute(const struct scope *s, const char *name); /* does not search the builtins */
/* attribute.c: returns a hint for a name that a module does not define. If `near`, a similar name in the
 * module, is not NULL, the hint suggests it. If `near` is NULL and neso implements only a part of the module,
 * the hint says so. */
struct note note_missing(struct eval *e, struct obj *module, const char *near);

/* -- kernel.c -- */
/* Raises an error if kernels cannot contain the node x. */
void kernel_check_expr(struct eval *e, const struct ast *x);
/* Evaluates a comprehension in a kernel. The `for` of the comprehension iterates over `items`. */
struct obj *kernel_comprehension(struct eval *e, struct scope *s, const struct ast *x, struct obj *items);
bool is_constexpr_annotation(const struct ast *x);
/* Called after a statement failed: binds x to every name that the statement would have assigned. If x is
 * NULL, binds unknown values (import.c) instead, but only to the names that have no value yet. */
void bind_targets(struct eval *e, struct scope *s, const struct ast *statement, struct obj *x);

/* -- call.c -- */
struct obj *make_class(struct eval *e, struct scope *s, const struct ast *x);
struct obj *make_function(struct eval *e, struct scope *s, const struct ast *def);
struct obj *apply_decorators(struct eval *e, struct scope *s, const struct ast_list *decorators, struct obj *x);
struct obj *call_with(struct eval *e, struct obj *callee, int n, struct obj *const *args, struct loc at);
/* Calls callee(*list, **keywords). */
struct obj *call_spread(struct eval *e, struct obj *callee, struct obj *list, struct obj *keywords, struct loc at);
const char *builtin_short_name(const struct builtin *b); /* returns "load" for "tl.load" */

/* -- import.c -- */
struct obj *find_module(struct eval *e, const char *name, struct loc at);   /* NULL if there is no such module */
void exec_import(struct eval *e, struct scope *s, const struct ast *x);
void exec_import_from(struct eval *e, struct scope *s, const struct ast *x);
/* Returns an unknown value (import.c), which has the name `name` in messages. */
struct obj *obj_unknown(struct eval *e, const char *name);
extern const struct native_class native_unknown;

/* -- python.c, methods.c, library.c, library_math.c -- */
/* Implements the builtins sum and math.prod: multiplies the items if the row's data is not NULL, and adds
 * them otherwise. */
struct obj *python_fold(struct eval *e, struct obj **args, const struct args *call);
struct builtin_table {
    const struct builtin *rows;
    int n;
};
void builtins_define(struct eval *e);
bool obj_is_builtin_type(const struct obj *x);                         /* returns whether x is int, str, list, ... */
/* Sorts the list in place. The sort is stable. */
struct obj *sort_list(struct eval *e, struct obj *list, struct obj *key, bool reverse, struct loc at);
struct obj *dict_items(struct eval *e, const struct dict *d);          /* returns a list of (key, value) pairs */
/* Adds the items of `from`, which is a dict or an iterable of (key, value) pairs, to a dict. */
void dict_update(struct eval *e, struct obj *dict, struct obj *from, struct loc at);
struct obj *instance_names(struct eval *e, struct obj *x); /* instance.c: returns a copy of x.__dict__ */
int64_t arg_index(struct eval *e, struct obj *x, struct loc at);       /* returns the value of an int argument */
struct obj *arg_str(struct eval *e, struct obj *x, struct loc at);     /* returns x, which must be a str */
struct obj *builtin_type_of(struct eval *e, const struct obj *x);      /* returns type(x) */
/* Searches the bytes s[from, to) for `part`. Returns the byte offset of the first match, or of the last match
 * if from_right is true; -1 if there is none. */
int64_t str_find(struct eval *e, const char *s, int64_t from, int64_t to, const struct obj *part, bool from_right);
struct obj *seq_reverse(struct obj *x);                                 /* reverses a list in place, and returns it */
/* Returns a method of str, list, dict, ...; NULL if there is none. */
struct obj *find_method(struct eval *e, enum obj_kind kind, const char *name);
struct obj *library_module(struct eval *e, const char *name);          /* math, os, ...; NULL if there is none */
void fill_math(struct eval *e, struct obj *module); /* adds the names of the module math */
/* Binds the short name of each of the n builtins in the scope `into`. */
void define_builtins(struct eval *e, struct scope *into, const struct builtin *rows, int n);

#endif
