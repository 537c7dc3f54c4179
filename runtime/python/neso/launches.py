# SPDX-License-Identifier: MIT
"""launches.py: passes the arguments of a launch to the compiled kernel.

    run(grid_0, grid_1, grid_2, stream, function, metadata, launch metadata, hooks, *arguments)
        arguments ─► values (elements of tuples, parts of descriptors; no constants) ─► addresses and numbers ─► neso_launch

If the device is the CPU, launches.py lends the arrays' memory to the device during a launch, and copies tensors on a GPU to the CPU and
back.
"""
import ctypes
import struct
import sys

from . import capsules, contexts, library, torch_calls

try:
    from . import _launch as extension
except ImportError:  # the package was built without a C compiler, so launches use ctypes
    extension = None


class Leaf:
    """One value among the arguments: its path, its type, and its place (see extension/key.h)."""

    def __init__(self, path, kind, place):
        self.path, self.kind, self.place = path, kind, place
        self.is_pointer, self.is_descriptor = kind.startswith("*"), kind.startswith("tensordesc")

    def of(self, args):
        x = args[self.path[0]]
        for i in self.path[1:]:
            x = x[i]
        return x


def leaves_of(signature, constants, names):
    """Returns the values that a launch passes, in order."""
    found, places = [], 0

    def walk(path, kind):
        nonlocal places
        if isinstance(kind, (tuple, list)):
            for i, k in enumerate(kind):
                walk(path + (i,), k)
            return
        if kind != "constexpr" and path not in constants:
            found.append(Leaf(path, kind, places))
        places += 2 * rank_of(kind) if kind.startswith("tensordesc") else 1

    for i, name in enumerate(names):
        walk((i,), signature.get(name, "constexpr"))
    return found


def rank_of(kind):
    """Returns the number of dimensions of a descriptor type: 2 for "tensordesc<fp16[128, 64], nan>"."""
    return len(kind[kind.index("[") + 1:kind.index("]")].split(","))


def address_of(x):
    """Returns the address of an array's first element; returns a number unchanged."""
    if x is None:
        return 0
    if isinstance(x, int):
        return x
    if hasattr(x, "data_ptr"):
        return x.data_ptr()
    face = getattr(x, "__cuda_array_interface__", None) or getattr(x, "__array_interface__", None)
    if face is not None:
        return face["data"][0]
    if hasattr(x, "unsafe_buffer_pointer"):
        return x.unsafe_buffer_pointer()
    raise TypeError(f"expected an array or an address, found {type(x).__name__}: it has no data_ptr(), __cuda_array_interface__ or "
                    "__array_interface__")


def half_bits(x):
    return struct.unpack("<h", struct.pack("<e", x))[0]


def bfloat_bits(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) - (0x10000 if bits >> 31 else 0) if x == x else 0x7FC0


CONVERT = {"fp16": half_bits, "bf16": bfloat_bits}
LETTERS = {"fp32": "f", "f32": "f", "fp64": "d", "f64": "d", "fp16": "h", "f16": "h", "bf16": "b"}  # as in extension/launch.h


