/* SPDX-License-Identifier: MIT */
/* ops.c: executes ops on the slots of a frame, except control flow (interpreter.c) and memory ops (memory.c).
 * ir/scalar.c computes the elements. The step functions are in the order of the op families in ops.h; the
 * table at the end maps each op to its step function. */
#include "runtime/devices/interpreter/interpreter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Fills n consecutive elements of `bytes` bytes, beginning at p, with copies of the first of them. */
static void fill(char *p, size_t bytes, int64_t n)
{
    size_t total = bytes * (size_t)n;
    for (size_t done = bytes; done < total; done *= 2)
        memcpy(p + done, p, done < total - done ? done : total - done);
}

/* -- create -- */

static void step_const(struct frame *f, const struct step *s)
{
    int64_t bits = op_int(s->op, ATTR_value);
    size_t bytes = (size_t)type_elem_bytes(s->op->results[0].type);
    if (type_elem_bits(s->op->results[0].type) == 1)
        bits &= 1;
    memcpy(step_out(f, s), &bits, bytes);
    fill(step_out(f, s), bytes, step_elems(f, s));
}

static void step_program_id(struct frame *f, const struct step *s)
{
    int32_t id = f->pid[op_int(s->op, ATTR_axis)];
    memcpy(step_out(f, s), &id, sizeof id);
}

static void step_num_programs(struct frame *f, const struct step *s)
{
    int32_t n = f->launch->grid[op_int(s->op, ATTR_axis)];
    memcpy(step_out(f, s), &n, sizeof n);
}

/* The result is 0, as if there were only one SM. */
static void step_sm_id(struct frame *f, const struct step *s)
{
    memset(step_out(f, s), 0, sizeof(int32_t));
}

static void step_clock(struct frame *f, const struct step *s)
{
    int64_t now = cpu_nanoseconds();
    memcpy(step_out(f, s), &now, sizeof now);
}

static void step_range(struct frame *f, const struct step *s)
{
    int32_t *out = (int32_t *)(void *)step_out(f, s), start = (int32_t)op_int(s->op, ATTR_start);
    for (int64_t i = 0; i < s->n; i++)
        out[i] = (int32_t)((uint32_t)start + (uint32_t)i);
}

static void step_splat(struct frame *f, const struct step *s)
{
    size_t bytes = (size_t)type_elem_bytes(s->op->results[0].type);
    memcpy(step_out(f, s), step_in(f, s, 0), bytes);
    fill(step_out(f, s), bytes, step_elems(f, s));
}

/* -- arith, math, cast -- */

static void step_elementwise(struct frame *f, const struct step *s)
{
    const struct op *o = s->op;
    const void *x[3] = {step_in(f, s, 0), step_in(f, s, 1), step_in(f, s, 2)};
    /* The type in which the op computes. For a select, this is the type of the values, not the type of the
     * condition. */
    enum dtype type = step_dtype(op_opnd(o, o->code == OP_select ? 1 : 0));
    if (!scalar_eval(&op_info[o->code], o->code, type, step_dtype(&o->results[0]), o->attrs, o->nattrs,
                     step_elems(f, s), step_out(f, s), x))
        interpreter_fail(f, s, ERR_no_interpreter, "%s", op_info[o->code].name);
}

/* Executes i32 arithmetic from whose result an address is computed, and records an overflow in f->wrapped. */
void step_address(struct frame *f, const struct step *s)
{
    step_elementwise(f, s);
    if (!f->wrapped)
        f->wrapped = interpreter_wraps(f, s);
}

static void step_addptr(struct frame *f, const struct step *s)
{
    const struct type *pointer = type_elem(s->op->results[0].type);
    const uint64_t *p = (const void *)step_in(f, s, 0);
    uint64_t *out = (void *)step_out(f, s), bytes = (uint64_t)type_elem_bytes(pointer->elem);
    const char *i = step_in(f, s, 1);
    int64_t n = step_elems(f, s);
    switch (type_elem_bytes(op_opnd(s->op, 1)->type)) {
#define WIDTH(width, type)                                                                                   \
    case width:                                                                                              \
        for (int64_t k = 0; k < n; k++)                                                                      \
            out[k] = p[k] + (uint64_t)(int64_t)((const type *)(const void *)i)[k] * bytes;                   \
        break;
        WIDTH(1, int8_t)
        WIDTH(2, int16_t)
        WIDTH(4, int32_t)
        WIDTH(8, int64_t)
#undef WIDTH
    default: break;
    }
}

