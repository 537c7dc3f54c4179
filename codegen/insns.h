/* SPDX-License-Identifier: MIT */
/* insns.h: the instructions of PTX as data: register classes, types, modifiers (the words between dots),
 * instructions. A file that includes this table defines one of CLASS, PTYPE, MOD and INSN; see mir.h. All stages of
 * codegen, the emulator and `neso help insns` use these rows. An instruction prints as its mnemonic, its modifiers
 * (in the order of struct form's mods) and its types, separated by dots.
 *
 *   INSN(name, mnemonic, operands, result, traits, ptx, latency, counts, overflow, undefined, meaning)
 *
 *   mnemonic   `#` stands for the instruction's number, for example 256 in m64n256k16 and 2 in tensor.2d
 *   operands   in order, results first; emit.c prints operands by this text, and the emulator rejects other PTX:
 *                  d        a result, in a register           [p]      an address
 *                  a        a register or a constant          [p:s]    an address in space s
 *                  %a       a register                        [t{x}]   a tensor map's address, coordinates;
 *                  #n       a constant                                 the instruction's number says how many
 *                  &a       a, or the address of a        _        an unused result (no operand)
 *                           variable or parameter         _|d      an unused result and a predicate
 *                  {x}      a vector in braces, of nvec (struct insn) elements; {x4}: of 4
 *                  a|{%a4}  either                            x?       may be absent
 *              An operand's type follows after a colon if it differs from the instruction's type: a PTYPE, wide (with
 *              twice the bits of the instruction's type), from (the instruction's second type), or piece (the
 *              instruction's bits divided by the number of elements of the vector)
 *   result     class of the register `d` that select/select.c creates: own (of the instruction's type), wide
 *              (twice its bits), pred, or none (there is no result, or the caller creates its registers)
 *   traits     those of ir.h's tile ops: PURE (depends on its operands only), COMMUTES (a and b), READS, WRITES
 *              (memory), EFFECT (is not moved), TERMINATOR (leaves the block), and WARP (all lanes of the warp
 *              take part: it stays in its block), TIED (it also reads its results, unless it is `fresh`), PINNED (no
 *              instruction moves past it), ASYNC (it starts, groups, orders or awaits asynchronous work), CALL
 *              (it prints as a call of the function `mnemonic`)
 *   ptx        first PTX version with the instruction, on targets that support it: 70 is 7.0
 *   latency    row of LATENCIES (ir/target/target.h); a target says how many cycles each takes
 *   counts     the emulator's counter for the instruction, a word of INSN_COUNTS (mir.h)
 *   overflow   how the emulator follows a number from which an address is computed: none (the result is no longer
 *              part of an address), copies, computes (the result is exact unless it overflows), shifts, widens (32
 *              bits to 64), converts (a cvt that may widen)
 *   undefined  how the emulator follows undefined bits: whole (an undefined bit of an operand makes the whole result
 *              undefined; halves of packed types are separate), bits (an undefined bit makes the same bit of the
 *              result undefined), or one word for each rule that applies to a single kind of instruction, for
 *              example `and`, where a defined 0 in one operand makes the bit of the result defined */

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
/*    word    class bits  kind  ptx (first version that computes with it) */
PTYPE(none,   pred,  0, none,     70)
PTYPE(pred,   pred,  1, pred,     70)
PTYPE(b8,     b16,   8, bits,     70)
PTYPE(b16,    b16,  16, bits,     70)
PTYPE(b32,    b32,  32, bits,     70)
PTYPE(b64,    b64,  64, bits,     70)
PTYPE(u8,     b16,   8, unsigned, 70)
PTYPE(u16,    b16,  16, unsigned, 70)
PTYPE(u32,    b32,  32, unsigned, 70)
PTYPE(u64,    b64,  64, unsigned, 70)
PTYPE(s8,     b16,   8, signed,   70)
PTYPE(s16,    b16,  16, signed,   70)
PTYPE(s32,    b32,  32, signed,   70)
PTYPE(s64,    b64,  64, signed,   70)
PTYPE(f16,    b16,  16, float,    70)
PTYPE(f16x2,  b32,  32, float,    70)
PTYPE(bf16,   b16,  16, float,    70)
PTYPE(bf16x2, b32,  32, float,    70)
PTYPE(f32,    f32,  32, float,    70)
PTYPE(f64,    f64,  64, float,    70)
PTYPE(e4m3x2, b16,  16, float,    81)
PTYPE(e5m2x2, b16,  16, float,    81)
#endif

