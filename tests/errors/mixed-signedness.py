# A signed integer cannot be divided by an unsigned integer.
# run: compile mixed-signedness.py::k --signature "*i32, i32, u32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, a, b):
    tl.store(x, a // b)

# expect: exit 2
# mixed-signedness.py:9:19: error: division of int32 by uint32: the operands have different signedness [signedness]
#     9 |     tl.store(x, a // b)
#       |                   ^~
# hint: cast one operand to the type of the other
