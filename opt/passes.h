/* passes.h: the passes, one row each. PASS(name, needs, provides, breaks, what it does): the properties (properties.h) that
 * a function must have in front of the pass, those that the pass gives it, and those that it may take from it; 0: none. The
 * order in which they run is the array in passes.c, which the driver checks by this table (contracts.c).
 * Each is `void opt_NAME(struct func *f)` in opt/NAME.c, uses f->module->scratch for its notes, finds every value's
 * `scratch` NULL, and leaves a verifiable function; the driver does the rest.
 *
 * What a scheduled function is, for codegen:
 *   - No layout has registers that only replicate. Lanes and warps may replicate: stores are done by the owner.
 *   - `convert` stands only where layout_conversion says none, registers or shuffle. The others have become
 *     shared_alloc, shared_store, barrier, shared_load. A shared_alloc has its `offset` (func.shared_bytes is the sum),
 *     a shared_store or shared_load its `vec`: the elements that lie side by side in registers and in the buffer.
 *   - `reduce` has its axis in registers and lanes only. The result is the operand's layout without the axis
 *     (layout_slice with drop): every lane that took part has it. A reduce to a scalar leaves it in every thread.
 *   - `broadcast` takes layout_squash of the result's layout over the broadcast dimensions, replicated registers dropped.
 *     expand_dims, reshape, trans keep registers as they are.
 *   - load and store: `vec` neighbouring elements, which stand in consecutive registers from a multiple of vec on, are
 *     consecutive in memory and aligned to the vector's bytes (16 at most). Without `tail` they share one mask value.
 *     With `tail` they may not: the vector is accessed whole where all its elements are on, else one by one.
 *   - cmp: `same` registers from a multiple of it on hold equal values. */
#ifdef PASS
PASS(fold, 0, P(canonical), P(tidy), "compute constants, apply exact identities")
PASS(cse, P(canonical), P(unique), P(tidy), "compute equal pure ops once")
PASS(licm, 0, 0, 0, "move invariant pure ops out of loops")
PASS(dce, 0, P(tidy), 0, "drop ops without use or effect")
PASS(unroll, P(traced) | P(tidy), 0, P(canonical) | P(tidy),
     "do several rounds of a loop in one where the program asks for that")
PASS(single_trip_loops, P(traced) | P(one_program), 0, P(canonical) | P(tidy),
     "read a row once where the launch sees that loops over it run once")
PASS(legalize_dot, P(traced), P(legal_dots), P(canonical) | P(tidy),
     "widen what tensor cores cannot multiply")
PASS(raise_tma_load, P(traced) | P(one_program) | P(legal_dots), P(loads_raised),
     P(canonical) | P(tidy) | P(tensor_loads_lowered), "make loads of tiles copies by tensor maps")
PASS(raise_tma_store, P(traced) | P(one_program) | P(legal_dots) | P(loads_raised), 0,
     P(canonical) | P(tidy) | P(tensor_stores_lowered), "make stores of dots' results copies by tensor maps")
PASS(dedup_loads, P(traced), 0, P(canonical) | P(tidy), "load once what neighbours share")
PASS(modulo_contiguity, P(traced), 0, 0, "say which indices stay side by side where they wrap")
PASS(invariant_loads, P(traced) | P(one_program) | P(loads_raised), 0, 0,
     "mark loads of loops with dots that no store of the loop overwrites")
PASS(persistent_grid, P(traced) | P(loads_raised), 0, P(one_program) | P(canonical) | P(tidy),
     "let a CTA run one program after the other")
PASS(assign_layouts, P(traced) | P(legal_dots), P(laid_out), P(traced) | P(tidy) | P(unique),
     "give every tile a layout, from the memory accesses outwards")
PASS(lower_scan, P(laid_out), P(scans_lowered), P(tidy), "split scans over warps into two steps")
PASS(lower_reduce, P(laid_out), P(reduces_lowered), P(tidy), "split reductions over warps into two steps")
PASS(lower_tma_store, P(laid_out), P(tensor_stores_lowered), P(tidy) | P(offsets) | P(barriers),
     "let tiles leave through shared memory and tensor maps")
PASS(warp_specialize, P(laid_out) | P(tensor_stores_lowered) | P(unique), P(tensor_loads_lowered),
     P(tidy) | P(offsets) | P(barriers), "let a warp of its own feed tensor cores by copies that run ahead")
PASS(overlap_dots, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(barriers),
     "let a dot run beside the one that follows from that of the round before")
PASS(pipeline_loops, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(unique) | P(offsets) | P(barriers),
     "pipeline loops: copies to shared memory run ahead of dots")
PASS(overlap_epilogue, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(barriers),
     "store a program's tile under the dots of the next")
PASS(peel_first_dot, P(laid_out) | P(tensor_loads_lowered) | P(sunk), 0, P(tidy) | P(barriers),
     "let a loop's first dot begin its sum, rather than add to zeros")
PASS(sink, P(laid_out) | P(tidy), P(sunk), 0, "compute what only the code behind a loop uses behind the loop")
PASS(cluster_multicast, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(barriers),
     "let pairs of programs share what both load")
