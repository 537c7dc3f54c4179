/* SPDX-License-Identifier: MIT */
/* overflow.c: finds accesses to addresses that are wrong because 32-bit arithmetic overflowed.
 *
 *     row = pid * 40000                    overflows: an error only if an access uses the address
 *     x = tl.load(x_ptr + row + cols, m)   recomputes the addresses of enabled elements without overflow
 *
 * Decoding marks the i32 additions, subtractions, negations, multiplications and left shifts from which
 * addresses are computed. The steps of the marked ops record in f->wrapped whether an overflow has happened,
 * which costs almost no time. Accesses are checked only after an overflow. Decoding does not follow the
 * operands of a remainder, a bitwise operation, an unsigned widening or a comparison. Therefore, hash
 * functions, which overflow on purpose, cause no errors. */
#include "runtime/devices/interpreter/interpreter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

__extension__ typedef __int128 wide;

/* -- values that addresses depend on -- */

static bool is_arithmetic(const struct op *o)
{
    return o->code == OP_add || o->code == OP_sub || o->code == OP_mul || o->code == OP_neg ||
           o->code == OP_shl;
}

static bool moves_elements(const struct op *o)
{
    switch (o->code) {
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims:
    case OP_reshape:
    case OP_trans:
    case OP_hint:
    case OP_join:
    case OP_split: return true;
    default: return false;
    }
}

static bool is_followed(const struct op *o)
{
    return moves_elements(o) || o->code == OP_sext || o->code == OP_select || o->code == OP_addptr ||
           (is_arithmetic(o) && type_is_int(o->results[0].type));
}

static void mark(struct map *seen, const struct value *v)
{
    if (!v || map_get_ptr(seen, v))
        return;
    *map_at_ptr(seen, v) = seen;
    const struct op *o = v->def ? v->def : v->block->parent;
    if (!o)
        return;
    /* A pointer that is a result or an argument of a loop or an `if` counts as computed from all initial and yielded
     * pointers of this op. */
    bool carries = o->nregions > 0 && type_is_ptr(v->type);
    for (int i = 0; (carries || (v->def && is_followed(o))) && i < o->nopnds; i++)
        if (!carries || type_is_ptr(op_opnd(o, i)->type))
            mark(seen, op_opnd(o, i));
    for (int r = 0; carries && r < o->nregions; r++) {
        const struct op *end = block_terminator(o->regions[r]);
        for (int i = 0; end && i < end->nopnds; i++)
            if (type_is_ptr(op_opnd(end, i)->type))
                mark(seen, op_opnd(end, i));
    }
}

void interpreter_mark_addresses(struct map *marked, const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (op_info[o->code].family == FAMILY_memory)
            mark(marked, op_opnd(o, 0));
        for (int i = 0; i < o->nregions; i++)
            interpreter_mark_addresses(marked, o->regions[i]);
    }
}

bool interpreter_may_wrap(const struct map *marked, const struct op *o)
{
    return is_arithmetic(o) && type_is_int(o->results[0].type) && type_elem_bits(o->results[0].type) == 32 &&
           map_get_ptr(marked, &o->results[0]);
}

/* -- detecting overflow -- */

bool interpreter_wraps(const struct frame *f, const struct step *s)
{
    const int32_t *x = (const void *)step_in(f, s, 0), *y = (const void *)step_in(f, s, 1),
                  *r = (const void *)step_out(f, s);
    int32_t any = 0;
    switch (s->op->code) {
    case OP_add:
        for (int64_t i = 0; i < s->n; i++)
            any |= (x[i] ^ r[i]) & (y[i] ^ r[i]);
        return any < 0;
    case OP_sub:
        for (int64_t i = 0; i < s->n; i++)
            any |= (x[i] ^ y[i]) & (x[i] ^ r[i]);
        return any < 0;
    case OP_mul:
        for (int64_t i = 0; i < s->n; i++)
            any |= (int64_t)x[i] * y[i] != r[i];
        return any;
    case OP_shl:
        for (int64_t i = 0; i < s->n; i++)
            any |= y[i] < 0 || y[i] > 31 ? x[i] != 0 : (int64_t)x[i] * ((int64_t)1 << y[i]) != r[i];
        return any;
    default:
        for (int64_t i = 0; i < s->n; i++)
            any |= x[i] == INT32_MIN;
        return any;
    }
}

/* -- recomputing without overflow -- */

