/* affine.h: the polynomial form of values (affine.c), and the box of an array that a load or store of a tile touches
 * (access_pattern.c). */
#ifndef NESO_OPT_AFFINE_H
#define NESO_OPT_AFFINE_H

#include "ir/ir.h"

/* -- polynomials over integers that a function computes -- */

enum { ATOMS_MOST = 4, TERMS_MOST = 12 };

/* The variables of polynomials. Atoms below RANK_MAX are the indices of the tile's elements, one for each dimension. */
enum atom_kind {
    ATOM_index,   /* 0, 1, 2, ... along dimension dim */
    ATOM_uniform, /* a scalar that the launcher can compute: arguments, the size of the grid, arithmetic of these */
    ATOM_varying, /* any other scalar */
    ATOM_trips,   /* the number of iterations that a loop has finished */
    ATOM_modulo, /* an index along dim that is wrapped into its bounds: x % n, or x < n ? x : 0 */
    ATOM_carried  /* the value of a loop-carried variable; only while affine.c analyses that loop */
};

struct atom {
    enum atom_kind kind;
    int dim;
    const struct value *value;
    const struct op *loop;
};

struct term {
    int64_t factor; /* not 0 */
    int natoms;
    int atoms[ATOMS_MOST]; /* sorted by number */
};

/* Terms are sorted: higher degrees first, equal degrees by their atoms. At most one atom of a term is not uniform. */
struct poly {
    int n;
    struct term at[TERMS_MOST];
};

struct access;
struct affine_scope;
struct axis_table;
struct affine_table {
    struct func *f;
    VEC(struct atom) atoms; /* the atoms from number RANK_MAX on */
    struct affine_scope *scope;
    int depth;
    const char *why;               /* the reason why the latest value without a form has none */
    const struct axis_table *axes; /* NULL until tma_alignment.c needs them */
    const struct op *const *single_trips;  /* the loops that count as having a single trip */
    int nsingle_trips;
};
bool is_single_trip(const struct affine_table *t, const struct op *loop);
struct affine_table *affine_new(struct func *f); /* in scratch; values are analysed on demand */

/* The form of a scalar, or of a tile's element as a function of its indices. */
struct affine {
    bool is_known;
    int base;      /* the parameter in which a pointer starts */
    struct poly p; /* of a pointer: its distance from there in bytes */
};
/* Returns NULL if v has no such form; t->why then says why. Scalar integers always have one. */
const struct affine *affine_of(struct affine_table *t, const struct value *v);

/* They return false if the result has too many terms, or a product of two atoms that are not uniform. */
bool poly_add(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y,
              int64_t times);
bool poly_mul(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y);
/* x = q y + rest: the leading term of y divides no term of `rest`. */
bool poly_divide(const struct affine_table *t, const struct poly *x, const struct poly *y, struct poly *q,
                 struct poly *rest);
/* What an ATOM_modulo stands for: f < 0 while the index is within its bound, and there the atom equals the index. */
struct modulo {
    int dim; /* the index along which it counts, in the numbering of its value */
    struct poly index, f;
};
bool modulo_of(struct affine_table *t, const struct value *v, struct modulo *w);
struct poly poly_int(int64_t i);
struct poly poly_atom(int atom);
/* The terms of x that have the atom, divided by it; the other terms go to `rest` (which may be x). */
struct poly poly_take(const struct poly *x, int atom, struct poly *rest);
/* Renames the indices: dimension d becomes to[d]. */
bool poly_rename(struct affine_table *t, struct poly *r, const struct poly *p, const int *to);
struct atom atom_of(const struct affine_table *t, int atom);
/* The one atom of a term that is not uniform; -1: none. */
int term_atom(const struct affine_table *t, const struct term *x);
bool poly_is_uniform(const struct affine_table *t, const struct poly *p);
/* Is p at least 0? A guard that is needed for that is added to a->guards, which the launch then checks (a NULL: no
 * guards). Divisors in index arithmetic count as positive. */
bool poly_is_nonnegative(struct affine_table *t, const struct poly *p, struct access *a);
void poly_print(const struct affine_table *t, const struct poly *p, struct text *out);
bool poly_equal(const struct poly *a, const struct poly *b);
bool poly_const(const struct poly *p, int64_t *i);
/* The index along which p counts in steps of 1 or -1 (*way); -1: p depends on no index, on several, or in other
 * steps. */
int poly_counts_along(const struct affine_table *t, const struct poly *p, int64_t *way);
/* Appends the launcher's expression of a polynomial of uniform atoms. */
bool poly_expr(struct affine_table *t, const struct poly *p, struct expr *out);
/* Builds ops at b that compute p as an i32. */
struct value *poly_build(struct affine_table *t, struct builder *b, const struct poly *p);

