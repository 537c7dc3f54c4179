/* SPDX-License-Identifier: MIT */
/* memory.c: executes loads, stores and atomics. Every address is checked before it is used.
 *
 *     x_ptr + offsets  ─► decoding finds the origin of these pointers, parameter x_ptr
 *                      ─► each address must be in x_ptr's tensor; an address in another tensor is an error
 *
 * A pointer may point into any tensor if it may be computed from several parameters, or is computed from a
 * loaded number. */
#include "runtime/devices/interpreter/interpreter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- origins of pointers -- */

static int meet(int a, int b)
{
    if (a == ORIGIN_none || a == b)
        return b;
    return b == ORIGIN_none ? a : ORIGIN_any;
}

static int origin(struct map *seen, const struct value *v);

static int yielded(struct map *seen, const struct block *b, int i)
{
    const struct op *end = block_terminator(b);
    return end && i < end->nopnds ? origin(seen, op_opnd(end, i)) : ORIGIN_none;
}

/* Returns the origin of a block argument. A kernel's parameter is its own origin. The origin of a loop-carried pointer
 * is the common origin of its initial and yielded values, or ORIGIN_any if their origins differ. */
static int argument_origin(struct map *seen, const struct value *v)
{
    const struct op *o = v->block->parent;
    if (!o)
        return v->index;
    if (o->code == OP_for)
        return meet(origin(seen, op_opnd(o, v->index + 2)), yielded(seen, v->block, v->index - 1));
    if (o->code == OP_while && v->block == o->regions[0])
        return meet(origin(seen, op_opnd(o, v->index)), yielded(seen, o->regions[1], v->index));
    return o->code == OP_while ? yielded(seen, o->regions[0], v->index + 1) : ORIGIN_any;
}

static int result_origin(struct map *seen, const struct value *v)
{
    const struct op *o = v->def;
    switch (o->code) {
    case OP_addptr:
    case OP_splat:
    case OP_broadcast:
    case OP_expand_dims:
    case OP_reshape:
    case OP_trans:
    case OP_hint:
    case OP_gather:
    case OP_split: return origin(seen, op_opnd(o, 0));
    case OP_bitcast: return type_is_ptr(op_opnd(o, 0)->type) ? origin(seen, op_opnd(o, 0)) : ORIGIN_any;
    case OP_join: return meet(origin(seen, op_opnd(o, 0)), origin(seen, op_opnd(o, 1)));
    case OP_select: return meet(origin(seen, op_opnd(o, 1)), origin(seen, op_opnd(o, 2)));
    case OP_if: return meet(yielded(seen, o->regions[0], v->index), yielded(seen, o->regions[1], v->index));
    case OP_for: return meet(origin(seen, op_opnd(o, v->index + 3)), yielded(seen, o->regions[0], v->index));
    case OP_while: return yielded(seen, o->regions[0], v->index + 1);
    default: return ORIGIN_any;
    }
}

static int origin(struct map *seen, const struct value *v)
{
    if (map_get_ptr(seen, v))
        return ORIGIN_none;
    *map_at_ptr(seen, v) = seen;
    return v->def ? result_origin(seen, v) : argument_origin(seen, v);
}

int interpreter_origin(struct arena *a, const struct value *pointer)
{
    struct map seen;
    map_init(&seen, a);
    int i = origin(&seen, pointer);
    return i == ORIGIN_none ? ORIGIN_any : i;
}

/* -- bounds -- */

/* Returns the only buffer in which an access at `at` can be valid; NULL if there is none. If the pointer was
 * computed from a known parameter (s->origin) that points into a buffer, this is the parameter's buffer.
 * Otherwise, it is the last buffer that begins at or below `at`. The caller checks the bounds. */
static const struct cpu_buffer *home(struct frame *f, const struct step *s, uint64_t at, uint64_t bytes)
{
    const struct cpu_buffer *b = s->origin >= 0 ? f->homes[s->origin] : NULL;
    if (b)
        return b;
    if (!cpu_is_inside(f->last, at, bytes))
        f->last = cpu_buffer_at(f->launch->buffers, f->launch->nbuffers, at);
    return f->last;
}

