"""recorder.py: records each distinct specialization that a program launches, with the memory before and after the launch.

Triton compiles a specialization when it is launched for the first time (JITFunction._do_compile): then the recorder copies
the tensors to the host, and copies them again after the launch. A record is NAME.json (source, signature, constants, options,
grid, arguments, the tensors' places) and NAME.bin (memory before, then after); the files are renamed when they are complete.
"""
import array
import ctypes
import functools
import json
import os
import shutil
import sys
import threading
import time
import traceback

import torch
import triton
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
from neso import source

TYPES = {torch.float16: "fp16", torch.bfloat16: "bf16", torch.float32: "fp32", torch.float64: "fp64", torch.bool: "bool",
         torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8",
         torch.uint16: "u16", torch.uint32: "u32", torch.uint64: "u64", torch.float8_e4m3fn: "fp8e4nv",
         torch.float8_e5m2: "fp8e5"}


ROOM = 2 << 30  # bytes to leave free on the disk of the records


class Skip(Exception):
    """The reason why a launch is not recorded."""


class Memory:
    """The storages of the tensors of one launch."""

    def __init__(self, limit):
        self.limit, self.bytes = limit, 0
        self.storages = []  # (storage, type of the elements)
        self.numbers = {}   # address to number

    def place(self, tensor):
        """Returns {"storage": number, "offset": bytes} of a tensor's first element."""
        holder = tensor if hasattr(tensor, "untyped_storage") else tensor.base
        storage = holder.untyped_storage()
        address = storage.data_ptr()
        if address not in self.numbers:
            self.bytes += storage.nbytes()
            if self.bytes > self.limit:
                raise Skip(f"{self.bytes >> 20} MB of arguments")
            self.numbers[address] = len(self.storages)
            self.storages.append((storage, type_of(tensor.dtype)))
        return {"storage": self.numbers[address], "offset": tensor.data_ptr() - address}

    def describe(self):
        return [{"bytes": s.nbytes(), "type": kind, "alignment": s.data_ptr() % 512} for s, kind in self.storages]

    def read(self):
        torch.cuda.synchronize()
        return [read_bytes(s) for s, _ in self.storages]

    def write(self, contents):
        for (s, _), data in zip(self.storages, contents):
            write_bytes(s, data)
        torch.cuda.synchronize()


# The copies are made by the driver, not by torch, because a program may have replaced torch's operators by its own
# kernels.
@functools.lru_cache
def driver():
    lib = ctypes.CDLL("libcuda.so.1")
    lib.cuMemcpyDtoH_v2.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t]
    lib.cuMemcpyHtoD_v2.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]
    return lib


def holds_addresses(storage, data):
    """Returns whether the first numbers contain addresses of GPU memory. A record does not contain the memory at these
    addresses."""
    if storage.device.type != "cuda" or len(data) % 8:
        return False
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    return any(driver().cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), ctypes.c_uint64(x)) == 0
               for x in set(array.array("q", data[:512])) if x >> 32 > 0)


def read_bytes(storage):
    address, n = storage.data_ptr(), storage.nbytes()
    if storage.device.type != "cuda":
        return ctypes.string_at(address, n)
    data = bytearray(n)
    if n and driver().cuMemcpyDtoH_v2((ctypes.c_char * n).from_buffer(data), address, n):
        raise Skip("the driver does not copy from there")
    return bytes(data)


def write_bytes(storage, data):
    address, n = storage.data_ptr(), storage.nbytes()
    if storage.device.type != "cuda":
        ctypes.memmove(address, data, n)
    elif n and driver().cuMemcpyHtoD_v2(address, data, n):
        raise Skip("the driver does not copy to there")


def type_of(dtype):
    """Returns the name of a torch type, or of a triton type (of a reinterpreted tensor)."""
    return TYPES.get(dtype) or {"int1": "bool"}.get(getattr(dtype, "name", ""), getattr(dtype, "name", "u8")).replace("int", "i")


