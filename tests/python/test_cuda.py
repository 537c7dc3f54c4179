# SPDX-License-Identifier: MIT
"""test_cuda.py: tests launches on a GPU with a fake CUDA driver (tests/cli/driver/cuda.c) and a fake torch: devices, streams, launches
from C and through ctypes, failures. Kernels compute nothing."""
import gc
import glob
import os
import pickle
import sys
import tempfile
import types
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "runtime", "python"))
os.environ.update(NESO_DEVICE="cuda", NESO_CACHE="off", NESO_PTXAS="off")


class Tensor:
    is_cuda, is_cpu, dtype, shape = True, False, "torch.float32", (1024,)

    def __init__(self, address):
        self.address = address

    def data_ptr(self):
        return self.address

    def stride(self):
        return (1,)


class CpuTensor(Tensor):
    is_cuda, is_cpu = False, True

    def is_pinned(self):
        return False


asked = []
torch = types.ModuleType("torch")
torch.Tensor, torch.version = Tensor, types.SimpleNamespace(hip=None, cuda="13.0")
torch.cuda = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: True, current_device=lambda: 0, set_device=None,
                                   get_device_capability=lambda device=0: (9, 0))
torch._C = types.ModuleType("torch._C")
torch._C._cuda_getDevice = lambda: 0
torch._C._cuda_getCurrentRawStream = lambda device: asked.append(device) or 0
sys.modules["torch"], sys.modules["torch._C"] = torch, torch._C

import neso

neso.install()
import triton
import triton.language as tl

from neso import assembler, launches

FACTOR = tl.constexpr(2)


@triton.jit
def scale(x, y, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * by * FACTOR, mask=i < n)


@triton.jit
def first(pair, out):
    tl.store(out, tl.load(pair[0]))


@triton.jit
def mixed(one, pair, x: "fp16", n, BLOCK: tl.constexpr):
    tl.store(pair[0] + one + pair[1][1], x.to(tl.float32) + n)


@triton.jit
def large(a, b, c, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at).to(tl.float16), tl.load(b + at).to(tl.float16)))


