# runs: interpreter emulator cuda triton triton-interpret
# Tests scans along an axis with at most as many elements as there are warps: a warp has at most one element of the axis.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, M: tl.constexpr, N: tl.constexpr, REVERSE: tl.constexpr):
    i = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + i, tl.cumsum(tl.load(x_ptr + i), axis=0, reverse=REVERSE))


for rows, warps in [(2, 2), (2, 4), (4, 4), (2, 8), (8, 8)]:
    for reverse in [False, True]:
        x = torch.arange(rows * 32, dtype=torch.int32, device="cuda").reshape(rows, 32)
        y = torch.zeros_like(x)
        kernel[(1,)](x, y, rows, 32, reverse, num_warps=warps)
        want = torch.flip(torch.cumsum(torch.flip(x, [0]), 0), [0]) if reverse else torch.cumsum(x, 0)
        assert torch.equal(y, want.to(torch.int32)), (rows, warps, reverse)
