/* insns.h: the vocabulary of PTX, as data: register classes, types, words between the dots, instructions.
 * Included with one of CLASS, PTYPE, MOD, LATENCY or INSN defined; see mir.h. Selection, liveness, emission
 * and help read the same rows, and an instruction's text is mnemonic, then its modifiers in the order in
 * which it holds them, then its types, each after a dot.
 *
 *   INSN(name, mnemonic, operands, result, traits, ptx, latency, meaning)
 *
 *   operands   in order, results first: `d` result, `a` register or immediate, `{x}` a vector in braces (as long
 *              as the instruction says; `{x4}`: always 4), `[p]` an address, `x?` may be absent
 *   result     class of the register `d`: own (of the instruction's type), wide (twice its bits), pred, or none
 *   traits     those of ir.h's tile ops: PURE (depends on its operands only), COMMUTES (a and b), READS, WRITES
 *              (memory), EFFECT (keeps its place), TERMINATOR (leaves the block), and WARP (all lanes of the warp
 *              take part: it stays in its block)
 *   ptx        first version of the language that has it, on targets that have it at all: 70 is 7.0
 *   latency    row of LATENCY
 */

#ifdef CLASS
/*    word  prefix  type    bits  32-bit registers that one takes */
CLASS(pred, "%p",   "pred", 1,  0)
CLASS(b16,  "%h",   "b16",  16, 1)
CLASS(b32,  "%r",   "b32",  32, 1)
CLASS(b64,  "%rd",  "b64",  64, 2)
CLASS(f32,  "%f",   "f32",  32, 1)
CLASS(f64,  "%fd",  "f64",  64, 2)
#endif

#ifdef PTYPE
/*    word    class bits ptx (first version that computes with it) */
PTYPE(none,   pred,  0, 70)
PTYPE(pred,   pred,  1, 70)
PTYPE(b8,     b16,   8, 70)
PTYPE(b16,    b16,  16, 70)
PTYPE(b32,    b32,  32, 70)
PTYPE(b64,    b64,  64, 70)
PTYPE(u8,     b16,   8, 70)
PTYPE(u16,    b16,  16, 70)
PTYPE(u32,    b32,  32, 70)
PTYPE(u64,    b64,  64, 70)
PTYPE(s8,     b16,   8, 70)
PTYPE(s16,    b16,  16, 70)
PTYPE(s32,    b32,  32, 70)
PTYPE(s64,    b64,  64, 70)
PTYPE(f16,    b16,  16, 70)
PTYPE(f16x2,  b32,  32, 70)
PTYPE(bf16,   b16,  16, 70)
PTYPE(bf16x2, b32,  32, 70)
PTYPE(f32,    f32,  32, 70)
PTYPE(f64,    f64,  64, 70)
PTYPE(e4m3x2, b16,  16, 81)
PTYPE(e5m2x2, b16,  16, 81)
#endif

#ifdef MOD
/*  word           spelled              ptx */
MOD(global,        "global",            70)
MOD(shared,        "shared",            70)
MOD(param,         "param",             70)
MOD(volatile,      "volatile",          70)
MOD(ca,            "ca",                70)
MOD(cg,            "cg",                70)
MOD(cs,            "cs",                70)
MOD(cv,            "cv",                70)
MOD(wb,            "wb",                70)
MOD(wt,            "wt",                70)
MOD(l1_first,      "L1::evict_first",   74)
MOD(l1_last,       "L1::evict_last",    74)
MOD(l2_first,      "L2::evict_first",   74)
MOD(l2_last,       "L2::evict_last",    74)
MOD(l2_hint,       "L2::cache_hint",    74)
MOD(v2,            "v2",                70)
MOD(v4,            "v4",                70)
MOD(eq,            "eq",                70)
MOD(ne,            "ne",                70)
MOD(lt,            "lt",                70)
MOD(le,            "le",                70)
MOD(gt,            "gt",                70)
MOD(ge,            "ge",                70)
MOD(neu,           "neu",               70)
MOD(nan,           "nan",               70)
MOD(num,           "num",               70)
MOD(rn,            "rn",                70)
MOD(rz,            "rz",                70)
MOD(rni,           "rni",               70)
MOD(rzi,           "rzi",               70)
MOD(rmi,           "rmi",               70)
MOD(rpi,           "rpi",               70)
MOD(full,          "full",              70)
MOD(approx,        "approx",            70)
MOD(ftz,           "ftz",               70)
MOD(noftz,         "noftz",             70)
MOD(sat_finite,    "satfinite",         70)
MOD(prop_nan,      "NaN",               70)
MOD(bfly,          "bfly",              70)
MOD(idx,           "idx",               70)
MOD(acq_rel,       "acq_rel",           70)
MOD(acquire,       "acquire",           70)
MOD(release,       "release",           70)
MOD(relaxed,       "relaxed",           70)
MOD(gpu,           "gpu",               70)
MOD(cta,           "cta",               70)
MOD(sys,           "sys",               70)
MOD(add,           "add",               70)
MOD(min,           "min",               70)
MOD(max,           "max",               70)
MOD(and,           "and",               70)
MOD(or,            "or",                70)
MOD(xor,           "xor",               70)
MOD(exch,          "exch",              70)
MOD(cas,           "cas",               70)
MOD(x1,            "x1",                70)
MOD(x2,            "x2",                70)
MOD(x4,            "x4",                70)
MOD(trans,         "trans",             70)
MOD(uni,           "uni",               70)
#endif

