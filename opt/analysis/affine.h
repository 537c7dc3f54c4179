/* SPDX-License-Identifier: MIT */
/* affine.h: declares the polynomial form of values (affine.c), and the box of an array that a load or store of a
 * tile accesses (access_pattern.c). */
#ifndef NESO_OPT_AFFINE_H
#define NESO_OPT_AFFINE_H

#include "ir/ir.h"

/* -- polynomials over the integers of a function -- */

enum { ATOMS_MOST = 4, TERMS_MOST = 12 };

/* An atom is a variable of the polynomials, named by its number. Atom d, for d below RANK_MAX, is the tile's
 * index along dimension d; affine_table.atoms holds all other atoms. */
enum atom_kind {
    ATOM_index,   /* 0, 1, 2, ... along dimension dim */
    /* a scalar that the launcher can compute: an argument, the size of the grid, or arithmetic on these */
    ATOM_uniform,
    ATOM_varying, /* any other scalar */
    ATOM_trips,   /* the number of a loop's iterations before the current one */
    ATOM_modulo, /* an index along dim that wraps at a bound: x % n, or x < n ? x : 0 */
    ATOM_carried  /* the value of a loop-carried variable; exists only while affine.c analyses the loop */
};

struct atom {
    enum atom_kind kind;
    int dim;                   /* of an index or modulo: the tile's dimension */
    const struct value *value; /* of all kinds except index and trips: the value that the atom stands for */
    const struct op *loop;     /* of trips: the loop */
};

struct term {
    int64_t factor; /* the coefficient, not 0 */
    int natoms;
    int atoms[ATOMS_MOST]; /* the numbers of the term's atoms, sorted; the term x * x lists atom x twice */
};

/* A sum of n terms; the polynomial 0 has no terms. Terms are sorted by their number of atoms, most first,
 * then by the numbers of their atoms. At most one atom of a term is not uniform (ATOM_uniform). */
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
    int depth;                     /* the current depth of the recursion */
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
    int base; /* for a pointer: the number of the parameter from which the address starts; else -1 */
    struct poly p; /* the polynomial; for a pointer: its distance in bytes from the parameter */
};
/* Returns the form of v, or NULL if v has no form; t->why is then the reason. Every scalar that is not a
 * pointer has a form. */
const struct affine *affine_of(struct affine_table *t, const struct value *v);

/* poly_add sets *r to x + times * y, and poly_mul sets *r to x * y; r may equal x or y. The functions return
 * false if the result would have too many terms or atoms, a coefficient of more than 64 bits, or a product of
 * two non-uniform atoms. */
bool poly_add(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y,
              int64_t times);
bool poly_mul(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y);
/* Divides with remainder: x = q y + rest, where the first term of y divides no term of `rest`. Returns false
 * if y is 0, if the division takes too many steps, or if poly_add or poly_mul would return false for an
 * intermediate result. */
bool poly_divide(const struct affine_table *t, const struct poly *x, const struct poly *y, struct poly *q,
                 struct poly *rest);
/* The parts of an ATOM_modulo: the index that it wraps, and f, the index minus the bound at which it wraps.
 * If f < 0 and the index is at least 0, the atom equals the index. */
struct modulo {
    int dim; /* the dimension of the atom's tile along which the index counts */
    struct poly index, f;
};
/* Returns whether v, the result of a `rems` or `select`, is a wrapped index. If so, fills *w. */
bool modulo_of(struct affine_table *t, const struct value *v, struct modulo *w);
struct poly poly_int(int64_t i);
struct poly poly_atom(int atom);
/* Returns the coefficient of the atom in x: the sum of the terms of x that contain the atom, divided by the
 * atom. Sets *rest to the sum of the other terms; `rest` may equal x. */
struct poly poly_take(const struct poly *x, int atom, struct poly *rest);
/* Sets *r to p with other dimensions: the index along dimension d becomes the index along to[d]. Returns
 * false if the result cannot be represented. */
bool poly_rename(struct affine_table *t, struct poly *r, const struct poly *p, const int *to);
struct atom atom_of(const struct affine_table *t, int atom);
/* Returns the term's only non-uniform atom; -1 if all atoms are uniform. */
int term_atom(const struct affine_table *t, const struct term *x);
bool poly_is_uniform(const struct affine_table *t, const struct poly *p);
/* Returns whether p is known to be at least 0, either always or under guards that the launch checks, and that
 * the function adds to a->guards. If a is NULL, returns true only if no guard is needed. Assumes that
 * divisors in index arithmetic are positive. */
