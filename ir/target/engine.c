/* SPDX-License-Identifier: MIT */
/* engine.c: describes the engines that compute dots, one row each (see engine.h), and chooses an engine for a dot. */
#include "ir/target/engine.h"

#include "ir/target/wgmma.h"

static const char *choose_fma(struct mma_choice *c, const struct op *dot, bool rows_first)
{
    (void)dot;
    (void)rows_first;
    c->fragment = NULL;
    c->name = c->engine->name;
    return NULL;
}

static const char *choose_mma(struct mma_choice *c, const struct op *dot, bool rows_first)
{
    c->fragment = fragment_for(dot);
    if (!c->fragment)
        return "the target has none";
    c->name = c->fragment->name;
    c->split =
        warp_split_for(c->fragment, op_opnd(dot, DOT_acc)->type, dot->block->func->num_warps, rows_first);
    return NULL;
}

const struct mma_engine mma_engines[ENGINE_count] = {
    [ENGINE_fma] = {.name = "fma",
                    .warps = 0,
                    .rows = 1,
                    .columns = 1,
                    .holds = {PLACE_registers, PLACE_registers, PLACE_registers},
                    .is_async = false,
                    .choose = choose_fma},
    [ENGINE_mma] = {.name = "mma",
                    .warps = 1,
                    .rows = 16,
                    .columns = 8,
                    .holds = {PLACE_registers, PLACE_registers, PLACE_registers},
                    .either_major_bytes = 2,
                    .is_async = false,
                    .choose = choose_mma},
    [ENGINE_wgmma] = {.name = "wgmma",
                      .warps = WARPGROUP_WARPS,
                      .rows = 64,
                      .columns = 256,
                      .holds = {PLACE_registers | PLACE_shared, PLACE_shared, PLACE_registers},
                      .either_major_bytes = 2,
                      .is_async = true,
                      .choose = choose_wgmma},
};

int target_rate(const struct target *t, const struct mma_engine *e)
{
    return t->mma_rates[e - mma_engines];
}

const struct mma_engine *target_engine(const struct target *t, bool is_async)
{
    const struct mma_engine *e = &mma_engines[ENGINE_count];
    while (e-- > mma_engines)
        if (e->is_async == is_async && target_rate(t, e))
            return e;
    return NULL;
}

/* Calls `choose` of c->engine if the function's target has the engine, and if the engine is synchronous or
 * `fits` is true. A function without a target is treated as if its target had all synchronous engines and no
 * asynchronous engine. Returns NULL, or the reason why the engine cannot compute the dot. */
static const char *try_engine(struct mma_choice *c, const struct op *dot, bool fits, bool rows_first)
{
    const struct target *t = dot->block->func->target;
    if (c->engine->is_async && !fits)
        return "its operands do not fit into shared memory";
    if (t ? !target_rate(t, c->engine) : c->engine->is_async)
        return "the target has none";
    return c->engine->choose(c, dot, rows_first);
}

struct mma_choice mma_choose(const struct op *dot, bool fits, bool rows_first)
{
    struct mma_choice c = {.engine = &mma_engines[ENGINE_count - 1]};
    c.why_not = try_engine(&c, dot, fits, rows_first);
    for (const char *why = c.why_not; why; why = try_engine(&c, dot, fits, rows_first))
        c.engine--;
    return c;
}
