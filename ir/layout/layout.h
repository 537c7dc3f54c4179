/* SPDX-License-Identifier: MIT */
/* layout.h: declares layouts as linear maps over GF(2). A layout maps each register of each thread, or each offset in
 * shared memory, to the element of a tile that the register or the offset holds. The head of layout.c explains
 * layouts with an example. The files of this folder in reading order: layout.c (making layouts and the algebra),
 * shared.c (shared memory without bank conflicts), matrix.c (ldmatrix), tensor.c (boxes of TMA copies), conversion.c
 * (conversions between layouts).
 *
 * A coordinate is the row-major index of an element in its tile, as a bit string (the last dimension's bits are
 * lowest). All sizes are powers of two, so the XOR of two coordinates is the XOR of their indices in each
 * dimension. A layout maps the bits of (register, lane, warp, CTA), or the bits of an offset in shared memory
 * (in elements), to coordinates:
 *
 *     coordinate = flip ^ XOR of basis[i] over the input bits i that are set
 *
 * The map is surjective: every element is in at least one place. A place is a register of a thread, or an
 * offset. A register holds one element here; codegen may pack the elements of several registers into one
 * 32-bit register. An input bit is called replicated if its basis vector is zero or depends linearly on
 * earlier vectors: every element is then in several places. The owner of an element is the one of its places
 * that has zeros in all replicated bits. */
#ifndef NESO_IR_LAYOUT_H
#define NESO_IR_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct text;

static inline bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Returns the logarithm of n to base 2, rounded down; 0 for n <= 0. */
static inline int log2_floor(int64_t n)
{
    return n > 0 ? 63 - __builtin_clzll((unsigned long long)n) : 0;
}

/* Kinds of input bits. A layout either has bits of registers, lanes, warps and CTAs (a distributed layout),
 * or bits of an offset in shared memory. */
enum in { IN_reg, IN_lane, IN_warp, IN_cta, IN_offset, IN_count };

enum { RANK_MAX = 24, COORD_BITS_MAX = 20, LAYOUT_BITS_MAX = 40, LANE_BITS = 5 };

struct layout {
    uint8_t rank;
    uint8_t dim_bits[RANK_MAX];      /* log2 of the tile's shape; dimensions of size 1 have no bits */
    uint8_t nbits[IN_count];         /* number of input bits of each kind */
    uint32_t basis[LAYOUT_BITS_MAX]; /* vectors of the reg bits, then lane, warp, cta, offset */
    uint32_t flip;
};

/* -- construction -- */
/* Makes a layout without input bits for a shape (`rank` sizes, all powers of two). The caller then adds the
 * vector of each input bit with layout_add: the kinds in the order of enum in, and within a kind the lowest
 * bit first. */
void layout_init(struct layout *l, int rank, const int *shape);
void layout_add(struct layout *l, enum in kind, uint32_t vector);
/* Spreads a tile over registers, lanes and warps so that accesses coalesce. `order` lists the dimensions, the
 * fastest first. A thread holds elems_per_thread[d] neighbouring elements of dimension d in registers. The
 * lanes, and then the warps, divide the rest of the tile, dimension by dimension in `order`. If elements
 * remain then, they are held in further registers of the threads. If the tile has too few elements, the
 * excess lanes or warps replicate elements. */
void layout_blocked(struct layout *l, int rank, const int *shape, const int *elems_per_thread,
                    const int *order, int num_warps);

/* -- queries -- */
int layout_coord_bits(const struct layout *l);
uint32_t layout_basis(const struct layout *l, enum in kind, int bit);
/* Returns the index in basis[] of a kind's first bit. */
int layout_first(const struct layout *l, enum in kind);
/* Returns the row-major coordinate of the element at a place. */
uint32_t layout_apply(const struct layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta);
uint32_t layout_apply_offset(const struct layout *l, uint32_t offset);
void layout_split_coord(const struct layout *l, uint32_t coord, int *index);
bool layout_equal(const struct layout *a, const struct layout *b);
bool layout_is_surjective(const struct layout *l);
/* Returns the mask of the replicated input bits of a kind: their vectors are zero or depend linearly on
 * vectors of lower bits (register bits count as lower than lane bits, lane bits as lower than warp bits, warp
 * bits as lower than CTA bits). The owner of an element has zeros in these bits. */
uint32_t layout_free_bits(const struct layout *l, enum in kind);

/* -- shape ops: these functions compute the result's layout; each register keeps its element. out and l must
 * be different pointers, except in layout_squash and layout_drop_free_regs -- */
