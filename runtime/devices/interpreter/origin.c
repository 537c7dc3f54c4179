/* SPDX-License-Identifier: MIT */
/* origin.c: explains the origin of a value. Follows the computation of one element of a result back to a
 * tensor, an argument or a constant, and prints the values of the elements on this path.
 *
 *     softmax.py:12   exp(90.5) is inf
 *                     line 11: 90.5 - 0 is 90.5
 *                     line 9: index 3 of 'x', which is float32[8], is 90.5
 *
 * If an op has several operands, the path continues with the operand that best explains the result: a divisor that is
 * 0; if there is none, a NaN; then an infinity; then the operand with the largest magnitude. */
#include "runtime/devices/interpreter/interpreter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct path {
    struct frame *f;
    char *out;
    size_t room, used;
    /* the argument of a loop that the path has already followed back to its yielded value; NULL: none */
    const struct value *carried;
};

enum { STEPS_MOST = 24 };

static void put(struct path *p, const char *text)
{
    if (p->used + 1 < p->room) {
        int n = snprintf(p->out + p->used, p->room - p->used, "%s", text);
        p->used += (size_t)n < p->room - p->used ? (size_t)n : p->room - p->used - 1;
    }
}

static const char *slot(const struct path *p, const struct value *v)
{
    void **at = map_get_ptr((struct map *)(uintptr_t)&p->f->code->slots, v);
    return at ? p->f->mem + ((size_t)(uintptr_t)*at - 1) : NULL;
}

static void format(const struct path *p, const struct value *v, int64_t i, char *out, size_t room)
{
    const char *at = slot(p, v);
    uint64_t bits = 0;
    int bytes = type_elem_bytes(v->type);
    snprintf(out, room, "?");
    if (!at)
        return;
    memcpy(&bits, at + i * bytes, (size_t)bytes);
    if (type_is_float(v->type)) {
        double x = bits_to_double(type_elem(v->type)->dtype, bits);
        snprintf(out, room, "%.6g", isnan(x) ? NAN : x); /* prints a NaN without a sign */
    } else {
        interpreter_value(out, room, v->type, at + i * bytes, false, false);
    }
}

static double as_number(const struct path *p, const struct value *v, int64_t i)
{
    const char *at = slot(p, v);
    uint64_t bits = 0;
    int bytes = type_elem_bytes(v->type);
    if (!at || !type_is_float(v->type))
        return 0;
    memcpy(&bits, at + i * bytes, (size_t)bytes);
    return bits_to_double(type_elem(v->type)->dtype, bits);
}

/* -- which element of which operand -- */

/* Returns how well an operand of value x explains a result: a NaN has the greatest weight, then an infinity,
 * then the number with the largest magnitude. */
static double weight(double x)
{
    return isnan(x) ? INFINITY : isinf(x) ? 0x1p1000 : fabs(x);
}

static int64_t through_shape(const struct op *o, int64_t i)
{
    const struct type *to = o->results[0].type, *from = op_opnd(o, 0)->type;
    const struct attr *order = op_attr(o, ATTR_order);
    int64_t stride[RANK_MAX], at = 0, inner = type_elems(to);
    interpreter_strides(from, stride);
    for (int d = 0; d < to->rank; d++) {
        inner /= to->shape[d];
        int64_t index = i / inner % to->shape[d];
        at += o->code == OP_trans   ? index * stride[order ? order->list[d] : d]
              : from->shape[d] == 1 ? 0
                                    : index * stride[d];
    }
    return at;
}

/* Returns the index of the element of operand 0 that best explains element i of the result of a reduction or
 * scan. For a scan, considers only the elements that are combined into element i. */
static int64_t through_reduce(const struct path *p, const struct op *o, int64_t i)
{
    const struct type *t = op_opnd(o, 0)->type;
    int axis = (int)op_int(o, ATTR_axis);
    int64_t inner = 1, along = t->shape[axis], best = -1;
    double most = -1;
    for (int d = axis + 1; d < t->rank; d++)
        inner *= t->shape[d];
    bool is_scan = o->code == OP_scan, is_reverse = is_scan && op_int(o, ATTR_reverse);
    int64_t here = i / inner % along, outer = is_scan ? i / inner / along : i / inner;
    int64_t first = is_reverse ? here : 0, last = is_scan && !is_reverse ? here : along - 1;
    for (int64_t k = first; k <= last; k++) {
        int64_t at = (outer * along + k) * inner + i % inner;
        double w = weight(as_number(p, op_opnd(o, 0), at));
        if (w > most || best < 0)
            best = at, most = w;
    }
    return best;
}

