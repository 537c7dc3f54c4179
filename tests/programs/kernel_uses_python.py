# runs: interpreter (only the interpreter runs plain Python in a kernel)
# If a kernel uses the result of a plain function, the function becomes part of the kernel if the language supports its code; else Python runs it.
import torch, triton
import triton.language as tl
from triton_util import cdiv, test_pid_conds
def scale(x, by=2.0):
    print('scaling', x)
    return x * by, x.dtype
def pick(x, n):
    if n > 2:
        return x + 1
    return x - 1
def bad(x):
    return x[0] + len([1 for i in range(3) if i])
def fact(n):
    return 1 if n <= 1 else n * fact(n - 1)
@triton.jit
def k(x_ptr, n, BS: tl.constexpr):
    pid = tl.program_id(0)
    blocks = cdiv(n, BS)
    offs = pid * BS + tl.arange(0, cdiv(BS, 1))
    x = tl.load(x_ptr + offs, offs < n)
    y, d = scale(x, by=blocks)
    print('y', y, pick(y, pid), fact(4))
    z = 0
    if test_pid_conds('=1', [pid]):
        z = int(bad(offs))
    tl.store(x_ptr + offs, y + z, offs < n)
x = torch.arange(6).float()
k[(2,)](x, 6, 4)
print(x)
