/* SPDX-License-Identifier: MIT */
/* shadow_ops.c: computes the shadows of results (trace.h: additional information about floats) after the
 * interpreter has computed the values.
 *
 *     %z = mul %x, %y      exact = exact(x) * exact(y)
 *                          err   = |x| err(y) + |y| err(x) + err(x) err(y)
 *                                  + half a unit in z's last place, if the product is not exact
 *
 * An error (`err`) is an upper bound of the difference between the value and any other valid result. Other
 * results may come from another order of a sum, from a fused multiply-add, or from another approximation. The
 * error is 0 if all valid results have the same bits. For example, sums of small integers are exact in any
 * order, and the conversion of a value with error 0 has only one result. */
#include "runtime/devices/interpreter/interpreter.h"

#include <math.h>
#include <string.h>

static double number(const struct value *v, const char *p, int64_t i)
{
    enum dtype t = step_dtype(v);
    int bytes = dtype_info[t].bytes;
    uint64_t bits = 0;
    memcpy(&bits, p + i * bytes, (size_t)bytes);
    return bits_to_double(t, bits);
}

static double integer(const struct value *v, const char *p, int64_t i, bool is_unsigned)
{
    int bytes = type_elem_bytes(v->type), shift = 64 - 8 * bytes;
    uint64_t bits = 0;
    memcpy(&bits, p + i * bytes, (size_t)bytes);
    return is_unsigned ? (double)bits : (double)((int64_t)(bits << shift) >> shift);
}

static void doubt(struct frame *f, const struct step *s)
{
    struct float_trace *t = f->launch->trace;
    if (t->kind == TRACE_error && !t->is_uncertain) {
        t->is_uncertain = true;
        t->uncertain_at = s->op->loc;
    }
}

/* -- errors -- */

/* Returns err * |x|, but 0 if one factor is 0 and the other an inf. */
static double scaled(double err, double x)
{
    return err == 0 || x == 0 ? 0 : err * fabs(x);
}

static double half_ulp(enum dtype t, double x)
{
    const struct trace_format *k = trace_format(t);
    int e = x != 0 && isfinite(x) ? ilogb(x) : k->least;
    return ldexp(1, (e < k->least ? k->least : e) - k->bits);
}

static double function(enum opcode code, double x)
{
    switch (code) {
    case OP_exp: return exp(x);
    case OP_exp2: return exp2(x);
    case OP_log: return log(x);
    case OP_log2: return log2(x);
    case OP_sin: return sin(x);
    case OP_cos: return cos(x);
    case OP_sqrt: return sqrt(x);
    case OP_rsqrt: return 1 / sqrt(x);
    case OP_erf: return erf(x);
    case OP_floor: return floor(x);
    case OP_ceil: return ceil(x);
    case OP_rint: return rint(x);
    case OP_neg: return -x;
    case OP_abs: return fabs(x);
    default: return x;
    }
}

/* Returns a bound of the difference between r, the interpreter's result for an approximate function of x, and the
 * result of another implementation. */
static double approximation(enum opcode code, enum dtype t, double x, double r)
{
    double ulp = 2 * half_ulp(t, r);
    switch (code) {
    case OP_exp:
    case OP_exp2: return x == 0 ? 0 : (4 + 4 * fabs(x)) * ulp + 0x1p-125;
    case OP_log:
    case OP_log2: return 4 * ulp + (x == 1 ? 0 : 0x1p-21);
    case OP_sin:
    case OP_cos: return x == 0 ? 0 : 0x1p-19 + fabs(x) * 0x1p-21;
    case OP_sqrt: return (double)(float)sqrt(x) * (double)(float)sqrt(x) == x ? ulp : 4 * ulp;
    case OP_rsqrt: return 4 * ulp;
    case OP_erf: return 16 * ulp + 0x1p-22;
    default: return 0;
    }
}

static double unary_error(enum opcode code, enum dtype t, double x, double ex, double r)
{
    if (!isfinite(r))
        return isfinite(x) && ex > 0 ? INFINITY : 0;
    if (code == OP_neg || code == OP_abs)
        return ex;
    double err = approximation(code, t, x, r);
    if (ex > 0) {
        double up = fabs(function(code, x + ex) - r), down = fabs(function(code, x - ex) - r);
        err += isnan(up) || isnan(down) ? INFINITY : up > down ? up : down;
    }
    return err;
}

/* Returns a bound of the rounding error of r: half a unit in the last place, or 0 if r is the exact result. */
static double rounding(enum dtype t, double r, double exact)
{
    return r == exact ? 0 : half_ulp(t, r);
}

/* Returns whether r, the rounded sum of x and y, is their exact sum. Computes the rounding error of the sum,
 * which is itself an f64 number. */
