/* SPDX-License-Identifier: MIT */
/* builtins.h: every name of triton and triton.language, one row each, under headings. A file defines ROW and HEADING
 * and then includes this table.
 *
 *   ROW(where, name, parameters, handler, data, meaning, types, errors, example)
 *
 *   where       where programs find the name; x is a tensor:
 *                 tl: tl.NAME                                   constant: tl.NAME, also outside of kernels
 *                 method: tl.NAME, x.NAME                       only_method: x.NAME
 *                 math: tl.NAME, x.NAME, tl.math.NAME           only_math: tl.NAME, tl.math.NAME
 *                 core: tl.core.NAME, tl.standard.NAME          type: t.NAME of a type t
 *                 descriptor: d.NAME of a tensor descriptor d   bare: NAME, without a module, in kernels
 *                 libdevice, cuda, triton: NAME in the module of this name
 *                 hidden: nowhere; only neso's own code uses the row
 *   parameters  a Python parameter list (value.h, struct builtin)
 *   handler     the C function builtin_HANDLER. `prelude` calls the function of prelude.py that `data` names;
 *               `unsupported` reports an error at the call
 *   data        a text for the handler, for example the name of an IR op
 *   meaning     the description in the manual; empty in hidden rows
 *   types       the allowed types and values of the parameters
 *   errors      tags of errors.h, the most frequent ones first
 *   example     lines of code, and then, after `# `, the lines that the interpreter prints for the result of
 *               the last line of code, if it has one. X points to the float32 numbers 1, 2, 3, 4, and N
 *               points to the int32 numbers 1, 2, 3, 4. i is tl.arange(0, 4), and x is i + 1.0.
 *
 * The library does not contain the last four columns. runtime/manual/language.c makes the manual from them,
 * and tests/cli/language.sh runs the examples. */

HEADING("The program, creation")
ROW(tl,        program_id,    "axis",                              program_index, "program_id",
    "The index of this program instance along an axis of the grid.",
    "axis: constexpr 0, 1 or 2; the result is an int32 scalar", "program-axis not-constant", "tl.program_id(0)\n# [0]")
ROW(tl,        num_programs,  "axis",                              program_index, "num_programs",
    "The size of the grid along an axis.",
    "axis: constexpr 0, 1 or 2; the result is an int32 scalar", "program-axis not-constant", "tl.num_programs(0)\n# [1]")
ROW(tl,        arange,        "start, end=None",                   arange,        NULL,
    "The integers from start to end - 1; with one argument, from 0.",
    "start, end: constexprs, end - start a power of two; the result is a tile of int32", "arange-power arange-empty arange-wide not-constant",
    "tl.arange(4, 8)\n# [4 5 6 7]")
ROW(tl,        full,          "shape, value, dtype",               full,          NULL,
    "A tile whose elements are all equal; shape () gives a scalar.",
    "shape: constexprs, powers of two; value: a number or scalar; dtype: a type", "full-block full-value shape-power shape-numel wants-dtype",
    "tl.full((4,), 7, tl.int32)\n# [7 7 7 7]")
ROW(tl,        zeros,         "shape, dtype",                      zeros,         NULL,
    "A tile of zeros.", "shape: constexprs, powers of two; dtype: a type", "shape-power shape-numel wants-dtype",
    "tl.zeros((4,), tl.float32)\n# [0. 0. 0. 0.]")
ROW(tl,        zeros_like,    "input",                             zeros_like,    NULL,
    "Zeros of the shape and type of a tile.", "input: a tensor", "wants-tensor", "tl.zeros_like(x)\n# [0. 0. 0. 0.]")
ROW(method,    cast,          "input, dtype, fp_downcast_rounding=None, bitcast=False", cast, NULL,
    "Converts each element to a type, or with bitcast=True keeps the bits.",
    "dtype: a type; fp_downcast_rounding: 'rtne' or 'rtz', for casts to narrower floats; bitcast: both types have equally many bits", "no-cast not-downcast bitcast-width round-word",
    "tl.cast(x / 2, tl.int32)\n# [0 1 1 2]")
ROW(only_method, to,          "input, dtype, fp_downcast_rounding=None, bitcast=False", cast, NULL,
    "Converts each element to a type, as tl.cast does.",
    "dtype: a type; fp_downcast_rounding: 'rtne' or 'rtz'; bitcast: both types have equally many bits", "no-cast not-downcast bitcast-width round-word",
    "x.to(tl.int32, bitcast=True)\n# [1065353216 1073741824 1077936128 1082130432]")
ROW(tl,        to_tensor,     "x",                                 to_tensor,     NULL,
    "Converts a number to a scalar tensor; returns a tensor unchanged.", "x: a number, bool or tensor", "no-tensor int-too-wide",
    "tl.to_tensor(3)\n# [3]")

HEADING("Shape")
ROW(tl,        broadcast,     "input, other",                      broadcast,     NULL,
    "Both operands, expanded to the shape that they have in common.",
    "input, other: tensors whose dimensions are equal or 1", "shape-broadcast",
    "tl.broadcast(x[:, None], x[None, :])[0].shape\n# (4, 4)")
ROW(method,    broadcast_to,  "input, *shape",                     broadcast_to,  NULL,
    "Expands dimensions of size 1 to the given sizes.",
    "shape: constexprs, powers of two", "broadcast-to broadcast-rank shape-power",
    "tl.broadcast_to(x[None, :], (2, 4))\n# [[1. 2. 3. 4.]\n#  [1. 2. 3. 4.]]")
ROW(method,    expand_dims,   "input, axis",                       expand_dims,   NULL,
    "Inserts dimensions of size 1, like x[:, None].",
    "axis: a constexpr or a tuple of them; negative ones count from the end", "axis-range axis-twice rank-limit",
    "tl.expand_dims(x, 0).shape\n# (1, 4)")
ROW(method,    permute,       "input, *dims",                      permute,       NULL,
    "Reorders the dimensions.", "dims: constexprs, a permutation of all dimensions", "not-permutation",
    "tl.permute(i[None, :], (1, 0)).shape\n# (4, 1)")
ROW(method,    trans,         "input, *dims",                      trans,         NULL,
    "Transposes: swaps the last two dimensions, or reorders all as permute does.",
    "dims: none, or a permutation", "not-permutation trans-rank", "tl.trans(i[None, :]).shape\n# (4, 1)")
ROW(method,    reshape,       "input, *shape, can_reorder=False",  reshape,       NULL,
    "The same elements in another shape, in row-major order.",
    "shape: constexprs with as many elements; can_reorder is accepted and has no effect", "reshape-numel shape-power",
    "tl.reshape(i, (2, 2))\n# [[0 1]\n#  [2 3]]")
ROW(method,    view,          "input, *shape",                     reshape,       NULL,
    "The same as tl.reshape.", "shape: constexprs with as many elements", "reshape-numel shape-power",
    "tl.view(i, (2, 2))\n# [[0 1]\n#  [2 3]]")
ROW(method,    ravel,         "x, can_reorder=False",              ravel,         NULL,
    "The elements as a tile of one dimension.", "x: a tile", "wants-tensor", "tl.ravel(tl.reshape(i, (2, 2)))\n# [0 1 2 3]")
ROW(tl,        squeeze,       "x, dim",                            squeeze,       NULL,
    "Drops a dimension of size 1.", "dim: a constexpr", "squeeze-dim axis-range", "tl.squeeze(i[None, :], 0)\n# [0 1 2 3]")
