# runs: interpreter emulator cuda triton
# Axis 0 of the grid selects a row, and axis 1 a part of it. The compiler swaps the axes (opt/grid/turn_grid.c); each program must keep its ids.
import torch
import triton
import triton.language as tl


@triton.jit
def numbers(X, Y, n, COLUMNS: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    c = part * COLUMNS + tl.arange(0, COLUMNS)
    x = tl.load(X + row.to(tl.int64) * n + c, mask=c < n)
    tl.store(Y + row.to(tl.int64) * n + c, x + row * 1000 + part + tl.program_id(2) * 100 + tl.num_programs(1) * 10000, mask=c < n)


for rows, n, depth, warps in ((5, 100, 1, 1), (7, 64, 1, 1), (8, 640, 1, 1), (1, 200, 1, 2), (13, 20, 1, 4), (6, 300, 1, 2)):
    device = 'cuda' if torch.cuda.is_available() else 'cpu'
    x = torch.arange(rows * n, device=device, dtype=torch.int32).reshape(rows, n)
    y = torch.empty_like(x)
    parts = triton.cdiv(n, 64)
    numbers[(rows, parts, depth)](x, y, n, 64, num_warps=warps)
    want = x + torch.arange(rows, device=device, dtype=torch.int32)[:, None] * 1000
    want += (torch.arange(n, device=device, dtype=torch.int32) // 64)[None, :] + parts * 10000
    assert (y == want).all(), (rows, n)
print("each program has its numbers")
