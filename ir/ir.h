/* SPDX-License-Identifier: MIT */
/* ir.h: defines the tile IR: types, values, ops, functions and modules. The header first defines the
 * structures of the IR, and then declares the functions of ir/, grouped by the file that defines them.
 *
 * The IR is in SSA form with structured control flow: an op has operands, results, attributes, a source
 * location, and regions; a region is one block, and blocks have arguments. There is no phi and no jump. A
 * value is a scalar, a pointer, a tile (an array of constant shape, whose elements the threads of a program
 * hold in registers) or a buffer in shared memory. A function is at one of three degrees of detail:
 *
 *     traced      tiles have no layout
 *     laid_out    every tile has a layout, which assigns its elements to registers; the op `convert` changes
 *                 a layout
 *     scheduled   shared memory, barriers and vector widths are explicit; codegen accepts only this degree
 *
 * The module's arena holds all IR. Passes allocate temporary data in the module's scratch arena, which opt's
 * driver resets after each pass.
 *
 * The files of ir/ in reading order: ops.h (the table of ops), type.c (types and tables), build.c (making and
 * changing ops), walk.c (questions about uses, dominance and effects), rules.c and verify.c (which IR is valid),
 * print.c and parse.c (the text form), scalar*.c (what one element of each op computes), plan.h (tensor maps and
 * guards of a launch), params.h (thresholds of optimizations). layout/ holds the algebra of layouts, target/ the
 * GPUs as data, support/ arenas, maps, text buffers and diagnostics. */
#ifndef NESO_IR_IR_H
#define NESO_IR_IR_H

#include "ir/support/arena.h"
#include "ir/support/diag.h"
#include "ir/layout/layout.h"
#include "ir/support/map.h"
#include "ir/params.h"
#include "ir/plan.h"
#include "ir/target/target.h"
#include "ir/support/text.h"
#include "ir/support/vec.h"

#include <stdbool.h>
#include <stdint.h>

/* -- types -- */

/*    word  bits bytes kind   tl's name */
#define DTYPES(X) \
    X(i1,    1, 1, int,   "int1") \
    X(i8,    8, 1, int,   "int8") \
    X(i16,  16, 2, int,   "int16") \
    X(i32,  32, 4, int,   "int32") \
    X(i64,  64, 8, int,   "int64") \
    X(f8e4,  8, 1, float, "fp8e4nv") \
    X(f8e5,  8, 1, float, "fp8e5") \
    X(f16,  16, 2, float, "fp16") \
    X(bf16, 16, 2, float, "bf16") \
    X(f32,  32, 4, float, "fp32") \
    X(f64,  64, 8, float, "fp64")

enum dtype {
#define X(word, bits, bytes, kind, name) DT_##word,
    DTYPES(X)
#undef X
    DT_count
};

enum dtype_kind { DTYPE_int, DTYPE_float };

struct dtype_info {
    const char *word; /* the element type in the IR's text */
    int bits, bytes;  /* an i1 has 1 bit, and occupies 1 byte in memory */
    enum dtype_kind kind;
    const char *name; /* the element type in Triton's language */
};
extern const struct dtype_info dtype_info[DT_count];

enum space { SPACE_global, SPACE_shared };
enum type_kind { TY_scalar, TY_ptr, TY_tile, TY_shared };

/* Types are interned in the module: equal types are equal pointers. */
struct type {
    enum type_kind kind;
    enum dtype dtype;         /* of a scalar */
    enum space space;         /* of a ptr: the address space */
    /* of a ptr: the pointee; of a tile: a scalar or ptr; of a buffer (TY_shared): a scalar */
    const struct type *elem;
    int rank;                 /* of a tile or buffer: at least 1 */
    int shape[RANK_MAX];
    /* Interned (layout_intern). Of a tile: maps registers to elements; NULL while the function is traced. Of
     * a buffer: maps offsets to elements. */
    const struct layout *layout;
    /* Of a buffer: the number of its stages, at least 1. Each stage has room for one tile of `shape`; a
     * software pipeline uses one stage after the other. The stages are consecutive in memory. */
    int nstages;
};