@triton.jit
def product(a, b, c, M, N, K, stride):
    pid = tl.program_id(0)
    m = pid // tl.cdiv(N, 128) * 128 + tl.arange(0, 128)
    n = pid % tl.cdiv(N, 128) * 128 + tl.arange(0, 128)
    sums = tl.zeros((128, 128), tl.float32)
    for at in range(0, K, 64):
        k = at + tl.arange(0, 64)
        x = tl.load(a + m[:, None] * stride + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        y = tl.load(b + k[:, None] * stride + n[None, :], mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        sums += tl.dot(x, y)
    tl.store(c + m[:, None] * stride + n[None, :], sums.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


class Element(Tensor):
    """A tensor without dimensions, which can also be used as a number."""
    shape = ()

    def __index__(self):
        return 7


class CudaTest(unittest.TestCase):
    def test_a_tensor_without_dimensions_is_an_address(self):
        seen = []
        kernel = first.warmup((Element(4096), 5), Element(8192), grid=(1,))
        kernel._init_handles()
        kernel._here.launcher.launch = lambda grid, stream, values: seen.append(values)
        kernel._here.launcher(1, 1, 1, 0, None, None, None, None, None, (Element(4096), 5), Element(8192))
        self.assertEqual(seen, [[4096, 5, 8192]])

    def test_launches_in_c(self):
        scale.device_caches.clear()
        x, y = Tensor(4096), Tensor(8192)
        kernel = scale[(4,)](x, y, 100, 2.0, BLOCK=32)
        self.assertEqual(triton.runtime.driver.active.where, "cuda")
        self.assertEqual(kernel.metadata.launches_plainly, True)
        if launches.extension is None:
            self.skipTest("neso._launch is not built")
        before = len(asked)
        for n in (101, 102, 1, 1, 16, 32):
            scale[lambda meta: (triton.cdiv(meta["n"], 32),)](x, y, n, 2.0, BLOCK=32)
        self.assertEqual((scale._dispatch.size(), len(asked) - before), (3, 6))
        self.assertIs(scale[(1,)](x, y, 99, 3.0, BLOCK=32), kernel)
        self.assertEqual(len(scale.device_caches[0][0]), 3)
        with self.assertRaisesRegex(ValueError, "cpu tensor"):
            scale[(1,)](CpuTensor(4096), y, 99, 3.0, BLOCK=32)
        with self.assertRaises(TypeError):
            scale[(1,)](x, y, "text", 3.0, BLOCK=32)
        scale.device_caches.clear()
        self.assertEqual(scale._dispatch.size(), 0)
        self.assertIsNot(scale[(1,)](x, y, 99, 3.0, BLOCK=32), kernel)

    @unittest.skipIf(launches.extension is None, "neso._launch is not built")
    def test_tuned_launches_in_c(self):
        x, y, tunings, grids, runs = Tensor(4096), Tensor(8192), [], [], []
        scale.device_caches.clear()

        def bench(call, quantiles):
            call()
            tunings.append(1)
            return [1.0 + len(tunings) % 2] * 3  # the second of two configurations is the best

        tuned = triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((32, 4), (64, 8))], key=["n"], do_bench=bench)(scale)
        old = tuned.fn._run
        scale._run = lambda args, kwargs, grid, warmup: runs.append(1) or old(args, kwargs, grid, warmup)
        try:
            def launch(n):
                kernel = tuned[lambda meta: grids.append((meta["n"], meta["BLOCK"])) or (1,)](x, y, n, 2.0)
                self.assertEqual((kernel.metadata.num_warps, tuned.best_config.kwargs), (8, {"BLOCK": 64}))
                return len(tunings), len(runs)

            self.assertEqual([launch(n)[0] for n in (101, 103, 103, 101)], [2, 4, 4, 4])
            self.assertEqual(tuned._dispatch.size(), 2)
            before, tuned.best_config = len(runs), None
            self.assertEqual([launch(n) for n in (101, 103, 101)], [(4, before)] * 3)  # Python makes none of these launches
            self.assertEqual(grids[-3:], [(101, 64), (103, 64), (101, 64)])
            with self.assertRaisesRegex(ValueError, "BLOCK"):
                tuned[(1,)](x, y, 107, 2.0, BLOCK=64)  # the configurations set BLOCK
            tuned.cache.clear()
            self.assertEqual(tuned._dispatch.size(), 0)
            self.assertEqual(launch(101)[0], len(tunings))
            self.assertEqual(len(tunings), 6)
            launch(101)
            tuned.cache[next(iter(tuned.cache))] = tuned.configs[0]  # now another configuration is chosen
            self.assertEqual(tuned[(1,)](x, y, 101, 2.0).metadata.num_warps, 4)
            launched = tuned._dispatch.size()
            scale.device_caches.clear()
            self.assertEqual((launched, tuned._dispatch.size()), (1, 0))
            self.assertEqual(pickle.loads(pickle.dumps(tuned.cache)), dict(tuned.cache))
        finally:
            del scale._run
        other = triton.autotune([triton.Config({"by": b}) for b in (2.0, 3.0)], key=[], do_bench=bench)(scale)
        other[(1,)](x, y, 101, BLOCK=32)
        self.assertIs(other._dispatch, False)  # `by` is no constexpr
        self.assertEqual(list(scale._tuners), [tuned])
        del tuned, launch
        gc.collect()
        self.assertEqual(list(scale._tuners), [])

    def test_arrays_of_other_libraries(self):
        class Array:
            dtype, shape = "float32", (1024,)
            __cuda_array_interface__ = {"data": (4096, False), "shape": shape, "typestr": "<f4", "version": 3}

        for _ in range(3):
            scale[(4,)](Array(), Tensor(8192), 100, 2.0, BLOCK=32)
        with self.assertRaises(TypeError):
            scale[(4,)](object(), Tensor(8192), 100, 2.0, BLOCK=32)

    def test_compiled_kernels_and_tuples(self):
        x, y = Tensor(4096), Tensor(8192)
        kernel = scale.warmup(x, y, 100, 2.0, BLOCK=64, grid=(1,))
        kernel[(2, 1)](x, y, 100, 2.0, 64)
        kernel.run(1, 1, 1, 0, kernel.function, kernel.packed_metadata, None, None, None, x, y, 100, 2.0, 64)
        self.assertIsInstance(kernel.function, int)
        for _ in range(2):
            first[(1,)]((x, 1), y)
        if launches.extension is not None:
            self.assertEqual(first._dispatch.size(), 1)

    @unittest.skipIf(launches.extension is None, "neso._launch is not built")
    def test_plans_by_place(self):
        kernel = mixed[(1,)](1, (Tensor(4096), (1, 5, None)), 2.0, 3, BLOCK=32)
        self.assertEqual(kernel._here.launcher.places, b"\x001\x01P\x001\x03i\x05h\x06i")
        self.assertIsNone(kernel._here.launcher.plan)
        mixed[(1,)](1, (Tensor(8192), (1, 7, None)), 2.5, 4, BLOCK=32)
        self.assertEqual(mixed._dispatch.size(), 1)

    def test_what_does_not_fit(self):
        t = Tensor(4096)
        with self.assertRaises(triton.OutOfResources):  # the fake driver reports a limit of 132 bytes
            large[(1,)](t, t, t, N=64)
        configs = [triton.Config({"N": n}) for n in (64, 32)]
        tuned = triton.autotune(configs, key=[], do_bench=lambda call, quantiles: call() or [1.0] * 3)(large)
        with self.assertRaises(triton.OutOfResources):
            tuned[(1,)](t, t, t)

    def test_assembled_ahead(self):
        """ptxas (here a script) assembles a kernel, and its variant for small grids, before they are loaded."""
        with tempfile.TemporaryDirectory() as folder:
            ptxas = os.path.join(folder, "ptxas")
            with open(ptxas, "w") as f:
                f.write('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\nprintf "\\177ELF" >"$2"\n')
            os.chmod(ptxas, 0o755)
            os.environ.update(TRITON_CACHE_DIR=folder, NESO_PTXAS="always", FAKE_LOADED=os.path.join(folder, "loaded"),
                              TRITON_PTXAS_PATH=ptxas)
            assembler.find.cache_clear()
            utils = triton.runtime.driver.active.utils
            utils.get_device_properties = lambda device: {"max_shared_mem": 232448}
            try:
                self.check_assembled_ahead(folder)
            finally:
                del utils.get_device_properties
                os.environ["NESO_PTXAS"] = "off"
                for name in ("TRITON_CACHE_DIR", "FAKE_LOADED", "TRITON_PTXAS_PATH"):
                    del os.environ[name]

    def check_assembled_ahead(self, folder):
        types = {"a": "*fp16", "b": "*fp16", "c": "*fp16", "M": "i32", "N": "i32", "K": "i32", "stride": "i32"}
        source = triton.compiler.ASTSource(product, types, {}, {(i,): [["tt.divisibility", 16]] for i in range(7)})
        target = triton.backends.compiler.GPUTarget("cuda", 90, 32)

        def loaded():
            with open(os.environ["FAKE_LOADED"]) as f:
                return f.read().split()

        kernel = triton.compile(source, target=target, options={"num_warps": 4})
        self.assertEqual((kernel.asm["cubin"][:4], kernel.metadata.launches_plainly, len(kernel._codes)), (b"\x7fELF", False, 2))
        files = {path: os.stat(path).st_mtime_ns for path in glob.glob(folder + "/*/*.code")}
        self.assertEqual(len(files), 2)
        args = Tensor(4096), Tensor(8192), Tensor(12288), 4096, 4096, 4096, 4096
        for grid in (1, 1024):
            triton.compile(source, target=target, options={"num_warps": 4})[(grid,)](*args)
            self.assertEqual(loaded()[-1], "code", (grid, loaded()))
        again = pickle.loads(pickle.dumps(kernel.asm))
        self.assertEqual(again["cubin"], kernel.asm["cubin"])
        self.assertEqual(files, {path: os.stat(path).st_mtime_ns for path in glob.glob(folder + "/*/*.code")})
        before = len(loaded())
        tried = []
        tuned = triton.autotune([triton.Config({}, num_warps=n) for n in (4, 8, 64)], key=["M"],
                                do_bench=lambda call, quantiles: tried.append(call()) or [1.0] * 3)(product)
        tuned[(1024,)](*args)
        self.assertEqual((loaded()[before:], len(tried), tuned.best_config.num_warps), (["code"] * 2, 2, 4))
        os.environ["NESO_PTXAS"] = "off"
        triton.compile(source, target=target, options={"num_warps": 4})[(1024,)](*args)
        self.assertEqual(loaded()[-1], "ptx")


if __name__ == "__main__":
    unittest.main()