void layout_reshape(struct layout *out, const struct layout *l, int rank, const int *shape);
void layout_trans(struct layout *out, const struct layout *l, const int *order);
/* Sets *out to l without dimension `dim`: the layout of a reduction's result. If `drop` is true, keeps only
 * one of several registers of a thread that hold the same element of the result. Sets reg_of[r] (unless
 * reg_of is NULL) to the register of l that becomes register r of *out. */
void layout_slice(struct layout *out, const struct layout *l, int dim, bool drop, int *reg_of);
/* Sets *out to l with a new dimension of size 1 at `dim`. */
void layout_expand(struct layout *out, const struct layout *l, int dim);
/* Computes the layout of a join's result, of the given rank and shape. The two operands of the join have layout
 * l. The lowest bit of the register's number is the index in the new last dimension, whose size is 2. */
void layout_join(struct layout *out, const struct layout *l, int rank, const int *shape);
/* Sets *out to l with dimension `dim` reduced to size 1. A tile of layout *out can be broadcast to layout l
 * without moving data. */
void layout_squash(struct layout *out, const struct layout *l, int dim);
/* Sets *out to l without replicated registers; reg_of is as in layout_slice. */
void layout_drop_free_regs(struct layout *out, const struct layout *l, int *reg_of);

/* The tile of layout l is a part of a larger tile of `shape`; the part starts at index at[d] of each
 * dimension d, a multiple of the part's size. Sets *out to the map from l's places to coordinates in the
 * larger tile. *out covers only the part and is not surjective, so it must not be the divisor `to` of
 * layout_divide. */
void layout_part(struct layout *out, const struct layout *l, const int *shape, const int *at);

/* -- algebra -- */
/* The affine map that layout_divide computes: from a place of `from` (all input bits, in the order of
 * from->basis) to the place of `to` that owns the same element. Bit i of the place of `from` adds basis[i],
 * by XOR, to the place of `to`, whose bits are in the order of to->basis. */
struct place_map {
    int nin, nout;
    uint64_t basis[LAYOUT_BITS_MAX];
    uint64_t flip;
};
/* Computes to^-1 ∘ from. Both layouts must have the same shape. */
void layout_divide(struct place_map *m, const struct layout *from, const struct layout *to);
uint64_t place_apply(const struct place_map *m, uint64_t place);

/* -- conversions between distributed layouts -- */
enum conversion {
    CONVERSION_none,      /* every thread holds the same elements in the same registers */
    CONVERSION_registers, /* elements move between registers of a thread */
    CONVERSION_shuffle,   /* elements move between lanes of a warp */
    CONVERSION_shared     /* elements move between warps, or shuffles cost more */
};
struct params;
enum conversion layout_conversion(const struct layout *from, const struct layout *to,
                                  const struct params *params);
/* A conversion within threads or warps, in 2^nround rounds. In each round every lane offers register `offer`
 * of layout `from`, reads the register that lane `source` of its warp offers, and puts the value into
 * register `put` of layout `to`. These three numbers are the XOR of `first`, of round[i] for each bit i that
 * is set in the round's number, and of thread[i] for each bit i that is set in the thread's number (lane,
 * warp, CTA). A round in which each lane is its own source needs no shuffle. The rounds fill only those
 * registers of `to` whose numbers have zeros in all replicated bits. After the rounds, each other register
 * gets a copy of the filled register that differs from it only in replicated bits. */
struct shuffle_step {
    uint32_t offer, source, put;
};
struct shuffle {
    int nround, nthread; /* number of bits of the round's number, and of the thread's number */
    struct shuffle_step first, round[COORD_BITS_MAX], thread[LAYOUT_BITS_MAX];
};
/* Returns false if elements move between warps, or if a lane would have to offer two registers in one round. */
bool layout_shuffle(struct shuffle *s, const struct layout *from, const struct layout *to);
struct shuffle_step shuffle_at(const struct shuffle *s, uint32_t round, uint32_t thread);

/* -- vectors and shared memory -- */
/* Returns the number of elements, at most `most`, of the widest vector access that the layout allows. The
 * elements of a vector are consecutive along `dim`, the dimension that is contiguous in memory, and in
 * consecutive registers of a thread. */
int layout_vector(const struct layout *l, int dim, int most);
/* Returns the widest vector, in elements and at most `most` (16 or less), with which threads of layout `l` can
 * access shared memory of layout `shared`. The register bits that number the elements of a vector map to the
 * lowest bits of the offset. Let r be the vector's first register, in whose number these bits are zero. Then
 * element i of the vector is in register r ^ reg_of[i] (reg_of may be NULL). */
int layout_shared_vector(const struct layout *shared, const struct layout *l, int most, int *reg_of);
/* One wavefront accesses each of the 32 banks (of 4 bytes) at most once. layout_wavefronts returns how many
 * wavefronts one warp needs to store or load all its registers except replicated registers, with `vector`
 * elements per access. layout_wavefronts_least returns this count for accesses without bank conflicts. */