/* -- values and ops -- */

struct value;
struct op;
struct block;
struct func;

/* One operand: an entry in its value's list of uses. */
struct use {
    struct value *value; /* NULL: an optional operand that is absent */
    struct op *user;
    struct use *next, **prev;
};

struct value {
    const struct type *type;
    const char *name; /* without '%'; unique in the function; taken from the user's variable if possible */
    struct op *def;      /* the op that defines the value; NULL: the value is a block argument */
    struct block *block; /* the block that defines the value */
    int index;           /* the value is result or argument number `index` */
    struct use *uses;
    void *scratch; /* data that the running pass attaches; NULL when a pass starts */
};

enum opcode {
#define OP(name, operands, results, regions, attributes, family, traits, rule, meaning) OP_##name,
#include "ir/ops.h"
#undef OP
    OP_count
};

enum attr_key {
#define ATTR(word, kind, dflt, meaning) ATTR_##word,
#include "ir/ops.h"
#undef ATTR
    ATTR_count
};

/* Kinds of attribute values. In the IR's text, the form of a `bits` value depends on the type of the op's
 * result. `bits` and `index` values are printed even if they equal the default. The kinds in the second row
 * of the enum have words as values; the list WORDS_<kind> below contains the words of a kind. */
enum attr_kind {
    ATTRK_int, ATTRK_index, ATTRK_bits, ATTRK_list, ATTRK_str,
    ATTRK_pred, ATTRK_cache, ATTRK_evict, ATTRK_round, ATTRK_sem, ATTRK_scope, ATTRK_rmw, ATTRK_prec
};

/* The words of each kind of attribute. The first word of each list is the default, which the text omits. */
#define WORDS_pred(X)  X(eq) X(ne) X(slt) X(sle) X(sgt) X(sge) X(ult) X(ule) X(ugt) X(uge) X(lt) X(le) X(gt) X(ge)
#define WORDS_cache(X) X(none) X(ca) X(cg) X(cs) X(cv) X(wb) X(wt)
#define WORDS_evict(X) X(normal) X(first) X(last)
#define WORDS_round(X) X(none) X(rn) X(rz) X(rd) X(ru) X(rn_ftz) X(rz_ftz) X(rd_ftz) X(ru_ftz)
#define WORDS_sem(X)   X(acq_rel) X(acquire) X(release) X(relaxed)
#define WORDS_scope(X) X(gpu) X(cta) X(sys)
#define WORDS_rmw(X)   X(add) X(maxs) X(maxu) X(mins) X(minu) X(and) X(or) X(xor) X(xchg) X(fadd) X(fmax) X(fmin)
#define WORDS_prec(X)  X(tf32) X(tf32x3) X(ieee) X(bf16x3) X(bf16x6)

enum pred {
#define X(w) PRED_##w,
    WORDS_pred(X) PRED_count };
enum cache { 
#undef X
#define X(w) CACHE_##w,
    WORDS_cache(X) CACHE_count };
enum evict {
#undef X
#define X(w) EVICT_##w,
    WORDS_evict(X) EVICT_count };
enum rounding {
#undef X
#define X(w) ROUND_##w,
    WORDS_round(X) ROUND_count };
enum sem {
#undef X
#define X(w) SEM_##w,
    WORDS_sem(X) SEM_count };
enum mem_scope {
#undef X
#define X(w) SCOPE_##w,
    WORDS_scope(X) SCOPE_count };
enum rmw {
#undef X
#define X(w) RMW_##w,
    WORDS_rmw(X) RMW_count };
enum prec {
#undef X
#define X(w) PREC_##w,
    WORDS_prec(X) PREC_count };
#undef X

