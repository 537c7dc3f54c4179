# The two paths of a run-time if in a helper must return the same type.
# run: compile returns-disagree.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def pick(n):
    if n > 0:
        return 1
    return 2.0


@triton.jit
def k(x, n):
    tl.store(x, pick(n))

# expect: exit 2
# returns-disagree.py:9:5: error: returned values have different types: int32 and fp32 [return-types]
#     9 |     if n > 0:
#       |     ^~~~~~~~~
#       in pick, called at returns-disagree.py:16:17
