/* layout.h: layouts as linear maps over GF(2): which register of which thread, or which offset in shared
 * memory, holds each element of a tile. The head of layout.c introduces the idea by an example. The files of
 * this folder in reading order: layout.c (making layouts and the algebra), shared.c (shared memory without
 * bank conflicts), matrix.c (ldmatrix), tensor.c (boxes of TMA copies), conversion.c (conversions between
 * layouts).
 *
 * A coordinate is the row-major index of the element in its tile, as bits (the last dimension's bits are
 * lowest); all sizes are powers of two, so XOR of indices is XOR of the coordinates of each dimension. A
 * layout maps the bits of (register, lane, warp, CTA), or the bits of an offset in shared memory (in
 * elements), to coordinates:
 *
 *     coordinate = flip ^ XOR of basis[i] over the input bits i that are set
 *
 * The map is surjective: every element has a place. A basis vector that is zero (or depends on earlier ones)
 * replicates elements. The owner of an element is the place whose replicated bits are zero. */
#ifndef NESO_IR_LAYOUT_H
#define NESO_IR_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct text;

static inline bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Returns 0 for n <= 0. */
static inline int log2_floor(int64_t n)
{
    return n > 0 ? 63 - __builtin_clzll((unsigned long long)n) : 0;
}

/* Kinds of input bits. A layout has either registers, lanes, warps and CTAs, or an offset in shared
 * memory. */
enum in { IN_reg, IN_lane, IN_warp, IN_cta, IN_offset, IN_count };

enum { RANK_MAX = 24, COORD_BITS_MAX = 20, LAYOUT_BITS_MAX = 40, LANE_BITS = 5 };

struct layout {
    uint8_t rank;
    uint8_t dim_bits[RANK_MAX];      /* log2 of the tile's shape; dimensions of size 1 have no bits */
    uint8_t nbits[IN_count];         /* input bits of each kind */
    uint32_t basis[LAYOUT_BITS_MAX]; /* reg bits, then lane, warp, cta, offset */
    uint32_t flip;
};

/* -- construction -- */
/* Makes an empty layout for a shape (rank sizes, powers of two). The caller then adds bits, the lowest first,
 * in order of IN_. */
void layout_init(struct layout *l, int rank, const int *shape);
void layout_add(struct layout *l, enum in kind, uint32_t vector);
/* Spreads a tile over lanes and warps so that accesses coalesce, with dimensions in `order` (fastest first).
 * A thread holds elems_per_thread[d] neighbouring elements of dimension d in registers; lanes and then warps
 * divide the dimensions in that order. What is left of the tile takes further registers; lanes or warps that
 * are left over hold replicas. */
void layout_blocked(struct layout *l, int rank, const int *shape, const int *elems_per_thread,
                    const int *order, int num_warps);

/* -- queries -- */
int layout_coord_bits(const struct layout *l);
uint32_t layout_basis(const struct layout *l, enum in kind, int bit);
/* The index in basis[] of a kind's first bit. */
int layout_first(const struct layout *l, enum in kind);
/* The row-major coordinate of the element at a place. */
uint32_t layout_apply(const struct layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta);
uint32_t layout_apply_offset(const struct layout *l, uint32_t offset);
void layout_split_coord(const struct layout *l, uint32_t coord, int *index);
bool layout_equal(const struct layout *a, const struct layout *b);
bool layout_is_surjective(const struct layout *l);
/* A mask of the input bits of a kind that only replicate: their vectors are zero or depend on vectors of
 * lower bits (registers come before lanes, lanes before warps, warps before CTAs). The owner has zeros in
 * these bits. */
uint32_t layout_free_bits(const struct layout *l, enum in kind);

/* -- shape changes: the layout of the result, which holds the same registers -- */
void layout_reshape(struct layout *out, const struct layout *l, int rank, const int *shape);
void layout_trans(struct layout *out, const struct layout *l, const int *order);
/* l without dimension `dim` (the layout of a reduction's result). With `drop`, registers that become equal
 * are dropped; reg_of (may be NULL) then maps the result's registers to l's: reg_of[new] = old. */
void layout_slice(struct layout *out, const struct layout *l, int dim, bool drop, int *reg_of);
/* l with a new dimension of size 1 at `dim`. */
void layout_expand(struct layout *out, const struct layout *l, int dim);
/* The layout of pairs whose parts are laid out as l, given their rank and shape: the new last dimension takes the
 * lowest register bit. */
void layout_join(struct layout *out, const struct layout *l, int rank, const int *shape);
/* l with dimension `dim` of size 1 and its bits zero: broadcasting an operand of this layout to l moves no
 * data. */
void layout_squash(struct layout *out, const struct layout *l, int dim);
/* l without replicated registers; reg_of as for layout_slice. */
void layout_drop_free_regs(struct layout *out, const struct layout *l, int *reg_of);

/* The same places in a larger tile; l's tile is the part that starts at index at[d] of each dimension d. The
 * result is not surjective, so it may only be divided by another layout. */
void layout_part(struct layout *out, const struct layout *l, const int *shape, const int *at);

/* -- algebra -- */
/* A linear map between input spaces: for a place in `from` (all its input bits, in basis order), the place in
 * `to` that holds the same element; `to`'s replicated bits are zero. basis[i] is a word of to's input bits,
 * in to's basis order. If `to` is in shared memory, place_apply of a register alone gives the offset that
 * this register adds (by XOR) to the offset of its thread. layout_divide computes it. */