ROW(tl,        unsqueeze,     "x, dim",                            expand_dims,   NULL,
    "Inserts a dimension of size 1, as tl.expand_dims does.", "dim: a constexpr", "axis-range rank-limit",
    "tl.unsqueeze(i, 1).shape\n# (4, 1)")
ROW(method,    item,          "x",                                 item,          NULL,
    "The only element of a tile of one element, as a scalar.", "x: a tile of one element", "not-one-element",
    "tl.item(tl.full((1,), 5, tl.int32))\n# [5]")
ROW(tl,        cat,           "input, other, can_reorder=False, dim=0", cat,      NULL,
    "Joins two tiles of one type along a dimension.",
    "input, other: tiles of equal shape; the result is twice as long", "cat-shapes axis-range wants-block",
    "tl.cat(i, i)\n# [0 1 2 3 0 1 2 3]")
ROW(tl,        join,          "a, b",                              join,          NULL,
    "Stacks two tensors in a new last dimension of size 2.",
    "a, b: one type; shapes that broadcast", "dtypes-differ shape-broadcast",
    "tl.join(i, x.to(tl.int32))\n# [[0 1]\n#  [1 2]\n#  [2 3]\n#  [3 4]]")
ROW(method,    split,         "a",                                 split,         NULL,
    "The two halves of a last dimension of size 2.", "a: a tile; the result is a tuple of two", "split-last wants-block",
    "tl.split(tl.reshape(i, (2, 2)))[1]\n# [1 3]")
ROW(tl,        interleave,    "a, b",                              interleave,    NULL,
    "The elements of a and b alternately, along the last dimension.",
    "a, b: one type; shapes that broadcast", "dtypes-differ shape-broadcast",
    "tl.interleave(i, i * 10)\n# [ 0  0  1 10  2 20  3 30]")
ROW(method,    flip,          "x, dim=None",                       flip,          NULL,
    "Reverses the order along a dimension.", "dim: a constexpr; None: the last dimension", "axis-range wants-block", "tl.flip(i)\n# [3 2 1 0]")

HEADING("Selection, index helpers")
ROW(tl,        where,         "condition, x, y",                   where,         NULL,
    "For each element x where the condition is true, else y; both are evaluated.",
    "condition: booleans or integers; x, y: numbers of types that promote; all three broadcast", "shape-broadcast operands",
    "tl.where(i < 2, x, 0.0)\n# [1. 2. 0. 0.]")
ROW(method,    gather,        "src, index, axis",                  gather,        NULL,
    "Elements of src at the indices along an axis.",
    "index: integers; all dimensions but the axis have the sizes of src's", "gather-shapes gather-index-type axis-range",
    "tl.gather(x, 3 - i, 0)\n# [4. 3. 2. 1.]")
ROW(tl,        swizzle2d,     "i, j, size_i, size_j, size_g",      prelude,       "swizzle2d",
    "The new row and column of program (i, j) in an order that traverses each group of size_g rows column by column.",
    "five integers; the result is a pair", "operands", "tl.swizzle2d(0, 3, 4, 4, 2)\n# (1, 1)")
ROW(method,    cdiv,          "x, div",                            cdiv,          NULL,
    "x / div, rounded up.", "integers; for constexprs, the result is a constexpr", "operator-type", "tl.cdiv(7, 2)\n# 4")
ROW(tl,        map_elementwise, "scalar_fn, *args, pack=1",        map_elementwise, NULL,
    "Applies a function of scalars to each element, with real branches instead of tl.where.",
    "scalar_fn: a @triton.jit function without effects; args: tiles that broadcast; pack: elements a call", "map-function map-result map-pack combine-effects",
    "tl.map_elementwise(helper, x)\n# [ 1.  2. 30. 40.]")

HEADING("Elementwise mathematics")
ROW(math,      exp,           "x",                                 float_unary,   "exp",
    "e to the power x.", "x: floats; 2 ulp for float32", "math-type",
    "tl.exp(x)\n# [ 2.7182817  7.389056  20.085537  54.59815  ]")
ROW(math,      exp2,          "x",                                 float_unary,   "exp2",
    "2 to the power x.", "x: floats; 2 ulp for float32", "math-type", "tl.exp2(x)\n# [ 2.  4.  8. 16.]")
ROW(math,      log,           "x",                                 float_unary,   "log",
    "The natural logarithm.", "x: floats", "math-type", "tl.log(x)\n# [0.        0.6931472 1.0986123 1.3862944]")
ROW(math,      log2,          "x",                                 float_unary,   "log2",
    "The binary logarithm.", "x: floats", "math-type", "tl.log2(x)\n# [0.        1.        1.5849625 2.       ]")
ROW(math,      sin,           "x",                                 float_unary,   "sin",
    "The sine, of an angle in radians.", "x: floats", "math-type",
    "tl.sin(x)\n# [ 0.84147096  0.9092974   0.14112    -0.7568025 ]")
ROW(math,      cos,           "x",                                 float_unary,   "cos",
    "The cosine, of an angle in radians.", "x: floats", "math-type",
    "tl.cos(x)\n# [ 0.5403023  -0.41614684 -0.9899925  -0.6536436 ]")
ROW(math,      sqrt,          "x",                                 float_unary,   "sqrt",
    "The square root, approximate for float32; tl.sqrt_rn rounds correctly.", "x: floats", "math-type",
    "tl.sqrt(x)\n# [1.        1.4142135 1.7320508 2.       ]")
ROW(math,      sqrt_rn,       "x",                                 sqrt_rn,       NULL,
    "The square root, rounded to nearest.", "x: floats", "math-type",
    "tl.sqrt_rn(x)\n# [1.        1.4142135 1.7320508 2.       ]")
ROW(math,      rsqrt,         "x",                                 float_unary,   "rsqrt",
    "1 / the square root, approximate.", "x: floats", "math-type", "tl.rsqrt(x)\n# [1.         0.70710677 0.57735026 0.5       ]")
ROW(math,      erf,           "x",                                 float_unary,   "erf",
    "The error function.", "x: floats", "math-type", "tl.erf(x)\n# [0.8427008 0.9953223 0.9999779 1.       ]")
ROW(math,      floor,         "x",                                 float_unary,   "floor",
    "The next integer below or equal to x, as a float.", "x: floats", "math-type", "tl.floor(x / 2)\n# [0. 1. 1. 2.]")
ROW(math,      ceil,          "x",                                 float_unary,   "ceil",
    "The next integer above or equal to x, as a float.", "x: floats", "math-type", "tl.ceil(x / 2)\n# [1. 1. 2. 2.]")
ROW(math,      abs,           "x",                                 abs,           NULL,
    "The absolute value; for the smallest integer of a type, this integer.", "x: numbers", "math-type",
    "tl.abs(x - 3)\n# [2. 1. 0. 1.]")
ROW(only_math, fdiv,          "x, y, ieee_rounding=False",         fdiv,          NULL,
    "x / y of floats, approximate; rounded to nearest with ieee_rounding=True.", "x, y: floats", "math-type",
    "tl.fdiv(x, 4.0)\n# [0.25 0.5  0.75 1.  ]")
ROW(only_math, div_rn,        "x, y",                              div_rn,        NULL,
    "x / y of floats, rounded to nearest.", "x, y: floats", "math-type", "tl.div_rn(x, 4.0)\n# [0.25 0.5  0.75 1.  ]")
ROW(only_math, fma,           "x, y, z",                           fma,           NULL,
    "x * y + z; for floats, rounded only once.", "x, y, z: numbers that promote", "operands", "tl.fma(x, x, 1.0)\n# [ 2.  5. 10. 17.]")