void interpreter_element(char *out, size_t room, const struct type *t, int64_t i)
{
    int64_t inner = type_elems(t);
    size_t used = 0;
    if (!type_is_tile(t)) {
        snprintf(out, room, "the pointer");
        return;
    }
    if (t->rank == 1) {
        snprintf(out, room, "element %" PRId64 " of the tile", i);
        return;
    }
    used = (size_t)snprintf(out, room, "element (");
    for (int d = 0; d < t->rank && used < room; d++) {
        inner /= t->shape[d];
        used +=
            (size_t)snprintf(out + used, room - used, "%s%d", d ? ", " : "", (int)(i / inner % t->shape[d]));
    }
    if (used < room)
        snprintf(out + used, room - used, ") of the tile");
}

static int64_t index_in(uint64_t base, uint64_t at, uint64_t bytes)
{
    int64_t d = (int64_t)(at - base), n = (int64_t)bytes;
    return d >= 0 ? d / n : -((-d + n - 1) / n);
}

/* Returns the number of a parameter that points into b, preferably the one from which the step's pointers are
 * computed; -1 if there is none. */
static int parameter_of(const struct frame *f, const struct step *s, const struct cpu_buffer *b)
{
    const struct func *func = f->launch->func;
    if (s->origin >= 0 && s->origin < func->params.n && f->homes[s->origin] == b)
        return s->origin;
    for (int i = 0; i < func->params.n; i++)
        if (b && f->homes[i] == b)
            return i;
    return -1;
}

/* Sets `index` to the indices of the element that is `flat` elements after the tensor's first element:
 * divides `flat` by the strides, the largest first. The indices may be outside of the shape. Returns false if
 * a remainder is left. */
static bool unravel(const struct launch_tensor *t, int64_t flat, int64_t *index)
{
    bool done[8] = {false};
    for (int k = 0; k < t->rank; k++) {
        int widest = -1;
        for (int d = 0; d < t->rank; d++)
            if (!done[d] && (widest < 0 || t->stride[d] > t->stride[widest]))
                widest = d;
        if (widest < 0)
            break;
        int64_t stride = t->stride[widest];
        done[widest] = true;
        index[widest] = stride <= 0 ? 0 : flat >= 0 ? flat / stride : -((-flat + stride - 1) / stride);
        flat -= index[widest] * stride;
    }
    return flat == 0;
}

static void put_list(char *out, size_t room, int n, const int64_t *at)
{
    size_t used = 0;
    for (int d = 0; d < n && used < room; d++)
        used += (size_t)snprintf(out + used, room - used, "%s%" PRId64, d ? ", " : "", at[d]);
}

void interpreter_place(const struct frame *f, const struct step *s, const struct cpu_buffer *b, uint64_t at,
                       uint64_t bytes, char *out, size_t room)
{
    int i = parameter_of(f, s, b);
    const char *name = i >= 0 ? f->launch->func->params.at[i].name : b->name ? b->name : "a tensor";
    const struct launch_tensor *t = i >= 0 && f->launch->tensors ? &f->launch->tensors[i] : NULL;
    int64_t index[8], elems = 1, flat;
    char shape[120] = "", place[120] = "", view[80] = "";
    if (!t || !t->dtype || t->elem_bytes != bytes || t->rank > 8) {
        snprintf(out, room, "index %" PRId64 " of '%s', which has %" PRIu64, index_in(b->base, at, bytes),
                 name, b->bytes / bytes);
        return;
    }
    flat = index_in(f->launch->args[i], at, bytes);
    if (t->rank > 1 && unravel(t, flat, index)) {
        snprintf(place, sizeof place, ", [");
        put_list(place + 3, sizeof place - 6, t->rank, index);
        strcat(place, "],");
    }
    put_list(shape, sizeof shape, t->rank, t->shape);
    for (int d = 0; d < t->rank; d++)
        elems *= t->shape[d];
    if (b->base != f->launch->args[i] || (uint64_t)elems * bytes != b->bytes)
        snprintf(view, sizeof view, ", a view that begins at %" PRId64 " of %" PRIu64,
                 index_in(b->base, f->launch->args[i], bytes), b->bytes / bytes);
    snprintf(out, room, "index %" PRId64 "%s of '%s', which is %s[%s]%s", flat, place, name, t->dtype, shape,
             view);
}

/* Ends the launch with a report of the first element that is out of bounds, and of the number of such
 * elements. */
