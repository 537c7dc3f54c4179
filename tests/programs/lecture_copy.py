# runs: interpreter emulator cuda triton triton-interpret
# Tests the lecture's tensor copy: with each of its two bugs, both of which give [1, 2, 0, 0, 0, 0], and
# without them. The kernels are the lecture's, except for prints, which only a simulator can execute.
import os
import torch
import triton
import triton.language as tl


def check_tensors_gpu_ready(*tensors):
    """
    Verify that all input tensors are contiguous and on GPU.

    Args:
        *tensors: Variable number of PyTorch tensors to check

    Raises:
        AssertionError: If any tensor is not contiguous or not on GPU
    """
    for t in tensors:
        assert t.is_contiguous(), "A tensor is not contiguous"
        # Skip GPU check if in simulator mode
        if not os.environ.get('TRITON_INTERPRET') == '1':
            assert t.is_cuda, "A tensor is not on cuda"


def cdiv(n, d):
    """
    Compute ceiling division between two numbers.
    Args:
        n: Numerator
        d: Denominator
    Returns:
        Ceiling division result
    """
    return (n + d - 1) // d


def copy(x, bs, kernel_fn):
    """
    Launch a Triton kernel to copy data from one GPU tensor to another.

    Args:
        x: Input tensor to copy from
        bs: Block size - number of elements processed per GPU thread block
        kernel_fn: Triton kernel function to execute

    Returns:
        z: New tensor containing copied data
    """
    # Create output tensor with same properties as input
    z = torch.zeros_like(x)

    # Verify tensors are GPU-ready
    check_tensors_gpu_ready(x, z)

    # Calculate grid dimensions for GPU execution
    n = x.numel()  # Total number of elements
    n_blocks = cdiv(n, bs)  # Number of thread blocks needed
    grid = (n_blocks,)  # 1D grid configuration

    # Launch kernel on GPU
    kernel_fn[grid](x, z, n, bs)
    return z


@triton.jit
def same_elements_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    pid = tl.program_id(0)  # Get current block ID
    offs = tl.arange(0, bs)  # Creates offsets [0, 1, ..., bs-1]
    mask = offs < n  # Prevent out-of-bounds access
    x = tl.load(x_ptr + offs, mask)  # Load input values
    tl.store(z_ptr + offs, x, mask)  # Store to output


@triton.jit
def wrong_stride_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * n + tl.arange(0, bs)  # Wrong! Stride should use 'bs', not 'n'
    mask = offs < n
    x = tl.load(x_ptr + offs, mask)
    tl.store(z_ptr + offs, x, mask)


@triton.jit
def copy_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    pid = tl.program_id(0)  # Get current block ID
    offs = pid * bs + tl.arange(0, bs)  # Calculate correct offsets for this block
    mask = offs < n  # Prevent out-of-bounds access
    x = tl.load(x_ptr + offs, mask)  # Load input values
    tl.store(z_ptr + offs, x, mask)  # Store to output


x = torch.tensor([1,2,3,4,5,6])
y = torch.tensor([0,1,0,1,0,1])
print((x, y, x+y))

x = x.cuda()
for kernel in [same_elements_k, wrong_stride_k, copy_k]:
    print(copy(x, bs=2, kernel_fn=kernel).cpu())
assert torch.equal(copy(x, bs=4, kernel_fn=copy_k), x)

# expect:
# (tensor([1, 2, 3, 4, 5, 6]), tensor([0, 1, 0, 1, 0, 1]), tensor([1, 3, 3, 5, 5, 7]))
# tensor([1, 2, 0, 0, 0, 0])
# tensor([1, 2, 0, 0, 0, 0])
# tensor([1, 2, 3, 4, 5, 6])
