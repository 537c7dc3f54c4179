/* SPDX-License-Identifier: MIT */
/* params.h: lists the compiler's thresholds, one row each. A threshold is a number that controls an optimization.
 * Properties of GPUs are in ir/target/target.h instead.
 *
 *   PARAM(name, default, least, most, unit, meaning, measured)
 *
 *   name       begins with the name of the pass, stage or analysis that uses the threshold (a pass of
 *              opt/passes.h, or schedule, select, launch, ...)
 *   least      the smallest value that --param accepts; `most` is the largest. The code is correct with every value
 *              that --param accepts.
 *   unit       what the value counts; "one part in" means the fraction 1/value; "log2 ..." means an exponent of 2
 *   measured   the measurement from which the default was chosen, on an H200 unless the text names another
 *              GPU. Or: for how many of the kernels of tests/ and bench/, compiled for sm_90a, the PTX
 *              changes at other values (mostly half and double the default)
 *
 * The length of a fixed array (TERMS_MOST of affine.h, ...) is not in the table, because --param cannot change the
 * length. A module points to the values that its compilation uses (module.params). `neso help params` prints
 * the table, `--param NAME=VALUE` changes a value for one compilation, and the compile cache's key contains
 * the changed values. */
#ifdef PARAM

/* -- analyses: limits of their searches -- */
PARAM(affine_depth, 200, 1, 1000, "ops", "the longest chain of definitions that affine.c follows",
      "456 kernels have the same PTX at 100 and 400")
PARAM(access_pattern_depth, 40, 1, 1000, "ops",
      "the longest chain of definitions that access_pattern.c follows from a mask",
      "456 kernels have the same PTX at 20 and 80")
PARAM(axis_info_rounds, 8, 1, 100, "iterations",
      "axis_info.c analyses a loop's body at most so many times; if a value's facts still change, they count as "
      "unknown",
      "456 kernels have the same PTX at 4 and 16")
PARAM(value_range_ops, 64, 1, 1000, "ops", "definitions that value_range.c visits to compute one range",
      "456 kernels have the same PTX at 32 and 128")
PARAM(depends_ops, 64, 1, 1000, "ops", "definitions that depends.c visits to find the values from which one scalar "
      "is computed",
      "456 kernels have the same PTX at 32 and 128")
PARAM(dot_chain_ops, 256, 1, 10000, "ops",
      "definitions that are visited to find the dot from whose result one tile is computed",
      "456 kernels have the same PTX at 128 and 512")

/* -- single_trip_loops -- */
PARAM(single_trip_loops_ops, 200, 1, 10000, "ops", "definitions that are visited to compare two values",
      "456 kernels have the same PTX at 100 and 400")
PARAM(single_trip_loops_kept_percent, 25, 0, 100, "percent of a thread's registers",
      "tiles kept in registers from one loop to the next take at most this part",
      "456 kernels have the same PTX at 12 and 50; the code between the loops works on two more tiles of that size, "
      "and a "
      "spill costs more than a second load from a cache")
PARAM(single_trip_loops_read_percent, 75, 0, 100, "percent of a thread's registers",
      "tiles loaded before the loops, together with the kept tiles, take at most this part",
      "456 kernels have the same PTX at 37 and 100")

/* -- legalize_dot -- */
PARAM(legalize_dot_warps_most, 8, 1, 32, "warps",
      "if a dot's accumulator needs too many registers, the number of warps doubles, but not beyond this number",
      "128 x 256 in 4 warps spilled, and ptxas serialized its wgmma (C7511)")
PARAM(legalize_dot_chain_percent, 50, 1, 100, "percent of a thread's registers",
      "if the accumulators of two chained dots take more than this part, the number of warps doubles",
      "attention D=64, 128 x 64: 335 us in 4 warps, 307 in 8")
PARAM(legalize_dot_kept_columns, 64, 0, 256, "columns",
      "a dot of at most so many columns, in a warpgroup of 64 rows, reads a first operand that iterations share from registers",
      "H200, from shared memory and from registers: attention backward D=64 64 x 64 863 and 815 us, 64 x 128 in 8 warps 1008 "
      "and 915; forward D=128 128 x 64 in 8 warps 972 and 941; D=64 in 4 warps (128 rows a warpgroup) 1249 and 1307")
