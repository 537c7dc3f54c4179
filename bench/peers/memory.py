"""Row-wise kernels and vector add beside a device copy of the same bytes, PyTorch, and Triton on the same source.

    python3 bench/peers/memory.py [OUT.json [softmax|layer_norm|layer_norm_row|rms_norm|add ...]]

Bandwidth counts each input read once and each output written once. `of copy` compares it with a plain device copy that
moves as many bytes, in the same run. neso and Triton each choose num_warps by a short trial of the same candidates, as
autotune does, and are then measured alternately.
"""
import concurrent.futures
import json
import os
import sys

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
sys.path[:0] = [HERE, os.path.join(ROOT, "runtime", "python"), os.path.join(ROOT, "bench", "programs")]
import kernels  # noqa: E402
import neso  # noqa: E402
import timing  # noqa: E402

M = 4096
SOFTMAX_N = (256, 512, 781, 1024, 2048, 4096, 8192, 12672, 16384, 32768)
NORM_N = (1024, 2048, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 15872)
EPS = 1e-5


class Work:
    """One row of the table: `signature` is neso's, `args` are the tensors and numbers of both."""

    def __init__(self, name, kernel, signature, args, constants, grid, nbytes, warps, torch_call, check):
        self.name, self.kernel, self.signature, self.args, self.constants = name, kernel, signature, args, constants
        self.grid, self.nbytes, self.warps, self.torch_call, self.check = grid, nbytes, warps, torch_call, check

    def ours(self, module, warps):
        entries = ", ".join([self.signature] + [str(c) for c in self.constants])
        values = [a.data_ptr() if torch.is_tensor(a) else a for a in self.args]
        return module.kernel(self.kernel, entries, num_warps=warps).bind(self.grid, *values)

    def triton(self, warps):
        kernel = getattr(kernels, self.kernel)
        return lambda: kernel[self.grid](*self.args, *self.constants, num_warps=warps)

    def compile_triton(self, warps):
        getattr(kernels, self.kernel).warmup(*self.args, *self.constants, grid=self.grid, num_warps=warps)


def up_to_power(n):
    return 1 << (n - 1).bit_length()


def candidates(block, least, most):
    """Warps that give each thread from `least` to `most` elements."""
    return [w for w in (1, 2, 4, 8, 16, 32) if least <= block // (32 * w) <= most]


def divisible(n):
    return "i32:16" if n % 16 == 0 else "i32"


def softmax(n):
    x, block = torch.randn(M, n, device="cuda"), up_to_power(n)
    y, expected = torch.empty_like(x), torch.softmax(x, 1)
    return Work(f"softmax f32 {M}x{n}", "softmax", "*fp32:16, *fp32:16" + 3 * f", {divisible(n)}", (y, x, n, n, n),
                (block,), (M,), 8 * M * n, candidates(block, 4, 64)[-3:], lambda: torch.softmax(x, 1),
                lambda: torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-6))


def norm_data(n):
    x = torch.randn(M, n, device="cuda").half()
    return x, torch.empty_like(x), torch.randn(n, device="cuda").half(), torch.randn(n, device="cuda").half()


def layer_norm_as(kernel, n):
    x, y, w, b = norm_data(n)
    mean, rstd, block = torch.empty(M, device="cuda"), torch.empty(M, device="cuda"), up_to_power(n)
    expected = torch.layer_norm(x.float(), (n,), w.float(), b.float(), EPS)
    return Work(f"{kernel} f16 {M}x{n}", kernel, "*fp16:16, *fp16:16, *fp16:16, *fp16:16, *fp32:16, *fp32:16, "
                "i32:16, i32:16, fp32", (x, y, w, b, mean, rstd, n, n, EPS), (block,), (M,), 4 * M * n,
                candidates(block, 8, 64)[-3:], lambda: torch.layer_norm(x, (n,), w, b, EPS),
                lambda: torch.testing.assert_close(y.float(), expected, rtol=2e-3, atol=2e-3))


