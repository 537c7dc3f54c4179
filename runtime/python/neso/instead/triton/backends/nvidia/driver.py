# SPDX-License-Identifier: MIT
"""triton.backends.nvidia.driver in neso: the device and stream of a launch.

A launch uses torch's current device and stream; without torch, it uses GPU 0 and the default stream. CpuDriver is for
kernels that run on the CPU.
"""
import functools
import os

from ..compiler import GPUTarget
from ..driver import DriverBase, GPUDriver


@functools.lru_cache(None)
def libcuda_dirs():
    """Returns the folders in which the loader finds libcuda.so.1."""
    from ... import knobs
    if knobs.nvidia.libcuda_path:
        return [knobs.nvidia.libcuda_path]
    import subprocess
    try:
        text = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    except OSError:
        text = ""
    found = [os.path.dirname(line.split()[-1]) for line in text.splitlines() if "libcuda.so.1" in line]
    found = found or [p for p in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.exists(os.path.join(p, "libcuda.so.1"))]
    if not found:
        raise AssertionError("libcuda.so cannot found!\nThe loader knows none, and none is in LD_LIBRARY_PATH.")
    return found


def make_tensordesc_arg(arg, metadata=None):
    """Returns the values of a descriptor for neso's kernels: address, sizes, strides except the last."""
    return [arg.base.data_ptr(), *arg.shape, *arg.strides[:-1]]


_ATTRIBUTES = {"max_shared_mem": 97, "max_num_regs": 82, "multiprocessor_count": 16, "warpSize": 10, "sm_clock_rate": 13,
               "mem_clock_rate": 36, "mem_bus_width": 37}


class CudaUtils:
    """Implements queries of the CUDA driver."""

    def __init__(self):
        import ctypes
        self.library = ctypes.CDLL("libcuda.so.1")
        self.library.cuInit(0)

    def attribute(self, number, device):
        import ctypes
        value, handle = ctypes.c_int(), ctypes.c_int()
        for status in (self.library.cuDeviceGet(ctypes.byref(handle), device),
                       self.library.cuDeviceGetAttribute(ctypes.byref(value), number, handle)):
            if status != 0:
                raise RuntimeError(f"Triton Error [CUDA]: the driver refuses attribute {number} of device {device} ({status})")
        return value.value

    def get_device_properties(self, device):
        return {name: self.attribute(number, device) for name, number in _ATTRIBUTES.items()}


class CudaDriver(GPUDriver):
    where = "cuda"

    def __init__(self):
        try:
            import torch
        except ImportError:
            torch = None
        self.torch = torch
        if torch is None:
            self.get_current_device, self.get_current_stream = lambda: 0, lambda device=0: 0
            self.get_device_capability = self._capability
            return
        self.get_device_capability = torch.cuda.get_device_capability
        self.get_current_device, self.set_current_device = torch.cuda.current_device, torch.cuda.set_device
        try:
            from torch._C import _cuda_getCurrentRawStream
            self.get_current_stream = _cuda_getCurrentRawStream
        except ImportError:
            self.get_current_stream = lambda device: torch.cuda.current_stream(device).cuda_stream

    @functools.cached_property
    def utils(self):
        return CudaUtils()

    def _capability(self, device=0):
        return self.utils.attribute(75, device), self.utils.attribute(76, device)

    @staticmethod
    @functools.lru_cache(None)
    def is_active():
        try:
            import torch
            return torch.cuda.is_available() and torch.version.hip is None
        except ImportError:
            from neso import contexts
            return contexts.compiling().gpus() > 0

    def context_name(self, device):
        return f"cuda:{device}"

    @functools.lru_cache(None)
    def _target(self, device):
        major, minor = self.get_device_capability(device)
        return GPUTarget("cuda", major * 10 + minor, 32)

    def get_current_target(self):
        return self._target(self.get_current_device())

    def map_python_to_cpp_type(self, ty):
        raise NotImplementedError("neso's launches need no C++: there is no type to name")

    def get_active_torch_device(self):
        return self.torch.device("cuda", self.get_current_device())

    def get_device_interface(self):
        return self.torch.cuda

    def get_benchmarker(self):
        from ...testing import do_bench
        return do_bench

    def get_empty_cache_for_benchmark(self):
        return self.torch.empty(256 * 1024 * 1024 // 4, dtype=self.torch.int, device="cuda")

    def clear_cache(self, cache):
        cache.zero_()


class CpuUtils:
    """The device properties that programs get without a GPU: the properties of an H100, which is the emulator's
    target."""

    def get_device_properties(self, device):
        return {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32,
                "sm_clock_rate": 1980000, "mem_clock_rate": 2619000, "mem_bus_width": 5120}


class _CpuEvent:
    def __init__(self, enable_timing=False):
        self.time = None

    def record(self, stream=None):
        import time
        self.time = time.perf_counter()

    def elapsed_time(self, other):
        return 1000 * (other.time - self.time)

    def synchronize(self):
        pass


class _CpuInterface:
    """The part of torch.cuda that do_bench uses."""
    Event = _CpuEvent

    @staticmethod
    def synchronize(device=None):
        pass


class CpuDriver(DriverBase):
    """Runs kernels on the CPU, with neso's interpreter or emulator."""

    def __init__(self, where):
        self.where, self.utils = where, CpuUtils()

    @staticmethod
    def is_active():
        return True

    def context_name(self, device):
        return self.where

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=0):
        return 0

    def get_device_capability(self, device=0):
        return 9, 0

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_active_torch_device(self):
        import torch
        return torch.device("cpu")

    def get_device_interface(self):
        return _CpuInterface

    def get_benchmarker(self):
        from ...testing import do_bench
        return do_bench

    def get_empty_cache_for_benchmark(self):
        return None

    def clear_cache(self, cache):
        pass
