# runs: interpreter emulator cuda triton triton-interpret
# Tests histograms of computed values, with as many bins as values, fewer, and more. The layouts of values and bins differ.
import torch
import triton
import triton.language as tl


@triton.jit
def count(O, start, N: tl.constexpr, BINS: tl.constexpr):
    x = (tl.arange(0, N) * 3 + tl.program_id(0) + start) & (BINS - 1)
    tl.store(O + tl.program_id(0) * BINS + tl.arange(0, BINS), tl.histogram(x, BINS))


for N, BINS, warps in [(8, 2, 1), (8, 16, 4), (64, 64, 8), (256, 32, 2), (1024, 16, 4), (64, 256, 4)]:
    O = torch.zeros((2, BINS), device='cuda', dtype=torch.int32)
    count[(2,)](O, 5, N, BINS, num_warps=warps)
    for pid in range(2):
        wanted = [0] * BINS
        for i in range(N):
            wanted[(i * 3 + pid + 5) % BINS] += 1
        assert O[pid].tolist() == wanted, (N, BINS, warps)