#ifdef MOD
/* word           spelling             ptx */
MOD(global,        "global",            70)
MOD(shared,        "shared",            70)
MOD(param,         "param",             70)
MOD(shared_cta,    "shared::cta",       78)
MOD(shared_cluster,"shared::cluster",   78)
MOD(local,         "local",             70)
MOD(const,         "const",             70)
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
MOD(red_v2,        "v2",                81)
MOD(red_v4,        "v4",                81)
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
MOD(rm,            "rm",                70)
MOD(rp,            "rp",                70)
MOD(rni,           "rni",               70)
MOD(rzi,           "rzi",               70)
MOD(rmi,           "rmi",               70)
MOD(rpi,           "rpi",               70)
MOD(full,          "full",              70)
MOD(approx,        "approx",            70)
MOD(ftz,           "ftz",               70)
MOD(noftz,         "noftz",             70)
MOD(sat,           "sat",               70)
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
MOD(inc,           "inc",               70)
MOD(dec,           "dec",               70)
MOD(exch,          "exch",              70)
MOD(cas,           "cas",               70)
MOD(x1,            "x1",                70)
MOD(x2,            "x2",                70)
MOD(x4,            "x4",                70)
MOD(trans,         "trans",             70)
MOD(uni,           "uni",               70)
MOD(any,           "any",               70)
MOD(all,           "all",               70)
MOD(ballot,        "ballot",            70)
MOD(to,            "to",                70)
MOD(sc,            "sc",                70)
MOD(cluster,       "cluster",           78)
MOD(aligned,       "aligned",           70)
MOD(multicast,     "multicast::cluster",80)
MOD(bulk_group,    "bulk_group",        80)
MOD(l2_64,         "L2::64B",           74)
MOD(l2_128,        "L2::128B",          74)
MOD(l2_256,        "L2::256B",          74)
#endif

#ifdef INSN
/* -- moves -- */
INSN(mov,          "mov",                     "d &a",    own,  PURE, 70, alu, moves, copies, bits, "d = a")
INSN(read_now,     "mov",                     "d &a",    own,  EFFECT, 70, alu, moves, none, whole, "d = a special register that changes")
INSN(pack,         "mov",                     "d {x:piece}", own,  PURE, 70, alu, moves, none, whole, "d = the registers x, the first lowest")
INSN(unpack,       "mov",                     "{d:piece} a", none, PURE, 70, alu, moves, none, whole, "d = the pieces of a, the lowest first")
INSN(selp,         "selp",                    "d a b c:pred", own,  PURE, 70, alu, moves, copies, chosen, "d = c ? a : b")
INSN(cvt,          "cvt",                     "d a:from", own,  PURE, 70, alu, conversions, converts, converted, "d = a; the second type is a's")
INSN(cvt2,         "cvt",                     "d a:from b:from", own,  PURE, 70, alu, conversions, none, pair, "d = a (high half), b (low half)")
INSN(createpolicy, "createpolicy.fractional", "d:u64",       own,  PURE, 74, alu, moves, none, whole, "d = an L2 eviction policy for accesses")

