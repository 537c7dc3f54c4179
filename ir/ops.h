/* SPDX-License-Identifier: MIT */
/* ops.h: lists every op of the IR, one row each, in families. A file defines OP or ATTR and then includes this table;
 * see ir.h.
 *
 *   OP(name, operands, results, regions, attributes, family, traits, rule, meaning)
 *
 *   operands, results   the names, in order. A name with a question mark (`mask?`) is an optional operand. An
 *                       absent operand is NULL; the text shows it as `_` if a later operand is present. A
 *                       name with a star (`init*`) comes last, and stands for any number of operands. The
 *                       results of most ops are "r", "" or "r*".
 *   regions             number of regions
 *   attributes          A(a)|A(b): the attributes that the op may have; any other is an error. The text omits an
 *                       attribute that has its default value, unless its kind is bits or index (ir.h).
 *   family              the group of ops to which the op belongs (families.h)
 *   traits              PURE (has no effects, and may be dropped, moved or duplicated), COMMUTES (the two
 *                       operands may be exchanged), ELEMENTWISE (computes each element of a tile alone;
 *                       operands and result have the same shape and layout), READS, WRITES (memory), EFFECT
 *                       (must keep its order relative to other effects, for a reason other than memory),
 *                       TERMINATOR, FREE (only renames elements, and moves no data), COSTLY (recomputing
 *                       costs more than keeping the result), MULTIPLIES (multiplies matrices)
 *   rule                the function rule_NAME of rules.c, which checks operand types and, if possible,
 *                       infers the result's type. "given" means that the builder or the text must set the
 *                       result's type.
 *   meaning             one line, for `neso help ops`
 *
 * The op determines the signedness: divs is signed, divu unsigned. `add`, `sub`, `mul`, `neg` and `abs` serve
 * integers, which wrap, and floats. */

#ifdef ATTR
/*   word       kind   default  meaning */
ATTR(value,     bits,  0,  "a constant: integer, or the bits of a float as the printer writes them")
ATTR(axis,      index, 0,  "dimension, from 0")
ATTR(start,     index, 0,  "first value of a range")
ATTR(end,       index, 0,  "one past the last value of a range")
ATTR(order,     list,  0,  "permutation of dimensions: result dimension i is operand dimension order[i]")
ATTR(pred,      pred,  0,  "comparison")
ATTR(cache,     cache, 0,  "cache operator")
ATTR(evict,     evict, 0,  "L2 eviction priority")
ATTR(volatile,  int,   0,  "1: the load is not cached, merged or moved")
ATTR(invariant, int,   0,  "1: no store of the loop around a load writes what the load reads; set by opt")
ATTR(nan,       int,   0,  "1: min and max give NaN if either is NaN")
ATTR(round,     round, 0,  "rounding")
ATTR(sem,       sem,   0,  "memory order of an atomic")
ATTR(scope,     scope, 0,  "threads among which an atomic is atomic")
ATTR(rmw,       rmw,   0,  "what an atomic computes")
ATTR(vec,       int,   1,  "elements accessed at once; set by opt")
ATTR(tail,      int,   0,  "1: a vector may have both enabled and disabled elements: it is accessed whole if all are enabled, else element by element")
ATTR(same,      int,   1,  "consecutive registers, from a multiple of this number, that hold equal values; set by opt")
ATTR(divisible, list,  0,  "promised: each value (pointer: address in bytes) is a multiple of this, per dimension")
ATTR(contiguous,list,  0,  "promised: length of runs of consecutive values, per dimension")
ATTR(constant,  list,  0,  "promised: length of runs of equal values, per dimension")
ATTR(text,      str,   0,  "text of a print or assertion")
ATTR(constraints,str,0, "registers of inline assembly: first of its results, then of its operands")
ATTR(pack,      int,   1,  "elements that each call of inline assembly takes")
ATTR(hex,       int,   0,  "1: print in hexadecimal")
ATTR(unsigned,  int,   0,  "bit k: operand k of a print is unsigned")
ATTR(stages,    int,   0,  "pipeline depth asked for by the user, 0: the kernel's")
ATTR(unroll,    int,   0,  "unroll factor asked for")
ATTR(offset,    int,  -1,  "byte offset in shared memory; set by opt")
ATTR(at,        list,  0,  "the tile is a part of the buffer: its first index, per dimension")
ATTR(pending,   int,   0,  "newest groups that may still be in flight after a wait")
ATTR(arrivals,  index, 1,  "arrivals that end a phase of a barrier")
ATTR(bytes,     index, 0,  "bytes that asynchronous copies transfer in this phase")
ATTR(map,       index, 0,  "which of the function's tensor maps")
ATTR(parts,     index, 1,  "least number of boxes that a copy is split into")
ATTR(group,     index, 1,  "warps that make one arrival together")
ATTR(last,      int,   0,  "1: only the partner CTA waits for this arrival, before it exits")
ATTR(turns,     int,   0,  "1: warpgroups take turns: stagger_arrive, not stagger_wait, ends the previous warpgroup's stagger_end")
ATTR(multicast, int,   0,  "1: each CTA of a pair copies half of the box into the shared memory of both")
ATTR(read,      int,   0,  "1: wait only until the source has been read")
ATTR(warps,     list,  0,  "warps of each role")
ATTR(regs,      list,  0,  "registers per thread of each role; 0: the number at launch")
ATTR(reverse,   int,   0,  "1: a scan from the end")
ATTR(precision, prec,  0,  "precision of a dot with f32 inputs")
ATTR(limit,     int,   0,  "Triton's max_num_imprecise_acc")
ATTR(bins,      index, 0,  "histogram bins")
ATTR(site,      int,  -1,  "number of the place where the kernel calls the host; set by the tracer")
#endif

