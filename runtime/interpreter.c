/* interpreter.c: decodes traced IR into steps, runs control flow, and deals programs out to threads.
 *
 *     %s = add %x, %y : tile<512xf32>      =>     step { run = elementwise, n = 512, in = {slot x, slot y}, out = {slot s} }
 *
 * Slots are not shared between values, so a step never overwrites what another still needs; ops that keep the
 * row-major order (reshape, expand_dims, hint) give their result their operand's slot. The ops' own meaning is in interpreter_ops.c.
 */
#include "runtime/interpreter.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLOT_ALIGN = 64, PROGRAMS_AT_ONCE = 8, THREADS_MOST = 256 };

/* -- decoding -- */

struct decoder {
    struct arena *arena;
    size_t frame_bytes;
    struct map slots;     /* struct value * to its slot + 1 */
    struct map invariant; /* ops computed once */
    struct map addresses; /* values that addresses are made of */
    int64_t region_width; /* elements that region values of a reduction need; 0 outside */
};

static size_t slot_of(struct decoder *d, const struct value *v)
{
    if (!v)
        return SLOT_NONE;
    void **slot = map_get_ptr(&d->slots, v);
    if (!slot)
        diag_bug(v->block->func->module->diag, (struct loc){0}, "value %%%s is used before its definition", v->name);
    return (size_t)(uintptr_t)*slot - 1;
}

static size_t value_bytes(const struct decoder *d, const struct value *v)
{
    int64_t n = type_elems(v->type);
    if (n < d->region_width)
        n = d->region_width;
    return (size_t)n * (size_t)type_elem_bytes(v->type);
}

static void set_slot(struct decoder *d, const struct value *v, size_t slot)
{
    *map_at_ptr(&d->slots, v) = (void *)(uintptr_t)(slot + 1);
}

static void new_slot(struct decoder *d, const struct value *v)
{
    size_t bytes = (value_bytes(d, v) + SLOT_ALIGN - 1) / SLOT_ALIGN * SLOT_ALIGN;
    set_slot(d, v, d->frame_bytes);
    d->frame_bytes += bytes;
}

static bool keeps_order(const struct op *o)
{
    return o->code == OP_reshape || o->code == OP_expand_dims || o->code == OP_hint;
}

static bool is_invariant(struct decoder *d, const struct op *o)
{
    if (!op_has(o, PURE) || o->nregions || o->code == OP_program_id || d->region_width)
        return false;
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        if (!v || (v->def ? !map_get_ptr(&d->invariant, v->def) : v->block->parent != NULL))
            return false;
    }
    return true;
}

static int64_t step_elems(const struct op *o)
{
    if (o->nresults)
        return type_elems(o->results[0].type);
    if (o->code == OP_store)
        return type_elems(op_opnd(o, 0)->type);
    return o->nopnds && op_opnd(o, 0) ? type_elems(op_opnd(o, 0)->type) : 0;
}

/* Most elements that a reduction's or scan's region computes at once. */
static int64_t region_width(const struct op *o)
{
    return o->code == OP_reduce || o->code == OP_scan ? type_elems(op_opnd(o, 0)->type) : 0;
}

static bool has_control(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next)
        if (o->nregions)
            return true;
    return false;
}

static const struct code *decode_block(struct decoder *d, const struct block *b);

static struct step decode_op(struct decoder *d, const struct op *o)
{
    size_t *in = NEW_ARRAY(d->arena, o->nopnds, size_t), *out = NEW_ARRAY(d->arena, o->nresults, size_t);
    for (int i = 0; i < o->nopnds; i++)
        in[i] = slot_of(d, op_opnd(o, i));
    for (int i = 0; i < o->nresults; i++) {
        if (keeps_order(o))
            set_slot(d, &o->results[i], in[0]);
        else
            new_slot(d, &o->results[i]);
        out[i] = slot_of(d, &o->results[i]);
    }
    step_function *run = interpreter_may_wrap(&d->addresses, o) ? step_address : interpreter_steps[o->code];
    struct step s = {.op = o, .run = run, .n = step_elems(o),
                     .nin = o->nopnds, .nout = o->nresults, .in = in, .out = out};
    s.origin = op_info[o->code].family == FAMILY_memory ? interpreter_origin(d->arena, op_opnd(o, 0)) : ORIGIN_any;
    int64_t outer_width = d->region_width;
    if (region_width(o) > d->region_width)
        d->region_width = region_width(o);
    for (int i = 0; i < o->nregions; i++)
        s.body[i] = decode_block(d, o->regions[i]);
    d->region_width = outer_width;
    return s;
}

