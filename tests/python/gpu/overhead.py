# SPDX-License-Identifier: MIT
"""overhead.py: measures the host time of a launch in microseconds. The result is the smallest time of many short rounds, because other work
on the machine disturbs some rounds. The script runs under neso and under Triton.

If there is a C compiler, the script also launches the compiled kernels in a loop in C; this is the time of a launch in the driver alone. The
arguments of these launches are 0, so that no program loads or stores anything.
"""
import ctypes
import os
import subprocess
import sys
import tempfile
import time

import torch
import triton
import triton.language as tl


@triton.jit
def add(x, y, z, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(z + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def many(a, b, c, d, e, f, g, h, n, s0, s1, s2, alpha, flag, BLOCK: tl.constexpr, MODE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    t = tl.load(a + i, mask=m) + tl.load(b + i, mask=m) + tl.load(c + i, mask=m) + tl.load(d + i, mask=m)
    if flag is not None:
        t += s0 + s1 + s2
    if MODE == "scaled":
        t *= alpha
    tl.store(e + i, t + tl.load(f + i, mask=m) + tl.load(g + i, mask=m) + tl.load(h + i, mask=m), mask=m)


@triton.jit
def shift(source, target, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK
    target.store([i, 0], source.load([i, 0]) + 1)


BARE = """
#include <time.h>
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
double bare(void *function, int threads, int shared, int calls)
{
    static long zeros[64];
    void *params[64];
    struct timespec from, to;
    for (int i = 0; i < 64; i++)
        params[i] = &zeros[i];
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < calls; i++)
        if (cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, shared, 0, params, 0))
            return -1;
    clock_gettime(CLOCK_MONOTONIC, &to);
    return ((double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec)) / calls;
}
"""


def c_loop():
    """Returns the function `bare`; None without a C compiler."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "bare.so")
    try:
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", "-x", "c", "-", "-o", path, "-l:libcuda.so.1"],
                       input=BARE.encode(), check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print("no launches from C:", e, getattr(e, "stderr", b"").decode()[-300:])
        return None
    bare = ctypes.CDLL(path).bare
    bare.restype, bare.argtypes = ctypes.c_double, [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_int]
    return bare


def function_of(kernel):
    """Returns a compiled kernel's CUfunction; None if neso's launches need more than that."""
    if "neso" not in triton.__file__:
        return kernel.function
    from neso import library
    call, found = library._lib.neso_kernel_function, ctypes.c_void_p()
    call.argtypes, call.restype = [ctypes.c_void_p, ctypes.c_void_p], ctypes.c_int
    return found.value if call(kernel.function, ctypes.byref(found)) == 0 else None


def measure_bare(name, bare, kernel, rounds=100, calls=200):
    best, function = 1e9, bare and function_of(kernel)
    for _ in range(rounds if function else 0):
        torch.cuda.synchronize()
        best = min(best, bare(function, 32 * kernel.metadata.num_warps, kernel.metadata.shared, calls))
    torch.cuda.synchronize()
    print(f"launch {name}, from C: {1e6 * best:.2f} us" if best < 1 else f"launch {name}, from C: not measured", flush=True)


def measure(name, call, rounds=100, calls=200):
    best = 1e9
    for _ in range(5):
        call()
    for _ in range(rounds):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - start) / calls)
    torch.cuda.synchronize()
    print(f"launch {name}: {1e6 * best:.2f} us", flush=True)


def main():
    x, y, z = (torch.ones(1024, device="cuda") for _ in range(3))
    ts = [torch.ones(1024, device="cuda") for _ in range(8)]
    tuned = triton.autotune([triton.Config({"BLOCK": b}) for b in (256, 512)], key=["n"])(add)
    grid = (1,)
    print(f"under {'neso' if 'neso' in triton.__file__ else 'Triton'} {triton.__version__}")
    bare = c_loop()
    for _ in range(2):  # the first pass warms up the processor
        measure_bare("add", bare, add[grid](x, y, z, 0, BLOCK=1024))
    measure("add, 4 arguments", lambda: add[grid](x, y, z, 1024, BLOCK=1024))
    kernel = add[grid]
    measure("add, grid kept", lambda: kernel(x, y, z, 1024, BLOCK=1024))
    measure("add, grid by a function", lambda: add[lambda meta: (triton.cdiv(1024, meta["BLOCK"]),)](x, y, z, 1024, BLOCK=1024))
    measure_bare("16 arguments", bare, many[grid](*ts, 0, 16, 7, 1, 2.5, None, BLOCK=1024, MODE="scaled", num_warps=4))
    measure("16 arguments", lambda: many[grid](*ts, 1024, 16, 7, 1, 2.5, None, BLOCK=1024, MODE="scaled", num_warps=4))
    try:
        from triton.tools.tensor_descriptor import TensorDescriptor
        tiles = [TensorDescriptor.from_tensor(torch.ones(1024, 64, device="cuda"), [64, 64]) for _ in range(2)]
        measure("2 descriptors", lambda: shift[grid](*tiles, BLOCK=64))
    except Exception as e:
        print("2 descriptors:", type(e).__name__, e)
    measure("autotuned", lambda: tuned[grid](x, y, z, 1024))
    measure("torch.add", lambda: torch.add(x, y, out=z))


if __name__ == "__main__":
    if not torch.cuda.is_available():
        sys.exit("overhead.py needs a GPU")
    main()