static bool is_exact_sum(double x, double y, double r)
{
    double part = r - x;
    return (x - (r - part)) + (y - part) == 0;
}

static double binary_error(const struct op *o, enum dtype t, double x, double y, double ex, double ey,
                           double r)
{
    switch (o->code) {
    case OP_add:
    case OP_fadd:
        return ex + ey + (t == DT_f64 ? half_ulp(t, r) * !is_exact_sum(x, y, r) : rounding(t, r, x + y));
    case OP_sub:
    case OP_fsub:
        return ex + ey + (t == DT_f64 ? half_ulp(t, r) * !is_exact_sum(x, -y, r) : rounding(t, r, x - y));
    case OP_mul:
    case OP_fmul:
        return scaled(ey, x) + scaled(ex, y) + scaled(ex, ey) +
               (t == DT_f64 ? half_ulp(t, r) * (fma(x, y, -r) != 0) : rounding(t, r, x * y));
    case OP_fdiv: {
        double low = fabs(y) - ey;
        bool is_power = y != 0 && isfinite(y) && fabs(y) == ldexp(1, ilogb(y));
        if (ex == 0 && ey == 0 && (is_power || r == 0 || !isfinite(r)))
            return is_power ? rounding(t, r, x / y) : 0;
        return low <= 0 ? INFINITY : (ex + scaled(ey, r)) / low + 8 * half_ulp(t, r);
    }
    case OP_frem: return ex + ey > 0 ? fabs(y) : 0;
    default: return ex > ey ? ex : ey; /* min, max */
    }
}

/* -- elementwise ops -- */

static const struct shadow none;

static struct shadow shadow_of(const struct frame *f, const struct step *s, int k, int64_t i)
{
    const struct shadow *x = k < s->nin ? shadows_in(f, s->in[k]) : NULL;
    return x ? x[i] : none;
}

static double exact_of(const struct op *o, double x, double y, double z)
{
    switch (o->code) {
    case OP_add:
    case OP_fadd: return x + y;
    case OP_sub:
    case OP_fsub: return x - y;
    case OP_mul:
    case OP_fmul: return x * y;
    case OP_fma:
    case OP_ffma: return x * y + z;
    case OP_fdiv: return x / y;
    case OP_frem: return fmod(x, y);
    case OP_min: return isnan(x) || isnan(y) ? x + y : x < y ? x : y;
    case OP_max: return isnan(x) || isnan(y) ? x + y : x > y ? x : y;
    default: return function(o->code, x);
    }
}

static uint8_t least_precision(const struct shadow *x, int n)
{
    uint8_t p = 0;
    for (int i = 0; i < n; i++)
        if (x[i].precision && (!p || x[i].precision < p))
            p = x[i].precision;
    return p;
}

/* Returns the shadow of element i of the result of step s; r is the element's value. All operands and the
 * result must have the same float type. */
static struct shadow arithmetic(const struct frame *f, const struct step *s, int64_t i, double r)
{
    const struct op *o = s->op;
    enum dtype t = step_dtype(&o->results[0]);
    double v[3] = {0};
    struct shadow x[3] = {none, none, none}, out = none;
    for (int k = 0; k < s->nin && k < 3; k++) {
        v[k] = number(op_opnd(o, k), step_in(f, s, k), i);
        x[k] = shadow_of(f, s, k, i);
        out.birth = out.birth ? out.birth : x[k].birth;
    }
    out.exact = exact_of(o, x[0].exact, x[1].exact, x[2].exact);
    if (o->code == OP_min || o->code == OP_max) {
        int taken = r == v[0] ? 0 : 1;
        out.birth = x[taken].birth;
        if (isnan(out.exact) && !isnan(r))
            out.exact = x[taken].exact;
    }
    out.precision = least_precision(x, s->nin);
    if (s->nin == 1)
        out.err = unary_error(o->code, t, v[0], x[0].err, r);
    else if (s->nin == 2)
        out.err = binary_error(o, t, v[0], v[1], x[0].err, x[1].err, r);
    else
        out.err = scaled(x[1].err, v[0]) + scaled(x[0].err, v[1]) + scaled(x[0].err, x[1].err) + x[2].err +
                  (v[0] * v[1] + v[2] == r ? 0 : half_ulp(t, r) + half_ulp(t, v[0] * v[1]));
    return out;
}

/* Returns the error of r, whose shadow is x. Usually, this is x->err. Returns INFINITY in three cases: x->err
 * is NaN; r is finite, but another valid result could be an inf; r is an inf, but another valid result could
 * be finite. */
static double bounded(enum dtype t, const struct shadow *x, double r)
{
    if (isnan(x->err))
        return INFINITY;
    if (isinf(r) && x->err > 0 && isfinite(x->err) && fabs(x->exact) <= 4 * trace_format(t)->most)
        return INFINITY;
    return isfinite(r) && x->err > 0 && fabs(r) + x->err > trace_format(t)->most ? INFINITY : x->err;
}

