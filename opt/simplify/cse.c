/* SPDX-License-Identifier: MIT */
/* cse.c: replaces an op by an equal op that dominates it.
 *
 *     %a = add %x, %y            %a = add %x, %y
 *     %b = add %y, %x     =>     (uses of %b become %a)
 *
 * The pass walks regions in order with a scoped hash table, which holds the ops that dominate the current op.
 * A load can replace a later load only if no op between the two loads may write, so a load's entry records
 * how many writes precede the load. Loads are equal even if their eviction priorities differ; the first load
 * keeps its priority. A load through the pointers of the store before it, in the same block, becomes the stored value:
 *
 *     store %p, %x               store %p, %x
 *     %y = load %p        =>     (uses of %y become %x)
 *
 * So such a load needs no barrier, although the thread that loads an element may not be the thread that has stored
 * it. Programs that store and at once load rely on this: in Triton both have the same layout. An assertion disappears if an earlier assertion has the same condition and mask. The
 * pass does not replace ops with regions. Needs: valid SSA. Leaves: no dead ops that were not dead before. */
#include "opt/passes.h"
#include "opt/simplify/simplify.h"

#include <string.h>

struct entry {
    struct op *op;
    uint64_t hash;
    int nwrites; /* for a load: the number of writes before it; for other ops: 0 */
    int below;   /* index + 1 of the next older entry in the same bucket; 0: none */
};

struct cse {
    VEC(struct entry) entries;
    int *buckets; /* index + 1 of each bucket's newest entry; 0: the bucket is empty */
    int nbuckets; /* the number of buckets, a power of two */
    int nwrites;
    const struct op
        *store; /* the last op that may write, if it is a store outside loops and branches; else NULL */
    struct arena *arena;
};

/* -- equality of ops -- */

static bool takes_part(const struct op *o)
{
    if (o->nregions || (o->nresults == 0 && o->code != OP_assert))
        return false;
    return o->code == OP_assert || op_has(o, PURE) || (o->code == OP_load && !op_int(o, ATTR_volatile));
}

static bool is_evict(const struct op *o, int i)
{
    return i < o->nattrs && o->attrs[i].key == ATTR_evict;
}

static uint64_t hash_opnd(const struct op *o, int i)
{
    const struct value *v = op_opnd(o, i);
    return hash_bytes(&v, sizeof v, 0);
}

/* Hashes an op. If the op commutes, adds the hashes of its operands, so that the order of the operands does
 * not matter. */
static uint64_t hash_op(const struct op *o)
{
    uint64_t h = (uint64_t)o->code;
    for (int i = 0; i < o->nopnds; i++)
        h = (op_has(o, COMMUTES) ? h : h * 31) + hash_opnd(o, i);
    if (o->code == OP_assert) /* the text of an assertion does not count */
        return h;
    for (int i = 0; i < o->nattrs; i++)
        if (!is_evict(o, i))
            h = h * 31 + (uint64_t)o->attrs[i].key * 7 + (uint64_t)o->attrs[i].i;
    const struct type *t = o->results[0].type;
    return hash_bytes(&t, sizeof t, h);
}

static bool attr_equal(const struct attr *x, const struct attr *y)
{
    return x->key == y->key && x->n == y->n && x->i == y->i &&
           (!x->list || memcmp(x->list, y->list, (size_t)x->n * sizeof *x->list) == 0) &&
           (!x->s || memcmp(x->s, y->s, (size_t)x->n) == 0);
}

bool attrs_equal(const struct op *a, const struct op *b)
{
    for (int i = 0, k = 0;; i++, k++) {
        i += is_evict(a, i);
        k += is_evict(b, k);
        if (i == a->nattrs || k == b->nattrs)
            return i == a->nattrs && k == b->nattrs;
        if (!attr_equal(&a->attrs[i], &b->attrs[k]))
            return false;
    }
}

static bool equal_opnds(const struct op *a, const struct op *b)
{
    bool same = true;
    for (int i = 0; i < a->nopnds; i++)
        same = same && op_opnd(a, i) == op_opnd(b, i);
    return same || (op_has(a, COMMUTES) && op_opnd(a, 0) == op_opnd(b, 1) && op_opnd(a, 1) == op_opnd(b, 0));
}

static bool equal_ops(const struct op *a, const struct op *b)
{
    if (a->code != b->code || a->nopnds != b->nopnds || a->nresults != b->nresults)
        return false;
    for (int i = 0; i < a->nresults; i++)
        if (a->results[i].type != b->results[i].type)
            return false;
    return equal_opnds(a, b) && (a->code == OP_assert || attrs_equal(a, b));
}

/* -- the table -- */

