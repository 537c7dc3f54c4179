# runs: interpreter cuda (not triton: the module triton_util is part of neso)
# Runs the lecture's four benchmarks at small sizes; each prints a table and writes a plot.
# spills: exact f32 in tiles of 128x256 and 64x256 needs more registers than a thread has
from functools import partial

import torch
import triton
import triton.language as tl
from triton_util import check_tensors_gpu_ready


# ===== Helper Functions for Computing Memory Offsets and Masks =====

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
    return (tl.expand_dims(offs_0, 1) < max_0) & (tl.expand_dims(offs_1, 0) < max_1)


@triton.jit
def naive_matmul_k(
    a_ptr, b_ptr, c_ptr,  # Pointers to input/output matrices
    m, n, k,              # Matrix dimensions: A(m×k), B(k×n), C(m×n)
    stride_am, stride_ak, # Memory strides for matrix A
    stride_bk, stride_bn, # Memory strides for matrix B
    stride_cm, stride_cn, # Memory strides for output matrix C
    bm: tl.constexpr,     # Block size for M dimension
    bn: tl.constexpr,     # Block size for N dimension
    bk: tl.constexpr      # Block size for K dimension
):
    """
    Compute matrix multiplication C = A × B using block-wise operations.

    This kernel implements a basic matrix multiplication by:
    1. Breaking the computation into blocks
    2. Loading blocks into shared memory
    3. Computing partial results
    4. Storing the results back to global memory

    Args:
        a_ptr, b_ptr: Input matrix pointers
        c_ptr: Output matrix pointer
        m, n, k: Matrix dimensions
        stride_*: Memory strides for each matrix
        bm, bn, bk: Block sizes for tiled computation
    """
    # Get program ID for the current thread block
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)

    # Calculate offsets for the current block
    rm = get_1d_offset(size=bm, n_prev_chunks=pid_m)  # Offset in M dimension
    rn = get_1d_offset(size=bn, n_prev_chunks=pid_n)  # Offset in N dimension
    rk = get_1d_offset(size=bk, n_prev_chunks=0)      # Initial offset in K dimension

    # Calculate memory offsets for input matrices
    offs_a = a_ptr + get_2d_offset(rm, rk, stride_am, stride_ak)
    offs_b = b_ptr + get_2d_offset(rk, rn, stride_bk, stride_bn)

    # Initialize accumulator for partial results
    # Note: allow_tf32 must be set to False for older GPUs
    acc = tl.zeros((bm, bn), dtype=tl.float32)

    # Main computation loop - iterate over K dimension
    for _ in range(0, k, bk):
        # Load blocks from input matrices
        a = tl.load(offs_a)  # Load block from matrix A
        b = tl.load(offs_b)  # Load block from matrix B

        # Compute partial matrix multiplication for current block
        acc += tl.dot(a, b, allow_tf32=False)

        # Update offsets for next iteration
        offs_a += bk * stride_ak
        offs_b += bk * stride_bk

    # Calculate output memory location and mask for boundary conditions
    c = c_ptr + get_2d_offset(rm, rn, stride_cm, stride_cn)
    mask = get_2d_mask(rm, rn, m, n)

    # Store the result
    tl.store(c, acc, mask=mask)


def matmul(a, b, matmul_k_fn, bs=16, group_sz=None):
    """
    High-level matrix multiplication function that handles kernel launch.

    Args:
        a, b: Input matrices
        matmul_k_fn: Triton kernel function to use
        bs: Block size for tiled computation
        group_sz: Group size for advanced implementations

    Returns:
        Result of matrix multiplication
    """
    # Verify matrix dimensions are compatible
    assert a.shape[1] == b.shape[0], "matrix dims not compatible for matmul"
    check_tensors_gpu_ready(a, b)

    # Get matrix dimensions
    (m, k), (_, n) = a.shape, b.shape

    # Initialize output matrix
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)

    # Calculate grid dimensions for kernel launch
    grid = lambda meta: (triton.cdiv(m, meta['bm']), triton.cdiv(n, meta['bn']))

    # Handle optional group size parameter
    group_sz = {} if group_sz is None else {"group_sz": group_sz}

    # Launch kernel
    matmul_k_fn[grid](
        a, b, c,                     # Input/output matrices
        m, n, k,                     # Matrix dimensions
        a.stride(0), a.stride(1),    # Strides for matrix A
        b.stride(0), b.stride(1),    # Strides for matrix B
        c.stride(0), c.stride(1),    # Strides for output matrix
        bm=bs, bn=bs, bk=bs,         # Block sizes
        **group_sz
    )

    return c


