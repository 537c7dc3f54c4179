# SPDX-License-Identifier: MIT
"""triton.runtime in neso."""
from .autotuner import Autotuner, Config, Heuristics, autotune, heuristics
from .cache import RemoteCacheBackend
from .driver import driver
from .errors import InterpreterError, OutOfResources
from .jit import JITFunction, KernelInterface, MockTensor, TensorWrapper, reinterpret

__all__ = ["autotune", "Autotuner", "Config", "driver", "Heuristics", "heuristics", "InterpreterError", "JITFunction",
           "KernelInterface", "MockTensor", "OutOfResources", "reinterpret", "RemoteCacheBackend", "TensorWrapper"]
