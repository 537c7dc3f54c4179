/* SPDX-License-Identifier: MIT */
/* families.h: defines one enumeration for each family of ops. A switch without `default` over such an enumeration
 * must have a case for every op of the family, or the C compiler rejects it (-Wswitch):
 *
 *     switch ((enum cast_op)o->code) {
 *     case CAST_OP_sext: ...
 *
 * The rows of ops.h generate each enumeration. For the enumeration of family F, the macro KIND_F expands to
 * its arguments, and the KIND_ macros of all other families expand to nothing. */
#ifndef NESO_IR_FAMILIES_H
#define NESO_IR_FAMILIES_H

#include "ir/ir.h"

#define KIND_create(...)
#define KIND_arith(...)
#define KIND_math(...)
#define KIND_cast(...)
#define KIND_shape(...)
#define KIND_memory(...)
#define KIND_reduce(...)
#define KIND_dot(...)
#define KIND_control(...)
#define KIND_debug(...)
#define KIND_layout(...)
#define KIND_async(...)

#undef KIND_create
#define KIND_create(...) __VA_ARGS__
enum create_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(CREATE_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_create
#define KIND_create(...)

#undef KIND_arith
#define KIND_arith(...) __VA_ARGS__
enum arith_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(ARITH_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_arith
#define KIND_arith(...)

#undef KIND_math
#define KIND_math(...) __VA_ARGS__
enum math_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(MATH_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_math
#define KIND_math(...)

#undef KIND_cast
#define KIND_cast(...) __VA_ARGS__
enum cast_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(CAST_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_cast
#define KIND_cast(...)

#undef KIND_shape
#define KIND_shape(...) __VA_ARGS__
enum shape_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(SHAPE_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_shape
#define KIND_shape(...)

#undef KIND_memory
#define KIND_memory(...) __VA_ARGS__
enum memory_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(MEMORY_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_memory
#define KIND_memory(...)

#undef KIND_reduce
#define KIND_reduce(...) __VA_ARGS__
enum reduce_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(REDUCE_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_reduce
#define KIND_reduce(...)

#undef KIND_dot
#define KIND_dot(...) __VA_ARGS__
enum dot_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(DOT_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_dot
#define KIND_dot(...)

#undef KIND_control
#define KIND_control(...) __VA_ARGS__
enum control_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(CONTROL_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_control
#define KIND_control(...)

#undef KIND_debug
#define KIND_debug(...) __VA_ARGS__
enum debug_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(DEBUG_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_debug
#define KIND_debug(...)

#undef KIND_layout
#define KIND_layout(...) __VA_ARGS__
enum layout_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(LAYOUT_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_layout
#define KIND_layout(...)

#undef KIND_async
#define KIND_async(...) __VA_ARGS__
enum async_op {
#define OP(name, opnds, results, regions, attrs, family, ...) KIND_##family(ASYNC_OP_##name = OP_##name, )
#include "ir/ops.h"
#undef OP
};
#undef KIND_async
#define KIND_async(...)

#undef KIND_create
#undef KIND_arith
#undef KIND_math
#undef KIND_cast
#undef KIND_shape
#undef KIND_memory
#undef KIND_reduce
#undef KIND_dot
#undef KIND_control
#undef KIND_debug
#undef KIND_layout
#undef KIND_async

#endif