static void through_dot(const struct path *p, const struct op *o, int64_t i, int *k, int64_t *at)
{
    const struct type *a = op_opnd(o, 0)->type, *r = o->results[0].type;
    int64_t n = r->shape[r->rank - 1], depth = a->shape[a->rank - 1], row = i / n,
            group = row / r->shape[r->rank - 2];
    double most = weight(as_number(p, op_opnd(o, 2), i));
    *k = 2;
    *at = i;
    for (int64_t l = 0; l < depth; l++) {
        double x = as_number(p, op_opnd(o, 0), row * depth + l),
               y = as_number(p, op_opnd(o, 1), (group * depth + l) * n + i % n);
        double w = weight(isnan(x) || isnan(y) ? NAN : x * y);
        if (w <= most)
            continue;
        most = w;
        *k = weight(x) >= weight(y) ? 0 : 1;
        *at = *k == 0 ? row * depth + l : (group * depth + l) * n + i % n;
    }
}

static void through_arithmetic(const struct path *p, const struct op *o, int64_t i, int *k)
{
    double most = -1;
    *k = 0;
    if (o->code == OP_select) {
        const char *c = slot(p, op_opnd(o, 0));
        *k = c && c[i] ? 1 : 2;
        return;
    }
    if (o->code == OP_fdiv && as_number(p, op_opnd(o, 1), i) == 0) {
        *k = 1;
        return;
    }
    for (int x = 0; x < o->nopnds; x++) {
        double w = op_opnd(o, x) ? weight(as_number(p, op_opnd(o, x), i)) : -1;
        if (w > most)
            *k = x, most = w;
    }
}

/* Finds the element of an operand that best explains element *i of the result v. Sets *k to the operand's number, and
 * *i to the index of the found element. Returns false if the path ends at the op that computes v. */
static bool operand_of(const struct path *p, const struct value *v, int *k, int64_t *i)
{
    const struct op *o = v->def;
    *k = 0;
    if (o->nopnds == 0 || o->code == OP_load)
        return false;
    switch (o->code) {
    case OP_splat: *i = 0; return true;
    case OP_broadcast:
    case OP_trans: *i = through_shape(o, *i); return true;
    case OP_expand_dims:
    case OP_reshape:
    case OP_hint: return true;
    case OP_join: *k = (int)(*i % 2), *i /= 2; return true;
    case OP_split: *i = 2 * *i + v->index; return true;
    case OP_reduce:
    case OP_scan: *k = v->index < o->nopnds ? v->index : 0, *i = through_reduce(p, o, *i); return true;
    case OP_dot: through_dot(p, o, *i, k, i); return true;
    default:
        if (!op_has(o, ELEMENTWISE))
            return false;
        through_arithmetic(p, o, *i, k);
        return true;
    }
}

/* -- text -- */

static const char *sign_of(enum opcode code)
{
    switch (code) {
    case OP_add:
    case OP_fadd: return "+";
    case OP_sub:
    case OP_fsub: return "-";
    case OP_mul:
    case OP_fmul: return "*";
    case OP_fdiv: return "/";
    default: return NULL;
    }
}

static bool is_silent(enum opcode code)
{
    return code == OP_splat || code == OP_broadcast || code == OP_expand_dims || code == OP_reshape ||
           code == OP_hint || code == OP_trans || code == OP_fext;
}

/* Writes a description such as "0 / 0 is nan", "exp(90) is inf" or "reduce gives inf". */
static void describe(struct path *p, const struct value *v, int64_t i)
{
    const struct op *o = v->def;
    char r[40], x[40] = "", y[40] = "", text[200];
    format(p, v, i, r, sizeof r);
    if (sign_of(o->code)) {
        format(p, op_opnd(o, 0), i, x, sizeof x);
        format(p, op_opnd(o, 1), i, y, sizeof y);
        snprintf(text, sizeof text, "%s %s %s is %s", x, sign_of(o->code), y, r);
    } else if (op_has(o, ELEMENTWISE) && o->nopnds == 1) {
        format(p, op_opnd(o, 0), i, x, sizeof x);
        const char *name = o->code == OP_ftrunc ? dtype_info[step_dtype(v)].name : op_info[o->code].name;
        snprintf(text, sizeof text, "%s(%s) is %s", name, x, r);
    } else {
        snprintf(text, sizeof text, "%s gives %s", o->code == OP_const ? "a constant" : op_info[o->code].name,
                 r);
    }
    put(p, text);
}

static void put_line(struct path *p, struct loc at)
{
    char text[40];
    if (p->used) {
        snprintf(text, sizeof text, "\n    line %u: ", (unsigned)at.line);
        put(p, text);
    }
}

