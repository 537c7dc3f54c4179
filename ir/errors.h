/* errors.h: every message, one row each: tag, text. Included with ERROR defined.
 *
 * The tag is stable (JSON and tests use it; it shows with '-' for '_'). The text speaks the user's language: what was
 * found, what was expected. Verbs: diag.h. Rows stand in sections by the room that reports them; add at the
 * section's end. */

/* -- ir: limits, text form, verifier -- */
ERROR(internal, "internal error in %s: %s; please report it with the input")
ERROR(out_of_memory, "out of memory (%l bytes asked for)")
ERROR(memory_limit, "compilation needs more than its memory limit of %l bytes")
ERROR(ir_syntax, "expected %s, found %s")
ERROR(ir_unknown, "unknown %s '%s'")
ERROR(ir_redefined, "%s '%s' is defined twice")
ERROR(ir_form, "'%s' has the %s '%s', found %d")
ERROR(ir_verify, "%s")
ERROR(too_many_errors, "too many errors: stopped after %d")

/* -- frontend: tokens and grammar -- */

/* -- frontend: names, values, operators -- */

/* -- frontend: builtins -- */

/* -- opt -- */

/* -- codegen -- */
ERROR(codegen_unsupported, "%s is not supported on %s yet")

/* -- runtime -- */
ERROR(device_unknown, "unknown device %s")
ERROR(device_none, "no device is chosen to %s")
ERROR(driver_missing, "no CUDA driver: %s")
ERROR(gpu_missing, "no GPU to run on: %s")
ERROR(driver_call, "the CUDA driver refused: %s")
ERROR(assembler, "the driver's assembler refused the kernel: %s")
ERROR(kernel_too_large, "the kernel does not fit the GPU: %s")
ERROR(grid_too_large, "the grid is too large: %s")
ERROR(promise_broken, "the signature promises more than the arguments keep: %s")
ERROR(device_memory, "out of memory %s")
ERROR(device_address, "no allocation of this device starts at %s")
ERROR(not_here, "this device cannot %s")
ERROR(out_of_bounds, "access out of bounds in %s")
ERROR(misaligned, "misaligned access in %s")
ERROR(gather_index, "gather index out of range in %s")
ERROR(device_assert, "device_assert failed in %s")
ERROR(no_interpreter, "the interpreter cannot execute this op, in %s")
ERROR(torch_memory, "no memory for this tensor")
ERROR(torch_copy, "a copy between the device and host memory failed")
ERROR(torch_operand, "expected a tensor or a number, found %s")
ERROR(torch_int, "expected integers for %s, found %s")
ERROR(torch_dtype, "expected a torch dtype such as torch.float32, found %s")
ERROR(torch_ragged, "expected sequences of equal length at each depth")
ERROR(torch_broadcast, "shapes do not broadcast: %s against %s")
ERROR(torch_no_floats, "'%s' is not defined for %s")
ERROR(torch_dim, "dimension out of range for a tensor of rank %d: %l")
ERROR(torch_index, "index %l is out of bounds for dimension %d with size %l")
ERROR(torch_item, "a tensor with %l elements cannot be converted to a number")
ERROR(torch_reshape, "a tensor of shape %s has %l elements, which does not fit the new shape")
ERROR(torch_matmul, "cannot multiply %s of %s by %s of %s: inner sizes and types must agree")
ERROR(torch_shapes_differ, "shapes differ: %s against %s")
ERROR(torch_not_close, "tensors are not close: %l of %l elements differ, the most by %g (rtol=%g, atol=%g)")
