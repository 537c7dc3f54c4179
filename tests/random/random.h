/* SPDX-License-Identifier: MIT */
/* random.h: declares the representation of random Triton kernels, and the functions that the files of this folder
 * share.
 *
 *     seed ─► generate.c (values.c, shapes.c, access.c, products.c) ─► program ─► print.c ─► text of a .py file
 *                                                                        │
 *                            shrink.c: a smaller program, same failure ◄──┴─► judge.c: interpreter, emulator, GPU, ptxas
 *
 * Programs are typed: each node has an element type, a shape, and a range of values. The generator chooses ranges
 * such that every result is exact in any order of computation. So the results of devices can be compared bit by bit.
 * A size is a product of symbols. The values of symbols are stored only in the program, so a program stays well typed
 * if a symbol's value is reduced. The generator shares no code with the compiler except arenas, texts, and the
 * conversion of numbers to bits. */
#ifndef NESO_TESTS_RANDOM_H
#define NESO_TESTS_RANDOM_H

#include "ir/support/text.h"

#include <stdbool.h>
#include <stdint.h>

/* -- elements -- */

/*   word   class     bits  bits of the significand, largest and smallest exponent, names in tl, signatures, torch */
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

/* SMALL is the class of 8-bit floats. Programs can only load, store, move and cast them, and multiply them by
 * tl.dot. */
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

/* The size of a dimension, as a set with a bit for each symbol. The size is the product of the sizes of the symbols in
 * the set; the empty set means size 1. */
typedef uint32_t dims;

struct shape {
    int rank; /* the number of dimensions; 0: a scalar */
    dims dim[RANK_LIMIT];
};

/* The range of a value. Floats are multiples of 2^least with absolute values of at most 2^most. Integers are below
 * 2^most; if `most` is less than the type's width, they are also at least 0. */
struct range {
    int most, least;
};
enum { ANY_LEAST = -2000 }; /* such floats may have rounding errors, so their sum depends on the order */

enum kind { KIND_value, KIND_pointer, KIND_block, KIND_descriptor };

struct vtype {
    enum kind kind;
    enum elem elem;
    struct shape shape;
    struct range range;
};

/* -- nodes -- */

/* The kinds of nodes, and their text. In the text, $0 to $5 represent operands, $* for all operands, $: for all
 * operands but the first, $S for the shape, $T for the element type, $A for `axis`, $B for `other`, $P for the
 * permutation, $W for the word, $C for a cast to the element type if the function may return a wider type, and $N for
 * the program's number. placeholder() in print.c also defines placeholders for arguments of single functions, such as
 * $K for keep_dims. */
#define NODES(N) \
    N(number, "")            N(var, "")              N(extent, "")          N(arange, "") \
    N(pid, "$N") N(pid_at, "tl.program_id($A)") N(programs_at, "tl.num_programs($A)") N(scalar, "") \
    N(add, "($0 + $1)")      N(sub, "($0 - $1)")     N(mul, "($0 * $1)") \
    N(and, "($0 & $1)")      N(or, "($0 | $1)")      N(xor, "($0 ^ $1)") \
    N(shl, "($0 << $1)")     N(shr, "($0 >> $1)")    N(div, "($0 // $1)")   N(rem, "($0 % $1)") \
    N(compare, "($0 $W $1)") \
    N(minimum, "tl.minimum($0, $1)$C") N(maximum, "tl.maximum($0, $1)$C") \
    N(neg, "(-$0)")          N(not, "(~$0)")         N(contrary, "(not $0)") N(abs, "tl.abs($0)") \
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

/* A number that depends on sizes: times * (the product of the sizes of the symbols in `of`) + plus. */
struct extent {
    dims of;
    int times, plus;
};

struct node {
    enum node_kind kind;
    struct vtype type;
    int nargs;
    struct node *arg[OPERANDS]; /* the operands; NULL if the mask or `other` is absent */
    /* `axis` is the axis of a reduction, scan and so on; `other` is the index of a pair's element, or a flag */
    int axis, other;
    bool flag;                  /* the argument keep_dims, reverse or descending */
    int perm[RANK_LIMIT];
    /* the bins of a histogram, k of topk, or the end of an arange, whose start is extent.plus */
    dims end;
    double number;              /* the value of a float constant; the value of an integer constant is in `bits` */
    int64_t bits;
    struct extent extent;
    struct extent rows[RANK_LIMIT], strides[RANK_LIMIT]; /* for a block pointer or descriptor */
    struct scalar *scalar;
    struct buffer *buffer;
    /* the region of a node of kind reload, fetch or place, or of a block pointer or descriptor for stores */
    struct region *region;
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
    struct range range;   /* the range of an input's elements */
    /* for inputs and atomics, the binary logarithm of the number of elements; for outputs, stmt.slot determines the
     * size */
    int log_count;
    int64_t a, b, c, modulus, minus; /* element i is ((i a + b) % 65521 c % modulus - minus) 2^scale */
    int scale;
    const char *word;     /* for atomics: the only atomic function that is applied to this buffer */
    int64_t offset, count; /* the place in memory: the offset in bytes, and the number of elements */
    int skew;             /* the number of elements by which the buffer is misaligned */
};

/* A scalar parameter: an i32 or an f32. */
struct scalar {
    char name[12];
    struct extent value;
    bool is_float;
    double number;
};

/* A part of an output buffer to which programs store and from which they load. Either each program has its own region,
 * or all programs share one region. */
struct region {
    struct buffer *buffer;
    struct shape shape;
    /* the number of elements of a region that all programs share; if whole.times is 0, each program has its own
     * region */
    struct extent whole;
    int64_t base; /* the offset of the first program's region in the buffer; program_layout sets it */
    bool placed;
};

