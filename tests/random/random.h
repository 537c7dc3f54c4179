/* random.h: random Triton kernels, and the functions that the files of this folder share.
 *
 *     seed ─► generate.c (values.c, shapes.c, access.c, products.c) ─► program ─► print.c ─► text of a .py file
 *                                                                        │
 *                            shrink.c: a smaller one that fails alike ◄──┴─► judge.c: interpreter, emulator, GPU, ptxas
 *
 * A program is typed when it is made: each node knows its element type, its shape, and of floats a range,
 * such that every result is exact in whatever order it is computed, and devices can be compared bit by bit.
 * Sizes are products of symbols whose values stand apart, so that a smaller program is well typed again. The
 * generator shares no code with the compiler but arenas, texts, and the conversion of numbers to bits. */
#ifndef NESO_TESTS_RANDOM_H
#define NESO_TESTS_RANDOM_H

#include "ir/support/text.h"

#include <stdbool.h>
#include <stdint.h>

/* -- elements -- */

/*   word   kind      bits  bits of a significand, largest exponent, smallest; tl's name; of a signature;
 * torch's */
#define ELEMENTS(E) \
    E(i1,   BOOL,      1,  1,  0,    0, "int1", "i1", "bool") \
    E(i8,   SIGNED,    8,  7,  7,    0, "int8", "i8", "int8") \
    E(i16,  SIGNED,   16, 15, 15,    0, "int16", "i16", "int16") \
    E(i32,  SIGNED,   32, 31, 31,    0, "int32", "i32", "int32") \
    E(i64,  SIGNED,   64, 63, 63,    0, "int64", "i64", "int64") \
    E(u8,   UNSIGNED,  8,  8,  8,    0, "uint8", "u8", "uint8") \
    E(u16,  UNSIGNED, 16, 16, 16,    0, "uint16", "u16", "uint16") \
    E(u32,  UNSIGNED, 32, 32, 32,    0, "uint32", "u32", "uint32") \
    E(u64,  UNSIGNED, 64, 64, 64,    0, "uint64", "u64", "uint64") \
    E(f16,  FLOAT,    16, 11, 15,  -14, "float16", "fp16", "float16") \
    E(bf16, FLOAT,    16,  8, 60,  -60, "bfloat16", "bf16", "bfloat16") \
    E(f32,  FLOAT,    32, 24, 60,  -60, "float32", "fp32", "float32") \
    E(f64,  FLOAT,    64, 53, 60,  -60, "float64", "fp64", "float64") \
    E(f8e4, SMALL,     8,  4,  8,   -6, "float8e4nv", "fp8e4nv", "float8_e4m3fn") \
    E(f8e5, SMALL,     8,  3, 15,  -14, "float8e5", "fp8e5", "float8_e5m2")

/* SMALL: floats that can be loaded, stored, moved, cast and multiplied by tl.dot only. */
enum class { BOOL = 1, SIGNED = 2, UNSIGNED = 4, FLOAT = 8, SMALL = 16, INTS = SIGNED | UNSIGNED };

enum elem {
#define E(word, kind, bits, precision, most, least, name, sign, torch) EL_##word,
    ELEMENTS(E)
#undef E
    EL_count
};

struct elem_info {
    enum class class;
    int bits, precision, most, least;
    const char *name, *signature, *torch;
};
extern const struct elem_info elem_info[EL_count];

static inline int elem_bytes(enum elem e)
{
    return (elem_info[e].bits + 7) / 8;
}
static inline bool is_int(enum elem e)
{
    return (elem_info[e].class & INTS) != 0;
}
static inline bool is_float(enum elem e)
{
    return elem_info[e].class == FLOAT;
}

/* -- shapes -- */

enum { SYMBOLS = 24, RANK_LIMIT = 5, TWO = 0, OTHER_TWO = 1, FIRST_SYMBOL = 2 };

/* A dimension: the set of symbols whose sizes are multiplied; none: size 1. */
typedef uint32_t dims;

struct shape {
    int rank; /* 0: a scalar */
    dims dim[RANK_LIMIT];
};

/* Of floats: multiples of 2^least, at most 2^most in size; of integers: at most 2^most (or the type's
 * width), and 0 at least where that is fewer bits than the type has. */
