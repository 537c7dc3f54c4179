# runs: interpreter emulator cuda triton (not triton-interpret: its dot_scaled does not support these formats)
# Compares products of microscaled formats with the exact sum. All scaled operands are exact in bf16, so only the additions could round.
import torch
import triton
import triton.language as tl


@triton.jit
def product(a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, A: tl.constexpr, B: tl.constexpr):
    ka: tl.constexpr = K // 2 if A == "e2m1" else K
    kb: tl.constexpr = K // 2 if B == "e2m1" else K
    m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * ka + tl.arange(0, ka)[None, :])
    y = tl.load(b + tl.arange(0, kb)[:, None] * N + n[None, :])
    xs = tl.load(a_scale + m[:, None] * (K // 32) + s[None, :])
    ys = tl.load(b_scale + n[:, None] * (K // 32) + s[None, :])
    tl.store(out + m[:, None] * N + n[None, :], tl.dot_scaled(x, xs, A, y, ys, B))


E2M1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
M, N, K = 32, 32, 64


def e5m2(byte):
    sign = -1.0 if byte & 128 else 1.0
    exponent, mantissa = (byte >> 2) & 31, byte & 3
    return sign * (mantissa * 2.0**-16 if exponent == 0 else (4 + mantissa) * 2.0 ** (exponent - 17))


def e2m1(nibble):
    return -E2M1[nibble & 7] if nibble & 8 else E2M1[nibble]


def bytes_of(rows, columns, low, high):
    return torch.randint(low, high, (rows, columns), dtype=torch.int32, device="cuda").to(torch.uint8)


a_scale, b_scale = bytes_of(M, K // 32, 125, 130), bytes_of(N, K // 32, 125, 130)
four_a, four_b = bytes_of(M, K // 2, 0, 256), bytes_of(K // 2, N, 0, 256)
eight_a = bytes_of(M, K, 52, 68)
four_rows = [[e2m1((row[k // 2] >> (4 * (k % 2))) & 15) for k in range(K)] for row in four_a.tolist()]
eight_rows = [[e5m2(v) for v in row] for row in eight_a.tolist()]
packed = four_b.tolist()
columns = [[e2m1((packed[k // 2][n] >> (4 * (k % 2))) & 15) for k in range(K)] for n in range(N)]
xs, ys = a_scale.tolist(), b_scale.tolist()
for a, rows, name in ((four_a, four_rows, "e2m1"), (eight_a, eight_rows, "e5m2")):
    out = torch.empty(M, N, device="cuda")
    product[(1,)](a, a_scale, four_b, b_scale, out, M=M, N=N, K=K, A=name, B="e2m1")
    got = out.tolist()
    for m in range(M):
        for n in range(N):
            want = sum(rows[m][k] * columns[n][k] * 2.0 ** (xs[m][k // 32] + ys[n][k // 32] - 254) for k in range(K))
            assert abs(got[m][n] - want) <= 1e-5 * (1 + abs(want)), (name, m, n, got[m][n], want)
print("ok")

# expect:
# ok