@triton.jit
def grouped_matmul_k(
    a_ptr, b_ptr, c_ptr,
    m, n, k,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr,
    group_sz: tl.constexpr
):
    """
    Matrix multiplication kernel with memory access pattern optimization using swizzling.
    This implementation groups thread blocks to improve cache utilization.

    Args:
        a_ptr, b_ptr: Input matrix pointers
        c_ptr: Output matrix pointer
        m, n, k: Matrix dimensions
        stride_*: Memory strides for each matrix
        bm, bn, bk: Block sizes for tiled computation
        group_sz: Size of thread block groups for swizzling
    """
    # Get thread block coordinates and grid dimensions
    pid_m, pid_n = tl.program_id(0), tl.program_id(1)
    num_pid_m, num_pid_n = tl.num_programs(0), tl.num_programs(1)

    # Apply swizzling to optimize memory access pattern
    pid_m, pid_n = tl.swizzle2d(pid_m, pid_n, num_pid_m, num_pid_n, group_sz)

    # Calculate block offsets
    rm = get_1d_offset(size=bm, n_prev_chunks=pid_m)
    rn = get_1d_offset(size=bn, n_prev_chunks=pid_n)
    rk = get_1d_offset(size=bk, n_prev_chunks=0)

    # Calculate memory offsets for input matrices
    offs_a = a_ptr + get_2d_offset(rm, rk, stride_am, stride_ak)
    offs_b = b_ptr + get_2d_offset(rk, rn, stride_bk, stride_bn)

    # Initialize accumulator
    acc = tl.zeros((bm, bn), dtype=tl.float32)

    # Main computation loop
    for _ in range(0, k, bk):
        a = tl.load(offs_a)
        b = tl.load(offs_b)
        acc += tl.dot(a, b, allow_tf32=False)
        offs_a += bk * stride_ak
        offs_b += bk * stride_bk

    # Store results
    c = c_ptr + get_2d_offset(rm, rn, stride_cm, stride_cn)
    mask = get_2d_mask(rm, rn, m, n)
    tl.store(c, acc, mask=mask)


"""
Matrix Multiplication with Autotuning

This implementation adds automatic performance tuning by testing different configurations
of block sizes, group sizes, and other parameters to find optimal settings for different
matrix sizes.
"""

