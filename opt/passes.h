/* passes.h: the passes, one row each. PASS(name, needs, leaves, needed by, what it does) with the degree of detail that a
 * pass needs and leaves (see ir.h; `any`: works at every degree and keeps it), and who needs it: nobody (it may be left
 * out), another pass (it may be left out where that is too), or codegen. The order in which they run is the array in
 * passes.c.
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
PASS(fold, any, any, nobody, "compute constants, apply exact identities")
PASS(cse, any, any, nobody, "compute equal pure ops once")
PASS(licm, any, any, nobody, "move invariant pure ops out of loops")
PASS(dce, any, any, nobody, "drop ops without use or effect")
PASS(unroll, traced, traced, nobody, "do several rounds of a loop in one where the program asks for that")
PASS(single_trip_loops, traced, traced, nobody, "read a row once where the launch sees that loops over it run once")
PASS(legalize_dot, traced, traced, codegen, "widen what tensor cores cannot multiply")
PASS(raise_tma_load, traced, traced, nobody, "make loads of tiles copies by tensor maps")
PASS(raise_tma_store, traced, traced, nobody, "make stores of dots' results copies by tensor maps")
PASS(dedup_loads, traced, traced, nobody, "load once what neighbours share")
PASS(modulo_contiguity, traced, traced, nobody, "say which indices stay side by side where they wrap")
PASS(invariant_loads, traced, traced, nobody, "mark loads of loops with dots that no store of the loop overwrites")
PASS(persistent_grid, traced, traced, nobody, "let a CTA run one program after the other")
PASS(assign_layouts, traced, laid_out, codegen, "give every tile a layout, from the memory accesses outwards")
PASS(lower_scan, laid_out, laid_out, codegen, "split scans over warps into two steps")
PASS(lower_reduce, laid_out, laid_out, codegen, "split reductions over warps into two steps")
PASS(lower_tma_store, laid_out, laid_out, raise_tma_store, "let tiles leave through shared memory and tensor maps")
PASS(warp_specialize, laid_out, laid_out, raise_tma_load, "let a warp of its own feed tensor cores by copies that run ahead")
PASS(overlap_dots, laid_out, laid_out, nobody,
     "let a dot run beside the one that follows from that of the round before")
PASS(pipeline_loops, laid_out, laid_out, nobody, "pipeline loops: copies to shared memory run ahead of dots")
PASS(overlap_epilogue, laid_out, laid_out, nobody, "store a program's tile under the dots of the next")
PASS(peel_first_dot, laid_out, laid_out, nobody, "let a loop's first dot begin its sum, rather than add to zeros")
PASS(sink, laid_out, laid_out, nobody, "compute what only the code behind a loop uses behind the loop")
PASS(cluster_multicast, laid_out, laid_out, nobody, "let pairs of programs share what both load")
PASS(lower_layout_conversion, laid_out, scheduled, codegen, "carry conversions across warps through shared memory")
PASS(remat, scheduled, scheduled, nobody, "compute again what takes fewer registers so than kept")
PASS(vectorize, scheduled, scheduled, codegen, "choose vector widths of memory accesses")
PASS(eviction_hints, scheduled, scheduled, nobody, "let what is read for the last time leave the caches first")
PASS(l2_prefetch, scheduled, scheduled, nobody, "let rows come to L2 before they are asked for")
PASS(allocate_shared, scheduled, scheduled, codegen, "place buffers in shared memory by liveness")
PASS(insert_barriers, scheduled, scheduled, codegen, "order shared memory accesses of different threads")
PASS(pack_programs, scheduled, scheduled, nobody, "let programs of one warp share a CTA")
#else
#ifndef NESO_OPT_PASSES_H
#define NESO_OPT_PASSES_H

#include "ir/ir.h"

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
};

/* Runs the list (or what options say; NULL: the list) on f; f is then scheduled (or as far as asked). User errors stand in
 * diag, and end the run after the pass that found them; bugs unwind to diag's fatal. */
void opt_run(struct func *f, const struct opt_options *o);

enum { DEGREE_any = -1 };

struct pass_info {
    const char *name;
    int needs, leaves;     /* enum degree, or DEGREE_any */
    const char *needed_by; /* "nobody", a pass, or "codegen" */
    void (*run)(struct func *f);
    const char *meaning;
};
extern const struct pass_info pass_info[];
extern const int npasses;
/* The i-th pass that runs; NULL behind the last. */
const char *opt_order(int i);

/* For passes: a line of explanation, shown under --explain=PASS; `o` (may be NULL) gives the place. */
void opt_explain(struct func *f, const struct op *o, const char *format, ...) PRINTF_LIKE(3, 4);
/* Is `name` among comma-separated names, or are they "all"? NULL: none. */
bool opt_is_listed(const char *names, const char *name);
/* Would it be shown? */
bool opt_explains(const struct func *f);

/* Stages of the pipeline of a loop: as many as it asks for, or else the launch, within what options allow. */
int opt_stages(const struct func *f, const struct op *loop);

/* -- stepdown.c: the list of passes again, with less and less shared memory -- */
/* Might the kernel need more of it than there is? Then it is to be kept as it was. */
bool stepdown_is_needed(const struct func *f);
/* f has just turned out too large: makes it anew from `kept` by `run`, until it fits or nothing is left to give up. */
void stepdown_run(struct func *f, const struct func *kept, const struct opt_options *o,
                  void (*run)(struct func *f, const struct opt_options *o));

#define PASS(name, needs, leaves, needed_by, meaning) void opt_##name(struct func *f);
#include "opt/passes.h"
#undef PASS

#endif
#endif
