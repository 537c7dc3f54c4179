"""Vector add and row softmax beside a device copy of the same bytes, PyTorch, and Triton on the same source.

    python3 bench/peers/memory.py [OUT.json]

Bandwidth counts each input read once and each output written once. `of copy` compares it with a plain device copy that
moves as many bytes, in the same run.
"""
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


def copy_of(nbytes):
    n = nbytes // 2 // 4
    a, b = torch.randn(n, device="cuda"), torch.empty(n, device="cuda")
    return lambda: b.copy_(a)


def report(work, nbytes, times, rows):
    copy = times["copy"]
    for name, ms in times.items():
        rows.append({"work": work, "who": name, "ms": ms, "gb_s": nbytes / ms / 1e6, "of_copy": copy / ms})
    cells = [f"{name} {nbytes / ms / 1e6:7.0f} GB/s ({copy / ms:.3f})" for name, ms in times.items()]
    print(f"{work:24} " + "  ".join(cells), flush=True)


def add(module, log2, rows):
    n = 1 << log2
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    z, expected = torch.empty_like(x), x + y
    blocks = n // 512
    ours = module.kernel("announcement_add", "*fp32:16, *fp32:16, *fp32:16, i32:16").bind(
        (blocks,), x.data_ptr(), y.data_ptr(), z.data_ptr(), n)
    plain = module.kernel("announcement_add", "*fp32:16, *fp32:16, *fp32:16, i32").bind(
        (blocks,), x.data_ptr(), y.data_ptr(), z.data_ptr(), n)
    for call in (ours, plain):
        z.zero_()
        call()
        torch.cuda.synchronize()
        assert torch.equal(z, expected)
    times = timing.side_by_side({
        "neso": ours, "neso, plain i32": plain, "torch": lambda: torch.add(x, y, out=z),
        "triton": lambda: kernels.add[(blocks,)](x, y, z, n, BLOCK=512), "copy": copy_of(12 * n)})
    report(f"add f32 2^{log2}", 12 * n, times, rows)


def softmax(module, m, n, rows):
    x = torch.randn(m, n, device="cuda")
    y, expected = torch.empty_like(x), torch.softmax(x, 1)
    div = ":16" if n % 16 == 0 else ""
    calls, block = {}, 1 << (n - 1).bit_length()
    if n <= 1024:
        calls["neso, announced"] = module.kernel(
            "announcement_softmax", f"*fp32:16, i32{div}, 1, *fp32:16, i32{div}, 1, i32, i32{div}").bind(
                (m,), y.data_ptr(), n, x.data_ptr(), n, m, n)
    warps = 4 if block <= 2048 else 8 if block <= 4096 else 16
    calls["neso"] = module.kernel("softmax", f"*fp32:16, *fp32:16, i32{div}, i32{div}, i32{div}, {block}",
                                  num_warps=warps).bind((m,), y.data_ptr(), x.data_ptr(), n, n, n)
    for name, call in calls.items():
        y.fill_(float("nan"))
        call()
        torch.cuda.synchronize()
        torch.testing.assert_close(y, expected, rtol=1e-5, atol=1e-6)
    calls["torch"] = lambda: torch.softmax(x, 1)
    calls["triton"] = lambda: kernels.softmax[(m,)](y, x, n, n, n, BLOCK_SIZE=block, num_warps=warps)
    calls["copy"] = copy_of(8 * m * n)
    report(f"softmax f32 {m}x{n}", 8 * m * n, timing.side_by_side(calls), rows)


def main():
    torch.manual_seed(0)
    context = neso.Context("cuda")
    module = context.module(os.path.join(ROOT, "bench", "programs", "kernels.py"))
    rows = []
    for log2 in (24, 28):
        add(module, log2, rows)
    for n in (256, 512, 781, 1024, 2048, 4096, 8192):
        softmax(module, 4096, n, rows)
    softmax(module, 583, 931, rows)
    if len(sys.argv) > 1:
        with open(sys.argv[1], "w") as f:
            json.dump({**timing.card(), "rows": rows}, f, indent=1)


main()
