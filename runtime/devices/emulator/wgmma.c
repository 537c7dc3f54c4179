/* SPDX-License-Identifier: MIT */
/* wgmma.c: executes wgmma, and reports invalid accesses to the registers of a wgmma in flight (PTX ISA, "Asynchronous
 * Warpgroup Level Matrix Instructions": "wgmma.mma_async", "Register Fragments", "Shared Memory Matrix Layout", "Matrix
 * Descriptor Format", "wgmma.fence").
 *
 *     D (64 x n) = A (64 x k) B (k x n) + D       each of the 4 warps computes 16 rows; A in shared memory or
 *                                                 registers, B in shared memory
 *
 *     D of f32, s32   register i: row lane / 4 + 8 (i / 2 % 2), column 2 (lane % 4) + 8 (i / 4) + i % 2
 *     D of f16        register i: row lane / 4 + 8 (i % 2), columns 2 (lane % 4) + 8 (i / 2) and the next one
 *     A               register i: row lane / 4 + 8 (i % 2), the word with index lane % 4 + 4 (i / 2) of the row
 *
 * chunk_at computes the address of element (mn, k) of an operand in shared memory. sums.c computes the sums
 * when the wgmma is issued, but no instruction may read the sums before a wait for the wgmma. Until this
 * wait, emu_warp.flying marks the registers of the wgmma. The wgmma's reads of shared memory are recorded as
 * reads of a separate actor (order.c), because only the wait orders them before later accesses of the warp.
 * emu_warp.fresh marks the registers that other instructions have written since the last wgmma.fence. */
#include "runtime/devices/emulator/machine.h"
#include "runtime/devices/tensormap.h"

#include <string.h>

enum { ROWS = EMU_ROWS, WARPGROUP = 4, MEMBERS = 4, CHUNK = 16, A_WORDS = 4 };

struct shape {
    /* the code of the instruction, and the types of the elements of A, B and D (enum ptype). PT_f32 stands
     * for tf32, and the type of a pair of fp8 numbers for fp8 */
    uint8_t code, a, b, d;
    int depth;
};

static const struct shape shapes[] = {
    {INSN_wgmma_f32_f16, PT_f16, PT_f16, PT_f32, 16},
    {INSN_wgmma_f16_f16, PT_f16, PT_f16, PT_f16, 16},
    {INSN_wgmma_f32_bf16, PT_bf16, PT_bf16, PT_f32, 16},
    {INSN_wgmma_f32_tf32, PT_f32, PT_f32, PT_f32, 8},
    {INSN_wgmma_f32_e4m3, PT_e4m3x2, PT_e4m3x2, PT_f32, 32},
    {INSN_wgmma_f32_e4m3_e5m2, PT_e4m3x2, PT_e5m2x2, PT_f32, 32},
    {INSN_wgmma_f32_e5m2_e4m3, PT_e5m2x2, PT_e4m3x2, PT_f32, 32},
    {INSN_wgmma_f32_e5m2, PT_e5m2x2, PT_e5m2x2, PT_f32, 32},
    {INSN_wgmma_f16_e4m3, PT_e4m3x2, PT_e4m3x2, PT_f16, 32},
    {INSN_wgmma_f16_e4m3_e5m2, PT_e4m3x2, PT_e5m2x2, PT_f16, 32},
    {INSN_wgmma_f16_e5m2_e4m3, PT_e5m2x2, PT_e4m3x2, PT_f16, 32},
    {INSN_wgmma_f16_e5m2, PT_e5m2x2, PT_e5m2x2, PT_f16, 32},
    {INSN_wgmma_s32_s8, PT_s8, PT_s8, PT_s32, 32},
    {INSN_wgmma_s32_s8_u8, PT_s8, PT_u8, PT_s32, 32},
    {INSN_wgmma_s32_u8_s8, PT_u8, PT_s8, PT_s32, 32},
    {INSN_wgmma_s32_u8, PT_u8, PT_u8, PT_s32, 32},
};

static const struct shape *shape_of(const struct emu_insn *in)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (shapes[i].code == in->code)
            return &shapes[i];
    return NULL;
}

