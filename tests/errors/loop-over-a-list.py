# A for loop in a kernel can iterate only over ranges.
# run: compile loop-over-a-list.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    for i in [1, 2, 3]:
        tl.store(x + i, 0.0)

# expect: exit 2
# loop-over-a-list.py:9:14: error: a kernel can only loop over range, tl.range and tl.static_range, found tuple [loop-iterator]
#     9 |     for i in [1, 2, 3]:
#       |              ^~~~~~~~~
# hint: for the items of a tuple: `for i in tl.static_range(len(t))`