static struct shadow truncation(const struct shadow *x, enum dtype from, enum dtype to, double r)
{
    struct shadow out = *x;
    int bits = trace_format(to)->bits, most = trace_format(from)->bits;
    if (out.err > 0)
        out.err += 4 * half_ulp(to, r);
    if (bits < most && (!out.precision || bits < out.precision))
        out.precision = (uint8_t)bits;
    return out;
}

static struct shadow element(struct frame *f, const struct step *s, int64_t i, double r)
{
    const struct op *o = s->op;
    const struct value *x0 = s->nin ? op_opnd(o, 0) : NULL;
    enum dtype t = step_dtype(&o->results[0]);
    struct shadow out = {.exact = r}, x;
    switch (o->code) {
    case OP_select: out = shadow_of(f, s, step_in(f, s, 0)[i] ? 1 : 2, i); break;
    case OP_fext: out = shadow_of(f, s, 0, i); break;
    case OP_ftrunc:
        x = shadow_of(f, s, 0, i);
        out = truncation(&x, step_dtype(x0), t, r);
        break;
    case OP_stof: out.exact = integer(x0, step_in(f, s, 0), i, false); break;
    case OP_utof: out.exact = integer(x0, step_in(f, s, 0), i, true); break;
    case OP_bitcast:
        x = shadow_of(f, s, 0, i);
        if (x.err > 0)
            doubt(f, s);
        break;
    default: out = arithmetic(f, s, i, r); break;
    }
    out.err = bounded(t, &out, r);
    return out;
}

/* -- births: the ops at which NaNs, infs and losses of precision began -- */

/* Returns the number of the op's birth (its index in t->births, plus 1). If the op has no birth yet, creates
 * one with an explanation of element i; if there are already BIRTHS_MOST births, returns the last one
 * instead. */
static uint32_t birth_of(struct frame *f, const struct step *s, int64_t i)
{
    struct float_trace *t = f->launch->trace;
    for (int k = 0; k < t->nbirths; k++)
        if (t->births[k].op == s->op)
            return (uint32_t)k + 1;
    if (t->nbirths == BIRTHS_MOST)
        return BIRTHS_MOST;
    struct trace_birth *b = &t->births[t->nbirths++];
    *b = (struct trace_birth){.op = s->op, .pid = {f->pid[0], f->pid[1], f->pid[2]}};
    interpreter_explain(f, s, i, b->text, sizeof b->text);
    return (uint32_t)t->nbirths;
}

/* Step s is a reduction or scan. Looks at the elements of operand 0 whose indices equal those of element i of
 * the result in all dimensions except the axis. Sets *any_inf if one of them is an inf, and *any_nan if one
 * is a NaN. */
static void look_along(const struct frame *f, const struct step *s, int64_t i, bool *any_inf, bool *any_nan)
{
    int64_t outer, along, inner;
    interpreter_axis(s, &outer, &along, &inner);
    int64_t group = s->op->code == OP_scan ? i / inner / along : i / inner;
    for (int64_t k = 0; k < along; k++) {
        double x = number(op_opnd(s->op, 0), step_in(f, s, 0), (group * along + k) * inner + i % inner);
        *any_inf |= isinf(x) != 0;
        *any_nan |= isnan(x) != 0;
    }
}

/* Element i of the step's result is r, a NaN or inf. Returns whether the step has made r. In general, a step
 * has made a NaN if no operand is a NaN, and has made an inf if no operand is an inf or a NaN. A dot has
 * always made r. A load has made r if r is a NaN. Ops of family create, selects and bitcasts have never made
 * r. */
static bool is_born(const struct frame *f, const struct step *s, int64_t i, double r)
{
    bool any_inf = false, any_nan = false, folds = s->op->code == OP_reduce || s->op->code == OP_scan;
    if (s->op->code == OP_dot)
        return true;
    if (folds)
        look_along(f, s, i, &any_inf, &any_nan);
    if (s->op->code == OP_load)
        return isnan(r);
    if (op_info[s->op->code].family == FAMILY_create || s->op->code == OP_select || s->op->code == OP_bitcast)
        return false;
    for (int k = 0; k < s->nin && !folds; k++)
        if (op_opnd(s->op, k) && type_is_float(op_opnd(s->op, k)->type)) {
            double x = number(op_opnd(s->op, k), step_in(f, s, k), i);
            any_inf |= isinf(x) != 0;
            any_nan |= isnan(x) != 0;
        }
    return isnan(r) ? !any_nan : !any_inf && !any_nan;
}

/* Sets the birth of each element of the result whose NaN, inf or loss of precision began at this op. Removes
 * the birth of each element that is no NaN or inf (trace kind `nan`), or has lost no precision (kind
 * `precision`). */
