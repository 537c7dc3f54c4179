# The bound of a loop must not be a float.
# run: compile float-bound.py::k --signature "*fp32, fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    for i in range(n):
        tl.store(x + i, 0.0)

# expect: exit 2
# float-bound.py:9:20: error: the loop's end must be an integer scalar, found fp32 [loop-bound]
#     9 |     for i in range(n):
#       |                    ^
