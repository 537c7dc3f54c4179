# SPDX-License-Identifier: MIT
"""triton._C.libtriton in neso: the names that torch uses to find out which arguments a kernel writes (ir.context, and the module that
ASTSource.make_ir returns)."""
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
    """The writes of a kernel: one store for each tensor that the kernel writes according to neso's analysis. It is not MLIR."""

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
