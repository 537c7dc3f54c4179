# SPDX-License-Identifier: MIT
"""test_launches.py: tests kernels that Python launches on the CPU: conversion of arguments, dependencies of a kernel, tuning, hooks, errors.

Arrays are NumPy's if it is installed, else a stand-in that has data_ptr() and a dtype like torch's tensors.
"""
import array
import collections
import concurrent.futures
import contextlib
import ctypes
import importlib.util
import io
import os
import pickle
import sys
import tempfile
import threading
import types
import unittest
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
os.environ.setdefault("NESO_DEVICE", "interpreter")
os.environ["TRITON_CACHE_DIR"] = os.environ["NESO_CACHE_DIR"] = tempfile.mkdtemp()
import neso

neso.install()
import triton
import triton.language as tl
from triton.runtime.jit import specialize_impl
from triton.tools.tensor_descriptor import TensorDescriptor


class Type:
    """A dtype like torch's: its name ends in the type's name."""
    is_floating_point = True

    def __init__(self, name, code, itemsize):
        self.name, self.code, self.itemsize = name, code, itemsize

    def __str__(self):
        return f"torch.{self.name}"


FLOAT, INT = Type("float32", "f", 4), Type("int32", "i", 4)


class Tensor:
    def __init__(self, values, dtype=FLOAT):
        self.values, self.dtype = array.array(dtype.code, values), dtype
        self.shape = (len(values),)

    def data_ptr(self):
        return self.values.buffer_info()[0]

    @property
    def nbytes(self):
        return len(self.values) * self.dtype.itemsize

    def zero_(self):
        ctypes.memset(self.data_ptr(), 0, self.nbytes)

    def clone(self):
        return Tensor(self.values, self.dtype)

    def copy_(self, other):
        ctypes.memmove(self.data_ptr(), other.data_ptr(), self.nbytes)


FACTOR = tl.constexpr(3)
changing = tl.constexpr(1)
Pair = collections.namedtuple("Pair", ["data", "size"])


@triton.jit
def scaled(x, by):
    return x * by


@triton.jit
def scale(x_ptr, y_ptr, n, by, BLOCK: tl.constexpr, add=0.0):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, scaled(x, by) * FACTOR + add, mask=i < n)


@triton.jit
def store_changing(out):
    tl.store(out, changing + 0.0)