PARAM(legalize_dot_kept_percent, 75, 0, 100, "percent of a thread's registers",
      "... and if it and the accumulators of each loop take at most so many, but accumulators too many for two equal CTAs",
      "attention backward spills above: D=64 32 x 128 (100 percent) 910 and 1368 us, D=128 64 x 128 757 and 969")

/* -- raise_tma_load -- */
PARAM(raise_tma_load_copied_bytes, 16, 4, 32, "bytes",
      "if threads copy one operand of a dot, at least so many bytes at once, a producer warp still copies the other "
      "operand",
      "H100, gathered rows, five tiles: 4 to 13 percent faster, except 64 x 64 (1 percent slower); no copy has 32")

/* -- raise_tma_store -- */
PARAM(raise_tma_store_staged_bytes, 32768, 1024, 262144, "bytes",
      "a tile of more bytes is stored in parts, two of which fit in so many bytes",
      "128 x 256 f32 took 128 KB and left room for 2 stages; in parts 64 KB, and 3 stages")
PARAM(raise_tma_store_row_bytes, 128, 16, 1024, "bytes", "a row of a part has at least so many bytes",
      "of 456 kernels, other PTX: 3 at 64, 8 at 256")

/* -- persistent_grid -- */
PARAM(persistent_grid_section_programs, 512, 1, 1000000, "programs",
      "in a section of about so many programs, the longest come first",
      "causal attention, two CTAs an SM: 190 us, at 256 213; one CTA an SM: the same")
PARAM(persistent_grid_ops, 64, 1, 1000, "ops",
      "definitions that are visited to find whether a loop's length depends on the program",
      "456 kernels have the same PTX at 32 and 128")
PARAM(persistent_grid_sums_permille, 667, 0, 1000, "per mille of a thread's registers",
      "two CTAs fit on an SM if accumulators take at most this part of the registers that a thread then has",
      "of 456 kernels, other PTX: 18 at 333, 6 at 1000; two CTAs of five warps leave a thread 168 registers")
PARAM(persistent_grid_barrier_bytes, 1024, 0, 16384, "bytes",
      "shared memory that a CTA is assumed to take besides its rings when the compiler estimates whether two CTAs "
      "fit on an SM",
      "456 kernels have the same PTX at 512 and 2048")

/* -- assign_layouts -- */
PARAM(assign_layouts_inherit_depth, 4, 0, 100, "ops",
      "a tile that no access reads or writes inherits a layout through up to so many shape ops",
      "456 kernels have the same PTX at 2 and 8")
PARAM(assign_layouts_run_bytes, 32, 16, 64, "bytes",
      "a thread holds at most so many consecutive bytes, counted in the widest element type that is loaded in the "
      "layout",
      "take_along_rows 1500 GB/s became 1555, int8 quantization 3415 became 3441, to fp8 3409 became 3432")
PARAM(assign_layouts_access_slots, 4, 0, 100, "issue slots of a warp",
      "the assumed cost of an access of global memory, compared with the cost of conversions that avoid the access",
      "gradients of the delta rule, 32 columns a program: 1,421 instructions became 1,271; times not measured")

/* -- lower_layout_conversion, and ir/layout/conversion.c -- */
PARAM(lower_layout_conversion_shared_slots, 32, 0, 10000, "issue slots of a warp",
      "the cost of the barrier and of the latency of a conversion through shared memory",
      "of 456 kernels, other PTX: 6 at 16, 1 at 64; an estimate")
PARAM(lower_layout_conversion_register_slots, 2, 0, 100, "issue slots of a warp",
      "the cost of one register's store and load in a conversion through shared memory",
      "of 456 kernels, other PTX: 3 at 1, 5 at 4; an estimate")

/* -- lower_scan, lower_reduce -- */
PARAM(lower_scan_own_log2, 2, 0, 5, "log2 elements",
      "neighbouring elements along the contiguous axis that one thread scans in its registers",
      "of 456 kernels, other PTX: 3 at 1, 3 at 4")
PARAM(lower_reduce_parts_log2, 2, 0, 5, "log2 values",
      "partial results of warps that one thread reduces in registers; lanes reduce the rest",
      "of 456 kernels, other PTX: 28 at 1, 6 at 4")

/* -- warp_specialize -- */
PARAM(warp_specialize_consumer_warps_most, 8, 4, 8, "warps", "kernels with more warps get no producer warp",
      "of 456 kernels, other PTX: 32 at 4")
PARAM(warp_specialize_producer_regs, 40, 24, 248, "registers",
      "setmaxnreg's limit for a thread of the producer (rounded down to a multiple of 8)",
      "of 1,883 kernels, other PTX: 36 at 24, 36 at 80")
