# SPDX-License-Identifier: MIT
"""test_dispatch.py: tests that the extension distinguishes launches as Triton does, and handles their values, hooks and errors."""
import collections
import ctypes
import gc
import os
import struct
import sys
import unittest
import weakref

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
try:
    from neso import _launch
except ImportError:
    _launch = None

Launch = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint32), ctypes.c_void_p,
                          ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64)), ctypes.c_void_p)
FLOAT, HALF = object(), object()
Read = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
ReadCode = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int32))
ReadDevice = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.POINTER(ctypes.c_int32))
ReadStream = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))


def half_bits(x):
    return struct.unpack("<H", struct.pack("<e", x))[0]


def bfloat_bits(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


class Tensor:
    def __init__(self, address, dtype=FLOAT, is_cuda=True):
        self.address, self.dtype, self.is_cuda = address, dtype, is_cuda

    def data_ptr(self):
        return self.address


class TorchTensor:
    """A tensor that only the functions of TorchCalls can read."""

    def __init__(self, address, dtype=6, device=1):
        self.read = {"address": address, "dtype": dtype, "device": device}


class TorchCalls:
    """Stands for PyTorch's C functions; at an offset of 8 from a tensor's object."""

    def __init__(self):
        self.device, self.status = 3, 0
        self.functions = (Read(self.reader("address")), ReadCode(self.reader("dtype")), ReadCode(self.reader("device")), ReadDevice(self.current),
                          ReadStream(self.stream))
        self.entries = (8, *(ctypes.cast(f, ctypes.c_void_p).value for f in self.functions))

    def reader(self, name):
        def read(tensor, out):
            out[0] = ctypes.cast(tensor - 8, ctypes.py_object).value.read[name]
            return 0
        return read

    def current(self, out):
        out[0] = self.device
        return self.status

    def stream(self, device, out):
        out[0] = 100 + device
        return self.status


Pair = collections.namedtuple("Pair", ["a", "b"])
Other = collections.namedtuple("Other", ["a", "b"])


class Descriptor:
    def __init__(self, address=16, shape=(4, 8), block=(16, 16), padding="zero", dtype=FLOAT):
        self.base, self.shape, self.strides = Tensor(address, dtype), list(shape), [8] * (len(shape) - 1) + [1]
        self.block_shape, self.padding = list(block), padding


class Function:
    """A kernel f(x, n, a=2.5, B: constexpr = 8, p=None) that records its launches; each slow call compiles a new kernel."""
    PLAN = bytes([0, ord("P"), 1, ord("i"), 2, ord("f")])

    def __init__(self, status=0, flags=bytes([0, 0, 0, 1, 0]), plan=PLAN, direct=()):
        self.launches, self.compiled, self.status, self.device, self.hooks, self.globals = [], [], status, 0, [], ()
        self.c_launch = Launch(self.launched)
        self.plan = plan
        self.dispatch = _launch.Dispatch(("x", "n", "a", "B", "p"), (_launch.Dispatch, _launch.Dispatch, 2.5, 8, None), flags, self.slow,
                                         self.remember, self.fail, lambda: self.device, lambda device: 77 + device, (self.hooks,), None, None, None, *direct)

    def launched(self, kernel, grid, stream, args, error):
        self.launches.append((kernel, tuple(grid[:3]), stream, args[0][0], args[1][0], ctypes.cast(args[2], ctypes.POINTER(ctypes.c_float))[0]))
        return self.status

    def slow(self, grid, args, kwargs):
        self.compiled.append(len(args))
        if len(args) + len(kwargs or {}) < 2:
            raise TypeError("n is missing")
        return f"kernel {len(self.compiled)}"

    def remember(self, kernel, args, kwargs):
        address = ctypes.cast(self.c_launch, ctypes.c_void_p).value
        return address, 1000 + len(self.compiled), self.plan, self.globals, (Tensor,)

    def fail(self, status, message):
        raise RuntimeError(f"status {status}")

    def __getitem__(self, grid):
        return self.dispatch.at(grid)


@unittest.skipIf(_launch is None, "neso._launch is not built here: `make python`")
class DispatchTest(unittest.TestCase):
    def count(self, f, *args, **kwargs):
        before = len(f.compiled)
        f[(1,)](*args, **kwargs)
        return len(f.compiled) - before

    def test_a_second_call_launches_with_its_own_values(self):
        f = Function()
        self.assertEqual(f[(4,)](Tensor(4096), 100), "kernel 1")
        self.assertEqual(f.launches, [])
        self.assertEqual(f[(4, 5)](Tensor(8192), 101, 1.25), "kernel 1")
        self.assertEqual(f.launches, [(1001, (4, 5, 1), 77, 8192, 101, 1.25)])
        self.assertEqual(f[[7, 8, 9]](n=102, x=Tensor(16)), "kernel 1")
        self.assertEqual(f.launches[-1], (1001, (7, 8, 9), 77, 16, 102, 2.5))

    def test_what_triton_specializes_on_is_told_apart(self):
        f = Function()
        calls = [((Tensor(4096), 100), {}), ((Tensor(4100), 100), {}), ((Tensor(4096), 96), {}), ((Tensor(4096), 1), {}),
                 ((Tensor(4096), 2**31), {}), ((Tensor(4096), 2**40), {}), ((Tensor(4096, HALF), 100), {}), ((Tensor(4096), True), {}),
                 ((Tensor(4096), 100), {"B": 16}), ((Tensor(4096), 100), {"B": True}), ((Tensor(4096), 100), {"B": "text"}),
                 ((Tensor(4096), 100), {"num_warps": 4}), ((Tensor(4096), 100), {"num_warps": 8}), ((Tensor(4096), 100.0), {}),
                 ((Tensor(4096), None), {}), ((Tensor(4096), 100, 3), {})]
        found = [self.count(f, *args, **kwargs) for args, kwargs in calls]
        self.assertEqual(found, [1] * 4 + [1, 0] + [1] * 10)
        self.assertEqual([self.count(f, *args, **kwargs) for args, kwargs in calls], [0] * len(calls))
        self.assertEqual(self.count(f, Tensor(64), 7), 0)
        self.assertEqual(self.count(f, Tensor(64), -32), 0)
        self.assertEqual(self.count(f, Tensor(64), -(2**31) - 1), 1)

    def test_do_not_specialize(self):
        f = Function(flags=bytes([4, 2, 0, 1, 0]))
        self.assertEqual([self.count(f, Tensor(a), n) for a, n in ((16, 1), (4, 16), (8, 3), (16, 2**40))], [1, 0, 0, 1])

    def test_tuples(self):
        f = Function(plan=bytes([1, ord("P"), 3, ord("i"), 4, ord("f")]))  # x = (number, (array, None)), n, a
        calls = [(2, (Tensor(16), None)), (2, (Tensor(17), None)), (1, (Tensor(16), None)), (2, (Tensor(16), 2.5)), (2, Tensor(16), None),
                 (2, (Tensor(16), None), 5), Pair(2, (Tensor(16), None)), Other(2, (Tensor(16), None))]
        self.assertEqual([self.count(f, x, 7) for x in calls], [1] * len(calls))
        self.assertEqual([self.count(f, x, 7) for x in calls], [0] * len(calls))
        f[(1,)]((3, (Tensor(48), None)), 9, 0.5)
        self.assertEqual(f.launches[-1][3:], (48, 9, 0.5))

    def test_descriptors(self):
        f = Function(plan=bytes([0, ord("P"), 2, ord("i"), 5, ord("f")]))  # base, 2 sizes, 1 stride; n; a
        calls = [Descriptor(), Descriptor(block=(16, 32)), Descriptor(dtype=HALF), Descriptor(padding="nan")]
        self.assertEqual([self.count(f, x, 7) for x in calls], [1] * len(calls))
        self.assertEqual([self.count(f, x, 7) for x in calls], [0] * len(calls))
        f[(1,)](Descriptor(address=64, shape=(10, 20)), 9, 0.5)
        self.assertEqual(f.launches[-1][3:], (64, 20, 0.5))
        self.assertEqual([self.count(f, Descriptor(shape=(10, "20")), 7) for _ in range(2)], [1, 1])
        self.assertEqual(self.count(f, Descriptor(shape=(4,), block=(4,)), 7), 1)

    def test_constants_are_told_apart_by_value(self):
        f = Function()
        first = [0.1, (1, (2.5, "a")), 1.0, 1, True, "1", -0.0, 0.0, ()]
        self.assertEqual([self.count(f, Tensor(16), 3, B=x) for x in first], [1] * len(first))
        again = [0.2 / 2, (1, (5 / 2, "a")), 3.0 / 3, 1, True, "1", -0.0, 0.0, ()]
        self.assertEqual([self.count(f, Tensor(16), 3, B=x) for x in again], [0] * len(again))

    def test_short_floats(self):
        for kind, numbers in (("h", [0.1, 1.0, -2.5, 65504.0, 65519.9, 1e-7, 6e-8, 2.0**-25, 0.0, -0.0, float("inf"), 1.00048828125]),
                              ("b", [0.1, 1.0, -2.5, 3.3e38, 1e-40, 0.0, float("-inf"), 1.00390625, 1.01171875])):
            f = Function(plan=bytes([0, ord("P"), 1, ord("i"), 2, ord(kind)]))
            self.count(f, Tensor(16), 3, 0.5)
            for x in numbers:
                f[(1,)](Tensor(16), 3, x)
                found = struct.unpack("<I", struct.pack("<f", f.launches[-1][5]))[0]
                self.assertEqual(found, (half_bits if kind == "h" else bfloat_bits)(x), (kind, x))
            with self.assertRaises(OverflowError):
                f[(1,)](Tensor(16), 3, 65520.0 if kind == "h" else 1e39)

    def test_devices_have_kernels_of_their_own(self):
        f = Function()
        self.count(f, Tensor(16), 3)
        f.device = 1
        self.assertEqual(self.count(f, Tensor(16), 3), 1)
        self.assertEqual(self.count(f, Tensor(16), 3), 0)
        self.assertEqual(f.launches[-1][2], 78)

    def test_tensors_of_torch_are_read_by_its_c_functions(self):
        calls = TorchCalls()
        f = Function(direct=(calls.entries, (TorchTensor,)))
        different = [TorchTensor(4096), TorchTensor(4100), TorchTensor(4096, dtype=5)]
        self.assertEqual([self.count(f, x, 7) for x in different], [1] * 3)
        self.assertEqual([self.count(f, x, 7) for x in different], [0] * 3)
        self.assertEqual(f.launches[1], (1002, (1, 1, 1), 103, 4100, 7, 2.5))
        self.assertEqual([self.count(f, TorchTensor(4096, device=0), 7) for _ in range(2)], [1, 1])
        self.assertEqual([self.count(f, Tensor(4096), 7) for _ in range(2)], [1, 0])
        calls.device = 4
        self.assertEqual([self.count(f, different[0], 7) for _ in range(2)], [1, 0])
        self.assertEqual(f.launches[-1][2], 104)
        calls.status = 1  # without an answer, Python's functions are called
        self.assertEqual([self.count(f, different[0], 7) for _ in range(2)], [1, 0])
        self.assertEqual(f.launches[-1][2], 77)
        with self.assertRaisesRegex(ValueError, "an offset and 5 addresses"):
            Function(direct=(calls.entries[1:], (TorchTensor,)))

    def test_the_installed_torch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("torch is not installed")
        from neso import torch_calls
        found = torch_calls.find(torch)
        self.assertEqual((len(found), all(found[:4])), (6, True))
        f = Function(direct=((*found[:4], 0, 0), (torch.Tensor,)))
        self.assertEqual([self.count(f, torch.ones(3), 7) for _ in range(2)], [1, 1])  # the tensor is not on a GPU

    def test_keywords_in_any_order(self):
        f = Function()
        self.count(f, Tensor(16), 7)
        for i in range(3):
            f[(1,)](a=1.5, n=7 + i, x=Tensor(16))
            f[(1,)](x=Tensor(16), a=2.5, n=9 + i)
            self.assertEqual([x[3:] for x in f.launches[-2:]], [(16, 7 + i, 1.5), (16, 9 + i, 2.5)])
            f[(1,)](**{"".join("n"): 5, "".join("x"): Tensor(32)})  # names made while the program runs
            self.assertEqual(f.launches[-1][3:], (32, 5, 2.5))

    def test_kernels_in_brackets(self):
        class Kernel(_launch.Indexed):
            def run(self):
                pass

            def _at(self, grid):
                return "python", grid

        f, k = Function(), Kernel()
        with self.assertRaises(AttributeError):
            k[1]
        k._dispatch = None
        self.assertEqual(k[1], ("python", 1))
        other = _launch.Dispatch((), (), b"", None, None, None, None, None, (), None, None, Kernel.run)
        k._dispatch = other
        self.assertEqual(type(k[1]).__name__, "Bound")
        k._dispatch = f.dispatch  # this dispatch was created for another function
        self.assertEqual(k[1], ("python", 1))
        k._dispatch, Kernel.run = other, lambda self: None
        self.assertEqual(k[1], ("python", 1))
        many = [f[i] for i in range(20)]
        del many
        self.assertEqual([self.count(f, Tensor(16), 7) for _ in range(12)], [1] + 11 * [0])

    def test_functions_of_constants(self):
        class Folding(_launch.Folded):
            fn = staticmethod(lambda *args: ("fn", args))

            def _call(self, *args, **kwargs):
                return "call", args, kwargs

        call = Folding()
        self.assertEqual(call(1, 2.5, True, "a"), ("fn", (1, 2.5, True, "a")))
        self.assertEqual(call(1, [2]), ("call", (1, [2]), {}))
        self.assertEqual(call(1, k=2), ("call", (1,), {"k": 2}))

    def test_what_is_unusual_goes_to_python(self):
        f = Function()
        self.count(f, Tensor(16), 3)
        for args in ((Tensor(16, is_cuda=False), 3), ([Tensor(16), 3], 3), (Tensor(16), 2**80)):
            self.assertEqual([self.count(f, *args) for _ in range(2)], [1, 1])
        with self.assertRaises(TypeError):
            f[(1,)](Tensor(16))
        f.hooks.append(print)
        self.assertEqual(self.count(f, Tensor(16), 3), 1)
        f.hooks.clear()
        self.assertEqual(self.count(f, Tensor(16), 3), 0)
        f.dispatch.clear()
        self.assertEqual(self.count(f, Tensor(16), 3), 1)

    def test_a_global_that_changes_goes_to_python(self):
        f, scope = Function(), {"G": "a value"}
        f.globals = ((scope, "G", scope["G"]),)
        self.count(f, Tensor(16), 3)
        self.assertEqual(self.count(f, Tensor(16), 3), 0)
        scope["G"] = "another"
        self.assertEqual(self.count(f, Tensor(16), 3), 1)

    def test_grids(self):
        f, seen = Function(), []
        self.count(f, Tensor(16), 3)
        f[lambda meta: seen.append(meta) or (meta["n"], meta["B"])](Tensor(16), 3)
        self.assertEqual(f.launches[-1][1], (3, 8, 1))
        self.assertEqual([sorted(seen[0]), seen[0]["a"], seen[0]["p"]], [["B", "a", "n", "p", "x"], 2.5, None])
        for grid, error in (((2**32,), ValueError), ((1.5,), TypeError), ((-1,), OverflowError), ((), IndexError),
                            (lambda meta: 1 / 0, ZeroDivisionError)):
            with self.assertRaises(error):
                f[grid](Tensor(16), 3)

    def test_a_failed_launch_raises(self):
        f = Function(status=4)
        self.count(f, Tensor(16), 3)
        with self.assertRaisesRegex(RuntimeError, "status 4"):
            f[(1,)](Tensor(16), 3)

    def test_many_kernels(self):
        f = Function()
        self.assertEqual(sum(self.count(f, Tensor(16), 3, B=i) for i in range(300)), 300)
        self.assertEqual(sum(self.count(f, Tensor(16), 3, B=i) for i in range(300)), 0)
        self.assertEqual(f.dispatch.size(), 300)

    def test_nothing_leaks(self):
        f = Function()
        kept = [object() for _ in range(50)]
        tensor = Tensor(16)

        def counts():
            return [sys.getrefcount(x) for x in [tensor, FLOAT] + kept]

        before = counts()
        for i in range(100):
            f[(1,)](tensor, 3, B=kept[i % 50])
        self.assertNotEqual(before, counts())
        f.dispatch.clear()
        self.assertEqual(before, counts())
        gone = weakref.ref(f)
        f[(1,)](tensor, 3)
        del f
        gc.collect()
        self.assertIsNone(gone())

    def test_the_launcher_of_a_compiled_kernel(self):
        f = Function()
        address, kernel, plan, _, _ = f.remember(None, (), {})
        run = _launch.Launcher(address, kernel, plan, f.fail, f)
        called = []

        class Chain:
            calls = []

        run(1, 2, 3, 5, None, None, "metadata", Chain(), None, Tensor(48), -1, 0.5)
        self.assertEqual(f.launches, [(1000, (1, 2, 3), 5, 48, 2**64 - 1, 0.5)])
        run(1, 1, 1, None, None, None, "metadata", called.append, called.append, None, 2, 3)
        self.assertEqual((f.launches[-1], called), ((1000, (1, 1, 1), None, 0, 2, 3.0), ["metadata"] * 2))
        with self.assertRaises(TypeError):
            run(1, 1, 1, None)
        with self.assertRaises(TypeError):
            run(*[None] * 200)
        run(*(1, 1, 1, None, None, None, None, None, None, Tensor(32), 4, 5))
        self.assertEqual(f.launches[-1], (1000, (1, 1, 1), None, 32, 4, 5.0))
        calls = TorchCalls()
        run = _launch.Launcher(address, kernel, plan, f.fail, f, calls.entries, (TorchTensor, TorchTensor))
        for x in (TorchTensor(80), Tensor(80), 80):
            run(1, 1, 1, None, None, None, None, None, None, x, 4, 5)
            self.assertEqual(f.launches[-1], (1000, (1, 1, 1), None, 80, 4, 5.0))
        with self.assertRaises(IndexError):
            run(1, 1, 1, None, None, None, None, None, None, Tensor(48))


if __name__ == "__main__":
    unittest.main()
