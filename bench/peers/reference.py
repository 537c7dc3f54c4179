# SPDX-License-Identifier: MIT
"""reference.py: launches the hand-written matmul for Hopper (tests/ptx/matmul_sm90a.ptx) through the driver: row-major matrices,
clusters of two CTAs, and as many clusters as run on the GPU at once. The PTX computes in fp16; for bf16, reference.py changes the types
of two instructions."""
import ctypes as ct
import os

PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "ptx", "matmul_sm90a.ptx")
SHARED_BYTES, THREADS, CLUSTER = 229440, 384, 2
BLOCK_M, BLOCK_N = 128, 256
# The sizes (inner, outer) of the boxes of A, B and C, in elements. Each row of a box has 128 bytes, the width of
# the swizzle.
BOX_A, BOX_B, BOX_C = (64, 128), (64, 64), (64, 64)
AS_BF16 = {b".f32.f16.f16": b".f32.bf16.bf16", b"cvt.rn.f16x2": b"cvt.rn.bf16x2"}
# Numbers of cuda.h
FLOAT16, BFLOAT16, SWIZZLE_128B, PROMOTE_NONE, PROMOTE_256B = 6, 9, 3, 0, 3
MAX_DYNAMIC_SHARED_SIZE_BYTES, CLUSTER_DIMENSION = 8, 4


class _Attribute(ct.Structure):
    _fields_ = [("id", ct.c_int), ("padding", ct.c_int), ("value", ct.c_uint32 * 16)]


class _Config(ct.Structure):
    _fields_ = [("grid", ct.c_uint32 * 3), ("block", ct.c_uint32 * 3), ("shared_bytes", ct.c_uint32), ("stream", ct.c_void_p),
                ("attributes", ct.POINTER(_Attribute)), ("nattributes", ct.c_uint32)]


class _Map(ct.Structure):
    _fields_ = [("bytes", ct.c_uint8 * 128)]


class Reference:
    """The hand-written matmul. It needs a current CUDA context, such as torch's."""

    def __init__(self, is_bf16=False):
        self.type = BFLOAT16 if is_bf16 else FLOAT16
        self.driver = ct.CDLL("libcuda.so.1")
        module, self.function = ct.c_void_p(), ct.c_void_p()
        with open(PTX, "rb") as f:
            ptx = f.read()
        for old, new in AS_BF16.items() if is_bf16 else ():
            ptx = ptx.replace(old, new)
        self._check(self.driver.cuModuleLoadData(ct.byref(module), ct.c_char_p(ptx)), "cuModuleLoadData")
        self._check(self.driver.cuModuleGetFunction(ct.byref(self.function), module, b"matmul"), "cuModuleGetFunction")
        self._check(self.driver.cuFuncSetAttribute(self.function, MAX_DYNAMIC_SHARED_SIZE_BYTES, SHARED_BYTES), "cuFuncSetAttribute")
        at_once, config = ct.c_int(), self._config(1024 * CLUSTER, None)
        self._check(self.driver.cuOccupancyMaxActiveClusters(ct.byref(at_once), self.function, ct.byref(config)),
                    "cuOccupancyMaxActiveClusters")
        self.at_once = at_once.value

    def _check(self, code, what):
        if code:
            text = ct.c_char_p()
            self.driver.cuGetErrorString(code, ct.byref(text))
            raise RuntimeError(f"{what}: {code} {(text.value or b'').decode()}")

    def _config(self, ctas, stream):
        attribute = _Attribute(CLUSTER_DIMENSION, 0, (CLUSTER, 1, 1))
        return _Config((ctas, 1, 1), (THREADS, 1, 1), SHARED_BYTES, stream, ct.pointer(attribute), 1)

    def _map(self, tensor, box, promotion):
        raw = (ct.c_uint8 * 256)()
        aligned = (ct.addressof(raw) + 127) & ~127  # the driver requires this alignment
        rows, columns = tensor.shape
        self._check(self.driver.cuTensorMapEncodeTiled(
            ct.c_void_p(aligned), self.type, 2, ct.c_void_p(tensor.data_ptr()), (ct.c_uint64 * 2)(columns, rows),
            (ct.c_uint64 * 1)(2 * tensor.stride(0)), (ct.c_uint32 * 2)(*box), (ct.c_uint32 * 2)(1, 1), 0, SWIZZLE_128B, promotion, 0),
            "cuTensorMapEncodeTiled")
        tensor_map = _Map()
        ct.memmove(ct.byref(tensor_map), aligned, 128)
        return tensor_map

    def bind(self, a, b, c, stream=None):
        (m, k), n = a.shape, b.shape[1]
        tiles = -(-m // (BLOCK_M * CLUSTER)) * -(-n // BLOCK_N) * CLUSTER
        config = self._config(min(tiles, self.at_once * CLUSTER), stream)
        args = [self._map(a, BOX_A, PROMOTE_256B), self._map(b, BOX_B, PROMOTE_256B), self._map(c, BOX_C, PROMOTE_NONE),
                ct.c_uint32(m), ct.c_uint32(n), ct.c_uint32(k)]
        pointers = (ct.c_void_p * len(args))(*[ct.addressof(x) for x in args])

        def launch(keep=args):
            self._check(self.driver.cuLaunchKernelEx(ct.byref(config), self.function, pointers, None), "cuLaunchKernelEx")
        return launch
