# The operands of tl.dot must not have two different types.
# run: compile dot-types-differ.py::k --signature "*fp16, *fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x, y):
    i = tl.arange(0, 16)
    at = i[:, None] * 16 + i[None, :]
    tl.store(y + at, tl.dot(tl.load(x + at), tl.load(y + at)))

# expect: exit 2
# dot-types-differ.py:11:22: error: both operands of tl.dot must have the same dtype, found fp16 and fp32 [dot-types]
#    11 |     tl.store(y + at, tl.dot(tl.load(x + at), tl.load(y + at)))
#       |                      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# hint: cast one: `a.to(b.dtype)`