struct range {
    int most, least;
};
enum { ANY_LEAST = -2000 }; /* rounded as the type rounds: sums would depend on their order */

enum kind { KIND_value, KIND_pointer, KIND_block, KIND_descriptor };

struct vtype {
    enum kind kind;
    enum elem elem;
    struct shape shape;
    struct range range;
};

/* -- nodes -- */

/* An expression's kinds, with how they are printed: $0 to $5 operands, $* all of them, $S shape, $T element
 * type, $A axis, $B other axis, $P permutation, $W a word, $C cast to the element type where the function
 * may widen, $N the program's number. */
#define NODES(N) \
    N(number, "")            N(var, "")              N(extent, "")          N(arange, "") \
    N(pid, "$N") N(scalar, "") \
    N(add, "($0 + $1)")      N(sub, "($0 - $1)")     N(mul, "($0 * $1)") \
    N(and, "($0 & $1)")      N(or, "($0 | $1)")      N(xor, "($0 ^ $1)") \
    N(shl, "($0 << $1)")     N(shr, "($0 >> $1)")    N(div, "($0 // $1)")   N(rem, "($0 % $1)") \
    N(compare, "($0 $W $1)") \
    N(minimum, "tl.minimum($0, $1)$C") N(maximum, "tl.maximum($0, $1)$C") \
    N(neg, "(-$0)")          N(not, "(~$0)")         N(abs, "tl.abs($0)") \
    N(floor, "tl.floor($0)") N(ceil, "tl.ceil($0)")  N(fma, "tl.fma($0, $1, $2)") \
    N(div_rn, "tl.div_rn($0, $1)") N(sqrt_rn, "tl.sqrt_rn($0)") N(umulhi, "tl.umulhi($0, $1)$C") \
    N(clamp, "tl.clamp($0, $1, $2)$C") \
    N(cast, "tl.cast($0, $T)") N(bitcast, "$0.to($T, bitcast=True)") \
    N(where, "tl.where($0, $1, $2)") N(choose, "($1 if $0 else $2)") \
    N(broadcast_to, "tl.broadcast_to($0, $S)") N(splat, "tl.full($S, $0, $T)") \
    N(expand_dims, "tl.expand_dims($0, $A)") N(reshape, "tl.reshape($0, $S)") \
    N(trans, "tl.trans($0)") N(permute, "tl.permute($0, $P)") \
    N(join, "tl.join($0, $1)") N(split, "tl.split($0)[$A]") N(interleave, "tl.interleave($0, $1)") \
    N(cat, "tl.cat($0, $1, dim=$A)") N(flip, "tl.flip($0, $A)") \
    N(sum, "tl.sum($0, axis=$A$K)$C") N(max, "tl.max($0, axis=$A$K)$C") N(min, "tl.min($0, axis=$A$K)$C") \
    N(argmax, "tl.argmax($0, axis=$A$K)") N(argmin, "tl.argmin($0, axis=$A$K)") \
    N(best, "tl.$W($0, axis=$A, return_indices=True$K)[0]$C") N(xor_sum, "tl.xor_sum($0, axis=$A$K)") \
    N(reduce, "tl.reduce($0, $A, $W$K)") N(reduce_pair, "tl.reduce(($0, $1), $A, $W$K)[$B]") \
    N(cumsum, "tl.cumsum($0, axis=$A$R)$C") N(cumprod, "tl.cumprod($0, axis=$A$R)$C") \
    N(scan, "tl.associative_scan($0, $A, $W$R)") N(scan_pair, "tl.associative_scan(($0, $1), $A, $W$R)[$B]") \
    N(gather, "tl.gather($0, $1, $A)") N(sort, "tl.sort($0$D)") N(topk, "tl.topk($0, $E)$C") \
    N(histogram, "tl.histogram($0, $E$M)") \
    N(dot, "tl.dot($0, $1$Q)") N(dot_acc, "tl.dot($0, $1, acc=$2$Q)") \
    N(address, "($0 + $1)")  N(buffer, "")          N(place, "") \
    N(load, "tl.load($0$L$O)") \
    N(atomic, "tl.atomic_$W($0, $1$L)") N(reload, "tl.load($G)") \
    N(fetch, "tl.atomic_$W($G, $0)") N(fetch_cas, "tl.atomic_cas($G, $0, $1)") \
    N(make_block_ptr, "")    N(load_block, "tl.load($0, boundary_check=$X, padding_option='zero'$O)") N(advance, "tl.advance($0, [$:])") \
    N(make_descriptor, "")   N(load_descriptor, "$0.load([$:])") \
    N(call, "$W($*)")

