# If --maxnreg leaves fewer registers than the smallest wgmma needs, the error is reported at the dot, before ptxas would fail.
# run: compile dot-with-too-few-registers.py --signature "*fp16:16, *fp16:16, *fp32:16, 64" --maxnreg 24 --no-cache
import triton
import triton.language as tl


@triton.jit
def square(A, B, C, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(C + i, tl.dot(tl.load(A + i), tl.load(B + i)))

# expect: exit 2
# dot-with-too-few-registers.py:10:21: error: wgmma needs at least 30 registers per thread, and a thread has 24 here: allow more (maxnreg), or use fewer warps [dot-registers]
#    10 |     tl.store(C + i, tl.dot(tl.load(A + i), tl.load(B + i)))
#       |                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
