/* SPDX-License-Identifier: MIT */
/* scalar.c: computes pure ops on integers, element by element; scalar_float.c computes pure ops on floats,
 * and scalar_cast.c computes casts.
 *
 * The folder (fold.c), the evaluator of constexprs and the interpreter all use these functions, so an op
 * means the same in all three. An operand is an array of n elements in their memory form. The folder passes n
 * = 1 for a scalar, and the interpreter passes the tile's size. The switches over op and type are outside the
 * loops over elements, so that the C compiler vectorizes most of these loops. The result must not overlap an
 * operand.
 *
 * `type` is the type of the operands x[0], x[1], ...; for a select, the dtype of its choices x[1] and x[2].
 * `to` is the result's dtype. Pointers are i64 numbers. scalar_eval returns false for an op that is not
 * elementwise, and for addptr, which needs the pointee's size. fp8 elements can be copied, cast and selected,
 * but have no arithmetic.
 *
 * Integer operations wrap. i1 is a number of one bit, whose signed values are 0 and -1. */
#include "ir/ir.h"

#include <string.h>

static uint64_t high_product(uint64_t x, uint64_t y, int bits)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)x * y >> bits);
}

/* Each row is an op and its result for x and y. x and y are numbers of W bits in the unsigned type P; sx and
 * sy are x and y, read as signed. (WIDTH below defines W and P.) */
#define BINARY(X)                                                                                            \
    X(add, x + y)                                                                                            \
    X(sub, x - y)                                                                                            \
    X(mul, x *y)                                                                                             \
    X(divs, y == 0 ? ~(P)0 : sy == -1 ? 0 - x : (P)(sx / sy))                                                \
    X(divu, y ? x / y : ~(P)0)                                                                               \
    X(rems, y == 0 ? x : sy == -1 ? 0 : (P)(sx % sy))                                                        \
    X(remu, y ? x % y : x)                                                                                   \
    X(mulhu, high_product(x, y, W))                                                                          \
    X(and, x &y)                                                                                             \
    X(or, x | y)                                                                                             \
    X(xor, x ^ y)                                                                                            \
    X(shl, y < W ? x << (y & 63) : 0)                                                                        \
    X(shrs, sx >> (y < W ? (int)(y & 63) : W - 1))                                                           \
    X(shru, y < W ? x >> (y & 63) : 0)                                                                       \
    X(mins, sx < sy ? x : y)                                                                                 \
    X(maxs, sx > sy ? x : y)                                                                                 \
    X(minu, x < y ? x : y)                                                                                   \
    X(maxu, x > y ? x : y)

#define UNARY(X)                                                                                             \
    X(neg, 0 - x)                                                                                            \
    X(abs, sx < 0 ? 0 - x : x)

#define PREDICATES(X)                                                                                        \
    X(eq, x == y)                                                                                            \
    X(ne, x != y)                                                                                            \
    X(slt, sx < sy)                                                                                          \
    X(sle, sx <= sy)                                                                                         \
    X(sgt, sx > sy)                                                                                          \
    X(sge, sx >= sy)                                                                                         \
    X(ult, x < y)                                                                                            \
    X(ule, x <= y)                                                                                           \
    X(ugt, x > y)                                                                                            \
    X(uge, x >= y)

/* Converts the low W bits of x to a signed number of type S, which has at least W bits. */
#define SIGNED(S, P, x) ((S)((S)((P)(x) << (8 * (int)sizeof(P) - W)) >> (8 * (int)sizeof(P) - W)))

#define CASE2(name, value)                                                                                   \
    case OP_##name:                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const P x = a[i] & MASK, y = b[i] & MASK;                                                        \
            const S sx = SIGNED(S, P, x), sy = SIGNED(S, P, y);                                              \
            (void)sx, (void)sy;                                                                              \
            r[i] = (U)((P)(value)&MASK);                                                                     \
        }                                                                                                    \
        return true;
#define CASE1(name, value)                                                                                   \
    case OP_##name:                                                                                          \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const P x = a[i] & MASK;                                                                         \
            const S sx = SIGNED(S, P, x);                                                                    \
            (void)sx;                                                                                        \
            r[i] = (U)((P)(value)&MASK);                                                                     \
        }                                                                                                    \
        return true;
#define CASE_PREDICATE(name, value)                                                                          \
    case PRED_##name:                                                                                        \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const P x = a[i] & MASK, y = b[i] & MASK;                                                        \
            const S sx = SIGNED(S, P, x), sy = SIGNED(S, P, y);                                              \
            (void)sx, (void)sy;                                                                              \
            r[i] = value;                                                                                    \
        }                                                                                                    \
        return true;

/* WIDTH defines the functions for integers of W bits. U is the type in memory. The computation uses the
 * unsigned type P and the signed type S, which are at least as wide as int, so that C does not promote
 * them. */