/* A rounding mode with suffix _ftz (f32 only) rounds as the mode without the suffix, but reads subnormal operands
 * as zero and flushes subnormal results to zero. */
static inline bool round_flushes(enum rounding r) { return r >= ROUND_rn_ftz; }
static inline enum rounding round_mode(enum rounding r)
{
    return round_flushes(r) ? (enum rounding)(r - ROUND_rn_ftz + ROUND_rn) : r;
}

struct attr {
    enum attr_key key;
    int n;           /* of a list: its length; of a str: its length in bytes */
    /* the value of an attribute that is neither a list nor a str. If the kind is bits, an integer is
     * sign-extended, and the bits of a float are zero-extended. */
    int64_t i;
    const int *list;
    const char *s;
};

struct op {
    enum opcode code;
    struct loc loc;
    struct block *block;
    struct op *prev, *next;
    int nopnds, nresults, nregions, nattrs;
    struct use *opnds;
    struct value *results; /* never moves, since uses point to results */
    struct block **regions;
    struct attr *attrs; /* attributes, sorted by key */
};

struct block {
    struct func *func;
    struct op *parent; /* the op that has this block as a region; NULL: the block is the function's body */
    struct op *first, *last;
    VEC(struct value *) args;
};

enum degree { DEGREE_traced, DEGREE_laid_out, DEGREE_scheduled };

/* Properties of a parameter; params[i] belongs to body->args[i]. */
struct param {
    const char *name;
    int divisible; /* the value (of a pointer: the address in bytes) is a multiple of this; 1: unknown */
    bool is_const; /* a pointer through which the kernel only reads */
    bool is_unsigned; /* the signature spells this integer as unsigned */
    struct loc loc;
};

/* A kernel. Its text:
 *   kernel @add(%x: ptr<f32> {divisible=16}, %n: i32) warps=4 stages=3 target=sm_90a degree=laid_out shared=1024 {
 *     map #m0 = f16 base=[%p] extents=[%n, 64] strides=[128, 2] box=[64 64] swizzle=128
 *     guard [%n 1 -]
 *     layout #l0 = reg[1 2] lane[4 8 16 32 64] warp[128 256]
 *     %pid = program_id axis=0 : i32 @4:11
 *     ...
 *     return
 *   }
 */
struct func {
    struct module *module;
    const char *name;
    struct block *body;
    VEC(struct param) params;
    int num_warps, num_stages, num_ctas;
    /* The number of warps in addition to num_warps. They only copy data for the other warps (the producer
     * role of op `warps`). 0: the kernel has no roles. Set by opt. */
    int extra_warps;
    /* 0: each CTA runs one program; 1: each CTA loops over several programs; 2: as 1, and the run time may
     * differ between programs. Set by opt. */
    int persistent;
    int turned; /* 1: consecutive CTAs run programs that are consecutive along axis 1, not axis 0; set by opt */
    /* 0: a CTA runs one program at a time; n > 0: each program has one warp, and up to n programs share a
     * CTA; set by opt */
    int packs;
    /* CTAs may be launched in pairs (clusters of two) if pair_multiple divides the grid's size along axis 0
     * or, in a persistent kernel, the number of all programs. 0: never in pairs. Set by opt. */
    int pair_multiple;
    int maxnreg;      /* the user's limit on a thread's registers; 0: none */
    bool fp_fusion;   /* codegen may contract mul and add to fma */
    /* the order of additions in a sum must not depend on the grid, the number of warps or promises about the
     * arguments (fix_order.c) */
    bool deterministic;
    /* float operations may be reassociated, which changes rounding (keep_maximum.c) */
    bool fp_reassoc;
    const struct target *target;
    enum degree degree;
    int shared_bytes; /* bytes of dynamic shared memory; set by opt */
    VEC(struct tensor_map) maps; /* maps and guards are the launch plan (plan.h) */
    VEC(struct expr) guards;
    struct loc loc;   /* location of the kernel's `def` */
    struct map names; /* maps the base of value names (`x` of `x.1`) to the next free number */
};