PARAM(warp_specialize_producer_regs_least, 24, 24, 248, "registers",
      "setmaxnreg's limit for a thread of the producer where two CTAs share an SM, or where warps of the consumers "
      "vote (keep_maximum, skip_rescaling)", "of 1,883 kernels, other PTX: 5 at 48; 24 is the least that setmaxnreg takes")
PARAM(warp_specialize_divided_permille, 850, 0, 1000, "per mille of a consumer's registers",
      "if setmaxnreg gives most registers to the consumers, two CTAs fit on an SM if accumulators take at most this "
      "part",
      "of 1,883 kernels, other PTX: 5 at 425, none at 1000")
PARAM(warp_specialize_consumer_regs_most, 240, 24, 248, "registers",
      "setmaxnreg's largest limit for a thread of a consumer (rounded down to a multiple of 8)",
      "of 1,883 kernels, other PTX: 41 at 120, none at 248")
PARAM(warp_specialize_reserve_bytes, 1024, 0, 65536, "bytes",
      "shared memory that rings leave free for barriers and alignment",
      "456 kernels have the same PTX at 512 and 2048")
PARAM(warp_specialize_vector_bytes, 1024, 0, 65536, "bytes",
      "a loop of dots copies a one-dimensional tile through a ring if the tile takes at most so many bytes",
      "456 kernels have the same PTX at 512 and 2048")
PARAM(warp_specialize_vector_regs, 16, 0, 256, "registers",
      "consumers read a vector right behind the wait for its stage if the vector takes at most so many registers, else in "
      "front of its first use",
      "attention backward with 64x128 tiles, D = 128, causal: 388 us instead of 430; with 128x128 tiles and vectors of 32 "
      "registers 1245 us instead of 970")
PARAM(warp_specialize_outer_stages, 2, 1, 8, "stages",
      "a ring has at most so many stages if only loops inside the block that loads its tiles read them",
      "causal attention, D = 128 and 64, million cycles: 1.277 and 1.012; at 1 1.309 and 1.003")

/* -- keep_maximum -- */
PARAM(keep_maximum_slack, 8, 1, 15, "log2 of a sum",
      "a row keeps its old maximum while the sum of its exponentials is at most 2^value; an f16 is less than 2^16",
      "a sum of 128 exponentials, each at most 1, is at most 2^7")

PARAM(keep_maximum_other_regs, 24, 0, 255, "registers",
      "registers that a thread needs beyond the scores, their exponentials, the accumulator and the operand of a dot in "
      "flight; if it has fewer, the exponentials are converted behind the branch",
      "attention forward, fp_reassoc, 128 x 128, 8 warps, H200, the conversion in the branch and behind it: D = 128 (224 "
      "registers) 1610 us, 1571; causal 946, 920; D = 64 (192 registers) 1094, 1148")

/* -- skip_rescaling -- */
PARAM(skip_rescaling_least, 8, 1, 128, "registers",
      "a warp votes whether to skip a product if a thread multiplies at least so many registers by each factor",
      "attention forward, 128 x 128, 8 warps: 16 (D = 64) and 32 (D = 128) registers: 0.5 to 3.3 percent faster")

/* -- overlap_dots, alternate_dots, overlap_epilogue -- */
PARAM(alternate_dots_stages_least, 4, 2, 32, "stages",
      "a ring with fewer stages is too short for two dots in flight",
      "fp8 with scales of blocks, H100 and H200: with 3 stages 0 to 20 percent slower, with 4 to 6 stages 4 to 14 "
      "faster")
PARAM(alternate_dots_arithmetic_regs, 32, 0, 255, "registers",
      "registers that a thread needs beyond two accumulators in flight and the tiles that the loop carries",
      "128 x 128 in 8 warps: 192 registers and these 32 fit in 232, no spills; in 4 warps 384 do not fit, and it "
      "spills anyway")
PARAM(overlap_dots_arithmetic_regs, 56, 0, 255, "registers",
      "registers that a thread needs between two chained dots, beyond both accumulators and the second dot's operand",
      "attention D=128, 128 x 128, 8 warps, with the overlap: 240 us became 216")
