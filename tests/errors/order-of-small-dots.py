# A deterministic kernel must not have dots that are too small for tensor cores, because they add in another order than larger ones.
# run: compile order-of-small-dots.py::k --signature "*fp16, *fp32" --deterministic
import triton
import triton.language as tl


@triton.jit
def k(x, y):
    a = tl.load(x + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :])
    b = tl.load(x + tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :])
    tl.store(y + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :], tl.dot(a, b))

# expect: exit 2
# order-of-small-dots.py:11:77: error: this dot of 8 x 16, with an inner size of 16, is too small for tensor cores, so it adds in another order than larger tiles, and the kernel is deterministic: use at least 16 x 8, with an inner size of 16 (tf32: 8) [order-dot]
#    11 |     tl.store(y + tl.arange(0, 8)[:, None] * 16 + tl.arange(0, 16)[None, :], tl.dot(a, b))
#       |                                                                             ^~~~~~~~~~~~