struct module {
    struct arena *arena;   /* memory that lives as long as the module */
    struct arena *scratch; /* opt's driver resets this arena after each pass */
    struct diag *diag;
    struct interner strings;
    struct map types, layouts;
    VEC(struct func *) funcs;
    const struct opt_options *opt; /* set while opt runs, for opt_explain */
    const struct params *params;   /* thresholds of optimizations; never NULL */
    int64_t nops, ops_most; /* ops made so far, erased ones included, and their limit (0: none) */
};

enum trait {
    PURE = 1, COMMUTES = 2, ELEMENTWISE = 4, READS = 8, WRITES = 16, EFFECT = 32, TERMINATOR = 64, FREE = 128,
    COSTLY = 256, MULTIPLIES = 512
};

enum family {
    FAMILY_create, FAMILY_arith, FAMILY_math, FAMILY_cast, FAMILY_shape, FAMILY_memory, FAMILY_reduce, FAMILY_dot,
    FAMILY_control, FAMILY_debug, FAMILY_layout, FAMILY_async, FAMILY_count
};

struct op_info {
    const char *name;
    const char *operands, *results; /* operand and result names as in the table */
    uint64_t attrs; /* bit i: the op may carry attr_key i */
    uint16_t traits;
    uint8_t nregions;
    uint8_t family; /* enum family */
    /* Checks operands and attributes of `o`, and sets types[i] to the required type of result i. If the rule allows
     * several types, sets types[i] to NULL, and checks o->results[i].type if it is set. Returns NULL if `o` is valid,
     * else an error message in the module's arena. The builder calls the rule to infer types, and the
     * verifier calls it to check types. */
    const char *(*rule)(struct module *m, const struct op *o, const struct type **types);
};
extern const struct op_info op_info[OP_count];

struct attr_info {
    const char *word;
    enum attr_kind kind;
    int64_t dflt;
};
extern const struct attr_info attr_info[ATTR_count];
/* Returns the NULL-terminated list of the words of `kind`; NULL if the values of `kind` are not words. */
const char *const *attr_words(enum attr_kind kind);

/* Returns the thresholds of the module to which v (or o) belongs. */
static inline const struct params *value_params(const struct value *v)
{
    return v->block->func->module->params;
}
static inline const struct params *op_params(const struct op *o)
{
    return o->block->func->module->params;
}

/* -- registers.c -- */
/* Returns how many 32-bit registers of each thread hold the tile. A tile without a layout is divided equally among
 * the threads of the program's warps. Elements narrower than 32 bits are packed into registers, but an element
 * occupies at least bits_least bits. Callers pass 32 for values that arithmetic reads or accumulates, since
 * arithmetic needs each element in a register of its own. */
int tile_regs(const struct type *t, int num_warps, int bits_least);
/* Returns the most registers that a thread can have if `threads` threads share an SM; the result is never
 * more than the kernel's maxnreg. If is_named, the result is at most 255, because an instruction can name
 * only 255 registers; so it limits the live values of a thread. Otherwise the result is a thread's share of
 * the SM's registers, at most 256. */
int func_regs(const struct func *f, int threads, bool is_named);

/* -- type.c: types and tables -- */
void module_init(struct module *m, struct arena *arena, struct arena *scratch, struct diag *diag);
const struct type *type_scalar(struct module *m, enum dtype dtype);
const struct type *type_ptr(struct module *m, const struct type *elem, enum space space);
const struct type *type_tile(struct module *m, const struct type *elem, int rank, const int *shape,
                             const struct layout *l);
const struct type *type_shared(struct module *m, const struct type *elem, int rank, const int *shape,
                               const struct layout *l, int nstages);
