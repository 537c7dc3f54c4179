# runs: interpreter emulator cuda triton
"""Converts integers of few bits to 16-bit floats through the bits of 1024 + x (bf16: 128 + x): exact, also for negative x; not used for 11 bits."""
import torch
import triton
import triton.language as tl


@triton.jit
def halves(X, Y, S, MASK: tl.constexpr, ADD: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = (tl.load(X + i) & MASK) + ADD
    tl.store(Y + i, x.to(Y.dtype.element_ty) * tl.load(S + i))


@triton.jit
def from_bytes(X, Y, S, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i).to(Y.dtype.element_ty) * tl.load(S + i))


@triton.jit
def nibbles(Q, Y, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    # each word contains two adjacent elements; a sum that is used twice must not be fused
    k = tl.arange(0, ROWS)
    n = tl.arange(0, BLOCK)
    q = tl.load(Q + (k // 8)[:, None] * BLOCK + n[None, :])
    w = (((q >> ((k % 8) * 4)[:, None]) & 0xF) - 8).to(tl.float16)
    tl.store(Y + k[:, None] * BLOCK + n[None, :], w * w + w)


@triton.jit
def fields(Q, Y, FIRST: tl.constexpr, BY: tl.constexpr, MASK: tl.constexpr, BLOCK: tl.constexpr):
    # neighbours in Y are fields of one word (BY > 0), or of two words; the highest field may contain copies of the sign
    i = tl.arange(0, BLOCK)
    q = tl.load(Q + i)
    tl.store(Y + 2 * i[:, None] + tl.arange(0, 2)[None, :], ((q[:, None] >> (FIRST + BY * tl.arange(0, 2))[None, :]) & MASK).to(tl.float16))
    tl.store(Y + 2 * BLOCK + i, ((q >> FIRST) & MASK).to(tl.float16))


x = torch.arange(0, 4096, device='cuda', dtype=torch.int32)
s = torch.where(x % 2 == 0, 1.0, -2.0).to(torch.float16)
y = torch.empty(4096, device='cuda', dtype=torch.float16)
for mask, add in ((1023, 0), (1023, -1024), (1023, 1024), (1023, -1025), (2047, -1024), (15, -8), (255, -128), (4095, 0), (1023, 2000)):
    halves[(4,)](x, y, s, mask, add, 1024)
    assert torch.equal(y, ((x & mask) + add).to(torch.float16) * s), (mask, add)
x, s, y = x[:1024], s[:1024].to(torch.bfloat16), torch.empty(1024, device='cuda', dtype=torch.bfloat16)
for mask, add in ((127, 0), (127, -128), (127, 128), (127, -129), (255, -128), (15, -8), (255, 0), (127, 200)):
    halves[(1,)](x, y, s, mask, add, 1024)
    assert torch.equal(y, ((x & mask) + add).to(torch.bfloat16) * s), (mask, add)
for dtype in (torch.int8, torch.uint8):
    x = torch.arange(0, 1024, device='cuda', dtype=torch.int32).to(dtype)
    for out in (torch.float16, torch.bfloat16):
        s, y = s.to(out), y.to(out)
        from_bytes[(1,)](x, y, s, 1024)
        assert torch.equal(y, x.to(out) * s), (dtype, out)
q = torch.arange(0, 2 * 128, device='cuda', dtype=torch.int32) * 40503177
z = torch.empty(16, 128, device='cuda', dtype=torch.float16)
nibbles[(1,)](q, z, 16, 128)
k = torch.arange(0, 16, device='cuda', dtype=torch.int32)
w = (((q.reshape(2, 128)[k // 8] >> (k % 8 * 4)[:, None]) & 15) - 8).to(torch.float16)
assert torch.equal(z, w * w + w)
v, f = torch.arange(0, 128, device='cuda', dtype=torch.int32) * 40503177, torch.empty(384, device='cuda', dtype=torch.float16)
for first, by, mask in ((0, 4, 15), (16, 4, 15), (12, 4, 15), (24, 6, 15), (30, -4, 15), (9, 0, 127), (10, 0, 127), (24, -17, 255), (21, 0, 1023)):
    fields[(1,)](v, f, first, by, mask, 128)
    at = torch.tensor([first, first + by], device='cuda', dtype=torch.int32)
    assert torch.equal(f[:256].reshape(128, 2), ((v[:, None] >> at[None, :]) & mask).to(torch.float16)), (first, by, mask)
    assert torch.equal(f[256:], ((v >> first) & mask).to(torch.float16)), (first, by, mask)
print('right')
