# SPDX-License-Identifier: MIT
"""assembly.py: measures the time of assembling the PTX of large kernels: with the driver (cuModuleLoadDataEx, without its disk cache) if
there is a GPU, and with ptxas if it is installed.

    python3 bench/peers/assembly.py [NESO]
"""
import ctypes as ct
import os
import shutil
import subprocess
import sys
import tempfile
import time

os.environ["CUDA_CACHE_DISABLE"] = "1"
HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
RUNS = 5
HALF, FLOAT = "*fp16:16", "*fp32:16"
PRODUCT = f"{HALF}, {HALF}, {HALF}, " + "i32:16, " * 4 + "1, i32:16, 1, i32:16, 1, "
FORWARD = f"{HALF}, {HALF}, {HALF}, {HALF}, {FLOAT}, fp32, i32:16, "
BACKWARD = f"{HALF}, {HALF}, {HALF}, fp32, {HALF}, {HALF}, {HALF}, {HALF}, {FLOAT}, {FLOAT}, " + "i32:16, " * 3 + "1, i32, i32:16, "
KERNELS = [("bench/programs/kernels.py::matmul", PRODUCT + tile, warps, stages)
           for tile, warps, stages in (("128, 256, 64, 8", 8, 3), ("128, 256, 64, 8", 8, 4), ("128, 128, 64, 8", 4, 4), ("64, 128, 64, 8", 4, 8))]
KERNELS += [("bench/programs/attention.py::forward", f"{FORWARD}{causal}, False, {bm}, {bn}, {d}", warps, stages)
            for causal in (False, True) for bm, bn, d, warps, stages in ((128, 128, 128, 8, 2), (128, 64, 128, 8, 3), (128, 128, 64, 8, 3))]
KERNELS += [("tests/programs/attention_backward.py::backward", f"{BACKWARD}{causal}, {bm}, {bn}, {d}", warps, stages)
            for causal in (False, True) for bm, bn, d, warps, stages in ((64, 128, 64, 8, 2), (64, 128, 128, 8, 2), (64, 64, 128, 4, 3))]


def driver():
    """Returns a function that loads PTX, or None."""
    try:
        cu = ct.CDLL("libcuda.so.1")
    except OSError:
        return None
    context, device = ct.c_void_p(), ct.c_int()
    if cu.cuInit(0) or cu.cuDeviceGet(ct.byref(device), 0) or cu.cuDevicePrimaryCtxRetain(ct.byref(context), device):
        return None
    cu.cuCtxSetCurrent(context)

    def load(ptx):
        module = ct.c_void_p()
        started = time.perf_counter()
        error = cu.cuModuleLoadDataEx(ct.byref(module), ptx, 0, None, None)
        seconds = time.perf_counter() - started
        if error:
            sys.exit(f"cuModuleLoadDataEx: {error}")
        cu.cuModuleUnload(module)
        return seconds
    load(b".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n")
    return load


def assembler():
    """Returns a function that assembles PTX with ptxas, or None."""
    ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
    if not os.path.exists(ptxas):
        return None

    def assemble(ptx):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "k.ptx")
            with open(path, "wb") as f:
                f.write(ptx)
            started = time.perf_counter()
            subprocess.run([ptxas, "-arch=sm_90a", path, "-o", path + ".cubin"], check=True, capture_output=True)
            return time.perf_counter() - started
    return assemble


def main():
    neso = (sys.argv[1:] or [os.path.join(ROOT, "build", "neso")])[0]
    ways = {"driver": driver(), "ptxas": assembler()}
    print(f"{'ms: least of ' + str(RUNS):64} {'PTX bytes':>10}" + "".join(f" {name:>8}" for name, way in ways.items() if way))
    for kernel, signature, warps, stages in KERNELS:
        done = subprocess.run([neso, "compile", os.path.join(ROOT, kernel), "--signature", signature, "--num-warps", str(warps), "--num-stages",
                               str(stages), "--target", "sm_90a"], capture_output=True, check=False)
        if done.returncode:
            print(kernel, signature, done.stderr.decode()[-300:])
            continue
        name = f"{kernel.split('::')[1]} {signature.split('i32:16, ')[-1].replace('1, i32, ', '')}, {warps} warps, {stages} stages"
        times = [f" {1e3 * min(way(done.stdout) for _ in range(RUNS)):8.0f}" for way in ways.values() if way]
        print(f"{name:64} {len(done.stdout):10}" + "".join(times), flush=True)


if __name__ == "__main__":
    main()
