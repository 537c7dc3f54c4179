/* SPDX-License-Identifier: MIT */
/* insns_memory.c: defines the trials of memory instructions: loads and stores of every width, vector and cache hint,
 * parameters, atomics, cp.async.
 *
 * Each of 64 threads has 16 bytes of the input and of shared memory. The thread stores each loaded register to 8 bytes
 * of the output. Trials of atomics have 1,024 threads with three operands each, as in insns_alu.c. */
#include "tests/gpu/insns.h"

#include <stdio.h>
#include <string.h>

enum { THREADS = 64, OWN = 16, SLOT = 8, BLOCK = 4 * THREADS * SLOT, FORMS = 48 };

/* -- loads and stores -- */

static int register_bits(enum ptype t)
{
    return ptype_info[t].bits < 16 ? 16 : ptype_info[t].bits;
}

/* Returns the value of a register into which element x of type t was loaded. */
static uint64_t loaded(enum ptype t, uint64_t x)
{
    int unused = 64 - ptype_info[t].bits;
    uint64_t wide_x = holds_sign(t) ? (uint64_t)((int64_t)(x << unused) >> unused) : x << unused >> unused;
    return wide_x & ~UINT64_C(0) >> (64 - register_bits(t));
}

static int vector_of(struct form f)
{
    for (int i = 0; i < MODS_MOST; i++)
        if (f.mods[i] == MOD_v2 || f.mods[i] == MOD_v4)
            return f.mods[i] == MOD_v2 ? 2 : 4;
    return 1;
}

static bool has_mod(struct form f, enum mod m)
{
    return form_has_mod(f, m);
}

/* Prints a vector of registers, "{%b32_0, %b32_1}", or a single register. */
static void print_registers(struct text *p, enum ptype t, int n)
{
    for (int k = 0; k < n; k++)
        text_printf(p, "%s%%b%d_%d", k ? ", " : n > 1 ? "{" : "", register_bits(t), k);
    text_printf(p, n > 1 ? "}" : "");
}

static void print_access(struct text *p, struct form f, const char *address)
{
    char spelled[NAME_BYTES];
    int n = vector_of(f);
    form_spell(f, spelled, sizeof spelled);
    text_printf(p, "%s ", spelled);
    if (f.code == INSN_st)
        text_printf(p, "[%s], ", address);
    print_registers(p, (enum ptype)f.type, n);
    if (f.code == INSN_ld)
        text_printf(p, ", [%s]", address);
    text_printf(p, has_mod(f, MOD_l2_hint) ? ", %%policy;\n" : ";\n");
}

static struct trial *begin(struct bench *b)
{
    struct trial *t = trial_new(b, THREADS * OWN, (size_t)FORMS * BLOCK);
    t->threads = THREADS;
    t->shared_bytes = 2 * THREADS * OWN;
    for (size_t i = 0; i < t->in_bytes; i++)
        t->in[i] = (uint8_t)random_bits();
    kernel_head(t);
    text_printf(
        &t->ptx,
        ".reg .b16 %%b16_<4>;\n.reg .b32 %%b32_<4>, %%mine, %%other, %%size;\n.reg .b64 %%b64_<4>, %%policy, "
        "%%slots;\n.reg .pred %%p;\n"
        "mul.wide.u32 %%wide, %%t, 16;\nadd.s64 %%in, %%in, %%wide;\nadd.s64 %%slots, %%out, %%wide;\n"
        "add.s64 %%slots, %%slots, %%wide;\nmad.lo.u32 %%mine, %%t, 16, %%sm;\nsub.s32 %%other, 63, %%t;\n"
        "mad.lo.u32 %%other, %%other, 16, %%sm;\n");
    return t;
}

static void end(struct bench *b, struct trial *t)
{
    text_printf(&t->ptx, "ret;\n}\n");
    trial_run(b, t);
}

static uint64_t element(const uint8_t *from, enum ptype t, int k)
{
    uint64_t x = 0;
    int bytes = ptype_info[t].bits / 8;
    memcpy(&x, from + k * bytes, (size_t)bytes);
    return x;
}

