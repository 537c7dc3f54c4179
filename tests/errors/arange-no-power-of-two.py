# The length of tl.arange must be a power of two: the message suggests a workaround.
# run: compile arange-no-power-of-two.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    offs = tl.arange(0, 100)
    tl.store(x + offs, 1.0)

# expect: exit 2
# arange-no-power-of-two.py:9:12: error: tl.arange needs a power of 2 elements, found 100 [arange-power]
#     9 |     offs = tl.arange(0, 100)
#       |            ^~~~~~~~~~~~~~~~~
# hint: round up and mask the rest: tl.arange(0, 128), mask = offsets < n