static void mark_births(struct frame *f, const struct step *s, struct shadow *out, int64_t n)
{
    struct float_trace *t = f->launch->trace;
    const struct value *v = &s->op->results[0];
    enum dtype type = step_dtype(v);
    double scale = t->kind == TRACE_precision ? shadow_scale(out, n) : 0, lost;
    if (t->kind == TRACE_error || f->width) /* inside of a region, nothing is marked: the reduction marks its
                                             * results */
        return;
    for (int64_t i = 0; i < n; i++) {
        double r = number(v, step_out(f, s), i);
        bool bad = t->kind == TRACE_nan ? !isfinite(r) : shadow_has_lost(t, type, r, &out[i], scale, &lost);
        if (!bad)
            out[i].birth = 0;
        else if (!out[i].birth && (t->kind == TRACE_precision || is_born(f, s, i, r)))
            out[i].birth = birth_of(f, s, i);
    }
}

/* -- loads -- */

static void shadow_of_load(struct frame *f, const struct step *s, struct shadow *out)
{
    const struct float_trace *t = f->launch->trace;
    const uint64_t *p = (const void *)step_in(f, s, 0);
    const char *mask = step_in(f, s, 1);
    const struct shadow *other = s->nin > 2 ? shadows_in(f, s->in[2]) : NULL;
    for (int64_t i = 0; i < s->n; i++) {
        bool on = !mask || mask[i];
        const struct trace_cell *c = on && t->ncells ? trace_cell_at(t, p[i]) : NULL;
        c = c && c->dtype == step_dtype(&s->op->results[0]) ? c : NULL;
        out[i] = (struct shadow){.exact = number(&s->op->results[0], step_out(f, s), i)};
        if (c)
            out[i] = c->shadow;
        else if (!on && other)
            out[i] = other[i];
    }
}

/* -- moves -- */

static void shadow_of_shape(struct frame *f, const struct step *s, struct shadow *out, const struct shadow *x)
{
    const struct type *to = s->op->results[0].type, *from = op_opnd(s->op, 0)->type;
    const struct attr *order = op_attr(s->op, ATTR_order);
    int64_t stride[RANK_MAX], permuted[RANK_MAX];
    interpreter_strides(from, stride);
    for (int d = 0; d < to->rank; d++)
        permuted[d] = s->op->code == OP_trans ? stride[order ? order->list[d] : d]
                      : from->shape[d] == 1   ? 0
                                              : stride[d];
    interpreter_strided((char *)out, (const char *)x, sizeof *out, to->rank, to->shape, permuted);
    (void)f;
}

static void shadow_of_gather(const struct frame *f, const struct step *s, struct shadow *out,
                             const struct shadow *x)
{
    const struct type *from = op_opnd(s->op, 0)->type, *to = s->op->results[0].type;
    int axis = (int)op_int(s->op, ATTR_axis);
    int64_t inner = 1, most = from->shape[axis];
    for (int d = axis + 1; d < to->rank; d++)
        inner *= to->shape[d];
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = (int64_t)integer(op_opnd(s->op, 1), step_in(f, s, 1), i, false);
        out[i] = x[(i / inner / to->shape[axis] * most + at) * inner + i % inner];
    }
}

/* -- sums -- */

/* Returns the exponent of the least significant bit that is set in x; 4096 if x is 0, an inf or a NaN. */
static int lowest_bit(double x)
{
    int e;
    if (x == 0 || !isfinite(x))
        return 4096;
    union {
        double x;
        uint64_t bits;
    } u = {x};
    uint64_t fraction = u.bits & ((UINT64_C(1) << 52) - 1);
    e = (int)(u.bits >> 52 & 2047);
    return (e ? e : 1) - 1075 + __builtin_ctzll(e ? fraction | UINT64_C(1) << 52 : fraction);
}

/* Returns a bound of the rounding error of a sum of n numbers in an accumulator of `bits` bits. The absolute
 * values of the numbers add up to `magnitude`, and all numbers are multiples of 2^lowest. If the accumulator
 * can represent all multiples of 2^lowest up to `magnitude`, every partial sum is exact, and the bound is
 * 0. */
static double sum_error(enum dtype t, int bits, int64_t n, double magnitude, int lowest)
{
    enum { DEPTH = 256 };
    if (!isfinite(magnitude))
        return INFINITY;
    const struct trace_format *k = trace_format(t);
    if (magnitude == 0 ||
        (lowest < 4096 && lowest > k->least - k->bits && magnitude < ldexp(1, lowest + bits)))
        return 0;
    double least = ldexp(1, k->least - k->bits);
    return (double)(n < DEPTH ? n : DEPTH) * (ldexp(magnitude, -bits) + least);
}

