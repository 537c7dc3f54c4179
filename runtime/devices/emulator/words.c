/* SPDX-License-Identifier: MIT */
/* words.c: checks that the words after a mnemonic (modifiers and types) form a valid variant of the
 * instruction, in a valid order (PTX ISA, section "Syntax" of each instruction).
 *
 *     ld.acquire.gpu.global.b32        acquire, gpu, global, b32 match a row of `ld`
 *     ld.global.acquire.gpu.b32        matches no row: assemblers and the emulator reject it
 *
 * A row is an ordered list of slots, separated by blanks. A slot lists alternative words, separated by |. An
 * instruction has exactly one of these words; if the slot ends in ?, it has at most one. An instruction may have
 * several rows; an instruction without rows has no words after its mnemonic. The rows list the forms that the
 * emulator supports, which are a subset of PTX. */
#include "runtime/devices/emulator/machine.h"

#include <string.h>

#define INTS "u16|u32|u64|s16|s32|s64"
#define NARROW_INTS "u16|u32|s16|s32"
#define BYTES_AND_INTS "u8|s8|" INTS
#define BITS "b16|b32|b64"
#define HALVES "f16|bf16|f16x2|bf16x2"
#define STORED "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"
#define VALUES BITS "|" INTS "|f32|f64"
#define ROUND "rn|rz|rm|rp"
#define ROUND_INT "rni|rzi|rmi|rpi"
#define ORDER "eq|ne|lt|le|gt|ge"
#define SCOPE "cta|cluster|gpu|sys"
#define SHARED "shared|shared::cta|shared::cluster"
#define OWN_SHARED "shared|shared::cta"
#define HINT "L2::cache_hint? "
#define VECTOR "v2|v4? "
/* Defines the rows of atom or red. `head` has the slots that precede the operation and its type. */
#define ATOMICS(code, head)                                                                                  \
    {code, head "add u32|s32|u64|f32|f64"}, {code, head "add noftz f16|bf16"},                               \
        {code, head "min|max u32|s32|u64|s64"}, {code, head "inc|dec u32"},                                  \
    {                                                                                                        \
        code, head "and|or|xor b32|b64"                                                                      \
    }