/* -- shape -- */

void interpreter_strided(char *out, const char *in, size_t bytes, int rank, const int *shape,
                         const int64_t *stride)
{
    if (rank == 0) {
        memcpy(out, in, bytes);
        return;
    }
    size_t inner = bytes;
    for (int d = 1; d < rank; d++)
        inner *= (size_t)shape[d];
    for (int i = 0; i < shape[0]; i++)
        if (rank == 1 && stride[0] == 1) {
            memcpy(out, in, bytes * (size_t)shape[0]);
            return;
        } else {
            interpreter_strided(out + inner * (size_t)i, in + stride[0] * i * (int64_t)bytes, bytes, rank - 1,
                                shape + 1, stride + 1);
        }
}

void interpreter_strides(const struct type *t, int64_t *stride)
{
    int64_t n = 1;
    for (int d = t->rank - 1; d >= 0; d--) {
        stride[d] = n;
        n *= t->shape[d];
    }
}

static void step_broadcast(struct frame *f, const struct step *s)
{
    const struct type *from = op_opnd(s->op, 0)->type, *to = s->op->results[0].type;
    int64_t stride[RANK_MAX];
    interpreter_strides(from, stride);
    for (int d = 0; d < to->rank; d++)
        if (from->shape[d] == 1)
            stride[d] = 0;
    interpreter_strided(step_out(f, s), step_in(f, s, 0), (size_t)type_elem_bytes(to), to->rank, to->shape,
                        stride);
}

static void step_trans(struct frame *f, const struct step *s)
{
    const struct type *from = op_opnd(s->op, 0)->type, *to = s->op->results[0].type;
    const struct attr *order = op_attr(s->op, ATTR_order);
    int64_t stride[RANK_MAX], permuted[RANK_MAX];
    interpreter_strides(from, stride);
    for (int d = 0; d < to->rank; d++)
        permuted[d] = stride[order ? order->list[d] : d];
    interpreter_strided(step_out(f, s), step_in(f, s, 0), (size_t)type_elem_bytes(to), to->rank, to->shape,
                        permuted);
}

static void step_join(struct frame *f, const struct step *s)
{
    size_t bytes = (size_t)type_elem_bytes(s->op->results[0].type);
    for (int64_t i = 0; i < s->n; i++)
        memcpy(step_out(f, s) + (size_t)i * bytes, step_in(f, s, (int)(i % 2)) + (size_t)(i / 2) * bytes,
               bytes);
}

static void step_split(struct frame *f, const struct step *s)
{
    size_t bytes = (size_t)type_elem_bytes(s->op->results[0].type);
    for (int64_t i = 0; i < 2 * s->n; i++)
        memcpy(f->mem + s->out[i % 2] + (size_t)(i / 2) * bytes, step_in(f, s, 0) + (size_t)i * bytes, bytes);
}