/* Adds the checks of the registers that a load has filled, and that the kernel stores to block `number` of the
 * output. If `reversed` is true, thread i has read the input of thread THREADS - 1 - i; otherwise, it has read its own
 * input. */
static void check_loaded(struct trial *t, struct form f, int number, int reversed)
{
    enum ptype type = (enum ptype)f.type;
    char spelled[NAME_BYTES];
    int n = vector_of(f), bits = register_bits(type);
    size_t block = (size_t)(number * BLOCK);
    form_spell(f, spelled, sizeof spelled);
    for (int k = 0; k < n; k++)
        text_printf(&t->ptx, "st.global.b%d [%%slots+%zu], %%b%d_%d;\n", bits, block + (size_t)(k * SLOT),
                    bits, k);
    for (int i = 0; i < THREADS; i++)
        for (int k = 0; k < n; k++) {
            uint64_t x = loaded(type, element(t->in + (reversed ? THREADS - 1 - i : i) * OWN, type, k));
            memcpy(t->want + block + (size_t)(i * 4 * SLOT + k * SLOT), &x, SLOT);
        }
    for (int k = 0; k < n; k++)
        trial_check(t, (enum insn_code)f.code, block + (size_t)(k * SLOT), THREADS, 4 * SLOT, bits / 8, "%s",
                    spelled);
}

static struct form with_vector(struct form f, int n)
{
    int i = 0;
    while (f.mods[i])
        i++;
    if (n > 1)
        f.mods[i] = n == 2 ? MOD_v2 : MOD_v4;
    return f;
}

#define ALL_TYPES                                                                                            \
    {                                                                                                        \
        PT_b8, PT_b16, PT_b32, PT_b64, PT_u8, PT_u16, PT_u32, PT_u64, PT_s8, PT_s16, PT_s32, PT_s64, PT_f32, \
            PT_f64, PT_none                                                                                  \
    }

static void print_policy(struct text *p, bool first)
{
    text_printf(p, "createpolicy.fractional.L2::evict_%s.b64 %%policy;\n", first ? "first" : "last");
}

/* Tests each cache hint on loads from the input, and on stores to the output. Loads without a hint read the stored
 * values. */
static void try_hints(struct bench *b, enum insn_code code, const uint8_t (*hints)[3], int nhints)
{
    static const uint8_t types[] = ALL_TYPES;
    for (int h = 0; h < nhints; h++) {
        struct trial *t = begin(b);
        int number = 0;
        for (const uint8_t *type = types; *type; type++)
            for (int n = 1; n <= 4 && n * ptype_info[*type].bits <= 128; n *= 2) {
                struct form f = with_vector(
                    (struct form){(uint8_t)code, *type, 0, {hints[h][0], hints[h][1], hints[h][2]}, 0}, n);
                struct form plain = with_vector((struct form){INSN_ld, *type, 0, {MOD_global}, 0}, n);
                if (has_mod(f, MOD_l2_hint))
                    print_policy(&t->ptx, h % 2);
                print_access(&t->ptx, code == INSN_ld ? f : plain, "%in");
                if (code == INSN_ld) {
                    check_loaded(t, f, number++, false);
                    continue;
                }
                char at[40], spelled[NAME_BYTES];
                snprintf(at, sizeof at, "%%slots+%d", number * BLOCK);
                print_access(&t->ptx, f, at);
                form_spell(f, spelled, sizeof spelled);
                for (int i = 0; i < THREADS; i++)
                    memcpy(t->want + number * BLOCK + i * 4 * SLOT, t->in + i * OWN,
                           (size_t)(n * ptype_info[*type].bits / 8));
                /* also check that the store leaves the bytes after it unchanged */
                for (int k = 0; k < 4; k++)
                    trial_check(t, code, (size_t)(number * BLOCK + k * SLOT), THREADS, 4 * SLOT, SLOT, "%s",
                                spelled);
                number++;
            }
        if (has_mod((struct form){.mods = {hints[h][1], hints[h][2]}}, MOD_l2_hint))
            trial_check(t, INSN_createpolicy, 0, THREADS, 4 * SLOT, 1, "createpolicy");
        end(b, t);
    }
}

