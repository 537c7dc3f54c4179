# runs: interpreter emulator cuda triton-interpret (not triton: one configuration needs too much shared memory there)
# Tests Triton's tutorial 03: grouped programs, rows and columns that wrap around, masks along K only, an activation,
# f16 and fp8. Some sizes are multiples of 16 but not of the blocks, some are no multiples of 16, and some have fewer rows than a block.
import torch
import triton
import triton.language as tl


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
                  GROUP_SIZE_M: tl.constexpr, ACTIVATION: tl.constexpr):
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    num_pid_in_group = GROUP_SIZE_M * num_pid_n
    group_id = pid // num_pid_in_group
    first_pid_m = group_id * GROUP_SIZE_M
    group_size_m = min(num_pid_m - first_pid_m, GROUP_SIZE_M)
    pid_m = first_pid_m + ((pid % num_pid_in_group) % group_size_m)
    pid_n = (pid % num_pid_in_group) // group_size_m

    offs_am = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_bn = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_am[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_bn[None, :] * stride_bn)

    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator)
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    if ACTIVATION == "leaky_relu":
        accumulator = leaky_relu(accumulator)
    c = accumulator.to(tl.float16)

    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, c, mask=c_mask)


def check(M, N, K, dtype, blocks, activation="", warps=8, stages=3):
    a = torch.randint(-4, 5, (M, K), device='cuda').to(torch.float16)
    b = torch.randint(-4, 5, (K, N), device='cuda').to(torch.float16)
    want = torch.matmul(a.to(torch.float64), b.to(torch.float64))
    if activation:
        want = torch.where(want >= 0, want, 0.01 * want)
    if dtype is not torch.float16:
        a = a.to(dtype)
        b = b.T.contiguous().to(dtype).T
    c = torch.empty((M, N), device='cuda', dtype=torch.float16)
    grid = (triton.cdiv(M, blocks[0]) * triton.cdiv(N, blocks[1]),)
    matmul_kernel[grid](a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
                        *blocks, GROUP_SIZE_M=8, ACTIVATION=activation, num_warps=warps, num_stages=stages)
    torch.testing.assert_close(c, want.to(torch.float16), rtol=1e-3, atol=0)


for dtype in [torch.float16, torch.float8_e5m2]:
    check(160, 272, 208, dtype, (64, 128, 64), "leaky_relu")
    check(144, 304, 80, dtype, (128, 256, 64))
    check(48, 80, 96, dtype, (128, 128, 32), "leaky_relu", 4)
check(144, 304, 80, torch.float16, (128, 256, 64), "", 4)  # needs more registers than four warps have
check(160, 272, 45, torch.float16, (64, 128, 64), "leaky_relu")  # A has no tensor map; threads copy B, 16 bytes at once
check(160, 272, 45, torch.float16, (128, 256, 128), "", 8, 4)  # without maps, fits into shared memory only with fewer stages
check(77, 90, 45, torch.float16, (64, 64, 32), "leaky_relu", 4)
check(100, 200, 72, torch.float16, (64, 64, 32), "", 4, 4)
print("ok")

# expect:
# ok