const struct layout *layout_intern(struct module *m, const struct layout *l);
/* Returns the element type of a tile or buffer; returns t itself if t is a scalar or pointer. */
const struct type *type_elem(const struct type *t);
/* Each of the next three functions returns `t` with one change. type_with_elem replaces the element type, and
 * keeps shape and layout; it returns `elem` if t is a scalar or pointer. type_with_layout replaces the
 * layout; it returns t if t is a scalar or pointer. type_with_shape returns a tile of t's element type with
 * the given shape and without a layout; it returns t's element type itself if the rank is 0. */
const struct type *type_with_elem(struct module *m, const struct type *t, const struct type *elem);
const struct type *type_with_layout(struct module *m, const struct type *t, const struct layout *l);
const struct type *type_with_shape(struct module *m, const struct type *t, int rank, const int *shape);
int64_t type_elems(const struct type *t); /* elements of a tile or of one stage of a buffer; 1 for a scalar */
int type_elem_bytes(const struct type *t);
int type_elem_bits(const struct type *t);  /* bits of an element; 64 for a pointer */
int tile_nregs(const struct type *t);      /* elements of a tile that each thread holds; 1 for a scalar */
bool type_is_int(const struct type *t);    /* the type or its element is an integer, i1 included */
bool type_is_float(const struct type *t);
bool type_is_ptr(const struct type *t);
bool type_is_tile(const struct type *t);
bool type_same_shape(const struct type *a, const struct type *b);
/* Prints a type, for example `tile<512xf32,#l0>`. `layout_names` (may be NULL) maps layouts to names. A
 * layout in this map is printed as #name, any other layout in full within braces. */
void type_print(const struct type *t, struct text *out, const struct map *layout_names);
bool op_has(const struct op *o, unsigned traits); /* whether the op has all traits of the set */
enum opcode op_by_name(const char *name, size_t n); /* OP_count if there is no such op */
/* Sets *least and *most to the numbers of operands or results that the table allows; *most is INT_MAX if
 * there is no limit. `list` is op_info.operands or op_info.results. */
void arity_of(const char *list, int *least, int *most);

/* -- build.c: makes and changes ops, and keeps uses, names and locations consistent -- */
struct builder {
    struct func *func;
    struct block *block;
    struct op *before; /* new ops are inserted before this one; NULL: at the block's end */
    struct loc loc;
};
struct func *func_new(struct module *m, const char *name);
/* Overwrites `to` with a copy of `from`. The copy belongs to from's module, but is not added to the module's
 * list of functions. */
void func_copy(struct func *to, const struct func *from);
struct value *func_add_param(struct func *f, const struct type *t, struct param p);
struct block *block_new(struct func *f, struct op *parent);
struct value *block_add_arg(struct block *b, const struct type *t, const char *hint);
/* Returns an unused name: the base of the hint, followed by the next free number (hint, hint.1, ...). */
const char *func_name_value(struct func *f, const char *hint);
void value_rename(struct value *v, const char *hint);
/* Renames v to the name of `old`. The op that defined `old` must already be erased, because names are unique. */
void value_take_name(struct value *v, const struct value *old);
/* Sets the name of v to exactly `name`, which no other value may have. */
void value_set_name(struct value *v, const char *name);

struct builder build_at_end(struct block *b, struct loc loc);
struct builder build_before(struct op *o); /* new ops get o's source location */
struct builder build_after(struct op *o);
/* Builds any op. Absent optional operands are NULL; result_types[i] is the type of result i. */
struct op *build_op(struct builder *b, enum opcode code, int nopnds, struct value *const *opnds, int nresults,
                    const struct type *const *result_types, int nregions);
/* Each function from here to build_convert builds one op, and returns the op's result (build_store returns
 * the op, which has no result). If the op's rule infers the result type from the operands, the function has
 * no type parameter. */
