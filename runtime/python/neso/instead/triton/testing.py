# SPDX-License-Identifier: MIT
"""triton.testing in neso: measures the times of calls, and reports them."""
import contextlib
import math
import os
import statistics
import subprocess

from . import runtime


def nvsmi(attrs):
    out = subprocess.check_output(["nvidia-smi", "-i", "0", "--query-gpu=" + ",".join(attrs), "--format=csv,noheader,nounits"])
    return [int(x) for x in out.decode().split(",")]


def _quantile(times, qs):
    times = sorted(times)

    def at(q):
        if not 0 <= q <= 1:
            raise ValueError("Quantiles must be in the range [0, 1]")
        point = q * (len(times) - 1)
        low, high = math.floor(point), math.ceil(point)
        return times[low] + (point - low) * (times[high] - times[low])

    return [at(q) for q in qs]


def _summarize_statistics(times, quantiles, return_mode):
    if quantiles is not None:
        found = _quantile(times, quantiles)
        return found[0] if len(found) == 1 else found
    if return_mode == "all":
        return times
    return {"min": min, "max": max, "mean": statistics.mean, "median": statistics.median}[return_mode](times)


_MODES = ("min", "max", "mean", "median", "all")


def _forget(grad_to_none):
    for x in grad_to_none or ():
        x.grad = None


