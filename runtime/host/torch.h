/* SPDX-License-Identifier: MIT */
/* torch.h: declares the functions and tables that the files torch*.c share. The last row of each table has no name. */
#ifndef NESO_RUNTIME_TORCH_H
#define NESO_RUNTIME_TORCH_H

#include "runtime/host/host.h"

struct elementwise;

/* -- torch.c: objects and arguments; exceptions of a function with a parameter `at` show this source location -- */
struct obj *torch_wrap(struct eval *e, const struct tensor *t); /* returns the tensor as an object */
/* Raises an exception with the reason why an operation of the pool failed: an exceeded limit, exhausted memory, or a
 * failed copy. */
_Noreturn void torch_fail(struct eval *e, struct loc at);
/* Counts computed elements; raises an exception if the budget is exhausted. */
void torch_spend(struct eval *e, int64_t elems, struct loc at);
/* Like torch_spend, for a loop that calls torch_tick for each element i: once in TURN calls, counts TURN
 * elements. */
static inline void torch_tick(struct eval *e, int64_t i, struct loc at)
{
    enum { TURN = ELEMS_UNASKED / 4 };
    if (i % TURN == TURN - 1)
        torch_spend(e, TURN, at);
}
/* torch_make and torch_host work like tensor_init and tensor_host (tensor.h), but raise an exception if they fail,
 * instead of returning a failure. */
struct tensor torch_make(struct eval *e, enum torch_dtype dtype, int rank, const int64_t *shape, struct loc at);
char *torch_host(struct eval *e, const struct tensor *t, bool write, struct loc at);
struct obj *torch_dtype_obj(struct eval *e, enum torch_dtype d);
bool torch_as_dtype(const struct obj *x, enum torch_dtype *out);
bool torch_number(const struct obj *x, struct number *out);
struct obj *torch_number_obj(struct eval *e, struct number x, enum torch_dtype d);
/* Returns the tensor x, or the number x as a 0-d tensor. */
struct tensor torch_operand(struct eval *e, struct obj *x, struct loc at);
struct tensor torch_self(struct eval *e, struct obj **args, const struct args *call);
int64_t torch_int_arg(struct eval *e, struct obj *x, const char *what, struct loc at);
/* Reads sizes from `(2, 3)`, `[2, 3]` or `2, 3`, and returns the rank. */
int torch_shape_arg(struct eval *e, struct obj *x, int64_t *shape, struct loc at);
enum torch_dtype torch_dtype_arg(struct eval *e, struct obj *x, enum torch_dtype dflt, struct loc at);
bool torch_is_cpu(struct eval *e, struct obj *device);
/* Returns the scope of the names that modules.py adds to the module torch and, as methods, to tensors. */
struct scope *torch_more(struct eval *e);

/* -- torch_math.c -- */
extern const struct builtin torch_math_functions[], torch_math_methods[];
const struct elementwise *torch_elementwise(const char *name); /* NULL if there is no such operation */
struct obj *torch_apply(struct eval *e, const struct elementwise *f, struct obj *x, struct obj *y, struct loc at);
/* Makes a builtin PREFIX.NAME for an operation ("exp", "sum") of the tables of torch_math.c. Returns NULL if
 * there is no such operation. */
const struct builtin *torch_operation(struct eval *e, const char *prefix, const char *name);
/* Returns the name of operation number i; NULL at the end. */
const char *torch_operation_name(int i);
const char *torch_shape_text(struct eval *e, const struct tensor *x);

/* -- torch_matmul.c -- */
extern const struct builtin torch_matmul_functions[]; /* these functions are also methods of tensors */
struct obj *torch_matmul(struct eval *e, struct obj *a, struct obj *b, struct loc at);

/* -- properties.c -- */
extern const struct builtin torch_device_functions[];

/* -- torch_view.c -- */
extern const struct builtin torch_view_methods[];
struct obj *torch_cast(struct eval *e, const struct tensor *t, enum torch_dtype dtype, bool copy, struct loc at);
int torch_dim_arg(struct eval *e, struct obj *x, int rank, struct loc at);
struct obj *torch_size(struct eval *e, const struct tensor *t);
struct obj *torch_ints(struct eval *e, int n, const int64_t *x);
struct tensor torch_index(struct eval *e, struct obj *self, struct obj *index, struct loc at);
void torch_assign(struct eval *e, struct tensor *to, struct obj *value, struct loc at);
struct obj *torch_transpose(struct eval *e, const struct tensor *t, int a, int b);
struct obj *torch_run_t(struct eval *e, struct obj **args, const struct args *call);
struct number torch_same_element(const struct number *x, void *ctx); /* copies an element, for tensor_map */
struct obj *torch_run_item(struct eval *e, struct obj **args, const struct args *call);

/* -- torch_pick.c -- */
extern const struct builtin torch_pick_functions[];
bool torch_picks(struct obj *index); /* returns whether one of the indices is a tensor */
struct obj *torch_pick(struct eval *e, struct obj *self, struct obj *index, struct loc at);
void torch_put(struct eval *e, struct obj *self, struct obj *index, struct obj *value, struct loc at);

#endif
