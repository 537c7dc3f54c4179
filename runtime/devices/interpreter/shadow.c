/* SPDX-License-Identifier: MIT */
/* shadow.c: keeps the shadows of floats (trace.h), copies them between values and memory, and reports NaNs, infs and
 * lost precision when floats are stored. */
#include "runtime/devices/interpreter/interpreter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* -- memory -- */

void trace_init(struct float_trace *t, enum trace_kind kind, int bits, const struct memory *mem)
{
    memset(t, 0, sizeof *t);
    t->kind = kind;
    t->bits = bits;
    t->mem = mem;
}

void trace_free(struct float_trace *t)
{
    if (t->cells)
        t->mem->free(t->mem->ctx, t->cells, t->room * sizeof *t->cells);
    t->cells = NULL;
    t->room = t->ncells = 0;
}

const struct trace_format *trace_format(enum dtype t)
{
    static const struct trace_format f8e4 = {4, -6, 448}, f8e5 = {3, -14, 57344}, f16 = {11, -14, 65504},
                                     bf16 = {8, -126, 0x1.fep127}, f32 = {24, -126, 0x1.fffffep127},
                                     f64 = {53, -1022, 0x1.fffffffffffffp1023};
    switch (t) {
    case DT_f8e4: return &f8e4;
    case DT_f8e5: return &f8e5;
    case DT_f16: return &f16;
    case DT_bf16: return &bf16;
    case DT_f32: return &f32;
    default: return &f64;
    }
}

