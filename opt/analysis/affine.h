/* affine.h: the addresses of a load or store of a tile, understood: which elements of which array. */
#ifndef NESO_OPT_AFFINE_H
#define NESO_OPT_AFFINE_H

#include "ir/ir.h"

/* -- polynomials over integers that a function computes -- */

enum { ATOMS_MOST = 4, TERMS_MOST = 12 };

/* What a polynomial is made of. Numbers below RANK_MAX are the tile's own indices, dimension by dimension. */
enum atom_kind {
    ATOM_index,   /* 0, 1, 2, ... along dimension dim */
    ATOM_uniform, /* a scalar that the launcher can compute: arguments, the grid's size, arithmetic of them */
    ATOM_varying, /* any other scalar */
    ATOM_trips,   /* how often a loop's body has been run */
    ATOM_wrapped, /* an index along dim that is sent back into its bounds: x % n, or x < n ? x : 0 */
    ATOM_carried  /* only while a loop is looked at */
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
    int atoms[ATOMS_MOST]; /* in order */
};

/* Terms of higher degree first, equal degrees by their atoms. At most one atom of a term is not uniform. */
struct poly {
    int n;
    struct term at[TERMS_MOST];
};

struct access;
struct affine_scope;
struct axis_table;
struct affine_table {
    struct func *f;
    VEC(struct atom) atoms; /* after those of the indices */
    struct affine_scope *scope;
    int depth;
    const char *why;               /* the latest reason why something has no form */
    const struct axis_table *axes; /* NULL: nobody has asked (tma_alignment.c) */
    const struct op *const *once;  /* loops that are taken to run once */
    int nonce;
};
bool runs_once(const struct affine_table *t, const struct op *loop);
struct affine_table *affine_new(struct func *f); /* in scratch; values are looked at when asked for */

/* A scalar, or an element of a tile by its indices. */
struct affine {
    bool is_known;
    int base;      /* the parameter that a pointer starts from */
    struct poly p; /* pointers: bytes from there */
};
/* NULL: no such form, t->why. Scalar integers always have one. */
const struct affine *affine_of(struct affine_table *t, const struct value *v);

/* False: too many terms, or a product of two atoms that are not uniform. */
bool poly_add(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y,
              int64_t times);
bool poly_mul(const struct affine_table *t, struct poly *r, const struct poly *x, const struct poly *y);
/* x = q y + rest, terms of `rest` being none that y divides. */
bool poly_divide(const struct affine_table *t, const struct poly *x, const struct poly *y, struct poly *q,
                 struct poly *rest);
/* What an atom_wrapped stands for: the index, and where f < 0 it is that index. */
struct wrap {
    int dim; /* along which it counts, as its value has it */
    struct poly index, f;
};
bool wrap_of(struct affine_table *t, const struct value *v, struct wrap *w);
struct poly poly_int(int64_t i);
struct poly poly_atom(int atom);
/* The terms that have the atom, without it; the others stay in `rest` (may be x). */
struct poly poly_take(const struct poly *x, int atom, struct poly *rest);
/* Renames the indices: dimension d becomes to[d]. */
bool poly_rename(struct affine_table *t, struct poly *r, const struct poly *p, const int *to);
struct atom atom_of(const struct affine_table *t, int atom);
/* The atom of a term that is not uniform, -1: none. */
int term_atom(const struct affine_table *t, const struct term *x);
bool poly_is_uniform(const struct affine_table *t, const struct poly *p);
/* Is it at least 0, counting on what `guards` then ask of the launch? Divisors in index
 * arithmetic count as positive. */
bool poly_is_nonnegative(struct affine_table *t, const struct poly *p, struct access *a);
void poly_print(const struct affine_table *t, const struct poly *p, struct text *out);
bool poly_equal(const struct poly *a, const struct poly *b);
bool poly_const(const struct poly *p, int64_t *i);
/* Along which index does p count, and which way (1 or -1)? -1: along none, or in larger steps. */
int poly_counts_along(const struct affine_table *t, const struct poly *p, int64_t *way);
/* The launcher's expression of a polynomial of uniform atoms, times `scale`. */
bool poly_expr(struct affine_table *t, const struct poly *p, struct expr *out);
/* Its value as an i32, computed where b stands. */
struct value *poly_build(struct affine_table *t, struct builder *b, const struct poly *p);