ROW(only_math, umulhi,        "x, y",                              umulhi,        NULL,
    "The upper half of the product of unsigned integers.", "x, y: integers of 32 or 64 bits", "math-type",
    "tl.umulhi(i + 2147483647, i)\n# [0 0 1 1]")
ROW(tl,        clamp,         "x, min, max, propagate_nan='NONE'", clamp,         NULL,
    "x limited to the range from min to max.",
    "x, min, max: floats; propagate_nan: tl.PropagateNan.NONE or ALL", "math-type nan-word",
    "tl.clamp(x, 2.0, 3.0)\n# [2. 2. 3. 3.]")
ROW(tl,        maximum,       "x, y, propagate_nan='NONE'",        extremum,      "max",
    "The larger of two numbers, for each element. If one is a NaN, the result is the other, or NaN if propagate_nan is ALL.",
    "x, y: numbers that promote", "math-type nan-word", "tl.maximum(x, 2.5)\n# [2.5 2.5 3.  4. ]")
ROW(tl,        minimum,       "x, y, propagate_nan='NONE'",        extremum,      "min",
    "The smaller of two numbers, for each element. If one is a NaN, the result is the other, or NaN if propagate_nan is ALL.",
    "x, y: numbers that promote", "math-type nan-word", "tl.minimum(x, 2.5)\n# [1.  2.  2.5 2.5]")
ROW(method,    sigmoid,       "x",                                 prelude_of_float, "sigmoid",
    "1 / (1 + exp(-x)).", "x: floats", "math-type", "tl.sigmoid(x)\n# [0.7310586  0.880797   0.95257413 0.98201376]")
ROW(method,    softmax,       "x, dim=None, keep_dims=False, ieee_rounding=False", prelude_of_float, "softmax",
    "exp(x - max), divided by its sum, along a dimension; the default is the first dimension.",
    "x: floats; dim: a constexpr", "math-type axis-range", "tl.softmax(x)\n# [0.0320586  0.08714432 0.2368828  0.6439142 ]")
ROW(tl,        add,           "x, y, sanitize_overflow=True",      operator,      "+",
    "x + y.", "x, y: numbers that promote, or a pointer and an integer", "operands operator-type",
    "tl.add(x, 1)\n# [2. 3. 4. 5.]")
ROW(tl,        sub,           "x, y, sanitize_overflow=True",      operator,      "-",
    "x - y.", "x, y: numbers that promote", "operands operator-type", "tl.sub(x, 1)\n# [0. 1. 2. 3.]")
ROW(tl,        mul,           "x, y, sanitize_overflow=True",      operator,      "*",
    "x * y.", "x, y: numbers that promote", "operands operator-type", "tl.mul(x, 2)\n# [2. 4. 6. 8.]")
ROW(only_method, logical_and, "x, y",                              logical,       "and",
    "Are both x and y other than 0?", "x, y: integers or booleans; the result is int1", "operator-type",
    "(i > 0).logical_and(i < 3)\n# [False  True  True False]")
ROW(only_method, logical_or,  "x, y",                              logical,       "or",
    "Is x or y other than 0?", "x, y: integers or booleans; the result is int1", "operator-type",
    "(i < 1).logical_or(i > 2)\n# [ True False False  True]")

HEADING("Memory")
ROW(tl,        load,  "pointer, mask=None, other=None, boundary_check=None, padding_option='', cache_modifier='', eviction_policy='', volatile=False", load, NULL,
    "Reads the elements to which pointers point. Where the mask is false, reads nothing: the result is `other`, or undefined if `other` is not given.",
    "pointer: a pointer, a tile of them, or a block pointer with boundary_check; mask: int1; cache_modifier: '.ca', '.cg', '.cv'; eviction_policy: 'evict_first', 'evict_last'", "not-pointer mask-type mask-block value-block other-without-mask boundary-dim cache-word evict-word",
    "tl.load(X + i, mask=i < 3, other=0.0)\n# [1. 2. 3. 0.]")
ROW(method,    store, "pointer, value, mask=None, boundary_check=None, cache_modifier='', eviction_policy=''", store, NULL,
    "Writes a value to the addresses in pointers where the mask is true.",
    "pointer: a pointer, a tile of them, or a block pointer; value: converted to the element's type; mask: int1", "not-pointer const-store mask-type pointer-shape cache-word",
    "tl.store(X + i, 2 * x)\ntl.load(X + i)\n# [2. 4. 6. 8.]")
ROW(tl,        make_block_ptr, "base, shape, strides, offsets, block_shape, order",                make_block_ptr, NULL,
    "A pointer to a block of an array, for tl.load, tl.store and tl.advance.",
    "base: a scalar pointer; shape, strides, offsets: integers; block_shape, order: constexprs", "box-base box-items box-item box-order",
    "b = tl.make_block_ptr(X, (4,), (1,), (2,), (2,), (0,))\ntl.load(b)\n# [3. 4.]")
ROW(tl,        advance,        "base, offsets",                                                    advance,     NULL,
    "A block pointer, moved by offsets.", "base: a block pointer; offsets: an integer for each dimension", "box-kind box-items",
    "b = tl.make_block_ptr(X, (4,), (1,), (0,), (2,), (0,))\ntl.load(tl.advance(b, (1,)))\n# [2. 3.]")
ROW(tl,        make_tensor_descriptor, "base, shape, strides, block_shape, padding_option='zero'", make_tensor_descriptor, NULL,
    "A descriptor of an array, through which kernels load and store blocks. Outside of the array, loads give the padding, and stores write nothing.",
    "base: a scalar pointer, aligned to 16 bytes; shape, strides: integers, the last stride 1; block_shape: constexprs; padding_option: 'zero' or 'nan'", "box-base box-items descriptor-stride padding-word",
    "d = tl.make_tensor_descriptor(X, [4], [1], [4])\nd.load([2])\n# [3. 4. 0. 0.]")
ROW(tl,        load_tensor_descriptor, "desc, offsets",                                            descriptor_load, NULL,
    "Loads a descriptor's block: desc.load(offsets).",
    "offsets: an int32 for each dimension", "box-kind box-items descriptor-offset",
    "d = tl.make_tensor_descriptor(X, [4], [1], [4])\ntl.load_tensor_descriptor(d, [0])\n# [1. 2. 3. 4.]")
ROW(tl,        store_tensor_descriptor, "desc, offsets, value",                                    descriptor_store, NULL,
    "Stores a descriptor's block: desc.store(offsets, value).",
    "offsets: an int32 for each dimension; value: of the block's shape", "box-kind box-items descriptor-offset descriptor-value",
    "d = tl.make_tensor_descriptor(X, [4], [1], [4])\ntl.store_tensor_descriptor(d, [2], x)\ntl.load(X + i)\n# [1. 2. 1. 2.]")
ROW(tl,        _experimental_make_tensor_descriptor, "base, shape, strides, block_shape, padding_option='zero'", make_tensor_descriptor, NULL,
    "The former name of tl.make_tensor_descriptor.", "as for tl.make_tensor_descriptor", "box-base box-items descriptor-stride padding-word",
    "d = tl._experimental_make_tensor_descriptor(X, [4], [1], [4])\nd.load([0])\n# [1. 2. 3. 4.]")
ROW(tl,        _experimental_descriptor_load, "*args, **kwargs",                                   unsupported, NULL,
    "Not supported: use tl.load_tensor_descriptor.", "", "not-supported", "")
ROW(tl,        _experimental_descriptor_store, "*args, **kwargs",                                  unsupported, NULL,
    "Not supported: use tl.store_tensor_descriptor.", "", "not-supported", "")
