"""neso from Python, through ctypes: compile a Triton source, launch on tensors that live on the GPU already.

    import neso
    module = neso.Context("cuda").module("add.py")
    add = module.kernel("add", "*fp32:16, *fp32:16, *fp32:16, i32:16")
    add[(grid,)](x.data_ptr(), y.data_ptr(), z.data_ptr(), n)

The library is found beside this package's source tree (build/libneso.so), or where NESO_LIBRARY says.
"""
import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

TEXTS = {"ast": 1, "ir": 2, "opt": 3, "mir": 4, "ptx": 5, "json": 6, "explain": 7}


class _CompileOptions(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("signature", c_char_p), ("target", c_char_p), ("num_warps", c_int),
                ("num_stages", c_int), ("max_registers", c_int), ("no_fp_fusion", c_int), ("debug", c_int),
                ("until", c_int), ("passes", c_char_p), ("skip", c_char_p), ("stop_after", c_char_p),
                ("print_after", c_char_p), ("explain", c_char_p), ("print_changed", c_int), ("verify_each", c_int),
                ("verbose_ptx", c_int), ("time", c_int), ("write", c_void_p), ("user", c_void_p),
                ("params", c_char_p)]


class _Param(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("type", c_char_p), ("bytes", c_int), ("divisible", c_int),
                ("equals_one", c_int)]


class _Resources(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("num_warps", c_int), ("num_threads", c_int), ("shared_bytes", c_int),
                ("ptx_version", c_int), ("live_registers", c_int), ("registers", c_int), ("local_bytes", c_int),
                ("trace_seconds", ctypes.c_double), ("opt_seconds", ctypes.c_double),
                ("codegen_seconds", ctypes.c_double)]


class _Error(ctypes.Structure):
    _fields_ = [("size", c_size_t), ("status", c_int), ("driver_code", c_int), ("message", ctypes.c_char * 496)]


_Find = CFUNCTYPE(c_void_p, c_void_p, c_char_p, POINTER(c_size_t))


class NesoError(RuntimeError):
    """status is neso_status: 1 wrong input, 3 no device, 4 the driver refused, 5 out of memory, 6 a defect of neso."""

    def __init__(self, message, status=0):
        super().__init__(message)
        self.status = status


def _open():
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
    lib = ctypes.CDLL(os.environ.get("NESO_LIBRARY", os.path.join(root, "build", "libneso.so")))
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
    lib.neso_memory_write.argtypes = [c_void_p, c_uint64, c_char_p, c_size_t]
    lib.neso_memory_read.argtypes = [c_void_p, c_void_p, c_uint64, c_size_t]
    lib.neso_kernel_compile.argtypes = [c_void_p, c_char_p, POINTER(_CompileOptions), POINTER(c_void_p)]
    lib.neso_kernel_text.argtypes = [c_void_p, c_int, POINTER(c_char_p), POINTER(c_size_t)]
    lib.neso_kernel_load.argtypes = [c_void_p]
    lib.neso_kernel_param.argtypes = [c_void_p, c_size_t, POINTER(_Param)]
    lib.neso_kernel_resources.argtypes = [c_void_p, POINTER(_Resources)]
    lib.neso_launch.argtypes = [c_void_p, POINTER(c_uint32), c_void_p, POINTER(c_void_p), POINTER(_Error)]
    lib.neso_synchronize.argtypes = [c_void_p, c_void_p]
    return lib


_lib = _open()


class Context:
    def __init__(self, device="best"):
        self._as_parameter_ = c_void_p()
        _lib.neso_context_create(None, ctypes.byref(self._as_parameter_))
        if device is None:  # to compile only
            return
        self._check(_lib.neso_context_use_device(self, device.encode(), None))
        self.device = _lib.neso_context_device_text(self).decode()

    def _check(self, status):
        if status != 0:
            raise NesoError(_lib.neso_error_text(self).decode(errors="replace"), status)

    def module(self, path):
        with open(path, "rb") as f:
            return Module(self, os.path.basename(path), f.read())

    def source(self, name, text, imports=None):
        """A module from text; `imports` holds the texts of modules that it imports, by their dotted names."""
        return Module(self, name, text.encode(), imports)

    def allocate(self, nbytes):
        """Memory of the device: its address, to be given to release()."""
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

    def __del__(self):
        _lib.neso_context_release(self)


class Module:
    def __init__(self, context, name, source, imports=None):
        self.context, self._as_parameter_ = context, c_void_p()
        texts = {k.encode(): ctypes.create_string_buffer(v.encode()) for k, v in (imports or {}).items()}

        def find(_, wanted, length):
            text = texts.get(wanted)
            length[0] = len(text) - 1 if text else 0
            return ctypes.addressof(text) if text else None

        context._check(_lib.neso_module_from_files(context, name.encode(), source, len(source), _Find(find), None,
                                                   ctypes.byref(self._as_parameter_)))

    def kernel(self, name, signature, load=True, **options):
        """Compiled, and with `load` assembled for the context's device (else by the first launch)."""
        return Kernel(self, name, signature, options, load)

    def __del__(self):
        _lib.neso_module_release(self)


class Kernel:
    def __init__(self, module, name, signature, options, load=True):
        self.module, self._as_parameter_ = module, c_void_p()
        options = {k: v.encode() if isinstance(v, str) else v for k, v in options.items()}
        o = _CompileOptions(size=ctypes.sizeof(_CompileOptions), signature=signature.encode(), **options)
        context = module.context
        context._check(_lib.neso_kernel_compile(module, name.encode(), ctypes.byref(o), ctypes.byref(self._as_parameter_)))
        if load:
            context._check(_lib.neso_kernel_load(self))
        self._types = [self._param(i) for i in range(_lib.neso_kernel_param_count(self))]

    def _param(self, i):
        p = _Param(size=ctypes.sizeof(_Param))
        _lib.neso_kernel_param(self, i, ctypes.byref(p))
        kind = p.type.decode()
        if kind in ("fp32", "f32"):
            return ctypes.c_float
        if kind in ("fp64", "f64"):
            return ctypes.c_double
        return {1: ctypes.c_int8, 2: ctypes.c_int16, 4: c_int, 8: c_int64}[p.bytes]

    def text(self, which="ptx"):
        s, n = c_char_p(), c_size_t()
        self.module.context._check(_lib.neso_kernel_text(self, TEXTS[which], ctypes.byref(s), ctypes.byref(n)))
        return s.value.decode()

    @property
    def resources(self):
        r = _Resources(size=ctypes.sizeof(_Resources))
        self.module.context._check(_lib.neso_kernel_resources(self, ctypes.byref(r)))
        return {name: getattr(r, name) for name, _ in _Resources._fields_[1:]}

    def bind(self, grid, *args, stream=0):
        """A call that launches with these arguments, without the work of packing them again."""
        values = [kind(x) for kind, x in zip(self._types, args, strict=True)]
        pointers = (c_void_p * max(1, len(values)))(*[ctypes.addressof(v) for v in values])
        dims = (c_uint32 * 3)(*(tuple(grid) + (1, 1, 1))[:3])
        error = _Error(size=ctypes.sizeof(_Error))

        def launch(keep=values):
            status = _lib.neso_launch(self, dims, stream, pointers, ctypes.byref(error))
            if status != 0:
                raise NesoError(error.message.decode(errors="replace"), status)
        return launch

    def __getitem__(self, grid):
        return lambda *args, stream=0: self.bind(grid, *args, stream=stream)()

    def __del__(self):
        _lib.neso_kernel_release(self)