static void try_shared(struct bench *b)
{
    static const uint8_t types[] = ALL_TYPES;
    struct trial *t = begin(b);
    int number = 0;
    for (const uint8_t *type = types; *type; type++)
        for (int n = 1; n <= 4 && n * ptype_info[*type].bits <= 128; n *= 2) {
            struct form st = with_vector((struct form){INSN_st, *type, 0, {MOD_shared}, 0}, n), ld = st;
            ld.code = INSN_ld;
            print_access(&t->ptx, with_vector((struct form){INSN_ld, *type, 0, {MOD_global}, 0}, n), "%in");
            print_access(&t->ptx, st, "%mine");
            text_printf(&t->ptx, "bar.sync 0;\n");
            print_access(&t->ptx, ld, "%other");
            text_printf(&t->ptx, "bar.sync 0;\n");
            check_loaded(t, ld, number, true);
            st.type = ld.type;
            char spelled[NAME_BYTES];
            form_spell(st, spelled, sizeof spelled);
            trial_check(t, INSN_st, (size_t)(number * BLOCK), THREADS, 4 * SLOT,
                        register_bits((enum ptype) * type) / 8, "%s", spelled);
            number++;
        }
    trial_check(t, INSN_bar, 0, THREADS, 4 * SLOT, 1, "bar.sync 0");
    end(b, t);
}

static void try_parameters(struct bench *b)
{
    static const uint8_t types[] = ALL_TYPES;
    struct trial *t = begin(b);
    int number = 0;
    for (const uint8_t *type = types; *type; type++, number++) {
        struct form f = {INSN_ld_param, *type, 0, {0}, 0};
        char spelled[NAME_BYTES];
        int bits = register_bits((enum ptype) * type);
        uint64_t x = loaded((enum ptype) * type, PARAM_WORD);
        form_spell(f, spelled, sizeof spelled);
        text_printf(&t->ptx, "%s %%b%d_0, [p_word];\nst.global.b%d [%%slots+%d], %%b%d_0;\n", spelled, bits,
                    bits, number * BLOCK, bits);
        for (int i = 0; i < THREADS; i++)
            memcpy(t->want + number * BLOCK + i * 4 * SLOT, &x, SLOT);
        trial_check(t, INSN_ld_param, (size_t)(number * BLOCK), THREADS, 4 * SLOT, bits / 8, "%s", spelled);
    }
    end(b, t);
}

/* -- cp.async: writes 4, 8 or 16 bytes: as many from the source as an operand says, and zeros behind these bytes -- */

