# The end of tl.arange must not be a run-time value.
# run: compile arange-not-constant.py::k --signature "*fp32, i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, n):
    tl.store(x + tl.arange(0, n), 1.0)

# expect: exit 2
# arange-not-constant.py:9:31: error: the end of tl.arange must be a constant, found a run-time value [not-constant]
#     9 |     tl.store(x + tl.arange(0, n), 1.0)
#       |                               ^
# hint: a constant is a tl.constexpr parameter, or computed from constants alone
