/* SPDX-License-Identifier: MIT */
/* affine.h: declares the polynomial form of values (affine.c), and the box of an array that a load or store of a
 * tile accesses (access_pattern.c). */
#ifndef NESO_OPT_AFFINE_H
#define NESO_OPT_AFFINE_H

#include "ir/ir.h"

/* -- polynomials over the integers of a function -- */

enum { ATOMS_MOST = 4, TERMS_MOST = 12 };

/* The variables of polynomials. Atoms below RANK_MAX are the tile's indices, one for each dimension. */
enum atom_kind {
    ATOM_index,   /* 0, 1, 2, ... along dimension dim */
    /* a scalar that the launcher can compute: an argument, the size of the grid, or arithmetic on these */
    ATOM_uniform,
    ATOM_varying, /* any other scalar */
    ATOM_trips,   /* the number of iterations that a loop has finished */
    ATOM_modulo, /* an index along dim that wraps at a bound: x % n, or x < n ? x : 0 */
    ATOM_carried  /* the value of a loop-carried variable; exists only while affine.c analyses the loop */
};

struct atom {
    enum atom_kind kind;
    int dim;
    const struct value *value;
    const struct op *loop;
};

struct term {
    int64_t factor; /* the coefficient, not 0 */
    int natoms;
    int atoms[ATOMS_MOST]; /* the term's atoms, sorted by number */
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
    VEC(struct atom) atoms; /* the atoms with numbers from RANK_MAX on */
    struct affine_scope *scope;
    int depth;
    const char *why;               /* the reason why the latest lookup found no form */
    const struct axis_table *axes; /* results of axis_info.c; NULL until tma_alignment.c needs them */
    const struct op *const *single_trips;  /* the loops that the analysis treats as having a single iteration */
    int nsingle_trips;
    /* Whether to find the maxima of more values. Only proof.c sets this flag: in other passes, more known maxima
     * would change the guards and the generated code. */
    bool is_proof;
};
bool is_single_trip(const struct affine_table *t, const struct op *loop);
struct affine_table *affine_new(struct func *f); /* allocated in scratch; the table analyses values on demand */

/* The form of a scalar, or of a tile's elements as a function of the tile's indices. */
struct affine {
    bool is_known;
    int base; /* for a pointer: the number of the parameter from which the address starts */
    struct poly p; /* the polynomial; for a pointer: its distance in bytes from the parameter */
};
/* Returns the form of v, or NULL if v has no form; t->why is then the reason. Scalar integers always have a form. */
const struct affine *affine_of(struct affine_table *t, const struct value *v);

/* These functions return false if the result would have too many terms, or a product of two non-uniform atoms. */
bool poly_add(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y,
              int64_t times);
bool poly_mul(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y);
/* Divides with remainder: x = q y + rest, where the leading term of y divides no term of `rest`. */
bool poly_divide(const struct affine_table *t, const struct poly *x, const struct poly *y, struct poly *q,
                 struct poly *rest);
/* The index that an ATOM_modulo wraps, and f, the index minus its bound. If f < 0, the atom equals the index. */
struct modulo {
    int dim; /* the dimension of the atom's tile along which the index counts */
    struct poly index, f;
};
bool modulo_of(struct affine_table *t, const struct value *v, struct modulo *w);
struct poly poly_int(int64_t i);
struct poly poly_atom(int atom);
/* Returns the terms of x that contain the atom, divided by the atom; sets *rest, which may be x, to the other
 * terms. */
struct poly poly_take(const struct poly *x, int atom, struct poly *rest);
/* Renames the indices: dimension d becomes to[d]. */
bool poly_rename(struct affine_table *t, struct poly *r, const struct poly *p, const int *to);
struct atom atom_of(const struct affine_table *t, int atom);
/* Returns the term's only non-uniform atom; -1 if all atoms are uniform. */
int term_atom(const struct affine_table *t, const struct term *x);
bool poly_is_uniform(const struct affine_table *t, const struct poly *p);
/* Returns whether p is at least 0, either always or under guards that the launch checks. Adds these guards to
 * a->guards; if a is NULL, guards are not allowed. Assumes that divisors in index arithmetic are positive. */
