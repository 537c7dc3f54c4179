# A name that only one branch of a run-time if assigns cannot be read afterwards: the note shows the if.
# run: compile name-of-one-branch.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    if n > 0:
        y = 1.0
    tl.store(x, y)

# expect: exit 2
# name-of-one-branch.py:11:17: error: name 'y' is not defined [name]
#    11 |     tl.store(x, y)
#       |                 ^
# name-of-one-branch.py:9:5: note: 'y' is assigned in only one branch of this 'if', so it does not exist after it
