# runs: interpreter emulator cuda triton triton-interpret
# A CTA runs several programs, each of which stores a product twice: unchanged, and transposed as float16.
# Each warpgroup starts its part of the first store itself, so waiting for the second store does not wait for the first.
import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def both(A, B, C, D, K, BLOCK: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    n = tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(A + m[:, None] * K + k[None, :])
        b = tl.load(B + k[:, None] * BLOCK + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * BLOCK + n[None, :], acc)
    tl.store(D + tl.program_id(0) * BLOCK * BLOCK + n[:, None] + n[None, :] * BLOCK, acc.to(tl.float16))


programs = 160 if DEVICE.type == 'cuda' else 12
a = torch.randint(-2, 3, (programs * 128, 64), device=DEVICE).to(torch.float16)
b = torch.randint(-2, 3, (64, 128), device=DEVICE).to(torch.float16)
c = torch.zeros((programs * 128, 128), device=DEVICE)
d = torch.zeros((programs, 128, 128), dtype=torch.float16, device=DEVICE)
both[(programs,)](a, b, c, d, 64, BLOCK=128, BK=64, num_warps=8, num_stages=4)
want = a.to(torch.float32) @ b.to(torch.float32)
assert torch.equal(c, want)
assert torch.equal(d, want.reshape(programs, 128, 128).permute(0, 2, 1).contiguous().to(torch.float16))
print('ok')

# expect:
# ok
