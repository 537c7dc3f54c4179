/* passes.h: the passes, one row each. PASS(name, needs, leaves, what it does) with the degree of detail that a pass needs and leaves
 * (see ir.h). The order in which they run is the array in passes.c. Each is `void opt_NAME(struct func *f)` in opt/NAME.c,
 * uses f->module->scratch for its notes, and leaves a verifiable function; the driver does the rest. */
#ifdef PASS
PASS(fold,    traced,    traced,    "compute constants, apply exact identities")
PASS(cse,     traced,    traced,    "compute equal pure ops once")
PASS(licm,    traced,    traced,    "move invariant pure ops out of loops")
PASS(dce,     traced,    traced,    "drop ops without use or effect")
PASS(assign,  traced,    laid_out,  "give every tile a layout, from the memory accesses outwards")
PASS(cross,   laid_out,  laid_out,  "split reductions over warps into two steps")
PASS(convert, laid_out,  scheduled, "carry conversions across warps through shared memory")
PASS(vector,  scheduled, scheduled, "choose vector widths of memory accesses")
PASS(shared,  scheduled, scheduled, "place buffers in shared memory by liveness")
PASS(barrier, scheduled, scheduled, "order shared memory accesses of different threads")
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
    bool print_changed;      /* with print_after: only where the text changed */
    bool verify_each;        /* verify and round-trip after each pass; always on in debug builds (NESO_DEBUG) */
    bool time;
    /* Where dumps, explanations and times go; NULL: nowhere. `pass` names the writer. */
    void (*write)(void *ctx, const char *pass, const char *s, size_t n);
    void *write_ctx;
};

/* Runs the list (or what options say) on f; f is then scheduled (or as far as asked). Bugs and user errors unwind to
 * diag's fatal or stand in diag. */
void opt_run(struct func *f, const struct opt_options *o);

struct pass_info {
    const char *name;
    enum degree needs, leaves;
    void (*run)(struct func *f);
    const char *meaning;
};
extern const struct pass_info pass_info[];
extern const int npasses;

/* For passes: a line of explanation, shown under --explain=PASS; `o` (may be NULL) gives the place. */
void opt_explain(struct func *f, const struct op *o, const char *format, ...) PRINTF_LIKE(3, 4);

#define PASS(name, needs, leaves, meaning) void opt_##name(struct func *f);
#include "opt/passes.h"
#undef PASS

/* -- axis.c: what is known of each value's elements, per dimension (the smaller cousin of affine.c) -- */
struct axis {
    int64_t divisible[RANK_MAX];  /* the first element of each contiguous run is a multiple (pointers: of bytes) */
    int64_t contiguous[RANK_MAX]; /* length of runs of consecutive values (pointers: of consecutive elements) */
    int64_t constant[RANK_MAX];   /* length of runs of equal values */
};
struct axis_table;
struct axis_table *axis_analyse(struct func *f); /* in scratch */
const struct axis *axis_of(const struct axis_table *t, const struct value *v);
/* Elements that a load or store can access at once along the fastest dimension: alignment, contiguity, 16 bytes; *mask is
 * how many neighbours share one mask value (no mask: all). */
int axis_access(const struct axis_table *t, const struct op *access, int *dim, int *mask);

#endif
#endif