# ===== Autotuned Matrix Multiplication Kernel =====
@triton.autotune(
    configs=[
        # Different configurations to try, varying block sizes and execution parameters
        triton.Config({'bm': 128, 'bn': 256, 'bk': 64, 'group_sz': 8},
                     num_stages=3, num_warps=8),  # Larger blocks, fewer stages
        triton.Config({'bm': 64, 'bn': 256, 'bk': 32, 'group_sz': 8},
                     num_stages=4, num_warps=4),
        triton.Config({'bm': 128, 'bn': 128, 'bk': 32, 'group_sz': 8},
                     num_stages=4, num_warps=4),
        triton.Config({'bm': 128, 'bn': 64, 'bk': 32, 'group_sz': 8},
                     num_stages=4, num_warps=4),
        triton.Config({'bm': 64, 'bn': 128, 'bk': 32, 'group_sz': 8},
                     num_stages=4, num_warps=4),
        triton.Config({'bm': 128, 'bn': 32, 'bk': 32, 'group_sz': 8},
                     num_stages=4, num_warps=4),
        triton.Config({'bm': 64, 'bn': 32, 'bk': 32, 'group_sz': 8},
                     num_stages=5, num_warps=2),  # Smaller blocks, more stages
        triton.Config({'bm': 32, 'bn': 64, 'bk': 32, 'group_sz': 8},
                     num_stages=5, num_warps=2),
    ],
    # Autotuning is based on input matrix dimensions
    key=['m', 'n', 'k'],
)
@triton.jit
def grouped_autotuned_matmul_k(
    a_ptr, b_ptr, c_ptr,
    m, n, k,
    stride_am, stride_ak,
    stride_bk, stride_bn,
    stride_cm, stride_cn,
    bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr,
    group_sz: tl.constexpr
):
    """
    Autotuned matrix multiplication kernel that tries different configurations
    to find the best performance for given matrix dimensions.

    The configurations vary:
    - Block sizes (bm, bn, bk)
    - Number of pipeline stages
    - Number of warps
    - Group size for memory access optimization
    """
    # Get thread block coordinates and grid dimensions
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    num_pid_m = tl.num_programs(0)
    num_pid_n = tl.num_programs(1)

    # Apply swizzling for memory access optimization
    pid_m, pid_n = tl.swizzle2d(pid_m, pid_n, num_pid_m, num_pid_n, group_sz)

    # Calculate block offsets
    rm = get_1d_offset(size=bm, n_prev_chunks=pid_m)
    rn = get_1d_offset(size=bn, n_prev_chunks=pid_n)
    rk = get_1d_offset(size=bk, n_prev_chunks=0)

    # Calculate memory offsets
    offs_a = a_ptr + get_2d_offset(rm, rk, stride_am, stride_ak)
    offs_b = b_ptr + get_2d_offset(rk, rn, stride_bk, stride_bn)

    # Matrix multiplication computation
    acc = tl.zeros((bm, bn), dtype=tl.float32)
    for _ in range(0, k, bk):
        a = tl.load(offs_a)
        b = tl.load(offs_b)
        acc += tl.dot(a, b, allow_tf32=False)
        offs_a += bk * stride_ak
        offs_b += bk * stride_bk

    # Store results
    c = c_ptr + get_2d_offset(rm, rn, stride_cm, stride_cn)
    mask = get_2d_mask(rm, rn, m, n)
    tl.store(c, acc, mask=mask)


def grouped_autotuned_matmul(a, b):
    """
    High-level wrapper for autotuned matrix multiplication.

    This function handles:
    1. Input validation
    2. Output initialization
    3. Grid computation
    4. Kernel launch with autotuned parameters
    """
    matmul_k_fn = grouped_autotuned_matmul_k

    # Validate inputs
    assert a.shape[1] == b.shape[0], "matrix dims not compatible for matmul"
    check_tensors_gpu_ready(a, b)

    # Get matrix dimensions
    (m, k), (_, n) = a.shape, b.shape

    # Initialize output matrix
    c = torch.empty((m, n), device=a.device, dtype=torch.float16)

    # Compute grid dimensions
    grid = lambda meta: (triton.cdiv(m, meta['bm']), triton.cdiv(n, meta['bn']))

    # Launch kernel with autotuned parameters
    matmul_k_fn[grid](
        a, b, c,
        m, n, k,
        a.stride(0), a.stride(1),
        b.stride(0), b.stride(1),
        c.stride(0), c.stride(1),
        # Block sizes and group size are autotuned
    )
    return c


# Create a simplified interface using partial application
naive_matmul = partial(matmul, matmul_k_fn=naive_matmul_k)
grouped_matmul = partial(matmul, matmul_k_fn=grouped_matmul_k)


"""
Performance Benchmarking for Matrix Multiplication Implementations

Compares the performance of the three matrix multiplication implementations:
1. Naive Triton implementation
2. Grouped Triton implementation (with memory access optimization)
3. PyTorch's native implementation

The benchmark measures performance in GB/s (gigabytes per second) across different matrix sizes.
"""