ROW(descriptor, load,       "desc, offsets",                        descriptor_load,    NULL,
    "Loads the block at the offsets.",
    "offsets: an int32 for each dimension; the result has the block's shape", "box-items descriptor-offset",
    "d = tl.make_tensor_descriptor(X, [4], [1], [4])\nd.load([0])\n# [1. 2. 3. 4.]")
ROW(descriptor, store,      "desc, offsets, value",                 descriptor_store,   NULL,
    "Stores the block at the offsets; writes nothing outside of the array.",
    "offsets: an int32 for each dimension; value: of the block's shape", "box-items descriptor-offset descriptor-value",
    "d = tl.make_tensor_descriptor(X, [4], [1], [4])\nd.store([1], x)\ntl.load(X + i)\n# [1. 1. 2. 3.]")
ROW(descriptor, gather,     "desc, x_offsets, y_offset",            descriptor_gather,  NULL,
    "Loads the rows whose indices are in x_offsets, beginning at column y_offset.",
    "the descriptor's block is [1, n]; x_offsets: a tile of integers", "descriptor-rows",
    "d = tl.make_tensor_descriptor(X, [2, 4], [0, 1], [1, 4])\nd.gather(tl.arange(0, 8) % 2, 0).shape\n# (8, 4)")
ROW(descriptor, scatter,    "desc, value, x_offsets, y_offset",     descriptor_scatter, NULL,
    "Stores the rows of value to the rows whose indices are in x_offsets, beginning at column y_offset.",
    "the descriptor's block is [1, n]; x_offsets: a tile of integers", "descriptor-rows descriptor-value",
    "d = tl.make_tensor_descriptor(X, [1, 4], [4, 1], [1, 4])\nd.scatter(tl.full((8, 4), 5.0, tl.float32), tl.arange(0, 8), 0)\ntl.load(X + i)\n# [5. 5. 5. 5.]")
ROW(descriptor, atomic_add, "desc, offsets, value",                 descriptor_atomic,  "add",
    "Adds a block to the array, each element atomically.", "value: of the block's shape", "atomic-type descriptor-value",
    "d = tl.make_tensor_descriptor(X, [4], [1], [4])\nd.atomic_add([0], x)\ntl.load(X + i)\n# [2. 4. 6. 8.]")
ROW(descriptor, atomic_min, "desc, offsets, value",                 descriptor_atomic,  "min",
    "Replaces elements by the smaller of old and new, atomically.",
    "value: integers, of the block's shape", "atomic-type descriptor-value",
    "d = tl.make_tensor_descriptor(N, [4], [1], [4])\nd.atomic_min([0], i * 0 + 2)\ntl.load(N + i)\n# [1 2 2 2]")
ROW(descriptor, atomic_max, "desc, offsets, value",                 descriptor_atomic,  "max",
    "Replaces elements by the larger of old and new, atomically.",
    "value: integers, of the block's shape", "atomic-type descriptor-value",
    "d = tl.make_tensor_descriptor(N, [4], [1], [4])\nd.atomic_max([0], i * 0 + 2)\ntl.load(N + i)\n# [2 2 3 4]")
ROW(descriptor, atomic_and, "desc, offsets, value",                 descriptor_atomic,  "and",
    "Replaces elements by old & new, atomically.", "value: integers, of the block's shape", "atomic-type descriptor-value",
    "d = tl.make_tensor_descriptor(N, [4], [1], [4])\nd.atomic_and([0], i * 0 + 2)\ntl.load(N + i)\n# [0 2 2 0]")
ROW(descriptor, atomic_or,  "desc, offsets, value",                 descriptor_atomic,  "or",
    "Replaces elements by old | new, atomically.", "value: integers, of the block's shape", "atomic-type descriptor-value",
    "d = tl.make_tensor_descriptor(N, [4], [1], [4])\nd.atomic_or([0], i * 0 + 2)\ntl.load(N + i)\n# [3 2 3 6]")
ROW(descriptor, atomic_xor, "desc, offsets, value",                 descriptor_atomic,  "xor",
    "Replaces elements by old ^ new, atomically.", "value: integers, of the block's shape", "atomic-type descriptor-value",
    "d = tl.make_tensor_descriptor(N, [4], [1], [4])\nd.atomic_xor([0], i * 0 + 2)\ntl.load(N + i)\n# [3 0 1 6]")
ROW(method,    atomic_add,  "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "add",
    "Adds to memory atomically; the result is the old value.",
    "pointer: of floats or integers of 32 or 64 bits, or halves; sem: 'relaxed', 'acquire', 'release', 'acq_rel' (the default); scope: 'cta', 'gpu' (the default), 'sys'", "atomic-type not-pointer sem-word scope-word mask-type",
    "tl.atomic_add(X + i, x)\ntl.load(X + i)\n# [2. 4. 6. 8.]")
ROW(method,    atomic_max,  "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "max",
    "Replaces memory by the larger of old and new, atomically; the result is the old value.",
    "as for tl.atomic_add, without halves", "atomic-type not-pointer sem-word scope-word",
    "tl.atomic_max(N + i, 3)\ntl.load(N + i)\n# [3 3 3 4]")
ROW(method,    atomic_min,  "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "min",
    "Replaces memory by the smaller of old and new, atomically; the result is the old value.",
    "as for tl.atomic_add, without halves", "atomic-type not-pointer sem-word scope-word",
    "tl.atomic_min(N + i, 3)\ntl.load(N + i)\n# [1 2 3 3]")
ROW(method,    atomic_and,  "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "and",
    "Replaces memory by old & new, atomically; the result is the old value.",
    "pointer: of integers of 32 or 64 bits", "atomic-type not-pointer sem-word scope-word",
    "tl.atomic_and(N + i, 3)\ntl.load(N + i)\n# [1 2 3 0]")
ROW(method,    atomic_or,   "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "or",
    "Replaces memory by old | new, atomically; the result is the old value.",
    "pointer: of integers of 32 or 64 bits", "atomic-type not-pointer sem-word scope-word",
    "tl.atomic_or(N + i, 8)\ntl.load(N + i)\n# [ 9 10 11 12]")
ROW(method,    atomic_xor,  "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "xor",
    "Replaces memory by old ^ new, atomically; the result is the old value.",
    "pointer: of integers of 32 or 64 bits", "atomic-type not-pointer sem-word scope-word",
    "tl.atomic_xor(N + i, 1)\ntl.load(N + i)\n# [0 3 2 5]")
ROW(method,    atomic_xchg, "pointer, val, mask=None, sem=None, scope=None", atomic_rmw, "xchg",
    "Replaces memory, atomically; the result is the old value.",
    "pointer: of elements of 32 or 64 bits", "atomic-type not-pointer sem-word scope-word",
    "tl.atomic_xchg(X + i, 0.0)\n# [1. 2. 3. 4.]")
ROW(method,    atomic_cas,  "pointer, cmp, val, sem=None, scope=None",       atomic_cas, NULL,
    "Replaces memory by val where it equals cmp, atomically; the result is the old value.",
    "pointer: of elements of 16, 32 or 64 bits; cmp, val: of that type", "atomic-cas-type dtypes-differ not-pointer sem-word",
    "tl.atomic_cas(N + i, i * 0 + 3, i * 0)\ntl.load(N + i)\n# [1 2 0 4]")