PARAM(carry_dots_other_regs, 84, 0, 255, "registers",
      "registers that a thread needs while a dot runs into the next iteration, beyond accumulators and the dot's operand",
      "attention backward, 232 registers: 112 beyond these, D=64, 64 x 128: 887 and 507 us became 858 and 458; 152, D=128, "
      "32 x 128: 872 and 457, 844 and 476; 176, 64 x 128: 784 and 429, 805 and 423")
PARAM(schedule_dots_spilled_regs, 12, 0, 255, "registers",
      "if one warpgroup's dots start early, live values may exceed a thread's registers by so many",
      "attention backward D=64, 32 x 128, 4 warps, 6 too many: 1056 us became 919; causal D=128, 64 x 128, 8 "
      "warps: 433 became 459")
PARAM(overlap_epilogue_step_regs, 3, 0, 100, "registers",
      "registers that the operand descriptors of one wgmma (one step of K) take",
      "of 456 kernels, other PTX: none at 1, 2 at 6")
PARAM(overlap_epilogue_other_regs, 26, 0, 255, "registers",
      "registers for the counters and addresses of a loop, beyond accumulator, tile and descriptors",
      "of 456 kernels, other PTX: none at 13, 4 at 52")

/* -- pipeline_loops -- */
PARAM(pipeline_loops_short_trips, 2, 0, 1000, "iterations",
      "tiles that a loop of at most so many iterations reads into registers are not copied ahead",
      "H200, gated linear attention: scores of chunks of 16 115 and 71 us (1 iteration), 59 and 38 (2); outputs 94 and 66 (2)")
PARAM(pipeline_loops_depth, 12, 1, 1000, "ops",
      "the search from a load to the dots that read it follows this many uses",
      "of 456 kernels, other PTX: 6 at 6, none at 24")
PARAM(pipeline_loops_shared_percent, 50, 0, 100, "percent of a CTA's shared memory",
      "rings take at most this part, so that two CTAs fit on an SM, unless other buffers prevent that",
      "456 kernels have the same PTX at 25 and 100")
PARAM(pipeline_loops_reserve_part, 16, 1, 1000, "one part in",
      "the part of shared memory that rings leave free where two CTAs do not fit",
      "456 kernels have the same PTX at 8 and 32")
PARAM(pipeline_loops_meet_depth, 8, 1, 1000, "ops",
      "the search from a load to an op that combines the tile with a dot's result, and from this op back to the dot, "
      "follows this many ops", "456 kernels have the same PTX at 4 and 16")
PARAM(pipeline_loops_in_flight_regs, 64, 0, 512, "registers",
      "a loop-carried dot whose operands cp.async copies stays in flight while the next dot starts, if its "
      "accumulator takes at least so many registers of a thread",
      "H200, 13 products of experts and gathered rows: 128x256 gains 11 and "
      "13 %, 128x128 0 to 9 %, 64x256 loses 1 %; with 32 registers (64x64) one loses 5 % and one gains 1 %")
PARAM(rotate_loads_depth, 32, 1, 1000, "ops",
      "the search through the address computation of a load that moves to the previous iteration follows this many "
      "ops",
      "456 kernels have the same PTX at 16 and 64")
PARAM(rotate_loads_regs_most, 4, 1, 255, "registers",
      "an index tile of at most so many registers of a thread is loaded an iteration ahead; so is such a vector, if "
      "a producer copies all operands of the loop's dots",
      "456 kernels have the same PTX at 2 and 8")
PARAM(turn_grid_ops, 200, 1, 1000, "ops",
      "definitions that are visited to find how far one access moves from program to program",
      "an estimate")
PARAM(whole_tiles_vectors, 4, 1, 1000, "vectors",
      "if a thread loads at least so many vectors of a loop under one mask, a branch also loads them without the "
      "mask",
      "H200: cross entropy of bf16 in 4 and 8 warps (8 and 4 vectors) 145 and 150 us became 141 and 148, of f32 in 8 "
      "(4) 132 "
      "became 128; KL divergence in 8 (2 tiles of 2) 86 became 82")
PARAM(hoist_loads_depth, 8, 1, 100, "ops",
      "comparing two addresses, or masks, follows their computations to this depth",
      "an estimate: pointer, row and column are three ops deep")
PARAM(load_ahead_percent, 13, 0, 100, "percent of a thread's registers",
      "the tiles that a loop without dots loads an iteration ahead take at most this part",
      "with the pass: recurrence of columns 836 GB/s became 2973, layer norm backward of 8192 columns 1856 became "
      "2413")
