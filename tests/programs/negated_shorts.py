# runs: interpreter emulator cuda triton-interpret (not triton: its PTX contains neg.s16)
# Negating -32768 in 16 bits gives -32768, also if a comparison, a minimum or a product uses the
# result directly. The result is wrong if the PTX contains neg.s16: ptxas 13.0 then compares 32768.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, Y, Less, Least, Absolute, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(X + i)
    y = tl.load(Y + i)
    zero = tl.full([N], 0, tl.int16)
    tl.store(Less + i, tl.where(-x < y, 1, 0) + tl.where(zero - x < y, 2, 0) + tl.where(tl.abs(x) < y, 4, 0))
    tl.store(Least + i, tl.minimum(-x, y))
    tl.store(Absolute + i, tl.maximum(tl.abs(x), y))


values = [-32768, -32767, -1, 0, 1, 2, 32766, 32767]
x = torch.tensor([a for a in values for _ in values], dtype=torch.int16, device="cuda")
y = torch.tensor(values * len(values), dtype=torch.int16, device="cuda")
less, least, absolute = torch.empty_like(x), torch.empty_like(x), torch.empty_like(x)
kernel[(1,)](x, y, less, least, absolute, N=64)


def wrap(a):
    return (a + 32768) % 65536 - 32768


for a, b, c, d, e in zip(x.tolist(), y.tolist(), less.tolist(), least.tolist(), absolute.tolist()):
    minus, size = wrap(-a), wrap(abs(a))
    assert c == (3 if minus < b else 0) + (4 if size < b else 0), (a, b, c)
    assert d == min(minus, b), (a, b, d)
    assert e == max(size, b), (a, b, e)