HEADING("Reductions, scans, sorting")
ROW(method,    sum,       "input, axis=None, keep_dims=False, dtype=None", sum, NULL,
    "The sum along an axis, or of all elements. Integers under 32 bits are added as int32; the order of float additions is not fixed.",
    "axis: a constexpr; dtype: the type in which to add", "axis-range math-type wants-block", "tl.sum(x, axis=0)\n# [10.]")
ROW(method,    max,       "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False", max_min, "max",
    "The largest element along an axis, or of all; with return_indices a pair with its index.",
    "axis: a constexpr; of equal elements the first counts, unless return_indices_tie_break_left is False", "axis-range reduce-axis math-type",
    "tl.max(x, axis=0)\n# [4.]")
ROW(method,    min,       "input, axis=None, return_indices=False, return_indices_tie_break_left=True, keep_dims=False", max_min, "min",
    "The smallest element along an axis, or of all; with return_indices a pair with its index.",
    "axis: a constexpr; of equal elements the first counts, unless return_indices_tie_break_left is False", "axis-range reduce-axis math-type",
    "tl.min(x, axis=0)\n# [1.]")
ROW(method,    argmax,    "input, axis, tie_break_left=True, keep_dims=False", arg_max_min, "max",
    "The index of the largest element along an axis.",
    "axis: a constexpr; the result is int32", "axis-range reduce-axis math-type", "tl.argmax(x, axis=0)\n# [3]")
ROW(method,    argmin,    "input, axis, tie_break_left=True, keep_dims=False", arg_max_min, "min",
    "The index of the smallest element along an axis.",
    "axis: a constexpr; the result is int32", "axis-range reduce-axis math-type", "tl.argmin(x, axis=0)\n# [0]")
ROW(method,    xor_sum,   "input, axis=None, keep_dims=False",     int_reduction, "_xor_combine",
    "The exclusive or of the elements along an axis, or of all elements.", "input: integers", "reduce-ints axis-range",
    "tl.xor_sum(i, axis=0)\n# [0]")
ROW(method,    reduce_or, "input, axis, keep_dims=False",          int_reduction, "_or_combine",
    "The bitwise or of the elements along an axis.", "input: integers", "reduce-ints axis-range",
    "tl.reduce_or(i, axis=0)\n# [3]")
ROW(method,    reduce,    "input, axis, combine_fn, keep_dims=False, reduction_ordering=None", reduce, NULL,
    "Combines elements along an axis by a function. For a tuple of tiles, combines tuples of elements.",
    "combine_fn: a @triton.jit function, associative, of two elements (or of two tuples)", "reduce-function reduce-shapes combine-types axis-range",
    "tl.reduce(x, 0, larger)\n# [4.]")
ROW(method,    associative_scan, "input, axis, combine_fn, reverse=False", associative_scan, NULL,
    "The results of combining the first 1, 2, 3, ... elements along an axis by a function; with reverse=True, beginning at the end.",
    "combine_fn: a @triton.jit function, associative, of two elements (or of two tuples)", "reduce-function reduce-shapes combine-types axis-range",
    "tl.associative_scan(x, 0, larger)\n# [1. 2. 3. 4.]")
ROW(method,    cumsum,    "input, axis=0, reverse=False, dtype=None", cumulative, "_sum_combine",
    "The sums of the first 1, 2, 3, ... elements along an axis; with reverse=True, beginning at the end.",
    "axis: a constexpr; dtype: the type in which to add", "axis-range math-type", "tl.cumsum(x, axis=0)\n# [ 1.  3.  6. 10.]")
ROW(method,    cumprod,   "input, axis=0, reverse=False",          cumulative,    "_prod_combine",
    "The products of the first 1, 2, 3, ... elements along an axis; with reverse=True, beginning at the end.",
    "axis: a constexpr", "axis-range math-type", "tl.cumprod(x, axis=0)\n# [ 1.  2.  6. 24.]")
ROW(method,    sort,      "x, dim=None, descending=False",         sort,          "sort",
    "Sorts along the last dimension.", "x: numbers, floats of at least 16 bits; descending: a constexpr", "sort-axis sort-type",
    "tl.sort(x, descending=True)\n# [4. 3. 2. 1.]")
ROW(tl,        topk,      "x, k, dim=None, descending=True",       topk,          NULL,
    "The k largest elements of the last dimension, in descending order.",
    "k: a constexpr, a power of two", "topk-k sort-axis sort-type", "tl.topk(x, 2)\n# [4. 3.]")
ROW(tl,        bitonic_merge, "x, dim=None, descending=False",     sort,          "bitonic_merge",
    "Sorts a bitonic sequence (one that first rises, then falls) along the last dimension.",
    "x: numbers; descending: a constexpr", "sort-axis sort-type", "tl.bitonic_merge(tl.where(i < 2, i, 9 - i))\n# [0 1 6 7]")
ROW(method,    histogram, "input, num_bins, mask=None",            histogram,     NULL,
    "Counts the elements that have the value 0, 1, ..., num_bins - 1; does not count other elements and masked elements.",
    "input: a 1-D tile of integers; num_bins: a constexpr, a power of two; the result is int32", "histogram-input shape-power",
    "tl.histogram(i % 2, 2)\n# [2 2]")

HEADING("Dot")
ROW(tl,        dot,        "input, other, acc=None, input_precision=None, allow_tf32=, max_num_imprecise_acc=None, out_dtype=None", dot, NULL,
    "The product of two matrices, plus acc. For tiles of more dimensions, one product for each index of those before the last two.",
    "input, other: one type (fp16, bf16, fp32, fp64, fp8, int8), inner sizes equal; input_precision: 'tf32' (the default), 'tf32x3', 'bf16x3', 'bf16x6', 'ieee'; out_dtype: tl.float32, or for fp16 also tl.float16; for int8, the result is int32", "dot-types dot-type dot-inner dot-rank dot-acc-shape dot-acc-type precision-word",
    "a = tl.full((16, 16), 0.5, tl.float16)\ntl.sum(tl.dot(a, a))\n# [1024.]")
ROW(tl,        dot_scaled, "lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc=None, fast_math=False, lhs_k_pack=True, rhs_k_pack=True, out_dtype=None", prelude, "dot_scaled",
    "The product of two matrices in which each group of 16 or 32 elements along K has a scale.",
    "lhs, rhs: formats 'e2m1', 'e4m3', 'e5m2', 'bf16', 'fp16'; scales: uint8, the exponents of powers of two, or None", "dot-type dot-inner",
    "a = tl.full((16, 64), 1.0, tl.bfloat16)\ntl.sum(tl.dot_scaled(a, None, 'bf16', a.T, None, 'bf16'))\n# [16384.]")

HEADING("Random numbers")
ROW(tl,        philox,      "seed, c0, c1, c2, c3, n_rounds=10",   prelude, "philox",
    "Four uint32 of the random generator Philox, for a seed and a counter of four words.",
    "seed: an integer of 64 bits; c0 to c3: uint32; the result is a tuple of four", "operands",
    "tl.philox(1, i.to(tl.uint32), 0, 0, 0)[0]\n# [3823634032 2886210587 1062581232 3253981089]")
ROW(tl,        philox_impl, "c0, c1, c2, c3, k0, k1, n_rounds=10", prelude, "philox_impl",
    "Four words of Philox, for a counter of four words and a key of two.",
    "all of one unsigned type; the result is a tuple of four", "operands",
    "u = i.to(tl.uint32)\ntl.philox_impl(u, u, u, u, u, u)[0]\n# [1713891541  897475542 1885274683 2263498937]")
