/* SPDX-License-Identifier: MIT */
/* allocate_shared.c: assigns an offset to each buffer in shared memory. Buffers that are not live at the same time
 * may share bytes.
 *
 *     %a = shared_alloc : ...                       %a = shared_alloc offset=0 : ...
 *     %b = shared_alloc : ...            =>         %b = shared_alloc offset=512 : ...
 *
 * A buffer is live from its first use to its last use, and throughout every loop that uses it but does not contain
 * its shared_alloc. If the producer warp fills a buffer, the buffer is live from the start of the `warps` op.
 * If a dot or bulk copy reads a buffer, the buffer is live until the wait for that dot or copy. If the dot or
 * copy stays in flight from one iteration of a loop to the next, the buffer is live throughout the loop.
 * Buffers whose live ranges overlap get disjoint bytes. If all buffers together are small, all get disjoint
 * bytes, because two buffers that share bytes need a barrier between their uses. Otherwise the pass places
 * buffers by first fit in order of decreasing size. The buffers that are allocated in the body of one `for`
 * with dots get disjoint bytes too, unless this would reduce the number of CTAs per SM. Sets
 * f->shared_bytes. */
#include "opt/analysis/analysis.h"
#include "opt/memory/memory.h"
#include "opt/passes.h"

#include "ir/target/target.h"

/* A swizzle depends on address bits, so a buffer must be aligned to the period of its swizzle: at most 1024 bytes, and
 * at most the buffer's size. */
enum { ALIGN_BYTES = 128, SWIZZLE_BYTES = 1024 };

struct buffer {
    struct op *alloc;
    int64_t bytes;
    int first, last; /* the live range: positions of ops, both inclusive */
    int64_t offset;
};

struct placement {
    struct func *func;
    VEC(struct buffer) buffers;
    struct map position; /* maps an op to its position in program order, plus 1 */
    /* maps an op to the position, plus 1, of the last op inside it, or of the op itself if it has no
     * regions */
    struct map end;
    int next; /* the number of ops that have a position */
};

struct op *buffer_alloc(const struct value *buf, struct value **stage)
{
    bool is_view = buf->def && buf->def->code == OP_shared_stage;
    if (stage)
        *stage = is_view ? op_opnd(buf->def, 1) : NULL;
    return is_view ? op_opnd(buf->def, 0)->def : buf->def;
}

int64_t buffer_bytes(const struct type *t)
{
    return type_elems(t) * type_elem_bytes(t) * t->nstages;
}

static int lookup(const struct map *m, const struct op *o)
{
    void **at = map_get_ptr(m, o);
    return at ? (int)(intptr_t)*at - 1 : 0;
}

/* Numbers all ops in program order, and collects the buffers. */
static void number(struct placement *p, struct block *b)
{
    for (struct op *o = b->first; o; o = o->next) {
        *map_at_ptr(&p->position, o) = (void *)(intptr_t)(++p->next);
        if (o->code == OP_shared_alloc) {
            int64_t bytes = buffer_bytes(op_result(o)->type);
            VEC_PUSH(p->func->module->scratch, &p->buffers, ((struct buffer){.alloc = o, .bytes = bytes}));
        }
        for (int i = 0; i < o->nregions; i++)
            number(p, o->regions[i]);
        *map_at_ptr(&p->end, o) = (void *)(intptr_t)p->next;
    }
}

/* Returns the outermost loop that contains `user` but not the alloc, or NULL. The buffer is live throughout this
 * loop. */
static const struct op *loop_entered(const struct op *user, const struct op *alloc)
{
    const struct op *found = NULL;
    for (const struct op *o = user->block->parent; o && !op_is_inside(alloc, o); o = o->block->parent)
        if (o->code == OP_for || o->code == OP_while)
            found = o;
    return found;
}

/* Returns the `warps` op that contains o, or NULL. */
static const struct op *roles_around(const struct op *o)
{
    for (; o && o->code != OP_warps; o = o->block->parent)
        ;
    return o;
}

static void live_at(struct buffer *b, int first, int last)
{
    b->first = first < b->first ? first : b->first;
    b->last = last > b->last ? last : b->last;
}

/* Extends the live range of b to the wait for the copy or dot that `reader` starts: the first wait whose
 * `pending` is at most the number of copies or dots that have started since `reader`. If no such wait follows
 * `reader` in the body of a loop around it, extends the live range to the whole loop. */
static void live_until_wait(struct placement *p, struct buffer *b, const struct op *reader)
{
    const enum completion kind = op_completion(reader);
    int newer = 0;
    for (const struct op *o = reader; o && o->code != OP_warps; o = o->block->parent) {
        if (o->code == OP_for || o->code == OP_while)
            live_at(b, lookup(&p->position, o), lookup(&p->end, o));
        for (const struct op *next = o->next; next; next = next->next) {
            live_at(b, b->first, lookup(&p->end, next));
            if (op_awaits(next) == kind && op_int(next, ATTR_pending) <= newer)
                return;
            newer += op_completion(next) == kind;
        }
    }
}

