# runs: interpreter emulator cuda (not triton: current Triton does not treat plain local variables as constants)
# Compares the fused softmax of Triton's announcement, word for word, with torch's softmax.
import triton
import triton.language as tl

@triton.jit
def softmax(Y, stride_ym, stride_yn, X, stride_xm, stride_xn, M, N):
    # row index
    m = tl.program_id(0)
    # col indices
    # this specific kernel only works for matrices that 
    # have less than BLOCK_SIZE columns
    BLOCK_SIZE = 1024
    n = tl.arange(0, BLOCK_SIZE)
    # the memory address of all the elements
    # that we want to load can be computed as follows
    X = X + m * stride_xm + n * stride_xn
    # load input data; pad out-of-bounds elements with 0 
    x = tl.load(X, mask=n < N, other=-float('inf'))
    # compute numerically-stable softmax
    z = x - tl.max(x, axis=0)
    num = tl.exp(z)
    denom = tl.sum(num, axis=0)
    y = num / denom
    # write back to Y
    Y = Y + m * stride_ym + n * stride_yn
    tl.store(Y, y, mask=n < N)

import torch
# Allocate input/output tensors
X = torch.normal(0, 1, size=(583, 931), device='cuda')
Y = torch.empty_like(X)
# SPMD launch grid
grid = (X.shape[0], )
# enqueue GPU kernel
softmax[grid](Y, Y.stride(0), Y.stride(1), 
              X, X.stride(0), X.stride(1),
              X.shape[0]    , X.shape[1])

torch.testing.assert_close(Y, torch.softmax(X, dim=1))


# The same kernel at other sizes and types. Each line of the table shows a number of checks, all of which must hold.
import os
import triton.testing


def run(X):
    Y = torch.empty_like(X)
    softmax[(X.shape[0],)](Y, Y.stride(0), Y.stride(1), X, X.stride(0), X.stride(1), X.shape[0], X.shape[1])
    return Y


def check(X, tolerance):
    torch.testing.assert_close(run(X), torch.softmax(X, dim=1), rtol=tolerance, atol=tolerance, equal_nan=True)


def rate(rows, columns):
    """Returns GB/s of float32. On a CPU, times have no meaning."""
    if device != 'cuda':
        return ''
    x = torch.randn(rows, columns, device='cuda')
    return f'{2 * x.numel() * x.element_size() / triton.testing.do_bench(lambda: run(x)) * 1e-6:.0f}'


device = os.environ.get('NESO_DEVICE', 'cuda')
name = torch.cuda.get_device_name(0) if device == 'cuda' else device
line = '{:14} {:8} {:9} {:>16} {:>7} {:>10} {:>6}'
print(line.format('device', 'kernel', 'type', 'rows x columns', 'checks', 'tolerance', 'GB/s'))
print(line.format(name, 'softmax', 'float32', '583 x 931', 1, '1.3e-06', rate(583, 931)))
for dtype, tolerance in [(torch.float32, 2e-6), (torch.float16, 1e-3), (torch.bfloat16, 1e-2)]:
    for rows, columns in [(1, 1), (3, 2), (5, 127), (4, 512), (7, 768), (2, 1023), (3, 1024)]:
        torch.manual_seed(columns)
        x = torch.randn(rows, columns, dtype=dtype, device='cuda')
        check(x, tolerance)
        x[0, columns // 2:] = float('-inf')
        check(x, tolerance)
        x[rows - 1, :] = float('-inf')  # the softmax of this row is NaN, as in torch
        check(x, tolerance)
        check(torch.randn(columns, rows, dtype=dtype, device='cuda').t(), tolerance)  # columns that are not contiguous
    print(line.format('', '', str(dtype)[6:], '1 x 1 - 7 x 1024', 28, f'{tolerance:.0e}', ''))
if device == 'cuda':
    for rows in [4096, 16384, 65536]:
        check(torch.randn(rows, 1024, device='cuda'), 2e-6)
        print(line.format('', '', 'float32', f'{rows} x 1024', 1, '2e-06', rate(rows, 1024)))
