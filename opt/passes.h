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
PASS(once, traced, traced, nobody, "read a row once where the launch sees that loops over it run once")
PASS(dot, traced, traced, codegen, "widen what tensor cores cannot multiply")
PASS(tma, traced, traced, nobody, "make loads of tiles copies by tensor maps")
PASS(put, traced, traced, nobody, "make stores of dots' results copies by tensor maps")
PASS(thin, traced, traced, nobody, "load once what neighbours share")
PASS(wrap, traced, traced, nobody, "say which indices stay side by side where they wrap")
PASS(persist, traced, traced, nobody, "let a CTA run one program after the other")
PASS(assign, traced, laid_out, codegen, "give every tile a layout, from the memory accesses outwards")
PASS(scan, laid_out, laid_out, codegen, "split scans over warps into two steps")
PASS(cross, laid_out, laid_out, codegen, "split reductions over warps into two steps")
PASS(tensor, laid_out, laid_out, put, "let tiles leave through shared memory and tensor maps")
PASS(warps, laid_out, laid_out, tma, "let a warp of its own feed tensor cores by copies that run ahead")
PASS(rotate, laid_out, laid_out, nobody,
     "let a dot run beside the one that follows from that of the round before")
PASS(stage, laid_out, laid_out, nobody, "pipeline loops: copies to shared memory run ahead of dots")
PASS(defer, laid_out, laid_out, nobody, "store a program's tile under the dots of the next")
PASS(peel, laid_out, laid_out, nobody, "let a loop's first dot begin its sum, rather than add to zeros")
PASS(sink, laid_out, laid_out, nobody, "compute what only the code behind a loop uses behind the loop")
PASS(cluster, laid_out, laid_out, nobody, "let pairs of programs share what both load")
PASS(convert, laid_out, scheduled, codegen, "carry conversions across warps through shared memory")
PASS(again, scheduled, scheduled, nobody, "compute again what takes fewer registers so than kept")
PASS(vector, scheduled, scheduled, codegen, "choose vector widths of memory accesses")
PASS(last, scheduled, scheduled, nobody, "let what is read for the last time leave the caches first")
PASS(ahead, scheduled, scheduled, nobody, "let rows come to L2 before they are asked for")
PASS(shared, scheduled, scheduled, codegen, "place buffers in shared memory by liveness")
PASS(barrier, scheduled, scheduled, codegen, "order shared memory accesses of different threads")
PASS(pack, scheduled, scheduled, nobody, "let programs of one warp share a CTA")
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

/* Do two CTAs fit on an SM, by their rings and accumulators? (room.c) */
bool opt_has_room_for_two(struct func *f);

/* -- persist.c: what a scalar hangs on besides parameters and the grid's size -- */
enum {
    HANGS_ON_axis_0 = 1, /* the program's number along axis 0 */
    HANGS_ON_other_axes = 2,
    HANGS_ON_more = 4 /* memory, what a loop carries; or there is too much to look at */
};
int value_hangs_on(const struct value *v);

/* -- cse.c -- */
bool attrs_equal(const struct op *a, const struct op *b);

/* -- scan.c: the layout in which a scan is computed -- */
const struct layout *scan_layout(const struct op *o);

/* -- cross.c: a reduction or scan whose region computes what another's does; fills it -- */
void region_copy(struct op *to, const struct op *from);

/* -- assign.c: the layout of a join (rank and shape are its) whose operands are laid out as l -- */
void layout_join(struct layout *out, const struct layout *l, int rank, const int *shape);

#define PASS(name, needs, leaves, needed_by, meaning) void opt_##name(struct func *f);
#include "opt/passes.h"
#undef PASS

/* -- axis.c: what is known of each value's elements, per dimension (the smaller cousin of affine.c) -- */