PARAM(load_ahead_iterations, 8, 1, 64, "iterations",
      "a loop whose iterations wait only for memory is unrolled at most so often, to have more loads in flight",
      "recurrence of columns: 0.482 ms became 0.136")
PARAM(load_ahead_slots, 128, 1, 10000, "issue slots of a warp",
      "an iteration with so much arithmetic takes as long as its loads, so the loop is not unrolled",
      "of the 75 kernels of bench/programs/rows.py, other PTX: 7 at 64, 3 at 256")
PARAM(load_ahead_ctas, 3, 1, 64, "CTAs",
      "if so many fit on an SM (one more if threads wait for each other), loops with much arithmetic load nothing "
      "ahead",
      "cross entropy in 4 and 8 warps (6 and 4 CTAs) lost 6 and 3 percent, in 16 warps (3) gained 6; with gradient "
      "(2) 4")
PARAM(load_ahead_bytes, 32768, 0, 1048576, "bytes",
      "if the loads of an SM's CTAs have so many bytes in flight (twice as many if threads wait for each other), "
      "loops with much arithmetic load nothing ahead",
      "64 KiB: cross entropy lost 3 percent; 48 KiB: layer norm backward gained 3, KL divergence lost 3")
PARAM(alias_largest_depth, 8, 1, 1000, "definitions",
      "the longest chain of definitions that is followed to compute the largest value of an index",
      "456 kernels have the same PTX at 4 and 16")
PARAM(pipeline_loops_small_bytes, 4096, 0, 262144, "bytes",
      "a ring of at most so many bytes may use the part of shared memory that other rings leave free",
      "456 kernels have the same PTX at 2048 and 8192")

/* -- cluster_multicast -- */
PARAM(cluster_multicast_stride_most, 64, 1, 1024, "programs",
      "the two programs of a pair are at most this far apart along axis 0",
      "456 kernels have the same PTX at 32 and 128")
PARAM(cluster_multicast_samples, 96, 1, 10000, "programs",
      "sample programs whose coordinates are compared for each stride", "456 kernels have the same PTX at 48 and 192")
PARAM(cluster_multicast_disagree_part, 8, 1, 10000, "one part in",
      "the part of the sample programs that may load other tiles than their partners",
      "456 kernels have the same PTX at 4 and 16")
PARAM(cluster_multicast_bytes_per_cycle, 80, 0, 100000, "bytes a cycle of an SM",
      "a dot that loads more waits for L2; pairs of CTAs are then faster even if each CTA runs one program",
      "64 x 128 tiles (96 bytes a cycle) gain a third, 128 x 128 lose 3 to 8 percent, 128 x 256 gain nothing")
PARAM(cluster_multicast_persistent_bytes_per_cycle, 40, 0, 100000, "bytes a cycle of an SM",
      "the same threshold where a CTA loops over many programs",
      "128 x 256 x 64 tiles (48 bytes a cycle) gain 3 percent at 4096 and 8192")
PARAM(cluster_multicast_share_part, 4, 1, 1000, "one part in",
      "the part of the loaded bytes that a pair must share where dots wait for L2",
      "of 456 kernels, other PTX: 7 at 2, 6 at 8")
PARAM(cluster_multicast_persistent_share_part, 2, 1, 1000, "one part in",
      "the part that a pair must share where dots do not wait for L2 and a CTA loops over many programs",
      "128 x 256 x 64 (48 bytes a cycle) gains 3 percent where two thirds are shared, loses 1 to 3 where one third "
      "is")

/* -- remat -- */
PARAM(remat_tile_elems, 16, 1, 1024, "elements of a thread",
      "smaller tiles are kept, and reductions of them do not count as reductions",
      "of 456 kernels, other PTX: 5 at 8, 2 at 32")
PARAM(remat_ops, 5, 0, 100, "ops", "a tile that takes more ops to recompute is kept",
      "of 456 kernels, other PTX: 2 at 2, none at 10")
PARAM(remat_small_part, 4, 1, 1024, "one part in",
      "a broadcast operand of at most this part of the tile counts as available everywhere",
      "456 kernels have the same PTX at 2 and 8")
PARAM(remat_exp_part, 2, 1, 1024, "one part in",
      "the part of a thread's registers above which the exponentials of a tile are recomputed",
      "of 456 kernels, other PTX: none at 1, 1 at 4")
PARAM(remat_other_regs, 14, 0, 255, "registers", "registers that a thread needs beyond the kept tiles",
      "456 kernels have the same PTX at 7 and 28")
