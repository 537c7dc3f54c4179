/* SPDX-License-Identifier: MIT */
/* passes.h: lists the passes, which turn traced IR into scheduled IR, one row each: PASS(name, needs,
 * provides, breaks, meaning). `needs`, `provides` and `breaks` are sets of properties (properties.h); 0 is
 * the empty set. Pass NAME is the function opt_NAME(f) in FOLDER/NAME.c. A pass allocates temporary data in
 * f->module->scratch. When the pass starts, the `scratch` pointer of every value is NULL. When the pass ends,
 * the verifier must accept f.
 *
 * Reading order: passes.c (the order of the passes), properties.h and contracts.c (the check of that order),
 * explain.h and decisions.h (--explain), cost.c (estimates of registers, CTAs and cycles), stepdown.c
 * (kernels that need too much shared memory or too many registers), variants.h (kernels that serve only some
 * launches). Then come the folders; in each, read the main header first: analysis/analysis.h,
 * simplify/simplify.h, layout/layouts.h, memory/memory.h, pipeline/pipeline.h. The passes of grid/ change
 * which CTA runs which program.
 *
 * The invariants of a scheduled function on which codegen relies:
 *   - No layout has replicated registers: no two registers of a thread hold the same element. Several lanes
 *     or warps may hold the same element; only one of them, the owner, stores the element.
 *   - A `convert` moves data only within threads or within warps (layout_conversion tells which). Every other
 *     conversion has become the ops shared_alloc, shared_store, barrier and shared_load. Each shared_alloc
 *     has an `offset`, and func.shared_bytes is the total size of the buffers. Each shared_store and
 *     shared_load has `vec`: the number of elements that are consecutive both in registers and in the buffer.
 *   - The axis of a `reduce` is distributed over registers and lanes only. The result has the operand's layout
 *     without the axis (layout_slice with drop), so every participating lane holds the result. If the result is a
 *     scalar, every thread holds the result.
 *   - The layout of a broadcast's operand is the result's layout without the bits of the broadcast dimensions
 *     (layout_squash) and without replicated registers. expand_dims, reshape and trans do not change
 *     registers.
 *   - A load or store has `vec`: each group of `vec` consecutive elements is in consecutive registers, and
 *     the index of the first register is a multiple of `vec`. The group is contiguous in memory, and aligned
 *     to its size (16 bytes at most). Without `tail` the elements of a group share one mask value. With
 *     `tail` their mask values may differ: the code accesses the whole group if all its mask values are true,
 *     and otherwise one element at a time.
 *   - A cmp has `same`: for each i that is a multiple of `same`, the result registers i, ..., i + `same` - 1 hold
 *     equal values. */
#ifdef PASS
PASS(fold, 0, P(canonical), P(tidy), "fold constants and exact identities")
PASS(cse, P(canonical), P(unique), P(tidy), "compute equal pure ops once")
PASS(licm, 0, 0, 0, "move invariant pure ops out of loops")
PASS(dce, 0, P(tidy), 0, "drop ops without use or effect")
PASS(unroll, P(traced) | P(tidy), 0, P(canonical) | P(tidy),
     "unroll loops where the program asks for it")
PASS(single_trip_loops, P(traced) | P(one_program), 0, P(canonical) | P(tidy),
     "load a row once if its loops run one iteration each, which the launch checks")
PASS(fix_order, P(traced), P(ordered), P(canonical) | P(tidy), "give sums one order in deterministic kernels")
PASS(legalize_dot, P(traced), P(legal_dots), P(canonical) | P(tidy),
     "give each dot operand types, and the kernel a number of warps, that tensor cores support")
PASS(raise_tma_load, P(traced) | P(one_program) | P(legal_dots), P(loads_raised),
     P(canonical) | P(tidy) | P(tensor_loads_lowered), "turn loads of tiles into copies by tensor maps")
PASS(raise_tma_store, P(traced) | P(one_program) | P(legal_dots) | P(loads_raised), 0,
     P(canonical) | P(tidy) | P(tensor_stores_lowered), "turn stores of dots' results into copies by tensor maps")
PASS(dedup_loads, P(traced), 0, P(canonical) | P(tidy), "load an address once if neighbouring elements of a tile share it")
PASS(modulo_contiguity, P(traced), 0, 0, "mark quotients as equal and remainders as contiguous within aligned groups of indices")
PASS(invariant_loads, P(traced) | P(one_program) | P(loads_raised), 0, 0,
     "mark loads in loops with dots if no store of the loop writes to their addresses")
PASS(hoist_loads, P(traced), 0, P(canonical) | P(tidy) | P(unique),
     "load a tile before a branch if code after the branch overwrites it")
PASS(load_ahead, P(traced) | P(one_program), 0, P(canonical) | P(tidy) | P(unique),
     "load the tiles of a loop without dots an iteration ahead, into registers")
PASS(persistent_grid, P(traced) | P(loads_raised), 0, P(one_program) | P(canonical) | P(tidy),
     "launch only as many CTAs as run at once; each loops over many programs")
