# runs: interpreter emulator cuda triton triton-interpret
# Two loops share rings of one stage, and their producers copy the tiles in different orders: the second loop must not start the next
# iteration's first dot before the second dot has released its stage, or the producer waits forever.
import torch
import triton
import triton.language as tl


@triton.jit
def sums(X, Y, K, O, middle, end, D: tl.constexpr, B: tl.constexpr):
    d = tl.arange(0, D)
    r = tl.arange(0, B)
    k = tl.load(K + r[:, None] * D + d[None, :])
    acc = tl.zeros((B, D), tl.float32)
    for at in range(0, middle, B):
        x = tl.load(X + (at + r)[:, None] * D + d[None, :])
        y = tl.load(Y + (at + r)[:, None] * D + d[None, :])
        s = tl.trans(tl.dot(x, tl.trans(k)))
        s = s - 4.0 * tl.floor(s * 0.25)
        acc = tl.dot(s.to(x.dtype), y, acc)
    for at in range(middle, end, B):
        x = tl.load(X + (at + r)[:, None] * D + d[None, :])
        y = tl.load(Y + (at + r)[:, None] * D + d[None, :])
        s = tl.dot(k, tl.trans(y))
        s = s - 4.0 * tl.floor(s * 0.25)
        acc = tl.dot(s.to(x.dtype), x, acc)
    tl.store(O + r[:, None] * D + d[None, :], acc)


def check(D, B, stages, warps):
    torch.manual_seed(D)
    middle, end = 3 * B, 7 * B
    x, y = (torch.randint(-1, 2, (end, D), device='cuda').to(torch.float16) for _ in range(2))
    k = torch.randint(-1, 2, (B, D), device='cuda').to(torch.float16)
    o = torch.zeros(B, D, device='cuda')
    sums[(1,)](x, y, k, o, middle, end, D, B, num_warps=warps, num_stages=stages)
    fx, fy, fk = (t.to(torch.float32) for t in (x, y, k))
    s = torch.matmul(fk, fx[:middle].transpose(0, 1))
    t = torch.matmul(fk, fy[middle:].transpose(0, 1))
    want = torch.matmul(s - 4 * torch.floor(s / 4), fy[:middle]) + torch.matmul(t - 4 * torch.floor(t / 4), fx[middle:])
    assert torch.equal(o, want), (D, B, stages, warps)


for stages in (1, 2, 3):
    check(128, 64, stages, 4)
check(64, 128, 1, 8)
