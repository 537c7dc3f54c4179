/* layout.h: where each element of a tile lives, as a linear map over GF(2). The lesson is
 * at the head of layout.c.
 *
 * A coordinate is the row-major index of the element in its tile, as bits (the last dimension's bits are
 * lowest); all sizes are powers of two, so XOR of indices is XOR of the coordinates of each dimension. A
 * layout maps the bits of (register, lane, warp, CTA), or the bits of an offset in shared memory (in
 * elements), to coordinates:
 *
 *     coordinate = flip ^ XOR of basis[i] over the input bits i that are set
 *
 * It is surjective: every element has a place. A basis vector of zero (or one that depends on earlier ones)
 * means replication. The owner of an element is the place where the replicated bits are zero.
 */
#ifndef NESO_IR_LAYOUT_H
#define NESO_IR_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

struct text;

static inline bool is_power_of_two(int64_t n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Of 0 and less: 0. */
static inline int log2_floor(int64_t n)
{
    return n > 0 ? 63 - __builtin_clzll((unsigned long long)n) : 0;
}

/* Kinds of input bits. A layout has either registers, lanes, warps, CTAs, or an offset. */
enum in { IN_reg, IN_lane, IN_warp, IN_cta, IN_offset, IN_count };

enum { RANK_MAX = 24, COORD_BITS_MAX = 20, LAYOUT_BITS_MAX = 40, LANE_BITS = 5 };

struct layout {
    uint8_t rank;
    uint8_t dim_bits[RANK_MAX];      /* log2 of the tile's shape; dimensions of size 1 have no bits */
    uint8_t nbits[IN_count];         /* input bits of each kind */
    uint32_t basis[LAYOUT_BITS_MAX]; /* reg bits, then lane, warp, cta, offset */
    uint32_t flip;
};

/* -- making -- */
/* An empty layout for a shape (rank sizes, powers of two); then bits are added from the
 * lowest, in order of IN_. */
void layout_init(struct layout *l, int rank, const int *shape);
void layout_add(struct layout *l, enum in kind, uint32_t vector);
/* Spreads a tile over lanes and warps so that accesses in `order` (fastest dimension first) coalesce:
 * elems_per_thread[d] neighbouring elements of dimension d in registers, then lanes, then warps, in
 * that order of dimensions; what is left of the tile wraps into further registers; lanes or warps
 * left over are replicated. */
void layout_blocked(struct layout *l, int rank, const int *shape, const int *elems_per_thread,
                    const int *order, int num_warps);

/* -- asking -- */
int layout_coord_bits(const struct layout *l);
uint32_t layout_basis(const struct layout *l, enum in kind, int bit);
/* First bit of a kind in basis[]. */
int layout_first(const struct layout *l, enum in kind);
/* Row-major coordinate of the element at a place. */
uint32_t layout_apply(const struct layout *l, uint32_t reg, uint32_t lane, uint32_t warp, uint32_t cta);
uint32_t layout_apply_offset(const struct layout *l, uint32_t offset);
void layout_split_coord(const struct layout *l, uint32_t coord, int *index);
bool layout_equal(const struct layout *a, const struct layout *b);
bool layout_is_surjective(const struct layout *l);
/* The input bits of a kind that only replicate (a mask): zero or dependent on lower bits, counting registers
 * before lanes before warps before CTAs. The owner has them zero. */
uint32_t layout_free_bits(const struct layout *l, enum in kind);

/* -- shape changes: the layout of the result, which holds the same registers -- */
void layout_reshape(struct layout *out, const struct layout *l, int rank, const int *shape);
void layout_trans(struct layout *out, const struct layout *l, const int *order);
/* Without dimension `dim` (a reduction's result); registers that become equal are dropped if `drop`, the map
 * from the result's registers to l's is then reg_of[new] = old (may be NULL). */
void layout_slice(struct layout *out, const struct layout *l, int dim, bool drop, int *reg_of);
/* A dimension of size 1 put in at `dim`. */
void layout_expand(struct layout *out, const struct layout *l, int dim);
/* Dimension `dim` made size 1, its bits zero: what an operand must have so that broadcasting
 * it to l moves nothing. */
void layout_squash(struct layout *out, const struct layout *l, int dim);
/* Replicated registers dropped; reg_of as above. */
void layout_drop_free_regs(struct layout *out, const struct layout *l, int *reg_of);

/* The same places in a larger tile, of which l's is the part from index at[d] on; not surjective, so only for
 * division by another layout. */
void layout_part(struct layout *out, const struct layout *l, const int *shape, const int *at);

/* -- algebra -- */
/* A linear map between input spaces, as found by dividing one layout by another:
 * for a place in `from` (all its input bits, in basis order), the place in `to` that holds the same element;
 * `to`'s replicated bits are zero. basis[i] is a word of to's input bits, in to's basis order. So with `to`
 * in shared memory, place_apply of a register alone is the offset that this register adds (by XOR) to the
 * offset of its thread. */
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
    CONVERSION_none,      /* the same elements in the same registers of the same threads */
    CONVERSION_registers, /* within each thread */
    CONVERSION_shuffle,   /* within each warp */
    CONVERSION_shared     /* across warps, or where shuffles cost more */
};
enum conversion layout_conversion(const struct layout *from, const struct layout *to);
/* A conversion within threads or warps, in 2^nround rounds. In each, every lane offers one of from's
 * registers, takes what the lane `source` of its warp offers, and puts it into one of to's registers. All
 * three are XORs of one step per bit of the round's number and per bit of the thread (lanes, warps, CTAs). If
 * a round's source is the lane itself, no shuffle is needed. To's replicated registers are not put: they
 * equal the register with those bits zero. */