def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Returns the milliseconds that fn takes on the device. Calls fn for about `warmup` ms, then measures calls for about `rep` ms. Clears the L2
    cache before each call."""
    assert return_mode in _MODES
    active = runtime.driver.active
    device = active.get_device_interface()
    cache = active.get_empty_cache_for_benchmark()

    def timed(calls):
        events = [(device.Event(enable_timing=True), device.Event(enable_timing=True)) for _ in range(calls)]
        for start, end in events:
            _forget(grad_to_none)
            active.clear_cache(cache)
            start.record()
            fn()
            end.record()
        device.synchronize()
        return [start.elapsed_time(end) for start, end in events]

    fn()
    device.synchronize()
    start, end = device.Event(enable_timing=True), device.Event(enable_timing=True)
    start.record()
    for _ in range(5):
        active.clear_cache(cache)
        fn()
    end.record()
    device.synchronize()
    estimate = max(start.elapsed_time(end) / 5, 1e-6)
    for _ in range(max(1, int(warmup / estimate))):
        fn()
    return _summarize_statistics(timed(max(1, int(rep / estimate))), quantiles, return_mode)


def do_bench_cudagraph(fn, rep=20, grad_to_none=None, quantiles=None, return_mode="mean"):
    """Returns the milliseconds that fn takes in a CUDA graph of many calls."""
    import torch
    assert return_mode in _MODES
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        for x in grad_to_none or ():
            x.detach_()
            x.requires_grad_(True)
            x.grad = None
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            fn()
        end.record()
        torch.cuda.synchronize()
        estimate = start.elapsed_time(end) / 5
        calls = 1000 if estimate == 0 else max(1, int(rep / estimate))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                _forget(grad_to_none)
                fn()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / calls)
        return _summarize_statistics(times, quantiles, return_mode)


def assert_close(x, y, atol=None, rtol=None, err_msg=""):
    import numpy as np
    import torch

    def array(t):
        t = t if isinstance(t, torch.Tensor) else torch.tensor(t)
        return t.dtype, (t.float() if t.dtype == torch.bfloat16 else t).cpu().detach().numpy()

    (kind_x, x), (kind_y, y) = array(x), array(y)
    atol = 1e-2 if atol is None else atol(kind_x) if callable(atol) else atol
    rtol = 0.0 if rtol is None else rtol(kind_y) if callable(rtol) else rtol
    if x.size > 1 or y.size > 1:
        np.testing.assert_allclose(x, y, atol=atol, rtol=rtol, equal_nan=True)
    elif not np.allclose(x, y, atol=atol, rtol=rtol):
        raise AssertionError(f"{err_msg} {x} is not close to {y} (atol={atol}, rtol={rtol})")


# -- reports --

class Benchmark:
    """The parameters of a report: the values on the x axis, and a line for each value of another argument."""

    def __init__(self, x_names, x_vals, line_arg, line_vals, line_names, plot_name, args, xlabel="", ylabel="", x_log=False,
                 y_log=False, styles=None):
        self.x_names, self.x_vals, self.x_log, self.xlabel = x_names, x_vals, x_log, xlabel
        self.line_arg, self.line_vals, self.line_names = line_arg, line_vals, line_names
        self.y_log, self.ylabel, self.styles = y_log, ylabel, styles
        self.plot_name, self.args = plot_name, args


class Mark:
    def __init__(self, fn, benchmarks):
        self.fn, self.benchmarks = fn, benchmarks

    def _measure(self, bench, kwargs):
        """Returns rows. Each contains the x values, then the mean, minimum and maximum of each line."""
        for x in bench.x_vals:
            x = x if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(x) != len(bench.x_names):
                raise ValueError(f"Expected {len(bench.x_names)} values, got {x}")
            found = [self.fn(**dict(zip(bench.x_names, x)), **{bench.line_arg: line}, **bench.args, **kwargs) for line in bench.line_vals]
            yield list(x), [tuple(r) if isinstance(r, (tuple, list)) else (r, None, None) for r in found]

    def _run(self, bench, save_path, show_plots, print_data, diff_col=False, save_precision=6, **kwargs):
        import pandas as pd
        rows = list(self._measure(bench, kwargs))
        labels = [f"{name} ({bench.ylabel})" for name in bench.line_names]
        table = pd.DataFrame([x + [r[0] for r in found] for x, found in rows], columns=list(bench.x_names) + labels)
        if bench.plot_name and (show_plots or save_path):
            self._plot(bench, rows, save_path, show_plots)
        if diff_col and len(labels) == 2:
            table["Diff"] = table[labels[1]] - table[labels[0]]
        if print_data:
            print(bench.plot_name + ":")
            print(table.to_string())
        if save_path:
            table.to_csv(os.path.join(save_path, f"{bench.plot_name}.csv"), float_format=f"%.{save_precision}f", index=False)
        return table

    @staticmethod
    def _plot(bench, rows, save_path, show_plots):
        import matplotlib.pyplot as plt
        plt.figure()
        axes = plt.subplot()
        xs = [x[0] for x, _ in rows]
        for i, name in enumerate(bench.line_names):
            color, style = bench.styles[i] if bench.styles else (None, None)
            axes.plot(xs, [found[i][0] for _, found in rows], label=name, color=color, ls=style)
            if all(found[i][1] is not None and found[i][2] is not None for _, found in rows):
                axes.fill_between(xs, [f[i][1] for _, f in rows], [f[i][2] for _, f in rows], alpha=0.15, color=color)
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if show_plots:
            plt.show()
        if save_path:
            plt.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))

    def run(self, show_plots=False, print_data=False, save_path="", return_df=False, **kwargs):
        is_one = isinstance(self.benchmarks, Benchmark)
        benchmarks = [self.benchmarks] if is_one else self.benchmarks
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        tables = [self._run(b, save_path, show_plots, print_data, **kwargs) for b in benchmarks]
        if save_path:
            with open(os.path.join(save_path, "results.html"), "w") as f:
                f.write("<html><body>\n" + "".join(f'<image src="{b.plot_name}.png"/>\n' for b in benchmarks) + "</body></html>\n")
        if return_df:
            return tables[0] if is_one else tables
        return None


def perf_report(benchmarks):
    """A decorator that gives the function a method run(). This method measures the benchmarks and reports the
    results."""
    return lambda fn: Mark(fn, benchmarks)


# -- the maximum speed of a GPU --

def _properties(device):
    active = runtime.driver.active
    return active.utils.get_device_properties(active.get_current_device() if device is None else device)


def get_dram_gbps(device=None):
    p = _properties(device)
    return p["mem_clock_rate"] * p["mem_bus_width"] * 2 / 1e6 / 8


def _tflops(ops_by_bits, dtype, clock_rate, device):
    bits = dtype.itemsize * 8
    if bits not in ops_by_bits:
        raise RuntimeError("dtype not supported")
    return _properties(device)["multiprocessor_count"] * 4 * clock_rate * ops_by_bits[bits] * 1e-9


def get_max_tensorcore_tflops(dtype, clock_rate, device=None):
    return _tflops({32: 256, 16: 512, 8: 1024}, dtype, clock_rate, device)


def get_max_simd_tflops(dtype, clock_rate, device=None):
    return _tflops({32: 32, 16: 64}, dtype, clock_rate, device)


@contextlib.contextmanager
def set_gpu_clock(ref_sm_clock=1350, ref_mem_clock=1215):
    """Locks the GPU's clocks if nvidia-smi has the permission."""
    def smi(*words):
        subprocess.check_output(["nvidia-smi", "-i", "0", *words])

    try:
        smi("-pm", "1")
        smi(f"--lock-gpu-clocks={ref_sm_clock},{ref_sm_clock}")
        smi(f"--lock-memory-clocks={ref_mem_clock},{ref_mem_clock}")
        yield 1e-6 * 2 * 108 * 4 * 256 * ref_sm_clock, 640 * 2 * ref_mem_clock * 1e-3
    finally:
        smi("-rgc")
        smi("-rmc")
