# The operator // accepts only integers; the message suggests a workaround.
# run: compile floor-division-of-floats.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    tl.store(x, tl.load(x) // 2.0)

# expect: exit 2
# floor-division-of-floats.py:9:28: error: '//' does not take operands of type fp32 [operator-type]
#     9 |     tl.store(x, tl.load(x) // 2.0)
#       |                            ^~
# hint: for floats, use tl.floor(a / b)
