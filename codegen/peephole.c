/* peephole.c: fewer instructions.
 *
 *     shl t, %tid, 2; add a, t, 1; add b, pid512, a        shl t, %tid, 2; mad s, pid, 512, t
 *     mul.wide c, b, 4; add q, p, c; ld x, [q]        =>    mul.wide c, s, 4; add q, p, c; ld x, [q+4]
 *
 * Forwards: copies and constants go into their uses, constants move outwards through additions until they reach an address,
 * and what has been computed in a dominating place is not computed again. Then fusions that need to know how often a value
 * is used (mad, fma, setp with and), and what nobody uses goes.
 *
 * A sum with a constant moves out of a sign extension only where it cannot wrap: where the constant's bits are zero in the
 * other operand. For each register we know which bits may be set; tiles' sizes being powers of two, that suffices for the
 * offsets of a layout's registers.
 */
#include "codegen/mir.h"

#include <string.h>

struct reg_info {
    struct opnd alias;   /* OPND_none, or what to use instead */
    struct insn *def;    /* the only definition, already rewritten; NULL: several, or not yet seen */
    uint64_t bits;       /* those that may be set */
    int block;           /* of def */
    int ndefs, nuses;
    bool stable;         /* every use sees the same value: one definition, and guarded ones right after it */
};

struct peep {
    struct mir *m;
    VEC(struct reg_info) regs;
    struct mblock *b;              /* being rewritten */
    VEC(struct insn *) out;        /* its new instructions */
    struct insn **table;           /* open addressing: instructions that compute something anew */
    int *table_block;              /* where they stand */
    int table_size, table_used;
};

static struct opnd make(struct peep *p, struct form form, int n, const struct opnd *x);
static void process(struct peep *p, struct insn *in);

static bool is_reg(struct opnd x)
{
    return x.kind == OPND_reg;
}

static bool is_imm(struct opnd x)
{
    return x.kind == OPND_imm;
}

static struct form form_of(enum insn_code code, enum ptype type)
{
    return (struct form){.code = (uint8_t)code, .type = (uint8_t)type};
}

static struct opnd imm_like(struct opnd x, int64_t i)
{
    return opnd_int(x.cls, i);
}

/* The single definition of x by this instruction, or NULL. */
static struct insn *def_of(const struct peep *p, struct opnd x, enum insn_code code)
{
    struct insn *in = is_reg(x) ? p->regs.at[x.n].def : NULL;
    return in && in->form.code == code ? in : NULL;
}

static bool is_integer(const struct insn *in)
{
    enum reg_class cls = ptype_info[in->form.type].cls;
    switch (in->form.type) {
    case PT_f16: case PT_bf16: case PT_f16x2: case PT_bf16x2: return false;
    default: return cls != CLASS_pred && cls != CLASS_f32 && cls != CLASS_f64;
    }
}

static int type_bits(const struct insn *in)
{
    return ptype_info[in->form.type].bits;
}

