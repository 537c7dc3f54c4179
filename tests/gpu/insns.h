/* SPDX-License-Identifier: MIT */
/* insns.h: declares what the tests of single PTX instructions share: trials, checks, and the arithmetic that computes
 * expected results.
 *
 *     trial a kernel that tests instructions, its input, and its expected output, which C code computes by the rules
 *     of the PTX ISA
 *     check    the part of the output that one instruction computes
 *
 * A trial runs in the emulator and, on request, on the GPU: both must give the expected output. Kernels have the
 * parameters p_in, p_out and p_word, then the trial's tensor maps p_map0, p_map1, ... */
#ifndef NESO_TESTS_GPU_INSNS_H
#define NESO_TESTS_GPU_INSNS_H

#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"

#define PARAM_WORD UINT64_C(0x8899aabbccddeeff) /* the value of parameter p_word of all kernels */
enum { TRIAL_MAPS = 4, NAME_BYTES = 96 };

/* The way in which a result is compared with the expected result. */
enum closeness {
    CLOSE_bits,  /* equal bits, except that an f64 NaN may be any NaN */
    CLOSE_approx /* within the ISA's error bound for the function */
};

struct check {
    char name[NAME_BYTES];
    enum insn_code code;
    enum closeness closeness;
    struct form form; /* the instruction, for CLOSE_approx and for the comparison of NaNs */
    /* the offset of the first element in the output; if has_operands is true, the offset of the element's operands in
     * the input */
    size_t at, in_at;
    bool has_operands;    /* the operands of the elements are in the input: n of each operand, `stride` bytes apart */
    int n, stride, bytes; /* number of elements, distance between them, and number of compared bytes of each */
};

struct trial {
    struct arena *arena;
    struct text ptx;
    int grid, threads, shared_bytes;
    bool is_judged_by_emulator; /* the trial compares the GPU with the emulator, whose output is the expected output */
    enum error refusal; /* the error that the emulator must report for invalid PTX; ERR_count: the PTX is valid */
    size_t in_bytes, out_bytes;
    uint8_t *in, *want; /* the input; the expected output, which is also the output's initial contents */
    int nmaps;
    struct packed_map maps[TRIAL_MAPS]; /* `base` is an offset in the input, or, if IN_OUTPUT is set, in the output */
    VEC(struct check) checks;
};
#define IN_OUTPUT (UINT64_C(1) << 40)

struct bench; /* the state of the program that runs trials and records their results */
/* Returns a new trial, whose input is filled with zeros and whose output is filled with 0xee. */
struct trial *trial_new(struct bench *b, size_t in_bytes, size_t out_bytes);
struct check *trial_check(struct trial *t, enum insn_code code, size_t at, int n, int stride, int bytes,
                          const char *format, ...) PRINTF_LIKE(7, 8);
void trial_run(struct bench *b, struct trial *t);
/* Records why no trial tests a row of insns.h. */
void bench_untested(struct bench *b, enum insn_code code, const char *why);

/* Returns the number of random tiles that each trial of sums computes; 0 means a small default. */
int bench_tiles(const struct bench *b);
bool bench_wants(const struct bench *b, enum insn_code code);

uint64_t random_bits(void);
/* Returns the bits of operand number k of element number i, of type t. The first elements have special values of the
 * type, and the other elements have random values. */
uint64_t operand_bits(enum ptype t, int i, int k);
/* Prints a form as PTX: "add.rn.f32". */
void form_spell(struct form f, char *out, size_t room);
/* Prints the start of a kernel, with the registers that all kernels use: %in, %out, %t (the thread), %sm (shared
 * memory). */
void kernel_head(struct trial *t);
void kernel_head_with(struct trial *t, const char *directives);

/* -- insns_exact.c: floats as integers times powers of two -- */
__extension__ typedef unsigned __int128 wide;
struct real {
    bool nan, inf, minus, more; /* `more`: the absolute value is larger than m 2^e, by less than 2^e */
    wide m;
    int e;
};
struct real real_of(enum ptype t, uint64_t bits);
struct real real_of_integer(int64_t x, bool is_signed);
/* Rounds x to type t, in the direction `how`: rn, rz, rm or rp; any other modifier means rn. If `finite` is true,
 * numbers that are too large become the largest finite number. */
uint64_t real_round(enum ptype t, struct real x, enum mod how, bool finite);
struct real real_add(struct real a, struct real b);
struct real real_mul(struct real a, struct real b);
struct real real_div(struct real a, struct real b);
struct real real_sqrt(struct real a);
struct real real_neg(struct real a);
/* Rounds x to an integer, in the direction `how`: rni, rzi, rmi or rpi. */
struct real real_whole(struct real x, enum mod how);
/* Returns -1 if a < b, 0 if a == b, 1 if a > b, 2 if a or b is NaN. */
int real_compare(struct real a, struct real b);
double real_double(struct real x);
bool holds_float(enum ptype t);
bool holds_sign(enum ptype t);
/* Returns the element type of a packed type, such as f16 for f16x2; returns a pair of fp8 unchanged. */
enum ptype type_of_half(enum ptype t);
int type_bits(enum ptype t); /* the bits of one element: 8 for pairs of fp8 */

/* -- the trials -- */
void try_alu(struct bench *b);
void try_memory(struct bench *b);
void try_warp(struct bench *b);
void try_tensor(struct bench *b);
void try_tma(struct bench *b);
void try_sums(struct bench *b);

/* Sets `out` to the name of trial number i of `first`. The trials of `first` are copies through tensor maps at
 * different coordinates. Returns false if there is no such trial. */
bool first_name(int i, char *out, size_t room);
void try_first(struct bench *b, int i);

#endif
