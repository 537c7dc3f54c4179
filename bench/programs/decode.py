"""decode.py: computes Y = X W for a few rows X. Every weight is read once, so the speed depends on the number of reads in flight.

The product is computed transposed: the weights are operand A (M) of the tensor core instructions, and the few rows are operand B
(N >= 16). If there are too few column blocks to occupy the GPU, SPLIT_K programs share a column block. Each program stores its
part of the sum in PART, and increments COUNT. So the last program knows that it is the last. It adds the parts in the order of
the splits, and resets COUNT to 0. N is a multiple of BLOCK_N; K is a multiple of SPLIT_K * BLOCK_K.
"""
import triton
import triton.language as tl


@triton.jit
def decode(X, W, Y, PART, COUNT, M, N, K, stride_xm, stride_wk, stride_wn, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
           BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr):
    block = tl.program_id(0)
    part = tl.program_id(1)
    rn = block * BLOCK_N + tl.arange(0, BLOCK_N)
    rm = tl.arange(0, BLOCK_M)
    steps = K // SPLIT_K
    rk = part * steps + tl.arange(0, BLOCK_K)
    w = W + (rn[:, None] * stride_wn + rk[None, :] * stride_wk)
    x = X + (rk[:, None] + rm[None, :] * stride_xm)
    acc = tl.zeros((BLOCK_N, BLOCK_M), dtype=tl.float32)
    for _ in range(0, steps, BLOCK_K):
        acc += tl.dot(tl.load(w), tl.load(x, mask=rm[None, :] < M, other=0.0))
        w += BLOCK_K * stride_wk
        x += BLOCK_K
    sums = tl.trans(acc)
    at = rm[:, None] * N + rn[None, :]
    mask = rm[:, None] < M
    if SPLIT_K == 1:
        tl.store(Y + at, sums, mask=mask)
    else:
        tl.store(PART + part * M * N + at, sums, mask=mask)
        tl.debug_barrier()
        if tl.atomic_add(COUNT + block, 1) == SPLIT_K - 1:
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for i in range(SPLIT_K):
                total += tl.load(PART + i * M * N + at, mask=mask, other=0.0, cache_modifier=".cg")
            tl.store(Y + at, total, mask=mask)
            tl.store(COUNT + block, 0)


@triton.jit
def decode_row(X, W, Y, N, K, stride_wn, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    # one row, and weights with K contiguous: uses no tensor cores, and keeps a separate sum for each position in the block
    rn = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    w = W + (rn[:, None] * stride_wn + rk[None, :])
    acc = tl.zeros((BLOCK_N, BLOCK_K), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        x = tl.load(X + k + rk).to(tl.float32)
        acc += tl.load(w + k).to(tl.float32) * x[None, :]
    tl.store(Y + rn, tl.sum(acc, axis=1), mask=rn < N)


def main():
    """Compares small shapes with torch.matmul, on any device."""
    import torch
    torch.manual_seed(0)
    for m, n, k, split, transposed in [(1, 128, 256, 1, True), (8, 128, 512, 4, True), (16, 64, 256, 2, False), (64, 128, 256, 1, False)]:
        x = torch.randn((m, k), device='cuda').to(torch.float16)
        w = torch.randn((n, k) if transposed else (k, n), device='cuda').to(torch.float16)
        y, part = torch.empty((m, n), device='cuda', dtype=torch.float16), torch.empty((split, m, n), device='cuda')
        count = torch.zeros(n // 64, device='cuda', dtype=torch.int32)
        strides = (1, k) if transposed else (n, 1)
        for _ in range(2):  # the second launch tests that the first launch has reset COUNT
            decode[(n // 64, split)](x, w, y, part, count, m, n, k, k, strides[0], strides[1], BLOCK_M=max(16, m), BLOCK_N=64,
                                     BLOCK_K=64, SPLIT_K=split, num_warps=4, num_stages=3)
        expected = torch.matmul(x.to(torch.float32), (w.T if transposed else w).to(torch.float32))
        torch.testing.assert_close(y.to(torch.float32), expected, rtol=2e-3, atol=2e-2)
        if m == 1 and transposed:
            decode_row[(n // 16,)](x, w, y, n, k, k, BLOCK_N=16, BLOCK_K=128)
            torch.testing.assert_close(y.to(torch.float32), expected, rtol=2e-3, atol=2e-2)
    print('right')


if __name__ == '__main__':
    main()
