/* SPDX-License-Identifier: MIT */
/* trace.h: the state of tracing a kernel, and the functions on tensors that the files of frontend/trace and
 * frontend/builtins share.
 *
 * In reading order: trace.c and kernel.c (names, statements, calls), merge_values.c (branches and returns),
 * loops.c, region.c (combine functions), promote.c and cast.c (operators and casts), lang.c (types),
 * undefined_elements.c (a warning), hostcall.c, tile.c and numpy.c (calls of the host from the interpreter),
 * expression.c (the debugger's expressions). */
#ifndef NESO_FRONTEND_TRACE_H
#define NESO_FRONTEND_TRACE_H

#include "frontend/frontend.h"
#include "frontend/trace/lang.h"

/* One call that is being inlined; the outermost frame is the kernel itself. */
struct trace_frame {
    const struct trace_frame *outer;
    const struct function *fn;
    const struct scope *args; /* the call's arguments, to detect recursion */
    const struct scope *caller; /* the scope of the statement that calls the function; NULL for the kernel */
};

/* Explains why a name is no longer defined: it was assigned only in a branch of the `if` at `at`, or only in
 * the loop at `at`. */
struct lost {
    struct loc at;
    bool in_loop;
};

/* An open `if`: one of its branches returned from an inlined function, and the code after the `if` is traced
 * into the other branch (see merge_values.c). */
struct pending;

/* The state of tracing. To enter a branch, a loop or a call, the tracer copies this struct, changes the copy,
 * and points e->trace to the copy. Unwinding after an error restores the pointer e->trace, and thereby the whole
 * state. */
struct trace {
    struct func *func;
    struct module *module;
    struct spec *spec;
    const struct scope *scope; /* the scope of the statement being traced */
    struct loc statement;      /* the location of the latest call that is a whole statement (hostcall.c) */
    struct block *block;       /* the block to which new ops are appended */
    const struct trace_frame *frame;
    /* The frame of the caller, if a call is traced only to find whether it has errors (is_traceable in
     * hostcall.c). NULL in all other cases. */
    const struct trace_frame *base;
    bool in_loop;              /* the code being traced is inside a run-time loop of its function */
    /* The code being traced is in the region of a reduction, scan or map, where only assertions may have effects. */
    bool in_region;
    struct pending *pending;   /* the open `if`s, innermost first */
    struct map *masked_loads;  /* the set of loads that the user wrote with a mask and without `other` */
    struct map *lost;          /* maps each name that is no longer defined to its struct lost */
    /* The location of all ops and errors while a function of the prelude is inlined. The line of `place` is 0
     * in all other code. */
    struct loc place;
    bool is_shown;             /* the code being traced is an expression of the debugger, which may index tiles: x[0] */
    struct builder builder;    /* the builder that trace_builder returns */
};

/* -- trace.c -- */
/* Calls a function of the prelude (prelude.py); the function's ops get the location of the call. */
struct obj *trace_call_prelude(struct eval *e, const char *name, int n, struct obj *const *args, struct loc at);
struct obj *prelude_function(struct eval *e, const char *name); /* finds a function or class of the prelude */
/* The arguments of range, tl.range or tl.static_range. These functions return an object with this data
 * (loop_range_new), and trace_for reads the data. */
struct loop_range {
    struct obj *lo, *hi, *step;
    struct loc lo_at, hi_at, step_at;
    bool is_static;
    int stages, unroll;
};
struct obj *loop_range_new(struct eval *e, const struct loop_range *r);
/* Records that `name` existed only inside the branch or loop at `at`, for the message about a later use of the name. */
void trace_lose(struct eval *e, const char *name, struct loc at, bool in_loop);
/* Returns x as a constexpr if x is known at compile time; else reports an error and returns obj_error. */
struct obj *trace_constexpr(struct eval *e, struct obj *x, struct loc at);

