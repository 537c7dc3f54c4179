# SPDX-License-Identifier: MIT
"""triton.backends in neso: NVIDIA GPUs. Without a GPU, kernels run on the CPU through the same
interface."""
from dataclasses import dataclass

from .compiler import BaseBackend
from .driver import DriverBase
from .nvidia.compiler import CUDABackend
from .nvidia.driver import CpuDriver, CudaDriver

__all__ = ["Backend", "BaseBackend", "DriverBase", "backends"]


@dataclass(frozen=True)
class Backend:
    compiler: type
    driver: type


backends = {"nvidia": Backend(CUDABackend, CudaDriver)}


def select_driver():
    from neso import contexts
    where = contexts.choice()
    return CudaDriver() if where == "cuda" else CpuDriver(where)
