# runs: interpreter emulator cuda triton
# A loop uses a loaded tile unchanged in one dot, and computes with it before another
# dot. Both must read one ring of buffers, whose layout is that of the tensor cores.
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def kernel(A, B, C, Out, n, LENGTH: tl.constexpr):
    i = tl.arange(0, 64)
    k = tl.arange(0, 32)
    x = tl.zeros((64, 64), dtype=tl.float32)
    y = tl.zeros((64, 64), dtype=tl.float32)
    for at in range(0, LENGTH, 32):
        u = tl.load(A + i[:, None] * LENGTH + k[None, :] + at)
        v = tl.load(B + i[None, :] * LENGTH + k[:, None] + at)
        w = tl.load(C + i[None, :] + k[:, None] * 64)
        x = tl.dot(u, v, acc=x)
        y = tl.dot(-u, tl.where(i[None, :] > n, w, v), acc=y)
    tl.store(Out + i[:, None] * 64 + i[None, :], x)
    tl.store(Out + 4096 + i[:, None] * 64 + i[None, :], y)


LENGTH = 160
a = torch.arange(64 * LENGTH, device=DEVICE).remainder(7).to(torch.float16).reshape(64, LENGTH) - 3
b = torch.arange(64 * LENGTH, device=DEVICE).remainder(11).to(torch.float16).reshape(64, LENGTH) - 5
c = torch.arange(32 * 64, device=DEVICE).remainder(5).to(torch.float16).reshape(32, 64)
out = torch.empty((2, 64, 64), dtype=torch.float32, device=DEVICE)
kernel[(1,)](a, b, c, out, 20, LENGTH=LENGTH)
x = torch.matmul(a.to(torch.float32), b.to(torch.float32).T)
chosen = torch.where(torch.arange(64, device=DEVICE)[None, :] > 20, torch.cat([c] * (LENGTH // 32)), b.T)
y = -torch.matmul(a.to(torch.float32), chosen.to(torch.float32))
assert torch.equal(out[0], x)
assert torch.equal(out[1], y)
print("done")