static void put_load(struct path *p, const struct value *v, int64_t i)
{
    const struct op *o = v->def;
    const char *mask = op_opnd(o, 1) ? slot(p, op_opnd(o, 1)) : NULL, *pointers = slot(p, op_opnd(o, 0));
    struct frame *f = p->f;
    char value[40], place[300], text[400];
    uint64_t at;
    format(p, v, i, value, sizeof value);
    put_line(p, o->loc);
    if (!pointers || (mask && !mask[i])) {
        snprintf(text, sizeof text, "the mask is off here, and `other` is %s", value);
        put(p, text);
        return;
    }
    memcpy(&at, pointers + i * 8, sizeof at);
    const struct cpu_buffer *b = cpu_buffer_at(f->launch->buffers, f->launch->nbuffers, at);
    const struct step s = {.op = o, .origin = ORIGIN_any};
    if (!b)
        return;
    interpreter_place(f, &s, b, at, (uint64_t)type_elem_bytes(v->type), place, sizeof place);
    snprintf(text, sizeof text, "%s, is %s", place, value);
    put(p, text);
}

/* Returns whether element i of x and element i of y have the same bits. */
static bool is_same(const struct path *p, const struct value *x, const struct value *y, int64_t i)
{
    const char *a = slot(p, x), *b = slot(p, y);
    size_t bytes = (size_t)type_elem_bytes(x->type);
    return a && b && memcmp(a + (size_t)i * bytes, b + (size_t)i * bytes, bytes) == 0;
}

/* Describes the block argument v: a parameter or a value that a loop carries. Returns the next value on the
 * path; NULL if the path ends here. The path follows a carried value only once, because only the values of
 * the current iteration are known. */
static const struct value *follow_argument(struct path *p, const struct value *v, int64_t i)
{
    const struct op *o = v->block->parent;
    char r[40], text[120];
    format(p, v, i, r, sizeof r);
    if (!o || (o->code != OP_for && o->code != OP_while)) {
        snprintf(text, sizeof text, "'%s' is %s", v->name ? v->name : "an argument", r);
        if (!o)
            put(p, p->used ? "\n    " : ""), put(p, text);
        return NULL;
    }
    if (o->code == OP_for && v->index > 0 && is_same(p, v, op_opnd(o, v->index + 2), i))
        return op_opnd(o, v->index + 2); /* if the argument still has its initial value, the path goes on with
                                          * the initial value */
    put_line(p, o->loc);
    snprintf(text, sizeof text, "the loop carries %s", r);
    put(p, text);
    if (p->carried == v)
        return NULL;
    p->carried = v;
    const struct op *end = block_terminator(o->code == OP_for ? v->block : o->regions[1]);
    int index = o->code == OP_for ? v->index - 1 : v->index;
    return end && index >= 0 && index < end->nopnds ? op_opnd(end, index) : NULL;
}

static void follow(struct path *p, const struct value *v, int64_t i)
{
    for (int steps = 0; v && steps < STEPS_MOST && p->used + 100 < p->room; steps++) {
        const struct op *o = v->def;
        int k;
        if (!o) {
            v = follow_argument(p, v, i);
            continue;
        }
        if (o->code == OP_load) {
            put_load(p, v, i);
            return;
        }
        if (o->code == OP_if || o->code == OP_for || o->code == OP_while) {
            const struct op *end = block_terminator(o->regions[0]);
            int index = v->index + (o->code == OP_while);
            v = end && index < end->nopnds ? op_opnd(end, index) : NULL;
            continue;
        }
        if (!is_silent(o->code)) {
            put_line(p, o->loc);
            describe(p, v, i);
        }
        if (!operand_of(p, v, &k, &i))
            return;
        v = op_opnd(o, k);
    }
}

void interpreter_explain(struct frame *f, const struct step *s, int64_t i, char *out, size_t room)
{
    struct path p = {.f = f, .out = out, .room = room};
    char head[120], where[100];
    interpreter_element(where, sizeof where, s->op->results[0].type, i);
    snprintf(head, sizeof head, "%s: ", type_is_tile(s->op->results[0].type) ? where : "");
    if (f->width == 0 && type_is_tile(s->op->results[0].type))
        put(&p, head);
    if (s->op->code == OP_load) {
        put_load(&p, &s->op->results[0], i);
        return;
    }
    describe(&p, &s->op->results[0], i);
    int k;
    int64_t at = i;
    if (operand_of(&p, &s->op->results[0], &k, &at))
        follow(&p, op_opnd(s->op, k), at);
}
