# runs: interpreter emulator cuda triton-interpret (not triton: its constexprs have no string methods)
# Tests string methods on constants in kernels: methods implemented in C and methods of library.py.
import torch
import triton
import triton.language as tl


@triton.jit
def fill(x, MODE: tl.constexpr, B: tl.constexpr):
    o = tl.arange(0, B)
    if MODE.upper().removeprefix("M_") == "TWO":
        tl.store(x + o, 2.0)
    elif MODE.partition("_")[0] == "q":
        tl.store(x + o, 3.0)


x = torch.zeros(16, device='cuda')
for mode in ["m_two", "q_two", "none"]:
    fill[(1,)](x, mode, 16)
    print(mode.ljust(8, '.'), x.sum().item())

# expect:
# m_two... 32.0
# q_two... 48.0
# none.... 48.0
