# A kernel cannot use continue; the message suggests other code.
# run: compile continue-in-a-loop.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    for i in range(n):
        if i > 4:
            continue
        tl.store(x + i, 0.0)

# expect: exit 2
# continue-in-a-loop.py:11:13: error: unsupported AST node type: Continue: put the rest of the body under an `if` with the opposite condition [kernel-continue]
#    11 |             continue
#       |             ^~~~~~~~
