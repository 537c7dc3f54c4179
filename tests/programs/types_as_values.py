# runs: interpreter emulator cuda triton (not triton-interpret: its constants have other classes)
# Tests queries about types in kernels: isinstance of pointers, blocks, tensors and constants decides which store
# is compiled; the type of a constant is its value; a rounding mode for a cast to the same type has no effect.
import torch
import triton
import triton.language as tl


@triton.jit
def which(X, n, x, N: tl.constexpr, D: tl.constexpr):
    if isinstance(X.dtype, tl.pointer_type):
        tl.store(X, 42)
    if isinstance(x.type, tl.block_type) and isinstance(x.type, tl.dtype) and not isinstance(x.dtype, tl.block_type):
        tl.store(X + 1, 43)
    if isinstance(x, tl.tensor) and isinstance(X, tl.tensor) and isinstance(n, tl.tensor) and not isinstance(N, tl.tensor):
        tl.store(X + 2, 44)
    if isinstance(N, int) and not isinstance(N, float) and isinstance(D, tl.dtype) and not isinstance(D, tl.pointer_type):
        tl.store(X + 3, 45)
    if isinstance((X, n), tl.tuple) and not isinstance((X, n), tl.tensor):
        tl.store(X + 4, 46)
    if N.type == tl.constexpr_type(16) and N.type != tl.constexpr_type(8) and isinstance(N.type, tl.constexpr_type):
        tl.store(X + 5, 47)


@triton.jit
def ask(X, n, N: tl.constexpr, D: tl.constexpr):
    which(X, n, tl.arange(0, N), N, D)


@triton.jit
def copy(X, Y, strides, N: tl.constexpr):
    i = tl.arange(0, N)
    if isinstance(strides[1].type, tl.constexpr_type):
        tl.store(Y + i, tl.load(X + i).to(Y.dtype.element_ty, fp_downcast_rounding="rtne"))


x = torch.zeros(6, dtype=torch.int32, device='cuda')
ask[(1,)](x, 7, 16, tl.float32)
assert x.tolist() == [42, 43, 44, 45, 46, 47], x.tolist()

x = torch.randn(32, device='cuda')
for dtype in (torch.float32, torch.float16):
    y = torch.zeros(32, device='cuda', dtype=dtype)
    copy[(1,)](x, y, (7, 1), 32)
    assert torch.equal(y, x.to(dtype))
print("ok")

# expect:
# ok
