/* lang.h: the types of the kernel language. Plain Python (frontend/python) holds them without looking inside. */
#ifndef NESO_FRONTEND_LANG_H
#define NESO_FRONTEND_LANG_H

#include "frontend/python/value.h"
#include "ir/ir.h"

/* A type of the language. It includes signedness, which the IR expresses by ops. */
struct lang_type {
    enum { LT_void, LT_number, LT_ptr, LT_block, LT_const } kind;
    enum dtype dtype;               /* number */
    bool is_unsigned;               /* number; int1 is unsigned */
    const struct lang_type *elem;   /* ptr: pointee; block: number or ptr */
    bool is_const;                  /* ptr: stores are refused */
    int rank, shape[RANK_MAX];      /* block */
    struct obj *value;              /* const: the constant's type, and its value */
};

const struct lang_type *lang_number(struct eval *e, enum dtype d, bool is_unsigned);
const struct lang_type *lang_ptr(struct eval *e, const struct lang_type *elem, bool is_const);
/* rank 0 gives elem */
const struct lang_type *lang_block(struct eval *e, const struct lang_type *elem, int rank, const int *shape);
/* "fp32", "f32", "i32", "u8", "*fp16", "*ki8", "int32", "float16", "bfloat16", ... ; NULL: unknown */
const struct lang_type *lang_parse(struct eval *e, const char *s, size_t n);
const struct type *lang_ir(struct module *m, const struct lang_type *t);

/* -- cast.c -- */
struct obj *tensor_cast(struct eval *e, struct obj *x, const struct lang_type *scalar, enum rounding round, bool bitcast, struct loc at);

#endif
