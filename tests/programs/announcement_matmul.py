# runs: interpreter emulator cuda (not triton: only Triton 1.0 has **META)
# Tests the matrix product of Triton's announcement, word for word, with metaparameters in **META, without and with its leaky ReLU.
import torch
import triton
import triton.language as tl

@triton.jit
def matmul(A, B, C, M, N, K, stride_am, stride_ak,
            stride_bk, stride_bn, stride_cm, stride_cn,
            **META):
    # extract metaparameters
    BLOCK_M, GROUP_M = META['BLOCK_M'], META['GROUP_M']
    BLOCK_N = META['BLOCK_N']
    BLOCK_K = META['BLOCK_K']
    # programs are grouped together to improve L2 hit rate
    _pid_m = tl.program_id(0)
    _pid_n = tl.program_id(1)
    pid_m = _pid_m // GROUP_M
    pid_n = (_pid_n * GROUP_M) + (_pid_m % GROUP_M)
    # rm (resp. rn) denotes a range of indices
    # for rows (resp. col) of C
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    # rk denotes a range of indices for columns
    # (resp. rows) of A (resp. B)
    rk = tl.arange(0, BLOCK_K)
    # the memory addresses of elements in the first block of
    # A and B can be computed using numpy-style broadcasting
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk [:, None] * stride_bk  + rn[None, :] * stride_bn)
    # initialize and iteratively update accumulator
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A)
        b = tl.load(B)
        # block level matrix multiplication
        acc += tl.dot(a, b)
        # increment pointers so that the next blocks of A and B
        # are loaded during the next iteration
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    # fuse leaky ReLU if desired
    # acc = tl.where(acc >= 0, acc, alpha * acc)
    # write back result
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(C, acc, mask=mask)


@triton.jit
def matmul_leaky_relu(A, B, C, M, N, K, stride_am, stride_ak,
            stride_bk, stride_bn, stride_cm, stride_cn, alpha,
            **META):
    # extract metaparameters
    BLOCK_M, GROUP_M = META['BLOCK_M'], META['GROUP_M']
    BLOCK_N = META['BLOCK_N']
    BLOCK_K = META['BLOCK_K']
    # programs are grouped together to improve L2 hit rate
    _pid_m = tl.program_id(0)
    _pid_n = tl.program_id(1)
    pid_m = _pid_m // GROUP_M
    pid_n = (_pid_n * GROUP_M) + (_pid_m % GROUP_M)
    # rm (resp. rn) denotes a range of indices
    # for rows (resp. col) of C
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    # rk denotes a range of indices for columns
    # (resp. rows) of A (resp. B)
    rk = tl.arange(0, BLOCK_K)
    # the memory addresses of elements in the first block of
    # A and B can be computed using numpy-style broadcasting
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk [:, None] * stride_bk  + rn[None, :] * stride_bn)
    # initialize and iteratively update accumulator
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A)
        b = tl.load(B)
        # block level matrix multiplication
        acc += tl.dot(a, b)
        # increment pointers so that the next blocks of A and B
        # are loaded during the next iteration
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    # fuse leaky ReLU if desired
    acc = tl.where(acc >= 0, acc, alpha * acc)
    # write back result
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(C, acc, mask=mask)


def launch(kernel, a, b, extra, **meta):
    (M, K), (_, N) = a.shape, b.shape
    c = torch.full((M, N), 7, dtype=torch.float32, device='cuda')
    # program (i, k) computes the block in row i // GROUP_M and column k * GROUP_M + i % GROUP_M
    grid = lambda META: (triton.cdiv(M, META['BLOCK_M']) * META['GROUP_M'],
                         triton.cdiv(triton.cdiv(N, META['BLOCK_N']), META['GROUP_M']))
    kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1), *extra, **meta)
    return c


torch.manual_seed(0)
for M, N, K in [(64, 64, 64), (128, 256, 96), (32, 96, 32)]:
    for dtype in [torch.float16, torch.float32]:
        a = torch.randn((M, K), device='cuda', dtype=dtype)
        b = torch.randn((K, N), device='cuda', dtype=dtype)
        expected = torch.matmul(a.double(), b.double()).float()
        tolerance = 1e-4 if dtype == torch.float16 else 3e-2  # GPUs round f32 operands to tf32
        leaky = torch.where(expected >= 0, expected, 0.01 * expected)
        for meta in [dict(BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP_M=1), dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP_M=2)]:
            torch.testing.assert_close(launch(matmul, a, b, (), **meta), expected, rtol=tolerance, atol=tolerance)
            torch.testing.assert_close(launch(matmul_leaky_relu, a, b, (0.01,), num_warps=4, **meta), leaky, rtol=tolerance, atol=tolerance)
        # stores the second matrix row-major or column-major
        torch.testing.assert_close(launch(matmul, a, b.t().contiguous().t(), (), **meta), expected, rtol=tolerance, atol=tolerance)
print("ok")

# expect:
# ok
