# A function that calls itself with the same types recurses endlessly, which is an error.
# run: compile recursion.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def again(x, n):
    return again(x, n + 1)


@triton.jit
def k(x, n):
    tl.store(x, again(x, n))

# expect: exit 2
# recursion.py:9:12: error: 'again' calls itself with the same types and constants: recursion has no end [recursion]
#     9 |     return again(x, n + 1)
#       |            ^~~~~~~~~~~~~~~
#       in again, called at recursion.py:14:17