struct shuffle_step {
    uint32_t offer, source, put;
};
struct shuffle {
    int nround, nthread; /* bits */
    struct shuffle_step first, round[COORD_BITS_MAX], thread[LAYOUT_BITS_MAX];
};
/* False: elements cross warps, or a lane would have to offer two registers at once. */
bool layout_shuffle(struct shuffle *s, const struct layout *from, const struct layout *to);
struct shuffle_step shuffle_at(const struct shuffle *s, uint32_t round, uint32_t thread);

/* -- vectors and shared memory -- */
/* How many consecutive elements (in order of coordinates along the fastest dimension `dim`)
 * stand in consecutive registers of a thread, at most `most`: the widest vector access that the
 * layout itself allows. */
int layout_vector(const struct layout *l, int dim, int most);
/* The widest vector, in elements, with which threads laid out as `l` can read or write shared memory laid
 * out as `shared`: register bits that are the lowest offset bits. At most `most` (16 or less). The i-th
 * element of the vector that starts with register r is in register r ^ reg_of[i] (may be NULL); r has
 * those register bits zero. */
int layout_shared_vector(const struct layout *shared, const struct layout *l, int most, int *reg_of);
/* Wavefronts (32 banks of 4 bytes) that one warp needs to access all registers (replicated ones left out),
 * `vector` elements at once, and the least that would do. */
int layout_wavefronts(const struct layout *shared, const struct layout *l, int elem_bytes, int vector);
int layout_wavefronts_least(const struct layout *l, int elem_bytes, int vector);
/* A layout of shared memory (IN_offset, XOR swizzled) through which `from` becomes `to` with the widest
 * vectors and no bank conflict where one exists, else the fewest. */
void layout_shared_for(struct layout *out, const struct layout *from, const struct layout *to,
                       int elem_bytes);

/* -- matrix loads (matrix.c) -- */
/* How a warp laid out as some layout loads matrices of 8 rows of 16 bytes (ldmatrix). */
struct matrix_load {
    bool trans;                    /* rows and columns change places on the way */
    int nmatrices;                 /* 1, 2 or 4 at once */
    int word_bits;                 /* the lowest register bits: elements in a 32-bit word */
    int nrows;                     /* bits of threads as they give addresses: lanes, then warps and CTAs: */
    uint64_t row[LAYOUT_BITS_MAX]; /* what each adds, as a place of l: a row's start */
};
/* The same elements as whoever gives the addresses sees them: 16 bytes in registers, rows and matrices in
 * lanes. False: l's lanes are too few, or its registers. */
bool layout_matrix_rows(struct layout *out, struct matrix_load *x, const struct layout *l, int elem_bytes,
                        bool trans);
/* Can a tile be loaded so from `shared`? */
bool layout_matrix_load(struct matrix_load *x, const struct layout *shared, const struct layout *l,
                        int elem_bytes);

/* -- boxes of tensor maps (lower_tma_store.c) -- */
/* How copies by tensor maps fill a buffer: boxes, each a block of the tile that stands in one
 * piece, its rows swizzled. */
struct boxes {
    int swizzle;         /* bytes: 0, 32, 64, 128 */
    int shape[RANK_MAX]; /* of a box, per dimension of the tile */
    int nmore;           /* 2^nmore boxes make the tile: */
    struct {
        int offset;         /* in elements */
        uint32_t coord;     /* where that box starts in the tile */
    } more[COORD_BITS_MAX]; /* what each bit of a box's number adds */
};
/* order[i]: the tile's dimension that is the map's i-th, outermost first. False: no map writes it so. */
bool layout_boxes(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order);
/* Halves boxes, along the outermost dimension that they have, until there are `parts` (a power of two) at
 * least. False: a box is too small. The last of `more` is then the largest step. */
bool boxes_cut(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int parts);
/* The same until they have at most `rows` along the outermost dimension. */
bool boxes_cut_rows(struct boxes *b, const struct layout *shared, int elem_bytes, const int *order, int rows);

/* -- text: `reg[1 2] lane[4 8 16 32 64] warp[128 256]`, vectors of higher rank as (row,column) -- */
void layout_print(const struct layout *l, struct text *t);
/* Reads what layout_print wrote; returns the end, or NULL. The shape follows from the vectors, since a
 * layout is surjective. */
const char *layout_parse(struct layout *l, const char *s);

#endif
