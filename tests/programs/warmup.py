# runs: interpreter emulator cuda triton (not triton-interpret: it compiles nothing)
# Kernels are compiled before their launch; the properties of the compiled kernel determine how many programs share the rows.
import torch
import triton
import triton.language as tl
from triton.runtime import driver

DEVICE = driver.active.get_active_torch_device()
about = driver.active.utils.get_device_properties(DEVICE.index)


@triton.jit
def row_means(out, x, stride, nrows, ncolumns, BLOCK: tl.constexpr, num_stages: tl.constexpr):
    for row in tl.range(tl.program_id(0), nrows, tl.num_programs(0), num_stages=num_stages):
        column = tl.arange(0, BLOCK)
        a = tl.load(x + row * stride + column, mask=column < ncolumns, other=0.0)
        tl.store(out + row, tl.sum(a, axis=0) / ncolumns)


def means(x):
    nrows, ncolumns = x.shape
    out = torch.empty(nrows, device=x.device)
    block = triton.next_power_of_2(ncolumns)
    kernel = row_means.warmup(out, x, x.stride(0), nrows, ncolumns, BLOCK=block, num_stages=2, num_warps=2, grid=(1, ))
    kernel._init_handles()
    assert 0 < kernel.n_regs <= 255 and kernel.n_spills == 0
    assert kernel.metadata.num_warps == 2 and kernel.metadata.shared >= 0 and kernel.metadata.name == 'row_means'
    assert '.visible .entry row_means' in kernel.asm['ptx']
    resident = about['max_num_regs'] // (kernel.n_regs * about['warpSize'] * 2)
    nprograms = min(nrows, about['multiprocessor_count'] * resident)
    kernel[(nprograms, 1, 1)](out, x, x.stride(0), nrows, ncolumns, block, 2)
    return out


x = torch.randn(333, 190, device=DEVICE)
torch.testing.assert_close(means(x), x.mean(dim=1), rtol=1e-4, atol=1e-5)

launched = row_means[(3, )](torch.empty(8, device=DEVICE), x, x.stride(0), 8, 190, BLOCK=256, num_stages=3)
assert launched.metadata.num_stages == 3 and launched.asm['ptx'].count('.entry') == 1
out = torch.zeros(8, device=DEVICE)
row_means.run(out, x, x.stride(0), 8, 190, BLOCK=256, num_stages=1, grid=(5, ), warmup=False)
torch.testing.assert_close(out, x[:8].mean(axis=1), rtol=1e-4, atol=1e-5)
typed = row_means.warmup(torch.float32, torch.float32, 190, 333, 190, BLOCK=256, num_stages=1, grid=(1, ))
assert typed.metadata.num_warps == 4


@triton.autotune(configs=[triton.Config({'BLOCK': b}, num_warps=w) for b, w in ((64, 2), (128, 4))], key=['n'])
@triton.heuristics({'EVEN': lambda args: args['n'] % args['BLOCK'] == 0})
@triton.jit
def double(x, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x + i, 2 * tl.load(x + i))
    else:
        tl.store(x + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)


assert [k.metadata.num_warps for k in double.warmup(x, 64, grid=(1, ))] == [2, 4]
double.fn.fn[(2, )](x, 128, BLOCK=64, EVEN=True)

target = driver.active.get_current_target()
major, minor = torch.cuda.get_device_capability()
assert target.backend == 'cuda' and target.arch == 10 * major + minor and target.warp_size == 32
properties = torch.cuda.get_device_properties(DEVICE)
assert properties.multi_processor_count == about['multiprocessor_count'] and properties.total_memory > 2**32
assert properties.name == torch.cuda.get_device_name() and torch.cuda.device_count() >= 1
