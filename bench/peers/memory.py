# SPDX-License-Identifier: MIT
"""memory.py: defines the measurements of row-wise kernels and vector add: arguments, PyTorch's calls, expected results.

Bandwidth counts each input once and each output once, also for the copy. Each kernel is tried with several values of
num_warps.
"""
import torch

M = 4096
SOFTMAX_N = (256, 512, 781, 1024, 2048, 4096, 8192, 12672, 16384, 32768)
NORM_N = (1024, 2048, 3072, 4096, 5120, 6144, 8192, 10240, 12288, 15872)
EPS = 1e-5


class Work:
    """A row of the table: `signature` is neso's; `args` are the tensors and numbers for both compilers."""

    def __init__(self, name, kernel, signature, args, constants, grid, nbytes, warps, torch_call, check):
        self.name, self.kernel, self.signature, self.args, self.constants = name, kernel, signature, args, constants
        self.grid, self.nbytes, self.warps, self.torch_call, self.check = grid, nbytes, warps, torch_call, check


def up_to_power(n):
    return 1 << (n - 1).bit_length()


def candidates(block, least, most):
    """Returns the numbers of warps for which each thread has between `least` and `most` elements."""
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