PASS(lower_layout_conversion,
     P(laid_out) | P(tidy) | P(unique) | P(scans_lowered) | P(reduces_lowered) | P(tensor_loads_lowered) |
         P(tensor_stores_lowered),
     P(scheduled), P(laid_out) | P(tidy) | P(offsets) | P(barriers),
     "carry conversions across warps through shared memory")
PASS(remat, P(scheduled), 0, P(tidy) | P(offsets) | P(barriers),
     "compute again what takes fewer registers so than kept")
PASS(vectorize, P(scheduled), P(vectorized), 0, "choose vector widths of memory accesses")
PASS(eviction_hints, P(scheduled) | P(vectorized), 0, 0,
     "let what is read for the last time leave the caches first")
PASS(l2_prefetch, P(scheduled), 0, P(tidy), "let rows come to L2 before they are asked for")
PASS(allocate_shared, P(scheduled), P(offsets), P(barriers), "place buffers in shared memory by liveness")
PASS(insert_barriers, P(scheduled) | P(offsets), P(barriers), 0,
     "order shared memory accesses of different threads")
PASS(pack_programs, P(scheduled) | P(offsets) | P(barriers), 0, 0, "let programs of one warp share a CTA")
#else
#ifndef NESO_OPT_PASSES_H
#define NESO_OPT_PASSES_H

#include "opt/explain.h"

struct opt_options {
    const char *passes;      /* comma-separated names to run instead of the list; NULL: the list */
    const char *stop_after;  /* name, or NULL */
    const char *skip;        /* names, or NULL */
    const char *print_after; /* names or "all", or NULL */
    const char *explain;     /* names or "all", or NULL */
    /* What shared memory leaves (stepdown.c). Stages of pipelines, whatever the program asks for; bytes of what
     * conversions that stand in a row take together; 0: as many as there are. Dots that read no shared memory
     * themselves. */
    int stages_most;
    int64_t conversion_bytes_most;
    bool no_wgmma;
    bool print_changed; /* only where the text changed; without print_after: after every pass */
    bool makes_code;    /* codegen follows: what it needs must run */
    bool verify_each;   /* verify and round-trip after each pass; always on in debug builds (NESO_DEBUG) */
    bool time;
    /* Where dumps, explanations and times go; NULL: nowhere. `pass` names the writer. */
    void (*write)(void *ctx, const char *pass, const char *s, size_t n);
    void *write_ctx;
    /* Gets explanations as records, with write_ctx; NULL: their text is written. */
    void (*note)(void *ctx, const struct explanation *x);
};

/* Runs the list (or what options say; NULL: the list) on f; f is then scheduled (or as far as asked). User errors stand in
 * diag, and end the run after the pass that found them; bugs unwind to diag's fatal. */
void opt_run(struct func *f, const struct opt_options *o);

/* -- contracts.c: may passes run in this order, and is true what they say? -- */
enum property {
#define PROPERTY(name, kind, find, meaning) PROPERTY_##name,
#include "opt/properties.h"
#undef PROPERTY
    PROPERTY_count
};
#define P(name) (UINT32_C(1) << PROPERTY_##name)

/* What code generation needs. */
#define CODEGEN_NEEDS                                                                                        \
    (P(scheduled) | P(legal_dots) | P(scans_lowered) | P(reduces_lowered) | P(tensor_stores_lowered) |       \
     P(tensor_loads_lowered) | P(offsets) | P(barriers))

struct property_info {
    const char *name, *kind, *meaning;
};
extern const struct property_info property_info[PROPERTY_count];

/* Masks of properties. */
struct pass_info {
    const char *name;
    uint32_t needs, provides, breaks;
    void (*run)(struct func *f);
    const char *meaning;
};
extern const struct pass_info pass_info[];
extern const int npasses;

typedef VEC(const struct pass_info *) pass_list;

/* May they run on f in this order, none missing? Else fatal: the message names the pass, the property, who needs it, and
 * the way out. `more`: what f must have behind the last. */
void contract_check(struct func *f, const pass_list *list, uint32_t more);
/* The properties that f's ops show it to have; those that no op can show are left out. */
uint32_t contract_claims(struct func *f);
/* What `claims` become behind p. */
uint32_t contract_behind(uint32_t claims, const struct pass_info *p);
/* Is each of the claims true? Else a bug of the pass that has just run. */
void contract_verify(struct func *f, uint32_t claims);

/* The i-th pass that runs; NULL behind the last. */
const char *opt_order(int i);

/* Is `name` among comma-separated names, or are they "all"? NULL: none. */
bool opt_is_listed(const char *names, const char *name);

/* Stages of the pipeline of a loop: as many as it asks for, or else the launch, within what options allow. */
int opt_stages(const struct func *f, const struct op *loop);

/* -- stepdown.c: the list of passes again, with less and less shared memory -- */
/* Might the kernel need more of it than there is? Then it is to be kept as it was. */
bool stepdown_is_needed(const struct func *f);
/* f has just turned out too large: makes it anew from `kept` by `run`, until it fits or nothing is left to give up. */
void stepdown_run(struct func *f, const struct func *kept, const struct opt_options *o,
                  void (*run)(struct func *f, const struct opt_options *o));

#define PASS(name, needs, provides, breaks, meaning) void opt_##name(struct func *f);
#include "opt/passes.h"
#undef PASS

#endif
#endif