static void try_copies(struct bench *b)
{
    struct trial *t = begin(b);
    int number = 0;
    for (int bytes = 4; bytes <= OWN; bytes *= 2)
        /* a copy that reads all or some bytes, with cache operator ca or cg */
        for (int how = 0; how < (bytes == OWN ? 4 : 2); how++, number++) {
            bool part = how & 1, cg = how & 2;
            const char *cache = cg ? "cg" : "ca";
            text_printf(&t->ptx,
                        "rem.u32 %%size, %%t, %d;\nst.shared.v4.b32 [%%mine], {%%t, %%t, %%t, %%t};\n",
                        bytes + 1);
            text_printf(&t->ptx, "cp.async.%s.shared.global [%%mine], [%%in], %d%s;\n", cache, bytes,
                        part ? ", %size" : "");
            text_printf(&t->ptx, "cp.async.commit_group;\n"
                                 "cp.async.ca.shared.global [%%mine+1024], [%%in], 4;\n"
                                 "cp.async.commit_group;\ncp.async.wait_group 1;\n");
            text_printf(&t->ptx,
                        "bar.sync 0;\nld.shared.v2.b64 {%%b64_0, %%b64_1}, [%%other];\nbar.sync 0;\n"
                        "cp.async.wait_group 0;\nst.global.b64 [%%slots+%d], %%b64_0;\n"
                        "st.global.b64 [%%slots+%d], %%b64_1;\n",
                        number * BLOCK, number * BLOCK + SLOT);
            for (int i = 0; i < THREADS; i++) {
                uint32_t from = (uint32_t)(THREADS - 1 - i), words[4] = {from, from, from, from};
                memset(words, 0, (size_t)bytes);
                memcpy(words, t->in + from * OWN, part ? from % (uint32_t)(bytes + 1) : (uint32_t)bytes);
                memcpy(t->want + number * BLOCK + i * 4 * SLOT, words, sizeof words);
            }
            for (int k = 0; k < 2; k++) {
                size_t at = (size_t)(number * BLOCK + k * SLOT);
                trial_check(t, INSN_cp_async, at, THREADS, 4 * SLOT, SLOT, "cp.async.%s %d bytes, %s", cache,
                            bytes, part ? "in part" : "all");
                trial_check(t, INSN_cp_async_wait, at, THREADS, 4 * SLOT, SLOT, "cp.async.wait_group");
            }
            trial_check(t, INSN_cp_async_commit, (size_t)(number * BLOCK), THREADS, 4 * SLOT, SLOT,
                        "cp.async.commit_group");
        }
    end(b, t);
}

/* -- atomics -- */

enum { ELEMS = 1024, ATOM_THREADS = 128, OPERANDS = 3, SLOTS_BYTES = ELEMS * SLOT, ATOM_FORMS = 16 };

static enum mod operation(struct form f)
{
    for (int i = 0; i < MODS_MOST; i++)
        if (f.mods[i] >= MOD_add && f.mods[i] <= MOD_cas)
            return (enum mod)f.mods[i];
    return MOD_none;
}

/* Atomic f32 additions in global memory flush subnormal numbers to zero (PTX ISA, "atom"). */
static uint64_t flushed(bool flushes, uint64_t x)
{
    return flushes && !(x & 0x7f800000) ? x & 0x80000000 : x;
}

static uint64_t want_sum(struct form f, uint64_t old, uint64_t x)
{
    enum ptype t = (enum ptype)f.type;
    bool flushes = t == PT_f32 && has_mod(f, MOD_global);
    if (!holds_float(t))
        return old + x;
    struct real a = real_of(t, flushed(flushes, old)), y = real_of(t, flushed(flushes, x));
    return flushed(flushes, real_round(t, real_add(a, y), MOD_rn, false));
}

static uint64_t want_memory(struct form f, uint64_t old, uint64_t x, uint64_t y)
{
    enum ptype t = (enum ptype)f.type;
    bool below = t == PT_s32 ? (int32_t)x < (int32_t)old : t == PT_s64 ? (int64_t)x < (int64_t)old : x < old;
    switch (operation(f)) {
    case MOD_add: return want_sum(f, old, x);
    case MOD_min: return below ? x : old;
    case MOD_max: return below ? old : x;
    case MOD_and: return old & x;
    case MOD_or: return old | x;
    case MOD_xor: return old ^ x;
    case MOD_inc: return old >= x ? 0 : old + 1;
    case MOD_dec: return old == 0 || old > x ? x : old - 1;
    case MOD_exch: return x;
    default: return old == x ? y : old;
    }
}

static struct trial *begin_atomics(struct bench *b)
{
    struct trial *t =
        trial_new(b, (size_t)ATOM_FORMS * OPERANDS * SLOTS_BYTES, (size_t)ATOM_FORMS * 2 * SLOTS_BYTES);
    t->threads = ATOM_THREADS;
    t->grid = ELEMS / ATOM_THREADS;
    t->shared_bytes = ATOM_THREADS * SLOT;
    kernel_head(t);
    text_printf(&t->ptx,
                ".reg .b16 %%b16_<4>;\n.reg .b32 %%b32_<4>, %%mine;\n.reg .b64 %%b64_<4>;\n"
                "mad.lo.u32 %%mine, %%t, 8, %%sm;\nmad.lo.u32 %%cta, %%cta, %d, %%t;\nmul.wide.u32 %%wide, "
                "%%cta, 8;\n"
                "add.s64 %%in, %%in, %%wide;\nadd.s64 %%out, %%out, %%wide;\n",
                ATOM_THREADS);
    return t;
}