bool poly_is_nonnegative(struct affine_table *t, const struct poly *p, struct access *a);
void poly_print(const struct affine_table *t, const struct poly *p, struct text *out);
bool poly_equal(const struct poly *a, const struct poly *b);
bool poly_const(const struct poly *p, int64_t *i); /* returns whether p is a constant, and sets *i to it */
/* If p contains the index of exactly one tile dimension, with coefficient 1 or -1, returns this dimension and
 * sets *way to the coefficient. Otherwise returns -1. */
int poly_counts_along(const struct affine_table *t, const struct poly *p, int64_t *way);
/* Appends the launcher's expression for p to *out. Returns false if p has atoms that are not uniform. */
bool poly_expr(struct affine_table *t, const struct poly *p, struct expr *out);
/* Builds ops at b that compute p as an i32, and returns the result. */
struct value *poly_build(struct affine_table *t, struct builder *b, const struct poly *p);

/* -- accesses -- */

enum { ACCESS_DIMS_MOST = MAP_RANK_MAX, CONDITIONS_MOST = 8, GUARDS_MOST = 8 };

/* An upper bound along an access_dim, whose index is i: the mask is false for i unless start + i + more <
 * 0. */
struct bound {
    struct poly more; /* uniform */
    struct poly f; /* start + i + more as one polynomial */
    bool is_modulo;  /* this is not a bound of the mask, but the bound at which the index wraps around */
};

struct access_dim {
    /* the number of the tile's dimension; -1: the tile lacks this dimension, and the box has one element
     * along it (an additional dimension) */
    int tile_dim;
    struct poly stride; /* in bytes, uniform */
    struct poly start;  /* in elements along this dimension */
    int nbounds;        /* 0: no bound is known */
    struct bound bounds[2];
    bool is_bounded_below; /* the mask is false below index 0 */
    /* for tensor maps (tma_shift.c): the constant that is added to the coordinate, so that the coordinate
     * cannot be negative; 0: none */
    int64_t shift;
    /* Valid if shift is not 0. If the bound of this dimension is loaded from memory: the number of the
     * additional dimension whose start is this bound. -1: this dimension has no such bound. */
    int ends_at;
};

/* A load or store as a box. An element of the tile has an index i in each dimension (0 in an additional
 * dimension). Its address is: parameter `base` + offset + the sum over the dimensions of stride * (start +
 * i). */
struct access {
    int base;
    struct poly offset; /* in bytes, uniform */
    int ndims, tile_rank;
    struct access_dim dims[ACCESS_DIMS_MOST]; /* the tile's dimensions in order, then additional ones */
    int contiguous;                           /* the dimension whose stride is one element; -1: none */
    int nguards;
    struct poly guards[GUARDS_MOST]; /* conditions that the launch checks: each polynomial must be at least 0 */
};

/* Describes an access (a load or store) as a box. Returns NULL, or the reason why no box describes the access. */
const char *access_of(struct affine_table *t, const struct op *access, struct access *out);
/* Describes an access as access_of does, but accepts boxes whose starts may be negative. */
const char *box_of(struct affine_table *t, const struct op *access, struct access *out);
/* Returns whether the box starts at or after 0 along dimension d: because the mask excludes negative indices,
 * because the start is always at least 0, or because it is under guards that the function adds to a. */
bool starts_inside(struct affine_table *t, struct access *a, int d);
/* Describes an access as access_of does, for callers that need only the extent of the access: accepts
 * broadcast dimensions and any strides, and ignores a mask from which it cannot derive bounds. */
const char *extents_of(struct affine_table *t, const struct op *access, struct access *out);
void access_print(const struct affine_table *t, const struct access *a, struct text *out);
/* Returns whether one of the mask's conditions is f < 0. The index along dimension 0 in f stands for the
 * mask's index along dimension `dim`. */
bool mask_implies(struct affine_table *t, const struct value *mask, int dim, const struct poly *f);

/* -- tensor maps (raise_tma_load.c) -- */

/* Fills `dims` with the numbers of the access's dimensions in the order of a tensor map, outermost first: the
 * additional dimensions, then the tile's dimensions, with the contiguous dimension last. */
void map_order(const struct access *a, int *dims);
/* Describes the access, whose dimensions have the order `dims` (map_order), as a tensor map. Returns NULL, or
 * the reason why no tensor map describes the access. */