bool emu_is_wgmma(const struct emu_insn *in)
{
    return shape_of(in) != NULL;
}

int emu_wgmma_operations(const struct emu_insn *in)
{
    const struct shape *s = shape_of(in);
    return s ? 2 * ROWS * in->number * s->depth : 0;
}

/* -- operands -- */

/* The instruction's operands, in their order: the registers of D; A, which is a descriptor or 4 registers; the
 * descriptor of B; scale-d; then, in `rest`, imm-scale-a and imm-scale-b for floats, and, for 16-bit types, imm-trans-a
 * (if A is in shared memory) and imm-trans-b. */
struct operands {
    int nd;
    bool a_in_registers;
    const struct emu_opnd *d, *a, *b, *scale, *rest;
    int nrest;
};

static struct operands operands_of(const struct emu_insn *in)
{
    struct operands x = {.nd = in->nvec, .d = in->opnds, .a = in->opnds + in->nvec};
    x.a_in_registers = x.a->cls != CLASS_b64;
    x.b = x.a + (x.a_in_registers ? A_WORDS : 1);
    x.scale = x.b + 1;
    x.rest = x.scale + 1;
    x.nrest = in->nopnds - (int)(x.rest - in->opnds);
    return x;
}

bool emu_wgmma_adds(const struct emu_insn *in)
{
    if (!emu_is_wgmma(in))
        return false;
    const struct emu_opnd *scale = operands_of(in).scale;
    return scale->reg >= 0 || scale->offset != 0;
}

static int bits_of(enum ptype t)
{
    return t == PT_e4m3x2 || t == PT_e5m2x2 ? 8 : ptype_info[t].bits;
}

bool emu_decode_wgmma(struct emu_insn *in)
{
    const struct shape *s = shape_of(in);
    if (in->nopnds < in->nvec + 3)
        return false;
    struct operands x = operands_of(in);
    int n = in->number, signs = s->d == PT_s32 ? 0 : 2;
    int majors = bits_of(s->a) == 16 ? 2 - x.a_in_registers : 0;
    bool is_multiple = n % 8 == 0 && (s->d != PT_s32 || n < 32 || n % 16 == 0);
    in->run = emu_run_wgmma;
    for (int i = 0; i < x.nrest; i++)
        if (x.rest[i].reg >= 0 || x.rest[i].offset > 1 || x.rest[i].offset < (i < signs ? -1 : 0) ||
            (i < signs && x.rest[i].offset == 0))
            return false;
    return n >= 8 && n <= EMU_COLUMNS_MOST && is_multiple && in->nvec == (s->d == PT_f16 ? n / 4 : n / 2) &&
           x.nrest == signs + majors && x.b->cls == CLASS_b64 && !in->mods[0];
}

/* -- matrices in shared memory -- */

/* A matrix in shared memory, as its descriptor specifies it. */
struct place {
    uint64_t start; /* the shared address */
    /* the leading byte offset and the stride byte offset; the swizzle's width W in bytes (0: none), and a
     * mask of log2(W / 16) ones */
    int lbo, sbo, width, mask;
    enum map_swizzle swizzle;
    bool is_mn_major;
    enum ptype type;
};

static struct place place_of(struct emu_warp *w, const struct emu_insn *in, const struct emu_opnd *o,
                             enum ptype type, bool is_mn_major)
{
    static const int widths[] = {0, 128, 64, 32}, masks[] = {0, 7, 3, 1};
    static const enum map_swizzle swizzles[] = {SWIZZLE_none, SWIZZLE_128, SWIZZLE_64, SWIZZLE_32};
    emu_need_defined(w, in, o, 64, ALL_LANES, "the descriptor");
    uint64_t x = emu_lane(w, o, 0);
    for (int lane = 1; lane < LANES; lane++)
        if (emu_lane(w, o, lane) != x)
            emu_fail(w, in, lane, ERR_emulator_warp, "the descriptor is not the same in all lanes");
    if (x >> 49 & 7)
        emu_fail(w, in, 0, ERR_emulator_ptx, "the emulator knows no base offset in a descriptor");
    return (struct place){.start = (x & 0x3fff) << 4,
                          .lbo = (int)(x >> 16 & 0x3fff) << 4,
                          .sbo = (int)(x >> 32 & 0x3fff) << 4,
                          .width = widths[x >> 62],
                          .mask = masks[x >> 62],
                          .swizzle = swizzles[x >> 62],
                          .is_mn_major = is_mn_major,
                          .type = type};
}

