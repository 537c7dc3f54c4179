# The kernel calls a function that triton.language does not have.
# run: compile unknown-function-of-tl.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    tl.store(x, tl.cidv(n, 4) * 1.0)

# expect: exit 2
# unknown-function-of-tl.py:9:20: error: module 'triton.language' has no attribute 'cidv' [module-attribute]
#     9 |     tl.store(x, tl.cidv(n, 4) * 1.0)
#       |                    ^~~~
# hint: did you mean 'cdiv'?
