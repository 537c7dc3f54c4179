# runs: interpreter emulator cuda triton triton-interpret
# If a grid has many programs of one warp, several programs share a CTA. Each must keep its program id, for every size of the grid.
import torch
import triton
import triton.language as tl


@triton.jit
def who(Out, Sum, stride, BLOCK: tl.constexpr):
    x = tl.program_id(0)
    y = tl.program_id(1)
    at = (y * tl.num_programs(0) + x) * stride + tl.arange(0, BLOCK)
    tl.store(Out + at, x * 1000 + y * 10 + tl.num_programs(1) + tl.arange(0, BLOCK))
    tl.atomic_add(Sum, x + 1)


@triton.jit
def normalize(X, Y, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(X + row * n + columns, mask=columns < n, other=-float('inf'))
    e = tl.exp(x - tl.max(x, axis=0))
    if row % 3 != 0:
        tl.store(Y + row * n + columns, e / tl.sum(e, axis=0), mask=columns < n)


for grid in [(1,), (63,), (64,), (66,), (128, 3), (131, 2), (2, 40)]:
    nx, ny = grid[0], grid[1] if len(grid) > 1 else 1
    out = torch.zeros((ny, nx, 64), device='cuda', dtype=torch.int32)
    total = torch.zeros((1,), device='cuda', dtype=torch.int32)
    who[grid](out, total, 64, BLOCK=64, num_warps=1)
    x = torch.arange(nx, device='cuda', dtype=torch.int32)[None, :, None]
    y = torch.arange(ny, device='cuda', dtype=torch.int32)[:, None, None]
    assert torch.equal(out, x * 1000 + y * 10 + ny + torch.arange(64, device='cuda', dtype=torch.int32)[None, None, :]), grid
    assert total.item() == ny * nx * (nx + 1) // 2, grid

for rows, n in [(96, 200), (97, 256), (1, 33), (68, 1)]:
    x = torch.randn((rows, n), device='cuda')
    y = torch.zeros_like(x)
    normalize[(rows,)](x, y, n, BLOCK=256, num_warps=1)
    want = torch.softmax(x, 1)
    for skipped in range(0, rows, 3):
        want[skipped] = 0
    assert torch.allclose(y, want, atol=1e-6), (rows, n)