int layout_wavefronts(const struct layout *shared, const struct layout *l, int elem_bytes, int vector);
int layout_wavefronts_least(const struct layout *l, int elem_bytes, int vector);
/* Finds an XOR-swizzled layout of shared memory for the conversion of `from` to `to`. Tries several layouts, and
 * chooses the layout with the fewest wavefronts. Among layouts with equally many wavefronts, chooses the
 * layout with the fewest accesses. */
void layout_shared_for(struct layout *out, const struct layout *from, const struct layout *to,
                       int elem_bytes);

/* -- matrix loads (matrix.c) -- */
/* Describes how a warp loads a tile of layout l with ldmatrix, as matrices of 8 rows of 16 bytes. */
struct matrix_load {
    bool trans;                    /* ldmatrix.trans: a thread's word holds elements of a column */
    int nmatrices;                 /* matrices that an instruction loads: 1, 2 or 4 */
    int word_bits;                 /* how many of the lowest register bits number the elements of a 32-bit word */
    /* The length of `row`: the number of bits of a thread's number. Lane bits are lowest, then come warp
     * bits, then CTA bits. */
    int nrows;
    /* Each thread supplies the address of one row. This row begins at the place of l that is the XOR of
     * row[i] over the bits i that are set in the thread's number. */
    uint64_t row[LAYOUT_BITS_MAX];
};
/* Sets *x, and sets *out to the layout of the threads that supply the row addresses: its lowest register bits
 * number the elements of a row of 16 bytes, its other register bits the instructions, its lane bits the rows
 * and matrices. Returns false if l has too few lanes or registers, or if ldmatrix cannot load elements of
 * this size. */
bool layout_matrix_rows(struct layout *out, struct matrix_load *x, const struct layout *l, int elem_bytes,
                        bool trans);
/* Returns whether ldmatrix can load a tile of layout l from a buffer of layout `shared`; if so, sets *x. */
bool layout_matrix_load(struct matrix_load *x, const struct layout *shared, const struct layout *l,
                        int elem_bytes);

/* -- boxes of tensor maps (tensor.c) -- */
/* The boxes with which TMA copies fill a buffer. A box is a block of the tile; its elements are contiguous in
 * the buffer, and its rows are swizzled. */
struct boxes {
    int swizzle;         /* 0, 32, 64 or 128 bytes */
    int shape[RANK_MAX]; /* a box's size, for each dimension of the tile */
    int nmore;           /* 2^nmore boxes cover the tile */
    struct {
        int offset;         /* in elements, from the buffer's start */
        uint32_t coord;     /* coordinate of the box's first element */
    } more[COORD_BITS_MAX]; /* bit i of a box's number adds more[i] to the offset and to the coordinate, by XOR */
};
/* Computes the layout of a buffer in which the elements have the order of their indices, the last dimension fastest. */
void layout_in_order(struct layout *out, int rank, const int *shape);
/* Computes the layout of a buffer of rank 2 that TMA copies can fill, and in which dimension `inner` is contiguous.
 * The layout divides `inner` into panels of 128 bytes (or 64, 32, 16, if the tile is narrower). A panel spans the
 * whole other dimension, and has the swizzle of a box whose rows are as long as the panel's rows. Panels of fewer
 * than eight rows have no swizzle. */
void layout_panels(struct layout *out, const int *shape, int elem_bytes, int inner);
/* Finds the largest boxes that fill a buffer of layout `shared`. Dimension i of the tensor map, counted from
 * the outermost, is the tile's dimension order[i]. Returns false if TMA copies cannot fill the buffer. */
bool layout_boxes(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order);
/* Halves boxes until there are at least `parts` boxes (a power of two). Each step halves the map's outermost
 * dimension in which the box is larger than 1, but never the innermost dimension. The entries of `more` stay
 * in ascending order of `offset`. Returns false if a step cannot halve the boxes: a box has at most 1024
 * bytes (the period of the widest swizzle), or size 1 in all dimensions but the innermost. */
bool boxes_cut(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int parts);
/* Halves boxes as boxes_cut does, until their size in the map's outermost dimension is at most `rows`. */
bool boxes_cut_rows(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int rows);

/* -- text: `reg[1 2] lane[4 8 16 32 64] warp[128 256]`, vectors of higher rank as (row,column) -- */
void layout_print(const struct layout *l, struct text *t);
/* Parses the text that layout_print prints. Returns the end of the layout's text, or NULL on an error. The
 * shape follows from the vectors, since a layout is surjective. */
const char *layout_parse(struct layout *l, const char *s);

#endif