/* Sets out->err to a bound of the error of a sum in any order. The `along` summands are `stride` elements
 * apart. `values` and x point to the first summand and its shadow. */
static void sum_shadow(enum dtype t, const struct shadow *x, const char *values, int64_t along,
                       int64_t stride, struct shadow *out)
{
    int bytes = dtype_info[t].bytes, lowest = 4096;
    double finite = 0, err = 0;
    for (int64_t i = 0; i < along; i++) {
        uint64_t bits = 0;
        memcpy(&bits, values + i * stride * bytes, (size_t)bytes);
        double v = bits_to_double(t, bits);
        int low = lowest_bit(v);
        finite += isfinite(v) ? fabs(v) : 0;
        err += x[i * stride].err;
        lowest = low < lowest ? low : lowest;
    }
    out->err = err + sum_error(t, trace_format(t)->bits, along, finite, lowest);
    if (finite > trace_format(t)->most)
        out->err = INFINITY;
}

static bool is_sum(const struct op *o)
{
    const struct op *first = o->regions[0]->first;
    return o->nopnds == 1 && (first->code == OP_add || first->code == OP_fadd) && first->next &&
           !first->next->next;
}

static bool has_arithmetic(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        enum family family = op_info[o->code].family;
        bool selects = o->code == OP_min || o->code == OP_max || o->code == OP_cmp || o->code == OP_select;
        if ((family == FAMILY_math || (family == FAMILY_arith && !selects)) && o->nresults &&
            type_is_float(o->results[0].type))
            return true;
        for (int i = 0; i < o->nregions; i++)
            if (has_arithmetic(o->regions[i]))
                return true;
    }
    return false;
}

/* Returns the sum of the magnitudes of those elements of operand k that contribute to element i of the result. */
static double magnitude_along(const struct frame *f, const struct step *s, int k, int64_t i)
{
    int64_t outer, along, inner;
    interpreter_axis(s, &outer, &along, &inner);
    int64_t group = s->op->code == OP_scan ? i / inner / along : i / inner;
    double sum = 0;
    for (int64_t l = 0; l < along; l++)
        sum += fabs(number(op_opnd(s->op, k), step_in(f, s, k), (group * along + l) * inner + i % inner));
    return sum;
}

/* Increases the errors of the results of a reduction or scan that is not a sum. In another order, each
 * execution of the region may round differently. */
static void widen_errors(const struct frame *f, const struct step *s, int64_t along)
{
    for (int k = 0; k < s->nout; k++) {
        struct shadow *out = shadows_in(f, s->out[k]);
        enum dtype t = step_dtype(&s->op->results[k]);
        for (int64_t i = 0; out && i < type_elems(s->op->results[k].type); i++) {
            double r = number(&s->op->results[k], f->mem + s->out[k], i), sum = magnitude_along(f, s, k, i);
            bool is_tame = isfinite(r) && sum <= trace_format(t)->most / 8;
            out[i].err =
                is_tame ? out[i].err + 2 * (double)along * half_ulp(t, sum > fabs(r) ? sum : r) : INFINITY;
        }
    }
}

/* Corrects the errors of the results of a reduction or scan. The region's steps have computed errors for one
 * order of the elements, but the errors must be bounds for every order. */
static void shadow_reduce(struct frame *f, const struct step *s)
{
    int64_t outer, along, inner;
    interpreter_axis(s, &outer, &along, &inner);
    const struct shadow *x = shadows_in(f, s->in[0]);
    struct shadow *out = shadows_in(f, s->out[0]);
    if (f->launch->trace->kind != TRACE_error)
        return;
    if (!is_sum(s->op) && has_arithmetic(s->op->regions[0]))
        widen_errors(f, s, along);
    if (!x || !out || !is_sum(s->op))
        return;
    enum dtype t = step_dtype(op_opnd(s->op, 0));
    size_t bytes = (size_t)dtype_info[t].bytes;
    bool scans = s->op->code == OP_scan;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < inner; k++) {
            int64_t first = o * along * inner + k;
            struct shadow sum = none;
            sum_shadow(t, x + first, step_in(f, s, 0) + (size_t)first * bytes, along, inner, &sum);
            for (int64_t i = 0; i < (scans ? along : 1); i++)
                out[scans ? first + i * inner : o * inner + k].err = sum.err;
        }
}

/* -- dots -- */

enum { TF32_PRECISION = 11 };

/* A factor of a dot, stored so that the dimension over which the dot sums is the last. */
struct dot_factor {
    double *x, *exact, *err; /* the values, and the members `exact` and `err` of their shadows */
    int *lowest;             /* lowest_bit of each value */
    bool has_errors;
    bool *cut; /* cut[i]: rounding to TF32 would change value i */
    uint8_t precision;
    uint32_t birth;
};

