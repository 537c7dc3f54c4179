/* SPDX-License-Identifier: MIT */
/* decisions.h: lists the decisions of passes, with the texts that explain them, one row each: DECISION(pass,
 * name, grade, text).
 *
 * `--explain` prints the text. A conversion specifier of the text prints the next unused element of an array
 * of struct explanation (explain.h): %v of `values`, %d of `numbers`, %s of `words`. %% is a percent sign.
 *
 * The grade ranks the alternative decisions of one pass about one op. A higher grade means better code. Grade 0 means
 * that the pass has no alternatives for this op. TIDIES marks a decision that only cleans up the IR. A grade
 * may be an expression of `number`, the first of the explanation's `numbers`. `neso inspect` compares grades
 * to find promises about parameters (such as divisibility by 16) that improve the code. */
#ifdef DECISION
DECISION(cse, replaced, TIDIES, "%v is %v")
DECISION(licm, hoisted, TIDIES, "%v is hoisted out of the loop")
DECISION(turn_grid, turned, 0, "programs that are neighbours along axis 1 run at the same time: they access neighbouring memory")
DECISION(whole_tiles, whole_tiles, 0, "%v is loaded without a mask, except at the end of the row")
DECISION(hoist_loads, loaded_before_branch, 0, "%v is loaded before the branch: code after the branch writes to its addresses in any case")
DECISION(sink, sunk, TIDIES, "%v is sunk below the loop")
DECISION(unroll, unrolled_whole, 0, "unrolled completely: %d iterations")
DECISION(unroll, unrolled_with_rest, 0, "unrolled by %d; a second loop runs the remaining iterations")
DECISION(single_trip_loops, read_again, 0, "%v is loaded again: the kernel may write to it in between")
DECISION(single_trip_loops, read_once, 0, "%v is the value of the earlier load %v")
DECISION(single_trip_loops, read_early, 0, "%v is loaded before the loops")
DECISION(single_trip_loops, stays_a_loop, 0, "stays a loop: %s")
DECISION(single_trip_loops, runs_once, 0, "runs once in launches that fulfil the guards; other launches take the fallback")
DECISION(legalize_dot, more_warps, 0, "%v takes %d registers of a thread: %d warps instead of %d")
DECISION(legalize_dot, transposed_dot, 0,
         "its operands are swapped: the dot has too few rows for a warpgroup, but enough columns")
DECISION(legalize_dot, chained_dot, 0, "its operands are swapped, so that the computed operand stays in registers")
DECISION(legalize_dot, dot_by_async, 2, "%v by %s, %d warpgroups a row")
DECISION(legalize_dot, dot_not_async, 1, "%v by %s, not %s: %s")
DECISION(raise_tma_load, access, 0, "%s: %s")
DECISION(raise_tma_load, load_by_map, 2, "a copy by a tensor map")
DECISION(raise_tma_load, stays_a_load, 1, "stays a load: %s")
DECISION(raise_tma_store, store_by_map, 2, "a copy by a tensor map")
DECISION(raise_tma_store, stays_a_store, 1, "stays a store: %s")
DECISION(dedup_loads, neighbours_share, 0, "%v: %d neighbours along dimension %d are loaded once")
DECISION(modulo_contiguity, contiguous, 0, "%v is contiguous within groups despite the modulo")
DECISION(modulo_contiguity, equal_quotients, 0, "%v is equal within groups")
DECISION(invariant_loads, may_be_written, 0, "%v is not loaded ahead: the loop may write to its addresses")
DECISION(invariant_loads, marked_invariant, 0,
         "no store of the loop writes what %v reads; the launch compares addresses")
DECISION(load_ahead, no_registers_ahead, 0, "%v is not loaded ahead: a thread has too few registers")
DECISION(load_ahead, may_be_written_behind, 0, "%v is not loaded ahead: the loop may write to its addresses")
DECISION(persistent_grid, many_programs, 0, "a CTA loops over many programs")
DECISION(persistent_grid, uneven_programs, 0, "one CTA for each program: the loops of the programs differ in length")
DECISION(persistent_grid, longest_first, 0,
         "one CTA for each program: the loops of the programs differ in length, and the longest programs start first")