static _Noreturn void out_of_bounds(struct frame *f, const struct step *s, const struct interp_access *a)
{
    int64_t first = -1, outside = 0, on = 0;
    for (int64_t i = 0; i < a->n; i++) {
        if (a->mask && !a->mask[i])
            continue;
        on++;
        if (cpu_is_inside(home(f, s, a->p[i], a->bytes), a->p[i], a->bytes))
            continue;
        outside++;
        first = first < 0 ? i : first;
    }
    char element[100], place[400], other[100] = "", count[100] = "", value[80] = "";
    uint64_t at = a->p[first];
    const struct cpu_buffer *b = home(f, s, at, a->bytes),
                            *there = cpu_buffer_at(f->launch->buffers, f->launch->nbuffers, at);
    interpreter_element(element, sizeof element, op_opnd(s->op, 0)->type, first);
    if (s->op->code == OP_store) {
        const struct value *v = op_opnd(s->op, 1);
        snprintf(value, sizeof value, ", to store ");
        interpreter_value(value + 11, sizeof value - 11, v->type,
                          step_in(f, s, 1) + first * type_elem_bytes(v->type), false, false);
    }
    if (a->n > 1)
        snprintf(count, sizeof count, "; %" PRId64 " of the %" PRId64 " elements accessed are outside",
                 outside, on);
    if (!b)
        interpreter_fail(f, s, ERR_out_of_bounds, "%s is address 0x%" PRIx64 ", below every tensor%s%s",
                         element, at, value, count);
    interpreter_place(f, s, b, at, a->bytes, place, sizeof place);
    if (there != b && cpu_is_inside(there, at, a->bytes))
        snprintf(other, sizeof other, ", and is index %" PRId64 " of '%s'",
                 index_in(there->base, at, a->bytes), there->name ? there->name : "a tensor");
    interpreter_fail(f, s, ERR_out_of_bounds, "%s is %s%s%s%s", element, place, other, value, count);
}

/* Returns the number of consecutive elements, from element i on, that are contiguous in memory and enabled by
 * the mask. Element i is enabled. */
static int64_t run_length(const struct interp_access *a, int64_t i)
{
    int64_t k = i + 1;
    while (k < a->n && a->p[k] == a->p[k - 1] + a->bytes && (!a->mask || a->mask[k]))
        k++;
    return k - i;
}

/* Checks that elements i .. i + run - 1, which are contiguous, are inside their buffer and aligned. */
static void check(struct frame *f, const struct step *s, struct interp_access *a, int64_t i, int64_t run)
{
    a->home = home(f, s, a->p[i], a->bytes);
    if (!cpu_is_inside(a->home, a->p[i], (uint64_t)run * a->bytes))
        out_of_bounds(f, s, a);
    if (a->p[i] & (a->bytes - 1)) {
        char element[100];
        interpreter_element(element, sizeof element, op_opnd(s->op, 0)->type, i);
        interpreter_fail(f, s, ERR_misaligned, "%s is address 0x%" PRIx64 ", no multiple of %" PRIu64,
                         element, a->p[i], a->bytes);
    }
}

/* Checks the run of contiguous elements that begins at element i, and returns its length. */
static int64_t checked_run(struct frame *f, const struct step *s, struct interp_access *a, int64_t i)
{
    int64_t run = run_length(a, i);
    check(f, s, a, i, run);
    return run;
}

/* -- races -- */

static _Noreturn void tell_race(struct frame *f, const struct step *s, const struct interp_access *a,
                                int64_t i, bool writes, const char *from, const struct race_other *other)
{
    char element[100], where[400], value[80] = "";
    int pid[3];
    interpreter_pid(f, other->program, pid);
    interpreter_element(element, sizeof element, op_opnd(s->op, 0)->type, i);
    interpreter_place(f, s, a->home, a->p[i], a->bytes, where, sizeof where);
    if (s->op->code == OP_store) {
        const struct type *t = op_opnd(s->op, 1)->type;
        interpreter_value(value, sizeof value - 4, t, step_in(f, s, 1) + i * type_elem_bytes(t), false,
                          false);
        strcat(value, " to ");
    }
    interpreter_fail(f, s, ERR_race, "%s %s %s%s; program (%d, %d, %d) %s there at line %u", element,
                     !writes ? "reads"
                     : from  ? "writes"
                             : "changes by an atomic",
                     value, where, pid[0], pid[1], pid[2], other->did,
                     (unsigned)f->code->accesses.at[other->place]->loc.line);
}

