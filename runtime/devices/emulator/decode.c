/* SPDX-License-Identifier: MIT */
/* decode.c: chooses the function that executes an instruction, and rejects forms that the emulator does not support. */
#include "runtime/devices/emulator/machine.h"

emu_compute *emu_find(const struct emu_row *rows, size_t n, int key, int type)
{
    for (size_t i = 0; i < n; i++)
        if (rows[i].key == key && rows[i].type == type)
            return rows[i].compute;
    return NULL;
}

static bool decode_compute(struct emu_insn *in, emu_compute *f)
{
    in->compute = f;
    in->run = emu_run_compute;
    return f != NULL;
}

/* Returns whether the emulator supports the state space of an access: the instruction names global, shared or
 * local memory, or it names no state space and has a generic address, of 64 bits. */
static bool has_space(const struct emu_insn *in)
{
    int n = emu_has_mod(in, MOD_global) + emu_has_mod(in, MOD_shared) + emu_has_mod(in, MOD_local);
    return n <= 1 && !emu_has_mod(in, MOD_const) && !emu_has_mod(in, MOD_param) &&
           (n == 1 || (in->has_address && in->opnds[in->address].cls == CLASS_b64));
}

static int vector_of(const struct emu_insn *in)
{
    return emu_has_mod(in, MOD_v4) ? 4 : emu_has_mod(in, MOD_v2) ? 2 : 1;
}

static bool decode_access(struct emu_insn *in)
{
    int vec = vector_of(in), braced = in->nvec ? in->nvec : 1;
    int others = 1 + emu_has_mod(in, MOD_l2_hint), bits = ptype_info[in->type].bits;
    in->run = in->code == INSN_ld ? emu_run_ld : emu_run_st;
    return has_space(in) && bits >= 8 && in->has_address && vec == braced && in->nopnds == vec + others &&
           vec * bits <= 128;
}

static bool decode_atomic(struct emu_insn *in)
{
    static const enum mod combines[] = {MOD_add, MOD_min, MOD_max, MOD_and,  MOD_or,
                                        MOD_xor, MOD_inc, MOD_dec, MOD_exch, MOD_cas};
    int known = 0;
    for (size_t i = 0; i < sizeof combines / sizeof *combines; i++)
        known += emu_has_mod(in, combines[i]);
    in->run = emu_run_atom;
    int vec = vector_of(in), braced = in->nvec ? in->nvec : 1;
    return has_space(in) && known == 1 && ptype_info[in->type].bits >= 16 && in->has_address &&
           vec == braced && in->nopnds == 1 + vec + (in->code == INSN_atom) + emu_has_mod(in, MOD_cas);
}

static bool decode_redux(struct emu_insn *in)
{
    static const uint64_t combines = 1ull << MOD_add | 1ull << MOD_min | 1ull << MOD_max | 1ull << MOD_and |
                                     1ull << MOD_or | 1ull << MOD_xor;
    in->run = emu_run_redux;
    return in->mods[0] < 64 && combines >> in->mods[0] & 1 && !in->mods[1] && ptype_info[in->type].bits == 32;
}

static bool decode_arithmetic(struct emu_insn *in)
{
    emu_compute *f = emu_arith(in);
    return decode_compute(in, f ? f : emu_float(in));
}

static int matrices_of(const struct emu_insn *in)
{
    return emu_has_mod(in, MOD_x4) ? 4 : emu_has_mod(in, MOD_x2) ? 2 : emu_has_mod(in, MOD_x1) ? 1 : 0;
}

