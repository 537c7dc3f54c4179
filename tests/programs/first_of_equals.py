# runs: interpreter emulator cuda triton
# argmax and argmin must return the index of the first of equal elements, in every layout.
import torch
import triton
import triton.language as tl


@triton.jit
def of_rows(X, Y, Z, R: tl.constexpr, C: tl.constexpr, AXIS: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.arange(0, C)
    x = tl.load(X + r[:, None] * C + c[None, :])
    o = tl.arange(0, C if AXIS == 0 else R)
    tl.store(Y + o, tl.argmax(x, axis=AXIS))
    tl.store(Z + o, tl.argmin(x, axis=AXIS))


@triton.jit
def of_row(X, Y, Z, n, C: tl.constexpr):
    c = tl.arange(0, C)
    x = tl.load(X + c, mask=c < n, other=0)
    tl.store(Y, tl.argmax(x, axis=0))
    tl.store(Z, tl.argmin(x, axis=0))


device = 'cuda' if torch.cuda.is_available() else 'cpu'
torch.manual_seed(0)
for dtype in (torch.float32, torch.int32, torch.float16):
    for R, C in ((4, 64), (32, 16), (2, 512)):
        x = torch.randint(0, 3, (R, C), device=device).to(dtype)
        for axis in (0, 1):
            y = torch.empty(C if axis == 0 else R, device=device, dtype=torch.int32)
            z = torch.empty_like(y)
            of_rows[(1,)](x, y, z, R, C, axis)
            for got, extreme in ((y, x.amax(axis, keepdim=True)), (z, x.amin(axis, keepdim=True))):
                first = (x == extreme).to(torch.int32).argmax(axis).to(torch.int32)
                assert (got == first).all(), (dtype, R, C, axis)
    for n, C, warps in ((1000, 1024, 1), (4096, 4096, 8), (30, 32, 1)):
        x = torch.randint(0, 5, (n,), device=device).to(dtype) + 1
        y = torch.empty(1, device=device, dtype=torch.int32)
        z = torch.empty_like(y)
        of_row[(1,)](x, y, z, n, C, num_warps=warps)
        first = (x == x.amax()).to(torch.int32).argmax().item()
        least = n if n < C else (x == x.amin()).to(torch.int32).argmax().item()
        assert y.item() == first and z.item() == least, (dtype, n, y.item(), first, z.item(), least)
print("the first of equals")
