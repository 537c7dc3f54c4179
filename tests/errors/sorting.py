# tl.sort works only along the last dimension and on numbers; in tl.topk, k must be a power of two.
# run: compile sorting.py::k --signature "*fp32" --emit ir
import triton
import triton.language as tl


@triton.jit
def k(x):
    p = x + tl.arange(0, 8)[:, None] * 8 + tl.arange(0, 8)[None, :]
    v = tl.load(p)
    tl.sort(v, 0)
    tl.sort(v, dim=2)
    tl.sort(p)
    tl.topk(v, 3)
    tl.topk(v, 16)
    tl.bitonic_merge(v, descending=v)

# expect: exit 2
# sorting.py:11:16: error: tl.sort goes along the last dimension, which is 1 [sort-axis]
#    11 |     tl.sort(v, 0)
#       |                ^
# sorting.py:12:20: error: the axis 2 is out of range for a tensor of rank 2 [axis-range]
#    12 |     tl.sort(v, dim=2)
#       |                    ^
# sorting.py:13:13: error: tl.sort takes numbers, and of floats at least 16 bits, found <[8, 8], pointer<fp32>> [sort-type]
#    13 |     tl.sort(p)
#       |             ^
# sorting.py:14:16: error: k of tl.topk must be a power of 2 from 1 to 8, found 3 [topk-k]
#    14 |     tl.topk(v, 3)
#       |                ^
# sorting.py:15:16: error: k of tl.topk must be a power of 2 from 1 to 8, found 16 [topk-k]
#    15 |     tl.topk(v, 16)
#       |                ^~
# sorting.py:16:36: error: descending must be a constant, found a run-time value [not-constant]
#    16 |     tl.bitonic_merge(v, descending=v)
#       |                                    ^
# sorting.py:10:9: note: it is computed here, when the kernel runs
# hint: a constant is a tl.constexpr parameter, or computed from constants alone
