# After a loop in a kernel that binds a name, this name does not refer to the file's variable with the same name.
# run: run --device emulator name-of-a-loop-and-of-the-file.py
import torch
import triton
import triton.language as tl


@triton.jit
def first(X, Y, n):
    for i in range(n):
        x = tl.load(X + i * 32 + tl.arange(0, 32))
    tl.store(Y, x[0])


x = torch.ones(64)
first[(1,)](x, torch.ones(1), 2)

# expect: exit 2
# name-of-a-loop-and-of-the-file.py:12:17: error: name 'x' is not defined [name]
#    12 |     tl.store(Y, x[0])
#       |                 ^
# name-of-a-loop-and-of-the-file.py:10:5: note: 'x' is first assigned in the body of this loop, so it does not exist after it
# name-of-a-loop-and-of-the-file.py:16:1: note: launched here, with X=*fp32:16, Y=*fp32:16, n=i32
