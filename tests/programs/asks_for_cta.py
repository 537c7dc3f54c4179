# runs: emulator cuda triton
# If inline assembly reads the number of the CTA or of the thread, a CTA must run only one program.
import torch
import triton
import triton.language as tl


@triton.jit
def parts(X, Y, n, COLUMNS: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    cta = tl.inline_asm_elementwise("mov.u32 $0, %ctaid.x;", "=r,r", [row], dtype=tl.int32, is_pure=True, pack=1)
    c = part * COLUMNS + tl.arange(0, COLUMNS)
    tl.store(Y + row * n + c, tl.load(X + row * n + c) + cta)


@triton.jit
def threads(X, Y):
    c = tl.arange(0, 32)
    x = tl.load(X + tl.program_id(0) * 32 + c)
    tid = tl.inline_asm_elementwise("mov.u32 $0, %tid.x;", "=r,r", [x], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(Y + tl.program_id(0) * 32 + c, x + tid)


x = torch.zeros(8, 1024, dtype=torch.int32, device='cuda')
y = torch.empty_like(x)
parts[(8, 4)](x, y, 1024, 256)
assert (y == torch.arange(8, dtype=torch.int32, device='cuda')[:, None]).all()
x = torch.zeros(5000, 32, dtype=torch.int32, device='cuda')
y = torch.empty_like(x)
threads[(5000,)](x, y, num_warps=1)
assert (y == torch.arange(32, dtype=torch.int32, device='cuda')).all()
print('right')
