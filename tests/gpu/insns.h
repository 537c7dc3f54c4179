/* insns.h: tests of single PTX instructions: trials, checks, and the arithmetic that computes expected results.
 *
 *     trial    one kernel, its input, and its expected output, computed in C from the PTX ISA; it may hold many instructions
 *     check    the part of the output that one instruction makes
 *
 * A trial runs in the emulator and, on request, on the GPU: both have to give the expected output. Kernels
 * have the parameters p_in and p_out, then a tensor map p_map0, p_map1... for each that the trial has. */
#ifndef NESO_TESTS_GPU_INSNS_H
#define NESO_TESTS_GPU_INSNS_H

#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"

#define PARAM_WORD UINT64_C(0x8899aabbccddeeff) /* the parameter p_word of all kernels */
enum { TRIAL_MAPS = 4, NAME_BYTES = 96 };

/* How far a result may be from the expected one. */
enum closeness {
    CLOSE_bits,  /* equal bits, except that an f64 NaN may be any NaN */
    CLOSE_approx /* within the ISA's error bound for the function */
};

struct check {
    char name[NAME_BYTES];
    enum insn_code code;
    enum closeness closeness;
    struct form form; /* for CLOSE_approx, and where the check recognizes NaNs */
    size_t at,
        in_at; /* of the first element in the output; with has_operands, of its operands in the input */
    bool has_operands;    /* n of each, `stride` apart */
    int n, stride, bytes; /* elements, bytes between them, bytes that count */
};

struct trial {
    struct arena *arena;
    struct text ptx;
    int grid, threads, shared_bytes;
    bool is_judged_by_emulator; /* nothing is stated: what the emulator gives is expected of the GPU */
    enum error refusal; /* the error that the emulator reports where a GPU refuses the PTX; ERR_count: the PTX runs */
    size_t in_bytes, out_bytes;
    uint8_t *in, *want; /* want: also what the output holds before */
    int nmaps;
    struct packed_map maps[TRIAL_MAPS]; /* base: offset in the input, or with IN_OUTPUT, in the output */
    VEC(struct check) checks;
};
#define IN_OUTPUT (UINT64_C(1) << 40)

struct bench; /* runs trials and records their results */
/* A trial with zeroed input and an output of 0xee. */
struct trial *trial_new(struct bench *b, size_t in_bytes, size_t out_bytes);
struct check *trial_check(struct trial *t, enum insn_code code, size_t at, int n, int stride, int bytes,
                          const char *format, ...) PRINTF_LIKE(7, 8);
void trial_run(struct bench *b, struct trial *t);
/* A row that no trial tests. */
void bench_untested(struct bench *b, enum insn_code code, const char *why);

/* How many tiles the trials of sums take; 0: few. */
int bench_tiles(const struct bench *b);

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
/* Rounds x to a whole number; how: rni, rzi, rmi, rpi. */
struct real real_whole(struct real x, enum mod how);
/* a < b: -1, a == b: 0, a > b: 1; with a NaN: 2. */
int real_compare(struct real a, struct real b);
double real_double(struct real x);
bool holds_float(enum ptype t);
bool holds_sign(enum ptype t);
/* The element type of a packed type: f16 for f16x2; an fp8 pair gives itself. */
enum ptype type_of_half(enum ptype t);
int type_bits(enum ptype t); /* of one element: 8 for fp8 pairs */

/* -- the trials -- */
void try_alu(struct bench *b);
void try_memory(struct bench *b);
void try_warp(struct bench *b);
void try_tensor(struct bench *b);
void try_tma(struct bench *b);
void try_sums(struct bench *b);

/* Copies by a map, each of which differs from the first in one respect; false: there is no number i. */
bool first_name(int i, char *out, size_t room);
void try_first(struct bench *b, int i);

#endif
