/* handlers.h: what the files of the library (builtins*.c) share: the handlers, and
 * ways to read arguments. */
#ifndef NESO_FRONTEND_BUILTINS_INTERNAL_H
#define NESO_FRONTEND_BUILTINS_INTERNAL_H

#include "frontend/trace/trace.h"

enum { TENSOR_ELEMS_MOST = 1 << 20 };

/* A handler of the table that no file defines is an error of the linker. */
#define ROW(where, name, parameters, handler, data) \
    struct obj *builtin_##handler(struct eval *e, struct obj **args, const struct args *call);
#include "frontend/builtins/builtins.h"
#undef ROW

/* -- builtins.c -- */
struct obj *builtin_hidden(struct eval *e, const char *name);
bool is_unsupported(const struct obj *x); /* a name that is known, without meaning here */

/* -- arguments.c: each reports what is wrong with the argument -- */
/* Where argument i, named `name`, stands in a call. */
struct loc arg_loc(const struct args *call, int i, const char *name);
bool arg_int(struct eval *e, struct obj *x, const char *what, struct loc at, int64_t *out);
bool arg_bool(struct eval *e, struct obj *x, const char *what, struct loc at, bool *out);
bool arg_string(struct eval *e, struct obj *x, const char *what, struct loc at, const char **out);
/* A tensor, from a tensor or a number; NULL: an error is reported (or was). */
struct obj *arg_tensor(struct eval *e, struct obj *x, const struct args *call, int i, const char *name);
/* A block of rank 1 or more. */
struct obj *arg_block(struct eval *e, struct obj *x, const struct args *call, int i, const char *name);
const struct lang_type *arg_dtype(struct eval *e, struct obj *x, struct loc at);
/* The items of a tuple or list, or of a tuple that holds just one (*shape). */
void arg_items(struct obj *x, int *n, struct obj ***items);
/* A shape; -1: an error is reported. */
int arg_shape(struct eval *e, struct obj *x, struct loc at, int *shape);
/* An axis, counted from the end if negative. */
bool arg_axis(struct eval *e, struct obj *x, int rank, struct loc at, int *axis);
/* A word of a list that ends in NULL, after `prefix` in the argument; None and "" give the first. */
bool arg_word(struct eval *e, struct obj *x, const char *const *words, const char *prefix, enum error error, struct loc at, int *out);
bool arg_nan(struct eval *e, struct obj *x, struct loc at, bool *propagate);
const char *shape_text(struct eval *e, int rank, const int *shape);
int64_t numel(int rank, const int *shape);
/* Is a shape that was made of others within the limits? */
bool check_numel(struct eval *e, int rank, const int *shape, struct loc at);

/* -- builtins.c -- */
struct obj *descriptor_method(struct eval *e, struct obj *x, const char *name); /* NULL: no such */

/* -- block.c -- */
bool is_block_pointer(const struct obj *x);
/* What a block pointer stands for as arguments of a load or store, whose argument i is boundary_check. False:
 * an error is reported. */
bool block_pointer_access(struct eval *e, struct obj *box, struct obj *boundary, struct obj *padding,
                          const struct args *call, int i, struct obj **ptrs, struct obj **mask, struct obj **other);

/* -- memory.c -- */
/* tl.atomic_NAME of the row that calls; is_boxed: of a descriptor's block, in no order with other accesses. */
struct obj *atomic_update(struct eval *e, struct obj **args, const struct args *call, bool is_boxed);

/* -- shape.c -- */
struct obj *reshape_to(struct eval *e, struct obj *x, int rank, const int *shape, struct loc at);
struct obj *expand_at(struct eval *e, struct obj *x, int axis, struct loc at);

#endif