static const struct code *decode_block(struct decoder *d, const struct block *b)
{
    struct code *c = NEW(d->arena, struct code);
    size_t *args = NEW_ARRAY(d->arena, b->args.n, size_t), *bytes = NEW_ARRAY(d->arena, b->args.n, size_t);
    for (int i = 0; i < b->args.n; i++) {
        new_slot(d, b->args.at[i]);
        args[i] = slot_of(d, b->args.at[i]);
        bytes[i] = value_bytes(d, b->args.at[i]);
    }
    VEC(struct step) steps = {0}, hoisted = {0};
    for (const struct op *o = b->first; o; o = o->next) {
        bool once = !b->parent && is_invariant(d, o);
        if (once)
            *map_at_ptr(&d->invariant, o) = c;
        struct step s = decode_op(d, o);
        if (keeps_order(o))
            continue;
        if (once)
            VEC_PUSH(d->arena, &hoisted, s);
        else
            VEC_PUSH(d->arena, &steps, s);
    }
    *c = (struct code){.steps = steps.at, .nsteps = steps.n, .hoisted = hoisted.at, .nhoisted = hoisted.n,
                       .args = args, .arg_bytes = bytes, .nargs = b->args.n, .one_by_one = has_control(b)};
    return c;
}

const struct code *interpreter_decode(struct arena *a, const struct func *f)
{
    struct decoder d = {.arena = a};
    map_init(&d.slots, a);
    map_init(&d.invariant, a);
    map_init(&d.addresses, a);
    interpreter_mark_addresses(&d.addresses, f->body);
    struct code *c = (struct code *)(uintptr_t)decode_block(&d, f->body);
    c->frame_bytes = d.frame_bytes;
    c->slots = d.slots;
    return c;
}

/* -- running -- */

/* Shared by the workers of one launch. */
struct interp_shared {
    const struct code *code;
    struct interp_launch *launch;
    atomic_llong next; /* program to be taken next */
    long long total;
    atomic_llong failed; /* the lowest program that has failed; programs above it need not go on */
    const struct interp_buffer **homes;
    pthread_mutex_t lock; /* of the report and of output */
};

void interpreter_block(struct frame *f, const struct code *c)
{
    for (int i = 0; i < c->nsteps && !f->returned; i++)
        c->steps[i].run(f, &c->steps[i]);
}

static bool is_over(const struct frame *f)
{
    return atomic_load_explicit(&f->shared->failed, memory_order_relaxed) < f->program;
}

static _Noreturn void fail(struct frame *f, struct loc loc, enum error e, const char *format, va_list args)
{
    pthread_mutex_lock(&f->shared->lock);
    struct interp_report *r = &f->launch->report;
    if (f->program < atomic_load(&f->shared->failed)) {
        atomic_store(&f->shared->failed, f->program);
        *r = (struct interp_report){.error = e, .loc = loc, .pid = {f->pid[0], f->pid[1], f->pid[2]}};
        vsnprintf(r->what, sizeof r->what, format, args);
    }
    pthread_mutex_unlock(&f->shared->lock);
    longjmp(*f->fail, 1);
}

void interpreter_fail(struct frame *f, const struct step *s, enum error e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(f, s->op->loc, e, format, args);
}

void interpreter_fail_at(struct frame *f, struct loc loc, enum error e, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fail(f, loc, e, format, args);
}

void interpreter_write(struct frame *f, const char *s, size_t n)
{
    pthread_mutex_lock(&f->shared->lock);
    if (f->launch->write)
        f->launch->write(f->launch->write_ctx, s, n);
    pthread_mutex_unlock(&f->shared->lock);
}

