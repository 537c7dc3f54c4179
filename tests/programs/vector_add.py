# runs: interpreter emulator cuda triton triton-interpret
# Tests Triton's first tutorial: a masked vector add with many block sizes, numbers of warps, types and sizes, and with unaligned pointers.
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    block_start = pid * BLOCK_SIZE
    offsets = block_start + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    output = x + y
    tl.store(output_ptr + offsets, output, mask=mask)


def add(x, y, block, warps):
    output = torch.empty_like(x)
    n_elements = output.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta['BLOCK_SIZE']),)
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=block, num_warps=warps)
    return output


torch.manual_seed(0)
for dtype in [torch.float32, torch.float16, torch.float64, torch.int64, torch.int8, torch.uint8]:
    for n in [1, 3, 511, 512, 4096, 98432]:
        if dtype.is_floating_point:
            x = torch.rand(n + 1, device='cuda').to(dtype)
            y = torch.rand(n + 1, device='cuda').to(dtype)
        else:
            x = torch.randint(0, 100, (n + 1,), device='cuda').to(dtype)
            y = torch.randint(0, 100, (n + 1,), device='cuda').to(dtype)
        for block, warps in [(1024, 4), (128, 1), (4, 4), (2048, 8)]:
            if n // block > 2000:
                continue
            assert torch.equal(add(x[:n], y[:n], block, warps), x[:n] + y[:n]), f"{dtype} {n} {block}"
        assert torch.equal(add(x[1:], y[1:], 1024, 4), x[1:] + y[1:]), f"{dtype} {n}: unaligned"
print("ok")

# expect:
# ok
