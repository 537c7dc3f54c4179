# runs: interpreter emulator cuda triton triton-interpret
# Tests row softmax as in current Triton: the block size is a constexpr that depends on the width, for widths from 1 to 4096.
import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(output_ptr, input_ptr, input_row_stride, output_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    row_idx = tl.program_id(0)
    row_start_ptr = input_ptr + row_idx * input_row_stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    input_ptrs = row_start_ptr + col_offsets
    row = tl.load(input_ptrs, mask=col_offsets < n_cols, other=-float('inf')).to(tl.float32)
    row_minus_max = row - tl.max(row, axis=0)
    numerator = tl.exp(row_minus_max)
    denominator = tl.sum(numerator, axis=0)
    softmax_output = numerator / denominator
    output_row_start_ptr = output_ptr + row_idx * output_row_stride
    output_ptrs = output_row_start_ptr + col_offsets
    tl.store(output_ptrs, softmax_output, mask=col_offsets < n_cols)


def softmax(x, num_warps):
    n_rows, n_cols = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(n_rows,)](y, x, x.stride(0), y.stride(0), n_cols, BLOCK_SIZE=triton.next_power_of_2(n_cols), num_warps=num_warps)
    return y


torch.manual_seed(0)
for dtype, tolerance in [(torch.float32, 2e-6), (torch.float16, 1e-3)]:
    for columns in [1, 2, 31, 64, 781, 1024, 4096]:
        x = torch.randn(17, columns, device='cuda').to(dtype)
        for num_warps in [1, 4, 8]:
            torch.testing.assert_close(softmax(x, num_warps), torch.softmax(x, 1), rtol=tolerance, atol=tolerance)
print("ok")

# expect:
# ok
