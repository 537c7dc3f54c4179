# runs: interpreter emulator cuda triton triton-interpret
# A vector that comes from a reduction is stored and at once loaded through the same pointers, as in the attention of flash-attn 2, and then
# scales the rows of an accumulator: the thread that loads an element is not the thread that has stored it.
import torch
import triton
import triton.language as tl


@triton.jit
def scaled(Q, K, V, O, TMP, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, MASK: tl.constexpr):
    m = tl.arange(0, BM)
    d = tl.arange(0, D)
    q = tl.load(Q + m[:, None] * D + d[None, :])
    acc = tl.zeros([BM, D], dtype=tl.float32)
    pointers = TMP + m
    for at in range(0, n, BN):
        rows = at + tl.arange(0, BN)
        k = tl.load(K + rows[:, None] * D + d[None, :])
        v = tl.load(V + rows[:, None] * D + d[None, :])
        qk = tl.dot(q, tl.trans(k))
        scale = tl.max(qk, 1) * 0.125
        if MASK:
            tl.store(pointers, scale, mask=m < BM - 3)
            scale = tl.load(pointers, mask=m < BM - 3, other=2.0)
        else:
            tl.store(pointers, scale)
            scale = tl.load(pointers)
        acc = acc * scale[:, None]
        p = qk - 4.0 * tl.floor(qk * 0.25)
        acc += tl.dot(p.to(q.dtype), v)
    tl.store(O + m[:, None] * D + d[None, :], acc)


def check(D, BM, BN, warps, mask):
    torch.manual_seed(BM)
    q, k, v = (torch.randint(-1, 2, (n, D), device='cuda').to(torch.float16) for n in (BM, 2 * BN, 2 * BN))
    o, tmp = torch.zeros(BM, D, device='cuda'), torch.zeros(BM, device='cuda')
    scaled[(1,)](q, k, v, o, tmp, 2 * BN, D, BM, BN, mask, num_warps=warps)
    fq, fk, fv = (x.to(torch.float32) for x in (q, k, v))
    want = torch.zeros(BM, D, device='cuda')
    for at in (0, BN):
        qk = torch.matmul(fq, fk[at:at + BN].transpose(0, 1))
        scale = torch.max(qk, 1)[0] * 0.125
        if mask:
            scale = torch.where(torch.arange(BM, device='cuda') < BM - 3, scale, 2.0)
        want = want * scale[:, None] + torch.matmul(qk - 4 * torch.floor(qk / 4), fv[at:at + BN])
    assert torch.equal(o, want), (D, BM, BN, warps, mask)


for mask in (False, True):
    check(64, 128, 128, 4, mask)
    check(64, 64, 64, 4, mask)
    check(32, 128, 64, 8, mask)
