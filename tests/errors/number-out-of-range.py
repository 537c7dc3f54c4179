# A number must be in the range of the tensor's type.
# run: compile number-out-of-range.py::k --signature "*i8" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.store(x, tl.load(x) + 300)

# expect: exit 2
# number-out-of-range.py:9:28: error: the number 300 is out of range for type int8 [number-range]
#     9 |     tl.store(x, tl.load(x) + 300)
#       |                            ^
# hint: cast the tensor to a wider type first: `.to(tl.int32)`