static void run_programs(struct frame *f, struct interp_shared *s)
{
    const int *grid = s->launch->grid;
    for (;;) {
        long long first = atomic_fetch_add(&s->next, PROGRAMS_AT_ONCE);
        for (long long i = first; i < first + PROGRAMS_AT_ONCE; i++) {
            f->program = i;
            if (i >= s->total || is_over(f))
                return;
            f->pid[0] = (int)(i % grid[0]);
            f->pid[1] = (int)(i / grid[0] % grid[1]);
            f->pid[2] = (int)(i / grid[0] / grid[1]);
            f->returned = false;
            f->wrapped = f->wrapped_once;
            interpreter_block(f, s->code);
        }
    }
}

static void load_params(struct frame *f, const struct code *c)
{
    for (int i = 0; i < c->nargs; i++)
        memcpy(f->mem + c->args[i], &f->launch->args[i], c->arg_bytes[i]);
    for (int i = 0; i < c->nhoisted; i++)
        c->hoisted[i].run(f, &c->hoisted[i]);
    f->wrapped_once = f->wrapped;
}

static void no_memory(struct interp_shared *s)
{
    pthread_mutex_lock(&s->lock);
    atomic_store(&s->failed, -1);
    s->launch->report = (struct interp_report){.error = ERR_out_of_memory};
    pthread_mutex_unlock(&s->lock);
}

static void *work(void *ctx)
{
    struct interp_shared *s = ctx;
    const struct memory *m = s->launch->mem;
    size_t bytes = s->code->frame_bytes + SLOT_ALIGN;
    char *block = m->alloc(m->ctx, bytes);
    jmp_buf fail;
    struct frame f = {.code = s->code, .launch = s->launch, .shared = s, .homes = s->homes, .fail = &fail};
    if (!block) {
        no_memory(s);
        return NULL;
    }
    f.mem = block + (SLOT_ALIGN - (uintptr_t)block % SLOT_ALIGN) % SLOT_ALIGN;
    if (setjmp(fail) == 0) {
        load_params(&f, s->code);
        run_programs(&f, s);
    }
    m->free(m->ctx, block, bytes);
    return NULL;
}

static int worker_count(const struct interp_launch *l, long long programs)
{
    long n = l->num_threads ? l->num_threads : sysconf(_SC_NPROCESSORS_ONLN);
    if (n > THREADS_MOST)
        n = THREADS_MOST;
    if (n > programs)
        n = (long)programs;
    return n < 1 ? 1 : (int)n;
}

/* Where each parameter points to. */
static bool find_homes(struct interp_shared *s)
{
    const struct interp_launch *l = s->launch;
    const struct block *b = l->func->body;
    s->homes = l->mem->alloc(l->mem->ctx, (size_t)(b->args.n + 1) * sizeof *s->homes);
    for (int i = 0; s->homes && i < b->args.n; i++) {
        const struct interp_buffer *home = type_is_ptr(b->args.at[i]->type) ? interpreter_buffer(l, l->args[i]) : NULL;
        s->homes[i] = home && l->args[i] - home->base <= home->bytes ? home : NULL;
    }
    return s->homes != NULL;
}

