/* SPDX-License-Identifier: MIT */
/* check_inputs.c: makes the inputs for both the emulator and the interpreter, and compares the memory
 * contents after both runs. A window is the part of a tensor that a check copies.
 *
 *     x_ptr ─► window of at most 2 MiB of the tensor ─► contents ─► a copy for each device ─► run ─► equal?
 *
 * A stored float may differ by an error bound, which the interpreter computes for each stored float by shadow
 * arithmetic (trace.h). All other bytes must be equal. */
#include "runtime/check/cross_check.h"
#include "runtime/devices/cpu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WINDOW_BYTES = 1 << 21, BEFORE_BYTES = 1 << 14, ALIGN = 256 };

/* -- windows -- */

/* Finds the memory into which argument `arg` points, at the address `at`. On a CPU, or if c->is_exact, this
 * memory is the whole allocation of the device; otherwise, it is the tensor that was passed. Returns false if
 * the memory is unknown. */
static bool find_extent(struct checking *c, int arg, uint64_t at, uint64_t *base, uint64_t *bytes)
{
    struct device *d = c->kernel->device;
    const struct launch_tensor *t = c->launch->tensors ? &c->launch->tensors[arg] : NULL;
    if (d->class != &device_cuda || c->is_exact)
        return d->class->extent(d, at, base, bytes);
    if (!t || !t->dtype)
        return false;
    *base = at;
    *bytes = tensor_span(t);
    return true;
}

static int window_with(const struct checking *c, uint64_t at)
{
    for (int i = 0; i < c->nwindows; i++)
        if (at - c->windows[i].from <= c->windows[i].bytes)
            return i;
    return -1;
}

static int add_window(struct checking *c, int arg, const struct type *pointee)
{
    uint64_t at = c->launch->args[arg], base = at, bytes = WINDOW_BYTES;
    bool is_known = find_extent(c, arg, at, &base, &bytes);
    uint64_t before = c->is_exact ? UINT64_MAX : BEFORE_BYTES, most = c->is_exact ? UINT64_MAX : WINDOW_BYTES;
    uint64_t from = at - base > before ? at - before : base, end = base + bytes;
    struct check_window *w = &c->windows[c->nwindows];
    *w = (struct check_window){.from = from,
                               .bytes = end - from < most ? end - from : most,
                               .skew = from % ALIGN,
                               .dtype = pointee->kind == TY_ptr ? DT_i64 : type_elem(pointee)->dtype,
                               .is_known = is_known,
                               .name = c->func->params.at[arg].name};
    return c->nwindows++;
}

static bool copy_window(struct checking *c, struct check_window *w)
{
    struct fault f;
    uint64_t total = w->bytes + w->skew + 1;
    w->start = c->mem.alloc(c->mem.ctx, w->bytes + 1);
    if (!w->start || !c->interpreter.class->alloc(&c->interpreter, total, &w->interpreter, &f) ||
        !c->emulator.class->alloc(&c->emulator, total, &w->emulator, &f))
        return false;
    return true;
}

bool check_windows(struct checking *c)
{
    const struct block *b = c->func->body;
    c->nargs = c->launch->nargs;
    if (c->nargs > CHECK_ARGS || c->nargs != b->args.n) {
        snprintf(c->what, sizeof c->what, "it has %d arguments, and at most %d can be compared", c->nargs,
                 CHECK_ARGS);
        return false;
    }
    for (int i = 0; i < c->nargs; i++) {
        const struct type *t = b->args.at[i]->type;
        c->window_of[i] = -1;
        if (!type_is_ptr(t))
            continue;
        int at = window_with(c, c->launch->args[i]);
        c->window_of[i] = at >= 0 ? at : add_window(c, i, t->elem);
    }
    for (int i = 0; i < c->nwindows; i++)
        if (!copy_window(c, &c->windows[i])) {
            snprintf(c->what, sizeof c->what, "there is no memory for copies of its tensors");
            return false;
        }
    return true;
}

