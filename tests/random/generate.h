/* SPDX-License-Identifier: MIT */
/* generate.h: declares the data and functions that the files of the generator share. */
#ifndef NESO_TESTS_GENERATE_H
#define NESO_TESTS_GENERATE_H

#include "tests/random/random.h"

enum { SCOPE = 96 };

struct gen {
    struct program *p;
    struct arena *arena;
    uint64_t state;
    struct var *scope[SCOPE]; /* the variables in scope */
    int nscope;
    /* the number of nodes in the current statement; when it reaches `nodes_most`, only leaves are generated */
    int nodes;
    int nodes_most;
    int tile_log;             /* binary logarithm of the maximum number of elements of a tile */
    int ndots;
    int depth_of_loops;
    /* the body of a function is being generated; it may use only the function's parameters, no memory and no program
     * id */
    bool in_function;
    struct shape shapes[6];   /* shapes that statements prefer */
    int nshapes;
    const bool *avoid;        /* avoid[kind]: no nodes of this kind are generated; NULL: nodes of all kinds are
                               * generated */
    struct region *regions[6]; /* the regions from which the program may load */
    int nregions;
    struct node *round;       /* a scalar that differs in each iteration of the innermost loop; NULL: no loop */
    /* for a program of plain_product: the number of tiles in a row of the result; 0 for other programs */
    int columns;
    bool is_large;            /* the product's tiles are large */
};

/* -- generate.c -- */

int below(struct gen *g, int n);
bool chance(struct gen *g, int of_100);
int symbol_new(struct gen *g, int log, int least);
struct var *var_new(struct gen *g, struct vtype t, bool mutable);
struct stmt *stmt_new(struct gen *g, enum stmt_kind kind);
struct stmt **stmt_end(struct stmt **list);
struct scalar *scalar_new(struct gen *g, struct extent value);
struct shape shape_any(struct gen *g);
int shape_log(const struct gen *g, const struct shape *s);
dims shape_symbols(const struct shape *s);
bool shape_is_plain(const struct shape *s); /* whether each symbol occurs at most once */

struct vtype vtype_of(enum elem e, struct shape s);              /* the type with the widest range */
struct vtype vtype_ranged(enum elem e, struct shape s, int most, int least);
struct range range_full(enum elem e);
bool range_within(enum elem e, struct range inner, struct range outer);
/* Returns whether t is a type of integers from 0 to 2^range.most - 1, where range.most is less than the width of the
 * element type. */
bool is_limited(const struct vtype *t);
enum elem elem_any(struct gen *g, int classes);

/* -- values.c -- */

struct node *node_new(struct gen *g, enum node_kind kind, struct vtype t);
struct node *node_unary(struct gen *g, enum node_kind kind, struct vtype t, struct node *x);
struct node *node_binary(struct gen *g, enum node_kind kind, struct vtype t, struct node *x, struct node *y);
struct node *node_int(struct gen *g, struct vtype t, int64_t x);
struct node *node_float(struct gen *g, struct vtype t, double x);
struct node *node_zero(struct gen *g, struct vtype t);
struct node *node_extent(struct gen *g, dims of, int times, int plus); /* an extent as an i32 scalar */
struct node *node_var(struct gen *g, struct var *v);
struct node *node_pid(struct gen *g);
/* an i32 range along `axis`, with size 1 along the other axes */
struct node *node_arange(struct gen *g, const struct shape *s, int axis);
struct node *node_cast(struct gen *g, struct node *x, struct vtype t);
/* Converts x, which has an arithmetic type, to the element type and range of t. */
struct node *node_fit(struct gen *g, struct node *x, struct vtype t);

/* Returns a divisor of type t: (arange & 3) + c along one axis, where c is at least 1. */
struct node *counting_divisor(struct gen *g, struct vtype t);
struct node *value(struct gen *g, struct vtype t, int depth);
struct node *leaf(struct gen *g, struct vtype t);
/* Returns a value of t's shape, or of a shape that broadcasts to t's shape. */
struct node *value_broadcast(struct gen *g, struct vtype t, int depth);

/* A production is a function that generates an expression of type t; it returns NULL if it cannot. */
typedef struct node *production(struct gen *g, const struct vtype *t, int depth);
struct choice {
    /* the production is possible for elements of these classes and for tiles of at least this rank */
    int classes, rank, weight;
    production *make;
};

/* -- tables of productions in shapes.c, access.c and products.c; in the last entry, `make` is NULL -- */

extern const struct choice shape_choices[], access_choices[], product_choices[];

/* -- access.c -- */

struct buffer *buffer_new(struct gen *g, enum role role, enum elem e, int log_count);
/* Returns an input buffer with elements of type e in range r; NULL if there are too many buffers. */
struct buffer *input_for(struct gen *g, enum elem e, struct range r);
struct node *buffer_node(struct gen *g, struct buffer *b);
void buffer_needs(struct gen *g, struct buffer *b, int64_t count);
struct stmt *store_statement(struct gen *g, struct node *v, struct node *mask);
/* Generates a store to a region from which later expressions can load; returns NULL if there are too many regions. */
struct stmt *region_statement(struct gen *g, struct node *v, bool again);
struct node *fetch_node(struct gen *g, struct vtype t, int depth);
struct stmt *atomic_statement(struct gen *g, int depth);
struct node *mask_for(struct gen *g, const struct shape *s, int depth);

struct region *region_new(struct gen *g, enum elem e, const struct shape *s);

/* -- products.c -- */

/* Appends a loop of dots, and the statements that it needs. */
void product_loop(struct gen *g, struct stmt ***at);
void attention_loop(struct gen *g, struct stmt ***at);
struct node *i32_binary(struct gen *g, enum node_kind kind, struct node *x, struct node *y);
struct node *extent_node(struct gen *g, struct extent e); /* an extent as a constant or a parameter */

/* -- plain.c: kernels with a single task, like most kernels of users -- */

/* These functions return the row and the column of the program's tile in a matrix that is g->columns tiles wide. */
struct node *tile_row(struct gen *g);
struct node *tile_column(struct gen *g);
/* Generates a store of v as the program's tile of an output matrix; returns NULL if there are too many outputs. */
struct stmt *tile_statement(struct gen *g, struct node *v);
/* These functions choose the number of warps and the grid, and append the kernel's statements. */
void plain_product(struct gen *g, struct stmt ***at);
void plain_rows(struct gen *g, struct stmt ***at);
void plain_indices(struct gen *g, struct stmt ***at);

/* -- generate.c -- */

void statements(struct gen *g, struct stmt ***at, int n, int depth);

#endif
