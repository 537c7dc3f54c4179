# SPDX-License-Identifier: MIT
"""neso's package `triton`: the names that programs and torch.compile import, implemented with neso's compiler.

The package has the interface of the version in __version__. Using a missing name raises an ImportError or
AttributeError.
"""
__version__ = "3.6.0"

from . import _absent
from .errors import TritonError
from .runtime import (Config, InterpreterError, JITFunction, KernelInterface, MockTensor, OutOfResources, TensorWrapper, autotune,
                      heuristics, reinterpret)
from .runtime.jit import constexpr_function, jit
from .runtime._async_compile import AsyncCompileMode, FutureKernel
from .runtime._allocation import set_allocator
from .compiler import CompilationError
from .compiler.compiler import compile_or_fall_back as compile
from . import _C, backends, knobs, language, testing, tools
from ._C import libtriton as _libtriton  # noqa: F401  (torch reads triton._C.libtriton)

_absent.install()
must_use_result = language.core.must_use_result

__all__ = ["AsyncCompileMode", "FutureKernel", "autotune", "cdiv", "CompilationError", "compile", "Config", "constexpr_function", "heuristics", "InterpreterError", "jit",
           "JITFunction", "KernelInterface", "language", "MockTensor", "must_use_result", "next_power_of_2", "OutOfResources",
           "reinterpret", "runtime", "set_allocator", "TensorWrapper", "TritonError", "testing", "tools"]


@constexpr_function
def cdiv(x: int, y: int):
    return (x + y - 1) // y


@constexpr_function
def next_power_of_2(n: int):
    """Returns the smallest power of 2 that is at least n."""
    return 1 << (n - 1).bit_length() if n > 0 else 0


def __getattr__(name):
    raise AttributeError(f"neso's triton has no '{name}'")
