/* handlers.h: what the files of frontend/builtins share: the handlers, and functions that read arguments.
 * builtins.h is the table of all builtins; builtins.c makes the modules from it; arguments.c reads arguments;
 * every other file has the handlers of one group. */
#ifndef NESO_FRONTEND_BUILTINS_INTERNAL_H
#define NESO_FRONTEND_BUILTINS_INTERNAL_H

#include "frontend/trace/trace.h"

enum { TENSOR_ELEMS_MOST = 1 << 20 };

/* If no file defines the handler of a row, linking fails. */
#define HEADING(text)
#define ROW(where, name, parameters, handler, ...) \
    struct obj *builtin_##handler(struct eval *e, struct obj **args, const struct args *call);
#include "frontend/builtins/builtins.h"
#undef ROW
#undef HEADING

/* -- builtins.c -- */
struct obj *builtin_hidden(struct eval *e, const char *name);
bool is_unsupported(const struct obj *x); /* a name that exists in Triton but is not supported here */

/* -- arguments.c: each reports what is wrong with the argument -- */
/* The place of argument i, named `name`, in a call. */
struct loc arg_loc(const struct args *call, int i, const char *name);
bool arg_int(struct eval *e, struct obj *x, const char *what, struct loc at, int64_t *out);
bool arg_bool(struct eval *e, struct obj *x, const char *what, struct loc at, bool *out);
bool arg_string(struct eval *e, struct obj *x, const char *what, struct loc at, const char **out);
/* A tensor, from a tensor or a number; NULL: an error is (or was) reported. */
struct obj *arg_tensor(struct eval *e, struct obj *x, const struct args *call, int i, const char *name);
/* A block of rank 1 or more. */
struct obj *arg_block(struct eval *e, struct obj *x, const struct args *call, int i, const char *name);
const struct lang_type *arg_dtype(struct eval *e, struct obj *x, struct loc at);
/* The items of a tuple or list, or of a tuple that contains just one (*shape). */
void arg_items(struct obj *x, int *n, struct obj ***items);
/* A shape; -1: an error is reported. */
int arg_shape(struct eval *e, struct obj *x, struct loc at, int *shape);
/* An axis; negative ones count from the end. */
bool arg_axis(struct eval *e, struct obj *x, int rank, struct loc at, int *axis);
/* Finds the argument, without `prefix`, in a NULL-terminated list of words; None and "" give the first
 * one. */
bool arg_word(struct eval *e, struct obj *x, const char *const *words, const char *prefix, enum error error, struct loc at, int *out);
bool arg_nan(struct eval *e, struct obj *x, struct loc at, bool *propagate);
const char *shape_text(struct eval *e, int rank, const int *shape);
int64_t numel(int rank, const int *shape);
/* Is a computed shape within the limits? */
bool check_numel(struct eval *e, int rank, const int *shape, struct loc at);

/* -- builtins.c -- */
/* NULL: there is no such method */
struct obj *descriptor_method(struct eval *e, struct obj *x, const char *name);

/* -- block.c -- */
bool is_block_pointer(const struct obj *x);
/* Replaces a block pointer by the arguments of an ordinary load or store; argument i is boundary_check.
 * Returns false if it reported an error. */
bool block_pointer_access(struct eval *e, struct obj *box, struct obj *boundary, struct obj *padding,
                          const struct args *call, int i, struct obj **ptrs, struct obj **mask, struct obj **other);

/* -- memory.c -- */
/* tl.atomic_NAME, named by the row that calls it; is_boxed: on a descriptor's block, without order to other
 * accesses. */
struct obj *atomic_update(struct eval *e, struct obj **args, const struct args *call, bool is_boxed);

/* -- shape.c -- */
struct obj *reshape_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
struct obj *expand_at(struct eval *e, struct obj *x, int axis, struct loc at);

#endif
