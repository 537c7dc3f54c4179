# runs: interpreter emulator cuda triton triton-interpret
# Only the store has a mask, so nothing needs the values of masked-off elements, and the rest of the row must not
# change. Rows end in the first, a middle or the last vector of a thread, at a vector's end, or beyond the tile.
import torch
import triton
import triton.language as tl


@triton.jit
def polynomial(x_ptr, y_ptr, z_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.float32)
    y = x
    for i in tl.static_range(13):
        y = y * x + i
    tl.store(y_ptr + at, y, mask=tl.arange(0, BLOCK) < n)
    tl.store(z_ptr + at, x + x)


torch.manual_seed(0)
BLOCK = 2048
for dtype in [torch.float16, torch.float32]:
    for n in [0, 8, 600, 1024, 1999, 2048]:
        x = (torch.randint(0, 3, (2, BLOCK), device='cuda') - 1).to(dtype)
        y = torch.full_like(x, 7)
        z = torch.empty_like(x)
        polynomial[(2,)](x, y, z, n, BLOCK=BLOCK, num_warps=4)
        expected = x.float()
        for i in range(13):
            expected = expected * x.float() + i
        assert torch.equal(y[:, :n].float(), expected[:, :n]), (dtype, n)
        assert torch.equal(y[:, n:], torch.full_like(y, 7)[:, n:]), (dtype, n, 'off')
        assert torch.equal(z, x + x), (dtype, n, 'z')
print('stores agree')

# expect:
# stores agree