/* All are powers of two, and here their exponents. A scalar has one dimension of size 1. */
struct axis {
    uint8_t log_divisible
        [RANK_MAX]; /* the first element of each contiguous run is a multiple (pointers: in bytes) */
    uint8_t
        log_contiguous[RANK_MAX]; /* aligned runs of consecutive values (pointers: of consecutive elements) */
    uint8_t log_constant[RANK_MAX]; /* aligned runs of equal values */
    uint8_t
        log_adjacent[RANK_MAX]; /* as log_contiguous, unless an index overflows: for choices of speed only */
    bool nonnegative;           /* integers: no element is below 0, read as signed */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* How many elements along dimension `dim` the addresses of a load, store or atomic allow to access at once: consecutive,
 * aligned, 16 bytes at most. */
int axis_access(const struct axis_table *t, const struct op *access, int dim);
/* How many neighbours along `dim` share one mask value; without a mask all do. */
int axis_mask(const struct axis_table *t, const struct op *access, int dim);

/* -- turn.c: true: the dot became another, of transposed operands -- */
bool dot_turn(struct op *dot);

/* -- shared.c -- */
/* The shared_alloc behind a buffer or a stage of one; `slot` (may be NULL): the stage's number, NULL for the whole. */
struct op *buffer_alloc(const struct value *buf, struct value **slot);
int64_t buffer_bytes(const struct type *t); /* of all stages */

/* -- apart.c -- */
/* Does the program return behind what stands where o does, and never come to the load? */
bool is_on_way_out(const struct op *o, const struct op *load);

/* -- tensor.c -- */
/* Gives the map of o the box that goes with a buffer whose dimension order[i] is the map's i-th, in `parts` boxes or more. */
void tensor_fit_map(struct op *o, const struct type *buf, const int *order, int parts);

/* -- warps.c -- */
struct op *func_roles(const struct func *f); /* its `warps`, NULL: none */
bool is_over_programs(const struct op *o); /* the loop over programs, where a CTA runs several (persist.c)? */
/* Could a warp of its own load a tile where `load` stands, at these coordinates? Loads that are to become tensor_load must
 * be such. */
bool warps_can_feed(const struct op *load, struct value *const *coords, int ncoords);

/* To a ring's next slot; behind the last comes the first, in the other phase. */
void ring_advance(struct builder *b, int stages, struct value **slot, struct value **phase);

/* -- dce.c -- */
/* The `for` again in front of `old`, which is left empty, to be erased: it carries what `keep` says (NULL: all) and more;
 * what it yields for these is to be added (loop_yield). */
struct op *loop_carry(struct op *old, const bool *keep, int nmore, struct value *const *more);
void loop_yield(struct op *loop, int nmore, struct value *const *more);
struct value *loop_runs(struct builder *b, const struct op *loop); /* at all? computed at b */

/* -- convert.c -- */
bool convert_is_shared(const struct op *o); /* is o a convert that goes through shared memory? */
/* The best layout of a buffer through which x becomes y; so that matrices can be loaded, where that is no slower. */
void buffer_layout(struct layout *out, const struct value *x, const struct value *y, int elem_bytes);
/* A buffer's tile, as type t. */
struct value *buffer_load(struct builder *b, struct value *buf, const struct type *t);

/* -- dot.c: what assign asks about dots -- */

/* Is it one for a warpgroup's tensor cores, which read shared memory? (wgmma_for says why not) */
bool dot_is_wgmma(const struct op *dot);
/* Does an operand of some dot follow from another's result? */
bool dots_are_chained(struct func *f);
/* The layout that the dot's accumulator must have. */
const struct layout *dot_acc_layout(const struct op *o, bool rows_first);
/* Where operand i of a wgmma is read, given how it is laid out in registers: the type of a buffer, or NULL: from registers,
 * because it was just computed there, nearly as it must lie. */
const struct type *dot_operand_buffer(const struct op *o, int i, const struct layout *x);
/* And operand i in registers, given the accumulator's layout. */
const struct layout *dot_operand_layout(const struct op *o, int i, const struct layout *acc, bool rows_first);

#endif
#endif
