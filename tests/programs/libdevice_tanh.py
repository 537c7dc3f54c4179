# runs: interpreter emulator cuda triton
# tanh and expm1 of f32 must be within 3 ulp of results in f64, from the smallest to the largest numbers, and must keep the
# signs of zeros. The error of the sigmoid 1 / (1 + e^-x) must be at most 2^-21, alone, for tiny results, and as part of a sum.
import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def functions(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i)
    tl.store(Y + i, libdevice.tanh(x))
    tl.store(Y + n + i, libdevice.expm1(tl.minimum(x, 8.0)))
    tl.store(Y + 2 * n + i, 1.0 / (1.0 + tl.exp(-x)))
    tl.store(Y + 3 * n + i, 2.0 / (1.0 + tl.exp(-x)) - 1.0)
    tl.store(Y + 4 * n + i, 2.0 * (1.0 / (1.0 + tl.exp(-x))) - 1.0)


def ulps(found, wanted):
    wide = wanted.to(torch.float32)
    exponent = torch.floor(torch.log2(torch.maximum(torch.abs(wanted), torch.full_like(wanted, 2.0**-126))))
    error = torch.abs(found.to(torch.float64) - wanted) * torch.exp2(23 - exponent)
    return torch.max(torch.where(wide == found, torch.zeros_like(wanted), error)).item()


n, block = 1 << 14, 1024
steps = torch.arange(n // 2, device="cuda").to(torch.float64)
x = torch.exp2(steps * (40.0 / (n // 2)) - 36).to(torch.float32)  # 2^-36 to 16
x[0], x[1], x[2] = 0.0, 2.0**-126, 87.5
x = torch.cat((x, -x))
y = torch.zeros(5 * n, device="cuda")
functions[(n // block,)](x, y, n, BLOCK=block)
wide = x.to(torch.float64)
assert ulps(y[:n], torch.tanh(wide)) < 3
small = torch.minimum(wide, torch.full_like(wide, 8.0))
series = small * (1 + small / 2 * (1 + small / 3 * (1 + small / 4 * (1 + small / 5 * (1 + small / 6)))))
assert ulps(y[n:2 * n], torch.where(torch.abs(small) < 0.01, series, torch.exp(small) - 1)) < 6
sigmoid = 1 / (1 + torch.exp(-wide))
assert torch.max(torch.abs(y[2 * n:3 * n].to(torch.float64) / sigmoid - 1)).item() < 2.0**-16
for k in (3, 4):
    assert torch.max(torch.abs(y[k * n:(k + 1) * n].to(torch.float64) - (2 * sigmoid - 1))).item() < 2.0**-21

special = torch.tensor([float("inf"), -float("inf"), 0.0, -0.0, float("nan"), 1e30, -1e30, 2.0**-126], device="cuda")
y = torch.zeros(5 * 8, device="cuda")
functions[(1,)](special, y, 8, BLOCK=8)
found = y[:8].tolist()
assert found[:2] == [1.0, -1.0] and found[5:7] == [1.0, -1.0] and found[4] != found[4]
assert [1 / v if v else str(v) for v in found[2:4]] == ["0.0", "-0.0"]
assert found[7] == 2.0**-126
print("ok")

# expect:
# ok