/* Returns the address of the 16-byte chunk that begins with element (mn, k): mn is the row of A or the column
 * of B, and k the column of A or the row of B. The elements of a chunk are consecutive in the major
 * dimension, which is k or mn. In the table, kb and mb are k and mn times the size of an element in bytes,
 * and W is the swizzle's width:
 *
 *     major  swizzle   offset
 *     k      none      (mn % 8) 16 + kb % 16 + (kb / 16) LBO + (mn / 8) SBO
 *     k      W         (mn % 8) W + kb + (mn / 8) SBO
 *     mn     none      mb % 16 + (k % 8) 16 + (k / 8) LBO + (mb / 16) SBO
 *     mn     W         mb % W + (k % 8) W + (k / 8) SBO + (mb / W) LBO
 *
 * The offset is added to the start address. Then the sum is swizzled: its n bits from bit 7 up are XORed into
 * the n bits from bit 4 up, where n = log2(W / 16). */
static uint64_t chunk_at(const struct place *p, int mn, int k)
{
    int elem = bits_of(p->type) / 8, major = (p->is_mn_major ? mn : k) * elem,
        minor = p->is_mn_major ? k : mn;
    int row = p->width ? p->width : CHUNK;
    int offset = minor % 8 * row + major % row;
    if (!p->width)
        offset += p->is_mn_major ? minor / 8 * p->lbo + major / CHUNK * p->sbo
                                 : major / CHUNK * p->lbo + minor / 8 * p->sbo;
    else
        offset += minor / 8 * p->sbo + (p->is_mn_major ? major / p->width * p->lbo : 0);
    uint64_t at = p->start + (uint64_t)offset;
    return at ^ (at >> 7 & (uint64_t)p->mask) << 4;
}

static void values(enum ptype t, int n, const unsigned char *bytes, double *x)
{
    uint16_t halves[CHUNK / 2];
    uint32_t word;
    float f;
    if (t == PT_f16 || t == PT_bf16) {
        memcpy(halves, bytes, (size_t)n * sizeof *halves);
        emu_half_values(t, n, halves, x);
        return;
    }
    for (int i = 0; i < n; i++)
        switch (t) {
        case PT_f32:
            memcpy(&word, bytes + 4 * i, sizeof word);
            word &= 0xffffe000; /* tf32 uses only 10 bits of the mantissa */
            memcpy(&f, &word, sizeof f);
            x[i] = (double)f;
            break;
        case PT_s8: x[i] = (int8_t)bytes[i]; break;
        case PT_u8: x[i] = bytes[i]; break;
        default: x[i] = emu_half_value(t, bytes[i]);
        }
}

/* Ends the launch with an error if a copy loaded the byte at offset `at` with a tensor map whose swizzle is
 * not that of the descriptor. Bytes that threads wrote are not checked, because their layout is unknown. */
static void check_laid(struct emu_warp *w, const struct emu_insn *in, const struct place *p, int at)
{
    static const char *const names[] = {"without a swizzle", "with a swizzle of 32 bytes",
                                        "with a swizzle of 64 bytes", "with a swizzle of 128 bytes"};
    int laid = w->cta->shadow[at].laid;
    if (laid && laid != 1 + (int)p->swizzle)
        emu_fail(w, in, 0, ERR_emulator_swizzle, "byte %d was loaded %s (line %d), and is read %s", at,
                 names[laid - 1], w->cta->shadow[at].write_line, names[p->swizzle]);
}

static bool is_undefined(const struct emu_cta *c, int at, int bytes)
{
    bool any = false;
    for (int i = 0; i < bytes; i++)
        any |= c->shadow[at + i].undefined != 0;
    return any;
}

/* Reads the elements (mn, k) with mn in [first, first + n) and k in [0, depth). Stores element (mn, k) in
 * to[k * pitch + mn - first]. Sets bad[mn - first] if element (mn, k) is undefined for some k. */
