/* SPDX-License-Identifier: MIT */
/* memory.c: executes ld, st, atom and red (PTX ISA, "Data Movement and Conversion Instructions: ld, st", "Parallel
 * Synchronization and Communication Instructions: atom, red"). Every address is checked before it is used. The whole
 * access, which may be a vector, must be inside one buffer of the device, or inside shared or local memory, and must be
 * aligned to its size. Cache hints and policies have no effect. */
#include "runtime/devices/emulator/machine.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* -- addresses -- */

/* The lanes that access shared memory, and the lanes that access local memory. All other lanes access global memory. */
struct spaces {
    uint32_t shared, local;
};

/* Determines the state space of each lane's access. If the instruction names no state space, the addresses
 * are generic: the window that contains an address determines its state space, and at[lane] becomes the
 * offset in the window (PTX ISA, "Generic Addressing"). */
static struct spaces spaces_of(const struct emu_insn *in, uint32_t on, uint64_t *at)
{
    struct spaces s = {emu_has_mod(in, MOD_shared) ? on : 0, emu_has_mod(in, MOD_local) ? on : 0};
    bool is_generic = !s.shared && !s.local && !emu_has_mod(in, MOD_global);
    for (; is_generic && on; on &= on - 1) {
        uint64_t *a = &at[emu_first_lane(on)], window = *a >> WINDOW_SHIFT << WINDOW_SHIFT;
        s.shared |= window == SHARED_WINDOW ? on & -on : 0;
        s.local |= window == LOCAL_WINDOW ? on & -on : 0;
        *a -= window == SHARED_WINDOW || window == LOCAL_WINDOW ? window : 0;
    }
    return s;
}

void emu_addresses(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o, uint32_t on,
                   uint64_t *at)
{
    const void *p = emu_read(w, o);
    emu_need_defined(w, in, o, class_info[o->cls].bits, on, "the address");
    if (w->wrapped)
        emu_need_fit(w, in, o, on);
    if (o->cls == CLASS_b32) {
        const uint32_t *narrow = p;
        for (int i = 0; i < LANES; i++)
            at[i] = (uint32_t)(narrow[i] + (uint32_t)o->offset);
    } else {
        const uint64_t *wide = p;
        for (int i = 0; i < LANES; i++)
            at[i] = wide[i] + (uint64_t)o->offset;
    }
}

static const char *buffer_name(const struct cpu_buffer *b)
{
    return b->name ? b->name : "a tensor";
}

/* An address beyond the end of a buffer is reported as an offset in the buffer, unless its distance from the
 * end exceeds both NEAR_BYTES and the buffer's size. If the next buffer is nearer, the address is reported as
 * a distance from the next buffer. */
enum { NEAR_BYTES = 1 << 20 };

static _Noreturn void out_of_bounds(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at,
                                    int bytes)
{
    const struct emu_launch *l = w->cta->launch;
    const struct cpu_buffer *b = cpu_buffer_at(l->buffers, l->nbuffers, at), *next = b ? b + 1 : l->buffers;
    /* the distance from the end of b; 0 if the access starts in b, and ends beyond it */
    const uint64_t behind = b && at > b->base + b->bytes ? at - (b->base + b->bytes) : 0;
    if (next < l->buffers + l->nbuffers && (!b || behind > next->base - at))
        emu_fail(w, in, lane, ERR_out_of_bounds,
                 "address 0x%" PRIx64 " is %" PRIu64 " bytes before '%s' (%d bytes are accessed)", at,
                 next->base - at, buffer_name(next), bytes);
    if (!b)
        emu_fail(w, in, lane, ERR_out_of_bounds, "address 0x%" PRIx64 " is in no tensor", at);
    if (behind > NEAR_BYTES && behind > b->bytes)
        emu_fail(w, in, lane, ERR_out_of_bounds,
                 "address 0x%" PRIx64 " is in no tensor, and %" PRIu64
                 " bytes behind '%s', the nearest (%d bytes are accessed)",
                 at, behind, buffer_name(b), bytes);
    emu_fail(w, in, lane, ERR_out_of_bounds,
             "address 0x%" PRIx64 " is byte %" PRIu64 " of '%s', which has %" PRIu64
             " (%d bytes are accessed)",
             at, at - b->base, buffer_name(b), b->bytes, bytes);
}

