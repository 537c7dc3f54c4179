# SPDX-License-Identifier: MIT
"""compare_models.py [--seconds N] [--models A,B] [--parts inference,training] [--threads N] MODE...: measures the networks of models.py under neso
and under Triton, all at once in a mode (default, dynamic, tuned), one mode after the other.

Each network and compiler has a process with empty caches. A process takes the GPU alone while it measures steps, in rounds, so that the two
compilers alternate; steps begin when all have compiled. It prints what a process says at once, and a table as soon as a mode has ended. What has
not ended after the seconds of its mode is killed.
"""
import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import models

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.normpath(os.path.join(HERE, "..", "..", "..", "runtime", "python"))
COMPILERS = {"neso": ["-m", "neso"], "Triton": []}
LINE = re.compile(r"model (\S+) \S+ (\w+) under (\w+): (.*)")
TIME = re.compile(r"(cold|step|eager|gpu|kernels) ([\d.]+) (?:ms|s)\b")


def start(name, mode, parts, compiler, folder, processes, threads):
    """Starts a process with caches of its own."""
    caches = os.path.join(folder, f"{name}-{compiler}")
    variables = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "NESO_CACHE_DIR": "neso", "CUDA_CACHE_PATH": "cuda"}
    env = {**os.environ, **{k: os.path.join(caches, x) for k, x in variables.items()}, "PYTHONPATH": PACKAGE, "PYTHONUNBUFFERED": "1",
           "TORCHINDUCTOR_COMPILE_THREADS": str(threads), "GPU_LOCK": os.path.join(folder, "lock"), "GPU_WAIT_FOR": str(processes),
           "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *COMPILERS[compiler], os.path.join(HERE, "models.py"), name, mode, parts]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def read(process, found, began):
    """Prints the results of a process when they come, and the end of its output if it fails."""
    last = []
    for line in process.stdout:
        m = LINE.match(line)
        if m:
            found.update({(m[1], m[2], kind, m[3]): float(time) for kind, time in TIME.findall(m[4])})
            print(f"{time.monotonic() - began:6.1f} s  {line.rstrip()}", flush=True)
        else:
            last = last[-5:] + [line.rstrip()]
    if process.wait() != 0:
        print(f"{' '.join(process.args[-3:])} ended with {process.returncode}: " + " | ".join(last), flush=True)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def table(mode, names, parts, found):
    """Prints times in ms (of first calls in s), and how many times as long Triton's are. The kernels of eager PyTorch are the same under both, so
    that their ratio says how much the machine's other work shows."""
    kinds = ("step", "eager", "gpu", "kernels", "cold")
    print(f"\n{mode}: network, part | " + " | ".join(f"{kind}: neso, Triton, Triton/neso" for kind in kinds), flush=True)
    ratios = {kind: [] for kind in kinds}
    for name in names:
        for part in parts.split(","):
            cells = []
            for kind in kinds:
                mine, theirs = (found.get((name, part, kind, c)) for c in COMPILERS)
                if mine and theirs:
                    ratios[kind].append(theirs / mine)
                cells.append(f"{mine or '-'} {theirs or '-'} " + (f"{ratios[kind][-1]:.3f}" if mine and theirs else "-"))
            print(f"{name}, {part} | " + " | ".join(cells), flush=True)
    for kind, x in ratios.items():
        if x:
            print(f"{mode}, {kind}, Triton/neso: geometric mean {mean(x):.3f}, from {min(x):.3f} to {max(x):.3f}, of {len(x)}", flush=True)


def measure(mode, names, parts, seconds, threads):
    found, began = {}, time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        count = len(names) * len(COMPILERS)
        running = [start(name, mode, parts, c, folder, count, threads) for name in names for c in COMPILERS]
        readers = [threading.Thread(target=read, args=(p, found, began)) for p in running]
        for r in readers:
            r.start()
        for p in running:
            try:
                p.wait(max(0.1, began + seconds - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"{' '.join(p.args[-3:])}: killed after {seconds} s", flush=True)
                os.killpg(p.pid, 9)
        for r in readers:
            r.join(5)
    table(mode, names, parts, found)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("modes", nargs="+")
    p.add_argument("--seconds", type=int, default=140)
    p.add_argument("--models", default=",".join(models.MODELS))
    p.add_argument("--parts", default="inference,training")
    p.add_argument("--threads", type=int, default=1)
    args = p.parse_args()
    for mode in args.modes:
        measure(mode, args.models.split(","), args.parts, args.seconds, args.threads)


if __name__ == "__main__":
    main()