struct dot {
    int64_t m, n, k;
    struct dot_factor a, b;
    enum dtype in, out;
    bool is_exact_input; /* the factors are not rounded to TF32 */
    bool has_errors;     /* at least one element of a factor has an error */
};

static int dot_bits(enum dtype in, enum dtype out)
{
    enum { FP8_BITS = 13 };
    return in == DT_f8e4 || in == DT_f8e5 ? FP8_BITS : trace_format(out)->bits;
}

/* Tensor cores align the summands of a dot by their magnitudes. Returns the magnitude that they assume for
 * the product a b. A subnormal factor counts as `least`, the least normal number. */
static double aligned(double a, double b, double least)
{
    return a == 0 || b == 0 ? 0 : fmax(fabs(a), least) * fmax(fabs(b), least);
}

/* Returns a bound of the error of the sum of c and the products of row i of a and column j of b. Sets x->magnitude and
 * x->lowest. */
static double dot_error(const struct dot *d, const double *a, const double *b, int64_t i, int64_t j, double c,
                        struct shadow *x)
{
    const int *la = d->a.lowest + i * d->k, *lb = d->b.lowest + j * d->k;
    const double *ea = d->a.err + i * d->k, *eb = d->b.err + j * d->k;
    double finite = isfinite(c) ? fabs(c) : 0, err = 0, cut = 0, least = ldexp(1, trace_format(d->in)->least);
    bool overflows = false;
    int lowest = lowest_bit(c);
    for (int64_t l = 0; l < d->k; l++) {
        double z = aligned(a[l], b[l], least);
        int low = la[l] + lb[l];
        finite += isfinite(z) ? z : 0;
        overflows |= isinf(z) && isfinite(a[l]) && isfinite(b[l]);
        lowest = low < lowest ? low : lowest;
    }
    int above = finite > 0 && isfinite(finite) ? ilogb(finite) + 1 : 0;
    x->magnitude = (int8_t)(above > INT8_MAX ? INT8_MAX : above < INT8_MIN ? INT8_MIN : above);
    x->lowest = (int16_t)lowest;
    for (int64_t l = 0; d->has_errors && l < d->k; l++)
        err += scaled(ea[l], b[l]) + scaled(eb[l], a[l]) + scaled(ea[l], eb[l]);
    for (int64_t l = 0; !d->is_exact_input && l < d->k; l++)
        if (d->a.cut[i * d->k + l] || d->b.cut[j * d->k + l])
            cut += fabs(a[l] * b[l]);
    if (overflows || finite > trace_format(d->out)->most / 8)
        return INFINITY; /* after an overflow, the result of tensor cores may be an inf, a NaN or a number */
    return err + sum_error(d->out, dot_bits(d->in, d->out), d->k + 1, finite, lowest) + ldexp(cut, -9);
}

static double dot_exact(const struct dot *d, int64_t i, int64_t j)
{
    const double *a = d->a.exact + i * d->k, *b = d->b.exact + j * d->k;
    double sum = 0;
    for (int64_t l = 0; l < d->k; l++)
        sum += a[l] * b[l];
    return sum;
}

/* Reads `rows` rows of `depth` elements from operand k of the dot. The first row begins at element `first` of
 * the operand. In the operand, consecutive rows are row_step elements apart, and consecutive elements of a
 * row are `step` elements apart. */
static struct dot_factor factor_of(struct frame *f, const struct step *s, int k, int64_t first, int64_t rows,
                                   int64_t depth, int64_t row_step, int64_t step)
{
    enum { TF32_BITS = 10 };
    int64_t n = rows * depth;
    struct dot_factor x = {0};
    const struct shadow *shadow = shadows_in(f, s->in[k]) + first;
    char *at = interpreter_hold(f, s, (size_t)n * (3 * sizeof(double) + sizeof(int) + sizeof(bool)));
    x.x = (double *)(void *)at;
    x.exact = x.x + n;
    x.err = x.exact + n;
    x.lowest = (int *)(void *)(x.err + n);
    x.cut = (bool *)(x.lowest + n);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t l = 0; l < depth; l++) {
            int64_t from = r * row_step + l * step, to = r * depth + l;
            double v = number(op_opnd(s->op, k), step_in(f, s, k), first + from);
            x.x[to] = v;
            x.exact[to] = shadow[from].exact;
            x.err[to] = shadow[from].err;
            x.has_errors |= shadow[from].err != 0;
            x.lowest[to] = v == 0 ? 4096 : lowest_bit(v);
            x.cut[to] = v != 0 && isfinite(v) && x.lowest[to] < ilogb(v) - TF32_BITS;
            uint8_t p = shadow[from].precision;
            x.precision = p && (!x.precision || p < x.precision) ? p : x.precision;
            x.birth = x.birth ? x.birth : shadow[from].birth;
        }
    return x;
}

