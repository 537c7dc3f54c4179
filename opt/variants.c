/* SPDX-License-Identifier: MIT */
/* variants.c: decides which variants a kernel has. The table in variants.h lists the variants. */
#include "opt/variants.h"

#include "ir/target/target.h"

#define VARIANT(name, exists, without, where, meaning)                                                       \
    static bool exists_##name(const struct launch_traits *t)                                                 \
    {                                                                                                        \
        return exists;                                                                                       \
    }
#include "opt/variants.h"
#undef VARIANT

const struct variant_info variant_info[VARIANT_count] = {
#define VARIANT(name, exists, without, where, meaning) {#name, without, where, exists_##name},
#include "opt/variants.h"
#undef VARIANT
};

enum variant variant_fallback(const struct launch_traits *t)
{
    return t->has_maps ? VARIANT_fallback : VARIANT_fallback_of_loops;
}

struct causes {
    int ndots, nloops;
    bool writes; /* a loop or branch contains a store */
};

static void find_cause(struct op *o, void *ctx)
{
    struct causes *c = ctx;
    c->ndots += o->code == OP_dot;
    c->nloops += o->code == OP_for;
    c->writes |= o->code == OP_store && o->block->parent;
}

/* The passes give tensor maps and a persistent grid only to a function with dots. They give guards only to a
 * function with dots, with several loops over the same row, or with a loop that contains a store. */
bool variants_are_possible(const struct func *f, const struct target *target)
{
    enum { LOOPS_OVER_A_ROW = 2 };
    struct causes c = {0};
    block_walk(f->body, find_cause, &c);
    return c.ndots ? target_has(target, HAS_cp_async)
                   : c.nloops >= LOOPS_OVER_A_ROW || (c.nloops && c.writes);
}
