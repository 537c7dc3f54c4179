"""standin.py: makes torch and Triton work as if there were a GPU, on a machine without one.

Tensors "on cuda" are CPU tensors whose attribute device is cuda:0. neso's interpreter compiles and runs
a launch on a copy of the tensors, with a few programs of the grid; if neso refuses a kernel, the launch
does nothing. The program continues to its next launch even if results are wrong, because standin.py
disables its comparisons.
"""
import os
import sys
import types

import torch
import triton
from torch.overrides import TorchFunctionMode
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
import neso
import player
import recorder

CUDA = torch.device("cuda", 0)
PROPERTIES = {"max_shared_mem": 232448, "max_num_regs": 65536, "multiprocessor_count": 132, "warpSize": 32,
              "sm_clock_rate": 1980000, "mem_clock_rate": 3201000, "mem_bus_width": 6144}


class Utils:
    def get_device_properties(self, device):
        return PROPERTIES


class Driver:
    """Implements the part of a driver that Triton uses before a launch."""

    utils = Utils()

    def get_current_target(self):
        return GPUTarget("cuda", 90, 32)

    def get_current_device(self):
        return 0

    def set_current_device(self, device):
        pass

    def get_current_stream(self, device=0):
        return 0

    def get_active_torch_device(self):
        return CUDA

    def get_device_interface(self):
        return torch.cuda

    def get_benchmarker(self):
        return lambda call, quantiles=None, **kwargs: (call(), [1.0, 1.0, 1.0])[1]

    def get_empty_cache_for_benchmark(self):
        return torch.empty(16)

    def clear_cache(self, cache):
        pass

    def map_python_to_cpp_type(self, kind):
        return kind


class Cuda(TorchFunctionMode):
    """Makes torch use the CPU if a program asks for cuda. The tensors' attributes still show cuda."""

    def __torch_function__(self, func, kinds, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        owner = getattr(func, "__self__", None)
        if name == "__get__" and owner is torch.Tensor.device:
            return CUDA if func(*args).type == "cpu" else func(*args)
        if name == "__get__" and owner is torch.Tensor.is_cuda:
            return True
        if name in ("cuda", "pin_memory"):
            return args[0]
        if name == "get_device":
            return 0
        if name == "record_stream":
            return None
        kwargs = {k: on_cpu(v) for k, v in (kwargs or {}).items() if k != "pin_memory"}
        if name == "full_like" and len(args) > 1 and hasattr(args[1], "item"):
            args = (args[0], args[1].item())
        return func(*[on_cpu(a) for a in args], **kwargs)


def on_cpu(x):
    if isinstance(x, torch.device) and x.type == "cuda":
        return torch.device("cpu")
    return "cpu" if isinstance(x, str) and (x == "cuda" or x.startswith("cuda:")) else x


class Kernel:
    """A compiled kernel, with the members that programs read."""

    n_regs, n_spills, function, packed_metadata, asm = 32, 0, 0, (), {}
    refused = set()

    def __init__(self, fn, signature, constexprs, options, attrs):
        self.fn, self.name = fn, fn.__name__
        self.metadata = types.SimpleNamespace(shared=0, num_warps=options.num_warps, num_ctas=1, name=self.name)
        self.kernel = None
        try:
            self.spec = recorder.Specialization(fn, signature, constexprs, options, attrs)
            record = {"texts": self.spec.texts, "main": self.spec.main, "kernel": fn.fn.__name__, "signature": self.spec.text,
                      "options": self.spec.options}
            self.context = neso.Context("interpreter")
            self.kernel = player.build(self.context, record, None)
        except (neso.NesoError, recorder.Skip) as e:
            print(f"stand-in: {self.name} is not run: {player.first_line(str(e))}")

    def launch_metadata(self, grid, stream, *args):
        return None

    def _init_handles(self):
        pass

    def __getitem__(self, grid):
        """Returns a launcher for a compiled kernel that a program keeps and launches itself."""
        return lambda *args, stream=None: self.run(*recorder.three(grid), stream, None, None, None, None, None, *args)

    def run(self, g0, g1, g2, stream, function, packed, launch, enter, leave, *args):
        if self.kernel is None:
            return
        memory = recorder.Memory(1 << 30)
        record = {"arguments": self.spec.values(dict(zip((p.name for p in self.fn.params), args)), memory)}
        storages = [player.Storage(self.context, s, data) for s, data in zip(memory.describe(), memory.read())]
        try:
            self.kernel[recorder.smaller_grid((g0, g1, g2))](*player.values_of(record, storages))
            memory.write([s.read()[0] for s in storages])
        except neso.NesoError as e:
            print(f"stand-in: {self.name} failed: {player.first_line(str(e))}")
        for s in storages:
            s.release()


def do_compile(fn, key, signature, device, constexprs, options, attrs, warmup):
    kernel = Kernel(fn, signature, constexprs, options, attrs)
    fn.device_caches[device][0][key] = kernel
    return kernel


class Nothing:
    """Replaces a stream, an event or a graph, and does nothing."""

    def __init__(self, *args, **kwargs):
        self.cuda_stream, self.device, self.priority = 0, CUDA, 0

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None

    def elapsed_time(self, other):
        return 1.0

    def query(self):
        return True

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


class Generator(torch.Generator):
    def __new__(cls, device="cpu"):
        return super().__new__(cls, "cpu")


def no_cuda_queries():
    c = torch.cuda
    c.is_available, c.device_count, c.current_device = (lambda: True), (lambda: 1), (lambda: 0)
    c.get_device_name = lambda *a: "NVIDIA H200"
    c.get_device_capability = lambda *a: (9, 0)
    properties = types.SimpleNamespace(
        name="NVIDIA H200", multi_processor_count=132, total_memory=150 << 30, major=9, minor=0, warp_size=32,
        shared_memory_per_block_optin=232448, shared_memory_per_block=49152, shared_memory_per_multiprocessor=233472, max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536, L2_cache_size=60 << 20, gcnArchName="", is_integrated=0)
    c.get_device_properties = lambda *a: properties
    c.mem_get_info = lambda *a: (140 << 30, 150 << 30)
    c.current_stream = c.default_stream = lambda *a, **k: Nothing()
    c.Stream = c.Event = c.device = c.stream = c.CUDAGraph = c.graph = c.device_of = c._DeviceGuard = Nothing
    c.is_bf16_supported = lambda *a, **k: True
    c.is_current_stream_capturing = lambda: False
    c.max_memory_allocated = c.memory_allocated = c.memory_reserved = c.max_memory_reserved = lambda *a: 0
    for name in ("synchronize", "set_device", "empty_cache", "manual_seed", "manual_seed_all", "init", "_lazy_init", "seed",
                 "reset_peak_memory_stats", "ipc_collect", "set_rng_state"):
        setattr(c, name, lambda *a, **k: None)
    c.get_rng_state = lambda *a: torch.get_rng_state()
    c.is_initialized = lambda: True
    torch.version.cuda = "13.0"
    torch.Generator = Generator


def nothing_is_compared():
    """Disables a program's comparisons, which would end it before its next launch."""
    os.environ["NO_COMPARE"] = "1"
    torch.testing.assert_close = torch.testing.assert_allclose = lambda *a, **k: None
    torch.allclose = torch.equal = lambda *a, **k: True
    torch.Tensor.allclose = torch.Tensor.equal = lambda *a, **k: True


def install(compares=False):
    driver.set_active(Driver())
    JITFunction._do_compile = do_compile
    no_cuda_queries()
    if not compares:
        nothing_is_compared()
    Cuda().__enter__()