enum node_kind {
#define N(word, text) NODE_##word,
    NODES(N)
#undef N
    NODE_count
};
extern const char *const node_words[NODE_count], *const node_texts[NODE_count];

enum { OPERANDS = 10 };

/* A number that depends on sizes: the product of `of` times `times`, and `plus`. */
struct extent {
    dims of;
    int times, plus;
};

struct node {
    enum node_kind kind;
    struct vtype type;
    int nargs;
    struct node *arg[OPERANDS]; /* NULL: left out (a mask, other) */
    int axis, other;            /* of a reduction, scan, ...; `other`: element of a pair, a flag */
    bool flag;                  /* keep_dims, reverse, descending */
    int perm[RANK_LIMIT];
    dims end;                   /* histogram's bins, topk's k, arange's start is extent.plus */
    double number;              /* of floats; integers: bits */
    int64_t bits;
    struct extent extent;
    struct extent rows[RANK_LIMIT], strides[RANK_LIMIT]; /* of a block pointer or descriptor */
    struct scalar *scalar;
    struct buffer *buffer;
    struct region *region;      /* reload, fetch, place; block pointers and descriptors to store by */
    struct var *var;
    const char *word;
};

struct var {
    char name[12];
    struct vtype type;
    bool mutable;
};

/* -- memory -- */

enum role { ROLE_input, ROLE_output, ROLE_atomic };

struct buffer {
    enum role role;
    char name[12];
    enum elem elem;
    struct range range;   /* of an input's elements */
    int log_count;        /* input, atomic: elements; outputs: see stmt */
    int64_t a, b, c, modulus, minus; /* element i is ((i a + b) % 65521 c % modulus - minus) 2^scale */
    int scale;
    const char *word;     /* atomic: the one function that is used on it */
    int64_t offset, count; /* as laid out: bytes, elements */
    int skew;             /* elements left out at the beginning: then it is not aligned */
};

/* A parameter: an i32, or an f32. */
struct scalar {
    char name[12];
    struct extent value;
    bool is_float;
    double number;
};

/* A place in an output: of each program, which stores to it and loads from it; or of all programs, which
 * share it. */
struct region {
    struct buffer *buffer;
    struct shape shape;
    struct extent whole; /* elements of all programs; times 0: of each its shape */
    int64_t base; /* of the first program's, as laid out */
    bool placed;
};

/* -- statements -- */

enum stmt_kind { STMT_assign, STMT_store, STMT_atomic, STMT_if, STMT_for, STMT_while, STMT_return };

enum form { FORM_range, FORM_tl_range, FORM_static };
enum store_form { STORE_pointers, STORE_block, STORE_descriptor, STORE_at };

struct stmt {
    enum stmt_kind kind;
    struct stmt *next;
    struct var *var;         /* assign, for, while */
    struct node *e[4];       /* value; store: value, mask, slot's index, with STORE_at the place; if: condition;
                              * for: from, to, step */
    struct stmt *body, *alternative;
    struct buffer *buffer;   /* store: an output */
    dims slot;               /* store: elements of a program's slot, times `rounds` */
    int rounds;              /* store: iterations that store apart */
    struct region *region;   /* store: where others load; with barriers around it. NULL: a place of its own */
    int form;                /* for: enum form, with its num_stages in `stages`; store: enum store_form */
    int stages, unroll;      /* for: in tl.range; 0: not said */
    int perm[RANK_LIMIT];    /* store: order of dimensions in memory */
    const char *word;
    int64_t base;            /* store: first element of the slot, as laid out */
};

struct function {
    char name[12];
    struct var *params[4];
    int nparams;
    struct stmt *body;
    struct node *result;
    struct vtype type;
};

enum { BUFFERS = 24, SCALARS = 12, FUNCTIONS = 4, VARS = 200 };

