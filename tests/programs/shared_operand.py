# runs: interpreter emulator cuda triton triton-interpret
# Several dots in flight read the same operand from registers, each from packed registers of its own: all of these must keep their values
# until the last of the dots has ended.
import torch
import triton
import triton.language as tl


@triton.jit
def products(q, k, w, x, y, z, D: tl.constexpr, BT: tl.constexpr):
    i = tl.arange(0, BT)
    d = tl.arange(0, D)
    b_q = tl.load(q + i[:, None] * D + d[None, :])
    b_k = tl.load(k + i[:, None] * D + d[None, :])
    b_w = tl.load(w + i[:, None] * BT + i[None, :])
    b_s = tl.dot(b_q, tl.trans(b_k)).to(b_q.dtype)
    b_x = tl.dot(b_s, b_w)
    b_y = tl.dot(b_s, b_k)
    b_z = tl.dot(b_w, b_k)
    tl.store(x + i[:, None] * BT + i[None, :], b_x)
    tl.store(y + i[:, None] * D + d[None, :], b_y)
    tl.store(z + i[:, None] * D + d[None, :], b_z)


def check(D, BT, warps, dtype):
    torch.manual_seed(D)
    q, k = (torch.randint(-2, 3, (BT, D), device='cuda').to(dtype) for _ in range(2))
    w = torch.randint(-2, 3, (BT, BT), device='cuda').to(dtype)
    x = torch.zeros(BT, BT, device='cuda')
    y, z = (torch.zeros(BT, D, device='cuda') for _ in range(2))
    products[(1,)](q, k, w, x, y, z, D, BT, num_warps=warps)
    fq, fk, fw = (t.to(torch.float32) for t in (q, k, w))
    s = torch.matmul(fq, fk.transpose(0, 1)).to(dtype).to(torch.float32)
    for found, a, b in ((x, s, fw), (y, s, fk), (z, fw, fk)):
        assert torch.equal(found, torch.matmul(a, b)), (D, BT, warps, dtype)


for dtype in (torch.float16, torch.bfloat16, torch.float32):
    for D in (32, 64):
        check(D, 64, 4, dtype)