static void dot_group(struct frame *f, const struct step *s, struct dot *d, int64_t g)
{
    const struct float_trace *t = f->launch->trace;
    const struct shadow *acc = shadows_in(f, s->in[2]);
    struct shadow *out = shadows_in(f, s->out[0]);
    for (int64_t i = 0; i < d->m; i++)
        for (int64_t j = 0; j < d->n; j++) {
            int64_t at = (g * d->m + i) * d->n + j;
            double c = number(op_opnd(s->op, 2), step_in(f, s, 2), at),
                   r = number(&s->op->results[0], step_out(f, s), at);
            struct shadow x = {.exact = acc[at].exact,
                               .err = acc[at].err,
                               .precision = acc[at].precision,
                               .birth = acc[at].birth};
            if (t->kind == TRACE_error)
                x.err += dot_error(d, d->a.x + i * d->k, d->b.x + j * d->k, i, j, c, &x);
            else
                x.exact += dot_exact(d, i, j);
            x.birth = x.birth ? x.birth : d->a.birth ? d->a.birth : d->b.birth;
            const struct shadow all[] = {x,
                                         {.precision = d->a.precision},
                                         {.precision = d->b.precision},
                                         {.precision = !d->is_exact_input ? TF32_PRECISION : 0}};
            x.precision = least_precision(all, 4);
            x.err = bounded(d->out, &x, r);
            out[at] = x;
        }
}

static void shadow_dot(struct frame *f, const struct step *s)
{
    const struct type *a = op_opnd(s->op, 0)->type, *r = s->op->results[0].type;
    struct dot d = {.m = r->shape[r->rank - 2], .n = r->shape[r->rank - 1], .k = a->shape[a->rank - 1]};
    d.in = step_dtype(op_opnd(s->op, 0));
    d.out = step_dtype(&s->op->results[0]);
    d.is_exact_input = d.in != DT_f32 || op_int(s->op, ATTR_precision) != PREC_tf32;
    for (int64_t g = 0; g < s->n / (d.m * d.n); g++) {
        d.a = factor_of(f, s, 0, g * d.m * d.k, d.m, d.k, d.k, 1);
        d.b = factor_of(f, s, 1, g * d.k * d.n, d.n, d.k, 1, d.n);
        d.has_errors = d.a.has_errors || d.b.has_errors;
        dot_group(f, s, &d, g);
        interpreter_drop(f);
        interpreter_drop(f);
    }
}

/* Returns how much the error of element i of this add exceeds the error of a usual add. If one summand is the
 * result of a dot, the compiler may use the other summand as the accumulator of this dot. A tensor core then
 * adds the accumulator together with the products of the dot, and rounds differently. If no summand is the
 * result of a dot, returns 0. */
static double dot_sum_error(const struct frame *f, const struct step *s, int64_t i)
{
    double err = 0;
    for (int k = 0; k < 2; k++) {
        const struct op *dot = op_opnd(s->op, k)->def;
        if (!dot || dot->code != OP_dot)
            continue;
        const struct shadow x = shadow_of(f, s, k, i);
        const struct type *a = op_opnd(dot, 0)->type;
        enum dtype t = step_dtype(&s->op->results[0]);
        double c = number(op_opnd(s->op, 1 - k), step_in(f, s, 1 - k), i);
        int lowest = lowest_bit(c) < x.lowest ? lowest_bit(c) : x.lowest;
        double magnitude = (x.lowest < 4096 ? ldexp(1, x.magnitude) : 0) + (isfinite(c) ? fabs(c) : 0);
        err += sum_error(t, dot_bits(type_elem(a)->dtype, t), a->shape[a->rank - 1] + 1, magnitude, lowest);
    }
    return err;
}

/* -- a step -- */

/* Marks the launch as uncertain if another rounding could change the result of a comparison, or of a
 * conversion or bitcast to integers. */
static void check_decision(struct frame *f, const struct step *s)
{
    const struct op *o = s->op;
    bool compares = o->code == OP_cmp,
         converts = o->code == OP_ftos || o->code == OP_ftou || o->code == OP_bitcast;
    const struct shadow *x = shadows_in(f, s->in[0]), *y = compares ? shadows_in(f, s->in[1]) : NULL;
    for (int64_t i = 0; x && i < step_elems(f, s); i++) {
        double a = number(op_opnd(o, 0), step_in(f, s, 0), i), err = x[i].err + (y ? y[i].err : 0);
        if (compares && f->width && (isnan(a) || isnan(number(op_opnd(o, 1), step_in(f, s, 1), i))))
            doubt(f, s); /* if there are several NaNs, it depends on the order which of them an argmax
                          * selects */
        if (err == 0)
            continue;
        if (converts ? o->code == OP_bitcast || trunc(a - err) != trunc(a + err)
                     : !(fabs(a - number(op_opnd(o, 1), step_in(f, s, 1), i)) > err))
            doubt(f, s);
    }
}