struct value *build_unary(struct builder *b, enum opcode code, struct value *x);
struct value *build_binary(struct builder *b, enum opcode code, struct value *x, struct value *y);
struct value *build_fma(struct builder *b, struct value *x, struct value *y, struct value *z);
struct value *build_cmp(struct builder *b, enum pred pred, struct value *x, struct value *y);
struct value *build_select(struct builder *b, struct value *c, struct value *x, struct value *y);
struct value *build_addptr(struct builder *b, struct value *p, struct value *i);
/* Casts x to elements of type `elem`, in x's shape. */
struct value *build_cast(struct builder *b, enum opcode code, struct value *x, const struct type *elem);
/* Builds a constant of type t, a scalar or tile of integers. */
struct value *build_const_int(struct builder *b, const struct type *t, int64_t i);
/* Builds a constant of type t; rounds x to t's element type. */
struct value *build_const_float(struct builder *b, const struct type *t, double x);
struct value *build_const_bits(struct builder *b, const struct type *t, uint64_t bits);
struct value *build_const_i32(struct builder *b, int64_t i);
/* Builds an op without operands whose result is an i32: cta_count, cluster_rank, ... */
struct value *build_i32(struct builder *b, enum opcode code);
struct value *build_program_id(struct builder *b, int axis);
struct value *build_num_programs(struct builder *b, int axis);
struct value *build_range(struct builder *b, int start, int end);
struct value *build_splat(struct builder *b, struct value *x, int rank, const int *shape);
struct value *build_broadcast(struct builder *b, struct value *x, int rank, const int *shape);
struct value *build_expand_dims(struct builder *b, struct value *x, int axis);
struct value *build_reshape(struct builder *b, struct value *x, int rank, const int *shape);
struct value *build_trans(struct builder *b, struct value *x, const int *order);
struct value *build_load(struct builder *b, struct value *ptr, struct value *mask, struct value *other);
struct op *build_store(struct builder *b, struct value *ptr, struct value *value, struct value *mask);
struct value *build_convert(struct builder *b, struct value *x, const struct layout *l);
/* build_for, build_if and build_reduce build ops with regions. Each region of the new op has a block with its
 * arguments, but without ops. The caller builds these ops, and ends the block with build_yield or another
 * terminator. */
struct op *build_for(struct builder *b, struct value *lo, struct value *hi, struct value *step, int ninit,
                     struct value *const *init);
struct op *build_if(struct builder *b, struct value *c, int nresults, const struct type *const *types);
/* the region has 2n scalar arguments */
struct op *build_reduce(struct builder *b, int n, struct value *const *x, int axis);
struct op *build_yield(struct builder *b, int n, struct value *const *x);
struct op *build_condition(struct builder *b, struct value *c, int n, struct value *const *x);
struct op *build_return(struct builder *b);

/* Returns the attribute's value, or its default in the table if the op lacks the attribute. */
int64_t op_int(const struct op *o, enum attr_key key);
const struct attr *op_attr(const struct op *o, enum attr_key key); /* the attribute, or NULL if it is absent */
void op_set_int(struct op *o, enum attr_key key, int64_t i); /* also for words and bits */
void op_set_list(struct op *o, enum attr_key key, int n, const int *list);
void op_set_str(struct op *o, enum attr_key key, const char *s, int n);
void op_drop_attr(struct op *o, enum attr_key key);

struct value *op_opnd(const struct op *o, int i); /* NULL if operand i is absent or past the end */
/* Returns how many elements of `bits` bits share a register in inline assembly that processes `pack` elements at a
 * time. */
