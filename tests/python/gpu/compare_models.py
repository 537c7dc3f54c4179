# SPDX-License-Identifier: MIT
"""compare_models.py [--seconds N] [--models A,B] [--share K/N] [--processes N] [--parts inference,training] [--threads N] [--padding 0|1] MODE...:
measures the networks of models.py under neso and under Triton. The modes (default, dynamic, tuned) run one after the other; in a mode, all networks
run at once.

Each network and compiler has one or several processes, with empty caches. Steps are measured when all processes have compiled. Only one process at a
time uses the GPU to measure; the processes take turns in rounds, so that the two compilers alternate. The script prints the output of each process
at once, and a table of the processes' medians at the end of each mode. Processes that exceed the seconds of their mode are killed.

A step waits for the host, and other work on the host changes the step's time by a fifth. A replay of the step as a CUDA graph (`graph`) does not
wait for the host. So `graph` decides which compiler's code is faster; `control`, the graph of eager PyTorch, shows how exact the comparison is.
Inductor times padded products while it compiles, so two processes of one compiler may run different products; --padding 0 forbids padding.
--share 2/3 takes the second third of the networks.
"""
import argparse
import math
import os
import re
import statistics
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
KINDS = ("graph", "control", "step", "eager", "gpu", "kernels", "cold")
TIME = re.compile(rf"\b({'|'.join(KINDS)}) ([\d.]+) (?:ms|s)\b")
LEAST = 0.97  # neso counts as no slower if the ratio of Triton's time to neso's time is at least this


def start(name, compiler, turn, args, mode, folder, processes):
    """Starts a process with caches of its own."""
    caches = os.path.join(folder, f"{name}-{compiler}-{turn}")
    variables = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton", "NESO_CACHE_DIR": "neso", "CUDA_CACHE_PATH": "cuda"}
    env = {**os.environ, **{k: os.path.join(caches, x) for k, x in variables.items()}, "PYTHONPATH": PACKAGE, "PYTHONUNBUFFERED": "1",
           "TORCHINDUCTOR_COMPILE_THREADS": str(args.threads), "TORCHINDUCTOR_SHAPE_PADDING": args.padding,
           "GPU_LOCK": os.path.join(folder, "lock"), "GPU_WAIT_FOR": str(processes), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, *COMPILERS[compiler], os.path.join(HERE, "models.py"), name, mode, args.parts]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)


def read(process, found, began):
    """Prints the results of a process when they come, and the end of its output if it fails."""
    last = []
    for line in process.stdout:
        m = LINE.match(line)
        if m:
            for kind, t in TIME.findall(m[4]):
                found.setdefault((m[1], m[2], kind, m[3]), []).append(float(t))
            print(f"{time.monotonic() - began:6.1f} s  {line.rstrip()}", flush=True)
        else:
            last = last[-5:] + [line.rstrip()]
    if process.wait() != 0:
        print(f"{' '.join(process.args[-3:])} ended with {process.returncode}: " + " | ".join(last), flush=True)


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else float("nan")


def table(mode, names, parts, found):
    """Prints times in ms (of first calls in s), and the ratios of Triton's times to neso's times. The kernels of eager PyTorch are the same under
    both; their ratio shows the effect of other work on the machine."""
    print(f"\n{mode}: network, part | " + " | ".join(f"{kind}: neso, Triton, Triton/neso" for kind in KINDS), flush=True)
    ratios = {kind: {} for kind in KINDS}
    for name in names:
        for part in parts.split(","):
            cells = []
            for kind in KINDS:
                mine, theirs = (found.get((name, part, kind, c)) for c in COMPILERS)
                mine, theirs = mine and statistics.median(mine), theirs and statistics.median(theirs)
                ratio = theirs / mine if mine and theirs else None
                if ratio:
                    ratios[kind][f"{name} {part}"] = ratio
                cells.append(" ".join(f"{t:.4g}" if t else "-" for t in (mine, theirs, ratio)))
            print(f"{name}, {part} | " + " | ".join(cells), flush=True)
    for kind, x in ratios.items():
        if x:
            values, under = list(x.values()), [f"{what} {r:.3f}" for what, r in x.items() if r < LEAST]
            print(f"{mode}, {kind}, Triton/neso: geometric mean {mean(values):.3f}, from {min(values):.3f} to {max(values):.3f}, of {len(values)}"
                  + (f"; under {LEAST}: {', '.join(under)}" if under else ""), flush=True)


def measure(mode, names, args):
    found, began = {}, time.monotonic()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        wanted = [(name, c, turn) for turn in range(args.processes) for name in names for c in COMPILERS]
        running = [start(*w, args, mode, folder, len(wanted)) for w in wanted]
        readers = [threading.Thread(target=read, args=(p, found, began)) for p in running]
        for r in readers:
            r.start()
        for p in running:
            try:
                p.wait(max(0.1, began + args.seconds - time.monotonic()))
            except subprocess.TimeoutExpired:
                print(f"{' '.join(p.args[-3:])}: killed after {args.seconds} s", flush=True)
                os.killpg(p.pid, 9)
        for r in readers:
            r.join(5)
    table(mode, names, args.parts, found)


def share(names, text):
    k, n = map(int, text.split("/"))
    return names[k - 1::n]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("modes", nargs="+")
    p.add_argument("--seconds", type=int, default=140)
    p.add_argument("--models", default=",".join(models.MODELS))
    p.add_argument("--share", default="1/1")
    p.add_argument("--processes", type=int, default=1)
    p.add_argument("--parts", default="inference,training")
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--padding", default=os.environ.get("TORCHINDUCTOR_SHAPE_PADDING", "1"))
    args = p.parse_args()
    for mode in args.modes:
        measure(mode, share(args.models.split(","), args.share), args)


if __name__ == "__main__":
    main()