static int *bucket_of(struct cse *c, uint64_t hash)
{
    return &c->buckets[(hash ^ hash >> 32) & (uint64_t)(c->nbuckets - 1)];
}

static struct op *find(struct cse *c, const struct op *o, uint64_t hash, int nwrites)
{
    for (int i = *bucket_of(c, hash); i; i = c->entries.at[i - 1].below) {
        const struct entry *e = &c->entries.at[i - 1];
        if (e->hash == hash && e->nwrites == nwrites && equal_ops(e->op, o))
            return e->op;
    }
    return NULL;
}

static void enter(struct cse *c, struct op *o, uint64_t hash, int nwrites)
{
    int *bucket = bucket_of(c, hash);
    struct entry e = {.op = o, .hash = hash, .nwrites = nwrites, .below = *bucket};
    VEC_PUSH(c->arena, &c->entries, e);
    *bucket = c->entries.n;
}

/* Called at the end of a scope, with the number of entries at its start. Removes all entries but the oldest
 * n. */
static void leave_scope(struct cse *c, int n)
{
    while (c->entries.n > n) {
        const struct entry *e = &VEC_POP(&c->entries);
        *bucket_of(c, e->hash) = e->below;
    }
}

/* -- the walk over the ops -- */

static void replace(struct op *o, struct op *with)
{
    if (o->nresults)
        opt_explain(o->block->func, &(struct explanation){DECISION_replaced, .at = o,
                                                          .values = {&o->results[0], &with->results[0]}});
    for (int i = 0; i < o->nresults; i++)
        value_replace(&o->results[i], &with->results[i]);
    op_erase(o);
}

/* Replaces the load o by the value that c->store has just stored through the same pointers. Where the mask is false,
 * the result is the load's `other`. Returns false if it does not apply. */
static bool forward(const struct cse *c, struct op *o)
{
    const struct op *store = c->store;
    struct value *mask = op_opnd(o, 1), *other = op_opnd(o, 2);
    if (!store || store->block != o->block || op_opnd(store, 0) != op_opnd(o, 0) ||
        op_opnd(store, 2) != mask || op_opnd(store, 1)->type != op_result(o)->type ||
        op_int(o, ATTR_volatile))
        return false;
    struct value *x = op_opnd(store, 1);
    if (mask && other) {
        struct builder b = build_before(o);
        x = build_select(&b, mask, x, other);
    }
    opt_explain(o->block->func,
                &(struct explanation){DECISION_replaced, .at = o, .values = {op_result(o), x}});
    value_replace(op_result(o), x);
    op_erase(o);
    return true;
}

static void visit_block(struct cse *c, struct block *b);

/* The first op of a loop's body may run after writes of an earlier iteration. So if the body writes, a write
 * is counted before the body's first op. In the second region of an `if`, the writes of the first region
 * count too, although only one of the two regions runs. */
static void visit_regions(struct cse *c, struct op *o)
{
    bool writes = op_may_write(o);
    if (writes && o->code != OP_if)
        c->nwrites++;
    c->store = writes ? NULL : c->store;
    for (int i = 0; i < o->nregions; i++)
        visit_block(c, o->regions[i]);
    if (writes)
        c->nwrites++;
    c->store = writes ? NULL : c->store;
}

static void visit_op(struct cse *c, struct op *o)
{
    if (o->nregions) {
        visit_regions(c, o);
        return;
    }
    if (o->code == OP_load && forward(c, o))
        return;
    if (takes_part(o)) {
        uint64_t hash = hash_op(o);
        int nwrites = o->code == OP_load ? c->nwrites : 0;
        struct op *earlier = find(c, o, hash, nwrites);
        if (earlier)
            replace(o, earlier);
        else
            enter(c, o, hash, nwrites);
        return;
    }
    if (op_may_write(o)) {
        c->nwrites++;
        c->store = o->code == OP_store && !op_int(o, ATTR_volatile) ? o : NULL;
    }
}

static void visit_block(struct cse *c, struct block *b)
{
    int n = c->entries.n;
    for (struct op *next, *o = b->first; o; o = next) {
        next = o->next;
        visit_op(c, o);
    }
    leave_scope(c, n);
}

void opt_cse(struct func *f)
{
    enum { BUCKETS_LEAST = 256, BUCKETS_MOST = 1 << 20 };
    struct cse c = {.nbuckets = BUCKETS_LEAST, .arena = f->module->scratch};
    while (c.nbuckets < f->module->nops && c.nbuckets < BUCKETS_MOST)
        c.nbuckets *= 2;
    c.buckets = NEW_ARRAY(c.arena, c.nbuckets, int);
    visit_block(&c, f->body);
}
