# The axis of a reduction must be in range.
# run: compile reduction-axis.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    offs = tl.arange(0, 32)
    tl.store(x, tl.sum(tl.load(x + offs), axis=1))

# expect: exit 2
# reduction-axis.py:10:48: error: the axis 1 is out of range for a tensor of rank 1 [axis-range]
#    10 |     tl.store(x, tl.sum(tl.load(x + offs), axis=1))
#       |                                                ^
