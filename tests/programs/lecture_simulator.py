# runs: interpreter (only the interpreter: the program imports IPython)
# Tests the lecture's first example with its helpers, word for word: print_if shows the tiles of every program,
# as in Triton's interpreter; breakpoint_if stops the program (which would end at the end of the input).
import os

os.environ['TRITON_INTERPRET'] = '1' # needs to be set *before* triton is imported

import torch
import triton
import triton.language as tl
from IPython.core.debugger import set_trace


def test_pid_conds(conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    """
    Test if conditions on program IDs (PIDs) are fulfilled.

    Args:
        conds (str): String containing conditions to check. Multiple conditions are separated by commas.
                     Each condition consists of an operator and a number.
        pid_0 (list): First program ID value in a single-element list. Default: [0]
        pid_1 (list): Second program ID value in a single-element list. Default: [0]
        pid_2 (list): Third program ID value in a single-element list. Default: [0]

    Examples:
        '=0'     -> Checks if pid_0 equals 0
        ',>1'    -> Checks if pid_1 is greater than 1
        '>1,=0'  -> Checks if pid_0 > 1 AND pid_1 = 0

    Returns:
        bool: True if all conditions are met, False otherwise
    """
    # Extract PID values from lists
    pids = pid_0[0], pid_1[0], pid_2[0]

    # Remove spaces and split conditions by comma
    conds = conds.replace(' ','').split(',')

    # Check each condition against corresponding PID
    for i, (cond, pid) in enumerate(zip(conds, pids)):
        if cond == '': continue  # Skip empty conditions

        # Split condition into operator and threshold value
        op, threshold = cond[0], int(cond[1:])

        # Validate operator
        valid_ops = ['<', '>', '>=', '<=', '=', '!=']
        if op not in valid_ops:
            raise ValueError(f"Rules may only use these ops: {valid_ops}. Invalid rule: '{cond}'.")

        # Convert '=' to '==' for Python evaluation
        op = '==' if op == '=' else op

        # Evaluate condition
        if not eval(f'{pid} {op} {threshold}'):
            return False

    return True


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


def print_if(txt, conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    """
    Print text if specified PID conditions are met.
    Useful for debugging specific threads in GPU kernels.

    Args:
        txt (str): Text to print
        conds (str): Conditions string (same format as test_pid_conds)
        pid_0, pid_1, pid_2 (list): Program ID values to check
    """
    if test_pid_conds(conds, pid_0, pid_1, pid_2):
        print(txt)


def breakpoint_if(conds, pid_0=[0], pid_1=[0], pid_2=[0]):
    """
    Set a breakpoint if specified PID conditions are met.
    Useful for debugging specific threads in GPU kernels.

    Args:
        conds (str): Conditions string (same format as test_pid_conds)
        pid_0, pid_1, pid_2 (list): Program ID values to check
    """
    if test_pid_conds(conds, pid_0, pid_1, pid_2):
        set_trace()


def cdiv(a, b):
    return (a + b - 1) // b


def copy(x, bs, kernel_fn):
    z = torch.zeros_like(x)
    check_tensors_gpu_ready(x, z)
    n = x.numel()
    n_blocks = cdiv(n, bs)
    grid = (n_blocks,)
    kernel_fn[grid](x, z, n, bs)
    return z


x = torch.tensor([1, 2, 3, 4, 5, 6])


@triton.jit  # This decorator converts the Python function into GPU code
def copy_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    """
    Initial version of copy kernel - demonstrates common mistake.

    Important Notes:
    - The @triton.jit decorator transforms this Python function into GPU code
    - Only a limited set of operations are allowed inside GPU kernels:
        * Basic arithmetic and logic operations are allowed
        * Python print() and debugging tools like breakpoints are NOT allowed
        * Use specialized Triton functions for GPU operations

    Args:
        x_ptr: Pointer to input tensor data (Triton automatically converts tensor to pointer)
        z_ptr: Pointer to output tensor data
        n: Total number of elements
        bs: Block size (marked as compile-time constant with tl.constexpr)

    Note: This version has a bug - it processes the same elements in each block!
    """
    pid = tl.program_id(0)  # Get current block ID
    offs = tl.arange(0, bs)  # Creates offsets [0, 1, ..., bs-1]
    mask = offs < n  # Prevent out-of-bounds access
    x = tl.load(x_ptr + offs, mask)  # Load input values
    tl.store(z_ptr + offs, x, mask)  # Store to output

    print_if(f'pid = {pid} | offs = {offs}, mask = {mask}, x = {x}', '')


z = copy(x, bs=2, kernel_fn=copy_k)
print(z)


@triton.jit
def copy_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    """
    Second version - demonstrates another common mistake.

    Key Concepts:
    - When we pass a torch tensor to the kernel, Triton automatically converts it
      to a pointer to its first element (that's why we receive x_ptr, not x)
    - GPU kernels run in parallel across many blocks, so correct memory access
      patterns are crucial

    Note: This version incorrectly uses 'n' instead of 'bs' for stride calculation,
    causing blocks to process wrong sections of memory.
    """
    pid = tl.program_id(0)
    offs = pid * n + tl.arange(0, bs)  # Wrong! Stride should use 'bs', not 'n'
    mask = offs < n
    x = tl.load(x_ptr + offs, mask)
    tl.store(z_ptr + offs, x, mask)

    print_if(f'pid = {pid} | offs = {offs}, mask = {mask}, x = {x}', '')


z = copy(x, bs=2, kernel_fn=copy_k)
print(z)


@triton.jit
def copy_k(x_ptr, z_ptr, n, bs: tl.constexpr):
    """
    Final correct version of the copy kernel.

    GPU Kernel Rules and Concepts:
    1. The @triton.jit decorator converts this Python function into GPU code
    2. Inside GPU kernels:
       - You can't use regular Python print() or debuggers
       - You must use special Triton functions (tl.*) for operations
       - Tensor inputs are automatically converted to memory pointers
    3. Each block processes a different chunk of data in parallel:
       - Block 0 processes elements [0:bs]
       - Block 1 processes elements [bs:2*bs]
       - Block 2 processes elements [2*bs:3*bs]
    """
    pid = tl.program_id(0)  # Get current block ID
    offs = pid * bs + tl.arange(0, bs)  # Calculate correct offsets for this block
    mask = offs < n  # Prevent out-of-bounds access
    x = tl.load(x_ptr + offs, mask)  # Load input values
    tl.store(z_ptr + offs, x, mask)  # Store to output

    print_if(f'pid = {pid} | offs = {offs}, mask = {mask}, x = {x}', '')


z = copy(x, bs=2, kernel_fn=copy_k)
print(z)