PARAM(remat_enough_bytes, 24576, 0, 1048576, "bytes",
      "if the loads in flight on an SM cover so many bytes, every value is kept",
      "RMS norm fp16 of 4096 to 15872 columns: 0.95 to 0.99 of Triton with remat, 0.99 to 1.02 without; 64 KiB in "
      "flight suffice")

/* -- l2_prefetch -- */
PARAM(l2_prefetch_near_bytes, 5242880, 0, 1073741824, "bytes",
      "prefetch distance for short rows: bytes of rows between the program and the prefetched row",
      "2 to 9 MB measured: layer norm of 2048 columns 0.934 of a copy became 0.984, of 4096 0.920 became 0.970")
PARAM(l2_prefetch_far_bytes, 7340032, 0, 1073741824, "bytes", "prefetch distance for long rows",
      "2 to 9 MB measured: RMS norms of 10240 to 15872 columns take 0.90 to 0.98 of the time")
PARAM(l2_prefetch_loop_bytes, 32768, 16, 1048576, "bytes",
      "the part of a row that is prefetched before the loop that reads it",
      "layer norms with loops take 0.95 to 1.007 of the time, 0.985 in the mean")
PARAM(l2_prefetch_short_elems, 2048, 1, 1048576, "elements",
      "a row is not prefetched if (its reductions x its elements / the bytes of an element) is less than this",
      "shorter rows gained at no distance; RMS norm of 8192 0.966 of a copy became 0.995, softmax of 8192 0.973 "
      "became 0.994")
PARAM(l2_prefetch_long_elems, 8192, 1, 1048576, "elements",
      "a row is prefetched over the long distance if this quotient of l2_prefetch_short_elems is at least so large",
      "where many programs share an SM it cost up to 9 percent (softmax of 4096 and 8192 columns)")
PARAM(l2_prefetch_filled_percent, 75, 0, 100, "percent of a tile",
      "a row that fills a smaller part of its tile is prefetched over a longer distance",
      "of 456 kernels, other PTX: 3 at 37, 3 at 100")
PARAM(l2_prefetch_further_part, 3, 1, 1000, "one part in",
      "the part of the distance that is added if rows do not fill their tiles",
      "of 456 kernels, other PTX: 3 at 1, 3 at 6")

/* -- allocate_shared, insert_barriers, pack_programs -- */
PARAM(allocate_shared_cheap_bytes, 4096, 0, 262144, "bytes",
      "buffers that together take no more bytes do not share addresses, because sharing costs a barrier",
      "of 456 kernels, other PTX: 4 at 2048, 6 at 8192")
PARAM(insert_barriers_depth, 4, 0, 100, "ops",
      "the comparison of two stage numbers follows a chain of definitions this far",
      "456 kernels have the same PTX at 2 and 8")
PARAM(pack_programs_most, 4, 1, 32, "programs", "programs of one warp that share a CTA",
      "4096 rows of 1 KB: 6.9 us with one program per CTA; a copy of the same bytes takes 6.35 us")

/* -- stepdown -- */
PARAM(stepdown_conversion_bytes, 32768, 1024, 262144, "bytes",
      "the size of the pieces into which conversions are split at the first attempt",
      "of 456 kernels, other PTX: 1 at 16384, 1 at 65536")
PARAM(stepdown_conversion_bytes_least, 8192, 1024, 262144, "bytes",
      "the size of the pieces if the first attempt does not fit", "of 456 kernels, other PTX: 1 at 4096, 1 at 16384")
PARAM(stepdown_registers_over, 4, 1, 1000, "times an SM's registers",
      "a kernel with a larger tile is refused at once",
      "of 456 kernels, other PTX: 1 at 2, none at 8")
PARAM(stepdown_shared_percent, 50, 0, 100, "percent of a CTA's shared memory",
      "a kernel without dots whose tiles together take less is not copied for a second attempt",
      "456 kernels have the same PTX at 25 and 100")
PARAM(stepdown_spilled_regs, 50, 1, 1000, "registers",
      "if about so many registers of a thread would be spilled, the number of warps doubles (legalize_dot_warps_most)",
      "H200, 20 public kernels with 4 warps that spill as many: 18 become 5 to 170 percent faster, 2 5 percent slower")

/* -- select -- */
PARAM(select_mask_uses, 200, 1, 10000, "uses",
      "uses that are visited to find whether an op reads the disabled elements of a masked load",
      "456 kernels have the same PTX at 100 and 400")
