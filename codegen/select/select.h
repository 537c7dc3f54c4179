/* SPDX-License-Identifier: MIT */
/* select.h: declares the functions that the files of instruction selection share. select.c has the driver; every
 * other file selects one family of ops.
 *
 * Selection represents a tile by an array of operands: one for each register of the tile that a thread holds
 * (for a scalar, one operand). A constant stays an immediate until an instruction needs it in a register. The
 * element type determines the class of the registers:
 *
 *     i1                a predicate
 *     i8, f8e4, f8e5    16 bits; the upper 8 are arbitrary, so code that reads all 16 first extends the low 8
 *     i16, f16, bf16    16 bits
 *     i32               32 bits
 *     i64, ptr          64 bits
 *     f32, f64          float registers */
#ifndef NESO_CODEGEN_SELECT_H
#define NESO_CODEGEN_SELECT_H

#include "codegen/mir.h"

struct select {
    struct mir *m;
    struct func *f;
    const struct target *target;
    struct diag *diag;
    struct ptx_info *info;
    struct mblock *b;     /* new instructions are appended here */
    const struct op *op;  /* the op that is being selected */
    struct opnd thread;   /* %tid.x; the lane's number (0 to 31) if each warp runs a program of its own */
    struct opnd zero;     /* %tid.y, which is 0; but ptxas does not know that all lanes read the same value */
    struct opnd leader; /* the number of the warp's first thread; ptxas knows that it is equal in all lanes */
    /* In code that a role executes: the distance in bytes from this CTA's shared memory to the shared memory
     * of the other CTA of the pair (a cluster of two CTAs). */
    struct opnd to_peer;
    /* With warp specialization (op `warps`), the role whose warps execute the code: 1 (consumers, which
     * compute) or 2 (producer, which starts copies). 0: all threads of the program execute the code. */
    int role;
    struct map words; /* maps an asynchronous dot to its operand A as a struct matrix, if A is in registers */
    /* In the producer's code: a predicate that is true in the elected thread. OPND_none after all other
     * threads of the warp have exited, and in all other code. */
    struct opnd elected;
};

/* How an integer instruction reads its operands. */
enum reading { READ_bits, READ_signed, READ_unsigned };

/* -- select.c -- */
static inline struct form form0(enum insn_code code, enum ptype type)
{
    return (struct form){.code = (uint8_t)code, .type = (uint8_t)type};
}
static inline struct form form1(enum insn_code code, enum ptype type, enum mod m)
{
    return (struct form){.code = (uint8_t)code, .type = (uint8_t)type, .mods = {(uint8_t)m}};
}
static inline struct form form2(enum insn_code code, enum ptype type, enum mod m1, enum mod m2)
{
    return (struct form){.code = (uint8_t)code, .type = (uint8_t)type, .mods = {(uint8_t)m1, (uint8_t)m2}};
}
static inline struct form form_cvt2(enum ptype to, enum ptype from, enum mod m1, enum mod m2)
{
    return (struct form){
        .code = INSN_cvt, .type = (uint8_t)to, .from = (uint8_t)from, .mods = {(uint8_t)m1, (uint8_t)m2}};
}
static inline struct form form_cvt(enum ptype to, enum ptype from, enum mod m)
{
    return form_cvt2(to, from, m, MOD_none);
}
/* Appends an instruction with one result and the n operands x, and returns the result. */
struct opnd emit(struct select *s, struct form form, int n, const struct opnd *x);
struct opnd emit1(struct select *s, struct form form, struct opnd x);
struct opnd emit2(struct select *s, struct form form, struct opnd x, struct opnd y);
struct opnd emit3(struct select *s, struct form form, struct opnd x, struct opnd y, struct opnd z);
/* Returns the bits of x as an operand of class cls: a constant if x is a constant, x itself if x has this
 * class already, else a new register of this class to which the bits are copied. */
struct opnd emit_bits(struct select *s, enum reg_class cls, struct opnd x);
/* Appends an instruction with ndefs results, which are its first operands. */
struct insn *emit_insn(struct select *s, struct form form, int ndefs, int n, const struct opnd *x);
/* Appends a jump. If `when` is a predicate register, the jump is taken if the predicate is true, or with
 * `negated` if it is false. If `when` is OPND_none, the jump is always taken. The caller sets the target by
 * jump_to once the target block exists. */
struct insn *emit_jump(struct select *s, struct opnd when, bool negated);
void jump_to(struct insn *jump, const struct mblock *b);
void emit_mov(struct select *s, struct opnd to, struct opnd from);
/* Returns x in a register. Moves a constant into a new register. */
struct opnd in_reg(struct select *s, struct opnd x);
/* Moves from[i] to to[i], for i from 0 to n - 1, as if all moves took place at once: the source of one move
 * may be the destination of another. May change the array `from`. */
