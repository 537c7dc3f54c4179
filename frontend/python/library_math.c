/* SPDX-License-Identifier: MIT */
/* library_math.c: implements Python's module `math`. Most functions call libm, and raise exceptions as Python
 * does. */
#include "frontend/python/python.h"

#include <math.h>
#include <string.h>

static double number_arg(struct eval *e, struct obj *x, struct loc at)
{
    struct obj *item =
        x->kind == OBJ_native ? find_attribute(e, x, intern_str(e->strings, "item"), at) : NULL;
    if (item)
        x = call_with(e, item, 0, NULL, at);
    if (!obj_is_number(x))
        eval_raise(e, at, "TypeError", ERR_real_number, obj_type_name(x));
    return obj_double(x);
}

/* clang-format off */
#define MATH_UNARY(X) \
    X(sqrt) X(exp) X(exp2) X(expm1) X(log1p) X(sin) X(cos) X(tan) X(asin) X(acos) X(atan) X(sinh) X(cosh) X(tanh) \
    X(asinh) X(acosh) X(atanh) X(erf) X(erfc) X(fabs) X(cbrt) X(lgamma)
/* clang-format on */

struct unary_math {
    double (*run)(double x);
};
#define X(name) static const struct unary_math math_##name = {name};
MATH_UNARY(X)
#undef X

static struct obj *checked(struct eval *e, double result, bool finite_inputs, struct loc at)
{
    if (isnan(result) && finite_inputs)
        eval_raise(e, at, "ValueError", ERR_math_domain);
    if (isinf(result) && finite_inputs)
        eval_raise(e, at, "OverflowError", ERR_math_range);
    return obj_float(e, result);
}

static struct obj *math_unary(struct eval *e, struct obj **args, const struct args *call)
{
    double x = number_arg(e, args[0], call->loc);
    return checked(e, ((const struct unary_math *)call->callee->data)->run(x), isfinite(x), call->loc);
}

struct binary_math {
    double (*run)(double x, double y);
};
static const struct binary_math math_pow = {pow}, math_atan2 = {atan2}, math_fmod = {fmod},
                                math_copysign = {copysign}, math_hypot = {hypot},
                                math_remainder = {remainder};

static struct obj *math_binary(struct eval *e, struct obj **args, const struct args *call)
{
    double x = number_arg(e, args[0], call->loc), y = number_arg(e, args[1], call->loc);
    return checked(e, ((const struct binary_math *)call->callee->data)->run(x, y), isfinite(x) && isfinite(y),
                   call->loc);
}

/* Implements log(x), log(x, base), log2(x) and log10(x). */
static struct obj *math_log(struct eval *e, struct obj **args, const struct args *call)
{
    char which = *(const char *)call->callee->data;
    double x = number_arg(e, args[0], call->loc);
    if (x <= 0)
        eval_raise(e, call->loc, "ValueError", ERR_math_domain);
    double result = which == '2' ? log2(x) : which == '1' ? log10(x) : log(x);
    if (which == 'e' && args[1])
        result /= log(number_arg(e, args[1], call->loc));
    return obj_float(e, result);
}

/* Implements floor, ceil and trunc. */
static struct obj *math_round(struct eval *e, struct obj **args, const struct args *call)
{
    if (obj_is_integer(args[0]))
        return obj_int(e, obj_wide(args[0]));
    char which = *(const char *)call->callee->data;
    double x = number_arg(e, args[0], call->loc);
    return int_from_double(e, which == 'f' ? floor(x) : which == 'c' ? ceil(x) : x, call->loc);
}

/* Implements isnan, isinf and isfinite. */
static struct obj *math_class(struct eval *e, struct obj **args, const struct args *call)
{
    char which = *(const char *)call->callee->data;
    double x = number_arg(e, args[0], call->loc);
    return obj_bool(which == 'n' ? isnan(x) : which == 'i' ? isinf(x) : isfinite(x));
}