PASS(assign_layouts, P(traced) | P(legal_dots), P(laid_out), P(traced) | P(tidy) | P(unique),
     "give every tile a layout, starting from memory accesses and dots")
PASS(keep_maximum, P(laid_out), 0, P(tidy) | P(unique),
     "keep the maximum of an online softmax while the exponentials stay small, in kernels with fp_reassoc")
PASS(skip_rescaling, P(laid_out), 0, P(tidy) | P(unique),
     "rescale the accumulator of an online softmax only if a maximum has changed")
PASS(lower_scan, P(laid_out), P(scans_lowered), P(tidy), "split scans over warps into a scan in each warp and a scan over the warps")
PASS(lower_reduce, P(laid_out), P(reduces_lowered), P(tidy), "split reductions over warps into one in each warp and one over the warps")
PASS(lower_tma_store, P(laid_out), P(tensor_stores_lowered), P(tidy) | P(offsets) | P(barriers),
     "store tiles to shared memory and copy them out by tensor maps")
PASS(warp_specialize, P(laid_out) | P(tensor_stores_lowered) | P(unique), P(tensor_loads_lowered),
     P(tidy) | P(offsets) | P(barriers), "give the loads of dots to a producer warp that copies ahead into a ring")
PASS(overlap_dots, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(barriers),
     "overlap iteration i+1's first dot with iteration i's second")
PASS(pipeline_loops, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(unique) | P(offsets) | P(barriers),
     "pipeline loops: copy to shared memory iterations ahead of the dots")
PASS(alternate_dots, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(unique) | P(barriers),
     "start a loop's only dot one iteration early if arithmetic on its result follows")
PASS(overlap_epilogue, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(barriers),
     "overlap the store of a program's tile with the dots of the next program")
PASS(schedule_dots, P(laid_out) | P(tensor_loads_lowered) | P(unique), 0, P(barriers),
     "start each dot as soon as its operands exist, and wait for its result before the first use")
PASS(carry_dots, P(laid_out) | P(tensor_loads_lowered), 0, P(barriers),
     "let the last dot of a loop run during the first dots of the next iteration")
PASS(sink, P(laid_out) | P(tidy), 0, 0, "sink pure ops below a loop if only code after the loop uses their results")
PASS(cluster_multicast, P(laid_out) | P(tensor_loads_lowered), 0, P(tidy) | P(barriers),
     "multicast tiles that both CTAs of a cluster load")
PASS(lower_layout_conversion,
     P(laid_out) | P(tidy) | P(unique) | P(scans_lowered) | P(reduces_lowered) | P(tensor_loads_lowered) |
         P(tensor_stores_lowered),
     P(scheduled), P(laid_out) | P(tidy) | P(offsets) | P(barriers),
     "lower layout conversions across warps to shared memory accesses")
PASS(remat, P(scheduled), 0, P(tidy) | P(offsets) | P(barriers),
     "rematerialize values that cost fewer registers to recompute than to keep")
PASS(vectorize, P(scheduled), P(vectorized) | P(in_place), 0, "choose vector widths of memory accesses")
PASS(cheap_division, P(scheduled) | P(vectorized), 0, P(tidy) | P(unique),
     "divide indices that are not negative by constants, by multiplications and shifts")
PASS(eviction_hints, P(scheduled) | P(vectorized), 0, 0,
     "mark last reads of memory, so that their cache lines are evicted first")
PASS(l2_prefetch, P(scheduled) | P(in_place), 0, P(tidy), "prefetch rows of later programs to L2")
PASS(whole_tiles, P(scheduled) | P(vectorized), 0, P(unique) | P(tidy) | P(in_place),
     "load tiles without a mask if they do not cross the end of their row")
PASS(allocate_shared, P(scheduled), P(offsets), P(barriers), "give shared memory buffers offsets by liveness")
PASS(insert_barriers, P(scheduled) | P(offsets), P(barriers), 0,
     "insert barriers between shared memory accesses of different threads")
PASS(turn_grid, P(scheduled) | P(offsets) | P(barriers), 0, 0,
     "exchange the axes of a grid whose neighbours along axis 1 access neighbouring memory")
PASS(pack_programs, P(scheduled) | P(offsets) | P(barriers), 0, 0, "run several programs of one warp each in one CTA")
#else
#ifndef NESO_OPT_PASSES_H
#define NESO_OPT_PASSES_H

#include "opt/explain.h"