void emit_moves(struct select *s, int n, const struct opnd *to, struct opnd *from);
/* Emits code that computes, for each thread, the XOR of basis[i] over the bits i that are set in the thread's
 * number, which has nbits bits. Returns the result. */
struct opnd emit_thread_map(struct select *s, int nbits, const uint32_t *basis);
/* Sets basis[i] to the vector that bit i of the thread's number contributes to the coordinates of the
 * thread's elements in layout l. Lane bits come first, then warp bits. Returns the number of bits.
 * (shape.c) */
int layout_threads(const struct layout *l, uint32_t *basis);
/* If several threads hold replicas of an element, one of them is the element's owner. Returns a predicate
 * that is true if the thread owns the elements that it holds in layout `l`; OPND_none if this is true in
 * every thread. */
struct opnd emit_is_owner(struct select *s, const struct layout *l);
/* Returns the conjunction of x and y. Each of the two may be OPND_none, which means true. */
struct opnd pred_and(struct select *s, struct opnd x, struct opnd y);

struct opnd thread_bit(struct select *s, int bit); /* a predicate: a bit of the thread's number */

void emit_barrier(struct select *s); /* a barrier for all threads of s->role */

struct opnd *tile_of(struct select *s, const struct value *v); /* the operands that represent v */
struct opnd *tile_new(struct select *s, struct value *v);      /* a new array for v, which the caller fills */
const struct layout *tile_layout(const struct select *s, const struct type *t, struct layout *scalar);
enum dtype elem_dtype(const struct type *t); /* i64 for pointers */
double const_f32(const struct value *v);     /* v's value if it is an f32 constant, else NaN */
#define FAR_FROM_TINY 0x1p-100 /* an f32 of at least this absolute value plus a subnormal f32 is unchanged */
/* Returns whether subnormal values of v may be flushed to 0, because every use of v has the same result for a
 * subnormal number as for 0. */
bool is_lost_where_tiny(const struct value *v);

/* Returns the PTX type with which an instruction reads values of type dt. For f16 and bf16, this is the float
 * type, or b16 if r is READ_bits. For fp8, it is always b16. */
enum ptype dtype_ptype(enum dtype dt, enum reading r);
enum reg_class dtype_class(enum dtype dt);

/* Reads the special register `number` (enum special). */
struct opnd emit_special(struct select *s, int number);

/* Selects the ops of a region at the end of the current block s->b, and returns the region's terminator. The
 * caller has set the operands that represent the region's arguments. */
const struct op *select_inline(struct select *s, struct block *b);
/* Reports a fatal error: the current op is valid, but this back end does not support it. */
_Noreturn void select_unsupported(struct select *s, const char *what);

/* -- one function for each family of ops; the functions of elementwise families select one element, and
 * return it -- */
struct opnd select_arith(struct select *s, const struct op *o, const struct opnd *x);
bool math_jumps(const struct op *o); /* whether the op's code has branches that depend on its operands */
struct opnd select_math(struct select *s, const struct op *o, const struct opnd *x);
struct opnd select_cast(struct select *s, const struct op *o, const struct opnd *x);
void select_create(struct select *s, const struct op *o);
void select_shape(struct select *s, const struct op *o);
void select_memory(struct select *s, const struct op *o);
void select_reduce(struct select *s, const struct op *o);
void select_scan(struct select *s, const struct op *o);
void select_layout(struct select *s, const struct op *o);
void select_dot(struct select *s, const struct op *o);
void select_async(struct select *s, const struct op *o);
void select_copy(struct select *s, const struct op *o);
void select_copy_wait(struct select *s, const struct op *o);
void select_wgmma(struct select *s, const struct op *o);
void select_wgmma_wait(struct select *s, const struct op *o);
/* If asynchronous dots in the loop read operand A from registers, the same in each iteration, emits a read of
 * these registers after the loop (see wgmma.c). */
void select_reads_behind(struct select *s, const struct op *loop);
/* Returns the generic address of a tensor map, which is a kernel parameter. */
struct opnd tensor_map_address(struct select *s, int map);
void select_control(struct select *s, const struct op *o);
void select_debug(struct select *s, const struct op *o);

