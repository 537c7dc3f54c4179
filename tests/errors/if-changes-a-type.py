# An if with a run-time condition must not change the type of a name.
# run: compile if-changes-a-type.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    y = 0
    if n > 4:
        y = 1.5
    tl.store(x, y)

# expect: exit 2
# if-changes-a-type.py:11:9: error: 'y' is of type int32 before the 'if', but its then branch makes it fp32 [if-type]
#    11 |         y = 1.5
#       |         ^~~~~~~
