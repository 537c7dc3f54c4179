# runs: interpreter emulator cuda triton triton-interpret
# Tests the matmul of Triton's announcement with block sizes for large GPUs: loads without masks, and a loop that counts down.
import torch, triton, triton.language as tl

@triton.jit
def matmul(A, B, C, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
           BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP_M: tl.constexpr):
    _pid_m = tl.program_id(0)
    _pid_n = tl.program_id(1)
    pid_m = _pid_m // GROUP_M
    pid_n = (_pid_n * GROUP_M) + (_pid_m % GROUP_M)
    rm = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    rn = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    A = A + (rm[:, None] * stride_am + rk[None, :] * stride_ak)
    B = B + (rk[:, None] * stride_bk + rn[None, :] * stride_bn)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(K, 0, -BLOCK_K):
        a = tl.load(A)
        b = tl.load(B)
        acc += tl.dot(a, b)
        A += BLOCK_K * stride_ak
        B += BLOCK_K * stride_bk
    C = C + (rm[:, None] * stride_cm + rn[None, :] * stride_cn)
    mask = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(C, acc, mask=mask)

for (bm, bn, bk, w, s) in [(128, 256, 64, 8, 3), (128, 256, 64, 8, 4), (128, 128, 64, 4, 4), (64, 256, 64, 4, 4), (256, 128, 64, 8, 3)]:
    n = 512
    a = torch.randint(-4, 4, (n, n), device='cuda').to(torch.float16)
    b = torch.randint(-4, 4, (n, n), device='cuda').to(torch.float16)
    c = torch.zeros(n, n, device='cuda', dtype=torch.float16)
    g = min(8, n // bn)
    matmul[(n // bm * g, n // bn // g)](a, b, c, n, n, n, n, 1, n, 1, n, 1, BLOCK_M=bm, BLOCK_N=bn, BLOCK_K=bk, GROUP_M=g, num_warps=w, num_stages=s)
    want = torch.matmul(a.to(torch.float64), b.to(torch.float64)).to(torch.float16)
    torch.testing.assert_close(c, want, rtol=0, atol=0)
    print(bm, bn, bk, w, s, "ok")
