# A kernel cannot return inside of a loop.
# run: compile return-in-a-loop.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    for i in range(n):
        if tl.load(x + i) > 0.0:
            return
    tl.store(x, 0.0)

# expect: exit 2
# return-in-a-loop.py:11:13: error: 'return' inside a loop is not supported in a kernel [return-in-loop]
#    11 |             return
#       |             ^~~~~~
# hint: use a flag and tl.where, or a 'while' with the condition
