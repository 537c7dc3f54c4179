# A kernel cannot use break.
# run: compile break-in-a-loop.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    for i in range(n):
        if i > 4:
            break
        tl.store(x + i, 0.0)

# expect: exit 2
# break-in-a-loop.py:11:13: error: unsupported AST node type: Break: use `while` with a condition that ends it, or a flag that the rest of the body and later iterations test with `if` [kernel-break]
#    11 |             break
#       |             ^~~~~
