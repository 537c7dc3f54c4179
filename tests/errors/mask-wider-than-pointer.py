# A load with a scalar pointer must not have a block as its mask.
# run: compile mask-wider-than-pointer.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    tl.store(x, 1.0, mask=tl.arange(0, 64) < n)

# expect: exit 2
# mask-wider-than-pointer.py:9:27: error: the mask is a block, but the pointer is a scalar [mask-block]
#     9 |     tl.store(x, 1.0, mask=tl.arange(0, 64) < n)
#       |                           ^~~~~~~~~~~~~~~~~~~~
