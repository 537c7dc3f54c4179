# Each statement is checked: two independent errors give two reports, and consequences of an error give none.
# run: compile two-errors.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    a = tl.load(n)
    b = a + 1
    c = b[0]
    d = tl.arange(0, 3)
    tl.store(x + d, c)

# expect: exit 2
# two-errors.py:9:17: error: tl.load needs a pointer or a block of pointers, found int32 [not-pointer]
#     9 |     a = tl.load(n)
#       |                 ^
# hint: pass the tensor itself to the kernel, and add offsets to it
# two-errors.py:12:9: error: tl.arange needs a power of 2 elements, found 3 [arange-power]
#    12 |     d = tl.arange(0, 3)
#       |         ^~~~~~~~~~~~~~~
# hint: round up and mask the rest: tl.arange(0, 4), mask = offsets < n
