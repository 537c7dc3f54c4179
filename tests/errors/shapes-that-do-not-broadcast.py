# If the operands of an operator are blocks of different sizes, the message shows both shapes.
# run: compile shapes-that-do-not-broadcast.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    a = tl.arange(0, 64)
    b = tl.arange(0, 32)
    tl.store(x + a, a + b)

# expect: exit 2
# shapes-that-do-not-broadcast.py:11:23: error: shapes do not broadcast: dimension 0 is 64 against 32 [shape-broadcast]
#    11 |     tl.store(x + a, a + b)
#       |                       ^
# shapes-that-do-not-broadcast.py:9:9: note: this operand has shape [64]
# shapes-that-do-not-broadcast.py:10:9: note: this operand has shape [32]