const char *map_of(struct affine_table *t, const struct access *a, const struct type *tile, const int *dims,
                   struct tensor_map *m);
/* Adds m to the function's tensor maps and returns its number; equal maps share one number. */
int map_add(struct func *f, const struct tensor_map *m);

/* -- alias.c -- */

/* The functions named *_expr append an expression in postfix order to *out, which may hold other operands
 * already. They return false if the launcher cannot compute the value; *out is then garbage. base_expr: the
 * address at which the array of access a begins. */
bool base_expr(struct affine_table *t, const struct access *a, struct expr *out);
/* The extent of dimension d in elements: the smallest of its bounds, or 2^31 if it has no bound. */
bool extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out);

/* Conditions on a launch: each expression must be at least 0. The conditions under which the GPU can encode
 * tensor maps are not guards: the launcher always checks them when it makes the maps. */
enum { GUARDS_OF_ACCESS_MOST = 4 * GUARDS_MOST };
struct guards {
    struct expr at[GUARDS_OF_ACCESS_MOST];
    int n;
};
/* An upper bound of p over all programs and iterations. It is valid under the guards that the function adds
 * to g. Callers pass 0 for `depth`, the depth of the recursion. */
bool largest_expr(struct affine_table *t, const struct poly *p, int depth, struct guards *g, struct expr *out);
/* The largest index, start included, of an access along dimension d. `tile` is the type of the access's
 * addresses. */
bool last_expr(struct affine_table *t, const struct access_dim *d, const struct type *tile, struct guards *g,
               struct expr *out);
/* Adds an empty expression to g, and returns it for the caller to fill; NULL if g is full. */
struct expr *guard_new(struct guards *g);
void guards_add(struct func *f, const struct guards *g); /* adds guards that f does not have yet */
/* Adds the conditions in a->guards to g. Returns false if the launcher cannot compute one of them. */
bool guards_of(struct affine_table *t, const struct access *a, struct guards *g);
/* Adds guards which require that no stride of a is negative, so that the array begins at base_expr. Returns
 * false if the launcher cannot compute a stride. */
bool guard_forward(struct affine_table *t, const struct access *a, struct guards *g);
/* Returns whether a loop contains both a and b, and may run more than one iteration. */
bool share_a_loop(const struct affine_table *t, const struct op *a, const struct op *b);
/* Returns whether the kernel may write memory that the load reads, between `from` (NULL: the start of the
 * kernel) and the load. `a` describes the load; NULL: the load's addresses are unknown. For each store
 * through another parameter, adds to `g` the guards under which the arrays of store and load do not overlap;
 * only if no guard can express this, the store counts as a possible write. Assumes that the load's strides
 * are not negative. */
bool may_be_written(struct affine_table *t, const struct op *from, const struct op *load,
                    const struct access *a, struct guards *g);
/* Returns whether the loop whose body contains the load may write memory that the load reads, even under the
 * guards that the function adds to `g`. */
bool may_be_written_in_loop(struct affine_table *t, const struct op *load, struct guards *g);

/* -- tma_shift.c -- */

/* Sets `shift` in the dimensions whose starts may be negative, and adds guards to g. Returns NULL, or the
 * reason why no tensor map describes the box. */
const char *shift_starts(struct affine_table *t, struct access *a, struct guards *g);
bool is_shifted(const struct access *a);
/* shifted_extent_expr appends to *out the extent of a shifted dimension; undoing_stride_expr appends the
 * stride of the map's first dimension, which undoes all shifts. They return false if the launcher cannot
 * compute the result. */
bool shifted_extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out);
bool undoing_stride_expr(struct affine_table *t, const struct access *a, struct expr *out);
/* Builds ops at b that compute the coordinates of the box in the map, in the order of the map's dimensions;
 * dims is the result of map_order. Returns the number of coordinates. */
int build_coordinates(struct affine_table *t, struct builder *b, const struct access *a, const int *dims,
                      struct value **coords);

/* -- tma_alignment.c -- */

/* Returns whether p * bytes is known to be a multiple of 16, either always or under guards that the function
 * adds to g. */
bool guard_aligned(struct affine_table *t, const struct poly *p, int64_t bytes, struct guards *g);
/* Returns whether all boxes of the access start at a multiple of 16 bytes in every launch, without guards.
 * `bytes` is the size of an element. */
bool is_known_aligned(struct affine_table *t, const struct access *a, int64_t bytes);

#endif
