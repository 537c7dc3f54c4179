/* trace.h: what the files that trace kernels share: where ops go, tensors as the language sees
 * them, arguments of builtins.
 *
 * trace.c has statements and calls, merge_values.c what happens where control flow meets, promote.c and cast.c
 * operators and conversions, builtins_*.c the library. */
#ifndef NESO_FRONTEND_TRACE_H
#define NESO_FRONTEND_TRACE_H

#include "frontend/frontend.h"

/* One call being inlined; the kernel itself is the outermost. */
struct trace_frame {
    const struct trace_frame *outer;
    const struct function *fn;
    const struct scope *args; /* as bound: for finding recursion */
};

/* A name that existed in a branch or a loop only. */
struct lost {
    struct loc at;
    bool in_loop;
};

/* A branch that returned from an inlined function, while the code after it goes on in the
 * other branch: see merge_values.c. */
struct pending;

/* Where tracing stands. Entering a branch, a loop or a call makes a changed copy and lets e->trace point to
 * it, so that an error's unwinding (which restores e->trace) finds everything as it was. */
struct trace {
    struct func *func;
    struct module *module;
    struct spec *spec;
    const struct scope *scope; /* of the statement being traced */
    struct loc statement;      /* a call that is a statement: nobody uses its result */
    struct block *block;       /* ops go to its end */
    const struct trace_frame *frame;
    bool in_loop;              /* in a run-time loop of this function */
    bool in_region;            /* of a reduction: nothing but values there */
    struct pending *pending;   /* branches of this suite that returned, innermost first */
    struct map *unfilled;      /* loads that a user wrote with a mask and without `other` */
    struct map *lost;          /* names that ended with a branch or a loop: to struct lost */
    struct loc place;          /* of all ops and errors, while library code is inlined; line 0: their own */
    struct builder builder;    /* what trace_builder hands out */
};

/* -- trace.c -- */
/* Calls a function of the prelude, as if its body stood at the call. */
struct obj *trace_call_prelude(struct eval *e, const char *name, int n, struct obj *const *args, struct loc at);
struct obj *prelude_function(struct eval *e, const char *name); /* or class */
/* What `range(...)` and its kin make, for trace_for. */
struct loop_range {
    struct obj *lo, *hi, *step;
    struct loc lo_at, hi_at, step_at;
    bool is_static;
    int stages, unroll;
};
struct obj *loop_range_new(struct eval *e, const struct loop_range *r);
void trace_lose(struct eval *e, const char *name, struct loc at, bool in_loop);
/* A number, or what else is known while compiling, as a constexpr. */
struct obj *trace_constexpr(struct eval *e, struct obj *x, struct loc at);

/* A call of a function of the language, as if its body stood there. */
struct obj *trace_inline(struct eval *e, struct function *fn, const struct args *args);

/* -- unfilled.c: warns of reductions that take in what such loads leave undefined. -- */
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
/* The IR values of an object: one of a tensor, those of a tuple's elements. */
struct value_list {
    struct value **at;
    int n, cap;
};
void flatten(struct eval *e, const struct obj *x, struct value_list *out);
/* The object again, with other values for its tensors, taken from *at on. */
struct obj *unflatten(struct eval *e, struct obj *like, struct value *const *values, int *at);
bool same_type(struct eval *e, const struct obj *a, const struct obj *b); /* dtype, shape, structure */
/* As same_type, but that sizes, strides and offsets of block pointers and descriptors are 64-bit numbers, however they
 * are kept; and x with those of them in 64 bits that `with` keeps in another way, made at the end of block b. */
bool types_agree(struct eval *e, const struct obj *a, const struct obj *b);
struct obj *meet(struct eval *e, struct obj *x, struct obj *with, struct block *b, struct loc at);
/* "fp32", "<[64], fp32>", "tuple(...)": for messages. */
const char *type_text(struct eval *e, const struct obj *x);
const char *lang_text(struct eval *e, const struct lang_type *t);
/* A function's result, once all branches that returned before are joined with it. */
struct obj *join_returns(struct eval *e, struct obj *result, struct loc at);
enum flow join_if(struct eval *e, struct scope *s, const struct ast *stmt, struct value *cond, struct obj **result);
void report_return_in_loop(struct eval *e, const struct ast *stmt);
/* Where a name is last assigned in a body. */
struct loc place_of_assignment(const struct ast_list *body, const char *name, struct loc otherwise);
/* An `if` of two finished blocks that yields one value a side (of equal types); a select
 * where nothing has to run. */
struct obj *join_values(struct eval *e, struct value *cond, struct block *const *blocks, struct obj *const *x, struct loc at);

/* -- region.c -- */
/* A reduction or scan, or one in its place that reports what its region asserts. */
struct op *region_lift_assertions(struct eval *e, struct op *o, struct loc at);
/* The tuple of what fn returns for each element of n blocks of one shape; obj_error: an error is reported. */
struct obj *trace_map(struct eval *e, struct obj *fn, struct obj *const *x, int n, struct loc at);

/* -- hostcall.c -- */
bool trace_is_host_object(const struct obj *x); /* known to the host only: a variable may hold it */
void trace_drop_statements(struct block *b, const struct spec *spec); /* the sites before statements */

/* -- loops.c -- */
/* After an error: the names that a statement would have assigned stand for errors. */
enum flow trace_give_up(struct eval *e, struct scope *s, const struct ast *stmt);

/* -- cast.c -- */
struct obj *tensor_new(struct eval *e, struct value *v, const struct lang_type *scalar, int rank, const int *shape);
/* Like x, with another value (and scalar type). */
struct obj *tensor_like(struct eval *e, const struct obj *x, struct value *v, const struct lang_type *scalar);
bool is_number(const struct obj *x);     /* const int, float or bool: a number operand */
bool is_error(const struct obj *x);
const struct lang_type *scalar_of(const struct obj *x); /* a tensor's */
int rank_of(const struct obj *x);
const int *shape_of(const struct obj *x);
bool is_int_type(const struct lang_type *t); /* int1 too */
bool is_float_type(const struct lang_type *t);
bool is_fp8_type(const struct lang_type *t);
bool is_ptr_type(const struct lang_type *t);
bool is_dtype(const struct lang_type *t, enum dtype d);
int bits_of(const struct lang_type *t);
/* What a number decays to (2.5); NULL: no type holds it. */
const struct lang_type *decayed_type(struct eval *e, const struct obj *number);
/* A number as a constant of type t and a shape. `decay`: rounded to its own type first. */
struct value *number_value(struct eval *e, const struct obj *number, const struct lang_type *t, int rank, const int *shape,
                           bool decay, struct loc at);
/* A zero of t (pointers: null). */
struct value *zero_value(struct eval *e, const struct lang_type *t, struct loc at);
struct obj *constant_tensor(struct eval *e, struct obj *number, const struct lang_type *t, struct loc at);

/* -- promote.c -- */
/* The common type of two operands by 3.1; NULL: an error is reported. Numbers take their
 * decayed type if `decay`. */
const struct lang_type *common_type(struct eval *e, const struct obj *a, const struct obj *b, bool is_division, bool decay,
                                    struct loc at);

struct obj *tensor_to_block(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at); /* which fits */

/* -- builtins.c -- */
struct obj *tensor_method(struct eval *e, struct obj *x, const char *name); /* NULL: no such */
struct obj *find_bare(struct eval *e, const char *name);     /* `range` and the like, as kernels have them */
struct obj *find_language(struct eval *e, const char *name); /* of triton.language */

#endif
