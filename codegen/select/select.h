/* select.h: what the files of instruction selection share.
 *
 * A tile is, in each thread, one operand per register of its layout (a scalar: one); a constant stays an
 * immediate until an instruction insists on a register. How element types live in registers:
 *
 *     i1              a predicate
 *     i8, f8e4, f8e5  16 bits, of which the upper 8 are anything: who needs them extends first
 *     i16, f16, bf16  16 bits
 *     i32; i64, ptr   32; 64 bits
 *     f32, f64        float registers
 */
#ifndef NESO_CODEGEN_SELECT_H
#define NESO_CODEGEN_SELECT_H

#include "codegen/mir.h"

struct select {
    struct mir *m;
    struct func *f;
    const struct target *target;
    struct diag *diag;
    struct ptx_info *info;
    struct mblock *b;     /* instructions go here */
    const struct op *op;  /* being selected */
    struct opnd thread;   /* of the program: %tid.x */
    struct opnd leader;   /* the first thread of one's warp, the same for all of it */
    struct opnd to_peer;  /* in a role: from here to the same place in the other program's shared memory, in bytes */
    int role;             /* 0: all threads are here; else the role, from 1 */
    struct opnd feeds;    /* in the feeder's warp, until it goes on alone: is this the thread that does? */
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
/* An instruction with one result, which is returned. */
struct opnd emit(struct select *s, struct form form, int n, const struct opnd *x);
struct opnd emit1(struct select *s, struct form form, struct opnd x);
struct opnd emit2(struct select *s, struct form form, struct opnd x, struct opnd y);
struct opnd emit3(struct select *s, struct form form, struct opnd x, struct opnd y, struct opnd z);
/* The same bits as a register of another class; of its own: x. */
struct opnd emit_bits(struct select *s, enum reg_class cls, struct opnd x);
/* Any other: operands with results first. */
struct insn *emit_insn(struct select *s, struct form form, int ndefs, int n, const struct opnd *x);
/* A jump that is taken if `when` (negated: if not; OPND_none: always), and its target, once that exists. */
struct insn *emit_jump(struct select *s, struct opnd when, bool negated);
void jump_to(struct insn *jump, const struct mblock *b);
void emit_mov(struct select *s, struct opnd to, struct opnd from);
/* The same value in a register. */
struct opnd in_reg(struct select *s, struct opnd x);
/* All at once, so that a source may be another's destination. */
void emit_moves(struct select *s, int n, const struct opnd *to, struct opnd *from);
/* XOR of basis[i] over the bits i that are set in the thread's index. */
struct opnd emit_thread_map(struct select *s, int nbits, const uint32_t *basis);
/* What each bit of a thread's number adds: lanes, then warps; returns how many. (shape.c) */
int layout_threads(const struct layout *l, uint32_t *basis);
/* A predicate: is this thread the one that writes elements laid out as `l`? Kind OPND_none where every
 * thread is. */
struct opnd emit_is_owner(struct select *s, const struct layout *l);
struct opnd pred_and(struct select *s, struct opnd x, struct opnd y); /* either may be OPND_none: true */

void emit_barrier(struct select *s); /* all threads of the role meet */

struct opnd *tile_of(struct select *s, const struct value *v); /* its registers */
struct opnd *tile_new(struct select *s, struct value *v);      /* to be filled */
const struct layout *tile_layout(const struct select *s, const struct type *t, struct layout *scalar);
enum dtype elem_dtype(const struct type *t); /* pointers: i64 */
double const_f32(const struct value *v);     /* NaN: it is no such constant */
#define FAR_FROM_TINY 0x1p-100 /* next to this and more, numbers below 2^-126 are nothing */

enum ptype dtype_ptype(enum dtype dt, enum reading r); /* floats: the float's type, or bits */
enum reg_class dtype_class(enum dtype dt);

struct opnd emit_special(struct select *s, int number); /* a special register, read: enum special, from it on along axes */

/* What a region's terminator yields, its ops having been selected in place; the block's arguments are set
 * before. */
const struct op *select_inline(struct select *s, struct block *b);
/* Where the language has it and this back end does not. */
_Noreturn void select_unsupported(struct select *s, const char *what);

/* -- one function a family; the elementwise ones give one element of the result -- */
struct opnd select_arith(struct select *s, const struct op *o, const struct opnd *x);
bool math_jumps(const struct op *o); /* by what its operands are */
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
/* The generic address of a tensor map, which is a parameter of the kernel. */
struct opnd tensor_map_address(struct select *s, int map);
void select_control(struct select *s, const struct op *o);
void select_debug(struct select *s, const struct op *o);

/* -- cast.c: used by others -- */
struct opnd widen_to_f32(struct select *s, enum dtype from, struct opnd x);
struct opnd narrow_from_f32(struct select *s, enum dtype to, struct opnd x, enum rounding round);
/* The bits above an i8's eight: copies of its sign, or zero; other types are as they should be. */
struct opnd extend_i8(struct select *s, enum dtype dt, struct opnd x, bool with_sign);

/* -- memory.c: used by others -- */
/* An access of `vec` neighbouring elements: nwords words of per_word elements each. */
struct word_shape {
    int vec, bits; /* of an element in memory */
    int nwords, per_word;
    enum ptype type; /* of a word */
    enum dtype dt;
};
enum { WORDS_MOST = 16 };
struct word_shape word_shape(enum dtype dt, int vec);
struct form access_shape(struct form f, enum ptype type, int nwords);
void set_guard(struct insn *in, struct opnd p); /* kind OPND_none: none */
/* A word from its elements; its elements; and each as it lives in a register. */
struct opnd join_elems(struct select *s, const struct word_shape *a, const struct opnd *elems);
void split_word(struct select *s, const struct word_shape *a, struct opnd word, struct opnd *elems);
struct opnd from_memory(struct select *s, const struct word_shape *a, struct opnd x);

/* -- reduce.c: used by others -- */
/* a = what the region of o makes of a and b, n values each. */
void select_combine(struct select *s, const struct op *o, struct opnd *a, const struct opnd *b);
/* The bits of a coordinate that are those of dimension `axis`. */
uint32_t coord_mask(const struct layout *l, int axis);

/* -- print.c -- */
void select_print(struct select *s, const struct op *o);
void select_failure(struct select *s, const struct op *o, struct opnd fails); /* of an assertion */

/* -- gather.c -- */
void select_shared_gather(struct select *s, const struct op *o);
void select_shared_count(struct select *s, const struct op *o);

/* -- convert.c: used by others -- */
/* Where a buffer, or one of its stages, begins in shared memory: a register (or $smem itself, moved to one)
 * that holds an address, and bytes to add to it. */
struct place {
    struct opnd base;
    int64_t bytes;
};
struct place buffer_place(struct select *s, const struct value *buf);
struct opnd choose_elem(struct select *s, enum dtype dt, struct opnd c, struct opnd yes, struct opnd no);
/* A buffer seen by threads that hold a tile in some layout. */
struct buffer {
    struct place_map map; /* from places of the layout to offsets in elements */
    int elem_bytes, reg_bits;
    int64_t offset_bytes;
    uint32_t thread_mask;   /* bits of byte offsets that depend on the thread */
    int reg_of[WORDS_MOST]; /* element i of the vector of register r is in register r ^ reg_of[i] */
    int vector_bits;        /* of registers: those that make the vector */
    struct opnd smem;       /* address of all buffers, or of a stage */
    struct opnd thread;     /* the thread's part of the offset */
};
/* How o, whose first operand is a buffer, finds the elements of a tile laid out as l, `vec` at once. */
struct buffer buffer_of(struct select *s, const struct op *o, const struct layout *l);
/* The address of register `reg`'s element. */
struct opnd buffer_address(struct select *s, const struct buffer *b, int reg);
/* x of another lane: by XOR (bfly) or by number (idx). */
struct opnd shuffle(struct select *s, enum mod mode, struct opnd x, struct opnd lane);

/* -- asm.c -- */
void select_asm(struct select *s, const struct op *o);

/* -- atomic.c -- */
void select_atomic(struct select *s, const struct op *o);

/* -- math.c: used by others -- */
struct opnd select_frem(struct select *s, enum dtype dt, const struct opnd *x);

/* -- arith.c: used by others -- */
struct opnd pred_not(struct select *s, struct opnd x);
enum mod rounding_mod(const struct op *o); /* the mode in which it rounds, to nearest where it says nothing */
enum mod flush_mod(const struct op *o);    /* MOD_ftz where it flushes subnormal numbers */

#endif
