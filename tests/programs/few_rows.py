# runs: interpreter emulator cuda triton (triton-interpret cannot reshape a broadcast of 16-bit floats as it should)
# Tiles of one to eight rows, from which the operand of a dot is computed, in rings of several stages: a tile of fewer than
# eight rows is shorter than the period of a swizzle.
import torch
import triton
import triton.language as tl


@triton.jit
def scaled(A, S, T, B, Y, K, R: tl.constexpr, BK: tl.constexpr):
    a = tl.make_tensor_descriptor(A, [64, K], [K, 1], [64, BK])
    s = tl.make_tensor_descriptor(S, [R, K], [K, 1], [R, BK])
    t = tl.make_tensor_descriptor(T, [R, K], [K, 1], [R, BK])
    b = tl.make_tensor_descriptor(B, [K, 64], [64, 1], [BK, 64])
    acc = tl.zeros((64, 64), tl.float32)
    for i in range(0, K, BK):
        sums = s.load([0, i]) + t.load([0, i])
        each = tl.reshape(tl.broadcast_to(sums[:, None, :], [R, 64 // R, BK]), [64, BK])
        acc = tl.dot(a.load([0, i]) * each, b.load([i, 0]), acc)
    tl.store(Y + tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :], acc)


def alloc(size, alignment, stream):
    return torch.empty(size, device='cuda', dtype=torch.int8)


triton.set_allocator(alloc)
torch.manual_seed(0)
K = 256
for R in (1, 2, 4, 8):
    for BK in (16, 32, 64, 128):
        a = torch.randn(64, K, device='cuda').to(torch.float16)
        s = torch.randn(R, K, device='cuda').to(torch.float16)
        t = torch.randn(R, K, device='cuda').to(torch.float16)
        b = torch.randn(K, 64, device='cuda').to(torch.float16)
        y = torch.zeros(64, 64, device='cuda')
        scaled[(1,)](a, s, t, b, y, K, R, BK, num_stages=3)
        for r in range(R):
            n = 64 // R
            wanted = (a[r * n:(r + 1) * n] * (s + t)[r:r + 1]).to(torch.float32) @ b.to(torch.float32)
            assert torch.allclose(y[r * n:(r + 1) * n], wanted, atol=2e-2, rtol=1e-2), (R, BK, r)