class Recorder:
    def __init__(self, folder, collection, limit=256 << 20, each=8, few_programs=False):
        self.folder, self.collection, self.limit, self.each, self.few_programs = folder, collection, limit, each, few_programs
        self.state = threading.local()
        self.log = open(os.path.join(folder, f"skipped.{os.getpid()}"), "a", buffering=1)
        os.makedirs(os.path.join(folder, "claims"), exist_ok=True)

    def install(self):
        run, do_compile = JITFunction.run, JITFunction._do_compile

        def hooked_run(fn, *args, grid, warmup, **kwargs):
            outer = getattr(self.state, "launch", None)
            launch = self.state.launch = None if warmup or outer else Launch(self, fn, args, kwargs, grid)
            try:
                result = run(fn, *args, grid=grid, warmup=warmup, **kwargs)
            finally:
                self.state.launch = outer
            if launch and launch.before is not None:
                again = (lambda: run(fn, *args, grid=grid, warmup=False, **kwargs)) if not self.few_programs else None
                self.guarded(launch.end, fn, again)
            return result

        def hooked_compile(fn, key, signature, device, constexprs, options, attrs, warmup):
            kernel = do_compile(fn, key, signature, device, constexprs, options, attrs, warmup)
            launch = getattr(self.state, "launch", None)
            if launch and launch.fn is fn and kernel is not None:
                self.guarded(launch.begin, fn, signature, constexprs, options, attrs)
            return kernel

        JITFunction.run, JITFunction._do_compile = hooked_run, hooked_compile

    def guarded(self, step, fn, *args):
        """Executes a step of recording. If the step fails, prints the name of the launch; the launch itself continues."""
        try:
            step(*args)
        except Skip as e:
            self.log.write(f"{fn.__module__}.{fn.__name__}\t{e}\n")
        except Exception as e:
            where = traceback.extract_tb(e.__traceback__)[-1]
            self.log.write(f"{fn.__module__}.{fn.__name__}\tnot recorded: {type(e).__name__}: {e} ({where.name})\n")

    def claim(self, kernel, spec):
        """Returns False if some process has already recorded this specialization, or enough specializations of this kernel."""
        def taken(name):
            try:
                os.close(os.open(os.path.join(self.folder, "claims", name), os.O_CREAT | os.O_EXCL))
                return False
            except FileExistsError:
                return True
        return not taken(spec) and not all(taken(f"{kernel}.{i}") for i in range(self.each))


OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "debug", "sanitize_overflow", "launch_cooperative_grid",
           "launch_pdl")


class Specialization:
    """A specialization that Triton compiles, described for neso."""

    def __init__(self, fn, signature, constexprs, options, attrs):
        self.fn, self.types, self.attrs = fn, signature, attrs
        self.main, self.sources, self.written = source.stand_alone(fn, constexprs)
        self.texts = self.sources.texts
        self.constants = constexprs
        self.entries = [f"{p.name}={self.entry((i,), signature[p.name], p.is_constexpr)}" for i, p in enumerate(fn.params)]
        self.text = ", ".join(self.entries)
        self.options = {k: getattr(options, k, None) for k in OPTIONS}
        self.kernel = source.digest(self.texts[self.main], fn.__name__)
        self.id = source.digest(*[self.texts[k] for k in sorted(self.texts)], self.text, repr(self.options))

    def entry(self, path, kind, is_constexpr=False):
        """Returns an entry of neso's signature. The path of an argument has one index; the path of a tuple's item has more."""
        if isinstance(kind, (tuple, list)):
            parts = [self.entry(path + (i,), k) for i, k in enumerate(kind)]
            name = self.class_name(kind) if hasattr(kind, "_fields") else ""
            return f"{name}({', '.join(parts)}{',' if len(parts) == 1 and not name else ''})"
        if kind == "constexpr":
            if not is_constexpr and is_one(self.constants[path]):
                return "i32:1"
            if self.written.get(path) is None:
                raise Skip(f"a constant that cannot be written: {self.fn.params[path[0]].name}={self.constants[path]!r}")
            return self.written[path]
        if kind.startswith("nvTmaDesc"):
            raise Skip(f"a tensor map made by the program: {self.fn.params[path[0]].name}")
        divides = any(a[0] == "tt.divisibility" and a[1] == 16 for a in self.attrs.get(path, []))
        return {"u1": "i1"}.get(kind, kind) + (":16" if divides else "")

    def class_name(self, kind):
        line, name = source.import_class(type(kind), self.sources)
        self.texts[self.main] = source.with_line(self.texts[self.main], line)
        return name

    def values(self, arguments, memory):
        """Returns the values that a launch passes: one for each type among the entries."""
        found = []
        for i, p in enumerate(self.fn.params):
            self.add_values(found, (i,), self.types[p.name], arguments[p.name], memory, p.is_constexpr)
        return found

    def add_values(self, found, path, kind, value, memory, is_constexpr=False):
        if isinstance(kind, (tuple, list)):
            for i, k in enumerate(kind):
                self.add_values(found, path + (i,), k, value[i], memory)
        elif kind != "constexpr":
            found.append(argument(value, kind, memory))
        elif not is_constexpr and is_one(self.constants[path]):
            found.append(1)


