/* SPDX-License-Identifier: MIT */
/* interpreter.c: decodes traced IR into steps, and executes control flow.
 *
 *     %s = add %x, %y : tile<512xf32>      =>     step { run = elementwise, n = 512, in = {slot x, slot y}, out = {slot s} }
 *
 * Each value has its own slot, so a step never overwrites an operand of a later step. Exception: the result
 * of an op that preserves the row-major order (reshape, expand_dims, hint) shares the slot of its operand.
 * ops.c and memory.c execute all other ops; run.c manages threads. */
#include "runtime/devices/interpreter/interpreter.h"

#include <string.h>

enum {
    STEP_WORK = 16, /* the work of a step is the number of elements that it computes, plus STEP_WORK */
    /* the number of iterations after which a loop that may wait for another program lets other programs
     * run */
    SPINS_AT_ONCE = 200,
    SPINS_AGAIN = 2, /* the same after the worker has passed on its token, which is its permission to run
                      * (run.c) */
};

/* -- decoding -- */

/* A slot of floats, which can have shadows (trace.h). */
struct shadowed {
    size_t slot;
    int64_t elems;
};

struct decoder {
    struct arena *arena;
    size_t frame_bytes;
    struct map slots;     /* maps struct value * to its slot + 1 */
    struct map invariant; /* the ops that each worker executes only once, for all its programs (hoisted
                           * ops) */
    struct map addresses; /* values from which addresses are computed */
    VEC(const struct op *) accesses;
    VEC(int) written;
    VEC(struct shadowed) shadowed;
    int granule;
    bool waits, in_order;
    /* The kernel calls the host. In such a kernel, no op is hoisted. The reason: if an op makes a NaN, the
     * debugger stops at the last site (host_call) before the op, and no site precedes a hoisted op. */
    bool calls_host;
    /* in the region of a reduction, scan or map, the number of elements that each step computes; otherwise
     * 0 */
    int64_t region_width;
};

static size_t slot_of(struct decoder *d, const struct value *v)
{
    if (!v)
        return SLOT_NONE;
    void **slot = map_get_ptr(&d->slots, v);
    if (!slot)
        diag_bug(v->block->func->module->diag, (struct loc){0}, "value %%%s is used before its definition",
                 v->name);
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
    size_t bytes = (value_bytes(d, v) + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
    set_slot(d, v, d->frame_bytes);
    if (type_is_float(v->type)) {
        struct shadowed x = {d->frame_bytes, (int64_t)bytes / type_elem_bytes(v->type)};
        VEC_PUSH(d->arena, &d->shadowed, x);
    }
    d->frame_bytes += bytes;
}

static bool keeps_order(const struct op *o)
{
    return o->code == OP_reshape || o->code == OP_expand_dims || o->code == OP_hint;
}

static bool is_invariant(struct decoder *d, const struct op *o)
{
    if (d->calls_host || !op_has(o, PURE) || o->nregions || o->code == OP_program_id || d->region_width)
        return false;
    for (int i = 0; i < o->nopnds; i++) {
        const struct value *v = op_opnd(o, i);
        if (!v || (v->def ? !map_get_ptr(&d->invariant, v->def) : v->block->parent != NULL))
            return false;
    }
    return true;
}

static int64_t elems_of(const struct op *o)
{
    if (o->nresults)
        return type_elems(o->results[0].type);
    if (o->code == OP_store)
        return type_elems(op_opnd(o, 0)->type);
    return o->nopnds && op_opnd(o, 0) ? type_elems(op_opnd(o, 0)->type) : 0;
}

/* Returns an upper bound for the number of elements that a step in o's region computes at once, if o is a
 * reduction, scan or map: the number of elements of o's first operand. Returns 0 for other ops. */
static int64_t region_width(const struct op *o)
{
    return op_info[o->code].family == FAMILY_reduce ? type_elems(op_opnd(o, 0)->type) : 0;
}

static bool has_control(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next)
        if (o->nregions)
            return true;
    return false;
}

static bool reads_memory(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (op_has(o, READS))
            return true;
        for (int i = 0; i < o->nregions; i++)
            if (reads_memory(o->regions[i]))
                return true;
    }
    return false;
}

static bool calls_host(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next) {
        if (o->code == OP_host_call)
            return true;
        for (int i = 0; i < o->nregions; i++)
            if (calls_host(o->regions[i]))
                return true;
    }
    return false;
}

static void note_access(struct decoder *d, struct step *s)
{
    int bytes = type_elem_bytes(s->op->code == OP_store ? op_opnd(s->op, 1)->type : s->op->results[0].type);
    s->origin = interpreter_origin(d->arena, op_opnd(s->op, 0));
    s->place = (uint16_t)(d->accesses.n < UINT16_MAX ? d->accesses.n : UINT16_MAX);
    if (d->accesses.n <= UINT16_MAX)
        VEC_PUSH(d->arena, &d->accesses, s->op);
    if (op_has(s->op, WRITES))
        VEC_PUSH(d->arena, &d->written, s->origin);
    d->granule = d->granule == 0 || bytes < d->granule ? bytes : d->granule;
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
    if (!run) /* traced IR cannot contain the op: run step_unsupported, as for `convert` */
        run = interpreter_steps[OP_convert];
    struct step s = {
        .op = o, .run = run, .n = elems_of(o), .nin = o->nopnds, .nout = o->nresults, .in = in, .out = out};
    if (op_info[o->code].family == FAMILY_memory)
        note_access(d, &s);
    s.waits = o->code == OP_while && (reads_memory(o->regions[0]) || reads_memory(o->regions[1]));
    d->waits |= s.waits;
    d->in_order |= o->code == OP_print || o->code == OP_host_call;
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
    long long work = 0;
    for (int i = 0; i < steps.n; i++)
        work += steps.at[i].n + STEP_WORK;
    *c = (struct code){.work = work,
                       .steps = steps.at,
                       .nsteps = steps.n,
                       .hoisted = hoisted.at,
                       .nhoisted = hoisted.n,
                       .args = args,
                       .arg_bytes = bytes,
                       .nargs = b->args.n,
                       .one_by_one = has_control(b)};
    return c;
}

