# Errors about tensor descriptors show the location of the wrong argument.
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(X, n, B: tl.constexpr):
    d = tl.make_tensor_descriptor(X, [n, n], [1, n], [B, B])
    d = tl.make_tensor_descriptor(X, [n, n, n], [n, 1], [B, B])
    d = tl.make_tensor_descriptor(X, [n, n], [n, 1], [B, 3])
    d = tl.make_tensor_descriptor(X, [n, n], [n, 1], [B, B], padding_option="one")
    d = tl.make_tensor_descriptor(X, [n, n], [n, 1], [B, B])
    d.load([0])
    d.load([0, tl.cast(n, tl.int64)])
    d.load([0, X])
    d.store([0, 0], tl.zeros((B, 1), tl.float32))
    d.gather(tl.arange(0, B), 0)
    d.atomic_and([0, 0], tl.zeros((B, B), tl.float32))
    tl.load(d)
    tl.load_tensor_descriptor(X, [0, 0])
    d.fetch([0, 0])
    d.shape = (n, n)
    d = tl.make_tensor_descriptor(X, [], [], [])


kernel[(1,)](torch.zeros(64, device='cuda'), 8, 8)

# expect: exit 2
# tensor-descriptors.py:9:46: error: the last stride of a tensor descriptor must be the constant 1, found int32 [descriptor-stride]
#     9 |     d = tl.make_tensor_descriptor(X, [n, n], [1, n], [B, B])
#       |                                              ^~~~~~
# tensor-descriptors.py:10:38: error: expected 2 sizes in shape, but got 3 [box-items]
#    10 |     d = tl.make_tensor_descriptor(X, [n, n, n], [n, 1], [B, B])
#       |                                      ^~~~~~~~~
# tensor-descriptors.py:11:54: error: dimension 1 of a shape must be a power of 2, found 3 [shape-power]
#    11 |     d = tl.make_tensor_descriptor(X, [n, n], [n, 1], [B, 3])
#       |                                                      ^~~~~~
# tensor-descriptors.py:12:77: error: unknown padding option 'one': expected 'zero' or 'nan' [padding-word]
#    12 |     d = tl.make_tensor_descriptor(X, [n, n], [n, 1], [B, B], padding_option="one")
#       |                                                                             ^~~~~
# tensor-descriptors.py:14:12: error: expected 2 offsets, but got 1 [box-items]
#    14 |     d.load([0])
#       |            ^~~
# tensor-descriptors.py:15:12: error: the offsets of a tensor descriptor have 32 bits, found an int64: write `.to(tl.int32)` [descriptor-offset]
#    15 |     d.load([0, tl.cast(n, tl.int64)])
#       |            ^~~~~~~~~~~~~~~~~~~~~~~~~
# tensor-descriptors.py:16:12: error: offsets must be integers, found pointer<fp32> [box-item]
#    16 |     d.load([0, X])
#       |            ^~~~~~
# tensor-descriptors.py:17:21: error: the value has shape [8, 1], the descriptor's block [8, 8] [descriptor-value]
#    17 |     d.store([0, 0], tl.zeros((B, 1), tl.float32))
#       |                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
# tensor-descriptors.py:18:5: error: tensor_descriptor.gather needs a descriptor of blocks of shape [1, n], and a 1-D tensor of row numbers of at most 32 bits [descriptor-rows]
#    18 |     d.gather(tl.arange(0, B), 0)
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
# tensor-descriptors.py:19:5: error: tensor_descriptor.atomic_and does not support fp32 [atomic-type]
#    19 |     d.atomic_and([0, 0], tl.zeros((B, B), tl.float32))
#       |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
# tensor-descriptors.py:20:13: error: tl.load needs a pointer or a block of pointers, found tensor_descriptor(pointer<fp32>, tuple(int32, int32), tuple(int32, 1), tuple(8, 8), 0) [not-pointer]
#    20 |     tl.load(d)
#       |             ^
# hint: pass the tensor itself to the kernel, and add offsets to it
# tensor-descriptors.py:21:31: error: tl.load_tensor_descriptor needs a tensor descriptor, found pointer<fp32> [box-kind]
#    21 |     tl.load_tensor_descriptor(X, [0, 0])
#       |                               ^
# tensor-descriptors.py:22:7: error: 'tensor_descriptor' object has no attribute 'fetch' [attribute]
#    22 |     d.fetch([0, 0])
#       |       ^~~~~
# tensor-descriptors.py:23:5: error: assigning to the attribute 'shape' is not supported in a kernel [assign-attribute]
#    23 |     d.shape = (n, n)
#       |     ^~~~~~~
# tensor-descriptors.py:24:46: error: a block needs at least one dimension [box-rank]
#    24 |     d = tl.make_tensor_descriptor(X, [], [], [])
#       |                                              ^~
# tensor-descriptors.py:27:1: note: launched here, with X=*fp32:16, n=i32, B=8
