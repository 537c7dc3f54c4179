# A constexpr cannot be assigned again.
# run: compile constexpr-twice.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    N: tl.constexpr = 4
    N: tl.constexpr = 8
    tl.store(x + N, 1.0)

# expect: exit 2
# constexpr-twice.py:10:5: error: 'N' is already defined: a constexpr cannot be assigned again [constexpr-again]
#    10 |     N: tl.constexpr = 8
#       |     ^
# hint: use a new name