ROW(tl,        randint,     "seed, offset, n_rounds=10",           prelude, "randint",
    "Random uint32, one for each offset.", "seed: an integer; offset: a tile of integers", "operands",
    "tl.randint(1, i)\n# [3823634032 2886210587 1062581232 3253981089]")
ROW(tl,        randint4x,   "seed, offset, n_rounds=10",           prelude, "randint4x",
    "Four tiles of random uint32.", "seed: an integer; offset: a tile of integers", "operands",
    "tl.randint4x(1, i)[3]\n# [3054873127 2817941651 3958191734  231320490]")
ROW(tl,        rand,        "seed, offset, n_rounds=10",           prelude, "rand",
    "Random float32, uniform in [0, 1).", "seed: an integer; offset: a tile of integers", "operands",
    "tl.rand(1, i)\n# [0.21948163 0.6560034  0.49480292 0.48474693]")
ROW(tl,        rand4x,      "seed, offset, n_rounds=10",           prelude, "rand4x",
    "Four tiles of random float32, uniform in [0, 1).", "seed: an integer; offset: a tile of integers", "operands",
    "tl.rand4x(1, i)[3]\n# [0.5774638  0.6877936  0.15682332 0.10771699]")
ROW(tl,        randn,       "seed, offset, n_rounds=10",           prelude, "randn",
    "Random float32 of the normal distribution.", "seed: an integer; offset: a tile of integers", "operands",
    "tl.randn(1, i)\n# [ 0.42641786 -0.01024705  0.8996051   1.078756  ]")
ROW(tl,        randn4x,     "seed, offset, n_rounds=10",           prelude, "randn4x",
    "Four tiles of random float32 of the normal distribution.", "seed: an integer; offset: a tile of integers", "operands",
    "tl.randn4x(1, i)[3]\n# [-0.28686726 -0.29251125  0.8785675   0.98994446]")
ROW(tl,        uint_to_uniform_float,  "x",                        prelude, "uint_to_uniform_float",
    "Random integers as float32 in [0, 1).", "x: int32, uint32, int64 or uint64", "static-assert",
    "tl.uint_to_uniform_float(i * 500000000)\n# [0.         0.23283063 0.46566126 0.6984919 ]")
ROW(tl,        pair_uniform_to_normal, "u1, u2",                   prelude, "pair_uniform_to_normal",
    "Two tiles of the normal distribution, computed from two tiles of the uniform distribution (Box-Muller).",
    "u1, u2: float32 in [0, 1); the result is a tuple of two", "operands",
    "tl.pair_uniform_to_normal(x / 5, x / 5)[0]\n# [ 0.55441433 -1.0951896  -0.8177279   0.20643802]")

HEADING("Loops, hints, debugging")
ROW(tl,        range, "arg1, arg2=None, step=None, num_stages=None, loop_unroll_factor=None, disallow_acc_multi_buffer=False, flatten=False, warp_specialize=False, disable_licm=False, **hints", tl_range, NULL,
    "A loop's values, like Python's range. num_stages sets the depth of the loop's pipeline, and loop_unroll_factor the number of copies of its body. The other options have no effect, since neso makes these decisions itself.",
    "arg1, arg2, step: integers", "loop-bound loop-step wants-int",
    "for k in tl.range(0, 3, num_stages=2): x += k\nx\n# [4. 5. 6. 7.]")
ROW(tl,        static_range,   "arg1, arg2=None, step=None",       static_range,  NULL,
    "The values of a loop that is unrolled at compile time; the loop's variable is a constexpr.", "constexprs", "static-range",
    "for k in tl.static_range(3): x += k\nx\n# [4. 5. 6. 7.]")
ROW(tl,        condition,      "arg1, disable_licm=False",         same,          NULL,
    "The condition of a while loop; disable_licm is ignored.", "arg1: a scalar boolean", "condition-block",
    "while tl.condition(tl.sum(x) < 20): x += 1\nx\n# [4. 5. 6. 7.]")
ROW(tl,        multiple_of,    "input, values",                    hint,          "divisible",
    "Promises that the first value of each aligned group is a multiple of a number, per dimension.",
    "values: constexprs", "hint-length hint-value", "tl.multiple_of(i, 4)\n# [0 1 2 3]")
ROW(tl,        max_contiguous, "input, values",                    hint,          "contiguous",
    "Promises that groups of this many values are consecutive integers, per dimension.",
    "values: constexprs", "hint-length hint-value", "tl.max_contiguous(i, 4)\n# [0 1 2 3]")
ROW(tl,        max_constancy,  "input, values",                    hint,          "constant",
    "Promises that groups of this many values are equal, per dimension.", "values: constexprs", "hint-length hint-value",
    "tl.max_constancy(i // 4, 4)\n# [0 0 0 0]")
ROW(tl,        assume,         "cond",                             nothing,       NULL,
    "A promise to the compiler; neso does not use it.", "cond: a boolean", "", "tl.assume(tl.program_id(0) >= 0)")
ROW(tl,        debug_barrier,  "",                                 debug_barrier, NULL,
    "Waits until all threads of the program have reached this barrier; then each thread sees the earlier writes of the others.", "", "",
    "tl.debug_barrier()")
ROW(tl,        expect_zero,    "x, mask",                          same,          NULL,
    "x itself; a hint that x is 0 where the mask is false.", "x: a tensor", "", "tl.expect_zero(x, i < 2)\n# [1. 2. 3. 4.]")
ROW(constant,  static_print,   "*values, sep=' ', end=None, file=None, flush=False", static_print, NULL,
    "Prints values at compile time.", "values: anything; tensors are shown by their type", "wants-string", "tl.static_print(x.dtype, 4)")
ROW(constant,  static_assert,  "cond, msg=''",                     static_assert, NULL,
    "Fails the compilation if the condition is false.", "cond: a constexpr; msg: a string", "static-assert static-assert-kind",
    "tl.static_assert(x.dtype == tl.float32)")
ROW(tl,        device_print,   "prefix, *args, hex=False",         device_print,  NULL,
    "Prints the values of a tensor while the kernel runs, each with its program and index.",
    "prefix: a constant string; hex: a constexpr", "print-prefix", "tl.device_print('x', x)")
ROW(tl,        device_assert,  "cond, msg='', mask=None",          device_assert, NULL,
    "Ends the launch with a message if an element is false; checked in debug mode only (TRITON_DEBUG=1, debug=True).",
    "cond: booleans; mask: int1", "wants-string", "tl.device_assert(x > 0, 'negative')")
ROW(tl,        inline_asm_elementwise, "asm, constraints, args, dtype, is_pure, pack", inline_asm, NULL,
    "Applies PTX to each element, or to packs of elements in 32-bit registers. The interpreter cannot run it.",
    "constraints: '=r,r,...', n for a constant that the text contains as a number; args: tiles that broadcast; dtype: of the result, or a tuple; pack: a power of two", "asm-constraints asm-immediate asm-pack asm-type asm-many",
    "tl.inline_asm_elementwise('neg.f32 $0, $1;', '=f,f', [x], tl.float32, True, 1)")

HEADING("Types, constants")
ROW(constant,  constexpr,      "value",                            constexpr,     NULL,
    "A value known at compile time. As a parameter's annotation, it means that a launch passes a constant.",
    "value: a number, string, type, function or tuple; a value known at run time stays what it is", "", "tl.constexpr(3) + 1\n# 4")
ROW(constant,  tuple,          "items",                            tuple,         NULL,
    "A tuple.", "items: anything", "unpack-kind", "tl.tuple((1, 2))[1]\n# 2")
