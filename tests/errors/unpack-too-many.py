# A tuple must have as many values as there are names to assign.
# run: compile unpack-too-many.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    a, b, c = tl.load(x), 1.0
    tl.store(x, a)

# expect: exit 2
# unpack-too-many.py:9:5: error: expected 3 values to unpack, found 2 [unpack-count]
#     9 |     a, b, c = tl.load(x), 1.0
#       |     ^~~~~~~
