# The error for a wrong argument of a benchmark shows the location of the call.
import triton

try:
    triton.testing.do_bench(lambda: None, quantiles=0.5)
except TypeError as e:
    print(e)


@triton.testing.perf_report(
    triton.testing.Benchmark(x_names=['N', 'M'], x_vals=[(1, 2, 3)], line_arg='p', line_vals=['a'], line_names=['A'], plot_name='x',
                             args={}))
def benchmark(N, M, p):
    return 1.0


benchmark.run()

# expect: exit 1
# benchmark-of-the-wrong-shape.py:17:1: error: ValueError: each of x_vals must be one value for each of x_names, found 3 [testing-argument]
#    17 | benchmark.run()
#       | ^~~~~~~~~~~~~~~