struct opt_options {
    /* The strings contain names of passes, separated by commas. */
    const char *passes;      /* the passes to run; NULL: the default list */
    const char *stop_after;  /* the last pass to run; NULL: run all */
    const char *skip;        /* the passes to skip, or NULL */
    const char *print_after; /* the passes after which `write` receives the IR, or "all", or NULL */
    const char *explain;     /* the passes that explain their decisions, or "all", or NULL */
    /* Limits that stepdown.c sets if shared memory is short; 0: no limit. stages_most is the largest number
     * of stages of a pipeline. conversion_bytes_most is the largest number of bytes that the buffers of
     * consecutive layout conversions take together. If no_async_dots is true, all dots read their operands
     * from registers. */
    int stages_most;
    int64_t conversion_bytes_most;
    bool no_async_dots;
    /* true: `write` receives the IR only after those passes of print_after that changed the IR; if
     * print_after is NULL, after every pass that changed the IR */
    bool print_changed;
    bool makes_code;    /* codegen follows, so the passes that codegen needs must run */
    bool verify_each;   /* verify, print and re-parse after each pass; always on in debug builds (NESO_DEBUG) */
    bool time;        /* `write` receives the time that each pass takes */
    /* Receives dumps, explanations and times as n bytes at s, with the name of the pass. ctx is write_ctx.
     * NULL: they are not written. */
    void (*write)(void *ctx, const char *pass, const char *s, size_t n);
    void *write_ctx;
    /* Receives explanations as records. ctx is write_ctx. NULL: `write` receives the explanations as text. */
    void (*note)(void *ctx, const struct explanation *x);
    /* Estimates how many registers of a thread ptxas will spill in the code of f (codegen_spilled_regs).
     * NULL: there is no estimate. */
    int (*spilled_regs)(struct func *f);
};

/* Runs on f the passes that o selects; if o is NULL, the default list. The default list yields a scheduled
 * function. A pass reports errors in the user's program to f->module->diag; the run then ends after this
 * pass. Internal errors longjmp to the fatal handler of this diag. */
void opt_run(struct func *f, const struct opt_options *o);

/* -- simplify/fix_order.c -- */
/* If the traced function f must be deterministic, reports an error for each op that no pass can make
 * deterministic, and an error if f has the option fp_reassoc, which allows reordering. Otherwise does
 * nothing. */
void opt_check_order(struct func *f);

/* -- contracts.c: checks that the passes may run in the given order, and that f has the properties that the
 * passes claim to provide -- */
enum property {
#define PROPERTY(name, kind, find, meaning) PROPERTY_##name,
#include "opt/properties.h"
#undef PROPERTY
    PROPERTY_count
};
#define P(name) (UINT32_C(1) << PROPERTY_##name)

/* The properties that code generation needs. */
#define CODEGEN_NEEDS                                                                                        \
    (P(scheduled) | P(legal_dots) | P(scans_lowered) | P(reduces_lowered) | P(tensor_stores_lowered) |       \
     P(tensor_loads_lowered) | P(ordered) | P(offsets) | P(barriers))

struct property_info {
    const char *name, *kind, *meaning;
};
extern const struct property_info property_info[PROPERTY_count];

/* A row of the table of passes. Each set of properties is a mask of bits P(name). */
struct pass_info {
    const char *name;
    uint32_t needs, provides, breaks;
    void (*run)(struct func *f);
    const char *meaning;
};
extern const struct pass_info pass_info[];
extern const int npasses;

typedef VEC(const struct pass_info *) pass_list;

/* Checks that the passes may run on f in this order, and that no pass is missing. `more` is the set of
 * properties that f must have after the last pass. A violation is a fatal error. The message names the
 * property, the pass that needs it, the pass that breaks or provides it, and a remedy. */
void contract_check(struct func *f, const pass_list *list, uint32_t more);
/* Returns the properties that f has before the first pass: its degree, and each property that some op could
 * contradict but no op of f contradicts. These properties are called the claims. */
uint32_t contract_claims(struct func *f);
/* Returns the claims after pass p. `claims` are the claims before p. */
uint32_t contract_behind(uint32_t claims, const struct pass_info *p);
/* Checks that no op of f contradicts a claim. A false claim is a bug of the pass that ran last, and is fatal
 * (diag_bug). */
void contract_verify(struct func *f, uint32_t claims);

/* Returns the name of pass number i (from 0) of the default list; NULL if the list has at most i passes. */
const char *opt_order(int i);

/* Returns whether `name` is in the comma-separated list `names`, or the list is "all". NULL is the empty
 * list. */
bool opt_is_listed(const char *names, const char *name);

/* Returns the number of pipeline stages of a loop: the loop's attribute `stages` if the loop has one, else
 * f->num_stages, but at most stages_most of the options. */
int opt_stages(const struct func *f, const struct op *loop);

/* -- stepdown.c: runs the passes again, with lower limits if shared memory is too small, or with more warps
 * if registers are short -- */
/* Returns whether the kernel f, before the first pass, might need more shared memory or registers than the
 * target has. If so, the caller keeps a copy of f for stepdown_run. */
bool stepdown_is_needed(const struct func *f, const struct opt_options *o);
/* `kept` is the copy of f that was made before the first run. If that run ended because shared memory was too
 * small, restores f from `kept` and calls `run` with lower limits, until f fits or no limit can be lowered
 * further. If f fits, but many registers would be spilled, restores f and calls `run` with twice the
 * warps. */
void stepdown_run(struct func *f, const struct func *kept, const struct opt_options *o,
                  void (*run)(struct func *f, const struct opt_options *o));

#define PASS(name, needs, provides, breaks, meaning) void opt_##name(struct func *f);
#include "opt/passes.h"
#undef PASS

#endif
#endif