#define WIDTH(bits, unsigned_type, compute_type, signed_type)                                                \
    static bool unary_i##bits(enum opcode code, int64_t n, unsigned_type *restrict r,                        \
                              const unsigned_type *a)                                                        \
    {                                                                                                        \
        enum { W = bits };                                                                                   \
        typedef unsigned_type U;                                                                             \
        typedef compute_type P;                                                                              \
        typedef signed_type S;                                                                               \
        const P MASK = ~(P)0 >> (8 * (int)sizeof(P) - W);                                                    \
        switch (code) {                                                                                      \
            UNARY(CASE1)                                                                                     \
        default: return false;                                                                               \
        }                                                                                                    \
    }                                                                                                        \
    static bool binary_i##bits(enum opcode code, int64_t n, unsigned_type *restrict r,                       \
                               const unsigned_type *a, const unsigned_type *b)                               \
    {                                                                                                        \
        enum { W = bits };                                                                                   \
        typedef unsigned_type U;                                                                             \
        typedef compute_type P;                                                                              \
        typedef signed_type S;                                                                               \
        const P MASK = ~(P)0 >> (8 * (int)sizeof(P) - W);                                                    \
        switch (code) {                                                                                      \
            BINARY(CASE2)                                                                                    \
        default: return false;                                                                               \
        }                                                                                                    \
    }                                                                                                        \
    static bool compare_i##bits(enum pred pred, int64_t n, uint8_t *restrict r, const unsigned_type *a,      \
                                const unsigned_type *b)                                                      \
    {                                                                                                        \
        enum { W = bits };                                                                                   \
        typedef compute_type P;                                                                              \
        typedef signed_type S;                                                                               \
        const P MASK = ~(P)0 >> (8 * (int)sizeof(P) - W);                                                    \
        switch (pred) {                                                                                      \
            PREDICATES(CASE_PREDICATE)                                                                       \
        default: return false;                                                                               \
        }                                                                                                    \
    }                                                                                                        \
    static bool int_i##bits(enum opcode code, enum pred pred, int64_t n, void *r, const void *const *x)      \
    {                                                                                                        \
        if (code == OP_cmp)                                                                                  \
            return compare_i##bits(pred, n, r, x[0], x[1]);                                                  \
        return code == OP_neg || code == OP_abs ? unary_i##bits(code, n, r, x[0])                            \
                                                : binary_i##bits(code, n, r, x[0], x[1]);                    \
    }

WIDTH(1, uint8_t, uint32_t, int32_t)
WIDTH(8, uint8_t, uint32_t, int32_t)
WIDTH(16, uint16_t, uint32_t, int32_t)
WIDTH(32, uint32_t, uint32_t, int32_t)
WIDTH(64, uint64_t, uint64_t, int64_t)
#undef WIDTH
#undef CASE_PREDICATE
#undef CASE1
#undef CASE2
#undef SIGNED
#undef PREDICATES
#undef UNARY
#undef BINARY

static bool eval_int(enum opcode code, enum dtype type, enum pred pred, int64_t n, void *r,
                     const void *const *x)
{
    switch (type) {
    case DT_i1: return int_i1(code, pred, n, r, x);
    case DT_i8: return int_i8(code, pred, n, r, x);
    case DT_i16: return int_i16(code, pred, n, r, x);
    case DT_i32: return int_i32(code, pred, n, r, x);
    case DT_i64: return int_i64(code, pred, n, r, x);
    default: return false;
    }
}

/* -- ops that copy bits -- */

#define SELECT(type)                                                                                         \
    static void select_##type(int64_t n, type *restrict r, const uint8_t *c, const type *x, const type *y)   \
    {                                                                                                        \
        for (int64_t i = 0; i < n; i++) /* without a branch, so that the C compiler vectorizes the loop */   \
            r[i] = (type)(y[i] ^ ((x[i] ^ y[i]) & (type)(0 - (type)(c[i] & 1))));                            \
    }
SELECT(uint8_t)
SELECT(uint16_t)
SELECT(uint32_t)
SELECT(uint64_t)
#undef SELECT

static bool eval_select(enum dtype type, int64_t n, void *r, const void *const *x)
{
    switch (dtype_info[type].bytes) {
    case 1: select_uint8_t(n, r, x[0], x[1], x[2]); break;
    case 2: select_uint16_t(n, r, x[0], x[1], x[2]); break;
    case 4: select_uint32_t(n, r, x[0], x[1], x[2]); break;
    default: select_uint64_t(n, r, x[0], x[1], x[2]); break;
    }
    return true;
}

bool scalar_eval(const struct op_info *info, enum opcode code, enum dtype type, enum dtype to,
                 const struct attr *attrs, int nattrs, int64_t n, void *result, const void *const *x)
{
    if (!(info->traits & ELEMENTWISE) || code == OP_addptr)
        return false;
    int64_t option = 0; /* the one attribute that affects an elementwise op's result; its default is 0 */
    for (int i = 0; i < nattrs; i++)
        if (attrs[i].key == ATTR_pred || attrs[i].key == ATTR_nan || attrs[i].key == ATTR_round)
            option = attrs[i].i;
    if (code == OP_select)
        return eval_select(type, n, result, x);
    if (code == OP_bitcast) {
        memcpy(result, x[0], (size_t)n * (size_t)dtype_info[to].bytes);
        return dtype_info[type].bytes == dtype_info[to].bytes;
    }
    if (info->family == FAMILY_cast)
        return scalar_cast(code, type, to, (enum rounding)option, n, result, x[0]);
    if (dtype_info[type].kind == DTYPE_float)
        return scalar_float(code, type, option, n, result, x);
    return eval_int(code, type, (enum pred)option, n, result, x);
}
