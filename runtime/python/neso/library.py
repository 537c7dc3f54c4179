# SPDX-License-Identifier: MIT
"""library.py: binds libneso with ctypes: contexts, modules, kernels, launches.

    import neso
    module = neso.Context("cuda").module("add.py")
    add = module.kernel("add", "*fp32:16, *fp32:16, *fp32:16, i32:16")
    add[(grid,)](x.data_ptr(), y.data_ptr(), z.data_ptr(), n)

The library is libneso.so in this package. Without this file, it is the file that NESO_LIBRARY names; without NESO_LIBRARY, it
is build/libneso.so of the source tree.
"""
import collections
import ctypes
import os
import sys
import threading
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

from . import capsules as _capsules

_Write = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
TEXTS = {"ast": 1, "ir": 2, "opt": 3, "mir": 4, "ptx": 5, "json": 6, "explain": 7, "record": 8}


class _ContextOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("allocate", c_void_p), ("free", c_void_p), ("user", c_void_p), ("memory_limit", c_size_t),
                ("source_limit", c_size_t), ("step_limit", c_int64), ("ir_limit", c_int64), ("time_limit_ms", c_int64),
                ("cache", c_char_p), ("cache_limit", c_size_t), ("cache_strict", c_int), ("user_of_calls", c_void_p),
                ("record", c_void_p), ("event", c_void_p), ("cancelled", c_void_p), ("wants_capsule", c_void_p), ("capsule", c_void_p)]


class _CompileOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("signature", c_char_p), ("target", c_char_p), ("num_warps", c_int),
                ("num_stages", c_int), ("max_registers", c_int), ("no_fp_fusion", c_int), ("deterministic", c_int), ("fp_reassoc", c_int), ("debug", c_int),
                ("until", c_int), ("passes", c_char_p), ("skip", c_char_p), ("stop_after", c_char_p),
                ("print_after", c_char_p), ("explain", c_char_p), ("print_changed", c_int), ("verify_each", c_int),
                ("verbose_ptx", c_int), ("time", c_int), ("write", c_void_p), ("user", c_void_p),
                ("params", c_char_p), ("note", c_void_p), ("check", c_int), ("checked", c_void_p)]


class _LaunchOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("cooperative", c_int), ("priority", c_int)]


class _Checked(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("kernel", c_char_p), ("id", c_char_p), ("verdict", c_int), ("culprit", c_char_p),
                ("without", c_char_p), ("text", c_char_p), ("file", c_char_p), ("line", c_uint32), ("inputs", c_int),
                ("milliseconds", ctypes.c_double)]


@CFUNCTYPE(None, c_void_p, POINTER(_Checked))
def _report_check(_, result):
    """Prints the result of a check of a kernel. A difference is always printed, any other result only with
    NESO_PARANOID=verbose."""
    x = result.contents
    name, text = x.kernel.decode(), x.text.decode()
    if x.verdict == 1:
        sys.stderr.write(f"neso: warning: {x.file.decode() if x.file else '?'}:{x.line}: the PTX of {name} computes other results than "
                         f"the interpreter {text}; made by {x.culprit.decode()}; left out from now on: {x.without.decode() or 'nothing'}\n")
    elif os.environ.get("NESO_PARANOID") == "verbose":
        sys.stderr.write(f"neso: check: {name}: " + (f"not compared: {text}\n" if x.verdict else
                                                     f"{x.inputs} sets of inputs agree, {x.milliseconds:.0f} ms\n"))


class _Param(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("type", c_char_p), ("bytes", c_int), ("divisible", c_int),
                ("equals_one", c_int), ("written", c_int)]


class _Resources(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("num_warps", c_int), ("num_threads", c_int), ("shared_bytes", c_int),
                ("ptx_version", c_int), ("live_registers", c_int), ("registers", c_int), ("local_bytes", c_int),
                ("trace_seconds", ctypes.c_double), ("opt_seconds", ctypes.c_double),
                ("codegen_seconds", ctypes.c_double)]


