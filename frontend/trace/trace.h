/* trace.h: the state of tracing a kernel, and the functions on tensors that the files of frontend/trace and
 * frontend/builtins share.
 *
 * In reading order: trace.c and kernel.c (names, statements, calls), merge_values.c (branches and returns),
 * loops.c, region.c (combine functions), promote.c and cast.c (operators and casts), lang.c (types),
 * unfilled.c (a warning), hostcall.c, tile.c and numpy.c (calls of the host from the interpreter). */
#ifndef NESO_FRONTEND_TRACE_H
#define NESO_FRONTEND_TRACE_H

#include "frontend/frontend.h"
#include "frontend/trace/lang.h"

/* One call being inlined; the kernel itself is the outermost. */
struct trace_frame {
    const struct trace_frame *outer;
    const struct function *fn;
    const struct scope *args; /* the bound arguments, to detect recursion */
};

/* A name that existed only in a branch or a loop. */
struct lost {
    struct loc at;
    bool in_loop;
};

/* A branch that returned from an inlined function while the code after it continues in the other branch: see
 * merge_values.c. */
struct pending;

/* The position of tracing. Entering a branch, a loop or a call makes a changed copy and points e->trace to
 * it, so that unwinding after an error, which restores e->trace, restores everything. */
struct trace {
    struct func *func;
    struct module *module;
    struct spec *spec;
    const struct scope *scope; /* of the statement being traced */
    struct loc statement;      /* place of a call that is a statement: its result is unused */
    struct block *block;       /* new ops are appended to it */
    const struct trace_frame *frame;
    bool in_loop;              /* inside a run-time loop of this function */
    bool in_region;            /* inside the region of a reduction, which may not have effects */
    struct pending *pending;   /* branches of the current block that returned, innermost first */
    struct map *unfilled;      /* loads that the user wrote with a mask and without `other` */
    struct map *lost;          /* names that ended with a branch or a loop, to struct lost */
    /* replaces the place of all ops and errors while library code is inlined; line 0: it does not */
    struct loc place;
    struct builder builder;    /* the builder that trace_builder returns */
};

/* -- trace.c -- */
/* Calls a function of the prelude; its ops get the place of the call. */
struct obj *trace_call_prelude(struct eval *e, const char *name, int n, struct obj *const *args, struct loc at);
struct obj *prelude_function(struct eval *e, const char *name); /* or class */
/* The object made by `range(...)` and similar functions, for trace_for. */
struct loop_range {
    struct obj *lo, *hi, *step;
    struct loc lo_at, hi_at, step_at;
    bool is_static;
    int stages, unroll;
};
struct obj *loop_range_new(struct eval *e, const struct loop_range *r);
void trace_lose(struct eval *e, const char *name, struct loc at, bool in_loop);
/* A number, or another value known at compile time, as a constexpr. */
struct obj *trace_constexpr(struct eval *e, struct obj *x, struct loc at);

/* Inlines a call of a function of the language. */
struct obj *trace_inline(struct eval *e, struct function *fn, const struct args *args);

/* -- unfilled.c: warns of reductions over elements that masked loads without `other` leave undefined -- */
void trace_warn_of_unfilled(struct eval *e, struct func *f, const struct map *loads);

/* -- merge_values.c -- */
/* The names of a scope at one moment: the values of its map's entries, in their order. */
struct snapshot {
    int n;
    struct obj **values;
};
struct snapshot snapshot_take(struct eval *e, const struct scope *s);
void snapshot_restore(struct scope *s, const struct snapshot *snap);
struct obj *snapshot_get(const struct snapshot *snap, int i);
/* The IR values of an object: a tensor has one, a tuple has those of its elements. */
struct value_list {
    struct value **at;
    int n, cap;
};
void flatten(struct eval *e, const struct obj *x, struct value_list *out);
/* A copy of the object whose tensors have the values from *at on. */
struct obj *unflatten(struct eval *e, struct obj *like, struct value *const *values, int *at);
/* equal dtype, shape and structure */
bool same_type(struct eval *e, const struct obj *a, const struct obj *b);
/* types_agree: as same_type, but sizes, strides and offsets of block pointers and descriptors count as 64-bit
 * numbers, whatever their type. The second function converts those of x to 64 bits that `with` represents
 * otherwise, at the end of block b. */
