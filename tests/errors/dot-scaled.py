# The formats of tl.dot_scaled must have known names, and scales in uint8 must have one column for each 32 elements of K.
# run: compile dot-scaled.py::k --signature "*u8" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    v = tl.load(x + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :])
    s = tl.load(x + tl.arange(0, 64)[:, None] * 8 + tl.arange(0, 8)[None, :])
    tl.dot_scaled(v, None, "e3m4", v, None, "e5m2")
    tl.dot_scaled(v, s, "e5m2", v, s, "e5m2")

# expect: exit 2
# dot-scaled.py:11:5: error: static assertion failed: formats of tl.dot_scaled are 'e2m1', 'e4m3', 'e5m2', 'bf16' and 'fp16' [static-assert]
#    11 |     tl.dot_scaled(v, None, "e3m4", v, None, "e5m2")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# dot-scaled.py:11:5: error: cannot bitcast uint8 of 8 bits to fp16 of 16 bits [bitcast-width]
#    11 |     tl.dot_scaled(v, None, "e3m4", v, None, "e5m2")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# dot-scaled.py:12:5: error: static assertion failed: lhs_scale must have the shape [64, 2], one scale for each 32 elements of K; found [64, 8] [static-assert]
#    12 |     tl.dot_scaled(v, s, "e5m2", v, s, "e5m2")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# dot-scaled.py:12:5: error: static assertion failed: rhs_scale must have the shape [64, 2], one scale for each 32 elements of K; found [64, 8] [static-assert]
#    12 |     tl.dot_scaled(v, s, "e5m2", v, s, "e5m2")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
