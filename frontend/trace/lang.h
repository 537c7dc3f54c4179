/* SPDX-License-Identifier: MIT */
/* lang.h: the types of Triton's language. The files of frontend/python only pass pointers to these types. */
#ifndef NESO_FRONTEND_LANG_H
#define NESO_FRONTEND_LANG_H

#include "frontend/python/value.h"
#include "ir/ir.h"

/* A type of Triton's language. Triton's integer types are signed or unsigned. The IR's integer types have no
 * signedness; ops such as divs and divu determine the signedness. */
struct lang_type {
    enum { LT_void, LT_number, LT_ptr, LT_block, LT_const } kind;
    enum dtype dtype;               /* of a number */
    bool is_unsigned;               /* of a number; int1 is unsigned */
    const struct lang_type *elem;   /* of a pointer: the pointee; of a block: number or pointer */
    bool is_const;                  /* of a pointer: stores through it are errors */
    int rank, shape[RANK_MAX];      /* of a block */
    struct obj *value;              /* of LT_const, the type of a constexpr: the constexpr's value */
};

const struct lang_type *lang_number(struct eval *e, enum dtype d, bool is_unsigned);
const struct lang_type *lang_ptr(struct eval *e, const struct lang_type *elem, bool is_const);
/* Returns the type of a block; elem itself if rank is 0. */
const struct lang_type *lang_block(struct eval *e, const struct lang_type *elem, int rank, const int *shape);
/* Parses a type such as "fp32", "f32", "i32", "u8", "int32", "bfloat16", "*fp16" or "*ki8" (k: const). Returns NULL if
 * the text is not a type. */
const struct lang_type *lang_parse(struct eval *e, const char *s, size_t n);
const struct type *lang_ir(struct module *m, const struct lang_type *t); /* returns t's IR type; NULL if it has none */

/* -- cast.c -- */
/* Casts x, a tensor or number, to the element type `scalar`. If `bitcast`, keeps the bits. `round` must be
 * ROUND_none, unless the cast is from a float to a narrower float. Returns obj_error after an error, which it
 * reports. */
struct obj *tensor_cast(struct eval *e, struct obj *x, const struct lang_type *scalar, enum rounding round, bool bitcast, struct loc at);

#endif
