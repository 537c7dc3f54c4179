/* variants.h: a kernel may be right, or fast, for some launches only; then it has variants, which leave passes out. One row
 * each: VARIANT(name, exists, without, where, meaning). A launch takes the first whose `where` holds, and of those with
 * maps and guards one whose maps can be made and whose guards hold.
 *
 *     exists    what a kernel must be like (t, a struct launch_traits), so that the variant differs from it
 *     without   the passes that the variant leaves out
 *     where     the launches that the variant is for; "": those that the kernel itself is not for */
#ifdef VARIANT
VARIANT(one_program_each, t->is_persistent || t->goes_in_pairs, "persistent_grid,cluster_multicast",
        "programs <= multiprocessors",
        "every program has a multiprocessor for itself: CTAs that run one program each start faster")
VARIANT(loads_by_maps_only, t->stores_by_maps, "raise_tma_store", "",
        "maps for stores ask for more than maps for loads do")
VARIANT(fallback, t->has_maps, "raise_tma_load,raise_tma_store,invariant_loads", "", "some map cannot be made, or a guard fails")
VARIANT(fallback_of_loops, t->has_guards && !t->has_maps, "single_trip_loops,invariant_loads", "",
        "a guard fails: a loop runs more than once")
#else
#ifndef NESO_OPT_VARIANTS_H
#define NESO_OPT_VARIANTS_H

#include "ir/ir.h"

/* What a launch of a compiled kernel has to do with. */
struct launch_traits {
    bool is_persistent, goes_in_pairs; /* its CTAs */
    bool has_maps, stores_by_maps, has_guards;
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

/* The one for launches whose maps cannot be made, or whose guards fail. */
enum variant variant_fallback(const struct launch_traits *t);
/* May f, which is traced, get maps, guards or a persistent grid? Else it has no variants. */
bool variants_are_possible(const struct func *f, const struct target *target);

#endif
#endif
