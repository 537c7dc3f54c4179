# runs: interpreter emulator cuda (not triton: it compiles scales of type float8e4nv for sm_100 only; not triton-interpret: neither does its dot_scaled)
# Compares products whose scales are factors of type float8e4nv, one for each 16 elements of K, with the exact sum.
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 16)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    xs = tl.load(a_scale + m[:, None] * (K // 16) + s[None, :])
    ys = tl.load(b_scale + n[:, None] * (K // 16) + s[None, :])
    c = tl.dot_scaled(x, xs, "e5m2", y, ys, "e5m2")
    tl.store(out + m[:, None] * N + n[None, :], c)


torch.manual_seed(0)
M, N, K = 16, 32, 64
a, b = (torch.randint(-3, 4, shape, device="cuda").float() for shape in ((M, K), (K, N)))
xs, ys = (torch.randint(1, 8, (rows, K // 16), device="cuda").float() for rows in (M, N))
out = torch.empty(M, N, device="cuda")
product[(1,)](a.to(torch.float8_e5m2), xs.to(torch.float8_e4m3fn), b.to(torch.float8_e5m2), ys.to(torch.float8_e4m3fn), out, M=M, N=N, K=K)
got, a, b, xs, ys = (x.tolist() for x in (out, a, b, xs, ys))
for m in range(M):
    for n in range(N):
        want = sum(a[m][k] * xs[m][k // 16] * b[k][n] * ys[n][k // 16] for k in range(K))
        assert got[m][n] == want, (m, n, got[m][n], want)