/* Inlines a call of fn: traces its body into the current block, and returns its result. */
struct obj *trace_inline(struct eval *e, struct function *fn, const struct args *args);

/* -- undefined_elements.c -- */
/* Warns of reductions and dots that combine undefined elements. `loads` are the loads with a mask but without `other`.
 * The results of these loads are undefined where the mask is False. */
void trace_warn_undefined(struct eval *e, struct func *f, const struct map *loads);

/* -- merge_values.c -- */
/* The values that the names of a scope had at one time, in the order of the entries of the scope's map. */
struct snapshot {
    int n;
    struct obj **values;
};
struct snapshot snapshot_take(struct eval *e, const struct scope *s);
void snapshot_restore(struct scope *s, const struct snapshot *snap);
struct obj *snapshot_get(const struct snapshot *snap, int i);
/* The IR values of an object. A tensor contains one value, and a tuple contains the values of its items. */
struct value_list {
    struct value **at;
    int n, cap;
};
void flatten(struct eval *e, const struct obj *x, struct value_list *out);
/* Returns a copy of `like` in which the tensors, in order, have the IR values values[*at], values[*at + 1]
 * and so on. Advances *at past these values. */
struct obj *unflatten(struct eval *e, struct obj *like, struct value *const *values, int *at);
/* Returns whether a and b have equal types: they are tensors of one dtype and shape, tuples whose items have equal
 * types, or equal constants. */
bool same_type(struct eval *e, const struct obj *a, const struct obj *b);
/* Returns whether a and b would have equal types if all sizes, strides and offsets of block pointers and descriptors in
 * them were converted to 64-bit integers. */
bool types_agree(struct eval *e, const struct obj *a, const struct obj *b);
/* If types_agree(x, with), returns a copy of x. In the copy, each size, stride and offset whose type differs
 * between x and `with` is converted to 64 bits; the casts are appended to block b. Otherwise, returns x. */
struct obj *widen_indices(struct eval *e, struct obj *x, struct obj *with, struct block *b, struct loc at);
/* Returns the type of x for messages: "fp32", "<[64], fp32>", "tuple(...)". */
const char *type_text(struct eval *e, const struct obj *x);
const char *lang_text(struct eval *e, const struct lang_type *t);
/* Called at the end of an inlined function. `result` is the value that the function returns at its end. Merges
 * `result` with the results of all branches that returned earlier, and returns the merged result. */
struct obj *merge_returns(struct eval *e, struct obj *result);
/* Traces an `if` with the run-time condition `cond`, and merges the values of names after its branches. If
 * both branches return, returns FLOW_return and, in an inlined function, sets *result to the returned value.
 * Otherwise, returns FLOW_next. */
enum flow merge_if(struct eval *e, struct scope *s, const struct ast *stmt, struct value *cond, struct obj **result);
/* Reports the first `return` in stmt as an error. stmt must be a loop or a statement in a loop. */
void report_return_in_loop(struct eval *e, const struct ast *stmt);
/* Returns the location of the last assignment to a name in a body; `otherwise` if there is none. */
struct loc place_of_assignment(const struct ast_list *body, const char *name, struct loc otherwise);
/* Merges the values x[0] and x[1] of the two sides of `a if c else b`. The values have equal types. blocks[i]
 * contains the ops that compute x[i]. Builds an `if` that yields the values. If both blocks contain only
 * constants, builds a select instead. */
struct obj *merge_values(struct eval *e, struct value *cond, struct block *const *blocks, struct obj *const *x, struct loc at);

/* -- region.c -- */
/* o is a reduction or scan. Returns o if its region contains no assertions. Otherwise, replaces o by an op
 * with an additional result, the number of an assertion that failed (0 if none failed). Builds assertions of
 * this result after the new op, and returns the new op. */