static inline int asm_elems_per_register(int bits, int pack)
{
    int most = bits < 32 ? 32 / bits : 1;
    return pack < most ? pack : most;
}
struct value *op_result(const struct op *o);      /* the first result of o */
void op_set_opnd(struct op *o, int i, struct value *v);
/* Replaces the whole operand list. */
void op_set_opnds(struct op *o, int n, struct value *const *opnds);
void value_replace(struct value *old, struct value *with); /* replaces all uses of `old`; the types must be equal */
void op_erase(struct op *o);   /* erases o and its regions; no result of o may have uses */
/* Makes b, a block without a parent (from block_new), region i of o. The region that b replaces must be empty. */
void op_set_region(struct op *o, int i, struct block *b);
void block_drop_arg(struct block *b, int i); /* the argument must have no uses */
void op_move_before(struct op *o, struct op *before);
void op_move_to_end(struct op *o, struct block *b);
/* Inserts a copy of o, with its regions, where the builder b inserts ops. `map` maps values to values: the copy
 * uses map[x] instead of operand x if x is a key of `map`. The function then maps each result of o to the
 * copy's result. */
struct op *op_clone(struct builder *b, const struct op *o, struct map *map);
/* Computes v again, with the value map[x] in place of each key x of `map`, and returns the new value: clones
 * the ops that compute v from the keys, and maps each result to its clone. Returns v itself if v depends on
 * no key. */
struct value *value_clone(struct builder *b, struct map *map, struct value *v);
/* Returns the map's value for v, or v itself if v is not a key of the map. */
struct value *value_mapped(const struct map *map, struct value *v);
/* Changes a value's type in place, for passes that assign layouts. */
void value_set_type(struct value *v, const struct type *t);

/* -- walk.c -- */
bool has_uses(const struct value *v);
int value_nuses(const struct value *v);
/* Returns whether the op and all ops in its regions are PURE; a `for` or an `if`, and their terminators,
 * count as pure. */
bool is_pure(const struct op *o);
/* Returns whether the op may be erased if its results are unused. Pure ops, loads that are not volatile, reads of
 * shared memory, and arrivals at barriers at which no thread waits may be erased. A `for` or an `if` may be erased if
 * all ops in its regions may be erased. */
bool is_removable(const struct op *o);
/* Returns whether the op may be an acquire: loads of the program that follow an acquire may see writes of
 * other programs, and must not move before it. Atomics, volatile loads (which may poll a flag), calls of the
 * host, and inline assembly that accesses memory may be acquires. */
bool op_may_acquire(const struct op *o);
/* Returns whether o is inline assembly that reads the number of the CTA or of the thread. In a kernel with an
 * op that reads these numbers, CTA i must run program i and no other. */
bool op_asks_for_cta(const struct op *o);
/* Returns whether the op, or an op in its regions, may write memory, acquire, or have another effect (barrier, ...). */
bool op_may_write(const struct op *o);
/* Returns whether the definition of v dominates `at`, so that `at` may use it. */
bool value_dominates(const struct value *v, const struct op *at);
/* Returns the op of block b that is `o` or contains `o` in its regions; NULL if `o` is NULL or not inside b. */
struct op *op_ancestor_in(struct op *o, const struct block *b);
/* Returns whether `o` is inside a region of `ancestor`, at any depth. */
bool op_is_inside(const struct op *o, const struct op *ancestor);
/* Returns whether `b` equals `outer`, or is inside a region of one of outer's ops, at any depth. */
bool block_is_inside(const struct block *b, const struct block *outer);
/* Returns whether v is defined outside every region of `loop`. */
bool value_is_outside(const struct value *v, const struct op *loop);
/* Returns the op that defines v if the op has opcode `code`; else, or if v is NULL or a block argument,
 * returns NULL. */
struct op *value_def_as(const struct value *v, enum opcode code);
/* Returns whether the region of a reduce or scan is known to be commutative: the region yields the same for
 * (a, b) as for (b, a). */
bool combines_either_way(const struct op *o);
/* Returns whether the result of a reduce or scan is known to be the same, bit for bit, in whatever order the
 * elements are combined. */
bool combines_in_any_order(const struct op *o);
/* Calls `visit` for every op in the order of the text: an op precedes the ops in its regions. The callback may
 * erase the op that it receives. */