/* For each element, a thread sets its own word of memory to operand 0. The thread then executes the atomic on this
 * word with operands 1 and 2, and stores the result and the word to the output. */
static void add_atomic(struct trial *t, struct form f, int number)
{
    size_t in = (size_t)number * OPERANDS * SLOTS_BYTES, out = (size_t)number * 2 * SLOTS_BYTES;
    int bits = register_bits((enum ptype)f.type);
    bool shared = has_mod(f, MOD_shared), is_cas = operation(f) == MOD_cas;
    char spelled[NAME_BYTES], at[40];
    form_spell(f, spelled, sizeof spelled);
    snprintf(at, sizeof at, shared ? "[%%mine]" : "[%%out+%zu]", out);
    for (int k = 0; k < OPERANDS; k++)
        text_printf(&t->ptx, "ld.global.b%d %%b%d_%d, [%%in+%zu];\n", bits, bits, k,
                    in + (size_t)(k * SLOTS_BYTES));
    text_printf(&t->ptx, "st.%s.b%d %s, %%b%d_0;\n%s ", shared ? "shared" : "global", bits, at, bits,
                spelled);
    if (f.code == INSN_atom)
        text_printf(&t->ptx, "%%b%d_3, ", bits);
    text_printf(&t->ptx, "%s, %%b%d_1", at, bits);
    if (is_cas)
        text_printf(&t->ptx, ", %%b%d_2", bits);
    text_printf(&t->ptx, ";\n");
    if (f.code == INSN_atom)
        text_printf(&t->ptx, "st.global.b%d [%%out+%zu], %%b%d_3;\n", bits, out + SLOTS_BYTES, bits);
    if (shared)
        text_printf(&t->ptx, "ld.shared.b%d %%b%d_3, [%%mine];\nst.global.b%d [%%out+%zu], %%b%d_3;\n", bits,
                    bits, bits, out, bits);
    for (int i = 0; i < ELEMS; i++) {
        uint64_t x[OPERANDS], after;
        for (int k = 0; k < OPERANDS; k++)
            x[k] = operand_bits((enum ptype)f.type, i, k);
        if (is_cas && i % 3)
            x[1] = x[0];
        for (int k = 0; k < OPERANDS; k++)
            memcpy(t->in + in + (size_t)(k * SLOTS_BYTES + i * SLOT), &x[k], SLOT);
        after = want_memory(f, x[0], x[1], x[2]);
        memcpy(t->want + out + (size_t)(i * SLOT), &after, SLOT);
        memcpy(t->want + out + (size_t)(SLOTS_BYTES + i * SLOT), &x[0], SLOT);
    }
    for (size_t k = 0; k < 1 + (f.code == INSN_atom); k++) {
        struct check *c = trial_check(t, (enum insn_code)f.code, out + k * SLOTS_BYTES, ELEMS, SLOT, bits / 8,
                                      "%s%s", spelled, k ? ", the old value" : "");
        c->form = f;
        c->in_at = in;
        c->has_operands = true;
    }
}

struct batch {
    struct bench *b;
    struct trial *t;
    int n;
};

static void end_atomics(struct batch *y)
{
    if (y->n)
        end(y->b, y->t);
    y->n = 0;
}

static void try_atomic(struct batch *y, enum insn_code code, const uint8_t *order, enum mod space,
                       enum mod op, enum ptype t)
{
    struct form f = {.code = (uint8_t)code, .type = (uint8_t)t};
    int n = 0;
    for (; n < 2 && *order; order++)
        f.mods[n++] = *order;
    f.mods[n++] = (uint8_t)space;
    f.mods[n++] = (uint8_t)op;
    if (t == PT_f16 || t == PT_bf16)
        f.mods[n] = MOD_noftz;
    if (y->n == 0)
        y->t = begin_atomics(y->b);
    add_atomic(y->t, f, y->n++);
    if (y->n == ATOM_FORMS)
        end_atomics(y);
}

