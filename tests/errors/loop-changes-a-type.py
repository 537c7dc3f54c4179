# A variable that a loop carries must keep its type: here an int becomes a float sum.
# run: compile loop-changes-a-type.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    total = 0
    for i in range(n):
        total += tl.load(x + i)
    tl.store(x, total)

# expect: exit 2
# loop-changes-a-type.py:11:9: error: 'total' has type int32 before the loop, but the body makes it fp32: a loop variable keeps its type [loop-type]
#    11 |         total += tl.load(x + i)
#       |         ^~~~~~~~~~~~~~~~~~~~~~~
# hint: give it the final type before the loop, or cast in the body with `.to(...)`
