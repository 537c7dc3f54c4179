# runs: interpreter emulator cuda triton triton-interpret
# Tests all movements of data between threads in two-dimensional tiles: reductions of rows and columns over one warp
# and several, transposed stores, broadcasts of rows and columns, reshapes, and sums and pointers that loops carry.
import torch
import triton
import triton.language as tl


@triton.jit
def reductions(x_ptr, rows_ptr, columns_ptr, at_ptr, best_ptr, total_ptr, stride, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    x = tl.load(x_ptr + m[:, None] * stride + n[None, :])
    tl.store(rows_ptr + m, tl.sum(x, axis=1))
    tl.store(columns_ptr + n, tl.sum(x, axis=0))
    tl.store(at_ptr + m, tl.argmax(x, axis=1))
    tl.store(best_ptr + n, tl.argmin(x, axis=0))
    tl.store(total_ptr, tl.sum(tl.max(x, axis=1), axis=0))


@triton.jit
def transpose(x_ptr, y_ptr, bias_ptr, m_size, n_size, M: tl.constexpr, N: tl.constexpr):
    m = tl.program_id(0) * M + tl.arange(0, M)
    n = tl.program_id(1) * N + tl.arange(0, N)
    mask = (m[:, None] < m_size) & (n[None, :] < n_size)
    x = tl.load(x_ptr + m[:, None] * n_size + n[None, :], mask=mask, other=0)
    x = x + tl.load(bias_ptr + n, mask=n < n_size, other=0)[None, :]
    tl.store(y_ptr + n[None, :] * m_size + m[:, None], x, mask=mask)
    turned = tl.trans(x)
    tl.store(y_ptr + m_size * n_size + n[:, None] * m_size + m[None, :], turned, mask=tl.trans(mask))


@triton.jit
def running(x_ptr, y_ptr, z_ptr, columns, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    pointers = x_ptr + m[:, None] * columns + n[None, :]
    sums = tl.zeros((M, N), dtype=tl.float32)
    highest = tl.full((M,), -1e30, dtype=tl.float32)
    for i in range(0, columns, N):
        x = tl.load(pointers, mask=(i + n < columns)[None, :], other=0).to(tl.float32)
        sums += x
        highest = tl.maximum(highest, tl.max(x, axis=1))
        pointers += N
    tl.store(y_ptr + m, tl.sum(sums, axis=1) + highest)
    flat = tl.reshape(sums, (M * N,))
    tl.store(z_ptr + tl.arange(0, M * N), flat)


def same(found, expected):
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


torch.manual_seed(0)
for M, N in [(1, 64), (4, 16), (16, 16), (8, 512), (64, 32), (2, 2048)]:
    for warps in [1, 2, 4, 8, 16]:
        x = ((torch.arange(M * N, device='cuda') * 1237) % 4096).to(torch.float32).reshape(M, N)  # all different
        rows = torch.empty(M, device='cuda')
        columns = torch.empty(N, device='cuda')
        at = torch.empty(M, dtype=torch.int32, device='cuda')
        best = torch.empty(N, dtype=torch.int32, device='cuda')
        total = torch.empty(1, device='cuda')
        reductions[(1,)](x, rows, columns, at, best, total, N, M=M, N=N, num_warps=warps)
        same(rows, x.sum(1))
        same(columns, x.sum(0))
        same(total[0], x.max(1)[0].sum(0))
        same(at.to(torch.int64), x.argmax(1))
        same(best.to(torch.int64), x.argmin(0))

for dtype in [torch.float32, torch.float16]:
    for M, N in [(16, 16), (64, 32), (32, 128)]:
        for warps in [1, 4, 8]:
            for m_size, n_size in [(64, 128), (77, 45)]:
                x = torch.randint(-50, 50, (m_size, n_size), device='cuda').to(dtype)
                bias = torch.randint(-50, 50, (n_size,), device='cuda').to(dtype)
                y = torch.empty(2, n_size, m_size, device='cuda', dtype=dtype)
                grid = (triton.cdiv(m_size, M), triton.cdiv(n_size, N))
                transpose[grid](x, y, bias, m_size, n_size, M=M, N=N, num_warps=warps)
                same(y[0], (x + bias).t().contiguous())
                same(y[1], (x + bias).t().contiguous())

for M, N, width in [(4, 64, 256), (8, 128, 1000), (16, 16, 77), (1, 1024, 4096)]:
    for warps in [1, 4, 8]:
        x = torch.randint(-20, 20, (M, width), device='cuda').to(torch.float16)
        y = torch.empty(M, device='cuda')
        z = torch.empty(M * N, device='cuda')
        running[(1,)](x, y, z, width, M=M, N=N, num_warps=warps)
        expected = x.to(torch.float32)
        same(y, expected.sum(1) + torch.maximum(expected.max(1)[0], torch.zeros(M, device='cuda') if width % N else expected.max(1)[0]))
        same(z.sum(0), expected.sum())
print("ok")

# expect:
# ok