struct place_map {
    int nin, nout;
    uint64_t basis[LAYOUT_BITS_MAX];
    uint64_t flip;
};
/* to^-1 ∘ from. Both must have the same shape. */
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
/* A conversion within threads or warps, in 2^nround rounds. In each, every lane offers one of from's
 * registers, takes what the lane `source` of its warp offers, and puts it into one of to's registers. All
 * three are XORs of one step per bit of the round's number and per bit of the thread (lanes, warps, CTAs). If
 * a round's source is the lane itself, no shuffle is needed. To's replicated registers are not put: they
 * equal the register with those bits zero. */
struct shuffle_step {
    uint32_t offer, source, put;
};
struct shuffle {
    int nround, nthread; /* how many bits the round's number and the thread have */
    struct shuffle_step first, round[COORD_BITS_MAX], thread[LAYOUT_BITS_MAX];
};
/* Returns false if elements cross warps, or if a lane would have to offer two registers in one round. */
bool layout_shuffle(struct shuffle *s, const struct layout *from, const struct layout *to);
struct shuffle_step shuffle_at(const struct shuffle *s, uint32_t round, uint32_t thread);

/* -- vectors and shared memory -- */
/* How many consecutive elements (along the fastest dimension `dim`) stand in consecutive registers of a
 * thread, at most `most`: the widest vector access that the layout itself allows. */
int layout_vector(const struct layout *l, int dim, int most);
/* The widest vector, in elements and at most `most` (16 or less), with which threads laid out as `l` can
 * access shared memory laid out as `shared`: its register bits are the lowest offset bits. Element i of the
 * vector that starts with register r is in register r ^ reg_of[i] (reg_of may be NULL); r has those register
 * bits zero. */
int layout_shared_vector(const struct layout *shared, const struct layout *l, int most, int *reg_of);
/* Counts the wavefronts (32 banks of 4 bytes) that one warp needs to access all its registers but replicated
 * ones, `vector` elements an access; *least is the number without bank conflicts. */
int layout_wavefronts(const struct layout *shared, const struct layout *l, int elem_bytes, int vector);
int layout_wavefronts_least(const struct layout *l, int elem_bytes, int vector);
/* Finds a layout of shared memory (IN_offset, XOR swizzled) for the conversion of `from` to `to`, with the
 * widest vectors and no bank conflict where such a layout exists, else with the fewest conflicts. */
void layout_shared_for(struct layout *out, const struct layout *from, const struct layout *to,
                       int elem_bytes);

/* -- matrix loads (matrix.c) -- */
/* How a warp with some layout loads matrices of 8 rows of 16 bytes (ldmatrix). */
struct matrix_load {
    bool trans;                    /* ldmatrix.trans: a thread's word holds elements of a column */
    int nmatrices;                 /* matrices an instruction loads: 1, 2 or 4 */
    int word_bits;                 /* the lowest register bits: elements in a 32-bit word */
    /* bits of the threads that give row addresses: lanes, then warps and CTAs */
    int nrows;
    /* row[i]: what bit i of such a thread adds to the address of its row, as a place of l */
    uint64_t row[LAYOUT_BITS_MAX];
};
/* Gives the layout of the threads that supply the row addresses: 16 bytes of a row in registers, rows and
 * matrices in lanes. Returns false if l has too few lanes or registers. */
bool layout_matrix_rows(struct layout *out, struct matrix_load *x, const struct layout *l, int elem_bytes,
                        bool trans);
/* Can ldmatrix load the tile from `shared`? */
bool layout_matrix_load(struct matrix_load *x, const struct layout *shared, const struct layout *l,
                        int elem_bytes);

/* -- boxes of tensor maps (tensor.c) -- */
/* How TMA copies fill a buffer: by boxes. Each box is a block of the tile that is contiguous in the buffer,
 * its rows swizzled. */
struct boxes {
    int swizzle;         /* 0, 32, 64 or 128 bytes */
    int shape[RANK_MAX]; /* a box's size, for each dimension of the tile */
    int nmore;           /* 2^nmore boxes cover the tile */
    struct {
        int offset;         /* in elements, from the buffer's start */
        uint32_t coord;     /* the first element of that box in the tile */
    } more[COORD_BITS_MAX]; /* more[i]: what bit i of a box's number adds */
};
/* order[i] is the tile's dimension that is the tensor map's i-th, outermost first. Returns false if no tensor
 * map can write the buffer. */
bool layout_boxes(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order);
/* Halves boxes along their outermost dimension of more than 1 until there are at least `parts` boxes (a power
 * of two). Returns false if the boxes become too small. The last entry of `more` is then the largest step. */
bool boxes_cut(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int parts);
/* Halves boxes likewise until they have at most `rows` along the outermost dimension. */
bool boxes_cut_rows(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int rows);

/* -- text: `reg[1 2] lane[4 8 16 32 64] warp[128 256]`, vectors of higher rank as (row,column) -- */
void layout_print(const struct layout *l, struct text *t);
/* Reads what layout_print wrote. Returns the end, or NULL on an error. The shape follows from the vectors,
 * since a layout is surjective. */
const char *layout_parse(struct layout *l, const char *s);

#endif
