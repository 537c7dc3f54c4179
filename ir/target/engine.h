/* SPDX-License-Identifier: MIT */
/* engine.h: describes, as data, the engines that compute dots. An engine is one kind of matrix instruction. The
 * engine's row in mma_engines says which warps execute an instruction, where the instruction reads its operands and
 * keeps its accumulator, and whether the instruction runs asynchronously. Passes read these facts. Only
 * wgmma.c knows the instructions of wgmma, and only fragments.c the instructions of mma.sync. */
#ifndef NESO_IR_ENGINE_H
#define NESO_IR_ENGINE_H

#include "ir/target/fragments.h"
#include "ir/target/target.h"

/* The places where an operand or an accumulator may be. */
enum { PLACE_registers = 1, PLACE_shared = 2, PLACE_tensor = 4 /* tensor memory */ };

/* The instruction and the layouts with which an engine computes a dot. */
struct mma_choice {
    const struct mma_engine *engine;
    const char *name;                /* the name of the instruction in codegen/insns.h */
    /* the layouts of operands in registers; NULL: layout_fma_acc and layout_fma_operand compute them */
    const struct fragment *fragment;
    struct warp_split split;
    /* the reason why the fastest engine (the last in mma_engines) cannot compute the dot; NULL: the fastest
     * engine can */
    const char *why_not;
};

struct mma_engine {
    const char *name;
    /* number of warps that execute an instruction together; 0: each thread computes its own elements */
    int warps;
    int rows, columns; /* maximum size of the accumulator of one instruction */
    uint8_t holds[DOT_count]; /* where operand a, operand b and the accumulator may be (PLACE_ bits) */
    /* The size, in bytes, of the elements that the engine, or the ldmatrix that loads its operands, can
     * transpose. A buffer of elements of this size in shared memory may be contiguous along either dimension;
     * other buffers must be contiguous along K. 0: the engine can transpose none. */
    int either_major_bytes;
    /* If true, op mma_start starts the dot, threads continue while the dot runs, and op mma_wait waits for
     * the result. If false, op `dot` computes the dot, and the ops that follow can use the result. */
    bool is_async;
    /* Sets name, fragment and split of *c; c->engine is set already. Returns NULL, or the reason why the
     * engine cannot compute the dot. The dot's operands may already be buffers. rows_first: see
     * warp_split_for. */
    const char *(*choose)(struct mma_choice *c, const struct op *dot, bool rows_first);
};

extern const struct mma_engine mma_engines[ENGINE_count];

/* Chooses the target's fastest engine that can compute the dot; fma can compute every dot. If `fits` is false, the
 * operands do not fit into shared memory, and the function chooses no asynchronous engine. */
struct mma_choice mma_choose(const struct op *dot, bool fits, bool rows_first);
/* Returns the target's fastest asynchronous engine if is_async is true, else its fastest synchronous engine.
 * Returns NULL if the target has no such engine. */
const struct mma_engine *target_engine(const struct target *t, bool is_async);
/* Returns the number of rows x columns x bytes of K that the engine multiplies per cycle on the target; 0 if the
 * target lacks the engine. */
int target_rate(const struct target *t, const struct mma_engine *e);

#endif
