"""gate.py: makes forty calls for `neso bench`: twenty compute, and twenty copy. All are so large that their times are
proportional to their work. FACTOR=1.03 gives each call 3 % more work with the same PTX; `tests/gpu.sh gate` checks the verdicts."""
import os
import torch
import triton
import triton.language as tl


@triton.jit
def compute(X, steps, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(X + i)
    for _ in range(steps):
        x = x * 0.999 + 0.001
    tl.store(X + i, x)


@triton.jit
def copy(X, Y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(Y + i, tl.load(X + i, mask=i < n), mask=i < n)


FACTOR = float(os.environ.get('FACTOR', '1'))
SIZE = 3 << 25
x = torch.zeros(int(SIZE * 1.1), device='cuda')
y = torch.zeros(int(SIZE * 1.1), device='cuda')


def work(amount):
    return int(amount * FACTOR) // 16 * 16


@triton.testing.perf_report(triton.testing.Benchmark(
    x_names=['amount'], x_vals=list(range(1, 21)), line_arg='kind', line_vals=['compute', 'copy'],
    line_names=['compute', 'copy'], plot_name='gate', args={}))
def gate(amount, kind):
    if kind == 'compute':
        steps = work(20000 + 4000 * amount)
        return triton.testing.do_bench(lambda: compute[(1024,)](x, steps, BLOCK=256), warmup=10, rep=30)
    n = work(SIZE // 2 + SIZE // 40 * amount)
    return triton.testing.do_bench(lambda: copy[(triton.cdiv(n, 1024),)](x, y, n, BLOCK=1024), warmup=10, rep=30)


gate.run(print_data=True)
