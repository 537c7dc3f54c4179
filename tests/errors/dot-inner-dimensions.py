# The inner dimensions of the operands of tl.dot must be equal.
# run: compile dot-inner-dimensions.py::k --signature "*fp16" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    a = tl.zeros([16, 32], tl.float16)
    b = tl.zeros([64, 16], tl.float16)
    tl.store(x, tl.max(tl.dot(a, b)))

# expect: exit 2
# dot-inner-dimensions.py:11:24: error: the inner dimensions of tl.dot differ: shapes [16, 32] and [64, 16] [dot-inner]
#    11 |     tl.store(x, tl.max(tl.dot(a, b)))
#       |                        ^~~~~~~~~~~~