static void gather(struct emu_warp *w, const struct emu_insn *in, const struct place *p, int first, int n,
                   int depth, double *to, int pitch, bool *bad)
{
    struct emu_cta *c = w->cta;
    int chunk = CHUNK * 8 / bits_of(p->type), actor = emu_actor(c, ACTOR_warpgroup, w->index / WARPGROUP);
    int step_mn = p->is_mn_major ? chunk : 1, step_k = p->is_mn_major ? 1 : chunk;
    uint32_t time = c->cluster->began + (uint32_t)w->mma_groups;
    for (int mn = 0; mn < n; mn += step_mn)
        for (int k = 0; k < depth; k += step_k) {
            double x[CHUNK];
            uint64_t at = chunk_at(p, first + mn, k) - SHARED_BASE;
            if (at + CHUNK > (uint64_t)c->shared_bytes)
                emu_fail(w, in, 0, ERR_out_of_bounds,
                         "element (%d, %d) is at byte %d of shared memory, which has %d", first + mn, k,
                         (int)at, c->shared_bytes);
            if (emu_shared_lend(w, in, 0, c, (int)at, CHUNK, actor, time))
                for (int i = 0; i < step_mn; i++)
                    bad[mn + i] |= is_undefined(c, (int)at + i * CHUNK / step_mn, CHUNK / step_mn);
            check_laid(w, in, p, (int)at);
            values(p->type, chunk, c->shared + at, x);
            for (int i = 0; i < chunk; i++)
                to[p->is_mn_major ? k * pitch + mn + i : (k + i) * pitch + mn] = x[i];
        }
}

static void gather_registers(struct emu_warp *w, const struct operands *x, const struct shape *s,
                             struct emu_dot *m, bool *bad)
{
    int per_word = 32 / bits_of(s->a);
    for (int i = 0; i < A_WORDS; i++)
        for (int lane = 0; lane < LANES; lane++) {
            double v[4];
            uint32_t word = (uint32_t)emu_lane(w, &x->a[i], lane);
            unsigned char bytes[4];
            memcpy(bytes, &word, sizeof bytes);
            values(s->a, per_word, bytes, v);
            for (int k = 0; k < per_word; k++)
                m->a[(lane % MEMBERS + MEMBERS * (i / 2)) * per_word + k][lane / MEMBERS + 8 * (i % 2)] =
                    v[k];
            bad[lane / MEMBERS + 8 * (i % 2)] |= emu_undefined_opnd(w, &x->a[i], lane) != 0;
        }
}

/* -- sums -- */

static double accumulator(const struct shape *s, uint32_t bits, int half)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return s->d == PT_s32   ? (double)(int32_t)bits
           : s->d == PT_f32 ? (double)f
                            : emu_half_value(PT_f16, (uint16_t)(bits >> 16 * half));
}

static uint32_t result(const struct shape *s, double sum)
{
    float x = (float)sum;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (s->d == PT_s32)
        return (uint32_t)(int64_t)sum;
    return s->d == PT_f16 ? emu_half_round(PT_f16, sum) : x == x ? bits : 0x7fffffff;
}

/* Copies a row of D from the registers to `sums`, or, if `stores` is true, from `sums` to the registers. For
 * each column, finds the lane, the register and, for f16, the half of the register. */
static void visit_row(struct emu_warp *w, const struct operands *x, const struct shape *s, int row,
                      bool stores, double *sums)
{
    int halves = s->d == PT_f16 ? 2 : 1, group = 4 / halves; /* group: the number of registers that a lane has
                                                              * for 8 columns */
    for (int i = 0; i < x->nd; i++) {
        if ((halves == 2 ? i % 2 : i / 2 % 2) != row / 8)
            continue;
        uint32_t *words = (void *)(w->values + x->d[i].at);
        for (int member = 0; member < MEMBERS; member++) {
            int lane = row % 8 * MEMBERS + member, first = 8 * (i / group) + 2 * member;
            uint32_t bits = 0;
            for (int h = 0; h < halves; h++) {
                double *sum = &sums[first + (halves == 2 ? h : i % 2)];
                if (stores)
                    bits |= result(s, *sum) << 16 * h;
                else
                    *sum = accumulator(s, words[lane], h);
            }
            words[lane] = stores ? bits : words[lane];
        }
    }
}

