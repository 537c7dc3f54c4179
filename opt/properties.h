/* properties.h: what a pass may need, provide or break, one row each: PROPERTY(name, kind, find, meaning).
 *
 *     degree   how detailed the function is (ir.h): it has exactly one of the three
 *     must     the result would be wrong without it: a pass that provides it cannot be left out
 *     order    only a matter of quality: whoever needs it runs behind the pass that provides it, if that runs at all
 *
 * `find` is the op, or the function, that shows that a property does not hold (contracts.c); nothing: no op shows it. The
 * driver checks the order of passes by this table before it runs them, and after each pass the verifier looks for an
 * op that contradicts what the function is said to have. */
#ifdef PROPERTY
PROPERTY(traced, degree, nothing, "no tile has a layout")
PROPERTY(laid_out, degree, nothing, "every tile has a layout, and conversions between layouts are ops")
PROPERTY(scheduled, degree, nothing, "every conversion that crosses warps goes through shared memory")
PROPERTY(canonical, order, nothing,
         "fold has seen every op of the traced program, so that equal values look equal")
PROPERTY(tidy, order, dead_op, "every op without effect has a use")
PROPERTY(one_program, must, persistent_loop,
         "a CTA runs one program, so that no op runs again for the next program")
PROPERTY(legal_dots, must, narrow_dot, "an engine of the target takes every dot's operands in their type")
PROPERTY(loads_raised, order, nothing, "loads that tensor maps can do are tensor_load")
PROPERTY(scans_lowered, must, scan_over_warps, "no scan has its axis over warps")
PROPERTY(reduces_lowered, must, reduce_over_warps, "no reduce has its axis over warps")
PROPERTY(tensor_stores_lowered, must, tensor_store,
         "no tensor_store is left: tiles leave through shared memory")
PROPERTY(tensor_loads_lowered, must, tensor_load,
         "no tensor_load is left: a warp of its own copies the tiles")
PROPERTY(unique, order, nothing, "cse has seen what was written once per layout or iteration: equal ops are one op")
PROPERTY(sunk, order, nothing, "what only the code behind a loop uses is computed there")
PROPERTY(vectorized, order, nothing, "loads and stores know their vector widths")
PROPERTY(offsets, must, unplaced_buffer,
         "every shared_alloc has an offset")
PROPERTY(barriers, must, unordered_access,
         "a barrier stands between accesses of different threads to the same shared memory")
#endif