static const struct words {
    uint8_t code;
    const char *slots;
} rows[] = {
    {INSN_mov, "pred|" VALUES},
    {INSN_pack, "b32|b64"},
    {INSN_unpack, "b32|b64"},
    {INSN_selp, VALUES},
    {INSN_cvt, BYTES_AND_INTS " " BYTES_AND_INTS},
    {INSN_cvt, ROUND_INT " " BYTES_AND_INTS " f16|f32|f64"},
    {INSN_cvt, ROUND_INT " " INTS " bf16"},
    {INSN_cvt, ROUND " f16|f32|f64 " BYTES_AND_INTS},
    {INSN_cvt, ROUND " bf16 " INTS},
    {INSN_cvt, "f32 f16|bf16"},
    {INSN_cvt, "f64 f16|bf16|f32"},
    {INSN_cvt, ROUND " ftz? f32 f64"},
    {INSN_cvt, "rn|rz f16|bf16 f32"},
    {INSN_cvt, ROUND " f16|bf16 f64"},
    {INSN_cvt, ROUND_INT " f16 f16"},
    {INSN_cvt, ROUND_INT " ftz? f32 f32"},
    {INSN_cvt, ROUND_INT " f64 f64"},
    {INSN_cvt, "rn f16x2 e4m3x2|e5m2x2"},
    {INSN_cvt2, "rn|rz f16x2|bf16x2 f32"},
    {INSN_cvt2, "rn satfinite e4m3x2|e5m2x2 f32"},
    {INSN_createpolicy, "L2::evict_first|L2::evict_last b64"},

    {INSN_add, INTS},
    {INSN_add, ROUND "? ftz? f32"},
    {INSN_add, "rn sat f32"},
    {INSN_add, ROUND "? f64"},
    {INSN_add, "rn? " HALVES},
    {INSN_sub, INTS},
    {INSN_sub, ROUND "? ftz? f32"},
    {INSN_sub, ROUND "? f64"},
    {INSN_sub, "rn? " HALVES},
    {INSN_mul, ROUND "? ftz? f32"},
    {INSN_mul, ROUND "? f64"},
    {INSN_mul, "rn? " HALVES},
    {INSN_fma, ROUND " ftz? f32"},
    {INSN_fma, "rn sat f32"},
    {INSN_fma, ROUND " f64"},
    {INSN_fma, "rn " HALVES},
    {INSN_mul_lo, INTS},
    {INSN_mul_hi, INTS},
    {INSN_mul_wide, NARROW_INTS},
    {INSN_mad_lo, INTS},
    {INSN_mad_wide, NARROW_INTS},
    {INSN_div, INTS},
    {INSN_div, "full f32"},
    {INSN_div, ROUND " ftz? f32"},
    {INSN_div, ROUND " f64"},
    {INSN_rem, INTS},
    {INSN_min, INTS "|f64"},
    {INSN_min, "NaN? f32|" HALVES},
    {INSN_max, INTS "|f64"},
    {INSN_max, "NaN? f32|" HALVES},
    {INSN_neg, "s16|s32|s64|f32|f64|" HALVES},
    {INSN_abs, "s16|s32|s64|f32|f64|" HALVES},
    {INSN_and, "pred|" BITS},
    {INSN_or, "pred|" BITS},
    {INSN_xor, "pred|" BITS},
    {INSN_not, "pred|" BITS},
    {INSN_shl, BITS},
    {INSN_shr, BITS "|" INTS},
    {INSN_shf_l, "b32"},
    {INSN_prmt, "b32"},
    {INSN_setp, "eq|ne " BITS},
    {INSN_setp, ORDER " " INTS},
    {INSN_setp, ORDER "|neu|nan|num f16|bf16|f32|f64"},
    {INSN_setp_and, "eq|ne and " BITS},
    {INSN_setp_and, ORDER " and " INTS},
    {INSN_setp_and, ORDER "|neu|nan|num and f16|bf16|f32|f64"},
    {INSN_sqrt, "approx ftz? f32"},
    {INSN_sqrt, ROUND " ftz? f32"},
    {INSN_sqrt, ROUND " f64"},
    {INSN_rcp, "approx ftz? f32"},
    {INSN_rsqrt, "approx ftz? f32"},
    {INSN_ex2, "approx ftz? f32"},
    {INSN_lg2, "approx ftz? f32"},

    {INSN_ld,
     "global? ca|cg|cs|cv|L1::evict_first|L1::evict_last? " HINT "L2::64B|L2::128B|L2::256B? " VECTOR STORED},
    {INSN_ld, OWN_SHARED "|local " VECTOR STORED},
    {INSN_ld, "volatile global|" OWN_SHARED "? " VECTOR STORED},
    {INSN_ld, "relaxed|acquire " SCOPE " global|" OWN_SHARED "? " VECTOR STORED},
    {INSN_ld_param, STORED},
    {INSN_st, "global? wb|cg|cs|wt|L1::evict_first|L1::evict_last? " HINT VECTOR STORED},
    {INSN_st, OWN_SHARED "|local " VECTOR STORED},
    {INSN_st, "volatile global|" OWN_SHARED "? " VECTOR STORED},
    {INSN_st, "relaxed|release " SCOPE " global|" OWN_SHARED "? " VECTOR STORED},
#define HEAD "relaxed|acquire|release|acq_rel? " SCOPE "? global|" OWN_SHARED "? "
    ATOMICS(INSN_atom, HEAD),
    {INSN_atom, HEAD "exch b32|b64"},
    {INSN_atom, HEAD "cas b16|b32|b64"},
#undef HEAD
    ATOMICS(INSN_red, "relaxed|release? " SCOPE "? global|" OWN_SHARED "? "),
    {INSN_red, "relaxed|release? " SCOPE "? global? add v2|v4 f32"},

    {INSN_shfl, "bfly|idx b32"},
    {INSN_redux, "add|min|max u32|s32"},
    {INSN_redux, "and|or|xor b32"},
    {INSN_barrier, "aligned?"},
    {INSN_cluster_arrive, "release|relaxed? aligned?"},
    {INSN_cluster_wait, "acquire? aligned?"},
    {INSN_vote, "all|any|uni pred"},
    {INSN_vote, "ballot b32"},
    {INSN_activemask, "b32"},
    {INSN_setmaxnreg_inc, "u32"},
    {INSN_setmaxnreg_dec, "u32"},
    {INSN_cvta, "to? global|local|param|" SHARED " u64"},
    {INSN_mapa, "u32|u64"},
    {INSN_ldmatrix, "x1|x2|x4 trans? " OWN_SHARED "? b16"},
    {INSN_stmatrix, "x1|x2|x4 trans? " OWN_SHARED "? b16"},
    {INSN_bra, "uni?"},
    {INSN_ret, "uni?"},

    {INSN_cp_async, "ca|cg " OWN_SHARED " global " HINT "L2::64B|L2::128B|L2::256B?"},
    {INSN_cp_async_arrive, OWN_SHARED "? b64"},
    {INSN_mbarrier_init, OWN_SHARED "? b64"},
    {INSN_mbarrier_arrive, SHARED "? b64"},
    {INSN_mbarrier_arrive, "release|relaxed cta|cluster " SHARED "? b64"},
    {INSN_mbarrier_arrive_tx, SHARED "? b64"},
    {INSN_mbarrier_arrive_tx, "release|relaxed cta|cluster " SHARED "? b64"},
    {INSN_mbarrier_try_wait, OWN_SHARED "? b64"},
    {INSN_mbarrier_try_wait, "acquire|relaxed cta|cluster " OWN_SHARED "? b64"},
    {INSN_mbarrier_test_wait, OWN_SHARED "? b64"},
    {INSN_mbarrier_test_wait, "acquire|relaxed cta|cluster " OWN_SHARED "? b64"},
    {INSN_fence, "sc|acq_rel? " SCOPE},
    {INSN_fence_async, "global|shared::cta|shared::cluster?"},
    {INSN_tma_load, "multicast::cluster? L2::cache_hint?"},
    {INSN_tma_store, "L2::cache_hint?"},
    {INSN_bulk_load, "multicast::cluster? L2::cache_hint?"},
    {INSN_bulk_prefetch, "L2::cache_hint?"},
};