bool types_agree(struct eval *e, const struct obj *a, const struct obj *b);
struct obj *meet(struct eval *e, struct obj *x, struct obj *with, struct block *b, struct loc at);
/* "fp32", "<[64], fp32>", "tuple(...)": for messages. */
const char *type_text(struct eval *e, const struct obj *x);
const char *lang_text(struct eval *e, const struct lang_type *t);
/* A function's result, merged with the results of all branches that returned before. */
struct obj *join_returns(struct eval *e, struct obj *result, struct loc at);
enum flow join_if(struct eval *e, struct scope *s, const struct ast *stmt, struct value *cond, struct obj **result);
void report_return_in_loop(struct eval *e, const struct ast *stmt);
/* The place where a name is last assigned in a body. */
struct loc place_of_assignment(const struct ast_list *body, const char *name, struct loc otherwise);
/* An `if` of two finished blocks that yields one value of each (of equal types); a select if nothing has to
 * execute. */
struct obj *join_values(struct eval *e, struct value *cond, struct block *const *blocks, struct obj *const *x, struct loc at);

/* -- region.c -- */
/* The reduction or scan itself, or a replacement that reports assertions in its region. */
struct op *region_lift_assertions(struct eval *e, struct op *o, struct loc at);
/* A tuple with the results of fn for each element of n blocks of one shape; obj_error: an error is
 * reported. */
struct obj *trace_map(struct eval *e, struct obj *fn, struct obj *const *x, int n, struct loc at);

/* -- hostcall.c -- */
bool trace_is_host_object(const struct obj *x); /* an object of the host, which a variable may hold */
/* removes the sites before statements */
void trace_drop_statements(struct block *b, const struct spec *spec);

/* -- loops.c -- */
/* After an error, makes the names that a statement would have assigned error values. */
enum flow trace_give_up(struct eval *e, struct scope *s, const struct ast *stmt);

/* -- cast.c -- */
struct obj *tensor_new(struct eval *e, struct value *v, const struct lang_type *scalar, int rank, const int *shape);
/* A tensor like x, with another value (and scalar type). */
struct obj *tensor_like(struct eval *e, const struct obj *x, struct value *v, const struct lang_type *scalar);
bool is_number(const struct obj *x);     /* a constant int, float or bool: a number operand */
bool is_error(const struct obj *x);
const struct lang_type *scalar_of(const struct obj *x); /* a tensor's */
int rank_of(const struct obj *x);
const int *shape_of(const struct obj *x);
bool is_int_type(const struct lang_type *t); /* int1 included */
bool is_float_type(const struct lang_type *t);
bool is_fp8_type(const struct lang_type *t);
bool is_ptr_type(const struct lang_type *t);
bool is_dtype(const struct lang_type *t, enum dtype d);
int bits_of(const struct lang_type *t);
/* The type that a number gets without an operand beside it; NULL: no type holds it. */
const struct lang_type *decayed_type(struct eval *e, const struct obj *number);
/* A number as a constant of type t and a shape. `decay`: it is first rounded to its own type. */
struct value *number_value(struct eval *e, const struct obj *number, const struct lang_type *t, int rank, const int *shape,
                           bool decay, struct loc at);
/* A zero of t (pointers: null). */
struct value *zero_value(struct eval *e, const struct lang_type *t, struct loc at);
struct obj *constant_tensor(struct eval *e, struct obj *number, const struct lang_type *t, struct loc at);

/* -- promote.c -- */
/* The common type of two operands (promote.c); NULL: an error is reported. With `decay`, numbers first get
 * their own type. */
const struct lang_type *common_type(struct eval *e, const struct obj *a, const struct obj *b, bool is_division, bool decay,
                                    struct loc at);

/* which must fit */
struct obj *tensor_to_block(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);

/* -- builtins.c -- */
/* NULL: there is no such method */
struct obj *tensor_method(struct eval *e, struct obj *x, const char *name);
/* `range` and similar names as kernels see them */
struct obj *find_bare(struct eval *e, const char *name);
struct obj *find_language(struct eval *e, const char *name); /* of triton.language */

#endif