ROW(constant,  pointer_type,   "element_ty, address_space=1, const=False", pointer_type, NULL,
    "The type of pointers to elements of a type.", "element_ty: a type", "wants-dtype",
    "tl.pointer_type(tl.float32)\n# pointer<fp32>")
ROW(constant,  block_type,     "element_ty, shape",                block_type,    NULL,
    "The type of tiles of a type and shape.", "element_ty: a type; shape: constexprs", "shape-power wants-dtype",
    "tl.block_type(tl.float32, [4])\n# <[4], fp32>")
ROW(constant,  str_to_ty,      "name, c=None",                     str_to_ty,     NULL,
    "The type of a name.", "name: 'fp32', 'i32', '*fp16', ...", "wants-dtype", "tl.str_to_ty('fp32', None)\n# fp32")
ROW(constant,  tensor,         "*args, **kwargs",                  unsupported,   NULL,
    "Not supported: kernels get tensors from the builtins.", "", "not-supported", "")
ROW(constant,  const,          "*args, **kwargs",                  unsupported,   NULL,
    "Not supported as a call; as an annotation of a parameter it forbids stores through it.", "", "not-supported", "")
ROW(constant,  dtype,          "name",                             str_to_ty,     NULL,
    "The type of a name.", "name: 'fp32', 'int8', ...", "wants-dtype", "tl.dtype('fp32')\n# fp32")
ROW(constant,  slice,          "*args",                            unsupported,   NULL,
    "Not supported: index by x[:, None].", "", "not-supported", "")
ROW(constant,  constexpr_type, "value",                            constexpr_type, NULL,
    "A constexpr that holds this value, as a type.", "value: a constant", "constexpr-of-tensor", "tl.constexpr_type(3)")
ROW(constant,  tensor_descriptor, "*args, **kwargs",               unsupported,   NULL,
    "Not supported as a call: use tl.make_tensor_descriptor.", "", "not-supported", "")
ROW(constant,  tensor_descriptor_type, "*args, **kwargs",          unsupported,   NULL,
    "Not supported.", "", "not-supported", "")
ROW(constant,  aggregate_replace, "*args, **kwargs",               unsupported,   NULL,
    "Not supported.", "", "not-supported", "")
ROW(constant,  float8e4b15,    "*args",                            unsupported,   NULL,
    "Not supported: no GPU has instructions for this format.", "", "not-supported", "")
ROW(constant,  float8e4b8,     "*args",                            unsupported,   NULL,
    "Not supported: this is a format of AMD GPUs.", "", "not-supported", "")
ROW(constant,  float8e5b16,    "*args",                            unsupported,   NULL,
    "Not supported: this is a format of AMD GPUs.", "", "not-supported", "")
ROW(core,      get_int_dtype,  "bitwidth, signed",                 get_int_dtype, NULL,
    "The integer type with this number of bits.", "bitwidth: 1, 8, 16, 32 or 64; signed: a bool", "no-int-type",
    "tl.core.get_int_dtype(16, False)\n# uint16")
ROW(core,      _log2,          "i",                                log2_of_const, NULL,
    "The binary logarithm of a constant power of two.", "i: a constexpr", "not-constant wants-int", "tl.core._log2(8)\n# 3")
ROW(core,      _unwrap_if_constexpr, "o",                          same,          NULL,
    "The value itself, since constants are values in kernels.", "o: any value", "operands", "tl.core._unwrap_if_constexpr(8)\n# 8")

HEADING("Members of types")
ROW(type,      is_floating,    "self", type_is, "floating",
    "Is it a floating-point type?", "", "", "tl.float32.is_floating()\n# True")
ROW(type,      is_standard_floating, "self", type_is, "standard_floating",
    "Is it float16, bfloat16, float32 or float64?", "", "", "tl.float8e5.is_standard_floating()\n# False")
ROW(type,      is_int,         "self", type_is, "int",
    "Is it an integer type?", "", "", "tl.int8.is_int()\n# True")
ROW(type,      is_int_signed,  "self", type_is, "int_signed",
    "Is it a signed integer type?", "", "", "tl.uint8.is_int_signed()\n# False")
ROW(type,      is_int_unsigned, "self", type_is, "int_unsigned",
    "Is it an unsigned integer type?", "", "", "tl.uint8.is_int_unsigned()\n# True")
ROW(type,      is_bool,        "self", type_is, "int1",
    "Is it int1?", "", "", "tl.int1.is_bool()\n# True")
ROW(type,      is_fp8,         "self", type_is, "fp8",
    "Is it a float of 8 bits?", "", "", "tl.float8e5.is_fp8()\n# True")
ROW(type,      is_fp16,        "self", type_is, "fp16",
    "Is it fp16?", "", "", "tl.float32.is_fp16()\n# False")
ROW(type,      is_bf16,        "self", type_is, "bf16",
    "Is it bf16?", "", "", "tl.float32.is_bf16()\n# False")
ROW(type,      is_fp32,        "self", type_is, "fp32",
    "Is it fp32?", "", "", "tl.float32.is_fp32()\n# True")
ROW(type,      is_fp64,        "self", type_is, "fp64",
    "Is it fp64?", "", "", "tl.float32.is_fp64()\n# False")
ROW(type,      is_fp8e4nv,     "self", type_is, "fp8e4nv",
    "Is it fp8e4nv?", "", "", "tl.float32.is_fp8e4nv()\n# False")
ROW(type,      is_fp8e5,       "self", type_is, "fp8e5",
    "Is it fp8e5?", "", "", "tl.float32.is_fp8e5()\n# False")
ROW(type,      is_fp8e4b15,    "self", type_is, "fp8e4b15",
    "Is it fp8e4b15?", "", "", "tl.float32.is_fp8e4b15()\n# False")
ROW(type,      is_int1,        "self", type_is, "int1",
    "Is it int1?", "", "", "tl.float32.is_int1()\n# False")
ROW(type,      is_int8,        "self", type_is, "int8",
    "Is it int8?", "", "", "tl.float32.is_int8()\n# False")
ROW(type,      is_int16,       "self", type_is, "int16",
    "Is it int16?", "", "", "tl.float32.is_int16()\n# False")
ROW(type,      is_int32,       "self", type_is, "int32",
    "Is it int32?", "", "", "tl.float32.is_int32()\n# False")
ROW(type,      is_int64,       "self", type_is, "int64",
    "Is it int64?", "", "", "tl.float32.is_int64()\n# False")
ROW(type,      is_uint8,       "self", type_is, "uint8",
    "Is it uint8?", "", "", "tl.float32.is_uint8()\n# False")
ROW(type,      is_uint16,      "self", type_is, "uint16",
    "Is it uint16?", "", "", "tl.float32.is_uint16()\n# False")
ROW(type,      is_uint32,      "self", type_is, "uint32",
    "Is it uint32?", "", "", "tl.float32.is_uint32()\n# False")
ROW(type,      is_uint64,      "self", type_is, "uint64",
    "Is it uint64?", "", "", "tl.float32.is_uint64()\n# False")
ROW(type,      is_ptr,         "self", type_is, "ptr",
    "Is it a pointer type?", "", "", "X.dtype.is_ptr()\n# True")
ROW(type,      is_block,       "self", type_is, "block",
    "Is it the type of a tile?", "", "", "x.type.is_block()\n# True")
ROW(type,      is_const,       "self", type_is, "const",
    "Is it a pointer through which a kernel must not write?", "", "", "X.dtype.is_const()\n# False")
ROW(type,      kind,           "self", type_kind, NULL,
    "0 for booleans, 1 for integers, 2 for floats.", "", "", "tl.float32.kind()\n# 2")
