/* SPDX-License-Identifier: MIT */
/* handlers.h: declares what the files of frontend/builtins share. builtins.h is the table of all builtins. builtins.c
 * creates the modules from this table, arguments.c converts arguments, and each other file has the handlers of one
 * group of builtins. */
#ifndef NESO_FRONTEND_BUILTINS_INTERNAL_H
#define NESO_FRONTEND_BUILTINS_INTERNAL_H

#include "frontend/trace/trace.h"

enum { TENSOR_ELEMS_MOST = 1 << 20 };

/* The handlers of all rows. If no file defines a row's handler, linking fails. */
#define HEADING(text)
#define ROW(where, name, parameters, handler, ...) \
    struct obj *builtin_##handler(struct eval *e, struct obj **args, const struct args *call);
#include "frontend/builtins/builtins.h"
#undef ROW
#undef HEADING

/* -- builtins.c -- */
/* Searches the rows whose column `where` is `hidden`, and returns the builtin with this name; NULL if there
 * is none. */
struct obj *builtin_hidden(struct eval *e, const char *name);
bool is_unsupported(const struct obj *x); /* returns whether x is a builtin of Triton that neso does not support */

/* -- arguments.c: converts arguments, and reports invalid arguments -- */
/* Returns the location of an argument: of positional argument i, or, if the call has fewer positional
 * arguments, of the keyword argument `name`. Returns the location of the call if the call passes neither. */
struct loc arg_loc(const struct args *call, int i, const char *name);
/* arg_int, arg_bool and arg_string set *out to the value of the constant x. `what` is the name of x in messages. None
 * means False in arg_bool, and "" in arg_string. The functions return false after an error, which they report. */
bool arg_int(struct eval *e, struct obj *x, const char *what, struct loc at, int64_t *out);
bool arg_bool(struct eval *e, struct obj *x, const char *what, struct loc at, bool *out);
bool arg_string(struct eval *e, struct obj *x, const char *what, struct loc at, const char **out);
/* Converts a tensor or a number to a tensor; returns NULL after an error, which it reports. */
struct obj *arg_tensor(struct eval *e, struct obj *x, const struct args *call, int i, const char *name);
/* Converts x as arg_tensor does, and checks that the result is a block (a tensor of rank 1 or more). Returns NULL after
 * an error, which it reports. */
struct obj *arg_block(struct eval *e, struct obj *x, const struct args *call, int i, const char *name);
/* Converts x, a type or the name of a type, to a type. Returns NULL after an error, which it reports. */
const struct lang_type *arg_dtype(struct eval *e, struct obj *x, struct loc at);
/* Sets *items to the items of x, a tuple or list, and *n to their number. If the only item of x is itself a
 * tuple or list, uses the items of this inner tuple or list. A function f(*shape) thus accepts both f(2, 4)
 * and f((2, 4)). */
void arg_items(struct obj *x, int *n, struct obj ***items);
/* Converts x, a size or a tuple or list of sizes, to a shape. Stores the sizes in `shape`, an array of
 * RANK_MAX ints, and returns their number; -1 after an error, which it reports. Each size must be a constant
 * power of two, and the shape must have at most TENSOR_ELEMS_MOST elements. */
int arg_shape(struct eval *e, struct obj *x, struct loc at, int *shape);
/* Sets *axis to the axis x of a tensor of this rank; a negative x counts from the end. Returns false after an error,
 * which it reports. */
bool arg_axis(struct eval *e, struct obj *x, int rank, struct loc at, int *axis);
/* Converts the str x, which must consist of `prefix` and a word of the NULL-terminated list `words`, to the
 * word's index, and stores the index in *out. Stores 0 if x is None or "". If there is no such word, reports
 * `error` with x and the list. Returns false after an error, which it reports. */
bool arg_word(struct eval *e, struct obj *x, const char *const *words, const char *prefix, enum error error, struct loc at, int *out);
/* Sets *propagate to true if x, the argument propagate_nan, is ALL, and to false if x is NONE or None.
 * Returns false after an error, which it reports. */
bool arg_nan(struct eval *e, struct obj *x, struct loc at, bool *propagate);
const char *shape_text(struct eval *e, int rank, const int *shape); /* "[64, 32]" */
int64_t numel(int rank, const int *shape);                          /* the number of elements */
/* Checks that a computed shape has a rank of at most RANK_MAX, and at most TENSOR_ELEMS_MOST elements.
 * Returns false after an error, which it reports. */
bool check_numel(struct eval *e, int rank, const int *shape, struct loc at);

/* -- builtins.c -- */
/* Returns a method of tensor descriptors; NULL if there is no such method. */
struct obj *descriptor_method(struct eval *e, struct obj *x, const char *name);

/* -- block.c -- */
bool is_block_pointer(const struct obj *x);
/* Computes the arguments of the ordinary load or store that accesses the elements of the block pointer `box`:
 * *ptrs, *mask and *other. *mask and *other become obj_none if `boundary` lists no dimensions.
 * `boundary` and `padding` are arguments i (boundary_check) and i + 1 (padding_option) of the call. Returns
 * false after an error, which it reports. */
bool block_pointer_access(struct eval *e, struct obj *box, struct obj *boundary, struct obj *padding,
                          const struct args *call, int i, struct obj **ptrs, struct obj **mask, struct obj **other);

/* -- memory.c -- */
/* Implements tl.atomic_NAME, where NAME is the column `data` of the builtin's row. If is_boxed is true, the
 * caller has computed the pointers for a tensor descriptor's block. In this case, more types are allowed. */
struct obj *atomic_update(struct eval *e, struct obj **args, const struct args *call, bool is_boxed);

/* -- shape.c -- */
/* Reshapes x. The new shape must have the same number of elements. */
struct obj *reshape_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
/* Inserts a dimension of size 1, which is dimension `axis` of the result. Returns obj_error after an error,
 * which it reports. */
struct obj *expand_at(struct eval *e, struct obj *x, int axis, struct loc at);

#endif