/* -- accesses -- */

enum { ACCESS_DIMS_MOST = MAP_RANK_MAX, CONDITIONS_MOST = 8, GUARDS_MOST = 8 };

/* The mask is false unless start + i + more < 0. */
struct bound {
    struct poly more;
    struct poly f; /* start + i + more, so that f < 0 is the condition */
    bool is_modulo;  /* the bound of a wrapped index, beyond which indices map to lower ones; not a bound of the mask */
};

struct access_dim {
    int tile_dim;       /* -1: not a dimension of the tile; the box has one element along it */
    struct poly stride; /* bytes, uniform */
    struct poly start;  /* in elements along this dimension */
    int nbounds;        /* 0: no bound is known */
    struct bound bounds[2];
    bool is_bounded_below; /* the mask is false below index 0 */
};

/* Element i of the tile is at address: parameter `base` + offset + sum over the dimensions of stride * (start + i). */
struct access {
    int base;
    struct poly offset; /* bytes, uniform */
    int ndims, tile_rank;
    struct access_dim dims[ACCESS_DIMS_MOST]; /* the tile's dimensions in order, then other dimensions */
    int contiguous;                           /* the dimension whose stride is one element */
    int nguards;
    struct poly guards[GUARDS_MOST]; /* conditions that the launch checks: each at least 0 */
};

/* Describes an access (a load or store) as a box. Returns NULL, or the reason why the access has no such form. */
const char *access_of(struct affine_table *t, const struct op *access, struct access *out);
/* As access_of, for callers that need only the extent of the access: dimensions may be broadcast or have any stride,
 * and a mask that is not a conjunction of bounds counts as always true. */
const char *extents_of(struct affine_table *t, const struct op *access, struct access *out);
void access_print(const struct affine_table *t, const struct access *a, struct text *out);
/* Does the mask imply f < 0? f counts along index 0, which is dimension `dim` of the mask. */
bool mask_implies(struct affine_table *t, const struct value *mask, int dim, const struct poly *f);

/* -- tensor maps (raise_tma_load.c) -- */

/* The order of the box's dimensions in a tensor map, from the outermost: dimensions outside of the tile, the tile's,
 * the contiguous one. */
void map_order(const struct access *a, int *dims);
/* Describes the access as a tensor map. Returns NULL, or the reason why no map describes it. */
const char *map_of(struct affine_table *t, const struct access *a, const struct type *tile, const int *dims,
                   struct tensor_map *m);
/* The number of the function's map; equal maps get one number. */
int map_add(struct func *f, const struct tensor_map *m);

/* -- alias.c -- */

bool base_expr(struct affine_table *t, const struct access *a, struct expr *out);
bool extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out); /* the extent that the bounds give */

/* Conditions on a launch, each an expression that must be at least 0, beyond those under which its tensor maps can be
 * made. */
enum { GUARDS_OF_ACCESS_MOST = 4 * GUARDS_MOST };
struct guards {
    struct expr at[GUARDS_OF_ACCESS_MOST];
    int n;
};
struct expr *guard_new(struct guards *g);                /* an empty expression for the caller to fill; NULL: no room */
void guards_add(struct func *f, const struct guards *g); /* adds guards that f does not have yet */
/* Turns the conditions of access_of into guards; false: the launcher cannot compute one of them. */
bool guards_of(struct affine_table *t, const struct access *a, struct guards *g);
/* Guards that the strides are not negative, so that the array begins at its base; false: the launcher cannot compute
 * a stride. */
bool guard_forward(struct affine_table *t, const struct access *a, struct guards *g);
/* Is there a loop around both a and b that may run more than one iteration? */
bool share_a_loop(const struct affine_table *t, const struct op *a, const struct op *b);
/* May the kernel write what the load reads, between `from` (NULL: the start of the kernel) and the load? Two
 * parameters may point to the same array: `g` gets the guards under which their arrays do not overlap. The load's
 * strides count as not negative; `a` NULL: the addresses of the load are unknown. */
bool may_be_written(struct affine_table *t, const struct op *from, const struct op *load,
                    const struct access *a, struct guards *g);
/* May an iteration of the loop around the load write what the load reads? `g` gets the guards under which it does
 * not. */
bool may_be_written_in_loop(struct affine_table *t, const struct op *load, struct guards *g);

/* -- tma_alignment.c: is p * bytes a multiple of 16? Adds a guard where only the launch knows; false: it may be no
 * multiple -- */
bool guard_aligned(struct affine_table *t, const struct poly *p, int64_t bytes, struct guards *g);

#endif
