# The interpreter cannot run PTX: a launch that reaches inline assembly ends with an error.
import torch
import triton
import triton.language as tl


@triton.jit
def k(x):
    i = tl.arange(0, 32)
    v = tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
    tl.store(x + i, v)


k[(1,)](torch.zeros(32, dtype=torch.int32, device="cuda"))

# expect: exit 1
# inline-assembly-interpreted.py:10:9: error: inline assembly cannot run in program (0, 0, 0): the interpreter has no PTX: use --device emulator or a GPU [asm-interpreter]
#    10 |     v = tl.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,r", [i], dtype=tl.int32, is_pure=True, pack=1)
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# inline-assembly-interpreted.py:14:1: note: launched here, which raises RuntimeError
