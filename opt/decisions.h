/* decisions.h: what passes decide, and how they say it, one row each: DECISION(pass, name, grade, text).
 *
 * The text is that of --explain. Its verbs take the operands of struct explanation (explain.h) in order: %v a value, %d a
 * number, %s words, %% a percent sign.
 *
 * The grade compares decisions of one pass about one place: more is better, 0 is no choice between ways, and TIDIES is
 * none of interest. `neso inspect` looks by it for promises of the signature that make decisions better. */
#ifdef DECISION
DECISION(cse, replaced, TIDIES, "%v is %v")
DECISION(licm, hoisted, TIDIES, "%v leaves the loop")
DECISION(sink, sunk, TIDIES, "%v is computed behind the loop")
DECISION(unroll, unrolled_whole, 0, "%d rounds at once")
DECISION(unroll, unrolled_with_rest, 0, "%d rounds at once; what is left has a loop of its own")
DECISION(single_trip_loops, read_again, 0, "%v is read again: the kernel may write between")
DECISION(single_trip_loops, read_once, 0, "%v was read as %v")
DECISION(single_trip_loops, read_early, 0, "%v is read early")
DECISION(single_trip_loops, stays_a_loop, 0, "stays a loop: %s")
DECISION(single_trip_loops, runs_once, 0, "taken to run once; other launches keep it")
DECISION(legalize_dot, more_warps, 0, "%v takes %d registers of a thread: %d warps instead of %d")
DECISION(legalize_dot, transposed_dot, 0,
         "computed transposed: it has too few rows for a warpgroup, but not too few columns")
DECISION(legalize_dot, dot_by_wgmma, 2, "%v by %s, %d warpgroups a row")
DECISION(legalize_dot, dot_not_by_wgmma, 1, "%v by %s, not wgmma: %s")
DECISION(raise_tma_load, access, 0, "%s: %s")
DECISION(raise_tma_load, load_by_map, 2, "a copy by a tensor map")
DECISION(raise_tma_load, stays_a_load, 1, "stays a load: %s")
DECISION(raise_tma_store, store_by_map, 2, "a copy by a tensor map")
DECISION(raise_tma_store, stays_a_store, 1, "stays a store: %s")
DECISION(dedup_loads, neighbours_share, 0, "%v: %d neighbours along dimension %d are loaded once")
DECISION(modulo_contiguity, contiguous, 0, "%v stays side by side where it wraps")
DECISION(invariant_loads, may_be_written, 0, "%v is not loaded ahead: the loop may write there")
DECISION(invariant_loads, marked_invariant, 0,
         "no store of the loop writes what %v reads; the launch compares addresses")
DECISION(persistent_grid, many_programs, 0, "a CTA runs one program after the other")
DECISION(persistent_grid, uneven_programs, 0, "a CTA a program: their loops are not equally long")
DECISION(persistent_grid, longest_first, 0,
         "a CTA a program: their loops are not equally long; the longest first")
DECISION(persistent_grid, two_ctas_fit, 0, "a CTA a program: two fit on an SM")
DECISION(assign_layouts, layout_for_op, 0, "%%%s%s: %s, for this %s")
DECISION(assign_layouts, layout_by_shape, 0, "%%%s%s: %s, by shape alone ")
DECISION(assign_layouts, converted, 0, "%v is converted for this %s: %s")
DECISION(assign_layouts, computed_in_layout, 0, "%v is computed again in another layout")
DECISION(lower_scan, scan_over_warps, 0, "%d warps' parts meet through shared memory")
DECISION(lower_reduce, reduce_over_warps, 0, "%d partial results meet through shared memory")
DECISION(warp_specialize, ring, 0, "a ring of %d stages, %d bytes each, fed by a warp of its own")
DECISION(warp_specialize, ring_shared, 0, "a ring of %d stages, %d bytes each, that of an earlier loop")
DECISION(warp_specialize, ring_short, 0, "shared memory has no room for %d stages")
DECISION(cluster_multicast, pairs, 0, "pairs of programs %d apart share %d of %d bytes")
DECISION(overlap_dots, dot_ahead, 0, "%v is computed a round ahead, beside %v")
DECISION(overlap_dots, dot_ahead_staggered, 0,
         "%v is computed a round ahead, beside %v; warpgroups begin one after the other")
DECISION(pipeline_loops, pipelined, 2, "%v in %d stages, %d bytes at once")
DECISION(pipeline_loops, too_few_bytes, 1,
         "%v is loaded by threads: %d bytes at once are too few to copy")
DECISION(pipeline_loops, unknown_ahead, 1,
         "%v is loaded by threads: its addresses are not known ahead")
DECISION(pipeline_loops, loaded_ahead, 0, "%v is loaded an iteration ahead")
DECISION(overlap_epilogue, stored_under_dots, 0, "stored under the next program's dots, in %d pieces")
DECISION(overlap_epilogue, stored_before_dots, 0,
         "stored before the next dots begin: a thread has too few registers to keep it")
DECISION(peel_first_dot, peeled, 0, "the first round begins the sum, in front of the loop")
DECISION(lower_layout_conversion, converted_in_halves, 0, "%v is converted in halves")
DECISION(lower_layout_conversion, converted_over_third, 0, "%v is converted over a third layout")
DECISION(lower_layout_conversion, to_shared, 0, "%v goes to shared memory, %d bytes")
DECISION(lower_layout_conversion, through_shared, 0, "%v goes through shared memory, %d bytes a buffer")
DECISION(lower_layout_conversion, gathered, 0, "%v is gathered from shared memory")
DECISION(lower_layout_conversion, counted, 0, "%v is counted in shared memory")
DECISION(lower_layout_conversion, to_other_warps, 0, "%v goes to the other warps through shared memory")
DECISION(remat, recomputed, 0, "%v is computed again rather than kept")
DECISION(vectorize, scalars, 4 * number + 1, "%d element at once%s")
DECISION(vectorize, vectors, 4 * number + 1, "%d elements at once%s")
DECISION(vectorize, vectors_with_tail, 4 * number, "%d elements at once, one by one at the mask's edge%s")
DECISION(eviction_hints, evicted_first, 0, "not read again: caches may forget it first")
DECISION(l2_prefetch, prefetch_programs, 0, "%v of %d programs later comes to L2")
DECISION(l2_prefetch, prefetch_row, 0, "%v comes to L2 before the loop")
DECISION(allocate_shared, placed, 0, "%d bytes at %d")
DECISION(pack_programs, packed, 0, "up to %d programs share a CTA")
DECISION(stepdown, stepped_down, 0, "%d bytes of shared memory, of %d: %s%sall passes again")
#endif
