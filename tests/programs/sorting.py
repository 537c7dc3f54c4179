# runs: interpreter emulator cuda triton triton-interpret
# Tests sorting along the last dimension: rows of one and of many elements, types, topk and its widened results, and merging of bitonic sequences.
import torch
import triton
import triton.language as tl


@triton.jit
def sort_rows(x, out, M: tl.constexpr, N: tl.constexpr, DESCENDING: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), 1, descending=DESCENDING))


@triton.jit
def sort_one(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.sort(tl.load(x + i)))


@triton.jit
def top_rows(x, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    v = tl.load(x + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :])
    tl.store(out + tl.arange(0, M)[:, None] * K + tl.arange(0, K)[None, :], tl.topk(v, K))


@triton.jit
def widened(x, out, N: tl.constexpr, K: tl.constexpr):
    best = tl.topk(tl.load(x + tl.arange(0, N)), K)
    if K < N and best.dtype.is_int():
        tl.static_assert(best.dtype == tl.int32)
    if K < N and best.dtype.is_floating():
        tl.static_assert(best.dtype == tl.float32)
    tl.store(out + tl.arange(0, K), best * 100)


@triton.jit
def merge_one(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(out + i, tl.bitonic_merge(v))
    tl.store(out + N + i, tl.bitonic_merge(v, descending=True))


def check(rows, want):
    for row, values in zip(rows, want):
        assert row == values, (row, values)


M, N = 8, 64
for dtype in (torch.float32, torch.float16, torch.int32, torch.int64, torch.int8):
    x = (torch.randn(M, N, device="cuda") * 30).to(dtype)
    up, down = torch.empty_like(x), torch.empty_like(x)
    sort_rows[(1,)](x, up, M=M, N=N, DESCENDING=False)
    sort_rows[(1,)](x, down, M=M, N=N, DESCENDING=True)
    rows = x.tolist()
    check(up.tolist(), [sorted(row) for row in rows])
    check(down.tolist(), [sorted(row, reverse=True) for row in rows])
    if dtype is not torch.int8:
        for k in (2, 8, N):
            best = torch.empty(M, k, dtype=dtype, device="cuda")
            top_rows[(1,)](x, best, M=M, N=N, K=k)
            check(best.tolist(), [sorted(row, reverse=True)[:k] for row in rows])

for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.float16, torch.bfloat16, torch.float32):
    x = torch.arange(1, 33, device="cuda").to(dtype)
    out = torch.empty(4, device="cuda", dtype=torch.float32)
    widened[(1,)](x, out, N=32, K=4)  # 3200 does not fit into 8 bits
    assert out.tolist() == [3200.0, 3100.0, 3000.0, 2900.0], (dtype, out.tolist())

for n in (2, 32, 1024):
    x = torch.randn(n, device="cuda")
    out = torch.empty_like(x)
    sort_one[(1,)](x, out, N=n)
    assert out.tolist() == sorted(x.tolist())

x = torch.cat([torch.arange(0, 16, device="cuda"), torch.arange(0, 16, device="cuda").flip(0)]).to(torch.int32)
out = torch.empty(2, 32, dtype=torch.int32, device="cuda")
merge_one[(1,)](x, out, N=32)
check(out.tolist(), [sorted(x.tolist()), sorted(x.tolist(), reverse=True)])
print("ok")

# expect:
# ok