void func_walk(struct func *f, void (*visit)(struct op *o, void *ctx), void *ctx);
void block_walk(struct block *b, void (*visit)(struct op *o, void *ctx), void *ctx);
/* Like block_walk, but visits the ops in the regions of an op before the op itself. The callback may also replace the
 * op that it receives; the walk does not visit the new ops. */
void block_walk_up(struct block *b, void (*visit)(struct op *o, void *ctx), void *ctx);
struct op *block_terminator(const struct block *b); /* NULL if the block is not terminated yet */
/* Sets the `scratch` of every value in the block and in nested regions to NULL. */
void block_clear_notes(struct block *b);
/* If v is a constant or a tile whose elements all equal one constant, stores the constant's bits and returns
 * true; else returns false. */
bool value_const_bits(const struct value *v, uint64_t *bits);
/* Like value_const_bits, but only for integers; sign-extends *i. */
bool value_const_int(const struct value *v, int64_t *i);

/* -- scalar.c: computes pure ops for n elements. Operands and results are arrays in the memory form of their type
 * (i1: bytes 0 and 1; f16, bf16 and fp8: their bits; others: C's types) -- */
/* x[0], x[1], ... are the operands. `type` is the dtype of the operands (for a select, the dtype of its
 * choices; for pointers, i64), and `to` is the result's dtype. The result must not overlap an operand. The
 * folder, the evaluator of constexprs and the interpreter call this function. The function returns false for
 * an op that is not elementwise, for addptr, and for a type that the op does not accept. */
bool scalar_eval(const struct op_info *info, enum opcode code, enum dtype type, enum dtype to, const struct attr *attrs,
                 int nattrs, int64_t n, void *result, const void *const *x);
/* The parts of scalar_eval for floats (scalar_float.c) and for casts (scalar_cast.c). `option` is the op's
 * attribute: a predicate, a rounding mode, or whether NaNs propagate. */
bool scalar_float(enum opcode code, enum dtype type, int64_t option, int64_t n, void *result, const void *const *x);
bool scalar_cast(enum opcode code, enum dtype from, enum dtype to, enum rounding round, int64_t n, void *result,
                 const void *x);

/* -- smallfloat.c: float formats for which C has no type. Conversions round to nearest even or, if `rz` is
 * true, toward zero -- */
float f16_to_float(uint16_t h);
uint16_t float_to_f16(float x, bool rz);
uint16_t double_to_f16(double x, bool rz);
float bf16_to_float(uint16_t h);
uint16_t float_to_bf16(float x, bool rz);
uint16_t double_to_bf16(double x, bool rz);
float f8e4_to_float(uint8_t h);
float f8e5_to_float(uint8_t h);
uint8_t double_to_f8e5(double x, bool rz);
float float_to_tf32(float x); /* truncates the mantissa to 10 bits */
/* double_to_bits rounds x to a float dtype and returns the bits; bits_to_double returns the value of the bits
 * of a float dtype. */
uint64_t double_to_bits(enum dtype dtype, double x);
double bits_to_double(enum dtype dtype, uint64_t bits);

/* -- print.c, parse.c: the text form; print(parse(print(x))) equals print(x), byte for byte -- */
void func_print(const struct func *f, struct text *out);
void module_print(const struct module *m, struct text *out);
/* Prints the op on one line, without its regions, for a message. */
void op_print(const struct op *o, struct text *out);
/* Adds the text's functions to m. If the text has errors, reports them to m->diag at places in `src`, adds no
 * function, and returns false. */
bool module_parse(struct module *m, const struct source *src);

/* -- verify.c -- */
/* Checks that f is valid IR for its degree of detail (traced, laid_out or scheduled): structure, dominance,
 * types by each op's rule, layouts. Returns NULL if f is valid; else returns the error, and sets *at to the
 * op that has the error (NULL: the error is not in an op). */
const char *func_verify(const struct func *f, const struct op **at);

#endif
