# A load must not have `other` without `mask`.
# run: compile other-without-mask.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.store(x, tl.load(x, other=0.0))

# expect: exit 2
# other-without-mask.py:9:34: error: 'other' is given without 'mask' [other-without-mask]
#     9 |     tl.store(x, tl.load(x, other=0.0))
#       |                                  ^~~