struct program {
    struct arena *arena;
    uint64_t seed;
    int log_size[SYMBOLS], log_least[SYMBOLS];
    int nsymbols;
    struct buffer *buffers[BUFFERS];
    int nbuffers;
    struct scalar *scalars[SCALARS];
    int nscalars;
    struct function *functions[FUNCTIONS];
    int nfunctions;
    int nvars;
    struct stmt *body;
    int grid, warps, stages; /* grid: programs, */
    enum { GRID_x, GRID_y, GRID_xy } grid_form; /* along these axes */
    bool no_fusion;
    bool has_dot, has_small4; /* an fp8e4nv is in it: not for sm_80 */
};

static inline int64_t size_of(const struct program *p, dims d)
{
    int log = 0;
    for (int i = 0; i < SYMBOLS; i++)
        log += d >> i & 1 ? p->log_size[i] : 0;
    return (int64_t)1 << log;
}
static inline int64_t extent_of(const struct program *p, const struct extent *e)
{
    return size_of(p, e->of) * e->times + e->plus;
}
int64_t shape_size(const struct program *p, const struct shape *s);
bool shape_equal(const struct shape *a, const struct shape *b);

/* -- print.c -- */

/* The places and sizes of buffers, which depend on the program's current sizes; returns the bytes in all. */
int64_t program_layout(struct program *p);
/* What some elements of outputs are to be. */
struct expectation {
    int n;
    struct {
        const struct buffer *buffer;
        int64_t index, bits;
        double number;
    } at[64];
};
/* The kernel and its functions; `whole`: and the host code, which checks what is expected (NULL: nothing).
 * `why` stands above as a comment. */
void program_print(const struct program *p, bool whole, const struct expectation *x, const char *why, struct text *out);
/* As neso_kernel_compile wants it. */
void program_signature(const struct program *p, struct text *out);
/* What a launch gets, in order: a buffer, or a number; their number. Those that are 1 are in the signature
 * too. */
struct argument {
    const struct buffer *buffer;
    uint64_t bits;
    const struct scalar *scalar;
};
int program_arguments(const struct program *p, struct argument *args);
int program_statements(const struct program *p);
void program_grid(const struct program *p, uint32_t grid[3]);

/* -- generate.c -- */

/* `avoid` (may be NULL): kinds of nodes that are left out, and those that are shaped by them, to look past
 * what is known. */
struct program *program_generate(struct arena *a, uint64_t seed, const bool *avoid);

/* -- data.c -- */

/* What memory holds before a launch, as program_layout has placed it. */
void program_fill(const struct program *p, unsigned char *memory);
/* Which bytes differ that should not: false, and `expected` says some of what should be there, `text` one of
 * them in words. */
bool program_compare(const struct program *p, const unsigned char *want, const unsigned char *got, int64_t bytes,
                     struct expectation *x, char *text, size_t room);

/* -- judge.c -- */

enum { DEVICE_interpreter, DEVICE_emulator, DEVICE_cuda, DEVICES };

struct config {
    int device;
    const char *target;
    int warps, stages;
    char skip[128]; /* three passes at most, with commas between */
    bool ptxas;    /* assemble, rather than run */
};

/* What became of a program. */
struct verdict {
    enum { PASSED, REFUSED, FAILED } what;
    char kind[120]; /* that failures with one cause share */
    char text[1200];
    struct config config;
};

struct judge; /* contexts of devices, opened when first needed */
struct judge *judge_open(bool cuda);
void judge_close(struct judge *j);
/* One way to compile and run a program, beside the interpreter; `x` (may be NULL): what was expected where
 * it differs. */
void judge_one(struct judge *j, struct program *p, const struct config *c, struct verdict *v, struct expectation *x);
/* All the ways that the seed chooses, until one fails. reasons: for each refusal, called. */
void judge_all(struct judge *j, struct program *p, struct verdict *v, void (*refused)(void *, const char *), void *user);
/* Is there a ptxas to be asked? */
bool judge_has_ptxas(void);
/* "sm_90a, 4 warps, 3 stages, without cse" */
void config_print(const struct config *c, char *out, size_t room);

/* -- shrink.c -- */

/* Applies the edit of this number; 0: there is none any more; -1: it cannot be; 1: done. */
int program_edit(struct program *p, int number);
struct program *program_copy(const struct program *p, struct arena *a);

#endif
