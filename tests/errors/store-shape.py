# The stored value must not be larger than the block of pointers.
# run: compile store-shape.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    offs = tl.arange(0, 32)
    tl.store(x + offs, tl.zeros([64], tl.float32))

# expect: exit 2
# store-shape.py:10:24: error: the value has shape [64], which does not broadcast to the pointer's shape [32] [pointer-shape]
#    10 |     tl.store(x + offs, tl.zeros([64], tl.float32))
#       |                        ^~~~~~~~~~~~~~~~~~~~~~~~~~
