# A name that is first assigned in a loop is undefined after the loop.
# run: compile name-of-a-loop-body.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    for i in range(n):
        last = i * 1.0
    tl.store(x, last)

# expect: exit 2
# name-of-a-loop-body.py:11:17: error: name 'last' is not defined [name]
#    11 |     tl.store(x, last)
#       |                 ^~~~
# name-of-a-loop-body.py:9:5: note: 'last' is first assigned in the body of this loop, so it does not exist after it