/* -- statements -- */

enum stmt_kind { STMT_assign, STMT_store, STMT_atomic, STMT_if, STMT_for, STMT_while, STMT_return };

enum form { FORM_range, FORM_tl_range, FORM_static };
enum store_form { STORE_pointers, STORE_block, STORE_descriptor, STORE_at };

struct stmt {
    enum stmt_kind kind;
    struct stmt *next;
    struct var *var;         /* the variable of assign, for and while */
    /* assign: the value; store: the value, the mask, the index of the slot, and with STORE_at the address; if: the
     * condition; for: from, to, step */
    struct node *e[4];
    struct stmt *body, *alternative;
    struct buffer *buffer;   /* store: the output buffer */
    /* store: the slot is the part of the output that a program writes; its size is the product of these symbols'
     * sizes and `rounds` */
    dims slot;
    int rounds;              /* store: the number of iterations; each iteration stores to its own part of the slot */
    /* store: the region to which the statement stores, and from which other statements load, so that barriers precede
     * and follow the store; NULL: the statement stores to a slot that no other statement accesses */
    struct region *region;
    int form;                /* for: enum form; store: enum store_form */
    int stages, unroll;      /* for: num_stages and loop_unroll_factor of tl.range; 0: absent */
    int perm[RANK_LIMIT];    /* store: the order of dimensions in memory */
    const char *word;
    int64_t base;            /* store: the index of the slot's first element; program_layout sets it */
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
    int grid, warps, stages; /* `grid` is the number of programs */
    enum { GRID_x, GRID_y, GRID_xy, GRID_tiles } grid_form; /* the axes of the grid */
    /* for GRID_tiles: the sizes of the grid's first and last axes; their product divides `grid` */
    int columns, layers;
    bool no_fusion;
    bool has_dot, has_small4; /* has_small4: the program has fp8e4nv values, which sm_80 does not support */
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

/* Computes the offsets and sizes of all buffers from the current sizes of the program's symbols. Returns the total
 * number of bytes. */
int64_t program_layout(struct program *p);
/* The expected values of some elements of an output. */
struct expectation {
    int n;
    struct {
        const struct buffer *buffer;
        int64_t index, bits;
        double number;
    } at[64];
};
/* Prints the kernel and its functions. If `whole` is true, also prints the host code, which checks the results
 * against expectation x (NULL: no check). Prints `why` as a comment above the program. */
void program_print(const struct program *p, bool whole, const struct expectation *x, const char *why, struct text *out);
/* Prints the signature for neso_kernel_compile. */
void program_signature(const struct program *p, struct text *out);
/* An argument of a launch: a buffer, or a number. program_arguments sets the arguments in order, and returns their
 * number. If an argument is the number 1, the signature declares the value. */
struct argument {
    const struct buffer *buffer;
    uint64_t bits;
    const struct scalar *scalar;
};
int program_arguments(const struct program *p, struct argument *args);
int program_statements(const struct program *p);
void program_grid(const struct program *p, uint32_t grid[3]);

/* -- generate.c -- */

/* Generates the program of a seed. To avoid known failures, it generates no nodes of a kind for which avoid[kind] is
 * true; `avoid` may be NULL. */
struct program *program_generate(struct arena *a, uint64_t seed, const bool *avoid);

/* -- data.c -- */

/* Fills the memory of all buffers for a launch, at the offsets that program_layout has set. */
void program_fill(const struct program *p, unsigned char *memory);
/* Compares the memory after two launches of the program. Returns false if outputs differ; then sets *x to some of the
 * right values, and describes a difference in `text`. */
bool program_compare(const struct program *p, const unsigned char *want, const unsigned char *got, int64_t bytes,
                     struct expectation *x, char *text, size_t room);

/* -- judge.c -- */

enum { DEVICE_interpreter, DEVICE_emulator, DEVICE_cuda, DEVICES };

struct config {
    int device;
    const char *target;
    int warps, stages;
    char skip[128]; /* up to three passes to skip, separated by commas */
    bool ptxas;    /* assemble the PTX instead of running it */
};

/* The result of judging a program. */
struct verdict {
    enum { PASSED, REFUSED, FAILED } what;
    char kind[120]; /* a text that is usually equal for failures with the same cause */
    char text[1200];
    struct config config;
};

struct judge; /* contexts of devices, opened on first use */
struct judge *judge_open(bool cuda);
/* Makes the judge compile with the library's option `check` and report the findings of this option, instead of
 * comparing results. */
void judge_by_check(struct judge *j);
void judge_close(struct judge *j);
/* Compiles and runs a program in one configuration, and compares it with the interpreter. If the results differ, sets
 * *x to some of the right values; `x` may be NULL. */
void judge_one(struct judge *j, struct program *p, const struct config *c, struct verdict *v, struct expectation *x);
/* Judges a program in all configurations that the seed chooses, until one fails. Calls `refused` with the reason of
 * each expected refusal. */
void judge_all(struct judge *j, struct program *p, struct verdict *v, void (*refused)(void *, const char *),
               void *user);
/* Returns whether ptxas is installed. */
bool judge_has_ptxas(void);
/* Prints a configuration: "sm_90a, 4 warps, 3 stages, without cse". */
void config_print(const struct config *c, char *out, size_t room);

/* -- shrink.c -- */

/* Applies edit number `number`. Returns 1 if it was applied, -1 if this edit is impossible, and 0 if there are no
 * more edits. */
int program_edit(struct program *p, int number);
struct program *program_copy(const struct program *p, struct arena *a);

#endif