def is_one(value):
    return type(value) is int and value == 1


class Launch:
    def __init__(self, recorder, fn, args, kwargs, grid):
        self.recorder, self.fn, self.args, self.kwargs, self.grid = recorder, fn, args, kwargs, grid
        self.before = None

    def begin(self, signature, constexprs, options, attrs):
        """Begins a record when the specialization is known, before the launch."""
        fn, r = self.fn, self.recorder
        if torch.cuda.is_current_stream_capturing():
            raise Skip("launched while a graph is captured")
        names = [p.name for p in fn.params]
        bound = fn.signature.bind(*self.args, **{k: v for k, v in self.kwargs.items() if k in names})
        bound.apply_defaults()
        arguments = bound.arguments
        grid = self.grid(dict(arguments)) if callable(self.grid) else self.grid
        s = Specialization(fn, signature, constexprs, options, attrs)
        self.memory = Memory(r.limit)
        values = s.values(arguments, self.memory)
        if shutil.disk_usage(r.folder).free < ROOM + 4 * self.memory.bytes:
            raise Skip("no room to record it")
        if not r.claim(s.kernel, s.id):
            return
        self.record = {"id": s.id, "kernel": fn.fn.__name__, "module": fn.fn.__module__, "kernel_id": s.kernel,
                       "file": fn.fn.__code__.co_filename, "line": fn.starting_line_number, "collection": r.collection,
                       "main": s.main, "texts": s.texts, "signature": s.text, "options": s.options,
                       "grid": smaller_grid(grid) if r.few_programs else three(grid),
                       "arguments": values, "storages": self.memory.describe()}
        before = self.memory.read()
        if any(holds_addresses(s, data) for (s, _), data in zip(self.memory.storages, before)):
            raise Skip("a tensor holds addresses")
        self.before = before

    def end(self, again):
        after = self.memory.read()
        r, record = self.recorder, self.record
        record["varies"] = False
        if again and after != self.before:
            self.memory.write(self.before)
            again()
            second = self.memory.read()
            record["varies"] = [i for i, (x, y) in enumerate(zip(after, second)) if x != y] or False
        path = os.path.join(r.folder, record["id"])
        with open(path + ".bin", "wb") as f:
            for data in self.before + after + ([second[i] for i in record["varies"]] if record["varies"] else []):
                f.write(data)
        record["time"] = time.time()
        with open(path + ".part", "w") as f:
            json.dump(record, f)
        os.rename(path + ".part", path + ".json")


def three(grid):
    return [int(g) for g in (tuple(grid) + (1, 1, 1))[:3]]


def smaller_grid(grid):
    """Returns a grid with only the first programs, which a CPU can run in a moment."""
    return [min(g, most) for g, most in zip(three(grid), (4, 2, 2))]


def argument(value, kind, memory):
    """Returns an argument of a launch for a record: a number, a tensor's storage and offset, or a descriptor."""
    if kind.startswith("tensordesc"):
        return {"descriptor": memory.place(value.base), "shape": [int(x) for x in value.shape],
                "strides": [int(x) for x in value.strides], "padding": value.padding}
    if hasattr(value, "data_ptr"):
        return memory.place(value)
    if kind.startswith("*"):
        raise Skip(f"an address as a number: {value!r}")
    return value if isinstance(value, (bool, float)) else int(value)


def few_configs(most):
    """Makes autotuners try only `most` configurations, evenly chosen, and launch each once."""
    prune = Autotuner.prune_configs

    def pruned(self, *args, **kwargs):
        configs = prune(self, *args, **kwargs)
        n = len(configs)
        return [configs[(2 * i + 1) * n // (2 * most)] for i in range(most)] if n > most else configs

    def bench(self, call, quantiles=None, **kwargs):
        call()
        return [1.0, 1.0, 1.0]

    Autotuner.prune_configs = pruned
    Autotuner.do_bench = property(lambda self: lambda call, quantiles=None: bench(self, call), lambda self, x: None)