PARAM(select_sum_run, 8, 1, 256, "elements",
      "a sum of products becomes chains of so many fma, whose results a tree of additions adds",
      "RMS norm of 8192 columns: 283 instructions became 271")
PARAM(select_turns_percent, 60, 0, 100, "percent of the shuffles",
      "lanes share the reductions of several results if at most this part of the shuffles remains: each then needs "
      "two selects",
      "of 1,883 kernels, other PTX: 35 at 30, 150 at 100")

/* -- peephole, branch_over_masked, remat of machine IR -- */
PARAM(peephole_pair_depth, 8, 0, 100, "instructions",
      "the pairing of halves of a register follows a chain of instructions this far",
      "456 kernels have the same PTX at 4 and 16")
PARAM(branch_over_masked_insns, 48, 1, 100000, "instructions",
      "a masked store gets a branch only if the branch skips at least so many instructions",
      "layer norm f16 of 5120 in 8192 27.6 to 25.5 us; RMS norm (about 36) gained nothing, rows of 8192 lost 1 "
      "percent")
PARAM(branch_over_masked_distance, 2048, 1, 1000000, "instructions",
      "how many instructions before a store are searched for those that only the store needs",
      "456 kernels have the same PTX at 1024 and 4096")
PARAM(branch_over_masked_regs_percent, 75, 0, 100, "percent of a thread's registers",
      "a kernel with more live registers gets no branches over masked stores",
      "where registers are nearly used up ptxas spilled")
PARAM(remat_insns_depth, 12, 0, 100, "instructions",
      "if registers are short, chains of up to so many instructions are rematerialized for each use",
      "456 kernels have the same PTX at 6 and 24")

/* -- schedule -- */
PARAM(schedule_ready_most, 32, 1, 10000, "instructions",
      "ready instructions that the scheduler compares when registers are short",
      "of 456 kernels, other PTX: 9 at 16, 6 at 64")
PARAM(schedule_regs_percent, 75, 0, 100, "percent of a thread's registers",
      "if more registers are live, instructions that free registers go first",
      "of 456 kernels, other PTX: 70 at 37, 31 at 100")
PARAM(schedule_pipeline_spare_regs, 2, 0, 255, "registers",
      "a pipelined block keeps its order if at least so many registers remain for ptxas",
      "456 kernels have the same PTX at 1 and 4")
PARAM(schedule_gain_part, 8, 1, 1000, "one part in",
      "the order with few registers is chosen if it gains at least this part in CTAs on an SM",
      "layer norm of 16384 in 16 warps: 2 programs on an SM instead of 1; of 8192 in 8 warps: 4 instead of 3")
PARAM(schedule_steps, 8, 1, 100, "steps",
      "number of register limits that are tried to find the order with the most loads in flight",
      "of 456 kernels, other PTX: 1 at 4, 1 at 16")
PARAM(schedule_preds_most, 64, 0, 1000, "predicates",
      "an order with more live predicates is rejected, because ptxas keeps some of them in registers",
      "of 204 kernels of rows, other PTX than at 12: 3, of argmax, which take 61, 39 and 32 registers at 12, 32, 31 "
      "and 31 at 64")
PARAM(schedule_carried_regs, 64, 1, 1024, "registers",
      "a thread that converts so many registers through shared memory may use all registers",
      "a transpose of 128 x 128 halves spilled 48 bytes of a thread for a seventh program, where shared memory "
      "holds six")

/* -- resources: estimates of the registers that ptxas needs, and the number of CTAs that a kernel requests -- */
PARAM(ptxas_spare_regs, 8, 0, 255, "registers",
      "registers that ptxas needs beyond the live ones in a kernel with mma.sync",
      "counted as live and then used: 155 and 160, 252 and 254, 144 and 136")
PARAM(ptxas_spare_regs_wgmma, 3, 0, 255, "registers",
      "registers that ptxas needs beyond the live ones in a kernel with wgmma",
      "counted as live and then used: 213 and 214")
PARAM(ptxas_chained_percent, 80, 1, 100, "percent of the live registers",
      "the part that ptxas needs where one wgmma depends on another",
      "causal attention: 96 of 118 without spills; 158 of 197")
PARAM(ptxas_saved_regs, 1, 0, 255, "registers",
      "registers that ptxas saves in a kernel without branches that unpacks halves",
      "456 kernels have the same PTX at 0 and 2")
