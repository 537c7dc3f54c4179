/* SPDX-License-Identifier: MIT */
/* registers.c: counts the registers that a tile occupies, and the registers that a thread can have. */
#include "ir/ir.h"

enum { REGISTER_BITS = 32, THREADS_PER_WARP = 32 };

int tile_regs(const struct type *t, int num_warps, int bits_least)
{
    const int own = type_elem_bits(t), bits = own > bits_least ? own : bits_least;
    if (t->kind == TY_tile && !t->layout)
        return (int)(type_elems(t) * bits / REGISTER_BITS / (THREADS_PER_WARP * num_warps));
    return tile_nregs(t) * bits / REGISTER_BITS;
}

int func_regs(const struct func *f, int threads, bool is_named)
{
    int regs = target_regs(f->target, threads);
    if (is_named && regs > f->target->regs_thread)
        regs = f->target->regs_thread;
    return f->maxnreg && f->maxnreg < regs ? f->maxnreg : regs;
}
