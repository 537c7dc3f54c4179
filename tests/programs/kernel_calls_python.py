# runs: interpreter (only the interpreter runs plain Python in a kernel)
# A kernel calls plain functions of the program and of Python. The kernel tests, converts, prints and keeps their results.
import os
os.environ['TRITON_INTERPRET'] = '1'
import torch, triton
import triton.language as tl
from triton_util import print_if, breakpoint_if, test_pid_conds
log = []
def note(x, k=3):
    log.append(int(x[0]) + k)
    return x[0] > 2

@triton.jit
def copy_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * n + tl.arange(0, bs)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask)
    tl.store(z_ptr + offs, x, mask)
    print_if(f'pid = {pid} | offs = {offs}, mask = {mask}, x = {x}', '')
    print_if(f'only {pid}', '>0', [pid])
    print('plain', pid, offs, f"{bs:>4} {x * 0.5}")
    if test_pid_conds('=1', [pid]):
        print("one")
    r = note(offs)
    if r:
        print('r', r)
    for i in range(0, 2):
        print(i, int(r) + i)
x = torch.tensor([1,2,3,4,5,6])
z = torch.zeros_like(x)
copy_k[(3,)](x, z, 6, 2)
print(z, log)
