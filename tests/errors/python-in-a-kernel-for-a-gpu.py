# Plain functions, f-strings of tiles and breakpoints work only on the interpreter; on other devices they are errors.
# run: run --device emulator python-in-a-kernel-for-a-gpu.py
import torch
import triton
import triton.language as tl


def show(x):
    print(x)


@triton.jit
def k(x_ptr):
    x = tl.load(x_ptr)
    show(x)
    tl.static_print(f'{x}')
    breakpoint()


k[(1,)](torch.zeros(1))

# expect: exit 2
# python-in-a-kernel-for-a-gpu.py:15:5: error: 'show' is a plain Python function, which a kernel can call on the interpreter only: decorate it with @triton.jit, or use --device interpreter [plain-function]
#    15 |     show(x)
#       |     ^~~~~~~
# python-in-a-kernel-for-a-gpu.py:8:1: note: 'show' is defined here
# python-in-a-kernel-for-a-gpu.py:16:23: error: an f-string in a kernel can show constants only, except on the interpreter: use --device interpreter [fstring-tensor]
#    16 |     tl.static_print(f'{x}')
#       |                       ^~~
# python-in-a-kernel-for-a-gpu.py:17:5: error: breakpoint() stops kernels on the interpreter only: use --device interpreter [breakpoint-kernel]
#    17 |     breakpoint()
#       |     ^~~~~~~~~~~~
# python-in-a-kernel-for-a-gpu.py:20:1: note: launched here, with x_ptr=*fp32:16