#ifdef LATENCY
/*      word    cycles until the result can be used, roughly */
LATENCY(alu,    5)
LATENCY(wide,   8)
LATENCY(slow,   40)
LATENCY(sfu,    20)
LATENCY(param,  20)
LATENCY(global, 400)
LATENCY(shared, 30)
LATENCY(warp,   25)
LATENCY(mma,    33)
LATENCY(none,   1)
#endif

#ifdef INSN
/* -- moves -- */
INSN(mov,          "mov",                     "d a",     own,  PURE, 70, alu, "d = a")
INSN(pack,         "mov",                     "d {x}",   own,  PURE, 70, alu, "d = the registers x, the first lowest")
INSN(unpack,       "mov",                     "{d} a",   none, PURE, 70, alu, "d = the pieces of a, the lowest first")
INSN(selp,         "selp",                    "d a b c", own,  PURE, 70, alu, "d = c ? a : b")
INSN(cvt,          "cvt",                     "d a",     own,  PURE, 70, alu, "d = a; the second type is a's")
INSN(cvt2,         "cvt",                     "d a b",   own,  PURE, 70, alu, "d = a (high half), b (low half)")
INSN(createpolicy, "createpolicy.fractional", "d",       own,  PURE, 74, alu, "d = how L2 should treat an access")

/* -- integers -- */
INSN(add,      "add",        "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = a + b")
INSN(sub,      "sub",        "d a b",   own,  PURE,          70, alu,  "d = a - b")
INSN(mul_lo,   "mul.lo",     "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = low half of a * b")
INSN(mul_hi,   "mul.hi",     "d a b",   own,  PURE|COMMUTES, 70, wide, "d = high half of a * b")
INSN(mul_wide, "mul.wide",   "d a b",   wide, PURE|COMMUTES, 70, wide, "d = a * b, twice as wide")
INSN(mad_lo,   "mad.lo",     "d a b c", own,  PURE|COMMUTES, 70, alu,  "d = low half of a * b, + c")
INSN(mad_wide, "mad.wide",   "d a b c", wide, PURE|COMMUTES, 70, wide, "d = a * b + c, d and c twice as wide")
INSN(div,      "div",        "d a b",   own,  PURE,          70, slow, "d = a / b")
INSN(rem,      "rem",        "d a b",   own,  PURE,          70, slow, "d = a - a / b * b")
INSN(min,      "min",        "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = the smaller")
INSN(max,      "max",        "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = the larger")
INSN(neg,      "neg",        "d a",     own,  PURE,          70, alu,  "d = -a")
INSN(abs,      "abs",        "d a",     own,  PURE,          70, alu,  "d = |a|")
INSN(and,      "and",        "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = a & b")
INSN(or,       "or",         "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = a | b")
INSN(xor,      "xor",        "d a b",   own,  PURE|COMMUTES, 70, alu,  "d = a ^ b")
INSN(not,      "not",        "d a",     own,  PURE,          70, alu,  "d = ~a")
INSN(shl,      "shl",        "d a b",   own,  PURE,          70, alu,  "d = a << b; the count is clamped")
INSN(shr,      "shr",        "d a b",   own,  PURE,          70, alu,  "d = a >> b, with a's sign if the type has one")
INSN(shf_l,    "shf.l.wrap", "d a b c", own,  PURE,          70, alu,  "d = upper half of (b:a) << c")
INSN(prmt,     "prmt",       "d a b c", own,  PURE,          70, alu,  "d = the bytes of b:a that c's digits choose")
INSN(setp,     "setp",       "d a b",   pred, PURE,          70, alu,  "d = does a stand so to b?")
INSN(setp_and, "setp",       "d a b c", pred, PURE,          70, alu,  "d = does a stand so to b, and is c?")

