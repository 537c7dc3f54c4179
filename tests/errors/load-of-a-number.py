# tl.load accepts only pointers.
# run: compile load-of-a-number.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    tl.store(x, tl.load(n))

# expect: exit 2
# load-of-a-number.py:9:25: error: tl.load needs a pointer or a block of pointers, found int32 [not-pointer]
#     9 |     tl.store(x, tl.load(n))
#       |                         ^
# hint: pass the tensor itself to the kernel, and add offsets to it
