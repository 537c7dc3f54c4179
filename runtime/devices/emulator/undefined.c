/* SPDX-License-Identifier: MIT */
/* undefined.c: tracks undefined bits, which originate in registers and memory that were never written.
 *
 *     @%p1 ld.global.b32 %r1, [%rd1];      lanes without %p1: all bits of %r1 undefined
 *     add.f32 %f1, %r1, 1.0;               %f1 is undefined too: no error yet
 *     @%p1 st.global.f32 [%rd2], %f1;      only lanes with %p1 store: no error
 *
 * Compiled code may compute with undefined values if no observable result depends on them. The emulator therefore
 * propagates undefined bits, as memory checkers do. It reports undefined bits in values stored to global memory, in
 * values that atomics read or write, and in operands that control the execution: addresses, sizes, conditions, numbers
 * of lanes, and operands of synchronization. It also reports each read of a byte of shared memory that was never
 * written.
 *
 * Moves, logic instructions, shifts and prmt propagate undefined bits bit by bit, and instructions on
 * two packed floats propagate them for each float separately. Any other instruction has a wholly undefined
 * result if an operand has undefined bits. */
#include "runtime/devices/emulator/machine.h"

uint64_t emu_undefined_opnd(const struct emu_warp *w, const struct emu_opnd *o, int lane)
{
    if (o->reg < 0 || w->defined[o->reg] >> lane & 1)
        return 0;
    int bits = class_info[o->cls].bits;
    return w->undefined[o->reg][lane] & ~UINT64_C(0) >> (64 - bits);
}

static uint64_t shifted(const struct emu_insn *in, uint64_t undefined, uint64_t count)
{
    int bits = ptype_info[in->type].bits;
    uint64_t width = ~UINT64_C(0) >> (64 - bits);
    if (in->code == INSN_shl)
        return count >= (uint64_t)bits ? 0 : undefined << count & width;
    bool is_signed = ptype_info[in->type].kind == KIND_signed;
    uint64_t from = count >= (uint64_t)bits ? (uint64_t)bits - 1 : count;
    if (is_signed)
        return (uint64_t)((int64_t)(undefined << (64 - bits)) >> (64 - bits) >> from) & width;
    return count >= (uint64_t)bits ? 0 : undefined >> count;
}

static uint64_t permuted(uint64_t low, uint64_t high, uint64_t selector)
{
    uint64_t both = high << 32 | low, r = 0;
    for (int k = 0; k < 4; k++) {
        uint64_t digit = selector >> 4 * k & 15, byte = both >> 8 * (digit & 7) & 255;
        r |= (digit & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * k;
    }
    return r;
}

static uint64_t by_halves(uint64_t undefined)
{
    return (undefined & 0xffff ? 0xffff : 0) | (undefined & 0xffff0000 ? 0xffff0000 : 0);
}

static bool is_packed(enum ptype t)
{
    return t == PT_f16x2 || t == PT_bf16x2;
}

/* Returns a mask of the bits of a source register that an instruction of type t reads, for example the low 8 bits for
 * .u8. */
static uint64_t bits_read(enum ptype t)
{
    int bits = ptype_info[t].bits;
    return bits ? ~UINT64_C(0) >> (64 - bits) : ~UINT64_C(0);
}

uint64_t emu_undefined_result(const struct emu_warp *w, const struct emu_insn *in, int lane)
{
    uint64_t u[3] = {0}, x[3] = {0};
    for (int i = 0; i < 3 && i + 1 < in->nopnds; i++) {
        u[i] = emu_undefined_opnd(w, &in->opnds[i + 1], lane);
        x[i] = emu_lane(w, &in->opnds[i + 1], lane);
    }
    uint64_t any = u[0] | u[1] | u[2], all = ~UINT64_C(0);
    switch (insn_info[in->code].undefined) {
    case UNDEFINED_bits: return u[0] | u[1];
    case UNDEFINED_and: return (u[0] & u[1]) | (u[0] & x[1]) | (u[1] & x[0]);
    case UNDEFINED_or: return (u[0] & u[1]) | (u[0] & ~x[1]) | (u[1] & ~x[0]);
    case UNDEFINED_chosen: return u[2] ? all : x[2] ? u[0] : u[1];
    case UNDEFINED_and_also: return u[2] || (x[2] && any) ? all : 0;
    case UNDEFINED_shifted: return u[1] ? all : shifted(in, u[0], x[1]);
    case UNDEFINED_permuted: return u[2] ? all : permuted(u[0], u[1], x[2]);
    case UNDEFINED_pair:
        return (u[0] ? all << ptype_info[in->type].bits / 2 : 0) |
               (u[1] ? all >> (64 - ptype_info[in->type].bits / 2) : 0);
    case UNDEFINED_converted:
        if (is_packed(in->type))
            return (u[0] & 0xff00 ? 0xffff0000 : 0) | (u[0] & 0xff ? 0xffff : 0);
        return u[0] & bits_read(in->from) ? all : 0;
    case UNDEFINED_whole: break;
    }
    return is_packed(in->type) ? by_halves(any) : any ? all : 0;
}

void emu_need_defined(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, int bits,
                      uint32_t on, const char *what)
{
    for (uint32_t m = on & ~emu_defined(w, o); m; m &= m - 1) {
        int lane = emu_first_lane(m);
        if (emu_undefined_opnd(w, o, lane) & ~UINT64_C(0) >> (64 - bits))
            emu_fail(w, in, lane, ERR_emulator_undefined,
                     "%s depends on a register or on memory that was never written", what);
    }
}
