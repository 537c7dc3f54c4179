# runs: interpreter emulator cuda triton triton-interpret
# Tests programs that return before a loop of dots, depending on arguments or loaded values: one return, several, nested
# ones, one after a store. Loop lengths are loaded from memory, and addresses are loaded before the loop or in it.
import torch
import triton
import triton.language as tl


@triton.jit
def returns(A, B, C, F, N, K, KIND: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    m = pid * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    c_ptrs = C + m[:, None] * N + n[None, :]
    if KIND == 0:
        if tl.load(F + pid) == 3:
            return
    if KIND == 1:
        if pid > 5:
            return
        if tl.load(F + pid) == 3:
            return
        if tl.load(F + pid + 1) == 7:
            return
    if KIND == 2:
        if tl.load(F + pid) == 3:
            tl.store(c_ptrs, tl.full((BM, BN), 5, tl.float16))
            return
    if KIND == 3:
        if pid < 4:
            if tl.load(F + 4) == 8:
                return
        if tl.load(F + pid) == 3:
            return
    if KIND == 4:
        if pid != 0:
            if pid == 1:
                tl.store(c_ptrs, tl.full((BM, BN), 9, tl.float16))
                return
            if pid == 3:
                return
        if tl.load(F + 4) == 8:
            return
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, K, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot(a, b)
    tl.store(c_ptrs, acc.to(tl.float16))


@triton.jit
def experts(A, B, C, E, L, N, K, stride_be, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # a row of blocks belongs to one expert; its end is loaded from memory
    pid = tl.program_id(0)
    e = tl.load(E + pid)
    if e < 0:
        return
    length = tl.load(L + pid)
    m = pid * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, length, BK):
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + e * stride_be + (i + k)[:, None] * N + n[None, :])
        acc += tl.dot(a, b)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))


@triton.jit
def pages(A, B, C, T, pages_of_row, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    # a table in memory has the position of block i of B's rows
    pid = tl.program_id(0)
    m = pid * BM + tl.arange(0, BM)
    n = tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(0, K, BK):
        page = tl.load(T + pid * pages_of_row + i // BK)
        a = tl.load(A + m[:, None] * K + (i + k)[None, :])
        b = tl.load(B + (page * BK + k)[:, None] * N + n[None, :])
        acc += tl.dot(a, b)
    tl.store(C + m[:, None] * N + n[None, :], acc.to(tl.float16))


def tensors(P, N, K, BM):
    a, b = (torch.randint(-3, 4, size, device='cuda').to(torch.float16) for size in ((P * BM, K), (K, N)))
    return a, b, torch.full((P * BM, N), 9.0, device='cuda', dtype=torch.float16)


P, N, K = 4, 64, 256
for BM, warps in ((64, 4), (128, 8)):
    for kind in range(5):
        a, b, c = tensors(P, N, K, BM)
        flags = torch.tensor([0, 3, 2, 3, 7], device='cuda', dtype=torch.int32)
        returns[(P,)](a, b, c, flags, N, K, KIND=kind, BM=BM, BN=N, BK=64, num_warps=warps)
        want = torch.matmul(a.float(), b.float())
        for p in (1, 3):
            want[p * BM:(p + 1) * BM] = 5 if kind == 2 else 9
        assert torch.equal(c.float(), want), (kind, warps)
    a, _, c = tensors(P, N, K, BM)
    b = torch.randint(-3, 4, (3, K, N), device='cuda').to(torch.float16)
    which, length = [2, -1, 0, 1], [256, 256, 0, 128]
    experts[(P,)](a, b, c, torch.tensor(which, device='cuda', dtype=torch.int32), torch.tensor(length, device='cuda', dtype=torch.int32), N,
                  K, K * N, BM=BM, BN=N, BK=64, num_warps=warps)
    for p in range(P):
        rows = slice(p * BM, (p + 1) * BM)
        want = torch.full((BM, N), 9.0, device='cuda')
        if which[p] >= 0:
            want = torch.matmul(a[rows, :length[p]].float(), b[which[p], :length[p]].float()) if length[p] else torch.zeros((BM, N), device='cuda')
        assert torch.equal(c[rows].float(), want), (p, warps)
    a, b, c = tensors(P, N, K, BM)
    table = torch.tensor([[3, 1, 0, 2], [0, 0, 0, 0], [1, 2, 3, 0], [2, 3, 1, 1]], device='cuda', dtype=torch.int32)
    pages[(P,)](a, b, c, table, 4, N, K, BM=BM, BN=N, BK=64, num_warps=warps)
    for p in range(P):
        rows = slice(p * BM, (p + 1) * BM)
        gathered = torch.cat([b[64 * t:64 * t + 64] for t in table[p].tolist()])
        assert torch.equal(c[rows].float(), torch.matmul(a[rows].float(), gathered.float())), (p, warps)