/* Assigns a range of the array frame.shadows to each slot of floats. */
static void place_shadows(struct decoder *d, struct code *c)
{
    uint32_t *at = NEW_ARRAY(d->arena, (int64_t)(d->frame_bytes / FRAME_ALIGN) + 1, uint32_t);
    for (int i = 0; i < d->shadowed.n; i++) {
        at[d->shadowed.at[i].slot / FRAME_ALIGN] = (uint32_t)c->nshadows + 1;
        c->nshadows += (size_t)d->shadowed.at[i].elems;
    }
    c->shadow_at = at;
}

const struct code *interpreter_decode(struct arena *a, const struct func *f)
{
    struct decoder d = {.arena = a, .calls_host = calls_host(f->body)};
    map_init(&d.slots, a);
    map_init(&d.invariant, a);
    map_init(&d.addresses, a);
    interpreter_mark_addresses(&d.addresses, f->body);
    struct code *c = (struct code *)(uintptr_t)decode_block(&d, f->body);
    c->frame_bytes = d.frame_bytes;
    c->slots = d.slots;
    c->accesses.at = d.accesses.at;
    c->accesses.n = d.accesses.n;
    c->written.at = d.written.at;
    c->written.n = d.written.n;
    c->granule = d.granule;
    c->waits = d.waits;
    c->in_order = d.in_order;
    place_shadows(&d, c);
    return c;
}

/* -- control flow -- */

void interpreter_block(struct frame *f, const struct code *c)
{
    f->work += c->work;
    for (const struct step *s = c->steps, *end = s + c->nsteps; s < end && !f->returned; s++) {
        if (!frame_spend(f, (f->width ? f->width : s->n) + STEP_WORK))
            interpreter_stop(f, s);
        s->run(f, s);
        if (f->shadows)
            shadow_step(f, s);
        if (f->launch->finds_nan && *f->launch->finds_nan && f->site)
            shadow_find_nan(f, s);
    }
}

static size_t opnd_bytes(const struct op *o, int i)
{
    const struct type *t = op_opnd(o, i)->type;
    return (size_t)type_elems(t) * (size_t)type_elem_bytes(t);
}

static void copy_shadows(struct frame *f, const struct step *from, int first, const size_t *to, int n)
{
    enum { MOST = 64 };
    int64_t elems[MOST];
    for (int i = 0; i < n && i < MOST; i++)
        elems[i] = type_elems(op_opnd(from->op, first + i)->type);
    shadow_copy(f, from->in + first, to, elems, n < MOST ? n : MOST);
}

/* Copies operands first, ..., first + n - 1 of the step `from` to the slots `to`. Reads all operands before
 * it writes a slot, because a yield may swap values. */
static void copy_operands(struct frame *f, const struct step *from, int first, const size_t *to, int n)
{
    size_t total = 0;
    if (f->shadows)
        copy_shadows(f, from, first, to, n);
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
    int shift = 64 - 8 * bytes; /* assumes a little-endian CPU, as in every computer with a GPU */
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
        if (interpreter_is_over(f))
            longjmp(*f->fail, 1);
    }
    for (int i = 0; i < carried; i++) {
        int64_t elems = type_elems(s->op->results[i].type);
        memcpy(f->mem + s->out[i], f->mem + body->args[i + 1], body->arg_bytes[i + 1]);
        if (f->shadows)
            shadow_copy(f, &body->args[i + 1], &s->out[i], &elems, 1);
    }
}

/* Returns a hash of the loop's carried values. */
static uint64_t carried_hash(const struct frame *f, const struct code *test)
{
    uint64_t h = 0;
    for (int i = 0; i < test->nargs; i++)
        h = hash_bytes(f->mem + test->args[i], test->arg_bytes[i], h);
    return h;
}

/* Called after many iterations of a loop that may wait for another program: lets other programs run. *before
 * is the hash of the carried values at the last call, and is updated. Returns the number of the iteration
 * after which to call this function again. */
static int64_t yield_to_others(struct frame *f, const struct step *s, int64_t iterations, uint64_t *before)
{
    uint64_t now = carried_hash(f, s->body[0]);
    bool alone = interpreter_wait(f, s, now != *before);
    *before = now;
    return iterations + (alone ? SPINS_AT_ONCE : SPINS_AGAIN);
}

void step_while(struct frame *f, const struct step *s)
{
    const struct code *test = s->body[0], *body = s->body[1];
    uint64_t before = 0;
    int64_t next = SPINS_AT_ONCE;
    copy_operands(f, s, 0, test->args, s->nin);
    for (int64_t iterations = 1;; iterations++) {
        interpreter_block(f, test);
        const struct step *c = terminator(test);
        bool on = f->mem[c->in[0]] != 0;
        copy_operands(f, c, 1, on ? body->args : s->out, c->nin - 1);
        if (!on)
            return;
        interpreter_block(f, body);
        copy_operands(f, terminator(body), 0, test->args, s->nin);
        if (s->waits && iterations == next)
            next = yield_to_others(f, s, iterations, &before);
        if (interpreter_is_over(f))
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
