# runs: interpreter emulator cuda triton
# Tests sorts and top-k of rows of 128 to 4096 columns: every type, one and four
# warps, both directions, several rows per program, and rows with a stride.
import torch
import triton
import triton.language as tl


@triton.jit
def sort_rows(x, out, stride, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = (tl.program_id(0) * M + tl.arange(0, M)[:, None]) * stride + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DESCENDING))


@triton.jit
def sort_row(x, out, stride, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.program_id(0) * stride + tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DESCENDING))


@triton.jit
def top_rows(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    best = tl.topk(tl.load(x + rows * N + tl.arange(0, N)[None, :]), K)
    tl.store(out + rows * K + tl.arange(0, K)[None, :], best)


def values(rows, n, dtype):
    x = (torch.randn(rows, n) * 100).to(dtype)
    x[0, : n // 2] = x[0, n // 2 :]  # equal values
    return x.cuda()


def check(got, want):
    assert got.tolist() == want.tolist(), (got.dtype, got.shape)


common = (torch.float32, torch.float16, torch.int32, torch.int64)
torch.manual_seed(0)
for dtype in common + (torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int16):
    for n in (128, 512) if dtype in common else (128,):
        for warps in (1, 4):
            x = values(4, n, dtype)
            up, down = torch.empty_like(x), torch.empty_like(x)
            sort_rows[(2,)](x, up, n, M=2, N=n, DESCENDING=False, num_warps=warps)
            sort_row[(4,)](x, down, n, N=n, DESCENDING=True, num_warps=warps)
            check(up, x.cpu().sort(1).values)
            check(down, x.cpu().sort(1, descending=True).values)
    best = torch.empty(4, 8, dtype=dtype, device="cuda")
    if dtype in common:
        for warps in (1, 4):
            m = 2 if n == 128 else 1
            top_rows[(4 // m,)](x, best, M=m, N=n, K=8, num_warps=warps)
            check(best, x.cpu().sort(1, descending=True).values[:, :8])

for n, warps in ((1024, 1), (1024, 4), (2048, 1), (4096, 4)):
    x = values(1, n, torch.float32)
    up = torch.empty_like(x)
    sort_row[(1,)](x, up, n, N=n, DESCENDING=False, num_warps=warps)
    check(up, x.cpu().sort(1).values)
x = values(1, 2048, torch.float32)
for warps in (1, 4):
    best = torch.empty(1, 8, device="cuda")
    top_rows[(1,)](x, best, M=1, N=2048, K=8, num_warps=warps)
    check(best, x.cpu().sort(1, descending=True).values[:, :8])

# The values include infinities and zeros of both signs.
x = torch.tensor([0.0, -0.0, float("inf"), -float("inf"), 1.0, -1.0, 1e-40, -1e-40] * 16).cuda()
out = torch.empty_like(x)
sort_row[(1,)](x, out, 128, N=128, DESCENDING=False, num_warps=1)
check(out, x.cpu().sort().values)
print("ok")

# expect:
# ok