/* -- cast.c, functions that other files use -- */
struct opnd widen_to_f32(struct select *s, enum dtype from, struct opnd x);
struct opnd narrow_from_f32(struct select *s, enum dtype to, struct opnd x, enum rounding round);
/* Extends an i8 to 16 bits by its sign or by zeros. Returns other types unchanged. */
struct opnd extend_i8(struct select *s, enum dtype dt, struct opnd x, bool with_sign);

/* -- memory.c, functions that other files use -- */
/* Describes an access to `vec` neighbouring elements: it moves nwords words of per_word elements each. */
struct word_shape {
    int vec, bits; /* number of elements; bits of an element in memory */
    int nwords, per_word;
    enum ptype type; /* the PTX type of a word */
    enum dtype dt;
};
enum { WORDS_MOST = 16 };
struct word_shape word_shape(enum dtype dt, int vec);
struct form access_shape(struct form f, enum ptype type, int nwords);
void set_guard(struct insn *in, struct opnd p); /* guards the instruction by p, if p is a register */
/* An i1 is a byte in memory; all other types have the same form in memory and in registers. join_elems
 * converts elements to their form in memory and joins them to a word. split_word splits a word into elements,
 * which still have their form in memory. from_memory converts one such element to its form in a register. */
struct opnd join_elems(struct select *s, const struct word_shape *a, const struct opnd *elems);
void split_word(struct select *s, const struct word_shape *a, struct opnd word, struct opnd *elems);
struct opnd from_memory(struct select *s, const struct word_shape *a, struct opnd x);

/* -- reduce.c, functions that other files use -- */
/* Applies the region of o, a reduction or scan, to a[] and b[], and stores the results in a[]. Both arrays
 * have one value for each operand of o. */
void select_combine(struct select *s, const struct op *o, struct opnd *a, const struct opnd *b);
/* Returns the mask of the bits of l's coordinates that belong to dimension `axis`. */
uint32_t coord_mask(const struct layout *l, int axis);

/* -- print.c -- */
void select_print(struct select *s, const struct op *o);
void select_failure(struct select *s, const struct op *o, struct opnd holds); /* for an assertion */

/* -- gather.c -- */
void select_shared_gather(struct select *s, const struct op *o);
void select_shared_count(struct select *s, const struct op *o);

/* -- convert.c, functions that other files use -- */
/* The start address of a buffer in shared memory, or of one of the stages (equal parts) of a buffer: a
 * register plus a constant number of bytes. */
struct place {
    struct opnd base;
    int64_t bytes;
};
struct place buffer_place(struct select *s, const struct value *buf);
struct opnd choose_elem(struct select *s, enum dtype dt, struct opnd c, struct opnd yes, struct opnd no);
/* Maps the elements that the threads hold in some layout to their addresses in a buffer in shared memory. */
struct buffer {
    struct place_map map; /* maps places (register, lane, warp) of the layout to offsets in elements */
    int elem_bytes, reg_bits;
    int64_t offset_bytes;
    uint32_t thread_mask;   /* the bits of byte offsets that depend on the thread */
    int reg_of[WORDS_MOST]; /* element i of the vector with first register r is in register r ^ reg_of[i] */
    int vector_bits;        /* mask of the bits of a register's number that number the elements of a vector */
    struct opnd smem;       /* register: the address of shared memory (plus the offset of a variable stage) */
    struct opnd thread;     /* the part of the byte offset that depends on the thread */
};
/* Computes how the threads address the elements of a tile with layout l in the buffer that is the first
 * operand of op o. */
struct buffer buffer_of(struct select *s, const struct op *o, const struct layout *l);
/* Returns the address in the buffer of the element that register `reg` of the tile holds. */
struct opnd buffer_address(struct select *s, const struct buffer *b, int reg);
/* Returns the value of x in another lane. `lane` is an XOR mask (mode bfly) or the lane's number (mode idx). */
struct opnd shuffle(struct select *s, enum mod mode, struct opnd x, struct opnd lane);

/* -- asm.c -- */
void select_asm(struct select *s, const struct op *o);

/* -- atomic.c -- */
void select_atomic(struct select *s, const struct op *o);
/* If the loop only repeats an atomic that releases, as a spin lock does, emits a fence that releases the
 * writes before the loop (see atomic.c). */
void select_release_before(struct select *s, const struct op *loop);

/* -- math.c, functions that other files use -- */
struct opnd select_frem(struct select *s, enum dtype dt, const struct opnd *x);

/* -- arith.c, functions that other files use -- */
struct opnd pred_not(struct select *s, struct opnd x);
enum mod rounding_mod(const struct op *o); /* the op's rounding mode; to nearest if the op has none */
enum mod flush_mod(const struct op *o);    /* MOD_ftz if the op flushes subnormal numbers */

#endif
