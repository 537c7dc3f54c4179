# runs: interpreter (not triton: it keeps the tensors that a benchmark creates; not cuda: the program launches no kernel)
# Tests the table of a benchmark in pandas' format, and its CSV and plot files.
import os
import torch
import triton


def report(values, **options):
    arguments = dict(x_names=['N'], x_vals=[2**i for i in range(5, 8)], line_arg='provider', line_vals=['a', 'b'],
                     line_names=['Line A', 'Line B'], plot_name='plain', args={})
    arguments.update(options)

    @triton.testing.perf_report(triton.testing.Benchmark(**arguments))
    def benchmark(provider, scale=1.0, **x):
        return values(provider, scale, **x)

    benchmark.run(print_data=True)


report(lambda provider, scale, N: N / 3 if provider == 'a' else (N * 0.25, N * 0.2, N * 0.3), ylabel='GB/s')
report(lambda provider, scale, N: N if provider == 'a' else 2 * N)
report(lambda provider, scale, N: scale * (1e-9 if provider == 'a' else 123456789.25), args={'scale': 2.0})
report(lambda provider, scale, M, N: M * N * 0.5, x_names=['M', 'N'], x_vals=[(2, 3), (400, 5)])
report(lambda provider, scale, N: float(N), x_vals=list(range(11)), line_vals=['a'], line_names=['x'])
report(lambda provider, scale, kind: float(len(kind)), x_names=['kind'], x_vals=['fp16', 'bfloat16'])

# times calls that compute on the CPU, without a kernel
x = torch.rand(100, device='cuda')
ms = triton.testing.do_bench(lambda: x + x, warmup=1, rep=2)
assert ms > 0 and isinstance(ms, float)
times = triton.testing.do_bench(lambda: x + x, warmup=1, rep=2, return_mode='all')
low, median, high = triton.testing.do_bench(lambda: x + x, warmup=1, rep=2, quantiles=[0.0, 0.5, 1.0])
assert len(times) > 1 and low <= median <= high
assert triton.testing.do_bench(lambda: x + x, warmup=1, rep=2, quantiles=[0.5]) > 0
triton.testing.assert_close(x, x + 0.001)
try:
    triton.testing.assert_close(x, x + 1)
except AssertionError as e:
    print("assert_close:", "not close" in str(e))
try:
    triton.testing.do_bench(lambda: x, return_mode='best')
except ValueError as e:
    print(e)
kept = []
triton.testing.do_bench(lambda: kept.append(x + x), warmup=1, rep=2)
print(torch.equal(kept[0], x + x))
try:
    print(kept[-1].sum())
except RuntimeError as e:
    print(e)

# expect:
# plain:
#        N  Line A (GB/s)  Line B (GB/s)
# 0   32.0      10.666667            8.0
# 1   64.0      21.333333           16.0
# 2  128.0      42.666667           32.0
# plain:
#      N  Line A  Line B
# 0   32      32      64
# 1   64      64     128
# 2  128     128     256
# plain:
#        N        Line A       Line B
# 0   32.0  2.000000e-09  246913578.5
# 1   64.0  2.000000e-09  246913578.5
# 2  128.0  2.000000e-09  246913578.5
# plain:
#        M    N  Line A  Line B
# 0    2.0  3.0     3.0     3.0
# 1  400.0  5.0  1000.0  1000.0
# plain:
#        N     x
# 0    0.0   0.0
# 1    1.0   1.0
# 2    2.0   2.0
# 3    3.0   3.0
# 4    4.0   4.0
# 5    5.0   5.0
# 6    6.0   6.0
# 7    7.0   7.0
# 8    8.0   8.0
# 9    9.0   9.0
# 10  10.0  10.0
# plain:
#        kind  Line A  Line B
# 0      fp16     4.0     4.0
# 1  bfloat16     8.0     8.0
# assert_close: True
# return_mode must be 'min', 'max', 'mean', 'median' or 'all', found 'best'
# True
# this tensor was created by a benchmark, and released at the benchmark's end