static void multiply(struct emu_warp *w, const struct operands *x, const struct shape *s, double sign,
                     bool adds, struct emu_dot *m)
{
    for (int k = 0; k < m->depth && sign < 0; k++)
        for (int i = 0; i < ROWS; i++)
            m->a[k][i] = -m->a[k][i];
    for (int row = 0; row < ROWS; row++)
        if (adds)
            visit_row(w, x, s, row, false, m->c[row]);
        else
            memset(m->c[row], 0, (size_t)m->columns * sizeof m->c[row][0]);
    emu_sum(m);
    for (int row = 0; row < ROWS; row++)
        visit_row(w, x, s, row, true, m->c[row]);
}

/* -- registers -- */

static void use_registers(struct emu_warp *w, const struct emu_insn *in, const struct operands *x)
{
    uint32_t tag = 2 * ((uint32_t)w->mma_groups + 1);
    for (int i = 0; i < x->nd + (x->a_in_registers ? A_WORDS : 0); i++) {
        int reg = in->opnds[i].reg;
        bool is_d = i < x->nd;
        if (reg < 0)
            continue;
        if (w->fresh[reg])
            emu_fail(w, in, 0, ERR_emulator_race,
                     "register %d of %s was written, without a wgmma.fence in between", is_d ? i : i - x->nd,
                     is_d ? "D" : "A");
        if (!is_d && (w->flying[reg] & 1))
            emu_fail(w, in, 0, ERR_emulator_race, "register %d of A is the result of a wgmma in flight",
                     i - x->nd);
        w->flying[reg] = tag | is_d;
    }
}

void emu_wgmma_watch(struct emu_warp *w, const struct emu_insn *in)
{
    if (emu_is_wgmma(in))
        return;
    for (int i = 0; i < in->nopnds; i++) {
        int reg = in->opnds[i].reg;
        if (reg < 0)
            continue;
        if (w->flying[reg] && (i < in->ndefs || (w->flying[reg] & 1)))
            emu_fail(w, in, 0, ERR_emulator_race,
                     "operand %d is a register that a wgmma %s, and it has not been waited for", i,
                     w->flying[reg] & 1 ? "writes" : "reads");
        w->fresh[reg] |= i < in->ndefs;
    }
}

static void need_warpgroup(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    if (on != ALL_LANES)
        emu_fail(w, in, emu_first_lane(~on), ERR_emulator_warp,
                 "lane %d does not execute it, and all lanes have to", emu_first_lane(~on));
    if (w->index / WARPGROUP * WARPGROUP + WARPGROUP > w->cta->nwarps)
        emu_fail(w, in, 0, ERR_emulator_warp, "a warpgroup has %d warps", WARPGROUP);
}

/* Computes the undefined bits of D. An element of D is undefined if its row of A or its column of B is undefined, or if
 * the wgmma adds to an undefined element. If D is of type f16, a register of D has two elements, in its
 * halves. */
static void define(struct emu_warp *w, const struct operands *x, const struct shape *s, bool adds,
                   const bool *rows, const bool *columns)
{
    bool halves = s->d == PT_f16;
    for (int i = 0; i < x->nd; i++)
        for (int lane = 0; lane < LANES; lane++) {
            int row = lane / MEMBERS + 8 * (halves ? i % 2 : i / 2 % 2);
            const bool *of =
                &columns[8 * (i / (halves ? 2 : 4)) + 2 * (lane % MEMBERS) + (halves ? 0 : i % 2)];
            uint64_t bad = adds ? emu_undefined_opnd(w, &x->d[i], lane) : 0;
            uint64_t low = of[0] ? halves ? 0xffff : 0xffffffff : 0, high = halves && of[1] ? 0xffff0000 : 0;
            bad |= rows[row] ? 0xffffffff : low | high;
            w->defined[x->d[i].reg] = (w->defined[x->d[i].reg] & ~(UINT32_C(1) << lane)) | (uint32_t)!bad
                                                                                               << lane;
            w->undefined[x->d[i].reg][lane] = bad;
        }
}

