# runs: interpreter emulator cuda triton triton-interpret
# In a loop of dots, one operand is a constant, whose buffer must be written once, before the loop.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, n, K: tl.constexpr):
    x = x_ptr + tl.arange(0, 64)[:, None] * n + tl.arange(0, K)[None, :]
    acc = tl.zeros([64, 16], tl.float32)
    for k in range(0, n, K):
        acc = tl.dot(tl.load(x + k), tl.full([K, 16], 2.0, tl.float16), acc=acc)
    tl.store(y_ptr + tl.arange(0, 64)[:, None] * 16 + tl.arange(0, 16)[None, :], acc)


for n in [32, 64, 160]:
    x = torch.randint(-4, 5, (64, n), device="cuda").to(torch.float16)
    y = torch.zeros(64, 16, device="cuda")
    kernel[(1,)](x, y, n, 32)
    want = 2 * x.to(torch.float32).sum(1)
    assert (y - want[:, None]).abs().max().item() == 0, n