/* Returns whether the word is one of the slot's alternatives. */
static bool is_in(const char *slot, size_t slot_bytes, const char *word, size_t bytes)
{
    for (const char *s = slot, *end = slot + slot_bytes; s < end; s++) {
        size_t n = 0;
        while (s + n < end && s[n] != '|')
            n++;
        if (n == bytes && memcmp(s, word, n) == 0)
            return true;
        s += n;
    }
    return false;
}

/* Returns whether the words from s to `end`, with a dot before each word, match the row. A word that matches
 * an optional slot always fills this slot. This is correct because no row of the table needs backtracking. */
static bool fits(const char *slots, const char *s, const char *end)
{
    while (*slots) {
        size_t n = strcspn(slots, " "), bytes = 0;
        bool optional = slots[n - 1] == '?';
        while (s < end && s + 1 + bytes < end && s[1 + bytes] != '.')
            bytes++;
        if (bytes && is_in(slots, n - optional, s + 1, bytes))
            s += 1 + bytes;
        else if (!optional)
            return false;
        slots += n + (slots[n] == ' ');
    }
    return s == end;
}

bool emu_words_fit(int code, const char *s, const char *end)
{
    bool has_row = false;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        has_row |= rows[i].code == code;
        if (rows[i].code == code && fits(rows[i].slots, s, end))
            return true;
    }
    return !has_row && s == end;
}