void check_windows_free(struct checking *c)
{
    for (int i = 0; i < c->nwindows; i++)
        if (c->windows[i].start)
            c->mem.free(c->mem.ctx, c->windows[i].start, c->windows[i].bytes + 1);
}

/* -- drawing -- */

static uint64_t draw(struct checking *c)
{
    c->seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t x = c->seed;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

static double draw_general(uint64_t r)
{
    double x = (double)(int32_t)(uint32_t)r * 0x1p-31;
    return ldexp(x, (int)(r >> 40) % 3);
}

/* Returns a random number. One number in eight is a special value of the type, such as NaN or the largest number.
 * Special values are not more frequent, because NaN or inf would then hide most other results. */
static double draw_adversarial(enum dtype t, uint64_t r)
{
    const struct trace_format *k = trace_format(t);
    const double ends[] = {NAN,
                           INFINITY,
                           -INFINITY,
                           k->most,
                           -k->most,
                           ldexp(1, k->least),
                           ldexp(1.5, k->least - 3),
                           -ldexp(1, k->least - k->bits + 1),
                           -0.0,
                           0,
                           1,
                           -1};
    return r % 8 ? draw_general(r >> 8) : ends[(r >> 8) % (sizeof ends / sizeof *ends)];
}

static void draw_floats(struct checking *c, struct check_window *w, enum floats how)
{
    int bytes = dtype_info[w->dtype].bytes;
    for (uint64_t i = 0; i + (uint64_t)bytes <= w->bytes; i += (uint64_t)bytes) {
        uint64_t r = draw(c);
        double x = how == FLOATS_integers  ? (double)((int)(r >> 16) % 5)
                   : how == FLOATS_general ? draw_general(r)
                                           : draw_adversarial(w->dtype, r);
        uint64_t bits = double_to_bits(w->dtype, x);
        memcpy(w->start + i, &bits, (size_t)bytes);
    }
}

static void draw_bits(struct checking *c, struct check_window *w)
{
    for (uint64_t i = 0; i < w->bytes; i += 8) {
        uint64_t r = draw(c);
        memcpy(w->start + i, &r, w->bytes - i < 8 ? (size_t)(w->bytes - i) : 8);
    }
    for (uint64_t i = 0; w->dtype == DT_i1 && i < w->bytes; i++)
        w->start[i] &= 1;
}

static void fill_window(struct checking *c, struct check_window *w, const struct check_draw *d)
{
    struct fault f;
    struct device *from = c->kernel->device;
    bool is_float = dtype_info[w->dtype].kind == DTYPE_float;
    memset(w->start, 0, w->bytes);
    if (is_float && d->floats != FLOATS_own)
        draw_floats(c, w, d->floats);
    else if (!is_float && d->wild_ints)
        draw_bits(c, w);
    else if (w->is_known)
        from->class->read(from, w->start, w->from, w->bytes, c->launch->stream, &f);
}

/* -- sizes -- */

static int64_t as_int(const struct type *t, uint64_t value)
{
    int unused = 64 - 8 * type_elem_bytes(t);
    return (int64_t)(value << unused) >> unused;
}

/* Searches b for ranges (tl.arange) that end at or below `most`. Sets *found to the largest of their ends, if
 * it is larger than *found. */
static void look_for_block(const struct block *b, int64_t most, int64_t *found)
{
    for (const struct op *o = b->first; o; o = o->next) {
        int64_t end = o->code == OP_range ? op_int(o, ATTR_end) : 0;
        if (end <= most && end > *found)
            *found = end;
        for (int i = 0; i < o->nregions; i++)
            look_for_block(o->regions[i], most, found);
    }
}

static bool is_size(const struct checking *c, int i)
{
    const struct type *t = c->func->body->args.at[i]->type;
    enum { LEAST = 17 };
    return !type_is_ptr(t) && !type_is_float(t) && type_elem_bytes(t) >= 4 &&
           as_int(t, c->launch->args[i]) >= LEAST;
}

/* Replaces the launch's sizes (integers for which is_size holds) by small sizes, from the smallest to the
 * largest. A new size is about one block of the kernel, plus `ragged` steps (check_draw), so that the size
 * is usually not a multiple of the block. Equal sizes stay equal, and of two sizes, the larger stays
 * larger. If a size is the product of two others, its new value is the product of their new values. A size
 * that the signature promises to be a multiple of 16 stays a multiple of 16. */
static void shrink_sizes(struct checking *c, int ragged)
{
    int64_t before = -1, now = 0;
    for (;;) {
        int64_t next = INT64_MAX;
        for (int i = 0; i < c->nargs; i++) {
            const struct type *t = c->func->body->args.at[i]->type;
            if (is_size(c, i) && as_int(t, c->launch->args[i]) > before &&
                as_int(t, c->launch->args[i]) < next)
                next = as_int(t, c->launch->args[i]);
        }
        if (next == INT64_MAX)
            return;
        int64_t block = 16, step = 1, product = 0;
        for (int i = 0; i < c->nargs; i++) {
            if (is_size(c, i) && (int64_t)c->launch->args[i] == next && c->func->params.at[i].divisible == 16)
                step = 16;
            for (int k = 0; k < i && is_size(c, i) && is_size(c, k); k++)
                if ((int64_t)(c->launch->args[i] * c->launch->args[k]) == next)
                    product = (int64_t)(c->args[i] * c->args[k]);
        }
        look_for_block(c->func->body, next, &block);
        int64_t to = product ? product : block + ragged * (step == 1 ? 3 : step);
        to = to <= now ? now + step : to;
        to = (to + step - 1) / step * step;
        now = to < next ? to : next;
        for (int i = 0; i < c->nargs; i++)
            if (is_size(c, i) && as_int(c->func->body->args.at[i]->type, c->launch->args[i]) == next)
                c->args[i] = (uint64_t)now;
        before = next;
    }
}

static void cut_grid(struct checking *c, const struct check_draw *d)
{
    static const uint32_t most[3] = {4, 3, 2};
    /* A persistent kernel gets more programs, so that each of its CTAs runs several. */
    const uint32_t programs = c->kernel->info.persistent ? 9 : 6;
    c->sample = c->is_exact ? c->launch->sample : 0;
    memcpy(c->grid, c->launch->grid, sizeof c->grid);
    if (c->is_exact)
        return;
    if (d->whole_grid) {
        c->sample = programs;
        return;
    }
    for (int i = 0; i < 3; i++)
        c->grid[i] = c->grid[i] < most[i] ? c->grid[i] : most[i];
    while (c->grid[0] * c->grid[1] * c->grid[2] > programs) {
        int longest = c->grid[1] >= c->grid[0];
        c->grid[c->grid[2] >= c->grid[longest] ? 2 : longest]--;
    }
}

void check_prepare(struct checking *c, const struct check_draw *d)
{
    memcpy(c->args, c->launch->args, (size_t)c->nargs * sizeof *c->args);
    c->own_sizes = d->own_sizes;
    if (!d->own_sizes)
        shrink_sizes(c, d->ragged);
    cut_grid(c, d);
    for (int i = 0; i < c->nwindows; i++)
        fill_window(c, &c->windows[i], d);
}

void check_place(struct checking *c, bool in_emulator, uint64_t *args)
{
    for (int i = 0; i < c->nwindows; i++) {
        struct check_window *w = &c->windows[i];
        uint64_t at = in_emulator ? w->emulator : w->interpreter;
        memset((void *)(uintptr_t)at, 0, w->skew);
        memcpy((void *)(uintptr_t)(at + w->skew), w->start, w->bytes);
        cpu_define(in_emulator ? &c->emulator : &c->interpreter, at, w->skew + w->bytes + 1);
    }
    for (int i = 0; i < c->nargs; i++) {
        const struct check_window *w = c->window_of[i] >= 0 ? &c->windows[c->window_of[i]] : NULL;
        args[i] =
            w ? c->args[i] - w->from + w->skew + (in_emulator ? w->emulator : w->interpreter) : c->args[i];
    }
}

/* -- comparison -- */

static bool is_close(const struct trace_cell *cell, uint64_t want, uint64_t got)
{
    if (dtype_info[cell->dtype].kind == DTYPE_int)
        return want == got;
    double x = bits_to_double(cell->dtype, want), y = bits_to_double(cell->dtype, got),
           err = cell->shadow.err;
    const struct trace_format *k = trace_format(cell->dtype);
    if (x == y || (isnan(x) && isnan(y)) || isinf(err) || isnan(err))
        return true;
    if (err == 0 || !isfinite(x) || !isfinite(y))
        return false;
    int e = x != 0 ? ilogb(x) : k->least;
    return fabs(x - y) <= 2 * err + ldexp(2, (e < k->least ? k->least : e) - k->bits);
}

/* Returns what the trace recorded about the stored value that contains the byte at address `at` of the
 * interpreter's copy; NULL if no value was stored there. */
static const struct trace_cell *cell_of(const struct checking *c, uint64_t at)
{
    for (uint64_t back = 0; back < 8; back++) {
        const struct trace_cell *cell = trace_cell_at(&c->trace, at - back);
        if (cell && back < (uint64_t)dtype_info[cell->dtype].bytes)
            return cell;
    }
    return NULL;
}

static void describe(struct checking *c, const struct check_window *w, uint64_t offset, uint64_t want,
                     uint64_t got, enum dtype t)
{
    uint64_t bytes = (uint64_t)dtype_info[t].bytes;
    uint64_t pointer = 0;
    for (int i = c->nargs - 1; i >= 0; i--)
        if (c->window_of[i] >= 0 && &c->windows[c->window_of[i]] == w)
            pointer = c->args[i] - w->from;
    long long index = (long long)(int64_t)(offset - pointer) / (long long)bytes;
    if (dtype_info[t].kind == DTYPE_float)
        snprintf(c->what, sizeof c->what, "'%s'[%lld] is %.9g, the interpreter has %.9g", w->name, index,
                 bits_to_double(t, got), bits_to_double(t, want));
    else
        snprintf(c->what, sizeof c->what, "'%s'[%lld] is 0x%llx, the interpreter has 0x%llx", w->name, index,
                 (unsigned long long)got, (unsigned long long)want);
}

static bool compare_window(struct checking *c, const struct check_window *w)
{
    enum { CHUNK = 4096 };
    uint64_t from = w->interpreter + w->skew;
    const char *want = (const char *)(uintptr_t)from, *got = (const char *)(uintptr_t)(w->emulator + w->skew);
    for (uint64_t i = 0; i < w->bytes;) {
        uint64_t n = w->bytes - i < CHUNK ? w->bytes - i : CHUNK;
        if (i % CHUNK == 0 && memcmp(want + i, got + i, n) == 0) {
            i += n;
            continue;
        }
        if (want[i] == got[i]) {
            i++;
            continue;
        }
        const struct trace_cell *cell = cell_of(c, from + i);
        enum dtype t = cell ? cell->dtype : w->dtype;
        uint64_t bytes = (uint64_t)dtype_info[t].bytes, at = cell ? cell->at - from : i - i % bytes, x = 0,
                 y = 0;
        memcpy(&x, want + at, at + bytes <= w->bytes ? bytes : 1);
        memcpy(&y, got + at, at + bytes <= w->bytes ? bytes : 1);
        if (!cell || !is_close(cell, x, y)) {
            describe(c, w, at, x, y, t);
            return false;
        }
        i = at + bytes;
    }
    return true;
}

bool check_compare(struct checking *c)
{
    for (int i = 0; i < c->nwindows; i++)
        if (!compare_window(c, &c->windows[i]))
            return false;
    return true;
}
