# Two pointers cannot be added.
# run: compile adding-pointers.py::k --signature "*fp32, *fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, y):
    tl.store(x + y, 1.0)

# expect: exit 2
# adding-pointers.py:9:16: error: invalid operands of type pointer<fp32> and pointer<fp32> [operands]
#     9 |     tl.store(x + y, 1.0)
#       |                ^
# hint: the offsets of a pointer are integers; tl.load(pointer) reads the element at its address
