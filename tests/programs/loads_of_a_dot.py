# runs: interpreter emulator cuda triton triton-interpret
# Tests loops of dots with mma.sync. The second operand may be loaded before the first; the accumulator may be loaded
# too, so that only the accumulator and one operand can be copied ahead; masks may be loaded, from addresses that are loaded.
import torch
import triton
import triton.language as tl


@triton.jit
def second_first(V, D, A, n, B: tl.constexpr):
    t = tl.arange(0, B)
    acc = tl.zeros([B, B], tl.float32)
    for i in range(n):
        v = tl.load(V + i * B * B + t[:, None] + t[None, :] * B)
        d = tl.load(D + i * B * B + t[:, None] * B + t[None, :])
        acc += tl.dot(d, v)
    tl.store(A + t[:, None] * B + t[None, :], acc)


@triton.jit
def sum_loaded(A, B, S, Q, C, n, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)
    o = tl.arange(0, N)
    k = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for i in range(n):
        place = tl.load(Q + k)
        limit = tl.load(Q + K + m[:, None] + place[None, :])
        a = tl.load(A + i * M * K + m[:, None] * K + k[None, :], mask=limit <= m[:, None], other=0.0)
        b = tl.load(B + i * K * N + k[:, None] * N + o[None, :])
        total += tl.dot(a, b, acc=tl.load(S + i * M * N + m[:, None] * N + o[None, :]))
    tl.store(C + m[:, None] * N + o[None, :], total)


n = 5
for stages in (1, 2, 3, 4):
    for warps in (1, 2, 4):
        v, d = (torch.randint(-3, 4, (n, 32, 32), device='cuda').to(torch.float16) for _ in range(2))
        a = torch.empty((32, 32), device='cuda')
        second_first[(1,)](v, d, a, n, B=32, num_stages=stages, num_warps=warps)
        want = torch.zeros((32, 32), device='cuda')
        for i in range(n):
            want += torch.matmul(d[i].float(), v[i].float().T)
        assert torch.equal(a, want), ('second_first', stages, warps)

        M, N, K = 32, 16, 32
        x = torch.randint(-3, 4, (n, M, K), device='cuda').float()
        y = torch.randint(-3, 4, (n, K, N), device='cuda').float()
        s = torch.randint(-3, 4, (n, M, N), device='cuda').float()
        q = torch.randint(0, 16, (2 * K + M,), device='cuda').to(torch.int32)
        c = torch.empty((M, N), device='cuda')
        sum_loaded[(1,)](x, y, s, q, c, n, M=M, N=N, K=K, num_stages=stages, num_warps=warps)
        places = q.tolist()
        mask = torch.tensor([[1.0 if places[K + r + places[j]] <= r else 0.0 for j in range(K)] for r in range(M)], device='cuda')
        want = torch.zeros((M, N), device='cuda')
        for i in range(n):
            want += torch.matmul(x[i] * mask, y[i]) + s[i]
        assert torch.equal(c, want), ('sum_loaded', stages, warps)