static void check_aligned(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes)
{
    if (at & (uint64_t)(bytes - 1))
        emu_fail(w, in, lane, ERR_misaligned, "address 0x%" PRIx64 " is no multiple of %d", at, bytes);
}

/* First tries a fast path: if the lowest and the highest accessed address are in one buffer, then all
 * addresses are in this buffer. */
void emu_check_global(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at,
                      int bytes)
{
    struct emu_cta *c = w->cta;
    uint64_t low = UINT64_MAX, high = 0, all = 0;
    if (c->cluster->tallies)
        emu_count_global(w, in, on, at, bytes);
    for (int i = 0; i < LANES; i++) {
        uint64_t a = on >> i & 1 ? at[i] : at[emu_first_lane(on)];
        low = a < low ? a : low;
        high = a > high ? a : high;
        all |= a;
    }
    if (!cpu_is_inside(c->last, low, (uint64_t)bytes))
        c->last = cpu_buffer_at(c->launch->buffers, c->launch->nbuffers, low);
    c->is_in_last = !(all & (uint64_t)(bytes - 1)) && cpu_is_inside(c->last, low, (uint64_t)bytes) &&
                    cpu_is_inside(c->last, high, (uint64_t)bytes);
    if (c->is_in_last)
        return;
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        check_aligned(w, in, lane, at[lane], bytes);
        if (!cpu_is_inside(cpu_buffer_at(c->launch->buffers, c->launch->nbuffers, at[lane]), at[lane],
                           (uint64_t)bytes))
            out_of_bounds(w, in, lane, at[lane], bytes);
    }
}

/* -- ld, st -- */

/* Determines each lane's state space, and checks global addresses. Shared and local addresses are checked only when the
 * memory is accessed. */
static struct spaces check_access(struct emu_warp *w, const struct emu_insn *in, uint32_t on, uint64_t *at,
                                  int bytes)
{
    struct spaces s = spaces_of(in, on, at);
    if (on & ~(s.shared | s.local))
        emu_check_global(w, in, on & ~(s.shared | s.local), at, bytes);
    if (s.shared && w->cta->cluster->tallies)
        emu_count_shared(w, in, s.shared, at, bytes);
    return s;
}

/* Returns the offset, in the warp's local memory, of byte `at` of the lane's local memory. */
static size_t local_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes)
{
    size_t size = (size_t)w->cta->code->local_bytes;
    if (at > size || size - at < (uint64_t)bytes)
        emu_fail(w, in, lane, ERR_out_of_bounds,
                 "byte %" PRIu64 " of local memory, which has %zu (%d bytes are accessed)", at, size, bytes);
    check_aligned(w, in, lane, at, bytes);
    return (size_t)lane * size + at;
}

unsigned char *emu_local_at(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes)
{
    return w->local + local_at(w, in, lane, at, bytes);
}

static int access_bytes(const struct emu_insn *in)
{
    return ptype_info[in->type].bits / 8;
}

static int access_count(const struct emu_insn *in)
{
    return in->nvec ? in->nvec : 1;
}

/* Extends a loaded value to the width of its register. Values of signed types are sign-extended (PTX ISA, "ld"). */
static uint64_t extended(const struct emu_insn *in, uint64_t x)
{
    return in->type == PT_s8    ? (uint64_t)(int64_t)(int8_t)x
           : in->type == PT_s16 ? (uint64_t)(int64_t)(int16_t)x
           : in->type == PT_s32 ? (uint64_t)(int64_t)(int32_t)x
                                : x;
}

#define GATHER(bits)                                                                                         \
    do {                                                                                                     \
        uint##bits##_t *to = (void *)w->scratch;                                                             \
        for (uint32_t m = on; m; m &= m - 1) {                                                               \
            int lane = emu_first_lane(m);                                                                    \
            memcpy(&to[lane], (const char *)(uintptr_t)at[lane] + k * (bits / 8), bits / 8);                 \
        }                                                                                                    \
    } while (0)

/* Loads element k of the vectors of the lanes `on` from global memory. The register must be as wide as the
 * element. */
