/* SPDX-License-Identifier: MIT */
/* vec.h: declares growing arrays in an arena. After `VEC(struct op *) ops = {0}; VEC_PUSH(arena, &ops, o);`,
 * ops.at[0] is o, and ops.n is 1. */
#ifndef NESO_IR_VEC_H
#define NESO_IR_VEC_H

#include "ir/support/arena.h"

#define VEC(T)  \
    struct {    \
        T *at;  \
        int n;  \
        int cap; \
    }

#define VEC_PUSH(arena, v, ...) \
    (*((v)->n == (v)->cap ? (void)((v)->at = arena_grow((arena), (v)->at, (size_t)(v)->n, \
                                                        (size_t)((v)->cap = (v)->cap ? 2 * (v)->cap : 8), \
                                                        sizeof *(v)->at)) \
                          : (void)0, \
       &(v)->at[(v)->n++]) = (__VA_ARGS__))

#define VEC_POP(v) ((v)->at[--(v)->n])

#endif
