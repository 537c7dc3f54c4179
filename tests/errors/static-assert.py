# A failed tl.static_assert is a compile-time error that shows the assertion's message.
# run: compile static-assert.py::k --signature "*fp32, 48" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 32 == 0, "BLOCK must be a multiple of 32")
    tl.store(x, 1.0)

# expect: exit 2
# static-assert.py:9:5: error: static assertion failed: BLOCK must be a multiple of 32 [static-assert]
#     9 |     tl.static_assert(BLOCK % 32 == 0, "BLOCK must be a multiple of 32")
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