class _Error(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("status", c_int), ("driver_code", c_int), ("message", ctypes.c_char * 496)]


class _Code(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("ptx_digest", c_char_p), ("code", c_char_p), ("length", c_size_t)]


_Find = CFUNCTYPE(c_void_p, c_void_p, c_char_p, POINTER(c_size_t))


class NesoError(RuntimeError):
    """An error of the library. `status` is the neso_status: 1 wrong input, 3 no device, 4 driver error, 5 out of memory, 6 a defect of
    neso."""

    def __init__(self, message, status=0):
        super().__init__(message)
        self.status = status


def _path():
    here = os.path.dirname(os.path.abspath(__file__))
    inside = os.path.join(here, "libneso.so")
    if os.path.exists(inside):
        return inside
    return os.environ.get("NESO_LIBRARY") or os.path.normpath(os.path.join(here, "..", "..", "..", "build", "libneso.so"))


def _open():
    path = _path()
    try:
        lib = ctypes.CDLL(path)
    except OSError as e:
        raise ImportError(f"neso's library cannot be opened: {e}; build it with `make`, or set NESO_LIBRARY to its path") from e
    lib.neso_version.restype = c_char_p
    lib.neso_error_text.restype = c_char_p
    lib.neso_context_device_text.restype = c_char_p
    lib.neso_kernel_param_count.restype = c_size_t
    for name in ("neso_error_text", "neso_context_device_text", "neso_kernel_param_count", "neso_context_release",
                 "neso_module_release", "neso_kernel_release"):
        getattr(lib, name).argtypes = [c_void_p]
    lib.neso_context_create.argtypes = [c_void_p, POINTER(c_void_p)]
    lib.neso_context_use_device.argtypes = [c_void_p, c_char_p, c_void_p]
    lib.neso_module_from_source.argtypes = [c_void_p, c_char_p, c_char_p, c_size_t, POINTER(c_void_p)]
    lib.neso_module_from_files.argtypes = [c_void_p, c_char_p, c_char_p, c_size_t, _Find, c_void_p, POINTER(c_void_p)]
    lib.neso_memory_allocate.argtypes = [c_void_p, c_size_t, POINTER(c_uint64)]
    lib.neso_memory_release.argtypes = [c_void_p, c_uint64]
    lib.neso_memory_lend.argtypes = [c_void_p, c_uint64, c_size_t]
    lib.neso_context_on_print.argtypes = [c_void_p, _Write, c_void_p]
    lib.neso_context_device.restype = c_char_p
    lib.neso_context_device.argtypes = [c_void_p]
    lib.neso_help.argtypes = [c_void_p, c_char_p, POINTER(c_char_p)]
    lib.neso_find_gpus.argtypes = [c_void_p, POINTER(c_int), POINTER(c_int)]
    lib.neso_memory_write.argtypes = [c_void_p, c_uint64, c_char_p, c_size_t]
    lib.neso_memory_read.argtypes = [c_void_p, c_void_p, c_uint64, c_size_t]
    lib.neso_kernel_compile.argtypes = [c_void_p, c_char_p, POINTER(_CompileOptions), POINTER(c_void_p)]
    lib.neso_kernel_text.argtypes = [c_void_p, c_int, POINTER(c_char_p), POINTER(c_size_t)]
    lib.neso_kernel_load.argtypes = [c_void_p]
    lib.neso_kernel_load_code.argtypes = [c_void_p, POINTER(_Code), c_size_t, POINTER(_Error)]
    lib.neso_kernel_param.argtypes = [c_void_p, c_size_t, POINTER(_Param)]
    lib.neso_kernel_resources.argtypes = [c_void_p, POINTER(_Resources)]
    lib.neso_capsule_launch.argtypes = [c_void_p, POINTER(c_uint32), c_void_p, POINTER(c_void_p), c_void_p, c_void_p, POINTER(_Error)]
    lib.neso_launch.argtypes = [c_void_p, POINTER(c_uint32), c_void_p, POINTER(c_void_p), POINTER(_Error)]
    lib.neso_launch_with.argtypes = [c_void_p, POINTER(c_uint32), c_void_p, POINTER(c_void_p), POINTER(_LaunchOptions), POINTER(_Error)]
    lib.neso_synchronize.argtypes = [c_void_p, c_void_p]
    return lib