static uint64_t low_mask(int bits)
{
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* An integer as a type of so many bits holds it, sign-extended. */
static int64_t wrap(uint64_t x, int bits)
{
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return (int64_t)(((x & low_mask(bits)) ^ sign) - sign);
}

/* -- bits that may be set -- */

static uint64_t bits_of(const struct peep *p, struct opnd x)
{
    if (is_imm(x))
        return (uint64_t)x.i & low_mask(class_info[x.cls].bits);
    if (is_reg(x))
        return p->regs.at[x.n].bits;
    if (x.kind == OPND_special && x.n == SPECIAL_tid)
        return (uint64_t)p->m->nthreads - 1;
    return UINT64_MAX;
}

static uint64_t param_bits(const struct peep *p, int index)
{
    uint64_t divisible = (uint64_t)p->m->func->params.at[index].divisible;
    uint64_t low = divisible & (0 - divisible);
    return low ? ~(low - 1) : UINT64_MAX;
}

/* All from the lowest that may be set. */
static uint64_t from_lowest(uint64_t bits)
{
    return bits ? ~((bits & (0 - bits)) - 1) : 0;
}

static uint64_t result_bits(const struct peep *p, const struct insn *in)
{
    const struct opnd *x = in->opnds;
    switch (in->form.code) {
    case INSN_mov:      return bits_of(p, x[1]);
    case INSN_ld_param: return param_bits(p, x[1].n);
    case INSN_and:      return bits_of(p, x[1]) & bits_of(p, x[2]);
    case INSN_or:
    case INSN_xor:      return bits_of(p, x[1]) | bits_of(p, x[2]);
    case INSN_selp:     return bits_of(p, x[1]) | bits_of(p, x[2]);
    case INSN_shl:      return is_imm(x[2]) && x[2].i < 64 ? bits_of(p, x[1]) << x[2].i : UINT64_MAX;
    case INSN_shr:
        if (is_imm(x[2]) && x[2].i < 64 && !(bits_of(p, x[1]) >> (type_bits(in) - 1) & 1))
            return bits_of(p, x[1]) >> x[2].i;
        return UINT64_MAX;
    case INSN_add: {
        uint64_t a = bits_of(p, x[1]), b = bits_of(p, x[2]);
        return a & b ? from_lowest(a | b) : a | b;
    }
    case INSN_mul_lo: {
        uint64_t a = from_lowest(bits_of(p, x[1])), b = from_lowest(bits_of(p, x[2]));
        return a && b ? from_lowest((a & (0 - a)) * (b & (0 - b))) : 0;
    }
    default: return UINT64_MAX;
    }
}

/* -- simplification: true if the instruction is no longer needed -- */

/* The result is x. A constant is also kept in the register, for instructions that take no constants. */
static bool becomes(struct peep *p, struct insn *in, struct opnd x)
{
    struct reg_info *d = &p->regs.at[in->opnds[0].n];
    if (d->ndefs != 1 || in->guard >= 0 || x.cls != in->opnds[0].cls)
        return false;
    if (is_reg(x) ? !p->regs.at[x.n].stable : !is_imm(x))
        return false;
    d->alias = x;
    if (is_imm(x)) {
        in->form = form_mov(x.cls);
        in->nopnds = 2;
        in->opnds[1] = x;
    }
    return is_reg(x);
}

static void rewrite(struct insn *in, enum insn_code code, int nopnds, struct opnd a, struct opnd b)
{
    in->form.code = (uint8_t)code;
    in->nopnds = (uint8_t)nopnds;
    in->opnds[1] = a;
    in->opnds[2] = b;
}

/* add x, y where x is (z + c): (z + y) + c, so that constants come last. */
static bool move_constant_out(struct peep *p, struct insn *in, struct opnd x, struct opnd y)
{
    const struct insn *inner = def_of(p, x, INSN_add);
    if (!inner || !is_imm(inner->opnds[2]))
        return false;
    struct opnd c = inner->opnds[2];
    if (is_imm(y)) {
        in->opnds[1] = inner->opnds[1];
        in->opnds[2] = imm_like(y, wrap((uint64_t)c.i + (uint64_t)y.i, type_bits(in)));
        return true;
    }
    in->opnds[1] = make(p, in->form, 2, (struct opnd[]){inner->opnds[1], y});
    in->opnds[2] = c;
    return true;
}

static bool simplify_add(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (!is_integer(in))
        return false;
    if (is_imm(x[1]) && is_imm(x[2]))
        return becomes(p, in, imm_like(x[1], wrap((uint64_t)x[1].i + (uint64_t)x[2].i, type_bits(in))));
    if (p->regs.at[x[0].n].ndefs == 1)
        while (move_constant_out(p, in, x[1], x[2]) || (is_reg(x[2]) && move_constant_out(p, in, x[2], x[1])))
            ;
    return opnd_is_imm(x[2], 0) && becomes(p, in, x[1]);
}

static bool simplify_sub(struct peep *p, struct insn *in)
{
    if (!is_integer(in) || !is_imm(in->opnds[2]))
        return false;
    struct opnd negated = imm_like(in->opnds[2], wrap(0 - (uint64_t)in->opnds[2].i, type_bits(in)));
    rewrite(in, INSN_add, 3, in->opnds[1], negated);
    return simplify_add(p, in);
}

/* (x + c) * k, and shifts: x * k + c * k */
static bool distribute(struct peep *p, struct insn *in, uint64_t factor)
{
    const struct insn *inner = def_of(p, in->opnds[1], INSN_add);
    if (!inner || !is_imm(inner->opnds[2]) || p->regs.at[in->opnds[0].n].ndefs != 1)
        return false;
    struct opnd c = inner->opnds[2];
    struct opnd product = make(p, in->form, 2, (struct opnd[]){inner->opnds[1], in->opnds[2]});
    rewrite(in, INSN_add, 3, product, imm_like(c, wrap((uint64_t)c.i * factor, type_bits(in))));
    return true;
}

static bool simplify_mul(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (!is_imm(x[2]))
        return false;
    if (is_imm(x[1]))
        return becomes(p, in, imm_like(x[1], wrap((uint64_t)x[1].i * (uint64_t)x[2].i, type_bits(in))));
    if (x[2].i == 1)
        return becomes(p, in, x[1]);
    if (x[2].i == 0)
        return becomes(p, in, x[2]);
    return distribute(p, in, (uint64_t)x[2].i) && simplify_add(p, in);
}

static bool simplify_shl(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (!is_imm(x[2]) || x[2].i >= type_bits(in))
        return false;
    if (x[2].i == 0)
        return becomes(p, in, x[1]);
    if (is_imm(x[1]))
        return becomes(p, in, imm_like(x[1], wrap((uint64_t)x[1].i << x[2].i, type_bits(in))));
    return false;
}

/* The addition of a constant that sets bits which are zero in the other operand, of s32 or u32: it cannot wrap. */
static const struct insn *exact_add(const struct peep *p, struct opnd x)
{
    const struct insn *add = def_of(p, x, INSN_add);
    if (!add || !is_imm(add->opnds[2]) || ptype_info[add->form.type].bits != 32)
        return NULL;
    int64_t c = add->opnds[2].i;
    return c > 0 && c <= INT32_MAX && !(bits_of(p, add->opnds[1]) & (uint64_t)c) ? add : NULL;
}

/* Widening (x + c): the widened x, plus the constant (times factor). */
static bool widen_apart(struct peep *p, struct insn *in, int64_t factor, const struct opnd *rest, int nrest)
{
    const struct insn *add = exact_add(p, in->opnds[1]);
    if (!add || p->regs.at[in->opnds[0].n].ndefs != 1)
        return false;
    struct opnd x[2] = {add->opnds[1]};
    for (int i = 0; i < nrest; i++)
        x[1 + i] = rest[i];
    struct opnd wide = make(p, in->form, 1 + nrest, x), *opnds = NEW_ARRAY(p->m->arena, 3, struct opnd);
    opnds[0] = in->opnds[0];
    in->opnds = opnds;
    in->form = form_of(INSN_add, PT_s64);
    rewrite(in, INSN_add, 3, wide, opnd_int(CLASS_b64, add->opnds[2].i * factor));
    return true;
}

static bool simplify_wide(struct peep *p, struct insn *in)
{
    struct opnd *x = in->opnds;
    if (in->form.type != PT_s32 || !is_imm(x[2]))
        return false;
    if (is_imm(x[1]))
        return becomes(p, in, opnd_int(CLASS_b64, x[1].i * x[2].i));
    return widen_apart(p, in, x[2].i, &x[2], 1) && simplify_add(p, in);
}

static bool simplify_cvt(struct peep *p, struct insn *in)
{
    if (in->form.type != PT_s64 || in->form.from != PT_s32)
        return false;
    if (is_imm(in->opnds[1]))
        return becomes(p, in, opnd_int(CLASS_b64, (int32_t)in->opnds[1].i));
    return widen_apart(p, in, 1, NULL, 0) && simplify_add(p, in);
}

/* x as y + c that cannot wrap; c is 0 if x is no such sum. */
static struct opnd split_exact(const struct peep *p, struct opnd x, int64_t *c)
{
    const struct insn *add = exact_add(p, x);
    *c = add ? add->opnds[2].i : 0;
    return add ? add->opnds[1] : x;
}

/* Does predicate a imply b? So it is for x + 3 < n and x + 1 < n: masks of neighbours. */
static bool implies(const struct peep *p, struct opnd a, struct opnd b)
{
    const struct insn *m = def_of(p, a, INSN_setp), *n = def_of(p, b, INSN_setp);
    if (!m || !n || memcmp(&m->form, &n->form, sizeof m->form) || !opnd_same(m->opnds[2], n->opnds[2]) || m->form.type != PT_s32)
        return false;
    int64_t c, d;
    if (!opnd_same(split_exact(p, m->opnds[1], &c), split_exact(p, n->opnds[1], &d)))
        return false;
    switch (m->form.mods[0]) {
    case MOD_lt: case MOD_le: return c >= d;
    case MOD_gt: case MOD_ge: return c <= d;
    default: return false;
    }
}

static bool simplify_not(struct peep *p, struct insn *in)
{
    const struct insn *inner = def_of(p, in->opnds[1], INSN_not);
    if (is_imm(in->opnds[1]) && in->opnds[1].cls == CLASS_pred)
        return becomes(p, in, opnd_int(CLASS_pred, !in->opnds[1].i));
    return inner && becomes(p, in, inner->opnds[1]);
}

static bool simplify_logic(struct peep *p, struct insn *in)
{
    struct opnd x = in->opnds[1], y = in->opnds[2];
    int code = in->form.code;
    if (opnd_same(x, y) && is_reg(x))
        return becomes(p, in, code == INSN_xor ? imm_like(x, 0) : x);
    if (x.cls == CLASS_pred && code != INSN_xor && implies(p, x, y))
        return becomes(p, in, code == INSN_and ? x : y);
    if (x.cls == CLASS_pred && code != INSN_xor && implies(p, y, x))
        return becomes(p, in, code == INSN_and ? y : x);
    if (!is_imm(y))
        return false;
    uint64_t all = low_mask(class_info[y.cls].bits), b = (uint64_t)y.i & all;
    if (is_imm(x)) {
        uint64_t a = (uint64_t)x.i & all;
        uint64_t r = code == INSN_and ? a & b : code == INSN_or ? a | b : a ^ b;
        return becomes(p, in, imm_like(x, y.cls == CLASS_pred ? (int64_t)r : wrap(r, class_info[y.cls].bits)));
    }
    if (y.cls == CLASS_pred && b && code == INSN_xor) {
        in->form.code = INSN_not;
        in->nopnds = 2;
        return simplify_not(p, in);
    }
    if (b == 0)
        return becomes(p, in, code == INSN_and ? y : x);
    if (b == all && code != INSN_xor)
        return becomes(p, in, code == INSN_and ? x : y);
    return code == INSN_and && !(bits_of(p, x) & ~b) && is_integer(in) && becomes(p, in, x);
}

static bool simplify_selp(struct peep *p, struct insn *in)
{
    const struct opnd *x = in->opnds;
    if (opnd_same(x[1], x[2]))
        return becomes(p, in, x[1]);
    return is_imm(x[3]) && becomes(p, in, x[3].i ? x[1] : x[2]);
}

static bool compare(enum mod mod, bool with_sign, int64_t x, int64_t y)
{
    int order = with_sign ? (x > y) - (x < y) : ((uint64_t)x > (uint64_t)y) - ((uint64_t)x < (uint64_t)y);
    switch (mod) {
    case MOD_eq: return order == 0;
    case MOD_ne: return order != 0;
    case MOD_lt: return order < 0;
    case MOD_le: return order <= 0;
    case MOD_gt: return order > 0;
    default:     return order >= 0;
    }
}

static bool simplify_setp(struct peep *p, struct insn *in)
{
    const struct opnd *x = in->opnds;
    if (!is_integer(in) || !is_imm(x[1]) || !is_imm(x[2]))
        return false;
    enum ptype t = in->form.type;
    bool with_sign = t == PT_s16 || t == PT_s32 || t == PT_s64;
    uint64_t mask = with_sign ? UINT64_MAX : low_mask(type_bits(in));
    bool r = compare(in->form.mods[0], with_sign, (int64_t)((uint64_t)x[1].i & mask), (int64_t)((uint64_t)x[2].i & mask));
    return becomes(p, in, opnd_int(CLASS_pred, r));
}

/* -- addresses and guards -- */

/* [x + c] where x is (y + d): [y + (c + d)] */
static void fold_address(const struct peep *p, struct opnd *at)
{
    enum { FAR = 1 << 23 }; /* what the hardware's loads can add */
    const struct insn *add;
    while ((add = def_of(p, (struct opnd){.kind = OPND_reg, .cls = at->cls, .n = at->n}, INSN_add)) &&
           is_imm(add->opnds[2]) && is_reg(add->opnds[1])) {
        int64_t offset = at->i + add->opnds[2].i;
        if (offset < -FAR || offset >= FAR)
            return;
        at->n = add->opnds[1].n;
        at->i = offset;
    }
}

/* False if the guard is known to be off: the instruction never happens. */
static bool resolve_guard(const struct peep *p, struct insn *in)
{
    while (in->guard >= 0) {
        const struct reg_info *g = &p->regs.at[in->guard];
        if (g->alias.kind == OPND_imm) {
            in->guard = -1;
            return (g->alias.i != 0) != in->guard_not;
        }
        if (g->alias.kind == OPND_reg) {
            in->guard = g->alias.n;
        } else if (g->def && g->def->form.code == INSN_not && is_reg(g->def->opnds[1])) {
            in->guard = g->def->opnds[1].n;
            in->guard_not = !in->guard_not;
        } else {
            return true;
        }
    }
    return true;
}

static void resolve_opnds(const struct peep *p, struct insn *in)
{
    for (int i = in->ndefs; i < in->nopnds; i++) {
        struct opnd *x = &in->opnds[i];
        while (x->kind == OPND_reg && (p->regs.at[x->n].alias.kind == OPND_reg ||
                                       (is_imm(p->regs.at[x->n].alias) && form_takes_imm(in->form))))
            *x = p->regs.at[x->n].alias;
        if (x->kind != OPND_addr)
            continue;
        while (p->regs.at[x->n].alias.kind == OPND_reg)
            x->n = p->regs.at[x->n].alias.n;
        fold_address(p, x);
    }
}

/* -- what was computed before -- */

static bool same_work(const struct insn *a, const struct insn *b)
{
    if (memcmp(&a->form, &b->form, sizeof a->form) || a->nopnds != b->nopnds || a->ndefs != b->ndefs || a->nvec != b->nvec)
        return false;
    for (int i = a->ndefs; i < a->nopnds; i++)
        if (!opnd_same(a->opnds[i], b->opnds[i]))
            return false;
    return true;
}

static uint64_t hash_work(const struct insn *in)
{
    uint64_t h = hash_bytes(&in->form, sizeof in->form, in->nopnds);
    for (int i = in->ndefs; i < in->nopnds; i++) {
        const struct opnd *x = &in->opnds[i];
        h = (h ^ (uint64_t)x->kind ^ (uint64_t)x->n << 8 ^ (uint64_t)x->i << 20) * UINT64_C(0x9e3779b97f4a7c15);
        h ^= h >> 29;
    }
    return h;
}

static bool dominates(const struct peep *p, int block, int other)
{
    while (other > block)
        other = p->m->blocks.at[other]->dominator;
    return other == block;
}

static bool may_share(const struct peep *p, const struct insn *in)
{
    if (!insn_has(in, PURE) || in->guard >= 0 || !in->ndefs)
        return false;
    for (int i = 0; i < in->ndefs; i++)
        if (p->regs.at[in->opnds[i].n].ndefs != 1)
            return false;
    for (int i = in->ndefs; i < in->nopnds; i++)
        if (is_reg(in->opnds[i]) && !p->regs.at[in->opnds[i].n].stable)
            return false;
    return true;
}

static void grow_table(struct peep *p)
{
    int old_size = p->table_size;
    struct insn **old = p->table;
    int *old_block = p->table_block;
    p->table_size = old_size ? 2 * old_size : 256;
    p->table = NEW_ARRAY(p->m->arena, p->table_size, struct insn *);
    p->table_block = NEW_ARRAY(p->m->arena, p->table_size, int);
    for (int i = 0; i < old_size; i++) {
        if (!old[i])
            continue;
        uint64_t at = hash_work(old[i]);
        while (p->table[at & (uint64_t)(p->table_size - 1)])
            at++;
        p->table[at & (uint64_t)(p->table_size - 1)] = old[i];
        p->table_block[at & (uint64_t)(p->table_size - 1)] = old_block[i];
    }
}

/* True if an equal instruction stands where this one can use its results. */
static bool shared_before(struct peep *p, struct insn *in)
{
    if (2 * p->table_used >= p->table_size)
        grow_table(p);
    uint64_t at = hash_work(in) & (uint64_t)(p->table_size - 1);
    for (; p->table[at]; at = (at + 1) & (uint64_t)(p->table_size - 1)) {
        const struct insn *before = p->table[at];
        if (!same_work(before, in))
            continue;
        int block = p->table_block[at];
        if (block == p->b->index || (!insn_has(in, WARP) && dominates(p, block, p->b->index))) {
            for (int i = 0; i < in->ndefs; i++)
                p->regs.at[in->opnds[i].n].alias = before->opnds[i];
            return true;
        }
        break;
    }
    p->table_used += !p->table[at];
    p->table[at] = in;
    p->table_block[at] = p->b->index;
    return false;
}

/* -- one instruction -- */

static void order_opnds(struct insn *in)
{
    if (!insn_has(in, COMMUTES))
        return;
    struct opnd a = in->opnds[1], b = in->opnds[2];
    if (is_imm(a) ? !is_imm(b) : is_reg(b) && is_reg(a) && b.n < a.n) {
        in->opnds[1] = b;
        in->opnds[2] = a;
    }
}

static bool simplify(struct peep *p, struct insn *in)
{
    if (in->guard >= 0)
        return false;
    switch (in->form.code) {
    case INSN_mov:      return becomes(p, in, in->opnds[1]);
    case INSN_add:      return simplify_add(p, in);
    case INSN_sub:      return simplify_sub(p, in);
    case INSN_mul_lo:   return simplify_mul(p, in);
    case INSN_mul_wide: return simplify_wide(p, in);
    case INSN_shl:      return simplify_shl(p, in);
    case INSN_cvt:      return simplify_cvt(p, in);
    case INSN_and:
    case INSN_or:
    case INSN_xor:      return simplify_logic(p, in);
    case INSN_not:      return simplify_not(p, in);
    case INSN_selp:     return simplify_selp(p, in);
    case INSN_setp:     return simplify_setp(p, in);
    default:            return false;
    }
}

static void process(struct peep *p, struct insn *in)
{
    resolve_opnds(p, in);
    if (!resolve_guard(p, in))
        return;
    order_opnds(in);
    if (simplify(p, in))
        return;
    order_opnds(in);
    if (may_share(p, in) && shared_before(p, in))
        return;
    for (int i = 0; i < in->ndefs; i++) {
        struct reg_info *d = &p->regs.at[in->opnds[i].n];
        bool only = d->ndefs == 1 && in->guard < 0;
        d->def = only ? in : NULL;
        d->block = p->b->index;
        if (only)
            d->bits = in->ndefs == 1 ? result_bits(p, in) : UINT64_MAX;
    }
    VEC_PUSH(p->m->arena, &p->out, in);
}

static struct opnd make(struct peep *p, struct form form, int n, const struct opnd *x)
{
    struct opnd all[4] = {mir_reg(p->m, form_class(form))};
    VEC_PUSH(p->m->arena, &p->regs, ((struct reg_info){.ndefs = 1, .stable = true, .bits = UINT64_MAX}));
    memcpy(all + 1, x, (size_t)n * sizeof *x);
    struct mblock holder = {0};
    struct insn *in = mir_append(p->m, &holder, form, 1, 1 + n, all);
    process(p, in);
    while (is_reg(all[0]) && p->regs.at[all[0].n].alias.kind != OPND_none)
        all[0] = p->regs.at[all[0].n].alias;
    return all[0];
}

static void rewrite_block(struct peep *p, struct mblock *b)
{
    p->b = b;
    p->out.at = NULL;
    p->out.n = p->out.cap = 0;
    for (int i = 0; i < b->insns.n; i++) {
        int before = p->out.n;
        process(p, b->insns.at[i]);
        for (int k = before; k < p->out.n; k++) {
            p->out.at[k]->loc = b->insns.at[i]->loc;
            p->out.at[k]->op = b->insns.at[i]->op;
        }
    }
    b->insns.at = p->out.at;
    b->insns.n = p->out.n;
    b->insns.cap = p->out.cap;
}

/* -- fusion -- */

static void count_uses(struct peep *p)
{
    for (int r = 0; r < p->regs.n; r++)
        p->regs.at[r].nuses = 0;
    for (int b = 0; b < p->m->blocks.n; b++)
        for (int i = 0; i < p->m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = p->m->blocks.at[b]->insns.at[i];
            for (int k = in->ndefs; k < in->nopnds; k++)
                if (in->opnds[k].kind == OPND_reg || in->opnds[k].kind == OPND_addr)
                    p->regs.at[in->opnds[k].n].nuses++;
            if (in->guard >= 0)
                p->regs.at[in->guard].nuses++;
        }
}

/* x's definition, if it is this instruction, stands in the same block, and nobody else uses it. */
static struct insn *only_for(const struct peep *p, const struct mblock *b, struct opnd x, enum insn_code code)
{
    struct insn *in = def_of(p, x, code);
    return in && p->regs.at[x.n].nuses == 1 && p->regs.at[x.n].block == b->index ? in : NULL;
}

static void become3(struct peep *p, struct insn *in, struct form form, struct opnd a, struct opnd b, struct opnd c)
{
    struct opnd *x = NEW_ARRAY(p->m->arena, 4, struct opnd);
    x[0] = in->opnds[0];
    x[1] = a;
    x[2] = b;
    x[3] = c;
    in->form = form;
    in->opnds = x;
    in->nopnds = 4;
}

static void drop_use(struct peep *p, struct opnd x)
{
    if (is_reg(x))
        p->regs.at[x.n].nuses--;
}

/* x * y + z in one instruction, if x * y is there for this only. The product's own operands get the use instead. */
static bool fuse_product(struct peep *p, const struct mblock *b, struct insn *in, struct opnd product, struct opnd z)
{
    struct form form = in->form;
    struct insn *mul;
    if (is_integer(in)) {
        if ((mul = only_for(p, b, product, INSN_mul_lo))) {
            form.code = INSN_mad_lo;
        } else if (type_bits(in) == 64 && (mul = only_for(p, b, product, INSN_mul_wide))) {
            form = mul->form;
            form.code = INSN_mad_wide;
        } else {
            return false;
        }
    } else {
        mul = p->m->func->fp_fusion ? only_for(p, b, product, INSN_mul) : NULL;
        if (!mul || mul->form.type != form.type || memcmp(mul->form.mods, form.mods, sizeof form.mods))
            return false;
        form.code = INSN_fma;
    }
    if (mul->guard >= 0)
        return false;
    drop_use(p, product);
    become3(p, in, form, mul->opnds[1], mul->opnds[2], z);
    for (int i = 1; i <= 2; i++)
        if (is_reg(mul->opnds[i]))
            p->regs.at[mul->opnds[i].n].nuses++;
    return true;
}

static bool fuse_add(struct peep *p, const struct mblock *b, struct insn *in)
{
    return in->guard < 0 && (fuse_product(p, b, in, in->opnds[1], in->opnds[2]) ||
                             fuse_product(p, b, in, in->opnds[2], in->opnds[1]));
}

/* setp q, x, y; not r, q  =>  setp of the contrary, which floats do not have (NaN). */
static void fuse_not(struct peep *p, const struct mblock *b, struct insn *in)
{
    static const uint8_t contrary[MOD_count] = {[MOD_eq] = MOD_ne, [MOD_ne] = MOD_eq, [MOD_lt] = MOD_ge,
                                                [MOD_ge] = MOD_lt, [MOD_gt] = MOD_le, [MOD_le] = MOD_gt};
    const struct insn *setp = in->guard < 0 ? only_for(p, b, in->opnds[1], INSN_setp) : NULL;
    if (!setp || !is_integer(setp))
        return;
    struct opnd *x = NEW_ARRAY(p->m->arena, 3, struct opnd);
    memcpy(x, setp->opnds, 3 * sizeof *x);
    x[0] = in->opnds[0];
    drop_use(p, in->opnds[1]);
    in->form = setp->form;
    in->form.mods[0] = contrary[setp->form.mods[0]];
    in->opnds = x;
    in->nopnds = 3;
    for (int i = 1; i <= 2; i++)
        if (is_reg(x[i]))
            p->regs.at[x[i].n].nuses++;
}

/* setp q, x, y; and r, q, s  =>  setp.and r, x, y, s */
static bool fuse_setp(struct peep *p, const struct mblock *b, struct insn *in, struct opnd q, struct opnd s)
{
    const struct insn *setp = only_for(p, b, q, INSN_setp);
    if (!setp || !is_reg(s))
        return false;
    struct form form = setp->form;
    form.code = INSN_setp_and;
    form.mods[1] = MOD_and;
    drop_use(p, q);
    become3(p, in, form, setp->opnds[1], setp->opnds[2], s);
    for (int i = 1; i <= 2; i++)
        if (is_reg(setp->opnds[i]))
            p->regs.at[setp->opnds[i].n].nuses++;
    return true;
}

static void fuse_and(struct peep *p, const struct mblock *b, struct insn *in)
{
    if (in->form.type != PT_pred || in->guard >= 0)
        return;
    if (!fuse_setp(p, b, in, in->opnds[1], in->opnds[2]))
        fuse_setp(p, b, in, in->opnds[2], in->opnds[1]);
}

static int log2_exact(int64_t x)
{
    if (x <= 0 || (x & (x - 1)))
        return -1;
    int n = 0;
    while (x >>= 1)
        n++;
    return n;
}

/* By powers of two: multiplications that found no addition, and unsigned divisions. */
static void cheapen(struct insn *in)
{
    struct opnd *y = &in->opnds[2];
    int log = is_imm(*y) ? log2_exact(y->i) : -1;
    bool is_unsigned = in->form.type == PT_u16 || in->form.type == PT_u32 || in->form.type == PT_u64;
    enum ptype bits = type_bits(in) == 16 ? PT_b16 : type_bits(in) == 32 ? PT_b32 : PT_b64;
    if (log < 0)
        return;
    if (in->form.code == INSN_mul_lo) {
        in->form = form_of(INSN_shl, bits);
        *y = opnd_int(CLASS_b32, log);
    } else if (in->form.code == INSN_div && is_unsigned) {
        in->form.code = INSN_shr;
        *y = opnd_int(CLASS_b32, log);
    } else if (in->form.code == INSN_rem && is_unsigned) {
        in->form = form_of(INSN_and, bits);
        y->i -= 1;
    }
}

/* Backwards: an addition takes its product before the product becomes a shift. */
static void fuse_block(struct peep *p, const struct mblock *b)
{
    for (int i = b->insns.n - 1; i >= 0; i--) {
        struct insn *in = b->insns.at[i];
        switch (in->form.code) {
        case INSN_add: fuse_add(p, b, in); break;
        case INSN_and: fuse_and(p, b, in); break;
        case INSN_not: fuse_not(p, b, in); break;
        case INSN_mul_lo:
        case INSN_div:
        case INSN_rem: cheapen(in); break;
        default:       break;
        }
    }
}

/* -- what nobody uses -- */

static bool is_dead(const struct peep *p, const struct insn *in)
{
    if (insn_has(in, TERMINATOR) || insn_has(in, WRITES) || insn_has(in, EFFECT) || form_has_mod(in->form, MOD_volatile))
        return false;
    for (int i = 0; i < in->ndefs; i++)
        if (p->regs.at[in->opnds[i].n].nuses)
            return false;
    return true;
}

static void sweep(struct peep *p)
{
    for (int b = p->m->blocks.n - 1; b >= 0; b--) {
        struct mblock *block = p->m->blocks.at[b];
        int kept = block->insns.n;
        for (int i = block->insns.n - 1; i >= 0; i--) {
            struct insn *in = block->insns.at[i];
            if (!is_dead(p, in)) {
                block->insns.at[--kept] = in;
                continue;
            }
            for (int k = in->ndefs; k < in->nopnds; k++)
                if (in->opnds[k].kind == OPND_reg || in->opnds[k].kind == OPND_addr)
                    p->regs.at[in->opnds[k].n].nuses--;
            if (in->guard >= 0)
                p->regs.at[in->guard].nuses--;
        }
        block->insns.n -= kept;
        if (kept)
            memmove(block->insns.at, block->insns.at + kept, (size_t)block->insns.n * sizeof *block->insns.at);
    }
}

/* Of a register that a loop steps by constants, what the constants leave zero. */
static uint64_t step_bits(const struct insn *in)
{
    const struct opnd *x = in->opnds;
    if (in->form.code == INSN_mov && is_imm(x[1]))
        return (uint64_t)x[1].i & low_mask(class_info[x[1].cls].bits);
    if (in->form.code == INSN_add && is_integer(in) && is_imm(x[2]) && opnd_same(x[0], x[1]))
        return from_lowest((uint64_t)x[2].i);
    return UINT64_MAX;
}

/* How often and where each register is written. */
static void count_defs(struct peep *p)
{
    struct mir *m = p->m;
    p->regs.at = NEW_ARRAY(m->arena, m->regs.n + 1, struct reg_info);
    p->regs.n = p->regs.cap = m->regs.n;
    for (int b = 0; b < m->blocks.n; b++)
        for (int i = 0; i < m->blocks.at[b]->insns.n; i++) {
            const struct insn *in = m->blocks.at[b]->insns.at[i];
            for (int k = 0; k < in->ndefs; k++) {
                struct reg_info *r = &p->regs.at[in->opnds[k].n];
                r->stable = r->ndefs == 0 || (r->stable && in->guard >= 0 && r->block == b);
                r->ndefs++;
                r->block = b;
                r->bits |= in->ndefs == 1 ? step_bits(in) : UINT64_MAX;
            }
        }
}

void peephole(struct mir *m)
{
    struct peep p = {.m = m};
    count_defs(&p);
    for (int b = 0; b < m->blocks.n; b++)
        rewrite_block(&p, m->blocks.at[b]);
    count_uses(&p);
    sweep(&p);
    for (int b = 0; b < m->blocks.n; b++)
        fuse_block(&p, m->blocks.at[b]);
    sweep(&p);
}
