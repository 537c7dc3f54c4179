# runs: interpreter emulator cuda triton-interpret (not triton: its passes fail on block pointers that branches choose)
# Loops and branches can merge block pointers of one type, even if the sizes, strides and offsets are
# constants in one and 32-bit or 64-bit arguments in the other. `p.type.element_ty` is the pointee type.
import torch
import triton
import triton.language as tl


@triton.jit
def loop(X, Y, s, n, N: tl.constexpr):
    p = tl.make_block_ptr(X, (N, N), (N, 1), (0, 0), (N, N), (1, 0))
    x = tl.load(p)
    for i in range(n):
        p = tl.make_block_ptr(Y + i, (N, N), (s, 1), (0, 0), (N, N), (1, 0))
        tl.store(p, x)


@triton.jit
def branch(X, Y, s, wide, which, N: tl.constexpr):
    p = tl.make_block_ptr(X, (N, N), (1, s), (0, 0), (N, N), (0, 1))
    if which > 0:
        p = tl.make_block_ptr(X, (wide, wide), (N, 1), (0, 0), (N, N), (0, 1))
    x = tl.load(p, boundary_check=(0, 1))
    q = tl.make_block_ptr(Y, (N, N), (N, 1), (0, 0), (N, N), (1, 0))
    while which > 0:
        q = tl.make_block_ptr(Y, (N, wide), (s, 1), (0, 0), (N, N), (1, 0))
        which -= 1
    tl.store(q, x.to(q.type.element_ty), boundary_check=(0, 1))


N = 32
x = torch.randn((N, N), device='cuda')
y = torch.zeros((N, 2 * N), device='cuda')
loop[(1,)](x, y, 2 * N, 3, N)
want = torch.zeros((N, 2 * N), device='cuda')
for i in range(3):
    want[:, i:N + i] = x
assert torch.equal(y, want)

for which in (0, 1, 2):
    y = torch.zeros((N, N), device='cuda', dtype=torch.float16)
    branch[(1,)](x, y, N, N, which, N)
    assert torch.equal(y, (x if which else x.t()).to(torch.float16)), which
    branch[(1,)](x, y, N, 2**33 + 16, which, N)
    assert torch.equal(y, (x if which else x.t()).to(torch.float16)), which
print("ok")

# expect:
# ok
