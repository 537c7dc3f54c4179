# runs: interpreter emulator cuda triton triton-interpret
# Tests loads and stores at quotients and remainders of indices, as they occur in views of tensors: runs of equal
# or consecutive indices of many lengths, indices that are divided twice, and a mask whose edge is inside a run.
import torch
import triton
import triton.language as tl


@triton.jit
def transposed(x, bias, y, n, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    c, b, a = i % C, (i // C) % B, (i // (B * C)) % A
    outer = i // (A * B * C)
    value = tl.load(x + c + C * a + A * C * b + A * B * C * outer, mask=i < n)
    value += tl.load(bias + (i % (B * C)) // C, mask=i < n)
    tl.store(y + i, value, mask=i < n)


@triton.jit
def rows(x, y, n, C: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    k = tl.arange(0, COLUMNS)[None, :]
    at = k + COLUMNS * (r // 4)
    value = tl.load(x + 2 * (r % 4) + 8 * (at % C) + (at // C), mask=r < n, other=0.0)
    tl.store(y + r, tl.sum(value, 1)[:, None], mask=r < n)


for A, B, C, N in ((4, 6, 64, 2), (3, 5, 48, 3), (2, 7, 24, 5), (8, 3, 7, 2)):
    x = torch.arange(N * A * B * C, device="cuda", dtype=torch.float32).reshape(N, B, A, C)
    bias = torch.arange(B, device="cuda", dtype=torch.float32) * 0.5
    wanted = x.permute(0, 2, 1, 3) + bias[:, None]
    n = x.numel()
    for BLOCK, warps in ((256, 2), (1024, 4)):
        y = torch.zeros(n, device="cuda", dtype=torch.float32)
        transposed[(triton.cdiv(n, BLOCK),)](x, bias, y, n, A, B, C, BLOCK, num_warps=warps)
        assert (y == wanted.reshape(-1)).all(), (A, B, C, BLOCK)

C, COLUMNS, n = 96, 32, 50
x = torch.arange(8 * (C + 1), device="cuda", dtype=torch.float32)
y = torch.zeros(n, device="cuda", dtype=torch.float32)
rows[(triton.cdiv(n, 8),)](x, y, n, C, 8, COLUMNS, num_warps=2)
r = torch.arange(n, device="cuda")[:, None]
at = torch.arange(COLUMNS, device="cuda")[None, :] + COLUMNS * (r // 4)
wanted = x[2 * (r % 4) + 8 * (at % C) + (at // C)].sum(1)
assert (y == wanted).all()
print("all equal")