static wide read_elem(const struct frame *f, const struct value *v, int64_t i)
{
    void **slot = map_get_ptr(&f->code->slots, v);
    int bytes = type_elem_bytes(v->type);
    int64_t x = 0;
    memcpy(&x, f->mem + (size_t)(uintptr_t)*slot - 1 + i * bytes, (size_t)bytes);
    if (type_is_ptr(v->type))
        return (uint64_t)x;
    return type_elem_bits(v->type) == 1 ? x : (int64_t)((uint64_t)x << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

/* Returns the index of the operand's element that a broadcast or trans copies to element i of its result. */
static int64_t strided_source(const struct op *o, int64_t i)
{
    const struct type *from = op_opnd(o, 0)->type, *to = o->results[0].type;
    const struct attr *order = op_attr(o, ATTR_order);
    int64_t stride[RANK_MAX] = {0}, n = 1, at = 0;
    for (int d = from->rank - 1; d >= 0; d--) {
        stride[d] = from->shape[d] == 1 ? 0 : n;
        n *= from->shape[d];
    }
    for (int d = to->rank - 1; d >= 0; d--) {
        at += i % to->shape[d] * stride[o->code == OP_trans && order ? order->list[d] : d];
        i /= to->shape[d];
    }
    return at;
}

/* v is the result of an op that moves elements. Returns the index of the element that becomes element i of v,
 * and sets *opnd to the number of the operand that contains this element. */
static int64_t source(const struct value *v, int64_t i, int *opnd)
{
    const struct op *o = v->def;
    *opnd = o->code == OP_join ? (int)(i % 2) : 0;
    switch (o->code) {
    case OP_splat: return 0;
    case OP_join: return i / 2;
    case OP_split: return 2 * i + v->index;
    case OP_broadcast:
    case OP_trans: return strided_source(o, i);
    default: return i;
    }
}

static wide exact(const struct frame *f, const struct value *v, int64_t i);

static wide exact_arithmetic(const struct frame *f, const struct op *o, int64_t i)
{
    wide x = exact(f, op_opnd(o, 0), i), y = op_opnd(o, 1) ? exact(f, op_opnd(o, 1), i) : 0, r = 0;
    switch (o->code) {
    case OP_add: r = x + y; break;
    case OP_sub: r = x - y; break;
    case OP_neg: r = -x; break;
    case OP_shl: r = y < 0 || y > 63 ? 0 : x * ((wide)1 << y); break;
    default: r = x * y; break;
    }
    /* assumes that 64-bit arithmetic does not overflow */
    return type_elem_bits(o->results[0].type) < 64 ? r : (int64_t)r;
}

static wide exact(const struct frame *f, const struct value *v, int64_t i)
{
    const struct op *o = v->def;
    int k;
    if (!o || !is_followed(o))
        return read_elem(f, v, i);
    if (moves_elements(o)) {
        i = source(v, i, &k);
        return exact(f, op_opnd(o, k), i);
    }
    if (o->code == OP_sext)
        return exact(f, op_opnd(o, 0), i);
    if (o->code == OP_select)
        return exact(f, op_opnd(o, read_elem(f, op_opnd(o, 0), i) ? 1 : 2), i);
    if (o->code == OP_addptr)
        return (uint64_t)(exact(f, op_opnd(o, 0), i) +
                          exact(f, op_opnd(o, 1), i) * type_elem_bytes(type_elem(v->type)->elem));
    return exact_arithmetic(f, o, i);
}

/* Returns the first op that overflowed in the computation of element i of v; NULL if no op did. Sets *at to
 * the index of the overflowed element in the result of this op. */
static const struct op *find_wrap(const struct frame *f, const struct value *v, int64_t i, int64_t *at)
{
    const struct op *o = v->def;
    int k;
    if (!o || !is_followed(o))
        return NULL;
    if (moves_elements(o)) {
        i = source(v, i, &k);
        return find_wrap(f, op_opnd(o, k), i, at);
    }
    int chosen = o->code == OP_select ? (read_elem(f, op_opnd(o, 0), i) ? 1 : 2) : -1;
    for (k = 0; k < o->nopnds; k++) {
        const struct op *found = chosen < 0 || k == chosen ? find_wrap(f, op_opnd(o, k), i, at) : NULL;
        if (found)
            return found;
    }
    *at = i;
    return is_arithmetic(o) && exact(f, v, i) != read_elem(f, v, i) ? o : NULL;
}

static void describe(const struct frame *f, const struct op *o, int64_t i, char *out, size_t room)
{
    static const char *const signs[OP_count] = {
        [OP_add] = "+", [OP_sub] = "-", [OP_mul] = "*", [OP_shl] = "<<"};
    long long x = (long long)read_elem(f, op_opnd(o, 0), i), r = (long long)read_elem(f, &o->results[0], i);
    if (o->code == OP_neg)
        snprintf(out, room, "-(%lld) became %lld", x, r);
    else
        snprintf(out, room, "%lld %s %lld became %lld", x, signs[o->code],
                 (long long)read_elem(f, op_opnd(o, 1), i), r);
}

void interpreter_check_wraps(struct frame *f, const struct step *s, const uint64_t *p, const char *mask)
{
    const struct value *v = op_opnd(s->op, 0);
    for (int64_t i = 0, at; i < s->n; i++) {
        const struct op *o;
        if ((mask && !mask[i]) || exact(f, v, i) == (wide)p[i] || !(o = find_wrap(f, v, i, &at)))
            continue;
        char element[100], what[100], place[400] = "elsewhere";
        const struct cpu_buffer *b = s->origin >= 0 ? f->homes[s->origin] : NULL;
        interpreter_element(element, sizeof element, v->type, i);
        describe(f, o, at, what, sizeof what);
        if (b)
            interpreter_place(f, s, b, (uint64_t)exact(f, v, i),
                              (uint64_t)type_elem_bytes(type_elem(v->type)->elem), place, sizeof place);
        interpreter_fail_at(f, o->loc, ERR_address_overflow, "%s, and %s at line %u should be %s", what,
                            element, (unsigned)s->op->loc.line, place);
    }
}