@triton.jit
def by_tuple(pair, more, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(pair.data + i, mask=i < pair.size, other=0.0)
    if more[1] is None:
        x += more[0]
    tl.store(out + i, x)


@triton.jit
def of_dtype(x, out, dtype: tl.constexpr, same: tl.constexpr):
    factor: tl.constexpr = 2 if dtype == same and x.dtype.element_ty != dtype else 3
    tl.store(out, tl.load(x) * factor)


@triton.jit
def tripled(out, x, LARGEST: tl.constexpr):
    tl.device_assert(x < LARGEST, "too large")
    tl.store(out, x * 3)


@triton.jit
def accumulate(out, n, BLOCK: tl.constexpr):
    tl.atomic_add(out, BLOCK)


@triton.jit
def mixed_signs(x):
    tl.store(x, tl.load(x) // tl.load(x).to(tl.uint32))


@triton.must_use_result("It is the only result.")
@triton.jit
def adds_texts(x):
    return tl.load(x) + "a"


@triton.jit
def calls_adds_texts(x):
    y = adds_texts(x)
    tl.store(x, y)


@triton.jit
def drops_result(x):
    adds_texts(x)


@triton.jit
def third_axis(x):
    tl.expand_dims(tl.arange(0, 8), 2)


@triton.jit
def pick(x, out, fn: tl.constexpr, dtype: tl.constexpr, mode: tl.constexpr):
    v = fn(tl.load(x), 2.0)
    if mode == "int":
        v = v.to(dtype)
    tl.store(out, v)


@triton.jit(do_not_specialize=["n"])
def unspecialized(out, n, m):
    tl.store(out, n + m)


@triton.jit
def copy_block(desc, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i[:, None] * N + i[None, :], desc.load([0, 0]))


@triton.jit
def broken(x):
    tl.store(x + tl.arange(0, 4), tl.arange(0, 8))


@triton.constexpr_function
def halved(n):
    return n // 2


@triton.jit
def by_halves(out, N: tl.constexpr):
    tl.store(out + tl.arange(0, halved(N)), 1.0)


def during_compilation(f):
    """A decorator as torch.compile's triton_builtin."""

    def wrapper(*args, _semantic, **kwargs):
        return f(*args, _builder=_semantic, **kwargs)

    wrapper.__triton_builtin__ = True
    return wrapper


@during_compilation
def doubled_constant(n, *, _builder=None):
    assert isinstance(n, tl.constexpr)
    return tl.constexpr(2 * n.value)


@triton.jit
def stores_doubled(out, N: tl.constexpr):
    tl.store(out, doubled_constant(N + 1))


@triton.jit
def prints(n):
    tl.device_print("n is", n)


def kernels_of(fn):
    return fn.device_caches[0][0]


asked = triton.language.target_info.cuda_capability_geq


@triton.jit
def on_hopper(x):
    if asked(9, 0):
        tl.store(x + tl.arange(0, 8), 1)
    else:
        tl.store(x + tl.arange(0, 8), 2)


@triton.jit
def says(x, n: tl.constexpr):
    tl.static_print("compiling with", n)
    tl.store(x, n)


x = lambda: None  # a global with the name of a parameter of most kernels of this file


def plain(n):
    return n


@triton.constexpr_function
def calls_plain(n):
    return plain(n)


@triton.jit
def assigns_changing(out):
    tl.store(out, changing)
    _, changing = 0, 0


class LaunchTest(unittest.TestCase):
    def test_a_launch_computes(self):
        x, y = Tensor(range(100)), Tensor([0] * 100)
        kernel = scale[(triton.cdiv(100, 32),)](x, y, 100, 2.0, BLOCK=32)
        self.assertEqual(list(y.values), [6 * v for v in x.values])
        self.assertEqual((kernel.metadata.num_warps, kernel.metadata.name, kernel.name), (4, "scale", "scale"))
        scale[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](x, y, n=100, by=1.0, add=1.0, BLOCK=64, num_warps=8)
        self.assertEqual(list(y.values), [3 * v + 1 for v in x.values])
        scale[4, 1](x, y, 100, 0.0, 32)
        self.assertEqual(set(y.values), {0.0})

    def test_names(self):
        """A library may rename a kernel; `repr` may make a name from types and constants; do_not_specialize must not name a constexpr."""
        x = Tensor([1] * 8, INT)

        @triton.jit(repr=lambda s: f"plus_{s.constants['by']}_{s.signature['n']}")
        def plus(x, n, by: tl.constexpr):
            i = tl.arange(0, 8)
            tl.store(x + i, tl.load(x + i) + by + n)

        plus.fn.__name__ = plus.__name__ = "renamed"
        self.assertEqual(plus[(1,)](x, 5, by=2).name, "plus_2_i32")
        self.assertEqual(list(x.values), [8] * 8)

        @triton.jit(do_not_specialize=["by"])
        def wrong(x, by: tl.constexpr):
            pass

        with self.assertRaisesRegex(triton.CompilationError, "by marked as constexpr and listed in do_not_specialize"):
            wrong[(1,)](x, 1)

    def test_questions_about_the_target(self):
        x = Tensor([0] * 8, INT)
        on_hopper[(1,)](x)
        target = triton.runtime.driver.active.get_current_target()
        self.assertEqual(list(x.values), [1 if target.arch >= 90 else 2] * 8)

    def test_specializations(self):
        scale.device_caches.clear()
        x, y = Tensor(range(100)), Tensor([0] * 100)
        for n, by in ((16, 2.0), (32, 3.0), (17, 2.0), (1, 2.0), (18, 5.0), (16, 2)):
            scale[(1,)](x, y, n, by, BLOCK=32)
        self.assertEqual(len(kernels_of(scale)), 4)
        out = Tensor([0], INT)
        for n in (1, 16, 5):
            unspecialized[(1,)](out, n, 5)
            self.assertEqual(out.values[0], n + 5)
        self.assertEqual(len(kernels_of(unspecialized)), 1)

    def test_what_arguments_become(self):
        t = Tensor([0] * 8)
        aligned = "D" if t.data_ptr() % 16 == 0 else ""
        for x, expected in ((None, ("constexpr", None)), (1, ("constexpr", 1)), (16, ("i32", "D")), (-5, ("i32", "")), (2**31, ("i64", "D")),
                            (2**63, ("u64", "D")), (True, ("u1", None)), (2.5, ("fp32", None)), (t, ("*fp32", aligned)),
                            ((1, (2, None)), (("constexpr", ("i32", "constexpr")), (1, ("", None)))),
                            (Pair(t, 3), (Pair("*fp32", "i32"), Pair(aligned, "")))):
            self.assertEqual(specialize_impl(None, x), expected)
        self.assertEqual(specialize_impl(None, 16, False, False), ("i32", None))
        self.assertEqual(specialize_impl(None, 16, False, True, False), ("i32", ""))
        self.assertEqual(specialize_impl(None, t, True)[0], "*kfp32")
        with self.assertRaises(TypeError):
            specialize_impl(None, object())

    def test_tuples_and_descriptors(self):
        x, out = Tensor(range(8)), Tensor([0] * 8)
        by_tuple[(1,)](Pair(x, 4), (1.5, None), out, BLOCK=8)
        self.assertEqual(list(out.values), [1.5, 2.5, 3.5, 4.5, 1.5, 1.5, 1.5, 1.5])
        x = Tensor(range(64))
        if x.data_ptr() % 16 == 0:
            out = Tensor([0] * 64)
            copy_block[(1,)](TensorDescriptor(x, [8, 8], [8, 1], [8, 8]), out, N=8)
            self.assertEqual(list(out.values), list(range(64)))

    def test_constants_of_every_kind(self):
        x, out = Tensor([2.75]), Tensor([0])
        pick[(1,)](x, out, scaled, tl.int32, "int")
        self.assertEqual(out.values[0], 5)
        pick[(1,)](x, out, fn=scaled, dtype=None, mode="")
        self.assertEqual(out.values[0], 5.5)
        out = Tensor([0] * 8)
        by_halves[(1,)](out, 8)
        self.assertEqual(sum(out.values), 4)

    def test_a_dtype_of_torch(self):
        kind = type("dtype", (), {"__module__": "torch", "__repr__": lambda self: "torch.float32", "__hash__": lambda self: 1,
                                  "__eq__": lambda self, other: self is other})
        x, y, dtype = Tensor([2.0]), Tensor([0]), kind()
        of_dtype[(1,)](x, y, dtype, dtype)
        self.assertEqual(y.values[0], 4)

    def test_an_object_around_a_tensor(self):
        class Storage:
            def __init__(self, tensor):
                self.tensor = tensor

            def data_ptr(self):
                return self.tensor.data_ptr()

            def nbytes(self):
                return self.tensor.nbytes

        class Inner:
            def __init__(self, tensor):
                self.tensor, self.device = tensor, types.SimpleNamespace(type="cpu")

            def untyped_storage(self):
                return Storage(self.tensor)

        class Wrapped:
            def __init__(self, tensor):
                self.dtype, self.layout = tensor.dtype, types.SimpleNamespace(data=Inner(tensor))

            def data_ptr(self):
                return self.layout.data.tensor.data_ptr()

        x, y = Tensor(range(8)), Tensor([0] * 8)
        scale[(1,)](Wrapped(x), y, 8, 1.0, BLOCK=8)
        self.assertEqual(list(y.values), [3 * v for v in x.values])

    def test_globals_keep_their_values(self):
        global changing
        out = Tensor([0])
        store_changing[(1,)](out)
        self.assertEqual(out.values[0], 1)
        changing = tl.constexpr(2)
        try:
            with self.assertRaisesRegex(RuntimeError, "changing has changed since we compiled this kernel"):
                store_changing[(1,)](out)
        finally:
            changing = tl.constexpr(1)

    def test_a_global_that_the_kernel_assigns_later(self):
        global changing
        out = Tensor([0])
        assigns_changing[(1,)](out)
        changing = tl.constexpr(2)
        try:
            with self.assertRaisesRegex(RuntimeError, "changing has changed since we compiled this kernel"):
                assigns_changing[(1,)](out)
        finally:
            changing = tl.constexpr(1)

    def test_a_function_without_a_decorator(self):
        with self.assertRaisesRegex(RuntimeError, "Unsupported function referenced: <function plain"):
            calls_plain.cache_key

    def test_a_profile(self):
        """Scopes, launches and numbers are recorded on the CPU, too; times of kernels come from a trace of PyTorch's profiler."""
        import triton.profiler as proton
        from triton.profiler import recording, viewer

        @triton.jit(launch_metadata=lambda grid, kernel, args: {"name": f"fill {args['n']}", "flops32": args["n"]})
        def fill(x, n):
            tl.store(x, n)

        def event(kind, name, start, duration, thread, number=0):
            return {"cat": kind, "name": name, "ts": start, "dur": duration, "tid": thread, "args": {"correlation": number}}

        x, out = Tensor([0], INT), io.StringIO()
        with tempfile.TemporaryDirectory() as folder:
            proton.start(os.path.join(folder, "p"), hook="triton")
            with proton.scope("outer", {"flops16": 7}):
                fill[(1,)](x, 5)
                fill[(1,)](x, 5)
                proton.enter_scope("inner")
                fill[(1,)](x, 6)
                proton.exit_scope("inner")
            proton.deactivate()
            fill[(1,)](x, 8)
            root = proton._recorder.sessions[min(proton._recorder.sessions)].root
            marks = [recording.Mark(("outer",), False, None), recording.Mark(("outer", "fill 5"), True, None)]
            recording.add_kernels(root, [event("user_annotation", "neso-scope 0", 0, 100, 7), event("user_annotation", "neso-scope 1", 10, 20, 7),
                                         event("cuda_driver", "cuLaunchKernel", 15, 2, 7, 1), event("cuda_runtime", "cudaLaunchKernel", 50, 2, 7, 2),
                                         event("cuda_runtime", "cudaLaunchKernel", 50, 2, 8, 3), event("kernel", "fill", 200, 5, 0, 1),
                                         event("kernel", "gemm", 210, 3, 0, 2), event("kernel", "copy", 220, 1.5, 0, 3), {"ph": "M"}], marks)
            proton.finalize()
            tree, metrics = viewer.parse(["time/us", "flops32", "bytes"], os.path.join(folder, "p.hatchet"))
            with contextlib.redirect_stdout(out):
                viewer.print_tree(tree, metrics, precision=1)
        self.assertEqual(out.getvalue(), "time/us flops32\n9.5 16.0 ROOT\n├─ 8.0 16.0 outer\n│  ├─ 5.0 10.0 fill 5\n│  ├─ - 6.0 inner\n"
                                         "│  │  └─ - 6.0 fill 6\n│  └─ 3.0 - gemm\n└─ 1.5 - copy\n")
        with self.assertRaisesRegex(ValueError, "data='trace'"):
            proton.start(data="trace")

    def test_the_listing_of_machine_code(self):
        from triton.tools import disasm
        dump = """
                Function : f
        .headerflags    @"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                            /* 0x00000a00ff017b82 */
                                                                                     /* 0x000fe20000000800 */
        /*0010*/                   ISETP.GE.AND P0, PT, R4, 0x80, PT ;               /* 0x000000800400780c */
                                                                                     /* 0x002fea0003f06270 */
        /*0020*/              @!P0 BRA 0x0;                                          /* 0xfffffffc00f88947 */
                                                                                     /* 0x004fc8000383ffff */
                Function : g
"""
        with tempfile.TemporaryDirectory() as folder:
            tool = os.path.join(folder, "cuobjdump")
            with open(tool, "w") as f:
                f.write(f"#!/bin/sh\n[ $1 = --version ] && echo 'release 13.0, V13.0' && exit\ncat <<'END'{dump}END\n")
            os.chmod(tool, 0o755)
            os.environ["TRITON_CUOBJDUMP_PATH"] = tool
            try:
                found = disasm.get_sass(b"a cubin")
            finally:
                del os.environ["TRITON_CUOBJDUMP_PATH"]
        self.assertEqual(found, "Function:f\nLBB0:\n--:-:-:-:1\tLDC R1, c[0x0][0x28];\n02:-:-:-:5\tISETP.GE.AND P0, PT, R4, 0x80, PT;\n"
                                "04:-:-:Y:4\t@!P0 BRA LBB0;\n\n")

    def test_absent_modules_say_why(self):
        for name, why in (("experimental.gluon", "Gluon's kernels cannot be compiled"), ("experimental.gluon.language", "Gluon"),
                          ("backends.amd.driver", "NVIDIA"), ("language.semantic", "@triton.jit"), ("tools.compile", "--emit c"),
                          ("compiler.code_generator", "no MLIR"), ("nonsense", "No module named 'triton.nonsense'")):
            with self.assertRaisesRegex(ModuleNotFoundError, why):
                importlib.import_module("triton." + name)
        with self.assertRaisesRegex(ImportError, "Gluon"):
            from triton.experimental import gluon  # noqa: F401
        self.assertIsNone(importlib.util.find_spec("triton.experimental.gluon"))
        self.assertFalse(hasattr(triton.experimental, "gluon"))

    def test_messages_point_into_this_file(self):
        line = broken.starting_line_number + 2
        with self.assertRaises(triton.CompilationError) as e:
            broken[(1,)](Tensor([0] * 8))
        self.assertIn(f"test_launches.py:{line}:", str(e.exception))
        x = Tensor([0] * 8)
        with self.assertRaisesRegex(Exception, "out of bounds"):
            scale[(1,)](x, x, 9, 2.0, BLOCK=16)
        for call, error in ((lambda: scale[(1,)](x), TypeError), (lambda: scale[(1,)](x, x, 1, 1.0, 16, wrong=3), KeyError),
                            (lambda: scale(x), RuntimeError), (lambda: tl.exp(1.0), ValueError), (lambda: tl.nothing, AttributeError),
                            (lambda: triton.nothing, AttributeError)):
            self.assertRaises(error, call)

    def test_words_of_triton(self):
        """Messages contain the words for which programs search in Triton's errors."""
        x = Tensor([1] * 8, INT)
        for call, words in ((lambda: mixed_signs[(1,)](x), "Cannot use .* because they have different signedness"),
                            (lambda: third_axis[(1,)](x), "invalid axis 2")):
            with self.assertRaisesRegex(triton.CompilationError, words) as found:
                call()
            self.assertRegex(str(found.exception.__cause__), words)

    def test_forms_of_triton(self):
        """Errors give places as Triton does, from the `def` of each function, and a called function's error is the cause."""
        x = Tensor([1] * 8, INT)
        with self.assertRaises(triton.CompilationError) as found:
            calls_adds_texts[(1,)](x)
        error = found.exception
        self.assertIn(f"test_launches.py:{adds_texts.starting_line_number + 3}:", str(error))
        self.assertIn("at 2:8:\n", str(error))
        self.assertTrue(str(error.__cause__).startswith("at 2:11:\ndef adds_texts(x):\n"), str(error.__cause__))
        self.assertEqual((error.__cause__.node.lineno, error.__cause__.__cause__), (2, None))
        self.assertEqual(str(pickle.loads(pickle.dumps(error))), str(error))
        with self.assertRaises(triton.CompilationError) as found:
            drops_result[(1,)](x)
        self.assertEqual(str(found.exception).split("\n")[-1], "The result of adds_texts is not being used. It is the only result.")

    def test_limits(self):
        x = Tensor([0] * 8)
        with self.assertRaises(OverflowError):
            scale[(1,)](x, x, -2**63 - 1, 1.0, BLOCK=8)
        with self.assertRaisesRegex(triton.OutOfResources, "threads, Required: 4096"):
            scale[(1,)](x, x, 8, 1.0, BLOCK=8, num_warps=128)
        options = triton.compiler.make_backend(triton.backends.compiler.GPUTarget("cuda", 90, 32)).parse_options({"extern_libs": {"a": "b.bc"}})
        self.assertEqual(options.extern_libs, (("a", "b.bc"),))

    def test_hooks(self):
        seen = []
        x = Tensor([0] * 8)
        enter, leave = (lambda metadata: seen.append(metadata.get()["name"])), (lambda metadata: seen.append("left"))
        triton.knobs.runtime.launch_enter_hook.add(enter)
        triton.knobs.runtime.launch_exit_hook.add(leave)
        scale.add_pre_run_hook(lambda *args, **kwargs: seen.append(len(args)))
        triton.knobs.runtime.jit_cache_hook = lambda **kwargs: seen.append(sorted(kwargs)[0])
        try:
            scale.device_caches.clear()
            scale[(1,)](x, x, 8, 1.0, BLOCK=8)
        finally:
            triton.knobs.runtime.launch_enter_hook.remove(enter)
            triton.knobs.runtime.launch_exit_hook.remove(leave)
            scale.pre_run_hooks.clear()
            triton.knobs.runtime.jit_cache_hook = None
        self.assertEqual(seen, [4, "already_compiled", "scale", "left"])

    def test_tuning(self):
        tried, out = [], Tensor([0], INT)
        configs = [triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((16, 4), (32, 2), (64, 4))]

        def bench(call, quantiles):
            call()
            tried.append(out.values[0])
            return [float(out.values[0])] * 3

        tuned = triton.autotune(configs, key=["n"], reset_to_zero=["out"], do_bench=bench,
                                prune_configs_by={"early_config_prune": lambda configs, args, **kwargs: configs[:2]})(accumulate)
        tuned[(2,)](out, 5)
        self.assertEqual((tried, out.values[0], tuned.best_config.kwargs, len(tuned.cache)), ([32, 64], 32, {"BLOCK": 16}, 1))
        tuned[(1,)](out, 5)
        tuned[(1,)](out, 6)
        self.assertEqual((len(tuned.cache), len(tuned.configs_timings)), (2, 2))
        chosen = triton.heuristics({"BLOCK": lambda args: args["n"] * 8})(accumulate)
        out.zero_()
        chosen[(1,)](out, 2)
        self.assertEqual(out.values[0], 16)
        kept = triton.autotune(configs[:1], key=[], restore_value=["out"])(accumulate)
        kept[(1,)](out, 2)
        self.assertEqual(out.values[0], 32)

    def test_compiled_kernels(self):
        kernel = scale.warmup(triton.MockTensor(tl.float32), triton.MockTensor(tl.float32), 100, 2.0, BLOCK=32, grid=(1,))
        self.assertIn(".entry scale(", kernel.asm["ptx"])
        os.environ["NESO_PTXAS"] = "off"
        try:
            self.assertEqual(kernel.asm["cubin"], kernel.asm["ptx"].encode() + b"\0")
        finally:
            del os.environ["NESO_PTXAS"]
        with self.assertRaises(KeyError):
            kernel.asm["ttgir"]
        x, y = Tensor(range(100)), Tensor([0] * 100)
        kernel[(4,)](x, y, 100, 2.0, 32, 1.0)
        self.assertEqual(y.values[99], 6 * 99 + 1)
        self.assertGreater(kernel.n_regs, 0)
        target = triton.backends.compiler.GPUTarget("cuda", 80, 32)
        source = triton.compiler.ASTSource(scale, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "by": "fp32", "BLOCK": "constexpr",
                                                   "add": "fp32"}, {"BLOCK": 64}, {(0,): [["tt.divisibility", 16]]})
        kernel = triton.compile(source, target=target, options={"num_warps": 2})
        self.assertIn(".target sm_80", kernel.asm["ptx"])
        self.assertTrue(os.path.exists(kernel.metadata_group["scale.cubin"]))
        kernel.src.fn = None
        again = pickle.loads(pickle.dumps(kernel))
        self.assertEqual((again.asm["ptx"], again.metadata.num_warps, again.recipe.signature),
                         (kernel.asm["ptx"], 2, kernel.recipe.signature))

    def test_which_tensors_are_written(self):
        """The walk that torch makes over a kernel's IR finds the written tensors."""
        source = triton.compiler.ASTSource(scale, {"x_ptr": "*fp32", "y_ptr": "*fp32", "n": "i32", "by": "fp32", "BLOCK": "constexpr",
                                                   "add": "fp32"}, {"BLOCK": 64, "n": 2, "by": 2.0, "add": 0.0})
        target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
        options = triton.compiler.make_backend(target).parse_options({})
        module, seen = source.make_ir(target, options, {}, {}, triton._C.libtriton.ir.context()), []
        module.walk(seen.append)
        self.assertEqual([op.get_name() for op in seen], ["tt.store", "tt.return", "tt.func", "builtin.module"])
        block = seen[0].get_block()
        self.assertEqual((block.get_num_arguments(), seen[0].get_operand(0).id()), (2, block.get_argument(1).id()))
        self.assertEqual((seen[2].get_region(0).id(), seen[2].get_str_attr("sym_name")), (block.get_parent().id(), "scale"))

    def test_static_prints(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            says[(1,)](Tensor([0] * 8, INT), 5)
        self.assertEqual(out.getvalue(), "compiling with 5\n")

    def test_prints(self):
        written, out = [], sys.stdout
        sys.stdout = type("Out", (), {"write": written.append, "flush": lambda self=None: None})
        try:
            prints[(1,)](7)
        finally:
            sys.stdout = out
        self.assertIn("n is: 7", "".join(written))

    def test_checks_of_a_debugged_kernel(self):
        out = Tensor([0], INT)
        with self.assertRaisesRegex(Exception, "int32 overflow detected for operation mul"):
            tripled[(1,)](out, 1 << 30, LARGEST=1 << 31, debug=True)
        tripled[(1,)](out, 1 << 30, LARGEST=1 << 31, debug=True, sanitize_overflow=False)
        self.assertEqual(out.values[0], -1 << 30)
        with self.assertRaisesRegex(Exception, "too large"):
            tripled[(1,)](out, 1 << 30, LARGEST=5, debug=True, sanitize_overflow=False)
        tripled[(1,)](out, 1 << 30, LARGEST=5)
        debugged = triton.jit(debug=True)(tripled.fn)
        debugged[(1,)](out, 1 << 30, LARGEST=5, debug=False)
        with self.assertRaisesRegex(Exception, "int32 overflow detected for operation mul"):
            debugged[(1,)](out, 1 << 30, LARGEST=1 << 31)

    def test_functions_that_run_during_compilation(self):
        out = Tensor([0], INT)
        stores_doubled[(1,)](out, N=4, debug=True)
        self.assertEqual(out.values[0], 10)

    def test_cooperative_launches(self):
        x, y = Tensor(range(16)), Tensor([0] * 16)
        kernel = scale[(2,)](x, y, 16, 2.0, BLOCK=8, launch_cooperative_grid=True)
        self.assertEqual(list(y.values), [6 * v for v in x.values])
        self.assertFalse(kernel.metadata.launches_plainly)

    def test_options_that_neso_does_not_follow(self):
        x, y = Tensor(range(8)), Tensor([0] * 8)
        here = f"test_launches.py:{scale.starting_line_number}: "
        with self.assertWarnsRegex(UserWarning, here + "num_ctas=2 of 'scale' is not followed"):
            scale[(1,)](x, y, 8, 2.0, BLOCK=8, num_ctas=2)
        self.assertEqual(list(y.values), [6 * v for v in x.values])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scale[(1,)](x, y, 8, 2.0, BLOCK=4, num_ctas=2)  # the warning appears only once

    def test_kernels_compiled_by_an_executor(self):
        scale.device_caches.clear()
        x, y, futures = Tensor(range(16)), Tensor([0] * 16), []
        with concurrent.futures.ThreadPoolExecutor(2) as pool, triton.AsyncCompileMode(pool):
            for block in (8, 16, 16):
                futures.append(scale.warmup(x, y, 16, 2.0, BLOCK=block, grid=(1,)))
            scale[(1,)](x, y, 16, 2.0, BLOCK=16)
        self.assertEqual((y.values[15], futures[0].result().name, len(kernels_of(scale))), (90, "scale", 2))

    def test_settings(self):
        with triton.knobs.compilation.scope():
            triton.knobs.compilation.always_compile = True
            self.assertTrue(triton.knobs.compilation.always_compile)
        self.assertFalse(triton.knobs.compilation.always_compile)
        self.assertEqual(triton.knobs.cache.dir, os.environ["TRITON_CACHE_DIR"])
        os.environ["TRITON_PRINT_AUTOTUNING"] = "1"
        self.assertTrue(triton.knobs.autotuning.print)
        del os.environ["TRITON_PRINT_AUTOTUNING"]
        self.assertFalse(triton.knobs.autotuning.print)
        with triton.knobs.cache.scope():
            triton.knobs.cache.home_dir = "/home/a"
            self.assertEqual(triton.knobs.cache.dump_dir, "/home/a/.triton/dump")
        with triton.knobs.redis.scope():
            os.environ["TRITON_REDIS_PORT"] = "1"
            self.assertEqual(triton.knobs.redis.port, 1)
            triton.knobs.redis.port = 2
            self.assertEqual(triton.knobs.redis.port, 2)
            triton.knobs.redis.port = triton.knobs.env
            self.assertEqual(triton.knobs.redis.port, 2)  # setting it has set the variable, too

    def test_threads(self):
        xs = [Tensor(range(64)) for _ in range(4)]
        ys = [Tensor([0] * 64) for _ in range(4)]
        threads = [threading.Thread(target=lambda i=i: [scale[(2,)](xs[i], ys[i], 64, float(i), BLOCK=32) for _ in range(5)]) for i in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual([y.values[2] for y in ys], [0, 6, 12, 18])

    def test_kernels_are_released(self):
        """Kernels are released in any thread in which Python collects them, also while other threads compile."""
        context = neso.Context("interpreter")
        text = "import triton\nimport triton.language as tl\n\n@triton.jit\ndef f(x):\n    tl.store(x, 1)\n"
        kernels = [context.source("f.py", text).kernel("f", "*i32") for _ in range(20)]

        def compile_and_drop():
            for _ in range(20):
                context.source("f.py", text).kernel("f", "*i32", num_warps=2)
                if kernels:
                    kernels.pop()

        threads = [threading.Thread(target=compile_and_drop) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual((len(kernels), len(context.lock._dropped)), (0, 0))

    def test_numpy(self):
        try:
            import numpy as np
        except ImportError:
            self.skipTest("NumPy is not installed")
        x = np.arange(200, dtype=np.float32).reshape(2, 100)
        y = np.zeros_like(x)
        scale[(4,)](x[1], y[1], 100, 2.0, BLOCK=32)
        self.assertTrue((y[1] == 6 * x[1]).all() and (y[0] == 0).all())
        with self.assertRaisesRegex(Exception, "out of bounds"):
            scale[(4,)](x[1], y[1], 101, 2.0, BLOCK=32)
        scale[(1,)](x[0][::2], y[0], np.int32(8), np.float32(1), BLOCK=8)
        self.assertEqual(y[0, 7], 21)

    def test_types_of_the_language(self):
        self.assertEqual((str(tl.float32), repr(tl.float16), tl.bfloat16.itemsize, tl.int1.primitive_bitwidth),
                         ("fp32", "triton.language.float16", 2, 1))
        self.assertEqual(tl.pointer_type(tl.int8), tl.pointer_type(tl.dtype("int8")))
        self.assertEqual((tl.constexpr(3) + 4).value, 7)
        self.assertEqual((triton.cdiv(10, 4), triton.next_power_of_2(17)), (3, 32))
        self.assertEqual(str(triton.Config({"B": 1})), "B: 1, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: None")


if __name__ == "__main__":
    unittest.main()