@triton.testing.perf_report(
    triton.testing.Benchmark(
        # X-axis configuration
        x_names=['square_matrix_size'],  # What varies along x-axis
        x_vals=[2**i for i in range(6, 8, 1)],  # Matrix sizes: 32, 64, 128, 256, 512, 1024, 2048
        x_log=True,  # Use logarithmic scale for x-axis

        # Different implementations to compare (creates different lines on plot)
        line_arg='provider',  # Parameter that determines which implementation to use
        line_vals=['naive', 'grouped', 'torch'],  # Possible implementation values
        line_names=['Naive', 'Grouped', 'Torch'],  # Labels for each implementation

        # Plot styling
        styles=[('blue', '-'), ('green', '-'), ('orange','-')],  # Colors and line styles
        ylabel='GB/s',  # Y-axis label showing throughput
        plot_name='matmul-performance-1',  # Name for saving the plot

        # Additional arguments (empty in this case)
        args={},
    ))
def benchmark(square_matrix_size, provider):
    """
    Benchmark different matrix multiplication implementations.

    Args:
        square_matrix_size: Size of the square matrices to multiply (N×N)
        provider: Which implementation to benchmark ('naive', 'grouped', or 'torch')

    Returns:
        tuple: (median_performance, min_performance, max_performance) in GB/s

    Performance calculation:
    - Matrix multiplication requires reading 2 matrices and writing 1 matrix
    - Each matrix has size N×N with 4 bytes per element (float32)
    - Total memory moved = 3 * N * N * 4 bytes
    - GB/s = (12 * N * N) / (time_in_ms * 1e6)  # 12 = 3 matrices * 4 bytes
    """
    # Create random input matrices
    sz = square_matrix_size
    a = torch.rand((sz, sz), device='cuda', dtype=torch.float32)
    b = torch.rand((sz, sz), device='cuda', dtype=torch.float32)

    # Define measurement percentiles
    quantiles = [0.5, 0.2, 0.8]  # median, 20th percentile, 80th percentile

    # Benchmark the requested implementation
    if provider == 'naive':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: naive_matmul(a, b),
            quantiles=quantiles
        )
    if provider == 'grouped':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: grouped_matmul(a, b, group_sz=8),
            quantiles=quantiles
        )
    if provider == 'torch':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: torch.matmul(a,b),
            quantiles=quantiles
        )

    # Convert milliseconds to GB/s
    gbps = lambda ms: 12 * sz / ms * 1e-6  # Formula explained in docstring

    return gbps(ms), gbps(max_ms), gbps(min_ms)


benchmark.run(print_data=True, show_plots=True)


# ===== Impact of Batch Size =====
@triton.testing.perf_report(
    triton.testing.Benchmark(
        # X-axis: varying batch sizes
        x_names=['batch_size'],
        x_vals=[2**i for i in range(5, 7, 1)],  # Testing batch sizes: 16, 32, 64
        x_log=True,

        # Compare different implementations
        line_arg='provider',
        line_vals=['naive', 'grouped', 'torch'],
        line_names=['Naive', 'Grouped', 'Torch'],

        # Plot styling
        styles=[('blue', '-'), ('green', '-'), ('orange','-')],
        ylabel='GB/s',
        plot_name='matmul-performance-2',
        args={}
    ))
def benchmark(batch_size, provider):
    """
    Benchmark matrix multiplication with varying batch sizes.

    This benchmark keeps matrix size fixed (512×512) and varies the computation
    batch size to understand its impact on performance.

    Args:
        batch_size: Size of computation batches (block size)
        provider: Which implementation to benchmark

    Returns:
        tuple: (median_performance, min_performance, max_performance) in GB/s
    """
    # Fixed matrix size of 512×512
    sz = 512
    a = torch.rand((sz, sz), device='cuda', dtype=torch.float32)
    b = torch.rand((sz, sz), device='cuda', dtype=torch.float32)

    quantiles = [0.5, 0.2, 0.8]

    # Benchmark each implementation with varying batch sizes
    if provider == 'naive':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: naive_matmul(a, b, bs=batch_size),
            quantiles=quantiles
        )
    if provider == 'grouped':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: grouped_matmul(a, b, bs=batch_size, group_sz=8),
            quantiles=quantiles
        )
    if provider == 'torch':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: torch.matmul(a,b),
            quantiles=quantiles
        )

    gbps = lambda ms: 12 * sz / ms * 1e-6
    return gbps(ms), gbps(max_ms), gbps(min_ms)