DECISION(persistent_grid, two_ctas_fit, 0, "one CTA for each program: two CTAs fit on an SM")
DECISION(assign_layouts, layout_for_op, 0, "%%%s%s: %s, for this %s")
DECISION(assign_layouts, layout_by_shape, 0, "%%%s%s: %s, by shape alone ")
DECISION(assign_layouts, converted, 0, "%v is converted for this %s: %s")
DECISION(assign_layouts, computed_in_layout, 0, "%v is rematerialized in another layout")
DECISION(keep_maximum, maximum_kept, 0, "%v stays as it is while %v is small")
DECISION(skip_rescaling, rescaling_skipped, 0, "%v is not multiplied by %v where that is 1 in all rows of a warp")
DECISION(lower_scan, scan_over_warps, 0, "the results of %d warps are combined through shared memory")
DECISION(lower_reduce, reduce_over_warps, 0, "%d partial results are combined through shared memory")
DECISION(warp_specialize, ring, 0, "a ring of %d stages, %d bytes each, filled by a producer warp")
DECISION(warp_specialize, ring_shared, 0, "a ring of %d stages, %d bytes each, shared with an earlier loop")
DECISION(warp_specialize, ring_short, 0, "shared memory has no room for %d stages")
DECISION(warp_specialize, one_warp, 0,
         "the producer takes a warp: a launch of many programs uses variant no_producer if more CTAs of it fit on an SM")
DECISION(cluster_multicast, pairs, 0, "pairs of programs %d apart share %d of %d bytes")
DECISION(overlap_dots, dot_ahead, 0, "%v is computed an iteration ahead, overlapped with %v")
DECISION(overlap_dots, dot_ahead_staggered, 0,
         "%v is computed an iteration ahead, overlapped with %v; warpgroups start staggered")
DECISION(alternate_dots, alternates, 0, "%v is awaited while the next iteration's dot runs")
DECISION(pipeline_loops, pipelined, 2, "%v in %d stages, %d bytes at once")
DECISION(pipeline_loops, too_few_bytes, 1,
         "%v is loaded by threads: %d bytes at once are too few to copy")
DECISION(pipeline_loops, unknown_ahead, 1,
         "%v is loaded by threads: its addresses are not known ahead")
DECISION(pipeline_loops, loaded_ahead, 0, "%v is loaded an iteration ahead")
DECISION(overlap_epilogue, stored_under_dots, 0, "the store overlaps the dots of the next program, in %d pieces")
DECISION(overlap_epilogue, stored_before_dots, 0,
         "stored before the next dots start: a thread has too few registers to keep the tile")
DECISION(schedule_dots, dot_scheduled, 0, "%v is waited for at its first use, which leaves %d dots in flight")
DECISION(carry_dots, dot_carried, 0, "%v is awaited in the next iteration, behind its first dots")
DECISION(schedule, iteration, 0, "an iteration takes %d cycles; busy: %s")
DECISION(schedule, buffer, 0, "%v: %s")
DECISION(schedule, span, 0, "%s, %s: cycles %d to %d, %s")
DECISION(lower_layout_conversion, converted_in_halves, 0, "%v is converted in halves")
DECISION(lower_layout_conversion, converted_over_third, 0, "%v is converted by way of a third layout")
DECISION(lower_layout_conversion, to_shared, 0, "%v goes to shared memory, %d bytes")
DECISION(lower_layout_conversion, through_shared, 0, "%v goes through shared memory, %d bytes a buffer")
DECISION(lower_layout_conversion, gathered, 0, "%v is gathered from shared memory")
DECISION(lower_layout_conversion, counted, 0, "%v is a histogram counted in shared memory")
DECISION(lower_layout_conversion, to_other_warps, 0, "%v goes to the other warps through shared memory")
DECISION(remat, recomputed, 0, "%v is rematerialized instead of kept in registers")
DECISION(vectorize, scalars, 4 * number + 1, "%d element at once%s")
DECISION(vectorize, vectors, 4 * number + 1, "%d elements at once%s")
DECISION(vectorize, vectors_with_tail, 4 * number, "%d elements at once, one by one at the edge of the mask%s")
DECISION(eviction_hints, evicted_first, 0, "last read: its cache lines are evicted first")
DECISION(l2_prefetch, prefetch_programs, 0, "%v is prefetched to L2 for the program %d later")
DECISION(l2_prefetch, prefetch_row, 0, "%v is prefetched to L2 before the loop")
DECISION(allocate_shared, placed, 0, "%d bytes at %d")
DECISION(pack_programs, packed, 0, "up to %d programs share a CTA")
DECISION(stepdown, doubled_warps, 0, "about %d registers of a thread would be spilled: %d warps instead of %d; all passes ran again")
DECISION(stepdown, stepped_down, 0, "%d bytes of shared memory, of %d: %s%sall passes ran again")
#endif