static void extend_lifetime(struct placement *p, struct buffer *b, const struct value *v)
{
    for (const struct use *u = v->uses; u; u = u->next) {
        if (u->user->code == OP_shared_stage) {
            extend_lifetime(p, b, op_result(u->user));
            continue;
        }
        bool is_filled_by_producer =
            u->user->code == OP_mbar_init || (u->user->code == OP_tensor_copy && op_opnd(u->user, 0) == v);
        if (is_filled_by_producer && roles_around(u->user)) {
            /* the producer starts together with the consumers, and does not fill a buffer after the consumers
             * have used the buffer for the last time */
            int start = lookup(&p->position, roles_around(u->user));
            b->first = start < b->first ? start : b->first;
            continue;
        }
        const struct op *loop = loop_entered(u->user, b->alloc);
        int first = lookup(&p->position, loop ? loop : u->user);
        int last = loop ? lookup(&p->end, loop) : first;
        live_at(b, first, last);
        if (starts_dot(u->user) || u->user->code == OP_tensor_put)
            live_until_wait(p, b, u->user);
    }
}

static void find_lifetime(struct placement *p, struct buffer *b)
{
    b->first = p->next;
    b->last = 0;
    extend_lifetime(p, b, op_result(b->alloc));
}

static bool live_together(const struct buffer *a, const struct buffer *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* Rounds n up to an offset at which a buffer of `bytes` bytes may start. */
static int64_t round_up(int64_t n, int64_t bytes)
{
    int64_t align = ALIGN_BYTES;
    while (align < SWIZZLE_BYTES && 2 * align <= bytes)
        align *= 2;
    return (n + align - 1) / align * align;
}

/* Returns the lowest offset at which b overlaps none of the n placed buffers. If `overlap` is true, b may
 * overlap buffers that are not live at the same time as b. */
static int64_t first_fit(const struct buffer *placed, int n, const struct buffer *b, bool overlap)
{
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++) {
            const struct buffer *x = &placed[i];
            if ((overlap && !live_together(x, b)) || at >= x->offset + x->bytes || x->offset >= at + b->bytes)
                continue;
            at = round_up(x->offset + x->bytes, b->bytes);
            moved = true;
        }
    }
    return at;
}

static bool has_dot(const struct block *b)
{
    for (const struct op *o = b->first; o; o = o->next)
        if (op_has(o, MULTIPLIES))
            return true;
    return false;
}

/* Sorts the buffers by decreasing size. The sort is stable, so equal inputs get equal offsets. */
static void sort_by_size(struct buffer *b, int n)
{
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && b[k - 1].bytes < b[k].bytes; k--) {
            struct buffer swap = b[k];
            b[k] = b[k - 1];
            b[k - 1] = swap;
        }
}

/* Sets the offsets of all buffers, and returns the number of bytes in use. */
static int64_t fit(struct placement *p, bool overlap)
{
    int64_t top = 0;
    for (int i = 0; i < p->buffers.n; i++) {
        struct buffer *b = &p->buffers.at[i];
        b->offset = first_fit(p->buffers.at, i, b, overlap);
        top = b->offset + b->bytes > top ? b->offset + b->bytes : top;
    }
    return top;
}

/* Makes each buffer that is allocated in a loop with dots live throughout that loop. */
static void keep_apart(struct placement *p)
{
    for (int i = 0; i < p->buffers.n; i++) {
        struct buffer *b = &p->buffers.at[i];
        const struct op *loop = b->alloc->block->parent;
        if (loop && loop->code == OP_for && has_dot(loop->regions[0]))
            live_at(b, lookup(&p->position, loop), lookup(&p->end, loop));
    }
}

/* Sets the offsets so that the buffers of each loop with dots are disjoint, because buffers that share bytes
 * need barriers in each iteration. If fewer CTAs would then fit on an SM, lets the buffers share bytes again.
 * `compact` is the number of bytes in use if buffers share bytes. Returns the number of bytes in use. */
static int64_t fit_apart(struct placement *p, int64_t compact)
{
    const struct target *t = p->func->target;
    keep_apart(p);
    int64_t apart = fit(p, true);
    if (t && apart <= t->smem_bytes && target_ctas(t, 0, 0, apart) == target_ctas(t, 0, 0, compact))
        return apart;
    for (int i = 0; i < p->buffers.n; i++)
        find_lifetime(p, &p->buffers.at[i]);
    return fit(p, true);
}

static void place(struct placement *p)
{
    int64_t total = 0, top;
    for (int i = 0; i < p->buffers.n; i++) {
        find_lifetime(p, &p->buffers.at[i]);
        total += round_up(p->buffers.at[i].bytes, p->buffers.at[i].bytes);
    }
    bool overlap = total > p->func->module->params->allocate_shared_cheap_bytes;
    if (overlap)
        sort_by_size(p->buffers.at, p->buffers.n);
    top = fit(p, overlap);
    if (overlap)
        top = fit_apart(p, top);
    for (int i = 0; i < p->buffers.n; i++) {
        struct buffer *b = &p->buffers.at[i];
        op_set_int(b->alloc, ATTR_offset, b->offset);
        opt_explain(p->func,
                    &(struct explanation){DECISION_placed, .at = b->alloc, .numbers = {b->bytes, b->offset}});
    }
    p->func->shared_bytes = (int)top;
}

void opt_allocate_shared(struct func *f)
{
    struct placement p = {.func = f};
    map_init(&p.position, f->module->scratch);
    map_init(&p.end, f->module->scratch);
    number(&p, f->body);
    place(&p);
    if (f->target && f->shared_bytes > f->target->smem_bytes)
        diag_error(f->module->diag, f->loc, ERR_shared_too_large, f->name, (int64_t)f->shared_bytes,
                   f->target->name, (int64_t)f->target->smem_bytes);
}