/* -- instructions -- */

void emu_run_wgmma(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    const struct shape *s = shape_of(in);
    struct operands x = operands_of(in);
    struct emu_dot m;
    m.a_type = (enum ptype)s->a, m.b_type = (enum ptype)s->b, m.c_type = (enum ptype)s->d;
    m.depth = s->depth, m.columns = in->number;
    bool rows[ROWS] = {false}, columns[EMU_COLUMNS_MOST] = {false}, has_signs = s->d != PT_s32,
         a_mn = bits_of(s->a) == 16 && !x.a_in_registers && x.rest[2].offset;
    bool b_mn = bits_of(s->a) == 16 && x.rest[x.nrest - 1].offset;
    need_warpgroup(w, in, on);
    emu_need_defined(w, in, x.scale, 1, on, "the predicate");
    use_registers(w, in, &x);
    bool adds = emu_lane(w, x.scale, 0) & 1;
    double sign = has_signs && x.rest[0].offset != x.rest[1].offset ? -1 : 1;
    if (x.a_in_registers) {
        gather_registers(w, &x, s, &m, rows);
    } else {
        struct place a = place_of(w, in, x.a, (enum ptype)s->a, a_mn);
        gather(w, in, &a, w->index % WARPGROUP * ROWS, ROWS, s->depth, &m.a[0][0], ROWS, rows);
    }
    struct place b = place_of(w, in, x.b, (enum ptype)s->b, b_mn);
    gather(w, in, &b, 0, in->number, s->depth, m.b[0], EMU_COLUMNS_MOST, columns);
    define(w, &x, s, adds, rows, columns);
    multiply(w, &x, s, sign, adds, &m);
}

void emu_run_wgmma_fence(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    need_warpgroup(w, in, on);
    memset(w->fresh, false, (size_t)w->cta->code->regs.n * sizeof *w->fresh);
}

void emu_run_wgmma_commit(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    need_warpgroup(w, in, on);
    w->mma_times[w->mma_groups++ % GROUPS_KNOWN] = w->cta->cluster->time++;
}

void emu_wgmma_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    need_warpgroup(w, in, on);
    int done = w->mma_groups - (int)in->opnds[0].offset;
    w->mma_awaited = done > 0 ? done : 0;
    if (done <= 0)
        return;
    for (int i = 0; i < w->cta->code->regs.n; i++)
        if (w->flying[i] >> 1 <= (uint32_t)done)
            w->flying[i] = 0;
    emu_see_until(w, emu_actor(w->cta, ACTOR_warpgroup, w->index / WARPGROUP),
                  w->cta->cluster->began + (uint32_t)done - 1);
}

/* Returns the number of registers that a thread has before setmaxnreg: the number in .maxnreg; without .maxnreg, an
 * equal share of the SM's registers. The result is at most 255, and is rounded down to a multiple of
 * eight. */
int emu_first_registers(const struct emu_code *c)
{
    enum { REGISTERS = 65536, MOST = 255 };
    int n =
        c->max_registers ? c->max_registers : REGISTERS / (c->num_threads * (c->min_ctas ? c->min_ctas : 1));
    return (n < MOST ? n : MOST) & ~7;
}

/* Executes setmaxnreg. The total number of registers of a CTA cannot increase. Therefore, a warp that
 * requests more registers waits until other warps have released enough (PTX ISA, "setmaxnreg"). */
bool emu_set_registers(struct emu_warp *w, const struct emu_insn *in, uint32_t on)
{
    int n = (int)in->opnds[0].offset, had = w->budget ? w->budget : emu_first_registers(w->cta->code);
    need_warpgroup(w, in, on);
    if (n < 24 || n > 256 || n % 8 != 0)
        emu_fail(w, in, 0, ERR_emulator_ptx,
                 "a budget of %d registers: a multiple of 8 from 24 to 256 is needed", n);
    if (n > had && n - had > w->cta->spare_registers &&
        !w->cta->cluster->tallies) /* counts must not depend on the length of a wait */
        return false;
    w->cta->spare_registers += had - n;
    w->cta->cluster->may_release = true;
    w->budget = n;
    return true;
}
