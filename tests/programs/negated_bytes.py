# runs: interpreter emulator cuda triton-interpret (not triton: ptxas omits a sign in Triton's PTX too)
# Tests the maximum of negated bytes in 32 bits. The result is wrong if the PTX contains
# neg.s32: ptxas 13.0 merges two maxima into one instruction and omits one of the signs.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Largest, Least):
    x = tl.load(X + tl.arange(0, 2)[:, None] * 64 + tl.arange(0, 64)[None, :]).to(tl.int32)
    tl.store(Largest + tl.arange(0, 2), tl.max(-x, axis=1))
    tl.store(Least + tl.arange(0, 2), tl.min(0 - x, axis=1))


for at in range(64):
    x = torch.zeros((2, 64), dtype=torch.int8, device="cuda")
    x[0, at], x[1, at] = -16, 16
    largest, least = torch.empty(2, dtype=torch.int32, device="cuda"), torch.empty(2, dtype=torch.int32, device="cuda")
    kernel[(1,)](x, largest, least, num_warps=1)
    assert largest.tolist() == [16, 0], (at, largest.tolist())
    assert least.tolist() == [0, -16], (at, least.tolist())
