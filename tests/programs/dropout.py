# runs: interpreter emulator cuda triton triton-interpret
# Tests dropout with a mask from the host, and with a mask computed from a seed and the element's index, which needs no memory.
import torch
import triton
import triton.language as tl


@triton.jit
def masked_dropout(x_ptr, kept_ptr, out_ptr, n, p, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    kept = tl.load(kept_ptr + at, mask=inside)
    tl.store(out_ptr + at, tl.where(kept, x / (1 - p), 0.0), mask=inside)


@triton.jit
def seeded_dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    # the same seed drops the same elements in the backward pass
    kept = tl.rand(seed, at) > p
    tl.store(out_ptr + at, tl.where(kept, x / (1 - p), 0.0), mask=inside)


def dropout(x, p, kept=None, seed=None, block=1024):
    out = torch.empty_like(x)
    assert x.is_contiguous()
    n = x.numel()
    grid = lambda meta: (triton.cdiv(n, meta['BLOCK']),)
    if kept is not None:
        masked_dropout[grid](x, kept, out, n, p, BLOCK=block)
    else:
        seeded_dropout[grid](x, out, n, p, seed, BLOCK=block)
    return out


torch.manual_seed(0)
for n in [10, 1000, 5000]:
    x = torch.randn(n, device='cuda')
    kept = (torch.rand(n, device='cuda') > 0.25).to(torch.int32)
    expected = torch.where(kept != 0, x / 0.75, torch.zeros_like(x))
    torch.testing.assert_close(dropout(x, 0.25, kept=kept), expected, rtol=1e-6, atol=1e-6)

x = torch.ones(40000, device='cuda')
a, b, c = dropout(x, 0.5, seed=123), dropout(x, 0.5, seed=123, block=256), dropout(x, 0.5, seed=512)
assert torch.equal(a, b)  # the mask depends on the element's index, not on the program
assert not torch.equal(a, c)
for y in [a, c]:
    part = (y != 0).float().mean().item()
    assert 0.49 < part < 0.51, part
    assert torch.equal(y[y != 0], torch.full_like(y[y != 0], 2.0))
print([int(v != 0) for v in a[:16].tolist()])

# expect:
# [0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 1, 1, 1]
