# A new name must not have different types in the two branches of an if.
# run: compile branches-disagree.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    if n > 4:
        y = 1.5
    else:
        y = 2
    tl.store(x, y)

# expect: exit 2
# branches-disagree.py:12:9: error: 'y' has different types in the two branches: fp32 and int32 [branch-types]
#    12 |         y = 2
#       |         ^~~~~
# branches-disagree.py:10:9: note: 'y' is fp32 here