struct atomic {
    uint8_t op, types[8];
};

static const struct atomic atomics[] = {
    {MOD_add, {PT_u32, PT_s32, PT_u64, PT_f32, PT_f64, PT_f16, PT_bf16}},
    {MOD_min, {PT_u32, PT_s32, PT_u64, PT_s64}},
    {MOD_max, {PT_u32, PT_s32, PT_u64, PT_s64}},
    {MOD_and, {PT_b32, PT_b64}},
    {MOD_or, {PT_b32, PT_b64}},
    {MOD_xor, {PT_b32, PT_b64}},
    {MOD_inc, {PT_u32}},
    {MOD_dec, {PT_u32}},
    {MOD_exch, {PT_b32, PT_b64}},
    {MOD_cas, {PT_b16, PT_b32, PT_b64}},
};

static bool is_reduction(enum mod op)
{
    return op != MOD_exch && op != MOD_cas;
}

static void try_atomics(struct bench *b)
{
    static const uint8_t sems[] = {MOD_acq_rel, MOD_acquire, MOD_release, MOD_relaxed},
                         scopes[] = {MOD_gpu, MOD_cta, MOD_sys};
    static const uint8_t none[] = {0}, relaxed[] = {MOD_relaxed, MOD_gpu};
    struct batch y = {.b = b};
    for (size_t i = 0; i < sizeof atomics / sizeof *atomics; i++)
        for (const uint8_t *t = atomics[i].types; *t; t++)
            for (int space = 0; space < 2; space++) {
                enum mod s = space ? MOD_shared : MOD_global, op = (enum mod)atomics[i].op;
                try_atomic(&y, INSN_atom, space ? none : relaxed, s, op, (enum ptype) * t);
                if (is_reduction(op))
                    try_atomic(&y, INSN_red, space ? none : relaxed, s, op, (enum ptype) * t);
            }
    for (size_t i = 0; i < sizeof sems; i++)
        for (size_t j = 0; j < sizeof scopes; j++) {
            const uint8_t order[] = {sems[i], scopes[j]};
            try_atomic(&y, INSN_atom, order, MOD_global, MOD_add, PT_s32);
            try_atomic(&y, INSN_atom, order, MOD_global, MOD_cas, PT_b64);
            if (sems[i] == MOD_release || sems[i] == MOD_relaxed)
                try_atomic(&y, INSN_red, order, MOD_global, MOD_add, PT_f32);
        }
    end_atomics(&y);
}

/* All threads of four CTAs add to the same words. There is one word for each type and state space, which the host has
 * filled with 0xee bytes. */
static void try_contention(struct bench *b)
{
    static const char *const forms[] = {"atom.relaxed.gpu.global.add.u32", "red.relaxed.gpu.global.add.u32",
                                        "red.release.gpu.global.max.u32", "atom.acq_rel.gpu.global.xor.b32"};
    struct trial *t = trial_new(b, SLOT, SLOT * 4);
    t->grid = 4;
    t->threads = ATOM_THREADS;
    kernel_head(t);
    text_printf(&t->ptx, ".reg .b32 %%d, %%x;\nmad.lo.u32 %%x, %%cta, %d, %%t;\n", ATOM_THREADS);
    for (size_t i = 0; i < 4; i++) {
        bool is_atom = forms[i][0] == 'a';
        uint32_t sum = 0xeeeeeeee;
        text_printf(&t->ptx, "%s %s[%%out+%zu], %%x;\n", forms[i], is_atom ? "%d, " : "", i * SLOT);
        for (uint32_t k = 0; k < 4 * ATOM_THREADS; k++)
            sum = i < 2 ? sum + k : i == 2 ? (k > sum ? k : sum) : sum ^ k;
        memcpy(t->want + i * SLOT, &sum, sizeof sum);
        trial_check(t, is_atom ? INSN_atom : INSN_red, i * SLOT, 1, SLOT, sizeof sum, "%s by all", forms[i]);
    }
    end(b, t);
}

