/* insns.h: tests of single PTX instructions: what a trial is, and the oracle's arithmetic.
 *
 *     trial    one kernel, its input, and what its output has to be, stated in C from the PTX ISA; it may hold many instructions
 *     check    the part of the output that one instruction makes
 *
 * A trial runs in the emulator and, on request, on the GPU: both have to give the stated results. Kernels
 * have the parameters p_in and p_out, then a tensor map p_map0, p_map1... for each that the trial has. */
#ifndef NESO_TESTS_GPU_INSNS_H
#define NESO_TESTS_GPU_INSNS_H

#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"

#define PARAM_WORD UINT64_C(0x8899aabbccddeeff) /* the parameter p_word of all kernels */
enum { TRIAL_MAPS = 4, NAME_BYTES = 96 };

/* How far a result may be from what is stated. */
enum closeness {
    CLOSE_bits,  /* not at all, but for which NaN comes of f64 */
    CLOSE_approx /* as the ISA bounds the function */
};

struct check {
    char name[NAME_BYTES];
    enum insn_code code;
    enum closeness closeness;
    struct form form; /* of CLOSE_approx, and where NaNs are told */
    size_t at,
        in_at; /* of the first element in the output; with has_operands, of its operands in the input */
    bool has_operands;    /* n of each, `stride` apart */
    int n, stride, bytes; /* elements, bytes between them, bytes that count */
};

struct trial {
    struct arena *arena;
    struct text ptx;
    int grid, threads, shared_bytes;
    enum error refusal; /* the error that the emulator reports where a GPU refuses the PTX; ERR_count: the PTX runs */
    size_t in_bytes, out_bytes;
    uint8_t *in, *want; /* want: also what the output holds before */
    int nmaps;
    struct packed_map maps[TRIAL_MAPS]; /* base: offset in the input, or with IN_OUTPUT, in the output */
    VEC(struct check) checks;
};
#define IN_OUTPUT (UINT64_C(1) << 40)

struct bench; /* where trials run, and what came of them */
/* A trial with zeroed input and an output of 0xee. */
struct trial *trial_new(struct bench *b, size_t in_bytes, size_t out_bytes);
struct check *trial_check(struct trial *t, enum insn_code code, size_t at, int n, int stride, int bytes,
                          const char *format, ...) PRINTF_LIKE(7, 8);
void trial_run(struct bench *b, struct trial *t);
/* A row that no trial tests. */
void bench_untested(struct bench *b, enum insn_code code, const char *why);

uint64_t random_bits(void);
/* Operand i: special values of the type first, then random ones. */
uint64_t operand_bits(enum ptype t, int i, int k);
/* "add.rn.f32" */
void form_spell(struct form f, char *out, size_t room);
/* The directives before a kernel's registers, with the registers that all kernels use: %in,
 * %out, %t (thread), %sm. */
void kernel_head(struct trial *t);
void kernel_head_with(struct trial *t, const char *directives);

/* -- insns_exact.c: floats as integers times powers of two -- */
__extension__ typedef unsigned __int128 wide;
struct real {
    bool nan, inf, minus, more; /* more: a little larger than m 2^e, by less than 2^e */
    wide m;
    int e;
};
struct real real_of(enum ptype t, uint64_t bits);
struct real real_of_integer(int64_t x, bool is_signed);
/* how: rn, rz, rm or rp, anything else is rn; finite: what is too large becomes the largest. */
uint64_t real_round(enum ptype t, struct real x, enum mod how, bool finite);
struct real real_add(struct real a, struct real b);
struct real real_mul(struct real a, struct real b);
struct real real_div(struct real a, struct real b);
struct real real_sqrt(struct real a);
struct real real_neg(struct real a);
/* To a whole number: rni, rzi, rmi, rpi. */
struct real real_whole(struct real x, enum mod how);
/* a < b: -1, a == b: 0, a > b: 1; with a NaN: 2. */
int real_compare(struct real a, struct real b);
double real_double(struct real x);
bool holds_float(enum ptype t);
bool holds_sign(enum ptype t);
/* One of a pair: f16 of f16x2, itself of fp8. */
enum ptype type_of_half(enum ptype t);
int type_bits(enum ptype t); /* of one element: 8 for fp8 pairs */

/* -- the trials -- */
void try_alu(struct bench *b);
void try_memory(struct bench *b);
void try_warp(struct bench *b);
void try_tensor(struct bench *b);
void try_tma(struct bench *b);

/* Copies by a map, in ways that differ by one thing each; false: there is none of that number. */
bool first_name(int i, char *out, size_t room);
void try_first(struct bench *b, int i);

#endif