class Launcher:
    """The function CompiledKernel.run in Python, for kernels and devices that the extension does not support. `cooperative`: all programs
    of a launch run at once."""

    def __init__(self, kernel, device, signature, constants, names, cooperative=False):
        self.kernel, self.device = kernel, device
        self.options = ctypes.byref(library._LaunchOptions(ctypes.sizeof(library._LaunchOptions), 1)) if cooperative else None
        self.leaves = leaves_of(signature, constants, names)
        self.kinds = [(held, CONVERT.get(kind), is_one) for kind, held, is_one in kernel.params]
        self.pointers = []  # for each value of flat(): whether it is an array's address
        for leaf in self.leaves:
            self.pointers += [True] + [False] * (2 * rank_of(leaf.kind) - 1) if leaf.is_descriptor else [leaf.is_pointer]
        has_plans = extension and device not in contexts.CPU and not cooperative
        self.plan, self.places = (self._plan(by_place) if has_plans else None for by_place in (False, True))
        self.addresses = ctypes.cast(library._lib.neso_launch, ctypes.c_void_p).value, kernel._as_parameter_.value

    def _plan(self, by_place):
        """Returns the extension's plan, which has an argument (or a place) and a conversion for each value. Returns None if a plan cannot express
        the launch."""
        out, kinds = bytearray(), iter(self.kernel.params)

        def entry(at, leaf=None):
            kind, _, is_one = next(kinds)
            letter = "1" if is_one else "P" if leaf and (leaf.is_pointer or leaf.is_descriptor) else LETTERS.get(kind, "i")
            out.extend((0 if is_one else at, ord(letter)))
            return is_one

        for leaf in self.leaves:
            at = leaf.place if by_place else leaf.path[0]
            if at + 2 * 5 > 255 or not by_place and (len(leaf.path) > 1 or leaf.is_descriptor):
                return None
            while entry(at, leaf):  # a value that is always 1 comes from no argument
                pass
            for i in range(1, 2 * rank_of(leaf.kind) if leaf.is_descriptor else 1):
                entry(at + i)
        for _, _, is_one in kinds:
            if not is_one:
                return None
            out.extend((0, ord("1")))
        return bytes(out)

    def in_c(self):
        """Returns the extension's launcher for this kernel; None if the extension cannot launch it."""
        if self.plan is None:
            return None
        return extension.Launcher(*self.addresses, self.plan, fail, self, *torch_calls.direct(sys.modules.get("torch")))

    def flat(self, args):
        """Returns a value or an array for each parameter of neso's kernel that is not a constant."""
        out = []
        for leaf in self.leaves:
            x = leaf.of(args)
            if leaf.is_descriptor:
                out.append(x.base)
                out += [*x.shape, *x.strides[:-1]]
            else:
                out.append(x)
        return out

    def __call__(self, grid_0, grid_1, grid_2, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
        if enter_hook is not None:
            enter_hook(launch_metadata)
        values = self.flat(args)
        if self.device in contexts.CPU:
            with Lent(self.kernel.module.context, values) as values:
                self.launch((grid_0, grid_1, grid_2), None, values)
        else:
            values = [address_of(x) if p else x for x, p in zip(values, self.pointers)]  # an argument that is a number may be a
                                                                                         # tensor without dimensions
            self.launch((grid_0, grid_1, grid_2), stream, values)
        if exit_hook is not None:
            exit_hook(launch_metadata)

    def launch(self, grid, stream, values):
        values, held = iter(values), []
        for kind, convert, is_one in self.kinds:
            x = 1 if is_one else next(values)
            if type(x) not in (int, float, bool):
                x = number_of(x, kind)
            held.append(kind(convert(x) if convert else x))
        pointers = (ctypes.c_void_p * max(1, len(held)))(*[ctypes.addressof(v) for v in held])
        error = library._Error(size=ctypes.sizeof(library._Error))
        status = library._lib.neso_launch_with(self.kernel, (ctypes.c_uint32 * 3)(*grid), stream, pointers, self.options, ctypes.byref(error))
        if status != 0:
            fail(status, error.message.decode(errors="replace"))


def check_tensors(values, device):
    """Raises an error for tensors that the GPU cannot access."""
    for i, x in enumerate(values if device not in contexts.CPU else ()):
        if getattr(x, "is_cpu", False) is True and not x.is_pinned():
            raise ValueError(f"Pointer argument (at {i}) cannot be accessed from Triton (cpu tensor?)")


def number_of(x, kind):
    if kind in (ctypes.c_float, ctypes.c_double):
        return float(x)
    return address_of(x) if not hasattr(x, "__index__") or getattr(x, "shape", None) not in (None, ()) else int(x)


def fail(status, message):
    raise error_of(library.NesoError(message + capsules.take_note(), status), None)


def error_of(e, metadata):
    """Converts an error of a launch or load to the exception that Triton raises."""
    if not isinstance(e, library.NesoError):
        return e
    text = str(e)
    if e.status == 4:
        return RuntimeError(f"Triton Error [CUDA]: {text}")
    return e


# -- arrays of the host --

class Host:
    """The memory of an array, or of its copy on the CPU, which a CPU device may access."""

    def __init__(self, base, nbytes, shift=0, keep=None, back=None):
        self.base, self.nbytes, self.shift, self.keep, self.back = base, nbytes, shift, keep, back


def host_of(x, copies):
    """Returns the memory of an array of any library; None if x is a number."""
    x = getattr(x, "base", x) if type(x).__name__ == "TensorWrapper" else x
    if hasattr(x, "untyped_storage"):
        storage = x.untyped_storage()
        if x.device.type == "cpu":
            return Host(storage.data_ptr(), storage.nbytes())
        if storage.data_ptr() not in copies:
            copies[storage.data_ptr()] = Host(0, storage.nbytes(), keep=storage.cpu(), back=storage)
        copy = copies[storage.data_ptr()]
        copy.base, copy.shift = copy.keep.data_ptr(), copy.keep.data_ptr() - storage.data_ptr()
        return copy
    if hasattr(x, "__array_interface__") and getattr(x, "shape", ()) != ():
        low, high = bounds(whole(x))
        return Host(low, high - low)
    if hasattr(x, "unsafe_buffer_pointer"):
        return Host(x.unsafe_buffer_pointer(), x.nbytes)
    if hasattr(x, "data_ptr") and hasattr(x, "nbytes"):
        return Host(x.data_ptr(), x.nbytes)
    inner = tensor_of(x, x.data_ptr()) if hasattr(x, "data_ptr") else None
    return None if inner is None else host_of(inner, copies)


def tensor_of(x, address, depth=3):
    """Returns the tensor in the attributes of an object, or in their attributes, whose storage contains the address; None if there
    is none."""
    for y in vars(x).values() if depth and hasattr(x, "__dict__") else ():
        if hasattr(y, "untyped_storage"):
            storage = y.untyped_storage()
            if storage.data_ptr() <= address < storage.data_ptr() + storage.nbytes():
                return y
        inner = tensor_of(y, address, depth - 1)
        if inner is not None:
            return inner
    return None


def whole(x):
    """Returns the array that owns the memory of a NumPy view."""
    while hasattr(getattr(x, "base", None), "__array_interface__"):
        x = x.base
    return x


def bounds(x):
    """Returns the address of the first byte and the address after the last byte."""
    low = high = x.__array_interface__["data"][0]
    for n, stride in zip(x.shape, x.strides):
        low, high = low + min(0, (n - 1) * stride), high + max(0, (n - 1) * stride)
    return low, high + x.itemsize


class Lent:
    """Lends the arrays' memory to a CPU device, and replaces arrays by addresses."""

    def __init__(self, context, values):
        self.context, self.values, self.copies, self.lent = context, values, {}, []

    def __enter__(self):
        found, hosts = [], []
        for x in self.values:
            host = None if x is None or isinstance(x, (int, float)) else host_of(x, self.copies)
            found.append(x if host is None else address_of(x) + host.shift)
            if host is not None and host.nbytes:
                hosts.append((host.base, host.base + host.nbytes))
        self.context.lock.acquire()
        try:
            for low, high in merged(hosts):
                self.context.lend(low, high - low)
                self.lent.append(low)
        except BaseException:
            self.__exit__()
            raise
        return found

    def __exit__(self, *exc):
        for low in self.lent:
            self.context.release(low)
        self.context.lock.release()
        for host in self.copies.values():
            host.back.copy_(host.keep)


def merged(ranges):
    """Merges ranges that overlap."""
    out = []
    for low, high in sorted(ranges):
        if out and low < out[-1][1]:
            out[-1] = (out[-1][0], max(high, out[-1][1]))
        else:
            out.append((low, high))
    return out