struct op *region_lift_assertions(struct eval *e, struct op *o, struct loc at);
/* Applies fn, a function of n scalars, to the elements of the n blocks x, which have one shape. Each call of fn gets
 * the n elements with equal indices. Returns a tuple of blocks of this shape, one for each value that fn returns;
 * obj_error after an error, which it reports. If x contains scalars, calls fn once, and the tuple contains scalars. */
struct obj *trace_map(struct eval *e, struct obj *fn, struct obj *const *x, int n, struct loc at);

/* -- hostcall.c -- */
/* Returns whether x is the result of a host function, or an f-string with run-time values. A kernel's variables may
 * hold such objects. */
bool trace_is_host_object(const struct obj *x);
/* Returns a copy of x in which new arguments of block b replace the IR values. */
struct obj *trace_stand_in(struct eval *e, struct block *b, struct obj *x);
/* Adds a host_call op with a site that stores x. At run time, host_site_result rebuilds x from this site and the op's
 * operands. */
void trace_result(struct eval *e, struct obj *x, struct loc at);
/* Erases the host_call ops that exist only so that a debugger can stop before a statement. */
void trace_drop_statements(struct block *b, const struct spec *spec);

/* -- loops.c -- */
/* After an error, binds obj_error to each name that the statement (an `if` or a loop) would have assigned, so that uses
 * of these names report no errors. Returns FLOW_next. */
enum flow trace_give_up(struct eval *e, struct scope *s, const struct ast *stmt);

/* -- cast.c -- */
struct obj *tensor_new(struct eval *e, struct value *v, const struct lang_type *scalar, int rank, const int *shape);
/* Returns a tensor with x's shape, value v and the given scalar type. */
struct obj *tensor_like(struct eval *e, const struct obj *x, struct value *v, const struct lang_type *scalar);
bool is_number(const struct obj *x);     /* returns whether x is a constant int, float or bool */
bool is_error(const struct obj *x);
const struct lang_type *scalar_of(const struct obj *x); /* the scalar type of a tensor */
int rank_of(const struct obj *x);
const int *shape_of(const struct obj *x);
bool is_int_type(const struct lang_type *t); /* an integer type, int1 included */
bool is_float_type(const struct lang_type *t);
bool is_fp8_type(const struct lang_type *t);
bool is_ptr_type(const struct lang_type *t);
bool is_dtype(const struct lang_type *t, enum dtype d);
int bits_of(const struct lang_type *t);
/* Returns the default type of a number, which the number gets if no other operand determines its type. Returns NULL if
 * no type can represent the number. */
const struct lang_type *decayed_type(struct eval *e, const struct obj *number);
/* Returns a number as a constant of type t and the given shape. If `decay`, a float is first rounded to its
 * decayed_type. */
struct value *number_value(struct eval *e, const struct obj *number, const struct lang_type *t, int rank, const int *shape,
                           bool decay, struct loc at);
/* Returns a zero of type t; if t is a pointer type, a null pointer. */
struct value *zero_value(struct eval *e, const struct lang_type *t, struct loc at);
struct obj *constant_tensor(struct eval *e, struct obj *number, const struct lang_type *t, struct loc at);

/* -- promote.c -- */
/* Returns the common type of two operands. is_division is true if the operator is a division. If `decay`, a number
 * counts as a tensor of its decayed_type. Returns NULL after an error, which it reports. */
const struct lang_type *common_type(struct eval *e, const struct obj *a, const struct obj *b, bool is_division, bool decay,
                                    struct loc at);

/* Broadcasts the tensor x to the given shape. The caller has checked that x can be broadcast to this shape. */
struct obj *tensor_to_block(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);

/* -- builtins.c -- */
/* Returns a method of tensors; NULL if there is no such method. */
struct obj *tensor_method(struct eval *e, struct obj *x, const char *name);
/* Finds a name that kernels use without a module, such as `range`; NULL if there is no such name. */
struct obj *find_bare(struct eval *e, const char *name);
struct obj *find_language(struct eval *e, const char *name); /* finds a name of triton.language, or NULL */

#endif