benchmark.run(print_data=True, show_plots=True)


# ===== Matrix Size Impact with Fixed Block Size =====

@triton.testing.perf_report(
    triton.testing.Benchmark(
        # X-axis: varying matrix sizes
        x_names=['square_matrix_size'],
        x_vals=[2**i for i in range(6, 8, 1)],  # Matrix sizes from 32 to 2048
        x_log=True,

        # Compare different implementations
        line_arg='provider',
        line_vals=['naive', 'grouped', 'torch'],
        line_names=['Naive', 'Grouped', 'Torch'],

        # Plot styling
        styles=[('blue', '-'), ('green', '-'), ('orange','-')],
        ylabel='GB/s',
        plot_name='matmul-performance-3',
        args={}
    ))
def benchmark(square_matrix_size, provider):
    """
    Benchmark matrix multiplication with varying matrix sizes but fixed block size.

    This benchmark uses a fixed block size (64) while varying matrix dimensions
    to understand how different implementations scale with problem size.

    Args:
        square_matrix_size: Size of the square matrices to multiply (N×N)
        provider: Which implementation to benchmark

    Returns:
        tuple: (median_performance, min_performance, max_performance) in GB/s
    """
    sz = square_matrix_size
    a = torch.rand((sz, sz), device='cuda', dtype=torch.float32)
    b = torch.rand((sz, sz), device='cuda', dtype=torch.float32)

    quantiles = [0.5, 0.2, 0.8]

    # Fixed block size of 64 for all implementations
    if provider == 'naive':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: naive_matmul(a, b, bs=64),
            quantiles=quantiles
        )
    if provider == 'grouped':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: grouped_matmul(a, b, group_sz=8, bs=64),
            quantiles=quantiles
        )
    if provider == 'torch':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: torch.matmul(a,b),
            quantiles=quantiles
        )

    gbps = lambda ms: 12 * sz / ms * 1e-6
    return gbps(ms), gbps(max_ms), gbps(min_ms)


benchmark.run(print_data=True, show_plots=True)


# ===== Performance Benchmark with Autotuning =====

@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=['square_matrix_size'],
        x_vals=[2**i for i in range(6, 8, 1)],  # 32 to 2048
        x_log=True,
        line_arg='provider',
        line_vals=['naive', 'grouped', 'grouped-autotuned', 'torch'],
        line_names=['Naive', 'Grouped', 'Grouped & Auto-Tuned', 'Torch'],
        styles=[('blue', '-'), ('green', '-'), ('green', '--'), ('orange','-')],
        ylabel='GB/s',
        plot_name='matmul-performance-4',
        args={}
    ))
def benchmark(square_matrix_size, provider):
    """
    Benchmark comparing all implementations including autotuned version.

    Compares:
    1. Naive Triton implementation
    2. Grouped Triton implementation
    3. Grouped & Autotuned Triton implementation
    4. PyTorch native implementation
    """
    # Create test matrices
    sz = square_matrix_size
    a = torch.rand((sz, sz), device='cuda', dtype=torch.float32)
    b = torch.rand((sz, sz), device='cuda', dtype=torch.float32)

    quantiles = [0.5, 0.2, 0.8]

    # Benchmark each implementation
    if provider == 'naive':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: naive_matmul(a, b, bs=64),
            quantiles=quantiles
        )
    if provider == 'grouped':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: grouped_matmul(a, b, group_sz=8, bs=64),
            quantiles=quantiles
        )
    if provider == 'grouped-autotuned':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: grouped_autotuned_matmul(a, b),
            quantiles=quantiles
        )
    if provider == 'torch':
        ms, min_ms, max_ms = triton.testing.do_bench(
            lambda: torch.matmul(a,b),
            quantiles=quantiles
        )

    gbps = lambda ms: 12 * sz / ms * 1e-6
    return gbps(ms), gbps(max_ms), gbps(min_ms)


benchmark.run(print_data=True, show_plots=True)


