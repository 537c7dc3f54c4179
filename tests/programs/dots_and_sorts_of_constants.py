# runs: interpreter emulator cuda triton triton-interpret
# Constants must be moved to registers, with the type of their use, if an instruction accepts no
# constants: operands and accumulators of dots, sorted tiles, bit casts between integers and floats.
import torch
import triton
import triton.language as tl


@triton.jit
def dots(X, O, VALUE: tl.constexpr, START: tl.constexpr, dtype: tl.constexpr):
    i = tl.arange(0, 32)
    j = tl.arange(0, 32)
    b = ((tl.load(X + i[:, None] + j[None, :] * 32) & 7) - 3).to(dtype)
    a = tl.full([32, 32], VALUE, dtype)
    acc = tl.full([32, 32], START, tl.int32 if dtype == tl.int8 else tl.float32)
    tl.store(O + i[:, None] * 32 + i[None, :], tl.dot(a, tl.trans(b), acc, out_dtype=acc.dtype))
    tl.store(O + 1024 + i[:, None] * 32 + i[None, :], tl.dot(tl.trans(b), a, acc, out_dtype=acc.dtype))


@triton.jit
def sorts(O, VALUE: tl.constexpr, N: tl.constexpr, dtype: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.full([N], VALUE, dtype)
    tl.store(O + i, tl.sort(x))
    tl.store(O + N + i, tl.sort(tl.where(i < N // 2, x, x - 1)))
    tl.store(O + 2 * N + i, tl.flip(x + i.to(dtype), 0))


@triton.jit
def bits(O, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.full([N], -1.5, tl.float32)
    y = tl.sum(tl.reshape(x.to(tl.int32, bitcast=True), [N // 2, 2]), axis=1)
    tl.store(O + tl.arange(0, N // 2), y)
    tl.store(O + N + i, tl.full([N], -2.0, tl.float16).to(tl.int16, bitcast=True).to(tl.int32))


for dtype, out in [(tl.float16, torch.float32), (tl.float32, torch.float32), (tl.int8, torch.int32)]:
    for start in [0, 5]:
        for warps in [1, 4]:
            X = (torch.arange(1024, device='cuda') * 5 % 31).to(torch.int32)
            O = torch.zeros((2, 32, 32), device='cuda', dtype=out)
            dots[(1,)](X, O, 2, start, dtype, num_warps=warps)
            b = (X.reshape(32, 32) & 7) - 3
            a = torch.full((32, 32), 2, device='cuda', dtype=torch.int32)
            for k, wanted in enumerate([a.to(torch.float32) @ b.to(torch.float32), b.to(torch.float32) @ a.to(torch.float32)]):
                assert torch.equal(O[k].to(torch.float32), wanted + start), (dtype, start, warps, k)
for dtype, torch_dtype in [(tl.float32, torch.float32), (tl.int32, torch.int32), (tl.float16, torch.float16), (tl.int64, torch.int64)]:
    for N, warps in [(2, 1), (32, 4), (64, 2)]:
        O = torch.zeros(3 * N, device='cuda', dtype=torch_dtype)
        sorts[(1,)](O, 7, N, dtype, num_warps=warps)
        wanted = [7] * N + [6] * (N // 2) + [7] * (N // 2) + [7 + N - 1 - i for i in range(N)]
        assert O.to(torch.float32).tolist() == wanted, (dtype, N, warps)
O = torch.zeros(64, device='cuda', dtype=torch.int32)
bits[(1,)](O, 32)
assert O.tolist() == [2 * -0x40400000 + 2**32] * 16 + [0] * 16 + [-0x4000] * 32