/* Checks an access to the contiguous elements i .. i + run - 1 for races before it happens, and records it.
 * `from` points to the values to be written; it is NULL for reads and atomics. */
static void check_races(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i,
                        int64_t run, bool writes, const char *from)
{
    struct race_other other;
    const struct race_access x = {a->home->shadow, a->p[i] - a->home->base, (uint64_t)run * a->bytes,
                                  s->place};
    int64_t at = writes ? race_write(f->race, &f->party, &x, from, (const void *)(uintptr_t)a->p[i], &other)
                        : race_read(f->race, &f->party, &x, &other);
    if (at >= 0)
        tell_race(f, s, a, i + at / (int64_t)a->bytes, writes, from, &other);
}

/* -- the ops -- */

static void check_arithmetic(struct frame *f, const struct step *s, const struct interp_access *a)
{
    if (f->wrapped)
        interpreter_check_wraps(f, s, a->p, a->mask);
}

static void as_bools(char *p, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = p[i] != 0;
}

void step_load(struct frame *f, const struct step *s)
{
    const char *other = step_in(f, s, 2);
    char *out = step_out(f, s);
    bool is_volatile = op_int(s->op, ATTR_volatile) != 0;
    uint64_t bytes = (uint64_t)type_elem_bytes(s->op->results[0].type);
    struct interp_access a = {(const void *)step_in(f, s, 0), step_in(f, s, 1), s->n, bytes, NULL};
    check_arithmetic(f, s, &a);
    if (f->race && is_volatile)
        race_acquire(f->race, &f->party);
    for (int64_t i = 0; i < s->n;) {
        if (a.mask && !a.mask[i]) {
            if (other)
                memcpy(out + (uint64_t)i * bytes, other + (uint64_t)i * bytes, bytes);
            else
                memset(out + (uint64_t)i * bytes, 0, bytes);
            i++;
            continue;
        }
        int64_t run = checked_run(f, s, &a, i);
        if (f->shadows)
            shadow_load(f, s, &a, i, run);
        if (f->race && a.home->shadow && !is_volatile)
            check_races(f, s, &a, i, run, false, NULL);
        memcpy(out + (uint64_t)i * bytes, (const char *)(uintptr_t)a.p[i], (size_t)run * bytes);
        i += run;
    }
    if (type_elem_bits(s->op->results[0].type) == 1)
        as_bools(out, s->n);
}

void step_store(struct frame *f, const struct step *s)
{
    const char *value = step_in(f, s, 1);
    uint64_t bytes = (uint64_t)type_elem_bytes(op_opnd(s->op, 1)->type);
    struct interp_access a = {(const void *)step_in(f, s, 0), step_in(f, s, 2), s->n, bytes, NULL};
    check_arithmetic(f, s, &a);
    if (f->shadows)
        f->launch->trace->nstores++;
    for (int64_t i = 0; i < s->n;) {
        if (a.mask && !a.mask[i]) {
            i++;
            continue;
        }
        int64_t run = checked_run(f, s, &a, i);
        if (f->shadows)
            shadow_store(f, s, &a, i, run);
        char *to = (char *)(uintptr_t)a.p[i];
        const char *from = value + (uint64_t)i * bytes;
        if (f->race)
            check_races(f, s, &a, i, run, true, from);
        if (f->code->waits && memcmp(to, from, (size_t)run * bytes) != 0)
            f->wrote = true;
        memcpy(to, from, (size_t)run * bytes);
        i += run;
    }
}

/* x is an operand or the result of an atomic. Returns x, but for an f32 addition, flushes a subnormal x to
 * zero, as atomics in global memory do (PTX ISA, "atom"). */
static uint64_t flushed(enum rmw rmw, enum dtype t, uint64_t x)
{
    return rmw == RMW_fadd && t == DT_f32 && !(x & 0x7f800000) ? x & 0x80000000 : x;
}