static int64_t index_at(const char *p, int bytes, int64_t i)
{
    int64_t x = 0;
    memcpy(&x, p + i * bytes, (size_t)bytes);
    return (int64_t)((uint64_t)x << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static void step_gather(struct frame *f, const struct step *s)
{
    const struct type *from = op_opnd(s->op, 0)->type, *to = s->op->results[0].type;
    int axis = (int)op_int(s->op, ATTR_axis), index_bytes = type_elem_bytes(op_opnd(s->op, 1)->type);
    size_t bytes = (size_t)type_elem_bytes(to);
    int64_t inner = 1, most = from->shape[axis];
    for (int d = axis + 1; d < to->rank; d++)
        inner *= to->shape[d];
    for (int64_t i = 0; i < s->n; i++) {
        int64_t at = index_at(step_in(f, s, 1), index_bytes, i);
        if (at < 0 || at >= most)
            interpreter_fail(f, s, ERR_gather_index, "%" PRId64 " of %" PRId64, at, most);
        int64_t outer = i / inner / to->shape[axis];
        memcpy(step_out(f, s) + (size_t)i * bytes,
               step_in(f, s, 0) + (size_t)((outer * most + at) * inner + i % inner) * bytes, bytes);
    }
}

/* -- reductions, scans and maps: the steps of a region compute many elements at once -- */

/* Executes the region for `width` elements or pairs of elements at once. Returns the region's yield, whose
 * operands are the results. */
static const struct step *run_region(struct frame *f, const struct code *body, int64_t width)
{
    int64_t outer = f->width;
    f->width = width;
    interpreter_block(f, body);
    f->width = outer;
    return &body->steps[body->nsteps - 1];
}

/* Scratch memory with copies of the operands of a reduction or scan. The region combines pairs of elements of
 * the copies. */
struct pairs {
    const struct step *s;
    const struct code *body;
    int n;                     /* the number of operands */
    char *x[16];               /* x[k]: the elements of operand k, which are combined in place */
    struct shadow *shadow[16]; /* shadow[k]: the shadows of x[k]; NULL: no shadows */
    size_t bytes[16];
    int nheld; /* the number of blocks of scratch memory that the pairs use */
};

static void close_pairs(struct frame *f, const struct pairs *p)
{
    for (int i = 0; i < p->nheld; i++)
        interpreter_drop(f);
}

/* Computes x[to + i] = region(x[a + i], x[b + i]) for i = 0, ..., width - 1, where x stands for all operands.
 * `to` may equal a or b. */
static void combine_runs(struct frame *f, const struct pairs *p, int64_t to, int64_t a, int64_t b,
                         int64_t width)
{
    int64_t most = p->body->one_by_one ? 1 : width;
    for (int64_t done = 0; done < width; done += most) {
        for (int k = 0; k < p->n; k++) {
            memcpy(f->mem + p->body->args[k], p->x[k] + (size_t)(a + done) * p->bytes[k],
                   (size_t)most * p->bytes[k]);
            memcpy(f->mem + p->body->args[p->n + k], p->x[k] + (size_t)(b + done) * p->bytes[k],
                   (size_t)most * p->bytes[k]);
        }
        for (int k = 0; k < p->n && f->shadows; k++)
            if (p->shadow[k]) {
                size_t bytes = (size_t)most * sizeof(struct shadow);
                memcpy(shadows_in(f, p->body->args[k]), p->shadow[k] + a + done, bytes);
                memcpy(shadows_in(f, p->body->args[p->n + k]), p->shadow[k] + b + done, bytes);
            }
        const struct step *yield = run_region(f, p->body, most);
        for (int k = 0; k < p->n; k++) {
            memcpy(p->x[k] + (size_t)(to + done) * p->bytes[k], f->mem + yield->in[k],
                   (size_t)most * p->bytes[k]);
            if (p->shadow[k])
                memcpy(p->shadow[k] + to + done, shadows_in(f, yield->in[k]),
                       (size_t)most * sizeof(struct shadow));
        }
    }
}

/* Sets *along to the size of the axis dimension of operand 0, *outer to the product of the sizes of the
 * dimensions before the axis, and *inner to the product of the sizes of the dimensions after it. */
void interpreter_axis(const struct step *s, int64_t *outer, int64_t *along, int64_t *inner)
{
    const struct type *t = op_opnd(s->op, 0)->type;
    int axis = (int)op_int(s->op, ATTR_axis);
    *outer = *inner = 1;
    *along = t->shape[axis];
    for (int d = 0; d < t->rank; d++)
        *(d < axis ? outer : inner) *= d == axis ? 1 : t->shape[d];
}

static struct pairs open_pairs(struct frame *f, const struct step *s)
{
    struct pairs p = {.s = s, .body = s->body[0], .n = s->nin, .nheld = 1};
    int64_t n = type_elems(op_opnd(s->op, 0)->type);
    if (s->nin > 16)
        interpreter_fail(f, s, ERR_no_interpreter, "%s of %d tiles", op_info[s->op->code].name, s->nin);
    size_t total = 0;
    for (int k = 0; k < p.n; k++) {
        p.bytes[k] = (size_t)type_elem_bytes(op_opnd(s->op, k)->type);
        total += (size_t)n * p.bytes[k];
    }
    char *at = interpreter_hold(f, s, total);
    for (int k = 0; k < p.n; k++) {
        p.x[k] = at;
        memcpy(at, step_in(f, s, k), (size_t)n * p.bytes[k]);
        at += (size_t)n * p.bytes[k];
    }
    for (int k = 0; k < p.n; k++) {
        const struct shadow *from = shadows_in(f, s->in[k]);
        p.nheld += from != NULL;
        p.shadow[k] = from ? interpreter_hold(f, s, (size_t)n * sizeof *from) : NULL;
        if (from)
            memcpy(p.shadow[k], from, (size_t)n * sizeof *from);
    }
    return p;
}

/* Reduces the n elements x along the axis as a tree: combines x[0..h) with x[h..2h), first for h = n/2, then
 * n/4, ..., 1. Executes the region once for each h, or, if the region has control flow, once for each pair of
 * elements. */
static void step_reduce(struct frame *f, const struct step *s)
{
    int64_t outer, along, inner;
    interpreter_axis(s, &outer, &along, &inner);
    struct pairs p = open_pairs(f, s);
    for (int64_t o = 0; o < outer; o++) {
        int64_t at = o * along * inner;
        for (int64_t half = along / 2; half >= 1; half /= 2)
            combine_runs(f, &p, at, at, at + half * inner, half * inner);
        for (int k = 0; k < p.n; k++) {
            memcpy(f->mem + s->out[k] + (size_t)(o * inner) * p.bytes[k], p.x[k] + (size_t)at * p.bytes[k],
                   (size_t)inner * p.bytes[k]);
            if (p.shadow[k])
                memcpy(shadows_in(f, s->out[k]) + o * inner, p.shadow[k] + at,
                       (size_t)inner * sizeof(struct shadow));
        }
    }
    close_pairs(f, &p);
}

/* Scans element by element along the axis. For each element, the region combines the results of the previous
 * element (its first arguments) with the element. */
static void step_scan(struct frame *f, const struct step *s)
{
    int64_t outer, along, inner;
    interpreter_axis(s, &outer, &along, &inner);
    struct pairs p = open_pairs(f, s);
    bool reverse = op_int(s->op, ATTR_reverse);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 1; i < along; i++) {
            int64_t row = reverse ? along - 1 - i : i, before = reverse ? row + 1 : row - 1;
            combine_runs(f, &p, (o * along + row) * inner, (o * along + before) * inner,
                         (o * along + row) * inner, inner);
        }
    for (int k = 0; k < p.n; k++) {
        memcpy(f->mem + s->out[k], p.x[k], (size_t)(outer * along * inner) * p.bytes[k]);
        if (p.shadow[k])
            memcpy(shadows_in(f, s->out[k]), p.shadow[k],
                   (size_t)(outer * along * inner) * sizeof(struct shadow));
    }
    close_pairs(f, &p);
}

static void step_map(struct frame *f, const struct step *s)
{
    const struct code *body = s->body[0];
    int64_t most = body->one_by_one ? 1 : s->n;
    for (int64_t done = 0; done < s->n; done += most) {
        for (int k = 0; k < s->nin; k++) {
            size_t bytes = (size_t)type_elem_bytes(op_opnd(s->op, k)->type);
            const struct shadow *shadow = shadows_in(f, s->in[k]);
            memcpy(f->mem + body->args[k], step_in(f, s, k) + (size_t)done * bytes, (size_t)most * bytes);
            if (shadow)
                memcpy(shadows_in(f, body->args[k]), shadow + done, (size_t)most * sizeof *shadow);
        }
        const struct step *yield = run_region(f, body, most);
        for (int k = 0; k < s->nout; k++) {
            size_t bytes = (size_t)type_elem_bytes(s->op->results[k].type);
            struct shadow *shadow = shadows_in(f, s->out[k]);
            memcpy(f->mem + s->out[k] + (size_t)done * bytes, f->mem + yield->in[k], (size_t)most * bytes);
            if (shadow)
                memcpy(shadow + done, shadows_in(f, yield->in[k]), (size_t)most * sizeof *shadow);
        }
    }
}

static void step_histogram(struct frame *f, const struct step *s)
{
    const struct type *t = op_opnd(s->op, 0)->type;
    const char *mask = step_in(f, s, 1);
    int32_t *out = (void *)step_out(f, s);
    memset(out, 0, (size_t)s->n * sizeof *out);
    for (int64_t i = 0; i < type_elems(t); i++) {
        int64_t x = index_at(step_in(f, s, 0), type_elem_bytes(t), i);
        if (x >= 0 && x < s->n && (!mask || mask[i]))
            out[x]++;
    }
}

/* -- dot -- */

static void widen(double *out, const char *in, enum dtype t, int64_t n)
{
    scalar_eval(&op_info[dtype_info[t].kind == DTYPE_float ? OP_fext : OP_stof],
                dtype_info[t].kind == DTYPE_float ? OP_fext : OP_stof, t, DT_f64, NULL, 0, n, out,
                (const void *const[]){in});
}

/* Spends budget for one row of a product: MULTIPLY_ADDS multiply-adds cost as much as one element. Returns false if the
 * budget is exhausted. The caller then stops, and the next step reports the error. */
static bool spend_row(struct frame *f, int64_t n, int64_t k)
{
    enum { MULTIPLY_ADDS = 8 };
    return frame_spend(f, n * k / MULTIPLY_ADDS);
}

/* The functions dot_rows* multiply two matrices of the batch, and add the product to acc. Products of f64 are
 * accumulated in f64, and products of other floats in f32. Integers wrap. */
static void dot_rows(struct frame *f, float *acc, const double *a, const double *b, int64_t m, int64_t n,
                     int64_t k)
{
    for (int64_t i = 0; i < m && spend_row(f, n, k); i++)
        for (int64_t l = 0; l < k; l++) {
            float x = (float)a[i * k + l];
            for (int64_t j = 0; j < n; j++)
                acc[i * n + j] += x * (float)b[l * n + j];
        }
}

static void dot_rows_double(struct frame *f, double *acc, const double *a, const double *b, int64_t m,
                            int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m && spend_row(f, n, k); i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                acc[i * n + j] += a[i * k + l] * b[l * n + j];
}

static void dot_rows_int(struct frame *f, int32_t *acc, const int8_t *a, const int8_t *b, int64_t m,
                         int64_t n, int64_t k)
{
    for (int64_t i = 0; i < m && spend_row(f, n, k); i++)
        for (int64_t l = 0; l < k; l++)
            for (int64_t j = 0; j < n; j++)
                acc[i * n + j] =
                    (int32_t)((uint32_t)acc[i * n + j] + (uint32_t)(a[i * k + l] * b[l * n + j]));
}

static void dot_float(struct frame *f, const struct step *s, int64_t batch, int64_t m, int64_t n, int64_t k)
{
    enum dtype in = step_dtype(op_opnd(s->op, 0)), out = step_dtype(&s->op->results[0]);
    const struct memory *mem = f->launch->mem;
    size_t total = (size_t)(batch * (m * k + k * n + m * n)) * sizeof(double);
    double *a = mem->alloc(mem->ctx, total);
    if (!a)
        interpreter_fail(f, s, ERR_out_of_memory, "%zu", total);
    double *b = a + batch * m * k, *acc = b + batch * k * n;
    widen(a, step_in(f, s, 0), in, batch * m * k);
    widen(b, step_in(f, s, 1), step_dtype(op_opnd(s->op, 1)), batch * k * n);
    if (in == DT_f32 && op_int(s->op, ATTR_precision) == PREC_tf32)
        for (double *x = a; x < acc; x++)
            *x = float_to_tf32((float)*x);
    if (out == DT_f64) {
        memcpy(acc, step_in(f, s, 2), (size_t)(batch * m * n) * sizeof *acc);
        for (int64_t i = 0; i < batch; i++)
            dot_rows_double(f, acc + i * m * n, a + i * m * k, b + i * k * n, m, n, k);
        memcpy(step_out(f, s), acc, (size_t)(batch * m * n) * sizeof *acc);
    } else {
        float *sum = (float *)(void *)acc;
        enum opcode up = OP_fext, down = OP_ftrunc;
        if (out == DT_f32)
            memcpy(sum, step_in(f, s, 2), (size_t)(batch * m * n) * sizeof *sum);
        else
            scalar_eval(&op_info[up], up, out, DT_f32, NULL, 0, batch * m * n, sum,
                        (const void *const[]){step_in(f, s, 2)});
        for (int64_t i = 0; i < batch; i++)
            dot_rows(f, sum + i * m * n, a + i * m * k, b + i * k * n, m, n, k);
        if (out == DT_f32)
            memcpy(step_out(f, s), sum, (size_t)(batch * m * n) * sizeof *sum);
        else
            scalar_eval(&op_info[down], down, DT_f32, out, NULL, 0, batch * m * n, step_out(f, s),
                        (const void *const[]){sum});
    }
    mem->free(mem->ctx, a, total);
}

static void step_dot(struct frame *f, const struct step *s)
{
    const struct type *a = op_opnd(s->op, 0)->type, *r = s->op->results[0].type;
    int64_t m = r->shape[r->rank - 2], n = r->shape[r->rank - 1], k = a->shape[a->rank - 1],
            batch = s->n / (m * n);
    if (type_is_float(r)) {
        dot_float(f, s, batch, m, n, k);
        return;
    }
    memcpy(step_out(f, s), step_in(f, s, 2), (size_t)s->n * sizeof(int32_t));
    for (int64_t i = 0; i < batch; i++)
        dot_rows_int(f, (int32_t *)(void *)step_out(f, s) + i * m * n,
                     (const int8_t *)step_in(f, s, 0) + i * m * k,
                     (const int8_t *)step_in(f, s, 1) + i * k * n, m, n, k);
}

/* -- debug -- */

void interpreter_value(char *out, size_t room, const struct type *t, const char *p, bool hex,
                       bool is_unsigned)
{
    uint64_t bits = 0;
    int bytes = type_elem_bytes(t);
    memcpy(&bits, p, (size_t)bytes);
    if (hex)
        snprintf(out, room, "0x%0*" PRIx64, 2 * bytes, bits);
    else if (type_is_float(t))
        snprintf(out, room, "%f", bits_to_double(type_elem(t)->dtype, bits));
    else if (type_is_ptr(t))
        snprintf(out, room, "0x%" PRIx64, bits);
    else if (is_unsigned)
        snprintf(out, room, "%" PRIu64, bits);
    else
        snprintf(out, room, "%" PRId64, index_at(p, bytes, 0));
}

static int digits(int n)
{
    int d = 1;
    while (n >= 10) {
        n /= 10;
        d++;
    }
    return d;
}

/* Formats the indices of element i of a tile, for example as `( 3, 12)`. Pads each index to the width of the
 * largest index in its dimension. */
static void print_index(char *out, size_t room, const struct type *t, int64_t i)
{
    size_t used = (size_t)snprintf(out, room, "(");
    int rank = type_is_tile(t) ? t->rank : 0;
    int64_t inner = type_elems(t);
    for (int d = 0; d < rank && used < room; d++) {
        inner /= t->shape[d];
        used += (size_t)snprintf(out + used, room - used, "%s%*d", d ? ", " : "", digits(t->shape[d] - 1),
                                 (int)(i / inner % t->shape[d]));
    }
    if (used < room)
        snprintf(out + used, room - used, ")");
}

/* Prints a line for each element of each operand, as device_print does on a GPU. */
static void step_print(struct frame *f, const struct step *s)
{
    const struct attr *a = op_attr(s->op, ATTR_text);
    const char *prefix = a ? a->s : "";
    char line[1024], index[256], value[64], which[32] = "";
    if (s->nin == 0) {
        int n = snprintf(line, sizeof line, "pid (%d, %d, %d)%s\n", f->pid[0], f->pid[1], f->pid[2], prefix);
        interpreter_write(f, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
    }
    for (int k = 0; k < s->nin; k++) {
        const struct type *t = op_opnd(s->op, k)->type;
        bool is_unsigned = k < 63 && op_int(s->op, ATTR_unsigned) >> k & 1;
        if (s->nin > 1)
            snprintf(which, sizeof which, "(operand %d) ", k);
        for (int64_t i = 0; i < type_elems(t); i++) {
            print_index(index, sizeof index, t, i);
            interpreter_value(value, sizeof value, t, step_in(f, s, k) + i * type_elem_bytes(t),
                              op_int(s->op, ATTR_hex), is_unsigned);
            int n = snprintf(line, sizeof line, "pid (%d, %d, %d) idx %s%s%s%s\n", f->pid[0], f->pid[1],
                             f->pid[2], index, prefix, which, value);
            interpreter_write(f, line, n < (int)sizeof line ? (size_t)n : sizeof line - 1);
        }
    }
}

/* Calls the host for step s, a host_call. If the host is called because an op has made a NaN, `born` is this
 * op, and `text` explains the NaN; otherwise, both are NULL. Ends the launch if the host cannot continue. */
static void call_host(struct frame *f, const struct step *s, const struct op *born, const char *text)
{
    const struct interp_launch *l = f->launch;
    const char *small[32], **values = small;
    size_t bytes = (size_t)s->nin * sizeof *values;
    if (s->nin > 32 && !(values = l->mem->alloc(l->mem->ctx, bytes)))
        interpreter_fail(f, s, ERR_out_of_memory, "%zu", bytes);
    for (int i = 0; i < s->nin; i++)
        values[i] = step_in(f, s, i);
    struct host_call call = {.op = s->op,
                             .site = (int)op_int(s->op, ATTR_site),
                             .values = values,
                             .result = s->nout ? step_out(f, s) : NULL,
                             .nan_at = born,
                             .nan_text = text};
    memcpy(call.pid, f->pid, sizeof call.pid);
    bool goes_on = l->host && l->host(l->host_ctx, &call);
    if (values != small)
        l->mem->free(l->mem->ctx, values, bytes);
    if (!goes_on)
        interpreter_fail(f, s, ERR_host_call, "%s", "it needs the program's host code");
}

static void step_host_call(struct frame *f, const struct step *s)
{
    f->site = s;
    call_host(f, s, NULL, NULL);
}

void interpreter_tell_nan(struct frame *f, const struct step *s, int64_t i)
{
    char text[560];
    interpreter_explain(f, s, i, text, sizeof text);
    call_host(f, f->site, s->op, text);
}

static void step_asm(struct frame *f, const struct step *s)
{
    interpreter_fail(f, s, ERR_asm_interpreter, "%s",
                     "the interpreter has no PTX: use --device emulator or a GPU");
}

static void step_assert(struct frame *f, const struct step *s)
{
    const char *c = step_in(f, s, 0), *mask = step_in(f, s, 1);
    const struct attr *text = op_attr(s->op, ATTR_text);
    for (int64_t i = 0; i < step_elems(f, s); i++)
        if (!c[i] && (!mask || mask[i]))
            interpreter_fail(f, s, ERR_device_assert, "%s", text && text->s[0] ? text->s : "no message");
}

static void step_nothing(struct frame *f, const struct step *s)
{
    (void)f;
    (void)s;
}

/* The step function of `convert`, and of all ops without an entry in the table below. Traced IR cannot
 * contain these ops. */
static void step_unsupported(struct frame *f, const struct step *s)
{
    interpreter_fail(f, s, ERR_no_interpreter, "%s", op_info[s->op->code].name);
}

step_function *const interpreter_steps[OP_count] = {
#define E(op) [OP_##op] = step_elementwise
    E(add),
    E(sub),
    E(mul),
    E(neg),
    E(abs),
    E(divs),
    E(divu),
    E(rems),
    E(remu),
    E(mulhu),
    E(and),
    E(or),
    E(xor),
    E(shl),
    E(shrs),
    E(shru),
    E(mins),
    E(maxs),
    E(minu),
    E(maxu),
    E(fadd),
    E(fsub),
    E(fmul),
    E(ffma),
    E(fdiv),
    E(frem),
    E(min),
    E(max),
    E(fma),
    E(cmp),
    E(select),
    E(exp),
    E(exp2),
    E(log),
    E(log2),
    E(sin),
    E(cos),
    E(sqrt),
    E(rsqrt),
    E(erf),
    E(floor),
    E(ceil),
    E(rint),
    E(sext),
    E(zext),
    E(trunc),
    E(fext),
    E(ftrunc),
    E(stof),
    E(utof),
    E(ftos),
    E(ftou),
    E(bitcast),
#undef E
    [OP_const] = step_const,
    [OP_program_id] = step_program_id,
    [OP_num_programs] = step_num_programs,
    [OP_sm_id] = step_sm_id,
    [OP_clock] = step_clock,
    [OP_range] = step_range,
    [OP_splat] = step_splat,
    [OP_addptr] = step_addptr,
    [OP_broadcast] = step_broadcast,
    [OP_expand_dims] = step_nothing,
    [OP_reshape] = step_nothing,
    [OP_trans] = step_trans,
    [OP_join] = step_join,
    [OP_split] = step_split,
    [OP_hint] = step_nothing,
    [OP_gather] = step_gather,
    [OP_load] = step_load,
    [OP_store] = step_store,
    [OP_atomic_rmw] = step_atomic,
    [OP_atomic_cas] = step_atomic,
    [OP_reduce] = step_reduce,
    [OP_scan] = step_scan,
    [OP_map] = step_map,
    [OP_histogram] = step_histogram,
    [OP_dot] = step_dot,
    [OP_for] = step_for,
    [OP_while] = step_while,
    [OP_if] = step_if,
    [OP_yield] = step_nothing,
    [OP_condition] = step_nothing,
    [OP_return] = step_return,
    [OP_print] = step_print,
    [OP_assert] = step_assert,
    [OP_asm] = step_asm,
    [OP_asm_effect] = step_asm,
    [OP_host_call] = step_host_call,
    [OP_barrier] = step_nothing,
    [OP_convert] = step_unsupported,
};