bool emu_decode(struct emu_insn *in)
{
    switch (in->code) {
    case INSN_cvt:
    case INSN_cvt2: return decode_compute(in, emu_convert(in));
    case INSN_setp:
    case INSN_setp_and: return decode_compute(in, emu_compare(in));
    case INSN_pack: in->run = emu_run_pack; return in->nvec >= 2 && !in->mods[0];
    case INSN_unpack: in->run = emu_run_unpack; return in->nvec >= 2 && !in->mods[0];
    case INSN_createpolicy: in->run = emu_run_policy; return true;
    case INSN_ldmatrix:
        in->run = emu_run_ldmatrix;
        return in->has_address && in->type == PT_b16 && emu_has_mod(in, MOD_shared) &&
               in->nvec == matrices_of(in);
    case INSN_ld_param: in->run = emu_run_param; return in->has_address && ptype_info[in->type].bits >= 8;
    case INSN_ld:
    case INSN_st: return decode_access(in);
    case INSN_atom:
    case INSN_red: return decode_atomic(in);
    case INSN_shfl:
        in->run = emu_run_shfl;
        return (in->mods[0] == MOD_bfly || in->mods[0] == MOD_idx) && in->type == PT_b32;
    case INSN_redux: return decode_redux(in);
    case INSN_bra:
    case INSN_ret:
    case INSN_bar:
    case INSN_bar_arrive:
    case INSN_bar_warp:
    case INSN_cluster_arrive:
    case INSN_cluster_wait:
    case INSN_wgmma_wait:
    case INSN_mbarrier_try_wait:
    case INSN_trap: return true;
    case INSN_grid_wait:
    case INSN_grid_launch:
    case INSN_map_prefetch: in->run = emu_run_nothing; return true;
    case INSN_bulk_prefetch: in->run = emu_run_bulk_prefetch; return in->nopnds == 2;
    case INSN_assertfail: in->run = emu_run_assertfail; return in->nopnds == 5;
    case INSN_vprintf: in->run = emu_run_vprintf; return in->nopnds == 3;
    case INSN_vote: in->run = emu_run_vote; return in->nopnds == 3 && in->mods[0];
    case INSN_activemask: in->run = emu_run_activemask; return true;
    case INSN_elect: in->run = emu_run_elect; return in->nopnds == 2;
    case INSN_cvta:
    case INSN_mapa: return decode_compute(in, emu_address_compute(in));
    case INSN_stmatrix:
        in->run = emu_run_stmatrix;
        return in->has_address && in->type == PT_b16 && emu_has_mod(in, MOD_shared) &&
               in->nvec == matrices_of(in);
    case INSN_setmaxnreg_inc:
    case INSN_setmaxnreg_dec: return in->opnds[0].reg < 0;
    case INSN_mbarrier_init: in->run = emu_run_mbarrier_init; return in->nopnds == 2;
    case INSN_mbarrier_arrive:
    case INSN_mbarrier_arrive_tx: in->run = emu_run_mbarrier_arrive; return in->has_address;
    case INSN_mbarrier_test_wait: in->run = emu_run_mbarrier_test; return in->nopnds == 3;
    case INSN_fence:
    case INSN_fence_init:
    case INSN_fence_async: in->run = emu_run_fence; return true;
    case INSN_wgmma_fence: in->run = emu_run_wgmma_fence; return true;
    case INSN_wgmma_commit: in->run = emu_run_wgmma_commit; return true;
    case INSN_tma_load:
    case INSN_tma_store:
    case INSN_bulk_load:
    case INSN_bulk_commit:
    case INSN_bulk_wait:
    case INSN_bulk_wait_read: return emu_decode_bulk(in);
    case INSN_barrier: return !in->mods[0] || in->mods[0] == MOD_aligned;
    case INSN_cp_async: return emu_decode_cp_async(in);
    case INSN_cp_async_arrive: in->run = emu_run_cp_arrive; return in->has_address && in->nopnds == 1;
    case INSN_cp_async_commit: in->run = emu_run_cp_commit; return true;
    case INSN_cp_async_wait: in->run = emu_run_cp_wait; return in->opnds[0].reg < 0;
    default:
        if (emu_is_wgmma(in))
            return emu_decode_wgmma(in);
        in->run = emu_run_mma;
        return emu_is_mma(in) || decode_arithmetic(in);
    }
}