/* -- integers -- */
INSN(add,      "add",        "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, computes, whole,  "d = a + b")
INSN(sub,      "sub",        "d a b",   own,  PURE,          70, alu, arithmetic, computes, whole,  "d = a - b")
INSN(mul_lo,   "mul.lo",     "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, computes, whole,  "d = low half of a * b")
INSN(mul_hi,   "mul.hi",     "d a b",   own,  PURE|COMMUTES, 70, wide, arithmetic, none, whole, "d = high half of a * b")
INSN(mul_wide, "mul.wide",   "d a b",   wide, PURE|COMMUTES, 70, wide, arithmetic, widens, whole, "d = a * b, twice as wide")
INSN(mad_lo,   "mad.lo",     "d a b c", own,  PURE|COMMUTES, 70, alu, arithmetic, computes, whole,  "d = low half of a * b, + c")
INSN(mad_wide, "mad.wide",   "d a b c:wide", wide, PURE|COMMUTES, 70, wide, arithmetic, widens, whole, "d = a * b + c, d and c twice as wide")
INSN(div,      "div",        "d a b",   own,  PURE,          70, slow, arithmetic, none, whole, "d = a / b")
INSN(rem,      "rem",        "d a b",   own,  PURE,          70, slow, arithmetic, none, whole, "d = a - a / b * b")
INSN(min,      "min",        "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, none, whole,  "d = the smaller")
INSN(max,      "max",        "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, none, whole,  "d = the larger")
INSN(neg,      "neg",        "d a",     own,  PURE,          70, alu, arithmetic, computes, whole,  "d = -a")
INSN(abs,      "abs",        "d a",     own,  PURE,          70, alu, arithmetic, none, whole,  "d = |a|")
INSN(and,      "and",        "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, none, and,  "d = a & b")
INSN(or,       "or",         "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, none, or,  "d = a | b")
INSN(xor,      "xor",        "d a b",   own,  PURE|COMMUTES, 70, alu, arithmetic, none, bits,  "d = a ^ b")
INSN(not,      "not",        "d a",     own,  PURE,          70, alu, arithmetic, none, bits,  "d = ~a")
INSN(shl,      "shl",        "d a b:u32", own,  PURE,          70, alu, arithmetic, shifts, shifted,  "d = a << b; the count is clamped")
INSN(shr,      "shr",        "d a b:u32", own,  PURE,          70, alu, arithmetic, none, shifted,  "d = a >> b, with a's sign if the type has one")
INSN(shf_l,    "shf.l.wrap", "d a b c:u32", own,  PURE,          70, alu, arithmetic, none, whole,  "d = upper half of (b:a) << c")
INSN(prmt,     "prmt",       "d a b c", own,  PURE,          70, alu, arithmetic, none, permuted,  "d = the bytes of b:a that c's hexadecimal digits select")
INSN(setp,     "setp",       "d a b",   pred, PURE,          70, alu, arithmetic, none, whole,  "d = comparison of a and b")
INSN(setp_and, "setp",       "d a b %c:pred", pred, PURE,         70, alu, arithmetic, none, and_also,  "d = comparison of a and b, and c")

/* -- floats; the rows of integers add, sub, min, max, neg and abs are also for floats -- */
INSN(mul,   "mul",   "d a b",   own, PURE|COMMUTES, 70, alu, arithmetic, none, whole, "d = a * b")
INSN(fma,   "fma",   "d a b c", own, PURE|COMMUTES, 70, alu, arithmetic, none, whole, "d = a * b + c, rounded once")
INSN(sqrt,  "sqrt",  "d a",     own, PURE,          70, sfu, special, none, whole, "d = square root of a")
INSN(rcp,   "rcp",   "d a",     own, PURE,          70, sfu, special, none, whole, "d = 1 / a")
INSN(rsqrt, "rsqrt", "d a",     own, PURE,          70, sfu, special, none, whole, "d = 1 / square root of a")
INSN(ex2,   "ex2",   "d a",     own, PURE,          70, sfu, special, none, whole, "d = 2 to the power a")
INSN(lg2,   "lg2",   "d a",     own, PURE,          70, sfu, special, none, whole, "d = binary logarithm of a")

/* -- memory -- */
INSN(ld,       "ld",       "{d} [p] policy:u64?", none, READS,        70, global, access, none, whole, "d = memory at p")
INSN(ld_param, "ld.param", "d [p:param]",     own,  PURE,         70, param, moves, none, whole,  "d = a parameter of the kernel")
INSN(st,       "st",       "[p] {x} policy:u64?", none, WRITES,       70, none, access, none, whole,   "memory at p = x")
INSN(atom,     "atom",     "d [p] a b?",      own,  READS|WRITES, 70, global, access, none, whole, "d = memory at p; an atomic operation with a (cas: a, b) then changes it")
INSN(red,      "red",      "[p] {x}",           none, READS|WRITES, 70, none, access, none, whole,   "an atomic operation with x changes memory at p")

/* -- warps and blocks -- */
INSN(shfl,           "shfl.sync",                        "d a b:b32 c:b32 m:u32", own,  PURE|WARP,                70, warp, warp, none, whole, "d = a of lane ^ b, or of lane b")
INSN(redux,          "redux.sync",                       "d:u32 a:u32 m:u32", own,  PURE|WARP,                70, warp, warp, none, whole, "d = a combined over all lanes")
INSN(bar,            "bar.sync",                         "a:u32 n:u32?", none, READS|WRITES|EFFECT,      70, none, barriers, none, whole, "wait for all threads, or for n, at barrier a")
INSN(bar_arrive,     "bar.arrive",                       "a:u32 n:u32", none, READS|WRITES|EFFECT|PINNED, 70, none, barriers, none, whole, "arrive at barrier a for n threads, and go on")
INSN(bar_warp,       "bar.warp.sync",                    "m:u32",     none, READS|WRITES|EFFECT|WARP, 70, none, warp, none, whole, "wait for the lanes of m")
INSN(barrier,        "barrier.sync",                     "a:u32 n:u32?", none, READS|WRITES|EFFECT,      70, none, barriers, none, whole, "as bar.sync, but lanes may be diverged")
INSN(cluster_arrive, "barrier.cluster.arrive",           "",          none, READS|WRITES|EFFECT|ASYNC,      78, none, barriers, none, whole, "arrive at the cluster's barrier")
INSN(cluster_wait,   "barrier.cluster.wait",             "",          none, READS|WRITES|EFFECT,      78, none, waits, none, whole, "wait for all threads of the cluster")
INSN(vote,           "vote.sync",                        "d a:pred m:u32", own,  PURE|WARP,                70, warp, warp, none, whole, "d = a combined over all lanes: any, all or ballot")
INSN(activemask,     "activemask",                       "d",         own,  EFFECT|WARP,              70, warp, warp, none, whole, "d = a mask of the active lanes")
INSN(elect,          "elect.sync",                       "_|d m:u32", pred, EFFECT|WARP,              80, warp, warp, none, whole, "d = true in the one lane that is elected")
INSN(setmaxnreg_inc, "setmaxnreg.inc.sync.aligned",      "#n:u32",    none, READS|WRITES|EFFECT|WARP, 80, none, synchronization, none, whole, "raise the registers per thread of this warpgroup to n")
INSN(setmaxnreg_dec, "setmaxnreg.dec.sync.aligned",      "#n:u32",    none, READS|WRITES|EFFECT|WARP, 80, none, synchronization, none, whole, "lower the registers per thread of this warpgroup to n")
INSN(grid_wait,      "griddepcontrol.wait",              "",          none, READS|WRITES|EFFECT,      78, none, waits, none, whole, "wait until earlier grids' writes are visible")
INSN(grid_launch,    "griddepcontrol.launch_dependents", "",          none, READS|WRITES|EFFECT,      78, none, synchronization, none, whole, "allow dependent grids to start")
INSN(cvta,           "cvta",                             "d &a",      own,  PURE,                     70, alu, moves, none, whole,  "d = an address, between a space and the generic one")
INSN(mapa,           "mapa.shared::cluster",             "d &a b:u32", own,  PURE,                     78, alu, moves, none, whole,  "d = address a in the CTA of rank b")
INSN(stmatrix,       "stmatrix.sync.aligned.m8n8",       "[p:shared] {%x:b32}", none, WRITES|WARP,              78, none, shared, none, whole, "memory at p = 8x8 matrices of 16-bit elements")
INSN(vprintf,        "vprintf",                          "d:b32 f:u64 a:u64", none, READS|WRITES|EFFECT|CALL, 70, none, control, none, whole, "print the arguments at a by format f")
INSN(assertfail,     "__assertfail",                     "t:u64 f:u64 l:b32 n:u64 c:u64", none, READS|WRITES|EFFECT|CALL, 70, none, control, none, whole, "print that the assertion t failed, in file f, line l and function n, and stop the launch")
INSN(asm,            "asm",                              "d %a?",     none, READS|WRITES|EFFECT,      70, none, synchronization, none, whole, "inline assembly of the kernel")
INSN(trap,           "trap",                             "",          none, READS|WRITES|EFFECT,      70, none, control, none, whole, "stop the launch")

INSN(ldmatrix, "ldmatrix.sync.aligned.m8n8", "{d:b32} [p:shared]", none, READS|WARP, 70, shared, shared, none, whole, "d = 8x8 matrices of 16-bit elements")

/* -- tensor cores: d = a b + c; the rows' names are those of ir/target/fragments.c -- */
#define MMA(shape, types) "mma.sync.aligned." shape ".row.col." types
INSN(m16n8k16_f16,  MMA("m16n8k16", "f32.f16.f16.f32"),   "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 70, mma, tensor, none, whole, "16x8 += 16x16 of f16")
INSN(m16n8k16_bf16, MMA("m16n8k16", "f32.bf16.bf16.f32"), "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 70, mma, tensor, none, whole, "16x8 += 16x16 of bf16")
INSN(m16n8k8_tf32,  MMA("m16n8k8", "f32.tf32.tf32.f32"),  "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 70, mma, tensor, none, whole, "16x8 += 16x8 of tf32")
INSN(m16n8k32_s8,   MMA("m16n8k32", "s32.s8.s8.s32"),     "{d4:s32} {%a4:b32} {%b2:b32} {c4:s32}", none, PURE|WARP, 70, mma, tensor, none, whole, "16x8 += 16x32 of s8")
INSN(m16n8k16_s8,   MMA("m16n8k16", "s32.s8.s8.s32"),     "{d4:s32} {%a2:b32} {%b1:b32} {c4:s32}", none, PURE|WARP, 70, mma, tensor, none, whole, "16x8 += 16x16 of s8")
INSN(m16n8k32_e4m3, MMA("m16n8k32", "f32.e4m3.e4m3.f32"), "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 84, mma, tensor, none, whole, "16x8 += 16x32 of fp8e4nv")
INSN(m16n8k32_e5m2, MMA("m16n8k32", "f32.e5m2.e5m2.f32"), "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 84, mma, tensor, none, whole, "16x8 += 16x32 of fp8e5")
INSN(m16n8k32_e4m3_e5m2, MMA("m16n8k32", "f32.e4m3.e5m2.f32"), "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 84, mma, tensor, none, whole, "16x8 += 16x32 of fp8e4nv times fp8e5")
INSN(m16n8k32_e5m2_e4m3, MMA("m16n8k32", "f32.e5m2.e4m3.f32"), "{d4:f32} {%a4:b32} {%b2:b32} {c4:f32}", none, PURE|WARP, 84, mma, tensor, none, whole, "16x8 += 16x32 of fp8e5 times fp8e4nv")
#undef MMA

#define ALL READS|WRITES|EFFECT|ASYNC

/* -- asynchronous copies; each thread groups its own copies -- */
INSN(cp_async,          "cp.async",                       "[p:shared] [q:global] #n:u32 m:u32? policy:u64?", none, ALL, 70, none, copies, none, whole, "shared p = n bytes of global q, zeros from m on")
INSN(cp_async_commit,   "cp.async.commit_group",          "",                     none, ALL, 70, none, synchronization, none, whole, "put the copies since the last commit into a group")
INSN(cp_async_wait,     "cp.async.wait_group",            "#n:u32",               none, ALL, 70, none, waits, none, whole, "wait until at most n groups are in flight")
INSN(cp_async_arrive,   "cp.async.mbarrier.arrive.noinc", "[b:shared]",           none, ALL, 70, none, synchronization, none, whole, "arrive at b when this thread's earlier copies are complete")

/* -- mbarriers -- */
INSN(mbarrier_init,      "mbarrier.init",             "[b:shared] n:u32", none, ALL, 70, none, synchronization, none, whole,   "initialize b for n arrivals a phase")
INSN(mbarrier_arrive,    "mbarrier.arrive",           "_ [b:shared] n:u32?", none, ALL, 80, none, synchronization, none, whole,   "1 or n arrivals")
INSN(mbarrier_arrive_tx, "mbarrier.arrive.expect_tx", "_ [b:shared] n:u32", none, ALL, 80, none, synchronization, none, whole,   "adds n bytes to the phase's expected bytes; 1 arrival")
INSN(mbarrier_try_wait,  "mbarrier.try_wait.parity",  "d [b:shared] q:u32 t:u32?", pred, ALL, 78, shared, waits, none, whole, "d = is the phase of parity q complete? may wait for a limited time")
INSN(mbarrier_test_wait, "mbarrier.test_wait.parity", "d [b:shared] q:u32", pred, ALL, 71, shared, waits, none, whole, "d = is the phase of parity q complete?")

/* -- fences -- */
INSN(fence,       "fence",                             "",      none, ALL, 70, none, synchronization, none, whole, "order earlier memory accesses before later ones, for all threads of a scope")
INSN(fence_init,  "fence.mbarrier_init.release.cluster", "",      none, ALL, 80, none, synchronization, none, whole, "make initialized mbarriers visible to the cluster")
INSN(fence_async, "fence.proxy.async",                 "",      none, ALL, 80, none, synchronization, none, whole, "orders threads' writes before reads of copies and wgmma")

/* -- bulk copies: `t` is a tensor map, b an mbarrier that counts the bytes -- */
INSN(tma_load,       "cp.async.bulk.tensor.#d.shared::cluster.global.tile.mbarrier::complete_tx::bytes", "[p:shared] [t{x:u32}] [b:shared] m:u16? policy:u64?", none, ALL, 80, none, copies, none, whole, "shared p = a box, in the CTAs of m")
INSN(tma_store,      "cp.async.bulk.tensor.#d.global.shared::cta.tile.bulk_group", "[t{x:u32}] [p:shared] policy:u64?", none, ALL, 80, none, copies, none, whole, "a box = shared p")
INSN(bulk_load,      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes", "[p:shared] [q:global] n:u32 [b:shared] m:u16? policy:u64?", none, ALL, 80, none, copies, none, whole, "shared p = n bytes of global q")
INSN(bulk_prefetch,  "cp.async.bulk.prefetch.L2.global",       "[p:global] n:u32 policy:u64?", none, EFFECT|ASYNC, 80, none, copies, none, whole, "prefetch n bytes of global p to L2")
INSN(bulk_commit,    "cp.async.bulk.commit_group",        "",                        none, ALL, 80, none, synchronization, none, whole, "put the stores since the last commit into a group")
INSN(bulk_wait,      "cp.async.bulk.wait_group",          "#n:u32",                  none, ALL, 80, none, waits, none, whole, "wait until at most n groups are in flight")
INSN(bulk_wait_read, "cp.async.bulk.wait_group.read",     "#n:u32",                  none, ALL, 80, none, waits, none, whole, "wait until all but n groups have read their source")
INSN(map_prefetch,   "prefetch.tensormap",                "[t]",                     none, ALL, 80, none, copies, none, whole, "prefetch the tensor map at t")

/* -- wgmma: d = a b + d if p is true, else d = a b; s: the factor (1 or -1) of an operand; t: 1 if an operand is
 * transposed, else 0. `#` is the number of columns -- */
#define WGMMA(k, types) "wgmma.mma_async.sync.aligned.m64n#k" k "." types
#define WGMMA_OPERANDS "{d:b32} a:u64|{%a4:b32} b:u64 p:pred #s:u32? #s:u32? #t:u32? #t:u32?"
INSN(wgmma_f32_f16,       WGMMA("16", "f32.f16.f16"),    WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of f16")
INSN(wgmma_f16_f16,       WGMMA("16", "f16.f16.f16"),    WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of f16, in f16")
INSN(wgmma_f32_bf16,      WGMMA("16", "f32.bf16.bf16"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of bf16")
INSN(wgmma_f32_tf32,      WGMMA("8", "f32.tf32.tf32"),   WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of tf32")
INSN(wgmma_f32_e4m3,      WGMMA("32", "f32.e4m3.e4m3"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8")
INSN(wgmma_f32_e4m3_e5m2, WGMMA("32", "f32.e4m3.e5m2"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8")
INSN(wgmma_f32_e5m2_e4m3, WGMMA("32", "f32.e5m2.e4m3"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8")
INSN(wgmma_f32_e5m2,      WGMMA("32", "f32.e5m2.e5m2"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8")
INSN(wgmma_f16_e4m3,      WGMMA("32", "f16.e4m3.e4m3"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8, in f16")
INSN(wgmma_f16_e4m3_e5m2, WGMMA("32", "f16.e4m3.e5m2"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8, in f16")
INSN(wgmma_f16_e5m2_e4m3, WGMMA("32", "f16.e5m2.e4m3"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8, in f16")
INSN(wgmma_f16_e5m2,      WGMMA("32", "f16.e5m2.e5m2"),  WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of fp8, in f16")
INSN(wgmma_s32_s8,        WGMMA("32", "s32.s8.s8"),      WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of s8")
INSN(wgmma_s32_s8_u8,     WGMMA("32", "s32.s8.u8"),      WGMMA_OPERANDS, none, ALL|WARP|TIED, 84, mma_async, tensor, none, whole, "64 rows of s8 and u8")
INSN(wgmma_s32_u8_s8,     WGMMA("32", "s32.u8.s8"),      WGMMA_OPERANDS, none, ALL|WARP|TIED, 84, mma_async, tensor, none, whole, "64 rows of u8 and s8")
INSN(wgmma_s32_u8,        WGMMA("32", "s32.u8.u8"),      WGMMA_OPERANDS, none, ALL|WARP|TIED, 80, mma_async, tensor, none, whole, "64 rows of u8")
#undef WGMMA
#undef WGMMA_OPERANDS
INSN(wgmma_fence,  "wgmma.fence.sync.aligned",        "",  none, ALL|WARP|PINNED, 80, none, synchronization, none, whole, "order register accesses before the wgmmas that use the registers")
INSN(wgmma_commit, "wgmma.commit_group.sync.aligned", "",  none, ALL|WARP, 80, none, synchronization, none, whole, "put the wgmmas since the last commit into a group")
INSN(wgmma_wait,   "wgmma.wait_group.sync.aligned",   "#n:u32", none, ALL|WARP|PINNED, 80, none, waits, none, whole, "wait until at most n groups are in flight")

#undef ALL

/* -- control -- */
INSN(bra, "bra", "l", none, TERMINATOR|EFFECT, 70, none, control, none, whole, "jump to block l")
INSN(ret, "ret", "",  none, TERMINATOR|EFFECT, 70, none, control, none, whole, "this thread exits")
#endif
