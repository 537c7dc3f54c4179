# runs: interpreter emulator cuda triton
# Tests loops of dots that read tiles at places which the program loads from memory: pages of keys (an iteration loads one
# page's number from a table), rows of keys (an iteration loads the numbers of several rows), and a range of rows
# (its start and end are loaded). Iterations also load scalars. The loops count up or down, or have no iterations.
import torch
import triton
import triton.language as tl


@triton.jit
def pages(Q, K, Table, Scale, O, n, D: tl.constexpr, PAGE: tl.constexpr, M: tl.constexpr, DOWN: tl.constexpr):
    i = tl.arange(0, M)
    d = tl.arange(0, D)
    k = tl.arange(0, PAGE)
    q = tl.load(Q + i[:, None] * D + d[None, :])
    out = tl.zeros((M, D), tl.float32)
    if DOWN:
        for j in range(n - 1, -1, -1):
            page = tl.load(Table + j)
            x = tl.load(K + page * (PAGE * D) + k[:, None] * D + d[None, :])
            p = tl.dot(q, tl.trans(x)) * tl.load(Scale + j)
            out = tl.dot(p.to(tl.float16), x, out)
    else:
        for j in range(n):
            page = tl.load(Table + j)
            x = tl.load(K + page * (PAGE * D) + k[:, None] * D + d[None, :])
            p = tl.dot(q, tl.trans(x)) * tl.load(Scale + j)
            out = tl.dot(p.to(tl.float16), x, out)
    tl.store(O + i[:, None] * D + d[None, :], out)


@triton.jit
def rows(Q, K, Index, O, n, D: tl.constexpr, BN: tl.constexpr, M: tl.constexpr):
    i = tl.arange(0, M)
    d = tl.arange(0, D)
    q = tl.load(Q + i[:, None] * D + d[None, :])
    out = tl.zeros((M, D), tl.float32)
    for j in range(0, n, BN):
        at = j + tl.arange(0, BN)
        row = tl.load(Index + at, mask=at < n, other=0)
        x = tl.load(K + row[:, None] * D + d[None, :], mask=(at < n)[:, None], other=0.0)
        p = tl.dot(q, tl.trans(x))
        out = tl.dot(p.to(tl.float16), x, out)
    tl.store(O + i[:, None] * D + d[None, :], out)


@triton.jit
def ragged(A, B, C, Offsets, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    e = tl.program_id(1)
    hi = tl.load(Offsets + e + 1)
    m = tl.load(Offsets + e) + tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :], mask=m[:, None] < hi, other=0.0)
        b = tl.load(B + e * K * N + (i + k)[:, None] * N + n[None, :])
        acc = tl.dot(a, b, acc)
    tl.store(C + m[:, None] * N + n[None, :], acc, mask=m[:, None] < hi)


def halves(*shape):
    return (torch.randn(shape, device='cuda', dtype=torch.float32) * 0.3).to(torch.float16)


def close(found, expected, what):
    assert found.numel() == 0 or float(torch.max(torch.abs(found - expected))) < 0.02, what


def check_pages(n, D, PAGE, M, down, warps, stages):
    q, k = halves(M, D), halves(7 * PAGE, D)
    table = torch.tensor([3, 6, 0, 5, 5, 1, 2][:n], device='cuda', dtype=torch.int32)
    scale = torch.rand((7,), device='cuda', dtype=torch.float32)
    o = torch.zeros((M, D), device='cuda', dtype=torch.float32)
    pages[(1,)](q, k, table, scale, o, n, D, PAGE, M, down, num_warps=warps, num_stages=stages)
    want = torch.zeros((M, D), device='cuda', dtype=torch.float32)
    for j in range(n):
        x = k[int(table[j]) * PAGE:(int(table[j]) + 1) * PAGE].float()
        want += torch.matmul(torch.matmul(q.float(), x.t()) * scale[j], x)
    close(o, want, ('pages', n, D, PAGE, M, down, warps, stages))


def check_rows(n, D, BN, M, warps, stages):
    q, k = halves(M, D), halves(40, D)
    index = torch.tensor([(7 * i + 3) % 40 for i in range(n)], device='cuda', dtype=torch.int32)
    o = torch.zeros((M, D), device='cuda', dtype=torch.float32)
    rows[(1,)](q, k, index, o, n, D, BN, M, num_warps=warps, num_stages=stages)
    x = k[index].float()
    close(o, torch.matmul(torch.matmul(q.float(), x.t()), x), ('rows', n, D, BN, M, warps, stages))


def check_ragged(sizes, N, K, BM, BN, BK, warps, stages):
    offsets = [0]
    for size in sizes:
        offsets.append(offsets[-1] + size)
    a, b = halves(offsets[-1], K), halves(len(sizes), K, N)
    c = torch.zeros((offsets[-1], N), device='cuda', dtype=torch.float32)
    where = torch.tensor(offsets, device='cuda', dtype=torch.int32)
    ragged[(triton.cdiv(max(sizes), BM), len(sizes))](a, b, c, where, N, K, BM, BN, BK, num_warps=warps, num_stages=stages)
    for e in range(len(sizes)):
        own = slice(offsets[e], offsets[e + 1])
        close(c[own], torch.matmul(a[own].float(), b[e].float()), ('ragged', e, sizes))


torch.manual_seed(0)
for warps, M in (4, 64), (1, 16):
    for stages in 2, 3, 4:
        for n in 7, 1, 0:
            check_pages(n, 64, 16, M, stages == 3, warps, stages)
    check_rows(37, 64, 16, M, warps, 3)
    check_rows(3, 64, 16, M, warps, 2)
check_ragged([70, 0, 64, 5], 64, 128, 64, 64, 32, 4, 3)
check_ragged([20, 33], 32, 64, 16, 32, 16, 1, 3)