static void run_all(struct interp_shared *s)
{
    pthread_t threads[THREADS_MOST];
    int n = worker_count(s->launch, s->total), started = 0;
    /* The caller works too; where no thread can be started it does everything. */
    while (started < n - 1 && pthread_create(&threads[started], NULL, work, s) == 0)
        started++;
    work(s);
    for (int i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
}

bool interpreter_run(const struct code *c, struct interp_launch *l)
{
    struct interp_shared s = {.code = c, .launch = l, .total = (long long)l->grid[0] * l->grid[1] * l->grid[2]};
    l->report = (struct interp_report){.error = ERR_count};
    atomic_init(&s.failed, LLONG_MAX);
    if (s.total == 0)
        return true;
    pthread_mutex_init(&s.lock, NULL);
    if (find_homes(&s))
        run_all(&s);
    else
        no_memory(&s);
    pthread_mutex_destroy(&s.lock);
    if (s.homes)
        l->mem->free(l->mem->ctx, s.homes, (size_t)(l->func->body->args.n + 1) * sizeof *s.homes);
    return l->report.error == ERR_count;
}

/* -- control flow -- */

static size_t opnd_bytes(const struct op *o, int i)
{
    const struct type *t = op_opnd(o, i)->type;
    return (size_t)type_elems(t) * (size_t)type_elem_bytes(t);
}

/* Copies operands first.. of `from` to slots: all are read before any is written, since a yield may swap. */
static void copy_operands(struct frame *f, const struct step *from, int first, const size_t *to, int n)
{
    size_t total = 0;
    for (int i = 0; i < n; i++)
        total += opnd_bytes(from->op, first + i);
    char small[512], *buffer = small;
    const struct memory *m = f->launch->mem;
    if (total > sizeof small && n > 1 && !(buffer = m->alloc(m->ctx, total)))
        interpreter_fail(f, from, ERR_out_of_memory, "%zu", total);
    if (n == 1) {
        memmove(f->mem + to[0], f->mem + from->in[first], total);
        return;
    }
    char *p = buffer;
    for (int i = 0; i < n; i++, p += opnd_bytes(from->op, first + i - 1))
        memcpy(p, f->mem + from->in[first + i], opnd_bytes(from->op, first + i));
    p = buffer;
    for (int i = 0; i < n; i++, p += opnd_bytes(from->op, first + i - 1))
        memcpy(f->mem + to[i], p, opnd_bytes(from->op, first + i));
    if (buffer != small)
        m->free(m->ctx, buffer, total);
}

static const struct step *terminator(const struct code *c)
{
    return &c->steps[c->nsteps - 1];
}

static int64_t read_int(const struct frame *f, size_t slot, const struct type *t)
{
    const char *p = f->mem + slot;
    int64_t i = 0;
    int bytes = type_elem_bytes(t);
    memcpy(&i, p, (size_t)bytes);
    int shift = 64 - 8 * bytes; /* little-endian, as every machine with a GPU */
    return (int64_t)((uint64_t)i << shift) >> shift;
}

void step_for(struct frame *f, const struct step *s)
{
    const struct type *t = op_opnd(s->op, 0)->type;
    int64_t lo = read_int(f, s->in[0], t), hi = read_int(f, s->in[1], t), step = read_int(f, s->in[2], t);
    const struct code *body = s->body[0];
    int carried = s->nin - 3, bits = type_elem_bits(t);
    copy_operands(f, s, 3, body->args + 1, carried);
    int64_t constant;
    bool down = value_const_int(op_opnd(s->op, 2), &constant) && constant < 0;
    for (int64_t i = lo; down ? i > hi : i < hi;) {
        memcpy(f->mem + body->args[0], &i, (size_t)type_elem_bytes(t));
        interpreter_block(f, body);
        if (f->returned)
            return;
        copy_operands(f, terminator(body), 0, body->args + 1, carried);
        uint64_t next = (uint64_t)i + (uint64_t)step;
        i = (int64_t)(next << (64 - bits)) >> (64 - bits);
        if (is_over(f))
            longjmp(*f->fail, 1);
    }
    for (int i = 0; i < carried; i++)
        memcpy(f->mem + s->out[i], f->mem + body->args[i + 1], body->arg_bytes[i + 1]);
}

void step_while(struct frame *f, const struct step *s)
{
    const struct code *test = s->body[0], *body = s->body[1];
    copy_operands(f, s, 0, test->args, s->nin);
    for (;;) {
        interpreter_block(f, test);
        const struct step *c = terminator(test);
        bool on = f->mem[c->in[0]] != 0;
        copy_operands(f, c, 1, on ? body->args : s->out, c->nin - 1);
        if (!on)
            return;
        interpreter_block(f, body);
        copy_operands(f, terminator(body), 0, test->args, s->nin);
        if (is_over(f))
            longjmp(*f->fail, 1);
    }
}

void step_if(struct frame *f, const struct step *s)
{
    const struct code *body = s->body[f->mem[s->in[0]] ? 0 : 1];
    interpreter_block(f, body);
    if (!f->returned && s->nout)
        copy_operands(f, terminator(body), 0, s->out, s->nout);
}

void step_return(struct frame *f, const struct step *s)
{
    (void)s;
    f->returned = true;
}