/* -- accesses -- */

enum { ACCESS_DIMS_MOST = MAP_RANK_MAX, CONDITIONS_MOST = 8, GUARDS_MOST = 8 };

/* start + i + more < 0, or the mask is 0. */
struct bound {
    struct poly more;
    struct poly f; /* the same with the start: f < 0 */
    bool is_wrap;  /* not a mask's: what is beyond was sent back, and is read again */
};

struct access_dim {
    int tile_dim;       /* -1: one element */
    struct poly stride; /* bytes, uniform */
    struct poly start;  /* of the tile */
    int nbounds;        /* 0: as far as there is memory */
    struct bound bounds[2];
    bool is_bounded_below; /* the mask is 0 below 0 */
};

/* Element i of the tile lies at parameter `base` + offset + the sum of stride (start + i). */
struct access {
    int base;
    struct poly offset; /* bytes, uniform */
    int ndims, tile_rank;
    struct access_dim dims[ACCESS_DIMS_MOST]; /* the tile's, in order; then others */
    int contiguous;                           /* that one of them whose elements are side by side */
    int nguards;
    struct poly guards[GUARDS_MOST]; /* at least 0, or it is not so */
};

/* NULL, or why the access (a load or a store) has no such form. */
const char *access_of(struct affine_table *t, const struct op *access, struct access *out);
/* The same for who asks only how far the access reaches: dimensions may be broadcast or have any stride, and a mask that is no
 * conjunction of bounds counts as all ones. */
const char *extents_of(struct affine_table *t, const struct op *access, struct access *out);
void access_print(const struct affine_table *t, const struct access *a, struct text *out);
/* Is the mask 0 wherever f < 0 does not hold? f counts along its index 0, which is the
 * mask's dimension `dim`. */
bool mask_implies(struct affine_table *t, const struct value *mask, int dim, const struct poly *f);

/* -- tensor maps (raise_tma_load.c) -- */

/* The access's dimensions as a map has them, from the outermost: others, the tile's, the contiguous one. */
void map_order(const struct access *a, int *dims);
/* NULL, or why no map describes the access. */
const char *map_of(struct affine_table *t, const struct access *a, const struct type *tile, const int *dims,
                   struct tensor_map *m);
/* Its number; equal maps are one. */
int map_add(struct func *f, const struct tensor_map *m);

/* -- alias.c -- */

bool base_expr(struct affine_table *t, const struct access *a, struct expr *out);
bool extent_expr(struct affine_table *t, const struct access_dim *d, struct expr *out); /* as the mask says */

/* What the launch must fulfil, besides being one for which there are maps: each at least 0. */
enum { GUARDS_OF_ACCESS_MOST = 4 * GUARDS_MOST };
struct guards {
    struct expr at[GUARDS_OF_ACCESS_MOST];
    int n;
};
struct expr *guard_new(struct guards *g);                /* to be filled; NULL: too many */
void guards_add(struct func *f, const struct guards *g); /* those that are not there yet */
/* Those of access_of; false: the launcher cannot compute one. */
bool guards_of(struct affine_table *t, const struct access *a, struct guards *g);
/* Strides go forwards, so that an array begins at its base; false: likewise. */
bool guard_forward(struct affine_table *t, const struct access *a, struct guards *g);
/* Is there a loop, run more than once, around both? */
bool share_a_loop(const struct affine_table *t, const struct op *a, const struct op *b);
/* May the kernel write, between `from` (NULL: its start) and the load, what that reads? Other parameters may
 * well point to the same array: the launch looks. The load's strides are taken to go forwards; `a` NULL:
 * nobody knows what it reads. */
bool may_be_written(struct affine_table *t, const struct op *from, const struct op *load,
                    const struct access *a, struct guards *g);
/* May some iteration of the loop around the load write what the load reads? `g` gets what the launch has to check. */
bool may_be_written_in_loop(struct affine_table *t, const struct op *load, struct guards *g);

/* -- tma_alignment.c: is p * bytes a multiple of 16? What only the launch knows becomes a guard;
 * false: it may be none -- */
bool guard_aligned(struct affine_table *t, const struct poly *p, int64_t bytes, struct guards *g);

#endif