static struct trace_cell *find(struct trace_cell *cells, size_t room, uint64_t at)
{
    size_t i = (size_t)(at * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (room - 1);
    while (cells[i].at && cells[i].at != at)
        i = (i + 1) & (room - 1);
    return &cells[i];
}

static bool grow(struct float_trace *t)
{
    enum { FIRST = 4096 };
    size_t room = t->room ? 2 * t->room : FIRST;
    struct trace_cell *cells = t->mem->alloc(t->mem->ctx, room * sizeof *cells);
    if (!cells)
        return false;
    memset(cells, 0, room * sizeof *cells);
    for (size_t i = 0; i < t->room; i++)
        if (t->cells[i].at)
            *find(cells, room, t->cells[i].at) = t->cells[i];
    if (t->cells)
        t->mem->free(t->mem->ctx, t->cells, t->room * sizeof *cells);
    t->cells = cells;
    t->room = room;
    return true;
}

const struct trace_cell *trace_cell_at(const struct float_trace *t, uint64_t at)
{
    const struct trace_cell *c = t->room ? find(t->cells, t->room, at) : NULL;
    return c && c->at ? c : NULL;
}

/* Records that element `lane` of a tile was stored, or, if `lane` is ATOMIC_LANE, that an atomic stored an
 * element. If two elements of tiles with different bits are stored to one address without a barrier in
 * between, the launch becomes uncertain, because different threads may store them in any order. This does not
 * apply if an atomic stored one of them. */
enum { ATOMIC_LANE = -1 };
static void keep(struct float_trace *t, struct loc loc, uint64_t at, int32_t lane, enum dtype dtype,
                 const struct shadow *x, uint64_t bits)
{
    if (2 * t->ncells >= t->room && !grow(t)) {
        t->no_memory = true;
        return;
    }
    struct trace_cell *c = find(t->cells, t->room, at);
    t->ncells += !c->at;
    bool is_atomic = lane == ATOMIC_LANE || c->lane == ATOMIC_LANE;
    if (c->at && c->store > t->ordered && c->lane != lane && !is_atomic && c->bits != bits)
        t->is_uncertain = true, t->uncertain_at = loc;
    *c = (struct trace_cell){at, *x, bits, t->nstores, lane, dtype};
}

/* -- slots -- */

struct shadow *shadows_in(const struct frame *f, size_t slot)
{
    if (!f->shadows || slot == SLOT_NONE)
        return NULL;
    uint32_t i = f->code->shadow_at[slot / FRAME_ALIGN];
    return i ? f->shadows + (i - 1) : NULL;
}

void shadow_copy(struct frame *f, const size_t *from, const size_t *to, const int64_t *elems, int n)
{
    int64_t total = 0;
    for (int i = 0; i < n; i++)
        total += elems[i];
    const struct memory *m = f->launch->mem;
    size_t bytes = (size_t)(total + 1) * sizeof(struct shadow);
    struct shadow *all = n > 1 ? m->alloc(m->ctx, bytes) : NULL, *at = all;
    for (int i = 0; all && i < n; at += elems[i++])
        if (shadows_in(f, from[i]))
            memcpy(at, shadows_in(f, from[i]), (size_t)elems[i] * sizeof *at);
    at = all;
    for (int i = 0; i < n; at = all ? at + elems[i] : NULL, i++) {
        struct shadow *out = shadows_in(f, to[i]);
        const struct shadow *in = all ? at : shadows_in(f, from[i]);
        if (out && in && shadows_in(f, from[i]))
            memmove(out, in, (size_t)elems[i] * sizeof *out);
    }
    if (all)
        m->free(m->ctx, all, bytes);
}

/* -- stores -- */

/* Returns how many low bits of a value with shadow x are wrong: log2 of the distance between the value and
 * x->exact, measured in a unit. The unit is the last place of a number of magnitude `scale` that has as many
 * significant bits as type t, or, if fewer, x->precision bits. Returns 64 if x->exact is finite but the value
 * is not, and 0 if x->exact is not finite. */
static double lost_bits(enum dtype t, double value, const struct shadow *x, double scale)
{
    if (isnan(value) || isinf(value))
        return isfinite(x->exact) ? 64 : 0;
    if (value == x->exact || !isfinite(x->exact))
        return 0;
    int own = trace_format(t)->bits, p = x->precision && x->precision < own ? x->precision : own;
    double unit = ldexp(1, (scale > 0 ? ilogb(scale) : 0) - p + 1),
           lost = log2(fabs(value - x->exact) / unit);
    return lost > 0 ? lost : 0;
}

static int bits_allowed(const struct float_trace *t, enum dtype type, const struct shadow *x)
{
    int own = trace_format(type)->bits, p = x->precision && x->precision < own ? x->precision : own;
    return t->bits ? t->bits : p / 2;
}

static double largest(const struct shadow *x, int64_t n, int64_t stride)
{
    double most = 0;
    for (int64_t i = 0; i < n; i++)
        if (isfinite(x[i * stride].exact) && fabs(x[i * stride].exact) > most)
            most = fabs(x[i * stride].exact);
    return most;
}

bool shadow_has_lost(const struct float_trace *t, enum dtype type, double value, const struct shadow *x,
                     double scale, double *lost)
{
    *lost = lost_bits(type, value, x, scale);
    return *lost > bits_allowed(t, type, x);
}

double shadow_scale(const struct shadow *x, int64_t n)
{
    return largest(x, n, 1);
}

/* Called when a value whose shadow has a birth (the op at which a NaN, an inf or a loss of precision began)
 * is stored. In a trace of kind `nan`, ends the launch if the value is a NaN or inf. In a trace of kind
 * `precision`, counts a loss of precision at the birth. */
static void store_birth(struct frame *f, enum dtype t, double value, const struct shadow *x, double scale)
{
    struct float_trace *trace = f->launch->trace;
    struct trace_birth *b = &trace->births[x->birth - 1];
    double lost;
    if (trace->kind == TRACE_nan && !isfinite(value))
        interpreter_fail_at(f, b->op->loc, isnan(value) ? ERR_trace_nan : ERR_trace_inf, "%s", b->text);
    if (trace->kind == TRACE_precision && shadow_has_lost(trace, t, value, x, scale, &lost)) {
        b->count++;
        b->worst = lost > b->worst ? lost : b->worst;
    }
}

void shadow_store(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i,
                  int64_t run)
{
    const struct shadow *x = shadows_in(f, s->in[1]);
    struct float_trace *trace = f->launch->trace;
    if (!x && trace->kind != TRACE_error)
        return;
    enum dtype t = step_dtype(op_opnd(s->op, 1));
    double scale = trace->kind == TRACE_precision ? largest(x, s->n, 1) : 0;
    for (int64_t k = i; k < i + run; k++) {
        uint64_t bits = 0;
        memcpy(&bits, step_in(f, s, 1) + (uint64_t)k * a->bytes, a->bytes);
        if (trace->kind == TRACE_error)
            keep(trace, s->op->loc, a->p[k], (int32_t)k, t, x ? &x[k] : &(struct shadow){0}, bits);
        else if (x[k].birth)
            store_birth(f, t, bits_to_double(t, bits), &x[k], scale);
    }
}

void shadow_load(struct frame *f, const struct step *s, const struct interp_access *a, int64_t i, int64_t run)
{
    struct float_trace *t = f->launch->trace;
    for (int64_t k = i; t->refuses_reads && t->ncells && k < i + run; k++)
        if (trace_cell_at(t, a->p[k]))
            t->is_uncertain = true, t->uncertain_at = s->op->loc;
}

void shadow_atomic(struct frame *f, const struct step *s, uint64_t at, int64_t i, uint64_t old,
                   uint64_t stored)
{
    struct float_trace *t = f->launch->trace;
    const struct shadow *x = shadows_in(f, s->in[s->op->code == OP_atomic_cas ? 2 : 1]);
    if (t->kind != TRACE_error)
        return;
    if (s->n > 1 && has_uses(&s->op->results[0]))
        t->is_uncertain = true, t->uncertain_at = s->op->loc;
    if (!x)
        return;
    enum dtype dtype = step_dtype(&s->op->results[0]);
    const struct trace_cell *before = trace_cell_at(t, at);
    double was = bits_to_double(dtype, old), value = bits_to_double(dtype, stored), sum = was + value;
    double err = x[i].err + (before ? before->shadow.err : 0), ulp = ldexp(1, -trace_format(dtype)->bits);
    /* Sums of small integers are exact in any order. Another sum may be inexact in another order, even if it
     * is exact in this order. */
    bool is_exact = was == floor(was) && value == floor(value) && 4 * ulp * (fabs(was) + fabs(value)) < 1;
    double flushed = ldexp(1, trace_format(dtype)->least); /* another order may flush a small sum to zero */
    if (op_int(s->op, ATTR_rmw) == RMW_fadd && !is_exact)
        err += 8 * ulp * (fabs(was) + fabs(value)) + flushed;
    if (isnan(was) || isnan(value))
        err = INFINITY; /* the result of a maximum with a NaN depends on the order */
    t->nstores++;
    keep(t, s->op->loc, at, ATOMIC_LANE, dtype, &(struct shadow){.exact = sum, .err = err}, stored);
}