bool poly_is_nonnegative(struct affine_table *t, const struct poly *p, struct access *a);
void poly_print(const struct affine_table *t, const struct poly *p, struct text *out);
bool poly_equal(const struct poly *a, const struct poly *b);
bool poly_const(const struct poly *p, int64_t *i);
/* Returns the tile dimension whose index has coefficient 1 or -1 in p, and sets *way to this coefficient. Returns -1
 * if p contains no index, several indices, or an index with another coefficient. */
int poly_counts_along(const struct affine_table *t, const struct poly *p, int64_t *way);
/* Appends the launcher's expression for p to *out. Returns false if p has atoms that are not uniform. */
bool poly_expr(struct affine_table *t, const struct poly *p, struct expr *out);
/* Builds ops at b that compute p as an i32, and returns the result. */
struct value *poly_build(struct affine_table *t, struct builder *b, const struct poly *p);

/* -- accesses -- */

enum { ACCESS_DIMS_MOST = MAP_RANK_MAX, CONDITIONS_MOST = 8, GUARDS_MOST = 8 };

/* The mask is false unless start + i + more < 0. */
struct bound {
    struct poly more;
    struct poly f; /* f is start + i + more as one polynomial: the condition is f < 0 */
    bool is_modulo;  /* the bound at which an index wraps around, not a bound of the mask */
};

struct access_dim {
    /* the dimension of the tile; -1: an additional dimension, along which the box has one element */
    int tile_dim;
    struct poly stride; /* in bytes, uniform */
    struct poly start;  /* in elements along this dimension */
    int nbounds;        /* 0: no bound is known */
    struct bound bounds[2];
    bool is_bounded_below; /* the mask is false below index 0 */
    /* for tensor maps (tma_shift.c): the number that is added to the start, so that the start cannot be negative;
     * 0: none */
    int64_t shift;
    /* if shift is not 0: the additional dimension whose start is the bound, a value from memory; -1: none */
    int ends_at;
};

/* The address of element i of the tile is: parameter `base` + offset + the sum over the dimensions of stride * (start
 * + i). */
struct access {
    int base;
    struct poly offset; /* in bytes, uniform */
    int ndims, tile_rank;
    struct access_dim dims[ACCESS_DIMS_MOST]; /* the tile's dimensions in order, then additional ones */
    int contiguous;                           /* the dimension whose stride is one element */
    int nguards;
    struct poly guards[GUARDS_MOST]; /* conditions that the launch checks: each polynomial must be at least 0 */
};

/* Describes an access (a load or store) as a box. Returns NULL, or the reason why no box describes the access. */
const char *access_of(struct affine_table *t, const struct op *access, struct access *out);
/* Describes an access as access_of does, but accepts boxes whose starts may be negative. */
const char *box_of(struct affine_table *t, const struct op *access, struct access *out);
/* Returns whether the start of dimension d is at least 0: always, because of the mask, or under guards that the
 * function adds to a. */
bool starts_inside(struct affine_table *t, struct access *a, int d);
/* Describes an access as access_of does, for callers that need only the extent of the access. Dimensions may be
 * broadcast or have any stride. A mask that is not a conjunction of bounds is treated as always true. */
const char *extents_of(struct affine_table *t, const struct op *access, struct access *out);
void access_print(const struct affine_table *t, const struct access *a, struct text *out);
/* Returns whether the mask implies f < 0. The tile index of dimension 0 in f stands for the index along dimension
 * `dim` of the mask. */
bool mask_implies(struct affine_table *t, const struct value *mask, int dim, const struct poly *f);

/* -- tensor maps (raise_tma_load.c) -- */

/* Computes the order of the box's dimensions in a tensor map, from the outermost: first the additional dimensions,
 * then the tile's dimensions, with the contiguous dimension last. */
