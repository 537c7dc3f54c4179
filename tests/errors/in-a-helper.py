# An error in a helper function is reported at its location there, with a note about the call of the helper.
# run: compile in-a-helper.py::k --signature "*fp32, *i32" --emit ir
import triton
import triton.language as tl


@triton.jit
def twice(v):
    return tl.exp(v) * 2


@triton.jit
def k(x, y):
    tl.store(x, twice(tl.load(x)))
    tl.store(y, twice(tl.load(y)))

# expect: exit 2
# in-a-helper.py:9:19: error: tl.exp takes float32 or float64, found int32 [math-type]
#     9 |     return tl.exp(v) * 2
#       |                   ^
#       in twice, called at in-a-helper.py:15:17
# hint: cast to tl.float32 first: `x.to(tl.float32)`
