/* SPDX-License-Identifier: MIT */
/* properties.h: lists the properties that a pass may need, provide or break, one row each: PROPERTY(name, kind, find,
 * meaning).
 *
 * `kind` is one of these words:
 *
 *     degree   the degree of detail of the function (ir.h); a function has exactly one of the three degrees
 *     must     without this property the code would be wrong, so a pass that provides the property cannot be
 *              left out
 *     order    without this property the code is only slower, so a pass that provides the property may be
 *              left out; if that pass runs, it must run before the passes that need the property
 *
 * `find` names a function of contracts.c without its prefix find_. For example, find_dead_op returns an op
 * that contradicts `tidy`, or NULL. `nothing` means that no op can contradict the property. The driver uses
 * this table to check the order of the passes before it runs them. In debug builds, and under --verify-each,
 * the driver searches after each pass for ops that contradict the properties that the function claims. */
#ifdef PROPERTY
PROPERTY(traced, degree, nothing, "no tile has a layout")
PROPERTY(laid_out, degree, nothing, "every tile has a layout, and conversions between layouts are ops")
PROPERTY(scheduled, degree, nothing, "every conversion that crosses warps goes through shared memory")
PROPERTY(canonical, order, nothing,
         "fold has seen every op of the traced program, so equal values have equal definitions")
PROPERTY(tidy, order, dead_op, "every op without a side effect has a use")
PROPERTY(one_program, must, persistent_loop,
         "a CTA runs one program: no loop over programs encloses the ops")
PROPERTY(legal_dots, must, narrow_dot, "an engine of the target multiplies every dot's operands in their types")
PROPERTY(ordered, must, free_order, "in deterministic kernels, every sum has one order of additions")
PROPERTY(loads_raised, order, nothing, "every load that a tensor map can describe is a tensor_load")
PROPERTY(scans_lowered, must, scan_over_warps, "no scan crosses warps")
PROPERTY(reduces_lowered, must, reduce_over_warps, "no reduce crosses warps")
PROPERTY(tensor_stores_lowered, must, tensor_store,
         "no tensor_store is left: copies from shared memory store the tiles")
PROPERTY(tensor_loads_lowered, must, tensor_load,
         "no tensor_load is left: a producer warp copies the tiles to shared memory")
PROPERTY(unique, order, nothing, "cse has merged the copies of an op that passes made per layout or per iteration")
PROPERTY(vectorized, order, nothing, "loads and stores have their vector widths")
PROPERTY(in_place, order, nothing, "loads are in the loops where the program has them, under their masks")
PROPERTY(offsets, must, unplaced_buffer,
         "every shared_alloc has an offset")
PROPERTY(barriers, must, unordered_access,
         "a barrier separates accesses of different threads to the same shared memory")
#endif