/* The first thread of a CTA sets vectors of f32 to 0. Then each thread adds (thread, thread + 1, ...) four times to
 * these vectors. */
static void try_vector_sums(struct bench *b)
{
    enum { VECTOR = 4, BYTES = VECTOR * sizeof(float), KINDS = 2 };
    static const char *const forms[KINDS] = {"red.relaxed.gpu.global.add.v2.f32",
                                             "red.release.gpu.global.add.v4.f32"};
    struct trial *t = trial_new(b, SLOT, KINDS * BYTES);
    t->grid = 1;
    t->threads = ATOM_THREADS;
    kernel_head(t);
    text_printf(&t->ptx, ".reg .pred %%first;\n.reg .b32 %%x<4>;\nsetp.eq.u32 %%first, %%t, 0;\n");
    for (size_t i = 0; i < KINDS * VECTOR; i++)
        text_printf(&t->ptx, "@%%first st.global.b32 [%%out+%zu], 0;\n", i * sizeof(float));
    text_printf(&t->ptx, "bar.sync 0;\ncvt.rn.f32.u32 %%x0, %%t;\n");
    for (size_t i = 1; i < VECTOR; i++)
        text_printf(&t->ptx, "add.rn.f32 %%x%zu, %%x%zu, 0f3F800000;\n", i, i - 1);
    for (size_t i = 0; i < KINDS; i++) {
        const char *more = i ? ", %x2, %x3" : "";
        for (size_t k = 0; k < VECTOR; k++)
            text_printf(&t->ptx, "%s [%%out+%zu], {%%x0, %%x1%s};\n", forms[i], i * BYTES, more);
        for (size_t k = 0; k < VECTOR; k++) {
            float sum =
                i || k < 2 ? (float)(VECTOR * ATOM_THREADS * ((ATOM_THREADS - 1) / 2.0 + (double)k)) : 0;
            memcpy(t->want + i * BYTES + k * sizeof sum, &sum, sizeof sum);
        }
        trial_check(t, INSN_red, i * BYTES, VECTOR, sizeof(float), sizeof(float), "%s", forms[i]);
    }
    end(b, t);
}

void try_memory(struct bench *b)
{
    static const uint8_t loads[][3] = {{MOD_global},
                                       {MOD_global, MOD_ca},
                                       {MOD_global, MOD_cg},
                                       {MOD_global, MOD_cs},
                                       {MOD_global, MOD_cv},
                                       {MOD_volatile, MOD_global},
                                       {MOD_global, MOD_l1_first, MOD_l2_hint},
                                       {MOD_global, MOD_l1_last, MOD_l2_hint},
                                       {MOD_global, MOD_ca, MOD_l2_hint},
                                       {MOD_global, MOD_cg, MOD_l2_hint}};
    static const uint8_t stores[][3] = {{MOD_global},
                                        {MOD_global, MOD_wb},
                                        {MOD_global, MOD_cg},
                                        {MOD_global, MOD_cs},
                                        {MOD_global, MOD_wt},
                                        {MOD_volatile, MOD_global},
                                        {MOD_global, MOD_l1_first, MOD_l2_hint},
                                        {MOD_global, MOD_l1_last, MOD_l2_hint},
                                        {MOD_global, MOD_wb, MOD_l2_hint},
                                        {MOD_global, MOD_cg, MOD_l2_hint}};
    try_hints(b, INSN_ld, loads, sizeof loads / sizeof *loads);
    try_hints(b, INSN_st, stores, sizeof stores / sizeof *stores);
    try_shared(b);
    try_parameters(b);
    try_copies(b);
    try_atomics(b);
    try_contention(b);
    try_vector_sums(b);
}