PARAM(ptxas_load_regs, 2, 0, 255, "registers",
      "registers that ptxas needs in order not to move loads down to the one reduction that reads them",
      "456 kernels have the same PTX at 1 and 4")
PARAM(ptxas_loop_regs, 1, 0, 255, "registers",
      "registers that ptxas needs beyond the live ones in a kernel with branches",
      "of 2,106 kernels 30 have other PTX than at 5 and a sixteenth of the live ones; at 0 one spills, at 1 none")
PARAM(ptxas_straight_part, 6, 1, 1000, "one part in",
      "the part of the live registers that ptxas needs in addition in a kernel without branches and 16-bit halves",
      "at 7 a softmax of 8192 columns spills; argmax of 32768 fits two CTAs on an SM")
PARAM(ptxas_division_halves, 12, 0, 255, "16-bit registers", "registers that ptxas needs for a division",
      "no kernel of the tests or benches spills")
PARAM(ptxas_division_f64_halves, 24, 0, 255, "16-bit registers", "registers that ptxas needs for a division of f64",
      "a function of 17 registers, 4 of them operands; Bessel functions spilled 32 bytes at 12; of 2,109 kernels, "
      "other PTX: 5")
PARAM(ptxas_report_regs, 6, 0, 255, "registers",
      "registers that --explain=registers allows for ptxas before it predicts spills",
      "456 kernels have the same PTX at 3 and 12")
PARAM(resources_regs_least, 64, 1, 255, "registers",
      "a kernel with dots is assumed to need at least so many registers",
      "456 kernels have the same PTX at 32 and 128")
PARAM(resources_ctas_most, 2, 1, 32, "CTAs",
      "a kernel with dots asks ptxas for registers with which at most so many CTAs fit on an SM",
      "of 456 kernels, other PTX: 129 at 1, 110 at 4")

/* -- launch -- */
PARAM(launch_pack_ctas, 4, 1, 10000, "CTAs an SM",
      "programs are packed into CTAs only as long as at least so many CTAs remain for each SM",
      "4096 rows of 1 KB: 6.9 us with one program per CTA; a copy of the same bytes takes 6.35 us")
PARAM(launch_late_part, 8, 0, 1000, "one part in",
      "this part of a persistent grid's uneven programs runs in later CTAs of one program each; below 2: none",
      "causal attention, million cycles: 1.277; at 4 1.294, at 16 1.292")
PARAM(launch_pad_sweeps, 4, 0, 1 << 20, "times",
      "an array whose row stride is a multiple of only 8 bytes is copied for tensor maps if the grid loads it so "
      "often; of only 4 bytes, half as often",
      "H200, copies and none: 4100 x 4100 (9 times) 502 and 438 TFLOP/s, 1000 x 4100 (4) 431 and 355, 300 x 4100 "
      "(2.5) 186 and 208; "
      "of 4 bytes: 4102 x 4102 504 and 325, 300 x 4102 186 and 171")
PARAM(launch_pad_mib_most, 1024, 0, 1 << 20, "MiB",
      "an array whose row stride is not a multiple of 16 bytes is copied for tensor maps if its copy takes at most "
      "so many",
      "a copy of 1 GiB takes 0.9 ms on an H100 (2300 GB/s); larger workspaces are not measured")

#else
#ifndef NESO_IR_PARAMS_H
#define NESO_IR_PARAMS_H

#include "ir/support/diag.h"
#include "ir/support/text.h"

struct params {
#define PARAM(name, dflt, least, most, unit, meaning, measured) int name;
#include "ir/params.h"
#undef PARAM
};
extern const struct params params_default;

struct param_info {
    const char *name, *unit;
    int least, most;
};
/* The table without the defaults, which params_default holds, and without the columns `meaning` and `measured`. Only
 * `neso help params` prints these columns (runtime/manual/params.c); the library omits them. */
extern const struct param_info param_info[];
extern const int nparam_info;
int param_value(const struct params *p, int i); /* the value of row i */

/* Sets *p to the defaults, and then to the values in `text`, which has the form "NAME=VALUE,NAME=VALUE" (or is NULL).
 * If there is an error, reports it and returns false. */
bool params_read(struct params *p, const char *text, struct diag *d);
/* Prints the values that differ from the defaults as "NAME=VALUE NAME=VALUE", in the order of the table, or
 * "default" if there is none. */
void params_print(const struct params *p, struct text *out);

#endif
#endif
