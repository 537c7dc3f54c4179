# SPDX-License-Identifier: MIT
"""triton._C.libtriton in neso: the names that torch uses to find the arguments that a kernel writes (ir.context, and the module that
ASTSource.make_ir returns). Also has products by cuBLAS, with which programs compare their kernels."""
import os
import types

from ..runtime.jit import native_specialize_impl  # noqa: F401


def getenv(name, default=None):
    return os.environ.get(name, default)


def getenv_bool(name, default=False):
    text = os.environ.get(name)
    return default if text is None else text.lower() in ("1", "true", "yes", "on", "y")


def get_cache_invalidating_env_vars():
    return {}


class _Context:
    """An empty class: neso's IR has no context."""


ir = types.SimpleNamespace(context=_Context, load_dialects=lambda context: None)


class CublasLt:
    """Products of matrices by cuBLAS, which PyTorch calls: nvidia.cublas.CublasLt(workspace).matmul(a, b, c). PyTorch has a workspace of its own."""

    def __init__(self, workspace):
        self.workspace = workspace

    def matmul(self, a, b, c):
        """Writes a @ b.T to c."""
        import torch
        if a.dim() != 2 or b.dim() != 2 or a.shape[1] != b.shape[1] or a.dtype != b.dtype:
            raise RuntimeError(f"expected two matrices with rows of equal length and type, found {tuple(a.shape)} of {a.dtype} and "
                               f"{tuple(b.shape)} of {b.dtype}")
        if a.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
            one = torch.ones((), dtype=torch.float32, device=a.device)
            c.copy_(torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=c.dtype))
        else:
            torch.mm(a, b.t(), out=c)

    def gemm(self, a, b, c, d, alpha, beta):
        """Writes alpha * (a @ b.T) + beta * c to d."""
        import torch
        torch.addmm(c, a, b.t(), alpha=alpha, beta=beta, out=d)


nvidia = types.SimpleNamespace(cublas=types.SimpleNamespace(CublasLt=CublasLt))


# -- which arguments a kernel writes, in the form of the walk that torch makes --

class _Id:
    def __init__(self):
        pass

    def id(self):
        return id(self)


class _Block(_Id):
    def __init__(self, region, count):
        self.region, self.arguments = region, [_Id() for _ in range(count)]

    def get_num_arguments(self):
        return len(self.arguments)

    def get_argument(self, i):
        return self.arguments[i]

    def get_parent(self):
        return self.region


class _Op:
    def __init__(self, name, block, operands=(), regions=(), text=""):
        self.name, self.block, self.operands, self.regions, self.text = name, block, operands, regions, text

    def get_name(self):
        return self.name

    def get_num_operands(self):
        return len(self.operands)

    def get_operand(self, i):
        return self.operands[i]

    def get_num_results(self):
        return 0

    def get_num_regions(self):
        return len(self.regions)

    def get_region(self, i):
        return self.regions[i]

    def get_block(self):
        return self.block

    def get_str_attr(self, name):
        return self.text


class WrittenModule:
    """The writes of a kernel: one store for each tensor that the kernel writes according to neso's analysis. This module is not
    MLIR."""

    def __init__(self, kernel, written):
        """written: for each tensor of the signature, in order, whether it is written."""
        region = _Id()
        block = _Block(region, len(written))
        self.ops = [_Op("tt.store", block, [x]) for x, is_written in zip(block.arguments, written) if is_written]
        self.ops += [_Op("tt.return", block), _Op("tt.func", None, regions=[region], text=kernel), _Op("builtin.module", None)]
        self.words = f"{kernel} writes {[i for i, x in enumerate(written) if x]} of its {len(written)} tensors' parts"

    def verify(self):
        return True

    def walk(self, visit):
        for op in self.ops:
            visit(op)

    def __str__(self):
        return self.words
