# Errors about block pointers show the location of the wrong argument.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, I, n, B: tl.constexpr):
    p = tl.make_block_ptr(X, (n, n), (n, 1), (0,), (B, B), (1, 0))
    p = tl.make_block_ptr(X, (n, n), (n, 1.5), (0, 0), (B, B), (1, 0))
    p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, B), (1, 1))
    p = tl.make_block_ptr(X + tl.arange(0, B), (n,), (1,), (0,), (B,), (0,))
    p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, n), (1, 0))
    p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, B), (1, 0))
    tl.load(p, mask=n > 3)
    tl.load(p, boundary_check=(0, 2))
    tl.load(p, boundary_check=(1, 1))
    tl.load(p, boundary_check=(0,), padding_option="one")
    tl.load(tl.make_block_ptr(I, (n,), (1,), (0,), (B,), (0,)), boundary_check=(0,), padding_option="nan")
    tl.store(p, tl.zeros((B, B // 2), tl.float32))
    q = tl.advance(p, (0, 0, 0))
    tl.advance(X, (0, 0))
    x = tl.load(X, boundary_check=(0,))
    x = p + 1
    for i in range(n):
        p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, 2 * B), (1, 0))


kernel[(1,)](torch.zeros(64, device='cuda'), torch.zeros(64, device='cuda', dtype=torch.int32), 8, 8)

# expect: exit 2
# block-pointers.py:9:46: error: expected 2 offsets, but got 1 [box-items]
#     9 |     p = tl.make_block_ptr(X, (n, n), (n, 1), (0,), (B, B), (1, 0))
#       |                                              ^~~~
# block-pointers.py:10:38: error: strides must be integers, found 1.5 [box-item]
#    10 |     p = tl.make_block_ptr(X, (n, n), (n, 1.5), (0, 0), (B, B), (1, 0))
#       |                                      ^~~~~~~~
# block-pointers.py:11:62: error: order must name the dimensions 0 to 1, each once [box-order]
#    11 |     p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, B), (1, 1))
#       |                                                              ^~~~~~
# block-pointers.py:12:27: error: the base of tl.make_block_ptr must be a scalar pointer, found <[8], pointer<fp32>> [box-base]
#    12 |     p = tl.make_block_ptr(X + tl.arange(0, B), (n,), (1,), (0,), (B,), (0,))
#       |                           ^~~~~~~~~~~~~~~~~~~
# block-pointers.py:13:54: error: dimension 1 of a shape must be a constant int, found int32 [shape-item]
#    13 |     p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, n), (1, 0))
#       |                                                      ^~~~~~
# hint: a constant is a tl.constexpr parameter, or computed from constants alone
# block-pointers.py:15:21: error: a block pointer takes no 'mask': boundary_check and padding_option handle elements outside the array [block-pointer-mask]
#    15 |     tl.load(p, mask=n > 3)
#       |                     ^~~~~
# block-pointers.py:16:31: error: boundary_check names dimension 2: each of 0 to 1 can be named once [boundary-dim]
#    16 |     tl.load(p, boundary_check=(0, 2))
#       |                               ^~~~~~
# block-pointers.py:17:31: error: boundary_check names dimension 1: each of 0 to 1 can be named once [boundary-dim]
#    17 |     tl.load(p, boundary_check=(1, 1))
#       |                               ^~~~~~
# block-pointers.py:18:52: error: unknown padding option 'one': expected 'zero' or 'nan' [padding-word]
#    18 |     tl.load(p, boundary_check=(0,), padding_option="one")
#       |                                                    ^~~~~
# block-pointers.py:19:101: error: only floating-point elements can be padded by 'nan', found int32 [padding-type]
#    19 |     tl.load(tl.make_block_ptr(I, (n,), (1,), (0,), (B,), (0,)), boundary_check=(0,), padding_option="nan")
#       |                                                                                                     ^~~~~
# block-pointers.py:20:17: error: the value has shape [8, 4], which does not broadcast to the pointer's shape [8, 8] [pointer-shape]
#    20 |     tl.store(p, tl.zeros((B, B // 2), tl.float32))
#       |                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# block-pointers.py:21:23: error: expected 2 offsets, but got 3 [box-items]
#    21 |     q = tl.advance(p, (0, 0, 0))
#       |                       ^~~~~~~~~
# block-pointers.py:22:16: error: tl.advance needs a block pointer, found pointer<fp32> [box-kind]
#    22 |     tl.advance(X, (0, 0))
#       |                ^
# block-pointers.py:23:35: error: 'boundary_check' is only for block pointers [block-pointer-option]
#    23 |     x = tl.load(X, boundary_check=(0,))
#       |                                   ^~~~
# block-pointers.py:24:11: error: can only concatenate block_pointer (not "int") to block_pointer [concatenate]
#    24 |     x = p + 1
#       |           ^
# block-pointers.py:26:9: error: 'p' has type block_pointer(pointer<fp32>, tuple(int32, int32), tuple(int32, 1), tuple(8, 8), tuple(int32, int32)) before the loop, but the body makes it block_pointer(pointer<fp32>, tuple(int32, int32), tuple(int32, 1), tuple(8, 16), tuple(int32, int32)): a loop variable keeps its type [loop-type]
#    26 |         p = tl.make_block_ptr(X, (n, n), (n, 1), (0, 0), (B, 2 * B), (1, 0))
#       |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# hint: give it the final type before the loop, or cast in the body with `.to(...)`
# block-pointers.py:29:1: note: launched here, with X=*fp32:16, I=*i32:16, n=i32, B=8