static void load_element(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at,
                         int k)
{
    switch (access_bytes(in)) {
    case 2: GATHER(16); break;
    case 4: GATHER(32); break;
    default: GATHER(64);
    }
    emu_commit(w, &in->opnds[k], on, w->scratch);
    w->defined[in->opnds[k].reg] |= on;
}

/* Loads one lane's vector from any state space, together with the masks of its undefined bits. A register may
 * be wider than the element that it receives. */
static void load_lane(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, struct spaces s)
{
    int bytes = access_bytes(in), n = access_count(in);
    bool is_shared = s.shared >> lane & 1, is_local = s.local >> lane & 1;
    const unsigned char *bad =
        is_shared || is_local ? NULL : emu_global_undefined(w, at, (uint64_t)(n * bytes));
    size_t local = is_local ? local_at(w, in, lane, at, n * bytes) : 0;
    const unsigned char *p = is_shared  ? emu_shared_at(w, in, lane, at, n * bytes)
                             : is_local ? w->local + local
                                        : (const unsigned char *)(uintptr_t)at;
    for (int k = 0; k < n; k++, p += bytes) {
        uint64_t x = 0, undefined = 0;
        if (is_shared)
            emu_shared_read(w, in, lane, p, bytes, &undefined);
        else if (is_local)
            memcpy(&undefined, w->local_undefined + local + k * bytes, (size_t)bytes);
        else if (bad)
            memcpy(&undefined, bad + k * bytes, (size_t)bytes);
        memcpy(&x, p, (size_t)bytes);
        emu_set_lane(w, &in->opnds[k], lane, extended(in, x), undefined);
    }
}

/* Checks the lanes' reads for races. A volatile, acquire or relaxed load does not race, and counts as an
 * acquire (race.c). */
static void check_reads(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at,
                        int bytes)
{
    if (emu_has_mod(in, MOD_volatile) || emu_has_mod(in, MOD_acquire) || emu_has_mod(in, MOD_relaxed))
        emu_acquire(w);
    else
        for (; on; on &= on - 1)
            emu_global_read(w, in, emu_first_lane(on), at[emu_first_lane(on)], (uint64_t)bytes);
}

void emu_run_ld(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint64_t at[LANES];
    int bytes = access_bytes(in), n = access_count(in);
    if (!on)
        return;
    emu_addresses(w, in, &in->opnds[in->address], on, at);
    struct spaces s = check_access(w, in, on, at, n * bytes);
    uint32_t global = on & ~(s.shared | s.local);
    if (global && w->cta->launch->race)
        check_reads(w, in, global, at, n * bytes);
    global &= ~emu_undefined_lanes(w, global, at, n * bytes);
    if (global && bytes == emu_class_bytes(in->opnds[0].cls)) {
        for (int k = 0; k < n; k++)
            load_element(w, in, global, at, k);
        on &= ~global;
    }
    for (; on; on &= on - 1)
        load_lane(w, in, emu_first_lane(on), at[emu_first_lane(on)], s);
}

#define SCATTER(bits)                                                                                        \
    do {                                                                                                     \
        const uint##bits##_t *from = p;                                                                      \
        for (; on; on &= on - 1) {                                                                           \
            int lane = emu_first_lane(on);                                                                   \
            memcpy((char *)(uintptr_t)at[lane] + k * (bits / 8), &from[lane], bits / 8);                     \
        }                                                                                                    \
    } while (0)

/* Records stores of element k. If races are not checked, records only that the bytes are defined. */
static void note_stores(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at, int k,
                        const struct emu_opnd *x)
{
    int bytes = access_bytes(in);
    const struct cpu_buffer *b = w->cta->last;
    bool is_plain = w->cta->is_in_last && !w->cta->launch->race;
    for (; is_plain && b->undefined && on; on &= on - 1)
        memset(b->undefined + (at[emu_first_lane(on)] - b->base) + k * bytes, 0, (size_t)bytes);
    for (; !is_plain && on; on &= on - 1) {
        uint64_t bits = emu_lane(w, x, emu_first_lane(on));
        emu_global_write(w, in, emu_first_lane(on), at[emu_first_lane(on)] + (uint64_t)(k * bytes),
                         (uint64_t)bytes, &bits);
    }
}