static void shadow_result(struct frame *f, const struct step *s, struct shadow *out, int64_t n)
{
    const struct shadow *x = s->nin ? shadows_in(f, s->in[0]) : NULL;
    bool moves = true;
    switch (s->op->code) {
    case OP_broadcast:
    case OP_trans: shadow_of_shape(f, s, out, x); break;
    case OP_splat:
        for (int64_t i = 0; i < n; i++)
            out[i] = x[0];
        break;
    case OP_join:
        for (int64_t i = 0; i < n; i++)
            out[i] = shadows_in(f, s->in[i % 2])[i / 2];
        break;
    case OP_split:
        for (int64_t i = 0; i < n; i++) {
            out[i] = x[2 * i];
            shadows_in(f, s->out[1])[i] = x[2 * i + 1];
        }
        break;
    case OP_gather: shadow_of_gather(f, s, out, x); break;
    case OP_load:
        shadow_of_load(f, s, out);
        moves = false;
        break;
    case OP_dot:
        shadow_dot(f, s);
        mark_births(f, s, out, n);
        return;
    default:
        for (int64_t i = 0; i < n; i++) {
            double r = number(&s->op->results[0], step_out(f, s), i);
            out[i] = op_has(s->op, ELEMENTWISE) ? element(f, s, i, r) : (struct shadow){.exact = r};
            if (s->op->code == OP_add && f->launch->trace->kind == TRACE_error && !f->width)
                out[i].err += dot_sum_error(f, s, i);
        }
        moves = false;
    }
    if (!moves)
        mark_births(f, s, out, n);
}

void shadow_step(struct frame *f, const struct step *s)
{
    const struct op *o = s->op;
    enum family family = op_info[o->code].family;
    if (o->code == OP_barrier)
        f->launch->trace->ordered = f->launch->trace->nstores;
    if (o->code == OP_reduce || o->code == OP_scan) {
        shadow_reduce(f, s);
        if (shadows_in(f, s->out[0]))
            mark_births(f, s, shadows_in(f, s->out[0]), type_elems(o->results[0].type));
    }
    if (family == FAMILY_control || (family == FAMILY_reduce && o->code != OP_histogram))
        return;
    if (f->launch->trace->kind == TRACE_error && s->nin &&
        (o->code == OP_cmp || o->code == OP_ftos || o->code == OP_ftou || (o->code == OP_bitcast && s->nout)))
        check_decision(f, s);
    struct shadow *out = s->nout ? shadows_in(f, s->out[0]) : NULL;
    if (out)
        shadow_result(f, s, out, step_elems(f, s));
}

/* -- the debugger's search for NaNs, which needs no shadows -- */

/* Returns whether the elements from which a dot computes element i of its result contain a NaN: the
 * accumulator, a row of the first factor, and a column of the second. */
static bool takes_nan(const struct frame *f, const struct step *s, int64_t i)
{
    const struct type *a = op_opnd(s->op, 0)->type, *r = s->op->results[0].type;
    int64_t n = r->shape[r->rank - 1], depth = a->shape[a->rank - 1], row = i / n,
            group = row / r->shape[r->rank - 2];
    bool any = isnan(number(op_opnd(s->op, 2), step_in(f, s, 2), i));
    for (int64_t l = 0; l < depth && !any; l++)
        any = isnan(number(op_opnd(s->op, 0), step_in(f, s, 0), row * depth + l)) ||
              isnan(number(op_opnd(s->op, 1), step_in(f, s, 1), (group * depth + l) * n + i % n));
    return any;
}

/* Element i of the step's result is a NaN. Returns whether the step has made it. A load has made the NaNs
 * that it reads from memory, but not the NaNs of its operand `other`. */
static bool is_new_nan(const struct frame *f, const struct step *s, int64_t i)
{
    const char *mask = s->op->code == OP_load ? step_in(f, s, 1) : NULL;
    if (s->op->code == OP_dot)
        return !takes_nan(f, s, i);
    return (!mask || mask[i]) && is_born(f, s, i, NAN);
}

void shadow_find_nan(struct frame *f, const struct step *s)
{
    enum family family = op_info[s->op->code].family;
    if (f->width || !s->nout || !type_is_float(s->op->results[0].type) || family == FAMILY_control ||
        family == FAMILY_shape || family == FAMILY_create)
        return;
    for (int64_t i = 0; i < type_elems(s->op->results[0].type); i++)
        if (isnan(number(&s->op->results[0], step_out(f, s), i)) && is_new_nan(f, s, i)) {
            interpreter_tell_nan(f, s, i);
            return;
        }
}