_lib = _open()


def version():
    return _lib.neso_version().decode()


def help_text(topic):
    """Returns a table of the language or compiler: "language", "errors", "passes" and so on."""
    context, text = Context(None), c_char_p()
    context._check(_lib.neso_help(context, topic.encode(), ctypes.byref(text)))
    return text.value.decode()


def cache_folder():
    """Returns the cache folder, which the command `neso` uses too: NESO_CACHE_DIR, XDG_CACHE_HOME/neso or ~/.cache/neso; None if the cache
    is off."""
    if os.environ.get("NESO_CACHE") == "off":
        return None
    if os.environ.get("NESO_CACHE_DIR"):
        return os.environ["NESO_CACHE_DIR"]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(home, "neso") if os.path.isabs(home) else None


class _Guard:
    """A context's lock. Only one thread at a time may use a context, except for launches. If Python collects a handle while a thread holds the
    lock, the handle is released when this thread releases the lock."""

    def __init__(self):
        self._lock, self._depth, self._dropped = threading.RLock(), 0, collections.deque()

    def acquire(self):
        self._lock.acquire()
        self._depth += 1

    def release(self):
        if self._depth == 1:
            self._flush()
        self._depth -= 1
        self._lock.release()

    def __enter__(self):
        self.acquire()

    def __exit__(self, *exc):
        self.release()

    def drop(self, release, handle):
        self._dropped.append((release, handle))
        if self._lock.acquire(blocking=False):
            if self._depth == 0:
                self._flush()
            self._lock.release()

    def _flush(self):
        while self._dropped:
            release, handle = self._dropped.popleft()
            release(handle)


class Context:
    """A context of the library. `device` is "cuda", "cuda:1", "interpreter", "emulator", "best", or None to compile only. If
    `capsules` is true, Kernel.capsule can write launches of its kernels to files; NESO_CAPSULE writes the launches that fail."""

    def __init__(self, device="best", cache=None, capsules=False):
        self._as_parameter_ = c_void_p()
        self.lock = _Guard()
        options = _ContextOptions(size=ctypes.sizeof(_ContextOptions), cache=cache.encode() if cache else None)
        if capsules or _capsules.is_on():
            options.wants_capsule = ctypes.cast(_capsules.wants, c_void_p)
            options.capsule = ctypes.cast(_capsules.take, c_void_p)
        if _lib.neso_context_create(ctypes.byref(options), ctypes.byref(self._as_parameter_)) != 0:
            raise NesoError("neso cannot make a context: out of memory", 5)
        if device is None:
            return
        self._check(_lib.neso_context_use_device(self, device.encode(), None))
        self.device = _lib.neso_context_device_text(self).decode()
        self.kind = _lib.neso_context_device(self).decode()

    def _check(self, status):
        if status != 0:
            raise NesoError(_lib.neso_error_text(self).decode(errors="replace"), status)

    def gpus(self):
        """Returns the number of GPUs that the driver sees; 0 without a driver."""
        driver, count = c_int(), c_int()
        return count.value if _lib.neso_find_gpus(self, ctypes.byref(driver), ctypes.byref(count)) == 0 else 0

    def on_print(self, write):
        """Makes the library pass the output of kernels on a CPU to write(text)."""
        self._write = _Write(lambda user, text, length: write(ctypes.string_at(text, length).decode(errors="replace")))
        _lib.neso_context_on_print(self, self._write, None)

    def lend(self, address, nbytes):
        """Lets kernels on a CPU access these bytes of the caller until release(address)."""
        self._check(_lib.neso_memory_lend(self, address, nbytes))

    def module(self, path):
        with open(path, "rb") as f:
            return Module(self, os.path.basename(path), f.read())

    def source(self, name, text, imports=None):
        """Returns the module of a source text; `imports` contains the texts of the modules that it imports, by dotted name."""
        return Module(self, name, text.encode(), imports)

    def allocate(self, nbytes):
        """Allocates memory of the device, and returns its address, which release() frees."""
        address = c_uint64()
        self._check(_lib.neso_memory_allocate(self, nbytes, ctypes.byref(address)))
        return address.value

    def release(self, address):
        self._check(_lib.neso_memory_release(self, address))

    def write(self, address, data):
        self._check(_lib.neso_memory_write(self, address, data, len(data)))

    def read(self, address, nbytes):
        data = ctypes.create_string_buffer(max(1, nbytes))
        self._check(_lib.neso_memory_read(self, data, address, nbytes))
        return data.raw[:nbytes]

    def synchronize(self, stream=0):
        self._check(_lib.neso_synchronize(self, stream))

    def __del__(self, release=_lib.neso_context_release):
        release(self)