static wide greatest_divisor(wide a, wide b)
{
    while (b) {
        wide rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* Implements gcd and lcm. */
static struct obj *math_divisor(struct eval *e, struct obj **args, const struct args *call)
{
    bool is_lcm = *(const char *)call->callee->data == 'l';
    wide total = is_lcm ? 1 : 0;
    for (int i = 0; i < args[0]->seq.n; i++) {
        wide x = arg_index(e, args[0]->seq.at[i], call->loc), divisor = greatest_divisor(total, x);
        if (!is_lcm)
            total = divisor;
        else if (__builtin_mul_overflow(divisor ? total / divisor : 0, x < 0 ? -x : x, &total))
            eval_raise(e, call->loc, "OverflowError", ERR_int_overflow);
    }
    return obj_int(e, total);
}

static struct obj *math_isqrt(struct eval *e, struct obj **args, const struct args *call)
{
    int64_t n = arg_index(e, args[0], call->loc);
    if (n < 0)
        eval_raise(e, call->loc, "ValueError", ERR_math_domain);
    int64_t root = (int64_t)sqrt((double)n);
    while ((wide)root * root > n)
        root--;
    while ((wide)(root + 1) * (root + 1) <= n)
        root++;
    return obj_int(e, root);
}

static struct obj *math_factorial(struct eval *e, struct obj **args, const struct args *call)
{
    struct obj *total = obj_int(e, 1);
    int64_t n = arg_index(e, args[0], call->loc);
    if (n < 0)
        eval_raise(e, call->loc, "ValueError", ERR_math_domain);
    for (int64_t i = 2; i <= n; i++)
        total = eval_binary(e, OPER_mul, total, obj_int(e, i), call->loc);
    return total;
}

/* Implements degrees and radians; the row's data is "d" or "r". */
static struct obj *math_angle(struct eval *e, struct obj **args, const struct args *call)
{
    const double half_turn = 3.14159265358979323846;
    double x = number_arg(e, args[0], call->loc);
    return obj_float(e, *(const char *)call->callee->data == 'r' ? x * (half_turn / 180)
                                                                 : x * (180 / half_turn));
}

static struct obj *math_isclose(struct eval *e, struct obj **args, const struct args *call)
{
    double x[4];
    for (int i = 0; i < 4; i++)
        x[i] = number_arg(e, args[i], call->loc);
    if (x[0] == x[1])
        return obj_true;
    double apart = fabs(x[0] - x[1]), larger = fmax(fabs(x[0]), fabs(x[1]));
    return obj_bool(isfinite(apart) && apart <= fmax(x[2] * larger, x[3]));
}

/* clang-format off */
static const struct builtin math_rows[] = {
#define X(name) {"math." #name, "x, /", math_unary, &math_##name},
    MATH_UNARY(X)
#undef X
    {"math.pow",       "x, y, /",  math_binary, &math_pow},
    {"math.atan2",     "y, x, /",  math_binary, &math_atan2},
    {"math.fmod",      "x, y, /",  math_binary, &math_fmod},
    {"math.remainder", "x, y, /",  math_binary, &math_remainder},
    {"math.copysign",  "x, y, /",  math_binary, &math_copysign},
    {"math.hypot",     "x, y, /",  math_binary, &math_hypot},
    {"math.log",       "x, base=, /", math_log, "e"},
    {"math.log2",      "x, /",     math_log,    "2"},
    {"math.log10",     "x, /",     math_log,    "1"},
    {"math.floor",     "x, /",     math_round,  "f"},
    {"math.ceil",      "x, /",     math_round,  "c"},
    {"math.trunc",     "x, /",     math_round,  "t"},
    {"math.isnan",     "x, /",     math_class,  "n"},
    {"math.isinf",     "x, /",     math_class,  "i"},
    {"math.isfinite",  "x, /",     math_class,  "f"},
    {"math.gcd",       "*ints",    math_divisor, "g"},
    {"math.lcm",       "*ints",    math_divisor, "l"},
    {"math.isqrt",     "n, /",     math_isqrt,  NULL},
    {"math.prod",      "iterable, /, *, start=1", python_fold, "*"},
    {"math.factorial", "n, /",     math_factorial, NULL},
    {"math.radians",   "x, /",     math_angle,  "r"},
    {"math.degrees",   "x, /",     math_angle,  "d"},
    {"math.isclose",   "a, b, *, rel_tol=1e-09, abs_tol=0.0", math_isclose, NULL},
};
/* clang-format on */

void fill_math(struct eval *e, struct obj *module)
{
    struct scope *s = module->module.scope;
    define_builtins(e, s, math_rows, sizeof math_rows / sizeof *math_rows);
    scope_set(s, intern_str(e->strings, "pi"), obj_float(e, 3.14159265358979323846));
    scope_set(s, intern_str(e->strings, "e"), obj_float(e, 2.71828182845904523536));
    scope_set(s, intern_str(e->strings, "tau"), obj_float(e, 6.28318530717958647692));
    scope_set(s, intern_str(e->strings, "inf"), obj_float(e, (double)INFINITY));
    scope_set(s, intern_str(e->strings, "nan"), obj_float(e, (double)NAN));
}