static void store_element(struct emu_warp *w, const struct emu_insn *in, uint32_t on, const uint64_t *at,
                          int k)
{
    const struct emu_opnd *x = &in->opnds[in->address + 1 + k];
    const void *p = emu_read(w, x);
    emu_need_defined(w, in, x, ptype_info[in->type].bits, on, "the value stored");
    int bytes = access_bytes(in);
    if (w->cta->launch->race || w->cta->launch->has_undefined)
        note_stores(w, in, on, at, k, x);
    if (bytes == emu_class_bytes(x->cls)) {
        switch (bytes) {
        case 2: SCATTER(16); break;
        case 4: SCATTER(32); break;
        default: SCATTER(64);
        }
        return;
    }
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        uint64_t bits = emu_lane(w, x, lane);
        memcpy((char *)(uintptr_t)at[lane] + k * bytes, &bits, (size_t)bytes);
    }
}

/* Stores one lane's vector to shared or local memory. */
static void store_lane(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, struct spaces s)
{
    int bytes = access_bytes(in), n = access_count(in);
    bool is_shared = s.shared >> lane & 1;
    size_t local = is_shared ? 0 : local_at(w, in, lane, at, n * bytes);
    unsigned char *p = is_shared ? emu_shared_at(w, in, lane, at, n * bytes) : w->local + local;
    for (int k = 0; k < n; k++) {
        const struct emu_opnd *x = &in->opnds[in->address + 1 + k];
        uint64_t bits = emu_lane(w, x, lane), undefined = emu_undefined_opnd(w, x, lane);
        if (is_shared) {
            emu_shared_write(w, in, lane, p + k * bytes, bytes, bits, undefined);
        } else {
            memcpy(p + k * bytes, &bits, (size_t)bytes);
            memcpy(w->local_undefined + local + k * bytes, &undefined, (size_t)bytes);
        }
    }
}

void emu_run_st(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint64_t at[LANES];
    int bytes = access_bytes(in), n = access_count(in);
    if (!on)
        return;
    emu_addresses(w, in, &in->opnds[in->address], on, at);
    struct spaces s = check_access(w, in, on, at, n * bytes);
    uint32_t global = on & ~(s.shared | s.local);
    for (int k = 0; global && k < n; k++)
        store_element(w, in, global, at, k);
    for (on &= ~global; on; on &= on - 1)
        store_lane(w, in, emu_first_lane(on), at[emu_first_lane(on)], s);
}

/* -- atom and red: one lane after the other, each atomic with respect to other CTAs -- */

static enum mod combining(const struct emu_insn *in)
{
    enum mod m = MOD_none;
    for (int i = 0; i < EMU_MODS_MOST && in->mods[i]; i++)
        if (in->mods[i] >= MOD_add && in->mods[i] <= MOD_cas)
            m = (enum mod)in->mods[i];
    return m;
}

/* Adds two floats with the function that computes `add` for 32 lanes (float.c), of which only lane 0 is
 * used. */
static uint64_t float_sum(enum ptype t, uint64_t x, uint64_t y)
{
    uint64_t a[LANES] = {x}, b[LANES] = {y}, d[LANES];
    struct emu_insn add = {.code = INSN_add, .type = (uint8_t)t, .mods = {MOD_rn}};
    emu_float (&add)(d, a, b, a, &add);
    return d[0] & ~UINT64_C(0) >> (64 - ptype_info[t].bits);
}

/* Called for an operand or the result x of an addition. Returns x, except that an f32 addition with .global
 * replaces a subnormal number by 0 of the same sign (PTX ISA, "atom"). */
static uint64_t flushed(const struct emu_insn *in, uint64_t x)
{
    bool flushes = in->type == PT_f32 && emu_has_mod(in, MOD_global);
    return flushes && !(x & 0x7f800000) ? x & 0x80000000 : x;
}

static bool is_less(enum ptype t, uint64_t x, uint64_t y)
{
    return t == PT_s32 ? (int32_t)x < (int32_t)y : t == PT_s64 ? (int64_t)x < (int64_t)y : x < y;
}

