/* SPDX-License-Identifier: MIT */
/* variants.h: lists the variants of a kernel, one row each: VARIANT(name, exists, without, where, meaning). A kernel
 * may be correct, or fast, only for some launches. For the other launches, the kernel is compiled again
 * without some of the passes; the result is called a variant. A launch uses the first variant whose `where`
 * condition is true, or else the kernel itself. If a tensor map of the chosen code cannot be made, or one of
 * its guards (plan.h) fails, the launch uses the first variant that has an empty `where`, whose maps can be
 * made, and whose guards hold.
 *
 *     exists    a condition on the kernel's traits t (struct launch_traits) under which the variant differs
 *               from the kernel
 *     without   the passes without which the variant is compiled
 *     where     the launches that use the variant; "": the launches for which the kernel is not correct */
#ifdef VARIANT
VARIANT(one_program_each, t->is_persistent || t->goes_in_pairs, "persistent_grid,cluster_multicast",
        "programs <= multiprocessors",
        "each program has an SM of its own, and CTAs that run one program each start faster")
VARIANT(no_producer, t->adds_warp && !t->is_persistent && !t->goes_in_pairs, "raise_tma_load",
        "programs > CTAs that fit on the GPU, and more CTAs of this variant fit",
        "the registers of the producer's warp would cost a CTA on each SM")
VARIANT(loads_by_maps_only, t->stores_by_maps, "raise_tma_store", "",
        "maps for stores have more conditions than maps for loads")
VARIANT(loops_that_repeat, t->has_guards && !t->has_maps, "single_trip_loops", "",
        "a loop over a row runs more than once, and its tiles are loaded ahead")
VARIANT(fallback, t->has_maps, "raise_tma_load,raise_tma_store,invariant_loads", "", "some map cannot be made, or a guard fails")
VARIANT(fallback_of_loops, t->has_guards && !t->has_maps, "single_trip_loops,invariant_loads,load_ahead", "",
        "a guard fails: a loop runs more than once, or writes what it reads")
#else
#ifndef NESO_OPT_VARIANTS_H
#define NESO_OPT_VARIANTS_H

#include "ir/ir.h"

/* The traits of a compiled kernel that decide which variants exist. */
struct launch_traits {
    /* is_persistent: each CTA loops over programs (persistent_grid.c)
     * goes_in_pairs: CTAs are launched in clusters of two (cluster_multicast.c) */
    bool is_persistent, goes_in_pairs;
    bool has_maps, stores_by_maps, has_guards;
    bool adds_warp; /* each CTA has a producer of one warp */
};

enum variant {
#define VARIANT(name, exists, without, where, meaning) VARIANT_##name,
#include "opt/variants.h"
#undef VARIANT
    VARIANT_count
};

struct variant_info {
    const char *name, *without, *where;
    bool (*exists)(const struct launch_traits *t);
};
extern const struct variant_info variant_info[VARIANT_count];

/* Returns the variant for launches in which a tensor map cannot be encoded, or a guard fails. */
enum variant variant_fallback(const struct launch_traits *t);
/* Returns whether the passes may give the traced function f tensor maps, guards or a persistent grid. If not,
 * f has no variants. */
bool variants_are_possible(const struct func *f, const struct target *target);

#endif
#endif