void map_order(const struct access *a, int *dims);
/* Describes the access as a tensor map. Returns NULL, or the reason why no tensor map describes the access. */
const char *map_of(struct affine_table *t, const struct access *a, const struct type *tile, const int *dims,
                   struct tensor_map *m);
/* Adds m to the function's tensor maps and returns its number; equal maps share one number. */
int map_add(struct func *f, const struct tensor_map *m);

/* -- alias.c -- */

bool base_expr(struct affine_table *t, const struct access *a, struct expr *out);
/* Sets *out to the dimension's extent, computed from its bounds. */
bool extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out);

/* Conditions on a launch: each expression must be at least 0. The conditions under which the GPU can encode the
 * tensor maps are separate. */
enum { GUARDS_OF_ACCESS_MOST = 4 * GUARDS_MOST };
struct guards {
    struct expr at[GUARDS_OF_ACCESS_MOST];
    int n;
};
/* Computes the maximum of p over all programs and iterations. Returns false if the maximum is unknown. Callers
 * pass 0 for `depth`. */
bool largest_expr(struct affine_table *t, const struct poly *p, int depth, struct guards *g, struct expr *out);
/* Computes the largest index of the access along a dimension. `tile` is the type of the address. */
bool last_expr(struct affine_table *t, const struct access_dim *d, const struct type *tile, struct guards *g,
               struct expr *out);
/* Adds an empty expression to g, and returns it for the caller to fill; NULL if g is full. */
struct expr *guard_new(struct guards *g);
void guards_add(struct func *f, const struct guards *g); /* adds guards that f does not have yet */
/* Adds the conditions in a->guards to g. Returns false if the launcher cannot compute one of them. */
bool guards_of(struct affine_table *t, const struct access *a, struct guards *g);
/* Adds guards which require that no stride is negative, so that the array begins at its base. Returns false if the
 * launcher cannot compute a stride. */
bool guard_forward(struct affine_table *t, const struct access *a, struct guards *g);
/* Returns whether a loop contains both a and b, and may run more than one iteration. */
bool share_a_loop(const struct affine_table *t, const struct op *a, const struct op *b);
/* Returns whether the kernel may write memory that the load reads, between `from` (NULL: the start of the kernel)
 * and the load. Two parameters may point to the same array: the function adds to `g` the guards under which the
 * arrays do not overlap. Assumes that the load's strides are not negative. If `a` is NULL, the addresses of the
 * load are unknown. */
bool may_be_written(struct affine_table *t, const struct op *from, const struct op *load,
                    const struct access *a, struct guards *g);
/* Returns whether an iteration of the loop that contains the load may write memory that the load reads, even under
 * the guards that the function adds to `g`. */
bool may_be_written_in_loop(struct affine_table *t, const struct op *load, struct guards *g);

/* -- tma_shift.c -- */

/* Shifts the starts that may be negative, and adds guards. Returns NULL, or the reason why no tensor map describes
 * the box. */
const char *shift_starts(struct affine_table *t, struct access *a, struct guards *g);
bool is_shifted(const struct access *a);
/* Compute the extent of a shifted dimension, and the stride of the dimension that undoes all shifts. Return false if
 * the launcher cannot compute the result. */
bool shifted_extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out);
bool undoing_stride_expr(struct affine_table *t, const struct access *a, struct expr *out);
/* Builds the coordinates of the copy, with the dimensions in the map's order. Returns their number. */
int build_coordinates(struct affine_table *t, struct builder *b, const struct access *a, const int *dims,
                      struct value **coords);

/* -- tma_alignment.c -- */

/* Returns whether p * bytes is a multiple of 16. If the answer depends on arguments, adds a guard that the launch
 * checks, and returns true. Returns false if no guard can express the condition. */
bool guard_aligned(struct affine_table *t, const struct poly *p, int64_t bytes, struct guards *g);
/* Returns whether all boxes of the access start at a multiple of 16 bytes in each launch. `bytes` is the size of an
 * element. */
bool is_known_aligned(struct affine_table *t, const struct access *a, int64_t bytes);

#endif