/* Returns the value that the atomic stores if the memory has the value `old`. */
static uint64_t combine(const struct emu_insn *in, uint64_t old, uint64_t x, uint64_t y)
{
    enum ptype t = (enum ptype)in->type;
    bool is_float = t == PT_f16 || t == PT_bf16 || t == PT_f32 || t == PT_f64;
    switch (combining(in)) {
    case MOD_add: return is_float ? flushed(in, float_sum(t, flushed(in, old), flushed(in, x))) : old + x;
    case MOD_min: return is_less(t, x, old) ? x : old;
    case MOD_max: return is_less(t, old, x) ? x : old;
    case MOD_and: return old & x;
    case MOD_or: return old | x;
    case MOD_xor: return old ^ x;
    case MOD_inc: return old >= x ? 0 : old + 1; /* PTX ISA, "atom": inc exists only for .u32 */
    case MOD_dec: return old == 0 || old > x ? x : old - 1;
    case MOD_exch: return x;
    default: return old == x ? y : old; /* cas */
    }
}

/* Performs the atomic at p by a compare-and-swap loop on this CPU, and returns the old value. x and y are the
 * instruction's operands; only cas has an operand y. */
static uint64_t exchange(unsigned char *p, const struct emu_insn *in, uint64_t x, uint64_t y)
{
    switch (access_bytes(in)) {
#define WIDTH(bytes, type)                                                                                   \
    case bytes: {                                                                                            \
        type old = __atomic_load_n((type *)(void *)p, __ATOMIC_SEQ_CST), next;                               \
        do                                                                                                   \
            next = (type)combine(in, old, x, y);                                                             \
        while (!__atomic_compare_exchange_n((type *)(void *)p, &old, next, 0, __ATOMIC_SEQ_CST,              \
                                            __ATOMIC_SEQ_CST));                                              \
        return old;                                                                                          \
    }
        WIDTH(2, uint16_t)
        WIDTH(4, uint32_t)
        WIDTH(8, uint64_t)
#undef WIDTH
    default: return 0;
    }
}

/* Checks and records an atomic access to global memory. The memory must be defined, because the result of
 * every atomic except an exchange depends on it. */
static void check_atomic(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t at, int bytes)
{
    if (combining(in) != MOD_exch && emu_global_undefined(w, at, (uint64_t)bytes))
        emu_fail(w, in, lane, ERR_emulator_undefined, "the atomic changes memory that nobody has written");
    emu_global_write(w, in, lane, at, (uint64_t)bytes, NULL);
}

/* Returns whether the atomic has the memory order `order`, or acq_rel, which includes `order`. */
static bool has_order(const struct emu_insn *in, enum mod order)
{
    return emu_has_mod(in, order) || emu_has_mod(in, MOD_acq_rel);
}

void emu_run_atom(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    uint64_t at[LANES];
    int bytes = access_bytes(in), n = access_count(in), first = in->address + 1;
    bool has_two = combining(in) == MOD_cas;
    if (!on)
        return;
    emu_addresses(w, in, &in->opnds[in->address], on, at);
    for (int i = 0; i < n + has_two; i++)
        emu_need_defined(w, in, &in->opnds[first + i], 8 * bytes, on, "the operand");
    struct spaces s = check_access(w, in, on, at, n * bytes);
    if (s.local)
        emu_fail(w, in, emu_first_lane(s.local), ERR_out_of_bounds, "local memory has no atomic operations");
    if (has_order(in, MOD_acquire))
        emu_acquire(w);
    for (; on; on &= on - 1) {
        int lane = emu_first_lane(on);
        uint64_t y = has_two ? emu_lane(w, &in->opnds[first + 1], lane) : 0, old = 0, undefined = 0;
        const unsigned char *bad =
            s.shared >> lane & 1 ? NULL : emu_global_undefined(w, at[lane], (uint64_t)bytes);
        if (bad)
            memcpy(&undefined, bad, (size_t)bytes);
        if (!(s.shared >> lane & 1) && (w->cta->launch->race || w->cta->launch->has_undefined))
            check_atomic(w, in, lane, at[lane], n * bytes);
        unsigned char *p = s.shared >> lane & 1 ? emu_shared_atomic(w, in, lane, at[lane], bytes)
                                                : (unsigned char *)(uintptr_t)at[lane];
        for (int k = 0; k < n; k++)
            old = exchange(p + k * bytes, in, emu_lane(w, &in->opnds[first + k], lane), y);
        if (in->ndefs)
            emu_set_lane(w, &in->opnds[0], lane, old, undefined);
    }
    if (has_order(in, MOD_release))
        emu_release_accesses(w);
}
