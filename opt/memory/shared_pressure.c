/* SPDX-License-Identifier: MIT */
/* shared_pressure.c: computes how many bytes of shared memory are live at once.
 *
 *     %k = to_shared          8 KB  |
 *     for { ... %k ... }            | 8 KB, and the bytes that are live in the body
 *     %q = to_shared          8 KB    |
 *     for { ... %q ... }              | 8 KB again, not 16
 *
 * A buffer is live from the op that makes it to the last op of the same block that uses the buffer or contains a
 * user. The result is an estimate: allocate_shared.c may need more bytes, because it aligns buffers, leaves gaps, and
 * keeps a buffer until the wait for the dot or copy that reads it. */
#include "opt/layout/layouts.h"
#include "opt/memory/memory.h"

int64_t shared_bytes_of(const struct op *o)
{
    if (o->code == OP_shared_alloc || (o->code == OP_to_shared && !op_opnd(o, 1)))
        return buffer_bytes(op_result(o)->type);
    return convert_is_shared(o) ? type_elems(op_result(o)->type) * type_elem_bytes(op_result(o)->type) : 0;
}

static int place_of(const struct block *b, const struct op *o)
{
    int n = 0;
    for (const struct op *x = b->first; x && x != o; x = x->next)
        n++;
    return n;
}

/* Returns the position in b of the last op that uses the buffer or a view of it, or that contains such an op; at
 * least `last`. */
static int last_place(const struct block *b, const struct value *buf, int last)
{
    for (const struct use *u = buf->uses; u; u = u->next) {
        const struct op *at = op_ancestor_in(u->user, b);
        int place = at ? place_of(b, at) : last;
        last = place > last ? place : last;
        if (u->user->code == OP_shared_stage)
            last = last_place(b, op_result(u->user), last);
    }
    return last;
}

int64_t shared_pressure(const struct block *b, int64_t (*bytes_of)(const struct op *o, void *ctx), void *ctx)
{
    int n = place_of(b, NULL), i = 0;
    int64_t most = 0, *live = NEW_ARRAY(b->func->module->scratch, n + 1, int64_t);
    for (const struct op *o = b->first; o; o = o->next, i++) {
        int64_t bytes = bytes_of(o, ctx), inner = 0;
        int last = bytes && op_result(o)->type->kind == TY_shared ? last_place(b, op_result(o), i) : i;
        for (int k = i; bytes && k <= last; k++)
            live[k] += bytes;
        for (int k = 0; k < o->nregions; k++) {
            int64_t in_region = shared_pressure(o->regions[k], bytes_of, ctx);
            inner = in_region > inner ? in_region : inner;
        }
        live[i] += inner;
    }
    for (i = 0; i < n; i++)
        most = live[i] > most ? live[i] : most;
    return most;
}