class Module:
    def __init__(self, context, name, source, imports=None):
        self.context, self._as_parameter_ = context, c_void_p()
        texts = {k.encode(): ctypes.create_string_buffer(v.encode()) for k, v in (imports or {}).items()}

        def find(_, wanted, length):
            text = texts.get(wanted)
            length[0] = len(text) - 1 if text else 0
            return ctypes.addressof(text) if text else None

        with context.lock:
            context._check(_lib.neso_module_from_files(context, name.encode(), source, len(source), _Find(find), None,
                                                       ctypes.byref(self._as_parameter_)))

    def kernel(self, name, signature, load=True, **options):
        """Compiles a kernel. If `load` is true, also loads it; otherwise the first launch loads it."""
        return Kernel(self, name, signature, options, load)

    def __del__(self, release=_lib.neso_module_release):
        self.context.lock.drop(release, self._as_parameter_)


class Kernel:
    def __init__(self, module, name, signature, options, load=True):
        self.module, self._as_parameter_ = module, c_void_p()
        options = {k: v.encode() if isinstance(v, str) else v for k, v in options.items()}
        o = _CompileOptions(size=ctypes.sizeof(_CompileOptions), signature=signature.encode(), **options)
        if o.check:
            o.checked = ctypes.cast(_report_check, c_void_p)
        context = module.context
        with context.lock:
            context._check(_lib.neso_kernel_compile(module, name.encode(), ctypes.byref(o), ctypes.byref(self._as_parameter_)))
        if load:
            self.load()
        self.params = [self._param(i) for i in range(_lib.neso_kernel_param_count(self))]
        self._types = [kind for _, kind, _ in self.params]

    def load(self, codes=None):
        """Loads the kernel; several threads may load kernels at the same time. `codes` maps the SHA-256 of a PTX text to its cubin, so that
        the driver need not assemble the text."""
        given = [_Code(ctypes.sizeof(_Code), digest.encode(), code, len(code)) for digest, code in (codes or {}).items()]
        if _lib.neso_kernel_load_code(self, (_Code * len(given))(*given), len(given), None) != 0:
            with self.module.context.lock:  # neso_kernel_load fails too, but gives the whole message
                self.module.context._check(_lib.neso_kernel_load(self))

    def _param(self, i):
        """Returns (the type in the signature, the ctypes type, whether the signature promises the value 1)."""
        p = _Param(size=ctypes.sizeof(_Param))
        _lib.neso_kernel_param(self, i, ctypes.byref(p))
        kind = p.type.decode()
        if kind in ("fp32", "f32"):
            held = ctypes.c_float
        elif kind in ("fp64", "f64"):
            held = ctypes.c_double
        else:
            held = {1: ctypes.c_int8, 2: ctypes.c_int16, 4: c_int, 8: c_int64}[p.bytes]
        return kind, held, bool(p.equals_one)

    @property
    def written(self):
        """Returns a list with a bool for each parameter: whether the kernel may write through the parameter."""
        found = []
        for i in range(len(self.params)):
            p = _Param(size=ctypes.sizeof(_Param))
            _lib.neso_kernel_param(self, i, ctypes.byref(p))
            found.append(bool(p.written))
        return found

    def text(self, which="ptx"):
        s, n = c_char_p(), c_size_t()
        with self.module.context.lock:
            self.module.context._check(_lib.neso_kernel_text(self, TEXTS[which], ctypes.byref(s), ctypes.byref(n)))
            return s.value.decode()

    @property
    def resources(self):
        r = _Resources(size=ctypes.sizeof(_Resources))
        self.module.context._check(_lib.neso_kernel_resources(self, ctypes.byref(r)))
        return {name: getattr(r, name) for name, _ in _Resources._fields_[1:]}

    def _refuse(self, args):
        """Raises a TypeError that names a value that does not fit its parameter, or says that the number of values is
        wrong."""
        params = [_Param(size=ctypes.sizeof(_Param)) for _ in self.params]
        for i, p in enumerate(params):
            _lib.neso_kernel_param(self, i, ctypes.byref(p))
        names = [p.name.decode() for p in params]
        if len(args) != len(names):
            raise TypeError(f"the kernel takes {len(names)} values ({', '.join(names)}), and got {len(args)}")
        for name, (kind, held, _), x in zip(names, self.params, args):
            try:
                held(x)
            except (TypeError, ValueError):
                what = "the address of its memory" if kind.startswith("*") else f"a number of type {kind}"
                raise TypeError(f"{name}: expected {what}, found {x!r} of type {type(x).__name__}") from None

    def bind(self, grid, *args, stream=0, call=_lib.neso_launch):
        """Returns a function that launches with these arguments without packing them again."""
        try:
            values = [kind(x) for kind, x in zip(self._types, args, strict=True)]
        except (TypeError, ValueError):
            self._refuse(args)
            raise
        grid = (grid,) if isinstance(grid, int) else tuple(grid)
        pointers = (c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
        dims = (c_uint32 * 3)(*(grid + (1, 1, 1))[:3])
        error = _Error(size=ctypes.sizeof(_Error))

        def launch(keep=values):
            status = call(self, dims, stream, pointers, ctypes.byref(error))
            if status != 0:
                raise NesoError(error.message.decode(errors="replace") + _capsules.take_note(), status)
        return launch

    def capsule(self, path, grid, *args, stream=0):
        """Launches, and writes the launch to a file for `neso replay`, even if it ends with a fault. Returns "result" or "fault".

        Raises NesoError and writes no file if the launch is refused, runs out of memory, is cancelled or ends at a limit; if the
        grid is empty; if there is no memory for the file; or if the contents of the tensors cannot be read from the device.
        """
        found = []

        @_capsules.Give
        def give(_, seen, data, length):
            x = seen.contents
            found.append((x.seen, x.text.decode(errors="replace"), ctypes.string_at(data, length) if data else None))

        def call(kernel, grid, stream, pointers, error):
            status = _lib.neso_capsule_launch(kernel, grid, stream, pointers, give, None, error)
            return 0 if found else status
        self.bind(grid, *args, stream=stream, call=call)()
        if not found:
            raise NesoError("no capsule of this launch: the grid is empty, or there is no memory for the list of arguments", 1)
        seen, text, data = found[0]
        if data is None:
            raise NesoError(text, 5)
        with open(path, "wb") as f:
            f.write(data)
        return "fault" if seen == _capsules.FAULT else "result"

    def __getitem__(self, grid):
        return lambda *args, stream=0: self.bind(grid, *args, stream=stream)()

    def __del__(self, release=_lib.neso_kernel_release):
        self.module.context.lock.drop(release, self._as_parameter_)
