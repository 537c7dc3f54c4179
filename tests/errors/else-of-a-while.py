# An 'else' after a 'while' gives a single error: names that the body binds cause no further errors.
# run: compile else-of-a-while.py::k --signature "*i32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(X, n):
    i = 0
    while i < n:
        found = i
        i += 1
    else:
        i = 7
    tl.store(X, found + i)

# expect: exit 2
# else-of-a-while.py:10:5: error: 'else' after a loop is not supported in a kernel [loop-else]
#    10 |     while i < n:
#       |     ^~~~~~~~~~~~
