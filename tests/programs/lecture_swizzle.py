# runs: interpreter emulator cuda triton triton-interpret
# Tests the lecture's swizzled order of 5 x 4 programs in groups of 3, with the lecture's tables.
import torch
import triton
import triton.language as tl


@triton.jit
def get_1d_offset(size, n_prev_chunks):
    """
    Calculate 1D memory offsets for a given chunk size and position.

    Args:
        size: Size of the current chunk
        n_prev_chunks: Number of previous chunks (used for position)

    Returns:
        Array of offsets for the current chunk
    """
    return n_prev_chunks * size + tl.arange(0, size)

@triton.jit
def get_2d_offset(offs_0, offs_1, stride_0, stride_1=1):
    """
    Calculate 2D memory offsets for matrix operations.

    Args:
        offs_0, offs_1: Offsets in first and second dimensions
        stride_0, stride_1: Stride values for memory layout

    Returns:
        2D array of memory offsets
    """
    return tl.expand_dims(offs_0, 1)*stride_0 + tl.expand_dims(offs_1, 0)*stride_1

@triton.jit
def get_1d_mask(offs, max):
    """
    Create a mask for boundary checking in 1D.

    Args:
        offs: Current offsets
        max: Maximum valid offset

    Returns:
        Boolean mask indicating valid positions
    """
    return offs < max

@triton.jit
def get_2d_mask(offs_0, offs_1, max_0, max_1):
    """
    Create a mask for boundary checking in 2D.

    Args:
        offs_0, offs_1: Current offsets in both dimensions
        max_0, max_1: Maximum valid offsets

    Returns:
        Boolean mask indicating valid positions in 2D
    """


def process_item(id):
    print(f"I'm processing item {id}")

# Demonstrate normal sequential processing
print("Sequential processing:")
for i in range(5):
    process_item(i)

def change_id(old_id):
    return 5-old_id

# Demonstrate reordered processing
print("\nReordered processing:")
for i in range(5):
    process_item(change_id(i))

@triton.jit
def swizzle_k(x_ptr, z_ptr, group_sz: tl.constexpr):
    """
    Demonstrates memory access pattern optimization using swizzling.
    Swizzling reorders thread blocks to improve memory locality and cache utilization.

    Args:
        x_ptr: Input tensor pointer
        z_ptr: Output tensor pointer
        group_sz: Size of thread block groups for swizzling
    """
    # Get current thread block coordinates and grid dimensions
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    num_pid_m, num_pid_n = tl.num_programs(0), tl.num_programs(1)

    # Apply 2D swizzling to reorder thread blocks
    pid_m_, pid_n_ = tl.swizzle2d(pid_m, pid_n, num_pid_m, num_pid_n, group_sz)

    # Calculate memory offsets for original ordering
    offs_m = get_1d_offset(1, n_prev_chunks=pid_m)
    offs_n = get_1d_offset(1, n_prev_chunks=pid_n)
    offs = get_2d_offset(offs_m, offs_n, stride_0=num_pid_n)
    mask = get_2d_mask(offs_m, offs_n, max_0=num_pid_m, max_1=num_pid_n)

    # Calculate memory offsets for swizzled ordering
    offs_sw_m = get_1d_offset(1, n_prev_chunks=pid_m_)
    offs_sw_n = get_1d_offset(1, n_prev_chunks=pid_n_)
    offs_sw = get_2d_offset(offs_sw_m, offs_sw_n, stride_0=num_pid_n)
    mask_sw = get_2d_mask(offs_sw_m, offs_sw_n, max_0=num_pid_m, max_1=num_pid_n)

    # Load from original pattern and store in swizzled pattern
    x = tl.load(x_ptr + offs, mask=mask)
    tl.store(z_ptr + offs_sw, x, mask=mask_sw)


# Demonstrate swizzling effect
blocks_m, blocks_n = 5, 4
x = torch.arange(blocks_m*blocks_n, device='cuda').view(blocks_m, blocks_n)
print("\nOriginal matrix:")
print(x)

z = -torch.ones_like(x)  # Initialize output matrix with -1
print("\nEmpty output matrix:")
print(z)

# Apply swizzling
swizzle_k[(blocks_m,blocks_n)](x, z, group_sz=3)
print("\nSwizzled matrix:")
print(z)
assert z.tolist() == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11], [12, 14, 16, 18], [13, 15, 17, 19]]

# expect:
# Sequential processing:
# I'm processing item 0
# I'm processing item 1
# I'm processing item 2
# I'm processing item 3
# I'm processing item 4
#
# Reordered processing:
# I'm processing item 5
# I'm processing item 4
# I'm processing item 3
# I'm processing item 2
# I'm processing item 1
#
# Original matrix:
# tensor([[ 0,  1,  2,  3],
#         [ 4,  5,  6,  7],
#         [ 8,  9, 10, 11],
#         [12, 13, 14, 15],
#         [16, 17, 18, 19]], device='cuda:0')
#
# Empty output matrix:
# tensor([[-1, -1, -1, -1],
#         [-1, -1, -1, -1],
#         [-1, -1, -1, -1],
#         [-1, -1, -1, -1],
#         [-1, -1, -1, -1]], device='cuda:0')
#
# Swizzled matrix:
# tensor([[ 0,  3,  6,  9],
#         [ 1,  4,  7, 10],
#         [ 2,  5,  8, 11],
#         [12, 14, 16, 18],
#         [13, 15, 17, 19]], device='cuda:0')
