/* SPDX-License-Identifier: MIT */
/* engine.h: the engines that compute dots, as data. An engine is one kind of matrix instruction: its row says which
 * warps execute an instruction, where the instruction finds its operands and its accumulator, and how threads learn that
 * a dot is complete. Passes ask for these facts. Only an engine's own files know its instructions: wgmma.c for wgmma,
 * fragments.c for mma.sync. */
#ifndef NESO_IR_ENGINE_H
#define NESO_IR_ENGINE_H

#include "ir/target/fragments.h"
#include "ir/target/target.h"

/* Where an operand or an accumulator may be. */
enum { PLACE_registers = 1, PLACE_shared = 2, PLACE_tensor = 4 /* tensor memory */ };

/* The instruction and the layouts with which an engine computes a dot. */
struct mma_choice {
    const struct mma_engine *engine;
    const char *name;                /* the name of codegen's instruction */
    const struct fragment *fragment; /* the layouts of matrices in registers; NULL: layout_fma_acc, layout_fma_operand */
    struct warp_split split;
    const char *why_not; /* why the preferred engine does not compute the dot; NULL: it does */
};

struct mma_engine {
    const char *name;
    int warps;         /* the warps that execute an instruction together; 0: each thread computes its own elements */
    int rows, columns; /* of the accumulator of one instruction; a maximum */
    uint8_t holds[DOT_count]; /* the places where operand a, operand b and the accumulator may be */
    /* The bytes of elements whose buffer in shared memory may be contiguous along either dimension: the engine, or the
     * load to registers in front of it (ldmatrix), transposes them. Buffers of other elements must be contiguous along
     * K. */
    int either_major_bytes;
    /* Threads go on while the dot runs (mma_start), and wait for it later (mma_wait). Otherwise op `dot` computes the
     * dot, and its result is there in program order. */
    bool is_async;
    /* Sets name, fragment and split. Returns NULL, or the reason why the engine cannot compute the dot; operands may
     * already be buffers. rows_first: see warp_split_for. */
    const char *(*choose)(struct mma_choice *c, const struct op *dot, bool rows_first);
};

extern const struct mma_engine mma_engines[ENGINE_count];

/* Chooses the target's last engine that can compute the dot; fma can compute all. With `fits` false, operands do not fit
 * into shared memory, and no asynchronous engine is chosen. */
struct mma_choice mma_choose(const struct op *dot, bool fits, bool rows_first);
/* The target's last engine that is asynchronous or not; NULL: there is none. */
const struct mma_engine *target_engine(const struct target *t, bool is_async);
/* The rows x columns x bytes of K that the target's engine multiplies in a cycle. */
int target_rate(const struct target *t, const struct mma_engine *e);

#endif