/* Returns the value that an atomic stores if the memory has the value `old`. */
static uint64_t combine(enum rmw rmw, enum dtype t, uint64_t old, uint64_t x)
{
    enum opcode code[RMW_count] = {
        [RMW_add] = OP_add,   [RMW_maxs] = OP_maxs, [RMW_maxu] = OP_maxu, [RMW_mins] = OP_mins,
        [RMW_minu] = OP_minu, [RMW_and] = OP_and,   [RMW_or] = OP_or,     [RMW_xor] = OP_xor,
        [RMW_fadd] = OP_add,  [RMW_fmax] = OP_max,  [RMW_fmin] = OP_min};
    if (rmw == RMW_xchg)
        return x;
    uint64_t result = 0;
    old = flushed(rmw, t, old);
    x = flushed(rmw, t, x);
    scalar_eval(&op_info[code[rmw]], code[rmw], t, t, NULL, 0, 1, &result, (const void *const[]){&old, &x});
    return flushed(rmw, t, result);
}

/* Performs an atomic at p in a compare-and-swap loop, and returns the old value. *cmp is the value with which
 * an atomic_cas compares; cmp is NULL for an atomic_rmw. Sets *changed if the memory changes. */
static uint64_t exchange(char *p, int bytes, const struct op *o, enum dtype t, const uint64_t *cmp,
                         uint64_t x, bool *changed)
{
    enum rmw rmw = (enum rmw)op_int(o, ATTR_rmw);
    switch (bytes) {
#define WIDTH(width, type)                                                                                   \
    case width: {                                                                                            \
        type old = __atomic_load_n((type *)(void *)p, __ATOMIC_SEQ_CST);                                     \
        for (;;) {                                                                                           \
            if (cmp && old != (type)*cmp)                                                                    \
                return old;                                                                                  \
            type next = cmp ? (type)x : (type)combine(rmw, t, old, x);                                       \
            if (__atomic_compare_exchange_n((type *)(void *)p, &old, next, 0, __ATOMIC_SEQ_CST,              \
                                            __ATOMIC_SEQ_CST)) {                                             \
                *changed |= next != old;                                                                     \
                return old;                                                                                  \
            }                                                                                                \
        }                                                                                                    \
    }
        WIDTH(1, uint8_t)
        WIDTH(2, uint16_t)
        WIDTH(4, uint32_t)
        WIDTH(8, uint64_t)
#undef WIDTH
    default: return 0;
    }
}

/* Returns whether races are checked, and the memory order of the atomic is neither `relaxed` nor `but`. If
 * `but` is SEM_release, the result says whether to record an acquire; if `but` is SEM_acquire, whether to
 * record a release. */
static bool orders(const struct frame *f, const struct step *s, enum sem but)
{
    enum sem sem = (enum sem)op_int(s->op, ATTR_sem);
    return f->race && sem != SEM_relaxed && sem != but;
}

void step_atomic(struct frame *f, const struct step *s)
{
    bool cas = s->op->code == OP_atomic_cas;
    const char *cmp = cas ? step_in(f, s, 1) : NULL, *x = step_in(f, s, cas ? 2 : 1),
               *mask = cas ? NULL : step_in(f, s, 2);
    int bytes = type_elem_bytes(s->op->results[0].type);
    struct interp_access a = {(const void *)step_in(f, s, 0), mask, s->n, (uint64_t)bytes, NULL};
    check_arithmetic(f, s, &a);
    enum dtype t = step_dtype(&s->op->results[0]);
    if (orders(f, s, SEM_release))
        race_acquire(f->race, &f->party);
    for (int64_t i = 0; i < s->n; i++) {
        uint64_t value = 0, expected = 0, old = 0;
        memcpy(&value, x + i * bytes, (size_t)bytes);
        if (cmp)
            memcpy(&expected, cmp + i * bytes, (size_t)bytes);
        if (!mask || mask[i]) {
            check(f, s, &a, i, 1);
            if (f->race)
                check_races(f, s, &a, i, 1, true, NULL);
            old = exchange((char *)(uintptr_t)a.p[i], bytes, s->op, t, cmp ? &expected : NULL, value,
                           &f->wrote);
            if (f->shadows)
                shadow_atomic(f, s, a.p[i], i, old, value);
        }
        memcpy(step_out(f, s) + i * bytes, &old, (size_t)bytes);
    }
    if (orders(f, s, SEM_acquire) && !race_release(f->race, &f->party))
        f->race = NULL;
}