/* -- floats (add, sub, min, max, neg, abs serve them too) -- */
INSN(mul,   "mul",   "d a b",   own, PURE|COMMUTES, 70, alu, "d = a * b")
INSN(fma,   "fma",   "d a b c", own, PURE|COMMUTES, 70, alu, "d = a * b + c, rounded once")
INSN(sqrt,  "sqrt",  "d a",     own, PURE,          70, sfu, "d = square root of a")
INSN(rsqrt, "rsqrt", "d a",     own, PURE,          70, sfu, "d = 1 / square root of a")
INSN(ex2,   "ex2",   "d a",     own, PURE,          70, sfu, "d = 2 to the power a")
INSN(lg2,   "lg2",   "d a",     own, PURE,          70, sfu, "d = binary logarithm of a")

/* -- memory -- */
INSN(ld,       "ld",       "{d} [p] policy?", none, READS,        70, global, "d = memory at p")
INSN(ld_param, "ld.param", "d [p]",           own,  PURE,         70, param,  "d = a parameter of the kernel")
INSN(st,       "st",       "[p] {x} policy?", none, WRITES,       70, none,   "memory at p = x")
INSN(atom,     "atom",     "d [p] a b?",      own,  READS|WRITES, 70, global, "d = memory at p, which is then changed")
INSN(red,      "red",      "[p] a",           none, READS|WRITES, 70, none,   "memory at p is changed")

/* -- warps and blocks -- */
INSN(shfl,  "shfl.sync",  "d a b c m", own,  PURE|WARP,           70, warp, "d = a of lane ^ b, or of lane b")
INSN(redux, "redux.sync", "d a m",     own,  PURE|WARP,           70, warp, "d = a combined over all lanes")
INSN(bar,   "bar.sync",   "a",         none, READS|WRITES|EFFECT, 70, none, "wait for all threads")
INSN(trap,  "trap",       "",          none, READS|WRITES|EFFECT, 70, none, "stop the launch")

INSN(ldmatrix, "ldmatrix.sync.aligned.m8n8", "{d} [p]", none, READS|WARP, 70, shared, "d = 8x8 matrices of 16-bit elements")

/* -- tensor cores: d = a b + c; the rows' names are those of ir/fragments.c -- */
#define MMA(shape, types) "mma.sync.aligned." shape ".row.col." types
INSN(m16n8k16_f16,  MMA("m16n8k16", "f32.f16.f16.f32"),   "{d4} {a4} {b2} {c4}", none, PURE|WARP, 70, mma, "16x8 += 16x16 of f16")
INSN(m16n8k16_bf16, MMA("m16n8k16", "f32.bf16.bf16.f32"), "{d4} {a4} {b2} {c4}", none, PURE|WARP, 70, mma, "16x8 += 16x16 of bf16")
INSN(m16n8k8_tf32,  MMA("m16n8k8", "f32.tf32.tf32.f32"),  "{d4} {a4} {b2} {c4}", none, PURE|WARP, 70, mma, "16x8 += 16x8 of tf32")
INSN(m16n8k32_s8,   MMA("m16n8k32", "s32.s8.s8.s32"),     "{d4} {a4} {b2} {c4}", none, PURE|WARP, 70, mma, "16x8 += 16x32 of s8")
INSN(m16n8k16_s8,   MMA("m16n8k16", "s32.s8.s8.s32"),     "{d4} {a2} {b1} {c4}", none, PURE|WARP, 70, mma, "16x8 += 16x16 of s8")
#undef MMA

/* -- control -- */
INSN(bra, "bra", "l", none, TERMINATOR|EFFECT, 70, none, "go on at block l")
INSN(ret, "ret", "",  none, TERMINATOR|EFFECT, 70, none, "this thread is done")
#endif
