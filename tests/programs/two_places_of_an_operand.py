# runs: interpreter emulator cuda triton triton-interpret
# A tile becomes an operand in shared memory in two layouts, with a conversion between: each thread must pass a fence before the last
# barrier in front of the dot that reads the first of them.
import torch
import triton
import triton.language as tl


@triton.jit
def scores(X, Y, K, G, O, n, D: tl.constexpr, B: tl.constexpr):
    d = tl.arange(0, D)
    r = tl.arange(0, B)
    k = tl.load(K + r[:, None] * D + d[None, :])
    acc = tl.zeros((B, D), tl.float32)
    for at in range(0, n, B):
        rows = at + r
        x = tl.load(X + rows[:, None] * D + d[None, :])
        y = tl.load(Y + rows[:, None] * D + d[None, :])
        s = tl.trans(tl.dot(y, tl.trans(k)))
        s = tl.where(r[:, None] <= rows[None, :], s, 0.0)
        t = tl.dot(k, tl.trans(x))
        t = t - 4.0 * tl.floor(t * 0.25)
        acc = tl.dot(t.to(x.dtype), x, acc)
        g = tl.dot(tl.trans(s.to(x.dtype)), k)
        tl.store(G + rows[:, None] * D + d[None, :], g)
    tl.store(O + r[:, None] * D + d[None, :], acc)


def check(n, D, B, warps, stages, dtype):
    torch.manual_seed(n)
    x, y = (torch.randint(-1, 2, (n, D), device='cuda').to(dtype) for _ in range(2))
    k = torch.randint(-1, 2, (B, D), device='cuda').to(dtype)
    g, o = torch.zeros(n, D, device='cuda'), torch.zeros(B, D, device='cuda')
    scores[(1,)](x, y, k, g, o, n, D, B, num_warps=warps, num_stages=stages)
    fx, fy, fk = (z.to(torch.float32) for z in (x, y, k))
    s = torch.matmul(fk, fy.transpose(0, 1))
    s = torch.where(torch.arange(B, device='cuda')[:, None] <= torch.arange(n, device='cuda')[None, :], s, 0.0)
    t = torch.matmul(fk, fx.transpose(0, 1))
    t = t - 4 * torch.floor(t / 4)
    assert torch.equal(o, torch.matmul(t, fx)), (n, D, B, warps, dtype)
    assert torch.equal(g, torch.matmul(s.transpose(0, 1), fk)), (n, D, B, warps, dtype)


for warps in (2, 4):
    for dtype in (torch.float32, torch.bfloat16):
        check(192, 64, 64, warps, 2, dtype)
