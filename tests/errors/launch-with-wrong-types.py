# If a launch does not compile, a note shows the location of the launch and the argument types.
# run: run --device emulator launch-with-wrong-types.py
import torch
import triton
import triton.language as tl


@triton.jit
def scaled(X, M, scale, stride, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + i * stride) * scale
    tl.store(X + i, x * tl.load(M + i))


x = torch.ones(32)
scaled[(1,)](x, None, torch.full((1,), 0.5), 1.5, BLOCK=32)

# expect: exit 2
# launch-with-wrong-types.py:11:19: error: invalid operands of type pointer<fp32> and <[32], fp32> [operands]
#    11 |     x = tl.load(X + i * stride) * scale
#       |                   ^
# hint: the offsets of a pointer are integers; tl.load(pointer) reads the element at its address
# launch-with-wrong-types.py:12:35: error: invalid operands of type None and <[32], int32> [operands]
#    12 |     tl.store(X + i, x * tl.load(M + i))
#       |                                   ^
# launch-with-wrong-types.py:16:1: note: launched here, with X=*fp32:16, M=None, scale=*fp32:16, stride=fp32, BLOCK=32