ROW(type,      get_int_min_value, "self", type_limit, "min",
    "The smallest number of an integer type.", "", "wants-dtype", "tl.int8.get_int_min_value()\n# -128")
ROW(type,      get_int_max_value, "self", type_limit, "max",
    "The largest number of an integer type.", "", "wants-dtype", "tl.int8.get_int_max_value()\n# 127")

HEADING("libdevice")
#include "frontend/builtins/libdevice.h"

HEADING("tl.extra.cuda")
ROW(cuda,      globaltimer,   "",      globaltimer, NULL,
    "The time in nanoseconds of the GPU's global clock; the interpreter and the emulator use another clock.",
    "the result is an int64 scalar", "", "tl.extra.cuda.globaltimer()")
ROW(cuda,      smid,          "",      smid,        NULL,
    "The number of the multiprocessor that runs this program.", "the result is an int32 scalar", "", "tl.extra.cuda.smid()")
ROW(cuda,      num_threads,   "",      launch_size, "threads",
    "The number of threads of a program.", "the result is a constexpr", "", "tl.extra.cuda.num_threads()\n# 128")
ROW(cuda,      num_warps,     "",      launch_size, "warps",
    "The number of warps of a program.", "the result is a constexpr", "", "tl.extra.cuda.num_warps()\n# 4")
ROW(cuda,      gdc_wait,      "",      nothing,     NULL,
    "Does nothing: neso launches no dependent grids early.", "", "", "tl.extra.cuda.gdc_wait()")
ROW(cuda,      gdc_launch_dependents, "", nothing,  NULL,
    "Does nothing: neso launches no dependent grids early.", "", "", "tl.extra.cuda.gdc_launch_dependents()")
ROW(cuda,      convert_custom_float8_sm70, "*args, **kwargs", unsupported, NULL,
    "Not supported.", "", "not-supported", "")
ROW(cuda,      convert_custom_float8_sm80, "*args, **kwargs", unsupported, NULL,
    "Not supported.", "", "not-supported", "")

HEADING("triton")
ROW(triton,    jit,           "fn=None, *, version=None, repr=None, launch_metadata=None, do_not_specialize=None, do_not_specialize_on_alignment=None, debug=None, noinline=None", jit, NULL,
    "Makes a function a kernel, which a program launches, or a helper, which kernels call.",
    "fn: a function; debug: check assertions; do_not_specialize: names of parameters whose values select no specialization; noinline, repr and launch_metadata have no effect", "jit-function",
    "@triton.jit\ndef twice(x): return 2 * x")
ROW(triton,    autotune,      "configs, key, prune_configs_by=None, reset_to_zero=None, restore_value=None, pre_hook=None, post_hook=None, warmup=None, rep=None, use_cuda_graph=False, do_bench=None, cache_results=False", autotune, NULL,
    "Measures the configurations at the first launch with a new key, and keeps the best. Without a GPU, takes the first configuration that compiles.",
    "configs: a list of triton.Config; key: names of parameters; prune_configs_by, reset_to_zero, restore_value, pre_hook, post_hook, warmup, rep: as in Triton", "decorate-jit tune-config tune-conflict tune-no-config",
    "@triton.autotune([triton.Config({'BLOCK': 64})], key=['n'])\n@triton.jit\ndef tuned(X, n, BLOCK: tl.constexpr): tl.store(X, 0.0)")
ROW(triton,    heuristics,    "values",                     heuristics,         NULL,
    "Computes constexpr parameters of a launch from its arguments.",
    "values: a dict of functions of the arguments", "decorate-jit",
    "@triton.heuristics({'EVEN': lambda a: a['n'] % 64 == 0})\n@triton.jit\ndef even(X, n, EVEN: tl.constexpr): tl.store(X, 0.0)")
ROW(triton,    Config,        "kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None", config, NULL,
    "One configuration of triton.autotune.",
    "kwargs: constexpr parameters; num_warps, num_stages, maxnreg: options of the launch; num_ctas: 1", "tune-config",
    "triton.Config({'BLOCK': 64}, num_warps=8).num_warps\n# 8")
ROW(triton,    cdiv,          "x, y",                       host_cdiv,          NULL,
    "x / y, rounded up.", "integers", "", "triton.cdiv(7, 2)\n# 4")
ROW(triton,    next_power_of_2, "n",                        next_power_of_2,    NULL,
    "The least power of two that is n or more.", "n: an integer", "wants-int", "triton.next_power_of_2(100)\n# 128")
ROW(triton,    constexpr_function, "fn",                    constexpr_function, NULL,
    "Lets kernels call a plain Python function while they are compiled, with constants as arguments.",
    "fn: a function", "constexpr-argument", "@triton.constexpr_function\ndef half(n): return n // 2")
ROW(triton,    must_use_result, "x",                        must_use_result,    NULL,
    "Marks a function whose result must be used; neso does not check this.", "x: a function", "",
    "@triton.must_use_result\ndef twice(x): return 2 * x")
ROW(triton,    aggregate,     "cls",                        unsupported,        NULL,
    "Not supported: use a NamedTuple.", "", "not-supported", "")
ROW(triton,    reinterpret,   "tensor, dtype",              unsupported,        NULL,
    "Not supported: use tensor.view(dtype) of torch.", "", "not-supported", "")
ROW(triton,    set_allocator, "fn",                         nothing,            NULL,
    "Does nothing: descriptors that kernels create need no memory of the host.", "fn: a function", "", "triton.set_allocator(None)")
ROW(triton,    compile,       "*args, **kwargs",            unsupported,        NULL,
    "Not supported: use `neso compile` or neso_kernel_compile.", "", "not-supported", "")
ROW(triton,    MockTensor,    "dtype, shape=None",          unsupported,        NULL,
    "Not supported.", "", "not-supported", "")
ROW(triton,    TensorWrapper, "*args",                      unsupported,        NULL,
    "Not supported.", "", "not-supported", "")
ROW(hidden,    decorate_jit,  "options, fn",                decorate_jit,       NULL, "", "", "", "")
ROW(hidden,    decorate_autotune, "options, fn",            decorate,           "autotune", "", "", "", "")
ROW(hidden,    decorate_heuristics, "options, fn",          decorate,           "heuristics", "", "", "", "")
ROW(hidden,    keep_function, "hint, fn",                   keep_function,      NULL, "", "", "", "")
ROW(hidden,    all_kwargs,    "config",                     all_kwargs,         NULL, "", "", "", "")

HEADING("Names without a module")
ROW(bare,      range,         "a, b=None, c=None, **ignored", bare_range,       NULL,
    "The values of a loop, as tl.range gives them.", "a, b, c: integers", "loop-bound loop-step",
    "for k in range(0, 3): x += k\nx\n# [4. 5. 6. 7.]")
ROW(bare,      min,           "*items, propagate_nan='NONE'", bare_extremum,    "min",
    "The smallest of two or more numbers.", "items: numbers that promote", "math-type extremum-of-one",
    "min(x, 2.5)\n# [1.  2.  2.5 2.5]")
ROW(bare,      max,           "*items, propagate_nan='NONE'", bare_extremum,    "max",
    "The largest of two or more numbers.", "items: numbers that promote", "math-type extremum-of-one",
    "max(x, 2.5)\n# [2.5 2.5 3.  4. ]")
ROW(bare,      print,         "prefix='', *args, hex=False", device_print,       NULL,
    "Prints while the kernel runs: on the interpreter like Python's print, on other devices like tl.device_print.",
    "prefix: on other devices, a constant string", "print-prefix", "print('x', x)")