#ifdef OP
/* -- create -- */
OP(const,        "",       "r", 0, A(value),             create, PURE, given, "a constant; on a tile, every element")
OP(program_id,   "",       "r", 0, A(axis),              create, PURE, i32,   "index of this program in the grid")
OP(num_programs, "",       "r", 0, A(axis),              create, PURE, i32,   "size of the grid")
OP(cta_id,       "",       "r", 0, A(axis),              create, PURE, i32,   "index of this CTA, which runs several programs")
OP(cta_count,    "",       "r", 0, A(axis),              create, PURE, i32,   "how many CTAs run the programs")
OP(sm_id,        "",       "r", 0, 0,                    create, EFFECT, i32,  "index of the multiprocessor that runs this CTA")
OP(clock,        "",       "r", 0, 0,                    create, EFFECT, i64,  "nanoseconds, by a clock of the whole GPU")
OP(range,        "",       "r", 0, A(start)|A(end),      create, PURE, range, "start, start+1, ... end-1 as i32")
OP(splat,        "x",      "r", 0, 0,                    create, PURE, splat, "a tile of equal elements (given type)")

/* -- arith: integers wrap; floats follow IEEE 754, and round to nearest even unless the meaning says
 * otherwise -- */
OP(add,   "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, same,  "x + y")
OP(sub,   "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE,          same,  "x - y")
OP(mul,   "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, same,  "x * y")
OP(neg,   "x",     "r", 0, 0,        arith, PURE|ELEMENTWISE,          same,  "-x: integers wrap, floats flip the sign")
OP(abs,   "x",     "r", 0, 0,        arith, PURE|ELEMENTWISE,          same,  "|x|, signed; floats clear the sign")
OP(divs,  "x y",   "r", 0, A(same),  arith, PURE|ELEMENTWISE|COSTLY,   ints,  "signed quotient toward zero; y=0: all ones")
OP(divu,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COSTLY,   ints,  "unsigned quotient; y=0: all ones")
OP(rems,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COSTLY,   ints,  "signed remainder, sign of x; y=0: x")
OP(remu,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COSTLY,   ints,  "unsigned remainder; y=0: x")
OP(mulhu, "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "high half of the unsigned product")
OP(and,   "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "bitwise, i1 included")
OP(or,    "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "bitwise, i1 included")
OP(xor,   "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "bitwise, i1 included")
OP(shl,   "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE,          ints,  "x << y; y >= width: 0")
OP(shrs,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE,          ints,  "arithmetic shift; y >= width (unsigned): sign")
OP(shru,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE,          ints,  "logical shift; y >= width: 0")
OP(mins,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "signed minimum")
OP(maxs,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "signed maximum")
OP(minu,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "unsigned minimum")
OP(maxu,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COMMUTES, ints,  "unsigned maximum")
OP(fadd,  "x y",   "r", 0, A(round), arith, PURE|ELEMENTWISE|COMMUTES, toward,"x + y of f32 or f64, rounded toward zero (rz), down (rd) or up (ru); of f32 also rn_ftz, rz_ftz...: subnormals are 0")
OP(fsub,  "x y",   "r", 0, A(round), arith, PURE|ELEMENTWISE,          toward,"x - y, rounded as for fadd")
OP(fmul,  "x y",   "r", 0, A(round), arith, PURE|ELEMENTWISE|COMMUTES, toward,"x * y, rounded as for fadd")
OP(ffma,  "x y z", "r", 0, A(round), arith, PURE|ELEMENTWISE,          toward,"x * y + z, rounded once, as for fadd")
OP(fdiv,  "x y",   "r", 0, A(round), arith, PURE|ELEMENTWISE|COSTLY,   rounded,"x / y: approx (2 ulp, f32 only), round=rn, or of f32 and f64 as for fadd")
OP(frem,  "x y",   "r", 0, 0,        arith, PURE|ELEMENTWISE|COSTLY,   floats,"fmod: sign of x")
OP(min,   "x y",   "r", 0, A(nan),   arith, PURE|ELEMENTWISE|COMMUTES, floats,"minimum; -0 < +0; if one is NaN, the other")
OP(max,   "x y",   "r", 0, A(nan),   arith, PURE|ELEMENTWISE|COMMUTES, floats,"maximum; -0 < +0; if one is NaN, the other")
OP(fma,   "x y z", "r", 0, 0,        arith, PURE|ELEMENTWISE,          floats,"x * y + z, rounded once")
OP(cmp,   "x y",   "r", 0, A(pred)|A(same), arith, PURE|ELEMENTWISE,          cmp,   "gives an i1; of floats: false if one is NaN (ne: true)")
OP(select,"c x y", "r", 0, 0,        arith, PURE|ELEMENTWISE,          select,"c ? x : y, element by element; c i1")
OP(addptr,"p i",   "r", 0, 0,        arith, PURE|ELEMENTWISE,          addptr,"p + i * size of its element; i signed")

/* -- math: f32 and f64; approximations have an error of a few ulp -- */
OP(exp,   "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "e^x")
OP(exp2,  "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "2^x")
OP(log,   "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "natural logarithm")
OP(log2,  "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "binary logarithm")
OP(sin,   "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "sine")
OP(cos,   "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "cosine")
OP(sqrt,  "x", "r", 0, A(round), math, PURE|ELEMENTWISE|COSTLY, rounded, "square root: approx, round=rn, or as for fadd")
OP(rsqrt, "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "1 / square root, approx")
OP(erf,   "x", "r", 0, 0,        math, PURE|ELEMENTWISE|COSTLY, floats, "error function")
OP(floor, "x", "r", 0, 0,        math, PURE|ELEMENTWISE,        floats, "toward minus infinity; an f32 subnormal counts as 0")
OP(ceil,  "x", "r", 0, 0,        math, PURE|ELEMENTWISE,        floats, "toward plus infinity, as floor")
OP(rint,  "x", "r", 0, 0,        math, PURE|ELEMENTWISE,        floats, "to the nearest integer, ties to even, as floor")

/* -- cast: the builder or the text sets the result's type -- */
OP(sext,    "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, widen,   "sign-extend an integer")
OP(zext,    "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, widen,   "zero-extend an integer (i1: 0 or 1)")
OP(trunc,   "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, narrow,  "keep the low bits (to i1: the lowest)")
OP(fext,    "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, fwiden,  "a float to a wider one, exact")
OP(ftrunc,  "x", "r", 0, A(round), cast, PURE|ELEMENTWISE, fnarrow, "a float to a narrower one: rn or rz, f64 to f32 also rd, ru and as for fadd; fp8 saturates")
OP(stof,    "x", "r", 0, A(round), cast, PURE|ELEMENTWISE, itof,    "signed integer to float, to nearest even; to f32 and f64 also as `round` says")
OP(utof,    "x", "r", 0, A(round), cast, PURE|ELEMENTWISE, itof,    "unsigned integer (or i1) to float, as stof")
OP(ftos,    "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, ftoi,    "float to signed integer toward zero, saturating")
OP(ftou,    "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, ftoi,    "float to unsigned integer toward zero, saturating")
OP(bitcast, "x", "r", 0, 0,        cast, PURE|ELEMENTWISE, bitcast, "the same bits as another type of equal width; pointers too")

/* -- shape: the result has the operand's elements, in row-major order unless the meaning says otherwise; only
 * gather moves data between threads -- */
OP(broadcast,   "x",   "r",   0, 0,        shape, PURE|FREE, broadcast,   "repeats the elements along dimensions of size 1 (given type)")
OP(expand_dims, "x",   "r",   0, A(axis),  shape, PURE|FREE, expand_dims, "inserts a dimension of size 1 at axis")
OP(reshape,     "x",   "r",   0, 0,        shape, PURE|FREE, reshape,     "another shape (given type), same order; to and from scalars")
OP(trans,       "x",   "r",   0, A(order), shape, PURE|FREE, trans,       "permutes the dimensions")
OP(join,        "x y", "r",   0, 0,        shape, PURE|FREE, join,        "a new last dimension of 2")
OP(split,       "x",   "a b", 0, 0,        shape, PURE|FREE, split,       "the inverse of join")
OP(hint,        "x",   "r",   0, A(divisible)|A(contiguous)|A(constant), shape, PURE|FREE, hint, "x, with promises about its values")
OP(gather,      "x i", "r",   0, A(axis),  shape, PURE,      gather,      "x at index i along axis")

/* -- memory -- */
OP(load,  "ptr mask? other?",  "r", 0, A(cache)|A(evict)|A(volatile)|A(invariant)|A(vec)|A(tail), memory, READS, load, "loads; where mask is 0, the result is other, or 0 without other")
OP(store, "ptr value mask?",   "",  0, A(cache)|A(evict)|A(vec)|A(tail), memory, WRITES, store, "stores; nothing where mask is 0")
OP(prefetch, "ptr n", "",          0, 0, memory, EFFECT, prefetch, "fetches n bytes from ptr into L2; n is a multiple of 16")
OP(atomic_rmw, "ptr value mask?", "r", 0, A(rmw)|A(sem)|A(scope)|A(vec), memory, READS|WRITES, atomic_rmw, "gives the old value, or 0 where mask is 0")
OP(atomic_cas, "ptr cmp value",   "r", 0, A(sem)|A(scope),        memory, READS|WRITES, atomic_cas, "gives the old value; compares bits")

/* -- reduce: if reduce or scan has n operands, its region takes 2n scalars (a1..an, b1..bn) and yields n
 * scalars; the region of a map with n operands takes n scalars -- */
OP(reduce, "x*", "r*", 1, A(axis),            reduce, PURE|COSTLY, reduce, "combines the elements along axis, in any order, and removes the axis")
OP(scan,   "x*", "r*", 1, A(axis)|A(reverse), reduce, PURE|COSTLY, scan,   "inclusive scan along axis")
OP(map,    "x*", "r*", 1, 0,                  reduce, PURE|COSTLY, map,    "runs the region for each element of tiles of one shape; the region yields an element of each result")
OP(histogram, "x mask?", "r", 0, A(bins),     reduce, PURE|COSTLY, histogram, "counts, as i32, how often each of 0 .. bins-1 occurs in x")

/* -- dot -- */
OP(dot, "a b acc", "r", 0, A(precision)|A(limit), dot, PURE|COSTLY|MULTIPLIES, dot, "acc + a b; rank 2, or 3 batched over the first")

/* -- control: regions are single blocks that end in yield, condition or return -- */
OP(for,       "lo hi step init*", "r*", 1, A(stages)|A(unroll), control, EFFECT, for, "block (i, carried*); while i < hi signed (step < 0 constant: >); yields carry over")
OP(while,     "init*", "r*", 2, 0, control, EFFECT, while, "first region (carried*) ends in condition, second (args*) yields the next")
OP(if,        "c",     "r*", 2, 0, control, EFFECT, if,    "one region runs, its yield is the result; a region may end in return outside loops")
OP(yield,     "x*",    "",   0, 0, control, TERMINATOR, none, "the region's results")
OP(condition, "c x*",  "",   0, 0, control, TERMINATOR, condition, "if c, the second region runs with x; else the loop ends with results x")
OP(return,    "",      "",   0, 0, control, TERMINATOR, none, "this program instance is done")

/* -- debug -- */
OP(print,   "x*",      "", 0, A(text)|A(hex)|A(unsigned), debug, EFFECT, none,   "device_print")
OP(assert,  "c mask?", "", 0, A(text),        debug, EFFECT, assert, "stops the launch where c is 0 and mask is not")
OP(barrier, "",        "", 0, A(group),       debug, EFFECT, none,   "all threads of the program, or of each group of warps, wait for each other; earlier writes are visible afterwards")
OP(asm, "x*", "r*", 0, A(text)|A(constraints)|A(pack), debug, PURE|COSTLY, none, "PTX on the elements of tiles of one shape and layout")
OP(asm_effect, "x*", "r*", 0, A(text)|A(constraints)|A(pack), debug, EFFECT, none, "as asm, but with effects in addition to its results")
OP(host_call, "x*",    "r*", 0, A(site),      debug, EFFECT, none,   "calls plain Python on the host with these values (interpreter only)")

/* -- layout and shared memory: after assignment of layouts -- */
OP(convert,      "x",       "r", 0, 0,         layout, PURE,           convert,      "the same tile in another layout")
OP(shared_alloc, "",        "r", 0, A(offset)|A(group), layout, EFFECT, shared_alloc, "a buffer in shared memory (given type); with group=n, each group of n warps accesses only its own part")
OP(shared_store, "buf x",   "",  0, A(vec),    layout, WRITES,         shared_store, "stores a whole tile into a buffer; only the owner of an element stores it")
OP(shared_load,  "buf",     "r", 0, A(vec)|A(at), layout, READS,       shared_load,  "a whole tile, or a part, from a buffer (given type)")
OP(shared_gather,"buf i",   "r", 0, A(axis),   layout, READS,          shared_gather,"the elements at index i along axis of a buffer that is laid out in order (given type)")
OP(shared_count, "buf x mask?", "", 0, 0,      layout, WRITES,         shared_count, "adds 1 to element x of the buffer, where x is in range and mask is not 0")
OP(shared_stage,  "buf i",   "r", 0, A(order),  layout, PURE|FREE,      shared_stage,  "stage i of a buffer, as a buffer of one stage; dimension d of the result is dimension order[d] of buf; without order, the result may have any type that fits into the stage")
OP(opaque,       "x",       "r", 0, 0,         layout, PURE,           same,         "copies x so that ptxas does not know that the result equals x")
OP(warp_all,     "x",       "r", 0, 0,         layout, PURE,           warp_all,     "1 if all elements of x (i1) in the threads of this warp are 1; differs between warps. Decides an `if` whose second arm is correct for any x")
OP(to_shared,    "x buf?",  "r", 0, 0,         layout, PURE,           to_shared,    "puts the tile into shared memory (given type), from which an asynchronous unit reads it; into buf if given")

/* -- async: ops of units that run asynchronously to the threads, and ops that wait for these units or for
 *    other warps. `buf` and `bar` are buffers of one stage. A barrier (an mbarrier) is a shared<1xi64>. A
 *    buffer has a barrier for each of its stages; only mbar_init takes the barriers of all stages as one
 *    operand. All threads of the op's role (see `warps`) reach the op; the op's meaning says which of them
 *    execute it -- */
OP(async_copy,   "buf ptr mask?",   "",  0, A(vec),          async, READS|WRITES, async_copy, "copies a tile from global into shared memory; the owner of an element copies it; where mask is 0: 0")
OP(async_commit, "",                "",  0, 0,               async, EFFECT, none,      "makes the copies since the last commit one group")
OP(async_wait,   "",                "",  0, A(pending),      async, EFFECT, none,      "each thread waits for its groups of copies")
OP(fence_async,  "",                "",  0, A(read),         async, EFFECT, none,      "the threads' writes to shared memory are visible to asynchronous units after the next barrier; read=1: their reads have ended")
OP(mma_start,    "a b acc",         "r", 0, 0,               async, READS|EFFECT|MULTIPLIES, mma_start, "starts acc + a b as one group; b is a buffer, a a buffer or a tile")
OP(mma_wait,     "x*",              "r*",0, A(pending),      async, EFFECT, mma_wait,  "results of mma_start, when all but `pending` groups are done")
OP(tensor_load,  "x*",              "r", 0, A(map),          async, READS,  given,     "loads the map's box at coordinates x, outermost first; traced and laid_out only")
OP(tensor_store, "value x*",        "",  0, A(map),          async, WRITES, tensor_store, "stores a tile into the map's box at x; elements outside are dropped; traced and laid_out only")
OP(cluster_rank, "",                "r", 0, 0,               async, PURE, i32,        "0 or 1: this program's rank in its pair; 0 where programs are not launched in pairs")
OP(cluster_size, "",                "r", 0, 0,               async, PURE, i32,        "2 where programs are launched in pairs, else 1")
OP(cluster_arrive, "",              "",  0, 0,               async, EFFECT, none,     "each thread arrives at the barrier of the pair (cluster)")
OP(cluster_wait, "",                "",  0, 0,               async, EFFECT, none,     "waits until all threads of the pair have arrived")
OP(tensor_copy,  "buf bar x*",      "",  0, A(map)|A(order)|A(parts)|A(multicast),        async, READS|WRITES|EFFECT, tensor_copy, "copies the map's box at x into a buffer whose dimension order[i] is the map's i-th; bar counts the bytes; by one thread")
OP(tensor_put,   "buf x*",          "",  0, A(map)|A(order)|A(group), async, READS|WRITES|EFFECT, tensor_put, "copies a buffer into the map's box at x as one bulk group; by one thread, or by one thread of each group of warps for the group's rows")
OP(bulk_wait,    "",                "",  0, A(pending)|A(read)|A(group), async, EFFECT, none, "the thread that executes tensor_put waits for its bulk groups")
OP(mbar_init,    "bar times?",      "",  0, A(arrivals),     async, EFFECT, mbar_init, "one thread initializes all stages of a barrier for `arrivals` x `times` arrivals; `ready`, or the pair's barrier, must follow")
OP(mbar_expect,  "bar",             "",  0, A(bytes),        async, EFFECT, mbar,      "one thread arrives, and adds `bytes` to the bytes that the phase expects from copies")
OP(mbar_arrive,  "bar on? pair?",   "",  0, A(group)|A(last),        async, EFFECT, mbar,      "each group of `group` warps of the role arrives once if on (an i1) is 1; if pair (an i1) is 1, at the barriers of both CTAs")
OP(ready,        "",                "",  0, 0,               async, EFFECT, none,      "the producer has initialized the barriers and continues; consumer warps wait until it has")
OP(stagger_wait, "",             "",  0, A(turns),               async, EFFECT, none,      "each warpgroup but the first waits for the previous one's stagger_arrive")
OP(stagger_arrive, "",           "",  0, A(turns),               async, EFFECT, none,      "each warpgroup but the last ends the stagger_wait of the next one; follows its own stagger_wait")
OP(stagger_end,  "",             "",  0, 0,               async, EFFECT, none,      "each warpgroup but the last waits until the next one has passed stagger_wait; follows stagger_arrive, so that the barriers can be reused")
OP(mbar_wait,    "bar parity",      "",  0, 0,               async, EFFECT, mbar_wait, "waits until the phase of this parity (bit 0 of an i32) completes")
OP(warps,        "",                "",  2, A(warps)|A(regs), async, EFFECT, none,   "concurrent roles: first the consumers (the program's own warps), then the producer; there are no results")
#endif
