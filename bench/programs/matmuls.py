"""matmuls.py: defines the matmul of Triton's announcement with other types and epilogues, and a persistent matmul for Triton."""
import triton
import triton.language as tl


@triton.jit
def gelu(x):
    # x / 2 * (1 + tanh(u)) is x * sigmoid(2 u)
    return x * tl.sigmoid(1.5957691216 * (x + 0.044715 * x * x * x))


@triton.jit
def matmul_with(A, B, C, Bias, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr,
                EPILOGUE: tl.constexpr, ACC: tl.constexpr):
    _pid_m = tl.program_id(0)
    _pid_n = tl.program_id(1)
    pid_m = _pid_m // GROUP_M
    pid_n = (_pid_n * GROUP_M) + (_pid_m % GROUP_M)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=ACC)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A)
        b = tl.load(B)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    if EPILOGUE == 1:
        acc = gelu(acc + tl.load(Bias + rn, mask=rn < N, other=0.0).to(tl.float32)[None, :])
    if EPILOGUE == 2:
        acc = tl.where(acc >= 0, acc, 0.01 * acc)
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(C, acc, mask=mask)


@triton.jit
def persistent_matmul(A, B, C, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
                      GROUP_M: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr, HALVES: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(A, [M, K], [K, 1], [BLOCK_M, BLOCK_K])
    b_tiles = tl.make_tensor_descriptor(B, [K, N], [N, 1], [BLOCK_K, BLOCK_N])
    c_tiles = tl.make_tensor_descriptor(C, [M, N], [N, 1], [BLOCK_M, BLOCK_N // 2 if HALVES else BLOCK_N])
    tiles_m = tl.cdiv(M, BLOCK_M)
    band = GROUP_M * tl.cdiv(N, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tl.cdiv(N, BLOCK_N), PROGRAMS, flatten=FLATTEN):
        above = tile // band * GROUP_M
        rows = min(tiles_m - above, GROUP_M)
        m = (above + tile % band % rows) * BLOCK_M
        n = tile % band // rows * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for k in range(0, K, BLOCK_K):
            acc = tl.dot(a_tiles.load([m, k]), b_tiles.load([k, n]), acc)
        if HALVES:
            left, right = tl.split(tl.permute(tl.reshape(acc, (BLOCK_M, 2, BLOCK_N // 2)), (0, 2, 1)))
            c_tiles.store([m, n], left.to(c_tiles.dtype))
            c_tiles.store([m, n + BLOCK_N // 2], right.to(c_tiles.dtype))
        else:
            c_tiles.store([m, n], acc.to(c_tiles.dtype))


def main():
    """Compares small shapes with torch.matmul, on any device: every layout, epilogue and type of the bench."""
    import torch
    torch.manual_seed(0)
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, device='cuda', dtype=torch.int8))
    m, n, k = 128, 256, 192
    a, b = torch.randn((m, k), device='cuda'), torch.randn((k, n), device='cuda')
    bias = torch.randn(n, device='cuda').to(torch.float16)
    ta, tb = a.T.contiguous().T, b.T.contiguous().T
    half, eighth, whole = torch.float16, torch.float8_e4m3fn, torch.float32
    for x, y, kind, result, epilogue in [(a, b, half, half, 1), (a, tb, half, half, 2), (ta, b, half, half, 0),
                                         (ta, tb, torch.bfloat16, torch.bfloat16, 0), (a, tb, whole, whole, 0),
                                         (a, tb, eighth, half, 0), (2 * a, 2 * tb, torch.int8, torch.int32, 0)]:
        acc = tl.int32 if kind == torch.int8 else tl.float32
        x, y, c = x.to(kind), y.to(kind), torch.empty((m, n), device='cuda', dtype=result)
        matmul_with[(m // 64, n // 128)](x, y, c, bias, m, n, k, x.stride(0), x.stride(1), y.stride(0), y.stride(1), n, 1, BLOCK_M=64,
                                         BLOCK_N=128, BLOCK_K=64, GROUP_M=1, EPILOGUE=epilogue, ACC=acc, num_warps=4)
        expected = torch.matmul(x.to(whole), y.to(whole))
        if epilogue == 1:
            z = expected + bias.to(whole)
            expected = 0.5 * z * (1 + torch.tanh(0.7978845608 * (z + 0.044715 * z * z * z)))
        if epilogue == 2:
            expected = torch.where(expected >= 0, expected, 0.01 * expected)
        torch.testing.assert_close(c.to(whole), expected, rtol=1e-2, atol=1e-1)
    a, b = a.to(half), b.to(half)
    for flatten, halves in [(True, False), (False, True)]:
        c = torch.empty((m, n), device='cuda', dtype=half)
        persistent_matmul[(3,)](a, b, c, m, n, k, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, GROUP_M=2, PROGRAMS=3, FLATTEN=flatten,
                                HALVES=halves, num_warps=4)
        torch.testing.assert_close(c.to(whole), torch.matmul(a.to(whole), b.to(whole)), rtol=1e-2, atol=1e-1)
    print('right')


if __name__ == '__main__':
    main()