def layer_norm(n):
    return layer_norm_as("layer_norm", n)


def layer_norm_row(n):
    return layer_norm_as("layer_norm_row", n)


def rms_norm(n):
    x, y, w, _ = norm_data(n)
    rstd, block = torch.empty(M, device="cuda"), up_to_power(n)
    expected = torch.rms_norm(x.float(), (n,), w.float(), EPS)
    return Work(f"rms_norm f16 {M}x{n}", "rms_norm", "*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, fp32",
                (x, y, w, rstd, n, n, EPS), (block,), (M,), 4 * M * n, candidates(block, 8, 64)[-3:],
                lambda: torch.rms_norm(x, (n,), w, EPS),
                lambda: torch.testing.assert_close(y.float(), expected, rtol=2e-3, atol=2e-3))


def add(log2):
    n = 1 << log2
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    z, expected = torch.empty_like(x), x + y
    return Work(f"add f32 2^{log2}", "add", "*fp32:16, *fp32:16, *fp32:16, i32:16", (x, y, z, n), (1024,),
                (n // 1024,), 12 * n, (4, 8), lambda: torch.add(x, y, out=z),
                lambda: torch.testing.assert_close(z, expected, rtol=0, atol=0))


WORKS = {"softmax": (softmax, SOFTMAX_N), "layer_norm": (layer_norm, NORM_N), "layer_norm_row": (layer_norm_row, NORM_N),
         "rms_norm": (rms_norm, NORM_N), "add": (add, (24, 28))}


def copy_of(nbytes):
    n = nbytes // 2 // 4
    a, b = torch.randn(n, device="cuda"), torch.empty(n, device="cuda")
    return lambda: b.copy_(a)


def quickest(work, calls):
    """Checks each {warps: call}; the fastest of a short trial."""
    for warps, call in calls.items():
        work.args[0 if work.kernel == "softmax" else 2 if work.kernel == "add" else 1].fill_(float("nan"))
        call()
        torch.cuda.synchronize()
        work.check()
    times = timing.side_by_side(calls, rounds=3, repeats=8)
    warps = min(times, key=times.get)
    return warps, calls[warps]


def measure(module, work, rows):
    our_warps, ours = quickest(work, {w: work.ours(module, w) for w in work.warps})
    their_warps, theirs = quickest(work, {w: work.triton(w) for w in work.warps})
    times = timing.side_by_side({"neso": ours, "torch": work.torch_call, "triton": theirs, "copy": copy_of(work.nbytes)})
    warps = {"neso": our_warps, "triton": their_warps}
    for who, ms in times.items():
        rows.append({"work": work.name, "who": who, "warps": warps.get(who), "ms": ms, "gb_s": work.nbytes / ms / 1e6,
                     "of_copy": times["copy"] / ms})
    t = times["neso"]
    print(f"{work.name:26} neso {work.nbytes / t / 1e6:5.0f} GB/s w{our_warps:<2} triton w{their_warps:<2}  of copy "
          f"{times['copy'] / t:.3f}  of triton {times['triton'] / t:.3f}  of torch {times['torch'] / t:.3f}", flush=True)


def compile_all(name, n):
    make, _ = WORKS[name]
    work = make(n)
    for warps in work.warps:
        work.compile_triton(warps)


def main():
    torch.manual_seed(0)
    names = sys.argv[2:] or list(WORKS)
    jobs = [(name, n) for name in names for n in WORKS[name][1]]
    # Triton's compiler is slow: it fills its cache on all cores first.
    spawn = __import__("multiprocessing").get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(min(12, os.cpu_count()), spawn) as pool:
        list(pool.map(compile_all, *zip(*jobs)))
    context = neso.Context("cuda")
    module = context.module(os.path.join(ROOT, "bench", "programs", "kernels.py"))
    rows = []
    for name, n in jobs:
        measure(module, WORKS[name][0](n), rows)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as f:
            json.dump({**timing.card(), "rows": rows}, f, indent=1)


if __name__ == "__main__":
    main()
